//! Whether the noise that a release notes is the noise of the mechanism that its claim was computed for.
//!
//! A claim says twice what was drawn: the accountant reads the mechanism, people read the note. A note of other noise
//! would lend a good ε to a release that never had it, so both must say the same.

use crate::claims::{
    Adjacency, Check, Count, Mechanism, NoiseMultiplier, NoiseNote, PersonsNote, Refusal, ReleaseNote,
    Subject,
    spec::Whole,
    verification::{ROUNDING, Stated},
};
use veracity_core::{Participation, printable};

/// How much more than one contribution the steps of a grid may come to: a step is rounded up to 20 bits.
const STEP_ROUNDING: f64 = 4e-6;
/// The statistic of claims for answers in SQL.
const QUERY: &str = "query";
/// Bits of a float beyond the first 20, which a step does not use.
const STEP_REST: u64 = (1 << 33) - 1;
/// The most points of the grid that a quantile is chosen from.
const MOST_POINTS: f64 = (1u32 << 20) as f64 + 2.0;

/// Compares a note with what a claim is about, number by number. What cannot be compared is refused: other calls, other samplers.
pub(crate) fn compare(note: &ReleaseNote, subject: &Subject) -> Result<Vec<Check>, Refusal> {
    let mut checks = compare_noise(note, &subject.mechanism)?;
    checks.extend(compare_grid(note, subject.adjacency)?);
    Ok(checks)
}

/// Compares the grid of each noise call with the bounds that the note states: one record's contribution is the sensitivity, in
/// steps of the grid. Claims of queries, and of the earlier schema, do not say what a record contributes.
fn compare_grid(note: &ReleaseNote, adjacency: Adjacency) -> Result<Vec<Check>, Refusal> {
    // An answer that is not the one of its digest is refused as that.
    let is_torn = note.digest.as_ref().is_some_and(|digest| digest.sha256 != note.sealed());
    if note.answer.is_none() || is_torn {
        return Ok(Vec::new());
    }
    let bounds = note.parameters.as_ref().and_then(|asked| Some((asked.lower?, asked.upper?)));
    let mut checks = Vec::new();
    for (at, noise) in note.noise.iter().enumerate() {
        let steps = noise.sensitivity.count("sensitivity")?.as_f64();
        let range = match (statistic_of(note), noise.place.as_str(), bounds) {
            ("count", "count", _) | ("histogram", "histogram", _) => (1.0 / steps, 1.0 / steps),
            ("quantile", _, Some((lower, upper))) => ((upper - lower) / MOST_POINTS, upper - lower),
            (statistic @ ("sum" | "mean" | "variance"), place, Some((lower, upper))) => {
                let half = 0.5 * (upper - lower);
                let square = if adjacency == Adjacency::ReplaceOne { 0.5 } else { 1.0 } * half * half;
                let (contribution, steps) = match (statistic, place, adjacency) {
                    ("sum", "sum", Adjacency::AddRemove) => (lower.abs().max(upper.abs()), steps),
                    ("mean", "two sums", Adjacency::AddRemove) => (2.0 * half, steps),
                    // Two of three sums are rounded, for which one step is spare.
                    ("variance", "three sums", Adjacency::AddRemove) => (4.0 * half * half, steps - 1.0),
                    (_, "sum", Adjacency::ReplaceOne | Adjacency::ZeroOut) => (half, steps),
                    ("variance", "squares", Adjacency::ReplaceOne | Adjacency::ZeroOut) => (square, steps),
                    _ => return Err(misplaced(at + 1)),
                };
                let step = contribution / steps;
                (step * (1.0 - 1e-8), step * (1.0 + STEP_ROUNDING))
            }
            ("count" | "histogram", _, _) => return Err(misplaced(at + 1)),
            ("sum" | "mean" | "variance" | "quantile", _, None) => {
                return Err(Refusal::invalid(
                    "lower and upper are missing; the claim needs the bounds of the column",
                ));
            }
            // The catalog of a query has the bounds of its columns, and the claim has not.
            (QUERY, _, _) => continue,
            (other, _, _) => {
                return Err(Refusal::out_of_range(
                    "statistic",
                    printable(other, 60),
                    "count, sum, mean, variance, quantile, histogram or query",
                ));
            }
        };
        let claimed = noise.granularity;
        let written = match statistic_of(note) {
            "quantile" => claimed == range.1 || is_written_step(claimed),
            _ => claimed.to_bits() & STEP_REST == 0,
        };
        checks.push(Check {
            what: format!("granularity of noise call {}", at + 1),
            stated: Stated::Value,
            claimed,
            lower: Some(range.0),
            upper: range.1,
            holds: claimed >= range.0 && claimed <= range.1 && written,
        });
    }
    Ok(checks)
}

/// Whether the grid of the noise follows from what a claim states. How many points a quantile is chosen from does not.
pub(crate) fn states_grid(note: &ReleaseNote) -> bool {
    let known = ["count", "sum", "mean", "variance", "histogram"];
    note.answer.is_some() && known.contains(&statistic_of(note))
}

