//! The distribution of a sampled step with its outcomes labelled small, large or far, each label a smooth function of w.
//!
//! Labels, density and losses are analytic in w, so the transforms of each kind are plain trapezoid sums; moving the line of
//! integration into the complex plane bounds what they miss.

use super::ellipse::{REACH, RHO, RISE};
use super::points::Points;
use super::sampled::{SampledGaussian, Situation};
use super::smooth_step::SmoothStep;
use std::f64::consts::PI;
use veracity_core::numerics::{NeumaierSum, UNIT, legendre, normal};

/// How many standard deviations of the noise are kept on the left; Φ(−11) ≈ 2e-28.
const KEPT: f64 = 11.0;
/// The most points of a distribution.
const MOST_POINTS: f64 = 30_000.0;
/// One step used T times, with Gaussians beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partition {
    pub step: SampledGaussian,
    pub times: f64,
    /// Σ μ² of the Gaussians composed with it.
    pub gaussian: f64,
    /// Where large losses begin.
    pub knee: SmoothStep,
    /// Where far ones begin, if they are told apart.
    pub far: Option<SmoothStep>,
}

/// A point of the driving variable w, with what does not depend on the tilt.
pub(super) struct Place {
    pub w: f64,
    /// The width it stands for.
    width: f64,
    loss: f64,
    /// The logarithms of the density under Q₀ and of A.
    log_density: f64,
    log_ratio: f64,
    /// A − 1, and B − 1 for a replaced record.
    excess: (f64, f64),
    /// Logarithms of the labels.
    log_large: f64,
    log_small: f64,
    log_far: f64,
}

/// Places so far apart.
pub(super) struct Grid {
    pub places: Vec<Place>,
    pub spacing: f64,
}

/// Gauss–Legendre points, and what sums over them miss of the large losses, relative to b(c), and of the small ones.
pub(super) struct Panels {
    pub places: Vec<Place>,
    pub large: f64,
    pub small: f64,
}

/// The transforms at a real tilt: log b, r − 1, and how far that may be off by rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tilt {
    pub c: f64,
    pub log_large: f64,
    pub excess: f64,
    pub rounding: f64,
}

/// Bounds on a cell: logarithms of the tilted weight, of the labels and of what is subtracted, and the turn of the loss.
struct Cell {
    weight: f64,
    large: f64,
    small: f64,
    far: f64,
    subtracted: f64,
    turn: f64,
}

/// A bound on what small losses alone contribute: d and a logarithm that falls like e^{−dε}, and a probability.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    pub chernoff: (f64, f64),
    pub odd: f64,
}

/// The probabilities of a far loss in one step under P and Q, as p − q and q, and how far either may be off.
#[derive(Debug, Clone, Copy)]
pub(super) struct FarMass {
    pub difference: f64,
    pub second: f64,
    pub error: f64,
    /// The probability under Q of a far label on a loss of at most ε.
    pub near: f64,
}

impl Tilt {
    /// Expected number of large losses, relative to none.
    pub(super) fn expected(&self, times: f64) -> f64 {
        times * (self.log_large - self.excess.ln_1p()).exp()
    }

    /// log((r + b)^T − r^T).
    pub(super) fn log_apart(&self, times: f64) -> f64 {
        let log_rest = self.excess.ln_1p();
        let more = times * (self.log_large - log_rest).exp().ln_1p();
        let apart = if more < 1e-9 {
            times.ln() + self.log_large - log_rest
        } else if more < 30.0 {
            more.exp_m1().ln()
        } else {
            more
        };
        times * log_rest + apart
    }
}

impl Place {
    /// The logarithm of P's density, tilted.
    fn log_weight(&self, c: f64) -> f64 {
        self.log_density + self.log_ratio + c * self.loss
    }

    /// How many ulp a weight is off through its place and its exponent.
    fn ulps(&self, step: &SampledGaussian, (alpha, beta): (f64, f64)) -> f64 {
        let mirrored = if beta == 0.0 { 0.0 } else { beta * step.slope(step.mirror(self.w)) };
        let slope = (-(self.w / (step.s * step.s) + 0.5) + alpha * step.slope(self.w) - mirrored).abs();
        12.0 + 3.0 * self.log_density.abs() + 4.0 * self.w.abs() * slope
    }
}

