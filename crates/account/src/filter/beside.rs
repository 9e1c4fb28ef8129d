//! What a mechanism costs beside the Gaussian noise that is left: the least a charge may take from μ².
//!
//! A pool of b = μ² stands for a Gaussian mechanism N(√b) that was not run. A charge for M may leave b′ if M ⊗ N(√b′) is dominated by
//! N(√b) up to a small δ′ that is charged too: H_z(M ⊗ N(√b′)) ≤ H_z(N(√b)) + δ′ at every order z > 0. Losses of M go in, b′ comes out.
//!
//! **Why it is sound.** *Claim: with a pool of b and a reserve of r left, all answers together leak at most h(z) = r + H_z(N(√b)) at
//! every order.* By induction on the number of charges. After the answer y of M, whose probability is p on one dataset and q on the
//! other, the rest leaks at most r′ + H_{z q/p}(N(√b′)) by induction. So all answers leak at most
//! Σ p (r′ + H_{z q/p}(N(√b′))) ≤ r′ + H_z(M ⊗ N(√b′)) ≤ r′ + δ′ + H_z(N(√b)) ≤ h(z), because r ≥ r′ + δ′. With b = 0 and r = 0 nothing is left.
//! The choice of M may depend on earlier answers. At z = e^E the claim is the budget.
//!
//! **Why every order is covered.** M is replaced by the [`Losses`] that dominate it, with mass p_i at l_i and δ_∞ above. The left side is
//! at most δ_∞ + F(z), where F(z) = Σ p_i H_{z e^{−l_i}}(N(√b′)). F is convex and falls, and so does G(z) = H_z(N(√b)).
//! - Orders z < 1 follow from 1/z, as H_z = 1 − z + z H_{1/z} holds on both sides (the profile of M is that of both directions).
//! - Between two grid points F is below its chord, and G is above its two tangents there, hence above every mean of them. The mean with
//!   equal weights is a straight line. It is above the chord on the whole interval if it is above F at both ends, which is checked.
//! - The grid begins at z = 1 and ends where F ≤ η, a part of δ′. Beyond it F is no larger.
//!
//! Grid points of z are the same multiples of a step as the losses, so that all values of N(√b′) come from one table.

use super::losses::Losses;
use veracity_core::numerics::{UNIT, normal, root};

/// The most grid points of orders.
pub(super) const MOST_POINTS: i64 = 40_000;
/// A charge is found to this relative precision.
const PRECISION: f64 = 2e-4;
/// What is charged beyond the least that was certified, so that another machine, which rounds otherwise, certifies it too.
const MARGIN: f64 = 1e-6;

/// H_z of N(μ, 1) against N(0, 1) at z = e^t for t ≥ 0, and z Q[loss > t], with an absolute error that covers both.
#[derive(Debug, Clone, Copy)]
struct Stick {
    value: f64,
    /// z times the probability of a larger loss under the second dataset: the slope in log z, negated.
    slope: f64,
    error: f64,
}

/// # Reference  [BalleWang18] Theorem 8: Φ(−a) − e^t Φ(−a − μ) with a = t/μ − μ/2; both terms are φ(a) times Mills' ratio
/// # Numerics   a errs by 2u (|a| + μ), which moves both terms by that times |a| + 1 of themselves; φ, Φ and Mills' ratio err by 8 ulp
fn stick(mu: f64, t: f64) -> Stick {
    let a = t / mu - 0.5 * mu;
    let density = normal::density(a);
    let first = if a < -1.0 { normal::cdf(-a) } else { density * normal::mills(a) };
    let slope = density * normal::mills(a + mu);
    let size = a.abs() + mu + 1.0;
    Stick { value: first - slope, slope, error: first * UNIT * (128.0 + 16.0 * size * size) + 1e-300 }
}

/// Upper bounds on H_z of N(√b) at z = e^{k · step} for any k; of nothing where b is 0.
struct Table {
    mu: f64,
    step: f64,
    /// For k = 0, 1, …
    values: Vec<f64>,
}

impl Table {
    fn new(square: f64, step: f64) -> Table {
        Table { mu: square.sqrt().next_up(), step, values: Vec::new() }
    }

    fn grow(&mut self, to: i64) {
        for k in self.values.len() as i64..=to {
            let found = match self.mu > 1e-150 {
                true => {
                    let stick = stick(self.mu, k as f64 * self.step);
                    stick.value + stick.error
                }
                false => 0.0,
            };
            self.values.push(found);
        }
    }

    fn at(&self, k: i64) -> f64 {
        if k >= 0 {
            return self.values[k as usize];
        }
        let t = k as f64 * self.step;
        (-t.exp_m1() + t.exp() * self.values[-k as usize]) * (1.0 + 8.0 * UNIT)
    }
}

/// Whether the losses beside N(√after) are dominated by N(√before) up to `slack`, at every order.
///
/// # Promise    True only if it is so; the mass above all losses is not counted
/// # Reference  The proof in [the module](self)
pub(super) fn is_dominated(losses: &Losses, before: f64, after: f64, slack: f64) -> bool {
    let step = losses.step;
    let top = losses.top();
    let mut table = Table::new(after, step);
    table.grow(top);
    let summing = 1.0 + (4.0 * losses.masses.len() as f64 + 16.0) * UNIT;
    let mu = before.sqrt().next_down();
    let (rise, fall) = (step.exp_m1(), -(-step).exp_m1());
    let mut left: Option<(f64, Stick)> = None;
    for j in 0..MOST_POINTS {
        table.grow(j + top);
        let sum: f64 = losses.masses.iter().map(|&(k, mass)| mass * table.at(j - k)).sum();
        let here = sum * summing;
        let pool = stick(mu, j as f64 * step);
        if let Some((previous, before)) = left {
            let both = before.value + pool.value;
            let error = before.error * (2.0 + rise) + 3.0 * pool.error;
            // The mean of the tangents at both ends, at the left and at the right end.
            let at_left = 0.5 * (both + pool.slope * fall - error) + slack;
            let at_right = 0.5 * (both - before.slope * rise - error) + slack;
            // Written so that what is not a number fails.
            if !(previous <= at_left && here <= at_right) {
                return false;
            }
        } else if !(here <= pool.value - pool.error + slack) {
            return false;
        }
        if here <= slack {
            return true;
        }
        left = Some((here, pool));
    }
    false
}

/// A pool of μ² in which a charge is to be certified.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pool {
    /// What is left, rounded down.
    pub left: f64,
    /// How far that may be below what is left.
    pub rounding: f64,
    /// The δ that the comparison may take.
    pub slack: f64,
}

/// Whether a charge of μ² for these losses is certified.
///
/// # Promise    The losses beside all that is left after the charge are dominated by what is left before, but for the slack
pub(super) fn covers(losses: &Losses, pool: Pool, charge: f64) -> bool {
    let Pool { left, rounding, slack } = pool;
    let after = (left - charge + rounding).max(0.0);
    let is_usable = charge > 0.0 && charge <= left && after < left && slack > 0.0;
    is_usable && is_dominated(losses, left, after, slack)
}

/// The least certified charge, at most `most`; None where that is not certified.
///
/// # Promise    [`covers`] holds for it
pub(super) fn least(losses: &Losses, pool: Pool, most: f64) -> Option<f64> {
    let most = most.min(pool.left);
    let fits = |charge: f64| covers(losses, pool, charge);
    if !fits(most) {
        return None;
    }
    let found = root::bisect(most, 0.0, PRECISION, fits).holds * (1.0 + MARGIN);
    Some(found.min(most))
}
