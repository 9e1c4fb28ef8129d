//! Trials until bets on single trials, and on pairs of them, refute a Gaussian that leaks more than it claims.
use veracity_audit::{ClaimedCurve, IdealAttacker, World, bound::sequential::Test, observe_one};
use veracity_core::{
    Count, Delta, Epsilon, NoiseMultiplier, Refusal, SamplingRate, Significance, numerics::normal,
};

fn curve(mu: f64) -> Result<ClaimedCurve, Refusal> {
    let delta = |e: f64| normal::cdf(mu / 2.0 - e / mu) - e.exp() * normal::cdf(-mu / 2.0 - e / mu);
    let pair = |e: f64| Ok((Epsilon::new(e)?, Delta::new((delta(e) * 1.001).clamp(0.0, 0.999))?));
    ClaimedCurve::new((0..60).map(|i| pair(f64::from(i) * mu / 8.0)).collect::<Result<Vec<_>, Refusal>>()?)
}

fn main() -> Result<(), Refusal> {
    for (claimed, truth) in [(1.0, 2.0), (1.0, 1.25), (0.5, 1.0), (2.0, 4.0), (2.0, 2.2), (1.0, 1.1)] {
        let seeds = if truth < 1.15 * claimed { 60 } else { 300 };
        let (mut single, mut paired) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let honest = IdealAttacker::honest(
                SamplingRate::new(1.0)?,
                NoiseMultiplier::new(1.0 / truth)?,
                Count::ONE,
            );
            let subject = IdealAttacker { seed, ..honest };
            let mut trials = Test::new(curve(claimed)?, Significance::new(0.01)?);
            let mut pairs = Test::new(curve(claimed)?, Significance::new(0.01)?);
            let (mut ins, mut outs) = (std::collections::VecDeque::new(), std::collections::VecDeque::new());
            let (mut trial, mut seen) = (0, 0u64);
            while !(trials.is_refuted() && pairs.is_refuted()) {
                let one = observe_one(&subject, seed, trial).observations[0];
                trial += 1;
                if !trials.is_refuted() {
                    trials.observe(one.world, one.score)?;
                }
                if one.world == World::In {
                    ins.push_back(one.score)
                } else {
                    outs.push_back(one.score)
                }
                if !pairs.is_refuted() && !ins.is_empty() && !outs.is_empty() {
                    pairs.observe_pair(ins.pop_front().flatten(), outs.pop_front().flatten())?;
                    seen += 1;
                }
            }
            single.push(trials.trials() / 2);
            paired.push(seen);
        }
        single.sort_unstable();
        paired.sort_unstable();
        let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / all.len() as f64;
        println!(
            "claimed {claimed} true {truth}: median {} against {}, mean {:.0} against {:.0}",
            single[single.len() / 2],
            paired[paired.len() / 2],
            mean(&single),
            mean(&paired)
        );
    }
    Ok(())
}