impl Partition {
    /// The places from `low` to `high`; none if they are too many.
    pub(super) fn grid(&self, (low, high): (f64, f64), spacing: f64) -> Option<Grid> {
        let count = ((high - low) / spacing).ceil();
        if !(count <= MOST_POINTS) {
            return None;
        }
        let places = (0..=count as usize).map(|j| self.place(low + j as f64 * spacing, spacing)).collect();
        Some(Grid { places, spacing })
    }

    fn place(&self, w: f64, width: f64) -> Place {
        let step = &self.step;
        let (above, log_small) = self.knee.logs(w);
        let (far, near) = self.far.map_or((f64::NEG_INFINITY, 0.0), |far| far.logs(w));
        Place {
            w,
            width,
            loss: step.loss(w),
            log_density: step.log_density(w),
            log_ratio: step.log_ratio(w),
            excess: (step.excess(w), if step.is_replaced() { step.excess(step.mirror(w)) } else { 0.0 }),
            log_large: above + near,
            log_small,
            log_far: above + far,
        }
    }

    /// The stretch of w outside which there is nothing to speak of, for tilts up to `steepest`.
    pub(super) fn range(&self, steepest: f64) -> (f64, f64) {
        let (s, s2) = (self.step.s, self.step.s * self.step.s);
        let low = if self.step.is_replaced() { -1.5 * s2 } else { -0.5 * s2 } - KEPT * s;
        let mut high = (steepest + 0.5) * s2 + KEPT * s;
        if let Some(far) = self.far {
            // Where the far label has taken everything.
            let (mut w, mut most) = (far.at, f64::NEG_INFINITY);
            while w < high {
                let place = self.place(w, far.width);
                let log = place.log_weight(steepest) + place.log_large;
                most = most.max(log);
                if log < most - 75.0 && self.fall(&place, steepest) > 1.0 {
                    break;
                }
                w += far.width;
            }
            high = high.min(w);
        }
        (low, high.max(0.5 * s2 + KEPT * s))
    }

    /// How steeply the logarithm of the density times A^α B^β falls at a place and beyond, without labels, at least.
    fn fall(&self, place: &Place, c: f64) -> f64 {
        let (alpha, beta) = self.step.exponents(c);
        let pull = if beta == 0.0 { 0.0 } else { -beta * self.step.slope(self.step.mirror(place.w)) };
        let label = self.far.map_or(0.0, |far| far.fall(place.w));
        place.w / (self.step.s * self.step.s) + 0.5 - alpha - pull + label
    }

    /// Both transforms at the tilt c, by trapezoid sums.
    pub(super) fn tilt(&self, places: &[Place], c: f64) -> Tilt {
        let (alpha, beta) = self.step.exponents(c);
        let top = places.iter().map(|p| p.log_weight(c) + p.log_large).fold(f64::NEG_INFINITY, f64::max);
        let (mut large, mut excess, mut rounding) = (0.0, NeumaierSum::default(), 0.0);
        for place in places {
            let weight = place.log_weight(c);
            if weight + place.log_large > top - 50.0 {
                large += place.width * (weight + place.log_large - top).exp();
            }
            let base = place.log_density.exp();
            let power = place.log_ratio + c * place.loss;
            let linear = alpha * place.excess.0 + beta * place.excess.1;
            // Where A overflows the density has underflowed.
            let (base_linear, label) =
                (if base == 0.0 { 0.0 } else { base * linear }, self.knee.ulps(place.w));
            let (term, size, partition) = if place.log_small > -0.7 {
                // 1 − χ is 1 less what is above.
                let (growth, gone) = (base * power.exp_m1(), -weight.exp() * place.log_small.exp_m1());
                ((growth - base_linear) - gone, growth.abs() + base_linear.abs() + gone, gone * label.0)
            } else {
                let kept = (weight + place.log_small).exp();
                (kept - base - base_linear, kept + base + base_linear.abs(), kept * label.1)
            };
            excess.add(place.width * term);
            let ulps = place.ulps(&self.step, (alpha, beta));
            rounding += place.width * (size * (8.0 + 8.0 * power.abs()) + term.abs() * ulps + partition);
        }
        // A sum that overflows is no estimate.
        let excess = Some(excess.total()).filter(|sum| sum.is_finite()).unwrap_or(f64::NAN);
        Tilt { c, log_large: top + large.ln(), excess, rounding: UNIT * rounding }
    }

