//! What the attacker wrote down: one number a trial, from each of the two worlds.

use veracity_core::Refusal;

/// Scores of independent trials in the order in which they were run; a higher score says "in" more loudly.
///
/// # Examples
///
/// ```
/// use veracity_audit::Scores;
///
/// let scores = Scores::new(vec![1.0, 2.0, 3.0, 4.0], vec![0.0, f64::NEG_INFINITY])?;
/// let (choosing, counting) = scores.halves();
/// assert_eq!((choosing.inside(), counting.inside()), (&[1.0, 2.0][..], &[3.0, 4.0][..]));
/// assert!(Scores::new(vec![f64::NAN], vec![]).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    inside: Vec<f64>,
    outside: Vec<f64>,
}

impl Scores {
    /// Checks that no score is NaN. Infinities are fine: they are the loudest scores there are.
    pub fn new(inside: Vec<f64>, outside: Vec<f64>) -> Result<Scores, Refusal> {
        if inside.iter().chain(&outside).any(|score| score.is_nan()) {
            return Err(Refusal::out_of_range("score", "not a number", "a number, or an infinity"));
        }
        Ok(Scores { inside, outside })
    }

    /// Scores of the trials with the canary.
    pub fn inside(&self) -> &[f64] {
        &self.inside
    }

    /// Scores of the trials without it.
    pub fn outside(&self) -> &[f64] {
        &self.outside
    }

    /// How many trials there are, of both worlds together.
    pub fn trials(&self) -> u64 {
        (self.inside.len() + self.outside.len()) as u64
    }

    /// The earlier and the later half of either world.
    pub fn halves(&self) -> (Scores, Scores) {
        let (first_in, second_in) = self.inside.split_at(self.inside.len() / 2);
        let (first_out, second_out) = self.outside.split_at(self.outside.len() / 2);
        let scores =
            |inside: &[f64], outside: &[f64]| Scores { inside: inside.to_vec(), outside: outside.to_vec() };
        (scores(first_in, first_out), scores(second_in, second_out))
    }

    /// Fold number `fold` of `folds`, every `folds`-th trial of either world, and all the others.
    pub fn fold(&self, fold: usize, folds: usize) -> (Scores, Scores) {
        let part = |scores: &[f64], mine: bool| -> Vec<f64> {
            let here = |i: &usize| (i % folds == fold) == mine;
            (0..scores.len()).filter(here).map(|i| scores[i]).collect()
        };
        let scores = |mine| Scores { inside: part(&self.inside, mine), outside: part(&self.outside, mine) };
        (scores(true), scores(false))
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
    fn parts_make_up_the_whole() {
        let scores = Scores::new((0..7).map(f64::from).collect(), (10..15).map(f64::from).collect()).unwrap();
        let (first, second) = scores.halves();
        assert_eq!((first.inside(), second.inside()), (&[0.0, 1.0, 2.0][..], &[3.0, 4.0, 5.0, 6.0][..]));
        let mut all = Vec::new();
        for fold in 0..3 {
            let (mine, others) = scores.fold(fold, 3);
            assert_eq!(mine.trials() + others.trials(), scores.trials());
            all.extend_from_slice(mine.inside());
        }
        all.sort_by(f64::total_cmp);
        assert_eq!(all, scores.inside());
    }
}
