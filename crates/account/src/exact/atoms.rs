//! Distributions of finitely many losses: coins, responses, integer noise, each also on a Poisson batch.

use super::distribution::{Atom, Distribution};
use super::pairs::{Order, Pair};
use super::sampled::Situation;
use crate::{IntegerNoise, Neighbours, integer::Shown};
use veracity_core::numerics::{UNIT, logspace::log_add, neumaier_sum};
use veracity_core::{LossDistribution, Refusal};

/// Losses and the spacing of the lattice they lie on.
pub(super) struct AtomList {
    pub atoms: Vec<Atom>,
    pub spacing: Option<f64>,
}

impl AtomList {
    pub(super) fn distribution(self) -> Distribution {
        Distribution::Atoms { atoms: self.atoms, spacing: self.spacing, defect: 0.0 }
    }

    /// The distribution on a Poisson batch: the pair ((1−q)Q + qP, Q), or its reverse.
    pub(super) fn sampled(&self, rate: f64, situation: Situation) -> Distribution {
        Distribution::Atoms { atoms: sampled(&self.atoms, rate, situation), spacing: None, defect: 0.0 }
    }
}

/// The worst pair of any ε-private mechanism: a coin with odds e^ε.
///
/// # Reference  [KairouzOhViswanath15] Theorem 3.2
pub(super) fn two_point(epsilon: f64) -> AtomList {
    let keep = -(-epsilon).exp().ln_1p();
    let atoms = vec![Atom::new(keep, epsilon), Atom::new(keep - epsilon, -epsilon)];
    AtomList { atoms, spacing: Some(2.0 * epsilon) }
}

pub(super) fn randomized_response(
    buckets: u32,
    noise: f64,
    neighbours: Neighbours,
    order: Order,
) -> AtomList {
    let k = f64::from(buckets);
    let other = noise / k;
    // 1 − noise is exact where it is small; every loss is a logarithm of 1 plus something accurate.
    let truth = 1.0 - noise;
    let keep = truth + other;
    let log_keep = if keep > 0.5 { (-(noise * (k - 1.0) / k)).ln_1p() } else { keep.ln() };
    let gap = (truth * k / noise).ln_1p();
    let (against_blank, below_blank) = ((truth * (k - 1.0)).ln_1p(), noise.ln());
    let atoms = match (neighbours, order) {
        (Neighbours::Replaced, _) => {
            let mut atoms = vec![Atom::new(log_keep, gap), Atom::new(other.ln(), -gap)];
            if buckets > 2 {
                atoms.push(Atom::new(((k - 2.0) * other).ln(), 0.0));
            }
            atoms
        }
        // Against a blank, which reports every bucket with probability 1/k.
        (Neighbours::Present, Order::PresentFirst) => {
            vec![Atom::new(log_keep, against_blank), Atom::new(((k - 1.0) * other).ln(), below_blank)]
        }
        (Neighbours::Present, Order::AbsentFirst) => {
            vec![Atom::new(-k.ln(), -against_blank), Atom::new(((k - 1.0) / k).ln(), -below_blank)]
        }
    };
    let spacing = match neighbours {
        Neighbours::Replaced if buckets > 2 => gap,
        Neighbours::Replaced => 2.0 * gap,
        Neighbours::Present => gap,
    };
    AtomList { atoms, spacing: Some(spacing) }
}

/// Noise on integers that is moved by `shift`: every outcome that either dataset shows.
pub(super) fn integer(noise: IntegerNoise, shift: u64) -> Result<AtomList, Refusal> {
    let atoms = integer_atoms(noise, shift, Shown::ByEither)?;
    Ok(AtomList { atoms, spacing: noise.spacing(shift) })
}

