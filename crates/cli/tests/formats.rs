//! Formats as promises: a real file of each, held against its schema in `docs/schemas`, and twins that must fail.

#![cfg(unix)] // A run is killed to see its checkpoint.

use crate::door::{json, room, run};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use veracity_testkit::json_schema::Schemas;

/// What every command prints with `--json`: the name that it must have, and the arguments. No field of it may be left out.
/// Later lines use what earlier ones wrote.
const PRINTED: &str = include_str!("formats.txt");

fn printed_lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRINTED.lines().map(|line| line.split_once(' ').unwrap())
}

/// What fails, and the kind of the error.
const FAILED: &[(&str, &str)] = &[
    ("usage", "account gaussian --noise-multipler 2 --delta 1e-5 --json"),
    ("usage", "release modus people.csv --epsilon 1 --json"),
    ("usage", "--json"),
    ("invalid", "account gaussian --noise-multiplier 2 --delta 2 --json"),
    ("file", "verify none.json --json"),
];

/// Files that are kept, and the fields that may be left out of them.
const KEPT: [(&str, &str, &[&str]); 16] = [
    ("claim/2", "plain.json", &[]),
    ("claim/2", "mean.json", &["release"]),
    ("claim/2", "count.json", &["release", "persons"]),
    ("claim/2", "bins.json", &["release"]),
    ("claim/2", "rank.json", &["release"]),
    ("claim/2", "seeded.json", &["release"]),
    ("claim/2", "local.json", &["release"]),
    ("claim/2", "network/claim.json", &["release"]),
    ("certificate/3", "audit/certificate.json", &[]),
    ("order/2", "audit/order.json", &[]),
    ("model/1", "network/model.safetensors", &[]),
    ("model/1", "convex/model.safetensors", &[]),
    ("model/1", "layers/model.safetensors", &[]),
    ("model/1", "features/model.safetensors", &[]),
    ("checkpoint/2", "checkpoint.safetensors", &[]),
    ("strategy-file/1", "strategy.json", &[]),
];

const SURVEYS: [&str; 8] = ["grr", "sue", "oue", "olh", "hadamard", "cms", "hcms", "rappor"];

/// One of each kind of mechanism, as a plan has it.
const KINDS: [&str; 24] = [
    "kind = 'gaussian'\nsigma = 4\nsensitivity = 2",
    "kind = 'laplace'\nnoise_multiplier = 3",
    "kind = 'discrete-gaussian'\nsigma = 4\nsensitivity = 2",
    "kind = 'discrete-laplace'\nscale = 4",
    "kind = 'randomized-response'\nnoise_parameter = 0.5\nbuckets = 4",
    "kind = 'exponential'\nepsilon = 0.5",
    "kind = 'pure'\nepsilon = 0.5",
    "kind = 'approximate'\nepsilon = 0.5\ndelta = 1e-6",
    "kind = 'zcdp'\nrho = 0.1",
    "kind = 'rdp'\norders = [2, 4]\nvalues = [0.1, 0.2]",
    "kind = 'gdp'\nmu = 0.5",
    "kind = 'poisson-sampled'\nrate = 0.1\nmechanism = { kind = 'gaussian', noise_multiplier = 2 }",
    "kind = 'fixed-size-sampled'\nbatch = 10\npopulation = 100\nmechanism = { kind = 'gaussian', noise_multiplier = 2 }",
    "kind = 'truncated-poisson-sampled'\nrate = 0.1\nmost = 30\npopulation = 100\nmechanism = { kind = 'gaussian', noise_multiplier = 2 }",
    "kind = 'random-allocation'\nbatches = 10\nmechanism = { kind = 'gaussian', noise_multiplier = 2 }",
    "kind = 'shuffled'\nbatches = 10\nmechanism = { kind = 'gaussian', noise_multiplier = 2 }",
    "kind = 'matrix'\nstrategy = { kind = 'tree', steps = 8 }\nparticipation = { kind = 'once' }\nnoise_multiplier = 4",
    "kind = 'matrix'\nstrategy = { kind = 'banded', steps = 8, coefficients = [1, 0.5] }\nparticipation = { kind = 'cyclic-poisson', groups = 2, rate = 0.1 }\nnoise_multiplier = 4",
    "kind = 'matrix'\nstrategy = { kind = 'rows', rows = [[1], [0.5, 1]] }\nparticipation = { kind = 'separated', times = 1, separation = 2 }\nnoise_multiplier = 4",
    "kind = 'best-of'\nmean_runs = 4\nshape = 1\nmechanism = { kind = 'gaussian', noise_multiplier = 4 }",
    "kind = 'losses'\nfirst = { losses = [-1, 1], probabilities = [0.2689414213699951, 0.7310585786300049] }",
    "kind = 'parallel'\nparts = [{ kind = 'pure', epsilon = 1 }, { kind = 'gaussian', noise_multiplier = 2 }]",
    "kind = 'group'\nsize = 2\nmechanism = { kind = 'gaussian', noise_multiplier = 4 }",
    "kind = 'dp-sgd'\nsampling_rate = 0.01\nnoise_multiplier = 1\nsteps = 10",
];

