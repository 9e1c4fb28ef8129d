//! A verdict for CI: JUnit XML, and SARIF 2.1.0 with the fields that code scanning requires beyond the standard.

use crate::args::AuditArgs;
use serde_json::{Value, json};
use std::{
    env, fs,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};
use veracity::{
    Error, Verdict,
    auditing::{Retention, SubjectNote, journal::REPORT},
};

/// The rule that a refuted claim breaks.
const RULE: &str = "privacy-claim-refuted";
/// The rule that an inconclusive audit breaks.
const TOO_WEAK: &str = "privacy-audit-inconclusive";

/// The outcome of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOutcome {
    /// The claim is refuted.
    Refuted,
    /// It is not.
    NotRefuted,
    /// The audit is inconclusive.
    CannotTell,
    /// There is no verdict: something went wrong.
    Broken,
}

impl From<&Verdict> for AuditOutcome {
    fn from(verdict: &Verdict) -> AuditOutcome {
        match verdict {
            Verdict::Refuted { .. } => AuditOutcome::Refuted,
            Verdict::NotRefuted { .. } => AuditOutcome::NotRefuted,
            Verdict::CannotTell { .. } => AuditOutcome::CannotTell,
        }
    }
}

/// An audit as reported to CI: its subject, its outcome, and one line of text.
#[derive(Debug, Clone, Copy)]
pub struct AuditReport<'a> {
    pub note: &'a SubjectNote,
    pub outcome: AuditOutcome,
    pub line: &'a str,
}

/// One test case; it fails when the claim is refuted.
pub fn junit(told: AuditReport<'_>) -> String {
    let line = escape(told.line);
    let (failures, errors, skipped, inside) = match told.outcome {
        AuditOutcome::Refuted => {
            (1, 0, 0, format!("<failure message=\"{line}\" type=\"{RULE}\">{line}</failure>"))
        }
        AuditOutcome::NotRefuted => (0, 0, 0, format!("<system-out>{line}</system-out>")),
        AuditOutcome::CannotTell => (0, 0, 1, format!("<skipped message=\"{line}\"/>")),
        AuditOutcome::Broken => {
            (0, 1, 0, format!("<error message=\"{line}\" type=\"no-verdict\">{line}</error>"))
        }
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites tests=\"1\" failures=\"{failures}\">\n  \
         <testsuite name=\"veracity audit\" tests=\"1\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n    \
         <testcase classname=\"veracity.audit.{}\" name=\"{}\">{inside}</testcase>\n  \
         </testsuite>\n</testsuites>\n",
        escape(&told.note.kind),
        escape(&told.note.description),
    )
}

/// Removes the file of an earlier audit, if there is one.
pub fn forget(name: &'static str, path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::cannot("remove", name, path, error)),
        _ => Ok(()),
    }
}

/// Whether a file is a test case of ours.
pub fn is_junit(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let lines: Vec<&str> = text.lines().collect();
    matches!(lines[..], [xml, suites, suite, case, "  </testsuite>", "</testsuites>"]
        if xml.starts_with("<?xml ")
            && suites.starts_with("<testsuites tests=\"1\" ")
            && suite.starts_with("  <testsuite name=\"veracity audit\" ")
            && case.starts_with("    <testcase classname=\"veracity.audit."))
}

/// Whether a file is a result of ours.
pub fn is_sarif(bytes: &[u8]) -> bool {
    let Ok(found) = serde_json::from_slice::<Value>(bytes) else { return false };
    let is_our_rule = |one: &Value| one["ruleId"] == RULE || one["ruleId"] == TOO_WEAK;
    let is_ours = |run: &Value| {
        run["tool"]["driver"]["name"] == "veracity"
            && run["results"].as_array().is_some_and(|all| all.iter().all(is_our_rule))
    };
    matches!(found["runs"].as_array().map(Vec::as_slice), Some([only]) if is_ours(only))
}

