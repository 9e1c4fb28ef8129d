//! Transforms of one use: as closed forms, or as sums over nodes whose weights are tilted to the abscissa c.
//!
//! E_P[e^{zL}] is ∫ φ(t) e^{a(t) + z l(t)} dt for noise φ, where a is log dP/dφ: the trapezoid sum in t converges faster
//! than any power. How far it may be off, `envelope` says.

use super::complex::Cdd;
use super::double_double::{DD_UNIT, Dd};
use super::envelope::Strip;
use super::law::{Situation, Use};
use super::normal_tail::{log_density, log_tail};

/// Nodes with weights e^{log weight}, as they are at the abscissa c.
pub struct Nodes {
    /// Loss and weight of each, the weights summing to about 1.
    points: Vec<(Dd, Dd)>,
    /// What the weights were divided by, as a logarithm.
    log_scale: Dd,
    /// Of nodes that are a trapezoid sum: what bounds its error.
    strip: Option<Strip>,
}

/// A transform with a formula.
pub enum Closed {
    /// K(z) = μ² z(z+1)/2.
    Gaussian(Dd),
    /// e^{K(z)} = ((z+1)e^{zε} + z e^{−(z+1)ε})/(2z+1).
    Laplace(Dd),
}

/// The formula of a use, where there is one.
pub fn closed(once: &Use) -> Option<Closed> {
    match once {
        Use::Gaussian { mu } => Some(Closed::Gaussian(*mu * *mu)),
        Use::Laplace { shift } => Some(Closed::Laplace(*shift)),
        Use::Atoms(_) | Use::Lattice { .. } | Use::SampledGaussian { .. } | Use::SampledLaplace { .. } => {
            None
        }
    }
}

impl Closed {
    /// K(z).
    pub fn at(&self, z: Cdd) -> Cdd {
        match self {
            Closed::Gaussian(square) => (z * (z + Cdd::ONE)).times(square.scaled(-1)),
            Closed::Laplace(shift) => {
                // e^{zε} is taken out, so that nothing overflows.
                let first = z + Cdd::ONE;
                let double = z.times(Dd::new(2.0)) + Cdd::ONE;
                let second = z * (double.times(-*shift)).exp();
                ((first + second) / double).ln() + z.times(*shift)
            }
        }
    }
}

impl Closed {
    /// K(c) in floats.
    fn on_the_axis(&self, c: f64) -> f64 {
        match self {
            Closed::Gaussian(square) => 0.5 * square.hi * c * (c + 1.0),
            Closed::Laplace(shift) => {
                let (up, down) = ((c * shift.hi).exp_m1(), (-(c + 1.0) * shift.hi).exp_m1());
                if c * shift.hi < 1.0 {
                    return (((c + 1.0) * up + c * down) / (2.0 * c + 1.0)).ln_1p();
                }
                let rest = c * (-(2.0 * c + 1.0) * shift.hi).exp();
                c * shift.hi + ((c + 1.0 + rest) / (2.0 * c + 1.0)).ln()
            }
        }
    }

    /// What Re K does not exceed from z on upwards: outcomes that are points come back into step, densities do not.
    pub fn envelope(&self, z: Cdd) -> f64 {
        match self {
            Closed::Gaussian(_) => self.at(z).re.hi,
            Closed::Laplace(shift) => {
                let double = (z.times(Dd::new(2.0)) + Cdd::ONE).size();
                let falling = (z + Cdd::ONE).size() / double;
                let other = 0.5 * (-(2.0 * z.re.hi + 1.0) * shift.hi).exp();
                z.re.hi * shift.hi + (falling + other).ln()
            }
        }
    }
}

