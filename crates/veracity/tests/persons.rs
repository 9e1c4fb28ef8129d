//! People with several rows: between datasets that differ by one person, no noise call hides more than it is charged for.
//!
//! A release is recorded on one dataset and replayed on one that has one person more, whose rows lie anywhere between the others.
//! What each call hides must have moved by at most K times what it declares for a row, which is what `Group` charges.

use veracity::{
    Adjacency, Count, Delta, Entropy, Epsilon, Mechanism, NoiseMultiplier, Persons,
    noise::{Distance, Key, NoiseStream, Purpose, Stream, exact::uniform_below},
    provenance,
    query::{Bins, Bounds, Column, Design, ErrorBar, NoiseKind, Question, Rank, Statistic},
    releasing::{ReleaseRequest, prepare},
    verify,
};

/// A table: whose row it is, and its value.
type Table = Vec<(Option<String>, Option<f64>)>;

struct Dice(Stream);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        uniform_below(bound as u128, &mut self.0) as usize
    }

    fn value(&mut self) -> Option<f64> {
        [None, Some(f64::NAN), Some(1e300), Some(-1e300), Some(0.25), Some(0.75), Some(1.0)][self.below(7)]
    }

    /// Up to six people with up to eight rows each, and rows of nobody.
    fn table(&mut self) -> Table {
        let mut table = Vec::new();
        for _ in 0..self.below(24) {
            let person =
                [None, Some("a"), Some("b"), Some("c"), Some("d"), Some("e"), Some("f")][self.below(7)];
            table.push((person.map(str::to_owned), self.value()));
        }
        table
    }

    /// The same with one person more, whose rows come anywhere.
    fn with_stranger(&mut self, table: &Table) -> Table {
        let mut other = table.clone();
        for _ in 0..=self.below(9) {
            let place = self.below(other.len() + 1);
            other.insert(place, (Some("stranger".to_owned()), self.value()));
        }
        other
    }
}

fn designs() -> Vec<Design> {
    let bounds = Bounds::new(-1.0, 1.0).unwrap();
    let mut designs = Vec::new();
    for statistic in [
        Statistic::Count,
        Statistic::Sum(bounds),
        Statistic::Mean(bounds),
        Statistic::Variance(bounds),
        Statistic::Histogram(Bins::Numeric { bounds, bins: 3 }),
        Statistic::Quantile { bounds, rank: Rank::new(1, 4).unwrap(), steps: 16, bar: ErrorBar::Charged },
    ] {
        for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
            let question = Question { statistic: statistic.clone(), adjacency: Adjacency::AddRemove };
            // A quantile is chosen, not noised.
            designs.extend(question.design(kind, NoiseMultiplier::new(0.7).unwrap()));
        }
    }
    designs
}

/// Whether any call of the second run moved by more than `times` what it declares for one row.
fn departs(design: &Design, one: &Column, other: &Column, times: u128) -> bool {
    let stream = || Entropy::seeded(3).stream(Purpose::Noise, Key::default());
    let mut first = NoiseStream::recording(stream());
    design.release(one, &mut first).unwrap();
    let script = first.into_tape().unwrap();
    let mut second = NoiseStream::replaying(script.clone(), stream());
    design.release(other, &mut second).unwrap();
    let heard = second.into_tape().unwrap();
    assert_eq!(script.calls.len(), heard.calls.len());
    script.calls.iter().zip(&heard.calls).any(|(a, b)| {
        assert_eq!((a.place, a.declared, a.input.len()), (b.place, b.declared, b.input.len()));
        let moved = || a.input.iter().zip(&b.input).map(|(a, b)| a.abs_diff(*b));
        match a.declared {
            Distance::L1(most) => moved().sum::<u128>() > times * most,
            Distance::L2Squared(most) => moved().map(|x| x * x).sum::<u128>() > times * times * most,
            Distance::LInf(most) => moved().max().unwrap_or(0) > times * most,
        }
    })
}

fn split(table: &Table) -> (Column, Vec<Option<String>>) {
    let values: Vec<Option<f64>> = table.iter().map(|(_, value)| *value).collect();
    (Column::from(values), table.iter().map(|(person, _)| person.clone()).collect())
}

fn bounded(table: &Table, rows: u64, root: u64) -> Column {
    let (column, persons) = split(table);
    let by = Persons::new("id", Count::new(rows).unwrap()).unwrap();
    by.bound(&column, &persons, &Entropy::seeded(root)).unwrap().column().clone()
}

