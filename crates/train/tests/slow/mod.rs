//! The private step by its definition, in doubles and with every gradient written out; and the same with a mistake planted.

use veracity_core::{Adjacency, ClipNorm, Count, NoiseMultiplier};
use veracity_noise::{Bits, Call, Distance, Entropy, Key, Purpose, Tape, vector};
use veracity_train::{replay::Recorded, *};

const INPUTS: usize = 3;
const HIDDEN: usize = 4;
const CLASSES: usize = 2;
const STEPS: u64 = 3;
/// Where the second layer's parameters begin.
const SECOND: usize = (INPUTS + 1) * HIDDEN;
const PARAMETERS: usize = SECOND + (HIDDEN + 1) * CLASSES;
const NOISE: f64 = 1.0;

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    None,
    NoClip,
    ClipAfterSum,
    PerLayerClaimedAsFlat,
    ReplacementClaimedAsRemoval,
    KeepsWhatIsNotFinite,
    DividesByRealisedBatch,
    SkipsEmptyBatches,
    ReusesNoise,
}

/// A record, or the blank that takes its place.
pub type Record = Option<([f32; INPUTS], usize)>;

pub struct Problem {
    pub records: Vec<Record>,
    other: Record,
    start: Vec<f32>,
    clip: f64,
}

impl Problem {
    pub fn new(trial: u64, mutant: Mutant) -> Problem {
        let mut rng = Entropy::seeded(77).stream(Purpose::Attack, Key { trial, ..Key::default() });
        let mut uniform = move || rng.bits(24) as f32 / (1 << 23) as f32 - 1.0;
        let mut record =
            || Some(([uniform() * 5.0, uniform() * 5.0, uniform() * 5.0], (uniform() > 0.0) as usize));
        // A batch that can be empty has one record.
        let count = if mutant == Mutant::SkipsEmptyBatches { 1 } else { 12 };
        let mut records: Vec<Record> = (0..count).map(|_| record()).collect();
        let other = record();
        if mutant == Mutant::KeepsWhatIsNotFinite {
            records[0] = Some(([3e38; INPUTS], 0));
        }
        let mut rng = Entropy::seeded(78).stream(Purpose::Attack, Key { trial, ..Key::default() });
        let start = (0..PARAMETERS).map(|_| rng.bits(24) as f32 / (1 << 23) as f32 - 1.0).collect();
        Problem { records, other, start, clip: 0.5 }
    }

    /// The first record blanked or replaced.
    pub fn neighbour(&self, adjacency: Adjacency) -> Vec<Record> {
        let mut records = self.records.clone();
        records[0] = if adjacency == Adjacency::ReplaceOne { self.other } else { None };
        records
    }

    /// The same for the library; all records are in every batch.
    pub fn plan(&self) -> Plan {
        let n = Count::new(self.records.len() as u64).unwrap();
        let layers = vec![Layer::Linear { outputs: HIDDEN }, Layer::Relu, Layer::Linear { outputs: CLASSES }];
        Plan::new(
            Network::new(Shape::Flat(INPUTS), layers).unwrap(),
            Loss::SoftmaxCrossEntropy,
            Sampling::Poisson { batch: n, population: n },
            Count::new(STEPS).unwrap(),
            Privacy::Gaussian {
                noise: NoiseMultiplier::new(NOISE).unwrap(),
                clip: ClipNorm::new(self.clip).unwrap(),
                clipping: Clipping::Flat,
            },
            Optimiser::Sgd { momentum: 0.0 },
            Schedule::Constant { rate: 0.1 },
        )
    }

    pub fn dataset(&self) -> Dataset {
        let records = || self.records.iter().flatten();
        let of = records().map(|(_, class)| *class as u32).collect();
        let features = records().flat_map(|(features, _)| *features).collect();
        Dataset::new(features, INPUTS, Labels::Classes { of, classes: CLASSES }).unwrap()
    }

