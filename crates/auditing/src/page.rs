//! HTML report of an audit: the verdict, the upper and lower bounds, the scores behind them, the assumptions, and how to recompute
//! the verdict.

mod pictures;

use crate::{
    AuditResult, CountSummary, CurveTest, DeviceNote, Method, Observation, Refutation,
    subjects::{mechanism, recorded, trained_model},
};
use serde_json::Value;
use std::time::SystemTime;
use veracity_account::claims::{Subject, moment};
use veracity_audit::RunGuesses;
use veracity_core::{Adjacency, PrivacyUnit, Refusal, Verdict};
use veracity_core::{
    decimal::{self, grouped},
    printable,
};
use veracity_report::html::{self, Block, Command, Note, Page, Section, Tone};

/// Digits of a bound.
const DIGITS: usize = 4;

/// HTML report of an audit. `recompute` are command lines that lead to the same verdict.
///
/// # Errors
/// A curve that cannot be drawn.
pub fn page(audited: &AuditResult, seen: &[Observation], recompute: Vec<Command>) -> Result<Page, Refusal> {
    let bounds = if audited.proved.is_some() { "Between two bounds" } else { "Lower bound and claim" };
    let mut sections = vec![
        Section::new(bounds, vec![Block::Figures(vec![pictures::between(audited)])]),
        Section::new("Scores and error rates", vec![Block::Figures(pictures::scores(audited, seen)?)]),
        Section::new("Experiment", vec![Block::Facts(done(audited))]),
        Section::new("Assumptions", vec![Block::Points(assumptions(audited))]),
    ];
    let findings = of_the_claim(audited);
    if !findings.is_empty() {
        sections.insert(1, Section::new("What this means for the claim", vec![Block::Points(findings)]));
    }
    if !recompute.is_empty() {
        sections.push(Section::recompute(recompute));
    }
    Ok(Page {
        title: "Audit of a privacy claim".to_owned(),
        lead: lead(audited),
        sections,
        footer: format!("Written by veracity {} on {} (UTC).", env!("CARGO_PKG_VERSION"), today()),
    })
}

/// The verdict and the pictures of the page, as an element for a notebook.
///
/// # Errors
/// A curve that cannot be drawn.
pub fn fragment(audited: &AuditResult, seen: &[Observation]) -> Result<String, Refusal> {
    let mut figures = vec![pictures::between(audited)];
    figures.extend(pictures::scores(audited, seen)?);
    Ok(html::fragment(&lead(audited), &[Block::Figures(figures)]))
}

fn claimed(audited: &AuditResult) -> f64 {
    audited.claim.epsilon.0.get()
}

/// The confidence of a lower bound and of a refutation, in percent.
fn confidence(audited: &AuditResult) -> String {
    decimal::nearest(100.0 - 100.0 * audited.evidence.significance, 15)
}

fn shown(audited: &AuditResult) -> f64 {
    audited.evidence.shown.epsilon.0.get()
}

