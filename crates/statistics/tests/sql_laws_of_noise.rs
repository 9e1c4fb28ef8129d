//! What the noise does to answers: error bars cover, and groups of one person stay hidden.

use crate::common;
use crate::common::{Data, Dice, World, ask, secret, twin::values};
use std::collections::BTreeMap;
use veracity_core::numerics::binomial;
use veracity_core::{Count, Delta, Epsilon, NoiseMultiplier};
use veracity_mechanisms::NoiseKind;
use veracity_noise::{Entropy, Key, Noise, NoiseStream, Purpose};
use veracity_statistics::sql::{
    CallNoise, CapOverrides, Design, Function, NoiseCall, Operator, OutputValue, Plan, PreparedQuery, Row,
    Statistic, Summand, Totals, Value, check,
};

/// The chance with which a sound bar is called unsound.
const LEVEL: f64 = 1e-6;

fn stream(seed: u64) -> NoiseStream {
    NoiseStream::new(Entropy::seeded(seed).stream(Purpose::Noise, Key::default()))
}

/// How often a bar held, of how many, for each aggregate: as it is, at a half and at a tenth.
type Hits = BTreeMap<String, [u64; 4]>;

/// A world with enough people that means are worth something.
fn crowd(dice: &mut Dice) -> World {
    let mut world = World::plain(dice);
    world.caps = (1 + dice.below(2) as u64, 1 + dice.below(2) as u64);
    let number = 40 + dice.below(60);
    world.persons = (0..number).map(|at| world.person(at, dice)).collect();
    world
}

/// Where the truth is: one number, or all between two for a quantile of few values; none of no values.
fn truth(plan: &Plan, value: &Value, numbers: &[i64], floats: &[Vec<f64>]) -> Option<(f64, f64)> {
    let exact = match value {
        Value::Aggregate(at) => return true_aggregate(plan, *at, numbers, floats),
        Value::Number(number) => *number,
        Value::Absent | Value::Grouping(_) | Value::Key(_) | Value::NumberKey(_) | Value::Text(_) => {
            return None;
        }
        Value::Arithmetic(operator, left, right) => {
            let (a, b) = (truth(plan, left, numbers, floats)?.0, truth(plan, right, numbers, floats)?.0);
            match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
            }
        }
        Value::Function(function, all) => {
            let all: Option<Vec<f64>> =
                all.iter().map(|one| Some(truth(plan, one, numbers, floats)?.0)).collect();
            let all = all?;
            match function {
                Function::Absolute => all[0].abs(),
                Function::Round(decimals) => {
                    let power = 10f64.powi(*decimals);
                    (all[0] * power).round() / power
                }
                Function::Floor => all[0].floor(),
                Function::Ceiling => all[0].ceil(),
                Function::Truncate => all[0].trunc(),
                Function::Square => all[0] * all[0],
                Function::Root => all[0].sqrt(),
                Function::Logarithm => all[0].ln(),
                Function::Exponential => all[0].exp(),
                Function::Least => all.iter().copied().fold(f64::INFINITY, f64::min),
                Function::Greatest => all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                Function::NullIfZero => {
                    if all[0] == 0.0 {
                        f64::NAN
                    } else {
                        all[0]
                    }
                }
            }
        }
    };
    exact.is_finite().then_some((exact, exact))
}

