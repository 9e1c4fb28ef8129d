//! What a mechanism shows under an adjacency, written down anew: the worlds whose worst is the answer.
//!
//! A world is a direction of a situation. Kinds without a known worst pair have no worlds, only laws that any answer
//! must keep (`judge`).

use super::double_double::Dd;
use super::law::{Atom, Situation, Use, World, sampled_atoms};
use veracity_core::{Adjacency, Mechanism};

/// The most worlds that parallel parts may multiply out to.
const MOST_WORLDS: usize = 400;

/// The worlds of a question, or none where no worst pair is known to this kit.
pub fn worlds(mechanism: &Mechanism, adjacency: Adjacency) -> Option<Vec<World>> {
    let mut all = Vec::new();
    for record in [Record::Leaves, Record::Enters] {
        all.extend(seen(mechanism, View { adjacency, record, group: 1 })?);
    }
    (all.len() <= MOST_WORLDS).then_some(all)
}

/// Which way round the two datasets stand. For replaced records the two are mirror images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    /// The first dataset has it.
    Leaves,
    /// The second dataset has it.
    Enters,
}

#[derive(Debug, Clone, Copy)]
struct View {
    adjacency: Adjacency,
    record: Record,
    group: u64,
}

impl View {
    /// How many contributions the answer moves by.
    fn shift(self) -> Dd {
        let contributions = if self.adjacency == Adjacency::ReplaceOne { 2 } else { 1 };
        Dd::whole(contributions * self.group)
    }

    fn situation(self) -> Situation {
        match (self.adjacency, self.record) {
            (Adjacency::ReplaceOne, _) => Situation::Replace,
            (_, Record::Leaves) => Situation::Remove,
            (_, Record::Enters) => Situation::Add,
        }
    }
}

/// The alternatives of a mechanism in one view.
fn seen(mechanism: &Mechanism, view: View) -> Option<Vec<World>> {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => {
            let mut all = seen(mechanism, view)?;
            for world in &mut all {
                world.log_survive = world.log_survive * Dd::whole(times.get());
                for (_, uses) in &mut world.uses {
                    *uses = uses.checked_mul(times.get())?;
                }
            }
            Some(all)
        }
        Mechanism::Composed(parts) => {
            let mut all = vec![World { uses: Vec::new(), log_survive: Dd::ZERO }];
            for part in parts {
                all = joined(&all, &seen(part, view)?)?;
            }
            Some(all)
        }
        Mechanism::Parallel(parts) => parallel(parts, view),
        Mechanism::Group { size, mechanism } => {
            // A group of replaced records is a chain; only noise whose shift grows with it is known exactly.
            seen(mechanism, View { group: view.group.checked_mul(size.get())?, ..view })
        }
        Mechanism::Gaussian { .. }
        | Mechanism::Laplace { .. }
        | Mechanism::DiscreteGaussian { .. }
        | Mechanism::DiscreteLaplace { .. }
        | Mechanism::RandomizedResponse { .. }
        | Mechanism::Exponential { .. }
        | Mechanism::Pure { .. }
        | Mechanism::Approximate { .. }
        | Mechanism::Zcdp { .. }
        | Mechanism::Rdp { .. }
        | Mechanism::Gdp { .. }
        | Mechanism::PoissonSampled { .. }
        | Mechanism::FixedSizeSampled { .. } => single(mechanism, view).map(|world| vec![world]),
        #[allow(unreachable_patterns)] // Kinds that this kit has yet to learn have no worlds.
        _ => None,
    }
}

fn joined(firsts: &[World], seconds: &[World]) -> Option<Vec<World>> {
    if firsts.len() * seconds.len() > MOST_WORLDS {
        return None;
    }
    let mut all: Vec<World> = Vec::new();
    for first in firsts {
        for second in seconds {
            let mut both = first.clone();
            both.log_survive = both.log_survive + second.log_survive;
            for (once, times) in &second.uses {
                match both.uses.iter_mut().find(|(known, _)| known == once) {
                    Some((_, uses)) => *uses += times,
                    None => both.uses.push((once.clone(), *times)),
                }
            }
            if !all.contains(&both) {
                all.push(both);
            }
        }
    }
    Some(all)
}

