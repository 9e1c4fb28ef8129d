//! Published and outside figures, met from the safe side.

use veracity_audit::{
    Counts, Scores,
    bound::{
        Basis, FromGuesses, bayesian, clopper_pearson, gdp, log_katz, one_run, one_run::Guesses,
        one_run_exact, one_run_fdp, one_run_independent,
    },
};
use veracity_core::numerics::{binomial, normal};
use veracity_core::{Epsilon, Significance};
use veracity_testkit::short::{count as times, delta};

fn level(p: f64) -> Significance {
    Significance::new(p).unwrap()
}

/// Counts of two worlds of the same size.
fn counts(found: u64, alarms: u64, each: u64) -> Counts {
    Counts {
        true_positives: found,
        false_negatives: each - found,
        false_positives: alarms,
        true_negatives: each - alarms,
    }
}

/// A lower bound may be below the exact figure, by no more than the digits that were printed.
fn meets(ours: f64, figure: f64, digits: f64) {
    assert!((ours - figure).abs() <= digits, "{ours} {figure}");
}

fn exact(counts: Counts, d: f64, group: u64, p: f64) -> f64 {
    clopper_pearson::bound(counts, delta(d), times(group), level(p)).epsilon.0.get()
}

/// [TramerEtAl22]: TPR 4.922 %, FPR 0.174 % of 100 000 each, level 1e-10.
#[test]
fn the_retracted_claim_is_refuted_as_published() {
    meets(exact(counts(4922, 174, 100_000), 0.0, 1, 1e-10), 2.795_222, 5e-7);
    meets(exact(counts(4922, 174, 100_000), 1e-5, 1, 1e-10), 2.795_000, 5e-7);
    let gaussian = gdp::bound(counts(4922, 174, 100_000), delta(1e-5), level(1e-10));
    assert_eq!(gaussian.basis, Basis::IfGaussian);
    // scipy 1.17, mpmath 1.4: m = ppf(1-a) - ppf(b) with a, b = beta.isf(5e-11, ...); then the profile at 50 digits
    meets(gaussian.epsilon.0.get(), 4.789_214_337_897, 1e-9);
    meets(gdp::mu(counts(4922, 174, 100_000), level(1e-10)).0.get(), 1.080_571_867_146, 1e-11);
}

/// [JagielskiUllmanOprea20] Algorithm 2 with the authors' `get_eps`: all 500 against none, level 0.01.
#[test]
fn ceilings_fall_with_the_size_of_the_group() {
    for (group, figure) in [(1, 4.541_916), (2, 2.270_958), (4, 1.135_479), (8, 0.567_740)] {
        let shown = clopper_pearson::bound(counts(500, 0, 500), delta(0.0), times(group), level(0.01));
        meets(shown.epsilon.0.get(), figure, 6e-7);
        assert_eq!(shown.epsilon.0, shown.ceiling);
    }
    meets(exact(counts(463, 37, 500), 0.0, 1, 0.01), 2.096_954, 5e-7);
    meets(exact(counts(495, 450, 500), 0.0, 1, 0.01), 0.891_672_3, 5e-8);
    meets(exact(counts(400, 10, 500), 0.0, 2, 0.01), 1.437_622, 5e-7);
    // [NasrEtAl21]: no error in 1000 runs at 95 %.
    meets(exact(counts(1000, 0, 1000), 0.0, 1, 0.05), 5.600_5, 1e-4);
}

/// # mpmath 1.4: findroot(lambda e: p - exp(k*e)*h - d*(exp(k*e)-1)/(exp(e)-1)), p and h from scipy 1.17 beta.ppf
#[test]
fn groups_pay_for_delta_as_well() {
    for (found, alarms, each, d, group, p, truth) in GROUPS {
        let ours = exact(counts(found, alarms, each), d, group, p);
        assert!(ours <= truth && truth <= ours + 1e-9, "{ours} {truth}");
    }
    assert_eq!(exact(counts(500, 0, 500), 0.4, 8, 0.01), 0.0);
}

