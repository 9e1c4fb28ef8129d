//! Memory for intermediate results, one piece per thread, so that small products stay in its cache.

use std::cell::Cell;

thread_local! {
    /// What is not lent, one piece for each time that something was lent while other pieces were.
    static MEMORY: Cell<Vec<Vec<f32>>> = const { Cell::new(Vec::new()) };
}

/// Lends slices of these lengths to `work`. What is in them is left over from before: write before reading.
pub(super) fn lend<const N: usize, T>(lengths: [usize; N], work: impl FnOnce([&mut [f32]; N]) -> T) -> T {
    let mut free = MEMORY.take();
    let mut memory = free.pop().unwrap_or_default();
    MEMORY.set(free);
    let total = lengths.iter().sum();
    if memory.len() < total {
        memory.resize(total, 0.0);
    }
    let mut rest = &mut memory[..];
    let answer = work(lengths.map(|length| {
        let (piece, after) = std::mem::take(&mut rest).split_at_mut(length);
        rest = after;
        piece
    }));
    let mut free = MEMORY.take();
    free.push(memory);
    MEMORY.set(free);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_memory_does_not_overlap_even_when_lent_twice() {
        let total = lend([3, 2], |[a, b]| {
            a.fill(1.0);
            b.fill(10.0);
            lend([4], |[c]| c.fill(100.0));
            a.iter().sum::<f32>() + b.iter().sum::<f32>()
        });
        assert_eq!(total, 23.0);
    }
}