/// A record lies in one part; one that is replaced may leave one part and enter another. What is declared for replaced
/// records says nothing of records that come or go, so there is no world for those.
fn parallel(parts: &[Mechanism], view: View) -> Option<Vec<World>> {
    if view.group != 1 {
        return None;
    }
    let mut all = Vec::new();
    for part in parts {
        all.extend(seen(part, view)?);
    }
    if view.adjacency != Adjacency::ReplaceOne {
        return Some(all);
    }
    let moved = |part: &Mechanism, record: Record| {
        if is_declared(part) {
            None
        } else {
            seen(part, View { adjacency: Adjacency::AddRemove, record, group: 1 })
        }
    };
    for (i, left) in parts.iter().enumerate() {
        for (j, entered) in parts.iter().enumerate() {
            if i != j {
                all.extend(joined(&moved(left, Record::Leaves)?, &moved(entered, Record::Enters)?)?);
            }
        }
    }
    Some(all)
}

/// Whether any part is a promise that holds for the adjacency asked, and not for another.
fn is_declared(mechanism: &Mechanism) -> bool {
    match mechanism {
        Mechanism::Exponential { .. }
        | Mechanism::Pure { .. }
        | Mechanism::Approximate { .. }
        | Mechanism::Zcdp { .. }
        | Mechanism::Rdp { .. }
        | Mechanism::Gdp { .. } => true,
        Mechanism::PoissonSampled { mechanism, .. }
        | Mechanism::FixedSizeSampled { mechanism, .. }
        | Mechanism::Repeated { mechanism, .. }
        | Mechanism::Group { mechanism, .. } => is_declared(mechanism),
        Mechanism::Composed(parts) | Mechanism::Parallel(parts) => parts.iter().any(is_declared),
        Mechanism::Gaussian { .. }
        | Mechanism::Laplace { .. }
        | Mechanism::DiscreteGaussian { .. }
        | Mechanism::DiscreteLaplace { .. }
        | Mechanism::RandomizedResponse { .. } => false,
        #[allow(unreachable_patterns)] // What this kit has yet to learn is taken on trust by nobody.
        _ => true,
    }
}

fn world(once: Use) -> World {
    World { uses: vec![(once, 1)], log_survive: Dd::ZERO }
}

/// One mechanism that is neither repeated nor composed.
fn single(mechanism: &Mechanism, view: View) -> Option<World> {
    let shift = view.shift();
    let group = Dd::whole(view.group);
    match mechanism {
        Mechanism::Gaussian { noise_multiplier } => {
            Some(world(Use::Gaussian { mu: shift / Dd::new(noise_multiplier.get()) }))
        }
        Mechanism::Laplace { noise_multiplier } => {
            Some(world(Use::Laplace { shift: shift / Dd::new(noise_multiplier.get()) }))
        }
        Mechanism::DiscreteGaussian { sigma, sensitivity } => {
            discrete_gaussian(Dd::new(sigma.get()), shift * Dd::whole(sensitivity.get())).map(world)
        }
        Mechanism::DiscreteLaplace { scale, sensitivity } => {
            discrete_laplace(Dd::new(scale.get()), shift * Dd::whole(sensitivity.get())).map(world)
        }
        Mechanism::RandomizedResponse { buckets, noise } if view.group == 1 => {
            randomized_response(buckets.get(), Dd::new(noise.get()), view).map(world)
        }
        Mechanism::Pure { epsilon } => Some(world(coin(group * Dd::new(epsilon.get())))),
        Mechanism::Approximate { epsilon, delta } if view.group == 1 => {
            let log_survive = (-Dd::new(delta.get())).ln_1p();
            Some(World { uses: vec![(coin(Dd::new(epsilon.get())), 1)], log_survive })
        }
        Mechanism::Gdp { mu } => Some(world(Use::Gaussian { mu: group * Dd::new(mu.get()) })),
        Mechanism::PoissonSampled { rate, mechanism } => poisson(rate.get(), mechanism, view),
        _ => None, // No worst pair is known to this kit.
    }
}

