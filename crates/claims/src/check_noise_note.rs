//! Whether the noise that a release notes is the noise of the mechanism that its claim was computed for.
//!
//! A claim says twice what was drawn: the accountant reads the mechanism, people read the note. A note of other noise
//! would lend a good ε to a release that never had it, so both must say the same.

use crate::{
    Adjacency, Check, Count, Mechanism, NoiseMultiplier, NoiseNote, PersonsNote, Refusal, ReleaseNote,
    Subject,
    verification::{ROUNDING, Stated},
};

/// Compares a note with a mechanism, number by number. What cannot be compared is refused: other calls, other samplers.
pub(crate) fn compare(note: &ReleaseNote, mechanism: &Mechanism) -> Result<Vec<Check>, Refusal> {
    let drawn = calls(mechanism);
    if drawn.len() != note.noise.len() {
        return Err(Refusal::Invalid(format!(
            "noise has {} calls, expected {} as the mechanism has",
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
        rows_per_person: None, rows_per_group: Some(rows), groups_per_person, ..
    }) = persons
    {
        let groups = groups_per_person.as_ref().ok_or_else(|| {
            Refusal::invalid("groups_per_person is missing, expected it beside rows_per_group")
        })?;
        let groups = groups.count("groups_per_person")?;
        compare_groups(rows.count("rows_per_group")?, groups, &subject.mechanism)?;
    } else {
        if persons.is_some_and(|note| note.rows_per_group.is_some() || note.groups_per_person.is_some()) {
            return Err(Refusal::invalid(
                "persons bound rows in two ways, expected rows_per_person, or rows_per_group and groups_per_person",
            ));
        }
        compare_rows(persons, &subject.mechanism)?;
    }
    let is_bounded =
        persons.is_some_and(|note| note.rows_per_person.is_some() || note.rows_per_group.is_some());
    match is_bounded && subject.adjacency != Adjacency::AddRemove {
        true => Err(Refusal::no_theorem("rows bounded by person", subject.adjacency, "use add-remove")),
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
    expected("rows_per_person", noted, charged, "as the mechanism's group has")
}

/// Of a query, one person is in as many groups as each part is repeated. Rows in each are in the sensitivity of noise, which is in
/// steps of its grid; where a part is a group of uses, it has as many.
fn compare_groups(rows: Count, groups: Count, mechanism: &Mechanism) -> Result<(), Refusal> {
    match mechanism {
        Mechanism::Composed(parts) => parts.iter().try_for_each(|part| compare_groups(rows, groups, part)),
        // That a key of one's own is shown is bounded over all groups together.
        Mechanism::Approximate { .. } => Ok(()),
        Mechanism::Repeated { times, mechanism } => {
            expected("groups_per_person", groups, *times, "as the mechanism is repeated")?;
            compare_groups(rows, Count::ONE, mechanism)
        }
        Mechanism::Group { size, .. } => {
            expected("groups_per_person", groups, Count::ONE, "as the mechanism is repeated")?;
            expected("rows_per_group", rows, *size, "as the mechanism's group has")
        }
        _ => expected("groups_per_person", groups, Count::ONE, "as the mechanism is repeated"),
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
        // The contribution need not be a whole number of grid steps; the note rounds it up.
        Drawn::Vector { sampler, multiplier } => {
            (sampler, (multiplier * (noted - 1.0), multiplier * noted), noted)
        }
        // Scores are weighted by exp(ε u/2Δ): the ε fits any sensitivity Δ, at a scale of 2Δ/ε.
        Drawn::Chosen { epsilon } => ("exponential", exactly(2.0 * noted / epsilon), noted),
    };
    if noise.sampler != sampler {
        return Err(Refusal::Invalid(format!(
            "sampler of noise call {at} is not the mechanism's, expected {sampler}"
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
