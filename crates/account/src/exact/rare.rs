//! Rare large losses counted apart, for distributions that no tilt makes fall: most of the time nothing happens.
//!
//! Every outcome of a step is labelled small, large or (where the largest losses outgrow every tilt) far. With r(z) and b(z) the
//! transforms of the first two kinds,
//!
//! δ(ε) = δ_r(ε) + F(ε) + F_far(ε),  F(ε) = (1/2πi) ∫ [(r + b)^T − r^T](z) e^{−zε}/(z(z+1)) dz.
//!
//! δ_r, what T small losses give, is next to nothing where the label is well placed, and Chernoff bounds it. F is the profile of
//! what has a large loss and no far one. Its integrand falls as fast as b, which is smooth, and its height is that of b: a large
//! loss need not be made likely. What has a far loss ends above ε for certain, so F_far(ε) = P(far) − e^ε Q(far).

use super::composed::{Composed, Saddle};
use super::contour::{Contour, ContourBuilder, FarLosses, accumulate, exp_m1};
use super::distribution::Distribution;
use super::modulus::Modulus;
use super::partition::{FarMass, Grid, Panels, Partition, Rest, Tilt, log_kappa};
use super::points::Fineness;
use super::sampled::SampledGaussian;
use super::smooth_step::SmoothStep;
use num_complex::Complex64;
use std::f64::consts::PI;
use veracity_core::numerics::{UNIT, normal};

/// The most nodes of a line.
const MOST_NODES: f64 = 40_000.0;
/// The most cells of a first look.
const MOST_CELLS: usize = 4000;
/// The knee's loss, as shares of ε.
const SHARES: [f64; 10] = [1.4, 2.0, 3.0, 4.5, 7.0, 11.0, 18.0, 35.0, 80.0, 250.0];
/// Where far losses begin, in widths of their label above what one loss must exceed.
const FAR: [f64; 5] = [9.0, 14.0, 22.0, 40.0, 80.0];
/// LineCache that cancel more than e^16 are not drawn.
const MOST_CANCELLED: f64 = 16.0;

/// Draws a line for ε near the saddle's whose δ errs by about `tolerance`. None where there is no such distribution, or where large
/// losses are not rare.
pub(super) fn draw(composed: &Composed, saddle: &Saddle, tolerance: f64) -> Option<Contour> {
    let [(Distribution::Sampled(step), times)] = composed.parts.as_slice() else { return None };
    let step = step.uncapped();
    if !step.is_unbounded() || !(saddle.epsilon > 0.0) {
        return None;
    }
    let whole = Rare { epsilon: saddle.epsilon, log_delta: saddle.log_delta, tolerance };
    let negligible = 3.0 * tolerance * saddle.log_delta.exp();
    let (partition, rest) = SHARES.iter().find_map(|share| {
        let loss = saddle.epsilon / share;
        let partition = with_knee_at(&step, *times, composed.gaussian, saddle.epsilon, loss)?;
        Some((partition, partition.rest(saddle.epsilon, loss, negligible)?))
    })?;
    let plain = || whole.line(&partition, rest, None);
    let cut = || {
        let (partition, far) = whole.with_far(&partition, negligible)?;
        whole.line(&partition, rest, Some(far))
    };
    // Where the density of the loss falls less and less steeply, the farthest losses outgrow a tilt.
    if step.fall_at(saddle.epsilon) > step.fall_at(1.3 * saddle.epsilon) {
        cut().or_else(plain)
    } else {
        plain().or_else(cut)
    }
}

