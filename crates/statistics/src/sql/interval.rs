//! Arithmetic of noisy answers: a number, and between which numbers the exact one is.
//!
//! **Error bars.** An expression of k different answers takes each with the bar that misses with probability 5%/k. So with probability
//! at least 95% all k exact answers are within their bars at once (union bound), and then the exact value of the expression is within
//! the interval that interval arithmetic gives. It does not matter how the answers depend on one another, and so the bar also holds where
//! several come from one noise call. The bar of a column is the distance from its number to the farther end.
//!
//! An expression is undefined where its number is, or where its interval has no end: a division by an answer whose interval contains 0,
//! a root of what may only be negative, a logarithm of what may be 0.
//!
//! Every end is moved outward by a relative 1e-15 in each step, more than the rounding of floats.

use crate::sql::{Operator, plan::Function};

/// A number, and between which numbers the exact one is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    pub answer: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// A number of the query.
    pub(crate) fn point(x: f64) -> Interval {
        Interval { answer: x, low: x, high: x }
    }

    /// A noisy number, whose exact one is between these bounds whatever the data.
    pub(crate) fn noisy(answer: f64, error_bar: f64, (least, most): (f64, f64)) -> Interval {
        let (low, high) = (answer - error_bar, answer + error_bar);
        // An interval beyond a bound is moved to it, so that it never becomes empty.
        Interval { answer, low: low.clamp(least, most), high: high.clamp(least, most) }.outward()
    }

    /// How far the exact number may be from the answer.
    pub(crate) fn error_bar(self) -> f64 {
        (self.high - self.answer).max(self.answer - self.low).max(0.0).next_up()
    }

    /// Nothing where a number is missing or an end is infinite.
    fn checked(self) -> Option<Interval> {
        let is_finite = self.answer.is_finite() && self.low.is_finite() && self.high.is_finite();
        is_finite.then(|| self.outward())
    }

    fn outward(self) -> Interval {
        let wide = |x: f64| 1e-15 * x.abs();
        Interval { low: self.low - wide(self.low), high: self.high + wide(self.high), ..self }
    }

    /// A function that never falls.
    fn rising(self, f: impl Fn(f64) -> f64) -> Option<Interval> {
        Interval { answer: f(self.answer), low: f(self.low), high: f(self.high) }.checked()
    }
}

/// A result of two; none where it is undefined.
pub(crate) fn arithmetic(operator: Operator, a: Interval, b: Interval) -> Option<Interval> {
    let of = |answer: f64, ends: &[f64]| {
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Interval { answer, low, high }.checked()
    };
    match operator {
        Operator::Add => of(a.answer + b.answer, &[a.low + b.low, a.high + b.high]),
        Operator::Subtract => of(a.answer - b.answer, &[a.low - b.high, a.high - b.low]),
        Operator::Multiply => {
            of(a.answer * b.answer, &[a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high])
        }
        Operator::Divide if b.low <= 0.0 && b.high >= 0.0 => None,
        // The noisy number may be outside of the bounds that its interval keeps.
        Operator::Divide if b.answer == 0.0 || (b.answer < 0.0) != (b.high < 0.0) => None,
        Operator::Divide => {
            of(a.answer / b.answer, &[a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high])
        }
    }
}

/// A function of some; none where it is undefined.
pub(crate) fn function(function: Function, of: &[Interval]) -> Option<Interval> {
    let x = *of.first()?;
    match function {
        Function::Absolute => {
            let (low, high) = (x.low.abs().min(x.high.abs()), x.low.abs().max(x.high.abs()));
            let straddles = x.low <= 0.0 && x.high >= 0.0;
            Interval { answer: x.answer.abs(), low: if straddles { 0.0 } else { low }, high }.checked()
        }
        Function::Square => {
            let absolute = self::function(Function::Absolute, of)?;
            absolute.rising(|x| x * x)
        }
        Function::Round(decimals) => covering(x, |number| round(number, decimals)),
        Function::Floor => covering(x, f64::floor),
        Function::Ceiling => covering(x, f64::ceil),
        Function::Truncate => covering(x, f64::trunc),
        Function::Root if x.high < 0.0 => None,
        // An exact number that has a root is not negative. A noisy one below zero has the root of zero.
        Function::Root => x.rising(|number| number.max(0.0).sqrt()),
        Function::Logarithm => x.rising(f64::ln),
        Function::Exponential => x.rising(f64::exp),
        Function::Least => of[1..].iter().try_fold(x, |a, b| pairwise(a, *b, f64::min)),
        Function::Greatest => of[1..].iter().try_fold(x, |a, b| pairwise(a, *b, f64::max)),
        Function::NullIfZero => (x.answer != 0.0).then_some(x),
    }
}

