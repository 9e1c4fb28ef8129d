//! Scratch golden check.
use std::time::Instant;
use veracity_account::*;
use veracity_core::*;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    for file in ["dp_sgd.csv", "few_steps.csv", "laplace.csv", "lattice.csv"] {
        let Ok(text) = std::fs::read_to_string(format!("{dir}/{file}")) else { continue };
        let (mut n, mut bad, mut wide, mut worst, mut slow) = (0, 0, 0, 0.0f64, 0.0f64);
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.starts_with("kind")) {
            let f: Vec<&str> = line.split(',').collect();
            let p = |i: usize| f[i].parse::<f64>().unwrap();
            let nm = |x: f64| NoiseMultiplier::new(x).unwrap();
            let (m, delta, adj, truth) = match f[0] {
                "dp-sgd" => (
                    Mechanism::dp_sgd(
                        SamplingRate::new(p(1)).unwrap(),
                        nm(p(2)),
                        Count::new(p(3) as u64).unwrap(),
                    ),
                    p(4),
                    f[5],
                    p(6),
                ),
                "laplace" => (
                    Mechanism::Laplace { noise_multiplier: nm(p(1)) }
                        .repeated(Count::new(p(2) as u64).unwrap()),
                    p(3),
                    f[4],
                    p(5),
                ),
                "randomized-response" => (
                    Mechanism::RandomizedResponse {
                        buckets: Buckets::new(p(1) as u32).unwrap(),
                        noise: Probability::new(p(2)).unwrap(),
                    }
                    .repeated(Count::new(p(3) as u64).unwrap()),
                    p(4),
                    f[5],
                    p(6),
                ),
                "discrete-laplace" => (
                    Mechanism::DiscreteLaplace {
                        scale: nm(p(1)),
                        sensitivity: Count::new(p(2) as u64).unwrap(),
                    }
                    .repeated(Count::new(p(3) as u64).unwrap()),
                    p(4),
                    f[5],
                    p(6),
                ),
                "discrete-gaussian" => (
                    Mechanism::DiscreteGaussian {
                        sigma: nm(p(1)),
                        sensitivity: Count::new(p(2) as u64).unwrap(),
                    }
                    .repeated(Count::new(p(3) as u64).unwrap()),
                    p(4),
                    f[5],
                    p(6),
                ),
                _ => {
                    println!("skip {line}");
                    continue;
                }
            };
            let q = Question { mechanism: m, adjacency: adj.parse().unwrap() };
            let t0 = Instant::now();
            let r = Profile::new(&q).and_then(|pr| pr.epsilon_at(Delta::new(delta).unwrap()));
            let ms = t0.elapsed().as_secs_f64() * 1e3;
            n += 1;
            slow = slow.max(ms);
            match r {
                Ok(b) => {
                    let (l, u) = (b.lower.0.get(), b.upper.0.get());
                    let w = (u - l) / u.max(1e-300);
                    worst = worst.max(w);
                    let inside = l <= truth * (1.0 + 3e-16) && truth <= u * (1.0 + 3e-16);
                    if !inside {
                        bad += 1;
                        println!("OUT {line} -> {l} {u}");
                    }
                    if w > 1e-6 {
                        wide += 1;
                        println!("WIDE {w:.1e} {ms:.1}ms {}", f[..f.len().min(7)].join(","));
                    } else if ms > 20.0 {
                        println!("slow {w:.1e} {ms:.1}ms {}", f[..f.len().min(7)].join(","));
                    }
                }
                Err(e) => {
                    bad += 1;
                    println!("ERR {} {e}", f[..7.min(f.len())].join(","));
                }
            }
        }
        println!("{file}: {n} rows, {bad} bad, {wide} wide, worst width {worst:.1e}, slowest {slow:.1} ms");
    }
}
