//! Many independent runs with many canaries each: bets on what the guesses of each run come to.
//!
//! A theorem for one run must allow for a mechanism that tells all of its canaries at once, and with more canaries it allows for more
//! of them. Where there are many runs, each is judged by what came before it. A guess "in" is right ½ P(said "in" | in) of the time and
//! wrong ½ P(said "in" | out); by a pair (ε, δ) the first is at most e^ε times the second and ½ δ. So the right guesses of a run,
//! less e^ε times its wrong ones, are at most (number of canaries) · δ in the mean, however its canaries hang together. Bets on more
//! than that win nothing in the mean while the pair holds; once they have multiplied a stake by 1/α, it falls.
//!
//! Who is guessed in a run depends on its scores and on earlier runs: the thresholds are quantiles of what has been seen.

use super::{Basis, LowerBound, at_least_zero, one_run::Guesses};
use crate::{Observation, World};
use veracity_core::numerics::{UNIT, normal};
use veracity_core::{Delta, Lower, Refusal, Significance};

/// Runs that only choose the first thresholds.
const FIRST: usize = 8;
/// The fewest runs there are bets for.
pub(crate) const FEWEST: usize = 2 * FIRST;
/// Stakes, as multiples of the one that is best where a pair falls just at the last run, and the part of the wealth that each has. Runs
/// whose canaries hang together spread more, and want a smaller one; a larger one ends sooner.
const STAKES: [(f64, f64); 4] = [(1.0, 0.55), (0.5, 0.2), (0.25, 0.1), (2.0, 0.15)];
/// How finely ε is looked at.
const STEP: f64 = 1.0 / 1024.0;
/// The largest ε that is looked at.
const LARGEST: f64 = 64.0;

/// The guesses of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    right: u32,
    wrong: u32,
}

/// The guesses of all runs, where a part of the canaries is guessed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tallies {
    runs: Vec<Tally>,
    /// Canaries in each run.
    canaries: u32,
    /// The most guesses in one run.
    most: u32,
    /// How many were guessed "in" and "out".
    said: [u64; 2],
    /// The part of the canaries that was to be guessed.
    part: f64,
}

impl Tallies {
    /// Guesses at both ends of what earlier runs scored, about the part `part` of all canaries.
    ///
    /// A run that failed is one about which nothing is guessed.
    pub(crate) fn of(observations: &[Observation], part: f64) -> Result<Tallies, Refusal> {
        if !(part > 0.0 && part <= 1.0) {
            return Err(Refusal::out_of_range("guessed", part, "0 < guessed ≤ 1"));
        }
        let runs: Vec<&[Observation]> = observations.chunk_by(|a, b| a.trial == b.trial).collect();
        if runs.len() < FEWEST {
            return Err(Refusal::out_of_range("trials", runs.len(), "at least 16 for many-runs"));
        }
        let canaries = runs.iter().map(|run| run.len()).max().unwrap_or(0) as u32;
        let most = most_guesses(part, f64::from(canaries)) as u32;
        let mut all = Tallies { runs: Vec::new(), canaries, most, said: [0; 2], part };
        let (mut seen, mut ends) = (Vec::new(), None);
        for (at, run) in runs.iter().enumerate() {
            if at >= FIRST && at.is_power_of_two() {
                ends = quantiles(&mut seen, part);
            }
            all.guess(run, ends);
            seen.extend(run.iter().filter_map(|told| told.score));
        }
        Ok(all)
    }

    /// Guesses about one run: what lies beyond the thresholds, the farthest first where that is too many.
    fn guess(&mut self, run: &[Observation], ends: Option<(f64, f64)>) {
        let mut tally = Tally::default();
        let Some((low, high)) = ends else { return self.runs.push(tally) };
        let middle = 0.5 * (low + high);
        let beyond = |score: f64| score >= high || score <= low;
        let mut guessed: Vec<(f64, World)> = run
            .iter()
            .filter_map(|told| told.score.map(|score| (score, told.world)))
            .filter(|(score, _)| beyond(*score))
            .collect();
        if guessed.len() > self.most as usize {
            guessed.sort_by(|a, b| (b.0 - middle).abs().total_cmp(&(a.0 - middle).abs()));
            // All that are as far as the first one too many are left out: which of them comes first is not for their order to say.
            let cut = (guessed[self.most as usize].0 - middle).abs();
            guessed.retain(|(score, _)| (score - middle).abs() > cut);
        }
        for (score, world) in guessed {
            let says = if score >= high { World::In } else { World::Out };
            self.said[usize::from(says == World::Out)] += 1;
            if says == world { tally.right += 1 } else { tally.wrong += 1 }
        }
        self.runs.push(tally);
    }

