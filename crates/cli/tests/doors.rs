//! The real binary, from arguments to exit code: what it answers, and how it refuses.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{answer, json, refusal, room, veracity, words};
use std::process::Command;

/// # mpmath 1.3, 50 digits: findroot of ncdf(1/2 - e) - exp(e) ncdf(-1/2 - e) - 1e-5
const EPSILON_OF_UNIT_GAUSSIAN: f64 = 4.377_178_095_7;

#[test]
fn the_answer_comes_first_then_its_conditions_then_its_certificate() {
    let text = answer("account gaussian --noise-multiplier 1 --delta 1e-5");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "epsilon ≤ 4.3771781 at delta 1e-5   (add-remove, per example; exact)");
    assert!(lines[1].starts_with("certified between 4.377178095"), "{text}");
    let text =
        answer("account gaussian --sigma 4 --sensitivity 2 --epsilon 1 --unit user --adjacency zero-out");
    assert!(text.starts_with("delta ≤ 0.00682959499 at epsilon 1   (zero-out, per user; exact)"), "{text}");
}

#[test]
fn json_has_the_promised_names_and_all_digits() {
    let found = json(&answer("account gaussian --noise-multiplier 1 --delta 1e-5 --json"));
    assert_eq!(found["schema"], "veracity.account/2");
    assert_eq!(found["adjacency"], "add-remove");
    assert_eq!(found["method"], "exact");
    assert_eq!(found["mechanism"]["kind"], "gaussian");
    assert_eq!(found["delta"]["upper"], 1e-5);
    let (lower, upper) =
        (found["epsilon"]["lower"].as_f64().unwrap(), found["epsilon"]["upper"].as_f64().unwrap());
    assert!(lower <= EPSILON_OF_UNIT_GAUSSIAN + 1e-9 && EPSILON_OF_UNIT_GAUSSIAN - 1e-9 <= upper);
    assert!(lower <= upper && upper - lower < 1e-6);
}

#[test]
fn repetition_is_the_same_however_it_is_said() {
    let room = room("repetition");
    let plan = room.join("plan.toml");
    std::fs::write(&plan, "[[mechanism]]\nkind = \"gaussian\"\nnoise_multiplier = 2\ntimes = 1e1\n").unwrap();
    let upper = |line: &str| json(&answer(line))["epsilon"]["upper"].as_f64().unwrap();
    let flags = upper("account gaussian --noise-multiplier 2 --times 10 --delta 1e-6 --json");
    let planned = upper(&format!("account {} --delta 1e-6 --json", plan.display()));
    let scaled = upper("account gaussian --sigma 6 --sensitivity 3 --times 1e1 --delta 1e-6 --json");
    assert_eq!(flags, planned);
    assert_eq!(flags, scaled);
}

