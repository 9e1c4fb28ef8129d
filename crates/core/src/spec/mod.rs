//! A mechanism in files and on the command line: [`MechanismSpec`] is what serde reads and writes, `TryFrom` checks it into a
//! [`Mechanism`], and `From<&Mechanism>` writes it back.
//!
//! The rows of `kinds!` describe each kind once: its fields with their types, its documentation and its form on the web
//! page. Flags of the command line, plan fields, docs/mechanisms.md, Python constructors, the page's form and the JSON schema are
//! made from them.

mod kind;
mod losses;
mod strategy;
mod values;

pub use kind::{Field, Flag, Form, Kind, Shape, Slider};
pub use losses::LossesSpec;
pub use strategy::{ParticipationSpec, StrategySpec};
pub use values::{Whole, quotient_below};

use crate::{
    Delta, GdpMu, Mechanism, NoiseMultiplier, Participation, Refusal, Rho, Runs, SamplingRate, Strategy,
};
use kind::{Shaped, kinds};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use values::{finite_epsilon, noise, one, randomized_response, rate_of, rdp_curve, relative, steps_of};

/// How deep mechanisms may be nested in a file.
pub const DEEPEST: usize = 32;

// One row for each kind. A field that may be left out is an `Option`, or has the function that gives its usual value.
kinds! {
    Gaussian "gaussian" {
        noise_multiplier: Option<f64>;
        sigma: Option<f64>;
        sensitivity: Option<f64>;
    } is {
        means: "Gaussian noise: noise_multiplier, or sigma with sensitivity",
        pair: "N(μ, 1) against N(0, 1), where μ = contributions/noise_multiplier. μ² adds up over uses",
        adjacency: "all. A replaced record counts as two contributions",
        when: "sums and means of vectors of bounded ℓ2 norm, and many releases from one budget",
        form: Some(Form {
            label: "Gaussian noise on a sum",
            hint: "The multiplier is the standard deviation divided by the largest change that one record can cause.",
            short: "Gaussian",
            adjacency: None,
            sliders: &[
                ("noise_multiplier", 0.5, 50.0, "4"),
                ("times", 1.0, 1000.0, "1"),
            ],
            start: None,
            solves: &["noise", "steps"],
        }),
    }

    Laplace "laplace" {
        noise_multiplier: Option<f64>;
        scale: Option<f64>;
        sensitivity: Option<f64>;
    } is {
        means: "Laplace noise: noise_multiplier, or scale with sensitivity",
        pair: "losses between −ε and ε, where ε = contributions/noise_multiplier",
        adjacency: "all",
        when: "one or few numbers of bounded ℓ1 norm, or if δ must be 0",
        form: Some(Form {
            label: "Laplace noise on a count",
            hint: "The multiplier is the scale divided by the largest change that one record can cause.",
            short: "Laplace",
            adjacency: None,
            sliders: &[
                ("noise_multiplier", 0.5, 50.0, "2"),
                ("times", 1.0, 1000.0, "1"),
            ],
            start: None,
            solves: &["noise", "steps"],
        }),
    }

    DiscreteGaussian "discrete-gaussian" {
        sigma: f64;
        sensitivity: Whole = "one";
    } is {
        means: "integer Gaussian noise. The default sensitivity is 1",
        pair: "P(x) ∝ e^{−x²/2σ²} on the integers, shifted by the sensitivity. The losses lie on a lattice",
        adjacency: "all",
        when: "counts and sums on integers, with exact samplers",
        form: Some(Form {
            label: "Gaussian noise on integers",
            hint: "Drawn as integers, so that no rounding leaks information.",
            short: "Discrete Gaussian",
            adjacency: None,
            sliders: &[
                ("sigma", 0.5, 20.0, "4"),
                ("sensitivity", 1.0, 10.0, "1"),
                ("times", 1.0, 1000.0, "1"),
            ],
            start: None,
            solves: &["noise", "steps"],
        }),
    }

    DiscreteLaplace "discrete-laplace" {
        scale: f64;
        sensitivity: Whole = "one";
    } is {
        means: "integer Laplace noise. The default sensitivity is 1",
        pair: "P(x) ∝ e^{−|x|/scale} on the integers, shifted by the sensitivity",
        adjacency: "all",
        when: "one count, with exact samplers and δ = 0",
        form: Some(Form {
            label: "Laplace noise on integers",
            hint: "Drawn as integers, so that no rounding leaks information.",
            short: "Discrete Laplace",
            adjacency: None,
            sliders: &[
                ("scale", 0.5, 50.0, "4"),
                ("sensitivity", 1.0, 10.0, "1"),
                ("times", 1.0, 1000.0, "1"),
            ],
            start: None,
            solves: &["noise", "steps"],
        }),
    }

    Skellam "skellam" {
        variance: f64;
        sensitivity: Whole = "one";
    } is {
        means: "integer Skellam noise, the difference of two Poisson variables. The default sensitivity is 1",
        pair: "P(x) = e^{−variance} I_{|x|}(variance) on the integers, shifted by the sensitivity",
        adjacency: "all",
        when: "sums on integers whose noise adds up over many parties (federated learning)",
        form: Some(Form {
            label: "Skellam noise on integers",
            hint: "The difference of two Poisson variables. The sum of several parties' noise is Skellam noise again.",
            short: "Skellam",
            adjacency: None,
            sliders: &[
                ("variance", 0.25, 400.0, "16"),
                ("sensitivity", 1.0, 10.0, "1"),
                ("times", 1.0, 1000.0, "1"),
            ],
            start: None,
            solves: &["noise", "steps"],
        }),
    }

    RandomizedResponse "randomized-response" {
        noise_parameter: f64;
        buckets: Whole;
    } is {
        means: "each report is random with probability noise_parameter, and true otherwise",
        pair: "the true bucket with probability 1 − p + p/k, each other bucket with p/k",
        adjacency: "replace-one, zero-out",
        when: "people who report for themselves (local privacy)",
        note: "The usual adjacency is replace-one.",
        form: Some(Form {
            label: "Randomized response",
            hint: "Each person answers at random with some probability, and truthfully otherwise.",
            short: "Randomized response",
            adjacency: Some("replace-one"),
            sliders: &[
                ("noise_parameter", 0.05, 1.0, "0.5"),
                ("buckets", 2.0, 100.0, "2"),
                ("times", 1.0, 1000.0, "1"),
            ],
            start: None,
            solves: &["steps"],
        }),
    }

    Exponential "exponential" {
        epsilon: f64;
    } is {
        means: "the exponential mechanism, by the range of its losses",
        pair: "two losses t and t − ε for the worst t. Adaptive choices use their own recursion (method optimal)",
        adjacency: "all. epsilon is the range of losses under that adjacency",
        when: "choosing one of many by a score: quantiles, medians, top candidates",
        form: Some(Form {
            label: "Exponential mechanism",
            hint: "Chooses one of many candidates. The range is 2 × sensitivity ÷ temperature.",
            short: "Exponential",
            adjacency: None,
            sliders: &[("epsilon", 0.01, 5.0, "1")],
            start: None,
            solves: &[],
        }),
    }

    Pure "pure" {
        epsilon: f64;
    } is {
        means: "declared: epsilon-differential privacy",
        pair: "randomized response with odds e^ε, the worst case of all ε-private mechanisms",
        adjacency: "the adjacency that you declared it for",
        when: "a guarantee that a paper or a vendor states",
    }

    Approximate "approximate" {
        epsilon: f64;
        delta: f64;
    } is {
        means: "declared: (epsilon, delta)-differential privacy",
        pair: "the same, and the data are revealed with probability δ",
        adjacency: "the adjacency that you declared it for",
        when: "a guarantee that a paper or a vendor states",
    }

    Zcdp "zcdp" {
        rho: f64;
    } is {
        means: "declared: rho-zero-concentrated differential privacy",
        pair: "Rényi divergence of order α at most ρα",
        adjacency: "the adjacency that you declared it for",
        when: "libraries that account in ρ",
    }

    Rdp "rdp" {
        orders: Vec<f64>;
        values: Vec<f64>;
    } is {
        means: "declared: Rényi divergences, one value for each order",
        pair: "Rényi divergence of each order at most its value",
        adjacency: "the adjacency that you declared it for",
        when: "libraries that account in Rényi divergences",
    }

    Gdp "gdp" {
        mu: f64;
    } is {
        means: "declared: mu-Gaussian differential privacy",
        pair: "as hard to distinguish as N(μ, 1) and N(0, 1)",
        adjacency: "the adjacency that you declared it for",
        when: "mechanisms with a bound on their trade-off curve",
    }

    PoissonSampled "poisson-sampled" {
        rate: f64;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "a mechanism on a batch that each record enters with probability rate",
        pair: "(1 − q)Q + qP against Q, and the reverse. Gaussians on one batch count as one",
        adjacency: "add-remove, zero-out, and replace-one (exact for Gaussians, an upper bound for other noise). Groups of a Gaussian are mixtures of Gaussians. For declared guarantees and randomized response, sampling reduces ε only under add-remove. Under zero-out and replace-one it multiplies δ by the rate, because the declaration does not compare a batch with and without the record",
        when: "training on batches that each record enters independently",
        note: "Accounting assumes Poisson-sampled batches. The same as `mechanism.sampled(rate)`.",
    }

    FixedSizeSampled "fixed-size-sampled" {
        batch: Whole;
        population: Whole;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "a mechanism on a batch of fixed size, drawn without replacement",
        pair: "(1 − γ)Q + γP against Q, where P and Q differ by a replaced record and γ = batch/population",
        adjacency: "replace-one (between an upper bound and the ε of some dataset), and add-remove (exact) for batches smaller than the population. With one record fewer, a batch of the whole population does not exist. A gdp declared for add-remove counts twice: inside the batch, one record replaces another",
        when: "batches of one size, drawn again for each step",
    }

    TruncatedPoissonSampled "truncated-poisson-sampled" {
        rate: f64;
        most: Whole;
        population: Whole;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "a mechanism on a Poisson batch with at most `most` records. Surplus records are dropped at random",
        pair: "as poisson-sampled. With the probability that the other records fill the batch, one record replaces another",
        adjacency: "all, as an upper bound. Only add-remove for a declared gdp",
        when: "Poisson batches on hardware with a maximum batch size",
    }

    RandomAllocation "random-allocation" {
        batches: Whole;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "one epoch that assigns each record to one of the batches at random (balls and bins)",
        pair: "N(0, I) with one of t coordinates shifted, against N(0, I)",
        adjacency: "add-remove, zero-out. Only add-remove for a declared gdp",
        when: "epochs that assign each record to one batch (balls and bins)",
    }

    Shuffled "shuffled" {
        batches: Whole;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "one epoch over the batches of a shuffled dataset",
        pair: "at most one use of the mechanism. `veracity batching` prints a lower bound too",
        adjacency: "zero-out, replace-one",
        when: "most trainers. Compare it with the batches that their claim assumes",
        note: "The usual adjacency is zero-out.",
    }

    Matrix "matrix" {
        strategy: StrategySpec;
        participation: ParticipationSpec;
        noise_multiplier: f64;
    } is {
        means: "correlated noise (DP-FTRL). The strategy is tree, banded or rows. The participation is once, separated or cyclic-poisson",
        pair: "one Gaussian of the strategy's sensitivity. With cyclic Poisson sampling, a banded strategy gives Poisson-sampled Gaussians",
        adjacency: "all",
        when: "noise that later steps partly cancel, see [correlated noise](correlated-noise.md)",
        note: "`strategy` is {'kind': 'tree', 'steps': …}, {'kind': 'banded', 'steps': …, 'coefficients': […]} or {'kind': 'rows', 'rows': [[…], …]}. `participation` is {'kind': 'once'}, {'kind': 'separated', 'times': …, 'separation': …} or {'kind': 'cyclic-poisson', 'groups': …, 'rate': …}.",
    }

    BestOf "best-of" {
        mean_runs: f64;
        shape: Option<f64>;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "the best of a random number of runs, which is Poisson, or negative binomial of this shape",
        pair: "Rényi divergences of one run, or its profile, with the distribution of the number of runs",
        adjacency: "the adjacency of the mechanism",
        when: "hyper-parameter search that publishes the best of several private runs",
    }

    Losses "losses" {
        first: LossesSpec;
        second: Option<LossesSpec>;
    } is {
        means: "declared: a privacy loss distribution as losses, probabilities and infinite. `second` is for the reverse order",
        pair: "the list itself. The reverse order of the datasets follows from it unless given",
        adjacency: "the adjacency that you declared it for",
        when: "privacy loss distributions that another program computed",
        note: "`first` is {'losses': […], 'probabilities': […], 'infinite': …}. `second` is the same for the other order of the datasets.",
    }

    Repeated "repeated" {
        times: Whole;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "a mechanism, repeated `times` times",
        pair: "the losses of all uses, added",
        adjacency: "the adjacency of the mechanism",
        when: "the steps of a training run, or one query per month",
        note: "The same as `mechanism * times`.",
    }

    Composed "composed" {
        parts: Vec<MechanismSpec>;
    } is {
        means: "mechanisms one after another",
        pair: "the losses of all parts, added",
        adjacency: "one adjacency for all parts",
        when: "a plan of several releases",
        note: "The same as `a + b`.",
    }

    Parallel "parallel" {
        parts: Vec<MechanismSpec>;
    } is {
        means: "mechanisms on disjoint parts of the data",
        pair: "the worst part. Under replace-one two parts, because a record leaves one and enters the other",
        adjacency: "add-remove, zero-out. Also replace-one for parts that are not declared or sampled",
        when: "histograms, and queries on disjoint groups",
    }

    Group "group" {
        size: Whole;
        mechanism: Box<MechanismSpec>;
    } is {
        means: "a mechanism, for `size` records that change together",
        pair: "several records together: shifts and ranges add up, and batches hold a random number of them",
        adjacency: "the adjacency of the mechanism",
        when: "people with several records",
        note: "The same as `mechanism.group(size)`.",
    }

    DpSgd "dp-sgd" {
        sampling_rate: Option<f64>;
        batch_size: Option<Whole>;
        dataset_size: Option<Whole>;
        noise_multiplier: f64;
        steps: Option<Whole>;
        epochs: Option<f64>;
    } is {
        means: "Gaussian noise on Poisson batches. Give sampling_rate, or batch_size with dataset_size, and steps or epochs",
        pair: "poisson-sampled gaussian, repeated",
        adjacency: "as poisson-sampled",
        when: "private training with DP-SGD",
        note: "Accounting assumes Poisson-sampled batches: each record enters each batch independently. Shuffled batches leak another amount, which can be larger. `veracity batching` prints both. A rate from sizes, and steps from epochs, are rounded up.",
        form: Some(Form {
            label: "DP-SGD: noisy training",
            hint: "Each record enters a batch at random, and Gaussian noise hides its clipped gradient.",
            short: "DP-SGD",
            adjacency: None,
            sliders: &[
                ("batch_size", 64.0, 8192.0, "256"),
                ("dataset_size", 1e3, 1e6, "60000"),
                ("noise_multiplier", 0.7, 10.0, "1"),
                ("epochs", 2.0, 100.0, "10"),
            ],
            start: Some(("steps", "1000")),
            solves: &["noise", "steps", "sampling-rate"],
        }),
    }
}

