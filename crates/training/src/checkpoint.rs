//! A saved run: all that is needed to resume it with the same bits, besides its plan and data.
//!
//! A checkpoint holds what came out of noise, and what ties it to its plan, its records and its entropy, so that it is not resumed
//! with others. Beside it, for system entropy, lies the key of the run (`run_key`), a secret, for as long as steps are left.
//! What was computed after a checkpoint was seen by nobody and comes out again bit by bit, so no step is charged twice.
//!
//! The order of things on disk, any of which may be the last before a crash:
//!
//! 1. the key, then a checkpoint before the first step: without a checkpoint there is nothing to resume, and nothing was done;
//! 2. checkpoints, each whole or not at all;
//! 3. a checkpoint after the last step, then the key is destroyed: from here on nothing is drawn any more;
//! 4. the claim, the model and the report get their names (`out_folder`); then the checkpoint goes. Resumed between these, the
//!    same files are written once more.

use super::{
    PreparedRun, run_key,
    tensors::{Tensor, Tensors},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use veracity_core::Error;
use veracity_core::files::saving::{Staged, remove};
use veracity_noise::{Entropy, Key, Origin, Purpose};
use veracity_train::{Dataset, Labels, State};

/// The schema of the card in a checkpoint's metadata.
const SCHEMA: &str = "veracity.checkpoint/2";
/// Under which word the card is in the metadata.
const CARD: &str = "veracity-checkpoint";
/// The file of a checkpoint.
pub(super) const FILE: &str = "checkpoint.safetensors";
/// The tensors, in their order.
const PARTS: [&str; 4] = ["parameters", "first", "second", "average"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    schema: String,
    /// Another version may draw or add otherwise.
    version: String,
    /// Marks, as text: JSON numbers end at 2^53.
    plan: String,
    entropy: String,
    data: String,
    origin: String,
    step: u64,
    /// The bits of the clip norm, which may be infinite.
    clip: String,
}

/// The place of one run's checkpoints, tied to its plan, records and entropy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checkpoint {
    place: PathBuf,
    key: PathBuf,
    plan: String,
    marks: Marks,
    origin: Origin,
}

/// A run that was saved.
#[derive(Debug)]
pub(crate) struct SavedRun {
    /// Where it was.
    pub state: State,
    /// What its steps are drawn from.
    pub entropy: Entropy,
    /// Where it is saved again; nothing where no step is left.
    pub checkpoint: Option<Checkpoint>,
}

impl Checkpoint {
    /// Begins anew in a folder: what was saved there is gone, the key is kept, and the run is saved before its first
    /// step. Where that fails, nothing is left.
    pub fn begin(
        folder: &Path,
        (prepared, data): (&PreparedRun, &Dataset),
        entropy: &Entropy,
        first: &State,
    ) -> Result<Checkpoint, Error> {
        Checkpoint::clear(folder)?;
        let checkpoint = Checkpoint::of(folder, prepared, Marks::new(entropy, data), entropy.origin());
        match entropy.origin() {
            Origin::System => run_key::keep(&checkpoint.key, entropy)?,
            // Whoever has the seed can give it again.
            Origin::Seeded => {}
        }
        match checkpoint.save(first) {
            Ok(()) => Ok(checkpoint),
            Err(refusal) => Checkpoint::clear(folder).and(Err(refusal)),
        }
    }

    fn of(folder: &Path, prepared: &PreparedRun, marks: Marks, origin: Origin) -> Checkpoint {
        let [place, key] = places(folder);
        Checkpoint { place, key, plan: plan_mark(prepared), marks, origin }
    }

    /// Saves a state, whole or not at all.
    pub fn save(&self, state: &State) -> Result<(), Error> {
        let card = Card {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan: self.plan.clone(),
            entropy: self.marks.entropy.clone(),
            data: self.marks.data.clone(),
            origin: self.origin.name().to_owned(),
            step: state.step,
            clip: hex(state.clip.to_bits()),
        };
        let card = serde_json::to_string(&card)
            .map_err(|error| Error::invalid(format!("checkpoint cannot be written: {error}")))?;
        let parts = [&state.parameters, &state.first, &state.second, &state.average];
        let tensors = PARTS.iter().zip(parts).map(|(name, values)| Tensor {
            name: (*name).to_owned(),
            shape: vec![values.len()],
            values: values.clone(),
        });
        let file = Tensors { about: BTreeMap::from([(CARD.to_owned(), card)]), tensors: tensors.collect() };
        // What is there is this run's: it was cleared, or read, before.
        Staged::new("checkpoint", &self.place, &file.to_bytes())?.settle()
    }

