//! Choices by score and reports: each against its exact law, worked out by hand or by enumeration.

use veracity_core::numerics::binomial::{log_lower_tail, log_upper_tail};
use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_mechanisms::{
    Bounds, Column, ErrorBar, Movement, NoiseKind, Question, Rank, Selection, Side, SparseVector, Statistic,
    exponential, permute_and_flip, report_noisy_max,
};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_testkit::short::{self, epsilon};

type Choose = fn(&[i64], Count, Movement, Epsilon, &mut NoiseStream) -> Result<Selection, Refusal>;

fn rng(seed: u64) -> NoiseStream {
    NoiseStream::new(Entropy::seeded(seed).stream(Purpose::Noise, Key::default()))
}

/// Whether counts fit a law: each count's exact binomial tails are above 1e-7.
fn fits(counts: &[u64], law: &[f64]) -> bool {
    let runs = counts.iter().sum();
    counts.iter().zip(law).all(|(count, p)| {
        let tail = log_lower_tail(runs, *count, *p).min(log_upper_tail(runs, *count, *p));
        tail > 1e-7f64.ln()
    })
}

fn counts(choose: Choose, scores: &[i64], movement: Movement, runs: u32) -> Vec<u64> {
    let (mut rng, mut counts) = (rng(1), vec![0; scores.len()]);
    for _ in 0..runs {
        let sensitivity = short::count(3);
        counts[choose(scores, sensitivity, movement, epsilon(1.2), &mut rng).unwrap().index] += 1;
    }
    counts
}

/// P ∝ exp(ε score/2Δ).
fn exponential_law(scores: &[i64], widening: f64, epsilon: f64) -> Vec<f64> {
    let weights: Vec<f64> = scores.iter().map(|s| (epsilon * *s as f64 / widening).exp()).collect();
    let whole: f64 = weights.iter().sum();
    weights.iter().map(|w| w / whole).collect()
}

/// Over all orders: the first whose coin comes up.
fn permute_and_flip_law(scores: &[i64], widening: f64, epsilon: f64) -> Vec<f64> {
    fn walk(left: &[usize], reached: f64, bias: &[f64], law: &mut [f64]) {
        for (place, i) in left.iter().enumerate() {
            let here = reached / left.len() as f64;
            law[*i] += here * bias[*i];
            let mut rest = left.to_vec();
            rest.remove(place);
            walk(&rest, here * (1.0 - bias[*i]), bias, law);
        }
    }
    let best = *scores.iter().max().unwrap();
    let bias: Vec<f64> = scores.iter().map(|s| (epsilon * (s - best) as f64 / widening).exp()).collect();
    let mut law = vec![0.0; scores.len()];
    walk(&(0..scores.len()).collect::<Vec<_>>(), 1.0, &bias, &mut law);
    law
}

/// Over all noises of the winner: the others must stay below, or level with one that comes after.
fn noisy_max_law(scores: &[i64], widening: f64, epsilon: f64) -> Vec<f64> {
    let q = (-epsilon / widening).exp();
    let mass = |x: i64| (1.0 - q) / (1.0 + q) * q.powi(x.unsigned_abs() as i32);
    let at_most =
        |x: i64| if x >= 0 { 1.0 - q.powi(x as i32 + 1) / (1.0 + q) } else { q.powi(-x as i32) / (1.0 + q) };
    let wins = |i: usize| -> f64 {
        let at = |z: i64| {
            let others = scores.iter().enumerate().filter(|(j, _)| *j != i);
            others.map(|(j, s)| at_most(scores[i] + z - s - i64::from(j < i))).product::<f64>() * mass(z)
        };
        // Farther out there is less than e^−40.
        let far = (40.0 * widening / epsilon) as i64;
        (-far..=far).map(at).sum()
    };
    (0..scores.len()).map(wins).collect()
}

