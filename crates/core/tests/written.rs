//! Mechanisms, quantities and names in files: the texts of real claims, and texts that must be refused.

use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeSet, fmt::Debug};
use veracity_core::{
    Adjacency, Buckets, Count, Delta, Epsilon, LossMasses, Mechanism, NoiseMultiplier, PrivacyUnit,
    Probability, RdpCurve, Rho, Runs, SamplingRate,
    spec::{DEEPEST, LossesSpec},
};

/// The `mechanism` of claims that `veracity account PLAN --delta 1e-6 --claim FILE` of version 0.1.0 wrote, without white space.
const CLAIMED: [&str; 24] = [
    r#"{"kind":"gaussian","noise_multiplier":1.3333333333333333}"#,
    r#"{"kind":"laplace","noise_multiplier":10.0}"#,
    r#"{"kind":"discrete-gaussian","sigma":7.5,"sensitivity":2}"#,
    r#"{"kind":"discrete-laplace","scale":9.5,"sensitivity":3}"#,
    r#"{"kind":"randomized-response","noise_parameter":0.5,"buckets":4}"#,
    r#"{"kind":"exponential","epsilon":0.5}"#,
    r#"{"kind":"pure","epsilon":0.1}"#,
    r#"{"kind":"approximate","epsilon":0.1,"delta":1e-9}"#,
    r#"{"kind":"zcdp","rho":0.05}"#,
    r#"{"kind":"rdp","orders":[2.0,8.0],"values":[0.1,0.4]}"#,
    r#"{"kind":"gdp","mu":0.3}"#,
    r#"{"kind":"repeated","times":1000,"mechanism":{"kind":"poisson-sampled","rate":0.004266666666666667,"mechanism":{"kind":"gaussian","noise_multiplier":1.1}}}"#,
    r#"{"kind":"fixed-size-sampled","batch":100,"population":10000,"mechanism":{"kind":"gaussian","noise_multiplier":2.0}}"#,
    r#"{"kind":"truncated-poisson-sampled","rate":0.01,"most":150,"population":10000,"mechanism":{"kind":"gaussian","noise_multiplier":2.0}}"#,
    r#"{"kind":"random-allocation","batches":50,"mechanism":{"kind":"gaussian","noise_multiplier":2.0}}"#,
    r#"{"kind":"shuffled","batches":50,"mechanism":{"kind":"gaussian","noise_multiplier":2.0}}"#,
    r#"{"kind":"matrix","strategy":{"kind":"tree","steps":1000},"participation":{"kind":"separated","times":4,"separation":250},"noise_multiplier":8.0}"#,
    r#"{"kind":"matrix","strategy":{"kind":"banded","steps":100,"coefficients":[1.0,0.5,0.375]},"participation":{"kind":"cyclic-poisson","groups":10,"rate":0.1},"noise_multiplier":2.0}"#,
    r#"{"kind":"matrix","strategy":{"kind":"rows","rows":[[1.0],[0.5,1.0]]},"participation":{"kind":"once"},"noise_multiplier":2.0}"#,
    r#"{"kind":"best-of","mean_runs":10.0,"mechanism":{"kind":"gaussian","noise_multiplier":4.0}}"#,
    r#"{"kind":"best-of","mean_runs":10.0,"shape":1.0,"mechanism":{"kind":"gaussian","noise_multiplier":4.0}}"#,
    r#"{"kind":"losses","first":{"losses":[-1.0,1.0],"probabilities":[0.2689414213699951,0.7310585786300049],"infinite":0.0},"second":{"losses":[-1.0,1.0],"probabilities":[0.2689414213699951,0.7310585785300049],"infinite":1.000000082740371e-10}}"#,
    r#"{"kind":"group","size":3,"mechanism":{"kind":"laplace","noise_multiplier":30.0}}"#,
    r#"{"kind":"composed","parts":[{"kind":"parallel","parts":[{"kind":"laplace","noise_multiplier":4.0},{"kind":"pure","epsilon":0.2}]},{"kind":"repeated","times":3,"mechanism":{"kind":"zcdp","rho":0.01}}]}"#,
];

fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text)
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[track_caller]
fn refused<T: DeserializeOwned + Debug>(text: &str, because: &str) {
    let why = read::<T>(text).expect_err(text).to_string();
    assert!(why.contains(because), "{text}: {why}");
}

#[test]
fn mechanisms_are_written_byte_by_byte_as_claims_have_them() {
    let mut kinds = BTreeSet::new();
    for text in CLAIMED {
        let mechanism: Mechanism = read(text).unwrap();
        assert_eq!(written(&mechanism), text);
        assert_eq!(read::<Mechanism>(&written(&mechanism)).unwrap(), mechanism);
        let value: serde_json::Value = read(text).unwrap();
        assert_eq!(value["kind"], mechanism.kind());
        collect_kinds(&value, &mut kinds);
    }
    // Every variant: a match without a wildcard in `kind` has this many names.
    assert_eq!(kinds.len(), 23 + STRATEGIES_AND_PARTICIPATIONS, "{kinds:?}");
}

