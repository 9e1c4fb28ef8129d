//! A query from its text to noisy rows whose claim is on disk, in one call; and what it would cost, without a look at a row.

use crate::sql::{
    CapOverrides, CapSuggestion, Catalog, Cell, CutRows, Dialect, Engine, EveryPeriod, Output, Place, Plan,
    PreparedQuery, Row, Secret, Statement, Totals,
    advice::with_advice,
    catalog::digest,
    check, compile,
    engine::{DuckDb, Sqlite},
    plan::Source,
    required_caps, sizes,
};
use crate::{ClaimPlace, ReleaseSettings, provenance};
use std::path::PathBuf;
use veracity_account::claims::{AnswerNote, ClaimFile, Provenance, ReleaseNote};
use veracity_core::printable;
use veracity_core::{Delta, Epsilon, Error, Refusal};
use veracity_ledger::{Forecast, KeptAnswer, Paid, Payer, Payment, pay};
use veracity_mechanisms::NoiseKind;
use veracity_noise::{Bits, Entropy, Key, NoiseStream, Origin, Purpose};
use veracity_tables::{FormParts, Limits};

/// The step of the noise stream that draws caps.
const CHOICE: u64 = 1;

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
    pub caps: CapOverrides,
    /// How files of text are written, where not as the catalog says.
    pub form: FormParts,
    /// Whether it is asked of every period of a date column.
    pub every: Option<EveryPeriod>,
    /// The part of ε for choosing the caps that are not given, where not as the catalog says.
    pub suggest_caps: Option<f64>,
    /// Whether rows that the caps leave out are counted.
    pub count_cut: bool,
}

impl QueryRequest {
    /// A query within an ε, without a δ, as the catalog has it.
    pub fn new(query: &str, epsilon: Epsilon) -> QueryRequest {
        QueryRequest {
            query: query.to_owned(),
            epsilon,
            delta: Delta::ZERO,
            kind: None,
            caps: CapOverrides::default(),
            form: FormParts::default(),
            every: None,
            suggest_caps: None,
            count_cut: false,
        }
    }

    /// The plan and the least noise within the budget. No data are touched.
    ///
    /// # Errors
    /// Refuses a query that is not supported, one without the caps that it needs, and a budget that no noise keeps.
    pub fn prepare(&self, catalog: &Catalog) -> Result<PreparedQuery, Refusal> {
        let plan = match &self.every {
            None => check(&self.query, catalog, self.caps),
            Some(every) => every.check(&self.query, catalog, self.caps),
        };
        let mut plan = plan.map_err(|refusal| with_advice(refusal, &self.query, catalog))?;
        if self.count_cut {
            plan.cut = Some(sizes::most_cut(&plan)?);
        }
        let missing = required_caps::missing(&plan, self.caps);
        match (self.suggest_caps, plan.suggested_part()) {
            (Some(_), _) if !missing.any() => {
                return Err(Refusal::invalid(
                    "suggest_caps has nothing to choose, because the query has all caps that it needs; remove it, or the caps",
                ));
            }
            (Some(part), _) | (None, Some(part)) if missing.any() => {
                return CapSuggestion::prepare(part, missing, self, (catalog, &plan));
            }
            _ => required_caps::must_be_given(&plan, self.caps)?,
        }
        if !self.form.is_empty() {
            for source in &mut plan.sources {
                source.table.form = self.form.over(source.table.form)?;
            }
            // An answer that a ledger kept is of one form: a file that is read in another way has other answers.
            plan.catalog = digest(&format!("{} {:?}", plan.catalog, self.form));
        }
        plan.prepare(self.epsilon, self.delta, self.kind)
    }
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
    /// How many rows the caps leave out, where they are counted.
    pub cut: Option<CutRows>,
    /// The query with the caps that it had.
    pub prepared: PreparedQuery,
}

/// A query of which everything is fixed, and no row was read.
#[derive(Debug)]
pub struct OpenQuery {
    prepared: PreparedQuery,
    place: ClaimPlace,
    provenance: Provenance,
    claim: ClaimFile,
    entropy: Entropy,
}

impl OpenQuery {
    /// Finds a place for the claim, and draws a secret and noise.
    ///
    /// # Errors
    /// Refuses a claim without a place, and one that cannot be written down.
    pub fn begin(prepared: PreparedQuery, settings: &ReleaseSettings) -> Result<OpenQuery, Error> {
        let table = prepared.plan.sources[0].table.name.clone();
        let place = ClaimPlace::find(settings.claim.as_deref(), "query", Some(&table))?;
        let provenance = provenance(settings.dataset.as_deref().unwrap_or(&table))?;
        // An answer whose promise cannot be written down is not given.
        let claim = prepared.claim()?;
        let entropy = settings.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
        Ok(OpenQuery { prepared, place, provenance, claim, entropy })
    }

