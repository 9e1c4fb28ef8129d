//! The laws of the private step: what is accounted, what is the same bits, what a batch without records or a gradient that is
//! no number does.

use std::sync::Arc;
use veracity_core::{Adjacency, ClipNorm, Mechanism, Probability};
use veracity_noise::{Call, Distance, Entropy, Tape};
use veracity_testkit::short::{self, count};
use veracity_train::*;

fn flat(noise: f64) -> Privacy {
    gaussian(noise, Clipping::Flat)
}

fn gaussian(noise: f64, clipping: Clipping) -> Privacy {
    Privacy::Gaussian { noise: short::noise(noise), clip: ClipNorm::new(0.5).unwrap(), clipping }
}

fn laplace(noise: f64) -> Privacy {
    Privacy::Laplace { noise: short::noise(noise), clip: ClipNorm::new(0.5).unwrap() }
}

fn adaptive(rate: f32, quantile: f64) -> Clipping {
    Clipping::Adaptive {
        quantile: Probability::new(quantile).unwrap(),
        rate,
        count_noise: short::noise(10.0),
    }
}

fn poisson(batch: u64, population: u64) -> Sampling {
    Sampling::Poisson { batch: count(batch), population: count(population) }
}

/// 4 features, 5 hidden, 3 classes.
fn plan(sampling: Sampling, steps: u64, privacy: Privacy, optimiser: Optimiser) -> Plan {
    let layers = vec![Layer::Linear { outputs: 5 }, Layer::Relu, Layer::Linear { outputs: 3 }];
    let network = Network::new(Shape::Flat(4), layers).unwrap();
    let schedule = Schedule::Warmup { rate: 0.3, warmup: 3 };
    Plan::new(network, Loss::SoftmaxCrossEntropy, sampling, count(steps), privacy)
        .with_optimiser(optimiser)
        .with_schedule(schedule)
}

const SGD: Optimiser = Optimiser::Sgd { momentum: 0.0 };

fn records(n: usize) -> Dataset {
    let features = (0..n * 4).map(|i| ((i * 7919 + i / 3) % 101) as f32 / 50.0 - 1.0).collect();
    let labels = Labels::Classes { of: (0..n as u32).map(|i| i * 5 % 3).collect(), classes: 3 };
    Dataset::new(features, 4, labels).unwrap()
}

fn one_record(features: [f32; 4]) -> Dataset {
    Dataset::new(features.to_vec(), 4, Labels::Classes { of: vec![1], classes: 3 }).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

fn tape_of<'a>(plan: &'a Plan, world: impl Into<World<'a>>, seed: u64) -> (Tape, State) {
    let entropy = Entropy::seeded(seed);
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let mut run = Run::new(plan, world, draws).unwrap().recording(Adjacency::ZeroOut).unwrap();
    while run.step().unwrap() {}
    let state = run.state();
    (run.into_tape().unwrap(), state)
}

/// Plans that differ in all that has a memory.
fn varied() -> Vec<Plan> {
    let samplings = [
        poisson(7, 40),
        Sampling::FixedSize { batch: count(7), population: count(40) },
        Sampling::Shuffled { batch: count(7), population: count(40) },
    ];
    let optimisers = [
        SGD,
        Optimiser::Sgd { momentum: 0.9 },
        Optimiser::Nesterov { momentum: 0.9 },
        Optimiser::Adam { beta1: 0.9, beta2: 0.99, epsilon: 1e-6 },
    ];
    let privacies = [
        flat(1.0),
        gaussian(1.0, adaptive(0.3, 0.5)),
        gaussian(1.0, Clipping::PerLayer { weights: Some(vec![1.0, 2.0]) }),
        gaussian(1.0, Clipping::Automatic { gamma: 0.01 }),
        laplace(1.0),
        Privacy::None,
    ];
    let averagings =
        [Averaging::None, Averaging::Exponential { decay: 0.9 }, Averaging::Tail { steps: count(4) }];
    (0..24)
        .map(|i| {
            let (sampling, privacy) = (samplings[i % 3], privacies[i % 6].clone());
            let mut plan = plan(sampling, 9, privacy, optimisers[i / 6]);
            plan.averaging = averagings[(i + i / 6) % 3];
            plan.weight_decay = 0.01;
            plan
        })
        .collect()
}

