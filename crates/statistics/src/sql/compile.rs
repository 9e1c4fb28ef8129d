//! A bounded plan in the dialect of an engine: one statement for all sums, and one for each tally.
//!
//! A statement says, from the inside out: the declared columns of each table, clamped, and where private tables are joined so many rows
//! of each unit (`joined.rs`); the rows that count, with their unit, keys and integers; which of them are within the caps
//! (`bound.rs`, `one_pass.rs`); sums over those.

use crate::sql::{
    Column, Dialect, Extreme, Grid, JoinKind, Operator, Plan, Predicate, Scalar, TextScalar,
    plan::{Input, Source},
    scalar::ColumnRef,
};
use veracity_core::Refusal;

/// What an engine is asked: keys first, then integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// In its dialect.
    pub sql: String,
    /// How many columns are keys.
    pub keys: usize,
    /// How many are integers.
    pub numbers: usize,
    /// Whether it is the one of the sums, which without keys has exactly one row.
    pub is_of_sums: bool,
}

/// What an engine answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The group.
    pub keys: Vec<String>,
    /// Its integers.
    pub numbers: Vec<i64>,
}

/// The secret of one query: which rows of a person count is drawn by it.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// From 32 random bytes: six bits of each of the first 22, which are 132 bits.
    ///
    /// So short that the secret, a person, a group and a number are often one block of SHA-256.
    pub fn new(bytes: [u8; 32]) -> Secret {
        const DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
        Secret(bytes[..22].iter().map(|byte| char::from(DIGITS[usize::from(byte & 63)])).collect())
    }

    /// Its digits, for an engine.
    pub(crate) fn digits(&self) -> &str {
        &self.0
    }

    /// The separator between the parts of a text that is hashed: a bar, and secret digits.
    pub(crate) fn bar(&self) -> String {
        format!("|{}", &self.0[..4])
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The statements of a plan: for each grouping that of its sums, then one for each tally; last that of the rows
/// that the caps leave out, where they are counted.
///
/// `whole_units` says which columns of the unit hold integers in every table that has them; it is empty where that is not known. An
/// engine compares integers as they are, which is quicker than to write each as a text first, and distinguishes the same units.
///
/// # Errors
/// Refuses a plan that the dialect cannot write.
pub fn compile(
    plan: &Plan,
    dialect: Dialect,
    secret: &Secret,
    whole_units: &[bool],
) -> Result<Vec<Statement>, Refusal> {
    let keeps = dialect.keeps_tables();
    let mut statements = Vec::new();
    for plan in plan.groupings() {
        let compiler = Compiler { plan, dialect, secret, whole_units };
        statements.push(if keeps { compiler.sums()? } else { compiler.sums_in_one_pass()? });
        for input in &plan.tallies {
            statements.push(if keeps {
                compiler.tally(*input)?
            } else {
                compiler.tally_in_one_pass(*input)?
            });
        }
    }
    if let Some(most) = plan.cut {
        statements.push(Compiler { plan, dialect, secret, whole_units }.cut(most.get())?);
    }
    for statement in &mut statements {
        let sql = std::mem::take(&mut statement.sql);
        statement.sql = dialect.guarded(sql, statement.keys, statement.numbers);
    }
    Ok(statements)
}

/// The statements of the sizes of units, before any cap: a place on the list of caps and how many units have it, by rows, then by groups.
///
/// # Errors
/// Refuses a plan that the dialect cannot write.
pub fn compile_sizes(plan: &Plan, dialect: Dialect, whole_units: &[bool]) -> Result<Vec<Statement>, Refusal> {
    // Nothing is hashed.
    let secret = Secret::new([0; 32]);
    Compiler { plan, dialect, secret: &secret, whole_units }.sizes()
}

/// A plan on its way to the dialect of an engine.
pub(crate) struct Compiler<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) dialect: Dialect,
    pub(crate) secret: &'a Secret,
    pub(crate) whole_units: &'a [bool],
}

