//! One direction of one alternative: the composition's losses when the record is in the first dataset, or in the
//! second. Chooses between a closed form and the contour, and turns δ(ε) into ε(δ).

use super::composed::{Composed, Saddle};
use super::descent::Descent;
use super::gaussian;
use super::law::Law;
use super::line::{Line, Lines};
use super::pairs::{self, Order, Pair, once};
use super::placement::Care;
use super::rare;
use super::top::Top;
use crate::expand::{Composition, Part};
use veracity_core::Refusal;
use veracity_numerics::{UNIT, root};

/// A composition of dominating pairs, in one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Direction {
    /// Bounds on the probability that some declared mechanism fails outright, where the loss is infinite.
    infinite: (f64, f64),
    losses: Composed,
    /// All losses together are at most this.
    largest: f64,
    /// Lines drawn for curves: each serves a stretch of ε.
    lines: Lines,
}

/// A relative width of ε that needs no further work.
const NARROW: f64 = 6e-7;

/// Widths of ε and of δ for which rare large losses are not counted apart.
const ENOUGH: f64 = 1e-6;
const ENOUGH_DELTA: f64 = 2e-5;

/// Outcomes of this probability, relative to δ, are left out and added to the upper bound.
const LEFT_OUT: f64 = 1e-9;

impl Direction {
    /// The directions of a composition: two, or one where they are alike.
    pub(super) fn of(composition: &Composition) -> Result<Vec<Direction>, Refusal> {
        let first = Direction::ordered(composition, Order::PresentFirst)?;
        if composition.parts.iter().all(|(part, _)| pairs::is_symmetric(part)) {
            return Ok(vec![first]);
        }
        let second = Direction::ordered(composition, Order::AbsentFirst)?;
        Ok(if first == second { vec![first] } else { vec![first, second] })
    }

    fn ordered(composition: &Composition, order: Order) -> Result<Direction, Refusal> {
        let mut direction = Direction {
            infinite: (0.0, 0.0),
            losses: Composed::default(),
            largest: 0.0,
            lines: Lines::default(),
        };
        let mut log_survive = (0.0, 0.0);
        let mut declared = Vec::new();
        let (mut square, mut largest) = (Sum::default(), Sum::default());
        for (part, times) in &composition.parts {
            let times = times.as_f64();
            match pairs::pair(part, order)? {
                Pair::Gaussian { mu } => {
                    square.add(times * mu * mu);
                    largest.add(f64::INFINITY);
                }
                Pair::Losses { law, infinite, largest: most } => {
                    declared.push((infinite, times));
                    let log = times * (-infinite).ln_1p();
                    log_survive.0 += log * (1.0 + 8.0 * UNIT);
                    log_survive.1 += log * (1.0 - 8.0 * UNIT);
                    largest.add(times * most);
                    direction.losses.laws.push((law, times));
                }
            }
        }
        direction.losses = Composed::new(direction.losses.laws, square.total());
        direction.largest = largest.total();
        declared.retain(|&(infinite, _)| infinite > 0.0);
        let is_declared =
            composition.parts.iter().all(|(part, _)| !matches!(part, Part::PoissonSampled { .. }));
        direction.infinite = match declared.as_slice() {
            // One use fails with just the probability declared; on a batch that is a product, and rounded.
            &[(infinite, 1.0)] if is_declared => (infinite, infinite),
            // Close to 1 the rounding of what is left outweighs that of its logarithm.
            _ => {
                let failed = |log: f64| -log.exp_m1();
                (
                    failed(log_survive.1) * (1.0 - 4.0 * UNIT),
                    (failed(log_survive.0) * (1.0 + 4.0 * UNIT)).min(1.0),
                )
            }
        };
        Ok(direction)
    }

    /// δ(ε) from both sides.
    pub(super) fn delta_at(&self, epsilon: f64) -> Result<(f64, f64), Refusal> {
        Ok(self.with_failures(epsilon, self.finite_delta_at(epsilon)?))
    }

