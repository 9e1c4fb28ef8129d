//! The privacy loss of one part in one direction: atoms, a smooth law known by its exact tails, and mass at infinity.
//!
//! A [`Part`] and a [`Direction`] go in; a [`Law`] of L = log dP/dQ comes out, which the grid reads cell by cell.

use super::compose::Side;
use super::mixture::Mixture;
use super::{allocation, lists};
use crate::{IntegerNoise, Neighbours, Part, integer::Shown};
use veracity_core::Refusal;
use veracity_core::numerics::{UNIT, normal};

/// The relative error of each mass and tail in this file: sums and products of a few values of 8 ulp each.
pub(super) const TAIL_ERROR: f64 = 32.0 * UNIT;

/// Tails below this are near the end of the range of floats and have lost their relative accuracy.
pub(super) const FAINTEST: f64 = 1e-300;

/// The most atoms that are listed one by one.
const MOST_ATOMS: u64 = 1 << 21;

/// Which of two adjacent datasets plays P.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// P has the record.
    Remove,
    /// Q has the record.
    Add,
}

/// A loss that is taken with positive probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Atom {
    /// The loss.
    pub loss: f64,
    /// Its probability under P.
    pub mass: f64,
}

impl Atom {
    /// The error of e^x is that of x: four units of the exponents that its mass and its loss come from.
    fn rounding(self) -> f64 {
        4.0 * UNIT * (self.mass.ln().abs() + self.loss.abs())
    }

    /// Its probability under Q.
    fn reverse_mass(self) -> f64 {
        self.mass * (-self.loss).exp()
    }
}

/// Losses `offset` + whole multiples of `spacing`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lattice {
    /// The distance between neighbours.
    pub spacing: f64,
    /// One of them.
    pub offset: f64,
}

/// The law of L under P.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Law {
    /// Losses of positive probability, each mass within `atom_error`.
    pub atoms: Vec<Atom>,
    /// The relative error of each atom's mass: exponentials of large arguments lose more than `TAIL_ERROR`.
    pub atom_error: f64,
    /// The rest of the finite losses.
    pub smooth: Option<Smooth>,
    /// P[L = ∞], exactly.
    pub infinite: f64,
    /// At most this much mass is not listed anywhere above.
    pub unlisted: f64,
    /// A lattice that holds all atoms, if there is one.
    pub lattice: Option<Lattice>,
    /// How far each loss may lie from where it is listed, by round-off before it got here.
    pub displacement: f64,
    /// The relative error of the tails of the smooth part.
    pub tail_error: f64,
    /// A law that the true one dominates, where this one only dominates it.
    pub below: Option<Box<Law>>,
    /// Whether another mechanism with the same profile may leak less: then only the upper side is a bound.
    pub upper_only: bool,
}

impl Law {
    /// The law that bounds on this side.
    pub fn on(&self, side: Side) -> &Law {
        match (side, &self.below) {
            (Side::Lower, Some(below)) => below,
            (Side::Upper | Side::Lower, _) => self,
        }
    }
}

/// P and Q mass of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Masses {
    /// Under P.
    pub p: f64,
    /// Under Q.
    pub q: f64,
}

/// A loss law known by its tails; the atoms of the whole law are listed apart (Laplace has one at each end).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Smooth {
    /// N(μ²/2, μ²).
    Gaussian {
        /// The shift in standard deviations.
        mu: f64,
    },
    /// Between the atoms at ±ε.
    Laplace {
        /// The shift in scales.
        epsilon: f64,
    },
    /// A Poisson batch that the record may enter.
    Sampled {
        /// The sampling rate.
        rate: f64,
        /// Which side has the record.
        direction: Direction,
        /// The loss when the record is in the batch; its law is the same in both directions.
        inner: Box<Smooth>,
    },
    /// (1−q)N(0,1) + qN(μ,1) against (1−q)N(0,1) + qN(−μ,1).
    Replaced {
        /// The sampling rate.
        rate: f64,
        /// The shift in standard deviations.
        mu: f64,
    },
    /// The removing law above 0, the adding law below it, and an atom at 0 where they meet.
    FixedSize {
        /// The sampling rate.
        rate: f64,
        /// The loss when the record is in the batch.
        inner: Box<Smooth>,
    },
    /// Several shifts of a Gaussian, each with its chance, against none.
    Mixture {
        /// The shifts.
        mixture: Mixture,
        /// Which side has the records.
        direction: Direction,
    },
    /// One of several laws, by a draw that everybody sees.
    Either(Vec<(f64, Smooth)>),
}

