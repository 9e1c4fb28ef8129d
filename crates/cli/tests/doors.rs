//! The real binary, from arguments to exit code: what it answers, and how it refuses.

use crate::door::{answer, json, refusal, room, veracity};
use std::process::Command;

/// # mpmath 1.3, 50 digits: findroot of ncdf(1/2 - e) - exp(e) ncdf(-1/2 - e) - 1e-5
const EPSILON_OF_UNIT_GAUSSIAN: f64 = 4.377_178_095_7;

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
        (room.display().to_string(), "contains no claims"),
        (put("binary.toml", &[0xff, 0xfe, 0, 1]), "expected UTF-8 text"),
        (put("long.toml", &vec![b' '; (1 << 20) + 1]), "at most 1 MiB"),
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
    assert!(answer(&format!("verify {file}")).starts_with("valid: epsilon ≤ "));
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
            .starts_with("invalid: epsilon at delta 1e-6, claimed 7; found")
    );
    // A larger ε promises less, and holds.
    let mut larger = claim.clone();
    larger["epsilon"]["upper"] = 70.into();
    let lower = claim["epsilon"]["lower"].as_f64().unwrap();
    larger["method"]["relative_width"] = ((70.0 - lower) / 70.0).into();
    std::fs::write(&path, larger.to_string()).unwrap();
    assert!(answer(&format!("verify {file}")).starts_with("valid: epsilon ≤ 70 at delta 1e-6"));
    // Shown of more than there is.
    let mut shown = claim.clone();
    shown["epsilon"]["lower"] = (lower * 1.001).into();
    std::fs::write(&path, shown.to_string()).unwrap();
    let said = String::from_utf8(veracity(&["verify", &file]).stdout).unwrap();
    assert!(said.starts_with("invalid: the lower bound of epsilon at delta 1e-6 is stated as"), "{said}");
    assert!(said.contains("above what was found"), "{said}");
    // Less noise than was claimed for.
    std::fs::write(&path, written.replace("\"noise_multiplier\": 1.0", "\"noise_multiplier\": 0.5")).unwrap();
    assert_eq!(veracity(&["verify", &file]).status.code(), Some(1));

    let broken = [
        (written[..written.len() / 2].to_owned(), "claim is not valid"),
        (
            written.replace("veracity.claim/2", "veracity.claim/9"),
            "schema is veracity.claim/9, expected veracity.claim/2",
        ),
        (
            written.replace("any two datasets", "most datasets"),
            "definition differs from the text that veracity writes",
        ),
        (written.replace("\"delta\": 1e-6", "\"delta\": 2"), "delta is 2, expected"),
        (written.replace("\"unit\"", "\"extra\": 1, \"unit\""), "unknown field `extra`"),
        ("[]".to_owned(), "claim is not valid"),
        ("[".repeat(100_000), "claim is not valid"),
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
        assert!(
            help.contains(&format!("  {}: {}\n", kind.name, kind.field_names().join(", "))),
            "{}",
            kind.name
        );
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
fn an_explanation_has_the_strongest_attack() {
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

/// Whoever shuffles must not read the guarantee of Poisson batches as theirs.
#[test]
fn answers_about_batches_say_which_batches_they_assume() {
    for line in [
        "account dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --steps 100 --delta 1e-5",
        "calibrate dp-sgd --sampling-rate 0.01 --steps 100 --epsilon 3 --delta 1e-5",
    ] {
        let text = answer(line);
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("assumes Poisson batches") && last.contains("`veracity batching`"),
            "{text}"
        );
    }
    assert!(!answer("account gaussian --noise-multiplier 1 --delta 1e-5").contains("assumes"));
}

/// A group in Poisson batches is explained at the claim's delta.
#[test]
fn groups_are_explained_at_the_same_delta() {
    let text = answer("explain dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --steps 100 --delta 1e-5");
    let groups: Vec<&str> = text.lines().filter(|line| line.contains(" together: ")).collect();
    assert!(groups.len() == 2 && groups.iter().all(|line| line.contains("at delta 1e-5   (pld)")), "{text}");
}