/// The numbers that the command line asks for, in the order of its help.
pub const FLAGS: &[Flag] = &[
    Flag {
        name: "noise-multiplier",
        field: "noise_multiplier",
        only_for: None,
        value_name: "S",
        help: "Noise standard deviation (gaussian) or scale (laplace) / sensitivity",
        label: "Noise multiplier",
        solved: Some("noise"),
    },
    Flag {
        name: "sigma",
        field: "sigma",
        only_for: None,
        value_name: "SIGMA",
        help: "Noise standard deviation; needs sensitivity",
        label: "Sigma",
        solved: Some("noise"),
    },
    Flag {
        name: "scale",
        field: "scale",
        only_for: None,
        value_name: "B",
        help: "Scale of Laplace noise; needs sensitivity",
        label: "Scale",
        solved: Some("noise"),
    },
    Flag {
        name: "variance",
        field: "variance",
        only_for: None,
        value_name: "V",
        help: "skellam: variance of the noise",
        label: "Variance",
        solved: Some("noise"),
    },
    Flag {
        name: "sensitivity",
        field: "sensitivity",
        only_for: None,
        value_name: "C",
        help: "Maximum change of the answer by one record",
        label: "Sensitivity",
        solved: None,
    },
    Flag {
        name: "sampling-rate",
        field: "sampling_rate",
        only_for: None,
        value_name: "Q",
        help: "dp-sgd: probability that a record enters a batch",
        label: "Sampling rate",
        solved: Some("sampling-rate"),
    },
    Flag {
        name: "batch-size",
        field: "batch_size",
        only_for: None,
        value_name: "B",
        help: "dp-sgd: expected batch size; needs dataset-size",
        label: "Batch size",
        solved: Some("sampling-rate"),
    },
    Flag {
        name: "dataset-size",
        field: "dataset_size",
        only_for: None,
        value_name: "N",
        help: "dp-sgd: number of records",
        label: "Records",
        solved: Some("sampling-rate"),
    },
    Flag {
        name: "steps",
        field: "steps",
        only_for: None,
        value_name: "T",
        help: "dp-sgd, matrix: number of steps",
        label: "Steps",
        solved: Some("steps"),
    },
    Flag {
        name: "epochs",
        field: "epochs",
        only_for: None,
        value_name: "E",
        help: "dp-sgd: number of passes over the data, instead of steps",
        label: "Epochs",
        solved: Some("steps"),
    },
    Flag {
        name: "noise-parameter",
        field: "noise_parameter",
        only_for: None,
        value_name: "P",
        help: "randomized-response: probability of a random report",
        label: "Probability of a random answer",
        solved: None,
    },
    Flag {
        name: "buckets",
        field: "buckets",
        only_for: None,
        value_name: "K",
        help: "randomized-response: number of possible reports",
        label: "Possible answers",
        solved: None,
    },
    Flag {
        name: "range",
        field: "epsilon",
        only_for: Some("exponential"),
        value_name: "E",
        help: "exponential: range of the losses, 2 × sensitivity ÷ temperature",
        label: "Range of its losses",
        solved: None,
    },
];

