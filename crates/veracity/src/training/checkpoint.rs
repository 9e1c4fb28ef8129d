//! A run laid aside: all that is needed to take it up again, besides its plan, data and entropy.
//!
//! It holds what came out of noise, and fingerprints of plan and data, so that it is not taken up with others. The fingerprint
//! of the data is that of private records: a checkpoint is not for release.
//!
//! With a seed, a run goes on with the same bits. System entropy is never saved, so there the steps that are left draw anew: what
//! comes out has the law of a run that was never stopped, and is charged as one. What was computed after the checkpoint was seen
//! by nobody. Taking up one checkpoint twice is two releases, as training twice is; a claim speaks of one.

use super::{
    Prepared,
    saving::write_whole,
    tensors::{Tensor, Tensors},
};
use crate::{Origin, Refusal};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};
use veracity_train::{Dataset, Labels, Sampling, State};

/// The schema of the card in a checkpoint's metadata.
const SCHEMA: &str = "veracity.checkpoint/1";
/// Under which word the card is in the metadata.
const CARD: &str = "veracity-checkpoint";
/// The tensors, in their order.
const PARTS: [&str; 4] = ["parameters", "first", "second", "average"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    schema: String,
    /// Fingerprints, as text: JSON numbers end at 2^53.
    plan: String,
    data: String,
    origin: String,
    step: u64,
    /// The bits of the clip norm, which may be infinite.
    clip: String,
}

/// Ties states to one plan, one dataset and one kind of entropy.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    plan: String,
    data: String,
    origin: Origin,
    sampling: Sampling,
}

impl Checkpoint {
    /// For a prepared run on these records.
    pub fn new(prepared: &Prepared, data: &Dataset, origin: Origin) -> Checkpoint {
        // The noise was found from the plan; another accountant may find another.
        let noise = prepared.cost.as_ref().map_or(0, |cost| cost.noise.get().to_bits());
        let plan = prepared.fingerprint().to_le_bytes().into_iter().chain(noise.to_le_bytes());
        let (plan, data) = (hex(fingerprint(plan)), hex(of_records(data)));
        Checkpoint { plan, data, origin, sampling: prepared.plan.sampling }
    }

    /// Lays a state aside, whole or not at all.
    pub fn save(&self, path: &Path, state: &State) -> Result<(), Refusal> {
        let card = Card {
            schema: SCHEMA.to_owned(),
            plan: self.plan.clone(),
            data: self.data.clone(),
            origin: self.origin.name().to_owned(),
            step: state.step,
            clip: hex(state.clip.to_bits()),
        };
        let card = serde_json::to_string(&card)
            .map_err(|error| Refusal::NoAnswer(format!("checkpoint cannot be written: {error}")))?;
        let parts = [&state.parameters, &state.first, &state.second, &state.average];
        let tensors = PARTS.iter().zip(parts).map(|(name, values)| Tensor {
            name: (*name).to_owned(),
            shape: vec![values.len()],
            values: values.clone(),
        });
        let file = Tensors { about: BTreeMap::from([(CARD.to_owned(), card)]), tensors: tensors.collect() };
        write_whole("checkpoint", path, &file.to_bytes())
    }

    /// Takes a state up again; refused when it is of another plan, other records or another kind of entropy.
    pub fn load(&self, path: &Path) -> Result<State, Refusal> {
        let refuse =
            |why: &str| Refusal::NoAnswer(format!("checkpoint is {}, expected {why}", path.display()));
        let found = Tensors::read("checkpoint", path)?;
        let damaged = || refuse("a checkpoint that veracity wrote");
        let card = found.about.get(CARD).ok_or_else(damaged)?;
        let card: Card = serde_json::from_str(card).map_err(|_| damaged())?;
        let clip = u64::from_str_radix(&card.clip, 16).map(f64::from_bits).map_err(|_| damaged())?;
        if card.schema != SCHEMA || clip.is_nan() {
            return Err(damaged());
        }
        if card.plan != self.plan {
            return Err(refuse(
                "one of this plan, found that of another: resume with the plan it began with",
            ));
        }
        if card.data != self.data {
            return Err(refuse(
                "one of these records, found that of others: resume with the data it began with",
            ));
        }
        if card.origin != self.origin.name() {
            return Err(refuse("one drawn from the same kind of entropy, found another"));
        }
        if !self.may_go_on(card.step) {
            return Err(refuse(
                "one between two epochs: a new order within an epoch could show a record twice, which is not accounted for",
            ));
        }
        let mut parts: BTreeMap<String, Vec<f32>> =
            found.tensors.into_iter().map(|tensor| (tensor.name, tensor.values)).collect();
        let mut take = |name: &str| parts.remove(name).ok_or_else(damaged);
        let [parameters, first, second, average] = PARTS.map(&mut take);
        Ok(State {
            step: card.step,
            parameters: parameters?,
            first: first?,
            second: second?,
            average: average?,
            clip,
        })
    }

    /// Whether the steps that are left may draw what the steps before did not.
    fn may_go_on(&self, step: u64) -> bool {
        match (self.origin, self.sampling) {
            (Origin::Seeded, _) | (_, Sampling::Poisson { .. } | Sampling::FixedSize { .. }) => true,
            (Origin::System, Sampling::Shuffled { .. }) => {
                step.is_multiple_of(self.sampling.steps_per_epoch())
            }
        }
    }
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// A number that other bytes hardly share by accident: FNV-1a. It is no protection from those who try.
pub(super) fn fingerprint(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// As [`fingerprint`], word by word: records are many.
fn of_records(data: &Dataset) -> u64 {
    let mix = |hash: u64, word: u32| (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let mut hash = (0..data.len()).fold(data.width() as u64, |hash, at| {
        data.row(at).iter().fold(hash, |hash, value| mix(hash, value.to_bits()))
    });
    match data.labels() {
        Labels::Classes { of, classes } => {
            hash = of.iter().fold(hash ^ *classes as u64, |hash, class| mix(hash, *class));
        }
        Labels::Values(values) => {
            hash = values.iter().fold(hash, |hash, value| mix(hash, value.to_bits()));
        }
    }
    hash
}
