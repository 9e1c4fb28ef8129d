//! `veracity release`: one private statistic of a column.

use crate::{
    Outcome,
    args::{
        ReleaseArgs,
        choice::{ErrorBarWord, StatisticWord},
    },
    charging,
    commands::replay,
    console::Console,
    meaning::{clean, form},
    text::{self, ERROR_DIGITS},
};
use serde_json::{Value, json};
use veracity::{
    Count, Delta, Epsilon, Error, Persons, PrivacyUnit, ReleaseDone, ReleaseRequest, ReleaseSettings,
    Significance, Table, decimal, large_delta_warning,
    ledger::{KeptAnswer, Paid, Payer},
    preview,
    query::{Bins, Bounds, Cell, ErrorBar, Question, Rank, Statistic},
    reading::Notation,
    releasing::{PreparedRelease, USUAL_ROWS, noise_kind, prepare, release_forecast, release_paid},
    replaying,
    spec::Whole,
    words::table::align,
};

/// The significance of tests of a replayed release's noise: the default of an audit.
const REPLAY_SIGNIFICANCE: f64 = 0.01;

/// Previews or releases. The claim is on disk before the answer is on the screen.
pub fn run(args: &ReleaseArgs, console: Console) -> Result<Outcome, Error> {
    let payer = charging::payer(&args.answer.charge, Some(title(args)))?;
    let request = request(args, payer.as_ref())?;
    let table = Table { path: args.file.clone(), form: form(&args.form)? };
    if args.answer.dry_run {
        let prepared = preview(&request, &table)?;
        // Only a number of rows that was given is public.
        let given = args.answer.rows.map(|rows| Whole(rows).count("rows")).transpose()?;
        if let Some(warning) = given.and_then(|rows| large_delta_warning(request.delta, rows)) {
            console.remark(&format!("warning: {warning}"));
        }
        let rows = given.map_or(USUAL_ROWS, Count::get);
        let forecast = |payer| release_forecast(&request, &table, &settings(args), payer);
        let forecast = payer.as_ref().map(forecast).transpose()?;
        if args.answer.json {
            let mut object = preview_json(args, &prepared, rows)?;
            object["ledger"] = charging::forecast_json(forecast.as_ref());
            return Outcome::done(text::json(&object)?);
        }
        let words = payer.as_ref().zip(forecast.as_ref());
        let words =
            words.map_or(String::new(), |(payer, forecast)| charging::forecast_words(forecast, payer));
        return Outcome::done(preview_words(args, &prepared, rows, &words));
    }
    if args.replay {
        let design = prepare(&request)?.design;
        let replays = replaying::release(
            &design,
            &table.column(&request)?,
            args.answer.seed.unwrap_or(1),
            Significance::new(REPLAY_SIGNIFICANCE)?,
        )?;
        return replay::show(&replays, args.answer.json);
    }
    let paid = release_paid(&request, &table, &settings(args), payer.as_ref(), |done| {
        Ok(KeptAnswer { words: release_words(args, done), object: release_json(args, done)? })
    })?;
    if let Paid::New { done, .. } = &paid
        && let Some(warning) = done.public_rows.and_then(|rows| large_delta_warning(request.delta, rows))
    {
        console.remark(&format!("warning: {warning}"));
    }
    Outcome::done(charging::text(&paid, args.answer.json)?)
}

fn settings(args: &ReleaseArgs) -> ReleaseSettings {
    ReleaseSettings {
        claim: args.answer.claim.clone(),
        dataset: args.answer.dataset.clone(),
        seed: args.answer.seed,
    }
}

