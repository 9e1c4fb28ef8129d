//! Sums, counts and means with mistakes in bounds, noise or arithmetic, attacked by someone who sees the answer.

use super::{Health, SPLIT, delta, fixed, laplace};
use crate::zoo::planted::{
    Exhibit,
    exhibit::{Game, Trial},
};
use veracity_audit::World;
use veracity_core::{Adjacency, Count, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Bits, Distance, Noise, NoiseStream, Ratio, exact};

const TRIALS: u64 = 4000;
/// Scale of the noise: whole numbers, one record counts for one.
const SCALE: u64 = 2;
/// `veracity calibrate gaussian --epsilon 10 --delta 0.4`, rounded up.
const ENOUGH_AT_TEN: f64 = 0.2255;

pub(super) fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    let pair = |name, what, claimed, method, play: fn(Health, World, &Trial<'_>) -> Result<f64, Refusal>| {
        let of = |health| Game::runs(seed, TRIALS, method, move |world, trial| play(health, world, trial));
        let pair = [of(Health::Sick)?, of(Health::Sound)?];
        Ok::<_, Refusal>(Exhibit::new(name, what, claimed, (Adjacency::AddRemove, delta(0.0)?), pair))
    };
    let one = laplace(SCALE as f64)?;
    let twice = one.clone().repeated(Count::new(2)?);
    Ok(vec![
        pair(
            "float-laplace",
            "textbook Laplace noise in floating point: some outputs are possible for only one input",
            Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(1.0)? },
            fixed(0.5),
            porous,
        )?,
        pair(
            "lower-clamp-missing",
            "values are clamped from above but not from below",
            one.clone(),
            SPLIT,
            half_clamped,
        )?
        .leaving(0.01),
        pair(
            "sensitivity-from-data",
            "the noise is scaled to the largest value in the data",
            one.clone(),
            SPLIT,
            scaled_by_data,
        )?,
        pair("seed-reuse", "two releases use noise from the same seed", twice, fixed(0.5), reseeded)?,
        pair(
            "empty-groups-left-out",
            "a group-by lists all groups that occur in the data, without a threshold",
            one.clone(),
            fixed(0.5),
            listed,
        )?,
        pair(
            "true-count-divides",
            "a noisy sum is divided by the true number of records",
            one.clone(),
            fixed(0.5),
            divided,
        )?,
        pair(
            "rows-not-users",
            "each row is clamped, but a person can have many rows",
            one.clone(),
            SPLIT,
            many_rows,
        )?
        .leaving(0.05),
        pair("sum-wraps-around", "a 16-bit sum overflows and wraps around", one.clone(), SPLIT, wrapped)?,
        pair(
            "noise-clamped",
            "noise beyond two scales is clamped, so the range of the answer leaks the value",
            one.clone(),
            fixed(2.0 * SCALE as f64 + 0.5),
            clamped_noise,
        )?,
        pair("scale-inverted", "the noise has scale epsilon instead of 1/epsilon", one, SPLIT, inverted)?
            .leaving(0.25),
        classic(seed)?,
    ])
}

fn noisy(sum: i128, scale: Ratio, rng: &mut NoiseStream) -> f64 {
    Noise::Laplace { scale }.add("sum", &[sum], Distance::L1(1), rng)[0] as f64
}

fn usual() -> Result<Ratio, Refusal> {
    Ratio::new(SCALE, 1)
}

/// A record's value in a world: there, or not.
fn of(world: World, value: i128) -> i128 {
    match world {
        World::In => value,
        World::Out => 0,
    }
}

/// Laplace noise by the inverse of its distribution function, as textbooks have it.
fn textbook(uniform: i64) -> f64 {
    let u = uniform as f64 / (1u64 << 53) as f64; // (−½, ½)
    -u.signum() * (1.0 - 2.0 * u.abs()).ln()
}

/// Whether `answer` can be `value` plus textbook noise: looks at all uniforms that come near.
fn is_reached(answer: f64, value: f64) -> bool {
    let noise = answer - value;
    let u = noise.signum() * (1.0 - (-noise.abs()).exp()) / 2.0;
    // Both formulas err by a few units in the last place; 16 uniforms either way cover that.
    let middle = (u * (1u64 << 53) as f64).round() as i64;
    (middle - 16..=middle + 16).any(|uniform| value + textbook(uniform) == answer)
}

/// # Reference  [Mironov12]
fn porous(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let value = of(world, 1) as f64;
    let answer = match health {
        Health::Sick => value + textbook(trial.stream(0).bits(53) as i64 - (1 << 52)),
        Health::Sound => {
            // On a grid of 2^-10, with one step more than one record can move it.
            let grid = 1024.0;
            noisy((value * grid) as i128, Ratio::new(1024, 1)?, &mut trial.noise(0)) / grid
        }
    };
    let reached = |value| f64::from(u8::from(is_reached(answer, value)));
    Ok(reached(1.0) - reached(0.0))
}

