//! The embedded engine gives the whole numbers of the slow twin, bit for bit, with statements and without.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Cell, Data, Dice, World, ask, ask_changed, cases, digits, query, secret, twin};
use std::path::Path;
use veracity_sql::{CapsWanted, Catalog, check};

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
        let plan = match check(&text, &world.catalog(), CapsWanted::default()) {
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
    let row = |id: &str, at: usize| {
        vec![Cell::Text(id.to_owned()), Cell::Number((at % 100) as f64), Cell::Text(format!("t{}", at % 7))]
    };
    let rows = (0..20_000).map(|at| row("many", at)).chain((0..3).map(|at| row("few", at)));
    let columns = [("id", false), ("hours", true), ("town", false)];
    let tables = [Data {
        name: "people".to_owned(),
        columns: columns.map(|(name, is_number)| (name.to_owned(), is_number)).to_vec(),
        rows: rows.collect(),
    }];
    let joined = "FROM people p JOIN people q ON p.id = q.id JOIN people r ON p.id = r.id";
    let text = format!("SELECT COUNT(*) n, SUM(q.hours) h {joined} WHERE r.town <> 'x'");
    let rows_of = |cap: &str, usual: u64| {
        let plan = check(&text, &catalog(cap), CapsWanted::default()).unwrap();
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
    let alone = check("SELECT COUNT(*) FROM people", &catalog("rows_in_joins = 20"), CapsWanted::default());
    assert_eq!(alone.unwrap().sources[0].most, None);
}

/// A person with many equal rows and one that is not: ranked by what is in them, equal rows would count or not together, and the odd
/// one half of the time. Of 2000 secrets, one row of a hundred counts 20 times on average; fewer than 1 and more than 60 have chances
/// below 1e-8.
#[test]
fn a_row_counts_no_more_often_for_being_rare() {
    let text = "[tables.people]\npath = \"people.csv\"\nperson = \"id\"\nrows_in_joins = 1\n[tables.people.columns]\n\
                hours = { lower = 0, upper = 10 }\n";
    let catalog = Catalog::read(text, Path::new("")).unwrap();
    let row = |hours: f64| vec![Cell::Text("one".to_owned()), Cell::Number(hours)];
    let tables = [Data {
        name: "people".to_owned(),
        columns: vec![("id".to_owned(), false), ("hours".to_owned(), true)],
        rows: (0..100).map(|at| row(if at == 42 { 10.0 } else { 0.0 })).collect(),
    }];
    for text in [
        "SELECT SUM(hours) s FROM people",
        "SELECT SUM(p.hours) s FROM people p JOIN people q ON p.id = q.id",
    ] {
        let plan = check(text, &catalog, CapsWanted::default()).unwrap();
        let unchanged = |sql| sql;
        let ways: [&dyn Fn(u64) -> veracity_sql::Totals; 2] =
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
    let text = "[tables.people]\npath = \"people.csv\"\nperson = \"id\"\nrows_in_joins = 10\n[tables.people.columns]\n\
                hours = { lower = 0, upper = 10 }\nk = { type = \"text\" }\nl = { type = \"text\" }\n\
                [tables.visits]\npath = \"visits.csv\"\nperson = \"id\"\n[tables.visits.columns]\nk = { type = \"text\" }\n";
    let catalog = Catalog::read(text, Path::new("")).unwrap();
    let row = |hours: f64, k: &str, l: &str| {
        let text = |text: &str| Cell::Text(text.to_owned());
        vec![text("one"), Cell::Number(hours), text(k), text(l)]
    };
    let table = |rows: Vec<Vec<Cell>>| {
        let columns = [("id", false), ("hours", true), ("k", false), ("l", false)];
        let people = Data {
            name: "people".to_owned(),
            columns: columns.map(|(name, is_number)| (name.to_owned(), is_number)).to_vec(),
            rows,
        };
        let visits = Data {
            name: "visits".to_owned(),
            columns: vec![("id".to_owned(), false), ("k".to_owned(), false)],
            rows: vec![vec![Cell::Text("one".to_owned()), Cell::Null]],
        };
        [people, visits]
    };
    for key in ["table 0", "other"] {
        let query = "SELECT p.k, SUM(p.hours) s FROM people p JOIN visits v ON p.id = v.id GROUP BY p.k";
        let plan = check(query, &catalog, CapsWanted::default()).unwrap();
        let people = table((0..20).map(|at| row(if at == 7 { 10.0 } else { 0.0 }, key, "")).collect());
        let counted = (0..2000).filter(|seed| {
            let found = ask(&people, &plan, &secret(*seed)).unwrap();
            found.sums[0].numbers[0] != 0
        });
        let counted = counted.count();
        assert!((40..=160).contains(&counted), "{key}: {counted}");
    }
    let plan =
        check("SELECT k, l, COUNT(*) FROM people GROUP BY k, l", &catalog, CapsWanted::default()).unwrap();
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
            let plan = check(text, &world.catalog(), CapsWanted::default()).unwrap();
            let tables = world.tables();
            let truth = twin(&plan, &tables, &digits(*seed));
            assert_eq!(ask(&tables, &plan, &secret(*seed)).unwrap(), truth);
            ask_changed(&tables, &plan, &secret(*seed), change).unwrap() != truth
        };
        assert!((0..100).any(|seed| is_found(&seed)), "{name}");
    }
}
