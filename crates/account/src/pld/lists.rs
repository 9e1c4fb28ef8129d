//! Privacy loss distributions that were written out as numbers.

use super::tails::{Atom, Direction, Law, listed};
use veracity_core::numerics::UNIT;
use veracity_core::{LossDistribution, LossMasses};

/// The law as listed, or its reverse where the second direction is not listed apart.
///
/// # Promise    A bracket of what the listed pair leaks. What the probabilities lack to 1 is an infinite loss
/// # Reference  For L = log dP/dQ, Q[L = l] = e^{−l} P[L = l]; under Q the loss of the reverse is −L, and it is infinite
/// where P has no mass
/// # Numerics   How far the masses add up to more than 1 is taken for their relative error
pub(super) fn law(losses: &LossDistribution, direction: Direction) -> Law {
    match (direction, losses.second()) {
        (Direction::Remove, _) => plain(losses.first()),
        (Direction::Add, Some(second)) => plain(second),
        (Direction::Add, None) => reversed(losses.first()),
    }
}

fn plain(masses: &LossMasses) -> Law {
    let atoms: Vec<Atom> = masses.finite().iter().map(|&(loss, mass)| Atom { loss, mass }).collect();
    let total: f64 = atoms.iter().map(|atom| atom.mass).sum::<f64>() + masses.infinite();
    let law = listed(atoms);
    Law { infinite: masses.infinite(), atom_error: law.atom_error + (total - 1.0).max(0.0), ..law }
}

/// The same pair with P and Q exchanged.
fn reversed(masses: &LossMasses) -> Law {
    let turned = |&(loss, mass): &(f64, f64)| Atom { loss: -loss, mass: mass * (-loss).exp() };
    let atoms: Vec<Atom> = masses.finite().iter().map(turned).collect();
    let total: f64 = atoms.iter().map(|atom| atom.mass).sum();
    let law = listed(atoms);
    // What is lacking is known up to the error of the sum: the upper side takes all of it.
    let error = law.atom_error + UNIT * (masses.finite().len() as f64 + 8.0);
    let infinite = (1.0 - total - error).max(0.0);
    let atom_error = law.atom_error + (total - 1.0).max(0.0);
    Law { infinite, unlisted: 2.0 * error, atom_error, ..law }
}
