//! The points of the curves that the page draws: the profile from above, the trade-off curve from below.

use crate::Refusal;
use serde_json::{Value, json};
use veracity_account::tradeoff::{advantage_through, tradeoff_through};
use veracity_claims::{PrivacyProfile, Subject};
use veracity_core::{Delta, Probability};

/// Points of the profile.
const POINTS: usize = 81;
/// Points of the trade-off curve.
const RATES: usize = 101;

/// Both curves. Each point is a bound, and those are what a reader is told; the lines between them are for the eye.
pub(crate) fn curves(subject: &Subject, delta: Delta) -> Result<Value, Refusal> {
    let profile = PrivacyProfile::new(subject, POINTS)?;
    let pairs: Vec<(f64, f64)> = profile.points.iter().map(|point| (point.epsilon, point.upper)).collect();
    let tradeoff = (0..RATES).map(|index| {
        // Close together at both ends, where the curve is steep.
        let share = index as f64 / (RATES - 1) as f64;
        let rate = Probability::new((share * std::f64::consts::FRAC_PI_2).sin().powi(2))?;
        Ok([rate.get(), tradeoff_through(rate, &pairs).0.get()])
    });
    Ok(json!({
        "profile": pairs,
        "tradeoff": tradeoff.collect::<Result<Vec<_>, Refusal>>()?,
        "advantage": advantage_through(&pairs).0.get(),
        "method": profile.method.name(),
        "delta": delta.get(),
    }))
}
