//! Bound against truth against the best possible, as a table in Markdown on stdout.

#[path = "../tests/worlds/mod.rs"]
mod worlds;

use veracity_audit::{
    Counts,
    bound::{FromCounts, FromGuesses, Shown, one_run::Guesses, trade_off},
    threshold::{self, Choice},
};
use veracity_core::Count;
use worlds::{Draws, count, delta, level, truth};

const HEAD: &str = "\
# Bound against truth against the best possible

Made by `cargo run --release -p veracity-audit --example coverage > docs/coverage.md`; seeded, so anyone gets these figures.

Scores are N(μ, 1) with the canary and N(0, 1) without; δ = 1e-5, stated chance of error 5 %. *Truth* is ε of that μ at δ.
*Shown* is the median bound, *ceiling* what an attacker who never errs would have shown with as many trials, *above* the
share of repetitions in which the bound exceeded the truth. `proved` bounds promise at most 5 % there; the others promise
it under what they assume, or not at all: the posterior is always above a truth of zero. Here canaries are independent and noise
is Gaussian, so that every assumption holds; [where canaries hang together](audit.md#one-run-many-canaries) it does not.

";

const DELTA: f64 = 1e-5;
const STATED: f64 = 0.05;
const REPETITIONS: u64 = 100;

/// What one repetition shows.
type Attempt = Box<dyn Fn(&mut Draws) -> Shown>;

fn main() {
    print!(
        "{HEAD}| bound | threshold | trials | basis | truth | shown | ceiling | above |\n|---|---|---|---|---|---|---|---|\n"
    );
    for mu in [0.0, 1.0, 3.0] {
        for (name, threshold, trials, attempt) in attempts(mu) {
            row(name, threshold, trials, truth(mu, DELTA), &attempt);
        }
    }
}

fn attempts(mu: f64) -> Vec<(&'static str, &'static str, &'static str, Attempt)> {
    const EACH: usize = 1000;
    let fixed = move |bound: FromCounts| -> Attempt {
        Box::new(move |draws| {
            let counts = Counts::above(mu / 2.0 + 1.0, &draws.gaussian(mu, EACH));
            bound
                .bound(counts, delta(DELTA), Count::ONE, level(STATED))
                .expect("groups of one are for all bounds")
        })
    };
    let chosen = move |bound: FromCounts, choice: Choice| -> Attempt {
        Box::new(move |draws| {
            let scores = draws.gaussian(mu, EACH);
            threshold::bound(&scores, choice, bound, delta(DELTA), Count::ONE, level(STATED))
                .expect("these bounds take every choice")
                .shown
        })
    };
    let of_one_run = move |bound: FromGuesses| -> Attempt {
        Box::new(move |draws| {
            let seen =
                Guesses::count(&draws.canaries(mu, 2 * EACH), 30, 30).expect("fewer guesses than canaries");
            bound.bound(seen, delta(DELTA), level(STATED))
        })
    };
    let (ends, many) = ("30 + 30 guesses", "2000 canaries");
    let folds = Choice::Folds(count(5));
    let two = "1000 + 1000";
    vec![
        ("Clopper–Pearson", "fixed", two, fixed(FromCounts::ClopperPearson)),
        ("Clopper–Pearson", "split", two, chosen(FromCounts::ClopperPearson, Choice::Split)),
        ("Clopper–Pearson", "5 folds", two, chosen(FromCounts::ClopperPearson, folds)),
        ("Clopper–Pearson", "union", two, chosen(FromCounts::ClopperPearson, Choice::Union)),
        (
            "uniform band",
            "union",
            two,
            Box::new(move |draws| {
                trade_off::band(&draws.gaussian(mu, EACH), trade_off::Kind::Uniform, level(STATED))
                    .bound(delta(DELTA), Count::ONE)
            }),
        ),
        ("Log-Katz", "fixed", two, fixed(FromCounts::LogKatz)),
        ("Bayesian", "fixed", two, fixed(FromCounts::Bayesian)),
        ("Gaussian μ", "fixed", two, fixed(FromCounts::Gdp)),
        ("Gaussian μ", "split", two, chosen(FromCounts::Gdp, Choice::Split)),
        ("Gaussian μ", "union", two, chosen(FromCounts::Gdp, Choice::Union)),
        ("one-run", ends, many, of_one_run(FromGuesses::OneRun)),
        ("one-run-binomial", ends, many, of_one_run(FromGuesses::Binomial)),
        ("one-run-gaussian", ends, many, of_one_run(FromGuesses::Gaussian)),
        ("one-run-independent", ends, many, of_one_run(FromGuesses::Independent)),
        ("one-run-independent-gaussian", ends, many, of_one_run(FromGuesses::IndependentGaussian)),
    ]
}

fn row(name: &str, threshold: &str, trials: &str, truth: f64, attempt: &Attempt) {
    let shown: Vec<Shown> = (0..REPETITIONS).map(|i| attempt(&mut Draws::of(2026, i))).collect();
    let mut found: Vec<f64> = shown.iter().map(|shown| shown.epsilon.0.get()).collect();
    found.sort_by(f64::total_cmp);
    let above = found.iter().filter(|epsilon| **epsilon > truth + 1e-7).count();
    println!(
        "| {name} | {threshold} | {trials} | {} | {truth:.3} | {:.3} | {:.3} | {:.1} % |",
        shown[0].basis.name(),
        found[found.len() / 2],
        shown[0].ceiling.get(),
        100.0 * above as f64 / REPETITIONS as f64,
    );
}
