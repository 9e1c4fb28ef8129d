//! Training attacked from without: records planted in the data, and an attacker who is given the last model.
//!
//! Each canary is a record (or several copies of one) that is in or not, or there in one of two forms; the attacker asks the
//! model about it and scores the answer.

use super::{laws::Laws, trainer::Trainer};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use veracity_audit::{AuditSubject, Failure, World, worlds};
use veracity_core::{Error, Refusal};
use veracity_train::{
    Dataset, Labels,
    cohort::Cohort,
    device::{Device, Reading},
};

/// The run whose models are shadows: none of its trials is ever counted.
const SHADOWS: u64 = 1;
/// How many of them are trained at once on these cores.
const SHADOWS_AT_ONCE: usize = 64;

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
    /// Shadow models of a likelihood ratio where nobody says how many.
    pub const USUAL_SHADOWS: u64 = 64;

    /// What is read of the model, in words.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Scoring::Loss => "the loss on it",
            Scoring::Margin { .. } => "the margin on it",
            Scoring::LikelihoodRatio { .. } => "its likelihood ratio, from shadow models",
        }
    }
}

/// What is planted: one record for each canary and copy, canary by canary.
#[derive(Debug, Clone, PartialEq)]
pub struct PlantedCanaries {
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
    trainer: Trainer,
    data: Dataset,
    planted: PlantedCanaries,
    /// What the model is asked about: the first copy of each canary, then as many empty records where they are asked for.
    probes: Dataset,
    canaries: usize,
    scoring: Scoring,
    laws: Vec<Laws>,
}

impl FinalModel {
    /// Plants records behind those of `data`. Models are trained on a device where there is one, shadow models too.
    ///
    /// # Errors
    /// Copies that do not divide the planted records, or a plan that the device cannot train.
    pub fn new(
        cohort: Cohort,
        data: Dataset,
        planted: PlantedCanaries,
        scoring: Scoring,
        seed: u64,
        device: Option<Arc<dyn Device>>,
    ) -> Result<FinalModel, Error> {
        let copies = planted.copies;
        if copies == 0 || planted.inside.is_empty() || !planted.inside.len().is_multiple_of(copies) {
            return Err(Error::out_of_range("copies", copies, "a divisor of the number of planted records"));
        }
        let (probes, canaries) = (probes(&planted, scoring)?, planted.inside.len() / copies);
        let trainer = Trainer::new(cohort, seed, device)?;
        let mut subject = FinalModel { trainer, data, planted, probes, canaries, scoring, laws: Vec::new() };
        if let Scoring::LikelihoodRatio { shadows } = scoring {
            subject.laws = subject.learn(shadows, seed)?;
        }
        Ok(subject)
    }

