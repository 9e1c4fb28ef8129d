//! The union of sums of ε and a Gaussian pool: how much it grants, whether its prices dominate by a slow reference, and whether any
//! adaptive analyst gets past it.

use veracity_account::{
    Question, calibrate, delta_at,
    filter::{Amounts, Budget, Filter, Kind, Quote, largest_pure},
};
use veracity_core::{Adjacency, Buckets, Mechanism, numerics::normal};
use veracity_testkit::short::{
    self, Dice, count, delta, dp_sgd, epsilon, gaussian, laplace, noise, probability, pure,
};

fn of(mechanism: Mechanism) -> Question {
    Question { mechanism, adjacency: Adjacency::AddRemove }
}

/// The share of δ that a ledger sets aside.
const SHARE: f64 = 0.05;

fn union(e: f64, d: f64, share: f64) -> Filter {
    let budget = Budget { epsilon: epsilon(e), delta: delta(d) };
    Filter::new(Kind::Union { reserve: delta(d * share) }, budget, Adjacency::AddRemove).unwrap()
}

/// How many of the same question a filter grants.
fn grants(mut filter: Filter, mechanism: Mechanism) -> u32 {
    let quote = filter.quote(&of(mechanism)).unwrap();
    let mut granted = 0;
    loop {
        let cost = filter.price(&quote).unwrap();
        assert!(filter.covers(&quote, &cost).unwrap(), "{granted}");
        if filter.take(&cost).is_err() {
            return granted;
        }
        granted += 1;
    }
}

/// The numbers of docs/ledger.md. A zCDP filter grants 488, 19, 6 and 0 of the first four, a Rényi filter at the best order 492, 23, 11
/// and 3, and the exact composition of queries that do not adapt is 564, 26, 11 and 3.
#[test]
fn a_union_grants_more_than_either_filter() {
    let mut found = Vec::new();
    for (name, mechanism, least) in [
        ("laplace 0.01", laplace(100.0), 555),
        ("laplace 0.05", laplace(20.0), 20),
        ("laplace 0.09", laplace(1.0 / 0.09), 11),
        ("laplace 0.3", laplace(1.0 / 0.3), 3),
        ("gaussian 0.01", gaussian(100.0), 555),
        ("gaussian 0.05", gaussian(20.0), 22),
        ("gaussian 0.1", gaussian(10.0), 5),
    ] {
        let granted = grants(union(1.0, 1e-6, SHARE), mechanism);
        println!("{name}: {granted} of (1, 1e-6)");
        found.push((name, granted, least));
    }
    assert!(found.iter().all(|(_, granted, least)| granted >= least), "{found:?}");
    let training = |noise| Mechanism::sampled_gaussian(short::rate(0.01), noise, count(1000));
    let sigma = calibrate::noise(&training, Adjacency::AddRemove, epsilon(0.5), delta(1e-5)).unwrap();
    let granted = grants(union(3.0, 1e-5, SHARE), training(sigma));
    println!("DP-SGD of (0.5, 1e-5): {granted} of (3, 1e-5)");
    assert!(granted >= 20, "{granted}");
}

/// Outcomes of a mechanism with their probabilities on two datasets.
type Outcomes = Vec<(f64, f64)>;

/// Cut into cells: what is post-processed leaks no more, and hardly less.
fn laplace_outcomes(e: f64, cells: u32) -> Outcomes {
    let mut outcomes = vec![(0.5, 0.5 * (-e).exp()), (0.5 * (-e).exp(), 0.5)];
    let width = e / f64::from(cells);
    outcomes.extend((0..cells).map(|i| {
        let x = f64::from(i) * width;
        let fall = -(-width).exp_m1();
        (0.5 * (-x).exp() * fall, 0.5 * (x + width - e).exp() * fall)
    }));
    outcomes
}

fn discrete_laplace_outcomes(scale: f64, shift: i64) -> Outcomes {
    let p = |k: i64| (0.5 / scale).tanh() * (-(k.abs() as f64) / scale).exp();
    let most = (60.0 * scale) as i64;
    (-most..=most).map(|k| (p(k), p(k - shift))).collect()
}

