//! From a Rényi divergence at an order to (ε, δ), and the search for the order that serves best. Every order gives a
//! valid bound, so the search may stop anywhere.

use veracity_core::Refusal;

/// Smallest and largest α − 1 that a search visits.
pub(crate) const ORDERS: (f64, f64) = (1e-4, 1e12);

/// The ε at `delta` of a mechanism whose Rényi divergence at `order` is at most `divergence`.
///
/// # Promise    Never below the true ε, and never negative
/// # Reference  [CanonneKamathSteinke20] Proposition 12; [BalleBartheGaboardiHsuSato20] Theorem 21
/// # Assumes    order > 1
/// # Numerics   Rounded up: every term widened by 8 ulp
pub(crate) fn epsilon_of(order: f64, divergence: f64, delta: f64) -> f64 {
    let less_one = order - 1.0;
    let shrink = (-1.0 / order).ln_1p();
    let tail = -(delta.ln() + order.ln()) / less_one;
    let slack = 8.0 * f64::EPSILON * (divergence + shrink.abs() + (delta.ln().abs() + order.ln()) / less_one);
    if divergence.is_nan() { f64::INFINITY } else { (divergence + shrink + tail + slack).max(0.0) }
}

/// The logarithm of the δ at `epsilon` of a mechanism whose Rényi divergence at `order` is at most `divergence`.
///
/// # Promise    Never below the true log δ
/// # Reference  [CanonneKamathSteinke20] Corollary 13: δ = e^{(α−1)(D−ε)} (1 − 1/α)^α / (α − 1)
/// # Numerics   Rounded up: every term widened by 8 ulp
pub(crate) fn log_delta_of(order: f64, divergence: f64, epsilon: f64) -> f64 {
    let less_one = order - 1.0;
    let shrink = (-1.0 / order).ln_1p();
    let slack = 8.0 * f64::EPSILON * (less_one * (divergence + epsilon + shrink.abs()) + order.ln());
    let log = less_one * (divergence - epsilon + shrink) - order.ln() + slack;
    if log.is_nan() { 0.0 } else { log.min(0.0) }
}

/// The least ε at `delta` over the orders searched, for the curve `divergence`.
///
/// # Promise    Never below the true ε
pub(crate) fn epsilon_at(
    delta: f64,
    orders: (f64, f64),
    divergence: impl Fn(f64) -> Result<f64, Refusal>,
) -> Result<f64, Refusal> {
    if delta == 0.0 {
        return Ok(f64::INFINITY);
    }
    least_over_orders(orders, |order| Ok(epsilon_of(order, divergence(order)?, delta)))
}

/// The least δ at `epsilon` over the orders searched, for the curve `divergence`.
///
/// # Promise    Never below the true δ
pub(crate) fn delta_at(
    epsilon: f64,
    orders: (f64, f64),
    divergence: impl Fn(f64) -> Result<f64, Refusal>,
) -> Result<f64, Refusal> {
    let log = least_over_orders(orders, |order| Ok(log_delta_of(order, divergence(order)?, epsilon)))?;
    // exp errs by an ulp; a result that underflows is kept above the truth.
    Ok((log.exp() * (1.0 + 4.0 * f64::EPSILON) + f64::MIN_POSITIVE).min(1.0))
}

/// The least value of `bound` that a grid of orders and a golden-section search around its best point come upon.
pub(crate) fn least_over_orders(
    (low, high): (f64, f64),
    bound: impl Fn(f64) -> Result<f64, Refusal>,
) -> Result<f64, Refusal> {
    const GRID: u32 = 48;
    let (start, step) = (low.ln(), (high / low).ln() / f64::from(GRID));
    let at = |x: f64| bound(1.0 + x.exp());
    let (mut best, mut place) = (f64::INFINITY, start);
    for i in 0..=GRID {
        let x = start + step * f64::from(i);
        let value = at(x)?;
        if value < best {
            (best, place) = (value, x);
        }
    }
    golden(place - step, place + step, best, at)
}

/// Golden-section search that remembers the least value it saw.
fn golden(
    mut left: f64,
    mut right: f64,
    mut best: f64,
    at: impl Fn(f64) -> Result<f64, Refusal>,
) -> Result<f64, Refusal> {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut x, mut y) = (right - RATIO * (right - left), left + RATIO * (right - left));
    let (mut at_x, mut at_y) = (at(x)?, at(y)?);
    for _ in 0..32 {
        best = best.min(at_x).min(at_y);
        if at_x <= at_y {
            (right, y, at_y) = (y, x, at_x);
            x = right - RATIO * (right - left);
            at_x = at(x)?;
        } else {
            (left, x, at_x) = (x, y, at_y);
            y = left + RATIO * (right - left);
            at_y = at(y)?;
        }
    }
    Ok(best.min(at_x).min(at_y))
}
