//! Slow twins of batches: every batch of every tiny dataset, and plain sums over the plane and the cube.
#![allow(clippy::unwrap_used)]

use super::tails::{Direction, law};
use super::*;
use crate::{Part, expand::expand};
use veracity_core::{Adjacency, Mechanism};
use veracity_testkit::short::{self, count};

/// A law of batch sums: how likely each whole number is.
type Sums = Vec<(i32, f64)>;

fn add(sums: &mut Sums, sum: i32, chance: f64) {
    match sums.iter_mut().find(|(known, _)| *known == sum) {
        Some((_, mass)) => *mass += chance,
        None => sums.push((sum, chance)),
    }
}

/// All subsets of `records` with `size` members, by their sums.
fn subset_sums(records: &[i32], size: usize) -> Vec<i32> {
    let subsets = 0u32..1 << records.len();
    let of_size = subsets.filter(|set| set.count_ones() as usize == size);
    of_size.map(|set| (0..records.len()).filter(|i| set >> i & 1 == 1).map(|i| records[i]).sum()).collect()
}

/// Poisson batches of at most `most` records.
fn truncated(records: &[i32], rate: f64, most: usize) -> Sums {
    let mut sums = Sums::new();
    for set in 0u32..1 << records.len() {
        let drawn: Vec<i32> = (0..records.len()).filter(|i| set >> i & 1 == 1).map(|i| records[i]).collect();
        let absent = (records.len() - drawn.len()) as i32;
        let chance = rate.powi(drawn.len() as i32) * (1.0 - rate).powi(absent);
        let kept = subset_sums(&drawn, drawn.len().min(most));
        for sum in &kept {
            add(&mut sums, *sum, chance / kept.len() as f64);
        }
    }
    sums
}

/// Batches of one size, without replacement.
fn fixed(records: &[i32], size: usize) -> Sums {
    let mut sums = Sums::new();
    let batches = subset_sums(records, size);
    for sum in &batches {
        add(&mut sums, *sum, 1.0 / batches.len() as f64);
    }
    sums
}

/// Densities of batch sums with normal noise, on a line of points with their distance.
fn density(sums: &Sums, sigma: f64) -> (Vec<f64>, f64) {
    let (step, reach) = (0.01 * sigma, 7.0 + 8.0 * sigma);
    let points = (2.0 * reach / step) as i32;
    let at = |i: i32| -> f64 {
        let x = -reach + f64::from(i) * step;
        let bell = |(sum, mass): &(i32, f64)| mass * (-0.5 * ((x - f64::from(*sum)) / sigma).powi(2)).exp();
        sums.iter().map(bell).sum::<f64>() / (sigma * std::f64::consts::TAU.sqrt())
    };
    ((0..=points).map(at).collect(), step)
}

/// ∫ (P − e^ε Q)₊ of two densities by the trapezoid rule. Its error is that of a kink: the squared step, times the jump of
/// the slope, at most.
fn stick((p, step): &(Vec<f64>, f64), (q, _): &(Vec<f64>, f64), epsilon: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum::<f64>() * step
}

/// All datasets of `size` records from {−1, 0, 1}, up to order.
fn datasets(size: i32) -> Vec<Vec<i32>> {
    let counts = (0..=size).flat_map(|low| (0..=size - low).map(move |none| (low, none)));
    let repeat = |value: i32, times: i32| std::iter::repeat_n(value, times as usize);
    let list = |(low, none): (i32, i32)| {
        repeat(-1, low).chain(repeat(0, none)).chain(repeat(1, size - low - none)).collect()
    };
    counts.map(list).collect()
}

fn gaussian(sigma: f64) -> Box<Mechanism> {
    Box::new(short::gaussian(sigma))
}

fn with(others: &[i32], record: i32) -> Vec<i32> {
    others.iter().copied().chain([record]).collect()
}

