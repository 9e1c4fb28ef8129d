//! Sums over the rows of a matrix, of the rows themselves and of products of their entries, with Gaussian noise on all of them.
//!
//! Rows are clipped and rounded to integers one by one, so that what is summed is exact: one row moves the sums by no more than
//! was declared, whatever the order, the number of threads or the other rows. Totals then go to the grid of the vector sampler,
//! and what that adds is charged. What comes out is in units of the clipping bound.
//!
//! Means, variances, covariances, linear models, naive Bayes and steps of k-means are read off such sums.

use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, NoiseStream, vector};

/// Steps in the bound of a row: what rounding adds to a row is below a thousandth of it for up to 10^3 columns.
const STEPS: f64 = 16_384.0;
/// Steps of the noise in one standard deviation.
const DEVIATION: f64 = (1u64 << vector::UNIT_BITS) as f64;
/// The most totals.
const MOST: usize = 4_000_000;
/// Rows that are summed in 64 bits before they are added to a total: each product is below 2^30.
const BLOCK: usize = 1 << 20;

/// How a row is bounded, in the unit of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clipping {
    /// Scaled down to an ℓ2 norm of 1.
    Norm,
    /// Each entry moved into −1 to 1.
    Box,
}

/// What is summed over the rows of a group. x are the clipped entries, y the clipped targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// 1: how many rows there are.
    Count,
    /// x_i.
    Entries,
    /// x_i².
    Squares,
    /// x_i² − ½, which in a box is half as far from 0 as the square; half a count makes up for it.
    CentredSquares,
    /// x_i x_j for i ≤ j.
    Products,
    /// y_k.
    Targets,
    /// x_i y_k.
    Cross,
}

/// Rows, their targets and the groups they are in. What is no number is 0; a row of a group that does not exist counts nowhere.
#[derive(Debug, Clone, Copy)]
pub struct RowsOf<'a> {
    /// One row after the other.
    pub entries: &'a [f64],
    /// The targets, one row after the other; empty for none.
    pub targets: &'a [f64],
    /// The group of each row, from 0; empty where all are in group 0.
    pub groups: &'a [u32],
}

/// Everything public about such sums.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSums {
    columns: usize,
    targets: usize,
    groups: usize,
    clipping: Clipping,
    terms: Vec<Term>,
    /// Units of the integer totals in one step of the noise.
    step: i128,
    /// What the noise is over what one row moves the totals by, rounding included.
    multiplier: NoiseMultiplier,
    adjacency: Adjacency,
}

impl RowSums {
    /// Sums with noise of at least `multiplier` times what one row moves them by. A row is in one group, or in none.
    ///
    /// # Promise  [`RowSums::mechanism`] describes the release under `adjacency`
    ///
    /// # Errors
    /// Refuses sizes out of range, and noise that the grid cannot hold.
    pub fn new(
        (columns, targets, groups): (usize, usize, usize),
        clipping: Clipping,
        terms: &[Term],
        adjacency: Adjacency,
        multiplier: NoiseMultiplier,
    ) -> Result<RowSums, Refusal> {
        let empty = RowSums {
            columns,
            targets,
            groups,
            clipping,
            terms: terms.to_vec(),
            step: 1,
            multiplier,
            adjacency,
        };
        if columns == 0 || groups == 0 || terms.is_empty() || columns > 100_000 || targets > 100_000 {
            return Err(Refusal::out_of_range("columns", columns, "1 to 10^5 columns, and at least one sum"));
        }
        if empty.totals() > MOST {
            return Err(Refusal::out_of_range("sums", empty.totals(), "at most 4 · 10^6; use fewer columns"));
        }
        let moved = empty.moved();
        let rounding = (empty.totals() as f64).sqrt();
        // deviation ≥ multiplier × (moved/step + rounding)
        let room = DEVIATION / multiplier.get() * (1.0 - 1e-9) - rounding;
        if !(room >= 1.0) {
            return Err(Refusal::out_of_range(
                "noise multiplier",
                multiplier,
                "less noise, or fewer columns",
            ));
        }
        let step = (moved / room).ceil().max(1.0);
        let multiplier = NoiseMultiplier::new(DEVIATION / (moved / step + rounding) * (1.0 - 1e-12))?;
        Ok(RowSums { step: step as i128, multiplier, ..empty })
    }

