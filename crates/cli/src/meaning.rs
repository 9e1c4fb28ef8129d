//! From arguments to a [`Subject`]: which flags a kind reads, and a refusal for those it does not.

mod strategy;

use crate::args::{FormArgs, MechanismArgs};
use serde_json::{Map, Number, Value};
use std::{path::Path, time::Duration};
use veracity::{
    Error, Mechanism, PrivacyUnit, Subject, Target, TrainingPlan, events,
    kinds::{FLAGS, KINDS, Kind},
    nearest, printable, read_text,
    reading::{Form, FormParts},
    spec::{MechanismSpec, Whole},
    training::{PlanChange, PlanFile},
};

/// The kinds that the command line knows by name: those whose fields all have flags.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS
        .iter()
        .filter(|kind| kind.name == MATRIX || kind.fields.iter().all(|field| kind.flag(field.name).is_some()))
}

/// The names of [`kinds`], as help and errors list them.
pub fn kind_names() -> String {
    kinds().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// A strategy and participation have flags of their own.
const MATRIX: &str = "matrix";
/// The flags that only a strategy reads, beside its noise multiplier and steps.
const OF_STRATEGIES: [&str; 5] = ["--bands", "--participations", "--separation", "--cyclic-rate", "--groups"];

/// The subject that a kind or a plan and its flags describe.
pub fn subject(kind: &str, args: &MechanismArgs) -> Result<Subject, Error> {
    let (mechanism, adjacency, unit) = if kinds().any(|known| known.name == kind) {
        refuse_unread(kind, args)?;
        let subject = Subject::new(Mechanism::try_from(&spec(kind, args)?)?);
        (subject.mechanism, subject.adjacency, subject.unit)
    } else {
        let read = read_text("plan", Path::new(kind)).map_err(|refusal| unknown_kind(kind, refusal))?;
        refuse_unread("a plan", args)?;
        let planned = match events::is_events(&read) {
            true => Subject::new(events::parse(&read)?),
            false => planned(&read, Path::new(kind), args)?,
        };
        (planned.mechanism, planned.adjacency, planned.unit)
    };
    let times = args.times.map_or(Ok(veracity::Count::ONE), |times| Whole(times).count("times"))?;
    Ok(Subject {
        mechanism: mechanism.repeated(times),
        adjacency: args.adjacency.unwrap_or(adjacency),
        unit: args.unit.as_deref().map_or(Ok(unit), PrivacyUnit::new)?,
    })
}

/// The subject of a plan: its mechanisms, or its training run, which defines its own adjacency, unit and number of steps.
fn planned(text: &str, path: &Path, args: &MechanismArgs) -> Result<Subject, Error> {
    let plan = PlanFile::parse(text, path.parent().unwrap_or(Path::new("")))?;
    if matches!(plan, PlanFile::Training(_)) {
        let given = [
            ("--times", args.times.is_some()),
            ("--adjacency", args.adjacency.is_some()),
            ("--unit", args.unit.is_some()),
        ];
        if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(Error::invalid(format!(
                "{flag} cannot be used with a training plan, which already defines it"
            )));
        }
    }
    plan.subject()
}

/// A word that is neither a kind nor a file was probably meant to be a kind.
fn unknown_kind(kind: &str, refusal: Error) -> Error {
    let looks_like_a_path = kind.contains(['/', '\\', '.']) || Path::new(kind).exists();
    if looks_like_a_path {
        return refusal;
    }
    let shown: String = kind.chars().take(60).collect();
    let meant = nearest(kind, kinds().map(|known| known.name))
        .map_or(String::new(), |name| format!("; did you mean {name}?"));
    Error::invalid(format!("kind is {shown}, expected {} or the path of a TOML plan{meant}", kind_names()))
}

/// The target: exactly one of δ and ε is given.
pub fn target(delta: Option<f64>, epsilon: Option<f64>) -> Result<Target, Error> {
    Ok(Target::given("--", delta, epsilon)?)
}

/// The exponential mechanism has an ε of its own, its range. `--epsilon` beside `--delta`, or alone without `--range`,
/// is that one; then it is taken out of the question.
pub fn claim_range(kind: &str, args: &mut MechanismArgs, epsilon: &mut Option<f64>) {
    if kind == "exponential" && args.numbers.get("epsilon").is_none() {
        args.numbers.set("epsilon", epsilon.take());
    }
}

/// Reads the flags of one kind, as its fields would be read from a plan.
fn spec(kind: &str, args: &MechanismArgs) -> Result<MechanismSpec, Error> {
    if kind == MATRIX {
        return strategy::mechanism(args);
    }
    let fields = kinds().find(|known| known.name == kind).map_or(&[][..], |known| known.fields);
    let mut object = Map::from_iter([("kind".to_owned(), kind.into())]);
    for field in fields {
        let usual = (field.name == "buckets").then_some(2.0);
        let Some(number) = args.numbers.get(field.name).or(usual) else { continue };
        let Some(number) = Number::from_f64(number) else {
            let name = field.name.replace('_', " ");
            return Err(Error::invalid(format!("{name} is {number}, expected a finite number")));
        };
        object.insert(field.name.to_owned(), number.into());
    }
    serde_json::from_value(Value::Object(object)).map_err(|error| {
        let error = error.to_string();
        let missing = error.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let missing = missing.and_then(|field| KINDS.iter().find(|known| known.name == kind)?.flag(field));
        Error::invalid(match missing.map(|flag| format!("--{}", flag.name)) {
            Some(flag) => format!("{flag} is missing; {kind} needs it"),
            None => format!("{kind} is not valid ({})", clean(&error)),
        })
    })
}

