//! The report of an audit as one page: the verdict, what was proved and what was shown, the scores behind it, what that rests
//! on, and how to compute it again.

use crate::{
    Audited, Counted, Observation, World,
    subjects::{mechanism, recorded, trained_model},
};
use veracity_audit::{Scores, bound::trade_off};
use veracity_core::Refusal;
use veracity_core::{Adjacency, Significance, Verdict};
use veracity_report::{
    axis::{Axis, Scale},
    chart::{self, Band, Chart, Line},
    decimal,
    histogram::{self, Group, Histogram},
    html::{Block, Command, Figure, Note, Page, Section, Tone},
    picture::{Ink, Stroke},
    sandwich::{self, Sandwich},
};

/// The most points of a drawn curve.
const POINTS: usize = 200;
/// Digits of a bound.
const DIGITS: usize = 4;

/// The page of an audit. `recompute` are command lines that lead to the same verdict.
pub fn page(audited: &Audited, seen: &[Observation], recompute: Vec<Command>) -> Result<Page, Refusal> {
    let mut sections = vec![
        Section::new("Between two bounds", vec![Block::Figures(vec![between(audited)])]),
        Section::new("What the attacker saw", vec![Block::Figures(scores(audited, seen)?)]),
        Section::new("What was done", vec![Block::Facts(done(audited))]),
        Section::new("What this rests on", vec![Block::Points(assumptions(audited))]),
    ];
    if !recompute.is_empty() {
        sections.push(Section::recompute(recompute));
    }
    Ok(Page {
        title: "Audit of a privacy claim".to_owned(),
        lead: lead(audited),
        sections,
        footer: format!("Written by veracity {}.", env!("CARGO_PKG_VERSION")),
    })
}

fn claimed(audited: &Audited) -> f64 {
    audited.claim.epsilon.0.get()
}

fn shown(audited: &Audited) -> f64 {
    audited.evidence.shown.epsilon.0.get()
}

/// What was shown and what was claimed as they are printed, each rounded to its safe side: with as many digits as it takes to
/// tell a refuted claim from what refutes it.
pub fn round_distinctly(audited: &Audited) -> (String, String) {
    let printed = |digits| (decimal::lower(shown(audited), digits), decimal::raise(claimed(audited), digits));
    let is_apart = |digits: &usize| printed(*digits).0 > printed(*digits).1;
    let digits = match audited.verdict {
        Verdict::Refuted { shown } if shown.0 > audited.claim.epsilon.0 => {
            (DIGITS..=17).find(is_apart).unwrap_or(17)
        }
        Verdict::Refuted { .. } | Verdict::NotRefuted { .. } | Verdict::CannotTell { .. } => DIGITS,
    };
    (decimal::down(shown(audited), digits), decimal::up(claimed(audited), digits.max(6)))
}

/// The verdict in words.
fn lead(audited: &Audited) -> Note {
    let (found, claim) = round_distinctly(audited);
    let chance = decimal::nearest(100.0 * audited.evidence.significance, 15);
    let basis = audited.evidence.shown.basis;
    let condition = if basis.may_refute() {
        String::new()
    } else {
        format!(" ({}, so it refutes nothing by itself)", basis.describe())
    };
    match audited.verdict {
        Verdict::Refuted { .. } => Note {
            tone: Tone::Alarm,
            text: format!(
                "Refuted: ε\u{a0}≤\u{a0}{claim} was claimed, but the attack shows ε\u{a0}≥\u{a0}{found}. Such a result comes \
                 about by chance at most {chance}% of the time if the claim is true."
            ),
        },
        Verdict::CannotTell { .. } => Note {
            tone: Tone::Plain,
            text: format!(
                "Not able to tell: ε\u{a0}≤\u{a0}{claim} was claimed, and this audit could not have refuted it{}. More trials, or a \
                 stronger attack, can.",
                if audited.caught.is_some() { " as it was required to" } else { "" }
            ),
        },
        Verdict::NotRefuted { ceiling, .. } => Note {
            tone: Tone::Plain,
            text: format!(
                "Not refuted: ε\u{a0}≤\u{a0}{claim} was claimed, and the attack shows ε\u{a0}≥\u{a0}{found}{condition}. With so many guesses it could have \
                 shown up to {}{}. That is no proof that the claim is true: another attack may show more.",
                decimal::down(ceiling.get(), DIGITS),
                if ceiling > audited.claim.epsilon.0 {
                    ""
                } else {
                    ", too little to refute the claim whatever the truth"
                }
            ),
        },
    }
}

