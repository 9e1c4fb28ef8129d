//! Random questions over the whole range that the accountant answers for, and its hostile corners.
//!
//! [`KINDS`] is the list: a new kind is a line there and a function that draws it. Each function draws parameters; what
//! is asked of them (ε at a δ, or δ at an ε) is drawn afterwards, alike for all.

use super::dice::Dice;
use super::roads::Roads;
use veracity_core::{
    Adjacency, Buckets, Count, Delta, Epsilon, GdpMu, Mechanism, NoiseMultiplier, Probability, RdpCurve, Rho,
    SamplingRate,
};

/// A question and what it is about.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The kind, for the table.
    pub kind: &'static str,
    /// What was done.
    pub mechanism: Mechanism,
    /// Which datasets are adjacent.
    pub adjacency: Adjacency,
    /// What is wanted.
    pub wanted: Wanted,
}

/// What is wanted of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wanted {
    /// ε at this δ.
    EpsilonAt(f64),
    /// δ at this ε.
    DeltaAt(f64),
}

type Draw = fn(&mut Dice) -> (Mechanism, Adjacency);

/// Every kind, how often it comes, and how it is drawn.
pub const KINDS: [(&str, usize, Draw); 21] = [
    ("gaussian", 3, gaussian),
    ("many gaussians", 1, many_gaussians),
    ("laplace", 3, laplace),
    ("many laplaces", 1, many_laplaces),
    ("discrete laplace", 2, discrete_laplace),
    ("discrete gaussian", 2, discrete_gaussian),
    ("randomized response", 3, randomized_response),
    ("declared", 3, declared),
    ("sampled gaussian once", 3, sampled_once),
    ("sampled gaussian", 6, sampled_gaussian),
    ("sampled, large noise", 4, sampled_large_noise),
    ("sampled, rare jumps", 1, sampled_rare_jumps),
    ("sampled declared", 2, sampled_declared),
    ("sampled outcomes", 2, sampled_outcomes),
    ("sampled laplace", 1, sampled_laplace),
    ("mixture", 2, mixture),
    ("declared mixture", 1, declared_mixture),
    ("parallel", 1, parallel),
    ("group", 1, group),
    ("bounds only", 1, bounds_only),
    ("hostile corners", 2, corners),
];

/// Question `index` of the series `seed`.
pub fn question(seed: u64, index: u64) -> Asked {
    let mut dice = Dice::new(seed, index);
    let all: usize = KINDS.iter().map(|kind| kind.1).sum();
    let mut left = dice.below(all);
    let mut chosen = KINDS[0];
    for kind in KINDS {
        if left < kind.1 {
            chosen = kind;
            break;
        }
        left -= kind.1;
    }
    of_kind(chosen, &mut dice)
}

/// Question `index` of a kind by its name, in the series `seed`.
pub fn question_of(kind: &str, seed: u64, index: u64) -> Asked {
    let found = KINDS.into_iter().find(|known| known.0 == kind).expect("a kind of the list");
    of_kind(found, &mut Dice::new(seed, index))
}

