//! Edges of equal bins as exact numbers: lower + i (upper − lower)/bins of the decimals that were written.
//!
//! A float stands for the shortest decimal that is read as it. Both bounds become whole numbers of one power of ten, so an
//! edge is an exact ratio. For each edge there is a least float whose decimal is not below it; comparing a value with that
//! float is comparing its decimal with the edge.

use crate::Bounds;
use std::cmp::Ordering;
use veracity_core::Refusal;

/// Bounds that were written as decimals, in whole numbers of 10^`power`, and how many bins are between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edges {
    lower: i128,
    upper: i128,
    power: i32,
    bins: u32,
}

impl Edges {
    /// Digits that both bounds have together, at most: then every comparison fits into 128 bits.
    const DIGITS: u32 = 30;

    /// Refused where the bounds are too far apart in size to be whole numbers of one power of ten.
    ///
    /// # Assumes  1 ≤ `bins` ≤ 10^6
    pub(crate) fn new(bounds: Bounds, bins: u32) -> Result<Edges, Refusal> {
        let (low, high) = (Decimal::of(bounds.lower()), Decimal::of(bounds.upper()));
        // Nothing is a whole number of any power; not both bounds are nothing.
        let power = [low, high].iter().filter(|x| x.mantissa != 0).map(|x| x.power).min().unwrap_or(0);
        let most = 10i128.pow(Edges::DIGITS);
        let whole = |x: Decimal| {
            if x.mantissa == 0 {
                return Some(0);
            }
            let scale = 10i128.checked_pow(x.power.abs_diff(power))?;
            x.mantissa.checked_mul(scale).filter(|whole| whole.abs() <= most)
        };
        match (whole(low), whole(high)) {
            (Some(lower), Some(upper)) => Ok(Edges { lower, upper, power, bins }),
            _ => Err(Refusal::out_of_range(
                "bounds",
                format!("{:e}..{:e}", bounds.lower(), bounds.upper()),
                "bounds with at most 30 digits in total, for bins of equal width",
            )),
        }
    }

    /// How many bins.
    pub(crate) fn bins(&self) -> u32 {
        self.bins
    }

    /// Edge `i`, times the number of bins, in units.
    fn numerator(&self, i: u32) -> i128 {
        self.lower * i128::from(self.bins) + i128::from(i) * (self.upper - self.lower)
    }

    /// The float nearest to edge `i`, for eyes. What prints as 0.3 is the edge 3/10.
    pub(crate) fn shown(&self, i: u32) -> f64 {
        let (numerator, bins) = (self.numerator(i), i128::from(self.bins));
        // More digits than any float has, where there are more.
        let (mut digits, mut rest, mut power) = (numerator / bins, numerator % bins, self.power);
        while rest != 0 && digits.abs() < 10i128.pow(Edges::DIGITS) {
            (digits, rest) = (digits * 10 + rest * 10 / bins, rest * 10 % bins);
            power -= 1;
        }
        format!("{digits}e{power}").parse().expect("digits, e and an exponent are a number")
    }

    /// How the decimal of a float compares with edge `i`.
    fn compare(&self, x: f64, i: u32) -> Ordering {
        let Decimal { mantissa, power } = Decimal::of(x);
        let (ours, edge) = (mantissa * i128::from(self.bins), self.numerator(i));
        // Both sides are below 10^37, so what saturates is larger than the other, on either side of zero.
        let scale = 10i128.saturating_pow(power.abs_diff(self.power));
        if power >= self.power {
            ours.saturating_mul(scale).cmp(&edge)
        } else {
            ours.cmp(&edge.saturating_mul(scale))
        }
    }

    /// The least float whose decimal is not below edge `i`.
    fn threshold(&self, i: u32) -> f64 {
        let mut x = self.shown(i);
        while self.compare(x, i).is_lt() {
            x = x.next_up();
        }
        while self.compare(x.next_down(), i).is_ge() {
            x = x.next_down();
        }
        x
    }