fn request(args: &ReleaseArgs, payer: Option<&Payer>) -> Result<ReleaseRequest, Error> {
    let statistic = statistic(args)?;
    if args.column.is_none() && statistic != Statistic::Count {
        return Err(missing("--column", statistic.name()));
    }
    let is_added = !matches!(statistic, Statistic::Quantile { .. });
    let delta = Delta::new(args.answer.delta)?;
    Ok(ReleaseRequest {
        question: Question { statistic, adjacency: args.adjacency },
        column: args.column.clone(),
        unit: args.unit.as_deref().map(PrivacyUnit::new).transpose()?,
        persons: persons(args)?,
        epsilon: Epsilon::new(args.answer.epsilon)?,
        delta,
        kind: noise_kind(args.answer.noise, delta, is_added, payer),
    })
}

fn persons(args: &ReleaseArgs) -> Result<Option<Persons>, Error> {
    let rows = args.rows_per_person.map_or(Ok(Count::ONE), |rows| Whole(rows).count("rows per person"))?;
    Ok(args.person.as_deref().map(|column| Persons::new(column, rows)).transpose()?)
}

/// The statistic that the flags describe. A flag that it would ignore is a misunderstanding, and is refused.
fn statistic(args: &ReleaseArgs) -> Result<Statistic, Error> {
    let name = args.statistic.name();
    let bounds = || match (args.lower, args.upper) {
        (Some(lower), Some(upper)) => Ok(Bounds::new(lower, upper)?),
        (None, _) => Err(missing("--lower", name)),
        (_, None) => Err(missing("--upper", name)),
    };
    let read: &[&str] = match args.statistic {
        StatisticWord::Count => &[],
        StatisticWord::Sum | StatisticWord::Mean | StatisticWord::Variance => &["--lower", "--upper"],
        StatisticWord::Median => &["--lower", "--upper", "--error-bar"],
        StatisticWord::Quantile => &["--lower", "--upper", "--rank", "--error-bar"],
        StatisticWord::Histogram if args.categories.is_some() => &["--categories"],
        StatisticWord::Histogram => &["--lower", "--upper", "--bins"],
    };
    let given = [
        ("--lower", args.lower.is_some()),
        ("--upper", args.upper.is_some()),
        ("--rank", args.rank.is_some()),
        ("--error-bar", args.error_bar.is_some()),
        ("--bins", args.bins.is_some()),
        ("--categories", args.categories.is_some()),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(flag, given)| *given && !read.contains(flag)) {
        return Err(Error::invalid(format!("{flag} cannot be used with {name}")));
    }
    Ok(match args.statistic {
        StatisticWord::Count => Statistic::Count,
        StatisticWord::Sum => Statistic::Sum(bounds()?),
        StatisticWord::Mean => Statistic::Mean(bounds()?),
        StatisticWord::Variance => Statistic::Variance(bounds()?),
        StatisticWord::Quantile | StatisticWord::Median => Statistic::Quantile {
            bounds: bounds()?,
            rank: Rank::from_fraction(args.rank.unwrap_or(0.5))?,
            steps: Rank::STEPS,
            bar: match args.error_bar {
                None | Some(ErrorBarWord::Pair) => ErrorBar::Pair,
                Some(ErrorBarWord::Charged) => ErrorBar::Charged,
            },
        },
        StatisticWord::Histogram => Statistic::Histogram(match &args.categories {
            Some(names) => Bins::Categories(names.iter().map(|name| name.trim().to_owned()).collect()),
            None => {
                let bins = Whole(args.bins.ok_or_else(|| missing("--bins or --categories", name))?);
                let bins = u32::try_from(bins.count("bins")?.get())
                    .map_err(|_| Error::out_of_range("bins", bins.0, "1 to 10^6 bins"))?;
                Bins::Numeric { bounds: bounds()?, bins }
            }
        }),
    })
}

fn missing(flag: &str, statistic: &str) -> Error {
    Error::invalid(format!("{statistic} needs {flag}; nothing was released"))
}

fn title(args: &ReleaseArgs) -> String {
    match &args.column {
        Some(column) => format!("{} of {}", args.statistic.name(), clean(column)),
        None => args.statistic.name().to_owned(),
    }
}

