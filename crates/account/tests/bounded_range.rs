//! Exponential mechanisms one after another: the certified recursion against slow twins of its definition.

use veracity_account::{Method, Question, bounded_range, delta_at, epsilon_at};
use veracity_core::{Adjacency, Finding, Mechanism};
use veracity_testkit::short::{self, count};

fn exponential(range: f64, uses: u64) -> Question {
    let mechanism = Mechanism::Exponential { epsilon: short::epsilon(range) };
    Question { mechanism: mechanism.repeated(count(uses)), adjacency: Adjacency::AddRemove }
}

/// δ at ε from both sides.
fn bracket(range: f64, uses: u64, epsilon: f64) -> (f64, f64) {
    let uses = count(uses);
    let found = bounded_range::delta_at(range, uses, short::epsilon(epsilon)).unwrap();
    (found.lower.0.get(), found.upper.0.get())
}

/// The recursion as it is written, t on a grid: from below, and the truth as the grid gets finer.
fn twin(range: f64, uses: u64, epsilon: f64, steps: u32) -> f64 {
    if uses == 0 {
        return -epsilon.min(0.0).exp_m1();
    }
    let odds = |t: f64| (range.exp() - t.exp()) / (range.exp() - 1.0);
    let value = |t: f64| {
        odds(t) * twin(range, uses - 1, epsilon - t, steps)
            + (1.0 - odds(t)) * twin(range, uses - 1, epsilon - t + range, steps)
    };
    (0..=steps).map(|i| value(range * f64::from(i) / f64::from(steps))).fold(0.0, f64::max)
}

#[test]
fn few_uses_agree_with_the_recursion_as_written() {
    for range in [0.1, 1.0, 3.0] {
        for share in [0.0, 0.13, 0.5, 0.9] {
            for (uses, steps, slack) in [(1, 20_000, 1e-6), (2, 500, 1e-3), (3, 70, 2e-2)] {
                let epsilon = share * range * uses as f64;
                let (lower, upper) = bracket(range, uses, epsilon);
                let truth = twin(range, uses, epsilon, steps);
                assert!(
                    lower <= upper && truth <= upper,
                    "{range} {uses} {epsilon}: {truth} {lower} {upper}"
                );
                assert!(lower >= truth * (1.0 - 1e-6), "{range} {uses} {epsilon}: {truth} {lower}");
                assert!(upper <= truth * (1.0 + slack) + 1e-12, "{range} {uses} {epsilon}: {truth} {upper}");
            }
        }
    }
}

/// A strategy drawn up at random is a mechanism: none may leak more than the upper end.
#[test]
fn no_adaptive_strategy_beats_the_upper_end() {
    let (range, uses, epsilon) = (0.5, 8u32, 0.9);
    let (lower, upper) = bracket(range, u64::from(uses), epsilon);
    let mut state = 7u64;
    let mut best: f64 = 0.0;
    for _ in 0..300 {
        // t depends on how far the losses so far are from where they should be: gain and centre are drawn.
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (centre, gain) = (draw(), 2.0 * draw() - 1.0);
        let mut delta = 0.0;
        for path in 0..1u32 << uses {
            let (mut loss, mut mass) = (0.0, 1.0);
            for i in 0..uses {
                let left = f64::from(uses - i);
                let t = range * (centre + gain * ((epsilon - loss) / (left * range) - 0.5)).clamp(0.0, 1.0);
                let p = (range.exp() - t.exp()) / (range.exp() - 1.0);
                let up = path >> i & 1 == 1;
                mass *= if up { p } else { 1.0 - p };
                loss += if up { t } else { t - range };
            }
            delta += mass * -(epsilon - loss).min(0.0).exp_m1();
        }
        best = best.max(delta);
    }
    assert!(best <= upper, "{best} {upper}");
    assert!(best >= 0.95 * lower, "the strategies are not worth comparing with: {best} {lower}");
}