impl Smooth {
    /// P[L > l] and Q[L > l] of this part of the law.
    ///
    /// # Promise    Exact tails of the law of log dP/dQ, up to `TAIL_ERROR` relatively and a displacement of l by at
    /// most `displacement` units of round-off of the largest loss in use
    /// # Reference  [ZhuDongWang22] Theorem 11: with inner pair (P, Q), the pair of a Poisson batch is
    /// ((1−q)Q + qP, Q) or its reverse, so L′ = ±log(1 − q + q e^L) is monotone in L
    /// # Assumes    The inner law is the same in both directions (Gaussian and Laplace are)
    /// # Numerics   Each branch maps l to the argument of a tail in a few operations; their errors are pulled back to l
    pub fn above(&self, loss: f64) -> Masses {
        match self {
            Smooth::Gaussian { mu } => {
                Masses { p: normal::cdf(0.5 * mu - loss / mu), q: normal::cdf(-0.5 * mu - loss / mu) }
            }
            Smooth::Laplace { epsilon } => {
                let half = 0.5 * (epsilon - loss).clamp(0.0, 2.0 * epsilon);
                let p = -0.5 * (-half).exp_m1();
                Masses { p, q: p * (half - epsilon).exp() }
            }
            Smooth::Sampled { rate, direction, inner } => sampled_above(*rate, *direction, inner, loss),
            Smooth::Replaced { rate, mu } => {
                let x = replaced_inverse(*rate, *mu, loss);
                let (middle, right, left) = (normal::cdf(-x), normal::cdf(mu - x), normal::cdf(-mu - x));
                Masses { p: (1.0 - rate) * middle + rate * right, q: (1.0 - rate) * middle + rate * left }
            }
            // The mass at loss 0 is the step between the two tails: both are whole, so nothing cancels.
            Smooth::FixedSize { rate, inner } => {
                let direction = if loss >= 0.0 { Direction::Remove } else { Direction::Add };
                sampled_above(*rate, direction, inner, loss)
            }
            Smooth::Mixture { mixture, direction } => mixture.above(loss, *direction),
            Smooth::Either(laws) => laws.iter().fold(Masses { p: 0.0, q: 0.0 }, |sum, (chance, law)| {
                let tail = law.above(loss);
                Masses { p: sum.p + chance * tail.p, q: sum.q + chance * tail.q }
            }),
        }
    }

    /// By how many units of round-off of the largest loss the argument of a tail may be displaced.
    ///
    /// # Numerics  A Gaussian argument μ/2 − l/μ errs by 4 units of |l| + μ². Sampling maps the displacement back by
    /// dl′/dl = q e^l/(1 − q + q e^l) ≤ 1, and the inner loss exceeds the outer by at most |log q|; near the least loss
    /// log(1 − q), inverting e^l′ − 1 loses a factor 1/(1 − q).
    pub fn displacement(&self) -> f64 {
        match self {
            Smooth::Gaussian { mu } => 32.0 + 8.0 * mu * mu,
            Smooth::Laplace { .. } => 32.0,
            Smooth::Sampled { rate, inner, .. } | Smooth::FixedSize { rate, inner } => {
                (2.0 * inner.displacement() + 16.0 * rate.ln().abs()) / (1.0 - rate)
            }
            Smooth::Replaced { rate, mu } => 64.0 + 16.0 * rate.ln().abs() + 16.0 * mu * mu,
            Smooth::Mixture { mixture, .. } => mixture.displacement(),
            Smooth::Either(laws) => laws.iter().map(|(_, law)| law.displacement()).fold(0.0, f64::max),
        }
    }

