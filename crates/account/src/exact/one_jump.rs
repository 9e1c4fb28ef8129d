//! One large loss, counted apart from the rest, where large losses are rare but the moderate ones matter too.
//!
//! When a single outcome of tiny probability can carry the loss past ε, no tilt makes it likely without making far larger
//! losses likelier still. Cut the distribution of a step into A with moderate and B with large losses, so that two of B hardly
//! ever occur: δ = δ_A(ε) + T ∫ G(ε − l) dB(l) + what two or more of B can add, with δ_A the profile of T uses of A and G that
//! of T − 1. The integral is taken cell by cell: G is convex in e^u, so its value at a cell's mean and its chord bound it from
//! both sides, and the masses of cells under both datasets are known in closed form.
//!
//! It is the last scheme, since it is slow and seldom needed. Measured without it: of 764 golden ε, four are wider (rates of
//! 1e-5 and 1e-6, 10^7 steps, δ ≤ 1e-12), the worst 0.2 of itself instead of 2e-7, and of 1000 corner questions three are, one of
//! which keeps no digit instead of three.

use super::composed::{Composed, Saddle};
use super::contour::{Contour, Value};
use super::distribution::Distribution;
use super::placement::Scheme;
use super::sampled::SampledGaussian;
use veracity_core::numerics::UNIT;

/// Cells across the stretch on which G is curved.
const CELLS: usize = 3000;
/// How many standard deviations of the moderate losses that stretch reaches above their mean, and below it, where G is close
/// to 1 and a tilted line loses digits.
const REACH: f64 = 11.0;
const REACH_BELOW: f64 = 7.5;
/// The most nodes of the line that is asked at every cell.
const MOST_NODES: usize = 400;
/// The relative error of the mass of a cell.
const MASS_ERROR: f64 = 1e-12;

/// A composition with its one distribution of sampled steps cut in two.
#[derive(Debug)]
pub(super) struct OneJump {
    /// T uses of the moderate distribution; where it cannot reach ε, its Chernoff bound as (abscissa, logarithm at ε = 0).
    none: Rest,
    /// T − 1 uses of it, and Chernoff bounds on their profile as (abscissa, logarithm at 0), where the line drowns.
    others: Contour,
    bounds: Vec<(f64, f64)>,
    times: f64,
    /// About how steeply log δ falls.
    fall: f64,
    cells: Vec<Cell>,
    /// Masses beyond the last cell under both datasets, and what T − 1 moderate losses keep of them.
    beyond: (f64, f64),
    kept: (f64, f64),
    /// d > 1 and the logarithm of what G lacks to a straight line below the cells, at u = 0: it falls like e^{du}.
    bend: (f64, f64),
    /// What two or more large losses add at most.
    left_out: f64,
    /// The probability, under the second dataset, of moderate losses too negative for that bound.
    lost: f64,
}

/// What happens without a large loss.
#[derive(Debug)]
enum Rest {
    Line(Contour),
    Chernoff(f64, f64),
}

/// A stretch of large losses: e^{−l} at its ends, and its mass under both datasets.
#[derive(Debug)]
struct Cell {
    loss: f64,
    inverse: f64,
    mass: f64,
    inverse_mass: f64,
}

impl OneJump {
    /// Draws the lines for ε near the saddle's. None where there is no such distribution, or nothing to gain.
    pub(super) fn draw(composed: &Composed, saddle: &Saddle, worth: f64) -> Option<OneJump> {
        let (place, step, times) = only_sampled(composed)?;
        let delta = saddle.log_delta.exp();
        let allowed = 1e-9 * worth.min(1.0) * delta;
        let moderate = step.capped((2.0 * allowed).sqrt() / times);
        let expected = times * moderate.left_out();
        let epsilon = saddle.epsilon;
        let with = |times: f64| {
            let mut parts = composed.parts.clone();
            parts[place] = (Distribution::Sampled(moderate), times);
            Composed::new(parts, composed.gaussian)
        };
        let none = Rest::draw(&with(times), epsilon, delta, worth)?;
        let fewer = with(times - 1.0);
        let others = aimed(&fewer, &step, epsilon).filter(|(line, _)| line.node_count() <= MOST_NODES)?;
        let (mean, spread) = others.1;
        let kept = kept(&fewer)?;
        let aim = others.0.abscissa();
        let bounds = [1.0, 2.5, 6.0, 15.0].map(|more| (aim * more, fewer.chernoff(aim * more)));
        let mut one = OneJump {
            none,
            others: others.0,
            bounds: bounds.into_iter().filter_map(|(c, log)| Some((c, log?))).collect(),
            fall: step.fall_at(epsilon),
            times,
            cells: Vec::new(),
            beyond: (0.0, 0.0),
            kept,
            bend: bend(&fewer, mean - REACH_BELOW * spread),
            left_out: 0.51 * expected * expected,
            lost: expected,
        };
        one.cut(&step, moderate.cap, epsilon, (mean, spread));
        Some(one)
    }

