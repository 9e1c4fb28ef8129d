//! Choices with mistakes in what is compared, told or weighed.

use super::{Health, SPLIT, delta, fixed, pure};
use crate::zoo::planted::{
    Exhibit, Specimen,
    exhibit::{Game, Trial},
};
use veracity_audit::{Method, World};
use veracity_core::{Adjacency, Count, Epsilon, Refusal};
use veracity_mechanisms::{Movement, Side, SparseVector, exponential, report_noisy_max};
use veracity_noise::{NoiseStream, Ratio, exact};

pub(super) fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    let pair = |name, what, epsilon, method, play: Play| {
        let of = |health| -> Result<Specimen, Refusal> {
            Game::runs(seed, TRIALS, method, move |world, trial| play(health, world, trial))
        };
        let pair = [of(Health::Sick)?, of(Health::Sound)?];
        let claim = (Adjacency::ReplaceOne, delta(0.0)?);
        Ok::<_, Refusal>(Exhibit::new(name, what, pure(epsilon)?, claim, pair))
    };
    // What is counted is whether one thing happened.
    let certain: Method = fixed(0.5);
    Ok(vec![
        pair(
            "sparse-vector-without-query-noise",
            "a noisy threshold is compared with queries without noise",
            EPSILON,
            certain,
            clean_queries,
        )?,
        pair(
            "sparse-vector-never-stops",
            "the number of answers above the threshold is unlimited, but the noise is scaled for one",
            EPSILON,
            SPLIT,
            endless,
        )?,
        pair(
            "noisy-max-tells-the-value",
            "the winner of a noisy maximum is released with its exact score",
            EPSILON,
            certain,
            tells_value,
        )?,
        pair(
            "exponential-factor-two",
            "the exponential mechanism omits the factor 2 for scores that can change in opposite directions",
            2.0 * EPSILON,
            certain,
            half_range,
        )?,
    ])
}

type Play = fn(Health, World, &Trial<'_>) -> Result<f64, Refusal>;

/// Rare choices tell most.
const TRIALS: u64 = 20_000;
/// What one threshold, or one choice, is to cost.
const EPSILON: f64 = 1.0;
/// Queries that rise, and as many that fall.
const QUERIES: usize = 60;
/// Candidates that lose.
const OTHERS: usize = 50;

fn epsilon() -> Result<Epsilon, Refusal> {
    Epsilon::new(EPSILON)
}

/// First one query is above, then the other: of two worlds in which each moves by one, only one can say "below, above".
///
/// # Reference  [LyuSuLi17], Algorithm 5 there
fn clean_queries(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let queries = match world {
        World::In => [0, 1],
        World::Out => [1, 0],
    };
    let mut rng = trial.noise(0);
    let answers = match health {
        Health::Sick => {
            let threshold = exact::discrete_laplace(Ratio::new(1, 1)?, &mut trial.stream(0));
            queries.map(|query| i128::from(query) >= threshold)
        }
        Health::Sound => asked(&queries, Count::new(2)?, &mut rng)?.try_into().unwrap_or([false; 2]),
    };
    Ok(f64::from(u8::from(answers == [false, true])))
}

/// The library's sparse vector; nothing is above once it has stopped.
fn asked(queries: &[i64], hits: Count, rng: &mut NoiseStream) -> Result<Vec<bool>, Refusal> {
    let mut sparse = SparseVector::new(0, Count::ONE, Movement::Any, hits, epsilon()?, rng)?;
    Ok(queries.iter().map(|query| sparse.ask(*query, rng) == Some(Side::Above)).collect())
}

/// # Reference  [LyuSuLi17], Algorithm 6 there
fn endless(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let (first, second) = match world {
        World::In => (1, -1),
        World::Out => (0, 0),
    };
    let queries: Vec<i64> = [vec![first; QUERIES], vec![second; QUERIES]].concat();
    let mut rng = trial.noise(0);
    let answers = match health {
        Health::Sick => {
            let mut stream = trial.stream(0);
            // ε/2 for the threshold, ε/2 for a single query that may be above.
            let threshold = exact::discrete_laplace(Ratio::new(2, 1)?, &mut stream);
            let query_scale = Ratio::new(4, 1)?;
            queries
                .iter()
                .map(|query| {
                    i128::from(*query) + exact::discrete_laplace(query_scale, &mut stream) >= threshold
                })
                .collect()
        }
        Health::Sound => asked(&queries, Count::ONE, &mut rng)?,
    };
    let above = |half: &[bool]| half.iter().filter(|above| **above).count() as f64;
    let (first, second) = answers.split_at(QUERIES);
    Ok(above(first) - above(second))
}

fn tells_value(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let scores = match world {
        World::In => [30, 21, 7],
        World::Out => [29, 21, 7],
    };
    let chosen = report_noisy_max(&scores, Count::ONE, Movement::Any, epsilon()?, &mut trial.noise(0))?;
    Ok(match health {
        Health::Sick => f64::from(u8::from(scores[chosen.index] == 30)),
        Health::Sound => f64::from(u8::from(chosen.index == 0)),
    })
}

/// One score rises by one and all others fall by one.
fn half_range(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let (one, others) = match world {
        World::In => (1, 0),
        World::Out => (0, 1),
    };
    let mut scores = vec![others; OTHERS];
    scores.insert(0, one);
    let movement = match health {
        Health::Sick => Movement::Together,
        Health::Sound => Movement::Any,
    };
    let claimed = Epsilon::new(2.0 * EPSILON)?;
    let chosen = exponential(&scores, Count::ONE, movement, claimed, &mut trial.noise(0))?;
    Ok(f64::from(u8::from(chosen.index == 0)))
}