/// Whether it looks as if one or a few large losses make ε, while the rest hardly moves. It steers and proves nothing.
pub(super) fn are_rare(composed: &Composed, epsilon: f64) -> bool {
    let [(Distribution::Sampled(step), times)] = composed.parts.as_slice() else { return false };
    if !step.uncapped().is_unbounded() || !(epsilon > 0.0) {
        return false;
    }
    let (s, s2, knee) = (step.s, step.s * step.s, step.place_of(epsilon / 3.0));
    // The variance of losses below the knee, and how many there are above it.
    let below = step.spread().min(step.rate.powi(2) * (s2 + normal::log_cdf(knee / s - 1.5 * s)).exp());
    let above = times * step.masses(knee, f64::INFINITY).0;
    above < 1.0 && 5.0 * (times * below + composed.gaussian).sqrt() < epsilon
}

/// Large losses begin about `loss`, and hardly any of `epsilon` counts as small. None where such losses are usual.
fn with_knee_at(
    step: &SampledGaussian,
    times: f64,
    gaussian: f64,
    epsilon: f64,
    loss: f64,
) -> Option<Partition> {
    let (at, far) = (step.place_of(loss), step.place_of(epsilon));
    // The label must be as steep as the density falls there, else it begins where the density is larger.
    let fall = at / (step.s * step.s) + 0.5;
    if !(fall * step.s > 1.0) || !far.is_finite() {
        return None;
    }
    let width = (2.0 / fall).min((far - at) / 8.5).min(step.s);
    let curl = if epsilon < 1.0 { 1.5 } else { 0.0 };
    Some(Partition { step: *step, times, gaussian, knee: SmoothStep { at, width, curl }, far: None })
}

/// What is asked of a line.
struct Rare {
    epsilon: f64,
    log_delta: f64,
    tolerance: f64,
}

/// Where a line crosses the real axis, how far apart its aliases are, and log((r + b)^T − r^T) there.
struct Aim {
    tilt: Tilt,
    period: f64,
    log_apart: f64,
    /// The tilt at which aliases are bounded.
    above: f64,
    /// About log δ.
    log_delta: f64,
}

impl Rare {
    /// The distribution with far losses told apart, at the first place where that costs at most `allowed`.
    fn with_far(&self, partition: &Partition, allowed: f64) -> Option<(Partition, FarMass)> {
        let step = &partition.step;
        if partition.gaussian > 0.0 {
            return None;
        }
        let curl = if self.epsilon < 1.0 { 1.5 } else { 0.0 };
        // Other steps may undo x of a far loss: the less is allowed for, the nearer far losses may begin.
        let undone = [0.15, 0.4, 1.0, 2.5, 6.0].map(|share| {
            let x = share * self.epsilon;
            (x, partition.undone(x))
        });
        FAR.iter().flat_map(|widths| undone.iter().map(move |undone| (widths, undone))).find_map(
            |(widths, (x, undone))| {
                let from = step.place_of(self.epsilon + x);
                // As steep as the density falls, and no closer than where next to nothing of it lies below.
                let width = (2.0 / (from / (step.s * step.s) + 0.5)).min(0.16).min(step.s);
                let far = Some(SmoothStep { at: from + widths * width, width, curl });
                let partition = Partition { far, ..*partition };
                let mass = partition.far_mass(self.epsilon + x)?;
                let mass = FarMass { near: mass.near + mass.second * undone, ..mass };
                let lost = partition.times * (mass.near + mass.error) * self.epsilon.exp();
                (lost <= allowed).then_some((partition, mass))
            },
        )
    }

