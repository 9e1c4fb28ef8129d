//! From a plan and its budget to a run that is accounted for before its first step.

use super::{
    Model, PreparedConvex, TrainingPlan,
    chain::{Chain, Learner, Statistics},
    model::ModelCard,
};
use std::path::Path;
use veracity_account::calibrate;
use veracity_account::claims::release_note::MODEL;
use veracity_account::claims::{
    Answer, Choice, ClaimFile, NoiseNote, PersonsNote, ReleaseNote, Subject, Target, account, spec::Whole,
};
use veracity_core::{Count, Delta, Epsilon, Error, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Entropy, Origin};
use veracity_train::{
    Averaging, CalibratedNoise, Clipping, Dataset, Optimiser, Plan, Privacy, Run, Sampling, Unit,
};

/// Whether records are to be protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// As the plan says.
    Private,
    /// Not at all: for comparison, with nothing to claim.
    None,
}

/// A run that is ready to be made: its plan, and what it will cost. Of the data, only their number was used.
#[derive(Debug)]
pub struct PreparedRun {
    /// The plan with its noise.
    pub plan: Plan,
    /// What it does to whose data, and what that leaks; nothing without protection.
    pub cost: Option<Cost>,
    card: ModelCard,
    chain: Chain,
    /// The column that says whose each record is.
    person: Option<String>,
    fingerprint: u64,
}

/// Records as the first layer sees them, and what was learnt of them on the way.
#[derive(Debug)]
pub struct PreprocessedRecords {
    /// The records.
    pub data: Dataset,
    /// What was learnt.
    pub statistics: Statistics,
}

/// What a training leaks of whose data.
#[derive(Debug, Clone)]
pub struct PrivacyCost {
    /// What is done to whose data.
    pub subject: Subject,
    /// What that leaks.
    pub answer: Answer,
}

/// What a run does to whose data, and what that leaks.
#[derive(Debug, Clone)]
pub struct Cost {
    /// What is done.
    pub subject: Subject,
    /// What that leaks.
    pub answer: Answer,
    /// The noise multiplier of the steps.
    pub noise: NoiseMultiplier,
    /// The δ of the budget.
    pub delta: Delta,
    /// What is done to the records before the first step.
    pub charges: Vec<Mechanism>,
}

/// A training of either kind that is ready to be run. Of the data, only their number was used.
#[derive(Debug)]
pub(crate) enum PreparedTraining {
    /// To be minimized.
    Convex(Box<PreparedConvex>),
    /// To be trained step by step.
    Steps(Box<PreparedRun>),
}

impl PreparedTraining {
    /// What it does to whose data; nothing without protection.
    pub(crate) fn subject(&self) -> Option<&Subject> {
        match self {
            PreparedTraining::Convex(prepared) => prepared.cost.as_ref().map(|cost| &cost.subject),
            PreparedTraining::Steps(prepared) => prepared.cost.as_ref().map(|cost| &cost.subject),
        }
    }
}

/// Charges and then another mechanism, which may depend on what they gave.
pub(super) fn composed(charges: &[Mechanism], last: Mechanism) -> Mechanism {
    match charges {
        [] => last,
        _ => Mechanism::Composed(charges.iter().cloned().chain([last]).collect()),
    }
}

impl TrainingPlan {
    /// [`TrainingPlan::prepare`] or [`TrainingPlan::prepare_convex`], by the kind of the model.
    ///
    /// # Errors
    ///
    /// Returns the refusals of either.
    pub(crate) fn prepare_training(
        &self,
        data: &Dataset,
        protection: Protection,
    ) -> Result<PreparedTraining, Refusal> {
        Ok(match self.is_convex() {
            true => PreparedTraining::Convex(Box::new(self.prepare_convex(data, protection)?)),
            false => PreparedTraining::Steps(Box::new(self.prepare(data, protection)?)),
        })
    }

    /// Finds the least noise within the budget, or takes the noise that is given. What is charged before the first step is part
    /// of the budget.
    ///
    /// # Errors
    /// Refuses settings out of range, and a budget that no noise is certified for.
    pub fn prepare(&self, data: &Dataset, protection: Protection) -> Result<PreparedRun, Refusal> {
        let card = ModelCard::new(self, data)?;
        let fingerprint = self.fingerprint()?;
        let person = self.data().person().map(str::to_owned);
        // What can be refused without the accountant is refused before it is asked.
        let chain = self.chain()?;
        let bare = self.plan(data, None)?;
        // Features that come after a charged one may change the width; a run checks it again before its first step.
        if chain.width(data.width()) == data.width() {
            bare.check(data.into())?;
        }
        if protection == Protection::None {
            return Ok(PreparedRun { plan: bare, cost: None, card, chain, person, fingerprint });
        }
        let delta = Delta::new(self.privacy().delta.ok_or_else(|| missing("delta"))?)?;
        let charges = chain.mechanisms(self.adjacency)?;
        let noise = self.noise(data, delta, &charges)?;
        let plan = self.plan(data, Some(noise))?;
        if chain.width(data.width()) == data.width() {
            plan.check(data.into())?;
        }
        let mechanism = composed(&charges, plan.mechanism(self.adjacency)?);
        let PrivacyCost { subject, answer } = self.account(mechanism, delta)?;
        let cost = Some(Cost { subject, answer, noise, delta, charges });
        Ok(PreparedRun { plan, cost, card, chain, person, fingerprint })
    }

