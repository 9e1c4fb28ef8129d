//! A privacy loss distribution tilted by e^{cL}, as weighted points with error bounds, and its Fourier transform on a uniform
//! grid: each point is spread onto a lattice by local interpolation, and one FFT serves all arguments.

use super::distribution::turns;
use num_complex::Complex64;
use veracity_core::numerics::UNIT;
use veracity_core::numerics::fft::RealFft;

/// Lattice points that share each loss.
const SPREAD: usize = 16;
/// Up to this many point–argument pairs a plain sum is quicker than spreading.
const DIRECT: usize = 1024;

/// How much finer the lattice is than the transform strictly needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fineness {
    /// Every argument matters.
    Full,
    /// The largest arguments are damped away.
    Windowed,
}

impl Fineness {
    fn oversampling(self) -> usize {
        match self {
            Fineness::Full => 8,
            Fineness::Windowed => 4,
        }
    }
}

/// A tilted distribution. Weights sum to 1 up to the stated errors.
#[derive(Debug, Clone, Default)]
pub(super) struct Points {
    /// Privacy losses.
    pub losses: Vec<f64>,
    /// Their tilted probabilities.
    pub weights: Vec<f64>,
    /// Stretches of the distribution with a smooth density, by rising speed of the loss; empty for a distribution of atoms.
    pub panels: Vec<Panel>,
    /// K(c) = log E_P[e^{cL}].
    pub log_mgf: f64,
    /// It errs by at most this.
    pub log_mgf_error: f64,
    /// The transform of the points errs by at most this for the arguments they were made for.
    pub quadrature: f64,
    /// The same for the busy points alone, against the distribution restricted to where they are.
    pub busy_quadrature: f64,
    /// Rounding of each weight, in ulp.
    pub roundings: Vec<f32>,
    /// Relative error common to all weights.
    pub weight_error: f64,
    /// The points on which oscillation is resolved.
    pub busy: (usize, usize),
    /// For distributions driven by a Gaussian, that Gaussian.
    pub drive: Option<Drive>,
}

/// A stretch of a distribution with a density: its mass, the most of its density and of the variation of that density.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Panel {
    pub mass: f64,
    pub density: f64,
    pub variation: f64,
    /// For distributions driven by a Gaussian: how what drives the loss behaves on the stretch.
    pub driven: Driven,
}

/// What a stretch of a distribution looks like to a line of integration that is moved into the complex plane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Driven {
    /// The least slope of log A, and of log B.
    pub slopes: (f64, f64),
    /// The most of their sum.
    pub fastest: f64,
    /// The most of p(1 − p) for a factor that is raised to a negative power.
    pub curl: f64,
}

/// A driving Gaussian and the exponents of A and B.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drive {
    /// Its standard deviation.
    pub s: f64,
    /// The exponent that is negative, without its sign; zero where none is.
    pub inverse: f64,
}

/// How fast the loss rises with the driving variable at a point, and the most of the slope of the logarithm of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Speed {
    pub here: f64,
    pub slope: f64,
}

impl Panel {
    /// Adds a cell of the driving variable: `density` there, its `width`, how `steep` log density can be on it, and the
    /// speed of the loss.
    pub(super) fn add_cell(&mut self, density: f64, width: f64, steep: f64, speed: Speed) {
        let x = (steep + speed.slope) * width;
        let growth = if x < 0.5 { 1.0 + x + x * x } else { x.exp() };
        let top = density * growth / speed.here.max(1e-300);
        self.mass += density * width;
        self.density = self.density.max(top);
        self.variation += top * (steep + speed.slope) * width;
    }
}

/// φ(y) − 1 on the grid y = 0, h, 2h, …, with the error bound of each value.
pub(super) struct Transform {
    pub values: Vec<Complex64>,
    pub errors: Vec<f64>,
}

impl Points {
    /// Adds a point, its weight rounded by so many ulp.
    pub(super) fn push(&mut self, loss: f64, weight: f64, ulps: f64) {
        self.losses.push(loss);
        self.weights.push(weight);
        self.roundings.push(ulps as f32);
    }

