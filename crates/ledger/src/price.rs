//! What a question is charged as, prepared before the file is locked.
//!
//! Under rules that add up, the cost of a question does not depend on what was spent. What a product takes depends on which slots are
//! left, and what a union takes on the μ² that is left: both are found under the lock, from a [`Quote`] that was made before.

use crate::{Ledger, Rule, Terms, exact::Meter};
use veracity_account::{
    Question, best,
    filter::{Amounts, Filter, Quote, largest_pure},
};
use veracity_core::{Epsilon, ErrorKind, Mechanism, Refusal, decimal};

/// The least part of a limit that a positive cost counts as: less could be lost in the difference of two floats, and what is left
/// must be less after every charge.
const LEAST: f64 = 1.0 / (1u64 << 50) as f64;

/// Digits of a cost, and of what is left, in a refusal.
const DIGITS: usize = 4;

/// A question with its price.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Price {
    /// What is charged in its place, where the rule has no number for the mechanism itself.
    pub charged: Option<Mechanism>,
    /// What it costs the whole.
    whole: Quote,
    /// What it costs its analyst, by place.
    share: Option<(usize, Quote)>,
    /// What adds up, in words.
    sum_name: &'static str,
    /// Whether noise with a δ costs less: where μ² adds up, any other is charged as the worst there is of its ε.
    prefers_delta: bool,
}

impl Price {
    /// The price under the filters of a ledger, whatever is spent of them: the whole's, and the analyst's.
    ///
    /// # Promise    What is charged covers the question: it is the question, or the (ε, δ) that an accountant certifies for it
    pub fn of(ledger: &Ledger, question: &Question, analyst: Option<usize>) -> Result<Price, Refusal> {
        match Price::as_it_is(ledger, question, analyst) {
            Err(refusal) if matches!(refusal.kind(), ErrorKind::NoTheorem | ErrorKind::NotCertified) => {
                let Some(pair) = covering(ledger.terms(), question)? else { return Err(refusal) };
                let covered = Question { mechanism: pair.clone(), adjacency: question.adjacency };
                // What was refused at first says more than why its pair is refused.
                let price = Price::as_it_is(ledger, &covered, analyst).map_err(|_| refusal)?;
                Ok(Price { charged: Some(pair), ..price })
            }
            price => price,
        }
    }

    fn as_it_is(ledger: &Ledger, question: &Question, analyst: Option<usize>) -> Result<Price, Refusal> {
        let whole = ledger.fresh(0)?;
        let quote = whole.quote(question)?;
        // A product refuses a question here rather than under the lock.
        whole.price(&quote)?;
        let share = |at: usize| Ok::<_, Refusal>((at, ledger.fresh(at + 1)?.quote(question)?));
        let rule = &ledger.terms().rule;
        Ok(Price {
            charged: None,
            whole: quote,
            share: analyst.map(share).transpose()?,
            sum_name: rule.sum_name(),
            prefers_delta: matches!(rule, Rule::Gaussian { .. } | Rule::Union { .. }),
        })
    }

    /// Takes the price from the whole and from the analyst's cap, from both or from none; says what it was.
    pub fn take(
        &self,
        ledger: &Ledger,
        whole: &mut Meter,
        share: Option<&mut Meter>,
    ) -> Result<(Amounts, Option<Amounts>), Refusal> {
        let cost = cost_now(&ledger.filter(0, whole.spent())?, &self.whole)?;
        let mut after = whole.clone();
        if !after.take(&cost) {
            return Err(self.over("over budget", &self.whole, &cost, whole));
        }
        let share_cost = match (share, &self.share) {
            (Some(meter), Some((at, quote))) => {
                let cost = cost_now(&ledger.filter(at + 1, meter.spent())?, quote)?;
                if !meter.take(&cost) {
                    return Err(self.over("over the cap of this analyst", quote, &cost, meter));
                }
                Some(cost)
            }
            _ => None,
        };
        *whole = after;
        Ok((cost, share_cost))
    }

