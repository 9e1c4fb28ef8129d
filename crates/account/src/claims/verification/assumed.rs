//! The assumptions of a confirmation: statements of a claim that cannot be recomputed.

use crate::claims::{ClaimFile, Mechanism, Subject, check_noise_note};
use veracity_core::printable;

/// The most declared parts that are named one by one.
const MOST_NAMED: usize = 8;

/// The assumptions, one line each.
pub(super) fn list(claim: &ClaimFile, subject: &Subject) -> Vec<String> {
    let unit = subject.unit.name();
    let mut assumed = match &claim.persons {
        Some(persons) => {
            let column = printable(&persons.column, usize::MAX);
            vec![format!("column {column} is the privacy ID: each of its values stands for one {unit}")]
        }
        None => vec![format!("the data contain at most one record per {unit}")],
    };
    let mut parts = Vec::new();
    declared(&subject.mechanism, &mut parts);
    let more = parts.len().saturating_sub(MOST_NAMED);
    parts.truncate(MOST_NAMED);
    assumed
        .extend(parts.into_iter().map(|part| format!("this declared guarantee is taken as stated: {part}")));
    if more > 0 {
        assumed.push(format!("{more} other declared guarantees are taken as stated"));
    }
    if let Some(note) = &claim.release {
        assumed.push(match check_noise_note::states_grid(note) {
            true => "the note on the release is correct: its data, time and source of randomness".into(),
            false => {
                "the note on the release is correct: its data, time, source of randomness, and the call sites and grid of its noise".into()
            }
        });
    } else if let Some(batches) = subject.assumed_batches() {
        assumed.push(batches.into());
    }
    assumed
}

/// The parts of which only a declared guarantee is known, each once.
fn declared(mechanism: &Mechanism, parts: &mut Vec<String>) {
    if mechanism.is_declared() {
        let described = Subject::new(mechanism.clone()).describe();
        if !parts.contains(&described) {
            parts.push(described);
        }
    }
    mechanism.inside().iter().for_each(|part| declared(part, parts));
}