/// The worst pair of pure ε: a coin with odds e^ε.
fn coin(epsilon: Dd) -> Use {
    let keep = -(-epsilon).exp().ln_1p();
    Use::Atoms(vec![
        Atom { loss: epsilon, log_mass: keep },
        Atom { loss: -epsilon, log_mass: keep - epsilon },
    ])
}

/// P(x) ∝ e^{−|x|/b} against the same moved by d: loss (|x − d| − |x|)/b, all outcomes x ≤ 0 alike, and all x ≥ d.
fn discrete_laplace(scale: Dd, shift: Dd) -> Option<Use> {
    if shift.hi > 2000.0 {
        return None;
    }
    let d = shift.hi as u64;
    let falling = (-(Dd::ONE / scale)).exp();
    let log_edge = -falling.ln_1p(); // all of x ≥ 0
    let log_centre = (-falling).ln_1p() - falling.ln_1p();
    let mut log_masses = vec![log_edge - shift / scale];
    for x in (1..d).rev() {
        log_masses.push(log_centre - Dd::whole(x) / scale);
    }
    log_masses.push(log_edge);
    Some(Use::Lattice { first: -(shift / scale), step: Dd::new(2.0) / scale, log_masses })
}

/// P(x) ∝ e^{−x²/2σ²} against the same moved by d: loss (d² − 2dx)/2σ², by falling x.
fn discrete_gaussian(sigma: Dd, shift: Dd) -> Option<Use> {
    let reach = (39.0 * sigma.hi).ceil() as i64 + 2;
    if reach > 4000 || shift.hi > 4000.0 {
        return None;
    }
    let variance = sigma * sigma;
    let log_weight = |x: i64| {
        let x = Dd::new(x as f64);
        -(x * x / variance).scaled(-1)
    };
    let norm = (-reach..=reach).fold(Dd::ZERO, |sum, x| sum + log_weight(x).exp()).ln();
    let bottom = reach + shift.hi as i64;
    let loss = |x: i64| (shift.scaled(-1) - Dd::new(x as f64)) * shift / variance;
    let log_masses = (-reach..=bottom).rev().map(|x| log_weight(x) - norm).collect();
    Some(Use::Lattice { first: loss(bottom), step: shift / variance, log_masses })
}

fn randomized_response(buckets: u32, noise: Dd, view: View) -> Option<Use> {
    if noise.hi == 0.0 {
        return None;
    }
    let k = Dd::whole(u64::from(buckets));
    let other = noise / k;
    let keep = (Dd::ONE - noise) + other;
    let even = -k.ln();
    let rest = (k - Dd::ONE).ln();
    let gap = (((Dd::ONE - noise) * k) / noise).ln_1p();
    let log_keep = if keep.hi > 0.5 { (-(noise - other)).ln_1p() } else { keep.ln() };
    let against = ((Dd::ONE - noise) * (k - Dd::ONE)).ln_1p();
    let atom = |loss: Dd, log_mass: Dd| Atom { loss, log_mass };
    match (view.adjacency, view.record) {
        (Adjacency::AddRemove, _) => None,
        (Adjacency::ReplaceOne, _) => {
            let mut atoms = vec![atom(gap, log_keep), atom(-gap, other.ln())];
            if buckets > 2 {
                atoms.push(atom(Dd::ZERO, ((k - Dd::new(2.0)) * other).ln()));
            }
            Some(Use::Atoms(atoms))
        }
        (Adjacency::ZeroOut, Record::Leaves) => {
            Some(Use::Atoms(vec![atom(against, log_keep), atom(noise.ln(), rest + other.ln())]))
        }
        (Adjacency::ZeroOut, Record::Enters) => {
            Some(Use::Atoms(vec![atom(-against, even), atom(-noise.ln(), rest + even)]))
        }
    }
}

