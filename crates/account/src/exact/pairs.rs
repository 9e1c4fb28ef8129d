//! From a part to the law of its privacy loss: the dominating pair of each mechanism, in each direction.

use super::gaussian;
use super::law::{Atom, Law};
use super::sampled::{SampledGaussian, Situation};
use crate::expand::{Neighbours, Part};
use veracity_core::Refusal;
use veracity_numerics::UNIT;

/// In which dataset the record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    PresentFirst,
    AbsentFirst,
}

/// A dominating pair, by the law of its privacy loss.
pub(super) enum Pair {
    /// N(μ, 1) against N(0, 1): all of these compose to one of them.
    Gaussian { mu: f64 },
    /// Any other law of finite losses, the probability that the loss is infinite, and the largest finite loss.
    Losses { law: Law, infinite: f64, largest: f64 },
}

impl Pair {
    fn finite(law: Law) -> Pair {
        let largest = law.largest();
        Pair::Losses { law, infinite: 0.0, largest }
    }

    /// A law of atoms that stands for one without a largest loss: what its finite list lacks cannot be seen in `f64`.
    fn unbounded(law: Law) -> Pair {
        Pair::Losses { law, infinite: 0.0, largest: f64::INFINITY }
    }
}

/// The dominating pair of one use of `part`, or a refusal that names the method that knows it.
///
/// # Promise  The pair dominates the part: composition keeps that
/// # Reference  [ZhuDongWang22] Definition 7 and Theorem 10
pub(super) fn pair(part: &Part, order: Order) -> Result<Pair, Refusal> {
    match part {
        Part::Gaussian { mu } => Ok(Pair::Gaussian { mu: *mu }),
        Part::Approximate { epsilon, delta } => {
            Ok(Pair::Losses { law: two_point(*epsilon), infinite: *delta, largest: *epsilon })
        }
        Part::Laplace { epsilon } => Ok(Pair::finite(Law::Laplace { epsilon: *epsilon })),
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            Ok(Pair::finite(randomized_response(*buckets, *noise, *neighbours, order)))
        }
        Part::DiscreteLaplace { scale, shift } => discrete_laplace(*scale, *shift).map(Pair::finite),
        Part::DiscreteGaussian { sigma, shift } => discrete_gaussian(*sigma, *shift).map(Pair::unbounded),
        Part::PoissonSampled { rate, part, neighbours } => {
            let law = sampled(*rate, part, *neighbours, order)?;
            let endless = matches!(**part, Part::DiscreteGaussian { .. });
            Ok(if endless { Pair::unbounded(law) } else { Pair::finite(law) })
        }
        Part::BoundedRange { .. } => Err(no_pair("the exponential mechanism", "zcdp or rdp")),
        Part::Zcdp { .. } => Err(no_pair("declared zcdp", "zcdp or rdp")),
        Part::Rdp { .. } => Err(no_pair("a declared rdp curve", "rdp")),
        Part::FixedSizeSampled { .. } => Err(no_pair("fixed-size sampling", "rdp or pld")),
    }
}

fn no_pair(culprit: &str, methods: &str) -> Refusal {
    Refusal::no_theorem(culprit, "method exact", format!("use --method {methods}"))
}

/// The worst pair of any ε-private mechanism: a coin with odds e^ε.
///
/// # Reference  [KairouzOhViswanath15] Theorem 3.2
fn two_point(epsilon: f64) -> Law {
    let keep = -(-epsilon).exp().ln_1p();
    let atoms =
        vec![Atom { log_mass: keep, loss: epsilon }, Atom { log_mass: keep - epsilon, loss: -epsilon }];
    Law::Atoms { atoms, spacing: Some(2.0 * epsilon) }
}

fn randomized_response(buckets: u32, noise: f64, neighbours: Neighbours, order: Order) -> Law {
    let k = f64::from(buckets);
    let other = noise / k;
    // 1 − noise is exact where it is small; every loss is a logarithm of 1 plus something accurate.
    let truth = 1.0 - noise;
    let keep = truth + other;
    let log_keep = if keep > 0.5 { (-(noise * (k - 1.0) / k)).ln_1p() } else { keep.ln() };
    let gap = (truth * k / noise).ln_1p();
    let (against_blank, below_blank) = ((truth * (k - 1.0)).ln_1p(), (-truth).ln_1p());
    let atoms = match (neighbours, order) {
        (Neighbours::Replaced, _) => {
            let mut atoms =
                vec![Atom { log_mass: log_keep, loss: gap }, Atom { log_mass: other.ln(), loss: -gap }];
            if buckets > 2 {
                atoms.push(Atom { log_mass: ((k - 2.0) * other).ln(), loss: 0.0 });
            }
            atoms
        }
        // Against a blank, which reports every bucket with probability 1/k.
        (Neighbours::Present, Order::PresentFirst) => vec![
            Atom { log_mass: log_keep, loss: against_blank },
            Atom { log_mass: ((k - 1.0) * other).ln(), loss: below_blank },
        ],
        (Neighbours::Present, Order::AbsentFirst) => vec![
            Atom { log_mass: -k.ln(), loss: -against_blank },
            Atom { log_mass: ((k - 1.0) / k).ln(), loss: -below_blank },
        ],
    };
    let spacing = match neighbours {
        Neighbours::Replaced if buckets > 2 => gap,
        Neighbours::Replaced => 2.0 * gap,
        Neighbours::Present => gap,
    };
    Law::Atoms { atoms, spacing: Some(spacing) }
}

