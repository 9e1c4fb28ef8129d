//! Random small worlds: people with rows, a public table, and the catalog that declares them.

use super::Dice;
use std::{collections::BTreeMap, path::Path};
use veracity_sql::Catalog;

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

/// All rows of one person.
#[derive(Debug, Clone)]
pub struct Person {
    pub people: Vec<Vec<Cell>>,
    pub visits: Vec<Vec<Cell>>,
}

/// What things are called, from what the tests call them.
#[derive(Debug, Clone)]
pub struct Names(BTreeMap<&'static str, String>);

const LOGICAL: [&str; 16] = [
    "people", "visits", "places", "id", "day", "hours", "score", "sex", "edu", "town", "cost", "ward",
    "doctor", "code", "size", "kind",
];

/// Names that break what is not quoted, or collide with what a statement calls its own parts.
const HOSTILE_NAMES: [&str; 27] = [
    "a\"; DROP TABLE x; --",
    "k0",
    "r",
    "g",
    "u0",
    "base",
    "t0",
    "back`tick",
    "c0",
    "q0",
    "kept",
    "ranked",
    "VERACITY_rows",
    "veracity_pairs",
    "veracity_place",
    "declared",
    "select",
    "order",
    "it's",
    "é",
    "x y",
    "count(*)",
    "rowid",
    "u1",
    "c1",
    "t1",
    "\\",
];

/// Texts that break what compares, joins or quotes them carelessly.
pub const HOSTILE_TEXTS: [&str; 30] = [
    "",
    " ",
    "a",
    "A",
    "a ",
    " a",
    "b",
    "B",
    "it's",
    "a\"b",
    "a\\b",
    "\\'",
    "a|b",
    "b|c",
    "|",
    "c",
    "é",
    "É",
    "e\u{301}",
    "ß",
    "SS",
    "日本",
    "NULL",
    "1",
    "1.0",
    "\u{202e}x",
    "a\tb",
    "a\nb",
    "%",
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
    pub caps: (u64, u64),
    /// How many rows of one person are joined, where the catalog says so.
    pub joined: Option<u64>,
    pub persons: Vec<Person>,
    /// Rows of the first table that nobody owns.
    pub ownerless: Vec<Vec<Cell>>,
    pub places: Vec<Vec<Cell>>,
}

const NUMBERS: [&str; 4] = ["hours", "score", "cost", "size"];
const PUBLIC: [&str; 4] = ["sex", "edu", "ward", "kind"];
const PEOPLE: [&str; 5] = ["hours", "score", "sex", "edu", "town"];
const VISITS: [&str; 3] = ["cost", "ward", "doctor"];
const PLACES: [&str; 3] = ["code", "size", "kind"];

impl World {
    /// A world with hostile names half of the time, and hostile values always.
    pub fn random(dice: &mut Dice) -> World {
        let names = if dice.once_in(2) { Names::plain() } else { Names::hostile(dice) };
        let units = 1 + usize::from(dice.once_in(4));
        World::new(names, units, dice)
    }

    /// The same with plain names and one column for the person.
    pub fn plain(dice: &mut Dice) -> World {
        World::new(Names::plain(), 1, dice)
    }

    fn new(names: Names, units: usize, dice: &mut Dice) -> World {
        let bounds = NUMBERS.iter().map(|name| (*name, bounds(dice))).collect();
        let keys = PUBLIC.iter().map(|name| (*name, public_keys(dice))).collect();
        let caps = (1 + dice.below(3) as u64, 1 + dice.below(3) as u64);
        let joined = dice.once_in(2).then(|| 1 + dice.below(3) as u64);
        let mut world = World {
            names,
            units,
            bounds,
            keys,
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
        match self.keys.get(column) {
            Some(keys) if !dice.once_in(6) => Cell::Text(dice.pick(keys).clone()),
            // A few texts, so that they meet.
            _ => Cell::Text((*dice.pick(&HOSTILE_TEXTS[..16])).to_owned()),
        }
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