    /// What the models of trials say of the probes.
    fn read<'a>(
        &self,
        run: u64,
        trials: &[u64],
        worlds: impl Iterator<Item = &'a [World]>,
    ) -> Vec<Result<Vec<f32>, Failure>> {
        let PlantedCanaries { inside, outside, copies } = &self.planted;
        let is_in: Vec<bool> =
            worlds.flatten().flat_map(|world| std::iter::repeat_n(*world == World::In, *copies)).collect();
        let world = |is_in| veracity_train::World::from(&self.data).planting(is_in, inside, outside.as_ref());
        let worlds: Result<Vec<_>, Refusal> = is_in.chunks_exact(inside.len()).map(world).collect();
        match worlds {
            Ok(worlds) => self.trainer.read(run, trials, &worlds, Reading::Outputs(&self.probes)),
            Err(refusal) => trials.iter().map(|_| Err(refusal.clone().into())).collect(),
        }
    }

    /// What a model's outputs for the probes say of each canary, before shadow models weigh it.
    fn margins<'a>(&'a self, outputs: &'a [f32]) -> impl Iterator<Item = f64> {
        self.rows(outputs).map(|(class, row, blank)| {
            let said = match self.scoring {
                Scoring::Loss => -loss(row, class),
                Scoring::Margin { .. } | Scoring::LikelihoodRatio { .. } => margin(row, class),
            };
            blank.map_or(said, |blank| said - margin(blank, class))
        })
    }

    /// The class of each canary, the outputs for it and those for the empty record, where there is one.
    fn rows<'a>(&'a self, outputs: &'a [f32]) -> impl Iterator<Item = (usize, &'a [f32], Option<&'a [f32]>)> {
        let width = outputs.len() / self.probes.len();
        let (said, blanks) = outputs.split_at(self.canaries * width);
        let blanks = blanks.chunks_exact(width).map(Some).chain(std::iter::repeat(None));
        let rows = said.chunks_exact(width).zip(blanks).enumerate();
        rows.map(|(canary, (row, blank))| (self.class(canary), row, blank))
    }

    fn class(&self, canary: usize) -> usize {
        match self.probes.labels() {
            Labels::Classes { of, .. } => of[canary] as usize,
            Labels::Values(_) => 0,
        }
    }

    /// The scores of a model's outputs for the probes.
    fn scores(&self, outputs: &[f32]) -> Vec<f64> {
        if self.laws.is_empty() {
            return self.margins(outputs).collect();
        }
        self.margins(outputs).zip(&self.laws).map(|(score, laws)| laws.ratio(score)).collect()
    }

    /// What shadow models say of each canary in both worlds.
    fn learn(&self, shadows: u64, seed: u64) -> Result<Vec<Laws>, Error> {
        let mut seen = vec![(Vec::new(), Vec::new()); self.canaries];
        // On these cores, one at a time would leave all but one of them idle.
        let portion = if self.trainer.is_here() { SHADOWS_AT_ONCE } else { self.portion() } as u64;
        for first in (0..shadows).step_by(portion as usize) {
            let trials: Vec<u64> = (first..shadows.min(first.saturating_add(portion))).collect();
            // Worlds of shadows have a seed of their own, so that they are no copy of the trials'.
            let worlds: Vec<Vec<World>> =
                trials.iter().map(|trial| worlds(!seed, *trial, self.canaries)).collect();
            let read = self.read(SHADOWS, &trials, worlds.iter().map(Vec::as_slice));
            for (outputs, worlds) in read.into_iter().zip(&worlds) {
                let outputs =
                    outputs.map_err(|failure| Error::invalid(format!("a shadow model failed: {failure}")))?;
                let told = worlds.iter().zip(self.margins(&outputs));
                for ((inside, outside), (world, margin)) in seen.iter_mut().zip(told) {
                    if margin.is_nan() {
                        return Err(Error::invalid("a shadow model failed: a score is not a number"));
                    }
                    match world {
                        World::In => inside.push(margin),
                        World::Out => outside.push(margin),
                    }
                }
            }
        }
        let laws = seen.iter().map(|(inside, outside)| Laws::of(inside, outside));
        laws.collect::<Option<Vec<Laws>>>()
            .ok_or_else(|| Error::out_of_range("shadows", shadows, "enough for two in each world"))
    }
}

impl AuditSubject for FinalModel {
    fn canaries(&self) -> usize {
        self.canaries
    }

    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let outputs = self.read(0, &[trial], [worlds].into_iter()).swap_remove(0)?;
        Ok(self.scores(&outputs))
    }

    fn portion(&self) -> usize {
        self.trainer.portion(Reading::Outputs(&self.probes), self.planted.inside.len())
    }

    fn run_many(&self, trials: &[u64], worlds: &[Vec<World>]) -> Vec<Result<Vec<f64>, Failure>> {
        let read = self.read(0, trials, worlds.iter().map(Vec::as_slice));
        read.into_par_iter().map(|outputs| outputs.map(|outputs| self.scores(&outputs))).collect()
    }
}

/// What a model is asked about.
fn probes(planted: &PlantedCanaries, scoring: Scoring) -> Result<Dataset, Error> {
    let PlantedCanaries { inside, copies, .. } = planted;
    let kept = (0..inside.len()).step_by(*copies);
    let mut features: Vec<f32> = kept.clone().flat_map(|at| inside.row(at)).copied().collect();
    let Labels::Classes { of, classes } = inside.labels() else {
        return Err(Error::invalid("the labels of the canaries are numbers, but this attack needs classes"));
    };
    let mut asked: Vec<u32> = kept.map(|at| of[at]).collect();
    match scoring {
        Scoring::Margin { against_blank: true } => {
            features.resize(2 * features.len(), 0.0);
            asked.extend_from_within(..);
        }
        Scoring::Margin { .. } | Scoring::Loss | Scoring::LikelihoodRatio { .. } => {}
    }
    Ok(Dataset::new(features, inside.width(), Labels::Classes { of: asked, classes: *classes })?)
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
