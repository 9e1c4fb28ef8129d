//! Records of a plan that says whose they are: those of one person are put side by side, to be clipped together.
//!
//! However many records a person has, their mean gradient counts once, so none of them need be left out. A record whose person is
//! missing is: as a person of its own it would let someone with several of them count several times.

use std::collections::HashMap;
use veracity_core::Refusal;
use veracity_train::{Dataset, Labels, People};

/// The records of `data` person by person, in the order in which people first appear.
pub(super) fn by_person(data: &Dataset, persons: &[Option<String>]) -> Result<Dataset, Refusal> {
    if persons.len() != data.len() {
        return Err(Refusal::invalid(format!(
            "the privacy ID column has {} values, expected one for each of {} records",
            persons.len(),
            data.len()
        )));
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut records_of: Vec<Vec<usize>> = Vec::new();
    for (record, person) in persons.iter().enumerate() {
        if let Some(person) = person {
            let place = *places.entry(person).or_insert_with(|| {
                records_of.push(Vec::new());
                records_of.len() - 1
            });
            records_of[place].push(record);
        }
    }
    let order = records_of.concat();
    let features = order.iter().flat_map(|record| data.row(*record)).copied().collect();
    let labels = match data.labels() {
        Labels::Classes { of, classes } => {
            Labels::Classes { of: order.iter().map(|record| of[*record]).collect(), classes: *classes }
        }
        Labels::Values(values) => Labels::Values(order.iter().map(|record| values[*record]).collect()),
    };
    let people = People::new(records_of.iter().map(Vec::len));
    Dataset::new(features, data.width(), labels)?.of_people(people)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn records_of_one_person_stand_side_by_side_and_nobodys_are_left_out() {
        let data = Dataset::new((0..7).map(|x| x as f32).collect(), 1, Labels::Values(vec![0.5; 7])).unwrap();
        let persons: Vec<Option<String>> =
            ["b", "a", "", "b", "c", "a", "b"].map(|name| (!name.is_empty()).then(|| name.to_owned())).into();
        let found = by_person(&data, &persons).unwrap();
        let order: Vec<f32> = (0..found.len()).map(|at| found.row(at)[0]).collect();
        assert_eq!(order, [0.0, 3.0, 6.0, 1.0, 5.0, 4.0]);
        assert_eq!(found.people(), Some(&People::new([3, 2, 1])));
        assert!(by_person(&data, &persons[1..]).is_err());
    }
}
