//! Laws that the exact accountant must keep whatever is asked: on random questions, always the same ones.
//!
//! "Never more" compares the certified sides: the lower bound of what should be less with the upper bound of the other.

use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use veracity_account::{Method, Profile, Question, delta_at, epsilon_at};
use veracity_core::numerics::normal;
use veracity_core::{Adjacency, Buckets, Mechanism};
use veracity_testkit::short::{self, count, dp_sgd, gaussian, laplace, probability};

/// Holds a property on the same random cases each time. At most half as many may be refused: an accountant that refuses is
/// never wrong, and of no use.
fn hold<S: Strategy>(cases: u32, strategy: S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig {
        cases,
        max_global_rejects: cases / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(&strategy, law) {
        panic!("{failure}");
    }
}

fn question(mechanism: Mechanism, adjacency: Adjacency) -> Question {
    Question { mechanism, adjacency }
}

fn add_remove(mechanism: Mechanism) -> Question {
    question(mechanism, Adjacency::AddRemove)
}

/// Certified ε from both sides, which are in order. A refusal breaks no law, so it only rejects the case.
fn epsilons(question: &Question, delta: f64) -> Result<(f64, f64), TestCaseError> {
    let found = Profile::new(question).unwrap().epsilon_at(short::delta(delta));
    let found = found.map_err(|refusal| TestCaseError::reject(refusal.to_string()))?;
    let (lower, upper) = (found.lower.0.get(), found.upper.0.get());
    prop_assert!(lower <= upper, "{lower} > {upper} for {question:?} at delta {delta:e}");
    Ok((lower, upper))
}

/// Certified δ from both sides, which are in order. Refusals as for ε.
fn deltas(question: &Question, epsilon: f64) -> Result<(f64, f64), TestCaseError> {
    let found = Profile::new(question).unwrap().delta_at(short::epsilon(epsilon));
    let found = found.map_err(|refusal| TestCaseError::reject(refusal.to_string()))?;
    let (lower, upper) = (found.lower.0.get(), found.upper.0.get());
    prop_assert!(lower <= upper, "{lower} > {upper} for {question:?} at epsilon {epsilon}");
    Ok((lower, upper))
}

/// The first question never leaks more than the second, as ε at a δ and as δ at an ε.
fn never_more(less: &Question, more: &Question, delta: f64) -> Result<(), TestCaseError> {
    let (lower, upper) = (epsilons(less, delta)?.0, epsilons(more, delta)?.1);
    prop_assert!(lower <= upper, "epsilon {lower} > {upper} at delta {delta:e}: {less:?} against {more:?}");
    let (low, high) = (deltas(less, lower)?.0, deltas(more, lower)?.1);
    prop_assert!(low <= high, "delta {low:e} > {high:e} at epsilon {lower}: {less:?} against {more:?}");
    Ok(())
}

/// Both questions have the same answer: the brackets overlap.
fn alike(one: &Question, other: &Question, delta: f64) -> Result<(), TestCaseError> {
    let (here, there) = (epsilons(one, delta)?, epsilons(other, delta)?);
    prop_assert!(overlap(here, there), "{here:?} {there:?} at delta {delta:e}: {one:?} and {other:?}");
    let epsilon = here.1;
    let (here, there) = (deltas(one, epsilon)?, deltas(other, epsilon)?);
    prop_assert!(overlap(here, there), "{here:?} {there:?} at epsilon {epsilon}: {one:?} and {other:?}");
    Ok(())
}

fn overlap(one: (f64, f64), other: (f64, f64)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

/// One noisy mechanism: continuous, integer or sampled, with about the same leak for the same noise.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Gaussian,
    Laplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Sampled(f64),
    SampledIntegers(f64),
}

impl Kind {
    fn with(self, noise: f64) -> Mechanism {
        let multiplier = |x: f64| short::noise(x);
        match self {
            Kind::Gaussian => gaussian(noise),
            Kind::Laplace => laplace(noise),
            Kind::DiscreteGaussian => {
                Mechanism::DiscreteGaussian { sigma: multiplier(2.0 * noise), sensitivity: count(2) }
            }
            Kind::DiscreteLaplace => {
                Mechanism::DiscreteLaplace { scale: multiplier(3.0 * noise), sensitivity: count(3) }
            }
            Kind::Sampled(rate) => dp_sgd(rate, noise, 1),
            Kind::SampledIntegers(rate) => Mechanism::PoissonSampled {
                rate: short::rate(rate),
                mechanism: Box::new(Kind::DiscreteLaplace.with(noise)),
            },
        }
    }
}

fn rates() -> impl Strategy<Value = f64> {
    (-4.0..-0.05f64).prop_map(|log| 10f64.powf(log))
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Gaussian),
        Just(Kind::Laplace),
        Just(Kind::DiscreteGaussian),
        Just(Kind::DiscreteLaplace),
        rates().prop_map(Kind::Sampled),
        rates().prop_map(Kind::SampledIntegers),
    ]
}

