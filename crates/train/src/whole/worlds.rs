//! Worlds as a device reads them: one set of rows, and for each trial what stands where.

use super::{
    job::{Job, MOST_CRAFTED},
    rows::Rows,
    shape,
};
use crate::{
    Calibrated, Crafted, Dataset,
    device::{Reading, Trainings},
};
use std::collections::BTreeMap;
use veracity_core::Refusal;

/// Numbers on their way to the device.
#[derive(Debug)]
#[allow(missing_docs)] // Each says what it holds.
pub enum Numbers {
    Bytes(Vec<u8>),
    Pairs(Vec<[f32; 2]>),
    Words(Vec<u32>),
    Signed(Vec<i32>),
    Long(Vec<u64>),
}

/// Places records, worlds and probes, and says how many bytes a feature has.
pub fn place(
    job: &mut Job,
    trainings: &Trainings<'_>,
    calibrated: &Calibrated,
    send: &mut dyn FnMut(Numbers) -> Result<u64, Refusal>,
) -> Result<usize, Refusal> {
    let first = trainings.worlds[0].parts();
    let positions = trainings.worlds[0].len();
    let same = |a: Option<&Dataset>, b: Option<&Dataset>| match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a, b),
        (None, None) => true,
        _ => false,
    };
    let mut replacing: Vec<&Dataset> = Vec::new();
    for world in trainings.worlds {
        let parts = world.parts();
        let alike = world.len() == positions
            && same(parts.added, first.added)
            && same(parts.inside, first.inside)
            && same(parts.outside, first.outside)
            && parts.is_in.len() == first.is_in.len();
        if !alike {
            return Err(Refusal::Invalid(
                "worlds differ in more than what was chosen, expected the same planted records in all".into(),
            ));
        }
        if let Some((_, Some(by))) = parts.changed
            && !replacing.iter().any(|known| std::ptr::eq(*known, by))
        {
            replacing.push(by);
        }
    }
    let mut datasets = vec![first.data];
    datasets.extend(first.added);
    job.unplanted = datasets.iter().map(|part| part.len() as i32).sum();
    job.records = job.unplanted + first.is_in.len() as i32;
    job.positions = positions as i32;
    let mut rows = job.unplanted;
    job.inside = rows;
    if let Some(inside) = first.inside {
        datasets.push(inside);
        rows += inside.len() as i32;
    }
    job.outside = if first.outside.is_some() { rows } else { -1 };
    if let Some(outside) = first.outside {
        datasets.push(outside);
        rows += outside.len() as i32;
    }
    let first_replacing = rows;
    datasets.extend(&replacing);
    rows += replacing.len() as i32;
    job.first_probe = rows;
    if let Reading::Outputs(probes) = trainings.read {
        datasets.push(probes);
        job.probes = probes.len() as i32;
    }
    let rows = Rows::new(&datasets)?;
    job.unit = rows.unit as f32;
    job.fine_steps = job.fine_bias_steps * rows.unit;
    debug_assert_eq!(rows.width, job.width as usize);
    let planes = rows.planes;
    job.about = send(Numbers::Pairs(if rows.about.is_empty() { vec![[1.0, 0.0]] } else { rows.about }))?;
    job.rows =
        send(Numbers::Bytes(if rows.bytes.is_empty() { vec![0; planes * rows.width] } else { rows.bytes }))?;
    job.room_for = shape::room_for(trainings.plan, positions)? as i32;
    place_choices(job, trainings, &replacing, first_replacing, send)?;
    place_crafted(job, trainings, calibrated, send)?;
    Ok(planes)
}

/// For each trial, its number, which position was changed, and which planted records are in.
fn place_choices(
    job: &mut Job,
    trainings: &Trainings<'_>,
    replacing: &[&Dataset],
    first_replacing: i32,
    send: &mut dyn FnMut(Numbers) -> Result<u64, Refusal>,
) -> Result<(), Refusal> {
    let planted = trainings.worlds[0].parts().is_in.len();
    let words = planted.div_ceil(32);
    let (mut changed, mut is_in) = (Vec::new(), vec![0u32; words * trainings.worlds.len()]);
    for (trial, world) in trainings.worlds.iter().enumerate() {
        let parts = world.parts();
        let by = |by: Option<&Dataset>| {
            let found = by.and_then(|by| replacing.iter().position(|known| std::ptr::eq(*known, by)));
            found.map_or(-1, |at| first_replacing + at as i32)
        };
        changed.extend(parts.changed.map_or([-1, -1], |(position, with)| [position as i32, by(with)]));
        for (at, _) in parts.is_in.iter().enumerate().filter(|(_, is_in)| **is_in) {
            is_in[trial * words + at / 32] |= 1 << (at % 32);
        }
    }
    job.planted_words = words as i32;
    job.trials = send(Numbers::Long(trainings.trials.to_vec()))?;
    job.changed = send(Numbers::Signed(changed))?;
    job.is_in = send(Numbers::Words(is_in))?;
    Ok(())
}

/// For each trial, which crafted gradients stand where; for each of those, what it adds.
fn place_crafted(
    job: &mut Job,
    trainings: &Trainings<'_>,
    calibrated: &Calibrated,
    send: &mut dyn FnMut(Numbers) -> Result<u64, Refusal>,
) -> Result<(), Refusal> {
    let count = trainings.worlds[0].parts().crafted.len();
    job.crafted_count = count as i32;
    if count == 0 {
        return Ok(());
    }
    if count > MOST_CRAFTED {
        return Err(Refusal::out_of_range(
            "canaries",
            count,
            "at most 1024 crafted gradients on a CUDA device",
        ));
    }
    let mut known: BTreeMap<*const Crafted, i32> = BTreeMap::new();
    let (mut starts, mut entries) = (vec![0i32], Vec::new());
    let mut numbers = Vec::with_capacity(count * trainings.worlds.len());
    // What was seen at each position.
    let mut seen: Vec<Vec<i32>> = vec![Vec::new(); count];
    for world in trainings.worlds {
        for (at, crafted) in world.parts().crafted.iter().enumerate() {
            let Some(crafted) = crafted else {
                numbers.push(-1);
                continue;
            };
            let next = known.len() as i32;
            let number = *known.entry(std::ptr::from_ref(*crafted)).or_insert_with(|| {
                for (parameter, steps) in crafted.steps(&trainings.plan.network, calibrated) {
                    entries.extend([parameter, steps as i32 as u32]);
                }
                starts.push(entries.len() as i32 / 2);
                next
            });
            if !seen[at].contains(&number) {
                seen[at].push(number);
            }
            numbers.push(number);
        }
    }
    // The most that all positions together can add to a parameter.
    let mut totals: BTreeMap<u32, f64> = BTreeMap::new();
    for number in seen.iter().flatten() {
        let range = 2 * starts[*number as usize] as usize..2 * starts[*number as usize + 1] as usize;
        for entry in entries[range].chunks_exact(2) {
            *totals.entry(entry[0]).or_insert(0.0) += f64::from(entry[1] as i32).abs();
        }
    }
    if totals.values().any(|steps| *steps > f64::from(1u32 << 30)) {
        return Err(Refusal::Invalid(
            "crafted gradients add up to more than a CUDA device counts; use less of them or the cpu".into(),
        ));
    }
    job.crafted = send(Numbers::Signed(numbers))?;
    job.crafted_starts = send(Numbers::Signed(starts))?;
    job.crafted_entries = send(Numbers::Words(entries))?;
    Ok(())
}