/// K(c) for real c, in floats of about 12 digits; none where it overflows. What lies beyond `cap` is left out.
pub fn cumulant(once: &Use, c: f64, cap: f64) -> Option<f64> {
    if let Some(closed) = closed(once) {
        return Some(closed.on_the_axis(c));
    }
    match once {
        Use::SampledGaussian { rate, mu, situation } => {
            let noise = Noise { rate: rate.hi, mu: mu.hi, situation: *situation };
            let (low, high) = noise.span(c, cap)?;
            let count = noise.count(low, high, 1.0).min(3000);
            let step = (high - low) / count as f64;
            let mut total = 0.0;
            for k in 0..=count {
                let t = low + step * k as f64;
                // φ e^a (e^{c l} − 1): the mass itself is 1.
                let (a, l) = noise.density_and_loss(t);
                let base = -0.5 * t * t + a;
                let grown = if c * l < 1.0 {
                    base.exp() * (c * l).exp_m1()
                } else {
                    (base + c * l).exp() - base.exp()
                };
                total += grown;
            }
            let excess = total * step / (2.0 * std::f64::consts::PI).sqrt();
            (excess > -1.0 && excess.is_finite()).then(|| excess.ln_1p())
        }
        Use::SampledLaplace { rate, shift, situation } => {
            Some(sampled_laplace_cumulant(rate.hi, shift.hi, *situation, c))
        }
        Use::Atoms(_) | Use::Lattice { .. } | Use::Gaussian { .. } | Use::Laplace { .. } => {
            let nodes = of(once, c, 1.0, f64::INFINITY)?;
            Some(nodes.log_scale.hi + nodes.points.iter().map(|(_, weight)| weight.hi).sum::<f64>().ln())
        }
    }
}

/// Beyond where the outcomes of a use are left out when it is tilted to c.
pub fn cap(once: &Use, c: f64) -> f64 {
    match once {
        Use::SampledGaussian { rate, mu, situation } => {
            Noise { rate: rate.hi, mu: mu.hi, situation: *situation }.valley(c)
        }
        Use::Atoms(_)
        | Use::Lattice { .. }
        | Use::Gaussian { .. }
        | Use::Laplace { .. }
        | Use::SampledLaplace { .. } => f64::INFINITY,
    }
}

/// log of the chance of what is left out beyond `cap`.
pub fn log_left_out(once: &Use, cap: f64) -> f64 {
    match once {
        Use::SampledGaussian { rate, mu, situation } if cap.is_finite() => {
            let plain = log_tail(Dd::new(cap));
            match situation {
                Situation::Add => plain.hi,
                Situation::Remove | Situation::Replace => {
                    let moved = rate.ln() + log_tail(Dd::new(cap) - *mu);
                    plain.max(moved).hi + std::f64::consts::LN_2
                }
            }
        }
        _ => f64::NEG_INFINITY,
    }
}

/// The nodes of a use tilted to c; none where they are too many.
pub fn of(once: &Use, c: f64, fineness: f64, cap: f64) -> Option<Nodes> {
    match once {
        Use::Atoms(_) | Use::Lattice { .. } => {
            let atoms = once.atoms()?;
            let points = atoms.iter().map(|atom| (atom.loss, atom.log_mass + Dd::new(c) * atom.loss));
            Some(Nodes::scaled(points.collect(), |_| None))
        }
        Use::SampledGaussian { rate, mu, situation } => {
            let noise = Noise { rate: rate.hi, mu: mu.hi, situation: *situation };
            let span = noise.span(c, cap)?;
            let (nodes, step) = sampled_nodes((*rate, *mu, *situation), c, fineness, span)?;
            let points = nodes.iter().map(|node| (node.loss, node.log_weight)).collect();
            let strip = |weights| Strip::new((rate.hi, mu.hi, *situation), c, (span.0, step), weights);
            Some(Nodes::scaled(points, |weights| Some(strip(weights))))
        }
        Use::Gaussian { .. } | Use::Laplace { .. } | Use::SampledLaplace { .. } => None,
    }
}

