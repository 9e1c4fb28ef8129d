//! Reference implementation of a device, on the CPU and to the bit: the arithmetic of the kernels in `crates/cuda`, one model after another and one record after another.
//!
//! Every operation of the kernels is of whole numbers, or a correctly rounded one of floats in an order that is fixed. So a training on a
//! device can be repeated here without one, and what is read of it is the same.

use super::{
    job::Job,
    score::Scores,
    shape,
    worlds::{self, Numbers},
};
use crate::{
    Initial, Plan,
    device::{Device, Reading, Trainings, batch_of},
};
use rayon::prelude::*;
use veracity_core::Refusal;
use veracity_noise::{Purpose, vector};

/// The arithmetic of devices, on the CPU: slow, and the same to the bit.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntegerReference;

impl Device for IntegerReference {
    fn name(&self) -> String {
        "integers".to_owned()
    }

    fn portion(&self, _: &Plan) -> usize {
        4 * rayon::current_num_threads()
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        shape::check(plan).map(drop)
    }

    fn has_scores(&self) -> bool {
        true
    }

    fn train(&self, trainings: &Trainings<'_>) -> Result<Vec<Vec<f32>>, Refusal> {
        train(trainings)
    }
}

fn train(trainings: &Trainings<'_>) -> Result<Vec<Vec<f32>>, Refusal> {
    trainings.check()?;
    let (layers, calibrated) = shape::check(trainings.plan)?;
    let mut job = shape::job(trainings.plan, layers, &calibrated);
    if trainings.trials.is_empty() {
        return Ok(Vec::new());
    }
    let mut buffers = Buffers(Vec::new());
    let planes = worlds::place(&mut job, trainings, &calibrated, &mut |numbers| Ok(buffers.keep(numbers)))?;
    (0..trainings.trials.len())
        .into_par_iter()
        .map(|at| Model::begun(&job, &buffers, planes, trainings, at)?.trained())
        .collect()
}

/// What would be sent to a device; an address is a place in the list and one more.
struct Buffers(Vec<Numbers>);

impl Buffers {
    fn keep(&mut self, numbers: Numbers) -> u64 {
        self.0.push(numbers);
        self.0.len() as u64
    }

    fn bytes(&self, at: u64) -> &[u8] {
        match self.at(at) {
            Some(Numbers::Bytes(bytes)) => bytes,
            _ => &[],
        }
    }

    fn pairs(&self, at: u64) -> &[[f32; 2]] {
        match self.at(at) {
            Some(Numbers::Pairs(pairs)) => pairs,
            _ => &[],
        }
    }

    fn words(&self, at: u64) -> &[u32] {
        match self.at(at) {
            Some(Numbers::Words(words)) => words,
            _ => &[],
        }
    }

    fn signed(&self, at: u64) -> &[i32] {
        match self.at(at) {
            Some(Numbers::Signed(numbers)) => numbers,
            _ => &[],
        }
    }

    fn at(&self, at: u64) -> Option<&Numbers> {
        (at as usize).checked_sub(1).and_then(|at| self.0.get(at))
    }
}

/// What stands at a position of a batch.
enum Standing {
    Row(usize),
    Crafted(usize),
    Blank,
}

/// One model and its training.
struct Model<'a> {
    job: &'a Job,
    buffers: &'a Buffers,
    trainings: &'a Trainings<'a>,
    /// Which of the trainings.
    at: usize,
    /// Features of all rows, as whole numbers.
    planes: usize,
    /// First weights, their biases, and the same of a second layer.
    parameters: Vec<f32>,
    velocity: Vec<f32>,
}

/// Weights of the first layer in whole numbers, three bytes each, and what one is worth in outputs.
struct RoundedWeights {
    bytes: Vec<[i32; 3]>,
    worth: f32,
}

/// What a batch adds, in fine units.
struct Sums {
    /// For each weight of the first layer, one number for each power of 256.
    weights: Vec<[i64; 5]>,
    biases: Vec<i64>,
    last: Vec<i64>,
}

