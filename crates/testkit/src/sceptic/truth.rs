//! A certified or high-precision truth: log δ between two double-doubles, so that 1e-800 is still a number.

use super::double_double::Dd;

/// The truth lies between these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truth {
    /// log δ is at least this; −∞ where δ may be zero.
    pub log_low: Dd,
    /// log δ is at most this; −∞ where δ is zero.
    pub log_high: Dd,
}

impl Truth {
    /// δ is zero.
    pub const NOTHING: Truth = Truth { log_low: Dd::NEG_INFINITY, log_high: Dd::NEG_INFINITY };

    /// A logarithm that errs by at most `error`.
    pub fn around(log: Dd, error: f64) -> Truth {
        let error = Dd::new(error);
        Truth { log_low: log - error, log_high: (log + error).min(Dd::ZERO) }
    }

    /// A decimal such as `5.09e-412`, right to half its last digit.
    ///
    /// # Panics  On what is no decimal: golden files hold only those
    pub fn of_decimal(text: &str) -> Truth {
        let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut exponent: i32 = exponent.parse().expect("a whole exponent");
        let (mut mantissa, mut fraction) = (Dd::ZERO, false);
        for character in digits.chars() {
            if character == '.' {
                fraction = true;
                continue;
            }
            let digit = character.to_digit(10).expect("a digit");
            mantissa = mantissa * Dd::new(10.0) + Dd::new(f64::from(digit));
            exponent -= i32::from(fraction);
        }
        // Digits beyond the thirtieth may be lost.
        Truth::unbounded(mantissa.ln() + Dd::new(10.0).ln() * Dd::new(f64::from(exponent)), 1e-26)
    }

    /// As `around`, for numbers that may exceed 1.
    fn unbounded(log: Dd, error: f64) -> Truth {
        Truth { log_low: log - Dd::new(error), log_high: log + Dd::new(error) }
    }

    /// What is false about two ends that should hold it, if anything.
    pub fn outside(&self, lower: f64, upper: f64) -> Option<String> {
        if lower > 0.0 && self.is_below(lower) {
            return Some(format!("lower {lower:e} is above the truth {}", self.describe()));
        }
        self.is_above(upper).then(|| format!("upper {upper:e} is below the truth {}", self.describe()))
    }

    /// A value times e^scale, known within `error` of the value's unit.
    pub fn of_value(value: Dd, error: f64, log_scale: Dd) -> Truth {
        let error = Dd::new(error);
        let low = value - error;
        let log_low = if low.hi > 0.0 { low.ln() + log_scale } else { Dd::NEG_INFINITY };
        let high = value + error;
        let log_high = if high.hi > 0.0 { high.ln() + log_scale } else { Dd::NEG_INFINITY };
        Truth { log_low, log_high: log_high.min(Dd::ZERO) }
    }

    /// The worse of two directions.
    pub fn worse(self, other: Truth) -> Truth {
        Truth { log_low: self.log_low.max(other.log_low), log_high: self.log_high.max(other.log_high) }
    }

    /// With an outcome of infinite loss whose probability is 1 − e^{log_survive}: δ′ = 1 − S + S δ = 1 − S (1 − δ).
    pub fn with_failure(self, log_survive: Dd) -> Truth {
        if log_survive.hi == 0.0 {
            return self;
        }
        let fail = -log_survive.expm1();
        let joined = |log: Dd| (fail + (log + log_survive).exp()).ln();
        let blur = Dd::new(1e-28);
        Truth { log_low: joined(self.log_low) - blur, log_high: (joined(self.log_high) + blur).min(Dd::ZERO) }
    }

    /// How far apart its ends are, as a relative error of δ.
    pub fn width(&self) -> f64 {
        if self.log_high.hi == f64::NEG_INFINITY { 0.0 } else { (self.log_high - self.log_low).hi }
    }

    /// Whether it is known to eight digits: what counts as measured.
    pub fn is_sharp(&self) -> bool {
        self.width() < 1e-8
    }

    /// Whether it is known to two digits at least.
    pub fn is_rough(&self) -> bool {
        self.width() < 1e-2
    }

    /// Whether δ is surely below `delta`.
    pub fn is_below(&self, delta: f64) -> bool {
        self.log_high < log_of(delta) - Dd::new(1e-28)
    }

    /// Whether δ is surely above `delta`.
    pub fn is_above(&self, delta: f64) -> bool {
        self.log_low > log_of(delta) + Dd::new(1e-28)
    }

    /// About where it lies, for messages: to the digits of a float, with its exponent even where floats have none.
    pub fn describe(&self) -> String {
        if self.log_high.hi == f64::NEG_INFINITY {
            return "0".to_owned();
        }
        let middle = if self.log_low.hi == f64::NEG_INFINITY { self.log_high } else { self.log_low };
        let decimal = middle / Dd::new(10.0).ln();
        let exponent = decimal.hi.floor();
        let digits = ((decimal - Dd::new(exponent)) * Dd::new(10.0).ln()).exp();
        format!("{:.15}e{exponent} (relative width {:.1e})", digits.nearest(), self.width())
    }
}

/// log of a float, to its last bit also where the float is near 1.
fn log_of(x: f64) -> Dd {
    if x > 0.5 && x < 2.0 { (Dd::new(x) - Dd::ONE).ln_1p() } else { Dd::new(x).ln() }
}
