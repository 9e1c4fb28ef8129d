//! The FashionMNIST panel of "How Private is Private SGD?": membership, backdoor and ClipBKD attacks on logistic regression.
//!
//! `cargo xtask reproduce jagielski` runs it. It trains many models on each dataset, half to choose a threshold and half to
//! count, prints one line for each attack, ε and number of copies, and draws, from these lines, the best of each attack: what the
//! authors claim by their noise, and what the attack shows by Clopper–Pearson limits at α = 0.01, valid for this δ and group size. Each number of
//! copies spends that α by itself, as published: the best of four errs with chance at most 0.04.
//!
//! # Reference  [JagielskiUllmanOprea20]; settings as in the authors' published code: two classes, 6000 records, batches of
//! 250 in shuffled order, 24 epochs, learning rate 0.15, clip norm 1

use std::{path::Path, time::Instant};
use veracity::devices;
use veracity_audit::{Canary, Choice, Scores, bound::FromCounts, threshold};
use veracity_core::{Adjacency, ClipNorm, Count, Delta, Error, NoiseMultiplier, Significance};
use veracity_noise::{Entropy, Key, Purpose, exact::uniform_below};
use veracity_report::{
    axis::{Axis, Scale},
    chart::{self, Chart, Line},
    picture::{Ink, Stroke},
    svg,
};
use veracity_train::{
    Clipping, Dataset, Initial, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy, Sampling, Schedule,
    Shape, World, cohort,
    device::{Cpu, Device, Reading, Trainings},
};

/// The ε that the authors give for each noise multiplier, at δ = 1e-5.
const CLAIMS: [(f64, f64); 5] = [(1.0, 5.02), (2.0, 2.68), (4.0, 1.55), (8.0, 1.01), (16.0, 0.73)];
const COPIES: [usize; 4] = [1, 2, 4, 8];
const RECORDS: usize = 6000;
const WIDTH: usize = 784;
const SEED: u64 = 2020;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(refusal) = run(&arguments) {
        eprintln!("jagielski: {refusal}");
        std::process::exit(2);
    }
}

fn run(arguments: &[String]) -> Result<(), Error> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", folder, runs, hidden, scale, claims, device] => {
            let settings = Settings {
                runs: number(runs)?,
                hidden: number(hidden)?,
                initial_scale: number::<u32>(scale)? as f32,
            };
            let claims: Result<Vec<f64>, Error> = claims.split(',').map(number).collect();
            panels(Path::new(folder), settings, &claims?, devices::open(device)?.as_deref())
        }
        ["draw", counts, figure] => draw(Path::new(counts), Path::new(figure)),
        _ => Err(Error::invalid(
            "expected: run FOLDER RUNS HIDDEN SCALE EPSILONS DEVICE (0 hidden units for logistic regression; initial weights are \
             multiplied by a scale of 0 or 1; epsilons such as 1,4; device cpu or cuda:0), or: draw CSV FIGURE",
        )),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| Error::out_of_range("number", text.to_owned(), "one that fits"))
}

/// What the panels are of.
#[derive(Clone, Copy)]
struct Settings {
    /// Models a dataset.
    runs: usize,
    /// Hidden units; none for logistic regression.
    hidden: usize,
    /// What initial weights are multiplied by: with 0 all models begin alike.
    initial_scale: f32,
}

