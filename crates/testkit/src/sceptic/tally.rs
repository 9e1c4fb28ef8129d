//! The table of a series: per kind what was asked, refused, missed, wide and slow.

use super::judge::{Answer, judge_order, judge_patiently, judge_round, more_private, turned_round};
use super::questions::{Asked, KINDS, Wanted, question, question_of};
use super::roads::PATIENCE;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// What came of the questions of one kind.
#[derive(Debug, Default)]
pub struct Row {
    /// Questions asked.
    pub asked: usize,
    /// Answers whose ends were held against the truth.
    pub measured: usize,
    /// Answers whose ends were held against a truth of two digits or more, but not of eight.
    pub roughly: usize,
    /// Answers that no independent truth was found for: they kept the laws, and lie between a floor and a ceiling.
    pub no_truth: usize,
    /// Time in the accountant, and in the judge.
    pub spent: (Duration, Duration),
    /// Refusals, with digits blanked, and how often each came.
    pub refused: BTreeMap<String, usize>,
    /// Answers that are false.
    pub missed: usize,
    /// Refusals because the two sides crossed.
    pub crossed: usize,
    /// Answers wider than promised.
    pub wide: usize,
    /// The widest, and its question.
    pub widest: Option<(f64, String)>,
    /// Answers held against laws alone: the first few.
    pub unmeasured: Vec<String>,
    /// The slowest, and its question.
    pub slowest: Option<(Duration, String)>,
}

/// A series of questions and what came of them.
#[derive(Debug)]
pub struct Tally {
    /// By kind.
    pub rows: BTreeMap<&'static str, Row>,
    /// Each miss: the question, what is false, and how to ask it again.
    pub misses: Vec<String>,
    /// Time in the accountant, and in the judge.
    pub spent: (Duration, Duration),
    /// How much one truth may take, in products of nodes and points.
    pub patience: f64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            rows: BTreeMap::new(),
            misses: Vec::new(),
            spent: (Duration::ZERO, Duration::ZERO),
            patience: PATIENCE,
        }
    }
}

/// So many answers without a road are listed.
const LISTED: usize = 5;

/// Relative width that is promised, and the absolute one that is always enough.
const NARROW: (f64, f64) = (1e-6, 1e-12);

impl Tally {
    /// Asks question `index` of series `seed`, judges it, and asks what must agree with it.
    pub fn ask(&mut self, seed: u64, index: u64, accountant: &impl Fn(&Asked) -> Answer) {
        self.examine(&question(seed, index), seed, index, accountant);
    }

    /// As `ask`, of one kind only.
    pub fn ask_kind(&mut self, kind: &str, seed: u64, index: u64, accountant: &impl Fn(&Asked) -> Answer) {
        self.examine(&question_of(kind, seed, index), seed, index, accountant);
    }

    fn examine(&mut self, asked: &Asked, seed: u64, index: u64, accountant: &impl Fn(&Asked) -> Answer) {
        let answer = self.put(asked, seed, index, accountant);
        if answer.upper().is_none() {
            return;
        }
        if let Some(less) = more_private(asked, index as usize) {
            let other = self.put(&less, seed, index, accountant);
            if let Some(miss) = judge_order(&other, &answer) {
                self.miss(&less, seed, index, &miss);
            }
        }
        let side = index as usize / 4;
        if let Some(round) = turned_round(asked, &answer, side) {
            let other = self.put(&round, seed, index, accountant);
            if let Some(miss) = judge_round(asked, &answer, side, &other) {
                self.miss(&round, seed, index, &miss);
            }
        }
    }

    /// Asks and judges one question.
    fn put(
        &mut self,
        asked: &Asked,
        seed: u64,
        index: u64,
        accountant: &impl Fn(&Asked) -> Answer,
    ) -> Answer {
        let start = Instant::now();
        let answer = accountant(asked);
        let took = start.elapsed();
        let row = self.rows.entry(asked.kind).or_default();
        row.asked += 1;
        if row.slowest.as_ref().is_none_or(|slowest| took > slowest.0) {
            row.slowest = Some((took, reproduce(asked)));
        }
        if let Answer::Refused(why) = &answer {
            row.crossed += usize::from(why.contains("cross"));
            *row.refused.entry(blanked(why)).or_default() += 1;
        }
        if let Answer::Between(lower, upper) = answer {
            let (relative, absolute) = ((upper - lower) / upper, upper - lower);
            if relative > NARROW.0 && absolute > NARROW.1 {
                row.wide += 1;
                if row.widest.as_ref().is_none_or(|widest| relative > widest.0) {
                    row.widest = Some((relative, format!("[{lower:e}, {upper:e}] {}", reproduce(asked))));
                }
            }
        }
        let start = Instant::now();
        let verdict = judge_patiently(asked, &answer, self.patience);
        let judged = start.elapsed();
        self.spent = (self.spent.0 + took, self.spent.1 + judged);
        row.spent = (row.spent.0 + took, row.spent.1 + judged);
        row.measured += usize::from(verdict.measured);
        row.roughly += usize::from(verdict.roughly);
        row.no_truth += usize::from(answer.upper().is_some() && !verdict.measured && !verdict.roughly);
        if !verdict.measured
            && let Answer::Between(lower, upper) = answer
        {
            row.unmeasured.push(format!("[{lower:e}, {upper:e}] {}", reproduce(asked)));
            row.unmeasured.truncate(LISTED);
        }
        for miss in &verdict.misses {
            self.miss(asked, seed, index, miss);
        }
        answer
    }

