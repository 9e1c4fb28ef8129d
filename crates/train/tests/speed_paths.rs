//! The fast paths against the obvious: gradients one by one, clipped one by one, added one by one; and bits that do not
//! depend on threads, on cohorts or on what a silenced record held.

use rayon::ThreadPoolBuilder;
use veracity_core::{Adjacency, ClipNorm};
use veracity_noise::{Entropy, Purpose};
use veracity_testkit::short;
use veracity_train::{
    CalibratedNoise, Clipping, Dataset, Draws, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy, Run,
    Sampling, Schedule, Shape, cohort,
};

const CLASSES: usize = 10;
const CLIP: f64 = 0.7;
/// The least noise for each record that leaves sums of all of them on the grid; it moves means by some 3e-6 at the most.
const QUIET: f64 = 1e-6;

fn network(sizes: &[usize]) -> Network {
    let mut layers = Vec::new();
    for outputs in &sizes[1..] {
        layers.extend([Layer::Relu, Layer::Linear { outputs: *outputs }]);
    }
    Network::new(Shape::Flat(sizes[0]), layers.split_off(1)).unwrap()
}

fn plan(sizes: &[usize], batch: usize, population: usize, steps: u64, noise: f64, rate: f32) -> Plan {
    let count = |x: usize| short::count(x as u64);
    Plan::new(
        network(sizes),
        Loss::SoftmaxCrossEntropy,
        Sampling::Poisson { batch: count(batch), population: count(population) },
        short::count(steps),
        Privacy::Gaussian {
            noise: short::noise(noise),
            clip: ClipNorm::new(CLIP).unwrap(),
            clipping: Clipping::Flat,
        },
    )
    .with_optimiser(Optimiser::Sgd { momentum: 0.0 })
    .with_schedule(Schedule::Constant { rate })
}

fn features(rows: usize, width: usize) -> Vec<f32> {
    (0..rows * width).map(|i| (i.wrapping_mul(2_654_435_761) >> 16 & 255) as f32 / 255.0).collect()
}

fn dataset(features: Vec<f32>, width: usize) -> Dataset {
    let of = (0..(features.len() / width) as u32).map(|i| i * 7 % 10).collect();
    Dataset::new(features, width, Labels::Classes { of, classes: CLASSES }).unwrap()
}

/// One example's gradient in double precision, layer by layer as they are laid out: weights output by output, then biases.
fn gradient_of_one(sizes: &[usize], parameters: &[f32], row: &[f32], class: usize) -> Vec<f64> {
    let mut values: Vec<Vec<f64>> = vec![row.iter().map(|x| f64::from(*x)).collect()];
    let mut starts = vec![0];
    for (at, pair) in sizes.windows(2).enumerate() {
        let (inputs, outputs, start) = (pair[0], pair[1], starts[at]);
        let output = (0..outputs).map(|j| {
            let weights = &parameters[start + j * inputs..][..inputs];
            let sum: f64 = weights.iter().zip(&values[at]).map(|(w, x)| f64::from(*w) * x).sum();
            sum + f64::from(parameters[start + inputs * outputs + j])
        });
        let last = at + 2 == sizes.len();
        let output = output.map(|y| if last { y } else { y.max(0.0) }).collect();
        values.push(output);
        starts.push(start + inputs * outputs + outputs);
    }
    let logits = &values[sizes.len() - 1];
    let total: f64 = logits.iter().map(|y| y.exp()).sum();
    let mut down: Vec<f64> = logits.iter().map(|y| y.exp() / total).collect();
    down[class] -= 1.0;
    let mut gradient = vec![0.0; parameters.len()];
    for (at, pair) in sizes.windows(2).enumerate().rev() {
        let (inputs, outputs, start) = (pair[0], pair[1], starts[at]);
        let mut below = vec![0.0; inputs];
        for j in 0..outputs {
            gradient[start + inputs * outputs + j] = down[j];
            for k in 0..inputs {
                gradient[start + j * inputs + k] = down[j] * values[at][k];
                below[k] += down[j] * f64::from(parameters[start + j * inputs + k]);
            }
        }
        for (below, value) in below.iter_mut().zip(&values[at]) {
            *below = if *value > 0.0 { *below } else { 0.0 };
        }
        down = below;
    }
    gradient
}

/// The clipped sum of all records but those left out.
fn slow_sum(sizes: &[usize], parameters: &[f32], data: &Dataset, clip: f64, without: &[usize]) -> Vec<f64> {
    let Labels::Classes { of, .. } = data.labels() else { unreachable!("made so above") };
    let mut sum = vec![0.0; parameters.len()];
    for record in (0..data.len()).filter(|record| !without.contains(record)) {
        let gradient = gradient_of_one(sizes, parameters, data.row(record), of[record] as usize);
        let norm = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
        let factor = (clip / norm).min(1.0);
        sum.iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += factor * g);
    }
    sum
}

/// What one quiet full-batch step at rate 1 took away, times the batch: the clipped sum. And the parameters it began with.
fn fast_sum(sizes: &[usize], data: &Dataset) -> (Vec<f32>, Vec<f64>, f64) {
    let rows = data.len();
    let quiet = QUIET * rows as f64;
    let plan = plan(sizes, rows, rows, 1, quiet, 1.0);
    let entropy = Entropy::seeded(3);
    let begun = plan.network.initialise(&mut entropy.family(Purpose::Init, 0, 5).stream(0));
    let after = cohort::train(&plan, data, &entropy, 0, 5..6).unwrap().remove(0).parameters;
    let moved =
        begun.iter().zip(&after).map(|(a, b)| (f64::from(*a) - f64::from(*b)) * rows as f64).collect();
    let (noise, clip) = (short::noise(quiet), ClipNorm::new(CLIP).unwrap());
    let room = CalibratedNoise::gaussian(noise, clip, begun.len(), plan.rounding()).unwrap().clip_limit();
    (begun, moved, f64::from(room))
}