#[test]
fn each_sampling_has_its_own_mechanism_and_adjacencies() {
    let step = || Box::new(Mechanism::Gaussian { noise_multiplier: short::noise(2.0) });
    let of = |sampling, adjacency| plan(sampling, 10, flat(2.0), SGD).mechanism(adjacency);
    for adjacency in Adjacency::ALL {
        let rate = short::rate(0.25);
        let expected = Mechanism::sampled_gaussian(rate, short::noise(2.0), count(10));
        assert_eq!(of(poisson(5, 20), adjacency).unwrap(), expected);
    }
    let fixed = Sampling::FixedSize { batch: count(5), population: count(20) };
    let once = Mechanism::FixedSizeSampled { batch: count(5), population: count(20), mechanism: step() };
    assert_eq!(of(fixed, Adjacency::ReplaceOne).unwrap(), once.repeated(count(10)));
    assert!(of(fixed, Adjacency::AddRemove).is_err() && of(fixed, Adjacency::ZeroOut).is_err());
    // 20 records in batches of 6 are 4 steps, so 10 steps begin 3 epochs.
    let shuffled = Sampling::Shuffled { batch: count(6), population: count(20) };
    for adjacency in [Adjacency::ZeroOut, Adjacency::ReplaceOne] {
        assert_eq!(of(shuffled, adjacency).unwrap(), step().repeated(count(3)));
    }
    let refusal = of(shuffled, Adjacency::AddRemove).unwrap_err().to_string();
    assert!(refusal.contains("shuffled") && refusal.contains("zero-out"), "{refusal}");
}

#[test]
fn laplace_noise_and_adaptive_clipping_are_accounted_and_nothing_is_not() {
    let of = |privacy, adjacency| plan(poisson(5, 20), 10, privacy, SGD).mechanism(adjacency);
    let rate = short::rate(0.25);
    let mechanism = Box::new(Mechanism::Laplace { noise_multiplier: short::noise(2.0) });
    let expected = Mechanism::PoissonSampled { rate, mechanism }.repeated(count(10));
    assert_eq!(of(laplace(2.0), Adjacency::AddRemove).unwrap(), expected);
    assert!(of(laplace(2.0), Adjacency::ReplaceOne).is_err());
    assert!(of(Privacy::None, Adjacency::AddRemove).is_err());
    // An adaptive step costs what a flat one does: its count is paid for by more noise on the gradient.
    let both = |privacy| of(privacy, Adjacency::AddRemove).unwrap();
    assert_eq!(both(gaussian(2.0, adaptive(0.2, 0.5))), both(flat(2.0)));
    let plan = plan(poisson(5, 20), 1, gaussian(2.0, adaptive(0.2, 0.5)), SGD);
    let (tape, _) = tape_of(&plan, &records(20), 1);
    let inverse_square = |call: &Call| match call.declared {
        // Steps of the grid are 2^-20 standard deviations.
        Distance::L2Squared(square) => square as f64 / 2f64.powi(40),
        other => panic!("{other:?}"),
    };
    assert_eq!(tape.calls.iter().map(|call| call.place).collect::<Vec<_>>(), ["gradient", "balance"]);
    let total: f64 = tape.calls.iter().map(inverse_square).sum();
    assert!((total - 0.25).abs() < 1e-5, "{total}");
    // Twin: without the raise the two would cost more than one step.
    assert!(0.25 + inverse_square(&tape.calls[1]) > 0.2501);
}

