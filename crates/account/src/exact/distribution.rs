//! Privacy loss distributions: for a pair (P, Q), the distribution of L = log dP/dQ under P, by its transform K(z) = log E_P[e^{zL}].
//!
//! A distribution first gives a quick estimate of K and two derivatives (`scout`) that steers the contour, then, tilted to the
//! abscissa chosen, its transform along the contour with error bounds.

use super::gathered::Gathered;
use super::modulus::Modulus;
use super::points::{Fineness, Points};
use super::sampled::SampledGaussian;
use num_complex::Complex64;
use veracity_core::numerics::UNIT;

/// The distribution of the privacy loss of one use of a mechanism.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Distribution {
    /// Laplace noise moved by ε scales.
    Laplace { epsilon: f64 },
    /// A Gaussian on a Poisson batch.
    Sampled(SampledGaussian),
    /// Finitely many losses; on a lattice of this spacing, if there is one.
    Atoms {
        atoms: Vec<Atom>,
        spacing: Option<f64>,
        /// E_P[1 − e^{−L}]: zero unless an outcome is impossible under one of the two datasets.
        defect: f64,
    },
}

/// A loss and its probability under P.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Atom {
    pub log_mass: f64,
    pub loss: f64,
    /// The probability itself.
    mass: f64,
    /// 1 − e^{−loss}.
    fall: f64,
}

impl Atom {
    pub(super) fn new(log_mass: f64, loss: f64) -> Atom {
        Atom { log_mass, loss, mass: log_mass.exp(), fall: -(-loss).exp_m1() }
    }
}

/// A distribution tilted by e^{cL}.
#[derive(Debug)]
pub(super) enum Tilted {
    /// Laplace noise, or many distributions as one.
    Laplace(Formula),
    Points(Points),
}

/// A tilted distribution that is not a list of points.
#[derive(Debug)]
pub(super) enum Formula {
    Laplace { epsilon: f64, c: f64 },
    Gathered(Gathered),
}

/// Distributions of up to this many losses are looked at one argument at a time.
pub(super) const FEW_ATOMS: usize = 16;

impl Distribution {
    /// Estimates of K(c), K′(c), K″(c), with no bound.
    pub(super) fn cumulants(&self, c: f64) -> [f64; 3] {
        match self {
            Distribution::Laplace { epsilon } => laplace_cumulants(*epsilon, c),
            Distribution::Sampled(sampled) => sampled.cumulants(c),
            Distribution::Atoms { atoms, defect, .. } => atoms_cumulants(atoms, *defect, c),
        }
    }

    /// The distribution tilted to abscissa c and resolved for |Im z| ≤ `reach` but for `negligible` mass; none when numbers
    /// overflow there.
    pub(super) fn tilted(&self, c: f64, reach: f64, negligible: f64) -> Option<Tilted> {
        match self {
            Distribution::Laplace { epsilon } => Some(Tilted::laplace(*epsilon, c)),
            Distribution::Sampled(sampled) => sampled.tilted(c, reach, negligible).map(Tilted::Points),
            Distribution::Atoms { atoms, defect, .. } => atoms_tilted(atoms, *defect, c).map(Tilted::Points),
        }
    }

    /// Whether the distribution is one of many of its kind that are better looked at together.
    pub(super) fn is_small(&self) -> bool {
        match self {
            Distribution::Laplace { .. } => true,
            Distribution::Sampled(_) => false,
            Distribution::Atoms { atoms, .. } => atoms.len() <= FEW_ATOMS,
        }
    }

    /// The largest loss, infinite for distributions without one.
    pub(super) fn largest(&self) -> f64 {
        match self {
            Distribution::Laplace { epsilon } => *epsilon,
            Distribution::Sampled(sampled) => sampled.largest(),
            Distribution::Atoms { atoms, .. } => {
                atoms.iter().map(|atom| atom.loss).fold(f64::NEG_INFINITY, f64::max)
            }
        }
    }
}

/// K and its error at the abscissa, and log φ(y) along the contour.
impl Tilted {
    pub(super) fn laplace(epsilon: f64, c: f64) -> Tilted {
        Tilted::Laplace(Formula::Laplace { epsilon, c })
    }

    /// K(c) and a bound on its error.
    pub(super) fn log_mgf(&self) -> (f64, f64) {
        match self {
            Tilted::Laplace(Formula::Laplace { epsilon, c }) => laplace_log_mgf(*epsilon, *c),
            Tilted::Laplace(Formula::Gathered(gathered)) => gathered.log_mgf(),
            Tilted::Points(points) => (points.log_mgf, points.log_mgf_error),
        }
    }

