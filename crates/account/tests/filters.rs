//! Filters under attack: the worst adaptive analyst over small mechanisms, found by trying every choice after every answer.

use veracity_account::{
    Method, Question, delta_at, epsilon_at,
    filter::{Admission, Amounts, Budget, Filter, Kind},
};
use veracity_core::{Adjacency, Buckets, Count, GdpMu, Mechanism, Rho};
use veracity_testkit::short::{self, count, delta, epsilon, gaussian, laplace, probability, pure};

fn under(mechanism: Mechanism) -> Question {
    Question { mechanism, adjacency: Adjacency::ReplaceOne }
}

fn budget(e: f64, d: f64) -> Budget {
    Budget { epsilon: epsilon(e), delta: delta(d) }
}

fn filter(kind: Kind, e: f64, d: f64) -> Filter {
    Filter::new(kind, budget(e, d), Adjacency::ReplaceOne).unwrap()
}

/// A mechanism with few outcomes: what a filter is told of it, and its outcomes' chances on two datasets.
struct Toy {
    question: Question,
    outcomes: Vec<(f64, f64)>,
}

/// The worst mechanism that is (ε, δ)-private.
fn response(e: f64, d: f64) -> Toy {
    let mechanism =
        if d == 0.0 { pure(e) } else { Mechanism::Approximate { epsilon: epsilon(e), delta: delta(d) } };
    let truthful = (1.0 - d) / (1.0 + (-e).exp());
    let mut outcomes = vec![(truthful, 1.0 - d - truthful), (1.0 - d - truthful, truthful)];
    if d > 0.0 {
        outcomes.extend([(d, 0.0), (0.0, d)]);
    }
    Toy { question: under(mechanism), outcomes }
}

/// Two points whose losses differ by the range.
fn exponential(range: f64, share: f64) -> Toy {
    let t = share * range;
    let p = (range.exp() - t.exp()) / (range.exp() - 1.0);
    let question = under(Mechanism::Exponential { epsilon: epsilon(range) });
    Toy { question, outcomes: vec![(p, p * (-t).exp()), (1.0 - p, (1.0 - p) * (range - t).exp())] }
}

/// Randomized response over three buckets, one of which is not concerned.
fn three_buckets(noise: f64) -> Toy {
    let mechanism =
        Mechanism::RandomizedResponse { buckets: Buckets::new(3).unwrap(), noise: probability(noise) };
    let (truthful, other) = (1.0 - noise + noise / 3.0, noise / 3.0);
    Toy { question: under(mechanism), outcomes: vec![(truthful, other), (other, truthful), (other, other)] }
}

/// Something that decides what may still be asked.
trait Gate: Clone {
    fn pass(&mut self, question: &Question) -> bool;
}

impl Gate for Filter {
    fn pass(&mut self, question: &Question) -> bool {
        self.charge(question).is_ok()
    }
}

/// The largest Σ (p − z q)₊ over all adaptive strategies of at most `depth` questions that the gate lets through.
fn worst(gate: &impl Gate, toys: &[Toy], z: f64, depth: u32) -> f64 {
    let mut most = (1.0 - z).max(0.0);
    if depth == 0 {
        return most;
    }
    for toy in toys {
        let mut next = gate.clone();
        if next.pass(&toy.question) {
            let after = |&(p, q): &(f64, f64)| {
                if p == 0.0 { 0.0 } else { p * worst(&next, toys, z * q / p, depth - 1) }
            };
            most = most.max(toy.outcomes.iter().map(after).sum());
        }
    }
    most
}

/// Composes everything so far exactly and compares with the budget: not sound.
#[derive(Clone)]
struct Natural {
    so_far: Vec<Mechanism>,
    budget: Budget,
}

impl Gate for Natural {
    fn pass(&mut self, question: &Question) -> bool {
        self.so_far.push(question.mechanism.clone());
        let whole = under(Mechanism::Composed(self.so_far.clone()));
        let found = delta_at(&whole, self.budget.epsilon, Method::Optimal);
        found.is_ok_and(|found| found.upper().unwrap().0 <= self.budget.delta)
    }
}

/// Budget (1, 1e-5). First randomized response at 0.5; on "+" the same at 0.500026, on "−" reveal with probability 1e-5.
#[test]
fn to_compose_what_was_asked_so_far_is_not_a_filter() {
    let toys = [response(0.5, 0.0), response(0.500_025_8, 0.0), response(0.0, 9.999e-6)];
    let natural = Natural { so_far: Vec::new(), budget: budget(1.0, 1e-5) };
    let found = worst(&natural, &toys, 1f64.exp(), 2);
    assert!((1.37e-5..1.385e-5).contains(&found), "{found:e}");
    // The same search is powerless against each filter.
    for kind in [
        Kind::Basic { each: delta(0.0) },
        Kind::Zcdp { reserve: delta(5e-6) },
        Kind::Gdp { reserve: delta(5e-6) },
        Kind::Product {
            mu: GdpMu::new(0.0).unwrap(),
            reserve: delta(2e-6),
            slots: vec![(pure(0.500_01), count(2))],
        },
    ] {
        let gate = filter(kind.clone(), 1.0, 1e-5);
        let found = worst(&gate, &toys, 1f64.exp(), 4);
        assert!(found <= 1e-5, "{kind:?}: {found:e}");
    }
}

