//! From a recipe and its budget to a run that is accounted for before its first step.

use super::{Model, Recipe, model::ModelCard};
use crate::{
    Answer, Choice, ClaimFile, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, NoiseNote, Refusal,
    ReleaseNote, Subject, Target, account, spec::Whole,
};
use veracity_account::calibrate;
use veracity_noise::Origin;
use veracity_train::{Calibrated, Clipping, Dataset, Plan, Privacy, Run, Sampling};

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
pub struct Prepared {
    /// The plan with its noise.
    pub plan: Plan,
    /// What it does to whose data, and what that leaks; nothing without protection.
    pub cost: Option<Cost>,
    card: ModelCard,
    fingerprint: u64,
}

/// What a run does to whose data, and what that leaks.
#[derive(Debug, Clone)]
pub struct Cost {
    /// What is done.
    pub subject: Subject,
    /// What that leaks.
    pub answer: Answer,
    /// The noise multiplier.
    pub noise: NoiseMultiplier,
    /// The δ of the budget.
    pub delta: Delta,
}

impl Recipe {
    /// Finds the least noise within the budget, or takes the noise that is given.
    pub fn prepare(&self, data: &Dataset, protection: Protection) -> Result<Prepared, Refusal> {
        let card = ModelCard::new(self, data)?;
        let fingerprint = self.fingerprint()?;
        // What can be refused without the accountant is refused before it is asked.
        let bare = self.plan(data, None)?;
        bare.check(data.into())?;
        if protection == Protection::None {
            return Ok(Prepared { plan: bare, cost: None, card, fingerprint });
        }
        let delta = Delta::new(self.privacy().delta.ok_or_else(|| missing("delta"))?)?;
        let noise = self.noise(data, delta)?;
        let plan = self.plan(data, Some(noise))?;
        plan.check(data.into())?;
        let subject = Subject {
            mechanism: plan.mechanism(self.adjacency)?,
            adjacency: self.adjacency,
            unit: self.unit.clone(),
        };
        let answer = account(&subject, Target::Delta(delta), Choice::Best)?;
        let within = |epsilon| answer.epsilon.upper().is_some_and(|upper| upper.0.get() <= epsilon);
        if self.privacy().epsilon.is_some_and(|epsilon| !within(epsilon)) {
            return Err(Refusal::NoAnswer(
                "no noise was certified within this epsilon, expected a larger epsilon".into(),
            ));
        }
        Ok(Prepared { plan, cost: Some(Cost { subject, answer, noise, delta }), card, fingerprint })
    }

    fn noise(&self, data: &Dataset, delta: Delta) -> Result<NoiseMultiplier, Refusal> {
        match (self.privacy().epsilon, self.privacy().noise_multiplier) {
            (Some(epsilon), None) => {
                let family = |noise| self.plan(data, Some(noise))?.mechanism(self.adjacency);
                calibrate::least_noise(&family, self.adjacency, Epsilon::new(epsilon)?, delta)
            }
            (None, Some(0.0)) => Err(Refusal::NoAnswer(
                "noise_multiplier is 0, expected noise > 0, or --non-private to train without any protection"
                    .into(),
            )),
            (None, Some(noise)) => NoiseMultiplier::new(noise),
            (Some(_), Some(_)) => Err(Refusal::NoAnswer(
                "epsilon is given together with noise_multiplier, expected one or the other".into(),
            )),
            (None, None) => Err(missing("epsilon or noise_multiplier")),
        }
    }
}

fn missing(word: &str) -> Refusal {
    Refusal::NoAnswer(format!("{word} is missing, expected it in [privacy], or --non-private"))
}

impl Prepared {
    /// What the first so many steps leak at the δ of the budget.
    pub fn epsilon_after(&self, steps: u64) -> Option<f64> {
        let cost = self.cost.as_ref()?;
        // Under shuffling, what is repeated is an epoch.
        let times = match self.plan.sampling {
            Sampling::Poisson { .. } | Sampling::FixedSize { .. } => steps,
            Sampling::Shuffled { .. } => steps.div_ceil(self.plan.sampling.steps_per_epoch()),
        };
        let mechanism = shortened(&cost.subject.mechanism, Count::new(times).ok()?)?;
        let subject = Subject { mechanism, ..cost.subject.clone() };
        let answer = account(&subject, Target::Delta(cost.delta), Choice::Best).ok()?;
        answer.epsilon.upper().map(|upper| upper.0.get())
    }

    /// The claim of a run with noise of this origin; nothing without protection.
    pub fn claim(&self, origin: Origin) -> Result<Option<ClaimFile>, Refusal> {
        let Some(cost) = &self.cost else { return Ok(None) };
        let note = ReleaseNote {
            statistic: "parameters of a trained model".to_owned(),
            entropy: origin.name().to_owned(),
            for_release: origin.is_releasable(),
            noise: vec![self.note()?],
        };
        Ok(Some(ClaimFile::new(&cost.subject, &cost.answer)?.with_release(note)))
    }

    fn note(&self) -> Result<NoiseNote, Refusal> {
        let (parameters, batch) = (self.plan.network.parameters(), self.plan.sampling.planned());
        let (sampler, noise, clip, calibrated) = match &self.plan.privacy {
            Privacy::Gaussian { noise, clip, .. } => {
                ("gaussian-vector", *noise, *clip, Calibrated::gaussian(*noise, *clip, parameters, batch)?)
            }
            Privacy::Laplace { noise, clip } => {
                ("laplace-vector", *noise, *clip, Calibrated::laplace(*noise, *clip, parameters, batch)?)
            }
            Privacy::None => return Err(Refusal::NoAnswer("there is no noise to note".into())),
        };
        let steps = clip.get() / calibrated.granularity();
        // An adaptive clip norm takes its grid along, and its gradients get a little more noise than the step is charged for.
        let place = match &self.plan.privacy {
            Privacy::Gaussian { clipping: Clipping::Adaptive { .. }, .. } => {
                "sum of clipped gradients, first step; the clip norm then follows a noisy count"
            }
            _ => "sum of clipped gradients, each step",
        };
        Ok(NoiseNote {
            place: place.to_owned(),
            sampler: sampler.to_owned(),
            granularity: calibrated.granularity(),
            sensitivity: Whole(steps.ceil()),
            scale: noise.get() * steps,
        })
    }

    /// What a run has learnt, as it is handed over.
    pub fn model(&self, run: &Run<'_>) -> Model {
        Model {
            card: ModelCard { for_release: run.is_releasable(), ..self.card.clone() },
            parameters: run.model().parameters,
        }
    }

    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// A mechanism after fewer steps: the count of its outermost repetition.
fn shortened(mechanism: &Mechanism, times: Count) -> Option<Mechanism> {
    match mechanism {
        Mechanism::Repeated { mechanism, .. } => Some((**mechanism).clone().repeated(times)),
        other => (times == Count::ONE).then(|| other.clone()),
    }
}
