//! An analyst who adapts: the rule that composes what was asked and compares it with the budget releases more than the budget;
//! the ledger's rules never do.
//!
//! Questions are randomized response (which dominates every pure mechanism) and "tell all with probability δ" (which, with
//! randomized response, dominates every (ε, δ)): their answers are few, so that the adaptive whole is enumerated.

use crate::door::{Folder, budget, is_long, of};
use veracity_account::{Question, exact, filter::Budget};
use veracity_core::{Adjacency, Count, Delta, Epsilon, GdpMu, Mechanism};
use veracity_ledger::{Ledger, Request, Rule, Terms};
use veracity_testkit::short::{Dice, count};

/// A question: randomized response at ε, or tell all with probability δ.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Query {
    Response(f64),
    Reveal(f64),
}

impl Query {
    fn mechanism(self) -> Mechanism {
        match self {
            Query::Response(epsilon) => Mechanism::Pure { epsilon: Epsilon::new(epsilon).unwrap() },
            Query::Reveal(delta) => {
                Mechanism::Approximate { epsilon: Epsilon::ZERO, delta: Delta::new(delta).unwrap() }
            }
        }
    }

    fn question(self) -> Question {
        of(self.mechanism())
    }

    /// Each answer with its chance on one dataset and on the other.
    fn answers(self) -> Vec<(f64, f64)> {
        match self {
            Query::Response(epsilon) => {
                let right = 1.0 / (1.0 + (-epsilon).exp());
                vec![(right, 1.0 - right), (1.0 - right, right)]
            }
            Query::Reveal(delta) => vec![(delta, 0.0), (0.0, delta), (1.0 - delta, 1.0 - delta)],
        }
    }
}

/// Decides whether a question may follow others.
trait Gate {
    fn admits(&mut self, before: &[Query], next: Query) -> bool;
}

/// Composes what was asked exactly, and compares with the budget.
struct NaiveGate(Budget);

impl Gate for NaiveGate {
    fn admits(&mut self, before: &[Query], next: Query) -> bool {
        let all = before.iter().chain([&next]).map(|asked| asked.mechanism()).collect();
        let question = of(Mechanism::Composed(all));
        let found = exact::delta_at(&question, self.0.epsilon).unwrap();
        found.upper().is_some_and(|upper| upper.0.get() <= self.0.delta.get() * (1.0 + 1e-6))
    }
}

/// A new ledger for each path through the game.
struct LedgerGate {
    folder: Folder,
    terms: Terms,
    made: u64,
    granted: u64,
}

impl Gate for LedgerGate {
    fn admits(&mut self, before: &[Query], next: Query) -> bool {
        self.made += 1;
        let path = self.folder.file(&format!("l{}", self.made));
        let ledger = Ledger::create(&path, self.terms.clone()).unwrap();
        for asked in before {
            let _ = ledger.reserve(Request::new(asked.question(), "before")).unwrap();
        }
        let admitted = ledger.reserve(Request::new(next.question(), "next")).is_ok();
        self.granted += u64::from(admitted);
        drop(ledger);
        std::fs::remove_file(path).unwrap();
        admitted
    }
}

/// δ of the whole game at ε, in the direction from one dataset to the other: Σ (p − e^ε q)₊ over all paths. The analyst plans the
/// next question from the answers; what is denied ends the path.
fn leak(
    gate: &mut dyn Gate,
    epsilon: f64,
    plan: &dyn Fn(&[usize]) -> Option<Query>,
    so_far: (&[Query], &[usize], f64, f64),
) -> f64 {
    let (asked, answers, p, q) = so_far;
    let end = (p - epsilon.exp() * q).max(0.0);
    let Some(next) = plan(answers) else { return end };
    if !gate.admits(asked, next) {
        return end;
    }
    let asked: Vec<Query> = asked.iter().copied().chain([next]).collect();
    let told = next.answers().into_iter().enumerate();
    told.map(|(answer, (on_one, on_other))| {
        let answers: Vec<usize> = answers.iter().copied().chain([answer]).collect();
        leak(gate, epsilon, plan, (&asked, &answers, p * on_one, q * on_other))
    })
    .sum()
}

fn worst(gate: &mut dyn Gate, epsilon: f64, plan: &dyn Fn(&[usize]) -> Option<Query>) -> f64 {
    leak(gate, epsilon, plan, (&[], &[], 1.0, 1.0))
}