    /// The least and the largest loss it can take.
    pub fn support(&self) -> (f64, f64) {
        match self {
            Smooth::Gaussian { .. } | Smooth::Replaced { .. } => (f64::NEG_INFINITY, f64::INFINITY),
            Smooth::Laplace { epsilon } => (-epsilon, *epsilon),
            Smooth::Sampled { rate, direction, inner } => {
                let (low, high) = inner.support();
                match direction {
                    Direction::Remove => (sampled_loss(*rate, low), sampled_loss(*rate, high)),
                    Direction::Add => (-sampled_loss(*rate, high), -sampled_loss(*rate, low)),
                }
            }
            Smooth::FixedSize { rate, inner } => {
                let (_, high) = inner.support();
                (-sampled_loss(*rate, high), sampled_loss(*rate, high))
            }
            Smooth::Mixture { mixture, direction: Direction::Remove } => {
                (mixture.least_loss(), f64::INFINITY)
            }
            Smooth::Mixture { mixture, direction: Direction::Add } => {
                (f64::NEG_INFINITY, -mixture.least_loss())
            }
            Smooth::Either(laws) => laws
                .iter()
                .map(|(_, law)| law.support())
                .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, law| (ends.0.min(law.0), ends.1.max(law.1))),
        }
    }
}

/// P′[L′ > l] and Q′[L′ > l] on a Poisson batch.
fn sampled_above(rate: f64, direction: Direction, inner: &Smooth, loss: f64) -> Masses {
    match direction {
        Direction::Remove => {
            let within = inner.above(inner_loss(rate, loss));
            Masses { p: (1.0 - rate) * within.q + rate * within.p, q: within.q }
        }
        // −L is as likely under Q as L is under P: tails below become tails above.
        Direction::Add => {
            let within = inner.above(-inner_loss(rate, -loss));
            Masses { p: within.p, q: (1.0 - rate) * within.p + rate * within.q }
        }
    }
}

/// log(1 − q + q e^l).
fn sampled_loss(rate: f64, loss: f64) -> f64 {
    let lift = rate * loss.exp_m1();
    if loss > 700.0 {
        loss + rate.ln()
    } else if lift < -0.5 {
        // Both terms are positive: no cancellation when almost every batch has the record.
        ((1.0 - rate) + rate * loss.exp()).ln()
    } else {
        lift.ln_1p()
    }
}

/// The l with log(1 − q + q e^l) = `loss`; minus infinity where there is none.
fn inner_loss(rate: f64, loss: f64) -> f64 {
    if loss > 30.0 {
        return loss - rate.ln() + (-(1.0 - rate) * (-loss).exp()).ln_1p();
    }
    let lift = loss.exp_m1() / rate;
    if lift <= -1.0 { f64::NEG_INFINITY } else { lift.ln_1p() }
}

/// The x at which log((1−q)φ(x) + qφ(x−μ)) − log((1−q)φ(x) + qφ(x+μ)) is `loss`.
///
/// With v = e^{μx − l/2} the equation is q e^{−μ²/2}(v − 1/v) = 2(1−q) sinh(l/2): a closed form for a root.
fn replaced_inverse(rate: f64, mu: f64, loss: f64) -> f64 {
    let half = 0.5 * loss.abs();
    // log of sinh(half), then of the argument of asinh, which may overflow.
    let log_sinh = if half > 20.0 { half - std::f64::consts::LN_2 } else { half.sinh().ln() };
    let log_argument = ((1.0 - rate) / rate).ln() + 0.5 * mu * mu + log_sinh;
    let asinh =
        if log_argument > 20.0 { log_argument + std::f64::consts::LN_2 } else { log_argument.exp().asinh() };
    (half + asinh).copysign(loss) / mu
}

