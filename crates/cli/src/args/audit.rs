//! The arguments of `veracity audit`, as typed.

use super::{
    MechanismArgs, brief,
    choice::{self, ScoreWord},
};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use veracity::training::PlanChange;

/// The flags of `veracity audit -h`.
const MAIN: &str = "\
    command data canary scores mechanism one-run replay claim claim-epsilon claim-delta trials \
    budget jobs resume out json";

/// `veracity audit`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    args_conflicts_with_subcommands = true,
    mut_args = brief(MAIN),
    after_help = "\
Examples:
  veracity audit plan.toml --trials 2000
  veracity audit --command './trial {world} {seed} {out}' --claim claim.json
  veracity audit --mechanism laplace --scale 2 --sensitivity 1 --claim-epsilon 0.4 --claim-delta 0

More options, examples and explanations: veracity audit --help",
    after_long_help = "\
Examples:
  Attack the built-in training run, alone and against a claim that is too small:
    veracity audit
    veracity audit --claim-epsilon 0.5

  Attack a training plan:
    veracity audit plan.toml --trials 2000
    veracity audit plan.toml --set privacy.epsilon=2
    veracity audit plan.toml --attack clip-bkd --copies 4 --worst-case-start --trials 1000 --out audit
    veracity audit plan.toml --device cuda:0 --trials 1e6
    veracity audit --one-run plan.toml --canaries 1000 --canary mislabelled

  Attack a program in any language:
    veracity audit --command 'python train.py --data {data} --seed {seed} --out {out}' --data train.csv --canary canary.csv \\
        --claim dp-sgd --noise-multiplier 1.1 --sampling-rate 0.01 --steps 500 --trials 1000 --jobs 8 --out audit

  Attack a mechanism:
    veracity audit --mechanism dp-sgd --sampling-rate 0.3 --noise-multiplier 1.5 --steps 30
    veracity audit --mechanism discrete-laplace --scale 2 --claim-epsilon 0.4 --claim-delta 0

  Evaluate recorded scores, a trained model or recorded traces:
    veracity audit --scores scores.csv --claim claim.json
    veracity audit --scores scores.csv --claim-epsilon 1 --claim-delta 1e-5
    veracity audit --model model.safetensors --canaries-file canaries.csv --claim-epsilon 4 --claim-delta 1e-5
    veracity audit --replay --trace d.jsonl --trace-neighbor d2.jsonl

  Split an audit into shards and merge them:
    veracity audit … --shard 0/2 --out a
    veracity audit … --shard 1/2 --out b
    veracity audit merge a b --out whole
    veracity verify whole/certificate.json

Each trial runs the subject once. In half of the trials the canary (a record that an
attacker looks for) is included, in the others it is not. The attack gives each trial a
score. If the scores separate the two cases better than the claim allows, the audit
refutes the claim.

In a command line, these placeholders are replaced for each trial:
  {data}   path of the data file, with or without the canary
  {seed}   an integer below 2^32
  {out}    path of the file into which the program writes its score: one number;
           higher means stronger evidence that the canary was included
  {world}  in (with the canary) or out (without it)

A failed run counts as evidence, because failing more often with the canary leaks
information. Retrying assumes that failures do not depend on the canary, so an audit
with retries cannot refute a claim.

