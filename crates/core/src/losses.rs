//! A privacy loss distribution written out as numbers.

use crate::Refusal;

/// The most losses that are written out.
const MOST: usize = 1 << 21;
/// How far the probabilities may be from 1 in all: a file has rounded decimals.
const ROUNDING: f64 = 1e-9;
/// How far δ of two orders of the same datasets may be apart, beside the grid: tails are cut off, and decimals rounded.
const CONSISTENT: f64 = 1e-6;
/// The coarsest grid that losses are rounded to.
const COARSEST_GRID: f64 = 0.1;
/// The most losses at which two orders are compared.
const MOST_COMPARED: usize = 256;

/// The law of the privacy loss log dP/dQ under P, for one order of the two datasets or for each.
#[derive(Debug, Clone, PartialEq)]
pub struct LossDistribution {
    first: LossMasses,
    second: Option<LossMasses>,
}

/// Losses with their probabilities under P, by rising loss, and the probability of an infinite loss.
#[derive(Debug, Clone, PartialEq)]
pub struct LossMasses {
    finite: Vec<(f64, f64)>,
    infinite: f64,
}

impl LossMasses {
    /// Checks that losses rise and are finite and that probabilities are not negative and add up to 1.
    ///
    /// # Promise  What the probabilities lack to 1 is added to that of an infinite loss, so rounded files stay bounds
    ///
    /// # Errors
    /// Refuses too many losses, masses that are no probabilities, and lists that no pair of distributions has.
    ///
    /// # Examples
    ///
    /// A report that is true with probability 3/4, and the opposite of the truth otherwise, has losses ±ln 3:
    ///
    /// ```
    /// use veracity_core::LossMasses;
    ///
    /// let loss = 3f64.ln();
    /// let coin = LossMasses::new(vec![(-loss, 0.25), (loss, 0.75)], 0.0)?;
    /// assert_eq!(coin.infinite(), 0.0);
    /// // What was rounded away counts as an infinite loss.
    /// let rounded = LossMasses::new(vec![(-loss, 0.25), (loss, 0.75 - 1e-10)], 0.0)?;
    /// assert!(rounded.infinite() > 0.0);
    /// // e² times 1/2 is more than 1: no law of the other dataset goes with these losses.
    /// assert!(LossMasses::new(vec![(-2.0, 0.5), (loss, 0.5)], 0.0).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn new(finite: Vec<(f64, f64)>, infinite: f64) -> Result<Self, Refusal> {
        if finite.len() > MOST {
            return Err(Refusal::out_of_range("losses", finite.len(), "at most 2^21 losses"));
        }
        if finite.iter().any(|(loss, _)| !loss.is_finite()) {
            return Err(Refusal::out_of_range(
                "loss",
                "not finite",
                "finite losses; put infinite losses into the field infinite",
            ));
        }
        if finite.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(Refusal::out_of_range("losses", "not increasing", "losses in increasing order"));
        }
        let usable = |mass: f64| (0.0..=1.0).contains(&mass);
        if !usable(infinite) || finite.iter().any(|(_, mass)| !usable(*mass)) {
            return Err(Refusal::out_of_range("probability", "out of range", "0 ≤ probability ≤ 1"));
        }
        let total: f64 = finite.iter().map(|(_, mass)| mass).sum::<f64>() + infinite;
        let under_second: f64 = finite.iter().map(|(loss, mass)| mass * (-loss).exp()).sum();
        if (total - 1.0).abs() > ROUNDING {
            return Err(Refusal::out_of_range("sum of probabilities", total, "1, up to 1e-9"));
        }
        if !(under_second <= 1.0 + ROUNDING) {
            return Err(Refusal::out_of_range(
                "sum of probability × e^-loss",
                under_second,
                "at most 1: it is the probability under the other dataset",
            ));
        }
        Ok(LossMasses { finite, infinite: infinite + (1.0 - total).max(0.0) })
    }

    /// Whether some pair of distributions has this law in one order and the other law in the other, up to rounding.
    fn is_reverse_of(&self, other: &LossMasses) -> bool {
        let step = self.step().max(other.step());
        let (shift, slack) = (2.0 * step, 2.0 * step + CONSISTENT);
        let many = other.finite.len().div_ceil(MOST_COMPARED).max(1);
        let losses = other.finite.iter().step_by(many).map(|(loss, _)| *loss);
        losses.chain([0.0, -1.0, 1.0]).all(|epsilon| {
            let below = self.reverse_delta(epsilon + shift) - slack;
            let above = self.reverse_delta(epsilon - shift) + slack;
            (below..=above).contains(&other.delta(epsilon))
        })
    }

    /// Distance of the nearest two losses: the step of a list on a grid. Lists of few, distant losses are exact.
    fn step(&self) -> f64 {
        let least = self.finite.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(f64::INFINITY, f64::min);
        if least <= COARSEST_GRID { least } else { 0.0 }
    }

    /// δ at `epsilon`: Σ (P − e^ε Q)₊.
    fn delta(&self, epsilon: f64) -> f64 {
        let gain =
            |(loss, mass): &(f64, f64)| if *loss > epsilon { -(epsilon - loss).exp_m1() * mass } else { 0.0 };
        self.infinite + self.finite.iter().map(gain).sum::<f64>()
    }

    /// δ at `epsilon` of the other order: Σ (Q − e^ε P)₊, with Q = P e^−loss and what that lacks to 1.
    fn reverse_delta(&self, epsilon: f64) -> f64 {
        let under_second: f64 = self.finite.iter().map(|(loss, mass)| mass * (-loss).exp()).sum();
        let gain = |(loss, mass): &(f64, f64)| {
            if -loss > epsilon { ((-loss).exp() - epsilon.exp()) * mass } else { 0.0 }
        };
        (1.0 - under_second).max(0.0) + self.finite.iter().map(gain).sum::<f64>()
    }

    /// Finite losses and their probabilities.
    pub fn finite(&self) -> &[(f64, f64)] {
        &self.finite
    }

    /// The probability of an infinite loss.
    pub fn infinite(&self) -> f64 {
        self.infinite
    }
}

impl LossDistribution {
    /// A law for each order of the two datasets; the second follows from the first where it is left out.
    ///
    /// # Errors
    /// Refuses two laws that no pair of distributions has, up to the rounding of a list on a grid: δ of one order at
    /// each ε must be that of the other order read backwards, to two steps of the grid and 1e-6
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::{LossDistribution, LossMasses};
    ///
    /// let loss = 3f64.ln();
    /// let coin = LossMasses::new(vec![(-loss, 0.25), (loss, 0.75)], 0.0)?;
    /// assert!(LossDistribution::new(coin.clone(), Some(coin.clone())).is_ok());
    /// // Outcomes that differ in one order differ in the other.
    /// let nothing = LossMasses::new(vec![(0.0, 1.0)], 0.0)?;
    /// assert!(LossDistribution::new(coin, Some(nothing)).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn new(first: LossMasses, second: Option<LossMasses>) -> Result<Self, Refusal> {
        if second.as_ref().is_some_and(|second| !first.is_reverse_of(second)) {
            return Err(Refusal::out_of_range(
                "losses",
                "two loss distributions that contradict each other",
                "a second distribution that follows from the first, or none",
            ));
        }
        Ok(LossDistribution { first, second })
    }

    /// The law with the record in the first dataset.
    pub fn first(&self) -> &LossMasses {
        &self.first
    }

    /// The law with the record in the second dataset, where it is given apart.
    pub fn second(&self) -> Option<&LossMasses> {
        self.second.as_ref()
    }
}