/// The law of a part's loss.
///
/// # Promise    The pair (P, Q) behind it dominates the part in this direction; without `upper_only` it is also
/// attained (for declared guarantees: by some mechanism that keeps the declaration)
/// # Reference  [KairouzOhViswanath15] (declared ε, δ); [ZhuDongWang22] Theorem 11 (sampling); [Schuchardt24]
/// (Poisson-sampled Gaussian, replaced record)
pub(super) fn law(part: &Part, direction: Direction) -> Result<Law, Refusal> {
    match part {
        Part::Gaussian { mu } if *mu == 0.0 => Ok(listed(vec![Atom { loss: 0.0, mass: 1.0 }])),
        Part::Gaussian { mu } => Ok(Law { smooth: Some(Smooth::Gaussian { mu: *mu }), ..listed(Vec::new()) }),
        Part::Laplace { epsilon } => Ok(Law {
            smooth: Some(Smooth::Laplace { epsilon: *epsilon }),
            ..listed(vec![
                Atom { loss: *epsilon, mass: 0.5 },
                Atom { loss: -epsilon, mass: 0.5 * (-epsilon).exp() },
            ])
        }),
        Part::Integer { noise, shift } => integer(*noise, *shift),
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            Ok(randomized_response(f64::from(*buckets), *noise, *neighbours, direction))
        }
        Part::BoundedRange { epsilon } => Ok(Law { upper_only: true, ..declared(*epsilon, 0.0)? }),
        Part::Approximate { epsilon, delta } => declared(*epsilon, *delta),
        Part::Zcdp { .. } => Err(Refusal::no_theorem("declared zcdp", "the pld method", "use rdp")),
        Part::Rdp { .. } => Err(Refusal::no_theorem("a declared rdp curve", "the pld method", "use rdp")),
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Present } => {
            Ok(sampled(*rate, &law(part, Direction::Remove)?, direction))
        }
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Replaced } => match part.as_ref() {
            Part::Gaussian { mu } if *mu > 0.0 => {
                let smooth = Smooth::Replaced { rate: *rate, mu: *mu };
                Ok(Law { smooth: Some(smooth), ..listed(Vec::new()) })
            }
            _ => Err(Refusal::no_theorem(
                "a poisson-sampled part that is not gaussian",
                "replace-one",
                "use add-remove or zero-out",
            )),
        },
        Part::FixedSizeSampled { rate, part } => Ok(fixed_size(*rate, &law(part, Direction::Remove)?)),
        Part::AtMost(part) => Ok(Law { upper_only: true, ..law(part, direction)? }),
        Part::Mixture { shifts } => Ok(mixed(Mixture::new(shifts), direction)),
        Part::Allocated { batches, mu } => Ok(allocation::law(batches.get(), *mu, direction)),
        Part::Listed { losses } => Ok(lists::law(losses, direction)),
        Part::Either { chance, rare, usual } => {
            Ok(either(*chance, law(rare, direction)?, law(usual, direction)?))
        }
        Part::BestOf { .. } => {
            Err(Refusal::no_theorem(crate::single::name(part), "method pld", "use method rdp"))
        }
    }
}

/// A law of these atoms alone.
pub(super) fn listed(mut atoms: Vec<Atom>) -> Law {
    atoms.retain(|atom| atom.mass > 0.0);
    atoms.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let mut merged: Vec<Atom> = Vec::with_capacity(atoms.len());
    for atom in atoms {
        match merged.last_mut() {
            Some(last) if last.loss == atom.loss => last.mass += atom.mass,
            _ => merged.push(atom),
        }
    }
    // Two points always lie on a lattice; longer lists know their own.
    let lattice = match merged.as_slice() {
        [low, high] => Some(Lattice { spacing: high.loss - low.loss, offset: low.loss }),
        _ => None,
    };
    let atom_error = TAIL_ERROR + merged.iter().map(|atom| atom.rounding()).fold(0.0, f64::max);
    Law {
        atoms: merged,
        atom_error,
        smooth: None,
        infinite: 0.0,
        unlisted: 0.0,
        lattice,
        displacement: 0.0,
        tail_error: TAIL_ERROR,
        below: None,
        upper_only: false,
    }
}

