//! The privacy loss distribution of one Poisson-sampled Gaussian step, as weighted points: Gauss–Legendre panels over the
//! log-likelihood ratio w of the un-sampled mechanism, with a bound on everything the points leave out.
//!
//! With s = 1/σ and Q₀ = N(0, σ²), w is N(−s²/2, s²) under Q₀ and A(w) = 1 − q + q e^w is the likelihood ratio of
//! the sampled mechanism. All three situations are powers of A and of its mirror image B(w) = A(−w − s²):
//!
//! | situation | P | Q | e^L | E_P[e^{zL}] |
//! |---|---|---|---|---|
//! | remove | A·Q₀ | Q₀ | A | E₀[A^{1+z}] |
//! | add | Q₀ | A·Q₀ | 1/A | E₀[A^{−z}] |
//! | replace | A·Q₀ | B·Q₀ | A/B | E₀[A^{1+z} B^{−z}] |
//!
//! E₀[A] = E₀[B] = 1, so subtracting the linear terms of A − 1 and B − 1 changes no expectation and removes the
//! cancellation that a tiny q would otherwise cause.

use super::ellipse::{Ellipse, REACH, RHO, RISE};
use super::gaussian;
use super::points::{Drive, Driven, Panel, Points, Speed};
use veracity_core::numerics::{NeumaierSum, UNIT, legendre, normal, root};

/// What the two datasets differ in, and which of them is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Situation {
    /// The record is in the first dataset only.
    Remove,
    /// The record is in the second dataset only.
    Add,
    /// Each has its own record, as far apart as can be.
    Replace,
}

/// One step: a Gaussian of noise multiplier σ on a Poisson batch of rate q.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SampledGaussian {
    /// Sampling rate, 0 < q < 1.
    pub rate: f64,
    /// 1/σ.
    pub s: f64,
    /// Which likelihood ratio.
    pub situation: Situation,
    /// Outcomes with a larger w are left out.
    pub cap: f64,
}

/// How many standard deviations are kept on each side; Φ(−10.5) ≈ 4e-26.
const KEPT: f64 = 10.5;
/// The most panels before a question is given up.
const MOST_PANELS: usize = 60_000;

impl SampledGaussian {
    /// The distribution with nothing left out.
    pub(super) fn new(rate: f64, s: f64, situation: Situation) -> Self {
        SampledGaussian { rate, s, situation, cap: f64::INFINITY }
    }

    /// The distribution without the outcomes of large loss whose probability under P is at most `mass`. They alone can drive
    /// the moments of a heavily tilted distribution, and at most their mass is missing from δ.
    pub(super) fn capped(&self, mass: f64) -> Self {
        let cap = match self.situation {
            Situation::Add => f64::INFINITY,
            Situation::Remove | Situation::Replace => {
                root::bisect(60.0, -1.0, 1e-3, |x| self.missing(self.s * (x - 0.5 * self.s)) <= mass).holds
                    * self.s
                    - 0.5 * self.s * self.s
            }
        };
        SampledGaussian { cap, ..*self }
    }

    /// The probability under P of w beyond `cap`, at most; it also bounds E₀[|A − 1|] there.
    fn missing(&self, cap: f64) -> f64 {
        let x = cap / self.s + 0.5 * self.s;
        (normal::cdf(-x) + self.rate * normal::cdf(self.s - x)) * (1.0 + 1e-12)
    }

    /// The distribution without a cap.
    pub(super) fn uncapped(&self) -> Self {
        SampledGaussian { cap: f64::INFINITY, ..*self }
    }

    /// arg A at w + iθ.
    pub(super) fn argument(&self, w: f64, theta: f64) -> f64 {
        let odds = self.rate / (1.0 - self.rate) * w.exp();
        if odds.is_infinite() { theta } else { (odds * theta.sin()).atan2(1.0 + odds * theta.cos()) }
    }

    /// Whether losses have no upper end and none was cut off.
    pub(super) fn is_unbounded(&self) -> bool {
        self.situation != Situation::Add && self.cap == f64::INFINITY
    }