impl Nodes {
    /// From losses and log weights; `strip` is made from the scaled weights.
    fn scaled(points: Vec<(Dd, Dd)>, strip: impl Fn(Vec<f64>) -> Option<Strip>) -> Nodes {
        let log_scale = points.iter().fold(Dd::NEG_INFINITY, |most, point| most.max(point.1));
        let weigh = |(loss, log): &(Dd, Dd)| (*loss, (*log - log_scale).exp());
        let points: Vec<(Dd, Dd)> = points.iter().map(weigh).collect();
        let strip = strip(points.iter().map(|(_, weight)| weight.hi).collect());
        Nodes { points: points.into_iter().filter(|(_, weight)| weight.hi > 0.0).collect(), log_scale, strip }
    }

    /// Ready to walk up the line in steps of h.
    pub fn turning(self, h: Dd) -> Turning {
        let turns = self.points.iter().map(|(loss, _)| Cdd::turn(*loss * h)).collect();
        let states = self.points.iter().map(|(_, weight)| Cdd::new(*weight, Dd::ZERO)).collect();
        let total = self.points.iter().map(|(_, weight)| weight.hi).sum();
        let (log_scale, strip) = (self.log_scale, self.strip);
        Turning { turns, states, log_scale, strip, total, h: h.hi, steps: 0.0, start: 0.0 }
    }
}

/// Nodes on their way up the line.
pub struct Turning {
    turns: Vec<Cdd>,
    states: Vec<Cdd>,
    log_scale: Dd,
    strip: Option<Strip>,
    /// The sum of all weights.
    total: f64,
    h: f64,
    steps: f64,
    /// K(c), which outcomes that are points may come back to.
    start: f64,
}

impl Turning {
    /// Products per point.
    pub fn work(&self) -> f64 {
        self.turns.len() as f64
    }

    /// K here and a bound on its error; then moves on.
    pub fn next(&mut self) -> (Cdd, f64) {
        let mut sum = Cdd::ZERO;
        for (state, turn) in self.states.iter_mut().zip(&self.turns) {
            sum = sum + *state;
            *state = *state * *turn;
        }
        let spread = self.total / sum.size().max(1e-300);
        // Parts of a complex number add up to at most √2 of its size.
        let mut relative = DD_UNIT * (16.0 + 4.0 * self.steps) * 1.5 * spread + 64.0 * DD_UNIT;
        if let Some(strip) = &mut self.strip {
            relative += strip.aliases(self.h * self.steps) * spread;
        }
        let k = sum.ln() + Cdd::new(self.log_scale, Dd::ZERO);
        if self.steps == 0.0 {
            self.start = k.re.hi;
        }
        self.steps += 1.0;
        (k, relative)
    }

    /// What Re K does not exceed from height y on; `times` uses follow one another.
    pub fn ceiling(&mut self, y: f64, times: f64) -> f64 {
        self.start + self.strip.as_mut().map_or(0.0, |strip| strip.log_ceiling(y, times))
    }
}

/// The sampled Gaussian in floats, to see where its mass is.
struct Noise {
    rate: f64,
    mu: f64,
    situation: Situation,
}

impl Noise {
    fn log_ratio(&self, w: f64) -> f64 {
        if w > 600.0 { w + self.rate.ln() } else { (self.rate * w.exp_m1()).ln_1p() }
    }

    /// (log dP/dφ, loss) at t. Noise of an added record is mirrored, so that losses rise with t in every situation.
    fn density_and_loss(&self, t: f64) -> (f64, f64) {
        let log_ratio = |t: f64| self.log_ratio(self.mu * t - 0.5 * self.mu * self.mu);
        match self.situation {
            Situation::Remove => (log_ratio(t), log_ratio(t)),
            Situation::Add => (0.0, -log_ratio(-t)),
            Situation::Replace => (log_ratio(t), log_ratio(t) - log_ratio(-t)),
        }
    }