fn between(audited: &Audited) -> Figure {
    let proved = audited.proved.map(|proved| proved.0.get()).filter(|proved| proved.is_finite());
    let picture = sandwich::draw(&Sandwich {
        description: format!(
            "epsilon is at least {} by the attack{}; {} is claimed",
            decimal::down(shown(audited), DIGITS),
            proved.map_or(String::new(), |proved| format!(
                " and at most {} by the proof",
                decimal::up(proved, DIGITS)
            )),
            decimal::up(claimed(audited), DIGITS)
        ),
        quantity: "ε".to_owned(),
        lower: (shown(audited), "shown by the attack".to_owned()),
        upper: proved.map(|proved| (proved, "proved by the accountant".to_owned())),
        claimed: Some(claimed(audited)),
    });
    let caption = match proved {
        _ if !audited.evidence.shown.basis.may_refute() => {
            "What the attack shows rests on an assumption, named below; a claim left of it may be true all the same."
        }
        Some(proved) if proved < shown(audited) => {
            "The attack shows more than the accountant proves of the mechanism as declared: what runs is not what is declared."
        }
        Some(_) => {
            "The truth lies between what the attack shows and what the accountant proves of the mechanism as declared. A claim \
             left of what was shown is false."
        }
        None => "The truth is at least what the attack shows. A claim left of it is false.",
    };
    Figure { picture, caption: caption.to_owned() }
}

fn scores(audited: &Audited, seen: &[Observation]) -> Result<Vec<Figure>, Refusal> {
    let of = |world| -> Vec<f64> {
        seen.iter().filter(|told| told.world == world).filter_map(|told| told.score).collect()
    };
    let threshold = match audited.evidence.counted {
        Counted::Threshold { threshold, .. } => {
            Some((threshold, "threshold".to_owned())).filter(|(at, _)| at.is_finite())
        }
        Counted::Ends { .. } | Counted::Pairs { .. } => None,
    };
    let worlds = histogram::draw(&Histogram {
        description: "how the attacker's scores are spread with and without the canary".to_owned(),
        measure: "the attacker's score".to_owned(),
        groups: [
            Group { name: "canary in".to_owned(), values: of(World::In) },
            Group { name: "canary out".to_owned(), values: of(World::Out) },
        ],
        threshold,
    });
    let worlds = Figure {
        picture: worlds,
        caption: "The more the two worlds' scores overlap, the less was leaked to this attacker.".to_owned(),
    };
    let caption = "Every threshold makes two kinds of errors. Below the dashed line lies what the claim forbids. The attacker's \
                   true errors lie nowhere above the shaded band with the stated confidence, at all thresholds at once, if guesses \
                   are independent; they may lie below it.";
    let trade_off =
        Figure { picture: chart::draw(&errors(audited, &counted(seen)?)?), caption: caption.to_owned() };
    Ok(vec![worlds, trade_off])
}

/// Scores as they count: a failed trial is an error at every threshold.
fn counted(seen: &[Observation]) -> Result<Scores, Refusal> {
    let of = |world| seen.iter().filter(move |told| told.world == world).map(Observation::counted);
    Scores::new(of(World::In).collect(), of(World::Out).collect())
}

