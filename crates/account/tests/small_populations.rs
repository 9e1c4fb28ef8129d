//! Upper bounds of mechanisms on batches, compared with brute force: all datasets of 2 to 6 records over {−1, 0, 1}, all
//! neighbors, all batches. No bound of any method may be below the truth.
//!
//! A declared guarantee stands for every mechanism that keeps it, so its truth is the largest over several of them: additive
//! noise, randomized response, noise in orthogonal directions, and each of these beside the exact size of the batch.
//! Set `VERACITY_CASES` to ask that many random questions of each kind instead of the few of a test run.

mod reference;

use reference::{Member, Noise, Sampler, Worlds};
use veracity_account::{Method, Question, best, delta_at, epsilon_at};
use veracity_core::{Adjacency, Buckets, Count, GdpMu, Mechanism, RdpCurve, Refusal, Rho};
use veracity_testkit::sceptic::dice::Dice;
use veracity_testkit::short::{self, noise, probability};

/// Kinds that may stand under a sampler.
const KINDS: [&str; 12] = [
    "gaussian", "laplace", "discrete-gaussian", "discrete-laplace", "randomized-response", "exponential",
    "pure", "approximate", "gdp", "zcdp", "rdp", "skellam",
];

/// Values of ε at which δ is compared.
const EPSILONS: [f64; 4] = [0.0, 0.3, 1.0, 3.0];
/// Values of δ at which ε is compared.
const DELTAS: [f64; 2] = [1e-6, 1e-2];
/// Relative error of the reference: sums of up to 10⁴ floats, and of the quadrature in bins.
const REFERENCE_ERROR: f64 = 1e-9;

fn count(n: usize) -> Count {
    short::count(n as u64)
}

fn sized(member: Member) -> Member {
    Member::Sized(Box::new(member))
}

/// A kind at a noise of about `scale`, and mechanisms that are of this kind for records that differ as `adjacency` says.
fn kind(name: &str, scale: f64, adjacency: Adjacency) -> (Mechanism, Vec<Member>) {
    let sum = |noise, scale| Member::Sum { noise, scale };
    // How far apart two adjacent sums are, and the guarantee of additive noise that moves by so much.
    let far = f64::from(adjacency.contributions());
    let epsilon = 1.0 / scale;
    let pure = |epsilon: f64| {
        let keep = 1.0 / (1.0 + (-epsilon).exp());
        vec![sum(Noise::Laplace, far / epsilon), Member::Bit { keep }]
    };
    // Φ(μ/2) is the largest probability at which a true bit is μ-GDP.
    let gaussian = |mu: f64, keep: f64| {
        let mut members = vec![sum(Noise::Gaussian, far / mu), Member::Bit { keep }];
        if adjacency != Adjacency::AddRemove && mu < 4.0 {
            let apart = if adjacency == Adjacency::ReplaceOne { 2f64.sqrt() } else { 1.0 };
            members.push(Member::Orthogonal { scale: apart / mu });
        }
        members
    };
    // A dataset's size is public unless records are added or removed.
    let declared = |members: Vec<Member>| -> Vec<Member> {
        if adjacency == Adjacency::AddRemove {
            return members;
        }
        members.into_iter().flat_map(|member| [member.clone(), sized(member)]).collect()
    };
    match name {
        "gaussian" => {
            let members = vec![sum(Noise::Gaussian, scale)];
            (Mechanism::Gaussian { noise_multiplier: noise(scale) }, members)
        }
        "laplace" => {
            (Mechanism::Laplace { noise_multiplier: noise(scale) }, vec![sum(Noise::Laplace, scale)])
        }
        "discrete-gaussian" => (
            Mechanism::DiscreteGaussian { sigma: noise(scale), sensitivity: Count::ONE },
            vec![sum(Noise::DiscreteGaussian, scale)],
        ),
        "discrete-laplace" => (
            Mechanism::DiscreteLaplace { scale: noise(scale), sensitivity: Count::ONE },
            vec![sum(Noise::DiscreteLaplace, scale)],
        ),
        "skellam" => (
            Mechanism::Skellam { variance: noise(scale * scale), sensitivity: Count::ONE },
            vec![sum(Noise::Skellam, scale)],
        ),
        "randomized-response" => {
            let noise = scale / (1.0 + scale);
            let buckets = Buckets::new(3).unwrap();
            (
                Mechanism::RandomizedResponse { buckets, noise: probability(noise) },
                vec![Member::Reports { noise }],
            )
        }
        "exponential" => {
            (Mechanism::Exponential { epsilon: short::epsilon(epsilon) }, declared(pure(0.5 * epsilon)))
        }
        "pure" => (short::pure(epsilon), declared(pure(epsilon))),
        "approximate" => {
            let delta = 0.01;
            let reveal = |member| Member::Reveal { delta, otherwise: Box::new(member) };
            let members = declared(pure(epsilon)).into_iter().map(reveal).collect();
            let (epsilon, delta) = (short::epsilon(epsilon), short::delta(delta));
            (Mechanism::Approximate { epsilon, delta }, members)
        }
        "gdp" => {
            let keep = veracity_core::numerics::normal::cdf(0.5 * epsilon);
            (Mechanism::Gdp { mu: GdpMu::new(epsilon).unwrap() }, declared(gaussian(epsilon, keep)))
        }
        // ε-private mechanisms are ε²/2-zCDP.
        "zcdp" => {
            let keep = 1.0 / (1.0 + (-epsilon).exp());
            let rho = Rho::new(0.5 * epsilon * epsilon).unwrap();
            (Mechanism::Zcdp { rho }, declared(gaussian(epsilon, keep)))
        }
        "rdp" => {
            let keep = 1.0 / (1.0 + (-epsilon).exp());
            let orders = [1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0];
            let curve = orders.map(|order| (order, 0.5 * order * epsilon * epsilon)).to_vec();
            (Mechanism::Rdp { curve: RdpCurve::new(curve).unwrap() }, declared(gaussian(epsilon, keep)))
        }
        other => panic!("no kind {other}"),
    }
}

