//! The accuracy of private models on real data: every plan over five seeds, compared with the same model without protection.
//!
//! Each run is `veracity train` and `veracity evaluate` as a user calls them; their JSON becomes the rows of docs/accuracy.md,
//! where the row of a plan is replaced when it is done, so that a stopped run keeps its results.

use crate::bench::{field, release_folder};
use crate::files;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const SEEDS: u64 = 5;
/// Files of records, and those to evaluate on.
struct Dataset {
    name: &'static str,
    /// Their folder within the data; nothing for the digits, which are built in.
    folder: &'static str,
    files: &'static [&'static str],
    /// The last of the files: records, and their labels where those are a file of their own.
    held_out: usize,
}

const DIGITS: Dataset = Dataset { name: "digits", folder: "", files: &[], held_out: 0 };
const ADULT: Dataset =
    Dataset { name: "Adult", folder: "adult", files: &["adult.data.gz", "adult.test.gz"], held_out: 1 };
const MNIST: Dataset = Dataset { name: "MNIST", folder: "mnist", files: IDX, held_out: 2 };
const FASHION: Dataset = Dataset { name: "FashionMNIST", folder: "fashion-mnist", files: IDX, held_out: 2 };
const IDX: &[&str] = &[
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
];

/// A plan, its records, and the accuracy that it should reach.
struct Task {
    data: Dataset,
    /// The name of its file in examples/plans.
    plan: &'static str,
    /// Percent of held-out records.
    aim: f64,
    /// Lines of the plan that change without protection, because a rate for clipped gradients does not suit others.
    ceiling: &'static [(&'static str, &'static str)],
}

const LONGER: &[(&str, &str)] = &[("steps", "500"), ("averaging_steps", "1")];

const TASKS: [Task; 7] = [
    Task { data: DIGITS, plan: "digits-1", aim: 86.0, ceiling: LONGER },
    Task { data: DIGITS, plan: "digits-3", aim: 91.0, ceiling: LONGER },
    Task { data: ADULT, plan: "adult", aim: 84.5, ceiling: &[("steps", "500"), ("learning_rate", "1")] },
    Task { data: MNIST, plan: "mnist-scattering", aim: 98.7, ceiling: &[("learning_rate", "0.02")] },
    Task { data: FASHION, plan: "fashion-scattering", aim: 89.7, ceiling: &[("learning_rate", "0.02")] },
    Task { data: MNIST, plan: "mnist-cnn", aim: 98.1, ceiling: &[("learning_rate", "0.1")] },
    Task { data: FASHION, plan: "fashion-cnn", aim: 86.0, ceiling: &[("learning_rate", "0.1")] },
];

/// The folders and the program.
struct Places {
    program: PathBuf,
    plans: PathBuf,
    data: PathBuf,
    scratch: PathBuf,
}

/// The results of five seeds.
struct Reached {
    epsilon: f64,
    delta: f64,
    noise: f64,
    /// Percent of held-out records, one for each seed.
    private: Vec<f64>,
    ceiling: f64,
    /// The longest private run.
    seconds: f64,
}

/// Whether gradients are clipped and get noise.
#[derive(Clone, Copy, PartialEq)]
enum Protection {
    Private,
    None,
}

/// The part of the page about statistics.
const STATISTICS: &str = "\n## Statistics of small groups\n";

/// Runs all plans, or one, prints their rows and writes them down. Returns whether all ran and reached their aims.
pub fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let (data, only) = parse(words)?;
    let places = Places {
        program: files::program(root)?,
        plans: root.join("examples/plans"),
        data: data.map_or_else(|| root.join("data"), Path::to_path_buf),
        scratch: release_folder(root).join("accuracy"),
    };
    fs::create_dir_all(&places.scratch)?;
    let place = root.join("docs/accuracy.md");
    let mut all = true;
    print!("{COLUMNS}");
    for task in TASKS.iter().filter(|task| only.is_none_or(|only| only == task.plan)) {
        let reached = places.measure(task)?;
        all &= reached.as_ref().is_some_and(|reached| moments(&reached.private).0 >= task.aim);
        let row = row(task, reached.as_ref());
        print!("{row}");
        let earlier = fs::read_to_string(&place).unwrap_or_default();
        // What `cargo xtask bench statistics` measures stays.
        let statistics = earlier.find(STATISTICS).map_or("", |at| &earlier[at..]);
        fs::write(&place, page(&replaced(&earlier, task, &row)) + statistics)?;
    }
    Ok(all)
}

