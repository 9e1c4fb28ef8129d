//! `veracity calibrate`: the setting for a budget.

use crate::{
    Outcome,
    args::{CalibrateArgs, MechanismArgs},
    meaning, text,
};
use veracity::{
    CalibrationFile, Delta, Epsilon, Error, Subject,
    calibration::{self, Solve, Solved},
    report::decimal,
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
            args.mechanism.sensitivity.filter(|_| relative).map(|c| decimal::raise(c * noise.get(), 9))
        }
        Solved::Steps(_) | Solved::SamplingRate(_) => None,
    };
    Outcome::done(match args.json {
        true => text::json(&CalibrationFile::new(&found, scale))?,
        false => format!(
            "{}\n{}",
            words::calibration::setting(&args.kind, &found, scale),
            text::answer(&found.subject, &found.answer)
        ),
    })
}

/// The subject with a placeholder for what is looked for, which must not be given.
fn template(kind: &str, args: &MechanismArgs, solve: Solve) -> Result<Subject, Error> {
    let mut args = args.clone();
    let refuse = |flag: &str, value: Option<f64>| match value {
        Some(value) => {
            Err(Error::invalid(format!("{flag} is {value}, expected it left out: it is looked for")))
        }
        None => Ok(()),
    };
    match solve {
        Solve::Noise => {
            refuse("--noise-multiplier", args.noise_multiplier)?;
            refuse("--sigma", args.sigma)?;
            refuse("--scale", args.scale)?;
            match kind {
                "discrete-gaussian" => args.sigma = Some(1.0),
                "discrete-laplace" => args.scale = Some(1.0),
                "gaussian" | "laplace" => (args.noise_multiplier, args.sensitivity) = (Some(1.0), None),
                "dp-sgd" | "matrix" => args.noise_multiplier = Some(1.0),
                _ => {}
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
            refuse("--steps", args.steps)?;
            refuse("--epochs", args.epochs)?;
            refuse("--times", args.times)?;
            if kind == "dp-sgd" {
                args.steps = Some(1.0);
            }
        }
        Solve::SamplingRate => {
            refuse("--sampling-rate", args.sampling_rate)?;
            refuse("--batch-size", args.batch_size)?;
            if args.epochs.is_some() {
                return Err(Error::invalid(
                    "--epochs is given, expected --steps to solve for the sampling rate",
                ));
            }
            // The dataset size turns nothing here; the rate is what is asked.
            refuse("--dataset-size", args.dataset_size)?;
            if kind == "dp-sgd" {
                args.sampling_rate = Some(0.5);
            }
            if kind == "matrix" {
                refuse("--cyclic-rate", args.cyclic_rate)?;
                args.cyclic_rate = Some(0.5);
            }
        }
    }
    meaning::subject(kind, &args)
}
