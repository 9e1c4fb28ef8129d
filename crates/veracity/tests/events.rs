//! dp_accounting's events: the same question asked there, and here from JSON.
//!
//! Figures of dp_accounting 0.6.0: `pld.PLDAccountant(relation).compose(event).get_epsilon(delta)`, which rounds up, and
//! `rdp.RdpAccountant` where the former does not know the event. The JSON is what the snippet of `veracity::events` writes.

use veracity::{Adjacency, Choice, Delta, Mechanism, Method, Refusal, Subject, Target, account, events};

/// ε from both sides where there are both.
fn epsilon(json: &str, adjacency: Adjacency, delta: f64) -> Result<(Option<f64>, f64), Refusal> {
    epsilon_by(Choice::Best, json, adjacency, delta)
}

fn epsilon_by(
    choice: Choice,
    json: &str,
    adjacency: Adjacency,
    delta: f64,
) -> Result<(Option<f64>, f64), Refusal> {
    let subject = Subject { adjacency, ..Subject::new(events::parse(json)?) };
    let answer = account(&subject, Target::Delta(Delta::new(delta)?), choice)?;
    let lower = answer.epsilon.lower().map(|lower| lower.0.get());
    Ok((lower, answer.epsilon.upper().unwrap().0.get()))
}

const GAUSSIAN: &str = r#"{"class_name": "GaussianDpEvent", "noise_multiplier": 2.0}"#;

