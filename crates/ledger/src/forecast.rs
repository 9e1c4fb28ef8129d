//! What a request would cost, and how many like it would still fit, without a charge.

use crate::{
    Ledger, Request,
    exact::Meter,
    ledger::{Handle, RequestState},
    price::Price,
    request::CheckedRequest,
    store,
};
use veracity_account::filter::Amounts;
use veracity_core::{Error, Refusal};

/// So many charges are tried one after another. The price beside what is left takes some milliseconds.
const TRIED: u64 = 16;
/// So many charges are tried where the price does not depend on what is left.
const TRIED_AT_ONE_PRICE: u64 = 100_000;
/// At so many states of what is left the price of further charges is found.
const STATES: u32 = 8;

/// What a request would cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Which part of what is left it takes, from 0 to 1; of the analyst's cap where that is more. Nothing if it was answered before.
    pub of_left: f64,
    /// How many such requests would fit, this one included.
    pub fits: u64,
    /// Whether that number is exact; else about so many fit.
    pub is_exact: bool,
}

impl Ledger {
    /// What a request would cost now. Nothing is written.
    ///
    /// # Errors
    /// Refuses what [`Ledger::reserve`] refuses, and one that does not fit.
    pub fn forecast(&self, request: Request) -> Result<Forecast, Error> {
        let asked = CheckedRequest::new(request, self.terms())?;
        let mut handle = self.handle()?;
        let Handle { opened, checked } = &mut *handle;
        if let RequestState::Answered { .. } = self.known(&opened.connection, &asked)? {
            return Ok(Forecast { of_left: 0.0, fits: 1, is_exact: true });
        }
        let all = {
            let reading = store::look(&opened.connection, self.path())?;
            self.must_be_of_unit(&reading, &asked)?;
            self.checked(&reading, checked)?
        };
        drop(handle);
        let price = Price::of(self, &asked.question, asked.analyst)?;
        let share = asked.analyst.map(|at| all.meters[at + 1].clone());
        Ok(self.count(&price, all.meters[0].clone(), share)?)
    }

    fn count(&self, price: &Price, mut whole: Meter, mut share: Option<Meter>) -> Result<Forecast, Refusal> {
        let before = (whole.clone(), share.clone());
        let (cost, share_cost) = price.take(self, &mut whole, share.as_mut())?;
        let mut of_left = part_of_left(&cost, &before.0);
        if let (Some(cost), Some(meter)) = (&share_cost, &before.1) {
            of_left = of_left.max(part_of_left(cost, meter));
        }
        let is_union = whole.is_union() || share.as_ref().is_some_and(Meter::is_union);
        let tried = if is_union { TRIED } else { TRIED_AT_ONE_PRICE };
        let mut fits = 1;
        while fits < tried {
            if price.take(self, &mut whole, share.as_mut()).is_err() {
                return Ok(Forecast { of_left, fits, is_exact: true });
            }
            fits += 1;
        }
        let mut more = self.about(|spent| price.of_whole(self, spent), &whole)?;
        if let Some(meter) = &share {
            more = more.min(self.about(|spent| price.of_share(self, spent), meter)?);
        }
        Ok(Forecast { of_left, fits: fits + more, is_exact: false })
    }

    /// About how many more charges fit into what is left of a meter: by the sum at its own price, by the pool at the mean price.
    fn about(
        &self,
        price: impl Fn(&Amounts) -> Result<Amounts, Refusal>,
        meter: &Meter,
    ) -> Result<u64, Refusal> {
        let (spent, left) = (meter.spent(), meter.left());
        let now = price(&spent)?;
        let times = |left: f64, cost: f64| if cost > 0.0 { left / cost } else { f64::INFINITY };
        let by_sum = if meter.is_union() { times(left.pure, now.pure) } else { 0.0 };
        let mut by_pool = 0.0;
        for state in 0..STATES {
            let used = (f64::from(state) + 0.5) / f64::from(STATES);
            let then = Amounts { sum: spent.sum + used * left.sum, ..spent.clone() };
            by_pool += times(left.sum / f64::from(STATES), price(&then)?.sum);
        }
        let by_pool = by_pool.min(times(left.delta, now.delta));
        // A float to an integer saturates.
        Ok(by_sum.max(by_pool).floor() as u64)
    }
}

/// Which part of what is left a cost takes; of a union, in the filter where it takes less.
fn part_of_left(cost: &Amounts, meter: &Meter) -> f64 {
    let left = meter.left();
    let part = |cost: f64, left: f64| if cost > 0.0 { (cost / left).min(1.0) } else { 0.0 };
    let slots = cost.slots.iter().zip(&left.slots).map(|(cost, left)| part(*cost as f64, *left as f64));
    let pools = slots.fold(part(cost.sum, left.sum).max(part(cost.delta, left.delta)), f64::max);
    if meter.is_union() { pools.min(part(cost.pure, left.pure)) } else { pools }
}
