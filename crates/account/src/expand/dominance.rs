//! Which of two compositions leaks at least as much as the other, where that can be seen without any accounting: so that the
//! worst of many alternatives is looked for among few.

use super::part::{Composition, Part};

/// Adds an alternative unless another one leaks at least as much, and drops those that it makes superfluous.
///
/// # Promise  The worst of the list leaks as much as the worst of all that were added
pub(super) fn keep_worst(all: &mut Vec<Composition>, option: Composition) {
    if all.iter().any(|known| composition_dominates(known, &option)) {
        return;
    }
    all.retain(|known| !composition_dominates(&option, known));
    all.push(option);
}

/// Whether each part of the second can be told off against one of the first, in the order written.
fn composition_dominates(first: &Composition, second: &Composition) -> bool {
    first.parts.len() == second.parts.len()
        && first
            .parts
            .iter()
            .zip(&second.parts)
            .all(|((a, uses), (b, fewer))| uses >= fewer && dominates(a, b))
}

/// Whether the first part leaks at least as much as the second: some channel makes the second's outputs of the first's, for
/// all datasets at once. False where that is not known.
///
/// # Promise  A larger shift of log-concave noise has the more powerful tests, which is the same [Blackwell53]; a wider
/// declaration holds for all that the narrower one does; answering at random more often is a channel. On a Poisson batch a
/// smaller rate is the channel that forgets the batch for an empty one with the chance 1 − q′/q, and a Gaussian of smaller
/// shift is one that scales and adds noise, whichever of its centres is the true one
fn dominates(first: &Part, second: &Part) -> bool {
    match (first, second) {
        (Part::Gaussian { mu }, Part::Gaussian { mu: less }) => mu >= less,
        (Part::Laplace { epsilon }, Part::Laplace { epsilon: less })
        | (Part::BoundedRange { epsilon }, Part::BoundedRange { epsilon: less }) => epsilon >= less,
        (Part::Integer { noise, shift }, Part::Integer { noise: same, shift: less }) => {
            noise == same && shift >= less
        }
        (
            Part::RandomizedResponse { buckets, noise, neighbours },
            Part::RandomizedResponse { buckets: same, noise: more, neighbours: alike },
        ) => buckets == same && neighbours == alike && noise <= more,
        (Part::Approximate { epsilon, delta }, Part::Approximate { epsilon: less, delta: smaller }) => {
            epsilon >= less && delta >= smaller
        }
        (Part::Zcdp { rho }, Part::Zcdp { rho: less }) => rho >= less,
        (
            Part::PoissonSampled { rate, part, neighbours },
            Part::PoissonSampled { rate: lower, part: other, neighbours: alike },
        ) => {
            let channel = matches!(
                **part,
                Part::Gaussian { .. } | Part::RandomizedResponse { .. } | Part::Approximate { .. }
            );
            rate >= lower && neighbours == alike && (part == other || channel && dominates(part, other))
        }
        _ => first == second,
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::Neighbours;
    use super::*;
    use crate::{Method, Question};
    use veracity_core::{Adjacency, Mechanism};
    use veracity_testkit::short::{self, count, noise};

    fn sgd(rate: f64, sigma: f64) -> Mechanism {
        short::dp_sgd(rate, sigma, 3)
    }

    fn kinds() -> Vec<Vec<Mechanism>> {
        let pure = |epsilon: f64| short::pure(epsilon);
        let sensitivity = |many| count(many);
        vec![
            [0.9, 1.3, 4.0].map(|s| Mechanism::Gaussian { noise_multiplier: noise(s) }).into(),
            [0.9, 1.3, 4.0].map(|s| Mechanism::Laplace { noise_multiplier: noise(s) }).into(),
            [3, 2, 1]
                .map(|d| Mechanism::DiscreteGaussian { sigma: noise(2.5), sensitivity: sensitivity(d) })
                .into(),
            [3, 2, 1]
                .map(|d| Mechanism::DiscreteLaplace { scale: noise(2.5), sensitivity: sensitivity(d) })
                .into(),
            [1.2, 0.5, 0.1].map(pure).into(),
            vec![sgd(0.2, 0.8), sgd(0.2, 1.1), sgd(0.1, 1.1), sgd(0.1, 2.0)],
        ]
    }

    fn delta(mechanism: &Mechanism, adjacency: Adjacency, epsilon: f64) -> (f64, f64) {
        let question = Question { mechanism: mechanism.clone(), adjacency };
        let found = crate::delta_at(&question, short::epsilon(epsilon), Method::Exact).unwrap();
        (found.lower().unwrap().0.get(), found.upper().unwrap().0.get())
    }

    /// What is said to leak at least as much has no smaller δ at any ε, by the certified sides, under every adjacency.
    #[test]
    fn what_dominates_never_leaks_less() {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            for kind in kinds() {
                for pair in kind.windows(2) {
                    let [more, less] =
                        [&pair[0], &pair[1]].map(|m| super::super::expand(m, adjacency).unwrap());
                    assert!(
                        composition_dominates(&more[0], &less[0])
                            && !composition_dominates(&less[0], &more[0])
                    );
                    for epsilon in [0.0, 0.03, 0.3, 0.9, 2.0] {
                        let (upper, lower) =
                            (delta(&pair[0], adjacency, epsilon).1, delta(&pair[1], adjacency, epsilon).0);
                        assert!(upper >= lower, "{adjacency} {epsilon}: {:?} {upper} {lower}", pair[0]);
                    }
                }
            }
        }
    }

    /// The worst of parallel parts, each asked apart, is what they leak together: pruned or not.
    #[test]
    fn parallel_parts_leak_what_the_worst_of_them_does() {
        let delta = short::delta(1e-5);
        let ask = |mechanism: Mechanism| {
            let question = Question { mechanism, adjacency: Adjacency::AddRemove };
            let found = crate::epsilon_at(&question, delta, Method::Exact).unwrap();
            (found.lower().unwrap().0.get(), found.upper().unwrap().0.get())
        };
        let mixed = vec![sgd(0.2, 1.5), sgd(0.1, 1.1), Mechanism::Laplace { noise_multiplier: noise(3.0) }];
        for parts in kinds().into_iter().chain([mixed]) {
            let apart = parts.iter().map(|part| ask(part.clone()));
            let worst = apart.fold((0.0f64, 0.0f64), |w, e| (w.0.max(e.0), w.1.max(e.1)));
            let together = ask(Mechanism::Parallel(parts));
            assert!(together.0 <= worst.1 && worst.0 <= together.1, "{together:?} {worst:?}");
        }
    }

    #[test]
    fn pairs_that_are_in_order_do_not_multiply_out() {
        let pair =
            |i: u32| Mechanism::Parallel(vec![sgd(0.1, 1.0 + f64::from(i)), sgd(0.1, 2.0 + f64::from(i))]);
        let plan = Mechanism::Composed((0..30).map(pair).collect());
        assert_eq!(super::super::expand(&plan, Adjacency::AddRemove).unwrap().len(), 1);
        // Neither of two that differ in kind, or each in its own way, makes the other superfluous.
        let crossed = Mechanism::Parallel(vec![sgd(0.2, 1.5), sgd(0.1, 1.1)]);
        assert_eq!(super::super::expand(&crossed, Adjacency::AddRemove).unwrap().len(), 2);
        let sampled = |neighbours| Part::PoissonSampled {
            rate: 0.1,
            part: Box::new(Part::Gaussian { mu: 1.0 }),
            neighbours,
        };
        assert!(!dominates(&sampled(Neighbours::Replaced), &sampled(Neighbours::Present)));
    }
}
