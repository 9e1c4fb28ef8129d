//! Convex models by a plan: noise on the minimiser or on the objective, within the budget of the plan.
//!
//! A plan with `[model.convex]` is prepared as one with layers is: the budget, less what its features are charged, gives the
//! noise before a record is looked at. Then the records are bounded, the problem is minimised, and what is released is a
//! [`Model`] with its claim.

use super::{
    Model, Prediction, PrivacySpec, Protection, TrainingPlan,
    chain::{Chain, Learner},
    model::ModelCard,
    prepared::{PrivacyCost, composed, missing},
    settings::{self, shown, unused},
};
use serde::{Deserialize, Serialize};
use veracity_account::calibrate;
use veracity_account::claims::release_note::MODEL;
use veracity_account::claims::{ClaimFile, NoiseNote, ReleaseNote, spec::Whole};
use veracity_core::{Adjacency, ClipNorm};
use veracity_core::{Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose, vector};
use veracity_train::{
    Dataset, Labels,
    convex::{
        BoundedFeatures, ConvexLoss, Intercept, LinearModel, Manner, ObjectiveNoise, OutputNoise, Problem,
        Regularisation, RowBound, Softness, objective_perturbation, output_perturbation,
    },
};

/// `[model.convex]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvexSpec {
    /// `logistic` or `huber-svm` for classes, `ridge` for numbers.
    pub loss: String,
    /// Where the noise goes: `output` for the minimiser, `objective` for what is minimised.
    pub method: String,
    /// λ in mean loss + λ‖w‖²/2.
    pub regularisation: f64,
    /// The norm that no row exceeds, its intercept included; 1 if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm_bound: Option<f64>,
    /// What becomes of rows: `clip` those beyond the bound, or `normalise` all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// A constant beside the features; 0 for none, half the norm bound if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intercept: Option<f64>,
    /// Half the width of the curved part of a Huber hinge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softness: Option<f64>,
    /// How large labels may be, for ridge; 1 with `label_bounds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_bound: Option<f64>,
    /// Up to which size residuals are squared, for ridge; one that the minimiser never meets if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual_bound: Option<f64>,
}

/// Where noise goes and how much: what is drawn and what is accounted are one value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ConvexNoise {
    Output(OutputNoise),
    Objective(ObjectiveNoise),
}

/// A convex model that is ready to be released. Of the data, only their number was used.
#[derive(Debug)]
pub(crate) struct PreparedConvex {
    /// What it does to whose data and what that leaks; nothing without protection.
    pub cost: Option<PrivacyCost>,
    noise: Option<ConvexNoise>,
    spec: ConvexSpec,
    loss: ConvexLoss,
    population: Count,
    chain: Chain,
    card: ModelCard,
}

/// A convex model and what goes with it.
#[derive(Debug)]
pub(crate) struct ConvexRelease {
    /// The model.
    pub model: Model,
    /// Its claim; nothing without protection.
    pub claim: Option<ClaimFile>,
    /// The records as the model sees them.
    pub data: Dataset,
}

impl TrainingPlan {
    /// Finds the noise of a convex model within the budget.
    pub(crate) fn prepare_convex(
        &self,
        data: &Dataset,
        protection: Protection,
    ) -> Result<PreparedConvex, Refusal> {
        let spec = self.model().convex.clone().ok_or_else(|| {
            Refusal::invalid("the plan has layers; a convex model needs [model.convex] instead")
        })?;
        self.training().only_records()?;
        let loss = spec.loss(self.data().has_label_bounds()?)?;
        spec.suits(loss, data.labels())?;
        let population = self.training().population(data.len())?;
        let (chain, card) = (self.chain()?, ModelCard::new(self, data)?);
        // What can be refused without the accountant is refused before it is asked.
        spec.row_bound()?;
        Regularisation::new(spec.regularisation, population)?;
        let (noise, cost) = match protection {
            Protection::None => (None, None),
            Protection::Private => {
                let (noise, cost) = self.convex_noise(&spec, &chain)?;
                (Some(noise), Some(cost))
            }
        };
        Ok(PreparedConvex { cost, noise, spec, loss, population, chain, card })
    }

