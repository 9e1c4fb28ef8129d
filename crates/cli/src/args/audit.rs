//! The arguments of `veracity audit`, as typed.

use super::{
    MechanismArgs,
    choice::{self, ScoreWord},
};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use veracity::training::PlanChange;

/// `veracity audit`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  veracity audit
  veracity audit --claim-epsilon 0.5
  veracity audit plan.toml --trials 2000
  veracity audit plan.toml --set privacy.epsilon=2
  veracity audit plan.toml --attack clip-bkd --copies 4 --worst-case-start --trials 1000 --out audit
  veracity audit --command 'python train.py --data {data} --seed {seed} --out {out}' --data train.csv --canary canary.csv \\
      --claim dp-sgd --noise-multiplier 1.1 --sampling-rate 0.01 --steps 500 --trials 1000 --jobs 8 --out audit
  veracity audit --replay --trace d.jsonl --trace-neighbour d2.jsonl
  veracity audit --scores scores.csv --claim claim.json
  veracity audit --scores scores.csv --claim-epsilon 1 --claim-delta 1e-5
  veracity audit --mechanism dp-sgd --sampling-rate 0.3 --noise-multiplier 1.5 --steps 30
  veracity audit --one-run plan.toml --canaries 1000 --canary mislabelled
  veracity audit --model model.safetensors --canaries-file canaries.csv --claim-epsilon 4 --claim-delta 1e-5
  veracity audit --mechanism discrete-laplace --scale 2 --claim-epsilon 0.4 --claim-delta 0
  veracity audit … --shard 0/2 --out a; veracity audit … --shard 1/2 --out b; veracity audit merge a b --out whole
  veracity verify whole/certificate.json
  veracity audit plan.toml --device cuda:0 --trials 1e6