/// The upper side of a mechanism's δ in one direction.
fn bound(mechanism: &Mechanism, adjacency: Adjacency, direction: Direction, epsilon: f64) -> f64 {
    let parts = expand(mechanism, adjacency).unwrap();
    once::delta_at(&law(&parts[0].parts[0].0, direction).unwrap(), epsilon, Side::Upper)
}

const EPSILONS: [f64; 5] = [-1.5, -0.2, 0.05, 0.4, 2.0];

/// Checks that no dataset shows more than its bound, in either direction, and returns the largest share of it shown.
fn check(mechanism: &Mechanism, adjacency: Adjacency, sigma: f64, pairs: &[(Sums, Sums)]) -> f64 {
    let mut share: f64 = 0.0;
    for (present, absent) in pairs {
        let (present, absent) = (density(present, sigma), density(absent, sigma));
        for epsilon in EPSILONS {
            for (direction, p, q) in
                [(Direction::Remove, &present, &absent), (Direction::Add, &absent, &present)]
            {
                let most = bound(mechanism, adjacency, direction, epsilon);
                let shown = stick(p, q, epsilon);
                assert!(shown <= most + 1e-6, "{mechanism:?} {adjacency} {epsilon}: {shown} > {most}");
                share = share.max(if epsilon > 0.0 { shown / most } else { 0.0 });
            }
        }
    }
    share
}

/// The pairs that differ in one record, for a way to draw batches.
fn pairs(others: i32, adjacency: Adjacency, draw: impl Fn(&[i32]) -> Sums) -> Vec<(Sums, Sums)> {
    let mut all = Vec::new();
    for rest in datasets(others) {
        for record in [-1, 1] {
            let present = draw(&with(&rest, record));
            let absent = match adjacency {
                Adjacency::AddRemove => draw(&rest),
                Adjacency::ZeroOut => draw(&with(&rest, 0)),
                Adjacency::ReplaceOne => draw(&with(&rest, -record)),
            };
            all.push((present, absent));
        }
    }
    all
}

#[test]
fn no_tiny_dataset_shows_more_than_a_truncated_batch_may() {
    for (rate, most, sigma) in [(0.3, 1, 1.0), (0.3, 2, 0.7), (0.7, 2, 1.5), (0.9, 3, 1.0)] {
        for adjacency in [Adjacency::AddRemove, Adjacency::ZeroOut, Adjacency::ReplaceOne] {
            let shown = pairs(4, adjacency, |records| truncated(records, rate, most));
            // The population may be meant with the record or, for one that is added, without it.
            let populations: &[u64] = if adjacency == Adjacency::AddRemove { &[4, 5] } else { &[5] };
            for population in populations {
                let mechanism = Mechanism::TruncatedPoissonSampled {
                    rate: short::rate(rate),
                    most: count(most as u64),
                    population: count(*population),
                    mechanism: gaussian(sigma),
                };
                let share = check(&mechanism, adjacency, sigma, &shown);
                assert!(share > 0.25, "{mechanism:?} {adjacency}: at most {share} of the bound is shown");
            }
        }
    }
}

/// The twin that must fail: a record that is replaced or blanked enters a full batch in the place of another one, so the pair
/// of a plain Poisson batch is no bound.
#[test]
fn a_plain_batch_does_not_bound_a_truncated_one() {
    let plain = Mechanism::PoissonSampled { rate: short::rate(0.3), mechanism: gaussian(1.0) };
    for adjacency in [Adjacency::ZeroOut, Adjacency::ReplaceOne] {
        let shown = pairs(4, adjacency, |records| truncated(records, 0.3, 1));
        let most = bound(&plain, adjacency, Direction::Remove, 2.0);
        let stick = |(p, q): &(Sums, Sums)| stick(&density(p, 1.0), &density(q, 1.0), 2.0);
        let worst = shown.iter().map(stick).fold(0.0, f64::max);
        assert!(worst > 1.5 * most, "{adjacency}: {worst} {most}");
    }
}

