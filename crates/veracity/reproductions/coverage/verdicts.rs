//! One canary a run: how often true claims are refuted, by their whole curve and by a point of it.

use crate::{Erred, STATED, STRICT, claims::True, trials};
use veracity::{Count, Refusal, Significance, Verdict};
use veracity_audit::{Choice, ClaimUnderTest, Method, is_refuted_by_bets, judge};
use veracity_testkit::known::{Draws, Known};

/// Trials of a file.
const TRIALS: u64 = 300;

/// Which verdicts refute a true claim on one file.
pub fn errors(known: &Known, claim: &True, rng: &mut Draws) -> Result<Vec<Erred>, Refusal> {
    let seen = trials(known, TRIALS, rng);
    let (whole, point) = (claim.whole(), ClaimUnderTest::from(claim.point));
    let is_refuted = |choice, claimed: &ClaimUnderTest<'_>| {
        let method = Method::Threshold { choice, group: Count::ONE };
        let judged = judge(method, &seen, claimed, Significance::new(STATED)?)?;
        Ok::<_, Refusal>(matches!(judged.verdict, Verdict::Refuted { .. }))
    };
    // Bets are looked at after every pair, and end as soon as the claim falls.
    let bets = |claimed: &ClaimUnderTest<'_>, level: f64| {
        is_refuted_by_bets(&seen, claimed, Count::ONE, Significance::new(level)?)
    };
    let found = [
        ("curve, split", STATED, is_refuted(Choice::Split, &whole)?),
        ("curve, union", STATED, is_refuted(Choice::Union, &whole)?),
        ("curve, bets", STATED, bets(&whole, STATED)?),
        ("curve, bets at 1%", STRICT, bets(&whole, STRICT)?),
        ("ε, split", STATED, is_refuted(Choice::Split, &point)?),
        ("ε, union", STATED, is_refuted(Choice::Union, &point)?),
        ("ε, bets", STATED, bets(&point, STATED)?),
    ];
    let row = format!("{} | {}", known.name, claim.source);
    let erred =
        |(column, stated, erred)| Erred { row: row.clone(), column, stated, is_promised: true, erred };
    Ok(found.into_iter().map(erred).collect())
}
