//! How many values are in each of some public bins.

use super::{MISS, Method};
use crate::{Bins, Cell, Column, NoiseKind, NoisySum, Part, Preview, column::present, edges::Edges};
use std::collections::HashMap;
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream};

/// A record is in at most one bin, so one count's noise on every bin costs what one count costs; a replaced record leaves
/// one bin and enters another. Error bars are of each bin by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Histogram {
    bins: Cut,
    adjacency: Adjacency,
    count: NoisySum,
}

/// How values are told apart.
#[derive(Debug, Clone, PartialEq)]
enum Cut {
    Numeric(Edges),
    Categories(Vec<String>),
}

impl Histogram {
    pub(crate) fn new(
        bins: &Bins,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Histogram, Refusal> {
        bins.check()?;
        let bins = match bins {
            Bins::Numeric { bounds, bins } => Cut::Numeric(Edges::new(*bounds, *bins)?),
            Bins::Categories(names) => Cut::Categories(names.clone()),
        };
        Ok(Histogram { bins, adjacency, count: NoisySum::count("histogram", noise, adjacency)? })
    }

    fn exact(&self, column: &Column) -> Result<Vec<i128>, Refusal> {
        let mut counts = vec![0; self.cells()];
        match &self.bins {
            Cut::Numeric(edges) => {
                let places = edges.places();
                let mut counted = vec![0u64; self.cells()];
                for x in present(column.numbers()?) {
                    counted[places.of(x)] += 1;
                }
                counts = counted.into_iter().map(i128::from).collect();
            }
            Cut::Categories(names) => {
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

    fn cells(&self) -> usize {
        match &self.bins {
            Cut::Numeric(edges) => edges.bins() as usize,
            Cut::Categories(names) => names.len(),
        }
    }

    fn labels(&self) -> Vec<String> {
        match &self.bins {
            Cut::Numeric(edges) => edges.labels(),
            Cut::Categories(names) => names.clone(),
        }
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
        Preview { cells: self.cells(), error_bar: self.count.half_width(MISS), rank_error: None }
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