    fn convex_noise(&self, spec: &ConvexSpec, chain: &Chain) -> Result<(ConvexNoise, PrivacyCost), Refusal> {
        let privacy = self.privacy();
        let delta = Delta::new(privacy.delta.unwrap_or(0.0))?;
        let family = Family::new(spec, privacy, delta)?;
        let charges = chain.mechanisms(self.adjacency)?;
        let noise = match (privacy.epsilon, privacy.noise_multiplier, family) {
            (Some(_), Some(_), _) => {
                return Err(Refusal::invalid("epsilon and noise_multiplier are both given; give only one"));
            }
            (None, None, _) => return Err(missing("epsilon")),
            (None, Some(noise), Family::OutputGaussian) => {
                ConvexNoise::Output(OutputNoise::Gaussian { noise: NoiseMultiplier::new(noise)? })
            }
            (None, Some(_), _) => {
                return Err(Refusal::invalid(
                    "noise_multiplier can be used only with gaussian noise on the output; give epsilon instead",
                ));
            }
            (Some(epsilon), None, Family::OutputGaussian) => {
                self.least(family, &charges, Epsilon::new(epsilon)?, delta)?
            }
            // All of the budget, where nothing else is charged, except what the rounding of the accountant takes.
            (Some(epsilon), None, family) if charges.is_empty() => {
                family.spending(Epsilon::new(epsilon * (1.0 - 1e-12))?, delta)?
            }
            (Some(epsilon), None, family) => self.least(family, &charges, Epsilon::new(epsilon)?, delta)?,
        };
        Ok((noise, self.account(composed(&charges, noise.mechanism()), delta)?))
    }

    /// The least noise, or the largest ε, with which the whole is within the budget.
    fn least(
        &self,
        family: Family,
        charges: &[Mechanism],
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<ConvexNoise, Refusal> {
        // A δ of the model's own: half of it leaves room for what else is charged.
        let own = Delta::new(0.5 * delta.get())?;
        let noise = |noise: NoiseMultiplier| match family {
            Family::OutputGaussian => Ok(ConvexNoise::Output(OutputNoise::Gaussian { noise })),
            other => other.spending(Epsilon::new(1.0 / noise.get())?, own),
        };
        let mechanism = |multiplier| Ok(composed(charges, noise(multiplier)?.mechanism()));
        noise(calibrate::least_noise(&mechanism, self.adjacency, epsilon, delta)?)
    }
}

/// Method and kind of noise, before how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    OutputLaplace,
    OutputGaussian,
    ObjectiveLaplace,
    ObjectiveGaussian,
}

impl Family {
    fn new(spec: &ConvexSpec, privacy: &PrivacySpec, delta: Delta) -> Result<Family, Refusal> {
        privacy.without_clipping("[model.convex], which bounds rows and clips no gradients")?;
        let usual = if delta.get() > 0.0 { "gaussian" } else { "laplace" };
        let noise = privacy.noise.as_deref().unwrap_or(usual);
        if noise == "gaussian" && delta.get() == 0.0 {
            return Err(Refusal::out_of_range("delta", 0, "delta > 0 with gaussian noise"));
        }
        match (spec.method.as_str(), noise) {
            ("output", "laplace") => Ok(Family::OutputLaplace),
            ("output", "gaussian") => Ok(Family::OutputGaussian),
            ("objective", "laplace") => Ok(Family::ObjectiveLaplace),
            ("objective", "gaussian") => Ok(Family::ObjectiveGaussian),
            ("output" | "objective", other) => {
                Err(Refusal::out_of_range("noise", shown(other), "gaussian or laplace"))
            }
            (other, _) => Err(Refusal::out_of_range("method", shown(other), "output or objective")),
        }
    }

    /// The noise that spends so much.
    fn spending(self, epsilon: Epsilon, delta: Delta) -> Result<ConvexNoise, Refusal> {
        match self {
            Family::OutputLaplace => Ok(ConvexNoise::Output(OutputNoise::Laplace { epsilon })),
            Family::ObjectiveLaplace => Ok(ConvexNoise::Objective(ObjectiveNoise::Laplace { epsilon })),
            Family::ObjectiveGaussian => {
                Ok(ConvexNoise::Objective(ObjectiveNoise::Gaussian { epsilon, delta }))
            }
            Family::OutputGaussian => {
                Err(Refusal::invalid("gaussian noise on the output needs noise_multiplier, not epsilon"))
            }
        }
    }
}

