//! The points of the curves that the page draws: the profile from above, the trade-off curve from below.

use crate::Refusal;
use serde_json::{Value, json};
use veracity_account::claims::{PrivacyProfile, Subject};
use veracity_account::tradeoff::{advantage_through, tradeoff_points};
use veracity_core::Delta;

/// Points of the profile.
const POINTS: usize = 81;
/// Points of the trade-off curve.
const RATES: usize = 101;

/// Both curves. Each point is a bound; the lines between them are for the eye.
pub(crate) fn curves(subject: &Subject, delta: Delta) -> Result<Value, Refusal> {
    let profile = PrivacyProfile::new(subject, POINTS)?;
    let pairs: Vec<(f64, f64)> = profile.points.iter().map(|point| (point.epsilon, point.upper)).collect();
    Ok(json!({
        "profile": pairs,
        "tradeoff": tradeoff_points(&pairs, RATES)?,
        "advantage": advantage_through(&pairs).0.get(),
        "method": profile.method.name(),
        "delta": delta.get(),
    }))
}
