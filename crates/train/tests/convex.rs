//! Convex models: minimisers against outside numbers, sensitivities against adjacent datasets, releases against their claims.

use veracity_core::numerics::binomial::{lower_limit, upper_limit};
use veracity_core::{Adjacency, ClipNorm, Count, Mechanism};
use veracity_noise::{Bits, Departure, Entropy, Key, NoiseStream, Purpose, Stream};
use veracity_testkit::short::{self, epsilon};
use veracity_train::{
    Dataset, Labels,
    convex::{
        BoundedFeatures, ConvexLoss, Intercept, LinearModel, Manner, ObjectiveNoise, OutputNoise, Problem,
        Regularisation, RowBound, Softness, objective_perturbation, output_perturbation,
    },
};

fn clip(x: f64) -> ClipNorm {
    ClipNorm::new(x).unwrap()
}

fn huber(h: f64) -> ConvexLoss {
    ConvexLoss::HuberSvm { softness: Softness::new(h).unwrap() }
}

fn plain(bound: f64) -> RowBound {
    RowBound::new(clip(bound), Intercept::Absent, Manner::Clip).unwrap()
}

fn with_intercept(bound: f64, constant: f64) -> RowBound {
    RowBound::new(clip(bound), Intercept::Constant(clip(constant)), Manner::Clip).unwrap()
}

/// λN = `total`.
fn penalty(total: f64) -> Regularisation {
    Regularisation::new(total, Count::ONE).unwrap()
}

fn problem(data: &Dataset, rows: RowBound, loss: ConvexLoss, total: f64) -> Problem<'_> {
    Problem::new(BoundedFeatures::new(data, rows), loss, penalty(total)).unwrap()
}

fn stream(seed: u64, trial: u64) -> Stream {
    Entropy::seeded(seed).stream(Purpose::Noise, Key { run: 0, trial, step: 0 })
}

/// A number in [−1, 1).
fn number(stream: &mut Stream) -> f32 {
    stream.bits(20) as f32 / (1 << 19) as f32 - 1.0
}

