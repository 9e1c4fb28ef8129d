//! Subjects that drift, depend on their past or have heavy tails: how often their true claims are refuted.

use crate::{Erred, STATED, STRICT};
use veracity::{Adjacency, Count, Delta, Epsilon, Refusal, Significance, Upper, Verdict};
use veracity_audit::{
    Choice, ClaimUnderTest, Method, Observation, World, bound::sequential::Test, is_refuted_by_bets, judge,
};
use veracity_core::Claim;
use veracity_testkit::known::{Draws, Drifting, SLACK};

/// Trials of an audit.
const TRIALS: u64 = 400;

/// Which verdicts refute the true claim of one audit.
pub fn errors(kind: Drifting, rng: &mut Draws) -> Result<Vec<Erred>, Refusal> {
    let observe = |(trial, (is_in, score)): (usize, (bool, Option<f64>))| Observation {
        trial: trial as u64,
        canary: 0,
        world: if is_in { World::In } else { World::Out },
        score,
    };
    let seen: Vec<Observation> = kind.play(TRIALS, rng).into_iter().enumerate().map(observe).collect();
    let epsilon = Upper(Epsilon::new(kind.epsilon() + SLACK)?);
    let claimed =
        ClaimUnderTest::from(Claim { epsilon, delta: Delta::ZERO, adjacency: Adjacency::AddRemove });
    let bets = |level: f64| is_refuted_by_bets(&seen, &claimed, Count::ONE, Significance::new(level)?);
    let counted = |choice| {
        let method = Method::Threshold { choice, group: Count::ONE };
        let judged = judge(method, &seen, &claimed, Significance::new(STATED)?)?;
        Ok::<_, Refusal>(matches!(judged.verdict, Verdict::Refuted { .. }))
    };
    // Trials of different times are compared here, which drift breaks: the control.
    let mut pairs = Test::new(claimed.curve(Count::ONE)?, Significance::new(STATED)?);
    let of = |world| seen.iter().filter(move |told| told.world == world).map(|told| told.score);
    for (inside, outside) in of(World::In).zip(of(World::Out)) {
        pairs.observe_pair(inside, outside)?;
    }
    let found = [
        ("bets", STATED, true, bets(STATED)?),
        ("bets at 1%", STRICT, true, bets(STRICT)?),
        ("split", STATED, true, counted(Choice::Split)?),
        ("3 folds", STATED, true, counted(Choice::Folds(Count::new(3)?))?),
        ("union", STATED, true, counted(Choice::Union)?),
        ("bets on pairs", STATED, false, pairs.is_refuted()),
    ];
    let row = format!("{} | {:.3}", kind.name(), kind.epsilon());
    let erred =
        |(column, stated, is_promised, erred)| Erred { row: row.clone(), column, stated, is_promised, erred };
    Ok(found.into_iter().map(erred).collect())
}
