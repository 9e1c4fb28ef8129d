//! Answers, and how often their error bars hold.

use veracity_core::numerics::binomial::log_upper_tail;
use veracity_core::{Adjacency, Sensitivity};
use veracity_mechanisms::{
    Bins, Bounds, Column, Design, ErrorBar, NoiseKind, Question, Rank, Statistic, VectorDesign,
};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_testkit::short;

fn rng(seed: u64) -> NoiseStream {
    NoiseStream::new(Entropy::seeded(seed).stream(Purpose::Noise, Key::default()))
}

fn design(statistic: &Statistic, adjacency: Adjacency, kind: NoiseKind, multiplier: f64) -> Design {
    let question = Question { statistic: statistic.clone(), adjacency };
    question.design(kind, short::noise(multiplier)).unwrap()
}

/// 0, 0.01, …, 10.
fn ramp() -> Vec<Option<f64>> {
    (0..=1000).map(|i| Some(f64::from(i) / 100.0)).collect()
}

/// # numpy: numpy.var(numpy.arange(1001)/100) = 8.35
fn expected(bounds: Bounds) -> [(Statistic, f64); 4] {
    [
        (Statistic::Count, 1001.0),
        (Statistic::Sum(bounds), 5005.0),
        (Statistic::Mean(bounds), 5.0),
        (Statistic::Variance(bounds), 8.35),
    ]
}

#[test]
fn little_noise_gives_the_plain_statistic() {
    let bounds = Bounds::new(0.0, 10.0).unwrap();
    let rank = Rank::new(1, 4).unwrap();
    let quantile = (Statistic::Quantile { bounds, rank, steps: 1000, bar: ErrorBar::Charged }, 2.5);
    for adjacency in Adjacency::ALL {
        for (statistic, expected) in expected(bounds).iter().chain([&quantile]) {
            let design = design(statistic, adjacency, NoiseKind::Laplace, 1e-3);
            let release = design.release(&Column::from(ramp()), &mut rng(1)).unwrap();
            let cell = &release.cells[0];
            assert!((cell.value - expected).abs() < 0.05, "{statistic:?} {adjacency}: {}", cell.value);
            assert!(cell.error_bar < 0.06, "{statistic:?}: {}", cell.error_bar);
        }
    }
    let bins = Statistic::Histogram(Bins::Numeric { bounds, bins: 2 });
    let design = design(&bins, Adjacency::AddRemove, NoiseKind::Gaussian, 1e-3);
    let release = design.release(&Column::from(ramp()), &mut rng(1)).unwrap();
    let cells: Vec<_> = release.cells.iter().map(|c| (c.label.clone().unwrap(), c.value)).collect();
    assert_eq!(cells, [("[0, 5)".to_owned(), 500.0), ("[5, 10]".to_owned(), 501.0)]);
}

#[test]
fn missing_values_stand_in_the_middle_where_rows_are_public_and_nowhere_else() {
    let bounds = Bounds::new(0.0, 10.0).unwrap();
    let column = Column::from(vec![Some(2.0), None, Some(f64::NAN), Some(f64::INFINITY)]);
    for (adjacency, sum, mean) in [
        (Adjacency::AddRemove, 12.0, 6.0),
        (Adjacency::ReplaceOne, 22.0, 5.5),
        (Adjacency::ZeroOut, 22.0, 5.5),
    ] {
        for (statistic, expected) in [(Statistic::Sum(bounds), sum), (Statistic::Mean(bounds), mean)] {
            let design = design(&statistic, adjacency, NoiseKind::Laplace, 1e-4);
            let found = design.release(&column, &mut rng(2)).unwrap().cells[0].value;
            assert!((found - expected).abs() < 0.02, "{adjacency} {statistic:?}: {found}");
        }
    }
}

#[test]
fn what_lies_outside_is_in_the_end_bins_and_unknown_texts_in_none() {
    let values = |statistic: Statistic, column: Column| -> Vec<f64> {
        let design = design(&statistic, Adjacency::ZeroOut, NoiseKind::Laplace, 1e-3);
        design.release(&column, &mut rng(8)).unwrap().cells.iter().map(|cell| cell.value).collect()
    };
    let bins = Bins::Numeric { bounds: Bounds::new(-1.0, 2.0).unwrap(), bins: 3 };
    let numbers = [-9.0, f64::NEG_INFINITY, -0.0, 0.5, 1.0, 2.0, 1e300, f64::NAN].map(Some);
    let found = values(Statistic::Histogram(bins), Column::from(numbers.to_vec()));
    assert_eq!(found, [2.0, 2.0, 3.0]);

    let names = Bins::Categories(["b", "a"].map(str::to_owned).to_vec());
    let texts = ["a", "a", "b", "c", "A", ""].map(|text| Some(text.to_owned()));
    let found = values(Statistic::Histogram(names), Column::Texts(texts.to_vec()));
    assert_eq!(found, [1.0, 2.0]);
}

#[test]
fn empty_columns_are_answered_like_all_others() {
    let bounds = Bounds::new(-1.0, 3.0).unwrap();
    for adjacency in Adjacency::ALL {
        for (statistic, _) in expected(bounds) {
            let design = design(&statistic, adjacency, NoiseKind::Gaussian, 2.0);
            for column in [Column::Numbers(vec![]), Column::Numbers(vec![f64::NAN; 3])] {
                let cell = design.release(&column, &mut rng(3)).unwrap().cells[0].clone();
                assert!(cell.value.is_finite() && cell.error_bar.is_finite(), "{statistic:?}");
            }
        }
    }
}

