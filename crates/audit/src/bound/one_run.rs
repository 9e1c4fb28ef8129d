//! One training, many canaries, each in or out by its own fair coin: how many guesses were right bounds ε.

use super::{Basis, LowerBound, at_least_zero};
use crate::Scores;
use veracity_core::numerics::{UNIT, binomial, root};
use veracity_core::{Delta, Lower, Refusal, Significance};

/// What came of guessing which canaries were in: checked, at most 10^7 canaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guesses {
    canaries: u64,
    guesses: u64,
    correct: u64,
}

impl Guesses {
    /// The most canaries of one run.
    pub const MOST: u64 = 10_000_000;

    /// Checks that correct ≤ guesses ≤ canaries.
    ///
    /// # Errors
    /// No canary or more than 10^7, more guesses than canaries, or more right guesses than guesses.
    pub fn new(canaries: u64, guesses: u64, correct: u64) -> Result<Guesses, Refusal> {
        if !(1..=Self::MOST).contains(&canaries) {
            return Err(Refusal::out_of_range("canaries", canaries, "1 ≤ canaries ≤ 10^7"));
        }
        if guesses > canaries {
            return Err(Refusal::out_of_range("guesses", guesses, "0 ≤ guesses ≤ canaries"));
        }
        if correct > guesses {
            return Err(Refusal::out_of_range("correct", correct, "0 ≤ correct ≤ guesses"));
        }
        Ok(Guesses { canaries, guesses, correct })
    }

    /// Guesses that were made elsewhere, of however many canaries.
    pub(crate) fn made(canaries: u64, guesses: u64, correct: u64) -> Guesses {
        Guesses { canaries, guesses, correct }
    }

    /// Guesses "in" for the `highest` scores of all canaries and "out" for the `lowest`, two numbers fixed beforehand.
    ///
    /// Where scores are tied at the edge, the wrong guesses are taken first: whoever breaks ties by chance does no worse.
    ///
    /// # Errors
    /// More guesses than canaries.
    pub fn count(canaries: &Scores, highest: u64, lowest: u64) -> Result<Guesses, Refusal> {
        let total = canaries.trials();
        let guesses = highest.saturating_add(lowest);
        if guesses > total {
            return Err(Refusal::out_of_range("guesses", guesses, "0 ≤ guesses ≤ canaries"));
        }
        let found = first_right(canaries.inside(), canaries.outside(), highest, |score| -score);
        let spared = first_right(canaries.outside(), canaries.inside(), lowest, |score| score);
        Guesses::new(total, guesses, found + spared)
    }

    /// How many canaries there were.
    pub fn canaries(&self) -> u64 {
        self.canaries
    }

    /// For how many a guess was made.
    pub fn guesses(&self) -> u64 {
        self.guesses
    }

    /// How many guesses were right.
    pub fn correct(&self) -> u64 {
        self.correct
    }

    /// As many guesses, all of them right.
    pub fn perfect_attack(&self) -> Guesses {
        Guesses { correct: self.guesses, ..*self }
    }
}

/// How many of the first `taken` scores in ascending order of `key` are among the right ones, ties going to the wrong.
fn first_right(right: &[f64], wrong: &[f64], taken: u64, key: impl Fn(f64) -> f64) -> u64 {
    let ranked = right.iter().map(|score| (key(*score), true));
    let mut ranked: Vec<(f64, bool)> = ranked.chain(wrong.iter().map(|score| (key(*score), false))).collect();
    // Adding zero makes one zero of two.
    ranked.sort_by(|a, b| (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).then(a.1.cmp(&b.1)));
    ranked.iter().take(taken as usize).filter(|guess| guess.1).count() as u64
}

