#![allow(clippy::unwrap_used)]

use super::discretize::GridLaw;
use super::*;
use crate::{IntegerNoise, Neighbours, Part};
use veracity_core::{Adjacency, Buckets, Mechanism, RdpCurve, Rho};
use veracity_testkit::short::{self, count, noise, probability};

fn gaussian(sigma: f64, times: u64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier: noise(sigma) }.repeated(count(times))
}

fn laplace(scale: f64, times: u64) -> Mechanism {
    Mechanism::Laplace { noise_multiplier: noise(scale) }.repeated(count(times))
}

fn response(buckets: u32, chance: f64) -> Mechanism {
    let noise = probability(chance);
    Mechanism::RandomizedResponse { buckets: Buckets::new(buckets).unwrap(), noise }
}

fn epsilon_of(mechanism: Mechanism, adjacency: Adjacency, delta: f64) -> (f64, f64) {
    let found = epsilon_at(&Question { mechanism, adjacency }, short::delta(delta)).unwrap();
    (found.lower().unwrap().0.get(), found.upper().unwrap().0.get())
}

fn assert_holds(truth: f64, (lower, upper): (f64, f64), width: f64) {
    assert!(lower <= truth && truth <= upper, "{truth} is not in [{lower}, {upper}]");
    assert!(upper - lower <= width * upper, "[{lower}, {upper}] is wider than {width}");
}

/// # mpmath 1.3, 50 digits: bisection of ncdf(mu/2-eps/mu)-exp(eps)*ncdf(-mu/2-eps/mu) == delta, mu = sqrt(T)/sigma
#[test]
fn gaussian_compositions_hold_the_closed_form() {
    let golden = [
        (20.0, 1000, 1e-12, 11.99209105496782), // dp_accounting 0.6.0 calls 11.99098 an upper bound
        (20.0, 1000, 1e-30, 19.08524694734041),
        (1.0, 2, 1e-5, 6.572970067030332),
        (0.05, 2, 1e-5, 519.6981942303136),
    ];
    for (sigma, times, delta, truth) in golden {
        assert_holds(truth, epsilon_of(gaussian(sigma, times), Adjacency::AddRemove, delta), 1e-4);
    }
    let once = epsilon_of(gaussian(0.3, 1), Adjacency::AddRemove, 1e-6);
    assert_holds(20.78122225653816, once, 1e-12);
}

/// Anchors of the project (EXACT_ACCOUNTANT.md: an independent reference to about 12 digits), not recomputed here.
#[test]
fn anchors_lie_inside() {
    let laplaces = epsilon_of(laplace(10.0, 100), Adjacency::AddRemove, 1e-5);
    assert_holds(4.220_347_325_080_36, laplaces, 1e-4);
    let responses = epsilon_of(response(2, 0.5).repeated(count(50)), Adjacency::ReplaceOne, 1e-5);
    assert_holds(50.522627148, (responses.0 - 1e-9, responses.1 + 1e-9), 1e-9);
    let rate = short::rate(256.0 / 60000.0);
    for (steps, truth) in [(600, 0.577329032741), (14000, 2.815723148295)] {
        let found = epsilon_of(
            Mechanism::sampled_gaussian(rate, noise(1.0), count(steps)),
            Adjacency::AddRemove,
            1e-5,
        );
        assert_holds(truth, found, 1e-4);
    }
}

/// δ(ε) = 1 − e^{(ε−ε₀)/2} for one Laplace answer.
#[test]
fn one_laplace_answer_has_its_closed_form() {
    for (scale, epsilon) in [(1.0, 0.3), (0.1, 9.5), (25.0, 0.01)] {
        let question = Question { mechanism: laplace(scale, 1), adjacency: Adjacency::AddRemove };
        let found = delta_at(&question, short::epsilon(epsilon)).unwrap();
        let truth = -(0.5 * (epsilon - 1.0 / scale)).exp_m1();
        assert_holds(truth, (found.lower().unwrap().0.get(), found.upper().unwrap().0.get()), 1e-12);
    }
}