/// False alarms against misses: what was seen, with its band, and the least that the claim allows.
fn errors(audited: &Audited, scores: &Scores) -> Result<Chart, Refusal> {
    let level = Significance::new(audited.evidence.significance)?;
    let band = trade_off::band(scores, trade_off::Kind::Ranks, level);
    let mut upper: Vec<(f64, f64)> =
        band.points().iter().map(|point| (point.false_positive, point.false_negative)).collect();
    upper.sort_by(|a, b| a.0.total_cmp(&b.0));
    let seen = curve(scores);
    let lower = seen.clone();
    let (e, delta) = (claimed(audited).exp(), audited.claim.delta.get());
    let least = |x: f64| (1.0 - delta - e * x).max((1.0 - delta - x) / e).max(0.0);
    // More points near the corner, where the claim's curve bends.
    let allowed = (0..=POINTS).map(|at| (at as f64 / POINTS as f64).powi(3)).map(|x| (x, least(x))).collect();
    let axis = |title: &str| Axis { title: title.to_owned(), low: 0.0, high: 1.0, scale: Scale::Linear };
    let line = |name: &str, points, ink, stroke| Line { name: name.to_owned(), points, ink, stroke };
    Ok(Chart {
        description: "false alarms against misses of the attacker, and the least that the claim allows"
            .to_owned(),
        x: axis("false alarms: out, but guessed in"),
        y: axis("misses: in, but guessed out"),
        bands: vec![Band { lower, upper: thinned(upper), ink: Ink::BLUE }],
        lines: vec![
            line("seen", seen, Ink::BLUE, Stroke::Solid),
            line("least that the claim allows", allowed, Ink::BLACK, Stroke::Dashed),
        ],
        spots: Vec::new(),
    })
}

/// The attacker's errors at every threshold, thinned out.
fn curve(scores: &Scores) -> Vec<(f64, f64)> {
    let (ins, outs) = (scores.inside().len().max(1) as f64, scores.outside().len().max(1) as f64);
    let mut all: Vec<(f64, bool)> = scores
        .inside()
        .iter()
        .map(|score| (*score, true))
        .chain(scores.outside().iter().map(|score| (*score, false)))
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut alarms, mut found) = (0.0, 0.0);
    let mut points = vec![(0.0, 1.0)];
    // Scores that are equal are on one side of every threshold.
    for tied in all.chunk_by(|one, next| one.0 == next.0) {
        let with = tied.iter().filter(|(_, is_in)| *is_in).count();
        (found, alarms) = (found + with as f64, alarms + (tied.len() - with) as f64);
        points.push((alarms / outs, 1.0 - found / ins));
    }
    thinned(points)
}

fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(POINTS).max(1);
    let last = points.last().copied();
    let mut kept: Vec<(f64, f64)> = points.into_iter().step_by(step).collect();
    kept.extend(last.filter(|last| kept.last() != Some(last)));
    kept
}

fn done(audited: &Audited) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let counted = match audited.evidence.counted {
        Counted::Threshold { counts, threshold } => format!(
            "{} of {} canaries found, {} of {} false alarms, at threshold {}",
            counts.true_positives,
            counts.ins(),
            counts.false_positives,
            counts.outs(),
            decimal::nearest(threshold, 6)
        ),
        Counted::Ends { guesses, highest, lowest } => format!(
            "of {} canaries, the {highest} highest scores were guessed “in” and the {lowest} lowest “out”: {} right, {} wrong",
            guesses.canaries(),
            guesses.correct(),
            guesses.guesses() - guesses.correct()
        ),
        Counted::Pairs { pairs, .. } => format!("{pairs} pairs of trials, one from either world"),
    };
    let mut facts = vec![
        fact("Subject", audited.note.description.clone()),
        fact("Attack", audited.note.attack.clone()),
        fact("The attacker sees", audited.note.access.clone()),
        fact(
            "Claim",
            format!(
                "ε ≤ {} at δ = {}",
                decimal::up(claimed(audited), 6),
                decimal::nearest(audited.claim.delta.get(), 6)
            ),
        ),
        fact("Adjacency", adjacency(audited.claim.adjacency).to_owned()),
        fact("Shown", format!("ε ≥ {}", decimal::down(shown(audited), 6))),
        fact("Most it could have shown", decimal::down(audited.evidence.shown.ceiling.get(), 6)),
        fact(
            "Bound",
            format!("{}: {}", audited.terms.method.name(), audited.evidence.shown.basis.describe()),
        ),
        fact("Chance of error", format!("at most {}", decimal::nearest(audited.evidence.significance, 6))),
        fact("Trials", audited.terms.trials.get().to_string()),
        fact("Counted", counted),
    ];
    if audited.failures > 0 {
        facts.push(fact("Failed trials", format!("{}, each counted as a wrong guess", audited.failures)));
    }
    facts
}

