//! Queries of every period: errors against separate queries, error bars against truth, what one unit moves, and refusals.

use crate::common::{Cell, Data, Dice, World, ask, cases, neighbours::Change, secret, worlds::text};
use std::path::Path;
use veracity_core::numerics::binomial::log_upper_tail;
use veracity_core::{Count, Delta, Epsilon, Refusal};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_statistics::sql::{
    CapOverrides, Catalog, EveryPeriod, PreparedQuery, Priority, QueryRequest, Value, check,
};

fn catalog(more: &str) -> Catalog {
    let cap = |name: &str| if more.contains(name) { String::new() } else { format!("\n{name} = 1") };
    let caps = cap("rows_per_group") + &cap("groups_per_person");
    let text = format!(
        "[tables.visits]\npath = \"visits.csv\"\nperson = \"patient\"\n{more}{caps}\n[tables.visits.columns]\ncost = {{ lower = -50, \
         upper = 100 }}\nvisited = {{ first = \"2025-01-01\", last = \"2025-12-31\" }}\n"
    );
    Catalog::read(&text, Path::new("")).unwrap()
}

fn request(query: &str, unit: &str, priority: Priority, delta: f64) -> QueryRequest {
    QueryRequest {
        delta: Delta::new(delta).unwrap(),
        every: Some(EveryPeriod { unit: unit.to_owned(), date: None, priority }),
        ..QueryRequest::new(query, Epsilon::new(1.0).unwrap())
    }
}

fn prepared(query: &str, days: u64, priority: Priority) -> PreparedQuery {
    let more = format!("groups_per_person = {days}");
    request(query, "day", priority, 1e-6).prepare(&catalog(&more)).unwrap()
}

/// 365 daily counts at ε = 1 and δ = 1e-6: no number is off by more than a fifth of what 365 separate queries are. Where a person
/// counts on few days, the total of the year is also off by no more than a fifth of a sum of independent noise.
#[test]
fn daily_counts_of_a_year_are_off_by_a_fifth_of_separate_queries_or_less() {
    println!(
        "days of a person, numbers: a day and a total of this query, with independent noise, with separate queries"
    );
    for days in [1, 5, 30, 365] {
        for priority in Priority::ALL {
            let prepared = prepared("SELECT COUNT(*) FROM visits", days, priority);
            let spent = prepared.answer.epsilon.upper().unwrap().0.get();
            assert!(spent <= 1.0 && spent > 0.9999, "{spent}");
            let errors = prepared.periods().unwrap()[0].1;
            assert_eq!(errors.periods, 365);
            let flat =
                |errors: veracity_statistics::sql::PeriodErrors| (errors.period, errors.total.unwrap());
            let (released, independent, separate) =
                (flat(errors.released), flat(errors.independent), flat(errors.separate));
            println!(
                "{days:>3} {:>6}: {:>6.1} {:>7.1}   {:>6.1} {:>7.1}   {:>7.1} {:>8.1}",
                priority.name(),
                released.0,
                released.1,
                independent.0,
                independent.1,
                separate.0,
                separate.1
            );
            assert!(5.0 * released.0 <= separate.0, "{days} {errors:?}");
            assert!(5.0 * released.1 <= separate.1 || days == 365, "{days} {errors:?}");
            match priority {
                Priority::Counts => assert!(released.0 <= independent.0 * (1.0 + 1e-9)),
                Priority::Totals => {
                    assert!(released.1 <= independent.1 * (1.0 + 1e-6));
                    assert!(days > 1 || 5.0 * released.1 <= independent.1, "{errors:?}");
                }
            }
        }
    }
}

/// Patients with visits in March and on days outside of the year, and what a row counts for, by hand.
fn visits() -> (Vec<Data>, Vec<i64>, Vec<f64>) {
    let columns = [("patient", false), ("cost", true), ("visited", false)];
    let (mut rows, mut counts, mut sums) = (Vec::new(), vec![0; 12], vec![0.0; 12]);
    for patient in 0..400 {
        let month = patient % 12;
        let cost = f64::from(patient % 7) * 20.0;
        let date = format!("2025-{:02}-{:02}", month + 1, 1 + patient % 28);
        rows.push(vec![text(&format!("p{patient}")), Cell::Number(cost), text(&date)]);
        counts[month as usize] += 1;
        sums[month as usize] += cost.min(100.0);
    }
    // Of a date before the first day, after the last, and of none.
    for (patient, date, month) in [("x", "2024-05-05", 0), ("y", "2026-01-01", 11)] {
        rows.push(vec![text(patient), Cell::Number(-80.0), text(date)]);
        counts[month] += 1;
        sums[month] += -50.0;
    }
    rows.push(vec![text("z"), Cell::Number(30.0), text("2025-02-29")]);
    (vec![Data::new("visits", &columns, rows)], counts, sums)
}