    /// Divides all weights by the mass they are to be relative to.
    pub(super) fn normalise(&mut self, mass: f64) {
        for weight in &mut self.weights {
            *weight /= mass;
        }
        for panel in &mut self.panels {
            panel.mass /= mass;
            panel.density *= 1.001 / mass;
            panel.variation *= 1.001 / mass;
        }
    }

    /// The resolved part alone, its mass below 1.
    pub(super) fn bulk(mut self) -> Points {
        self.losses = self.losses[self.busy.0..self.busy.1].to_vec();
        self.weights = self.weights[self.busy.0..self.busy.1].to_vec();
        self
    }

    /// The mass m and m·Σwl² − (Σwl)², half the mean square difference of two independent losses.
    pub(super) fn pair_spread(&self) -> (f64, f64) {
        let mass: f64 = self.weights.iter().sum();
        let mean = self.losses.iter().zip(&self.weights).map(|(l, w)| l * w).sum::<f64>() / mass;
        let square: f64 =
            self.losses.iter().zip(&self.weights).map(|(l, w)| w * (l - mean) * (l - mean)).sum();
        (mass, mass * square * (1.0 + 1e-9))
    }

    /// Σ weight (e^{iyL} − 1) at one argument, by the plain sum.
    pub(super) fn deviation(&self, y: f64) -> Complex64 {
        let mut sum = Complex64::new(0.0, 0.0);
        for (loss, weight) in self.losses.iter().zip(&self.weights) {
            let half = 0.5 * y * loss;
            let (sin, cos) = half.sin_cos();
            sum += Complex64::new(-2.0 * weight * sin * sin, 2.0 * weight * sin * cos);
        }
        sum
    }

    /// φ(y) − 1 for y = k·`step`, k = 0 … `count`.
    ///
    /// Small losses go through their moments, which keeps relative accuracy; large ones are spread onto a lattice.
    ///
    /// # Promise  Each value is within its error of the transform of the true distribution.
    pub(super) fn transform(&self, step: f64, count: usize, fineness: Fineness) -> Transform {
        if count * self.losses.len() <= DIRECT || self.losses.len() <= 4 {
            return self.transform_directly(step, count);
        }
        // Unresolved points are part of the error already.
        let busy = if self.busy.1 > 0 { self.busy.0..self.busy.1 } else { 0..self.losses.len() };
        let reach = step * count as f64;
        let mut small = Moments::new(reach);
        let mut large = Vec::new();
        for j in busy {
            if self.losses[j].abs() * reach <= Moments::REACH {
                small.add(self.losses[j], self.weights[j], f64::from(self.roundings[j]));
            } else {
                large.push(j);
            }
        }
        let mut transform = small.transform(step, count, self.weight_error);
        for error in &mut transform.errors {
            *error += self.quadrature;
        }
        if !large.is_empty() {
            self.spread_and_transform(&large, step, fineness, &mut transform);
        }
        transform
    }

    /// Adds the points named to the transform by way of a lattice.
    ///
    /// # Numerics  Interpolating e^{iyl} by a polynomial of degree 15 on a lattice of spacing g errs by at most
    /// (yg/2)^16/√(8π) (central interval)
    fn spread_and_transform(
        &self,
        points: &[usize],
        step: f64,
        fineness: Fineness,
        transform: &mut Transform,
    ) {
        let count = transform.values.len() - 1;
        let length = (2 * fineness.oversampling() * count.max(4)).next_power_of_two();
        let spacing = 2.0 * std::f64::consts::PI / (step * length as f64);
        let mut lattice = vec![0.0; length];
        let mut counts = vec![0u32; length];
        let (mut blur, mut size, mut mass) = (0.0, 0.0, 0.0);
        for &j in points {
            let position = self.losses[j] / spacing;
            counts[(position.floor() as i64) as usize & (length - 1)] += 1;
            let moved = spread(&mut lattice, position, self.weights[j]);
            blur += f64::from(self.roundings[j]) * moved;
            size += self.weights[j] * self.losses[j].abs();
            mass += self.weights[j];
        }
        // The mass at zero loss transforms to a constant and cancels in φ − 1: leave it out for accuracy.
        lattice[0] = 0.0;
        let norm: f64 = lattice.iter().map(|w| w.abs()).sum();
        let fft = RealFft::new(length);
        let spectrum = fft.forward(&mut lattice);
        // The transform at zero is the sum of all: taking it from the same FFT keeps its error within the same bound.
        let total = spectrum[0].re;
        let crowd = UNIT * (24.0 + crowding(&counts));
        let rounding = norm * (2.0 * fft.roundoff() + crowd + self.weight_error) + UNIT * blur;
        for (k, (value, error)) in transform.values.iter_mut().zip(&mut transform.errors).enumerate() {
            let y = step * k as f64;
            *value += Complex64::new(spectrum[k].re - total, -spectrum[k].im);
            let interpolation = mass * (0.5 * y * spacing).powi(SPREAD as i32) / 5.0;
            // A loss known to one ulp turns its phase by y·|loss| ulp.
            *error += rounding + interpolation + 64.0 * UNIT * y * size;
        }
    }

