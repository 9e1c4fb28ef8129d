//! Numbers that begin where a line of the cache does, so that no vector of them lies on two lines: such loads take twice as long.

use std::ops::{Deref, DerefMut};

/// Numbers in a line.
const LINE: usize = 16;

/// Some numbers, zero at first.
#[derive(Debug)]
pub(crate) struct Aligned {
    /// With some to spare.
    room: Vec<f32>,
    first: usize,
    length: usize,
}

impl Aligned {
    pub(crate) fn new(length: usize) -> Aligned {
        let room = vec![0.0; length + LINE];
        // Where the place cannot be told, any will do: it changes no bit.
        let first = room.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
        Aligned { room, first, length }
    }
}

impl Deref for Aligned {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        &self.room[self.first..][..self.length]
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.first..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_are_there_and_begin_with_a_line() {
        for length in [0, 1, 15, 16, 17, 1000, 100_003] {
            let mut numbers = Aligned::new(length);
            assert!(numbers.len() == length && numbers.iter().all(|x| *x == 0.0));
            assert!(numbers.as_ptr().addr().is_multiple_of(64));
            numbers.fill(1.0);
            assert_eq!(numbers.iter().sum::<f32>(), length as f32);
        }
    }
}