/// What XML must not read as markup, and the characters that no XML 1.0 document may hold.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The file that an audit is about, as far as its arguments name one: the plan, the claim, the scores, the model, or the first file
/// among the words of the command.
pub fn about(args: &AuditArgs) -> Option<PathBuf> {
    let claim = args.claim.as_deref().filter(|claim| claim.ends_with(".json")).map(PathBuf::from);
    let words = args.command.as_deref().unwrap_or_default().split_whitespace();
    let script = words.map(Path::new).find(|word| word.is_relative() && word.is_file()).map(Path::to_owned);
    let plan = args.plan.clone();
    plan.or(args.scores.clone()).or(args.model.clone()).or(script).or(claim)
}

/// The file that a result is shown at; where the audit is about none, its report.
pub fn place(about: Option<&Path>, kept: &Retention) -> String {
    let report = match kept {
        Retention::Everything(folder, _) | Retention::Report(folder) => folder.join(REPORT),
        Retention::Nothing => PathBuf::from(REPORT),
    };
    relative_uri(about.unwrap_or(&report))
}

/// A path as a URI that is relative to the folder one is in, since code scanning takes no other. Of a file elsewhere the name is
/// told, and nothing of where it lies.
fn relative_uri(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    let inside = path.strip_prefix(&here).unwrap_or(path);
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let name = Path::new(path.file_name().unwrap_or_default());
    let told = if inside.components().all(is_below) { inside } else { name };
    let parts = told.components().filter_map(|part| match part {
        Component::Normal(name) => Some(percent_encoded(&name.to_string_lossy())),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Everything but what a URI may hold as it is.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

/// The same for the same pieces on every machine and in every version: FNV-1a of 64 bits. It names results, and guards nothing.
fn fingerprint(pieces: &[&str]) -> String {
    let bytes = pieces.iter().flat_map(|piece| piece.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// One run. A refuted claim is an error and an inconclusive audit a warning, located at `place`. A claim that is not refuted is no
/// result, because services show every result as a fault, whatever its kind; the run has a note instead. An audit never says "pass".
/// A run without a verdict has no result either: it is marked as not successful.
pub fn sarif(told: AuditReport<'_>, place: &str) -> Result<String, Error> {
    let results: Vec<Value> = match told.outcome {
        AuditOutcome::Refuted => vec![result(told, place, (RULE, 0, "error"))],
        AuditOutcome::CannotTell => vec![result(told, place, (TOO_WEAK, 1, "warning"))],
        AuditOutcome::NotRefuted | AuditOutcome::Broken => Vec::new(),
    };
    let is_broken = told.outcome == AuditOutcome::Broken;
    crate::text::json(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "veracity",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": [refuted(), inconclusive()],
            }},
            // What is before the last slash is the category: an audit of the same file replaces the earlier one, and no other.
            "automationDetails": { "id": format!("veracity/audit/{}/{place}/", told.note.kind) },
            "invocations": [{
                "executionSuccessful": !is_broken,
                "toolExecutionNotifications": [{
                    "level": if is_broken { "error" } else { "note" },
                    "message": { "text": told.line },
                }],
            }],
            "results": results,
        }],
    }))
}

fn result(told: AuditReport<'_>, place: &str, (rule, index, level): (&str, u32, &str)) -> Value {
    json!({
        "ruleId": rule,
        "ruleIndex": index,
        "kind": "fail",
        "level": level,
        "message": { "text": told.line },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": place },
                "region": { "startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2 },
            },
            "logicalLocations": [{ "name": told.note.description, "kind": "module" }],
        }],
        // Numbers differ from run to run; what is wrong, and where, does not.
        "partialFingerprints": {
            "primaryLocationLineHash": format!("{}:1", fingerprint(&[rule, &told.note.kind, place])),
        },
    })
}

