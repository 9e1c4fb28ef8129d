//! Random small worlds: people with rows, a public table, and the catalog that declares them.

use super::Dice;
use std::{collections::BTreeMap, path::Path};
use veracity_statistics::sql::Catalog;

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Number(f64),
    Text(String),
}

impl Cell {
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(x) => Some(*x),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A table with its values; the columns of the person come first.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    pub name: String,
    /// Whether a column has numbers.
    pub columns: Vec<(String, bool)>,
    pub rows: Vec<Vec<Cell>>,
}

impl Data {
    pub fn new(name: &str, columns: &[(&str, bool)], rows: Vec<Vec<Cell>>) -> Data {
        let columns = columns.iter().map(|(name, is_number)| ((*name).to_owned(), *is_number)).collect();
        Data { name: name.to_owned(), columns, rows }
    }
}

pub fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// All rows of one person.
#[derive(Debug, Clone)]
pub struct Person {
    pub people: Vec<Vec<Cell>>,
    pub visits: Vec<Vec<Cell>>,
}

/// What things are called, from what the tests call them.
#[derive(Debug, Clone)]
pub struct Names(BTreeMap<&'static str, String>);

const LOGICAL: [&str; 17] = [
    "people", "visits", "places", "id", "day", "hours", "score", "sex", "edu", "town", "cost", "ward",
    "doctor", "code", "size", "kind", "seen",
];

/// Names that break what is not quoted, or collide with what a statement calls its own parts.
const HOSTILE_NAMES: [&str; 27] = [
    "a\"; DROP TABLE x; --", "k0", "r", "g", "u0", "base", "t0", "back`tick", "c0", "q0", "kept", "ranked",
    "VERACITY_rows", "veracity_pairs", "veracity_place", "declared", "select", "order", "it's", "é", "x y",
    "count(*)", "rowid", "u1", "c1", "t1", "\\",
];

/// Texts that break what compares, joins or quotes them carelessly.
pub const HOSTILE_TEXTS: [&str; 30] = [
    "", " ", "a", "A", "a ", " a", "b", "B", "it's", "a\"b", "a\\b", "\\'", "a|b", "b|c", "|", "c", "é", "É",
    "e\u{301}", "ß", "SS", "日本", "NULL", "1", "1.0", "\u{202e}x", "a\tb", "a\nb", "%",
    "'; DROP TABLE x; --",
];

impl Names {
    pub fn plain() -> Names {
        Names(LOGICAL.iter().map(|name| (*name, (*name).to_owned())).collect())
    }

    fn hostile(dice: &mut Dice) -> Names {
        let mut pool = HOSTILE_NAMES.to_vec();
        dice.shuffle(&mut pool);
        Names(LOGICAL.iter().zip(pool).map(|(logical, name)| (*logical, name.to_owned())).collect())
    }

    /// As it is.
    pub fn of(&self, logical: &str) -> &str {
        &self.0[logical]
    }

    /// In quotes, for a query.
    pub fn quoted(&self, logical: &str) -> String {
        format!("\"{}\"", self.of(logical).replace('"', "\"\""))
    }
}

/// Everything there is.
#[derive(Debug, Clone)]
pub struct World {
    pub names: Names,
    /// How many columns say whose a row is.
    pub units: usize,
    pub bounds: BTreeMap<&'static str, (f64, f64)>,
    pub keys: BTreeMap<&'static str, Vec<String>>,
    /// The first and the last date of the column of dates.
    pub dates: (&'static str, &'static str),
    /// Where a unit is a person in a period: day, month or year, by that date.
    pub period: Option<&'static str>,
    pub caps: (u64, u64),
    /// How many rows of one person are joined, where the catalog says so.
    pub joined: Option<u64>,
    pub persons: Vec<Person>,
    /// Rows of the first table that nobody owns.
    pub ownerless: Vec<Vec<Cell>>,
    pub places: Vec<Vec<Cell>>,
}

/// Ranges with leap days, turns of the year, and before 1970.
const DATES: [(&str, &str); 4] = [
    ("2024-02-27", "2024-03-02"),
    ("2024-12-20", "2025-01-15"),
    ("1969-12-01", "1970-02-01"),
    ("1899-06-15", "2025-12-31"),
];

/// Cells of a column of dates: good ones, those outside of any range, and what is none.
const DATE_CELLS: [&str; 24] = [
    "2024-02-28", "2024-02-29", "2024-03-01", "2025-02-29", "2024-12-29", "2024-12-30", "2024-12-31",
    "2025-01-01", "2025-01-06 23:59:59", "1969-12-31T00:00", "1970-01-01", "1970-01-05", "1900-02-28",
    "1900-02-29", "0001-01-01", "9999-12-31", "0000-01-01", "2024-13-01", "2024-00-10", "2024-02-2",
    "####-##-##", "infinity", "２０２４-02-28", "2024-02-28x",
];

/// A cell that is a date, or nearly one.
fn date(dice: &mut Dice) -> String {
    match dice.below(3) {
        0 => format!(
            "{}-{:02}-{:02}",
            [2024, 2025, 1970][dice.below(3)],
            1 + dice.below(12),
            1 + dice.below(28)
        ),
        _ => (*dice.pick(&DATE_CELLS)).to_owned(),
    }
}

const NUMBERS: [&str; 4] = ["hours", "score", "cost", "size"];
const PUBLIC: [&str; 4] = ["sex", "edu", "ward", "kind"];
const PEOPLE: [&str; 6] = ["hours", "score", "sex", "edu", "town", "seen"];
const VISITS: [&str; 3] = ["cost", "ward", "doctor"];
const PLACES: [&str; 3] = ["code", "size", "kind"];

impl World {
    /// A world with hostile names half of the time, and hostile values always.
    pub fn random(dice: &mut Dice) -> World {
        let names = if dice.once_in(2) { Names::plain() } else { Names::hostile(dice) };
        let units = 1 + usize::from(dice.once_in(4));
        let mut world = World::new(names, units, dice);
        world.period = dice.once_in(3).then(|| *dice.pick(&["day", "month", "year"]));
        world
    }

    /// The same with plain names and one column for the person.
    pub fn plain(dice: &mut Dice) -> World {
        World::new(Names::plain(), 1, dice)
    }

    fn new(names: Names, units: usize, dice: &mut Dice) -> World {
        let bounds = NUMBERS.iter().map(|name| (*name, bounds(dice))).collect();
        let keys = PUBLIC.iter().map(|name| (*name, public_keys(dice))).collect();
        let caps = (1 + dice.below(3) as u64, 1 + dice.below(3) as u64);
        let dates = *dice.pick(&DATES);
        let joined = dice.once_in(2).then(|| 1 + dice.below(3) as u64);
        let mut world = World {
            names,
            units,
            bounds,
            keys,
            dates,
            period: None,
            caps,
            joined,
            persons: Vec::new(),
            ownerless: Vec::new(),
            places: Vec::new(),
        };
        for at in 0..dice.below(8) {
            let person = world.person(at, dice);
            world.persons.push(person);
        }
        for _ in 0..dice.below(3) {
            let row = world.ownerless_row(dice);
            world.ownerless.push(row);
        }
        for _ in 0..dice.below(5) {
            let row = PLACES.iter().map(|column| world.cell(column, dice)).collect();
            world.places.push(row);
        }
        world
    }

    /// The person at a place, with random rows: no two places are of one person, though their names are alike.
    pub fn person(&self, at: usize, dice: &mut Dice) -> Person {
        let id = match at % 4 {
            0 => format!("p{}", at / 4),
            1 => format!("P{}", at / 4),
            2 => format!("p{} ", at / 4),
            _ => format!("p|'{}", at / 4),
        };
        // The same day for all, so that the two columns are needed together.
        let unit = [id, "d|1".to_owned()].map(Cell::Text)[..self.units].to_vec();
        let rows = |columns: &[&'static str], most: usize, dice: &mut Dice| -> Vec<Vec<Cell>> {
            let (number, mut last) = (dice.below(most), None::<Vec<Cell>>);
            let mut all = Vec::new();
            for _ in 0..number {
                let row = match last {
                    // Rows of one person are often alike.
                    Some(ref row) if dice.once_in(3) => row.clone(),
                    _ => {
                        let cells = columns.iter().map(|column| self.cell(column, dice));
                        unit.iter().cloned().chain(cells).collect()
                    }
                };
                last = Some(row.clone());
                all.push(row);
            }
            all
        };
        Person { people: rows(&PEOPLE, 7, dice), visits: rows(&VISITS, 4, dice) }
    }

    /// A person with a row for each declared key and some more, whose numbers are at bounds, outside or none, and with partners in
    /// every table.
    pub fn adversary(&self, at: usize, dice: &mut Dice) -> Person {
        let mut person = self.person(at, dice);
        // Whose rows these are is what `person` says, also where it has none.
        let unit: Vec<Cell> = loop {
            let rows = person.people.iter().chain(&person.visits).next();
            if let Some(row) = rows {
                break row[..self.units].to_vec();
            }
            person = self.person(at, dice);
        };
        let extreme = |column: &str, dice: &mut Dice| -> Cell {
            if let Some((lower, upper)) = self.bounds.get(column) {
                return match dice.below(7) {
                    0 | 1 => Cell::Number(*lower),
                    2 | 3 => Cell::Number(*upper),
                    4 => Cell::Number(f64::MAX),
                    5 => Cell::Number(-f64::MAX),
                    _ => Cell::Null,
                };
            }
            let codes: Vec<&Cell> = self.places.iter().map(|place| &place[0]).collect();
            match (column, self.keys.get(column)) {
                ("seen", _) => {
                    Cell::Text((*dice.pick(&[self.dates.0, self.dates.1, "9999-12-31"])).to_owned())
                }
                (_, Some(keys)) => Cell::Text(dice.pick(keys).clone()),
                ("town", _) if !codes.is_empty() => (*dice.pick(&codes)).clone(),
                _ => Cell::Text((*dice.pick(&HOSTILE_TEXTS[..16])).to_owned()),
            }
        };
        let rows = |columns: &[&'static str], number: usize, dice: &mut Dice| -> Vec<Vec<Cell>> {
            let row = |dice: &mut Dice| {
                let cells: Vec<Cell> = columns.iter().map(|column| extreme(column, dice)).collect();
                unit.iter().cloned().chain(cells).collect()
            };
            (0..number).map(|_| row(dice)).collect()
        };
        Person { people: rows(&PEOPLE, 40, dice), visits: rows(&VISITS, 12, dice) }
    }

    /// A row without an owner, or with half of one.
    pub fn ownerless_row(&self, dice: &mut Dice) -> Vec<Cell> {
        let mut unit = vec![Cell::Null; self.units];
        if self.units == 2 && dice.once_in(2) {
            unit[0] = Cell::Text("p0".to_owned());
        }
        unit.into_iter().chain(PEOPLE.iter().map(|column| self.cell(column, dice))).collect()
    }

    fn cell(&self, column: &str, dice: &mut Dice) -> Cell {
        if dice.once_in(8) {
            return Cell::Null;
        }
        if let Some(bounds) = self.bounds.get(column) {
            return Cell::Number(number(*bounds, dice));
        }
        if column == "seen" {
            return Cell::Text(date(dice));
        }
        match self.keys.get(column) {
            Some(keys) if !dice.once_in(6) => Cell::Text(dice.pick(keys).clone()),
            // A few texts, so that they meet.
            _ => Cell::Text((*dice.pick(&HOSTILE_TEXTS[..16])).to_owned()),
        }
    }

    /// The period of a row of the first table, by its text alone: the first ten characters of its date, cut. Without a date
    /// from the first to the last day it never counts.
    pub fn period_of(&self, row: &[Cell]) -> Option<String> {
        let date = row[self.units + PEOPLE.iter().position(|name| *name == "seen").unwrap()].text()?;
        super::twin::julian_day(date)?;
        let date = Some(&date[..10]).filter(|date| (self.dates.0..=self.dates.1).contains(date))?;
        Some(match self.period? {
            "year" => date[..4].to_owned(),
            "month" => date[..7].to_owned(),
            _ => date.to_owned(),
        })
    }

    /// The tables: rows in the order of the people, those of nobody last.
    pub fn tables(&self) -> Vec<Data> {
        let units = ["id", "day"][..self.units].iter().map(|name| (self.names.of(name).to_owned(), false));
        let table = |name: &str, columns: &[&'static str], of_units: bool, rows: Vec<Vec<Cell>>| {
            let declared = columns
                .iter()
                .map(|column| (self.names.of(column).to_owned(), self.bounds.contains_key(column)));
            let units = units.clone().take(if of_units { self.units } else { 0 });
            Data { name: self.names.of(name).to_owned(), columns: units.chain(declared).collect(), rows }
        };
        let people = self.persons.iter().flat_map(|person| &person.people).chain(&self.ownerless);
        let visits = self.persons.iter().flat_map(|person| &person.visits);
        vec![
            table("people", &PEOPLE, true, people.cloned().collect()),
            table("visits", &VISITS, true, visits.cloned().collect()),
            table("places", &PLACES, false, self.places.clone()),
        ]
    }

    /// The catalog as it is written.
    pub fn catalog_text(&self) -> String {
        let mut text = String::new();
        for (table, columns) in [("people", &PEOPLE[..]), ("visits", &VISITS), ("places", &PLACES)] {
            let name = toml_text(self.names.of(table));
            text += &format!("[tables.{name}]\npath = \"{table}.csv\"\n");
            if table == "places" {
                text += "public = true\n";
            } else {
                let units: Vec<String> =
                    ["id", "day"][..self.units].iter().map(|unit| toml_text(self.names.of(unit))).collect();
                text += &format!("person = [{}]\n", units.join(", "));
                text += &format!("groups_per_person = {}\nrows_per_group = {}\n", self.caps.0, self.caps.1);
                if let (Some(period), "people") = (self.period, table) {
                    let date = toml_text(self.names.of("seen"));
                    text += &format!("period = \"{period}\"\ndate = {date}\n");
                }
                text += &self.joined.map_or(String::new(), |rows| format!("rows_in_joins = {rows}\n"));
            }
            text += &format!("[tables.{name}.columns]\n");
            for column in columns {
                let declared = match (self.bounds.get(column), self.keys.get(column)) {
                    (Some((lower, upper)), _) => format!("lower = {lower:?}, upper = {upper:?}"),
                    (_, Some(keys)) => {
                        let keys: Vec<String> = keys.iter().map(|key| toml_text(key)).collect();
                        format!("keys = [{}]", keys.join(", "))
                    }
                    _ if *column == "seen" => {
                        format!("first = \"{}\", last = \"{}\"", self.dates.0, self.dates.1)
                    }
                    _ => "type = \"text\"".to_owned(),
                };
                text += &format!("{} = {{ {declared} }}\n", toml_text(self.names.of(column)));
            }
        }
        text
    }

    pub fn catalog(&self) -> Catalog {
        Catalog::read(&self.catalog_text(), Path::new("")).unwrap()
    }
}

/// A text in TOML's quotes.
pub fn toml_text(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", c as u32),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn bounds(dice: &mut Dice) -> (f64, f64) {
    match dice.below(10) {
        0 => (0.0, 99.0),
        1 => (-1000.0, 1.0),
        2 => (-1.0, 1.0),
        3 => (0.0, 1e-6),
        4 => (-1e15, 1e15),
        5 => (5.0, 7.5),
        6 => (-3.0, -1.0),
        7 => (1e15 - 0.25, 1e15),
        8 => (0.1, 0.3),
        _ => {
            let lower = (dice.part() - 0.5) * 10f64.powi(dice.below(8) as i32 - 2);
            (lower, lower + 10f64.powi(dice.below(8) as i32 - 3))
        }
    }
}

/// A number in its bounds, at them, near them or far outside.
pub fn number((lower, upper): (f64, f64), dice: &mut Dice) -> f64 {
    match dice.below(16) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 | 4 => lower,
        5 | 6 => upper,
        7 => lower.next_up(),
        8 => upper.next_down(),
        9 => lower - 1.0 - lower.abs(),
        10 => *dice.pick(&[1e300, -1e300, 5e-324, -0.0, 0.0, 1.0, -1.0, f64::MAX]),
        _ => lower + (upper - lower) * dice.part(),
    }
}

fn public_keys(dice: &mut Dice) -> Vec<String> {
    let fits = |text: &&&str| text.trim() == **text && !text.is_empty();
    let mut keys: Vec<String> =
        HOSTILE_TEXTS[..20].iter().filter(fits).map(|text| (*text).to_owned()).collect();
    dice.shuffle(&mut keys);
    keys.truncate(1 + dice.below(5));
    keys
}
