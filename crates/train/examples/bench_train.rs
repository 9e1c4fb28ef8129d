//! Speeds, one JSON object a line; `cargo xtask bench train` puts them beside the peers'.

use std::time::Instant;
use veracity_core::{ClipNorm, Count, NoiseMultiplier};
use veracity_noise::Entropy;
use veracity_train::*;

fn main() {
    let bytes = include_bytes!("../data/digits.bin");
    let rows = bytes.chunks_exact(65);
    let features = rows.clone().flat_map(|row| row[1..].iter().map(|x| f32::from(*x) / 16.0)).collect();
    let labels = Labels::Classes { of: rows.map(|row| u32::from(row[0])).collect(), classes: 10 };
    let digits = Dataset::new(features, 64, labels).unwrap();
    let n = |x| Count::new(x).unwrap();
    let plan = |network, batch, population, steps, private| Plan {
        network,
        loss: Loss::SoftmaxCrossEntropy,
        sampling: Sampling::Poisson { batch: n(batch), population: n(population) },
        steps: n(steps),
        privacy: if private {
            Privacy::Gaussian {
                noise: NoiseMultiplier::new(1.0).unwrap(),
                clip: ClipNorm::new(1.0).unwrap(),
                clipping: Clipping::Flat,
            }
        } else {
            Privacy::None
        },
        optimiser: Optimiser::Sgd { momentum: 0.0 },
        schedule: Schedule::Constant { rate: 1.0 },
        weight_decay: 0.0,
        averaging: Averaging::None,
        views: None,
    };
    let entropy = Entropy::seeded(1);
    let lr = || Network::new(Shape::Flat(64), vec![Layer::Linear { outputs: 10 }]).unwrap();
    for private in [false, true] {
        let p = plan(lr(), 64, 1797, 100, private);
        let t = Instant::now();
        let models = cohort::train(&p, &digits, &entropy, 0, 0..1000).unwrap();
        let took = t.elapsed().as_secs_f64();
        let out = cohort::predict(&p.network, &models[0].parameters, &digits).unwrap();
        let right = out
            .chunks(10)
            .enumerate()
            .filter(|(i, o)| {
                let best = (0..10).max_by(|a, b| o[*a].total_cmp(&o[*b])).unwrap();
                matches!(digits.labels(), Labels::Classes { of, .. } if of[*i] as usize == best)
            })
            .count();
        println!(
            "cohort lr private {private}: {:.0} trainings/s, accuracy {:.3}",
            1000.0 / took,
            right as f64 / 1797.0
        );
    }
    let count = 10_000;
    let features: Vec<f32> =
        (0..count * 784).map(|i| ((i * 2654435761usize) >> 16 & 255) as f32 / 255.0).collect();
    let mnist = Dataset::new(
        features,
        784,
        Labels::Classes { of: (0..count as u32).map(|i| i % 10).collect(), classes: 10 },
    )
    .unwrap();
    for batch in [64u64, 256, 2048] {
        for private in [false, true] {
            let net = Network::new(
                Shape::Flat(784),
                vec![Layer::Linear { outputs: 256 }, Layer::Relu, Layer::Linear { outputs: 10 }],
            )
            .unwrap();
            let steps = 40_000 / batch;
            let p = plan(net, batch, count as u64, steps, private);
            let t = Instant::now();
            cohort::train(&p, &mnist, &entropy, 0, 0..1).unwrap();
            println!(
                "mlp batch {batch} private {private}: {:.0} examples/s",
                (steps * batch) as f64 / t.elapsed().as_secs_f64()
            );
        }
    }
}
