//! The laws of integer noise as formulas: masses, cumulative masses, moments, and cells into which a sample can be sorted.

use std::f64::consts::PI;
use veracity_core::numerics::normal;

/// A law on the integers, symmetric about 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    shape: Shape,
    scale: f64,
    /// The mass at 0.
    peak: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Laplace,
    Gaussian,
}

/// From here on the sums of a Gaussian are integrals: Σ e^−x²/2σ² is σ√2π but for a factor e^−2π²σ², and by the midpoint
/// rule a sum up to x is an integral up to x + 1/2 but for max|f'|/24 < 0.011/σ² ≤ 1.1e-8.
const SMOOTH: f64 = 1000.0;

/// Up to here every integer is a cell of its own.
const FINE: f64 = 16.0;

impl Law {
    /// P(x) ∝ exp(−|x|/scale).
    ///
    /// # Numerics  Masses within 1e-14, relatively; cumulative masses below 1/2 too
    pub fn laplace(scale: f64) -> Law {
        // Σ q^|x| = (1 + q)/(1 − q) for q = e^(−1/scale), which is the inverse of tanh(1/2 scale).
        Law { shape: Shape::Laplace, scale, peak: (0.5 / scale).tanh() }
    }

    /// P(x) ∝ exp(−x²/2σ²).
    ///
    /// # Numerics  As for Laplace where σ is at most 1000; beyond, cumulative masses are within 1.1e-8
    pub fn gaussian(sigma: f64) -> Law {
        let law = Law { shape: Shape::Gaussian, scale: sigma, peak: 1.0 };
        let whole = if sigma > SMOOTH { sigma * (2.0 * PI).sqrt() } else { 1.0 + 2.0 * law.sum_from(1) };
        Law { peak: 1.0 / whole, ..law }
    }

    /// P(x).
    pub fn mass(&self, x: i128) -> f64 {
        let away = x.unsigned_abs() as f64 / self.scale;
        self.peak
            * match self.shape {
                Shape::Laplace => (-away).exp(),
                Shape::Gaussian => (-0.5 * away * away).exp(),
            }
    }

    /// The mass of x and of all integers below.
    pub fn upto(&self, x: i128) -> f64 {
        if x >= 0 {
            return 1.0 - self.upto(-x - 1);
        }
        match self.shape {
            // The geometric series from |x| on: P(x)/(1 − q).
            Shape::Laplace => self.mass(x) / -(-1.0 / self.scale).exp_m1(),
            Shape::Gaussian if self.scale > SMOOTH => normal::cdf((x as f64 + 0.5) / self.scale),
            Shape::Gaussian => self.sum_from(-x),
        }
    }

    /// P(x) + P(x + 1) + …, term by term until nothing is added, for x ≥ 1.
    fn sum_from(&self, x: i128) -> f64 {
        (x..).map(|x| self.mass(x)).take_while(|mass| *mass > 0.0).sum()
    }

    /// The mean of x².
    pub fn variance(&self) -> f64 {
        match self.shape {
            // 2q/(1 − q)² = 1/2 sinh²(1/2 scale).
            Shape::Laplace => 0.5 / (0.5 / self.scale).sinh().powi(2),
            Shape::Gaussian if self.scale > SMOOTH => self.scale * self.scale,
            Shape::Gaussian => {
                let squares = (1..).map(|x| (x * x) as f64 * self.mass(x)).take_while(|term| *term > 0.0);
                2.0 * squares.sum::<f64>()
            }
        }
    }

    /// The integers cut into consecutive cells: single integers where the scale is small, else `count` of about the same
    /// probability.
    pub fn cells(&self, count: u32) -> Cells {
        let last: Vec<i128> = if self.scale <= FINE {
            let reach = (20.0 * self.scale).ceil() as i128 + 2;
            (-reach..reach).collect()
        } else {
            (1..count).map(|i| self.quantile(f64::from(i) / f64::from(count))).collect()
        };
        let mut probabilities = Vec::new();
        let mut below = 0.0;
        for edge in &last {
            let upto = self.upto(*edge);
            probabilities.push(upto - below);
            below = upto;
        }
        probabilities.push(1.0 - below);
        Cells { last, probabilities }
    }

