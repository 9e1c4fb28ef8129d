//! `veracity local`: plan a collection, randomize on the client, estimate on the server.

use crate::{
    Outcome,
    args::{DomainArgs, LocalCommand, LocalEncodeArgs, LocalEstimateArgs, LocalPlanArgs},
    console::Console,
    meaning::form,
    text,
};
use serde_json::json;
use std::io::{self, IsTerminal};
use veracity::{
    Count, Entropy, Epsilon, Error,
    collecting::{self, Collection},
    decimal,
    local::{Confidence, Domain, Estimate, Mean, Plan, Survey, plan},
    noise::{Key, Purpose},
    query::Column,
    reading::{self, Kind as Read, Limits, Notation, Request, Source},
    saving::{create, must_be_new, never, refuse_foreign_file, replace},
    spec::Whole,
    words::table::align,
};

/// Runs one of the three.
pub fn run(command: &LocalCommand, console: Console) -> Result<Outcome, Error> {
    match command {
        LocalCommand::Plan(args) => plan_collection(args),
        LocalCommand::Encode(args) => encode(args, console),
        LocalCommand::Estimate(args) => estimate(args),
    }
}

fn plan_collection(args: &LocalPlanArgs) -> Result<Outcome, Error> {
    let domain = domain(&args.domain)?;
    let plan = plan(domain.size(), Epsilon::new(args.epsilon)?, Whole(args.reports).count("reports")?)?;
    Outcome::done(match args.json {
        true => text::json(&plan_json(&plan))?,
        false => plan_words(&plan),
    })
}

fn domain(args: &DomainArgs) -> Result<Domain, Error> {
    match (&args.categories, args.domain_size) {
        (Some(names), _) => {
            Ok(Domain::categories(names.iter().map(|name| name.trim().to_owned()).collect())?)
        }
        (None, Some(size)) => {
            let size = Whole(size).count("domain size")?.get();
            Ok(Domain::range(u32::try_from(size).unwrap_or(u32::MAX))?)
        }
        (None, None) => Err(Error::invalid(
            "--categories is missing; set --categories A,B,… or --domain-size K (to encode numbers, set \
             --lower and --upper)",
        )),
    }
}

fn plan_words(plan: &Plan) -> String {
    let rows: Vec<[String; 6]> = plan
        .rows
        .iter()
        .map(|row| {
            [
                row.kind.name().to_owned(),
                decimal::nearest(row.noise, 4),
                decimal::nearest(1.96 * row.count_deviation, 3),
                match row.collision_deviation {
                    0.0 => String::new(),
                    more => format!("+ collisions, up to ± {}", decimal::nearest(1.96 * more, 3)),
                },
                row.report_bits.to_string(),
                decimal::nearest(row.largest_gain, 3),
            ]
        })
        .collect();
    let head = ["protocol", "n·variance", "± people (95%)", "", "bits per report", "effect of a fake report"];
    format!(
        "{}: ± {} people of {} (95%), for each of {} categories at epsilon {} per report\n{}\n\n{}\n\
         a trusted curator at the same epsilon: ± {} people (the best local protocol has {}× that error)\n",
        plan.choice().name(),
        decimal::nearest(1.96 * plan.rows[0].count_deviation, 3),
        plan.reports.get(),
        plan.size,
        plan.epsilon,
        plan.reason,
        align(head, &rows),
        decimal::nearest(1.96 * plan.central.count_deviation, 3),
        decimal::nearest(plan.central.local_is_larger, 3),
    )
}

fn plan_json(plan: &Plan) -> serde_json::Value {
    let rows: Vec<_> = plan
        .rows
        .iter()
        .map(|row| {
            json!({
                "protocol": row.kind.name(),
                "n_variance": row.noise,
                "count_deviation": row.count_deviation,
                "collision_deviation": row.collision_deviation,
                "report_bits": row.report_bits,
                "largest_gain": row.largest_gain,
            })
        })
        .collect();
    json!({
        "schema": "veracity.local-plan/1",
        "protocol": plan.choice().name(),
        "reason": plan.reason,
        "domain_size": plan.size,
        "epsilon": plan.epsilon.get(),
        "reports": plan.reports.get(),
        "protocols": rows,
        "central": { "count_deviation": plan.central.count_deviation, "local_is_larger": plan.central.local_is_larger },
    })
}

