//! Holds a CUDA device against the CPU, and times it: `cargo xtask bench gpu` runs both on a machine that has one.
//!
//! `gpu check [NAME]` compares noise integers, batches and trained models; `gpu bench [NAME|all [COUNT]]` times trainings; `gpu small
//! [NAME]` is a short run for memory and race checkers. `--kernel warp|wide|team` before these words trains by the kernels of that file
//! alone.

mod replay;

use std::time::Instant;
use veracity_core::{ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_cuda::{Cuda, Family};
use veracity_noise::{Entropy, Purpose, vector};
use veracity_train::{
    CraftedGradient, DIGITS, Dataset, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy, Sampling,
    Schedule, Shape, World,
    device::{Cpu, Device, Likelihoods, Reading, Trainings, Worlds, batch_of},
    integer::IntegerReference,
};

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut run = || -> Result<bool, Refusal> {
        let mut device = veracity_cuda::open(0)?;
        if words.first().is_some_and(|word| word == "--kernel") {
            device = device.with_kernels(family(words.get(1).map_or("", String::as_str))?);
            words.drain(..2);
        }
        println!("{}", device.name());
        match words.first().map(String::as_str) {
            Some("check") => check(&device, words.get(1).map(String::as_str)),
            Some("bench") => bench(&device, &words[1..]).map(|()| true),
            Some("small") => small(&device, words.get(1).map(String::as_str)),
            _ => Err(Refusal::Invalid("expected check, bench or small".into())),
        }
    };
    match run() {
        Ok(true) => {}
        Ok(false) => std::process::exit(1),
        Err(refusal) => {
            eprintln!("gpu: {refusal}");
            std::process::exit(2);
        }
    }
}

fn family(name: &str) -> Result<Family, Refusal> {
    match name {
        "warp" => Ok(Family::Warp),
        "wide" => Ok(Family::Wide),
        "team" => Ok(Family::Team),
        _ => Err(Refusal::Invalid("the kernel is unknown, expected warp, wide or team".into())),
    }
}

/// A kind of training.
struct Kind {
    name: &'static str,
    data: Dataset,
    plan: Plan,
}

fn digits() -> Result<Dataset, Refusal> {
    let features = DIGITS.chunks_exact(65).flat_map(|row| &row[1..]).map(|x| f32::from(*x) / 16.0).collect();
    let labels = DIGITS.chunks_exact(65).map(|row| u32::from(row[0])).collect();
    Ok(Dataset::of_classes(features, 64, labels, 10)?.packed())
}

fn greys(records: usize, width: usize) -> Result<Dataset, Refusal> {
    let level = |i: usize| ((i as u64).wrapping_mul(2_654_435_761) >> 16 & 255) as f32 / 255.0;
    let features = (0..records * width).map(level).collect();
    Ok(Dataset::of_classes(features, width, (0..records as u32).map(|i| i % 10).collect(), 10)?.packed())
}

/// Features of both signs that are no levels.
fn waves(records: usize, width: usize) -> Vec<f32> {
    (0..records * width).map(|i| (i as f32 * 0.7311).sin() * (1.0 + (i % 7) as f32)).collect()
}

fn layers(hidden: usize, outputs: usize) -> Vec<Layer> {
    let mut layers = vec![Layer::Linear { outputs }];
    if hidden > 0 {
        layers.splice(..0, [Layer::Linear { outputs: hidden }, Layer::Relu]);
    }
    layers
}

fn plan(
    data: &Dataset,
    (hidden, outputs): (usize, usize),
    loss: Loss,
    (batch, steps): (u64, u64),
    momentum: f32,
) -> Result<Plan, Refusal> {
    let sampling =
        Sampling::Poisson { batch: Count::new(batch)?, population: Count::new(data.len() as u64)? };
    let privacy = Privacy::gaussian(NoiseMultiplier::new(1.0)?, ClipNorm::new(1.0)?);
    let network = Network::new(Shape::Flat(data.width()), layers(hidden, outputs))?;
    Ok(Plan::new(network, loss, sampling, Count::new(steps)?, privacy)
        .with_optimiser(Optimiser::Sgd { momentum })
        .with_schedule(Schedule::Constant { rate: 0.1 }))
}