    /// φ(y) − 1 at y = k·step, with error bounds.
    pub(super) fn transform(
        &self,
        step: f64,
        count: usize,
        fineness: Fineness,
    ) -> (Vec<Complex64>, Vec<f64>) {
        match self {
            Tilted::Laplace(Formula::Gathered(gathered)) => gathered.transform(step, count, fineness),
            Tilted::Laplace(Formula::Laplace { epsilon, c }) => {
                let turns = turns(step * epsilon, count);
                let along = LaplaceLine::new(*epsilon, *c);
                turns.enumerate().map(|(k, turn)| along.deviation(k as f64 * step, turn)).unzip()
            }
            Tilted::Points(points) => {
                let transform = points.transform(step, count, fineness);
                (transform.values, transform.errors)
            }
        }
    }

    /// A bound on |φ| for all arguments from `y` on.
    pub(super) fn envelope(&self, y: f64) -> f64 {
        match self {
            Tilted::Laplace(Formula::Laplace { epsilon, c }) => laplace_envelope(*epsilon, *c, y),
            Tilted::Laplace(Formula::Gathered(gathered)) => gathered.envelope(y),
            Tilted::Points(points) => points.envelope(y),
        }
    }
}

/// What small distributions are asked one argument at a time.
impl Tilted {
    /// φ(y) − 1 at any arguments, with error bounds.
    pub(super) fn at(&self, arguments: &[f64]) -> (Vec<Complex64>, Vec<f64>) {
        match self {
            Tilted::Laplace(Formula::Laplace { epsilon, c }) => {
                let along = LaplaceLine::new(*epsilon, *c);
                arguments.iter().map(|&y| along.deviation(y, turn(y * epsilon))).unzip()
            }
            Tilted::Laplace(Formula::Gathered(gathered)) => {
                arguments.iter().map(|&y| gathered.transform(y, 1, Fineness::Full)).map(last).unzip()
            }
            Tilted::Points(points) => {
                let size: f64 = points.losses.iter().zip(&points.weights).map(|(l, w)| w * l.abs()).sum();
                let worst = f64::from(points.roundings.iter().copied().fold(0.0f32, f32::max));
                let relative = UNIT * (16.0 + worst + points.losses.len() as f64) + points.weight_error;
                // As a plain sum is rounded anywhere: a loss known to an ulp turns its phase by y·|loss| ulp.
                let error =
                    |y: f64| points.quadrature + (y * size).min(2.0) * relative + 8.0 * UNIT * y * size;
                arguments.iter().map(|&y| (points.deviation(y), error(y))).unzip()
            }
        }
    }

    /// 1 − |φ(y)|², to within 1e-7 for arguments that turn no loss by more than 10^8.
    pub(super) fn shortfall(&self, y: f64) -> f64 {
        let deviation = match self {
            Tilted::Points(points) => points.deviation(y),
            Tilted::Laplace(Formula::Laplace { epsilon, c }) => {
                LaplaceLine::new(*epsilon, *c).deviation(y, turn(y * epsilon)).0
            }
            Tilted::Laplace(Formula::Gathered(_)) => return 0.0,
        };
        (-2.0 * deviation.re - deviation.norm_sqr()).clamp(0.0, 1.0)
    }

    /// The mean difference of two independent losses, at most: how steeply the shortfall can rise or fall.
    ///
    /// # Promise  For a loss between a and b with distribution function F, E|L − L′| = 2∫F(1 − F) ≤ (b − a)/2, and a Laplace
    /// loss lies between −ε and ε
    pub(super) fn steepness(&self) -> f64 {
        match self {
            Tilted::Laplace(Formula::Laplace { epsilon, .. }) => *epsilon,
            Tilted::Laplace(Formula::Gathered(_)) => f64::INFINITY,
            Tilted::Points(points) => {
                let pairs = points.losses.iter().zip(&points.weights);
                let apart = |(loss, weight): (&f64, &f64)| {
                    let others = pairs.clone().map(|(l, w)| w * (l - loss).abs());
                    weight * others.sum::<f64>()
                };
                pairs.clone().map(apart).sum()
            }
        }
    }
}

fn last((values, errors): (Vec<Complex64>, Vec<f64>)) -> (Complex64, f64) {
    (values[values.len() - 1], errors[errors.len() - 1])
}

