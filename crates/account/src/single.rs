//! What one use of a part costs as an (ε, δ) pair, and the two moves that every composition of pairs makes: the worst
//! over the alternatives, and δ from ε by search.

use crate::{
    Composition, Neighbours, Part, Question, expand,
    gdp::profile::{MARGIN, gaussian_delta, gaussian_epsilon_above},
    rdp::{convert, selection},
};
use veracity_core::numerics::{logspace, root};
use veracity_core::{Delta, Epsilon, Finding, Refusal, Upper};

/// Covers a handful of correctly rounded operations; multiply a computed bound by this to keep it a bound.
pub(crate) const OUTWARD: f64 = 1.0 + 32.0 * f64::EPSILON;

/// The (ε, δ) that a part has whatever δ is asked for: pure kinds and declared ones. None for kinds whose ε follows
/// from a δ.
///
/// # Promise    One use satisfies the pair
/// # Reference  [DworkRoth14] Theorem 3.6 (Laplace), [GhoshRoughgardenSundararajan09] (discrete Laplace),
/// [BalleBartheGaboardi18] Theorems 8 and 9 (sampled); randomized response by its largest and smallest ratio
/// # Numerics   Rounded up
pub(crate) fn declared(part: &Part) -> Option<(f64, f64)> {
    match part {
        Part::Laplace { epsilon } | Part::BoundedRange { epsilon } => Some((epsilon * OUTWARD, 0.0)),
        Part::Integer { noise, shift } => noise.largest_loss(*shift).map(|loss| (loss * OUTWARD, 0.0)),
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            Some((randomized_response(*buckets, *noise, *neighbours), 0.0))
        }
        Part::Approximate { epsilon, delta } => Some((*epsilon, *delta)),
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Present }
        | Part::FixedSizeSampled { rate, part } => {
            declared(part).map(|(epsilon, delta)| (amplified(*rate, epsilon), rate * delta * OUTWARD))
        }
        Part::AtMost(part) => declared(part),
        Part::Gaussian { mu } if *mu == 0.0 => Some((0.0, 0.0)),
        Part::Either { chance, rare, usual } => {
            let ((first, delta), (second, smaller)) = (declared(rare)?, declared(usual)?);
            let mixed = (chance * delta + (1.0 - chance) * smaller) * OUTWARD;
            Some((first.max(second), mixed))
        }
        Part::BestOf { runs, run } => {
            let epsilon = selection::pure_epsilon(*runs, run);
            epsilon.is_finite().then_some((epsilon, 0.0))
        }
        _ => None,
    }
}

/// The pure ε of one use of a part, or infinity.
pub(crate) fn pure_part(part: &Part) -> f64 {
    match declared(part) {
        Some((epsilon, 0.0)) => epsilon,
        Some(_) | None => f64::INFINITY,
    }
}

/// The pure ε of a composition, rounded up, or infinity: its Rényi divergence at order infinity.
pub(crate) fn pure_epsilon(composition: &Composition) -> f64 {
    let sum: f64 = composition.parts.iter().map(|(part, count)| count.as_f64() * pure_part(part)).sum();
    sum * (1.0 + composition.parts.len() as f64 * f64::EPSILON) * OUTWARD
}

/// The logarithms of the largest probability ratios of randomized response, rounded up.
fn randomized_response(buckets: u32, noise: f64, neighbours: Neighbours) -> f64 {
    let k = f64::from(buckets);
    let (truthful, other) = randomized_response_odds(buckets, noise);
    // A few ulp of each probability are an absolute error of the logarithm.
    let slack = 32.0 * f64::EPSILON;
    match neighbours {
        Neighbours::Replaced => (truthful / other).ln() * OUTWARD + slack,
        Neighbours::Present => (truthful * k).ln().max(-(other * k).ln()) * OUTWARD + slack,
    }
}

/// The chance to report the true bucket, and that of each other one.
pub(crate) fn randomized_response_odds(buckets: u32, noise: f64) -> (f64, f64) {
    let other = noise / f64::from(buckets);
    (1.0 - noise + other, other)
}

/// log(1 + q (e^ε − 1)), rounded up.
pub(crate) fn amplified(rate: f64, epsilon: f64) -> f64 {
    if epsilon <= 700.0 {
        return ((rate * epsilon.exp_m1()).ln_1p() * OUTWARD).min(epsilon);
    }
    let slack = 16.0 * f64::EPSILON * (epsilon - rate.ln());
    (logspace::log_add((-rate).ln_1p(), rate.ln() + epsilon) + slack).min(epsilon)
}

