//! From the norms of one example's gradient to the factors it is multiplied with.

use crate::{Network, vectors::vectorize};
use veracity_core::{NoiseMultiplier, Probability, Refusal};

/// How a gradient is brought within the clip norm C.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Clipping {
    /// The whole gradient is scaled down to the clip norm where it is longer.
    Flat,
    /// Each layer's part of the gradient is scaled down to a norm of its own; their squares add up to C².
    PerLayer {
        /// How the norms relate, one number for each layer that has parameters; C/√L each when there is none.
        weights: Option<Vec<f32>>,
    },
    /// The whole gradient is scaled to nearly the clip norm, also where it is shorter: C/(‖g‖ + γ).
    ///
    /// # Reference  \[BuWangZhaKarypis23\]
    Automatic {
        /// What keeps small gradients small.
        gamma: f32,
    },
    /// As flat, with a clip norm that follows a quantile of the norms. The clip norm of the plan is where it begins; the
    /// count that steers it is protected by noise of its own, and paid for out of the same noise multiplier.
    ///
    /// # Reference  \[AndrewThakkarMcMahanRamaswamy21\]
    Adaptive {
        /// The part of gradients that should not be clipped.
        quantile: Probability,
        /// How fast the clip norm follows: a factor of up to e^rate in one step.
        rate: f32,
        /// Noise on the count over one record's contribution to it, which is ½: twice the σ_b of the paper.
        count_noise: NoiseMultiplier,
    },
}

impl Clipping {
    /// The name used in plans.
    pub fn name(&self) -> &'static str {
        match self {
            Clipping::Flat => "flat",
            Clipping::PerLayer { .. } => "per-layer",
            Clipping::Automatic { .. } => "automatic",
            Clipping::Adaptive { .. } => "adaptive",
        }
    }

    /// Checks the numbers, and that there is a weight for each layer that has parameters.
    pub(crate) fn check(&self, network: &Network) -> Result<(), Refusal> {
        if let Clipping::PerLayer { weights: Some(weights) } = self {
            let layers = network.places().iter().filter(|place| !place.is_empty()).count();
            if weights.len() != layers {
                return Err(Refusal::Invalid(format!(
                    "{} weights for per-layer clipping, expected {layers}, one per layer with parameters",
                    weights.len()
                )));
            }
        }
        match self {
            Clipping::Flat | Clipping::PerLayer { weights: None } => Ok(()),
            Clipping::PerLayer { weights: Some(weights) } => {
                match weights.iter().find(|weight| !(**weight > 0.0 && weight.is_finite())) {
                    Some(weight) => Err(Refusal::out_of_range("layer weight", weight, "a finite number > 0")),
                    None => Ok(()),
                }
            }
            // A smaller one would make much of a gradient that is nothing but rounding.
            Clipping::Automatic { gamma } if *gamma >= 1e-6 && gamma.is_finite() => Ok(()),
            Clipping::Automatic { gamma } => {
                Err(Refusal::out_of_range("gamma", gamma, "a finite number ≥ 1e-6"))
            }
            Clipping::Adaptive { rate, .. } if (0.0..=1.0).contains(rate) => Ok(()),
            Clipping::Adaptive { rate, .. } => {
                Err(Refusal::out_of_range("clip rate", rate, "0 ≤ clip rate ≤ 1"))
            }
        }
    }
}

/// How the gradients of a step are made short.
#[derive(Debug, Clone)]
pub(crate) struct Clip {
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    /// The whole gradient to one norm; infinite when nothing is clipped.
    Whole {
        norm: f32,
    },
    /// Stage by stage.
    PerStage {
        norms: Vec<f32>,
    },
    Automatic {
        norm: f32,
        gamma: f32,
    },
}

/// On which side of the clip norm gradients were: those within less those beyond. One that is not finite is on neither.
///
/// One record moves it by at most 1, be it added, removed or blanked, and by 2 when replaced.
pub(crate) type Balance = i64;

impl Clip {
    /// Nothing is clipped; what is not finite is still left out.
    pub(crate) fn none() -> Clip {
        Clip { rule: Rule::Whole { norm: f32::INFINITY } }
    }

