//! Whatever a command does, another door can do: each job is one call of the library.

#![allow(clippy::unwrap_used)]

mod door;

use door::{answer, room};
use std::{collections::BTreeSet, fs, path::Path};
use veracity::{
    Adjacency, AuditSettings, Case, Choice, Count, Delta, Epsilon, Error, Mechanism, NoiseMultiplier,
    ReleaseRequest, ReleaseSettings, Significance, Subject, Table, Target, TrainSettings, TrainingPlan,
    account, audit,
    batching::{Training, compare_batches},
    calibration::{Solve, solve},
    collecting, drawing, explain, filter, inspect,
    ledger::{Ledger, Terms},
    lower_bounds::{Counts, bound::FromCounts},
    query::{Question, Statistic},
    release, sql, strategy, train,
    training::{self, Wanted},
    web, zoo,
};

/// Commands that are about the command line itself.
const ITS_OWN: [&str; 3] = ["completions", "man", "help"];

/// The job of a command, in one call; whether there is such a command.
fn call(command: &str, room: &Path) -> Result<bool, Error> {
    let subject =
        || Ok::<_, Error>(Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? }));
    let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-5)?);
    let model = || training::Model::read(&room.join("out/model.safetensors"));
    let records = || model()?.records(Path::new("digits"), None, Wanted::Labelled);
    match command {
        "account" => drop(account(&subject()?, Target::Delta(delta), Choice::Best)?),
        "calibrate" => drop(solve(&subject()?, Solve::Noise, epsilon, delta)?),
        "curve" => drop(drawing::curves(&subject()?, delta)?),
        "explain" => drop(explain(&subject()?, Target::Delta(delta), &[])?),
        "batching" => {
            let sizes = (Count::new(6000)?, Count::new(256)?);
            let run = Training::new(sizes, NoiseMultiplier::new(1.0)?, Count::ONE, None)?;
            drop(compare_batches(&run, delta)?);
        }
        "strategy" => drop(strategy::compare(Count::new(50)?, Count::new(4)?, strategy::Aim::Mean)?),
        "audit" => {
            let case = Case::mechanism(&subject()?, 1.0, None, delta, 1, Count::new(400)?)?;
            drop(audit(&case, &AuditSettings::default(), None)?);
        }
        "bound" => {
            let counts =
                Counts { true_positives: 90, false_negatives: 10, false_positives: 10, true_negatives: 90 };
            let significance = Significance::new(0.05)?;
            let _ = FromCounts::ClopperPearson.bound(counts, delta, Count::ONE, significance)?;
        }
        "release" => {
            let question = Question { statistic: Statistic::Count, adjacency: Adjacency::AddRemove };
            let request = ReleaseRequest::new(question, None, epsilon);
            let claim = Some(room.join("count.json"));
            let settings = ReleaseSettings { claim, ..ReleaseSettings::default() };
            drop(release(&request, &Table::new(room.join("people.csv")), &settings)?);
        }
        "serve" => drop(web::serving::Server::bind(0)?),
        "ledger" => {
            drop(Ledger::create(&room.join("ledger"), Terms::new(filter::Budget { epsilon, delta })?)?)
        }
        "query" => {
            let text = "[tables.people]\npath = 'people.csv'\nperson = 'city'\n";
            let request = sql::QueryRequest::new("SELECT COUNT(*) FROM people", epsilon);
            let settings = sql::QuerySettings { claim: Some(room.join("query.json")), ..Default::default() };
            drop(sql::query(&request, &sql::Catalog::read(text, room)?, None, &settings)?);
        }
        "local" => drop(collecting::estimate(&room.join("reports.jsonl"))?),
        "init" => drop(training::initial_plan(&room.join("people.csv"), Path::new("people.csv"), None)?),
        "train" => {
            let out = Some(room.join("out"));
            let settings = TrainSettings { out, seed: Some(1), ..TrainSettings::default() };
            drop(train(&TrainingPlan::digits()?, &settings, None)?);
        }
        "predict" => drop(training::predict(&model()?, &records()?)?),
        "evaluate" => {
            let _ = training::evaluate(&model()?, &records()?)?;
        }
        "verify" => drop(inspect(&room.join("out"))?),
        "zoo" => {
            let terms = zoo::Terms { seed: 1, significance: 0.001, threads: 2 };
            drop(zoo::visit(&zoo::exhibits(1)?[0], zoo::Breed::Planted, terms)?);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The commands are those that the help lists, so that a new one has to be shown here.
#[test]
fn the_job_of_every_command_is_one_call() {
    let room = room("one-call");
    fs::write(room.join("people.csv"), "city\na\nb\na\n").unwrap();
    let reports = room.join("reports.jsonl");
    let people = room.join("people.csv");
    answer(&format!(
        "local encode {} --column city --categories a,b --epsilon 1 --out {}",
        people.display(),
        reports.display()
    ));
    let help = answer("--help");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed: BTreeSet<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(listed.len() > 15, "{help}");
    // A model is trained before it is used.
    let first = listed.iter().filter(|command| **command == "train");
    for command in first.chain(listed.iter().filter(|command| **command != "train")) {
        let is_there = call(command, &room).unwrap_or_else(|error| panic!("{command}: {error}"));
        assert_eq!(is_there, !ITS_OWN.contains(command), "{command}");
    }
    assert!(!call("dance", &room).unwrap());
}
