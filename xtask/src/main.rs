//! The project's chores. Arguments name the chore; each chore is one file and returns whether it went well.
//!
//! - `cargo xtask test` runs every check; `test --engines` compares servers of SQL, `test --page` opens the page in a browser, and
//!   `test --arm` runs the bits of noise on ARM.
//! - `cargo xtask bench …` asks us and the peers the same questions: `account` (`kinds` is its part beyond DP-SGD, `corners` asks us
//!   alone over the whole range), `noise`, `train` (`steps` says where the time goes), `python`, and `query`, private SQL beside the same query without privacy.
//! - `cargo xtask reproduce …` makes figures anew that pages show, and runs at length what tests run briefly.
//! - `cargo xtask page` builds the page; `cargo xtask kernels` compiles what runs on CUDA devices; `cargo xtask wheel` builds the Python package; `cargo xtask book` runs
//!   every command that the pages show.

mod architecture;
mod arm;
mod bench;
mod book;
mod engines;
mod kernels;
mod packaging;
mod page;
mod python;
mod reproduce;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask test [--engines | --page | --arm] | cargo xtask page | cargo xtask wheel | cargo xtask kernels | cargo xtask book [--quick | --bless] | \
                     cargo xtask bench account|corners|gpu|kinds|noise|steps|python | cargo xtask bench train [--rounds N] [--only MODEL] | cargo xtask bench query [--rows N] [--repeats N] | \
                     cargo xtask reproduce accuracy [--data DIR] [--only PLAN] | \
                     cargo xtask reproduce opacus|python-peers|clusters|white-box|power|coverage|zoo|ledger|sql-tour | \
                     cargo xtask reproduce jagielski [--data DIR] [--runs N] [--epsilons 1,2,…] [--hidden N] [--same-start] [--device cpu|cuda:N] [--redraw]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let went_well = match words[..] {
        ["test"] => test::run(&root()),
        ["test", "--engines"] => engines::run(&root()),
        ["test", "--page"] => page::browser::run(&root()),
        ["page"] => page::run(&root()),
        ["test", "--arm"] => arm::run(&root()),
        ["kernels"] => kernels::run(&root()),
        ["wheel"] => python::wheel(&root()),
        ["book", ref rest @ ..] => book::run(&root(), rest),
        ["bench", "noise"] => bench::noise::run(&root()),
        ["bench", "gpu"] => bench::gpu::run(&root()),
        ["bench", "train", ref rest @ ..] => bench::train::run(&root(), rest),
        ["bench", "steps"] => bench::steps::run(&root()),
        ["bench", "query", ref rest @ ..] => bench::query::run(&root(), rest),
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
        ["reproduce", "sql-tour"] => reproduce::sql_tour::run(&root()),
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
