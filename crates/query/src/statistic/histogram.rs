//! How many values are in each of some public bins.

use super::{MISS, Method};
use crate::{Bins, Bounds, Cell, Column, NoiseKind, Part, Preview, column::present, lane::Lane};
use std::collections::HashMap;
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream};

/// A record is in at most one bin, so one count's noise on every bin costs what one count costs; a replaced record leaves
/// one bin and enters another. Error bars are of each bin by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Histogram {
    bins: Bins,
    adjacency: Adjacency,
    count: Lane,
}

impl Histogram {
    pub(crate) fn new(
        bins: &Bins,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Histogram, Refusal> {
        bins.check()?;
        Ok(Histogram { bins: bins.clone(), adjacency, count: Lane::count("histogram", noise, adjacency)? })
    }

    fn exact(&self, column: &Column) -> Result<Vec<i128>, Refusal> {
        let mut counts = vec![0; self.labels().len()];
        match &self.bins {
            Bins::Numeric { bounds, bins } => {
                let inner: Vec<f64> = (1..*bins).map(|i| edge(*bounds, i, *bins)).collect();
                for x in present(column.numbers()?) {
                    // Below the first inner edge is the first bin, from the last one on the last.
                    counts[inner.partition_point(|edge| *edge <= x)] += 1;
                }
            }
            Bins::Categories(names) => {
                let places: HashMap<&str, usize> =
                    names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
                for text in column.texts()?.iter().flatten() {
                    if let Some(place) = places.get(text.as_str()) {
                        counts[*place] += 1;
                    }
                }
            }
        }
        Ok(counts)
    }

    fn labels(&self) -> Vec<String> {
        match &self.bins {
            Bins::Numeric { bounds, bins } => (0..*bins)
                .map(|i| {
                    let close = if i + 1 == *bins { ']' } else { ')' };
                    format!("[{}, {}{close}", edge(*bounds, i, *bins), edge(*bounds, i + 1, *bins))
                })
                .collect(),
            Bins::Categories(names) => names.clone(),
        }
    }
}

/// Where bin `i` of `bins` begins.
fn edge(bounds: Bounds, i: u32, bins: u32) -> f64 {
    if i == bins {
        bounds.upper()
    } else {
        bounds.lower() + bounds.width() * (f64::from(i) / f64::from(bins))
    }
}

impl Method for Histogram {
    fn parts(&self) -> Vec<Part> {
        vec![self.count.part()]
    }

    fn mechanism(&self) -> Mechanism {
        let one = self.count.mechanism();
        match self.adjacency {
            Adjacency::AddRemove | Adjacency::ZeroOut => one,
            // More parts of the same kind would say no more than two.
            Adjacency::ReplaceOne => Mechanism::Parallel(vec![one.clone(), one]),
        }
    }

    fn preview(&self, _rows: u64) -> Preview {
        Preview { cells: self.labels().len(), error_bar: self.count.half_width(MISS), rank_error: None }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        // Each contribution is one unit in one bin, and two of them are in different bins.
        let moves = u128::from(self.adjacency.contributions());
        let declared = match self.count.noise() {
            Noise::Laplace { .. } => Distance::L1(moves),
            Noise::Gaussian { .. } => Distance::L2Squared(moves),
        };
        let noisy = self.count.noise().add("histogram", &self.exact(column)?, declared, rng);
        let error_bar = self.count.half_width(MISS);
        let cells = noisy.iter().zip(self.labels());
        Ok(cells
            .map(|(count, label)| Cell {
                label: Some(label),
                value: self.count.value(*count),
                error_bar,
                rank_error: None,
            })
            .collect())
    }
}