#[test]
fn a_model_has_the_same_bits_alone_in_a_cohort_on_any_threads_in_any_shard() {
    let (data, entropy) = (records(700), Entropy::seeded(2));
    for private in [flat(1.0), gaussian(1.0, adaptive(0.3, 0.5)), laplace(1.0)] {
        // Several micro-batches and shards.
        let mut plan = plan(poisson(600, 700), 3, private, Optimiser::Sgd { momentum: 0.5 });
        let train = |plan: &Plan, threads, trials: std::ops::Range<u64>| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let models = pool.install(|| cohort::train(plan, &data, &entropy, 4, trials)).unwrap();
            models.iter().map(|model| bits(&model.parameters)).collect::<Vec<_>>()
        };
        for views in [None, Some(Arc::new(Repeated) as Arc<dyn Views>)] {
            plan.views = views;
            let all = train(&plan, 1, 0..5);
            assert_eq!(all, train(&plan, 2, 0..5));
            assert_eq!(all, train(&plan, 3, 0..5));
            assert_eq!(all[3..], train(&plan, 2, 3..5));
            assert_eq!(all[2..3], train(&plan, 1, 2..3));
            assert_ne!(all[0], all[1]);
        }
    }
}

/// An example three times over.
#[derive(Debug)]
struct Repeated;

impl Views for Repeated {
    fn count(&self) -> usize {
        3
    }

    fn write(&self, _: u64, _: usize, features: &[f32], view: &mut [f32]) {
        view.copy_from_slice(features);
    }
}

#[test]
fn a_run_taken_up_again_after_any_step_goes_on_with_the_same_bits() {
    let (data, entropy) = (records(40), Entropy::seeded(3));
    let draws = Draws { entropy: &entropy, run: 1, trial: 2 };
    for plan in varied() {
        let mut run = Run::new(&plan, &data, draws).unwrap();
        let mut states = vec![run.state()];
        while run.step().unwrap() {
            states.push(run.state());
        }
        assert!(!run.step().unwrap() && states.len() == 10);
        for state in &states {
            let mut resumed = Run::resume(&plan, &data, draws, state.clone()).unwrap();
            while resumed.step().unwrap() {}
            assert_eq!(resumed.state(), run.state(), "{plan:?} from {}", state.step);
            assert_eq!(bits(&resumed.model().parameters), bits(&run.model().parameters));
        }
        // A state of another shape is refused.
        let short = State { parameters: vec![0.0], ..states[3].clone() };
        assert!(Run::resume(&plan, &data, draws, short).is_err());
    }
}

#[test]
fn initial_parameters_are_multiplied_and_a_scale_that_is_none_is_refused() {
    let (data, entropy) = (records(40), Entropy::seeded(5));
    let mut plan = plan(poisson(7, 40), 3, flat(1.0), SGD);
    let first = |plan: &Plan| {
        let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
        Run::new(plan, &data, draws).map(|run| run.state().parameters)
    };
    let whole = first(&plan).unwrap();
    plan.initial = Initial::Random { scale: 0.25 };
    let scaled: Vec<f32> = whole.iter().map(|parameter| parameter * 0.25).collect();
    assert_eq!(bits(&first(&plan).unwrap()), bits(&scaled));
    assert_ne!(bits(&whole), bits(&scaled));
    for scale in [-1.0, f32::NAN, f32::INFINITY] {
        plan.initial = Initial::Random { scale };
        assert!(first(&plan).unwrap_err().to_string().contains("initial scale"));
    }
}

#[test]
fn a_tape_changes_no_bit_and_is_only_for_seeds() {
    let (data, entropy) = (records(40), Entropy::seeded(0));
    for plan in varied() {
        let silent = cohort::train(&plan, &data, &entropy, 0, 0..1).unwrap();
        let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
        let mut run = Run::new(&plan, &data, draws).unwrap().recording(Adjacency::ReplaceOne).unwrap();
        while run.step().unwrap() {}
        assert_eq!(bits(&run.model().parameters), bits(&silent[0].parameters), "{plan:?}");
        assert!(!run.is_releasable());
        let system = Entropy::system().unwrap();
        let draws = Draws { entropy: &system, run: 0, trial: 0 };
        let run = Run::new(&plan, &data, draws).unwrap();
        assert_eq!(run.is_releasable(), plan.privacy != Privacy::None);
        assert!(run.recording(Adjacency::AddRemove).is_err());
    }
}

