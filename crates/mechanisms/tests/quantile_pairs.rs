//! Error bars whose two ends are chosen at once: coverage and width in each cell, what holds of all data, and what does not.

use veracity_core::numerics::{binomial::log_upper_tail, normal};
use veracity_core::{Adjacency, Mechanism};
use veracity_mechanisms::{Bounds, Cell, Column, Design, ErrorBar, NoiseKind, Question, Rank, Statistic};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_testkit::short;

/// Bars of each case.
const RUNS: u64 = 400;

/// A design at ε = 1/`multiplier`.
fn design(rank: (u32, u32), steps: u32, multiplier: f64, bar: ErrorBar) -> Design {
    let (bounds, rank) = (Bounds::new(0.0, 100.0).unwrap(), Rank::new(rank.0, rank.1).unwrap());
    let statistic = Statistic::Quantile { bounds, rank, steps, bar };
    let question = Question { statistic, adjacency: Adjacency::AddRemove };
    question.design(NoiseKind::Laplace, short::noise(multiplier)).unwrap()
}

fn releases(design: &Design, values: &[f64], runs: u64) -> Vec<Cell> {
    let column = Column::Numbers(values.to_vec());
    let entropy = Entropy::seeded(15);
    let one = |step| {
        let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key { run: 0, trial: 0, step }));
        design.release(&column, &mut rng).unwrap().cells[0].clone()
    };
    (0..runs).map(one).collect()
}

/// The quantile of numpy and of `PERCENTILE_CONT`.
fn interpolated(values: &[f64], rank: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let at = rank * (values.len() as f64 - 1.0);
    let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
    low + (at - at.floor()) * (high - low)
}

