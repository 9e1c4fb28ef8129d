//! The embedded engine gives the whole numbers of the slow twin, bit for bit, with statements and without.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Dice, World, ask, ask_changed, cases, digits, query, secret, twin};
use veracity_sql::{CapsWanted, check};

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
    let every_row = |sql: String| sql.replace("COUNT(q0)", "COUNT(*)");
    let changes: [(&str, &dyn Fn(String) -> String); 2] =
        [("a missing value is the upper bound", &upper_for_missing), ("a mean counts all rows", &every_row)];
    for (name, change) in changes {
        let is_found = |seed: &u64| {
            let mut dice = Dice::new(*seed);
            let world = World::plain(&mut dice);
            let plan =
                check("SELECT AVG(hours) m FROM people", &world.catalog(), CapsWanted::default()).unwrap();
            let tables = world.tables();
            let truth = twin(&plan, &tables, &digits(*seed));
            assert_eq!(ask(&tables, &plan, &secret(*seed)).unwrap(), truth);
            ask_changed(&tables, &plan, &secret(*seed), change).unwrap() != truth
        };
        assert!((0..100).any(|seed| is_found(&seed)), "{name}");
    }
}