fn encode(args: &LocalEncodeArgs, console: Console) -> Result<Outcome, Error> {
    // Reports and their claim are never overwritten.
    args.claim.as_ref().map_or(Ok(()), |path| must_be_new("claim", path))?;
    args.out.as_ref().map_or(Ok(()), |path| refuse_foreign_file("out", path, never))?;
    let entropy = args.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
    let mut rng = entropy.stream(Purpose::Report, Key::default());
    let survey = survey(args, rng.word())?;
    if let Some(most) = args.at_most {
        let most = Epsilon::new(most).map_err(|_| Error::out_of_range("at-most", most, "0 ≤ at-most"))?;
        collecting::consent(&survey, most)?;
    }
    let column = column(args, &survey, console)?;
    let reports = collecting::encode(&survey, &column, args.other.as_deref(), &mut rng)?;
    if let Some(path) = &args.claim {
        let claim = collecting::claim(&survey, entropy.origin())?;
        create("claim", path, claim.to_json()?.as_bytes())?;
    }
    let mut lines = survey.header() + "\n";
    for report in &reports {
        lines += &survey.line(report);
        lines.push('\n');
    }
    let seeded = if args.seed.is_some() {
        "not for release: these reports were drawn from a seed and protect no one\n"
    } else {
        ""
    };
    let Some(path) = &args.out else {
        // stdout is for the reports alone.
        if args.seed.is_some() {
            console.remark(seeded.trim_end());
        }
        return Outcome::done(lines);
    };
    replace("out", path, lines.as_bytes(), never)?;
    let notation = form(&args.form)?.notation;
    let numbers = match survey {
        Survey::Mean(_) if notation != Notation::default() => format!("number notation: {notation}\n"),
        Survey::Mean(_) | Survey::Frequency { .. } => String::new(),
    };
    Outcome::done(format!(
        "{} reports written to {}   ({}, epsilon {} per report, replace-one)\n{numbers}{seeded}",
        reports.len(),
        path.display(),
        survey.name(),
        survey.epsilon().get(),
    ))
}

/// What client and server agree on. `public` names the hash functions of a sketch.
fn survey(args: &LocalEncodeArgs, public: u64) -> Result<Survey, Error> {
    if let Some(path) = &args.survey {
        return collecting::survey_of(path);
    }
    let epsilon = Epsilon::new(args.epsilon.unwrap_or_default())?;
    if let (Some(lower), Some(upper)) = (args.lower, args.upper) {
        let given = [
            ("--categories", args.domain.categories.is_some()),
            ("--domain-size", args.domain.domain_size.is_some()),
            ("--protocol", args.protocol.is_some()),
            ("--other", args.other.is_some()),
        ];
        if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(Error::invalid(format!("{flag} cannot be used with --lower and --upper")));
        }
        return Ok(Survey::Mean(Mean::new(lower, upper, epsilon)?));
    }
    let domain = domain(&args.domain)?;
    let kind = match args.protocol {
        Some(kind) => kind,
        None => plan(domain.size(), epsilon, Count::ONE)?.choice(),
    };
    Ok(Survey::frequency(domain, kind, epsilon, public)?)
}

fn column(args: &LocalEncodeArgs, survey: &Survey, console: Console) -> Result<Column, Error> {
    let kind = match survey {
        Survey::Frequency { .. } => Read::Texts,
        Survey::Mean(_) => Read::Numbers,
    };
    let form = form(&args.form)?;
    let Some(file) = &args.file else {
        // Never from the command line: that is in the process list and in the shell's history.
        if io::stdin().is_terminal() {
            console.remark("type your answer, then press Ctrl-D");
        }
        return collecting::answer(survey, form.notation, io::stdin().lock());
    };
    let Some(name) = &args.column else {
        return Err(Error::invalid("--column is missing; name the column of the file"));
    };
    let request = Request { column: Some(name), kind, person: None, form };
    Ok(reading::read(&Source::at(file, &Limits::default())?, &request)?.column)
}

