//! The arithmetic of a device, on the CPU: it trains as the CPU does, within the tolerance that devices state. Whether a device has it
//! to the bit is for `gpu check`, on a machine with one.

use veracity_core::ClipNorm;
use veracity_noise::Entropy;
use veracity_testkit::short::{self, count};
use veracity_train::{
    CraftedGradient, Dataset, Initial, Layer, Loss, Network, Optimiser, Plan, Privacy, Sampling, Schedule,
    Shape, World,
    device::{Cpu, Device, Likelihoods, Reading, Trainings, Worlds},
    integer::IntegerReference,
};

fn greys(records: usize, width: usize, classes: u32) -> Dataset {
    let level = |i: usize| ((i as u64).wrapping_mul(2_654_435_761) >> 16 & 255) as f32 / 255.0;
    let labels = (0..records as u32).map(|i| i * 7 % classes).collect();
    Dataset::of_classes((0..records * width).map(level).collect(), width, labels, classes as usize)
        .unwrap()
        .packed()
}

fn waves(records: usize, width: usize) -> Vec<f32> {
    (0..records * width).map(|i| (i as f32 * 0.7311).sin() * (1.0 + (i % 7) as f32)).collect()
}

fn plan(data: &Dataset, hidden: usize, outputs: usize, loss: Loss, momentum: f32) -> Plan {
    let mut layers = vec![Layer::Linear { outputs }];
    if hidden > 0 {
        layers.splice(..0, [Layer::Linear { outputs: hidden }, Layer::Relu]);
    }
    let network = Network::new(Shape::Flat(data.width()), layers).unwrap();
    let sampling = Sampling::Poisson { batch: count(24), population: count(data.len() as u64) };
    let privacy = Privacy::gaussian(short::noise(1.0), ClipNorm::new(1.0).unwrap());
    Plan::new(network, loss, sampling, count(12), privacy)
        .with_optimiser(Optimiser::Sgd { momentum })
        .with_schedule(Schedule::Constant { rate: 0.1 })
}

