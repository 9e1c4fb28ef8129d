//! One person moves every noise input by no more than was declared; and mutants of what an engine is asked, and of what is
//! declared, are found out.

use crate::common::{
    Dice, World, cases,
    neighbours::{Change, Trial, departure, design},
    query,
};
use veracity_core::Count;
use veracity_mechanisms::{Contribution, NoiseKind, NoisySum};
use veracity_statistics::sql::{CallNoise, CapOverrides, Design, Plan, check};
use veracity_testkit::short::noise;

const CHANGES: [Change; 4] = [Change::Added, Change::Removed, Change::Replaced, Change::Ownerless];

#[test]
fn one_person_moves_every_noise_input_by_no_more_than_declared() {
    let (mut checked, wanted) = (0, cases(1000));
    let mut of_each = [0u64; 4];
    for seed in 0.. {
        if checked >= wanted {
            break;
        }
        let mut dice = Dice::new(0x6e65_6967 + seed);
        let world = World::random(&mut dice);
        let text = query(&world, &mut dice);
        let Ok(plan) = check(&text, &world.catalog(), CapOverrides::default()) else { continue };
        let design = design(&plan, &mut dice);
        // By statements and, of one table, without them.
        let unchanged = |sql| sql;
        let change: Option<&dyn Fn(String) -> String> =
            if seed.is_multiple_of(2) { None } else { Some(&unchanged) };
        let asked = Trial { plan: &plan, design: &design, change };
        for (kind, change) in CHANGES.into_iter().enumerate() {
            let Some(other) = change.of(&world, &mut dice) else { continue };
            let found = departure(&asked, (&world.tables(), &other.tables()), change.persons(), seed);
            assert_eq!(found, Ok(()), "{seed} {change:?} {text}");
            of_each[kind] += 1;
        }
        checked += 1;
    }
    println!("{checked} worlds, changes {of_each:?}");
    assert!(of_each.iter().all(|each| *each > wanted / 2), "{of_each:?}");
}

/// What is wrong with a mutant: what the engine is asked, or what the design declares.
struct Mutant {
    name: &'static str,
    /// A query about the plain world in which it can be seen.
    query: &'static str,
    /// Changes the world, so that it is seen sooner.
    world: fn(&mut World),
    sql: fn(&Plan, String) -> String,
    design: fn(&Plan, (NoiseKind, f64)) -> Design,
}

const SOUND: Mutant = Mutant {
    name: "",
    query: "",
    world: |_| {},
    sql: |_, sql| sql,
    design: |plan, (kind, multiplier)| design_of(plan, kind, multiplier),
};

fn design_of(plan: &Plan, kind: NoiseKind, multiplier: f64) -> Design {
    Design::new(plan, kind, noise(multiplier)).unwrap()
}

/// Replaces what must be there: a mutant that changes nothing would be no mutant.
fn replaced(sql: String, from: &str, to: &str) -> String {
    assert!(sql.contains(from), "{from} is not in {sql}");
    sql.replace(from, to)
}

fn one_key(world: &mut World) {
    world.keys.insert("sex", vec!["a".to_owned(), "A".to_owned()]);
    world.bounds.insert("hours", (-10.0, 99.0));
    world.caps = (1, 1);
}

/// The same with a first aggregate for which another contribution is declared.
fn declared(
    mut design: Design,
    place: &'static str,
    contribution: Contribution,
    level: (NoiseKind, f64),
) -> Design {
    let level = (level.0, noise(level.1));
    assert!(matches!(&design.drawn[0], CallNoise::Sums(sums) if sums.place() == place), "{:?}", design.drawn);
    design.drawn[0] = CallNoise::Sums(NoisySum::new(place, contribution, level).unwrap());
    design
}

/// Without the clamp of a column to its bounds.
fn unclamped(mut sql: String) -> String {
    while let Some(start) = sql.find("CASE WHEN c0 < ") {
        let end = start + sql[start..].find("ELSE c0 END").expect("the end of the clamp");
        sql.replace_range(start..end + "ELSE c0 END".len(), "c0");
    }
    sql
}

/// The same with numbers that are far from zero on both sides.
fn wide_bounds(world: &mut World) {
    one_key(world);
    world.bounds.insert("hours", (-99.0, 99.0));
}

/// A mutant of a statement, in a world with one key.
fn mutated(name: &'static str, query: &'static str, sql: fn(&Plan, String) -> String) -> Mutant {
    Mutant { name, query, world: one_key, sql, ..SOUND }
}

