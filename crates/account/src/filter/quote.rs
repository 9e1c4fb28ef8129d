//! The price of a question in two steps: what is known of it whatever was spent, and what it costs beside what is left.
//!
//! In a union a question is split. Gaussian noise and declared δ cost μ² and δ, whatever is left. The rest goes through its certified
//! profile into [`Losses`], which are priced beside the pool that is left. Where that is not certified, or saves nothing, the rest costs
//! the μ² that its trade-off curve has on its own.

use super::{Amounts, add_up, beside, cost, losses, losses::Losses, slots, times_up};
use crate::{
    Composition, IntegerNoise, Method, Part, Profile, Question, expand, gdp::profile::gaussian_mu, single,
};
use veracity_core::numerics::{UNIT, normal};
use veracity_core::{Count, Epsilon, Mechanism, Refusal};

/// Steps of the grid of losses in one deviation of the loss.
const STEPS: f64 = 24.0;
/// Losses with mass are so many steps apart, where the profile is not that of a pure mechanism.
const STRIDE: i64 = 3;
/// The most losses of one sign.
const MOST_LOSSES: usize = 256;
/// So many of them are equally far apart; those beyond are farther apart the larger they are, by this part of themselves.
const EVEN_LOSSES: i64 = 64;
const PART_APART: i64 = 24;
/// A pure mechanism is listed to its end if that is at most so many deviations away.
const FAR: f64 = 12.0;
/// The additive slack of the comparison with Gaussian noise, as a part of the reserve, where the mechanism is pure.
const SLACK: f64 = 1e-9;
/// The additive slack where it is not, and the most that may lie above the largest loss, each as a part of the reserve for a charge
/// that takes all of the pool.
const TAIL_SHARE: f64 = 0.25;
/// What is charged beyond the certified δ, so that another machine certifies it too.
const MARGIN: f64 = 1e-6;
/// The spread of losses that no pool holds, in its μ².
const TOO_WIDE: f64 = 2.0;
/// What a charge that the pool does not admit takes beyond what is left, as a part of the limit: so the pool stays passed.
const PASSED: f64 = 1e-9;

/// What is known of the price of a question whatever was spent.
#[derive(Debug, Clone, PartialEq)]
pub struct Quote(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// It costs the same always.
    Sum(Amounts),
    /// It depends on which slots are left.
    Product(Question),
    /// It depends on how much μ² is left.
    Union(Split),
}

/// A question in the two filters of a union.
#[derive(Debug, Clone, PartialEq)]
struct Split {
    /// The pure ε, or infinity.
    pure: f64,
    /// μ² and δ that it costs in any case.
    fixed: (f64, f64),
    /// What the rest costs on its own; None where no theorem says so. Nothing where there is no rest.
    alone: Option<(f64, f64)>,
    /// The losses of the rest, and the δ that comparing them with Gaussian noise takes.
    losses: Option<(Losses, f64)>,
}

impl Quote {
    pub(super) fn of_sum(cost: Amounts) -> Quote {
        Quote(Kind::Sum(cost))
    }

    pub(super) fn of_product(question: &Question) -> Quote {
        Quote(Kind::Product(question.clone()))
    }

    /// # Errors
    /// Refuses what has neither a μ² nor a profile.
    pub(super) fn of_union(question: &Question, limit: &Amounts) -> Result<Quote, Refusal> {
        Split::of(question, limit).map(|split| Quote(Kind::Union(split)))
    }

    /// What it costs now.
    pub(super) fn price(
        &self,
        slots: &[(Mechanism, Count)],
        left: &Amounts,
        limit: &Amounts,
    ) -> Result<Amounts, Refusal> {
        match &self.0 {
            Kind::Sum(cost) => Ok(cost.clone()),
            Kind::Product(question) => slots::cost(question, slots, left),
            Kind::Union(split) => Ok(split.price(left, limit)),
        }
    }