impl<'a> Model<'a> {
    fn begun(
        job: &'a Job,
        buffers: &'a Buffers,
        planes: usize,
        trainings: &'a Trainings<'a>,
        at: usize,
    ) -> Result<Model<'a>, Refusal> {
        let count = job.parameters as usize;
        let parameters = match &trainings.plan.initial {
            Initial::At(initial) => initial.to_vec(),
            _ => first_parameters(job, trainings, at),
        };
        Ok(Model { job, buffers, trainings, at, planes, parameters, velocity: vec![0.0; count] })
    }

    fn inputs(&self) -> usize {
        self.job.inputs as usize
    }

    fn outer(&self) -> usize {
        self.job.outer as usize
    }

    fn hidden(&self) -> usize {
        self.job.hidden as usize
    }

    fn outputs(&self) -> usize {
        self.job.outputs as usize
    }

    fn trained(mut self) -> Result<Vec<f32>, Refusal> {
        let Trainings { plan, entropy, run, trials, worlds, read } = *self.trainings;
        let mut found = Vec::new();
        let mut scores = match read {
            Reading::Scores(attack) => Some(Scores::new(attack, plan.steps.get())),
            _ => None,
        };
        for step in 0..plan.steps.get() {
            let batch = batch_of(plan, entropy, run, trials[self.at], step, worlds[self.at].len())?;
            let mut noise = self.noise(step);
            let (mut sums, rounded) = (self.no_sums(), self.rounded());
            for position in batch {
                match self.standing(position as usize) {
                    Standing::Row(row) => self.add(row, &rounded, &mut sums),
                    Standing::Crafted(crafted) => self.craft(crafted, &mut noise),
                    Standing::Blank => {}
                }
            }
            let noisy = self.noisy(&sums, &noise);
            if let Reading::Sums { parameters, directions } = read {
                found.extend(parameters.iter().map(|at| noisy[*at as usize]));
                found.extend(directions.iter().map(|direction| along(direction, &noisy)));
            }
            if let (Reading::Scores(attack), Some(scores)) = (read, &mut scores) {
                let heard: Vec<f32> =
                    attack.directions.iter().map(|direction| along(direction, &noisy)).collect();
                scores.hear(step, |at| noisy[at as usize], &heard);
            }
            self.take(&noisy, plan.schedule.rate(step, plan.steps.get()));
        }
        match read {
            Reading::Sums { .. } => {}
            Reading::Scores(_) => found = scores.map_or_else(Vec::new, |scores| scores.read()),
            Reading::Outputs(_) => found = self.told(),
            Reading::Parameters => found = self.parameters,
        }
        Ok(found)
    }

    /// The noise integers of a step.
    fn noise(&self, step: u64) -> Vec<i32> {
        let Trainings { entropy, run, trials, .. } = *self.trainings;
        let family = entropy.family(Purpose::Noise, run, trials[self.at]);
        let mut noise = vec![0; self.parameters.len()];
        for (block, part) in noise.chunks_mut(1 << 15).enumerate() {
            vector::fill(part, &mut family.stream(step << 20 | block as u64));
        }
        noise
    }

    /// As `row_at` of the kernels.
    fn standing(&self, position: usize) -> Standing {
        let (job, buffers) = (self.job, self.buffers);
        let (unplanted, records) = (job.unplanted as usize, job.records as usize);
        let row = |at: i32| usize::try_from(at).map_or(Standing::Blank, Standing::Row);
        let changed = &buffers.signed(job.changed)[2 * self.at..][..2];
        if usize::try_from(changed[0]) == Ok(position) {
            return row(changed[1]);
        }
        if position < unplanted {
            return Standing::Row(position);
        }
        if position < records {
            let at = position - unplanted;
            let word = buffers.words(job.is_in)[self.at * job.planted_words as usize + at / 32];
            return match (word >> (at % 32) & 1 == 1, job.outside) {
                (true, _) => row(job.inside + at as i32),
                (false, outside) if outside >= 0 => row(outside + at as i32),
                (false, _) => Standing::Blank,
            };
        }
        let crafted = buffers.signed(job.crafted)[self.at * job.crafted_count as usize + position - records];
        usize::try_from(crafted).map_or(Standing::Blank, Standing::Crafted)
    }

    fn craft(&self, crafted: usize, noise: &mut [i32]) {
        let starts = self.buffers.signed(self.job.crafted_starts);
        let entries = self.buffers.words(self.job.crafted_entries);
        let range = 2 * starts[crafted] as usize..2 * starts[crafted + 1] as usize;
        for entry in entries[range].chunks_exact(2) {
            noise[entry[0] as usize] += entry[1] as i32;
        }
    }

    fn no_sums(&self) -> Sums {
        let last = if self.hidden() > 0 { self.outputs() * (self.hidden() + 1) } else { 0 };
        Sums {
            weights: vec![[0; 5]; self.outer() * self.inputs()],
            biases: vec![0; self.outer()],
            last: vec![0; last],
        }
    }

    fn rounded(&self) -> RoundedWeights {
        let weights = &self.parameters[..self.outer() * self.inputs()];
        let most = weights.iter().fold(0f32, |most, w| most.max(w.abs()));
        let exponent = ((most.to_bits() >> 23) as i32 - 126).max(-100);
        let up = f32::from_bits(((127 + 22 - exponent) as u32) << 23);
        let whole = |w: &f32| ((w * up).round_ties_even() as i32).clamp(-(1 << 22), 1 << 22);
        let worth = self.job.unit * f32::from_bits(((127 - 22 + exponent) as u32) << 23);
        RoundedWeights { bytes: weights.iter().map(|w| digits(whole(w))).collect(), worth }
    }

    /// The bytes of a feature of a row, the highest signed where there are three.
    fn feature(&self, row: usize, at: usize) -> [i32; 3] {
        let width = self.job.width as usize;
        let rows = self.buffers.bytes(self.job.rows);
        let byte = |plane: usize| rows[(row * self.planes + plane) * width + at];
        if self.planes == 1 {
            return [i32::from(byte(0)), 0, 0];
        }
        [i32::from(byte(0)), i32::from(byte(1)), i32::from(byte(2) as i8)]
    }

    /// What the first layer says of a row.
    fn first(&self, row: usize, rounded: &RoundedWeights) -> Vec<f32> {
        let features: Vec<[i32; 3]> = (0..self.inputs()).map(|at| self.feature(row, at)).collect();
        let levels = if self.planes == 1 { 3 } else { 5 };
        let biases = &self.parameters[self.outer() * self.inputs()..];
        let of_output = |(output, weights): (usize, &[[i32; 3]])| {
            let mut c = [0i32; 5];
            for (weight, feature) in weights.iter().zip(&features) {
                for (w, weight) in weight.iter().enumerate() {
                    for (f, feature) in feature[..self.planes].iter().enumerate() {
                        c[w + f] += weight * feature;
                    }
                }
            }
            let top = c[levels - 1] as f32;
            let sum = c[..levels - 1].iter().rev().fold(top, |sum, c| sum.mul_add(256.0, *c as f32));
            sum.mul_add(rounded.worth, biases[output])
        };
        rounded.bytes.chunks_exact(self.inputs()).enumerate().map(of_output).collect()
    }

    /// Weights of the last of two layers, then its biases.
    fn last(&self) -> &[f32] {
        &self.parameters[self.outer() * (self.inputs() + 1)..]
    }

    /// What the last of two layers says of units.
    fn second(&self, units: &[f32]) -> Vec<f32> {
        let (hidden, last) = (self.hidden(), self.last());
        let of_output = |output: usize| {
            let weights = &last[output * hidden..][..hidden];
            let mut rows = [0f32; 8];
            for (unit, (weight, x)) in weights.iter().zip(units).enumerate() {
                rows[unit % 8] = weight.mul_add(*x, rows[unit % 8]);
            }
            over_rows(rows) + last[self.outputs() * hidden + output]
        };
        (0..self.outputs()).map(of_output).collect()
    }

    /// From outputs to gradients by them.
    fn by_outputs(&self, z: &[f32], label: f32) -> Vec<f32> {
        if self.job.loss != 0 {
            return vec![slope(self.job.loss, z[0], label)];
        }
        let most = z.iter().fold(f32::NEG_INFINITY, |most, z| most.max(*z));
        let p: Vec<f32> = z.iter().map(|z| exponential(z - most)).collect();
        let share = 1.0 / over_outputs(&p);
        let is_label = |class: usize| if label.to_bits() as usize == class { -1.0 } else { 0.0 };
        p.iter().enumerate().map(|(class, p)| p.mul_add(share, is_label(class))).collect()
    }

    /// Adds what a row adds.
    fn add(&self, row: usize, rounded: &RoundedWeights, sums: &mut Sums) {
        let [norm, label] = self.buffers.pairs(self.job.about)[row];
        let z = self.first(row, rounded);
        let slopes = if self.hidden() == 0 {
            let g = self.by_outputs(&z, label);
            let squares: Vec<f32> = g.iter().map(|g| g * g).collect();
            let factor = self.shortening(over_outputs(&squares) * norm) * self.job.per_fine;
            g.iter().map(|g| (g * factor) as i32).collect()
        } else {
            self.add_hidden(&z, norm, label, sums)
        };
        for (output, slope) in slopes.into_iter().enumerate() {
            sums.biases[output] += i64::from(slope);
            let bytes = digits(slope);
            for at in 0..self.inputs() {
                let feature = self.feature(row, at);
                let sum = &mut sums.weights[output * self.inputs() + at];
                for (w, byte) in bytes.iter().enumerate() {
                    for (f, feature) in feature[..self.planes].iter().enumerate() {
                        sum[w + f] += i64::from(byte * feature);
                    }
                }
            }
        }
    }

    /// Adds what a row adds to the last of two layers, and returns its gradient by the first one's outputs, in fine units.
    fn add_hidden(&self, z: &[f32], norm: f32, label: f32, sums: &mut Sums) -> Vec<i32> {
        let (job, hidden, last) = (self.job, self.hidden(), self.last());
        let units: Vec<f32> = z.iter().map(|z| z.max(0.0)).collect();
        let g = self.by_outputs(&self.second(&units), label);
        let mut back = vec![0f32; hidden];
        for (output, g) in g.iter().enumerate() {
            for (unit, back) in back.iter_mut().enumerate() {
                *back = last[output * hidden + unit].mul_add(*g, *back);
            }
        }
        for (back, z) in back.iter_mut().zip(z) {
            *back = if *z > 0.0 { *back } else { 0.0 };
        }
        let squares: Vec<f32> = g.iter().map(|g| g * g).collect();
        let square = over_outputs(&squares).mul_add(of_units(&units) + 1.0, of_units(&back) * norm);
        let factor = self.shortening(square);
        for (output, g) in g.iter().enumerate() {
            let g = g * factor;
            for (unit, x) in units.iter().enumerate() {
                sums.last[output * hidden + unit] += i64::from((g * x * job.per_last) as i32);
            }
            sums.last[self.outputs() * hidden + output] += i64::from((g * job.per_last) as i32);
        }
        back.iter().map(|back| (back * factor * job.per_fine) as i32).collect()
    }

    /// What a gradient with this squared norm is multiplied with.
    fn shortening(&self, square: f32) -> f32 {
        if square.is_nan() || square == f32::INFINITY {
            return 0.0;
        }
        let norm = square.sqrt();
        if norm > self.job.clip { self.job.clip / norm } else { 1.0 }
    }

    /// Sums with their noise.
    fn noisy(&self, sums: &Sums, noise: &[i32]) -> Vec<f32> {
        let job = self.job;
        let levels = if self.planes == 1 { 3 } else { 5 };
        let fine = |c: &[i64; 5]| {
            let top = c[levels - 1] as f64;
            c[..levels - 1].iter().rev().fold(top, |sum, c| sum.mul_add(256.0, *c as f64))
        };
        let weights = sums.weights.iter().map(|c| fine(c) * job.fine_steps);
        let biases = sums.biases.iter().map(|sum| *sum as f64 * job.fine_bias_steps);
        let last = sums.last.iter().map(|sum| *sum as f64 * job.last_steps);
        let steps = weights.chain(biases).chain(last);
        let with = |(steps, noise): (f64, &i32)| {
            (job.granularity * (steps.round_ties_even() + f64::from(*noise))) as f32
        };
        steps.zip(noise).map(with).collect()
    }

    /// A step of the optimiser.
    fn take(&mut self, noisy: &[f32], rate: f32) {
        let job = self.job;
        for ((w, v), sum) in self.parameters.iter_mut().zip(&mut self.velocity).zip(noisy) {
            if job.decay != 0.0 {
                *w -= rate * job.decay * *w;
            }
            if job.momentum == 0.0 {
                *w -= rate * job.scale * sum;
            } else {
                *v = job.momentum * *v + job.scale * sum;
                *w -= rate * *v;
            }
        }
    }

    /// What the last model says of the probes.
    fn told(&self) -> Vec<f32> {
        let rounded = self.rounded();
        let of_probe = |probe: usize| {
            let z = self.first(self.job.first_probe as usize + probe, &rounded);
            if self.hidden() == 0 {
                return z;
            }
            let units: Vec<f32> = z.iter().map(|z| z.max(0.0)).collect();
            self.second(&units)
        };
        (0..self.job.probes as usize).flat_map(of_probe).collect()
    }
}