/// The statistic of a release; sessions name the column that they group by after it.
fn statistic_of(note: &ReleaseNote) -> &str {
    note.statistic.split_once(" by ").map_or(note.statistic.as_str(), |(statistic, _)| statistic)
}

fn misplaced(call: usize) -> Refusal {
    Refusal::Invalid(format!(
        "place of noise call {call} does not belong to the statistic; the claim was changed after it was written"
    ))
}

/// Whether a number is 1, 2 or 5 times a power of ten.
fn is_written_step(step: f64) -> bool {
    let written = format!("{step:e}");
    written.split('e').next().is_some_and(|digits| matches!(digits, "1" | "2" | "5"))
}

fn compare_noise(note: &ReleaseNote, mechanism: &Mechanism) -> Result<Vec<Check>, Refusal> {
    let drawn = calls(mechanism);
    if drawn.len() != note.noise.len() {
        return Err(Refusal::Invalid(format!(
            "noise lists {} calls, but the mechanism makes {}",
            note.noise.len(),
            drawn.len()
        )));
    }
    let mut checks = Vec::new();
    for (at, (noise, drawn)) in note.noise.iter().zip(drawn).enumerate() {
        checks.extend(numbers(at + 1, noise, drawn)?);
    }
    Ok(checks)
}

/// Whether a release that bounds the rows of a person was charged for as many, and only such a one.
pub(crate) fn compare_persons(persons: Option<&PersonsNote>, subject: &Subject) -> Result<(), Refusal> {
    if let Some(PersonsNote {
        rows_per_person: None,
        rows_per_group: Some(rows),
        groups_per_person,
        rows_per_subquery,
        groups_per_call,
        ..
    }) = persons
    {
        let groups = groups_per_person
            .as_ref()
            .ok_or_else(|| Refusal::invalid("groups_per_person is missing; rows_per_group needs it"))?;
        let groups = groups.count("groups_per_person")?;
        for read in rows_per_subquery {
            read.count("rows_per_subquery")?;
        }
        compare_calls(rows.count("rows_per_group")?, (groups, groups_per_call), &subject.mechanism)?;
    } else {
        if persons.is_some_and(|note| {
            let has_lists = !note.rows_per_subquery.is_empty() || !note.groups_per_call.is_empty();
            note.rows_per_group.is_some() || note.groups_per_person.is_some() || has_lists
        }) {
            return Err(Refusal::invalid(
                "persons limits rows in two ways; give rows_per_person, or rows_per_group with groups_per_person",
            ));
        }
        compare_rows(persons, &subject.mechanism)?;
    }
    let is_bounded =
        persons.is_some_and(|note| note.rows_per_person.is_some() || note.rows_per_group.is_some());
    match is_bounded && subject.adjacency != Adjacency::AddRemove {
        true => Err(Refusal::no_theorem("a limit on rows per person", subject.adjacency, "use add-remove")),
        false => Ok(()),
    }
}

/// The rows of one person are a group of uses.
fn compare_rows(persons: Option<&PersonsNote>, mechanism: &Mechanism) -> Result<(), Refusal> {
    let charged = match mechanism {
        Mechanism::Group { size, .. } => *size,
        _ => Count::ONE,
    };
    let noted = match persons.and_then(|persons| persons.rows_per_person.as_ref()) {
        Some(rows) => rows.count("rows_per_person")?,
        None => Count::ONE,
    };
    expected("rows_per_person", noted, charged, "as in the group of the mechanism")
}

/// Of a query with several groupings, each noise call has its own number of groups, and none more than the note says of the query.
fn compare_calls(
    rows: Count,
    (groups, of_calls): (Count, &[Whole]),
    mechanism: &Mechanism,
) -> Result<(), Refusal> {
    if of_calls.is_empty() {
        return compare_groups(rows, groups, mechanism);
    }
    let Mechanism::Composed(parts) = mechanism else {
        return Err(Refusal::invalid("groups_per_call needs a mechanism that is composed of noise calls"));
    };
    let calls: Vec<&Mechanism> =
        parts.iter().filter(|part| !matches!(part, Mechanism::Approximate { .. })).collect();
    if calls.len() != of_calls.len() {
        return Err(Refusal::Invalid(format!(
            "groups_per_call has {} numbers, expected {}, one for each noise call",
            of_calls.len(),
            calls.len()
        )));
    }
    let mut most = 0;
    for (call, groups) in calls.into_iter().zip(of_calls) {
        let groups = groups.count("groups_per_call")?;
        most = most.max(groups.get());
        compare_groups(rows, groups, call)?;
    }
    expected("groups_per_person", groups, Count::new(most)?, "as the largest of groups_per_call")
}