    /// The same runs if no guess had been wrong.
    fn perfect_attack(&self) -> Tallies {
        let sure = |run: &Tally| Tally { right: run.right + run.wrong, wrong: 0 };
        Tallies { runs: self.runs.iter().map(sure).collect(), ..self.clone() }
    }

    /// How many were guessed "in", how many "out", and how the guesses came out.
    pub(crate) fn counted(&self) -> (u64, u64, Guesses) {
        let right = self.runs.iter().map(|run| u64::from(run.right)).sum();
        let canaries = self.runs.len() as u64 * u64::from(self.canaries);
        let [ins, outs] = self.said;
        (ins, outs, Guesses::made(canaries, ins + outs, right))
    }

    /// After how many runs a pair falls at a level, if it does.
    ///
    /// # Promise   A pair that holds falls with chance at most `level`, whatever the mechanism and however its canaries hang together.
    /// # Reference Ville's inequality for a product of bets, each at most fair in the mean given the past
    /// # Assumes   Each canary is in with chance ½, independently; each run keeps the pair whatever came before it
    /// # Numerics  e^ε and δ are rounded up, wealth down
    pub(crate) fn fall(&self, pair: Pair, level: f64) -> Option<u64> {
        let growth = pair.epsilon.exp() * (1.0 + UNIT * (8.0 + 4.0 * pair.epsilon));
        let free = f64::from(self.canaries) * pair.delta * (1.0 + 8.0 * UNIT);
        let guesses = self.runs.len() as f64 * self.part * f64::from(self.canaries);
        let stakes = stakes(guesses, growth, free, f64::from(self.most), level);
        let mut wealth = STAKES.map(|(_, part)| part);
        let needed = level.recip() * (1.0 + 1e-9);
        for (at, run) in self.runs.iter().enumerate() {
            let won = f64::from(run.right) - growth * f64::from(run.wrong) - free;
            for (wealth, stake) in wealth.iter_mut().zip(stakes) {
                *wealth *= (1.0 + stake * won) * (1.0 - 8.0 * UNIT);
            }
            if wealth.iter().sum::<f64>() >= needed {
                return Some(at as u64 + 1);
            }
        }
        None
    }
}

/// The scores beyond which half of `part` lies at each end.
fn quantiles(seen: &mut [f64], part: f64) -> Option<(f64, f64)> {
    if seen.is_empty() {
        return None;
    }
    let end = ((0.5 * part * seen.len() as f64).round() as usize).clamp(1, seen.len().max(1));
    let low = *seen.select_nth_unstable_by(end.checked_sub(1)?, f64::total_cmp).1;
    let high = *seen.select_nth_unstable_by(seen.len().checked_sub(end)?, f64::total_cmp).1;
    // Where all scores are alike, nothing is guessed.
    (low < high).then_some((low, high))
}

/// A promise (ε, δ).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pair {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
}

/// An ε that the truth does not fall below: `many-runs`.
///
/// # Promise    Above the truth with chance at most the significance, whatever the mechanism.
/// # Assumes    As [`Tallies::fall`]
/// # Numerics   Rounded down to a grid. All points of it up to the answer fall, so an answer above the truth means that the first point
/// at or above the truth fell, which is one true hypothesis
pub(crate) fn bound(tallies: &Tallies, delta: Delta, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown = |tallies: &Tallies| {
        let falls = |epsilon: f64| tallies.fall(Pair { epsilon, delta: delta.get() }, level).is_some();
        let steps = (0..=(LARGEST / STEP) as u64).take_while(|step| falls(*step as f64 * STEP));
        at_least_zero(steps.last().map_or(0.0, |step| step as f64 * STEP))
    };
    LowerBound {
        epsilon: Lower(shown(tallies)),
        ceiling: shown(&tallies.perfect_attack()),
        basis: Basis::Proved,
    }
}