fn sampled(sampler: Sampler, population: usize, mechanism: Mechanism) -> Mechanism {
    let mechanism = Box::new(mechanism);
    let population = count(population);
    match sampler {
        Sampler::Poisson { rate } => Mechanism::PoissonSampled { rate: short::rate(rate), mechanism },
        Sampler::FixedSize { batch } => {
            Mechanism::FixedSizeSampled { batch: count(batch), population, mechanism }
        }
        Sampler::Truncated { rate, most } => Mechanism::TruncatedPoissonSampled {
            rate: short::rate(rate),
            most: count(most),
            population,
            mechanism,
        },
        Sampler::Allocation => Mechanism::RandomAllocation { batches: count(2), mechanism },
        Sampler::Shuffled => Mechanism::Shuffled { batches: count(2), mechanism },
    }
}

/// Number of questions that were answered, and of those that were refused for want of a theorem.
#[derive(Debug, Default)]
struct Tally {
    answered: usize,
    refused: usize,
    compared: usize,
    below: Vec<String>,
}

impl Tally {
    /// Compares every upper bound for one question with the truth.
    fn ask(&mut self, name: &str, scale: f64, sampler: Sampler, adjacency: Adjacency, population: usize) {
        let (inner, members) = kind(name, scale, adjacency);
        let question = Question { mechanism: sampled(sampler, population, inner), adjacency };
        let bounds = deltas(&question);
        let epsilons = epsilons(&question);
        if bounds.is_empty() && epsilons.is_empty() {
            let refused = best::delta_at(&question, short::epsilon(1.0)).unwrap_err();
            let by_name = matches!(
                refused,
                Refusal::NoTheorem { .. } | Refusal::OutOfRange { .. } | Refusal::Invalid(_)
            );
            assert!(
                by_name || matches!(refused, Refusal::NotCertified(_) | Refusal::NoProtection(_)),
                "{refused:?}"
            );
            self.refused += 1;
            return;
        }
        self.answered += 1;
        let epoch = matches!(sampler, Sampler::Allocation | Sampler::Shuffled);
        // Two outputs of two coordinates each would be too many bins.
        let flat = |member: &Member| !format!("{member:?}").contains("Orthogonal");
        for member in members.into_iter().filter(|member| !epoch || flat(member)) {
            let worlds = Worlds::new(&member, sampler, adjacency, population);
            let mut compare = |at: String, truth: f64, upper: f64| {
                self.compared += 1;
                if !(truth <= upper * (1.0 + REFERENCE_ERROR) + 1e-13) {
                    self.below.push(format!(
                        "{name} {scale:.4}, {sampler:?} of {population}, {adjacency}, {at}: {upper:.6e} < {truth:.6e} of {member:?}"
                    ));
                }
            };
            for (epsilon, method, upper) in &bounds {
                compare(format!("delta({epsilon}) by {method}"), worlds.delta(*epsilon), *upper);
            }
            for (delta, method, upper) in &epsilons {
                compare(format!("epsilon {upper} at {delta} by {method}"), worlds.delta(*upper), *delta);
            }
        }
    }
}

/// Upper bounds of δ: at each ε, of the default and of each method that bounds.
fn deltas(question: &Question) -> Vec<(f64, Method, f64)> {
    let mut found = Vec::new();
    for epsilon in EPSILONS {
        let at = short::epsilon(epsilon);
        for method in Method::ALL.into_iter().filter(|method| !method.is_approximation()) {
            if let Some(upper) = delta_at(question, at, method).ok().and_then(|found| found.upper()) {
                found.push((epsilon, method, upper.0.get()));
            }
        }
    }
    found
}

