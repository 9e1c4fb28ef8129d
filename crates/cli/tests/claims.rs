//! Claims of releases: none is lost, each says what was asked and answered, and together they cost what their plan costs.

use crate::door::{did, json, names, refusal, refused, room, run, text, veracity, words};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

const BOUNDS: &str = "--column age --lower 0 --upper 100 --epsilon 1";
const COUNT: &str = "release count people.csv --epsilon 1";

fn spawn(room: &Path, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_veracity"));
    command.args(words(line)).current_dir(room).stdout(Stdio::piped()).spawn().unwrap()
}

fn people(rows: usize) -> String {
    let row = |at: usize| format!("{},{}\n", 20 + at % 60, ["Basel", "Bern"][at % 2]);
    std::iter::once("age,city\n".to_owned()).chain((0..rows).map(row)).collect()
}

/// A room with a table.
fn desk(name: &str) -> std::path::PathBuf {
    let room = room(name);
    fs::write(room.join("people.csv"), people(1000)).unwrap();
    room
}

fn read(path: &Path) -> Value {
    json(&fs::read_to_string(path).unwrap())
}

/// A value as TOML within one line.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name} = {}", toml(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(all) => format!("[{}]", all.iter().map(toml).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string(),
    }
}

/// A plan that lists the mechanisms of claims.
fn plan_of(claims: &[Value]) -> String {
    let first = &claims[0];
    let mut plan = format!("adjacency = {}\nunit = {}\n", first["adjacency"], first["unit"]);
    for claim in claims {
        plan += "[[mechanism]]\n";
        for (name, value) in claim["mechanism"].as_object().unwrap() {
            plan += &format!("{name} = {}\n", toml(value));
        }
    }
    plan
}

/// Ten questions, some of them twice, in the folder where they are asked.
#[test]
fn ten_releases_leave_ten_claims_that_compose_to_the_epsilon_of_their_plan() {
    let room = desk("claims-ten");
    let count = "release count people.csv --epsilon 0.1";
    let sum = "release sum people.csv --column age --lower 0 --upper 100 --epsilon 0.5 --delta 1e-7 --noise gaussian";
    let mean = &format!("release mean people.csv {BOUNDS}");
    let histogram = "release histogram people.csv --column city --categories Basel,Bern --epsilon 0.3";
    for ask in [count, count, count, mean, mean, sum, sum, sum, histogram, histogram] {
        did(&room, ask);
    }
    let claims = "count-2 count-3 count histogram-of-city-2 histogram-of-city mean-of-age-2 mean-of-age sum-of-age-2 sum-of-age-3 \
                  sum-of-age";
    let files: Vec<String> = words(claims).into_iter().map(|name| format!("{name}.claim.json")).collect();
    let mut expected = [&files[..], &["people.csv".to_owned()]].concat();
    expected.sort();
    assert_eq!(names(&room), expected);
    let claims: Vec<Value> = files.iter().map(|name| read(&room.join(name))).collect();
    let times: BTreeSet<&str> =
        claims.iter().map(|claim| claim["release"]["time"].as_str().unwrap()).collect();
    assert_eq!(times.len(), 10);
    fs::write(room.join("plan.toml"), plan_of(&claims)).unwrap();
    for question in ["--delta 1e-6", "--epsilon 3"] {
        let ask = |places: &str| json(&did(&room, &format!("account {places} {question} --json")));
        let (planned, composed, folder) = (ask("plan.toml"), ask(&files.join(" ")), ask("."));
        for name in
            ["schema", "asked", "epsilon", "delta", "adjacency", "unit", "method", "standing", "mechanism"]
        {
            assert_eq!(composed[name].to_string(), planned[name].to_string(), "{name} of {question:?}");
        }
        assert_eq!(folder, composed);
        assert_eq!((&composed["claims"], &composed["dataset"]), (&10.into(), &"people.csv".into()));
    }
    // A release made twice is paid for twice.
    let upper = |places: &str| {
        json(&did(&room, &format!("account {places} --delta 1e-6 --json")))["epsilon"]["upper"]
            .as_f64()
            .unwrap()
    };
    let (once, twice) = (upper("count.claim.json"), upper("count.claim.json count-2.claim.json"));
    assert!(once <= 0.1 && twice > 1.9 * once, "{once} {twice}");
    assert!(did(&room, "account . --delta 1e-6").ends_with("10 claims of people.csv, composed\n"));
    // All of them hold, and a sum of claims is one that can be written down.
    assert!(did(&room, "verify .").ends_with("all 10 valid\n"));
}

