//! What the sceptic found to be false and was mended: each test was seen to fail on the code before.

use crate::sceptic::ask::answer;
use veracity_account::{Method, Question, delta_at};
use veracity_core::{Adjacency, Epsilon, Mechanism};
use veracity_testkit::golden;
use veracity_testkit::sceptic::{
    judge::{Answer, judge},
    questions::{Asked, Wanted},
    tally::Tally,
};
use veracity_testkit::short::{self, count, noise};

/// Every golden row of a fault of issue 12 lies between the ends found for it, which are no wider than promised.
fn mended(number: u32) {
    let rows = golden::faults().into_iter().filter(|fault| fault.number == number);
    let mut wrong = Vec::new();
    for fault in rows {
        let asked = Asked {
            kind: "fault",
            mechanism: fault.mechanism,
            adjacency: fault.adjacency,
            wanted: fault.wanted,
        };
        match answer(&asked, Method::Exact) {
            Answer::Between(lower, upper) => {
                wrong.extend(fault.truth.outside(lower, upper).map(|why| format!("{}: {why}", fault.row)));
                if upper - lower > 1e-6 * upper && upper - lower > 1e-12 {
                    wrong.push(format!("{}: [{lower:e}, {upper:e}] is wide", fault.row));
                }
            }
            Answer::AtMost(upper) => {
                wrong.extend(fault.truth.outside(0.0, upper).map(|why| format!("{}: {why}", fault.row)));
            }
            Answer::Refused(why) => wrong.push(format!("{}: refused, {why}", fault.row)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn large_noise_has_narrow_intervals() {
    mended(3);
}

#[test]
fn a_sampled_declared_mechanism_claims_no_more_than_its_worst_pair() {
    mended(5);
}

#[test]
fn randomized_response_against_a_blank_keeps_its_digits() {
    mended(6);
}

#[test]
fn sums_over_many_parts_are_rounded_outward() {
    mended(7);
}

#[test]
fn what_underflows_is_not_told_as_zero() {
    mended(8);
}

#[test]
fn a_record_that_moves_between_declared_parts_is_covered_by_no_promise() {
    let part = || Mechanism::Pure { epsilon: Epsilon::ZERO };
    let asked = Asked {
        kind: "parallel",
        mechanism: Mechanism::Parallel(vec![part(), part()]),
        adjacency: Adjacency::ReplaceOne,
        wanted: Wanted::EpsilonAt(1e-6),
    };
    let said = answer(&asked, Method::Exact);
    assert!(judge(&asked, &said).misses.is_empty(), "{said:?}");
}

/// Random questions of the kinds that the faults spoil.
fn hold(kinds: &[&str], many: u64) {
    let mut tally = Tally::default();
    for kind in kinds {
        for index in 0..many {
            tally.ask_kind(kind, 12, index, &|asked| answer(asked, Method::Exact));
        }
    }
    assert!(tally.misses.is_empty(), "{}\n{tally}", tally.misses.join("\n"));
}

#[test]
fn declared_mechanisms_hold_the_truth_however_sampled_and_placed() {
    hold(&["declared", "sampled declared", "declared mixture", "parallel"], 10);
}

#[test]
fn outcomes_and_single_steps_hold_the_truth() {
    hold(&["randomized response", "sampled outcomes", "sampled gaussian once", "discrete gaussian"], 20);
}

#[test]
fn hostile_corners_hold_the_truth() {
    hold(&["hostile corners"], 12);
}

/// On a batch a declared δ counts q times, and that product is rounded: neither end may be on the wrong side of it.
#[test]
fn a_sampled_declared_failure_is_rounded_outward() {
    for index in 0..200u32 {
        let (q, delta) = (2e-4 + 1.03e-6 * f64::from(index), 2.605_664_522_921_888e-6);
        let mechanism = Mechanism::PoissonSampled {
            rate: short::rate(q),
            mechanism: Box::new(Mechanism::Approximate {
                epsilon: short::epsilon(1.5),
                delta: short::delta(delta),
            }),
        };
        let question = Question { mechanism, adjacency: Adjacency::AddRemove };
        let found = delta_at(&question, short::epsilon(200.0), Method::Exact).unwrap();
        let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
        // A fused product has no rounding to hide behind.
        assert!(q.mul_add(delta, -lower) >= 0.0 && q.mul_add(delta, -upper) <= 0.0, "{q}: {lower} {upper}");
    }
}

/// Many declared failures come to nearly 1, where one rounding is more than all that is left.
#[test]
fn failures_that_are_nearly_certain_are_rounded_outward() {
    for (times, delta, least, most) in [
        // mpmath 1.3, 40 digits: 1 − (1 − δ)^T.
        (12_244, 0.000_627_693_743_310_417_8, 0.999_541_658_155_767_7, 0.999_541_658_155_767_8),
        (5_954, 0.004_470_935_482_750_011_5, 0.999_999_999_997_410_6, 0.999_999_999_997_410_9),
    ] {
        let declared = Mechanism::Approximate { epsilon: short::epsilon(1e-5), delta: short::delta(delta) };
        let mechanism = declared.repeated(count(times));
        let question = Question { mechanism, adjacency: Adjacency::ReplaceOne };
        let found = delta_at(&question, short::epsilon(50.0), Method::Exact).unwrap();
        let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
        assert!(lower <= least && upper >= most, "{times}: {lower} {upper}");
    }
}

/// A declared δ beside discrete Laplace noise, just below the largest loss: δ′ + (1 − δ′)(1 − e^{−r})/(1 + e^{−1/b}). A declared
/// ε of 0 has its one loss twice, and was once counted half.
#[test]
fn a_declared_delta_beside_laplace_noise_counts_in_full() {
    for (scale, declared, distance) in
        [(0.5, 5e-10, 1e-9), (0.5, 5e-10, 1e-4), (2.0, 1e-6, 1e-7), (0.1, 1e-3, 1e-5)]
    {
        let mechanism = Mechanism::Composed(vec![
            Mechanism::DiscreteLaplace { scale: noise(scale), sensitivity: count(1) },
            Mechanism::Approximate { epsilon: short::epsilon(0.0), delta: short::delta(declared) },
        ]);
        let question = Question { mechanism, adjacency: Adjacency::AddRemove };
        let largest: f64 = 1.0 / scale;
        let epsilon = largest - distance;
        let found = delta_at(&question, short::epsilon(epsilon), Method::Exact).unwrap();
        let one = -(epsilon - largest).exp_m1() / (1.0 + (-largest).exp());
        let truth = declared + (1.0 - declared) * one;
        let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
        assert!(
            lower <= truth * (1.0 + 1e-9) && truth <= upper * (1.0 + 1e-9),
            "{scale}: {lower} {truth} {upper}"
        );
        assert!(upper <= truth * 1.001, "{scale}: {truth} {upper}");
    }
}