#[test]
fn at_delta_zero_pure_losses_add_up() {
    assert_holds(7.0, epsilon_of(laplace(1.0, 7), Adjacency::AddRemove, 0.0), 1e-12);
    let unbounded = Question { mechanism: gaussian(1.0, 7), adjacency: Adjacency::AddRemove };
    assert!(epsilon_at(&unbounded, short::delta(0.0)).is_err());
}

/// # mpmath 1.3, 50 digits: 2*ncdf(sqrt(2)/2)-1
#[test]
fn the_ends_of_the_profile_are_right() {
    let delta_of = |mechanism, epsilon| {
        let question = Question { mechanism, adjacency: Adjacency::ReplaceOne };
        let found = delta_at(&question, short::epsilon(epsilon)).unwrap();
        (found.lower().unwrap().0.get(), found.upper().unwrap().0.get())
    };
    assert_holds(0.5204998778130465, delta_of(gaussian(2.0, 2), 0.0), 1e-4);
    assert_eq!(epsilon_of(gaussian(2.0, 2), Adjacency::ReplaceOne, 0.521), (0.0, 0.0));
    assert_eq!(delta_of(response(2, 0.5).repeated(count(50)), 1000.0), (0.0, 0.0));
    let (lower, upper) = delta_of(gaussian(2.0, 2), 1000.0);
    assert!(lower <= upper && upper < 1e-280);
}

/// max(0, Σ over all sequences of P − e^ε Q), by listing them.
fn listed_delta(p: &[f64], q: &[f64], times: u32, epsilon: f64) -> f64 {
    let ratio = epsilon.exp();
    let mut sequences = vec![(1.0, 1.0)];
    for _ in 0..times {
        let longer = sequences.iter().flat_map(|(a, b)| p.iter().zip(q).map(move |(x, y)| (a * x, b * y)));
        sequences = longer.collect();
    }
    sequences.iter().map(|(a, b)| (a - ratio * b).max(0.0)).sum()
}

fn mixed(rate: f64, p: &[f64], q: &[f64]) -> Vec<f64> {
    p.iter().zip(q).map(|(x, y)| rate * x + (1.0 - rate) * y).collect()
}

/// P(x) ∝ e^{−weight(|x − centre|)} on the integers from −`reach` to `reach`.
fn integers(reach: i32, centre: i32, weight: impl Fn(f64) -> f64) -> Vec<f64> {
    let masses = (-reach..=reach).map(|x| (-weight(f64::from((x - centre).abs()))).exp());
    let masses: Vec<f64> = masses.collect();
    let total: f64 = masses.iter().sum();
    masses.iter().map(|m| m / total).collect()
}

/// Each brute-force twin: outcomes under P and Q, the mechanism, and its adjacency.
fn twins() -> Vec<(Vec<f64>, Vec<f64>, Mechanism, Adjacency)> {
    let sampled =
        |mechanism| Mechanism::PoissonSampled { rate: short::rate(0.2), mechanism: Box::new(mechanism) };
    let normal = |centre| integers(60, centre, |x| x * x / 8.0);
    let exponential = |centre| integers(110, centre, |x| x / 2.5);
    let bell = Mechanism::DiscreteGaussian { sigma: noise(2.0), sensitivity: count(1) };
    let tent = Mechanism::DiscreteLaplace { scale: noise(2.5), sensitivity: count(3) };
    let (three, uniform) = (vec![0.6, 0.2, 0.2], vec![1.0 / 3.0; 3]);
    // Who is not in the batch does not report, which everybody sees.
    let in_batch =
        |reports: &[f64]| -> Vec<f64> { reports.iter().map(|mass| 0.2 * mass).chain([0.8]).collect() };
    vec![
        (normal(1), normal(0), bell.clone(), Adjacency::AddRemove),
        (mixed(0.2, &normal(1), &normal(0)), normal(0), sampled(bell), Adjacency::AddRemove),
        (exponential(3), exponential(0), tent.clone(), Adjacency::AddRemove),
        (mixed(0.2, &exponential(3), &exponential(0)), exponential(0), sampled(tent), Adjacency::AddRemove),
        (three.clone(), vec![0.2, 0.6, 0.2], response(3, 0.6), Adjacency::ReplaceOne),
        (three.clone(), uniform.clone(), response(3, 0.6), Adjacency::ZeroOut),
        (in_batch(&three), in_batch(&uniform), sampled(response(3, 0.6)), Adjacency::ZeroOut),
    ]
}