/// The law of a group's records, of which a random number enters the batch.
///
/// # Numerics  Each chance p_i errs relatively by `chance_error`, and so do the density of the mixture, hence its loss
/// absolutely, and its tails relatively
fn mixed(mixture: Mixture, direction: Direction) -> Law {
    let displacement = mixture.chance_error();
    let smooth = Some(Smooth::Mixture { mixture, direction });
    Law { smooth, displacement, tail_error: TAIL_ERROR + displacement, ..listed(Vec::new()) }
}

/// One of two laws by a coin that everybody sees: the loss of either, with its chance.
///
/// # Reference  The pair (c P₁ ⊎ (1−c) P₂, c Q₁ ⊎ (1−c) Q₂) of disjoint unions has the ratio of the law that was drawn
fn either(chance: f64, rare: Law, usual: Law) -> Law {
    let scaled = |law: &Law, share: f64| -> Vec<Atom> {
        law.atoms.iter().map(|atom| Atom { mass: share * atom.mass, ..*atom }).collect()
    };
    let mut atoms = scaled(&rare, chance);
    atoms.extend(scaled(&usual, 1.0 - chance));
    let smooth: Vec<(f64, Smooth)> = [(chance, &rare.smooth), (1.0 - chance, &usual.smooth)]
        .into_iter()
        .filter_map(|(share, smooth)| smooth.clone().map(|smooth| (share, smooth)))
        .collect();
    let law = listed(atoms);
    Law {
        smooth: (!smooth.is_empty()).then_some(Smooth::Either(smooth)),
        atom_error: law.atom_error + rare.atom_error.max(usual.atom_error),
        infinite: chance * rare.infinite + (1.0 - chance) * usual.infinite,
        unlisted: rare.unlisted.max(usual.unlisted),
        displacement: rare.displacement.max(usual.displacement),
        tail_error: rare.tail_error.max(usual.tail_error) + 8.0 * UNIT,
        upper_only: rare.upper_only || usual.upper_only,
        ..law
    }
}

/// Noise on whole numbers.
fn integer(noise: IntegerNoise, shift: u64) -> Result<Law, Refusal> {
    match noise {
        IntegerNoise::Gaussian { sigma } => discrete_gaussian(sigma, shift),
        IntegerNoise::Laplace { scale } => discrete_laplace(scale, shift),
        // Noise whose losses lie on no lattice is listed as it is.
        _ => {
            let losses = noise.losses(shift, Shown::ByEither)?;
            if losses.len() as u64 > MOST_ATOMS {
                return Err(too_many(noise.kind()));
            }
            let atoms = losses.into_iter().map(|(log, loss)| Atom { loss, mass: log.exp() });
            let law = listed(atoms.collect());
            // A mass that is no normal float has lost its relative accuracy; all of those together are next to nothing.
            Ok(Law { unlisted: 1e-300, ..law })
        }
    }
}

