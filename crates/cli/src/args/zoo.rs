//! The arguments of `veracity zoo`.

use clap::Args;

/// `veracity zoo`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  veracity zoo\n  veracity zoo float-laplace noise-reused\n  veracity zoo --honest --json\n  veracity zoo --powers"
)]
pub struct ZooArgs {
    /// Which bugs [default: all of them]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Audit the same code without its bugs: none of it should be refuted
    #[arg(long)]
    pub honest: bool,
    /// Try the same four audits on each, none told which bug it faces, and print what each of them takes
    #[arg(long)]
    pub powers: bool,
    /// The most trainings of each with --powers
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "powers")]
    pub trainings: u64,
    /// The chance of error to spend on each
    #[arg(long, value_name = "P", default_value_t = 1e-3)]
    pub significance: f64,
    /// What trials draw from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Show which bug is audited on stderr, also where that is no terminal
    #[arg(long)]
    pub progress: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