    fn transform_directly(&self, step: f64, count: usize) -> Transform {
        let few = self.losses.len() <= 4;
        let values = if few {
            let mut sums = vec![Complex64::new(0.0, 0.0); count + 1];
            for (loss, weight) in self.losses.iter().zip(&self.weights) {
                for (sum, turn) in sums.iter_mut().zip(turns(step * loss, count)) {
                    *sum += *weight * turn;
                }
            }
            sums
        } else {
            (0..=count).map(|k| self.deviation(k as f64 * step)).collect()
        };
        // A turn that is multiplied up errs by 256 ulp of itself.
        let turning = if few { 256.0 } else { 0.0 };
        let size: f64 = self.losses.iter().zip(&self.weights).map(|(l, w)| w * l.abs()).sum();
        let worst = self.roundings.iter().copied().fold(0.0f32, f32::max).into();
        let worst: f64 = worst;
        let errors = (0..=count)
            .map(|k| {
                let moved = (k as f64 * step * size).min(2.0);
                self.quadrature
                    + moved * (UNIT * (8.0 + turning + worst + self.losses.len() as f64) + self.weight_error)
                    + 8.0 * UNIT * k as f64 * step * size
            })
            .collect();
        Transform { values, errors }
    }

    /// A bound on |φ(y)| for every argument from `y` on, from the smoothness of the distribution alone.
    ///
    /// # Promise  Splitting off any set with mass ν whose density has total variation V gives |φ(y)| ≤ 1 − ν + V/y
    pub(super) fn envelope(&self, y: f64) -> f64 {
        // The distribution may end abruptly at its upper end.
        let edge = self.panels.last().map_or(0.0, |panel| panel.density);
        let (mut mass, mut variation, mut best) = (0.0, edge, 1.0f64);
        for panel in self.panels.iter().rev() {
            mass += panel.mass;
            variation += panel.variation;
            // The cut adds a jump no higher than the density on the panel where it is made.
            best = best.min(1.0 - mass + (variation + panel.density) / y);
        }
        // The masses themselves are sums of points: widen by what they leave out.
        let smooth = best + self.quadrature + 1e-12;
        smooth.min(self.analytic_envelope(y)).min(1.0)
    }

    /// A bound on |φ(y)| for every argument from `y` on, by moving the line of integration over the driving Gaussian.
    ///
    /// # Promise  Moving it by θ multiplies the Gaussian by e^{θ²/2s²} at most and never raises |A|; |A|² falls to
    /// 1 − 2p(1−p)(1 − cos θ) of itself, which counts where A is raised to a negative power; and |e^{iyL}| = e^{−y arg A} with
    /// tan arg A ≥ p sin θ. An upper end of the distribution adds a piece of length θ at its density there
    fn analytic_envelope(&self, y: f64) -> f64 {
        let Some(Drive { s, inverse }) = self.drive else { return 1.0 };
        let (mut mass, mut pull) = (0.0, 0.0);
        for panel in &self.panels {
            mass += panel.mass;
            pull += panel.mass * (panel.driven.slopes.0 + panel.driven.slopes.1);
        }
        // The best shift for a loss that is a straight line in the Gaussian, and others: an end of the distribution bears less.
        let best = y * s * s * pull / mass.max(1e-300);
        let edge = self.panels.last().map_or(0.0, |panel| panel.density * panel.driven.fastest);
        let shifts = [best, 0.6 * best, 2.0 * s, 3.5 * s, 5.0 * s, 1.2, 0.5, 0.2];
        shifts.into_iter().filter(|theta| *theta <= 1.2).fold(1.0f64, |least, theta| {
            let (sin, cos) = theta.sin_cos();
            let gaussian = 0.5 * (theta / s).powi(2);
            let sum: f64 = self
                .panels
                .iter()
                .map(|panel| {
                    let shrunk = (2.0 * panel.driven.curl * (1.0 - cos)).min(0.9);
                    let (a, b) = panel.driven.slopes;
                    let turned = (a * sin).atan() + (b * sin).atan();
                    panel.mass * (gaussian - 0.5 * inverse * (-shrunk).ln_1p() - y * turned).exp()
                })
                .sum();
            let ends = edge * theta * (gaussian - 0.5 * inverse * (-0.5 * (1.0 - cos)).ln_1p()).exp();
            least.min(sum + ends + 2.0 * self.quadrature + 1e-12)
        })
    }
}