/// `count` times an event.
fn times(event: &str, count: u32) -> String {
    format!(r#"{{"class_name": "SelfComposedDpEvent", "event": {event}, "count": {count}}}"#)
}

fn sampled(rate: f64, event: &str) -> String {
    format!(r#"{{"class_name": "PoissonSampledDpEvent", "sampling_probability": {rate}, "event": {event}}}"#)
}

#[test]
fn the_peers_upper_bounds_are_above_ours_and_near() {
    let gaussian =
        |noise: f64| format!(r#"{{"class_name": "GaussianDpEvent", "noise_multiplier": {noise:?}}}"#);
    let laplace =
        |noise: f64| format!(r#"{{"class_name": "LaplaceDpEvent", "noise_multiplier": {noise:?}}}"#);
    let composed = format!(
        r#"{{"class_name": "ComposedDpEvent", "events": [{}, {}, {{"class_name": "NoOpDpEvent"}}]}}"#,
        gaussian(3.0),
        times(&sampled(0.1, &gaussian(2.0)), 10)
    );
    let discrete = r#"{"class_name": "DiscreteLaplaceDpEvent", "noise_parameter": 0.5, "sensitivity": 2}"#;
    let response = r#"{"class_name": "RandomizedResponseDpEvent", "noise_parameter": 0.5, "num_buckets": 4}"#;
    let (add_remove, replace) = (Adjacency::AddRemove, Adjacency::ReplaceOne);
    for (json, adjacency, delta, theirs) in [
        (times(&sampled(0.01, &gaussian(1.0)), 1000), add_remove, 1e-6, 2.1245225256749363),
        (times(&gaussian(2.0), 10), add_remove, 1e-5, 7.511275904062699),
        (times(&laplace(10.0), 50), add_remove, 1e-6, 3.120709610503676),
        (composed, add_remove, 1e-6, 1.7074324759784),
        (times(&sampled(0.1, &laplace(2.0)), 10), add_remove, 1e-6, 0.586313616239963),
        (times(discrete, 5), add_remove, 1e-6, 4.999989298432012),
        (response.into(), replace, 1e-6, 1.60949839999872),
        (times(&sampled(0.01, &gaussian(2.0)), 500), replace, 1e-6, 0.9462042450849255),
    ] {
        // The exact method does not know sampled Laplace noise.
        let choice = if json.contains("LaplaceDpEvent") && json.contains("Poisson") {
            Choice::Only(Method::Pld)
        } else {
            Choice::Best
        };
        let (lower, upper) = epsilon_by(choice, &json, adjacency, delta).unwrap();
        // Theirs is a grid of 1e-4; where ours is a bound alone, it may be a little above.
        assert!(lower.is_none_or(|lower| lower <= theirs), "{json}: {lower:?} {theirs}");
        assert!(upper <= theirs * (1.0 + 1e-4), "{json}: {upper} {theirs}");
        assert!(upper >= theirs * (1.0 - 5e-3), "{json}: {upper} {theirs}");
    }
}

#[test]
fn repeated_responses_are_counted_where_the_peer_forgets_them() {
    // dp_accounting 0.6.0 answers 1.6095 for five responses as for one: its PLD accountant drops the count of this event.
    let response = r#"{"class_name": "RandomizedResponseDpEvent", "noise_parameter": 0.5, "num_buckets": 4}"#;
    let (lower, upper) = epsilon(&times(response, 5), Adjacency::ReplaceOne, 1e-6).unwrap();
    // Five reports of the true bucket have a loss of 5 ln 5 = 8.047 and a chance of 0.625^5 = 0.095.
    assert!(lower.unwrap() > 8.0 && upper <= 5.0 * 5f64.ln() * (1.0 + 1e-12), "{lower:?} {upper}");
    let listed = format!(r#"{{"class_name": "ComposedDpEvent", "events": [{}]}}"#, [response; 5].join(", "));
    assert_eq!(events::parse(&listed), events::parse(&times(response, 5)));
}

#[test]
fn what_the_peer_bounds_by_renyi_alone_is_below_its_figure() {
    let tree = r#"{"class_name": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 3.0, "step_counts": 1000}"#;
    let forest = r#"{"class_name": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 5.0, "step_counts": [100, 256]}"#;
    let concentrated = format!(
        r#"{{"class_name": "ComposedDpEvent", "events": [{{"class_name": "ZCDpEvent", "rho": 0.1, "xi": 0.0}}, {GAUSSIAN}]}}"#
    );
    for (json, adjacency, theirs, share) in [
        (tree.to_owned(), Adjacency::ZeroOut, 5.5429213799302115, 0.9),
        (times(forest, 3), Adjacency::ZeroOut, 5.454254713263545, 0.9),
        (concentrated, Adjacency::AddRemove, 3.3415269278204223, 0.99),
    ] {
        let (_, upper) = epsilon(&json, adjacency, 1e-6).unwrap();
        assert!(upper <= theirs * (1.0 + 1e-3) && upper >= theirs * share, "{json}: {upper} {theirs}");
    }
}

#[test]
fn a_mixture_is_known_where_it_is_a_group() {
    // math.comb(3, i) * 0.02**i * 0.98**(3-i), as Python computes it.
    let mixture = |chances: &str| {
        format!(
            r#"{{"class_name": "MixtureOfGaussiansDpEvent", "standard_deviation": 2.0,
                "sensitivities": [0.0, 1.0, 2.0, 3.0], "sampling_probs": {chances}}}"#
        )
    };
    let binomial = "[0.9411919999999999, 0.057623999999999995, 0.0011760000000000002, 8.000000000000001e-06]";
    let Mechanism::Group { size, mechanism } = events::parse(&mixture(binomial)).unwrap() else { panic!() };
    let Mechanism::PoissonSampled { rate, mechanism } = *mechanism else { panic!() };
    assert_eq!((size.get(), mechanism.kind()), (3, "gaussian"));
    assert!((rate.get() - 0.02).abs() < 1e-15);
    let other = events::parse(&mixture("[0.9, 0.05, 0.03, 0.02]")).unwrap_err().to_string();
    assert!(other.contains("MixtureOfGaussiansDpEvent is supported only for a group"), "{other}");
    let one = r#"{"class_name": "MixtureOfGaussiansDpEvent", "standard_deviation": 2.0, "sensitivities": [0.0, 4.0],
        "sampling_probs": [0.75, 0.25]}"#;
    let plain = sampled(0.25, r#"{"class_name": "GaussianDpEvent", "noise_multiplier": 0.5}"#);
    assert_eq!(events::parse(one), events::parse(&plain));
}

#[test]
fn what_leaks_nothing_is_left_out() {
    let nothing = r#"{"class_name": "NoOpDpEvent"}"#;
    for json in [nothing.to_owned(), times(nothing, 7), times(GAUSSIAN, 0), sampled(0.0, GAUSSIAN)] {
        assert_eq!(epsilon(&json, Adjacency::AddRemove, 0.0).unwrap().1, 0.0, "{json}");
    }
    let beside =
        format!(r#"{{"class_name": "ComposedDpEvent", "events": [{nothing}, {GAUSSIAN}, {nothing}]}}"#);
    assert_eq!(events::parse(&beside), events::parse(GAUSSIAN));
}

#[test]
fn module_names_say_nothing_and_runs_have_their_law() {
    let named = r#"{"module_name": "dp_accounting.dp_event", "class_name": "GaussianDpEvent", "noise_multiplier": 2.0}"#;
    assert_eq!(events::parse(named), events::parse(GAUSSIAN));
    let best = |shape: &str| {
        let json = format!(
            r#"{{"class_name": "RepeatAndSelectDpEvent", "event": {GAUSSIAN}, "mean": 10, "shape": {shape}}}"#
        );
        events::parse(&json)
    };
    assert_eq!(best("\"inf\"").unwrap().kind(), "best-of");
    assert_ne!(best("\"inf\""), best("1.0"));
    assert!(best("\"wide\"").is_err() && best("-2.0").is_err());
}

#[test]
fn events_without_a_counterpart_are_refused_by_name_with_a_remedy() {
    for (json, said) in [
        (
            r#"{"class_name": "NonPrivateDpEvent"}"#,
            "events: NonPrivateDpEvent leaks everything: epsilon is infinite",
        ),
        (r#"{"class_name": "UnsupportedDpEvent"}"#, "events: UnsupportedDpEvent does not say what was done"),
        (
            r#"{"class_name": "ZCDpEvent", "rho": 0.1, "xi": 0.5}"#,
            "events: ZCDpEvent with xi above 0 is not supported",
        ),
        (
            r#"{"class_name": "DiscreteGaussianDpEvent", "sigma": 3.0}"#,
            "needs dimension 1; for vectors, use a ZCDpEvent",
        ),
        (
            r#"{"class_name": "SampledWithReplacementDpEvent", "source_dataset_size": 9, "sample_size": 3,
            "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}}"#,
            "sample without replacement",
        ),
        (
            r#"{"class_name": "GaussianEvent", "noise_multiplier": 1.0}"#,
            "class_name is GaussianEvent, expected an event of",
        ),
        (r#"{"class_name": "GaussianDpEvent"}"#, "missing field `noise_multiplier`"),
        (r#"{"class_name": "GaussianDpEvent", "noise_multiplier": 1.0, "clip": 2}"#, "unknown field `clip`"),
        (r#"{"class_name": "GaussianDpEvent", "noise_multiplier": 0.0}"#, "noise multiplier is 0, expected"),
        (r#"{"class_name": 3}"#, "class_name is not a string"),
        (r#"{"events": []}"#, "class_name is missing in an event"),
        (r#"{"class_name": "SelfComposedDpEvent", "event": 4, "count": 2}"#, "an event is not a JSON object"),
        (
            r#"{"class_name": "SelfComposedDpEvent", "event": {"class_name": "NoOpDpEvent"}, "count": 2"#,
            "EOF",
        ),
        (r#"[1, 2]"#, "an event is not a JSON object"),
        ("", "EOF"),
    ] {
        let refusal = events::parse(json).unwrap_err().to_string();
        assert!(refusal.contains(said), "{json}: {refusal}");
        assert!(!refusal.contains('\n') && refusal.len() < 300, "{refusal}");
    }
    let mut deep = GAUSSIAN.to_owned();
    for _ in 0..40 {
        deep = times(&deep, 1);
    }
    assert!(events::parse(&deep).unwrap_err().to_string().contains("deeper than 32"));
}

#[test]
fn a_discrete_gaussian_of_one_dimension_and_declared_events_are_read() {
    for (json, kind) in [
        (
            r#"{"class_name": "DiscreteGaussianDpEvent", "sigma": 3.0, "sensitivity": 2.0, "dimension": 1}"#,
            "discrete-gaussian",
        ),
        (
            r#"{"class_name": "TruncatedSubsampledGaussianDpEvent", "dataset_size": 1000, "sampling_probability": 0.05,
                "truncated_batch_size": 80, "noise_multiplier": 1.0}"#,
            "truncated-poisson-sampled",
        ),
        (r#"{"class_name": "EpsilonDeltaDpEvent", "epsilon": 1.0, "delta": 1e-6}"#, "approximate"),
        (r#"{"class_name": "ExponentialMechanismDpEvent", "epsilon": 1.0}"#, "exponential"),
        (r#"{"class_name": "PermuteAndFlipDpEvent", "epsilon": 1.0}"#, "pure"),
        (
            r#"{"class_name": "SampledWithoutReplacementDpEvent", "source_dataset_size": 9, "sample_size": 3,
            "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}}"#,
            "fixed-size-sampled",
        ),
    ] {
        assert_eq!(events::parse(json).unwrap().kind(), kind);
    }
}
