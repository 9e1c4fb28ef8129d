//! What one person moves: every noise input of a plan on two worlds that differ in one person, against what the design declares.

use super::{Cell, Data, Dice, World, ask, ask_changed, secret};
use std::collections::{BTreeMap, BTreeSet};
use veracity_core::NoiseMultiplier;
use veracity_mechanisms::NoiseKind;
use veracity_noise::{Departure, Distance, Entropy, Key, NoiseStream, Purpose, Tape};
use veracity_statistics::sql::{CallNoise, Design, NoiseCall, Plan, Row, Summand, Totals};

/// How two worlds differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A person more.
    Added,
    /// A person less.
    Removed,
    /// All rows of a person are others: as far as one less and one more.
    Replaced,
    /// Rows more that nobody owns: they never count.
    Ownerless,
}

impl Change {
    /// How many persons are added and removed.
    pub fn persons(self) -> u128 {
        match self {
            Change::Added | Change::Removed => 1,
            Change::Replaced => 2,
            Change::Ownerless => 0,
        }
    }

    /// The world after it; nothing where there is nobody to remove.
    pub fn of(self, world: &World, dice: &mut Dice) -> Option<World> {
        let mut other = world.clone();
        let (there, at) = (other.persons.len(), dice.below(other.persons.len() + 1));
        if world.period.is_some() && self != Change::Ownerless {
            return self.in_a_period(world, dice);
        }
        match self {
            // The first that is not there; where the rows stand is anywhere.
            Change::Added => other.persons.insert(at, world.person(there, dice)),
            Change::Removed if at < there => drop(other.persons.remove(at)),
            Change::Replaced if at < there => {
                other.persons[at] = world.person(at, dice);
            }
            Change::Removed | Change::Replaced => return None,
            Change::Ownerless => {
                for _ in 0..1 + dice.below(4) {
                    let row = world.ownerless_row(dice);
                    other.ownerless.insert(0, row);
                }
            }
        }
        Some(other)
    }

    /// The world after a person's rows of one period came or went, or others took their place. The rows of other periods stay.
    fn in_a_period(self, world: &World, dice: &mut Dice) -> Option<World> {
        let at = dice.below(world.persons.len().max(1));
        let person = world.persons.get(at)?;
        let all: BTreeSet<String> = person.people.iter().filter_map(|row| world.period_of(row)).collect();
        let mut other = world.clone();
        let is_of = |row: &Vec<Cell>, period: &String| world.period_of(row).as_ref() == Some(period);
        if self != Change::Added {
            let there: Vec<&String> = all.iter().collect();
            if there.is_empty() {
                return None;
            }
            let period = (*dice.pick(&there)).clone();
            other.persons[at].people.retain(|row| !is_of(row, &period));
        }
        if self != Change::Removed {
            // Of a period in which the person had no row, or has none any more.
            let rows = world.person(at, dice).people;
            let found =
                rows.iter().filter_map(|row| world.period_of(row)).find(|period| !all.contains(period))?;
            other.persons[at].people.extend(rows.into_iter().filter(|row| is_of(row, &found)));
        }
        Some(other)
    }
}

/// What is asked of an engine, and what is declared of it: a mutant has them apart.
pub struct Trial<'a> {
    pub plan: &'a Plan,
    pub design: &'a Design,
    /// What is done to each statement; nothing where files are asked as they are, without one if there is one table.
    pub change: Option<&'a dyn Fn(String) -> String>,
}

/// A design at a random level.
pub fn design(plan: &Plan, dice: &mut Dice) -> Design {
    let kind = match plan.groupings().all(|plan| plan.tallies.is_empty()) {
        // Quantiles are chosen with Laplace noise beside them, or with none.
        false => NoiseKind::Laplace,
        true => *dice.pick(&[NoiseKind::Laplace, NoiseKind::Gaussian]),
    };
    let multiplier = *dice.pick(&[0.3, 1.0, 5.0, 50.0, 64.0, 300.0]);
    Design::new(plan, kind, NoiseMultiplier::new(multiplier).unwrap()).unwrap()
}

