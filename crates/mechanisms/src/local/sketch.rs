//! Count-mean sketches, corrected: the value is hashed by one function of a public pool, and its cell reported with noise.

use crate::local::{
    Chances, Coin, Odds, Report,
    columns::Columns,
    domain, simplex,
    tabulation::Pool,
    unary::{one_hot, one_hot_likelihood},
    walsh,
};
use std::sync::Arc;
use veracity_core::{Epsilon, Refusal};
use veracity_noise::{Bits, exact::uniform_below};

/// How a cell is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellNoise {
    /// One bit for each cell, each flipped with the odds e^{ε/2}.
    Symmetric,
    /// One sign of the cell's Hadamard column.
    Hadamard,
}

/// A count-mean sketch of `size` values with `functions` hash functions onto `width` cells.
///
/// The published sketch has errors in its expectation and variance. Here a report supports value v if it supports the cell
/// of v. Over the draw of the pool and the noise, with p and q the chances of a cell,
/// - another value is supported with chance q + (p − q)/width, so the estimate that uses it is unbiased;
/// - reports on one value by one function collide with v together or not at all. For that, the variance of a count gains
///   Σ n_x (n_x − 1) / (functions (width − 1)) over the other values x, which are hashed independently given v: any three
///   values are.
///
/// # Reference  \[AppleDP17\] (the sketch, its Hadamard form); \[Pan24\] (its errors)
///
/// # Examples
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::{CellNoise, Sketch};
///
/// // A million values in reports of a few bits: a function, a row and a sign.
/// let sketch = Sketch::new(1_000_000, Epsilon::new(2.0)?, CellNoise::Hadamard, 1024, 256, 42)?;
/// assert!((0..256).all(|function| sketch.cell(function, 999_999) < 1024));
/// // A popular value spills over to others that share its cells; not to itself.
/// let added = sketch.collisions(&[0.0, 50_000.0]);
/// assert!(added[0] > 0.0 && added[1] == 0.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    size: u32,
    epsilon: Epsilon,
    noise: CellNoise,
    width: u32,
    functions: u32,
    seed: u64,
    pool: Arc<Pool>,
    /// P(a cell is said to be the value's though it is not) of the symmetric noise; P(sign flipped) of the Hadamard one.
    flip: Coin,
}

impl Sketch {
    /// Checks all parameters. `seed` names the pool; it is public, and to be drawn at random for each survey.
    ///
    /// # Errors
    /// Refuses sizes and ε out of range.
    pub fn new(
        size: u32,
        epsilon: Epsilon,
        noise: CellNoise,
        width: u32,
        functions: u32,
        seed: u64,
    ) -> Result<Self, Refusal> {
        domain::check_size(size as usize)?;
        if !(width.is_power_of_two() && (2..=1 << 16).contains(&width)) {
            return Err(Refusal::out_of_range("sketch width", width, "a power of two from 2 to 2^16"));
        }
        if !(1..=1 << 16).contains(&functions) || u64::from(width) * u64::from(functions) > 1 << 26 {
            return Err(Refusal::out_of_range(
                "hash functions",
                functions,
                "1 to 2^16, with at most 2^26 cells in all",
            ));
        }
        let flip = Coin::against(match noise {
            CellNoise::Symmetric => Odds::share(epsilon, 2)?,
            CellNoise::Hadamard => Odds::within(epsilon)?,
        });
        let pool = Arc::new(Pool::new(functions, seed));
        Ok(Sketch { size, epsilon, noise, width, functions, seed, pool, flip })
    }

    /// How many values.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// How a cell is reported.
    pub fn noise(&self) -> CellNoise {
        self.noise
    }

    /// Cells of each function.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Hash functions in the pool.
    pub fn functions(&self) -> u32 {
        self.functions
    }

    /// The public name of the pool.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The cell of a value under a function of the pool.
    pub fn cell(&self, function: u32, value: u32) -> u32 {
        u32::from(self.pool.hash(function, value)) & (self.width - 1)
    }

    /// A report on `value`.
    ///
    /// # Errors
    /// Refuses a value outside of the domain.
    pub fn encode(&self, value: u32, bits: &mut impl Bits) -> Result<Report, Refusal> {
        domain::check_place(value, self.size)?;
        let function = uniform_below(u128::from(self.functions), bits) as u32;
        let cell = self.cell(function, value);
        Ok(match self.noise {
            CellNoise::Symmetric => {
                let row = one_hot(self.width, cell, self.flip.complement(), self.flip, bits);
                Report::SketchBits { function, row }
            }
            CellNoise::Hadamard => {
                let row = bits.bits(self.width.trailing_zeros()) as u32;
                let negative = walsh::is_negative(row, cell) ^ self.flip.toss(bits);
                Report::SketchSign { function, row, negative }
            }
        })
    }

