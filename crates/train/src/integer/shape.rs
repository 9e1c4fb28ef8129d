//! Which plans a device can train, and the numbers of a job that follow from the plan alone.

use super::job::{Job, MOST_HIDDEN, MOST_OUTPUTS, SHUFFLED};
use crate::{
    Averaging, CalibratedNoise, Clipping, Initial, Layer, Loss, Optimiser, Plan, Privacy, Sampling, Unit,
};
use veracity_core::Refusal;

/// Bits of a clipped gradient by an output, in fine units.
const FINE_BITS: i32 = 22;
/// Bits of a gradient in the last of two layers.
const LAST_BITS: i32 = 20;
/// The most records of a batch: sums of whole numbers stay below 2^31.
const MOST_RECORDS: usize = 2016;

/// The layers of a network that can be trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layers {
    /// Features of a record.
    pub inputs: usize,
    /// Outputs of the first layer.
    pub outer: usize,
    /// The same, where there is a second layer; else 0.
    pub hidden: usize,
    /// Outputs of the network.
    pub outputs: usize,
}

/// Refuses what only the CPU can train.
///
/// # Errors
/// Names what the device cannot train.
pub fn check(plan: &Plan) -> Result<(Layers, CalibratedNoise), Refusal> {
    let refuse = |what: String| Err(Refusal::Invalid(format!("{what}; train on the cpu")));
    let Privacy::Gaussian { noise, clip, clipping: Clipping::Flat } = &plan.privacy else {
        return refuse("a CUDA device supports only flat clipping with Gaussian noise".into());
    };
    let Optimiser::Sgd { .. } = plan.optimiser else {
        return refuse(format!(
            "a CUDA device supports only the optimizer sgd, and the plan has {}",
            plan.optimiser.name()
        ));
    };
    if plan.averaging != Averaging::default() || plan.views.is_some() || plan.unit != Unit::Record {
        return refuse(
            "a CUDA device does not support averaged parameters, views or protection of people".into(),
        );
    }
    match plan.sampling {
        Sampling::Poisson { .. } => drop(plan.sampling.gap_limits()?),
        Sampling::Shuffled { population, .. } if population.get() <= 1 << 16 => {}
        Sampling::Shuffled { .. } | Sampling::FixedSize { .. } => {
            return refuse(format!(
                "a CUDA device supports poisson batches, and shuffled batches of up to 65,536 records, but the plan has {} batches of {} records",
                plan.sampling.name(),
                plan.sampling.population().get()
            ));
        }
    }
    if matches!(plan.loss, Loss::Huber { .. }) {
        return refuse(
            "a CUDA device supports the losses softmax-cross-entropy, logistic and squared, but the plan has huber".into(),
        );
    }
    let layers = layers(plan)?;
    let calibrated = CalibratedNoise::gaussian(*noise, *clip, plan.network.parameters(), plan.rounding())?;
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
    if found.outputs <= MOST_OUTPUTS
        && found.hidden <= MOST_HIDDEN
        && found.outer != usize::MAX
        && inputs <= 1 << 14
    {
        return Ok(found);
    }
    Err(Refusal::Invalid(format!(
        "a CUDA device supports one linear layer of up to {MOST_OUTPUTS} outputs, or a linear layer of up to {MOST_HIDDEN} \
         outputs, relu and another linear layer; train on the cpu"
    )))
}

/// The most records of a batch for which there is room; hardly a batch in 10^15 is larger, by Chernoff's bound.
///
/// # Errors
/// Refuses batches of more than about 1,600 records.
pub fn room_for(plan: &Plan, positions: usize) -> Result<usize, Refusal> {
    let planned = plan.sampling.planned().get() as usize;
    let most = match plan.sampling {
        Sampling::Poisson { .. } => {
            let mean = plan.sampling.rate()?.get() * positions as f64;
            (mean + 8.0 * mean.sqrt() + 16.0).ceil() as usize
        }
        Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => planned,
    };
    let most = most.min(positions).max(1).next_multiple_of(32);
    if most <= MOST_RECORDS {
        return Ok(most);
    }
    Err(Refusal::out_of_range("batch size", planned, "at most about 1,600 records on a CUDA device"))
}

