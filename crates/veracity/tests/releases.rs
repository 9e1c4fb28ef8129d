//! Releases through the facade.

use veracity::{
    Adjacency, Delta, Entropy, Epsilon,
    noise::{Key, NoiseStream, Purpose},
    provenance,
    query::{Column, Question, Statistic},
    releasing::{ReleaseRequest, prepare},
};

/// A count at ε = 0.001.
fn order() -> ReleaseRequest {
    ReleaseRequest {
        question: Question { statistic: Statistic::Count, adjacency: Adjacency::AddRemove },
        column: None,
        persons: None,
        unit: None,
        epsilon: Epsilon::new(0.001).unwrap(),
        delta: Delta::new(0.0).unwrap(),
        kind: None,
    }
}

/// Counts of 1001 and of 1000 rows, each with noise of scale 1000: were the noise the same, they would differ by one.
/// Seeds 0 to 99; independent noise gives a difference of exactly one with chance below 1/2000 each, so that more than 5 of
/// 100 come with chance below 1e-9.
#[test]
fn releases_after_each_other_do_not_share_their_noise() {
    let prepared = prepare(&order()).unwrap();
    let column = |rows: usize| Column::Texts(vec![Some(String::new()); rows]);
    let stream = |seed| NoiseStream::new(Entropy::seeded(seed).stream(Purpose::Noise, Key::default()));
    let provenance = provenance("people.csv").unwrap();
    let count = |rows, rng: &mut NoiseStream| {
        prepared.release(&column(rows), (&provenance, None), rng).unwrap().release.cells[0].value
    };
    let betrayed = (0..100).filter(|seed| {
        let mut rng = stream(*seed);
        count(1001, &mut rng) - count(1000, &mut rng) == 1.0
    });
    assert!(betrayed.count() <= 5);
    // Twin: one stream drawn twice betrays every time.
    assert!((0..100).all(|seed| count(1001, &mut stream(seed)) - count(1000, &mut stream(seed)) == 1.0));
}

#[test]
fn only_fresh_entropy_without_a_tape_is_for_release() {
    let prepared = prepare(&order()).unwrap();
    let system = || Entropy::system().unwrap().stream(Purpose::Noise, Key::default());
    let seeded = Entropy::seeded(1).stream(Purpose::Noise, Key::default());
    for (mut rng, expected) in [
        (NoiseStream::new(system()), true),
        (NoiseStream::recording(system()), false),
        (NoiseStream::new(seeded), false),
    ] {
        let provenance = provenance("people.csv").unwrap();
        let released = prepared.release(&Column::Texts(Vec::new()), (&provenance, None), &mut rng).unwrap();
        assert_eq!(released.claim.release.unwrap().for_release, expected);
    }
}
