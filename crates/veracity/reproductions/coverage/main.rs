//! How often bounds exceed the truth, and verdicts refute what is true: the whole of docs/coverage.md.
//!
//! `cargo xtask reproduce coverage` runs it. For each mechanism whose leak is known exactly it draws files of scores, gives each file to
//! every bound and every verdict, counts how often they err, and holds the count against the stated level by its exact binomial tail.

mod bounds;
mod claims;
mod drift;
mod games;
mod page;
mod verdicts;

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use veracity::Refusal;
use veracity_testkit::known::{Crowd, Draws, Drifting, Known};

/// The chance of error that bounds and verdicts state.
const STATED: f64 = 0.05;
/// What the sequential verdict is also held against.
const STRICT: f64 = 0.01;
const SEED: u64 = 2026;

/// How often one bound or verdict erred on one mechanism.
struct Cell {
    /// The mechanism and, for bounds, the δ.
    row: String,
    column: &'static str,
    stated: f64,
    /// Whether the statement is a theorem for this mechanism: an excess is then a bug.
    is_promised: bool,
    failed: u64,
    files: u64,
}

/// What one file brought about: a column, the level it states, whether that is a promise, and whether it erred.
struct Erred {
    row: String,
    column: &'static str,
    stated: f64,
    is_promised: bool,
    erred: bool,
}

fn main() {
    // Fewer files are for trying it out; the page is made of the default.
    let files = std::env::args().nth(1).and_then(|files| files.parse().ok()).unwrap_or(2000);
    if let Err(refusal) = study(files) {
        eprintln!("coverage: {refusal}");
        std::process::exit(2);
    }
}

fn study(files: u64) -> Result<(), Refusal> {
    let all = Known::all()?;
    let (mut of_counts, mut of_curves) = (vec![], vec![]);
    let (mut of_games, mut of_crowds, mut of_runs) = (vec![], vec![], vec![]);
    for (which, known) in (1..).zip(&all) {
        let claim = claims::of_known(known)?;
        let goals = bounds::goals(known);
        eprintln!("{}", known.name);
        of_counts.extend(counted(files, SEED + which, |rng| bounds::errors(known, &goals, rng))?);
        of_curves.extend(counted(files, SEED + 100 + which, |rng| verdicts::errors(known, &claim, rng))?);
    }
    let apart = all.iter().filter(|known| !known.may_crash()).map(Crowd::Apart);
    let together = [
        Crowd::AllOrNone { speaks: 0.3, wrong: 0.16 },
        Crowd::SharedNoise { mu: 1.0, shared: 0.5 },
        Crowd::Antithetic { wrong: 0.05 },
    ];
    for (which, crowd) in (1..).zip(apart.chain(together)) {
        eprintln!("many: {}", crowd.name());
        let game = games::Game::new(&crowd)?;
        of_games.extend(counted(files, SEED + 200 + which, |rng| game.bounds(rng))?);
        of_crowds.extend(counted(files, SEED + 300 + which, |rng| game.verdicts(rng))?);
        of_runs.extend(counted(files, SEED + 400 + which, |rng| game.many_runs(rng))?);
    }
    let mut of_drift = vec![];
    for (which, kind) in (1..).zip(Drifting::ALL) {
        eprintln!("drift: {}", kind.name());
        of_drift.extend(counted(files, SEED + 500 + which, |rng| drift::errors(kind, rng))?);
    }
    print!("{}", page::page(files, &[of_counts, of_games, of_curves, of_crowds, of_runs, of_drift]));
    Ok(())
}

/// Counts what files bring about, on all cores.
fn counted(
    files: u64,
    seed: u64,
    one: impl Fn(&mut Draws) -> Result<Vec<Erred>, Refusal> + Sync,
) -> Result<Vec<Cell>, Refusal> {
    let (next, cells) = (AtomicU64::new(0), Mutex::new(Ok(Vec::<Cell>::new())));
    let work = || {
        loop {
            let file = next.fetch_add(1, Ordering::Relaxed);
            if file >= files {
                return;
            }
            let found = one(&mut Draws::of(seed, file));
            let mut cells = cells.lock().unwrap_or_else(PoisonError::into_inner);
            match (found, &mut *cells) {
                (Ok(found), Ok(cells)) => found.into_iter().for_each(|erred| add(cells, erred)),
                (Err(refusal), cells) => *cells = Err(refusal),
                (Ok(_), Err(_)) => return,
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    cells.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn add(cells: &mut Vec<Cell>, erred: Erred) {
    let Erred { row, column, stated, is_promised, erred } = erred;
    let at = cells.iter().position(|cell| cell.row == row && cell.column == column);
    let at = at.unwrap_or_else(|| {
        cells.push(Cell { row, column, stated, is_promised, failed: 0, files: 0 });
        cells.len() - 1
    });
    cells[at].failed += u64::from(erred);
    cells[at].files += 1;
}

/// The worlds and scores of so many trials, each in a world by a fair coin.
fn trials(known: &Known, trials: u64, rng: &mut Draws) -> Vec<veracity_audit::Observation> {
    (0..trials)
        .map(|trial| {
            let is_in = rng.coin(0.5);
            let world = if is_in { veracity_audit::World::In } else { veracity_audit::World::Out };
            veracity_audit::Observation { trial, canary: 0, world, score: known.run(is_in, rng) }
        })
        .collect()
}
