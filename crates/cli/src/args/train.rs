//! Private training: `train`, `predict`, `evaluate`.

use super::{ChargeArgs, audit::change};
use clap::Args;
use std::path::PathBuf;
use veracity::training::PlanChange;

/// `veracity train`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity train
  veracity train plan.toml --out model --progress
  veracity train plan.toml --out model --checkpoint-every 100
  veracity train plan.toml --out model --resume
  veracity train plan.toml --set privacy.epsilon=2 --set model.layer.0.outputs=3

A plan for a table (veracity init people.csv writes one to fill in):
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

Bounds, categories, classes and the number of records are public. A training set that is malformed is refused before the
first step; that refusal depends on the data and is outside of the guarantee.")]
pub struct TrainArgs {
    /// A TOML plan [default: a linear model of the built-in digits, epsilon 3 at delta 1e-5]
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// The folder where the plan's relative paths start [default: the plan's own]
    #[arg(long, value_name = "DIR", requires = "plan", help_heading = "Run")]
    pub data: Option<PathBuf>,
    /// Where model.safetensors, claim.json and report.html go; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "out-train", help_heading = "Output")]
    pub out: PathBuf,
    /// Replace a line of the plan before it is read, such as privacy.epsilon=2; may be given more than once
    #[arg(long, value_name = "PLACE=VALUE", help_heading = "Run", value_parser = change)]
    pub set: Vec<PlanChange>,
    /// Train without any protection, for comparison; there is no claim
    #[arg(long, help_heading = "Run", conflicts_with = "ledger")]
    pub non_private: bool,
    /// Save the run every so many steps, in the folder of --out, with its key, which is a secret until the run ends
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub checkpoint_every: Option<f64>,
    /// Resume the run that was saved there; it ends in the same bits
    #[arg(long, help_heading = "Run")]
    pub resume: bool,
    /// Replace the finished or paused run that is in the folder of --out; its claim stays there, as claim-1.json
    #[arg(long, help_heading = "Run", conflicts_with = "resume")]
    pub force: bool,
    /// What the records are called in the claim; the claims of one dataset add up [default: the name of their file]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub dataset: Option<String>,
    /// Draw from a seed, to repeat a test; the model is then not for release
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with = "ledger")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub charge: ChargeArgs,
    /// Show the accuracy on the records that it was trained on: not private, not for release
    #[arg(long, help_heading = "Output")]
    pub show_non_private: bool,
    /// Put the training loss and accuracy into report.html: not private, which it then says
    #[arg(long, help_heading = "Output")]
    pub with_training_metrics: bool,
    /// Show steps, speed, epsilon so far and time left on stderr, also where that is no terminal
    #[arg(long, help_heading = "Output")]
    pub progress: bool,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity init`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity init people.csv --label city --out plan.toml
  veracity train plan.toml

The plan is written from the header alone: no row is read, and nothing in a row changes it. Bounds, categories and classes are
public, so they are left open; until they are filled in, the plan is refused with the line that is open.")]
pub struct InitArgs {
    /// The records: CSV, TSV, Parquet, NPY, NPZ or IDX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What is to be told: a column; of NPZ an array, of NPY and IDX a file beside
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Where the plan goes, a new file [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `veracity predict`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity predict out-train/model.safetensors digits
  veracity predict model.safetensors people.csv --probabilities --header

Nothing protects the records that are predicted on, nor what is said of them.")]
pub struct PredictArgs {
    /// A model.safetensors that `veracity train` wrote
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Records of the format it was trained on; labels need not be there. `digits` for the held-out built-in ones
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// The probability of each class instead of the likeliest, with commas between them
    #[arg(long)]
    pub probabilities: bool,
    /// With --probabilities: first a line with the names of the classes
    #[arg(long, requires = "probabilities")]
    pub header: bool,
    /// Where the predictions go, one line for each record [default: stdout]
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
    /// A model.safetensors that `veracity train` wrote
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Records of the format it was trained on. `digits` for the held-out built-in ones
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Their labels, where these are in a file of their own (npy, idx)
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
