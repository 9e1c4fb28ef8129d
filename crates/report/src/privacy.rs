//! From a subject to the curves that are drawn or tabulated.

use crate::{
    axis::{Axis, Scale},
    chart::{Band, Chart, Line, Side, Spot},
    curve::{Curves, Panels, ProfilePoint},
    picture::{Ink, Stroke},
};
use veracity_account::claims::{Choice, PrivacyProfile, Subject, Target, account};
use veracity_account::tradeoff::{advantage_through, tradeoff_points};
use veracity_core::{Delta, Refusal, decimal};

/// Points of the profile.
const POINTS: usize = 161;
/// The least δ that is drawn.
const LEAST_DELTA: f64 = 1e-10;
/// Points of the trade-off curve.
const RATES: usize = 201;

/// The profile and the trade-off curve of a subject, captioned with its ε at `delta`.
///
/// # Errors
/// Returns the refusal of the accountant.
pub fn curves(subject: &Subject, delta: Delta) -> Result<Curves, Refusal> {
    let answer = account(subject, Target::Delta(delta), Choice::Best)?;
    let profile = PrivacyProfile::new(subject, POINTS)?;
    let epsilon = answer.epsilon.upper().map_or(f64::INFINITY, |epsilon| epsilon.0.get());
    let pairs: Vec<(f64, f64)> = profile.points.iter().map(|point| (point.epsilon, point.upper)).collect();
    Ok(Curves {
        title: subject.describe(),
        caption: format!(
            "epsilon ≤ {} at delta {}   ({}, per {}; {})",
            decimal::up(epsilon, 6),
            decimal::nearest(delta.get(), 6),
            subject.adjacency,
            subject.unit.name(),
            answer.method
        ),
        footnote: format!(
            "Certified bounds by veracity {}, method {}.",
            env!("CARGO_PKG_VERSION"),
            profile.method
        ),
        profile: from_zero(&profile),
        promise: (epsilon, delta.get()),
        tradeoff: tradeoff_points(&pairs, RATES)?,
        advantage: advantage_through(&pairs).0.get(),
    })
}

/// The profile of a subject as the picture of a page, with the (ε, δ) that is promised pointed out.
///
/// # Errors
/// Returns the refusal of the accountant.
pub fn profile_chart(subject: &Subject, promise: (f64, Delta)) -> Result<Chart, Refusal> {
    let profile = from_zero(&PrivacyProfile::new(subject, POINTS)?);
    let upper: Vec<(f64, f64)> = profile.iter().map(|point| (point.epsilon, point.upper)).collect();
    let farthest = upper.last().map_or(1.0, |point| point.0);
    let (epsilon, delta) = (promise.0, promise.1.get());
    let label =
        format!("ε ≤ {} at δ = {}", decimal::up(epsilon, 4), decimal::in_prose(&decimal::nearest(delta, 4)));
    let floor = upper.iter().map(|point| (point.0, LEAST_DELTA)).collect();
    Ok(Chart {
        description: format!("privacy profile: delta for each epsilon; {label}"),
        x: Axis { title: "ε".into(), low: 0.0, high: farthest, scale: Scale::Linear },
        y: Axis { title: "δ, at most".into(), low: LEAST_DELTA, high: 1.0, scale: Scale::Log },
        bands: vec![Band {
            name: String::new(),
            lower: floor,
            upper: upper.clone(),
            ink: Ink::BLUE.faint(0.08),
        }],
        lines: vec![Line { name: String::new(), points: upper, ink: Ink::BLUE, stroke: Stroke::Solid }],
        spots: vec![Spot { at: (epsilon, delta), label, side: Side::Below, ink: Ink::BLUE }],
    })
}

/// The points of a profile, from ε = 0 on. Where it starts later, δ was 1 to within rounding before.
fn from_zero(profile: &PrivacyProfile) -> Vec<ProfilePoint> {
    let late = profile.points.first().is_some_and(|point| point.epsilon > 0.0);
    let before = late.then_some(ProfilePoint { epsilon: 0.0, lower: None, upper: 1.0 });
    let known = profile.points.iter().map(|point| ProfilePoint {
        epsilon: point.epsilon,
        lower: point.lower,
        upper: point.upper,
    });
    before.into_iter().chain(known).collect()
}

/// The header of a profile alone.
const PROFILE: &str = "epsilon,delta_lower,delta_upper";
/// The header of a trade-off curve alone.
const TRADEOFF: &str = "false_positive_rate,false_negative_rate_lower";
/// The header of both.
const BOTH: &str = "curve,x,lower,upper";

/// The curves as CSV; with both panels, a first column says which curve a line is of.
pub fn csv(curves: &Curves, panels: Panels) -> String {
    let profile = curves.profile.iter().map(|point| {
        let lower = point.lower.map_or(String::new(), |lower| lower.to_string());
        format!("{},{lower},{}", point.epsilon, point.upper)
    });
    let tradeoff = curves.tradeoff.iter().map(|(rate, least)| format!("{rate},{least}"));
    let lines: Vec<String> = match panels {
        Panels::Profile => std::iter::once(PROFILE.to_owned()).chain(profile).collect(),
        Panels::Tradeoff => std::iter::once(TRADEOFF.to_owned()).chain(tradeoff).collect(),
        Panels::Both => std::iter::once(BOTH.to_owned())
            .chain(profile.map(|line| format!("profile,{line}")))
            .chain(tradeoff.map(|line| format!("tradeoff,{line},")))
            .collect(),
    };
    lines.join("\n") + "\n"
}

/// Whether a file is curves that [`csv()`] wrote: one of its headers, and numbers below it.
pub fn is_csv(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Some((header, rows)) = text.split_once('\n') else { return false };
    let width = match header {
        PROFILE => 3,
        TRADEOFF => 2,
        BOTH => 4,
        _ => return false,
    };
    let is_cell = |cell: &str| {
        cell.is_empty()
            || cell.parse::<f64>().is_ok()
            || header == BOTH && ["profile", "tradeoff"].contains(&cell)
    };
    text.ends_with('\n')
        && rows.lines().all(|row| row.split(',').count() == width && row.split(',').all(is_cell))
}
