//! The report of an audit as one page: the verdict, what was proved and what was shown, the scores behind it, what that rests
//! on, and how to compute it again.

mod pictures;

use crate::{
    Against, Audited, Counted, DeviceNote, Fallen, Method, Observation,
    subjects::{mechanism, recorded, trained_model},
};
use veracity_core::{Adjacency, Refusal, Verdict};
use veracity_report::{
    decimal,
    html::{self, Block, Command, Note, Page, Section, Tone},
};

/// Digits of a bound.
const DIGITS: usize = 4;

/// The page of an audit. `recompute` are command lines that lead to the same verdict.
pub fn page(audited: &Audited, seen: &[Observation], recompute: Vec<Command>) -> Result<Page, Refusal> {
    let bounds =
        if audited.proved.is_some() { "Between two bounds" } else { "What was shown, and what is claimed" };
    let mut sections = vec![
        Section::new(bounds, vec![Block::Figures(vec![pictures::between(audited)])]),
        Section::new("What the attacker saw", vec![Block::Figures(pictures::scores(audited, seen)?)]),
        Section::new("What was done", vec![Block::Facts(done(audited))]),
        Section::new("What this rests on", vec![Block::Points(assumptions(audited))]),
    ];
    let told = of_the_claim(audited);
    if !told.is_empty() {
        sections.insert(1, Section::new("What this says of the claim", vec![Block::Points(told)]));
    }
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

/// The verdict and the pictures of the page, as an element for a notebook.
pub fn fragment(audited: &Audited, seen: &[Observation]) -> Result<String, Refusal> {
    let mut figures = vec![pictures::between(audited)];
    figures.extend(pictures::scores(audited, seen)?);
    Ok(html::fragment(&lead(audited), &[Block::Figures(figures)]))
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
        Verdict::Refuted { shown: what } => Note {
            tone: Tone::Alarm,
            text: format!(
                "Refuted: {}.{} Such a result comes about by chance at most {chance}% of the time if the claim is true.",
                if what.0 > audited.claim.epsilon.0 {
                    format!("ε\u{a0}≤\u{a0}{claim} was claimed, but the attack shows ε\u{a0}≥\u{a0}{found}")
                } else {
                    format!(
                        "ε\u{a0}≤\u{a0}{claim} was claimed, but the attacker errs less than the claimed curve allows"
                    )
                },
                missing_noise(audited).map_or(String::new(), |limit| format!(" {limit}"))
            ),
        },
        Verdict::CannotTell { .. } => Note {
            tone: Tone::Doubt,
            text: format!("Not able to tell: ε\u{a0}≤\u{a0}{claim} was claimed, and {}.", why_not(audited)),
        },
        Verdict::NotRefuted { ceiling, .. } => Note {
            tone: Tone::Plain,
            text: format!(
                "Not refuted: ε\u{a0}≤\u{a0}{claim} was claimed, and the attack shows ε\u{a0}≥\u{a0}{found}{condition}. {}. That is \
                 no proof that the claim is true: another attack may show more.",
                match audited.caught.and_then(|caught| caught.noise_below) {
                    Some(below) =>
                        format!("This audit catches noise below {} of the declared", decimal::down(below, 2)),
                    None => format!("It could have shown up to {}", decimal::down(ceiling.get(), DIGITS)),
                }
            ),
        },
    }
}

/// Why an audit is not able to tell, and what would be.
fn why_not(audited: &Audited) -> String {
    match (audited.against, audited.caught) {
        (Some(against), Some(caught)) if against.is_able => {
            let below = caught.noise_below.map_or("no missing noise".to_owned(), |below| {
                format!("noise below {} of the declared", decimal::down(below, 2))
            });
            let limit = against.noise_at_most.map_or("any noise".to_owned(), |limit| {
                format!("up to {} of the declared", decimal::up(limit, 3))
            });
            format!(
                "the audit was required to catch more than it does: so many trials catch {below}, and those seen still allow {limit}. \
                 More trials, or a stronger attack, can tell"
            )
        }
        _ => format!(
            "{} trials cannot refute it whatever the truth is, not even by an attacker who never errs. More trials can",
            audited.terms.trials.get()
        ),
    }
}

