//! What shadow models say of a canary in both worlds, as normal laws, and the likelihood ratio by them.

/// The normal laws of a canary's margin in both worlds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Laws {
    inside: Normal,
    outside: Normal,
}

/// A mean and a standard deviation.
#[derive(Debug, Clone, Copy)]
struct Normal {
    mean: f64,
    deviation: f64,
}

impl Laws {
    /// The laws of the margins of both worlds; none of fewer than two margins.
    pub(super) fn of(inside: &[f64], outside: &[f64]) -> Option<Laws> {
        let enough = inside.len() >= 2 && outside.len() >= 2;
        enough.then(|| Laws { inside: Normal::of(inside), outside: Normal::of(outside) })
    }

    /// The log-likelihood ratio of "in" over "out".
    pub(super) fn ratio(&self, seen: f64) -> f64 {
        self.inside.log_density(seen) - self.outside.log_density(seen)
    }
}

impl Normal {
    /// Mean and standard deviation; the latter kept off zero.
    fn of(values: &[f64]) -> Normal {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Normal { mean, deviation: variance.sqrt().max(1e-6 * (1.0 + mean.abs())) }
    }

    fn log_density(&self, seen: f64) -> f64 {
        -((seen - self.mean) / self.deviation).powi(2) / 2.0 - self.deviation.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_two_normal_laws() {
        let (inside, outside) = ([1.0, 1.4, 0.6], [-0.2, 0.4]);
        let laws = Laws::of(&inside, &outside).expect("enough of both");
        // Means 1 and 0.1, deviations 0.4 and 0.3 √2; by hand.
        let log = |seen: f64, mean: f64, deviation: f64| {
            -((seen - mean) / deviation).powi(2) / 2.0 - deviation.ln()
        };
        for seen in [-3.0, 0.0, 0.6, 2.0] {
            let truth = log(seen, 1.0, 0.4) - log(seen, 0.1, 0.3 * std::f64::consts::SQRT_2);
            assert!((laws.ratio(seen) - truth).abs() < 1e-12, "{seen}");
        }
        assert!(Laws::of(&inside[..1], &outside).is_none());
    }
}