/// So many values of a distribution, fresh for each group.
fn group(data: &str, rows: u64, group: u64) -> Vec<f64> {
    let mut stream = Entropy::seeded(33).stream(Purpose::Attack, Key { run: rows, trial: group, step: 0 });
    let mut value = || {
        let z = normal::quantile(((stream.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64);
        let x = match data {
            "normal" => 47.3 + 10.0 * z,
            "skewed" => (2.0 + 0.8 * z).exp(),
            _ => (47.3 + 10.0 * z).round(),
        };
        x.clamp(0.0, 100.0)
    };
    (0..rows).map(|_| value()).collect()
}

/// Misses of 20 bars in each of 20 groups, and the mean bar over the 95% quantile of the errors.
fn cell(data: &str, rows: u64, rank: (u32, u32), factor: f64) -> (u64, f64) {
    let design = design(rank, 10_000, 1.0, ErrorBar::Pair);
    let part = f64::from(rank.0) / f64::from(rank.1);
    let (mut missed, mut errors, mut bars) = (0, Vec::new(), 0.0);
    for at in 0..20 {
        let values = group(data, rows, at);
        let exact = interpolated(&values, part);
        for cell in releases(&design, &values, 20) {
            let error = (cell.value - exact).abs();
            missed += u64::from(error > factor * cell.error_bar + 1e-9);
            errors.push(error);
            bars += cell.error_bar;
        }
    }
    errors.sort_by(f64::total_cmp);
    (missed, bars / errors.len() as f64 / errors[errors.len() * 95 / 100])
}

/// Whether so many misses of [`RUNS`] have a probability below 1e-6 if each has one of at most 5%.
fn too_many(missed: u64) -> bool {
    log_upper_tail(RUNS, missed, 0.05) < 1e-6f64.ln()
}

/// 400 bars in each cell at ε = 1, seeds 15 and 33, level 1e-6. Groups of 5 tell next to nothing of a quantile at this ε, so the bar of one
/// is nearly the whole range. Control: a third of each bar is too short.
#[test]
fn bars_hold_in_every_cell_and_are_short_where_there_are_enough_rows() {
    for data in ["normal", "skewed", "tied"] {
        for rows in [5, 50, 5000] {
            for rank in [(1, 2), (9, 10)] {
                let (missed, width) = cell(data, rows, rank, 1.0);
                assert!(!too_many(missed), "{data} {rows} {rank:?}: {missed} of 400 missed");
                // Of tied values, most errors are 0.
                if rows >= 50 && data != "tied" {
                    assert!(width < 1.5, "{data} {rows} {rank:?}: {width}");
                }
            }
        }
    }
    let (missed, _) = cell("normal", 5000, (1, 2), 0.33);
    assert!(too_many(missed), "{missed}: the test is blind");
}

/// All of ε is for one choice, and what is charged is what is drawn.
#[test]
fn a_pair_costs_what_one_choice_costs() {
    let pair = design((1, 2), 1000, 2.0, ErrorBar::Pair);
    let Mechanism::Exponential { epsilon } = pair.mechanism() else { panic!("one choice") };
    assert!(epsilon.get() <= 0.5 * (1.0 + 1e-12), "{epsilon}");
    assert!(matches!(design((1, 2), 1000, 2.0, ErrorBar::Charged).mechanism(), Mechanism::Composed(_)));
}

/// 400 releases of each, seed 15, level 1e-6: the rank of the answer is as near as stated on data of all kinds: no value, one value, all
/// values equal, far clusters, values at the bounds. Control: a fortieth of it is refuted where values are spread.
#[test]
fn the_rank_is_as_near_as_stated_whatever_the_data() {
    let heaps = |left: u32, right: u32| -> Vec<f64> {
        let left = (0..left).map(|i| 10.0 + f64::from(i) * 1e-3);
        left.chain((0..right).map(|i| 90.0 - f64::from(i) * 1e-3)).collect()
    };
    let spread: Vec<f64> = (0..1000).map(|i| f64::from(i) / 10.0).collect();
    let all = [
        vec![],
        vec![37.0],
        vec![37.0; 400],
        heaps(251, 250),
        heaps(400, 40),
        vec![0.0; 300].into_iter().chain(vec![100.0; 299]).collect(),
        spread.clone(),
    ];
    let design = design((1, 2), 5000, 1.0, ErrorBar::Pair);
    let beyond = |values: &[f64], factor: f64| {
        let far = |cell: &Cell| {
            let target = 0.5 * values.len() as f64;
            let below = values.iter().filter(|x| **x < cell.value).count() as f64;
            let upto = values.iter().filter(|x| **x <= cell.value).count() as f64;
            (below - target).max(target - upto) > factor * cell.rank_error.unwrap()
        };
        releases(&design, values, RUNS).iter().filter(|cell| far(cell)).count() as u64
    };
    for values in &all {
        assert!(!too_many(beyond(values, 1.0)), "{} values", values.len());
    }
    assert!(too_many(beyond(&spread, 1.0 / 40.0)), "the test is blind");
}

/// The bar is not a promise for all data. The median of 251 values near 10 and 250 near 90 is near 10, and both ends are between the heaps:
/// one value has less to say than a gap that is 8,000 times as wide as those around it. A charged bar holds here too.
#[test]
fn a_gap_beside_the_quantile_breaks_the_bar_of_a_pair_and_no_charged_one() {
    let values: Vec<f64> = (0..501)
        .map(|i| if i < 251 { 10.0 + f64::from(i) * 1e-2 } else { 90.0 + f64::from(i) * 1e-2 })
        .collect();
    let median = interpolated(&values, 0.5);
    let missed = |bar: ErrorBar| {
        let cells = releases(&design((1, 2), 10_000, 1.0, bar), &values, RUNS);
        cells.iter().filter(|cell| (cell.value - median).abs() > cell.error_bar).count() as u64
    };
    assert!(too_many(missed(ErrorBar::Pair)));
    assert!(!too_many(missed(ErrorBar::Charged)));
}

/// Of no values, the bar is about the whole range. Equal values give their value with the least bar, whether it is round or not.
#[test]
fn no_values_give_no_answer_and_equal_ones_give_theirs() {
    let design = design((1, 2), 10_000, 1.0, ErrorBar::Pair);
    let widths: Vec<f64> = releases(&design, &[], RUNS).iter().map(|cell| cell.error_bar).collect();
    assert!(widths.iter().sum::<f64>() / RUNS as f64 > 35.0);
    for value in [0.0, 37.0, 61.37, 100.0] {
        for cell in releases(&design, &[value; 400], 50) {
            assert_eq!(cell.value, value);
            assert!(cell.error_bar < 0.0051, "{cell:?}");
        }
    }
}
