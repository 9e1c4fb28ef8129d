//! Compositions of finitely many outcomes, summed one by one: by types (how often each outcome came), by a binomial sum
//! for two outcomes and many uses, or on a lattice by plain convolution.

use super::double_double::Dd;
use super::law::{Atom, Use, World};
use super::normal_tail::log_factorial;
use super::truth::Truth;

/// The most combinations that are gone through.
const MOST: f64 = 60_000.0;
/// The longest lattice that is convolved.
const LONGEST: usize = 3000;

/// δ(ε) of a world of outcomes, where it can be afforded.
pub fn enumerated(world: &World, epsilon: Dd) -> Option<Truth> {
    let laws: Option<Vec<(Vec<Atom>, u64)>> =
        world.uses.iter().map(|(once, times)| Some((likely(once.atoms()?), *times))).collect();
    let laws = laws?;
    if let [(atoms, times)] = laws.as_slice()
        && let [one, other] = atoms.as_slice()
        && *times > 1
        && *times <= 100_000_000
    {
        let (top, bottom) = if one.loss > other.loss { (one, other) } else { (other, one) };
        return Some(binomial(top, bottom, *times, epsilon));
    }
    let combinations: f64 = laws.iter().map(|(atoms, times)| type_count(atoms.len(), *times)).product();
    if combinations <= MOST {
        return Some(by_types(&laws, epsilon));
    }
    if let [(Use::Lattice { first, step, log_masses }, times)] = world.uses.as_slice() {
        return on_lattice(*first, *step, log_masses, *times, epsilon);
    }
    None
}

/// Outcomes of chance zero never come.
fn likely(mut atoms: Vec<Atom>) -> Vec<Atom> {
    atoms.retain(|atom| atom.log_mass.hi > f64::NEG_INFINITY);
    atoms
}

/// The number of ways to spread `times` uses over the outcomes.
fn type_count(outcomes: usize, times: u64) -> f64 {
    (1..outcomes).fold(1.0, |count, k| count * (times as f64 + k as f64) / k as f64)
}

/// mass × (1 − e^{ε−loss})₊, with the mass given by its logarithm less `scale`.
fn gain(loss: Dd, log_mass: Dd, epsilon: Dd, scale: Dd) -> Dd {
    if loss <= epsilon {
        return Dd::ZERO;
    }
    (log_mass - scale).exp() * -(epsilon - loss).expm1()
}

fn by_types(laws: &[(Vec<Atom>, u64)], epsilon: Dd) -> Truth {
    let mut all = vec![Atom { loss: Dd::ZERO, log_mass: Dd::ZERO }];
    for (atoms, times) in laws {
        let types = types(atoms, *times);
        let join = |a: &Atom, b: &Atom| Atom { loss: a.loss + b.loss, log_mass: a.log_mass + b.log_mass };
        all = all.iter().flat_map(|a| types.iter().map(move |b| join(a, b))).collect();
    }
    all.retain(|atom| atom.loss > epsilon);
    let scale = all.iter().fold(Dd::NEG_INFINITY, |most, atom| most.max(atom.log_mass));
    if all.is_empty() {
        return Truth::NOTHING;
    }
    let sum = all.iter().fold(Dd::ZERO, |sum, atom| sum + gain(atom.loss, atom.log_mass, epsilon, scale));
    let size = rounding_of(laws.iter().map(|(atoms, times)| (atoms.as_slice(), *times)), epsilon);
    let masses = all.iter().map(|atom| (atom.log_mass - scale).hi.exp()).sum();
    finish(sum, size, masses, all.len() as f64, scale)
}