    /// Bounds on what lies outside a grid at the tilt c, of the large losses and of the small ones with what is subtracted.
    ///
    /// # Promise  To the left A ≤ 1 and B ≥ 1; to the right the density falls faster than A^α B^β rises
    pub(super) fn outside(&self, places: &[Place], c: f64) -> Option<(f64, f64)> {
        let (first, last) = (places.first()?, places.last()?);
        let (alpha, beta) = self.step.exponents(c);
        let steep = self.fall(last, c);
        let kept = self.fall(last, c) - self.far.map_or(0.0, |far| far.fall(last.w)) + self.knee.fall(last.w);
        if !(steep > 1.0 && kept > 1.0) {
            return None;
        }
        let left = normal::cdf(-KEPT);
        let subtracted = 3.0 * (1.0 + alpha.abs() + beta.abs()) * left;
        let weight = last.log_weight(c);
        let large = (weight + last.log_large).exp() / steep + left * first.log_large.exp();
        Some((large, (weight + last.log_small).exp() / kept + subtracted))
    }

    /// Bounds on a cell of half-width `half` along the line moved by a.
    ///
    /// # Promise  Moving it by a multiplies the density by e^{a²/2s²}; it never raises |A|; |B| ≥ 1 − q + q e^v cos a;
    /// |e^{iyL}| ≤ e^{y·turn}. A cell is bounded by its middle and the steepest slope of the logarithm on it
    fn cell(&self, place: &Place, half: f64, c: f64, a: f64) -> Cell {
        let step = &self.step;
        let (alpha, beta) = step.exponents(c);
        let s2 = step.s * step.s;
        let mirror = step.mirror(place.w);
        let mut steep = (place.w / s2 + 0.5).abs() + half / s2;
        let density = place.log_density + half * steep + 0.5 * a * a / s2;
        steep += alpha * step.slope(place.w + half);
        let mut turn = step.argument(place.w + half, a);
        let mut shrunk = 0.0;
        if beta != 0.0 {
            steep -= beta * step.slope(mirror + half);
            turn += step.argument(mirror + half, a);
            let raised = step.rate * (mirror + half).exp();
            shrunk = -beta * ((1.0 - step.rate + raised) / (1.0 - step.rate + raised * a.cos())).ln();
        }
        let (above, small) = self.knee.moved(place.w, half, a);
        let (far, near) = self.far.map_or((f64::NEG_INFINITY, 0.0), |far| far.moved(place.w, half, a));
        let subtracted = 1.0 + alpha * step.rate * ((place.w + half).min(700.0).exp() + 1.0)
            - beta * step.rate * ((mirror + half).min(700.0).exp() + 1.0);
        Cell {
            weight: place.log_weight(c) + half * steep + 0.5 * a * a / s2 + shrunk,
            large: above + near,
            small,
            far: above + far,
            subtracted: density + subtracted.ln(),
            turn,
        }
    }

    /// Logarithms of bounds on ∫ |f| along the line moved by a, for the large and the small losses, at arguments up to y.
    pub(super) fn moved(&self, grid: &Grid, c: f64, a: f64, y: f64) -> (f64, f64) {
        let (mut larges, mut smalls) = (LogSum::default(), LogSum::default());
        for place in &grid.places {
            let Cell { weight, large, small, subtracted, turn, .. } =
                self.cell(place, 0.5 * grid.spacing, c, a);
            larges.add(weight + large + y * turn);
            smalls.add(weight + small + y * turn);
            smalls.add(subtracted);
        }
        // e^{iyL} − 1 has two terms.
        (larges.log() + grid.spacing.ln(), smalls.log() + grid.spacing.ln() + 0.7)
    }

