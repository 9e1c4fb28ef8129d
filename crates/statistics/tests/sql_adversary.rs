//! One person who does all they can: rows in every group, at every bound and far outside, with partners in every table. No integer that
//! gets noise moves further than declared, and some move nearly as far. And a census: random queries have each form that is allowed.

use crate::common::{
    Dice, World, ask, cases,
    neighbours::{compare, design},
    query, secret,
    worlds::Person,
};
use veracity_core::Count;
use veracity_statistics::sql::{CallNoise, CapOverrides, Plan, Totals, check};

/// Parts of queries that are forms of their own.
const FORMS: [&str; 30] = [
    "CASE WHEN", "DATE_TRUNC(", "EXTRACT(", "BETWEEN DATE", "FLOOR(", "ROUND(AVG", "100.0 * SUM", "/ 365",
    "IN (SELECT", "NOT IN (SELECT", "HAVING COUNT(*)", "EXISTS (SELECT", "NOT EXISTS (SELECT",
    "FROM (SELECT *", "AS total", "WITH per AS", "LEFT JOIN (SELECT", "ROLLUP (", "CUBE (",
    "GROUPING SETS (", "GROUPING(", "AS INTEGER)", "AS DOUBLE)", "LIKE", "ILIKE", "FILTER (WHERE", "USING (",
    "RIGHT JOIN", "CORR(", "LEAST(",
];

/// Of 3,000 seeds each form is in at least 8 queries that are answered, and in worlds with a person in a period in some.
#[test]
fn random_queries_have_every_form_that_is_allowed() {
    let mut found = [0u32; FORMS.len()];
    let (mut answered, mut periods, mut groupings) = (0, 0, 0);
    for seed in 0..3000 {
        let mut dice = Dice::new(0x666f_726d + seed);
        let world = World::random(&mut dice);
        let text = query(&world, &mut dice);
        let Ok(plan) = check(&text, &world.catalog(), CapOverrides::default()) else { continue };
        answered += 1;
        periods += u32::from(world.period.is_some());
        groupings += u32::from(!plan.others.is_empty());
        for (count, form) in found.iter_mut().zip(FORMS) {
            *count += u32::from(text.contains(form));
        }
    }
    let counts: Vec<String> =
        FORMS.iter().zip(found).map(|(form, count)| format!("{form} {count}")).collect();
    println!(
        "{answered} answered, {periods} of periods, {groupings} of several groupings: {}",
        counts.join(", ")
    );
    assert!(found.iter().all(|count| *count >= 8), "{}", counts.join(", "));
    assert!(answered > 1500 && periods > 200 && groupings > 100, "{answered} {periods} {groupings}");
}

/// How far the sums of a plan moved, as a part of what is declared: the largest of all noise calls.
fn part_of_declared(plan: &Plan, one: &Totals, two: &Totals) -> f64 {
    let units = plan.caps.groups.as_f64() * plan.caps.rows.as_f64();
    let place = |keys: &Vec<String>, totals: &Totals| {
        totals.sums.iter().find(|row| row.keys == *keys).map_or(0, |row| row.numbers[0])
    };
    let mut keys: Vec<&Vec<String>> = one.sums.iter().chain(&two.sums).map(|row| &row.keys).collect();
    keys.sort();
    keys.dedup();
    let moved: i64 = keys.into_iter().map(|keys| (place(keys, one) - place(keys, two)).abs()).sum();
    moved as f64 / units
}

#[test]
fn a_person_who_does_all_they_can_moves_nothing_further_than_declared() {
    let (mut checked, wanted, mut tight, mut cuts) = (0, cases(300), 0, 0);
    for seed in 0.. {
        if checked >= wanted {
            break;
        }
        let mut dice = Dice::new(0x6164_7665 + seed);
        let world = World::random(&mut dice);
        // A unit that is a person in a period is compared by the neighbors of sql_neighbours.rs.
        if world.period.is_some() {
            continue;
        }
        let text = query(&world, &mut dice);
        let Ok(mut plan) = check(&text, &world.catalog(), CapOverrides::default()) else { continue };
        let is_inner = plan.sources.iter().any(|source| source.per_unit.is_some() || source.most.is_some());
        if plan.others.is_empty() && !is_inner {
            plan.cut = Some(Count::new(1 + dice.below(5) as u64).unwrap());
            cuts += 1;
        }
        let mut other = world.clone();
        let adversary: Person = world.adversary(world.persons.len(), &mut dice);
        other.persons.insert(dice.below(world.persons.len() + 1), adversary);
        let design = design(&plan, &mut dice);
        let (one, two) = (
            ask(&world.tables(), &plan, &secret(seed)).unwrap(),
            ask(&other.tables(), &plan, &secret(seed)).unwrap(),
        );
        assert_eq!(
            compare(&plan, &design, (&one, &two), (1, seed.is_multiple_of(50))),
            Ok(()),
            "{seed} {text}"
        );
        checked += 1;
        let counts = matches!(design.drawn.first(), Some(CallNoise::Sums(sums)) if sums.place() == "count");
        tight += u64::from(counts && part_of_declared(&plan, &one, &two) >= 1.0);
    }
    println!("{checked} worlds, in {tight} of them a count moved as far as it may");
    assert!(tight > wanted / 20 && cuts > wanted / 4, "{tight} and {cuts} of {wanted}");
}