fn noises() -> impl Strategy<Value = f64> {
    (-0.4..1.3f64).prop_map(|log| 10f64.powf(log))
}

fn steps() -> impl Strategy<Value = u64> {
    (0.0..4.0f64).prop_map(|log| 10f64.powf(log) as u64)
}

fn few() -> impl Strategy<Value = u64> {
    1u64..20
}

fn slacks() -> impl Strategy<Value = f64> {
    (-12.0..-2.0f64).prop_map(|log| 10f64.powf(log))
}

#[test]
fn more_noise_never_costs_more() {
    hold(30, (kinds(), noises(), 1.0..3.0f64, few(), slacks()), |(kind, noise, more, times, delta)| {
        let with = |noise| add_remove(kind.with(noise).repeated(count(times)));
        never_more(&with(noise * more), &with(noise), delta)
    });
}

#[test]
fn more_steps_never_cost_less() {
    hold(60, (kinds(), noises(), steps(), 0u64..50, slacks()), |(kind, noise, times, extra, delta)| {
        let with = |times| add_remove(kind.with(noise).repeated(count(times)));
        never_more(&with(times), &with(times + extra), delta)
    });
}

#[test]
fn sampling_never_hurts() {
    hold(20, (rates(), noises(), steps(), slacks()), |(rate, noise, times, delta)| {
        let whole = add_remove(gaussian(noise).repeated(count(times)));
        never_more(&add_remove(dp_sgd(rate, noise, times)), &whole, delta)
    });
}

#[test]
fn larger_batches_never_cost_less() {
    hold(8, (rates(), 0.1..1.0f64, noises(), steps(), slacks()), |(rate, share, noise, times, delta)| {
        let with = |rate| add_remove(dp_sgd(rate, noise, times));
        never_more(&with(rate * share), &with(rate), delta)
    });
}

#[test]
fn order_does_not_matter() {
    let pairs = (kinds(), noises(), few(), kinds(), noises(), few(), slacks());
    hold(10, pairs, |(first, noise, times, second, other, often, delta)| {
        let first = first.with(noise).repeated(count(times));
        let second = second.with(other).repeated(count(often));
        let there = Mechanism::Composed(vec![first.clone(), second.clone()]);
        let back = Mechanism::Composed(vec![second, first]);
        alike(&add_remove(there), &add_remove(back), delta)
    });
}

#[test]
fn a_repetition_is_the_list_of_its_uses() {
    hold(5, (kinds(), noises(), few(), slacks()), |(kind, noise, times, delta)| {
        let once = kind.with(noise);
        let list = Mechanism::Composed(vec![once.clone(); times as usize]);
        alike(&add_remove(once.repeated(count(times))), &add_remove(list), delta)
    });
}

/// A list whose parts differ in the last digits is gathered differently, so takes another way to the same answer.
#[test]
fn parts_that_hardly_differ_leak_as_equal_ones() {
    hold(10, (kinds(), noises(), 2u64..8, slacks()), |(kind, noise, times, delta)| {
        let slightly = |i: u64| kind.with(noise * (1.0 + 1e-13 * i as f64));
        let list = Mechanism::Composed((0..times).map(slightly).collect());
        let (lower, upper) = epsilons(&add_remove(list), delta)?;
        let (low, high) = epsilons(&add_remove(kind.with(noise).repeated(count(times))), delta)?;
        prop_assert!(
            lower <= high * (1.0 + 1e-9) && low <= upper * (1.0 + 1e-9),
            "{lower} {upper} {low} {high}"
        );
        Ok(())
    });
}

/// Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), good to 1e-12 where the two terms do not cancel.
fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    let second = normal::log_cdf(-0.5 * mu - epsilon / mu) + epsilon;
    normal::log_cdf(0.5 * mu - epsilon / mu).exp() - second.exp()
}

#[test]
fn gaussians_are_bracketed_around_their_closed_form() {
    hold(200, (noises(), steps(), noises(), steps(), slacks()), |(noise, times, other, often, delta)| {
        let first = gaussian(noise).repeated(count(times));
        let second = gaussian(other).repeated(count(often));
        let question = add_remove(Mechanism::Composed(vec![first, second]));
        let mu = (times as f64 / (noise * noise) + often as f64 / (other * other)).sqrt();
        let (lower, upper) = epsilons(&question, delta)?;
        // ε moves by about Δδ/δ over the saddle, so a relative 1e-9 of ε is more than the error of the formula.
        prop_assert!(gaussian_delta(mu, upper * (1.0 + 1e-9) + 1e-9) <= delta);
        prop_assert!(lower < 1e-6 || gaussian_delta(mu, lower * (1.0 - 1e-9)) >= delta);
        prop_assert!(upper - lower <= 1e-6 * upper, "{lower} {upper}");
        Ok(())
    });
}

#[test]
fn a_sampled_gaussian_beside_a_whole_one_stays_between() {
    hold(40, (rates(), noises(), steps(), noises(), slacks()), |(rate, noise, times, other, delta)| {
        let sampled = dp_sgd(rate, noise, times);
        let both = add_remove(Mechanism::Composed(vec![sampled.clone(), gaussian(other)]));
        never_more(&add_remove(sampled), &both, delta)?;
        never_more(&add_remove(gaussian(other)), &both, delta)
    });
}

#[test]
fn exact_is_never_above_renyi() {
    hold(40, (kinds(), noises(), steps(), slacks()), |(kind, noise, times, delta)| {
        let question = add_remove(kind.with(noise).repeated(count(times)));
        let Ok(renyi) = epsilon_at(&question, short::delta(delta), Method::Rdp) else { return Ok(()) };
        let renyi = renyi.upper().unwrap().0.get();
        let (lower, upper) = epsilons(&question, delta)?;
        prop_assert!(
            lower <= renyi && upper <= renyi * (1.0 + 1e-5),
            "{question:?} {delta}: {upper} {renyi}"
        );
        Ok(())
    });
}

#[test]
fn exact_and_the_grid_agree() {
    hold(3, (kinds(), noises(), 1u64..300, -8.0..-2.0f64), |(kind, noise, times, log_delta)| {
        let question = add_remove(kind.with(noise).repeated(count(times)));
        let delta = 10f64.powf(log_delta);
        let (lower, upper) = epsilons(&question, delta)?;
        if let Ok(grid) = epsilon_at(&question, short::delta(delta), Method::Pld) {
            let (low, high) = (grid.lower().unwrap().0.get(), grid.upper().unwrap().0.get());
            prop_assert!(
                lower <= high && low <= upper,
                "{question:?} {delta:e}: {lower} {upper}, {low} {high}"
            );
        }
        let asked = short::epsilon(0.5 * (lower + upper));
        let (lower, upper) = deltas(&question, asked.get())?;
        if let Ok(grid) = delta_at(&question, asked, Method::Pld) {
            let (low, high) = (grid.lower().unwrap().0.get(), grid.upper().unwrap().0.get());
            prop_assert!(
                lower <= high && low <= upper,
                "{question:?} {asked}: {lower} {upper}, {low} {high}"
            );
        }
        Ok(())
    });
}

