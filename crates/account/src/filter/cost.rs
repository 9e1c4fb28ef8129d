//! What one question costs, in the numbers that a filter counts in.

use super::{Amounts, Kind, add_up, gaussian, times_up};
use crate::{Composition, Method, Part, Question, expand, rdp, single, zcdp};
use veracity_core::{Count, Delta, Refusal};

/// What a question costs under a kind that adds up. A question with several alternatives (parallel parts) costs the most of
/// each number.
///
/// # Promise    Never below what the question costs: one use keeps the pair, ρ, divergence or μ that is charged
/// # Numerics   Rounded up
pub(super) fn of(kind: &Kind, question: &Question) -> Result<Amounts, Refusal> {
    match kind {
        Kind::Basic { each } => pair(question, *each),
        Kind::Zcdp { .. } => summed(question, concentrated),
        Kind::Rdp { order } => Ok(Amounts::of(rdp::divergence(question, *order)?.0, 0.0)),
        // Products and unions have prices of their own; their pools count as this kind does.
        Kind::Gdp { .. } | Kind::Product { .. } | Kind::Union { .. } => summed(question, squared),
    }
}

/// The (ε, δ) of a question: what was declared, or else the least ε that a method certifies at `each`.
fn pair(question: &Question, each: Delta) -> Result<Amounts, Refusal> {
    if let Ok(declared) = declared(question) {
        return Ok(declared);
    }
    let mut least: Result<f64, Refusal> = Err(Refusal::NotCertified("no method gives a bound".into()));
    for method in [Method::Exact, Method::Pld, Method::Rdp] {
        let found = crate::epsilon_at(question, each, method);
        let found = found.map(|found| found.upper().map_or(f64::INFINITY, |upper| upper.0.get()));
        least = match (least, found) {
            (Ok(one), Ok(other)) => Ok(one.min(other)),
            (Err(_), found) => found,
            (known, Err(_)) => known,
        };
    }
    Ok(Amounts::of(least?, each.get()))
}

/// The sums of the declared ε and δ of all parts; refused where a part has none.
fn declared(question: &Question) -> Result<Amounts, Refusal> {
    summed(question, |part| {
        single::declared(part).ok_or_else(|| {
            Refusal::no_theorem(
                single::name(part),
                "adding up declared (epsilon, delta) pairs",
                "use a budget with a delta",
            )
        })
    })
}

/// The pure ε of a question, rounded up; infinite where it has none.
pub(super) fn pure(question: &Question) -> f64 {
    match declared(question) {
        Ok(pair) if pair.delta == 0.0 => pair.sum,
        Ok(_) | Err(_) => f64::INFINITY,
    }
}

/// The largest sums over the alternatives.
fn summed(
    question: &Question,
    one: impl Fn(&Part) -> Result<(f64, f64), Refusal>,
) -> Result<Amounts, Refusal> {
    let mut most = Amounts::of(0.0, 0.0);
    for composition in expand::expand(&question.mechanism, question.adjacency)? {
        let (sum, delta) = sum_of(&composition, &one)?;
        (most.sum, most.delta) = (most.sum.max(sum), most.delta.max(delta));
    }
    Ok(most)
}

fn sum_of(
    composition: &Composition,
    one: impl Fn(&Part) -> Result<(f64, f64), Refusal>,
) -> Result<(f64, f64), Refusal> {
    let (mut sum, mut delta) = (0.0, 0.0);
    for (part, count) in &composition.parts {
        let (amount, leak) = one(part)?;
        (sum, delta) = (add_up(sum, times_up(*count, amount)), add_up(delta, times_up(*count, leak)));
    }
    Ok((sum, delta))
}

/// ρ and δ: a declared (ε, δ) is ε²/2 but for an event of probability δ.
///
/// # Reference  [BunSteinke16] Section 8 (approximate zCDP)
fn concentrated(part: &Part) -> Result<(f64, f64), Refusal> {
    match single::declared(part) {
        Some((epsilon, delta)) if delta > 0.0 => {
            Ok((zcdp::rho(&Part::Approximate { epsilon, delta: 0.0 })?, delta))
        }
        Some(_) | None => Ok((zcdp::rho(part)?, 0.0)),
    }
}

/// μ² and δ.
pub(super) fn squared(part: &Part) -> Result<(f64, f64), Refusal> {
    let (mu, delta) = gaussian::mu(part)?;
    Ok((if mu == 0.0 { 0.0 } else { (mu * mu).next_up() }, delta))
}

/// The same for several uses, rounded up.
pub(super) fn squared_times(part: &Part, count: Count) -> Result<(f64, f64), Refusal> {
    let (square, delta) = squared(part)?;
    Ok((times_up(count, square), times_up(count, delta)))
}