/// The lower bound and the claimed ε as they are printed, each rounded to its safe side, with enough digits to distinguish a refuted
/// claim from the bound that refutes it.
pub fn round_distinctly(audited: &AuditResult) -> (String, String) {
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

/// The verdict as text.
fn lead(audited: &AuditResult) -> Note {
    let (found, claim) = round_distinctly(audited);
    let basis = audited.evidence.shown.basis;
    let condition = if basis.may_refute() {
        String::new()
    } else {
        format!(" ({}, so this bound alone refutes no claim)", basis.describe())
    };
    match audited.verdict {
        Verdict::Refuted { shown: what } => Note {
            tone: Tone::Alarm,
            text: format!(
                "Refuted: {} ({}% confidence).{} If the claim is true, such a result has a probability of at most {}%.",
                if what.0 > audited.claim.epsilon.0 {
                    format!("ε\u{a0}≤\u{a0}{claim} is claimed, but ε\u{a0}≥\u{a0}{found} is observed")
                } else {
                    format!(
                        "ε\u{a0}≤\u{a0}{claim} is claimed, but the attack has lower error rates than the claimed trade-off curve allows"
                    )
                },
                confidence(audited),
                missing_noise(audited).map_or(String::new(), |limit| format!(" {limit}")),
                decimal::nearest(100.0 * audited.evidence.significance, 15)
            ),
        },
        Verdict::CannotTell { .. } => Note {
            tone: Tone::Doubt,
            text: format!("Inconclusive: ε\u{a0}≤\u{a0}{claim} is claimed. {}", why_inconclusive(audited)),
        },
        Verdict::NotRefuted { ceiling, .. } => Note {
            tone: Tone::Plain,
            text: format!(
                "Not refuted: ε\u{a0}≤\u{a0}{claim} is claimed, and ε\u{a0}≥\u{a0}{found} is observed{condition}. {}. This does not \
                 prove the claim: another attack may find a larger ε.",
                match (audited.power, audited.against.and_then(|against| against.noise_at_most)) {
                    (Some(_), Some(limit)) => {
                        format!("These trials exclude noise above {}× declared", decimal::up(limit, 3))
                    }
                    (Some(_), None) => "These trials exclude no amount of noise".to_owned(),
                    (None, _) => format!(
                        "These trials could give a lower bound of at most {}",
                        decimal::down(ceiling.get(), DIGITS)
                    ),
                }
            ),
        },
    }
}

/// Why an audit is inconclusive, and what would help.
fn why_inconclusive(audited: &AuditResult) -> String {
    if audited.falls_but_for_retries() {
        return "The trials contradict it, but some failed trials were retried, which can bias the evidence. Run all trials again \
                without retries."
            .to_owned();
    }
    if audited.hides_failures() {
        return "Trials fail more often in one of the two worlds, which the verdict does not take into account. Run all trials again \
                with a sequential bound and without retries."
            .to_owned();
    }
    match (audited.against, audited.power) {
        (Some(against), Some(power)) if against.is_able => {
            let below = power.detects_noise_below.map_or("no missing noise".to_owned(), |below| {
                format!("noise below {}× declared", decimal::down(below, 2))
            });
            let limit = against.noise_at_most.map_or("any amount of noise".to_owned(), |limit| {
                format!("up to {}× declared", decimal::up(limit, 3))
            });
            format!(
                "The audit detects less than it was required to: with this many trials an optimal attack detects {below}, and these \
                 trials allow {limit}. Run more trials or use a stronger attack."
            )
        }
        _ => format!(
            "{} trials cannot refute it, even with an attack that is always right. Run more trials.",
            grouped(audited.terms.trials.get())
        ),
    }
}

/// The limit on the noise, where it is below the declared level.
fn missing_noise(audited: &AuditResult) -> Option<String> {
    match audited.against?.noise_at_most? {
        limit if limit < 1.0 => {
            Some(format!("The mechanism adds at most {}× the noise it declares.", decimal::up(limit, 3)))
        }
        // The trials exclude the limit itself.
        _ if audited.is_refuted() => Some("The mechanism adds less noise than it declares.".to_owned()),
        _ => None,
    }
}

/// The test of the whole claim: where it is refuted, how much noise the trials allow, and how much they would have detected.
fn of_the_claim(audited: &AuditResult) -> Vec<String> {
    let mut findings: Vec<String> = audited.against.iter().map(|against| curve(audited, against)).collect();
    let limit = audited.against.and_then(|against| against.noise_at_most);
    match (audited.power, audited.against, limit) {
        (None, ..) | (_, None, _) => {}
        (Some(_), Some(_), None) => findings.push("These trials exclude no amount of noise.".to_owned()),
        (Some(_), Some(_), Some(limit)) => findings.push(missing_noise(audited).unwrap_or_else(|| {
            format!(
                "These trials exclude noise above {}× declared. The closer this limit is to 1, the stronger the attack was.",
                decimal::up(limit, 3)
            )
        })),
    }
    // A test that ended early would have detected more with the trials that it did not need.
    let ended_early = audited.is_refuted() && matches!(audited.terms.method, Method::Sequential { .. });
    findings.extend(audited.power.filter(|_| !ended_early).map(|power| match power.detects_noise_below {
        Some(below) => format!(
            "With this many trials, an optimal attack detects noise below {}× declared with {}% probability. The attack that was run may \
             detect less.",
            decimal::down(below, 2),
            decimal::nearest(100.0 * power.probability, 3)
        ),
        None => "With so few trials, even an optimal attack detects no missing noise.".to_owned(),
    }));
    findings
}

/// Whether the claimed curve is refuted, and where.
fn curve(audited: &AuditResult, against: &CurveTest) -> String {
    let refuted = if audited.is_refuted() {
        "The claim is refuted"
    } else {
        "Without retries the claim would be refuted"
    };
    match (against.fallen, against.counted) {
        (Some(Refutation::Threshold { alarms, misses, promised }), _) => format!(
            "{refuted} at a threshold: at a false-positive rate of at most {} it implies a false-negative rate of at least {}, but the \
             attack achieves at most {}, which is {} below its curve.",
            decimal::up(alarms, 3),
            decimal::down(promised, 3),
            decimal::up(misses, 3),
            decimal::down(promised - misses, 2)
        ),
        (Some(Refutation::Guesses { most }), CountSummary::Ends { guesses, .. }) => format!(
            "{refuted} by guesses: it allows at most {} of {} to be correct, but {} were.",
            grouped(most),
            grouped(guesses.guesses()),
            grouped(guesses.correct())
        ),
        (Some(Refutation::Guesses { most }), _) => {
            format!("{refuted} by guesses: it allows at most {} to be correct.", grouped(most))
        }
        (Some(Refutation::Runs { runs, epsilon, delta }), _) => format!(
            "{refuted} at its point ε = {}, δ = {}: after {} runs, a betting test on their guesses had a wealth of more than {}.",
            decimal::up(epsilon, 3),
            decimal::up(delta, 3),
            grouped(runs),
            decimal::down(1.0 / audited.evidence.significance, 4)
        ),
        (Some(Refutation::Bets { trials }), _) => format!(
            "{refuted} by a betting test: after {} trials its wealth was more than {}.",
            grouped(trials),
            decimal::down(1.0 / audited.evidence.significance, 4)
        ),
        (None, _) if !against.is_able => {
            "So few trials cannot refute the claimed curve, whatever the scores.".to_owned()
        }
        (None, CountSummary::Threshold { .. }) => {
            "The trials are consistent with the claimed curve: at no threshold are the error rates proven to be below it."
                .to_owned()
        }
        (None, CountSummary::Ends { guesses, .. }) => format!(
            "The trials are consistent with the claimed curve: {} of {} guesses were correct, which it allows.",
            grouped(guesses.correct()),
            grouped(guesses.guesses())
        ),
        (None, CountSummary::Bets { trials, log_wealth }) => format!(
            "The trials are consistent with the claimed curve: after {} trials, the betting test has a wealth of {}.",
            grouped(trials),
            decimal::nearest(log_wealth.exp(), 3)
        ),
    }
}

fn done(audited: &AuditResult) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact("Subject", audited.note.description.clone()),
        fact("Attack", audited.note.attack.clone()),
        fact("Attacker's access", audited.note.access.clone()),
        fact(
            "Claim",
            format!(
                "ε ≤ {} at δ = {}",
                decimal::up(claimed(audited), 6),
                decimal::nearest(audited.claim.delta.get(), 6)
            ),
        ),
        fact("Adjacency", adjacency(audited.claim.adjacency).to_owned()),
        fact("Lower bound", format!("ε ≥ {}", decimal::down(shown(audited), 6))),
        fact(
            "Largest ε that so many trials could show",
            decimal::down(audited.evidence.shown.ceiling.get(), 6),
        ),
        fact(
            "Method",
            format!("{}: {}", audited.terms.method.name(), audited.evidence.shown.basis.describe()),
        ),
        fact("Confidence", format!("{}%", confidence(audited))),
        fact("Trials", trials(audited)),
        fact("Seed", audited.terms.seed.to_string()),
        fact("Failed trials", failed(audited)),
    ];
    if let Ok(Some(DeviceNote { name })) = DeviceNote::stated_in(&audited.note) {
        facts.push(fact("Trained on", format!("{name} (integer arithmetic, bit-identical on any CPU)")));
    }
    match audited.against {
        Some(against) => facts.extend([
            fact("Guesses in the test of the claim", counted(&against.counted)),
            fact("Guesses for the lower bound", counted(&audited.evidence.counted)),
        ]),
        None => facts.push(fact("Evidence", counted(&audited.evidence.counted))),
    }
    if let Some(mechanism) = &audited.mechanism {
        let (mechanism, adjacency) = (mechanism.clone(), audited.claim.adjacency);
        let declared = Subject { mechanism, adjacency, unit: PrivacyUnit::default() };
        facts.insert(4, fact("Claimed mechanism", declared.describe()));
    }
    // The data, the model and everything else that a trial depends on, as in the protocol of the audit.
    facts.extend(audited.note.settings.iter().map(|(name, value)| (name.replace('_', " "), setting(value))));
    if audited.was_retried {
        facts.push(fact(
            "Retries",
            "some failed trials were retried, so this audit refutes nothing".to_owned(),
        ));
    }
    facts
}

