//! Many small distributions as one: their transforms are multiplied, and arguments at which the product is next to nothing are
//! found by stretches instead of distribution by distribution.
//!
//! A line that is cut off by smoothing alone can be long, and a thousand coins make their product vanish soon after it
//! begins. With φ_i the tilted transform of distribution i and D_i the difference of two independent losses of it, |φ_i(y)|² =
//! E cos(yD_i), which moves by at most E|D_i| for each unit of y. One look at all distributions thus bounds the product on a whole
//! stretch around it.

use super::contour::accumulate;
use super::distribution::Tilted;
use super::modulus::Modulus;
use super::points::Fineness;
use num_complex::Complex64;
use std::cell::RefCell;
use veracity_core::numerics::UNIT;

/// So few distributions are not worth gathering.
pub(super) const FEW: usize = 8;

/// Where the product is certified to be below e^{−DEEP} its values are not computed: where as much
/// cancels as a line may have, e^16, they are still 12 digits below what counts.
const DEEP: f64 = 45.0;

/// Distributions composed, as one distribution that is used as often as all of them together.
#[derive(Debug)]
pub(super) struct Gathered {
    parts: Vec<(Tilted, f64)>,
    uses: f64,
    /// Envelopes that were asked for: a truncation goes up its ladder twice.
    envelopes: RefCell<Vec<(f64, f64)>>,
}

/// Envelopes are multiplied up until they are below e^{−ENOUGH}.
const ENOUGH: f64 = 120.0;

impl Gathered {
    /// The distributions as one, with how often it is used.
    pub(super) fn new(parts: Vec<(Tilted, f64)>) -> (Gathered, f64) {
        let uses = parts.iter().map(|(_, times)| times).sum();
        (Gathered { parts, uses, envelopes: RefCell::default() }, uses)
    }

    /// The mean of all K(c) and a bound on its error.
    ///
    /// # Numerics  Sums of n terms lose n ulp of the sum of their sizes
    pub(super) fn log_mgf(&self) -> (f64, f64) {
        let (mut sum, mut error, mut size) = (0.0, 0.0, 0.0);
        for (part, times) in &self.parts {
            let (k, k_error) = part.log_mgf();
            sum += times * k;
            error += times * k_error;
            size += (times * k).abs();
        }
        (sum / self.uses, (error + UNIT * (8.0 + self.parts.len() as f64) * size) / self.uses)
    }

    /// A bound on the geometric mean of all |φ| for all arguments from `y` on.
    pub(super) fn envelope(&self, y: f64) -> f64 {
        let mut known = self.envelopes.borrow_mut();
        if let Some((_, envelope)) = known.iter().find(|(argument, _)| *argument == y) {
            return *envelope;
        }
        let mut log = 0.0;
        for (part, times) in &self.parts {
            log += times * part.envelope(y).ln();
            // No other distribution makes the product larger.
            if log < -ENOUGH {
                break;
            }
        }
        let envelope = (log / self.uses).exp().min(1.0);
        known.push((y, envelope));
        envelope
    }

    /// R(y) − 1 at y = k·step with error bounds, where R is such a root of the product that R^uses is the product.
    pub(super) fn transform(
        &self,
        step: f64,
        count: usize,
        fineness: Fineness,
    ) -> (Vec<Complex64>, Vec<f64>) {
        let Some(live) = self.live(step, count) else { return self.law_by_law(step, count, fineness) };
        let arguments: Vec<f64> = live.iter().map(|k| *k as f64 * step).collect();
        let mut logs = vec![Complex64::new(0.0, 0.0); live.len()];
        let mut blurs = vec![0.0; live.len()];
        for (part, times) in &self.parts {
            accumulate(part.at(&arguments), *times, &mut logs, &mut blurs);
        }
        let mut values = vec![Complex64::new(-1.0, 0.0); count + 1];
        let mut errors = vec![(-DEEP / self.uses).exp(); count + 1];
        for (k, (log, blur)) in live.iter().zip(logs.iter().zip(&blurs)) {
            (values[*k], errors[*k]) = self.root(*log, *blur);
        }
        (values, errors)
    }

    /// The same with every distribution looked at at every argument.
    fn law_by_law(&self, step: f64, count: usize, fineness: Fineness) -> (Vec<Complex64>, Vec<f64>) {
        let mut logs = vec![Complex64::new(0.0, 0.0); count + 1];
        let mut blurs = vec![0.0; count + 1];
        for (part, times) in &self.parts {
            accumulate(part.transform(step, count, fineness), *times, &mut logs, &mut blurs);
        }
        logs.iter().zip(&blurs).map(|(log, blur)| self.root(*log, *blur)).unzip()
    }

