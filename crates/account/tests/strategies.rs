//! What correlated noise leaks, and how well strategies serve running sums, against figures from outside and closed forms.

use veracity_account::{
    Method, Part, Question, epsilon_at,
    expand::expand,
    matrix::{
        errors::{self, PrefixErrors},
        optimal::{self, Aim},
    },
};
use veracity_core::{Adjacency, Coefficients, Mechanism, Participation, Refusal, Strategy, TriangularMatrix};
use veracity_testkit::short::{self, count};

fn toeplitz(coefficients: &[f64], steps: u64) -> Strategy {
    Strategy::Banded { steps: count(steps), coefficients: Coefficients::new(coefficients.to_vec()).unwrap() }
}

fn matrix(strategy: Strategy, participation: Participation, noise: f64) -> Mechanism {
    Mechanism::Matrix { strategy, participation, noise_multiplier: short::noise(noise) }
}

fn in_turns(groups: u64, rate: f64) -> Participation {
    Participation::CyclicPoisson { groups: count(groups), rate: short::rate(rate) }
}

fn epsilon(mechanism: &Mechanism, adjacency: Adjacency, delta: f64) -> Result<(Option<f64>, f64), Refusal> {
    let question = Question { mechanism: mechanism.clone(), adjacency };
    let found = epsilon_at(&question, short::delta(delta), Method::Exact)?;
    let upper = found.upper().expect("the exact method bounds from above").0.get();
    Ok((found.lower().map(|lower| lower.0.get()), upper))
}

/// Both have the same certified interval, up to the last digits.
fn alike(one: &Mechanism, other: &Mechanism) {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        for delta in [1e-8, 1e-5, 1e-2] {
            let (here, there) =
                (epsilon(one, adjacency, delta).unwrap(), epsilon(other, adjacency, delta).unwrap());
            let (low, high) = (here.0.unwrap(), there.0.unwrap());
            assert!(low <= there.1 && high <= here.1, "{adjacency} {delta}: {here:?} {there:?}");
            assert!((here.1 / there.1 - 1.0).abs() < 2e-6, "{adjacency} {delta}: {here:?} {there:?}");
        }
    }
}

#[test]
fn noise_without_correlation_is_one_gaussian_for_each_participation() {
    let gaussian = |noise: f64| short::gaussian(noise);
    alike(&matrix(toeplitz(&[1.0], 100), Participation::Once, 1.5), &gaussian(1.5));
    let nine = Participation::Separated { times: count(9), separation: count(10) };
    alike(&matrix(toeplitz(&[1.0], 100), nine, 4.0), &gaussian(4.0).repeated(count(9)));
    alike(&matrix(Strategy::Tree { steps: count(8) }, Participation::Once, 6.0), &gaussian(3.0));
}

#[test]
fn a_band_of_one_in_turns_is_dp_sgd() {
    let sgd = short::dp_sgd(0.02, 1.1, 200);
    alike(&matrix(toeplitz(&[1.0], 200), in_turns(1, 0.02), 1.1), &sgd);
}

#[test]
fn a_band_in_turns_is_a_sampled_gaussian_for_each_turn() {
    // 200 steps in turns of 8: 25 sampled Gaussians at a noise multiplier of 2.5 over the norm of a column.
    let band = [1.0, 0.5, 0.375, 0.3125];
    let norm = band.iter().map(|c| c * c).sum::<f64>().sqrt();
    let turns = short::dp_sgd(0.16, 2.5 / norm, 25);
    alike(&matrix(toeplitz(&band, 200), in_turns(8, 0.16), 2.5), &turns);
    // All of them sampled is a participation that is separated.
    let apart = Participation::Separated { times: count(25), separation: count(8) };
    alike(&matrix(toeplitz(&band, 200), in_turns(8, 1.0), 9.0), &matrix(toeplitz(&band, 200), apart, 9.0));
}