    /// The same to two parts in 10^5, by a line that serves a stretch of ε. What is found depends on ε alone, not on what was
    /// asked before.
    pub(super) fn delta_on_curve(&self, epsilon: f64) -> Result<(f64, f64), Refusal> {
        if epsilon > 0.0 && self.closed(epsilon).is_none() {
            let value = self.lines.value_at(epsilon, |anchor| self.looked_at(anchor).1);
            if let Some(value) =
                value.filter(|v| v.upper - v.lower <= ENOUGH_DELTA * v.upper && v.upper < 1.0)
            {
                return Ok(self.with_failures(epsilon, (value.lower, value.upper)));
            }
        }
        self.delta_at(epsilon)
    }

    /// δ with the outcomes of infinite loss.
    fn with_failures(&self, epsilon: f64, (lower, upper): (f64, f64)) -> (f64, f64) {
        // What underflows is not nothing.
        let upper = if epsilon < self.largest { upper.max(f64::MIN_POSITIVE) } else { upper };
        let (least, most) = self.infinite;
        let lower = if lower == 0.0 { least } else { (least + (1.0 - least) * lower) * (1.0 - 8.0 * UNIT) };
        (lower, (most + (1.0 - most) * upper) * (1.0 + 4.0 * UNIT))
    }

    /// ε(δ) from both sides. `known` is a lower bound on the answer from elsewhere: a direction that cannot exceed
    /// it need not be worked out.
    pub(super) fn epsilon_at(&self, delta: f64, known: f64) -> Result<(f64, f64), Refusal> {
        let (least, most) = self.infinite;
        let share = |mass: f64| (delta - mass) / (1.0 - mass);
        if share(most) < 0.0 || (share(most) == 0.0 && most > 0.0 && self.largest.is_infinite()) {
            return Err(Refusal::NotCertified(format!(
                "delta is {delta:e}, below the {least:e} with which a declared mechanism may fail outright, where \
                 epsilon is infinite; ask a larger delta"
            )));
        }
        if least == 0.0 && most == 0.0 {
            return self.finite_epsilon_at(delta, known);
        }
        let (tight, loose) = (share(most).max(0.0) * (1.0 - 4.0 * UNIT), share(least) * (1.0 + 4.0 * UNIT));
        let upper = self.finite_epsilon_at(tight, known)?.1;
        let lower = self.finite_epsilon_at(loose, known)?.0;
        Ok((lower, upper))
    }

    /// Whether there is a closed form for every ε.
    fn has_closed_form(&self) -> bool {
        match self.losses.laws.as_slice() {
            [] => true,
            [(_, times)] => *times == 1.0 && self.losses.gaussian == 0.0,
            _ => false,
        }
    }

    /// Closed forms, where there is one.
    fn closed(&self, epsilon: f64) -> Option<(f64, f64)> {
        if epsilon > self.largest * (1.0 + 16.0 * UNIT) {
            return Some((0.0, 0.0));
        }
        let gaussian = self.losses.gaussian;
        match self.losses.laws.as_slice() {
            [] => {
                // δ rises with μ, which is known to a few ulp.
                let mu = gaussian.sqrt();
                let lower = gaussian::delta(mu * (1.0 - 8.0 * UNIT), epsilon).0;
                Some((lower, gaussian::delta(mu * (1.0 + 8.0 * UNIT), epsilon).1))
            }
            [(law, times)] if *times == 1.0 && gaussian == 0.0 => Some(once(law, epsilon)),
            _ => None,
        }
    }

    fn finite_delta_at(&self, epsilon: f64) -> Result<(f64, f64), Refusal> {
        if let Some(closed) = self.closed(epsilon) {
            return Ok(closed);
        }
        let (best, _) = self.looked_at(epsilon);
        if best.1 < 1.0 { Ok(best) } else { Err(no_certificate()) }
    }