fn true_aggregate(plan: &Plan, at: usize, numbers: &[i64], floats: &[Vec<f64>]) -> Option<(f64, f64)> {
    let (aggregate, call) = (plan.aggregates[at], plan.calls[plan.aggregates[at].call]);
    // A column of calls that count is in the sums of the engine; the others have their values.
    let counted = |summand| {
        let place = plan.sums.iter().position(|known| *known == summand).unwrap();
        Some((numbers[place] as f64, numbers[place] as f64))
    };
    let (first, second) = match call {
        _ if aggregate.statistic == Statistic::Rows => return counted(Summand::Rows),
        NoiseCall::Rows => return counted(Summand::Rows),
        NoiseCall::Units => return counted(Summand::Units),
        NoiseCall::Moments(x, y) => (&floats[x], &floats[y]),
        NoiseCall::Present(input)
        | NoiseCall::Sum(input)
        | NoiseCall::Distances { input, .. }
        | NoiseCall::Squares { input, .. }
        | NoiseCall::Quantile { input, .. } => (&floats[input], &floats[input]),
    };
    let of = |side: veracity_mechanisms::MomentSide| {
        if side == veracity_mechanisms::MomentSide::First { first } else { second }
    };
    // From the first on, so that numbers far from zero lose nothing.
    let mean = |all: &[f64]| all[0] + all.iter().map(|x| x - all[0]).sum::<f64>() / all.len() as f64;
    let moment = |a: &[f64], b: &[f64]| {
        let (middle, other) = (mean(a), mean(b));
        a.iter().zip(b).map(|(x, y)| (x - middle) * (y - other)).sum::<f64>()
    };
    let over = |is_sample: bool| first.len() as f64 - f64::from(u8::from(is_sample));
    let one = match aggregate.statistic {
        Statistic::Count | Statistic::Rows => first.len() as f64,
        Statistic::Sum => first.iter().sum(),
        _ if first.is_empty() => return None,
        Statistic::Mean(side) => mean(of(side)),
        Statistic::Variance { side, is_sample, root } => {
            let variance = moment(of(side), of(side)) / over(is_sample);
            if root { variance.sqrt() } else { variance }
        }
        Statistic::Covariance { is_sample } => moment(first, second) / over(is_sample),
        Statistic::Quantile => {
            let NoiseCall::Quantile { rank, .. } = call else { panic!("{call:?}") };
            let mut sorted = first.clone();
            sorted.sort_by(f64::total_cmp);
            let place = rank * sorted.len() as f64;
            let at = |place: f64| sorted[(place as usize).clamp(1, sorted.len()) - 1];
            return Some((at(place.ceil()), at(place.floor() + 1.0)));
        }
    };
    one.is_finite().then_some((one, one))
}

/// How often bars of a query held, on worlds and at noise levels drawn at random.
fn held(text: &str, seeds: u64) -> Hits {
    // A choice among a million values takes its time.
    let has_choice = text.contains("MEDIAN");
    let draws = |kind| if has_choice && kind == NoiseKind::Laplace { 8 } else { 40 };
    let mut held = Hits::new();
    for seed in 0..seeds {
        let mut dice = Dice::new(0x6261_7273 + seed);
        let world = crowd(&mut dice);
        let gaussian = seed % 2 == 0;
        let text = if gaussian { text.replace(", MEDIAN(hours) q", "") } else { text.to_owned() };
        // A factor may take the other column past what a float of the engine may be.
        let plan = match check(&text, &world.catalog(), CapOverrides::default()) {
            Ok(plan) => plan,
            Err(refusal) if refusal.to_string().contains("1e30") => continue,
            Err(refusal) => panic!("{text}: {refusal}"),
        };
        let kind = if gaussian { NoiseKind::Gaussian } else { NoiseKind::Laplace };
        let multiplier = NoiseMultiplier::new(*dice.pick(&[0.05, 0.3, 2.0, 30.0])).unwrap();
        let design = Design::new(&plan, kind, multiplier).unwrap();
        let tables = world.tables();
        let totals = ask(&tables, &plan, &secret(seed)).unwrap();
        tried(&plan, &design, &tables, &totals, (seed, kind, draws(kind)), &mut held);
    }
    for (name, [n, whole, half, tenth]) in &held {
        println!("{name}: of {n}, {whole} within the bar, {half} within half of it, {tenth} within a tenth");
        assert!(!too_few(*n, *whole), "{name}: {whole} of {n}");
    }
    held
}

/// Whether so many hits are too few for a probability of 95%, at the level of the tests.
fn too_few(n: u64, hits: u64) -> bool {
    binomial::log_lower_tail(n, hits, 0.95) < LEVEL.ln()
}

/// The test can fail: bars of single sums at a half of their width, all others at a tenth.
fn controls_fail(held: &Hits) {
    let tight = held.values().filter(|[n, _, half, _]| too_few(*n, *half)).count();
    assert!(tight >= 4, "{tight} bars are tight");
    for (name, [n, _, _, tenth]) in held {
        assert!(too_few(*n, *tenth) || name.ends_with(" q"), "{name}: {tenth} of {n} within a tenth");
    }
}

#[test]
fn error_bars_cover_the_truth_of_the_rows_that_count() {
    let text = "SELECT sex, COUNT(*) n, COUNT(DISTINCT id) u, COUNT(score) c, SUM(hours) s, SUM(score * 2 - 1) t, \
                AVG(hours) m, VARIANCE(score) v, STDDEV(score) d, MEDIAN(hours) q FROM people GROUP BY sex";
    controls_fail(&held(text, 16));
}