#[test]
fn the_last_turn_counts_with_the_rows_that_are_left() {
    let parts = |steps| {
        let mechanism = matrix(toeplitz(&[1.0, 1.0, 1.0], steps), in_turns(4, 0.5), 1.0);
        expand(&mechanism, Adjacency::AddRemove).unwrap().remove(0).parts
    };
    let shift = |part: &Part| match part {
        Part::PoissonSampled { part, .. } => match **part {
            Part::Gaussian { mu } => mu * mu,
            _ => panic!(),
        },
        _ => panic!(),
    };
    let near = |x: f64, whole: f64| (x - whole).abs() < 1e-12;
    for (steps, turns, rows) in
        [(8, 2, 3.0), (9, 3, 1.0), (10, 3, 2.0), (11, 3, 3.0), (12, 3, 3.0), (2, 1, 2.0)]
    {
        let found = parts(steps);
        assert_eq!(found.iter().map(|(_, times)| times.get()).sum::<u64>(), turns, "{steps}");
        assert!(near(shift(&found.last().unwrap().0), rows), "{steps}: {found:?}");
        assert!(turns == 1 || near(shift(&found[0].0), 3.0), "{steps}: {found:?}");
    }
}

#[test]
fn fewer_groups_than_bands_a_tree_and_groups_of_records_are_refused_in_turns() {
    let refused =
        |mechanism: &Mechanism| epsilon(mechanism, Adjacency::AddRemove, 1e-5).unwrap_err().to_string();
    let narrow = refused(&matrix(toeplitz(&[1.0, 0.5, 0.2], 30), in_turns(2, 0.1), 1.0));
    assert_eq!(narrow, "groups is 2, expected at least 3, the number of bands of the strategy");
    let tree = refused(&matrix(Strategy::Tree { steps: count(16) }, in_turns(4, 0.1), 1.0));
    assert!(tree.starts_with("no theorem for a tree under cyclic poisson sampling; use a banded"), "{tree}");
    let two = Mechanism::Group {
        size: count(2),
        mechanism: Box::new(matrix(toeplitz(&[1.0], 30), in_turns(2, 0.1), 1.0)),
    };
    assert!(refused(&two).starts_with("no theorem for cyclic poisson sampling under group privacy"));
    // A zero beyond the band of a written matrix does not widen it, a tiny number does.
    let rows = |corner: f64| {
        let rows = vec![vec![1.0], vec![0.5, 1.2], vec![corner, 0.4, 1.0], vec![0.0, corner, 0.3, 1.1]];
        matrix(Strategy::Written(TriangularMatrix::new(rows).unwrap()), in_turns(2, 0.1), 1.0)
    };
    assert!(epsilon(&rows(0.0), Adjacency::AddRemove, 1e-5).is_ok());
    assert!(refused(&rows(1e-12)).starts_with("groups is 2, expected at least 3"));
}

#[test]
fn a_bound_that_may_not_be_attained_has_no_lower_end() {
    let rising = matrix(
        toeplitz(&[0.5, 1.0, -0.25], 30),
        Participation::Separated { times: count(5), separation: count(2) },
        2.0,
    );
    let (lower, _) = epsilon(&rising, Adjacency::AddRemove, 1e-5).unwrap();
    assert_eq!(lower, None);
    let uneven = vec![vec![1.0], vec![0.5, 1.2], vec![0.0, 0.4, 1.0], vec![0.0, 0.0, 0.3, 1.1]];
    let uneven = Strategy::Written(TriangularMatrix::new(uneven).unwrap());
    let (lower, _) = epsilon(&matrix(uneven, in_turns(2, 0.1), 1.0), Adjacency::AddRemove, 1e-5).unwrap();
    assert_eq!(lower, None);
}

#[test]
fn two_records_that_contribute_alike_move_twice_as_far() {
    let once = |noise| matrix(Strategy::Tree { steps: count(100) }, Participation::Once, noise);
    let pair = Mechanism::Group { size: count(2), mechanism: Box::new(once(4.0)) };
    alike(&pair, &once(2.0));
}