fn distance(one: &LinearModel, other: &LinearModel) -> f64 {
    one.weights().iter().zip(other.weights()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Records as rows and labels, from which datasets are made by adding and taking away.
type Records = Vec<(Vec<f32>, f32)>;

fn classes(records: &Records, width: usize, classes: usize) -> Dataset {
    let features = records.iter().flat_map(|(x, _)| x.clone()).collect();
    let of = records.iter().map(|(_, y)| *y as u32).collect();
    Dataset::new(features, width, Labels::Classes { of, classes }).unwrap()
}

fn values(records: &Records, width: usize) -> Dataset {
    let features = records.iter().flat_map(|(x, _)| x.clone()).collect();
    Dataset::new(features, width, Labels::Values(records.iter().map(|(_, y)| *y).collect())).unwrap()
}

fn random_records(count: usize, width: usize, labels: u64, rng: &mut Stream) -> Records {
    let record = |_| {
        let row = (0..width).map(|_| 2.0 * number(rng)).collect();
        (row, (rng.bits(16) % labels) as f32)
    };
    (0..count).map(record).collect()
}

/// 40 rows of 4 features whose numbers any language gets exactly.
fn golden_rows() -> Vec<f32> {
    (0..40_i32)
        .flat_map(|i| (0..4).map(move |j| ((i * 37 + j * 101 + i * i * j * 7) % 129 - 64) as f32 / 64.0))
        .collect()
}

/// scikit-learn 1.9.1 and scipy 1.17.1, on X of `golden_rows` with a column of ones appended, Λ = 2:
/// LogisticRegression(C=0.5, fit_intercept=False, solver="newton-cholesky", tol=1e-14).fit(X, c).coef_
/// root(lambda w: -(X*(t*np.clip((1.25-t*(X@w))/0.5, 0, 1))[:,None]).sum(0)+2*w, np.zeros(5), tol=1e-14).x
/// Ridge(alpha=2.0, fit_intercept=False, solver="cholesky").fit(X, y).coef_
const GOLDEN: [[f64; 5]; 3] = [
    [
        0.18967902471771586, 0.17321123350726678, -0.5292949322784669, -0.49367129534129467,
        -0.11404992021829452,
    ],
    [0.2972871080294811, 0.40614726773353155, -1.1713740844870049, -0.8509072307591834, -0.05872078931798679],
    [
        -0.046157929605606704, -0.014222016722691215, 0.2506706636672077, 0.4388465605484295,
        -0.006798706395381262,
    ],
];

#[test]
fn minimisers_are_those_of_other_programs() {
    let of = (0..40_u32).map(|i| u32::from((i * 29 + i * i % 11) % 5 < 2)).collect();
    let data = Dataset::new(golden_rows(), 4, Labels::Classes { of, classes: 2 }).unwrap();
    let numbers = (0..40_i32).map(|i| (i * 13 % 17 - 8) as f32 / 8.0).collect();
    let numbers = Dataset::new(golden_rows(), 4, Labels::Values(numbers)).unwrap();
    let ridge = ConvexLoss::ridge(clip(1.0), clip(4.0), 0.05).unwrap();
    let asked = [(&data, ConvexLoss::Logistic), (&data, huber(0.25)), (&numbers, ridge)];
    for ((data, loss), truth) in asked.into_iter().zip(GOLDEN) {
        let features = BoundedFeatures::new(data, with_intercept(4.0, 1.0));
        let regularisation = Regularisation::new(0.05, short::count(40)).unwrap();
        let problem = Problem::new(features, loss, regularisation).unwrap();
        let ours = problem.without_privacy().unwrap();
        let apart = ours.weights().iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let promised = problem.tolerance() / problem.penalty();
        // Some digits more, for those that the others leave out.
        assert!(promised < 1e-4 && apart <= promised + 1e-9, "{loss:?}: {apart} {promised}");
    }
}

#[test]
fn rows_are_within_their_bound_whatever_they_hold() {
    let mut rng = stream(1, 0);
    for round in 0..300 {
        let size = [1e-30_f32, 1.0, 3e4, 1e38][round % 4];
        let width = 1 + round % 23;
        let features: Vec<f32> = (0..3 * width).map(|_| size * number(&mut rng)).collect();
        let data = Dataset::new(features, width, Labels::Values(vec![0.0; 3])).unwrap();
        for manner in [Manner::Clip, Manner::Normalise] {
            for intercept in [Intercept::Absent, Intercept::Constant(clip(0.3))] {
                let bounded =
                    BoundedFeatures::new(&data, RowBound::new(clip(0.7), intercept, manner).unwrap());
                for record in 0..3 {
                    let row = bounded.row(record);
                    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                    assert!(norm <= 0.7 * (1.0 + 1e-15), "{norm}");
                    let filled = data.row(record).iter().any(|x| x.abs() > 1.0);
                    if manner == Manner::Normalise || filled {
                        assert!(norm > 0.7 * (1.0 - 1e-12), "{norm}: smaller than it need be");
                    }
                }
            }
        }
    }
}

/// Pairs of datasets one record apart, for every adjacency: random ones, and ones made to be as far apart as they can be.
fn adjacent_pairs(rng: &mut Stream, width: usize, labels: u64) -> Vec<(Records, Records, Adjacency)> {
    let mut pairs = Vec::new();
    for round in 0..60 {
        let mut records = random_records(round % 12, width, labels, rng);
        let mut last = random_records(2, width, labels, rng);
        if round % 2 == 0 {
            // All at the same place, and the last one against them, or with them.
            let place = last[0].0.iter().map(|x| 100.0 * x).collect::<Vec<f32>>();
            records.iter_mut().for_each(|record| *record = (place.clone(), 0.0));
            last = vec![(place.clone(), 1.0), (place.iter().map(|x| -x).collect(), 1.0)];
        }
        let (mut one, mut other) = (records.clone(), records.clone());
        one.push(last[0].clone());
        pairs.push((one.clone(), other.clone(), Adjacency::AddRemove));
        other.push(last[1].clone());
        pairs.push((one, other, Adjacency::ReplaceOne));
    }
    pairs
}

#[test]
fn adjacent_minimisers_are_within_the_declared_distance_and_some_are_that_far() {
    let mut rng = stream(2, 0);
    for (loss, total) in [(ConvexLoss::Logistic, 50.0), (huber(0.1), 8.0), (huber(1.0), 3.0)] {
        let (mut farthest, mut wrong_slope, mut wrong_penalty) = (0.0_f64, 0, 0);
        for (one, other, adjacency) in adjacent_pairs(&mut rng, 3, 2) {
            let (one, other) = (classes(&one, 3, 2), classes(&other, 3, 2));
            let rows = with_intercept(1.0, 0.25);
            let (p, q) = (problem(&one, rows, loss, total), problem(&other, rows, loss, total));
            let apart = distance(&p.without_privacy().unwrap(), &q.without_privacy().unwrap());
            let declared = f64::from(adjacency.contributions()) * p.sensitivity();
            assert!(apart <= declared, "{loss:?} {adjacency}: {apart} > {declared}");
            farthest = farthest.max(apart / declared);
            // Planted: a slope bound of 0.4, and a penalty believed to be twice as strong.
            wrong_slope += u32::from(apart > 0.4 * declared);
            wrong_penalty += u32::from(apart > 0.5 * declared);
        }
        assert!(wrong_slope > 0, "{loss:?}: a wrong slope bound would pass, farthest {farthest}");
        if loss == huber(0.1) {
            assert!(wrong_penalty > 0 && farthest > 0.9, "a wrong penalty would pass, farthest {farthest}");
        }
    }
}

#[test]
fn adjacent_regressions_are_within_the_declared_distance_and_labels_beyond_the_bound_count_as_it() {
    let mut rng = stream(3, 0);
    let loss = ConvexLoss::Squared { labels: clip(1.0), residual: clip(2.0) };
    let mut farthest = 0.0_f64;
    for (mut one, mut other, adjacency) in adjacent_pairs(&mut rng, 3, 3) {
        // Labels 0, 1, 2 become −1e30, 0, 1e30, and count as −1, 0, 1.
        let scaled = |records: &mut Records, by: f32| records.iter_mut().for_each(|(_, y)| *y *= by);
        one.iter_mut().chain(&mut other).for_each(|(_, y)| *y -= 1.0);
        let bounded = values(&one, 3);
        scaled(&mut one, 1e30);
        scaled(&mut other, 1e30);
        let (one, other) = (values(&one, 3), values(&other, 3));
        let weights = |data| problem(data, plain(1.0), loss, 0.5).without_privacy().unwrap();
        assert_eq!(weights(&one), weights(&bounded));
        let (p, q) = (problem(&one, plain(1.0), loss, 0.5), problem(&other, plain(1.0), loss, 0.5));
        let apart = distance(&p.without_privacy().unwrap(), &q.without_privacy().unwrap());
        let declared = f64::from(adjacency.contributions()) * p.sensitivity();
        assert!(apart <= declared, "{adjacency}: {apart} > {declared}");
        farthest = farthest.max(apart / declared);
    }
    assert!(farthest > 0.1, "{farthest}");
}

fn output_noises() -> [OutputNoise; 2] {
    [OutputNoise::Laplace { epsilon: epsilon(1.0) }, OutputNoise::Gaussian { noise: short::noise(4.0) }]
}

fn departs(one: &Dataset, other: &Dataset, noise: OutputNoise, adjacency: Adjacency) -> Option<Departure> {
    let release = |data: &Dataset, rng: &mut NoiseStream| {
        output_perturbation(&problem(data, plain(1.0), huber(0.1), 6.0), noise, adjacency, rng).unwrap()
    };
    let mut first = NoiseStream::recording(stream(5, 0));
    let said = release(one, &mut first);
    let script = first.into_tape().unwrap();
    let mut second = NoiseStream::replaying(script.clone(), stream(5, 1));
    assert_eq!(release(other, &mut second), said);
    script.departure(&second.into_tape().unwrap())
}

#[test]
fn a_replay_on_an_adjacent_dataset_measures_no_more_than_declared_on_the_grid() {
    let mut rng = stream(4, 0);
    let mut farther = 0;
    for (one, other, adjacency) in adjacent_pairs(&mut rng, 3, 3) {
        let (mut more, last) = (one.clone(), one[one.len() - 1].clone());
        more.extend([last.clone(), last.clone(), last]);
        let (one, other, more) = (classes(&one, 3, 3), classes(&other, 3, 3), classes(&more, 3, 3));
        for noise in output_noises() {
            assert_eq!(departs(&one, &other, noise, adjacency), None, "{noise:?} {adjacency}");
            // Twin: three records more are often farther than one may be.
            farther += u32::from(departs(&one, &more, noise, Adjacency::AddRemove).is_some());
        }
    }
    assert!(farther > 50, "{farther}");
}

#[test]
fn releases_lie_on_a_grid_that_no_data_decide() {
    let mut rng = stream(6, 0);
    let (one, other) = (random_records(30, 5, 2, &mut rng), random_records(7, 5, 2, &mut rng));
    let (one, other) = (classes(&one, 5, 2), classes(&other, 5, 2));
    let release = |data: &Dataset, noise: Option<OutputNoise>| {
        let problem = problem(data, plain(1.0), ConvexLoss::Logistic, 2.0);
        let rng = &mut NoiseStream::new(stream(7, 0));
        let budget = ObjectiveNoise::Gaussian { epsilon: epsilon(1.0), delta: short::delta(1e-5) };
        match noise {
            Some(noise) => output_perturbation(&problem, noise, Adjacency::AddRemove, rng).unwrap(),
            None => objective_perturbation(&problem, budget, Adjacency::AddRemove, rng).unwrap(),
        }
    };
    for noise in output_noises().map(Some).into_iter().chain([None]) {
        let (a, b) = (release(&one, noise), release(&other, noise));
        assert_eq!(a.granularity, b.granularity);
        assert_eq!(a.mechanism, b.mechanism);
        for w in a.model.weights().iter().chain(b.model.weights()) {
            let steps = (w / a.granularity).round();
            assert_eq!(steps * a.granularity, *w, "{noise:?}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let mut rng = stream(8, 0);
    let data = classes(&random_records(2000, 11, 4, &mut rng), 11, 4);
    let release = || {
        let problem = problem(&data, with_intercept(1.0, 0.5), ConvexLoss::Logistic, 20.0);
        let noise = ObjectiveNoise::Laplace { epsilon: epsilon(4.0) };
        objective_perturbation(&problem, noise, Adjacency::AddRemove, &mut NoiseStream::new(stream(9, 0)))
            .unwrap()
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (one, three) = (pool(1).install(release), pool(3).install(release));
    assert_eq!(one, three);
    assert_eq!(one.mechanism, Mechanism::Pure { epsilon: epsilon(4.0) });
}

/// Random problems from easy to nearly flat, with and without a random linear term: a refusal would depend on the data.
#[test]
fn no_ordinary_problem_is_refused_for_want_of_digits() {
    let mut rng = stream(16, 0);
    let squared = ConvexLoss::Squared { labels: clip(1.0), residual: clip(1.5) };
    let losses = [ConvexLoss::Logistic, huber(1.0), huber(0.1), huber(0.01), squared];
    for round in 0..480 {
        let (count, width) = ([0, 1, 3, 30, 300, 700][round % 6], [1, 2, 5, 20][round / 6 % 4]);
        let (loss, total) = (losses[round / 24 % 5], [0.01, 1.0, 100.0, 10.0][round / 120]);
        let mut records = random_records(count, width, 2, &mut rng);
        // Most labels follow from the rows.
        for (row, label) in records.iter_mut().filter(|(row, _)| row[0].abs() > 0.3) {
            *label = f32::from(u8::from(row.iter().sum::<f32>() > 0.0));
        }
        let data = if loss == squared { values(&records, width) } else { classes(&records, width, 2) };
        let problem = problem(&data, with_intercept(1.0, 0.5), loss, total);
        assert!(problem.without_privacy().is_ok(), "{loss:?} {count} {width} {total}");
        for e in [1e-3, 1.0, 50.0] {
            let noise = ObjectiveNoise::Laplace { epsilon: epsilon(e) };
            let rng = &mut NoiseStream::new(stream(17, round as u64));
            let released = objective_perturbation(&problem, noise, Adjacency::ReplaceOne, rng);
            assert!(released.is_ok(), "{loss:?} {count} {width} {total} {e}");
        }
    }
}

/// The lower limit on ε that the outputs of two worlds show, by whether they exceed a threshold, once δ is taken off:
/// Clopper–Pearson limits of the two rates, half of `level` for each.
fn shown(above: u64, other: u64, trials: u64, delta: f64, level: f64) -> f64 {
    ((lower_limit(above, trials, level / 2.0) - delta) / upper_limit(other, trials, level / 2.0)).ln()
}

type Release = fn(&Problem<'_>, f64, &mut NoiseStream) -> f64;

/// One-dimensional worlds: one record at 1 of class 1, or of class 0. The slopes of a Huber hinge at small scores are −1 and 1,
/// so minimisers are as far apart as declared. Level 1e-3, seeds 10 and 11, 40,000 releases in each world; the twin has the
/// noise of twice the ε, which is half of it.
#[test]
fn simulated_releases_keep_their_epsilon_and_half_the_noise_is_refuted() {
    let world = |class: f32| classes(&vec![(vec![1.0], class)], 1, 2);
    let (one, zero) = (world(1.0), world(0.0));
    let trials = 40_000;
    let output: Release = |problem, e, rng| {
        let noise = OutputNoise::Laplace { epsilon: epsilon(e) };
        output_perturbation(problem, noise, Adjacency::ReplaceOne, rng).unwrap().model.weights()[0]
    };
    let objective: Release = |problem, e, rng| {
        let noise = ObjectiveNoise::Laplace { epsilon: epsilon(e) };
        objective_perturbation(problem, noise, Adjacency::ReplaceOne, rng).unwrap().model.weights()[0]
    };
    for (seed, release) in [(10, output), (11, objective)] {
        let evidence = |e: f64| {
            let count = |data: &Dataset, world: u64| {
                // Λ = 50 keeps the scores within the straight part of the hinge, nearly always.
                let problem = problem(data, plain(1.0), huber(0.1), 50.0);
                let mut rng = NoiseStream::new(stream(seed, world));
                (0..trials).filter(|_| release(&problem, e, &mut rng) > 1.0 / 50.0).count() as u64
            };
            shown(count(&one, 1), count(&zero, 0), trials, 0.0, 1e-3)
        };
        let found = evidence(1.0);
        assert!(found <= 1.0 && found > 0.7, "{seed}: {found}");
        let twin = evidence(2.0);
        assert!(twin > 1.0, "{seed}: half the noise shows only {twin}");
    }
}

/// As above for (ε, δ) and a record that is there or not. Level 1e-3, seed 12.
#[test]
fn simulated_gaussian_objectives_keep_epsilon_and_delta_and_little_noise_is_refuted() {
    let world = |records: Records| classes(&records, 1, 2);
    let (one, zero) = (world(vec![(vec![1.0], 1.0)]), world(vec![]));
    let (trials, delta) = (20_000, 0.01);
    let evidence = |e: f64| {
        let count = |data: &Dataset, world: u64| {
            let problem = problem(data, plain(1.0), huber(0.1), 50.0);
            let mut rng = NoiseStream::new(stream(12, world));
            let noise = ObjectiveNoise::Gaussian { epsilon: epsilon(e), delta: short::delta(delta) };
            (0..trials)
                .map(|_| objective_perturbation(&problem, noise, Adjacency::AddRemove, &mut rng).unwrap())
                .filter(|released| released.model.weights()[0] > 1.0 / 50.0)
                .count() as u64
        };
        shown(count(&one, 1), count(&zero, 0), trials, delta, 1e-3)
    };
    let found = evidence(1.0);
    assert!(found <= 1.0, "{found}");
    let twin = evidence(8.0);
    assert!(twin > 1.0, "little noise shows only {twin}");
}

/// The part of the records that a model puts in the right class.
fn right(data: &Dataset, model: &LinearModel) -> f64 {
    let found = model.classes(data).unwrap();
    let Labels::Classes { of, .. } = data.labels() else { unreachable!("made with classes") };
    found.iter().zip(of).filter(|(a, b)| a == b).count() as f64 / of.len() as f64
}

#[test]
fn separable_classes_are_learnt_privately() {
    let mut rng = stream(13, 0);
    let mut records = random_records(6000, 8, 3, &mut rng);
    for (x, y) in &mut records {
        x.iter_mut().for_each(|x| *x *= 0.3);
        x[*y as usize] += 2.0;
    }
    let three = classes(&records, 8, 3);
    let two: Records = records.into_iter().filter(|(_, y)| *y < 2.0).collect();
    let two = classes(&two, 8, 2);
    let delta = short::delta(1e-5);
    let (laplace, gaussian) = (
        ObjectiveNoise::Laplace { epsilon: epsilon(1.0) },
        ObjectiveNoise::Gaussian { epsilon: epsilon(1.0), delta },
    );
    for (data, total) in [(&two, 40.0), (&three, 60.0)] {
        for loss in [ConvexLoss::Logistic, huber(0.5)] {
            let problem = problem(data, with_intercept(1.0, 0.3), loss, total);
            let rng = &mut NoiseStream::new(stream(14, 0));
            let adjacency = Adjacency::AddRemove;
            let mut models = vec![problem.without_privacy().unwrap()];
            for noise in output_noises() {
                models.push(output_perturbation(&problem, noise, adjacency, rng).unwrap().model);
            }
            for noise in [laplace, gaussian] {
                models.push(objective_perturbation(&problem, noise, adjacency, rng).unwrap().model);
            }
            let accuracies: Vec<f64> = models.iter().map(|model| right(data, model)).collect();
            assert!(accuracies.iter().all(|right| *right > 0.95), "{loss:?} {accuracies:?}");
            // Twin: with next to no ε, what is learnt is noise.
            let noise = ObjectiveNoise::Laplace { epsilon: epsilon(1e-4) };
            let blind = objective_perturbation(&problem, noise, adjacency, rng).unwrap().model;
            assert!(right(data, &blind) < 0.9, "{loss:?} {}", right(data, &blind));
        }
    }
}

#[test]
fn what_no_theorem_covers_is_refused_in_one_line() {
    let data = classes(&vec![(vec![1.0, 2.0], 0.0), (vec![0.5, 1.0], 1.0)], 2, 2);
    let numbers = values(&vec![(vec![1.0, 2.0], 0.5)], 2);
    let say = |refusal: veracity_core::Refusal| refusal.to_string();
    let expected = "a number > 0 whose product with the planned number of records is between 1e-12 and 1e30";
    assert_eq!(
        say(Regularisation::new(0.0, Count::ONE).unwrap_err()),
        format!("regularisation is 0, expected {expected}")
    );
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(Regularisation::new(bad, Count::ONE).is_err());
    }
    let too_large = RowBound::new(clip(1.0), Intercept::Constant(clip(1.0)), Manner::Clip).unwrap_err();
    assert_eq!(say(too_large), "intercept is 1, expected a number below the norm bound of a row");
    let features = BoundedFeatures::new(&numbers, plain(1.0));
    let unsuited = Problem::new(features, ConvexLoss::Logistic, penalty(1.0)).unwrap_err();
    assert!(say(unsuited).starts_with("the labels do not match the loss"));

    let problem = problem(&data, plain(1.0), ConvexLoss::Logistic, 1.0);
    let rng = &mut NoiseStream::new(stream(15, 0));
    let mut output =
        |noise| say(output_perturbation(&problem, noise, Adjacency::ReplaceOne, rng).unwrap_err());
    for bad in [0.0, f64::INFINITY] {
        let refusal = output(OutputNoise::Laplace { epsilon: epsilon(bad) });
        assert!(refusal.starts_with("epsilon is "), "{refusal}");
    }
    let refusal = output(OutputNoise::Gaussian { noise: short::noise(1e8) });
    assert!(refusal.starts_with("noise multiplier is 100000000, expected less noise"), "{refusal}");
    let zero = ObjectiveNoise::Gaussian { epsilon: epsilon(1.0), delta: short::delta(0.0) };
    let refusal = say(objective_perturbation(&problem, zero, Adjacency::AddRemove, rng).unwrap_err());
    assert_eq!(refusal, "delta is 0, expected a larger delta, or laplace noise, which needs no delta");
    let wider = values(&vec![(vec![1.0, 2.0, 3.0], 0.5)], 3);
    assert!(problem.without_privacy().unwrap().scores(&wider).is_err());
}