fn kinds(steps: u64) -> Result<Vec<Kind>, Refusal> {
    let softmax = Loss::SoftmaxCrossEntropy;
    // The noise of the large one is of two streams.
    let (digits, wide, large) = (digits()?, greys(2000, 784)?, greys(500, 4096)?);
    let levels = |i: usize| (i * 31 % 17) as f32 / 16.0;
    let few =
        Dataset::of_classes((0..900 * 64).map(levels).collect(), 64, (0..900).map(|i| i % 3).collect(), 3)?
            .packed();
    let numbers = Dataset::of_classes(waves(1500, 100), 100, (0..1500).map(|i| i % 4).collect(), 4)?;
    let values = Dataset::of_values(waves(900, 30), 30, (0..900).map(|i| (i as f32 * 0.37).cos()).collect())?;
    let two = Dataset::of_classes(waves(900, 70), 70, (0..900).map(|i| i % 2).collect(), 2)?;
    let shuffled = |plan: Plan, data: &Dataset| -> Result<Plan, Refusal> {
        let sampling =
            Sampling::Shuffled { batch: Count::new(96)?, population: Count::new(data.len() as u64)? };
        Ok(Plan { sampling, ..plan })
    };
    let kind = |name, data: &Dataset, plan| Kind { name, data: data.clone(), plan };
    Ok(vec![
        kind("64-10", &digits, plan(&digits, (0, 10), softmax, (64, steps), 0.0)?),
        kind("64-3", &few, plan(&few, (0, 3), softmax, (64, steps), 0.0)?),
        kind("64-10, momentum, batch 256", &digits, plan(&digits, (0, 10), softmax, (256, steps), 0.5)?),
        kind("784-10", &wide, plan(&wide, (0, 10), softmax, (128, steps), 0.0)?),
        kind("4096-10", &large, plan(&large, (0, 10), softmax, (64, steps), 0.0)?),
        kind("784-32-10", &wide, plan(&wide, (32, 10), softmax, (128, steps), 0.0)?),
        kind("784-128-10", &wide, plan(&wide, (128, 10), softmax, (128, steps), 0.9)?),
        kind("numbers 100-4", &numbers, plan(&numbers, (0, 4), softmax, (64, steps), 0.0)?),
        kind("numbers 100-20-4", &numbers, plan(&numbers, (20, 4), softmax, (64, steps), 0.0)?),
        kind("squared 30-1", &values, plan(&values, (0, 1), Loss::Squared, (64, steps), 0.0)?),
        kind("logistic 70-1", &two, plan(&two, (0, 1), Loss::Logistic, (900, steps), 0.0)?),
        kind("shuffled 784-10", &wide, shuffled(plan(&wide, (0, 10), softmax, (128, steps), 0.0)?, &wide)?),
        kind(
            "shuffled 64-10",
            &digits,
            shuffled(plan(&digits, (0, 10), softmax, (64, steps), 0.0)?, &digits)?,
        ),
    ])
}

/// All kinds, or those whose name has these words.
fn named(steps: u64, name: Option<&str>) -> Result<Vec<Kind>, Refusal> {
    Ok(kinds(steps)?.into_iter().filter(|kind| name.is_none_or(|name| kind.name.contains(name))).collect())
}

fn trainings<'a>(
    kind: &'a Kind,
    worlds: &'a [World<'a>],
    trials: &'a [u64],
    entropy: &'a Entropy,
    read: Reading<'a>,
) -> Trainings<'a> {
    Trainings { plan: &kind.plan, worlds, trials, run: 3, entropy, read }
}

