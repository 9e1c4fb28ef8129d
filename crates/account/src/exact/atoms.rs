//! Laws of finitely many losses: coins, responses, integer noise, each also on a Poisson batch.

use super::law::{Atom, Law};
use super::pairs::{Order, Pair};
use super::sampled::Situation;
use crate::expand::Neighbours;
use veracity_core::{LossDistribution, Refusal};
use veracity_numerics::{UNIT, logspace::log_add};

/// Losses and the spacing of the lattice they lie on.
pub(super) struct Listed {
    pub atoms: Vec<Atom>,
    pub spacing: f64,
}

impl Listed {
    pub(super) fn law(self) -> Law {
        Law::Atoms { atoms: self.atoms, spacing: Some(self.spacing), defect: 0.0 }
    }

    /// The law on a Poisson batch: the pair ((1−q)Q + qP, Q), or its reverse.
    pub(super) fn sampled(&self, rate: f64, situation: Situation) -> Law {
        Law::Atoms { atoms: sampled(&self.atoms, rate, situation), spacing: None, defect: 0.0 }
    }
}

/// The worst pair of any ε-private mechanism: a coin with odds e^ε.
///
/// # Reference  [KairouzOhViswanath15] Theorem 3.2
pub(super) fn two_point(epsilon: f64) -> Listed {
    let keep = -(-epsilon).exp().ln_1p();
    let atoms = vec![Atom::new(keep, epsilon), Atom::new(keep - epsilon, -epsilon)];
    Listed { atoms, spacing: 2.0 * epsilon }
}

pub(super) fn randomized_response(buckets: u32, noise: f64, neighbours: Neighbours, order: Order) -> Listed {
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
    Listed { atoms, spacing }
}

/// Integer Laplace noise moved by `shift`: the loss is (|x − shift| − |x|)/b.
pub(super) fn discrete_laplace(scale: f64, shift: u64) -> Result<Listed, Refusal> {
    if shift > 1_000_000 {
        return Err(Refusal::out_of_range("sensitivity", shift, "at most 10^6 for discrete noise"));
    }
    let d = shift as f64;
    let log_norm = (0.5 / scale).tanh().ln();
    let log_edge = -(1.0 + (-1.0 / scale).exp()).ln();
    let mut atoms = vec![
        // Everything at or above the centre, and everything at or below the moved one.
        Atom::new(log_edge, d / scale),
        Atom::new(log_edge - d / scale, -d / scale),
    ];
    for x in 1..shift {
        let x = x as f64;
        atoms.push(Atom::new(log_norm - x / scale, (d - 2.0 * x) / scale));
    }
    Ok(Listed { atoms, spacing: 2.0 / scale })
}

/// Integer Gaussian noise moved by `shift`: the loss is (shift² − 2·shift·x)/2σ². Outcomes that neither dataset shows with a
/// probability above 1e-330 are not listed.
pub(super) fn discrete_gaussian(sigma: f64, shift: u64) -> Result<Listed, Refusal> {
    let atoms = gaussian_atoms(sigma, shift, Shown::ByEither)?;
    Ok(Listed { atoms, spacing: gaussian_spacing(sigma, shift) })
}

/// The law of the loss of one use of it. Where the two datasets have no outcome in common that either shows with a
/// probability above 1e-330, what only the second shows is a defect of 1 and no loss at all.
pub(super) fn discrete_gaussian_law(sigma: f64, shift: u64) -> Result<Law, Refusal> {
    let apart = shift as f64 > 2.0 * reach(sigma) as f64;
    let shown = if apart { Shown::ByFirst } else { Shown::ByEither };
    let atoms = gaussian_atoms(sigma, shift, shown)?;
    let spacing = Some(gaussian_spacing(sigma, shift));
    Ok(Law::Atoms { atoms, spacing, defect: if apart { 1.0 } else { 0.0 } })
}

/// Which outcomes are listed.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    ByFirst,
    ByEither,
}

fn gaussian_spacing(sigma: f64, shift: u64) -> f64 {
    shift as f64 / (sigma * sigma)
}

/// Beyond 39 σ the mass is below 1e-330, under either dataset.
fn reach(sigma: f64) -> i64 {
    (39.0 * sigma).ceil() as i64 + 1
}

