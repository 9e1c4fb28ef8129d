//! Commands, the Python module and the page translate arguments and print: what they call of the library is written down here, so that
//! a job that moves into one of them is seen.

use crate::door::{answer, commands};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Folders of sources, and how their files are called in `JOBS`.
const INTERFACES: [(&str, &str); 3] =
    [("cli/src/commands", ""), ("python/src", "python/"), ("web/src", "web/")];

/// Every job that a source starts, once for each place. Where there are several, a flag or a subcommand decides; what a training
/// measures without protection is asked for by a flag of its own.
const JOBS: &[(&str, &[&str])] = &[
    ("account", &["account", "compare", "compose"]),
    ("audit", &["auditing::Audit::new", "auditing::merge"]),
    ("batching", &["batching::compare_batches"]),
    ("bound", &["lower_bounds::power::needed", "lower_bounds::power::plan", "lower_bounds::side_by_side"]),
    ("calibrate", &["calibration::solve"]),
    ("curve", &["drawing::curves"]),
    ("evaluate", &["training::evaluate"]),
    ("explain", &["explain", "explain_promise"]),
    ("init", &["training::initial_plan"]),
    (
        "ledger",
        &[
            "ledger::Ledger::create", "ledger::Ledger::open", "ledger::Ledger::open", "ledger::Ledger::open",
            "ledger::Ledger::open", "ledger::Ledger::open",
        ],
    ),
    ("local", &["collecting::encode", "collecting::estimate", "local::plan", "local::plan", "reading::read"]),
    ("predict", &["training::predict", "training::probabilities"]),
    ("python/queries", &["sql::must_read_forms"]),
    ("query", &["sql::check_query", "sql::query_forecast", "sql::query_paid", "sql::starting_catalog"]),
    ("release", &["preview", "releasing::release_forecast", "releasing::release_paid", "replaying::release"]),
    ("replay", &["replaying::traces", "replaying::training"]),
    ("serve", &["web::serving::Server::bind"]),
    ("strategy", &["strategy::compare"]),
    ("train", &["training::train_paid"]),
    ("verify", &["inspect", "inspect", "verify_file_with"]),
    ("zoo", &["zoo::powers", "zoo::visit"]),
    ("python/accounting", &["account", "account_quickly"]),
    ("python/audits", &["auditing::Audit::new", "auditing::fragment", "auditing::page"]),
    ("python/calibrating", &["calibration::solve"]),
    ("python/claims", &["account", "verify", "verify", "verify_file"]),
    ("python/columns", &["reading::check", "reading::read"]),
    (
        "python/estimators",
        &[
            "account",
            "calibrate::noise",
            "calibrate::noise",
            "training::models::cohort::predict",
            "training::models::convex::objective_perturbation",
        ],
    ),
    ("python/explaining", &["explain", "explain_promise"]),
    ("python/ledgers", &["ledger::Ledger::create", "ledger::Ledger::open"]),
    (
        "python/torch",
        &[
            "noise::exact::uniform_below",
            "noise::vector::fill_from",
            "training::run_key::destroy",
            "training::run_key::find",
            "training::run_key::keep",
        ],
    ),
    ("python/torch_audit", &["auditing::Audit::new", "auditing::planned_part"]),
    ("python/torch_save", &["account"]),
    ("web/audit", &["account", "judge", "observe_one"]),
    ("web/certificate", &["account", "bound::clopper_pearson::bound", "judge"]),
    ("web/curves", &["tradeoff::advantage_through", "tradeoff::tradeoff_points"]),
    ("web/files", &["verify"]),
    ("web/lib", &["account", "calibration::solve", "explain"]),
];

/// Functions that read arguments, prepare a job, write files or word an answer.
const NO_JOBS: [&str; 27] = [
    "auditing::command::case",
    "auditing::default_plan",
    "auditing::interrupt::",
    "collecting::answer",
    "collecting::claim",
    "collecting::consent",
    "collecting::survey_of",
    "decimal::",
    "devices::open",
    "drawing::csv",
    "events::parse",
    "large_delta_warning",
    "ledger_json::",
    "lower_bounds::read_scores",
    "moment::",
    "nearest",
    "plan::plainly",
    "printable",
    "provenance",
    "read_text",
    "releasing::noise_kind",
    "releasing::prepare",
    "report::",
    "saving::",
    "words::",
    "writing::",
    "zoo::exhibits",
];

/// Commands that are about the command line itself.
const ITS_OWN: [&str; 2] = ["completions", "man"];