    /// The least x with P(≤ x) ≥ p.
    fn quantile(&self, p: f64) -> i128 {
        let far = (60.0 * self.scale).ceil() as i128;
        let (mut below, mut reaches) = (-far, far);
        while reaches - below > 1 {
            let middle = below + (reaches - below) / 2;
            if self.upto(middle) >= p { reaches = middle } else { below = middle }
        }
        reaches
    }
}

/// Consecutive cells of integers; the outermost two have no end.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// The last integer of each cell but the last cell.
    last: Vec<i128>,
    /// The probability of each cell.
    pub probabilities: Vec<f64>,
}

impl Cells {
    /// How many of a sample lie in each cell.
    pub fn count(&self, sample: &[i128]) -> Vec<u64> {
        let mut counts = vec![0; self.probabilities.len()];
        for x in sample {
            counts[self.last.partition_point(|last| last < x)] += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, truth: f64, relative: f64) {
        assert!((ours / truth - 1.0).abs() <= relative, "{ours} {truth}");
    }

    /// mpmath 1.3, 30 digits: f(x)/nsum(f, [-inf, inf]) at 0, 1, 5, its sum up to 1, nsum(x² f) over nsum(f);
    /// f(x) = exp(-abs(x)/s), then exp(-x*x/(2*s*s)); s = 1/2 and 7/3
    #[test]
    fn masses_and_moments_meet_outside_numbers() {
        let third = 7.0 / 3.0;
        for (law, masses, upto, variance) in [
            (
                Law::laplace(0.5),
                [0.761_594_155_955_764_9, 0.103_070_560_807_622_42, 3.457_632_118_791_066e-5],
                0.983_867_638_785_504_9,
                0.362_030_830_483_155_2,
            ),
            (
                Law::laplace(third),
                [0.211_064_974_441_171_4, 0.137_495_968_027_773_03, 0.024_761_966_793_142_58],
                0.743_028_455_248_358_7,
                10.723_741_749_693_497,
            ),
            (
                Law::gaussian(0.5),
                [0.786_570_707_041_947_9, 0.106_450_769_423_144_71, 1.517_098_131_620_028_2e-22],
                0.999_736_122_944_118_6,
                0.215_012_675_088_138_48,
            ),
            (
                Law::gaussian(third),
                [0.170_975_263_029_185_42, 0.155_972_880_735_207_24, 0.017_211_891_617_529_906],
                0.741_460_512_249_799_9,
                5.444_444_444_444_445,
            ),
        ] {
            for (x, mass) in [0, 1, 5].into_iter().zip(masses) {
                close(law.mass(x), mass, 1e-14);
                close(law.mass(-x), mass, 1e-14);
            }
            close(law.upto(1), upto, 1e-14);
            close(law.variance(), variance, 1e-13);
        }
    }

    /// mpmath 1.3, 30 digits: the sum over x ≤ 4000 for s = 5000; 1 - exp(-(10**12+1)/s)/(1+exp(-1/s)) for s = 2**40
    #[test]
    fn wide_laws_are_smooth() {
        assert!((Law::gaussian(5000.0).upto(4000) - 0.788_173_569_799_368_7).abs() < 0.011 / 25e6);
        close(Law::laplace((1u64 << 40) as f64).upto(1_000_000_000_000), 0.798_636_164_896_811_6, 1e-14);
    }

    #[test]
    fn cells_hold_every_integer_once() {
        for law in [Law::laplace(0.25), Law::gaussian(3.0), Law::laplace(1e6), Law::gaussian(1e12)] {
            let cells = law.cells(32);
            assert!((cells.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let far = [i128::MIN, -1, 0, 1, i128::MAX];
            assert_eq!(cells.count(&far).iter().sum::<u64>(), 5);
            assert_eq!((cells.count(&far)[0], cells.count(&far).last()), (1, Some(&1)));
        }
        let wide = Law::gaussian(1e12).cells(32).probabilities;
        assert!(wide.len() == 32 && wide.iter().all(|p| (p - 1.0 / 32.0).abs() < 1e-8));
    }
}
