//! An analyst asks one question after another, each in view of the answers before it, within a budget of (1, 1e-5).
//!
//! cargo run -p veracity-account --example filters

use veracity_account::{
    Question,
    filter::{Admission, Budget, Filter, Kind},
};
use veracity_core::{Adjacency, Count, Delta, Epsilon, GdpMu, Mechanism, NoiseMultiplier, Refusal};

fn main() -> Result<(), Refusal> {
    let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)? };
    let counts = Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(50.0)? };
    let means = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(40.0)? };
    let kinds = [
        ("adding up epsilon", Kind::Basic { each: Delta::new(1e-7)? }),
        ("adding up rho", Kind::Zcdp { reserve: Delta::new(0.0)? }),
        ("divergences at order 24", Kind::Rdp { order: 24.0 }),
        ("adding up mu squared", Kind::Gdp { reserve: Delta::new(1e-8)? }),
        (
            "a product of 60 Laplaces and a Gaussian",
            Kind::Product {
                mu: GdpMu::new(0.217)?,
                reserve: Delta::new(1e-8)?,
                slots: vec![(counts.clone(), Count::new(60)?)],
            },
        ),
    ];
    for (name, kind) in kinds {
        let mut filter = Filter::new(kind, budget, Adjacency::AddRemove)?;
        let answered = ask_in_turn(&mut filter, &counts, &means)?;
        println!("{name}: {answered} questions; spent {}; left {}", filter.spent(), filter.left());
    }
    Ok(())
}

/// A count, then a mean, and so on; what is denied is skipped, until both are.
fn ask_in_turn(filter: &mut Filter, counts: &Mechanism, means: &Mechanism) -> Result<u32, Refusal> {
    let (mut answered, mut denied) = (0, 0);
    for mechanism in [counts, means].into_iter().cycle() {
        let question = Question { mechanism: mechanism.clone(), adjacency: Adjacency::AddRemove };
        match filter.admits(&question)? {
            Admission::Granted(_) => {
                filter.charge(&question)?;
                (answered, denied) = (answered + 1, 0);
            }
            Admission::Denied { .. } => denied += 1,
        }
        if denied == 2 {
            break;
        }
    }
    Ok(answered)
}
