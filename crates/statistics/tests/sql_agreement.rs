//! The embedded engine gives the whole numbers of the slow twin, bit for bit, with statements and without.

use crate::common::{
    Cell, Data, Dice, World, ask, ask_changed, ask_in_parts, cases, digits, query, secret, twin,
    twin::{gregorian, julian_day},
    worlds::text,
};
use std::{collections::BTreeMap, path::Path};
use veracity_statistics::sql::{CapOverrides, Catalog, check};

#[test]
fn the_embedded_engine_and_the_twin_give_the_same_whole_numbers() {
    let (mut answered, mut refused, mut rows) = (0, 0, 0);
    let wanted = cases(300);
    for seed in 0.. {
        if answered == wanted {
            break;
        }
        let mut dice = Dice::new(seed);
        let world = World::random(&mut dice);
        let text = query(&world, &mut dice);
        let plan = match check(&text, &world.catalog(), CapOverrides::default()) {
            Ok(plan) => plan,
            Err(refusal) => {
                refused += 1;
                assert!(!refusal.to_string().contains(char::is_control), "{text}: {refusal}");
                continue;
            }
        };
        let tables = world.tables();
        let found =
            ask(&tables, &plan, &secret(seed)).unwrap_or_else(|error| panic!("{seed} {text}: {error}"));
        let truth = twin(&plan, &tables, &digits(seed));
        assert_eq!(found, truth, "{seed} {text}");
        // SQLite gives the same, however many tables there are.
        let stated = ask_changed(&tables, &plan, &secret(seed), &|sql| sql).unwrap();
        assert_eq!(stated, truth, "{seed} {text}");
        answered += 1;
        rows += found.sums.len();
    }
    println!("{answered} answered, {refused} refused, {rows} groups");
    // Most queries are allowed, and most have groups: otherwise little was compared.
    assert!(refused < answered && rows as u64 > answered / 2, "{refused} {rows}");
}

/// Where a table is cut, and how many CPUs add up its parts, changes no integer.
#[test]
fn parts_and_cpus_change_no_integer() {
    let (mut answered, wanted) = (0, cases(100));
    for seed in 0.. {
        if answered == wanted {
            break;
        }
        let mut dice = Dice::new(seed);
        let world = World::random(&mut dice);
        let text = query(&world, &mut dice);
        let Ok(plan) = check(&text, &world.catalog(), CapOverrides::default()) else { continue };
        if plan.sources.len() > 1 {
            continue;
        }
        let tables = world.tables();
        let truth = twin(&plan, &tables, &digits(seed));
        for (rows, cores) in [(1, 1), (1, 8), (2, 2), (3, 5), (10, 3), (usize::MAX, 1), (usize::MAX, 4)] {
            let found = ask_in_parts(&tables, &plan, &secret(seed), (rows, cores)).unwrap();
            assert_eq!(found, truth, "{seed} {text} in parts of {rows} rows on {cores} CPUs");
        }
        answered += 1;
    }
}

/// One person with very many rows, in a table that is joined to itself three times: without a cap they were 8e12.
#[test]
fn a_join_does_not_multiply_the_rows_of_one_person_without_end() {
    let catalog = |cap: &str| {
        let text = format!(
            "[tables.people]\npath = \"people.csv\"\nperson = \"id\"\nrows_per_group = 1000000\n{cap}\n\
             [tables.people.columns]\nhours = {{ lower = 0, upper = 99 }}\ntown = {{ type = \"text\" }}\n"
        );
        Catalog::read(&text, Path::new("")).unwrap()
    };
    let row =
        |id: &str, at: usize| vec![text(id), Cell::Number((at % 100) as f64), text(&format!("t{}", at % 7))];
    let rows = (0..20_000).map(|at| row("many", at)).chain((0..3).map(|at| row("few", at)));
    let columns = [("id", false), ("hours", true), ("town", false)];
    let tables = [Data::new("people", &columns, rows.collect())];
    let joined = "FROM people p JOIN people q ON p.id = q.id JOIN people r ON p.id = r.id";
    let text = format!("SELECT COUNT(*) n, SUM(q.hours) h {joined} WHERE r.town <> 'x'");
    let rows_of = |cap: &str, usual: u64| {
        let plan = check(&text, &catalog(cap), CapOverrides::default()).unwrap();
        assert!(plan.sources.iter().all(|source| source.most.unwrap().get() == usual), "{plan:?}");
        plan
    };
    // A hundred in each of three tables is a million.
    rows_of("", 100);
    let plan = rows_of("rows_in_joins = 20", 20);
    let found = ask(&tables, &plan, &secret(1)).unwrap();
    assert_eq!(found.sums[0].numbers[0], 20 * 20 * 20 + 3 * 3 * 3);
    assert_eq!(found, twin(&plan, &tables, &digits(1)));
    // One table, or public ones beside it, multiply nothing.
    let alone = check("SELECT COUNT(*) FROM people", &catalog("rows_in_joins = 20"), CapOverrides::default());
    assert_eq!(alone.unwrap().sources[0].most, None);
}

