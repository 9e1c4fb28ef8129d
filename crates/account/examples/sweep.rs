//! Scratch sweep.
use std::time::Instant;
use veracity_account::*;
use veracity_core::*;
fn main() {
    let mut x: u64 = std::env::args().nth(1).map_or(1, |s| s.parse().unwrap());
    let n: usize = std::env::args().nth(2).map_or(500, |s| s.parse().unwrap());
    let mut rnd = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 11) as f64 / (1u64 << 53) as f64
    };
    let (mut total, mut wide, mut err) = (0, 0, 0);
    let mut times = Vec::new();
    while total < n {
        let q = 10f64.powf(-6.0 * rnd());
        let s = 0.3 * (50.0f64 / 0.3).powf(rnd());
        let t = 10f64.powf(7.0 * rnd()).round() as u64;
        let d = 10f64.powf(-3.0 - 12.0 * rnd());
        let adj = if rnd() < 0.15 { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
        let m = Mechanism::dp_sgd(
            SamplingRate::new(q).unwrap(),
            NoiseMultiplier::new(s).unwrap(),
            Count::new(t).unwrap(),
        );
        let question = Question { mechanism: m, adjacency: adj };
        let t0 = Instant::now();
        let r = Profile::new(&question).unwrap().epsilon_at(Delta::new(d).unwrap());
        let ms = t0.elapsed().as_secs_f64() * 1e3;
        match r {
            Ok(b) => {
                let (l, u) = (b.lower.0.get(), b.upper.0.get());
                if u < 0.001 || l > 300.0 {
                    continue;
                }
                total += 1;
                times.push(ms);
                if (u - l) / u > 1e-6 {
                    wide += 1;
                    println!(
                        "WIDE {:.1e} q={q:.3e} s={s:.3} t={t} d={d:.1e} {adj} eps {u:.4} {ms:.1}ms",
                        (u - l) / u
                    );
                } else if ms > 60.0 {
                    println!("slow {ms:.0} q={q:.3e} s={s:.3} t={t} d={d:.1e} {adj} eps {u:.4}");
                }
            }
            Err(e) => {
                total += 1;
                err += 1;
                println!("ERR q={q:.3e} s={s:.3} t={t} d={d:.1e} {adj} {e} {ms:.0}ms");
            }
        }
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{total} cases, {wide} wide, {err} errors; ms median {:.2} 90% {:.2} 99% {:.2} max {:.1}",
        times[times.len() / 2],
        times[times.len() * 9 / 10],
        times[times.len() * 99 / 100],
        times[times.len() - 1]
    );
}
