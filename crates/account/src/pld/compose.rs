//! Grid laws, composed by a Fourier transform of their tilted masses, as a certified curve of δ over ε.
//!
//! Masses are weighted by e^{cl}, transformed, raised to the number of uses, multiplied and transformed back. All errors
//! are bounded beforehand and pushed to the side of the bound.

use super::discretize::GridLaw;
use super::tilt::{OUTSIDE, Tilt, log_kappa, log_moment};
use num_complex::Complex64;
use veracity_core::numerics::{UNIT, fft::RealFft, logspace::log_add};

/// Which side a curve bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// δ is at most the curve.
    Upper,
    /// δ is at least the curve.
    Lower,
}

/// δ at equally spaced ε, bounded on one side; straight in e^ε between neighbours.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    side: Side,
    start: f64,
    spacing: f64,
    deltas: Vec<f64>,
    beyond: f64,
    displacement: f64,
}

impl Curve {
    /// The bound on δ at `epsilon`.
    ///
    /// # Promise    On the side of the curve. The composed grid law makes δ a straight line in e^ε between grid losses,
    /// so the chord of bounds at both ends is a bound; before the window δ is at most 1 and at least its value at the
    /// start, after it at most its value at the end and at least the mass at infinity
    pub fn delta_at(&self, epsilon: f64) -> f64 {
        let shifted = match self.side {
            Side::Upper => epsilon - self.displacement,
            Side::Lower => epsilon + self.displacement,
        };
        let position = (shifted - self.start) / self.spacing;
        let last = self.deltas.len() - 1;
        if position < 0.0 {
            return if self.side == Side::Upper { 1.0 } else { self.deltas[0] };
        }
        if position >= last as f64 {
            return if self.side == Side::Upper { self.deltas[last] } else { self.beyond };
        }
        let i = (position as usize).min(last - 1);
        let share = ((position - i as f64) * self.spacing).exp_m1() / self.spacing.exp_m1();
        self.deltas[i] + (self.deltas[i + 1] - self.deltas[i]) * share.clamp(0.0, 1.0)
    }

    /// The bound on the least ε whose δ is at most `delta`; infinite when the curve never gets there.
    pub fn epsilon_at(&self, delta: f64) -> f64 {
        let first = self.deltas.partition_point(|&value| value > delta);
        let last = self.deltas.len();
        let crossing = if first == 0 {
            // At the start already: the upper side may promise the start, the lower side knows nothing.
            if self.side == Side::Upper { self.start } else { 0.0 }
        } else if first == last {
            if self.side == Side::Upper { f64::INFINITY } else { self.loss(last - 1) }
        } else {
            let (before, after) = (self.deltas[first - 1], self.deltas[first]);
            let share = (before - delta) / (before - after);
            self.loss(first - 1) + (share * self.spacing.exp_m1()).ln_1p()
        };
        match self.side {
            Side::Upper => (crossing + self.displacement).max(0.0),
            Side::Lower => (crossing - self.displacement).max(0.0),
        }
    }

    fn loss(&self, i: usize) -> f64 {
        self.start + i as f64 * self.spacing
    }
}