/// The rows of an earlier page with one of them replaced, in the order of the tasks. A plan that has not run has no row.
fn replaced(earlier: &str, task: &Task, row: &str) -> String {
    let old = |plan: &str| earlier.lines().find(|line| line.contains(&format!(" | {plan} | ")));
    let rows = TASKS.iter().filter_map(|other| match other.plan == task.plan {
        true => Some(row.to_owned()),
        false => old(other.plan).map(|line| format!("{line}\n")),
    });
    rows.collect()
}

/// The folder of data, and the one plan that is wanted.
fn parse<'a>(words: &[&'a str]) -> io::Result<(Option<&'a Path>, Option<&'a str>)> {
    let (mut data, mut only) = (None, None);
    for pair in words.chunks(2) {
        match *pair {
            ["--data", folder] => data = Some(Path::new(folder)),
            ["--only", plan] if TASKS.iter().any(|task| task.plan == plan) => only = Some(plan),
            _ => {
                let plans = TASKS.map(|task| task.plan).join(", ");
                return Err(io::Error::other(format!("expected --data DIR or --only PLAN, one of {plans}")));
            }
        }
    }
    Ok((data, only))
}

impl Places {
    /// All runs of a plan; nothing if its files are missing, with a message.
    fn measure(&self, task: &Task) -> io::Result<Option<Reached>> {
        let folder = self.data.join(task.data.folder);
        let missing: Vec<&str> =
            task.data.files.iter().copied().filter(|file| !folder.join(file).is_file()).collect();
        if !missing.is_empty() {
            let (plan, missing, folder) = (task.plan, missing.join(", "), folder.display());
            eprintln!(
                "{plan} is not run: put {missing} into {folder}, or name another place with --data DIR"
            );
            return Ok(None);
        }
        let mut reached =
            Reached { epsilon: 0.0, delta: 0.0, noise: 0.0, private: Vec::new(), ceiling: 0.0, seconds: 0.0 };
        for seed in 1..=SEEDS {
            let start = Instant::now();
            let said = self.train(task, seed, Protection::Private)?;
            reached.seconds = reached.seconds.max(start.elapsed().as_secs_f64());
            reached.epsilon = number(after(&said, "\"epsilon\": {"), "upper")?;
            reached.delta = number(after(&said, "\"delta\": {"), "upper")?;
            // A private mean has noise of its own; that of the steps comes last.
            let (_, steps) = said.rsplit_once("\"noise_multiplier\"").unwrap_or_default();
            reached.noise = number(&format!("\"noise_multiplier\"{steps}"), "noise_multiplier")?;
            reached.private.push(self.evaluate(task)?);
        }
        self.train(task, 1, Protection::None)?;
        reached.ceiling = self.evaluate(task)?;
        Ok(Some(reached))
    }

    fn train(&self, task: &Task, seed: u64, protection: Protection) -> io::Result<String> {
        eprintln!(
            "{} with seed {seed}{}",
            task.plan,
            if protection == Protection::None { ", unprotected" } else { "" }
        );
        let name = format!("{}.toml", task.plan);
        let mut plan = self.plans.join(&name);
        if protection == Protection::None {
            let text = substitute(&fs::read_to_string(&plan)?, task.ceiling)?;
            plan = self.scratch.join(&name);
            fs::write(&plan, text)?;
        }
        let mut command = Command::new(&self.program);
        command
            .arg("train")
            .arg(&plan)
            .args(["--json", "--force", "--seed", &seed.to_string(), "--out"])
            .arg(&self.scratch);
        command.arg("--data").arg(self.data.join(task.data.folder));
        if protection == Protection::None {
            command.arg("--non-private");
        }
        answer(&mut command)
    }