/// A plan of each other kind that the page has a form for, with the numbers that the form starts at.
fn kinds_with_forms() -> impl Iterator<Item = String> {
    let listed = |name: &str| KINDS.iter().any(|plan| plan.starts_with(&format!("kind = '{name}'")));
    let others = veracity::kinds::KINDS.iter().filter(move |kind| !listed(kind.name));
    others.filter_map(|kind| {
        let numbers = kind.form?.sliders.iter().map(|(field, _, _, start)| format!("\n{field} = {start}"));
        Some(format!("kind = '{}'{}", kind.name, numbers.collect::<String>()))
    })
}

const DATA: &str = "\
[data]\nformat = 'csv'\npath = 'points.csv'\nlabel = 'side'\nclasses = ['left', ['right', 'r']]\n\
[[data.column]]\nname = 'x'\nbounds = [0, 100]\n";
const NETWORK: &str = "\
[[model.layer]]\nkind = 'linear'\noutputs = 4\n[[model.layer]]\nkind = 'relu'\n[[model.layer]]\nkind = 'linear'\noutputs = 2\n\
[training]\nbatch_size = 50\nsteps = STEPS\nlearning_rate = 0.1\n[privacy]\nnoise_multiplier = 20\ndelta = 1e-5\n";
const CONVEX: &str = "\
[data]\nformat = 'csv'\npath = 'points.csv'\nlabel = 'y'\nlabel_bounds = [0, 100]\n[[data.column]]\nname = 'x'\nbounds = [0, 100]\n\
[model.convex]\nloss = 'ridge'\nmethod = 'objective'\nregularisation = 0.01\nresidual_bound = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\n";

const LAYERS: &str = "\
layer = [{ kind = 'conv2d', channels = 4, kernel = 3, padding = 1 }, { kind = 'group-norm', groups = 2 }, { kind = 'gelu' },\
 { kind = 'max-pool', kernel = 2, stride = 2 }, { kind = 'average-pool', kernel = 2, stride = 2 },\
 { kind = 'residual', layers = [{ kind = 'conv2d', channels = 4, kernel = 3, padding = 1 }, { kind = 'tanh' }] },\
 { kind = 'flatten' }, { kind = 'layer-norm' }, { kind = 'linear', outputs = 10 }]\n";
const FEATURES: &str = "\
feature_seed = 7\nlayer = [{ kind = 'flatten' }, { kind = 'linear', outputs = 10 }]\n\
feature = [{ kind = 'scattering', scales = 1, angles = 4 }, { kind = 'group-norm', groups = 1 },\
 { kind = 'private-mean', noise_multiplier = 50 }, { kind = 'power', exponent = 0.5 }, { kind = 'unit-norm', norm = 1 }]\n";
const DIGITS: &str = "[data]\nformat = 'digits'\n[model]\ninput = [1, 8, 8]\n";
const BRIEF: &str = "[training]\nbatch_size = 64\nsteps = 2\nlearning_rate = 0.1\n[privacy]\nnoise_multiplier = 20\ndelta = 1e-5\n";

/// One object that was written, what wrote it, the name that it must have and what may be left out of it.
struct Made {
    from: String,
    name: String,
    value: Value,
    optional: &'static [&'static str],
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schemas() -> Schemas {
    Schemas::read(&repository().join("docs/schemas")).unwrap()
}

/// `claim/2` is in `claim-2.json`.
fn file_of(name: &str) -> String {
    name.replace('/', "-") + ".json"
}

