//! IDX files, plain or compressed: two zero bytes, a kind, a number of sides, the sides, and bytes.

use crate::{
    Array, Limits, Numbers, Source,
    format::Format,
    source::{Opened, end, exactly, refuse},
};
use veracity_core::Error;

/// The kind that holds unsigned bytes, the one in use for images and labels.
const BYTES: u8 = 0x08;

/// Reads an IDX file of unsigned bytes.
///
/// # Errors
/// Refuses a file that is not IDX, is damaged, or exceeds the limits.
pub fn read_idx(source: &Source, limits: &Limits) -> Result<Array, Error> {
    read(source.open(limits)?.expect(Format::Idx)?, limits)
}

pub(crate) fn read(opened: Opened, limits: &Limits) -> Result<Array, Error> {
    let Opened { name: file, stream: mut source, .. } = opened;
    let start = exactly(&mut *source, 4, &file)?;
    let [0, 0, kind, sides] = start[..] else {
        return Err(refuse(&file, "an IDX file, but it does not start like one"));
    };
    if kind != BYTES {
        return Err(refuse(&file, "an IDX file of unsigned bytes, but it has another type"));
    }
    if sides == 0 {
        return Err(refuse(&file, "an IDX file with at least one dimension"));
    }
    let bytes = exactly(&mut *source, 4 * u64::from(sides), &file)?;
    let shape: Vec<usize> =
        bytes.as_chunks::<4>().0.iter().map(|side| u32::from_be_bytes(*side) as usize).collect();
    let count = shape.iter().try_fold(1usize, |count, side| count.checked_mul(*side));
    let Some(count) = count.filter(|count| *count <= limits.values && *count as u64 <= limits.bytes) else {
        return Err(refuse(&file, format!("at most {} numbers and {} bytes", limits.values, limits.bytes)));
    };
    let numbers = exactly(&mut *source, count as u64, &file)?;
    end(&mut *source, &file)?;
    Ok(Array::as_read(shape, Numbers::U8(numbers)))
}