/// How much of the declared noise is there at most, where that is less than all of it.
fn missing_noise(audited: &Audited) -> Option<String> {
    match audited.against?.noise_at_most? {
        limit if limit < 1.0 => {
            Some(format!("At most {} of the declared noise is there.", decimal::up(limit, 3)))
        }
        // What falls is not there: the limit itself is out.
        _ if audited.is_refuted() => Some("Less than all of the declared noise is there.".to_owned()),
        _ => None,
    }
}

/// What the trials say of the whole claim: where it falls, how much noise they allow, and what they would have caught.
fn of_the_claim(audited: &Audited) -> Vec<String> {
    let mut told: Vec<String> = audited.against.iter().map(|against| curve(audited, against)).collect();
    let limit = audited.against.and_then(|against| against.noise_at_most);
    match (audited.caught, audited.against, limit) {
        (None, ..) | (_, None, _) => {}
        (Some(_), Some(_), None) => told.push("These trials set no limit on the noise.".to_owned()),
        (Some(_), Some(_), Some(limit)) => told.push(missing_noise(audited).unwrap_or_else(|| {
            format!("These trials still allow up to {} times the declared noise.", decimal::up(limit, 3))
        })),
    }
    // A test that ended early would have caught more by the trials that it did not need.
    let ended_early = audited.is_refuted() && matches!(audited.terms.method, Method::Sequential { .. });
    told.extend(audited.caught.filter(|_| !ended_early).map(|caught| match caught.noise_below {
        Some(below) => format!(
            "Noise below {} of the declared is caught by so many trials with chance {}%, if the attack is as good as can be.",
            decimal::down(below, 2),
            decimal::nearest(100.0 * caught.chance, 3)
        ),
        None => "No missing noise is caught by so few trials.".to_owned(),
    }));
    told
}

/// Whether the claimed curve falls, and where.
fn curve(audited: &Audited, against: &Against) -> String {
    let falls = if audited.is_refuted() { "The claim falls" } else { "Without retries the claim would fall" };
    match (against.fallen, against.counted) {
        (Some(Fallen::Threshold { alarms, misses, promised }), _) => format!(
            "{falls} at a threshold: beside at most {} false alarms it promises at least {} misses, and there are at most {}, which \
             is {} below its curve.",
            decimal::up(alarms, 3),
            decimal::down(promised, 3),
            decimal::up(misses, 3),
            decimal::down(promised - misses, 2)
        ),
        (Some(Fallen::Guesses { most }), Counted::Ends { guesses, .. }) => format!(
            "{falls} by guesses: it lets at most {most} of {} be right, and {} were.",
            guesses.guesses(),
            guesses.correct()
        ),
        (Some(Fallen::Guesses { most }), _) => {
            format!("{falls} by guesses: it lets at most {most} be right.")
        }
        (Some(Fallen::Runs { runs, epsilon, delta }), _) => format!(
            "{falls} at its point ε = {}, δ = {}: after {runs} runs, bets on their guesses had made more than {} out of 1.",
            decimal::up(epsilon, 3),
            decimal::up(delta, 3),
            decimal::down(1.0 / audited.evidence.significance, 4)
        ),
        (Some(Fallen::Bets { pairs }), _) => format!(
            "{falls} by bets: after {pairs} pairs of trials they had made more than {} out of 1.",
            decimal::down(1.0 / audited.evidence.significance, 4)
        ),
        (None, _) if !against.is_able => {
            "So few trials could not have made the claimed curve fall, whatever the truth is.".to_owned()
        }
        (None, Counted::Threshold { .. }) => {
            "The claimed curve stands: nowhere is it shown that the attacker errs less than it allows."
                .to_owned()
        }
        (None, Counted::Ends { guesses, .. }) => format!(
            "The claimed curve stands: {} of {} guesses were right, which it allows.",
            guesses.correct(),
            guesses.guesses()
        ),
        (None, Counted::Pairs { pairs, log_wealth }) => format!(
            "The claimed curve stands: bets against it made {} out of 1 in {pairs} pairs of trials.",
            decimal::nearest(log_wealth.exp(), 3)
        ),
    }
}