    /// The line itself.
    fn line(&self, partition: &Partition, rest: Rest, far: Option<FarMass>) -> Option<Contour> {
        let times = partition.times;
        let steepest = self.steepest(partition);
        let range = partition.range(2.0 * steepest);
        let coarse = partition.coarse(range).filter(|grid| grid.places.len() < MOST_CELLS)?;
        let aim = self.aim(partition, &coarse, steepest)?;
        let (c, step) = (aim.tilt.c, 2.0 * PI / aim.period);
        let share = (aim.log_delta - (aim.log_apart - c * self.epsilon)).exp().min(1.0);
        let allowed = self.tolerance * share;
        let (last, tail) = truncation(partition, &coarse, &aim, step, allowed)?;
        let count = (last / step).ceil().max(8.0);
        if !(count <= MOST_NODES) {
            return None;
        }
        // How exact the transforms must be, relative to b(c) and to 1/T.
        let wanted = (0.02 * allowed * c.min(1.0) * (-aim.tilt.expected(times)).exp()).max(1e-15);
        let panels = partition.panels(range, &aim.tilt, step * count, wanted)?;
        let tilt = partition.tilt(&panels.places, c);
        let outside = partition.outside(&panels.places, c)?;
        let large_error = 1.01 * panels.large + outside.0 * (-tilt.log_large).exp();
        let small_error = panels.small + outside.1 + tilt.rounding;
        let drawn = nodes(partition, &panels, &tilt, (step, count as usize), (large_error, small_error));
        let gaussian = 0.5 * partition.gaussian * c * (c + 1.0);
        let scale = times.ln() + tilt.log_large + (times - 1.0) * tilt.excess.ln_1p() + gaussian;
        let scale_error = (times + 1.0) * 1.2 * small_error + 1e-14 * (1.0 + scale.abs()) + 2.0 * large_error;
        let high = high_alias(partition, &coarse, &aim)?;
        let low = times * partition.knee.mass(&partition.step) / (c * aim.period).exp_m1();
        let far = far.map(|far| self.far_losses(partition, &far));
        let line = drawn.finish((scale, scale_error), tail, (high, low), (rest.chernoff, rest.odd));
        Some(match far {
            Some(far) => line.with_far(far),
            None => line,
        })
    }

    /// F_far(ε) near the ε asked.
    fn far_losses(&self, partition: &Partition, far: &FarMass) -> FarLosses {
        let times = partition.times;
        // 1 − (1 − x)^T for Q, and the difference of P's from it, neither of which cancels.
        let log_none = times * (-far.second).ln_1p();
        let second = -log_none.exp_m1();
        let moved = -(times * (-far.difference / (1.0 - far.second)).ln_1p()).exp_m1();
        let apart = log_none.exp() * moved;
        let rounding = 64.0 * UNIT * (apart + self.epsilon.exp() * second * self.epsilon.min(1.0));
        let error = 2.0 * times * far.error * (1.0 + self.epsilon.exp()) + rounding;
        FarLosses {
            epsilon: self.epsilon,
            value: apart - second * self.epsilon.exp_m1(),
            second,
            error,
            lost: times * far.near,
        }
    }

    /// The largest tilt worth a look.
    fn steepest(&self, partition: &Partition) -> f64 {
        let step = &partition.step;
        if partition.far.is_some() {
            return (3.0 * step.fall_at(self.epsilon)).max(20.0 / self.epsilon);
        }
        // Beyond it one large loss alone is worth more than δ = 1.
        let s2 = step.s * step.s;
        let (half, log_rate) = (0.5 * s2, step.rate.ln());
        let (linear, constant) = (half + log_rate - self.epsilon, partition.times.ln() + log_rate);
        let square = linear * linear - 4.0 * half * constant;
        let vertex = -linear / s2;
        (if square > 0.0 { vertex + square.sqrt() / s2 } else { vertex }).max(1.0 / self.epsilon)
    }

