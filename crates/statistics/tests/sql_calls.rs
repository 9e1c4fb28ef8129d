//! Which noise calls a query pays for: one for all statistics of a column.

use crate::common::{Dice, World};
use veracity_core::{Count, Delta, Epsilon};
use veracity_mechanisms::NoiseKind;
use veracity_statistics::sql::{CapOverrides, Catalog, NoiseCall, PreparedQuery, check};

fn catalog() -> Catalog {
    World::plain(&mut Dice::new(3)).catalog()
}

fn caps(rows: u64) -> CapOverrides {
    CapOverrides { groups: Some(Count::ONE), rows: Some(Count::new(rows).unwrap()) }
}

fn name(call: &NoiseCall) -> &'static str {
    match call {
        NoiseCall::Rows => "rows",
        NoiseCall::Units => "units",
        NoiseCall::Present(_) => "present",
        NoiseCall::Sum(_) => "sum",
        NoiseCall::Distances { with_missing: false, .. } => "distances",
        NoiseCall::Distances { with_missing: true, .. } => "distances and missing",
        NoiseCall::Squares { with_missing: false, .. } => "squares",
        NoiseCall::Squares { with_missing: true, .. } => "squares and missing",
        NoiseCall::Moments(..) => "moments",
        NoiseCall::Quantile { .. } => "quantile",
    }
}

#[test]
fn statistics_of_one_column_are_one_call() {
    let catalog = catalog();
    for (rows, query, expected) in [
        (2, "SELECT COUNT(*) FROM people", "rows"),
        (2, "SELECT SUM(hours) FROM people", "sum"),
        (2, "SELECT COUNT(hours) FROM people", "present"),
        (2, "SELECT AVG(hours), COUNT(hours), SUM(hours) FROM people", "distances"),
        (2, "SELECT SUM(hours), COUNT(hours) FROM people", "distances"),
        (2, "SELECT AVG(hours), STDDEV(hours), VARIANCE(hours), VAR_SAMP(hours) FROM people", "squares"),
        (2, "SELECT COUNT(*), AVG(hours) FROM people", "distances and missing"),
        (2, "SELECT COUNT(*), SUM(hours), COUNT(hours) FROM people", "distances and missing"),
        (
            2,
            "SELECT COUNT(*) n, AVG(hours), SUM(hours), COUNT(hours), VARIANCE(hours) FROM people",
            "squares and missing",
        ),
        // A missing number of a sum is 0.
        (2, "SELECT COUNT(*), SUM(hours) FROM people", "distances"),
        (2, "SELECT SUM(hours) / COUNT(*) FROM people", "distances"),
        (2, "SELECT SUM(hours) / COUNT(*), SUM(hours), COUNT(*) FROM people", "distances"),
        (
            2,
            "SELECT 100 * SUM(CASE WHEN hours > 4 THEN 1 ELSE 0 END) / COUNT(*), COUNT(*) FROM people",
            "distances",
        ),
        // Rows share the call with the fewest sums.
        (2, "SELECT COUNT(*), VARIANCE(hours), SUM(score) FROM people", "distances, squares"),
        (2, "SELECT COUNT(*), AVG(hours), AVG(COALESCE(score, 0)) FROM people", "distances, distances"),
        // Rows are units.
        (1, "SELECT COUNT(*), COUNT(DISTINCT id) FROM people", "units"),
        (2, "SELECT COUNT(*), COUNT(DISTINCT id) FROM people", "rows, units"),
        (1, "SELECT town, COUNT(*) FROM people GROUP BY town", "units"),
        (2, "SELECT town, COUNT(*) FROM people GROUP BY town", "rows, units"),
        (1, "SELECT town, COUNT(*), AVG(hours) FROM people GROUP BY town", "units, distances"),
        // Two columns.
        (
            2,
            "SELECT CORR(hours, score), REGR_SLOPE(hours, score), COVAR_SAMP(hours, score) FROM people",
            "moments",
        ),
        (
            2,
            "SELECT MEDIAN(hours), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY hours) FROM people",
            "quantile",
        ),
        // What is filtered by is paid once.
        (
            2,
            "SELECT AVG(hours) m FROM people HAVING COUNT(hours) > 3 AND SUM(hours) / COUNT(hours) < 9",
            "distances",
        ),
    ] {
        let query = query.replace("MEDIAN(hours), ", "MEDIAN(hours) a, ");
        let plan = check(&query, &catalog, caps(rows)).unwrap_or_else(|refusal| panic!("{query}: {refusal}"));
        let found: Vec<&str> = plan.calls.iter().map(name).collect();
        assert_eq!(found.join(", "), expected, "{query}");
    }
}

fn prepared(query: &str, kind: NoiseKind) -> PreparedQuery {
    let plan = check(query, &catalog(), caps(2)).unwrap();
    plan.prepare(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap(), Some(kind)).unwrap()
}

/// The expected error bar of the first column.
fn bar(query: &str, kind: NoiseKind) -> f64 {
    let prepared = prepared(query, kind);
    prepared.expected_error(&prepared.columns()[0], 1000)
}

/// A mean has the same bar with a count beside it, and no statistic of a call is worse than in a query with two calls.
#[test]
fn a_call_that_is_shared_costs_nothing_and_its_bars_are_shorter_than_those_of_two_calls() {
    for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
        let alone = bar("SELECT AVG(hours) FROM people", kind);
        for more in ["COUNT(hours)", "SUM(hours), COUNT(hours)", "COUNT(*)"] {
            let shared = bar(&format!("SELECT AVG(hours), {more} FROM people"), kind);
            assert!((shared / alone - 1.0).abs() < 0.03, "{kind:?} {more}: {shared} {alone}");
        }
        // The other call is one of the same kind, of another column.
        for (first, second, other) in [
            ("COUNT(hours)", "AVG(hours)", "AVG(score)"),
            ("SUM(hours)", "COUNT(hours)", "COUNT(score)"),
            ("AVG(hours)", "STDDEV(hours)", "STDDEV(score)"),
            ("STDDEV(hours)", "AVG(hours)", "AVG(score)"),
        ] {
            let shared = bar(&format!("SELECT {first}, {second} FROM people"), kind);
            let apart = bar(&format!("SELECT {first}, {other} FROM people"), kind);
            println!("{kind:?} {first} beside {second}: {shared}, in two calls {apart}");
            assert!(shared <= 1.05 * apart, "{kind:?} {first} {second}: {shared} {apart}");
        }
    }
}
