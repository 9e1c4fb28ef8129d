//! The charts of an audit's report.

use super::{DIGITS, claimed, shown};
use crate::{AuditResult, ClaimedCurve, CountSummary, Method, Observation, Refutation, World};
use rayon::prelude::*;
use veracity_audit::{
    Scores,
    bound::{
        self,
        sequential::{Rounds, Test},
    },
};
use veracity_core::{Refusal, Significance, decimal};
use veracity_report::{
    axis::{Axis, Scale},
    chart::{self, Band, Chart, Line, Side, Spot},
    histogram::{self, Group, Histogram},
    html::Figure,
    picture::{Ink, Stroke},
    sandwich::{self, Sandwich},
};

/// The most points of a drawn curve.
const POINTS: usize = 200;
/// The least that is drawn of what is left after bets.
const LEAST_WEALTH: f64 = 1e-6;

pub(super) fn between(audited: &AuditResult) -> Figure {
    let proved = audited.proved.map(|proved| proved.0.get()).filter(|proved| proved.is_finite());
    let picture = sandwich::draw(&Sandwich {
        description: format!(
            "epsilon: lower bound {} (attack){}, claim {}",
            decimal::down(shown(audited), DIGITS),
            proved.map_or(String::new(), |proved| format!(
                ", upper bound {} (accountant)",
                decimal::up(proved, DIGITS)
            )),
            decimal::up(claimed(audited), DIGITS)
        ),
        quantity: "ε".to_owned(),
        lower: (shown(audited), "lower bound (attack)".to_owned()),
        upper: proved.map(|proved| (proved, "upper bound (accountant)".to_owned())),
        claimed: Some(claimed(audited)),
    });
    let caption = match proved {
        _ if !audited.evidence.shown.basis.may_refute() => {
            "The lower bound needs an assumption, named below. A claim below it may still be true."
        }
        Some(proved) if proved < shown(audited) => {
            "The lower bound is above the upper bound of the mechanism as declared, so the program does not run the declared mechanism."
        }
        _ if audited.is_refuted() && shown(audited) <= claimed(audited) => {
            "The claim is refuted by its whole trade-off curve and not by this bound on ε: see the error rates below."
        }
        Some(_) => {
            "The attack gives the lower bound on the true ε. The accountant proves the upper bound for the mechanism as declared. A program \
             that does something else may leak more."
        }
        None => "The attack gives the lower bound on the true ε. A smaller claim is refuted.",
    };
    Figure { picture, caption: caption.to_owned() }
}

/// The scores of the two worlds, their error rates, and the betting test if there was one.
pub(super) fn scores(audited: &AuditResult, seen: &[Observation]) -> Result<Vec<Figure>, Refusal> {
    let mut figures = vec![worlds(audited, seen), trade_off(audited, seen)?];
    if let Method::Sequential { .. } = audited.terms.method {
        figures.push(bets(audited, seen)?);
    }
    Ok(figures)
}

fn worlds(audited: &AuditResult, seen: &[Observation]) -> Figure {
    let of = |world| -> Vec<f64> {
        seen.iter().filter(|told| told.world == world).filter_map(|told| told.score).collect()
    };
    let threshold = match audited.against.map_or(audited.evidence.counted, |against| against.counted) {
        CountSummary::Threshold { threshold, .. } => {
            Some((threshold, "threshold".to_owned())).filter(|(at, _)| at.is_finite())
        }
        CountSummary::Ends { .. } | CountSummary::Bets { .. } => None,
    };
    let picture = histogram::draw(&Histogram {
        description: "distribution of the attacker's scores with and without the canary".to_owned(),
        measure: "the attacker's score".to_owned(),
        groups: [
            Group { name: "with the canary".to_owned(), values: of(World::In) },
            Group { name: "without the canary".to_owned(), values: of(World::Out) },
        ],
        threshold,
    });
    let caption = "The more the two distributions overlap, the less leaks to this attacker.".to_owned();
    Figure { picture, caption }
}

fn trade_off(audited: &AuditResult, seen: &[Observation]) -> Result<Figure, Refusal> {
    let chart = errors(audited, &counted(seen)?)?;
    let mut caption =
        "Each threshold has a false-positive and a false-negative rate. The claim forbids points below the dashed line."
            .to_owned();
    if let Some(Refutation::Threshold { .. }) = audited.against.and_then(|against| against.fallen) {
        caption += " The dot is the upper limit of both error rates at the threshold that refutes the claim.";
    }
    caption += match audited.terms.method {
        Method::Sequential { .. } => {
            " The number of trials was not fixed in advance, so there is no confidence band: the verdict comes from the betting test."
        }
        _ if chart.bands.is_empty() => " A world without trials has no error rate.",
        _ => {
            " With the stated confidence, the error rates that the attacker can reach lie in or below the shaded band, if guesses are \
             independent."
        }
    };
    Ok(Figure { picture: chart::draw(&chart), caption })
}