    /// What it costs the whole where so much was spent.
    pub fn of_whole(&self, ledger: &Ledger, spent: &Amounts) -> Result<Amounts, Refusal> {
        cost_now(&ledger.filter(0, spent.clone())?, &self.whole)
    }

    /// What it costs the analyst's cap where so much was spent of it.
    pub fn of_share(&self, ledger: &Ledger, spent: &Amounts) -> Result<Amounts, Refusal> {
        match &self.share {
            Some((at, quote)) => cost_now(&ledger.filter(at + 1, spent.clone())?, quote),
            None => Ok(Amounts::of(0.0, 0.0)),
        }
    }

    /// Whether a charge of the whole that was made covers the question, where so much was spent before it.
    ///
    /// # Promise    True only for a charge that this machine certifies, or that is no less than its price except for the last bits
    pub fn is_covered(&self, ledger: &Ledger, cost: &Amounts, before: &Meter) -> Result<bool, Refusal> {
        ledger.filter(0, before.spent())?.covers(&self.whole, cost)
    }

    /// The same for a charge of the analyst's cap.
    pub fn is_share_covered(&self, ledger: &Ledger, cost: &Amounts, before: &Meter) -> Result<bool, Refusal> {
        let Some((at, quote)) = &self.share else { return Ok(true) };
        ledger.filter(at + 1, before.spent())?.covers(quote, cost)
    }

    fn over(&self, what: &str, quote: &Quote, cost: &Amounts, meter: &Meter) -> Refusal {
        let left = meter.left();
        let of = |name: &str, cost: f64, left: f64| {
            let (cost, left) = (decimal::up(cost, DIGITS), decimal::down(left, DIGITS));
            format!("costs {name} {cost}, but only {left} is left")
        };
        if meter.is_union() {
            let (square, pure) = quote.alone();
            let left_of_pool = decimal::down(left.sum, DIGITS);
            let pool = match square.filter(|square| square.is_finite() && *square > left.sum) {
                Some(square) => of("mu squared", square, left.sum),
                None if quote.alone_delta() > left.delta => of("delta", quote.alone_delta(), left.delta),
                None => format!("costs more than the mu squared {left_of_pool} and the delta that are left"),
            };
            let Some(pure) = pure else {
                return Refusal::OverBudget(format!(
                    "{what}: this request {pool}; use a smaller epsilon or another ledger"
                ));
            };
            let sum = match left.pure > 0.0 {
                true => format!(" (by the sum of epsilon it {})", of("epsilon", pure, left.pure)),
                false => String::new(),
            };
            let fits = decimal::down(largest_pure(&left), DIGITS);
            return Refusal::OverBudget(format!(
                "{what}: this request {pool}{sum}; use an epsilon of at most {fits}, noise with a delta, which costs \
                 less here, or another ledger"
            ));
        }
        let mut line = format!("{what}: this request {}", of(self.sum_name, cost.sum, left.sum));
        if cost.delta > 0.0 {
            line += &format!(" and {}", of("delta", cost.delta, left.delta));
        }
        let has_no_delta = self.prefers_delta && cost.delta == 0.0;
        let with_delta = if has_no_delta { ", noise with a delta, which costs less here," } else { "" };
        Refusal::OverBudget(format!("{line}; use a smaller epsilon{with_delta} or another ledger"))
    }
}

/// What a question costs a filter now.
fn cost_now(filter: &Filter, quote: &Quote) -> Result<Amounts, Refusal> {
    let cost = filter.price(quote)?;
    let at_least = |cost: f64, limit: f64| if cost > 0.0 { cost.max(limit * LEAST) } else { cost };
    let limit = filter.limit();
    Ok(Amounts {
        sum: at_least(cost.sum, limit.sum),
        delta: at_least(cost.delta, limit.delta),
        pure: at_least(cost.pure, limit.pure),
        ..cost
    })
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
