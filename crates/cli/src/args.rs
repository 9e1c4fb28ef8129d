//! The arguments, as typed. What they mean is decided in `meaning`.

mod account;
mod answer;
mod audit;
mod batching;
mod bound;
pub mod choice;
mod ledger;
mod local;
mod query;
mod release;
mod serve;
mod strategy;
mod train;
mod zoo;

pub use account::{AccountArgs, CalibrateArgs, CurveArgs, ExplainArgs, MechanismArgs};
pub use answer::AnswerArgs;
pub use audit::{AuditAction, AuditArgs};
pub use batching::BatchingArgs;
pub use bound::{BoundArgs, BoundCommand, BoundOneRunArgs, BoundPowerArgs, BoundQuestion, BoundScoresArgs};
pub use ledger::{
    ChargeArgs, LedgerCommand, LedgerCreateArgs, LedgerExportArgs, LedgerPlotArgs, LedgerShowArgs,
    LedgerVerifyArgs,
};
pub use local::{DomainArgs, LocalCommand, LocalEncodeArgs, LocalEstimateArgs, LocalPlanArgs};
pub use query::QueryArgs;
pub use release::{FormArgs, ReleaseArgs};
pub use serve::ServeArgs;
pub use strategy::StrategyArgs;
pub use train::{EvaluateArgs, InitArgs, PredictArgs, TrainArgs};
pub use zoo::ZooArgs;

use choice::ColorWord;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;
use veracity::training::PlanChange;

/// Differential privacy that can be checked.
#[derive(Parser)]
#[command(name = "veracity", version, about, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Nothing on stderr but errors: no progress, no remarks
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// Whether verdicts have a colour
    #[arg(
        long,
        alias = "colour",
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Everywhere"
    )]
    pub color: ColorWord,
}

const EXAMPLES: &str = "\
Examples:
  veracity account gaussian --noise-multiplier 2 --times 10 --delta 1e-5
  veracity account dp-sgd --batch-size 256 --dataset-size 60000 --noise-multiplier 1 --epochs 10 --delta 1e-5
  veracity calibrate dp-sgd --sampling-rate 0.01 --steps 1000 --epsilon 2 --delta 1e-5
  veracity explain laplace --scale 2 --sensitivity 1 --delta 0
  veracity curve gaussian --noise-multiplier 1 --out profile.svg
  veracity bound --tp 4922 --fn 95078 --fp 174 --tn 99826

Exit codes: 0 done, 1 refuted or over budget, 2 error: one line on stderr, which with --json is a JSON object, 3 an audit that was not able to tell.";

/// What can be done.
#[derive(Subcommand)]
pub enum Command {
    /// What a mechanism leaks: ε at a δ, or δ at an ε, certified from both sides
    Account(AccountArgs),
    /// The least noise, the most steps or the largest sampling rate for a budget
    Calibrate(CalibrateArgs),
    /// The privacy profile δ(ε) and the trade-off curve f(α), as SVG, PNG or CSV
    Curve(CurveArgs),
    /// A guarantee in words, for the people whose data it is
    Explain(ExplainArgs),
    /// One training run in Poisson, fixed-size, balls-and-bins and shuffled batches: what each leaks, and the gap
    Batching(BatchingArgs),
    /// The best strategy for correlated noise (DP-FTRL): a band for running sums, beside trees and square roots
    Strategy(StrategyArgs),
    /// Attacks a claim and bounds ε from below: the proof, the attack and the verdict between them
    Audit(Box<AuditArgs>),
    /// A lower bound on ε from counts, from one run's guesses or from recorded scores; how many trials a claim needs
    Bound(BoundArgs),
    /// One private statistic of a column of a file: count, sum, mean, variance, median, quantile or histogram
    Release(ReleaseArgs),
    /// A budget in a durable file, charged before anything is released and never overdrawn
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Questions in SQL about people, within a budget: one bounded plan, the engine of your choice, exact noise
    Query(QueryArgs),
    /// Local privacy: plan a collection, randomise on the client, estimate on the server
    #[command(subcommand)]
    Local(LocalCommand),
    /// A training plan to fill in, written from the header of a file alone
    Init(InitArgs),
    /// Trains a model by a TOML plan, privately; without a plan, on the built-in handwritten digits
    Train(TrainArgs),
    /// What a trained model says of records
    Predict(PredictArgs),
    /// The accuracy of a trained model on held-out records
    Evaluate(EvaluateArgs),
    /// Recomputes claims and certificates, matches models with their claims, and says whether all hold
    Verify(VerifyArgs),
    /// Shows the accountant, claims and an audit in a browser: a page that this machine serves to itself alone
    Serve(ServeArgs),
    /// Audits every planted bug: what caught it, the ε shown, trials and seconds
    Zoo(ZooArgs),
    /// Prints a completion script for a shell
    Completions(CompletionsArgs),
    /// Writes the manual pages
    Man(ManArgs),
}

/// `veracity verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity verify mean-of-age.claim.json
  veracity verify out-train
  veracity verify out-audit/certificate.json
  veracity verify out-audit/certificate.json --rerun 20 --key auditor.pub

A claim's numbers are recomputed; its answer, or the model beside it, must be the one that it was written with. Of a folder
everything is checked: claims, certificates, and that every model has its claim and every claim its model.

Exit codes: 0 all hold, 1 something does not, 2 error, or nothing to verify.")]
pub struct VerifyArgs {
    /// A claim, a certificate.json with its trials.csv beside it, a model, or a folder of such files
    #[arg(value_name = "PATH")]
    pub file: PathBuf,
    /// Of a certificate: run N of its trials again, drawn at random, and compare their scores to the bit
    #[arg(long, value_name = "N")]
    pub rerun: Option<f64>,
    /// Of a certificate of a training: its plan, which says where the records are
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// With --plan: replace a line of it before it is read, as the audit did; may be given more than once
    #[arg(long, value_name = "PLACE=VALUE", value_parser = audit::change, requires = "plan")]
    pub set: Vec<PlanChange>,
    /// Of a certificate of a command: the same command line, which --rerun may run
    #[arg(long, value_name = "LINE", requires = "rerun", conflicts_with = "plan")]
    pub command: Option<String>,
    /// With --command: the records that it was run on
    #[arg(long, value_name = "FILE", requires = "command", requires = "canary")]
    pub data: Option<PathBuf>,
    /// With --data: the canary
    #[arg(long, value_name = "FILE", requires = "data")]
    pub canary: Option<PathBuf>,
    /// Of a certificate: a public key of minisign, by which certificate.json.minisig beside it must be signed
    #[arg(long, value_name = "PUBKEY")]
    pub key: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `veracity completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// `veracity man`.
#[derive(Args)]
#[command(after_help = "Example:\n  veracity man --out man/man1")]
pub struct ManArgs {
    /// The folder for the pages, one for each command; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}