#[test]
fn listing_all_outcomes_agrees() {
    for (p, q, mechanism, adjacency) in twins() {
        for (times, epsilon) in [(1, 0.2), (2, 0.3), (3, 0.1), (3, 0.5)] {
            if times == 3 && p.len() > 10 {
                continue;
            }
            let truth = listed_delta(&p, &q, times, epsilon).max(listed_delta(&q, &p, times, epsilon));
            let repeated = mechanism.clone().repeated(count(u64::from(times)));
            let question = Question { mechanism: repeated, adjacency };
            let found = delta_at(&question, short::epsilon(epsilon)).unwrap();
            let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
            // The twin rounds too.
            let width = if truth < 1e-9 { f64::INFINITY } else { 2e-4 };
            assert_holds(truth, (lower - 1e-13, upper + 1e-13), width);
        }
    }
}

/// # mpmath 1.3, 50 digits: quad(P-exp(eps)*Q) right of the root of log(P/Q) = eps,
/// P = (1-q)*npdf(x)+q*npdf(x,1), Q = (1-q)*npdf(x)+q*npdf(x,-1), q = .1, eps = .5
#[test]
fn a_replaced_record_in_a_poisson_batch_has_its_integral() {
    let part = Part::PoissonSampled {
        rate: 0.1,
        part: Box::new(Part::Gaussian { mu: 1.0 }),
        neighbours: Neighbours::Replaced,
    };
    let law = law(&part, Direction::Remove).unwrap();
    let found = bracket(&[(law.clone(), 1.0)], Target::Epsilon(0.5)).unwrap();
    assert_holds(0.003341971791013806, (found.lower, found.upper), 1e-11);
    // Twice: a plain sum over the plane, whose own error is far below the width.
    let found = bracket(&[(law, 2.0)], Target::Epsilon(0.5)).unwrap();
    let step = 0.02;
    let line: Vec<(f64, f64)> = (-450..=450)
        .map(|i| {
            let x = f64::from(i) * step;
            let bell = |m: f64| step * (-0.5 * (x - m) * (x - m)).exp() / std::f64::consts::TAU.sqrt();
            (0.9 * bell(0.0) + 0.1 * bell(1.0), 0.9 * bell(0.0) + 0.1 * bell(-1.0))
        })
        .collect();
    let (p, q): (Vec<f64>, Vec<f64>) = line.into_iter().unzip();
    let truth = listed_delta(&p, &q, 2, 0.5);
    assert_holds(truth, (found.lower - 1e-4 * truth, found.upper + 1e-4 * truth), 4e-4);
}

