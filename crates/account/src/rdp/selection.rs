//! The best of a random number of runs: what publishing only the best result costs, from the Rényi curve of one run.
//!
//! A run has law Q on one dataset and Q' on the other. With f(x) = E[x^K] for K runs, the best of them is y with
//! density q(y) f'(Q_s), where Q_s lies between Q(< y) and Q(≤ y) (its mean over a uniform s breaks the tie). So with
//! ρ = q^α q'^{1−α} and G(s) = f'(Q_s)^α f'(Q'_s)^{1−α}, which is jointly convex in its two arguments, the moment of the
//! best run is at most f(0) + ∫ ρ G, and f(0) is there because no run at all publishes nothing.
//!
//! **The chance of no run costs nothing.** Let M ≥ 1 be at least every G. By convexity ρ ≥ α q − (α − 1) q', hence
//! ∫ ρ (M − G) ≥ ∫ (M − G) d(α Q − (α − 1) Q'). For Poisson runs of mean m, G = m e^{mψ} with ψ = α Q_s − (α − 1) Q'_s − 1,
//! which goes from −1 to 0, so the integral is M − (1 − e^{−m}) ≥ f(0), and f(0) + ∫ ρ G ≤ M ∫ ρ. The paper's bound is
//! M = m e^{(α−1) m δ̂}, which is right when m ≥ 1; below that M = 1 is what holds.

use super::{Curve, convert, curve};
use crate::{
    Composition,
    single::{self, OUTWARD},
};
use veracity_core::numerics::{logspace, root};
use veracity_core::{Refusal, Runs};

/// Orders at which the curve of one run is written down: α − 1 in equal ratios.
const TABLE: (f64, f64, u32) = (1e-2, 1e7, 360);

/// The best of a random number of runs, prepared once for all orders.
pub(crate) struct Selection<'a> {
    runs: Runs,
    run: Curve<'a>,
    /// The pure ε of one run, or infinity.
    pure: f64,
    /// Orders by rising size, and the divergence of one run there.
    table: Vec<(f64, f64)>,
    /// For each order of the table, the divergence of the best run there.
    best: Vec<f64>,
    /// What selection adds at every order, for negative binomial runs.
    constant: f64,
}

