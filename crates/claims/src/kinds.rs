//! The kinds of mechanism that a plan may list, each with its fields: one table, for help and documentation.

/// One kind of mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Its name, as in `kind = "…"`.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [&'static str],
    /// What it is, and what of its fields may be left out.
    pub means: &'static str,
    /// What the accountant takes it for: the pair of distributions, or the bound.
    pub pair: &'static str,
    /// Under which adjacencies.
    pub adjacency: &'static str,
    /// When to use it.
    pub when: &'static str,
}

/// Every kind that a plan may list. A test compares it with what is read.
pub const KINDS: [Kind; 24] = [
    Kind {
        name: "gaussian",
        fields: &["noise_multiplier", "sigma", "sensitivity"],
        means: "Gaussian noise: noise_multiplier, or sigma with sensitivity",
        pair: "N(μ, 1) against N(0, 1), μ = contributions/noise_multiplier; μ² adds up over uses",
        adjacency: "all; a replaced record is two contributions",
        when: "sums and means of vectors of bounded ℓ2 norm; many releases from one budget",
    },
    Kind {
        name: "laplace",
        fields: &["noise_multiplier", "scale", "sensitivity"],
        means: "Laplace noise: noise_multiplier, or scale with sensitivity",
        pair: "losses from −ε to ε, ε = contributions/noise_multiplier, half of them at each end or between",
        adjacency: "all",
        when: "one or few numbers of bounded ℓ1 norm; where δ must be 0",
    },
    Kind {
        name: "discrete-gaussian",
        fields: &["sigma", "sensitivity"],
        means: "integer Gaussian noise; sensitivity is 1 unless given",
        pair: "P(x) ∝ e^{−x²/2σ²} on the integers, moved by the sensitivity; the losses lie on a lattice",
        adjacency: "all",
        when: "counts and sums on integers, with exact samplers",
    },
    Kind {
        name: "discrete-laplace",
        fields: &["scale", "sensitivity"],
        means: "integer Laplace noise; sensitivity is 1 unless given",
        pair: "P(x) ∝ e^{−|x|/scale} on the integers, moved by the sensitivity",
        adjacency: "all",
        when: "one count, with exact samplers and δ = 0",
    },
    Kind {
        name: "randomized-response",
        fields: &["noise_parameter", "buckets"],
        means: "each report is random with chance noise_parameter, true otherwise",
        pair: "the true bucket with chance 1 − p + p/k, each other with p/k",
        adjacency: "replace-one, zero-out",
        when: "people who report for themselves (local privacy)",
    },
    Kind {
        name: "exponential",
        fields: &["epsilon"],
        means: "the exponential mechanism, by the range of its losses",
        pair: "two losses t and t − ε for the worst t; adaptively chosen ones by their own recursion (method optimal)",
        adjacency: "all; epsilon is the range of losses under that adjacency",
        when: "choosing one of many by a score: quantiles, medians, top candidates",
    },
    Kind {
        name: "pure",
        fields: &["epsilon"],
        means: "declared: epsilon-differential privacy",
        pair: "a coin with odds e^ε, the worst of all ε-private mechanisms",
        adjacency: "the one that it was declared for",
        when: "what only a paper or a vendor vouches for",
    },
    Kind {
        name: "approximate",
        fields: &["epsilon", "delta"],
        means: "declared: (epsilon, delta)-differential privacy",
        pair: "that coin, and with probability δ the truth",
        adjacency: "the one that it was declared for",
        when: "what only a paper or a vendor vouches for",
    },
    Kind {
        name: "zcdp",
        fields: &["rho"],
        means: "declared: rho-zero-concentrated differential privacy",
        pair: "Rényi divergence of order α at most ρα",
        adjacency: "the one that it was declared for",
        when: "libraries that account by ρ",
    },
    Kind {
        name: "rdp",
        fields: &["orders", "values"],
        means: "declared: Rényi divergences, a value for each order",
        pair: "Rényi divergence at most the value beside each order",
        adjacency: "the one that it was declared for",
        when: "libraries that account by Rényi divergences",
    },
    Kind {
        name: "gdp",
        fields: &["mu"],
        means: "declared: mu-Gaussian differential privacy",
        pair: "as hard to tell apart as N(μ, 1) from N(0, 1)",
        adjacency: "the one that it was declared for",
        when: "mechanisms whose trade-off curve was bounded",
    },
    Kind {
        name: "poisson-sampled",
        fields: &["rate", "mechanism"],
        means: "a mechanism on a batch that each record enters with chance rate",
        pair: "(1 − q)Q + qP against Q, and the reverse; Gaussians on one batch count as one",
        adjacency: "add-remove, zero-out; replace-one exactly for Gaussians and as an upper end for other noise; groups of a Gaussian as mixtures of Gaussians",
        when: "training on batches that each record enters by its own coin",
    },
    Kind {
        name: "fixed-size-sampled",
        fields: &["batch", "population", "mechanism"],
        means: "a mechanism on a batch of fixed size, drawn without replacement",
        pair: "(1 − γ)Q + γP against Q with P, Q a replaced record apart, γ = batch/population",
        adjacency: "replace-one between an upper end and what some dataset attains; add-remove exactly",
        when: "batches of one size drawn anew for each step",
    },
    Kind {
        name: "truncated-poisson-sampled",
        fields: &["rate", "most", "population", "mechanism"],
        means: "a mechanism on a Poisson batch of at most so many of the population; surplus records are dropped at random",
        pair: "as poisson-sampled, and with the chance that the others fill the batch as a batch in which one record replaces another",
        adjacency: "all, from above",
        when: "Poisson batches on hardware with a largest batch",
    },
    Kind {
        name: "random-allocation",
        fields: &["batches", "mechanism"],
        means: "one epoch in which each record is dealt to one of the batches at random (balls and bins)",
        pair: "N(0, I) with one of t coordinates moved, against N(0, I)",
        adjacency: "add-remove, zero-out",
        when: "epochs in which each record is dealt to one batch (balls and bins)",
    },
    Kind {
        name: "shuffled",
        fields: &["batches", "mechanism"],
        means: "one epoch over the batches of a shuffled dataset",
        pair: "at most one use of the mechanism; `veracity batching` says what it is at least",
        adjacency: "zero-out, replace-one",
        when: "what most trainers do; compare it with what they claim",
    },
    Kind {
        name: "matrix",
        fields: &["strategy", "participation", "noise_multiplier"],
        means: "correlated noise (DP-FTRL): strategy tree, banded or rows; participation once, separated or cyclic-poisson",
        pair: "one Gaussian of the strategy's sensitivity; a banded strategy on groups that take turns is Poisson-sampled Gaussians",
        adjacency: "all",
        when: "DP-FTRL: noise that cancels over steps, see correlated-noise.md",
    },
    Kind {
        name: "best-of",
        fields: &["mean_runs", "shape", "mechanism"],
        means: "the best of a random number of runs: Poisson, or negative binomial of this shape",
        pair: "Rényi divergences of one run, or its profile, with the law of the number of runs",
        adjacency: "that of the mechanism",
        when: "hyper-parameter search that publishes the best of several private runs",
    },
    Kind {
        name: "losses",
        fields: &["first", "second"],
        means: "declared: a privacy loss distribution as losses, probabilities, infinite; second for the other order",
        pair: "the list itself; the other order of the datasets follows from it unless given",
        adjacency: "the one that it was declared for",
        when: "privacy loss distributions that another program computed",
    },
    Kind {
        name: "repeated",
        fields: &["times", "mechanism"],
        means: "a mechanism, so many times",
        pair: "the losses of all uses, added",
        adjacency: "that of the mechanism",
        when: "steps of a training, a query each month",
    },
    Kind {
        name: "composed",
        fields: &["parts"],
        means: "mechanisms one after another",
        pair: "the losses of all parts, added",
        adjacency: "one for all parts",
        when: "a plan of several releases",
    },
    Kind {
        name: "parallel",
        fields: &["parts"],
        means: "mechanisms on disjoint parts of the data",
        pair: "the worst part; under replace-one two parts, which a record leaves and enters",
        adjacency: "add-remove, zero-out; replace-one for parts that are not declared or sampled",
        when: "histograms, and queries on disjoint groups",
    },
    Kind {
        name: "group",
        fields: &["size", "mechanism"],
        means: "a mechanism, for so many records that change together",
        pair: "as many records together: shifts and ranges add up, batches hold a random number of them",
        adjacency: "that of the mechanism",
        when: "people with several records",
    },
    Kind {
        name: "dp-sgd",
        fields: &["sampling_rate", "batch_size", "dataset_size", "noise_multiplier", "steps", "epochs"],
        means: "Gaussian noise on Poisson batches: sampling_rate, or batch_size with dataset_size; steps or epochs",
        pair: "poisson-sampled gaussian, repeated",
        adjacency: "as poisson-sampled",
        when: "private training as most papers state it",
    },
];