    /// Goes through all that follows a charge, with a group of no rows in place of the tables: whatever would fail for the question
    /// as such fails here, and costs nothing. No row is read, and its noise is thrown away.
    ///
    /// # Errors
    /// Returns what the question would fail with.
    pub fn rehearse(&self, dialect: Dialect) -> Result<(), Error> {
        let plan = &self.prepared.plan;
        self.statements(dialect)?;
        let none = |plan: &Plan| {
            let keys = plan.keys.iter().map(|key| match &key.public {
                Some(names) => names.first().cloned().unwrap_or_default(),
                None => "any".to_owned(),
            });
            let row = Row { keys: keys.collect(), numbers: vec![0; plan.sums.len().max(1)] };
            let tallies = vec![Vec::new(); plan.tallies.len()];
            Totals { sums: vec![row], tallies, cut: plan.cut.map(|_| 0), others: Vec::new() }
        };
        let totals = Totals { others: plan.others.iter().map(none).collect(), ..none(plan) };
        let mut rng = NoiseStream::new(Entropy::seeded(0).stream(Purpose::Noise, Key::default()));
        let drawn = (rng.origin(), rng.is_releasable());
        self.written(self.prepared.answer(None, &totals, &mut rng)?, drawn).1.to_json()?;
        Ok(())
    }

    /// The statements for an engine of this dialect: the sums, then each tally.
    ///
    /// # Errors
    /// Refuses a plan that the dialect cannot write.
    pub fn statements(&self, dialect: Dialect) -> Result<Vec<Statement>, Refusal> {
        compile(&self.prepared.plan, dialect, &secret(&self.entropy), &[])
    }

    /// Asks an engine that has loaded the tables, adds noise, and writes the claim before anything is returned.
    ///
    /// # Errors
    /// Returns the error of the engine, or of the claim that cannot be written.
    pub fn ask(mut self, engine: &mut dyn Engine) -> Result<QueryDone, Error> {
        if let Some(suggestion) = &self.prepared.suggestion {
            let sizes = engine.sizes(&self.prepared.plan)?;
            let key = Key { step: CHOICE, ..Key::default() };
            let mut rng = NoiseStream::new(self.entropy.stream(Purpose::Noise, key));
            self.prepared = suggestion.choose(&self.prepared, &sizes, &mut rng)?;
            self.claim = self.prepared.claim()?;
            // What is read of a table may rest on the caps.
            engine.load(&self.prepared.plan)?;
        }
        let totals = engine.totals(&self.prepared.plan, &secret(&self.entropy))?;
        self.finish(&totals)
    }

    /// The same of the rows of each statement, in their order.
    ///
    /// # Errors
    /// Refuses the rows of other statements, and a claim that cannot be written.
    pub fn finish_statements(self, statements: Vec<Vec<Row>>) -> Result<QueryDone, Error> {
        let totals = Totals::of(&self.prepared.plan, statements)?;
        self.finish(&totals)
    }

    /// Adds noise to what the engine gave, and writes the claim before anything is returned.
    ///
    /// # Errors
    /// Refuses totals that are not those of the plan, and a claim that cannot be written.
    pub fn finish(self, totals: &Totals) -> Result<QueryDone, Error> {
        let prepared = &self.prepared;
        if prepared.suggestion.is_some() {
            return Err(Error::invalid(
                "suggest_caps needs an engine of its own, because it asks twice; set rows_per_group and groups_per_person",
            ));
        }
        let mut rng = NoiseStream::new(self.entropy.stream(Purpose::Noise, Key::default()));
        let drawn = (rng.origin(), rng.is_releasable());
        let (rows, claim) = self.written(prepared.answer(prepared.threshold, totals, &mut rng)?, drawn);
        let cut = prepared.count_cut(totals, &mut rng)?;
        let path = self.place.write(&claim)?;
        let outputs = prepared.plan.outputs.clone();
        Ok(QueryDone { outputs, rows, claim, path, cut, prepared: self.prepared })
    }

