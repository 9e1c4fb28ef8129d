//! `veracity batching`: one training run, drawn in different batches, and the gap between shuffling and what is claimed.

use crate::{Outcome, args::BatchingArgs, text};
use veracity::{
    Delta, Error, NoiseMultiplier,
    batching::{BatchingFile, Comparison, Gap, Row, Training, compare_batches},
    decimal::{down, nearest, up},
    spec::Whole,
    words::table::align,
};

/// Digits of an ε.
const DIGITS: usize = 6;

/// Compares the ways to draw batches.
pub fn run(args: &BatchingArgs) -> Result<Outcome, Error> {
    let sizes =
        (Whole(args.dataset_size).count("dataset size")?, Whole(args.batch_size).count("batch size")?);
    let max_batch = args.max_batch.map(|most| Whole(most).count("max batch")).transpose()?;
    let noise_multiplier = NoiseMultiplier::new(args.noise_multiplier)?;
    let training = Training::new(sizes, noise_multiplier, Whole(args.epochs).count("epochs")?, max_batch)?;
    let delta = Delta::new(args.delta)?;
    if delta.get() == 0.0 {
        return Err(Error::out_of_range("delta", delta, "delta > 0 with gaussian noise"));
    }
    let comparison = compare_batches(&training, delta)?;
    Outcome::done(match args.json {
        true => text::json(&BatchingFile::new(&comparison, delta))?,
        false => in_words(&comparison, delta),
    })
}

fn in_words(comparison: &Comparison, delta: Delta) -> String {
    let rows: Vec<[String; 4]> = comparison.rows.iter().map(cells).collect();
    let table = align(["batches", "adjacency", "epsilon ≥", "epsilon ≤"], &rows);
    let batches = comparison.batches.get();
    let noun = if batches == 1 { "batch" } else { "batches" };
    let head = format!("epsilon at delta {}, {batches} {noun} per epoch\n\n", nearest(delta.get(), 17));
    let gap = comparison.gap().map_or(String::new(), |gap| format!("\n{}\n", sentence(gap)));
    head + &table + &gap
}

fn cells(row: &Row) -> [String; 4] {
    let lower = row.at_least.map_or("not known".to_owned(), |lower| down(lower.0.get(), DIGITS));
    [row.batches.name().to_owned(), row.adjacency.to_string(), lower, up(row.at_most.0.get(), DIGITS)]
}

/// How far a trainer that shuffles but claims Poisson batches may be off.
fn sentence(gap: Gap) -> String {
    let (claimed, most) = (up(gap.claimed, 4), up(gap.at_most, 4));
    if gap.at_least > gap.claimed {
        return format!(
            "A trainer that shuffles but claims Poisson batches reports {claimed}, but its epsilon is at least {}, {} times as much, and \
             at most {most}.",
            down(gap.at_least, 4),
            down(gap.at_least / gap.claimed, 3)
        );
    }
    format!(
        "A trainer that shuffles but claims Poisson batches reports {claimed}. The lower bound for shuffling is not above that, and \
         its upper bound is {most}."
    )
}
