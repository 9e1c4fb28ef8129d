//! Products fixed at creation: the whole as one question, and which factors a charge takes away.

use super::{Amounts, add_up, cost, times_up};
use crate::{Part, Question, expand, single};
use veracity_core::{Adjacency, Count, Delta, Epsilon, GdpMu, Mechanism, Refusal};

/// The product as one question, for the exact accountant to price.
pub(super) fn product(
    mu: GdpMu,
    reserve: Delta,
    slots: &[(Mechanism, Count)],
    adjacency: Adjacency,
) -> Result<Question, Refusal> {
    let mut factors = Vec::new();
    if mu.get() > 0.0 {
        factors.push(Mechanism::Gdp { mu });
    }
    if reserve.get() > 0.0 {
        factors.push(Mechanism::Approximate { epsilon: Epsilon::ZERO, delta: reserve });
    }
    for (mechanism, count) in slots {
        only_part(mechanism, adjacency)?;
        factors.push(mechanism.clone().repeated(*count));
    }
    if factors.is_empty() {
        return Err(Refusal::out_of_range("product", "empty", "a pool or a slot"));
    }
    Ok(Question { mechanism: Mechanism::Composed(factors), adjacency })
}

/// What a question takes from a product: the first slots that dominate a part and are not used up, then the pools.
///
/// # Promise    What is taken dominates the question, part by part
pub(super) fn cost(
    question: &Question,
    slots: &[(Mechanism, Count)],
    left: &Amounts,
) -> Result<Amounts, Refusal> {
    let [composition] = &expand::expand(&question.mechanism, question.adjacency)?[..] else {
        return Err(Refusal::no_theorem(
            "parallel parts",
            "a product of slots",
            "charge the parts one after another, or use another kind of filter",
        ));
    };
    let mut factors = Vec::new();
    for (mechanism, _) in slots {
        factors.push(only_part(mechanism, question.adjacency)?);
    }
    let mut taken = Amounts { slots: vec![0; slots.len()], ..Amounts::of(0.0, 0.0) };
    for (part, count) in &composition.parts {
        let mut uses = count.get();
        for (i, factor) in factors.iter().enumerate() {
            let Some(leak) = leak_beside(factor, part) else { continue };
            let here = uses.min(left.slots[i].saturating_sub(taken.slots[i]));
            if here > 0 {
                taken.slots[i] += here;
                taken.delta = add_up(taken.delta, times_up(Count::new(here)?, leak));
                uses -= here;
            }
        }
        if uses > 0 {
            let (square, leak) = cost::squared_times(part, Count::new(uses)?)?;
            (taken.sum, taken.delta) = (add_up(taken.sum, square), add_up(taken.delta, leak));
        }
    }
    Ok(taken)
}

/// The one part of a slot.
fn only_part(mechanism: &Mechanism, adjacency: Adjacency) -> Result<Part, Refusal> {
    match &expand::expand(mechanism, adjacency)?[..] {
        [composition] => match &composition.parts[..] {
            [(part, Count::ONE)] => Ok(part.clone()),
            _ => Err(Refusal::out_of_range("slot", "a composition", "one mechanism, used once")),
        },
        _ => Err(Refusal::out_of_range("slot", "parallel parts", "one mechanism, used once")),
    }
}

/// The δ to be taken from the reserve beside a factor so that both dominate a part; None where the factor does not.
///
/// # Promise    The part is dominated
/// # Reference  A Laplace of smaller ε is one of larger ε with more noise: (1 + b²t²)/(1 + c²t²), b < c, is the
/// characteristic function of zero with probability b²/c², else a Laplace of scale c. [KairouzOhViswanath15] Theorem 2.5:
/// randomized response that tells all with probability δ dominates every (ε, δ)-private mechanism
fn leak_beside(factor: &Part, part: &Part) -> Option<f64> {
    if factor == part {
        return Some(0.0);
    }
    match (factor, part) {
        (_, Part::AtMost(part)) => leak_beside(factor, part),
        (Part::Laplace { epsilon: most }, Part::Laplace { epsilon }) => (epsilon <= most).then_some(0.0),
        (Part::Approximate { epsilon: most, delta: known }, _) => {
            let (epsilon, delta) = single::declared(part)?;
            (epsilon <= *most).then_some(if delta <= *known { 0.0 } else { delta })
        }
        _ => None,
    }
}
