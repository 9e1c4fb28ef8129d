//! Exact sums: amounts are counted in whole steps of a power of ten, so that charges add up as a person adds.
//!
//! A float of at most 15 significant digits is read as that decimal: it is what a person wrote, and what a float of it prints as. Two
//! charges of 0.5 use up a budget of 1, and so do ten of 0.1. Any other float is read as the binary number that it is. A cost is
//! rounded up to whole steps and a limit down; a step is less than 1e-35 of its limit.
//!
//! Data: [`Amounts`] of a charge → steps → a running sum of integers → [`Amounts`] for people, rounded to the safe side.

use std::collections::HashMap;
use veracity_account::filter::Amounts;

/// Digits of a limit, counted in steps. A sum of several hundred limits fits into 128 bits.
const DIGITS: i32 = 36;
/// Every decimal of so many digits comes back from the float that is nearest to it.
const WRITTEN: usize = 15;
/// Amounts whose steps are remembered.
const MOST_KNOWN: usize = 4096;

/// The side to which a number is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Up,
    Down,
}

/// What was spent of a limit.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    limit: Amounts,
    sum: Steps,
    delta: Steps,
    slots: Vec<u64>,
    /// Of a union: a charge fits as long as this is within its limit, or all the others are.
    pure: Option<Steps>,
}

/// One number of a [`Meter`], in steps.
#[derive(Debug, Clone)]
struct Steps {
    /// A step is this power of ten.
    exponent: i32,
    limit: u128,
    spent: u128,
    /// Steps of costs, by the bits of the float.
    known: HashMap<u64, u128>,
}

impl Meter {
    /// A limit of which nothing is spent.
    pub fn new(limit: &Amounts) -> Meter {
        Meter {
            sum: Steps::new(limit.sum),
            delta: Steps::new(limit.delta),
            slots: vec![0; limit.slots.len()],
            pure: (limit.pure > 0.0).then(|| Steps::new(limit.pure)),
            limit: limit.clone(),
        }
    }

    /// Takes a cost, all of it or none; whether it fits.
    ///
    /// # Promise    What is taken in all is never more than the limit; of a union, than the limit of pure ε or than all other limits
    #[must_use]
    pub fn take(&mut self, cost: &Amounts) -> bool {
        let mut after = self.clone();
        after.record(cost);
        // The first cost is compared as it is: rounded to steps, one that equals its limit could be above it.
        let fits = |steps: &Steps, before: &Steps, cost: f64, limit: f64| {
            steps.spent <= steps.limit || (before.spent == 0 && (0.0..=limit).contains(&cost))
        };
        let fits = fits(&after.sum, &self.sum, cost.sum, self.limit.sum)
            && fits(&after.delta, &self.delta, cost.delta, self.limit.delta)
            && cost.slots.len() == after.slots.len()
            && after.slots.iter().zip(&after.limit.slots).all(|(used, most)| used <= most);
        let is_pure = match (&after.pure, &self.pure) {
            (Some(steps), Some(before)) => {
                let fits = steps.spent <= steps.limit;
                fits || (before.spent == 0 && (0.0..=self.limit.pure).contains(&cost.pure))
            }
            _ => false,
        };
        let is_number = |x: f64| x >= 0.0;
        let is_whole = is_number(cost.sum) && is_number(cost.delta) && cost.slots.len() == self.slots.len();
        let fits = fits || is_pure && is_whole;
        if fits {
            *self = after;
        }
        fits
    }

    /// Adds a cost that was charged, whether it fits or not.
    pub fn record(&mut self, cost: &Amounts) {
        self.sum.add(cost.sum);
        self.delta.add(cost.delta);
        for (used, more) in self.slots.iter_mut().zip(&cost.slots) {
            *used = used.saturating_add(*more);
        }
        if let Some(pure) = &mut self.pure {
            pure.add(cost.pure);
        }
    }

    /// Whether pure ε is a limit of its own.
    pub fn is_union(&self) -> bool {
        self.pure.is_some()
    }

    /// What was spent, rounded up.
    pub fn spent(&self) -> Amounts {
        Amounts {
            sum: self.sum.number(self.sum.spent, Side::Up),
            delta: self.delta.number(self.delta.spent, Side::Up),
            slots: self.slots.clone(),
            pure: self.pure.as_ref().map_or(0.0, |pure| pure.number(pure.spent, Side::Up)),
        }
    }

