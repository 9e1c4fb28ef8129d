//! Attacks on our own training: each runs, is the same again, does not refute what is proved, and refutes what is not true.

use std::path::Path;
use veracity::{
    AuditDone, AuditSettings, Count, Epsilon, TrainingPlan, Verdict, audit,
    auditing::{
        Attack, AttackRequest, AuditResult, CanaryKind, Choice, Method, Scoring, Start, TrainingAudit,
    },
};

/// A linear model of the digits, all of them in every batch.
fn plan(epsilon: f64, adjacency: &str) -> TrainingPlan {
    let text = format!(
        "adjacency = \"{adjacency}\"\n[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
         [training]\nbatch_size = 1438\nrecords = 1438\nsteps = 8\nlearning_rate = 1.0\n\
         [privacy]\nepsilon = {epsilon}\ndelta = 1e-5\n"
    );
    TrainingPlan::parse(&text, Path::new("")).unwrap()
}

fn asked(plan: &TrainingPlan, how: impl Into<AttackRequest>) -> TrainingAudit {
    TrainingAudit::of(plan.clone()).attack(how).seed(5)
}

fn audited(
    plan: &TrainingPlan,
    how: Attack,
    claimed: Option<f64>,
    trials: u64,
    method: Method,
) -> AuditResult {
    let claimed = claimed.map(|epsilon| Epsilon::new(epsilon).unwrap());
    let trials = Count::new(trials).unwrap();
    let case = asked(plan, how).claimed(claimed).trials(trials).case().unwrap();
    let run = |jobs| {
        let jobs = Some(Count::new(jobs).unwrap());
        let settings = AuditSettings { method: Some(method), jobs, ..AuditSettings::default() };
        match audit(&case, &settings).unwrap() {
            AuditDone::Judged { audited, trials, .. } => (*audited, trials),
            share => panic!("{share:?}"),
        }
    };
    let (found, seen) = run(2);
    assert_eq!(found.failures, 0);
    assert_eq!(run(1).1, seen, "the same trials tell the same");
    found
}

const SPLIT: Method = Method::Threshold { choice: Choice::Split, group: Count::ONE };

fn last_model(canary: CanaryKind, scoring: Scoring, start: Start) -> Attack {
    Attack::FinalModel { canary, copies: 1, scoring, start }
}

#[test]
fn every_canary_and_scoring_runs_and_none_refutes_what_is_proved() {
    let scorings =
        [Scoring::Loss, Scoring::Margin { against_blank: true }, Scoring::LikelihoodRatio { shadows: 8 }];
    for adjacency in ["add-remove", "zero-out", "replace-one"] {
        for canary in CanaryKind::ALL {
            if adjacency == "replace-one" && canary == CanaryKind::Member {
                continue;
            }
            for scoring in scorings {
                let how = last_model(canary, scoring, Start::AsPlanned);
                let found = audited(&plan(1.0, adjacency), how, None, 12, SPLIT);
                assert!(!found.is_refuted(), "{canary:?} {scoring:?}");
            }
        }
    }
}

/// Seed 5, significance 0.01. From worst-case initial parameters the last model tells as much as every step would: nearly all
/// of ε = 10 if the mechanism is Gaussian, which it is.
#[test]
fn the_last_model_tells_nearly_all_from_a_worst_case_start() {
    let margin = Scoring::Margin { against_blank: false };
    let gaussian = Method::Gaussian { choice: Choice::Split };
    let worst = last_model(CanaryKind::LeastDirection, margin, Start::WorstCase);
    let found = audited(&plan(10.0, "add-remove"), worst, None, 800, gaussian);
    let shown = found.evidence.shown.epsilon.0.get();
    assert!(shown > 5.0 && shown < 10.0, "{shown}");
    // The twin that must fail: the same training against a claim of half of that.
    let found = audited(&plan(10.0, "add-remove"), worst, Some(1.0), 800, SPLIT);
    assert!(matches!(found.verdict, Verdict::Refuted { .. }), "{:?}", found.evidence);
    // A plain member at a plain start tells next to nothing.
    let plain = last_model(CanaryKind::Member, Scoring::Loss, Start::AsPlanned);
    let found = audited(&plan(10.0, "add-remove"), plain, None, 400, gaussian);
    assert!(found.evidence.shown.epsilon.0.get() < 2.0, "{:?}", found.evidence);
}