    /// log of φ e^{a + cl}, but for a constant.
    fn height(&self, c: f64, t: f64) -> f64 {
        let (a, l) = self.density_and_loss(t);
        a + c * l - 0.5 * t * t
    }

    /// Points from far left to where no mass of the tilted law can be beyond.
    fn grid(&self, c: f64) -> Vec<f64> {
        let mut grid: Vec<f64> = (-250..=250).map(|k| 0.25 * f64::from(k)).collect();
        let far = 62.5 + self.mu * (2.0 + c);
        let mut t: f64 = 62.5;
        while t < far && t < 1e6 {
            t += 0.25 + 0.004 * (t - 62.5);
            grid.push(t);
        }
        grid
    }

    /// Where outcomes may be left out, so that the tilt does not blow up what never happens: the deepest point between the
    /// first hump and a higher one far out. Infinite where the first hump is the highest.
    fn valley(&self, c: f64) -> f64 {
        let grid = self.grid(c);
        let (mut hump, mut least) = (f64::NEG_INFINITY, (f64::INFINITY, f64::INFINITY));
        for t in grid.into_iter().filter(|t| *t >= 0.0) {
            let here = self.height(c, t);
            if least.0 < hump - 60.0 && here > hump {
                return least.1;
            }
            if here > hump {
                (hump, least) = (here, (f64::INFINITY, f64::INFINITY));
            } else if here < least.0 {
                least = (here, t);
            }
        }
        f64::INFINITY
    }

    /// Where φ e^{a + cl} is within 80 nats of its peak, up to `cap`.
    fn span(&self, c: f64, cap: f64) -> Option<(f64, f64)> {
        let grid: Vec<f64> = self.grid(c).into_iter().filter(|t| *t <= cap).collect();
        let top = grid.iter().map(|&t| self.height(c, t)).fold(f64::NEG_INFINITY, f64::max);
        let kept = |t: &&f64| self.height(c, **t) > top - 80.0;
        let (first, last) = (grid.iter().find(kept)?, grid.iter().rev().find(kept)?);
        let high = (last + 0.5 + 0.01 * last.abs()).min(cap);
        (top.is_finite() && *last < 9e5 && high > first - 0.5).then_some((first - 0.5, high))
    }

    /// How many steps the span takes: singularities lie π/μ from the real axis, and φ needs four steps per unit.
    fn count(&self, low: f64, high: f64, fineness: f64) -> usize {
        let step = fineness * (0.22f64).min(0.11 / self.mu);
        ((high - low) / step).ceil() as usize
    }
}

/// A node tilted to c: its loss, log weight, and the log of the chance that the record was absent from the batch, given
/// this outcome of the first dataset.
struct Node {
    loss: Dd,
    log_weight: Dd,
    log_absent: Dd,
}

/// Trapezoid nodes between two ends, and their step; none where they are too many.
fn sampled_nodes(
    (rate, mu, situation): (Dd, Dd, Situation),
    c: f64,
    fineness: f64,
    (low, high): (f64, f64),
) -> Option<(Vec<Node>, f64)> {
    let noise = Noise { rate: rate.hi, mu: mu.hi, situation };
    let count = noise.count(low, high, fineness);
    if count > 40_000 {
        return None;
    }
    let step = Dd::new((high - low) / count as f64);
    let log_step = step.ln();
    let half = (mu * mu).scaled(-1);
    let log_never = (-rate).ln_1p();
    let log_ratio = |w: Dd| if w.hi > 600.0 { w + rate.ln() } else { (rate * w.expm1()).ln_1p() };
    let node = |k: usize| {
        let t = Dd::new(low) + step * Dd::whole(k as u64);
        let mirrored = || log_ratio(-mu * t - half);
        let (a, loss) = match situation {
            Situation::Add => (Dd::ZERO, -mirrored()),
            Situation::Remove | Situation::Replace => {
                let here = log_ratio(mu * t - half);
                (here, if situation == Situation::Remove { here } else { here - mirrored() })
            }
        };
        let log_weight = log_density(t) + log_step + a + Dd::new(c) * loss;
        Node { loss, log_weight, log_absent: log_never - a }
    };
    Some(((0..=count).map(node).collect(), step.hi))
}