/// An ε that the truth does not fall below, from one run: `one-run-binomial`.
///
/// # Promise    Above the truth with chance at most the significance, whatever the mechanism and the guesser.
/// # Reference  \[SteinkeNasrJagielski23\]: with q = 1/(1 + e^{−ε}) and X ~ Bin(r, q), the chance of v or more right guesses
/// is at most P[X ≥ v] + 2mδ max_{1 ≤ i ≤ v} P[v − i ≤ X < v]/i
/// # Assumes    Each canary is in with chance ½, independently (not exactly half of them); the number of guesses was
/// fixed before the scores were seen
/// # Numerics   Rounded down
///
/// # Examples
///
/// A thousand canaries in one training, of which the loudest and the quietest hundred are guessed:
///
/// ```
/// use veracity_audit::{Scores, bound::one_run::{Guesses, bound}};
/// use veracity_core::{Delta, Significance};
///
/// let inside = (0..500).map(|i| f64::from(i) + 60.0).collect();
/// let outside = (0..500).map(f64::from).collect();
/// let guesses = Guesses::count(&Scores::new(inside, outside)?, 100, 100)?;
/// assert_eq!((guesses.guesses(), guesses.correct()), (200, 160));
///
/// let shown = bound(guesses, Delta::new(1e-5)?, Significance::new(0.05)?);
/// // 160 of 200 are odds of 4 to 1, ε = 1.39; what is shown lies below.
/// assert!(shown.epsilon.0.get() > 0.9 && shown.epsilon.0.get() < 1.39);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn bound(guesses: Guesses, delta: Delta, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown = |guesses: Guesses| at_least_zero(largest_refuted(guesses, delta.get(), level));
    LowerBound {
        epsilon: Lower(shown(guesses)),
        ceiling: shown(guesses.perfect_attack()),
        basis: Basis::Proved,
    }
}

/// The supremum of the ε that so many right guesses refute; zero if there is none.
///
/// Being private at ε is being private at every larger ε, and the p-value falls with the number of right guesses. So for
/// one true ε all refutations of larger ones are nested events, and the union of them is no likelier than the level.
fn largest_refuted(guesses: Guesses, delta: f64, level: f64) -> f64 {
    let refuted = |epsilon: f64| p_value(guesses, delta, epsilon) < level;
    if guesses.correct == 0 || !refuted(0.0) {
        return 0.0;
    }
    let mut beyond = 1.0;
    // By then every guess is right with a chance that no level can tell from one.
    while beyond < 700.0 && refuted(beyond) {
        beyond *= 2.0;
    }
    if refuted(beyond) { beyond } else { root::bisect(0.0, beyond, 1e-14, refuted).holds }
}

/// An upper bound on the chance of so many right guesses, were the mechanism (ε, δ)-private.
fn p_value(guesses: Guesses, delta: f64, epsilon: f64) -> f64 {
    let Guesses { canaries, guesses: r, correct: v } = guesses;
    let q = 1.0 / (1.0 + (-epsilon).exp());
    let more = binomial::log_upper_tail(r, v, q).exp();
    let extra = if delta > 0.0 { 2.0 * canaries as f64 * delta * steepest(r, v, q) } else { 0.0 };
    // Tails err by 1e-12 relatively at 10^6 guesses, and by r units for the rounding of q.
    let slack = 1.0 + 1e-10 + 32.0 * UNIT * r as f64;
    ((more + extra) * slack).min(1.0)
}

/// max over 1 ≤ i ≤ v of P[v − i ≤ X ≤ v − 1]/i for X ~ Bin(r, q): the best mean of a run of probabilities below v.
///
/// Binomial probabilities rise to a mode and fall after it, so the mean rises until the next one is below it.
fn steepest(r: u64, v: u64, q: f64) -> f64 {
    let against = (1.0 - q) / q;
    // Terms are relative to the first; the scale moves into the logarithm before they overflow.
    let mut log_scale = binomial::log_probability(r, v - 1, q);
    let (mut term, mut sum, mut taken) = (1.0, 1.0, 1.0);
    for j in (1..v).rev() {
        term *= j as f64 / (r - j + 1) as f64 * against;
        if term * taken < sum {
            break;
        }
        sum += term;
        taken += 1.0;
        if sum > 1e200 {
            (term, sum, log_scale) =
                (term * 1e-200, sum * 1e-200, log_scale + 200.0 * std::f64::consts::LN_10);
        }
    }
    (log_scale + (sum / taken).ln()).exp()
}
