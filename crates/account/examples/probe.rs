//! Scratch probe.
use std::time::Instant;
use veracity_account::*;
use veracity_core::*;
fn main() {
    let a: Vec<f64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let run = |q: f64, s: f64, t: u64, d: f64, truth: f64| {
        let m = Mechanism::dp_sgd(
            SamplingRate::new(q).unwrap(),
            NoiseMultiplier::new(s).unwrap(),
            Count::new(t).unwrap(),
        );
        let question = Question { mechanism: m, adjacency: Adjacency::AddRemove };
        let t0 = Instant::now();
        let r = Profile::new(&question).unwrap().epsilon_at(Delta::new(d).unwrap());
        let t1 = t0.elapsed();
        let r2 = Profile::new(&question).unwrap().epsilon_at(Delta::new(d).unwrap());
        let t2 = t0.elapsed() - t1;
        let _ = r2;
        match r {
            Ok(b) => {
                let (l, u) = (b.lower.0.get(), b.upper.0.get());
                println!(
                    "q={q} s={s} t={t} d={d} {l:.13} {u:.13} width {:.1e} {:?} {:?} {}",
                    (u - l) / u,
                    t1,
                    t2,
                    if truth > 0.0 {
                        if l <= truth * (1.0 + 1e-12) && truth <= u * (1.0 + 1e-12) { "in" } else { "OUT" }
                    } else {
                        ""
                    }
                );
            }
            Err(e) => println!("q={q} s={s} t={t} d={d}: {e} {t1:?}"),
        }
    };
    if a.len() == 4 {
        run(a[0], a[1], a[2] as u64, a[3], 0.0);
        return;
    }
    let q = 256.0 / 60000.0;
    run(q, 1.0, 600, 1e-5, 0.577329032741);
    run(q, 1.0, 3500, 1e-5, 1.348227955741);
    run(q, 1.0, 14000, 1e-5, 2.815723148295);
    run(q, 1.1, 14000, 1e-5, 2.375837626994);
    run(0.01, 0.6, 1000, 1e-5, 0.0);
    run(0.0128, 2.5, 72000, 1e-6, 0.0);
    run(1e-5, 1.0, 1000000, 1e-6, 0.0);
    run(1e-5, 0.5, 1000000, 1e-6, 0.0);
    run(1e-3, 1.0, 10000, 1e-15, 1.8349);
    run(0.1, 0.5, 1000, 1e-5, 0.0);
    run(1e-6, 0.3, 1000000, 1e-6, 0.0);
    run(0.01, 0.3, 100, 1e-5, 0.0);
    run(0.1, 0.3, 10, 1e-5, 0.0);
    run(0.1, 0.3, 2, 1e-5, 0.0);
    run(0.001, 0.3, 5, 1e-5, 0.0);
    run(0.01, 1.0, 3, 1e-5, 0.0);
    run(0.01, 50.0, 3, 1e-9, 0.0);
    run(0.7, 5.0, 30, 1e-9, 0.0);
    run(1e-6, 50.0, 10000000, 1e-5, 0.0);
    run(1e-4, 0.8, 10000000, 1e-9, 0.0);
}
