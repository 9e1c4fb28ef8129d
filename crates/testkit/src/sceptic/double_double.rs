//! Real numbers of about 31 digits: an unevaluated sum of two floats, with the functions that privacy losses need.
//!
//! Only `+ − × ÷ √` of `f64` are used, and `f64` logarithms as a first guess that Newton then mends; nothing is shared
//! with the crates under test. Values keep the exponent range of `f64`.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The relative error of one operation is below this.
pub const DD_UNIT: f64 = 5e-32;

/// hi + lo, with |lo| at most half a unit in the last place of hi.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Dd {
    /// The nearest float.
    pub hi: f64,
    /// What it lacks.
    pub lo: f64,
}

/// log 2.
pub const LN_2: Dd = Dd { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };
/// π.
pub const PI: Dd = Dd { hi: std::f64::consts::PI, lo: 1.224_646_799_147_353_2e-16 };

/// a + b exactly, for any order of sizes.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let shadow = sum - a;
    (sum, (a - (sum - shadow)) + (b - shadow))
}

/// a + b exactly, where |a| ≥ |b|.
fn quick_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// a × b exactly, by Dekker's halves: no fused operation is asked of the machine.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    if product.abs() > 1e290 || a.abs() > 1e290 || b.abs() > 1e290 {
        return (product, 0.0); // splitting would overflow; only sizes are asked for there
    }
    let split = |x: f64| {
        let wide = 134_217_729.0 * x;
        let top = wide - (wide - x);
        (top, x - top)
    };
    let ((a1, a2), (b1, b2)) = (split(a), split(b));
    (product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2)
}

