//! Scores of an audit: one number per trial, from each of the two worlds, in the order of the trials.

use crate::World;
use veracity_core::Refusal;

/// Scores of trials in the order in which they were run. A higher score is stronger evidence that the canary was in.
///
/// # Examples
///
/// ```
/// use veracity_audit::{Scores, World::{In, Out}};
///
/// let scores = Scores::in_order([(In, 1.0), (In, 2.0), (Out, 0.0), (In, 3.0)])?;
/// let (first, second) = scores.halves();
/// assert_eq!((first.inside(), first.outside()), (&[1.0, 2.0][..], &[][..]));
/// assert_eq!((second.inside(), second.outside()), (&[3.0][..], &[0.0][..]));
/// assert!(Scores::in_order([(In, f64::NAN)]).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    inside: Vec<f64>,
    outside: Vec<f64>,
    /// The world of each trial, in order: `inside` and `outside` merge into one sequence by it.
    order: Vec<World>,
}

impl Scores {
    /// Scores of trials in the order of their numbers.
    ///
    /// # Errors
    ///
    /// Refuses a score that is not a number. Infinite scores are allowed.
    pub fn in_order(trials: impl IntoIterator<Item = (World, f64)>) -> Result<Scores, Refusal> {
        let mut scores = Scores { inside: Vec::new(), outside: Vec::new(), order: Vec::new() };
        for (world, score) in trials {
            if score.is_nan() {
                return Err(Refusal::out_of_range("score", "not a number", "a number, or an infinity"));
            }
            scores.push(world, score);
        }
        Ok(scores)
    }

    /// Scores of two lists whose common order is unknown. The lists are merged evenly, so a part of the trials holds the same part
    /// of each list.
    ///
    /// # Errors
    ///
    /// Refuses a score that is not a number.
    pub fn new(inside: Vec<f64>, outside: Vec<f64>) -> Result<Scores, Refusal> {
        let (ins, outs) = (inside.len() as u128, outside.len() as u128);
        let (mut inside, mut outside) = (inside.into_iter(), outside.into_iter());
        let (mut i, mut o) = (0, 0);
        Scores::in_order(std::iter::from_fn(|| {
            // The list that lags behind its share comes next.
            let is_next_in = i < ins && (o == outs || (2 * i + 1) * outs <= (2 * o + 1) * ins);
            if is_next_in {
                i += 1;
                Some((World::In, inside.next()?))
            } else {
                o += 1;
                Some((World::Out, outside.next()?))
            }
        }))
    }

    fn push(&mut self, world: World, score: f64) {
        match world {
            World::In => self.inside.push(score),
            World::Out => self.outside.push(score),
        }
        self.order.push(world);
    }

    /// Scores of the trials with the canary.
    pub fn inside(&self) -> &[f64] {
        &self.inside
    }

    /// Scores of the trials without it.
    pub fn outside(&self) -> &[f64] {
        &self.outside
    }

    /// The world and score of each trial, in order.
    pub fn iter(&self) -> impl Iterator<Item = (World, f64)> {
        let (mut inside, mut outside) = (self.inside.iter(), self.outside.iter());
        self.order.iter().filter_map(move |world| {
            let score = match world {
                World::In => inside.next(),
                World::Out => outside.next(),
            };
            Some((*world, *score?))
        })
    }

    /// How many trials there are, of both worlds together.
    pub fn trials(&self) -> u64 {
        self.order.len() as u64
    }

    /// The first and the second half of the trials.
    ///
    /// The trials are split by their number, whatever their worlds are. Given the first half, the worlds in the second half are
    /// still fair coins, so a subject whose level changes with time looks the same in both worlds. Halves of each world's own
    /// list would end at different times and break this.
    pub fn halves(&self) -> (Scores, Scores) {
        let half = self.order.len() / 2;
        self.parted(|trial| trial < half)
    }

    /// Fold number `fold` of `folds` (every `folds`-th trial), and all the others.
    pub fn fold(&self, fold: usize, folds: usize) -> (Scores, Scores) {
        self.parted(|trial| trial % folds == fold)
    }

    /// The trials that are chosen by their number, and the others.
    fn parted(&self, is_chosen: impl Fn(usize) -> bool) -> (Scores, Scores) {
        let empty = || Scores { inside: Vec::new(), outside: Vec::new(), order: Vec::new() };
        let (mut chosen, mut others) = (empty(), empty());
        for (trial, (world, score)) in self.iter().enumerate() {
            if is_chosen(trial) { &mut chosen } else { &mut others }.push(world, score);
        }
        (chosen, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_is_no_number_stays_outside() {
        assert!(Scores::new(vec![1.0, f64::NAN], vec![]).is_err());
        assert!(Scores::new(vec![f64::INFINITY], vec![f64::NEG_INFINITY]).is_ok());
    }

    #[test]
    fn two_lists_are_merged_evenly() {
        for (ins, outs) in [(7, 5), (0, 4), (4, 0), (1, 9), (20, 3), (6, 6)] {
            let list = |n: u32| (0..n).map(f64::from).collect::<Vec<_>>();
            let scores = Scores::new(list(ins), list(outs)).unwrap();
            assert_eq!((scores.inside(), scores.outside()), (&list(ins)[..], &list(outs)[..]));
            let (first, second) = scores.halves();
            for (first, all) in [(first.inside().len(), ins), (first.outside().len(), outs)] {
                assert!((first as f64 - f64::from(all) / 2.0).abs() <= 1.0, "{first} of {all}");
            }
            assert_eq!(first.trials() + second.trials(), u64::from(ins + outs));
        }
    }

    #[test]
    fn parts_are_chosen_by_the_number_of_the_trial_alone() {
        // Worlds that no part of the numbers splits evenly.
        let world = |i: usize| if i < 5 || i.is_multiple_of(4) { World::In } else { World::Out };
        let scores = Scores::in_order((0..23).map(|i| (world(i), i as f64))).unwrap();
        let numbers = |part: &Scores| part.iter().map(|(_, score)| score as usize).collect::<Vec<_>>();
        let (first, second) = scores.halves();
        assert_eq!((numbers(&first), numbers(&second)), ((0..11).collect(), (11..23).collect()));
        for fold in 0..3 {
            let (mine, others) = scores.fold(fold, 3);
            assert_eq!(numbers(&mine), (fold..23).step_by(3).collect::<Vec<_>>());
            assert_eq!(mine.trials() + others.trials(), 23);
            assert!(others.iter().all(|(seen, number)| seen == world(number as usize)));
        }
    }
}