#[test]
fn error_bars_of_statistics_that_share_a_noise_call_cover_the_truth() {
    let text = "SELECT sex, COUNT(*) n, AVG(score) m, SUM(score) s, COUNT(score) c, VARIANCE(score) v, \
                AVG(hours) a, SUM(hours) b, COUNT(hours) h FROM people GROUP BY sex";
    controls_fail(&held(text, 24));
    let text = "SELECT sex, COUNT(*) n, SUM(COALESCE(hours, 3)) s, AVG(COALESCE(hours, 3)) m, \
                VAR_SAMP(score) v, STDDEV_SAMP(score) d, COUNT(score) c, SUM(score) t FROM people GROUP BY sex";
    held(text, 24);
    // Rows and a mean, or a variance, of what may be missing.
    controls_fail(&held("SELECT sex, COUNT(*) n, AVG(score) m, SUM(score) s FROM people GROUP BY sex", 24));
    controls_fail(&held(
        "SELECT sex, COUNT(*) n, STDDEV(score) d, COUNT(score) c FROM people GROUP BY sex",
        24,
    ));
    // Rows and a sum of what may be missing.
    controls_fail(&held(
        "SELECT sex, edu, COUNT(*) n, SUM(score) s, SUM(hours) t, COUNT(DISTINCT id) u FROM people GROUP BY sex, edu",
        24,
    ));
}

#[test]
fn error_bars_of_arithmetic_cover_the_truth() {
    let text = "SELECT sex, SUM(hours) / COUNT(*) r, \
                100.0 * SUM(CASE WHEN hours > 4 THEN 1 ELSE 0 END) / COUNT(*) p, \
                AVG(score) - 2 * STDDEV(score) b, ROUND(AVG(hours), 1) g, COUNT(*) * 1.0 / 365 d, \
                SQRT(VARIANCE(hours)) w, ABS(AVG(hours) - AVG(score)) z, AVG(score) / COUNT(*) y, \
                SUM(score) / AVG(hours) x, LEAST(AVG(hours), AVG(score)) l, LN(GREATEST(COUNT(*), 1)) k, \
                COUNT(score) / COUNT(*) c, SUM(score) / COUNT(DISTINCT id) t, -SUM(hours) * SUM(score) s, \
                FLOOR(COUNT(*) / 10) f, EXP(-COUNT(*) / 100) e FROM people GROUP BY sex";
    let held = held(text, 40);
    let tight = held.values().filter(|[n, _, half, _]| too_few(*n, *half)).count();
    assert!(tight >= 4, "{tight} bars are tight");
}

#[test]
fn error_bars_of_statistics_of_two_columns_cover_the_truth() {
    let text = "SELECT sex, CORR(hours, score) r, COVAR_POP(hours, score) c, COVAR_SAMP(hours, score) d, \
                REGR_SLOPE(hours, score) s, REGR_INTERCEPT(hours, score) i, REGR_R2(hours, score) t, \
                REGR_AVGX(hours, score) x, REGR_AVGY(hours, score) y, REGR_COUNT(hours, score) n \
                FROM people GROUP BY sex";
    let held = held(text, 40);
    let tight = held.values().filter(|[n, _, half, _]| too_few(*n, *half)).count();
    assert!(tight >= 4, "{tight} bars are tight");
}

fn tried(
    plan: &Plan,
    design: &Design,
    tables: &[Data],
    totals: &Totals,
    (seed, kind, draws): (u64, NoiseKind, u64),
    held: &mut Hits,
) {
    let digits = common::digits(seed);
    let floats = values(plan, tables, &digits);
    for draw in 0..draws {
        let groups = plan.answer(design, None, totals, &mut stream(seed * 1000 + draw)).unwrap();
        for group in groups {
            let Some(row) = totals.sums.iter().find(|row| row.keys == group.keys) else { continue };
            for output in &plan.outputs {
                let OutputValue::Noisy(value) = &output.value else { continue };
                let noisy = plan.number(design, value, &group);
                let Some((low, high)) = truth(plan, value, &row.numbers, &floats[&group.keys]) else {
                    continue;
                };
                if !noisy.is_defined() {
                    continue;
                }
                let name = format!("{kind:?} {}", output.name);
                let counts = held.entry(name).or_default();
                // Floats of the truth are themselves rounded.
                let slack = 1e-15 * (low.abs() + high.abs());
                let within = |part: f64| {
                    let bar = noisy.error_bar * part + slack;
                    noisy.answer - bar <= high && noisy.answer + bar >= low
                };
                counts[0] += 1;
                for (count, part) in counts[1..].iter_mut().zip([1.0, 0.5, 0.1]) {
                    *count += u64::from(within(part));
                }
            }
        }
    }
}

