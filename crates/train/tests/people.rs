//! Several records of one person: they enter batches together, are clipped together, and one person more or less moves a sum by no
//! more than is accounted.

use crate::hostile::{Craft, flat, poisson, settings};
use veracity_core::Adjacency;
use veracity_noise::Entropy;
use veracity_testkit::short;
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
            let data = setting.data(craft, people.records(), 2).of_people(people).unwrap();
            let mut plan = setting.plan(300, flat(), poisson);
            plan.unit = Unit::Person;
            let world = World::from(&data);
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
    let four = four.of_people(People::new([4; 40])).unwrap();
    let mut plan = setting.plan(40, flat(), poisson);
    plan.steps = short::count(5);
    let train = |plan: &Plan, data: &Dataset| {
        cohort::train(plan, data, &entropy, 0, 0..1).unwrap().remove(0).parameters
    };
    let alone = train(&plan, &one);
    plan.unit = Unit::Person;
    let together = train(&plan, &four);
    let apart = together.iter().zip(&alone).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 1e-4, "{apart}");
}

#[test]
fn people_must_have_all_the_records_and_be_expected() {
    let setting = &settings()[0];
    let data = || setting.data(Craft::Random, 10, 1);
    assert!(data().of_people(People::new([3, 4])).is_err());
    let of_people = data().of_people(People::new([3, 4, 0, 3])).unwrap();
    assert_eq!((of_people.len(), of_people.units()), (10, 4));
    // Records that were told apart by person must not be trained on one by one, nor the other way round.
    let mut plan = setting.plan(4, flat(), poisson);
    assert!(
        plan.check(World::from(&of_people)).unwrap_err().to_string().contains("the records have privacy IDs")
    );
    plan.unit = Unit::Person;
    assert!(plan.check(World::from(&of_people)).is_ok());
    assert!(
        plan.check(World::from(&data())).unwrap_err().to_string().contains("the records have no privacy IDs")
    );
}