#[test]
fn a_batch_of_fixed_size_amplifies_and_has_a_lower_end_where_a_dataset_shows_one() {
    let rate: f64 = 0.05;
    let sampled = |mechanism| Mechanism::FixedSizeSampled {
        batch: count(50),
        population: count(1000),
        mechanism: Box::new(mechanism),
    };
    let ask = |mechanism, epsilon: f64| {
        let question = Question { mechanism, adjacency: Adjacency::ReplaceOne };
        let found = delta_at(&question, short::epsilon(epsilon)).unwrap();
        (found.lower().map(|lower| lower.0.get()), found.upper().unwrap().0.get())
    };
    // Once: δ′(log(1 + γ(e^ε − 1))) = γ δ(ε).
    let inside = Question { mechanism: gaussian(2.0, 1), adjacency: Adjacency::ReplaceOne };
    let full = delta_at(&inside, short::epsilon(1.2)).unwrap().lower().unwrap().0.get();
    let (attained, found) = ask(sampled(gaussian(2.0, 1)), (rate * 1.2f64.exp_m1()).ln_1p());
    assert_holds(rate * full, (found * (1.0 - 1e-9), found), 1e-8);
    // A single use is attained where all others contribute the opposite.
    assert_holds(rate * full, (attained.unwrap(), found), 1e-8);
    // Three times: the pair of the theorem has three outcomes, listed here from its definition.
    let (high, low) = (0.7, 0.3);
    let raised = (1.0 - rate) * low + rate * high;
    let zero = 1.0 - raised - low;
    let truth = listed_delta(&[raised, low, zero], &[low, raised, zero], 3, 0.04);
    let (attained, found) = ask(sampled(response(2, 0.6)).repeated(count(3)), 0.04);
    assert_eq!(attained, None);
    assert_holds(truth, (found * (1.0 - 2e-4), found), 1e-3);
}

#[test]
fn different_parts_compose() {
    // Two Gaussians of different width are one Gaussian: 50/100 + 30/225 = 0.6333… = μ².
    let both = Mechanism::Composed(vec![gaussian(10.0, 50), gaussian(15.0, 30)]);
    let one = gaussian((1.0f64 / (0.5 + 30.0 / 225.0)).sqrt(), 1);
    let truth = epsilon_of(one, Adjacency::AddRemove, 1e-7).0;
    assert_holds(truth, epsilon_of(both, Adjacency::AddRemove, 1e-7), 1e-4);
    let kinds = Mechanism::Composed(vec![
        gaussian(10.0, 50),
        laplace(20.0, 50),
        response(2, 0.9).repeated(count(10)),
    ]);
    let (lower, upper) = epsilon_of(kinds, Adjacency::ReplaceOne, 1e-6);
    assert!(lower > 0.0 && upper - lower <= 1e-4 * upper);
}

#[test]
fn more_noise_never_costs_more() {
    let uppers = [4.0, 5.0, 6.0].map(|sigma| epsilon_of(gaussian(sigma, 40), Adjacency::AddRemove, 1e-6));
    assert!(uppers[0].0 > uppers[1].1 && uppers[1].0 > uppers[2].1);
}

#[test]
fn a_declared_delta_cannot_be_undercut() {
    let declared = Mechanism::Approximate { epsilon: short::epsilon(0.1), delta: short::delta(1e-8) };
    let question =
        Question { mechanism: declared.clone().repeated(count(100)), adjacency: Adjacency::AddRemove };
    assert!(epsilon_at(&question, short::delta(9.9e-7)).is_err());
    // Kairouz, Oh and Viswanath's sum over the number of uses with the smaller loss, in the same law.
    let (p, q) = (
        [0.1f64.exp(), 1.0].map(|x| x / (1.0 + 0.1f64.exp())),
        [1.0, 0.1f64.exp()].map(|x| x / (1.0 + 0.1f64.exp())),
    );
    let truth = listed_delta(&p, &q, 8, 0.3);
    let pure = short::pure(0.1).repeated(count(8));
    let found = delta_at(&Question { mechanism: pure, adjacency: Adjacency::AddRemove }, short::epsilon(0.3));
    let found = found.unwrap();
    assert_holds(
        truth,
        (found.lower().unwrap().0.get() - 1e-14, found.upper().unwrap().0.get() + 1e-14),
        1e-6,
    );
}

#[test]
fn declared_renyi_curves_are_refused() {
    let curve = RdpCurve::new(vec![(2.0, 0.1)]).unwrap();
    for mechanism in [Mechanism::Zcdp { rho: Rho::new(0.1).unwrap() }, Mechanism::Rdp { curve }] {
        let question = Question { mechanism, adjacency: Adjacency::AddRemove };
        let refusal = epsilon_at(&question, short::delta(1e-6)).unwrap_err();
        assert!(refusal.to_string().ends_with("use rdp"), "{refusal}");
    }
}