fn response_outcomes(e: f64, d: f64) -> Outcomes {
    let right = (1.0 - d) / (1.0 + (-e).exp());
    vec![(right, 1.0 - d - right), (1.0 - d - right, right), (d, 0.0), (0.0, d)]
}

/// The difference of two Poisson variables, by the double sum.
fn skellam_outcomes(variance: f64, shift: i64) -> Outcomes {
    let rate = 0.5 * variance;
    let log_factorial = |n: i64| (1..=n).map(|k| (k as f64).ln()).sum::<f64>();
    let most = (rate + 14.0 * rate.sqrt()) as i64 + 20;
    let poisson: Vec<f64> =
        (0..=most).map(|n| (n as f64 * rate.ln() - rate - log_factorial(n)).exp()).collect();
    let p = |x: i64| -> f64 {
        (0..=most)
            .filter(|n| (0..=most).contains(&(n + x)))
            .map(|n| poisson[n as usize] * poisson[(n + x) as usize])
            .sum()
    };
    (-60 - shift..=60 + shift).map(|x| (p(x), p(x - shift))).collect()
}

/// A Poisson-sampled Gaussian, cut into cells; then so many steps.
fn sampled_outcomes(rate: f64, sigma: f64, steps: u32, cells: u32) -> Outcomes {
    let cut = |i: u32| -9.0 + (18.0 + 1.0 / sigma) * f64::from(i) / f64::from(cells);
    let mass = |low: f64, high: f64| match low > 0.0 {
        true => normal::cdf(-low) - normal::cdf(-high),
        false => normal::cdf(high) - normal::cdf(low),
    };
    let one: Outcomes = (0..cells)
        .map(|i| {
            let (low, high) = (cut(i), cut(i + 1));
            let q = mass(low, high);
            ((1.0 - rate) * q + rate * mass(low - 1.0 / sigma, high - 1.0 / sigma), q)
        })
        .collect();
    (1..steps).fold(one.clone(), |all, _| {
        all.iter().flat_map(|(p, q)| one.iter().map(move |(r, s)| (p * r, q * s))).collect()
    })
}

/// H_z of N(√b), straight from its formula.
fn gaussian_stick(b: f64, t: f64) -> f64 {
    if b == 0.0 {
        return (-t.exp_m1()).max(0.0);
    }
    let mu = b.sqrt();
    (normal::cdf(0.5 * mu - t / mu) - t.exp() * normal::cdf(-0.5 * mu - t / mu)).max(0.0)
}

/// By how much the outcomes beside N(√after) exceed N(√before), in both directions, at the worst of 400 orders; the reference.
fn excess(outcomes: &Outcomes, before: f64, after: f64) -> f64 {
    let far = 0.5 * before + 40.0 * before.sqrt();
    let mut worst = f64::NEG_INFINITY;
    for at in -200..=200 {
        // Closer together near zero, and far into both tails.
        let t = far * (f64::from(at) / 200.0) * (f64::from(at) / 200.0).abs();
        for swapped in [false, true] {
            let term = |&(p, q): &(f64, f64)| {
                let (p, q) = if swapped { (q, p) } else { (p, q) };
                match (p > 0.0, q > 0.0) {
                    (false, _) => 0.0,
                    (true, false) => p,
                    (true, true) => p * gaussian_stick(after, t + (q / p).ln()),
                }
            };
            worst = worst.max(outcomes.iter().map(term).sum::<f64>() - gaussian_stick(before, t));
        }
    }
    worst
}