const GROUPS: [(u64, u64, u64, f64, u64, f64, f64); 5] = [
    (4922, 174, 100_000, 1e-5, 2, 1e-10, 1.397_049_403),
    (400, 10, 500, 1e-5, 2, 0.01, 1.437_587_427_33),
    (463, 37, 500, 1e-3, 4, 0.01, 0.521_330_786_522),
    (500, 0, 500, 1e-2, 8, 0.01, 0.446_470_333_71),
    (9000, 100, 10_000, 1e-5, 1, 0.05, 4.298_353_707_89),
];

/// Levels 0.025 each: FP, FN of so many each, δ = 1e-5; scipy 1.17 and mpmath 1.4 as above.
#[test]
fn gaussian_bounds_meet_their_figures() {
    let table = [
        (25, 25, 500, 2.908_657_066_861, 16.022_568_683_315),
        (5, 300, 1000, 2.710_554_468_767, 14.636_014_862_482),
        (159, 159, 1000, 1.806_758_421_612, 8.827_162_555_358),
    ];
    for (alarms, misses, each, mu, epsilon) in table {
        let seen = counts(each - misses, alarms, each);
        meets(gdp::mu(seen, level(0.05)).0.get(), mu, 1e-11);
        meets(gdp::bound(seen, delta(1e-5), level(0.05)).epsilon.0.get(), epsilon, 1e-9);
    }
    let nothing = gdp::bound(counts(500, 500, 1000), delta(1e-5), level(0.05));
    assert_eq!(nothing.epsilon.0, Epsilon::ZERO);
    // An attacker who is always wrong has shown nothing; |μ| would call it 16.
    assert_eq!(gdp::mu(counts(25, 475, 500), level(0.05)).0.get(), 0.0);
    assert_eq!(gdp::bound(counts(450, 50, 500), delta(0.0), level(0.05)).epsilon.0.get(), f64::INFINITY);
}

/// TF-privacy's Katz-log is one-sided at its level; ours spends that on each of two directions.
#[test]
fn log_katz_meets_its_figures_and_says_that_it_is_approximate() {
    let katz = |counts, p: f64| log_katz::bound(counts, delta(0.0), level(p));
    meets(katz(counts(500, 0, 500), 0.02).epsilon.0.get(), 3.62, 5e-3);
    meets(katz(counts(99, 1, 100), 0.1).epsilon.0.get(), 2.958, 5e-4);
    meets(katz(counts(4922, 174, 100_000), 2e-10).epsilon.0.get(), 2.8525, 5e-5);
    assert!(!katz(counts(99, 1, 100), 0.1).basis.may_refute());
    assert_eq!(katz(Counts::default(), 0.05).epsilon.0, Epsilon::ZERO);
}

/// Epsilon that `one-run`, the bound of audits, reports.
fn one_run_reports(m: u64, r: u64, v: u64, d: f64, p: f64) -> f64 {
    FromGuesses::OneRun.bound(Guesses::new(m, r, v).unwrap(), delta(d), level(p)).epsilon.0.get()
}

/// Largest probability of `correct` right guesses over all (ε, δ)-private mechanisms and guessers: canaries, guesses, correct, δ, ε.
///
/// # scipy 1.17, HiGHS: P(T | S) for all S in {-1, 1}^m and all T in {-1, 0, 1}^m with r guesses is one variable each, no symmetry used
const WORST_CASES: [(u64, u64, u64, f64, f64, f64); 12] = [
    (1, 1, 1, 0.1, 0.5, 0.660213398082),
    (2, 1, 1, 0.05, 1.0, 0.757952720767),
    (2, 2, 2, 0.02, 0.7, 0.457545400898),
    (2, 2, 1, 0.01, 0.2, 0.803878724351),
    (3, 2, 2, 0.05, 1.0, 0.569363146984),
    (3, 3, 2, 0.02, 0.3, 0.627766667818),
    (3, 3, 3, 0.1, 1.5, 0.591840722526),
    (3, 1, 1, 0.03, 2.0, 0.891525340960),
    (4, 2, 2, 0.04, 0.5, 0.436459169480),
    (4, 3, 3, 0.01, 2.0, 0.687547776687),
    (4, 4, 3, 0.05, 0.3, 0.482243744689),
    (4, 4, 4, 0.001, 1.0, 0.286347583550),
];