    /// What is left, rounded down.
    pub fn left(&self) -> Amounts {
        let left = |steps: &Steps| steps.number(steps.limit.saturating_sub(steps.spent), Side::Down);
        let slots = self.limit.slots.iter().zip(&self.slots);
        Amounts {
            sum: left(&self.sum),
            delta: left(&self.delta),
            slots: slots.map(|(most, used)| most.saturating_sub(*used)).collect(),
            pure: self.pure.as_ref().map_or(0.0, left),
        }
    }
}

impl Steps {
    fn new(limit: f64) -> Steps {
        let exponent = match limit > 0.0 && limit.is_finite() {
            true => Decimal::of(limit).point - DIGITS,
            false => 0,
        };
        let steps = in_steps(limit, exponent, Side::Down);
        Steps { exponent, limit: steps, spent: 0, known: HashMap::new() }
    }

    fn add(&mut self, cost: f64) {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        let exponent = self.exponent;
        let steps = self.known.entry(cost.to_bits()).or_insert_with(|| in_steps(cost, exponent, Side::Up));
        self.spent = self.spent.saturating_add(*steps);
    }

    /// So many steps as a float.
    fn number(&self, steps: u128, side: Side) -> f64 {
        if steps == u128::MAX && side == Side::Up {
            return f64::INFINITY; // saturated
        }
        let nearest: f64 = format!("{steps}e{}", self.exponent).parse().unwrap_or(f64::INFINITY);
        match side {
            Side::Up if in_steps(nearest, self.exponent, Side::Up) < steps => nearest.next_up(),
            Side::Down if in_steps(nearest, self.exponent, Side::Up) > steps => nearest.next_down().max(0.0),
            Side::Up | Side::Down => nearest,
        }
    }
}

/// A number in steps of 10^exponent. One that is too large, or is no number, has more steps than any limit.
fn in_steps(x: f64, exponent: i32, side: Side) -> u128 {
    if x == 0.0 {
        return 0;
    }
    if !(x > 0.0 && x.is_finite()) {
        return if side == Side::Up { u128::MAX } else { 0 };
    }
    let Decimal { digits, point } = Decimal::of(x);
    // Digits before the place of one step.
    let whole = i64::from(point) - i64::from(exponent);
    let kept = usize::try_from(whole).unwrap_or(0);
    let mut steps = 0u128;
    for at in 0..kept {
        let digit = digits.get(at).copied().unwrap_or(0);
        match steps.checked_mul(10).and_then(|steps| steps.checked_add(u128::from(digit))) {
            Some(more) => steps = more,
            None => return u128::MAX,
        }
    }
    // A number below one step has a rest whatever its digits are.
    let has_rest = digits.iter().skip(kept).any(|digit| *digit != 0);
    if has_rest && side == Side::Up { steps.saturating_add(1) } else { steps }
}

/// A positive number as 0.d₁d₂d₃… times 10^point, exactly.
struct Decimal {
    digits: Vec<u8>,
    point: i32,
}

