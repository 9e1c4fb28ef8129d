//! One training, many canaries that do not know of each other: the exact law of the errors among the loudest of them.
//!
//! A claim becomes a channel: how often the loudest canaries, as a share of all, are guessed wrong at best. The share that is
//! guessed hangs on the draw; the chance of so few errors is the mean over it, as a sum whose cells are split until it decides.

use super::{Basis, LowerBound, at_least_zero, one_run::Guesses, profile};
use veracity_core::numerics::{UNIT, binomial, normal};
use veracity_core::{Delta, GdpMu, Lower, Significance};

/// An ε that the truth does not fall below if canaries are independent: `one-run-independent`.
///
/// # Promise    Above the truth with chance at most the significance, whoever guesses, if given all coins what is seen of a
/// canary depends on its own coin alone. Where a mechanism ties canaries together, nothing is promised: see the exhibit
/// `all-or-none` of the zoo.
/// # Reference  \[XiangWangXiaoTianWang25\]: among the r guesses that are surest of n, the errors T have
/// P[T ≤ u] = E P[Bin(r, γ(V)) ≤ u] with V ~ Beta(r + 1, n − r), where γ(v) is the mean chance of error of the surest share
/// v under the channel that the claim allows. Here the claim is (ε, δ): a share δ is named, the rest is randomized response
/// # Assumes    Each canary is in with chance ½, independently; the number of guesses was fixed beforehand; canaries are
/// independent. Any other choice of r guesses errs at least as often
/// # Numerics   Rounded down
pub fn bound(guesses: Guesses, delta: Delta, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown = |guesses| {
        let channel = |epsilon: f64| Lines { delta: delta.get(), wrong: 1.0 / (1.0 + epsilon.exp()) };
        at_least_zero(super::largest_refuted(64.0, 1e-7, |epsilon| {
            is_refuted(guesses, level, &channel(epsilon))
        }))
    };
    LowerBound {
        epsilon: Lower(shown(guesses)),
        ceiling: shown(guesses.perfect_attack()),
        basis: Basis::IfIndependent,
    }
}

/// An ε that the truth does not fall below if canaries are independent and the mechanism is Gaussian, that of [`mu`]:
/// `one-run-independent-gaussian`.
///
/// # Promise    Above the truth with chance at most the significance, under both assumptions.
/// # Reference  As [`bound`], with N(0, 1) and N(μ, 1) as the channel
/// # Numerics   Rounded down
pub fn gaussian(guesses: Guesses, delta: Delta, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown = |guesses| at_least_zero(profile::epsilon_at_least(largest_mu(guesses, level), delta.get()));
    let (epsilon, ceiling) = (Lower(shown(guesses)), shown(guesses.perfect_attack()));
    LowerBound { epsilon, ceiling, basis: Basis::IfIndependentGaussian }
}

/// The μ behind [`gaussian`]. If canaries are independent, the mechanism is μ′-GDP for no smaller μ′, Gaussian or not.
pub fn mu(guesses: Guesses, significance: Significance) -> Lower<GdpMu> {
    let mu = largest_mu(guesses, significance.spend());
    Lower(GdpMu::new(mu).expect("mu was bisected between zero and a finite number"))
}

fn largest_mu(guesses: Guesses, level: f64) -> f64 {
    super::largest_refuted(32.0, 1e-7, |mu| is_refuted(guesses, level, &Gaussian { half: 0.5 * mu }))
}

/// What a claim allows at best of one canary, the surest guesses first.
trait Channel {
    /// Where `at` begins, at the surest guesses.
    fn first(&self) -> f64;
    /// Where it ends, at all guesses.
    fn last(&self) -> f64;
    /// The share of guesses that are at least as sure as at `at`, from above, and the mean chance that one of them is wrong,
    /// from below.
    fn surest(&self, at: f64) -> (f64, f64);
}

/// The channel of (ε, δ)-privacy by its shares: δ is named, the rest is wrong with chance 1/(1 + e^ε).
struct Lines {
    delta: f64,
    wrong: f64,
}

impl Channel for Lines {
    fn first(&self) -> f64 {
        0.0
    }

    fn last(&self) -> f64 {
        1.0
    }

    fn surest(&self, share: f64) -> (f64, f64) {
        let unnamed = if share > self.delta { (share - self.delta) / share } else { 0.0 };
        (share, self.wrong * unnamed * (1.0 - 16.0 * UNIT))
    }
}

/// N(0, 1) against N(μ, 1), by the distance of a score from the middle of the two.
struct Gaussian {
    /// μ/2.
    half: f64,
}

