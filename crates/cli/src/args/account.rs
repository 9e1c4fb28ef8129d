//! What a mechanism leaks: `account`, `calibrate`, `curve`, `explain`.

use super::choice::{self, PanelsWord};
use clap::Args;
use std::path::PathBuf;
use veracity::{Adjacency, Method, calibration::Solve};

/// What is done to the data.
#[derive(Args, Clone, Default)]
#[command(allow_negative_numbers = true, next_help_heading = "Mechanism")]
pub struct MechanismArgs {
    /// Standard deviation (gaussian) or scale (laplace) of the noise, divided by one record's largest contribution
    #[arg(long, value_name = "S")]
    pub noise_multiplier: Option<f64>,
    /// Standard deviation of the noise, with --sensitivity
    #[arg(long, value_name = "SIGMA")]
    pub sigma: Option<f64>,
    /// Scale of Laplace noise, with --sensitivity
    #[arg(long, value_name = "B")]
    pub scale: Option<f64>,
    /// How far one record, added or removed, can move the answer
    #[arg(long, value_name = "C")]
    pub sensitivity: Option<f64>,
    /// dp-sgd: the chance with which each record enters a batch
    #[arg(long, value_name = "Q")]
    pub sampling_rate: Option<f64>,
    /// dp-sgd: the expected batch size, with --dataset-size
    #[arg(long, value_name = "B")]
    pub batch_size: Option<f64>,
    /// dp-sgd: the number of records
    #[arg(long, value_name = "N")]
    pub dataset_size: Option<f64>,
    /// dp-sgd, matrix: the number of steps
    #[arg(long, value_name = "T")]
    pub steps: Option<f64>,
    /// dp-sgd: the number of passes over the data, instead of --steps
    #[arg(long, value_name = "E")]
    pub epochs: Option<f64>,
    /// randomized-response: the chance that a report ignores the truth
    #[arg(long, value_name = "P")]
    pub noise_parameter: Option<f64>,
    /// randomized-response: the number of possible reports
    #[arg(long, value_name = "K")]
    pub buckets: Option<f64>,
    /// exponential: the range of its losses, 2 × sensitivity ÷ temperature (--epsilon means the same unless both are given)
    #[arg(long, value_name = "E")]
    pub range: Option<f64>,
    /// matrix: tree, banded (the best band for running sums), square-root, or a file: rows of numbers, or JSON
    #[arg(long, value_name = "S")]
    pub strategy: Option<String>,
    /// matrix: how many bands a banded or square-root strategy has
    #[arg(long, value_name = "B")]
    pub bands: Option<f64>,
    /// matrix: in how many steps one record takes part [default: one, or as many as --separation lets fit]
    #[arg(long, value_name = "K")]
    pub participations: Option<f64>,
    /// matrix: how many steps lie at least from one of them to the next
    #[arg(long, value_name = "B")]
    pub separation: Option<f64>,
    /// matrix: records are divided into groups that take turns, and enter the batch of their group with this chance
    #[arg(long, value_name = "Q")]
    pub cyclic_rate: Option<f64>,
    /// matrix: how many groups take turns, with --cyclic-rate [default: as many as the strategy has bands]
    #[arg(long, value_name = "G")]
    pub groups: Option<f64>,
    /// Repeat it this many times
    #[arg(long, value_name = "K")]
    pub times: Option<f64>,
    /// Which datasets must look alike [default: add-remove; replace-one for randomized-response]
    #[arg(long, value_name = "A", value_parser = choice::adjacency())]
    pub adjacency: Option<Adjacency>,
    /// Whose data one record is [default: example]
    #[arg(long, value_name = "NAME")]
    pub unit: Option<String>,
}

/// What stands for a kind in the usage line.
const KIND_HELP: &str = "gaussian, laplace, discrete-gaussian, discrete-laplace, randomized-response, exponential, dp-sgd, \
                         matrix, or the path of a TOML plan or of dp_accounting's events as JSON";

