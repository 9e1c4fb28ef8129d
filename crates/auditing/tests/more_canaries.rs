//! More canaries in as many trainings must show more: each has a parameter of its own, and what the records contribute to it
//! is known to an attacker who knows the records.

use std::path::Path;
use veracity_auditing::{AuditSubject, Method, WhiteBox, observe};
use veracity_core::{Adjacency, Delta, Significance};
use veracity_training::{Protection, TrainingPlan};

const SEED: u64 = 5;

/// A linear model of the digits: 650 parameters, of which the records leave some thirty alone.
fn attack(canaries: usize, adjacency: Adjacency) -> WhiteBox {
    let text = format!(
        "adjacency = \"{}\"\n[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
         [training]\nbatch_size = 256\nsteps = 30\nlearning_rate = 2.0\nmomentum = 0.5\n\
         [privacy]\nepsilon = 4\ndelta = 1e-5\n",
        adjacency.name()
    );
    let plan = TrainingPlan::parse(&text, Path::new("")).unwrap();
    let data = plan.records().unwrap();
    let prepared = plan.prepare(&data, Protection::Private).unwrap();
    WhiteBox::new(prepared.plan, data, adjacency, canaries, 1, SEED, None).unwrap()
}

/// What so many trainings show, a twentieth of their canaries being guessed.
fn shown(canaries: usize, trials: u64, adjacency: Adjacency) -> f64 {
    let subject = attack(canaries, adjacency);
    assert_eq!(subject.canaries(), canaries);
    let trials: Vec<u64> = (0..trials).collect();
    let observations: Vec<_> =
        observe(&subject, SEED, &trials, 2).into_iter().flat_map(|outcome| outcome.observations).collect();
    let method = Method::ManyCanaries { guessed: Some(0.05) };
    let (delta, significance) = (Delta::new(1e-5).unwrap(), Significance::new(0.01).unwrap());
    veracity_audit::show(method, &observations, delta, significance).unwrap().shown.epsilon.0.get()
}

/// Seed 5, significance 0.01, 16 trainings each. Where the records drowned most canaries, 600 showed less than 20.
#[test]
fn more_canaries_in_as_many_trainings_show_more() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let found = [20, 100, 600].map(|canaries| shown(canaries, 16, adjacency));
        assert!(found[0] < found[1] && found[1] < found[2], "{adjacency:?}: {found:?}");
        // And less than is proved.
        assert!(found[2] < 4.0, "{adjacency:?}: {found:?}");
    }
}

/// Seed 5, significance 0.01. Three thousand canaries in a fifteenth of the trainings: what each of them tells is hardly less.
#[test]
fn as_many_canaries_in_fewer_trainings_show_nearly_as_much() {
    let (few, many) = (shown(20, 150, Adjacency::AddRemove), shown(300, 10, Adjacency::AddRemove));
    assert!(many > 0.9 * few, "{few} {many}");
}
