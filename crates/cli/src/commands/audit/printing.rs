//! A verdict as text, as JSON, and in the files that were asked for.

use super::ci::{self, CameTo, Told};
use crate::{Ending, Outcome, console::painted, text};
use std::path::{Path, PathBuf};
use veracity::{
    AuditDone, Case, Error, Verdict,
    auditing::{
        AuditProtocol, Audited, Counted, Fallen, Keep, MethodNote, Trials,
        certificate::{self, Number},
        journal::REPORT,
        round_distinctly,
    },
    report::decimal::{down, nearest, up},
    saving::replace,
};

/// Whether JSON is wanted, and where JUnit and SARIF go.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// One JSON object.
    pub is_json: bool,
    /// A test case for machines.
    pub junit: &'a Option<PathBuf>,
    /// A result for machines.
    pub sarif: &'a Option<PathBuf>,
    /// The file that the result is shown at [default: the report].
    pub about: Option<&'a Path>,
}

impl Output<'_> {
    /// Writes what an audit came to where machines look for it. What is there of an earlier audit would mislead.
    pub fn tell(&self, told: Told<'_>, kept: &Keep) -> Result<(), Error> {
        if let Some(path) = self.junit {
            replace("junit", path, ci::junit(told).as_bytes(), ci::is_junit)?;
        }
        if let Some(path) = self.sarif {
            let place = ci::place(self.about, kept);
            replace("sarif", path, ci::sarif(told, &place)?.as_bytes(), ci::is_sarif)?;
        }
        Ok(())
    }
}

/// Says that an audit was not begun, since so many trials cannot catch what they must.
pub fn too_little(case: &Case, planned: TooLittle, kept: &Keep, output: Output) -> Result<Outcome, Error> {
    let TooLittle { trials, require, needed } = planned;
    let line = format!(
        "NOT ABLE TO TELL: {trials} trials do not catch noise of {require} of the declared; about {needed} do"
    );
    output.tell(Told { note: &case.note, came_to: CameTo::CannotTell, line: &line }, kept)?;
    let text = match output.is_json {
        true => text::json(&serde_json::json!({
            "schema": "veracity.audit-plan/1",
            "verdict": "cannot-tell",
            "require": require,
            "trials": trials,
            "trials_needed": needed,
            "subject": case.note,
        }))?,
        false => painted(&format!("{line}\n")),
    };
    Ok(Outcome { text, ending: Ending::CannotTell })
}

/// A plan that cannot catch what it must.
#[derive(Debug, Clone, Copy)]
pub struct TooLittle {
    /// The trials that were planned.
    pub trials: u64,
    /// The part of the declared noise that must be caught.
    pub require: f64,
    /// About how many trials catch it.
    pub needed: u64,
}

/// Says how an audit ended, and writes it where machines look for it.
pub fn done(done: &AuditDone, kept: &Keep, output: Output) -> Result<Outcome, Error> {
    match done {
        AuditDone::Judged { audited, earlier_looks, .. } => verdict(audited, *earlier_looks, kept, output),
        AuditDone::Share { protocol, trials } => {
            let Keep::Everything(folder, _) = kept else {
                return Err(Error::invalid("--out is missing, expected a folder for the share"));
            };
            share(output.is_json, folder, protocol, trials)
        }
    }
}

fn verdict(audited: &Audited, earlier: u64, kept: &Keep, output: Output) -> Result<Outcome, Error> {
    let line = headline(audited);
    output.tell(Told { note: &audited.note, came_to: CameTo::from(&audited.verdict), line: &line }, kept)?;
    let text = match output.is_json {
        true => json(audited, earlier, kept)?,
        false => painted(&(words(audited, &line, kept) + &peeking(audited, earlier))),
    };
    let ending = match audited.verdict {
        Verdict::Refuted { .. } => Ending::Falls,
        Verdict::NotRefuted { .. } => Ending::Stands,
        Verdict::CannotTell { .. } => Ending::CannotTell,
    };
    Ok(Outcome { text, ending })
}

/// Says what a share holds, which is no verdict.
fn share(is_json: bool, folder: &Path, protocol: &AuditProtocol, trials: &Trials) -> Result<Outcome, Error> {
    let canaries = protocol.canaries as usize;
    let (here, failed) = (trials.observations().len() / canaries, trials.failures());
    Outcome::done(if is_json {
        text::json(&serde_json::json!({
            "schema": "veracity.share/1",
            "out": folder.display().to_string(),
            "trials": here,
            "of": protocol.trials,
            "failures": failed,
        }))?
    } else {
        format!(
            "{here} of {} trials in {}, {failed} failed; no verdict before the others are there\n\
             veracity audit merge DIR… --out DIR puts shares together\n",
            protocol.trials,
            folder.display()
        )
    })
}

