//! Records given as gradients: they enter batches, are clipped and covered by noise like any other, and an auditor sees what
//! the run says.

use veracity_core::{Adjacency, ClipNorm};
use veracity_noise::Entropy;
use veracity_testkit::short;
use veracity_train::{cohort::Cohort, replay::replay, *};

const STEPS: u64 = 6;

fn plan(sampling: Sampling, privacy: Privacy) -> Plan {
    let layers = vec![Layer::Linear { outputs: 3 }, Layer::Tanh, Layer::Linear { outputs: 2 }];
    let network = Network::new(Shape::Flat(4), layers).unwrap();
    let (optimiser, schedule) = (Optimiser::Sgd { momentum: 0.5 }, Schedule::Constant { rate: 0.3 });
    let steps = short::count(STEPS);
    Plan::new(network, Loss::SoftmaxCrossEntropy, sampling, steps, privacy)
        .with_optimiser(optimiser)
        .with_schedule(schedule)
}

fn gaussian(clip: f64, clipping: Clipping) -> Privacy {
    let noise = short::noise(1.3);
    Privacy::Gaussian { noise, clip: ClipNorm::new(clip).unwrap(), clipping }
}

fn laplace(clip: f64) -> Privacy {
    Privacy::Laplace { noise: short::noise(1.3), clip: ClipNorm::new(clip).unwrap() }
}

fn all_of(n: u64) -> Sampling {
    Sampling::Poisson { batch: short::count(n), population: short::count(n) }
}

fn records() -> Dataset {
    let features = (0..80).map(|i| ((i * 37) % 19) as f32 / 9.0 - 1.0).collect();
    Dataset::new(features, 4, Labels::Classes { of: (0..20).map(|i| i % 2).collect(), classes: 2 }).unwrap()
}

/// The first noisy sum with and without a crafted record, from the same streams.
fn first_sums(privacy: Privacy, crafted: &CraftedGradient) -> (Vec<f32>, Vec<f32>) {
    let (plan, data, entropy) = (plan(all_of(20), privacy), records(), Entropy::seeded(3));
    let said = |planted: &[Option<&CraftedGradient>]| {
        let world = World::from(&data).crafting(planted);
        let mut run = Run::new(&plan, world, Draws { entropy: &entropy, run: 0, trial: 0 }).unwrap();
        assert!(run.last_noisy_sum().is_none());
        run.step().unwrap();
        run.last_noisy_sum().unwrap().to_vec()
    };
    let sums = (said(&[Some(crafted)]), said(&[None]));
    let cohort = Cohort::new(plan).unwrap();
    let mut run = cohort.begin(World::from(&data), Draws { entropy: &entropy, run: 0, trial: 0 }).unwrap();
    run.step().unwrap();
    assert_eq!(run.last_noisy_sum().unwrap(), sums.1, "a cohort begins the same run");
    sums
}

#[test]
fn a_crafted_gradient_moves_the_sum_by_its_clipped_self_and_nothing_else() {
    let crafted = CraftedGradient::new(vec![(2, 3.0), (20, -4.0)]).unwrap();
    // 3 and −4 are shortened to norm ½; in ℓ1 to 3/14 and −4/14; per layer each to ½/√2.
    let cases = [
        (gaussian(0.5, Clipping::Flat), [0.3, -0.4]),
        (gaussian(0.5, Clipping::PerLayer { weights: None }), [0.353_553, -0.353_553]),
        (gaussian(50.0, Clipping::Flat), [3.0, -4.0]),
        (laplace(0.5), [0.5 * 3.0 / 7.0, -0.5 * 4.0 / 7.0]),
    ];
    for (privacy, expected) in cases {
        let size =
            if matches!(privacy, Privacy::Gaussian { clip, .. } if clip.get() > 1.0) { 50.0 } else { 0.5 };
        let (with, without) = first_sums(privacy, &crafted);
        for (at, (a, b)) in with.iter().zip(&without).enumerate() {
            let moved = match at {
                2 => expected[0],
                20 => expected[1],
                _ => 0.0,
            };
            // The room for grid and rounding is some 1e-4 of the clip norm.
            assert!((f64::from(a - b) - moved).abs() < 4e-4 * size, "parameter {at}: {} for {moved}", a - b);
        }
    }
}

#[test]
fn crafted_records_are_within_what_is_accounted() {
    let data = records();
    let far = CraftedGradient::new((0..23).map(|at| (at, 1e6 * (at as f32 - 11.0))).collect()).unwrap();
    for sampling in [all_of(20), Sampling::Poisson { batch: short::count(7), population: short::count(20) }] {
        for clipping in
            [Clipping::Flat, Clipping::PerLayer { weights: None }, Clipping::Automatic { gamma: 0.01 }]
        {
            let plan = plan(sampling, gaussian(0.5, clipping));
            let (present, absent) = ([Some(&far)], [None]);
            let worlds = (World::from(&data).crafting(&present), World::from(&data).crafting(&absent));
            let entropy = Entropy::seeded(8);
            let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
            let found = replay(&plan, worlds.0, worlds.1, Adjacency::AddRemove, draws).unwrap();
            assert_eq!(found.fault, None);
            assert!(found.used > 0.99, "a crafted record uses all of its room, here {}", found.used);
        }
    }
    // Twice in the data, it moves a sum by twice as much: the same eyes must see that.
    let plan = plan(all_of(20), gaussian(0.5, Clipping::Flat));
    let (twice, absent) = ([Some(&far), Some(&far)], [None, None]);
    let entropy = Entropy::seeded(8);
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let worlds = (World::from(&data).crafting(&twice), World::from(&data).crafting(&absent));
    assert!(replay(&plan, worlds.0, worlds.1, Adjacency::AddRemove, draws).unwrap().fault.is_some());
}