    /// Percent of held-out records.
    fn evaluate(&self, task: &Task) -> io::Result<f64> {
        let folder = self.data.join(task.data.folder);
        let mut command = Command::new(&self.program);
        command.arg("evaluate").arg(self.scratch.join("model.safetensors")).arg("--json");
        match task.held_out() {
            [] => command.arg("digits"),
            [records] => command.arg(folder.join(records)),
            [records, labels, ..] => {
                command.arg(folder.join(records)).arg("--labels").arg(folder.join(labels))
            }
        };
        Ok(100.0 * number(&answer(&mut command)?, "accuracy")?)
    }
}

impl Task {
    fn held_out(&self) -> &[&str] {
        &self.data.files[self.data.files.len() - self.data.held_out..]
    }
}

/// The output of our program, which prints the reason itself if it fails.
fn answer(command: &mut Command) -> io::Result<String> {
    let done = command.stderr(Stdio::inherit()).output()?;
    if !done.status.success() {
        return Err(io::Error::other("a run failed"));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.split_once(mark).map_or("", |(_, rest)| rest)
}

fn number(said: &str, name: &str) -> io::Result<f64> {
    let found = field(said, name).and_then(|text| text.trim().parse().ok());
    found.ok_or_else(|| io::Error::other(format!("a run does not print its {name}")))
}

/// A plan with other values on some of its lines. A line that the plan lacks is an error.
fn substitute(plan: &str, lines: &[(&str, &str)]) -> io::Result<String> {
    let mut text = String::new();
    let mut left: Vec<&str> = lines.iter().map(|(key, _)| *key).collect();
    for line in plan.lines() {
        let key = line.split(" = ").next().unwrap_or_default();
        match lines.iter().find(|(name, _)| *name == key) {
            Some((_, value)) => text += &format!("{key} = {value}\n"),
            None => text += &format!("{line}\n"),
        }
        left.retain(|name| *name != key);
    }
    match left.first() {
        Some(key) => Err(io::Error::other(format!("the plan has no line {key} = …"))),
        None => Ok(text),
    }
}

/// Mean and standard deviation over seeds.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, (square / (count - 1.0).max(1.0)).sqrt())
}

const COLUMNS: &str = "\
| dataset | plan | ε | δ | noise multiplier | accuracy, mean ± deviation | aim | without privacy | longest run |
|---|---|---|---|---|---|---|---|---|
";

fn row(task: &Task, reached: Option<&Reached>) -> String {
    let (dataset, plan, aim) = (task.data.name, task.plan, task.aim);
    let Some(reached) = reached else {
        return format!("| {dataset} | {plan} | not run: no files | | | | {aim}% | | |\n");
    };
    let (mean, spread) = moments(&reached.private);
    // ε is a bound and rounds up; accuracies round to the nearest.
    let epsilon = (reached.epsilon * 1e4).ceil() / 1e4;
    format!(
        "| {dataset} | {plan} | ≤ {epsilon} | {:e} | {:.3} | {mean:.2} ± {spread:.2}% | {aim}% | {:.2}% | {} |\n",
        reached.delta,
        reached.noise,
        reached.ceiling,
        time(reached.seconds)
    )
}

fn time(seconds: f64) -> String {
    if seconds < 60.0 { format!("{seconds:.1} s") } else { format!("{:.1} min", seconds / 60.0) }
}

