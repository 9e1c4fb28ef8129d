//! Accounting: `account`, `calibrate`, `curve`, `explain`.

use super::{
    brief,
    choice::{self, PanelsWord},
};
use crate::meaning::kind_names;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use std::{collections::BTreeMap, path::PathBuf};
use veracity::{
    Adjacency, Method,
    calibration::Solve,
    kinds::{FLAGS, Flag},
};

/// The mechanism to account for.
#[derive(Args, Clone, Default)]
#[command(allow_negative_numbers = true, next_help_heading = "Mechanism")]
pub struct MechanismArgs {
    /// The numbers of the table of kinds.
    #[command(flatten)]
    pub numbers: Numbers,
    /// matrix: tree, banded, square-root, or a file (numbers or JSON)
    #[arg(long, value_name = "S")]
    pub strategy: Option<String>,
    /// matrix: number of bands of a banded or square-root strategy
    #[arg(long, value_name = "B")]
    pub bands: Option<f64>,
    /// matrix: number of steps one record takes part in [default: 1, or as many as --separation allows]
    #[arg(long, value_name = "K")]
    pub participations: Option<f64>,
    /// matrix: minimum number of steps between two participations of a record
    #[arg(long, value_name = "B")]
    pub separation: Option<f64>,
    /// matrix: probability that a record enters a batch of its group (cyclic Poisson sampling)
    #[arg(long, value_name = "Q")]
    pub cyclic_rate: Option<f64>,
    /// matrix: number of groups; requires --cyclic-rate [default: number of bands of the strategy]
    #[arg(long, value_name = "G")]
    pub groups: Option<f64>,
    /// Number of times to repeat the mechanism
    #[arg(long, value_name = "K")]
    pub times: Option<f64>,
    /// How neighboring datasets differ [default: add-remove]
    ///
    /// The default for randomized-response is replace-one.
    #[arg(long, value_name = "A", value_parser = choice::adjacency())]
    pub adjacency: Option<Adjacency>,
    /// Privacy unit that one record stands for [default: example]
    #[arg(long, value_name = "NAME")]
    pub unit: Option<String>,
}