impl Compiler<'_> {
    /// The rows that count, before any cap: unit, keys, integers.
    pub(crate) fn base(&self) -> Result<String, Refusal> {
        let plan = self.plan;
        let mut columns: Vec<String> =
            (0..plan.sources[0].unit.len()).map(|at| format!("t0.u{at} AS u{at}")).collect();
        let mut filters: Vec<String> =
            (0..plan.sources[0].unit.len()).map(|at| format!("t0.u{at} IS NOT NULL")).collect();
        if let Some(period) = &plan.period {
            let period = self.text(period);
            columns.push(format!("{period} AS u{}", plan.sources[0].unit.len()));
            filters.push(is_null(&period, true));
        }
        for (place, key) in plan.keys.iter().enumerate() {
            let column = self.text(&key.text);
            columns.push(format!("{column} AS k{place}"));
            filters.push(match &key.public {
                None => format!("{column} IS NOT NULL"),
                Some(names) => self.one_of(&column, names, false),
            });
        }
        for (place, input) in plan.inputs.iter().enumerate() {
            columns.push(format!("{} AS q{place}", self.whole(input)));
        }
        if let Some(filter) = &plan.filter {
            filters.push(self.predicate(filter));
        }
        let mut from = String::new();
        for (place, source) in plan.sources.iter().enumerate() {
            let view = match (&source.per_unit, source.most) {
                (Some(per_unit), _) => {
                    let rows = self.one_of_each_unit(source, per_unit, place);
                    format!("SELECT {} FROM ({rows}) AS computed", self.clamped(source).join(", "))
                }
                (None, None) => self.view(source),
                (None, Some(most)) => self.few_of_each_unit(source, place, most),
            };
            let view = format!("({view}) AS t{place}");
            match &source.join {
                None => from += &view,
                Some((kind, on)) => {
                    let join = match kind {
                        JoinKind::Inner => "INNER JOIN",
                        JoinKind::Left => "LEFT JOIN",
                    };
                    from += &format!(" {join} {view} ON {}", self.predicate(on));
                }
            }
        }
        Ok(format!("SELECT {} FROM {from} WHERE {}", columns.join(", "), filters.join(" AND ")))
    }

    /// Whether a column of the unit holds integers.
    pub(crate) fn is_whole_unit(&self, at: usize) -> bool {
        self.whole_units.get(at).copied().unwrap_or(false)
    }

    /// The declared columns of a table: texts as texts, numbers clamped.
    pub(crate) fn view(&self, source: &Source) -> String {
        let dialect = self.dialect;
        let table = source.table.name_in(dialect);
        // From the outside in: clamped; with the days of dates; with the parts of dates; as the engine has it.
        let outer = self.clamped(source);
        let (mut dated, mut split, mut inner) = (Vec::new(), Vec::new(), Vec::new());
        for (at, unit) in source.unit.iter().enumerate() {
            dated.push(format!("u{at}"));
            split.push(format!("u{at}"));
            let column = dialect.identifier(unit);
            let compared = if self.is_whole_unit(at) { column } else { dialect.as_text(&column) };
            inner.push(format!("{compared} AS u{at}"));
        }
        let mut has_parts = false;
        for (at, (name, declared)) in source.columns.iter().enumerate() {
            let (column, cell) = (dialect.identifier(name), format!("c{at}"));
            let read = match declared {
                Column::Number(_) => dialect.as_float(&column),
                Column::Date(..) if dialect == Dialect::Sqlite => format!("veracity_days({column})"),
                Column::Text(_) | Column::Date(..) => dialect.as_text(&column),
            };
            inner.push(format!("{read} AS {cell}"));
            if matches!(declared, Column::Date(..)) && dialect != Dialect::Sqlite {
                has_parts = true;
                let names = ["y", "m", "d"].map(|part| format!("{part}{at}"));
                let parts = dialect.date_parts(&cell);
                split.extend(parts.iter().zip(&names).map(|(part, name)| format!("{part} AS {name}")));
                dated.push(format!("{} AS {cell}", dialect.days_of(names.each_ref().map(String::as_str))));
            } else {
                dated.push(cell.clone());
                split.push(cell);
            }
        }
        let declared = format!("(SELECT {} FROM {table}) AS declared", inner.join(", "));
        if !has_parts {
            return format!("SELECT {} FROM {declared}", outer.join(", "));
        }
        let barrier = dialect.barrier();
        format!(
            "SELECT {} FROM (SELECT {} FROM (SELECT {} FROM {declared}{barrier}) AS split{barrier}) AS dated{barrier}",
            outer.join(", "),
            dated.join(", "),
            split.join(", ")
        )
    }

    /// The columns of a source, numbers clamped.
    fn clamped(&self, source: &Source) -> Vec<String> {
        let units = (0..source.unit.len()).map(|at| format!("u{at}"));
        let columns = source.columns.iter().enumerate().map(|(at, (name, declared))| {
            let cell = format!("c{at}");
            let Some((lower, upper)) = declared.range() else { return cell };
            let (lower, upper) = (self.dialect.float(lower), self.dialect.float(upper));
            if source.is_date_of_unit(name) {
                return format!("CASE WHEN {cell} >= {lower} AND {cell} <= {upper} THEN {cell} END AS {cell}");
            }
            format!("CASE WHEN {cell} < {lower} THEN {lower} WHEN {cell} > {upper} THEN {upper} ELSE {cell} END AS {cell}")
        });
        units.chain(columns).collect()
    }

    pub(crate) fn whole(&self, input: &Input) -> String {
        self.on_grid(&self.scalar(&input.scalar), &input.grid)
    }

    /// The integer of a number on a grid.
    pub(crate) fn on_grid(&self, x: &str, grid: &Grid) -> String {
        let (offset, scale) = (self.dialect.float(grid.offset), self.dialect.float(grid.scale()));
        let steps = match grid.exponent < 0 {
            true => self.dialect.product(&format!("({x} - {offset})"), &scale),
            false => format!("({x} - {offset}) * {scale}"),
        };
        self.dialect.floor(&format!("{steps} + {}", self.dialect.float(0.5)))
    }

    pub(crate) fn scalar(&self, scalar: &Scalar) -> String {
        match scalar {
            Scalar::Column(at) => column(*at),
            Scalar::Constant(x) => self.dialect.float(*x),
            Scalar::Null => self.dialect.missing_number(),
            Scalar::Negated(inner) => format!("(-{})", self.scalar(inner)),
            Scalar::Absolute(inner) => format!("ABS({})", self.scalar(inner)),
            Scalar::Floor(inner) => self.dialect.floor_float(&self.scalar(inner)),
            Scalar::Extreme(extreme, left, right) => {
                let (a, b) = (self.scalar(left), self.scalar(right));
                // Where one is missing, neither holds.
                let (is_left, is_right) = match extreme {
                    Extreme::Least => ("<=", ">"),
                    Extreme::Greatest => (">=", "<"),
                };
                format!("(CASE WHEN {a} {is_left} {b} THEN {a} WHEN {a} {is_right} {b} THEN {b} END)")
            }
            Scalar::Arithmetic(Operator::Divide, left, right) => {
                let by = if let Scalar::Constant(by) = **right { by } else { f64::NAN };
                self.dialect.quotient(&self.scalar(left), by)
            }
            Scalar::Arithmetic(operator, left, right) => {
                let sign = match operator {
                    Operator::Add => "+",
                    Operator::Subtract => "-",
                    Operator::Multiply => "*",
                    Operator::Divide => "/",
                };
                let (a, b) = (self.scalar(left), self.scalar(right));
                if *operator == Operator::Multiply && may_vanish(left) && may_vanish(right) {
                    return self.dialect.product(&a, &b);
                }
                format!("({a} {sign} {b})")
            }
            Scalar::Coalesce(all) => {
                let all: Vec<String> = all.iter().map(|one| self.scalar(one)).collect();
                // One argument is not enough for some.
                format!("COALESCE({}, {})", all.join(", "), self.dialect.missing_number())
            }
            Scalar::Case(branches, otherwise) => {
                let branches: String = branches
                    .iter()
                    .map(|(condition, result)| {
                        format!(" WHEN {} THEN {}", self.predicate(condition), self.scalar(result))
                    })
                    .collect();
                let otherwise = otherwise
                    .as_ref()
                    .map_or_else(|| self.dialect.missing_number(), |other| self.scalar(other));
                format!("(CASE{branches} ELSE {otherwise} END)")
            }
        }
    }

    fn text(&self, text: &TextScalar) -> String {
        let plain = self.plain_text(text);
        match text {
            TextScalar::Column(_) | TextScalar::Constant(_) | TextScalar::Null => plain,
            _ => self.dialect.made_text(plain),
        }
    }

    /// The same, of which it is not said how it is compared.
    fn plain_text(&self, text: &TextScalar) -> String {
        let dialect = self.dialect;
        match text {
            TextScalar::Column(at) => column(*at),
            TextScalar::Constant(text) => dialect.text(text),
            TextScalar::Null => dialect.missing_text(),
            TextScalar::Digits(scalar) => dialect.digits(&dialect.floor(&self.scalar(scalar))),
            TextScalar::Lower(inner) => dialect.in_case(&self.plain_text(inner), true),
            TextScalar::Upper(inner) => dialect.in_case(&self.plain_text(inner), false),
            TextScalar::Trimmed(inner) => dialect.trimmed(&self.plain_text(inner)),
            TextScalar::Case(branches, otherwise) => {
                let branches: String = branches
                    .iter()
                    .map(|(condition, result)| {
                        format!(" WHEN {} THEN {}", self.predicate(condition), self.plain_text(result))
                    })
                    .collect();
                let otherwise =
                    otherwise.as_ref().map_or_else(|| dialect.missing_text(), |other| self.plain_text(other));
                format!("(CASE{branches} ELSE {otherwise} END)")
            }
        }
    }

    pub(crate) fn predicate(&self, predicate: &Predicate) -> String {
        let all = |parts: &[Predicate], word: &str| {
            bracketed(parts.iter().map(|part| self.predicate(part)).collect(), word)
        };
        match predicate {
            Predicate::Constant(true) => "(1 = 1)".to_owned(),
            Predicate::Constant(false) => "(1 = 0)".to_owned(),
            Predicate::Numbers(comparison, left, right) => {
                format!("({} {} {})", self.scalar(left), comparison.sign(), self.scalar(right))
            }
            Predicate::Texts { differ, left, right } => {
                let sign = if *differ { "<>" } else { "=" };
                format!("({} {sign} {})", self.text(left), self.text(right))
            }
            Predicate::In { text, texts, negated } => self.one_of(&self.text(text), texts, *negated),
            Predicate::Like(text, pattern) => self.dialect.fits(&self.text(text), pattern),
            Predicate::NumberMissing(scalar, negated) => is_null(&self.scalar(scalar), *negated),
            Predicate::TextMissing(text, negated) => is_null(&self.text(text), *negated),
            Predicate::SameUnit(table, at) => format!("(t0.u{at} = t{table}.u{at})"),
            Predicate::Not(inner) => format!("(NOT {})", self.predicate(inner)),
            Predicate::And(parts) => all(parts, " AND "),
            Predicate::Or(parts) => all(parts, " OR "),
        }
    }

    fn one_of(&self, column: &str, texts: &[String], negated: bool) -> String {
        let texts: Vec<String> = texts.iter().map(|text| self.dialect.text(text)).collect();
        format!("({column} {}IN ({}))", if negated { "NOT " } else { "" }, texts.join(", "))
    }
}

/// Whether a product with it may be too small for a float where neither factor is zero.
fn may_vanish(scalar: &Scalar) -> bool {
    !matches!(scalar, Scalar::Constant(x) if *x == 0.0 || x.abs() >= 1.0)
}

fn column(at: ColumnRef) -> String {
    format!("t{}.c{}", at.table, at.column)
}

/// Parts with a word between them. Engines limit how deep an expression is, and read a long row of AND or OR as a deep one.
fn bracketed(parts: Vec<String>, word: &str) -> String {
    const IN_A_ROW: usize = 16;
    if parts.len() <= IN_A_ROW {
        return format!("({})", parts.join(word));
    }
    let bundles = parts.chunks(IN_A_ROW).map(|bundle| bracketed(bundle.to_vec(), word));
    bracketed(bundles.collect(), word)
}

fn is_null(what: &str, negated: bool) -> String {
    format!("({what} IS {}NULL)", if negated { "NOT " } else { "" })
}