/// The ε of one use at `delta`.
///
/// # Promise    One use is (ε, `delta`)-differentially private; a declared pair keeps its own δ instead
/// # Reference  [BalleWang18] Theorem 8 (Gaussian); [BalleBartheGaboardi18] Theorems 2, 8 and 9 (sampled);
/// [CanonneKamathSteinke20] Corollary 13 (zCDP) and Proposition 12 (Rényi), Theorem 4 (discrete Gaussian)
/// # Numerics   Rounded up; bisection keeps the side it evaluated
pub(crate) fn single_use_epsilon(part: &Part, delta: f64) -> Result<f64, Refusal> {
    if let Some((epsilon, _)) = declared(part) {
        return Ok(epsilon);
    }
    match part {
        Part::Gaussian { mu } => Ok(gaussian_epsilon_above(mu * OUTWARD, delta)),
        Part::Integer { .. } | Part::Zcdp { .. } => {
            let rho = crate::zcdp::rho(part)?;
            Ok(convert::epsilon_at(delta, convert::ORDERS, |order| Ok(order * rho))?)
        }
        Part::Rdp { curve } => {
            let orders = curve.points().iter();
            Ok(orders
                .map(|&(order, value)| convert::epsilon_of(order, value, delta))
                .fold(f64::INFINITY, f64::min))
        }
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Replaced } => {
            match part.gaussian_shift() {
                Some(mu) => Ok(replaced_gaussian_epsilon(*rate, mu * OUTWARD, delta)),
                None => Err(Refusal::no_theorem(
                    format!("poisson-sampled {}", name(part)),
                    "replace-one",
                    "use add-remove or zero-out",
                )),
            }
        }
        // Both directions of a pair obey δ'(log(1 + q (e^ε − 1))) ≤ q δ(ε); for a Gaussian this is its exact profile.
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Present }
        | Part::FixedSizeSampled { rate, part } => {
            let inside = (delta / rate / OUTWARD).min(1.0);
            if inside >= 1.0 {
                return Ok(0.0);
            }
            single_use_epsilon(part, inside).map(|epsilon| amplified(*rate, epsilon))
        }
        Part::AtMost(part) => single_use_epsilon(part, delta),
        Part::BestOf { .. } => Err(Refusal::no_theorem(
            name(part),
            "composition of single uses",
            "use method rdp, or method basic for one selection",
        )),
        Part::Mixture { .. } | Part::Allocated { .. } | Part::Listed { .. } | Part::Either { .. } => {
            Err(Refusal::no_theorem(name(part), "composition of single uses", "use method exact, pld or rdp"))
        }
        Part::Laplace { .. }
        | Part::RandomizedResponse { .. }
        | Part::BoundedRange { .. }
        | Part::Approximate { .. } => Ok(f64::INFINITY),
    }
}

/// The ε of a Poisson-sampled Gaussian whose record is replaced by its opposite: (1 − q) N(0) + q N(μ) against
/// (1 − q) N(0) + q N(−μ), bounded by q ((1 − β) δ_μ(e) + β δ_2μ(e)) with e = log(1 + (e^ε − 1)/q), β = e^{ε − e}.
///
/// # Promise    Never below the true ε
/// # Reference  [BalleBartheGaboardi18] Theorem 2 (advanced joint convexity)
/// # Assumes    The pair above dominates, which `expand` has established
/// # Numerics   Bisection to 1e-11, keeping the side it evaluated
fn replaced_gaussian_epsilon(rate: f64, mu: f64, delta: f64) -> f64 {
    if delta >= rate {
        return 0.0; // no event tells the two apart by more than q
    }
    let within = |epsilon: f64| {
        let inner = if epsilon > 600.0 { epsilon - rate.ln() } else { (epsilon.exp_m1() / rate).ln_1p() };
        let inner = inner / OUTWARD;
        let beta = (epsilon - inner).exp().min(1.0);
        let mixed = (1.0 - beta) * gaussian_delta(mu, inner) + beta * gaussian_delta(2.0 * mu, inner);
        rate * mixed * (1.0 + 2.0 * MARGIN) + f64::MIN_POSITIVE <= delta
    };
    if within(0.0) {
        return 0.0;
    }
    // Both summands are at most δ_2μ, so its amplified ε is enough; doubled only against rounding.
    let mut top =
        amplified(rate, gaussian_epsilon_above(2.0 * mu, (delta / rate).min(1.0) / (1.0 + 8.0 * MARGIN)));
    while top.is_finite() && !within(top) {
        top *= 2.0;
    }
    if top.is_infinite() {
        return top;
    }
    // A billionth of the start is as good as nothing, and bisection towards zero would be slow.
    let least = 1e-9 * top;
    if within(least) { least } else { root::bisect(top, least, 1e-11, within).holds }
}

