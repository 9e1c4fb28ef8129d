//! Numbers with a meaning: each is checked when it is made, and is what it says from then on.

use crate::Refusal;
use std::fmt;

macro_rules! quantity {
    ($(#[$doc:meta])* $type:ident, $name:literal, $expected:literal, |$x:ident| $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $type(f64);

        impl $type {
            ///
            /// # Errors
            /// Refuses any other number.
            #[doc = concat!("Checks that ", $expected, ".")]
            pub fn new($x: f64) -> Result<Self, Refusal> {
                if $check { Ok(Self($x)) } else { Err(Refusal::out_of_range($name, $x, $expected)) }
            }

            /// The number itself.
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $type {
            type Error = Refusal;

            fn try_from(x: f64) -> Result<Self, Refusal> {
                $type::new(x)
            }
        }

        impl From<$type> for f64 {
            fn from(quantity: $type) -> f64 {
                quantity.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

quantity!(
    /// The privacy loss bound ε. Infinity is a legal value and means "no protection".
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::Epsilon;
    ///
    /// assert_eq!(Epsilon::new(0.5)?.get(), 0.5);
    /// assert!(Epsilon::new(f64::INFINITY).is_ok());
    /// assert!(Epsilon::new(f64::NAN).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    Epsilon, "epsilon", "0 ≤ epsilon", |x| x >= 0.0
);
quantity!(
    /// The slack δ of an (ε, δ) guarantee. It is not "the probability that the guarantee fails".
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::Delta;
    ///
    /// assert_eq!(Delta::new(1e-6)?.get(), 1e-6);
    /// let refusal = Delta::new(1.5).unwrap_err();
    /// assert_eq!(refusal.to_string(), "delta is 1.5, expected 0 ≤ delta < 1");
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    Delta, "delta", "0 ≤ delta < 1", |x| (0.0..1.0).contains(&x)
);
quantity!(
    /// Noise scale divided by the largest contribution of one record (σ/C for a Gaussian, b/C for a Laplace).
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::{ClipNorm, NoiseMultiplier};
    ///
    /// let clip_norm = ClipNorm::new(0.5)?;
    /// let noise_multiplier = NoiseMultiplier::new(1.1)?;
    /// // The standard deviation of the noise on a sum of clipped gradients.
    /// assert_eq!(noise_multiplier.get() * clip_norm.get(), 0.55);
    /// assert!(NoiseMultiplier::new(0.0).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    NoiseMultiplier, "noise multiplier", "1e-6 ≤ noise multiplier ≤ 1e9", |x| (1e-6..=1e9).contains(&x)
);
quantity!(
    /// The chance with which each record enters a batch.
    SamplingRate, "sampling rate", "0 < sampling rate ≤ 1", |x| x > 0.0 && x <= 1.0
);
quantity!(
    /// The norm to which one record's contribution is clipped.
    ClipNorm, "clip norm", "a finite number > 0", |x| x > 0.0 && x.is_finite()
);
quantity!(
    /// How far one record, added or removed, can move the answer.
    Sensitivity, "sensitivity", "a finite number > 0", |x| x > 0.0 && x.is_finite()
);
quantity!(
    /// The parameter ρ of zero-concentrated differential privacy.
    Rho, "rho", "a finite number ≥ 0", |x| x >= 0.0 && x.is_finite()
);
quantity!(
    /// The parameter μ of Gaussian differential privacy.
    GdpMu, "mu", "a finite number ≥ 0", |x| x >= 0.0 && x.is_finite()
);
quantity!(
    /// A probability.
    Probability, "probability", "0 ≤ probability ≤ 1", |x| (0.0..=1.0).contains(&x)
);

impl Delta {
    /// Nothing may fail.
    pub const ZERO: Delta = Delta(0.0);
}

impl Epsilon {
    /// No loss at all.
    pub const ZERO: Epsilon = Epsilon(0.0);
}

/// How often something is done: from once to 10^15 times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(u64);

impl Count {
    /// Once.
    pub const ONE: Count = Count(1);
    /// The most that is accounted: beyond it, rounding of a single step's loss would matter.
    pub const MOST: u64 = 1_000_000_000_000_000;

    /// Checks that 1 ≤ n ≤ 10^15.
    ///
    /// # Errors
    /// Refuses any other number.
    pub fn new(n: u64) -> Result<Self, Refusal> {
        if (1..=Self::MOST).contains(&n) {
            Ok(Count(n))
        } else {
            Err(Refusal::out_of_range("count", n, "1 ≤ count ≤ 10^15"))
        }
    }

    /// The number itself.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The number as a float; exact, since 10^15 < 2^53.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// This many times `other`, refused when that passes 10^15.
    ///
    /// # Errors
    /// Refuses a product above 10^15.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::Count;
    ///
    /// let steps = Count::new(60)?.times(Count::new(235)?)?;
    /// assert_eq!(steps.get(), 14_100);
    /// assert!(Count::new(Count::MOST)?.times(Count::new(2)?).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn times(self, other: Count) -> Result<Count, Refusal> {
        self.0.checked_mul(other.0).map_or_else(
            || Err(Refusal::out_of_range("count", "more than 10^15", "1 ≤ count ≤ 10^15")),
            Count::new,
        )
    }
}

/// How many answers a randomized response has to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets(u32);

impl Buckets {
    /// Checks that there are at least two.
    ///
    /// # Errors
    /// Refuses any other number.
    pub fn new(k: u32) -> Result<Self, Refusal> {
        if k >= 2 { Ok(Buckets(k)) } else { Err(Refusal::out_of_range("buckets", k, "buckets ≥ 2")) }
    }

    /// The number itself.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// A chance of error that an audit may spend, once: it moves when it is spent and cannot be copied.
///
/// # Examples
///
/// ```
/// use veracity_core::Significance;
///
/// let (one, other) = Significance::new(0.05)?.halve();
/// assert_eq!(one.spend() + other.spend(), 0.05);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
///
/// The same chance of error cannot pay for a second bound:
///
/// ```compile_fail,E0382
/// let alpha = veracity_core::Significance::new(0.05)?;
/// let first = alpha.spend();
/// let second = alpha.spend();
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, PartialEq, PartialOrd)]
pub struct Significance(f64);

impl Significance {
    /// Checks that 0 < p < 1.
    ///
    /// # Errors
    /// Refuses any other number.
    pub fn new(p: f64) -> Result<Self, Refusal> {
        if p > 0.0 && p < 1.0 {
            Ok(Significance(p))
        } else {
            Err(Refusal::out_of_range("significance", p, "0 < significance < 1"))
        }
    }

    /// How much there is to spend.
    pub fn level(&self) -> f64 {
        self.0
    }

    /// Spends it: what remains is a plain number that no second bound can use.
    pub fn spend(self) -> f64 {
        self.0
    }

    /// As much again for another statement, which errs by itself: the two are not said to hold together.
    pub fn for_another(&self) -> Significance {
        Significance(self.0)
    }

    /// Equal shares, to be spent on statements that must hold together.
    pub fn shares(self, n: Count) -> impl Iterator<Item = Significance> {
        let share = self.0 / n.as_f64();
        (0..n.get()).map(move |_| Significance(share))
    }

    /// Two halves, to be spent on two statements that must hold together.
    pub fn halve(self) -> (Significance, Significance) {
        (Significance(self.0 / 2.0), Significance(self.0 / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused_with_name_value_and_range() {
        assert_eq!(Delta::new(1.5).unwrap_err().to_string(), "delta is 1.5, expected 0 ≤ delta < 1");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
            assert!(NoiseMultiplier::new(bad).is_err(), "{bad}");
        }
        for bad in [0.0, -0.1, 1.0 + 1e-15, f64::NAN] {
            assert!(SamplingRate::new(bad).is_err(), "{bad}");
        }
        assert!(Epsilon::new(f64::NAN).is_err() && Epsilon::new(f64::INFINITY).is_ok());
        assert!(Count::new(0).is_err() && Count::new(Count::MOST + 1).is_err());
        assert!(Count::new(Count::MOST).unwrap().times(Count::new(2).unwrap()).is_err());
    }
}
