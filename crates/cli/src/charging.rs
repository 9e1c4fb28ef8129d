//! The ledger that pays for a release, a query or a training, from the flags; and the answer that it keeps, as it is printed.

use crate::{args::ChargeArgs, text};
use serde_json::{Value, json};
use veracity::{
    Error, decimal,
    ledger::{Forecast, KeptAnswer, Ledger, Paid, Payer, RequestId},
};

/// The ledger that the flags name, and who asks; nothing where none is named.
pub fn payer(args: &ChargeArgs, what: Option<String>) -> Result<Option<Payer>, Error> {
    let Some(path) = &args.ledger else { return Ok(None) };
    Ok(Some(Payer {
        id: args.request_id.as_deref().map(RequestId::new).transpose()?,
        analyst: args.analyst.clone(),
        what,
        ..Payer::new(Ledger::open(path)?)
    }))
}

/// What a request would cost its ledger, for people.
pub fn forecast_words(forecast: &Forecast, payer: &Payer) -> String {
    let of = payer.ledger.path().display();
    let percent = decimal::up(100.0 * forecast.of_left, 3);
    let (about, fits) = (if forecast.is_exact { "" } else { "about " }, forecast.fits);
    let requests = if fits == 1 { "request fits" } else { "requests fit" };
    match forecast.of_left > 0.0 {
        true => format!("ledger: costs {percent}% of what is left of {of}; {about}{fits} such {requests}\n"),
        false => format!("ledger: costs nothing of {of}, because it was answered before\n"),
    }
}

/// The same for scripts; null without a ledger.
pub fn forecast_json(forecast: Option<&Forecast>) -> Value {
    json!(forecast.map(|forecast| json!({
        "fraction_of_remaining": forecast.of_left,
        "requests_that_fit": forecast.fits,
        "exact": forecast.is_exact,
    })))
}

/// An answer in the form that is asked for.
pub fn text<T>(paid: &Paid<T>, is_json: bool) -> Result<String, Error> {
    let (Paid::New { answer, .. } | Paid::Known { answer, .. }) = paid;
    let KeptAnswer { words, object } = answer;
    match paid {
        _ if is_json => text::json(object),
        Paid::New { .. } => Ok(words.clone()),
        Paid::Known { entry, ledger, .. } => Ok(format!(
            "{words}answered before, as entry {entry} of {}: not charged again\n",
            ledger.display()
        )),
    }
}