/// The kind of a part as the user knows it, innermost first for sampled ones.
pub(crate) fn name(part: &Part) -> String {
    match part {
        Part::Gaussian { .. } => "gaussian".into(),
        Part::Laplace { .. } => "laplace".into(),
        Part::Integer { noise, .. } => noise.kind().into(),
        Part::RandomizedResponse { .. } => "randomized-response".into(),
        Part::BoundedRange { .. } => "exponential".into(),
        Part::Approximate { delta, .. } if *delta == 0.0 => "pure".into(),
        Part::Approximate { .. } => "approximate".into(),
        Part::Zcdp { .. } => "zcdp".into(),
        Part::Rdp { .. } => "rdp".into(),
        Part::PoissonSampled { part, .. } => format!("poisson-sampled {}", name(part)),
        Part::FixedSizeSampled { part, .. } => format!("fixed-size-sampled {}", name(part)),
        Part::Mixture { .. } => "poisson-sampled gaussian of a group".into(),
        Part::Allocated { .. } => "random-allocation".into(),
        Part::Listed { .. } => "losses".into(),
        Part::BestOf { .. } => "best-of".into(),
        Part::Either { rare, usual, .. } if usual.gaussian_shift() == Some(0.0) => {
            format!("poisson-sampled {}", name(rare))
        }
        Part::Either { .. } => "truncated-poisson-sampled".into(),
        Part::AtMost(part) => name(part),
    }
}

/// What of a composition has its δ declared, and what still needs one.
pub(crate) struct Tally {
    /// Uses whose ε follows from a δ.
    pub(crate) uses: f64,
    /// The sum of the declared δ.
    pub(crate) delta: f64,
    /// −log Π (1 − δ) over the declared δ.
    pub(crate) log_delta: f64,
}

/// Counts what is declared and what is not.
pub(crate) fn tally(composition: &Composition) -> Tally {
    let mut tally = Tally { uses: 0.0, delta: 0.0, log_delta: 0.0 };
    for (part, count) in &composition.parts {
        match declared(part) {
            Some((_, delta)) => {
                tally.delta += count.as_f64() * delta;
                tally.log_delta -= count.as_f64() * (-delta).ln_1p();
            }
            None => tally.uses += count.as_f64(),
        }
    }
    tally
}

/// What is left of a δ (or of its logarithm) after the declared ones, or the refusal that says they already exceed it.
///
/// # Numerics  Ulps of the declared sum are forgiven: "100 times 1e-7" is meant to fit into "1e-5".
pub(crate) fn left_over(given: f64, spent: f64) -> Result<f64, Refusal> {
    if spent > given * OUTWARD {
        return Err(Refusal::NotCertified(format!(
            "declared parts use a delta of {spent:.4e}, but delta is {given:.4e}; use a larger delta"
        )));
    }
    Ok((given - spent).max(0.0))
}

/// The largest answer over the alternatives of a question.
pub(crate) fn worst(
    question: &Question,
    answer: impl Fn(&Composition) -> Result<f64, Refusal>,
) -> Result<f64, Refusal> {
    let mut largest: f64 = 0.0;
    for composition in expand::expand(&question.mechanism, question.adjacency)? {
        largest = largest.max(answer(&composition)?);
    }
    Ok(largest)
}