    /// Saves the state after the last step, and destroys the key: nothing is drawn any more.
    pub fn seal(&self, last: &State) -> Result<(), Error> {
        self.save(last)?;
        run_key::destroy(&self.key)
    }

    /// Resumes what was saved in a folder; refused when it is of another plan, other records or another entropy.
    pub fn resume(
        folder: &Path,
        (prepared, data): (&PreparedRun, &Dataset),
        seed: Option<u64>,
    ) -> Result<SavedRun, Error> {
        let [place, key] = places(folder);
        let refuse = |why: &str| Error::invalid(format!("checkpoint is {}, expected {why}", place.display()));
        let (card, state) = read(&place)?;
        if card.plan != plan_mark(prepared) {
            return Err(refuse(
                "a checkpoint of this plan, found one of another plan; resume with the plan that the run started with",
            ));
        }
        let ended = card.step == prepared.plan.steps.get();
        let entropy = match (card.origin == Origin::Seeded.name(), seed) {
            (true, Some(seed)) => Entropy::seeded(seed),
            (true, None) => {
                return Err(refuse(
                    "a checkpoint of an unseeded run, found one of a seeded run; resume with its seed",
                ));
            }
            (false, Some(_)) => {
                return Err(refuse(
                    "a checkpoint of a seeded run, found one of an unseeded run; resume without a seed",
                ));
            }
            (false, None) => match run_key::find(&key) {
                Ok(Some(entropy)) => entropy,
                // All is drawn, the key was destroyed as it should be, and no record is looked at any more.
                Ok(None) | Err(_) if ended => {
                    return Ok(SavedRun { state, entropy: Entropy::system()?, checkpoint: None });
                }
                Ok(None) => {
                    return Err(refuse(&format!(
                        "its key in {}, found none; start the run again from the beginning",
                        key.display()
                    )));
                }
                Err(refusal) => return Err(refusal),
            },
        };
        let marks = Marks::new(&entropy, data);
        if card.entropy != marks.entropy {
            return Err(refuse(
                "a checkpoint of this key or seed, found one of another; resume with the key or seed that the run started with",
            ));
        }
        if card.data != marks.data {
            return Err(refuse(
                "a checkpoint of these records, found one of others; resume with the data that the run started with",
            ));
        }
        if card.version != env!("CARGO_PKG_VERSION") && !ended {
            return Err(refuse(
                "a checkpoint of this version, found one of another; resume with the version that the run started with",
            ));
        }
        let checkpoint = Some(Checkpoint::of(folder, prepared, marks, entropy.origin()));
        Ok(SavedRun { state, entropy, checkpoint })
    }

    /// Removes what was saved in a folder, if anything was. The checkpoint goes first: a key alone is of no use.
    pub fn clear(folder: &Path) -> Result<(), Error> {
        let [place, key] = places(folder);
        remove("checkpoint", &place, is_one)?;
        run_key::destroy(&key)
    }
}

/// Where the checkpoint and the key are.
fn places(folder: &Path) -> [PathBuf; 2] {
    [folder.join(FILE), folder.join(run_key::FILE)]
}

/// Whether a file is a checkpoint of ours.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    Tensors::parse(bytes).is_ok_and(|found| {
        found.about.get(CARD).is_some_and(|card| serde_json::from_str::<Card>(card).is_ok())
    })
}

fn read(path: &Path) -> Result<(Card, State), Error> {
    let damaged = || {
        let place = path.display();
        Error::invalid(format!("checkpoint is {place}, expected a checkpoint that veracity wrote"))
    };
    let found = Tensors::read("checkpoint", path)?;
    let card = found.about.get(CARD).ok_or_else(damaged)?;
    let card: Card = serde_json::from_str(card).map_err(|_| damaged())?;
    let clip = u64::from_str_radix(&card.clip, 16).map(f64::from_bits).map_err(|_| damaged())?;
    let known = [Origin::System, Origin::Seeded].iter().any(|origin| origin.name() == card.origin);
    if card.schema != SCHEMA || clip.is_nan() || !known {
        return Err(damaged());
    }
    let mut parts: BTreeMap<String, Vec<f32>> =
        found.tensors.into_iter().map(|tensor| (tensor.name, tensor.values)).collect();
    let mut take = |name: &str| parts.remove(name).ok_or_else(damaged);
    let [parameters, first, second, average] = PARTS.map(&mut take);
    let state = State {
        step: card.step,
        parameters: parameters?,
        first: first?,
        second: second?,
        average: average?,
        clip,
    };
    Ok((card, state))
}