/// Scores as they count: a failed trial is an error at every threshold.
pub(super) fn counted(seen: &[Observation]) -> Result<Scores, Refusal> {
    Scores::in_order(seen.iter().map(|told| (told.world, told.counted())))
}

/// What is claimed of worlds that differ by as many records as here: the whole curve, or the two lines of an (ε, δ).
fn claimed_curve(audited: &AuditResult) -> Result<ClaimedCurve, Refusal> {
    let point = || ClaimedCurve::new([(audited.claim.epsilon.0, audited.claim.delta)]);
    let one = audited.curve.clone().map_or_else(point, Ok)?;
    one.for_group(audited.terms.method.group())
}

/// False alarms against misses: what was seen, with its band, the least that the claim allows, and where it fell.
fn errors(audited: &AuditResult, scores: &Scores) -> Result<Chart, Refusal> {
    let seen = curve(scores);
    let allowed: Vec<(f64, f64)> =
        claimed_curve(audited)?.corners().iter().map(|corner| (corner.alarms, corner.misses)).collect();
    let axis = |title: &str| Axis { title: title.to_owned(), low: 0.0, high: 1.0, scale: Scale::Linear };
    let line = |name: &str, points, ink, stroke| Line { name: name.to_owned(), points, ink, stroke };
    let bands = band(audited, scores, &seen)?.into_iter().collect();
    let mut lines = vec![
        line("observed", seen, Ink::BLUE, Stroke::Solid),
        line("minimum that the claim allows", allowed, Ink::BLACK, Stroke::Dashed),
    ];
    let mut spots = Vec::new();
    if let Some(Refutation::Threshold { alarms, misses, promised }) =
        audited.against.and_then(|against| against.fallen)
    {
        let gap = format!("refuted here, {} below the claim", decimal::down(promised - misses, 2));
        lines.push(line(&gap, vec![(alarms, misses), (alarms, promised)], Ink::VERMILLION, Stroke::Solid));
        spots.push(Spot {
            at: (alarms, misses),
            label: String::new(),
            side: Side::Below,
            ink: Ink::VERMILLION,
        });
    }
    Ok(Chart {
        description:
            "false-positive and false-negative rates of the attacker, and the minimum that the claim allows"
                .to_owned(),
        x: axis("false-positive rate (excluded, guessed included)"),
        y: axis("false-negative rate (included, guessed excluded)"),
        bands,
        lines,
        spots,
    })
}

/// The band above what was seen, up to what the attacker does not exceed, by one threshold or by a coin between two. None where the
/// scores themselves decided when to stop, since its theorem is for a fixed number of trials, or where a world was never seen.
fn band(audited: &AuditResult, scores: &Scores, seen: &[(f64, f64)]) -> Result<Option<Band>, Refusal> {
    let has_both = !scores.inside().is_empty() && !scores.outside().is_empty();
    if matches!(audited.terms.method, Method::Sequential { .. }) || !has_both {
        return Ok(None);
    }
    let level = audited.evidence.significance;
    let band = bound::trade_off::band(scores, bound::trade_off::Kind::Ranks, Significance::new(level)?);
    let known = band.points().iter().map(|point| (point.false_positive, point.false_negative));
    // To say always "out", or always "in", is open to everyone.
    let mut upper: Vec<(f64, f64)> =
        known.filter(|point| point.0 < 1.0 && point.1 < 1.0).chain([(0.0, 1.0), (1.0, 0.0)]).collect();
    upper.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Some(Band {
        name: format!("upper confidence limit, {}%", decimal::nearest(100.0 * (1.0 - level), 4)),
        lower: seen.to_vec(),
        upper: thinned(upper),
        ink: Ink::BLUE,
    }))
}