/// The most additions that any lattice point has seen: those of the points within reach of it.
fn crowding(counts: &[u32]) -> f64 {
    let near = |k: usize| (0..SPREAD).map(|i| counts[(k + i) % counts.len()]).sum::<u32>();
    let mut window = near(0);
    let mut most = window;
    for k in 0..counts.len() {
        window = window + counts[(k + SPREAD) % counts.len()] - counts[k];
        most = most.max(window);
    }
    f64::from(most)
}

/// A distribution to be evaluated at single arguments: small losses by their moments, large ones by the plain sum.
pub(super) struct Bulk {
    small: Moments,
    large: Points,
    pub quadrature: f64,
}

impl Bulk {
    pub(super) fn new(points: &Points, reach: f64) -> Bulk {
        let mut bulk =
            Bulk { small: Moments::new(reach), large: Points::default(), quadrature: points.busy_quadrature };
        for (loss, weight) in points.losses.iter().zip(&points.weights) {
            if loss.abs() * reach <= Moments::REACH {
                bulk.small.add(*loss, *weight, 0.0);
            } else {
                bulk.large.losses.push(*loss);
                bulk.large.weights.push(*weight);
            }
        }
        bulk.small.settle();
        bulk
    }

    /// Σ weight (e^{iyL} − 1).
    pub(super) fn deviation(&self, y: f64) -> Complex64 {
        self.small.deviation(y / self.small.reach) + self.large.deviation(y)
    }

    /// How many terms a deviation takes.
    pub(super) fn cost(&self) -> usize {
        self.large.losses.len() + 2
    }
}

/// Losses so small that e^{iyL} − 1 is its Taylor sum for all arguments asked.
struct Moments {
    reach: f64,
    /// Σ w (reach·L)^m / m! for m = 1 … TERMS.
    terms: [f64; Self::TERMS],
    /// The part of them not yet added up: sums of blocks lose less than one long sum.
    block: [f64; Self::TERMS],
    count: usize,
    /// Σ w |reach·L|, plain and weighted by the rounding of w.
    size: f64,
    blur: f64,
}

impl Moments {
    /// The largest y·|L|.
    const REACH: f64 = 2.0;
    /// 2^27/27! < 2e-20.
    const TERMS: usize = 26;
    /// Points to a block.
    const BLOCK: usize = 128;

    fn new(reach: f64) -> Self {
        Moments {
            reach,
            terms: [0.0; Self::TERMS],
            block: [0.0; Self::TERMS],
            count: 0,
            size: 0.0,
            blur: 0.0,
        }
    }

    fn add(&mut self, loss: f64, weight: f64, rounding: f64) {
        let x = loss * self.reach;
        let mut power = weight;
        for (m, term) in self.block.iter_mut().enumerate() {
            power *= x / (m + 1) as f64;
            *term += power;
        }
        self.count += 1;
        if self.count.is_multiple_of(Self::BLOCK) {
            self.settle();
        }
        self.size += weight * x.abs();
        self.blur += weight * x.abs() * rounding;
    }

    /// Adds up the block under way.
    fn settle(&mut self) {
        for (term, block) in self.terms.iter_mut().zip(&mut self.block) {
            *term += std::mem::take(block);
        }
    }

