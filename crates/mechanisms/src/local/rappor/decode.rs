//! From the bits of cohorts to the counts of candidates, by least squares.
//!
//! A client with candidate v in a random cohort j adds, after debiasing, on average 1/cohorts to each bit that v sets in j. So
//! the debiased bits are B n / cohorts on average, B the 0/1 matrix of bits by candidates, and M = cohorts (BᵀB)⁻¹ Bᵀ brings
//! back n: unbiased when every client's text is a candidate. The estimate is a sum over clients, so its variance is known.

use super::{RapporSettings, bloom};
use crate::local::{Domain, Estimate, Estimates, simplex};
use veracity_core::Refusal;

/// What decoding needs of the candidates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decoder {
    cohorts: usize,
    bits: usize,
    /// For each candidate and cohort, the bits it sets, as rows of B.
    set: Vec<Vec<Vec<usize>>>,
    /// M, one row for each candidate.
    solution: Vec<Vec<f64>>,
}

/// p* and q*.
type Shown = (f64, f64);

impl Decoder {
    const MOST: u32 = 1024;
    /// Numbers in M: 128 MiB.
    const MOST_NUMBERS: usize = 1 << 24;

    pub(super) fn new(candidates: &Domain, settings: &RapporSettings) -> Result<Decoder, Refusal> {
        if candidates.size() > Decoder::MOST {
            return Err(Refusal::out_of_range(
                "candidates",
                candidates.size(),
                "at most 1024 for RAPPOR; use local hashing for more",
            ));
        }
        let (cohorts, bits) = (settings.cohorts as usize, settings.bits as usize);
        if candidates.size() as usize * cohorts * bits > Decoder::MOST_NUMBERS {
            return Err(Refusal::Invalid(
                "candidates × cohorts × bits of RAPPOR is above 2^24; use fewer of one of them".into(),
            ));
        }
        let rows_of = |text: &str| -> Vec<Vec<usize>> {
            (0..cohorts)
                .map(|cohort| {
                    let filter = bloom(text.as_bytes(), cohort as u32, settings);
                    (0..bits).filter(|bit| filter.bit(*bit as u32)).map(|bit| cohort * bits + bit).collect()
                })
                .collect()
        };
        let set: Vec<_> = (0..candidates.size()).map(|place| rows_of(&candidates.name(place))).collect();
        let solution = solve(&set, cohorts, cohorts * bits)?;
        Ok(Decoder { cohorts, bits, set, solution })
    }

    /// Estimates from the counts of cohorts: bits, then reports, for each.
    pub(crate) fn estimates(&self, counts: &[i64], (zero, one): Shown) -> Estimates {
        let cohort_counts = counts.chunks_exact(self.bits + 1);
        let reports: i64 = cohort_counts.clone().map(|cells| cells[self.bits]).sum();
        let debiased: Vec<f64> = cohort_counts
            .flat_map(|cells| {
                let chance = cells[self.bits] as f64 * zero;
                cells[..self.bits].iter().map(move |ones| (*ones as f64 - chance) / (one - zero))
            })
            .collect();
        let counts: Vec<f64> =
            self.solution.iter().map(|row| row.iter().zip(&debiased).map(|(m, y)| m * y).sum()).collect();
        let n = (reports as f64).max(1.0);
        let frequencies: Vec<f64> = counts.iter().map(|count| count / n).collect();
        let holders: Vec<f64> = simplex::project(&frequencies).iter().map(|share| share * n).collect();
        let expected = self.expected_ones(&holders);
        let values = counts
            .iter()
            .enumerate()
            .map(|(place, &count)| Estimate {
                count,
                standard_error: self.spread(place, &holders, &expected, (zero, one)).sqrt(),
            })
            .collect();
        Estimates { reports: reports as u64, values }
    }

    /// Variance of the count of one candidate when `holders` have each: over cohorts, permanent and fresh noise.
    pub(crate) fn variance(&self, place: usize, holders: &[f64], shown: Shown) -> f64 {
        self.spread(place, holders, &self.expected_ones(holders), shown)
    }

    /// B n.
    fn expected_ones(&self, holders: &[f64]) -> Vec<f64> {
        let mut expected = vec![0.0; self.cohorts * self.bits];
        for (rows, n) in self.set.iter().zip(holders) {
            rows.iter().flatten().for_each(|row| expected[*row] += n);
        }
        expected
    }