    /// About the variance of a loss.
    pub(super) fn spread(&self) -> f64 {
        self.rate * self.rate * (self.s * self.s).min(600.0).exp_m1()
    }

    /// Whether each dataset has its own record.
    pub(super) fn is_replaced(&self) -> bool {
        self.situation == Situation::Replace
    }

    /// The loss at w.
    pub(super) fn loss(&self, w: f64) -> f64 {
        match self.situation {
            Situation::Remove => self.log_ratio(w),
            Situation::Add => -self.log_ratio(w),
            Situation::Replace => self.log_ratio(w) - self.log_ratio(self.mirror(w)),
        }
    }

    /// The w at which a removed or replaced record's loss is as given, to a few ulp of a step of Newton's.
    pub(super) fn place_of(&self, loss: f64) -> f64 {
        let alone = if loss > 600.0 { loss - self.rate.ln() } else { (loss.exp_m1() / self.rate).ln_1p() };
        match self.situation {
            Situation::Remove => alone,
            Situation::Add => -alone,
            Situation::Replace => {
                let mut w = alone;
                for _ in 0..30 {
                    let speed = self.slope(w) + self.slope(self.mirror(w));
                    let step = ((loss - self.loss(w)) / speed).clamp(-4.0, 4.0);
                    w += step;
                    if step.abs() <= 1e-14 * (1.0 + w.abs()) {
                        break;
                    }
                }
                w
            }
        }
    }

    /// The probability of w between two places, under P and under Q, for a removed or a replaced record. Neighbouring
    /// stretches share the rounded place between them, so nothing is counted twice.
    ///
    /// # Numerics  A few ulp of each mass, also of narrow stretches
    pub(super) fn masses(&self, from: f64, to: f64) -> (f64, f64) {
        let x = |w: f64| w / self.s + 0.5 * self.s;
        let (low, high) = (x(from), x(to));
        let between = |shift: f64| {
            if high.is_infinite() {
                normal::cdf(shift - low)
            } else {
                gaussian::between(low - shift, high - low)
            }
        };
        let (absent, present) = (between(0.0), between(self.s));
        let first = (1.0 - self.rate) * absent + self.rate * present;
        let second = match self.situation {
            Situation::Remove | Situation::Add => absent,
            Situation::Replace => (1.0 - self.rate) * absent + self.rate * between(-self.s),
        };
        (first, second)
    }

    /// How steeply the logarithm of the density of the loss falls at a loss.
    pub(super) fn fall_at(&self, loss: f64) -> f64 {
        let w = self.place_of(loss);
        let rise = (self.s * self.s).recip() * w + 0.5;
        let speed = self.slope(w)
            + if self.situation == Situation::Replace { self.slope(self.mirror(w)) } else { 0.0 };
        (rise / speed.max(1e-300) - 1.0).max(0.0)
    }

    /// What the cap leaves out.
    pub(super) fn left_out(&self) -> f64 {
        if self.cap == f64::INFINITY { 0.0 } else { self.missing(self.cap) }
    }

    /// The exponents of A and B in E₀[A^α B^β] = E_P[e^{cL}].
    pub(super) fn exponents(&self, c: f64) -> (f64, f64) {
        match self.situation {
            Situation::Remove => (1.0 + c, 0.0),
            Situation::Add => (-c, 0.0),
            Situation::Replace => (1.0 + c, -c),
        }
    }

    /// A − 1 at w.
    pub(super) fn excess(&self, w: f64) -> f64 {
        self.rate * w.exp_m1()
    }

    /// log A at w, also where e^w overflows, and without cancellation where nearly every batch has the record.
    pub(super) fn log_ratio(&self, w: f64) -> f64 {
        if w > 600.0 {
            return w + self.rate.ln();
        }
        let excess = self.excess(w);
        if excess < -0.5 { ((1.0 - self.rate) + self.rate * w.exp()).ln() } else { excess.ln_1p() }
    }

    /// The logarithm of a bound on A^{−power} at w and above: log A is convex, so it lies above its tangent at 0, and A is
    /// at least 1 − q.
    fn log_inverse_power(&self, w: f64, power: f64) -> f64 {
        (-power * (-self.rate).ln_1p()).min(-power * self.rate * w)
    }