/// Twin: keeps rows by their places in the file, which a stranger moves.
fn bounded_by_place(table: &Table, rows: usize) -> Column {
    let mut places: Vec<usize> = (0..table.len()).collect();
    places.sort_by_key(|place| (*place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut kept: Vec<usize> = Vec::new();
    for place in places {
        let person = &table[place].0;
        if person.is_some() && kept.iter().filter(|other| table[**other].0 == *person).count() < rows {
            kept.push(place);
        }
    }
    Column::from(kept.into_iter().map(|place| table[place].1).collect::<Vec<Option<f64>>>())
}

/// 4000 pairs for each K, seed 1.
#[test]
fn no_person_moves_a_call_by_more_than_their_rows() {
    let mut dice = Dice(Entropy::seeded(1).stream(Purpose::Attack, Key::default()));
    let designs = designs();
    for rows in [1, 2, 3, 7] {
        let (mut unbounded, mut by_place, mut charged_once) = (0, 0, 0);
        for pair in 0..4000 {
            let design = &designs[dice.below(designs.len())];
            let one = dice.table();
            let other = dice.with_stranger(&one);
            let times = u128::from(rows);
            let (kept, more) = (bounded(&one, rows, pair), bounded(&other, rows, pair));
            assert!(!departs(design, &kept, &more, times), "{rows}: {design:?}\n{one:?}\n{other:?}");
            unbounded += usize::from(departs(design, &split(&one).0, &split(&other).0, times));
            let place = |table: &Table| bounded_by_place(table, rows as usize);
            by_place += usize::from(departs(design, &place(&one), &place(&other), times));
            charged_once += usize::from(departs(design, &kept, &more, 1));
        }
        assert!(unbounded > 0, "rows without a bound were never found at {rows}");
        assert!(by_place > 0 || rows == 7, "a choice by place was never found at {rows}");
        assert!(charged_once > 0 || rows == 1, "a charge of one row was never found at {rows}");
    }
}

fn order(statistic: Statistic, persons: Option<Persons>, adjacency: Adjacency) -> ReleaseRequest {
    ReleaseRequest {
        question: Question { statistic, adjacency },
        column: Some("value".into()),
        unit: None,
        persons,
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(0.0).unwrap(),
        kind: None,
    }
}

fn persons(rows: u64) -> Option<Persons> {
    Some(Persons::new("id", Count::new(rows).unwrap()).unwrap())
}

#[test]
fn noise_grows_with_the_rows_of_a_person_and_no_faster() {
    let bounds = Bounds::new(0.0, 1.0).unwrap();
    for statistic in [Statistic::Count, Statistic::Sum(bounds)] {
        let scale = |persons| {
            let prepared = prepare(&order(statistic.clone(), persons, Adjacency::AddRemove)).unwrap();
            assert!(prepared.answer.epsilon.upper().unwrap().0.get() <= 1.0);
            let note = &prepared.notes()[0];
            note.scale * note.granularity
        };
        let one = scale(None);
        assert_eq!(one, scale(persons(1)));
        for rows in [2, 5, 40] {
            let ratio = scale(persons(rows)) / one / rows as f64;
            assert!((0.98..1.02).contains(&ratio), "{rows}: {ratio}");
        }
    }
}

#[test]
fn a_claim_says_who_is_protected_and_a_changed_one_does_not_hold() {
    let prepared = prepare(&order(Statistic::Count, persons(3), Adjacency::AddRemove)).unwrap();
    let entropy = Entropy::system().unwrap();
    let rng = || NoiseStream::new(entropy.stream(Purpose::Noise, Key::default()));
    let column = Column::from(vec![Some(1.0); 9]);
    let provenance = provenance("visits.csv").unwrap();
    assert!(prepared.release(&column, (&provenance, None), &mut rng()).is_err(), "rows that nobody bounded");
    let by = |rows: u64| persons(rows).unwrap().bound(&column, &vec![Some("a".into()); 9], &entropy).unwrap();
    assert!(
        prepared.release_bounded(&by(4), (&provenance, None), &mut rng()).is_err(),
        "rows bounded otherwise"
    );
    let claim = prepared.release_bounded(&by(3), (&provenance, None), &mut rng()).unwrap().claim;
    assert!(
        claim.definition.contains("in column id. At most 3 of these rows are used"),
        "{}",
        claim.definition
    );
    let text = claim.to_json().unwrap();
    assert!(verify(&text).unwrap().checks.iter().all(|check| check.holds));
    for (from, to) in [
        ("\"rows_per_person\": 3", "\"rows_per_person\": 2"),
        ("\"size\": 3", "\"size\": 2"),
        ("At most 3 of", "At most 1 of"),
        ("\"column\": \"id\"", "\"column\": \"family\""),
    ] {
        assert!(text.contains(from), "{from}");
        let outcome = verify(&text.replacen(from, to, 1));
        assert!(outcome.is_err() || outcome.unwrap().checks.iter().any(|check| !check.holds), "{from}");
    }
    assert!(matches!(prepared.subject.mechanism, Mechanism::Group { .. }));
}

#[test]
fn where_the_number_of_rows_is_public_there_is_no_theorem() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        let refused = prepare(&order(Statistic::Count, persons(1), adjacency)).unwrap_err().to_string();
        assert!(refused.contains("no theorem") && refused.contains("use add-remove"), "{refused}");
    }
}