/// The object that a command prints, whether what it looks at stands or not.
fn printed(folder: &Path, line: &str) -> Value {
    let output = run(folder, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{line}: {said}");
    json(std::str::from_utf8(&output.stdout).unwrap())
}

/// The header of a safetensors file, and where its tensors begin.
fn header(bytes: &[u8]) -> (Value, usize) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (json(std::str::from_utf8(&bytes[8..8 + length]).unwrap()), 8 + length)
}

/// The one card of ours among the metadata.
fn card(head: &Value) -> (&str, Value) {
    let cards = head["__metadata__"].as_object().unwrap().iter();
    let mut ours = cards.filter(|(word, _)| word.starts_with("veracity"));
    let (word, text) = ours.next().unwrap();
    (word, json(text.as_str().unwrap()))
}

fn kept(path: &Path) -> Value {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("safetensors") => card(&header(&fs::read(path).unwrap()).0).1,
        _ => json(&fs::read_to_string(path).unwrap()),
    }
}

/// Everything that the commands write, in a room with data, plans and reports.
fn made(room: &Path) -> Vec<Made> {
    furnish(room);
    let mut all = Vec::new();
    for (name, line) in printed_lines() {
        let value = printed(room, line);
        all.push(Made { from: line.to_owned(), name: name.to_owned(), value, optional: &[] });
    }
    lay_aside(room);
    for (name, path, optional) in KEPT {
        let value = kept(&room.join(path));
        all.push(Made { from: path.to_owned(), name: name.to_owned(), value, optional });
    }
    for (at, kind) in KINDS.map(str::to_owned).into_iter().chain(kinds_with_forms()).enumerate() {
        let plan = format!("kind-{at}.toml");
        let adjacency = if at == 15 { "adjacency = 'zero-out'\n" } else { "" };
        let adjacency = if at == 4 { "adjacency = 'replace-one'\n" } else { adjacency };
        fs::write(room.join(&plan), format!("{adjacency}[[mechanism]]\n{kind}\n")).unwrap();
        let value = printed(room, &format!("account {plan} --delta 1e-5 --json"));
        all.push(Made { from: kind, name: "account/2".to_owned(), value, optional: &[] });
    }
    for survey in SURVEYS.iter().chain(&["mean"]) {
        let text = fs::read_to_string(room.join(format!("{survey}.jsonl"))).unwrap();
        let value = json(text.lines().next().unwrap());
        all.push(Made { from: (*survey).to_owned(), name: "local/1".to_owned(), value, optional: &[] });
    }
    for (kind, line) in FAILED {
        let output = run(room, line);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}");
        let value = json(std::str::from_utf8(&output.stderr).unwrap());
        assert_eq!(value["kind"], *kind, "{line}");
        all.push(Made { from: (*line).to_owned(), name: "error/1".to_owned(), value, optional: &[] });
    }
    // As an earlier version wrote it: the same, without what is new.
    let mut value = kept(&room.join("plain.json"));
    value["schema"] = json!("veracity.claim/1");
    fs::write(room.join("older.json"), value.to_string()).unwrap();
    all.push(Made { from: "older.json".to_owned(), name: "claim/1".to_owned(), value, optional: &[] });
    all
}

