//! Plans and claims come from strangers: whatever the bytes, parsing ends with a value or one line, never a panic.

use proptest::prelude::*;
use veracity::{
    Adjacency, Choice, ClaimFile, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, SamplingRate,
    Subject, Target, account, plan, spec::MechanismSpec,
};

const PLAN: &str = r#"
adjacency = "add-remove"
unit = "user"

[[mechanism]]
kind = "dp-sgd"
batch_size = 256
dataset_size = 60000
noise_multiplier = 1.0
epochs = 10

[[mechanism]]
kind = "laplace"
scale = 2
sensitivity = 1.0
times = 3

[[mechanism]]
kind = "parallel"
parts = [{ kind = "gdp", mu = 0.5 }, { kind = "rdp", orders = [2, 3.5], values = [0.1, 0.2] }]
"#;

fn claim() -> String {
    let subject = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(2.0).unwrap() });
    let answer = account(&subject, Target::Delta(Delta::new(1e-5).unwrap()), Choice::Best).unwrap();
    ClaimFile::new(&subject, &answer).unwrap().to_json().unwrap()
}

fn is_one_line<T>(outcome: Result<T, Refusal>) {
    if let Err(refusal) = outcome {
        let line = refusal.to_string();
        assert!(!line.contains('\n') && !line.is_empty() && line.len() < 2000, "{line:?}");
    }
}

/// A text with a few bytes overwritten, dropped or doubled.
fn mutated(text: String) -> impl Strategy<Value = String> {
    let length = text.len();
    proptest::collection::vec((0..length, any::<u8>(), 0..3u8), 1..6).prop_map(move |edits| {
        let mut bytes = text.clone().into_bytes();
        for (at, byte, how) in edits {
            let at = at.min(bytes.len() - 1);
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\"'=,.e-9\n"[usize::from(byte) % 13]),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn settings() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_260_101),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn any_bytes_end_in_a_value_or_one_line(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        is_one_line(plan::parse(&text));
        is_one_line(ClaimFile::parse(&text));
    }

    #[test]
    fn mutated_plans_end_in_a_value_or_one_line(text in mutated(PLAN.to_owned())) {
        is_one_line(plan::parse(&text));
    }

    #[test]
    fn mutated_claims_end_in_a_value_or_one_line(text in mutated(claim())) {
        is_one_line(ClaimFile::parse(&text));
    }

    #[test]
    fn a_mechanism_survives_being_written_down(mechanism in mechanisms()) {
        let text = serde_json::to_string(&MechanismSpec::from(&mechanism)).unwrap();
        let spec: MechanismSpec = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(Mechanism::try_from(&spec).unwrap(), mechanism);
    }
}

fn mechanisms() -> impl Strategy<Value = Mechanism> {
    let noise = || (1e-6..1e3f64).prop_map(|x| NoiseMultiplier::new(x).unwrap());
    let count = || (2..Count::MOST).prop_map(|n| Count::new(n).unwrap());
    let leaf = prop_oneof![
        noise().prop_map(|noise_multiplier| Mechanism::Gaussian { noise_multiplier }),
        noise().prop_map(|noise_multiplier| Mechanism::Laplace { noise_multiplier }),
        (noise(), count())
            .prop_map(|(sigma, sensitivity)| Mechanism::DiscreteGaussian { sigma, sensitivity }),
        (0.0..50f64).prop_map(|x| Mechanism::Exponential { epsilon: Epsilon::new(x).unwrap() }),
        (0.0..50f64, 0.0..0.999f64).prop_map(|(epsilon, delta)| Mechanism::Approximate {
            epsilon: Epsilon::new(epsilon).unwrap(),
            delta: Delta::new(delta).unwrap(),
        }),
    ];
    leaf.prop_recursive(4, 16, 3, move |inner| {
        prop_oneof![
            (1e-9..1.0f64, inner.clone()).prop_map(|(rate, mechanism)| Mechanism::PoissonSampled {
                rate: SamplingRate::new(rate).unwrap(),
                mechanism: Box::new(mechanism),
            }),
            (count(), inner.clone()).prop_map(|(times, mechanism)| mechanism.repeated(times)),
            proptest::collection::vec(inner, 1..3).prop_map(Mechanism::Composed),
        ]
    })
}

#[test]
fn the_plan_is_read_as_it_is_written() {
    let subject = plan::parse(PLAN).unwrap();
    assert_eq!(subject.adjacency, Adjacency::AddRemove);
    assert_eq!(subject.unit.name(), "user");
    let Mechanism::Composed(parts) = subject.mechanism else { panic!("a plan of three is a composition") };
    // 10 × 60000 / 256 = 2343.75 steps, rounded up.
    let Mechanism::Repeated { times, .. } = &parts[0] else { panic!("dp-sgd repeats") };
    assert_eq!(times.get(), 2344);
    let Mechanism::Repeated { times, mechanism } = &parts[1] else { panic!("times = 3 repeats") };
    assert_eq!(times.get(), 3);
    assert_eq!(**mechanism, Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(2.0).unwrap() });
    assert!(matches!(&parts[2], Mechanism::Parallel(parts) if parts.len() == 2));
}

#[test]
fn quotients_are_rounded_to_the_safe_side() {
    let read =
        |text: &str| Mechanism::try_from(&serde_json::from_str::<MechanismSpec>(text).unwrap()).unwrap();
    let Mechanism::Gaussian { noise_multiplier } = read(r#"{"kind":"gaussian","sigma":1,"sensitivity":3}"#)
    else {
        panic!("a gaussian")
    };
    // The float nearest to 1/3 is below it and stays; twice as much noise per contribution is exact.
    assert!(noise_multiplier.get() <= 1.0 / 3.0);
    let Mechanism::PoissonSampled { rate, .. } =
        read(r#"{"kind":"dp-sgd","batch_size":1,"dataset_size":3,"noise_multiplier":1,"steps":1}"#)
    else {
        panic!("one sampled step")
    };
    assert_eq!(rate.get(), (1.0f64 / 3.0).next_up());
}
