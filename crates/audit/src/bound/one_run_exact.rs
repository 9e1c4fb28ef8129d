//! Exact worst case of one run: the largest probability of v right guesses over all (ε, δ)-private mechanisms and all guessers.
//!
//! Each of m canaries is in with probability ½, a mechanism runs once, and a guesser makes r guesses. By post-processing, take the r
//! guesses themselves as the output. Let W be the number of right ones.
//!
//! **Symmetry.** Permute the canaries at random, and flip each canary's bit together with its guess by a fair coin. The result is a
//! mixture of (ε, δ)-private mechanisms, so it is (ε, δ)-private, and W has the same distribution. So assume that an output with k right
//! guesses has the same probability π_k / C(m, r) whatever the bits and whoever is guessed. Then P\[W = k\] = C(r, k) π_k.
//!
//! **Privacy.** Flip the bit of one canary. Among the outputs with k right guesses, C(m−1, r−1) C(r−1, k−1) guess this canary, rightly.
//! Their probability is proportional to π_k before and to π_{k−1} after the flip. The event "one of those outputs for which
//! π_k > e^ε π_{k−1}" gives
//!
//! > (r/m) Σ_{k=1..r} C(r−1, k−1) max(0, π_k − e^ε π_{k−1}) ≤ δ.
//!
//! **Dual.** Let X ~ Bin(r, q) with q = e^ε/(1 + e^ε), P_k = P\[X = k\] and S_k = P\[X ≥ k\]. Take any λ ≥ S_v and any μ ≥ 0 with
//!
//! > μ k P_k + λ S_k ≥ S_max(k, v)  for k = 1..r.  (★)
//!
//! Then P\[W ≥ v\] ≤ λ + m δ μ. Proof: this is trivial for λ > 1. Else let Q_k = q^k (1 − q)^(r−k), so that Q_{k+1} = e^ε Q_k and
//! S_k = S_{k+1} + C(r, k) Q_k, and let y_k = max(0, S_max(k, v) − λ S_k) / Q_k, so that y_0 = y_{r+1} = 0. For k = 0..r,
//! C(r, k) (1\[k ≥ v\] − λ) ≤ y_k − e^ε y_{k+1}: with equality for k ≥ v, and for k < v because max(0, A − x) ≥ max(0, A) − x with
//! A = S_v − λ S_{k+1} and x = λ C(r, k) Q_k. Multiply by π_k and add up, with Σ C(r, k) π_k = 1:
//!
//! > P\[W ≥ v\] − λ ≤ Σ_k (y_k − e^ε y_{k+1}) π_k = Σ_{k≥1} y_k (π_k − e^ε π_{k−1}) ≤ (m δ / r) max_{k≥1} y_k / C(r−1, k−1),
//!
//! and y_k / (r C(r−1, k−1)) = max(0, S_max(k, v) − λ S_k) / (k P_k) ≤ μ by (★). ∎
//!
//! The bound is attained: for up to four canaries the best (λ, μ) is the optimum over all mechanisms and guessers, see `WORST_CASES` in
//! the tests. For k ≥ v, (★) reads μ k P_k ≥ (1 − λ) S_k. A binomial is log-concave, so P_k/S_k rises with k, and (★) at v implies it
//! for all larger k.

use super::{Basis, LowerBound, at_least_zero, one_run::Guesses};
use veracity_core::numerics::{UNIT, binomial};
use veracity_core::{Delta, Lower, Significance};

/// Largest ε that is looked at.
const LARGEST: f64 = 64.0;
/// λ exceeds P\[X ≥ v\] and zero by this part, so that the rows end before probabilities underflow.
const MARGIN: f64 = 1e-9;

/// Lower bound on ε from one run, exact for its guesses: `one-run`, the bound of audits.
///
/// # Promise    Above the true ε with probability at most the significance, whatever the mechanism and the guesser.
/// # Reference  The proof in this module. \[SteinkeNasrJagielski23\] and \[MahloujifarMelisChaudhuri24\] bound the same worst case from above
/// # Assumes    Each canary is in with probability ½, independently (not exactly half of them). The number of guesses was fixed before the
/// scores were seen
/// # Numerics   Rounded down: a float solves for (λ, μ), and (★) is then checked with outward rounding
///
/// # Examples
///
/// ```
/// use veracity_audit::bound::{one_run, one_run_exact};
/// use veracity_core::{Delta, Significance};
///
/// let seen = one_run::Guesses::new(1000, 100, 95)?;
/// let (delta, level) = (Delta::new(1e-5)?, || Significance::new(0.05));
/// let exact = one_run_exact::bound(seen, delta, level()?).epsilon.0.get();
/// assert!((exact - 2.17185).abs() < 1e-5);
/// // The older bound errs on the safe side by more.
/// assert!(one_run::bound(seen, delta, level()?).epsilon.0.get() < exact);
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

