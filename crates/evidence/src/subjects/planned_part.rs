//! Which part of many canaries is best guessed, computed before any trial: the ideal game on a lattice of losses.
//!
//! In the ideal game a canary is alone in its coordinate. The law of its log-likelihood ratio over all steps says how many of
//! the loudest and of the quietest are guessed right, and the bound what that would show.

use veracity_audit::bound::{many_runs::IdealRuns, one_run::Guesses, one_run_fdp};
use veracity_core::{Count, Delta, NoiseMultiplier, Refusal, SamplingRate, Significance};

/// The parts that are compared.
const PARTS: [f64; 18] = [
    0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7,
    1.0,
];
/// More canaries than these choose the same part.
const ENOUGH: u64 = 200_000;
/// Points of the lattice either side of zero.
const HALF: usize = 600;
/// Points at which the noise of a step is looked at, either side of zero.
const LOOKS: i32 = 2000;
/// Steps beyond which losses are as good as Gaussian.
const MANY: u64 = 512;

/// Steps seen through a coordinate that a canary owns: B + σN with it and σN without, B being whether it is in the batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdealGame {
    /// The chance of B.
    pub rate: SamplingRate,
    /// σ.
    pub noise_multiplier: NoiseMultiplier,
    /// How many steps there are.
    pub steps: Count,
}

/// The part of `canaries` canaries, half of it at each end of the ranking, whose guesses would show most of an (ε, δ) at this
/// significance, a little on the unlucky side.
///
/// # Promise  No trial is looked at, and nothing is drawn: the same question has the same answer. Whatever part is guessed, the
/// bound holds; a poor one shows less
///
/// # Examples
///
/// ```
/// use veracity_core::{Count, Delta, NoiseMultiplier, SamplingRate};
/// use veracity_evidence::{IdealGame, planned_part};
///
/// let game = |noise| -> Result<IdealGame, veracity_core::Refusal> {
///     let (rate, steps) = (SamplingRate::new(0.178)?, Count::new(60)?);
///     Ok(IdealGame { rate, noise_multiplier: NoiseMultiplier::new(noise)?, steps })
/// };
/// let delta = Delta::new(1e-5)?;
/// let part = planned_part(game(2.996)?, Count::new(300_000)?, delta, 0.01)?;
/// assert!((0.005..=0.02).contains(&part));
/// // Where much leaks, more canaries are worth a guess.
/// assert!(planned_part(game(0.8)?, Count::new(300_000)?, delta, 0.01)? > part);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn planned_part(game: IdealGame, canaries: Count, delta: Delta, level: f64) -> Result<f64, Refusal> {
    let ends = game.losses().ends();
    let counted = canaries.get().min(ENOUGH);
    best_part(|part| {
        let end = (part * counted as f64 / 2.0).floor();
        let guesses = 2 * end as u64;
        let right = counted as f64 * ends.right(end / counted as f64);
        let unlucky = 0.5 * (right * (1.0 - right / guesses.max(1) as f64)).max(0.0).sqrt();
        let correct = (right - unlucky).clamp(0.0, guesses as f64) as u64;
        let guesses = Guesses::new(counted, guesses, correct)?;
        Ok(one_run_fdp::pointwise(guesses, delta, Significance::new(level)?).epsilon.0.get())
    })
}

/// The same for canaries of many runs, which are bet on run by run.
pub fn planned_part_of_runs(
    game: IdealGame,
    runs: IdealRuns,
    delta: Delta,
    level: f64,
) -> Result<f64, Refusal> {
    let ends = game.losses().ends();
    best_part(|part| {
        let right = ends.right(0.5 * part) / part;
        Ok(runs.expected(part, right, delta, level))
    })
}

/// The part that shows most.
fn best_part(shown: impl Fn(f64) -> Result<f64, Refusal>) -> Result<f64, Refusal> {
    let mut best = (PARTS[PARTS.len() - 1], 0.0);
    for part in PARTS {
        let shown = shown(part)?;
        if shown > best.1 {
            best = (part, shown);
        }
    }
    Ok(best.0)
}