#[test]
fn initial_parameters_are_taken_and_checked() {
    let data = records();
    let mut plan = plan(all_of(20), gaussian(0.5, Clipping::Flat));
    let entropy = Entropy::seeded(1);
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let start: Vec<f32> = (0..23).map(|i| i as f32).collect();
    plan.initial = Initial::At(start.clone());
    assert_eq!(Run::new(&plan, &data, draws).unwrap().state().parameters, start);
    for bad in [vec![0.0; 22], vec![f32::NAN; 23]] {
        plan.initial = Initial::At(bad);
        assert!(Run::new(&plan, &data, draws).is_err());
    }
    plan.initial = Initial::Random { scale: 1.0 };
    let past = CraftedGradient::dirac(23, 1.0).unwrap();
    let planted = [Some(&past)];
    assert!(Run::new(&plan, World::from(&data).crafting(&planted), draws).is_err());
    assert!(
        CraftedGradient::new(vec![(1, 1.0), (1, 2.0)]).is_err()
            && CraftedGradient::dirac(0, f32::INFINITY).is_err()
    );
}

/// A model on a dataset with planted records is the model on the records that are there.
#[test]
fn planted_records_are_those_that_are_in_or_their_stand_ins() {
    let (data, entropy) = (records(), Entropy::seeded(5));
    let planted = |shift: f32| {
        let features = (0..12).map(|i| shift + i as f32 / 10.0).collect();
        Dataset::new(features, 4, Labels::Classes { of: vec![0, 1, 1], classes: 2 }).unwrap()
    };
    let (inside, outside, is_in) = (planted(0.0), planted(-2.0), [true, false, true]);
    let by_hand = |second: Option<&Dataset>| {
        let mut features: Vec<f32> = [inside.row(0), inside.row(1), inside.row(2)].concat();
        if let Some(second) = second {
            features[4..8].copy_from_slice(second.row(1));
        }
        Dataset::new(features, 4, Labels::Classes { of: vec![0, 1, 1], classes: 2 }).unwrap()
    };
    let plan = plan(all_of(20), gaussian(0.5, Clipping::Flat));
    let trained = |world: World<'_>| cohort::train(&plan, world, &entropy, 0, 0..1).unwrap();
    let (replaced, all) = (by_hand(Some(&outside)), by_hand(None));
    let world = World::from(&data);
    assert_eq!(
        trained(world.planting(&is_in, &inside, Some(&outside)).unwrap()),
        trained(world.with(&replaced).unwrap())
    );
    assert_eq!(
        trained(world.planting(&is_in, &inside, None).unwrap()),
        trained(world.with(&all).unwrap().without(21).unwrap())
    );
    assert!(world.planting(&is_in[..2], &inside, None).is_err());
}

/// Heard beside the tape: the same draws, and of each step the sum that the tape has.
#[test]
fn a_run_that_listens_hears_what_a_tape_holds_and_says_the_same() {
    let (entropy, data) = (Entropy::seeded(3), records());
    for privacy in [gaussian(0.7, Clipping::Flat), laplace(0.7)] {
        let plan = plan(all_of(20), privacy);
        let begin = || Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 }).unwrap();
        let (mut plain, mut heard) = (begin(), begin().listening().unwrap());
        let mut taped = begin().recording(Adjacency::AddRemove).unwrap();
        assert!(heard.last_sum().is_none() && !heard.is_releasable());
        let mut sums = Vec::new();
        while plain.step().unwrap() {
            assert!(heard.step().unwrap() && taped.step().unwrap());
            assert_eq!(heard.last_noisy_sum(), plain.last_noisy_sum());
            assert!(plain.last_sum().is_none() && taped.last_sum().is_none());
            sums.push((heard.last_sum().unwrap().to_vec(), heard.last_noisy_sum().unwrap().to_vec()));
        }
        let tape = taped.into_tape().unwrap();
        assert_eq!(tape.calls.len(), sums.len());
        for (call, (sum, said)) in tape.calls.iter().zip(sums) {
            // The step of the grid, from the loudest of what was said.
            let loudest = (0..said.len()).max_by_key(|at| call.output[*at].unsigned_abs()).unwrap();
            let step = f64::from(said[loudest]) / call.output[loudest] as f64;
            for (sum, steps) in sum.iter().zip(&call.input) {
                assert!((f64::from(*sum) - step * *steps as f64).abs() < 1e-5, "{sum}");
            }
        }
    }
    let released = Entropy::system().unwrap();
    let plan = plan(all_of(20), gaussian(0.7, Clipping::Flat));
    let run = Run::new(&plan, &data, Draws { entropy: &released, run: 0, trial: 0 }).unwrap();
    assert!(run.listening().is_err());
}
