//! Bounds, products and sums at their limits: whole numbers stay where the plan says, and sums stay exact.

use crate::common;
use crate::common::{Cell, Data, Dice, World, ask, cases, secret, twin};
use veracity_statistics::sql::{CapOverrides, Grid, Plan, check};

fn plan_of(world: &World, text: &str) -> Plan {
    check(text, &world.catalog(), CapOverrides::default())
        .unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

/// Whole numbers of all floats of a range are between those that the plan declares.
fn holds(grid: &Grid, (low, high): (f64, f64), dice: &mut Dice) {
    let mut all = vec![low, high, low.next_up(), high.next_down(), low / 2.0 + high / 2.0, 0.0, -0.0];
    all.extend((0..20).map(|_| low + (high - low) * dice.part()));
    // Around a boundary of the rounding.
    let middle = grid.offset + (grid.least as f64 + 0.5) * grid.unit();
    all.extend([middle, middle.next_up(), middle.next_down()]);
    all.sort_by(f64::total_cmp);
    let mut last = grid.least;
    for x in all.into_iter().filter(|x| (low..=high).contains(x)) {
        let whole = grid.whole(x);
        assert!(grid.least <= whole && whole <= grid.most, "{x:e} of {low:e} to {high:e}: {whole} {grid:?}");
        assert!(last <= whole, "not monotone at {x:e}: {grid:?}");
        last = whole;
    }
    assert_eq!((grid.whole(low), grid.whole(high)), (grid.least, grid.most));
}

#[test]
fn whole_numbers_are_between_the_least_and_the_most() {
    for seed in 0..cases(1000) {
        let mut dice = Dice::new(0x6772_6964 + seed);
        let mut world = World::plain(&mut dice);
        let power = |dice: &mut Dice| 10f64.powi(dice.below(22) as i32 - 6).min(1e15);
        let lower = (power(&mut dice) * [-1.0, 1.0, 0.0][dice.below(3)]).clamp(-1e15, 1e15);
        let upper = (lower + power(&mut dice) * (1.0 + dice.part())).min(1e15);
        if upper - lower < 1e-6 {
            continue;
        }
        world.bounds.insert("hours", (lower, upper));
        let text = "SELECT SUM(hours) a, AVG(hours) b, VARIANCE(hours) c, MEDIAN(-hours) d, AVG(hours * hours) e FROM people";
        let Ok(plan) = check(text, &world.catalog(), CapOverrides::default()) else {
            // A product of narrow columns is too narrow for a grid.
            assert!((upper - lower) * lower.abs().max(upper.abs()) < 1e-8, "{lower:e} {upper:e}");
            continue;
        };
        let squares = [lower * lower, upper * upper, lower * upper];
        let most = squares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
        for input in &plan.inputs {
            let range = match format!("{:?}", input.scalar) {
                text if text.starts_with("Negated") => (-upper, -lower),
                text if text.starts_with("Arithmetic") => (least, most),
                _ => (lower, upper),
            };
            holds(&input.grid, range, &mut dice);
            // 2^30 rows of the farthest stay within 64 bits; squares have a grid of their own.
            let farthest = input.grid.least.abs().max(input.grid.most.abs());
            assert!(farthest <= 1 << 31, "{:?}", input.grid);
        }
        let squared = plan.sums.iter().find_map(|summand| match summand {
            veracity_statistics::sql::Summand::Square(input) => Some(plan.inputs[*input].grid.width()),
            _ => None,
        });
        assert!(squared.is_some_and(|width| i128::from(width).pow(2) << 30 < i128::from(i64::MAX)));
    }
}

/// Many rows at the ends of the widest and the narrowest columns: SQLite gives the exact sums.
#[test]
fn sums_of_many_extreme_rows_are_exact() {
    let text = "SELECT COUNT(*) n, SUM(hours) a, AVG(hours) b, VARIANCE(hours) c, SUM(hours * score) d, \
                VARIANCE(hours * score) e, SUM(-hours) f, SUM(ABS(hours) + hours) g FROM people";
    for (hours, score) in [
        ((-1e15, 1e15), (-1e15, 1e15)),
        ((0.0, 1e-6), (-1e15, 1e15)),
        ((999_999_999_999_999.0, 1e15), (0.0, 1.0)),
        ((-1e15, -999_999_999_999_999.0), (0.0, 1e-6)),
        ((-1000.0, 1.0), (-1.0, 1e15)),
    ] {
        let mut world = World::plain(&mut Dice::new(5));
        world.bounds.insert("hours", hours);
        world.bounds.insert("score", score);
        let plan = plan_of(&world, text);
        let number = 100_000usize;
        let ends = [(hours.0, score.0), (hours.1, score.1), (f64::INFINITY, f64::NEG_INFINITY)];
        let row = |at: usize, (x, y): (f64, f64)| {
            vec![
                Cell::Text(format!("p{at}")),
                Cell::Number(x),
                Cell::Number(y),
                Cell::Text("a".to_owned()),
                Cell::Null,
                Cell::Null,
                Cell::Null,
            ]
        };
        let mut tables: Vec<Data> = world.tables();
        for end in ends {
            tables[0].rows = (0..number).map(|at| row(at, end)).collect();
            let found = ask(&tables, &plan, &secret(1)).unwrap();
            // One row, a hundred thousand times.
            let mut one = tables.clone();
            one[0].rows.truncate(1);
            let single = twin(&plan, &one, &common::digits(1));
            let expected: Vec<i64> = single.sums[0]
                .numbers
                .iter()
                .map(|one| i64::try_from(i128::from(*one) * number as i128).unwrap())
                .collect();
            assert_eq!(found.sums[0].numbers, expected, "{hours:?} {end:?}");
        }
    }
}