/// Upper bounds of ε, as [`deltas`].
fn epsilons(question: &Question) -> Vec<(f64, Method, f64)> {
    let mut found = Vec::new();
    for delta in DELTAS {
        let at = short::delta(delta);
        for method in Method::ALL.into_iter().filter(|method| !method.is_approximation()) {
            let upper = epsilon_at(question, at, method).ok().and_then(|found| found.upper());
            found.extend(upper.map(|upper| (delta, method, upper.0.get())));
        }
    }
    found
}

fn hold(samplers: impl Fn(&mut Dice, usize) -> Sampler, seed: u64, largest: usize, least: f64) {
    let many: u64 = std::env::var("VERACITY_CASES").ok().map_or(2, |many| many.parse().unwrap());
    let mut tally = Tally::default();
    for (number, name) in KINDS.into_iter().enumerate() {
        for adjacency in Adjacency::ALL {
            for index in 0..many {
                let mut dice = Dice::new(seed + number as u64, index);
                let population = 2 + dice.below(largest - 1);
                let sampler = samplers(&mut dice, population);
                tally.ask(name, dice.log_uniform(least, 10.0), sampler, adjacency, population);
            }
        }
    }
    println!("{} answered, {} refused, {} compared", tally.answered, tally.refused, tally.compared);
    assert!(tally.below.is_empty(), "{} below the truth:\n{}", tally.below.len(), tally.below.join("\n"));
    assert!(tally.answered > 0);
}

#[test]
fn poisson_batches_leak_no_more_than_certified() {
    hold(|dice, _| Sampler::Poisson { rate: dice.pick(&[0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 1.0]) }, 1, 6, 0.15);
}

#[test]
fn fixed_size_batches_leak_no_more_than_certified() {
    hold(|dice, population| Sampler::FixedSize { batch: 1 + dice.below(population) }, 101, 6, 0.15);
}

#[test]
fn truncated_batches_leak_no_more_than_certified() {
    let truncated = |dice: &mut Dice, population: usize| Sampler::Truncated {
        rate: dice.pick(&[0.05, 0.3, 0.5, 0.8, 0.95, 1.0]),
        most: 1 + dice.below(population + 1),
    };
    hold(truncated, 201, 6, 0.15);
}

#[test]
fn epochs_of_two_batches_leak_no_more_than_certified() {
    hold(|_, _| Sampler::Allocation, 301, 4, 0.5);
    hold(|_, _| Sampler::Shuffled, 401, 2, 0.5);
}

/// Questions that were once answered below the truth.
#[test]
fn mended_batches_stay_mended() {
    let mut tally = Tally::default();
    for adjacency in Adjacency::ALL {
        tally.ask("gdp", 1.0, Sampler::FixedSize { batch: 1 }, adjacency, 6);
        tally.ask("gdp", 2.0, Sampler::Poisson { rate: 0.1 }, adjacency, 3);
        tally.ask("gdp", 2.0, Sampler::Truncated { rate: 0.1, most: 2 }, adjacency, 4);
        tally.ask("pure", 1.0, Sampler::Poisson { rate: 0.1 }, adjacency, 3);
        tally.ask("randomized-response", 1.0, Sampler::Poisson { rate: 0.5 }, adjacency, 2);
        tally.ask("gaussian", 1.0, Sampler::Truncated { rate: 0.5, most: 1 }, adjacency, 2);
        tally.ask("gaussian", 0.2, Sampler::Truncated { rate: 0.5, most: 1 }, adjacency, 2);
        tally.ask("gaussian", 1.0, Sampler::Truncated { rate: 1.0, most: 2 }, adjacency, 2);
        for batch in [3, 4] {
            tally.ask("gaussian", 1.0, Sampler::FixedSize { batch }, adjacency, 4);
        }
    }
    assert!(tally.below.is_empty(), "{} below the truth:\n{}", tally.below.len(), tally.below.join("\n"));
    assert!(tally.answered > 15 && tally.refused < 12, "{tally:?}");
}

/// Control: the reference refutes Gaussian noise as the worst mechanism that is μ-GDP for replaced records.
#[test]
fn the_reference_refutes_a_bound_of_additive_noise_for_a_declared_one() {
    let (adjacency, sampler) = (Adjacency::ReplaceOne, Sampler::Poisson { rate: 0.1 });
    let additive = Question { mechanism: sampled(sampler, 3, kind("gaussian", 4.0, adjacency).0), adjacency };
    let upper = delta_at(&additive, short::epsilon(1.0), Method::Exact).unwrap().upper().unwrap().0.get();
    let members = kind("gdp", 2.0, adjacency).1;
    let truth = members.iter().map(|member| Worlds::new(member, sampler, adjacency, 3).delta(1.0));
    assert!(truth.fold(0.0, f64::max) > 100.0 * upper, "{upper}");
}