/// How many of `runs` answers are farther from the truth than their error bar times `factor`.
fn misses(design: &Design, column: &Column, truth: f64, factor: f64, runs: u64) -> u64 {
    let entropy = Entropy::seeded(4);
    let missed = |step| {
        let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key { run: 0, trial: 0, step }));
        let cell = design.release(column, &mut rng).unwrap().cells[0].clone();
        (cell.value - truth).abs() > cell.error_bar * factor
    };
    (0..runs).filter(|step| missed(*step)).count() as u64
}

/// Whether so many misses have a chance below 1e-6 if each has a chance of at most 5 %.
fn too_many(misses: u64, runs: u64) -> bool {
    log_upper_tail(runs, misses, 0.05) < 1e-6f64.ln()
}

/// 4 000 releases each, seed 4, level 1e-6 each by exact binomial tails. Half an error bar is refuted for the plain
/// statistics; bars of ratios hold for the worst data and count their parts' misses apart, so they need a fifth.
#[test]
fn error_bars_hold_and_shorter_ones_do_not() {
    let bounds = Bounds::new(0.0, 10.0).unwrap();
    let column = Column::from(ramp());
    let (runs, multiplier) = (4_000, 3.7);
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        for adjacency in Adjacency::ALL {
            for (statistic, truth) in expected(bounds) {
                let design = design(&statistic, adjacency, kind, multiplier);
                let found = misses(&design, &column, truth, 1.0, runs);
                assert!(!too_many(found, runs), "{statistic:?} {adjacency} {kind:?}: {found}");
                let short = match statistic {
                    Statistic::Count | Statistic::Sum(_) => 0.5,
                    _ => 0.2,
                };
                let found = misses(&design, &column, truth, short, runs);
                assert!(too_many(found, runs), "{statistic:?} {adjacency} {kind:?}: {found} with short bars");
            }
        }
    }
}

/// 2 000 medians, seed 4, level 1e-6: the rank of the answer among 1001 even values is its value times 100.
#[test]
fn rank_errors_hold_and_shorter_ones_do_not() {
    let bounds = Bounds::new(0.0, 10.0).unwrap();
    let rank = Rank::new(1, 2).unwrap();
    let statistic = Statistic::Quantile { bounds, rank, steps: 1000, bar: ErrorBar::Pair };
    let design = design(&statistic, Adjacency::AddRemove, NoiseKind::Laplace, 2.0);
    let entropy = Entropy::seeded(4);
    let mut off = Vec::new();
    for step in 0..2_000 {
        let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key { run: 0, trial: 0, step }));
        let cell = design.release(&Column::from(ramp()), &mut rng).unwrap().cells[0].clone();
        off.push((cell.value * 100.0 - 500.0).abs() / cell.rank_error.unwrap());
    }
    let beyond = |factor: f64| off.iter().filter(|part| **part > factor).count() as u64;
    assert!(!too_many(beyond(1.0), 2_000));
    assert!(too_many(beyond(0.05), 2_000), "{}", beyond(0.05));
}

/// 4 000 vectors of three, seed 5, level 1e-6 for each coordinate.
#[test]
fn vectors_are_within_their_error_bar() {
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        let (three, contribution) = (short::count(3), Sensitivity::new(2.0).unwrap());
        let level = short::noise(1.5);
        let design = VectorDesign::new(three, kind, contribution, Adjacency::AddRemove, level).unwrap();
        let (truth, mut rng) = ([0.1, -1e6, 1.0 / 3.0], rng(5));
        let noisy: Vec<_> = (0..4_000).map(|_| design.release(&truth, &mut rng).unwrap()).collect();
        for (i, exact) in truth.iter().enumerate() {
            let beyond = |factor: f64| {
                noisy.iter().filter(|n| (n.values[i] - exact).abs() > n.error_bar * factor).count() as u64
            };
            assert!(!too_many(beyond(1.0), 4_000) && too_many(beyond(0.5), 4_000), "{kind:?} {i}");
        }
    }
}

#[test]
fn a_preview_says_what_the_release_will_say() {
    let bounds = Bounds::new(0.0, 10.0).unwrap();
    for adjacency in Adjacency::ALL {
        for (statistic, _) in expected(bounds) {
            let design = design(&statistic, adjacency, NoiseKind::Laplace, 0.5);
            let preview = design.preview(1001);
            let cell = design.release(&Column::from(ramp()), &mut rng(6)).unwrap().cells[0].clone();
            assert_eq!(preview.cells, 1);
            // The ramp is spread evenly; only the noise in a count and a mean differs from what was expected.
            let ratio = cell.error_bar / preview.error_bar;
            assert!((ratio - 1.0).abs() < 0.02, "{statistic:?} {adjacency}: {ratio}");
        }
    }
}

#[test]
fn a_refusal_rests_on_the_kind_of_column_alone() {
    let bounds = Bounds::new(0.0, 1.0).unwrap();
    let sum = design(&Statistic::Sum(bounds), Adjacency::AddRemove, NoiseKind::Laplace, 1.0);
    let secret = Column::Texts(vec![Some("secret".to_owned())]);
    let refusal = sum.release(&secret, &mut rng(7)).unwrap_err().to_string();
    assert_eq!(refusal, "column contains strings, but this statistic needs numbers");
    assert_eq!(sum.release(&Column::Texts(vec![]), &mut rng(7)).unwrap_err().to_string(), refusal);
}