    /// The μ² of a question of a union on its own, where it is known, and its pure ε, where it has one.
    pub fn alone(&self) -> (Option<f64>, Option<f64>) {
        match &self.0 {
            Kind::Sum(_) | Kind::Product(_) => (None, None),
            Kind::Union(split) => {
                let square = split.alone.map(|(sum, _)| add_up(split.fixed.0, sum));
                (square, Some(split.pure).filter(|pure| pure.is_finite()))
            }
        }
    }

    /// The δ of a question of a union on its own.
    pub fn alone_delta(&self) -> f64 {
        match &self.0 {
            Kind::Union(split) => {
                split.alone.map_or(split.fixed.1, |(_, delta)| add_up(split.fixed.1, delta))
            }
            Kind::Sum(cost) => cost.delta,
            Kind::Product(_) => 0.0,
        }
    }

    /// Whether a cost is certified now; None where a price is not searched for, and is to be compared.
    pub(super) fn certifies(&self, cost: &Amounts, left: &Amounts, limit: &Amounts) -> Option<bool> {
        match &self.0 {
            Kind::Sum(_) | Kind::Product(_) => None,
            Kind::Union(split) => Some(split.certifies(cost, left, limit)),
        }
    }
}

impl Split {
    fn of(question: &Question, limit: &Amounts) -> Result<Split, Refusal> {
        let pure = cost::pure(question);
        let alternatives = expand::expand(&question.mechanism, question.adjacency)?;
        let (fixed, rest) = match &alternatives[..] {
            [composition] => fixed_parts(composition)?,
            _ => ((0.0, 0.0), None),
        };
        let several = alternatives.len() > 1;
        let rest = rest.map_or(alternatives, |rest| vec![rest]);
        if !several && rest.iter().all(|composition| composition.parts.is_empty()) {
            return Ok(Split { pure, fixed, alone: Some((0.0, 0.0)), losses: None });
        }
        let alone = alone(&rest);
        let (losses, why) = match losses_of(question, &rest, fixed, limit) {
            Ok(losses) => (losses, None),
            Err(refusal) => (None, Some(refusal)),
        };
        match (&alone, why) {
            // Without any number, another mechanism that covers it may have one.
            (Err(_), Some(refusal)) => Err(refusal),
            (Err(refusal), None) if losses.is_none() => Err(refusal.clone()),
            _ => Ok(Split { pure, fixed, alone: alone.ok(), losses }),
        }
    }

    /// # Promise    Certified, or more than what is left
    fn price(&self, left: &Amounts, limit: &Amounts) -> Amounts {
        let with = |(sum, delta): (f64, f64)| Amounts {
            pure: self.pure,
            ..Amounts::of(add_up(self.fixed.0, sum), add_up(self.fixed.1, delta))
        };
        let alone = self.alone.map(with);
        let free = self.free(left);
        let most = self.alone.map_or(free, |(sum, _)| sum);
        let certified = self.losses.as_ref().filter(|_| free > 0.0).and_then(|(losses, slack)| {
            let sum = beside::least(losses, pool_of(free, limit, *slack), most)?;
            Some(with((sum, (losses.infinite + slack) * (1.0 + MARGIN))))
        });
        let cost = match (certified, alone) {
            // What does not fit into the reserve, or saves nothing, is not worth its δ.
            (Some(certified), Some(alone)) if certified.delta > left.delta || certified.sum >= alone.sum => {
                alone
            }
            (Some(certified), _) => certified,
            (None, Some(alone)) => alone,
            (None, None) => with((f64::INFINITY, 0.0)),
        };
        if cost.sum <= left.sum && cost.delta <= left.delta {
            return cost;
        }
        Amounts { pure: self.pure, ..Amounts::of(left.sum + PASSED * limit.sum, 0.0) }
    }

