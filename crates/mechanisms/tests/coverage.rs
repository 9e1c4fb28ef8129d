//! Error bars on columns that are not kind to them: tied, constant, skewed, with two heaps, with few or no values. Every
//! statistic, every adjacency; the exact statistic of the clamped values is worked out here, by another road.

use veracity_core::Adjacency;
use veracity_core::numerics::binomial::log_upper_tail;
use veracity_mechanisms::{
    Bins, Bounds, Cell, Column, Design, ErrorBar, NoiseKind, Question, Rank, Statistic,
};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_testkit::short;

const RUNS: u64 = 1000;
const RANKS: [(u32, u32); 5] = [(1, 20), (1, 4), (1, 2), (9, 10), (99, 100)];

/// Values between 0 and 100, some beyond: the name, and one value for each row.
fn columns() -> Vec<(&'static str, Vec<Option<f64>>)> {
    let of = |rows: u32, value: &dyn Fn(u32) -> f64| (0..rows).map(|i| Some(value(i))).collect::<Vec<_>>();
    vec![
        ("constant", of(400, &|_| 37.0)),
        ("tied", of(600, &|i| [19.99, 20.0, 20.0, 45.5, 80.0][i as usize % 5])),
        // As incomes are: most are small, some far beyond the bound.
        ("skewed", of(800, &|i| (f64::from(i % 160) / 16.0).exp() / 50.0)),
        (
            "two heaps",
            of(500, &|i| if i % 2 == 0 { 10.0 + f64::from(i) / 500.0 } else { 90.0 - f64::from(i) / 500.0 }),
        ),
        ("at the bounds", of(300, &|i| if i % 3 == 0 { -5.0 } else { 1e9 })),
        ("a handful", of(7, &|i| f64::from(i * i))),
        ("with gaps", (0..300).map(|i| (i % 3 > 0).then(|| f64::from(i) / 7.0)).collect()),
    ]
}

/// What the answer stands for: the values that count, clamped; missing ones in the middle where rows are public.
fn counted(rows: &[Option<f64>], adjacency: Adjacency, fills: bool) -> Vec<f64> {
    let middle = (fills && adjacency != Adjacency::AddRemove).then_some(50.0);
    rows.iter().filter_map(|x| x.or(middle)).map(|x| x.clamp(0.0, 100.0)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// All exact answers that a statistic may be said to have, from the least to the largest: one, but for a quantile that
/// falls between two values.
fn truths(statistic: &Statistic, rows: &[Option<f64>], adjacency: Adjacency) -> Vec<(f64, f64)> {
    let one = |x: f64| vec![(x, x)];
    let present = || counted(rows, adjacency, false);
    let filled = || counted(rows, adjacency, true);
    match statistic {
        Statistic::Count => one(present().len() as f64),
        Statistic::Sum(_) => one(filled().iter().sum()),
        Statistic::Mean(_) => one(mean(&filled())),
        Statistic::Variance(_) => {
            let values = filled();
            let centre = mean(&values);
            one(mean(&values.iter().map(|x| (x - centre).powi(2)).collect::<Vec<_>>()))
        }
        Statistic::Quantile { rank, .. } => {
            let mut values = present();
            values.sort_unstable_by(f64::total_cmp);
            // Whole numbers: the ⌈tn⌉th value, and where tn is whole the next one too.
            let (below, whole) = (rank.below() as usize * values.len(), rank.whole() as usize);
            let (low, high) = (below.div_ceil(whole).max(1), (below / whole + 1).min(values.len()));
            vec![(values[low - 1], values[high - 1])]
        }
        Statistic::Histogram(_) => {
            let in_bin = |i: usize, x: f64| ((x / 10.0) as usize).min(9) == i;
            let values = present();
            (0..10).map(|i| values.iter().filter(|x| in_bin(i, **x)).count() as f64).map(|n| (n, n)).collect()
        }
    }
}

fn statistics() -> Vec<Statistic> {
    let bounds = Bounds::new(0.0, 100.0).unwrap();
    let quantile = |(below, whole)| {
        let rank = Rank::new(below, whole).unwrap();
        Statistic::Quantile { bounds, rank, steps: 1000, bar: ErrorBar::Charged }
    };
    [
        Statistic::Count,
        Statistic::Sum(bounds),
        Statistic::Mean(bounds),
        Statistic::Variance(bounds),
        Statistic::Histogram(Bins::Numeric { bounds, bins: 10 }),
    ]
    .into_iter()
    .chain(RANKS.map(quantile))
    .collect()
}

/// For each cell, how many of the releases are farther from the truth than the error bar times `factor`.
fn misses(design: &Design, column: &Column, truths: &[(f64, f64)], factor: f64) -> Vec<u64> {
    let entropy = Entropy::seeded(12);
    let mut misses = vec![0; truths.len()];
    for step in 0..RUNS {
        let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key { run: 0, trial: 0, step }));
        let release = design.release(column, &mut rng).unwrap();
        for (cell, (truth, missed)) in release.cells.iter().zip(truths.iter().zip(&mut misses)) {
            *missed += u64::from(beyond(cell, *truth, factor));
        }
    }
    misses
}