/// The price against direct integration, at 400 orders of each direction; a price 2% lower must fail, so that no price is lower than
/// what it says and the check can fail.
#[test]
fn prices_dominate_by_direct_integration() {
    let scale = |e: f64| laplace(1.0 / e);
    let sampled = Mechanism::PoissonSampled { rate: short::rate(0.2), mechanism: Box::new(gaussian(4.0)) };
    let three = Mechanism::RandomizedResponse { buckets: Buckets::new(2).unwrap(), noise: probability(0.9) };
    let right = 1.0 - 0.9 + 0.45;
    let approximate = Mechanism::Approximate { epsilon: epsilon(0.1), delta: delta(1e-8) };
    let two_sums = Mechanism::Composed(vec![scale(0.04), scale(0.07)]);
    let pairs = |one: Outcomes, other: Outcomes| -> Outcomes {
        one.iter().flat_map(|(p, q)| other.iter().map(move |(r, s)| (p * r, q * s))).collect()
    };
    let cases: Vec<(&str, Mechanism, Outcomes, (f64, f64))> = vec![
        ("laplace 0.01", scale(0.01), laplace_outcomes(0.01, 200), (1.0, 1e-6)),
        ("laplace 0.05", scale(0.05), laplace_outcomes(0.05, 200), (1.0, 1e-6)),
        ("laplace 0.5", scale(0.5), laplace_outcomes(0.5, 400), (4.0, 1e-5)),
        ("two laplace", two_sums, pairs(laplace_outcomes(0.04, 60), laplace_outcomes(0.07, 60)), (1.0, 1e-5)),
        (
            "discrete laplace",
            Mechanism::DiscreteLaplace { scale: noise(30.0), sensitivity: count(2) },
            discrete_laplace_outcomes(30.0, 2),
            (1.0, 1e-6),
        ),
        ("randomized response", three, vec![(right, 1.0 - right), (1.0 - right, right)], (2.0, 1e-6)),
        ("pure", pure(0.1), response_outcomes(0.1, 0.0), (1.0, 1e-6)),
        ("declared", approximate, response_outcomes(0.1, 1e-8), (1.0, 1e-6)),
        (
            "skellam",
            Mechanism::Skellam { variance: noise(80.0), sensitivity: count(1) },
            skellam_outcomes(80.0, 1),
            (2.0, 1e-6),
        ),
        ("sampled gaussian", sampled, sampled_outcomes(0.2, 4.0, 1, 4000), (2.0, 1e-6)),
    ];
    for (name, mechanism, outcomes, (e, d)) in cases {
        let adjacency = match mechanism {
            Mechanism::RandomizedResponse { .. } => Adjacency::ReplaceOne,
            _ => Adjacency::AddRemove,
        };
        let budget = Budget { epsilon: epsilon(e), delta: delta(d) };
        let filter = Filter::new(Kind::Union { reserve: delta(d * SHARE) }, budget, adjacency).unwrap();
        let quote = filter.quote(&Question { mechanism, adjacency }).unwrap();
        // Fresh, and with little left.
        let limit = filter.limit().clone();
        let fresh = filter.price(&quote).unwrap();
        let sum = (limit.sum - 3.0 * fresh.sum).max(0.0);
        let used = Amounts { sum, delta: 0.0, slots: Vec::new(), pure: f64::INFINITY };
        let late = Filter::restore(filter.kind().clone(), budget, adjacency, limit, used).unwrap();
        for filter in [filter, late] {
            let cost = filter.price(&quote).unwrap();
            let left = filter.left().sum;
            let above = excess(&outcomes, left, left - cost.sum);
            assert!(above <= cost.delta + 1e-13, "{name} of {left}: {above:e} {cost}");
            // One step of sampling leaks less in one direction than the profile of both says, and its tail costs δ twice.
            let part = match name {
                "sampled gaussian" => 0.9,
                _ => 0.98,
            };
            let mutant = excess(&outcomes, left, left - part * cost.sum);
            assert!(mutant > cost.delta + 1e-11, "{name} of {left}: a lower price passes, {mutant:e} {cost}");
            assert!(filter.covers(&quote, &cost).unwrap());
            let less = Amounts { sum: 0.98 * cost.sum, ..cost.clone() };
            let tail = Amounts { delta: 0.5 * cost.delta, ..cost.clone() };
            assert!(!filter.covers(&quote, &less).unwrap(), "{name}");
            assert!(!filter.covers(&quote, &tail).unwrap() || cost.delta == 0.0, "{name}");
        }
    }
}