impl Dd {
    /// Nothing.
    pub const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };
    /// One.
    pub const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };
    /// The logarithm of nothing.
    pub const NEG_INFINITY: Dd = Dd { hi: f64::NEG_INFINITY, lo: 0.0 };
    /// Beyond all.
    pub const INFINITY: Dd = Dd { hi: f64::INFINITY, lo: 0.0 };

    /// A float as it is.
    pub const fn new(x: f64) -> Dd {
        Dd { hi: x, lo: 0.0 }
    }

    /// A whole number, exactly.
    pub fn whole(n: u64) -> Dd {
        let hi = n as f64;
        let lo = if hi >= 18_446_744_073_709_551_615.0 { 0 } else { n.wrapping_sub(hi as u64) as i64 };
        Dd { hi, lo: lo as f64 }
    }

    /// The nearest float.
    pub fn nearest(self) -> f64 {
        self.hi + self.lo
    }

    /// Its size.
    pub fn abs(self) -> Dd {
        if self.hi < 0.0 { -self } else { self }
    }

    /// The larger one.
    pub fn max(self, other: Dd) -> Dd {
        if self >= other { self } else { other }
    }

    /// The smaller one.
    pub fn min(self, other: Dd) -> Dd {
        if self <= other { self } else { other }
    }

    /// Times a power of two, exactly.
    pub fn scaled(self, power: i32) -> Dd {
        // In two moves, so that no factor over- or underflows on its own.
        let half = power / 2;
        let (one, two) = (2f64.powi(half), 2f64.powi(power - half));
        Dd { hi: self.hi * one * two, lo: self.lo * one * two }
    }

    /// Its square root.
    pub fn sqrt(self) -> Dd {
        if self.hi <= 0.0 {
            return Dd::ZERO;
        }
        let guess = Dd::new(self.hi.sqrt());
        // One step of Newton doubles the digits.
        guess + (self - guess * guess) / (guess + guess)
    }

    /// To a whole power.
    pub fn powi(self, mut n: u64) -> Dd {
        let (mut base, mut result) = (self, Dd::ONE);
        while n > 0 {
            if n & 1 == 1 {
                result = result * base;
            }
            base = base * base;
            n >>= 1;
        }
        result
    }

    /// e^x.
    pub fn exp(self) -> Dd {
        if self.hi < -745.5 {
            return Dd::ZERO;
        }
        if self.hi > 709.7 {
            return Dd::INFINITY;
        }
        let k = (self.hi / std::f64::consts::LN_2).round();
        // An eighth of log 2 at most, after halving three times.
        let r = (self - LN_2 * Dd::new(k)).scaled(-3);
        let mut grown = taylor_expm1(r);
        for _ in 0..3 {
            grown = grown * grown + grown + grown; // (1 + g)² − 1
        }
        (grown + Dd::ONE).scaled(k as i32)
    }

    /// e^x − 1, with its relative digits near zero.
    pub fn expm1(self) -> Dd {
        if self.hi.abs() > 0.35 {
            return self.exp() - Dd::ONE;
        }
        let mut grown = taylor_expm1(self.scaled(-3));
        for _ in 0..3 {
            grown = grown * grown + grown + grown;
        }
        grown
    }

    /// log x.
    pub fn ln(self) -> Dd {
        if self.hi <= 0.0 {
            return if self.hi == 0.0 { Dd::NEG_INFINITY } else { Dd::new(f64::NAN) };
        }
        if self.hi.is_infinite() {
            return Dd::INFINITY;
        }
        // A power of two is taken out first, so that e^{−guess} stays in range.
        let power = if self.hi < 1e-290 { -1000 } else { self.hi.log2().round() as i32 };
        let reduced = self.scaled(-power);
        let whole = LN_2 * Dd::new(f64::from(power));
        if (reduced.hi - 1.0).abs() < 0.45 {
            return whole + (reduced - Dd::ONE).ln_1p();
        }
        let guess = Dd::new(reduced.hi.ln());
        let t = reduced * (-guess).exp() - Dd::ONE;
        whole + guess + t - (t * t).scaled(-1)
    }

    /// log(1 + x), with its relative digits near zero.
    pub fn ln_1p(self) -> Dd {
        if self.hi <= -1.0 || self.hi > 0.5 || self.hi < -0.5 {
            return (self + Dd::ONE).ln();
        }
        if self.hi == 0.0 {
            return self;
        }
        let guess = Dd::new(self.hi.ln_1p());
        let grown = guess.expm1();
        let t = (self - grown) / (grown + Dd::ONE);
        guess + t - (t * t).scaled(-1) + t * t * t / Dd::new(3.0)
    }

    /// (sin x, cos x).
    pub fn sin_cos(self) -> (Dd, Dd) {
        let half_pi = PI.scaled(-1);
        let k = (self.hi / half_pi.hi).round();
        // π to a third float, for arguments of many turns.
        let rest = self - half_pi * Dd::new(k) - Dd::new(-1.497_384_904_859_169_8e-33 * k);
        let r = rest.scaled(-3);
        let (mut sine, mut versine) = taylor_turn(r); // sin r, 1 − cos r
        for _ in 0..3 {
            let cosine = Dd::ONE - versine;
            versine = (sine * sine).scaled(1); // 1 − cos 2r = 2 sin² r
            sine = (sine * cosine).scaled(1);
        }
        let cosine = Dd::ONE - versine;
        match (k.rem_euclid(4.0)) as i32 {
            0 => (sine, cosine),
            1 => (cosine, -sine),
            2 => (-sine, -cosine),
            _ => (-cosine, sine),
        }
    }

    /// The angle of (x, y), from −π to π.
    pub fn atan2(y: Dd, x: Dd) -> Dd {
        let guess = Dd::new(y.hi.atan2(x.hi));
        let (sine, cosine) = guess.sin_cos();
        let radius = (x * x + y * y).sqrt();
        let t = (y * cosine - x * sine) / radius; // the sine of what the guess lacks
        guess + t + t * t * t / Dd::new(6.0)
    }
}

/// e^x − 1 for |x| < 0.1.
fn taylor_expm1(x: Dd) -> Dd {
    let (mut term, mut sum) = (x, x);
    for n in 2..24 {
        term = term * x / Dd::new(f64::from(n));
        sum = sum + term;
        if term.hi.abs() < 1e-34 * sum.hi.abs() {
            break;
        }
    }
    sum
}

/// sin x and 1 − cos x for |x| < 0.2.
fn taylor_turn(x: Dd) -> (Dd, Dd) {
    let square = x * x;
    let (mut sine, mut versine) = (x, square.scaled(-1));
    let (mut odd, mut even) = (x, versine);
    for n in 1..14 {
        let m = f64::from(2 * n);
        odd = -(odd * square) / Dd::new(m * (m + 1.0));
        even = -(even * square) / Dd::new((m + 1.0) * (m + 2.0));
        sine = sine + odd;
        versine = versine + even;
    }
    (sine, versine)
}