    /// R − 1 and its error from log R^uses and the error of that. The logarithms of single distributions have imaginary parts of at
    /// most π, so their mean is the principal logarithm of R.
    fn root(&self, log: Complex64, blur: f64) -> (Complex64, f64) {
        let mean = log / self.uses;
        let (sin, cos) = mean.im.sin_cos();
        let half = (0.5 * mean.im).sin();
        let (growth, modulus) = (mean.re.exp_m1(), mean.re.exp());
        let value = Complex64::new(growth * cos - 2.0 * half * half, modulus * sin);
        let added = UNIT * (8.0 + self.parts.len() as f64) * mean.modulus();
        (value, modulus * (blur / self.uses + added).exp_m1() + 8.0 * UNIT * value.modulus())
    }

    /// The arguments k at which the product is not certified to be below e^{−DEEP}, zero among them; nothing where there
    /// are too many of them for this to pay.
    fn live(&self, step: f64, count: usize) -> Option<Vec<usize>> {
        let slopes: Vec<f64> = self.parts.iter().map(|(part, _)| part.steepness() * (1.0 + 1e-9)).collect();
        let mut live = vec![0];
        let (mut next, mut stride) = (1, 0);
        while next <= count {
            let centre = next + stride;
            if self.depth(&slopes, centre as f64 * step, stride as f64 * step) >= DEEP {
                next = centre + stride + 1;
                stride += stride / 2 + 1;
            } else if stride > 0 {
                stride /= 2;
            } else {
                live.push(next);
                next += 1;
                if live.len() > 256 + next / 4 {
                    return None;
                }
            }
        }
        Some(live)
    }

    /// At least −log |product| within `radius` of an argument.
    ///
    /// # Promise  There each |φ|² exceeds what it is at `y` by at most its slope times the radius
    /// # Numerics  Each |φ|² is rounded by less than 1e-7, which is added; a product that underflows is below e^{−700}
    fn depth(&self, slopes: &[f64], y: f64, radius: f64) -> f64 {
        let mut squares = 1.0;
        let mut log = 0.0;
        for ((part, times), slope) in self.parts.iter().zip(slopes) {
            let square = (1.0 - part.shortfall(y) + slope * radius + 1e-7).min(1.0);
            if *times == 1.0 {
                squares *= square;
            } else {
                log += times * square.ln();
            }
        }
        -0.5 * (log + squares.ln()) * (1.0 - 1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::super::atoms;
    use super::*;

    fn coins(many: usize) -> Vec<(Tilted, f64)> {
        let epsilon = |i: usize| 0.05 + 0.002 * (i as f64 * 0.7).sin() + 1e-4 * i as f64;
        let tilted = |i: usize| {
            if i.is_multiple_of(3) {
                return Tilted::laplace(epsilon(i), 4.0);
            }
            atoms::two_point(epsilon(i)).distribution().tilted(4.0, 0.0, 0.0).unwrap()
        };
        (0..many).map(|i| (tilted(i), (1 + i % 3) as f64)).collect()
    }

    /// The product by the plain definition, one distribution and one argument at a time.
    fn product(parts: &[(Tilted, f64)], y: f64) -> Complex64 {
        let power = |(part, times): &(Tilted, f64)| (part.at(&[y]).0[0] + 1.0).powi(*times as i32);
        parts.iter().map(power).product()
    }

    #[test]
    fn a_gathering_is_the_product_of_its_laws_within_its_error() {
        for many in [12, 100, 600] {
            let (gathered, uses) = Gathered::new(coins(many));
            let (values, errors) = gathered.transform(0.11, 4000, Fineness::Full);
            assert!(values[0].norm() < 1e-15);
            for k in 1..=4000 {
                let truth = product(&gathered.parts, k as f64 * 0.11);
                let found = (values[k] + 1.0).powf(uses);
                let modulus = (values[k] + 1.0).norm();
                // What is not computed is bounded; what is computed is near.
                let most = (modulus + errors[k]).powf(uses);
                assert!(truth.norm() <= most * (1.0 + 1e-9), "{many} {k}: {truth} {most}");
                let off = (found - truth).norm();
                let allowed = most - (modulus - errors[k]).max(0.0).powf(uses) + 1e-12 * truth.norm();
                assert!(off <= allowed, "{many} {k}: {off} {allowed}");
            }
        }
    }

    #[test]
    fn nothing_that_counts_is_skipped_and_much_is() {
        let (gathered, _) = Gathered::new(coins(600));
        let live = gathered.live(0.11, 40_000).unwrap();
        assert!(live.len() < 10_000, "{}", live.len());
        let mut skipped = (0..=40_000).filter(|k| live.binary_search(k).is_err());
        assert!(skipped.all(|k| product(&gathered.parts, k as f64 * 0.11).norm() <= (-DEEP).exp()));
        // Coins that are all alike come back again and again.
        let alike: Vec<_> = (0..600).map(|_| coins(2).pop().unwrap()).collect();
        let (gathered, _) = Gathered::new(alike);
        if let Some(live) = gathered.live(0.11, 4000) {
            let high =
                (0..=4000).filter(|k| product(&gathered.parts, *k as f64 * 0.11).norm() > (-DEEP).exp());
            assert!(high.into_iter().all(|k| live.binary_search(&k).is_ok()));
        }
    }
}
