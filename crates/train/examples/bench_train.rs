//! The speed of one task in one process, as a JSON object; `cargo xtask bench train` puts it beside the peers'.
//!
//! `bench_train step logistic|network|cnn 64|256|2048 plain|private`, `bench_train cohort digits|network plain|private`,
//! `bench_train product`, `bench_train phases MODEL BATCH plain|private` for `cargo xtask bench steps`. One process for each, so that its peak memory is that of the task.

use std::time::Instant;
use veracity_core::{ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_noise::Entropy;
use veracity_train::{
    Clipping, Dataset, Draws, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy, Run, Sampling,
    Schedule, Shape, cohort,
    phases::{self, Phase},
};

/// How long a task is repeated.
const SECONDS: f64 = 1.5;

fn main() -> Result<(), Refusal> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["step", model, batch, protection] => step(model, batch.parse().unwrap_or(256), private(protection)),
        ["cohort", model, protection] => models(model, private(protection)),
        ["phases", model, batch, protection] => {
            phases(model, batch.parse().unwrap_or(256), private(protection))
        }
        ["product"] => product(),
        _ => Err(Refusal::Invalid("the task is unknown, expected step, cohort or product".into())),
    }
}

/// Whether the task is to be private.
fn private(word: &str) -> bool {
    word == "private"
}

/// One large model: examples a second.
fn step(model: &str, batch: u64, private: bool) -> Result<(), Refusal> {
    let (data, network) = model_and_data(model)?;
    // As many examples as the peers take from one look at the clock to the next.
    let stretch = (4096 / batch).max(2);
    let plan = plan(network, batch, data.len() as u64, 1 << 30, private)?;
    let flops = flops_of_one_example(&plan.network);
    let entropy = Entropy::seeded(1);
    let mut run = Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 })?;
    let rate = per_second((stretch * batch) as f64, || (0..stretch).try_for_each(|_| run.step().map(drop)))?;
    report(rate, rate * flops / 1e9);
    Ok(())
}

fn model_and_data(model: &str) -> Result<(Dataset, Network), Refusal> {
    let network = match model {
        "logistic" => dense(784, &[10])?,
        "network" => dense(784, &[256, 10])?,
        "cnn" => convolutional()?,
        "digits" => return Ok((digits()?, dense(64, &[10])?)),
        _ => {
            return Err(Refusal::Invalid(
                "the model is unknown, expected logistic, network, cnn or digits".into(),
            ));
        }
    };
    Ok((synthetic(10_000, 784)?, network))
}

/// Where the time of a step goes: microseconds of all threads together in each phase, in the quickest of many stretches of steps.
fn phases(model: &str, batch: u64, private: bool) -> Result<(), Refusal> {
    let (data, network) = model_and_data(model)?;
    let stretch = (20_000_000 / (batch * network.parameters() as u64)).clamp(3, 400);
    let flops = batch as f64 * flops_of_one_example(&network);
    let (parameters, width) = (network.parameters(), data.width());
    let plan = plan(network, batch, data.len() as u64, 1 << 30, private)?;
    let entropy = Entropy::seeded(1);
    let mut run = Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 })?;
    let (mut best, mut least, begun) = ([0.0; 8], f64::INFINITY, Instant::now());
    while begun.elapsed().as_secs_f64() < SECONDS {
        phases::begin();
        let started = Instant::now();
        for _ in 0..stretch {
            run.step()?;
        }
        let total = started.elapsed().as_secs_f64();
        if total < least {
            (least, best) = (total, Phase::ALL.map(phases::seconds));
        }
    }
    let each = |seconds: f64| 1e6 * seconds / stretch as f64;
    let of = |phase: Phase| format!("\"{phase:?}\": {}, ", each(best[phase as usize]));
    println!(
        "{{{}\"total\": {}, \"flops\": {flops}, \"parameters\": {parameters}, \"width\": {width}}}",
        Phase::ALL.map(of).concat(),
        each(least)
    );
    Ok(())
}

/// Many small models: complete trainings a second.
fn models(model: &str, private: bool) -> Result<(), Refusal> {
    let (data, network, batch, count) = match model {
        "digits" => (digits()?, dense(64, &[10])?, 64, 1000),
        "network" => (synthetic(2000, 784)?, dense(784, &[128, 10])?, 128, 8),
        _ => return Err(Refusal::Invalid("the cohort is unknown, expected digits or network".into())),
    };
    let plan = plan(network, batch, data.len() as u64, 100, private)?;
    let flops = 100.0 * batch as f64 * flops_of_one_example(&plan.network);
    let rate = per_second(count as f64, || train(&plan, &data, count))?;
    report(rate, rate * flops / 1e9);
    Ok(())
}

/// A large product on all threads, as a layer that is nothing else.
fn product() -> Result<(), Refusal> {
    let (rows, inputs, outputs) = (4096, 1024, 1024);
    let data = synthetic(rows, inputs)?;
    let network = dense(inputs, &[outputs])?;
    let parameters = vec![0.5; network.parameters()];
    let rate = per_second(1.0, || cohort::predict(&network, &parameters, &data).map(drop))?;
    report(rate, rate * 2.0 * (rows * inputs * outputs) as f64 / 1e9);
    Ok(())
}