/// The distribution of the loss of one use of it. Where the two datasets have no outcome in common that either shows with a
/// probability above 1e-330, what only the second shows is a defect of 1 and no loss at all.
pub(super) fn integer_law(noise: IntegerNoise, shift: u64) -> Result<Distribution, Refusal> {
    let (shown, defect) = if noise.is_apart(shift) { (Shown::ByFirst, 1.0) } else { (Shown::ByEither, 0.0) };
    let atoms = integer_atoms(noise, shift, shown)?;
    Ok(Distribution::Atoms { atoms, spacing: noise.spacing(shift), defect })
}

fn integer_atoms(noise: IntegerNoise, shift: u64, shown: Shown) -> Result<Vec<Atom>, Refusal> {
    let losses = noise.losses(shift, shown)?;
    Ok(losses.into_iter().map(|(log_mass, loss)| Atom::new(log_mass, loss)).collect())
}

/// Any (ε, δ)-private mechanism on a Poisson batch. The worst of them tells who it is with probability δ in either dataset,
/// and else answers a coin with odds e^ε.
///
/// # Reference  [KairouzOhViswanath15] Theorem 3.2 for the worst pair, which passes through sampling: [ZhuDongWang22]
/// Theorem 11
pub(super) fn sampled_declared(rate: f64, epsilon: f64, delta: f64, order: Order) -> Pair {
    let situation = match order {
        Order::PresentFirst => Situation::Remove,
        Order::AbsentFirst => Situation::Add,
    };
    let mut atoms = sampled(&two_point(epsilon).atoms, rate, situation);
    // The outcome that only the absent record shows, and that which only the present one does.
    let (infinite, only_absent, loss) = match order {
        Order::PresentFirst => (rate * delta, (1.0 - rate) * delta, (-rate).ln_1p()),
        Order::AbsentFirst => (0.0, delta, -(-rate).ln_1p()),
    };
    for atom in &mut atoms {
        *atom = Atom::new(atom.log_mass + ((-delta).ln_1p() - (-infinite).ln_1p()), atom.loss);
    }
    if only_absent > 0.0 {
        atoms.push(Atom::new(only_absent.ln() - (-infinite).ln_1p(), loss));
    }
    let defect = match order {
        Order::PresentFirst => -infinite / (1.0 - infinite),
        Order::AbsentFirst => rate * delta,
    };
    let largest = atoms.iter().map(|atom| atom.loss).fold(f64::NEG_INFINITY, f64::max);
    Pair::Losses { distribution: Distribution::Atoms { atoms, spacing: None, defect }, infinite, largest }
}

/// The most listed losses that a contour is drawn for.
const MOST_LISTED: usize = 1 << 14;

/// A privacy loss distribution as declared. Where the second direction is not listed apart it is the first one reversed:
/// under Q the mass of l is P e^{−l}, and what those masses lack to 1 is where P has none.
///
/// # Promise  The pair is the one listed; what its probabilities lack to 1 is an infinite loss
pub(super) fn declared_list(losses: &LossDistribution, order: Order) -> Result<Pair, Refusal> {
    let (finite, infinite) = match (order, losses.second()) {
        (Order::PresentFirst, _) => (losses.first().finite().to_vec(), losses.first().infinite()),
        (Order::AbsentFirst, Some(second)) => (second.finite().to_vec(), second.infinite()),
        (Order::AbsentFirst, None) => {
            let turned = |&(loss, mass): &(f64, f64)| (-loss, mass * (-loss).exp());
            let finite: Vec<(f64, f64)> = losses.first().finite().iter().map(turned).collect();
            let lacking = 1.0 - neumaier_sum(finite.iter().map(|(_, mass)| *mass));
            // AtomList decimals are rounded: what they lack by that is nothing.
            let rounding = UNIT * (finite.len() as f64 + 8.0);
            (finite, if lacking > rounding { lacking } else { 0.0 })
        }
    };
    if finite.len() > MOST_LISTED {
        return Err(Refusal::no_theorem(
            format!("a list of {} losses", finite.len()),
            "method exact",
            "use method pld",
        ));
    }
    let total = neumaier_sum(finite.iter().map(|(_, mass)| *mass));
    let present = finite.iter().filter(|(_, mass)| *mass > 0.0);
    let atoms: Vec<Atom> = present.map(|&(loss, mass)| Atom::new(mass.ln() - total.ln(), loss)).collect();
    if atoms.is_empty() {
        return Err(Refusal::NotCertified(
            "every listed loss is infinite, so there is no privacy".to_owned(),
        ));
    }
    let defect = neumaier_sum(finite.iter().map(|(loss, mass)| mass / total * -(-loss).exp_m1()));
    let largest = atoms.iter().map(|atom| atom.loss).fold(f64::NEG_INFINITY, f64::max);
    Ok(Pair::Losses { distribution: Distribution::Atoms { atoms, spacing: None, defect }, infinite, largest })
}