/// What follows from the plan.
pub fn job(plan: &Plan, layers: Layers, calibrated: &CalibratedNoise) -> Job {
    let clip = calibrated.clip_limit();
    let above = |x: f32| f64::from(x).log2().ceil() as i32;
    // By softmax, no gradient by an output is beyond 1.
    let slope =
        if layers.hidden == 0 && plan.loss == Loss::SoftmaxCrossEntropy { clip.min(1.0) } else { clip };
    let (per_fine, per_last) = (2f64.powi(FINE_BITS - above(slope)), 2f64.powi(LAST_BITS - above(clip)));
    let granularity = calibrated.granularity();
    let start =
        |inputs: usize| (2.0 / inputs as f64).sqrt() / f64::from(1u32 << veracity_noise::vector::UNIT_BITS);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Network, Shape};
    use veracity_core::ClipNorm;
    use veracity_testkit::short;

    fn plan(layers: Vec<Layer>) -> Plan {
        let count = |n| short::count(n);
        let privacy = Privacy::gaussian(short::noise(1.0), ClipNorm::new(1.0).unwrap());
        let network = Network::new(Shape::Flat(20), layers).unwrap();
        let sampling = Sampling::Poisson { batch: count(32), population: count(1000) };
        Plan::new(network, Loss::SoftmaxCrossEntropy, sampling, count(5), privacy)
    }

    fn linear(outputs: usize) -> Layer {
        Layer::Linear { outputs }
    }

    #[test]
    fn what_only_the_cpu_trains_is_refused_in_one_line() {
        assert!(check(&plan(vec![linear(10)])).is_ok());
        assert!(check(&plan(vec![linear(128), Layer::Relu, linear(10)])).is_ok());
        let fixed = Sampling::FixedSize { batch: short::count(32), population: short::count(1000) };
        let rare = Sampling::Poisson { batch: short::count(1), population: short::count(100_000) };
        let good = || plan(vec![linear(10)]);
        for refused in [
            plan(vec![linear(17)]),
            plan(vec![linear(129), Layer::Relu, linear(10)]),
            plan(vec![linear(5), Layer::Tanh, linear(10)]),
            plan(vec![linear(5), Layer::Relu, linear(5), Layer::Relu, linear(10)]),
            good().with_optimiser(Optimiser::Nesterov { momentum: 0.5 }),
            good().with_averaging(Averaging::Exponential { decay: 0.9 }),
            good().with_unit(Unit::Person),
            Plan { sampling: fixed, ..good() },
            Plan { sampling: rare, ..good() },
            Plan { privacy: Privacy::None, ..good() },
        ] {
            let told = check(&refused).unwrap_err().to_string();
            assert!(!told.contains('\n') && told.len() > 20, "{told}");
        }
    }

    #[test]
    fn there_is_room_for_batches_that_hardly_ever_come() {
        let plan = plan(vec![linear(10)]);
        let room = room_for(&plan, 1000).unwrap();
        assert!(room.is_multiple_of(32) && room >= 32 + 46, "{room}");
        assert_eq!((room_for(&plan, 40).unwrap(), room_for(&plan, 20_000).unwrap()), (32, 864));
        let large = Sampling::Poisson { batch: short::count(3000), population: short::count(9000) };
        assert!(room_for(&Plan { sampling: large, ..plan }, 9000).is_err());
    }

    #[test]
    fn fine_units_hold_whatever_was_clipped() {
        for (clip, loss) in
            [(1.0, Loss::SoftmaxCrossEntropy), (0.3, Loss::SoftmaxCrossEntropy), (70.0, Loss::Squared)]
        {
            let noise = short::noise(1.0);
            let privacy = Privacy::gaussian(noise, ClipNorm::new(clip).unwrap());
            let plan =
                Plan { privacy, loss, ..plan(vec![linear(if loss == Loss::Squared { 1 } else { 10 })]) };
            let (layers, calibrated) = check(&plan).unwrap();
            let job = job(&plan, layers, &calibrated);
            let most = if loss == Loss::Squared { clip } else { clip.min(1.0) };
            let units = f64::from(job.per_fine) * most;
            assert!((2f64.powi(FINE_BITS - 1)..=2f64.powi(FINE_BITS)).contains(&units), "{units}");
        }
    }
}