    /// What is known of δ at ε, and the last line that was drawn for it.
    fn looked_at(&self, epsilon: f64) -> ((f64, f64), Option<Line>) {
        let mut best: (f64, f64) = (0.0, 1.0);
        let mut last = None;
        if let Some(top) = self.top().and_then(|top| top.delta(self.largest - epsilon, self.largest)) {
            best = top;
        }
        // The more is known of δ the more can be left out: start generously, then repeat for the δ found.
        let mut guess = 1e-3;
        let rare = rare::are_rare(&self.losses, epsilon);
        let mut care = if rare { Care::Rare } else { Care::Quick };
        for _ in 0..8 {
            let wanted = if care == Care::Quick { NARROW } else { ENOUGH_DELTA };
            if best.1 - best.0 <= wanted * best.1 {
                break;
            }
            let (capped, left_out) = self.losses.capped(LEFT_OUT * guess);
            let Some(saddle) = capped.saddle_for_epsilon(epsilon) else { break };
            if let Some(log) = capped.chernoff(saddle.c) {
                best.1 = best.1.min((log - saddle.c * epsilon).exp() + left_out);
            }
            let middle = Line::draw(&self.losses, LEFT_OUT * guess, &saddle, 1.0, care).map(|line| {
                let value = line.value_at(epsilon);
                last = Some(line);
                best = (best.0.max(value.lower), best.1.min(value.upper));
                value.middle
            });
            if middle.is_none_or(|middle| middle > 0.1 * guess) {
                care = match care {
                    Care::Rare => Care::Quick,
                    Care::Quick => Care::Sharp,
                    Care::Sharp => Care::OneJump,
                    Care::OneJump => break,
                };
            } else if let Some(middle) = middle {
                guess = middle.max(1e-6 * guess).max(1e-290);
            }
        }
        (best, last)
    }

    fn finite_epsilon_at(&self, delta: f64, known: f64) -> Result<(f64, f64), Refusal> {
        if delta == 0.0 {
            return if self.largest.is_finite() {
                Ok((self.largest * (1.0 - 8.0 * UNIT), self.largest * (1.0 + 8.0 * UNIT)))
            } else {
                Err(Refusal::NotCertified(
                    "delta is 0, where epsilon is infinite for this mechanism; ask delta > 0".to_owned(),
                ))
            };
        }
        if self.has_closed_form() {
            return Ok(self.invert(delta));
        }
        if known >= self.largest {
            return Ok((0.0, known));
        }
        if self.total_variation() <= delta {
            return Ok((0.0, 0.0));
        }
        let rounding = 8.0 * UNIT * self.largest;
        let mut sides = (0.0, self.largest + rounding);
        if let Some((least, most)) = self.top().and_then(|top| top.distance(delta)) {
            sides = ((self.largest - most - rounding).max(0.0), self.largest - least + rounding);
        }
        if (sides.1.is_infinite() || sides.1 - sides.0 > NARROW * sides.1)
            && let Ok((lower, upper)) = self.searched(delta, known)
        {
            sides = (sides.0.max(lower), sides.1.min(upper));
        }
        if sides.1.is_finite() { Ok(sides) } else { Err(no_certificate()) }
    }

    /// ε(δ) along contours.
    fn searched(&self, delta: f64, known: f64) -> Result<(f64, f64), Refusal> {
        let (losses, left_out) = self.losses.capped(LEFT_OUT * delta);
        let saddle = losses.saddle_for_delta(delta.ln()).filter(|saddle| saddle.epsilon > 0.0);
        if let Some(saddle) = saddle {
            if known > 0.0 && cannot_exceed(&losses, left_out, known, delta, &saddle) {
                return Ok((0.0, known));
            }
            return search(&self.losses, delta, &saddle);
        }
        // δ is close to all there is to lose: ε may be zero.
        let at_zero = self.finite_delta_at(0.0);
        if at_zero.as_ref().is_ok_and(|(_, upper)| *upper <= delta) {
            return Ok((0.0, 0.0));
        }
        // About half of all outcomes lie above the mean loss: look there first.
        let from = |epsilon: f64| {
            search(&self.losses, delta, &losses.saddle_for_epsilon(epsilon).ok_or_else(no_certificate)?)
        };
        let mean = losses.scout(1e-9)[1].max(0.0);
        from(mean).or_else(|_| from(0.0))
    }