const STRATEGIES_AND_PARTICIPATIONS: usize = 6;

fn collect_kinds(value: &serde_json::Value, kinds: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            kinds.extend(fields.get("kind").and_then(|kind| kind.as_str()).map(str::to_owned));
            fields.values().for_each(|inner| collect_kinds(inner, kinds));
        }
        serde_json::Value::Array(all) => all.iter().for_each(|inner| collect_kinds(inner, kinds)),
        _ => {}
    }
}

/// Each object of each claim in turn loses each field, and gets one that nobody knows: never is it read.
#[test]
fn no_field_may_be_missing_unknown_or_there_twice() {
    for text in CLAIMED {
        let whole: serde_json::Value = read(text).unwrap();
        for place in objects(&whole, String::new()) {
            let names: Vec<String> =
                whole.pointer(&place).unwrap().as_object().unwrap().keys().cloned().collect();
            for name in &names {
                let mut less = whole.clone();
                less.pointer_mut(&place).unwrap().as_object_mut().unwrap().remove(name);
                // Four fields say something by their absence: a Poisson number of runs, losses that are one's reverse, a sensitivity of
                // 1, and no infinite loss.
                if !["shape", "second", "sensitivity", "infinite"].contains(&name.as_str()) {
                    assert!(read::<Mechanism>(&less.to_string()).is_err(), "{less}");
                }
            }
            let mut more = whole.clone();
            more.pointer_mut(&place).unwrap()["kindness"] = 1.into();
            assert!(read::<Mechanism>(&more.to_string()).is_err(), "{more}");
        }
    }
    refused::<Mechanism>(r#"{"kind":"pure","epsilon":0.1,"epsilon":0.1}"#, "duplicate field");
    refused::<Mechanism>(r#"{"kind":"pure","kind":"pure","epsilon":0.1}"#, "duplicate field");
}

fn objects(value: &serde_json::Value, place: String) -> Vec<String> {
    let within: Vec<(String, &serde_json::Value)> = match value {
        serde_json::Value::Object(fields) => fields.iter().map(|(name, x)| (name.clone(), x)).collect(),
        serde_json::Value::Array(all) => all.iter().enumerate().map(|(at, x)| (at.to_string(), x)).collect(),
        _ => Vec::new(),
    };
    let deeper = within.into_iter().flat_map(|(name, inner)| objects(inner, format!("{place}/{name}")));
    value.is_object().then(|| place.clone()).into_iter().chain(deeper).collect()
}

#[test]
fn what_is_no_mechanism_is_refused() {
    for (text, because) in [
        (r#"{"kind":"magic"}"#, "unknown variant"),
        (r#"{"epsilon":0.1}"#, "missing field `kind`"),
        (r#"{"kind":"pure","epsilon":NaN}"#, "expected value"),
        (r#"{"kind":"pure","epsilon":1e999}"#, "out of range"),
        (r#"{"kind":"pure","epsilon":null}"#, "null"),
        (r#"{"kind":"pure","epsilon":"0.1"}"#, "string"),
        (r#"{"kind":"pure","epsilon":-0.1}"#, "epsilon is -0.1"),
        (r#"{"kind":"approximate","epsilon":0.1,"delta":1.0}"#, "0 ≤ delta < 1"),
        (r#"{"kind":"gaussian","noise_multiplier":0.0}"#, "noise multiplier is 0"),
        (r#"{"kind":"discrete-gaussian","sigma":4.0,"sensitivity":1.5}"#, "an integer"),
        (r#"{"kind":"repeated","times":0,"mechanism":{"kind":"pure","epsilon":1.0}}"#, "times is 0"),
        (r#"{"kind":"repeated","times":1e16,"mechanism":{"kind":"pure","epsilon":1.0}}"#, "an integer"),
        (r#"{"kind":"randomized-response","noise_parameter":0.5,"buckets":1}"#, "buckets is 1"),
        (r#"{"kind":"randomized-response","noise_parameter":0.5,"buckets":4294967297}"#, "2^32"),
        (r#"{"kind":"rdp","orders":[2.0],"values":[]}"#, "1 orders and 0 values"),
        (r#"{"kind":"rdp","orders":[1.0],"values":[0.1]}"#, "rdp order is 1"),
        (
            r#"{"kind":"best-of","mean_runs":1.0,"shape":1.0,"mechanism":{"kind":"pure","epsilon":1.0}}"#,
            "> 1",
        ),
    ] {
        refused::<Mechanism>(text, because);
    }
}

/// Mechanisms in each other, `depth` of them.
fn nested(depth: usize) -> Mechanism {
    let innermost = Mechanism::Pure { epsilon: Epsilon::new(0.1).unwrap() };
    let size = Count::new(2).unwrap();
    (1..depth).fold(innermost, |mechanism, _| Mechanism::Group { size, mechanism: Box::new(mechanism) })
}

fn nested_text(depth: usize) -> String {
    let (open, close) = (r#"{"kind":"group","size":2,"mechanism":"#, "}");
    format!(r#"{}{{"kind":"pure","epsilon":0.1}}{}"#, open.repeat(depth - 1), close.repeat(depth - 1))
}

/// serde_json itself stops at 128 objects and lists in each other; up to there the reader is ours, on a stack of 1 MiB.
#[test]
fn depth_is_limited_and_overflows_no_stack() {
    let attack = || {
        assert_eq!(read::<Mechanism>(&nested_text(DEEPEST)).unwrap(), nested(DEEPEST));
        for depth in [DEEPEST + 1, 127] {
            refused::<Mechanism>(&nested_text(depth), "deeper than 32");
        }
        for depth in [128, 100_000] {
            refused::<Mechanism>(&nested_text(depth), "recursion limit");
        }
        let lists = format!(r#"{{"kind":"composed","parts":{}"#, "[".repeat(100_000));
        refused::<Mechanism>(&lists, "recursion limit");
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(attack).unwrap().join().unwrap();
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    assert!(serde_json::to_string(&nested(DEEPEST)).is_ok());
    let endless = Epsilon::new(f64::INFINITY).unwrap();
    let curve = RdpCurve::new(vec![(2.0, f64::INFINITY)]).unwrap();
    let step = Box::new(nested(1));
    for mechanism in [
        nested(DEEPEST + 1),
        nested(10_000),
        Mechanism::Pure { epsilon: endless },
        Mechanism::Rdp { curve },
        Mechanism::BestOf { runs: Runs::Poisson { mean: f64::NAN }, mechanism: step.clone() },
        Mechanism::BestOf { runs: Runs::NegativeBinomial { mean: 2.0, shape: -1.0 }, mechanism: step },
    ] {
        assert!(serde_json::to_string(&mechanism).is_err());
    }
    assert!(serde_json::to_string(&endless).is_err());
}

#[test]
fn quantities_are_plain_numbers_that_their_constructors_check() {
    let delta: Delta = read("1e-6").unwrap();
    assert_eq!((delta, written(&delta)), (Delta::new(1e-6).unwrap(), "1e-6".to_owned()));
    refused::<Delta>("1.0", "delta is 1, expected 0 ≤ delta < 1");
    refused::<Epsilon>("-1", "epsilon is -1");
    refused::<NoiseMultiplier>("1e-300", "noise multiplier");
    refused::<SamplingRate>("0", "sampling rate is 0");
    refused::<Probability>("1.0000001", "probability");
    refused::<Rho>("1e999", "out of range");
    let many: Count = read("1e6").unwrap();
    assert_eq!((many, written(&many)), (Count::new(1_000_000).unwrap(), "1000000".to_owned()));
    assert_eq!(read::<Count>("1000000000000000").unwrap().get(), Count::MOST);
    for bad in ["0", "-1", "1.5", "1000000000000001", "1e400", "true", "\"3\"", "null", "[3]"] {
        assert!(read::<Count>(bad).is_err(), "{bad}");
    }
    let buckets: Buckets = read("4294967295").unwrap();
    assert_eq!(written(&buckets), "4294967295");
}

#[test]
fn adjacencies_and_units_are_their_names() {
    for adjacency in Adjacency::ALL {
        assert_eq!(written(&adjacency), format!("\"{adjacency}\""));
        assert_eq!(read::<Adjacency>(&written(&adjacency)).unwrap(), adjacency);
    }
    refused::<Adjacency>("\"AddRemove\"", "adjacency is AddRemove");
    let unit = PrivacyUnit::new("household").unwrap();
    assert_eq!((written(&unit).as_str(), read("\"household\"").unwrap()), ("\"household\"", unit));
    refused::<PrivacyUnit>("\"two\\nlines\"", "unit is");
}

/// Lists whose probabilities do not quite add up to 1 in floats: read again, none is more hopeful than what was written.
#[test]
fn losses_that_are_read_again_are_never_below() {
    for n in 2..200u32 {
        let mass = 1.0 / f64::from(n);
        let masses = LossMasses::new((0..n).map(|i| (f64::from(i), mass)).collect(), 0.0).unwrap();
        let text = written(&LossesSpec::from(&masses));
        let again = LossMasses::try_from(&read::<LossesSpec>(&text).unwrap()).unwrap();
        assert_eq!(again.finite(), masses.finite());
        let more = again.infinite() - masses.infinite();
        assert!((0.0..=1e-15).contains(&more), "{n}: {more:e}");
    }
}
