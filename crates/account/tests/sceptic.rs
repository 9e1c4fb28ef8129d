//! The sceptic's questions: every certified end is held against roads that share nothing with the accountant.
//!
//! Seeded, so always the same questions; `examples/sceptic.rs` asks many more of them. What they found first lies in
//! `sceptic_mended.rs`.

pub(crate) mod ask;

use ask::answer;
use veracity_account::Method;
use veracity_testkit::sceptic::{
    judge::{Answer, judge},
    questions::question_of,
    tally::Tally,
};

/// Asks `many` questions of each kind. No answer may be wrong, and nearly as many as today must be measured: an accountant that
/// refuses is never wrong.
fn hold(kinds: &[&str], many: u64, least_measured: usize) {
    let mut tally = Tally::default();
    for kind in kinds {
        for index in 0..many {
            tally.ask_kind(kind, SEED, index, &|asked| answer(asked, Method::Exact));
        }
    }
    assert!(tally.misses.is_empty(), "{}\n{tally}", tally.misses.join("\n"));
    assert!(tally.measured() >= least_measured, "{} measured\n{tally}", tally.measured());
}

const SEED: u64 = 12;

#[test]
fn gaussians_and_laplaces_hold_the_truth() {
    hold(&["gaussian", "laplace", "group"], 30, 165);
    hold(&["many gaussians", "many laplaces"], 4, 4);
}

#[test]
fn integer_noise_holds_the_truth() {
    hold(&["discrete laplace"], 20, 36);
}

#[test]
fn sampled_gaussians_hold_the_truth() {
    hold(&["sampled gaussian", "sampled, large noise"], 12, 38);
    hold(&["mixture"], 4, 5);
}

#[test]
fn rare_jumps_and_sampled_laplaces_keep_the_laws() {
    hold(&["sampled, rare jumps", "sampled laplace", "bounds only"], 4, 3);
}

/// Whatever a method promises is never below the truth.
#[test]
fn no_method_promises_less_than_the_truth() {
    let methods = [
        Method::Rdp,
        Method::Moments,
        Method::Zcdp,
        Method::Gdp,
        Method::Basic,
        Method::Advanced,
        Method::AdvancedKov,
        Method::Optimal,
    ];
    let mut measured = 0;
    for kind in ["gaussian", "laplace", "discrete laplace", "declared", "sampled gaussian once", "group"] {
        for index in 0..6 {
            let asked = question_of(kind, SEED, index);
            for method in methods {
                let verdict = judge(&asked, &answer(&asked, method));
                assert!(verdict.misses.is_empty(), "{method}: {asked:?}\n{verdict:?}");
                measured += usize::from(verdict.measured);
            }
        }
    }
    assert!(measured >= 190, "{measured}");
}

/// Two certified intervals of one number must meet.
#[test]
fn the_exact_interval_meets_that_of_the_grid() {
    let mut met = 0;
    for kind in ["laplace", "sampled gaussian", "mixture", "gaussian"] {
        for index in 1..4 {
            let asked = question_of(kind, SEED, index);
            let (exact, grid) = (answer(&asked, Method::Exact), answer(&asked, Method::Pld));
            let (Some(above), Some(over)) = (exact.upper(), grid.upper()) else {
                eprintln!("{kind} {index} {exact:?} {grid:?}");
                continue;
            };
            assert!(exact.lower() <= over && grid.lower() <= above, "{asked:?}: {exact:?} {grid:?}");
            met += 1;
        }
    }
    // One of the twelve has no finite end on the grid.
    assert!(met >= 11, "{met}");
}

/// The twin that must fail: both ends moved by a millionth, so that one of them is false.
#[test]
fn an_accountant_that_is_off_by_a_millionth_is_caught() {
    for factor in [1.0 - 1e-6, 1.0 + 1e-6] {
        let (mut narrow, mut caught) = (0, 0);
        for kind in
            ["gaussian", "laplace", "discrete laplace", "sampled gaussian once", "sampled, large noise"]
        {
            for index in 0..10 {
                let asked = question_of(kind, SEED, index);
                let Answer::Between(lower, upper) = answer(&asked, Method::Exact) else { continue };
                if lower == 0.0 || upper - lower > 1e-7 * upper || upper < 1e-290 {
                    continue;
                }
                let verdict = judge(&asked, &Answer::Between(lower * factor, upper * factor));
                narrow += usize::from(verdict.measured);
                caught += usize::from(verdict.measured && !verdict.misses.is_empty());
            }
        }
        assert!(narrow >= 34 && caught == narrow, "{caught} of {narrow} caught");
    }
}