fn gaussian_atoms(sigma: f64, shift: u64, shown: Shown) -> Result<Vec<Atom>, Refusal> {
    if sigma > 1e4 || shift > 1_000_000 {
        return Err(Refusal::out_of_range(
            "sigma",
            sigma,
            "sigma ≤ 1e4 and sensitivity ≤ 10^6 for discrete noise; for larger ones use method zcdp or rdp",
        ));
    }
    let (d, reach) = (shift as f64, reach(sigma));
    let log_norm = log_theta(sigma);
    let atom = |x: i64| {
        let x = x as f64;
        let log_weight = -0.5 * (x / sigma) * (x / sigma);
        Atom::new(log_weight - log_norm, (0.5 * d * d - d * x) / (sigma * sigma))
    };
    let first = -reach..=reach;
    if shown == Shown::ByFirst {
        return Ok(first.map(atom).collect());
    }
    let second = (reach + 1).max(shift as i64 - reach)..=reach + shift as i64;
    Ok(first.chain(second).map(atom).collect())
}

/// The logarithm of Σ e^{−x²/2σ²} over all whole x.
///
/// # Numerics  A few ulp. Poisson summation makes it σ√(2π) (1 + 2 Σ_{k≥1} e^{−2π²σ²k²}): from σ = 2 on the rest is below
/// 1e-33. For smaller σ the terms are added up from the smallest to the largest, and there are fewer than 80 to each side
fn log_theta(sigma: f64) -> f64 {
    if sigma >= 2.0 {
        return sigma.ln() + 0.918_938_533_204_672_8;
    }
    let one_side: f64 = (1..=reach(sigma)).rev().map(|x| (-0.5 * (x as f64 / sigma).powi(2)).exp()).sum();
    (2.0 * one_side).ln_1p()
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
    Pair::Losses { law: Law::Atoms { atoms, spacing: None, defect }, infinite, largest }
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
            let lacking = 1.0 - compensated(finite.iter().map(|(_, mass)| *mass));
            // Listed decimals are rounded: what they lack by that is nothing.
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
    let total = compensated(finite.iter().map(|(_, mass)| *mass));
    let present = finite.iter().filter(|(_, mass)| *mass > 0.0);
    let atoms: Vec<Atom> = present.map(|&(loss, mass)| Atom::new(mass.ln() - total.ln(), loss)).collect();
    if atoms.is_empty() {
        return Err(Refusal::NotCertified("every listed loss is infinite; this protects nobody".to_owned()));
    }
    let defect = compensated(finite.iter().map(|(loss, mass)| mass / total * -(-loss).exp_m1()));
    let largest = atoms.iter().map(|atom| atom.loss).fold(f64::NEG_INFINITY, f64::max);
    Ok(Pair::Losses { law: Law::Atoms { atoms, spacing: None, defect }, infinite, largest })
}

/// A sum that rounds as if it had two terms.
fn compensated(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
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

    /// The norm by the plain sum, and by the closed form on the other side of where it is used.
    #[test]
    fn the_norm_of_integer_noise_is_that_of_the_plain_sum() {
        for sigma in [0.05, 0.3, 1.0, 1.9, 1.999, 2.0, 2.1, 7.3, 500.0] {
            let reach = reach(sigma);
            let sum = compensated((-reach..=reach).map(|x| (-0.5 * (x as f64 / sigma).powi(2)).exp()));
            assert!((log_theta(sigma) - sum.ln()).abs() <= 4e-16 * (1.0 + sum.ln().abs()), "{sigma}");
        }
    }

    /// Where the datasets are far apart nothing that counts is left out: masses add up to 1 under P, and to nothing under Q.
    #[test]
    fn a_list_of_one_dataset_lacks_nothing() {
        let Ok(Law::Atoms { atoms, defect, .. }) = discrete_gaussian_law(5.0, 400) else { panic!() };
        let under_first = compensated(atoms.iter().map(|a| a.log_mass.exp()));
        let under_second = compensated(atoms.iter().map(|a| (a.log_mass - a.loss).exp()));
        assert!((under_first - 1.0).abs() < 1e-14 && under_second < 1e-300 && defect == 1.0);
        let whole = discrete_gaussian(5.0, 400).unwrap().atoms;
        let second = compensated(whole.iter().map(|a| (a.log_mass - a.loss).exp()));
        assert!((second - 1.0).abs() < 1e-11, "{second}");
        for epsilon in [0.0, 100.0, 3000.0, 3400.0] {
            let (short, long) = (delta(&atoms, epsilon), delta(&whole, epsilon));
            assert!(short.0 <= long.1 && long.0 <= short.1, "{epsilon}: {short:?} {long:?}");
        }
    }
}