fn adjacency(adjacency: Adjacency) -> &'static str {
    match adjacency {
        Adjacency::AddRemove => "add-remove: the worlds differ by one record that is there or not",
        Adjacency::ReplaceOne => "replace-one: the worlds differ by one record that is one or another",
        Adjacency::ZeroOut => "zero-out: the worlds differ by one record that is there or blank",
    }
}

fn assumptions(audited: &Audited) -> Vec<String> {
    let kind = audited.note.kind.as_str();
    let mut points = vec![
        if [recorded::KIND, trained_model::KIND].contains(&kind) {
            "Scores were recorded elsewhere: that trials are independent, and that how they become a bound was fixed before anyone \
             saw them, is the word of those who recorded them."
        } else {
            "Trials are independent, each with randomness of its own; how scores become a bound was fixed before the first of them."
        }
        .to_owned(),
        "What is shown holds for the subject as it was run here, with these canaries; the truth may be anywhere above.".to_owned(),
        format!("The bound is {}.", audited.evidence.shown.basis.describe()),
    ];
    if let Counted::Ends { .. } = audited.evidence.counted {
        points.push("Each canary was in or out by a fair coin of its own, and how many are guessed was fixed beforehand.".to_owned());
    }
    if audited.note.settings.get("retries").is_some_and(|retries| retries != "0") {
        points.push(
            "A command that failed was run again with the same seed: it is taken to fail for reasons of the machine, not of its data."
                .to_owned(),
        );
    }
    if kind != mechanism::KIND {
        points.push(
            "Trials were run on the records themselves, again and again: the claim does not cover what this page tells of them. It is \
             for those who may see the records."
                .to_owned(),
        );
    }
    if kind == "training" {
        points.push("The training drew from a seed so that it can be repeated; a release draws from the operating system.".to_owned());
    }
    points
}

#[cfg(test)]
mod tests {
    use super::super::{Record, Trials, certificate::certify, protocol::sample};
    use super::*;
    use veracity_audit::worlds;

    /// An audit of 200 trials, `failed` of them without a score, of a claim that is `below` under what is shown.
    fn audited(failed: u64, below: f64) -> (Audited, Vec<Observation>) {
        let mut protocol = sample(200);
        let mut trials = Trials::default();
        for trial in 0..protocol.trials {
            let world = worlds(protocol.seed, trial, 1)[0];
            let score = (trial >= failed).then_some(f64::from(u8::from(world == World::In)));
            let failure = if score.is_none() { "it broke" } else { "" }.to_owned();
            let observation = Observation { trial, canary: 0, world, score };
            trials.add(Record { observation, failure, attempts: 1 }).unwrap();
        }
        let found = certify(&protocol, &trials).unwrap().0;
        protocol.claim.epsilon = shown(&found) - below;
        (certify(&protocol, &trials).unwrap().0, trials.observations())
    }

    #[test]
    fn a_refuted_claim_is_printed_below_what_refutes_it() {
        for below in [1.0, 1e-3, 1e-6, 1e-12] {
            let (found, _) = audited(0, below);
            assert!(matches!(found.verdict, Verdict::Refuted { .. }));
            let (shown, claimed) = round_distinctly(&found);
            assert!(shown.parse::<f64>().unwrap() > claimed.parse::<f64>().unwrap(), "{shown} > {claimed}");
        }
    }

    #[test]
    fn scores_that_do_not_differ_draw_no_attacker() {
        let same = Scores::new(vec![0.5; 7], vec![0.5; 9]).unwrap();
        assert_eq!(curve(&same), [(0.0, 1.0), (1.0, 0.0)]);
    }

    #[test]
    fn failed_trials_are_errors_in_the_picture_too() {
        let (found, seen) = audited(20, 1.0);
        // At no threshold are there fewer errors than failures: a tenth in each world.
        let best = curve(&counted(&seen).unwrap())
            .into_iter()
            .map(|(alarms, misses)| alarms.max(misses))
            .fold(1.0, f64::min);
        assert!((best - 0.1).abs() < 1e-9, "{best}");
        let text = page(&found, &seen, Vec::new()).unwrap().render();
        assert!(text.contains("each counted as a wrong guess") && text.contains("they may lie below it"));
        assert!(text.contains("for those who may see the records"));
    }
}