/// 100 000 choices each, seed 1; the twin is the law at another ε.
#[test]
fn choices_follow_their_exact_laws() {
    let scores = [4, 0, 7, 7, -2];
    type Law = fn(&[i64], f64, f64) -> Vec<f64>;
    let pairs: [(&str, Choose, Law); 3] = [
        ("exponential", exponential, exponential_law),
        ("permute-and-flip", permute_and_flip, permute_and_flip_law),
        ("noisy max", report_noisy_max, noisy_max_law),
    ];
    for (name, choose, law) in pairs {
        for (movement, widening) in [(Movement::Any, 6.0), (Movement::Together, 3.0)] {
            let found = counts(choose, &scores, movement, 100_000);
            let expected = law(&scores, widening, 1.2);
            assert!((expected.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{name}");
            assert!(fits(&found, &expected), "{name} {movement:?}: {found:?} {expected:?}");
            assert!(!fits(&found, &law(&scores, widening, 1.0)), "{name} {movement:?}: the test is blind");
        }
    }
}

/// The exact laws on every neighbouring pair of small score vectors: no ratio above e^ε, and some ratio near it, so a
/// smaller claim would be false. With the noise for scores that move together, scores that do not break the promise.
#[test]
fn the_laws_keep_their_epsilon_and_no_less() {
    type Law = fn(&[i64], f64, f64) -> Vec<f64>;
    let laws: [(Law, f64); 3] = [(exponential_law, 0.6), (permute_and_flip_law, 0.99), (noisy_max_law, 0.8)];
    let epsilon = 0.9;
    let worst = |law: Law, widening: f64, moves: &[i64]| {
        let mut worst: f64 = 0.0;
        for base in 0..27i64 {
            let scores: Vec<i64> = (0..3).map(|i| base / 3i64.pow(i) % 3 * 4).collect();
            for change in 0..27i64 {
                let delta = |i: u32| moves[(change / 3i64.pow(i) % 3) as usize % moves.len()];
                let moved: Vec<i64> = (0..3u32).map(|i| scores[i as usize] + delta(i)).collect();
                let (one, other) = (law(&scores, widening, epsilon), law(&moved, widening, epsilon));
                worst = one.iter().zip(&other).map(|(p, q)| (p / q).ln().abs()).fold(worst, f64::max);
            }
        }
        worst
    };
    for (law, close) in laws {
        let any = worst(law, 2.0, &[-1, 0, 1]);
        assert!(any <= epsilon + 1e-9 && any >= close * epsilon, "{any}");
        let together = worst(law, 1.0, &[0, 1]);
        assert!(together <= epsilon + 1e-9 && together >= close * epsilon, "{together}");
        assert!(worst(law, 1.0, &[-1, 0, 1]) > epsilon * 1.05);
    }
}

/// 20 000 choices among 3000 with one best, seed 8, where a uniform proposal would be kept once in thousands: gaps from
/// nothing to far past the last level of proposals. The twin is the law at another ε.
#[test]
fn a_choice_among_many_follows_its_exact_law() {
    let mut scores = vec![-27i64; 3000];
    scores[17] = 0;
    scores[1000..1400].fill(-14);
    scores[2000..2100].fill(-500);
    let mut rng = rng(8);
    let mut counts = vec![0; 4];
    for _ in 0..20_000 {
        let chosen = exponential(&scores, Count::ONE, Movement::Together, epsilon(0.4), &mut rng).unwrap();
        let kinds = [0, -14, -27, -500];
        counts[kinds.iter().position(|kind| *kind == scores[chosen.index]).unwrap()] += 1;
    }
    let law = |epsilon: f64| {
        let each = exponential_law(&scores, 1.0, epsilon);
        let of = |kind| scores.iter().zip(&each).filter(|(s, _)| **s == kind).map(|(_, p)| p).sum::<f64>();
        [of(0), of(-14), of(-27), of(-500)]
    };
    assert!(fits(&counts[..3], &law(0.4)[..3]) && counts[3] == 0, "{counts:?} {:?}", law(0.4));
    assert!(!fits(&counts[..3], &law(0.38)[..3]), "{counts:?} {:?}", law(0.38));
}

/// 20 000 choices each, seed 1, level 1e-6: the score error is passed at most once in twenty.
#[test]
fn score_errors_hold() {
    let scores: Vec<i64> = (0..50).map(|i| -5 * i).collect();
    for choose in [exponential as Choose, permute_and_flip, report_noisy_max] {
        let found = counts(choose, &scores, Movement::Any, 20_000);
        let bar = choose(&scores, short::count(3), Movement::Any, epsilon(1.2), &mut rng(2)).unwrap();
        let beyond = |factor: f64| {
            let past = |score: i64| -score as f64 > bar.score_error * factor;
            scores.iter().zip(&found).filter(|(s, _)| past(**s)).map(|(_, count)| count).sum::<u64>()
        };
        let too_many = |misses| log_upper_tail(20_000, misses, 0.05) < 1e-6f64.ln();
        assert!(!too_many(beyond(1.0)) && too_many(beyond(0.1)), "{}", bar.score_error);
    }
}

#[test]
fn what_a_choice_costs_is_stated() {
    let choose =
        |f: Choose| f(&[1, 2], Count::ONE, Movement::Any, epsilon(0.5), &mut rng(3)).unwrap().mechanism;
    assert_eq!(choose(exponential), Mechanism::Exponential { epsilon: epsilon(0.5) });
    assert_eq!(choose(permute_and_flip), Mechanism::Pure { epsilon: epsilon(0.5) });
    assert_eq!(choose(report_noisy_max), Mechanism::Pure { epsilon: epsilon(0.5) });
    for bad in [0.0, 1e-10, f64::INFINITY] {
        assert!(exponential(&[1], Count::ONE, Movement::Any, epsilon(bad), &mut rng(3)).is_err(), "{bad}");
    }
    assert!(exponential(&[], Count::ONE, Movement::Any, epsilon(1.0), &mut rng(3)).is_err());
}

/// Seed 4: extreme scores neither overflow nor hang.
#[test]
fn extreme_scores_are_chosen_among() {
    for choose in [exponential as Choose, permute_and_flip, report_noisy_max] {
        let scores = [i64::MIN, i64::MAX, i64::MAX - 1, 0];
        let sensitivity = short::count(1000);
        let chosen = choose(&scores, sensitivity, Movement::Any, epsilon(1.0), &mut rng(4)).unwrap();
        assert!([1, 2].contains(&chosen.index));
    }
}

/// The chance of a pattern of answers of the sparse vector, summed over all noises of the threshold.
fn sparse_law(queries: &[i64], sides: &[Side], scales: (f64, f64)) -> f64 {
    let (a, b) = ((-1.0 / scales.0).exp(), (-1.0 / scales.1).exp());
    let at_least = |x: i64| {
        if x > 0 { b.powi(x as i32) / (1.0 + b) } else { 1.0 - b.powi(1 - x as i32) / (1.0 + b) }
    };
    let given = |rho: i64| {
        let answers = queries.iter().zip(sides).map(|(query, side)| {
            let above = at_least(rho - query);
            if *side == Side::Above { above } else { 1.0 - above }
        });
        (1.0 - a) / (1.0 + a) * a.powi(rho.unsigned_abs() as i32) * answers.product::<f64>()
    };
    // Farther out there is less than e^−40.
    let far = (40.0 * scales.0) as i64;
    (-far..=far).map(given).sum()
}

/// For one hit: queries before it, and the exact chances on neighbouring queries. ε₁:ε₂ is 1:2^⅔. The twin halves the
/// noise of queries and breaks the promise.
#[test]
fn the_sparse_vector_keeps_its_epsilon() {
    let epsilon = 0.8f64;
    let share = 2f64.powf(2.0 / 3.0);
    let scales = ((1.0 + share) / epsilon, 2.0 * (1.0 + share) / share / epsilon);
    let worst = |scales| {
        let mut worst: f64 = 0.0;
        for n in 1..=12 {
            let sides: Vec<Side> =
                (0..n).map(|i| if i + 1 == n { Side::Above } else { Side::Below }).collect();
            for level in [-3, 0, 3] {
                let one = vec![level; n];
                // What is below rises, what hits falls, and the other way round.
                for sign in [-1, 1] {
                    let moved = |i| if i + 1 == n { level - sign } else { level + sign };
                    let other: Vec<i64> = (0..n).map(moved).collect();
                    let ratio = sparse_law(&one, &sides, scales) / sparse_law(&other, &sides, scales);
                    worst = worst.max(ratio.ln().abs());
                }
            }
        }
        worst
    };
    assert!(worst(scales) <= epsilon + 1e-9 && worst(scales) > 0.6 * epsilon, "{}", worst(scales));
    assert!(worst((scales.0 / 2.0, scales.1 / 2.0)) > epsilon);
}

/// 50 000 runs on three queries, seed 5: the pattern below, below, above has its exact chance; the twin, at another ε, not.
#[test]
fn the_sparse_vector_follows_its_law_and_stops() {
    let (mut rng, mut hits) = (rng(5), 0);
    let queries = [-6, -6, 6];
    for _ in 0..50_000 {
        let mut sparse =
            SparseVector::new(0, Count::ONE, Movement::Any, Count::ONE, epsilon(0.8), &mut rng).unwrap();
        let said: Vec<_> = queries.iter().map_while(|query| sparse.ask(*query, &mut rng)).collect();
        let stopped = said.iter().position(|side| *side == Side::Above);
        assert_eq!(stopped.is_some(), sparse.hits_left() == 0);
        assert!(stopped.is_none_or(|place| place + 1 == said.len()));
        assert_eq!(sparse.ask(100, &mut rng).is_none(), stopped.is_some());
        hits += u64::from(stopped == Some(2));
    }
    let share = 2f64.powf(2.0 / 3.0);
    let law = |epsilon: f64| {
        let scales = ((1.0 + share) / epsilon, 2.0 * (1.0 + share) / share / epsilon);
        let chance = sparse_law(&queries, &[Side::Below, Side::Below, Side::Above], scales);
        [chance, 1.0 - chance]
    };
    let found = [hits, 50_000 - hits];
    assert!(fits(&found, &law(0.8)), "{found:?} {:?}", law(0.8));
    assert!(!fits(&found, &law(1.2)), "{found:?} {:?}", law(1.2));
}

/// 100 000 reports each, seed 6.
#[test]
fn the_noisy_threshold_is_not_printed() {
    // 10^12 with noise of scale below 10^4: whatever it is, its first digits are these.
    let (one, movement) = (Count::ONE, Movement::Any);
    let sparse =
        SparseVector::new(1_000_000_500_000, one, movement, one, epsilon(0.01), &mut rng(1)).unwrap();
    let printed = format!("{sparse:?}");
    assert!(!printed.contains("10000") && printed.contains("hits_left"), "{printed}");
}

/// 30 000 quantiles of four values on five points, seed 7, against the exact law; the twin at another ε.
#[test]
fn quantiles_follow_their_exact_law() {
    let bounds = Bounds::new(0.0, 4.0).unwrap();
    let (rank, bar) = (Rank::new(1, 2).unwrap(), ErrorBar::Charged);
    let statistic = Statistic::Quantile { bounds, rank, steps: 4, bar };
    let question = Question { statistic, adjacency: Default::default() };
    let design = question.design(NoiseKind::Laplace, short::noise(0.5)).unwrap();
    let column = Column::from(vec![Some(1.0), Some(1.0), None, Some(2.5), Some(9.0), Some(f64::NAN)]);
    let (mut rng, mut counts) = (rng(7), vec![0; 5]);
    for _ in 0..30_000 {
        counts[design.release(&column, &mut rng).unwrap().cells[0].value as usize] += 1;
    }
    // By hand: 2.5 goes to 3 and 9 to 4, so the ranks at 0..4 are 0 to 0, 0 to 2, 2 to 2, 2 to 3, 3 to 4.
    let scores = [-4, 0, 0, 0, -2];
    assert!(fits(&counts, &exponential_law(&scores, 2.0, 2.0)), "{counts:?}");
    assert!(!fits(&counts, &exponential_law(&scores, 2.0, 1.8)), "{counts:?}");
}

/// 30 000 quantiles of no values on 101 points, seed 9: all scores are alike, and of the weights tens have 10 and others 8.
/// The twin has equal weights.
#[test]
fn round_points_are_likelier_by_their_weight() {
    let bounds = Bounds::new(0.0, 100.0).unwrap();
    let (rank, bar) = (Rank::new(1, 2).unwrap(), ErrorBar::Charged);
    let statistic = Statistic::Quantile { bounds, rank, steps: 100, bar };
    let question = Question { statistic, adjacency: Default::default() };
    let design = question.design(NoiseKind::Laplace, short::noise(0.5)).unwrap();
    let mut rng = rng(9);
    let mut counts = [0; 2];
    for _ in 0..30_000 {
        let answer = design.release(&Column::from(vec![f64::NAN]), &mut rng).unwrap().cells[0].value;
        counts[usize::from(answer % 10.0 == 0.0)] += 1;
    }
    let law = |tens: f64, others: f64| {
        let (tens, others) = (11.0 * tens, 90.0 * others);
        [others / (tens + others), tens / (tens + others)]
    };
    assert!(fits(&counts, &law(10.0, 8.0)), "{counts:?}");
    assert!(!fits(&counts, &law(1.0, 1.0)), "{counts:?}");
}
