//! Table 1 of the audit of f-DP in one run, read in two ways, as a table in Markdown on stdout.
//!
//! Canaries are V + N(0, σ²) with V in {0, 1}. Read as an algorithm: the best guesser's expected numbers go in, and the best
//! number of guesses is known beforehand. Read as an experiment: one game is drawn, and the number of guesses that shows most is
//! chosen after looking, which no level pays for.

#[path = "../tests/worlds/mod.rs"]
mod worlds;

use veracity_audit::bound::{one_run::Guesses, one_run_fdp};
use veracity_core::numerics::normal;
use worlds::{Draws, delta, level, truth};

const GAMES: u64 = 20;
const SEED: u64 = 2410;

fn main() {
    println!(
        "| σ | canaries | ε | printed | the algorithm | the best of one game |\n|---|---|---|---|---|---|"
    );
    for (sigma, canaries, printed) in
        [(0.5, 100_000, "8.16"), (1.0, 100_000, "3.61"), (2.0, 100_000, "1.59"), (4.0, 1_000_000, "0.82")]
    {
        let truth = truth(1.0 / sigma, 1e-5);
        let algorithm = edges().map(|edge| shown(expected(sigma, canaries, edge))).fold(0.0, f64::max);
        let games: Vec<f64> = (0..GAMES).map(|game| best_of_one(sigma, canaries, game)).collect();
        let mean = games.iter().sum::<f64>() / GAMES as f64;
        let variance = games.iter().map(|shown| (shown - mean).powi(2)).sum::<f64>() / (GAMES - 1) as f64;
        let spread = variance.sqrt();
        println!(
            "| {sigma} | {canaries} | {truth:.3} | {printed} | {algorithm:.3} | {mean:.2} ± {spread:.2} |"
        );
    }
}

fn shown(seen: Guesses) -> f64 {
    one_run_fdp::bound(seen, delta(1e-5), level(0.05)).epsilon.0.get()
}

/// How far from the middle, in units of σ, a score must be for a guess.
fn edges() -> impl Iterator<Item = f64> {
    (20..=40).map(|tenths| f64::from(tenths) * 0.1)
}

/// What the best guesser expects beyond an edge.
fn expected(sigma: f64, canaries: u64, edge: f64) -> Guesses {
    let all = canaries as f64;
    let (right, wrong) = (normal::cdf(0.5 / sigma - edge), normal::cdf(-0.5 / sigma - edge));
    let guesses =
        Guesses::new(canaries, (all * (right + wrong)).round() as u64, (all * right).round() as u64);
    guesses.expect("right guesses are guesses")
}

/// The most that any number of guesses shows in one game: they are tried after the scores are seen.
fn best_of_one(sigma: f64, canaries: u64, game: u64) -> f64 {
    let mut draws = Draws::of(SEED, game);
    let half = 0.5 / sigma;
    let mut sure: Vec<(f64, bool)> = Vec::new();
    for _ in 0..canaries {
        let beyond = draws.normal() + half;
        // By symmetry a canary that is in stands for all.
        if beyond.abs() > 2.0 {
            sure.push((beyond.abs(), beyond > 0.0));
        }
    }
    sure.sort_by(|a, b| b.0.total_cmp(&a.0));
    let at = |guesses: usize| {
        let right = sure[..guesses].iter().filter(|guess| guess.1).count() as u64;
        Guesses::new(canaries, guesses as u64, right).expect("right guesses are guesses")
    };
    let tried = std::iter::successors(Some(8usize), |guesses| Some(guesses + 1 + guesses / 6));
    tried.take_while(|guesses| *guesses <= sure.len()).map(|guesses| shown(at(guesses))).fold(0.0, f64::max)
}
