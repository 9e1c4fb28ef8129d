//! What a noise call sums, and the statistics that are read off its noisy sums, with error bars.

use crate::sql::{
    Aggregate, NoisyNumber, Plan, Statistic, Summand,
    answer::CallAnswer,
    ast::Operator,
    design::CallNoise,
    grid::Grid,
    interval::{self, Interval},
    plan::{Function, NoiseCall},
    quantile,
};
use veracity_mechanisms::{JointMoments, MomentSide as Side, NoisySum, shares};

/// The part of the probability of a miss that a sample variance leaves to the number of rows.
const FOR_COUNT: f64 = 0.1;
/// The part that a sum leaves to the number of rows, where that only bounds the rounding of values.
const FOR_ROUNDING: f64 = 0.01;

/// The exact sums of a call, for one group.
pub(crate) fn exact(plan: &Plan, call: NoiseCall, sums: &[i128]) -> Vec<i128> {
    let sum = |summand: Summand| {
        plan.sums.iter().position(|known| *known == summand).map_or(0, |place| sums[place])
    };
    let grid = |input: usize| plan.inputs[input].grid;
    let width = |input: usize| i128::from(grid(input).width());
    // How far values are above the least, of so many; and the sum of the squares of that. The engine has the squares of 2a − w.
    let above =
        |input: usize, count: i128| sum(Summand::Total(input)) - i128::from(grid(input).least) * count;
    let squares = |input: usize, count: i128| {
        let w = width(input);
        (sum(Summand::Square(input)) + 4 * w * above(input, count) - w * w * count) / 4
    };
    match call {
        NoiseCall::Rows => vec![sum(Summand::Rows)],
        NoiseCall::Units => vec![sum(Summand::Units)],
        NoiseCall::Present(input) => vec![sum(Summand::Present(input))],
        NoiseCall::Sum(input) => vec![sum(Summand::Total(input))],
        NoiseCall::Distances { input, with_missing } => {
            let (count, w) = (sum(Summand::Present(input)), width(input));
            let above = above(input, count);
            let missing = with_missing.then(|| w * (sum(Summand::Rows) - count));
            [above, w * count - above].into_iter().chain(missing).collect()
        }
        NoiseCall::Squares { input, with_missing } => {
            let (count, w) = (sum(Summand::Present(input)), width(input));
            let squares = squares(input, count);
            let mixed = 2 * (w * above(input, count) - squares);
            let missing = with_missing.then(|| w * w * (sum(Summand::Rows) - count));
            [squares, mixed, w * w * count - squares - mixed].into_iter().chain(missing).collect()
        }
        NoiseCall::Moments(x, y) => {
            // Both inputs are there on the same rows.
            let (count, w, v) = (sum(Summand::Present(x)), width(x), width(y));
            let (a, b) = (above(x, count), above(y, count));
            // The engine has the products of 2a − w and 2b − v.
            let product = (sum(Summand::Product(x, y)) + 2 * v * a + 2 * w * b - w * v * count) / 4;
            vec![
                product * w * v,
                (v * a - product) * w * v,
                (w * b - product) * w * v,
                (w * v * count - v * a - w * b + product) * w * v,
                (w * a - squares(x, count)) * v * v,
                (v * b - squares(y, count)) * w * w,
            ]
        }
        NoiseCall::Quantile { .. } => Vec::new(),
    }
}

/// About the noisy sums of a group with so many rows, spread evenly between the bounds.
pub(crate) fn expected(plan: &Plan, call: NoiseCall, drawn: &CallNoise, rows: u64) -> CallAnswer {
    let (count, grid) = (rows as f64, |input: usize| plan.inputs[input].grid);
    let width = |input: usize| grid(input).width() as f64;
    let middle = |input: usize| 0.5 * (grid(input).least as f64 + grid(input).most as f64);
    match (drawn, call) {
        (CallNoise::Choice(choice), NoiseCall::Quantile { input, .. }) => {
            let answer = grid(input).offset + middle(input) * grid(input).unit();
            CallAnswer::Choice(NoisyNumber { answer, error_bar: choice.preview(rows).error_bar })
        }
        (_, NoiseCall::Sum(input)) => CallAnswer::Sums(vec![count * middle(input)]),
        // No value is missing.
        (_, NoiseCall::Distances { input, .. }) => {
            CallAnswer::Sums(vec![count * width(input) / 2.0, count * width(input) / 2.0, 0.0])
        }
        (_, NoiseCall::Squares { input, .. }) => {
            let third = count * width(input).powi(2) / 3.0;
            CallAnswer::Sums(vec![third, third, third, 0.0])
        }
        (_, NoiseCall::Moments(x, y)) => {
            let parts = [1.0 / 4.0, 1.0 / 4.0, 1.0 / 4.0, 1.0 / 4.0, 1.0 / 6.0, 1.0 / 6.0];
            CallAnswer::Sums(parts.map(|part| part * count * (width(x) * width(y)).powi(2)).to_vec())
        }
        _ => CallAnswer::Sums(vec![count]),
    }
}