/// Units of work a second: the best of runs that together take [`SECONDS`], three at least. The first is not counted.
fn per_second(units: f64, mut work: impl FnMut() -> Result<(), Refusal>) -> Result<f64, Refusal> {
    work()?;
    let (mut best, mut runs, begun) = (f64::INFINITY, 0, Instant::now());
    while runs < 3 || begun.elapsed().as_secs_f64() < SECONDS {
        let started = Instant::now();
        work()?;
        best = best.min(started.elapsed().as_secs_f64());
        runs += 1;
    }
    Ok(units / best)
}

fn report(per_second: f64, gflops: f64) {
    println!(
        "{{\"tool\": \"veracity\", \"per_second\": {per_second}, \"gflops\": {gflops}, \"peak_kib\": {}}}",
        peak_kib()
    );
}

/// The most memory this process has had, as Linux tells it.
fn peak_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(f64::NAN)
}

fn train(plan: &Plan, data: &Dataset, models: u64) -> Result<(), Refusal> {
    cohort::train(plan, data, &Entropy::seeded(1), 0, 0..models).map(drop)
}

/// Two for each multiplication and addition: forward, the sum of gradients, and the way back but for the first layer.
fn flops_of_one_example(network: &Network) -> f64 {
    let (mut shape, mut products, mut total) = (network.input(), 2, 0);
    for layer in network.layers() {
        let output = Network::new(shape, vec![layer.clone()]).map_or(shape, |alone| alone.output());
        let weights = match (layer, shape) {
            (Layer::Linear { .. }, _) => shape.size(),
            (Layer::Conv2d { kernel, .. }, Shape::Image { channels, .. }) => channels * kernel * kernel,
            _ => 0,
        };
        if weights > 0 {
            total += 2 * products * weights * output.size();
            products = 3;
        }
        shape = output;
    }
    total as f64
}

fn plan(network: Network, batch: u64, population: u64, steps: u64, private: bool) -> Result<Plan, Refusal> {
    let protected = Privacy::Gaussian {
        noise: NoiseMultiplier::new(1.0)?,
        clip: ClipNorm::new(1.0)?,
        clipping: Clipping::Flat,
    };
    Ok(Plan::new(
        network,
        Loss::SoftmaxCrossEntropy,
        Sampling::Poisson { batch: Count::new(batch)?, population: Count::new(population)? },
        Count::new(steps)?,
        if private { protected } else { Privacy::None },
    )
    .with_optimiser(Optimiser::Sgd { momentum: 0.0 })
    .with_schedule(Schedule::Constant { rate: 0.1 }))
}

/// Linear layers with ReLU between them.
fn dense(inputs: usize, outputs: &[usize]) -> Result<Network, Refusal> {
    let mut layers = Vec::new();
    for outputs in outputs {
        layers.extend([Layer::Relu, Layer::Linear { outputs: *outputs }]);
    }
    Network::new(Shape::Flat(inputs), layers.split_off(1))
}

/// The usual small network for 28 × 28 pixels.
fn convolutional() -> Result<Network, Refusal> {
    let pool = || [Layer::Relu, Layer::MaxPool { kernel: 2, stride: 1 }];
    let mut layers = vec![Layer::Conv2d { channels: 16, kernel: 8, stride: 2, padding: 3 }];
    layers.extend(pool());
    layers.push(Layer::Conv2d { channels: 32, kernel: 4, stride: 2, padding: 0 });
    layers.extend(pool());
    layers.extend([
        Layer::Flatten,
        Layer::Linear { outputs: 32 },
        Layer::Relu,
        Layer::Linear { outputs: 10 },
    ]);
    Network::new(Shape::Image { channels: 1, height: 28, width: 28 }, layers)
}

/// The handwritten digits, 8 × 8 pixels of 0 to 16 each.
fn digits() -> Result<Dataset, Refusal> {
    let rows = veracity_train::DIGITS.chunks_exact(65);
    let features = rows.clone().flat_map(|row| row[1..].iter().map(|x| f32::from(*x) / 16.0)).collect();
    let labels = Labels::Classes { of: rows.map(|row| u32::from(row[0])).collect(), classes: 10 };
    Ok(Dataset::new(features, 64, labels)?.packed())
}

/// Numbers between 0 and 1 that look like nothing; speed does not depend on what they are.
fn synthetic(rows: usize, width: usize) -> Result<Dataset, Refusal> {
    let features = (0..rows * width).map(|i| (i.wrapping_mul(2_654_435_761) >> 16 & 255) as f32 / 255.0);
    let of = (0..rows as u32).map(|i| i % 10).collect();
    Ok(Dataset::new(features.collect(), width, Labels::Classes { of, classes: 10 })?.packed())
}