impl Serialize for Mechanism {
    /// What could not be read again is not written: mechanisms nested too deep, and numbers that are not finite.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        check_depth(self, DEEPEST).map_err(ser::Error::custom)?;
        let spec = MechanismSpec::from(self);
        check(&spec, DEEPEST).map_err(ser::Error::custom)?;
        spec.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Mechanism {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spec = MechanismSpec::deserialize(deserializer)?;
        Mechanism::try_from(&spec).map_err(de::Error::custom)
    }
}

/// Whether mechanisms are nested at most so deep; the walk goes no deeper than that.
fn check_depth(mechanism: &Mechanism, deepest: usize) -> Result<(), Refusal> {
    if deepest == 0 {
        return Err(too_deep());
    }
    mechanism.inside().iter().try_for_each(|inner| check_depth(inner, deepest - 1))
}

fn too_deep() -> Refusal {
    Refusal::out_of_range("nesting", format!("deeper than {DEEPEST}"), "at most 32 nested mechanisms")
}

impl TryFrom<&MechanismSpec> for Mechanism {
    type Error = Refusal;

    fn try_from(spec: &MechanismSpec) -> Result<Mechanism, Refusal> {
        check(spec, DEEPEST)
    }
}

fn check(spec: &MechanismSpec, depth: usize) -> Result<Mechanism, Refusal> {
    use MechanismSpec as S;
    if depth == 0 {
        return Err(too_deep());
    }
    let inner = |spec: &MechanismSpec| check(spec, depth - 1).map(Box::new);
    let all = |parts: &[MechanismSpec]| -> Result<Vec<Mechanism>, Refusal> {
        parts.iter().map(|part| check(part, depth - 1)).collect()
    };
    Ok(match spec {
        S::Gaussian { noise_multiplier, sigma, sensitivity } => Mechanism::Gaussian {
            noise_multiplier: relative(*noise_multiplier, ("sigma", *sigma), *sensitivity)?,
        },
        S::Laplace { noise_multiplier, scale, sensitivity } => Mechanism::Laplace {
            noise_multiplier: relative(*noise_multiplier, ("scale", *scale), *sensitivity)?,
        },
        S::DiscreteGaussian { sigma, sensitivity } => Mechanism::DiscreteGaussian {
            sigma: noise("sigma", *sigma)?,
            sensitivity: sensitivity.count("sensitivity")?,
        },
        S::DiscreteLaplace { scale, sensitivity } => Mechanism::DiscreteLaplace {
            scale: noise("scale", *scale)?,
            sensitivity: sensitivity.count("sensitivity")?,
        },
        S::Skellam { variance, sensitivity } => Mechanism::Skellam {
            variance: noise("variance", *variance)?,
            sensitivity: sensitivity.count("sensitivity")?,
        },
        S::RandomizedResponse { noise_parameter, buckets } => {
            randomized_response(*noise_parameter, *buckets)?
        }
        S::Exponential { epsilon } => Mechanism::Exponential { epsilon: finite_epsilon(*epsilon)? },
        S::Pure { epsilon } => Mechanism::Pure { epsilon: finite_epsilon(*epsilon)? },
        S::Approximate { epsilon, delta } => {
            Mechanism::Approximate { epsilon: finite_epsilon(*epsilon)?, delta: Delta::new(*delta)? }
        }
        S::Zcdp { rho } => Mechanism::Zcdp { rho: Rho::new(*rho)? },
        S::Rdp { orders, values } => Mechanism::Rdp { curve: rdp_curve(orders, values)? },
        S::Gdp { mu } => Mechanism::Gdp { mu: GdpMu::new(*mu)? },
        S::PoissonSampled { rate, mechanism } => {
            Mechanism::PoissonSampled { rate: SamplingRate::new(*rate)?, mechanism: inner(mechanism)? }
        }
        S::FixedSizeSampled { batch, population, mechanism } => Mechanism::FixedSizeSampled {
            batch: batch.count("batch")?,
            population: population.count("population")?,
            mechanism: inner(mechanism)?,
        },
        S::TruncatedPoissonSampled { rate, most, population, mechanism } => {
            Mechanism::TruncatedPoissonSampled {
                rate: SamplingRate::new(*rate)?,
                most: most.count("most")?,
                population: population.count("population")?,
                mechanism: inner(mechanism)?,
            }
        }
        S::RandomAllocation { batches, mechanism } => {
            Mechanism::RandomAllocation { batches: batches.count("batches")?, mechanism: inner(mechanism)? }
        }
        S::Shuffled { batches, mechanism } => {
            Mechanism::Shuffled { batches: batches.count("batches")?, mechanism: inner(mechanism)? }
        }
        S::Matrix { strategy, participation, noise_multiplier } => Mechanism::Matrix {
            strategy: Strategy::try_from(strategy)?,
            participation: Participation::try_from(participation)?,
            noise_multiplier: NoiseMultiplier::new(*noise_multiplier)?,
        },
        S::BestOf { mean_runs, shape, mechanism } => Mechanism::BestOf {
            runs: match shape {
                Some(shape) => Runs::negative_binomial(*mean_runs, *shape)?,
                None => Runs::poisson(*mean_runs)?,
            },
            mechanism: inner(mechanism)?,
        },
        S::Losses { first, second } => {
            Mechanism::Losses { losses: losses::distribution(first, second.as_ref())? }
        }
        S::Repeated { times, mechanism } => inner(mechanism)?.repeated(times.count("times")?),
        S::Composed { parts } => Mechanism::Composed(all(parts)?),
        S::Parallel { parts } => Mechanism::Parallel(all(parts)?),
        S::Group { size, mechanism } => {
            Mechanism::Group { size: size.count("size")?, mechanism: inner(mechanism)? }
        }
        S::DpSgd { sampling_rate, batch_size, dataset_size, noise_multiplier, steps, epochs } => {
            let rate = rate_of(*sampling_rate, *batch_size, *dataset_size)?;
            let steps = steps_of(*steps, *epochs, rate)?;
            Mechanism::sampled_gaussian(rate, NoiseMultiplier::new(*noise_multiplier)?, steps)
        }
    })
}