    /// What the accountant reads.
    pub fn mechanism(&self) -> Mechanism {
        Mechanism::Gaussian { noise_multiplier: self.multiplier }
    }

    /// The noise over what one row moves the sums by; at least what was asked for.
    pub fn multiplier(&self) -> NoiseMultiplier {
        self.multiplier
    }

    /// What every sum is a multiple of, whatever the data.
    pub fn granularity(&self) -> f64 {
        self.step as f64 / (STEPS * STEPS)
    }

    /// How many numbers come out, group after group and term after term.
    pub fn totals(&self) -> usize {
        self.groups.saturating_mul(self.of_group())
    }

    fn of_group(&self) -> usize {
        self.terms.iter().map(|term| self.width(*term)).fold(0, usize::saturating_add)
    }

    fn width(&self, term: Term) -> usize {
        let d = self.columns;
        match term {
            Term::Count => 1,
            Term::Entries | Term::Squares | Term::CentredSquares => d,
            Term::Products => d.saturating_mul(d + 1) / 2,
            Term::Targets => self.targets,
            Term::Cross => d.saturating_mul(self.targets),
        }
    }

    /// The longest integer row: its norm, or √d entries of the box.
    ///
    /// # Promise  Rounding moves each entry by at most half a step
    fn longest(&self, width: usize) -> f64 {
        let d = width as f64;
        match self.clipping {
            Clipping::Norm => (STEPS + 0.5 * d.sqrt()) * (1.0 + 1e-12),
            Clipping::Box => d.sqrt() * STEPS,
        }
    }

    /// How far one row moves the totals in ℓ2, in integer units: STEPS² for a count.
    ///
    /// # Promise  The upper triangle of x xᵀ is no longer than ‖x‖²; squares of a box are at most √d of its largest
    fn moved(&self) -> f64 {
        let (x, y) = (self.longest(self.columns), self.longest(self.targets.max(1)));
        let one = |term: &Term| match (term, self.clipping) {
            (Term::Count, _) => STEPS * STEPS,
            (Term::Entries, _) => STEPS * x,
            (Term::Squares, Clipping::Norm) | (Term::Products, _) => x * x,
            (Term::Squares, Clipping::Box) => STEPS * x,
            // From −½ to ½ each, while no entry is past 1: of a clipped norm, rounding may carry one a little farther.
            (Term::CentredSquares, Clipping::Box) => 0.5 * STEPS * x,
            (Term::CentredSquares, Clipping::Norm) => {
                0.5 * STEPS * STEPS * (self.columns as f64).sqrt() + x * x
            }
            (Term::Targets, _) => STEPS * y,
            (Term::Cross, _) => x * y,
        };
        self.terms.iter().map(|term| one(term).powi(2)).sum::<f64>().sqrt() * (1.0 + 1e-12)
    }

    /// The sums with noise, in units of the bound.
    ///
    /// A refusal rests on lengths alone.
    ///
    /// # Errors
    /// Refuses rows, targets and groups that differ in number.
    pub fn release(&self, rows: RowsOf<'_>, rng: &mut NoiseStream) -> Result<Vec<f64>, Refusal> {
        let number = rows.entries.len() / self.columns;
        let fits = rows.entries.len() == number * self.columns
            && rows.targets.len() == number * self.targets
            && (rows.groups.is_empty() || rows.groups.len() == number);
        if !fits {
            return Err(Refusal::invalid(
                "rows, targets and groups have different lengths; give one target and one group per row",
            ));
        }
        let totals = self.exact(rows);
        let half = self.step / 2;
        let coarse: Vec<i128> = totals.iter().map(|total| (total + half).div_euclid(self.step)).collect();
        let moves = f64::from(self.adjacency.contributions()) * self.moved() / self.step as f64
            + (coarse.len() as f64).sqrt();
        let declared = Distance::L2Squared((moves * moves * (1.0 + 1e-12)).ceil() as u128);
        let noisy = rng.call("row sums", &coarse, declared, |coarse, stream| {
            let mut normals = vec![0; coarse.len()];
            vector::fill(&mut normals, stream);
            coarse.iter().zip(normals).map(|(total, k)| total + i128::from(k)).collect()
        });
        Ok(noisy.iter().map(|total| *total as f64 * self.granularity()).collect())
    }