/// e^{ix} − 1, to a few ulp of itself.
fn turn(x: f64) -> Complex64 {
    let (sin, cos) = (0.5 * x).sin_cos();
    Complex64::new(-2.0 * sin * sin, 2.0 * sin * cos)
}

/// (c+1) + c e^{−(2c+1)ε} and its two derivatives in c after the factor e^{cε} is taken out of the moment function.
fn laplace_cumulants(epsilon: f64, c: f64) -> [f64; 3] {
    let decay = (-(2.0 * c + 1.0) * epsilon).exp();
    let d = 2.0 * c + 1.0;
    let n = (c + 1.0) + c * decay;
    let n1 = (1.0 + (c + 1.0) * epsilon) + decay * (1.0 - c * epsilon);
    let n2 = epsilon * (2.0 + (c + 1.0) * epsilon) + decay * epsilon * (c * epsilon - 2.0);
    let (k, _) = laplace_log_mgf(epsilon, c);
    if (c + 1.0) * epsilon < 1e-3 {
        return [k, 0.5 * epsilon * epsilon * d, epsilon * epsilon];
    }
    let ratio = n1 / n;
    [k, ratio - 2.0 / d, (n2 / n - ratio * ratio + 4.0 / (d * d)).max(1e-3 * epsilon * epsilon * decay)]
}

/// e^{K(z)} − 1 = ((z+1)(e^{zε} − 1) + z(e^{−(z+1)ε} − 1))/(2z+1), here for real z = c.
///
/// # Numerics  The two terms cancel to first order in ε; what is left is bounded absolutely
fn laplace_log_mgf(epsilon: f64, c: f64) -> (f64, f64) {
    if c * epsilon > 1.0 {
        let k = c * epsilon + (((c + 1.0) + c * (-(2.0 * c + 1.0) * epsilon).exp()) / (2.0 * c + 1.0)).ln();
        return (k, 16.0 * UNIT * (1.0 + c * epsilon));
    }
    let first = (c + 1.0) * (c * epsilon).exp_m1();
    let second = c * (-(c + 1.0) * epsilon).exp_m1();
    let excess = (first + second) / (2.0 * c + 1.0);
    let error = 8.0 * UNIT * (first.abs() + second.abs()) / (2.0 * c + 1.0);
    (excess.ln_1p(), error + 4.0 * UNIT * excess.abs())
}

/// e^{ikx} − 1 for k = 0 … count. Each is the product of its neighbour with e^{ix}, which keeps relative accuracy in
/// this form; every 64th is computed anew.
pub(super) fn turns(x: f64, count: usize) -> impl Iterator<Item = Complex64> {
    let once = turn(x);
    let mut current = Complex64::new(0.0, 0.0);
    (0..=count).map(move |k| {
        current = if k % 64 == 0 { turn(k as f64 * x) } else { current + once + current * once };
        current
    })
}

/// What does not change along the contour of a Laplace distribution.
struct LaplaceLine {
    c: f64,
    /// e^{cε} − 1 and e^{−(c+1)ε} − 1.
    up: f64,
    down: f64,
    /// e^{K(c)} − 1, and the error of K(c).
    base: f64,
    base_error: f64,
    epsilon: f64,
}

impl LaplaceLine {
    fn new(epsilon: f64, c: f64) -> Self {
        let (k, base_error) = laplace_log_mgf(epsilon, c);
        let (up, down) = ((c * epsilon).exp_m1(), (-(c + 1.0) * epsilon).exp_m1());
        LaplaceLine { c, up, down, base: k.exp_m1(), base_error, epsilon }
    }

    /// φ(y) − 1 and a bound on its error, where `turn` is e^{iyε} − 1.
    ///
    /// # Numerics  `turn` errs by at most 256 ulp of itself and y·ε ulp
    fn deviation(&self, y: f64, turn: Complex64) -> (Complex64, f64) {
        let z = Complex64::new(self.c, y);
        let ulps = UNIT * (300.0 + 4.0 * y * self.epsilon);
        if self.c * self.epsilon > 1.0 {
            let decay = (-(2.0 * self.c + 1.0) * self.epsilon).exp();
            let (forth, back) = (turn + 1.0, turn.conj() + 1.0);
            let here = ((z + 1.0) * forth + z * decay * back) / (2.0 * z + 1.0);
            let start = ((self.c + 1.0) + self.c * decay) / (2.0 * self.c + 1.0);
            return (here / start - 1.0, ulps);
        }
        let first = (z + 1.0) * (self.up * (turn + 1.0) + turn);
        let second = z * (self.down * (turn.conj() + 1.0) + turn.conj());
        let excess = (first + second) / (2.0 * z + 1.0);
        let rounding = (first.modulus() + second.modulus()) / (2.0 * z + 1.0).modulus();
        let deviation = (excess - self.base) / (1.0 + self.base);
        (deviation, ulps * rounding + self.base_error + 8.0 * UNIT * deviation.modulus())
    }
}