/// By simulation with 3,000 seeds: bars of 95% miss in 5% of cases. The exact binomial test refutes at 1e-6 neither "at most 5%" nor "at
/// least 5%" for counts; the grid of a sum makes its bars a little longer. Control: bars that are a tenth shorter are refuted.
#[test]
fn error_bars_of_every_month_cover_in_95_of_100_cases() {
    const RUNS: u64 = 3000;
    let (tables, counts, sums) = visits();
    let query = "SELECT COUNT(*) AS n, SUM(cost) AS cost FROM visits";
    let prepared = request(query, "month", Priority::Totals, 1e-6).prepare(&catalog("")).unwrap();
    let totals = ask(&tables, &prepared.plan, &secret(1)).unwrap();
    let until =
        |month: usize| [counts[..=month].iter().sum::<i64>() as f64, sums[..=month].iter().sum::<f64>()];
    // For each of the four columns, in March and in December, how often it was missed, and by a shorter bar.
    let mut missed = [[[0u64; 2]; 2]; 4];
    for run in 0..RUNS {
        let stream = Entropy::seeded(33).stream(Purpose::Noise, Key { step: run, ..Key::default() });
        let groups =
            prepared.plan.answer(&prepared.design, None, &totals, &mut NoiseStream::new(stream)).unwrap();
        assert_eq!((groups.len(), groups[2].keys[0].as_str()), (12, "2025-03-01"));
        for (at, month) in [2, 11].into_iter().enumerate() {
            let [so_far, so_far_sum] = until(month);
            let truth = [counts[month] as f64, sums[month], so_far, so_far_sum];
            for (column, truth) in truth.into_iter().enumerate() {
                let value = Value::Aggregate(column);
                let noisy = prepared.plan.number(&prepared.design, &value, &groups[month]);
                let off = (noisy.answer - truth).abs();
                missed[column][at][0] += u64::from(off > noisy.error_bar);
                missed[column][at][1] += u64::from(off > 0.9 * noisy.error_bar);
            }
        }
    }
    let least = 1e-6_f64.ln();
    for (column, of_months) in missed.into_iter().enumerate() {
        for [misses, of_shorter] in of_months {
            assert!(log_upper_tail(RUNS, misses, 0.05) > least, "{column}: {misses}");
            assert!(
                column % 2 == 1 || log_upper_tail(RUNS, RUNS - misses, 0.95) > least,
                "{column}: {misses}"
            );
            assert!(log_upper_tail(RUNS, of_shorter, 0.05) < least, "{column}: {of_shorter}");
        }
    }
}

/// Random worlds with random periods: one unit, which may be a person in a period, moves what gets noise by no more than is declared.
#[test]
fn one_unit_moves_every_period_by_no_more_than_declared() {
    let (mut checked, wanted, mut of_periods) = (0, cases(60), 0);
    for seed in 0.. {
        if checked >= wanted {
            break;
        }
        let mut dice = Dice::new(0x7065_7269 + seed);
        let world = World::random(&mut dice);
        let names = &world.names;
        let query = format!(
            "SELECT COUNT(*) AS n, SUM({}) AS s FROM {}",
            names.quoted("hours"),
            names.quoted("people")
        );
        let unit = *dice.pick(&["day", "week", "month", "quarter", "year"]);
        let request = request(&query, unit, *dice.pick(&Priority::ALL), 1e-6);
        let Ok(prepared) = request.prepare(&world.catalog()) else { continue };
        for change in [Change::Added, Change::Removed, Change::Ownerless] {
            let Some(other) = change.of(&world, &mut dice) else { continue };
            let tape = |world: &World| {
                let totals = ask(&world.tables(), &prepared.plan, &secret(seed)).unwrap();
                let stream = Entropy::seeded(1).stream(Purpose::Noise, Key::default());
                let mut rng = NoiseStream::recording(stream);
                prepared.plan.answer(&prepared.design, None, &totals, &mut rng).unwrap();
                rng.into_tape().unwrap()
            };
            let departure = tape(&world).departure(&tape(&other));
            assert_eq!(departure, None, "{seed} {change:?} {query} {unit}");
            checked += 1;
            of_periods += u64::from(world.period.is_some());
        }
    }
    assert!(of_periods > wanted / 10, "{of_periods} of {checked}");
}