/// P(x) ∝ exp(−(x−s)²/2σ²) against the same around 0: the loss at x is s(2x − s)/2σ².
fn discrete_gaussian(sigma: f64, shift: u64) -> Result<Law, Refusal> {
    // Beyond 13σ of either centre lies less than 1e-36, also for tiny σ, where the next integer is far away.
    let reach = (13.0 * sigma).ceil() + 1.0;
    let shift_by = shift as f64;
    if 2.0 * reach + shift_by > MOST_ATOMS as f64 {
        return Err(too_many("discrete gaussian"));
    }
    let weight = |x: f64| (-0.5 * (x / sigma) * (x / sigma)).exp();
    let reach_by = reach as i64;
    // In blocks, so that the sum of up to two million terms rounds only some thousand times.
    let places: Vec<i64> = (1..=reach_by).rev().collect();
    let blocks = places.chunks(1024).map(|block| block.iter().map(|&x| 2.0 * weight(x as f64)).sum::<f64>());
    let total = blocks.sum::<f64>() + 1.0;
    let summing = UNIT * (1024.0 + places.len() as f64 / 1024.0);
    let atoms = (-reach_by..=reach_by + shift as i64).map(|x| {
        let x = x as f64;
        let loss = shift_by * (2.0 * x - shift_by) / (2.0 * sigma * sigma);
        Atom { loss, mass: weight(x - shift_by) / total }
    });
    let lattice =
        Lattice { spacing: shift_by / (sigma * sigma), offset: -shift_by * shift_by / (2.0 * sigma * sigma) };
    let law = listed(atoms.collect());
    // The weights behind the sum are as uncertain as the atoms.
    let atom_error = 2.0 * law.atom_error + summing;
    Ok(Law { atom_error, unlisted: 1e-35, lattice: Some(lattice), ..law })
}

/// P(x) ∝ r^|x−s| against r^|x|, r = e^{−1/b}: the loss is ±s/b outside [0, s] and (2x − s)/b inside.
fn discrete_laplace(scale: f64, shift: u64) -> Result<Law, Refusal> {
    if shift > MOST_ATOMS {
        return Err(too_many("discrete laplace"));
    }
    let shift_by = shift as f64;
    let below_one = -(-1.0 / scale).exp_m1(); // 1 − r
    let full = 2.0 - below_one; // 1 + r
    let atoms = (0..=shift).map(|x| {
        let x = x as f64;
        let end = if x == 0.0 || x == shift_by { 1.0 } else { below_one };
        Atom { loss: (2.0 * x - shift_by) / scale, mass: end / full * ((x - shift_by) / scale).exp() }
    });
    let lattice = Lattice { spacing: 2.0 / scale, offset: -shift_by / scale };
    Ok(Law { lattice: Some(lattice), ..listed(atoms.collect()) })
}

fn too_many(kind: &str) -> Refusal {
    Refusal::NotCertified(format!(
        "the {kind} has more than {MOST_ATOMS} losses; use method rdp, or the continuous mechanism"
    ))
}

fn randomized_response(buckets: f64, noise: f64, neighbours: Neighbours, direction: Direction) -> Law {
    let other = noise / buckets;
    let truth = 1.0 - noise + other;
    match (neighbours, direction) {
        (Neighbours::Replaced, _) => {
            let loss = (buckets * (1.0 - noise) / noise).ln_1p();
            let law = listed(vec![
                Atom { loss, mass: truth },
                Atom { loss: 0.0, mass: (buckets - 2.0) * other },
                Atom { loss: -loss, mass: other },
            ]);
            let lattice = (loss > 0.0).then_some(Lattice { spacing: loss, offset: 0.0 });
            Law { lattice, ..law }
        }
        (Neighbours::Present, Direction::Remove) => listed(vec![
            Atom { loss: ((buckets - 1.0) * (1.0 - noise)).ln_1p(), mass: truth },
            Atom { loss: noise.ln(), mass: (buckets - 1.0) * other },
        ]),
        (Neighbours::Present, Direction::Add) => listed(vec![
            Atom { loss: -((buckets - 1.0) * (1.0 - noise)).ln_1p(), mass: 1.0 / buckets },
            Atom { loss: -noise.ln(), mass: (buckets - 1.0) / buckets },
        ]),
    }
}