#[test]
fn processes_at_once_never_share_a_claim() {
    let room = desk("claims-race");
    let children: Vec<_> = (0..12).map(|_| spawn(&room, &format!("{COUNT} --json"))).collect();
    let mut taken = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let said = json(&String::from_utf8(output.stdout).unwrap());
        let name = said["claim"].as_str().unwrap().to_owned();
        // What is on the screen is what its own claim says.
        assert_eq!(read(&room.join(&name))["release"]["answer"][0]["value"], said["answer"]);
        assert!(taken.insert(name.clone()), "{name} was taken twice");
    }
    assert_eq!(names(&room).len(), 13);
    assert!(taken.contains("count.claim.json") && taken.contains("count-12.claim.json"), "{taken:?}");
}

/// Whatever has the name stays, and the refusal comes before a row is read: the table is not even there.
#[test]
fn a_name_that_is_taken_is_refused_before_anything_is_read() {
    let room = desk("claims-taken");
    did(&room, &format!("{COUNT} --claim claim.json"));
    fs::write(room.join("empty"), "").unwrap();
    fs::write(room.join("notes.txt"), "I quote \"veracity.claim/2\" here").unwrap();
    let encode = "--column city --categories Basel,Bern --epsilon 1";
    did(&room, &format!("local encode people.csv {encode} --out reports.jsonl"));
    #[cfg(unix)]
    for (link, to) in [("link", "people.csv"), ("dangling", "nowhere")] {
        std::os::unix::fs::symlink(room.join(to), room.join(link)).unwrap();
    }
    let contents = |room: &Path| -> Vec<(String, Vec<u8>)> {
        names(room)
            .into_iter()
            .map(|name| (name.clone(), fs::read(room.join(name)).unwrap_or_default()))
            .collect()
    };
    let before = contents(&room);
    for taken in names(&room) {
        for line in [
            format!("release count nowhere.csv --epsilon 1 --claim {taken}"),
            format!("account gaussian --noise-multiplier 1 --delta 1e-5 --claim {taken}"),
        ] {
            let said = refused(&room, &line);
            assert!(
                said.contains("claim is ")
                    && said.contains("already exists and was kept; choose another name"),
                "{said}"
            );
        }
        for flag in ["--out", "--claim"] {
            let said = refused(&room, &format!("local encode nowhere.csv {encode} {flag} {taken}"));
            assert!(said.contains("choose another name"), "{said}");
        }
    }
    assert!(refused(&room, &format!("{COUNT} --claim claim.json --force")).contains("--force"));
    assert_eq!(contents(&room), before, "something was touched");
}

#[test]
fn a_folder_or_a_file_may_be_named() {
    let room = desk("claims-place");
    fs::create_dir(room.join("there")).unwrap();
    let release = format!("release mean people.csv {BOUNDS} --claim");
    for (given, expected) in [
        ("there", "there/mean-of-age.claim.json"),
        ("there/", "there/mean-of-age-2.claim.json"),
        ("made/", "made/mean-of-age.claim.json"),
        ("own.json", "own.json"),
    ] {
        let said = did(&room, &format!("{release} {given}"));
        assert!(
            said.contains(&format!("claim written to {expected}\n")) && room.join(expected).exists(),
            "{said}"
        );
    }
    assert!(refused(&room, &format!("{release} nowhere/claim.json")).contains("cannot write claim"));
    // A column may be called anything.
    for (column, expected) in [
        ("../../etc/passwd", "count-of-etc-passwd.claim.json"),
        ("..", "count-of-column.claim.json"),
        ("Annual income (CHF)", "count-of-annual-income-chf.claim.json"),
    ] {
        fs::write(room.join("odd.csv"), format!("{column}\n1\n")).unwrap();
        did(&room, &format!("release count odd.csv --column '{column}' --epsilon 1"));
        assert_eq!(read(&room.join(expected))["release"]["column"], column);
    }
}