impl Channel for Gaussian {
    fn first(&self) -> f64 {
        self.half + 38.0
    }

    fn last(&self) -> f64 {
        0.0
    }

    fn surest(&self, distance: f64) -> (f64, f64) {
        let (right, wrong) = (normal::cdf(self.half - distance), normal::cdf(-self.half - distance));
        // An argument is rounded once, which moves a tail by as many units as its square.
        let error = UNIT * (32.0 + 4.0 * (self.half + distance).powi(2));
        let share = (right + wrong) * (1.0 + error);
        (share.min(1.0), wrong * (1.0 - error) / share)
    }
}

/// As many cells as are worth their time: of a chance of 5 %, some thousandth is then left open.
const CELLS: usize = 1 << 12;

/// Whether so few errors have a chance below `level` under the channel.
///
/// # Promise   Never true where the chance is `level` or more
/// # Numerics  The chance of few errors falls with the share that is guessed, so taking a cell's surest end for all of it
/// errs upward, and by Abel summation so does rounding every tail up
fn is_refuted(guesses: Guesses, level: f64, channel: &impl Channel) -> bool {
    let game = Game::of(guesses);
    if game.guesses == 0 {
        return false;
    }
    let end = game.at(channel, channel.last());
    if game.guesses == game.canaries {
        return end.few_errors < level;
    }
    // The surest guesses of all are right; a share is at most one.
    let start = Cut { at: channel.first(), reached: 0.0, few_errors: 1.0 };
    let mut cuts = vec![start, Cut { reached: 1.0, ..end }];
    loop {
        let (least, most) = chance(&cuts);
        if most < level {
            return true;
        }
        if least >= level || cuts.len() > CELLS {
            return false;
        }
        let split = game.split(&cuts, channel, (most - least) / cuts.len() as f64);
        if split.len() == cuts.len() {
            // What is open is rounding.
            return false;
        }
        cuts = split;
    }
}

/// Bounds on the chance of few errors; the lower one is for stopping early and not rounded.
fn chance(cuts: &[Cut]) -> (f64, f64) {
    let (mut least, mut most) = (0.0, 0.0);
    for cell in cuts.windows(2) {
        let inside = (cell[1].reached - cell[0].reached).max(0.0);
        most += inside * cell[0].few_errors;
        least += inside * cell[1].few_errors;
    }
    (least, most * (1.0 + 4.0 * UNIT * cuts.len() as f64))
}

/// The counts of a game, as this law has them.
struct Game {
    canaries: u64,
    guesses: u64,
    errors: u64,
}

/// A share of the surest guesses.
#[derive(Clone, Copy)]
struct Cut {
    /// Where the channel has it.
    at: f64,
    /// The chance that no larger share is guessed, from above.
    reached: f64,
    /// The chance of so few errors if this share is guessed, from above.
    few_errors: f64,
}

impl Game {
    fn of(guesses: Guesses) -> Game {
        let errors = guesses.guesses() - guesses.correct();
        Game { canaries: guesses.canaries(), guesses: guesses.guesses(), errors }
    }

    fn at(&self, channel: &impl Channel, at: f64) -> Cut {
        let (share, wrong) = channel.surest(at);
        // P[V ≤ v] for V ~ Beta(r + 1, n − r): more than r of n uniforms are below v.
        let reached = binomial::log_upper_tail(self.canaries, self.guesses + 1, share);
        let few_errors = binomial::log_lower_tail(self.guesses, self.errors, wrong);
        let upward = |log: f64, n: u64| {
            let error = UNIT * (128.0 * (n as f64 + log.abs()) + 4096.0);
            (log + error).exp().min(1.0)
        };
        Cut { at, reached: upward(reached, self.canaries), few_errors: upward(few_errors, self.guesses) }
    }

    /// The same cuts, with another in each cell that leaves more than `fair` open. Rounding never puts them out of order.
    fn split(&self, cuts: &[Cut], channel: &impl Channel, fair: f64) -> Vec<Cut> {
        let mut split = vec![cuts[0]];
        for cell in cuts.windows(2) {
            let open = (cell[1].reached - cell[0].reached) * (cell[0].few_errors - cell[1].few_errors);
            if open > fair {
                let mut cut = self.at(channel, 0.5 * (cell[0].at + cell[1].at));
                cut.reached = cut.reached.clamp(cell[0].reached, cell[1].reached);
                cut.few_errors = cut.few_errors.clamp(cell[1].few_errors, cell[0].few_errors);
                split.push(cut);
            }
            split.push(cell[1]);
        }
        split
    }
}
