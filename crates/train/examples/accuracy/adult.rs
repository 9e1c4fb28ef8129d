//! Census income (UCI Adult): public categories become indicators; numbers are cut at declared, round places, and also kept,
//! scaled by declared bounds. Nothing is learnt from the records.

use super::{Fallible, Raw};
use std::{fs, path::Path};
use veracity_train::Shape;

/// A column: its place, and what becomes of it.
enum Column {
    /// An indicator for each category; an unknown one has none.
    Categories(usize, &'static [&'static str]),
    /// Value over bound, at most 1, and an indicator for the interval between cuts.
    Number(usize, f32, &'static [f32]),
}

const COLUMNS: [Column; 12] = [
    Column::Number(0, 90.0, &[20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0]),
    Column::Categories(
        1,
        &[
            "Private",
            "Self-emp-not-inc",
            "Self-emp-inc",
            "Federal-gov",
            "Local-gov",
            "State-gov",
            "Without-pay",
            "Never-worked",
        ],
    ),
    Column::Number(4, 16.0, &[5.0, 7.0, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15.5]),
    Column::Categories(
        5,
        &[
            "Married-civ-spouse",
            "Divorced",
            "Never-married",
            "Separated",
            "Widowed",
            "Married-spouse-absent",
            "Married-AF-spouse",
        ],
    ),
    Column::Categories(
        6,
        &[
            "Tech-support",
            "Craft-repair",
            "Other-service",
            "Sales",
            "Exec-managerial",
            "Prof-specialty",
            "Handlers-cleaners",
            "Machine-op-inspct",
            "Adm-clerical",
            "Farming-fishing",
            "Transport-moving",
            "Priv-house-serv",
            "Protective-serv",
            "Armed-Forces",
        ],
    ),
    Column::Categories(7, &["Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"]),
    Column::Categories(8, &["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]),
    Column::Categories(9, &["Female", "Male"]),
    Column::Number(10, 100_000.0, &[1.0, 2_500.0, 5_000.0, 7_500.0, 10_000.0]),
    Column::Number(11, 5_000.0, &[1.0, 500.0, 1_000.0, 1_500.0, 2_000.0, 2_500.0]),
    Column::Number(12, 100.0, &[20.0, 30.0, 39.5, 40.5, 45.5, 50.5, 60.5]),
    Column::Categories(13, &["United-States"]),
];

/// Both files of a folder; the last 6,561 training records are held out.
pub fn read(folder: &Path) -> Fallible<Raw> {
    let (mut features, mut labels, mut training) = (Vec::new(), Vec::new(), 0);
    for name in ["adult.data", "adult.test"] {
        let text = fs::read_to_string(folder.join(name))?;
        for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != 15 {
                return Err("a line does not have 15 cells".into());
            }
            COLUMNS.iter().for_each(|column| column.write(&cells, &mut features));
            labels.push(u32::from(cells[14].starts_with('>')));
        }
        if name == "adult.data" {
            training = labels.len();
        }
    }
    let width = features.len() / labels.len();
    Ok(Raw { features, labels, shape: Shape::Flat(width), classes: 2, training, holdout: 6_561 })
}

impl Column {
    fn write(&self, cells: &[&str], features: &mut Vec<f32>) {
        let indicator = |is: bool| f32::from(u8::from(is));
        match self {
            Column::Categories(at, names) => {
                features.extend(names.iter().map(|name| indicator(cells[*at] == *name)));
            }
            Column::Number(at, bound, cuts) => {
                let value: f32 = cells[*at].parse().unwrap_or(0.0);
                features.push((value / bound).clamp(0.0, 1.0));
                let interval = cuts.iter().filter(|cut| value >= **cut).count();
                features.extend((0..=cuts.len()).map(|other| indicator(other == interval)));
            }
        }
    }
}
