//! How each engine writes the few things in which they differ.

use crate::sql::calendar::BEFORE;

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite, with the functions `veracity_sha256` (the first 60 bits), `veracity_floor`, `veracity_like` and
    /// `veracity_days`, for which the embedded engine stands.
    Sqlite,
    /// DuckDB.
    DuckDb,
    /// PostgreSQL, with `standard_conforming_strings` on.
    Postgres,
    /// Apache Spark.
    Spark,
}

/// The functions of a database of DuckDB that have the name of a built-in. It calls nothing that could be one of them.
pub(crate) const SHADOWS: &str = "SELECT mine.function_name AS name \
     FROM (SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal) AS mine \
     INNER JOIN (SELECT function_name FROM system.main.duckdb_functions() WHERE internal) AS theirs \
     ON system.main.lower(mine.function_name) = system.main.lower(theirs.function_name)";

/// When a table of a statement is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Once, and kept.
    Once,
    /// Each time that it is read.
    Each,
}

impl Times {
    /// How a table of a statement says so, after AS.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Times::Once => " MATERIALIZED",
            Times::Each => " NOT MATERIALIZED",
        }
    }
}

impl Dialect {
    /// The name of the engine.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Sqlite => "sqlite",
            Dialect::DuckDb => "duckdb",
            Dialect::Postgres => "postgres",
            Dialect::Spark => "spark",
        }
    }

    /// A name, quoted: whatever is in it, it is one name.
    pub fn identifier(self, name: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::DuckDb | Dialect::Postgres => {
                format!("\"{}\"", name.replace('"', "\"\""))
            }
            Dialect::Spark => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// A text, quoted: whatever is in it, it is one text.
    pub fn text(self, text: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::DuckDb | Dialect::Postgres => {
                format!("'{}'", text.replace('\'', "''"))
            }
            // There a backslash escapes.
            Dialect::Spark => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        }
    }

    /// A float, to the bit.
    pub(crate) fn float(self, x: f64) -> String {
        match self {
            // Its reader of decimals need not round to nearest; a quotient of integers below 2^53 and a power of two does.
            Dialect::Sqlite => exact_quotient(x),
            Dialect::DuckDb | Dialect::Spark => format!("CAST('{x:e}' AS DOUBLE)"),
            Dialect::Postgres => format!("CAST('{x:e}' AS DOUBLE PRECISION)"),
        }
    }

    /// A number that is missing; without a type some engines take it for a text.
    pub(crate) fn missing_number(self) -> String {
        let float = match self {
            Dialect::Sqlite => "REAL",
            Dialect::DuckDb | Dialect::Spark => "DOUBLE",
            Dialect::Postgres => "DOUBLE PRECISION",
        };
        format!("CAST(NULL AS {float})")
    }

    /// A column as texts, compared byte by byte.
    pub(crate) fn as_text(self, column: &str) -> String {
        match self {
            // Texts were loaded as such; a cast would hide that rows are sorted by them.
            Dialect::Sqlite => format!("{column} COLLATE BINARY"),
            // A cast keeps the collation of a column.
            Dialect::DuckDb => {
                format!("{} COLLATE \"C\"", digits_or_text(column, "'DOUBLE', 'FLOAT'", "VARCHAR"))
            }
            Dialect::Postgres => format!("CAST({column} AS TEXT) COLLATE \"C\""),
            Dialect::Spark => digits_or_text(column, "'double', 'float'", "STRING"),
        }
    }

    /// A column as floats, without those that are no numbers.
    pub(crate) fn as_float(self, column: &str) -> String {
        match self {
            // It has no NaN; what is no number was not loaded as one.
            Dialect::Sqlite => column.to_owned(),
            // All three hold that NaN is equal to itself. A text that is no number is missing, and fails nothing.
            Dialect::DuckDb | Dialect::Spark => {
                format!("NULLIF(TRY_CAST({column} AS DOUBLE), CAST('NaN' AS DOUBLE))")
            }
            Dialect::Postgres => {
                format!("NULLIF(CAST({column} AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION))")
            }
        }
    }

    /// The product of two floats below 1e31, where it may be too small for a float.
    pub(crate) fn product(self, a: &str, b: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::DuckDb | Dialect::Spark => format!("({a} * {b})"),
            // It fails on a product that is rounded to zero: up to 2^-1075, which is told from one that is larger by 2^800. Two factors
            // below 2^-540 would be too small even so, and are told by themselves. With OFFSET each factor is computed once, however
            // deep products are nested.
            Dialect::Postgres => {
                let (up, least) = (self.float(2f64.powi(400)), self.float(2f64.powi(-275)));
                let (zero, tiny) = (self.float(0.0), self.float(2f64.powi(-540)));
                format!(
                    "(SELECT CASE WHEN ABS(f.x) < {tiny} AND ABS(f.y) < {tiny} THEN {zero} \
                     WHEN ABS((f.x * {up}) * (f.y * {up})) <= {least} THEN {zero} ELSE f.x * f.y END \
                     FROM (SELECT {a} AS x, {b} AS y OFFSET 0) AS f)"
                )
            }
        }
    }

    /// The quotient of a float below 1e31 and a constant, where it may be too small for a float.
    ///
    /// PostgreSQL fails on one that is rounded to zero: up to 2^-1075. It is recognized by 2^400 times the quotient, which is rounded alike: two
    /// floats that differ do so by more than half a step of the quotient.
    pub(crate) fn quotient(self, a: &str, by: f64) -> String {
        let divisor = self.float(by);
        match self {
            Dialect::Postgres if by.abs() > 1.0 => {
                let (up, least) = (self.float(2f64.powi(400)), self.float(2f64.powi(-675)));
                let zero = self.float(0.0);
                format!(
                    "(SELECT CASE WHEN ABS((f.x * {up}) / {divisor}) <= {least} THEN {zero} ELSE f.x / {divisor} END \
                     FROM (SELECT {a} AS x OFFSET 0) AS f)"
                )
            }
            _ => format!("({a} / {divisor})"),
        }
    }

    /// The integer below a float, as a float.
    pub(crate) fn floor_float(self, x: &str) -> String {
        let float = match self {
            Dialect::Sqlite => return format!("CAST(veracity_floor({x}) AS REAL)"),
            Dialect::DuckDb | Dialect::Spark => "DOUBLE",
            Dialect::Postgres => "DOUBLE PRECISION",
        };
        format!("CAST(FLOOR({x}) AS {float})")
    }

    /// A string that was made of others, compared byte by byte.
    pub(crate) fn made_text(self, text: String) -> String {
        match self {
            Dialect::DuckDb | Dialect::Postgres => format!("({text} COLLATE \"C\")"),
            Dialect::Sqlite | Dialect::Spark => text,
        }
    }

    /// A string that is missing.
    pub(crate) fn missing_text(self) -> String {
        format!("CAST(NULL AS {})", self.text_type())
    }

    fn text_type(self) -> &'static str {
        match self {
            Dialect::Sqlite | Dialect::Postgres => "TEXT",
            Dialect::DuckDb => "VARCHAR",
            Dialect::Spark => "STRING",
        }
    }

    /// A string with the letters A to Z in another case, and no others: engines disagree on those.
    pub(crate) fn in_case(self, text: &str, is_lower: bool) -> String {
        const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        match self {
            // Its own know no others.
            Dialect::Sqlite => format!("{}({text})", if is_lower { "lower" } else { "upper" }),
            Dialect::DuckDb | Dialect::Postgres | Dialect::Spark => {
                let lower = UPPER.to_lowercase();
                let (from, to) = if is_lower { (UPPER, lower.as_str()) } else { (lower.as_str(), UPPER) };
                format!("translate({text}, '{from}', '{to}')")
            }
        }
    }

    /// A string without spaces at its ends.
    pub(crate) fn trimmed(self, text: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::DuckDb => format!("trim({text}, ' ')"),
            Dialect::Postgres => format!("btrim({text}, ' ')"),
            Dialect::Spark => format!("trim(BOTH ' ' FROM {text})"),
        }
    }

    /// Whether a string fits a pattern that has no backslash.
    pub(crate) fn fits(self, text: &str, pattern: &str) -> String {
        let pattern = self.text(pattern);
        match self {
            // Its own takes no notice of the case of letters.
            Dialect::Sqlite => format!("veracity_like({text}, {pattern})"),
            Dialect::DuckDb | Dialect::Postgres | Dialect::Spark => format!("({text} LIKE {pattern})"),
        }
    }

    /// What keeps an optimizer from writing the columns of a query out wherever they are read: those of a date are long, and read often.
    pub(crate) fn barrier(self) -> &'static str {
        match self {
            Dialect::DuckDb | Dialect::Postgres => " OFFSET 0",
            Dialect::Sqlite | Dialect::Spark => "",
        }
    }

    /// Year, month and day that a string of this name begins with, as integers, whatever the string is; the year is missing where it
    /// does not have the shape of a date.
    pub(crate) fn date_parts(self, text: &str) -> [String; 3] {
        let digit = |at: usize| format!("(ascii(substr({text}, {at}, 1)) - 48)");
        let number = |from: usize, to: usize| {
            (from + 1..=to).fold(digit(from), |number, at| format!("({number} * 10 + {})", digit(at)))
        };
        let is_shaped = format!(
            "translate(substr({text}, 1, 10), '123456789', '000000000') = '0000-00-00' \
             AND (length({text}) = 10 OR substr({text}, 11, 1) IN (' ', 'T'))"
        );
        [format!("CASE WHEN {is_shaped} THEN {} END", number(1, 4)), number(6, 7), number(9, 10)]
    }

    /// Days since 1970-01-01 of a year, a month and a day of these names, as a float; missing where there is no such day. No step of
    /// it divides with a remainder, so that it does not matter whether an engine divides integers as such.
    pub(crate) fn days_of(self, [year, month, day]: [&str; 3]) -> String {
        let is_leap = format!("({year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0))");
        let longest = format!(
            "CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} <> 2 THEN 31 WHEN {is_leap} THEN 29 ELSE 28 END"
        );
        let before: String =
            BEFORE.iter().zip(1..).map(|(days, month)| format!(" WHEN {month} THEN {days}")).collect();
        let leaps = |of: u32| format!("(({year} - 1) - ({year} - 1) % {of}) / {of}");
        let days = format!(
            "365 * ({year} - 1970) + {} - {} + {} - 477 + CASE {month}{before} END \
             + CASE WHEN {month} > 2 AND {is_leap} THEN 1 ELSE 0 END + {day} - 1",
            leaps(4),
            leaps(100),
            leaps(400)
        );
        let float = if self == Dialect::Postgres { "DOUBLE PRECISION" } else { "DOUBLE" };
        format!(
            "CASE WHEN {year} >= 1 AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND {longest} THEN CAST({days} AS {float}) END"
        )
    }

    /// The integer below a float.
    pub(crate) fn floor(self, x: &str) -> String {
        match self {
            Dialect::Sqlite => format!("veracity_floor({x})"),
            Dialect::DuckDb | Dialect::Postgres | Dialect::Spark => format!("CAST(FLOOR({x}) AS BIGINT)"),
        }
    }

    /// An integer as a text.
    pub(crate) fn digits(self, whole: &str) -> String {
        format!("CAST({whole} AS {})", self.text_type())
    }

    /// SHA-256 of a text in UTF-8, in lower-case hexadecimal digits; where its first 60 bits sort alike, those alone.
    pub(crate) fn sha256(self, text: &str) -> String {
        match self {
            Dialect::Sqlite => format!("veracity_sha256({text})"),
            Dialect::DuckDb => format!("sha256({text})"),
            Dialect::Postgres => format!("encode(sha256(convert_to({text}, 'UTF8')), 'hex')"),
            Dialect::Spark => format!("sha2({text}, 256)"),
        }
    }

    /// The first 60 bits of a hash, as an integer.
    pub(crate) fn first_bits(self, hash: &str) -> String {
        match self {
            Dialect::Sqlite => hash.to_owned(),
            Dialect::DuckDb => format!("CAST('0x' || substr({hash}, 1, 15) AS BIGINT)"),
            Dialect::Postgres => format!("CAST(CAST('x' || substr({hash}, 1, 15) AS BIT(60)) AS BIGINT)"),
            Dialect::Spark => format!("CAST(conv(substr({hash}, 1, 15), 16, 10) AS BIGINT)"),
        }
    }

    /// Whether a table of a statement can be computed once and read several times.
    pub(crate) fn keeps_tables(self) -> bool {
        self != Dialect::Spark
    }

    /// The sum of integers, exact below 2^53, that fails on none: what passes 64 bits is missing or wrong.
    pub(crate) fn total(self, whole: &str) -> String {
        match self {
            // It sums integers as such, and gives a float.
            Dialect::Sqlite => format!("TOTAL({whole})"),
            // Both sum in more than 64 bits.
            Dialect::DuckDb | Dialect::Postgres => format!("SUM({whole})"),
            Dialect::Spark => format!("try_sum({whole})"),
        }
    }

    /// A statement that fails where a function of the database stands in for a built-in, before anything is told of a row.
    ///
    /// DuckDB takes `floor`, `+` and `COUNT(*)` for a macro of that name, if the database or the session has one. PostgreSQL is set to
    /// look for functions among its own alone, and the embedded SQLite has none but ours.
    pub(crate) fn guarded(self, sql: String, keys: usize, numbers: usize) -> String {
        match self {
            Dialect::DuckDb => {
                let keys = std::iter::repeat_n("CAST(NULL AS VARCHAR)", keys);
                let nothing: Vec<&str> =
                    keys.chain(std::iter::repeat_n("CAST(NULL AS BIGINT)", numbers)).collect();
                format!(
                    "{sql} UNION ALL SELECT {} FROM (SELECT CASE WHEN EXISTS ({SHADOWS}) \
                     THEN system.main.error('a function of the database has the name of a built-in') ELSE FALSE END AS is_shadowed) \
                     AS guard WHERE is_shadowed",
                    nothing.join(", ")
                )
            }
            Dialect::Sqlite | Dialect::Postgres | Dialect::Spark => sql,
        }
    }

    /// An integer of 64 bits.
    pub(crate) fn bigint(self, x: &str) -> String {
        let whole = if self == Dialect::Sqlite { "INTEGER" } else { "BIGINT" };
        format!("CAST({x} AS {whole})")
    }
}