/// Refuses the flags of a mechanism where there is none to describe; an adjacency has a meaning of its own.
pub fn refuse_mechanism(args: &MechanismArgs, remedy: &str) -> Result<(), Error> {
    let mut times = args.clone();
    times.numbers.set("epsilon", args.numbers.get("epsilon").or(args.times));
    refuse_unread("", &times).map_err(|_| Error::invalid(format!("flags of a mechanism are given; {remedy}")))
}

/// Whether a word names a claim, or a folder of them: claims are JSON objects, which no plan begins like, and speak of no
/// classes, as events do. A pipe, which can be read once only, has a plan.
pub fn is_claim(word: &str) -> bool {
    let path = Path::new(word);
    let speaks_of_claims = || {
        read_text("claim", path)
            .is_ok_and(|text| text.trim_start().starts_with('{') && !events::is_events(&text))
    };
    !kinds().any(|known| known.name == word) && (path.is_dir() || path.is_file() && speaks_of_claims())
}

/// Refuses flags of a mechanism or a plan that cannot be used with claims.
pub fn refuse_with_claims(words: &[String], args: &MechanismArgs) -> Result<(), Error> {
    if let Some(other) = words.iter().find(|word| !is_claim(word)) {
        let shown = clean(other);
        return Err(Error::invalid(match Path::new(other).exists() {
            true => format!("{shown} is not a claim; claims can be combined only with other claims"),
            false => format!("no such claim file: {shown}"),
        }));
    }
    refuse_unread("claims", args)?;
    let given = [
        ("--times", args.times.is_some()),
        ("--adjacency", args.adjacency.is_some()),
        ("--unit", args.unit.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => {
            Err(Error::invalid(format!("{flag} cannot be used with claim files, which already define it")))
        }
        None => Ok(()),
    }
}

/// The training plan that a file has, with some of its lines replaced; its relative paths start at `folder`, or where it is.
pub fn training_plan(
    path: &Path,
    folder: Option<&Path>,
    changes: &[PlanChange],
) -> Result<TrainingPlan, Error> {
    let folder = folder.or(path.parent()).unwrap_or(Path::new(""));
    Ok(TrainingPlan::parse_with(&read_text("plan", path)?, folder, changes)?)
}

/// A flag that a kind would ignore is a misunderstanding, and those are cheap to clear up only beforehand.
fn refuse_unread(kind: &str, args: &MechanismArgs) -> Result<(), Error> {
    let known = kinds().find(|known| known.name == kind);
    let flags =
        known.into_iter().flat_map(|known| known.fields.iter().filter_map(|field| known.flag(field.name)));
    let mut read: Vec<String> = flags.map(|flag| format!("--{}", flag.name)).collect();
    if kind == MATRIX {
        read.insert(0, "--strategy".to_owned());
        read.extend(["--steps"].into_iter().chain(OF_STRATEGIES).map(str::to_owned));
    }
    let numbers = FLAGS.iter().map(|flag| (format!("--{}", flag.name), args.numbers.get(flag.field)));
    let of_strategies = [args.bands, args.participations, args.separation, args.cyclic_rate, args.groups];
    let of_strategies = OF_STRATEGIES.map(str::to_owned).into_iter().zip(of_strategies);
    let shown = numbers.chain(of_strategies).map(|(flag, value)| (flag, value.map(|x| x.to_string())));
    let strategy = ("--strategy".to_owned(), args.strategy.as_deref().map(clean));
    match shown.chain([strategy]).find(|(flag, value)| value.is_some() && !read.contains(flag)) {
        Some((flag, Some(value))) => {
            read.push("--times".to_owned());
            let remedy = match read.split_last() {
                Some((last, others)) if !others.is_empty() => format!("use {} or {last}", others.join(", ")),
                _ => "leave it out".to_owned(),
            };
            Err(Error::invalid(format!("{flag} is {value}, but {kind} does not use it; {remedy}")))
        }
        _ => Ok(()),
    }
}

/// A word of the command line, fit to be shown.
pub fn clean(word: &str) -> String {
    printable(word, 60)
}

/// How a table is written.
pub fn form(args: &FormArgs) -> Result<Form, Error> {
    Ok(form_parts(args)?.over(Form::default())?)
}

/// What was given of how a table is written.
pub fn form_parts(args: &FormArgs) -> Result<FormParts, Error> {
    let FormArgs { delimiter, decimal, thousands, encoding } = args;
    let read =
        FormParts::read(delimiter.as_deref(), decimal.as_deref(), thousands.as_deref(), encoding.as_deref());
    Ok(read?)
}

/// A time such as `90s`, `10m`, `1h`, `500ms`, or plain seconds.
pub fn duration(name: &'static str, text: &str) -> Result<Duration, Error> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = digits.parse::<f64>().map_or(f64::NAN, |number| number * unit);
    if (1e-3..=1e9).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(Error::out_of_range(name, clean(text), "a time from 1ms to 1e9s, such as 90s, 10m or 1h"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        for (text, milliseconds) in
            [("90s", 90_000), ("1.5m", 90_000), ("2h", 7_200_000), ("250ms", 250), ("3", 3000)]
        {
            assert_eq!(duration("timeout", text).unwrap().as_millis(), milliseconds, "{text}");
        }
        for bad in ["", "s", "-1s", "0", "1e99h", "NaN", "inf", "5 days", "1d"] {
            assert!(duration("timeout", bad).is_err(), "{bad}");
        }
    }
}