fn estimate(args: &LocalEstimateArgs) -> Result<Outcome, Error> {
    let confidence = Confidence::new(args.confidence)?;
    match collecting::estimate(&args.file)? {
        Collection::Frequencies { survey, domain, estimates } => {
            let frequencies = if args.project { estimates.projected() } else { estimates.frequencies() };
            let mut order: Vec<usize> = (0..estimates.values.len()).collect();
            if let Some(top) = args.top {
                order.sort_by(|a, b| frequencies[*b].total_cmp(&frequencies[*a]));
                order.truncate(top);
            }
            let found: Vec<CategoryEstimate> = order
                .into_iter()
                .map(|at| CategoryEstimate {
                    name: domain.name(at as u32),
                    frequency: frequencies[at],
                    estimate: estimates.values[at],
                })
                .collect();
            Outcome::done(match args.json {
                true => text::json(&frequencies_json(args, &survey, estimates.reports, &found, confidence))?,
                false => frequencies_words(args, &survey, estimates.reports, &found, confidence),
            })
        }
        Collection::Mean { survey, estimate: found } => {
            let interval = found.interval(confidence);
            let bar = (interval.high - interval.low) / 2.0;
            Outcome::done(match args.json {
                true => text::json(&json!({
                    "schema": "veracity.local-estimate/2",
                    "protocol": survey.name(),
                    "epsilon": survey.epsilon().get(),
                    "reports": found.reports,
                    "confidence": args.confidence,
                    "projected": false,
                    "categories": [],
                    "answer": found.mean,
                    "error_bar": bar,
                }))?,
                false => format!(
                    "mean: {} ± {}   ({}%, {} reports)\nepsilon ≤ {} per report   (replace-one; local)\n",
                    decimal::nearest(found.mean, 6),
                    decimal::up(bar, 2),
                    100.0 * args.confidence,
                    found.reports,
                    decimal::up(survey.epsilon().get(), 9),
                ),
            })
        }
    }
}

/// One category and what is known of it.
struct CategoryEstimate {
    name: String,
    frequency: f64,
    estimate: Estimate,
}

fn frequencies_words(
    args: &LocalEstimateArgs,
    survey: &Survey,
    reports: u64,
    found: &[CategoryEstimate],
    confidence: Confidence,
) -> String {
    let n = reports.max(1) as f64;
    let rows: Vec<[String; 3]> = found
        .iter()
        .map(|one| {
            let interval = one.estimate.interval(confidence);
            let bar = (interval.high - interval.low) / 2.0 / n;
            [one.name.clone(), format!("{:.4}", one.frequency), format!("± {:.4}", bar)]
        })
        .collect();
    let each = format!("{}%, each", 100.0 * args.confidence);
    let projected = if args.project {
        "projected to the nearest distribution, which adds bias; the error bars are for the unbiased \
         estimates\n"
    } else {
        ""
    };
    format!(
        "{}\n{reports} reports\nepsilon ≤ {} per report   (replace-one; {}, local)\n{projected}",
        align(["category", "frequency", &each], &rows),
        decimal::up(survey.epsilon().get(), 9),
        survey.name(),
    )
}

fn frequencies_json(
    args: &LocalEstimateArgs,
    survey: &Survey,
    reports: u64,
    found: &[CategoryEstimate],
    confidence: Confidence,
) -> serde_json::Value {
    let n = reports.max(1) as f64;
    let rows: Vec<_> = found
        .iter()
        .map(|one| {
            let interval = one.estimate.interval(confidence);
            json!({
                "category": one.name,
                "answer": one.frequency,
                "count": one.estimate.count,
                "standard_error": one.estimate.standard_error / n,
                "error_bar": (interval.high - interval.low) / 2.0 / n,
            })
        })
        .collect();
    json!({
        "schema": "veracity.local-estimate/2",
        "protocol": survey.name(),
        "epsilon": survey.epsilon().get(),
        "reports": reports,
        "confidence": args.confidence,
        "projected": args.project,
        "categories": rows,
        "answer": null,
        "error_bar": null,
    })
}
