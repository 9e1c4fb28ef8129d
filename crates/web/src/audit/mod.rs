//! A small audit that runs while it is watched: trials by coin, a ladder of claims that fall one by one, a verdict.
//!
//! An [`AuditOrder`] says what is declared and what is really run. [`LiveAudit::begin`] has the accountant prove the claim;
//! [`LiveAudit::go_on`] runs trials. The bound is a ladder of bets, which you may look at after every trial: it ever reports too much
//! with probability at most the significance, however often you look and whenever you stop.

mod game;

use game::Game;

use serde::Deserialize;
use serde_json::{Value, json};
use veracity_account::claims::{Choice, Subject, Target, account};
use veracity_audit::{ClaimedCurve, World, bound::sequential::Ladder, observe_one};
use veracity_core::{
    Claim, Delta, Epsilon, Lower, Refusal, Significance, Upper, Verdict,
    decimal::{down, nearest, up},
    judge,
};

/// The significance of the test.
const SIGNIFICANCE: f64 = 0.01;
/// Rungs of the ladder up to the claim.
const TO_THE_CLAIM: u64 = 40;
/// Rungs in all: a few above the claim, since only more than was claimed refutes it.
const RUNGS: u64 = 44;
/// The most trials of one audit.
const MOST_TRIALS: u64 = 100_000;

/// What is to be audited.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditOrder {
    /// `gaussian`, `laplace` or `dp-sgd`.
    pub mechanism: String,
    /// The noise multiplier that is declared.
    pub noise_multiplier: f64,
    /// What is wrong with what is run; `honest` if nothing is.
    pub bug: String,
    /// The δ of the claim; a pure claim has 0.
    pub delta: f64,
    /// What every draw comes from.
    pub seed: u64,
}

/// An audit under way.
#[derive(Debug)]
pub struct LiveAudit {
    game: Game,
    claim: Claim,
    describes: String,
    seed: u64,
    ladder: Ladder,
    trials: u64,
    ins: u64,
}

impl LiveAudit {
    /// Proves the claim, and has run no trial yet.
    pub fn begin(order: &AuditOrder) -> Result<LiveAudit, Refusal> {
        let game = Game::new(&order.mechanism, order.noise_multiplier, order.bug.parse()?, order.seed)?;
        let subject = Subject::new(game.declared()?);
        let delta = Delta::new(order.delta)?;
        let proved = account(&subject, Target::Delta(delta), Choice::Best)?.epsilon.upper();
        let epsilon =
            proved.filter(|upper| upper.0.get() > 0.0 && upper.0.get() < 15.0).ok_or_else(|| {
                Refusal::out_of_range(
                    "noise multiplier",
                    order.noise_multiplier,
                    "a noise multiplier whose epsilon is below 15",
                )
            })?;
        let rung = |rung: u64| {
            let part = epsilon.0.get() * rung as f64 / TO_THE_CLAIM as f64;
            ClaimedCurve::new([(Epsilon::new(part)?, delta)])
        };
        let claims = (1..=RUNGS).map(rung).collect::<Result<Vec<_>, Refusal>>()?;
        Ok(LiveAudit {
            game,
            claim: Claim { epsilon: Upper(epsilon.0), delta, adjacency: subject.adjacency },
            describes: subject.describe(),
            seed: order.seed,
            ladder: Ladder::new(claims, Significance::new(SIGNIFICANCE)?),
            trials: 0,
            ins: 0,
        })
    }

    /// Runs more trials until the claim is refuted, and returns the state.
    pub fn go_on(&mut self, trials: u64) -> Result<Value, Refusal> {
        let until = self.trials.saturating_add(trials).min(MOST_TRIALS);
        while self.trials < until && !self.is_refuted() {
            let outcome = observe_one(&self.game, self.seed, self.trials);
            self.trials += 1;
            for seen in &outcome.observations {
                let score = seen
                    .score
                    .ok_or_else(|| Refusal::Invalid("internal error: a trial returned no score".into()))?;
                self.ladder.observe(seen.world, Some(score))?;
                self.ins += u64::from(seen.world == World::In);
            }
        }
        Ok(self.state())
    }

    fn is_refuted(&self) -> bool {
        matches!(self.verdict(), Verdict::Refuted { .. })
    }

    /// What is shown so far.
    fn shown(&self) -> Lower<Epsilon> {
        let part = self.ladder.refuted() as f64 / TO_THE_CLAIM as f64;
        Lower(Epsilon::new(self.claim.epsilon.0.get() * part).unwrap_or(Epsilon::ZERO))
    }

