//! The arguments of `veracity zoo`.

use clap::Args;

/// `veracity zoo`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  veracity zoo\n  veracity zoo float-laplace noise-reused\n  veracity zoo --honest --json\n  veracity zoo --powers"
)]
pub struct ZooArgs {
    /// Planted bugs to audit [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Audit the correct versions instead, as a control: none should be refuted
    #[arg(long)]
    pub honest: bool,
    /// Run four generic audits on each bug; print the training runs each needs
    ///
    /// The audits are not adapted to the bug they face.
    #[arg(long)]
    pub powers: bool,
    /// Maximum training runs per audit; requires --powers
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "powers")]
    pub trainings: u64,
    /// Significance level of each audit
    #[arg(long, value_name = "P", default_value_t = 1e-3)]
    pub significance: f64,
    /// Seed for the trials
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Show progress on stderr, even if it is not a terminal
    #[arg(long)]
    pub progress: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