    fn miss(&mut self, asked: &Asked, seed: u64, index: u64, what: &str) {
        self.rows.entry(asked.kind).or_default().missed += 1;
        let line = reproduce(asked);
        self.misses.push(format!("{} (seed {seed}, question {index}): {what}\n    {line}", asked.kind));
    }

    /// Questions asked in all.
    pub fn asked(&self) -> usize {
        self.rows.values().map(|row| row.asked).sum()
    }

    /// Answers held against a rough truth, and those without one, in all.
    pub fn not_measured(&self) -> (usize, usize) {
        self.rows.values().fold((0, 0), |sum, row| (sum.0 + row.roughly, sum.1 + row.no_truth))
    }

    /// Answers held against the truth in all.
    pub fn measured(&self) -> usize {
        self.rows.values().map(|row| row.measured).sum()
    }
}

/// Numbers blanked, so that refusals of one kind count as one.
fn blanked(why: &str) -> String {
    let mut out = String::new();
    for character in why.chars() {
        let digit = character.is_ascii_digit() || matches!(character, '.' | '-') && out.ends_with('#');
        match (digit, out.ends_with('#')) {
            (true, false) => out.push('#'),
            (true, true) => {}
            (false, _) => out.push(character),
        }
    }
    out.chars().take(110).collect()
}

/// The question as text that asks it again.
pub fn reproduce(asked: &Asked) -> String {
    let wanted = match asked.wanted {
        Wanted::EpsilonAt(delta) => format!("--delta {delta:e}"),
        Wanted::DeltaAt(epsilon) => format!("--epsilon {epsilon:e}"),
    };
    let whole = format!("{:?}", asked.mechanism);
    let short: String = whole.chars().take(400).collect();
    let more = if whole.len() > short.len() { "…" } else { "" };
    format!("{short}{more} --adjacency {} {wanted}", asked.adjacency)
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.1?} in the accountant, {:.1?} in the judge", self.spent.0, self.spent.1)?;
        writeln!(
            f,
            "| kind | asked | measured | roughly | no truth | refused | crossed | misses | wide | widest | slowest ms | \
             asked/s | judged/s |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
        for (kind, ..) in KINDS {
            let Some(row) = self.rows.get(kind) else { continue };
            let refused: usize = row.refused.values().sum();
            let widest = row.widest.as_ref().map_or(0.0, |widest| widest.0);
            let slowest = row.slowest.as_ref().map_or(0.0, |slowest| slowest.0.as_secs_f64() * 1e3);
            writeln!(
                f,
                "| {kind} | {} | {} | {} | {} | {refused} | {} | {} | {} | {widest:.1e} | {slowest:.1} | {:.0} | {:.0} |",
                row.asked,
                row.measured,
                row.roughly,
                row.no_truth,
                row.crossed,
                row.missed,
                row.wide,
                row.asked as f64 / row.spent.0.as_secs_f64(),
                row.asked as f64 / row.spent.1.as_secs_f64()
            )?;
        }
        for (kind, ..) in KINDS {
            let Some(row) = self.rows.get(kind) else { continue };
            for (why, count) in &row.refused {
                writeln!(f, "refused {count} × {kind}: {why}")?;
            }
            for line in &row.unmeasured {
                writeln!(f, "without a road {kind}: {line}")?;
            }
            if let Some((_, line)) = &row.widest {
                writeln!(f, "widest {kind}: {line}")?;
            }
            if let Some((took, line)) = &row.slowest {
                writeln!(f, "slowest {kind}: {took:?} {line}")?;
            }
        }
        Ok(())
    }
}
