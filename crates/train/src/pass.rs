//! One micro-batch, forward and back: values up through the stages, gradients down, norms, factors, clipped sums.
//!
//! All memory is allocated once and belongs to one shard; nothing here draws randomness or knows of noise.

use crate::{
    Dataset, Loss, Network, Plan, World,
    aligned::Aligned,
    clip::{Balance, Clip},
    exponential::softmax,
    layer::Trace,
    loss::Label,
    phases::{Phase, timed},
};

/// The memory of one shard.
#[derive(Debug)]
pub(crate) struct Pass {
    /// The input of each stage, and the output of the last.
    values: Vec<Aligned>,
    /// The gradient by each of them; that by the network's own input is not needed and empty.
    gradients: Vec<Vec<f32>>,
    /// What each stage keeps.
    kept: Vec<Vec<f32>>,
    /// The squared norms of the network's own inputs, where they are known.
    of_inputs: Vec<f32>,
    /// One row of `capacity` numbers for each stage, as are the factors.
    square_norms: Vec<f32>,
    factors: Vec<f32>,
    capacity: usize,
}

impl Pass {
    pub(crate) fn new(network: &Network, capacity: usize) -> Pass {
        let sized = |size: usize| vec![0.0; capacity * size];
        let mut gradients: Vec<Vec<f32>> = network.shapes().iter().map(|shape| sized(shape.size())).collect();
        if first_backward(network) == 1 {
            gradients[0] = Vec::new();
        }
        Pass {
            values: network.shapes().iter().map(|shape| Aligned::new(capacity * shape.size())).collect(),
            gradients,
            kept: network.stages().iter().map(|stage| sized(stage.kept())).collect(),
            of_inputs: Vec::new(),
            square_norms: vec![0.0; capacity * network.stages().len()],
            factors: vec![0.0; capacity * network.stages().len()],
            capacity,
        }
    }

    /// Passes some records through, forward and back, and adds their clipped gradients to `sum`. Says on which side of the clip
    /// norm they were.
    pub(crate) fn add(
        &mut self,
        plan: &Plan,
        data: World<'_>,
        records: &[u32],
        parameters: &[f32],
        clip: &Clip,
        sum: &mut [f32],
    ) -> Balance {
        let input = self.input(&plan.network, records.len());
        match data.records_alone() {
            Some(alone) => {
                timed(Phase::Fetching, || {
                    alone.copy_rows(records.iter().map(|record| *record as usize), input)
                });
                self.add_fetched(plan, |at| (alone, at), records, parameters, clip, sum)
            }
            None => {
                timed(Phase::Fetching, || {
                    for (row, record) in input.chunks_exact_mut(data.width()).zip(records) {
                        let (records, at) = data.place(*record as usize);
                        records.copy_rows([at].into_iter(), row);
                    }
                });
                self.add_fetched(plan, |at| data.place(at), records, parameters, clip, sum)
            }
        }
    }

    /// As [`Pass::add`], with features that were fetched; `place` says which dataset a record is in, and where.
    #[inline(always)]
    fn add_fetched<'a>(
        &mut self,
        plan: &Plan,
        place: impl Fn(usize) -> (&'a Dataset, usize),
        records: &[u32],
        parameters: &[f32],
        clip: &Clip,
        sum: &mut [f32],
    ) -> Balance {
        let (network, count) = (&plan.network, records.len());
        let place = |record: &u32| place(*record as usize);
        timed(Phase::Forward, || self.forward(network, parameters, count));
        let labels = records.iter().map(|record| {
            let (data, at) = place(record);
            data.labels().at(at)
        });
        timed(Phase::Backward, || self.backward(network, parameters, plan.loss, labels, count));
        let balance = timed(Phase::Norms, || {
            if network.stages()[0].measures_inputs() {
                self.of_inputs.clear();
                self.of_inputs.extend(records.iter().map(|record| {
                    let (data, at) = place(record);
                    data.square_norm(at)
                }));
            }
            self.factors(network, clip, count)
        });
        timed(Phase::Sum, || self.add_clipped(network, count, sum));
        balance
    }

    /// Where the features of the next `count` examples go.
    pub(crate) fn input(&mut self, network: &Network, count: usize) -> &mut [f32] {
        &mut self.values[0][..count * network.input().size()]
    }

    /// The outputs of the last forward pass.
    pub(crate) fn output(&self, network: &Network, count: usize) -> &[f32] {
        &self.values[self.values.len() - 1][..count * network.output().size()]
    }

    /// From the input to the output.
    pub(crate) fn forward(&mut self, network: &Network, parameters: &[f32], count: usize) {
        for (at, stage) in network.stages().iter().enumerate() {
            let (before, after) = self.values.split_at_mut(at + 1);
            let (inputs, outputs) = (network.shapes()[at].size(), network.shapes()[at + 1].size());
            stage.forward(
                &parameters[network.places()[at].clone()],
                count,
                &before[at][..count * inputs],
                &mut after[0][..count * outputs],
                &mut self.kept[at][..count * stage.kept()],
            );
        }
    }

