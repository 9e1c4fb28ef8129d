//! The promise itself, by enumeration: no report is more than e^ε times likelier under one value than under another.

use veracity_core::Probability;
use veracity_core::{Epsilon, Mechanism};
use veracity_mechanisms::local::{
    BitRow, CellNoise, Domain, Hadamard, Kind, LocalHashing, Mean, Protocol, RandomizedResponse, Rappor,
    RapporSettings, Report, ReportShape, Sketch, Unary, UnaryKind,
};
use veracity_testkit::short::epsilon;

/// All rows of `len` ≤ 8 bits.
fn rows(len: u32) -> impl Iterator<Item = BitRow> {
    (0..1u32 << len).map(move |word| BitRow::from_hex(len, &format!("{word:02x}")).unwrap())
}

/// Every report a small protocol can make; of local hashing, those of some seeds.
fn every_report(protocol: &Protocol) -> Vec<Report> {
    match protocol {
        Protocol::RandomizedResponse(p) => (0..p.size()).map(Report::Value).collect(),
        Protocol::Unary(p) => rows(p.size()).map(Report::Bits).collect(),
        Protocol::LocalHashing(p) => SEEDS
            .iter()
            .flat_map(|&seed| (0..p.cells()).map(move |cell| Report::Hashed { seed, cell }))
            .collect(),
        Protocol::Hadamard(p) => (0..p.rows())
            .flat_map(|row| [true, false].map(|negative| Report::Sign { row, negative }))
            .collect(),
        Protocol::Sketch(p) => (0..p.functions())
            .flat_map(|function| match p.noise() {
                CellNoise::Symmetric => {
                    rows(p.width()).map(|row| Report::SketchBits { function, row }).collect::<Vec<_>>()
                }
                CellNoise::Hadamard => (0..p.width())
                    .flat_map(|row| {
                        [true, false].map(|negative| Report::SketchSign { function, row, negative })
                    })
                    .collect(),
            })
            .collect(),
        Protocol::Rappor(p) => (0..p.settings().cohorts)
            .flat_map(|cohort| rows(p.settings().bits).map(move |row| Report::Cohort { cohort, row }))
            .collect(),
    }
}

const SEEDS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0x0000_0001_0000_0000, 0xdead_beef_0bad_cafe, 0xffff_ffff_ffff_ffff];

fn small_protocols(epsilon: Epsilon) -> Vec<Protocol> {
    let size = 5;
    let sketch = |noise| Protocol::Sketch(Sketch::new(size, epsilon, noise, 4, 3, 7).unwrap());
    vec![
        Protocol::RandomizedResponse(RandomizedResponse::new(size, epsilon).unwrap()),
        Protocol::Unary(Unary::new(size, epsilon, UnaryKind::Symmetric).unwrap()),
        Protocol::Unary(Unary::new(size, epsilon, UnaryKind::Optimised).unwrap()),
        Protocol::LocalHashing(LocalHashing::new(size, epsilon).unwrap()),
        Protocol::Hadamard(Hadamard::new(size, epsilon).unwrap()),
        sketch(CellNoise::Symmetric),
        sketch(CellNoise::Hadamard),
    ]
}

/// The largest P(y|x)/P(y|x') over all reports and pairs of values.
fn worst_ratio(protocol: &Protocol) -> f64 {
    every_report(protocol)
        .iter()
        .map(|report| {
            let chances: Vec<f64> =
                (0..protocol.size()).map(|value| protocol.likelihood(value, report)).collect();
            let most = chances.iter().copied().fold(0.0, f64::max);
            most / chances.iter().copied().fold(f64::INFINITY, f64::min)
        })
        .fold(0.0, f64::max)
}

/// The check of the issue: at most e^ε, and not absurdly below.
fn keeps(ratio: f64, epsilon: f64) -> bool {
    ratio <= epsilon.exp() * (1.0 + 1e-12) && ratio >= epsilon.exp() * (1.0 - 1e-6)
}

#[test]
fn no_report_gives_more_than_epsilon_away_and_epsilon_is_used() {
    for eps in [1e-3, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0] {
        for protocol in small_protocols(epsilon(eps)) {
            let ratio = worst_ratio(&protocol);
            assert!(keeps(ratio, eps), "{} at {eps}: {ratio} against {}", protocol.name(), eps.exp());
        }
    }
}

