//! Which record is planted, what stands in its place in the other world, and from where training starts.

use super::final_model::PlantedCanaries;
use serde::{Deserialize, Serialize};
use veracity_audit::Canary;
use veracity_core::Adjacency;
use veracity_core::Refusal;
use veracity_noise::Entropy;
use veracity_train::{Dataset, Labels, Plan, Privacy, Sampling, Schedule, cohort};

/// How long a canary along the least direction is, as in the published attack.
const LENGTH: f32 = 10.0;
/// The side of a backdoor's patch.
const PATCH: usize = 5;
/// What models draw from that only the attacker trains; nothing that is counted draws from it.
const ATTACKER: u64 = 0x61_74_74_61_63_6b;

/// Which record is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CanaryKind {
    /// The last record itself: is it a member?
    Member,
    /// A record without features.
    Blank,
    /// The last record with another class.
    Mislabelled,
    /// A checkerboard.
    Checkerboard,
    /// The last record with a bright patch, and another class.
    Backdoor,
    /// A record where the others vary least, with the class that a model finds least likely there.
    #[serde(rename = "clip-bkd")]
    LeastDirection,
}

impl CanaryKind {
    /// All kinds that a search tries.
    pub const ALL: [CanaryKind; 6] = [
        CanaryKind::Member,
        CanaryKind::Blank,
        CanaryKind::Mislabelled,
        CanaryKind::Checkerboard,
        CanaryKind::Backdoor,
        CanaryKind::LeastDirection,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CanaryKind::Member => "member",
            CanaryKind::Blank => "blank",
            CanaryKind::Mislabelled => "mislabelled",
            CanaryKind::Checkerboard => "checkerboard",
            CanaryKind::Backdoor => "backdoor",
            CanaryKind::LeastDirection => "clip-bkd",
        }
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            CanaryKind::Member => "a record of the data",
            CanaryKind::Blank => "a record without features",
            CanaryKind::Mislabelled => "a record with a wrong class",
            CanaryKind::Checkerboard => "a checkerboard",
            CanaryKind::Backdoor => "a record with a patch and a wrong class",
            CanaryKind::LeastDirection => {
                "a record along the direction in which the others vary least (ClipBKD)"
            }
        }
    }
}

/// The records that both worlds share, and what is planted behind them.
///
/// Under replace-one, and where the number of records is part of the mechanism, a canary takes the place of the last record;
/// what stands there without it is that record, or for ClipBKD the same features with another class, as published. Otherwise a
/// canary is one record more. `bare` is the plan without noise.
pub(super) fn plant(
    bare: &Plan,
    data: &Dataset,
    kind: CanaryKind,
    copies: usize,
    adjacency: Adjacency,
    sampling: Sampling,
) -> Result<(Dataset, PlantedCanaries), Refusal> {
    let Labels::Classes { of, classes } = data.labels() else {
        return Err(Refusal::invalid("the labels are numbers, but this attack needs classes"));
    };
    if copies == 0 || copies + 2 > data.len() {
        return Err(Refusal::out_of_range(
            "copies",
            copies,
            "at least 1, and fewer than the number of records",
        ));
    }
    let classes = *classes as u32;
    let last = data.len() - 1;
    let (features, class) = (data.row(last), of[last]);
    let width = image_width(data.width());
    let canary = match kind {
        CanaryKind::Member => Canary { features: features.to_vec(), class },
        CanaryKind::Blank => Canary::blank(data.width(), class),
        CanaryKind::Mislabelled => Canary::mislabelled(features, class, classes),
        CanaryKind::Checkerboard => Canary::checkerboard(data.width() / width, width, class),
        CanaryKind::Backdoor => Canary::patched(features, width, PATCH.min(width), (class + 1) % classes),
        CanaryKind::LeastDirection => {
            let rows: Vec<f32> = (0..data.len()).flat_map(|at| data.row(at)).copied().collect();
            let canary = Canary::least_direction(&rows, data.width(), LENGTH, 0)?;
            Canary { class: least_likely(bare, data, &canary.features)?, ..canary }
        }
    };
    let replaces =
        matches!(adjacency, Adjacency::ReplaceOne) || !matches!(sampling, Sampling::Poisson { .. });
    let leaves = if replaces || kind == CanaryKind::Member { copies } else { 0 };
    let base = part(data, 0..data.len() - leaves)?;
    let inside = repeated(&canary, copies, classes)?;
    let outside = match (adjacency, kind) {
        (Adjacency::ReplaceOne, CanaryKind::LeastDirection) => {
            let other = Canary { class: (canary.class + 1) % classes, ..canary };
            Some(repeated(&other, copies, classes)?)
        }
        (Adjacency::ReplaceOne, CanaryKind::Member) => {
            return Err(Refusal::invalid(
                "a member canary needs add-remove or zero-out adjacency; choose another canary for replace-one",
            ));
        }
        (Adjacency::ReplaceOne, _) => Some(part(data, data.len() - copies..data.len())?),
        (Adjacency::AddRemove | Adjacency::ZeroOut, _) => None,
    };
    Ok((base, PlantedCanaries { inside, outside, copies }))
}