/// Asks both worlds and compares; what is wrong, where something is.
pub fn departure(
    asked: &Trial<'_>,
    (one, two): (&[Data], &[Data]),
    persons: u128,
    seed: u64,
) -> Result<(), String> {
    let ask = |tables: &[Data]| {
        let answered = match asked.change {
            Some(change) => ask_changed(tables, asked.plan, &secret(seed), change),
            None => ask(tables, asked.plan, &secret(seed)),
        };
        answered.map_err(|error| error.to_string())
    };
    compare(asked.plan, asked.design, (&ask(one)?, &ask(two)?), (persons, seed.is_multiple_of(50)))
}

/// The noise inputs of two answers of an engine, against what is declared of each grouping; those of choices among values too, if so
/// wanted.
pub fn compare(
    plan: &Plan,
    design: &Design,
    (one, two): (&Totals, &Totals),
    wanted: (u128, bool),
) -> Result<(), String> {
    let totals: Vec<(&Totals, &Totals)> = one.groupings().zip(two.groupings()).collect();
    assert_eq!(totals.len(), plan.groupings().count());
    if let Some(noise) = &design.cut {
        let (one, two) = (one.cut.unwrap(), two.cut.unwrap());
        if u128::from(one.abs_diff(two)) > u128::from(plan.cut.unwrap().get()) * wanted.0 {
            return Err(format!("{} moved too far: {one} and {two}", noise.place()));
        }
    }
    let each = plan.groupings().zip(design.groupings()).zip(totals);
    each.into_iter().try_for_each(|((plan, design), totals)| compare_grouping(plan, design, totals, wanted))
}

fn compare_grouping(
    plan: &Plan,
    design: &Design,
    (one, two): (&Totals, &Totals),
    (persons, choices): (u128, bool),
) -> Result<(), String> {
    groups_moved(plan, (one, two), persons)?;
    tallies_moved(plan, (one, two), persons)?;
    let mut open = opened(plan, [one, two]);
    let mut design = design.clone();
    if !choices {
        // A choice among a million values takes its time: what it sees was compared above.
        let sums: Vec<bool> = design.drawn.iter().map(|drawn| matches!(drawn, CallNoise::Sums(_))).collect();
        let mut keep = sums.iter();
        open.calls.retain(|_| *keep.next().unwrap());
        design.drawn.retain(|drawn| matches!(drawn, CallNoise::Sums(_)));
    }
    let design = &design;
    let groups = open.public_groups().unwrap().len();
    let stream = || Entropy::seeded(1).stream(Purpose::Noise, Key::default());
    let mut first = NoiseStream::recording(stream());
    open.answer(design, None, one, &mut first).map_err(|refusal| refusal.to_string())?;
    let tape = first.into_tape().unwrap();
    let mut second = NoiseStream::replaying(tape.clone(), stream());
    open.answer(design, None, two, &mut second).map_err(|refusal| refusal.to_string())?;
    let heard = second.into_tape().unwrap();
    // Quantiles declare what one row moves; a person has as many as its cap.
    let has_choices = design.drawn.iter().any(|drawn| matches!(drawn, CallNoise::Choice(_)));
    if persons == 1
        && (!has_choices || plan.caps.rows.get() == 1)
        && let Some(departure) = tape.departure(&heard)
    {
        return Err(match departure {
            Departure::Sensitivity { place, .. } => format!("{place} moved too far"),
            other => format!("{other:?}"),
        });
    }
    calls_moved(plan, design, (&tape, &heard), (groups, persons))
}