    /// The same from the parameters with which a plan begins.
    pub fn from(&self, plan: &Plan, draws: Draws<'_>) -> Problem {
        let start = plan
            .network
            .initialise(&mut draws.entropy.family(Purpose::Init, draws.run, draws.trial).stream(0));
        Problem { records: self.records.clone(), start, ..*self }
    }

    fn calibrated(&self) -> Calibrated {
        let (noise, clip) = (NoiseMultiplier::new(NOISE).unwrap(), ClipNorm::new(self.clip).unwrap());
        let planned = Count::new(self.records.len() as u64).unwrap();
        Calibrated::gaussian(noise, clip, PARAMETERS, planned).unwrap()
    }

    /// A run, or a replay of a script.
    pub fn run(
        &self,
        records: &[Record],
        mutant: Mutant,
        adjacency: Adjacency,
        script: Option<&Tape>,
    ) -> Recorded {
        let (noise, family) = (self.calibrated(), Entropy::seeded(79).family(Purpose::Noise, 0, 0));
        let step_size = noise.granularity();
        let contributions =
            if mutant == Mutant::ReplacementClaimedAsRemoval { 1 } else { adjacency.contributions() };
        let declared = f64::from(contributions) * noise.clip() / step_size;
        let declared = Distance::L2Squared((declared * declared) as u128);
        let (mut w, mut tape) = (self.start.clone(), Tape::default());
        for step in 0..STEPS {
            let batch = records.iter().flatten();
            let realised = batch.clone().count();
            if mutant == Mutant::SkipsEmptyBatches && realised == 0 {
                continue;
            }
            let sum = self.clipped_sum(batch, &w, f64::from(noise.room()), mutant);
            let place = |x: &f64| if x.is_nan() { 0 } else { (x / step_size).round_ties_even() as i128 };
            let input: Vec<i128> = sum.iter().map(place).collect();
            let mut drawn = vec![0; PARAMETERS];
            let stream = if mutant == Mutant::ReusesNoise { 0 } else { step };
            vector::fill(&mut drawn, &mut family.stream(stream));
            let fresh = || input.iter().zip(&drawn).map(|(x, k)| x + i128::from(*k)).collect();
            let scripted = script.and_then(|script| script.calls.get(tape.calls.len()));
            let output: Vec<i128> = scripted.map_or_else(fresh, |call| call.output.clone());
            let divisor = match mutant {
                Mutant::DividesByRealisedBatch => realised as f32,
                _ => self.records.len() as f32,
            };
            for (w, said) in w.iter_mut().zip(&output) {
                *w -= 0.1 * (1.0 / divisor) * (step_size * *said as f64) as f32;
            }
            tape.calls.push(Call { place: "gradient", declared, input, output });
        }
        Recorded { tape, parameters: w }
    }

    fn clipped_sum<'a>(
        &self,
        batch: impl Iterator<Item = &'a ([f32; INPUTS], usize)>,
        w: &[f32],
        room: f64,
        mutant: Mutant,
    ) -> Vec<f64> {
        let norm = |part: &[f64]| part.iter().map(|x| x * x).sum::<f64>().sqrt();
        let shorten = |part: &mut [f64]| {
            let factor = (room / norm(part)).min(1.0);
            part.iter_mut().for_each(|x| *x *= factor);
        };
        let mut sum = vec![0.0; PARAMETERS];
        for (features, class) in batch {
            let mut g = gradient(features, *class, w);
            let is_finite = (norm(&g) as f32).powi(2).is_finite();
            match mutant {
                Mutant::KeepsWhatIsNotFinite => {
                    let factor = (room as f32 / norm(&g) as f32).min(1.0);
                    g.iter_mut().for_each(|x| *x = f64::from(*x as f32 * factor));
                }
                _ if !is_finite => continue,
                Mutant::NoClip | Mutant::ClipAfterSum => {}
                Mutant::PerLayerClaimedAsFlat => {
                    let (first, second) = g.split_at_mut(SECOND);
                    shorten(first);
                    shorten(second);
                }
                _ => shorten(&mut g),
            }
            sum.iter_mut().zip(&g).for_each(|(total, x)| *total += x);
        }
        if mutant == Mutant::ClipAfterSum {
            // To as long as a sum of clipped ones could be.
            let most = room * self.records.len() as f64;
            let factor = (most / norm(&sum)).min(1.0);
            sum.iter_mut().for_each(|x| *x *= factor);
        }
        sum
    }
}

