//! What a confirmation rests on: statements of a claim that no accountant can recompute.

use crate::{ClaimFile, Mechanism, Subject};

/// The most declared parts that are named one by one.
const MOST_NAMED: usize = 8;

/// What is taken as it stands, one line each.
pub(super) fn list(claim: &ClaimFile, subject: &Subject) -> Vec<String> {
    let unit = subject.unit.name();
    let mut assumed = match &claim.persons {
        Some(persons) => {
            let column: String = persons.column.chars().filter(|c| !c.is_control()).collect();
            vec![format!("column {column} tells whose rows are whose, one {unit} for each value")]
        }
        None => vec![format!("one record is all that the data hold of one {unit}")],
    };
    let mut parts = Vec::new();
    declared(&subject.mechanism, &mut parts);
    let more = parts.len().saturating_sub(MOST_NAMED);
    parts.truncate(MOST_NAMED);
    assumed.extend(parts.into_iter().map(|part| format!("a part of the mechanism is as stated: {part}")));
    if more > 0 {
        assumed.push(format!("{more} other parts of the mechanism are as stated"));
    }
    if claim.release.is_some() {
        assumed.push(
            "the release is as noted: its data, time, entropy and the place and grid of its noise".into(),
        );
    }
    assumed
}

/// The parts that are known by a guarantee alone, each once.
fn declared(mechanism: &Mechanism, parts: &mut Vec<String>) {
    if mechanism.is_declared() {
        let described = Subject::new(mechanism.clone()).describe();
        if !parts.contains(&described) {
            parts.push(described);
        }
    }
    mechanism.inside().iter().for_each(|part| declared(part, parts));
}