/// The cost of adaptivity: the same t throughout, at its best, leaks less than t chosen in view of the answers.
#[test]
fn adapting_leaks_more_than_any_fixed_choice() {
    let (range, uses, epsilon) = (1.0f64, 3u64, 0.7f64);
    let fixed = |t: f64| {
        let p = (range.exp() - t.exp()) / (range.exp() - 1.0);
        (0..8u32)
            .map(|path| {
                let ups = f64::from(path.count_ones());
                let loss = 3.0 * t - (3.0 - ups) * range;
                p.powf(ups) * (1.0 - p).powf(3.0 - ups) * -(epsilon - loss).min(0.0).exp_m1()
            })
            .sum::<f64>()
    };
    let best = (0..=10_000).map(|i| fixed(f64::from(i) * 1e-4)).fold(0.0, f64::max);
    let (lower, _) = bracket(range, uses, epsilon);
    assert!(lower > best * 1.0001, "{lower} {best}");
}

#[test]
fn many_uses_are_bracketed_closely_and_below_the_older_bounds() {
    for (range, uses, width) in [(0.1, 60, 1e-4), (0.1, 400, 1e-3), (1.0, 20, 1e-4)] {
        let asked = exponential(range, uses);
        let delta = short::delta(1e-6);
        let found = epsilon_at(&asked, delta, Method::Optimal).unwrap();
        let Finding::Bracket(found) = found else { panic!("exponential mechanisms attain it") };
        let (lower, upper) = (found.lower.0.get(), found.upper.0.get());
        assert!(lower <= upper && upper <= lower * (1.0 + width), "{range} {uses}: {lower} {upper}");
        for method in [Method::Zcdp, Method::Rdp, Method::Basic] {
            let other = epsilon_at(&asked, delta, method).unwrap().upper().unwrap().0.get();
            assert!(upper <= other, "{range} {uses} {method}: {upper} {other}");
        }
        let back = delta_at(&asked, found.upper.0, Method::Optimal).unwrap();
        assert!(back.lower().unwrap().0.get() <= 1e-6 && back.upper().unwrap().0.get() >= 1e-6 * 0.8);
    }
}

#[test]
fn the_ends_of_the_range_are_exact() {
    let asked = exponential(0.25, 40);
    let found = epsilon_at(&asked, short::delta(0.0), Method::Optimal).unwrap().upper().unwrap().0.get();
    assert!((10.0..10.0 + 1e-12).contains(&found), "{found}");
    assert_eq!(bracket(0.25, 40, 10.1), (0.0, 0.0));
    assert_eq!(bracket(0.0, 40, 0.0), (0.0, 0.0));
    // tanh(ε/4): what one mechanism of range ε can show at ε = 0.
    let (lower, upper) = bracket(2.0, 1, 0.0);
    assert!(lower <= 0.5f64.tanh() && 0.5f64.tanh() <= upper && upper - lower < 1e-13);
    for (range, uses) in [(1e-9, 3), (1e-6, 50), (30.0, 5), (200.0, 2), (150.0, 40), (500.0, 1)] {
        let epsilon = 0.97 * range * f64::from(uses);
        let (lower, upper) = bracket(range, uses as u64, epsilon);
        assert!(0.0 <= lower && lower <= upper && upper < 1.0, "{range} {uses}: {lower} {upper}");
    }
    assert!(epsilon_at(&exponential(300.0, 2), short::delta(1e-6), Method::Optimal).is_err());
    assert!(epsilon_at(&exponential(0.1, 1 << 20), short::delta(1e-6), Method::Optimal).is_err());
}

/// Ranges that differ, or other mechanisms beside them, are bounded from above only.
#[test]
fn mixtures_have_no_lower_end() {
    let of = |range: f64| Mechanism::Exponential { epsilon: short::epsilon(range) };
    let pure = short::pure(0.1);
    for mechanism in [
        Mechanism::Composed(vec![of(0.1), of(0.2)]),
        Mechanism::Composed(vec![of(0.1), pure]),
        Mechanism::Group { size: count(2), mechanism: Box::new(of(0.1)) },
    ] {
        let asked = Question { mechanism, adjacency: Adjacency::AddRemove };
        let found = epsilon_at(&asked, short::delta(1e-6), Method::Optimal).unwrap();
        assert!(matches!(found, Finding::Upper(_)), "{found:?}");
    }
}