#[test]
fn the_check_catches_a_claim_that_is_a_tenth_too_small_or_too_large() {
    for protocol in small_protocols(epsilon(1.1)) {
        assert!(!keeps(worst_ratio(&protocol), 1.0), "{}", protocol.name());
        assert!(!keeps(worst_ratio(&protocol), 1.2), "{}", protocol.name());
    }
}

#[test]
fn the_reports_are_all_there_is() {
    for protocol in small_protocols(epsilon(1.0)) {
        for value in 0..protocol.size() {
            let sum: f64 =
                every_report(&protocol).iter().map(|report| protocol.likelihood(value, report)).sum();
            let expected = match protocol {
                Protocol::LocalHashing(_) => SEEDS.len() as f64 * 2f64.powi(-64),
                _ => 1.0,
            };
            assert!((sum / expected - 1.0).abs() < 1e-12, "{}: {sum}", protocol.name());
        }
    }
}

#[test]
fn rappor_keeps_its_one_report_epsilon_and_its_lifetime_epsilon() {
    let domain = Domain::range(6).unwrap();
    let settings = RapporSettings { bits: 8, hashes: 2, cohorts: 4, ..RapporSettings::usual() };
    let rappor = Rappor::new(&domain, epsilon(2.0), settings).unwrap();
    let (lifetime, one) = (rappor.epsilon().get(), rappor.one_report_epsilon());
    // f of the lifetime: 2 h ln((1 − f/2)/(f/2)) = 2 for h = 2.
    let half = rappor.permanent_noise() / 2.0;
    assert!((4.0 * ((1.0 - half) / half).ln() - 2.0).abs() < 1e-9);
    let ratio = worst_ratio(&Protocol::Rappor(rappor));
    // Reached, since some two candidates share no bit in some cohort.
    assert!(keeps(ratio, one) && one < lifetime, "{ratio} against {}", one.exp());
}

#[test]
fn fresh_noise_that_hides_nothing_leaves_the_lifetime_epsilon() {
    let domain = Domain::range(6).unwrap();
    let chance = |p| Probability::new(p).unwrap();
    let settings =
        RapporSettings { bits: 8, hashes: 2, cohorts: 4, zero_shows: chance(0.0), one_shows: chance(1.0) };
    // The reports are the permanent bits themselves, so this is the ratio of the memo.
    let rappor = Rappor::new(&domain, epsilon(2.0), settings).unwrap();
    assert!(keeps(worst_ratio(&Protocol::Rappor(rappor)), 2.0));
}

#[test]
fn a_number_gives_no_more_than_epsilon_away() {
    for eps in [0.1, 1.0, 3.0] {
        for shape in [ReportShape::OneBit, ReportShape::Window] {
            let mean = Mean::shaped(-1.0, 1.0, epsilon(eps), shape).unwrap();
            let values = [-1.0, -0.300_000_1, 0.0, 0.77, 1.0];
            let mut worst = 0.0f64;
            let mut sums = [0.0; 5];
            for place in 0..mean.places() {
                let report = Report::Number(place);
                let chances = values.map(|value| mean.likelihood(value, &report).unwrap());
                sums.iter_mut().zip(chances).for_each(|(sum, chance)| *sum += chance);
                let least = chances.into_iter().fold(f64::INFINITY, f64::min);
                worst = worst.max(chances.into_iter().fold(0.0, f64::max) / least);
            }
            assert!(keeps(worst, eps), "{shape:?} at {eps}: {worst}");
            assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-9), "{shape:?} at {eps}: {sums:?}");
        }
    }
}

#[test]
fn the_mechanism_of_randomized_response_is_the_one_accountants_know() {
    for (size, eps) in [(2, 0.1), (5, 1.0), (1000, 4.0)] {
        let domain = Domain::range(size).unwrap();
        let protocol = Protocol::new(Kind::RandomizedResponse, &domain, epsilon(eps), 0).unwrap();
        let Mechanism::RandomizedResponse { buckets, noise } = protocol.mechanism().unwrap() else {
            panic!()
        };
        assert_eq!(buckets.get(), size);
        // A uniform bucket with chance `noise`: each other value has noise/k, the true one the rest.
        let other = noise.get() / f64::from(size);
        let implied = ((1.0 - noise.get() + other) / other).ln();
        assert!((implied - eps).abs() < 1e-9, "{implied} against {eps}");
        let said = protocol.likelihood(0, &Report::Value(1));
        assert!(other <= said && other >= said * (1.0 - 1e-14));
    }
}
