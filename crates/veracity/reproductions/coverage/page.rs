//! The page: an introduction, the bounds with too many errors, and a table per family.

use crate::{Cell, STATED};
use std::fmt::Write as _;
use veracity_core::numerics::binomial;

/// The probability that the whole study reports an error of a bound that keeps its level.
const LEVEL: f64 = 0.01;

const FAMILIES: [(&str, &str, &str); 6] = [
    (
        "Lower bounds on ε, one canary per run",
        "Each file has 300 trials, and a fair coin flip decides whether a trial contains the canary. Files for *bets* have 120 \
         trials, because the betting test climbs a ladder of three claims up to the true ε. Files for log-Katz and the \
         Bayesian bound have 30 trials per world. *Fixed* thresholds are the best ones for this δ, known beforehand. \
         `Clopper–Pearson`, the `uniform band` and `bets` are proved for every mechanism, and `Gaussian μ` is proved for \
         Gaussian noise. `log-Katz` is an approximation and the Bayesian bound is a posterior, so neither gives a guarantee \
         here.",
        "| mechanism | δ | true ε |",
    ),
    (
        "Lower bounds on ε, many canaries in one run",
        "Each file is one run with 500 canaries, and the attacker guesses 50 of them or all 500. `one-run` and \
         `one-run-binomial` are proved for every mechanism, `one-run-gaussian` for Gaussian noise, and `one-run-independent` \
         for independent canaries. `one-run-independent-gaussian` is proved for independent canaries and Gaussian noise.",
        "| mechanism | δ | true ε | guessed |",
    ),
    (
        "Verdicts on true claims, one canary per run",
        "Each file has 300 trials. The columns `curve` test the whole trade-off curve, either the one that the accountant \
         proves or the exact one. The columns `ε` test one point of it, at the first δ above. Betting tests look at the result \
         after every trial and stop as soon as the claim is refuted.",
        "| mechanism | curve |",
    ),
    (
        "Verdicts on true claims, many canaries per run",
        "Each file has four runs of 64 canaries. The claims are those of the previous section.",
        "| mechanism | curve |",
    ),
    (
        "Bounds and verdicts of betting tests on many runs",
        "Each file has 48 runs of 64 canaries. The method `many-runs` bets on each run with thresholds from the earlier runs. \
         It is proved for every mechanism, no matter how the canaries of a run are correlated.",
        "| mechanism | δ, or the curve | true ε |",
    ),
    (
        "Verdicts on subjects that drift",
        "Each file is an audit of 400 trials, and a fair coin flip decides whether a trial contains the canary. The claim is \
         the smallest ε that is true for every trial (δ = 0). The scores of these subjects drift over time, depend on earlier \
         trials or have heavy tails, but they leak no more than that ε. `bets` is the default of `audit --command`, `audit \
         --worker` and `v.audit`. `bets on pairs` is the control. It compares trials of different times, so it is valid only \
         for independent scores, and audits use it for recorded scores only.",
        "| subject | true ε |",
    ),
];

pub fn page(files: u64, families: &[Vec<Cell>; 6]) -> String {
    let promised = || families.iter().flatten().filter(|cell| cell.is_promised);
    let share = LEVEL / promised().count() as f64;
    let is_off = |cell: &Cell| surprise(cell) < share.ln();
    let off: Vec<&Cell> = promised().filter(|cell| is_off(cell)).collect();
    let beyond = families.iter().flatten().filter(|cell| !cell.is_promised && is_off(cell)).count();
    let mut page = format!(
        "# Statistical validation: error rates of bounds and verdicts\n\nAn audit errs with a stated probability. This page \
         checks that its bounds and verdicts err no more often than stated. The audited mechanisms have a known true ε, and \
         the attack is optimal (the likelihood ratio). Each mechanism is audited on {files} simulated files.\n\nEach cell \
         counts the errors among {files} audits. An error is a lower bound above the true ε, or a true claim that is refuted. \
         The stated error probability is 5% (1% if the column says so), so no more than {} errors of {files} are expected. \
         Counts in *italics* belong to bounds without a guarantee for this mechanism, because their assumption is false or \
         because they are approximations. These counts may be anything.\n\nFor example, the first table has 5 errors of \
         `Clopper–Pearson, fixed` on Laplace noise at δ = 0.00001, which is far below 100. In the same row, `Gaussian μ, \
         fixed` has *1773* errors, because it assumes Gaussian noise. So use such a bound only if you know that its assumption \
         is true.\n\nAn exact binomial test at level {share:.1e} compares each guaranteed count with its stated probability. \
         If all {} guarantees are true, any of these tests fails with probability at most {}%. The smallest p-value is {:.1e}. ",
        (STATED * files as f64).round(),
        promised().count(),
        100.0 * LEVEL,
        promised().map(surprise).fold(0.0, f64::min).exp(),
    );
    match off[..] {
        [] => page.push_str("**No guarantee is violated.**"),
        _ => {
            page.push_str("**Off (too many errors), in bold below:**");
            for cell in &off {
                let _ = write!(page, " {} ({});", cell.row, cell.column);
            }
        }
    }
    let _ = writeln!(
        page,
        " By the same test, {beyond} of the counts in italics exceed 5% (marked †). `cargo xtask reproduce coverage` writes this page with fixed seeds."
    );
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

/// log of P[this many errors or more], if each has the stated probability.
fn surprise(cell: &Cell) -> f64 {
    binomial::log_upper_tail(cell.files, cell.failed, cell.stated)
}
