//! Participations that keep their distance: which of them has the largest sum.

use veracity_core::Count;
use veracity_core::numerics::twofold::Twofold;

/// At most `times` steps, any two of them at least `separation` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    /// How many steps fit, at most as many as are allowed.
    pub times: u64,
    /// The least distance of two of them.
    pub separation: u64,
}

impl Pattern {
    /// What is left of a participation when there are only so many steps.
    pub fn within(steps: Count, times: Count, separation: Count) -> Pattern {
        let fit = steps.get().div_ceil(separation.get());
        Pattern { times: times.get().min(fit), separation: separation.get() }
    }

    /// The largest sum of `values` over steps of such a pattern; none of them is negative.
    ///
    /// # Reference  [ChoquetteChooEtAl23b] Algorithm 3: from the last step on, either this step and what is best from
    /// `separation` steps later, or what is best from the next step
    pub fn largest_sum(self, values: &[Twofold]) -> Twofold {
        let steps = values.len();
        let separation = usize::try_from(self.separation).unwrap_or(usize::MAX);
        let fit = (steps as u64).div_ceil(self.separation);
        let mut best = vec![Twofold::ZERO; steps + 1];
        if self.times >= fit {
            // As many as fit: one pass, in which later steps have been decided already.
            for i in (0..steps).rev() {
                let after = best[i.saturating_add(separation).min(steps)];
                best[i] = best[i + 1].max(values[i].plus(after));
            }
            return best[0];
        }
        for _ in 0..self.times {
            let fewer = best.clone();
            for i in (0..steps).rev() {
                let after = fewer[i.saturating_add(separation).min(steps)];
                best[i] = best[i + 1].max(values[i].plus(after));
            }
        }
        best[0]
    }
}
