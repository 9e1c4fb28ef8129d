//! `veracity ledger`: make a budget, look at it, check it.

mod entries;
mod plotting;
mod printing;

use crate::{
    Ending, Outcome,
    args::{LedgerCommand, LedgerCreateArgs, LedgerShowArgs, LedgerVerifyArgs, choice::RuleWord},
    text,
};
use veracity::{
    Count, Delta, Epsilon, Error, GdpMu, Mechanism, NoiseMultiplier, PrivacyUnit,
    filter::Budget,
    ledger::{Hash, Ledger, Rule, Terms},
    ledger_json,
    spec::Whole,
};

/// Runs one of them.
pub fn run(command: &LedgerCommand) -> Result<Outcome, Error> {
    match command {
        LedgerCommand::Create(args) => create(args),
        LedgerCommand::Show(args) => show(args),
        LedgerCommand::History(args) => entries::history(args),
        LedgerCommand::Verify(args) => verify(args),
        LedgerCommand::Export(args) => entries::export(args),
        LedgerCommand::Plot(args) => plotting::plot(args),
    }
}

fn create(args: &LedgerCreateArgs) -> Result<Outcome, Error> {
    let ledger = Ledger::create(&args.file, terms(args)?)?;
    told(&ledger, args.json)
}

fn show(args: &LedgerShowArgs) -> Result<Outcome, Error> {
    told(&Ledger::open(&args.file)?, args.json)
}

fn told(ledger: &Ledger, is_json: bool) -> Result<Outcome, Error> {
    let status = ledger.status()?;
    Outcome::done(match is_json {
        true => text::json(&ledger_json::status(ledger, &status))?,
        false => printing::status_words(ledger, &status),
    })
}

fn verify(args: &LedgerVerifyArgs) -> Result<Outcome, Error> {
    let noted: Option<Hash> = args.head.as_deref().map(str::parse).transpose()?;
    let verified = Ledger::open(&args.file)?.verify(noted)?;
    let text = match args.json {
        true => text::json(&ledger_json::verified(&verified))?,
        false => printing::verified_words(&args.file, &verified),
    };
    Ok(Outcome { text, ending: Ending::of(verified.holds()) })
}

fn terms(args: &LedgerCreateArgs) -> Result<Terms, Error> {
    let budget = Budget { epsilon: Epsilon::new(args.epsilon)?, delta: Delta::new(args.delta)? };
    Ok(Terms {
        budget,
        rule: rule(args, budget)?,
        adjacency: args.adjacency,
        unit: PrivacyUnit::new(args.unit.as_deref().unwrap_or(Terms::ANY_UNIT))?,
        dataset: args.dataset.clone().unwrap_or_default(),
        analysts: args.analyst.iter().map(|written| analyst(written, budget)).collect::<Result<_, _>>()?,
    })
}

/// The rule that the flags describe. A flag that it would ignore is a misunderstanding, and is refused.
fn rule(args: &LedgerCreateArgs, budget: Budget) -> Result<Rule, Error> {
    let usual = Rule::usual(budget)?;
    let word = args.rule.unwrap_or(match usual {
        Rule::Sum => RuleWord::Sum,
        Rule::Union { .. } | Rule::Gaussian { .. } | Rule::Product { .. } => RuleWord::Union,
    });
    let (name, read): (&str, &[&str]) = match word {
        RuleWord::Sum => ("sum", &[]),
        RuleWord::Union => ("union", &["--reserve"]),
        RuleWord::Gaussian => ("gaussian", &["--reserve"]),
        RuleWord::Product => ("product", &["--reserve", "--mu", "--slot"]),
    };
    let given = [
        ("--reserve", args.reserve.is_some()),
        ("--mu", args.mu.is_some()),
        ("--slot", !args.slot.is_empty()),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(flag, given)| *given && !read.contains(flag)) {
        return Err(Error::invalid(format!("{flag} cannot be used with --rule {name}")));
    }
    let reserve = || match (args.reserve, &usual) {
        (Some(reserve), _) => Delta::new(reserve),
        (None, Rule::Union { reserve }) => Ok(*reserve),
        (None, Rule::Sum | Rule::Gaussian { .. } | Rule::Product { .. }) => Ok(Delta::ZERO),
    };
    Ok(match word {
        RuleWord::Sum => Rule::Sum,
        RuleWord::Union => Rule::Union { reserve: reserve()? },
        RuleWord::Gaussian => Rule::Gaussian { reserve: reserve()? },
        RuleWord::Product => Rule::Product {
            mu: GdpMu::new(args.mu.unwrap_or(0.0))?,
            reserve: reserve()?,
            slots: args.slot.iter().map(|written| slot(written)).collect::<Result<_, _>>()?,
        },
    })
}

/// `ada:1.5`: an ε at the ledger's δ.
fn analyst(written: &str, budget: Budget) -> Result<(String, Budget), Error> {
    let read = written.rsplit_once(':').and_then(|(name, cap)| Some((name, cap.trim().parse::<f64>().ok()?)));
    let (name, cap) =
        read.ok_or_else(|| Error::invalid("--analyst must be NAME:EPSILON, such as ada:1.5"))?;
    Ok((name.to_owned(), Budget { epsilon: Epsilon::new(cap)?, delta: budget.delta }))
}

/// `laplace:0.1:100`: a kind, an ε and a number.
fn slot(written: &str) -> Result<(Mechanism, Count), Error> {
    let refused = || Error::invalid("--slot must be TYPE:EPSILON:COUNT, such as laplace:0.1:100");
    let [kind, epsilon, count] = written.split(':').collect::<Vec<_>>()[..] else { return Err(refused()) };
    let (Ok(epsilon), Ok(count)) = (epsilon.trim().parse::<f64>(), count.trim().parse::<f64>()) else {
        return Err(refused());
    };
    let mechanism = match kind {
        "pure" => Mechanism::Pure { epsilon: Epsilon::new(epsilon)? },
        "laplace" => Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(1.0 / epsilon)? },
        _ => return Err(Error::out_of_range("type of a slot", kind, "laplace or pure")),
    };
    Ok((mechanism, Whole(count).count("slots")?))
}