/// The absolute error of losses and log masses: units of their sizes.
fn rounding_of<'a>(laws: impl Iterator<Item = (&'a [Atom], u64)>, epsilon: Dd) -> f64 {
    let mut size = 1.0 + epsilon.hi.abs();
    for (atoms, times) in laws {
        let largest = atoms.iter().map(|a| a.loss.hi.abs() + a.log_mass.hi.abs().min(2000.0));
        size += times as f64 * largest.fold(0.0, f64::max) + 40.0 * (times as f64 + 2.0).ln() * times as f64;
    }
    1e-30 * size
}

/// `size` is the absolute error of losses and of log masses: it moves the gains by as much relatively, and those near ε
/// absolutely. What was scaled below the floats is lost, and counted.
fn finish(sum: Dd, size: f64, masses: f64, count: f64, scale: Dd) -> Truth {
    Truth::of_value(sum, 4.0 * size * (masses + sum.hi) + 1e-300 * count + 1e-28 * sum.hi, scale)
}

/// Every type of `times` uses: its loss and the logarithm of its chance.
fn types(atoms: &[Atom], times: u64) -> Vec<Atom> {
    let mut all = Vec::new();
    let start = Atom { loss: Dd::ZERO, log_mass: log_factorial(times) };
    fn walk(atoms: &[Atom], left: u64, so_far: Atom, all: &mut Vec<Atom>) {
        let Some((first, rest)) = atoms.split_first() else { return };
        let with = |n: u64| {
            let count = Dd::whole(n);
            Atom {
                loss: so_far.loss + first.loss * count,
                log_mass: so_far.log_mass + first.log_mass * count - log_factorial(n),
            }
        };
        if rest.is_empty() {
            all.push(with(left));
            return;
        }
        for n in 0..=left {
            walk(rest, left - n, with(n), all);
        }
    }
    walk(atoms, times, start, &mut all);
    all
}

/// Σ_k C(T, k) p^k r^{T−k} (1 − e^{ε − loss(k)})₊, upwards and downwards from the largest term.
fn binomial(top: &Atom, bottom: &Atom, times: u64, epsilon: Dd) -> Truth {
    let all = Dd::whole(times);
    let loss = |k: u64| top.loss * Dd::whole(k) + bottom.loss * Dd::whole(times - k);
    // The least number of top outcomes whose loss exceeds ε.
    let exact = (epsilon - bottom.loss * all) / (top.loss - bottom.loss);
    let mut least = exact.hi.floor().clamp(0.0, times as f64 + 1.0) as u64;
    while least <= times && loss(least) <= epsilon {
        least += 1;
    }
    while least > 0 && least <= times && loss(least - 1) > epsilon {
        least -= 1;
    }
    if least > times {
        return Truth::NOTHING;
    }
    let mode = (top.log_mass.exp().hi * (times as f64 + 1.0)).floor().min(times as f64) as u64;
    let start = least.max(mode);
    let log_mass = |k: u64| {
        log_factorial(times) - log_factorial(k) - log_factorial(times - k)
            + top.log_mass * Dd::whole(k)
            + bottom.log_mass * Dd::whole(times - k)
    };
    let scale = log_mass(start);
    let odds = (top.log_mass - bottom.log_mass).exp();
    let gain = |k: u64| -(epsilon - loss(k)).expm1();
    let (mut sum, mut mass) = (gain(start), Dd::ONE);
    let mut count = 1.0;
    for k in start + 1..=times {
        mass = mass * odds * Dd::whole(times - k + 1) / Dd::whole(k);
        sum = sum + mass * gain(k);
        count += 1.0;
        if mass.hi < 1e-36 * sum.hi {
            break;
        }
    }
    mass = Dd::ONE;
    for k in (least..start).rev() {
        mass = mass * Dd::whole(k + 1) / (odds * Dd::whole(times - k));
        sum = sum + mass * gain(k);
        count += 1.0;
        if mass.hi < 1e-36 * sum.hi {
            break;
        }
    }
    let pair = [*top, *bottom];
    let size = rounding_of(std::iter::once((pair.as_slice(), times)), epsilon) + count * 1e-30;
    // Gains near ε are small beside the error of the loss: count it absolutely, for each term near the largest.
    Truth::of_value(sum, size * (sum.hi + count), scale)
}

