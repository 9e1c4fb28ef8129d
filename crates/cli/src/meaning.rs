//! From arguments to a [`Subject`]: which flags a kind reads, and a refusal for those it does not.

mod strategy;

use crate::args::{FormArgs, MechanismArgs};
use std::{path::Path, time::Duration};
use veracity::{
    Delta, Epsilon, Error, Mechanism, PrivacyUnit, Subject, Target, TrainingPlan, events, nearest, read_text,
    reading::{Form, Header, Notation},
    spec::{MechanismSpec, Whole},
    training::{PlanChange, PlanFile},
};

/// The kinds that the command line knows by name.
pub const KINDS: [&str; 8] = [
    "gaussian",
    "laplace",
    "discrete-gaussian",
    "discrete-laplace",
    "randomized-response",
    "exponential",
    "dp-sgd",
    "matrix",
];

/// The subject that a kind or a plan and its flags describe.
pub fn subject(kind: &str, args: &MechanismArgs) -> Result<Subject, Error> {
    let (mechanism, adjacency, unit) = if KINDS.contains(&kind) {
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

/// What a plan does to whose data: its mechanisms, or its training, which has its own neighbours, unit and number of steps.
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
                "{flag} is given, expected none: the plan of a training has its own"
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
    let meant = nearest(kind, KINDS).map_or(String::new(), |name| format!("; did you mean {name}?"));
    Error::invalid(format!(
        "kind is {shown}, expected {} or the path of a TOML plan{meant}",
        KINDS.join(", ")
    ))
}

/// What was asked: exactly one of δ and ε is given.
pub fn target(delta: Option<f64>, epsilon: Option<f64>) -> Result<Target, Error> {
    match (delta, epsilon) {
        (Some(delta), None) => Ok(Target::Delta(Delta::new(delta)?)),
        (None, Some(epsilon)) if epsilon.is_infinite() => {
            Err(Error::out_of_range("epsilon", epsilon, "a finite number ≥ 0"))
        }
        (None, Some(epsilon)) => Ok(Target::Epsilon(Epsilon::new(epsilon)?)),
        (Some(_), Some(_)) => Err(Error::invalid(
            "--delta is given together with --epsilon, expected one: the other is the answer",
        )),
        (None, None) => Err(Error::invalid(
            "--delta is missing, expected --delta to ask for epsilon, or --epsilon to ask for delta",
        )),
    }
}

/// The exponential mechanism has an ε of its own, its range. `--epsilon` beside `--delta`, or alone without `--range`,
/// is that one; then it is taken out of the question.
pub fn claim_range(kind: &str, args: &mut MechanismArgs, epsilon: &mut Option<f64>) {
    if kind == "exponential" && args.range.is_none() {
        args.range = epsilon.take();
    }
}

/// Reads the flags of one kind.
fn spec(kind: &str, args: &MechanismArgs) -> Result<MechanismSpec, Error> {
    let need = |value: Option<f64>, flag: &str| {
        value.ok_or_else(|| Error::invalid(format!("{flag} is missing, expected {flag} with {kind}")))
    };
    let whole = |value: Option<f64>| value.map(Whole);
    Ok(match kind {
        "gaussian" => MechanismSpec::Gaussian {
            noise_multiplier: args.noise_multiplier,
            sigma: args.sigma,
            sensitivity: args.sensitivity,
        },
        "laplace" => MechanismSpec::Laplace {
            noise_multiplier: args.noise_multiplier,
            scale: args.scale,
            sensitivity: args.sensitivity,
        },
        "discrete-gaussian" => MechanismSpec::DiscreteGaussian {
            sigma: need(args.sigma, "--sigma")?,
            sensitivity: Whole(args.sensitivity.unwrap_or(1.0)),
        },
        "discrete-laplace" => MechanismSpec::DiscreteLaplace {
            scale: need(args.scale, "--scale")?,
            sensitivity: Whole(args.sensitivity.unwrap_or(1.0)),
        },
        "randomized-response" => MechanismSpec::RandomizedResponse {
            noise_parameter: need(args.noise_parameter, "--noise-parameter")?,
            buckets: Whole(args.buckets.unwrap_or(2.0)),
        },
        "exponential" => MechanismSpec::Exponential { epsilon: need(args.range, "--range")? },
        "matrix" => strategy::mechanism(args)?,
        _ => MechanismSpec::DpSgd {
            sampling_rate: args.sampling_rate,
            batch_size: whole(args.batch_size),
            dataset_size: whole(args.dataset_size),
            noise_multiplier: need(args.noise_multiplier, "--noise-multiplier")?,
            steps: whole(args.steps),
            epochs: args.epochs,
        },
    })
}

/// Refuses the flags of a mechanism where there is none to describe; an adjacency has a meaning of its own.
pub fn refuse_mechanism(args: &MechanismArgs, remedy: &str) -> Result<(), Error> {
    let times = MechanismArgs { range: args.range.or(args.times), ..args.clone() };
    refuse_unread("", &times)
        .map_err(|_| Error::invalid(format!("flags of a mechanism are given, expected {remedy}")))
}

/// Whether a word names a claim, or a folder of them: claims are JSON objects, which no plan begins like, and speak of no
/// classes, as events do. A pipe, which can be read once only, has a plan.
pub fn is_claim(word: &str) -> bool {
    let path = Path::new(word);
    let speaks_of_claims = || {
        read_text("claim", path)
            .is_ok_and(|text| text.trim_start().starts_with('{') && !events::is_events(&text))
    };
    !KINDS.contains(&word) && (path.is_dir() || path.is_file() && speaks_of_claims())
}

/// Refuses what goes with a mechanism or a plan and not with claims.
pub fn refuse_with_claims(words: &[String], args: &MechanismArgs) -> Result<(), Error> {
    if let Some(other) = words.iter().find(|word| !is_claim(word)) {
        let shown = clean(other);
        return Err(Error::invalid(match Path::new(other).exists() {
            true => format!("{shown} is no claim, expected nothing but claims beside a claim"),
            false => format!("claim is {shown}, expected a file that is there"),
        }));
    }
    refuse_unread("claims", args)?;
    let given = [
        ("--times", args.times.is_some()),
        ("--adjacency", args.adjacency.is_some()),
        ("--unit", args.unit.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Error::invalid(format!(
            "{flag} is given, expected no such flag with claims, which have their own"
        ))),
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
    let read: &[&str] = match kind {
        "gaussian" => &["--noise-multiplier", "--sigma", "--sensitivity"],
        "laplace" => &["--noise-multiplier", "--scale", "--sensitivity"],
        "discrete-gaussian" => &["--sigma", "--sensitivity"],
        "discrete-laplace" => &["--scale", "--sensitivity"],
        "randomized-response" => &["--noise-parameter", "--buckets"],
        "exponential" => &["--range"],
        "matrix" => &[
            "--strategy",
            "--steps",
            "--bands",
            "--noise-multiplier",
            "--participations",
            "--separation",
            "--cyclic-rate",
            "--groups",
        ],
        "dp-sgd" => &[
            "--sampling-rate",
            "--batch-size",
            "--dataset-size",
            "--noise-multiplier",
            "--steps",
            "--epochs",
        ],
        _ => &[],
    };
    let given = [
        ("--noise-multiplier", args.noise_multiplier),
        ("--sigma", args.sigma),
        ("--scale", args.scale),
        ("--sensitivity", args.sensitivity),
        ("--sampling-rate", args.sampling_rate),
        ("--batch-size", args.batch_size),
        ("--dataset-size", args.dataset_size),
        ("--steps", args.steps),
        ("--epochs", args.epochs),
        ("--noise-parameter", args.noise_parameter),
        ("--buckets", args.buckets),
        ("--range", args.range),
        ("--bands", args.bands),
        ("--participations", args.participations),
        ("--separation", args.separation),
        ("--cyclic-rate", args.cyclic_rate),
        ("--groups", args.groups),
    ];
    let strategy = ("--strategy", args.strategy.as_deref().map(clean));
    let mut given =
        given.map(|(flag, value)| (flag, value.map(|x| x.to_string()))).into_iter().chain([strategy]);
    match given.find(|(flag, value)| value.is_some() && !read.contains(flag)) {
        Some((flag, Some(value))) => {
            let expected = if read.is_empty() {
                "no such flag".to_owned()
            } else {
                format!("{} or --times", read.join(", "))
            };
            Err(Error::invalid(format!("{flag} is {value}, expected {expected} with {kind}")))
        }
        _ => Ok(()),
    }
}

/// A word of the command line, fit to be shown.
pub fn clean(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// How a table is written.
pub fn form(args: &FormArgs) -> Result<Form, Error> {
    let one = |name: &'static str, text: &str| {
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(Error::out_of_range(name, clean(text), "one character")),
        }
    };
    let thousands = args.thousands.as_deref().map(|text| one("thousands", text)).transpose()?;
    Ok(Form {
        delimiter: args.delimiter.as_deref().map(delimiter).transpose()?,
        header: Header::Named,
        notation: Notation::new(one("decimal", &args.decimal)?, thousands)?,
    })
}

/// The byte between cells.
fn delimiter(text: &str) -> Result<u8, Error> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ if text == "\\t" || text == "tab" => Ok(b'\t'),
        _ => Err(Error::out_of_range("delimiter", clean(text), "one character, or tab")),
    }
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
