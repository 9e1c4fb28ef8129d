//! A query from its text to noisy rows whose claim is on disk, in one call; and what it would cost, without a look at a row.

use crate::{
    CapsWanted, Catalog, Cell, Dialect, Engine, Output, Place, Prepared, Secret, Statement, Totals, check,
    compile,
    engine::{DuckDb, Sqlite},
};
use std::path::PathBuf;
use veracity_claims::{AnswerNote, ClaimFile, Provenance, ReleaseNote};
use veracity_core::{Delta, Epsilon, Error, Refusal};
use veracity_noise::{Bits, Entropy, Key, NoiseStream, Purpose};
use veracity_query::NoiseKind;
use veracity_records::{Form, Limits};
use veracity_release::{ClaimPlace, provenance};

/// What is asked, and what it may cost.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryRequest {
    /// In SQL.
    pub query: String,
    /// The ε to keep within.
    pub epsilon: Epsilon,
    /// The δ it is for.
    pub delta: Delta,
    /// Which noise; by default the one with the smaller error.
    pub kind: Option<NoiseKind>,
    /// How much of one unit counts, where not as the catalog says.
    pub caps: CapsWanted,
}

impl QueryRequest {
    /// A query within an ε, without a δ, as the catalog has it.
    pub fn new(query: &str, epsilon: Epsilon) -> QueryRequest {
        QueryRequest {
            query: query.to_owned(),
            epsilon,
            delta: Delta::ZERO,
            kind: None,
            caps: CapsWanted::default(),
        }
    }

    /// The plan and the least noise within the budget. No data are touched.
    pub fn prepare(&self, catalog: &Catalog) -> Result<Prepared, Refusal> {
        check(&self.query, catalog, self.caps)?.prepare(self.epsilon, self.delta, self.kind)
    }
}

/// Where the claim goes and what is in it, beside what follows from the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuerySettings {
    /// A new file, or a folder in which the claim gets a name of its own [default: the current folder].
    pub claim: Option<PathBuf>,
    /// What the data are called in the claim [default: the name of the table].
    pub dataset: Option<String>,
    /// Draw from a seed, to repeat a test: the answer is then not for release.
    pub seed: Option<u64>,
}

/// Noisy rows, and all that goes with them.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryDone {
    /// The columns.
    pub outputs: Vec<Output>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// What is promised.
    pub claim: ClaimFile,
    /// Where that is written.
    pub path: PathBuf,
}

/// A query that is being asked: everything is fixed, and no row was read.
#[derive(Debug)]
pub struct Asking {
    prepared: Prepared,
    place: ClaimPlace,
    provenance: Provenance,
    claim: ClaimFile,
    entropy: Entropy,
}

impl Asking {
    /// Finds a place for the claim, and draws a secret and noise.
    pub fn begin(prepared: Prepared, settings: &QuerySettings) -> Result<Asking, Error> {
        let table = prepared.plan.sources[0].table.name.clone();
        let place = ClaimPlace::find(settings.claim.as_deref(), "query", Some(&table))?;
        let provenance = provenance(settings.dataset.as_deref().unwrap_or(&table))?;
        // An answer whose promise cannot be written down is not given.
        let claim = prepared.claim()?;
        let entropy = settings.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
        Ok(Asking { prepared, place, provenance, claim, entropy })
    }

    /// What an engine of this dialect is to be asked: the sums, then each tally.
    pub fn statements(&self, dialect: Dialect) -> Result<Vec<Statement>, Refusal> {
        compile(&self.prepared.plan, dialect, &secret(&self.entropy))
    }

    /// Asks an engine that has loaded the tables, adds noise, and writes the claim before anything is returned.
    pub fn ask(self, engine: &mut dyn Engine) -> Result<QueryDone, Error> {
        let totals = engine.totals(&self.prepared.plan, &secret(&self.entropy))?;
        self.finish(&totals)
    }

