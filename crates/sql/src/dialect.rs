//! How each engine writes the few things in which they differ.

/// A dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite, with the functions `veracity_sha256` (the first 60 bits) and `veracity_floor`.
    Sqlite,
    /// DuckDB.
    DuckDb,
    /// PostgreSQL, with `standard_conforming_strings` on.
    Postgres,
    /// Apache Spark.
    Spark,
}

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

    /// The whole number below a float.
    pub(crate) fn floor(self, x: &str) -> String {
        match self {
            Dialect::Sqlite => format!("veracity_floor({x})"),
            Dialect::DuckDb | Dialect::Postgres | Dialect::Spark => format!("CAST(FLOOR({x}) AS BIGINT)"),
        }
    }

    /// A whole number as a text.
    pub(crate) fn digits(self, whole: &str) -> String {
        let text = match self {
            Dialect::Sqlite | Dialect::Postgres => "TEXT",
            Dialect::DuckDb => "VARCHAR",
            Dialect::Spark => "STRING",
        };
        format!("CAST({whole} AS {text})")
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

    /// The first 60 bits of a hash, as a whole number.
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

    /// The sum of whole numbers, exact below 2^53, that fails on none: what passes 64 bits is missing or wrong.
    pub(crate) fn total(self, whole: &str) -> String {
        match self {
            // It sums integers as such, and gives a float.
            Dialect::Sqlite => format!("TOTAL({whole})"),
            // Both sum in more than 64 bits.
            Dialect::DuckDb | Dialect::Postgres => format!("SUM({whole})"),
            Dialect::Spark => format!("try_sum({whole})"),
        }
    }

    /// A whole number of 64 bits.
    pub(crate) fn bigint(self, x: &str) -> String {
        let whole = if self == Dialect::Sqlite { "INTEGER" } else { "BIGINT" };
        format!("CAST({x} AS {whole})")
    }
}

/// A column as texts, of whatever type it is. Programs that write a table often store whole numbers as floats once a single cell is missing:
/// a float that is a whole number is written as one, so that one row does not change the texts of all others.
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