    /// # Promise    True only if the cost is certified by this machine, or ends the pool
    fn certifies(&self, cost: &Amounts, left: &Amounts, limit: &Amounts) -> bool {
        let price = |(sum, delta): (f64, f64)| Amounts {
            pure: self.pure,
            slots: cost.slots.clone(),
            ..Amounts::of(add_up(self.fixed.0, sum), add_up(self.fixed.1, delta))
        };
        let is_pure = cost.is_no_less_than(&Amounts { pure: self.pure, ..Amounts::of(0.0, 0.0) });
        let is_passed = cost.sum >= left.sum + 0.5 * PASSED * limit.sum;
        let is_alone = self.alone.is_some_and(|alone| cost.is_no_less_than(&price(alone)));
        if is_pure && (is_passed || is_alone) {
            return true;
        }
        let charge = (cost.sum - self.fixed.0).next_down();
        self.losses.as_ref().is_some_and(|(losses, slack)| {
            cost.is_no_less_than(&price((0.0, losses.infinite + slack)))
                && beside::covers(losses, pool_of(self.free(left), limit, *slack), charge)
        })
    }

    /// What is left beside the fixed part, rounded down.
    fn free(&self, left: &Amounts) -> f64 {
        left.sum - self.fixed.0 - 4.0 * UNIT * left.sum
    }
}

/// What is left for the rest of a question. The sums that it comes from are rounded by a few units of the limit.
fn pool_of(left: f64, limit: &Amounts, slack: f64) -> beside::Pool {
    beside::Pool { left, rounding: 16.0 * UNIT * limit.sum, slack }
}

/// The μ² and δ of the parts that cost the same always, and the other parts; a declared (ε, δ) is ε beside an event of probability δ.
fn fixed_parts(composition: &Composition) -> Result<((f64, f64), Option<Composition>), Refusal> {
    let (mut square, mut delta) = (0.0, 0.0);
    let mut rest = Composition { parts: Vec::new() };
    for (part, count) in &composition.parts {
        let is_gaussian = matches!(
            part,
            Part::Gaussian { .. } | Part::Integer { noise: IntegerNoise::Gaussian { .. }, .. }
        );
        match (part, cost::squared_times(part, *count)) {
            (_, Ok((more, leak))) if is_gaussian => {
                (square, delta) = (add_up(square, more), add_up(delta, leak));
            }
            (Part::Approximate { epsilon, delta: leak }, _) if *leak > 0.0 => {
                delta = add_up(delta, times_up(*count, *leak));
                if *epsilon > 0.0 {
                    rest.parts.push((Part::Approximate { epsilon: *epsilon, delta: 0.0 }, *count));
                }
            }
            (Part::Approximate { epsilon: 0.0, .. }, _) => {}
            _ => rest.parts.push((part.clone(), *count)),
        }
    }
    Ok(((square, delta), Some(rest)))
}

/// The most that one of the alternatives costs on its own.
fn alone(alternatives: &[Composition]) -> Result<(f64, f64), Refusal> {
    let (mut most, mut leak) = (0.0f64, 0.0f64);
    for composition in alternatives {
        let (mut sum, mut delta) = (0.0, 0.0);
        for (part, count) in &composition.parts {
            let (more, beside) = cost::squared_times(part, *count)?;
            (sum, delta) = (add_up(sum, more), add_up(delta, beside));
        }
        (most, leak) = (most.max(sum), leak.max(delta));
    }
    Ok((most, leak))
}