/// The law of a loss without the canary, at multiples of `step` from −HALF to HALF; with it, each weighs e^loss as much.
struct Losses {
    step: f64,
    weights: Vec<f64>,
}

impl IdealGame {
    /// The law of the log-likelihood ratio over all steps.
    fn losses(self) -> Losses {
        let (q, sigma, steps) = (self.rate.get(), self.noise_multiplier.get(), self.steps.get());
        if steps > MANY {
            // Sums of many small losses, by their variance: one step that is always taken.
            let variance = steps as f64 * q * q * sigma.powi(-2).exp_m1();
            return Losses::of(1.0, variance.sqrt().recip(), 1);
        }
        Losses::of(q, sigma, steps)
    }
}

impl Losses {
    fn of(q: f64, sigma: f64, steps: u64) -> Losses {
        let s2 = sigma * sigma;
        let looks = || (-LOOKS..=LOOKS).map(|at| 8.0 * f64::from(at) / f64::from(LOOKS));
        let loss = |z: f64| (q * ((2.0 * sigma * z - 1.0) / (2.0 * s2)).exp_m1()).ln_1p();
        let total: f64 = looks().map(|z| (-0.5 * z * z).exp()).sum();
        let weighted = || looks().map(|z| ((-0.5 * z * z).exp() / total, loss(z)));
        let mean: f64 = weighted().map(|(weight, loss)| weight * loss).sum();
        let variance: f64 = weighted().map(|(weight, loss)| weight * (loss - mean).powi(2)).sum();
        // Where the losses of all steps lie, with and without the canary.
        let reach = steps as f64 * mean.abs() + 10.0 * (steps as f64 * variance).sqrt();
        let step = reach.max(1e-6) / HALF as f64;
        let mut one = vec![0.0; 2 * HALF + 1];
        for (weight, loss) in weighted() {
            // Between two points, so that means are kept.
            let at = (loss / step + HALF as f64).clamp(0.0, 2.0 * HALF as f64 - 1e-9);
            let part = at.fract();
            one[at as usize] += weight * (1.0 - part);
            one[at as usize + 1] += weight * part;
        }
        Losses { step, weights: power(one, steps) }
    }

    /// How many of the highest and the lowest are right.
    fn ends(&self) -> Ends {
        let weigh = |(at, out): (usize, &f64)| (*out, *out * ((at as f64 - HALF as f64) * self.step).exp());
        let pairs: Vec<(f64, f64)> = self.weights.iter().enumerate().map(weigh).collect();
        let (outs, ins) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let fair = |pair: &(f64, f64)| (0.5 * pair.0 / outs, 0.5 * pair.1 / ins);
        let rising: Vec<(f64, f64)> = pairs.iter().map(fair).collect();
        let falling = rising.iter().rev().map(|(out, inside)| (*inside, *out));
        Ends { lowest: cumulated(rising.iter().copied()), highest: cumulated(falling) }
    }
}

/// For each end, how many canaries lie beyond a point and how many of those are guessed right, as parts of all.
struct Ends {
    highest: Vec<(f64, f64)>,
    lowest: Vec<(f64, f64)>,
}

impl Ends {
    /// The part of all canaries that is guessed right, where the part `end` is guessed at each end.
    fn right(&self, end: f64) -> f64 {
        beyond(&self.highest, end) + beyond(&self.lowest, end)
    }
}

/// From (right, wrong) at each point to (all, right) up to it.
fn cumulated(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let sum = |sum: &mut (f64, f64), (right, wrong): (f64, f64)| {
        *sum = (sum.0 + right + wrong, sum.1 + right);
        Some(*sum)
    };
    points.scan((0.0, 0.0), sum).collect()
}

/// How many of the first `part` are right; within a point, as many as in all of it.
fn beyond(end: &[(f64, f64)], part: f64) -> f64 {
    let at = end.partition_point(|(all, _)| *all < part).min(end.len() - 1);
    let before = if at == 0 { (0.0, 0.0) } else { end[at - 1] };
    let (all, right) = (end[at].0 - before.0, end[at].1 - before.1);
    if all > 0.0 { before.1 + right * ((part - before.0) / all).min(1.0) } else { before.1 }
}

