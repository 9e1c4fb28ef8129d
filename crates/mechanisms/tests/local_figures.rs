//! The published figures: n·Var by protocol and ε, the rule for randomized response, the plan beside central privacy.

use veracity_mechanisms::local::{Confidence, Domain, Kind, Mean, Protocol, ReportShape, plan};
use veracity_testkit::short::{self, epsilon};

fn noise(kind: Kind, size: u32, eps: f64) -> f64 {
    let domain = Domain::range(size).unwrap();
    Protocol::new(kind, &domain, epsilon(eps), 1).unwrap().chances().unwrap().noise()
}

/// n·Var at f ≈ 0, to the digits published. mpmath 1.4, with E = exp(eps):
/// GRR (k−2+E)/(E−1)^2; SUE sqrt(E)/(sqrt(E)−1)^2; OUE 4E/(E−1)^2; OLH with g = round(E)+1:
/// (E+g−1)^2 (1/g)(1−1/g) / (E − (E+g−1)/g)^2; Hadamard ((E+1)/(E−1))^2
const TABLE: [(f64, [f64; 5]); 4] = [
    (0.5, [303.3, 15.92, 15.67, 15.82, 16.67]),
    (1.0, [43.60, 3.918, 3.683, 3.692, 4.683]),
    (2.0, [3.268, 0.921, 0.724, 0.725, 1.724]),
    (4.0, [0.063, 0.181, 0.076, 0.076, 1.076]),
];

#[test]
fn the_table_of_variances_is_reproduced_to_its_digits() {
    let kinds = [
        Kind::RandomizedResponse,
        Kind::SymmetricUnary,
        Kind::OptimisedUnary,
        Kind::LocalHashing,
        Kind::Hadamard,
    ];
    for (eps, row) in TABLE {
        for (kind, published) in kinds.into_iter().zip(row) {
            let ours = noise(kind, 128, eps);
            // Half a unit of the last digit published: the fourth figure from 1 on, the third place below.
            let unit = 10f64.powi((published.log10().floor() as i32 - 3).max(-3));
            assert!(
                (ours - published).abs() <= 0.5001 * unit,
                "{} at {eps}: {ours} against {published}",
                kind.name()
            );
        }
    }
}

#[test]
fn a_count_mean_sketch_costs_what_its_noise_does_and_little_more() {
    for eps in [0.5, 1.0, 2.0] {
        let (cms, sue) = (noise(Kind::Sketch, 128, eps), noise(Kind::SymmetricUnary, 128, eps));
        assert!(sue < cms && cms < sue * 1.01, "{cms} {sue}");
        let (hcms, hadamard) = (noise(Kind::HadamardSketch, 128, eps), noise(Kind::Hadamard, 128, eps));
        assert!(hadamard < hcms && hcms < hadamard * 1.01, "{hcms} {hadamard}");
    }
}

#[test]
fn randomized_response_is_chosen_iff_k_is_below_three_e_to_the_epsilon_plus_two() {
    let people = short::count(10_000);
    for eps in [0.3f64, 1.0, 2.0, 3.5] {
        let limit = 3.0 * eps.exp() + 2.0;
        let (below, above) = (limit.floor() as u32, limit.floor() as u32 + 1);
        assert_eq!(plan(below, epsilon(eps), people).unwrap().choice(), Kind::RandomizedResponse, "{eps}");
        assert_ne!(plan(above, epsilon(eps), people).unwrap().choice(), Kind::RandomizedResponse, "{eps}");
    }
}

#[test]
fn the_plan_is_sorted_explains_itself_and_stands_beside_central_privacy() {
    let plan = plan(1024, epsilon(1.0), short::count(1_000_000)).unwrap();
    assert_eq!(plan.choice(), Kind::OptimisedUnary);
    assert!(plan.rows.windows(2).all(|pair| pair[0].noise <= pair[1].noise));
    assert_eq!(plan.rows.len(), 7);
    assert!((plan.rows[0].count_deviation - (3.683e6f64).sqrt()).abs() < 1.0);
    // mpmath: r = exp(-1/2); sqrt(2*r)/(1-r)
    assert!((plan.central.count_deviation - 2.799_177_77).abs() < 1e-6, "{}", plan.central.count_deviation);
    assert!((plan.central.local_is_larger - 1919.0 / 2.799).abs() < 1.0);
    assert_eq!(
        plan.reason,
        "k = 1024 is not below 3e^ε + 2 = 10.15, so oue has a lower variance than randomized response; olh needs \
         66 bits per report instead of 1024, with 0.2% more variance"
    );
    let few = veracity_mechanisms::local::plan(4, epsilon(1.0), short::count(100)).unwrap();
    assert_eq!(
        few.reason,
        "k = 4 is below 3e^ε + 2 = 10.15, so randomized response over all values has a lower variance than reports of bits"
    );
}

#[test]
fn a_mean_has_the_published_worst_variance() {
    for eps in [0.5f64, 1.0, 2.0, 4.0] {
        let (e, root) = (eps.exp(), (eps / 2.0).exp());
        let one_bit = Mean::shaped(-1.0, 1.0, epsilon(eps), ReportShape::OneBit).unwrap().largest_variance();
        let window = Mean::shaped(-1.0, 1.0, epsilon(eps), ReportShape::Window).unwrap().largest_variance();
        let (duchi, piecewise) =
            (((e + 1.0) / (e - 1.0)).powi(2), 4.0 * root / (3.0 * (root - 1.0) * (root - 1.0)));
        assert!((one_bit / duchi - 1.0).abs() < 1e-9, "{one_bit} {duchi}");
        // The grid has 2^20 steps; the published mechanism none.
        assert!((window / piecewise - 1.0).abs() < 1e-5, "{window} {piecewise}");
        // They cross at ε = 1.29.
        let expected = if eps < 1.29 { ReportShape::OneBit } else { ReportShape::Window };
        assert_eq!(Mean::new(-1.0, 1.0, epsilon(eps)).unwrap().shape(), expected);
    }
}

#[test]
fn a_liar_gains_what_a_report_can_say_and_more_the_more_private() {
    let gain = |kind, eps| {
        let domain = Domain::range(64).unwrap();
        Protocol::new(kind, &domain, epsilon(eps), 1).unwrap().chances().unwrap().largest_gain(10)
    };
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Rappor) {
        assert!(gain(kind, 0.5) > gain(kind, 2.0) && gain(kind, 2.0) > 10.0, "{}", kind.name());
    }
    // (1 − q)/(p − q) of optimised unary encoding: 2 e^ε/(e^ε − 1).
    let e = 1f64.exp();
    assert!((gain(Kind::OptimisedUnary, 1.0) - 20.0 * e / (e - 1.0)).abs() < 1e-9);
}

#[test]
fn confidence_is_checked_and_bonferroni_is_wider() {
    for bad in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(Confidence::new(bad).is_err());
    }
    let estimate = veracity_mechanisms::local::Estimate { count: 10.0, standard_error: 2.0 };
    let one = estimate.interval(Confidence::new(0.95).unwrap());
    let all = estimate.interval(Confidence::for_all(0.95, 100).unwrap());
    // scipy 1.17: scipy.stats.norm.isf([0.025, 0.025 / 100])
    assert!((one.high - 10.0 - 2.0 * 1.959_963_984_540_054).abs() < 1e-9);
    assert!((all.high - 10.0 - 2.0 * 3.480_756_404_100_1).abs() < 1e-8, "{}", (all.high - 10.0) / 2.0);
}