    /// What a mechanism leaks of whose data, if that is within the budget.
    pub(super) fn account(&self, mechanism: Mechanism, delta: Delta) -> Result<PrivacyCost, Refusal> {
        let subject = Subject { mechanism, adjacency: self.adjacency, unit: self.unit.clone() };
        let answer = account(&subject, Target::Delta(delta), Choice::Best)?;
        let within = |epsilon| answer.epsilon.upper().is_some_and(|upper| upper.0.get() <= epsilon);
        if self.privacy().epsilon.is_some_and(|epsilon| !within(epsilon)) {
            return Err(Refusal::invalid(
                "no noise is certified to satisfy this epsilon; use a larger epsilon",
            ));
        }
        Ok(PrivacyCost { subject, answer })
    }

    fn noise(&self, data: &Dataset, delta: Delta, charges: &[Mechanism]) -> Result<NoiseMultiplier, Refusal> {
        match (self.privacy().epsilon, self.privacy().noise_multiplier) {
            (Some(epsilon), None) => {
                let family = |noise| {
                    let training = self.plan(data, Some(noise))?.mechanism(self.adjacency)?;
                    Ok(composed(charges, training))
                };
                calibrate::least_noise(&family, self.adjacency, Epsilon::new(epsilon)?, delta)
            }
            (None, Some(0.0)) => {
                Err(Refusal::invalid("noise_multiplier is 0; use a number > 0, or train without protection"))
            }
            (None, Some(noise)) => NoiseMultiplier::new(noise),
            (Some(_), Some(_)) => {
                Err(Refusal::invalid("epsilon and noise_multiplier are both given; give only one"))
            }
            (None, None) => Err(missing("epsilon or noise_multiplier")),
        }
    }
}

pub(super) fn missing(word: &str) -> Refusal {
    Refusal::invalid(format!("{word} is missing; add it to [privacy], or train without protection"))
}

impl PreparedRun {
    /// Learns what is charged, and passes the records of [`TrainingPlan::records`] on to what the first layer sees. Each call spends
    /// the budget again.
    ///
    /// # Errors
    /// Refuses records that do not fit, and noise that cannot be calibrated.
    pub fn learn(&self, data: Dataset, entropy: &Entropy) -> Result<PreprocessedRecords, Refusal> {
        let learner = self.cost.as_ref().map(|cost| Learner {
            entropy,
            population: self.plan.sampling.population(),
            adjacency: cost.subject.adjacency,
        });
        let (data, statistics) = self.chain.learn(data, learner.as_ref())?;
        Ok(PreprocessedRecords { data, statistics })
    }

    /// The same with what was learnt before and kept in a file, for a run that is resumed.
    pub(crate) fn recall(&self, data: Dataset, path: &Path) -> Result<PreprocessedRecords, Error> {
        let statistics = match self.chain.is_charged() {
            true => Statistics::load(path, &self.chain, self.fingerprint)?,
            false => Statistics::default(),
        };
        Ok(PreprocessedRecords { data: self.chain.recall(data, &statistics)?, statistics })
    }

    /// Keeps what was learnt in a file, if anything was.
    pub(crate) fn keep(&self, statistics: &Statistics, path: &Path) -> Result<(), Error> {
        match statistics.is_empty() {
            true => Ok(()),
            false => statistics.save(path, &self.chain, self.fingerprint),
        }
    }

    /// What the first so many steps leak at the δ of the budget, with what was charged before them.
    pub(crate) fn epsilon_after(&self, steps: u64) -> Option<f64> {
        let cost = self.cost.as_ref()?;
        // Under shuffling, what is repeated is an epoch.
        let times = match self.plan.sampling {
            Sampling::Poisson { .. } | Sampling::FixedSize { .. } => steps,
            Sampling::Shuffled { .. } => steps.div_ceil(self.plan.sampling.steps_per_epoch()),
        };
        let training = self.plan.mechanism(cost.subject.adjacency).ok()?;
        let mechanism = composed(&cost.charges, shortened(&training, Count::new(times).ok()?)?);
        let subject = Subject { mechanism, ..cost.subject.clone() };
        let answer = account(&subject, Target::Delta(cost.delta), Choice::Best).ok()?;
        answer.epsilon.upper().map(|upper| upper.0.get())
    }