/// Composes laws on grids of one spacing, each used the number of times beside it.
///
/// # Promise    The curve is on `side` of the profile of the composed grid laws
/// # Reference  δ(ε) = E_P (1 − e^{ε−S})₊ + P[S = ∞] with S the sum of independent losses ([SommerMeiserMohammadi19]);
/// the cyclic convolution of the tilted laws is the true one plus what lies outside the window, which Chernoff's bound
/// limits: it only raises the upper side (where what lies above the window is added once more), and the lower side
/// subtracts its largest possible payoff κ(c) e^{−cε}
/// # Assumes    All grids have the spacing of the first
/// # Numerics   `convolve` bounds each tilted mass from both sides; the rest is relative: 4 + 3(|c l| + |log M|) units
/// for each weight and use, a few units for each step of the sums
pub(super) fn compose(laws: &[(GridLaw, f64)], tilt: &Tilt, fft: &RealFft, side: Side) -> Curve {
    let spacing = laws[0].0.grid.spacing;
    let offset: f64 = laws.iter().map(|(law, times)| times * law.grid.offset).sum();
    let first = ((tilt.low - offset) / spacing).floor() - 1.0;
    let start = offset + first * spacing;
    let logs: Vec<f64> = laws.iter().map(|(law, _)| log_moment(law, tilt.c)).collect();
    let (masses, error) = convolve(laws, &logs, tilt.c, first as i64, fft);
    let log_scale: f64 = laws.iter().zip(&logs).map(|((_, times), log)| times * log).sum();
    let relative = relative_error(laws, &logs, tilt.c, masses.len());
    let end = start + masses.len() as f64 * spacing;
    let outside = Outside::bound(laws, &logs, tilt, start, end);
    let infinite = infinite_mass(laws, side);
    let sums = payoffs(&masses, error, tilt.c, spacing, side);
    let deltas = sums.iter().enumerate().map(|(i, payoff)| {
        let scale = log_scale - tilt.c * (start + i as f64 * spacing);
        match side {
            // Below the first cell all weights may underflow: then nothing is known from above.
            Side::Upper if i + 1 < sums.len() && *payoff < f64::MIN_POSITIVE => 1.0,
            Side::Upper => {
                let above = log_scale - tilt.c * end + outside.above;
                (infinite + (scale + payoff.ln() + relative).exp() + (above + relative).exp()).min(1.0)
            }
            Side::Lower => {
                let alias = scale + log_kappa(tilt.c) + log_add(outside.below, outside.above);
                let finite = (scale + payoff.ln() - relative).exp() - (alias + relative).exp();
                (infinite + finite.max(0.0)).min(1.0)
            }
        }
    });
    let mut deltas: Vec<f64> = deltas.collect();
    make_monotone(&mut deltas, side);
    let displaced: f64 = laws.iter().map(|(law, times)| times * law.displacement).sum();
    let rounding = 16.0 * UNIT * (offset.abs() + start.abs() + end.abs() + (first * spacing).abs());
    Curve { side, start, spacing, deltas, beyond: infinite, displacement: displaced + rounding }
}

/// Bounds on a falling function may be made to fall: each upper bound holds to the right, each lower one to the left.
fn make_monotone(deltas: &mut [f64], side: Side) {
    match side {
        Side::Upper => {
            for i in 1..deltas.len() {
                deltas[i] = deltas[i].min(deltas[i - 1]);
            }
        }
        Side::Lower => {
            for i in (1..deltas.len()).rev() {
                deltas[i - 1] = deltas[i - 1].max(deltas[i]);
            }
        }
    }
}

/// The tilted, normalised masses of the composition by cyclic index from `first`, and the most that each may err.
///
/// # Promise    |found − true cyclic convolution| ≤ error at each index
/// # Reference  |Π a_j^{T_j} − Π b_j^{T_j}| ≤ Σ T_j |a_j − b_j| / m_j · Π m_j^{T_j} for m_j ≥ |a_j|, |b_j|
/// # Numerics   Each transform errs by φ ‖w‖₁; a power in polar form by 16 units for each use; the transform back by φ
/// times the mean modulus. The errors are summed over the spectrum, where only a narrow band carries weight
fn convolve(laws: &[(GridLaw, f64)], logs: &[f64], c: f64, first: i64, fft: &RealFft) -> (Vec<f64>, f64) {
    let n = fft.len();
    let mut product = vec![(0.0, 0.0); n / 2 + 1]; // log modulus, angle
    let mut bound = vec![(0.0, 0.0); n / 2 + 1]; // log modulus rounded up, Σ T φ / modulus
    for ((law, times), log) in laws.iter().zip(logs) {
        let mut tilted = vec![0.0; n];
        for (i, mass) in law.masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let index = (law.grid.first + i as i64).rem_euclid(n as i64) as usize;
            tilted[index] += mass * (c * law.grid.loss(i) - log).exp();
        }
        let norm: f64 = tilted.iter().sum::<f64>() * (1.0 + 1e-9);
        let error = (fft.roundoff() + 16.0 * UNIT) * norm;
        for (k, value) in fft.forward(&mut tilted).iter().enumerate() {
            let modulus = value.norm();
            product[k].0 += times * modulus.ln();
            product[k].1 += times * value.arg();
            bound[k].0 += times * (modulus + error).ln();
            bound[k].1 += times * error / (modulus + error);
        }
    }
    let (mut drift, mut mean) = (0.0, 0.0);
    let mut spectrum = Vec::with_capacity(product.len());
    for (k, ((log, angle), (log_bound, share))) in product.into_iter().zip(bound).enumerate() {
        let weight = if k == 0 || k == n / 2 { 1.0 } else { 2.0 };
        let largest = log_bound.exp();
        drift += weight * share * largest;
        mean += weight * largest;
        spectrum.push(Complex64::from_polar(log.exp(), angle));
    }
    let error = 1.01 * (drift + fft.roundoff() * mean) / n as f64;
    let mut masses = fft.inverse(&mut spectrum);
    masses.rotate_left(first.rem_euclid(n as i64) as usize);
    (masses, error)
}

