//! The project's chores: `cargo xtask test` runs every check, `… test --engines` compares servers of SQL, `cargo xtask bench account`, `… noise` and `… train` ask us
//! and the peers the same questions (`… corners` asks us alone, over the whole range; `… kinds` is the part of account beyond DP-SGD; `… python` times the wheel), `cargo xtask reproduce accuracy` measures what private models reach, `… opacus` audits
//! Opacus from outside, `… clusters` audits on Ray and Slurm, `… ledger` kills, races and faults of the ledger at length, `… python-peers` tests the wheel beside its peers, `cargo xtask wheel` builds it, `cargo xtask book` runs every command that the pages show. Arguments name the chore; each chore is one file and returns whether it went well.

mod architecture;
mod bench;
mod book;
mod engines;
mod packaging;
mod python;
mod reproduce;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask test [--engines] | cargo xtask wheel | cargo xtask book [--quick | --bless] | \
                     cargo xtask bench account|corners|kinds|noise|train|python | \
                     cargo xtask reproduce accuracy [--data DIR] [--only PLAN] | \
                     cargo xtask reproduce opacus|python-peers|clusters|white-box|power|coverage|zoo|ledger | \
                     cargo xtask reproduce jagielski [--data DIR] [--runs N] [--epsilons 1,2,…] [--hidden N] [--same-start] [--device cpu|cuda:N] [--redraw]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let went_well = match words[..] {
        ["test"] => test::run(&root()),
        ["test", "--engines"] => engines::run(&root()),
        ["wheel"] => python::wheel(&root()),
        ["book", ref rest @ ..] => book::run(&root(), rest),
        ["bench", "noise"] => bench::noise::run(&root()),
        ["bench", "train"] => bench::train::run(&root()),
        ["bench", "account"] => {
            bench::account::run(&root()).and_then(|ours| Ok(bench::corners::run(&root())? && ours))
        }
        ["bench", "kinds"] => bench::account::kinds_alone(&root()),
        ["bench", "python"] => python::bench(&root()),
        ["bench", "corners"] => bench::corners::run(&root()),
        ["reproduce", "python-peers"] => python::peers(&root()),
        ["reproduce", "clusters"] => reproduce::clusters::run(&root()),
        ["reproduce", "opacus"] => reproduce::opacus::run(&root()),
        ["reproduce", "ledger"] => reproduce::ledger::run(&root()),
        ["reproduce", "white-box"] => reproduce::panels::white_box(&root()),
        ["reproduce", "power"] => reproduce::panels::power(&root()),
        ["reproduce", "coverage"] => reproduce::panels::coverage(&root()),
        ["reproduce", "zoo"] => reproduce::panels::zoo(&root()),
        ["reproduce", "jagielski", ref rest @ ..] => reproduce::panels::jagielski(&root(), rest),
        ["reproduce", "accuracy", ref rest @ ..] => reproduce::accuracy::run(&root(), rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match went_well {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// The workspace: the folder above this crate's manifest.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}
