//! The best of a random number of runs by the profile of one run, which is sharper than Rényi divergences.
//!
//! As in `rdp::selection`, the best result y has density q(y) F(y) on one dataset and q'(y) F'(y) on the other, where F is
//! a mean of f' at points Q_s between Q(< y) and Q(≤ y), and f' ≤ E[K]. If F ≤ e^c F' for all y, then
//! Σ (q F − e^ε q' F')₊ ≤ Σ F (q − e^{ε−c} q')₊ ≤ E[K] δ(ε − c) with the profile δ of one run. No run at all publishes the
//! same on both datasets, which adds nothing for ε ≥ 0.
//!
//! Poisson runs of mean m have F/F' ≤ e^{m (Q_s − Q'_s)}, and no event tells the datasets apart by more than δ(0). For
//! negative binomial runs F/F' ≤ (p'/p)^{1+η} with p = γ + (1 − γ)(1 − Q_s) ≥ γ and p' ≤ e^ε̂ p + (1 − γ) δ(ε̂), any ε̂ ≥ 0.

use crate::{Profile, Question, rdp::selection::log_inverse_gamma, single::OUTWARD};
use veracity_core::{Delta, Epsilon, Mechanism, Refusal, Runs};

/// The best of several runs, and the profile of one.
struct BestOf {
    profile: Profile,
    mean: f64,
    /// c: how far selection shifts the losses, at most.
    shift: f64,
}

/// ε at `delta`, where the question is the best of several runs whose profile the exact method knows; None for other
/// questions.
///
/// # Promise    Never below the true ε
/// # Reference  [KoskelaRedbergWang24] (Poisson and negative binomial runs), derived above
/// # Assumes    As [`Runs`]: the number is drawn apart from the data and kept secret
/// # Numerics   Rounded up
pub(crate) fn epsilon_above(question: &Question, delta: Delta) -> Option<Result<f64, Refusal>> {
    let best = BestOf::new(question)?;
    Some(best.and_then(|best| {
        let share = (delta.get() / best.mean / OUTWARD).min(0.999);
        let one = best.profile.epsilon_at(Delta::new(share)?)?.upper.0.get();
        Ok((one + best.shift) * OUTWARD)
    }))
}

impl BestOf {
    fn new(question: &Question) -> Option<Result<BestOf, Refusal>> {
        let Mechanism::BestOf { runs, mechanism } = &question.mechanism else { return None };
        let run = Question { mechanism: (**mechanism).clone(), adjacency: question.adjacency };
        Some(Profile::new(&run).and_then(|profile| {
            let (mean, shift) = match *runs {
                Runs::Poisson { mean } => {
                    let apart = profile.delta_at(Epsilon::ZERO)?.upper.0.get();
                    (mean, mean * apart * OUTWARD)
                }
                Runs::NegativeBinomial { mean, shape } => {
                    let stop = log_inverse_gamma(mean, shape);
                    (mean, (1.0 + shape) * log_ratio(&profile, stop)? * OUTWARD)
                }
            };
            Ok(BestOf { profile, mean, shift })
        }))
    }
}

/// log(e^ε̂ + (1 − γ) δ(ε̂)/γ) at a good ε̂: any δ̂ up to γ may be the best, and log 1/γ holds without a profile.
fn log_ratio(profile: &Profile, stop: f64) -> Result<f64, Refusal> {
    let mut least = stop;
    for i in 0..=24 {
        let log_delta = -stop - 0.4 * f64::from(i);
        let Ok(delta) = Delta::new((log_delta / OUTWARD).exp().min(0.999)) else { continue };
        if delta.get() <= f64::MIN_POSITIVE {
            break;
        }
        let epsilon = profile.epsilon_at(delta)?.upper.0.get();
        let added = (delta.get().ln() + stop + 4.0 * f64::EPSILON * (1.0 + stop)).exp() * -(-stop).exp_m1();
        least = least.min(epsilon + (added * (-epsilon).exp()).ln_1p());
    }
    Ok(least * OUTWARD)
}
