//! How much of what a filter counts in fits into its budget, rounded down.

use super::{Amounts, Budget, Kind, slots};
use crate::{
    exact,
    gdp::profile::{MARGIN, gaussian_delta},
    rdp::convert,
};
use veracity_core::numerics::root;
use veracity_core::{Adjacency, Delta, GdpMu, Refusal};

/// Pools are priced as if they were larger by this, relatively, so that sums which are meant to use them up fit in spite
/// of rounding.
const ROOM: f64 = 1e-12;

/// The limits of a filter.
///
/// # Promise    Whoever stays within them is within the budget
/// # Reference  The table in [the module](super)
/// # Numerics   Found by bisection, keeping the side on which the budget was evaluated to hold
pub(super) fn of(kind: &Kind, budget: Budget, adjacency: Adjacency) -> Result<Amounts, Refusal> {
    let (epsilon, delta) = (budget.epsilon.get(), budget.delta.get());
    if !epsilon.is_finite() {
        return Err(Refusal::out_of_range("budget", epsilon, "a finite epsilon"));
    }
    let sums = Amounts::of;
    let room = |pool: f64| pool * (1.0 + ROOM);
    match kind {
        Kind::Basic { .. } => Ok(sums(epsilon, delta)),
        Kind::Zcdp { reserve } => {
            let reserve = room(reserve.get());
            let free = beside(reserve, delta)?;
            let rho = largest(|rho| {
                convert::delta_at(epsilon, convert::ORDERS, |order| Ok(order * rho))
                    .is_ok_and(|it| it <= free)
            })?;
            Ok(sums(rho, reserve))
        }
        Kind::Rdp { order } => {
            if !(*order > 1.0 && order.is_finite()) {
                return Err(Refusal::out_of_range("rdp order", order, "a finite order > 1"));
            }
            let most = delta.ln() - 4.0 * f64::EPSILON * (1.0 + delta.ln().abs());
            Ok(sums(largest(|divergence| convert::log_delta_of(*order, divergence, epsilon) <= most)?, 0.0))
        }
        Kind::Gdp { reserve } | Kind::Union { reserve } => {
            let reserve = room(reserve.get());
            let free = beside(reserve, delta)?;
            let square = largest(|square| {
                let mu = square.sqrt().next_up();
                gaussian_delta(mu, epsilon) * (1.0 + MARGIN) + f64::MIN_POSITIVE <= free
            })?;
            let pure = if matches!(kind, Kind::Union { .. }) { epsilon } else { 0.0 };
            Ok(Amounts { pure, ..sums(square, reserve) })
        }
        Kind::Product { mu, reserve, slots } => {
            let (mu, reserve) = (GdpMu::new(room(mu.get()))?, Delta::new(room(reserve.get()))?);
            let question = slots::product(mu, reserve, slots, adjacency)?;
            let price = exact::delta_at(&question, budget.epsilon)?;
            let price = price.upper().map_or(1.0, |upper| upper.0.get());
            if price > delta {
                return Err(Refusal::OverBudget(format!(
                    "the product has delta {price:.4e} at epsilon {epsilon}, more than the {delta:.4e} of the budget; \
                     use fewer slots or smaller pools"
                )));
            }
            let square = (mu.get() * mu.get()).next_down().max(0.0);
            let counts = slots.iter().map(|(_, count)| count.get()).collect();
            Ok(Amounts { slots: counts, ..sums(square, reserve.get()) })
        }
    }
}

/// What is left of a δ beside a reserve r: the d with r + (1 − r) d ≤ δ; rounded down.
fn beside(reserve: f64, delta: f64) -> Result<f64, Refusal> {
    let free = (delta - reserve) * (1.0 - 4.0 * f64::EPSILON);
    if free > 0.0 {
        Ok(free)
    } else {
        Err(Refusal::out_of_range("reserve", reserve, "less than the delta of the budget"))
    }
}

/// The largest number for which a falling predicate holds, from below.
fn largest(within: impl Fn(f64) -> bool) -> Result<f64, Refusal> {
    let mut low = 1.0;
    while !within(low) {
        low *= 0.5;
        if low < 1e-200 {
            return Err(Refusal::OverBudget(
                "the budget is too small for any release; use a larger epsilon, delta or order".into(),
            ));
        }
    }
    let mut high = 2.0 * low;
    while within(high) {
        (low, high) = (high, 2.0 * high);
        if high > 1e200 {
            return Err(Refusal::out_of_range("budget", "endless", "a smaller epsilon"));
        }
    }
    Ok(root::bisect(low, high, 1e-15, within).holds)
}