    /// The claim of a run with noise of this origin; nothing without protection.
    ///
    /// # Errors
    /// Refuses what a claim cannot hold.
    pub(crate) fn claim(&self, origin: Origin) -> Result<Option<ClaimFile>, Refusal> {
        let Some(cost) = &self.cost else { return Ok(None) };
        let noise = [self.chain.notes()?, vec![self.note()?]].concat();
        let note = ReleaseNote::new(MODEL, (origin, origin.is_releasable()), noise);
        let claim = ClaimFile::new(&cost.subject, &cost.answer)?.with_release(note);
        Ok(Some(match &self.person {
            Some(column) => claim.with_persons(PersonsNote::together(column)),
            None => claim,
        }))
    }

    fn note(&self) -> Result<NoiseNote, Refusal> {
        let (parameters, rounding) = (self.plan.network.parameters(), self.plan.rounding());
        let (sampler, noise, clip, calibrated) = match &self.plan.privacy {
            Privacy::Gaussian { noise, clip, .. } => (
                "gaussian-vector",
                *noise,
                *clip,
                CalibratedNoise::gaussian(*noise, *clip, parameters, rounding)?,
            ),
            Privacy::Laplace { noise, clip } => (
                "laplace-vector",
                *noise,
                *clip,
                CalibratedNoise::laplace(*noise, *clip, parameters, rounding)?,
            ),
            Privacy::None => return Err(Refusal::invalid("internal error: there is no noise to note")),
        };
        let steps = clip.get() / calibrated.granularity();
        // An adaptive clip norm takes its grid along, and its gradients get a little more noise than the step is charged for.
        let place = match &self.plan.privacy {
            Privacy::Gaussian { clipping: Clipping::Adaptive { .. }, .. } => {
                "sum of clipped gradients, first step; the clip norm then follows a noisy count"
            }
            _ => "sum of clipped gradients, each step",
        };
        let place = match self.plan.unit {
            Unit::Record => place.to_owned(),
            Unit::Person => format!("{place}; all records of one person are clipped together"),
        };
        Ok(NoiseNote {
            place,
            sampler: sampler.to_owned(),
            granularity: calibrated.granularity(),
            sensitivity: Whole(steps.ceil()),
            scale: noise.get() * steps,
        })
    }

    /// What a run has learnt, as it is handed over.
    pub(crate) fn model(&self, run: &Run<'_>, statistics: &Statistics) -> Model {
        Model {
            statistics: statistics.clone(),
            card: ModelCard { for_release: run.is_releasable(), ..self.card.clone() },
            parameters: run.model().parameters,
        }
    }

    /// How many bytes the file of the model takes, at most.
    pub(super) fn model_size(&self) -> Result<u64, Refusal> {
        self.card.file_size()
    }

    /// How many bytes the numbers of a saved run take.
    pub(super) fn state_size(&self) -> u64 {
        let memories = match self.plan.optimiser {
            Optimiser::Sgd { momentum: 0.0 } => 0,
            Optimiser::Sgd { .. } | Optimiser::Nesterov { .. } => 1,
            // Of Adam; no other has more.
            _ => 2,
        };
        let averages = u64::from(self.plan.averaging != Averaging::None);
        4 * (1 + memories + averages) * self.plan.network.parameters() as u64
    }