fn check(device: &Cuda, name: Option<&str>) -> Result<bool, Refusal> {
    let entropy = Entropy::seeded(7);
    let mut holds = true;
    let mut say = |what: String, good: bool| {
        println!("{} {what}", if good { "ok  " } else { "FAIL" });
        holds &= good;
    };
    let off = device.radii_that_differ()?;
    say(format!("radii of 2^32 words that differ: {off}"), off == 0);
    let off = device.floats_that_differ()?;
    say(format!("inverses, roots and quotients of all digits that differ: {off}"), off == 0);
    for kind in named(100, name)? {
        let trials: Vec<u64> = [0, 1, 2, 3, 999_999_999_999, 17, 18, 19].into_iter().collect();
        let worlds = vec![World::from(&kind.data); trials.len()];
        let asked = trainings(&kind, &worlds, &trials, &entropy, Reading::Parameters);
        let parameters = kind.plan.network.parameters();
        let steps = (1_000_000 / (parameters * trials.len())).clamp(2, 100) as u32;
        let drawn = device.noise_of(&asked, steps)?;
        let mut off = 0;
        for (trial, of_trial) in trials.iter().zip(drawn.chunks_exact(parameters * steps as usize)) {
            let family = entropy.family(Purpose::Noise, 3, *trial);
            for (step, given) in of_trial.chunks_exact(parameters).enumerate() {
                for (block, given) in given.chunks(1 << 15).enumerate() {
                    let mut truth = vec![0; given.len()];
                    vector::fill(&mut truth, &mut family.stream((step as u64) << 20 | block as u64));
                    off += truth.iter().zip(given).filter(|(a, b)| a != b).count();
                }
            }
        }
        say(format!("{}: {off} of {} noise integers differ", kind.name, drawn.len()), off == 0);
        let many: Vec<u64> = (0..100).collect();
        let worlds = vec![World::from(&kind.data); many.len()];
        let asked = trainings(&kind, &worlds, &many, &entropy, Reading::Parameters);
        let (each, drawn) = device.batches_of(&asked, 100)?;
        let mut off = 0;
        for (trial, of_trial) in many.iter().zip(drawn.chunks_exact(100 * each)) {
            for (step, given) in of_trial.chunks_exact(each).enumerate() {
                let truth = batch_of(&kind.plan, &entropy, 3, *trial, step as u64, kind.data.len())?;
                let mut found: Vec<u32> =
                    given[1..=given[0] as usize].iter().map(|row| *row as u32).collect();
                found.sort_unstable();
                off += usize::from(found != truth);
            }
        }
        say(format!("{}: {off} of {} batches differ", kind.name, drawn.len() / each), off == 0);
    }
    for kind in named(100, name)? {
        let count = if kind.plan.network.parameters() > 10_000 { 16 } else { 1000 };
        let trials: Vec<u64> = (0..count).collect();
        let worlds = vec![World::from(&kind.data); trials.len()];
        let asked = trainings(&kind, &worlds, &trials, &entropy, Reading::Parameters);
        let found = device.train_flat(&asked)?;
        let off = farthest(&found, &Cpu.train(&asked)?.concat());
        say(
            format!("{}: {count} models, farthest {off:.2e} of the cpu's", kind.name),
            off <= tolerance(&kind.plan),
        );
        let some = trials.len().min(if kind.plan.network.parameters() < 1100 { 1000 } else { 32 });
        let twins = IntegerReference
            .train(&Trainings { worlds: &worlds[..some], trials: &trials[..some], ..asked })?
            .concat();
        let off = differing(&found[..twins.len()], &twins);
        say(format!("{}: {off} of {} parameters differ from the twin's", kind.name, twins.len()), off == 0);
    }
    worlds_agree(device, &entropy, name, &mut say)?;
    same_bits(device, &entropy, name, &mut say)?;
    replay::replay(device, &mut say)?;
    Ok(holds)
}

/// How far whole numbers may be from floats: where there are units, one may be on the other side of zero on account of a last digit.
fn tolerance(plan: &Plan) -> f64 {
    if plan.network.layers().contains(&Layer::Relu) { 0.2 } else { 5e-4 }
}

/// The largest distance, over the larger of 1 and the number itself.
fn farthest(given: &[f32], truth: &[f32]) -> f64 {
    assert_eq!(given.len(), truth.len());
    let off = |(a, b): (&f32, &f32)| f64::from((a - b).abs()) / f64::from(b.abs()).max(1.0);
    given
        .iter()
        .zip(truth)
        .map(off)
        .fold(0.0, |most, off| if off.is_nan() { f64::INFINITY } else { f64::max(most, off) })
}

/// How many numbers have other bits.
fn differing(given: &[f32], truth: &[f32]) -> usize {
    assert_eq!(given.len(), truth.len());
    given.iter().zip(truth).filter(|(a, b)| a.to_bits() != b.to_bits()).count()
}

