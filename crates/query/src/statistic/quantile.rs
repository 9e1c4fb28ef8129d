//! The value below which a given part of the data lies, chosen from a public grid by the exponential mechanism.

use super::{MISS, Method};
use crate::select::choose;
use crate::{Bounds, Cell, Column, Draw, NoiseKind, Part, Preview, Rank, column::present};
use veracity_core::{Adjacency, Count, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, NoiseStream, Ratio};

/// For rank a/b the score of a point is −|(b − a)·below − a·above|, where `below` and `above` count the clamped values on
/// its strict sides: a whole number, zero at the exact quantile. At rank 0 every point below all data is as good as
/// another, at rank 1 every point above.
///
/// # Promise    Adjacent datasets move every score by at most the declared sensitivity, so the losses of any two points
/// differ by at most ε
/// # Reference  [Smith11] for the score; [McSherryTalwar07]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantile {
    bounds: Bounds,
    rank: Rank,
    steps: u32,
    /// How far adjacent datasets move a score.
    sensitivity: Count,
    /// 1/ε.
    multiplier: Ratio,
    epsilon: Epsilon,
}

impl Quantile {
    pub(crate) fn new(
        bounds: Bounds,
        rank: Rank,
        steps: u32,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Quantile, Refusal> {
        match noise.0 {
            NoiseKind::Laplace => {}
            NoiseKind::Gaussian => {
                return Err(Refusal::no_theorem(
                    "gaussian noise",
                    "a quantile, which is chosen",
                    "use laplace",
                ));
            }
        }
        if !(1..=Rank::STEPS).contains(&steps) {
            return Err(Refusal::out_of_range("steps", steps, "1 to 2^20 steps between the bounds"));
        }
        let (below, whole) = (rank.below(), rank.whole());
        let moved = match adjacency {
            Adjacency::AddRemove | Adjacency::ZeroOut => below.max(whole - below),
            // From one side to the other.
            Adjacency::ReplaceOne => whole,
        };
        let multiplier = Ratio::at_least(noise.1.get())?;
        // The next float up covers the rounding of the division.
        let epsilon = Epsilon::new((1.0 / multiplier.as_f64()).next_up())?;
        Ok(Quantile { bounds, rank, steps, sensitivity: Count::new(u64::from(moved))?, multiplier, epsilon })
    }

    fn point(&self, i: u32) -> f64 {
        if i == self.steps {
            self.bounds.upper()
        } else {
            self.bounds.lower() + self.bounds.width() * (f64::from(i) / f64::from(self.steps))
        }
    }

    /// The score of every point, by one walk along points and sorted values.
    fn scores(&self, values: &[Option<f64>]) -> Vec<i128> {
        let mut sorted: Vec<f64> = present(values).map(|x| self.bounds.clamp(x)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (a, b) = (i128::from(self.rank.below()), i128::from(self.rank.whole()));
        let (mut below, mut not_above) = (0, 0);
        (0..=self.steps)
            .map(|i| {
                let point = self.point(i);
                below += sorted[below..].iter().take_while(|x| **x < point).count();
                not_above = not_above.max(below);
                not_above += sorted[not_above..].iter().take_while(|x| **x <= point).count();
                let above = sorted.len() - not_above;
                -((b - a) * below as i128 - a * above as i128).abs()
            })
            .collect()
    }

    /// A point misses the best score by more than (2Δ/ε) ln(points/miss) with chance at most `miss`; b score units are one
    /// record.
    ///
    /// # Reference  [McSherryTalwar07]; [DworkRoth14] Theorem 3.11
    fn rank_error(&self) -> f64 {
        let points = f64::from(self.steps) + 1.0;
        let doubled = 2.0 * self.sensitivity.as_f64() * self.multiplier.as_f64();
        doubled * (points / MISS).ln() / f64::from(self.rank.whole())
    }
}

impl Method for Quantile {
    fn parts(&self) -> Vec<Part> {
        vec![Part {
            place: "quantile",
            granularity: self.bounds.width() / f64::from(self.steps),
            sensitivity: self.sensitivity,
            draw: Draw::Chosen { epsilon: self.epsilon },
        }]
    }

    fn mechanism(&self) -> Mechanism {
        Mechanism::Exponential { epsilon: self.epsilon }
    }

    fn preview(&self, _rows: u64) -> Preview {
        Preview { cells: 1, error_bar: self.bounds.width(), rank_error: Some(self.rank_error()) }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let scores = self.scores(column.numbers()?);
        let moved = u128::from(self.sensitivity.get());
        let chosen = rng.call("quantile", &scores, Distance::LInf(moved), |scores, stream| {
            vec![choose(scores, 2 * moved, self.multiplier, stream) as i128]
        });
        // An index of a point, so the cast is exact.
        let value = self.point(chosen[0] as u32);
        let error_bar = self.bounds.reach(value);
        Ok(vec![Cell { label: None, value, error_bar, rank_error: Some(self.rank_error()) }])
    }
}