/// Both sides: at a level just above the worst case ε is refuted, and at one just below it is not.
#[test]
fn one_run_refutes_an_epsilon_just_where_no_mechanism_has_so_many_right() {
    for (m, r, v, d, epsilon, worst) in WORST_CASES {
        let above = one_run_reports(m, r, v, d, worst * (1.0 + 1e-7));
        let below = one_run_reports(m, r, v, d, worst * (1.0 - 1e-7));
        let row = format!("{v} of {r} of {m}, delta {d}: {below} {epsilon} {above}");
        assert!(below < epsilon && epsilon <= above && above - below < 1e-5, "{row}");
    }
}

/// # mpmath 1.4, 40 digits: min over λ of λ + mδ max_k (P[X ≥ max(k, v)] − λ P[X ≥ k])/(k P[X = k]) by golden section, 50 bisections
#[test]
fn one_run_meets_the_linear_program_from_below() {
    for (m, r, v, d, p, truth) in [
        (1000, 100, 95, 1e-5, 0.05, 2.171_855_141_028_39),
        (10_000, 500, 490, 1e-5, 0.05, 3.355_279_292_554_8),
        (1000, 100, 75, 1e-4, 0.05, 0.695_126_017_639_272),
        (1000, 600, 600, 1e-5, 0.05, 5.297_137_489_585_87),
        (100, 100, 100, 0.0, 0.05, 3.492_965_431_152_28),
        (2000, 300, 250, 1e-3, 0.01, 0.009_926_992_020_510),
    ] {
        let ours = one_run_reports(m, r, v, d, p);
        assert!(ours <= truth + 1e-12 && truth <= ours + 1e-8, "{v} of {r} of {m}: {ours} {truth}");
    }
}

/// The worst case is exact, so no other proved bound reports more. Steps of 0.1% of the guesses, far tails and large δ included.
#[test]
fn one_run_reports_no_less_than_any_other_proved_bound() {
    for (m, r) in [(1000, 100), (10_000, 500), (100_000, 1510), (50, 50), (10_000_000, 1_000_000)] {
        for d in [0.0, 1e-9, 1e-5, 1e-3] {
            for step in (500..=1000).step_by(25) {
                let v = r * step / 1000;
                for p in [0.01, 0.05] {
                    let seen = Guesses::new(m, r, v).unwrap();
                    let ours = one_run_reports(m, r, v, d, p);
                    let binomial = one_run::bound(seen, delta(d), level(p)).epsilon.0.get();
                    assert!(ours >= binomial - 1e-7, "{v} of {r} of {m}, delta {d}, {p}: {ours} {binomial}");
                }
            }
        }
    }
}

/// [SteinkeNasrJagielski23], its published code: canaries, guesses, correct, δ, level.
#[test]
fn one_run_meets_its_figures() {
    let table = [
        (100_000, 1510, 1439, 1e-5, 0.05, 2.675_85),
        (1000, 100, 75, 1e-4, 0.05, 0.672_98),
        (1000, 600, 600, 1e-5, 0.05, 5.2704),
        (1000, 100, 95, 1e-5, 0.05, 2.165_171),
        (100, 100, 100, 0.0, 0.05, 3.492_958),
        (10, 10, 10, 0.0, 0.05, 1.051_872),
        (5000, 5000, 4200, 1e-5, 0.01, 1.567_125),
    ];
    for (canaries, guesses, correct, d, p, figure) in table {
        let guesses = Guesses::new(canaries, guesses, correct).unwrap();
        // The published code stops bisecting at a width of about 1e-5.
        meets(one_run::bound(guesses, delta(d), level(p)).epsilon.0.get(), figure, 1e-5);
    }
}