fn panels(
    folder: &Path,
    settings: Settings,
    claims: &[f64],
    device: Option<&dyn Device>,
) -> Result<(), Error> {
    let (data, spare) = two_classes(folder)?;
    eprintln!("{} records, {} spare", data.len(), spare.len());
    println!("attack,copies,claimed,noise_multiplier,proved,runs,tp,fn,fp,tn,epsilon_lower,ceiling");
    let start = Instant::now();
    for (claimed, noise) in CLAIMS.into_iter().filter(|(claimed, _)| claims.contains(claimed)) {
        let plan = plan(noise, settings)?;
        device.map_or(Ok(()), |device| device.check(&plan))?;
        Panel { data: &data, spare: &spare, settings, plan, noise, claimed, device }.run()?;
        eprintln!("epsilon {claimed}: {:.0} s since the start", start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Draws what a run has printed.
fn draw(counts: &Path, figure: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(counts)
        .map_err(|error| Error::invalid(format!("counts cannot be read ({error})")))?;
    let found = |line: &str| -> Result<Found, Error> {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
        Ok(Found { attack: cell(0).to_owned(), claimed: number(cell(2))?, shown: number(cell(10))? })
    };
    let found: Result<Vec<Found>, Error> = text.lines().skip(1).map(found).collect();
    let drawn = svg::render(&chart::draw(&picture(&found?)));
    std::fs::write(figure, drawn)
        .map_err(|error| Error::invalid(format!("figure cannot be written ({error})")))
}

/// What one attack showed with so many copies.
struct Found {
    attack: String,
    claimed: f64,
    shown: f64,
}

/// The best of each attack over the number of copies, against what was claimed.
fn picture(found: &[Found]) -> Chart {
    let most = found.iter().map(|found| found.claimed).fold(1.0, f64::max);
    let highest = found.iter().map(|found| found.shown).fold(0.5, f64::max);
    let axis = |title: &str, high| Axis { title: title.to_owned(), low: 0.0, high, scale: Scale::Linear };
    let line = |attack: &'static str, ink| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (claimed, _) in CLAIMS {
            let shown = found.iter().filter(|found| found.attack == attack && found.claimed == claimed);
            if let Some(best) = shown.map(|found| found.shown).reduce(f64::max) {
                points.push((claimed, best));
            }
        }
        Line { name: attack.to_owned(), points, ink, stroke: Stroke::Solid }
    };
    let lines =
        vec![line("membership", Ink::GREY), line("backdoor", Ink::VERMILLION), line("clip-bkd", Ink::BLUE)];
    Chart {
        description: "what each attack shows against what the noise was claimed to give".to_owned(),
        x: axis("epsilon by the authors' noise", most),
        y: axis("epsilon shown, best number of copies", (5.0 * highest).ceil() / 5.0),
        bands: Vec::new(),
        lines,
        spots: Vec::new(),
    }
}

/// Records of the classes 0 and 1: a random half to train on, and the other half.
fn two_classes(folder: &Path) -> Result<(Dataset, Dataset), Error> {
    let text = "[data]\nformat = \"idx\"\npath = \"train-images-idx3-ubyte.gz\"\n\
                labels = \"train-labels-idx1-ubyte.gz\"\nclasses = 10\n\
                [[model.layer]]\nkind = \"linear\"\noutputs = 10\n[training]\nbatch_size = 1\n";
    let all = veracity::training::TrainingPlan::parse(text, folder)?.records()?;
    let Labels::Classes { of, .. } = all.labels() else { unreachable!("the plan reads classes") };
    let mut chosen: Vec<usize> = (0..all.len()).filter(|at| of[*at] < 2).collect();
    let mut stream = Entropy::seeded(SEED).stream(Purpose::Split, Key::default());
    for at in (1..chosen.len()).rev() {
        chosen.swap(at, uniform_below(at as u128 + 1, &mut stream) as usize);
    }
    let part = |which: &[usize]| {
        let features = which.iter().flat_map(|at| all.row(*at)).copied().collect();
        let labels = which.iter().map(|at| of[*at]).collect();
        Dataset::new(features, WIDTH, Labels::Classes { of: labels, classes: 2 })
    };
    Ok((part(&chosen[..RECORDS])?.packed(), part(&chosen[RECORDS..])?))
}

fn plan(noise: f64, settings: Settings) -> Result<Plan, Error> {
    let Settings { hidden, initial_scale, .. } = settings;
    let mut layers = vec![Layer::Linear { outputs: 2 }];
    if hidden > 0 {
        layers.splice(..0, [Layer::Linear { outputs: hidden }, Layer::Relu]);
    }
    let privacy = Privacy::Gaussian {
        noise: NoiseMultiplier::new(noise)?,
        clip: ClipNorm::new(1.0)?,
        clipping: Clipping::Flat,
    };
    let plan = Plan::new(
        Network::new(Shape::Flat(WIDTH), layers)?,
        Loss::SoftmaxCrossEntropy,
        Sampling::Shuffled { batch: Count::new(250)?, population: Count::new(RECORDS as u64)? },
        Count::new(24 * RECORDS as u64 / 250)?,
        privacy,
    )
    .with_optimiser(Optimiser::Sgd { momentum: 0.0 })
    .with_schedule(Schedule::Constant { rate: 0.15 });
    Ok(Plan { initial: Initial::Random { scale: initial_scale }, ..plan })
}

/// Which of the records that models are asked about, and for which class.
#[derive(Clone, Copy)]
struct Asked {
    record: usize,
    class: usize,
}

/// All attacks at one noise multiplier.
struct Panel<'a> {
    data: &'a Dataset,
    spare: &'a Dataset,
    settings: Settings,
    plan: Plan,
    noise: f64,
    claimed: f64,
    /// Where models are trained; on these cores where there is none.
    device: Option<&'a dyn Device>,
}

