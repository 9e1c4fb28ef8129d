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
}

/// Every kind that a plan may list. A test compares it with what is read.
pub const KINDS: [Kind; 24] = [
    Kind {
        name: "gaussian",
        fields: &["noise_multiplier", "sigma", "sensitivity"],
        means: "Gaussian noise: noise_multiplier, or sigma with sensitivity",
    },
    Kind {
        name: "laplace",
        fields: &["noise_multiplier", "scale", "sensitivity"],
        means: "Laplace noise: noise_multiplier, or scale with sensitivity",
    },
    Kind {
        name: "discrete-gaussian",
        fields: &["sigma", "sensitivity"],
        means: "integer Gaussian noise; sensitivity is 1 unless given",
    },
    Kind {
        name: "discrete-laplace",
        fields: &["scale", "sensitivity"],
        means: "integer Laplace noise; sensitivity is 1 unless given",
    },
    Kind {
        name: "randomized-response",
        fields: &["noise_parameter", "buckets"],
        means: "each report is random with chance noise_parameter, true otherwise",
    },
    Kind {
        name: "exponential",
        fields: &["epsilon"],
        means: "the exponential mechanism, by the range of its losses",
    },
    Kind { name: "pure", fields: &["epsilon"], means: "declared: epsilon-differential privacy" },
    Kind {
        name: "approximate",
        fields: &["epsilon", "delta"],
        means: "declared: (epsilon, delta)-differential privacy",
    },
    Kind { name: "zcdp", fields: &["rho"], means: "declared: rho-zero-concentrated differential privacy" },
    Kind {
        name: "rdp",
        fields: &["orders", "values"],
        means: "declared: Rényi divergences, a value for each order",
    },
    Kind { name: "gdp", fields: &["mu"], means: "declared: mu-Gaussian differential privacy" },
    Kind {
        name: "poisson-sampled",
        fields: &["rate", "mechanism"],
        means: "a mechanism on a batch that each record enters with chance rate",
    },
    Kind {
        name: "fixed-size-sampled",
        fields: &["batch", "population", "mechanism"],
        means: "a mechanism on a batch of fixed size, drawn without replacement",
    },
    Kind {
        name: "truncated-poisson-sampled",
        fields: &["rate", "most", "population", "mechanism"],
        means: "a mechanism on a Poisson batch of at most so many of the population; surplus records are dropped at random",
    },
    Kind {
        name: "random-allocation",
        fields: &["batches", "mechanism"],
        means: "one epoch in which each record is dealt to one of the batches at random (balls and bins)",
    },
    Kind {
        name: "shuffled",
        fields: &["batches", "mechanism"],
        means: "one epoch over the batches of a shuffled dataset",
    },
    Kind {
        name: "matrix",
        fields: &["strategy", "participation", "noise_multiplier"],
        means: "correlated noise (DP-FTRL): strategy tree, banded or rows; participation once, separated or cyclic-poisson",
    },
    Kind {
        name: "best-of",
        fields: &["mean_runs", "shape", "mechanism"],
        means: "the best of a random number of runs: Poisson, or negative binomial of this shape",
    },
    Kind {
        name: "losses",
        fields: &["first", "second"],
        means: "declared: a privacy loss distribution as losses, probabilities, infinite; second for the other order",
    },
    Kind { name: "repeated", fields: &["times", "mechanism"], means: "a mechanism, so many times" },
    Kind { name: "composed", fields: &["parts"], means: "mechanisms one after another" },
    Kind { name: "parallel", fields: &["parts"], means: "mechanisms on disjoint parts of the data" },
    Kind {
        name: "group",
        fields: &["size", "mechanism"],
        means: "a mechanism, for so many records that change together",
    },
    Kind {
        name: "dp-sgd",
        fields: &["sampling_rate", "batch_size", "dataset_size", "noise_multiplier", "steps", "epochs"],
        means: "Gaussian noise on Poisson batches: sampling_rate, or batch_size with dataset_size; steps or epochs",
    },
];

/// The table as text, two lines for each kind.
pub fn table() -> String {
    let entry = |kind: &Kind| format!("  {}: {}\n      {}\n", kind.name, kind.fields.join(", "), kind.means);
    KINDS.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::MechanismSpec;

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
