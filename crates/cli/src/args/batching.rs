//! One training run in different batches: `batching`.

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

A batch that is not full at the end of an epoch is dropped. Most trainers shuffle; most accountants assume Poisson batches."
)]
pub struct BatchingArgs {
    /// The number of records
    #[arg(long, value_name = "N")]
    pub dataset_size: f64,
    /// Records in a batch, on average where batches are drawn at random
    #[arg(long, value_name = "B")]
    pub batch_size: f64,
    /// Standard deviation of the noise, divided by the clip norm
    #[arg(long, value_name = "S")]
    pub noise_multiplier: f64,
    /// Passes over the data
    #[arg(long, value_name = "E", default_value_t = 1.0)]
    pub epochs: f64,
    /// The largest batch that fits: Poisson batches beyond it are truncated
    #[arg(long, value_name = "M")]
    pub max_batch: Option<f64>,
    /// The δ at which ε is asked
    #[arg(long, value_name = "D", default_value_t = 1e-5)]
    pub delta: f64,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