/// # mpmath 1.4, 40 digits: all probabilities of Bin(r, 1/(1+exp(-e))), the formula as printed, 50 bisections on [0, 10]
#[test]
fn one_run_is_exact_from_below() {
    let table = [
        (1000, 100, 75, 1e-4, 0.672_984_664_107_41),
        (1000, 600, 600, 1e-5, 5.270_399_463_514_7),
        (1000, 100, 95, 1e-5, 2.165_175_799_714),
        (100, 100, 100, 0.0, 3.492_965_431_152_3),
        (10, 10, 10, 0.0, 1.051_873_233_231_7),
    ];
    for (canaries, guesses, correct, d, truth) in table {
        let guesses = Guesses::new(canaries, guesses, correct).unwrap();
        let ours = one_run::bound(guesses, delta(d), level(0.05)).epsilon.0.get();
        assert!(ours <= truth && truth <= ours + 1e-9, "{ours} {truth}");
    }
}

#[test]
fn one_run_keeps_its_feet_at_the_ends() {
    let shown = |m, r, v| one_run::bound(Guesses::new(m, r, v).unwrap(), delta(1e-5), level(0.05));
    assert_eq!(shown(1000, 0, 0).epsilon.0, Epsilon::ZERO);
    assert_eq!(shown(1000, 100, 50).epsilon.0, Epsilon::ZERO);
    assert_eq!(shown(1000, 100, 0).epsilon.0, Epsilon::ZERO);
    let many = shown(1_000_000, 1_000_000, 700_000);
    assert!(many.epsilon.0.get() > 0.8 && many.epsilon.0.get() < (7.0f64 / 3.0).ln(), "{many:?}");
    assert!(many.ceiling.get() > 5.0, "{many:?}");
    assert!(
        Guesses::new(10, 11, 5).is_err() && Guesses::new(10, 5, 6).is_err() && Guesses::new(0, 0, 0).is_err()
    );
}

#[test]
fn tied_canaries_are_guessed_wrong_first() {
    let scores = Scores::new(vec![3.0, 1.0, 0.0], vec![1.0, -0.0, -5.0]).unwrap();
    let guesses = Guesses::count(&scores, 2, 0).unwrap();
    assert_eq!((guesses.canaries(), guesses.guesses(), guesses.correct()), (6, 2, 1));
    assert_eq!(Guesses::count(&scores, 1, 2).unwrap().correct(), 2);
    assert!(Guesses::count(&scores, 4, 3).is_err());
}

/// The package prints 0.145 and 6.399 for these counts (tolerance 5e-3).
/// # scipy 1.17: brentq of quad(lambda u: B.cdf(hi(A.ppf(u))) - B.cdf(lo(A.ppf(u))), 0, 1) - level
#[test]
fn the_posterior_meets_outside_figures() {
    let seen = Counts { true_positives: 487, true_negatives: 1, false_positives: 512, false_negatives: 0 };
    for (d, p, truth) in [
        (1e-5, 0.05, 0.143_894_957),
        (1e-5, 0.95, 6.415_595_674),
        (0.0, 0.05, 0.153_235_339),
        (1e-5, 0.025, 0.066_874_443),
        (0.0, 0.9, 5.031_922_924),
    ] {
        let shown = bayesian::bound(seen, delta(d), level(p));
        meets(shown.epsilon.0.get(), truth, 1e-7);
        assert!(!shown.basis.may_refute());
    }
}

/// The published code of [MahloujifarMelisChaudhuri24] at δ = 1e-5, level 0.05.
#[test]
fn one_run_of_a_curve_meets_its_figures() {
    for (m, r, v, figure, digits) in [
        (1000, 100, 95, 3.3233, 5e-5),
        (100_000, 1510, 1439, 3.309_084, 5e-6),
        (10_000, 500, 490, 4.617_66, 1e-5),
    ] {
        let guesses = Guesses::new(m, r, v).unwrap();
        let shown = one_run_fdp::bound(guesses, delta(1e-5), level(0.05));
        meets(shown.epsilon.0.get(), figure, digits);
    }
}