    /// Gradients are brought within `norm`.
    ///
    /// # Assumes  The clipping was checked against the network
    pub(crate) fn new(clipping: &Clipping, network: &Network, norm: f32) -> Clip {
        let rule = match clipping {
            Clipping::Flat | Clipping::Adaptive { .. } => Rule::Whole { norm },
            Clipping::Automatic { gamma } => Rule::Automatic { norm, gamma: *gamma },
            Clipping::PerLayer { weights } => {
                Rule::PerStage { norms: stage_norms(weights.as_deref(), network, norm) }
            }
        };
        Clip { rule }
    }

    /// The factors of example after example, stage by stage, from the squared norms of its parts. Both slices hold one
    /// row of `capacity` numbers for each stage.
    ///
    /// An example with a norm that is not a finite number has factors zero: it contributes nothing. All others have factors
    /// that are not all zero.
    ///
    /// # Promise  The parts times their factors, taken together, are no longer than the norm, as far as the squared norms
    /// are right and but for two roundings
    pub(crate) fn factors(
        &self,
        square_norms: &[f32],
        capacity: usize,
        count: usize,
        factors: &mut [f32],
    ) -> Balance {
        let (totals, others) = factors.split_at_mut(capacity);
        let totals = &mut totals[..count];
        totals.copy_from_slice(&square_norms[..count]);
        for parts in square_norms.chunks_exact(capacity).skip(1) {
            totals.iter_mut().zip(parts).for_each(|(total, part)| *total += part);
        }
        let balance = match &self.rule {
            Rule::Whole { norm } => replace_by_factors(totals, *norm, |length| shortening(length, *norm)),
            Rule::Automatic { norm, gamma } => {
                replace_by_factors(totals, *norm, |length| norm / (length + gamma))
            }
            Rule::PerStage { norms } => return by_stage(square_norms, capacity, count, norms, factors),
        };
        for row in others.chunks_exact_mut(capacity) {
            row[..count].copy_from_slice(totals);
        }
        balance
    }
}

/// Replaces squared norms by factors. Plain arithmetic on rows, which compilers make fast.
fn replace_by_factors(totals: &mut [f32], most: f32, factor: impl Fn(f32) -> f32) -> Balance {
    vectorize(
        #[inline(always)]
        || {
            // Of one micro-batch, so counts of 32 bits are enough.
            let (mut finite, mut within) = (0u32, 0u32);
            for total in totals {
                let (is_finite, norm) = (total.is_finite(), total.max(0.0).sqrt());
                *total = if is_finite { factor(norm) } else { 0.0 };
                finite += u32::from(is_finite);
                within += u32::from(is_finite & (norm <= most));
            }
            2 * i64::from(within) - i64::from(finite)
        },
    )
}

fn by_stage(
    square_norms: &[f32],
    capacity: usize,
    count: usize,
    norms: &[f32],
    factors: &mut [f32],
) -> Balance {
    let mut balance = 0;
    for example in 0..count {
        let parts = || square_norms[example..].iter().step_by(capacity);
        let row = factors[example..].iter_mut().step_by(capacity);
        if !parts().sum::<f32>().is_finite() {
            row.for_each(|factor| *factor = 0.0);
            continue;
        }
        let mut is_within = true;
        for ((factor, part), most) in row.zip(parts()).zip(norms) {
            let part = part.max(0.0).sqrt();
            *factor = shortening(part, *most);
            is_within &= part <= *most;
        }
        balance += if is_within { 1 } else { -1 };
    }
    balance
}

#[inline(always)]
fn shortening(norm: f32, most: f32) -> f32 {
    if norm <= most { 1.0 } else { most / norm }
}