const BY_SEX: &str = "SELECT sex, COUNT(*) FROM people GROUP BY sex";
const BY_TOWN: &str = "SELECT town, COUNT(*) FROM people GROUP BY town";
const SUM_BY_TOWN: &str = "SELECT town, SUM(hours) FROM people GROUP BY town";
const SUM: &str = "SELECT SUM(hours) FROM people";
const MEAN: &str = "SELECT AVG(hours) FROM people";
const MEDIAN: &str = "SELECT MEDIAN(hours) FROM people";

fn mutants() -> Vec<Mutant> {
    let of_sql = [
        mutated("rows are counted without a cap", BY_SEX, |_, sql| {
            replaced(sql, "CASE WHEN n < 1 THEN n ELSE 1 END", "n")
        }),
        mutated(
            "rows are capped after they were summed",
            "SELECT sex, SUM(hours) FROM people GROUP BY sex",
            |_, sql| replaced(sql, "x * 1 % n < 1", "x >= 0"),
        ),
        mutated(
            "pairs with more rows than count stand as they are",
            "SELECT COUNT(*), AVG(hours) FROM people",
            |_, sql| replaced(sql, "n <= 1 UNION", "n >= 1 UNION"),
        ),
        mutated("rows in a median are not capped", MEDIAN, |_, sql| sql.replace("x * 1 % n < 1", "x >= 0")),
        mutated("rows in a median are all those of pairs with more than count", MEDIAN, |_, sql| {
            sql.replace("WHERE n <= 1)", "WHERE n >= 1)")
        }),
        mutated("who is in too many groups keeps them all beside those chosen", BY_TOWN, |_, sql| {
            replaced(sql, "WHERE m <= 1 UNION", "WHERE m >= 1 UNION")
        }),
        mutated("groups are not capped", SUM_BY_TOWN, |_, sql| replaced(sql, "g <= 1", "g >= 1")),
        mutated(
            "one column counts where the other is missing",
            "SELECT CORR(hours, score) FROM people",
            |_, sql| {
                let both = "(CASE WHEN (t0.c1 IS NOT NULL) THEN t0.c0 ELSE CAST(NULL AS REAL) END)";
                replaced(sql, both, "t0.c0")
            },
        ),
        mutated(
            "the product of two columns is not that of centered ones",
            "SELECT COVAR_POP(hours, score) FROM people",
            |_, sql| {
                let start = sql.find("(2 * q0 - (").expect("a centered input");
                let one = sql[start..].find("))").expect("its end") + 2;
                let centered = sql[start..start + one].to_owned();
                replaced(sql, &format!("{centered} * (2 * q1"), "q0 * (2 * q1")
            },
        ),
        mutated(
            "units that share the count of rows are counted by rows",
            "SELECT COUNT(*), COUNT(DISTINCT id) FROM people",
            |_, sql| replaced(sql, "SELECT 1 AS x0", "SELECT n AS x0"),
        ),
        mutated(
            "a row counts as missing beside its value",
            "SELECT COUNT(*), AVG(score) FROM people",
            |_, sql| replaced(sql, "COUNT(q0) AS s", "0 * COUNT(q0) AS s"),
        ),
        mutated("the clamp is forgotten in AVG", MEAN, |_, sql| unclamped(sql)),
        mutated(
            "a join multiplies rows without a cap",
            "SELECT COUNT(*), SUM(size) FROM people JOIN places ON size IS NOT NULL",
            |_, sql| replaced(sql, "x * 1 % n < 1", "x >= 0"),
        ),
        mutated("groups are ranked by how many others are in them", BY_TOWN, |_, sql| {
            let start = sql.find("ROW_NUMBER() OVER (PARTITION BY u0 ORDER BY ").expect("ranks groups");
            let end = start + sql[start..].find(", k0) AS g").expect("the end of the rank");
            let popular = "ROW_NUMBER() OVER (PARTITION BY u0 ORDER BY (SELECT COUNT(*) FROM \"people\" AS z WHERE z.\"town\" = k0)";
            format!("{}{popular}{}", &sql[..start], &sql[end..])
        }),
        mutated("keys are compared without regard to case", BY_SEX, |_, sql| {
            replaced(sql, "\"sex\" COLLATE BINARY", "\"sex\" COLLATE NOCASE")
        }),
        mutated("rows without an owner are kept", "SELECT COUNT(*) FROM people", |_, sql| {
            replaced(sql, "t0.u0 IS NOT NULL", "1 = 1")
        }),
        mutated(
            "a person's other table is joined on another column",
            "SELECT SUM(cost) FROM people p JOIN visits v ON p.id = v.id",
            |_, sql| replaced(sql, "(t0.u0 = t1.u0)", "(t0.u0 <> t1.u0)"),
        ),
    ];
    let of_expressions = [
        mutated("LEAST is the other number", "SELECT SUM(LEAST(hours, 5)) FROM people", |_, sql| {
            replaced(sql, " <= (CAST(5 AS REAL)) THEN", " >= (CAST(5 AS REAL)) THEN")
        }),
        mutated("GREATEST is the other number", "SELECT AVG(GREATEST(hours, 90)) FROM people", |_, sql| {
            replaced(sql, "(CASE WHEN t0.c0 >= ", "(CASE WHEN t0.c0 <= ")
        }),
        mutated("a quotient is a product", "SELECT SUM(hours / 100) FROM people", |_, sql| {
            replaced(sql, "(t0.c0 / ", "(t0.c0 * ")
        }),
        mutated("what is rounded down is squared", "SELECT SUM(FLOOR(hours / 10)) FROM people", |_, sql| {
            replaced(sql, "CAST(veracity_floor(", "1.5 * CAST(veracity_floor(")
        }),
        mutated(
            "the clamp of a date is forgotten",
            "SELECT SUM(seen - DATE '2024-01-01') FROM people",
            |_, sql| unclamped(sql),
        ),
        mutated(
            "ranges of a key move with the data",
            "SELECT CASE WHEN hours < 30 THEN 'young' ELSE 'old' END AS band, COUNT(*) FROM people GROUP BY band",
            |_, sql| {
                replaced(
                    sql,
                    "t0.c0 < (CAST(15 AS REAL)*CAST(2 AS REAL))",
                    "t0.c0 < (SELECT AVG(z.\"hours\") FROM \"people\" AS z)",
                )
            },
        ),
        mutated(
            "a person is among those of a query if anyone is",
            "SELECT COUNT(*) FROM people WHERE id IN (SELECT id FROM visits WHERE cost IS NOT NULL)",
            |_, sql| replaced(sql, "(t0.u0 = t1.u0)", "(1 = 1)"),
        ),
        mutated(
            "who is among those of a query rests on the rows of others",
            "SELECT COUNT(*) FROM people WHERE id IN (SELECT id FROM visits GROUP BY id HAVING COUNT(*) >= 2)",
            |_, sql| {
                replaced(sql, "CAST(COUNT(*) AS REAL) AS c0", "(SELECT COUNT(*) FROM \"visits\") * 1.0 AS c0")
            },
        ),
        mutated(
            "the rows of a person are summed without a cap and a clamp",
            "SELECT SUM(total) FROM (SELECT id, SUM(hours) AS total FROM people GROUP BY id) t",
            |_, sql| replaced(unclamped(sql), "AS few WHERE ", "AS few WHERE 1 = 1 OR "),
        ),
        mutated(
            "the mean of a person is a sum",
            "SELECT SUM(m) FROM (SELECT id, COUNT(*) AS n, AVG(hours) AS m FROM people GROUP BY id) t",
            |_, sql| replaced(unclamped(sql), " / CAST(COUNT(", " + CAST(COUNT("),
        ),
        mutated(
            "a filter looks at the rows of others",
            "SELECT COUNT(*) FILTER (WHERE town LIKE 'a%') FROM people",
            |_, sql| {
                replaced(
                    sql,
                    "veracity_like(t0.c0",
                    "veracity_like((SELECT MIN(z.\"town\") FROM \"people\" AS z)",
                )
            },
        ),
    ];
    let of_groupings_and_inner_queries = [
        mutated(
            "a coarser grouping has no cap on rows",
            "SELECT sex, COUNT(*) FROM people GROUP BY ROLLUP (sex)",
            |_, sql| match sql.contains("k0") {
                true => sql,
                false => replaced(sql, "CASE WHEN n < 1 THEN n ELSE 1 END", "n"),
            },
        ),
        mutated(
            "a coarser grouping has no cap on groups",
            "SELECT sex, town, COUNT(*) FROM people GROUP BY GROUPING SETS ((sex, town), (town))",
            |_, sql| match sql.contains("k1") {
                true => sql,
                false => replaced(sql, "WHERE m <= 1 UNION", "WHERE m >= 1 UNION"),
            },
        ),
        mutated(
            "a person exists in another table if anyone does",
            "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits v WHERE v.id = people.id AND cost IS NOT NULL)",
            |_, sql| replaced(sql, "(t0.u0 = t1.u0)", "(1 = 1)"),
        ),
        mutated(
            "the filter of a subquery looks at the rows of others",
            "SELECT COUNT(*) FROM (SELECT * FROM people WHERE hours > 30) AS p",
            |_, sql| replaced(sql, "(t0.c0 > ", "((SELECT AVG(z.\"hours\") FROM \"people\" AS z) > "),
        ),
        mutated("an integer is a square", "SELECT SUM(CAST(hours AS INTEGER)) FROM people", |_, sql| {
            replaced(sql, "CAST(veracity_floor(", "t0.c0 * CAST(veracity_floor(")
        }),
    ];
    let of_wide_sql = [
        mutated("rows of others stand among a person's own", SUM, |_, sql| {
            replaced(sql, "ON u0 = ou0", "ON 1 = 1")
        }),
        mutated("rows are ranked among those of others", SUM, |_, sql| {
            replaced(sql, "ROW_NUMBER() OVER (PARTITION BY u0 ORDER", "ROW_NUMBER() OVER (ORDER")
        }),
        mutated("people are told apart without regard to case", SUM, |_, sql| {
            replaced(sql, "\"id\" COLLATE BINARY", "\"id\" COLLATE NOCASE")
        }),
    ];
    let others = [
        Mutant {
            name: "a person has a row for each of its rows",
            query: "SELECT COUNT(*) FROM (SELECT id, MAX(hours) AS h FROM people GROUP BY id) t WHERE h > -1e9",
            world: |world| world.caps = (1, 3),
            sql: |_, sql| {
                let sql = replaced(sql, " AS t0 GROUP BY t0.u0)", " AS t0 GROUP BY t0.u0, t0.c0)");
                replaced(sql, "CASE WHEN n < 1 THEN n ELSE 1 END", "n")
            },
            ..SOUND
        },
        Mutant {
            name: "groups whose hashes tie are all kept",
            query: "SELECT sex, edu, COUNT(*) FROM people GROUP BY sex, edu",
            world: |world| world.caps = (1, 1),
            sql: |_, sql| {
                // All hashes of a unit tie.
                let sql = replaced(sql, "veracity_sha256(", "0 * veracity_sha256(");
                let ranked = "ROW_NUMBER() OVER (PARTITION BY u0 ORDER";
                let tied = replaced(sql, ranked, &ranked.replace("ROW_NUMBER", "DENSE_RANK"));
                replaced(tied, ", k0, k1) AS g", ") AS g")
            },
            ..SOUND
        },
        Mutant {
            name: "a unit is a person, where it should be a person in a period",
            query: "SELECT sex, COUNT(*) FROM people GROUP BY sex",
            world: |world| {
                world.period = Some("year");
                world.dates = ("1899-06-15", "2025-12-31");
                world.caps = (1, 1);
            },
            sql: |_, mut sql| {
                let start = sql.find("t0.u0 AS u0, ").expect("the unit") + "t0.u0 AS u0, ".len();
                let end = sql.find(" AS u1").expect("the period");
                sql.replace_range(start..end, "'x'");
                sql
            },
            ..SOUND
        },
        Mutant {
            name: "what is declared is for one group",
            query: BY_TOWN,
            world: |world| world.caps = (3, 1),
            design: |plan, (kind, multiplier)| {
                let mut one = plan.clone();
                one.caps.groups = Count::ONE;
                design_of(&one, kind, multiplier)
            },
            ..SOUND
        },
        Mutant {
            name: "a grouping is declared with the groups of a coarser one",
            query: "SELECT town, COUNT(*) FROM people GROUP BY GROUPING SETS ((), (town))",
            world: |world| world.caps = (3, 1),
            design: |plan, (kind, multiplier)| {
                let mut one = plan.clone();
                assert!(plan.caps.groups == Count::ONE && plan.others[0].caps.groups.get() == 3);
                one.others[0].caps.groups = plan.caps.groups;
                design_of(&one, kind, multiplier)
            },
            ..SOUND
        },
        Mutant {
            name: "what is declared is for one row",
            query: SUM,
            world: |world| world.caps = (1, 3),
            design: |plan, (kind, multiplier)| {
                let mut one = plan.clone();
                one.caps.rows = Count::ONE;
                design_of(&one, kind, multiplier)
            },
            ..SOUND
        },
        Mutant {
            name: "squares are declared with half the width",
            query: "SELECT VARIANCE(hours) FROM people",
            world: one_key,
            design: |plan, (kind, _)| {
                let width = plan.inputs[0].grid.width() as i128;
                let quarter = i128::from(plan.caps.rows.get()) * (width * width / 4 + 1);
                let contribution =
                    Contribution { rounded: 3, groups: plan.caps.groups, ..Contribution::new(quarter) };
                declared(design_of(plan, kind, 0.3), "three sums", contribution, (kind, 0.3))
            },
            ..SOUND
        },
        Mutant {
            name: "six sums are declared with the four that sum to one",
            query: "SELECT CORR(hours, score) FROM people",
            world: one_key,
            design: |plan, (kind, _)| {
                let width = |input: usize| plan.inputs[input].grid.width() as i128;
                let whole = i128::from(plan.caps.rows.get()) * (width(0) * width(1)).pow(2);
                let contribution =
                    Contribution { rounded: 6, groups: plan.caps.groups, ..Contribution::new(whole) };
                declared(design_of(plan, kind, 0.3), "six sums", contribution, (kind, 0.3))
            },
            ..SOUND
        },
        Mutant {
            name: "missing values of a sum that counts rows are outside of what is declared",
            query: "SELECT COUNT(*), SUM(hours) FROM people",
            world: |world| {
                one_key(world);
                world.bounds.insert("hours", (90.0, 99.0));
            },
            design: |plan, (kind, multiplier)| {
                let mut narrow = plan.clone();
                let grid = &mut narrow.inputs[0].grid;
                assert_eq!(grid.offset, 0.0);
                grid.least = grid.whole(90.0);
                design_of(&narrow, kind, multiplier)
            },
            ..SOUND
        },
        Mutant {
            name: "a sum is declared with its upper bound alone",
            query: SUM,
            world: |world| {
                world.bounds.insert("hours", (-1000.0, 1.0));
                world.caps = (1, 1);
            },
            design: |plan, (kind, multiplier)| {
                let mut upper = plan.clone();
                upper.inputs[0].grid.least = 0;
                design_of(&upper, kind, multiplier)
            },
            ..SOUND
        },
        Mutant {
            name: "the pair of a mean is declared without the step of its rounding",
            query: MEAN,
            world: one_key,
            design: |plan, _| {
                // A width of 299838.75 steps: with the quarter that is left to 299839, one person can be rounded down and the next up.
                let moved = i128::from(plan.caps.rows.get()) * plan.inputs[0].grid.width() as i128;
                let contribution = Contribution { groups: plan.caps.groups, ..Contribution::new(moved) };
                let fine = (NoiseKind::Laplace, 128.0 / 299_839.5);
                let design = declared(design_of(plan, fine.0, fine.1), "two sums", contribution, fine);
                let CallNoise::Sums(pair) = &design.drawn[0] else { panic!("{:?}", design.drawn) };
                assert_eq!((pair.step(), moved % pair.step()), (6099, 4582), "{moved}");
                design
            },
            ..SOUND
        },
    ];
    let of_wide_sql = of_wide_sql.map(|mutant| Mutant { world: wide_bounds, ..mutant });
    let of_sql = of_sql.into_iter().chain(of_expressions).chain(of_groupings_and_inner_queries);
    of_sql.chain(of_wide_sql).chain(others).collect()
}