    /// Cells from the cut to where G is a straight line, and the masses beyond.
    fn cut(&mut self, step: &SampledGaussian, cut: f64, epsilon: f64, (mean, spread): (f64, f64)) {
        let low = step.loss(cut);
        let high = (epsilon - mean + REACH_BELOW * spread).max(low);
        let start = (epsilon - mean - REACH * spread).max(low);
        let mut ends: Vec<f64> = Vec::with_capacity(CELLS + 64);
        // Below the curved stretch G is next to nothing, and a few cells bound it.
        if start > low {
            let cells = 32;
            ends.extend((0..cells).map(|i| low + (start - low) * f64::from(i) / f64::from(cells)));
        }
        ends.extend((0..=CELLS).map(|i| start + (high - start) * i as f64 / CELLS as f64));
        let places: Vec<f64> = ends.iter().map(|&loss| step.place_of(loss).max(cut)).collect();
        for (pair, &from) in places.windows(2).zip(&places) {
            let (mass, inverse_mass) = step.masses(pair[0], pair[1]);
            let loss = step.loss(from);
            self.cells.push(Cell { loss, inverse: (-loss).exp(), mass, inverse_mass });
        }
        let last = places.last().copied().unwrap_or(cut);
        let loss = step.loss(last);
        self.cells.push(Cell { loss, inverse: (-loss).exp(), mass: 0.0, inverse_mass: 0.0 });
        self.beyond = step.masses(last, f64::INFINITY);
    }

    /// δ at ε, from both sides.
    ///
    /// # Promise  lower ≤ δ(ε) ≤ upper
    pub(super) fn value_at(&self, epsilon: f64) -> Value {
        let none = self.none.value_at(epsilon);
        let (mut lower, mut upper) = (0.0, 0.0);
        let mut from = self.cells.first().map(|cell| self.most_at(epsilon - cell.loss));
        for pair in self.cells.windows(2) {
            let (cell, next) = (&pair[0], &pair[1]);
            let to = self.most_at(epsilon - next.loss);
            let Some(at) = from.replace(to) else { break };
            if !(cell.mass > 0.0) {
                continue;
            }
            // Rounding may push the mean out of the cell; either end is then as good.
            let mean = (cell.inverse_mass / cell.mass).clamp(next.inverse, cell.inverse);
            let share = (cell.inverse - mean) / (cell.inverse - next.inverse).max(f64::MIN_POSITIVE);
            // What lies right of the mean in w has the larger payoff.
            let tilted = (share + MASS_ERROR / (1.0 - next.inverse / cell.inverse).max(1e-15)).min(1.0);
            upper += cell.mass * (at + (to - at).max(0.0) * tilted);
            lower += cell.mass * self.others.value_at(epsilon + mean.ln() + 4.0 * MASS_ERROR).lower;
        }
        let growth = epsilon.exp();
        let straight = self.kept.0 * self.beyond.0 - growth * self.kept.1 * self.beyond.1;
        let rounding = MASS_ERROR * (self.beyond.0 + growth * self.beyond.1);
        let last = self.cells.last().map_or(0.0, |cell| cell.loss);
        let u = epsilon - last;
        let bent = ((self.bend.1 + self.bend.0 * u).exp() + u.exp() * self.lost).min(1.0) * self.beyond.0;
        lower += (straight - rounding).max(0.0);
        upper += (straight + rounding + bent).clamp(0.0, self.beyond.0);
        let (lower, upper) =
            (self.times * lower * (1.0 - 1e-11), self.times * upper * (1.0 + 1e-11) + self.left_out);
        let value = Value {
            lower: none.lower + lower,
            middle: none.middle + 0.5 * (lower + upper),
            upper: none.upper + upper,
            slope: none.slope - self.fall * 0.5 * (lower + upper),
            noise: none.noise + 0.5 * (upper - lower),
        };
        Value { upper: if value.upper.is_nan() { 1.0 } else { value.upper.min(1.0) }, ..value }
    }
}

impl OneJump {
    /// The most that T − 1 moderate losses give at u.
    fn most_at(&self, u: f64) -> f64 {
        let bounds = self.bounds.iter().map(|(c, log)| (log - c * u).exp());
        bounds.fold(self.others.value_at(u).upper, f64::min)
    }
}

