//! The zoo's trainer with mistakes in its noise, recorded once: what a replay says where its noise is declared.

use veracity_auditing::replaying::{DeclaredNoise, NoiseLaw, NoiseReading, Trace, examine};
use veracity_auditing::zoo::planted::trainer::{Bug, PARAMETERS, Record, Trainer};
use veracity_core::{ClipNorm, Count, NoiseMultiplier, Significance};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_train::Rounding;

const NOISE: f64 = 2.0;
const RECORDS: [Record; 4] =
    [([0.5, -0.2, 0.1], 0), ([-0.3, 0.4, 0.2], 1), ([0.1, 0.6, -0.4], 1), ([0.7, 0.3, -0.1], 0)];

/// A run of the trainer, with the noise declared that is accounted: its multiplier times what one record moves.
fn recorded(bug: Option<Bug>, seed: u64) -> NoiseReading {
    let trainer = Trainer {
        noise: NoiseMultiplier::new(NOISE).unwrap(),
        clip: ClipNorm::new(8.0).unwrap(),
        planned: Count::new(10).unwrap(),
        rounding: Rounding::ONE_SUM,
        steps: 3,
        rate: 0.01,
        momentum: 0.0,
        start: (0..PARAMETERS).map(|at| 0.05 * (at % 7) as f32 - 0.1).collect(),
        bug,
    };
    let mut rng = NoiseStream::recording(Entropy::seeded(seed).stream(Purpose::Noise, Key::default()));
    trainer.train(&RECORDS, &mut rng).unwrap();
    let trace = Trace::from(&rng.into_tape().unwrap());
    let declared = trace.declaring(|call| {
        DeclaredNoise::new(NoiseLaw::Gaussian, NOISE * call.sensitivity(), Some(1.0)).map(Some)
    });
    examine(&declared.unwrap(), Significance::new(0.01).unwrap())
}

#[test]
fn mistakes_in_the_noise_of_the_zoo_are_found_in_one_run() {
    for (bug, kind) in [
        (Bug::NoiseNotScaledByClip, "noise-too-small"),
        (Bug::NoiseDividedByBatch, "noise-too-small"),
        (Bug::BackpropagationSlip, "noise-too-small"),
        (Bug::NoiseOnLastLayerOnly, "noise-missing"),
        (Bug::NoiseReused, "noise-reused"),
    ] {
        let reading = recorded(Some(bug), 1);
        let fault = reading.fault.unwrap_or_else(|| panic!("{bug:?} passes"));
        assert_eq!(fault.kind(), kind, "{bug:?}: {fault}");
    }
    let honest = recorded(None, 1);
    assert_eq!((honest.fault, honest.declared, honest.silent), (None, 3, 0));
}

#[test]
fn mistakes_that_are_not_in_the_noise_are_none_of_its_faults() {
    for bug in [Bug::NeverClips, Bug::MomentumBeforeNoise, Bug::NormalisesByBatch] {
        assert_eq!(recorded(Some(bug), 2).fault, None, "{bug:?}");
    }
}