/// What the commands read.
fn furnish(room: &Path) {
    fs::copy(repository().join("examples/people.csv"), room.join("people.csv")).unwrap();
    let people = "[tables.people]\npath = 'visits.csv'\nperson = 'id'\nrows_per_group = 1\ngroups_per_person = 1\n[tables.people.columns]\nage = { lower = 0, upper = 120 }\n\
                  city = { keys = ['Basel', 'Bern'] }\ntown = { type = 'text' }\n";
    fs::write(room.join("catalog.toml"), people).unwrap();
    let visits = (0..300).map(|at| format!("{at},{},{},t\n", at % 90, ["Basel", "Bern"][at % 2]));
    fs::write(room.join("visits.csv"), "id,age,city,town\n".to_owned() + &visits.collect::<String>())
        .unwrap();
    let points = (0..300).map(|at| at * 37 % 100);
    let points = points.map(|x| format!("{x},{},{x}\n", if x < 50 { "left" } else { "right" }));
    fs::write(room.join("points.csv"), "x,side,y\n".to_owned() + &points.collect::<String>()).unwrap();
    let scores = (0..40).map(|at| format!("in,{}\nout,{at}\n", at + 5)).collect::<String>();
    fs::write(room.join("scores.csv"), "world,score\n".to_owned() + &scores).unwrap();
    for (name, steps) in [("network.toml", "20"), ("long.toml", "20000")] {
        fs::write(room.join(name), DATA.to_owned() + &NETWORK.replace("STEPS", steps)).unwrap();
    }
    fs::write(room.join("convex.toml"), CONVEX).unwrap();
    for (name, model) in [("layers.toml", LAYERS), ("features.toml", FEATURES)] {
        fs::write(room.join(name), [DIGITS, model, BRIEF].concat()).unwrap();
    }
    for (name, input) in [("one.jsonl", 1), ("other.jsonl", 3)] {
        let call = json!({ "place": "sum", "norm": "l2", "sensitivity": 1, "input": [input], "output": [5] });
        fs::write(room.join(name), call.to_string() + "\n").unwrap();
    }
    let noise = json!({ "kind": "gaussian", "scale": 2 });
    let bare = json!({ "place": "sum", "norm": "l2", "sensitivity": 1, "input": [5], "output": [5], "noise": noise });
    fs::write(room.join("bare.jsonl"), bare.to_string() + "\n").unwrap();
    let collect = |line: String| {
        let output = run(room, &format!("local encode people.csv {line}"));
        assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for (at, protocol) in SURVEYS.iter().enumerate() {
        // Some surveys name their values and some number them.
        let domain = if at % 2 == 0 {
            "--column city --categories Basel,Bern,Chur,Genf"
        } else {
            "--column age --domain-size 128"
        };
        collect(format!("{domain} --epsilon 3 --protocol {protocol} --out {protocol}.jsonl"));
    }
    collect("--column age --lower 0 --upper 99 --epsilon 3 --out mean.jsonl --claim local.json".to_owned());
}

/// A checkpoint of a run that is still going on. On a busy machine a run may end before anyone looks; then it is begun anew.
fn lay_aside(room: &Path) {
    let is_copied = |_| {
        let _ = fs::remove_dir_all(room.join("long"));
        let words = "train long.toml --out long --checkpoint-every 7".split_whitespace();
        let mut child = Command::new(env!("CARGO_BIN_EXE_veracity"))
            .args(words)
            .current_dir(room)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let aside = room.join("long/checkpoint.safetensors");
        let is_copied = loop {
            if fs::copy(&aside, room.join("checkpoint.safetensors")).is_ok() {
                break true;
            }
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                break false;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        is_copied
    };
    assert!((0..50).any(is_copied), "every run ended before its checkpoint was seen");
}

/// Every place in a value; of a list the first and the last.
fn places(value: &Value, place: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                places(field, format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")), into);
            }
        }
        Value::Array(items) => {
            let ends = BTreeSet::from([0, items.len().saturating_sub(1)]);
            for at in ends.into_iter().filter(|at| *at < items.len()) {
                places(&items[at], format!("{place}/{at}"), into);
            }
        }
        _ => {}
    }
    into.push(place);
}

/// Everything that is wrong in one place: a field too many, one of another type, one too few.
fn twins(made: &Made) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut every = Vec::new();
    places(&made.value, String::new(), &mut every);
    // What a subject's score depends on is the subject's own matter, and has any shape.
    every.retain(|place| !place.contains("/subject/settings"));
    for place in every {
        let mut change = |what: &str, change: &dyn Fn(&mut Value)| {
            let mut twin = made.value.clone();
            change(twin.pointer_mut(&place).unwrap());
            all.push((format!("{what} at {place}"), twin));
        };
        match made.value.pointer(&place).unwrap() {
            Value::Object(_) => {
                change("an unknown field", &|value| value["unheard_of"] = json!({ "of": [] }));
                change("another type", &|value| *value = json!(true));
            }
            Value::Array(_) => change("another type", &|value| *value = json!(true)),
            _ => change("another type", &|value| *value = json!({ "wrong": [[]] })),
        }
    }
    for name in made.value.as_object().unwrap().keys().filter(|name| !made.optional.contains(&name.as_str()))
    {
        let mut twin = made.value.clone();
        twin.as_object_mut().unwrap().remove(name);
        all.push((format!("no {name}"), twin));
    }
    all
}

