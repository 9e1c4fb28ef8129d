//! Reports that people randomise themselves, with mistakes in their coins.

use super::{Health, SPLIT, delta, pure};
use crate::zoo::planted::{
    Exhibit,
    exhibit::{Game, Trial},
};
use veracity_audit::World;
use veracity_core::{Adjacency, Epsilon, Refusal};
use veracity_mechanisms::local::{Coin, Odds, RandomizedResponse, Report, Unary, UnaryKind};
use veracity_noise::exact;

const EPSILON: f64 = 1.0;
const VALUES: u32 = 16;
const TRIALS: u64 = 4000;

pub(super) fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    let pair = |name, what, play: fn(Health, u32, &Trial<'_>) -> Result<f64, Refusal>| {
        let of = |health| {
            Game::runs(seed, TRIALS, SPLIT, move |world, trial| {
                let value = match world {
                    World::In => 0,
                    World::Out => 1,
                };
                play(health, value, trial)
            })
        };
        let pair = [of(Health::Sick)?, of(Health::Sound)?];
        let claim = (Adjacency::ReplaceOne, delta(0.0)?);
        Ok::<_, Refusal>(Exhibit::new(name, what, pure(EPSILON)?, claim, pair))
    };
    Ok(vec![
        pair(
            "randomized-response-of-two",
            "one of 16 answers is randomized with the probability for two answers",
            of_two,
        )?,
        pair(
            "unary-bits-at-full-epsilon",
            "each bit of a unary encoding uses the full epsilon, but two bits differ",
            full_bits,
        )?,
        pair(
            "permanent-report-forgotten",
            "each person is asked four times and randomizes the answer again each time",
            afresh,
        )?,
    ])
}

fn epsilon() -> Result<Epsilon, Refusal> {
    Epsilon::new(EPSILON)
}

/// The truth with odds e^ε : 1 against all other answers together, not against each.
fn of_two(health: Health, value: u32, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let mut bits = trial.stream(0);
    let report = match health {
        Health::Sick if !Coin::against(Odds::within(epsilon()?)?).toss(&mut bits) => value,
        Health::Sick => (value + 1 + exact::uniform_below(u128::from(VALUES - 1), &mut bits) as u32) % VALUES,
        Health::Sound => match RandomizedResponse::new(VALUES, epsilon()?)?.encode(value, &mut bits)? {
            Report::Value(said) => said,
            _ => VALUES,
        },
    };
    Ok(speaks_for_zero(report == 0, report == 1))
}

fn full_bits(health: Health, value: u32, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let each = match health {
        Health::Sick => Epsilon::new(2.0 * EPSILON)?,
        Health::Sound => epsilon()?,
    };
    let report = Unary::new(VALUES, each, UnaryKind::Symmetric)?.encode(value, &mut trial.stream(0))?;
    Ok(match report {
        Report::Bits(row) => speaks_for_zero(row.bit(0), row.bit(1)),
        _ => 0.0,
    })
}

/// # Reference  [ErlingssonPihurKorolova14], for why reports on one value must be remembered
fn afresh(health: Health, value: u32, trial: &Trial<'_>) -> Result<f64, Refusal> {
    let response = RandomizedResponse::new(2, epsilon()?)?;
    let asked = 4;
    let mut score = 0.0;
    for time in 0..asked {
        // One who remembers says the same again.
        let draw = if health == Health::Sick { time } else { 0 };
        if let Report::Value(said) = response.encode(value, &mut trial.stream(draw))? {
            score += speaks_for_zero(said == 0, said == 1);
        }
    }
    Ok(score)
}

fn speaks_for_zero(zero: bool, one: bool) -> f64 {
    f64::from(u8::from(zero)) - f64::from(u8::from(one))
}
