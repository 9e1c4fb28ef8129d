//! `veracity explain`: a guarantee in words, for the people whose data it is.

use crate::{Outcome, args::ExplainArgs, meaning, text};
use veracity::{
    Delta, Epsilon, Error, Explanation, ExplanationFile, PrivacyUnit, Probability, Promise, explain,
    explain_promise, words,
};

/// Explains a mechanism, or an (ε, δ) on its own.
pub fn run(args: &ExplainArgs) -> Result<Outcome, Error> {
    let priors = if args.prior.is_empty() { &[0.01, 0.5] } else { args.prior.as_slice() };
    let priors = priors.iter().map(|&prior| match Probability::new(prior) {
        Ok(prior) if prior.get() > 0.0 && prior.get() < 1.0 => Ok(prior),
        _ => Err(Error::out_of_range("prior", prior, "0 < prior < 1")),
    });
    let priors = priors.collect::<Result<Vec<Probability>, Error>>()?;
    let (explanation, assumption) = match &args.kind {
        Some(kind) => {
            let (mut mechanism, mut epsilon) = (args.mechanism.clone(), args.epsilon);
            meaning::claim_range(kind, &mut mechanism, &mut epsilon);
            let delta = args.delta.or(if epsilon.is_none() { Some(1e-5) } else { None });
            let target = meaning::target(delta, epsilon)?;
            let subject = meaning::subject(kind, &mechanism)?;
            (explain(&subject, target, &priors)?, text::assumption(&subject))
        }
        None => (from_promise(args, &priors)?, String::new()),
    };
    Outcome::done(match args.json {
        true => text::json(&ExplanationFile::new(&explanation))?,
        false => words::explanation(&explanation).to_string() + &assumption,
    })
}

fn from_promise(args: &ExplainArgs, priors: &[Probability]) -> Result<Explanation, Error> {
    let Some(epsilon) = args.epsilon else {
        return Err(Error::invalid("--epsilon is missing; give KIND, or --epsilon with --delta"));
    };
    if epsilon.is_infinite() {
        return Err(Error::out_of_range("epsilon", epsilon, "a finite number ≥ 0"));
    }
    let unit = args.mechanism.unit.as_deref().map_or(Ok(PrivacyUnit::default()), PrivacyUnit::new)?;
    let promise = Promise {
        epsilon: Epsilon::new(epsilon)?.get(),
        delta: Delta::new(args.delta.unwrap_or(0.0))?.get(),
    };
    let mut explanation = explain_promise(promise, unit, priors)?;
    explanation.adjacency = args.mechanism.adjacency;
    Ok(explanation)
}