/// Nodes of a Gaussian on a Poisson batch, each split into the record absent and present.
pub struct Labelled {
    /// Loss, weight where the record is absent, and where it is present.
    pub points: Vec<(Dd, Dd, Dd)>,
    /// What the weights were divided by, as a logarithm.
    pub log_scale: Dd,
    /// What bounds the sum's error.
    pub strip: Strip,
}

/// The split nodes of a use tilted to c; none for other uses, or where they are too many.
pub fn labelled(once: &Use, c: f64, fineness: f64) -> Option<Labelled> {
    let Use::SampledGaussian { rate, mu, situation } = once else { return None };
    let noise = Noise { rate: rate.hi, mu: mu.hi, situation: *situation };
    let span = noise.span(c, f64::INFINITY)?;
    let (nodes, step) = sampled_nodes((*rate, *mu, *situation), c, fineness, span)?;
    let log_scale = nodes.iter().fold(Dd::NEG_INFINITY, |most, node| most.max(node.log_weight));
    let weights = nodes.iter().map(|node| (node.log_weight - log_scale).exp().hi).collect();
    let split = |node: &Node| {
        let log = node.log_weight - log_scale;
        (node.loss, (log + node.log_absent).exp(), log.exp() * -node.log_absent.expm1())
    };
    let points = nodes.iter().map(split).collect();
    let strip = Strip::new((rate.hi, mu.hi, *situation), c, (span.0, step), weights);
    Some(Labelled { points, log_scale, strip })
}

/// log of E[e^{cL}; the record is absent] in floats; none for other uses, or where it overflows.
pub fn absent_cumulant(once: &Use, c: f64) -> Option<f64> {
    let Use::SampledGaussian { rate, mu, situation } = once else { return None };
    let noise = Noise { rate: rate.hi, mu: mu.hi, situation: *situation };
    let grown = |t: f64| {
        let loss = noise.density_and_loss(t).1;
        let base = -0.5 * t * t;
        if c * loss < 1.0 { base.exp() * (c * loss).exp_m1() } else { (base + c * loss).exp() - base.exp() }
    };
    let far = 40.0 + noise.mu * (2.0 + c);
    let count = noise.count(-40.0, far, 1.0);
    if count > 200_000 {
        return None;
    }
    let step = (far + 40.0) / count as f64;
    let sum: f64 = (0..=count).map(|k| grown(-40.0 + step * k as f64)).sum();
    let excess = sum * step / (2.0 * std::f64::consts::PI).sqrt();
    (excess > -1.0 && excess.is_finite()).then(|| (-noise.rate).ln_1p() + excess.ln_1p())
}

/// K(c) of a Laplace mechanism on a Poisson batch, in floats: two outcomes, and Simpson's rule between them.
fn sampled_laplace_cumulant(rate: f64, shift: f64, situation: Situation, c: f64) -> f64 {
    // Under the dataset without the record the noise is centred at 0; x of the other is its distance from `shift`.
    let ratio = |loss: f64| (rate * loss.exp_m1()).ln_1p();
    let term = |loss: f64| match situation {
        Situation::Add => (-c * ratio(loss)).exp_m1(),
        Situation::Remove | Situation::Replace => ((1.0 + c) * ratio(loss)).exp_m1(),
    };
    let mut sum = 0.5 * term(-shift) + 0.5 * (-shift).exp() * term(shift);
    let panels = 4000;
    let step = shift / f64::from(panels);
    for k in 0..=panels {
        let x = f64::from(k) * step;
        let weight = if k == 0 || k == panels { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
        sum += weight * step / 3.0 * 0.5 * (-x).exp() * term(2.0 * x - shift);
    }
    sum.ln_1p()
}