fn done(audited: &Audited) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
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
        fact("Trials", trials(audited)),
        fact("Failed trials", failed(audited)),
    ];
    if let Ok(Some(DeviceNote { name })) = DeviceNote::stated_in(&audited.note) {
        facts.push(fact(
            "Trained on",
            format!("{name}, in whole numbers; any cores repeat a trial to the bit"),
        ));
    }
    match audited.against {
        Some(against) => facts.extend([
            fact("Counted against the claim", counted(&against.counted)),
            fact("Counted for what is shown", counted(&audited.evidence.counted)),
        ]),
        None => facts.push(fact("Counted", counted(&audited.evidence.counted))),
    }
    if audited.was_retried {
        facts.push(fact(
            "Tried again",
            "some of the trials that had failed, so nothing is refuted".to_owned(),
        ));
    }
    facts
}

/// How guesses came out.
fn counted(counted: &Counted) -> String {
    match *counted {
        Counted::Threshold { counts, threshold } => format!(
            "{} of {} canaries found, {} of {} false alarms, at threshold {}",
            counts.true_positives,
            counts.ins(),
            counts.false_positives,
            counts.outs(),
            decimal::nearest(threshold, 6)
        ),
        Counted::Ends { guesses, highest, lowest } => format!(
            "of {} canaries, {highest} with high scores were guessed “in” and {lowest} with low ones “out”: {} right, {} wrong",
            guesses.canaries(),
            guesses.correct(),
            guesses.guesses() - guesses.correct()
        ),
        Counted::Pairs { pairs, .. } => format!("{pairs} pairs of trials, one from either world"),
    }
}

/// How many trials there were of either world.
fn trials(audited: &Audited) -> String {
    let (all, by) = (audited.terms.trials.get(), audited.failed);
    // Of several canaries in a run some are in and some out.
    let what = if by.ins + by.outs == all { "" } else { "canaries " };
    format!("{all}: {what}{} in and {} out", by.ins, by.outs)
}

