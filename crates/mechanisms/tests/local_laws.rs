//! Laws of tallies, projections, encoders and memos.

use proptest::{prelude::*, test_runner::RngSeed};
use std::collections::HashMap;
use veracity_mechanisms::local::{
    Domain, Kind, Mean, Memo, Protocol, RandomizedResponse, Rappor, RapporSettings, Report, Unary, UnaryKind,
    simplex,
};
use veracity_noise::{Entropy, Key, Purpose, Stream};
use veracity_testkit::short::epsilon;

fn rng(seed: u64) -> Stream {
    Entropy::seeded(seed).stream(Purpose::Report, Key::default())
}

#[test]
fn parts_add_up_in_any_order() {
    let domain = Domain::range(37).unwrap();
    for kind in Kind::ALL {
        let protocol = Protocol::new(kind, &domain, epsilon(1.0), 3).unwrap();
        let mut rng = rng(1);
        let reports: Vec<Report> = (0..700).map(|i| protocol.encode(i % 37, &mut rng).unwrap()).collect();
        let tally = |reports: &[Report]| {
            let mut tally = protocol.tally();
            tally.absorb(reports).unwrap();
            tally
        };
        let whole = tally(&reports);
        let mut forward = tally(&reports[..300]);
        forward.merge(&tally(&reports[300..])).unwrap();
        let mut backward = tally(&reports[650..]);
        for report in reports[..650].iter().rev() {
            backward.absorb(std::slice::from_ref(report)).unwrap();
        }
        assert_eq!(whole, forward, "{}", kind.name());
        assert_eq!(whole, backward, "{}", kind.name());
        assert_eq!(whole.estimate(), backward.estimate());
        assert_eq!(whole.reports(), 700);
    }
}

#[test]
fn tallies_of_different_protocols_do_not_mix_and_misfits_change_nothing() {
    let domain = Domain::range(5).unwrap();
    let make = |kind, eps| Protocol::new(kind, &domain, epsilon(eps), 3).unwrap();
    let mut tally = make(Kind::Hadamard, 1.0).tally();
    assert!(tally.merge(&make(Kind::Hadamard, 1.1).tally()).is_err());
    assert!(tally.merge(&make(Kind::OptimisedUnary, 1.0).tally()).is_err());
    let before = tally.clone();
    let good = Report::Sign { row: 7, negative: false };
    assert!(tally.absorb(&[good.clone(), Report::Sign { row: 8, negative: false }]).is_err());
    assert!(tally.absorb(&[good.clone(), Report::Value(1)]).is_err());
    assert_eq!(tally, before);
    tally.absorb(&[good]).unwrap();
    assert_ne!(tally, before);
    let numbers = Mean::new(0.0, 1.0, epsilon(1.0)).unwrap();
    let mut sums = numbers.tally();
    assert!(sums.absorb(&[Report::Number(numbers.places())]).is_err() && sums.reports() == 0);
    assert!(sums.merge(&Mean::new(0.0, 2.0, epsilon(1.0)).unwrap().tally()).is_err());
    assert!(sums.estimate().is_err());
}

#[test]
fn a_value_outside_the_domain_is_not_encoded() {
    let domain = Domain::range(5).unwrap();
    for kind in Kind::ALL {
        let protocol = Protocol::new(kind, &domain, epsilon(1.0), 3).unwrap();
        let refusal = protocol.encode(5, &mut rng(1)).unwrap_err().to_string();
        assert_eq!(refusal, "the value is not in the domain; nothing is reported");
    }
    let mean = Mean::new(0.0, 1.0, epsilon(1.0)).unwrap();
    assert!(mean.encode(f64::NAN, &mut rng(1)).is_err());
    for beyond in [f64::INFINITY, -1e300, 2.0] {
        assert!(mean.encode(beyond, &mut rng(1)).is_ok());
    }
}

#[test]
fn an_empty_tally_estimates_nothing_and_does_not_panic() {
    let domain = Domain::range(5).unwrap();
    for kind in Kind::ALL {
        let estimates = Protocol::new(kind, &domain, epsilon(1.0), 3).unwrap().tally().estimate();
        assert_eq!(estimates.reports, 0);
        assert!(estimates.values.iter().all(|estimate| estimate.count == 0.0), "{}", kind.name());
    }
}

/// Pearson's statistic of encoded reports against their likelihoods.
fn pearson(protocol: &Protocol, judge: &Protocol, value: u32, seed: u64) -> (f64, usize) {
    let mut rng = rng(seed);
    let draws = 200_000;
    let mut seen: HashMap<String, (Report, f64)> = HashMap::new();
    for _ in 0..draws {
        let report = protocol.encode(value, &mut rng).unwrap();
        seen.entry(format!("{report:?}")).or_insert((report, 0.0)).1 += 1.0;
    }
    let terms = seen.values().map(|(report, count)| {
        let expected = judge.likelihood(value, report) * f64::from(draws);
        (count - expected) * (count - expected) / expected
    });
    (terms.sum(), seen.len())
}

#[test]
fn encoders_draw_from_the_likelihoods_they_state() {
    let domain = Domain::range(4).unwrap();
    // scipy 1.17: scipy.stats.chi2.isf(1e-6, [3, 15, 7]); outcomes less one
    for (kind, outcomes, limit) in [
        (Kind::RandomizedResponse, 4, 30.664_849_7),
        (Kind::SymmetricUnary, 16, 56.493_442_5),
        (Kind::OptimisedUnary, 16, 56.493_442_5),
        (Kind::Hadamard, 8, 40.521_831_2),
    ] {
        let protocol = Protocol::new(kind, &domain, epsilon(1.0), 3).unwrap();
        let twin = Protocol::new(kind, &domain, epsilon(1.05), 3).unwrap();
        for value in [0, 2] {
            let (statistic, seen) = pearson(&protocol, &protocol, value, 77);
            assert!(seen == outcomes && statistic < limit, "{} {statistic}", kind.name());
            assert!(pearson(&protocol, &twin, value, 77).0 > limit, "{}: ε 5% off goes unseen", kind.name());
        }
    }
}

