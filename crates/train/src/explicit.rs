//! One example's gradient, written out, for what cannot be told from squared norms of layers alone: ℓ1 norms, and means over
//! several views of an example or several records of a person.
//!
//! An example's views pass through the network together; their gradients are added up, divided by their number, measured,
//! shortened and added to the sum. So are those of a person's records.

use crate::{
    Network, Plan, World,
    clip::{Balance, Clip},
    pass::Pass,
};

/// How a written-out gradient is measured and shortened.
#[derive(Debug, Clone)]
pub(crate) enum Measure {
    /// By the ℓ2 norms of its parts.
    L2(Clip),
    /// By its ℓ1 norm, to this one.
    L1 { norm: f32 },
}

impl Measure {
    /// The factors of one gradient, from its squared norm in each stage and its size over all of them.
    pub(crate) fn factors(&self, squares: &[f32], size: f32, factors: &mut [f32]) -> Balance {
        match self {
            Measure::L2(clip) => clip.factors(squares, 1, 1, factors),
            Measure::L1 { norm: most } => {
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

/// Memory for one example at a time.
#[derive(Debug)]
pub(crate) struct WrittenOut {
    pass: Pass,
    gradient: Vec<f32>,
}

impl WrittenOut {
    pub(crate) fn new(plan: &Plan) -> WrittenOut {
        WrittenOut {
            pass: Pass::new(&plan.network, views(plan)),
            gradient: vec![0.0; plan.network.parameters()],
        }
    }

    /// Adds the clipped gradient of the record at a position to `sum`, and says on which side of the clip norm it was.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn add(
        &mut self,
        plan: &Plan,
        data: World<'_>,
        position: usize,
        parameters: &[f32],
        measure: &Measure,
        step: u64,
        sum: &mut [f32],
    ) -> Balance {
        self.differentiate(plan, data, position, parameters, step);
        self.shorten(&plan.network, measure, sum)
    }

    /// The mean gradient over the records at a position, and over the views of each.
    fn differentiate(&mut self, plan: &Plan, data: World<'_>, at: usize, parameters: &[f32], step: u64) {
        let (network, count) = (&plan.network, views(plan));
        self.gradient.fill(0.0);
        let mut records = 0;
        for (features, label) in data.examples(at) {
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
            self.pass.backward(network, parameters, plan.loss, std::iter::repeat_n(label, count), count);
            // A view whose gradient is not finite counts as zero, like an example without views.
            self.pass.clipped_sum(network, &Clip::none(), count, &mut self.gradient);
            records += 1;
        }
        if count * records > 1 {
            let part = 1.0 / (count * records) as f32;
            self.gradient.iter_mut().for_each(|g| *g *= part);
        }
    }

    /// Shortens the gradient and adds it.
    fn shorten(&self, network: &Network, measure: &Measure, sum: &mut [f32]) -> Balance {
        let square = |x: &f32| f64::from(*x) * f64::from(*x);
        let squares: Vec<f32> = network
            .places()
            .iter()
            .map(|place| self.gradient[place.clone()].iter().map(square).sum::<f64>() as f32)
            .collect();
        let size = self.gradient.iter().map(|x| f64::from(x.abs())).sum::<f64>() as f32;
        let mut factors = vec![0.0; squares.len()];
        let balance = measure.factors(&squares, size, &mut factors);
        for (place, factor) in network.places().iter().zip(factors) {
            // Zero times infinity is not zero.
            if factor > 0.0 {
                for (total, g) in sum[place.clone()].iter_mut().zip(&self.gradient[place.clone()]) {
                    *total += factor * g;
                }
            }
        }
        balance
    }
}

/// How many views an example has.
fn views(plan: &Plan) -> usize {
    plan.views.as_ref().map_or(1, |views| views.count())
}
