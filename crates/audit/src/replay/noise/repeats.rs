//! Noise that is missing or came up before: how often residuals coincide, against how often independent noise would.
//!
//! Coincidences of different numbers are independent given one of the two calls, each with a chance that the declared law
//! bounds. By Hoeffding's theorem the binomial law with the mean of those chances bounds their number.

use super::residuals::Residuals;
use veracity_core::numerics::binomial;

/// How often, and the log of the chance of that, from above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Coincidence {
    pub(super) hits: u64,
    pub(super) log_chance: f64,
}

/// Numbers of calls that came out as they went in.
pub(super) fn untouched(calls: &[&Residuals<'_>]) -> Coincidence {
    let (mut hits, mut mean, mut numbers) = (0, 0.0, 0);
    for call in calls {
        hits += call.added.iter().filter(|x| **x == 0.0).count() as u64;
        mean += (0..call.len()).map(|at| call.noise.near(call.reach(at))).sum::<f64>();
        numbers += call.len() as u64;
    }
    Coincidence { hits, log_chance: log_at_least(hits, numbers, mean) }
}

/// Pairs of numbers within a call that got the same noise: how many there are, and how many others one number has at most.
///
/// # Promise  Pairs are not independent of one another: Markov's inequality bounds their number. Given one number, the others
/// meet it independently, and any of them may be the one that is met most. The chance is that of either.
pub(super) fn within(call: &Residuals<'_>) -> Coincidence {
    let numbers = 0..call.len();
    let widest = numbers.clone().map(|at| call.slack(at)).fold(0.0, f64::max);
    let mut sorted: Vec<f64> = numbers.filter(|at| call.is_near(*at)).map(|at| call.added[at]).collect();
    sorted.sort_by(f64::total_cmp);
    let (mut from, mut to, mut hits, mut most) = (0, 0, 0, 0);
    for (at, x) in sorted.iter().enumerate() {
        while x - sorted[from] > 2.0 * widest {
            from += 1;
        }
        while to < sorted.len() && sorted[to] - x <= 2.0 * widest {
            to += 1;
        }
        hits += (at - from) as u64;
        most = most.max((to - from - 1) as u64);
    }
    let (count, chance) = (call.len() as u64, call.noise.near(4.0 * widest + 2.0 * call.noise.rounding()));
    let others = (count - 1) as f64 * chance;
    let pairs = if hits == 0 { 0.0 } else { (0.5 * count as f64 * others / hits as f64).ln() };
    let crowd = log_at_least(most, count - 1, others) + (count as f64).ln();
    Coincidence { hits, log_chance: (pairs.min(crowd) + 2f64.ln()).min(0.0) }
}

/// Numbers of a later call that got the noise of an earlier one again, with the factor between the two.
///
/// Factors that are tried: as it was, turned round, both in the ratio of the declared scales, and whatever factor the largest
/// number of the earlier call has. The chance is that of any of them.
pub(super) fn between(earlier: &Residuals<'_>, later: &Residuals<'_>) -> (Coincidence, f64) {
    let numbers = earlier.len().min(later.len());
    let ratio = later.noise.scale() / earlier.noise.scale();
    let largest = (0..numbers).max_by(|a, b| earlier.added[*a].abs().total_cmp(&earlier.added[*b].abs()));
    let seen = largest.map_or(0.0, |at| later.added[at] / earlier.added[at]);
    let mut tried = vec![(1.0, None), (-1.0, None)];
    if ratio != 1.0 {
        tried.extend([(ratio, None), (-ratio, None)]);
    }
    // Given the number that shows it, the factor is fixed for the others.
    tried.push((seen, largest));
    let among = (tried.len() as f64).ln();
    let found = tried.into_iter().map(|(factor, but)| {
        let mut found = matches(earlier, later, factor, but);
        found.log_chance = (found.log_chance + among).min(0.0);
        (found, factor)
    });
    let none = (Coincidence { hits: 0, log_chance: 0.0 }, 1.0);
    found.fold(none, |best, one| if one.0.log_chance < best.0.log_chance { one } else { best })
}

/// Numbers of a later call whose noise is a multiple of that of an earlier one.
fn matches(earlier: &Residuals<'_>, later: &Residuals<'_>, factor: f64, but: Option<usize>) -> Coincidence {
    let (mut hits, mut mean, mut numbers) = (0, 0.0, 0);
    if !factor.is_finite() {
        return Coincidence { hits, log_chance: 0.0 };
    }
    for at in (0..earlier.len().min(later.len())).filter(|at| Some(*at) != but) {
        let width = factor.abs() * earlier.reach(at) + later.reach(at);
        let is_hit = (later.added[at] - factor * earlier.added[at]).abs() <= width && later.is_near(at);
        hits += u64::from(is_hit);
        mean += later.noise.near(width + later.reach(at));
        numbers += 1;
    }
    Coincidence { hits, log_chance: log_at_least(hits, numbers, mean) }
}

/// log P[so many of the trials or more], where they are independent and their chances add up to `mean`; from above.
///
/// # Reference  \[Hoeffding56\] Theorem 4, from one above the mean on; Markov's inequality below
fn log_at_least(hits: u64, trials: u64, mean: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    let mean = mean * (1.0 + 1e-12);
    let markov = (mean / hits as f64).ln().min(0.0);
    if (hits as f64) < mean + 1.0 {
        return markov;
    }
    // Tails are within 1e-10 up to 10^9 trials.
    let tail = binomial::log_upper_tail(trials, hits, (mean / trials as f64).min(1.0)) + 1e-9;
    tail.min(markov)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_law_of_the_mean_is_above_that_of_unequal_chances() {
        // Twin: the law of the number of successes, one trial after the other.
        let chances = [0.3, 0.01, 0.2, 0.6, 0.05, 0.05, 0.4, 0.11];
        let mut law = vec![1.0];
        for p in chances {
            let mut next = vec![0.0; law.len() + 1];
            for (k, mass) in law.iter().enumerate() {
                next[k] += mass * (1.0 - p);
                next[k + 1] += mass * p;
            }
            law = next;
        }
        let mean = chances.iter().sum();
        for hits in 0..=8 {
            let truth: f64 = law[hits..].iter().sum();
            let ours = log_at_least(hits as u64, 8, mean).exp();
            assert!(ours >= truth, "{hits}: {ours} {truth}");
            assert!(truth < 1e-3 || ours < 4.0 * truth, "{hits}: {ours} {truth}");
        }
        assert!(log_at_least(1, 1000, 1e-13) < -29.0);
    }
}