/// Worlds of all kinds and everything that can be read.
fn worlds_agree(
    device: &Cuda,
    entropy: &Entropy,
    name: Option<&str>,
    say: &mut impl FnMut(String, bool),
) -> Result<(), Refusal> {
    for kind in
        named(40, name)?.into_iter().filter(|kind| matches!(kind.plan.sampling, Sampling::Poisson { .. }))
    {
        let trials: Vec<u64> = (0..24).collect();
        let count = 37;
        let part = |from: usize| -> Result<Dataset, Refusal> {
            let features = (from..from + count).flat_map(|at| kind.data.row(at)).copied().collect();
            let labels = match kind.data.labels() {
                Labels::Classes { of, classes } => {
                    Labels::Classes { of: of[from..from + count].to_vec(), classes: *classes }
                }
                Labels::Values(values) => Labels::Values(values[from..from + count].to_vec()),
            };
            Dataset::new(features, kind.data.width(), labels)
        };
        let (inside, outside) = (part(5)?, part(50)?);
        let crafted =
            [CraftedGradient::dirac(3, 1.0)?, CraftedGradient::new(vec![(0, 0.5), (7, -0.9), (9, 3.0)])?];
        let choices: Vec<Vec<bool>> =
            (0..trials.len()).map(|t| (0..count).map(|i| (t * 31 + i * 17) % 5 < 2).collect()).collect();
        let stand: Vec<Vec<Option<&CraftedGradient>>> = (0..trials.len())
            .map(|t| (0..6).map(|i| [None, Some(&crafted[0]), Some(&crafted[1])][(t + i) % 3]).collect())
            .collect();
        let directions: Vec<Vec<f32>> = (0..3)
            .map(|d| (0..kind.plan.network.parameters()).map(|i| ((i + d) as f32).sin() * 0.05).collect())
            .collect();
        let directions: Vec<&[f32]> = directions.iter().map(Vec::as_slice).collect();
        for (what, outside) in [("blank", None), ("replaced", Some(&outside))] {
            let worlds: Result<Vec<World<'_>>, Refusal> = (0..trials.len())
                .map(|t| {
                    let world =
                        World::from(&kind.data).planting(&choices[t], &inside, outside)?.crafting(&stand[t]);
                    if t % 3 == 0 { world.without(t) } else { Ok(world) }
                })
                .collect();
            let worlds = worlds?;
            // Few canaries and many are scored in two ways.
            let many: Vec<u32> = (0..20).map(|i| i * 7 % kind.plan.network.parameters() as u32).collect();
            let expected: Vec<f32> = (0..4 * 23).map(|i| (i as f32 * 0.9).cos()).collect();
            let taken: Vec<f64> = (0..3 * 20).map(|i| f64::from(i).sin() * 0.2).collect();
            let places: Vec<(f64, f64)> =
                (0..20).map(|i| (0.5 + 0.1 * f64::from(i), [1.0, 0.3, 30.0][i as usize % 3])).collect();
            let attack = |(canaries, worlds): (usize, Worlds)| Likelihoods {
                parameters: &many[..canaries],
                directions: &directions,
                expected: &expected[..4 * (canaries + 3)],
                stretches: 4,
                taken: &taken[..3 * canaries],
                places: &places[..canaries],
                chances: &[0.81, 0.18, 0.01],
                worlds,
            };
            let attacks = [
                (20, Worlds::Mixed),
                (20, Worlds::Opposed),
                (3, Worlds::Opposed),
                (3, Worlds::Apart { shift: 0.3 }),
            ];
            let attacks = attacks.map(attack);
            let reads = [
                ("sums", Reading::Sums { parameters: &[3, 0, 7], directions: &directions }),
                ("mixed scores", Reading::Scores(&attacks[0])),
                ("opposed scores", Reading::Scores(&attacks[1])),
                ("few opposed scores", Reading::Scores(&attacks[2])),
                ("few scores", Reading::Scores(&attacks[3])),
                ("outputs", Reading::Outputs(&inside)),
            ];
            // Scores are made of sums, which are compared with the CPU by themselves; of long models one is enough.
            let large = kind.plan.network.parameters() > 20_000;
            for (name, read) in reads {
                let is_score = name.ends_with("scores");
                if is_score && (outside.is_some() || large && name != "opposed scores") {
                    continue;
                }
                let asked = trainings(&kind, &worlds, &trials, entropy, read);
                let found = device.train_flat(&asked)?;
                let off = if is_score { 0.0 } else { farthest(&found, &Cpu.train(&asked)?.concat()) };
                let differing = differing(&found, &IntegerReference.train(&asked)?.concat());
                say(
                    format!(
                        "{}: {what} worlds, {name}: farthest {off:.2e}, {differing} differ from the twin's",
                        kind.name
                    ),
                    off <= tolerance(&kind.plan) && differing == 0,
                );
            }
        }
    }
    Ok(())
}

/// Another number of trials at once, another order and another offset give the same bits.
fn same_bits(
    device: &Cuda,
    entropy: &Entropy,
    name: Option<&str>,
    say: &mut impl FnMut(String, bool),
) -> Result<(), Refusal> {
    for kind in named(50, name)? {
        let read = |trials: &[u64]| {
            let worlds = vec![World::from(&kind.data); trials.len()];
            device.train_flat(&trainings(&kind, &worlds, trials, entropy, Reading::Parameters))
        };
        let each = kind.plan.network.parameters();
        let all = read(&(0..700).collect::<Vec<u64>>())?;
        let some = read(&(300..333).rev().collect::<Vec<u64>>())?;
        let again = read(&(0..700).collect::<Vec<u64>>())?;
        let alike = (0..33).all(|at| {
            let (a, b) = (&some[at * each..][..each], &all[(332 - at) * each..][..each]);
            a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        });
        let repeated = all.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits());
        say(format!("{}: the same bits in other portions", kind.name), alike && repeated);
    }
    Ok(())
}

