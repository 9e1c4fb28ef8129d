//! Private training: `train`, `predict`, `evaluate`.

use clap::Args;
use std::path::PathBuf;

/// `veracity train`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity train
  veracity train plan.toml --out model --progress
  veracity train plan.toml --out model --checkpoint-every 100
  veracity train plan.toml --out model --resume

A plan:
  [data]
  format = \"idx\"
  path = \"train-images-idx3-ubyte.gz\"
  labels = \"train-labels-idx1-ubyte.gz\"
  classes = 10
  [[model.layer]]
  kind = \"linear\"
  outputs = 10
  [training]
  batch_size = 512
  epochs = 10
  learning_rate = 0.5
  [privacy]
  epsilon = 3
  delta = 1e-5
  clip_norm = 1

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
    /// Train without any protection, for comparison; there is no claim
    #[arg(long, help_heading = "Run")]
    pub non_private: bool,
    /// Lay the run aside every so many steps, in the folder of --out, with its key, which is a secret until the run ends
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub checkpoint_every: Option<f64>,
    /// Take up a run that was laid aside there, with the same bits
    #[arg(long, help_heading = "Run")]
    pub resume: bool,
    /// Replace the finished or paused run that is in the folder of --out; its claim stays there, as claim-1.json
    #[arg(long, help_heading = "Run", conflicts_with = "resume")]
    pub force: bool,
    /// What the records are called in the claim; the claims of one dataset add up [default: the name of their file]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub dataset: Option<String>,
    /// Draw from a seed, to repeat a test; the model is then not for release
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub seed: Option<u64>,
    /// Show how right the model is on the records it was trained on: not private, not for release
    #[arg(long, help_heading = "Output")]
    pub show_non_private: bool,
    /// Put the training loss and how right the model is on its own records into report.html: not private, which it then says
    #[arg(long, help_heading = "Output")]
    pub with_training_metrics: bool,
    /// Show steps, speed, epsilon so far and time left on stderr, also where that is no terminal
    #[arg(long, help_heading = "Output")]
    pub progress: bool,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity predict`.
#[derive(Args)]
#[command(after_help = "Example:\n  veracity predict out-train/model.safetensors digits")]
pub struct PredictArgs {
    /// A model.safetensors that `veracity train` wrote
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Records of the format it was trained on; labels need not be there. `digits` for the held-out built-in ones
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
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
