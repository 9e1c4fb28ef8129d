//! `veracity strategy`: the best band for running sums, beside the usual strategies.

use crate::{
    Outcome,
    args::{StrategyArgs, choice::AimWord},
    text,
};
use veracity::{
    Error, decimal,
    saving::{create, must_be_new},
    spec::Whole,
    strategy::{Aim, StrategyFile, compare},
    words::table,
};

/// How many coefficients are shown.
const SHOWN: usize = 12;

/// Finds, writes and prints.
pub fn run(args: &StrategyArgs) -> Result<Outcome, Error> {
    args.out.as_ref().map_or(Ok(()), |path| must_be_new("strategy", path))?;
    let aim = match args.aim {
        AimWord::Mean => Aim::Mean,
        AimWord::Largest => Aim::Largest,
    };
    let found = compare(Whole(args.steps).count("steps")?, Whole(args.bands).count("bands")?, aim)?;
    if let Some(path) = &args.out {
        create("strategy", path, text::json(&found.kept())?.as_bytes())?;
    }
    Outcome::done(if args.json { text::json(&found)? } else { tabulate(&found) })
}

fn tabulate(found: &StrategyFile) -> String {
    let numbers: Vec<String> =
        found.coefficients.iter().take(SHOWN).map(|c| decimal::nearest(*c, 5)).collect();
    let more = found.coefficients.len().saturating_sub(SHOWN);
    let rest = if more == 0 { String::new() } else { format!(" … {more} more (use --json to print all)") };
    let mut rows: Vec<[String; 3]> = found
        .errors
        .iter()
        .map(|row| {
            [
                row.strategy.clone(),
                decimal::nearest(row.mean_error, 6),
                decimal::nearest(row.largest_error, 6),
            ]
        })
        .collect();
    rows.push(["lower bound for any strategy".into(), decimal::down(found.least_mean_error, 6), "–".into()]);
    let head = format!("coefficients {}{rest}\n\n", numbers.join(" "));
    head + &table::align(["strategy", "mean error", "largest error"], &rows)
}