#[test]
fn a_claim_says_what_was_asked_and_answered_and_nothing_of_the_records() {
    let room = desk("claims-content");
    let bounds = serde_json::json!({ "lower": 0.0, "upper": 100.0 });
    let with = |name: &str, value: Value| {
        let mut parameters = bounds.clone();
        parameters[name] = value;
        parameters
    };
    for (statistic, more, column, parameters) in [
        ("count", "--epsilon 1", Value::Null, Value::Null),
        ("sum", BOUNDS, "age".into(), bounds.clone()),
        ("mean", BOUNDS, "age".into(), bounds.clone()),
        ("variance", BOUNDS, "age".into(), bounds.clone()),
        ("quantile", &format!("{BOUNDS} --rank 0.25"), "age".into(), with("rank", 0.25.into())),
        ("histogram", &format!("{BOUNDS} --bins 4"), "age".into(), with("bins", 4.into())),
        (
            "histogram",
            "--column city --categories Basel,Bern --epsilon 1",
            "city".into(),
            serde_json::json!({ "categories": ["Basel", "Bern"] }),
        ),
    ] {
        let release = |file: &Path, seed: &str| {
            let said = json(&did(&room, &format!("release {statistic} {} --json {more} {seed}", text(file))));
            let claim = read(&room.join(said["claim"].as_str().unwrap()));
            (said, claim)
        };
        let (said, claim) = release(&room.join("people.csv"), "");
        let note = &claim["release"];
        assert_eq!(claim["schema"], "veracity.claim/2");
        assert_eq!(
            (&note["statistic"], &note["column"], &note["parameters"]),
            (&statistic.into(), &column, &parameters)
        );
        assert_eq!((&note["dataset"], &note["for_release"]), (&"people.csv".into(), &true.into()));
        assert!(note["time"].as_str().unwrap().ends_with('Z') && note["digest"]["of"] == "answer");
        let cells = note["answer"].as_array().unwrap();
        let all = said["cells"].as_array().unwrap();
        assert_eq!(
            cells.iter().map(|cell| (&cell["value"], &cell["error_bar"])).collect::<Vec<_>>(),
            all.iter().map(|cell| (&cell["answer"], &cell["error_bar"])).collect::<Vec<_>>()
        );
        if statistic != "histogram" {
            assert_eq!((&said["answer"], &said["error_bar"]), (&all[0]["answer"], &all[0]["error_bar"]));
        }
        assert!(!claim.to_string().contains(text(&room)), "a path is in the claim");
        // On other records, with the same noise, nothing differs but the answer, what seals it, and the time. Seed 1, twice.
        let other = room.join("other");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("people.csv"), people(17).replace("Bern", "Chur")).unwrap();
        let mut both =
            [room.join("people.csv"), other.join("people.csv")].map(|file| release(&file, "--seed 1").1);
        for claim in &mut both {
            for private in ["answer", "digest", "time"] {
                assert!(!claim["release"][private].take().is_null());
            }
        }
        assert_eq!(both[0], both[1], "{statistic}");
    }
    did(&room, &format!("{COUNT} --dataset 'census 2026' --claim named.json"));
    assert_eq!(read(&room.join("named.json"))["release"]["dataset"], "census 2026");
    for bad in ["", " ", "two\nlines", &"x".repeat(300)] {
        assert!(refused(&room, &format!("{COUNT} --dataset '{bad}'")).contains("dataset is"));
    }
}

