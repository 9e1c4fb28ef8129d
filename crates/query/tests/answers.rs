//! Answers and their error bars.

use veracity_core::{Adjacency, NoiseMultiplier};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_query::{Bins, Bounds, Column, NoiseKind, Question, Rank, Statistic};

fn rng(seed: u64) -> NoiseStream {
    NoiseStream::new(Entropy::seeded(seed).stream(Purpose::Noise, Key::default()))
}

#[test]
fn little_noise_gives_the_plain_statistic() {
    let bounds = Bounds::new(0.0, 10.0).unwrap();
    let values: Vec<Option<f64>> = (0..=1000).map(|i| Some(f64::from(i) / 100.0)).collect();
    let cases = [
        (Statistic::Count, 1001.0),
        (Statistic::Sum(bounds), 5005.0),
        (Statistic::Mean(bounds), 5.0),
        // scipy 1.15: numpy.var(numpy.arange(1001)/100)
        (Statistic::Variance(bounds), 8.35),
        (Statistic::Quantile { bounds, rank: Rank::new(1, 4).unwrap(), steps: 1000 }, 2.5),
    ];
    for adjacency in Adjacency::ALL {
        for (statistic, expected) in &cases {
            let question = Question { statistic: statistic.clone(), adjacency };
            let design = question.design(NoiseKind::Laplace, NoiseMultiplier::new(1e-3).unwrap()).unwrap();
            let release = design.release(&Column::Numbers(values.clone()), &mut rng(1)).unwrap();
            let found = release.cells[0].value;
            assert!((found - expected).abs() < 0.05, "{statistic:?} {adjacency}: {found}");
        }
    }
    let bins = Statistic::Histogram(Bins::Numeric { bounds, bins: 2 });
    let question = Question { statistic: bins, adjacency: Adjacency::AddRemove };
    let design = question.design(NoiseKind::Gaussian, NoiseMultiplier::new(1e-3).unwrap()).unwrap();
    let release = design.release(&Column::Numbers(values), &mut rng(1)).unwrap();
    let cells: Vec<_> = release.cells.iter().map(|c| (c.label.clone().unwrap(), c.value)).collect();
    assert_eq!(cells, [("[0, 5)".to_owned(), 500.0), ("[5, 10]".to_owned(), 501.0)]);
}
