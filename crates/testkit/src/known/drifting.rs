//! Subjects whose scores drift, depend on earlier trials, or have heavy tails, and that keep their claim all the same.
//!
//! Each trial's world is a fair coin. Whatever happened before, the score of a trial satisfies the claim of
//! [`Drifting::epsilon`] at δ = 0, so an audit that refutes the claim is wrong.

use super::Draws;

/// How the scores of a subject change from trial to trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drifting {
    /// 0 in the first half of the trials, 1 in the second.
    Step,
    /// One more in each trial.
    Trend,
    /// 0 and 1 in turns of so many trials.
    SquareWave(u64),
    /// A slow wave with a little noise.
    Sine,
    /// A Gaussian autoregression: each score is 0.98 times the last one plus noise.
    Autoregression,
    /// The sum of all noise so far.
    RandomWalk,
    /// Cauchy noise around a level that jumps once.
    HeavyTails,
    /// A level that jumps to a new place with probability 1/50 in each trial.
    Jumps,
    /// Repeats the world of the trial before.
    Echo,
    /// Knows all earlier worlds and repeats the score that was seen with the canary most often for its number.
    Mimic,
    /// Fails in the second half of the trials, and in every third before.
    FailsLate,
    /// Randomized response at ε = ln 3 around a level that rises.
    ResponseOnTrend,
    /// Randomized response at ε = ln 3 that gives its answer reversed in every second block of 50 trials.
    ResponseReversed,
    /// Laplace noise at ε = 1 whose level and scale both change.
    LaplaceThatSpreads,
}

impl Drifting {
    /// All kinds.
    pub const ALL: [Drifting; 15] = [
        Drifting::Step,
        Drifting::Trend,
        Drifting::SquareWave(40),
        Drifting::SquareWave(150),
        Drifting::Sine,
        Drifting::Autoregression,
        Drifting::RandomWalk,
        Drifting::HeavyTails,
        Drifting::Jumps,
        Drifting::Echo,
        Drifting::Mimic,
        Drifting::FailsLate,
        Drifting::ResponseOnTrend,
        Drifting::ResponseReversed,
        Drifting::LaplaceThatSpreads,
    ];

    /// The kind in words.
    pub fn name(self) -> String {
        match self {
            Drifting::Step => "a step in the middle".to_owned(),
            Drifting::Trend => "a steady rise".to_owned(),
            Drifting::SquareWave(turn) => format!("a square wave of {turn} trials"),
            Drifting::Sine => "a sine wave".to_owned(),
            Drifting::Autoregression => "an autoregression, 0.98".to_owned(),
            Drifting::RandomWalk => "a random walk".to_owned(),
            Drifting::HeavyTails => "Cauchy noise around a jump".to_owned(),
            Drifting::Jumps => "jumps at random".to_owned(),
            Drifting::Echo => "repeats the last world".to_owned(),
            Drifting::Mimic => "imitates past canaries".to_owned(),
            Drifting::FailsLate => "fails late, in both worlds".to_owned(),
            Drifting::ResponseOnTrend => "randomized response on a rise".to_owned(),
            Drifting::ResponseReversed => "randomized response, reversed in turns".to_owned(),
            Drifting::LaplaceThatSpreads => "Laplace noise that spreads".to_owned(),
        }
    }

    /// The least ε that is true of each trial, at δ = 0.
    pub fn epsilon(self) -> f64 {
        match self {
            Drifting::ResponseOnTrend | Drifting::ResponseReversed => 3f64.ln(),
            Drifting::LaplaceThatSpreads => 1.0,
            _ => 0.0,
        }
    }

    /// The worlds (is the canary in?) and scores of an audit; none where the trial failed.
    pub fn play(self, trials: u64, rng: &mut Draws) -> Vec<(bool, Option<f64>)> {
        let mut seen: Vec<(bool, Option<f64>)> = Vec::with_capacity(trials as usize);
        let mut level = 0.0;
        // The excess of trials with the canary over those without, among past scores of 0 and of 1.
        let mut excess = [0i64; 2];
        for trial in 0..trials {
            let is_in = rng.coin(0.5);
            let part = trial as f64 / trials as f64;
            let late = trial >= trials / 2;
            let mut response = || if rng.coin(0.75) == is_in { 1.0 } else { 0.0 };
            let score = match self {
                Drifting::Step => f64::from(u8::from(late)),
                Drifting::Trend => trial as f64,
                Drifting::SquareWave(turn) => (trial / turn % 2) as f64,
                Drifting::Sine => (12.0 * part).sin() + 0.1 * rng.normal(),
                Drifting::Autoregression => {
                    level = 0.98 * level + rng.normal();
                    level
                }
                Drifting::RandomWalk => {
                    level += rng.normal();
                    level
                }
                Drifting::HeavyTails => {
                    (std::f64::consts::PI * (rng.uniform() - 0.5)).tan() + if late { 3.0 } else { 0.0 }
                }
                Drifting::Jumps => {
                    if rng.coin(0.02) {
                        level = 10.0 * rng.uniform();
                    }
                    level
                }
                Drifting::Echo => seen.last().map_or(0.0, |(last, _)| f64::from(u8::from(*last))),
                Drifting::Mimic => f64::from(u8::from(excess[1] >= excess[0])),
                Drifting::FailsLate => f64::from(u8::from(late)),
                Drifting::ResponseOnTrend => response() + 3.0 * part,
                Drifting::ResponseReversed => {
                    let score = response();
                    if trial / 50 % 2 == 1 { 1.0 - score } else { score }
                }
                Drifting::LaplaceThatSpreads => {
                    // The shift is the scale: ε = 1 in every trial.
                    let scale = 1.0 + 9.0 * part;
                    let sign = if rng.coin(0.5) { 1.0 } else { -1.0 };
                    5.0 * part + scale * (sign * -rng.uniform().ln() + f64::from(u8::from(is_in)))
                }
            };
            let failed = self == Drifting::FailsLate && (late || trial % 3 == 0);
            if self == Drifting::Mimic {
                excess[score as usize] += if is_in { 1 } else { -1 };
            }
            seen.push((is_in, (!failed).then_some(score)));
        }
        seen
    }
}