    /// What the large losses contribute at most to |b(c + iy)|/b(c) along the line moved by θ, as pairs (log, turn) of which
    /// each contributes e^{log − y·turn}.
    pub(super) fn falls(&self, grid: &Grid, tilt: &Tilt, theta: f64) -> Vec<(f64, f64)> {
        let step = &self.step;
        let half = 0.5 * grid.spacing;
        let turn = |place: &Place| {
            let mirrored =
                if step.is_replaced() { step.argument(step.mirror(place.w) - half, theta) } else { 0.0 };
            step.argument(place.w - half, theta) + mirrored
        };
        let all = grid.places.chunks(grid.places.len().div_ceil(96)).map(|chunk| {
            let mut sum = LogSum::default();
            for place in chunk {
                let cell = self.cell(place, half, tilt.c, theta);
                sum.add(cell.weight + cell.large);
            }
            let log = sum.log() + grid.spacing.ln() - tilt.log_large + 1e-3;
            (log, chunk.iter().map(turn).fold(f64::INFINITY, f64::min))
        });
        all.filter(|(log, _)| *log > -300.0).collect()
    }

    /// The width of the narrower label.
    fn narrowest(&self) -> f64 {
        self.far.map_or(self.knee.width, |far| far.width.min(self.knee.width))
    }

    /// A grid for a first look, on which trapezoid sums miss about e^{−30}.
    pub(super) fn coarse(&self, range: (f64, f64)) -> Option<Grid> {
        self.grid(range, (0.8 * self.narrowest()).min(0.18 * self.strip(7.0)))
    }

    /// The probability under Q that the losses of all steps add up to less than −x, at most.
    ///
    /// # Promise  For a removed record E_Q[e^{−θL}] is the moment of an added one, and no loss is below log(1 − q). For a replaced one
    /// −L has under Q the distribution that L has under P, and without a loss above x/2 Chernoff applies
    pub(super) fn undone(&self, x: f64) -> f64 {
        let (step, times) = (&self.step, self.times);
        if !step.is_replaced() && x >= -times * (-step.rate).ln_1p() {
            return 0.0;
        }
        let (bounded, apart) = if step.is_replaced() {
            let cap = step.place_of(0.5 * x);
            (SampledGaussian { cap, ..*step }, times * step.masses(cap, f64::INFINITY).0)
        } else {
            (SampledGaussian { situation: Situation::Add, ..*step }, 0.0)
        };
        let spread = times * bounded.cumulants(1e-9)[2];
        let bound = |share: f64| {
            let theta = (share * x / spread).min(30.0 / x.min(spread.sqrt()));
            let points = bounded.tilted(theta, 0.0, 0.0)?;
            Some(times * (points.log_mgf + points.log_mgf_error) - theta * x)
        };
        let least = [0.5, 1.0].into_iter().filter_map(bound).fold(0.0, f64::min);
        (least.exp() + apart).min(1.0)
    }

    /// A shift of the line by so many widths, no further than the labels and the roots of A and B allow.
    pub(super) fn strip(&self, widths: f64) -> f64 {
        let far = self.far.map_or(0.0, |far| far.width.powi(-2));
        let width = (self.knee.width.powi(-2) + far + self.step.s.powi(-2)).sqrt().recip();
        let roots = if self.step.is_replaced() { 1.4 } else { 2.6 };
        let curls = self.knee.farthest().min(self.far.map_or(f64::INFINITY, |far| far.farthest()));
        (widths * width).min(roots).min(curls)
    }

