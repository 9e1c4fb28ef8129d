//! The verdict of an audit, as text for people.

use crate::{
    Verdict,
    auditing::{AuditResult, CountSummary, DeviceNote, MethodNote, Refutation, round_distinctly},
};
use veracity_core::decimal::{down, grouped, nearest, up};
use veracity_core::printable;

/// Width of the column of labels.
const LABEL: usize = 14;

/// The verdict in one line.
pub fn headline(audited: &AuditResult) -> String {
    let (observed, claimed) = round_distinctly(audited);
    let basis = audited.evidence.shown.basis;
    // A bound that needs an assumption says so at once: it refutes nothing.
    let condition = if basis.may_refute() { String::new() } else { format!(" ({})", basis.describe()) };
    match audited.verdict {
        Verdict::Refuted { shown } => {
            let observed = match shown.0 > audited.claim.epsilon.0 {
                true => format!("ε ≥ {observed} observed, "),
                false => String::new(),
            };
            format!(
                "REFUTED: {observed}ε ≤ {claimed} claimed ({}% confidence).{}",
                confidence(audited),
                violation(audited)
            )
        }
        Verdict::NotRefuted { ceiling, .. } => format!(
            "NOT REFUTED: ε ≥ {observed} observed{condition}, ε ≤ {claimed} claimed. {}",
            match (audited.power, audited.against.and_then(|against| against.noise_at_most)) {
                (Some(_), Some(limit)) =>
                    format!("These trials exclude noise above {}× declared.", up(limit, 3)),
                (Some(_), None) => "These trials exclude no amount of noise.".to_owned(),
                (None, _) =>
                    format!("These trials could give a lower bound of at most {}.", down(ceiling.get(), 4)),
            }
        ),
        Verdict::CannotTell { .. } => format!("INCONCLUSIVE: {}", why_inconclusive(audited)),
    }
}

/// The verdict, the bounds and the claim, and the experiment behind them.
pub fn audit(audited: &AuditResult) -> String {
    let (observed, claimed) = round_distinctly(audited);
    let delta = nearest(audited.claim.delta.get(), 6);
    let at = |epsilon: &str| format!("ε {epsilon} at δ = {delta}");
    let method = MethodNote::of(audited.terms.method);
    let group =
        if method.group_size > 1 { format!(", groups of {}", method.group_size) } else { String::new() };
    let proved = audited.proved.map(|proved| at(&format!("≤ {}", up(proved.0.get(), 9))) + "   (accountant)");
    let claim =
        format!("{}   ({}, per example)", at(&format!("≤ {claimed}")), audited.claim.adjacency.name());
    let lower = format!(
        "{}   ({}% confidence, {})",
        at(&format!("≥ {observed}")),
        confidence(audited),
        audited.evidence.shown.basis.describe()
    );
    let evidence = format!(
        "{}   ({}, threshold {}{group})",
        counted(&audited.evidence.counted),
        method.bound,
        method.threshold
    );
    let rows = [
        ("upper bound", proved),
        ("claim", Some(claim)),
        ("lower bound", Some(lower)),
        ("curve", curve(audited)),
        ("noise", noise(audited)),
        ("power", power(audited)),
        ("", Some(String::new())),
        ("subject", Some(one_line(&audited.note.description))),
        ("attack", Some(one_line(&audited.note.attack))),
        ("device", device(audited)),
        ("trials", Some(trials(audited))),
        ("failed", failed(audited)),
        ("evidence", Some(evidence)),
        ("seed", Some(audited.terms.seed.to_string())),
    ];
    let lines = rows.into_iter().filter_map(|(label, value)| value.map(|value| row(label, &value)));
    format!("{}\n\n{}", headline(audited), lines.collect::<String>())
}

/// One line of the text of an audit: a label and its value.
pub fn row(label: &str, value: &str) -> String {
    format!("{}\n", format!("{label:LABEL$}{value}").trim_end())
}

/// The confidence of a lower bound and of a refutation, in percent.
fn confidence(audited: &AuditResult) -> String {
    nearest(100.0 - 100.0 * audited.evidence.significance, 15)
}

/// The device that trained the models, unless it was the CPU.
fn device(audited: &AuditResult) -> Option<String> {
    let device = DeviceNote::stated_in(&audited.note).ok()??;
    Some(format!("{}   (integer arithmetic, bit-identical on any CPU)", one_line(&device.name)))
}

/// Why an audit is inconclusive, and what would help.
fn why_inconclusive(audited: &AuditResult) -> String {
    let (observed, claimed) = round_distinctly(audited);
    if audited.falls_but_for_retries() {
        return "the trials contradict the claim, but some failed trials were retried, which can bias the evidence. \
                Run all trials again without retries."
            .to_owned();
    }
    if audited.hides_failures() {
        return format!(
            "trials fail more often {} the canary (p = {}), and {}. Run all trials again with the bound sequential and without \
             retries, so that a failure counts as evidence.",
            if audited.failed.is_worse_with() { "with" } else { "without" },
            up(audited.failed.imbalance(), 2),
            if audited.was_retried {
                "retries hide that"
            } else {
                "this bound counts a failure as a wrong guess"
            }
        );
    }
    match (audited.against, audited.power) {
        (Some(against), Some(power)) if against.is_able => {
            let below = power.detects_noise_below.map_or("no missing noise".to_owned(), |below| {
                format!("noise below {}× declared", down(below, 2))
            });
            let limit = against.noise_at_most.map_or("any amount of noise".to_owned(), |limit| {
                format!("up to {}× declared", up(limit, 3))
            });
            format!(
                "ε ≥ {observed} observed, ε ≤ {claimed} claimed. With this many trials an optimal attack detects {below}, and these \
                 trials allow {limit}. Run more trials or use a stronger attack."
            )
        }
        _ => format!(
            "{} trials cannot refute ε ≤ {claimed}, whatever the scores. Run more trials.",
            grouped(audited.terms.trials.get())
        ),
    }
}