/// Whether runs in which no guess is wrong would let a pair fall.
pub(crate) fn is_able(tallies: &Tallies, pair: Pair, level: f64) -> bool {
    tallies.perfect_attack().fall(pair, level).is_some()
}

/// Runs of an ideal game, whose canaries are independent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdealRuns {
    /// How many runs.
    pub runs: f64,
    /// Canaries in each.
    pub canaries: f64,
}

impl IdealRuns {
    /// The chance that a pair falls, where so large a part of the canaries is guessed and so large a part of the guesses is right.
    ///
    /// # Numerics  About: what bets come to, as if it were normal
    pub(crate) fn chance_of_fall(self, part: f64, right: f64, pair: Pair, level: f64) -> f64 {
        let (growth, all) = (pair.epsilon.exp(), self.runs * self.canaries);
        let gain = all * (part * (right - growth * (1.0 - right)) - pair.delta);
        let spread = all * part * (right + growth * growth * (1.0 - right));
        let free = self.canaries * pair.delta;
        let stakes = stakes(all * part, growth, free, most_guesses(part, self.canaries), level);
        let chance = |(stake, weight): (f64, f64)| {
            let over = stake * gain - 0.5 * stake * stake * spread + weight.ln() + level.ln();
            normal::cdf(over / (stake * spread.sqrt()))
        };
        stakes.into_iter().zip(STAKES.map(|(_, weight)| weight)).map(chance).fold(0.0, f64::max)
    }
}

/// The most guesses in one run: some more than are meant to be, since what one run can lose limits what may be bet on it.
fn most_guesses(part: f64, canaries: f64) -> f64 {
    let mean = part * canaries;
    (mean + 4.0 * mean.sqrt() + 3.0).ceil().min(canaries)
}

