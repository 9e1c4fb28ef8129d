//! The page: an introduction, what is off, and a table a family.

use crate::{Cell, STATED};
use std::fmt::Write as _;
use veracity_numerics::binomial;

/// The chance that the whole study calls something off that keeps its word.
const LEVEL: f64 = 0.01;

const FAMILIES: [(&str, &str, &str); 5] = [
    (
        "Bounds on ε, one canary a run",
        "Files of 300 trials, each in a world by a fair coin; of 120 for *bets*, which climb a ladder of three claims up to the truth, and of 30 a world for log-Katz and the Bayesian bound. *Fixed* thresholds are \
         the best ones for this δ, known beforehand. `Clopper–Pearson`, the `uniform band` and `bets` are proved for any mechanism; `Gaussian μ` \
         is proved for Gaussians; `log-Katz` is approximate and the Bayesian bound a posterior, which promise nothing here.",
        "| mechanism | δ | true ε |",
    ),
    (
        "Bounds on ε, many canaries in one run",
        "One run with 500 canaries, of which 50 or all 500 are guessed. `one-run` and `one-run-binomial` are proved for any mechanism, \
         `one-run-gaussian` for Gaussians, `one-run-independent` where canaries are independent, the last for Gaussians where they are.",
        "| mechanism | δ | true ε | guessed |",
    ),
    (
        "Verdicts on true claims, one canary a run",
        "Files of 300 trials against the curve that the accountant proves of the mechanism, or its exact one; and against one point of it, \
         at the first δ above. Bets are looked at after every pair of trials and end as soon as the claim falls.",
        "| mechanism | curve |",
    ),
    (
        "Verdicts on true claims, many canaries in a run",
        "Four runs of 64 canaries against the same claims.",
        "| mechanism | curve |",
    ),
    (
        "Bounds and verdicts by bets on many runs",
        "48 runs of 64 canaries, each bet on by the thresholds of earlier ones: `many-runs`, proved for any mechanism, however the canaries \
         of a run hang together.",
        "| mechanism | δ, or the curve | true ε |",
    ),
];

pub fn page(files: u64, families: &[Vec<Cell>; 5]) -> String {
    let promised = || families.iter().flatten().filter(|cell| cell.is_promised);
    let share = LEVEL / promised().count() as f64;
    let is_off = |cell: &Cell| surprise(cell) < share.ln();
    let off: Vec<&Cell> = promised().filter(|cell| is_off(cell)).collect();
    let beyond = families.iter().flatten().filter(|cell| !cell.is_promised && is_off(cell)).count();
    let mut page = format!(
        "# How often bounds and verdicts err\n\n\
         Written by `cargo xtask reproduce coverage`; seeded, so anyone gets these figures. Mechanisms whose leak is known exactly are \
         attacked by their likelihood ratio, {files} files each. A cell counts the files on which a bound was above the true ε, or a true claim \
         was refuted, at a stated chance of error of 5 % (1 % where the head says so): no more than {} of {files} is expected. A count in \
         italics is of a bound whose assumption this mechanism breaks, or that promises nothing: it may be anything.\n\n\
         Each count of a promise is held against its level by the exact binomial tail, at {share:.1e}: all {} of them together are called off \
         wrongly with chance at most {} %. The least tail is {:.1e}. ",
        (STATED * files as f64).round(),
        promised().count(),
        100.0 * LEVEL,
        promised().map(surprise).fold(0.0, f64::min).exp(),
    );
    match off[..] {
        [] => page.push_str("**No promise is broken.**"),
        _ => {
            page.push_str("**Off, in bold below:**");
            for cell in &off {
                let _ = write!(page, " {} ({});", cell.row, cell.column);
            }
        }
    }
    let _ =
        writeln!(page, " Of the figures in italics, {beyond} are beyond 5 % by the same test (marked †).");
    for ((title, intro, head), cells) in FAMILIES.into_iter().zip(families) {
        let _ = write!(page, "\n## {title}\n\n{intro}\n\n");
        table(&mut page, head, cells, &is_off);
    }
    page
}

/// One row a mechanism, one column a bound or verdict.
fn table(page: &mut String, head: &str, cells: &[Cell], is_off: &dyn Fn(&Cell) -> bool) {
    let mut columns: Vec<&str> = Vec::new();
    let mut rows: Vec<&str> = Vec::new();
    for cell in cells {
        if !columns.contains(&cell.column) {
            columns.push(cell.column);
        }
        if !rows.contains(&cell.row.as_str()) {
            rows.push(&cell.row);
        }
    }
    let bars = head.matches('|').count() - 1 + columns.len();
    let _ = writeln!(page, "{head} {} |\n|{}", columns.join(" | "), "---|".repeat(bars));
    for row in rows {
        let _ = write!(page, "| {row} |");
        for column in &columns {
            let found = cells.iter().find(|cell| cell.row == row && cell.column == *column);
            let _ = write!(page, " {} |", found.map_or("–".to_owned(), |cell| figure(cell, is_off(cell))));
        }
        page.push('\n');
    }
}

fn figure(cell: &Cell, is_off: bool) -> String {
    match (cell.is_promised, is_off) {
        (true, true) => format!("**{}**", cell.failed),
        (true, false) => cell.failed.to_string(),
        (false, true) => format!("*{}* †", cell.failed),
        (false, false) => format!("*{}*", cell.failed),
    }
}

/// log of P[so many errors or more], were each as likely as stated.
fn surprise(cell: &Cell) -> f64 {
    binomial::log_upper_tail(cell.files, cell.failed, cell.stated)
}