    /// Σ w (e^{iyL} − 1) at y = η·reach, η ≤ 1.
    fn deviation(&self, eta: f64) -> Complex64 {
        let square = eta * eta;
        // Horner on i^m: consecutive odd terms, and consecutive even ones, alternate in sign.
        let (odd, even) = self
            .terms
            .chunks_exact(2)
            .rev()
            .fold((0.0, 0.0), |(odd, even), pair| (pair[0] - square * odd, pair[1] - square * even));
        Complex64::new(-square * even, eta * odd)
    }

    /// # Numerics  (e^x − 1)/x ≤ 3.2 for x ≤ 2 bounds all terms by the first
    fn transform(&mut self, step: f64, count: usize, weight_error: f64) -> Transform {
        self.settle();
        let scale = step / self.reach;
        let additions = (Self::BLOCK + self.count / Self::BLOCK) as f64;
        let relative = UNIT * (64.0 + additions) + weight_error + 1e-20;
        let slope = 3.2 * (relative * self.size + UNIT * self.blur);
        let values = (0..=count)
            .map(|k| {
                let eta = k as f64 * scale;
                let square = eta * eta;
                // Horner on i^m: consecutive odd terms, and consecutive even ones, alternate in sign.
                let (odd, even) =
                    self.terms.chunks_exact(2).rev().fold((0.0, 0.0), |(odd, even), pair| {
                        (pair[0] - square * odd, pair[1] - square * even)
                    });
                Complex64::new(-square * even, eta * odd)
            })
            .collect();
        let errors = (0..=count).map(|k| slope * k as f64 * scale).collect();
        Transform { values, errors }
    }
}

/// Shares `weight` among the lattice points around `position` so that polynomials of degree 15 keep their sum.
/// Returns how much went to other points than zero.
fn spread(lattice: &mut [f64], position: f64, weight: f64) -> f64 {
    let mask = lattice.len() - 1;
    let floor = position.floor();
    let fraction = position - floor;
    let first = (floor as i64) - (SPREAD as i64 / 2 - 1);
    if fraction == 0.0 {
        lattice[(floor as i64) as usize & mask] += weight;
        return if floor == 0.0 { 0.0 } else { weight };
    }
    let offset = fraction + (SPREAD as f64 / 2.0 - 1.0);
    let mut product = weight;
    for i in 0..SPREAD {
        product *= offset - i as f64;
    }
    let mut shares = [0.0; SPREAD];
    let mut moved = 0.0;
    for i in 0..SPREAD {
        shares[i] = product * COEFFICIENTS[i] / (offset - i as f64);
        moved += shares[i].abs();
    }
    for (i, share) in shares.iter().enumerate() {
        lattice[(first + i as i64) as usize & mask] += share;
    }
    if (-first) >= 0 && (-first) < SPREAD as i64 { moved - shares[(-first) as usize].abs() } else { moved }
}

/// 1/Π_{j≠i}(i − j) for i = 0 … 15: (−1)^{15−i}/(i! (15−i)!).
const COEFFICIENTS: [f64; SPREAD] = {
    let mut factorial = [1.0; SPREAD];
    let mut i = 1;
    while i < SPREAD {
        factorial[i] = factorial[i - 1] * i as f64;
        i += 1;
    }
    let mut all = [0.0; SPREAD];
    let mut i = 0;
    while i < SPREAD {
        let sign = if (SPREAD - 1 - i).is_multiple_of(2) { 1.0 } else { -1.0 };
        all[i] = sign / (factorial[i] * factorial[SPREAD - 1 - i]);
        i += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreading_agrees_with_the_plain_sum_within_its_error() {
        let losses: Vec<f64> = (0..400).map(|i| (i as f64 * 0.37).sin() * 3.0 + 1e-7 * i as f64).collect();
        let weights = vec![1.0 / 400.0; 400];
        let roundings = vec![0.0; 400];
        let points = Points { losses, weights, roundings, ..Points::default() };
        let transform = points.transform(0.05, 1000, Fineness::Full);
        for k in 0..=1000 {
            let exact = points.deviation(0.05 * k as f64);
            let error = (transform.values[k] - exact).norm();
            assert!(error <= transform.errors[k] + 1e-14, "{k}: {error} {}", transform.errors[k]);
        }
    }
}
