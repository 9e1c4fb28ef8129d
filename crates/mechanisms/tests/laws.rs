//! Laws of fixed point and of the grids built on it, on random and hostile floats.

use proptest::{prelude::*, test_runner::RngSeed};
use veracity_core::{Adjacency, Mechanism};
use veracity_mechanisms::{Bins, Bounds, Draw, ErrorBar, FixedPoint, NoiseKind, Question, Rank, Statistic};
use veracity_testkit::short;

fn any_bounds() -> impl Strategy<Value = Bounds> {
    let ends = prop_oneof![-1e100..1e100, -1e3..1e3, -1e-50..1e-50, Just(0.0)];
    (ends.clone(), ends)
        .prop_filter_map("no bounds", |(a, b): (f64, f64)| Bounds::new(a.min(b), a.max(b)).ok())
}

/// All floats but those that are no number.
fn any_number() -> impl Strategy<Value = f64> {
    let all = any::<u64>().prop_map(f64::from_bits).prop_filter("not a number", |x| !x.is_nan());
    prop_oneof![all, -1e3..1e3, Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0), Just(5e-324)]
}

fn encodings(bounds: Bounds) -> [FixedPoint; 3] {
    [FixedPoint::for_sums(bounds), FixedPoint::for_means(bounds), FixedPoint::for_squares(bounds)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn encoding_is_monotone_and_stays_between_the_encoded_bounds(
        bounds in any_bounds(), x in any_number(), y in any_number()
    ) {
        for fixed in encodings(bounds) {
            let (low, high) = (fixed.encode(x.min(y)), fixed.encode(x.max(y)));
            prop_assert!(fixed.lower() <= low && low <= high && high <= fixed.upper());
        }
    }

    #[test]
    fn encoding_is_off_by_at_most_half_a_unit(bounds in any_bounds(), part in 0.0..=1.0f64) {
        let x = bounds.clamp(bounds.lower() + bounds.width() * part);
        for fixed in encodings(bounds) {
            let units = x / fixed.unit(); // exact, or infinite
            if units.abs() < 2f64.powi(52) {
                prop_assert!((fixed.encode(x) as f64 - units).abs() <= 0.5);
            } else {
                // A float this far out is a whole number of units.
                prop_assert_eq!(fixed.encode(x) as f64, units);
            }
        }
    }

    #[test]
    fn contributions_are_bounded_exactly_and_reached(bounds in any_bounds(), x in any_number()) {
        for fixed in encodings(bounds) {
            let value = fixed.encode(x);
            prop_assert!(value.abs() <= fixed.farthest());
            prop_assert!((value - fixed.middle()).abs() <= fixed.half_width());
            prop_assert!(fixed.upper() - fixed.lower() <= 2 * fixed.half_width());
            prop_assert!(fixed.half_width() >= 1);
            let ends = [fixed.encode(bounds.lower()), fixed.encode(bounds.upper())];
            prop_assert_eq!(ends, [fixed.lower(), fixed.upper()]);
        }
    }

    #[test]
    fn the_widths_that_the_overflow_argument_rests_on_hold(bounds in any_bounds()) {
        let [sums, means, squares] = encodings(bounds);
        prop_assert!(sums.farthest() <= 1 << 61);
        prop_assert!(means.half_width() <= 1 << 61);
        prop_assert!(squares.half_width() <= 1 << 33);
    }

    #[test]
    fn sums_do_not_depend_on_order(bounds in any_bounds(), values in prop::collection::vec(any_number(), 0..20)) {
        for fixed in encodings(bounds) {
            let forward: i128 = values.iter().map(|x| fixed.encode(*x)).sum();
            let backward: i128 = values.iter().rev().map(|x| fixed.encode(*x)).sum();
            prop_assert_eq!(forward, backward);
        }
    }

    /// One record's contribution fits the declared sensitivity on the grid, at most 10^6 steps, and the noise is at least
    /// the multiplier times it; what the accountant reads is what is drawn.
    #[test]
    fn the_grid_charges_what_it_adds(bounds in any_bounds(), log_multiplier in -6.0..9.0f64, which in 0usize..3) {
        let multiplier = 10f64.powf(log_multiplier).clamp(1e-6, 1e9);
        let adjacency = Adjacency::ALL[which];
        let question = Question { statistic: Statistic::Sum(bounds), adjacency };
        let design = question.design(NoiseKind::Gaussian, short::noise(multiplier)).unwrap();
        let part = design.parts()[0];
        let fixed = FixedPoint::for_sums(bounds);
        let contribution = match adjacency {
            Adjacency::AddRemove => fixed.farthest(),
            Adjacency::ReplaceOne | Adjacency::ZeroOut => fixed.half_width(),
        } as f64 * fixed.unit();
        let steps = part.sensitivity.as_f64();
        prop_assert!((1.0..=1e6).contains(&steps));
        prop_assert!(steps * part.granularity >= contribution * (1.0 - 1e-15));
        // The grid costs little, unless the contribution is itself only a few units wide.
        if fixed.half_width() > 1 << 30 {
            prop_assert!(steps * part.granularity <= contribution * (1.0 + 1e-5));
        }
        let Mechanism::DiscreteGaussian { sigma, sensitivity } = design.mechanism() else {
            return Err(TestCaseError::fail("a sum with gaussian noise is a discrete gaussian"));
        };
        let Draw::Added(veracity_noise::Noise::Gaussian { sigma: drawn }) = part.draw else {
            return Err(TestCaseError::fail("a sum has noise added"));
        };
        prop_assert_eq!(sigma.get(), drawn.as_f64());
        prop_assert_eq!(drawn.numerator() as f64, sigma.get() * drawn.denominator() as f64);
        prop_assert_eq!(sensitivity, part.sensitivity);
        prop_assert!(sigma.get() >= multiplier * steps * (1.0 - 1e-15));
    }
}

#[test]
fn questions_that_make_no_sense_are_refused_in_one_line() {
    let level = short::noise(1.0);
    let bounds = Bounds::new(0.0, 1.0).unwrap();
    let refused = |statistic: Statistic, kind| {
        let question = Question { statistic, adjacency: Adjacency::AddRemove };
        question.design(kind, level).unwrap_err().to_string()
    };
    let rank = Rank::new(1, 2).unwrap();
    let quantile = |steps| Statistic::Quantile { bounds, rank, steps, bar: ErrorBar::Charged };
    assert_eq!(
        refused(quantile(10), NoiseKind::Gaussian),
        "no theorem for gaussian noise under a quantile, which uses the exponential mechanism; use laplace"
    );
    assert_eq!(
        refused(quantile(0), NoiseKind::Laplace),
        "steps is 0, expected 1 to 2^20 steps between the bounds"
    );
    let twice = Bins::Categories(vec!["a".to_owned(), "a".to_owned()]);
    let text = refused(Statistic::Histogram(twice), NoiseKind::Laplace);
    assert_eq!(text, "bins is repeated, expected different categories");
    let none = Bins::Numeric { bounds, bins: 0 };
    assert!(refused(Statistic::Histogram(none), NoiseKind::Laplace).starts_with("bins is 0"));
    assert!(Rank::new(3, 2).is_err() && Rank::from_fraction(f64::NAN).is_err());
    let rank = Rank::from_fraction(0.95).unwrap();
    assert_eq!((rank.below(), rank.whole()), (19, 20));
}
