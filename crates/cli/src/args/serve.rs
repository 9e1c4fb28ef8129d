//! The interactive web page: `serve`.

use clap::Args;

/// `veracity serve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity serve
  veracity serve --port 0

The page runs in your browser and computes there. The server only delivers its files,
and no data leaves your machine.")]
pub struct ServeArgs {
    /// Port on localhost; 0 picks a free port
    #[arg(long, value_name = "N", default_value_t = 8017)]
    pub port: u16,
}
