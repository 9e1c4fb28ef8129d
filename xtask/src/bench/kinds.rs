//! Kinds beyond DP-SGD, each to us and to the peer that accounts for it: our certified ends, their value, and the times.
//!
//! A peer's upper end that lies below our certified lower end is one that its mechanism does not keep.

use super::account::{Answer, ask_peer, parse};
use super::{field, output, peer, questions};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Kinds, and who accounts for them.
const PEERS: [(&str, &str); 6] = [
    ("group", "dp_accounting PLD, mixture of Gaussians"),
    ("tree", "dp_accounting RDP, tree aggregation"),
    ("fixed-size", "dp_accounting RDP, without replacement"),
    ("banded-cyclic", "jax_privacy amplified BandMF, PLD"),
    ("banded-separated", "jax_privacy sensitivity, PLD"),
    ("allocation", "PLD_accounting"),
];
/// A peer has so long for a question: these are slower than DP-SGD.
const PATIENCE: Duration = Duration::from_secs(120);

/// Asks everyone everything and prints the table; whether we answered everything.
pub fn run(root: &Path, release: &Path, python: &Path) -> io::Result<bool> {
    let asked = peer(root, "kinds_questions.csv");
    let said = output(Command::new(release.join("examples/bench_questions")).arg(&asked))?;
    println!(
        "\n| question | ε, Veracity | width | ms | other library | ε, other | other − our upper bound | below our lower bound | ms | time ÷ ours |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut all_ours = true;
    for row in questions(&asked)? {
        let mut cells = row.split(',');
        let (name, kind) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let ours = said.lines().find(|line| field(line, "name").as_deref() == Some(name));
        let ours = ours.map_or_else(|| Err("no answer".to_owned()), parse);
        all_ours &= ours.is_ok();
        let title = PEERS.iter().find(|peer| peer.0 == kind).map_or("nobody", |peer| peer.1);
        let theirs = ask_peer(python, &peer(root, "kinds_peer.py"), (kind, &row), PATIENCE)?;
        println!(
            "| {name} | {} | {title} | {} |",
            ours_in_words(&ours),
            theirs_in_words(&theirs, ours.as_ref().ok())
        );
    }
    Ok(all_ours)
}

fn ours_in_words(ours: &Result<Answer, String>) -> String {
    match ours {
        Ok(ours) => format!(
            "[{:.9}, {:.9}] | {:.1e} | {:.3}",
            ours.lower,
            ours.upper,
            ours.upper - ours.lower,
            ours.milliseconds
        ),
        Err(why) => format!("{why} | | "),
    }
}

fn theirs_in_words(theirs: &Result<Answer, String>, ours: Option<&Answer>) -> String {
    let (theirs, ours) = match (theirs, ours) {
        (Ok(theirs), Some(ours)) => (theirs, ours),
        (Ok(theirs), None) => return format!("{:.9} | | | {:.1} | ", theirs.upper, theirs.milliseconds),
        (Err(why), _) => return format!("{why} | | | | "),
    };
    let value = if theirs.lower.is_nan() {
        format!("≤ {:.9}", theirs.upper)
    } else {
        format!("[{:.9}, {:.9}]", theirs.lower, theirs.upper)
    };
    format!(
        "{value} | {:+.1e} | {} | {:.1} | {:.1e}",
        theirs.upper - ours.upper,
        if theirs.upper < ours.lower { "**yes**" } else { "no" },
        theirs.milliseconds,
        theirs.milliseconds / ours.milliseconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(lower: f64, upper: f64) -> Answer {
        Answer { lower, upper, milliseconds: 2.0, peak_kib: f64::NAN }
    }

    #[test]
    fn what_lies_below_our_lower_end_is_marked() {
        let ours = answer(1.0, 1.5);
        let said = |theirs: Answer| theirs_in_words(&Ok(theirs), Some(&ours));
        assert!(said(answer(f64::NAN, 0.9)).contains("**yes**"));
        assert!(said(answer(0.5, 1.2)).contains("| no |"));
        assert!(theirs_in_words(&Err("not built".to_owned()), Some(&ours)).starts_with("not built"));
    }

    /// Every question names a kind that has a peer.
    #[test]
    fn every_kind_has_a_peer() {
        let questions = include_str!("../../bench/kinds_questions.csv");
        for row in questions.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            assert_eq!(cells.len(), 8, "{row}");
            assert!(PEERS.iter().any(|peer| peer.0 == cells[1]), "{row}");
        }
    }
}