/// The laws whose grids are checked one by one.
fn laws_of_all_kinds() -> Vec<Law> {
    let parts = [
        Part::Gaussian { mu: 0.7 },
        Part::Laplace { epsilon: 0.9 },
        Part::Integer { noise: IntegerNoise::Gaussian { sigma: 3.0 }, shift: 2 },
        Part::Integer { noise: IntegerNoise::Laplace { scale: 4.0 }, shift: 3 },
        Part::RandomizedResponse { buckets: 3, noise: 0.4, neighbours: Neighbours::Replaced },
        Part::PoissonSampled {
            rate: 0.3,
            part: Box::new(Part::Gaussian { mu: 1.0 }),
            neighbours: Neighbours::Present,
        },
        Part::PoissonSampled {
            rate: 0.3,
            part: Box::new(Part::Laplace { epsilon: 1.0 }),
            neighbours: Neighbours::Present,
        },
        Part::PoissonSampled {
            rate: 0.3,
            part: Box::new(Part::Gaussian { mu: 1.0 }),
            neighbours: Neighbours::Replaced,
        },
        Part::FixedSizeSampled { rate: 0.3, part: Box::new(Part::Gaussian { mu: 1.0 }) },
        Part::Approximate { epsilon: 0.5, delta: 0.01 },
    ];
    let directions = [Direction::Remove, Direction::Add];
    parts.iter().flat_map(|part| directions.map(|direction| law(part, direction).unwrap())).collect()
}

/// Σ mass (1 − e^{ε−l})₊ + infinite mass.
fn stick(law: &GridLaw, epsilon: f64) -> f64 {
    let payoff = |(i, mass): (usize, &f64)| mass * -(epsilon - law.grid.loss(i)).min(0.0).exp_m1();
    law.masses.iter().enumerate().map(payoff).sum::<f64>() + law.infinite
}

#[test]
fn grids_lie_on_their_side_of_the_exact_curve_and_close_in() {
    for law in laws_of_all_kinds() {
        let (low, high) = ends(&law, 1e-12, BOTTOM);
        let worst_gap = |spacing: f64| {
            let cut = Cut::new(&law, Grid::covering(low, high, spacing, 0.0));
            let (above, below) = (cut.dominating(), cut.dominated());
            let gaps = (-40..=40).map(|i| {
                let epsilon = 0.0437 * f64::from(i);
                let (upper, lower) = (stick(&above, epsilon), stick(&below, epsilon));
                let truth = once::delta_at(&law, epsilon, Side::Upper);
                assert!(
                    upper >= truth - 1e-13 && lower <= truth + 1e-13,
                    "{law:?} {epsilon}: {lower} {truth} {upper}"
                );
                upper - lower
            });
            gaps.fold(0.0, f64::max)
        };
        let (wide, narrow) = (worst_gap(0.0123), worst_gap(0.0123 / 8.0));
        // Smooth laws close in with the square of the spacing; lone atoms off the grid only in proportion to it.
        let is_smooth = law.atoms.is_empty() && !law.upper_only;
        let most = if is_smooth { wide / 30.0 + 1e-11 } else { 0.0123 / 8.0 };
        assert!(narrow <= most, "{law:?}: {wide} {narrow}");
    }
}