impl Rest {
    /// A line, or where the moderate losses hardly reach ε a bound.
    fn draw(composed: &Composed, epsilon: f64, delta: f64, worth: f64) -> Option<Rest> {
        let mut saddle = composed.saddle_for_epsilon(epsilon)?;
        let log = composed.chernoff(saddle.c)?;
        if log - saddle.c * epsilon < (1e-9 * worth.min(1.0) * delta).ln() {
            return Some(Rest::Chernoff(saddle.c, log));
        }
        let mut line = Contour::draw(composed, 0.0, &saddle, worth, Scheme::Quick)?;
        for scheme in [Scheme::Sharp, Scheme::Sharp] {
            let value = line.value_at(epsilon);
            if value.upper - value.lower <= 1e-8 * worth.min(1.0) * delta {
                break;
            }
            // What is small beside δ need not be as sharp as δ.
            saddle.log_delta = value.middle.max(1e-6 * value.upper).max(1e-3 * delta).ln();
            line = Contour::draw(composed, 0.0, &saddle, worth, scheme).unwrap_or(line);
        }
        Some(Rest::Line(line))
    }

    fn value_at(&self, epsilon: f64) -> Value {
        match self {
            Rest::Line(line) => line.value_at(epsilon),
            Rest::Chernoff(c, log) => {
                let upper = (log - c * epsilon).exp();
                Value { lower: 0.0, middle: 0.0, upper, slope: 0.0, noise: upper }
            }
        }
    }
}

/// A line of the moderate losses, tilted as the density of one large loss falls at ε, with their mean and spread there.
fn aimed(fewer: &Composed, step: &SampledGaussian, epsilon: f64) -> Option<(Contour, (f64, f64))> {
    let mut c = step.fall_at(epsilon).max(1e-3);
    let still = fewer.cumulants(1e-6 * c);
    // A tilt under which the moderate losses themselves run away serves nobody.
    for _ in 0..60 {
        let moments = fewer.cumulants(c);
        if moments[2] <= 3.0 * still[2].max(1e-300) && moments[0] < 60.0 {
            break;
        }
        c *= 0.8;
    }
    let moments = fewer.cumulants(c);
    let (height, _) = fewer.height(c, 2.0);
    let epsilon = moments[1];
    let saddle = Saddle { c, epsilon, log_delta: (height - c * epsilon).min(0.0), variance: moments[2] };
    // Far from its own ε the line must keep digits to spare.
    let line = Contour::draw(fewer, 0.0, &saddle, 1e-4, Scheme::Sharp)?;
    Some((line, (epsilon, moments[2].sqrt())))
}

/// The probability that no loss is large, under both datasets.
fn kept(fewer: &Composed) -> Option<(f64, f64)> {
    let mut logs = (0.0, 0.0);
    for (part, times) in &fewer.parts {
        if let Distribution::Sampled(step) = part {
            let (first, second) = step.masses(step.cap, f64::INFINITY);
            logs = (logs.0 + times * (-first).ln_1p(), logs.1 + times * (-second).ln_1p());
        }
    }
    Some((logs.0.exp(), logs.1.exp()))
}

/// d and the logarithm of a bound on E(e^{u−S} − 1)₊ at u = 0 that falls like e^{du}, best near `u`. Losses so negative that
/// their opposites would be large are not in it.
///
/// # Reference  (e^v − 1)₊ ≤ κ e^{dv} with κ = (d − 1)^{d−1}/d^d, for d > 1. For a replaced record −L under the second dataset
/// is L under the first, so E_P[e^{−dL}] = E_P[e^{(d−1)L}]
fn bend(fewer: &Composed, u: f64) -> (f64, f64) {
    let spread = fewer.cumulants(1e-9)[2].sqrt().max(1e-300);
    let mut least = (1.0, 0.0);
    for share in [1.0, 2.0, 3.5, 5.0, 7.0, 10.0] {
        let d = 1.0 + share / spread;
        let mut k = 0.5 * fewer.gaussian * d * (d - 1.0) * (1.0 + 8.0 * UNIT);
        for (part, times) in &fewer.parts {
            let tilted = match part {
                Distribution::Sampled(step) => {
                    part.tilted(if step.is_replaced() { d - 1.0 } else { -d }, 0.0, 0.0)
                }
                Distribution::Laplace { .. } | Distribution::Atoms { .. } => None,
            };
            k += tilted.map_or(f64::INFINITY, |tilted| {
                let (value, error) = tilted.log_mgf();
                times * (value + error)
            });
        }
        let log = k + (d - 1.0) * (d - 1.0).ln() - d * d.ln() + 1e-9;
        if log + d * u < least.1 + least.0 * u {
            least = (d, log);
        }
    }
    least
}

/// The one distribution of sampled steps, used more than once, whose losses have no upper end.
fn only_sampled(composed: &Composed) -> Option<(usize, SampledGaussian, f64)> {
    let mut found = None;
    for (place, (part, times)) in composed.parts.iter().enumerate() {
        match part {
            Distribution::Sampled(step) if found.is_none() && *times >= 2.0 && step.is_unbounded() => {
                found = Some((place, *step, *times));
            }
            Distribution::Sampled(_) | Distribution::Laplace { .. } | Distribution::Atoms { .. } => {
                return None;
            }
        }
    }
    found
}