/// Every kernel once, with little work, for checkers that slow it down a hundredfold.
fn small(device: &Cuda, name: Option<&str>) -> Result<bool, Refusal> {
    let entropy = Entropy::seeded(7);
    for kind in named(3, name)? {
        let trials: Vec<u64> = (0..6).collect();
        let planted = [CraftedGradient::dirac(1, 1.0)?];
        let stand = [Some(&planted[0])];
        let shuffled = matches!(kind.plan.sampling, Sampling::Shuffled { .. });
        let world = World::from(&kind.data);
        let world = if shuffled { world } else { world.crafting(&stand) };
        let worlds = vec![world; trials.len()];
        let direction = vec![0.1; kind.plan.network.parameters()];
        for read in [
            Reading::Parameters,
            Reading::Outputs(&kind.data),
            Reading::Sums { parameters: &[0, 1], directions: &[&direction] },
            Reading::Scores(&Likelihoods {
                parameters: &[0, 1],
                directions: &[&direction],
                expected: &[0.0; 3],
                stretches: 1,
                taken: &[0.1, 0.2],
                places: &[(1.0, 1.0); 2],
                chances: &[0.5, 0.5],
                worlds: Worlds::Opposed,
            }),
        ] {
            let asked = trainings(&kind, &worlds, &trials, &entropy, read);
            let read = device.train_flat(&asked)?;
            println!("{}: {} numbers, the first {}", kind.name, read.len(), read[0]);
        }
        device.noise_of(&trainings(&kind, &worlds, &trials, &entropy, Reading::Parameters), 2)?;
        device.batches_of(&trainings(&kind, &worlds, &trials, &entropy, Reading::Parameters), 3)?;
    }
    Ok(true)
}

/// The first of these trainings on the CPU, for a second or so: how many a second.
fn on_cores(asked: &Trainings<'_>) -> Result<f64, Refusal> {
    let mut count = 16;
    loop {
        let count_now = asked.trials.len().min(count);
        let some =
            Trainings { worlds: &asked.worlds[..count_now], trials: &asked.trials[..count_now], ..*asked };
        let begun = Instant::now();
        Cpu.train(&some)?;
        let took = begun.elapsed().as_secs_f64();
        if took > 0.5 || count_now < count {
            return Ok(count_now as f64 / took);
        }
        count *= 4;
    }
}

fn bench(device: &Cuda, words: &[String]) -> Result<(), Refusal> {
    let entropy = Entropy::seeded(7);
    let rounds = if words.len() > 1 { 1 } else { 5 };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "| model | trainings | a second, end to end | in the kernel | on {cores} cores |\n|---|---|---|---|---|"
    );
    for kind in kinds(100)? {
        if words.first().is_some_and(|name| name != kind.name && name != "all") {
            continue;
        }
        let parameters = kind.plan.network.parameters();
        let count: u64 = if parameters < 1100 {
            100_000
        } else if parameters < 10_000 {
            20_000
        } else {
            4_000
        };
        let count = words.get(1).and_then(|count| count.parse().ok()).unwrap_or(count);
        let trials: Vec<u64> = (0..count).collect();
        let canary = [CraftedGradient::dirac(1, 1.0)?];
        let stand = [Some(&canary[0])];
        let shuffled = matches!(kind.plan.sampling, Sampling::Shuffled { .. });
        let world = World::from(&kind.data);
        let world = if shuffled { world } else { world.crafting(&stand) };
        let worlds = vec![world; trials.len()];
        // The score of a canary that owns a parameter, as an attacker has it who sees every step.
        let rate = kind.plan.sampling.rate()?.get();
        let attack = Likelihoods {
            parameters: &[1],
            directions: &[],
            expected: &[0.0],
            stretches: 1,
            taken: &[],
            places: &[(1.0, 1.0)],
            chances: &[1.0 - rate, rate],
            worlds: Worlds::Mixed,
        };
        let read = if shuffled { Reading::Parameters } else { Reading::Scores(&attack) };
        let asked = trainings(&kind, &worlds, &trials, &entropy, read);
        device.train_flat(&asked)?;
        let (mut times, mut kernels) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let begun = Instant::now();
            device.train_flat(&asked)?;
            times.push(begun.elapsed().as_secs_f64());
            kernels.push(device.kernel_seconds());
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let (all, kernel) = (median(&mut times), median(&mut kernels));
        println!(
            "| {} | {count} | {:.0} | {:.0} | {:.0} |",
            kind.name,
            count as f64 / all,
            count as f64 / kernel,
            on_cores(&asked)?
        );
    }
    Ok(())
}