impl From<&Mechanism> for MechanismSpec {
    fn from(mechanism: &Mechanism) -> MechanismSpec {
        use MechanismSpec as S;
        let inner = |mechanism: &Mechanism| Box::new(MechanismSpec::from(mechanism));
        let all = |parts: &[Mechanism]| parts.iter().map(MechanismSpec::from).collect();
        match mechanism {
            Mechanism::Gaussian { noise_multiplier } => {
                S::Gaussian { noise_multiplier: Some(noise_multiplier.get()), sigma: None, sensitivity: None }
            }
            Mechanism::Laplace { noise_multiplier } => {
                S::Laplace { noise_multiplier: Some(noise_multiplier.get()), scale: None, sensitivity: None }
            }
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                S::DiscreteGaussian { sigma: sigma.get(), sensitivity: (*sensitivity).into() }
            }
            Mechanism::DiscreteLaplace { scale, sensitivity } => {
                S::DiscreteLaplace { scale: scale.get(), sensitivity: (*sensitivity).into() }
            }
            Mechanism::Skellam { variance, sensitivity } => {
                S::Skellam { variance: variance.get(), sensitivity: (*sensitivity).into() }
            }
            Mechanism::RandomizedResponse { buckets, noise } => S::RandomizedResponse {
                noise_parameter: noise.get(),
                buckets: Whole(f64::from(buckets.get())),
            },
            Mechanism::Exponential { epsilon } => S::Exponential { epsilon: epsilon.get() },
            Mechanism::Pure { epsilon } => S::Pure { epsilon: epsilon.get() },
            Mechanism::Approximate { epsilon, delta } => {
                S::Approximate { epsilon: epsilon.get(), delta: delta.get() }
            }
            Mechanism::Zcdp { rho } => S::Zcdp { rho: rho.get() },
            Mechanism::Rdp { curve } => {
                let (orders, values) = curve.points().iter().copied().unzip();
                S::Rdp { orders, values }
            }
            Mechanism::Gdp { mu } => S::Gdp { mu: mu.get() },
            Mechanism::PoissonSampled { rate, mechanism } => {
                S::PoissonSampled { rate: rate.get(), mechanism: inner(mechanism) }
            }
            Mechanism::FixedSizeSampled { batch, population, mechanism } => S::FixedSizeSampled {
                batch: (*batch).into(),
                population: (*population).into(),
                mechanism: inner(mechanism),
            },
            Mechanism::TruncatedPoissonSampled { rate, most, population, mechanism } => {
                S::TruncatedPoissonSampled {
                    rate: rate.get(),
                    most: (*most).into(),
                    population: (*population).into(),
                    mechanism: inner(mechanism),
                }
            }
            Mechanism::RandomAllocation { batches, mechanism } => {
                S::RandomAllocation { batches: (*batches).into(), mechanism: inner(mechanism) }
            }
            Mechanism::Shuffled { batches, mechanism } => {
                S::Shuffled { batches: (*batches).into(), mechanism: inner(mechanism) }
            }
            Mechanism::Matrix { strategy, participation, noise_multiplier } => S::Matrix {
                strategy: strategy.into(),
                participation: (*participation).into(),
                noise_multiplier: noise_multiplier.get(),
            },
            Mechanism::BestOf { runs, mechanism } => {
                let (mean_runs, shape) = match runs {
                    Runs::Poisson { mean } => (*mean, None),
                    Runs::NegativeBinomial { mean, shape } => (*mean, Some(*shape)),
                };
                S::BestOf { mean_runs, shape, mechanism: inner(mechanism) }
            }
            Mechanism::Losses { losses } => {
                S::Losses { first: losses.first().into(), second: losses.second().map(LossesSpec::from) }
            }
            Mechanism::Repeated { times, mechanism } => {
                S::Repeated { times: (*times).into(), mechanism: inner(mechanism) }
            }
            Mechanism::Composed(parts) => S::Composed { parts: all(parts) },
            Mechanism::Parallel(parts) => S::Parallel { parts: all(parts) },
            Mechanism::Group { size, mechanism } => {
                S::Group { size: (*size).into(), mechanism: inner(mechanism) }
            }
        }
    }
}
