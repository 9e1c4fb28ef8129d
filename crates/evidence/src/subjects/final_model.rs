//! Training attacked from without: records planted in the data, and an attacker who is given the last model.
//!
//! Each canary is a record (or several copies of one) that is in or not, or there in one of two forms; the attacker asks the
//! model about it and scores the answer.

use serde::{Deserialize, Serialize};
use veracity_audit::{AuditSubject, Failure, World, observe};
use veracity_core::Error;
use veracity_noise::Entropy;
use veracity_train::{Dataset, Draws, Labels, cohort, cohort::Cohort};

/// The run whose models are shadows: none of its trials is ever counted.
const SHADOWS: u64 = 1;

/// How a model's answer about a canary becomes a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scoring {
    /// The lower the loss, the more it speaks for "in": the classic membership test.
    ///
    /// # Reference  [YeomEtAl18]
    Loss,
    /// How far the label's output is above the best other one, less the same of an empty record where asked for. Unlike the
    /// loss it does not flatten out where the model is sure.
    Margin {
        /// Whether what the model says of an empty record is taken off.
        against_blank: bool,
    },
    /// The margin, weighed by what shadow models in both worlds say of this very canary.
    ///
    /// # Reference  [CarliniEtAl22], with one pair of normal laws for each canary
    LikelihoodRatio {
        /// Shadow models.
        shadows: u64,
    },
}

impl Scoring {
    /// What is read of the model, in words.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Scoring::Loss => "the last model's loss on it",
            Scoring::Margin { .. } => "the last model's margin on it",
            Scoring::LikelihoodRatio { .. } => "its likelihood ratio, from shadow models",
        }
    }
}

/// What is planted: one record for each canary and copy, canary by canary.
#[derive(Debug, Clone, PartialEq)]
pub struct Planted {
    /// The records of canaries that are in.
    pub inside: Dataset,
    /// What stands in their places when they are out; blanks when there is nothing here.
    pub outside: Option<Dataset>,
    /// Records of each canary.
    pub copies: usize,
}

/// A plan, its records, what is planted in them, and how the last model is asked.
#[derive(Debug)]
pub struct FinalModel {
    cohort: Cohort,
    data: Dataset,
    planted: Planted,
    /// The first copy of each canary, which the model is asked about.
    probes: Dataset,
    blank: Option<Dataset>,
    scoring: Scoring,
    laws: Vec<Laws>,
    entropy: Entropy,
}

/// The normal laws of a canary's margin in both worlds.
#[derive(Debug, Clone, Copy)]
struct Laws {
    inside: (f64, f64),
    outside: (f64, f64),
}

impl FinalModel {
    /// Plants records behind those of `data`.
    pub fn new(
        cohort: Cohort,
        data: Dataset,
        planted: Planted,
        scoring: Scoring,
        seed: u64,
    ) -> Result<FinalModel, Error> {
        let copies = planted.copies;
        if copies == 0 || planted.inside.is_empty() || !planted.inside.len().is_multiple_of(copies) {
            return Err(Error::out_of_range("copies", copies, "a divisor of the number of planted records"));
        }
        if !matches!(planted.inside.labels(), Labels::Classes { .. }) {
            return Err(Error::invalid("planted records have numbers for labels, expected classes"));
        }
        let probes = every(&planted.inside, copies)?;
        let blank = match scoring {
            Scoring::Margin { against_blank: true } => {
                let zeros = vec![0.0; probes.width() * probes.len()];
                Some(Dataset::new(zeros, probes.width(), probes.labels().clone())?)
            }
            Scoring::Margin { .. } | Scoring::Loss | Scoring::LikelihoodRatio { .. } => None,
        };
        let entropy = Entropy::seeded(seed);
        let mut subject =
            FinalModel { cohort, data, planted, probes, blank, scoring, laws: Vec::new(), entropy };
        if let Scoring::LikelihoodRatio { shadows } = scoring {
            subject.laws = subject.learn(shadows, seed)?;
        }
        Ok(subject)
    }