#[test]
fn an_empty_batch_takes_a_noisy_step_that_counts() {
    let data = records(3);
    for privacy in [flat(1.0), laplace(1.0), gaussian(1.0, adaptive(0.2, 0.5))] {
        let plan = plan(poisson(1, 1_000_000_000), 4, privacy, SGD);
        let (tape, state) = tape_of(&plan, &data, 9);
        let gradients: Vec<&Call> = tape.calls.iter().filter(|call| call.place == "gradient").collect();
        assert_eq!((gradients.len(), state.step), (4, 4));
        assert!(tape.calls.iter().all(|call| call.input.iter().all(|x| *x == 0)));
        assert!(tape.calls.iter().all(|call| call.output.iter().any(|x| *x != 0)));
    }
    // Data without a record is data.
    let none = Dataset::new(Vec::new(), 4, Labels::Classes { of: Vec::new(), classes: 3 }).unwrap();
    assert_eq!(tape_of(&plan(poisson(1, 10), 2, flat(1.0), SGD), &none, 9).1.step, 2);
}

#[test]
fn the_step_is_the_noisy_sum_over_the_planned_batch() {
    let plan = plan(poisson(5, 20), 1, flat(1.0), SGD);
    let data = records(20);
    let entropy = Entropy::seeded(6);
    let start = Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 }).unwrap().state();
    let (tape, end) = tape_of(&plan, &data, 6);
    let (clip, length) = (ClipNorm::new(0.5).unwrap(), start.parameters.len());
    let noise = CalibratedNoise::gaussian(short::noise(1.0), clip, length, plan.rounding());
    let step = noise.unwrap().granularity();
    for ((before, after), said) in start.parameters.iter().zip(&end.parameters).zip(&tape.calls[0].output) {
        let value = (step * *said as f64) as f32;
        assert_eq!(after.to_bits(), (before - 0.1 * (1.0 / 5.0) * value).to_bits());
    }
}

#[test]
fn a_gradient_that_is_not_finite_adds_exactly_nothing() {
    let data = records(20);
    // Features whose squares, or whose outputs, leave the range of floats.
    for hostile in [[3e38; 4], [1e25, -1e25, 1e30, 0.0], [f32::MAX, f32::MIN, f32::MAX, f32::MAX]] {
        let hostile = one_record(hostile);
        for privacy in [
            flat(1.0),
            laplace(1.0),
            gaussian(1.0, Clipping::PerLayer { weights: None }),
            gaussian(1.0, Clipping::Automatic { gamma: 0.1 }),
            gaussian(1.0, adaptive(0.2, 0.5)),
        ] {
            // All records are in every batch, and the hostile one is the last or in the midst.
            let plan = plan(poisson(20, 20), 2, privacy, SGD);
            for position in [19, 7] {
                let world = World::from(&data);
                let (with, _) = tape_of(&plan, world.replacing(position, &hostile).unwrap(), 5);
                let (without, _) = tape_of(&plan, world.without(position).unwrap(), 5);
                assert_eq!(with, without, "{:?} at {position}", plan.privacy);
                assert_ne!(with, tape_of(&plan, world, 5).0, "the twin: a record that counts");
            }
        }
    }
}

#[test]
fn parts_are_clipped_layer_by_layer_and_sizes_in_l1() {
    let data = one_record([30.0, -20.0, 10.0, 5.0]);
    let norm = |part: &[i128]| part.iter().map(|x| (*x as f64) * (*x as f64)).sum::<f64>().sqrt();
    let sum = |privacy: Privacy| {
        let plan = plan(poisson(1, 1), 1, privacy, SGD);
        // Of several beginnings, one in which no part of the gradient is short.
        let tapes = (0..20).map(|seed| tape_of(&plan, &data, seed).0.calls[0].input.clone());
        tapes.max_by(|a, b| norm(&a[..25]).total_cmp(&norm(&b[..25]))).unwrap()
    };
    // In grid steps, C is 2^20 at noise 1; the first layer has 25 parameters.
    let unit = 2f64.powi(20);
    let near =
        |found: f64, expected: f64| assert!((found / unit - expected).abs() < 1e-3, "{found} {expected}");
    let weights = Some(vec![3.0, 4.0]);
    let parts = sum(gaussian(1.0, Clipping::PerLayer { weights }));
    near(norm(&parts[..25]), 0.6);
    near(norm(&parts[25..]), 0.8);
    let parts = sum(gaussian(1.0, Clipping::PerLayer { weights: None }));
    near(norm(&parts[..25]), 0.5f64.sqrt());
    near(norm(&parts), 1.0);
    near(norm(&sum(flat(1.0))), 1.0);
    // Laplace: the grid is of powers of two, 2^-30 of the scale 1/2 and so 2^30 steps in C.
    let sizes: f64 = sum(laplace(1.0)).iter().map(|x| x.unsigned_abs() as f64).sum();
    assert!((sizes / 2f64.powi(30) - 1.0).abs() < 1e-4, "{sizes}");
}