/// The first seed at which something is wrong, and what.
fn found(mutant: &Mutant, sound: bool, most: u64) -> Option<(u64, String)> {
    for seed in 0..most {
        let mut dice = Dice::new(0x6d75_7461 + seed);
        let mut world = World::plain(&mut dice);
        (mutant.world)(&mut world);
        // The people are made again, as the changed world has them.
        let number = 2 + dice.below(6);
        world.persons = (0..number).map(|at| world.person(at, &mut dice)).collect();
        let plan = check(mutant.query, &world.catalog(), CapOverrides::default()).unwrap();
        let kind = *dice.pick(&[NoiseKind::Laplace, NoiseKind::Gaussian]);
        let level = (kind, *dice.pick(&[0.3, 5.0, 64.0]));
        let design = if sound { design_of(&plan, level.0, level.1) } else { (mutant.design)(&plan, level) };
        let change = |sql| if sound { sql } else { (mutant.sql)(&plan, sql) };
        let asked = Trial { plan: &plan, design: &design, change: Some(&change) };
        for change in CHANGES {
            let Some(other) = change.of(&world, &mut dice) else { continue };
            let tables = (&world.tables()[..], &other.tables()[..]);
            match departure(&asked, tables, change.persons(), seed) {
                Ok(()) => {}
                // A mutant that an engine cannot answer has not been seen to move anything.
                Err(why) if !sound && why.contains("SQLite rejected") => {}
                Err(why) => return Some((seed, format!("{change:?}: {why}"))),
            }
        }
    }
    None
}

#[test]
fn mutants_are_found_out() {
    for mutant in mutants() {
        let Some((seed, why)) = found(&mutant, false, 300) else {
            panic!("{}: not found", mutant.name);
        };
        println!("{}: world {seed}, {why}", mutant.name);
        // And it is the mutant that was found, not the worlds that are odd.
        assert_eq!(found(&mutant, true, seed + 20), None, "{}", mutant.name);
    }
}
