//! How many normals a second one core makes, beside the bytes they are made of.

use std::hint::black_box;
use std::time::Instant;
use veracity_noise::{Entropy, Key, Purpose, vector};

const LENGTH: usize = 1 << 17;
const ROUNDS: usize = 200;

/// Seconds of the fastest of several rounds.
fn best(mut work: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(timed).fold(f64::MAX, f64::min)
}

fn main() {
    let mut stream = Entropy::seeded(1).stream(Purpose::Noise, Key::default());
    let grid = vector::Grid::new(1.3).expect("1.3 is positive and finite");
    let mut bytes = vec![0u8; 4 * LENGTH];
    let mut normals = vec![0i32; LENGTH];
    let mut values = vec![0f32; LENGTH];
    let keystream = best(|| bytes.chunks_mut(4096).for_each(|piece| stream.fill(black_box(piece))));
    let fill = best(|| vector::fill(black_box(&mut normals), &mut stream));
    let add = best(|| grid.add_noise(black_box(&mut values), &mut stream));
    let millions = |seconds: f64| 1e-6 * LENGTH as f64 / seconds;
    println!("keystream  {:4.0} M words/s ({:.2} GB/s)", millions(keystream), 4e-3 * millions(keystream));
    println!(
        "fill       {:4.0} M normals/s, {:.0}% of it keystream",
        millions(fill),
        100.0 * keystream / fill
    );
    println!("add_noise  {:4.0} M values/s", millions(add));
}
