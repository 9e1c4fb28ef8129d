//! Random cases whose columns have the types of servers: whole numbers, short floats, padded texts, texts that ignore case.

use super::{Cell, Data, Dice, World, query, secret, twin};
use veracity_core::Count;
use veracity_statistics::sql::{CapOverrides, Plan, Totals, check};

/// What a column is in an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Of limited length.
    Varchar,
    /// Padded with blanks, which are no part of the text.
    Char,
    /// Compared without regard to case, where nothing else is said.
    CaseIgnored,
    Double,
    /// A float of 32 bits.
    Real,
    Bigint,
    Integer,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Varchar => "varchar",
            Kind::Char => "char",
            Kind::CaseIgnored => "case-ignored",
            Kind::Double => "double",
            Kind::Real => "real",
            Kind::Bigint => "bigint",
            Kind::Integer => "integer",
        }
    }
}

/// The types of a case: one for texts, one for numbers, one for the columns of the person.
#[derive(Debug, Clone, Copy)]
pub struct Kinds {
    pub texts: Kind,
    pub numbers: Kind,
    /// Whether the person is a whole number.
    pub whole_persons: bool,
    units: usize,
}

impl Kinds {
    /// Every combination comes round.
    fn of_seed(seed: u64, units: usize) -> Kinds {
        let texts = match seed % 5 {
            0 | 1 => Kind::Text,
            2 => Kind::CaseIgnored,
            3 => Kind::Varchar,
            _ => Kind::Char,
        };
        let numbers = match seed / 5 % 6 {
            0..=2 => Kind::Double,
            3 => Kind::Real,
            4 => Kind::Bigint,
            _ => Kind::Integer,
        };
        Kinds { texts, numbers, whole_persons: seed / 30 % 4 == 3, units }
    }

    /// The type of a column.
    pub fn of(&self, table: &Data, name: &str, is_number: bool) -> Kind {
        let place = table.columns.iter().position(|(known, _)| known == name);
        // A public table has three columns, and none of a person.
        let is_person = table.columns.len() > 3 && place.is_some_and(|place| place < self.units);
        match (is_number, is_person && self.whole_persons) {
            (true, _) => self.numbers,
            (false, true) => Kind::Bigint,
            (false, false) => self.texts,
        }
    }

    /// Changes cells to what a column of its type holds.
    fn fit(&self, tables: &mut [Data]) {
        for table in tables {
            let shape = table.clone();
            for (at, (name, is_number)) in shape.columns.iter().enumerate() {
                let kind = self.of(&shape, name, *is_number);
                for row in &mut table.rows {
                    row[at] = fitted(&row[at], kind);
                }
            }
        }
    }
}

fn fitted(cell: &Cell, kind: Kind) -> Cell {
    match (cell, kind) {
        (Cell::Number(x), Kind::Real) => Cell::Number(f64::from(*x as f32)),
        (Cell::Number(x), Kind::Bigint | Kind::Integer) => {
            let most = if kind == Kind::Bigint { 9e15 } else { 2_147_483_647.0 };
            if x.is_nan() { Cell::Null } else { Cell::Number(x.clamp(-most, most).round()) }
        }
        (Cell::Text(text), Kind::Char) => Cell::Text(text.trim_end_matches(' ').to_owned()),
        // Another number for each text.
        (Cell::Text(text), Kind::Bigint) => {
            let number = text.bytes().fold(7i64, |hash, byte| hash.wrapping_mul(131) + i64::from(byte));
            Cell::Text((number - 5_000_000).to_string())
        }
        _ => cell.clone(),
    }
}

/// A query with what every engine must give.
#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u64,
    pub query: String,
    pub world: World,
    pub plan: Plan,
    pub tables: Vec<Data>,
    pub kinds: Kinds,
    pub expected: Totals,
}

impl Case {
    /// The case of a seed; none where its query is refused.
    pub fn of_seed(seed: u64) -> Option<Case> {
        let mut dice = Dice::new(seed);
        let world = World::random(&mut dice);
        let query = query(&world, &mut dice);
        let mut plan = check(&query, &world.catalog(), CapOverrides::default()).ok()?;
        let is_inner = plan.sources.iter().any(|source| source.per_unit.is_some() || source.most.is_some());
        if plan.others.is_empty() && !is_inner && seed.is_multiple_of(2) {
            plan.cut = Some(Count::new(1 + seed % 5).unwrap());
        }
        let kinds = Kinds::of_seed(seed, world.units);
        let mut tables = world.tables();
        kinds.fit(&mut tables);
        let expected = twin(&plan, &tables, &super::digits(seed));
        Some(Case { seed, query, world, plan, tables, kinds, expected })
    }
}

/// So many cases, one after the other.
pub fn cases_with_types(wanted: usize) -> impl Iterator<Item = Case> {
    (0..).filter_map(Case::of_seed).take(wanted)
}
