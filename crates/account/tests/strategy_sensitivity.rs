//! Sensitivities of strategy matrices against their slow twin: every pattern, every sign, and vectors that climb.

use proptest::{prelude::*, test_runner::RngSeed};
use veracity_account::matrix::{StrategySensitivity, band, sensitivity};
use veracity_core::{Coefficients, Count, Participation, Strategy, TriangularMatrix};
use veracity_testkit::patterns::{climbed_square, largest_signed_square, patterns, toeplitz_rows, tree_rows};
use veracity_testkit::sceptic::dice::Dice;
use veracity_testkit::short;

fn count(n: usize) -> Count {
    short::count(n as u64)
}

fn separated(times: usize, separation: usize) -> Participation {
    Participation::Separated { times: count(times), separation: count(separation) }
}

fn toeplitz(coefficients: &[f64], steps: usize) -> Strategy {
    Strategy::Banded { steps: count(steps), coefficients: Coefficients::new(coefficients.to_vec()).unwrap() }
}

fn written(rows: Vec<Vec<f64>>) -> Strategy {
    Strategy::Written(TriangularMatrix::new(rows).unwrap())
}

/// Numbers between −1 and 1 from a seed.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut dice = Dice::new(seed, 0);
    move || 2.0 * dice.unit() - 1.0
}

/// Never below the twin; equal to it where it is said to be exact. Returns whether it was.
fn check(strategy: &Strategy, rows: &[Vec<f64>], times: usize, separation: usize) -> bool {
    let steps = strategy.steps().get() as usize;
    let all = patterns(steps, times, separation);
    let truth = largest_signed_square(rows, &all);
    let found = sensitivity(strategy, separated(times, separation)).unwrap();
    let square = found.upper() * found.upper();
    let place = format!("{times} times, {separation} apart, {strategy:?}: {found:?}, twin {}", truth.sqrt());
    assert!(square >= truth * (1.0 - 1e-13), "below the twin: {place}");
    if let StrategySensitivity::Exact(_) = found {
        assert!(square <= truth * (1.0 + 1e-13), "not attained: {place}");
    }
    let mut start = numbers(7);
    for pattern in all.iter().filter(|pattern| pattern.len() > 1).step_by(5) {
        let climbed = climbed_square(rows, pattern, &mut start);
        assert!(square >= climbed * (1.0 - 1e-12), "vectors climb higher: {place}, {climbed}");
    }
    matches!(found, StrategySensitivity::Exact(_))
}

#[test]
fn trees_are_never_below_all_patterns_and_exact_for_powers_of_two() {
    for steps in 1..=12 {
        let strategy = Strategy::Tree { steps: count(steps) };
        let rows = tree_rows(steps);
        for separation in 1..=steps + 1 {
            for times in 1..=5 {
                let exact = check(&strategy, &rows, times, separation);
                assert!(exact || !separation.is_power_of_two(), "{steps} {separation}");
            }
        }
    }
}

#[test]
fn a_tree_of_t_steps_has_as_many_levels_as_digits() {
    for (steps, levels) in
        [(1u64, 1.0f64), (2, 2.0), (3, 2.0), (4, 3.0), (1000, 10.0), (1024, 11.0), (1 << 49, 50.0)]
    {
        let strategy = Strategy::Tree { steps: short::count(steps) };
        let found = sensitivity(&strategy, Participation::Once).unwrap().upper();
        assert!(found >= levels.sqrt() && found <= levels.sqrt().next_up(), "{steps}: {found}");
    }
}

#[test]
fn three_epochs_of_a_tree_are_exact_though_no_power_of_two() {
    let strategy = Strategy::Tree { steps: count(3000) };
    let found = sensitivity(&strategy, separated(3, 1000)).unwrap();
    // Levels 1 to 512: 3 blocks with one step each; 1024: 2² + 1; 2048: 3².
    assert!(
        matches!(found, StrategySensitivity::Exact(moved) if (moved * moved - 44.0).abs() < 1e-12),
        "{found:?}"
    );
}