    /// The totals, exactly.
    fn exact(&self, rows: RowsOf<'_>) -> Vec<i128> {
        let width = self.of_group();
        let mut totals = vec![0i128; self.totals()];
        let mut block = vec![0i64; self.totals()];
        let (mut x, mut y) = (vec![0i64; self.columns], vec![0i64; self.targets]);
        let mut taken = 0;
        for (row, entries) in rows.entries.chunks_exact(self.columns).enumerate() {
            let group = rows.groups.get(row).map_or(0, |group| *group as usize);
            if group >= self.groups {
                continue;
            }
            self.clip(entries, &mut x);
            self.clip(&rows.targets[row * self.targets..(row + 1) * self.targets], &mut y);
            self.add(&x, &y, &mut block[group * width..(group + 1) * width]);
            taken += 1;
            if taken == BLOCK {
                taken = 0;
                settle(&mut block, &mut totals);
            }
        }
        settle(&mut block, &mut totals);
        totals
    }

    /// Adds one row to the totals of its group.
    fn add(&self, x: &[i64], y: &[i64], totals: &mut [i64]) {
        let one = STEPS as i64;
        let mut at = 0;
        for term in &self.terms {
            let part = &mut totals[at..at + self.width(*term)];
            at += part.len();
            match term {
                Term::Count => part[0] += one * one,
                Term::Entries => part.iter_mut().zip(x).for_each(|(total, x)| *total += one * x),
                Term::Squares => part.iter_mut().zip(x).for_each(|(total, x)| *total += x * x),
                Term::CentredSquares => {
                    part.iter_mut().zip(x).for_each(|(total, x)| *total += x * x - one * one / 2);
                }
                Term::Targets => part.iter_mut().zip(y).for_each(|(total, y)| *total += one * y),
                Term::Products => {
                    let mut rest = part;
                    for (i, a) in x.iter().enumerate() {
                        let (line, after) = rest.split_at_mut(x.len() - i);
                        line.iter_mut().zip(&x[i..]).for_each(|(total, b)| *total += a * b);
                        rest = after;
                    }
                }
                Term::Cross => {
                    for (line, a) in part.chunks_exact_mut(y.len().max(1)).zip(x) {
                        line.iter_mut().zip(y).for_each(|(total, b)| *total += a * b);
                    }
                }
            }
        }
    }

    /// The integers of a row.
    ///
    /// # Promise  Of norm, or of entries, as [`RowSums::longest`] has it: checked in integers, and a row that fails is 0
    fn clip(&self, row: &[f64], out: &mut [i64]) {
        let known = |x: f64| if x.is_nan() { 0.0 } else { x.clamp(-1e100, 1e100) };
        let factor = match self.clipping {
            Clipping::Box => 1.0,
            Clipping::Norm => {
                // By the largest first: squares of far entries would overflow.
                let largest = row.iter().fold(0.0f64, |most, x| most.max(known(*x).abs()));
                let norm = row.iter().map(|x| (known(*x) / largest.max(1.0)).powi(2)).sum::<f64>().sqrt();
                1.0 / (norm * largest.max(1.0)).max(1.0)
            }
        };
        for (out, x) in out.iter_mut().zip(row) {
            // At most 2^14, so the cast is exact.
            *out = ((known(*x) * factor).clamp(-1.0, 1.0) * STEPS).round() as i64;
        }
        let square = |all: &[i64]| all.iter().map(|q| q * q).sum::<i64>() as f64;
        if self.clipping == Clipping::Norm && square(out).sqrt() > self.longest(row.len().max(1)) {
            out.fill(0);
        }
    }
}