/// A statistic from the noisy sums of its call, and how far off it may be with probability at most `miss`.
///
/// The error bar of a quantile was chosen with it, for a probability of 5%.
pub(crate) fn read(
    plan: &Plan,
    aggregate: Aggregate,
    (drawn, answer): (&CallNoise, &CallAnswer),
    miss: f64,
) -> NoisyNumber {
    let (sums, noisy) = match (drawn, answer) {
        (_, CallAnswer::Choice(number)) => return *number,
        (CallNoise::Sums(sums), CallAnswer::Sums(noisy)) => (sums, noisy.as_slice()),
        (CallNoise::Choice(_) | CallNoise::Periods(_), CallAnswer::Sums(_)) => return NoisyNumber::UNDEFINED,
    };
    let grid = |input: usize| plan.inputs[input].grid;
    match plan.calls[aggregate.call] {
        NoiseCall::Rows | NoiseCall::Units | NoiseCall::Present(_) | NoiseCall::Quantile { .. } => {
            NoisyNumber { answer: noisy[0], error_bar: sums.half_width(miss) }
        }
        NoiseCall::Sum(input) => {
            let unit = grid(input).unit();
            NoisyNumber { answer: noisy[0] * unit, error_bar: sums.half_width(miss) * unit }
        }
        NoiseCall::Distances { input, .. } if aggregate.statistic == Statistic::Rows => {
            all_rows(sums, &noisy[..3], grid(input).width() as f64, miss)
        }
        NoiseCall::Squares { input, .. } if aggregate.statistic == Statistic::Rows => {
            all_rows(sums, &noisy[..4], (grid(input).width() as f64).powi(2), miss)
        }
        NoiseCall::Distances { input, .. } => {
            of_distances(&grid(input), aggregate.statistic, (sums, [noisy[0], noisy[1]]), miss)
        }
        NoiseCall::Squares { input, .. } => {
            of_squares(&grid(input), aggregate.statistic, (sums, [noisy[0], noisy[1], noisy[2]]), miss)
        }
        NoiseCall::Moments(x, y) => of_two(&grid(x), &grid(y), aggregate.statistic, (sums, noisy), miss)
            .unwrap_or(NoisyNumber::UNDEFINED),
    }
}

