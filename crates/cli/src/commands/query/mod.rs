//! `veracity query`: a question in SQL about people.

mod files;
mod plotting;
mod printing;

use crate::{
    Outcome,
    args::QueryArgs,
    charging::{self, Beginning, Charged, Printed, Purchase},
    meaning::form,
    text,
};
use files::Wanted;
use std::path::PathBuf;
use veracity::{
    Count, Delta, Epsilon, Error,
    spec::Whole,
    sql::{Asking, CapsWanted, Catalog, QueryRequest, QuerySettings, engine_for},
};

/// Rows of a group that a preview assumes where it is told none.
const USUAL_ROWS: u64 = 1000;

/// Previews or asks. The claim is on disk before the answer is on the screen or in a file.
pub fn run(args: &QueryArgs) -> Result<Outcome, Error> {
    let catalog = Catalog::open(&args.catalog)?;
    let answer = &args.answer;
    let prepared = request(args)?.prepare(&catalog)?;
    if answer.dry_run {
        let rows = count("rows", answer.rows)?.map_or(USUAL_ROWS, Count::get);
        return Outcome::done(match answer.json {
            true => text::json(&printing::preview_json(&prepared, rows)?)?,
            false => printing::preview_words(&prepared, rows)?,
        });
    }
    let wanted = Wanted::new(args, &prepared.plan)?;
    let settings =
        QuerySettings { claim: answer.claim.clone(), dataset: answer.dataset.clone(), seed: answer.seed };
    let dataset = answer.dataset.as_deref().unwrap_or(&prepared.plan.sources[0].table.name);
    let purchase = Purchase::new(&answer.charge, &prepared.subject, (dataset, &args.query))?;
    // Whoever asks again needs neither the tables nor an engine.
    let known = purchase.as_ref().map(Purchase::recall).transpose()?.flatten();
    if let Some(Charged::Known { printed, from }) = known {
        return again(args, &catalog, &wanted, &printed, &from);
    }
    let mut engine = engine_for(&prepared, args.engine.as_deref(), form(&args.form)?)?;
    // What is wrong with the tables as such, or with the place of the claim, need not cost anything; what a row decides is charged first.
    engine.check(&prepared.plan)?;
    let asking = Asking::begin(prepared.clone(), &settings)?;
    let charged = match purchase.map(|purchase| purchase.charge(Beginning::Fresh)).transpose()? {
        Some(Charged::Known { printed, from }) => return again(args, &catalog, &wanted, &printed, &from),
        charged => charged.unwrap_or(Charged::Unasked),
    };
    let done = match engine.load(&prepared.plan).and_then(|()| asking.ask(&mut *engine)) {
        Ok(done) => done,
        Err(error) => {
            charged.forgo();
            return Err(error);
        }
    };
    let printed = Printed {
        words: printing::answer_words(args, &prepared, &done),
        object: printing::answer_json(&prepared, &done)?,
        of: Some(catalog.digest().to_owned()),
    };
    charged.keep(&printed)?;
    let written = wanted.write(&printed.object)?;
    Outcome::done(printed.text(answer.json)? + &written)
}

/// An answer that was given before, under the same request id.
fn again(
    args: &QueryArgs,
    catalog: &Catalog,
    wanted: &Wanted,
    printed: &Printed,
    from: &(u64, PathBuf),
) -> Result<Outcome, Error> {
    printed.must_be_of(catalog.digest(), "catalog")?;
    let written = wanted.write(&printed.object)?;
    Outcome::done(printed.text_again(args.answer.json, from)? + &written)
}

fn request(args: &QueryArgs) -> Result<QueryRequest, Error> {
    Ok(QueryRequest {
        query: args.query.clone(),
        epsilon: Epsilon::new(args.answer.epsilon)?,
        delta: Delta::new(args.answer.delta)?,
        kind: charging::noise(&args.answer, true)?,
        caps: CapsWanted {
            groups: count("groups per person", args.groups_per_person)?,
            rows: count("rows per group", args.rows_per_group)?,
        },
    })
}

fn count(name: &'static str, number: Option<f64>) -> Result<Option<Count>, Error> {
    Ok(number.map(|number| Whole(number).count(name)).transpose()?)
}