fn settle(block: &mut [i64], totals: &mut [i128]) {
    for (total, part) in totals.iter_mut().zip(block) {
        *total += i128::from(*part);
        *part = 0;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use veracity_noise::{Entropy, Key, Purpose};
    use veracity_testkit::short;

    const ALL: [Term; 7] = [
        Term::Count,
        Term::Entries,
        Term::Squares,
        Term::CentredSquares,
        Term::Products,
        Term::Targets,
        Term::Cross,
    ];

    fn sums(clipping: Clipping, terms: &[Term], multiplier: f64) -> RowSums {
        let multiplier = short::noise(multiplier);
        RowSums::new((3, 2, 2), clipping, terms, Adjacency::AddRemove, multiplier).unwrap()
    }

    fn stream() -> veracity_noise::Stream {
        Entropy::seeded(1).stream(Purpose::Noise, Key::default())
    }

    /// Rows of every kind, hostile ones among them: taking one away moves the totals by no more than was declared. Twin: a
    /// design that declares a tenth is found out.
    #[test]
    fn one_row_moves_the_sums_by_no_more_than_declared() {
        let far = [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300, -1.0, 1.0, 0.3, -0.9, 5e-324, 0.57735];
        let mut worst = [0.0f64; 2];
        for (kind, clipping) in [Clipping::Norm, Clipping::Box].into_iter().enumerate() {
            for term in ALL.iter().map(std::slice::from_ref).chain([&ALL[..]]) {
                let sums = sums(clipping, term, 3.0);
                for code in 0..1000usize {
                    let at = |place: usize| far[code / 10usize.pow(place as u32) % 10];
                    let entries: Vec<f64> = (0..6).map(|i| if i < 3 { 0.1 } else { at(i - 3) }).collect();
                    let targets: Vec<f64> = (0..4).map(|i| if i < 2 { 0.5 } else { at(i - 2) }).collect();
                    let rows = RowsOf { entries: &entries, targets: &targets, groups: &[1, 1] };
                    let fewer = RowsOf { entries: &entries[..3], targets: &targets[..2], groups: &[1] };
                    let (with, without) = (sums.exact(rows), sums.exact(fewer));
                    let square = |(a, b): (&i128, &i128)| ((a - b) as f64).powi(2);
                    let apart = with.iter().zip(&without).map(square).sum::<f64>().sqrt();
                    assert!(apart <= sums.moved(), "{clipping:?} {term:?} {code}");
                    worst[kind] = worst[kind].max(apart / sums.moved());
                    let mut one = NoiseStream::recording(stream());
                    sums.release(rows, &mut one).unwrap();
                    let tape = one.into_tape().unwrap();
                    let mut other = NoiseStream::replaying(tape.clone(), stream());
                    sums.release(fewer, &mut other).unwrap();
                    assert_eq!(tape.departure(&other.into_tape().unwrap()), None);
                }
            }
        }
        // And some row moves them nearly as far.
        assert!(worst.iter().all(|worst| *worst > 0.99), "{worst:?}");
    }

    #[test]
    fn sums_are_those_of_the_rows_and_noise_has_its_scale() {
        let terms = [Term::Count, Term::Entries, Term::Products, Term::Cross];
        let sums = sums(Clipping::Norm, &terms, 0.01);
        let entries: Vec<f64> = (0..300).map(|i| 0.05 * f64::from(i % 7) - 0.1).collect();
        let targets: Vec<f64> = (0..200).map(|i| 0.1 * f64::from(i % 3)).collect();
        let groups: Vec<u32> = (0..100).map(|i| i % 3).collect();
        let rows = RowsOf { entries: &entries, targets: &targets, groups: &groups };
        let found = sums.release(rows, &mut NoiseStream::new(stream())).unwrap();
        assert_eq!(found.len(), 2 * (1 + 3 + 6 + 6));
        let member = |group: u32| (0..100u32).filter(move |row| row % 3 == group).map(|row| row as usize);
        let truth: f64 = member(1).map(|row| entries[3 * row + 1] * entries[3 * row + 2]).sum();
        let count = member(1).count() as f64;
        assert!((found[16] - count).abs() < 0.2, "{} {count}", found[16]);
        assert!((found[16 + 1 + 3 + 4] - truth).abs() < 0.2, "{} {truth}", found[16 + 1 + 3 + 4]);

        // χ² of 4096 noises of a design with multiplier 5 on no rows: within 5 deviations, chance of error below 1e-5; twin: 4.5
        let multiplier = short::noise(5.0);
        let wide =
            RowSums::new((1, 0, 4096), Clipping::Norm, &[Term::Count], Adjacency::AddRemove, multiplier)
                .unwrap();
        let empty = RowsOf { entries: &[], targets: &[], groups: &[] };
        let noise = wide.release(empty, &mut NoiseStream::new(stream())).unwrap();
        let square = noise.iter().map(|x| x * x).sum::<f64>() / 4096.0;
        let off = |deviation: f64| (square / deviation.powi(2) - 1.0).abs() * (4096.0f64 / 2.0).sqrt();
        assert!(off(5.0) < 5.0 && off(4.5) > 5.0, "{square}");
        assert!(wide.multiplier.get() >= 5.0);
    }
}
