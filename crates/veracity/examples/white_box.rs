//! White-box audits of our own training: how much of what is proved does an attack show?
use veracity::{
    Count, Delta, Refusal, Significance,
    auditing::{Attack, Case, Choice, Method, Terms, attack, bound},
    training::Recipe,
};
fn main() -> Result<(), Refusal> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize| args[i].parse::<f64>().expect("numbers: epsilon batch steps canaries copies trials");
    let (eps, batch, steps, canaries, copies, trials) =
        (get(0), get(1), get(2), get(3) as usize, get(4) as usize, get(5) as u64);
    let text = format!(
        "[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n[training]\nbatch_size = {batch}\nsteps = {steps}\nlearning_rate = 1.0\n[privacy]\nepsilon = {eps}\ndelta = 1e-5\n"
    );
    let recipe = Recipe::parse(&text, std::path::Path::new(""))?;
    let case = Case::training(&recipe, Attack::WhiteBox { canaries, copies }, None, 1, Count::new(trials)?)?;
    let start = std::time::Instant::now();
    let mut terms = Terms {
        method: Method::ManyCanaries { guessed: None },
        trials: Count::new(trials)?,
        seed: 1,
        significance: 0.05,
    };
    if canaries == 1 {
        terms.method = Method::Threshold { choice: Choice::Split, group: Count::new(copies as u64)? };
    }
    let (audited, seen) = attack(&case, terms, 2)?;
    println!(
        "{} proved {:.4} {:?} in {:?}",
        case.note.description,
        audited.proved.map_or(f64::NAN, |proved| proved.0.get()),
        audited.evidence,
        start.elapsed()
    );
    let gdp = veracity::auditing::examine(
        case.note.clone(),
        case.claim,
        case.proved,
        Terms { method: Method::Gaussian { choice: Choice::Split }, ..terms },
        &seen,
    )?;
    println!("gdp {:?}", gdp.evidence.shown);
    let _ = (Delta::new(0.1), Significance::new(0.1), bound::Basis::Proved);
    Ok(())
}