impl From<f64> for Dd {
    fn from(x: f64) -> Dd {
        Dd::new(x)
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl Add for Dd {
    type Output = Dd;
    #[inline]
    fn add(self, other: Dd) -> Dd {
        let (high, low) = two_sum(self.hi, other.hi);
        if !high.is_finite() {
            return Dd::new(high);
        }
        let (next, last) = two_sum(self.lo, other.lo);
        let (high, low) = quick_two_sum(high, low + next);
        let (hi, lo) = quick_two_sum(high, low + last);
        Dd { hi, lo }
    }
}

impl Sub for Dd {
    type Output = Dd;
    #[inline]
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}

impl Mul for Dd {
    type Output = Dd;
    #[inline]
    fn mul(self, other: Dd) -> Dd {
        let (product, low) = two_product(self.hi, other.hi);
        if !product.is_finite() {
            return Dd::new(product);
        }
        let (hi, lo) = quick_two_sum(product, low + (self.hi * other.lo + self.lo * other.hi));
        Dd { hi, lo }
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, other: Dd) -> Dd {
        let first = self.hi / other.hi;
        if !first.is_finite() || other.hi.is_infinite() {
            return Dd::new(first);
        }
        let rest = self - other * Dd::new(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * Dd::new(second);
        let third = rest.hi / other.hi;
        Dd::new(first) + Dd::new(second) + Dd::new(third)
    }
}

impl PartialOrd for Dd {
    fn partial_cmp(&self, other: &Dd) -> Option<Ordering> {
        match self.hi.partial_cmp(&other.hi) {
            Some(Ordering::Equal) => self.lo.partial_cmp(&other.lo),
            order => order,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # mpmath 1.3, 60 digits: h = float(x); l = float(x - mpf(h))
    #[test]
    fn functions_have_twenty_nine_digits() {
        let d = Dd::new;
        let (sine, cosine) = d(100.0).sin_cos();
        let rows = [
            ("exp 1", d(1.0).exp(), std::f64::consts::E, 1.4456468917292502e-16),
            ("exp -0.3", d(-0.3).exp(), 0.7408182206817179, -1.805530505953e-18),
            ("exp -650.25", d(-650.25).exp(), 3.9811921806329143e-283, 2.320354214140808e-299),
            ("ln 3", d(3.0).ln(), 1.0986122886681098, -9.07129723500153e-17),
            ("ln 1e-300", d(1e-300).ln(), -690.7755278982137, -2.3670096176709832e-14),
            ("ln_1p 1e-20", d(1e-20).ln_1p(), 1e-20, -5e-41),
            ("ln_1p -0.25", d(-0.25).ln_1p(), -0.2876820724517809, -2.607160616442564e-17),
            ("expm1 1e-9", d(1e-9).expm1(), 1.0000000005000001e-9, -7.443897403844588e-26),
            ("sin 100", sine, -0.5063656411097588, -3.050947053792115e-18),
            ("cos 100", cosine, 0.8623188722876839, 4.334809858136501e-17),
            ("atan2 1 -3", Dd::atan2(d(1.0), d(-3.0)), 2.819842099193151, 5.903613615775535e-17),
            ("sqrt 2", d(2.0).sqrt(), std::f64::consts::SQRT_2, -9.667293313452913e-17),
        ];
        for (name, found, hi, lo) in rows {
            let error = ((found - Dd { hi, lo }) / Dd { hi, lo }).hi.abs();
            assert!(error < 1e-29, "{name}: {error:e}");
        }
    }

    #[test]
    fn sums_products_and_quotients_keep_what_floats_lose() {
        let third = Dd::ONE / Dd::new(3.0);
        let rest = third * Dd::new(3.0) - Dd::ONE;
        assert!(rest.hi.abs() < DD_UNIT, "{rest:?}");
        let tiny = Dd::ONE + Dd::new(1e-25) - Dd::ONE;
        assert!((tiny.nearest() / 1e-25 - 1.0).abs() < 1e-6);
        assert_eq!(Dd::whole(u64::MAX >> 1).lo, -1.0);
    }
}