/// Atoms of the inner pair, as (log P, loss), on a Poisson batch; under Q the mass is P e^{−loss}.
fn sampled(atoms: &[Atom], rate: f64, situation: Situation) -> Vec<Atom> {
    let moved = |atom: &Atom| {
        let log_absent = atom.log_mass - atom.loss;
        let lift = rate * atom.loss.exp_m1();
        let ratio = if atom.loss > 600.0 {
            atom.loss + rate.ln()
        } else if lift < -0.5 {
            ((1.0 - rate) + rate * atom.loss.exp()).ln()
        } else {
            lift.ln_1p()
        };
        match situation {
            // The sum of both ways to the outcome: the larger of them sets the rounding.
            Situation::Remove | Situation::Replace => {
                Atom::new(log_add((-rate).ln_1p() + log_absent, rate.ln() + atom.log_mass), ratio)
            }
            Situation::Add => Atom::new(log_absent, -ratio),
        }
    };
    atoms.iter().map(moved).collect()
}

/// δ(ε) of finitely many losses by the plain sum.
pub(super) fn delta(atoms: &[Atom], epsilon: f64) -> (f64, f64) {
    let (mut sum, mut error) = (0.0, 0.0);
    for atom in atoms {
        // The loss itself is rounded, which matters when ε is close to it.
        let blur = 8.0 * UNIT * atom.loss.abs().max(epsilon);
        let mass = atom.log_mass.exp();
        let term = mass * -(epsilon - atom.loss).min(0.0).exp_m1();
        sum += term;
        if atom.loss > epsilon - blur {
            error += UNIT * (64.0 + 2.0 * atom.log_mass.abs()) * term + mass * blur;
        }
    }
    error += UNIT * atoms.len() as f64 * sum;
    ((sum - error).max(0.0), sum + error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the datasets are far apart nothing that counts is left out: masses add up to 1 under P, and to nothing under Q.
    #[test]
    fn a_list_of_one_dataset_lacks_nothing() {
        let noise = IntegerNoise::Gaussian { sigma: 5.0 };
        let Ok(Distribution::Atoms { atoms, defect, .. }) = integer_law(noise, 400) else { panic!() };
        let under_first = neumaier_sum(atoms.iter().map(|a| a.log_mass.exp()));
        let under_second = neumaier_sum(atoms.iter().map(|a| (a.log_mass - a.loss).exp()));
        assert!((under_first - 1.0).abs() < 1e-14 && under_second < 1e-300 && defect == 1.0);
        let whole = integer(noise, 400).unwrap().atoms;
        let second = neumaier_sum(whole.iter().map(|a| (a.log_mass - a.loss).exp()));
        assert!((second - 1.0).abs() < 1e-11, "{second}");
        for epsilon in [0.0, 100.0, 3000.0, 3400.0] {
            let (short, long) = (delta(&atoms, epsilon), delta(&whole, epsilon));
            assert!(short.0 <= long.1 && long.0 <= short.1, "{epsilon}: {short:?} {long:?}");
        }
    }
}
