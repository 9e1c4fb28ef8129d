//! The verdict of an audit, in words.

use crate::{
    Verdict,
    auditing::{Audited, Counted, DeviceNote, Fallen, MethodNote, round_distinctly},
};
use veracity_report::decimal::{down, nearest, up};

/// The verdict in one line.
pub fn headline(audited: &Audited) -> String {
    let (shown, claimed) = round_distinctly(audited);
    let basis = audited.evidence.shown.basis;
    // A bound that leans on an assumption says so at once: it refutes nothing.
    let condition = if basis.may_refute() { String::new() } else { format!(" ({})", basis.describe()) };
    match audited.verdict {
        Verdict::Refuted { shown: found } if found.0 > audited.claim.epsilon.0 => format!(
            "REFUTED: observed epsilon ≥ {shown} > {claimed} claimed{}, chance of error ≤ {}%",
            noise(audited).map_or(String::new(), |limit| format!("; {limit}")),
            nearest(100.0 * audited.evidence.significance, 15)
        ),
        Verdict::Refuted { .. } => format!(
            "REFUTED: {}; claimed epsilon ≤ {claimed}, chance of error ≤ {}%",
            noise(audited).unwrap_or_else(|| "the claimed curve falls".to_owned()),
            nearest(100.0 * audited.evidence.significance, 15)
        ),
        Verdict::NotRefuted { ceiling, .. } => format!(
            "NOT REFUTED: observed epsilon ≥ {shown}{condition}, claimed {claimed}; this audit {}",
            match audited.caught.and_then(|caught| caught.noise_below) {
                Some(below) => format!("catches noise below {} of the declared", down(below, 2)),
                None => format!("could have shown up to {}", down(ceiling.get(), 4)),
            }
        ),
        Verdict::CannotTell { .. } => format!("NOT ABLE TO TELL: {}", why_not(audited)),
    }
}

/// The verdict, what was claimed and shown, and how that was found.
pub fn audit(audited: &Audited) -> String {
    let (shown, claimed) = round_distinctly(audited);
    let delta = nearest(audited.claim.delta.get(), 6);
    let chance = nearest(100.0 * audited.evidence.significance, 15);
    let proved = match audited.proved {
        Some(proved) => format!("proved   epsilon ≤ {} at delta {delta}\n", up(proved.0.get(), 9)),
        None => String::new(),
    };
    let method = MethodNote::of(audited.terms.method);
    let group =
        if method.group_size > 1 { format!(", groups of {}", method.group_size) } else { String::new() };
    format!(
        "{}\n\n\
         {proved}\
         claimed  epsilon ≤ {claimed} at delta {delta}   ({}, per example)\n\
         shown    epsilon ≥ {shown} at delta {delta}   (chance of error ≤ {chance}%; {})\n\
         {}{}\n\
         subject  {}\n\
         attack   {}\n\
         {}\
         trials   {}, {} in and {} out\n\
         {}\
         counted  {}   ({}, threshold {}{group})\n\
         seed     {}\n",
        headline(audited),
        audited.claim.adjacency.name(),
        audited.evidence.shown.basis.describe(),
        curve(audited),
        power(audited),
        one_line(&audited.note.description),
        one_line(&audited.note.attack),
        device(audited),
        audited.terms.trials.get(),
        audited.failed.ins,
        audited.failed.outs,
        failed(audited),
        counted(&audited.evidence.counted),
        method.bound,
        method.threshold,
        audited.terms.seed,
    )
}

/// Where models were trained, if not on the cores of a machine.
fn device(audited: &Audited) -> String {
    let Ok(Some(device)) = DeviceNote::stated_in(&audited.note) else { return String::new() };
    format!("device   {}   (in whole numbers; any cores repeat a trial to the bit)\n", one_line(&device.name))
}