#[test]
fn no_tiny_dataset_shows_more_than_a_batch_of_fixed_size_may_and_some_show_all() {
    for (size, others, sigma) in [(1, 4, 1.0), (2, 4, 0.7), (3, 5, 2.0)] {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let mechanism = Mechanism::FixedSizeSampled {
                batch: count(size),
                population: count(others + 1),
                mechanism: gaussian(sigma),
            };
            let shown = pairs(others as i32, adjacency, |records| fixed(records, size as usize));
            let share = check(&mechanism, adjacency, sigma, &shown);
            assert!(share > 0.9999, "{mechanism:?} {adjacency}: {share}");
        }
    }
}

/// Under replace-one, the lower end over two steps is what some dataset shows: listed here on a plain grid.
#[test]
fn the_lower_end_of_a_fixed_size_batch_is_attained() {
    let mechanism =
        Mechanism::FixedSizeSampled { batch: count(1), population: count(5), mechanism: gaussian(1.0) };
    let question = Question { mechanism: mechanism.repeated(count(2)), adjacency: Adjacency::ReplaceOne };
    let found = delta_at(&question, short::epsilon(0.5)).unwrap();
    let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
    let line = |moved: f64, rate: f64| -> Vec<f64> {
        let bell = |x: f64| (-0.5 * x * x).exp() * 0.06 / std::f64::consts::TAU.sqrt();
        (-130..=170)
            .map(|i| f64::from(i) * 0.06)
            .map(|x| (1.0 - rate) * bell(x) + rate * bell(x - moved))
            .collect()
    };
    let (present, absent, left) = (line(2.0, 0.2), line(0.0, 0.0), (line(1.0, 0.2), line(-1.0, 0.2)));
    let twice = |p: &[f64], q: &[f64]| -> f64 {
        let ratio = 0.5f64.exp();
        let rows = p
            .iter()
            .zip(q)
            .map(|(a, b)| -> f64 { p.iter().zip(q).map(|(x, y)| (a * x - ratio * b * y).max(0.0)).sum() });
        rows.sum()
    };
    let shown = [twice(&present, &absent), twice(&absent, &present), twice(&left.0, &left.1)];
    let worst = shown.into_iter().fold(0.0, f64::max);
    assert!((lower - worst).abs() <= 2e-3 * worst, "{lower} {shown:?}");
    assert!(worst <= upper && upper < 1.2 * lower, "[{lower}, {upper}]");
}

/// E(S − a)₊ and E(1 − aS)₊ by a plain sum over `terms` coordinates, S their mean of lognormals.
fn allocated_twin(terms: u32, mu: f64, epsilon: f64) -> (f64, f64) {
    let step: f64 = if terms == 2 { 0.01 } else { 0.06 };
    let reach = (7.5 / step) as i32;
    let line: Vec<(f64, f64)> = (-reach..=reach)
        .map(|i| f64::from(i) * step)
        .map(|x| ((mu * x - 0.5 * mu * mu).exp(), (-0.5 * x * x).exp() * step / std::f64::consts::TAU.sqrt()))
        .collect();
    let mut sums = vec![(0.0, 1.0)];
    for _ in 1..terms {
        sums = sums.iter().flat_map(|(s, m)| line.iter().map(move |(x, w)| (s + x, m * w))).collect();
    }
    let ratio = epsilon.exp();
    let (mut remove, mut add) = (0.0, 0.0);
    for (s, m) in &sums {
        for (x, w) in &line {
            let mean = (s + x) / f64::from(terms);
            remove += m * w * (mean - ratio).max(0.0);
            add += m * w * (1.0 - ratio * mean).max(0.0);
        }
    }
    (remove, add)
}

