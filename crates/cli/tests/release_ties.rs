//! Quantiles of tied values and edges of bins on the real binary: what a person wrote in a table is what comes back.

use crate::door::{answer, json, room};
use serde_json::Value;
use std::fs;

/// `release STAT …` on a column of 1000 equal cells.
fn release(name: &str, statistic: &str, cell: &str, flags: &str) -> Value {
    let room = room(name);
    let (file, claim) = (room.join("people.csv"), room.join("claim.json"));
    fs::write(&file, "x\n".to_owned() + &format!("{cell}\n").repeat(1000)).unwrap();
    let (file, claim) = (file.display(), claim.display());
    json(&answer(&format!("release {statistic} {file} --column x {flags} --claim {claim} --json")))
}

/// Ages, prices, a grade, a temperature: 1000 people agree, and ε = 10. Another answer than theirs has a chance below e^−1000.
#[test]
fn a_quantile_of_equal_values_is_that_value() {
    for (cell, bounds) in [
        ("37", "--lower 0 --upper 100"),
        ("19.99", "--lower 0 --upper 100"),
        ("19.99", "--lower 0 --upper 999.99"),
        ("-12.5", "--lower -40 --upper 60"),
        ("4.7", "--lower 1 --upper 6"),
        ("0", "--lower 0 --upper 1e6"),
        ("123456", "--lower 0 --upper 1e6"),
    ] {
        for rank in ["0.1", "0.5", "0.9"] {
            let found = release("ties", "quantile", cell, &format!("{bounds} --rank {rank} --epsilon 10"));
            assert_eq!(found["answer"].as_f64(), cell.parse().ok(), "{cell} {bounds} {rank}");
            let bar = found["error_bar"].as_f64().unwrap();
            // Half a step of the grid, in which the cell may have been rounded.
            assert!([0.00005, 0.0005, 0.0000025, 0.5].contains(&bar), "{cell} {bounds} {rank}: ± {bar}");
            assert!(found["rank_error"].as_f64().unwrap() < 10.0);
            assert!(found["epsilon"]["upper"].as_f64().unwrap() <= 10.0);
        }
    }
}

/// ε = 20 on counts: they are off by more than 5 with a chance below e^−100.
#[test]
fn a_value_on_an_edge_is_in_the_bin_that_begins_there() {
    for (cell, flags, bin) in [
        ("7", "--lower 0 --upper 100 --bins 100", "[7, 8)"),
        ("0.3", "--lower 0 --upper 1 --bins 10", "[0.3, 0.4)"),
        ("0.29999999999999999", "--lower 0 --upper 1 --bins 10", "[0.3, 0.4)"),
        ("0.2999999999999999", "--lower 0 --upper 1 --bins 10", "[0.2, 0.3)"),
        ("1.1", "--lower 0.1 --upper 2.1 --bins 20", "[1.1, 1.2)"),
        ("100", "--lower 0 --upper 100 --bins 100", "[99, 100]"),
        ("-0.7", "--lower -1 --upper 0 --bins 10", "[-0.7, -0.6)"),
    ] {
        let found = release("edges", "histogram", cell, &format!("{flags} --epsilon 20"));
        let cells = found["cells"].as_array().unwrap();
        let full: Vec<&Value> = cells
            .iter()
            .filter(|cell| cell["answer"].as_f64().unwrap() > 500.0)
            .map(|cell| &cell["bin"])
            .collect();
        assert_eq!(full, [bin], "{cell} {flags}");
    }
}
