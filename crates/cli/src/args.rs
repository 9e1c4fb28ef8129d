//! The arguments, as typed. What they mean is decided in `meaning`.

mod audit;
mod zoo;

pub use audit::{AuditAction, AuditArgs, MergeArgs, ReplayArgs};
pub use zoo::ZooArgs;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Differential privacy that can be checked.
#[derive(Parser)]
#[command(name = "veracity", version, about, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  veracity account gaussian --noise-multiplier 2 --times 10 --delta 1e-5
  veracity account dp-sgd --batch-size 256 --dataset-size 60000 --noise-multiplier 1 --epochs 10 --delta 1e-5
  veracity calibrate dp-sgd --sampling-rate 0.01 --steps 1000 --epsilon 2 --delta 1e-5
  veracity explain laplace --scale 2 --sensitivity 1 --delta 0
  veracity curve gaussian --noise-multiplier 1 --out profile.svg
  veracity bound --tp 4922 --fn 95078 --fp 174 --tn 99826

Exit codes: 0 done, 1 refuted or over budget, 2 error (one line on stderr).";

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
    /// Attacks a claim and bounds ε from below: the proof, the attack and the verdict between them
    Audit(Box<AuditArgs>),
    /// A lower bound on ε from counts, from one run's guesses or from recorded scores; how many trials a claim needs
    Bound(BoundArgs),
    /// One private statistic of a CSV column: count, sum, mean, variance, quantile or histogram
    Release(ReleaseArgs),
    /// Local privacy: plan a collection, randomise on the client, estimate on the server
    #[command(subcommand)]
    Local(LocalCommand),
    /// Trains a model by a TOML plan, privately; without a plan, on the built-in handwritten digits
    Train(TrainArgs),
    /// What a trained model says of records
    Predict(PredictArgs),
    /// How right a trained model is on held-out records
    Evaluate(EvaluateArgs),
    /// Recomputes a claim.json or an audit's certificate.json and says whether it holds
    Verify(VerifyArgs),
    /// Audits every planted bug: what caught it, the ε shown, trials and seconds
    Zoo(ZooArgs),
    /// Prints a completion script for a shell
    Completions(CompletionsArgs),
}

/// What is done to the data.
#[derive(Args, Clone, Default)]
#[command(allow_negative_numbers = true, next_help_heading = "Mechanism")]
pub struct MechanismArgs {
    /// Standard deviation (gaussian) or scale (laplace) of the noise, divided by one record's largest contribution
    #[arg(long, value_name = "S")]
    pub noise_multiplier: Option<f64>,
    /// Standard deviation of the noise, with --sensitivity
    #[arg(long, value_name = "SIGMA")]
    pub sigma: Option<f64>,
    /// Scale of Laplace noise, with --sensitivity
    #[arg(long, value_name = "B")]
    pub scale: Option<f64>,
    /// How far one record, added or removed, can move the answer
    #[arg(long, value_name = "C")]
    pub sensitivity: Option<f64>,
    /// dp-sgd: the chance with which each record enters a batch
    #[arg(long, value_name = "Q")]
    pub sampling_rate: Option<f64>,
    /// dp-sgd: the expected batch size, with --dataset-size
    #[arg(long, value_name = "B")]
    pub batch_size: Option<f64>,
    /// dp-sgd: the number of records
    #[arg(long, value_name = "N")]
    pub dataset_size: Option<f64>,
    /// dp-sgd: the number of steps
    #[arg(long, value_name = "T")]
    pub steps: Option<f64>,
    /// dp-sgd: the number of passes over the data, instead of --steps
    #[arg(long, value_name = "E")]
    pub epochs: Option<f64>,
    /// randomized-response: the chance that a report ignores the truth
    #[arg(long, value_name = "P")]
    pub noise_parameter: Option<f64>,
    /// randomized-response: the number of possible reports
    #[arg(long, value_name = "K")]
    pub buckets: Option<f64>,
    /// exponential: the range of its losses, 2 × sensitivity ÷ temperature (--epsilon means the same unless both are given)
    #[arg(long, value_name = "E")]
    pub range: Option<f64>,
    /// Repeat it this many times
    #[arg(long, value_name = "K")]
    pub times: Option<f64>,
    /// Which datasets must look alike: add-remove, replace-one or zero-out [default: add-remove; replace-one for
    /// randomized-response]
    #[arg(long, value_name = "A")]
    pub adjacency: Option<String>,
    /// Whose data one record is [default: example]
    #[arg(long, value_name = "NAME")]
    pub unit: Option<String>,
}

