//! The largest move of a clipped sum by adversarial batches, next to the bound of the proof, for every layer and batch size.

#![allow(clippy::unwrap_used)]

#[path = "../tests/hostile/mod.rs"]
mod hostile;

use hostile::{CLIP, CRAFTS, NOISE, farthest, flat, poisson, settings};
use veracity_core::{ClipNorm, NoiseMultiplier};
use veracity_train::CalibratedNoise;

fn main() {
    println!(
        "| network | batch size | largest move ÷ clip norm | batch type | gradients are clipped to | reserve for float rounding |"
    );
    println!("|---|---|---|---|---|---|");
    for setting in settings() {
        for records in [1, 64, 128, 600, 2048, 4096, 65_536, 262_144] {
            if records > setting.most {
                continue;
            }
            let plan = setting.plan(records, flat(), poisson);
            let crafts = CRAFTS.into_iter().map(|craft| {
                let used = (0..3).map(|seed| farthest(&plan, &setting.data(craft, records, seed)));
                (used.fold(0.0, f64::max), craft)
            });
            let (used, craft) = crafts.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            let (noise, clip) = (NoiseMultiplier::new(NOISE).unwrap(), ClipNorm::new(CLIP).unwrap());
            let law =
                CalibratedNoise::gaussian(noise, clip, plan.network.parameters(), plan.rounding()).unwrap();
            println!(
                "| {} | {records} | {used:.6} | {craft:?} | {:.6} | {:.6} |",
                setting.name,
                law.clip_limit(),
                plan.rounding().relative()
            );
        }
    }
}
