use super::*;
use veracity_core::{Adjacency, Buckets, Count, Mechanism, NoiseMultiplier, Probability, SamplingRate};

fn ask(mechanism: Mechanism, adjacency: Adjacency, delta: f64) -> (f64, f64) {
    let question = Question { mechanism, adjacency };
    let start = std::time::Instant::now();
    let found = epsilon_at(&question, Delta::new(delta).unwrap()).unwrap();
    let (low, high) = (found.lower().map_or(0.0, |l| l.0.get()), found.upper().unwrap().0.get());
    println!("{low} {high} gap {:e} {:?}", (high - low) / high, start.elapsed());
    (low, high)
}

fn noise(x: f64) -> NoiseMultiplier {
    NoiseMultiplier::new(x).unwrap()
}

fn count(n: u64) -> Count {
    Count::new(n).unwrap()
}

#[test]
fn anchors_lie_inside() {
    let g = Mechanism::Gaussian { noise_multiplier: noise(20.0) };
    ask(g.repeated(count(1000)), Adjacency::AddRemove, 1e-12);
    println!("11.992091");
    let l = Mechanism::Laplace { noise_multiplier: noise(10.0) };
    ask(l.repeated(count(100)), Adjacency::AddRemove, 1e-5);
    println!("4.220334082582");
    let rr = Mechanism::RandomizedResponse {
        buckets: Buckets::new(2).unwrap(),
        noise: Probability::new(0.5).unwrap(),
    };
    ask(rr.repeated(count(50)), Adjacency::ReplaceOne, 1e-5);
    println!("50.522627148");
    let rate = SamplingRate::new(256.0 / 60000.0).unwrap();
    ask(Mechanism::dp_sgd(rate, noise(1.0), count(600)), Adjacency::AddRemove, 1e-5);
    println!("0.577329032741");
    ask(Mechanism::dp_sgd(rate, noise(1.0), count(14000)), Adjacency::AddRemove, 1e-5);
    println!("2.815723148295");
}