/// A person with many equal rows and one that is not: ranked by what is in them, equal rows would count or not together, and the odd
/// one half of the time. Of 2000 secrets, one row of a hundred counts 20 times on average; fewer than 1 and more than 60 have chances
/// below 1e-8.
#[test]
fn a_row_counts_no_more_often_for_being_rare() {
    let declared = "[tables.people]\npath = \"people.csv\"\nperson = \"id\"\nrows_in_joins = 1\n[tables.people.columns]\n\
                hours = { lower = 0, upper = 10 }\n";
    let catalog = Catalog::read(declared, Path::new("")).unwrap();
    let row = |at| vec![text("one"), Cell::Number(if at == 42 { 10.0 } else { 0.0 })];
    let tables = [Data::new("people", &[("id", false), ("hours", true)], (0..100).map(row).collect())];
    for text in [
        "SELECT SUM(hours) s FROM people",
        "SELECT SUM(p.hours) s FROM people p JOIN people q ON p.id = q.id",
    ] {
        let plan = check(text, &catalog, CapOverrides::default()).unwrap();
        let unchanged = |sql| sql;
        let ways: [&dyn Fn(u64) -> veracity_statistics::sql::Totals; 2] =
            [&|seed| ask(&tables, &plan, &secret(seed)).unwrap(), &|seed| {
                ask_changed(&tables, &plan, &secret(seed), &unchanged).unwrap()
            }];
        for way in ways {
            let counted = (0..2000).filter(|seed| way(*seed).sums[0].numbers[0] != 0).count();
            assert!((1..=60).contains(&counted), "{text}: {counted}");
        }
    }
}

/// What is hashed for one purpose, or for one group, is hashed for no other: a key that reads like the words of a join, and keys that
/// are one text when they are joined, are chosen as often as others. Of 2000 secrets, one row of twenty counts 100 times on average, with a
/// standard deviation of 10; one of two groups 1000 times, with one of 22. Both are within 6 of them, which fails with a chance
/// below 1e-8.
#[test]
fn no_key_has_a_better_chance_than_another() {
    let declared = "[tables.people]\npath = \"people.csv\"\nperson = \"id\"\nrows_in_joins = 10\n[tables.people.columns]\n\
                hours = { lower = 0, upper = 10 }\nk = { type = \"text\" }\nl = { type = \"text\" }\n\
                [tables.visits]\npath = \"visits.csv\"\nperson = \"id\"\n[tables.visits.columns]\nk = { type = \"text\" }\n";
    let catalog = Catalog::read(declared, Path::new("")).unwrap();
    let row = |hours: f64, k: &str, l: &str| vec![text("one"), Cell::Number(hours), text(k), text(l)];
    let table = |rows: Vec<Vec<Cell>>| {
        let columns = [("id", false), ("hours", true), ("k", false), ("l", false)];
        let visits = Data::new("visits", &[("id", false), ("k", false)], vec![vec![text("one"), Cell::Null]]);
        [Data::new("people", &columns, rows), visits]
    };
    for key in ["table 0", "other"] {
        let query = "SELECT p.k, SUM(p.hours) s FROM people p JOIN visits v ON p.id = v.id GROUP BY p.k";
        let plan = check(query, &catalog, CapOverrides::default()).unwrap();
        let people = table((0..20).map(|at| row(if at == 7 { 10.0 } else { 0.0 }, key, "")).collect());
        let counted = (0..2000).filter(|seed| {
            let found = ask(&people, &plan, &secret(*seed)).unwrap();
            found.sums[0].numbers[0] != 0
        });
        let counted = counted.count();
        assert!((40..=160).contains(&counted), "{key}: {counted}");
    }
    let plan =
        check("SELECT k, l, COUNT(*) FROM people GROUP BY k, l", &catalog, CapOverrides::default()).unwrap();
    let people = table(vec![row(0.0, "a|b", "c"), row(0.0, "a", "b|c")]);
    let first = (0..2000).filter(|seed| {
        let found = ask(&people, &plan, &secret(*seed)).unwrap();
        found.sums.len() == 1 && found.sums[0].keys[0] == "a|b"
    });
    let first = first.count();
    assert!((866..=1134).contains(&first), "{first}");
}

/// What a mutant does to a statement.
type Change<'a> = &'a dyn Fn(String) -> String;

