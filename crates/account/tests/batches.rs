//! Ways to draw batches, against slow twins and published figures.
#![allow(clippy::unwrap_used)]

use veracity_account::{Method, Question, delta_at, epsilon_at};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier};

fn count(n: u64) -> Count {
    Count::new(n).unwrap()
}

fn gaussian(sigma: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(sigma).unwrap() }
}

/// Certified ε from both sides.
fn epsilons(mechanism: Mechanism, adjacency: Adjacency, delta: f64, method: Method) -> (f64, f64) {
    let question = Question { mechanism, adjacency };
    let found = epsilon_at(&question, Delta::new(delta).unwrap(), method).unwrap();
    (found.lower().map_or(0.0, |x| x.0.get()), found.upper().unwrap().0.get())
}

/// Certified δ from both sides.
fn deltas(mechanism: Mechanism, adjacency: Adjacency, epsilon: f64, method: Method) -> (f64, f64) {
    let question = Question { mechanism, adjacency };
    let found = delta_at(&question, Epsilon::new(epsilon).unwrap(), method).unwrap();
    (found.lower().map_or(0.0, |x| x.0.get()), found.upper().unwrap().0.get())
}

fn allocated(batches: u64, sigma: f64, epochs: u64) -> Mechanism {
    let epoch = Mechanism::RandomAllocation { batches: count(batches), mechanism: Box::new(gaussian(sigma)) };
    epoch.repeated(count(epochs))
}

#[test]
fn published_figure_of_random_allocation() {
    let start = std::time::Instant::now();
    let found = epsilons(allocated(234, 1.0, 1), Adjacency::AddRemove, 1e-5, Method::Pld);
    println!("{found:?} {:e} {:?}", found.1 / found.0 - 1.0, start.elapsed());
    let start = std::time::Instant::now();
    let found = epsilons(allocated(234, 1.0, 10), Adjacency::AddRemove, 1e-5, Method::Pld);
    println!("{found:?} {:e} {:?}", found.1 / found.0 - 1.0, start.elapsed());
    for (t, s, d) in [(2, 1.0, 1e-5), (1000, 0.5, 1e-6), (234, 0.3, 1e-5), (100_000, 1.0, 1e-8), (50, 5.0, 1e-12), (20, 0.1,1e-5), (1000000,0.6,1e-10)] {
        let start = std::time::Instant::now();
        let found = epsilons(allocated(t, s, 1), Adjacency::AddRemove, d, Method::Pld);
        println!("{t} {s} {d} {found:?} {:e} {:?}", found.1 / found.0 - 1.0, start.elapsed());
        let start = std::time::Instant::now();
        let found = epsilons(allocated(t, s, 20), Adjacency::AddRemove, d, Method::Pld);
        println!(" x20 {t} {s} {d} {found:?} {:e} {:?}", found.1 / found.0 - 1.0, start.elapsed());
    }
    let _ = deltas;
}