    /// A model of these parameters, for tests of what becomes of one.
    #[cfg(test)]
    pub(super) fn model_of(&self, parameters: Vec<f32>) -> Model {
        Model { statistics: Statistics::default(), card: self.card.clone(), parameters }
    }

    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// A mechanism after fewer steps: the count of its outermost repetition.
pub(crate) fn shortened(mechanism: &Mechanism, times: Count) -> Option<Mechanism> {
    match mechanism {
        Mechanism::Repeated { mechanism, .. } => Some((**mechanism).clone().repeated(times)),
        other => (times == Count::ONE).then(|| other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_account::claims::verify;
    use veracity_train::Draws;

    const MEAN: &str = "unit = \"record\"\n[data]\nformat = \"digits\"\n[model]\ninput = [1, 8, 8]\n\
         [[model.feature]]\nkind = \"unit-norm\"\nnorm = 1\n\
         [[model.feature]]\nkind = \"private-mean\"\nnoise_multiplier = 8\n\
         [[model.feature]]\nkind = \"fourier\"\ncount = 20\nbandwidth = 1\n\
         [[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
         [training]\nbatch_size = 256\nsteps = 8\nlearning_rate = 1\n\
         [privacy]\nepsilon = 3\ndelta = 1e-5\n";

    fn prepared(text: &str) -> (TrainingPlan, Dataset, PreparedRun) {
        let asked = TrainingPlan::parse(text, Path::new("")).unwrap();
        let data = asked.records().unwrap();
        let prepared = asked.prepare(&data, Protection::Private).unwrap();
        (asked, data, prepared)
    }

    #[test]
    fn what_is_charged_before_the_first_step_is_part_of_the_budget() {
        let (_, _, with) = prepared(MEAN);
        let free =
            MEAN.replace("kind = \"private-mean\"\nnoise_multiplier = 8", "kind = \"power\"\nexponent = 1");
        let (_, _, without) = prepared(&free);
        let [with_cost, without_cost] = [&with, &without].map(|one| one.cost.as_ref().unwrap());
        assert!(with_cost.noise > without_cost.noise, "the mean was given away");
        let upper = |cost: &Cost| cost.answer.epsilon.upper().unwrap().0.get();
        assert!(upper(with_cost) <= 3.0 && upper(with_cost) > 2.99, "{}", upper(with_cost));
        // The mean alone: a Gaussian of multiplier 8.
        let alone = Subject {
            mechanism: Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(8.0).unwrap() },
            ..with_cost.subject.clone()
        };
        let alone = account(&alone, Target::Delta(with_cost.delta), Choice::Best).unwrap();
        let after = [1, 4, 8].map(|steps| with.epsilon_after(steps).unwrap());
        assert!(alone.epsilon.lower().unwrap().0.get() < after[0], "{after:?}");
        assert!(after[0] < after[1] && after[1] < after[2]);
        assert!((after[2] - upper(with_cost)).abs() < 1e-9, "{after:?}");
    }

    #[test]
    fn a_claim_counts_the_mean_and_one_that_does_not_is_refused() {
        let (_, _, prepared) = prepared(MEAN);
        let provenance = crate::job::provenance("digits").unwrap();
        let claim = prepared.claim(Origin::System).unwrap().unwrap().of_model("00".repeat(32), &provenance);
        assert_eq!(claim.release.as_ref().unwrap().noise.len(), 2);
        let checked = verify(&claim.to_json().unwrap()).unwrap();
        assert_eq!(checked.failure(), None);
        // The same promise for a mean with a tenth of the noise.
        let false_claim =
            claim.to_json().unwrap().replace("\"noise_multiplier\": 8.0", "\"noise_multiplier\": 0.8");
        assert_ne!(false_claim, claim.to_json().unwrap());
        assert!(verify(&false_claim).unwrap().failure().is_some());
    }

    #[test]
    fn a_model_treats_other_records_as_it_did_those_it_learnt_from() {
        let (asked, data, prepared) = prepared(MEAN);
        let entropy = Entropy::seeded(1);
        let PreprocessedRecords { data: mapped, statistics } =
            prepared.learn(data.clone(), &entropy).unwrap();
        assert_eq!((mapped.width(), statistics.0.len(), statistics.0[0].len()), (20, 1, 64));
        let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
        let mut run = Run::new(&prepared.plan, &mapped, draws).unwrap();
        assert!(run.step().unwrap());
        let model = prepared.model(&run, &statistics);
        let room = std::env::temp_dir().join(format!("veracity-preparing-{}", std::process::id()));
        std::fs::create_dir_all(&room).unwrap();
        let path = room.join("model.safetensors");
        std::fs::write(&path, model.to_bytes().unwrap()).unwrap();
        let read = Model::read(&path).unwrap();
        assert_eq!(read, model);
        let raw = asked.data().records(Path::new("")).unwrap();
        assert_eq!(read.card.chain().unwrap().apply(raw, &read.statistics).unwrap(), mapped);
        // Kept and recalled it is the same; without noise it is another.
        prepared.keep(&statistics, &room.join("kept")).unwrap();
        let again = prepared.recall(data.clone(), &room.join("kept")).unwrap();
        assert_eq!((&again.data, &again.statistics), (&mapped, &statistics));
        let bare = asked.prepare(&data, Protection::None).unwrap();
        assert_ne!(bare.learn(data.clone(), &entropy).unwrap().statistics, statistics);
        let other = TrainingPlan::parse(&MEAN.replace("steps = 8", "steps = 9"), Path::new("")).unwrap();
        let other = other.prepare(&data, Protection::None).unwrap();
        let refused = other.recall(data, &room.join("kept")).unwrap_err().to_string();
        assert!(refused.contains("statistics of this plan"), "{refused}");
        std::fs::remove_dir_all(room).unwrap();
    }
}