#[test]
fn an_adaptive_clip_norm_finds_its_quantile() {
    // The parameters hardly move, so the norms stay what they are at the start.
    let data = records(1000);
    let mut plan = plan(poisson(1000, 1000), 120, gaussian(1.0, adaptive(0.5, 0.3)), SGD);
    plan.schedule = Schedule::Constant { rate: 1e-9 };
    let clip = tape_of(&plan, &data, 4).1.clip;
    let world = |position| one_record_of(&data, position);
    let norms = {
        let mut norms: Vec<f64> = (0..1000).map(|position| norm_of(&world(position))).collect();
        norms.sort_unstable_by(f64::total_cmp);
        norms
    };
    let rank = norms.iter().filter(|norm| **norm <= clip).count();
    assert!((250..350).contains(&rank), "{rank} of 1000 within {clip}");
}

fn one_record_of(data: &Dataset, position: usize) -> Dataset {
    let Labels::Classes { of, .. } = data.labels() else { panic!("classes") };
    let labels = Labels::Classes { of: vec![of[position]], classes: 3 };
    Dataset::new(data.row(position).to_vec(), 4, labels).unwrap()
}

/// The norm of one record's gradient at the parameters that seed 4 begins with.
fn norm_of(record: &Dataset) -> f64 {
    let privacy = Privacy::Gaussian {
        noise: short::noise(1e-3),
        clip: ClipNorm::new(1e3).unwrap(),
        clipping: Clipping::Flat,
    };
    let plan = plan(poisson(1, 1), 1, privacy, SGD);
    // Grid steps are of 2^-20 standard deviations, here of 1.
    let input = tape_of(&plan, record, 4).0.calls[0].input.clone();
    input.iter().map(|x| (*x as f64) * (*x as f64)).sum::<f64>().sqrt() / 2f64.powi(20)
}

/// A record and its opposite.
#[derive(Debug)]
struct Opposite;

impl Views for Opposite {
    fn count(&self) -> usize {
        2
    }

    fn write(&self, _: u64, which: usize, features: &[f32], view: &mut [f32]) {
        let sign = if which == 0 { 1.0 } else { -1.0 };
        view.iter_mut().zip(features).for_each(|(view, x)| *view = sign * x);
    }
}

#[test]
fn views_are_averaged_before_they_are_clipped() {
    let features = [0.9, -0.4, 0.3, 0.5];
    let sum = |features: [f32; 4], clip: f64, views: Option<Arc<dyn Views>>| -> Vec<f64> {
        let (noise, clip) = (short::noise(1.0), ClipNorm::new(clip).unwrap());
        let privacy = Privacy::Gaussian { noise, clip, clipping: Clipping::Flat };
        let mut plan = plan(poisson(1, 1), 1, privacy, SGD);
        plan.network = Network::new(Shape::Flat(4), vec![Layer::Linear { outputs: 3 }]).unwrap();
        plan.views = views;
        // Grid steps are of 2^-20 standard deviations, here of the clip norm.
        let steps = tape_of(&plan, &one_record(features), 3).0.calls[0].input.clone();
        steps.iter().map(|x| *x as f64 * clip.get() / 2f64.powi(20)).collect()
    };
    let near = |one: &[f64], two: &[f64], most: f64| one.iter().zip(two).all(|(a, b)| (a - b).abs() < most);
    let opposite = || Some(Arc::new(Opposite) as Arc<dyn Views>);
    // The same view thrice is the example itself.
    let plain = sum(features, 0.1, None);
    assert!(near(&plain, &sum(features, 0.1, Some(Arc::new(Repeated))), 1e-6));
    // Where nothing is clipped, the mean of an example and its opposite.
    let (one, other) = (sum(features, 10.0, None), sum(features.map(|x| -x), 10.0, None));
    let mean: Vec<f64> = one.iter().zip(&other).map(|(a, b)| (a + b) / 2.0).collect();
    let whole = sum(features, 10.0, opposite());
    assert!(near(&whole, &mean, 1e-4) && !near(&whole, &one, 1e-2));
    // Where it is, that mean made as long as one clipped gradient, not the mean of two.
    let norm = |g: &[f64]| g.iter().map(|x| x * x).sum::<f64>().sqrt();
    let clipped = sum(features, 0.1, opposite());
    let expected: Vec<f64> = mean.iter().map(|x| 0.1 * x / norm(&mean)).collect();
    assert!(norm(&mean) > 0.2 && near(&clipped, &expected, 1e-4), "{clipped:?} {expected:?}");
}