#[test]
fn falling_bands_are_exact_for_every_pattern() {
    for band in
        [vec![1.0, 0.5, 0.375, 0.3125], vec![1.0, 1.0, 1.0], vec![2.0, 0.25], vec![1.0], vec![1.0, 0.0, 0.0]]
    {
        for steps in 1..=10 {
            for separation in 1..=steps {
                for times in 1..=4 {
                    let exact =
                        check(&toeplitz(&band, steps), &toeplitz_rows(&band, steps), times, separation);
                    assert!(exact, "{band:?} {steps} {separation} {times}");
                }
            }
        }
    }
}

#[test]
fn bands_that_rise_or_change_sign_are_bounded_and_exact_when_apart() {
    for band in [
        vec![1.0, -0.5],
        vec![0.5, 1.0, 0.25],
        vec![1.0, -0.6, 0.7, -0.1],
        vec![1.0, 0.0, 0.9],
        vec![1e-3, 1.0],
    ] {
        for steps in 1..=9 {
            for separation in 1..=steps {
                for times in 1..=4 {
                    let exact =
                        check(&toeplitz(&band, steps), &toeplitz_rows(&band, steps), times, separation);
                    assert!(exact || separation < band.len(), "{band:?} {steps} {separation}");
                }
            }
        }
    }
}

#[test]
fn rows_that_repeat_are_multiplied_as_if_summed() {
    // Longer than the walk: 30 turns of a band of 7 at distance 3, and what the plain sum over all rows says.
    let band = [1.0, 0.5, 0.375, 0.3125, 0.25, 0.2, 0.1];
    for (steps, times) in [(90, 30), (91, 30), (95, 30), (200, 30), (88, 30), (90, 29)] {
        let mut row_sums = vec![0.0f64; steps];
        for turn in (0..times).map(|turn| turn * 3).filter(|turn| *turn < steps) {
            for (distance, c) in band.iter().enumerate() {
                if turn + distance < steps {
                    row_sums[turn + distance] += c;
                }
            }
        }
        let truth: f64 = row_sums.iter().map(|x| x * x).sum();
        let found = sensitivity(&toeplitz(&band, steps), separated(times, 3)).unwrap().upper();
        assert!((found * found / truth - 1.0).abs() < 1e-13, "{steps} {times}: {} {truth}", found * found);
    }
}

#[test]
fn steps_without_number_cost_no_time() {
    let strategy = Strategy::Banded {
        steps: short::count(1_000_000_000_000),
        coefficients: Coefficients::new(vec![1.0, 0.5, 0.25]).unwrap(),
    };
    let often = Participation::Separated { times: short::count(1 << 40), separation: Count::ONE };
    let found = sensitivity(&strategy, often).unwrap().upper();
    // All rows but a few see all three columns.
    let settled = 1.75f64 * 1e12f64.sqrt();
    assert!((found / settled - 1.0).abs() < 1e-9, "{found}");
}

