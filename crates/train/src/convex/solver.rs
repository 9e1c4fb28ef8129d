//! Newton's method with conjugate gradients inside and a line search around: deterministic, and done only when certified.

use super::objective::{Objective, Point, dot, norm};
use veracity_core::Refusal;

/// Newton steps; ten are usual.
const MOST_STEPS: usize = 300;
/// Conjugate-gradient steps within one of them.
const MOST_INNER: usize = 2000;
/// Halvings of a step: below 2^-40 it moves nothing.
const MOST_HALVINGS: usize = 40;

/// Weights at which the true gradient is certainly no longer than `tolerance`.
///
/// The objective rises by Λ per unit of length squared, so what is returned lies within `tolerance`/Λ of its minimiser.
///
/// # Promise  The bound on the gradient includes the rounding of its computation
/// # Assumes  That it does not fail is not part of any guarantee: a strongly convex function has a minimiser and Newton's
/// method finds it, but a refusal for want of digits would depend on the data
pub(super) fn minimise(objective: &Objective<'_>, tolerance: f64) -> Result<Vec<f64>, Refusal> {
    let mut point = objective.at(vec![0.0; objective.linear.len()]);
    let first = norm(&point.gradient);
    for _ in 0..MOST_STEPS {
        if objective.gradient_bound(&point) <= tolerance {
            return Ok(point.weights);
        }
        // Ever sharper as the gradient shrinks, for faster than linear convergence.
        let forcing = (norm(&point.gradient) / first).sqrt().clamp(1e-6, 0.1);
        let direction = newton_direction(objective, &point, forcing);
        match step(objective, &point, &direction) {
            Some(next) => point = next,
            None => break,
        }
    }
    Err(Refusal::NotCertified(
        "the minimizer could not be certified to the tolerance, so nothing was released; use more regularisation or fewer records"
            .into(),
    ))
}

/// The p with Hessian · p = −gradient, up to `forcing` × the gradient.
fn newton_direction(objective: &Objective<'_>, at: &Point, forcing: f64) -> Vec<f64> {
    let mut direction = vec![0.0; at.weights.len()];
    let mut residual: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
    let mut search = residual.clone();
    let mut square = dot(&residual, &residual);
    let enough = forcing * forcing * square;
    for _ in 0..MOST_INNER {
        let bent = objective.bend(at, &search);
        let length = square / dot(&search, &bent);
        for ((p, s), (r, h)) in direction.iter_mut().zip(&search).zip(residual.iter_mut().zip(&bent)) {
            *p += length * s;
            *r -= length * h;
        }
        let next = dot(&residual, &residual);
        if !(next > enough) {
            break;
        }
        for (s, r) in search.iter_mut().zip(&residual) {
            *s = r + next / square * *s;
        }
        square = next;
    }
    direction
}