    /// The outcome with all losses largest, where there is one.
    fn top(&self) -> Option<Top> {
        if self.largest.is_finite() { Top::of(&self.losses) } else { None }
    }

    /// At least δ(0): total variation distances add up at most.
    fn total_variation(&self) -> f64 {
        let uses = self.losses.laws.iter().map(|(law, times)| times * once(law, 0.0).1);
        uses.sum::<f64>() * (1.0 + 64.0 * UNIT) + gaussian::delta(self.losses.gaussian.sqrt(), 0.0).1
    }

    /// ε(δ) by bisection on a closed form.
    fn invert(&self, delta: f64) -> (f64, f64) {
        let descent = match self.losses.laws.as_slice() {
            [(Law::Atoms { atoms, .. }, _)] => Some(Descent::new(atoms)),
            _ => None,
        };
        let at = |epsilon: f64| match &descent {
            Some(_) if epsilon > self.largest * (1.0 + 16.0 * UNIT) => (0.0, 0.0),
            Some(descent) => descent.delta(epsilon),
            None => self.closed(epsilon).unwrap_or((0.0, 1.0)),
        };
        if at(0.0).1 <= delta {
            return (0.0, 0.0);
        }
        let mut high = 1.0;
        while !(at(high).1 <= delta) && high < 1e300 {
            high *= 2.0;
        }
        let high = high.min(self.largest * (1.0 + 32.0 * UNIT));
        let upper = root::bisect(high, 0.0, 0.0, |epsilon| at(epsilon).1 <= delta).holds;
        let lower = if at(0.0).0 <= delta {
            0.0
        } else {
            root::bisect(0.0, upper, 0.0, |epsilon| at(epsilon).0 >= delta).holds
        };
        (lower, upper)
    }
}

/// A sum that keeps what its additions lose (Neumaier).
#[derive(Default)]
struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        let sum = self.total + term;
        if sum.is_finite() {
            let (large, small) =
                if self.total.abs() >= term.abs() { (self.total, term) } else { (term, self.total) };
            self.lost += (large - sum) + small;
        }
        self.total = sum;
    }

    fn total(&self) -> f64 {
        if self.total.is_finite() { self.total + self.lost } else { self.total }
    }
}

/// Whether Chernoff alone shows δ(known) ≤ delta.
fn cannot_exceed(losses: &Composed, left_out: f64, known: f64, delta: f64, saddle: &Saddle) -> bool {
    losses.chernoff(saddle.c).is_some_and(|log| (log - saddle.c * known).exp() + left_out < delta)
}

/// What is tried in turn; where large losses are not rare, from the second on.
const STAGES: [Care; 5] = [Care::Rare, Care::Quick, Care::Rare, Care::Sharp, Care::OneJump];