/// Why an audit is not able to tell, and what would be.
fn why_not(audited: &Audited) -> String {
    let (shown, claimed) = round_distinctly(audited);
    match (audited.against, audited.caught) {
        (Some(against), Some(caught)) if against.is_able => {
            let below = caught.noise_below.map_or("no noise at all".to_owned(), |below| {
                format!("noise below {} of the declared", down(below, 2))
            });
            let limit = against
                .noise_at_most
                .map_or("any noise".to_owned(), |limit| format!("up to {} of the declared", up(limit, 3)));
            format!(
                "observed epsilon ≥ {shown}, claimed {claimed}; so many trials catch {below}, and those seen still allow {limit}; \
                 more trials or a stronger attack can tell"
            )
        }
        _ => format!(
            "{} trials cannot refute epsilon ≤ {claimed} whatever the truth is; more trials can",
            audited.terms.trials.get()
        ),
    }
}

/// The limit on noise of a claim that is refuted, in words.
fn noise(audited: &Audited) -> Option<String> {
    Some(match audited.against?.noise_at_most? {
        limit if limit < 1.0 => format!("at most {} of the declared noise is there", up(limit, 3)),
        // What falls is not there: the limit itself is out.
        _ => "less than all of the declared noise is there".to_owned(),
    })
}

/// What the trials say of the whole curve.
fn curve(audited: &Audited) -> String {
    let Some(against) = audited.against else { return String::new() };
    let fell = match against.fallen {
        None => format!("stands   ({})", counted(&against.counted)),
        Some(Fallen::Threshold { alarms, misses, promised }) => format!(
            "falls: beside ≤ {} false alarms it promises ≥ {} misses, and there are ≤ {}   ({})",
            up(alarms, 3),
            down(promised, 3),
            up(misses, 3),
            counted(&against.counted)
        ),
        Some(Fallen::Guesses { most }) => {
            format!("falls: it lets at most {most} guesses be right   ({})", counted(&against.counted))
        }
        Some(Fallen::Runs { runs, epsilon, delta }) => format!(
            "falls after {runs} runs at its point epsilon {}, delta {}, by bets on their guesses   ({})",
            up(epsilon, 3),
            up(delta, 3),
            counted(&against.counted)
        ),
        Some(Fallen::Bets { pairs }) => format!("falls after {pairs} pairs of trials, by bets against it"),
    };
    let limit = match (audited.caught, against.noise_at_most) {
        (None, _) => String::new(),
        (Some(_), Some(limit)) => {
            format!("noise    at most {} of the declared, by these trials\n", up(limit, 3))
        }
        (Some(_), None) => "noise    no limit by these trials\n".to_owned(),
    };
    format!("curve    {fell}\n{limit}")
}

/// What so many trials catch.
fn power(audited: &Audited) -> String {
    let Some(caught) = audited.caught else { return String::new() };
    match caught.noise_below {
        Some(below) => format!(
            "power    noise below {} of the declared is caught with chance {}%, by an attack as good as can be\n",
            down(below, 2),
            nearest(100.0 * caught.chance, 3)
        ),
        None => "power    no missing noise is caught by so few trials\n".to_owned(),
    }
}

/// Failures by world, where there are any.
fn failed(audited: &Audited) -> String {
    let by = audited.failed;
    if by.failed() == 0 {
        return String::new();
    }
    let chance = by.imbalance();
    let uneven = if chance < 0.01 {
        format!("; so uneven by chance {}: failing tells of the canary", up(chance, 2))
    } else {
        String::new()
    };
    let again = if audited.was_retried { "; some were tried again, so nothing is refuted" } else { "" };
    format!(
        "failed   {} of {} with the canary, {} of {} without{uneven}{again}\n",
        by.failed_in, by.ins, by.failed_out, by.outs
    )
}

fn counted(counted: &Counted) -> String {
    match counted {
        Counted::Threshold { counts, .. } => format!(
            "{} of {} canaries found, {} of {} false alarms",
            counts.true_positives,
            counts.ins(),
            counts.false_positives,
            counts.outs()
        ),
        Counted::Ends { guesses, .. } => format!(
            "{} canaries, {} guesses, {} of them right",
            guesses.canaries(),
            guesses.guesses(),
            guesses.correct()
        ),
        Counted::Pairs { pairs, .. } => format!("{pairs} pairs of trials"),
    }
}

/// What a user wrote may be anything; what is printed of it is one line, however long.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