/// The table as text, two lines for each kind.
pub fn table() -> String {
    let entry = |kind: &Kind| format!("  {}: {}\n      {}\n", kind.name, kind.fields.join(", "), kind.means);
    KINDS.iter().map(entry).collect()
}

/// The documentation of all kinds, as Markdown.
pub fn pages() -> String {
    let mut text = String::from(
        "# Mechanisms\n\nEvery kind that a plan may list, made from `crates/claims/src/kinds.rs` by \
         `cargo run -p veracity --example mechanism_pages`. In a TOML plan each is a `[[mechanism]]` table with its `kind` and \
         fields, and `times` to repeat it; `mechanism` and `parts` hold further tables. `adjacency` and `unit` stand at the top \
         of the plan.\n",
    );
    for kind in KINDS {
        let fields: Vec<String> = kind.fields.iter().map(|field| format!("`{field}`")).collect();
        text += &format!(
            "\n## {}\n\n- **What**: {}\n- **Fields**: {}\n- **Accounted as**: {}\n- **Adjacency**: {}\n- **When**: {}\n",
            kind.name,
            kind.means,
            fields.join(", "),
            kind.pair,
            kind.adjacency,
            kind.when
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::MechanismSpec;

    #[test]
    fn the_pages_are_those_of_the_table() {
        assert_eq!(
            include_str!("../../../docs/mechanisms.md"),
            pages(),
            "make them anew: cargo run -p veracity --example mechanism_pages > docs/mechanisms.md"
        );
    }

    /// The names between backticks after "expected", as serde lists them.
    fn expected(text: &str) -> Vec<String> {
        let error = serde_json::from_str::<MechanismSpec>(text).unwrap_err().to_string();
        let listed = error.split_once("expected").map_or("", |(_, listed)| listed);
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn every_kind_that_is_read_is_in_the_table_with_its_fields() {
        let mut read = expected(r#"{"kind":"?"}"#);
        let mut listed: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        read.sort();
        listed.sort_unstable();
        assert_eq!(listed, read);
        for kind in KINDS {
            assert_eq!(
                expected(&format!(r#"{{"kind":"{}","?":1}}"#, kind.name)),
                kind.fields,
                "{}",
                kind.name
            );
        }
    }
}