    /// What T small losses contribute to δ(ε), if it is at most `allowed`; `loss` is that at the knee.
    ///
    /// # Promise  A small loss far beyond the knee hardly ever occurs at all. Without such, Chernoff: r(d) is the moment of the distribution
    /// capped before the knee, where all losses count as small, and cells from there on, each bounded by its middle
    pub(super) fn rest(&self, epsilon: f64, loss: f64, allowed: f64) -> Option<Rest> {
        let (step, width) = (&self.step, self.knee.width);
        let half = 0.4 * width;
        let odd = |x: f64| {
            let w = self.knee.at + x * width;
            self.times * self.knee.logs(w).1.exp() * step.masses(w, f64::INFINITY).0 * (1.0 + 1e-9)
        };
        let reach = (2..80).map(|i| 0.5 * f64::from(i)).find(|x| odd(*x) <= allowed)?;
        let start = self.knee.at - 4.0 * width;
        let count = ((4.0 + reach) * width / (2.0 * half)).ceil() as usize;
        let places: Vec<Place> =
            (0..count).map(|j| self.place(start + (2.0 * j as f64 + 1.0) * half, 2.0 * half)).collect();
        let capped = SampledGaussian { cap: start, ..*step };
        let moderate = |d: f64| {
            let mut sum = LogSum::default();
            for place in &places {
                let cell = self.cell(place, half, d, 0.0);
                sum.add(cell.weight + cell.small);
            }
            sum.log() + (2.0 * half).ln()
        };
        let log = |d: f64, k: f64, moderate: f64| {
            let whole = self.times * (k + (moderate - k).exp().ln_1p());
            whole + 0.5 * self.gaussian * d * (d + 1.0) + log_kappa(d) + 1e-9 - d * epsilon
        };
        // Tilts from 0.7/loss on; the best is looked for by estimates.
        let mut best: Option<(f64, f64)> = None;
        for d in (0..40).map(|i| 0.7 * 1.2f64.powi(i) / loss) {
            let estimate = log(d, capped.cumulants(d)[0], moderate(d));
            if best.is_none_or(|(_, least)| estimate < least) {
                best = Some((d, estimate));
            } else if best.is_some_and(|(_, least)| estimate > least + 20.0) {
                break;
            }
        }
        let (d, _) = best.filter(|(_, estimate)| *estimate <= allowed.ln())?;
        let points = capped.tilted(d, 0.0, 0.0)?;
        let certified = log(d, points.log_mgf + points.log_mgf_error, moderate(d));
        (certified <= allowed.ln())
            .then_some(Rest { chernoff: (d, certified + d * epsilon), odd: odd(reach) })
    }

    /// The probabilities of the far label.
    pub(super) fn far_mass(&self, epsilon: f64) -> Option<FarMass> {
        let far = self.far?;
        let (step, s2) = (&self.step, self.step.s * self.step.s);
        // Beyond, the density alone has fallen enough; to the left the label has.
        let fall = (far.at / s2 + 0.5 - 1.0).max(1.0 / step.s);
        let high = (far.at + 80.0 / fall).min(far.at.max(0.5 * s2) + (KEPT + 2.0) * step.s);
        let low = (far.at - 45.0 * far.width).max(0.0);
        let grid = self.grid((low, high), 0.3 * far.width)?;
        let (mut difference, mut second, mut rounding) = (0.0, 0.0, 0.0);
        let mut moved = LogSum::default();
        let a = self.strip(6.0);
        for place in &grid.places {
            // Under Q: N₀ for a removed record, B·N₀ for a replaced one.
            let weight = (place.log_density + place.log_far).exp();
            let apart = weight * (place.excess.0 - place.excess.1);
            difference += apart;
            second += weight * (1.0 + place.excess.1);
            let ulps = place.ulps(step, (1.0, 0.0)) + far.ulps(place.w).0 + self.knee.ulps(place.w).0;
            rounding += apart.abs() * (ulps + 16.0 + grid.places.len() as f64);
            let cell = self.cell(place, 0.5 * grid.spacing, 0.0, a);
            moved.add(cell.weight + cell.far);
            moved.add(cell.subtracted + cell.far);
        }
        let (difference, second) = (difference * grid.spacing, second * grid.spacing);
        let missed = 4.0 * (moved.log() + grid.spacing.ln() - 2.0 * PI * a / grid.spacing).exp();
        let beyond = 2.0 * step.masses(high, f64::INFINITY).0;
        let first = grid.places.first()?;
        let left = 2.0 * first.log_far.exp();
        let error = (missed + beyond + left + UNIT * rounding * grid.spacing) * (1.0 + 1e-9);
        let until = step.place_of(epsilon);
        let near: f64 = grid
            .places
            .iter()
            .filter(|place| place.w - grid.spacing <= until)
            .map(|place| {
                let cell = self.cell(place, 0.5 * grid.spacing, 0.0, 0.0);
                (cell.weight + cell.far).exp() * grid.spacing
            })
            .sum();
        // From w = 0 on nothing is likelier under Q than under P.
        (difference >= 0.0 && second >= 0.0).then_some(FarMass {
            difference,
            second,
            error,
            near: near + left,
        })
    }