/// A count of one day's rows of a person in a month has the noise of one person: a unit is in as many days as its caps say, and in one month.
#[test]
fn a_person_in_a_month_counts_in_one_month() {
    let unit = catalog("period = \"month\"\ndate = \"visited\"\ngroups_per_person = 4\nrows_per_group = 2");
    let plan = |query: &str| check(query, &unit, CapOverrides::default());
    let by_month = plan(
        "SELECT DATE_TRUNC('month', visited), COUNT(DISTINCT patient) FROM visits GROUP BY DATE_TRUNC('month', visited)",
    )
    .unwrap();
    assert_eq!(by_month.unit.name(), "person-month");
    let (tables, counts, _) = visits();
    let totals = ask(&tables, &by_month, &secret(2)).unwrap();
    let found: Vec<i64> = totals.sums.iter().map(|row| row.numbers[0]).collect();
    // A date before the first or after the last day is of no unit.
    let within: Vec<i64> = counts.iter().enumerate().map(|(at, n)| n - i64::from(at % 11 == 0)).collect();
    assert_eq!(found, within);
    // A person would be counted once for each month.
    for query in [
        "SELECT COUNT(DISTINCT patient) FROM visits",
        "SELECT YEAR(visited), COUNT(DISTINCT patient) FROM visits GROUP BY YEAR(visited)",
        "SELECT DATE_TRUNC('week', visited), COUNT(DISTINCT patient) FROM visits GROUP BY DATE_TRUNC('week', visited)",
    ] {
        assert!(refused(plan(query)).contains("would count a person once for each month"), "{query}");
    }
    let joined = "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = b.patient";
    let of_persons =
        "SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS each";
    let among = "SELECT COUNT(*) FROM visits WHERE patient IN (SELECT patient FROM visits WHERE cost > 10)";
    for query in [joined, of_persons, among] {
        assert!(refused(plan(query)).contains("where the unit is a person in a period"), "{query}");
    }
}

#[test]
fn units_that_are_no_periods_are_refused() {
    let read = |more: &str| {
        let text = format!(
            "[tables.visits]\npath = \"v.csv\"\nperson = \"id\"\n{more}\n[tables.visits.columns]\nday = {{ first = \"2025-01-01\", \
             last = \"2025-02-01\" }}\ncost = {{ lower = 0, upper = 1 }}\n"
        );
        Catalog::read(&text, Path::new(""))
    };
    assert!(read("period = \"month\"\ndate = \"day\"").is_ok());
    assert!(refused(read("period = \"month\"")).contains("only one of period and date"));
    assert!(refused(read("date = \"day\"")).contains("only one of period and date"));
    assert!(refused(read("period = \"hour\"\ndate = \"day\"")).contains("unknown period"));
    assert!(refused(read("period = \"month\"\ndate = \"cost\"")).contains("no column with first and last"));
    assert!(refused(read("period = \"month\"\ndate = \"id\"")).contains("no column with first and last"));
}

#[test]
fn queries_of_every_period_that_have_no_answer_are_refused() {
    let refusal = |query: &str, unit: &str, delta: f64| {
        refused(request(query, unit, Priority::Totals, delta).prepare(&catalog("")))
    };
    let count = "SELECT COUNT(*) FROM visits";
    assert!(refusal(count, "day", 0.0).contains("delta > 0"));
    assert!(refusal(count, "hour", 1e-6).contains("unknown unit"));
    assert!(refusal("SELECT AVG(cost) FROM visits", "day", 1e-6).contains("counts and sums only"));
    assert!(refusal("SELECT COUNT(*) FROM visits LIMIT 3", "day", 1e-6).contains("remove GROUP BY"));
    let named = QueryRequest {
        every: Some(EveryPeriod {
            unit: "day".to_owned(),
            date: Some("cost".to_owned()),
            priority: Priority::Totals,
        }),
        ..request(count, "day", Priority::Totals, 1e-6)
    };
    assert!(refused(named.prepare(&catalog(""))).contains("date column cost is not declared"));
    // A ledger tells it from the same query without periods.
    // Persons of all periods together are not a number of persons.
    let persons = prepared("SELECT COUNT(DISTINCT patient) AS n FROM visits", 3, Priority::Totals);
    let names: Vec<&str> = persons.plan.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["day", "n"]);
    assert_eq!(persons.periods().unwrap()[0].1.released.total, None);
    let plan = prepared(count, 1, Priority::Totals).plan;
    assert!(plan.query != count && plan.caps.groups == Count::ONE);
}

fn refused<T>(result: Result<T, Refusal>) -> String {
    match result {
        Ok(_) => panic!("not refused"),
        Err(refusal) => refusal.to_string(),
    }
}