/// Seed 5, significance 0.01. Replaced canaries are twice as far apart, and the claim under replace-one knows it.
#[test]
fn many_canaries_in_every_step_show_much_and_refute_nothing_under_each_adjacency() {
    for adjacency in ["add-remove", "zero-out", "replace-one"] {
        let how = Attack::WhiteBox { canaries: 20, copies: 1 };
        let found = audited(&plan(4.0, adjacency), how, None, 200, Method::ManyCanaries { guessed: None });
        assert!(
            matches!(found.verdict, Verdict::NotRefuted { .. }),
            "{adjacency}: {:?} {:?}",
            found.verdict,
            found.against
        );
        assert!(found.evidence.shown.epsilon.0.get() > 0.8, "{adjacency}: {:?}", found.evidence);
    }
}

/// Half of a plan says nothing of the whole: what it learns before its first step is part of its claim.
#[test]
fn a_plan_that_learns_before_its_first_step_is_not_attacked_in_part() {
    let text = "unit = \"record\"\n[data]\nformat = \"digits\"\n[model]\ninput = [1, 8, 8]\n\
                [[model.feature]]\nkind = \"unit-norm\"\nnorm = 1\n\
                [[model.feature]]\nkind = \"private-mean\"\nnoise_multiplier = 8\n\
                [[model.layer]]\nkind = \"flatten\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
                [training]\nbatch_size = 256\nsteps = 8\nlearning_rate = 1\n[privacy]\nepsilon = 3\ndelta = 1e-5\n";
    let plan = TrainingPlan::parse(text, Path::new("")).unwrap();
    let by_steps = AttackRequest::WhiteBox { canaries: Some(1), copies: 1 };
    let by_model = AttackRequest::OneRun { canary: CanaryKind::Blank, canaries: None };
    for how in [by_steps, by_model] {
        let refused = asked(&plan, how).case().err().unwrap().to_string();
        assert!(refused.starts_with("the plan learns means or bounds of its records"), "{refused}");
    }
}

/// Shares on other records of the same number must not be put together.
#[test]
fn other_records_are_another_subject() {
    let room = std::env::temp_dir().join(format!("veracity-attacks-{}", std::process::id()));
    std::fs::create_dir_all(&room).unwrap();
    let plan = "[data]\nformat = \"csv\"\npath = \"records.csv\"\nlabel = \"class\"\nclasses = [\"no\", \"yes\"]\n\
                [[data.column]]\nname = \"x\"\nbounds = [-1, 1]\n[[model.layer]]\nkind = \"linear\"\noutputs = 2\n\
                [training]\nbatch_size = 20\nrecords = 20\nsteps = 2\nlearning_rate = 1.0\n\
                [privacy]\nepsilon = 1\ndelta = 1e-5\n";
    let note = |last: &str| {
        let rows: String = (0..19).map(|at| format!("0.{at},{}\n", ["no", "yes"][at % 2])).collect();
        std::fs::write(room.join("records.csv"), format!("x,class\n{rows}{last}\n")).unwrap();
        let plan = TrainingPlan::parse(plan, &room).unwrap();
        let steps = AttackRequest::WhiteBox { canaries: Some(2), copies: 1 };
        let model = AttackRequest::OneRun { canary: CanaryKind::Blank, canaries: Some(4) };
        [steps, model].map(|how| asked(&plan, how).case().unwrap().note().clone())
    };
    let first = note("0.5,no");
    assert_eq!(first, note("0.5,no"));
    for other in ["0.6,no", "0.5,yes"] {
        let other = note(other);
        assert!(first[0] != other[0] && first[1] != other[1]);
    }
    std::fs::remove_dir_all(room).unwrap();
}