/// |(z+1)/(2z+1)| falls and |z/(2z+1)| stays below ½ along the contour.
fn laplace_envelope(epsilon: f64, c: f64, y: f64) -> f64 {
    let decay = (-(2.0 * c + 1.0) * epsilon).exp();
    let z = Complex64::new(c, y);
    let falling = ((z + 1.0) / (2.0 * z + 1.0)).modulus();
    let least = ((c + 1.0) + c * decay) / (2.0 * c + 1.0);
    ((falling + 0.5 * decay) / least * (1.0 + 1e-13)).min(1.0)
}

fn atoms_cumulants(atoms: &[Atom], defect: f64, c: f64) -> [f64; 3] {
    // Where e^{K(c)} is near one, one exponential of each atom tells all of it.
    let (mut mass, mut first, mut second, mut excess) = (0.0, 0.0, 0.0, c * defect);
    for atom in atoms {
        let growth = (c * atom.loss).exp_m1();
        let weight = atom.mass * (growth + 1.0);
        mass += weight;
        first += weight * atom.loss;
        second += weight * atom.loss * atom.loss;
        excess += atom.mass * (growth - c * atom.fall);
    }
    // A sum that is no number, of a mass below all floats and a growth above them, is not in the range.
    if (0.61..1.64).contains(&mass) && excess > -0.9 {
        return moments(excess.ln_1p(), [mass, first, second]);
    }
    let top = atoms.iter().map(|a| a.log_mass + c * a.loss).fold(f64::NEG_INFINITY, f64::max);
    let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
    for atom in atoms {
        let weight = (atom.log_mass + c * atom.loss - top).exp();
        mass += weight;
        first += weight * atom.loss;
        second += weight * atom.loss * atom.loss;
    }
    moments(top + mass.ln(), [mass, first, second])
}

/// K(c) with the mean and the variance of weights, from their sums.
fn moments(k: f64, [mass, first, second]: [f64; 3]) -> [f64; 3] {
    let mean = first / mass;
    [k, mean, (second / mass - mean * mean).max(0.0)]
}

/// P(e^{cL} − 1 − c(1 − e^{−L})) of one atom: E_P[1 − e^{−L}] is known, zero as a rule, so the sum over atoms gives
/// e^{K(c)} − 1, and each term is of second order in the loss. Also the size of what cancels.
fn atom_excess(atom: &Atom, c: f64) -> (f64, f64) {
    let growth = (c * atom.loss).exp_m1();
    let linear = c * atom.fall;
    (atom.mass * (growth - linear), atom.mass * (growth.abs() + linear.abs()))
}

fn atoms_tilted(atoms: &[Atom], defect: f64, c: f64) -> Option<Points> {
    let top = atoms.iter().map(|a| a.log_mass + c * a.loss).fold(f64::NEG_INFINITY, f64::max);
    let mut points = Points::default();
    let (mut excess, mut rounding, mut mass) = (c * defect, (c * defect).abs(), 0.0);
    for atom in atoms {
        let (term, size) = atom_excess(atom, c);
        excess += term;
        rounding += size;
        let weight = (atom.log_mass + c * atom.loss - top).exp();
        mass += weight;
        points.losses.push(atom.loss);
        points.weights.push(weight);
        points.roundings.push((12.0 + 4.0 * (atom.log_mass.abs() + (c * atom.loss).abs())) as f32);
    }
    let many = atoms.len() as f64;
    let magnitude = top.abs() + atoms.iter().map(|a| a.log_mass.abs()).fold(0.0, f64::max).min(800.0);
    if excess.is_finite() && excess.abs() < 1.0 {
        points.log_mgf = excess.ln_1p();
        points.log_mgf_error = UNIT * (8.0 * rounding + (64.0 + magnitude + many) * excess.abs()) * 4.0;
    } else {
        points.log_mgf = top + mass.ln();
        points.log_mgf_error = UNIT * (64.0 + 4.0 * magnitude + many);
    }
    for weight in &mut points.weights {
        *weight /= mass;
    }
    points.weight_error = UNIT * (64.0 + many);
    points.log_mgf.is_finite().then_some(points)
}