fn half_clamped(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let value = of(world, -100).min(1);
    let value = if health == Health::Sound { value.max(-1) } else { value };
    Ok(-noisy(5 + value, usual()?, &mut trial.noise(0)))
}

fn scaled_by_data(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let values = [1, 1, 0, 1, of(world, 50)];
    let most = if health == Health::Sick { values.into_iter().max().unwrap_or(1) } else { 1 };
    let sum: i128 = values.iter().map(|value| *value.min(&most)).sum();
    let scale = Ratio::new(SCALE * most as u64, 1)?;
    // The answer itself, or how far it is from where it would be: wide noise gives the value away.
    Ok((noisy(sum, scale, &mut trial.noise(0)) - 3.0).abs())
}

fn reseeded(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let women = noisy(20, usual()?, &mut trial.noise(0));
    let second = if health == Health::Sick { 0 } else { 1 };
    let everyone = noisy(50 + of(world, 1), usual()?, &mut trial.noise(second));
    Ok(everyone - women - 30.0)
}

fn listed(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let counts = [12, 7, of(world, 1)];
    let mut rng = trial.noise(0);
    let mut last = None;
    for (group, count) in counts.into_iter().enumerate() {
        let answer = noisy(count, usual()?, &mut rng);
        // Names of groups are public in the sound one: all are listed, whatever their count.
        if health == Health::Sound || count > 0 {
            last = Some((group, answer));
        }
    }
    Ok(match (health, last) {
        (Health::Sick, Some((2, _))) => 1.0,
        (Health::Sound, Some((_, answer))) => answer,
        _ => 0.0,
    })
}

fn divided(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let (rows, sum) = (1 + of(world, 1), 1 + of(world, 1));
    let answer = noisy(sum, usual()?, &mut trial.noise(0));
    let mean = if health == Health::Sick { answer / rows as f64 } else { answer / 2.0 };
    // Halves that are not whole come from two rows only; of the sound one, whose divisor is public, from both worlds.
    Ok(f64::from(u8::from(mean.fract() != 0.0)))
}

fn many_rows(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let rows = if health == Health::Sick { 20 } else { 1 };
    Ok(noisy(40 + of(world, rows), usual()?, &mut trial.noise(0)))
}

/// # Reference  [CasacubertaEtAl22]
fn wrapped(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let sum = i128::from(i16::MAX) + of(world, 1);
    let sum = if health == Health::Sick { i128::from(sum as i16) } else { sum };
    Ok(-noisy(sum, usual()?, &mut trial.noise(0)))
}

fn clamped_noise(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let (noise, most) = (exact::discrete_laplace(usual()?, &mut trial.stream(0)), 2 * i128::from(SCALE));
    let noise = if health == Health::Sick { noise.clamp(-most, most) } else { noise };
    Ok((of(world, 1) + noise) as f64)
}

fn inverted(health: Health, world: World, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let scale = if health == Health::Sick { Ratio::new(1, SCALE)? } else { usual()? };
    Ok(noisy(of(world, 1), scale, &mut trial.noise(0)))
}

/// The classic formula σ = √(2 ln(1.25/δ))/ε is proved for ε < 1 only.
///
/// # Reference  [BalleWang18], where it fails
fn classic(seed: u64) -> Result<Exhibit, Refusal> {
    let (epsilon, slack) = (10.0, 0.4f64);
    let classic = (2.0 * (1.25 / slack).ln()).sqrt() / epsilon;
    let of = |sigma: f64| {
        // Known beforehand, like all of the code: a false alarm is one in thirty million, and one of them does not save the bug.
        let threshold = fixed(5.4 * classic);
        Game::runs(seed, 1_000_000, threshold, move |world, trial| {
            Ok(of(world, 1) as f64 + sigma * normal(trial))
        })
    };
    Ok(Exhibit::new(
        "classic-gaussian-at-ten",
        "the classic Gaussian formula, which is proved for epsilon below 1, is used at epsilon 10",
        // A point is claimed, and no noise.
        Mechanism::Approximate { epsilon: Epsilon::new(epsilon)?, delta: delta(slack)? },
        (Adjacency::AddRemove, delta(slack)?),
        [of(classic)?, of(ENOUGH_AT_TEN)?],
    ))
}

/// A standard normal by Box and Muller. It protects nobody.
fn normal(trial: &Trial<'_>) -> f64 {
    let mut bits = trial.stream(0);
    let mut uniform = || (bits.bits(53) as f64 + 0.5) / (1u64 << 53) as f64;
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}