impl<'a> Selection<'a> {
    /// Writes the curve of one run down and searches the order λ that serves the constant best.
    pub(crate) fn new(runs: Runs, run: &'a Composition) -> Result<Selection<'a>, Refusal> {
        let (low, high, steps) = TABLE;
        let ratio = (high / low).ln() / f64::from(steps);
        let pure = single::pure_epsilon(run);
        let run = Curve::new(run)?;
        let mut table = Vec::new();
        for i in 0..=steps {
            let order = 1.0 + low * (ratio * f64::from(i)).exp();
            table.push((order, run.at(order)?));
        }
        let constant = match runs {
            Runs::Poisson { .. } => 0.0,
            Runs::NegativeBinomial { mean, shape } => {
                let stop = log_inverse_gamma(mean, shape);
                let at = |order: f64| {
                    let divergence = run.at(order)?;
                    Ok(((1.0 - 1.0 / order) * divergence + stop / order) * OUTWARD)
                };
                let searched = convert::least_over_orders((low, high), at)?;
                // λ = 1 and λ = ∞ are orders too.
                (1.0 + shape) * searched.min(stop).min(pure) * OUTWARD
            }
        };
        let mut selection = Selection { runs, run, pure, table, best: Vec::new(), constant };
        selection.best =
            selection.table.iter().map(|&(order, value)| value + selection.added(order)).collect();
        Ok(selection)
    }

    /// The divergence at `order`: that of the run with what selection adds, or the same at any larger order.
    ///
    /// # Promise    Never below the true divergence, whatever of a run's output is compared
    /// # Reference  [PapernotSteinke22] Theorem 2 (negative binomial), Theorem 6 (Poisson); the chance of no run above
    /// # Assumes    order > 1; the runs are independent and alike, and their number is drawn apart from the data
    /// # Numerics   Rounded up
    pub(crate) fn divergence(&self, order: f64) -> Result<f64, Refusal> {
        let own = self.run.at(order)? + self.added(order);
        let larger = self.table.iter().zip(&self.best).filter(|((known, _), _)| *known >= order);
        Ok(larger.map(|(_, value)| *value).fold(own, f64::min) * OUTWARD)
    }

    /// What selection adds to the divergence of one run at `order`.
    fn added(&self, order: f64) -> f64 {
        match self.runs {
            Runs::NegativeBinomial { mean, .. } => self.constant + mean.ln() / (order - 1.0) * OUTWARD,
            Runs::Poisson { mean } => {
                let log_mean = mean.ln() + 4.0 * f64::EPSILON * (1.0 + mean.ln().abs());
                (mean * self.delta_of_run(order) * OUTWARD + log_mean / (order - 1.0)).max(0.0) * OUTWARD
            }
        }
    }

    /// A δ̂ for which one run is (ε̂, δ̂)-private, where e^ε̂ = α/(α − 1).
    ///
    /// # Promise    Never below the true δ̂
    /// # Reference  [CanonneKamathSteinke20] Corollary 13; [KairouzOhViswanath15] Theorem 2.5 (pure runs)
    fn delta_of_run(&self, order: f64) -> f64 {
        let epsilon = -(-1.0 / order).ln_1p() / OUTWARD;
        let log = |&(known, value): &(f64, f64)| convert::log_delta_of(known, value, epsilon);
        let converted = self.table.iter().map(log).fold(0.0, f64::min).exp() * OUTWARD + f64::MIN_POSITIVE;
        converted.min(pure_delta(self.pure, epsilon))
    }
}

/// δ at `epsilon` of the worst mechanism with this pure ε: (e^ε₀ − e^ε)/(1 + e^ε₀), rounded up.
fn pure_delta(pure: f64, epsilon: f64) -> f64 {
    if pure <= epsilon {
        return 0.0;
    }
    -(epsilon - pure).exp_m1() / (1.0 + (-pure).exp()) * OUTWARD
}

/// The pure ε of the best run, where one run is pure.
///
/// # Promise    Never below the true ε
/// # Reference  [PapernotSteinke22] Corollary 3: (2 + η) ε. For Poisson runs f'(Q_s)/f'(Q'_s) = e^{m (Q_s − Q'_s)}, and no
/// event tells the datasets of a pure run apart by more than tanh(ε/2). That ratio is at most γ^{−1−η} for negative
/// binomial runs
/// # Numerics   Rounded up
pub(crate) fn pure_epsilon(runs: Runs, run: &Composition) -> f64 {
    let epsilon = single::pure_epsilon(run);
    if epsilon.is_infinite() {
        return epsilon;
    }
    let added = match runs {
        Runs::Poisson { mean } => mean * (0.5 * epsilon).tanh(),
        Runs::NegativeBinomial { mean, shape } => (1.0 + shape) * epsilon.min(log_inverse_gamma(mean, shape)),
    };
    (epsilon + added * OUTWARD) * OUTWARD
}

/// log 1/γ of the truncated negative binomial law with this mean and shape η: with L = log 1/γ, the mean is
/// (e^L − 1)/L · ηL/(1 − e^{−ηL}), which rises with L.
///
/// # Promise    Never below the true log 1/γ
/// # Reference  [PapernotSteinke22] Definition 1
/// # Numerics   Bisection to 1e-14, keeping the side on which the mean was surely reached
pub(crate) fn log_inverse_gamma(mean: f64, shape: f64) -> f64 {
    let target = mean.ln() + 4.0 * f64::EPSILON * (1.0 + mean.ln());
    let reaches = |stop: f64| {
        let (grown, share) = (log_exp_m1_over(stop), log_exp_m1_over(-shape * stop));
        // Both are logarithms of quotients that are a few ulp off.
        let slack = 16.0 * f64::EPSILON * (1.0 + grown.abs() + share.abs());
        grown - share - slack >= target
    };
    let mut top = 1.0;
    while !reaches(top) {
        top *= 2.0;
    }
    root::bisect(top, 0.0, 1e-14, reaches).holds
}

/// log((e^x − 1)/x) at any x, zero at zero.
fn log_exp_m1_over(x: f64) -> f64 {
    if x == 0.0 {
        0.0
    } else if x > 0.0 {
        curve::log_exp_m1(x) - x.ln()
    } else {
        logspace::log1m_exp(x) - (-x).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;
    use veracity_core::Count;

    fn once(part: Part) -> Composition {
        Composition { parts: vec![(part, Count::ONE)] }
    }

    /// The mean as the definition has it, there and back.
    #[test]
    fn the_stopping_chance_follows_from_the_mean() {
        let mean = |gamma: f64, shape: f64| match shape {
            0.0 => (1.0 / gamma - 1.0) / -gamma.ln(),
            _ => shape * (1.0 / gamma - 1.0) / -(shape * gamma.ln()).exp_m1(),
        };
        for shape in [-0.9, -0.5, 0.0, 1e-9, 0.5, 1.0, 2.0, 50.0] {
            for gamma in [1e-9, 1e-3, 0.1, 0.5, 0.9] {
                let found = log_inverse_gamma(mean(gamma, shape), shape);
                let truth = -f64::ln(gamma);
                let slack = 1e-11;
                assert!(truth * (1.0 - slack) <= found && found <= truth * (1.0 + slack), "{shape} {gamma}");
            }
        }
        // Means near one, and far beyond what a float of γ could hold.
        let near = log_inverse_gamma(1.0 + 1e-9, 1.0);
        assert!((1e-9..1.1e-9).contains(&near), "{near}");
        let far = log_inverse_gamma(1e300, -0.5);
        assert!((2.0 * (690.0 + 0.7)..2.0 * (691.0 + 0.8)).contains(&far), "{far}");
    }

    /// Corollary 4 of the paper: closed forms for a run that is ρ-zCDP, the orders λ at their best.
    #[test]
    fn concentrated_runs_cost_the_closed_form() {
        let (rho, mean) = (0.1, 30.0);
        let run = once(Part::Zcdp { rho });
        for shape in [0.0, 0.5, 1.0, 5.0] {
            let stop = log_inverse_gamma(mean, shape);
            let fixed = 2.0 * (1.0 + shape) * (rho * stop).sqrt() - shape * rho;
            let selection = Selection::new(Runs::NegativeBinomial { mean, shape }, &run).unwrap();
            let turn = 1.0 + (mean.ln() / rho).sqrt();
            let flat = 2.0 * (rho * mean.ln()).sqrt() + fixed;
            let low = selection.divergence(0.5 * (1.0 + turn)).unwrap();
            assert!(flat * (1.0 - 1e-12) <= low && low <= flat * 1.01, "{shape}: {low} {flat}");
            let order = 3.0 * turn;
            let steep = rho * (order - 1.0) + mean.ln() / (order - 1.0) + fixed;
            let high = selection.divergence(order).unwrap();
            assert!(steep * (1.0 - 1e-12) <= high && high <= steep * (1.0 + 1e-6), "{shape}: {high} {steep}");
        }
    }
}