/// Between which numbers an exact statistic is, whatever the data.
pub(crate) fn bounds(plan: &Plan, aggregate: Aggregate) -> (f64, f64) {
    let input = |side: Side| match plan.calls[aggregate.call] {
        NoiseCall::Moments(_, y) if side == Side::Second => Some(y),
        NoiseCall::Distances { input, .. }
        | NoiseCall::Squares { input, .. }
        | NoiseCall::Moments(input, _) => Some(input),
        _ => None,
    };
    match aggregate.statistic {
        Statistic::Count | Statistic::Rows | Statistic::Variance { .. } => (0.0, f64::INFINITY),
        Statistic::Mean(side) => match input(side).map(|input| plan.inputs[input].grid) {
            // Each value was rounded by half a step.
            Some(grid) => (
                quantile::value(&grid, grid.least) - grid.unit(),
                quantile::value(&grid, grid.most) + grid.unit(),
            ),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        },
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// How many rows there are, where each adds `each` to one or more of the sums.
fn all_rows(sums: &NoisySum, noisy: &[f64], each: f64, miss: f64) -> NoisyNumber {
    let weights = vec![1.0 / each; noisy.len()];
    NoisyNumber {
        answer: noisy.iter().sum::<f64>() / each,
        error_bar: sums.combined_half_width(&weights, miss),
    }
}

/// From the sums of distances above the least and below the most: their total is the width for each row.
fn of_distances(
    grid: &Grid,
    statistic: Statistic,
    (sums, noisy): (&NoisySum, [f64; 2]),
    miss: f64,
) -> NoisyNumber {
    let (total, width) = (noisy[0] + noisy[1], grid.width() as f64);
    let count = |miss: f64| NoisyNumber {
        answer: total / width,
        error_bar: sums.combined_half_width(&[1.0 / width; 2], miss),
    };
    match statistic {
        Statistic::Count => count(miss),
        Statistic::Sum => sum(grid, (sums, &noisy), (&[1.0, 0.0], 1.0 / width), &count, miss),
        _ => {
            let share = if total > 0.0 { (noisy[0] / total).clamp(0.0, 1.0) } else { 0.5 };
            // With less than one row, the whole width.
            let error = match total >= width {
                true => shares::mean_error(sums.noise(), noisy[0] / total, total / sums.granularity(), miss),
                false => 1.0,
            };
            mean(grid, share, error)
        }
    }
}

/// From the sums of squares a² and (w − a)² and of 2a(w − a): their total is w² for each row, and the first with half of the second is w
/// times the distance above the least.
fn of_squares(
    grid: &Grid,
    statistic: Statistic,
    (sums, noisy): (&NoisySum, [f64; 3]),
    miss: f64,
) -> NoisyNumber {
    let (total, width) = (noisy.iter().sum::<f64>(), grid.width() as f64);
    let square = width * width;
    let count = |miss: f64| NoisyNumber {
        answer: total / square,
        error_bar: sums.combined_half_width(&[1.0 / square; 3], miss),
    };
    match statistic {
        Statistic::Count => count(miss),
        Statistic::Sum => {
            let above = [1.0 / width, 0.5 / width, 0.0];
            sum(grid, (sums, &noisy), (&above, 1.0 / square), &count, miss)
        }
        Statistic::Variance { is_sample, root, .. } => {
            let left = if is_sample { (1.0 - FOR_COUNT) * miss } else { miss };
            let (variance, off) = variance(sums, width, noisy, left);
            let unit = grid.unit() * grid.unit();
            let number = NoisyNumber { answer: variance * unit, error_bar: off * unit };
            let number = if is_sample { sample(number, count(FOR_COUNT * miss), 0.0) } else { number };
            if root { rooted(number) } else { number }
        }
        _ => {
            let linear = (noisy[0] + 0.5 * noisy[1]) / total;
            let share = if total > 0.0 { linear.clamp(0.0, 1.0) } else { 0.5 };
            let error = match total >= square {
                true => shares::linear_error(sums.noise(), linear, total / sums.granularity(), miss),
                false => 1.0,
            };
            mean(grid, share, error)
        }
    }
}

/// From the six sums of two columns; nothing where less than one row is left.
fn of_two(
    x: &Grid,
    y: &Grid,
    statistic: Statistic,
    (sums, noisy): (&NoisySum, &[f64]),
    miss: f64,
) -> Option<NoisyNumber> {
    let (w, v) = (x.width() as f64, y.width() as f64);
    let one = (w * v).powi(2);
    let count = |miss: f64| NoisyNumber {
        answer: noisy.iter().take(4).sum::<f64>() / one,
        error_bar: sums.combined_half_width(&[1.0 / one; 4], miss),
    };
    if statistic == Statistic::Count {
        return Some(count(miss));
    }
    let steps: Vec<f64> = noisy.iter().map(|sum| sum / sums.granularity()).collect();
    let moments = JointMoments::new(sums.noise(), &steps, one / sums.granularity());
    let of = |side: Side| if side == Side::First { x } else { y };
    let span = |grid: &Grid| grid.width() as f64 * grid.unit();
    // With less than one row a mean is anywhere, and the others are not defined.
    let Some(moments) = moments else {
        return match statistic {
            Statistic::Mean(side) => Some(mean(of(side), 0.5, 1.0)),
            _ => None,
        };
    };
    // Half a step of each value moves a moment of second order by less than this.
    let rounded = |a: &Grid, b: &Grid| span(a) * b.unit() + span(b) * a.unit();
    match statistic {
        Statistic::Mean(side) => {
            let (share, error) = moments.mean(side, miss);
            Some(mean(of(side), share.clamp(0.0, 1.0), error))
        }
        Statistic::Variance { side, is_sample, root } => {
            let left = if is_sample { (1.0 - FOR_COUNT) * miss } else { miss };
            let (part, error) = moments.variance(side, left);
            let (part, scale) = (part.clamp(0.0, 0.25), span(of(side)).powi(2));
            let error = error.min(part.max(0.25 - part));
            let error_bar = scale * error + rounded(of(side), of(side));
            let number = NoisyNumber { answer: scale * part, error_bar };
            let number = if is_sample { sample(number, count(FOR_COUNT * miss), 0.0) } else { number };
            Some(if root { rooted(number) } else { number })
        }
        Statistic::Covariance { is_sample } => {
            let left = if is_sample { (1.0 - FOR_COUNT) * miss } else { miss };
            let (part, error) = moments.covariance(left);
            let (part, scale) = (part.clamp(-0.25, 0.25), span(x) * span(y));
            let error = error.min(0.25 + part.abs());
            let number = NoisyNumber { answer: scale * part, error_bar: scale * error + rounded(x, y) };
            Some(if is_sample { sample(number, count(FOR_COUNT * miss), f64::NEG_INFINITY) } else { number })
        }
        _ => None,
    }
}

/// The mean at this share of the range.
fn mean(grid: &Grid, share: f64, error: f64) -> NoisyNumber {
    let width = grid.width() as f64;
    let answer = quantile::value(grid, grid.least) + share * width * grid.unit();
    NoisyNumber { answer, error_bar: (error.min(share.max(1.0 - share)) * width + 1.0) * grid.unit() }
}

/// The sum of values: the distance above the least, which is a sum of the noisy sums with the weights `above`, and the least for each
/// row. How many rows there are is the total times `each`. Each value was rounded by at most half a step.
fn sum(
    grid: &Grid,
    (sums, noisy): (&NoisySum, &[f64]),
    (above, each): (&[f64], f64),
    count: &dyn Fn(f64) -> NoisyNumber,
    miss: f64,
) -> NoisyNumber {
    let rows = count(FOR_ROUNDING * miss);
    let least = quantile::value(grid, grid.least);
    let weights: Vec<f64> = above.iter().map(|weight| weight * grid.unit() + least * each).collect();
    let answer = noisy.iter().zip(&weights).map(|(sum, weight)| sum * weight).sum();
    let most = (rows.answer + rows.error_bar).max(0.0);
    let error_bar =
        sums.combined_half_width(&weights, (1.0 - FOR_ROUNDING) * miss) + 0.5 * grid.unit() * most;
    NoisyNumber { answer, error_bar }
}

/// A variance from its three noisy sums, and how far it may be off: with the share Q of squares and P of w times the sum, it is
/// w² (Q − P²), and at most w²/4.
fn variance(sums: &NoisySum, width: f64, noisy: [f64; 3], miss: f64) -> (f64, f64) {
    let (square, total) = (width * width, noisy.iter().sum::<f64>());
    if !(total >= square) {
        return (0.0, square / 4.0);
    }
    let (q, p) = (noisy[0] / total, (noisy[0] + 0.5 * noisy[1]) / total);
    let answer = (q - p * p).clamp(0.0, 0.25);
    let error = shares::variance_error(sums.noise(), (q, p), 1.0, total / sums.granularity(), miss);
    // Half a step of each value moves a variance by less than the width and one.
    (square * answer, square * error.min(answer.max(0.25 - answer)) + width + 1.0)
}

/// A variance or covariance over one row less, which is n/(n − 1) = 1 + 1/(n − 1) times it. It is not defined where there may be one row.
fn sample(number: NoisyNumber, count: NoisyNumber, least: f64) -> NoisyNumber {
    let number = Interval::noisy(number.answer, number.error_bar, (least, f64::INFINITY));
    let count = Interval::noisy(count.answer, count.error_bar, (0.0, f64::INFINITY));
    let factor = interval::arithmetic(Operator::Subtract, count, Interval::point(1.0))
        .filter(|less| less.low > 0.0)
        .and_then(|less| interval::arithmetic(Operator::Divide, Interval::point(1.0), less))
        .and_then(|part| interval::arithmetic(Operator::Add, Interval::point(1.0), part));
    let found = factor.and_then(|factor| interval::arithmetic(Operator::Multiply, number, factor));
    found.map_or(NoisyNumber::UNDEFINED, NoisyNumber::from)
}

fn rooted(number: NoisyNumber) -> NoisyNumber {
    if !number.is_defined() {
        return number;
    }
    let number = Interval::noisy(number.answer, number.error_bar, (0.0, f64::INFINITY));
    interval::function(Function::Root, &[number]).map_or(NoisyNumber::UNDEFINED, NoisyNumber::from)
}