/// A δ whose ε is within `epsilon`, nearly the least.
///
/// # Promise    `epsilon_of` was evaluated at the result and did not exceed `epsilon`
/// # Numerics   Bisection of log δ to 1e-11, relatively
pub(crate) fn least_delta(
    epsilon: f64,
    epsilon_of: impl Fn(f64) -> Result<f64, Refusal>,
) -> Result<f64, Refusal> {
    let within = |delta: f64| epsilon_of(delta).is_ok_and(|found| found <= epsilon);
    if within(0.0) {
        return Ok(0.0);
    }
    let most = 1.0 - f64::EPSILON;
    let found = epsilon_of(most)?;
    if found > epsilon {
        return Err(Refusal::NotCertified(format!(
            "this method gives no delta < 1 at epsilon {epsilon}; use an epsilon above {found:.4}"
        )));
    }
    if within(f64::MIN_POSITIVE) {
        return Ok(f64::MIN_POSITIVE);
    }
    let exponent = |x: f64| x.exp().min(most);
    let switch = root::bisect(most.ln(), f64::MIN_POSITIVE.ln(), 1e-11, |x| within(exponent(x)));
    Ok(exponent(switch.holds))
}

/// An ε as a bound; infinite ones are refused with what to ask instead.
pub(crate) fn upper_epsilon(epsilon: f64) -> Result<Finding<Epsilon>, Refusal> {
    finite(epsilon)?;
    Ok(Finding::Upper(Upper(Epsilon::new(epsilon)?)))
}

/// Refuses an ε that protects nobody.
pub(crate) fn finite(epsilon: f64) -> Result<f64, Refusal> {
    if epsilon.is_finite() {
        return Ok(epsilon);
    }
    Err(Refusal::NotCertified("this method gives no finite epsilon at this delta; use a larger delta".into()))
}

/// A δ as a bound; one that reaches 1 protects nobody and is refused.
pub(crate) fn upper_delta(delta: f64) -> Result<Finding<Delta>, Refusal> {
    Ok(Finding::Upper(Upper(below_one(delta)?)))
}

/// A δ that is below 1, or the refusal that says so.
pub(crate) fn below_one(delta: f64) -> Result<Delta, Refusal> {
    Delta::new(delta).map_err(|_| {
        Refusal::NotCertified("this method gives no delta < 1 at this epsilon; use a larger epsilon".into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn randomized_response_has_the_epsilon_of_its_ratios() {
        let coin = |neighbours| Part::RandomizedResponse { buckets: 2, noise: 0.5, neighbours };
        let (replaced, _) = declared(&coin(Neighbours::Replaced)).unwrap();
        assert!(replaced >= 3f64.ln() && replaced < 3f64.ln() + 1e-13);
        // a·k = 1.5, b·k = 0.5
        let (blank, _) = declared(&coin(Neighbours::Present)).unwrap();
        assert!(blank >= 2f64.ln() && blank < 2f64.ln() + 1e-13);
    }

    /// The formula in use is the removal of a record; adding one must never cost more, or the theorem is misread.
    #[test]
    fn a_sampled_gaussian_costs_most_when_the_record_is_removed() {
        for rate in [0.001, 0.1, 0.6] {
            for mu in [0.3, 1.0, 4.0] {
                for delta in [1e-9, 1e-5, 0.01] {
                    let part = Part::PoissonSampled {
                        rate,
                        part: Box::new(Part::Gaussian { mu }),
                        neighbours: Neighbours::Present,
                    };
                    let epsilon = single_use_epsilon(&part, delta).unwrap();
                    if epsilon == 0.0 {
                        continue;
                    }
                    let removed = rate * gaussian_delta(mu, (epsilon.exp_m1() / rate).ln_1p());
                    assert!(
                        (removed / delta - 1.0).abs() < 1e-6 * (1.0 + epsilon / rate),
                        "{removed} {delta}"
                    );
                    let inside = (-epsilon).exp_m1() + rate;
                    if inside > 0.0 {
                        let added = inside * epsilon.exp() * gaussian_delta(mu, -(inside / rate).ln());
                        assert!(added <= delta * (1.0 + 1e-9), "{rate} {mu} {delta}: {added}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_replaced_record_costs_at_least_a_removed_one() {
        for delta in [1e-8, 1e-4] {
            let gaussian = || Box::new(Part::Gaussian { mu: 1.0 });
            let removed =
                Part::PoissonSampled { rate: 0.1, part: gaussian(), neighbours: Neighbours::Present };
            let replaced =
                Part::PoissonSampled { rate: 0.1, part: gaussian(), neighbours: Neighbours::Replaced };
            let (one, two) = (single_use_epsilon(&removed, delta), single_use_epsilon(&replaced, delta));
            assert!(one.unwrap() < two.unwrap());
        }
    }
}