    /// Each client of candidate v adds z = Σ over the bits of its cohort of M × (debiased bit). Given the cohort, the bits
    /// are independent: E z² = (Σ M B)² + Σ M² var(bit), averaged over cohorts; and E z = 1 for its own candidate, else 0.
    fn spread(&self, place: usize, holders: &[f64], expected: &[f64], (zero, one): Shown) -> f64 {
        let (gap, weights) = (one - zero, &self.solution[place]);
        let (of_zero, of_one) = (zero * (1.0 - zero) / (gap * gap), one * (1.0 - one) / (gap * gap));
        let everyone: f64 = holders.iter().sum();
        let noise: f64 = weights
            .iter()
            .zip(expected)
            .map(|(m, ones)| m * m * (of_zero * (everyone - ones) + of_one * ones))
            .sum();
        let signal: f64 = self
            .set
            .iter()
            .zip(holders)
            .map(|(cohorts, n)| {
                let squares =
                    cohorts.iter().map(|rows| rows.iter().map(|row| weights[*row]).sum::<f64>().powi(2));
                n * squares.sum::<f64>()
            })
            .sum();
        (noise + signal) / self.cohorts as f64 - holders[place]
    }
}

/// cohorts (BᵀB)⁻¹ Bᵀ, by Cholesky's factorisation of the Gram matrix.
fn solve(set: &[Vec<Vec<usize>>], cohorts: usize, rows: usize) -> Result<Vec<Vec<f64>>, Refusal> {
    let size = set.len();
    let mut columns_of = vec![Vec::new(); rows];
    for (column, cohorts) in set.iter().enumerate() {
        cohorts.iter().flatten().for_each(|row| columns_of[*row].push(column));
    }
    let mut gram = vec![vec![0.0; size]; size];
    for columns in &columns_of {
        for &a in columns {
            columns.iter().for_each(|&b| gram[a][b] += 1.0);
        }
    }
    let factor = cholesky(gram).ok_or_else(|| {
        Refusal::Invalid(
            "the candidates cannot be distinguished by their bits; use more bits, more cohorts or fewer candidates"
                .into(),
        )
    })?;
    let inverse: Vec<Vec<f64>> = (0..size)
        .map(|column| {
            let mut unit = vec![0.0; size];
            unit[column] = cohorts as f64;
            back_solve(&factor, unit)
        })
        .collect();
    // A row of B has few ones, so its part of the product is the sum of a few columns.
    let mut solution = vec![vec![0.0; rows]; size];
    for (row, columns) in columns_of.iter().enumerate() {
        for (line, inverse) in solution.iter_mut().zip(&inverse) {
            line[row] = columns.iter().map(|&column| inverse[column]).sum();
        }
    }
    Ok(solution)
}

/// The lower triangle L of A = L Lᵀ, or none if A is singular to working precision.
fn cholesky(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    for column in 0..a.len() {
        let (above, below) = a.split_at_mut(column);
        let pivot_row = &mut below[0];
        for (j, row) in above.iter().enumerate() {
            let dot: f64 = row[..j].iter().zip(&pivot_row[..j]).map(|(x, y)| x * y).sum();
            pivot_row[j] = (pivot_row[j] - dot) / row[j];
        }
        let left = pivot_row[column] - pivot_row[..column].iter().map(|x| x * x).sum::<f64>();
        // The diagonal counts bits, at least one; a remainder this small is rounding.
        if !(left > 1e-9 * pivot_row[column]) {
            return None;
        }
        pivot_row[column] = left.sqrt();
    }
    Some(a)
}

/// Solves L Lᵀ x = right.
fn back_solve(factor: &[Vec<f64>], mut x: Vec<f64>) -> Vec<f64> {
    for i in 0..x.len() {
        let dot: f64 = factor[i][..i].iter().zip(&x).map(|(l, x)| l * x).sum();
        x[i] = (x[i] - dot) / factor[i][i];
    }
    for i in (0..x.len()).rev() {
        x[i] /= factor[i][i];
        let known = x[i];
        for (entry, l) in x[..i].iter_mut().zip(&factor[i]) {
            *entry -= l * known;
        }
    }
    x
}