/// Every field that the digest covers, changed alone, and the digest itself.
#[test]
fn a_forged_answer_is_seen() {
    let room = desk("claims-forged");
    did(&room, &format!("release mean people.csv --claim claim.json {BOUNDS}"));
    let path = room.join("claim.json");
    let (written, claim) = (fs::read_to_string(&path).unwrap(), read(&path));
    let verify = |text: String| {
        fs::write(&path, text).unwrap();
        let output = veracity(&["verify", path.to_str().unwrap()]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    // Laid out otherwise it is the same claim.
    assert_eq!(verify(claim.to_string()).0, Some(0));
    let changes: [(&str, Value); 9] = [
        ("/release/answer/0/value", 12.5.into()),
        ("/release/answer/0/error_bar", 0.001.into()),
        ("/release/column", "income".into()),
        ("/release/statistic", "sum".into()),
        ("/release/parameters/upper", 99.into()),
        ("/release/dataset", "others.csv".into()),
        ("/release/time", "2020-01-31T12:00:00.000000000Z".into()),
        ("/release/digest/sha256", "0".repeat(64).into()),
        ("/release/digest/sha256", "".into()),
    ];
    for (at, value) in changes {
        let mut forged = claim.clone();
        *forged.pointer_mut(at).unwrap() = value;
        let (code, said) = verify(forged.to_string());
        assert_eq!(code, Some(1), "{at}: {said}");
        assert!(said.starts_with("invalid: answer does not match the claim"), "{at}: {said}");
        // Nor can it be composed.
        assert!(
            refused(&room, "account claim.json --delta 1e-6").contains("claim.json: answer is not the one")
        );
    }
    // A digest of something else, or none, is not a claim.
    for (at, value) in [("of", Value::from("model")), ("of", "moon".into()), ("extra", 1.into())] {
        let mut forged = claim.clone();
        forged["release"]["digest"][at] = value;
        fs::write(&path, forged.to_string()).unwrap();
        refusal(&["verify", text(&path)]);
    }
    for gone in ["digest", "answer", "time"] {
        let mut forged = claim.clone();
        forged["release"].as_object_mut().unwrap().remove(gone);
        fs::write(&path, forged.to_string()).unwrap();
        refusal(&["verify", text(&path)]);
    }
    for cut in (0..written.len() - 2).step_by(97) {
        fs::write(&path, &written[..cut]).unwrap();
        refusal(&["verify", text(&path)]);
        let output = veracity(&["verify", text(&room)]);
        assert_eq!(output.status.code(), Some(1), "{cut}");
        assert!(String::from_utf8(output.stdout).unwrap().starts_with("claim.json: invalid: "), "{cut}");
    }
}

/// Claims of the version before are read as they were: without an answer, a time or a digest.
#[test]
fn claims_of_the_version_before_are_still_read() {
    let room = desk("claims-older");
    did(&room, &format!("{COUNT} --claim claim.json"));
    let path = room.join("claim.json");
    let newer = read(&path);
    let mut older = newer.clone();
    older["schema"] = "veracity.claim/1".into();
    for field in ["dataset", "time", "answer", "digest"] {
        older["release"].as_object_mut().unwrap().remove(field);
    }
    fs::write(&path, older.to_string()).unwrap();
    assert!(did(&room, "verify claim.json").starts_with("valid: "));
    assert!(did(&room, "account claim.json --delta 0").starts_with("epsilon ≤ "));
    for field in ["dataset", "time", "answer", "digest"] {
        let mut mixed = older.clone();
        mixed["release"][field] = newer["release"][field].clone();
        fs::write(&path, mixed.to_string()).unwrap();
        assert!(refused(&room, "verify claim.json").contains("veracity.claim/2"), "{field}");
    }
}

#[test]
fn claims_that_do_not_add_up_are_refused_with_the_remedy() {
    let room = desk("claims-refused");
    fs::copy(room.join("people.csv"), room.join("others.csv")).unwrap();
    for (claim, file, more) in [
        ("one", "people", ""),
        ("two", "people", ""),
        ("replaced", "people", "--adjacency replace-one"),
        ("household", "people", "--unit household --person city"),
        ("others", "others", ""),
        ("seeded", "people", "--seed 1"),
    ] {
        did(&room, &format!("release count {file}.csv --epsilon 1 --claim {claim}.json {more}"));
    }
    let one = read(&room.join("one.json"));
    let write = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut claim = one.clone();
        change(&mut claim);
        fs::write(room.join(name), claim.to_string()).unwrap();
    };
    write("again.json", &|_| {});
    write("clt.json", &|claim| claim["method"]["name"] = "gdp-clt".into());
    write("near.json", &|claim| claim["epsilon"]["approximate"] = 1.into());
    write("endless.json", &|claim| claim["epsilon"]["upper"] = Value::Null);
    write("noisier.json", &|claim| claim["release"]["noise"][0]["scale"] = 9.into());
    write("quieter.json", &|claim| drop(claim["not_covered"].as_array_mut().unwrap().pop()));
    fs::write(room.join("plan.toml"), plan_of(std::slice::from_ref(&one))).unwrap();
    for (more, expected) in [
        ("replaced.json", "; account for each group separately"),
        ("household.json", "; account for each group separately"),
        ("others.json", "; name the dataset to treat them as one"),
        ("seeded.json", "leave it out"),
        ("one.json", "is the same as one.json; leave one of them out"),
        ("again.json", "claim again.json is the same as one.json; leave one of them out"),
        ("clt.json", "found an approximation"),
        ("near.json", "found an approximation"),
        ("endless.json", "found an approximation"),
        ("noisier.json", "noisier.json: scale of noise call 1 does not match the mechanism"),
        ("quieter.json", "quieter.json: not_covered differs from the text that veracity writes"),
        ("plan.toml", "plan.toml is not a claim"),
        ("gaussian", "no such claim file: gaussian"),
        ("tow.json", "no such claim file: tow.json"),
        ("two.json --times 2", "--times cannot be used with claim files"),
        ("two.json --noise-multiplier 2", "--noise-multiplier is 2, but claims does not use it"),
        ("two.json --unit person", "--unit cannot be used with claim files"),
        ("two.json --epsilon 2", "give only one, and the other is computed"),
    ] {
        let said = refused(&room, &format!("account one.json {more} --delta 1e-6"));
        assert!(said.contains(expected), "{more:?}: {said}");
    }
    assert!(refused(&room, "account gaussian laplace --delta 0").contains("2 mechanisms or plans"));
    assert!(refused(&room, "account plan.toml --dataset x --delta 0").contains("only with claim files"));
    // To take two files for one dataset is safe, and is said.
    let said = did(&room, "account one.json others.json --dataset people --delta 1e-6");
    assert!(said.ends_with("2 claims of people, composed\n"), "{said}");
    // A folder is not summed up without the claim that is damaged.
    let folder = room.join("folder");
    fs::create_dir(&folder).unwrap();
    fs::copy(room.join("one.json"), folder.join("one.json")).unwrap();
    fs::write(folder.join("notes.json"), "{\"schema\": \"mine\"}").unwrap();
    fs::write(folder.join("broken.txt"), "{").unwrap();
    did(&room, "account folder --delta 0");
    let whole = fs::read_to_string(room.join("two.json")).unwrap();
    for (name, text) in [("x.json", &whole[..whole.len() / 2]), ("x.claim.json", "{"), ("x.claim.json", "[]")]
    {
        fs::write(folder.join(name), text).unwrap();
        assert!(refused(&room, "account folder --delta 0").contains(name), "{name}");
        fs::remove_file(folder.join(name)).unwrap();
    }
    fs::create_dir(room.join("bare")).unwrap();
    assert!(refused(&room, "account bare --delta 0").contains("contains no claims"));
}

/// What is written anywhere is written over nothing but an earlier file of the same kind.
#[test]
fn files_of_others_are_never_touched() {
    let room = desk("claims-others");
    let audit = "audit --mechanism laplace --scale 1 --sensitivity 1 --trials 20";
    let curve = "curve gaussian --noise-multiplier 1 --out";
    for (name, line) in [
        ("a.svg", format!("{curve} a.svg")),
        ("a.png", format!("{curve} a.png")),
        ("a.csv", format!("{curve} a.csv")),
        ("a.xml", format!("{audit} --junit a.xml")),
        ("a.sarif", format!("{audit} --sarif a.sarif")),
    ] {
        let path = room.join(name);
        // New, then over its own.
        let first = run(&room, &line);
        assert_ne!(first.status.code(), Some(2), "{name}: {}", String::from_utf8_lossy(&first.stderr));
        let ours = fs::read(&path).unwrap();
        assert_ne!(run(&room, &line).status.code(), Some(2), "{name}");
        let half = ours[..ours.len() - 3].to_vec();
        let more = [&ours[..], b"and what I wrote below it"].concat();
        for precious in [b"".to_vec(), b"mine, with \"veracity.\" in it".to_vec(), half, more] {
            fs::write(&path, &precious).unwrap();
            let said = refused(&room, &line);
            assert!(said.contains("found a file of another kind; choose another name"), "{name}: {said}");
            assert_eq!(fs::read(&path).unwrap(), precious, "{name}");
        }
        fs::remove_file(&path).unwrap();
    }
    // A page that someone else made, and a folder of work that is not an audit's.
    fs::create_dir_all(room.join("out-audit")).unwrap();
    fs::write(room.join("out-audit/report.html"), "<html>mine</html>").unwrap();
    assert!(refused(&room, "audit --trials 8").contains("found a file of another kind"));
    fs::create_dir_all(room.join("mine/work/thesis")).unwrap();
    let kept = "audit --command 'echo {world} {out}' --claim-epsilon 1 --trials 8 --out mine";
    assert!(refused(&room, kept).contains("found work and no order.json"));
    assert!(room.join("mine/work/thesis").exists() && names(&room.join("mine")) == ["work"]);
}

/// On a full disk there is no answer and no file; a process that is killed at its claim leaves a whole one or none.
#[cfg(unix)]
#[test]
fn no_half_claim_has_a_name() {
    let room = desk("claims-half");
    let line = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} release count people.csv --epsilon 1",
        env!("CARGO_BIN_EXE_veracity")
    );
    let output = Command::new("sh").args(["-c", &line]).current_dir(&room).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{said}");
    assert!(said.contains("cannot write claim") && names(&room) == ["people.csv"], "{said}");
    for _ in 0..20 {
        let mut child = spawn(&room, COUNT);
        let known = names(&room);
        // As soon as a file appears, whichever it is.
        while child.try_wait().unwrap().is_none() && names(&room) == known {}
        let _ = child.kill();
        child.wait().unwrap();
        for name in names(&room).iter().filter(|name| name.ends_with(".json")) {
            assert_eq!(read(&room.join(name))["schema"], "veracity.claim/2", "{name}");
        }
    }
    // What killed ones left beside is in nobody's way.
    let said = did(&room, COUNT);
    assert!(said.contains("claim written to count"), "{said}");
}