#[test]
fn every_file_is_what_its_schema_says_and_no_twin_of_it_is() {
    let schemas = schemas();
    // Python writes the card of a PyTorch model; python/tests/private_torch/test_saved_runs.py checks it.
    let others = ["parts.json", "torch-model-1.json"].map(str::to_owned);
    let (mut seen, mut failed) = (BTreeSet::from(others), 0);
    let room = room("formats-schemas");
    let all = made(&room);
    for one in &all {
        let Made { from, name, value, optional } = one;
        let file = file_of(name);
        assert_eq!(value["schema"], format!("veracity.{name}"), "{from}");
        assert_eq!(schemas.check(&file, value), Ok(()), "{from}");
        for field in *optional {
            let mut without = value.clone();
            assert!(without.as_object_mut().unwrap().remove(*field).is_some(), "{from} has no {field}");
            assert_eq!(schemas.check(&file, &without), Ok(()), "{from} without {field}");
        }
        for (what, twin) in twins(one) {
            assert!(schemas.check(&file, &twin).is_err(), "{from}, {what}: the schema holds");
            failed += 1;
        }
        seen.insert(file);
    }
    assert!(failed > 3000, "{failed} twins");
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), schemas.names().collect::<Vec<_>>());
}

/// Every object in a schema, but for the parts that kept files have too.
fn objects<'a>(schema: &'a Value, into: &mut Vec<&'a Value>) {
    match schema {
        Value::Object(rules) => {
            if rules.contains_key("properties") {
                into.push(schema);
            }
            rules.values().for_each(|rule| objects(rule, into));
        }
        Value::Array(all) => all.iter().for_each(|one| objects(one, into)),
        _ => {}
    }
}