    /// Noisy rows, and the claim that goes with them.
    fn written(&self, rows: Vec<Vec<Cell>>, drawn: (Origin, bool)) -> (Vec<Vec<Cell>>, ClaimFile) {
        let note = ReleaseNote::new("query", drawn, self.prepared.notes())
            .with_provenance(&self.provenance)
            .with_answer(None, None, answers(&self.prepared.plan.outputs, &rows));
        (rows, self.claim.clone().with_release(note))
    }
}

/// Asks an engine that was prepared for the plan, adds noise, and writes the claim before anything is returned.
///
/// Each call spends the budget again.
///
/// # Errors
/// Returns the error of the engine, or of the claim that cannot be written.
pub fn ask(
    prepared: &PreparedQuery,
    engine: &mut dyn Engine,
    settings: &ReleaseSettings,
) -> Result<QueryDone, Error> {
    OpenQuery::begin(prepared.clone(), settings)?.ask(engine)
}

/// Which engine answers, and how its files are written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EngineChoice {
    /// The engine of this name [default: that of the first table].
    pub name: Option<String>,
}

/// A query and its engine, of which everything is checked that needs no charge: the tables, the question and the place of the claim. No
/// row was read.
pub struct ReadyQuery {
    engine: Box<dyn Engine>,
    asking: OpenQuery,
}

impl ReadyQuery {
    /// Checks all of it.
    ///
    /// # Errors
    ///
    /// Refuses tables, columns and engines that are not there, a query that cannot be answered, and a claim without a place.
    pub fn new(
        prepared: &PreparedQuery,
        engine: &EngineChoice,
        settings: &ReleaseSettings,
    ) -> Result<ReadyQuery, Error> {
        let mut engine = engine_for(prepared, engine.name.as_deref())?;
        engine.check(&prepared.plan)?;
        let asking = OpenQuery::begin(prepared.clone(), settings)?;
        asking.rehearse(engine.dialect())?;
        Ok(ReadyQuery { engine, asking })
    }

    /// Loads the tables, asks, adds noise and writes the claim.
    ///
    /// # Errors
    ///
    /// Returns the error of the engine, or of the claim that cannot be written.
    pub fn answer(mut self) -> Result<QueryDone, Error> {
        self.engine.load(&self.asking.prepared.plan)?;
        self.asking.ask(&mut *self.engine)
    }
}

/// Refuses all that [`query_paid`] refuses before a charge. No row is read, and nothing is written.
///
/// # Errors
///
/// Refuses tables, columns and engines that are not there, a query that cannot be answered, and a claim without a place.
pub fn check_query(
    prepared: &PreparedQuery,
    engine: &EngineChoice,
    settings: &ReleaseSettings,
) -> Result<(), Error> {
    // A folder that would be made is not made for a preview.
    let claim = settings.claim.clone();
    let claim =
        claim.filter(|path| !path.to_string_lossy().ends_with(std::path::is_separator) || path.exists());
    ReadyQuery::new(prepared, engine, &ReleaseSettings { claim, ..settings.clone() }).map(drop)
}

/// Answers a query that is prepared, paid by a ledger where one is given, and printed by `print`, whose text the ledger keeps.
///
/// An answer that was kept for another catalog is refused; one that is known needs neither the tables nor an engine. The engine, its
/// tables, the question and the place of the claim are checked before the charge, and rows are read after it.
///
/// # Errors
///
/// The errors of [`query`], of the ledger and of `print`.
pub fn query_paid(
    prepared: &PreparedQuery,
    engine: &EngineChoice,
    settings: &ReleaseSettings,
    payer: Option<&Payer>,
    print: impl FnOnce(&QueryDone) -> Result<KeptAnswer, Error>,
) -> Result<Paid<QueryDone>, Error> {
    let payment = payer.map(|payer| payment_for(payer, prepared, settings)).transpose()?;
    let is_charged = payment.is_some();
    let check = || {
        let ready = ReadyQuery::new(prepared, engine, settings)?;
        if is_charged {
            ready.asking.place.must_have_room()?;
        }
        Ok(ready)
    };
    pay(payment, check, |ready| {
        let done = ready.answer()?;
        let answer = print(&done)?;
        Ok((done, answer))
    })
}

/// What a query would cost the ledger that pays for it. Nothing is charged, and no row is read.
///
/// # Errors
///
/// Refuses what the ledger would refuse.
pub fn query_forecast(
    prepared: &PreparedQuery,
    settings: &ReleaseSettings,
    payer: &Payer,
) -> Result<Forecast, Error> {
    payment_for(payer, prepared, settings)?.forecast()
}