#[test]
fn a_comparison_never_lists_an_approximation_as_a_bound() {
    let found = json(&answer("account gaussian --noise-multiplier 1 --delta 1e-5 --compare --json"));
    let methods = found["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 12);
    for row in methods {
        let standing = row["standing"].as_str().unwrap_or_default();
        if standing.starts_with("approximation") {
            assert!(row["epsilon"]["upper"].is_null() && row["epsilon"]["approximate"].is_f64(), "{row}");
        }
        if row["standing"].is_null() {
            assert!(row["reason"].is_string(), "{row}");
        }
    }
    let text = answer("account gaussian --noise-multiplier 1 --delta 1e-5 --compare");
    assert!(text.lines().any(|line| line.starts_with("exact") && line.contains("two-sided bound")), "{text}");
}

#[test]
fn numbers_out_of_range_are_refused_in_one_line() {
    let gaussian = "account gaussian --delta 1e-5 --noise-multiplier";
    let sgd = "account dp-sgd --noise-multiplier 1 --delta 1e-5";
    let table = [
        (format!("{gaussian} 0"), "noise multiplier is 0, expected"),
        (format!("{gaussian} -1"), "noise multiplier is -1, expected"),
        (format!("{gaussian} nan"), "noise multiplier is NaN, expected"),
        (format!("{gaussian} inf"), "noise multiplier is inf, expected"),
        (format!("{gaussian} abc"), "--noise-multiplier is abc, expected a number"),
        (format!("{gaussian} 1 --times 0"), "times is 0, expected a whole number"),
        (format!("{gaussian} 1 --times 2.5"), "times is 2.5, expected a whole number"),
        (format!("{gaussian} 1 --adjacency near"), "--adjacency is near, expected add-remove"),
        (format!("{gaussian} 1 --method best"), "--method is best, expected exact"),
        (format!("{gaussian} 1 --epsilon 1"), "--delta is given together with --epsilon"),
        (format!("{gaussian} 1 --steps 3"), "--steps is 3, expected --noise-multiplier"),
        (format!("{gaussian} 1 --noise-multiplier 2"), "--noise-multiplier is given twice"),
        (
            format!("{gaussian} 1 --claim /no/such/room/claim.json"),
            "claim is /no/such/room/claim.json, expected",
        ),
        ("account gaussian --sigma 1 --delta 1e-5".into(), "sensitivity is missing"),
        ("account gaussian --sigma 1 --sensitivity 0 --delta 1e-5".into(), "sensitivity is 0, expected"),
        ("account gaussian --delta 1e-5".into(), "noise multiplier is missing"),
        ("account gaussian --noise-multiplier 1".into(), "--delta is missing"),
        ("account gaussian --noise-multiplier 1 --delta 0".into(), "delta is 0, where epsilon is infinite"),
        ("account gaussian --noise-multiplier 1 --delta 1".into(), "delta is 1, expected 0 ≤ delta < 1"),
        ("account gaussian --noise-multiplier 1 --delta nan".into(), "delta is NaN, expected"),
        ("account gaussian --noise-multiplier 1 --epsilon -1".into(), "epsilon is -1, expected"),
        ("account gaussian --noise-multiplier 1 --epsilon inf".into(), "epsilon is inf, expected"),
        (format!("{sgd} --sampling-rate 1.5 --steps 10"), "sampling rate is 1.5, expected"),
        (format!("{sgd} --sampling-rate 0.1 --steps 0"), "steps is 0, expected a whole number"),
        (format!("{sgd} --sampling-rate 0.1 --steps 1e30"), "steps is 1e30, expected a whole number"),
        (format!("{sgd} --sampling-rate 0.1"), "steps is missing"),
        (format!("{sgd} --steps 10 --batch-size 11 --dataset-size 10"), "batch size is 11, expected"),
        (format!("{sgd} --steps 10 --batch-size 11"), "dataset size is missing"),
        (
            "account randomized-response --noise-parameter 2 --delta 0".into(),
            "noise parameter is 2, expected",
        ),
        (
            "account randomized-response --noise-parameter 0.5 --buckets 1 --delta 0".into(),
            "buckets is 1, expected",
        ),
        ("account laplace --scale 0 --sensitivity 1 --delta 0".into(), "scale is 0, expected"),
        ("calibrate gaussian --epsilon 0 --delta 1e-5".into(), "epsilon is 0, expected"),
        (
            "calibrate gaussian --epsilon 1 --delta 1e-5 --solve luck".into(),
            "--solve is luck, expected noise",
        ),
        (
            "calibrate gaussian --epsilon 1 --delta 1e-5 --noise-multiplier 1".into(),
            "--noise-multiplier is 1, expected it left out",
        ),
        ("calibrate exponential --range 1 --epsilon 1 --delta 1e-5".into(), "kind is exponential, expected"),
        ("explain --delta 1e-5".into(), "--epsilon is missing"),
        ("explain --epsilon 1 --prior 1".into(), "prior is 1, expected 0 < prior < 1"),
        (
            "curve gaussian --noise-multiplier 1 --out picture.bmp".into(),
            "out is picture.bmp, expected a path that ends in",
        ),
        ("curve gaussian --noise-multiplier 1 --out x.svg --kind pie".into(), "--kind is pie, expected"),
        ("completions tcsh".into(), "shell is tcsh, expected bash"),
    ];
    for (line, expected) in table {
        let told = refusal(&words(&line));
        assert!(told.starts_with(expected), "{line}\n  told:     {told}\n  expected: {expected}");
    }
}

#[test]
fn typing_errors_are_answered_with_what_was_meant() {
    assert!(refusal(&words("acount gaussian")).ends_with("did you mean account?"));
    assert!(refusal(&words("calibrat gaussian")).ends_with("did you mean calibrate?"));
    assert!(refusal(&words("account gausian --noise-multiplier 1")).ends_with("did you mean gaussian?"));
    assert!(
        refusal(&words("account gaussian --noise-multipler 1")).ends_with("did you mean --noise-multiplier?")
    );
    assert!(refusal(&words("account")).starts_with("KIND is missing"));
    assert!(refusal(&words("calibrate gaussian --epsilon 1")).starts_with("--delta is missing"));
}

#[test]
fn files_that_cannot_be_read_are_refused_in_one_line() {
    let room = room("unreadable");
    let put = |name: &str, bytes: &[u8]| {
        let path = room.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let deep = format!(
        "[[mechanism]]\nkind = 'group'\nsize = 1\nmechanism = {}",
        "{ kind = 'group', size = 1, mechanism = ".repeat(40)
    ) + "{ kind = 'zcdp', rho = 1 }"
        + &" }".repeat(40);
    let endless = format!("[[mechanism]]\nmechanism = {}", "[".repeat(100_000));
    let table = [
        (room.join("missing.toml").display().to_string(), "missing.toml, expected a readable file"),
        (room.display().to_string(), "holds no claim"),
        (put("empty.toml", b""), "found it empty"),
        (put("binary.toml", &[0xff, 0xfe, 0, 1]), "expected UTF-8 text"),
        (put("long.toml", &vec![b' '; (1 << 20) + 1]), "at most 1 MiB"),
        (put("junk.toml", b"}{"), "plan line 1: "),
        (put("none.toml", b"unit = 'user'\n"), "the plan has no section"),
        (
            put("field.toml", b"[[mechanism]]\nkind = 'gaussian'\nnoise_multiplyer = 1\n"),
            "plan line 3: unknown field `noise_multiplyer`",
        ),
        (
            put("top.toml", b"unti = 'user'\n[[mechanism]]\nkind = 'zcdp'\nrho = 1\n"),
            "plan line 1: unknown field `unti`",
        ),
        (
            put("type.toml", b"[[mechanism]]\nkind = 'gaussian'\n\nnoise_multiplier = 'big'\n"),
            "plan line 4: `noise_multiplier` is a string, expected a number",
        ),
        (put("kind.toml", b"[[mechanism]]\nkind = 'gauss'\n"), "unknown variant `gauss`"),
        (
            put("range.toml", b"[[mechanism]]\nkind = 'gaussian'\nnoise_multiplier = nan\n"),
            "noise multiplier is NaN, expected",
        ),
        (put("deep.toml", deep.as_bytes()), "nesting is deeper than 32"),
        (put("endless.toml", endless.as_bytes()), "plan line "),
    ];
    for (path, expected) in table {
        let told = refusal(&["account", &path, "--delta", "1e-5"]);
        assert!(told.contains(expected), "{path}\n  told:     {told}\n  expected: {expected}");
    }
}

#[test]
fn a_claim_is_confirmed_and_a_tampered_one_is_not() {
    let room = room("claims");
    let path = room.join("claim.json");
    let file = path.display().to_string();
    answer(&format!("account gaussian --noise-multiplier 1 --times 3 --delta 1e-6 --claim {file}"));
    assert!(answer(&format!("verify {file}")).starts_with("confirmed: epsilon ≤ "));
    assert_eq!(json(&answer(&format!("verify {file} --json")))["verdict"], "confirmed");

    let written = std::fs::read_to_string(&path).unwrap();
    let claim = json(&written);
    assert_eq!(claim["schema"], "veracity.claim/2");
    let upper = claim["epsilon"]["upper"].to_string();
    // A smaller ε than the mechanism gives.
    std::fs::write(&path, written.replace(&upper, "7.0")).unwrap();
    let output = veracity(&["verify", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .starts_with("does not hold: epsilon at delta 1e-6, claimed 7; found")
    );
    // A larger ε promises less, and holds.
    let mut larger = claim.clone();
    larger["epsilon"]["upper"] = 70.into();
    let lower = claim["epsilon"]["lower"].as_f64().unwrap();
    larger["method"]["relative_width"] = ((70.0 - lower) / 70.0).into();
    std::fs::write(&path, larger.to_string()).unwrap();
    assert!(answer(&format!("verify {file}")).starts_with("confirmed: epsilon ≤ 70 at delta 1e-6"));
    // Shown of more than there is.
    let mut shown = claim.clone();
    shown["epsilon"]["lower"] = (lower * 1.001).into();
    std::fs::write(&path, shown.to_string()).unwrap();
    let said = String::from_utf8(veracity(&["verify", &file]).stdout).unwrap();
    assert!(said.starts_with("does not hold: the lower end of epsilon at delta 1e-6 is stated as"), "{said}");
    assert!(said.contains("above what was found"), "{said}");
    // Less noise than was claimed for.
    std::fs::write(&path, written.replace("\"noise_multiplier\": 1.0", "\"noise_multiplier\": 0.5")).unwrap();
    assert_eq!(veracity(&["verify", &file]).status.code(), Some(1));

    let broken = [
        (written[..written.len() / 2].to_owned(), "claim is not readable"),
        (
            written.replace("veracity.claim/2", "veracity.claim/9"),
            "schema is veracity.claim/9, expected veracity.claim/2",
        ),
        (written.replace("any two datasets", "most datasets"), "definition is not what veracity writes"),
        (written.replace("\"delta\": 1e-6", "\"delta\": 2"), "delta is 2, expected"),
        (written.replace("\"unit\"", "\"extra\": 1, \"unit\""), "unknown field `extra`"),
        ("[]".to_owned(), "claim is not readable"),
        ("[".repeat(100_000), "claim is not readable"),
    ];
    for (text, expected) in broken {
        std::fs::write(&path, text).unwrap();
        let told = refusal(&["verify", &file]);
        assert!(told.contains(expected), "{told}\n  expected: {expected}");
    }
}

#[test]
fn the_help_lists_every_kind_of_a_plan_with_its_fields() {
    let help = answer("account --help");
    for kind in veracity::kinds::KINDS {
        assert!(help.contains(&format!("  {}: {}\n", kind.name, kind.fields.join(", "))), "{}", kind.name);
    }
}

/// e^ε has no end of digits; what is read is a sentence.
#[test]
fn an_epsilon_beyond_all_floats_is_explained_in_words() {
    for line in
        ["explain --epsilon 800 --delta 1e-5", "explain --epsilon 1e300", "explain gdp.toml --delta 1e-5"]
    {
        let room = room("explained");
        let plan = room.join("gdp.toml");
        std::fs::write(&plan, "[[mechanism]]\nkind = \"gdp\"\nmu = 100\n").unwrap();
        let said = answer(&line.replace("gdp.toml", plan.to_str().unwrap()));
        assert!(!said.contains("inf") && said.contains("times as likely"), "{said}");
    }
}

/// The tightest method answers by itself, and says why it is not exact.
#[test]
fn where_exact_has_no_theorem_the_tightest_method_answers() {
    let room = room("tightest");
    let plan = room.join("drawn.toml");
    let drawn = "[[mechanism]]\nkind = \"fixed-size-sampled\"\nbatch = 100\npopulation = 10000\ntimes = 20\n\
                 mechanism = { kind = \"gaussian\", noise_multiplier = 2 }\n";
    std::fs::write(&plan, format!("adjacency = \"replace-one\"\n{drawn}")).unwrap();
    let plan = plan.to_str().unwrap();
    let by = |method: &str| {
        json(&answer(&format!("account {plan} --delta 1e-6 --json{method}")))["epsilon"]["upper"]
            .as_f64()
            .unwrap()
    };
    let best = by("");
    assert!(best <= by(" --method pld") && best < 0.9 * by(" --method rdp"), "{best}");
    let said = answer(&format!("account {plan} --delta 1e-6"));
    assert!(!said.contains("--method"), "{said}");
}

#[test]
fn curves_are_written_in_every_format() {
    let room = room("curves");
    for (name, magic) in
        [("a.svg", "<svg "), ("a.csv", "curve,x,lower,upper\nprofile,0,"), ("a.PNG", "\u{fffd}PNG")]
    {
        let path = room.join(name);
        let told = answer(&format!("curve gaussian --noise-multiplier 1 --out {}", path.display()));
        assert!(told.contains("epsilon ≤ 4.37718 at delta 1e-5"), "{told}");
        let bytes = std::fs::read(&path).unwrap();
        assert!(String::from_utf8_lossy(&bytes).starts_with(magic), "{name}");
    }
    let svg = std::fs::read_to_string(room.join("a.svg")).unwrap();
    assert!(
        svg.contains("advantage ≤ 0.383") && svg.contains("random guessing") && svg.ends_with("</svg>\n")
    );
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn words_for_people_state_the_odds_and_the_strongest_attack() {
    let text = answer("explain --epsilon 1 --delta 0 --prior 0.5");
    assert!(text.contains("at most 2.719 times as likely") && text.contains("73.11%"), "{text}");
    assert!(text.contains("5 together: epsilon ≤ 5 at delta 0"), "{text}");
    let text = answer("explain gaussian --noise-multiplier 1 --delta 1e-5 --unit patient");
    assert!(text.contains("your patient") && text.contains("at most 0.383"), "{text}");
    let found = json(&answer("explain gaussian --noise-multiplier 1 --json"));
    // The best test of N(0, 1) against N(1, 1) at false-positive rate 1%: ncdf(1 - nppf(0.99)) = 0.0924.
    let hits = found["attacks"][1]["true_positive_rate"]["upper"].as_f64().unwrap();
    assert!((0.0923..0.0926).contains(&hits), "{hits}");
}

#[test]
fn help_and_completions_are_there_to_learn_from() {
    assert!(answer("--help").contains("Examples:") && answer("account --help").contains("[[mechanism]]"));
    assert!(answer("--version").starts_with("veracity "));
    for shell in ["bash", "zsh", "fish"] {
        assert!(answer(&format!("completions {shell}")).contains("noise-multiplier"));
    }
}

#[cfg(unix)]
#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(["completions", "bash"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}
