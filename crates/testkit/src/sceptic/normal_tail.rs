//! The normal tail and the logarithm of a factorial, to about 28 digits.

use super::double_double::{Dd, PI};

/// log of ∫_x^∞ φ, for any x.
pub fn log_tail(x: Dd) -> Dd {
    if x.hi < 0.0 {
        return (-log_tail(-x).exp()).ln_1p();
    }
    log_mills(x) + log_density(x)
}

/// log φ(x).
pub fn log_density(x: Dd) -> Dd {
    -((x * x) + PI.scaled(1).ln()).scaled(-1)
}

/// log of Mills' ratio ∫_x^∞ φ / φ(x), for x ≥ 0.
///
/// # Numerics  Below 3 from the series of Φ − ½, whose terms are all positive: what remains after the subtraction keeps
/// 28 digits. From there on by Laplace's continued fraction, evaluated from far inside.
fn log_mills(x: Dd) -> Dd {
    if x.hi < 3.0 {
        // Φ(x) − ½ = φ(x) Σ x^{2k+1}/(2k+1)!!
        let square = x * x;
        let (mut term, mut sum) = (x, x);
        let mut k = 1.0;
        while term.hi > 1e-34 * sum.hi {
            k += 2.0;
            term = term * square / Dd::new(k);
            sum = sum + term;
        }
        let half = (-log_density(x)).exp().scaled(-1);
        return (half - sum).ln();
    }
    let depth = 60 + (3000.0 / (x.hi * x.hi)) as u32;
    let mut tail = x;
    for k in (1..=depth).rev() {
        tail = x + Dd::new(f64::from(k)) / tail;
    }
    -tail.ln()
}

/// log n!.
pub fn log_factorial(n: u64) -> Dd {
    if n < 64 {
        let mut product = Dd::ONE;
        for k in 2..=n {
            product = product * Dd::whole(k);
        }
        return product.ln();
    }
    // Stirling's series; the first term left out is below 1e-33.
    let x = Dd::whole(n);
    let bernoulli: [(f64, f64); 12] = [
        (1.0, 12.0),
        (-1.0, 360.0),
        (1.0, 1260.0),
        (-1.0, 1680.0),
        (1.0, 1188.0),
        (-691.0, 360_360.0),
        (1.0, 156.0),
        (-3617.0, 122_400.0),
        (43_867.0, 244_188.0),
        (-174_611.0, 125_400.0),
        (77_683.0, 5796.0),
        (-236_364_091.0, 1_506_960.0),
    ];
    let inverse = Dd::ONE / x;
    let square = inverse * inverse;
    let (mut power, mut series) = (inverse, Dd::ZERO);
    for (numerator, denominator) in bernoulli {
        series = series + power * Dd::new(numerator) / Dd::new(denominator);
        power = power * square;
    }
    (x + Dd::new(0.5)) * x.ln() - x + PI.scaled(1).ln().scaled(-1) + series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # mpmath 1.3, 60 digits: log(erfc(x/sqrt(2))/2), as its nearest float and what that lacks
    #[test]
    fn the_tail_has_twenty_eight_digits() {
        let rows = [
            (-8.0, -6.220960574271786e-16, -2.1202394934803792e-32),
            (-1.5, -0.06914345561223398, -4.70170071007428e-18),
            (0.1, -0.7761545927302733, -7.248921643226547e-18),
            (0.7, -1.4189677615315315, -9.974328588006585e-17),
            (1.9, -3.5502813255421346, 2.015375514313775e-17),
            (2.5, -5.08164827727869, -3.2500520937198123e-16),
            (3.1, -6.940688458421228, -2.826501653627133e-16),
            (5.5, -17.77937635262526, -7.832474964592834e-16),
            (12.25, -78.46227082737593, 2.8601008379676706e-15),
            (37.5, -707.6689893175072, 3.461201455122007e-14),
        ];
        for (x, hi, lo) in rows {
            let (found, truth) = (log_tail(Dd::new(x)), Dd { hi, lo });
            let error = ((found - truth) / truth).hi.abs();
            assert!(error < 1e-27, "{x}: {error:e}");
        }
    }

    /// # mpmath 1.3, 60 digits: loggamma(n+1)
    #[test]
    fn factorials_have_thirty_digits() {
        let rows = [
            (5, 4.787491742782046, 1.8268155143874837e-16),
            (63, 201.00931639928152, 1.0282768713994318e-14),
            (64, 205.1681994826412, -9.023633283515003e-16),
            (100, 363.73937555556347, 2.035561294749625e-14),
            (1_000_000, 12815518.384658169, 6.229102098040987e-10),
        ];
        for (n, hi, lo) in rows {
            let error = ((log_factorial(n) - Dd { hi, lo }) / Dd { hi, lo }).hi.abs();
            assert!(error < 1e-30, "{n}: {error:e}");
        }
    }
}
