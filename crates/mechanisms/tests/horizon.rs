//! Noisy sums of periods: how far one unit moves them, how far they are off, and how close integer noise is to normal noise, each
//! compared with enumeration, simulation or quadrature.

use veracity_core::numerics::binomial::log_upper_tail;
use veracity_core::{Count, Delta, Mechanism};
use veracity_mechanisms::{Horizon, PeriodSums, Priority};
use veracity_noise::{Distance, Entropy, Key, NoiseStream, Purpose};
use veracity_testkit::short;

const PRIORITIES: [Priority; 2] = [Priority::Counts, Priority::Totals];

fn horizon(periods: u64, active: u64, amount: i128) -> Horizon {
    Horizon { periods: Count::new(periods).unwrap(), active: Count::new(active).unwrap(), amount }
}

fn sums(horizon: Horizon, priority: Priority, noise: f64) -> PeriodSums {
    PeriodSums::new(horizon, priority, short::noise(noise), Delta::new(1e-9).unwrap()).unwrap()
}

/// What gets noise, and how far it is declared to move.
fn hidden(of: &PeriodSums, exact: &[i128]) -> (Vec<i128>, Distance) {
    let stream = Entropy::seeded(1).stream(Purpose::Noise, Key::default());
    let mut rng = NoiseStream::recording(stream);
    of.release(exact, &mut rng).unwrap();
    let call = rng.into_tape().unwrap().calls.remove(0);
    (call.input, call.declared)
}

/// All that a unit can add to nine periods or fewer: in at most so many of them, at most the amount, or a part of it, of either sign.
#[test]
fn no_unit_moves_the_sums_farther_than_declared_and_one_moves_them_as_far() {
    for (periods, active, amount) in
        [(1, 1, 1), (4, 4, 2), (5, 2, 3), (7, 1, 1), (7, 3, 1), (7, 7, 1), (8, 4, 1), (6, 3, 5000)]
    {
        for priority in PRIORITIES {
            let of = sums(horizon(periods, active, amount), priority, 3.0);
            let zero = hidden(&of, &vec![0; periods as usize]).0;
            let mut farthest: u128 = 0;
            let Distance::L2Squared(declared) = hidden(&of, &vec![0; periods as usize]).1 else {
                panic!("another norm")
            };
            // Digits 0, 1, 2 stand for nothing, the amount and its opposite.
            for code in 0..3u32.pow(periods as u32) {
                let digit = |at: u32| code / 3u32.pow(at) % 3;
                let unit: Vec<i128> =
                    (0..periods as u32).map(|at| [0, amount, -amount][digit(at) as usize]).collect();
                if unit.iter().filter(|one| **one != 0).count() > active as usize {
                    continue;
                }
                let moved = hidden(&of, &unit).0;
                let squared: u128 =
                    moved.iter().zip(&zero).map(|(one, other)| one.abs_diff(*other).pow(2)).sum();
                farthest = farthest.max(squared);
            }
            assert!(farthest <= declared, "{periods} {active} {amount} {priority:?}");
            // Rounding 5000 to the grid may cost a step of a thousand.
            let least = if amount > 1000 { declared / 1000 * 995 } else { declared };
            assert!(farthest >= least, "{periods} {active} {amount} {priority:?}: {farthest} of {declared}");
        }
    }
}

/// With sums that are not zero and no multiples of the grid, rounding moves them by no more than is declared either.
#[test]
fn rounding_large_amounts_to_the_grid_is_within_what_is_declared() {
    let of = sums(horizon(3, 2, 12_345), Priority::Totals, 1.0);
    for start in 0..40 {
        let before = [start * 7, start * 11 + 3, start * 5];
        for unit in [[12_345, -12_345, 0], [12_345, 12_345, 0], [0, 12_345, 12_345], [-12_344, 0, 12_345]] {
            let after: Vec<i128> = before.iter().zip(unit).map(|(sum, one)| sum + one).collect();
            let (one, declared) = hidden(&of, &before);
            let (other, _) = hidden(&of, &after);
            let squared: u128 = one.iter().zip(&other).map(|(a, b)| a.abs_diff(*b).pow(2)).sum();
            assert!(matches!(declared, Distance::L2Squared(most) if squared <= most), "{before:?} {unit:?}");
        }
    }
}

/// With the same draws, answers differ by what the sums differ by: decoding undoes the matrix.
#[test]
fn noise_is_added_to_the_sums_and_to_nothing_else() {
    let exact: Vec<i128> = (0..200).map(|day| (day * day) % 97 + 1_000_000).collect();
    for priority in PRIORITIES {
        let of = sums(horizon(200, 20, 2), priority, 3.0);
        let draw = || NoiseStream::new(Entropy::seeded(5).stream(Purpose::Noise, Key::default()));
        let noisy = of.release(&exact, &mut draw()).unwrap();
        let noise = of.release(&[0; 200], &mut draw()).unwrap();
        for range in [0..1, 0..200, 17..18, 3..150, 199..200] {
            let sum: i128 = exact[range.clone()].iter().sum();
            let found = noisy.total(range.clone()) - noise.total(range);
            assert!((found - sum as f64).abs() <= noisy.rounding() + noise.rounding(), "{found} {sum}");
        }
        assert!(noisy.rounding() < 1e-3, "{}", noisy.rounding());
    }
}