    /// The slope of log A, between 0 and 1.
    pub(super) fn slope(&self, w: f64) -> f64 {
        let odds = self.rate / (1.0 - self.rate) * w.exp();
        if odds.is_infinite() { 1.0 } else { odds / (1.0 + odds) }
    }

    /// The slope of log A at w, where A − 1 is known: q e^w / A.
    fn slope_from_excess(&self, w: f64, excess: f64) -> f64 {
        if excess.is_infinite() {
            1.0
        } else if excess < -0.5 {
            self.slope(w)
        } else {
            (excess + self.rate) / (1.0 + excess)
        }
    }

    /// The mirror image of w, at which B takes the value of A.
    pub(super) fn mirror(&self, w: f64) -> f64 {
        -w - self.s * self.s
    }

    /// The log density of w under Q₀.
    pub(super) fn log_density(&self, w: f64) -> f64 {
        let x = w / self.s + 0.5 * self.s;
        -0.5 * x * x - self.s.ln() - 0.918_938_533_204_672_8
    }

    /// The largest loss.
    pub(super) fn largest(&self) -> f64 {
        match self.situation {
            Situation::Remove | Situation::Replace => f64::INFINITY,
            Situation::Add => -(-self.rate).ln_1p(),
        }
    }

    /// The distribution tilted by e^{cL}, resolved for transform arguments up to |y| = `reach`, save on tails of mass
    /// `negligible`.
    ///
    /// # Promise  For every |y| ≤ reach, |Σ weight·e^{iyL} − E_P[e^{(c+iy)L}]/E_P[e^{cL}]| ≤ `quadrature`, and
    /// `log_mgf` ± `log_mgf_error` contains K(c).
    /// # Reference  Gauss–Legendre error on Bernstein ellipses, see `legendre::error_factor`
    /// # Numerics  A weight e^{x} at w is rounded by 3|x| + 12 ulp and, through w, by |w| times the slope of x; all of it
    /// is included in the errors
    pub(super) fn tilted(&self, c: f64, reach: f64, negligible: f64) -> Option<Points> {
        // How wide a panel may be is guessed from the weight at its left end; a guess that fails is made again.
        let mut margin = 6.0;
        loop {
            let points = self.tilted_with(c, reach, negligible, margin)?;
            if points.busy_quadrature <= negligible || negligible == 0.0 || margin > 30.0 {
                return Some(points);
            }
            margin += 9.0;
        }
    }

    fn tilted_with(&self, c: f64, reach: f64, negligible: f64, margin: f64) -> Option<Points> {
        let (alpha, beta) = self.exponents(c);
        let (low, high, cut) = self.range(alpha, beta);
        let (busy_low, busy_high) = self.busy(low, high, alpha, beta, negligible);
        let mut builder =
            Builder { step: self, alpha, beta, reach, points: Points::default(), sums: Sums::default() };
        let mut left = low;
        let mut last_half = f64::INFINITY;
        let mut panels = 0;
        while left < high {
            // Where next to no mass is left the oscillation need not be resolved.
            let quiet = left >= busy_high || left < busy_low;
            let end = if left < busy_low {
                busy_low
            } else if quiet {
                high
            } else {
                busy_high
            };
            builder.reach = if quiet { 0.0 } else { reach };
            let known = builder.points.losses.len();
            let limits = Limits { reach: builder.reach, negligible, margin, widest: 1.3 * last_half };
            let mut half = self.half_width(left, end, (alpha, beta), limits);
            // The last panel of a stretch ends where the stretch does: neither a gap nor an overlap.
            let ends = left + 2.0 * half >= end - 1e-6 * half;
            if ends {
                half = 0.5 * (end - left);
            }
            last_half = half;
            builder.panel(left + half, half);
            if !quiet {
                let busy = &mut builder.points.busy;
                *busy = (if busy.1 == 0 { known } else { busy.0 }, known + legendre::POINTS);
            }
            left = if ends { end } else { left + 2.0 * half };
            panels += 1;
            if panels > MOST_PANELS || !left.is_finite() {
                return None;
            }
        }
        builder.finish(cut, 2.0 * negligible)
    }

