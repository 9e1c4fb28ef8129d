//! Plans at the door: slips in keys, lines replaced by `--set`, and plans that `init` writes.

use crate::door::{did, json, refused, room, run};
use std::{fs, path::Path, process::Command};

const DIGITS: &str = "\
[data]\nformat = \"digits\"\n\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\n\
[training]\nbatch_size = 256\nsteps = 3\nlearning_rate = 1\n\n[privacy]\nepsilon = 3\ndelta = 1e-5\nclip_norm = 1\n";

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
    let one = json(&did(&room, &format!("train plan.toml {set} --seed 1 --out one --json")));
    let twin = json(&did(&room, "train twin.toml --seed 1 --out twin --json"));
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
        did(&room, "train plan.toml --seed 1 --out plain");
        files("plain")
    });
    let pages = ["one", "twin"].map(|name| fs::read_to_string(room.join(name).join("report.html")).unwrap());
    assert_eq!(pages[0], pages[1]);
    did(&room, &format!("train plan.toml {set} --out real"));
    did(&room, "verify real");
    let audit = |line: &str| json(&String::from_utf8(run(&room, line).stdout).unwrap());
    let (one, twin) = (
        audit(&format!("audit plan.toml {set} --trials 60 --json")),
        audit("audit twin.toml --trials 60 --json"),
    );
    for field in ["claim", "epsilon", "counted"] {
        assert_eq!(one[field], twin[field], "{field}");
    }
    // The plan that is built in has lines too.
    let built_in = json(&did(&room, "train --set training.epochs=1 --out built-in --json"));
    assert_eq!(built_in["steps"], 6);
}

const HEADER: &str = "age,income,\"the \"\"city\"\"\"\n";

#[test]
fn a_plan_is_written_from_the_header_alone() {
    let room = room("plan-init");
    fs::write(room.join("people.csv"), HEADER).unwrap();
    let plan = did(&room, "init people.csv --label age");
    for rows in [
        "1,2,Basel\n",
        "\"open",
        "FILL IN,\"\n[privacy]\nepsilon = 1e9\n\",x\n",
        "1,2,3,4,5\n",
        "a\tb;c\n",
        "\u{1b}[31m\n",
    ] {
        fs::write(room.join("people.csv"), [HEADER, rows].concat()).unwrap();
        assert_eq!(did(&room, "init people.csv --label age"), plan, "{rows:?}");
    }
    fs::write(room.join("people.csv"), [HEADER.as_bytes(), b"\xff\xfe\x00,1,2\n"].concat()).unwrap();
    assert_eq!(did(&room, "init people.csv --label age"), plan);
    assert!(plan.contains("label = \"age\"\n") && plan.contains("name = \"the \\\"city\\\"\"\n"), "{plan}");
    assert!(!plan.contains("name = \"age\""), "{plan}");
}

#[test]
fn a_plan_runs_when_and_only_when_all_is_filled_in() {
    let room = room("plan-fill");
    let rows: String = (0..400)
        .map(|at| format!("{},{},{}\n", at % 90, at * 100, if at % 2 == 0 { "no" } else { "yes" }))
        .collect();
    fs::write(room.join("people.csv"), format!("age,income,answer\n{rows}")).unwrap();
    let said = did(&room, "init people.csv --label answer --out plan.toml");
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
            format!(
                "plan line {}: {key} is still FILL IN; replace it as the comment on that line says",
                at + 1
            )
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
    did(&room, "train plan.toml --out out");
    did(&room, "verify out");
}

#[test]
fn other_files_have_plans_too() {
    let room = room("plan-formats");
    fs::write(room.join("table.tsv"), "x\ty\n1\t2\n").unwrap();
    let plan = did(&room, "init table.tsv");
    assert!(
        plan.contains("format = \"csv\"")
            && plan.contains("name = \"x\"")
            && plan.contains("label = \"FILL IN\""),
        "{plan}"
    );
    fs::write(room.join("images"), [0u8, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9]).unwrap();
    fs::write(room.join("labels"), [0u8, 0, 8, 1, 0, 0, 0, 1, 1]).unwrap();
    let plan = did(&room, "init images --label labels");
    assert!(plan.contains("format = \"idx\"") && plan.contains("labels = \"labels\"\n"), "{plan}");
    let npy = [
        &b"\x93NUMPY\x01\x00\x3e\x00"[..],
        format!("{:<61}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }").as_bytes(),
        &1f64.to_le_bytes(),
    ]
    .concat();
    fs::write(room.join("a.npy"), npy).unwrap();
    let plan = did(&room, "init a.npy");
    assert!(plan.contains("format = \"npy\"") && plan.contains("bounds = \"FILL IN\""), "{plan}");
    fs::create_dir(room.join("elsewhere")).unwrap();
    did(&room, "init table.tsv --out elsewhere/plan.toml");
    let plan = fs::read_to_string(room.join("elsewhere/plan.toml")).unwrap();
    let path = room.join("table.tsv");
    assert!(plan.contains(&format!("path = \"{}\"", path.display())), "{plan}");
}