Exit codes: 0 not refuted, 1 refuted, 2 error, 3 inconclusive."
)]
pub struct AuditArgs {
    /// Other actions on audits.
    #[command(subcommand)]
    pub action: Option<AuditAction>,
    /// Training plan to attack [default: a linear model of the built-in handwritten digits]
    #[arg(value_name = "PLAN", conflicts_with_all = ["command", "scores"])]
    pub plan: Option<PathBuf>,
    /// Override a setting of the plan, such as privacy.epsilon=2; repeatable
    #[arg(long, value_name = "PLACE=VALUE", help_heading = "Subject", value_parser = change, conflicts_with_all = ["command", "scores", "mechanism", "model"])]
    pub set: Vec<PlanChange>,
    /// Attack a program: run this command line once per trial, without a shell
    ///
    /// See the placeholders below.
    #[arg(long, value_name = "LINE", help_heading = "Subject", conflicts_with = "scores")]
    pub command: Option<String>,
    /// Keep the command running and send it the trials as JSON lines
    ///
    /// It reads {"id", "seed", "data" or "world"} per trial and answers {"id", "score"}. This saves the startup time of each trial.
    #[arg(long, help_heading = "Subject", requires = "command")]
    pub worker: bool,
    /// Evaluate recorded scores: a CSV file with the columns world and score
    ///
    /// world is in (with the canary) or out (without it). A column trial is optional.
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub scores: Option<PathBuf>,
    /// Attack a built-in mechanism, such as laplace, or a TOML plan of mechanisms
    ///
    /// One of gaussian, laplace, discrete-gaussian, discrete-laplace, randomized-response, dp-sgd, or the path of a plan.
    /// The audit runs Veracity's own samplers.
    #[arg(long, value_name = "KIND", help_heading = "Subject", conflicts_with_all = ["plan", "command", "scores", "canaries"])]
    pub mechanism: Option<String>,
    /// Train the plan once, with many canaries
    ///
    /// Each canary is included independently with probability 1/2. One run is cheap, but its lower bound is weaker.
    #[arg(long, help_heading = "Subject", conflicts_with_all = ["command", "scores", "mechanism"])]
    pub one_run: bool,
    /// Attack a finished model that veracity trained; requires --canaries-file
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Subject",
        requires = "canaries_file",
        conflicts_with_all = ["plan", "command", "scores", "mechanism", "one_run", "canaries", "trials", "budget", "shard"]
    )]
    pub model: Option<PathBuf>,
    /// Canary records for --model, with a column world
    ///
    /// world is in if the model was trained on the record, otherwise out.
    #[arg(long, value_name = "FILE", help_heading = "Subject", requires = "model")]
    pub canaries_file: Option<PathBuf>,
    /// Noise that --mechanism really adds, in the unit of the declared noise; a planted bug
    #[arg(long, value_name = "S", help_heading = "Subject", requires = "mechanism", hide = true)]
    pub noise_added: Option<f64>,
    /// CSV file with the records for --command, without the canary
    #[arg(long, value_name = "FILE", help_heading = "Subject", requires_all = ["command", "canary"])]
    pub data: Option<PathBuf>,
    /// Canary: a CSV file for --command, or a type of canary for --one-run
    ///
    /// For --command, the file holds the record or records that half of the trials include.
    ///
    /// For --one-run, one of member, mislabelled, blank, checkerboard or backdoor [default: mislabelled].
    #[arg(long, value_name = "WHAT", help_heading = "Subject")]
    pub canary: Option<PathBuf>,
    /// Number of copies of the canary in the data of --command [default: 1]
    #[arg(long, value_name = "K", help_heading = "Subject", requires = "command")]
    pub canary_copies: Option<f64>,
    /// Time limit of one run of --command, such as 90s, 10m or 1h [default: 600s]
    #[arg(long, value_name = "T", help_heading = "Subject", requires = "command")]
    pub timeout: Option<String>,
    /// Attack on a training run [default: white-box]
    ///
    /// white-box observes the noisy gradient sum of every step. The types of canary attack the final model only.
    /// search tries them and uses the best.
    #[arg(long, value_name = "A", value_parser = choice::attack(), help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub attack: Option<String>,
    /// Score of the final model for a canary [default: margin]
    #[arg(long, value_name = "S", help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub score: Option<ScoreWord>,
    /// Number of copies of each canary in a training run [default: 1]
    #[arg(long, value_name = "K", help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub copies: Option<f64>,
    /// Start training from worst-case initial parameters
    ///
    /// The gradients of the other records almost vanish there, so the canary dominates.
    #[arg(long, help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub worst_case_start: bool,
    /// Number of canaries per training run [default: 300; 1000 with --one-run]
    ///
    /// The default is at most half of the parameters and a quarter of the records. With --one-run it is at most half of the records.
    #[arg(long, value_name = "M", help_heading = "Attack", conflicts_with_all = ["command", "scores"])]
    pub canaries: Option<f64>,
    /// Claim to test: a claim.json, or a mechanism with its flags
    ///
    /// For --command, --scores and --model. A mechanism is given as for `veracity account`.
    /// The audit then tests the whole trade-off curve, which needs fewer trials than a single pair of ε and δ.
    #[arg(long, value_name = "WHAT", help_heading = "Claim", conflicts_with_all = ["plan", "mechanism", "one_run"])]
    pub claim: Option<String>,
    /// Claimed noise multiplier of a Gaussian mechanism
    #[arg(long, value_name = "S", help_heading = "Claim", conflicts_with_all = ["plan", "mechanism", "one_run", "claim"])]
    pub claim_noise_multiplier: Option<f64>,
    /// Claimed sampling rate; requires --claim-noise-multiplier
    #[arg(long, value_name = "Q", help_heading = "Claim", requires = "claim_noise_multiplier")]
    pub claim_sampling_rate: Option<f64>,
    /// Claimed number of steps; requires --claim-noise-multiplier [default: 1]
    #[arg(long, value_name = "T", help_heading = "Claim", requires = "claim_noise_multiplier")]
    pub claim_steps: Option<f64>,
    /// Claimed ε [default: the upper bound of the accountant]
    #[arg(long, value_name = "E", help_heading = "Claim")]
    pub claim_epsilon: Option<f64>,
    /// Claimed δ [default: the plan's; else 1e-5]
    #[arg(long, value_name = "D", help_heading = "Claim")]
    pub claim_delta: Option<f64>,
    /// Significance level: the probability of refuting a true claim
    ///
    /// With --replay, this is the level of all tests of the declared noise together.
    #[arg(long, value_name = "P", default_value_t = 0.01, help_heading = "Method")]
    pub significance: f64,
    /// Test after every trial and stop once the claim is refuted [default for --command]
    ///
    /// A betting test (test martingale) keeps the significance level valid no matter when you stop.
    #[arg(long, help_heading = "Method", conflicts_with_all = ["bound", "threshold", "one_run"])]
    pub sequential: bool,
    /// Require enough power to detect noise at this fraction of the declared level, such as 0.8
    ///
    /// The audit is inconclusive (exit code 3) if it falls short.
    #[arg(long = "min-detectable", alias = "require", value_name = "R", help_heading = "Method")]
    pub require: Option<f64>,
    /// Statistical method for the lower bound
    ///
    /// one-run and many-runs are for several canaries per run.
    /// gdp assumes that the mechanism is Gaussian, so it cannot refute a claim.
    #[arg(long, value_name = "B", value_parser = choice::scores_to_bound(), help_heading = "Method")]
    pub bound: Option<String>,
    /// Rule that chooses the score above which the attack guesses "included"
    ///
    /// For one canary: fixed:X, split, folds:K or union [default: split].
    ///
    /// For --bound one-run: split, or ends:PART of the canaries, where PART is a fraction [default for --one-run and --model: ends:0.2].
    ///
    /// For --bound many-runs: past:PART of the canaries, or highest:PART or lowest:PART of the runs with one guess each
    /// [default: the rule with the largest lower bound against an ideal mechanism].
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub threshold: Option<String>,
    /// Number of records that the canary stands for in the claim [default: number of copies]
    #[arg(long, value_name = "K", help_heading = "Method")]
    pub group_size: Option<f64>,
    /// Number of trials [default: depends on the subject]
    ///
    /// Defaults: 4,000 training runs with many canaries or 6,000 others, 1,000 runs of a command, 1,000,000 runs of a mechanism.
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with_all = ["budget", "scores"])]
    pub trials: Option<f64>,
    /// Run as many trials as fit into this time, such as 10m
    ///
    /// The number is estimated and fixed before the first trial counts.
    #[arg(long, value_name = "T", help_heading = "Run", conflicts_with_all = ["scores", "shard"])]
    pub budget: Option<String>,
    /// Maximum number of failed trials; above it there is no verdict [default: 10% of trials]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub max_failures: Option<f64>,
    /// Number of times to retry a failed trial, with the same seed [default: 0]
    ///
    /// Retrying assumes that failures do not depend on the canary, so an audit with retries cannot refute a claim.
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with = "scores")]
    pub retries: Option<f64>,
    /// Seed for the attack's randomness
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Run")]
    pub seed: u64,
    /// Number of parallel trials [default: one per CPU core]
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with = "scores")]
    pub jobs: Option<f64>,
    /// Device that trains the models of a plan: cpu, cuda:N or auto [default: cpu]
    ///
    /// auto uses the first GPU that can train the plan, otherwise the CPU.
    #[arg(long, value_name = "WHERE", help_heading = "Run", conflicts_with_all = ["command", "scores", "mechanism", "model", "replay"])]
    pub device: Option<String>,
    /// Run only shard I of N, counting from 0; merge shards with `audit merge`
    #[arg(long, value_name = "I/N", help_heading = "Run", requires = "out", conflicts_with = "scores")]
    pub shard: Option<String>,
    /// Resume the audit in the folder of --out
    #[arg(long, help_heading = "Run")]
    pub resume: bool,
    /// Run failed trials again; requires --resume
    #[arg(long, help_heading = "Run", requires = "resume")]
    pub retry_failed: bool,
    /// Output folder for trials, certificate and report [default: out-audit]
    ///
    /// Without --out, only --command writes trials and a certificate; other audits write a report.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Sign the certificate with this minisign secret key (without a password)
    #[arg(long, value_name = "KEY", help_heading = "Output")]
    pub sign: Option<PathBuf>,
    /// Write the verdict as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the verdict as SARIF 2.1.0
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Show progress on stderr, even if it is not a terminal
    #[arg(long, help_heading = "Output")]
    pub progress: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The mechanism of --mechanism, and the adjacency of any claim.
    #[command(flatten)]
    pub declared: MechanismArgs,
    /// A replay, which needs no statistics.
    #[command(flatten)]
    pub replay: ReplayArgs,
}

