//! The exponential mechanism, by exact rejection.

use super::{Choice, Movement, Selection};
use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_noise::{Bits, Distance, NoiseStream, Ratio, exact};

/// A candidate with probability proportional to exp(ε score/2Δ), or exp(ε score/Δ) where scores move together.
///
/// # Promise    The losses of any two candidates differ by at most ε (bounded range), so it is ε-differentially private
/// # Reference  \[McSherryTalwar07\]; \[CesarRogers21\] for the range
/// # Assumes    Adjacent datasets move each score by at most `sensitivity`, and in the way that `movement` says
///
/// # Errors
/// Refuses an empty list of candidates and an ε out of range.
///
/// # Examples
///
/// ```
/// use veracity_core::{Count, Epsilon, Mechanism};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_mechanisms::{Movement, exponential};
///
/// let votes = [410, 1_250, 1_190, 30];
/// let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
/// let chosen = exponential(&votes, Count::ONE, Movement::Together, Epsilon::new(0.5)?, &mut rng)?;
/// // With probability 95 % the winner has at most this many votes less than the best.
/// assert!(chosen.score_error < 10.0);
/// assert_eq!(chosen.index, 1);
/// assert!(matches!(chosen.mechanism, Mechanism::Exponential { .. }));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn exponential(
    scores: &[i64],
    sensitivity: Count,
    movement: Movement,
    epsilon: Epsilon,
    rng: &mut NoiseStream,
) -> Result<Selection, Refusal> {
    let choice = Choice::new(scores, sensitivity, movement, epsilon)?;
    let declared = Distance::LInf(u128::from(sensitivity.get()));
    let said = rng.call("exponential", &choice.scores, declared, |scores, stream| {
        vec![choose(scores, |_| 1, u128::from(choice.widening), choice.multiplier, stream) as i128]
    });
    let score_error = choice.score_error();
    Ok(Selection { index: said[0] as usize, score_error, mechanism: Mechanism::Exponential { epsilon } })
}

/// An index with probability proportional to weight × exp(score/(`widening` × `multiplier`)).
///
/// A candidate is proposed with probability proportional to weight × 2^−m, where m is its level ([`Decay::level`]), and kept with the
/// rest of the probability ([`Decay::keeps`]). Where all weights together are k times that of the best candidate, one is kept after
/// k^0.31 tries on average, or fewer; their number depends on the scores, so whoever can time it learns something of them.
///
/// # Promise    Exact
/// # Assumes    At least one score; gaps and `widening` below 2^76; weights from 1 to 2^40, known without the data
/// # Reference  [McSherryTalwar07], whose base measure is the weights
pub(crate) fn choose(
    scores: &[i128],
    weight: impl Fn(usize) -> u64,
    widening: u128,
    multiplier: Ratio,
    bits: &mut impl Bits,
) -> usize {
    let best = scores.iter().copied().max().unwrap_or(0);
    let decay = Decay::new(widening, multiplier);
    let level = |score: i128| decay.level(best.abs_diff(score));
    let mut total = 0u128;
    let grow = |(at, score): (usize, &i128)| {
        total += u128::from(weight(at)) << (LEVELS - level(*score));
        total
    };
    let ends: Vec<u128> = scores.iter().enumerate().map(grow).collect();
    loop {
        let drawn = exact::uniform_below(total, bits);
        // Below the last end, so a place of a score.
        let candidate = ends.partition_point(|end| *end <= drawn);
        if decay.keeps(best.abs_diff(scores[candidate]), bits) {
            return candidate;
        }
    }
}

/// Levels stop here: what is farther out is proposed 2^40 times less often than the best, and that is enough.
pub(super) const LEVELS: usize = 40;

/// How probability falls with the gap to the best score: e^−x, where x is the gap over `widening` × `multiplier`. It is the product of
/// 2^−m, m = ⌊x⌋ (at most [`LEVELS`]), and (2/e)^m e^{−(x − m)}, and nothing of it is ever a float.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decay {
    /// Of x, for a gap times `per`.
    denominator: u128,
    per: u128,
}

impl Decay {
    pub(super) fn new(widening: u128, multiplier: Ratio) -> Decay {
        let denominator = widening * u128::from(multiplier.numerator());
        Decay { denominator, per: u128::from(multiplier.denominator()) }
    }

    /// m: how often the probability is halved before anything is proposed.
    pub(super) fn level(&self, gap: u128) -> usize {
        // Nearly all are at one end or the other, and dividing is what takes time.
        match gap * self.per {
            near if near < self.denominator => 0,
            far if far >= LEVELS as u128 * self.denominator => LEVELS,
            between => (between / self.denominator) as usize,
        }
    }

    /// True with probability (2/e)^m e^{−(x − m)}.
    pub(super) fn keeps(&self, gap: u128, bits: &mut impl Bits) -> bool {
        let level = self.level(gap);
        let rest = gap * self.per - level as u128 * self.denominator;
        (0..level).all(|_| exact::two_over_e(bits)) && exact::bernoulli_exp(rest, self.denominator, bits)
    }
}
