//! `veracity query`: a question in SQL about people.

mod files;
mod plotting;
mod printing;

use crate::{Outcome, args::QueryArgs, charging, meaning::form_parts, text};
use files::{NoisyRows, OutFiles};
use std::path::Path;
use veracity::{
    Count, Delta, Epsilon, Error, ReleaseSettings,
    ledger::{KeptAnswer, Paid, Payer},
    printable,
    releasing::{USUAL_ROWS, noise_kind},
    saving,
    spec::Whole,
    sql::{
        CapOverrides, Catalog, EngineChoice, EveryPeriod, Priority, QueryRequest, check_query,
        query_forecast, query_paid, starting_catalog,
    },
};

/// Previews or asks. The claim is on disk before the answer is on the screen or in a file.
pub fn run(args: &QueryArgs) -> Result<Outcome, Error> {
    if let Some(data) = &args.init {
        return start(data, args.out.as_deref().unwrap_or(Path::new("catalog.toml")));
    }
    let answer = &args.answer;
    let catalog = Catalog::open(&args.catalog)?;
    let payer = charging::payer(&answer.charge, None)?;
    let prepared = request(args, payer.as_ref())?.prepare(&catalog)?;
    let engine = EngineChoice { name: args.engine.clone() };
    let settings =
        ReleaseSettings { claim: answer.claim.clone(), dataset: answer.dataset.clone(), seed: answer.seed };
    if answer.dry_run {
        let rows = count("rows", answer.rows)?.map_or(USUAL_ROWS, Count::get);
        check_query(&prepared, &engine, &settings)?;
        let forecast = payer.as_ref().map(|payer| query_forecast(&prepared, &settings, payer)).transpose()?;
        if answer.json {
            let mut object = printing::preview_json(&prepared, rows)?;
            object["ledger"] = charging::forecast_json(forecast.as_ref());
            return Outcome::done(text::json(&object)?);
        }
        let words = payer.as_ref().zip(forecast.as_ref());
        let words =
            words.map_or(String::new(), |(payer, forecast)| charging::forecast_words(forecast, payer));
        return Outcome::done(printing::preview_words(&prepared, rows, &words)?);
    }
    let files = OutFiles::new(args, &prepared.plan)?;
    let paid = query_paid(&prepared, &engine, &settings, payer.as_ref(), |done| {
        Ok(KeptAnswer { words: printing::answer_words(args, done), object: printing::answer_json(done)? })
    })?;
    let written = files.write(&prepared, || match &paid {
        Paid::New { done, .. } => Ok(NoisyRows::new(done)),
        Paid::Known { answer, .. } => NoisyRows::kept(&answer.object),
    })?;
    Outcome::done(charging::text(&paid, answer.json)? + &written)
}

/// Writes a catalog to begin with. The header of the file is read, and no row.
fn start(data: &Path, catalog: &Path) -> Result<Outcome, Error> {
    saving::must_be_new("catalog", catalog)?;
    let text = starting_catalog(data, catalog)?;
    saving::create("catalog", catalog, text.as_bytes())?;
    let places = text.lines().filter(|line| !line.starts_with('#') && line.contains("\"FILL IN\"")).count();
    Outcome::done(format!(
        "catalog written to {}; no row was read\nnext: replace each of its {places} \"FILL IN\", or delete the line of a column \
         that you do not need\n",
        clean_path(catalog)
    ))
}

fn clean_path(path: &Path) -> String {
    printable(&path.display().to_string(), usize::MAX)
}

fn request(args: &QueryArgs, payer: Option<&Payer>) -> Result<QueryRequest, Error> {
    let delta = Delta::new(args.answer.delta)?;
    Ok(QueryRequest {
        query: args.query.clone(),
        epsilon: Epsilon::new(args.answer.epsilon)?,
        delta,
        kind: noise_kind(args.answer.noise, delta, true, payer),
        caps: CapOverrides {
            groups: count("groups per person", args.groups_per_person)?,
            rows: count("rows per group", args.rows_per_group)?,
        },
        form: form_parts(&args.form)?,
        every: args.every.as_ref().map(|unit| EveryPeriod {
            unit: unit.clone(),
            date: args.date.clone(),
            priority: args.minimize.unwrap_or(Priority::Totals),
        }),
        suggest_caps: args.suggest_caps,
        count_cut: args.count_cut,
    })
}

fn count(name: &'static str, number: Option<f64>) -> Result<Option<Count>, Error> {
    Ok(number.map(|number| Whole(number).count(name)).transpose()?)
}
