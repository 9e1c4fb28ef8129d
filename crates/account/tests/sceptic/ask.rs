//! The accountant in the sceptic's terms: a question in, an interval, a bound or a refusal out.

use veracity_account::{Method, Question, delta_at, epsilon_at};
use veracity_core::{Delta, Epsilon, Finding};
use veracity_testkit::sceptic::{
    judge::Answer,
    questions::{Asked, Wanted},
};

/// What a method says.
pub fn answer(asked: &Asked, method: Method) -> Answer {
    let question = Question { mechanism: asked.mechanism.clone(), adjacency: asked.adjacency };
    let said = match asked.wanted {
        Wanted::EpsilonAt(delta) => Delta::new(delta)
            .and_then(|delta| epsilon_at(&question, delta, method))
            .map(|found| ends(found, Epsilon::get)),
        Wanted::DeltaAt(epsilon) => Epsilon::new(epsilon)
            .and_then(|epsilon| delta_at(&question, epsilon, method))
            .map(|found| ends(found, Delta::get)),
    };
    said.unwrap_or_else(|refusal| Answer::Refused(refusal.to_string()))
}

fn ends<T: Copy>(found: Finding<T>, get: impl Fn(T) -> f64) -> Answer {
    match found {
        Finding::Bracket(bracket) => Answer::Between(get(bracket.lower.0), get(bracket.upper.0)),
        Finding::Upper(upper) => Answer::AtMost(get(upper.0)),
        Finding::Approximation(_) => Answer::Refused("an approximation promises nothing".to_owned()),
    }
}
