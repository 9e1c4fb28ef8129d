//! Worlds as a device reads them: one set of rows, and for each trial what stands where.

use super::{
    job::{Job, MOST_CRAFTED},
    rows::Rows,
    shape,
};
use crate::{
    CalibratedNoise, CraftedGradient, Dataset, World,
    device::{Reading, Trainings},
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use veracity_core::Refusal;

/// Worlds that one core looks at before it takes others.
const AT_ONCE: usize = 256;

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
///
/// # Errors
/// Refuses worlds with different planted records, and fails where `send` does.
pub fn place(
    job: &mut Job,
    trainings: &Trainings<'_>,
    calibrated: &CalibratedNoise,
    send: &mut dyn FnMut(Numbers) -> Result<u64, Refusal>,
) -> Result<usize, Refusal> {
    let first = trainings.worlds[0].parts();
    let positions = trainings.worlds[0].len();
    let alike = |world: &World<'_>| {
        world.has_records_of(&trainings.worlds[0]) && world.parts().is_in.len() == first.is_in.len()
    };
    if !trainings.worlds.par_iter().with_min_len(AT_ONCE).all(alike) {
        return Err(Refusal::Invalid(
            "worlds have different planted records; they must be the same in all worlds".into(),
        ));
    }
    let replacing = replacing(trainings.worlds);
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
    let mut rows = Rows::new(&datasets)?;
    // A row of nothing comes last.
    job.blank = rows.about.len() as i32;
    rows.about.push([f32::INFINITY, 0.0]);
    rows.bytes.resize(rows.bytes.len() + rows.planes * rows.width, 0);
    job.unit = rows.unit as f32;
    job.fine_steps = job.fine_bias_steps * rows.unit;
    debug_assert_eq!(rows.width, job.width as usize);
    let planes = rows.planes;
    job.about = send(Numbers::Pairs(rows.about))?;
    job.rows = send(Numbers::Bytes(rows.bytes))?;
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
    let by = |by: Option<&Dataset>| {
        let found = by.and_then(|by| replacing.iter().position(|known| std::ptr::eq(*known, by)));
        found.map_or(-1, |at| first_replacing + at as i32)
    };
    let mut changed = vec![-1; 2 * trainings.worlds.len()];
    let each = changed.par_chunks_exact_mut(2).zip(trainings.worlds).with_min_len(AT_ONCE);
    each.for_each(|(changed, world)| {
        if let Some((at, with)) = world.parts().changed {
            changed.copy_from_slice(&[at as i32, by(with)]);
        }
    });
    let mut is_in = vec![0u32; words * trainings.worlds.len()];
    let each = is_in.par_chunks_mut(words.max(1)).zip(trainings.worlds).with_min_len(AT_ONCE);
    each.for_each(|(is_in, world)| {
        for (word, choices) in is_in.iter_mut().zip(world.parts().is_in.chunks(32)) {
            *word = choices.iter().rev().fold(0, |word, is_in| word << 1 | u32::from(*is_in));
        }
    });
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
    calibrated: &CalibratedNoise,
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
    // What stands at each position in some world: few different ones, of which each gets a number.
    let seen = standing(trainings.worlds, count);
    let mut known: BTreeMap<*const CraftedGradient, i32> = BTreeMap::new();
    let (mut starts, mut entries) = (vec![0i32], Vec::new());
    let mut number_of = |crafted: &CraftedGradient| {
        let next = known.len() as i32;
        *known.entry(std::ptr::from_ref(crafted)).or_insert_with(|| {
            for (parameter, steps) in crafted.steps(&trainings.plan.network, calibrated) {
                entries.extend([parameter, steps as i32 as u32]);
            }
            starts.push(entries.len() as i32 / 2);
            next
        })
    };
    let seen: Vec<Vec<(&CraftedGradient, i32)>> = seen
        .into_iter()
        .map(|at_one| at_one.into_iter().map(|crafted| (crafted, number_of(crafted))).collect())
        .collect();
    let mut numbers = vec![-1i32; count * trainings.worlds.len()];
    let each = numbers.par_chunks_mut(count).zip(trainings.worlds).with_min_len(AT_ONCE);
    each.for_each(|(numbers, world)| {
        for ((number, crafted), seen) in numbers.iter_mut().zip(world.parts().crafted).zip(&seen) {
            let found = crafted.and_then(|crafted| seen.iter().find(|known| std::ptr::eq(known.0, crafted)));
            *number = found.map_or(-1, |(_, number)| *number);
        }
    });
    // The most that all positions together can add to a parameter.
    let mut totals: BTreeMap<u32, f64> = BTreeMap::new();
    for (_, number) in seen.iter().flatten() {
        let range = 2 * starts[*number as usize] as usize..2 * starts[*number as usize + 1] as usize;
        for entry in entries[range].chunks_exact(2) {
            *totals.entry(entry[0]).or_insert(0.0) += f64::from(entry[1] as i32).abs();
        }
    }
    if totals.values().any(|steps| *steps > f64::from(1u32 << 30)) {
        return Err(Refusal::Invalid(
            "the sum of the crafted gradients is too large for a CUDA device; use fewer of them or the cpu"
                .into(),
        ));
    }
    job.crafted = send(Numbers::Signed(numbers))?;
    job.crafted_starts = send(Numbers::Signed(starts))?;
    job.crafted_entries = send(Numbers::Words(entries))?;
    Ok(())
}

/// The different records that stand in the place of another in some world.
fn replacing<'a>(worlds: &[World<'a>]) -> Vec<&'a Dataset> {
    let add = |mut seen: Vec<&'a Dataset>, by: &'a Dataset| {
        if !seen.iter().any(|known| std::ptr::eq(*known, by)) {
            seen.push(by);
        }
        seen
    };
    let found =
        worlds.par_iter().with_min_len(AT_ONCE).fold(Vec::new, |seen, world| match world.parts().changed {
            Some((_, Some(by))) => add(seen, by),
            _ => seen,
        });
    found.reduce(Vec::new, |all, more| more.into_iter().fold(all, add))
}

/// The different gradients that stand at each position in some world.
fn standing<'a>(worlds: &[World<'a>], count: usize) -> Vec<Vec<&'a CraftedGradient>> {
    let add = |seen: &mut Vec<&'a CraftedGradient>, crafted: &'a CraftedGradient| {
        if !seen.iter().any(|known| std::ptr::eq(*known, crafted)) {
            seen.push(crafted);
        }
    };
    let none = || vec![Vec::new(); count];
    let found = worlds.par_iter().with_min_len(AT_ONCE).fold(none, |mut seen, world| {
        for (seen, crafted) in seen.iter_mut().zip(world.parts().crafted) {
            crafted.iter().for_each(|crafted| add(seen, crafted));
        }
        seen
    });
    found.reduce(none, |mut all, more| {
        for (seen, more) in all.iter_mut().zip(more) {
            more.into_iter().for_each(|crafted| add(seen, crafted));
        }
        all
    })
}