In a command, {data} is the world's data file, {seed} a whole number below 2^32, {out} where the command leaves its score, one
number that is the higher the more it speaks for the canary, and {world} is in or out. A failed run is an outcome: where it
comes more often with the canary, it tells. Retries take for granted that it tells nothing, so what they show refutes nothing."
)]
pub struct AuditArgs {
    /// What else can be done with audits.
    #[command(subcommand)]
    pub action: Option<AuditAction>,
    /// A training plan; without one, and without --command or --scores, a private model of the built-in digits
    #[arg(value_name = "PLAN", conflicts_with_all = ["command", "scores"])]
    pub plan: Option<PathBuf>,
    /// Replace a line of the plan before it is read, such as privacy.epsilon=2; may be given more than once
    #[arg(long, value_name = "PLACE=VALUE", help_heading = "Subject", value_parser = change, conflicts_with_all = ["command", "scores", "mechanism", "model"])]
    pub set: Vec<PlanChange>,
    /// Any program, run once for each trial, without a shell
    #[arg(long, value_name = "LINE", help_heading = "Subject", conflicts_with = "scores")]
    pub command: Option<String>,
    /// The command stays: it reads each trial as a line of JSON, {"id", "seed", "data" or "world"}, and answers {"id", "score"}
    #[arg(long, help_heading = "Subject", requires = "command")]
    pub worker: bool,
    /// Scores recorded elsewhere: a CSV file with the columns world (in or out) and score, perhaps trial
    #[arg(long, value_name = "FILE", help_heading = "Subject")]
    pub scores: Option<PathBuf>,
    /// One of our mechanisms, run by our own samplers: gaussian, laplace, discrete-gaussian, discrete-laplace,
    /// randomized-response, dp-sgd, or the path of a TOML plan of them
    #[arg(long, value_name = "KIND", help_heading = "Subject", conflicts_with_all = ["plan", "command", "scores", "canaries"])]
    pub mechanism: Option<String>,
    /// One training of the plan with many canaries in it, each in or out by a coin of its own
    #[arg(long, help_heading = "Subject", conflicts_with_all = ["command", "scores", "mechanism"])]
    pub one_run: bool,
    /// A model that veracity trained, with --canaries-file
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Subject",
        requires = "canaries_file",
        conflicts_with_all = ["plan", "command", "scores", "mechanism", "one_run", "canaries", "trials", "budget", "shard"]
    )]
    pub model: Option<PathBuf>,
    /// With --model: records like those it was trained on, and in a column world whether each was among them (in or out)
    #[arg(long, value_name = "FILE", help_heading = "Subject", requires = "model")]
    pub canaries_file: Option<PathBuf>,
    /// With --mechanism: the noise that is really added, in the unit of what is declared; a planted bug
    #[arg(long, value_name = "S", help_heading = "Subject", requires = "mechanism", hide = true)]
    pub noise_added: Option<f64>,
    /// With --command: the records, a CSV file
    #[arg(long, value_name = "FILE", help_heading = "Subject", requires_all = ["command", "canary"])]
    pub data: Option<PathBuf>,
    /// With --command: the record or records that one world has and the other has not, a CSV file; with --one-run: member,
    /// mislabelled, blank, checkerboard or backdoor [default: mislabelled]
    #[arg(long, value_name = "WHAT", help_heading = "Subject")]
    pub canary: Option<PathBuf>,
    /// With --command: how often the canary is planted
    #[arg(long, value_name = "K", help_heading = "Subject", requires = "command")]
    pub canary_copies: Option<f64>,
    /// With --command: how long one run may take, such as 90s, 10m or 1h [default: 600s]
    #[arg(long, value_name = "T", help_heading = "Subject", requires = "command")]
    pub timeout: Option<String>,
    /// How often a failed trial is tried again, with the same seed; a verdict with retries refutes nothing [default: 0]
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with = "scores")]
    pub retries: Option<f64>,
    /// How a training is attacked: from within, by its last model with a canary of some kind, or with the best of these
    #[arg(long, value_name = "A", value_parser = choice::attack(), help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub attack: Option<String>,
    /// How the last model's answer about a canary is scored [default: margin]
    #[arg(long, value_name = "S", help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub score: Option<ScoreWord>,
    /// How many records a canary of a training is [default: 1]
    #[arg(long, value_name = "K", help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub copies: Option<f64>,
    /// Start training where the records have nothing left to teach and the canary everything
    #[arg(long, help_heading = "Attack", conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub worst_case_start: bool,
    /// How many canaries each training holds [default: 300, at most half of the parameters and a
    /// quarter of the records; with --one-run 1000, at most half of the records]
    #[arg(long, value_name = "M", help_heading = "Attack", conflicts_with_all = ["command", "scores"])]
    pub canaries: Option<f64>,
    /// What is claimed, with --command, --scores or --model: a claim.json, or a mechanism as for `veracity account` with its flags.
    /// Its whole curve is then tested
    #[arg(long, value_name = "WHAT", help_heading = "Claim", conflicts_with_all = ["plan", "mechanism", "one_run"])]
    pub claim: Option<String>,
    /// The noise multiplier that is claimed: a mechanism of Gaussian noise
    #[arg(long, value_name = "S", help_heading = "Claim", conflicts_with_all = ["plan", "mechanism", "one_run", "claim"])]
    pub claim_noise_multiplier: Option<f64>,
    /// The sampling rate that is claimed with it
    #[arg(long, value_name = "Q", help_heading = "Claim", requires = "claim_noise_multiplier")]
    pub claim_sampling_rate: Option<f64>,
    /// The number of steps that is claimed with it [default: 1]
    #[arg(long, value_name = "T", help_heading = "Claim", requires = "claim_noise_multiplier")]
    pub claim_steps: Option<f64>,
    /// The ε claimed [default: what the accountant proves]
    #[arg(long, value_name = "E", help_heading = "Claim")]
    pub claim_epsilon: Option<f64>,
    /// The δ of the claim [default: that of the plan; 1e-5 with --command, --scores or --mechanism]
    #[arg(long, value_name = "D", help_heading = "Claim")]
    pub claim_delta: Option<f64>,
    /// The chance of error that the audit may spend; with --replay, that the tests of declared noise may have together
    #[arg(long, value_name = "P", default_value_t = 0.01, help_heading = "Method")]
    pub significance: f64,
    /// Bet against the claim trial by trial and end as soon as it falls [default for --command]
    #[arg(long, help_heading = "Method", conflicts_with_all = ["bound", "threshold", "one_run"])]
    pub sequential: bool,
    /// The part of the declared noise that must be caught, such as 0.8: an audit that could not exits with 3
    #[arg(long, value_name = "R", help_heading = "Method")]
    pub require: Option<f64>,
    /// How scores become a bound: one-run and many-runs are for many canaries in a run; gdp takes the mechanism for Gaussian and so refutes
    /// nothing
    #[arg(long, value_name = "B", value_parser = choice::scores_to_bound(), help_heading = "Method")]
    pub bound: Option<String>,
    /// Which score says "in": fixed:X, split, folds:K or union; with one-run, split or ends:PART, and with many-runs past:PART, the
    /// part of the canaries that is guessed [default: split; what shows most in the ideal game, where many canaries see every
    /// step; ends:0.2 with --one-run or --model]
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub threshold: Option<String>,
    /// How many records of the claim the canary stands for [default: as many as are planted]
    #[arg(long, value_name = "K", help_heading = "Method")]
    pub group_size: Option<f64>,
    /// How many trials [default: 4000 trainings with many canaries, 6000 others, 1000 commands, 10^6 runs of a mechanism]
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with_all = ["budget", "scores"])]
    pub trials: Option<f64>,
    /// As many trials as fit into this time, fixed before the first is counted
    #[arg(long, value_name = "T", help_heading = "Run", conflicts_with_all = ["scores", "shard"])]
    pub budget: Option<String>,
    /// With more failed trials than these there is no verdict [default: a tenth of the trials]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub max_failures: Option<f64>,
    /// What the attack's randomness is drawn from
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Run")]
    pub seed: u64,
    /// How many trials at once [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "Run", conflicts_with = "scores")]
    pub jobs: Option<f64>,
    /// Where the models of a training are trained: cpu, cuda:N for a GPU by its number, or auto for the first GPU if there is one that
    /// can [default: cpu]
    #[arg(long, value_name = "WHERE", help_heading = "Run", conflicts_with_all = ["command", "scores", "mechanism", "model", "replay"])]
    pub device: Option<String>,
    /// Share I of N of the trials, counted from 0
    #[arg(long, value_name = "I/N", help_heading = "Run", requires = "out", conflicts_with = "scores")]
    pub shard: Option<String>,
    /// Run the audit in shards on a cluster that this machine submits to: slurm
    #[arg(
        long,
        value_name = "CLUSTER",
        value_parser = ["slurm"],
        help_heading = "Run",
        requires = "out",
        conflicts_with_all = ["scores", "model", "shard", "budget", "replay"]
    )]
    pub on: Option<String>,
    /// With --on: how many shards, each a task of its own [default: 16]
    #[arg(long, value_name = "N", help_heading = "Run", requires = "on")]
    pub shards: Option<f64>,
    /// Go on with the audit in the folder of --out
    #[arg(long, help_heading = "Run")]
    pub resume: bool,
    /// With --resume: try trials again that failed
    #[arg(long, help_heading = "Run", requires = "resume")]
    pub retry_failed: bool,
    /// Where trials, certificate and report go [default: out-audit, with --command; else only a report, there]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Sign the certificate with a secret key of minisign that has no password
    #[arg(long, value_name = "KEY", help_heading = "Output")]
    pub sign: Option<PathBuf>,
    /// Write the verdict as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the verdict as SARIF 2.1.0
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Show trials, speed and time left on stderr, also where that is no terminal
    #[arg(long, help_heading = "Output")]
    pub progress: bool,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// The mechanism of --mechanism, and the adjacency of any claim.
    #[command(flatten)]
    pub declared: MechanismArgs,
    /// Without statistics.
    #[command(flatten)]
    pub replay: ReplayArgs,
}

/// A change of a plan; what is wrong with it is told in our words.
pub fn change(text: &str) -> Result<PlanChange, veracity::Refusal> {
    text.parse()
}

/// What `veracity audit` takes for a replay.
#[derive(Args)]
#[command(next_help_heading = "Replay")]
pub struct ReplayArgs {
    /// Run on adjacent datasets, replaying the same outputs: a sensitivity that is too small is refuted without statistics
    #[arg(long, conflicts_with_all = ["command", "scores", "mechanism", "one_run", "model"])]
    pub replay: bool,
    /// A recorded run on one dataset, as docs/trace.md has it
    #[arg(long, value_name = "FILE", requires = "replay", requires = "trace_neighbour")]
    pub trace: Option<PathBuf>,
    /// Its replay on an adjacent dataset
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub trace_neighbour: Option<PathBuf>,
}

/// What else can be done with audits.
#[derive(Subcommand)]
pub enum AuditAction {
    /// Puts the shares of an audit together: the same files as one run, to the bit
    Merge(MergeArgs),
}

/// `veracity audit merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// The folders of the shares
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Where the whole goes
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Sign the certificate with a secret key of minisign that has no password
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    /// Write the verdict as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the verdict as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