fn refuted() -> Value {
    json!({
        "id": RULE,
        "name": "PrivacyClaimRefuted",
        "shortDescription": { "text": "A claim of differential privacy is refuted by an attack." },
        "fullDescription": { "text":
            "An attacker detected whether a record was in the data more often than the claim allows. If the claim is true, the \
             probability of such a result is at most 100% minus the confidence in the message." },
        "help": {
            "text":
                "The program does not provide the claimed privacy. Read the report of the audit: it shows where the claim is refuted and \
                 limits the noise that the mechanism adds. Then check the scale of the noise, clipping, sampling, the seed, and all other \
                 outputs. `veracity verify` recomputes the verdict from the trials.",
            "markdown":
                "**The program does not provide the claimed privacy.** Read the report of the audit: it shows where the claim is refuted \
                 and limits the noise that the mechanism adds. Then check\n\n- the scale of the noise and the clipping,\n- how records are \
                 sampled,\n- where the randomness comes from,\n- all other outputs.\n\n`veracity verify certificate.json` \
                 recomputes the verdict from the trials.",
        },
        "defaultConfiguration": { "level": "error" },
        "properties": {
            "tags": ["security", "privacy", "differential-privacy"],
            "precision": "very-high",
            "problem.severity": "error",
            "security-severity": "8.0",
        },
    })
}