/// Below its own trade-off price at every state, and never free.
#[test]
fn a_price_is_between_nothing_and_the_price_alone() {
    let gdp = |e: f64, d: f64| {
        let budget = Budget { epsilon: epsilon(e), delta: delta(d) };
        Filter::new(Kind::Gdp { reserve: delta(d * SHARE) }, budget, Adjacency::AddRemove).unwrap()
    };
    for (e, d, own) in [(1.0, 1e-6, 0.01), (1.0, 1e-6, 0.2), (0.1, 1e-9, 0.001), (8.0, 1e-4, 1.0)] {
        for mechanism in [laplace(1.0 / own), pure(own), Mechanism::Exponential { epsilon: epsilon(own) }] {
            let union = union(e, d, SHARE);
            let price = union.price(&union.quote(&of(mechanism.clone())).unwrap()).unwrap();
            let alone = gdp(e, d);
            let alone = alone.price(&alone.quote(&of(mechanism)).unwrap()).unwrap();
            assert!(price.sum > 0.0 && price.sum <= alone.sum, "{own} of ({e}, {d}): {price} {alone}");
            assert!(price.delta <= 1e-6 * d || price.sum < 0.99 * alone.sum);
        }
    }
}

/// What is admitted by one filter is recorded in the other, and a limit that was passed stays passed.
#[test]
fn a_filter_that_was_passed_stays_passed() {
    let mut filter = union(1.0, 1e-6, SHARE);
    // Admitted by the sum alone: the pool is over, also for a request that would fit into it.
    filter.charge(&of(laplace(2.0))).unwrap();
    assert!(filter.spent().sum > filter.limit().sum);
    assert!(filter.charge(&of(gaussian(100.0))).is_err());
    filter.charge(&of(laplace(2.1))).unwrap();
    assert!(filter.charge(&of(laplace(10.0))).is_err());
    // Admitted by the pool alone: the sum is over, for pure requests too.
    let mut filter = union(1.0, 1e-6, SHARE);
    filter.charge(&of(gaussian(100.0))).unwrap();
    assert_eq!(filter.spent().pure, f64::INFINITY);
    assert!(filter.charge(&of(laplace(2.0))).is_err());
    filter.charge(&of(laplace(10.0))).unwrap();
    // A denied request leaves no trace.
    let before = filter.clone();
    assert!(filter.charge(&of(pure(5.0))).is_err());
    assert_eq!(filter, before);
    // The largest pure ε that is said to fit does, and one a little larger than what the pool holds does not.
    let fits = largest_pure(&filter.left());
    assert!(filter.clone().charge(&of(pure(fits))).is_ok(), "{fits}");
    assert!(filter.clone().charge(&of(pure(1.5 * fits))).is_err());
}

#[test]
fn a_union_without_a_reserve_charges_what_noise_costs_alone() {
    let filter = union(1.0, 1e-6, 0.0);
    let price = filter.price(&filter.quote(&of(laplace(20.0))).unwrap()).unwrap();
    assert_eq!(price.delta, 0.0);
    assert!((price.sum / 0.0025 - 1.55).abs() < 0.05, "{price}");
}

/// A mechanism with few outcomes, and its question.
struct Toy {
    question: Question,
    outcomes: Outcomes,
}

fn toy(mechanism: Mechanism, outcomes: Outcomes) -> Toy {
    let outcomes = outcomes.into_iter().filter(|(p, q)| *p > 0.0 || *q > 0.0).collect();
    Toy { question: of(mechanism), outcomes }
}