/// Every call by hand: in all groups together, and in each of them.
fn calls_moved(
    plan: &Plan,
    design: &Design,
    (one, two): (&Tape, &Tape),
    (groups, persons): (usize, u128),
) -> Result<(), String> {
    if one.calls.len() != two.calls.len() {
        return Err("another number of calls".to_owned());
    }
    let drawn = design.drawn.iter().map(|drawn| match drawn {
        CallNoise::Sums(sums) => Some(sums.sensitivity().get()),
        CallNoise::Choice(_) => None,
        CallNoise::Periods(_) => unreachable!("compared by sql_periods.rs"),
    });
    let mut calls = one.calls.iter().zip(&two.calls).peekable();
    for sensitivity in drawn {
        let Some(sensitivity) = sensitivity else {
            while let Some((a, b)) = calls.next_if(|(a, _)| matches!(a.declared, Distance::LInf(_))) {
                let Distance::LInf(declared) = a.declared else { unreachable!() };
                let most = declared * u128::from(plan.caps.rows.get()) * persons;
                let far = a.input.iter().zip(&b.input).any(|(a, b)| a.abs_diff(*b) > most);
                if far || a.input.len() != b.input.len() {
                    return Err(format!("{} moved too far", a.place));
                }
            }
            continue;
        };
        let (a, b) = calls.next().ok_or("a call is missing")?;
        let apart: Vec<u128> = a.input.iter().zip(&b.input).map(|(a, b)| a.abs_diff(*b)).collect();
        let (moved, most) = match a.declared {
            Distance::L1(most) => (apart.iter().sum::<u128>(), most * persons),
            Distance::L2Squared(most) => {
                (apart.iter().map(|apart| apart * apart).sum(), most * persons * persons)
            }
            Distance::LInf(_) => return Err("noise on a sum declares the largest move".to_owned()),
        };
        let of_group = |chunk: &[u128]| chunk.iter().sum::<u128>() > u128::from(sensitivity) * persons;
        if moved > most || apart.chunks(apart.len() / groups).any(of_group) {
            return Err(format!("{} moved too far", a.place));
        }
    }
    Ok(())
}

/// No more groups change than a person may be in; one that is in one answer alone has nobody else in it.
fn groups_moved(plan: &Plan, (one, two): (&Totals, &Totals), persons: u128) -> Result<(), String> {
    let all: BTreeSet<&Vec<String>> = one.sums.iter().chain(&two.sums).map(|row: &Row| &row.keys).collect();
    let of = |totals: &Totals, keys: &Vec<String>| {
        let sums: Vec<Vec<i64>> =
            totals.sums.iter().filter(|row| row.keys == *keys).map(|row| row.numbers.clone()).collect();
        let tallies: Vec<Vec<Vec<i64>>> = totals
            .tallies
            .iter()
            .map(|rows| rows.iter().filter(|row| row.keys == *keys).map(|row| row.numbers.clone()).collect())
            .collect();
        (sums, tallies)
    };
    let moved = all.iter().filter(|keys| of(one, keys) != of(two, keys)).count();
    let most = u128::from(plan.caps.groups.get()) * persons;
    if moved as u128 > most {
        return Err(format!("{moved} groups moved, declared {most}"));
    }
    let units = plan.sums.iter().position(|summand| *summand == Summand::Units);
    let Some(units) = units.filter(|_| plan.calls.contains(&NoiseCall::Units)) else { return Ok(()) };
    for keys in all {
        let ((a, _), (b, _)) = (of(one, keys), of(two, keys));
        let alone = if a.is_empty() { &b } else { &a };
        if (a.is_empty() || b.is_empty()) && !plan.keys.is_empty() && alone[0][units] != 1 {
            return Err(format!("a group of one answer alone has {} units", alone[0][units]));
        }
    }
    Ok(())
}

/// In no group do more values come and go than a person has rows there: quantiles are charged for so many rows.
fn tallies_moved(plan: &Plan, (one, two): (&Totals, &Totals), persons: u128) -> Result<(), String> {
    for (one, two) in one.tallies.iter().zip(&two.tallies) {
        let mut moved: BTreeMap<&Vec<String>, BTreeMap<i64, i64>> = BTreeMap::new();
        for (rows, sign) in [(one, 1), (two, -1)] {
            for row in rows {
                *moved.entry(&row.keys).or_default().entry(row.numbers[0]).or_default() +=
                    sign * row.numbers[1];
            }
        }
        let most = u128::from(plan.caps.rows.get()) * persons;
        let of_group =
            |values: &BTreeMap<i64, i64>| values.values().map(|n| u128::from(n.unsigned_abs())).sum::<u128>();
        if moved.values().any(|values| of_group(values) > most) {
            return Err("a tally moved too far".to_owned());
        }
    }
    Ok(())
}

/// The plan with all keys public that either answer has, so that both have the same groups.
fn opened(plan: &Plan, totals: [&Totals; 2]) -> Plan {
    let mut open = plan.clone();
    for (place, key) in open.keys.iter_mut().enumerate() {
        if key.public.is_none() {
            let found: BTreeSet<String> = totals
                .iter()
                .flat_map(|totals| &totals.sums)
                .map(|row| row.keys[place].clone())
                .chain(["nobody".to_owned()])
                .collect();
            key.public = Some(found.into_iter().collect());
        }
    }
    open
}