/// What stands for a kind in the usage line.
const KIND_HELP: &str = "gaussian, laplace, discrete-gaussian, discrete-laplace, randomized-response, exponential, dp-sgd, \
                         or the path of a TOML plan";

/// `veracity account`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity account gaussian --sigma 4 --sensitivity 2 --delta 1e-6
  veracity account laplace --scale 10 --sensitivity 1 --times 50 --delta 1e-6 --compare
  veracity account randomized-response --noise-parameter 0.5 --buckets 2 --delta 0
  veracity account plan.toml --delta 1e-6 --json --claim claim.json

A plan:
  adjacency = \"add-remove\"
  unit = \"user\"
  [[mechanism]]
  kind = \"dp-sgd\"
  sampling_rate = 0.01
  noise_multiplier = 1.1
  steps = 1000
  [[mechanism]]
  kind = \"laplace\"
  scale = 10
  sensitivity = 1
  times = 3")]
pub struct AccountArgs {
    #[arg(value_name = "KIND", help = KIND_HELP)]
    pub kind: String,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// Ask for ε at this δ
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: Option<f64>,
    /// Ask for δ at this ε
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: Option<f64>,
    /// exact, pld, rdp, moments, zcdp, gdp, gdp-clt, edgeworth, basic, advanced, advanced-kov or optimal
    #[arg(long, value_name = "M", help_heading = "Question", conflicts_with = "compare")]
    pub method: Option<String>,
    /// All methods side by side, with which of them are bounds
    #[arg(long, help_heading = "Question")]
    pub compare: bool,
    /// Write the answer down as a claim that `veracity verify` checks
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "compare")]
    pub claim: Option<PathBuf>,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity calibrate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity calibrate gaussian --epsilon 1 --delta 1e-5
  veracity calibrate gaussian --sensitivity 4 --times 20 --epsilon 1 --delta 1e-5
  veracity calibrate dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --epsilon 3 --delta 1e-5 --solve steps
  veracity calibrate dp-sgd --steps 1000 --noise-multiplier 1 --epsilon 3 --delta 1e-5 --solve sampling-rate")]