/// Parses a change of a plan.
pub fn change(text: &str) -> Result<PlanChange, veracity::Refusal> {
    text.parse()
}

/// Flags of `veracity audit` for a replay.
#[derive(Args)]
#[command(next_help_heading = "Replay")]
pub struct ReplayArgs {
    /// Check sensitivities by replaying a run on neighboring datasets
    ///
    /// Both runs use the same noisy outputs, so a declared sensitivity that is too small is refuted without statistics.
    #[arg(long, help_heading = "Subject", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub replay: bool,
    /// Recorded run on one dataset, in the format of docs/trace.md
    #[arg(long, value_name = "FILE", requires = "replay", requires = "trace_neighbour")]
    pub trace: Option<PathBuf>,
    /// Recorded replay of that run on a neighboring dataset
    #[arg(long = "trace-neighbor", alias = "trace-neighbour", value_name = "FILE", requires = "trace")]
    pub trace_neighbour: Option<PathBuf>,
}

/// Other actions on audits.
#[derive(Subcommand)]
pub enum AuditAction {
    /// Merge the shards of an audit; the result is bit-identical to a single run
    Merge(MergeArgs),
}

/// `veracity audit merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// Output folders of the shards
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Output folder for the merged audit
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Sign the certificate with this minisign secret key (without a password)
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    /// Write the verdict as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the verdict as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