/// Parameters of a network before its first step, from integers of the noise crate. Those of a second layer begin with a new group of 32.
fn first_parameters(job: &Job, trainings: &Trainings<'_>, at: usize) -> Vec<f32> {
    let Trainings { entropy, run, trials, .. } = *trainings;
    let weights = (job.outer * job.inputs) as usize;
    let stands = weights.next_multiple_of(32);
    let last = if job.hidden > 0 { (job.outputs * job.hidden) as usize } else { 0 };
    let mut integers = vec![0; stands + last];
    vector::fill(&mut integers, &mut entropy.family(Purpose::Init, run, trials[at]).stream(0));
    let begun = |integer: &i32, worth: f64| job.initial_scale * ((worth * f64::from(*integer)) as f32);
    let mut parameters: Vec<f32> = integers[..weights].iter().map(|x| begun(x, job.start)).collect();
    parameters.resize(weights + job.outer as usize, 0.0);
    parameters.extend(integers[stands..].iter().map(|x| begun(x, job.start_last)));
    parameters.resize(job.parameters as usize, 0.0);
    parameters
}

/// Three signed bytes of a whole number, the lowest first.
fn digits(x: i32) -> [i32; 3] {
    let d0 = i32::from(x as i8);
    let x = (x - d0) >> 8;
    let d1 = i32::from(x as i8);
    [d0, d1, (x - d1) >> 8]
}