/// Randomized response at 0.5; on + another one, on − tell all with probability 1e-5. The second response is the one with which the
/// first has δ = 1e-5 at ε = 1: both answers right, r(0.5) r(ε) (1 − e^(0.5 − ε)).
fn counterexample(answers: &[usize]) -> Option<Query> {
    let right = |epsilon: f64| 1.0 / (1.0 + (-epsilon).exp());
    let delta = |epsilon: f64| right(0.5) * right(epsilon) * -(0.5 - epsilon).exp_m1();
    let (mut low, mut high) = (0.5, 0.6);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if delta(middle) <= 1e-5 { low = middle } else { high = middle }
    }
    assert!((low - 0.500026f64).abs() < 5e-7, "{low}");
    match answers {
        [] => Some(Query::Response(0.5)),
        [0] => Some(Query::Response(low)),
        [1] => Some(Query::Reveal(1e-5)),
        _ => None,
    }
}

fn rules(whole: Budget) -> Vec<Terms> {
    let usual = Terms::new(whole).unwrap();
    let delta = whole.delta.get();
    let pure = |epsilon: f64| Mechanism::Pure { epsilon: Epsilon::new(epsilon).unwrap() };
    let product = |mu: f64, slots: Vec<(Mechanism, Count)>| Rule::Product {
        mu: GdpMu::new(mu).unwrap(),
        reserve: Delta::new(0.4 * delta).unwrap(),
        slots,
    };
    let each = whole.epsilon.get() / 2.0;
    [
        Rule::Sum,
        Rule::Gaussian { reserve: Delta::new(0.5 * delta).unwrap() },
        product(0.0, vec![(pure(each), count(2))]),
        product(0.02 * whole.epsilon.get(), vec![(pure(0.25 * each), count(2)), (pure(each), Count::ONE)]),
    ]
    .map(|rule| Terms { rule, ..usual.clone() })
    .into_iter()
    .chain([usual.clone()])
    .collect()
}

#[test]
fn the_naive_rule_releases_more_than_the_budget_and_ours_never() {
    let whole = budget(1.0, 1e-5);
    let naive = worst(&mut NaiveGate(whole), 1.0, &counterexample);
    println!("the naive rule releases delta {naive:.4e} of 1e-5");
    assert!((naive - 1.378e-5).abs() < 1e-8, "{naive}");
    for terms in rules(whole) {
        let name = format!("adaptive-{}", terms.rule.name());
        let mut ours = LedgerGate { folder: Folder::new(&name), terms, made: 0, granted: 0 };
        let delta = worst(&mut ours, 1.0, &counterexample);
        println!("{name}: delta {delta:.4e}, {} questions granted", ours.granted);
        assert!(delta <= 1e-5, "{name}: {delta}");
    }
}

/// The same with analysts of all kinds: each plans by dice, and asks for as much as is granted.
#[test]
fn no_adaptive_plan_gets_more_than_the_budget() {
    let whole = budget(2.0, 1e-2);
    let mut dice = Dice::new(2602);
    let (mut most, rounds) = (0.0f64, if is_long() { 40 } else { 4 });
    for round in 0..rounds {
        // The questions after each sequence of answers, three deep.
        let drawn: Vec<Query> = (0..40)
            .map(|_| match dice.below(3) {
                0 => Query::Reveal(2e-3 * (1 + dice.below(4)) as f64),
                _ => Query::Response(0.15 * (1 + dice.below(8)) as f64),
            })
            .collect();
        let plan = |answers: &[usize]| {
            let place = answers.iter().fold(answers.len(), |place, answer| 3 * place + answer);
            (answers.len() < 3).then(|| drawn[place % drawn.len()])
        };
        for terms in rules(whole) {
            let name = format!("plans-{}", terms.rule.name());
            let mut ours = LedgerGate { folder: Folder::new(&name), terms, made: 0, granted: 0 };
            let delta = worst(&mut ours, 2.0, &plan);
            most = most.max(delta);
            assert!(delta <= 1e-2, "{name}, round {round}: {delta}");
        }
    }
    println!("the largest delta of {} games is {most:.3e} of 1e-2", 5 * rounds);
    assert!(most > 0.0);
}

/// Which datasets must look alike makes no difference to these questions.
#[test]
fn the_game_is_the_same_from_both_sides() {
    let question = Question { adjacency: Adjacency::ReplaceOne, ..Query::Response(0.5).question() };
    let one = exact::delta_at(&question, Epsilon::new(0.25).unwrap()).unwrap();
    let truth: f64 =
        Query::Response(0.5).answers().iter().map(|(p, q)| (p - 0.25f64.exp() * q).max(0.0)).sum();
    assert!(one.upper().is_some_and(|upper| (upper.0.get() - truth).abs() < 1e-9));
}