/// [MahloujifarMelisChaudhuri24] Table 1: canaries V + N(0, σ²), V ∈ {0, 1}; the number of right guesses is what the best
/// guesser expects, and the number of guesses the best of a grid. δ = 1e-5, level 0.05: σ, canaries, theory, table, ours.
///
/// The table's 8.16, 3.61, 1.59, 0.82 are not what these settings give: the published code at the expected guesses for
/// σ = 1, (100 000, 1510, 1439), says 3.309. Its other column, our `one_run` (4.99, 2.61, 1.33, 0.61), is met to 3 %.
#[test]
fn one_run_of_a_curve_comes_near_its_table() {
    for (sigma, canaries, theory, table, [ours, plain, plain_table]) in [
        (0.5, 100_000, 9.99, 8.16, [7.53, 4.90, 4.99]),
        (1.0, 100_000, 4.38, 3.61, [3.36, 2.66, 2.61]),
        (2.0, 100_000, 1.99, 1.59, [1.50, 1.29, 1.33]),
        (4.0, 1_000_000, 0.93, 0.82, [0.726, 0.611, 0.61]),
    ] {
        let best = |shown: &dyn Fn(Guesses) -> f64| {
            let all = (20..=32).map(|i| shown(expected_guesses(sigma, canaries, f64::from(i) * 0.1)));
            all.fold(0.0, f64::max)
        };
        let curve = best(&|guesses| one_run_fdp::bound(guesses, delta(1e-5), level(0.05)).epsilon.0.get());
        meets(curve, ours, 0.006);
        assert!(curve > 0.88 * table && curve < theory, "{sigma}: {curve}");
        let points = best(&|guesses| one_run::bound(guesses, delta(1e-5), level(0.05)).epsilon.0.get());
        meets(points, plain, 0.01 * plain);
        meets(points, plain_table, 0.03 * plain_table);
        // Nothing is assumed here either, and the exact worst case shows more.
        let exact = best(&|guesses| one_run_exact::bound(guesses, delta(1e-5), level(0.05)).epsilon.0.get());
        assert!(points < exact && exact < curve, "{sigma}: {points} {exact} {curve}");
    }
}

/// What the best guesser expects who guesses where the score is more than `edge`·σ from the middle.
fn expected_guesses(sigma: f64, canaries: u64, edge: f64) -> Guesses {
    let m = canaries as f64;
    let right = normal::cdf(0.5 / sigma - edge);
    let wrong = normal::cdf(-0.5 / sigma - edge);
    Guesses::new(canaries, (m * (right + wrong)).round() as u64, (m * right).round() as u64).unwrap()
}

/// Randomized response of every canary is right as often as Bin(r, q), whichever are guessed: at δ = 0 no bound may show more
/// than that exact tail does.
#[test]
fn one_run_shows_no_more_than_randomized_response_allows() {
    for (canaries, guesses) in [(20, 3), (40, 40), (100, 50), (400, 40)] {
        for stated in [0.01, 0.2] {
            for correct in 0..=guesses {
                let seen = Guesses::new(canaries, guesses, correct).unwrap();
                let exact = one_run::bound(seen, delta(0.0), level(stated)).epsilon.0.get();
                let ours = one_run_exact::bound(seen, delta(0.0), level(stated)).epsilon.0.get();
                assert!(ours <= exact + 1e-9, "{correct} of {guesses} of {canaries}: {ours} {exact}");
            }
        }
    }
}

