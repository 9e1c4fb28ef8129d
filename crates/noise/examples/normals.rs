//! How many normals a second one core makes, beside the bytes they are made of.

use std::hint::black_box;
use std::time::Instant;
use veracity_noise::{Entropy, Key, Purpose, vector};

const LENGTH: usize = 1 << 20;
const ROUNDS: usize = 40;

fn main() {
    let mut stream = Entropy::seeded(1).stream(Purpose::Noise, Key::default());
    let mut bytes = vec![0u8; 4 * LENGTH];
    let mut normals = vec![0i32; LENGTH];
    let mut floor = f64::MAX;
    let mut whole = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for piece in bytes.chunks_mut(4096) {
            stream.fill(black_box(piece));
        }
        floor = floor.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        vector::fill(black_box(&mut normals), &mut stream);
        whole = whole.min(start.elapsed().as_secs_f64());
    }
    let count = LENGTH as f64;
    println!("keystream: {:.2} GB/s, enough for {:.0} M normals/s", 4e-9 * count / floor, 1e-6 * count / floor);
    println!("normals:   {:.0} M/s, {:.0}% of the time in the keystream", 1e-6 * count / whole, 100.0 * floor / whole);
}
