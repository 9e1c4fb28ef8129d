//! The chores of the project. Arguments name the chore. Each chore is one file and returns whether it succeeded.
//!
//! - `cargo xtask test` runs every check; `test --engines` compares servers of SQL, `test --page` opens the page in a browser,
//!   `test --torch` tests the trainer for PyTorch, and `test --arm` runs the bits of noise on ARM.
//! - `cargo xtask bench …` asks us and the peers the same questions: `account` (`kinds` is its part beyond DP-SGD, `corners` asks us
//!   alone over the whole range), `noise`, `train` (`steps` says where the time goes), `python`, and `query`, private SQL beside the
//!   same query without privacy.
//! - `cargo xtask reproduce …` makes the numbers of the pages again, and runs at length what tests run briefly.
//! - `cargo xtask page` builds the page, `kernels` compiles what runs on CUDA devices, `wheel` builds the Python package, and `book`
//!   runs every command that the pages show.

mod architecture;
mod arm;
mod bench;
mod book;
mod engines;
mod files;
mod kernels;
mod packaging;
mod page;
mod prose;
mod python;
mod reproduce;
mod test;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A chore: the words that name it, the arguments that it takes after them, and its function.
type Chore = (&'static str, &'static str, fn(&Path, &[&str]) -> io::Result<bool>);

const CHORES: &[Chore] = &[
    ("test", "", |root, _| test::run(root)),
    ("test --engines", "", |root, _| engines::run(root)),
    ("test --page", "", |root, _| page::browser::run(root)),
    ("test --arm", "", |root, _| arm::run(root)),
    ("test --torch", "", |root, _| python::torch(root)),
    ("page", "", |root, _| page::run(root)),
    ("kernels", "", |root, _| kernels::run(root)),
    ("prose", "[--prune]", prose::run),
    ("wheel", "", |root, _| python::wheel(root)),
    ("book", "[--quick | --bless]", book::run),
    ("bench account", "", |root, _| Ok(bench::account::run(root)? & bench::corners::run(root)?)),
    ("bench kinds", "", |root, _| bench::account::kinds_alone(root)),
    ("bench corners", "", |root, _| bench::corners::run(root)),
    ("bench noise", "", |root, _| bench::noise::run(root)),
    ("bench gpu", "", |root, _| bench::gpu::run(root)),
    ("bench train", "[--rounds N] [--only MODEL]", bench::train::run),
    ("bench steps", "", |root, _| bench::steps::run(root)),
    ("bench query", "[--rows N] [--repeats N] [--engines A,B]", bench::query::run),
    ("bench statistics", "[--repeats N]", bench::statistics::run),
    ("bench python", "", |root, _| python::bench(root)),
    ("reproduce accuracy", "[--data DIR] [--only PLAN]", reproduce::accuracy::run),
    (
        "reproduce jagielski",
        "[--data DIR] [--runs N] [--epsilons 1,2,…] [--hidden N] [--same-start] [--device cpu|cuda:N] [--redraw]",
        reproduce::panels::jagielski,
    ),
    ("reproduce white-box", "", |root, _| reproduce::panels::white_box(root)),
    ("reproduce power", "", |root, _| reproduce::panels::power(root)),
    ("reproduce coverage", "", |root, _| reproduce::panels::coverage(root)),
    ("reproduce zoo", "", |root, _| reproduce::panels::zoo(root)),
    ("reproduce opacus", "", |root, _| reproduce::opacus::run(root)),
    ("reproduce python-peers", "", |root, _| python::peers(root)),
    ("reproduce clusters", "", |root, _| reproduce::clusters::run(root)),
    ("reproduce ledger", "", |root, _| reproduce::ledger::run(root)),
    ("reproduce sql-tour", "", |root, _| reproduce::sql_tour::run(root)),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // A chore that takes no arguments is named by all words.
    let found = CHORES.iter().find_map(|(name, takes, run)| {
        let name: Vec<&str> = name.split(' ').collect();
        let rest = words.strip_prefix(&name[..])?;
        (rest.is_empty() || !takes.is_empty()).then_some((run, rest))
    });
    let Some((run, rest)) = found else {
        eprintln!("usage:");
        CHORES
            .iter()
            .for_each(|(name, takes, _)| eprintln!("{}", format!("  cargo xtask {name} {takes}").trim_end()));
        return ExitCode::from(2);
    };
    match run(&root(), rest) {
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
