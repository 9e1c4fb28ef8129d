//! The page in a browser: `serve`.

use clap::Args;

/// `veracity serve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity serve
  veracity serve --port 0

The page computes in the browser: nothing is sent to this program but the names of its files, and nothing leaves the machine.")]
pub struct ServeArgs {
    /// The port of this machine; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 8017)]
    pub port: u16,
}
