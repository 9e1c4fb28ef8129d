//! `veracity train`: a plan and its data become a model, a claim and a report.
//!
//! All of them are on disk, whole, before the model has its name, and nothing that another run left is lost unasked. What was
//! measured on the training records is not private and is neither shown nor written unless asked for.

mod convex;

use crate::{Outcome, args::TrainArgs, commands::evaluate, text};
use serde_json::{Value, json};
use std::{
    io::{IsTerminal, Write},
    path::Path,
    time::{Duration, Instant},
};
use veracity::{
    AnswerFile, Entropy, Refusal,
    plan::read_text,
    provenance,
    report::decimal,
    spec::Whole,
    training::{
        CLAIM, Checkpoint, Dataset, Draws, Entry, Learning, Left, MODEL, Model, OutFolder, Prepared,
        Protection, REPORT, Ready, Recipe, Run, STATISTICS, SavedRun, State, evaluate as score, page,
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
    Left::look(&args.out, entry(args))?;
    let provenance = provenance(args.dataset.as_deref().unwrap_or(&recipe.dataset()))?;
    let every = args.checkpoint_every.map(|every| Whole(every).count("checkpoint-every")).transpose()?;
    let data = recipe.records()?;
    let protection = if args.non_private { Protection::None } else { Protection::Private };
    if recipe.is_convex() {
        return convex::run(args, &recipe, (data, &provenance), protection);
    }
    let prepared = recipe.prepare(&data, protection)?;
    let Begun { ready, entropy, state, mut checkpoint } = begin(args, &prepared, data)?;
    let data = ready.data;
    let claim = prepared.claim(entropy.origin())?;
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let mut run = match state {
        Some(state) => Run::resume(&prepared.plan, &data, draws, state)?,
        None => Run::new(&prepared.plan, &data, draws)?,
    };
    let out = open(args)?;
    if every.is_some() && !args.resume {
        // First what another run laid aside: its state must not be found beside statistics that are not its own.
        out.clear()?;
        prepared.keep(&ready.statistics, &out.statistics())?;
        checkpoint = Some(Checkpoint::begin(&args.out, (&prepared, &data), &entropy, &run.state())?);
    }
    let mut progress = Progress::new(args, run.steps_done());
    let mut learning = args.with_training_metrics.then(|| Learning::new(&prepared, &data)).transpose()?;
    let mut look = |run: &Run<'_>| learning.as_mut().map_or(Ok(()), |learning| learning.look(&prepared, run));
    look(&run)?;
    while run.step()? {
        look(&run)?;
        if let (Some(every), Some(checkpoint)) = (every, &checkpoint)
            && run.steps_done().is_multiple_of(every.get())
        {
            checkpoint.save(&run.state())?;
        }
        progress.tick(&prepared, run.steps_done());
    }
    progress.end();
    if let Some(checkpoint) = &checkpoint {
        checkpoint.seal(&run.state())?;
    }

    let model = prepared.model(&run, &ready.statistics);
    if let Some(learning) = &mut learning {
        learning.score = Some(score(&model, &data)?);
    }
    let told = page(&prepared, &model, learning.as_ref())?.render();
    let claim = claim.map(|claim| model.claimed(claim, &provenance)).transpose()?;
    out.hand_over(&model, claim.as_ref(), Some(&told))?;
    out.clear()?;
    Outcome::done(match args.json {
        true => text::json(&report(args, &prepared, &model, &data)?)?,
        false => words(args, &prepared, &model, &data)?,
    })
}

/// A run before its next step, fresh or taken up again.
struct Begun {
    ready: Ready,
    entropy: Entropy,
    state: Option<State>,
    checkpoint: Option<Checkpoint>,
}

fn begin(args: &TrainArgs, prepared: &Prepared, data: Dataset) -> Result<Begun, Refusal> {
    if args.resume {
        let ready = prepared.recall(data, &args.out.join(STATISTICS))?;
        let SavedRun { state, entropy, checkpoint } =
            Checkpoint::resume(&args.out, (prepared, &ready.data), args.seed)?;
        return Ok(Begun { ready, entropy, state: Some(state), checkpoint });
    }
    let entropy = args.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
    let ready = prepared.learn(data, &entropy)?;
    Ok(Begun { ready, entropy, state: None, checkpoint: None })
}

fn entry(args: &TrainArgs) -> Entry {
    match (args.resume, args.force) {
        (true, _) => Entry::Resume,
        (false, true) => Entry::Force,
        (false, false) => Entry::Fresh,
    }
}

/// Takes the folder, and says what is about to be replaced in it, before it is.
fn open(args: &TrainArgs) -> Result<OutFolder, Refusal> {
    let out = OutFolder::open(&args.out, entry(args))?;
    let what = match (out.left.is_finished, out.left.is_paused) {
        _ if !args.force => return Ok(out),
        (false, false) => return Ok(out),
        (true, false) => "the model of a finished run; its claim stays",
        (false, true) => "a run that is laid aside, with its key",
        (true, true) => {
            "the model of a finished run, whose claim stays, and a run that is laid aside, with its key"
        }
    };
    // A closed stderr is no reason to stop.
    let _ = writeln!(std::io::stderr(), "--force: replaces in {} {what}", args.out.display());
    Ok(out)
}

fn words(args: &TrainArgs, prepared: &Prepared, model: &Model, data: &Dataset) -> Result<String, Refusal> {
    let out = args.out.join(MODEL);
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
            lines += &format!("claim in {}\n", args.out.join(CLAIM).display());
            if !model.card.for_release {
                lines += "drawn from a seed: not for release\n";
            }
        }
        None => lines += "trained without protection: no claim, not for release\n",
    }
    lines += &format!("report in {}\n", args.out.join(REPORT).display());
    if args.with_training_metrics {
        lines += "not private: the report shows numbers measured on the training records\n";
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
    object["model"] = json!(args.out.join(MODEL).display().to_string());
    object["parameters"] = json!(model.parameters.len());
    object["steps"] = json!(prepared.plan.steps.get());
    object["report"] = json!(args.out.join(REPORT).display().to_string());
    object["for_release"] = json!(model.card.for_release);
    if let Some(cost) = &prepared.cost {
        object["noise_multiplier"] = json!(cost.noise.get());
        object["claim"] = json!(args.out.join(CLAIM).display().to_string());
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