/// 400 numbers in an NPY file: of so many columns, or of none.
fn npy(columns: Option<usize>) -> Vec<u8> {
    let shape = columns.map_or_else(|| "(400,)".to_owned(), |columns| format!("(400, {columns})"));
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let values = (0..400 * columns.unwrap_or(1)).flat_map(|at| ((at % 2) as f64).to_le_bytes());
    let start = [&b"\x93NUMPY\x01\x00\x76\x00"[..], format!("{header:<117}\n").as_bytes()].concat();
    start.into_iter().chain(values).collect()
}

/// Wherever the plan and its files lie, and however they are named, the plan that `init` writes finds them.
#[test]
fn the_files_of_a_plan_are_found_from_the_folder_of_the_plan() {
    let room = room("plan-places");
    for folder in ["here/data", "here/plans", "with space/data", "with space/pl ans"] {
        fs::create_dir_all(room.join(folder)).unwrap();
    }
    for name in ["here/data", "here/plans", "with space/data"] {
        fs::write(room.join(name).join("x.npy"), npy(Some(2))).unwrap();
        fs::write(room.join(name).join("y.npy"), npy(None)).unwrap();
    }
    let absolute = |name: &str| room.join(name).to_str().unwrap().to_owned();
    let cases = [
        // Where init is run, the records, the labels, the plan.
        ("here", "data/x.npy", "data/y.npy", "plans/m.toml"),
        ("here", "data/x.npy", "data/y.npy", "m.toml"),
        ("here", "data/x.npy", "data/y.npy", "data/m.toml"),
        ("here", "plans/x.npy", "data/y.npy", "plans/n.toml"),
        ("here", "data/x.npy", "plans/y.npy", "plans/o.toml"),
        ("here/plans", "../data/x.npy", "../data/y.npy", "p.toml"),
        ("here/plans", "x.npy", "./y.npy", "../data/../q.toml"),
        ("here/data", "x.npy", "y.npy", "r.toml"),
        ("here", &absolute("here/data/x.npy"), &absolute("here/data/y.npy"), "plans/s.toml"),
        ("here", &absolute("here/data/x.npy"), "data/y.npy", &absolute("here/plans/t.toml")),
        ("with space", "data/x.npy", "data/y.npy", "pl ans/m.toml"),
    ];
    for (from, data, label, out) in cases {
        let from = room.join(from);
        let run = |args: &[&str]| {
            let output =
                Command::new(env!("CARGO_BIN_EXE_veracity")).args(args).current_dir(&from).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{data} {label} {out}: {args:?} {told}");
        };
        run(&["init", data, "--label", label, "--out", out]);
        let place = from.join(out);
        let plan = fs::read_to_string(&place).unwrap();
        let filled: String = plan
            .lines()
            .map(|line| {
                let value = match line.split(' ').next().unwrap() {
                    "bounds" => "[0, 1]",
                    "classes" | "outputs" => "2",
                    "epochs" => return "epochs = 2\n".to_owned(),
                    _ => "",
                };
                format!("{}\n", line.replacen("\"FILL IN\"", value, 1))
            })
            .collect();
        fs::write(&place, filled).unwrap();
        // Relative paths start at the plan, wherever it is run from.
        let elsewhere = room.join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        let plan = fs::canonicalize(&place).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_veracity"))
            .args(["train", plan.to_str().unwrap(), "--force", "--out", "out"])
            .current_dir(&elsewhere)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{data} {label} {out}: {told}");
    }
}

/// A file that is not there, or whose name a plan cannot hold, is named when the plan is written, not when it is run.
#[test]
fn a_plan_names_no_file_that_cannot_be_found() {
    let room = room("plan-nowhere");
    fs::write(room.join("x.npy"), npy(Some(2))).unwrap();
    fs::create_dir(room.join("plans")).unwrap();
    let told = refused(&room, "init x.npy --label y.npy --out plans/m.toml");
    assert_eq!(told, "label is y.npy, expected an existing file of labels, which this format needs");
    assert!(!room.join("plans/m.toml").exists());
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let folder = room.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("x.csv"), "a,b\n1,2\n").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_veracity"))
            .args([
                "init".as_ref(),
                folder.join("x.csv").as_os_str(),
                "--out".as_ref(),
                "plans/m.toml".as_ref(),
            ])
            .current_dir(&room)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("expected a path in UTF-8") && told.matches('\n').count() == 1, "{told}");
    }
}

#[test]
fn the_plan_in_the_help_is_one() {
    let room = room("plan-help");
    let people = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/people.csv");
    fs::copy(people, room.join("people.csv")).unwrap();
    let help = did(&room, "train --help");
    let (_, plan) = help.split_once("A plan for a table").unwrap();
    let plan: String =
        plan.lines().skip(1).take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    fs::write(room.join("plan.toml"), plan).unwrap();
    did(&room, "train plan.toml --out out");
    did(&room, "verify out");
}