/// Toys that every kind can price, of several sizes.
fn toys() -> Vec<Toy> {
    vec![response(0.4, 0.0), response(0.25, 2e-3), exponential(0.9, 0.4), three_buckets(0.8)]
}

#[test]
fn no_adaptive_analyst_gets_past_a_filter() {
    let slots = vec![(pure(0.4), count(3)), (three_buckets(0.8).question.mechanism, count(2))];
    let product = Kind::Product { mu: GdpMu::new(0.3).unwrap(), reserve: delta(4e-3), slots };
    let question = under(Mechanism::Composed(vec![
        Mechanism::Gdp { mu: GdpMu::new(0.3 * (1.0 + 1e-11)).unwrap() },
        Mechanism::Approximate { epsilon: epsilon(0.0), delta: delta(4e-3 * (1.0 + 1e-11)) },
        pure(0.4).repeated(count(3)),
        three_buckets(0.8).question.mechanism.repeated(count(2)),
    ]));
    let exact = delta_at(&question, epsilon(1.0), Method::Exact).unwrap().upper().unwrap().0.get();
    // How near to the budget the search must come: it is an attack and not a formality.
    for (kind, d, near) in [
        (Kind::Basic { each: delta(0.0) }, 0.01, 0.2),
        (Kind::Zcdp { reserve: delta(4e-3) }, 0.15, 0.2),
        (Kind::Gdp { reserve: delta(4e-3) }, 0.15, 0.2),
        (Kind::Rdp { order: 3.0 }, 0.15, 0.05),
        (product, exact, 0.5),
    ] {
        let gate = filter(kind.clone(), 1.0, d);
        let mut list = toys();
        if matches!(kind, Kind::Rdp { .. }) {
            list.remove(1); // a declared δ has no divergence, and is refused
        }
        let found = worst(&gate, &list, 1f64.exp(), 5);
        assert!(found <= d, "{kind:?}: {found} {d}");
        assert!(found >= near * d, "{kind:?}: the attack found only {found} of {d}");
    }
}

/// Analysts with mechanisms drawn at random (seeded), against every kind and several budgets.
#[test]
fn no_analyst_drawn_at_random_gets_past_a_filter() {
    let mut state = 12u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for round in 0..30 {
        let e = 0.3 + 2.0 * draw();
        let d = 10f64.powf(-0.5 - 3.0 * draw());
        let toys = [
            response(e * (0.1 + 0.5 * draw()), 0.0),
            response(e * 0.3 * draw(), d * 0.3 * draw()),
            exponential(e * (0.2 + draw()), draw()),
        ];
        let reserve = delta(0.5 * d * draw());
        let kinds = [
            Kind::Basic { each: delta(0.0) },
            Kind::Zcdp { reserve },
            Kind::Gdp { reserve },
            Kind::Rdp { order: 1.5 + 20.0 * draw() },
            Kind::Product {
                mu: GdpMu::new(0.2 * e).unwrap(),
                reserve: delta(0.1 * d),
                slots: vec![(toys[0].question.mechanism.clone(), count(2))],
            },
        ];
        for kind in kinds {
            // Some budgets allow nothing of a kind, or not this product.
            let Ok(gate) = Filter::new(kind.clone(), budget(e, d), Adjacency::ReplaceOne) else { continue };
            let found = worst(&gate, &toys, e.exp(), 5);
            assert!(found <= d, "{round} {kind:?}: {found} {d}");
        }
    }
}

/// Filling a product up exactly leaks exactly its price: the bound is attained.
#[test]
fn a_product_that_is_used_up_costs_its_price() {
    let slots = vec![(pure(0.4), count(4))];
    let whole = under(pure(0.4).repeated(count(4)));
    let price = delta_at(&whole, epsilon(1.0), Method::Exact).unwrap().upper().unwrap().0.get();
    let kind = |slots: &[(Mechanism, Count)]| Kind::Product {
        mu: GdpMu::new(0.0).unwrap(),
        reserve: delta(0.0),
        slots: slots.to_vec(),
    };
    let gate = filter(kind(&slots), 1.0, price);
    let found = worst(&gate, &[response(0.4, 0.0), response(0.3, 0.0)], 1f64.exp(), 6);
    assert!(found <= price && found >= price * (1.0 - 1e-9), "{found} {price}");
    assert!(Filter::new(kind(&slots), budget(1.0, price * 0.999), Adjacency::ReplaceOne).is_err());
}

