//! `veracity local` on the real binary: from a plan through reports to estimates, and what is refused on the way.

use crate::door;
use crate::door::{answer, fed, json, refusal, room, veracity, words};
use std::fs;

/// 3000 people, half of them in Bern.
fn people() -> String {
    let cities = ["Bern", "Basel", "Bern", "Chur"];
    let rows = (0..3000).map(|row| format!("{},{}\n", cities[row % 4], row % 100));
    String::from("city,age\n") + &rows.collect::<String>()
}

#[test]
fn a_plan_of_three_values_is_randomized_response() {
    let plan = json(&answer("local plan --categories a,b,c --epsilon 2 --reports 1000 --json"));
    assert_eq!(plan["protocol"], "grr");
}

/// Every protocol, 3000 reports at ε = 3: Bern's half is found within four standard errors. Seed 1 for what is found; what is
/// claimed is claimed of system entropy.
#[test]
fn reports_of_every_protocol_lead_back_to_the_frequencies() {
    let room = room("local-reports");
    let (file, out, claim) = (room.join("people.csv"), room.join("reports.jsonl"), room.join("claim.json"));
    fs::write(&file, people()).unwrap();
    let (file, out, claim) = (file.to_str().unwrap(), out.to_str().unwrap(), claim.to_str().unwrap());
    let clear = || [out, claim].map(|path| drop(fs::remove_file(path)));
    let rehearse = |words: &str| {
        clear();
        let output = veracity(&door::words(&format!("{words} --seed 1")));
        assert_eq!(output.status.code(), Some(0), "{words}");
        json(&answer(&format!("local estimate {out} --json")))
    };
    for protocol in ["grr", "sue", "oue", "olh", "hadamard", "cms", "hcms", "rappor"] {
        clear();
        let words = format!(
            "local encode {file} --column city --categories Basel,Bern,Chur --epsilon 3 --protocol {protocol} --out {out} --claim {claim}"
        );
        assert!(answer(&words).starts_with("3000 reports"));
        assert_eq!(veracity(&["verify", claim]).status.code(), Some(0), "{protocol}");
        let found = rehearse(&words);
        assert_eq!(found["reports"], 3000);
        let bern = &found["categories"][1];
        let (frequency, error) = (bern["answer"].as_f64().unwrap(), bern["standard_error"].as_f64().unwrap());
        assert!((frequency - 0.5).abs() < 4.0 * error, "{protocol}: {frequency} ± {error}");
        let projected = json(&answer(&format!("local estimate {out} --project --json")));
        let all = projected["categories"].as_array().unwrap();
        let sum: f64 = all.iter().map(|one| one["answer"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{protocol}: {sum}");
    }
    clear();
    let words = format!("local encode {file} --column age --lower 0 --upper 99 --epsilon 3 --out {out}");
    assert!(answer(&words).starts_with("3000 reports"));
    let found = rehearse(&words);
    let (mean, bar) = (found["answer"].as_f64().unwrap(), found["error_bar"].as_f64().unwrap());
    assert!((mean - 49.5).abs() < 2.0 * bar, "{mean} ± {bar}");
}

/// One person's report; the answer goes through standard input.
fn report(flags: &str, answer: &str) -> String {
    let args = [&["local", "encode"], &words(flags)[..]].concat();
    let output = fed(&args, answer.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{flags}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn one_answer_is_one_report_and_two_people_with_one_answer_differ() {
    let one = || report("--domain-size 1000 --epsilon 1", "7\n");
    assert_eq!(one().lines().count(), 2);
    assert_ne!(one(), one(), "equal reports have chance below 1e-100");
    let seeded = || fed(&words("local encode --domain-size 1000 --epsilon 1 --seed 5"), b"7");
    assert_eq!(seeded().stdout, seeded().stdout);
    assert!(String::from_utf8(seeded().stderr).unwrap().contains("protect no one"));
}

/// Whatever an answer is, from standard input or in a file: exit 0, nothing on stderr, as many lines and as many bytes.
#[test]
fn no_answer_changes_the_exit_path_or_the_length_of_the_output() {
    let room = room("local-cells");
    let file = room.join("people.csv");
    let huge = "x".repeat(2_000_000);
    let answers: [&[u8]; 14] = [
        b"a",
        b"b",
        b"hunter2",
        b"",
        b"\0",
        b"a\0b",
        b"\xff\xfe",
        b"\"a\"",
        b"\"a\"\"b\"",
        b"nan",
        b"-inf",
        b"1e999",
        b"17",
        huge.as_bytes(),
    ];
    for flags in [
        "--categories a,b,c",
        "--categories a,b,c --other c",
        "--categories a,b --protocol rappor",
        "--domain-size 2000 --protocol grr",
        "--domain-size 500 --protocol hcms",
        "--domain-size 50 --protocol olh",
        "--lower 0 --upper 100",
    ] {
        let flags = format!("{flags} --epsilon 4");
        let mut shapes = Vec::new();
        for answer in answers {
            let from_input = fed(&[&words("local encode")[..], &words(&flags)].concat(), answer);
            fs::write(&file, [b"x,y\n1,", answer, b"\n"].concat()).unwrap();
            let line = format!("local encode {} --column y {flags}", file.display());
            for output in [from_input, veracity(&words(&line))] {
                assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{flags}");
                let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
                shapes.push((output.status.code(), lines, output.stdout.len()));
            }
        }
        assert!(shapes.iter().all(|shape| *shape == (Some(0), 2, shapes[0].2)), "{flags}: {shapes:?}");
    }
}

/// A value on the command line would be in the process list and in the shell's history.
#[test]
fn no_flag_takes_an_answer() {
    assert!(!answer("local encode --help").contains("--value"));
}

/// The server, whom nobody trusts, writes the survey; how much is given is for the client to say, and does not depend on
/// the answer.
#[test]
fn a_survey_that_asks_for_more_than_the_client_allows_is_refused() {
    let room = room("local-cap");
    let survey = room.join("survey.jsonl");
    for (flags, epsilon) in [
        ("--categories a,b --epsilon 16 --protocol grr", "16"),
        ("--categories a,b --epsilon 2 --protocol rappor", "2"),
        ("--lower 0 --upper 1 --epsilon 1.5", "1.5"),
    ] {
        fs::write(&survey, report(flags, "a")).unwrap();
        let encode = format!("local encode --survey {}", survey.display());
        assert!(refusal(&words(&encode)).contains("--max-epsilon"), "no cap, no report");
        for answer in [&b"a"[..], b"hunter2", b"\xff", b""] {
            let output = fed(&words(&format!("{encode} --at-most 1")), answer);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
            assert_eq!(
                String::from_utf8(output.stderr).unwrap(),
                format!(
                    "veracity: the survey asks for epsilon {epsilon}, but you allow at most 1; nothing was reported\n"
                )
            );
            let output = fed(&words(&format!("{encode} --at-most {epsilon}")), answer);
            assert_eq!(output.status.code(), Some(0));
        }
        for bad in ["nan", "-1", "x"] {
            let output = fed(&words(&format!("{encode} --at-most {bad}")), b"a");
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{bad}");
        }
    }
}

/// Sketches have hash functions of their own; clients that encode one by one must be able to agree on them. A seed for each.
#[test]
fn clients_that_share_a_survey_can_be_estimated_together() {
    let room = room("local-survey");
    let survey = room.join("survey.jsonl");
    let first = report("--categories a,b --epsilon 8 --protocol cms --seed 0", "a");
    fs::write(&survey, &first).unwrap();
    let mut all = first;
    for seed in 1..=40 {
        let flags = format!("--survey {} --at-most 8 --seed {seed}", survey.to_str().unwrap());
        let other = report(&flags, "b\n");
        assert_eq!(other.lines().next(), all.lines().next());
        all += &(other.lines().nth(1).unwrap().to_owned() + "\n");
    }
    fs::write(&survey, all).unwrap();
    let found = json(&answer(&format!("local estimate {} --json", survey.to_str().unwrap())));
    assert_eq!(found["reports"], 41);
    let (share, error) = (
        found["categories"][1]["answer"].as_f64().unwrap(),
        found["categories"][1]["standard_error"].as_f64().unwrap(),
    );
    assert!((share - 40.0 / 41.0).abs() < 6.0 * error + 0.05, "{share} ± {error}");
}

#[test]
fn what_cannot_be_reported_or_estimated_is_refused_without_a_value() {
    let room = room("local-refused");
    let path = |name: &str| room.join(name).to_str().unwrap().to_owned();
    let header = report("--categories a,b --epsilon 1 --protocol oue", "a");
    let header = header.lines().next().unwrap();
    for (text, expected) in [
        (String::new(), "line 1"),
        ("hunter2\n".to_owned(), "line 1"),
        (format!("{header}\nhunter2\n"), "line 2"),
        (format!("{header}\n{{\"value\":1}}\n"), "line 2"),
        (format!("{header}\n{{\"bits\":\"hunter2\"}}\n"), "line 2"),
        (header.replace("oue", "magic"), "protocol"),
    ] {
        fs::write(path("reports.jsonl"), text).unwrap();
        let line = refusal(&["local", "estimate", &path("reports.jsonl")]);
        assert!(line.contains(expected) && !line.contains("hunter2"), "{line}");
    }
}