fn page(rows: &str) -> String {
    let mut page = format!(
        "# Accuracy of private models\n\nThis page shows the accuracy of models that Veracity trains from scratch with \
         differential privacy, and of the same models without it. Use it to judge how much accuracy privacy costs.\n\nEach row \
         is a plan of `examples/plans`, trained with seeds 1 to {SEEDS}:\n\n- *Accuracy* is the mean on held-out records, with \
         the standard deviation over the seeds. The held-out records are the test set of the data, or every fifth record for \
         the digits.\n- *Aim* is our target accuracy.\n- *Without privacy* is one run of the same model without clipping and \
         noise.\n- *Longest run* is the time of one `veracity train`, with reading the data.\n\nThe hyperparameters are fixed \
         in the plans, and each plan says which data they were chosen on. For example, `mnist-scattering` reaches 98.64% on \
         MNIST at ε = 3, and 99.05% without privacy. So privacy costs 0.41 percentage points there, and the model misses its \
         aim of 98.7% by 0.06 points.\n\n{COLUMNS}{rows}\n"
    );
    page += "Without privacy, the following lines of the plans change, because a learning rate for clipped gradients does not suit \
         other gradients:\n\n";
    for task in &TASKS {
        let lines: Vec<String> =
            task.ceiling.iter().map(|(key, value)| format!("`{key} = {value}`")).collect();
        page += &format!("- {}: {}\n", task.plan, lines.join(", "));
    }
    page += "\n`cargo xtask reproduce accuracy --data DIR` runs all plans and writes this page. `--only PLAN` repeats one row. To \
         repeat seed 1 by hand, put the files of each dataset into its own folder and run:\n\n```sh\n";
    for task in &TASKS {
        let (plan, folder) = (task.plan, task.data.folder);
        let data = if folder.is_empty() { String::new() } else { format!(" --data DIR/{folder}") };
        let held_out = match task.held_out() {
            [] => "digits".to_owned(),
            [records] => format!("DIR/{folder}/{records}"),
            [records, labels, ..] => format!("DIR/{folder}/{records} --labels DIR/{folder}/{labels}"),
        };
        page += &format!("veracity train examples/plans/{plan}.toml{data} --out out/{plan} --seed 1\n");
        page += &format!("veracity evaluate out/{plan}/model.safetensors {held_out}\n");
    }
    page + "```\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_there_and_has_the_lines_that_its_ceiling_changes() {
        for task in &TASKS {
            let plan = crate::root().join(format!("examples/plans/{}.toml", task.plan));
            let text = fs::read_to_string(plan).unwrap();
            let changed = substitute(&text, task.ceiling).unwrap();
            for (key, value) in task.ceiling {
                assert!(changed.contains(&format!("\n{key} = {value}\n")), "{}", task.plan);
            }
            assert!(substitute(&text, &[("no_such_line", "1")]).is_err());
        }
    }

    #[test]
    fn numbers_are_read_from_what_a_run_prints() {
        let said = "{\n  \"delta\": {\n    \"upper\": 0.00001\n  },\n  \"epsilon\": {\n    \"lower\": 1,\n    \"upper\": 2.5\n  }\n}";
        assert_eq!(number(after(said, "\"epsilon\": {"), "upper").unwrap(), 2.5);
        assert!(number(said, "accuracy").is_err());
    }

    #[test]
    fn a_new_row_takes_the_place_of_its_own_and_of_no_other() {
        let [first, second, third, ..] = &TASKS;
        let rows = |task, earlier: &str| replaced(earlier, task, &row(task, None));
        let page = page(&rows(third, &page(&rows(first, ""))));
        let earlier = page.replace("not run", "measured");
        let now = rows(second, &earlier);
        let kept: Vec<bool> = now.lines().map(|line| line.contains("measured")).collect();
        assert_eq!(kept, [true, false, true]);
    }

    #[test]
    fn a_spread_is_that_of_a_sample() {
        let (mean, spread) = moments(&[1.0, 2.0, 3.0]);
        assert_eq!((mean, spread), (2.0, 1.0));
    }

    #[test]
    fn unknown_words_are_refused() {
        assert!(parse(&["--only", "adult", "--data", "x"]).is_ok());
        assert!(parse(&["--only", "nothing"]).is_err());
        assert!(parse(&["--data"]).is_err());
    }
}
