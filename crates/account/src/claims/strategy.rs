//! Strategy matrices for correlated noise: read from a file, or computed and compared.

use crate::claims::{
    Count, Error, Refusal,
    spec::{StrategySpec, Whole},
};
use crate::matrix::{
    errors::{self, PrefixErrors},
    optimal,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
pub use veracity_core::Strategy;
use veracity_core::files::read_text_within;
use veracity_core::printable;
use veracity_core::{Coefficients, TriangularMatrix};

pub use crate::matrix::{StrategySensitivity, band, optimal::Aim, sensitivity};

/// The schema of a strategy in a file of its own.
const KEPT: &str = "veracity.strategy-file/1";

/// The longest strategy file that is read: 2048 rows with all their digits.
const LONGEST_FILE: u64 = 64 << 20;

/// A strategy from a file: rows of numbers, a line each, or JSON as in a plan or as bare rows. Rows may be whole, with zeros
/// after the diagonal, or end there.
///
/// # Errors
/// Fails where the file cannot be read, and refuses what is no strategy.
pub fn read(path: &Path) -> Result<Strategy, Error> {
    let text = read_text_within("strategy", path, LONGEST_FILE)?;
    let json = |error: serde_json::Error| {
        Refusal::Invalid(format!(
            "strategy line {}: not a strategy as JSON ({})",
            error.line(),
            plain(&error)
        ))
    };
    match text.trim_start().as_bytes().first() {
        Some(b'{') => Ok(Strategy::try_from(&named(&text).map_err(json)?)?),
        Some(b'[') => Ok(triangular(serde_json::from_str(&text).map_err(json)?)?),
        _ => Ok(triangular(rows(&text)?)?),
    }
}

/// A strategy as JSON. Where it has a schema that is [`KEPT`]; earlier versions wrote none, nor do people.
fn named(text: &str) -> Result<StrategySpec, serde_json::Error> {
    #[derive(Deserialize)]
    struct Named {
        schema: Option<String>,
    }
    let wrong = |schema: &str| {
        let shown: String = schema.chars().take(60).collect();
        serde::de::Error::custom(format!("schema is {shown}, expected {KEPT}"))
    };
    match serde_json::from_str::<Named>(text)?.schema {
        None => serde_json::from_str(text),
        Some(schema) if schema == KEPT => {
            let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)?;
            fields.remove("schema");
            StrategySpec::deserialize(serde_json::Value::Object(fields))
        }
        Some(other) => Err(wrong(&other)),
    }
}

/// What a JSON parser says, without the place, which is said before.
fn plain(error: &serde_json::Error) -> String {
    let told = error.to_string();
    let cut = told.rfind(" at line ").unwrap_or(told.len());
    printable(&told[..cut], 160)
}

/// Lines of numbers between commas, semicolons or blanks.
fn rows(text: &str) -> Result<Vec<Vec<f64>>, Refusal> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let words = line.split([',', ';', ' ', '\t', '\r']).filter(|word| !word.is_empty());
            words.map(str::parse).collect::<Result<Vec<f64>, _>>().map_err(|_| {
                Refusal::Invalid(format!(
                    "strategy line {}: contains something other than numbers",
                    number + 1
                ))
            })
        })
        .collect()
}

/// Cuts whole rows at the diagonal, after which there is nothing but zeros.
fn triangular(mut rows: Vec<Vec<f64>>) -> Result<Strategy, Refusal> {
    let steps = rows.len();
    if steps > 1 && rows.iter().all(|row| row.len() == steps) {
        for (t, row) in rows.iter_mut().enumerate() {
            if row[t + 1..].iter().any(|x| *x != 0.0) {
                return Err(Refusal::Invalid(format!(
                    "strategy row {} has numbers to the right of the diagonal; give a lower-triangular matrix",
                    t + 1
                )));
            }
            row.truncate(t + 1);
        }
    }
    TriangularMatrix::new(rows).map(Strategy::Written)
}

/// The best Toeplitz band of a width.
///
/// # Errors
/// As [`optimal::banded`].
pub fn optimal(steps: Count, bands: Count, aim: Aim) -> Result<Strategy, Refusal> {
    Ok(Strategy::Banded { steps, coefficients: optimal::banded(steps, bands, aim)? })
}

/// The square root of the running sums, cut off after so many bands.
///
/// # Errors
/// Refuses more bands than steps, or than a strategy may have.
pub fn square_root(steps: Count, bands: Count) -> Result<Strategy, Refusal> {
    if bands > steps {
        return Err(Refusal::out_of_range("bands", bands.get(), "at most as many bands as steps"));
    }
    Ok(Strategy::Banded { steps, coefficients: errors::square_root(bands)? })
}

/// A strategy among those that it is compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrategyRow {
    /// Which.
    pub strategy: String,
    /// The mean variance of a running sum.
    pub mean_error: f64,
    /// The largest.
    pub largest_error: f64,
}

/// A strategy in a file of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeptStrategy {
    schema: &'static str,
    #[serde(flatten)]
    strategy: StrategySpec,
}

/// An optimal band, and what the usual strategies leave of error beside it. Errors are variances of running sums, for one
/// participation and noise as large as the sensitivity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrategyFile {
    schema: &'static str,
    /// Steps in all.
    pub steps: Whole,
    /// What was made small: `mean` or `largest`.
    pub aim: &'static str,
    /// The band, scaled to columns of norm 1.
    pub coefficients: Vec<f64>,
    /// The band first, then the others.
    pub errors: Vec<StrategyRow>,
    /// The mean error that no strategy goes below.
    pub least_mean_error: f64,
}

/// Finds the best band and lines it up with the others.
///
/// # Errors
/// As [`optimal()`], and refuses more steps than errors are summed for.
pub fn compare(steps: Count, bands: Count, aim: Aim) -> Result<StrategyFile, Refusal> {
    let best = optimal::banded(steps, bands, aim)?;
    let row = |strategy: String, errors: PrefixErrors| StrategyRow {
        strategy,
        mean_error: errors.mean,
        largest_error: errors.largest,
    };
    let banded = |band: &Coefficients| errors::banded(band, steps);
    let mut all = vec![row(format!("optimal, {}", of(bands)), banded(&best)?)];
    all.push(row(format!("square root, {}", of(bands)), banded(&errors::square_root(bands)?)?));
    if bands < steps
        && let Ok(whole) = errors::square_root(steps)
    {
        all.push(row("square root, all bands".into(), banded(&whole)?));
    }
    all.push(row("tree".into(), errors::tree(steps)));
    all.push(row("independent noise".into(), errors::independent(steps)));
    Ok(StrategyFile {
        schema: "veracity.strategy/1",
        steps: steps.into(),
        aim: match aim {
            Aim::Mean => "mean",
            Aim::Largest => "largest",
        },
        coefficients: best.get().to_vec(),
        errors: all,
        least_mean_error: errors::least_mean(steps)?,
    })
}

fn of(bands: Count) -> String {
    match bands.get() {
        1 => "1 band".into(),
        many => format!("{many} bands"),
    }
}

impl StrategyFile {
    /// The strategy alone, as `--strategy` reads it.
    pub fn kept(&self) -> KeptStrategy {
        let strategy = StrategySpec::Banded { steps: self.steps, coefficients: self.coefficients.clone() };
        KeptStrategy { schema: KEPT, strategy }
    }
}