/// Convolution powers of the chances, whose losses add up on the lattice.
fn on_lattice(first: Dd, step: Dd, log_masses: &[Dd], times: u64, epsilon: Dd) -> Option<Truth> {
    if log_masses.len() as f64 * times as f64 > LONGEST as f64 {
        return None;
    }
    let once: Vec<Dd> = log_masses.iter().map(|mass| mass.exp()).collect();
    let (mut power, mut left) = (vec![Dd::ONE], times);
    let mut square = once;
    while left > 0 {
        if left & 1 == 1 {
            power = convolved(&power, &square);
        }
        left >>= 1;
        if left > 0 {
            square = convolved(&square, &square);
        }
    }
    let (mut sum, mut mass_above) = (Dd::ZERO, Dd::ZERO);
    let bottom = first * Dd::whole(times);
    for (k, mass) in power.iter().enumerate() {
        let loss = bottom + step * Dd::whole(k as u64);
        if loss > epsilon {
            sum = sum + *mass * -(epsilon - loss).expm1();
            mass_above = mass_above + *mass;
        }
    }
    let size = 1e-30 * (1.0 + bottom.hi.abs() + epsilon.hi.abs() + times as f64 * 800.0 * 1e-2);
    // Chances below the floats were lost: at most this many of them in each sum.
    let lost = 1e-305 * (times as f64) * power.len() as f64;
    let error = size * (mass_above.hi + sum.hi) * power.len() as f64 + lost;
    Some(Truth::of_value(sum, error, Dd::ZERO))
}

fn convolved(one: &[Dd], other: &[Dd]) -> Vec<Dd> {
    let mut result = vec![Dd::ZERO; one.len() + other.len() - 1];
    for (i, a) in one.iter().enumerate() {
        if a.hi == 0.0 {
            continue;
        }
        for (j, b) in other.iter().enumerate() {
            result[i + j] = result[i + j] + *a * *b;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coin(epsilon: f64) -> Vec<Atom> {
        let loss = Dd::new(epsilon);
        let keep = -(-loss).exp().ln_1p();
        vec![Atom { loss, log_mass: keep }, Atom { loss: -loss, log_mass: keep - loss }]
    }

    /// The three ways to add up the same coin agree to 25 digits.
    #[test]
    fn binomials_types_and_lattices_agree() {
        let atoms = coin(0.3);
        let epsilon = Dd::new(1.1);
        let one = binomial(&atoms[0], &atoms[1], 40, epsilon);
        let two = by_types(&[(atoms.clone(), 17), (atoms.clone(), 23)], epsilon);
        let masses = [atoms[1].log_mass, atoms[0].log_mass];
        let three = on_lattice(Dd::new(-0.3), Dd::new(0.3).scaled(1), &masses, 40, epsilon).unwrap();
        for other in [two, three] {
            assert!(one.width() < 1e-24 && other.width() < 1e-24, "{} {}", one.describe(), other.describe());
            assert!(one.log_low <= other.log_high && other.log_low <= one.log_high);
        }
    }

    /// # mpmath 1.3: sum(binomial(1000,k)*p**k*(1-p)**(1000-k)*(1-exp(30-(2*k-1000)*mpf(0.1))) for k in ... if 2k-1000>300), p=1/(1+exp(-mpf(0.1)))
    #[test]
    fn a_thousand_coins_meet_mpmath() {
        let atoms = coin(0.1);
        let found = binomial(&atoms[0], &atoms[1], 1000, Dd::new(30.0));
        let log = (found.log_low - Dd::new(THOUSAND).ln()).hi.abs();
        assert!(log < 1e-15 && found.width() < 1e-20, "{}", found.describe());
    }
    const THOUSAND: f64 = 1.767_636_151_184_623_5e-16;
}