/// By simulation, seed 6: 4,000 releases of 60 periods. Bars of 95% miss in 5% of cases: the exact binomial test refutes neither "at
/// most 5%" nor "at least 5%" at 1e-6. Control: bars that are a tenth shorter are refuted.
#[test]
fn error_bars_cover_in_95_of_100_cases() {
    const RUNS: u64 = 4000;
    for priority in PRIORITIES {
        let of = sums(horizon(60, 5, 1), priority, 2.5);
        for range in [0..60, 59..60, 20..27, 0..1] {
            let bar = of.half_width(range.clone(), 0.05);
            let (mut misses, mut misses_of_shorter) = (0, 0);
            for run in 0..RUNS {
                let stream = Entropy::seeded(6).stream(Purpose::Noise, Key { step: run, ..Key::default() });
                let off =
                    of.release(&[0; 60], &mut NoiseStream::new(stream)).unwrap().total(range.clone()).abs();
                misses += u64::from(off > bar);
                misses_of_shorter += u64::from(off > 0.9 * bar);
            }
            let least = 1e-6_f64.ln();
            assert!(log_upper_tail(RUNS, misses, 0.05) > least, "{priority:?} {range:?}: {misses}");
            assert!(log_upper_tail(RUNS, RUNS - misses, 0.95) > least, "{priority:?} {range:?}: {misses}");
            assert!(log_upper_tail(RUNS, misses_of_shorter, 0.05) < least, "{priority:?} {range:?}");
        }
    }
}

/// The largest ratio of the probabilities of rounded normal noise and integer noise within some deviations, by Simpson's rule: at most
/// e^{m²/24σ²}, as the module says. Control: at 0.99 of that exponent it is larger.
#[test]
fn integer_noise_is_as_close_to_rounded_normal_noise_as_the_module_says() {
    for sigma in [20.0f64, 64.0, 300.0] {
        for far in [3.0, 10.0, 14.0] {
            // P(round(N) = k)/φ(k) is the integral over |t| ≤ ½, and φ(k)/P(z = k) is the normaliser over σ√2π.
            let normaliser: f64 = {
                let weight = |x: i32| (-0.5 * (f64::from(x) / sigma).powi(2)).exp();
                (-20_000..=20_000).map(weight).sum::<f64>() / (sigma * (2.0 * std::f64::consts::PI).sqrt())
            };
            let ratio = |k: f64| {
                let at = |t: f64| (-(2.0 * k * t + t * t) / (2.0 * sigma * sigma)).exp();
                let simpson: f64 = (0..200)
                    .map(|i| {
                        let from = -0.5 + f64::from(i) / 200.0;
                        (at(from) + 4.0 * at(from + 0.0025) + at(from + 0.005)) / 1200.0
                    })
                    .sum();
                (simpson * normaliser).ln()
            };
            let most = (0..=(far * sigma) as i32).map(|k| ratio(f64::from(k)).abs()).fold(0.0, f64::max);
            let bound = far * far / (24.0 * sigma * sigma);
            assert!(most <= bound && (far < 10.0 || most > 0.98 * bound), "{sigma} {far}: {most} {bound}");
        }
    }
}

/// What the accountant reads has no more noise than there is, and the δ of integer noise is as small as asked for.
#[test]
fn the_mechanism_has_no_more_noise_than_is_drawn() {
    for (amount, active) in [(1, 1), (3, 40), (100_000, 7)] {
        let of = sums(horizon(365, active, amount), Priority::Totals, 4.0);
        let Mechanism::Composed(parts) = of.mechanism() else { panic!("not composed") };
        let [Mechanism::Matrix { noise_multiplier, .. }, Mechanism::Approximate { delta, .. }] = &parts[..]
        else {
            panic!("{parts:?}")
        };
        let (sigma, one) = (of.sigma(), of.sensitivity().as_f64());
        assert!(noise_multiplier.get() * one <= sigma.as_f64());
        assert!(noise_multiplier.get() * one >= sigma.as_f64() * (1.0 - 1e-12));
        assert!(delta.get() <= 1e-9 && delta.get() > 1e-12);
    }
}

#[test]
fn horizons_that_cannot_be_kept_are_refused() {
    let made = |horizon, noise, slack| {
        PeriodSums::new(horizon, Priority::Totals, short::noise(noise), Delta::new(slack).unwrap())
    };
    assert!(made(horizon(9000, 1, 1), 3.0, 1e-9).is_err());
    assert!(made(horizon(3, 4, 1), 3.0, 1e-9).is_err());
    assert!(made(horizon(3, 3, 0), 3.0, 1e-9).is_err());
    assert!(made(horizon(365, 3, 1), 3.0, 0.0).is_err());
    // So little noise that two datasets have hardly an answer in common.
    assert!(made(horizon(365, 3, 1), 0.01, 1e-9).is_err());
    let of = made(horizon(3, 3, 1), 3.0, 1e-9).unwrap();
    let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
    assert!(of.release(&[1, 2], &mut rng).is_err());
}