/// Newton on log δ along one contour, then a certified step to each side. The saddle's ε is only an estimate; a
/// contour drawn for the ε found is sharper.
fn search(losses: &Composed, delta: f64, saddle: &Saddle) -> Result<(f64, f64), Refusal> {
    let first = *saddle;
    let large = one_large(losses, delta, saddle);
    let mut saddle = large.unwrap_or(first);
    let mut share = LEFT_OUT;
    let (mut lower, mut upper) = (0.0f64, f64::INFINITY);
    let mut stage = if large.is_some() { 0 } else { 1 };
    let mut looks = 0;
    for _ in 0..12 {
        let care = STAGES[stage];
        let line = Line::draw(losses, share * delta, &saddle, saddle.worth_of_epsilon(), care);
        let solved = line.and_then(|line| solve(&line, delta, saddle.epsilon).map(|epsilon| (line, epsilon)));
        let mut settled = true;
        if let Some((line, epsilon)) = solved {
            let value = line.value_at(epsilon);
            let slope = -value.slope;
            let above =
                outward(epsilon, (value.upper - delta) / slope, 1.0, |e| line.value_at(e).upper <= delta);
            let below =
                outward(epsilon, (delta - value.lower) / slope, -1.0, |e| line.value_at(e).lower >= delta);
            upper = upper.min(above.unwrap_or(f64::INFINITY));
            lower = lower.max(below.unwrap_or(0.0));
            if upper - lower <= NARROW * upper {
                break;
            }
            let moved = (epsilon - saddle.epsilon).abs();
            settled = match care {
                Care::Rare => moved <= 0.01 * epsilon,
                Care::Quick | Care::Sharp | Care::OneJump => {
                    saddle.c * moved < 0.05 || value.upper < 1.001 * value.middle
                }
            };
            saddle = Saddle { epsilon, log_delta: delta.ln(), ..saddle };
            // A relative error x of δ moves ε by about x/(cε) of itself.
            share = (1e-8 * saddle.c * epsilon).clamp(1e-11, 1e-7);
        }
        looks = if settled { 0 } else { looks + 1 };
        let enough = upper.is_finite() && upper - lower <= ENOUGH * upper;
        stage = match stage {
            _ if !settled && looks < 4 => stage,
            _ if care != Care::Quick && enough => break,
            // What was found without success does not lead on.
            0 => {
                saddle = first;
                1
            }
            4 => break,
            _ => stage + 1,
        };
    }
    if upper.is_finite() { Ok((lower, upper)) } else { Err(no_certificate()) }
}

/// The saddle moved to where one loss alone gives about δ, if large losses are rare there.
fn one_large(losses: &Composed, delta: f64, saddle: &Saddle) -> Option<Saddle> {
    let [(law @ Law::Sampled(_), times)] = losses.laws.as_slice() else { return None };
    let enough = |epsilon: f64| times * once(law, epsilon).1 <= delta;
    let mut high = saddle.epsilon.max(1e-12);
    while !enough(high) && high < 1e12 {
        high *= 4.0;
    }
    let epsilon = root::bisect(high, 0.0, 1e-3 * high, enough).holds;
    rare::are_rare(losses, epsilon).then_some(Saddle { epsilon, log_delta: delta.ln(), ..*saddle })
}

/// The ε at which the line's estimate of δ is as given: Newton on log δ, kept between points known to lie on either
/// side. Where the estimate drowns in its error before that, the slope of the last good point tells where to look next.
fn solve(line: &Line, delta: f64, start: f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut epsilon = start.max(0.0);
    let mut ahead = None;
    for _ in 0..60 {
        let value = line.value_at(epsilon);
        let drowned = value.middle <= 0.0 || value.noise > 3.0 * value.middle;
        let step = (value.middle / delta).ln() * value.middle / -value.slope;
        if !drowned && step.abs() <= 1e-12 * epsilon {
            return Some(epsilon);
        }
        if value.middle > delta && !drowned {
            low = epsilon;
            ahead = Some(epsilon + step);
        } else {
            high = epsilon;
        }
        let mut next = epsilon + step;
        if drowned || !(next > low && next < high) {
            next = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * epsilon + 1e-3 };
        }
        epsilon = next;
        if drowned && high - low <= 1e-9 * high {
            return ahead.filter(|ahead| ahead.is_finite());
        }
        if epsilon < 1e-15 {
            return None;
        }
    }
    Some(epsilon)
}

/// The first point in a growing series of steps from `start` at which the predicate holds.
fn outward(start: f64, guess: f64, sign: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    let mut distance = guess.max(0.0) * 1.05 + start.abs() * 4.0 * UNIT + 1e-300;
    for _ in 0..60 {
        let point = start + sign * distance;
        if point < 0.0 {
            return None;
        }
        if holds(point) {
            return Some(point);
        }
        distance *= 1.7;
    }
    None
}

fn no_certificate() -> Refusal {
    Refusal::NotCertified(
        "exact certifies no answer here; pld or rdp may, at a larger delta or with more noise".to_owned(),
    )
}