/// The norm of each stage, so that their squares add up to that of `norm`. A stage without parameters has nothing to clip.
fn stage_norms(weights: Option<&[f32]>, network: &Network, norm: f32) -> Vec<f32> {
    let layers = network.places().iter().filter(|place| !place.is_empty()).count();
    let weights: Vec<f64> = match weights {
        Some(weights) => weights.iter().map(|weight| f64::from(*weight)).collect(),
        None => vec![1.0; layers],
    };
    let length = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    let mut weights = weights.into_iter();
    let mut of = |is_empty: bool| if is_empty { 0.0 } else { weights.next().unwrap_or(0.0) };
    network.places().iter().map(|place| (f64::from(norm) * of(place.is_empty()) / length) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Shape};
    use veracity_testkit::short;

    fn network() -> Network {
        let layers = vec![Layer::Linear { outputs: 3 }, Layer::Relu, Layer::Linear { outputs: 2 }];
        Network::new(Shape::Flat(4), layers).unwrap()
    }

    /// The factors of two examples, and the balance.
    fn factors(clipping: &Clipping, squares: [f32; 6]) -> ([f32; 6], Balance) {
        let mut factors = [f32::NAN; 6];
        let balance = Clip::new(clipping, &network(), 5.0).factors(&squares, 2, 2, &mut factors);
        (factors, balance)
    }

    #[test]
    fn factors_are_those_of_their_rule() {
        // Stage by stage: the first example has parts of norm 6 and 8, the second of 3 and 0.
        let squares = [36.0, 9.0, 0.0, 0.0, 64.0, 0.0];
        assert_eq!(factors(&Clipping::Flat, squares), ([0.5, 1.0, 0.5, 1.0, 0.5, 1.0], 0));
        let (found, _) = factors(&Clipping::Automatic { gamma: 2.0 }, squares);
        assert_eq!(found, [5.0 / 12.0, 1.0, 5.0 / 12.0, 1.0, 5.0 / 12.0, 1.0]);
        // Norms 3 and 4; the second example is just within its own.
        let weights = Some(vec![30.0, 40.0]);
        let (found, balance) = factors(&Clipping::PerLayer { weights }, squares);
        assert_eq!((found[0], found[4], found[1], found[5], balance), (0.5, 0.5, 1.0, 1.0, 0));
        let (found, balance) = factors(&Clipping::PerLayer { weights: None }, squares);
        let each = 5.0 / 2f32.sqrt();
        assert!((found[0] - each / 6.0).abs() < 1e-6 && (found[4] - each / 8.0).abs() < 1e-6);
        assert_eq!(balance, 0);
    }

    #[test]
    fn what_is_not_finite_has_no_factor_and_is_on_no_side() {
        let weights = None;
        for clipping in [Clipping::Flat, Clipping::Automatic { gamma: 0.1 }, Clipping::PerLayer { weights }] {
            for bad in [f32::INFINITY, f32::NAN] {
                let (found, balance) = factors(&clipping, [1.0, 1.0, 0.0, 0.0, bad, 1.0]);
                assert_eq!([found[0], found[2], found[4]].map(f32::to_bits), [0; 3], "{clipping:?}");
                assert!(found[1] > 0.0 && balance == 1, "{clipping:?}");
            }
        }
    }

    #[test]
    fn many_factors_at_once_are_those_of_one_after_another() {
        let hostile = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0, -3.0, 1e-45, 25.0];
        for count in (0..40).chain([192]) {
            for (salt, odd) in hostile.into_iter().enumerate() {
                let mut squares: Vec<f32> =
                    (0..count).map(|i| ((i * 7919 + salt) % 2003) as f32 * 0.04).collect();
                if let Some(square) = squares.get_mut((count / 2 + salt) % count.max(1)) {
                    *square = odd;
                }
                let (mut slow, mut balance) = (squares.clone(), 0);
                for square in slow.iter_mut() {
                    let norm = square.max(0.0).sqrt();
                    balance += if !square.is_finite() {
                        0
                    } else if norm <= 5.0 {
                        1
                    } else {
                        -1
                    };
                    *square = if square.is_finite() { shortening(norm, 5.0) } else { 0.0 };
                }
                assert_eq!(replace_by_factors(&mut squares, 5.0, |norm| shortening(norm, 5.0)), balance);
                assert!(squares.iter().zip(&slow).all(|(a, b)| a.to_bits() == b.to_bits()), "{count}, {odd}");
            }
        }
    }

    #[test]
    fn clippings_are_checked() {
        let refused = |clipping: Clipping| clipping.check(&network()).is_err();
        for weights in [vec![1.0], vec![1.0; 3], vec![1.0, 0.0], vec![1.0, f32::NAN]] {
            assert!(refused(Clipping::PerLayer { weights: Some(weights) }));
        }
        assert!(!refused(Clipping::PerLayer { weights: Some(vec![1.0, 2.0]) }));
        assert!(
            refused(Clipping::Automatic { gamma: 0.0 }) && refused(Clipping::Automatic { gamma: f32::NAN })
        );
        let (quantile, count_noise) = (Probability::new(0.5).unwrap(), short::noise(10.0));
        assert!(refused(Clipping::Adaptive { quantile, rate: 1.5, count_noise }));
    }
}
