//! Report noisy max, with integer noise on integer scores.

use super::{Choice, MISS, Movement, OUTWARD, Selection};
use crate::tail;
use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio, exact};

/// The candidate whose score is largest after integer Laplace noise of scale 2Δ/ε (Δ/ε where scores move together); the
/// first of equals.
///
/// # Promise    ε-differentially private. Fix the noise of all others: candidate i wins exactly when its noise is at
/// least some integer τ, ties included. On an adjacent dataset τ is larger by at most 2Δ, since its own score and the
/// largest other noisy score move by at most Δ each; where all scores move one way, by at most Δ. And P(Z ≥ τ + k) ≥
/// e^{−k/b} P(Z ≥ τ) for integer Laplace noise, term by term. Average over the noise of the others
/// # Reference  \[DworkRoth14\] Claim 3.9, for continuous noise and counts
/// # Assumes    Adjacent datasets move each score by at most `sensitivity`, and in the way that `movement` says
///
/// # Errors
/// Refuses an empty list of candidates and an ε out of range.
///
/// # Examples
///
/// ```
/// use veracity_core::{Count, Epsilon};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_mechanisms::{Movement, report_noisy_max};
///
/// let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
/// let epsilon = Epsilon::new(1.0)?;
/// let mut ask = |movement| report_noisy_max(&[900, 10, 15], Count::ONE, movement, epsilon, &mut rng);
/// let (any, together) = (ask(Movement::Any)?, ask(Movement::Together)?);
/// assert_eq!((any.index, together.index), (0, 0));
/// // Scores that rise or fall together need half the noise.
/// assert!(together.score_error < 0.6 * any.score_error);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn report_noisy_max(
    scores: &[i64],
    sensitivity: Count,
    movement: Movement,
    epsilon: Epsilon,
    rng: &mut NoiseStream,
) -> Result<Selection, Refusal> {
    let choice = Choice::new(scores, sensitivity, movement, epsilon)?;
    let scale = Ratio::at_least(choice.widening as f64 * choice.multiplier.as_f64() * OUTWARD)?;
    let declared = Distance::LInf(u128::from(sensitivity.get()));
    let said = rng.call("noisy max", &choice.scores, declared, |scores, stream| {
        let mut winner = (0, i128::MIN);
        for (i, score) in scores.iter().enumerate() {
            let noisy = score.saturating_add(exact::discrete_laplace(scale, stream));
            if noisy > winner.1 {
                winner = (i as i128, noisy);
            }
        }
        vec![winner.0]
    });
    // The winner's noise and the best candidate's, each within its half-width.
    let score_error = 2.0 * tail::half_width(Noise::Laplace { scale }, MISS / scores.len() as f64);
    Ok(Selection { index: said[0] as usize, score_error, mechanism: Mechanism::Pure { epsilon } })
}
