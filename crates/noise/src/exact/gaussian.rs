//! Integer Gaussian noise.

use super::{
    bernoulli::{coin, coin_exp, coin_exp_half_square, two_over_e},
    bernoulli_exp,
    cell::Cells,
    signed,
};
use crate::{Bits, Ratio};

/// An integer x with probability proportional to exp(−x²/2`sigma`²).
///
/// A number in cell k of width `sigma` has |x|/`sigma` = k + r with 0 ≤ r < 1, and e^−(k+r)²/2 = e^−k²/2 (e^−r)^k e^−r²/2:
/// the cell is drawn with probability proportional to the first factor, a number in it is kept with the other two.
///
/// # Promise    Exact
/// # Reference  \[Karney16\] for the cells; the law is that of \[CanonneKamathSteinke20\]
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, Ratio, exact::discrete_gaussian};
///
/// let mut stream = Entropy::seeded(5).stream(Purpose::Noise, Key::default());
/// let sigma = Ratio::new(10, 1)?;
/// let draws: Vec<i128> = (0..10_000).map(|_| discrete_gaussian(sigma, &mut stream)).collect();
/// // The mean square is σ² = 100, with a standard error of 1.4.
/// let variance = draws.iter().map(|x| x * x).sum::<i128>() as f64 / 10_000.0;
/// assert!((variance - 100.0).abs() < 7.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn discrete_gaussian(sigma: Ratio, bits: &mut impl Bits) -> i128 {
    let cells = Cells::new(sigma);
    loop {
        if let Some(x) = attempt(cells, bits) {
            return x;
        }
    }
}

#[inline]
fn attempt(cells: Cells, bits: &mut impl Bits) -> Option<i128> {
    let k = cell(bits)?;
    let place = cells.uniform(k, bits)?;
    let kept = (0..k).all(|_| coin_exp(place.past, cells.whole(), bits))
        && coin_exp_half_square(place.past, cells.whole(), bits);
    if kept { signed(place.number, bits) } else { None }
}

/// Nothing, or a whole number k ≥ 0 with probability proportional to e^−k²/2.
///
/// Proposed with probability 2^−(k+1) and kept with probability 2^(k−1) e^−(k²−1)/2, which is proportional to the ratio of
/// the two and at most 1: √e/2 at 0, 1 at 1, and (2/e)^m e^−m²/2 for m = k − 1 above, as k² − 1 = m² + 2m.
#[inline]
fn cell(bits: &mut impl Bits) -> Option<u64> {
    let k = heads(bits);
    let kept = match k {
        0 => half_root_of_e(bits),
        1 => true,
        // The factor that is rarely kept goes first.
        _ => bernoulli_exp(u128::from(k - 1).pow(2), 2, bits) && (1..k).all(|_| two_over_e(bits)),
    };
    kept.then_some(k)
}

/// True with probability √e/2 = Σ 2^−(j+1)/j!: j is drawn with probability 2^−(j+1) and kept with probability 1/j!.
#[inline]
fn half_root_of_e(bits: &mut impl Bits) -> bool {
    let j = heads(bits);
    (2..=j).all(|i| coin(1, i, bits))
}

/// How many fair coins show heads before the first that does not: j with probability 2^−(j+1).
#[inline]
fn heads(bits: &mut impl Bits) -> u64 {
    let mut heads = 0;
    while bits.bits(1) == 1 {
        heads += 1;
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::written::{assert_attempts_fit, attempts};
    use veracity_testkit::lattice::Law;

    #[test]
    fn an_attempt_has_the_law_of_its_formula_on_every_string() {
        for (numerator, denominator) in [(1, 2), (2, 3), (1, 1), (3, 2), (2, 1), (7, 3)] {
            let sigma = Ratio::new(numerator, denominator).unwrap();
            let found = attempts(|bits| attempt(Cells::new(sigma), bits));
            assert_attempts_fit(&found, sigma, Law::gaussian);
        }
    }

    #[test]
    fn a_cell_has_its_law_on_every_string() {
        let found = attempts(|bits| cell(bits).map(i128::from));
        let whole: f64 = (0..40).map(|k| f64::from(k * k) / -2.0).map(f64::exp).sum();
        for k in 0..4 {
            let (least, most) = found.probability_of_success_with(k);
            let truth = ((k * k) as f64 / -2.0).exp() / whole;
            assert!(least <= truth && truth <= most && most - least < 4e-3, "{k}: {least} {truth} {most}");
        }
    }
}