/// An answer to the decimal place at which its error bar ends. A count has no decimals.
pub fn shown(value: f64, error_bar: f64) -> String {
    let decimals = match error_bar {
        _ if value.fract() == 0.0 && value.abs() < 1e15 => 0,
        1e-6..1e15 => {
            let last = error_bar.log10().floor() as i32 - (ERROR_DIGITS as i32 - 1);
            usize::try_from(-last).unwrap_or(0).min(17)
        }
        _ => return decimal::nearest(value, 6),
    };
    let text = format!("{value:.decimals$}");
    // What rounds to nothing has no sign.
    let is_zero = text.bytes().all(|byte| b"-0.".contains(&byte));
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}

fn with_error(cell: &Cell) -> String {
    let bar = decimal::up(cell.error_bar, ERROR_DIGITS);
    match cell.rank_error {
        // A point of the grid, as it would be written.
        Some(ranks) => format!("{} ± {bar}   (95%; {})", decimal::nearest(cell.value, 9), off_by(ranks)),
        None => format!("{} ± {bar}   (95%)", shown(cell.value, cell.error_bar)),
    }
}

/// How far the rank of a quantile may be from what was asked for.
fn off_by(ranks: f64) -> String {
    format!("rank off by at most {} records", decimal::up(ranks, 3))
}

fn release_words(args: &ReleaseArgs, ReleaseDone { prepared, released, claim, .. }: &ReleaseDone) -> String {
    let mut text = match released.release.cells.as_slice() {
        [only] if only.label.is_none() => format!("{}: {}\n", title(args), with_error(only)),
        cells => {
            let rows: Vec<[String; 3]> = cells
                .iter()
                .map(|cell| {
                    [
                        cell.label.clone().unwrap_or_default(),
                        shown(cell.value, cell.error_bar),
                        format!("± {}", decimal::up(cell.error_bar, ERROR_DIGITS)),
                    ]
                })
                .collect();
            format!("{}\n\n{}\n", title(args), align(["bin", "count", "95%, each"], &rows))
        }
    };
    text += &cost_words(prepared);
    text += &reading_words(args, prepared);
    text += &format!("claim written to {}\n", claim.display());
    if args.answer.seed.is_some() {
        text += "not for release: the noise was drawn from a seed\n";
    }
    text
}

fn preview_words(args: &ReleaseArgs, prepared: &PreparedRelease, rows: u64, ledger: &str) -> String {
    let preview = prepared.design.preview(rows);
    let rank = preview.rank_error.map_or(String::new(), |ranks| format!(", {}", off_by(ranks)));
    let error = format!("± {}{rank}", decimal::up(preview.error_bar, ERROR_DIGITS));
    let cells =
        if preview.cells == 1 { String::new() } else { format!(", in each of {} bins", preview.cells) };
    format!(
        "{}: {error}{cells}   (95%, {rows} rows assumed)\n{}{}{ledger}dry run: no rows were read, nothing was \
         released, no budget was spent\n",
        title(args),
        cost_words(prepared),
        reading_words(args, prepared)
    )
}

/// How rows and numbers were read, where not as usual.
fn reading_words(args: &ReleaseArgs, prepared: &PreparedRelease) -> String {
    let mut lines = String::new();
    if let Some(persons) = &prepared.persons {
        let (unit, column) = (prepared.subject.unit.name(), &persons.column);
        lines += &match persons.rows.get() {
            1 => format!("each {unit} contributes at most 1 row, by column {column}"),
            rows => format!("each {unit} contributes at most {rows} rows, by column {column}"),
        };
        lines += "; rows without a value there are ignored\n";
    }
    if let Some(notation) = notation(args, prepared) {
        lines += &format!("number notation: {notation}\n");
    }
    lines
}

/// How numbers are written, where numbers are read and it is not as usual.
fn notation(args: &ReleaseArgs, prepared: &PreparedRelease) -> Option<Notation> {
    let notation = form(&args.form).ok()?.notation;
    let reads_numbers = prepared.design.question().statistic.reads_numbers();
    (reads_numbers && notation != Notation::default()).then_some(notation)
}