fn inconclusive() -> Value {
    json!({
        "id": TOO_WEAK,
        "name": "PrivacyAuditInconclusive",
        "shortDescription": { "text": "An audit of differential privacy is inconclusive." },
        "fullDescription": { "text":
            "With this number of trials and this attack, the audit could not have refuted the claim as required." },
        "help": {
            "text": "Run more trials, use a stronger attack, or lower the required power.",
            "markdown": "Run **more trials** (`--trials`), use a stronger attack, or lower the required power \
                         (`--require`).",
        },
        "defaultConfiguration": { "level": "warning" },
        "properties": {
            "tags": ["privacy", "differential-privacy"],
            "precision": "very-high",
            "problem.severity": "warning",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity::{
        AuditDone, AuditSettings, Case, Count, Delta, Mechanism, NoiseMultiplier, Subject, audit,
        auditing::{AuditResult, Opening},
    };

    fn told<'a>(audited: &'a AuditResult, line: &'a str) -> AuditReport<'a> {
        AuditReport { note: &audited.note, outcome: AuditOutcome::from(&audited.verdict), line }
    }

    /// An audit of Gaussian noise of which this part is added.
    fn audited(part: f64, trials: u64) -> AuditResult {
        let noise_multiplier = NoiseMultiplier::new(1.0).unwrap();
        let subject = Subject::new(Mechanism::Gaussian { noise_multiplier });
        let (delta, trials) = (Delta::new(1e-5).unwrap(), Count::new(trials).unwrap());
        let case = Case::mechanism(&subject, part, None, delta, 1, trials).unwrap();
        let AuditDone::Judged { audited, .. } = audit(&case, &AuditSettings::default()).unwrap() else {
            panic!()
        };
        *audited
    }

    /// One of each verdict.
    fn all() -> [AuditResult; 3] {
        let all = [audited(0.3, 400), audited(1.0, 400), audited(1.0, 4)];
        let names = all.each_ref().map(|audited| audited.verdict.name());
        assert_eq!(names, ["refuted", "not-refuted", "inconclusive"]);
        all
    }

    fn is_text(value: &Value) -> bool {
        value.as_str().is_some_and(|text| !text.trim().is_empty() && text.chars().count() <= 1024)
    }

    /// What code scanning asks of a file before it shows a result: rules with descriptions and help, and results with a message, a
    /// relative place, a line and a fingerprint. The numbers are those of the rules of the SARIF multitool.
    #[test]
    fn code_scanning_takes_every_verdict() {
        let places = ["plans/a%20plan.toml", "out-audit/report.html", "scores.csv"];
        for (audited, place) in all().iter().zip(places) {
            let text = sarif(told(audited, "THE LINE"), place).unwrap();
            assert!(is_sarif(text.as_bytes()));
            let file: Value = serde_json::from_str(&text).unwrap();
            let run = &file["runs"][0];
            let driver = &run["tool"]["driver"];
            assert!(is_text(&driver["name"]) && is_text(&driver["version"]), "GH1018");
            assert!(run["automationDetails"]["id"].as_str().unwrap().ends_with('/'));
            assert_eq!(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"], "THE LINE");
            let rules = driver["rules"].as_array().unwrap();
            for rule in rules {
                for part in ["shortDescription", "fullDescription", "help"] {
                    assert!(is_text(&rule[part]["text"]), "GH2012: {part}");
                }
                assert!(is_text(&rule["help"]["markdown"]) && rule.get("helpUri").is_none());
                assert_eq!(rule["properties"]["precision"], "very-high");
                let is_security = rule["properties"]["tags"].as_array().unwrap().contains(&"security".into());
                let severity = rule["properties"].get("security-severity").map(|text| text.as_str().unwrap());
                assert_eq!(severity.is_some(), is_security);
                assert!(severity.is_none_or(|text| (0.0..=10.0).contains(&text.parse::<f64>().unwrap())));
            }
            for result in run["results"].as_array().unwrap() {
                let index = result["ruleIndex"].as_u64().unwrap() as usize;
                assert_eq!(rules[index]["id"], result["ruleId"]);
                assert_eq!(rules[index]["defaultConfiguration"]["level"], result["level"]);
                assert_eq!(result["message"]["text"], "THE LINE");
                let location = &result["locations"][0]["physicalLocation"];
                assert_eq!(location["artifactLocation"]["uri"], place, "GH1001");
                assert_eq!(location["region"]["startLine"], 1, "GH1003");
                assert!(is_text(&result["partialFingerprints"]["primaryLocationLineHash"]));
            }
        }
    }

    /// Services show every result as a fault, so only faults are results.
    #[test]
    fn only_what_is_wrong_is_a_result() {
        let results = all().map(|audited| {
            let file: Value =
                serde_json::from_str(&sarif(told(&audited, "a line"), "a.toml").unwrap()).unwrap();
            let results = file["runs"][0]["results"].as_array().unwrap().clone();
            results.into_iter().map(|one| (one["ruleId"].clone(), one["level"].clone())).collect::<Vec<_>>()
        });
        assert_eq!(results[0], [(RULE.into(), "error".into())]);
        assert_eq!(results[1], []);
        assert_eq!(results[2], [(TOO_WEAK.into(), "warning".into())]);
    }

    #[test]
    fn a_place_is_relative_and_says_nothing_of_the_machine() {
        let here = env::current_dir().unwrap();
        let kept = Retention::Everything(PathBuf::from("out"), Opening::Fresh);
        for (path, expected) in [
            (Some(here.join("plans/a plan.toml")), "plans/a%20plan.toml"),
            (Some(PathBuf::from("./plans/é.toml")), "plans/%C3%A9.toml"),
            (Some(PathBuf::from("/somewhere/else/claim.json")), "claim.json"),
            (Some(PathBuf::from("../above/claim.json")), "claim.json"),
            (None, "out/report.html"),
        ] {
            assert_eq!(place(path.as_deref(), &kept), expected);
        }
        assert_eq!(place(None, &Retention::Nothing), REPORT);
    }

    /// A known value: the hash of the letter a, here followed by the end of its piece.
    #[test]
    fn a_fingerprint_does_not_change() {
        assert_eq!(fingerprint(&[]), "cbf29ce484222325");
        let a = (0xcbf2_9ce4_8422_2325_u64 ^ 0x61).wrapping_mul(0x0100_0000_01b3);
        assert_eq!(a, 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fingerprint(&["a"]), format!("{:016x}", a.wrapping_mul(0x0100_0000_01b3)));
        assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
    }

    #[test]
    fn junit_skips_an_inconclusive_audit() {
        let written = all().map(|audited| junit(told(&audited, "a line")));
        assert!(written.iter().all(|text| is_junit(text.as_bytes())));
        let found = written.each_ref().map(|text| {
            (
                text.contains("failures=\"1\""),
                text.contains("<failure "),
                text.contains("<skipped "),
                text.contains("skipped=\"1\""),
            )
        });
        assert_eq!(
            found,
            [(true, true, false, false), (false, false, false, false), (false, false, true, true)]
        );
    }

    #[test]
    fn markup_in_a_command_stays_text() {
        assert_eq!(escape("a<b> & \"c\" 'd'\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;  ");
    }
}
