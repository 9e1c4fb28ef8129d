//! The outcome with all losses largest, which alone counts just below the largest loss there is.

use super::composed::Composed;
use super::distribution::Distribution;
use veracity_core::numerics::{UNIT, logspace};

/// δ just below the largest loss, where next to nothing but the outcome with all losses largest counts.
///
/// # Promise  With m the probability of that outcome and r the distance of ε from the largest loss, smaller than the
/// gap to the next loss of any distribution: m(1 − e^{−r}) ≤ δ ≤ m e^{nr/2}(1 − e^{−r}), n the number of Laplace uses. A Laplace
/// loss falls short of its largest value, which it takes with probability ½, with density at most ¼
pub(super) struct LargestOutcome {
    log_mass: f64,
    gap: f64,
    laplaces: f64,
}

impl LargestOutcome {
    pub(super) fn of(losses: &Composed) -> Option<LargestOutcome> {
        if losses.gaussian > 0.0 {
            return None;
        }
        let mut top = LargestOutcome { log_mass: 0.0, gap: f64::INFINITY, laplaces: 0.0 };
        for (part, times) in &losses.parts {
            match part {
                Distribution::Laplace { epsilon } => {
                    top.log_mass -= times * std::f64::consts::LN_2;
                    top.laplaces += times;
                    top.gap = top.gap.min(2.0 * epsilon);
                }
                Distribution::Atoms { atoms, .. } => {
                    let largest = atoms.iter().max_by(|a, b| a.loss.total_cmp(&b.loss))?;
                    let next = atoms
                        .iter()
                        .map(|a| a.loss)
                        .filter(|l| *l < largest.loss)
                        .fold(f64::NEG_INFINITY, f64::max);
                    // A distribution may have its largest loss more than once, as one without any loss has.
                    let equal = atoms.iter().filter(|a| a.loss == largest.loss).map(|a| a.log_mass);
                    top.log_mass += times * equal.fold(f64::NEG_INFINITY, logspace::log_add).min(0.0);
                    top.gap = top.gap.min(largest.loss - next);
                }
                Distribution::Sampled(_) => return None,
            }
        }
        Some(top)
    }

    /// δ at a distance below the largest loss, from both sides.
    pub(super) fn delta(&self, distance: f64, largest: f64) -> Option<(f64, f64)> {
        let blur = 16.0 * UNIT * (largest + self.log_mass.abs() + 1.0);
        if !(distance + blur < self.gap) {
            return None;
        }
        let at = |r: f64| self.log_mass.exp() * -(-r.max(0.0)).exp_m1();
        let upper = at(distance + blur) * (self.laplaces * (distance + blur) / 2.0).exp() * (1.0 + blur);
        Some((at(distance - blur) * (1.0 - blur).max(0.0), upper.min(1.0)))
    }

    /// The distance of ε(δ) from the largest loss: at least and at most.
    pub(super) fn distance(&self, delta: f64) -> Option<(f64, f64)> {
        let share = (delta.ln() - self.log_mass + 16.0 * UNIT * (self.log_mass.abs() + 1.0)).exp();
        if share >= 0.5 {
            return None;
        }
        let most = -(-share).ln_1p() * (1.0 + 1e-12);
        let least = (-(-share * (-self.laplaces * most / 2.0).exp()).ln_1p() * (1.0 - 1e-12)
            - 32.0 * UNIT * (self.log_mass.abs() + 1.0) * share)
            .max(0.0);
        (most < self.gap).then_some((least, most))
    }
}