    /// P(report | value).
    pub fn likelihood(&self, value: u32, report: &Report) -> f64 {
        if !self.fits(report) {
            return 0.0;
        }
        let given = match report {
            Report::SketchBits { function, row } => {
                one_hot_likelihood(row, self.cell(*function, value), self.flip.complement(), self.flip)
            }
            Report::SketchSign { function, row, negative } => {
                let flipped = walsh::is_negative(*row, self.cell(*function, value)) != *negative;
                let coin = if flipped { self.flip } else { self.flip.complement() };
                coin.chance() / f64::from(self.width)
            }
            _ => 0.0,
        };
        given / f64::from(self.functions)
    }

    /// The realised chances of support, collisions included.
    pub fn chances(&self) -> Chances {
        let own = self.flip.complement().chance();
        let cell = match self.noise {
            CellNoise::Symmetric => self.flip.chance(),
            CellNoise::Hadamard => 0.5,
        };
        Chances { own, other: cell + (own - cell) / f64::from(self.width) }
    }

    /// The variance that collisions add to the count of each value, when `holders` have each.
    pub fn collisions(&self, holders: &[f64]) -> Vec<f64> {
        // The true terms n (n − 1) are never negative; those of estimates below one are taken as none.
        let pairs = |n: f64| (n * (n - 1.0)).max(0.0);
        let all: f64 = holders.iter().map(|n| pairs(*n)).sum();
        let cells = f64::from(self.functions) * f64::from(self.width - 1);
        holders.iter().map(|n| (all - pairs(*n)) / cells).collect()
    }

    /// The same from unbiased counts, brought to a distribution first: squares of noise would inflate it.
    pub(crate) fn estimated_collisions(&self, counts: &[f64], reports: u64) -> Vec<f64> {
        let n = reports.max(1) as f64;
        let frequencies: Vec<f64> = counts.iter().map(|count| count / n).collect();
        let holders: Vec<f64> = simplex::project(&frequencies).iter().map(|share| share * n).collect();
        self.collisions(&holders)
    }

    pub(crate) fn fits(&self, report: &Report) -> bool {
        match (self.noise, report) {
            (CellNoise::Symmetric, Report::SketchBits { function, row }) => {
                *function < self.functions && row.len() == self.width
            }
            (CellNoise::Hadamard, Report::SketchSign { function, row, .. }) => {
                *function < self.functions && *row < self.width
            }
            _ => false,
        }
    }

    pub(crate) fn absorb(&self, reports: &[Report], counts: &mut [i64]) {
        let width = self.width as usize;
        // Made for a function when its first row comes, for a batch may be small.
        let mut columns: Vec<Option<Columns>> = (0..self.functions).map(|_| None).collect();
        for report in reports {
            match report {
                Report::SketchBits { function, row } => {
                    let function = *function as usize;
                    let cells = &mut counts[function * width..][..width];
                    columns[function].get_or_insert_with(|| Columns::new(width)).add(row.words(), cells);
                }
                Report::SketchSign { function, row, negative } => {
                    counts[*function as usize * width + *row as usize] += 1 - 2 * i64::from(*negative);
                }
                _ => {}
            }
        }
        for (columns, cells) in columns.iter_mut().zip(counts.chunks_exact_mut(width)) {
            if let Some(columns) = columns {
                columns.empty(cells);
            }
        }
    }

    /// How many reports support the cell of each value.
    pub(crate) fn supports(&self, counts: &[i64], reports: u64) -> Vec<i64> {
        let width = self.width as usize;
        let mut cells = counts.to_vec();
        if self.noise == CellNoise::Hadamard {
            cells.chunks_exact_mut(width).for_each(walsh::transform);
        }
        let mut sums = vec![0; self.size as usize];
        for (function, cells) in (0..).zip(cells.chunks_exact(width)) {
            for (value, sum) in (0..).zip(&mut sums) {
                *sum += cells[self.cell(function, value) as usize];
            }
        }
        match self.noise {
            CellNoise::Symmetric => sums,
            CellNoise::Hadamard => sums.iter().map(|difference| (reports as i64 + difference) / 2).collect(),
        }
    }
}