    /// Where the second and all later bins begin, as floats to compare values with.
    fn thresholds(&self) -> Vec<f64> {
        (1..self.bins).map(|i| self.threshold(i)).collect()
    }

    /// Tells values their bins.
    pub(crate) fn places(&self) -> Places {
        let (lower, upper) = (self.shown(0), self.shown(self.bins));
        Places { lower, bins_of_one: f64::from(self.bins) / (upper - lower), inner: self.thresholds() }
    }

    /// The names of the bins; the last one has its upper end.
    pub(crate) fn labels(&self) -> Vec<String> {
        let mut from = plain(self.shown(0));
        (1..=self.bins)
            .map(|i| {
                let to = plain(self.shown(i));
                let close = if i == self.bins { ']' } else { ')' };
                let label = format!("[{from}, {to}{close}");
                from = to;
                label
            })
            .collect()
    }
}

/// The bins of values. A first guess by arithmetic, which may be one off, is put right by the thresholds.
#[derive(Debug)]
pub(crate) struct Places {
    lower: f64,
    bins_of_one: f64,
    inner: Vec<f64>,
}

impl Places {
    /// The bin of a value: the first one below the first inner threshold, the last one from the last threshold on.
    ///
    /// # Promise  How many thresholds are not above x, whatever the guess
    /// # Assumes  `x` is a number
    pub(crate) fn of(&self, x: f64) -> usize {
        // A cast of what is below nothing is 0, and so is that of no number.
        let mut bin = (((x - self.lower) * self.bins_of_one) as usize).min(self.inner.len());
        while bin > 0 && x < self.inner[bin - 1] {
            bin -= 1;
        }
        while bin < self.inner.len() && self.inner[bin] <= x {
            bin += 1;
        }
        bin
    }
}

/// A number as a person would write it, with an exponent only where there would be many zeros.
fn plain(x: f64) -> String {
    match x.abs() {
        0.0 | 1e-6..1e16 => x.to_string(),
        _ => format!("{x:e}"),
    }
}

/// `mantissa` × 10^`power`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decimal {
    mantissa: i128,
    power: i32,
}