/// The same where claims may stand for it.
const ACCOUNT_HELP: &str = "gaussian, laplace, discrete-gaussian, discrete-laplace, randomized-response, exponential, dp-sgd, \
                            matrix, the path of a TOML plan or of dp_accounting's events as JSON, or claims of one dataset: \
                            files, or folders of them";

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

Claims of one dataset, as files or as a folder of them, are composed: the answer is what all of their releases together
leak, and is that of a plan which lists their mechanisms.

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

/// The examples, and every kind that a plan may list.
fn account_help() -> String {
    format!(
        "{ACCOUNT_EXAMPLES}\n\nKinds that a plan may list, with their fields. Each may have times = K beside them; mechanism is a table, parts\n\
         an array of tables.\n{}",
        veracity::kinds::table().trim_end()
    )
}

/// `veracity account`.
#[derive(Args)]
#[command(after_help = account_help())]
pub struct AccountArgs {
    #[arg(value_name = "KIND", help = ACCOUNT_HELP, required = true)]
    pub subject: Vec<String>,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// Ask for ε at this δ
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: Option<f64>,
    /// Ask for δ at this ε
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: Option<f64>,
    /// How it is accounted for [default: the tightest that certifies]
    #[arg(long, value_name = "M", value_parser = choice::method(), help_heading = "Question", conflicts_with = "compare")]
    pub method: Option<Method>,
    /// All methods side by side, with which of them are bounds
    #[arg(long, help_heading = "Question")]
    pub compare: bool,
    /// With claims: take them all as of this one dataset, whatever each calls its data
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub dataset: Option<String>,
    /// Write the answer down as a claim that `veracity verify` checks, in a new file
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "compare")]
    pub claim: Option<PathBuf>,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity calibrate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity calibrate gaussian --epsilon 1 --delta 1e-5
  veracity calibrate gaussian --sensitivity 4 --times 20 --epsilon 1 --delta 1e-5
  veracity calibrate matrix --strategy tree --steps 1000 --epsilon 3 --delta 1e-5
  veracity calibrate dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --epsilon 3 --delta 1e-5 --solve steps
  veracity calibrate dp-sgd --steps 1000 --noise-multiplier 1 --epsilon 3 --delta 1e-5 --solve sampling-rate")]
pub struct CalibrateArgs {
    #[arg(value_name = "KIND", help = KIND_HELP)]
    pub kind: String,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// The ε to keep within
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: f64,
    /// The δ it is for
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: f64,
    /// What to look for
    #[arg(long, value_name = "WHAT", default_value = "noise", value_parser = choice::solve(), help_heading = "Question")]
    pub solve: Solve,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity curve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity curve gaussian --noise-multiplier 1 --out profile.svg
  veracity curve dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-6 --out slide.png
  veracity curve plan.toml --kind profile --out profile.csv")]
pub struct CurveArgs {
    #[arg(value_name = "KIND", help = KIND_HELP)]
    pub subject: String,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// The δ of the caption
    #[arg(long, value_name = "D", default_value_t = 1e-5, help_heading = "Question")]
    pub delta: f64,
    /// What to draw
    #[arg(long = "kind", value_name = "WHAT", default_value = "both", help_heading = "Output")]
    pub what: PanelsWord,
    /// Where to: a path that ends in .svg, .png or .csv
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: PathBuf,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity explain --epsilon 1 --delta 1e-5
  veracity explain gaussian --noise-multiplier 2 --delta 1e-5 --unit patient
  veracity explain plan.toml --delta 1e-6 --prior 0.001")]
pub struct ExplainArgs {
    #[arg(value_name = "KIND", help = KIND_HELP)]
    pub kind: Option<String>,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// The δ to explain [default: 1e-5, unless --epsilon is given]
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: Option<f64>,
    /// The ε to explain
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: Option<f64>,
    /// What the attacker believes beforehand, from 0 to 1; may be given more than once [default: 0.01 and 0.5]
    #[arg(long, value_name = "P", help_heading = "Question")]
    pub prior: Vec<f64>,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