/// The numbers that kinds are described by, each by the field that it is for: one flag for each row of [`FLAGS`].
#[derive(Clone, Default)]
pub struct Numbers(BTreeMap<&'static str, f64>);

impl Numbers {
    /// The number for a field.
    pub fn get(&self, field: &str) -> Option<f64> {
        self.0.get(field).copied()
    }

    /// Gives a field a number, or leaves it out.
    pub fn set(&mut self, field: &'static str, number: Option<f64>) {
        match number {
            Some(number) => self.0.insert(field, number),
            None => self.0.remove(field),
        };
    }
}

impl Args for Numbers {
    fn augment_args(command: Command) -> Command {
        let arg = |flag: &Flag| {
            let arg = Arg::new(flag.name).long(flag.name).value_name(flag.value_name).help(flag.help);
            arg.value_parser(value_parser!(f64))
        };
        command.args(FLAGS.iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Numbers::augment_args(command)
    }
}

impl FromArgMatches for Numbers {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Numbers, clap::Error> {
        let given = FLAGS.iter().filter_map(|flag| Some((flag.field, *matches.get_one::<f64>(flag.name)?)));
        Ok(Numbers(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Numbers::from_arg_matches(matches)?.0);
        Ok(())
    }
}

/// The short help of a mechanism.
const KIND_HELP: &str = "Mechanism (gaussian, dp-sgd, …), or file with a plan or dp_accounting events";
/// The same for arguments that may also be claims.
const SUBJECT_HELP: &str =
    "Mechanism (gaussian, dp-sgd, …), or file with a plan, dp_accounting events or claims";

/// The long help of a mechanism: all types that have flags.
fn kind_help() -> String {
    format!("{KIND_HELP}\n\nMechanisms: {}. A plan is a TOML file, events are JSON.", kind_names())
}

/// The same for arguments that may also be claims.
fn subject_help() -> String {
    format!(
        "{SUBJECT_HELP}\n\nMechanisms: {}. A plan is a TOML file, events are JSON.\n\nClaims are files, or folders of them, and must be about the same dataset.",
        kind_names()
    )
}

/// Examples of `veracity account`, and a plan.
const ACCOUNT_EXAMPLES: &str = "\
Examples:
  veracity account gaussian --sigma 4 --sensitivity 2 --delta 1e-6
  veracity account laplace --scale 10 --sensitivity 1 --times 50 --delta 1e-6 --compare
  veracity account randomized-response --noise-parameter 0.5 --buckets 2 --delta 0
  veracity account matrix --strategy tree --steps 1000 --noise-multiplier 5 --delta 1e-6
  veracity account matrix --strategy banded --steps 1000 --bands 10 --noise-multiplier 2 --cyclic-rate 0.1 --delta 1e-6
  veracity account plan.toml --delta 1e-6 --json --claim claim.json
  veracity account events.json --delta 1e-6
  veracity account mean-of-age.claim.json count.claim.json --delta 1e-6
  veracity account claims/ --delta 1e-6

Claims about one dataset are composed: the answer is the leakage of all their releases
together, the same as for a plan that lists their mechanisms.

A plan:
  adjacency = \"add-remove\"
  unit = \"user\"
  [[mechanism]]
  kind = \"dp-sgd\"
  sampling_rate = 0.01
  noise_multiplier = 1.1
  steps = 1000
  [[mechanism]]
  kind = \"laplace\"
  scale = 10
  sensitivity = 1
  times = 3";

/// The examples, and every type of mechanism that a plan may list.
fn account_help() -> String {
    format!(
        "{ACCOUNT_EXAMPLES}\n\nTypes of mechanisms (kind) in a plan, with their fields. Every type also accepts times = K.\n\
         The field mechanism is a table, parts is an array of tables.\n{}",
        veracity::kinds::table().trim_end()
    )
}

/// The flags of a mechanism in `-h`; those of rarer mechanisms are in `--help` only.
const MAIN: &str = "\
    noise-multiplier sigma scale sensitivity sampling-rate batch-size dataset-size steps epochs \
    times adjacency unit delta epsilon method compare claim json solve kind out prior \
    noise-parameter buckets strategy";

/// `veracity account`.
#[derive(Args)]
#[command(
    mut_args = brief(MAIN),
    after_help = "\
Examples:
  veracity account gaussian --noise-multiplier 2 --times 10 --delta 1e-5
  veracity account dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-5
  veracity account claims/ --delta 1e-6

More options, examples and the format of a plan: veracity account --help",
    after_long_help = account_help()
)]
pub struct AccountArgs {
    #[arg(value_name = "KIND", help = SUBJECT_HELP, long_help = subject_help(), required = true)]
    pub subject: Vec<String>,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// Compute ε at this δ
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: Option<f64>,
    /// Compute δ at this ε
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: Option<f64>,
    /// Accounting method [default: the tightest that certifies a bound]
    #[arg(long, value_name = "M", value_parser = choice::method(), help_heading = "Question", conflicts_with = "compare")]
    pub method: Option<Method>,
    /// Compare all methods, and mark which of them are bounds
    #[arg(long, help_heading = "Question")]
    pub compare: bool,
    /// Compose claims as claims about this dataset, whatever dataset each names
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub dataset: Option<String>,
    /// Write the result to a new claim file, which `veracity verify` can check
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "compare")]
    pub claim: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity calibrate`.
#[derive(Args)]
#[command(mut_args = brief(MAIN), after_help = "\
Examples:
  veracity calibrate gaussian --epsilon 1 --delta 1e-5
  veracity calibrate gaussian --sensitivity 4 --times 20 --epsilon 1 --delta 1e-5
  veracity calibrate matrix --strategy tree --steps 1000 --epsilon 3 --delta 1e-5
  veracity calibrate dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --epsilon 3 --delta 1e-5 --solve steps
  veracity calibrate dp-sgd --steps 1000 --noise-multiplier 1 --epsilon 3 --delta 1e-5 --solve sampling-rate")]
pub struct CalibrateArgs {
    #[arg(value_name = "KIND", help = KIND_HELP, long_help = kind_help())]
    pub kind: String,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// ε of the privacy budget
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: f64,
    /// δ of the privacy budget
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: f64,
    /// Quantity to solve for
    #[arg(long, value_name = "WHAT", default_value = "noise", value_parser = choice::solve(), help_heading = "Question")]
    pub solve: Solve,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity curve`.
#[derive(Args)]
#[command(mut_args = brief(MAIN), after_help = "\
Examples:
  veracity curve gaussian --noise-multiplier 1 --out profile.svg
  veracity curve dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-6 --out slide.png
  veracity curve plan.toml --kind profile --out profile.csv")]
pub struct CurveArgs {
    #[arg(value_name = "KIND", help = KIND_HELP, long_help = kind_help())]
    pub subject: String,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// δ at which the caption states ε
    #[arg(long, value_name = "D", default_value = "1e-5", help_heading = "Question")]
    pub delta: f64,
    /// Curve to plot
    #[arg(long = "kind", value_name = "WHAT", default_value = "both", help_heading = "Output")]
    pub what: PanelsWord,
    /// Output file; the ending .svg, .png or .csv selects the format
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: PathBuf,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity explain`.
#[derive(Args)]
#[command(mut_args = brief(MAIN), after_help = "\
Examples:
  veracity explain --epsilon 1 --delta 1e-5
  veracity explain gaussian --noise-multiplier 2 --delta 1e-5 --unit patient
  veracity explain plan.toml --delta 1e-6 --prior 0.001")]
pub struct ExplainArgs {
    #[arg(value_name = "KIND", help = KIND_HELP, long_help = kind_help())]
    pub kind: Option<String>,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// δ to explain [default: 1e-5, unless --epsilon is given]
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: Option<f64>,
    /// ε to explain
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: Option<f64>,
    /// Attacker's prior belief, from 0 to 1; repeatable [default: 0.01 and 0.5]
    #[arg(long, value_name = "P", help_heading = "Question")]
    pub prior: Vec<f64>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