/// The request of a query to a ledger.
fn payment_for(
    payer: &Payer,
    prepared: &PreparedQuery,
    settings: &ReleaseSettings,
) -> Result<Payment, Error> {
    let plan = &prepared.plan;
    let dataset = settings.dataset.as_deref().unwrap_or(&plan.sources[0].table.name);
    // A kept answer is of these caps and periods: the same query with others is another question.
    let most = |source: &Source| {
        let inner = source.per_unit.as_ref().map(|per_unit| per_unit.rows.most);
        (source.most, inner)
    };
    let caps: Vec<_> = plan.sources.iter().map(most).collect();
    // One grouping is written as one, several as a list.
    let groupings: Vec<_> = plan.groupings().map(|plan| plan.caps).collect();
    let period = plan.every.and_then(|_| plan.keys.first()).map(|key| &key.text);
    let choice = prepared.suggestion.as_ref().map(|suggestion| (suggestion.epsilon, suggestion.left));
    let more = (plan.cut, choice);
    let asked =
        digest(&format!("{} {:?} {caps:?} {:?} {period:?} {more:?}", plan.catalog, groupings, plan.every));
    Ok(payer.payment(&prepared.subject, Some(dataset), &plan.query)?.of(&asked, "catalog, cap or period"))
}

/// Answers a query about the tables of a catalog, in one call: by the engine of this name, or by that of its first table.
///
/// # Errors
///
/// Refuses a query that is not supported or has no noise for its budget, tables that are not as the catalog says, and a claim without a
/// place.
pub fn query(
    request: &QueryRequest,
    catalog: &Catalog,
    engine: Option<&str>,
    settings: &ReleaseSettings,
) -> Result<QueryDone, Error> {
    let engine = EngineChoice { name: engine.map(str::to_owned) };
    ReadyQuery::new(&request.prepare(catalog)?, &engine, settings)?.answer()
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

/// The noisy numbers, as a claim lists them. One that is undefined is no answer.
fn answers(outputs: &[Output], rows: &[Vec<Cell>]) -> Vec<AnswerNote> {
    let note = |keys: &[&str], (output, cell): (&Output, &Cell)| {
        let Cell::Number(noisy) = cell else { return None };
        if !noisy.is_defined() {
            return None;
        }
        let bin = match keys.is_empty() {
            true => output.name.clone(),
            false => format!("{}: {}", keys.join(", "), output.name),
        };
        Some(AnswerNote { bin: Some(bin), value: noisy.answer, error_bar: noisy.error_bar, rank_error: None })
    };
    let of_row = |row: &Vec<Cell>| {
        let keys: Vec<&str> = row.iter().filter_map(Cell::key).collect();
        outputs.iter().zip(row).filter_map(|one| note(&keys, one)).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_row).collect()
}

/// The engine that a plan's tables are in: by name, or else where its first table is.
///
/// # Errors
/// Refuses an engine that is unknown or cannot be reached.
pub fn engine_for(prepared: &PreparedQuery, named: Option<&str>) -> Result<Box<dyn Engine>, Error> {
    let place = match &prepared.plan.sources[0].table.place {
        Place::File(_) => "sqlite",
        Place::Engine { engine, .. } => engine,
    };
    match named.unwrap_or(place) {
        "sqlite" => Ok(Box::new(Sqlite::open(Limits::default())?)),
        "duckdb" => Ok(Box::new(DuckDb::new())),
        "postgres" => postgres(prepared),
        other => {
            let other = printable(other, 40);
            Err(Error::invalid(format!(
                "engine is {other}, expected sqlite, duckdb or postgres (for spark use the Python package)"
            )))
        }
    }
}

#[cfg(feature = "postgres")]
fn postgres(prepared: &PreparedQuery) -> Result<Box<dyn Engine>, Error> {
    let mut urls = prepared.plan.sources.iter().filter_map(|source| match &source.table.place {
        Place::Engine { url, .. } => url.as_deref(),
        Place::File(_) => None,
    });
    let url =
        urls.next().ok_or_else(|| Error::invalid("the catalog has no url for the database; add one"))?;
    if urls.any(|other| other != url) {
        return Err(Error::invalid("query joins tables from several databases; use one"));
    }
    Ok(Box::new(crate::sql::engine::Postgres::connect(url)?))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &PreparedQuery) -> Result<Box<dyn Engine>, Error> {
    Err(Error::invalid("this build has no PostgreSQL client; build with the feature postgres"))
}