/// The violated part of a refuted claim, as a sentence after the first one.
fn violation(audited: &AuditResult) -> String {
    let Some(against) = audited.against else { return String::new() };
    match against.noise_at_most {
        Some(limit) if limit < 1.0 => {
            format!(" The mechanism adds at most {}× the noise it declares.", up(limit, 3))
        }
        _ if against.fallen.is_some() => " The claimed trade-off curve is violated.".to_owned(),
        _ => String::new(),
    }
}

/// Whether the trials are consistent with the whole curve.
fn curve(audited: &AuditResult) -> Option<String> {
    let against = audited.against?;
    // Retried trials may violate a curve without refuting the claim.
    let verdict = if audited.is_refuted() { "refuted" } else { "violated" };
    let found = match against.fallen {
        None => "consistent with the claim".to_owned(),
        Some(Refutation::Threshold { alarms, misses, promised }) => format!(
            "{verdict}: at a false-positive rate of at most {} the claim implies a false-negative rate of at least {}, \
             but the attack achieves at most {}",
            up(alarms, 3),
            down(promised, 3),
            up(misses, 3),
        ),
        Some(Refutation::Guesses { most }) => {
            format!("{verdict}: the claim allows at most {} correct guesses", grouped(most))
        }
        Some(Refutation::Runs { runs, epsilon, delta }) => format!(
            "{verdict} after {} runs by a betting test, at the point ε = {}, δ = {}",
            grouped(runs),
            up(epsilon, 3),
            up(delta, 3),
        ),
        Some(Refutation::Bets { trials }) => {
            return Some(format!("{verdict} after {} trials by a betting test", grouped(trials)));
        }
    };
    let canaries = match against.counted {
        CountSummary::Ends { guesses, .. } => format!(", {} canaries", grouped(guesses.canaries())),
        CountSummary::Threshold { .. } | CountSummary::Bets { .. } => String::new(),
    };
    Some(format!("{found}   ({}{canaries})", counted(&against.counted)))
}

/// The limit on the noise by these trials, where noise is claimed.
fn noise(audited: &AuditResult) -> Option<String> {
    audited.power?;
    Some(match audited.against?.noise_at_most {
        Some(limit) => format!("at most {}× declared   ({}% confidence)", up(limit, 3), confidence(audited)),
        None => "no limit".to_owned(),
    })
}

/// The noise that an optimal attack would detect with this many trials. The attack at hand may detect less: see the limit on the noise.
fn power(audited: &AuditResult) -> Option<String> {
    let power = audited.power?;
    Some(match power.detects_noise_below {
        Some(below) => format!(
            "{}% to detect noise below {}× declared   (optimal attack)",
            nearest(100.0 * power.probability, 3),
            down(below, 2),
        ),
        None => "none: with so few trials, even an optimal attack detects no missing noise".to_owned(),
    })
}

/// The runs, and how many canaries were included.
fn trials(audited: &AuditResult) -> String {
    let (runs, by) = (audited.terms.trials.get(), audited.failed);
    let canaries = by.ins + by.outs;
    // With one canary per run, runs and canaries are the same.
    let canaries = if canaries == runs { String::new() } else { format!(", {} canaries", grouped(canaries)) };
    let plural = if runs == 1 { "" } else { "s" };
    format!(
        "{} run{plural}{canaries} ({} included, {} excluded)",
        grouped(runs),
        grouped(by.ins),
        grouped(by.outs)
    )
}

/// Failures with and without the canary, if there are any.
fn failed(audited: &AuditResult) -> Option<String> {
    let by = audited.failed;
    if by.failed() == 0 {
        return None;
    }
    let p_value = by.imbalance();
    let uneven = if p_value < 0.01 {
        format!("; failures depend on the canary (p = {}), so failing leaks information", up(p_value, 2))
    } else {
        String::new()
    };
    let again = if audited.was_retried { "; some were retried, so this audit refutes nothing" } else { "" };
    Some(format!(
        "{} of {} with the canary, {} of {} without{uneven}{again}",
        grouped(by.failed_in),
        grouped(by.ins),
        grouped(by.failed_out),
        grouped(by.outs)
    ))
}

fn counted(counted: &CountSummary) -> String {
    match counted {
        CountSummary::Threshold { counts, .. } => format!(
            "{} of {} canaries detected, {} of {} false positives",
            grouped(counts.true_positives),
            grouped(counts.ins()),
            grouped(counts.false_positives),
            grouped(counts.outs())
        ),
        CountSummary::Ends { guesses, .. } => {
            format!("{} of {} guesses correct", grouped(guesses.correct()), grouped(guesses.guesses()))
        }
        CountSummary::Bets { trials, .. } => format!("betting test over {} trials", grouped(*trials)),
    }
}

/// A text from a user may contain anything; what is printed of it is one line, however long.
fn one_line(text: &str) -> String {
    printable(text, usize::MAX)
}
