//! Permute-and-flip: candidates in random order, each with a coin that the best one always wins.

use super::{Choice, Movement, Selection};
use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_noise::{Distance, NoiseStream, exact};

/// The first candidate, in uniformly random order, whose coin of bias exp(−ε gap/2Δ) comes up (Δ in place of 2Δ where
/// scores move together). It errs no more than the exponential mechanism at the same ε.
///
/// # Promise    ε-differentially private
/// # Reference  \[McKennaSheldon20\]
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
/// use veracity_mechanisms::{Movement, exponential, permute_and_flip};
///
/// let scores = [3, 2, 1, 0];
/// let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
/// let epsilon = Epsilon::new(1.0)?;
/// let (mut flip, mut weigh) = (0, 0);
/// for _ in 0..2_000 {
///     let best = |index: usize| u32::from(index == 0);
///     flip += best(permute_and_flip(&scores, Count::ONE, Movement::Any, epsilon, &mut rng)?.index);
///     weigh += best(exponential(&scores, Count::ONE, Movement::Any, epsilon, &mut rng)?.index);
/// }
/// // At the same ε it finds the best more often.
/// assert!(flip > weigh);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn permute_and_flip(
    scores: &[i64],
    sensitivity: Count,
    movement: Movement,
    epsilon: Epsilon,
    rng: &mut NoiseStream,
) -> Result<Selection, Refusal> {
    let choice = Choice::new(scores, sensitivity, movement, epsilon)?;
    let (over, per) = (
        u128::from(choice.widening) * u128::from(choice.multiplier.numerator()),
        u128::from(choice.multiplier.denominator()),
    );
    let declared = Distance::LInf(u128::from(sensitivity.get()));
    let said = rng.call("permute-and-flip", &choice.scores, declared, |scores, stream| {
        let best = scores.iter().copied().max().unwrap_or(0);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        exact::shuffle(&mut order, stream);
        let heads = |i: &usize| exact::bernoulli_exp(best.abs_diff(scores[*i]) * per, over, stream);
        // The best candidate's coin has bias 1, so one is always found.
        vec![order.into_iter().find(heads).map_or(0, |i| i as i128)]
    });
    let score_error = choice.score_error();
    Ok(Selection { index: said[0] as usize, score_error, mechanism: Mechanism::Pure { epsilon } })
}