/// The class that a model without privacy finds least likely for a record.
fn least_likely(bare: &Plan, data: &Dataset, features: &[f32]) -> Result<u32, Refusal> {
    let parameters = train_noiseless(bare, data)?;
    let record = Dataset::new(features.to_vec(), features.len(), first_label(data)?)?;
    let outputs = cohort::predict(&bare.network, &parameters, &record)?;
    if let [output] = outputs[..] {
        return Ok(u32::from(output < 0.0));
    }
    let least = (0..outputs.len()).min_by(|a, b| outputs[*a].total_cmp(&outputs[*b]));
    Ok(least.unwrap_or(0) as u32)
}

/// The parameters of a model trained without privacy.
fn train_noiseless(bare: &Plan, data: &Dataset) -> Result<Vec<f32>, Refusal> {
    let mut trained = cohort::train(bare, data, &Entropy::seeded(ATTACKER), 0, 0..1)?;
    Ok(trained.swap_remove(0).parameters)
}

/// Initial parameters at which the records have little left to teach, and at which the canary is as wrong as it can be and
/// stays so to the end, so that each step shows all of its clip norm. The latter is done for a single linear layer, where it
/// can be told what a record teaches; deeper networks start from the former alone.
pub(super) fn worst_start(
    plan: &Plan,
    bare: &Plan,
    data: &Dataset,
    canaries: &Dataset,
) -> Result<Vec<f32>, Refusal> {
    let mut parameters = train_noiseless(bare, data)?;
    let (inputs, outputs) = (plan.network.input().size(), plan.network.output().size());
    let Labels::Classes { of, .. } = canaries.labels() else { return Ok(parameters) };
    if parameters.len() != outputs * (inputs + 1) || outputs < 2 {
        return Ok(parameters);
    }
    let (clip, noise) = match &plan.privacy {
        Privacy::Gaussian { clip, noise, .. } | Privacy::Laplace { clip, noise } => (clip.get(), noise.get()),
        Privacy::None => return Ok(parameters),
    };
    let rate = match plan.schedule {
        Schedule::Constant { rate }
        | Schedule::Warmup { rate, .. }
        | Schedule::Cosine { rate, .. }
        | Schedule::StepDecay { rate, .. } => f64::from(rate),
    };
    let features = canaries.row(0);
    let square: f64 = features.iter().map(|x| f64::from(*x).powi(2)).sum();
    if square == 0.0 {
        return Ok(parameters);
    }
    let (class, other) = (of[0] as usize, (of[0] as usize + 1) % outputs);
    // How far its margin can come, with room for noise and momentum.
    let steps = plan.steps.as_f64();
    let drift = rate * clip * square.sqrt() / plan.sampling.planned().as_f64()
        * (steps * canaries.len() as f64 + 8.0 * noise * steps.sqrt());
    let behind = (20.0 + 20.0 * drift) / square;
    for (at, x) in features.iter().enumerate() {
        parameters[class * inputs + at] -= (behind * f64::from(*x)) as f32;
        parameters[other * inputs + at] += (behind * f64::from(*x)) as f32;
    }
    Ok(parameters)
}

fn image_width(features: usize) -> usize {
    let side = features.isqrt();
    if side * side == features { side } else { features }
}

fn first_label(data: &Dataset) -> Result<Labels, Refusal> {
    Ok(part(data, 0..1)?.labels().clone())
}

fn repeated(canary: &Canary, copies: usize, classes: u32) -> Result<Dataset, Refusal> {
    let labels = Labels::Classes { of: vec![canary.class; copies], classes: classes as usize };
    Dataset::new(canary.features.repeat(copies), canary.features.len(), labels)
}

/// Some records of a dataset.
pub(super) fn part(data: &Dataset, kept: std::ops::Range<usize>) -> Result<Dataset, Refusal> {
    let features = kept.clone().flat_map(|at| data.row(at)).copied().collect();
    let labels = match data.labels() {
        Labels::Classes { of, classes } => {
            Labels::Classes { of: of[kept.clone()].to_vec(), classes: *classes }
        }
        Labels::Values(values) => Labels::Values(values[kept.clone()].to_vec()),
    };
    Dataset::new(features, data.width(), labels)
}