/// Of a query, one person is in as many groups as each part is repeated. Rows in each are in the sensitivity of noise, which is in
/// steps of its grid; where a part is a group of uses, it has as many.
fn compare_groups(rows: Count, groups: Count, mechanism: &Mechanism) -> Result<(), Refusal> {
    match mechanism {
        Mechanism::Composed(parts) => parts.iter().try_for_each(|part| compare_groups(rows, groups, part)),
        // That a key of one's own is shown is bounded over all groups together.
        Mechanism::Approximate { .. } => Ok(()),
        Mechanism::Repeated { times, mechanism } => {
            expected("groups_per_person", groups, *times, "as many as the mechanism is repeated")?;
            compare_groups(rows, Count::ONE, mechanism)
        }
        Mechanism::Group { size, .. } => {
            expected("groups_per_person", groups, Count::ONE, "as many as the mechanism is repeated")?;
            expected("rows_per_group", rows, *size, "as in the group of the mechanism")
        }
        // The groups are the steps of a matrix.
        Mechanism::Matrix { participation: Participation::Separated { times, .. }, .. } => {
            expected("groups_per_person", groups, *times, "as many as the steps of one person")
        }
        _ => expected("groups_per_person", groups, Count::ONE, "as many as the mechanism is repeated"),
    }
}

fn expected(name: &str, noted: Count, charged: Count, why: &str) -> Result<(), Refusal> {
    match noted == charged {
        true => Ok(()),
        false => {
            Err(Refusal::Invalid(format!("{name} is {}, expected {} {why}", noted.get(), charged.get())))
        }
    }
}

/// What one noise call draws, as the accountant reads it.
enum Drawn {
    /// Integer noise on an answer.
    Added { sampler: &'static str, scale: f64, sensitivity: f64 },
    /// Integer noise on every row of a matrix, this many times as wide as one record's contribution to one step.
    Rows { multiplier: f64 },
    /// Noise on every coordinate of a vector, this many times as wide as one record's contribution.
    Vector { sampler: &'static str, multiplier: f64 },
    /// A choice of this ε.
    Chosen { epsilon: f64 },
}

/// The noise calls of a mechanism, in order. Declared and local mechanisms have none that a release notes.
fn calls(mechanism: &Mechanism) -> Vec<Drawn> {
    let added = |scale: NoiseMultiplier, sensitivity: Count| Drawn::Added {
        sampler: mechanism.kind(),
        scale: scale.get(),
        sensitivity: sensitivity.as_f64(),
    };
    match mechanism {
        Mechanism::DiscreteLaplace { scale, sensitivity } => vec![added(*scale, *sensitivity)],
        Mechanism::DiscreteGaussian { sigma, sensitivity } => vec![added(*sigma, *sensitivity)],
        Mechanism::Matrix { noise_multiplier, .. } => {
            vec![Drawn::Rows { multiplier: noise_multiplier.get() }]
        }
        Mechanism::Exponential { epsilon } => vec![Drawn::Chosen { epsilon: epsilon.get() }],
        Mechanism::Composed(parts) => parts.iter().flat_map(calls).collect(),
        // The bins of a histogram are parts of one call, and all alike.
        Mechanism::Parallel(parts) => parts.first().map_or(Vec::new(), calls),
        Mechanism::Gaussian { noise_multiplier } => {
            vec![Drawn::Vector { sampler: "gaussian-vector", multiplier: noise_multiplier.get() }]
        }
        Mechanism::Laplace { noise_multiplier } => {
            vec![Drawn::Vector { sampler: "laplace-vector", multiplier: noise_multiplier.get() }]
        }
        // The steps of a run are noted once, and so is the noise on all rows of a person.
        other => other.inside().iter().flat_map(calls).collect(),
    }
}

fn numbers(at: usize, noise: &NoiseNote, drawn: Drawn) -> Result<[Check; 2], Refusal> {
    if !(noise.granularity > 0.0 && noise.granularity.is_finite()) {
        return Err(Refusal::out_of_range("granularity", noise.granularity, "a finite number > 0"));
    }
    let noted = noise.sensitivity.count("sensitivity")?.as_f64();
    let exactly = |x: f64| (x, x);
    let (sampler, scale, sensitivity) = match drawn {
        Drawn::Added { sampler, scale, sensitivity } => (sampler, exactly(scale), sensitivity),
        Drawn::Rows { multiplier } => ("discrete-gaussian", exactly(multiplier * noted), noted),
        // The contribution need not be a integer number of grid steps; the note rounds it up.
        Drawn::Vector { sampler, multiplier } => {
            (sampler, (multiplier * (noted - 1.0), multiplier * noted), noted)
        }
        // Scores are weighted by exp(ε u/2Δ): the ε fits any sensitivity Δ, at a scale of 2Δ/ε.
        Drawn::Chosen { epsilon } => ("exponential", exactly(2.0 * noted / epsilon), noted),
    };
    if noise.sampler != sampler {
        return Err(Refusal::Invalid(format!(
            "sampler of noise call {at} does not match the mechanism, expected {sampler}"
        )));
    }
    let check = |what: &str, claimed: f64, (lower, upper): (f64, f64)| Check {
        what: format!("{what} of noise call {at}"),
        stated: Stated::Value,
        claimed,
        lower: Some(lower),
        upper,
        holds: claimed >= lower - ROUNDING * upper && claimed <= upper + ROUNDING * upper,
    };
    Ok([check("scale", noise.scale, scale), check("sensitivity", noted, exactly(sensitivity))])
}