    /// The most that so many trials could have shown: one without error multiplies the wealth by at most 1 + e^−ε.
    fn ceiling(&self) -> Epsilon {
        let needed = (-SIGNIFICANCE.ln() / self.trials.max(1) as f64).exp_m1();
        Epsilon::new((-needed.ln()).max(0.0)).unwrap_or(Epsilon::ZERO)
    }

    /// Whether no more trials are run.
    fn is_over(&self) -> bool {
        self.is_refuted() || self.trials >= MOST_TRIALS
    }

    /// What the trials say so far.
    pub fn verdict(&self) -> Verdict {
        judge(&self.claim, self.shown(), self.ceiling())
    }

    /// The state of the audit, as text and numbers.
    pub fn state(&self) -> Value {
        let (epsilon, delta) = (self.claim.epsilon.0.get(), self.claim.delta.get());
        let (shown, verdict) = (self.shown().0.get(), self.verdict());
        let (observed, claimed) = (down(shown, 4), up(epsilon, 4));
        let headline = match verdict {
            // A verdict while trials are still to come would be read as the last word.
            _ if !self.is_over() => format!(
                "RUNNING: not refuted after {} of at most {MOST_TRIALS} trials; observed epsilon ≥ {observed}, claimed {claimed}",
                self.trials
            ),
            Verdict::Refuted { .. } => format!(
                "REFUTED: observed epsilon ≥ {observed}, claimed {claimed} ({}% confidence)",
                nearest(100.0 * (1.0 - SIGNIFICANCE), 15)
            ),
            Verdict::NotRefuted { ceiling, .. } => format!(
                "NOT REFUTED: observed epsilon ≥ {observed}, claimed {claimed}; this audit could have \
                 observed at most {}",
                down(ceiling.get(), 4)
            ),
            Verdict::CannotTell { .. } => format!(
                "INCONCLUSIVE: {} trials cannot refute epsilon ≤ {claimed}, whatever the true epsilon is; \
                 run more trials",
                self.trials
            ),
        };
        json!({
            "verdict": if self.is_over() { verdict.name() } else { "running" },
            "headline": headline,
            "describes": self.describes,
            "wrong": self.game.bug.describe(),
            "claimed": epsilon,
            "claimedWords": format!("epsilon ≤ {} at delta {}", up(epsilon, 9), nearest(delta, 17)),
            "shown": shown,
            "trials": self.trials,
            "ins": self.ins,
            "outs": self.trials - self.ins,
            "over": self.is_over(),
            "seed": self.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(mechanism: &str, bug: &str, seed: u64) -> AuditOrder {
        let delta = if mechanism == "laplace" { 0.0 } else { 1e-3 };
        AuditOrder { mechanism: mechanism.into(), noise_multiplier: 2.0, bug: bug.into(), delta, seed }
    }

    /// Seed 7: every planted bug of every mechanism falls within the trials that the page runs.
    #[test]
    fn every_broken_twin_is_refuted() {
        for mechanism in ["gaussian", "laplace", "dp-sgd"] {
            for bug in ["half-noise", "no-clip", "twice", "same-noise"] {
                let mut audit = LiveAudit::begin(&order(mechanism, bug, 7)).unwrap();
                audit.go_on(MOST_TRIALS).unwrap();
                assert!(audit.is_refuted(), "{mechanism} {bug}: {}", audit.state());
                println!("{mechanism} {bug}: {} trials", audit.trials);
            }
        }
    }

    /// Twenty seeds at an error probability of 1% each: two false alarms have probability 1.7%, and none is seen.
    #[test]
    fn an_honest_mechanism_is_not_refuted_however_often_one_looks() {
        for seed in 0..20 {
            let mut audit = LiveAudit::begin(&order("laplace", "honest", seed)).unwrap();
            for _ in 0..100 {
                audit.go_on(100).unwrap();
                assert!(!audit.is_refuted(), "{seed}");
            }
            assert!(audit.shown().0.get() > 0.2, "{seed}: something is shown: {}", audit.state());
        }
    }

    #[test]
    fn a_seed_repeats_its_audit() {
        let run = |seed| {
            let mut audit = LiveAudit::begin(&order("gaussian", "half-noise", seed)).unwrap();
            audit.go_on(5000).unwrap().to_string()
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }

    #[test]
    fn orders_that_mean_nothing_are_refused() {
        for (mechanism, bug, noise) in [
            ("cauchy", "honest", 1.0),
            ("gaussian", "evil", 1.0),
            ("gaussian", "honest", f64::NAN),
            ("gaussian", "honest", 0.01),
        ] {
            let order = AuditOrder { noise_multiplier: noise, ..order(mechanism, bug, 1) };
            assert!(LiveAudit::begin(&order).is_err(), "{mechanism} {bug} {noise}");
        }
    }
}