impl Panel<'_> {
    fn run(&self) -> Result<(), Error> {
        let class_of = |data: &Dataset, at: usize| match data.labels() {
            Labels::Classes { of, .. } => of[at],
            Labels::Values(_) => 0,
        };
        let member = Canary { features: self.spare.row(0).to_vec(), class: class_of(self.spare, 0) };
        let shirt = (0..self.spare.len()).find(|at| class_of(self.spare, *at) == 0).unwrap_or(0);
        let backdoor = Canary::patched(self.spare.row(shirt), 28, 5, 1);
        let bkd = self.clip_bkd()?;
        let canaries = [&member, &backdoor, &bkd];
        let asked = Dataset::new(
            canaries.iter().flat_map(|canary| &canary.features).copied().collect(),
            WIDTH,
            Labels::Classes { of: vec![0; canaries.len()], classes: 2 },
        )?;
        let clean = self.outputs(self.data.into(), 0, &asked)?;
        for (run, copies) in (1..).step_by(8).zip(COPIES) {
            let kept = self.kept(RECORDS - copies)?;
            let planted = |canary: &Canary, run: u64| -> Result<Vec<Vec<f32>>, Error> {
                let labels = Labels::Classes { of: vec![canary.class; copies], classes: 2 };
                let canaries = Dataset::new(canary.features.repeat(copies), WIDTH, labels)?;
                self.outputs(World::from(&kept).with(&canaries)?, run, &asked)
            };
            for (at, (name, canary)) in [("membership", &member), ("backdoor", &backdoor)].iter().enumerate()
            {
                let asked = Asked { record: at, class: canary.class as usize };
                self.print(name, copies, &planted(canary, run + at as u64)?, &clean, asked)?;
            }
            // Both worlds hold the canary's features; only its class differs.
            let other = Canary { class: 1 - bkd.class, ..bkd.clone() };
            let (planted, flipped) = (planted(&bkd, run + 4)?, planted(&other, run + 5)?);
            let asked = Asked { record: 2, class: bkd.class as usize };
            self.print("clip-bkd", copies, &planted, &flipped, asked)?;
        }
        Ok(())
    }

    /// The direction in which the records vary least, with the class that a model without privacy finds less likely there.
    fn clip_bkd(&self) -> Result<Canary, Error> {
        let rows: Vec<f32> = (0..self.data.len()).flat_map(|at| self.data.row(at)).copied().collect();
        let canary = Canary::least_direction(&rows, WIDTH, 10.0, 0)?;
        let bare =
            Plan { privacy: Privacy::None, ..plan(self.noise, Settings { hidden: 0, ..self.settings })? };
        let model = cohort::train(&bare, self.data, &Entropy::seeded(SEED), 99, 0..1)?.swap_remove(0);
        let record =
            Dataset::new(canary.features.clone(), WIDTH, Labels::Classes { of: vec![0], classes: 2 })?;
        let outputs = cohort::predict(&bare.network, &model.parameters, &record)?;
        Ok(Canary { class: u32::from(outputs[1] < outputs[0]), ..canary })
    }

    /// The first records; a canary's copies come in the place of the last ones.
    fn kept(&self, count: usize) -> Result<Dataset, Error> {
        let Labels::Classes { of, classes } = self.data.labels() else { unreachable!("classes were read") };
        let features = (0..count).flat_map(|at| self.data.row(at)).copied().collect();
        let labels = Labels::Classes { of: of[..count].to_vec(), classes: *classes };
        Ok(Dataset::new(features, WIDTH, labels)?.packed())
    }

    /// What each model that was trained on a world says of the records that are asked about.
    fn outputs(&self, world: World<'_>, run: u64, asked: &Dataset) -> Result<Vec<Vec<f32>>, Error> {
        let trials: Vec<u64> = (0..self.settings.runs as u64).collect();
        let worlds = vec![world; trials.len()];
        let portion = self.device.map_or(trials.len(), |device| device.portion(&self.plan)).max(1);
        let mut outputs = Vec::with_capacity(trials.len());
        for (trials, worlds) in trials.chunks(portion).zip(worlds.chunks(portion)) {
            let trainings = Trainings {
                plan: &self.plan,
                worlds,
                trials,
                // Each noise has runs of its own.
                run: run + 1000 * self.claimed as u64,
                entropy: &Entropy::seeded(SEED),
                read: Reading::Outputs(asked),
            };
            outputs.extend(self.device.unwrap_or(&Cpu).train(&trainings)?);
        }
        Ok(outputs)
    }

    fn print(
        &self,
        attack: &'static str,
        copies: usize,
        planted: &[Vec<f32>],
        without: &[Vec<f32>],
        asked: Asked,
    ) -> Result<(), Error> {
        let margins = |models: &[Vec<f32>]| -> Vec<f64> {
            let margin = |outputs: &Vec<f32>| {
                let outputs = &outputs[2 * asked.record..][..2];
                f64::from(outputs[asked.class] - outputs[1 - asked.class])
            };
            models.iter().map(margin).collect()
        };
        let scores = Scores::new(margins(planted), margins(without))?;
        let (delta, group) = (Delta::new(1e-5)?, Count::new(copies as u64)?);
        let level = Significance::new(0.01)?;
        let chosen =
            threshold::bound(&scores, Choice::Split, FromCounts::ClopperPearson, delta, group, level)?;
        let mechanism = self.plan.mechanism(Adjacency::ReplaceOne)?;
        let subject =
            veracity::Subject { adjacency: Adjacency::ReplaceOne, ..veracity::Subject::new(mechanism) };
        let answer = veracity::account(&subject, veracity::Target::Delta(delta), veracity::Choice::Best)?;
        let proved = answer.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get());
        let counts = chosen.counts;
        println!(
            "{attack},{copies},{},{},{proved:.3},{},{},{},{},{},{:.4},{:.4}",
            self.claimed,
            self.noise,
            self.settings.runs,
            counts.true_positives,
            counts.false_negatives,
            counts.false_positives,
            counts.true_negatives,
            chosen.shown.epsilon.0.get(),
            chosen.shown.ceiling.get()
        );
        Ok(())
    }
}