/// The first of the steps 1, ½, ¼, … that lowers the value enough. Near the minimiser, where values can no longer be told
/// apart, the slope along the step says so: a convex function that still falls at its end, or all but, fell on the way.
fn step(objective: &Objective<'_>, at: &Point, direction: &[f64]) -> Option<Point> {
    let descent = dot(&at.gradient, direction);
    let mut length = 1.0;
    for _ in 0..MOST_HALVINGS {
        let weights = at.weights.iter().zip(direction).map(|(w, p)| w + length * p).collect();
        let next = objective.at(weights);
        let same = (next.value - at.value).abs() <= 1e-13 * (at.magnitude + next.magnitude);
        let lower = next.value <= at.value + 1e-4 * length * descent;
        let falls = dot(&next.gradient, direction) <= 0.1 * descent.abs();
        let accepted = if same { falls } else { lower };
        if accepted {
            return Some(next);
        }
        length *= 0.5;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{BoundedFeatures, ConvexLoss, Intercept, Manner, RowBound, Softness};
    use super::*;
    use crate::{Dataset, Labels};
    use veracity_core::ClipNorm;

    fn data(records: usize, width: usize) -> Dataset {
        let features =
            (0..records * width).map(|i| ((i * 7919 + i / 13) % 257) as f32 / 64.0 - 2.0).collect();
        let of = (0..records).map(|i| u32::from(i * 31 % 7 < 3)).collect();
        Dataset::new(features, width, Labels::Classes { of, classes: 2 }).unwrap()
    }

    #[test]
    fn newton_meets_plain_gradient_descent() {
        let data = data(60, 5);
        let norm_of = |x| ClipNorm::new(x).unwrap();
        let rows = RowBound::new(norm_of(1.0), Intercept::Constant(norm_of(0.5)), Manner::Clip).unwrap();
        let features = BoundedFeatures::new(&data, rows);
        let targets: Vec<f64> = (0..60).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let linear = [0.3, -0.2, 0.1, 0.0, 0.5, -0.7];
        let losses = [
            ConvexLoss::Logistic,
            ConvexLoss::HuberSvm { softness: Softness::new(0.25).unwrap() },
            ConvexLoss::Squared { labels: norm_of(1.0), residual: norm_of(1.25) },
        ];
        for loss in losses {
            let objective =
                Objective { features: &features, targets: &targets, loss, penalty: 3.0, linear: &linear };
            let fast = minimise(&objective, 1e-9).unwrap();
            // The slow twin: steps of 1/smoothness down the gradient, until it is 1e-12.
            let rate = 1.0 / (3.0 + 60.0 * loss.curvature_bound());
            let mut slow = vec![0.0; 6];
            for _ in 0..20_000 {
                let point = objective.at(slow.clone());
                if norm(&point.gradient) <= 1e-12 {
                    break;
                }
                slow.iter_mut().zip(&point.gradient).for_each(|(w, g)| *w -= rate * g);
            }
            assert!(
                norm(&objective.at(slow.clone()).gradient) <= 1e-12,
                "{loss:?}: the twin is not there yet"
            );
            let apart = fast.iter().zip(&slow).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            assert!(apart <= 1e-9 / 3.0 + 1e-12, "{loss:?}: {apart}");
        }
    }

    #[test]
    fn the_certified_gradient_is_not_below_one_in_longer_arithmetic() {
        let data = data(700, 9);
        let rows = RowBound::new(ClipNorm::new(1.0).unwrap(), Intercept::Absent, Manner::Clip).unwrap();
        let features = BoundedFeatures::new(&data, rows);
        let targets = vec![0.7; 700];
        let clip = |x| ClipNorm::new(x).unwrap();
        let loss = ConvexLoss::Squared { labels: clip(1.0), residual: clip(4.0) };
        let objective =
            Objective { features: &features, targets: &targets, loss, penalty: 1.0, linear: &[0.0; 9] };
        let weights = minimise(&objective, 1e-9).unwrap();
        let point = objective.at(weights.clone());
        // Sums in two floats; the products that go in are rounded once, which the bound covers thrice over.
        let mut truth = [(0.0, 0.0); 9];
        for record in 0..700 {
            let row = features.row(record);
            let mut score = (-0.7, 0.0);
            row.iter().zip(&weights).for_each(|(x, w)| add_product(&mut score, *x, *w));
            row.iter().zip(&mut truth).for_each(|(x, t)| add_product(t, score.0 + score.1, *x));
        }
        truth.iter_mut().zip(&weights).for_each(|(t, w)| add_product(t, 1.0, *w));
        let long = truth.iter().map(|t| (t.0 + t.1).powi(2)).sum::<f64>().sqrt();
        let bound = objective.gradient_bound(&point);
        assert!(long <= bound && bound <= 1e-9, "{long} {bound}");
        // The computed norm alone would not do: rounding is of its size.
        let apart: f64 = truth.iter().zip(&point.gradient).map(|(t, g)| (t.0 + t.1 - g).powi(2)).sum();
        assert!(apart.sqrt() > 0.0 && apart.sqrt() <= bound - norm(&point.gradient));
    }

    /// sum += a·b without losing a digit of the product or the sum, for a while.
    fn add_product(sum: &mut (f64, f64), a: f64, b: f64) {
        let high = a * b;
        let low = a.mul_add(b, -high);
        let total = sum.0 + high;
        let back = total - sum.0;
        sum.1 += (sum.0 - (total - back)) + (high - back) + low;
        sum.0 = total;
    }

    #[test]
    fn a_tolerance_below_the_rounding_is_refused_rather_than_believed() {
        let data = data(300, 4);
        let rows = RowBound::new(ClipNorm::new(1.0).unwrap(), Intercept::Absent, Manner::Clip).unwrap();
        let features = BoundedFeatures::new(&data, rows);
        let targets = vec![1.0; 300];
        let objective = Objective {
            features: &features,
            targets: &targets,
            loss: ConvexLoss::Logistic,
            penalty: 1.0,
            linear: &[0.0; 4],
        };
        let refusal = minimise(&objective, 1e-15).unwrap_err().to_string();
        assert!(refusal.starts_with("the minimizer could not be certified"), "{refusal}");
    }
}