/// e^{cs} Σ_{t > s} m_t e^{−ct}(1 − e^{s−t}) at each grid loss s, from tilted masses m that may err by `error`.
///
/// All terms are positive: with R_k = m_k + e^{−(1+c)g} R_{k+1}, the sum at k − 1 is e^{−cg} (that at k + (1−e^{−g}) R_k).
fn payoffs(masses: &[f64], error: f64, c: f64, spacing: f64, side: Side) -> Vec<f64> {
    let (decay, step) = ((-c * spacing).exp(), -(-spacing).exp_m1());
    let decay_all = (-(1.0 + c) * spacing).exp();
    let mut sums = vec![0.0; masses.len()];
    let mut running = 0.0;
    for k in (1..masses.len()).rev() {
        let mass = match side {
            Side::Upper => masses[k].max(0.0) + error,
            Side::Lower => (masses[k] - error).max(0.0),
        };
        running = mass + decay_all * running;
        sums[k - 1] = decay * (sums[k] + step * running);
    }
    sums
}

/// The relative error of a composed payoff, apart from that of the transform.
fn relative_error(laws: &[(GridLaw, f64)], logs: &[f64], c: f64, points: usize) -> f64 {
    let weights = laws
        .iter()
        .zip(logs)
        .map(|((law, times), log)| times * (8.0 + 4.0 * (c * law.grid.reach() + log.abs())) * UNIT);
    // Each of the `points` steps of the running sums rounds a few times, and so do the decays they multiply by.
    weights.sum::<f64>() + (16.0 * points as f64 + 64.0) * UNIT
}

/// Logs of bounds on the tilted probability that the composition falls outside the window.
struct Outside {
    below: f64,
    above: f64,
}

impl Outside {
    /// # Reference  Chernoff: P_c[S ≥ s] ≤ e^{K(c′) − K(c) − (c′−c)s} for c′ > c, and likewise below
    fn bound(laws: &[(GridLaw, f64)], logs: &[f64], tilt: &Tilt, start: f64, end: f64) -> Outside {
        let at = |other: f64, edge: f64| -> f64 {
            let sum = laws.iter().zip(logs).map(|((law, times), log)| {
                let moved = log_moment(law, other);
                times * (moved - log + 16.0 * UNIT * (moved.abs() + log.abs() + 1e3))
            });
            let shift = (other - tilt.c) * edge;
            (sum.sum::<f64>() - shift + 16.0 * UNIT * shift.abs()).min(0.0)
        };
        // Any tilt is valid; others than the first serve where the grid law differs from its sketch.
        let best = |first: f64, sign: f64, edge: f64| {
            let others = [160.0, 640.0, 40.0, 2560.0, 10240.0].map(|d| tilt.c + sign * d / (end - start));
            let mut found = at(first, edge);
            for other in others {
                if found > 6.0 - OUTSIDE {
                    found = found.min(at(other, edge));
                }
            }
            found
        };
        let support =
            |end: fn(&GridLaw) -> f64| laws.iter().map(|(law, times)| times * end(law)).sum::<f64>();
        let most = support(|law| law.grid.loss(law.grid.cells));
        let least = support(|law| law.grid.loss(0));
        let spacing = laws[0].0.grid.spacing;
        let none = f64::NEG_INFINITY;
        let above = if most < end - 0.5 * spacing { none } else { best(tilt.above, 1.0, end - spacing) };
        let below = if least > start - 0.5 * spacing { none } else { best(tilt.below, -1.0, start) };
        Outside { below, above }
    }
}

/// P[some loss is infinite] = 1 − Π (1 − p_j)^{T_j}.
fn infinite_mass(laws: &[(GridLaw, f64)], side: Side) -> f64 {
    let none: f64 = laws.iter().map(|(law, times)| times * (-law.infinite.min(1.0)).ln_1p()).sum();
    let hair = match side {
        Side::Upper => 1.0 + 16.0 * UNIT,
        Side::Lower => 1.0 - 16.0 * UNIT,
    };
    (-none.exp_m1() * hair).min(1.0)
}
