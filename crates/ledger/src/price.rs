//! What a question is charged as, found before the file is locked.
//!
//! Under rules that add up, the cost of a question does not depend on what was spent, so it is known beforehand and the lock is short.
//! What a product takes depends on which slots are left, and is found under the lock.

use crate::{Rule, Terms};
use veracity_account::{
    Question, best,
    filter::{Admission, Amounts, Filter},
};
use veracity_core::{Epsilon, ErrorKind, Mechanism, Refusal};

/// The least part of a limit that a positive cost counts as: less could be lost in the difference of two floats, and what is left
/// must be less after every charge.
const LEAST: f64 = 1.0 / (1u64 << 50) as f64;

/// A question with its price.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Price {
    /// What is charged in its place, where the rule has no number for the mechanism itself.
    pub charged: Option<Mechanism>,
    /// The question, or what is charged in its place.
    question: Question,
    /// What it costs the whole; nothing where that depends on what is left.
    whole: Option<Amounts>,
    /// What it costs its analyst.
    share: Option<Amounts>,
    /// What adds up, in words.
    sum_name: &'static str,
    /// Whether noise with a δ costs less: where μ² adds up, any other is charged as the worst there is of its ε.
    prefers_delta: bool,
}

impl Price {
    /// The price under filters of these terms, whatever is spent of them: the whole's, and the analyst's.
    ///
    /// # Promise    What is charged covers the question: it is the question, or the (ε, δ) that an accountant certifies for it
    pub fn of(
        terms: &Terms,
        question: &Question,
        whole: &Filter,
        share: Option<&Filter>,
    ) -> Result<Price, Refusal> {
        match Price::as_it_is(terms, question, whole, share) {
            Err(refusal) if matches!(refusal.kind(), ErrorKind::NoTheorem | ErrorKind::NotCertified) => {
                let Some(pair) = covering(terms, question)? else { return Err(refusal) };
                let covered = Question { mechanism: pair.clone(), adjacency: question.adjacency };
                // What was refused at first says more than why its pair is refused.
                let price = Price::as_it_is(terms, &covered, whole, share).map_err(|_| refusal)?;
                Ok(Price { charged: Some(pair), ..price })
            }
            price => price,
        }
    }

    fn as_it_is(
        terms: &Terms,
        question: &Question,
        whole: &Filter,
        share: Option<&Filter>,
    ) -> Result<Price, Refusal> {
        let cost = |filter: &Filter| cost_now(filter, question);
        let now = cost(whole)?;
        let whole = match terms.rule {
            Rule::Sum | Rule::Gaussian { .. } => Some(now),
            Rule::Product { .. } => None,
        };
        let share = share.map(cost).transpose()?;
        let sum_name = terms.rule.sum_name();
        let prefers_delta = matches!(terms.rule, Rule::Gaussian { .. });
        Ok(Price { charged: None, question: question.clone(), whole, share, sum_name, prefers_delta })
    }

    /// Takes the price from the filters, from all or from none; says what it was.
    pub fn take(
        &self,
        whole: &mut Filter,
        share: Option<&mut Filter>,
    ) -> Result<(Amounts, Option<Amounts>), Refusal> {
        let cost = match &self.whole {
            Some(cost) => cost.clone(),
            None => cost_now(whole, &self.question)?,
        };
        let mut after = whole.clone();
        after.take(&cost).map_err(|_| self.over("the budget", &cost, &whole.left()))?;
        if let (Some(filter), Some(cost)) = (share, &self.share) {
            filter.take(cost).map_err(|_| self.over("the cap of this analyst", cost, &filter.left()))?;
        }
        *whole = after;
        Ok((cost, self.share.clone()))
    }

    fn over(&self, what: &str, cost: &Amounts, left: &Amounts) -> Refusal {
        let sum = self.sum_name;
        let mut line =
            format!("{what} does not allow it: it costs {sum} {:.4e}, {:.4e} is left", cost.sum, left.sum);
        if cost.delta > 0.0 {
            line +=
                &format!("; it costs delta {:.3e} of the reserve, {:.3e} is left", cost.delta, left.delta);
        }
        let has_no_delta = self.prefers_delta && cost.delta == 0.0;
        let with_delta = if has_no_delta { ", or with a delta, which costs less here" } else { "" };
        Refusal::OverBudget(format!("{line}; ask less{with_delta}, or of another ledger"))
    }
}

/// What a question costs a filter as it is.
fn cost_now(filter: &Filter, question: &Question) -> Result<Amounts, Refusal> {
    let (Admission::Granted(cost) | Admission::Denied { cost, .. }) = filter.admits(question)?;
    let at_least = |cost: f64, limit: f64| if cost > 0.0 { cost.max(limit * LEAST) } else { cost };
    let limit = filter.limit();
    Ok(Amounts { sum: at_least(cost.sum, limit.sum), delta: at_least(cost.delta, limit.delta), ..cost })
}

/// The (ε, δ) that covers a question, at a hundredth of the budget's δ; nothing where there is none.
fn covering(terms: &Terms, question: &Question) -> Result<Option<Mechanism>, Refusal> {
    let delta = terms.each()?;
    if terms.rule == Rule::Sum {
        // The sum has tried exactly this.
        return Ok(None);
    }
    match best::epsilon_at(question, delta) {
        Ok(found) => Ok(found
            .finding
            .upper()
            .and_then(|upper| Epsilon::new(upper.0.get()).ok())
            .filter(|epsilon| epsilon.get().is_finite())
            .map(|epsilon| Mechanism::Approximate { epsilon, delta })),
        Err(refusal) if refusal.kind() == ErrorKind::Contradiction => Err(refusal),
        Err(_) => Ok(None),
    }
}