impl ConvexNoise {
    /// What the accountant reads, as the release itself says it.
    fn mechanism(self) -> Mechanism {
        match self {
            ConvexNoise::Output(OutputNoise::Laplace { epsilon })
            | ConvexNoise::Objective(ObjectiveNoise::Laplace { epsilon }) => Mechanism::Pure { epsilon },
            ConvexNoise::Output(OutputNoise::Gaussian { noise }) => {
                Mechanism::Gaussian { noise_multiplier: noise }
            }
            ConvexNoise::Objective(ObjectiveNoise::Gaussian { epsilon, delta }) => {
                Mechanism::Approximate { epsilon, delta }
            }
        }
    }

    /// Its noise call as a claim lists it; choices of pure or approximate ε have none that is one sampler and one scale.
    fn note(self, granularity: f64) -> Option<NoiseNote> {
        let ConvexNoise::Output(OutputNoise::Gaussian { noise }) = self else { return None };
        let scale = (1u64 << vector::UNIT_BITS) as f64;
        Some(NoiseNote {
            place: "minimiser of a convex objective".to_owned(),
            sampler: "gaussian-vector".to_owned(),
            granularity,
            sensitivity: Whole((scale / noise.get()).ceil()),
            scale,
        })
    }
}

impl PreparedConvex {
    /// Learns what is charged, minimises and adds noise. Each call spends the budget anew.
    pub fn release(&self, data: Dataset, entropy: &Entropy) -> Result<ConvexRelease, Refusal> {
        let adjacency = self.cost.as_ref().map(|cost| cost.subject.adjacency);
        let learner = adjacency.map(|adjacency| Learner { entropy, population: self.population, adjacency });
        let (data, statistics) = self.chain.learn(data, learner.as_ref())?;
        let features = BoundedFeatures::new(&data, self.spec.row_bound()?);
        let regularisation = Regularisation::new(self.spec.regularisation, self.population)?;
        let problem = Problem::new(features, self.loss, regularisation)?;
        let (weights, granularity) = match (self.noise, adjacency) {
            (Some(noise), Some(adjacency)) => noisy(&problem, noise, adjacency, entropy)?,
            _ => (problem.without_privacy()?, 0.0),
        };
        let for_release = self.noise.is_some() && entropy.origin().is_releasable();
        let model = Model {
            card: ModelCard { for_release, ..self.card.clone() },
            // Rounding to single precision is done to what is released already.
            parameters: weights.weights().iter().map(|w| *w as f32).collect(),
            statistics,
        };
        if model.parameters.iter().any(|weight| !weight.is_finite()) {
            return Err(Refusal::invalid("weights are too large for a model file; use more regularisation"));
        }
        Ok(ConvexRelease { claim: self.claim(granularity, entropy)?, model, data })
    }

    fn claim(&self, granularity: f64, entropy: &Entropy) -> Result<Option<ClaimFile>, Refusal> {
        let (Some(PrivacyCost { subject, answer }), Some(noise)) = (&self.cost, self.noise) else {
            return Ok(None);
        };
        let mut notes = self.chain.notes()?;
        notes.extend(noise.note(granularity));
        let origin = entropy.origin();
        let note = ReleaseNote::new(MODEL, (origin, origin.is_releasable()), notes);
        Ok(Some(ClaimFile::new(subject, answer)?.with_release(note)))
    }

    /// How many bytes the file of the model takes, at most.
    pub(super) fn model_size(&self) -> Result<u64, Refusal> {
        self.card.file_size()
    }

    /// How many records the plan is for.
    pub fn population(&self) -> Count {
        self.population
    }
}

/// The released weights, and the grid they are on.
fn noisy(
    problem: &Problem<'_>,
    noise: ConvexNoise,
    adjacency: Adjacency,
    entropy: &Entropy,
) -> Result<(LinearModel, f64), Refusal> {
    let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key::default()));
    let released = match noise {
        ConvexNoise::Output(noise) => output_perturbation(problem, noise, adjacency, &mut rng)?,
        ConvexNoise::Objective(noise) => objective_perturbation(problem, noise, adjacency, &mut rng)?,
    };
    // What was drawn says for itself what it is; anything else would be accounted as what it is not.
    if released.mechanism != noise.mechanism() {
        return Err(Refusal::invalid(
            "internal error: the release used another mechanism than the one that was accounted for",
        ));
    }
    Ok((released.model, released.granularity))
}