fn beyond(cell: &Cell, (low, high): (f64, f64), factor: f64) -> bool {
    // The truths above are floats, and round too.
    let bar = cell.error_bar * factor + 1e-9;
    cell.value - low > bar || high - cell.value > bar
}

/// The exact binomial rule: so many misses have a chance below 1e-6 if each has a chance of at most 5 %.
fn too_many(misses: u64) -> bool {
    log_upper_tail(RUNS, misses, 0.05) < 1e-6f64.ln()
}

/// 1000 releases each of 7 columns × 10 statistics × 3 adjacencies, seed 12, level 1e-6 each. At least 94 % of the bars
/// hold in each, too; a hundred seeds would have a few that do not.
#[test]
fn error_bars_hold_on_every_column() {
    for (name, rows) in columns() {
        let column = Column::from(rows.clone());
        for adjacency in Adjacency::ALL {
            for statistic in statistics() {
                let question = Question { statistic: statistic.clone(), adjacency };
                let design = question.design(NoiseKind::Laplace, short::noise(2.0)).unwrap();
                let truths = truths(&statistic, &rows, adjacency);
                for (cell, missed) in misses(&design, &column, &truths, 1.0).into_iter().enumerate() {
                    let told = format!("{name}, {adjacency}, {statistic:?}, cell {cell}: {missed} of {RUNS}");
                    assert!(!too_many(missed) && missed <= 60, "{told}");
                }
            }
        }
    }
}

/// The twin: bars cut short are found out. Half a bar is too short for counts, sums and bins. A quantile's bar reaches past
/// the rank by as much as its own noise could hide, so it takes a tenth, on a column that is spread.
#[test]
fn error_bars_that_are_cut_short_do_not_hold() {
    let rows: Vec<Option<f64>> = (0..=1000).map(|i| Some(f64::from(i) / 10.0)).collect();
    let column = Column::from(rows.clone());
    for statistic in statistics() {
        let factor = match statistic {
            Statistic::Count | Statistic::Sum(_) | Statistic::Histogram(_) => 0.5,
            Statistic::Mean(_) | Statistic::Variance(_) => 0.2,
            Statistic::Quantile { .. } => 0.05,
        };
        let question = Question { statistic: statistic.clone(), adjacency: Adjacency::AddRemove };
        let design = question.design(NoiseKind::Laplace, short::noise(2.0)).unwrap();
        let truths = truths(&statistic, &rows, Adjacency::AddRemove);
        for (cell, missed) in misses(&design, &column, &truths, factor).into_iter().enumerate() {
            assert!(too_many(missed), "{statistic:?}, cell {cell}: {missed}");
        }
    }
}

/// 1000 releases each, seed 12, level 1e-6: the rank asked for is within the stated number of values of the ranks that the
/// answer has. Twin: a twentieth of it does not hold where values are spread.
#[test]
fn rank_errors_hold_on_every_column() {
    let ramp: Vec<Option<f64>> = (0..=1000).map(|i| Some(f64::from(i) / 10.0)).collect();
    let entropy = Entropy::seeded(12);
    for (name, rows) in columns().into_iter().chain([("ramp", ramp)]) {
        // On the grid of tenths, as the answer is.
        let snapped: Vec<f64> =
            counted(&rows, Adjacency::AddRemove, false).iter().map(|x| (x * 10.0).round() / 10.0).collect();
        let column = Column::from(rows);
        for statistic in statistics() {
            let Statistic::Quantile { rank, .. } = statistic else { continue };
            let question = Question { statistic, adjacency: Adjacency::AddRemove };
            let design = question.design(NoiseKind::Laplace, short::noise(2.0)).unwrap();
            let (mut missed, mut short) = (0, 0);
            for step in 0..RUNS {
                let key = Key { run: 0, trial: 0, step };
                let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, key));
                let cell = design.release(&column, &mut rng).unwrap().cells[0].clone();
                let target = f64::from(rank.below()) / f64::from(rank.whole()) * snapped.len() as f64;
                let below = snapped.iter().filter(|x| **x < cell.value).count() as f64;
                let upto = snapped.iter().filter(|x| **x <= cell.value).count() as f64;
                let off = (below - target).max(target - upto).max(0.0);
                missed += u64::from(off > cell.rank_error.unwrap());
                short += u64::from(off > cell.rank_error.unwrap() / 20.0);
            }
            assert!(!too_many(missed), "{name} {rank:?}: {missed}");
            assert!(name != "ramp" || too_many(short), "{rank:?}: {short}");
        }
    }
}
