//! Which plans a device can train, and the numbers of a job that follow from the plan alone.

use crate::job::{Job, MOST_HIDDEN, MOST_OUTPUTS, SHUFFLED};
use veracity_core::Refusal;
use veracity_train::{
    Averaging, Calibrated, Clipping, Initial, Layer, Loss, Optimiser, Plan, Privacy, Sampling, Unit,
};

/// Bits of a clipped gradient by an output, in fine units.
const FINE_BITS: i32 = 22;
/// Bits of a gradient in the last of two layers.
const LAST_BITS: i32 = 20;
/// The most records of a batch: sums of whole numbers stay below 2^31.
const MOST_RECORDS: usize = 2016;

/// The layers of a network that can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layers {
    pub inputs: usize,
    /// Outputs of the first layer.
    pub outer: usize,
    /// The same, where there is a second layer; else 0.
    pub hidden: usize,
    pub outputs: usize,
}

/// Refuses what only the CPU can train.
pub(crate) fn check(plan: &Plan) -> Result<(Layers, Calibrated), Refusal> {
    let refuse = |what: String| Err(Refusal::Invalid(format!("{what}; train it on the cpu")));
    let Privacy::Gaussian { noise, clip, clipping: Clipping::Flat } = &plan.privacy else {
        return refuse("privacy is not that of flat clipping with Gaussian noise, which is all that a CUDA device trains".into());
    };
    let Optimiser::Sgd { .. } = plan.optimiser else {
        return refuse(format!("optimiser is {}, and a CUDA device has sgd alone", plan.optimiser.name()));
    };
    if plan.averaging != Averaging::default() || plan.views.is_some() || plan.unit != Unit::Record {
        return refuse("the plan averages parameters, shows several views or protects people, which a CUDA device does not".into());
    }
    match plan.sampling {
        Sampling::Poisson { .. } => drop(plan.sampling.gap_limits()?),
        Sampling::Shuffled { population, .. } if population.get() <= 1 << 16 => {}
        Sampling::Shuffled { .. } | Sampling::FixedSize { .. } => {
            return refuse(format!(
                "batches are {} of {} records, and a CUDA device draws poisson ones, or shuffled ones of up to 65,536 records",
                plan.sampling.name(),
                plan.sampling.population().get()
            ));
        }
    }
    if matches!(plan.loss, Loss::Huber { .. }) {
        return refuse("the loss is huber, and a CUDA device has softmax-cross-entropy, logistic and squared".into());
    }
    let layers = layers(plan)?;
    let calibrated = Calibrated::gaussian(*noise, *clip, plan.network.parameters(), plan.rounding())?;
    Ok((layers, calibrated))
}

fn layers(plan: &Plan) -> Result<Layers, Refusal> {
    let inputs = plan.network.input().size();
    let real: Vec<&Layer> =
        plan.network.layers().iter().filter(|layer| !matches!(layer, Layer::Flatten)).collect();
    let found = match real[..] {
        [Layer::Linear { outputs }] => Layers { inputs, outer: *outputs, hidden: 0, outputs: *outputs },
        [Layer::Linear { outputs: hidden }, Layer::Relu, Layer::Linear { outputs }] => {
            Layers { inputs, outer: *hidden, hidden: *hidden, outputs: *outputs }
        }
        _ => Layers { inputs, outer: usize::MAX, hidden: 0, outputs: 0 },
    };
    if found.outputs <= MOST_OUTPUTS && found.hidden <= MOST_HIDDEN && found.outer != usize::MAX && inputs <= 1 << 14 {
        return Ok(found);
    }
    Err(Refusal::Invalid(format!(
        "the network is none that a CUDA device trains, expected a linear layer of up to {MOST_OUTPUTS} outputs, or one of up to \
         {MOST_HIDDEN}, relu and another; train it on the cpu"
    )))
}

/// The most records of a batch for which there is room; hardly a batch in 10^20 is larger.
pub(crate) fn room_for(plan: &Plan, positions: usize) -> Result<usize, Refusal> {
    let planned = plan.sampling.planned().get() as usize;
    let most = match plan.sampling {
        Sampling::Poisson { .. } => {
            let mean = plan.sampling.rate()?.get() * positions as f64;
            (mean + 10.0 * mean.sqrt() + 32.0).ceil() as usize
        }
        Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => planned,
    };
    let most = most.min(positions).max(1).next_multiple_of(32);
    if most <= MOST_RECORDS {
        return Ok(most);
    }
    Err(Refusal::out_of_range("batch size", planned, "batches of up to about 1,600 records on a CUDA device"))
}

/// What follows from the plan.
pub(crate) fn job(plan: &Plan, layers: Layers, calibrated: &Calibrated) -> Job {
    let clip = calibrated.clip_limit();
    let above = |x: f32| f64::from(x).log2().ceil() as i32;
    // By softmax, no gradient by an output is beyond 1.
    let slope = if layers.hidden == 0 && plan.loss == Loss::SoftmaxCrossEntropy { clip.min(1.0) } else { clip };
    let (per_fine, per_last) = (2f64.powi(FINE_BITS - above(slope)), 2f64.powi(LAST_BITS - above(clip)));
    let granularity = calibrated.granularity();
    let start = |inputs: usize| (2.0 / inputs as f64).sqrt() / f64::from(1u32 << veracity_noise::vector::UNIT_BITS);
    Job {
        steps: plan.steps.get() as i32,
        inputs: layers.inputs as i32,
        width: layers.inputs.next_multiple_of(64) as i32,
        outer: layers.outer as i32,
        hidden: layers.hidden as i32,
        outputs: layers.outputs as i32,
        parameters: plan.network.parameters() as i32,
        loss: match plan.loss {
            Loss::SoftmaxCrossEntropy => 0,
            Loss::Logistic => 1,
            Loss::Squared | Loss::Huber { .. } => 2,
        },
        batches: match plan.sampling {
            Sampling::Poisson { .. } if plan.sampling.rate().is_ok_and(|rate| rate.get() >= 1.0) => 0,
            Sampling::Poisson { .. } => 1,
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => SHUFFLED,
        },
        batch: plan.sampling.planned().get() as i32,
        clip,
        per_fine: per_fine as f32,
        per_last: per_last as f32,
        scale: 1.0 / plan.sampling.planned().as_f64() as f32,
        momentum: match plan.optimiser {
            Optimiser::Sgd { momentum } => momentum,
            _ => 0.0,
        },
        decay: plan.weight_decay,
        initial_scale: match plan.initial {
            Initial::Random { scale } => scale,
            _ => 1.0,
        },
        fine_bias_steps: 1.0 / (per_fine * granularity),
        last_steps: 1.0 / (per_last * granularity),
        granularity,
        start: start(layers.inputs),
        start_last: start(layers.hidden.max(1)),
        ..Job::default()
    }
}