    /// From the labels back to every stage.
    pub(crate) fn backward(
        &mut self,
        network: &Network,
        parameters: &[f32],
        loss: Loss,
        labels: impl Iterator<Item = Label>,
        count: usize,
    ) {
        let last = network.stages().len();
        let size = count * network.output().size();
        let (outputs, gradients) = (&self.values[last][..size], &mut self.gradients[last][..size]);
        loss_gradients(loss, network.output().size(), outputs, labels, gradients);
        for at in (first_backward(network)..last).rev() {
            let stage = &network.stages()[at];
            let (inputs, outputs) = (network.shapes()[at].size(), network.shapes()[at + 1].size());
            let (before, after) = self.gradients.split_at_mut(at + 1);
            let trace = trace(&self.values, &mut self.kept, network, at, count);
            stage.backward(
                &parameters[network.places()[at].clone()],
                trace,
                &after[0][..count * outputs],
                &mut before[at][..count * inputs],
            );
        }
    }

    /// Adds the clipped gradients of the micro-batch to `sum`, and says on which side of the clip norm they were.
    ///
    /// # Promise  One example adds a vector that depends on itself and the parameters alone, and whose norm is at most that of
    /// `clip`, but for the error of norms in [`crate::private::Rounding`]; one whose gradient is not finite adds nothing
    pub(crate) fn clipped_sum(
        &mut self,
        network: &Network,
        clip: &Clip,
        count: usize,
        sum: &mut [f32],
    ) -> Balance {
        // Nobody has said whose they are.
        self.of_inputs.clear();
        let balance = self.factors(network, clip, count);
        self.add_clipped(network, count, sum);
        balance
    }

    /// Measures the gradients of the micro-batch and finds the factors that clip them. Says on which side of the clip norm they
    /// were.
    fn factors(&mut self, network: &Network, clip: &Clip, count: usize) -> Balance {
        let capacity = self.capacity;
        for row in self.square_norms.chunks_exact_mut(capacity) {
            row[..count].fill(0.0);
        }
        for (at, stage) in network.stages().iter().enumerate() {
            let trace = trace(&self.values, &mut self.kept, network, at, count);
            let gradients = &self.gradients[at + 1][..count * network.shapes()[at + 1].size()];
            let norms = &mut self.square_norms[at * capacity..][..count];
            match at == 0 && !self.of_inputs.is_empty() {
                true => stage.square_norms_of(&self.of_inputs, trace, gradients, norms),
                false => stage.square_norms(trace, gradients, norms),
            }
        }
        let balance = clip.factors(&self.square_norms, capacity, count, &mut self.factors);
        // Only what is not finite has no factor at all; and mostly there is nothing of the kind.
        let may_be_silent = self.factors[..count].iter().fold(false, |any, factor| any | (*factor == 0.0));
        if may_be_silent {
            for example in 0..count {
                if self.factors[example..].iter().step_by(capacity).all(|factor| *factor == 0.0) {
                    self.silence(network, count, example);
                }
            }
        }
        balance
    }

    /// Adds the gradients, times their factors, to `sum`.
    fn add_clipped(&mut self, network: &Network, count: usize, sum: &mut [f32]) {
        let capacity = self.capacity;
        for (at, stage) in network.stages().iter().enumerate() {
            let outputs = network.shapes()[at + 1].size();
            stage.clipped_sum(
                trace(&self.values, &mut self.kept, network, at, count),
                &mut self.gradients[at + 1][..count * outputs],
                &self.factors[at * capacity..][..count],
                &mut sum[network.places()[at].clone()],
            );
        }
    }

    /// Zeroes all that is known of an example: zero times infinity is not zero.
    #[cold]
    fn silence(&mut self, network: &Network, count: usize, example: usize) {
        for (at, shape) in network.shapes().iter().enumerate() {
            let row = example * shape.size()..(example + 1) * shape.size();
            self.values[at][row.clone()].fill(0.0);
            if !self.gradients[at].is_empty() {
                self.gradients[at][row].fill(0.0);
            }
        }
        for (stage, kept) in network.stages().iter().zip(&mut self.kept) {
            stage.silence(&mut kept[..count * stage.kept()], count, example);
        }
    }
}

/// The first stage whose `backward` is called: nobody needs the gradient by the network's own input.
fn first_backward(network: &Network) -> usize {
    usize::from(!network.stages()[0].keeps_gradients())
}

/// The gradients of the losses of rows of outputs by these. What the losses are is nobody's business here.
fn loss_gradients(
    loss: Loss,
    width: usize,
    outputs: &[f32],
    labels: impl Iterator<Item = Label>,
    gradients: &mut [f32],
) {
    let classes = loss == Loss::SoftmaxCrossEntropy;
    if classes {
        // All examples at once: most of the work is exponentials, which are fast by the hundred.
        softmax(outputs, width, gradients);
    }
    let rows = outputs.chunks_exact(width).zip(gradients.chunks_exact_mut(width));
    for ((output, gradient), label) in rows.zip(labels) {
        match label {
            Label::Class(class) if classes => gradient[class as usize] -= 1.0,
            _ => {
                loss.gradient(output, label, gradient);
            }
        }
    }
}

/// What went through the stage at a place.
fn trace<'a>(
    values: &'a [Aligned],
    kept: &'a mut [Vec<f32>],
    network: &Network,
    at: usize,
    count: usize,
) -> Trace<'a> {
    let (inputs, outputs) = (network.shapes()[at].size(), network.shapes()[at + 1].size());
    Trace {
        count,
        input: &values[at][..count * inputs],
        output: &values[at + 1][..count * outputs],
        kept: &mut kept[at][..count * network.stages()[at].kept()],
    }
}
