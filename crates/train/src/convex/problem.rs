//! A convex problem: bounded records, a loss, and a penalty that is strong enough for a theorem.

use super::{
    features::BoundedFeatures, loss::ConvexLoss, model::LinearModel, objective::Objective, solver::minimise,
};
use crate::Labels;
use veracity_core::{Count, Refusal};

/// The solver's public duty: the gradient at what it returns is no longer than this part of one record's largest.
const TOLERANCE: f64 = 1.0 / (1u64 << 20) as f64;

/// The penalty Λ‖w‖²/2 beside the *sum* of the losses, Λ = λN.
///
/// N is the planned number of records: the realised one is private when records may be added or removed, so nothing that
/// decides about noise may depend on it. With N records, this is the usual average loss + λ‖w‖²/2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regularisation {
    total: f64,
}

impl Regularisation {
    /// Checks that λ > 0, and that λN is a number that can be computed with.
    ///
    /// # Errors
    /// Refuses other numbers.
    pub fn new(strength: f64, planned: Count) -> Result<Regularisation, Refusal> {
        let total = strength * planned.as_f64();
        if strength > 0.0 && (1e-12..=1e30).contains(&total) {
            Ok(Regularisation { total })
        } else {
            Err(Refusal::out_of_range(
                "regularisation",
                strength,
                "a number > 0 whose product with the planned number of records is between 1e-12 and 1e30",
            ))
        }
    }

    /// Λ = λN.
    pub fn total(self) -> f64 {
        self.total
    }
}

/// The objective to minimize, once for two classes or for numbers, once for each class (one against the rest) for more.
#[derive(Debug)]
pub struct Problem<'a> {
    features: BoundedFeatures<'a>,
    loss: ConvexLoss,
    regularisation: Regularisation,
}

impl<'a> Problem<'a> {
    /// Checks that the loss suits the labels.
    ///
    /// # Errors
    /// Refuses labels of another kind.
    pub fn new(
        features: BoundedFeatures<'a>,
        loss: ConvexLoss,
        regularisation: Regularisation,
    ) -> Result<Problem<'a>, Refusal> {
        let suits = match (loss, features.data().labels()) {
            (ConvexLoss::Logistic | ConvexLoss::HuberSvm { .. }, Labels::Classes { .. })
            | (ConvexLoss::Squared { .. }, Labels::Values(_)) => true,
            (ConvexLoss::Logistic | ConvexLoss::HuberSvm { .. }, Labels::Values(_))
            | (ConvexLoss::Squared { .. }, Labels::Classes { .. }) => false,
        };
        if suits {
            Ok(Problem { features, loss, regularisation })
        } else {
            Err(Refusal::Invalid(
                "the labels do not match the loss; logistic and huber-svm need classes, squared needs numbers"
                    .into(),
            ))
        }
    }

    /// The records.
    pub fn features(&self) -> &BoundedFeatures<'a> {
        &self.features
    }

    /// How many weight vectors there are.
    pub fn scores(&self) -> usize {
        match self.features.data().labels() {
            Labels::Classes { classes, .. } if *classes > 2 => *classes,
            Labels::Classes { .. } | Labels::Values(_) => 1,
        }
    }

    /// The longest gradient of one record's loss, at any weights: slope bound × norm bound.
    pub fn pull(&self) -> f64 {
        self.loss.slope_bound() * self.features.rows().bound().get()
    }

    /// The largest curvature of one record's loss in any direction: curvature bound × norm bound².
    pub fn bend(&self) -> f64 {
        self.loss.curvature_bound() * self.features.rows().bound().get().powi(2)
    }

    /// Λ.
    pub fn penalty(&self) -> f64 {
        self.regularisation.total()
    }

    /// How long the gradient at computed weights may be: a millionth of [`pull`](Problem::pull), whatever the data.
    pub fn tolerance(&self) -> f64 {
        TOLERANCE * self.pull()
    }

    /// How far one record, added or removed, moves one *computed* weight vector in ℓ2.
    ///
    /// The minimisers w, w' of two objectives that differ by one record's loss ℓ satisfy Λ‖w − w'‖ ≤ ‖∇ℓ(w')‖, since the
    /// gradient at w' of the one objective is ±∇ℓ(w') and its slope rises by Λ per unit of length. What is computed lies
    /// within [`tolerance`](Problem::tolerance)/Λ of each.
    ///
    /// # Promise    Never below the true distance
    /// # Reference  \[ChaudhuriMonteleoniSarwate11\] for the exact minimiser
    /// # Assumes    Rows and slopes are bounded, which this crate sees to itself
    pub fn sensitivity(&self) -> f64 {
        (self.pull() + 2.0 * self.tolerance()) / self.penalty() * (1.0 + 1e-12)
    }

    /// The model without noise. It is as private as the data: a ceiling to compare with, never a release.
    ///
    /// # Errors
    /// Refuses a problem whose minimizer is not found.
    pub fn without_privacy(&self) -> Result<LinearModel, Refusal> {
        let unperturbed = vec![0.0; self.features.dimension()];
        let mut weights = Vec::with_capacity(self.scores() * unperturbed.len());
        for class in 0..self.scores() {
            weights.extend(self.minimum(class, self.penalty(), &unperturbed)?);
        }
        Ok(LinearModel::new(weights, self.scores(), self.features.rows()))
    }

    /// Weights at which the gradient of one class' objective, plus `linear`, is certainly within the tolerance.
    pub(super) fn minimum(&self, class: usize, penalty: f64, linear: &[f64]) -> Result<Vec<f64>, Refusal> {
        let targets = self.targets(class);
        let objective =
            Objective { features: &self.features, targets: &targets, loss: self.loss, penalty, linear };
        minimise(&objective, self.tolerance())
    }

    /// One target for each record: ±1 for one class against the rest (class 1 of two), or the bounded number.
    fn targets(&self, class: usize) -> Vec<f64> {
        match self.features.data().labels() {
            Labels::Classes { of, classes } => {
                let positive = if *classes > 2 { class } else { 1 };
                of.iter().map(|c| if *c as usize == positive { 1.0 } else { -1.0 }).collect()
            }
            Labels::Values(values) => values.iter().map(|y| self.loss.target(f64::from(*y))).collect(),
        }
    }
}