#[test]
fn models_on_worlds_of_one_dataset_are_those_on_copies() {
    let (data, extra, entropy) = (records(30), one_record([0.5, 0.25, -1.0, 2.0]), Entropy::seeded(8));
    let plan = plan(poisson(8, 30), 5, flat(1.0), SGD);
    let base = World::from(&data);
    let worlds =
        [base, base.with(&extra).unwrap(), base.replacing(4, &extra).unwrap(), base.without(29).unwrap()];
    let train = |world: World<'_>, trial| cohort::train(&plan, world, &entropy, 0, trial..trial + 1).unwrap();
    let together: Vec<_> = worlds.into_iter().zip(10..).map(|(world, trial)| train(world, trial)).collect();
    let copied =
        |features: Vec<f32>, of: Vec<u32>| Dataset::new(features, 4, Labels::Classes { of, classes: 3 });
    let all = |n: usize| (0..n).flat_map(|i| data.row(i).to_vec()).collect::<Vec<f32>>();
    let Labels::Classes { of, .. } = data.labels() else { panic!("classes") };
    let longer = copied([all(30), extra.row(0).to_vec()].concat(), [of.clone(), vec![1]].concat()).unwrap();
    let mut other = (all(30), of.clone());
    other.0[16..20].copy_from_slice(extra.row(0));
    other.1[4] = 1;
    let other = copied(other.0, other.1).unwrap();
    let shorter = copied(all(29), of[..29].to_vec()).unwrap();
    for (at, copy) in [&data, &longer, &other, &shorter].into_iter().enumerate() {
        let trial = 10 + at as u64;
        let alone = train(World::from(copy), trial);
        assert_eq!(bits(&alone[0].parameters), bits(&together[at][0].parameters), "world {at}");
    }
    assert!(base.without(30).is_err() && base.replacing(30, &extra).is_err());
    assert!(base.replacing(0, &data).is_err() && base.with(&records(30)).is_ok());
}

#[test]
fn what_cannot_be_run_is_refused_in_one_line() {
    let (data, entropy) = (records(20), Entropy::seeded(1));
    let refusal = |plan: Plan| cohort::train(&plan, &data, &entropy, 0, 0..1).unwrap_err().to_string();
    let changed = |change: fn(&mut Plan)| {
        let mut plan = plan(poisson(5, 20), 2, flat(1.0), SGD);
        change(&mut plan);
        refusal(plan)
    };
    let too_large = refusal(plan(poisson(21, 20), 2, flat(1.0), SGD));
    assert_eq!(too_large, "batch is 21, expected at most 20, the number of records");
    for sampling in [
        Sampling::FixedSize { batch: count(5), population: count(21) },
        Sampling::Shuffled { batch: count(5), population: count(19) },
    ] {
        assert!(refusal(plan(sampling, 2, flat(1.0), SGD)).contains("need the exact number of records"));
    }
    assert!(changed(|plan| plan.loss = Loss::Squared).contains("needs numbers as labels"));
    assert!(changed(|plan| plan.loss = Loss::Logistic).contains("logistic"));
    assert!(changed(|plan| plan.weight_decay = f32::NAN).starts_with("weight decay is"));
    assert!(changed(|plan| plan.averaging = Averaging::Exponential { decay: 1.0 }).contains("0 ≤ decay < 1"));
    assert!(changed(|plan| plan.steps = count(1 << 41)).starts_with("steps is"));
    assert!(changed(|plan| plan.schedule = Schedule::Constant { rate: -1.0 }).contains("learning rate"));
    assert!(changed(|plan| plan.privacy = gaussian(11.0, adaptive(0.2, 0.5))).starts_with("count noise is"));
    let network = |inputs| Network::new(Shape::Flat(inputs), vec![Layer::Linear { outputs: 3 }]).unwrap();
    let mut plan = plan(poisson(5, 20), 2, flat(1.0), SGD);
    plan.network = network(5);
    assert_eq!(refusal(plan), "records have 4 features, but the network has 5 inputs");
}