    /// The stretch outside which the tilted mass is at most `negligible`.
    fn busy(&self, low: f64, high: f64, alpha: f64, beta: f64, negligible: f64) -> (f64, f64) {
        let s = self.s;
        let mut busy_high = high;
        while busy_high > low && self.right_tail(busy_high - s, alpha, beta) <= 0.5 * negligible {
            busy_high -= s;
        }
        // To the left of w ≤ 0 and below the centre, A ≤ 1 and B ≥ 1 − q.
        let mut busy_low = low;
        let bottom = (-0.5 * s * s - s).min(-s * s);
        while busy_low + s < bottom && self.left_tail(busy_low + s, alpha) <= 0.5 * negligible {
            busy_low += s;
        }
        (busy_low, busy_high.max(busy_low))
    }

    /// Where the panels begin and end, and a bound on the integral of |A^α B^β| + 1 + |linear terms| outside.
    fn range(&self, alpha: f64, beta: f64) -> (f64, f64, f64) {
        let s = self.s;
        let q = self.rate;
        let linear = alpha.abs() + beta.abs();
        // Far to the left A ≥ 1 − q and above its tangent (add), B ≥ 1 (replace).
        let left_power = if alpha < 0.0 { -alpha * -(-q).ln_1p() } else { 0.0 };
        let deep = (KEPT * KEPT + 2.0 * left_power).sqrt().min(KEPT + (-alpha).max(0.0) * q * s);
        let low = if beta == 0.0 { -0.5 * s * s - deep * s } else { -1.5 * s * s - deep * s };
        let mut cut = self.left_tail(low, alpha) + normal::cdf(-deep) * (1.0 + linear * (1.0 + q));
        if beta != 0.0 {
            cut += normal::cdf(-KEPT) * (1.0 + linear) * q;
        }
        // Far to the right A^α and B^β are bounded block by block.
        let mut high = 0.5 * s * s + KEPT * s;
        if high >= self.cap {
            return (low, self.cap, cut + self.blur_at_cap(linear));
        }
        let mut tail = self.right_tail(high, alpha, beta);
        while tail > 1e-25 {
            high += 2.0 * s.max(0.05 * high);
            if high >= self.cap {
                return (low, self.cap, cut + self.blur_at_cap(linear));
            }
            tail = self.right_tail(high, alpha, beta);
        }
        cut += tail + normal::cdf(-KEPT) * (1.0 + linear * (1.0 + q));
        (low, high, cut)
    }

    /// E₀[1 + α(A − 1)] beyond the cap, which the subtracted terms lack there.
    fn correction(&self, alpha: f64) -> f64 {
        if self.cap == f64::INFINITY || self.situation != Situation::Remove {
            return 0.0;
        }
        let x = self.cap / self.s + 0.5 * self.s;
        let (absent, present) = (normal::cdf(-x), normal::cdf(self.s - x));
        absent + alpha * self.rate * (present - absent)
    }

    /// How far that correction can be off: rounding where it is made, all of it where it is not.
    fn blur_at_cap(&self, linear: f64) -> f64 {
        let all = (2.0 + linear) * self.left_out();
        if self.situation == Situation::Remove { 1e-13 * all } else { all }
    }

    /// A bound on ∫ density·A^α to the left of `to`, for α ≤ 0; for α > 0 where A ≤ 1.
    ///
    /// # Numerics  By A ≥ 1 − q, or by the tangent at 0, which makes the integral that of a shifted Gaussian
    fn left_tail(&self, to: f64, alpha: f64) -> f64 {
        let x = to / self.s + 0.5 * self.s;
        let power = (-alpha).max(0.0);
        let a = power * self.rate * self.s;
        let flat = normal::log_cdf(x) - power * (-self.rate).ln_1p();
        let tangent = normal::log_cdf(x + a) + 0.5 * a * (self.s + a);
        flat.min(tangent).exp() * (1.0 + 1e-9)
    }

