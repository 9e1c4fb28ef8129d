//! Several records of one person: they enter batches together, are clipped together, and one person more or less moves a sum by no
//! more than is accounted.

#![allow(clippy::unwrap_used)]

mod hostile;

use hostile::{Craft, flat, poisson, settings};
use veracity_core::{Adjacency, Count};
use veracity_noise::Entropy;
use veracity_train::{replay::replay, *};

/// Persons of 1, 2, 3, 4, 1, 2, … records.
fn sizes(people: usize) -> Vec<usize> {
    (0..people).map(|person| 1 + person % 4).collect()
}

fn draws(entropy: &Entropy) -> Draws<'_> {
    Draws { entropy, run: 0, trial: 0 }
}

#[test]
fn one_person_moves_a_sum_by_no_more_than_is_accounted_whatever_they_have() {
    let entropy = Entropy::seeded(41);
    for setting in settings() {
        for craft in [Craft::Swallowed, Craft::Alike, Craft::Random] {
            let people = People::new(sizes(300));
            let data = setting.data(craft, people.records(), 2);
            let plan = setting.plan(people.len(), flat(), poisson);
            let world = World::of_people(&data, &people).unwrap();
            assert_eq!(world.len(), 300);
            for person in [0, 3, 150, 299] {
                let without = world.without(person).unwrap();
                let found = replay(&plan, world, without, Adjacency::AddRemove, draws(&entropy)).unwrap();
                assert!(
                    found.fault.is_none(),
                    "{}, {craft:?}, person {person}: {:?}",
                    setting.name,
                    found.fault
                );
                assert!(found.used <= 1.0);
            }
        }
    }
}

/// The twin: the same records as if each were someone's only one. Four of them move the sum by four clip norms.
#[test]
fn records_that_are_counted_one_by_one_move_a_sum_by_more() {
    let entropy = Entropy::seeded(41);
    let setting = &settings()[0];
    let (data, more) = (setting.data(Craft::Alike, 50, 1), setting.data(Craft::Alike, 4, 1));
    let plan = setting.plan(54, flat(), poisson);
    let world = World::from(&data);
    let found =
        replay(&plan, world, world.with(&more).unwrap(), Adjacency::AddRemove, draws(&entropy)).unwrap();
    assert!(found.fault.is_some() && found.used > 3.9, "{}", found.used);
}

#[test]
fn a_person_whose_records_are_all_alike_counts_as_one_of_them() {
    let entropy = Entropy::seeded(43);
    let setting = &settings()[4];
    let one = setting.data(Craft::Random, 40, 9);
    let (features, width, labels) = one.clone().into_parts();
    let Labels::Values(values) = labels else { panic!("labels are numbers here") };
    let four: Vec<f32> = features.chunks(width).flat_map(|row| row.repeat(4)).collect();
    let values: Vec<f32> = values.into_iter().flat_map(|value| [value; 4]).collect();
    let four = Dataset::new(four, width, Labels::Values(values)).unwrap();
    let people = People::new([4; 40]);
    let mut plan = setting.plan(40, flat(), poisson);
    plan.steps = Count::new(5).unwrap();
    let of_people = World::of_people(&four, &people).unwrap();
    let train =
        |world: World<'_>| cohort::train(&plan, world, &entropy, 0, 0..1).unwrap().remove(0).parameters;
    let (together, alone) = (train(of_people), train(World::from(&one)));
    let apart = together.iter().zip(&alone).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 1e-4, "{apart}");
}

#[test]
fn people_must_have_all_the_records() {
    let data = settings()[0].data(Craft::Random, 10, 1);
    assert!(World::of_people(&data, &People::new([3, 4])).is_err());
    assert!(World::of_people(&data, &People::new([3, 4, 0, 3])).is_ok());
}
