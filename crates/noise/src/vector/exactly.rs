//! A pair by arithmetic of twice the precision: one in 42 000, whose rounding `f64` leaves in doubt.
//!
//! A number is the sum of two `f64`, about 105 bits, of which a hundred operations leave 96. So results are within 2⁻⁷⁰ units of the
//! real-number functions (for radii below 2⁻¹⁴, within 2⁻⁸⁴ units times their inverse), and a rounding is still in doubt with a chance
//! below 2⁻⁶⁸; it is then made anyway.
//!
//! # Reference  [Dekker71]

use crate::stream::Continuation;

/// The integers nearest to the first and second normal of a pair, before they are reflected.
#[cold]
pub(super) fn pair(radius_word: u32, angle_word: u32, more: Continuation) -> (i32, i32) {
    let r = root(minus_log(radius_word, more.radius).times(Double::of(2.0)));
    let (cos, sin) = cos_sin(angle(angle_word, more.angle));
    let units = Double::of(super::SCALE);
    (r.times(cos).times(units).nearest(), r.times(sin).times(units).nearest())
}

/// −ln u of u = (word + (more + ½)·2⁻⁶⁴)·2⁻³².
fn minus_log(word: u32, more: u64) -> Double {
    let u = on_unit(word, more);
    // As near as f64 comes: −ln u = guess − ln(u·e^guess), where the last is of the order of 1e-16.
    let guess = if u.high < 0.5 { -u.high.ln() } else { -(Double::of(-1.0).plus(u)).high.ln_1p() };
    let rest = u.times(exponential(guess)).plus(Double::of(-1.0));
    // ln(1 + x) = x − x²/2, to 1e-48.
    let log = rest.plus(rest.times(rest).times(Double::of(-0.5)));
    Double::of(guess).plus(log.negative())
}

/// The angle hπ/4 that the low 30 bits of a word and 64 more name.
fn angle(word: u32, more: u64) -> Double {
    let whole = Double::of(f64::from(((word << 2) as i32) >> 2));
    let quarters = whole.plus(part_of_unit(more)).times(Double::of(1.0 / (1u64 << 29) as f64));
    quarters.times(Double { high: std::f64::consts::FRAC_PI_4, low: FRAC_PI_4_LOW })
}

fn on_unit(word: u32, more: u64) -> Double {
    Double::of(f64::from(word)).plus(part_of_unit(more)).times(Double::of(1.0 / (1u64 << 32) as f64))
}

/// (bits + ½)·2⁻⁶⁴, exactly.
fn part_of_unit(bits: u64) -> Double {
    let (upper, lower) = ((bits >> 32) as u32, bits as u32);
    let unit = 1.0 / (1u64 << 32) as f64;
    Double::of(f64::from(upper) * unit).plus(Double::of((f64::from(lower) + 0.5) * unit * unit))
}

/// e^x for 0 ≤ x < 70.
fn exponential(x: f64) -> Double {
    let twos = (x * std::f64::consts::LOG2_E).round();
    let ln_2 = Double { high: std::f64::consts::LN_2, low: LN_2_LOW };
    let t = Double::of(x).plus(ln_2.times(Double::of(-twos)));
    // Σ tⁿ/n! with |t| < 0.35.
    let series =
        (1..=27).rev().fold(Double::of(1.0), |sum, n| Double::of(1.0).plus(sum.times(t).over(f64::from(n))));
    series.times(Double::of(f64::from_bits(((1023 + twos as i64) as u64) << 52)))
}

/// Cosine and sine of an angle within ±π/4, by their series.
fn cos_sin(angle: Double) -> (Double, Double) {
    let z = angle.times(angle).negative();
    let series = |first: i32| {
        (0..14).rev().fold(Double::of(1.0), |sum, k| {
            let n = f64::from(2 * k + first);
            Double::of(1.0).plus(sum.times(z).over(n * (n + 1.0)))
        })
    };
    (series(1), angle.times(series(2)))
}

fn root(x: Double) -> Double {
    let near = x.high.sqrt();
    if near == 0.0 {
        return Double::of(0.0);
    }
    let rest = x.plus(Double::product(near, -near));
    Double::of(near).plus(rest.over(2.0 * near))
}

/// What [`std::f64::consts`] leaves out of π/4 and of ln 2.
const FRAC_PI_4_LOW: f64 = 3.061_616_997_868_383e-17;
const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;

/// The sum of two numbers, of which the second is below half a last digit of the first.
#[derive(Clone, Copy)]
struct Double {
    high: f64,
    low: f64,
}

impl Double {
    fn of(x: f64) -> Double {
        Double { high: x, low: 0.0 }
    }

    /// The sum of two floats, exactly.
    fn sum(a: f64, b: f64) -> Double {
        let high = a + b;
        let of_b = high - a;
        Double { high, low: (a - (high - of_b)) + (b - of_b) }
    }

    /// The product of two floats, exactly.
    fn product(a: f64, b: f64) -> Double {
        let high = a * b;
        Double { high, low: a.mul_add(b, -high) }
    }

    fn plus(self, other: Double) -> Double {
        let (high, low) = (Double::sum(self.high, other.high), Double::sum(self.low, other.low));
        let near = Double::sum(high.high, high.low + low.high);
        Double::sum(near.high, near.low + low.low)
    }

    fn times(self, other: Double) -> Double {
        let high = Double::product(self.high, other.high);
        Double::sum(high.high, high.low + (self.high * other.low + self.low * other.high))
    }

    fn over(self, by: f64) -> Double {
        let high = self.high / by;
        let rest = self.plus(Double::product(high, -by));
        Double::sum(high, rest.high / by)
    }

    fn negative(self) -> Double {
        Double { high: -self.high, low: -self.low }
    }

    /// The nearest integer of a number below 2³¹.
    fn nearest(self) -> i32 {
        // The floor of x + ½; the low part decides where the high part is an integer.
        let shifted = self.plus(Double::of(0.5));
        let floor = shifted.high.floor();
        let below = shifted.high == floor && shifted.low < 0.0;
        floor as i32 - i32::from(below)
    }
}