/// The errors by matrices: A C⁻¹ column by column.
fn slow_errors(band: &[f64], steps: usize) -> PrefixErrors {
    let mut noise = vec![vec![0.0f64; steps]; steps];
    for (start, column) in noise.iter_mut().enumerate() {
        for t in start..steps {
            let rest: f64 = (1..band.len().min(t - start + 1)).map(|j| band[j] * column[t - j]).sum();
            column[t] = (f64::from(u8::from(t == start)) - rest) / band[0];
        }
        let mut sum = 0.0;
        for x in column.iter_mut() {
            sum += *x;
            *x = sum;
        }
    }
    let square: f64 = band.iter().take(steps).map(|c| c * c).sum();
    let variances: Vec<f64> =
        (0..steps).map(|t| noise.iter().map(|column| column[t] * column[t]).sum::<f64>() * square).collect();
    PrefixErrors {
        mean: variances.iter().sum::<f64>() / steps as f64,
        largest: variances.iter().copied().fold(0.0, f64::max),
    }
}

fn near(one: f64, other: f64, relative: f64) {
    assert!((one / other - 1.0).abs() <= relative, "{one} {other}");
}

#[test]
fn errors_are_those_of_the_matrices() {
    for (band, steps) in [
        (vec![1.0, 0.5, 0.375], 40usize),
        (vec![2.0, -0.3], 17),
        (vec![1.0], 9),
        (vec![1.0, 0.9, 0.8, 0.7], 3),
    ] {
        let fast = errors::banded(&Coefficients::new(band.clone()).unwrap(), count(steps as u64)).unwrap();
        let slow = slow_errors(&band, steps);
        near(fast.mean, slow.mean, 1e-12);
        near(fast.largest, slow.largest, 1e-12);
    }
    let plain = slow_errors(&[1.0], 50);
    assert_eq!(errors::independent(count(50)), plain);
}

#[test]
fn a_tree_errs_by_the_ones_of_its_steps() {
    for steps in 1u64..300 {
        let ones = |t: u64| f64::from(t.count_ones());
        let levels = f64::from(steps.ilog2() + 1);
        let found = errors::tree(count(steps));
        near(found.mean, levels * (1..=steps).map(ones).sum::<f64>() / steps as f64, 1e-13);
        assert_eq!(found.largest, levels * (1..=steps).map(ones).fold(0.0, f64::max), "{steps}");
    }
}

#[test]
fn the_square_root_errs_as_published() {
    // jax_privacy 2.0.0, float64: sensitivity², mean and largest of toeplitz.per_query_error × sensitivity² of
    // optimal_max_error_strategy_coefs(n); the largest is the square of the sensitivity².
    for (steps, square, mean, largest) in [
        (16u64, 1.9438788471567705, 3.2285421310207427, 3.778664972423535),
        (64, 2.388848108295435, 4.9714571679236395, 5.706595284506676),
        (1024, 3.2725541502731357, 9.670793265309426, 10.709610666469905),
    ] {
        let root = errors::square_root(count(steps)).unwrap();
        let found = errors::banded(&root, count(steps)).unwrap();
        near(root.get().iter().map(|c| c * c).sum(), square, 1e-13);
        near(found.mean, mean, 1e-12);
        near(found.largest, largest, 1e-12);
        near(found.largest, square * square, 1e-12);
        // Sums of (C(2k, k)/4^k)² are Landau's constants, (ln n + γ + 4 ln 2)/π − 1/(4πn) + …: sensitivity² of the root.
        let n = steps as f64;
        let landau = (n.ln() + 0.5772156649015329 + 4.0 * 2f64.ln() - 0.25 / n) / std::f64::consts::PI;
        assert!((square - landau).abs() < 0.02 / (n * n), "{square} {landau}");
    }
}

