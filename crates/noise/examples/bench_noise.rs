//! Draws per second on one core, one JSON object a line; `cargo xtask bench noise` puts them beside the peers'.

use std::hint::black_box;
use std::time::Instant;
use veracity_noise::{Entropy, Key, Purpose, Ratio, Stream, exact, vector};

fn main() {
    let entropy = Entropy::system().expect("a system with entropy");
    let mut stream = entropy.stream(Purpose::Noise, Key::default());
    for scale in [10, 1_000_000] {
        let ratio = Ratio::new(scale, 1).expect("a small whole number");
        say(&format!("discrete Laplace, scale {scale}"), 100_000, &mut stream, |stream| {
            for _ in 0..100_000 {
                black_box(exact::discrete_laplace(ratio, stream));
            }
        });
        say(&format!("discrete Gaussian, sigma {scale}"), 100_000, &mut stream, |stream| {
            for _ in 0..100_000 {
                black_box(exact::discrete_gaussian(ratio, stream));
            }
        });
    }
    // A stream of their own, as training has one for each step: after single draws, words are made another way.
    let mut stream = entropy.stream(Purpose::Noise, Key { step: 1, ..Key::default() });
    let mut normals = vec![0; 1 << 16];
    let mut bytes = vec![0; 4 << 16];
    say("keystream words", 1 << 16, &mut stream, |stream| stream.fill(black_box(&mut bytes)));
    say("vector Gaussians", 1 << 16, &mut stream, |stream| vector::fill(black_box(&mut normals), stream));
}

/// Runs `work`, which draws `count` times, for a second, and prints the speed of its fastest run.
fn say(task: &str, count: u32, stream: &mut Stream, mut work: impl FnMut(&mut Stream)) {
    let begun = Instant::now();
    let mut best = f64::INFINITY;
    while begun.elapsed().as_secs_f64() < 1.0 {
        let start = Instant::now();
        work(stream);
        best = best.min(start.elapsed().as_secs_f64());
    }
    let speed = f64::from(count) / best;
    println!(r#"{{"task": "{task}", "tool": "veracity", "per_second": {speed:.0}}}"#);
}