/// A Gaussian of shift μ, of which the analyst sees one of five cells.
fn cells_of_gaussian(mu: f64) -> Toy {
    let cuts = [f64::NEG_INFINITY, -1.5, -0.4, 0.4, 1.5, f64::INFINITY];
    let mass = |shift: f64, i: usize| normal::cdf(cuts[i + 1] + shift) - normal::cdf(cuts[i] + shift);
    let outcomes = (0..5).map(|i| (mass(0.5 * mu, i), mass(-0.5 * mu, i))).collect();
    toy(gaussian(1.0 / mu), outcomes)
}

fn laplace_toy(e: f64) -> Toy {
    toy(laplace(1.0 / e), laplace_outcomes(e, 1))
}

fn reveal(d: f64) -> Toy {
    let mechanism = Mechanism::Approximate { epsilon: epsilon(0.0), delta: delta(d) };
    toy(mechanism, vec![(d, 0.0), (0.0, d), (1.0 - d, 1.0 - d)])
}

/// Which questions may follow which: decided once for each sequence of questions, as no gate looks at answers.
struct Paths(Vec<Option<Paths>>);

impl Paths {
    fn of(
        toys: &[Toy],
        depth: u32,
        asked: &mut Vec<usize>,
        gate: &mut impl FnMut(&[usize]) -> bool,
    ) -> Paths {
        let mut next = Vec::new();
        for at in 0..toys.len() {
            asked.push(at);
            next.push((depth > 0 && gate(asked)).then(|| Paths::of(toys, depth - 1, asked, gate)));
            asked.pop();
        }
        Paths(next)
    }

    /// The largest Σ (p − z q)₊ of any plan that chooses each question from the answers.
    fn worst(&self, toys: &[Toy], z: f64) -> f64 {
        let mut most = (1.0 - z).max(0.0);
        for (toy, next) in toys.iter().zip(&self.0) {
            let Some(next) = next else { continue };
            let after = |&(p, q): &(f64, f64)| if p > 0.0 { p * next.worst(toys, z * q / p) } else { 0.0 };
            most = most.max(toy.outcomes.iter().map(after).sum());
        }
        most
    }
}

/// The union's decisions, for each sequence of questions.
fn union_paths(toys: &[Toy], filter: &Filter, depth: u32) -> Paths {
    let quotes: Vec<Quote> = toys.iter().map(|toy| filter.quote(&toy.question).unwrap()).collect();
    let mut states: Vec<Filter> = vec![filter.clone()];
    Paths::of(toys, depth, &mut Vec::new(), &mut |asked| {
        states.truncate(asked.len());
        let mut state = states[asked.len() - 1].clone();
        let cost = state.price(&quotes[asked[asked.len() - 1]]).unwrap();
        let granted = state.take(&cost).is_ok();
        states.push(state);
        granted
    })
}

/// The control: composes the past exactly and compares with the budget.
fn natural_paths(toys: &[Toy], budget: Budget, depth: u32) -> Paths {
    Paths::of(toys, depth, &mut Vec::new(), &mut |asked| {
        let all = asked.iter().map(|at| toys[*at].question.mechanism.clone()).collect();
        let found = delta_at(&of(Mechanism::Composed(all)), budget.epsilon, veracity_account::Method::Exact);
        found.is_ok_and(|found| found.upper().is_some_and(|upper| upper.0 <= budget.delta))
    })
}

