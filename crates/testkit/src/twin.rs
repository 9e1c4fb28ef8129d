//! Slow, obvious twins: product laws by enumerating every outcome, with nothing clever in between.

/// One outcome of a mechanism under two datasets: its privacy loss, and its chance under the first of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Atom {
    /// log of the ratio of chances; infinite where the second chance is zero.
    pub loss: f64,
    /// The chance under the first dataset.
    pub mass: f64,
}

/// The privacy loss law of two finite distributions on the same outcomes.
pub fn law(first: &[f64], second: &[f64]) -> Vec<Atom> {
    assert_eq!(first.len(), second.len(), "one chance per outcome in each world");
    let pairs = first.iter().zip(second).filter(|(p, _)| **p > 0.0);
    pairs.map(|(&p, &q)| Atom { loss: (p / q).ln(), mass: p }).collect()
}

/// δ(ε) of independent mechanisms used together: Σ over every combination of outcomes of mass × (1 − e^{ε−loss})₊.
///
/// # Numerics  Plain floats; the cost is the product of the lengths, so keep laws short and few.
pub fn delta_of_product(laws: &[&[Atom]], epsilon: f64) -> f64 {
    fn walk(laws: &[&[Atom]], loss: f64, mass: f64, epsilon: f64) -> f64 {
        match laws.split_first() {
            None if loss > epsilon => mass * -(epsilon - loss).exp_m1(),
            None => 0.0,
            Some((first, rest)) => {
                first.iter().map(|atom| walk(rest, loss + atom.loss, mass * atom.mass, epsilon)).sum()
            }
        }
    }
    walk(laws, 0.0, 1.0, epsilon)
}

/// δ(ε) of two finite distributions straight from its definition: the most that one set can gain, Σ (p − e^ε q)₊.
pub fn hockey_stick(first: &[f64], second: &[f64], epsilon: f64) -> f64 {
    first.iter().zip(second).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use veracity_core::{Adjacency, Mechanism};

    #[test]
    fn the_law_and_the_definition_agree() {
        let (p, q) = ([0.5, 0.3, 0.2, 0.0], [0.2, 0.3, 0.4, 0.1]);
        for epsilon in [0.0, 0.3, 0.9, 2.0] {
            let from_law = delta_of_product(&[&law(&p, &q)], epsilon);
            assert!((from_law - hockey_stick(&p, &q, epsilon)).abs() < 1e-15);
        }
    }

    #[test]
    fn a_product_by_enumeration_meets_the_golden_randomized_response() {
        let mut seen = 0;
        for golden in golden::lattice() {
            let Mechanism::Repeated { times, mechanism } = &golden.mechanism else { continue };
            let Mechanism::RandomizedResponse { buckets, noise } = **mechanism else { continue };
            if times.get() != 10 || buckets.get() > 3 || golden.adjacency != Adjacency::ReplaceOne {
                continue;
            }
            let k = f64::from(buckets.get());
            let other = noise.get() / k;
            let mut first = vec![other; buckets.get() as usize];
            let mut second = first.clone();
            first[0] = 1.0 - noise.get() + other;
            second[1] = first[0];
            let once = law(&first, &second);
            let found = delta_of_product(&[once.as_slice(); 10], golden.epsilon);
            let delta = golden.delta.get();
            // ε to half an ulp near the largest loss leaves δ an absolute error of about 1e-15.
            assert!((found - delta).abs() <= 1e-12 * delta + 1e-14, "{}: {found}", golden.row);
            seen += 1;
        }
        assert!(seen >= 4, "{seen} rows");
    }
}