/// The planted mutant: were the two grid laws exchanged, the closed form would lie outside.
#[test]
fn exchanged_sides_are_caught() {
    let laws = [(law(&Part::Gaussian { mu: 0.05 }, Direction::Remove).unwrap(), 1000.0)];
    let (target, truth) = (Target::Delta(1e-12), 11.99209105496782);
    let tilt = choose(&rough(&laws, 1e-25), target);
    let fft = RealFft::new(1 << 14);
    let (low, high) = ends(&laws[0].0, 1e-25, BOTTOM);
    let spacing = (tilt.high - tilt.low) / (fft.len() as f64 - 8.0);
    let cut = Cut::new(&laws[0].0, Grid::covering(low, high, spacing, 0.0));
    let answer = |law: GridLaw, side| compose(&[(law, 1000.0)], &tilt, &fft, side).epsilon_at(1e-12);
    assert!(answer(cut.dominating(), Side::Upper) >= truth && answer(cut.dominated(), Side::Lower) <= truth);
    assert!(answer(cut.dominated(), Side::Upper) < truth && answer(cut.dominating(), Side::Lower) > truth);
}

/// Without the tilt the transform's round-off hides δ = 1e-30; the bracket says so instead of hiding it.
#[test]
fn without_a_tilt_the_bracket_opens() {
    let laws = [(law(&Part::Gaussian { mu: 0.05 }, Direction::Remove).unwrap(), 1000.0)];
    let tilt = choose(&rough(&laws, 1e-42), Target::Delta(1e-30));
    let flat = Tilt { c: 1e-6, low: -15.0, high: 30.0, below: -10.0, above: 12.0, ..tilt };
    let at = |tilt: &Tilt| {
        let (upper, lower) = curves(&laws, tilt, 1e-42, &RealFft::new(1 << 14));
        (lower.delta_at(19.08524694734041), upper.delta_at(19.08524694734041))
    };
    let (good, bad) = (at(&tilt), at(&flat));
    assert!(good.0 <= 1e-30 && good.1 >= 1e-30 && good.1 < 1.1e-30, "{good:?}");
    assert!(bad.0 <= 1e-30 && bad.1 >= 1e-20, "{bad:?}");
}

/// Bounds of one truth on many grids: the largest lower one may not pass the least upper one. This is how an underflow
/// under steep tilts was found (randomized response with a loss far above log 1/δ).
#[test]
fn sides_never_cross_on_any_grid() {
    let sampled = |rate: f64, part: Part| Part::PoissonSampled {
        rate,
        part: Box::new(part),
        neighbours: Neighbours::Present,
    };
    let blank = |buckets, noise| Part::RandomizedResponse { buckets, noise, neighbours: Neighbours::Present };
    let cases = [
        (blank(5, 1.656e-4), 6.0, 4.4e-6),
        (blank(4, 0.0837), 275.0, 1.06e-14),
        (Part::Laplace { epsilon: 0.53 }, 24.0, 5.6e-15),
        (Part::Approximate { epsilon: 3.0, delta: 6.2e-10 }, 52.0, 4.1e-8),
        (sampled(2.4e-4, Part::Laplace { epsilon: 0.085 }), 4.0, 5.6e-13),
        (
            sampled(0.026, Part::Integer { noise: IntegerNoise::Laplace { scale: 0.218 }, shift: 1 }),
            14.0,
            7.5e-7,
        ),
        (sampled(2.1e-3, Part::Gaussian { mu: 3.5 }), 124.0, 5.1e-5),
        (sampled(0.9, Part::Integer { noise: IntegerNoise::Gaussian { sigma: 2.0 }, shift: 1 }), 30.0, 1e-9),
    ];
    for (part, times, delta) in cases {
        for direction in [Direction::Remove, Direction::Add] {
            let laws = [(law(&part, direction).unwrap(), times)];
            let top = 1e-10 * delta / times;
            let tilt = choose(&rough(&laws, top), Target::Delta(delta));
            let mut found = Sides { lower: 0.0, upper: f64::INFINITY, upper_only: false };
            for bits in 10..=15 {
                let (upper, lower) = curves(&laws, &tilt, top, &RealFft::new(1 << bits));
                let (lower, upper) = (lower.epsilon_at(delta), upper.epsilon_at(delta));
                found = found.narrowed(Sides { lower, upper, upper_only: false });
            }
            assert!(found.lower <= found.upper, "{part:?} {direction:?}: {found:?}");
        }
    }
}
