//! Canaries that hang together: who takes them for independent is fooled, and who proves is not.

use veracity_audit::{
    AuditSubject, Scores, World,
    bound::{FromGuesses, one_run::Guesses, one_run_fdp, one_run_independent},
    worlds,
};
use veracity_auditing::zoo::planted::AllOrNone;
use veracity_core::{Count, Delta, Significance};

const CANARIES: u64 = 1000;
const GAMES: u64 = 2000;
const DELTA: f64 = 1e-5;

/// More failures than these have a chance below 1e-4 at the stated 5 %.
/// # Python 3.11, fractions: P[Bin(2000, 1/20) ≥ 139] < 1e-4 < P[Bin(2000, 1/20) ≥ 138] = 1.24e-4
const MOST: usize = 138;

fn level() -> Significance {
    Significance::new(0.05).unwrap()
}

/// One run: half of the canaries are guessed in, half out.
fn game(subject: &AllOrNone, trial: u64) -> Guesses {
    let coins = worlds(5, trial, CANARIES as usize);
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for (world, score) in coins.iter().zip(subject.run(trial, &coins).unwrap()) {
        match world {
            World::In => inside.push(score),
            World::Out => outside.push(score),
        }
    }
    Guesses::count(&Scores::new(inside, outside).unwrap(), CANARIES / 2, CANARIES / 2).unwrap()
}

/// Seed 5, 2000 games of a mechanism that is 1-GDP for each canary and has ε = ln((0.84 − δ/0.3)/0.16) at δ.
#[test]
fn a_bound_for_independent_canaries_is_above_the_truth_in_three_games_of_ten() {
    let subject = AllOrNone::private(5, Count::new(CANARIES).unwrap());
    let games: Vec<u64> = (0..GAMES).map(|trial| game(&subject, trial).correct()).collect();
    let too_high = |shown: &dyn Fn(Guesses) -> f64, truth: f64| {
        // More right guesses show more, so the fewest that show too much decide.
        let shows = |correct: u64| shown(Guesses::new(CANARIES, CANARIES, correct).unwrap()) > truth + 1e-7;
        let all: Vec<u64> = (0..=CANARIES).collect();
        let fewest = all.partition_point(|correct| !shows(*correct)) as u64;
        games.iter().filter(|correct| **correct >= fewest).count()
    };
    let truth = ((0.84 - DELTA / 0.3) / 0.16_f64).ln();
    for bound in [FromGuesses::OneRun, FromGuesses::Binomial] {
        let delta = || Delta::new(DELTA).unwrap();
        let failed = too_high(&|seen| bound.bound(seen, delta(), level()).epsilon.0.get(), truth);
        assert!(failed <= MOST, "{}: {failed}", bound.name());
    }
    // The recursion with a curve asks of no canary to be independent, and this one's curve is above that of μ = 1.
    let failed = too_high(&|seen| one_run_fdp::mu(seen, level()).0.get(), 1.0);
    assert!(failed <= MOST, "one-run-gaussian: {failed}");
    let fooled = too_high(&|seen| one_run_independent::mu(seen, level()).0.get(), 1.0);
    assert!(fooled > 4 * MOST, "one-run-independent: {fooled}");
}
