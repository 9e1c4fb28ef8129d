//! What shadow models say of a canary in both worlds, as normal laws, and the likelihood ratio by them.

/// The normal laws of a canary's margin in both worlds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Laws {
    inside: Normal,
    outside: Normal,
    /// How far the margins may be off that they are of, for readings that may be off by a tolerance of 1.
    doubt: f64,
}

/// A mean and a standard deviation.
#[derive(Debug, Clone, Copy)]
struct Normal {
    mean: f64,
    deviation: f64,
}

impl Laws {
    /// The laws of the margins of both worlds; none of fewer than two margins. `doubt` is the most that any of them may be off, for
    /// a tolerance of 1.
    pub(super) fn of(inside: &[f64], outside: &[f64], doubt: f64) -> Option<Laws> {
        let enough = inside.len() >= 2 && outside.len() >= 2;
        enough.then(|| Laws { inside: Normal::of(inside), outside: Normal::of(outside), doubt })
    }

    /// The log-likelihood ratio of "in" over "out".
    pub(super) fn ratio(&self, seen: f64) -> f64 {
        self.inside.log_density(seen) - self.outside.log_density(seen)
    }

    /// How far the ratio may be off where the margin may be by `unit` and the laws by their own, both times `tolerance`.
    pub(super) fn leeway(&self, seen: f64, unit: f64, tolerance: f64) -> f64 {
        let [seen_off, law_off] = [unit, self.doubt].map(|unit| super::trainer::leeway(unit, tolerance));
        [self.inside, self.outside].map(|law| law.leeway(seen, seen_off, law_off)).iter().sum()
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

    /// How far the log-density may be off where what is seen may be off by `seen_off`, and each of the values of the law by `law_off`:
    /// then the mean is off by no more, and the deviation, which is a distance over √(n − 1) with n ≥ 2, by no more than √2 times that.
    /// Without bound where the deviation may be zero.
    fn leeway(&self, seen: f64, seen_off: f64, law_off: f64) -> f64 {
        let (off, stretch) = (seen_off + law_off, std::f64::consts::SQRT_2 * law_off);
        if stretch >= self.deviation {
            return f64::INFINITY;
        }
        let distance = (seen - self.mean).abs();
        let [now, least, most] = [
            distance / self.deviation,
            (distance - off).max(0.0) / (self.deviation + stretch),
            (distance + off) / (self.deviation - stretch),
        ]
        .map(|z| z * z / 2.0);
        (most - now).max(now - least) + (self.deviation / (self.deviation - stretch)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every corner of what readings within the tolerance allow lies within the leeway, and one just beyond it does not.
    #[test]
    fn a_ratio_is_within_its_leeway_whatever_is_off() {
        let (inside, outside) = ([1.0, 1.4, 0.7], [-0.2, 0.3, 0.1, 0.2]);
        let (seen, doubt, unit) = (0.6, 1.5, 2.0);
        let laws = Laws::of(&inside, &outside, doubt).expect("enough of both");
        let tolerance = 1e-3;
        let leeway = laws.leeway(seen, unit, tolerance);
        let mut most = 0.0f64;
        for corner in 0..1u32 << 8 {
            let sign = |bit: u32| if corner >> bit & 1 == 1 { 1.0 } else { -1.0 };
            let off = |values: &[f64], first: u32| -> Vec<f64> {
                (first..).zip(values).map(|(bit, x)| x + sign(bit) * tolerance * doubt).collect()
            };
            let other = Laws::of(&off(&inside, 0), &off(&outside, 3), doubt).expect("enough of both");
            most = most.max((other.ratio(seen + sign(7) * tolerance * unit) - laws.ratio(seen)).abs());
        }
        assert!(most <= leeway && leeway < 4.0 * most, "{most} {leeway}");
        assert_eq!(laws.leeway(seen, unit, 0.0), 0.0);
        assert_eq!(laws.leeway(seen, unit, 1.0), f64::INFINITY);
        assert!(Laws::of(&inside[..1], &outside, doubt).is_none());
    }
}
