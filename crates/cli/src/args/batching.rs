//! One training run under different batching schemes: `batching`.

use clap::Args;

/// `veracity batching`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  veracity batching --dataset-size 60000 --batch-size 256 --noise-multiplier 1 --epochs 10 --delta 1e-5
  veracity batching --dataset-size 1000000 --batch-size 100 --noise-multiplier 0.5 --epochs 1 --delta 1e-6
  veracity batching --dataset-size 60000 --batch-size 256 --max-batch 320 --noise-multiplier 1 --epochs 1 --delta 1e-5

Most trainers shuffle, but most accountants assume Poisson batches. The command shows
how much the two differ. An incomplete batch at the end of an epoch is dropped."
)]
pub struct BatchingArgs {
    /// Number of records
    #[arg(long, value_name = "N")]
    pub dataset_size: f64,
    /// Records per batch; the mean if batches are Poisson
    #[arg(long, value_name = "B")]
    pub batch_size: f64,
    /// Noise standard deviation divided by the clipping norm
    #[arg(long, value_name = "S")]
    pub noise_multiplier: f64,
    /// Number of passes over the data
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    pub epochs: f64,
    /// Maximum batch size; larger Poisson batches are truncated
    #[arg(long, value_name = "M")]
    pub max_batch: Option<f64>,
    /// δ at which to compute ε
    #[arg(long, value_name = "D", default_value = "1e-5")]
    pub delta: f64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