/// The date by the machine's clock. Nothing else on the page depends on a clock.
fn today() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    moment::written(since.as_secs(), 0).chars().take_while(|c| *c != 'T').collect()
}

/// A setting in one line.
fn setting(value: &Value) -> String {
    const LONGEST: usize = 600;
    let text = value.as_str().map_or_else(|| without_nulls(value).to_string(), str::to_owned);
    let line = printable(&text, LONGEST);
    if line.chars().count() < text.chars().count() { line + " …" } else { line }
}

/// The same without the fields of objects that were left out.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let stated = fields.iter().filter(|(_, field)| !field.is_null());
            Value::Object(stated.map(|(name, field)| (name.clone(), without_nulls(field))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

/// The outcome of the guesses.
fn counted(counted: &CountSummary) -> String {
    match *counted {
        CountSummary::Threshold { counts, threshold } => format!(
            "{} of {} canaries detected, {} of {} false positives, at threshold {}",
            grouped(counts.true_positives),
            grouped(counts.ins()),
            grouped(counts.false_positives),
            grouped(counts.outs()),
            decimal::nearest(threshold, 6)
        ),
        CountSummary::Ends { guesses, highest, lowest } => format!(
            "of {} canaries, {} with high scores were guessed included and {} with low scores excluded: {} correct, {} wrong",
            grouped(guesses.canaries()),
            grouped(highest),
            grouped(lowest),
            grouped(guesses.correct()),
            grouped(guesses.guesses() - guesses.correct())
        ),
        CountSummary::Bets { trials, .. } => format!("betting test over {} trials", grouped(trials)),
    }
}

/// The number of trials in each world.
fn trials(audited: &AuditResult) -> String {
    let (all, by) = (audited.terms.trials.get(), audited.failed);
    // A run with several canaries includes some and excludes the others.
    let what = if by.ins + by.outs == all { "" } else { "canaries " };
    format!("{}: {what}{} included and {} excluded", grouped(all), grouped(by.ins), grouped(by.outs))
}

/// How many of them failed, by world.
fn failed(audited: &AuditResult) -> String {
    let by = audited.failed;
    let counts =
        format!("{} of {} with the canary, {} of {} without", by.failed_in, by.ins, by.failed_out, by.outs);
    if by.failed() == 0 {
        return counts;
    }
    let treated = match audited.terms.method {
        Method::ManyRuns { .. } => "all guesses on their canaries count as wrong",
        method if method.counts_failures() => {
            "a failure counts as an outcome that can be evidence for the canary"
        }
        _ => "each counted as a wrong guess",
    };
    let p_value = by.imbalance();
    let uneven = if p_value < 0.01 {
        format!(
            "; failures depend on the canary (p = {}), so failing leaks information",
            decimal::up(p_value, 2)
        )
    } else {
        String::new()
    };
    format!("{counts}; {treated}{uneven}")
}

fn adjacency(adjacency: Adjacency) -> &'static str {
    match adjacency {
        Adjacency::AddRemove => "add-remove: the two datasets differ by one additional record",
        Adjacency::ReplaceOne => "replace-one: the two datasets differ in the value of one record",
        Adjacency::ZeroOut => "zero-out: one record of the first dataset is blank in the second",
    }
}

fn assumptions(audited: &AuditResult) -> Vec<String> {
    let kind = audited.note.kind.as_str();
    let mut points = vec![
        if [recorded::KIND, trained_model::KIND].contains(&kind) {
            "Scores were recorded elsewhere. The authors of the recording state that trials are independent and that the method was \
             fixed before the first score was seen."
        } else {
            match audited.terms.method {
                Method::Sequential { .. } => {
                    "A fair coin flip decided whether each trial included the canary, independently of everything that the subject had \
                     access to. Scores may drift over time and depend on earlier trials. The method was fixed before the first trial."
                }
                _ => {
                    "Trials are independent, each with its own randomness. The method was fixed before the first trial."
                }
            }
        }
        .to_owned(),
        "The lower bound holds for the subject as it ran here, with these canaries. The true ε may be higher.".to_owned(),
        format!("The lower bound is {}.", audited.evidence.shown.basis.describe()),
    ];
    if let CountSummary::Ends { .. } = audited.evidence.counted {
        points.push(match audited.terms.method {
            Method::ManyRuns { rule: RunGuesses::One(_), .. } => {
                "Each canary was included independently with probability ½. The scores of all runs decide which canaries are guessed, \
                 and the number of guesses was fixed in advance. Runs are independent."
                    .to_owned()
            }
            Method::ManyRuns { rule: RunGuesses::Past, .. } => {
                "Each canary was included independently with probability ½. The scores of its run and of earlier runs decide which \
                 canaries are guessed."
                    .to_owned()
            }
            _ => "Each canary was included independently with probability ½, and the number of guesses was fixed in advance.".to_owned(),
        });
    }
    if audited.note.settings.get("retries").is_some_and(|retries| retries != "0") {
        points.push(
            "Commands that failed were retried with the same seed, on the assumption that failures do not depend on the data."
                .to_owned(),
        );
    }
    if kind != mechanism::KIND {
        points.push(
            "This report was computed from the records without protection, so the claim does not cover it. Share it only with people \
             who may see the records."
                .to_owned(),
        );
    }
    if kind == "training" {
        points.push("The audited training runs draw their noise from a seed, so that they can be repeated. A released model draws it from the operating system.".to_owned());
    }
    points
}

#[cfg(test)]
mod tests {
    use super::super::{
        AuditDone, AuditSettings, Case, Record, Trials, audit, certificate::certify, protocol::sample,
    };
    use super::pictures::{counted as scores_of, curve};
    use super::*;
    use veracity_account::claims::Subject;
    use veracity_audit::{Scores, World, bound::sequential::Rounds, worlds};
    use veracity_core::{Count, Delta, Mechanism, NoiseMultiplier};

    /// An audit of 200 trials, `failed` of them without a score, of a claim that is `below` under what is shown.
    fn audited(failed: u64, below: f64) -> (AuditResult, Vec<Observation>) {
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
    fn a_world_without_trials_draws_no_errors() {
        assert_eq!(curve(&Scores::new(vec![0.5; 7], Vec::new()).unwrap()), []);
        let (mut found, mut seen) = audited(0, 1.0);
        seen.retain(|told| told.world == World::In);
        found.against = None;
        let text = page(&found, &seen, Vec::new()).unwrap().render();
        assert!(
            text.contains("A world without trials has no error rate")
                && !text.contains("upper confidence limit")
        );
    }

    #[test]
    fn failed_trials_are_errors_in_the_picture_too() {
        let (found, seen) = audited(20, 1.0);
        // At no threshold are there fewer errors than failures, about a tenth in each world: coins choose the worlds.
        let best = curve(&scores_of(&seen).unwrap())
            .into_iter()
            .map(|(alarms, misses)| alarms.max(misses))
            .fold(1.0, f64::min);
        let least = |failed: u64, of: u64| failed as f64 / of as f64;
        let by = found.failed;
        let failed = least(by.failed_in, by.ins).max(least(by.failed_out, by.outs));
        assert!(failed > 0.05 && (best - failed).abs() < 1e-9, "{best} {failed}");
        let text = page(&found, &seen, Vec::new()).unwrap().render();
        assert!(
            text.contains("can be evidence for the canary")
                && text.contains("lie in or below the shaded band")
        );
        assert!(text.contains("only with people who may see the records"));
    }

    /// An audit of Gaussian noise of multiplier 1 to which `part` of it is added, and its page.
    fn gaussian(part: f64, trials: u64, method: Option<Method>) -> (AuditResult, Vec<Observation>, String) {
        let declared =
            Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0).unwrap() });
        let (delta, trials) = (Delta::new(1e-5).unwrap(), Count::new(trials).unwrap());
        let case = Case::mechanism(&declared, part, None, delta, 1, trials).unwrap();
        let settings = AuditSettings { method, ..AuditSettings::default() };
        let AuditDone::Judged { audited, trials, .. } = audit(&case, &settings).unwrap() else { panic!() };
        let seen = trials.observations();
        let text = page(&audited, &seen, Vec::new()).unwrap().render();
        (*audited, seen, text)
    }

    #[test]
    fn a_refuted_curve_shows_where_and_how_much_noise_is_missing() {
        let (found, _, text) = gaussian(0.4, 600, None);
        assert!(found.is_refuted());
        let Some(Refutation::Threshold { misses, promised, .. }) = found.against.unwrap().fallen else {
            panic!()
        };
        let gap = decimal::down(promised - misses, 2);
        for expected in [
            "lead alarm".to_owned(),
            format!("{gap} below its curve"),
            format!("refuted here, {gap} below the claim</text>"),
            "The mechanism adds at most 0.".to_owned(),
            "declared with 90% probability".to_owned(),
            "upper confidence limit, 99%</text>".to_owned(),
            format!("{} included and {} excluded", found.failed.ins, found.failed.outs),
            format!("0 of {} with the canary, 0 of {} without", found.failed.ins, found.failed.outs),
        ] {
            assert!(text.contains(&expected), "{expected}");
        }
        // The lower bound on ε is below the claim: the report does not say that it refutes the claim.
        assert!(shown(&found) > claimed(&found) || !text.contains("is observed"));
    }

    #[test]
    fn an_inconclusive_audit_has_a_tone_of_its_own() {
        let (found, _, text) = gaussian(1.0, 4, None);
        assert!(matches!(found.verdict, Verdict::CannotTell { .. }), "{:?}", found.verdict);
        assert!(text.contains("lead doubt") && text.contains("4 trials cannot refute it"));
        assert!(
            text.contains("cannot refute the claimed curve")
                && !text.contains("consistent with the claimed curve")
        );
    }

    /// The bets that are drawn are those that judged, and no band is drawn of trials that ended when they had seen enough.
    #[test]
    fn bets_are_drawn_as_they_were_made() {
        for part in [0.3, 1.0] {
            let (found, seen, text) =
                gaussian(part, 600, Some(Method::Sequential { group: Count::ONE, rounds: Rounds::Trials }));
            let CountSummary::Bets { trials, log_wealth } = found.against.unwrap().counted else { panic!() };
            let drawn = pictures::log_wealth(&found, &seen).unwrap();
            assert_eq!(drawn.last().copied(), Some((trials as f64, log_wealth)));
            assert_eq!(found.is_refuted(), part < 1.0);
            assert!(text.contains("refuted at 100</text>") && !text.contains("upper confidence limit"));
            assert!(
                !(found.is_refuted() && text.contains("trials allow")),
                "a refuted level of noise is not allowed"
            );
        }
    }
}