#[test]
fn what_the_client_reads_does_not_depend_on_its_value() {
    // The same stream after encoding different values gives the same next word.
    let domain = Domain::range(70).unwrap();
    for kind in [
        Kind::SymmetricUnary,
        Kind::OptimisedUnary,
        Kind::LocalHashing,
        Kind::RandomizedResponse,
        Kind::Hadamard,
    ] {
        let protocol = Protocol::new(kind, &domain, epsilon(1.0), 3).unwrap();
        let next = |value| {
            let mut rng = rng(4);
            for _ in 0..50 {
                protocol.encode(value, &mut rng).unwrap();
            }
            rng.word()
        };
        assert_eq!(next(0), next(69), "{}", kind.name());
    }
}

#[test]
fn a_memo_is_drawn_once_and_survives_storage() {
    let domain = Domain::range(6).unwrap();
    let rappor = Rappor::new(&domain, epsilon(2.0), RapporSettings::usual()).unwrap();
    let mut rng = rng(9);
    let mut memo = rappor.memo(&mut rng);
    let first = rappor.report("3", &mut memo, &mut rng);
    let permanent = memo.permanent("3").unwrap().clone();
    let second = rappor.report("3", &mut memo, &mut rng);
    assert_ne!(first, second, "the fresh noise is fresh");
    assert_eq!(*memo.permanent("3").unwrap(), permanent, "the permanent noise is permanent");
    assert_eq!(memo.texts(), 1);
    rappor.report("no candidate", &mut memo, &mut rng);
    assert_eq!(memo.texts(), 2);
    let stored: Vec<(String, String)> = memo.entries().map(|(text, hex)| (text.to_owned(), hex)).collect();
    let entries = || stored.iter().map(|(text, hex)| (text.as_str(), hex.as_str()));
    assert_eq!(Memo::restore(&rappor, memo.cohort(), entries()).unwrap(), memo);
    assert!(Memo::restore(&rappor, 8, entries()).is_err());
    assert!(Memo::restore(&rappor, 0, [("3", "abc")]).is_err());
}

#[test]
fn many_reports_of_one_memo_reveal_the_memo_and_no_more() {
    let domain = Domain::range(6).unwrap();
    let rappor = Rappor::new(&domain, epsilon(2.0), RapporSettings::usual()).unwrap();
    let mut rng = rng(10);
    let mut memo = rappor.memo(&mut rng);
    let mut ones = vec![0u32; 128];
    let reports = 4000;
    for _ in 0..reports {
        let Report::Cohort { row, .. } = rappor.report("3", &mut memo, &mut rng) else { panic!() };
        (0..128).zip(&mut ones).for_each(|(place, ones)| *ones += u32::from(row.bit(place)));
    }
    let permanent = memo.permanent("3").unwrap();
    for (place, ones) in (0..128).zip(ones) {
        // 1/2 against 3/4: the middle is over 14 standard deviations from both.
        assert_eq!(f64::from(ones) > 0.625 * f64::from(reports), permanent.bit(place));
    }
    // And the memo itself is far from the two bits of the text: noise of f = 0.76.
    assert!(permanent.ones() > 20);
}

#[test]
fn extreme_sizes_encode_and_estimate() {
    let most = Domain::range(Domain::MOST).unwrap();
    for kind in [Kind::RandomizedResponse, Kind::OptimisedUnary, Kind::LocalHashing, Kind::Hadamard] {
        for eps in [1e-6, 16.0] {
            let protocol = Protocol::new(kind, &most, epsilon(eps), 1).unwrap();
            let report = protocol.encode(Domain::MOST - 1, &mut rng(3)).unwrap();
            let mut tally = protocol.tally();
            tally.absorb(&[report]).unwrap();
            let last = tally.estimate().values[Domain::MOST as usize - 1];
            assert!(last.count.is_finite() && last.standard_error.is_finite(), "{} {eps}", kind.name());
        }
    }
    assert!(RandomizedResponse::new(1, epsilon(1.0)).is_err());
    assert!(Unary::new(2, epsilon(17.0), UnaryKind::Optimised).is_err());
}

/// The obvious twin: bisection on the shift.
fn project_slowly(point: &[f64]) -> Vec<f64> {
    let (mut low, mut high) = (-1e3, 1e3);
    for _ in 0..200 {
        let shift = (low + high) / 2.0;
        let sum: f64 = point.iter().map(|part| (part - shift).max(0.0)).sum();
        if sum > 1.0 { low = shift } else { high = shift }
    }
    point.iter().map(|part| (part - low).max(0.0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_projection_is_a_distribution_keeps_order_and_agrees_with_bisection(
        point in proptest::collection::vec(-3.0f64..3.0, 1..40)
    ) {
        let projected = simplex::project(&point);
        prop_assert!(projected.iter().all(|part| *part >= 0.0));
        prop_assert!((projected.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for (ours, slow) in projected.iter().zip(project_slowly(&point)) {
            prop_assert!((ours - slow).abs() < 1e-9);
        }
        for i in 1..point.len() {
            if point[i - 1] < point[i] {
                prop_assert!(projected[i - 1] <= projected[i]);
            }
        }
        let again = simplex::project(&projected);
        prop_assert!(again.iter().zip(&projected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
