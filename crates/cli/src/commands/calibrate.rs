//! `veracity calibrate`: the setting for a budget.

use crate::{
    Outcome,
    args::{CalibrateArgs, MechanismArgs},
    meaning, text,
};
use veracity::{
    CalibrationFile, Delta, Epsilon, Error, Subject,
    calibration::{self, Solve, Solved},
    decimal,
    kinds::{FLAGS, KINDS},
    words,
};

/// Solves and prints what was found, with the certified ε it gives.
pub fn run(args: &CalibrateArgs) -> Result<Outcome, Error> {
    let solve = args.solve;
    let (epsilon, delta) = (Epsilon::new(args.epsilon)?, Delta::new(args.delta)?);
    let template = template(&args.kind, &args.mechanism, solve)?;
    let found = calibration::solve(&template, solve, epsilon, delta)?;
    let scale = match found.solved {
        Solved::Noise(noise) => {
            let relative = matches!(args.kind.as_str(), "gaussian" | "laplace");
            let sensitivity = args.mechanism.numbers.get("sensitivity");
            sensitivity.filter(|_| relative).map(|c| decimal::raise(c * noise.get(), 9))
        }
        Solved::Steps(_) | Solved::SamplingRate(_) => None,
    };
    Outcome::done(match args.json {
        true => text::json(&CalibrationFile::new(&found, scale))?,
        false => format!(
            "{}\n{}",
            words::calibration::setting(&args.kind, &found, scale),
            text::answer(&found.subject, &found.answer) + &text::assumption(&found.subject)
        ),
    })
}

/// The subject with a placeholder for the setting that is solved for, which must not be given.
fn template(kind: &str, args: &MechanismArgs, solve: Solve) -> Result<Subject, Error> {
    let mut args = args.clone();
    let refuse = |flag: &str, value: Option<f64>| match value {
        Some(_) => Err(Error::invalid(format!("{flag} cannot be set, because calibrate solves for it"))),
        None => Ok(()),
    };
    let given = args.numbers.clone();
    let refuse_solved = |what: &str| {
        let looked_for = FLAGS.iter().filter(|flag| flag.solved == Some(what));
        looked_for
            .map(|flag| (flag, given.get(flag.field)))
            .try_for_each(|(flag, number)| refuse(&format!("--{}", flag.name), number))
    };
    match solve {
        Solve::Noise => {
            refuse_solved("noise")?;
            let known = KINDS.iter().find(|known| known.name == kind);
            if let Some((known, noise)) = known.and_then(|known| Some((known, known.noise()?))) {
                args.numbers.set(noise.field, Some(1.0));
                if noise.field == "noise_multiplier" && known.has("sensitivity") {
                    // A sensitivity goes with an absolute scale, which is printed from the multiplier that is found.
                    args.numbers.set("sensitivity", None);
                }
            }
        }
        Solve::Steps if kind == "matrix" => {
            return Err(Error::out_of_range(
                "solve",
                "steps",
                "noise, or sampling-rate with --groups, for matrix",
            ));
        }
        Solve::Steps => {
            refuse_solved("steps")?;
            refuse("--times", args.times)?;
            if kind == "dp-sgd" {
                args.numbers.set("steps", Some(1.0));
            }
        }
        Solve::SamplingRate => {
            // The dataset size has no effect here, because the rate is solved for.
            refuse_solved("sampling-rate")?;
            if args.numbers.get("epochs").is_some() {
                return Err(Error::invalid(
                    "--epochs cannot be used to solve for the sampling rate; use --steps",
                ));
            }
            if kind == "dp-sgd" {
                args.numbers.set("sampling_rate", Some(0.5));
            }
            if kind == "matrix" {
                refuse("--cyclic-rate", args.cyclic_rate)?;
                args.cyclic_rate = Some(0.5);
            }
        }
    }
    meaning::subject(kind, &args)
}
