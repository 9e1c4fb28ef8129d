//! Accuracy of private models on real data: one line for each run, with its settings, the mean and the spread over seeds.
//!
//! `cargo run --release -p veracity-train --example accuracy -- KIND key=value …`, where KIND is `images`, `adult` or
//! `digits`. Settings: `data` (a folder with the files, not gzipped; digits need none), `features` (maps joined by commas, such
//! as `scattering:2:8,group-norm:27`), `cache` (a file for the features), `on` (`holdout`: a part of the training
//! records that settings are chosen on, or `test`), `batch`, `steps`, `noise` (0 for none), `clip`, `rate`, `momentum`, `seeds`.
//! `centre` (the noise multiplier of a private mean to take off, and `then` the maps after that).
//! The noise multiplier comes from `veracity calibrate dp-sgd`.

#[path = "accuracy/adult.rs"]
mod adult;
#[path = "accuracy/idx.rs"]
mod idx;

use std::{collections::HashMap, error::Error, fs, path::Path, time::Instant};
use veracity_core::{ClipNorm, Count, NoiseMultiplier};
use veracity_noise::{Entropy, Key, Purpose};
use veracity_train::{
    Clipping, Dataset, Labels, Layer, Loss, Network, Noises, Optimiser, Plan, Privacy, Sampling, Schedule,
    Shape, cohort,
    features::{Centre, Features, FrontEnd},
};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Records before any features were made of them.
struct Raw {
    features: Vec<f32>,
    labels: Vec<u32>,
    shape: Shape,
    classes: usize,
    /// How many records, from the first, are for training.
    training: usize,
    /// How many of those are held out to choose settings on.
    holdout: usize,
}

struct Settings(HashMap<String, String>);

impl Settings {
    fn text(&self, key: &str) -> Fallible<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .ok_or_else(|| format!("{key} is missing, expected {key}=…").into())
    }

    fn number(&self, key: &str) -> Fallible<f64> {
        Ok(self.text(key)?.parse().map_err(|_| format!("{key} is not a number"))?)
    }
}

fn main() -> Fallible<()> {
    let mut words = std::env::args().skip(1);
    let kind = words.next().ok_or("no kind of data, expected images, adult or digits")?;
    let pairs = words.map(|word| word.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())));
    let settings = Settings(pairs.collect::<Option<_>>().ok_or("settings are written key=value")?);
    let raw = match kind.as_str() {
        "images" => idx::read(Path::new(settings.text("data")?))?,
        "adult" => adult::read(Path::new(settings.text("data")?))?,
        "digits" => digits(),
        _ => return Err("kind of data is unknown, expected images, adult or digits".into()),
    };
    let (train, test) = split(featurize(&raw, &settings)?, &raw, settings.text("on")?)?;
    let (train, test) = centred(train, test, &settings)?;
    run(&train, &test, raw.classes, &settings)
}

/// UCI's handwritten digits; every fifth is for testing, every fifth of the rest is held out.
fn digits() -> Raw {
    let rows: Vec<&[u8]> = veracity_train::DIGITS.chunks_exact(65).collect();
    let tests = |at: &usize| at.is_multiple_of(5);
    let held = |at: &usize| at % 5 == 1;
    let all = 0..rows.len();
    let mut order: Vec<usize> = all.clone().filter(|at| !tests(at) && !held(at)).collect();
    order.extend(all.clone().filter(held));
    let training = order.len();
    order.extend(all.clone().filter(tests));
    Raw {
        features: order.iter().flat_map(|at| rows[*at][1..].iter().map(|x| f32::from(*x) / 16.0)).collect(),
        labels: order.iter().map(|at| u32::from(rows[*at][0])).collect(),
        shape: Shape::Image { channels: 1, height: 8, width: 8 },
        classes: 10,
        training,
        holdout: all.filter(held).count(),
    }
}

fn parse(maps: &str) -> Fallible<Vec<Features>> {
    let one = |map: &str| -> Fallible<Features> {
        let words: Vec<&str> = map.split(':').collect();
        let whole = |at: usize| -> Fallible<usize> { Ok(words.get(at).ok_or("too few numbers")?.parse()?) };
        let real = |at: usize| -> Fallible<f32> { Ok(words.get(at).ok_or("too few numbers")?.parse()?) };
        Ok(match words[0] {
            "scattering" => Features::Scattering { scales: whole(1)?, angles: whole(2)? },
            "patches" => Features::Patches { filters: whole(1)?, side: whole(2)?, cells: whole(3)? },
            "fourier" => Features::Fourier { count: whole(1)?, bandwidth: real(2)? },
            "group-norm" => Features::GroupNorm { groups: whole(1)? },
            "power" => Features::Power { exponent: real(1)? },
            "unit-norm" => Features::UnitNorm { norm: real(1)? },
            _ => return Err("features are scattering, patches, fourier, group-norm, power, unit-norm".into()),
        })
    };
    maps.split(',').filter(|map| !map.is_empty()).map(one).collect()
}