/// A question of one kind.
fn of_kind((kind, _, draw): (&'static str, usize, Draw), dice: &mut Dice) -> Asked {
    let (mechanism, adjacency) = draw(dice);
    let wanted = wanted(&mechanism, adjacency, dice);
    Asked { kind, mechanism, adjacency, wanted }
}

fn wanted(mechanism: &Mechanism, adjacency: Adjacency, dice: &mut Dice) -> Wanted {
    if dice.below(3) > 0 {
        return Wanted::EpsilonAt(match dice.below(8) {
            0 => dice.log_uniform(1e-300, 1e-12),
            1..=3 => dice.log_uniform(1e-12, 1e-2),
            4 => dice.unit() * 0.999,
            5 => 0.0,
            6 => dice.log_uniform(1e-6, 0.5),
            _ => 10f64.powi(-(1 + dice.below(14) as i32)),
        });
    }
    let largest = Roads::of(mechanism, adjacency).map_or(f64::INFINITY, |roads| roads.largest().hi);
    Wanted::DeltaAt(match dice.below(8) {
        0 => 0.0,
        1 => dice.pick(&[1.0, 120.0, 200.0]),
        2 if largest.is_finite() => largest * (1.0 - dice.log_uniform(1e-16, 1e-2)),
        3 if largest.is_finite() => largest * dice.unit(),
        4 => dice.log_uniform(1e-9, 1e-2),
        _ => dice.log_uniform(1e-3, 300.0),
    })
}

fn noise(x: f64) -> NoiseMultiplier {
    NoiseMultiplier::new(x.clamp(1e-6, 1e9)).expect("clamped to its range")
}

fn times(n: u64) -> Count {
    Count::new(n).expect("counts are drawn from 1 to 10^9")
}

fn rate(x: f64) -> SamplingRate {
    SamplingRate::new(x.clamp(1e-300, 1.0)).expect("clamped to its range")
}

fn pure(x: f64) -> Mechanism {
    Mechanism::Pure { epsilon: Epsilon::new(x).expect("not negative") }
}

fn sampled(q: f64, mechanism: Mechanism) -> Mechanism {
    Mechanism::PoissonSampled { rate: rate(q), mechanism: Box::new(mechanism) }
}

fn any_adjacency(dice: &mut Dice) -> Adjacency {
    dice.pick(&Adjacency::ALL)
}

fn gaussian(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let once = if dice.below(4) == 0 {
        Mechanism::Gdp { mu: GdpMu::new(dice.log_uniform(1e-9, 100.0)).expect("not negative") }
    } else {
        Mechanism::Gaussian { noise_multiplier: noise(dice.log_uniform(0.01, 1e6)) }
    };
    (once.repeated(times(dice.count(1, 1_000_000_000))), any_adjacency(dice))
}

fn many_gaussians(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let scale = dice.log_uniform(1.0, 1e4);
    let parts = 2 + dice.count(1, 999);
    let part = |_| Mechanism::Gaussian { noise_multiplier: noise(scale * dice.log_uniform(0.5, 20.0)) };
    (Mechanism::Composed((0..parts).map(part).collect()), Adjacency::AddRemove)
}

fn laplace(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let uses = if dice.below(3) > 0 { dice.count(1, 64) } else { dice.count(1, 1_000_000_000) };
    let scale = if dice.below(2) == 0 { dice.log_uniform(0.05, 1e3) } else { dice.log_uniform(0.05, 1e7) };
    let once = Mechanism::Laplace { noise_multiplier: noise(scale) };
    (once.repeated(times(uses)), any_adjacency(dice))
}

fn many_laplaces(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let parts = 2 + dice.count(1, 998);
    let part = |_| Mechanism::Laplace { noise_multiplier: noise(dice.log_uniform(0.1, 1000.0)) };
    (Mechanism::Composed((0..parts).map(part).collect()), Adjacency::AddRemove)
}

fn discrete_laplace(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let (scale, sensitivity) = (noise(dice.log_uniform(0.1, 200.0)), times(dice.count(1, 12)));
    let once = Mechanism::DiscreteLaplace { scale, sensitivity };
    (once.repeated(times(dice.count(1, 60))), any_adjacency(dice))
}

fn discrete_gaussian(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let (sigma, sensitivity) = (noise(dice.log_uniform(0.1, 12.0)), times(dice.count(1, 4)));
    let once = Mechanism::DiscreteGaussian { sigma, sensitivity };
    (once.repeated(times(dice.count(1, 8))), any_adjacency(dice))
}

fn flip(dice: &mut Dice) -> Probability {
    let p = match dice.below(3) {
        0 => dice.log_uniform(1e-16, 1.0),
        1 => dice.unit().max(1e-6),
        _ => 1.0 - dice.log_uniform(1e-16, 0.1),
    };
    Probability::new(p).expect("between 0 and 1")
}

fn response(dice: &mut Dice) -> Mechanism {
    let buckets = dice.pick(&[2, 2, 3, 10, 1000, 1_000_000]);
    let noise = flip(dice);
    Mechanism::RandomizedResponse { buckets: Buckets::new(buckets).expect("at least two"), noise }
}

fn randomized_response(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let once = response(dice);
    let adjacency = dice.pick(&[Adjacency::ReplaceOne, Adjacency::ZeroOut]);
    let most = if adjacency == Adjacency::ZeroOut { 100_000 } else { 200 };
    (once.repeated(times(dice.count(1, most))), adjacency)
}

fn declared(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let epsilon = dice.log_uniform(1e-6, 20.0);
    let once = if dice.below(2) == 0 {
        pure(epsilon)
    } else {
        let delta = Delta::new(dice.log_uniform(1e-30, 1e-2)).expect("below 1");
        Mechanism::Approximate { epsilon: Epsilon::new(epsilon).expect("not negative"), delta }
    };
    (once.repeated(times(dice.count(1, 1_000_000))), any_adjacency(dice))
}

fn sampled_once(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let q = match dice.below(3) {
        0 => dice.log_uniform(1e-9, 1.0),
        1 => dice.log_uniform(1e-3, 1.0),
        _ => 1.0 - dice.log_uniform(1e-13, 0.1),
    };
    let sigma = if dice.below(2) == 0 { dice.log_uniform(0.05, 1e6) } else { dice.log_uniform(0.3, 10.0) };
    (Mechanism::sampled_gaussian(rate(q), noise(sigma), Count::ONE), any_adjacency(dice))
}

fn sampled_gaussian(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let (low, high) = if dice.below(3) == 0 { (1e-9, 1.0) } else { (1e-4, 1.0) };
    let (q, sigma) = (dice.log_uniform(low, high), dice.log_uniform(0.3, 20.0));
    (Mechanism::sampled_gaussian(rate(q), noise(sigma), times(dice.count(2, 1_000_000))), any_adjacency(dice))
}

fn sampled_large_noise(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let (q, sigma) = (dice.log_uniform(1e-9, 1.0), dice.log_uniform(1.0, 1e6));
    (
        Mechanism::sampled_gaussian(rate(q), noise(sigma), times(dice.count(2, 1_000_000_000))),
        any_adjacency(dice),
    )
}

fn sampled_rare_jumps(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let (q, sigma) = (dice.log_uniform(1e-9, 1e-2), dice.log_uniform(0.05, 1.0));
    (
        Mechanism::sampled_gaussian(rate(q), noise(sigma), times(dice.count(2, 1_000_000_000))),
        any_adjacency(dice),
    )
}

fn sampled_declared(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let q = dice.log_uniform(1e-6, 1.0);
    let adjacency = dice.pick(&[Adjacency::AddRemove, Adjacency::ZeroOut]);
    let epsilon = dice.log_uniform(1e-3, 5.0);
    if dice.below(3) > 0 {
        return (sampled(q, pure(epsilon)).repeated(times(dice.count(1, 100_000))), adjacency);
    }
    let delta = Delta::new(dice.log_uniform(1e-20, 1e-3)).expect("below 1");
    let promise = Mechanism::Approximate { epsilon: Epsilon::new(epsilon).expect("positive"), delta };
    (sampled(q, promise).repeated(times(dice.count(1, 300))), adjacency)
}

fn sampled_outcomes(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let inner = match dice.below(3) {
        0 => response(dice),
        1 => Mechanism::DiscreteLaplace {
            scale: noise(dice.log_uniform(0.2, 50.0)),
            sensitivity: times(dice.count(1, 3)),
        },
        _ => Mechanism::DiscreteGaussian {
            sigma: noise(dice.log_uniform(0.1, 2.0)),
            sensitivity: times(dice.count(1, 2)),
        },
    };
    let uses = if matches!(inner, Mechanism::DiscreteGaussian { .. }) {
        dice.count(1, 2)
    } else {
        dice.count(1, 40)
    };
    let once = sampled(dice.log_uniform(1e-4, 1.0), inner);
    (once.repeated(times(uses)), Adjacency::ZeroOut)
}

fn sampled_laplace(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let inner = Mechanism::Laplace { noise_multiplier: noise(dice.log_uniform(0.05, 1e4)) };
    let once = sampled(dice.log_uniform(1e-6, 1.0), inner);
    (once.repeated(times(dice.pick(&[1, 1, 2, 30, 1000]))), Adjacency::AddRemove)
}

fn mixture(dice: &mut Dice) -> (Mechanism, Adjacency) {
    mixed(dice, 5)
}

fn declared_mixture(dice: &mut Dice) -> (Mechanism, Adjacency) {
    mixed(dice, 6)
}

/// Two to four different parts, of the first `kinds` below.
fn mixed(dice: &mut Dice, kinds: usize) -> (Mechanism, Adjacency) {
    let adjacency = dice.pick(&[Adjacency::AddRemove, Adjacency::AddRemove, Adjacency::ZeroOut]);
    let parts = (0..2 + dice.below(3)).map(|_| match dice.below(kinds) {
        0 => Mechanism::Gaussian { noise_multiplier: noise(dice.log_uniform(0.5, 100.0)) }
            .repeated(times(dice.count(1, 100))),
        1 => Mechanism::Laplace { noise_multiplier: noise(dice.log_uniform(0.5, 100.0)) }
            .repeated(times(dice.count(1, 100))),
        2 => Mechanism::sampled_gaussian(
            rate(dice.log_uniform(1e-4, 1.0)),
            noise(dice.log_uniform(0.5, 100.0)),
            times(dice.count(1, 10_000)),
        ),
        3 => pure(dice.log_uniform(1e-3, 2.0)).repeated(times(dice.count(1, 10))),
        4 => {
            Mechanism::DiscreteLaplace { scale: noise(dice.log_uniform(0.5, 50.0)), sensitivity: Count::ONE }
                .repeated(times(dice.count(1, 10)))
        }
        _ => sampled(dice.log_uniform(1e-3, 1.0), pure(dice.log_uniform(1e-2, 3.0)))
            .repeated(times(dice.count(1, 20))),
    });
    (Mechanism::Composed(parts.collect()), adjacency)
}

fn parallel(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let parts = (0..2 + dice.below(3)).map(|_| match dice.below(4) {
        0 => Mechanism::Laplace { noise_multiplier: noise(dice.log_uniform(0.5, 20.0)) },
        1 | 2 => Mechanism::Gaussian { noise_multiplier: noise(dice.log_uniform(0.5, 20.0)) }
            .repeated(times(dice.count(1, 20))),
        _ => pure(dice.pick(&[0.0, 0.5, 1.0])),
    });
    (Mechanism::Parallel(parts.collect()), any_adjacency(dice))
}

fn group(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let mechanism = match dice.below(3) {
        0 => gaussian(dice).0,
        1 => Mechanism::Laplace { noise_multiplier: noise(dice.log_uniform(0.5, 1e3)) },
        _ => pure(dice.log_uniform(1e-3, 3.0)),
    };
    let size = times(dice.count(2, 30));
    (Mechanism::Group { size, mechanism: Box::new(mechanism) }, any_adjacency(dice))
}

/// Kinds without a worst pair: only laws that any bound must keep.
fn bounds_only(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let once = match dice.below(4) {
        0 => Mechanism::Exponential { epsilon: Epsilon::new(dice.log_uniform(1e-3, 5.0)).expect("positive") },
        1 => Mechanism::Zcdp { rho: Rho::new(dice.log_uniform(1e-8, 1.0)).expect("positive") },
        2 => {
            let slope = dice.log_uniform(1e-6, 1.0);
            let curve = [1.5, 2.0, 4.0, 16.0, 64.0].map(|order| (order, order * slope)).to_vec();
            Mechanism::Rdp { curve: RdpCurve::new(curve).expect("rising") }
        }
        _ => Mechanism::FixedSizeSampled {
            batch: times(dice.count(1, 100)),
            population: times(dice.count(200, 1_000_000)),
            mechanism: Box::new(Mechanism::Gaussian { noise_multiplier: noise(dice.log_uniform(0.5, 20.0)) }),
        },
    };
    (once.repeated(times(dice.count(1, 1000))), Adjacency::ReplaceOne)
}

fn corners(dice: &mut Dice) -> (Mechanism, Adjacency) {
    let steps = dice.pick(&[1, 2, 100, 1_000_000]);
    let mechanism = match dice.below(6) {
        0 => Mechanism::sampled_gaussian(rate(1.0 - 1e-12), noise(dice.log_uniform(0.3, 1e4)), times(steps)),
        1 => Mechanism::sampled_gaussian(rate(0.99), noise(dice.log_uniform(1.0, 1e6)), times(steps)),
        2 => {
            Mechanism::Laplace { noise_multiplier: noise(dice.log_uniform(1e5, 1e9)) }.repeated(times(steps))
        }
        3 => {
            Mechanism::sampled_gaussian(rate(1e-9), noise(dice.log_uniform(0.05, 1e6)), times(1_000_000_000))
        }
        4 => {
            let parts = (0..200 + dice.below(800)).map(|_| match dice.below(2) {
                0 => Mechanism::Laplace { noise_multiplier: noise(dice.log_uniform(10.0, 1e4)) },
                _ => pure(dice.log_uniform(1e-6, 0.1)),
            });
            Mechanism::Composed(parts.collect())
        }
        _ => sampled(dice.pick(&[0.1, 0.5]), pure(dice.pick(&[1.0, 2.0]))).repeated(times(steps)),
    };
    (mechanism, Adjacency::AddRemove)
}
