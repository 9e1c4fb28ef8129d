//! One direction of one alternative: the composition's losses when the record is in the first dataset, or in the
//! second. Chooses between a closed form and the contour, and turns δ(ε) into ε(δ).

use super::composed::{Composed, Saddle};
use super::distribution::Distribution;
use super::gaussian;
use super::hockey_stick::HockeyStick;
use super::largest::LargestOutcome;
use super::line::LineCache;
use super::pairs::{self, Order, Pair, once};
use super::refine::{LEFT_OUT, NARROW, NARROW_DELTA, Refinement};
use crate::expand::{Composition, Part};
use veracity_core::Refusal;
use veracity_core::numerics::{NeumaierSum, UNIT, root};

/// A composition of dominating pairs, in one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Direction {
    /// Bounds on the probability that some declared mechanism fails outright, where the loss is infinite.
    infinite: (f64, f64),
    losses: Composed,
    /// All losses together are at most this.
    largest: f64,
    /// LineCache drawn for curves: each serves a stretch of ε.
    lines: LineCache,
}

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
            lines: LineCache::default(),
        };
        let mut log_survive = (0.0, 0.0);
        let mut declared = Vec::new();
        let (mut square, mut largest) = (NeumaierSum::default(), NeumaierSum::default());
        for (part, times) in &composition.parts {
            let times = times.as_f64();
            match pairs::pair(part, order)? {
                Pair::Gaussian { mu } => {
                    square.add(times * mu * mu);
                    largest.add(f64::INFINITY);
                }
                Pair::Losses { distribution, infinite, largest: most } => {
                    declared.push((infinite, times));
                    let log = times * (-infinite).ln_1p();
                    log_survive.0 += log * (1.0 + 8.0 * UNIT);
                    log_survive.1 += log * (1.0 - 8.0 * UNIT);
                    largest.add(times * most);
                    direction.losses.parts.push((distribution, times));
                }
            }
        }
        direction.losses = Composed::new(direction.losses.parts, square.total());
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
            let value = self.lines.value_at(epsilon, |anchor| self.refined_delta(anchor).line);
            if let Some(value) =
                value.filter(|v| v.upper - v.lower <= NARROW_DELTA * v.upper && v.upper < 1.0)
            {
                return Ok(self.with_failures(epsilon, (value.lower, value.upper)));
            }
        }
        self.delta_at(epsilon)
    }

    /// δ with the outcomes of infinite loss.
    fn with_failures(&self, epsilon: f64, (lower, upper): (f64, f64)) -> (f64, f64) {
        // Keep δ > 0 after underflow, or the bound would be false.
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
                "delta is {delta:e}, below the {least:e} with which a declared mechanism may reveal everything, so \
                 epsilon is infinite; use a larger delta"
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
        match self.losses.parts.as_slice() {
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
        match self.losses.parts.as_slice() {
            [] => {
                // δ rises with μ, which is known to a few ulp.
                let mu = gaussian.sqrt();
                let lower = gaussian::delta(mu * (1.0 - 8.0 * UNIT), epsilon).0;
                Some((lower, gaussian::delta(mu * (1.0 + 8.0 * UNIT), epsilon).1))
            }
            [(part, times)] if *times == 1.0 && gaussian == 0.0 => Some(once(part, epsilon)),
            _ => None,
        }
    }

    fn finite_delta_at(&self, epsilon: f64) -> Result<(f64, f64), Refusal> {
        if let Some(closed) = self.closed(epsilon) {
            return Ok(closed);
        }
        let found = self.refined_delta(epsilon).interval;
        if found.1 < 1.0 { Ok(found) } else { Err(no_certificate()) }
    }

    /// What is certified of δ at ε, and the last line that was drawn for it.
    fn refined_delta(&self, epsilon: f64) -> Refinement<'_> {
        let largest = self.largest_outcome();
        let known = largest.and_then(|outcome| outcome.delta(self.largest - epsilon, self.largest));
        Refinement::of_delta(&self.losses, epsilon, known.unwrap_or((0.0, 1.0)))
    }

    fn finite_epsilon_at(&self, delta: f64, known: f64) -> Result<(f64, f64), Refusal> {
        if delta == 0.0 {
            return if self.largest.is_finite() {
                Ok((self.largest * (1.0 - 8.0 * UNIT), self.largest * (1.0 + 8.0 * UNIT)))
            } else {
                Err(Refusal::NotCertified(
                    "epsilon is infinite at delta 0 for this mechanism; use a delta > 0".to_owned(),
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
        if let Some((least, most)) = self.largest_outcome().and_then(|outcome| outcome.distance(delta)) {
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
            return self.search(delta, &saddle);
        }
        // δ is close to all there is to lose: ε may be zero.
        let at_zero = self.finite_delta_at(0.0);
        if at_zero.as_ref().is_ok_and(|(_, upper)| *upper <= delta) {
            return Ok((0.0, 0.0));
        }
        // About half of all outcomes lie above the mean loss: look there first.
        let from = |epsilon: f64| {
            self.search(delta, &losses.saddle_for_epsilon(epsilon).ok_or_else(no_certificate)?)
        };
        let mean = losses.cumulants(1e-9)[1].max(0.0);
        from(mean).or_else(|_| from(0.0))
    }

    /// ε(δ) from both sides, from an estimate of it.
    fn search(&self, delta: f64, saddle: &Saddle) -> Result<(f64, f64), Refusal> {
        let found = Refinement::of_epsilon(&self.losses, delta, saddle).interval;
        if found.1.is_finite() { Ok(found) } else { Err(no_certificate()) }
    }

    /// The outcome with all losses largest, where there is one.
    fn largest_outcome(&self) -> Option<LargestOutcome> {
        if self.largest.is_finite() { LargestOutcome::of(&self.losses) } else { None }
    }

    /// At least δ(0): total variation distances add up at most.
    fn total_variation(&self) -> f64 {
        let uses = self.losses.parts.iter().map(|(part, times)| times * once(part, 0.0).1);
        uses.sum::<f64>() * (1.0 + 64.0 * UNIT) + gaussian::delta(self.losses.gaussian.sqrt(), 0.0).1
    }

    /// ε(δ) by bisection on a closed form.
    fn invert(&self, delta: f64) -> (f64, f64) {
        let hockey_stick = match self.losses.parts.as_slice() {
            [(Distribution::Atoms { atoms, .. }, _)] => Some(HockeyStick::new(atoms)),
            _ => None,
        };
        let at = |epsilon: f64| match &hockey_stick {
            Some(_) if epsilon > self.largest * (1.0 + 16.0 * UNIT) => (0.0, 0.0),
            Some(hockey_stick) => hockey_stick.delta(epsilon),
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

/// Whether Chernoff alone shows δ(known) ≤ delta.
fn cannot_exceed(losses: &Composed, left_out: f64, known: f64, delta: f64, saddle: &Saddle) -> bool {
    losses.chernoff(saddle.c).is_some_and(|log| (log - saddle.c * known).exp() + left_out < delta)
}

fn no_certificate() -> Refusal {
    Refusal::NotCertified(
        "method exact cannot certify an answer here; use method pld or rdp, a larger delta or more noise"
            .to_owned(),
    )
}