    /// The margins of all canaries after one training.
    fn margins(&self, run: u64, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Error> {
        let is_in: Vec<bool> = worlds
            .iter()
            .flat_map(|world| std::iter::repeat_n(*world == World::In, self.planted.copies))
            .collect();
        let world = veracity_train::World::from(&self.data).planting(
            &is_in,
            &self.planted.inside,
            self.planted.outside.as_ref(),
        )?;
        let mut training = self.cohort.begin(world, Draws { entropy: &self.entropy, run, trial })?;
        while training.step()? {}
        let parameters = training.model().parameters;
        let ask = |records: &Dataset| cohort::predict(&self.cohort.plan().network, &parameters, records);
        let outputs = ask(&self.probes)?;
        let score = |outputs: &[f32], at: usize| match self.scoring {
            Scoring::Loss => -loss(outputs, self.class(at)),
            Scoring::Margin { .. } | Scoring::LikelihoodRatio { .. } => margin(outputs, self.class(at)),
        };
        let width = outputs.len() / worlds.len();
        let mut scores: Vec<f64> =
            outputs.chunks_exact(width).enumerate().map(|(at, row)| score(row, at)).collect();
        if let Some(blank) = &self.blank {
            for (at, row) in ask(blank)?.chunks_exact(width).enumerate() {
                scores[at] -= margin(row, self.class(at));
            }
        }
        Ok(scores)
    }

    fn class(&self, canary: usize) -> usize {
        match self.probes.labels() {
            Labels::Classes { of, .. } => of[canary] as usize,
            Labels::Values(_) => 0,
        }
    }

    /// What shadow models say of each canary in both worlds.
    fn learn(&self, shadows: u64, seed: u64) -> Result<Vec<Laws>, Error> {
        let mut seen = vec![(Vec::new(), Vec::new()); self.probes.len()];
        let trials: Vec<u64> = (0..shadows).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // Worlds of shadows have a seed of their own, so that they are no copy of the trials'.
        for outcome in observe(&Shadow(self), !seed, &trials, threads) {
            if let Some(failure) = outcome.failure {
                return Err(Error::invalid(format!("a shadow model failed: {failure}")));
            }
            for told in outcome.observations {
                let seen = &mut seen[told.canary as usize];
                match told.world {
                    World::In => seen.0.push(told.counted()),
                    World::Out => seen.1.push(told.counted()),
                }
            }
        }
        if seen.iter().any(|(inside, outside)| inside.len() < 2 || outside.len() < 2) {
            return Err(Error::out_of_range("shadows", shadows, "enough for two in each world"));
        }
        Ok(seen
            .iter()
            .map(|(inside, outside)| Laws { inside: normal_law(inside), outside: normal_law(outside) })
            .collect())
    }
}

/// The same training with other draws, scored by the margin.
struct Shadow<'a>(&'a FinalModel);

impl AuditSubject for Shadow<'_> {
    fn canaries(&self) -> usize {
        self.0.probes.len()
    }

    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        self.0.margins(SHADOWS, trial, worlds).map_err(|refusal| Failure::Run(refusal.to_string()))
    }
}

impl AuditSubject for FinalModel {
    fn canaries(&self) -> usize {
        self.probes.len()
    }

    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let scores = self.margins(0, trial, worlds).map_err(|refusal| Failure::Run(refusal.to_string()))?;
        if self.laws.is_empty() {
            return Ok(scores);
        }
        Ok(scores.iter().zip(&self.laws).map(|(score, laws)| laws.ratio(*score)).collect())
    }
}

impl Laws {
    /// The log-likelihood ratio of "in" over "out".
    fn ratio(&self, seen: f64) -> f64 {
        let log_density =
            |(mean, deviation): (f64, f64)| -((seen - mean) / deviation).powi(2) / 2.0 - deviation.ln();
        log_density(self.inside) - log_density(self.outside)
    }
}

/// Mean and standard deviation; the latter kept off zero.
fn normal_law(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, variance.sqrt().max(1e-6 * (1.0 + mean.abs())))
}

/// The output of a class less the best other one; for a single output, that output with the sign of the class.
pub(super) fn margin(outputs: &[f32], class: usize) -> f64 {
    if let [output] = outputs {
        return if class == 1 { f64::from(*output) } else { -f64::from(*output) };
    }
    let others = outputs.iter().enumerate().filter(|(at, _)| *at != class).map(|(_, output)| *output);
    f64::from(outputs[class]) - f64::from(others.fold(f32::NEG_INFINITY, f32::max))
}

/// The cross-entropy of a class.
fn loss(outputs: &[f32], class: usize) -> f64 {
    if outputs.len() == 1 {
        return (-margin(outputs, class)).exp().ln_1p();
    }
    let most = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = outputs.iter().map(|output| f64::from(output - most).exp()).sum();
    sum.ln() + f64::from(most - outputs[class])
}

/// Every so manyth record.
fn every(records: &Dataset, step: usize) -> Result<Dataset, Error> {
    let kept = (0..records.len()).step_by(step);
    let features = kept.clone().flat_map(|at| records.row(at)).copied().collect();
    let labels = match records.labels() {
        Labels::Classes { of, classes } => {
            Labels::Classes { of: kept.map(|at| of[at]).collect(), classes: *classes }
        }
        Labels::Values(values) => Labels::Values(kept.map(|at| values[at]).collect()),
    };
    Ok(Dataset::new(features, records.width(), labels)?)
}