/// A column as texts, of whatever type it is. Programs that write a table often store integers as floats once a single cell is missing:
/// a float that is an integer is written as one, so that one row does not change the texts of all others.
fn digits_or_text(column: &str, floats: &str, text: &str) -> String {
    let (plain, number) = (format!("CAST({column} AS {text})"), format!("TRY_CAST({column} AS DOUBLE)"));
    format!(
        "(CASE WHEN typeof({column}) NOT IN ({floats}) THEN {plain} \
         WHEN {number} = FLOOR({number}) AND ABS({number}) < 9e15 THEN CAST(TRY_CAST({column} AS BIGINT) AS {text}) \
         WHEN NOT isnan({number}) THEN {plain} END)"
    )
}

/// A float as an integer times or over a power of two that is a product of integers: every step is exact.
fn exact_quotient(x: f64) -> String {
    let bits = x.abs().to_bits();
    let (field, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mut mantissa, mut power) =
        if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    if mantissa == 0 {
        return "0.0".to_owned();
    }
    let zeros = mantissa.trailing_zeros();
    mantissa >>= zeros;
    power += zeros as i32;
    let mut text = format!("{}CAST({mantissa} AS REAL)", if x < 0.0 { "-" } else { "" });
    while power != 0 {
        let step = power.clamp(-62, 62);
        let sign = if step > 0 { '*' } else { '/' };
        text += &format!("{sign}CAST({} AS REAL)", 1u64 << step.unsigned_abs());
        power -= step;
    }
    format!("({text})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_inside_of_their_quotes() {
        assert_eq!(Dialect::Postgres.identifier("a\"; DROP TABLE t; --"), "\"a\"\"; DROP TABLE t; --\"");
        assert_eq!(Dialect::Spark.identifier("a`b"), "`a``b`");
        assert_eq!(Dialect::DuckDb.text("it's"), "'it''s'");
        assert_eq!(Dialect::Spark.text("a\\' OR 1=1"), "'a\\\\\\' OR 1=1'");
    }

    /// What engines were found to differ in: a cast that keeps a collation, and one that fails on a cell; a product that fails.
    #[test]
    fn nothing_rests_on_the_collation_of_a_column_nor_fails_on_a_cell() {
        assert!(Dialect::DuckDb.as_text("x").ends_with(" COLLATE \"C\""));
        assert!(Dialect::DuckDb.as_float("x").contains("TRY_CAST(x AS DOUBLE)"));
        assert!(Dialect::Spark.as_float("x").contains("TRY_CAST(x AS DOUBLE)"));
        assert!(Dialect::Postgres.product("x", "y").contains("OFFSET 0"));
        assert_eq!(Dialect::DuckDb.product("x", "y"), "(x * y)");
    }

    #[test]
    fn floats_are_written_to_the_bit() {
        for x in [0.0, 1.0, -0.1, 1e15, 2f64.powi(-40), 0.1 + 0.2, 5e-324, f64::MAX, 1.0 / 3.0] {
            let written = Dialect::DuckDb.float(x);
            let read: f64 = written["CAST('".len()..written.find("' AS").unwrap()].parse().unwrap();
            assert_eq!(read.to_bits(), x.to_bits());
        }
        assert_eq!(Dialect::Sqlite.float(0.75), "(CAST(3 AS REAL)/CAST(4 AS REAL))");
        assert_eq!(Dialect::Sqlite.float(-6.0), "(-CAST(3 AS REAL)*CAST(2 AS REAL))");
    }
}
