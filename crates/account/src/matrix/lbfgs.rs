//! Limited-memory BFGS: the least value of a smooth function of many variables, from values and slopes.

use std::collections::VecDeque;

/// How many steps the curvature is remembered for.
const MEMORY: usize = 20;
/// The most steps.
const MOST_STEPS: usize = 600;
/// Enough: no step gains more than this, relatively.
const GAIN: f64 = 1e-14;

/// Walks downhill from `start`. The value of what is returned is never above that of `start`.
///
/// # Reference  [NocedalWright06] Algorithms 7.4 and 7.5
pub(super) fn minimise(start: Vec<f64>, value: impl Fn(&[f64]) -> (f64, Vec<f64>)) -> Vec<f64> {
    let mut at = start;
    let (mut least, mut slope) = value(&at);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    let mut idle = 0;
    for _ in 0..MOST_STEPS {
        let mut direction = downhill(&slope, &memory);
        let mut fall = dot(&direction, &slope);
        if !(fall < 0.0) {
            memory.clear();
            direction = slope.iter().map(|s| -s).collect();
            fall = dot(&direction, &slope);
        }
        let Some((next, found, steep)) = step(&at, least, fall, &direction, &value) else {
            if memory.is_empty() {
                break;
            }
            memory.clear();
            continue;
        };
        let moved: Vec<f64> = next.iter().zip(&at).map(|(new, old)| new - old).collect();
        let turned: Vec<f64> = steep.iter().zip(&slope).map(|(new, old)| new - old).collect();
        if dot(&moved, &turned) > 0.0 {
            memory.push_back((moved, turned));
            if memory.len() > MEMORY {
                memory.pop_front();
            }
        }
        idle = if least - found <= GAIN * least.abs().max(1.0) { idle + 1 } else { 0 };
        (at, least, slope) = (next, found, steep);
        if idle == 3 {
            break;
        }
    }
    at
}

/// A step that falls by a fair share of what the slope promises and leaves most of the slope behind; where none does both within
/// a few tries, the longest that did the first.
///
/// # Reference  [LewisOverton13] Algorithm 2.6: bisection for the weak Wolfe conditions
#[allow(clippy::type_complexity)] // A point, its value and its slope.
fn step(
    at: &[f64],
    least: f64,
    fall: f64,
    direction: &[f64],
    value: &impl Fn(&[f64]) -> (f64, Vec<f64>),
) -> Option<(Vec<f64>, f64, Vec<f64>)> {
    let (mut short, mut long, mut length) = (0.0, f64::INFINITY, 1.0);
    let mut fair = None;
    for _ in 0..50 {
        let next: Vec<f64> = at.iter().zip(direction).map(|(x, d)| x + length * d).collect();
        let (found, slope) = value(&next);
        if !(found.is_finite() && found <= least + 1e-4 * length * fall) {
            long = length;
        } else {
            let is_flat = dot(&slope, direction) >= 0.9 * fall;
            fair = Some((next, found, slope));
            if is_flat {
                break;
            }
            short = length;
        }
        length = if long.is_finite() { 0.5 * (short + long) } else { 2.0 * length };
    }
    fair
}

/// The slope, turned by what is remembered of the curvature.
fn downhill(slope: &[f64], memory: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut direction: Vec<f64> = slope.iter().map(|s| -s).collect();
    let mut shares = Vec::new();
    for (moved, turned) in memory.iter().rev() {
        let share = dot(moved, &direction) / dot(moved, turned);
        add(&mut direction, -share, turned);
        shares.push(share);
    }
    if let Some((moved, turned)) = memory.back() {
        let scale = dot(moved, turned) / dot(turned, turned);
        direction.iter_mut().for_each(|d| *d *= scale);
    }
    for ((moved, turned), share) in memory.iter().zip(shares.into_iter().rev()) {
        let other = dot(turned, &direction) / dot(moved, turned);
        add(&mut direction, share - other, moved);
    }
    direction
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn add(to: &mut [f64], times: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(x, y)| *x += times * y);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_walked_to_its_end() {
        // Rosenbrock's function, least at (1, 1).
        let valley = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            (a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * b * x[0], 200.0 * b])
        };
        let end = minimise(vec![-1.2, 1.0], valley);
        assert!((end[0] - 1.0).abs() < 1e-6 && (end[1] - 1.0).abs() < 1e-6, "{end:?}");
    }
}