    /// Adds noise to what the engine gave, and writes the claim before anything is returned.
    pub fn finish(self, totals: &Totals) -> Result<QueryDone, Error> {
        let prepared = &self.prepared;
        let mut rng = NoiseStream::new(self.entropy.stream(Purpose::Noise, Key::default()));
        let drawn = (rng.origin(), rng.is_releasable());
        let groups = prepared.plan.answer(&prepared.design, prepared.threshold, totals, &mut rng)?;
        let rows = prepared.plan.show(groups);
        let outputs = prepared.plan.outputs.clone();
        let note = ReleaseNote::new("query", drawn, prepared.notes())
            .with_provenance(&self.provenance)
            .with_answer(None, None, answers(&outputs, &rows));
        let claim = self.claim.with_release(note);
        let path = self.place.write(&claim)?;
        Ok(QueryDone { outputs, rows, claim, path })
    }
}

/// Asks an engine that was prepared for the plan, adds noise, and writes the claim before anything is returned.
///
/// Each call spends the budget anew.
pub fn ask(
    prepared: &Prepared,
    engine: &mut dyn Engine,
    settings: &QuerySettings,
) -> Result<QueryDone, Error> {
    Asking::begin(prepared.clone(), settings)?.ask(engine)
}

/// Answers a query about the tables of a catalog, in one call: by the engine of this name, or by that of its first table.
pub fn query(
    request: &QueryRequest,
    catalog: &Catalog,
    engine: Option<&str>,
    settings: &QuerySettings,
) -> Result<QueryDone, Error> {
    let prepared = request.prepare(catalog)?;
    let mut engine = engine_for(&prepared, engine, Form::default())?;
    engine.prepare(&prepared.plan)?;
    ask(&prepared, &mut *engine, settings)
}

/// A secret of one query.
fn secret(entropy: &Entropy) -> Secret {
    let mut stream = entropy.stream(Purpose::Persons, Key::default());
    let mut bytes = [0; 32];
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&stream.bits(64).to_le_bytes());
    }
    Secret::new(bytes)
}

/// The noisy numbers, as a claim lists them.
fn answers(outputs: &[Output], rows: &[Vec<Cell>]) -> Vec<AnswerNote> {
    let mut notes = Vec::new();
    for row in rows {
        let keys: Vec<&str> = row
            .iter()
            .filter_map(|cell| match cell {
                Cell::Key(key) => Some(key.as_str()),
                Cell::Number(_) => None,
            })
            .collect();
        for (output, cell) in outputs.iter().zip(row) {
            if let Cell::Number(noisy) = cell {
                let bin = match keys.is_empty() {
                    true => output.name.clone(),
                    false => format!("{}: {}", keys.join(", "), output.name),
                };
                notes.push(AnswerNote {
                    bin: Some(bin),
                    value: noisy.answer,
                    error_bar: noisy.error_bar,
                    rank_error: None,
                });
            }
        }
    }
    notes
}

/// The engine that a plan's tables are in: by name, or else where its first table is.
pub fn engine_for(prepared: &Prepared, named: Option<&str>, form: Form) -> Result<Box<dyn Engine>, Error> {
    let place = match &prepared.plan.sources[0].table.place {
        Place::File(_) => "sqlite",
        Place::Engine { engine, .. } => engine,
    };
    match named.unwrap_or(place) {
        "sqlite" => Ok(Box::new(Sqlite::open(form, Limits::default())?)),
        "duckdb" => Ok(Box::new(DuckDb::with_form(form)?)),
        "postgres" => postgres(prepared),
        other => {
            let other: String = other.chars().filter(|c| !c.is_control()).take(40).collect();
            Err(Error::invalid(format!(
                "engine is {other}, expected sqlite, duckdb or postgres; spark is asked from Python"
            )))
        }
    }
}

#[cfg(feature = "postgres")]
fn postgres(prepared: &Prepared) -> Result<Box<dyn Engine>, Error> {
    let mut urls = prepared.plan.sources.iter().filter_map(|source| match &source.table.place {
        Place::Engine { url, .. } => url.as_deref(),
        Place::File(_) => None,
    });
    let url = urls
        .next()
        .ok_or_else(|| Error::invalid("url of the database is missing, expected it in the catalog"))?;
    if urls.any(|other| other != url) {
        return Err(Error::invalid("query joins tables of several databases, expected one"));
    }
    Ok(Box::new(crate::engine::Postgres::connect(url)?))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &Prepared) -> Result<Box<dyn Engine>, Error> {
    Err(Error::invalid(
        "this program was built without the client of postgres, expected one built with the feature postgres",
    ))
}