impl Decimal {
    fn of(x: f64) -> Decimal {
        let written = format!("{x:e}");
        let (mantissa, power) = written.split_once('e').unwrap_or((&written, "0"));
        let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
        if digits.len() <= WRITTEN {
            return Decimal { digits, point: power.parse().unwrap_or(0) + 1 };
        }
        // m 2^power has no more than -power digits after the point; with that precision a float is written exactly.
        let field = (x.to_bits() >> 52) as i32;
        let places = (1075 - field.max(1)).max(0) as usize;
        let written = format!("{x:.places$}");
        let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        Decimal { digits: digits[zeros..].to_vec(), point: whole.len() as i32 - zeros as i32 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sum(x: f64) -> Amounts {
        Amounts::of(x, 0.0)
    }

    /// Against the exact expansion of each float to 1100 places, added digit by digit.
    #[test]
    fn steps_are_those_of_the_exact_number_on_the_safe_side() {
        let expansion = |x: f64| format!("{x:.1100}");
        for x in [1.0 / 3.0, 0.1 + 0.2, std::f64::consts::PI, 5e-324, 1e-30 / 3.0, 12.345_678_901_234_567] {
            let exponent = -35;
            let text = expansion(x);
            let (whole, fraction) = text.split_once('.').unwrap();
            let kept: u128 = format!("{whole}{}", &fraction[..35]).parse().unwrap();
            let has_rest = fraction[35..].bytes().any(|byte| byte != b'0');
            // Short decimals are what was written: 5e-324 is below a step either way.
            assert_eq!(in_steps(x, exponent, Side::Down), kept, "{x}");
            assert_eq!(in_steps(x, exponent, Side::Up), kept + u128::from(has_rest), "{x}");
        }
    }

    #[test]
    fn what_a_person_wrote_is_that_decimal() {
        for (x, steps) in [(0.1, 1), (0.2, 2), (0.3, 3), (0.7, 7), (1.1, 11), (123.4, 1234)] {
            assert_eq!(in_steps(x, -1, Side::Up), steps);
            assert_eq!(in_steps(x, -1, Side::Down), steps);
        }
        // Not written by a person: a little more than 0.3.
        assert_eq!(in_steps(0.1 + 0.2, -1, Side::Up), 4);
    }

    #[test]
    fn a_limit_is_used_up_and_never_passed() {
        let mut meter = Meter::new(&sum(1.0));
        assert!((0..10).all(|_| meter.take(&sum(0.1))));
        assert_eq!((meter.spent().sum, meter.left().sum), (1.0, 0.0));
        assert!(!meter.take(&sum(5e-324)) && meter.take(&sum(0.0)) && !meter.take(&sum(-1.0)));
        assert!(!Meter::new(&sum(1.0)).take(&sum(1.0f64.next_up())));
        for odd in [f64::NAN, f64::INFINITY, f64::MAX] {
            assert!(!Meter::new(&sum(1.0)).take(&sum(odd)), "{odd}");
        }
        // Of no δ nothing can be taken.
        assert!(!meter.take(&Amounts::of(0.0, 1e-300)));
        // Limits of every size.
        for limit in [5e-324, 1e-300, 0.3, 1.0 / 3.0, 7.0, 1e9, 1e300, f64::MAX] {
            let mut meter = Meter::new(&sum(limit));
            assert!(meter.take(&sum(limit)) && !meter.take(&sum(5e-324)), "{limit}");
            assert_eq!(meter.spent().sum, limit);
        }
    }

    #[test]
    fn what_is_shown_as_spent_is_no_less_and_as_left_no_more() {
        let mut meter = Meter::new(&sum(10.0));
        for at in 1..200u32 {
            assert!(meter.take(&sum(1.0 / f64::from(1000 + at))));
            let (spent, left) = (meter.spent().sum, meter.left().sum);
            assert!(in_steps(spent, meter.sum.exponent, Side::Up) >= meter.sum.spent);
            assert!(in_steps(left, meter.sum.exponent, Side::Up) <= meter.sum.limit - meter.sum.spent);
            assert!((spent + left - 10.0).abs() < 1e-14);
        }
    }

    /// Either limit admits; one that was passed stays passed, and both are charged with everything.
    #[test]
    fn a_union_admits_what_either_limit_admits() {
        let cost = |sum: f64, pure: f64| Amounts { pure, ..Amounts::of(sum, 0.0) };
        let limit = Amounts { pure: 1.0, ..Amounts::of(0.5, 1e-7) };
        let mut meter = Meter::new(&limit);
        // Beyond the pool, within the sum: ten tenths are one.
        assert!(meter.take(&cost(1.0, 0.1)) && !meter.take(&cost(0.001, f64::INFINITY)));
        assert!((0..9).all(|_| meter.take(&cost(0.0, 0.1))));
        assert!(!meter.take(&cost(0.0, 1e-300)) && meter.left().pure == 0.0 && meter.left().sum == 0.0);
        // Beyond the sum, within the pool.
        let mut meter = Meter::new(&limit);
        assert!(meter.take(&cost(0.25, f64::INFINITY)) && meter.spent().pure == f64::INFINITY);
        assert!(meter.take(&cost(0.25, 0.1)) && !meter.take(&cost(1e-300, 0.1)));
        for odd in [f64::NAN, -1.0] {
            assert!(!Meter::new(&limit).take(&cost(odd, 0.1)), "{odd}");
        }
        assert!(!Meter::new(&limit).take(&cost(f64::INFINITY, f64::NAN)));
    }

    #[test]
    fn slots_are_counted_one_by_one() {
        let limit = Amounts { slots: vec![2, 1], ..Amounts::of(1.0, 0.0) };
        let mut meter = Meter::new(&limit);
        let one = Amounts { slots: vec![1, 0], ..Amounts::of(0.0, 0.0) };
        assert!(meter.take(&one) && meter.take(&one) && !meter.take(&one));
        assert_eq!((meter.spent().slots, meter.left().slots), (vec![2, 0], vec![0, 1]));
        assert!(!meter.take(&sum(0.0)), "a cost of another number of slots");
    }
}