/// Gradients of zero, since all labels are what the model says: the noisy count tells at every step that the clip norm may
/// shrink. The run goes on all the same.
#[test]
fn an_adaptive_clip_norm_stops_where_it_can_still_be_clipped_to() {
    let mut plan = plan(poisson(40, 40), 60, gaussian(1.0, adaptive(1.0, 0.0)), SGD);
    plan.network = Network::new(Shape::Flat(4), vec![Layer::Linear { outputs: 1 }]).unwrap();
    plan.loss = Loss::Squared;
    plan.initial = Initial::At(vec![0.0; 5]);
    plan.schedule = Schedule::Constant { rate: 1e-12 };
    let data = Dataset::new(vec![0.0; 160], 4, Labels::Values(vec![0.0; 40])).unwrap();
    let entropy = Entropy::seeded(12);
    let mut run = Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 }).unwrap();
    while run.step().unwrap() {}
    assert_eq!((run.steps_done(), run.state().clip), (60, 1e-6));
}

/// Gradients made as long as the clip norm would overflow their sum: 0 times infinity and infinity less infinity move by more
/// than any norm.
#[test]
fn clip_norms_that_floats_cannot_hold_are_refused() {
    for clip in [1e-7, 1e16, 1e33, 1e38, 1e300] {
        let clipping = Clipping::Automatic { gamma: 1e-6 };
        let privacy =
            Privacy::Gaussian { noise: short::noise(1.0), clip: ClipNorm::new(clip).unwrap(), clipping };
        let (entropy, data) = (Entropy::seeded(1), records(40));
        let plan = plan(poisson(7, 40), 1, privacy, SGD);
        let refused = Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 }).err();
        let told = refused.map(|refusal| refusal.to_string()).unwrap_or_default();
        assert!(
            told.contains(if clip < 1e300 { "1e-6 ≤ clip norm ≤ 1e15" } else { "noise multiplier" }),
            "{told}"
        );
    }
}

/// Many more records than planned are another dataset than the planned one, for whoever knows both.
#[test]
fn a_plan_for_far_fewer_records_than_there_are_is_refused() {
    let (entropy, data) = (Entropy::seeded(1), records(40));
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let begins =
        |population| Run::new(&plan(poisson(2, population), 1, flat(1.0), SGD), &data, draws).map(drop);
    assert!(begins(20).is_ok() && begins(400).is_ok());
    // What an auditor plants is no record of the plan's.
    let (crafted, plan) = (vec![None; 100], plan(poisson(2, 20), 1, flat(1.0), SGD));
    assert!(Run::new(&plan, World::from(&data).crafting(&crafted), draws).is_ok());
    assert_eq!(
        begins(19).unwrap_err().to_string(),
        "records is 19, expected at least half of the number of records in the data"
    );
}

/// Where the number of records is private, a refusal for it would tell of it: forty records are trained on as planned for one.
#[test]
fn a_private_number_of_records_is_refused_nothing() {
    let (entropy, data) = (Entropy::seeded(1), records(40));
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let plan = plan(poisson(1, 1), 3, flat(1.0), SGD);
    assert!(Run::new(&plan, &data, draws).is_err());
    let mut run = Run::with_private_count(&plan, &data, draws).unwrap();
    while run.step().unwrap() {}
    assert!(run.model().parameters.iter().all(|parameter| parameter.is_finite()));
}