/// The verdict in one line.
fn headline(audited: &Audited) -> String {
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

/// The limit on noise, in words.
fn noise(audited: &Audited) -> Option<String> {
    let limit = audited.against?.noise_at_most?;
    Some(match limit >= 1.0 {
        true => "less than the declared noise is there".to_owned(),
        false => format!("at most {} of the declared noise is there", up(limit, 3)),
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

fn words(audited: &Audited, line: &str, kept: &Keep) -> String {
    let (shown, claimed) = round_distinctly(audited);
    let delta = nearest(audited.claim.delta.get(), 6);
    let chance = nearest(100.0 * audited.evidence.significance, 15);
    let proved = match audited.proved {
        Some(proved) => format!("proved   epsilon ≤ {} at delta {delta}\n", up(proved.0.get(), 9)),
        None => String::new(),
    };
    let evidence = match kept {
        Keep::Everything(folder, _) => {
            let path = folder.join(certificate::FILE);
            format!(
                "evidence {0}; veracity verify {0} recomputes it\nreport   {1}\n",
                path.display(),
                folder.join(REPORT).display()
            )
        }
        Keep::Report(folder) => {
            format!("report   {}   (--out DIR keeps the trials too)\n", folder.join(REPORT).display())
        }
        Keep::Nothing => String::new(),
    };
    let method = MethodNote::of(audited.terms.method);
    let group =
        if method.group_size > 1 { format!(", groups of {}", method.group_size) } else { String::new() };
    format!(
        "{line}\n\n\
         {proved}\
         claimed  epsilon ≤ {claimed} at delta {delta}   ({}, per example)\n\
         shown    epsilon ≥ {shown} at delta {delta}   (chance of error ≤ {chance}%; {})\n\
         {}{}\n\
         subject  {}\n\
         attack   {}\n\
         trials   {}, {} in and {} out\n\
         {}\
         counted  {}   ({}, threshold {}{group})\n\
         seed     {}\n\
         {evidence}",
        audited.claim.adjacency.name(),
        audited.evidence.shown.basis.describe(),
        curve(audited),
        power(audited),
        one_line(&audited.note.description),
        one_line(&audited.note.attack),
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

/// What a second look costs.
fn peeking(audited: &Audited, earlier: u64) -> String {
    if earlier == 0 {
        return String::new();
    }
    let level = audited.evidence.significance;
    format!(
        "looks    before this one, {} of this subject and claim, by other flags or seeds: together they err with chance ≤ {}%\n",
        if earlier == 1 {
            "another audit was judged in this folder".to_owned()
        } else {
            format!("{earlier} other audits were judged in this folder")
        },
        up((100.0 * level * (earlier + 1) as f64).min(100.0), 4)
    )
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
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

fn json(audited: &Audited, earlier: u64, kept: &Keep) -> Result<String, Error> {
    let shown = &audited.evidence.shown;
    let method = MethodNote::of(audited.terms.method);
    let (certificate, report) = match kept {
        Keep::Everything(folder, _) => (Some(folder.join(certificate::FILE)), Some(folder.join(REPORT))),
        Keep::Report(folder) => (None, Some(folder.join(REPORT))),
        Keep::Nothing => (None, None),
    };
    let shown_path = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    text::json(&serde_json::json!({
        "schema": "veracity.audit/3",
        "verdict": audited.verdict.name(),
        "epsilon_lower": Number(shown.epsilon.0.get()),
        "epsilon": {
            "lower": Number(shown.epsilon.0.get()),
            "upper": audited.proved.map(|proved| Number(proved.0.get())),
        },
        "ceiling": Number(shown.ceiling.get()),
        "basis": shown.basis.name(),
        "significance": audited.evidence.significance,
        "claim": {
            "epsilon": audited.claim.epsilon.0.get(),
            "delta": audited.claim.delta.get(),
            "adjacency": audited.claim.adjacency.name(),
        },
        "adjacency": audited.claim.adjacency.name(),
        "method": method,
        "counted": certificate::CountedNote::from(&audited.evidence.counted),
        "curve": audited.against.as_ref().map(certificate::CurveNote::from),
        "catches_noise_below": audited.caught.and_then(|caught| caught.noise_below),
        "trials": audited.terms.trials.get(),
        "failures": audited.failures,
        "failed": certificate::FailedNote::from(audited.failed),
        "retried": audited.was_retried,
        "earlier_looks": earlier,
        "seed": audited.terms.seed,
        "subject": audited.note,
        "certificate": shown_path(certificate),
        "report": shown_path(report),
    }))
}
