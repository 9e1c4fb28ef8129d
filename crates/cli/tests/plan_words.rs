//! Plans at the door (issue 13): slips in keys, lines replaced by `--set`, and plans that `init` writes.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{json, room, words};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn run(room: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_veracity")).args(words(line)).current_dir(room).output().unwrap()
}

fn done(room: &Path, line: &str) -> String {
    let output = run(room, line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(room: &Path, line: &str) -> String {
    let output = run(room, line);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}: {told}");
    assert_eq!(told.matches('\n').count(), 1, "{told}");
    told.trim_end().trim_start_matches("veracity: ").to_owned()
}

const DIGITS: &str = "\
[data]\nformat = \"digits\"\n\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\n\
[training]\nbatch_size = 256\nsteps = 3\nlearning_rate = 1\n\n[privacy]\nepsilon = 3\ndelta = 1e-5\nclip_norm = 1\n";

#[test]
fn a_slip_in_a_plan_names_its_line_the_word_that_was_meant_and_all_that_there_are() {
    let room = room("plan-slips");
    for (right, wrong, line, listed, meant) in [
        ("batch_size", "batchsize", 9, "loss, huber_delta, sampling, batch_size", "batch_size"),
        ("clip_norm", "clip-norm", 16, "epsilon, delta, noise_multiplier", "clip_norm"),
        ("\"linear\"", "\"liner\"", 5, "linear, conv2d, max-pool", "linear"),
        ("outputs", "output", 6, "outputs", "outputs"),
        ("\"digits\"", "\"digit\"", 2, "digits, csv, parquet, npy, npz, idx", "digits"),
        ("[privacy]", "[privcy]", 13, "adjacency, unit, data, model, training, privacy", "privacy"),
    ] {
        fs::write(room.join("plan.toml"), DIGITS.replace(right, wrong)).unwrap();
        let told = refused(&room, "train plan.toml");
        let word = wrong.trim_matches(['"', '[', ']']);
        let kind = if wrong.starts_with('"') { "variant" } else { "field" };
        assert!(
            told.starts_with(&format!("plan line {line}: unknown {kind} `{word}`, expected {listed}")),
            "{told}"
        );
        assert!(told.ends_with(&format!("; did you mean `{meant}`?")), "{told}");
        assert_eq!(refused(&room, "audit plan.toml"), told);
    }
    fs::write(room.join("plan.toml"), "[[mechanism]]\nkind = \"gausian\"\nsigma = 1\n").unwrap();
    let told = refused(&room, "account plan.toml --delta 1e-5");
    assert!(
        told.starts_with("plan line 2: unknown variant `gausian`, expected gaussian, laplace, "),
        "{told}"
    );
    assert!(told.ends_with("; did you mean `gaussian`?"), "{told}");
    fs::write(room.join("plan.toml"), "[[mechanism]]\nkind = \"gaussian\"\nsigmas = 1\n").unwrap();
    let told = refused(&room, "account plan.toml --delta 1e-5");
    assert!(
        told.starts_with("plan line 3: unknown field `sigmas`, expected noise_multiplier, sigma, "),
        "{told}"
    );
}

/// The twin is the plan with the line written by hand.
#[test]
fn what_is_set_is_what_is_run_claimed_and_reported() {
    let room = room("plan-set");
    fs::write(room.join("plan.toml"), DIGITS).unwrap();
    fs::write(
        room.join("twin.toml"),
        DIGITS.replace("epsilon = 3", "epsilon = 2").replace("steps = 3", "steps = 5"),
    )
    .unwrap();
    let set = "--set privacy.epsilon=2 --set training.steps=5";
    let one = json(&done(&room, &format!("train plan.toml {set} --seed 1 --out one --json")));
    let twin = json(&done(&room, "train twin.toml --seed 1 --out twin --json"));
    for field in ["epsilon", "delta", "steps", "noise_multiplier", "mechanism", "parameters"] {
        assert_eq!(one[field], twin[field], "{field}");
    }
    assert_eq!(one["steps"], 5);
    assert!(one["epsilon"]["upper"].as_f64().unwrap() <= 2.0);
    let files = |name: &str| {
        let claim = json(&fs::read_to_string(room.join(name).join("claim.json")).unwrap());
        (
            claim["epsilon"].clone(),
            claim["mechanism"].clone(),
            fs::read(room.join(name).join("model.safetensors")).unwrap(),
        )
    };
    assert_eq!(files("one"), files("twin"));
    assert_ne!(files("one"), {
        done(&room, "train plan.toml --seed 1 --out plain");
        files("plain")
    });
    let pages = ["one", "twin"].map(|name| fs::read_to_string(room.join(name).join("report.html")).unwrap());
    assert_eq!(pages[0], pages[1]);
    done(&room, &format!("train plan.toml {set} --out real"));
    done(&room, "verify real");
    let audit = |line: &str| json(&String::from_utf8(run(&room, line).stdout).unwrap());
    let (one, twin) = (
        audit(&format!("audit plan.toml {set} --trials 60 --json")),
        audit("audit twin.toml --trials 60 --json"),
    );
    for field in ["claim", "epsilon", "counted"] {
        assert_eq!(one[field], twin[field], "{field}");
    }
    // The plan that is built in has lines too.
    let built_in = json(&done(&room, "train --set training.epochs=1 --out built-in --json"));
    assert_eq!(built_in["steps"], 6);
}

#[test]
fn what_cannot_be_set_is_named() {
    let room = room("plan-unset");
    fs::write(room.join("plan.toml"), DIGITS).unwrap();
    for (set, told) in [
        ("privacy.epsilon", "set is privacy.epsilon, expected PLACE=VALUE"),
        ("privcy.epsilon=2", "plan with privcy.epsilon set: unknown field `privcy`, expected adjacency, "),
        ("privacy.epsilom=2", "plan with privacy.epsilom set: unknown field `epsilom`, expected epsilon, "),
        ("privacy.epsilon=two", "plan with privacy.epsilon set: invalid type: string"),
        ("model.layer.7.outputs=2", "set model.layer.7.outputs: model.layer is a list of 1, expected"),
    ] {
        for command in ["train plan.toml", "audit plan.toml"] {
            let refusal = refused(&room, &format!("{command} --set {set}"));
            assert!(refusal.starts_with(told), "{refusal}");
        }
    }
    assert!(refused(&room, "audit --mechanism gaussian --set a=1").contains("--set"));
}

const HEADER: &str = "age,income,\"the \"\"city\"\"\"\n";

#[test]
fn a_plan_is_written_from_the_header_alone() {
    let room = room("plan-init");
    fs::write(room.join("people.csv"), HEADER).unwrap();
    let plan = done(&room, "init people.csv --label age");
    for rows in [
        "1,2,Basel\n",
        "\"open",
        "FILL IN,\"\n[privacy]\nepsilon = 1e9\n\",x\n",
        "1,2,3,4,5\n",
        "a\tb;c\n",
        "\u{1b}[31m\n",
    ] {
        fs::write(room.join("people.csv"), [HEADER, rows].concat()).unwrap();
        assert_eq!(done(&room, "init people.csv --label age"), plan, "{rows:?}");
    }
    fs::write(room.join("people.csv"), [HEADER.as_bytes(), b"\xff\xfe\x00,1,2\n"].concat()).unwrap();
    assert_eq!(done(&room, "init people.csv --label age"), plan);
    assert!(plan.contains("label = \"age\"\n") && plan.contains("name = \"the \\\"city\\\"\"\n"), "{plan}");
    assert!(!plan.contains("name = \"age\""), "{plan}");
    let told = refused(&room, "init people.csv --label incme");
    assert!(
        told.starts_with("label is incme, expected a name in the header: age, income, ")
            && told.ends_with("did you mean income?"),
        "{told}"
    );
}

#[test]
fn a_plan_runs_when_and_only_when_all_is_filled_in() {
    let room = room("plan-fill");
    let rows: String = (0..400)
        .map(|at| format!("{},{},{}\n", at % 90, at * 100, if at % 2 == 0 { "no" } else { "yes" }))
        .collect();
    fs::write(room.join("people.csv"), format!("age,income,answer\n{rows}")).unwrap();
    let said = done(&room, "init people.csv --label answer --out plan.toml");
    assert!(said.starts_with("plan written to plan.toml"), "{said}");
    assert!(refused(&room, "init people.csv --out plan.toml").contains("plan.toml"));
    let mut filled = 0;
    loop {
        let plan = fs::read_to_string(room.join("plan.toml")).unwrap();
        let Some((at, line)) = plan.lines().enumerate().find(|(_, line)| line.contains("= \"FILL IN\""))
        else {
            break;
        };
        let key = line.split(' ').next().unwrap();
        let told = refused(&room, "train plan.toml");
        assert_eq!(
            told,
            format!("plan line {}: {key} says FILL IN, expected what the remark beside it asks for", at + 1)
        );
        let value = match key {
            "classes" => "[\"no\", \"yes\"]",
            "bounds" => "[0, 50000]",
            "outputs" => "2",
            other => panic!("{other} is open"),
        };
        fs::write(
            room.join("plan.toml"),
            plan.replacen("\"FILL IN\"", value, usize::from(!line.starts_with('#'))),
        )
        .unwrap();
        filled += 1;
    }
    assert_eq!(filled, 4);
    done(&room, "train plan.toml --out out");
    done(&room, "verify out");
}

#[test]
fn other_files_have_plans_too() {
    let room = room("plan-formats");
    fs::write(room.join("table.tsv"), "x\ty\n1\t2\n").unwrap();
    let plan = done(&room, "init table.tsv");
    assert!(
        plan.contains("format = \"csv\"")
            && plan.contains("name = \"x\"")
            && plan.contains("label = \"FILL IN\""),
        "{plan}"
    );
    fs::write(room.join("images"), [0u8, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9]).unwrap();
    let plan = done(&room, "init images --label labels");
    assert!(plan.contains("format = \"idx\"") && plan.contains("labels = \"labels\"\n"), "{plan}");
    let npy = [
        &b"\x93NUMPY\x01\x00\x3e\x00"[..],
        format!("{:<61}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }").as_bytes(),
        &1f64.to_le_bytes(),
    ]
    .concat();
    fs::write(room.join("a.npy"), npy).unwrap();
    let plan = done(&room, "init a.npy");
    assert!(plan.contains("format = \"npy\"") && plan.contains("bounds = \"FILL IN\""), "{plan}");
    assert!(refused(&room, "init -").contains("expected one that the plan can name"));
    fs::create_dir(room.join("elsewhere")).unwrap();
    done(&room, "init table.tsv --out elsewhere/plan.toml");
    let plan = fs::read_to_string(room.join("elsewhere/plan.toml")).unwrap();
    let path = room.join("table.tsv");
    assert!(plan.contains(&format!("path = \"{}\"", path.display())), "{plan}");
}

#[test]
fn the_plan_in_the_help_is_one() {
    let room = room("plan-help");
    let people = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/people.csv");
    fs::copy(people, room.join("people.csv")).unwrap();
    let help = done(&room, "train --help");
    let (_, plan) = help.split_once("A plan for a table").unwrap();
    let plan: String =
        plan.lines().skip(1).take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    fs::write(room.join("plan.toml"), plan).unwrap();
    done(&room, "train plan.toml --out out");
    done(&room, "verify out");
}