/// P(noise ≥ m), from the law itself.
fn upper_tail(noise: Noise, m: i64) -> f64 {
    match noise {
        Noise::Laplace { scale } => {
            let b = scale.as_f64();
            (-(m as f64) / b).exp() / (1.0 + (-1.0 / b).exp())
        }
        Noise::Gaussian { sigma } => {
            let weight = |x: i64| (-0.5 * (x as f64 / sigma.as_f64()).powi(2)).exp();
            let far = (45.0 * sigma.as_f64()).ceil() as i64 + 1;
            let all: f64 = (-far..=far).map(weight).sum();
            (m..=far).rev().map(weight).sum::<f64>() / all
        }
    }
}

fn prepared(query: &str, groups: u64, epsilon: f64, kind: NoiseKind) -> PreparedQuery {
    let mut dice = Dice::new(1);
    let world = World::plain(&mut dice);
    let wanted = CapOverrides { groups: Some(Count::new(groups).unwrap()), rows: None };
    let plan = check(query, &world.catalog(), wanted).unwrap();
    plan.prepare(Epsilon::new(epsilon).unwrap(), Delta::new(1e-5).unwrap(), Some(kind)).unwrap()
}

#[test]
fn a_group_of_one_person_is_shown_with_chance_delta_at_most() {
    for (groups, epsilon) in [(1, 1.0), (2, 4.0), (7, 0.5)] {
        for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
            let prepared = prepared("SELECT town, COUNT(*) FROM people GROUP BY town", groups, epsilon, kind);
            let place = prepared.plan.calls.iter().position(|one| *one == NoiseCall::Units).unwrap();
            let CallNoise::Sums(units) = &prepared.design.drawn[place] else { panic!("units are chosen") };
            assert_eq!((units.step(), units.sensitivity()), (1, Count::ONE));
            let threshold = prepared.threshold.unwrap();
            let delta = prepared.threshold_delta.get();
            assert!(delta > 0.0 && delta < 1e-5);
            // Shown from the threshold on: 1 + noise ≥ threshold.
            let shown = |threshold: f64| upper_tail(units.noise(), (threshold - 1.0).ceil() as i64);
            let one = shown(threshold);
            println!("{groups} groups, epsilon {epsilon}, {kind:?}: from {threshold}, chance {one:e}");
            // Of all groups together: no more than the sum.
            assert!(one * groups as f64 <= delta, "{one} {groups} {delta}");
            // And a threshold that is lower by two would not do.
            assert!(shown(threshold - 2.0) * groups as f64 > delta, "{threshold} is higher than it must be");
        }
    }
}

#[test]
fn what_is_below_the_threshold_is_neither_shown_nor_given_noise() {
    let prepared =
        prepared("SELECT town, SUM(hours) s FROM people GROUP BY town", 1, 1.0, NoiseKind::Laplace);
    let plan = &prepared.plan;
    let units = plan.sums.iter().position(|summand| *summand == Summand::Units).unwrap();
    let row = |key: &str, number: i64| {
        let mut numbers = vec![0; plan.sums.len()];
        numbers[units] = number;
        Row { keys: vec![key.to_owned()], numbers }
    };
    let threshold = prepared.threshold.unwrap();
    let all = vec![row("alone", 1), row("close", threshold as i64), row("many", 10_000)];
    let totals = Totals { sums: all, ..Totals::default() };
    let mut close = 0;
    for seed in 0..200 {
        let mut rng = NoiseStream::recording(Entropy::seeded(seed).stream(Purpose::Noise, Key::default()));
        let groups = plan.answer(&prepared.design, prepared.threshold, &totals, &mut rng).unwrap();
        let tape = rng.into_tape().unwrap();
        let expected: Vec<&str> = ["alone", "close", "many"]
            .into_iter()
            .zip(&tape.calls[0].output)
            .filter(|(_, units)| **units as f64 >= threshold)
            .map(|(key, _)| key)
            .collect();
        let shown: Vec<&str> = groups.iter().map(|group| group.keys[0].as_str()).collect();
        assert_eq!(shown, expected);
        assert!(tape.calls[1..].iter().all(|call| call.input.len() == shown.len()));
        close += usize::from(shown.contains(&"close"));
        assert!(!shown.contains(&"alone") && shown.contains(&"many"));
    }
    assert!((50..150).contains(&close), "{close}");
}