/// All records through the front end. With a cache, that of its first part, up to a `|`, is kept in a file.
fn featurize(raw: &Raw, settings: &Settings) -> Fallible<Dataset> {
    let maps = settings.0.get("features").map_or("", String::as_str);
    let (slow, quick) = maps.split_once('|').unwrap_or((maps, ""));
    let labels = Labels::Classes { of: raw.labels.clone(), classes: raw.classes };
    let mut rng = Entropy::seeded(0).stream(Purpose::Init, Key::default());
    let start = Instant::now();
    let front = FrontEnd::new(raw.shape, &parse(slow)?, &mut rng)?;
    let cache = settings.0.get("cache").filter(|path| Path::new(path).exists());
    let slow = match cache {
        Some(path) => {
            let bytes = fs::read(path)?;
            let values =
                bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect();
            Dataset::new(values, front.output().size(), labels)?
        }
        None => front.apply(&Dataset::new(raw.features.clone(), raw.shape.size(), labels)?)?,
    };
    eprintln!("{} features of {} records: {:.1} s", slow.width(), slow.len(), start.elapsed().as_secs_f64());
    if let (Some(path), None) = (settings.0.get("cache"), cache) {
        let bytes: Vec<u8> =
            (0..slow.len()).flat_map(|at| slow.row(at)).flat_map(|x| x.to_le_bytes()).collect();
        fs::write(path, bytes)?;
    }
    if quick.is_empty() {
        return Ok(slow);
    }
    Ok(FrontEnd::new(front.output(), &parse(quick)?, &mut rng)?.apply(&slow)?)
}

fn split(all: Dataset, raw: &Raw, on: &str) -> Fallible<(Dataset, Dataset)> {
    let (train, test) = match on {
        "holdout" => (0..raw.training - raw.holdout, raw.training - raw.holdout..raw.training),
        "test" => (0..raw.training, raw.training..all.len()),
        _ => return Err("on is neither holdout nor test".into()),
    };
    let part = |rows: std::ops::Range<usize>| {
        let features = rows.clone().flat_map(|at| all.row(at)).copied().collect();
        let labels = Labels::Classes { of: raw.labels[rows].to_vec(), classes: raw.classes };
        Dataset::new(features, all.width(), labels)
    };
    Ok((part(train)?, part(test)?))
}

/// Takes a private mean of the training records off all, if asked to.
fn centred(train: Dataset, test: Dataset, settings: &Settings) -> Fallible<(Dataset, Dataset)> {
    if !settings.0.contains_key("centre") {
        return Ok((train, test));
    }
    let noise = NoiseMultiplier::new(settings.number("centre")?)?;
    let rng = Noises::new(Entropy::seeded(1).family(Purpose::Preprocess, 0, 0));
    let centre = Centre::new(&train, Count::new(train.len() as u64)?, ClipNorm::new(1.0)?, noise, rng)?;
    let then = settings.0.get("then").map_or("", String::as_str);
    let mut rng = Entropy::seeded(0).stream(Purpose::Init, Key { step: 1, ..Key::default() });
    let front = FrontEnd::new(Shape::Flat(train.width()), &parse(then)?, &mut rng)?;
    Ok((front.apply(&centre.apply(train)?)?, front.apply(&centre.apply(test)?)?))
}

fn run(train: &Dataset, test: &Dataset, classes: usize, settings: &Settings) -> Fallible<()> {
    let number = |key: &str| settings.number(key);
    let noise = number("noise")?;
    let layers = vec![Layer::Linear { outputs: classes }];
    let plan = Plan::new(
        Network::new(Shape::Flat(train.width()), layers)?,
        Loss::SoftmaxCrossEntropy,
        Sampling::Poisson {
            batch: Count::new(number("batch")? as u64)?,
            population: Count::new(train.len() as u64)?,
        },
        Count::new(number("steps")? as u64)?,
        if noise > 0.0 {
            Privacy::Gaussian {
                noise: NoiseMultiplier::new(noise)?,
                clip: ClipNorm::new(number("clip")?)?,
                clipping: Clipping::Flat,
            }
        } else {
            Privacy::None
        },
    )
    .with_optimiser(Optimiser::Sgd { momentum: number("momentum")? as f32 })
    .with_schedule(Schedule::Constant { rate: number("rate")? as f32 });
    let start = Instant::now();
    let models = cohort::train(&plan, train, &Entropy::seeded(1), 0, 0..number("seeds")? as u64)?;
    let took = start.elapsed().as_secs_f64();
    let mut of_test = Vec::new();
    let mut of_train = Vec::new();
    for model in &models {
        of_test.push(accuracy(&plan.network, &model.parameters, test)?);
        of_train.push(accuracy(&plan.network, &model.parameters, train)?);
    }
    let (mean, spread) = moments(&of_test);
    let mut words: Vec<String> = settings.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
    words.sort();
    println!(
        "{mean:.2} ± {spread:.2} % (training {:.2}) {:?} in {took:.0} s: {}",
        moments(&of_train).0,
        of_test.iter().map(|x| (x * 100.0).round() / 100.0).collect::<Vec<_>>(),
        words.join(" ")
    );
    Ok(())
}

/// Percent of records whose largest output is that of their class.
fn accuracy(network: &Network, parameters: &[f32], data: &Dataset) -> Fallible<f64> {
    let outputs = cohort::predict(network, parameters, data)?;
    let Labels::Classes { of, classes } = data.labels() else {
        return Err("labels are numbers, expected classes".into());
    };
    let best = |row: &[f32]| (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b]));
    let right =
        outputs.chunks_exact(*classes).zip(of).filter(|(row, class)| best(row) == Some(**class as usize));
    Ok(100.0 * right.count() as f64 / of.len() as f64)
}

/// Mean and standard deviation over seeds.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, (square / (count - 1.0).max(1.0)).sqrt())
}