/// Where the names of a source lead: `score` to `veracity::training::evaluate`.
fn imports(source: &str) -> BTreeMap<String, String> {
    fn expand(before: &str, tree: &str, into: &mut BTreeMap<String, String>) {
        let (mut depth, mut start) = (0, 0);
        for (at, c) in tree.char_indices().chain([(tree.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    let one = tree[start..at].trim();
                    start = at + 1;
                    if let Some((path, below)) = one.strip_suffix('}').and_then(|one| one.split_once('{')) {
                        expand(&format!("{before}{path}"), below, into);
                    } else if !one.is_empty() {
                        let (path, alias) = one.split_once(" as ").unwrap_or((one, ""));
                        let path = format!("{before}{path}");
                        let path = path.trim_end_matches("::self");
                        let name = if alias.is_empty() { path.rsplit("::").next().unwrap() } else { alias };
                        into.insert(name.to_owned(), path.to_owned());
                    }
                }
                _ => {}
            }
        }
    }
    let mut names = BTreeMap::new();
    for statement in format!("\n{source}").split("\nuse ").skip(1) {
        let tree: Vec<&str> = statement.split(';').next().unwrap().split_whitespace().collect();
        expand("", &tree.join(" "), &mut names);
    }
    names
}

/// A source without its tests, comments and strings.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]").next().unwrap();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut all = lines.flat_map(|line| line.chars().chain(['\n'])).peekable();
    let (mut code, mut is_text) = (String::new(), false);
    while let Some(c) = all.next() {
        match c {
            '\\' if is_text => drop(all.next()),
            // A quote as a character.
            '\'' if !is_text && all.peek() == Some(&'"') => drop((all.next(), all.next())),
            '"' => is_text = !is_text,
            c if !is_text => code.push(c),
            _ => {}
        }
    }
    code
}

/// The jobs of the library that a source calls. Of functions of types only those are jobs that `JOBS` names.
fn jobs(source: &str) -> Vec<String> {
    let (names, code) = (imports(source), code(source));
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    for (at, _) in code.match_indices('(') {
        let before = code[..at].trim_end_matches(is_name);
        let word = &code[before.len()..at];
        let (head, tail) = word.split_once("::").map_or((word, None), |(head, tail)| (head, Some(tail)));
        let root = names.get(head).map_or(head, String::as_str);
        let path = tail.map_or_else(|| root.to_owned(), |tail| format!("{root}::{tail}"));
        let Some((library, function)) = path.split_once("::") else { continue };
        let function = function.trim_start_matches("claims::");
        let is_free = !function.contains(char::is_uppercase);
        let is_known = JOBS.iter().any(|(_, jobs)| jobs.contains(&function));
        if library.starts_with("veracity")
            && !before.ends_with(['.', '!'])
            && (is_free && !NO_JOBS.iter().any(|prefix| function.starts_with(prefix)) || is_known)
        {
            found.push(function.to_owned());
        }
    }
    found.sort();
    found
}

/// Adds the jobs of all sources in a folder, by file or folder below the interface.
fn collect(folder: &Path, name: &dyn Fn(&str) -> String, into: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = name(path.file_stem().unwrap().to_str().unwrap());
        if path.is_dir() {
            collect(&path, &|_| name.clone(), into);
        } else {
            let all = into.entry(name).or_default();
            all.extend(jobs(&fs::read_to_string(&path).unwrap()));
            all.sort();
        }
    }
}

#[test]
fn every_interface_starts_the_jobs_that_are_listed_and_no_others() {
    let mut found = BTreeMap::new();
    for (folder, prefix) in INTERFACES {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        collect(&crates.join(folder), &|stem| format!("{prefix}{stem}"), &mut found);
    }
    found.retain(|_, jobs| !jobs.is_empty());
    let found: Vec<(&str, Vec<&str>)> =
        found.iter().map(|(name, jobs)| (name.as_str(), jobs.iter().map(String::as_str).collect())).collect();
    let mut listed: Vec<(&str, Vec<&str>)> = JOBS.iter().map(|(name, jobs)| (*name, jobs.to_vec())).collect();
    listed.sort();
    assert_eq!(found, listed);
    let help = answer("--help");
    let commands: BTreeSet<&str> =
        commands(&help).into_iter().filter(|command| !ITS_OWN.contains(command)).collect();
    let listed = JOBS.iter().map(|(name, _)| *name).filter(|name| !name.contains('/') && *name != "replay");
    assert_eq!(commands, listed.collect());
}

/// The control: two jobs are two, under whatever name, and what only looks like a job is none.
#[test]
fn a_second_job_is_seen() {
    let source = "use crate::text;\nuse veracity::{\n    Mechanism, account, training::{self, evaluate as score},\n    words,\n};\n\
                  fn run() {\n    // account(1)\n    let c = '\"';\n    text::account(\"account(2)\");\n    words::answer(account(\n3));\n    \
                  self.account(4); Mechanism::new(5);\n";
    assert_eq!(jobs(source), ["account"]);
    for second in ["score(6)", "training::evaluate(6)", "veracity::training::evaluate(6)", "account(6)"] {
        assert_eq!(jobs(&format!("{source}    {second};\n}}\n")).len(), 2, "{second}");
    }
    assert_eq!(jobs(&format!("{source}    veracity::unheard_of(6);\n}}\n"))[1], "unheard_of");
}
