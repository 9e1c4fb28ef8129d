//! `veracity query`: a question in SQL about people.

mod files;
mod plotting;
mod printing;

use crate::{
    Outcome,
    args::QueryArgs,
    charging::{self, Beginning, Charged, Printed},
    meaning::form,
    text,
};
use files::Wanted;
use veracity::{
    Count, Delta, Epsilon, Error,
    spec::Whole,
    sql::{CapsWanted, Catalog, QueryRequest, QuerySettings, ask, engine_for},
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
    let mut engine = engine_for(&prepared, args.engine.as_deref(), form(&args.form)?)?;
    // What is wrong with the tables as such need not cost anything; what a row decides is charged first.
    engine.check(&prepared.plan)?;
    let dataset = answer.dataset.as_deref().unwrap_or(&prepared.plan.sources[0].table.name);
    let what = (dataset, args.query.as_str());
    let charged = match charging::charge(&answer.charge, &prepared.subject, what, Beginning::Fresh)? {
        Charged::Known { printed, from } => {
            printed.must_be_of(catalog.digest(), "catalog")?;
            let written = wanted.write(&printed.object)?;
            return Outcome::done(printed.text_again(answer.json, &from)? + &written);
        }
        charged => charged,
    };
    let done = match engine.load(&prepared.plan).and_then(|()| ask(&prepared, &mut *engine, &settings)) {
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