    /// A bound on ∫ density·A^α·B^β to the right of `from`, by blocks on which the density falls and the rest rises:
    /// long blocks first, shorter ones when those are too crude.
    fn right_tail(&self, from: f64, alpha: f64, beta: f64) -> f64 {
        let mut best = f64::INFINITY;
        for growth in [0.2, 0.04, 0.01] {
            best = best.min(self.right_tail_by_blocks(from, alpha.max(0.0), (-beta).max(0.0), growth));
            if best < 1e-25 {
                break;
            }
        }
        best
    }

    fn right_tail_by_blocks(&self, from: f64, alpha: f64, inverse: f64, growth: f64) -> f64 {
        let s2 = self.s * self.s;
        let extra = |w: f64| if inverse == 0.0 { 0.0 } else { self.log_inverse_power(-w - s2, inverse) };
        // Beyond this the Gaussian falls faster than A^α B^{−power} rises: log A has slope ≤ 1, and the tangent at 0 slope q.
        let end = ((alpha + inverse * self.rate + 1.0) * s2 + 12.0 * self.s).min(self.cap);
        let mut total = 0.0;
        let mut w = from;
        while w < end {
            let next = (w + (0.5 * self.s).max(growth * w)).min(self.cap);
            total += (self.log_density(w) + alpha * self.log_ratio(next) + extra(next)).exp() * (next - w);
            w = next;
            if total > 1.0 {
                return f64::INFINITY;
            }
        }
        if w >= self.cap {
            return total;
        }
        // The tangent of log A at 0 bounds B from here on too.
        let rate = (w + 0.5 * s2) / s2 - alpha - inverse * self.rate;
        let log = self.log_density(w) + alpha * self.log_ratio(w) + inverse * self.rate * (w + s2);
        total + log.exp() / rate
    }

    /// A panel half-width small enough for the Gaussian factor, the tilt, the oscillation and the singularity of
    /// log A at w = log((1−q)/q) ± iπ.
    fn half_width(&self, left: f64, end: f64, (alpha, beta): (f64, f64), limits: Limits) -> f64 {
        let Limits { reach, negligible, margin, widest } = limits;
        // Panels with less mass may let the oscillation grow more on their ellipse.
        let mirrored = |w: f64| if beta == 0.0 { 0.0 } else { beta * self.log_ratio(self.mirror(w)) };
        let log_mass = self.log_density(left) + alpha * self.log_ratio(left) + mirrored(left) + self.s.ln();
        let swing = (0.01 * negligible).ln() - legendre::error_factor(RHO).ln() - log_mass - margin;
        // The two factors of a replaced record swing together.
        let swing = swing.clamp(6.0, 26.0) * if beta == 0.0 { 1.0 } else { 0.5 };
        let mut half = (1.4 * self.s).min(widest).min(0.5 * (end - left)).max(1e-300);
        for _ in 0..60 {
            let fits = |power: f64, centre: f64| {
                let ellipse = Ellipse::around(self, centre, half);
                ellipse.regular && power.abs() * ellipse.bend <= 3.0 && reach * ellipse.argument <= swing
            };
            let centre = left + half;
            if fits(alpha, centre) && (beta == 0.0 || fits(beta, self.mirror(centre))) {
                break;
            }
            half *= 0.85;
        }
        half
    }
}

/// What a panel must respect.
#[derive(Clone, Copy)]
struct Limits {
    reach: f64,
    negligible: f64,
    margin: f64,
    widest: f64,
}

/// Running totals of one tilted distribution.
#[derive(Default)]
struct Sums {
    /// Σ of the cancellation-free integrand: e^{K} − 1.
    excess: NeumaierSum,
    /// Bound on the rounding of `excess`.
    rounding: f64,
    /// Quadrature error of the un-oscillating and of the oscillating integrand.
    still: f64,
    swinging: f64,
    /// The same without what is subtracted.
    modulus: f64,
    /// Largest log weight so far, to detect overflow.
    largest: f64,
}

struct Builder<'a> {
    step: &'a SampledGaussian,
    alpha: f64,
    beta: f64,
    reach: f64,
    points: Points,
    sums: Sums,
}

