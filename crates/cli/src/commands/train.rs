//! `veracity train`: a plan and its data become a model and a claim.
//!
//! The claim is on disk, whole, before the model has its name. What was measured on the training records is not private and is not shown unless
//! asked for.

use crate::{Outcome, args::TrainArgs, commands::evaluate, text};
use serde_json::{Value, json};
use std::{
    fs,
    io::{IsTerminal, Write},
    path::Path,
    time::{Duration, Instant},
};
use veracity::{
    AnswerFile, Entropy, Refusal,
    plan::read_text,
    report::decimal,
    spec::Whole,
    training::{
        Checkpoint, Dataset, Draws, Model, Prepared, Protection, Recipe, Run, Staged, evaluate as score,
    },
};

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(500);

/// Reads, prepares, trains, writes.
pub fn run(args: &TrainArgs) -> Result<Outcome, Refusal> {
    let recipe = match &args.plan {
        Some(path) => {
            let folder = args.data.as_deref().or(path.parent()).unwrap_or(Path::new(""));
            Recipe::parse(&read_text("plan", path)?, folder)?
        }
        None => Recipe::digits()?,
    };
    let every = args.checkpoint_every.map(|every| Whole(every).count("checkpoint-every")).transpose()?;
    let data = recipe.records()?;
    let protection = if args.non_private { Protection::None } else { Protection::Private };
    let prepared = recipe.prepare(&data, protection)?;
    let entropy = args.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
    let claim = prepared.claim(entropy.origin())?.map(|claim| claim.to_json()).transpose()?;
    fs::create_dir_all(&args.out).map_err(|error| {
        Refusal::NoAnswer(format!(
            "out is {}, expected a folder that can be made ({error})",
            args.out.display()
        ))
    })?;

    let checkpoint = Checkpoint::new(&prepared, &data, entropy.origin());
    let place = args.out.join("checkpoint.safetensors");
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let mut run = if args.resume {
        Run::resume(&prepared.plan, &data, draws, checkpoint.load(&place)?)?
    } else {
        Run::new(&prepared.plan, &data, draws)?
    };
    let mut progress = Progress::new(args, run.steps_done());
    while run.step()? {
        if every.is_some_and(|every| run.steps_done() % every.get() == 0) {
            checkpoint.save(&place, &run.state())?;
        }
        progress.tick(&prepared, run.steps_done());
    }
    progress.end();

    let model = prepared.model(&run);
    hand_over(args, &model, claim.as_deref())?;
    // The run is done: what was laid aside is not needed, and not for release.
    forget(&place)?;
    Outcome::done(match args.json {
        true => text::json(&report(args, &prepared, &model, &data)?)?,
        false => words(args, &prepared, &model, &data)?,
    })
}

/// Both files are on disk before either has its name; and there is no moment at which a claim is beside another run's model.
fn hand_over(args: &TrainArgs, model: &Model, claim: Option<&str>) -> Result<(), Refusal> {
    let place = args.out.join("claim.json");
    let claim = claim.map(|claim| Staged::new("claim", &place, claim.as_bytes())).transpose()?;
    let model = Staged::new("model", &args.out.join("model.safetensors"), &model.to_bytes()?)?;
    forget(&place)?;
    model.settle()?;
    claim.map_or(Ok(()), Staged::settle)
}

/// Removes a file of an earlier run that would speak of this one.
fn forget(path: &Path) -> Result<(), Refusal> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Refusal::NoAnswer(format!(
            "file is {}, expected one that can be removed ({error})",
            path.display()
        ))),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn words(args: &TrainArgs, prepared: &Prepared, model: &Model, data: &Dataset) -> Result<String, Refusal> {
    let out = args.out.join("model.safetensors");
    let plan = &prepared.plan;
    let mut lines = format!(
        "{}   ({} parameters, {} steps, batches of {} from {} records)\n",
        out.display(),
        plan.network.parameters(),
        plan.steps.get(),
        plan.sampling.planned().get(),
        plan.sampling.population().get(),
    );
    match &prepared.cost {
        Some(cost) => {
            lines += &text::answer(&cost.subject, &cost.answer);
            lines += &format!("noise multiplier {}\n", decimal::nearest(cost.noise.get(), 9));
            lines += &format!("claim in {}\n", args.out.join("claim.json").display());
            if !model.card.for_release {
                lines += "drawn from a seed: not for release\n";
            }
        }
        None => lines += "trained without protection: no claim, not for release\n",
    }
    if args.show_non_private {
        let score = score(model, data)?;
        lines += &format!("not private, on the training records: {}\n", evaluate::words(&score));
    }
    Ok(lines)
}

fn report(args: &TrainArgs, prepared: &Prepared, model: &Model, data: &Dataset) -> Result<Value, Refusal> {
    let mut object = match &prepared.cost {
        Some(cost) => {
            serde_json::to_value(AnswerFile::new(&cost.subject, &cost.answer)).unwrap_or_else(|_| json!({}))
        }
        None => json!({}),
    };
    object["schema"] = json!("veracity.training/1");
    object["model"] = json!(args.out.join("model.safetensors").display().to_string());
    object["parameters"] = json!(model.parameters.len());
    object["steps"] = json!(prepared.plan.steps.get());
    object["for_release"] = json!(model.card.for_release);
    if let Some(cost) = &prepared.cost {
        object["noise_multiplier"] = json!(cost.noise.get());
        object["claim"] = json!(args.out.join("claim.json").display().to_string());
    }
    if args.show_non_private {
        object["non_private"] = evaluate::object(&score(model, data)?);
    }
    Ok(object)
}

/// Steps, speed, ε so far and time left, on one line of stderr.
struct Progress {
    shown: bool,
    began: Instant,
    last: Instant,
    first: u64,
}

impl Progress {
    fn new(args: &TrainArgs, first: u64) -> Progress {
        let now = Instant::now();
        Progress { shown: args.progress || std::io::stderr().is_terminal(), began: now, last: now, first }
    }

    fn tick(&mut self, prepared: &Prepared, done: u64) {
        let steps = prepared.plan.steps.get();
        if !self.shown || (self.last.elapsed() < TICK && done < steps) {
            return;
        }
        let seconds = self.began.elapsed().as_secs_f64().max(1e-9);
        let speed = (done - self.first) as f64 / seconds;
        let examples = speed * prepared.plan.sampling.planned().as_f64();
        let left = (steps - done) as f64 / speed.max(1e-9);
        let spent = prepared
            .epsilon_after(done)
            .map_or(String::new(), |epsilon| format!(", epsilon so far {}", decimal::up(epsilon, 4)));
        // A closed stderr is no reason to stop.
        let _ = write!(
            std::io::stderr(),
            "\rstep {done} of {steps}, {} examples/s{spent}, {} s left   ",
            decimal::nearest(examples, 3),
            decimal::nearest(left, 2),
        );
        self.last = Instant::now();
    }

    fn end(&self) {
        if self.shown {
            let _ = writeln!(std::io::stderr());
        }
    }
}