#[test]
fn a_matrix_that_is_a_band_is_known_as_one() {
    let band_of = [1.0, 0.5, 0.25];
    let rows = toeplitz_rows(&band_of, 12);
    let spelled_out = written(rows.clone());
    assert_eq!(band(&spelled_out), Some(count(3)));
    for (times, separation) in [(1, 1), (4, 1), (4, 2), (3, 5)] {
        let pattern = separated(times, separation);
        assert_eq!(sensitivity(&spelled_out, pattern), sensitivity(&toeplitz(&band_of, 12), pattern));
    }
    let mut touched = rows;
    touched[11][0] = 1e-9;
    assert_eq!(band(&written(touched)), Some(count(12)));
    assert_eq!(band(&Strategy::Tree { steps: count(8) }), None);
    assert_eq!(band(&toeplitz(&[1.0, 0.5, 0.0, 0.0], 12)), Some(count(2)));
    assert_eq!(band(&toeplitz(&[1.0, 0.5, 0.2], 2)), Some(count(2)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_matrices_are_never_below_all_patterns(
        entries in prop::collection::vec(-1.0f64..1.0, 36), steps in 1usize..9, width in 1usize..9,
        signed in any::<bool>(), times in 1usize..5, separation in 1usize..6,
    ) {
        let mut entries = entries.into_iter();
        let mut rows = Vec::new();
        for t in 0..steps {
            let row: Vec<f64> = (0..=t).map(|i| {
                let x: f64 = entries.next().unwrap_or(0.5);
                match t - i {
                    0 => x.abs() + 0.01,
                    distance if distance < width => if signed { x } else { x.abs() },
                    _ => 0.0,
                }
            }).collect();
            rows.push(row);
        }
        let exact = check(&written(rows.clone()), &rows, times, separation);
        prop_assert!(exact || (width > separation && times > 1));
    }

    #[test]
    fn toeplitz_bands_are_never_below_all_patterns(
        band in prop::collection::vec(-1.0f64..1.0, 1..6), first in 0.01f64..2.0, steps in 1usize..9,
        times in 1usize..5, separation in 1usize..6,
    ) {
        let band: Vec<f64> = std::iter::once(first).chain(band).collect();
        check(&toeplitz(&band, steps), &toeplitz_rows(&band, steps), times, separation);
    }

    #[test]
    fn random_bands_that_fall_are_exact(
        band in prop::collection::vec(0.0f64..1.0, 1..8), steps in 1usize..11, times in 1usize..6, separation in 1usize..5,
    ) {
        let mut band = band;
        band[0] += 0.01;
        band.sort_by(|a, b| b.total_cmp(a));
        prop_assert!(check(&toeplitz(&band, steps), &toeplitz_rows(&band, steps), times, separation));
    }
}

#[test]
fn the_square_root_has_the_sensitivities_that_are_published() {
    // jax_privacy 2.0.0, float64: toeplitz.minsep_sensitivity_squared(optimal_max_error_strategy_coefs(64)[:n], sep, k, n)
    let root = veracity_account::matrix::errors::square_root(count(64)).unwrap();
    for (steps, separation, times, square) in [
        (64, 8, 8, 50.15585143397344),
        (64, 16, 4, 15.686512908430245),
        (64, 20, 3, 10.343273857041453),
        (60, 7, 60, 58.37171981388309),
    ] {
        let found = sensitivity(&toeplitz(root.get(), steps), separated(times, separation)).unwrap();
        let StrategySensitivity::Exact(moved) = found else { panic!("{found:?}") };
        assert!(
            (moved * moved / square - 1.0).abs() < 1e-13,
            "{steps} {separation}: {} {square}",
            moved * moved
        );
    }
}

#[test]
fn a_general_matrix_is_bounded_no_looser_than_by_the_published_algorithm() {
    // The square root over 64 steps with one entry touched, so that no diagonal holds one number. jax_privacy 2.0.0,
    // sensitivity.get_min_sep_sensitivity_upper_bound of the untouched matrix.
    let root = veracity_account::matrix::errors::square_root(count(64)).unwrap();
    let mut rows = toeplitz_rows(root.get(), 64);
    rows[63][63] = rows[63][63].next_up();
    let strategy = written(rows);
    for (separation, times, published) in [
        (8, 8, 7.082079598110533),
        (16, 4, 3.9606202681436455),
        (20, 3, 3.2160960584288296),
        (1, 5, 6.659431472913686),
    ] {
        let found = sensitivity(&strategy, separated(times, separation)).unwrap();
        let StrategySensitivity::AtMost(moved) = found else { panic!("{found:?}") };
        let exact = sensitivity(&toeplitz(root.get(), 64), separated(times, separation)).unwrap().upper();
        assert!(
            moved >= exact && moved <= published * (1.0 + 1e-9),
            "{separation}: {exact} {moved} {published}"
        );
    }
}

#[test]
fn groups_in_turns_are_separated_by_their_number() {
    let band_of = [1.0, 0.5, 0.25];
    let turns = Participation::CyclicPoisson { groups: count(4), rate: short::rate(1.0) };
    let strategy = toeplitz(&band_of, 22);
    assert_eq!(sensitivity(&strategy, turns), sensitivity(&strategy, separated(6, 4)));
}

#[test]
fn entries_whose_squares_leave_the_floats_are_refused() {
    for bad in
        [vec![1e-200], vec![1.0, 1e200], vec![f64::NAN], vec![0.0, 1.0], vec![-1.0], vec![], vec![1.0; 8193]]
    {
        assert!(Coefficients::new(bad.clone()).is_err(), "{bad:?}");
    }
    for bad in
        [vec![vec![1e-200]], vec![vec![1.0], vec![1.0]], vec![vec![1.0], vec![f64::INFINITY, 1.0]], vec![]]
    {
        assert!(TriangularMatrix::new(bad.clone()).is_err(), "{bad:?}");
    }
}