impl Builder<'_> {
    /// Adds the points of one panel and the bounds that go with it.
    fn panel(&mut self, centre: f64, half: f64) {
        let step = self.step;
        let (alpha, beta, s2) = (self.alpha, self.beta, step.s * step.s);
        let mut summary = Panel::default();
        for &(x, weight) in legendre::rule() {
            let w = centre + half * x;
            let width = weight * half;
            let (a, la) = (step.excess(w), step.log_ratio(w));
            let (b, lb) = if beta == 0.0 {
                (0.0, 0.0)
            } else {
                (step.excess(step.mirror(w)), step.log_ratio(step.mirror(w)))
            };
            let log_density = step.log_density(w);
            let base = log_density.exp();
            let power = alpha * la + beta * lb;
            self.sums.largest = self.sums.largest.max(power);
            let growth = power.exp_m1();
            let linear = alpha * a + beta * b;
            let pa = step.slope_from_excess(w, a);
            let pb = if beta == 0.0 { 0.0 } else { step.slope_from_excess(step.mirror(w), b) };
            let slope = (-(w / s2 + 0.5) + alpha * pa - beta * pb).abs();
            // A rounded place multiplies its weight by the slope of its logarithm; a rounded exponent by itself.
            let ulps = 12.0 + 3.0 * log_density.abs() + 4.0 * w.abs() * slope;
            let term = width * base * (growth - linear);
            // Where the linear term overflows the base has underflowed: the point lies outside the kept range.
            if term.is_finite() {
                self.sums.excess.add(term);
                self.sums.rounding += term.abs() * ulps
                    + 8.0 * width * base * (growth.abs() + linear.abs()) * (1.0 + power.abs());
            }
            let density = if power > -0.5 && base > 1e-280 && power < 600.0 {
                base * (1.0 + growth)
            } else {
                (log_density + power).exp()
            };
            let loss = match step.situation {
                Situation::Remove => la,
                Situation::Add => -la,
                Situation::Replace => la - lb,
            };
            self.points.losses.push(loss);
            self.points.weights.push(density * width);
            self.points.roundings.push((ulps + 4.0 * power.abs()) as f32);
            // Each Gauss point lies in its own cell, as wide as its weight (Chebyshev–Markov–Stieltjes). On it the slopes p
            // of log A and log B move by p(1 − p) at most, and neither p nor 1 − p grows faster than e^w.
            let grown = width.min(50.0).exp();
            let curl = |p: f64| (p.min(1.0 - p) * grown).min(0.25);
            let bending = 1.0 / s2 + alpha.abs() * curl(pa) + beta.abs() * curl(pb);
            let steep = slope + bending * width;
            let speed = Speed {
                here: pa + pb,
                slope: ((curl(pa) + curl(pb)) * grown / (pa + pb).max(1e-300)).min(1.0),
            };
            summary.add_cell(density, width, steep, speed);
        }
        summary.driven = self.driven(centre - half, centre + half);
        self.points.panels.push(summary);
        self.points.drive = Some(Drive { s: step.s, inverse: (-alpha).max(-beta).max(0.0) });
        self.bound(centre, half);
    }

    /// The least slopes of log A and log B between two places, and the most p(1 − p) of the one whose power is negative.
    fn driven(&self, from: f64, to: f64) -> Driven {
        let step = self.step;
        let (a, b) = (
            (step.slope(from), step.slope(to)),
            (step.slope(step.mirror(to)), step.slope(step.mirror(from))),
        );
        let (low, high) = if self.alpha < 0.0 { a } else { b };
        let straddles = low < 0.5 && high > 0.5;
        let curl = if straddles { 0.25 } else { (low * (1.0 - low)).max(high * (1.0 - high)) };
        let b = if self.beta == 0.0 { (0.0, 0.0) } else { b };
        Driven { slopes: (a.0, b.0), fastest: a.1 + b.1, curl }
    }

    /// The largest modulus of the integrand on the panel's ellipse, hence its quadrature error.
    fn bound(&mut self, centre: f64, half: f64) {
        let step = self.step;
        let s2 = step.s * step.s;
        let here = Ellipse::around(step, centre, half);
        let (alpha, beta) = (self.alpha, self.beta);
        let mirrored =
            if beta == 0.0 { Ellipse::default() } else { Ellipse::around(step, step.mirror(centre), half) };
        // The linear part of the tilt is absorbed into the Gaussian, whose modulus on the ellipse is then explicit.
        let tilt = alpha * here.slope - beta * mirrored.slope;
        let shifted = -0.5 * s2 + tilt * s2;
        let distance = ((centre - shifted).abs() - REACH * half).max(0.0);
        let at_centre = step.log_density(centre)
            + alpha * step.log_ratio(centre)
            + if beta == 0.0 { 0.0 } else { beta * step.log_ratio(step.mirror(centre)) };
        let gaussian =
            ((centre - shifted).powi(2) - distance * distance + (RISE * half).powi(2)) / (2.0 * s2);
        let bend = alpha.abs() * here.bend + beta.abs() * mirrored.bend;
        let modulus = (at_centre + gaussian + bend).exp();
        // The subtracted 1 and linear terms: with them the Gaussian is itself, or moved by s² to either side.
        let plain = |mean: f64| {
            let distance = ((centre - mean).abs() - REACH * half).max(0.0);
            (-0.5 * distance.powi(2) / s2 + (RISE * half).powi(2) / (2.0 * s2)).exp()
                / (step.s * 2.506_628_274_631)
        };
        let q = step.rate;
        let mut linear =
            (1.0 + q * (alpha.abs() + beta.abs())) * plain(-0.5 * s2) + q * alpha.abs() * plain(0.5 * s2);
        if beta != 0.0 {
            linear += q * beta.abs() * plain(-1.5 * s2);
        }
        let factor = legendre::error_factor(RHO) * half;
        let argument = here.argument + mirrored.argument;
        self.sums.still += factor * (modulus + linear);
        self.sums.modulus += factor * modulus;
        let swinging = factor * modulus * (1.0 + (self.reach * argument).exp());
        self.sums.swinging += swinging;
    }

    fn finish(mut self, cut: f64, quiet: f64) -> Option<Points> {
        let sums = &self.sums;
        if sums.largest > 650.0 {
            return self.finish_directly(cut, quiet);
        }
        let excess = sums.excess.total() - self.step.correction(self.alpha);
        if !excess.is_finite() || !(1.0 + excess > 0.0) {
            return None;
        }
        let mass = 1.0 + excess;
        let error = sums.still + cut + UNIT * (sums.rounding + 16.0 * excess.abs());
        if error > 0.1 * mass {
            return None;
        }
        self.points.log_mgf = excess.ln_1p();
        // |log(1+x+e) − log(1+x)| ≤ (e/(1+x))/(1 − e/(1+x))
        self.points.log_mgf_error = 1.2 * error / mass + 4.0 * UNIT * self.points.log_mgf.abs();
        let swinging = sums.swinging;
        self.points.normalise(mass);
        self.points.quadrature = 1.2 * (swinging + cut + quiet) / mass;
        self.points.busy_quadrature = 1.2 * swinging / mass;
        self.points.weight_error = 1.2 * error / mass;
        Some(self.points)
    }

    /// A distribution that is tilted far has much mass and nothing that cancels: the mass is the plain sum of the weights.
    fn finish_directly(mut self, cut: f64, quiet: f64) -> Option<Points> {
        let mass: f64 = self.points.weights.iter().sum();
        if !(mass > 1e-280 && mass.is_finite()) {
            return None;
        }
        let many = self.points.weights.len() as f64;
        let rounded: f64 =
            self.points.weights.iter().zip(&self.points.roundings).map(|(w, r)| w * f64::from(*r)).sum();
        let error = (self.sums.modulus + cut) / mass + UNIT * (64.0 + many + rounded / mass);
        if error > 0.1 {
            return None;
        }
        self.points.log_mgf = mass.ln();
        self.points.log_mgf_error = 1.2 * error + 4.0 * UNIT * mass.ln().abs();
        self.points.normalise(mass);
        self.points.busy_quadrature = 1.2 * (self.sums.swinging / mass + error);
        self.points.quadrature = self.points.busy_quadrature + 2.0 * quiet / mass;
        self.points.weight_error = 1.2 * error;
        Some(self.points)
    }
}
