//! The flags of correlated noise: a strategy by name or file, and in which steps a record takes part.

use crate::args::MechanismArgs;
use std::path::Path;
use veracity::{
    Count, Error,
    spec::{MechanismSpec, ParticipationSpec, StrategySpec, Whole},
    strategy::{self, Aim, Strategy},
};

/// The mechanism that the flags describe.
pub fn mechanism(args: &MechanismArgs) -> Result<MechanismSpec, Error> {
    let strategy = strategy(args)?;
    let noise_multiplier =
        args.numbers.get("noise_multiplier").ok_or_else(|| missing("--noise-multiplier", "matrix"))?;
    Ok(MechanismSpec::Matrix {
        participation: participation(args, &strategy)?,
        strategy: StrategySpec::from(&strategy),
        noise_multiplier,
    })
}

fn missing(flag: &str, with: &str) -> Error {
    Error::invalid(format!("{flag} is missing; {with} needs it"))
}

/// A strategy by its name, or from a file.
fn strategy(args: &MechanismArgs) -> Result<Strategy, Error> {
    let word = args
        .strategy
        .as_deref()
        .ok_or_else(|| Error::invalid("--strategy is missing; give tree, banded, square-root or a file"))?;
    let named = format!("--strategy {word}");
    let count = |flag: &str, name, value: Option<f64>| {
        value.map_or_else(|| Err(missing(flag, &named)), |value| Ok(Whole(value).count(name)?))
    };
    let steps = || count("--steps", "steps", args.numbers.get("steps"));
    match word {
        "tree" => {
            refuse("--bands", args.bands, &named)?;
            Ok(Strategy::Tree { steps: steps()? })
        }
        "banded" => Ok(strategy::optimal(steps()?, count("--bands", "bands", args.bands)?, Aim::Mean)?),
        "square-root" => {
            let steps = steps()?;
            let bands = args.bands.map_or(Ok(steps), |bands| Whole(bands).count("bands"))?;
            Ok(strategy::square_root(steps, bands)?)
        }
        file => {
            refuse("--steps", args.numbers.get("steps"), "a strategy from a file")?;
            refuse("--bands", args.bands, "a strategy from a file")?;
            if !file.contains(['/', '\\', '.']) && !Path::new(file).exists() {
                return Err(Error::invalid(format!(
                    "--strategy is {}, expected tree, banded, square-root or a file",
                    super::clean(file)
                )));
            }
            strategy::read(Path::new(file))
        }
    }
}

fn refuse(flag: &str, value: Option<f64>, with: &str) -> Result<(), Error> {
    match value {
        Some(value) => Err(Error::invalid(format!("{flag} is {value}, but it cannot be used with {with}"))),
        None => Ok(()),
    }
}

/// Once, several times with a separation, or with cyclic Poisson sampling.
fn participation(args: &MechanismArgs, strategy: &Strategy) -> Result<ParticipationSpec, Error> {
    if let Some(rate) = args.cyclic_rate {
        refuse("--participations", args.participations, "--cyclic-rate")?;
        refuse("--separation", args.separation, "--cyclic-rate")?;
        // A tree has no band: any number will do until the accountant refuses it.
        let band = || strategy::band(strategy).unwrap_or(Count::ONE);
        let groups = args.groups.map_or_else(|| Whole::from(band()), Whole);
        return Ok(ParticipationSpec::CyclicPoisson { groups, rate });
    }
    refuse("--groups", args.groups, "records without cyclic Poisson sampling; add --cyclic-rate")?;
    Ok(match (args.participations, args.separation) {
        (None, None) => ParticipationSpec::Once {},
        (Some(1.0), None) => ParticipationSpec::Once {},
        (Some(_), None) => return Err(missing("--separation", "--participations")),
        (times, Some(separation)) => ParticipationSpec::Separated {
            times: times.map_or_else(|| Whole::from(strategy.steps()), Whole),
            separation: Whole(separation),
        },
    })
}