impl Decimal {
    /// The shortest decimal that is read as this float, which is what its writer meant. Monotone.
    ///
    /// # Assumes  `x` is finite
    fn of(x: f64) -> Decimal {
        let text = format!("{x:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let places = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
        let finite = "a finite float is written as digits, e and an exponent";
        Decimal {
            mantissa: digits.replace('.', "").parse().expect(finite),
            power: power.parse::<i32>().expect(finite) - places,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(lower: f64, upper: f64, bins: u32) -> Edges {
        Edges::new(Bounds::new(lower, upper).unwrap(), bins).unwrap()
    }

    #[test]
    fn a_float_stands_for_its_shortest_decimal() {
        for (x, mantissa, power) in [
            (0.3, 3, -1),
            (-0.0, 0, 0),
            (19.99, 1999, -2),
            (0.1 + 0.2, 30_000_000_000_000_004, -17),
            (1e100, 1, 100),
            (-5e-324, -5, -324),
            (f64::MAX, 17_976_931_348_623_157, 292),
        ] {
            assert_eq!(Decimal::of(x), Decimal { mantissa, power }, "{x:e}");
        }
    }

    /// Every edge that is a short decimal is its own float, and begins its bin; the float below it does not.
    #[test]
    fn short_decimals_are_where_their_bins_begin() {
        for (lower, upper, bins, power) in [
            (0.0, 100.0, 100, 0),
            (0.0, 1.0, 10, -1),
            (-1.0, 1.0, 2000, -3),
            (0.1, 0.3, 200, -3),
            (-7.5, -7.25, 25, -2),
            (0.0, 1e6, 1000, 3),
            (1e9, 1e9 + 1.0, 10, -1),
        ] {
            let found = edges(lower, upper, bins);
            let first: i64 =
                format!("{lower}").parse::<f64>().map(|x| (x / 10f64.powi(power)).round() as i64).unwrap();
            let thresholds = found.thresholds();
            for i in 1..bins {
                let written: f64 = format!("{}e{power}", first + i64::from(i)).parse().unwrap();
                assert_eq!(found.shown(i), written, "{i} of {lower}..{upper}");
                assert_eq!(thresholds[i as usize - 1], written, "{i} of {lower}..{upper}");
            }
        }
        assert_eq!(edges(0.0, 1.0, 10).labels()[3], "[0.3, 0.4)");
        assert_eq!(edges(0.0, 100.0, 100).labels()[99], "[99, 100]");
        assert_eq!(edges(-1e100, 1e100, 2).labels(), ["[-1e100, 0)", "[0, 1e100]"]);
    }

    /// 1/3 is no decimal: 0.3333333333333333 is below it and 0.33333333333333337 above, though the float of the first is
    /// the nearest to it.
    #[test]
    fn an_edge_that_is_no_decimal_is_compared_exactly() {
        let thirds = edges(0.0, 1.0, 3);
        assert_eq!(thirds.labels()[1], "[0.3333333333333333, 0.6666666666666666)");
        assert_eq!(thirds.thresholds(), [0.333_333_333_333_333_37, 0.666_666_666_666_666_7]);
        assert!(thirds.compare(0.333_333_333_333_333_3, 1).is_lt());
    }

    #[test]
    fn thresholds_are_the_least_floats_on_strange_bounds() {
        for (lower, upper) in [
            (-1e100, 1e100),
            (0.0, 1e-99),
            (-1e100, 0.0),
            (1e15, 1e15 + 0.25),
            (1.0 / 3.0, 2.0 / 3.0),
            (-3.0, 1e6),
            (-1e-9, 1e9),
            (0.1 + 0.2, 1e9),
        ] {
            for bins in [1, 2, 3, 7, 64, 999] {
                let found = edges(lower, upper, bins);
                let thresholds = found.thresholds();
                assert!(thresholds.is_sorted(), "{lower}..{upper} in {bins}");
                for (i, threshold) in (1..).zip(thresholds) {
                    assert!(
                        found.compare(threshold, i).is_ge()
                            && found.compare(threshold.next_down(), i).is_lt()
                    );
                }
            }
        }
    }

    /// Every threshold with its neighbours, and floats of all sizes, against a search of the thresholds.
    #[test]
    fn a_guessed_bin_is_the_one_that_is_searched_for() {
        for (lower, upper) in [
            (0.0, 99.0),
            (0.0, 1.0),
            (-1e100, 1e100),
            (0.0, 1e-99),
            (1e15, 1e15 + 0.25),
            (1.0 / 3.0, 2.0 / 3.0),
            (-1e-9, 1e9),
        ] {
            for bins in [1, 2, 7, 64, 999] {
                let places = edges(lower, upper, bins).places();
                let near = |x: f64| [x.next_down(), x, x.next_up()];
                let all = (0..2000u64).map(|k| f64::from_bits(k.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
                let within = (0..2000).map(|k| lower + (upper - lower) * f64::from(k) / 1999.0);
                let ends = [lower, upper, 0.0, -0.0, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];
                let values = places.inner.iter().copied().flat_map(near).chain(all).chain(within).chain(ends);
                for x in values.filter(|x| !x.is_nan()) {
                    let searched = places.inner.partition_point(|edge| *edge <= x);
                    assert_eq!(places.of(x), searched, "{x:e} in {bins} bins of {lower:e}..{upper:e}");
                }
            }
        }
    }

    #[test]
    fn bounds_too_far_apart_in_size_are_refused() {
        let refused = Edges::new(Bounds::new(1e-300, 1.0).unwrap(), 5).unwrap_err().to_string();
        assert_eq!(
            refused,
            "bounds is 1e-300..1e0, expected bounds with at most 30 digits in total, for bins of equal width"
        );
    }
}