/// How many of them failed, by world.
fn failed(audited: &Audited) -> String {
    let by = audited.failed;
    let counts =
        format!("{} of {} with the canary, {} of {} without", by.failed_in, by.ins, by.failed_out, by.outs);
    if by.failed() == 0 {
        return counts;
    }
    let treated = match audited.terms.method {
        Method::Sequential { .. } => "a failure is an outcome that may be bet on",
        Method::ManyRuns { .. } => "nothing was guessed about them",
        Method::Threshold { .. } | Method::Gaussian { .. } | Method::ManyCanaries { .. } => {
            "each counted as a wrong guess"
        }
    };
    let chance = by.imbalance();
    let uneven = if chance < 0.01 {
        format!("; so uneven by chance {}: failing tells of the canary", decimal::up(chance, 2))
    } else {
        String::new()
    };
    format!("{counts}; {treated}{uneven}")
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
        points.push(match audited.terms.method {
            Method::ManyRuns { .. } => {
                "Each canary was in or out by a fair coin of its own; which are guessed follows from the scores of its run and of \
                 earlier ones."
                    .to_owned()
            }
            _ => "Each canary was in or out by a fair coin of its own, and how many are guessed was fixed beforehand.".to_owned(),
        });
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
    use super::super::{
        AuditDone, AuditSettings, Case, Record, Trials, audit, certificate::certify, protocol::sample,
    };
    use super::pictures::{counted as scores_of, curve};
    use super::*;
    use veracity_audit::{Scores, World, worlds};
    use veracity_claims::Subject;
    use veracity_core::{Count, Delta, Mechanism, NoiseMultiplier};

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
    fn a_world_without_trials_draws_no_errors() {
        assert_eq!(curve(&Scores::new(vec![0.5; 7], Vec::new()).unwrap()), []);
        let (mut found, mut seen) = audited(0, 1.0);
        seen.retain(|told| told.world == World::In);
        found.against = None;
        let text = page(&found, &seen, Vec::new()).unwrap().render();
        assert!(text.contains("A world without trials shows no errors") && !text.contains("up to its limit"));
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
        assert!(text.contains("each counted as a wrong guess") && text.contains("they may lie below it"));
        assert!(text.contains("for those who may see the records"));
    }

    /// An audit of Gaussian noise of multiplier 1 to which `part` of it is added, and its page.
    fn gaussian(part: f64, trials: u64, method: Option<Method>) -> (Audited, Vec<Observation>, String) {
        let declared =
            Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0).unwrap() });
        let (delta, trials) = (Delta::new(1e-5).unwrap(), Count::new(trials).unwrap());
        let case = Case::mechanism(&declared, part, None, delta, 1, trials).unwrap();
        let settings = AuditSettings { method, ..AuditSettings::default() };
        let AuditDone::Judged { audited, trials, .. } = audit(&case, &settings, None).unwrap() else {
            panic!()
        };
        let seen = trials.observations();
        let text = page(&audited, &seen, Vec::new()).unwrap().render();
        (*audited, seen, text)
    }

    #[test]
    fn a_fallen_curve_shows_where_and_how_much_noise_is_missing() {
        let (found, _, text) = gaussian(0.5, 600, None);
        assert!(found.is_refuted());
        let Some(Fallen::Threshold { misses, promised, .. }) = found.against.unwrap().fallen else {
            panic!()
        };
        let gap = decimal::down(promised - misses, 2);
        for expected in [
            "lead alarm".to_owned(),
            format!("{gap} below its curve"),
            format!("where the claim falls: {gap} below it</text>"),
            "of the declared noise is there".to_owned(),
            "is caught by so many trials with chance 90%".to_owned(),
            "up to its limit, 99% confidence</text>".to_owned(),
            format!("{} in and {} out", found.failed.ins, found.failed.outs),
            format!("0 of {} with the canary, 0 of {} without", found.failed.ins, found.failed.outs),
        ] {
            assert!(text.contains(&expected), "{expected}");
        }
        // Less is shown of ε than is claimed: the page does not say that ε refutes.
        assert!(shown(&found) > claimed(&found) || !text.contains("but the attack shows"));
    }

    #[test]
    fn an_audit_that_cannot_tell_has_a_tone_of_its_own() {
        let (found, _, text) = gaussian(1.0, 4, None);
        assert!(matches!(found.verdict, Verdict::CannotTell { .. }), "{:?}", found.verdict);
        assert!(
            text.contains("lead doubt") && text.contains("4 trials cannot refute it whatever the truth is")
        );
        assert!(
            text.contains("could not have made the claimed curve fall") && !text.contains("curve stands")
        );
    }

    /// The bets that are drawn are those that judged, and no band is drawn of trials that ended when they had seen enough.
    #[test]
    fn bets_are_drawn_as_they_were_made() {
        for part in [0.3, 1.0] {
            let (found, seen, text) = gaussian(part, 600, Some(Method::Sequential { group: Count::ONE }));
            let Counted::Pairs { pairs, log_wealth } = found.against.unwrap().counted else { panic!() };
            let drawn = pictures::log_wealth(&found, &seen).unwrap();
            assert_eq!(drawn.last().copied(), Some((pairs as f64, log_wealth)));
            assert_eq!(found.is_refuted(), part < 1.0);
            assert!(text.contains("the claim falls at 100</text>") && !text.contains("up to its limit"));
            assert!(!(found.is_refuted() && text.contains("still allow")), "what is refuted is not allowed");
        }
    }
}
