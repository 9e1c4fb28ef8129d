//! temporary
use std::time::Instant;
use veracity_account::*;
use veracity_core::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let f = |i: usize| a[i].parse::<f64>().unwrap();
    let m = Mechanism::dp_sgd(SamplingRate::new(f(1)).unwrap(), NoiseMultiplier::new(f(2)).unwrap(), Count::new(f(3) as u64).unwrap());
    let q = Question { mechanism: m, adjacency: Adjacency::AddRemove };
    let t = Instant::now();
    let p = Profile::new(&q).unwrap();
    let far = p.epsilon_at(Delta::new(1e-10).unwrap()).unwrap().upper.0.get();
    println!("far {far} {:?}", t.elapsed());
    let mut w: f64 = 0.0;
    for i in 0..=200 { 
        let t1 = Instant::now();
        let e = far * (std::f64::consts::FRAC_PI_2 * i as f64 / 200.0).sin();
        let r = p.delta_at(Epsilon::new(e).unwrap());
        if let Ok(b) = r { let x = (b.upper.0.get()-b.lower.0.get())/b.upper.0.get(); w = w.max(x); if t1.elapsed().as_millis() > 3 || x > 1e-5 { println!("{i} {e} {x:e} {:?}", t1.elapsed()); } } else { println!("{i} {r:?}"); }
    }
    println!("{:?} worst width {w:e}", t.elapsed());
}