/// Integer Laplace noise moved by `shift`: the loss is (|x − shift| − |x|)/b.
fn discrete_laplace(scale: f64, shift: u64) -> Result<Law, Refusal> {
    if shift > 1_000_000 {
        return Err(Refusal::out_of_range("sensitivity", shift, "at most 10^6 for discrete noise"));
    }
    let d = shift as f64;
    let log_norm = (0.5 / scale).tanh().ln();
    let log_edge = -(1.0 + (-1.0 / scale).exp()).ln();
    let mut atoms = vec![
        // Everything at or above the centre, and everything at or below the moved one.
        Atom { log_mass: log_edge, loss: d / scale },
        Atom { log_mass: log_edge - d / scale, loss: -d / scale },
    ];
    for x in 1..shift {
        let x = x as f64;
        atoms.push(Atom { log_mass: log_norm - x / scale, loss: (d - 2.0 * x) / scale });
    }
    Ok(Law::Atoms { atoms, spacing: Some(2.0 / scale) })
}

/// Integer Gaussian noise moved by `shift`: the loss is (shift² − 2·shift·x)/2σ².
fn discrete_gaussian(sigma: f64, shift: u64) -> Result<Law, Refusal> {
    if sigma > 1e4 || shift > 1_000_000 {
        return Err(Refusal::out_of_range(
            "sigma",
            sigma,
            "sigma ≤ 1e4 and sensitivity ≤ 10^6 for discrete noise; for larger ones use --method zcdp or rdp",
        ));
    }
    let d = shift as f64;
    // Beyond 39 σ the mass is below 1e-330, under either dataset.
    let reach = (39.0 * sigma).ceil() as i64 + 1;
    let log_weight = |x: f64| -0.5 * (x / sigma) * (x / sigma);
    let norm: f64 = (-reach..=reach).map(|x| log_weight(x as f64).exp()).sum();
    let atoms = (-reach..=reach + shift as i64)
        .map(|x| {
            let x = x as f64;
            Atom { log_mass: log_weight(x) - norm.ln(), loss: (0.5 * d * d - d * x) / (sigma * sigma) }
        })
        .collect();
    Ok(Law::Atoms { atoms, spacing: Some(d / (sigma * sigma)) })
}

/// A part on a Poisson batch: the pair ((1−q)Q + qP, Q), or its reverse.
fn sampled(rate: f64, part: &Part, neighbours: Neighbours, order: Order) -> Result<Law, Refusal> {
    let situation = match (neighbours, order) {
        (Neighbours::Replaced, _) => Situation::Replace,
        (Neighbours::Present, Order::PresentFirst) => Situation::Remove,
        (Neighbours::Present, Order::AbsentFirst) => Situation::Add,
    };
    match part {
        Part::Gaussian { mu } => Ok(Law::Sampled(SampledGaussian::new(rate, *mu, situation))),
        Part::Laplace { .. } => Err(no_pair("poisson-sampled laplace", "pld")),
        Part::DiscreteLaplace { scale, shift } => {
            Ok(sampled_atoms(rate, &discrete_laplace(*scale, *shift)?, situation))
        }
        Part::DiscreteGaussian { sigma, shift } => {
            Ok(sampled_atoms(rate, &discrete_gaussian(*sigma, *shift)?, situation))
        }
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            let inner = randomized_response(*buckets, *noise, *neighbours, Order::PresentFirst);
            Ok(sampled_atoms(rate, &inner, situation))
        }
        Part::BoundedRange { .. }
        | Part::Approximate { .. }
        | Part::Zcdp { .. }
        | Part::Rdp { .. }
        | Part::PoissonSampled { .. }
        | Part::FixedSizeSampled { .. } => Err(no_pair("this sampled mechanism", "rdp")),
    }
}

/// Atoms of the inner pair, as (log P, loss); under Q the mass is P e^{−loss}.
fn sampled_atoms(rate: f64, inner: &Law, situation: Situation) -> Law {
    let Law::Atoms { atoms, .. } = inner else { return inner.clone() };
    let moved = atoms
        .iter()
        .map(|atom| {
            let log_absent = atom.log_mass - atom.loss;
            let ratio =
                if atom.loss > 600.0 { atom.loss + rate.ln() } else { (rate * atom.loss.exp_m1()).ln_1p() };
            match situation {
                Situation::Remove | Situation::Replace => Atom { log_mass: log_absent + ratio, loss: ratio },
                Situation::Add => Atom { log_mass: log_absent, loss: -ratio },
            }
        })
        .collect();
    Law::Atoms { atoms: moved, spacing: None }
}

/// δ(ε) of finitely many losses by the plain sum.
fn atoms_delta(atoms: &[Atom], epsilon: f64) -> (f64, f64) {
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

/// δ(ε) of one use of one law, in closed form.
pub(super) fn once(law: &Law, epsilon: f64) -> (f64, f64) {
    match law {
        Law::Laplace { epsilon: total } => gaussian::laplace_delta(*total, epsilon),
        Law::Sampled(step) => gaussian::sampled_delta(step, epsilon),
        Law::Atoms { atoms, .. } => atoms_delta(atoms, epsilon),
    }
}