/// The pair that dominates every mechanism with this declaration and is one itself.
fn declared(epsilon: f64, delta: f64) -> Result<Law, Refusal> {
    if epsilon > 1e6 {
        return Err(Refusal::NotCertified(format!(
            "a declared epsilon of {epsilon} is no protection; use a smaller one"
        )));
    }
    let low = (1.0 - delta) * (-epsilon).exp() / (1.0 + (-epsilon).exp());
    let high = (1.0 - delta) / (1.0 + (-epsilon).exp());
    let law = listed(vec![Atom { loss: epsilon, mass: high }, Atom { loss: -epsilon, mass: low }]);
    Ok(Law { infinite: delta, ..law })
}

/// The law on a Poisson batch: P′ = (1−q)Q + qP against Q, or the reverse. A declared mechanism may tell who it is with the
/// same probability in both datasets.
fn sampled(rate: f64, inner: &Law, direction: Direction) -> Law {
    let atoms = inner.atoms.iter().map(|atom| {
        let loss = sampled_loss(rate, atom.loss);
        match direction {
            Direction::Remove => Atom { loss, mass: (1.0 - rate) * atom.reverse_mass() + rate * atom.mass },
            Direction::Add => Atom { loss: -loss, mass: atom.reverse_mass() },
        }
    });
    let smooth =
        inner.smooth.clone().map(|smooth| Smooth::Sampled { rate, direction, inner: Box::new(smooth) });
    // What only the dataset without the record shows.
    let telling = match direction {
        Direction::Remove => Atom { loss: (-rate).ln_1p(), mass: (1.0 - rate) * inner.infinite },
        Direction::Add => Atom { loss: -(-rate).ln_1p(), mass: inner.infinite },
    };
    let infinite = match direction {
        Direction::Remove => rate * inner.infinite,
        Direction::Add => 0.0,
    };
    // Mass that the inner law does not list under P or Q is not listed here either.
    let law = listed(atoms.chain(std::iter::once(telling)).collect());
    let atom_error = inner.atom_error + law.atom_error;
    Law { smooth, atom_error, infinite, unlisted: inner.unlisted, upper_only: inner.upper_only, ..law }
}

/// The law whose profile is that of ((1−γ)Q + γP, Q) for e^ε ≥ 1, and of (P, (1−γ)P + γQ) for e^ε < 1.
///
/// # Promise    Its pair dominates the sampled mechanism; nothing attains it in general, so `upper_only`
/// # Reference  [ZhuDongWang22] Theorem 11 (replace-one, fixed-size batches); the profile is that of min(f_p, f_p⁻¹)**
/// of [DongRothSu22]. It is convex in e^ε: −H′ falls from ((1−γ)P + γQ)[L>0] to Q[L>0] at e^ε = 1, an atom at loss 0
/// # Assumes    The inner pair is the same in both directions
fn fixed_size(rate: f64, inner: &Law) -> Law {
    let (remove, add) = (sampled(rate, inner, Direction::Remove), sampled(rate, inner, Direction::Add));
    let mut atoms: Vec<Atom> = remove.atoms.iter().copied().filter(|atom| atom.loss > 0.0).collect();
    atoms.extend(add.atoms.iter().copied().filter(|atom| atom.loss < 0.0));
    let smooth = inner.smooth.clone().map(|smooth| Smooth::FixedSize { rate, inner: Box::new(smooth) });
    // What the step from the adding to the removing atoms leaves at 0, rounded up by the error of the sums.
    if !inner.atoms.is_empty() {
        let mass = |atoms: &[Atom], keep: fn(f64) -> bool| -> f64 {
            atoms.iter().filter(|atom| keep(atom.loss)).map(|atom| atom.mass).sum()
        };
        let zero = mass(&add.atoms, |loss| loss >= 0.0) - mass(&remove.atoms, |loss| loss > 0.0);
        let error = (inner.atoms.len() as f64 + 1.0) * UNIT + remove.atom_error + add.atom_error;
        atoms.push(Atom { loss: 0.0, mass: zero.max(0.0) + error });
    }
    let atom_error = remove.atom_error.max(add.atom_error);
    Law { smooth, atom_error, unlisted: inner.unlisted, upper_only: true, ..listed(atoms) }
}
