//! Our own samplers attacked: what they declare is not refuted, half the noise is, and the same seed tells the same.

use veracity::{
    Adjacency, AuditDone, AuditSettings, Count, Delta, Epsilon, Mechanism, Subject, Verdict, audit,
    auditing::{AuditResult, Case, Observation},
    spec::MechanismSpec,
};

fn subject(json: &str, adjacency: Adjacency) -> Subject {
    let spec: MechanismSpec = serde_json::from_str(json).unwrap();
    Subject { adjacency, ..Subject::new(Mechanism::try_from(&spec).unwrap()) }
}

fn audited(subject: &Subject, added: f64, trials: u64) -> (AuditResult, Vec<Observation>) {
    let (trials, seed) = (Count::new(trials).unwrap(), 1);
    let case = Case::mechanism(subject, added, None, Delta::new(1e-5).unwrap(), seed, trials).unwrap();
    judged(&case, 1e-3, 2)
}

fn judged(case: &Case, significance: f64, jobs: u64) -> (AuditResult, Vec<Observation>) {
    let jobs = Some(Count::new(jobs).unwrap());
    match audit(case, &AuditSettings { significance, jobs, ..AuditSettings::default() }).unwrap() {
        AuditDone::Judged { audited, trials, .. } => (*audited, trials.observations()),
        share => panic!("{share:?}"),
    }
}

/// Every mechanism that can be run, under every adjacency that it has, with so much noise that half of it shows.
fn all() -> Vec<Subject> {
    use Adjacency::{AddRemove, ReplaceOne, ZeroOut};
    let repeated = |mechanism: &str| format!(r#"{{"kind":"repeated","times":3,"mechanism":{mechanism}}}"#);
    let laplace = r#"{"kind":"laplace","scale":6,"sensitivity":2}"#;
    let response = r#"{"kind":"randomized-response","noise_parameter":0.6,"buckets":5}"#;
    vec![
        subject(r#"{"kind":"gaussian","noise_multiplier":1.5}"#, AddRemove),
        subject(r#"{"kind":"gaussian","noise_multiplier":2.5}"#, ReplaceOne),
        subject(r#"{"kind":"gaussian","noise_multiplier":1.5}"#, ZeroOut),
        subject(laplace, AddRemove),
        subject(&repeated(laplace), AddRemove),
        subject(&repeated(laplace), ReplaceOne),
        subject(r#"{"kind":"discrete-gaussian","sigma":5,"sensitivity":3}"#, AddRemove),
        subject(r#"{"kind":"discrete-gaussian","sigma":4,"sensitivity":2}"#, ReplaceOne),
        subject(r#"{"kind":"discrete-laplace","scale":2.5,"sensitivity":2}"#, AddRemove),
        subject(r#"{"kind":"discrete-laplace","scale":2}"#, ReplaceOne),
        subject(response, ReplaceOne),
        subject(response, ZeroOut),
        subject(&repeated(response), ReplaceOne),
        subject(r#"{"kind":"dp-sgd","sampling_rate":0.5,"noise_multiplier":2,"steps":4}"#, AddRemove),
        subject(r#"{"kind":"dp-sgd","sampling_rate":0.5,"noise_multiplier":3,"steps":4}"#, ReplaceOne),
        subject(
            r#"{"kind":"composed","parts":[{"kind":"laplace","noise_multiplier":4},{"kind":"discrete-laplace","scale":4}]}"#,
            AddRemove,
        ),
    ]
}

/// Seed 1, significance 1e-3 each. The twin is the next test.
#[test]
fn what_is_declared_is_not_refuted_and_comes_near() {
    for subject in all() {
        let (found, seen) = audited(&subject, 1.0, 40_000);
        let (shown, proved) = (found.evidence.shown.epsilon.0.get(), found.proved.unwrap().0.get());
        assert!(matches!(found.verdict, Verdict::NotRefuted { .. }), "{}: {shown}", subject.describe());
        assert!(shown > 0.2 * proved, "{}, {}: {shown} of {proved}", subject.describe(), subject.adjacency);
        assert_eq!((found.failures, seen.len()), (0, 40_000));
    }
}

/// Seed 1, significance 1e-3 each.
#[test]
fn half_the_declared_noise_is_refuted() {
    for subject in all() {
        let (found, _) = audited(&subject, 0.5, 200_000);
        let shown = found.evidence.shown.epsilon.0.get();
        assert!(
            matches!(found.verdict, Verdict::Refuted { .. }),
            "{}, {}: {shown} of {:?}",
            subject.describe(),
            subject.adjacency,
            found.proved
        );
    }
}

#[test]
fn the_same_seed_tells_the_same_and_another_does_not() {
    for subject in all() {
        let trials = Count::new(50).unwrap();
        let scores = |seed, threads| {
            let case = Case::mechanism(&subject, 1.0, None, Delta::new(1e-5).unwrap(), seed, trials).unwrap();
            judged(&case, 0.01, threads).1
        };
        assert_eq!(scores(3, 1), scores(3, 4));
        assert_ne!(scores(3, 1), scores(4, 1), "{}", subject.describe());
    }
}

#[test]
fn what_cannot_be_run_is_refused_in_one_line() {
    let case = |json: &str, adjacency, added| {
        let claimed = Some(Epsilon::new(1.0).unwrap());
        let delta = Delta::new(1e-5).unwrap();
        let made = Case::mechanism(&subject(json, adjacency), added, claimed, delta, 1, Count::ONE);
        made.err().map(|refusal| refusal.to_string())
    };
    let gaussian = r#"{"kind":"gaussian","noise_multiplier":1}"#;
    assert_eq!(case(gaussian, Adjacency::AddRemove, 1.0), None);
    for (json, adjacency, added, what) in [
        (r#"{"kind":"exponential","epsilon":1}"#, Adjacency::AddRemove, 1.0, "mechanism is exponential"),
        (r#"{"kind":"gdp","mu":1}"#, Adjacency::AddRemove, 1.0, "mechanism is gdp"),
        (gaussian, Adjacency::AddRemove, 0.0, "noise added is 0"),
        (gaussian, Adjacency::AddRemove, f64::NAN, "noise added is NaN"),
        (r#"{"kind":"gaussian","noise_multiplier":1e6}"#, Adjacency::AddRemove, 1.0, "at most 1e5"),
        (
            r#"{"kind":"randomized-response","noise_parameter":0.5,"buckets":2}"#,
            Adjacency::AddRemove,
            1.0,
            "use replace-one",
        ),
        (
            r#"{"kind":"repeated","times":1e9,"mechanism":{"kind":"laplace","noise_multiplier":1}}"#,
            Adjacency::AddRemove,
            1.0,
            "more than 2^24 random numbers",
        ),
    ] {
        let said = case(json, adjacency, added).unwrap();
        assert!(said.contains(what) && !said.contains('\n'), "{said}");
    }
}