/// The losses of what is left of a question beside its fixed parts, on a grid that suits the pool; None where no grid does.
fn losses_of(
    question: &Question,
    rest: &[Composition],
    fixed: (f64, f64),
    limit: &Amounts,
) -> Result<Option<(Losses, f64)>, Refusal> {
    let is_whole = fixed == (0.0, 0.0);
    let curve = Curve::of(question, rest, is_whole)?;
    // A Gaussian of the same total variation has about the same size.
    let spread = gaussian_mu(0.0, curve.delta(0.0)?);
    if !(spread > 0.0 && spread * spread <= TOO_WIDE * limit.sum && limit.delta > 0.0) {
        return Ok(None);
    }
    let pure = rest.iter().map(single::pure_epsilon).fold(0.0, f64::max);
    let is_pure = pure <= FAR * spread;
    let reach = 10.0 * limit.sum.sqrt() + limit.sum + if is_pure { pure } else { FAR * spread };
    let wanted = (spread / STEPS).max(reach / (0.9 * beside::MOST_POINTS as f64));
    if wanted > 0.5 * spread {
        return Ok(None);
    }
    if is_pure {
        let points = (pure / wanted).floor().max(1.0);
        let step = losses::exact_step(pure / points);
        let points = points as i64;
        let mut bounds = (0..points).map(|k| curve.point(k, step)).collect::<Result<Vec<_>, _>>()?;
        bounds.push((points, 0.0)); // at the largest loss
        return Ok(Losses::through(&bounds, step).map(|losses| (losses, SLACK * limit.delta)));
    }
    let step = losses::exact_step(wanted);
    let share = (spread * spread / limit.sum).min(1.0);
    let tail = TAIL_SHARE * share * limit.delta;
    let Some(bounds) = curve.points_to(tail, step)? else { return Ok(None) };
    Ok(Losses::through(&bounds, step).map(|losses| (losses, tail)))
}

/// Upper bounds on δ(ε) of both directions.
enum Curve<'a> {
    Exact(Profile),
    /// By Rényi divergences.
    Renyi(&'a Question, Method),
}

impl Curve<'_> {
    fn of<'a>(question: &'a Question, rest: &[Composition], is_whole: bool) -> Result<Curve<'a>, Refusal> {
        let refusal = match Profile::of(rest) {
            Ok(profile) => return Ok(Curve::Exact(profile)),
            Err(refusal) => refusal,
        };
        let works = |method: &Method| crate::delta_at(question, Epsilon::ZERO, *method).is_ok();
        match [Method::Zcdp, Method::Rdp].into_iter().find(works) {
            Some(method) if is_whole => Ok(Curve::Renyi(question, method)),
            Some(_) | None => Err(refusal),
        }
    }

    fn delta(&self, epsilon: f64) -> Result<f64, Refusal> {
        let epsilon = Epsilon::new(epsilon)?;
        let found = match self {
            Curve::Exact(profile) => profile.delta_on_curve(epsilon).map(|found| Some(found.upper)),
            Curve::Renyi(question, method) => {
                crate::delta_at(question, epsilon, *method).map(|found| found.upper())
            }
        };
        match found {
            Ok(Some(upper)) => Ok(upper.0.get()),
            // δ is 1 to within rounding.
            Ok(None) | Err(Refusal::NotCertified(_) | Refusal::NoProtection(_)) => Ok(1.0),
            Err(refusal) => Err(refusal),
        }
    }

    /// The bound at a multiple of a step.
    fn point(&self, multiple: i64, step: f64) -> Result<(i64, f64), Refusal> {
        Ok((multiple, self.delta(multiple as f64 * step)?))
    }

    /// Bounds from 0 on, to the first that is at most `tail`; None where that is too far.
    fn points_to(&self, tail: f64, step: f64) -> Result<Option<Vec<(i64, f64)>>, Refusal> {
        let mut points = vec![self.point(0, step)?];
        let mut strides = 0;
        while points.last().is_some_and(|(_, bound)| *bound > tail) {
            if points.len() > MOST_LOSSES || strides * STRIDE > beside::MOST_POINTS {
                return Ok(None);
            }
            strides += if strides < EVEN_LOSSES { 1 } else { strides / PART_APART };
            points.push(self.point(strides * STRIDE, step)?);
        }
        Ok(Some(points))
    }
}

/// A pure ε that a union admits where so much is left: any mechanism that keeps it fits.
pub fn largest_pure(left: &Amounts) -> f64 {
    // Randomized response of ε has μ = 2 Φ⁻¹(e^ε/(1 + e^ε)), and dominates every pure mechanism.
    let half = 0.5 * left.sum.sqrt();
    let in_pool = (normal::log_cdf(half) - normal::log_cdf(-half)) * (1.0 - 1e-9) - 1e-12;
    left.pure.max(in_pool)
}