/// What it costs, in which terms, and by which noise.
fn cost_words(prepared: &PreparedRelease) -> String {
    let mut lines = text::answer(&prepared.subject, &prepared.answer);
    lines.truncate(lines.find('\n').map_or(lines.len(), |end| end + 1));
    for note in prepared.notes() {
        let scale = decimal::nearest(note.scale * note.granularity, 4);
        let grid = decimal::nearest(note.granularity, 6);
        lines += &match (note.sampler.as_str(), note.place.as_str()) {
            ("exponential", "error bar") => {
                format!("error bar: selected in steps of {grid}, with a third of epsilon\n")
            }
            ("exponential", "quantile ends") => format!(
                "error bar: both ends selected among points {grid} apart, for values without large gaps around the \
                 quantile\n"
            ),
            ("exponential", place) => format!("{place}: selected among points {grid} apart\n"),
            (sampler, _) => {
                format!("{}: {sampler} noise of scale {scale}, in multiples of {grid}\n", note.place)
            }
        };
    }
    lines
}

fn cell_json(cell: &Cell) -> Value {
    json!({
        "bin": cell.label,
        "answer": cell.value,
        "error_bar": cell.error_bar,
        "rank_error": cell.rank_error,
    })
}

fn release_json(
    args: &ReleaseArgs,
    ReleaseDone { prepared, released, claim, .. }: &ReleaseDone,
) -> Result<Value, Error> {
    let cells = released.release.cells.as_slice();
    let only = match cells {
        [only] if only.label.is_none() => Some(only),
        _ => None,
    };
    let note = released.claim.release.as_ref();
    let mut object = cost_json(args, prepared)?;
    object["schema"] = json!("veracity.release/2");
    object["statistic"] = json!(prepared.design.question().statistic.name());
    object["answer"] = json!(only.map(|cell| cell.value));
    object["error_bar"] = json!(cells.iter().map(|cell| cell.error_bar).fold(0.0, f64::max));
    object["rank_error"] = json!(only.and_then(|cell| cell.rank_error));
    object["cells"] = json!(cells.iter().map(cell_json).collect::<Vec<_>>());
    object["for_release"] = json!(note.is_some_and(|note| note.for_release));
    object["noise"] = json!(note.map_or(&[][..], |note| &note.noise));
    object["claim"] = json!(claim.display().to_string());
    Ok(object)
}

fn preview_json(args: &ReleaseArgs, prepared: &PreparedRelease, rows: u64) -> Result<Value, Error> {
    let preview = prepared.design.preview(rows);
    let mut object = cost_json(args, prepared)?;
    object["schema"] = json!("veracity.release-preview/3");
    object["statistic"] = json!(prepared.design.question().statistic.name());
    object["rows_assumed"] = json!(rows);
    object["cells"] = json!(preview.cells);
    object["error_bar"] = json!(preview.error_bar);
    object["rank_error"] = json!(preview.rank_error);
    Ok(object)
}

/// What it costs, and how rows and numbers are read.
fn cost_json(args: &ReleaseArgs, prepared: &PreparedRelease) -> Result<Value, Error> {
    let mut object = text::cost(&prepared.subject, &prepared.answer)?;
    object["persons"] = json!(prepared.persons.as_ref().map(|persons| persons.note()));
    object["numbers_read_as"] = json!(notation(args, prepared).map(|notation| notation.to_string()));
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_end_where_their_error_bar_does_and_nothing_has_no_sign() {
        for (value, error_bar, expected) in [
            (-0.0004, 0.6, "0.00"),
            (-0.04, 0.6, "-0.04"),
            (-0.3, 25.0, "0"),
            (12.3456, 0.12, "12.35"),
            (-0.0, 3.0, "0"),
            (-0.0, 0.0, "0"),
            (7.0, 0.0, "7"),
            (1e16, 25.0, "10000000000000000"),
        ] {
            assert_eq!(shown(value, error_bar), expected, "{value} ± {error_bar}");
        }
    }
}