#[test]
fn delta_undoes_epsilon() {
    hold(24, (kinds(), noises(), steps(), slacks()), |(kind, noise, times, delta)| {
        let question = add_remove(kind.with(noise).repeated(count(times)));
        let (lower, upper) = epsilons(&question, delta)?;
        let (least, most) = (deltas(&question, upper)?.0, deltas(&question, lower)?.1);
        prop_assert!(least <= delta, "{question:?}: delta {least:e} at {upper}, asked {delta:e}");
        prop_assert!(
            lower == 0.0 || delta <= most,
            "{question:?}: delta {most:e} at {lower}, asked {delta:e}"
        );
        Ok(())
    });
}

#[test]
fn a_replaced_record_never_costs_less_than_an_added_one() {
    hold(10, (rates(), noises(), steps(), slacks()), |(rate, noise, times, delta)| {
        let mechanism = dp_sgd(rate, noise, times);
        never_more(&add_remove(mechanism.clone()), &question(mechanism, Adjacency::ReplaceOne), delta)
    });
}

#[test]
fn a_blank_record_costs_as_much_as_an_absent_one() {
    hold(6, (rates(), noises(), steps(), slacks()), |(rate, noise, times, delta)| {
        let mechanism = dp_sgd(rate, noise, times);
        let absent = epsilons(&add_remove(mechanism.clone()), delta)?;
        prop_assert_eq!(absent, epsilons(&question(mechanism, Adjacency::ZeroOut), delta)?);
        Ok(())
    });
}

#[test]
fn parallel_parts_never_cost_more_than_composed_ones() {
    let pairs = (kinds(), noises(), few(), kinds(), noises(), few(), slacks());
    hold(6, pairs, |(first, noise, times, second, other, often, delta)| {
        let parts = vec![first.with(noise).repeated(count(times)), second.with(other).repeated(count(often))];
        let apart = add_remove(Mechanism::Parallel(parts.clone()));
        never_more(&apart, &add_remove(Mechanism::Composed(parts.clone())), delta)?;
        never_more(&add_remove(parts[0].clone()), &apart, delta)
    });
}

#[test]
fn a_group_is_a_larger_shift() {
    hold(60, (noises(), few(), 1u64..10, slacks()), |(noise, times, size, delta)| {
        let group = |mechanism: Mechanism| {
            add_remove(Mechanism::Group { size: count(size), mechanism: Box::new(mechanism) })
        };
        let wider = noise * size as f64;
        alike(
            &group(gaussian(wider).repeated(count(times))),
            &add_remove(gaussian(noise).repeated(count(times))),
            delta,
        )?;
        alike(
            &group(laplace(wider).repeated(count(times))),
            &add_remove(laplace(noise).repeated(count(times))),
            delta,
        )
    });
}

#[test]
fn randomized_response_costs_more_replaced_than_blank() {
    hold(40, (2u32..9, 0.05..0.95f64, steps(), slacks()), |(buckets, noise, times, delta)| {
        let (buckets, noise) = (Buckets::new(buckets).unwrap(), probability(noise));
        let mechanism = Mechanism::RandomizedResponse { buckets, noise }.repeated(count(times));
        let blank = question(mechanism.clone(), Adjacency::ZeroOut);
        never_more(&blank, &question(mechanism, Adjacency::ReplaceOne), delta)
    });
}

#[test]
fn declared_guarantees_add_up_at_most() {
    let declared = (0.01..2.0f64, -12.0..-5.0f64, few(), slacks());
    hold(60, declared, |(epsilon, log_delta, times, delta)| {
        let slack = 10f64.powf(log_delta);
        let mechanism =
            Mechanism::Approximate { epsilon: short::epsilon(epsilon), delta: short::delta(slack) };
        let question = add_remove(mechanism.repeated(count(times)));
        let (n, total) = (times as f64, times as f64 * slack + delta);
        prop_assume!(total < 1.0);
        let (lower, upper) = epsilons(&question, total)?;
        // The upper bound of a search, not of a sum: it may pass n ε by the width of its contour.
        prop_assert!(lower <= upper && upper <= n * epsilon * (1.0 + 1e-6), "{upper} {}", n * epsilon);
        Ok(())
    });
}
