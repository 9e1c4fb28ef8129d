//! A verdict for machines that run checks: JUnit XML and SARIF 2.1.0, as small as both formats allow.

use serde_json::json;
use veracity::{Error, Verdict, auditing::Audited};

/// The rule that a refuted claim breaks.
const RULE: &str = "privacy-claim-refuted";

/// One test case; it fails when the claim is refuted.
pub fn junit(audited: &Audited, line: &str) -> String {
    let line = escape(line);
    let (failures, skipped, inside) = match audited.verdict {
        Verdict::Refuted { .. } => {
            (1, 0, format!("<failure message=\"{line}\" type=\"{RULE}\">{line}</failure>"))
        }
        Verdict::NotRefuted { .. } => (0, 0, format!("<system-out>{line}</system-out>")),
        Verdict::CannotTell { .. } => (0, 1, format!("<skipped message=\"{line}\"/>")),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites tests=\"1\" failures=\"{failures}\">\n  \
         <testsuite name=\"veracity audit\" tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n    \
         <testcase classname=\"veracity.audit.{}\" name=\"{}\">{inside}</testcase>\n  \
         </testsuite>\n</testsuites>\n",
        escape(&audited.note.kind),
        escape(&audited.note.description),
    )
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
    let Ok(found) = serde_json::from_slice::<serde_json::Value>(bytes) else { return false };
    let is_ours = |run: &serde_json::Value| {
        run["tool"]["driver"]["name"] == "veracity"
            && run["results"].as_array().is_some_and(|all| all.iter().all(|one| one["ruleId"] == RULE))
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

/// One run with one result: an error when the claim is refuted, open otherwise; an audit never says "pass".
pub fn sarif(audited: &Audited, line: &str) -> Result<String, Error> {
    let (kind, level) = match audited.verdict {
        Verdict::Refuted { .. } => ("fail", "error"),
        Verdict::NotRefuted { .. } => ("open", "none"),
        Verdict::CannotTell { .. } => ("notApplicable", "none"),
    };
    crate::text::json(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "veracity",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [{
                    "id": RULE,
                    "shortDescription": { "text": "A claim of differential privacy is refuted by an attack." },
                }],
            }},
            "results": [{
                "ruleId": RULE,
                "ruleIndex": 0,
                "kind": kind,
                "level": level,
                "message": { "text": line },
                "locations": [{ "logicalLocations": [{
                    "name": audited.note.description,
                    "kind": "module",
                }]}],
            }],
        }],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_command_stays_text() {
        assert_eq!(escape("a<b> & \"c\" 'd'\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;  ");
    }
}