/// What a claim follows from: the plan's words, the noise that was found for them, and the number of records.
fn plan_mark(prepared: &PreparedRun) -> String {
    // Another accountant may find another noise.
    let noise = prepared.cost.as_ref().map_or(0, |cost| cost.noise.get().to_bits());
    let words =
        [prepared.fingerprint(), noise, prepared.plan.sampling.population().get(), prepared.plan.steps.get()];
    hex(fingerprint(words.iter().flat_map(|word| word.to_le_bytes())))
}

/// What ties a checkpoint to its entropy and its records, and tells nothing of either.
#[derive(Debug, Clone, PartialEq)]
struct Marks {
    entropy: String,
    data: String,
}

impl Marks {
    /// Both come from a stream that nothing else draws from. The first is its first words. The second is a polynomial of the
    /// records at two secret points, under a one-time pad: without the key it is plain noise, so that a checkpoint does not let
    /// those who know all records but one try what the last may be.
    ///
    /// # Reference  [WegmanCarter81]
    /// # Promise    Other records share a mark with a chance of at most (words/2^61)²
    fn new(entropy: &Entropy, data: &Dataset) -> Marks {
        let mut stream = entropy.stream(Purpose::Checkpoint, Key::default());
        let mut mark = || hex(stream.word()) + &hex(stream.word());
        let entropy = mark();
        let [at, at_too, pad, pad_too] = [(); 4].map(|()| stream.word() % PRIME);
        let sums = records(data).fold((0, 0), |(one, two), word| {
            (
                reduce(u128::from(one) * u128::from(at) + u128::from(word)),
                reduce(u128::from(two) * u128::from(at_too) + u128::from(word)),
            )
        });
        let data = hex((sums.0 + pad) % PRIME) + &hex((sums.1 + pad_too) % PRIME);
        Marks { entropy, data }
    }
}

/// 2^61 − 1.
const PRIME: u64 = (1 << 61) - 1;

/// A number below 2^123 modulo [`PRIME`].
fn reduce(x: u128) -> u64 {
    let folded = (x & u128::from(PRIME)) as u64 + (x >> 61) as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

/// The records as words: their shape first, so that no two datasets have the same words, and one added to each, so that
/// leading zeros count.
fn records(data: &Dataset) -> impl Iterator<Item = u64> + '_ {
    let (classes, labels): (u64, Box<dyn Iterator<Item = u64> + '_>) = match data.labels() {
        Labels::Classes { of, classes } => {
            (*classes as u64, Box::new(of.iter().map(|class| u64::from(*class))))
        }
        Labels::Values(values) => (0, Box::new(values.iter().map(|value| u64::from(value.to_bits())))),
    };
    let features = (0..data.len()).flat_map(|at| data.row(at)).map(|value| u64::from(value.to_bits()));
    let people = data.people().into_iter().flat_map(|people| people.sizes().map(|size| size as u64));
    [data.len() as u64, data.width() as u64, classes, data.units() as u64]
        .into_iter()
        .chain(people)
        .chain(features)
        .chain(labels)
        .map(|word| word + 1)
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// A number that other bytes hardly share by accident: FNV-1a. It is no protection from those who try.
pub(super) fn fingerprint(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn data(features: [f32; 4], of: Vec<u32>) -> Dataset {
        Dataset::new(features.to_vec(), 2, Labels::Classes { of, classes: 3 }).unwrap()
    }

    #[test]
    fn marks_tell_records_and_roots_apart_and_nothing_else() {
        let base = || data([0.0, 1.0, 2.0, 3.0], vec![0, 1]);
        let mark = |seed, data: &Dataset| Marks::new(&Entropy::seeded(seed), data);
        let first = mark(1, &base());
        assert_eq!(first, mark(1, &base()));
        for other in [
            data([-0.0, 1.0, 2.0, 3.0], vec![0, 1]),
            data([1.0, 0.0, 2.0, 3.0], vec![0, 1]),
            data([0.0, 1.0, 2.0, 3.0], vec![1, 0]),
            data([0.0, 1.0, 2.0, 3.0], vec![0, 2]),
        ] {
            assert_ne!(mark(1, &other).data, first.data);
            assert_eq!(mark(1, &other).entropy, first.entropy);
        }
        assert_ne!(mark(2, &base()).entropy, first.entropy);
        // Under another root, the same records have another mark: it cannot be looked up.
        assert_ne!(mark(2, &base()).data, first.data);
    }

    #[test]
    fn sums_stay_below_the_prime() {
        let most = u128::from(PRIME - 1) * u128::from(PRIME - 1) + u128::from(u64::MAX >> 3);
        for x in [0, 1, u128::from(PRIME), u128::from(PRIME) + 1, most] {
            assert_eq!(u128::from(reduce(x)), x % u128::from(PRIME));
        }
    }
}