/// A mechanism on a Poisson batch. Of a declared one, the sampled worst pair: no promise can be tighter. Where a declaration
/// compares two records in one place, the worst mechanism that keeps it also publishes the size of the batch.
fn poisson(rate: f64, inner: &Mechanism, view: View) -> Option<World> {
    if rate == 1.0 {
        return single(inner, view);
    }
    if view.group != 1 {
        return None;
    }
    let (q, situation) = (Dd::new(rate), view.situation());
    if let Mechanism::Gaussian { noise_multiplier } = inner {
        let mu = Dd::ONE / Dd::new(noise_multiplier.get());
        return Some(world(Use::SampledGaussian { rate: q, mu, situation }));
    }
    let reported = matches!(inner, Mechanism::RandomizedResponse { .. });
    if view.adjacency != Adjacency::AddRemove && (reported || is_declared(inner)) {
        let sized = !matches!(inner, Mechanism::Approximate { .. });
        let (once, _) = single(inner, view).filter(|_| sized)?.uses.pop()?;
        let enters = |atom: &Atom| Atom { loss: atom.loss, log_mass: atom.log_mass + q.ln() };
        let mut atoms: Vec<Atom> = once.atoms()?.iter().map(enters).collect();
        atoms.push(Atom { loss: Dd::ZERO, log_mass: (-q).ln_1p() });
        return Some(world(Use::Atoms(atoms)));
    }
    if view.adjacency == Adjacency::ReplaceOne {
        return None;
    }
    let plain = View { record: Record::Leaves, ..view };
    match inner {
        Mechanism::Laplace { noise_multiplier } => {
            let shift = Dd::ONE / Dd::new(noise_multiplier.get());
            Some(world(Use::SampledLaplace { rate: q, shift, situation }))
        }
        Mechanism::Pure { .. }
        | Mechanism::DiscreteLaplace { .. }
        | Mechanism::DiscreteGaussian { .. }
        | Mechanism::RandomizedResponse { .. } => {
            let (once, _) = single(inner, plain)?.uses.pop()?;
            Some(world(Use::Atoms(sampled_atoms(&once.atoms()?, q, situation))))
        }
        Mechanism::Approximate { epsilon, delta } => {
            Some(sampled_approximate(Dd::new(epsilon.get()), Dd::new(delta.get()), q, situation))
        }
        _ => None,
    }
}

/// The worst pair of (ε, δ) has an outcome that only the first dataset shows and one that only the second shows, of chance
/// δ each, and a coin otherwise. On a batch the first is still seen with one dataset only, the second with both.
fn sampled_approximate(epsilon: Dd, delta: Dd, q: Dd, situation: Situation) -> World {
    let coin = coin(epsilon).atoms().unwrap_or_default();
    let kept = (-delta).ln_1p();
    let mut atoms: Vec<Atom> = sampled_atoms(&coin, q, situation)
        .iter()
        .map(|atom| Atom { loss: atom.loss, log_mass: atom.log_mass + kept })
        .collect();
    let least = (-q).ln_1p();
    let (loss, log_mass) =
        if situation == Situation::Add { (-least, delta.ln()) } else { (least, delta.ln() + least) };
    atoms.push(Atom { loss, log_mass });
    let log_survive = if situation == Situation::Add { Dd::ZERO } else { (-(q * delta)).ln_1p() };
    for atom in &mut atoms {
        atom.log_mass = atom.log_mass - log_survive;
    }
    World { uses: vec![(Use::Atoms(atoms), 1)], log_survive }
}
