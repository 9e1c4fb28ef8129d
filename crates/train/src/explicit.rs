//! The clipped sum of a batch with every example's gradient written out, for what cannot be told from squared norms of layers
//! alone: ℓ1 norms, and means over several views of an example.
//!
//! An example's views pass through the network together; their gradients are added up, divided by their number, measured,
//! shortened and added to the sum. As in lanes, who gets what follows from the plan alone.

use crate::{
    Network, Plan, World,
    clip::{Balance, Clip},
    pass::Pass,
};
use rayon::prelude::*;

/// Examples that one lane takes at a time.
const PORTION: usize = 16;
/// The most partial sums of one batch.
const MOST_LANES: usize = 8;

/// How a written-out gradient is measured and shortened.
#[derive(Debug, Clone)]
pub(crate) enum Measure {
    /// By the ℓ2 norms of its parts.
    Squares(Clip),
    /// By its ℓ1 norm, to this one.
    Sizes { norm: f32 },
}

impl Measure {
    /// The factors of one gradient, from its squared norm in each stage and its size over all of them.
    pub(crate) fn factors(&self, squares: &[f32], size: f32, factors: &mut [f32]) -> Balance {
        match self {
            Measure::Squares(clip) => clip.factors(squares, 1, 1, factors),
            Measure::Sizes { norm: most } => {
                let factor = match size {
                    size if !size.is_finite() => 0.0,
                    size if size <= *most => 1.0,
                    size => most / size,
                };
                factors.fill(factor);
                0
            }
        }
    }
}

/// The lanes of one model.
#[derive(Debug)]
pub(crate) struct Explicit(Vec<Lane>);

#[derive(Debug)]
struct Lane {
    pass: Pass,
    /// One example's gradient.
    gradient: Vec<f32>,
    sum: Vec<f32>,
    balance: Balance,
}

impl Explicit {
    pub(crate) fn new(plan: &Plan) -> Explicit {
        let planned = plan.sampling.planned().get() as usize;
        let count = planned.div_ceil(PORTION).clamp(1, MOST_LANES);
        let zeros = || vec![0.0; plan.network.parameters()];
        let lane = |_| Lane {
            pass: Pass::new(&plan.network, views(plan)),
            gradient: zeros(),
            sum: zeros(),
            balance: 0,
        };
        Explicit((0..count).map(lane).collect())
    }

    /// The sum of the last batch, as it stands in memory now.
    pub(crate) fn total(&self) -> &[f32] {
        &self.0[0].sum
    }

    /// The sum of the clipped gradients of the records at the positions in `batch`, and on which side of the clip norm they
    /// were.
    pub(crate) fn clipped_sum(
        &mut self,
        plan: &Plan,
        data: World<'_>,
        batch: &[u32],
        parameters: &[f32],
        measure: &Measure,
        step: u64,
    ) -> (&mut [f32], Balance) {
        let count = self.0.len();
        let work = |(at, lane): (usize, &mut Lane)| {
            lane.sum.fill(0.0);
            lane.balance = 0;
            for position in batch.chunks(PORTION).skip(at).step_by(count).flatten() {
                lane.differentiate(plan, data, *position as usize, parameters, step);
                lane.add(&plan.network, measure);
            }
        };
        if count == 1 {
            work((0, &mut self.0[0]));
        } else {
            self.0.par_iter_mut().enumerate().for_each(work);
        }
        let balance = self.0.iter().map(|lane| lane.balance).sum();
        let (first, others) = self.0.split_at_mut(1);
        for other in others {
            for (total, part) in first[0].sum.iter_mut().zip(&other.sum) {
                *total += part;
            }
        }
        (&mut first[0].sum, balance)
    }
}

impl Lane {
    /// The mean gradient over the views of one example.
    fn differentiate(&mut self, plan: &Plan, data: World<'_>, at: usize, parameters: &[f32], step: u64) {
        let (network, count, features) = (&plan.network, views(plan), data.row(at));
        let input = self.pass.input(network, count);
        match &plan.views {
            None => input.copy_from_slice(features),
            Some(views) => {
                for (which, view) in input.chunks_exact_mut(features.len()).enumerate() {
                    views.write(step, which, features, view);
                }
            }
        }
        self.pass.forward(network, parameters, count);
        self.pass.backward(network, parameters, plan.loss, std::iter::repeat_n(data.label(at), count), count);
        self.gradient.fill(0.0);
        // A view whose gradient is not finite counts as zero, like an example without views.
        self.pass.clipped_sum(network, &Clip::none(), count, &mut self.gradient);
        if count > 1 {
            let part = 1.0 / count as f32;
            self.gradient.iter_mut().for_each(|g| *g *= part);
        }
    }

    /// Shortens the gradient and adds it.
    fn add(&mut self, network: &Network, measure: &Measure) {
        let square = |x: &f32| f64::from(*x) * f64::from(*x);
        let squares: Vec<f32> = network
            .places()
            .iter()
            .map(|place| self.gradient[place.clone()].iter().map(square).sum::<f64>() as f32)
            .collect();
        let size = self.gradient.iter().map(|x| f64::from(x.abs())).sum::<f64>() as f32;
        let mut factors = vec![0.0; squares.len()];
        self.balance += measure.factors(&squares, size, &mut factors);
        for (place, factor) in network.places().iter().zip(factors) {
            // Zero times infinity is not zero.
            if factor > 0.0 {
                for (total, g) in self.sum[place.clone()].iter_mut().zip(&self.gradient[place.clone()]) {
                    *total += factor * g;
                }
            }
        }
    }
}

/// How many views an example has.
fn views(plan: &Plan) -> usize {
    plan.views.as_ref().map_or(1, |views| views.count())
}