    /// The tilt and the period of the line, and the tilt that bounds its aliases.
    fn aim(&self, partition: &Partition, coarse: &Grid, steepest: f64) -> Option<Aim> {
        let epsilon = self.epsilon;
        let apart = |tilt: &Tilt| {
            tilt.log_apart(partition.times) + 0.5 * partition.gaussian * tilt.c * (tilt.c + 1.0)
        };
        let height = |c: f64| apart(&partition.tilt(&coarse.places, c)) - c * epsilon - c.ln() - c.ln_1p();
        // Convex in c: shrink around the least.
        let (mut low, mut high) = ((1e-3 * steepest).ln(), steepest.ln());
        for _ in 0..12 {
            let third = (high - low) / 3.0;
            if height((low + third).exp()) <= height((high - third).exp()) {
                high -= third;
            } else {
                low += third;
            }
        }
        let best = (0.5 * (low + high)).exp();
        // Where ε is far from what δ asks for, F is larger than δ.
        let log_delta = self.log_delta.max(height(best) - 4.0);
        let multiples = [0.15, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 1.0, 1.06, 1.13, 1.22, 1.35, 1.5, 1.7, 2.0];
        let near = [0.5, 1.0, 2.0, 4.0].map(|rise| best + rise / epsilon);
        let mut tilts: Vec<f64> = multiples.iter().map(|multiple| multiple * best).collect();
        tilts.extend(near.into_iter().filter(|c| *c < 2.0 * best));
        tilts.retain(|c| *c <= 2.0 * steepest);
        tilts.sort_by(f64::total_cmp);
        let table: Vec<(Tilt, f64)> = tilts
            .into_iter()
            .map(|c| {
                let tilt = partition.tilt(&coarse.places, c);
                (tilt, apart(&tilt))
            })
            .collect();
        let wanted = log_delta + self.tolerance.ln() - 1.5;
        let mass = (partition.times * partition.knee.mass(&partition.step)).ln();
        let mut chosen: Option<(f64, Aim)> = None;
        for (i, (tilt, log_apart)) in table.iter().enumerate() {
            let c = tilt.c;
            let cancelled = log_apart - c * epsilon - c.ln() - c.ln_1p() - log_delta;
            if !(cancelled < MOST_CANCELLED) {
                continue;
            }
            let low = (mass - wanted).max(1.0) / c;
            let above = table[i + 1..].iter().map(|(above, log)| {
                let d = above.c;
                ((log + log_kappa(d) - d * epsilon - wanted).max(1.0) / (d - c), d)
            });
            let least = above.filter(|(period, _)| period.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((high, above)) = least else { continue };
            let period = low.max(high);
            let cost = period * (cancelled.max(0.0) / 8.0).exp();
            if cost.is_finite() && chosen.as_ref().is_none_or(|(known, _)| cost < *known) {
                chosen = Some((cost, Aim { tilt: *tilt, period, log_apart: *log_apart, above, log_delta }));
            }
        }
        chosen.map(|(_, aim)| aim)
    }
}

/// The first point of a ladder beyond which (1/π) ∫ |(r + b)^T − r^T|/y² dy is at most `allowed`, relative to T b(c) r(c)^{T−1},
/// and that tail.
fn truncation(
    partition: &Partition,
    coarse: &Grid,
    aim: &Aim,
    start: f64,
    allowed: f64,
) -> Option<(f64, f64)> {
    const RATIO: f64 = 1.12;
    let growth = aim.tilt.expected(partition.times).exp();
    let shifts = [0.6, 1.2, 2.0, 3.0, 4.5, 6.0, 8.0].map(|widths| partition.strip(widths));
    let falls = shifts.map(|theta| partition.falls(coarse, &aim.tilt, theta));
    let bound = |y: f64| {
        let at = |fall: &Vec<(f64, f64)>| fall.iter().map(|(log, turn)| (log - y * turn).exp()).sum::<f64>();
        let least = falls.iter().map(at).fold(1.01, f64::min);
        growth * least * (-0.5 * partition.gaussian * y * y).exp()
    };
    let mut ladder = Vec::new();
    let mut y = start;
    loop {
        let size = bound(y);
        if size / y <= 0.1 * allowed * PI {
            break;
        }
        ladder.push((y, size));
        y *= RATIO;
        if y > start * MOST_NODES {
            return None;
        }
    }
    let mut tail = bound(y) / y;
    let mut last = y;
    for &(y, size) in ladder.iter().rev() {
        let longer = tail + size * (1.0 - 1.0 / RATIO) / y;
        if longer > allowed * PI {
            break;
        }
        (tail, last) = (longer, y);
    }
    Some((last, tail / PI))
}

/// The nodes: (r + b)^T − r^T relative to T b(c) r(c)^{T−1}.
fn nodes(
    partition: &Partition,
    panels: &Panels,
    tilt: &Tilt,
    (step, count): (f64, usize),
    errors: (f64, f64),
) -> ContourBuilder {
    let (times, c) = (partition.times, tilt.c);
    let (large, small) = partition.points(&panels.places, tilt, errors);
    let rests = small.transform(step, count, Fineness::Full);
    let jumps = large.transform(step, count, Fineness::Full);
    let mut exponents: Vec<Complex64> = (0..=count)
        .map(|k| {
            let y = k as f64 * step;
            0.5 * partition.gaussian * Complex64::new(-y * y, y * (2.0 * c + 1.0))
        })
        .collect();
    let mut blurs = vec![0.0; count + 1];
    let deviations = rests.values.clone();
    accumulate((rests.values, rests.errors), times, &mut exponents, &mut blurs);
    let ratio = (tilt.log_large - tilt.excess.ln_1p()).exp();
    let mut drawn = ContourBuilder::new(c, step, count);
    for (k, exponent) in exponents.iter().enumerate() {
        let jump = (jumps.values[k] + 1.0) / (deviations[k] + 1.0);
        let log = log_over(ratio * jump);
        let u = times * ratio * jump * log;
        let value = exponent.exp() * jump * log * exp_over(u);
        let steep = (exponent.re + blurs[k] + 1.01 * u.modulus()).exp() / (deviations[k] + 1.0).modulus();
        let off = jumps.errors[k] + (jumps.values[k] + 1.0).modulus() * UNIT * 64.0;
        let relative = (blurs[k] * (1.0 + 1.0 / times) + UNIT * (64.0 + 4.0 * exponent.modulus())).exp_m1();
        let size = (exponent.re + 1.01 * u.modulus()).exp() * jump.modulus();
        drawn.push(value, 1.1 * steep * off + size * (relative + 8.0 * UNIT * u.modulus()));
    }
    drawn
}

/// c′ > c and the logarithm of what aliases from above, at ε = 0.
fn high_alias(partition: &Partition, coarse: &Grid, aim: &Aim) -> Option<(f64, f64)> {
    let d = aim.above;
    let tilt = partition.tilt(&coarse.places, d);
    let a = partition.strip(7.0);
    let (large, small) = partition.moved(coarse, d, a, 0.0);
    let missed = |log: f64| 2.1 * (log - 2.0 * PI * a / coarse.spacing).exp();
    let outside = partition.outside(&coarse.places, d)?;
    let most = Tilt {
        log_large: tilt.log_large + ((missed(large) + outside.0) * (-tilt.log_large).exp()).ln_1p() + 1e-9,
        excess: tilt.excess + tilt.rounding + missed(small) + outside.1,
        ..tilt
    };
    let gaussian = 0.5 * partition.gaussian * d * (d + 1.0);
    let log = most.log_apart(partition.times) + gaussian + log_kappa(d) + 1e-9;
    let gain = (d - aim.tilt.c) * aim.period;
    let bound = log - gain - (-(-gain).exp()).ln_1p();
    bound.is_finite().then_some((d, bound))
}

/// log(1 + x)/x.
fn log_over(x: Complex64) -> Complex64 {
    if x.norm_sqr() < 1e-10 {
        return 1.0 - 0.5 * x + x * x / 3.0;
    }
    let square = 2.0 * x.re + x.norm_sqr();
    Complex64::new(0.5 * square.max(-1.0 + 1e-300).ln_1p(), x.im.atan2(1.0 + x.re)) / x
}

/// (e^x − 1)/x.
fn exp_over(x: Complex64) -> Complex64 {
    if x.norm_sqr() < 1e-10 { 1.0 + 0.5 * x + x * x / 6.0 } else { exp_m1(x) / x }
}