/// A sum over the eight rows of a warp.
fn over_rows(v: [f32; 8]) -> f32 {
    let pair = |r: usize| v[r] + v[r + 4];
    (pair(0) + pair(2)) + (pair(1) + pair(3))
}

/// A sum over up to sixteen outputs: the first eight, then the others.
fn over_outputs(v: &[f32]) -> f32 {
    let part = |from: usize| std::array::from_fn(|r| v.get(from + r).copied().unwrap_or(0.0));
    over_rows(part(0)) + over_rows(part(8))
}

/// The sum of squares over units.
fn of_units(v: &[f32]) -> f32 {
    let mut rows = [0f32; 8];
    for (unit, x) in v.iter().enumerate() {
        rows[unit % 8] = x.mul_add(*x, rows[unit % 8]);
    }
    over_rows(rows)
}

/// A product with a direction, as a warp adds it up.
fn along(direction: &[f32], sums: &[f32]) -> f32 {
    let mut lanes = [0f64; 32];
    for (at, (a, b)) in direction.iter().zip(sums).enumerate() {
        lanes[at % 32] = f64::from(*a).mul_add(f64::from(*b), lanes[at % 32]);
    }
    let mut by = 16;
    while by > 0 {
        lanes = std::array::from_fn(|lane| lanes[lane] + lanes[lane ^ by]);
        by /= 2;
    }
    lanes[0] as f32
}

/// As the kernels have it, digit for digit.
#[allow(clippy::excessive_precision, clippy::approx_constant)]
fn exponential(x: f32) -> f32 {
    const LOG2_E: f32 = 1.442_695_04;
    let x = x.max(-86.0);
    let shifted = x.mul_add(LOG2_E, 12_582_912.0);
    let n = shifted - 12_582_912.0;
    let f = x.mul_add(1.925_963_033e-8, x.mul_add(LOG2_E, -n));
    let p = [1.339_887_44e-3, 9.618_437_357e-3, 5.550_332_471e-2, 2.402_264_791e-1, 6.931_472_028e-1, 1.0];
    let p = p.into_iter().fold(1.535_336_188e-4, |sum: f32, next| f.mul_add(sum, next));
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// The slope of the loss by a single output.
fn slope(loss: i32, output: f32, label: f32) -> f32 {
    if loss == 2 {
        return output - label;
    }
    let is_positive = label.to_bits() == 1;
    let margin = if is_positive { output } else { -output };
    let small = exponential(-margin.abs());
    let miss = (if margin < 0.0 { 1.0 } else { small }) / (1.0 + small);
    if is_positive { -miss } else { miss }
}