/// A rounded number. Its interval covers the exact number both rounded and as it is, so that rounding never hides the noise.
fn covering(x: Interval, round: impl Fn(f64) -> f64) -> Option<Interval> {
    Interval { answer: round(x.answer), low: x.low.min(round(x.low)), high: x.high.max(round(x.high)) }
        .checked()
}

/// The nearest multiple of a power of ten, halves away from zero.
fn round(x: f64, decimals: i32) -> f64 {
    let power = 10f64.powi(decimals.abs());
    let rounded = if decimals < 0 { (x / power).round() * power } else { (x * power).round() / power };
    // What is too large to be scaled has no such decimals.
    if rounded.is_finite() { rounded } else { x }
}

fn pairwise(a: Interval, b: Interval, f: fn(f64, f64) -> f64) -> Option<Interval> {
    Interval { answer: f(a.answer, b.answer), low: f(a.low, b.low), high: f(a.high, b.high) }.checked()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const OPERATORS: [Operator; 4] =
        [Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Divide];
    const FUNCTIONS: [Function; 11] = [
        Function::Absolute,
        Function::Square,
        Function::Round(1),
        Function::Round(-1),
        Function::Floor,
        Function::Ceiling,
        Function::Truncate,
        Function::Root,
        Function::Logarithm,
        Function::Exponential,
        Function::NullIfZero,
    ];

    fn intervals() -> Vec<Interval> {
        let ends = [-30.0, -7.5, -1.0, -0.05, 0.0, 0.05, 0.1, 1.0, 2.5, 20.0];
        let mut all = Vec::new();
        for (at, low) in ends.iter().enumerate() {
            for high in &ends[at..] {
                all.push(Interval { answer: 0.3 * low + 0.7 * high, low: *low, high: *high });
            }
        }
        all
    }

    fn points(x: Interval) -> impl Iterator<Item = f64> {
        (0..=12).map(move |part| (x.low + (x.high - x.low) * f64::from(part) / 12.0).min(x.high))
    }

    fn exact(function: Function, x: f64) -> f64 {
        match function {
            Function::Absolute => x.abs(),
            Function::Square => x.powi(2),
            Function::Round(decimals) => round(x, decimals),
            Function::Floor => x.floor(),
            Function::Ceiling => x.ceil(),
            Function::Truncate => x.trunc(),
            Function::Root => x.sqrt(),
            Function::Logarithm => x.ln(),
            Function::Exponential => x.exp(),
            _ => x,
        }
    }

    /// By enumeration of points of each interval: what is defined covers the result of every point that has one.
    #[test]
    fn results_of_all_exact_numbers_are_covered() {
        let (mut defined, mut undefined) = (0, 0);
        for a in intervals() {
            for function in FUNCTIONS {
                let Some(found) = super::function(function, &[a]) else {
                    undefined += 1;
                    continue;
                };
                defined += 1;
                for exact in points(a).map(|x| exact(function, x)).filter(|exact| !exact.is_nan()) {
                    assert!(
                        found.low <= exact && exact <= found.high,
                        "{function:?} {a:?}: {exact} {found:?}"
                    );
                    assert!((found.answer - exact).abs() <= found.error_bar(), "{function:?} {a:?}");
                }
            }
            for b in intervals() {
                for operator in OPERATORS {
                    let Some(found) = arithmetic(operator, a, b) else {
                        assert_eq!(operator, Operator::Divide);
                        assert!(b.low <= 0.0 && b.high >= 0.0);
                        continue;
                    };
                    for (x, y) in points(a).flat_map(|x| points(b).map(move |y| (x, y))) {
                        let exact = match operator {
                            Operator::Add => x + y,
                            Operator::Subtract => x - y,
                            Operator::Multiply => x * y,
                            Operator::Divide => x / y,
                        };
                        assert!(
                            (found.answer - exact).abs() <= found.error_bar(),
                            "{operator:?} {a:?} {b:?}"
                        );
                    }
                }
            }
        }
        assert!(defined > 400 && undefined > 40, "{defined} {undefined}");
    }

    #[test]
    fn rounding_covers_the_number_as_it_is() {
        let x = Interval { answer: 10.04, low: 10.02, high: 10.06 };
        let rounded = function(Function::Round(1), &[x]).unwrap();
        assert_eq!(rounded.answer, 10.0);
        assert!(rounded.low <= 10.0 && rounded.high >= 10.1);
        let narrow = Interval { answer: 10.03, low: 10.02, high: 10.04 };
        let rounded = function(Function::Round(1), &[narrow]).unwrap();
        assert!(rounded.error_bar() >= 0.04);
    }

    #[test]
    fn an_interval_beyond_its_bounds_is_moved_to_them() {
        let count = Interval::noisy(-50.0, 20.0, (0.0, f64::INFINITY));
        assert_eq!((count.low, count.high), (0.0, 0.0));
        assert_eq!(arithmetic(Operator::Divide, Interval::point(1.0), count), None);
    }
}