/// How many of the same question a filter lets through.
fn grants(mut filter: Filter, question: &Question) -> u32 {
    (0..).take_while(|_| filter.charge(question).is_ok()).last().map_or(0, |last: u32| last + 1)
}

/// 100 Laplaces of ε 0.1 at δ 1e-5: 4.22 exactly, 5.54 through μ, 10 by adding up.
#[test]
fn slots_are_sharper_than_sums() {
    let one = Question { mechanism: laplace(10.0), adjacency: Adjacency::AddRemove };
    let all = Question { mechanism: laplace(10.0).repeated(count(100)), ..one.clone() };
    let exact = epsilon_at(&all, delta(1e-5), Method::Exact).unwrap().upper().unwrap().0.get();
    assert!((4.215..4.225).contains(&exact), "{exact}");
    let slots = Kind::Product {
        mu: GdpMu::new(0.0).unwrap(),
        reserve: delta(0.0),
        slots: vec![(laplace(10.0), count(100))],
    };
    let at = |kind: &Kind, e: f64| Filter::new(kind.clone(), budget(e, 1e-5), Adjacency::AddRemove);
    assert_eq!(grants(at(&slots, exact * (1.0 + 1e-9)).unwrap(), &one), 100);
    assert!(at(&slots, exact * (1.0 - 1e-6)).is_err());
    let gdp = Kind::Gdp { reserve: delta(0.0) };
    assert!(grants(at(&gdp, 5.54).unwrap(), &one) >= 100 && grants(at(&gdp, 5.52).unwrap(), &one) < 100);
    let basic = Kind::Basic { each: delta(0.0) };
    assert_eq!(grants(at(&basic, 10.01).unwrap(), &one), 100);
    assert_eq!(grants(at(&basic, exact).unwrap(), &one), 42);
    let zcdp = grants(at(&Kind::Zcdp { reserve: delta(0.0) }, exact).unwrap(), &one);
    assert!((42..100).contains(&zcdp), "{zcdp}");
}

/// 100 Gaussians of μ 0.1 fit into what one of μ 1 costs (4.377 at δ 1e-5), by μ² and by a product; discrete ones of the
/// same size nearly.
#[test]
fn gaussians_are_filtered_exactly() {
    let of = |mechanism: Mechanism| Question { mechanism, adjacency: Adjacency::AddRemove };
    let one = of(gaussian(10.0));
    let discrete = of(Mechanism::DiscreteGaussian { sigma: short::noise(10.0), sensitivity: count(1) });
    let exact = 4.377_178_096;
    let kinds = [
        Kind::Gdp { reserve: delta(1e-12) },
        Kind::Product { mu: GdpMu::new(1.0).unwrap(), reserve: delta(1e-12), slots: Vec::new() },
    ];
    for kind in kinds {
        let made = Filter::new(kind.clone(), budget(exact + 1e-5, 1e-5), Adjacency::AddRemove).unwrap();
        assert_eq!(grants(made.clone(), &one), 100, "{kind:?}");
        assert_eq!(grants(made, &discrete), 99, "{kind:?}");
        let less = Filter::new(kind, budget(exact - 1e-3, 1e-5), Adjacency::AddRemove);
        assert!(less.map_or(0, |less| grants(less, &one)) < 100);
    }
    let zcdp = Kind::Zcdp { reserve: delta(0.0) };
    let zcdp =
        |e: f64| grants(Filter::new(zcdp.clone(), budget(e, 1e-5), Adjacency::AddRemove).unwrap(), &one);
    assert!(zcdp(4.74) >= 99 && zcdp(4.72) < 100, "{} {}", zcdp(4.74), zcdp(4.72));
    // No reserve, no discrete noise: its far tails are charged to it.
    let bare =
        Filter::new(Kind::Gdp { reserve: delta(0.0) }, budget(1.0, 1e-5), Adjacency::AddRemove).unwrap();
    assert!(matches!(bare.admits(&discrete).unwrap(), Admission::Denied { .. }));
}

#[test]
fn training_runs_are_charged_by_one_order_or_a_slot() {
    let run = short::dp_sgd(0.01, 1.0, 100);
    let step = Mechanism::PoissonSampled { rate: short::rate(0.01), mechanism: Box::new(gaussian(1.0)) };
    let run = Question { mechanism: run, adjacency: Adjacency::AddRemove };
    let made = |kind| Filter::new(kind, budget(1.8283, 1e-5), Adjacency::AddRemove).unwrap();
    let by_order = grants(made(Kind::Rdp { order: 8.0 }), &run);
    let slots = vec![(step, count(1000))];
    let product = Kind::Product { mu: GdpMu::new(0.0).unwrap(), reserve: delta(0.0), slots };
    assert_eq!(grants(made(product), &run), 10);
    assert!((2..10).contains(&by_order), "{by_order}");
    assert!(made(Kind::Gdp { reserve: delta(1e-6) }).admits(&run).is_err());
}