/// Mutants that move no sum too far, and yet give wrong ones: privacy holds, and the twin differs.
#[test]
fn wrong_sums_differ_from_the_twin() {
    let upper_for_missing = |sql: String| {
        let start = sql.find(" THEN ").expect("a clamp") + " THEN ".len();
        let upper = sql[start..].find(" THEN ").expect("the upper one") + start + " THEN ".len();
        let end = upper + sql[upper..].find(" ELSE c0 END").expect("the end of the clamp");
        let bound = sql[upper..end].to_owned();
        sql.replace("ELSE c0 END", &format!("ELSE COALESCE(c0, {bound}) END"))
    };
    let joined_without_end = |sql: String| sql.replace("AS few WHERE ", "AS few WHERE 1 = 1 OR ");
    let joined_without_secret = |sql: String| sql.replace(" THEN veracity_sha256(", " THEN length(");
    let every_row = |sql: String| sql.replace("COUNT(q0)", "COUNT(*)");
    let (alone, joined) = (
        "SELECT AVG(hours) m FROM people",
        "SELECT AVG(p.hours) m FROM people p JOIN people q ON p.id = q.id",
    );
    let changes: [(&str, &str, Change<'_>); 4] = [
        ("a missing value is the upper bound", alone, &upper_for_missing),
        ("a mean counts all rows", alone, &every_row),
        ("all rows of a person are joined", joined, &joined_without_end),
        ("rows are joined from a start that is no secret", joined, &joined_without_secret),
    ];
    for (name, text, change) in changes {
        let is_found = |seed: &u64| {
            let mut dice = Dice::new(*seed);
            let world = World::plain(&mut dice);
            let plan = check(text, &world.catalog(), CapOverrides::default()).unwrap();
            let tables = world.tables();
            let truth = twin(&plan, &tables, &digits(*seed));
            assert_eq!(ask(&tables, &plan, &secret(*seed)).unwrap(), truth);
            ask_changed(&tables, &plan, &secret(*seed), change).unwrap() != truth
        };
        assert!((0..100).any(|seed| is_found(&seed)), "{name}");
    }
}

/// Every part of every day of a range with leap days and turns of the year, from Julian days: the month by the formula of Fliegel and
/// Van Flandern, the day of the week as the Julian day modulo seven, which is 0 on Monday, and the week by ISO 8601: it is the one
/// that has the fourth of January, or counts from it.
#[test]
fn parts_of_dates_are_those_of_another_calendar() {
    let (first, last) = (julian_day("2020-12-20").unwrap(), julian_day("2025-01-10").unwrap());
    let written = |day: i64| {
        let (year, month, of) = gregorian(day);
        format!("{year:04}-{month:02}-{of:02}")
    };
    let declared = format!(
        "[tables.people]\npath = 'p.csv'\nperson = 'id'\n[tables.people.columns]\nseen = {{ first = '{}', last = '{}' }}\n",
        written(first),
        written(last)
    );
    let catalog = Catalog::read(&declared, Path::new("")).unwrap();
    let people = |day: i64| vec![text(&format!("p{day}")), text(&written(day))];
    let tables =
        [Data::new("people", &[("id", false), ("seen", false)], (first..=last).map(people).collect())];
    let parts = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW"];
    let sums: Vec<String> =
        parts.iter().map(|part| format!("SUM(EXTRACT({part} FROM seen) - 0) AS {part}_of")).collect();
    let query = format!("SELECT seen, {} FROM people GROUP BY seen", sums.join(", "));
    let plan = check(&query, &catalog, CapOverrides::default()).unwrap();
    let monday_of_week_1 = |year: i64| {
        let fourth = julian_day(&format!("{year:04}-01-04")).unwrap();
        fourth - fourth % 7
    };
    let expected = |day: i64| {
        let (year, month, of) = gregorian(day);
        let new_year = julian_day(&format!("{year:04}-01-01")).unwrap();
        let of_week =
            [year + 1, year, year - 1].into_iter().map(monday_of_week_1).find(|monday| *monday <= day);
        let week = (day - of_week.unwrap()) / 7 + 1;
        [year, (month + 2) / 3, month, week, of, day - new_year + 1, (day + 1) % 7, day % 7 + 1]
    };
    let found = ask(&tables, &plan, &secret(1)).unwrap();
    assert_eq!(found.sums.len() as i64, last - first + 1);
    for row in &found.sums {
        let day = julian_day(&row.keys[0]).unwrap();
        let values: Vec<f64> = plan
            .inputs
            .iter()
            .zip(&row.numbers)
            .map(|(input, number)| *number as f64 * input.grid.unit())
            .collect();
        assert_eq!(values, expected(day).map(|part| part as f64), "{}", row.keys[0]);
    }
    // And what a date is truncated to.
    let start = |unit: &str, day: i64| {
        let (year, month, of) = gregorian(day);
        match unit {
            "year" => julian_day(&format!("{year:04}-01-01")).unwrap(),
            "quarter" => julian_day(&format!("{year:04}-{:02}-01", month - (month + 2) % 3)).unwrap(),
            "month" => day - of + 1,
            "week" => day - day % 7,
            _ => day,
        }
    };
    for unit in ["year", "quarter", "month", "week", "day"] {
        let query = format!("SELECT DATE_TRUNC('{unit}', seen) AS d, COUNT(*) FROM people GROUP BY d");
        let plan = check(&query, &catalog, CapOverrides::default()).unwrap();
        let found = ask(&tables, &plan, &secret(1)).unwrap();
        let mut counts = BTreeMap::new();
        (first..=last).for_each(|day| *counts.entry(written(start(unit, day))).or_insert(0) += 1);
        let found: BTreeMap<String, i64> =
            found.sums.into_iter().map(|row| (row.keys[0].clone(), row.numbers[0])).collect();
        assert_eq!(found, counts, "{unit}");
        let public: Vec<String> = counts.into_keys().collect();
        assert_eq!(plan.keys[0].public.as_ref().unwrap(), &public, "{unit}");
    }
}
