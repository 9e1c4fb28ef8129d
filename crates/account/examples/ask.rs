//! temporary
use std::time::Instant;
use veracity_account::{Method, Question, epsilon_at};
use veracity_core::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let f = |i: usize| a[i].parse::<f64>().unwrap();
    let m = Mechanism::dp_sgd(SamplingRate::new(f(1)).unwrap(), NoiseMultiplier::new(f(2)).unwrap(), Count::new(f(3) as u64).unwrap());
    let q = Question { mechanism: m, adjacency: if a.len() > 5 { Adjacency::ReplaceOne } else { Adjacency::AddRemove } };
    let t = Instant::now();
    let r = epsilon_at(&q, Delta::new(f(4)).unwrap(), if std::env::var("PLD").is_ok() { Method::Pld } else { Method::Exact });
    println!("{:?} {:?}", r.map(|r| (r.lower().unwrap().0.get(), r.upper().unwrap().0.get())), t.elapsed());
}