/// The wealth of the betting test, trial by trial, and the level at which it refutes the claim.
fn bets(audited: &AuditResult, seen: &[Observation]) -> Result<Figure, Refusal> {
    let level = audited.evidence.significance;
    let wealth = log_wealth(audited, seen)?;
    let trials = wealth.last().map_or(1.0, |last| last.0).max(1.0);
    let most = wealth.iter().map(|point| point.1).fold(-level.ln(), f64::max);
    let least = wealth.iter().map(|point| point.1).fold(0.0, f64::min);
    let points = wealth.into_iter().map(|(trial, log)| (trial, log.max(LEAST_WEALTH.ln()).exp())).collect();
    let refuted = format!("refuted at {}", decimal::up(1.0 / level, 4));
    let line = |name: String, points, ink, stroke| Line { name, points, ink, stroke };
    let picture = chart::draw(&Chart {
        description: format!("wealth of the betting test by trials; {refuted}"),
        x: Axis { title: "trials".to_owned(), low: 0.0, high: trials, scale: Scale::Linear },
        y: Axis {
            title: "wealth (starts at 1)".to_owned(),
            low: least.exp().clamp(LEAST_WEALTH, 0.5) / 2.0,
            high: 3.0 * most.min(700.0).exp(),
            scale: Scale::Log,
        },
        bands: Vec::new(),
        lines: vec![
            line("betting test".to_owned(), points, Ink::BLUE, Stroke::Solid),
            line(refuted, vec![(0.0, 1.0 / level), (trials, 1.0 / level)], Ink::VERMILLION, Stroke::Dashed),
        ],
        spots: Vec::new(),
    });
    let caption = format!(
        "Before each trial, the test bets a part of its wealth that the attacker guesses correctly. If the claim is true, the wealth \
         ever reaches {} with probability at most {}%, however often you check.",
        decimal::up(1.0 / level, 4),
        decimal::nearest(100.0 * level, 15)
    );
    Ok(Figure { picture, caption })
}

/// The logarithm of the wealth after each trial, by the same bets.
pub(super) fn log_wealth(audited: &AuditResult, seen: &[Observation]) -> Result<Vec<(f64, f64)>, Refusal> {
    let mut test = Test::new(claimed_curve(audited)?, Significance::new(audited.evidence.significance)?);
    let mut wealth = vec![(0.0, 0.0)];
    let mut note = |test: &Test| wealth.push((test.trials() as f64, test.log_wealth()));
    match audited.terms.method {
        Method::Sequential { rounds: Rounds::Pairs, .. } => {
            let of = |world| seen.iter().filter(move |told| told.world == world).map(|told| told.score);
            for (inside, outside) in of(World::In).zip(of(World::Out)) {
                if test.is_refuted() {
                    break;
                }
                test.observe_pair(inside, outside)?;
                note(&test);
            }
        }
        _ => {
            for told in seen {
                if test.is_refuted() {
                    break;
                }
                test.observe(told.world, told.score)?;
                note(&test);
            }
        }
    }
    Ok(thinned(wealth))
}

/// The attacker's errors at every threshold, thinned out.
pub(super) fn curve(scores: &Scores) -> Vec<(f64, f64)> {
    let sorted = |scores: &[f64]| {
        let mut sorted = scores.to_vec();
        sorted.par_sort_unstable_by(|a, b| b.total_cmp(a));
        sorted
    };
    let (ins, outs) = (sorted(scores.inside()), sorted(scores.outside()));
    if ins.is_empty() || outs.is_empty() {
        return Vec::new();
    }
    // How many of each world are found at each threshold, the highest first. Scores that are equal are on one side of every threshold.
    let found = || {
        std::iter::successors(Some((0, 0)), |(found, alarms)| {
            let at =
                [ins.get(*found), outs.get(*alarms)].into_iter().flatten().copied().max_by(f64::total_cmp)?;
            let tied = |scores: &[f64]| scores.iter().take_while(|score| **score >= at).count();
            Some((found + tied(&ins[*found..]), alarms + tied(&outs[*alarms..])))
        })
    };
    let (count, last) = found().fold((0, (0, 0)), |(count, _), point| (count + 1, point));
    let step = usize::div_ceil(count, POINTS).max(1);
    let mut kept: Vec<(usize, usize)> = found().step_by(step).collect();
    kept.extend(Some(last).filter(|last| kept.last() != Some(last)));
    let rates = |(found, alarms): (usize, usize)| {
        (alarms as f64 / outs.len() as f64, 1.0 - found as f64 / ins.len() as f64)
    };
    kept.into_iter().map(rates).collect()
}

fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(POINTS).max(1);
    let last = points.last().copied();
    let mut kept: Vec<(f64, f64)> = points.into_iter().step_by(step).collect();
    kept.extend(last.filter(|last| kept.last() != Some(last)));
    kept
}