/// Naming some canaries with chance `truth`·canaries/some costs δ = `truth` and no ε. How often guesses about the others reach
/// a number from which `one-run` shows something, at the worst number of names.
fn worst_names(canaries: u64, guesses: u64, truth: f64, used: f64, stated: f64) -> f64 {
    let shows = |correct| {
        let seen = Guesses::new(canaries, guesses, correct).unwrap();
        one_run_exact::bound(seen, delta(used), level(stated)).epsilon.0.get() > 0.0
    };
    let Some(least) = (1..=guesses).find(|correct| shows(*correct)) else { return 0.0 };
    let at_least = |right: u64, of: u64| match right {
        0 => 1.0,
        right if right > of => 0.0,
        right => binomial::log_upper_tail(of, right, 0.5).exp(),
    };
    let lies = |names: u64| {
        let (told, chance) = (names.min(guesses), (truth * canaries as f64 / names as f64).min(1.0));
        let with_names = at_least(least.saturating_sub(told), guesses - told);
        chance * with_names + (1.0 - chance) * at_least(least, guesses)
    };
    (1..=canaries).map(lies).fold(0.0, f64::max)
}

/// Control: the same bound with a hundredth of the true δ.
#[test]
fn one_run_pays_for_names() {
    for (canaries, guesses) in [(20, 3), (40, 40), (100, 50), (400, 40)] {
        for stated in [0.01, 0.2] {
            for truth in [1e-3, 0.01, 0.05] {
                let lies = worst_names(canaries, guesses, truth, truth, stated);
                assert!(lies <= stated, "{guesses} of {canaries}, delta {truth}: {lies}");
            }
        }
    }
    assert!(worst_names(100, 50, 0.05, 5e-4, 0.01) > 0.02);
}

/// Errors and two figures.
type Row = (u64, f64, f64);

/// Its published figures at δ = 1e-5, level 0.05, as `compare/RESULTS.txt` of github.com/zihangxiang/tight-privacy-audit-in-one-run
/// prints them at commit 6359b19: canaries, guesses, and for the Gaussians of μ = 0.5, 1 and 2 the errors, what Steinke, Nasr
/// and Jagielski show and what it shows.
const TIGHT: [(u64, u64, [Row; 3]); 12] = [
    (1000, 100, [(26, 0.6519, 1.1926), (10, 1.6265, 3.1645), (1, 3.0052, 5.9018)]),
    (1000, 250, [(75, 0.6124, 1.4203), (36, 1.4767, 3.6327), (4, 3.2737, 7.9541)]),
    (1000, 500, [(172, 0.4866, 1.4689), (103, 1.1630, 3.7557), (20, 2.7928, 8.9216)]),
    (1000, 1000, [(401, 0.2931, 1.4140), (309, 0.6902, 3.6700), (159, 1.5210, 9.0038)]),
    (10_000, 1000, [(259, 0.9277, 1.7437), (97, 2.0466, 4.0141), (5, 4.4836, 8.7173)]),
    (10_000, 2500, [(755, 0.7643, 1.8052), (364, 1.6736, 4.1371), (36, 3.9322, 9.4097)]),
    (10_000, 5000, [(1721, 0.5948, 1.8279), (1034, 1.2858, 4.1789), (202, 3.0457, 9.6526)]),
    (10_000, 10_000, [(4013, 0.3661, 1.8074), (3085, 0.7711, 4.1592), (1587, 1.6223, 9.6881)]),
    (100_000, 10_000, [(2585, 1.0128, 1.9166), (967, 2.1713, 4.2662), (51, 4.8674, 9.5899)]),
    (100_000, 25_000, [(7545, 0.8149, 1.9348), (3641, 1.7377, 4.3013), (362, 4.1144, 9.8094)]),
    (100_000, 50_000, [(17_213, 0.6283, 1.9406), (10_343, 1.3250, 4.3144), (2016, 3.1291, 9.8905)]),
    (100_000, 100_000, [(40_129, 0.3892, 1.9345), (30_854, 0.7954, 4.3079), (15_866, 1.6535, 9.9002)]),
];