impl ConvexSpec {
    /// Weights of one score for records of so many features.
    pub(super) fn dimension(&self, width: usize) -> usize {
        width + usize::from(self.intercept != Some(0.0))
    }

    fn row_bound(&self) -> Result<RowBound, Refusal> {
        let bound = ClipNorm::new(self.norm_bound.unwrap_or(1.0))?;
        let intercept = match self.intercept {
            Some(0.0) => Intercept::Absent,
            Some(constant) => Intercept::Constant(ClipNorm::new(constant)?),
            None => Intercept::Constant(ClipNorm::new(0.5 * bound.get())?),
        };
        let manner = match self.rows.as_deref().unwrap_or("clip") {
            "clip" => Manner::Clip,
            "normalise" => Manner::Normalise,
            other => return Err(Refusal::out_of_range("rows", shown(other), "clip or normalise")),
        };
        RowBound::new(bound, intercept, manner)
    }

    fn loss(&self, bounded_labels: bool) -> Result<ConvexLoss, Refusal> {
        let name = self.loss.as_str();
        unused(
            &[
                ("softness", name != "huber-svm" && self.softness.is_some()),
                ("label_bound", name != "ridge" && self.label_bound.is_some()),
                ("residual_bound", name != "ridge" && self.residual_bound.is_some()),
            ],
            &shown(name),
        )?;
        match name {
            "logistic" => Ok(ConvexLoss::Logistic),
            "huber-svm" => {
                Ok(ConvexLoss::HuberSvm { softness: Softness::new(self.softness.unwrap_or(0.5))? })
            }
            "ridge" => self.ridge(bounded_labels),
            other => Err(Refusal::out_of_range("loss", shown(other), "logistic, huber-svm or ridge")),
        }
    }

    fn ridge(&self, bounded_labels: bool) -> Result<ConvexLoss, Refusal> {
        let labels = match (self.label_bound, bounded_labels) {
            (Some(bound), _) => ClipNorm::new(bound)?,
            // Declared bounds bring labels onto [0, 1].
            (None, true) => ClipNorm::new(1.0)?,
            (None, false) => {
                return Err(settings::missing(
                    "label_bound",
                    "[model.convex], or add label_bounds to [data], for ridge",
                ));
            }
        };
        match self.residual_bound {
            Some(residual) => Ok(ConvexLoss::Squared { labels, residual: ClipNorm::new(residual)? }),
            None => ConvexLoss::ridge(labels, self.row_bound()?.bound(), self.regularisation),
        }
    }

    /// Refuses labels that are not the loss's before anything is computed.
    fn suits(&self, loss: ConvexLoss, labels: &Labels) -> Result<(), Refusal> {
        match (loss, labels) {
            (ConvexLoss::Squared { .. }, Labels::Classes { .. }) => {
                Err(Refusal::invalid("loss is ridge, but the labels are classes; use logistic or huber-svm"))
            }
            (ConvexLoss::Logistic | ConvexLoss::HuberSvm { .. }, Labels::Values(_)) => {
                Err(Refusal::invalid("loss is for classes, but the labels are numbers; use ridge"))
            }
            (ConvexLoss::Squared { .. }, Labels::Values(_))
            | (ConvexLoss::Logistic | ConvexLoss::HuberSvm { .. }, Labels::Classes { .. }) => Ok(()),
        }
    }

    /// What the model says of each record.
    pub(super) fn predict(&self, model: &Model, data: &Dataset) -> Result<Vec<Prediction>, Refusal> {
        let weights = model.parameters.iter().map(|w| f64::from(*w)).collect();
        let linear = LinearModel::from_weights(weights, model.card.data.scores()?, self.row_bound()?)?;
        Ok(match self.loss.as_str() {
            "ridge" => linear.scores(data)?.iter().map(|score| Prediction::Value(score[0] as f32)).collect(),
            _ => linear.classes(data)?.into_iter().map(Prediction::Class).collect(),
        })
    }
}
