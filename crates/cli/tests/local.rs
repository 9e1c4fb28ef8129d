//! `veracity local` on the real binary: from a plan through reports to estimates, and what is refused on the way.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{answer, json, refusal, room, veracity};
use std::fs;

/// 3000 people, half of them in Bern.
fn people() -> String {
    let cities = ["Bern", "Basel", "Bern", "Chur"];
    let rows = (0..3000).map(|row| format!("{},{}\n", cities[row % 4], row % 100));
    String::from("city,age\n") + &rows.collect::<String>()
}

#[test]
fn a_plan_names_the_best_protocol_first_and_says_why() {
    let text = answer("local plan --domain-size 1024 --epsilon 1 --reports 1e6");
    assert!(text.starts_with("oue: ± 3760 people of 1000000"), "{text}");
    for figure in
        ["oue       3.683", "olh       3.692", "sue       3.918", "hadamard  4.683", "trusted curator"]
    {
        assert!(text.contains(figure), "{figure}: {text}");
    }
    let text = answer("local plan --domain-size 128 --epsilon 1 --reports 1e6");
    assert!(text.contains("grr       43.6 "), "{text}");
    let plan = json(&answer("local plan --categories a,b,c --epsilon 2 --reports 1000 --json"));
    assert_eq!(plan["protocol"], "grr");
}

/// Every protocol, 3000 reports at ε = 3: Bern's half is found within six standard errors, chance of error below 1e-7.
#[test]
fn reports_of_every_protocol_lead_back_to_the_frequencies() {
    let room = room("local-reports");
    let (file, out, claim) = (room.join("people.csv"), room.join("reports.jsonl"), room.join("claim.json"));
    fs::write(&file, people()).unwrap();
    let (file, out, claim) = (file.to_str().unwrap(), out.to_str().unwrap(), claim.to_str().unwrap());
    let clear = || [out, claim].map(|path| drop(fs::remove_file(path)));
    for protocol in ["grr", "sue", "oue", "olh", "hadamard", "cms", "hcms", "rappor"] {
        clear();
        let words = format!(
            "local encode {file} --column city --categories Basel,Bern,Chur --epsilon 3 --protocol {protocol} --out {out} --claim {claim}"
        );
        assert!(answer(&words).starts_with("3000 reports"));
        let found = json(&answer(&format!("local estimate {out} --json")));
        assert_eq!(found["reports"], 3000);
        let bern = &found["categories"][1];
        let (frequency, error) = (bern["answer"].as_f64().unwrap(), bern["standard_error"].as_f64().unwrap());
        assert!((frequency - 0.5).abs() < 6.0 * error, "{protocol}: {frequency} ± {error}");
        assert_eq!(veracity(&["verify", claim]).status.code(), Some(0), "{protocol}");
        let projected = json(&answer(&format!("local estimate {out} --project --json")));
        let all = projected["categories"].as_array().unwrap();
        let sum: f64 = all.iter().map(|one| one["answer"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{protocol}: {sum}");
    }
    clear();
    let words = format!("local encode {file} --column age --lower 0 --upper 99 --epsilon 3 --out {out}");
    assert!(answer(&words).starts_with("3000 reports"));
    let found = json(&answer(&format!("local estimate {out} --json")));
    let (mean, bar) = (found["answer"].as_f64().unwrap(), found["error_bar"].as_f64().unwrap());
    assert!((mean - 49.5).abs() < 3.0 * bar, "{mean} ± {bar}");
}

#[test]
fn one_answer_is_one_report_and_two_people_with_one_answer_differ() {
    let one = || answer("local encode --value 7 --domain-size 1000 --epsilon 1");
    assert_eq!(one().lines().count(), 2);
    assert_ne!(one(), one(), "equal reports have chance below 1e-100");
    let seeded = || {
        veracity(&[
            "local",
            "encode",
            "--value",
            "7",
            "--domain-size",
            "1000",
            "--epsilon",
            "1",
            "--seed",
            "5",
        ])
    };
    assert_eq!(seeded().stdout, seeded().stdout);
    assert!(String::from_utf8(seeded().stderr).unwrap().contains("protect nobody"));
}

/// Sketches have hash functions of their own; clients that encode one by one must be able to agree on them.
#[test]
fn clients_that_share_a_survey_can_be_estimated_together() {
    let room = room("local-survey");
    let survey = room.join("survey.jsonl");
    let first = answer("local encode --value a --categories a,b --epsilon 8 --protocol cms");
    fs::write(&survey, &first).unwrap();
    let mut all = first;
    for _ in 0..40 {
        let other = answer(&format!("local encode --value b --survey {}", survey.to_str().unwrap()));
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
    fs::write(path("people.csv"), "city\nhunter2\n").unwrap();
    let encode = |more: &str| {
        let line = format!("local encode {} --column city --epsilon 1 {more}", path("people.csv"));
        refusal(&line.split_whitespace().collect::<Vec<_>>())
    };
    assert!(encode("--categories a,b").contains("--other"));
    assert!(encode("--categories a,b --other c").contains("--other"));
    assert!(encode("--categories a").contains("domain size"));
    assert!(encode("--categories a,a").contains("twice"));
    assert!(encode("").contains("--categories is missing"));
    assert!(encode("--categories a,b --protocol magic").contains("protocol is magic"));
    assert!(encode("--lower 0 --upper 1 --protocol oue").contains("--protocol is given"));
    for line in [
        "local plan --domain-size 10 --epsilon 0 --reports 10",
        "local plan --domain-size 10 --epsilon 1 --reports 0",
    ] {
        refusal(&line.split_whitespace().collect::<Vec<_>>());
    }
    let header = answer("local encode --value a --categories a,b --epsilon 1 --protocol oue");
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
    refusal(&["local", "estimate", &path("nowhere.jsonl")]);
    refusal(&["local", "estimate", room.to_str().unwrap()]);
}