/// All 36 rows of Gaussians. The 24 others take the claim for a sampled Gaussian of a known rate, which no bound of ours does.
/// Their other column takes the window of the δ term one higher than [SteinkeNasrJagielski23] does (v − i < X ≤ v), and so
/// shows up to 0.01 more.
#[test]
fn the_law_of_independent_canaries_meets_its_figures() {
    for (canaries, guesses, worlds) in TIGHT {
        for (errors, binomial, tight) in worlds {
            let seen = Guesses::new(canaries, guesses, guesses - errors).unwrap();
            let shown = one_run_independent::gaussian(seen, delta(1e-5), level(0.05));
            let ours = shown.epsilon.0.get();
            let row = format!("{errors} of {guesses} of {canaries}: {ours} {tight}");
            assert!(ours <= tight + 6e-5 && ours >= tight - 3e-4, "{row}");
            assert_eq!(shown.basis, Basis::IfIndependentGaussian);
            let plain = one_run::bound(seen, delta(1e-5), level(0.05)).epsilon.0.get();
            assert!(plain <= binomial + 6e-5 && plain >= binomial - 0.01, "{row}, {plain} {binomial}");
        }
    }
}

/// Twin for the lines of (ε, δ): canaries are named with chance δ each, and the others are answers of randomized response. So
/// the errors are Bin(r − N, 1/(1 + e^ε)) with N ~ Bin(n, δ), summed term by term.
fn few_errors(canaries: u64, guesses: u64, errors: u64, d: f64, epsilon: f64) -> f64 {
    let wrong = 1.0 / (1.0 + epsilon.exp());
    let given = |named: u64| {
        let left = guesses.saturating_sub(named);
        (0..=errors.min(left)).map(|k| binomial::log_probability(left, k, wrong).exp()).sum::<f64>()
    };
    (0..=canaries).map(|named| binomial::log_probability(canaries, named, d).exp() * given(named)).sum()
}

#[test]
fn the_lines_of_independent_canaries_are_met_from_below() {
    for (canaries, guesses, errors) in
        [(40, 12, 1), (200, 20, 2), (200, 200, 55), (400, 30, 0), (300, 299, 60)]
    {
        for d in [0.0, 1e-4, 0.02] {
            for stated in [0.01, 0.2] {
                let seen = Guesses::new(canaries, guesses, guesses - errors).unwrap();
                let shown = one_run_independent::bound(seen, delta(d), level(stated));
                let ours = shown.epsilon.0.get();
                let row = format!("{errors} of {guesses} of {canaries}, delta {d}, {stated}: {ours}");
                assert_eq!(shown.basis, Basis::IfIndependent);
                let chance = |epsilon| few_errors(canaries, guesses, errors, d, epsilon);
                // A larger ε is not refuted, and what is shown is.
                assert!(chance(ours + 2e-3) >= stated, "{row}");
                assert!(ours == 0.0 || chance(ours) <= stated * (1.0 + 1e-12), "{row}");
                // Nothing less was assumed, so no less is shown than by the theorems that hold whatever the mechanism.
                for proved in [one_run::bound, one_run_exact::bound] {
                    let proved = proved(seen, delta(d), level(stated)).epsilon.0.get();
                    assert!(ours >= proved - 1e-3, "{row} {proved}");
                }
            }
        }
    }
}

#[test]
fn independent_canaries_keep_their_feet_at_the_ends() {
    for shown in [one_run_independent::bound, one_run_independent::gaussian] {
        let shown = |m, r, v| shown(Guesses::new(m, r, v).unwrap(), delta(1e-5), level(0.05));
        for (canaries, guesses, correct) in
            [(1000, 0, 0), (1000, 100, 50), (1000, 100, 0), (1000, 1000, 0), (1, 1, 1)]
        {
            assert_eq!(shown(canaries, guesses, correct).epsilon.0, Epsilon::ZERO, "{correct} of {guesses}");
        }
        let all = shown(1000, 1000, 1000);
        assert!(all.epsilon.0 == all.ceiling && all.ceiling.get() > 5.0, "{all:?}");
        // Leaving out the least sure one shows a little less, and no more.
        let but_one = shown(1000, 999, 999).ceiling.get();
        assert!((0.95..1.0).contains(&(but_one / all.ceiling.get())), "{but_one} {all:?}");
        assert!(!all.basis.may_refute() && !all.basis.may_refute_gaussian());
    }
}