    /// Panels fine enough for the transforms at c up to the argument `reach`: what they miss is about `wanted`, large losses relative
    /// to b(c) and small ones T times less.
    pub(super) fn panels(
        &self,
        (low, high): (f64, f64),
        tilt: &Tilt,
        reach: f64,
        wanted: f64,
    ) -> Option<Panels> {
        let farthest = self.strip(f64::INFINITY);
        let log_factor = legendre::error_factor(RHO).ln();
        let mut panels = Panels { places: Vec::new(), large: 0.0, small: 0.0 };
        let (mut left, mut half) = (low, self.narrowest());
        while left < high {
            half = (1.5 * half).min(0.5 * (high - left)).min(farthest / RISE);
            let mut tries = 0;
            let (large, small) = loop {
                let centre = self.place(left + half, 2.0 * half);
                let cell = self.cell(&centre, REACH * half, tilt.c, RISE * half);
                let scale = log_factor + half.ln();
                let large = (cell.weight + cell.large + reach * cell.turn + scale - tilt.log_large).exp();
                // e^{iyL} − 1 has two terms.
                let tilted = 2.0 * (cell.weight + cell.small + reach * cell.turn + scale).exp();
                let small = tilted + (cell.subtracted + scale).exp();
                if large <= 0.01 * wanted && small <= 0.01 * wanted / self.times {
                    break (large, small);
                }
                half *= 0.8;
                tries += 1;
                if tries > 200 {
                    return None;
                }
            };
            panels.large += large;
            panels.small += small;
            // The last panel ends where the stretch does.
            let ends = left + 2.0 * half >= high - 1e-6 * half;
            let half_here = if ends { 0.5 * (high - left) } else { half };
            for &(x, weight) in legendre::rule() {
                panels.places.push(self.place(left + half_here * (1.0 + x), weight * half_here));
            }
            left = if ends { high } else { left + 2.0 * half };
            if panels.places.len() as f64 > MOST_POINTS {
                return None;
            }
        }
        Some(panels)
    }

    /// The large and the small losses as points, relative to b(c) and r(c).
    pub(super) fn points(&self, places: &[Place], tilt: &Tilt, errors: (f64, f64)) -> (Points, Points) {
        let exponents = self.step.exponents(tilt.c);
        let log_rest = tilt.excess.ln_1p();
        let (mut large, mut small) = (Points::default(), Points::default());
        for place in places {
            let weight = place.log_weight(tilt.c) + place.width.ln();
            let (jump, rest) =
                (weight + place.log_large - tilt.log_large, weight + place.log_small - log_rest);
            if jump <= -60.0 && rest <= -90.0 {
                continue;
            }
            let (ulps, label) = (place.ulps(&self.step, exponents), self.knee.ulps(place.w));
            if jump > -60.0 {
                let far = self.far.map_or(0.0, |far| far.ulps(place.w).1);
                large.push(place.loss, jump.exp(), ulps + label.0 + far + 3.0 * jump.abs());
            }
            if rest > -90.0 {
                small.push(place.loss, rest.exp(), ulps + label.1 + 3.0 * rest.abs());
            }
        }
        let many = places.len() as f64;
        large.quadrature = errors.0 + many * 1e-26;
        small.quadrature = errors.1 + many * 1e-39;
        (large.weight_error, small.weight_error) = (UNIT * (64.0 + many), UNIT * 64.0 + errors.1);
        large.busy = (0, large.losses.len());
        small.busy = (0, small.losses.len());
        (large, small)
    }
}

/// log Σ e^x without overflow.
struct LogSum {
    top: f64,
    sum: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        LogSum { top: f64::NEG_INFINITY, sum: 0.0 }
    }
}

impl LogSum {
    fn add(&mut self, x: f64) {
        if x > self.top {
            self.sum = self.sum * (self.top - x).exp() + 1.0;
            self.top = x;
        } else if x > self.top - 60.0 {
            self.sum += (x - self.top).exp();
        } else if x.is_nan() {
            self.sum = f64::NAN;
        } else {
            // No more than so many such terms.
            self.sum += 1e-26;
        }
    }

    fn log(&self) -> f64 {
        if self.top == f64::NEG_INFINITY { self.top } else { self.top + self.sum.ln() }
    }
}

/// log κ(c), κ(c) = c^c/(1+c)^{1+c}: (1 − e^{ε−l})₊ ≤ κ(c) e^{c(l−ε)}.
pub(super) fn log_kappa(c: f64) -> f64 {
    -c * (1.0 / c).ln_1p() - c.ln_1p()
}