#[test]
fn a_few_batches_agree_with_a_plain_sum_in_both_directions() {
    for (terms, mu, epsilon) in [(2, 1.0, 0.4), (2, 2.0, 1.5), (2, 0.2, 0.1), (3, 1.0, 0.4), (3, 0.5, 0.05)] {
        let part = Part::Allocated { batches: count(u64::from(terms)), mu };
        let (remove, add) = allocated_twin(terms, mu, epsilon);
        // The plain sum is a trapezoid rule of an integrand with a kink: its error is of the order of the squared step.
        let slack = if terms == 2 { 1e-4 } else { 3e-3 };
        for (direction, truth) in [(Direction::Remove, remove), (Direction::Add, add)] {
            let law = law(&part, direction).unwrap();
            let lower = once::delta_at(&law, epsilon, Side::Lower);
            let upper = once::delta_at(&law, epsilon, Side::Upper);
            assert!(
                lower <= upper && upper - lower <= 2e-3 * upper,
                "{part:?} {direction:?}: [{lower}, {upper}]"
            );
            assert!(
                lower <= truth * (1.0 + slack) && truth * (1.0 - slack) <= upper,
                "{lower} {truth} {upper}"
            );
        }
    }
}

/// The published figures: one epoch of 234 batches with σ = 1, at δ = 1e-5.
#[test]
fn one_epoch_of_random_allocation_has_its_published_figures() {
    let part = Part::Allocated { batches: count(234), mu: 1.0 };
    for (direction, truth) in [(Direction::Remove, 0.347457), (Direction::Add, 0.271504)] {
        let law = law(&part, direction).unwrap();
        let (lower, upper) =
            (once::epsilon_at(&law, 1e-5, Side::Lower), once::epsilon_at(&law, 1e-5, Side::Upper));
        assert!(lower <= truth + 5e-7 && truth - 5e-7 <= upper, "{direction:?} {lower} {upper}");
        assert!(upper - lower <= 1e-3 * upper, "{direction:?} {lower} {upper}");
    }
}

/// P − e^ε Q of a mixture by the trapezoid rule, in both directions.
fn mixture_twin(shifts: &[(f64, f64)], epsilon: f64) -> (f64, f64) {
    let bell = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    let (mut remove, mut add) = (0.0, 0.0);
    for i in -20_000..=35_000 {
        let x = f64::from(i) * 5e-4;
        let q = bell(x);
        let p: f64 = shifts.iter().map(|(chance, mu)| chance * bell(x - mu)).sum();
        remove += 5e-4 * (p - epsilon.exp() * q).max(0.0);
        add += 5e-4 * (q - epsilon.exp() * p).max(0.0);
    }
    (remove, add)
}

#[test]
fn mixtures_of_gaussians_have_their_integrals() {
    let mixtures = [
        vec![(0.81, 0.0), (0.18, 1.0), (0.01, 2.0)],
        vec![(0.5, 0.0), (0.5, 3.0)],
        vec![(0.2, 0.5), (0.3, 1.0), (0.5, 4.0)],
        vec![(0.999, 0.0), (0.001, 0.01)],
        vec![(0.1, 0.0), (0.6, 0.02), (0.3, 6.0)],
    ];
    for shifts in mixtures {
        let part = Part::Mixture { shifts: shifts.clone() };
        for epsilon in [-0.5, 0.0, 1e-6, 0.05, 0.6, 2.0] {
            let (remove, add) = mixture_twin(&shifts, epsilon);
            for (direction, truth) in [(Direction::Remove, remove), (Direction::Add, add)] {
                let law = law(&part, direction).unwrap();
                let lower = once::delta_at(&law, epsilon, Side::Lower);
                let upper = once::delta_at(&law, epsilon, Side::Upper);
                let slack = 1e-6 * truth + 1e-9 * shifts[1].0;
                assert!(
                    lower <= truth + slack && truth - slack <= upper && upper - lower <= slack,
                    "{shifts:?} {direction:?} {epsilon}: {lower} {truth} {upper}"
                );
            }
        }
    }
}