/// One name had up to four shapes.
#[test]
fn a_name_stands_for_one_set_of_fields() {
    let schemas = schemas();
    for file in schemas.names() {
        let schema = schemas.get(file).unwrap();
        assert!(schema.get("oneOf").is_none() && schema.get("anyOf").is_none(), "{file} has several shapes");
    }
    for name in printed_lines().map(|(name, _)| name).collect::<BTreeSet<_>>() {
        let mut all = Vec::new();
        objects(schemas.get(&file_of(name)).unwrap(), &mut all);
        assert!(!all.is_empty(), "{name}");
        for object in all {
            let fields: BTreeSet<&str> =
                object["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            let required = object["required"].as_array().unwrap().iter();
            assert_eq!(
                required.map(|field| field.as_str().unwrap()).collect::<BTreeSet<_>>(),
                fields,
                "{name}"
            );
        }
    }
    let mut fields = BTreeMap::new();
    for Made { from, name, value, .. } in made(&room("formats-shapes")) {
        if printed_lines().any(|(printed, _)| printed == name) {
            let keys: BTreeSet<String> = value.as_object().unwrap().keys().cloned().collect();
            assert_eq!(fields.entry(name).or_insert_with(|| keys.clone()), &keys, "{from}");
        }
    }
    assert!(fields.len() > 20);
}

#[test]
fn every_report_of_a_survey_is_what_the_schema_says() {
    let (schemas, room) = (schemas(), room("formats-reports"));
    furnish(&room);
    for survey in SURVEYS.iter().chain(&["mean"]) {
        let text = fs::read_to_string(room.join(format!("{survey}.jsonl"))).unwrap();
        assert_eq!(text.lines().count(), 2001);
        for line in text.lines().skip(1) {
            assert_eq!(schemas.check("local-1.json#/$defs/report", &json(line)), Ok(()), "{survey}");
        }
        let mut report = json(text.lines().last().unwrap());
        report["unheard_of"] = json!(1);
        assert!(schemas.check("local-1.json#/$defs/report", &report).is_err(), "{survey}");
    }
}

/// The schema and the reader are written apart: what one refuses, the other must not take.
#[test]
fn what_the_schemas_refuse_the_readers_refuse() {
    let room = &room("formats-readers");
    let all = made(room);
    let of = |from: &str| all.iter().find(|made| made.from == from).unwrap();
    let refused = |line: &str, what: &str| {
        let output = run(room, line);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{line}, {what}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
    };
    for name in ["mean.json", "older.json"] {
        for (what, twin) in twins(of(name)) {
            fs::write(room.join("twin.claim.json"), twin.to_string()).unwrap();
            refused("verify twin.claim.json", &what);
        }
    }
    fs::create_dir(room.join("forged")).unwrap();
    for name in ["certificate.json", "order.json"] {
        for file in ["certificate.json", "order.json", "trials.csv"] {
            fs::copy(room.join("audit").join(file), room.join("forged").join(file)).unwrap();
        }
        for (what, twin) in twins(of(&format!("audit/{name}"))) {
            fs::write(room.join("forged").join(name), twin.to_string()).unwrap();
            refused("verify forged/certificate.json", &what);
        }
    }
    // A strategy that someone wrote by hand has no schema.
    for (what, twin) in twins(of("strategy.json")).into_iter().filter(|(what, _)| what != "no schema") {
        fs::write(room.join("twin.json"), twin.to_string()).unwrap();
        refused("account matrix --strategy ./twin.json --noise-multiplier 2 --delta 1e-5", &what);
    }
    for (what, twin) in twins(of("hcms")) {
        fs::write(room.join("twin.jsonl"), twin.to_string() + "\n").unwrap();
        refused("local estimate twin.jsonl", &what);
    }
    for name in ["network", "convex"] {
        let path = format!("{name}/model.safetensors");
        let bytes = fs::read(room.join(&path)).unwrap();
        for (what, twin) in twins(of(&path)) {
            let (mut head, tensors) = header(&bytes);
            let word = card(&head).0.to_owned();
            head["__metadata__"][word] = twin.to_string().into();
            let head = head.to_string();
            let file = [&(head.len() as u64).to_le_bytes(), head.as_bytes(), &bytes[tensors..]].concat();
            fs::write(room.join("twin.safetensors"), file).unwrap();
            refused("evaluate twin.safetensors points.csv", &what);
        }
    }
}

/// Every `veracity.NAME/N` in the sources, where it is not a test that makes it up.
fn named(folder: &Path, into: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for rest in text.split("veracity.").skip(1) {
                let name: String =
                    rest.chars().take_while(|c| c.is_ascii_lowercase() || "-/".contains(*c)).collect();
                let number: String = rest[name.len()..].chars().take_while(char::is_ascii_digit).collect();
                if name.ends_with('/') && !number.is_empty() {
                    into.insert(name + &number, path.clone());
                }
            }
        }
    }
}

#[test]
fn every_name_in_the_sources_has_a_schema_and_a_section_that_names_its_fields() {
    let schemas = schemas();
    let page = fs::read_to_string(repository().join("docs/formats.md")).unwrap();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        named(&entry.unwrap().path().join("src"), &mut found);
    }
    for (name, path) in &found {
        // Bytes that are no JSON have their words on the page alone.
        if ["run-key/1", "tensors/1", "answer/1", "ledger/1"].contains(&name.as_str()) {
            assert!(page.contains(&format!("`veracity.{name}`")), "{name}");
        } else {
            assert!(schemas.get(&file_of(name)).is_some(), "{name} has no schema, {}", path.display());
        }
    }
    assert!(found.len() > 25, "{found:?}");
    for file in schemas.names().filter(|file| *file != "parts.json") {
        let schema = schemas.get(file).unwrap();
        let title = schema["title"].as_str().unwrap();
        let name = title.strip_prefix("veracity.").unwrap();
        assert!(found.contains_key(name), "{file}: nothing has this name any more");
        assert_eq!(file_of(name), file);
        let (_, section) =
            page.split_once(&format!("### {title}\n")).unwrap_or_else(|| panic!("{title} has no section"));
        let section = section.split("\n#").next().unwrap();
        assert!(section.contains(&format!("(schemas/{file})")), "{title}");
        // The header of a survey is one of several, by its protocol.
        let header = schema.pointer("/$defs/header/oneOf").and_then(Value::as_array);
        let shapes = header.cloned().unwrap_or_else(|| vec![schema.clone()]);
        for field in shapes.iter().flat_map(|shape| shape["properties"].as_object().unwrap().keys()) {
            assert!(field == "schema" || section.contains(&format!("| `{field}`")), "{title}: {field}");
        }
    }
}