#[test]
fn what_is_denied_or_refused_leaves_no_trace() {
    let mut made = filter(Kind::Basic { each: delta(1e-6) }, 1.0, 1e-5);
    made.charge(&under(pure(0.7))).unwrap();
    let before = made.clone();
    let refusal = made.charge(&under(pure(0.4))).unwrap_err().to_string();
    assert!(refusal.contains("over budget"), "{refusal}");
    let moved = Question { mechanism: pure(0.1), adjacency: Adjacency::AddRemove };
    assert!(made.charge(&moved).unwrap_err().to_string().contains("adjacency"));
    let endless = under(Mechanism::Pure { epsilon: epsilon(f64::INFINITY) });
    assert!(made.charge(&endless).is_err());
    assert_eq!(made, before);
    // Rounding never favours the analyst: ten tenths are a little more than one.
    let tenth = under(pure(0.1));
    assert_eq!(grants(filter(Kind::Basic { each: delta(0.0) }, 1.0, 0.0), &tenth), 9);
}

#[test]
fn a_filter_comes_back_as_it_was_and_not_otherwise() {
    let kind = Kind::Zcdp { reserve: delta(1e-6) };
    let mut made = filter(kind.clone(), 2.0, 1e-5);
    made.charge(&under(Mechanism::Zcdp { rho: Rho::new(0.01).unwrap() })).unwrap();
    let back = |spent: Amounts| Filter::resume(kind.clone(), budget(2.0, 1e-5), Adjacency::ReplaceOne, spent);
    assert_eq!(back(made.spent().clone()).unwrap(), made);
    let forged = |sum: f64, delta: f64, slots: Vec<u64>| back(Amounts { slots, ..Amounts::of(sum, delta) });
    for (sum, delta) in [(f64::NAN, 0.0), (0.0, f64::NAN), (-1e-9, 0.0), (f64::INFINITY, 0.0), (0.0, 1e-5)] {
        assert!(forged(sum, delta, Vec::new()).is_err(), "{sum} {delta}");
    }
    assert!(forged(0.0, 0.0, vec![0]).is_err() && forged(1e9, 0.0, Vec::new()).is_err());
    assert!(made.left().sum < made.limit().sum && made.left().delta == made.limit().delta);
}

#[test]
fn budgets_and_kinds_that_make_no_sense_are_refused() {
    let try_out = |kind: Kind, e: f64, d: f64| Filter::new(kind, budget(e, d), Adjacency::ReplaceOne);
    assert!(try_out(Kind::Zcdp { reserve: delta(1e-5) }, 1.0, 1e-5).is_err());
    assert!(try_out(Kind::Gdp { reserve: delta(0.0) }, 1.0, 0.0).is_err());
    assert!(try_out(Kind::Rdp { order: 1.0 }, 1.0, 1e-5).is_err());
    assert!(try_out(Kind::Rdp { order: 1.01 }, 1.0, 1e-5).is_err());
    assert!(try_out(Kind::Basic { each: delta(0.0) }, f64::INFINITY, 1e-5).is_err());
    let nothing = Kind::Product { mu: GdpMu::new(0.0).unwrap(), reserve: delta(0.0), slots: Vec::new() };
    assert!(try_out(nothing, 1.0, 1e-5).is_err());
    let unpriced = vec![(Mechanism::Zcdp { rho: Rho::new(0.1).unwrap() }, Count::ONE)];
    let unpriced = Kind::Product { mu: GdpMu::new(0.0).unwrap(), reserve: delta(0.0), slots: unpriced };
    assert!(try_out(unpriced, 1.0, 1e-5).is_err());
}

/// Charges whose floats add up to the budget fit; a sum that a float cannot hold is rounded up, never down.
#[test]
fn sums_that_floats_hold_exactly_use_up_the_whole_budget() {
    for (each, times) in [(0.5, 2), (0.25, 4), (0.125, 8), (1.0, 1)] {
        let mut gate = filter(Kind::Basic { each: delta(0.0) }, 1.0, 0.0);
        let question = under(pure(each));
        for _ in 0..times {
            gate.charge(&question).unwrap();
        }
        assert!(gate.charge(&under(pure(1e-300))).is_err(), "{each}");
    }
    // 2^-60 beside 1 is lost in a float: the sum is the next float above 1.
    let mut gate = filter(Kind::Basic { each: delta(0.0) }, 1.0, 0.0);
    gate.charge(&under(pure(1.0 - 2f64.powi(-53)))).unwrap();
    assert!(gate.charge(&under(pure(2f64.powi(-52)))).is_err());
}