/// Stakes on a run where so many guesses are to be made in all, none of which can lose more than there is.
fn stakes(guesses: f64, growth: f64, free: f64, most_guesses: f64, level: f64) -> [f64; 4] {
    let best = (2.0 * (1.0 - level.ln()) / (guesses * growth)).sqrt();
    let most = 0.9 / (growth * most_guesses + free);
    STAKES.map(|(times, _)| (times * best).min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_testkit::short::Dice;

    /// Runs of a mechanism that turns the bits of a run into scores.
    fn played(
        seed: u64,
        runs: u64,
        canaries: u32,
        mut play: impl FnMut(&[bool], &mut Dice) -> Vec<f64>,
    ) -> Vec<Observation> {
        let mut draws = Dice::new(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let mut all = Vec::new();
        for trial in 0..runs {
            let bits: Vec<bool> = (0..canaries).map(|_| draws.unit() < 0.5).collect();
            let scores = play(&bits, &mut draws);
            all.extend(bits.iter().zip(scores).enumerate().map(|(canary, (bit, score))| Observation {
                trial,
                canary: canary as u32,
                world: if *bit { World::In } else { World::Out },
                score: Some(score),
            }));
        }
        all
    }

    /// Randomized response of ε with three answers: yes, no, and nothing in most runs. A finite score breaks ties.
    fn response(epsilon: f64, told: f64) -> impl FnMut(&[bool], &mut Dice) -> Vec<f64> {
        let truth = epsilon.exp() / (1.0 + epsilon.exp());
        move |bits, draws| {
            let mut one = |bit: &bool| {
                let says = if draws.unit() < truth { *bit } else { !*bit };
                let speaks = draws.unit() < told;
                let loud = if speaks { 1.0 + draws.unit() } else { 0.5 * draws.unit() };
                if says { loud } else { -loud }
            };
            bits.iter().map(&mut one).collect()
        }
    }

    fn share(pairs: u64, refuted: impl Fn(u64) -> bool) -> u64 {
        (0..pairs).filter(|seed| refuted(*seed)).count() as u64
    }

    /// Mechanisms whose ε is exact and where canaries hang together: with chance δ a run tells all of its bits; all canaries of a run
    /// flip together; one coin decides whether the run says anything. 400 files each at 5 %: more than 40 errors have a chance
    /// below 1e-4. The twin, a claim of 0.4 of the truth, falls in most files where half of the canaries are guessed.
    #[test]
    fn true_pairs_stand_however_canaries_hang_together() {
        const FILES: u64 = 400;
        let (level, truth) = (0.05, 1.0f64);
        let q = truth.exp() / (1.0 + truth.exp());
        let leak = 0.004;
        let telling = move |bits: &[bool], draws: &mut Dice| -> Vec<f64> {
            let all = draws.unit() < leak;
            let mut one = |bit: &bool| {
                let right = all || draws.unit() < q;
                let loud = if all { 3.0 } else { 1.0 + draws.unit() };
                if right == *bit { loud } else { -loud }
            };
            bits.iter().map(&mut one).collect()
        };
        let together = move |bits: &[bool], draws: &mut Dice| -> Vec<f64> {
            let right = draws.unit() < q;
            bits.iter()
                .map(|bit| if right == *bit { 1.0 + draws.unit() } else { -1.0 - draws.unit() })
                .collect()
        };
        for part in [0.1, 0.5, 1.0] {
            let fails = |epsilon: f64, delta: f64, play: &dyn Fn(&[bool], &mut Dice) -> Vec<f64>| {
                share(FILES, |seed| {
                    let seen = played(seed, 60, 20, play);
                    let pair = Pair { epsilon, delta };
                    Tallies::of(&seen, part).unwrap().fall(pair, level).is_some()
                })
            };
            assert!(fails(truth, leak, &telling) <= 40, "{part}");
            assert!(fails(truth, 0.0, &together) <= 40, "{part}");
            let found = fails(0.4 * truth, leak, &telling);
            assert!(part < 0.5 || found > 200, "{part}: {found}");
        }
        let seen = |seed| played(seed, 400, 50, response(truth, 0.2));
        let shown = |seed| {
            let tallies = Tallies::of(&seen(seed), 0.2).unwrap();
            bound(&tallies, Delta::new(0.0).unwrap(), Significance::new(level).unwrap()).epsilon.0.get()
        };
        let found: Vec<f64> = (0..100).map(shown).collect();
        assert!(found.iter().filter(|shown| **shown > truth).count() <= 16, "{found:?}");
        assert!(found.iter().all(|shown| *shown > 0.7 * truth), "{found:?}");
    }

    /// A bound that forgets δ is found out by the mechanism that tells all at once.
    #[test]
    fn a_forgotten_delta_is_found_out() {
        let telling = |bits: &[bool], draws: &mut Dice| -> Vec<f64> {
            let all = draws.unit() < 0.3;
            let mut one = |bit: &bool| {
                let says = if all { *bit } else { draws.unit() < 0.5 };
                if says { 1.0 + draws.unit() } else { -1.0 - draws.unit() }
            };
            bits.iter().map(&mut one).collect()
        };
        let falls = |delta: f64| {
            share(200, |seed| {
                let tallies = Tallies::of(&played(seed, 60, 20, telling), 0.5).unwrap();
                tallies.fall(Pair { epsilon: 0.0, delta }, 0.05).is_some()
            })
        };
        assert!(falls(0.3) <= 25 && falls(0.0) > 100, "{} {}", falls(0.3), falls(0.0));
    }

    #[test]
    fn what_says_nothing_shows_nothing_and_what_tells_all_reaches_the_ceiling() {
        let level = || Significance::new(0.01).unwrap();
        let delta = Delta::new(1e-5).unwrap();
        let alike = played(1, 40, 10, |bits, _| vec![0.0; bits.len()]);
        let tallies = Tallies::of(&alike, 0.5).unwrap();
        assert_eq!(bound(&tallies, delta, level()).epsilon.0.get(), 0.0);
        let telling = played(1, 40, 10, |bits, _| bits.iter().map(|bit| f64::from(u8::from(*bit))).collect());
        let shown = bound(&Tallies::of(&telling, 0.5).unwrap(), delta, level());
        assert!(shown.epsilon.0 == shown.ceiling && shown.ceiling.get() > 1.0, "{shown:?}");
        // Too few runs, and runs that failed.
        assert!(Tallies::of(&alike[..100], 0.5).is_err() && Tallies::of(&alike, 0.0).is_err());
        let failed: Vec<Observation> =
            alike.iter().map(|told| Observation { score: None, ..*told }).collect();
        assert_eq!(Tallies::of(&failed, 0.5).unwrap().counted().2.guesses(), 0);
    }
}