/// The law of a sum of `times` losses.
fn power(mut one: Vec<f64>, times: u64) -> Vec<f64> {
    let mut left = times;
    let mut all: Option<Vec<f64>> = None;
    loop {
        if left % 2 == 1 {
            all = Some(all.map_or_else(|| one.clone(), |all| sum(&all, &one)));
        }
        left /= 2;
        if left == 0 {
            return all.unwrap_or(one);
        }
        one = sum(&one, &one);
    }
}

/// The law of a sum of two losses; what leaves the lattice stays at its edge.
fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; 2 * HALF + 1];
    for i in likely(a) {
        for j in likely(b) {
            all[(i + j).clamp(HALF, 3 * HALF) - HALF] += a[i] * b[j];
        }
    }
    all
}

/// The points that are not too rare to matter.
fn likely(law: &[f64]) -> std::ops::Range<usize> {
    let is_likely = |weight: &f64| *weight > 1e-18;
    let first = law.iter().position(is_likely).unwrap_or(0);
    first..law.iter().rposition(is_likely).map_or(first, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_audit::{AuditSubject, Idealised, World};

    fn game(rate: f64, noise: f64, steps: u64) -> IdealGame {
        IdealGame {
            rate: SamplingRate::new(rate).unwrap(),
            noise_multiplier: NoiseMultiplier::new(noise).unwrap(),
            steps: Count::new(steps).unwrap(),
        }
    }

    /// A slow twin: the game played 60 000 times in either world, seed 0. A part of 12 000 has a standard deviation of at most
    /// 0.0026 of all.
    #[test]
    fn ends_are_right_as_often_as_in_the_game_itself() {
        for (rate, noise, steps) in [(0.178, 2.996, 60), (0.5, 1.5, 7), (1.0, 4.0, 20)] {
            let game = game(rate, noise, steps);
            let subject = Idealised::honest(game.rate, game.noise_multiplier, game.steps);
            let plays = |world, first: u64| {
                (first..first + 60_000).map(move |trial| (subject.run(trial, &[world]).unwrap()[0], world))
            };
            let mut ranked: Vec<(f64, World)> =
                plays(World::In, 0).chain(plays(World::Out, 60_000)).collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
            let ends = game.losses().ends();
            for end in [1_200, 6_000, 12_000, 60_000] {
                let lowest = ranked[..end].iter().filter(|seen| seen.1 == World::Out).count();
                let highest = ranked[ranked.len() - end..].iter().filter(|seen| seen.1 == World::In).count();
                let found = (lowest + highest) as f64 / 120_000.0;
                let computed = ends.right(end as f64 / 120_000.0);
                assert!((found - computed).abs() < 0.003, "{rate} {noise} {steps} {end}: {found} {computed}");
            }
        }
    }

    /// Steps by the hundred are as good as one Gaussian with their variance.
    #[test]
    fn many_steps_are_nearly_those_that_are_summed() {
        let (summed, many) =
            (game(0.05, 2.0, MANY).losses().ends(), game(0.05, 2.0, MANY + 1).losses().ends());
        for end in [0.005, 0.05, 0.25] {
            let (summed, many) = (summed.right(end), many.right(end));
            assert!((summed / many - 1.0).abs() < 0.02, "{end}: {summed} {many}");
        }
    }

    #[test]
    fn what_hides_nothing_is_guessed_whole_and_what_hides_all_breaks_nothing() {
        let (delta, canaries) = (Delta::new(1e-5).unwrap(), Count::new(10_000).unwrap());
        let part = |noise| planned_part(game(1.0, noise, 10), canaries, delta, 0.01).unwrap();
        assert!(part(0.05) > 0.4, "{}", part(0.05));
        assert!((0.0..=1.0).contains(&part(1e6)));
        assert!(planned_part(game(0.5, 1.0, 5), Count::ONE, delta, 0.01).is_ok());
    }
}