pub struct CalibrateArgs {
    #[arg(value_name = "KIND", help = KIND_HELP)]
    pub kind: String,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// The ε to keep within
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: f64,
    /// The δ it is for
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: f64,
    /// What to look for: noise, steps or sampling-rate
    #[arg(long, value_name = "WHAT", default_value = "noise", help_heading = "Question")]
    pub solve: String,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity curve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity curve gaussian --noise-multiplier 1 --out profile.svg
  veracity curve dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-6 --out slide.png
  veracity curve plan.toml --kind profile --out profile.csv")]
pub struct CurveArgs {
    #[arg(value_name = "KIND", help = KIND_HELP)]
    pub subject: String,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// The δ of the caption
    #[arg(long, value_name = "D", default_value_t = 1e-5, help_heading = "Question")]
    pub delta: f64,
    /// What to draw: profile, tradeoff or both
    #[arg(long = "kind", value_name = "WHAT", default_value = "both", help_heading = "Output")]
    pub what: String,
    /// Where to: a path that ends in .svg, .png or .csv
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: PathBuf,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity explain --epsilon 1 --delta 1e-5
  veracity explain gaussian --noise-multiplier 2 --delta 1e-5 --unit patient
  veracity explain plan.toml --delta 1e-6 --prior 0.001")]
pub struct ExplainArgs {
    #[arg(value_name = "KIND", help = KIND_HELP)]
    pub kind: Option<String>,
    #[command(flatten)]
    pub mechanism: MechanismArgs,
    /// The δ to explain [default: 1e-5, unless --epsilon is given]
    #[arg(long, value_name = "D", help_heading = "Question")]
    pub delta: Option<f64>,
    /// The ε to explain
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: Option<f64>,
    /// What the attacker believes beforehand, from 0 to 1; may be given more than once [default: 0.01 and 0.5]
    #[arg(long, value_name = "P", help_heading = "Question")]
    pub prior: Vec<f64>,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity bound`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  veracity bound --tp 4922 --fn 95078 --fp 174 --tn 99826 --significance 1e-10
  veracity bound --tp 463 --fn 37 --fp 37 --tn 463 --bound gdp
  veracity bound --tp 400 --fn 100 --fp 10 --tn 490 --group-size 2 --delta 0
  veracity bound one-run --canaries 1000 --guesses 100 --correct 75 --delta 1e-4 --significance 0.05
  veracity bound scores scores.csv
  veracity bound power --claim-epsilon 1 --true-epsilon 4"
)]
pub struct BoundArgs {
    #[command(subcommand)]
    pub command: Option<BoundCommand>,
    /// True positives: runs with the canary in which the attacker saw it
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub tp: Option<f64>,
    /// False negatives: runs with the canary in which the attacker missed it
    #[arg(long = "fn", value_name = "N", help_heading = "Counts", required = true)]
    pub fn_: Option<f64>,
    /// False positives: runs without the canary in which the attacker saw one
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub fp: Option<f64>,
    /// True negatives: runs without the canary in which the attacker saw none
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub tn: Option<f64>,
    /// clopper-pearson (proved), gdp (proved if the mechanism is Gaussian), bayesian (credible) or log-katz (approximate)
    #[arg(long, value_name = "B", default_value = "clopper-pearson", help_heading = "Question")]
    pub bound: String,
    /// By how many records the two worlds differ
    #[arg(long, value_name = "K", default_value_t = 1.0, help_heading = "Question")]
    pub group_size: f64,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// What every bound asks for.
#[derive(Args)]
pub struct BoundQuestion {
    /// The δ at which ε is bounded
    #[arg(long, value_name = "D", default_value_t = 1e-5, help_heading = "Question")]
    pub delta: f64,
    /// The chance of error that may be spent
    #[arg(long, value_name = "P", default_value_t = 0.01, help_heading = "Question")]
    pub significance: f64,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The other kinds of evidence, and the plan for it.
#[derive(Subcommand)]
pub enum BoundCommand {
    /// From one run with many canaries, each in or out by its own fair coin
    OneRun(BoundOneRunArgs),
    /// From a CSV file of scores: all bounds side by side, each with what it rests on
    Scores(BoundScoresArgs),
    /// How many trials would refute a claim, and the most that so many could show
    Power(BoundPowerArgs),
}

/// `veracity bound one-run`.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct BoundOneRunArgs {
    /// How many canaries there were, each in with chance one half
    #[arg(long, value_name = "M", help_heading = "Guesses")]
    pub canaries: f64,
    /// For how many of them a guess was made; fixed before the scores were seen
    #[arg(long, value_name = "R", help_heading = "Guesses")]
    pub guesses: f64,
    /// How many guesses were right
    #[arg(long, value_name = "V", help_heading = "Guesses")]
    pub correct: f64,
    /// Against the whole curve of a Gaussian mechanism: more is shown, if the mechanism is Gaussian
    #[arg(long, help_heading = "Question")]
    pub fdp: bool,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// `veracity bound scores`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
The file:
  world,score
  in,1.7
  out,-0.2

One trial a row, independent of each other; a higher score says \"in\" more loudly."
)]
pub struct BoundScoresArgs {
    /// A CSV file with the columns world (in or out) and score
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A threshold that was known before the trials [default: the first half of the trials chooses]
    #[arg(long, value_name = "T", help_heading = "Question")]
    pub threshold: Option<f64>,
    /// In how many folds the trials choose for each other
    #[arg(long, value_name = "K", default_value_t = 5.0, help_heading = "Question")]
    pub folds: f64,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// `veracity bound power`.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct BoundPowerArgs {
    /// The ε that is claimed
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub claim_epsilon: f64,
    /// The ε that the truth might be
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub true_epsilon: f64,
    /// What the mechanism might be: gaussian, or pure (randomized response)
    #[arg(long, value_name = "KIND", default_value = "gaussian", help_heading = "Question")]
    pub mechanism: String,
    /// Where the threshold comes from: fixed, split, folds or union
    #[arg(long, value_name = "HOW", default_value = "split", help_heading = "Question")]
    pub choice: String,
    /// With --choice folds: how many
    #[arg(long, value_name = "K", default_value_t = 5.0, help_heading = "Question")]
    pub folds: f64,
    /// The chance of a refutation to plan for
    #[arg(long, value_name = "P", default_value_t = 0.9, help_heading = "Question")]
    pub chance: f64,
    /// What so many trials can do, instead of how many are needed
    #[arg(long, value_name = "N", help_heading = "Question", conflicts_with = "chance")]
    pub trials: Option<f64>,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// `veracity release`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  veracity release count people.csv --epsilon 1
  veracity release mean people.csv --column age --lower 0 --upper 100 --epsilon 1
  veracity release mean people.csv --column age --lower 0 --upper 100 --epsilon 1 --dry-run --rows 5000
  veracity release quantile people.csv --column income --lower 0 --upper 1e6 --rank 0.5 --epsilon 0.5
  veracity release histogram people.csv --column age --lower 0 --upper 100 --bins 10 --epsilon 1
  veracity release histogram people.csv --column city --categories Basel,Bern,Chur --epsilon 1 --delta 1e-6

One row per person. Cells that are not numbers count as missing, and missing cells are left out; numbers outside the
bounds are moved to the bound. Nothing in a cell can make the command fail: that would tell about the person."
)]
pub struct ReleaseArgs {
    /// count, sum, mean, variance, quantile or histogram
    #[arg(value_name = "STAT")]
    pub statistic: String,
    /// A CSV file with a header
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The column, by its name in the header; count takes every row without it
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub column: Option<String>,
    /// What no value is below; known beforehand, not read from the data
    #[arg(long, value_name = "L", help_heading = "Question")]
    pub lower: Option<f64>,
    /// What no value is above; known beforehand, not read from the data
    #[arg(long, value_name = "U", help_heading = "Question")]
    pub upper: Option<f64>,
    /// quantile: which one, from 0 to 1 [default: 0.5, the median]
    #[arg(long, value_name = "Q", help_heading = "Question")]
    pub rank: Option<f64>,
    /// histogram: how many bins of equal width
    #[arg(long, value_name = "K", help_heading = "Question")]
    pub bins: Option<f64>,
    /// histogram: the categories, with commas between them; known beforehand, not read from the data
    #[arg(long, value_name = "A,B,…", help_heading = "Question", value_delimiter = ',')]
    pub categories: Option<Vec<String>>,
    /// The character between cells
    #[arg(long, value_name = "C", default_value = ",", help_heading = "Question")]
    pub delimiter: String,
    /// The ε to spend
    #[arg(long, value_name = "E", help_heading = "Budget")]
    pub epsilon: f64,
    /// The δ to spend
    #[arg(long, value_name = "D", default_value_t = 0.0, help_heading = "Budget")]
    pub delta: f64,
    /// laplace or gaussian [default: the one with the smaller error]
    #[arg(long, value_name = "KIND", help_heading = "Budget")]
    pub noise: Option<String>,
    /// Which datasets must look alike: add-remove, replace-one or zero-out; the latter two take the number of rows as public
    #[arg(long, value_name = "A", default_value = "add-remove", help_heading = "Budget")]
    pub adjacency: String,
    /// Whose data one row is
    #[arg(long, value_name = "NAME", default_value = "person", help_heading = "Budget")]
    pub unit: String,
    /// Show the error bar and the cost; read no row, release nothing, spend nothing
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Answer this column and neighbours of it with the same words, and check that nothing but noise differs; releases
    /// nothing, and what it prints is about private data
    #[arg(long, help_heading = "Output", conflicts_with = "dry_run")]
    pub replay: bool,
    /// With --dry-run: how many rows to assume, where the error depends on it [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Output", requires = "dry_run")]
    pub rows: Option<f64>,
    /// Draw from a seed, to repeat a test; the answer is then not for release
    #[arg(long, value_name = "N", help_heading = "Output", conflicts_with = "dry_run")]
    pub seed: Option<u64>,
    /// Where the claim goes
    #[arg(long, value_name = "FILE", default_value = "claim.json", help_heading = "Output")]
    pub claim: PathBuf,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity local`.
#[derive(Subcommand)]
pub enum LocalCommand {
    /// Which protocol has the least error for so many categories and reports, and what central privacy would have
    Plan(LocalPlanArgs),
    /// Randomises answers on the client: one value, or one report for each row of a CSV column
    Encode(Box<LocalEncodeArgs>),
    /// Estimates frequencies or a mean from reports, with error bars
    Estimate(LocalEstimateArgs),
}

/// What the reports are about: public, known to every client beforehand.
#[derive(Args, Clone)]
pub struct DomainArgs {
    /// The categories, with commas between them
    #[arg(long, value_name = "A,B,…", help_heading = "Question", value_delimiter = ',')]
    pub categories: Option<Vec<String>>,
    /// How many categories there are, if their names do not matter: 0, 1, …
    #[arg(long, value_name = "K", help_heading = "Question", conflicts_with = "categories")]
    pub domain_size: Option<f64>,
}

/// `veracity local plan`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  veracity local plan --domain-size 1024 --epsilon 1 --reports 1e6"
)]
pub struct LocalPlanArgs {
    #[command(flatten)]
    pub domain: DomainArgs,
    /// The ε of one report
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: f64,
    /// How many reports are expected
    #[arg(long, value_name = "N", help_heading = "Question")]
    pub reports: f64,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity local encode`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  veracity local encode --value Bern --categories Basel,Bern,Chur --epsilon 1
  veracity local encode people.csv --column city --categories Basel,Bern,Chur,other --other other --epsilon 1 --out reports.jsonl
  veracity local encode people.csv --column age --lower 0 --upper 100 --epsilon 1 --out ages.jsonl

The first line says what client and server agree on; each other line is one report, safe to send. --survey reads such a
line: count-mean sketches have hash functions of their own in it, which all clients must share."
)]
pub struct LocalEncodeArgs {
    /// A CSV file with a header, one row per person
    #[arg(value_name = "FILE", conflicts_with = "value", required_unless_present = "value")]
    pub file: Option<PathBuf>,
    /// The column, by its name in the header
    #[arg(long, value_name = "NAME", help_heading = "Question", requires = "file")]
    pub column: Option<String>,
    /// One person's answer, instead of a file
    #[arg(long, value_name = "V", help_heading = "Question")]
    pub value: Option<String>,
    #[command(flatten)]
    pub domain: DomainArgs,
    /// For numbers: what no value is below
    #[arg(long, value_name = "L", help_heading = "Question", requires = "upper")]
    pub lower: Option<f64>,
    /// For numbers: what no value is above
    #[arg(long, value_name = "U", help_heading = "Question", requires = "lower")]
    pub upper: Option<f64>,
    /// The category that stands for all answers outside the list, and for missing ones
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub other: Option<String>,
    /// The character between cells
    #[arg(long, value_name = "C", default_value = ",", help_heading = "Question")]
    pub delimiter: String,
    /// Report on what the first line of this file says: clients that share it can be estimated together
    #[arg(long, value_name = "FILE", help_heading = "Question", conflicts_with_all = ["categories", "domain_size", "lower", "upper", "epsilon", "protocol"])]
    pub survey: Option<PathBuf>,
    /// The ε of one report
    #[arg(long, value_name = "E", help_heading = "Budget", required_unless_present = "survey")]
    pub epsilon: Option<f64>,
    /// grr, sue, oue, olh, hadamard, cms, hcms or rappor [default: the one with the least variance]
    #[arg(long, value_name = "P", help_heading = "Budget")]
    pub protocol: Option<String>,
    /// Where the reports go [default: stdout]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write down what each report promises, as a claim that `veracity verify` checks
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub claim: Option<PathBuf>,
    /// Draw from a seed, to repeat a test; the reports then protect nobody
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub seed: Option<u64>,
}

/// `veracity local estimate`.
#[derive(Args)]
#[command(after_help = "Example:\n  veracity local estimate reports.jsonl --top 20")]
pub struct LocalEstimateArgs {
    /// Reports as `veracity local encode` writes them
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// With which probability each interval holds
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub confidence: f64,
    /// Move the frequencies to the nearest distribution: no negative ones, all together 1; biased
    #[arg(long)]
    pub project: bool,
    /// Only the most frequent
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `veracity verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// A claim.json, or a certificate.json with its trials.csv beside it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `veracity completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL")]
    pub shell: String,
}

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