/// Models by the reference and by the CPU: the largest distance, over the larger of 1 and the number.
fn farthest(plan: &Plan, worlds: &[World<'_>], read: Reading<'_>) -> f64 {
    let entropy = Entropy::seeded(5);
    let trials: Vec<u64> = (0..worlds.len() as u64).collect();
    let asked = Trainings { plan, worlds, trials: &trials, run: 2, entropy: &entropy, read };
    let (twin, cpu) = (IntegerReference.train(&asked).unwrap().concat(), Cpu.train(&asked).unwrap().concat());
    assert!(twin.len() == cpu.len() && !cpu.is_empty());
    let off = |(a, b): (&f32, &f32)| f64::from((a - b).abs()) / f64::from(b.abs()).max(1.0);
    twin.iter().zip(&cpu).map(off).fold(0.0, f64::max)
}

#[test]
fn the_twin_trains_every_kind_as_the_cpu_does() {
    let softmax = Loss::SoftmaxCrossEntropy;
    let (small, few, wide) = (greys(300, 64, 10), greys(300, 64, 3), greys(200, 200, 16));
    let numbers = Dataset::of_classes(waves(250, 40), 40, (0..250).map(|i| i % 4).collect(), 4).unwrap();
    let values = (0..250).map(|i| (i as f32 * 0.37).cos()).collect();
    let values = Dataset::of_values(waves(250, 30), 30, values).unwrap();
    let two = Dataset::of_classes(waves(250, 70), 70, (0..250).map(|i| i % 2).collect(), 2).unwrap();
    let shuffled = Sampling::Shuffled { batch: count(32), population: count(300) };
    let kinds = [
        ("ten outputs", &small, plan(&small, 0, 10, softmax, 0.0)),
        ("momentum", &small, plan(&small, 0, 10, softmax, 0.9)),
        ("decay", &small, Plan { weight_decay: 0.01, ..plan(&small, 0, 10, softmax, 0.5) }),
        ("shuffled", &small, Plan { sampling: shuffled, ..plan(&small, 0, 10, softmax, 0.0) }),
        (
            "given weights",
            &small,
            Plan { initial: Initial::At(vec![0.01; 650]), ..plan(&small, 0, 10, softmax, 0.0) },
        ),
        ("three outputs", &few, plan(&few, 0, 3, softmax, 0.0)),
        ("sixteen outputs", &wide, plan(&wide, 0, 16, softmax, 0.0)),
        ("numbers", &numbers, plan(&numbers, 0, 4, softmax, 0.0)),
        ("squared", &values, plan(&values, 0, 1, Loss::Squared, 0.0)),
        ("logistic", &two, plan(&two, 0, 1, Loss::Logistic, 0.0)),
        ("units", &small, plan(&small, 20, 10, softmax, 0.0)),
        ("units of numbers", &numbers, plan(&numbers, 33, 4, softmax, 0.5)),
    ];
    for (name, data, plan) in kinds {
        let worlds = vec![World::from(data); 6];
        let has_units = name.starts_with("units");
        let off = farthest(&plan, &worlds, Reading::Parameters);
        // A unit may be on the other side of zero.
        assert!(off < if has_units { 0.05 } else { 2e-5 }, "{name}: {off:e}");
    }
}

#[test]
fn the_twin_reads_every_world_as_the_cpu_does() {
    let data = greys(300, 64, 10);
    let (inside, outside) = (greys(20, 64, 10), greys(21, 64, 10));
    let outside =
        Dataset::of_classes((0..20).flat_map(|at| outside.row(at).to_vec()).collect(), 64, vec![3; 20], 10)
            .unwrap();
    let plan = plan(&data, 0, 10, Loss::SoftmaxCrossEntropy, 0.0);
    let crafted =
        [CraftedGradient::dirac(3, 1.0).unwrap(), CraftedGradient::new(vec![(0, 0.5), (649, -0.9)]).unwrap()];
    let choices: Vec<Vec<bool>> =
        (0..6).map(|t| (0..20).map(|i| (t * 3 + i * 5) % 4 < 2).collect()).collect();
    let stand: Vec<Vec<Option<&CraftedGradient>>> = (0..6)
        .map(|t| (0..5).map(|i| [None, Some(&crafted[0]), Some(&crafted[1])][(t + i) % 3]).collect())
        .collect();
    let direction: Vec<f32> = (0..650).map(|i| (i as f32).sin() * 0.05).collect();
    for outside in [None, Some(&outside)] {
        let worlds: Vec<World<'_>> = (0..6)
            .map(|t| {
                let world =
                    World::from(&data).planting(&choices[t], &inside, outside).unwrap().crafting(&stand[t]);
                if t % 2 == 0 { world.without(t).unwrap() } else { world }
            })
            .collect();
        let sums = Reading::Sums { parameters: &[0, 3, 649], directions: &[&direction] };
        for read in [sums, Reading::Outputs(&inside)] {
            let off = farthest(&plan, &worlds, read);
            assert!(off < 1e-4, "{off:e}");
        }
    }
}

/// What an attacker who sees every step adds up, by the definition and the standard library's exponential.
fn by_definition(read: &[f32], attack: &Likelihoods<'_>, canary: usize, steps: usize) -> f64 {
    let (count, width) = (attack.parameters.len(), attack.parameters.len() + attack.directions.len());
    let of_step = |step: usize| {
        let stretch = step * attack.stretches as usize / steps;
        let off =
            |at: usize| f64::from(read[step * width + at]) - f64::from(attack.expected[stretch * width + at]);
        let theirs: f64 =
            (count..width).map(|at| attack.taken[(at - count) * count + canary] * off(at)).sum();
        let (scale, inverse) = attack.places[canary];
        let seen = (off(canary) - theirs) * scale;
        let ratio = |seen: f64| -> f64 {
            let of = |(b, chance): (usize, &f64)| {
                let b = b as f64;
                chance * ((2.0 * b * seen - b * b) * 0.5 * inverse).exp()
            };
            attack.chances.iter().enumerate().map(of).sum()
        };
        match attack.worlds {
            Worlds::Mixed => ratio(seen).ln(),
            Worlds::Opposed => ratio(seen).ln() - ratio(-seen).ln(),
            Worlds::Apart { shift } => (seen - shift) * inverse,
        }
    };
    (0..steps).map(of_step).sum()
}

#[test]
fn scores_are_the_likelihood_ratios_of_what_is_read() {
    let data = greys(300, 64, 10);
    let plan = plan(&data, 0, 10, Loss::SoftmaxCrossEntropy, 0.0);
    let along: Vec<f32> = (0..650).map(|i| (i as f32).sin() * 0.05).collect();
    let (parameters, directions) = ([3u32, 640, 11], [along.as_slice()]);
    let expected: Vec<f32> = (0..5 * 4).map(|i| (i as f32).cos()).collect();
    let entropy = Entropy::seeded(5);
    let (worlds, trials) = (vec![World::from(&data); 4], [0, 1, 2, 3]);
    for worlds_of in [Worlds::Mixed, Worlds::Opposed, Worlds::Apart { shift: 0.2 }] {
        let attack = Likelihoods {
            parameters: &parameters,
            directions: &directions,
            expected: &expected,
            stretches: 5,
            taken: &[0.1, -0.2, 0.0],
            places: &[(1.0, 1.0), (1.1, 0.6), (0.4, 300.0)],
            chances: &[0.81, 0.18, 0.01],
            worlds: worlds_of,
        };
        let asked = |read| Trainings {
            plan: &plan,
            worlds: &worlds,
            trials: &trials,
            run: 2,
            entropy: &entropy,
            read,
        };
        let devices: [&dyn Device; 2] = [&Cpu, &IntegerReference];
        for device in devices {
            let scores = device.train(&asked(Reading::Scores(&attack))).unwrap();
            let sums = Reading::Sums { parameters: &parameters, directions: &directions };
            let sums = device.train(&asked(sums)).unwrap();
            for (scores, sums) in scores.iter().zip(&sums) {
                for canary in 0..3 {
                    let truth = by_definition(sums, &attack, canary, 12);
                    let score = f64::from(scores[2 * canary]) + f64::from(scores[2 * canary + 1]);
                    assert!((score - truth).abs() <= 1e-11 * truth.abs().max(1.0), "{score} is not {truth}");
                }
            }
        }
    }
    // Numbers that do not belong together are refused.
    let wrong = Likelihoods {
        parameters: &parameters,
        directions: &directions,
        expected: &expected[1..],
        stretches: 5,
        taken: &[0.1, -0.2, 0.0],
        places: &[(1.0, 1.0); 3],
        chances: &[1.0],
        worlds: Worlds::Mixed,
    };
    let asked = Trainings {
        plan: &plan,
        worlds: &worlds,
        trials: &trials,
        run: 2,
        entropy: &entropy,
        read: Reading::Scores(&wrong),
    };
    assert!(Cpu.train(&asked).is_err());
}