/// Every adaptive plan of four questions, mixed. The control leaks more than the budget, the union never.
#[test]
fn no_tree_of_mixed_questions_gets_past_the_union() {
    let mut dice = Dice::new(33);
    let mut draw =
        |low: f64, high: f64| low + (high - low) * dice.below(1 << 20) as f64 / (1u64 << 20) as f64;
    let (mut nearest, mut control) = (0.0f64, 0.0f64);
    for round in 0..12 {
        let e = draw(0.4, 1.5);
        let d = 10f64.powf(draw(-4.0, -1.5));
        let own = e * draw(0.2, 0.6);
        let toys = [
            toy(pure(own), response_outcomes(own, 0.0)),
            laplace_toy(e * draw(0.2, 0.5)),
            cells_of_gaussian(e * draw(0.1, 0.4)),
            reveal(d * draw(0.1, 0.5)),
        ];
        let budget = Budget { epsilon: epsilon(e), delta: delta(d) };
        let filter = union(e, d, 0.4);
        let found = union_paths(&toys, &filter, 4).worst(&toys, e.exp());
        assert!(found <= d, "{round}: {found:e} of {d:e} at {e}");
        nearest = nearest.max(found / d);
        control = control.max(natural_paths(&toys, budget, 3).worst(&toys, e.exp()) / d);
    }
    println!("the worst tree gets {nearest:.3} of the budget; composing the past exactly gives {control:.3}");
    assert!(nearest > 0.3, "the attack is a formality: {nearest}");
    assert!(control > 1.0, "{control}");
    // The known counterexample, with all of the budget.
    let toys = [
        toy(pure(0.5), response_outcomes(0.5, 0.0)),
        toy(pure(0.500_025_8), response_outcomes(0.500_025_8, 0.0)),
        reveal(9.999e-6),
    ];
    let budget = Budget { epsilon: epsilon(1.0), delta: delta(1e-5) };
    let natural = natural_paths(&toys, budget, 2).worst(&toys, 1f64.exp());
    assert!((1.37e-5..1.385e-5).contains(&natural), "{natural:e}");
    let ours = union_paths(&toys, &union(1.0, 1e-5, 0.5), 4).worst(&toys, 1f64.exp());
    assert!(ours <= 1e-5, "{ours:e}");
}

/// The price of DP-SGD for any number of steps, against the reference of two steps above and the exact composition: what the pool
/// admits is within the budget when all of it is composed.
#[test]
fn what_fits_composes_to_less_than_the_budget() {
    let mut filter = union(3.0, 1e-5, SHARE);
    let mut all = Vec::new();
    for mechanism in [dp_sgd(0.01, 2.0, 500), laplace(10.0), gaussian(8.0), dp_sgd(0.02, 4.0, 300), pure(0.1)]
    {
        for _ in 0..3 {
            if filter.charge(&of(mechanism.clone())).is_ok() {
                all.push(mechanism.clone());
            }
        }
    }
    assert!(all.len() > 8, "{}", all.len());
    let found =
        delta_at(&of(Mechanism::Composed(all)), epsilon(3.0), veracity_account::Method::Exact).unwrap();
    assert!(found.upper().unwrap().0.get() <= 1e-5);
}

/// A training of few steps at little noise has rare losses that are many deviations large. One with more steps costs no less.
#[test]
fn rare_large_losses_cost_no_more_than_more_steps() {
    let price = |steps| {
        let mut filter = union(10.0, 1e-6, SHARE);
        filter.charge(&of(dp_sgd(0.01, 0.8, steps))).map(|cost| cost.sum)
    };
    let prices = [8, 16, 32, 50].map(|steps| price(steps).unwrap_or(f64::INFINITY));
    assert!(prices.windows(2).all(|pair| pair[0] <= pair[1] * 1.01) && prices[3].is_finite(), "{prices:?}");
}

/// Every charge counts in both filters of a union, so a pool that was spent beside no ε at all is not of this filter.
#[test]
fn a_union_does_not_come_back_with_half_of_what_was_spent() {
    let filter = union(1.0, 1e-6, SHARE);
    let budget = Budget { epsilon: epsilon(1.0), delta: delta(1e-6) };
    let restored = |sum: f64, delta: f64, pure: f64| {
        let spent = Amounts { sum, delta, slots: Vec::new(), pure };
        let limit = filter.limit().clone();
        Filter::restore(filter.kind().clone(), budget, Adjacency::AddRemove, limit, spent)
    };
    assert!(restored(0.01, 0.0, 0.0).is_err() && restored(0.0, 1e-9, 0.0).is_err());
    assert!(restored(0.0, 0.0, 0.0).is_ok() && restored(0.01, 0.0, 0.1).is_ok());
    assert!(restored(0.01, 1e-9, f64::INFINITY).is_ok());
}