/// Where a layer keeps the weight from an input to an output, among so many of each.
#[derive(Clone, Copy)]
struct Layout {
    /// Whether the weights of one output are side by side.
    by_output: bool,
}

impl Layout {
    /// Asked of the library: the second of 2 × 3 weights leads from the second input to the first output, or from the first
    /// to the second.
    fn of_library() -> Layout {
        let network = Network::new(Shape::Flat(2), vec![Layer::Linear { outputs: 3 }]).unwrap();
        let mut parameters = vec![0.0; network.parameters()];
        parameters[1] = 1.0;
        let probe = Dataset::new(vec![1.0, 10.0], 2, Labels::Values(vec![0.0])).unwrap();
        let outputs = cohort::predict(&network, &parameters, &probe).unwrap();
        match outputs[..] {
            [10.0, 0.0, 0.0] => Layout { by_output: true },
            [0.0, 1.0, 0.0] => Layout { by_output: false },
            _ => panic!("{outputs:?}"),
        }
    }

    fn place(self, input: usize, output: usize, inputs: usize, outputs: usize) -> usize {
        if self.by_output { output * inputs + input } else { input * outputs + output }
    }
}

/// One example's gradient for linear–relu–linear with softmax cross-entropy: weights, then biases, layer by layer.
fn gradient(features: &[f32; INPUTS], class: usize, w: &[f32]) -> Vec<f64> {
    let layout = Layout::of_library();
    let first = |i, j| layout.place(i, j, INPUTS, HIDDEN);
    let second = |j, k| layout.place(j, k, HIDDEN, CLASSES);
    let w: Vec<f64> = w.iter().map(|w| f64::from(*w)).collect();
    let x = features.map(f64::from);
    let (one, two) = w.split_at(SECOND);
    let hidden: Vec<f64> = (0..HIDDEN)
        .map(|j| (0..INPUTS).map(|i| x[i] * one[first(i, j)]).sum::<f64>() + one[INPUTS * HIDDEN + j])
        .collect();
    let active: Vec<f64> = hidden.iter().map(|h| h.max(0.0)).collect();
    let output: Vec<f64> = (0..CLASSES)
        .map(|k| (0..HIDDEN).map(|j| active[j] * two[second(j, k)]).sum::<f64>() + two[HIDDEN * CLASSES + k])
        .collect();
    let largest = output.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = output.iter().map(|o| (o - largest).exp()).sum();
    let slope: Vec<f64> =
        (0..CLASSES).map(|k| (output[k] - largest).exp() / total - f64::from(u8::from(k == class))).collect();
    let mut g = vec![0.0; PARAMETERS];
    let (one_gradient, two_gradient) = g.split_at_mut(SECOND);
    for j in 0..HIDDEN {
        let whole: f64 = (0..CLASSES).map(|k| slope[k] * two[second(j, k)]).sum();
        let back = if hidden[j] > 0.0 { whole } else { 0.0 };
        (0..INPUTS).for_each(|i| one_gradient[first(i, j)] = x[i] * back);
        one_gradient[INPUTS * HIDDEN + j] = back;
        (0..CLASSES).for_each(|k| two_gradient[second(j, k)] = active[j] * slope[k]);
    }
    two_gradient[HIDDEN * CLASSES..].copy_from_slice(&slope);
    g
}
