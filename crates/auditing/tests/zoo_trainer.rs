//! The plain trainer against the library's: without a bug, both hide the same sums.

use veracity_auditing::zoo::planted::trainer::{Bug, CLASSES, HIDDEN, INPUTS, Record, Trainer};
use veracity_core::{Adjacency, ClipNorm, Count, NoiseMultiplier};
use veracity_noise::{Bits, Entropy, Key, NoiseStream, Purpose, Tape};
use veracity_train::{
    Clipping, Dataset, Draws, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy, Run, Sampling,
    Schedule, Shape, replay::RecordedRun,
};

const RECORDS: u64 = 12;
const STEPS: u64 = 3;
const NOISE: f64 = 1.0;
const CLIP: f64 = 0.5;
const MOMENTUM: f32 = 0.5;

fn records(trial: u64) -> Vec<Record> {
    let mut rng = Entropy::seeded(77).stream(Purpose::Attack, Key { trial, ..Key::default() });
    let mut uniform = move || rng.bits(24) as f32 / (1 << 23) as f32 - 1.0;
    let mut all: Vec<Record> = (0..RECORDS)
        .map(|_| ([uniform() * 5.0, uniform() * 5.0, uniform() * 5.0], usize::from(uniform() > 0.0)))
        .collect();
    // Now and then one whose gradient is no number.
    if trial.is_multiple_of(5) {
        all[3].0 = [3e38; INPUTS];
    }
    all
}

fn plan() -> Plan {
    let n = Count::new(RECORDS).unwrap();
    let layers = vec![Layer::Linear { outputs: HIDDEN }, Layer::Relu, Layer::Linear { outputs: CLASSES }];
    Plan::new(
        Network::new(Shape::Flat(INPUTS), layers).unwrap(),
        Loss::SoftmaxCrossEntropy,
        Sampling::Poisson { batch: n, population: n },
        Count::new(STEPS).unwrap(),
        Privacy::Gaussian {
            noise: NoiseMultiplier::new(NOISE).unwrap(),
            clip: ClipNorm::new(CLIP).unwrap(),
            clipping: Clipping::Flat,
        },
    )
    .with_optimiser(Optimiser::Sgd { momentum: MOMENTUM })
    .with_schedule(Schedule::Constant { rate: 0.1 })
}

fn library(records: &[Record], plan: &Plan, draws: Draws<'_>) -> RecordedRun {
    let of = records.iter().map(|(_, class)| *class as u32).collect();
    let features = records.iter().flat_map(|(features, _)| *features).collect();
    let data = Dataset::new(features, INPUTS, Labels::Classes { of, classes: CLASSES }).unwrap();
    RecordedRun::of(Run::new(plan, &data, draws).unwrap().recording(Adjacency::ZeroOut).unwrap()).unwrap()
}

/// The plain trainer from the same parameters; it hears what the library said.
fn plain(records: &[Record], plan: &Plan, draws: Draws<'_>, script: &Tape, bug: Option<Bug>) -> Tape {
    let family = |purpose| draws.entropy.family(purpose, draws.run, draws.trial);
    let trainer = Trainer {
        noise: NoiseMultiplier::new(NOISE).unwrap(),
        clip: ClipNorm::new(CLIP).unwrap(),
        planned: Count::new(RECORDS).unwrap(),
        rounding: plan.rounding(),
        steps: STEPS,
        rate: 0.1,
        momentum: MOMENTUM,
        start: plan.network.initialise(&mut family(Purpose::Init).stream(0)),
        bug,
    };
    let mut rng = NoiseStream::replaying(script.clone(), family(Purpose::Noise).stream(0));
    trainer.train(records, &mut rng).unwrap();
    rng.into_tape().unwrap()
}

/// The largest difference between two sums of one step, in steps of the grid.
fn apart(one: &Tape, two: &Tape) -> i128 {
    assert_eq!(one.calls.len(), two.calls.len());
    let calls = one.calls.iter().zip(&two.calls);
    calls
        .flat_map(|(one, two)| {
            assert_eq!(one.declared, two.declared);
            one.input.iter().zip(&two.input).map(|(a, b)| (a - b).abs())
        })
        .max()
        .unwrap()
}

#[test]
fn the_library_hides_the_sums_that_the_plain_trainer_does() {
    for trial in 0..20 {
        let entropy = Entropy::seeded(trial);
        let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
        let (records, plan) = (records(trial), plan());
        let script = library(&records, &plan, draws).tape;
        // Floats hold a sum of a few contributions of 2^20 steps each to a few steps.
        let found = apart(&script, &plain(&records, &plan, draws, &script, None));
        assert!(found < 64, "trial {trial}: {found} steps apart");
        // The same eyes see a bug in what is summed.
        for bug in [Bug::ClipsTheMean, Bug::BiasNotClipped, Bug::LayersClippedApart, Bug::MomentumBeforeNoise]
        {
            let found = apart(&script, &plain(&records, &plan, draws, &script, Some(bug)));
            assert!(found > 10_000, "trial {trial}: {bug:?} is {found} steps apart");
        }
    }
}
