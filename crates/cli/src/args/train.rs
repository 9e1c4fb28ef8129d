//! Private training: `train`, `predict`, `evaluate`.

use super::{ChargeArgs, audit::change, brief};
use clap::Args;
use std::path::PathBuf;
use veracity::training::PlanChange;

/// The flags of `veracity train -h`.
const MAIN: &str = "data set out checkpoint-every resume force ledger progress json";

/// `veracity train`.
#[derive(Args)]
#[command(
    mut_args = brief(MAIN),
    after_help = "\
Examples:
  veracity train plan.toml --out model --progress
  veracity train plan.toml --set privacy.epsilon=2
  veracity train plan.toml --out model --resume

More options, examples and the format of a plan: veracity train --help",
    after_long_help = "\
Examples:
  veracity train
  veracity train plan.toml --out model --progress
  veracity train plan.toml --out model --checkpoint-every 100
  veracity train plan.toml --out model --resume
  veracity train plan.toml --set privacy.epsilon=2 --set model.layer.0.outputs=3

A plan for a table (`veracity init people.csv` writes a template):
  [data]
  format = \"csv\"
  path = \"people.csv\"
  label = \"income\"
  label_bounds = [0, 200000]
  [[data.column]]
  name = \"age\"
  bounds = [0, 100]
  [[data.column]]
  name = \"city\"
  categories = [\"Basel\", \"Bern\", \"Chur\", \"Genf\"]
  unknown = \"other\"
  [[model.layer]]
  kind = \"linear\"
  outputs = 1
  [training]
  loss = \"squared\"
  batch_size = 200
  epochs = 10
  learning_rate = 0.5
  [privacy]
  epsilon = 3
  delta = 1e-5
  clip_norm = 1

For images, [data] may be:
  format = \"idx\"
  path = \"train-images-idx3-ubyte.gz\"
  labels = \"train-labels-idx1-ubyte.gz\"
  classes = 10

The guarantee treats bounds, categories, classes and the number of records as public. A
malformed training set is refused before the first step. This refusal depends on the
data and is not covered by the guarantee."
)]
pub struct TrainArgs {
    /// Training plan (TOML) [default: a linear model of the built-in digits, ε = 3 at δ = 1e-5]
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Base folder of relative paths in the plan [default: its own folder]
    #[arg(long, value_name = "DIR", requires = "plan", help_heading = "Run")]
    pub data: Option<PathBuf>,
    /// Output folder for the model, its claim and the report
    ///
    /// The files are model.safetensors, claim.json and report.html. The folder is created if missing.
    #[arg(long, value_name = "DIR", default_value = "out-train", help_heading = "Output")]
    pub out: PathBuf,
    /// Override a setting of the plan, such as privacy.epsilon=2; repeatable
    #[arg(long, value_name = "PLACE=VALUE", help_heading = "Run", value_parser = change)]
    pub set: Vec<PlanChange>,
    /// Train without privacy, for comparison; writes no claim
    #[arg(long, help_heading = "Run", conflicts_with = "ledger")]
    pub non_private: bool,
    /// Save a checkpoint every N steps in the folder of --out
    ///
    /// Keep checkpoint.key secret until the run ends: anyone who has the key and the model can subtract the noise.
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub checkpoint_every: Option<f64>,
    /// Resume from the checkpoint
    ///
    /// The result is bit-identical to that of an uninterrupted run.
    #[arg(long, help_heading = "Run")]
    pub resume: bool,
    /// Replace an earlier run in the folder of --out
    ///
    /// Its claim is kept as claim-1.json, because what that run spent stays spent.
    #[arg(long, help_heading = "Run", conflicts_with = "resume")]
    pub force: bool,
    /// Dataset name in the claim [default: name of the data file]
    ///
    /// Claims about the same dataset are composed.
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub dataset: Option<String>,
    /// Draw the noise from a seed, for tests only; do not publish the model
    ///
    /// Anyone who knows the seed can subtract the noise.
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with = "ledger")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub charge: ChargeArgs,
    /// Print the accuracy on the training records; not private, do not publish it
    #[arg(long, help_heading = "Output")]
    pub show_non_private: bool,
    /// Add training loss and accuracy to report.html, which is then not private
    #[arg(long, help_heading = "Output")]
    pub with_training_metrics: bool,
    /// Show progress on stderr, even if it is not a terminal
    #[arg(long, help_heading = "Output")]
    pub progress: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity init`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity init people.csv --label city --out plan.toml
  veracity train plan.toml

The template depends on the header only: the command reads no rows. Bounds, categories
and classes must be public knowledge, so the template has FILL IN in their place.
`veracity train` refuses a plan that is not filled in and names the line.")]
pub struct InitArgs {
    /// Data file: CSV, TSV, Parquet, NPY, NPZ or IDX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Target to predict
    ///
    /// A column (CSV, TSV, Parquet), an array (NPZ) or a separate label file (NPY, IDX).
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// New output file for the plan [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `veracity predict`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity predict out-train/model.safetensors digits
  veracity predict model.safetensors people.csv --probabilities --header

Predictions are not private: neither the input records nor the predicted labels are
protected.")]
pub struct PredictArgs {
    /// model.safetensors written by `veracity train`
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Records in the format of the training data, or digits for the built-in test set
    ///
    /// Labels may be missing.
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Print the probability of each class, separated by commas
    #[arg(long)]
    pub probabilities: bool,
    /// Print the class names first; requires --probabilities
    #[arg(long, requires = "probabilities")]
    pub header: bool,
    /// Output file for the predictions, one line per record [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `veracity evaluate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity evaluate out-train/model.safetensors digits
  veracity evaluate model.safetensors t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz")]
pub struct EvaluateArgs {
    /// model.safetensors written by `veracity train`
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Records in the format of the training data, or digits for the built-in test set
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Label file, if labels are in a separate file (NPY, IDX)
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