#[test]
fn optimal_bands_are_as_good_as_the_peers() {
    // jax_privacy 2.0.0, float64, toeplitz.optimize_banded_toeplitz(n, bands, reduction_fn, max_optimizer_steps=1000):
    // mean error of the best mean, largest error of the best largest.
    for (steps, bands, mean, largest) in [
        (16u64, 4u64, 3.75402356636153, 5.9369337172517245),
        (64, 8, 7.09676191688255, 11.72575368897956),
        (128, 16, 8.251567183025738, 13.210060193593453),
        (256, 16, 13.23194332709246, 22.51255480045566),
        (512, 32, 14.820266156693773, 24.55756906124396),
        (1024, 64, 16.531652097861347, 26.738859876241076),
        (1000, 10, 57.618075873473934, 109.55052722591056),
    ] {
        let by = |aim| {
            let band = optimal::banded(count(steps), count(bands), aim).unwrap();
            let norm: f64 = band.get().iter().map(|c| c * c).sum();
            near(norm, 1.0, 1e-14);
            errors::banded(&band, count(steps)).unwrap()
        };
        let (best_mean, best_largest) = (by(Aim::Mean).mean, by(Aim::Largest).largest);
        assert!(best_mean <= mean * (1.0 + 1e-9), "{steps} {bands}: mean {best_mean}, peer {mean}");
        assert!(
            best_largest <= largest * (1.0 + 1e-9),
            "{steps} {bands}: largest {best_largest}, peer {largest}"
        );
        near(best_mean, mean, 1e-4);
        near(best_largest, largest, 1e-4);
    }
}

#[test]
fn the_band_for_sixteen_steps_is_the_peers_band() {
    // As above, for the mean over 16 steps in 4 bands.
    let peer = [0.7948752814969295, 0.4384330415602046, 0.3292740797771222, 0.25986214676319114];
    let ours = optimal::banded(count(16), count(4), Aim::Mean).unwrap();
    ours.get().iter().zip(peer).for_each(|(here, there)| near(*here, there, 1e-4));
}

#[test]
fn no_strategy_beats_the_nuclear_norm_and_wider_bands_never_err_more() {
    for steps in [1u64, 2, 16, 100, 256] {
        let least = errors::least_mean(count(steps)).unwrap();
        let mut last = f64::INFINITY;
        for bands in [1, 2, 4, 8, 16, 64].into_iter().filter(|bands| *bands <= steps) {
            let band = optimal::banded(count(steps), count(bands), Aim::Mean).unwrap();
            let mean = errors::banded(&band, count(steps)).unwrap().mean;
            assert!(mean >= least, "{steps} {bands}: {mean} {least}");
            assert!(mean <= last * (1.0 + 1e-9), "{steps} {bands}: {mean} {last}");
            last = mean;
        }
        let root = errors::banded(&errors::square_root(count(steps)).unwrap(), count(steps)).unwrap();
        assert!(root.mean >= least && errors::tree(count(steps)).mean >= least, "{steps}: {root:?} {least}");
        // With as many bands as steps, the best Toeplitz band comes near what no strategy beats.
        let all = optimal::banded(count(steps), count(steps), Aim::Mean).unwrap();
        let all = errors::banded(&all, count(steps)).unwrap().mean;
        assert!(all <= root.mean * (1.0 + 1e-12) && all <= 1.2 * least, "{steps}: {all} {least}");
    }
}

#[test]
fn more_bands_than_steps_or_too_much_work_is_refused() {
    let refused =
        |steps, bands| optimal::banded(count(steps), count(bands), Aim::Mean).unwrap_err().to_string();
    assert_eq!(refused(10, 11), "bands is 11, expected at most as many bands as steps");
    assert!(
        refused(1 << 20, 1 << 10).starts_with("steps times bands is 1073741824, expected at most 16,777,216")
    );
}
