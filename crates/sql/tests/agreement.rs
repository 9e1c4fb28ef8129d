//! SQLite gives the whole numbers of the slow twin, bit for bit.

mod common;

use common::{Dice, World, ask, cases, query, secret, twin};
use veracity_sql::{CapsWanted, check};

/// The secret of [`secret`] in hexadecimal digits.
fn digits(seed: u64) -> String {
    format!("{seed:016x}{}", "0".repeat(48))
}

#[test]
fn sqlite_and_the_twin_give_the_same_whole_numbers() {
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
        answered += 1;
        rows += found.sums.len();
    }
    println!("{answered} answered, {refused} refused, {rows} groups");
    // Most queries are allowed, and most have groups: otherwise little was compared.
    assert!(refused < answered && rows as u64 > answered / 2, "{refused} {rows}");
}