/// The largest difference of the means.
fn apart(fast: &[f64], slow: &[f64], rows: usize) -> f64 {
    fast.iter().zip(slow).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / rows as f64
}

#[test]
fn clipped_sums_are_those_of_examples_one_by_one() {
    for (sizes, rows) in
        [(vec![20, 10], 7), (vec![784, 10], 64), (vec![65, 33, 10], 200), (vec![100, 40, 17, 10], 700)]
    {
        let data = dataset(features(rows, sizes[0]), sizes[0]);
        let (begun, fast, room) = fast_sum(&sizes, &data);
        let slow = slow_sum(&sizes, &begun, &data, room, &[]);
        assert!(apart(&fast, &slow, rows) < 1e-5, "{sizes:?}: {:e}", apart(&fast, &slow, rows));
        // The twins: a clip norm a hundredth off, and one record left out, are seen.
        for wrong in [
            slow_sum(&sizes, &begun, &data, room * 1.01, &[]),
            slow_sum(&sizes, &begun, &data, room, &[rows / 2]),
        ] {
            assert!(apart(&fast, &wrong, rows) > 2e-5, "{sizes:?}: {:e}", apart(&fast, &wrong, rows));
        }
    }
}

#[test]
fn a_gradient_that_is_not_finite_adds_exactly_nothing() {
    let sizes = [30, 20, 10];
    let bad = [3, 150, 299];
    let with = |huge: f32| {
        let mut features = features(300, 30);
        for record in bad {
            features[record * 30..][..30].fill(huge);
        }
        dataset(features, 30)
    };
    let (begun, fast, room) = fast_sum(&sizes, &with(3e38));
    let slow = slow_sum(&sizes, &begun, &with(1.0), room, &bad);
    assert!(apart(&fast, &slow, 300) < 1e-5, "{:e}", apart(&fast, &slow, 300));
    // What exactly was too large does not show in a bit.
    assert_eq!(fast, fast_sum(&sizes, &with(-3.1e38)).1);
    assert_ne!(fast, fast_sum(&sizes, &with(0.5)).1);
}

#[test]
fn bits_depend_neither_on_threads_nor_on_the_cohort() {
    let (data, entropy) = (dataset(features(900, 50), 50), Entropy::seeded(8));
    for (sizes, batch) in [(vec![50, 10], 64), (vec![50, 300, 10], 600), (vec![50, 31, 10], 300)] {
        let plan = plan(&sizes, batch, 900, 4, 1.0, 0.5);
        let on = |threads: usize, trials| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| cohort::train(&plan, &data, &entropy, 2, trials).unwrap())
        };
        let together = on(1, 0..4);
        assert_eq!(together, on(2, 0..4));
        assert_eq!(together, on(3, 0..4));
        for trial in 0..4 {
            assert_eq!(together[trial as usize], on(3, trial..trial + 1)[0]);
        }
        assert_ne!(together[0], together[1]);
    }
}

#[test]
fn noise_that_was_drawn_ahead_is_the_noise_that_is_drawn_in_time() {
    // Below and above one block of noise.
    for sizes in [[200, 30, CLASSES], [300, 150, CLASSES]] {
        let data = dataset(features(100, sizes[0]), sizes[0]);
        let plan = plan(&sizes, 40, 100, 3, 1.0, 0.5);
        let entropy = Entropy::seeded(8);
        let run = || Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 }).unwrap();
        // A tape takes the plain road: every sum is made before its noise is drawn.
        let (mut ahead, mut in_time) = (run(), run().recording(Adjacency::AddRemove).unwrap());
        while ahead.step().unwrap() {
            assert!(in_time.step().unwrap());
            assert_eq!(ahead.last_noisy_sum(), in_time.last_noisy_sum());
        }
        assert_eq!(ahead.model(), in_time.model());
    }
}

#[test]
fn packed_records_teach_the_same() {
    let data = dataset(features(100, 50), 50);
    let plan = plan(&[50, CLASSES], 40, 100, 5, 1.0, 0.5);
    let model = |data: &Dataset| cohort::train(&plan, data, &Entropy::seeded(3), 0, 0..2).unwrap();
    assert_ne!(data.clone().packed(), data, "these are levels");
    assert_eq!(model(&data.clone().packed()), model(&data));
}

/// The most memory that this process has had, in KiB.
#[cfg(target_os = "linux")]
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn one_more_model_costs_its_parameters_and_no_more() {
    let data = dataset(features(1000, 200), 200);
    let plan = plan(&[200, 10], 64, 1000, 1, 1.0, 0.1);
    let train = |models| cohort::train(&plan, &data, &Entropy::seeded(1), 0, 0..models).unwrap();
    drop(train(100));
    let before = peak_kib();
    let models = train(4000);
    let grown = peak_kib() - before;
    // 2010 floats each are 31 MiB; the data 4000 times over would be 3 GiB, the memory of a pass 4000 times 700 MiB.
    let parameters = models.iter().map(|model| model.parameters.len() as u64 * 4).sum::<u64>() / 1024;
    assert!((30_000..32_000).contains(&parameters));
    assert!(grown < 2 * parameters + 64 * 1024, "{grown} KiB for {parameters} KiB of parameters");
}