/// Largest ε that is seen to be refuted; zero if there is none.
///
/// The worst case grows with ε and falls with the number of right guesses. So for one true ε all refutations of larger ones are nested
/// events, and their union has no more probability than the level.
fn largest_refuted(guesses: Guesses, delta: f64, level: f64) -> f64 {
    let refuted = |epsilon: f64| is_refuted(guesses, epsilon, delta, level);
    super::largest_refuted(LARGEST, 1e-11, refuted)
}

/// Whether every (ε, δ)-private mechanism has so many right guesses with probability at most `level`.
///
/// # Promise  True only where a pair (λ, μ) was checked to satisfy (★), λ ≥ P\[X ≥ v\] and λ + m δ μ ≤ level
pub(crate) fn is_refuted(guesses: Guesses, epsilon: f64, delta: f64, level: f64) -> bool {
    let (r, v) = (guesses.guesses(), guesses.correct());
    if v == 0 {
        return false;
    }
    // Tails err by 1e-12 relatively at 10^6 guesses, and by r units for the rounding of the probability of an error.
    let slack = 1.0 + 1e-10 + 32.0 * UNIT * r as f64;
    let tail = binomial::log_lower_tail(r, r - v, 1.0 / (1.0 + epsilon.exp())).exp() * slack;
    let budget = guesses.canaries() as f64 * delta;
    if budget == 0.0 {
        return tail <= level;
    }
    let least = (tail * (1.0 + MARGIN)).max(level * MARGIN);
    if !(least < level) {
        return false;
    }
    let growth = epsilon.exp();
    let (tail, terms) = tail_over_first(r, v, growth);
    let program = Program { r, v, growth, budget, level, tail, terms };
    program.solve(least).is_some_and(|lambda| program.is_certified(lambda))
}

/// (★) with m δ μ = level − λ, all probabilities as multiples of P_v.
struct Program {
    r: u64,
    v: u64,
    /// e^ε.
    growth: f64,
    /// m δ.
    budget: f64,
    level: f64,
    /// S_v / P_v.
    tail: f64,
    /// How many terms were added for it: each may err by some units more than the one before.
    terms: u64,
}

/// One row of (★) for k ≤ v.
struct Row {
    /// k P_k / P_v.
    weight: f64,
    /// S_k / P_v.
    tail: f64,
    /// Relative error of both.
    error: f64,
}

impl Program {
    /// Rows from v down to 1.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let (mut probability, mut tail) = (1.0, self.tail);
        (1..=self.v).rev().map(move |k| {
            if k < self.v {
                // P_k / P_{k+1}.
                probability *= (k + 1) as f64 / ((self.r - k) as f64 * self.growth);
                tail += probability;
            }
            let error = UNIT * (128.0 + 16.0 * (self.terms + self.v - k) as f64);
            Row { weight: k as f64 * probability, tail, error }
        })
    }

    /// Middle of the λ between `least` and the level that satisfy all rows, as far as floats tell.
    fn solve(&self, least: f64) -> Option<f64> {
        let (mut low, mut high) = (least, self.level);
        for row in self.rows() {
            if least * row.tail > self.tail {
                // Any λ satisfies this row, and the rows below it, whose tails are larger.
                break;
            }
            // (level − λ) k P_k + m δ λ S_k ≥ m δ S_v, solved for λ.
            let slope = self.budget * row.tail - row.weight;
            let needed = self.budget * self.tail - self.level * row.weight;
            match slope > 0.0 {
                true => low = low.max(needed / slope),
                false if slope < 0.0 => high = high.min(needed / slope),
                false if needed > 0.0 => return None,
                false => {}
            }
            if !(low <= high) {
                return None;
            }
        }
        Some(0.5 * (low + high))
    }

    /// Whether λ satisfies all rows with room for every rounding.
    fn is_certified(&self, lambda: f64) -> bool {
        for row in self.rows() {
            let (less, more) = (1.0 - row.error, self.tail * (1.0 + row.error));
            if lambda * row.tail * less >= more {
                return true;
            }
            let left = ((self.level - lambda) * row.weight + self.budget * lambda * row.tail) * less;
            if !(left >= self.budget * more) {
                return false;
            }
        }
        // The row of k = 0 is λ ≥ P[X ≥ v], which the search began with.
        true
    }
}

/// P\[X ≥ v\] / P\[X = v\], summed upward until what is left is below rounding, and the number of terms.
fn tail_over_first(r: u64, v: u64, growth: f64) -> (f64, u64) {
    let (mut sum, mut term) = (1.0, 1.0);
    for k in v..r {
        let ratio = (r - k) as f64 / (k + 1) as f64 * growth;
        term *= ratio;
        sum += term;
        // Ratios fall, so what follows is at most a geometric series.
        if ratio < 1.0 {
            let rest = term * ratio / (1.0 - ratio);
            if rest < UNIT * sum {
                return (sum + rest, k - v + 1);
            }
        }
    }
    (sum, r - v)
}
