//! What an audit is to do, fixed before its first trial: the subject, the claim, the method, how many trials, which seed.
//!
//! It lies beside the trials as `order.json`. An audit is resumed, and its shares are put together, only under the
//! order that it began with: whatever is changed after trials were seen would void the bound.

use super::{AuditClaim, SubjectNote, device_note, recorded};
use serde::{Deserialize, Serialize};
use veracity_account::claims::spec::MechanismSpec;
use veracity_audit::{Method, bound::sequential::Rounds};
use veracity_core::Claim;
use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, Refusal, Significance, Upper};

/// The schema of the file.
pub const SCHEMA: &str = "veracity.order/2";
/// The version that runs trials: another one may draw or score them otherwise.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The most trials of one audit: seeds for commands stay distinct below, and their records fit into memory.
pub const MOST_TRIALS: u64 = 1 << 30;

/// All that decides which trials are run and what is made of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditProtocol {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What is run.
    pub subject: SubjectNote,
    /// What is claimed of it.
    pub claim: ClaimNote,
    /// The ε that the accountant proves of it, where it can.
    // Without this line serde would take a missing field for null.
    #[serde(deserialize_with = "Option::deserialize")]
    pub proved: Option<f64>,
    /// How scores become a bound.
    pub method: MethodNote,
    /// The chance of error that may be spent.
    pub significance: f64,
    /// How many trials.
    pub trials: u64,
    /// How many canaries each has.
    pub canaries: u32,
    /// What their randomness is drawn from.
    pub seed: u64,
    /// With more failed trials than these there is no verdict.
    pub max_failures: u64,
    /// How often a failed trial is tried again.
    pub retries: u32,
    /// The part of the declared noise that must be caught, where one is asked for.
    #[serde(deserialize_with = "Option::deserialize")]
    pub require: Option<f64>,
    /// The version of veracity that runs them.
    pub version: String,
}

/// A claim as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimNote {
    /// The ε promised.
    pub epsilon: f64,
    /// Its δ.
    pub delta: f64,
    /// Which datasets must look alike.
    pub adjacency: String,
    /// The mechanism that is claimed, whose whole curve is then the claim.
    #[serde(deserialize_with = "Option::deserialize")]
    pub mechanism: Option<MechanismSpec>,
}

/// A method as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodNote {
    /// The bound, such as `clopper-pearson`.
    pub bound: String,
    /// How its threshold is chosen: `fixed:X`, `split`, `folds:K`, `union`.
    pub threshold: String,
    /// How many records of the claim the canary is.
    pub group_size: u64,
}

impl From<&AuditClaim> for ClaimNote {
    fn from(claim: &AuditClaim) -> ClaimNote {
        ClaimNote {
            epsilon: claim.point.epsilon.0.get(),
            delta: claim.point.delta.get(),
            adjacency: claim.point.adjacency.name().to_owned(),
            mechanism: claim.mechanism.as_ref().map(MechanismSpec::from),
        }
    }
}

impl ClaimNote {
    /// The claim, checked.
    ///
    /// # Errors
    /// Numbers out of their range, or an ε below that of the mechanism.
    pub fn claim(&self) -> Result<AuditClaim, Refusal> {
        if !self.epsilon.is_finite() {
            return Err(Refusal::out_of_range("claim epsilon", self.epsilon, "a finite number ≥ 0"));
        }
        let point = Claim {
            epsilon: Upper(Epsilon::new(self.epsilon)?),
            delta: Delta::new(self.delta)?,
            adjacency: self.adjacency.parse::<Adjacency>()?,
        };
        Ok(AuditClaim { point, mechanism: self.mechanism.as_ref().map(Mechanism::try_from).transpose()? })
    }
}

impl AuditProtocol {
    /// Refuses what no audit can be run by.
    ///
    /// # Errors
    /// A protocol that no audit can be run by.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.schema != SCHEMA {
            return Err(Refusal::invalid(format!(
                "the audit protocol has another schema, expected {SCHEMA}"
            )));
        }
        self.claim.claim()?;
        let method = self.method.method()?;
        method.must_fit(u64::from(self.canaries))?;
        if let Method::Sequential { rounds, .. } = method
            && rounds != rounds_of(&self.subject)
        {
            return Err(Refusal::out_of_range("threshold", &self.method.threshold, SEQUENTIAL));
        }
        Significance::new(self.significance)?;
        check_required(self.require)?;
        // One run with many canaries is as good as many runs with one.
        let least = if self.canaries > 1 { 1 } else { 4 };
        if !(least..MOST_TRIALS).contains(&self.trials) {
            let expected = "4 ≤ trials < 2^30, or 1 ≤ trials with many canaries each";
            return Err(Refusal::out_of_range("trials", self.trials, expected));
        }
        if self.canaries == 0 || self.trials.saturating_mul(u64::from(self.canaries)) >= MOST_TRIALS {
            return Err(Refusal::out_of_range(
                "canaries",
                self.canaries,
                "1 ≤ canaries, trials × canaries < 2^30",
            ));
        }
        Ok(())
    }

    /// Reads an order.
    ///
    /// # Errors
    /// Text that is not a protocol, or one of another version.
    pub fn parse(text: &str) -> Result<AuditProtocol, Refusal> {
        let protocol: AuditProtocol = serde_json::from_str(text).map_err(|error| {
            Refusal::invalid(format!("order is not in the form that veracity writes ({error})"))
        })?;
        protocol.check()?;
        Ok(protocol)
    }

    /// The text of its file; the same order gives the same bytes.
    ///
    /// # Errors
    /// None in practice: every field can be written.
    pub fn to_json(&self) -> Result<String, Refusal> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| Refusal::invalid(format!("order cannot be written: {error}")))
    }

    /// The first thing in which another order differs, in words.
    pub fn difference(&self, other: &AuditProtocol) -> Option<&'static str> {
        let parts = [
            ("schema", self.schema == other.schema),
            ("device", device(&self.subject) == device(&other.subject)),
            ("subject", self.subject == other.subject),
            ("claim", self.claim == other.claim),
            ("proof", self.proved == other.proved),
            ("method", self.method == other.method),
            ("significance", self.significance == other.significance),
            ("trials", self.trials == other.trials),
            ("canaries", self.canaries == other.canaries),
            ("seed", self.seed == other.seed),
            ("max-failures", self.max_failures == other.max_failures),
            ("retries", self.retries == other.retries),
            ("require", self.require == other.require),
            ("version of veracity", self.version == other.version),
        ];
        parts.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
    }
}

/// Which threshold word goes with which trials.
const SEQUENTIAL: &str = "past where trials are run, past-pairs where scores are recorded";

/// What a sequential test of a subject bets on: nobody has drawn the worlds of recorded scores by coins that this audit knows.
pub(crate) fn rounds_of(subject: &SubjectNote) -> Rounds {
    if subject.kind == recorded::KIND { Rounds::Pairs } else { Rounds::Trials }
}

/// Where the subject's models are trained, if not on the cores of a machine.
fn device(subject: &SubjectNote) -> Option<&serde_json::Value> {
    subject.settings.get(device_note::SETTING)
}

/// Refuses a part of the noise that no audit can be asked to catch.
pub(crate) fn check_required(require: Option<f64>) -> Result<(), Refusal> {
    match require {
        Some(part) if !(part > 0.0 && part < 1.0) => {
            Err(Refusal::out_of_range("require", part, "0 < require < 1, relative to the declared noise"))
        }
        Some(_) | None => Ok(()),
    }
}

/// An order for tests.
#[cfg(test)]
pub(super) fn sample(trials: u64) -> AuditProtocol {
    let words = |text: &str| text.to_owned();
    AuditProtocol {
        schema: words(SCHEMA),
        subject: SubjectNote {
            kind: words("command"),
            description: words("a test"),
            attack: words("none"),
            access: words("black box"),
            settings: [(words("command"), "true".into())].into(),
        },
        claim: ClaimNote { epsilon: 1.0, delta: 1e-5, adjacency: words("add-remove"), mechanism: None },
        proved: None,
        method: MethodNote { bound: words("clopper-pearson"), threshold: words("split"), group_size: 1 },
        significance: 0.01,
        trials,
        canaries: 1,
        seed: u64::MAX,
        max_failures: trials / 10,
        retries: 0,
        require: None,
        version: words(VERSION),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_reads_back_to_the_same_bits_and_names_what_differs() {
        let protocol = sample(40);
        let text = protocol.to_json().unwrap();
        let read = AuditProtocol::parse(&text).unwrap();
        assert_eq!((read.difference(&protocol), read.to_json().unwrap()), (None, text.clone()));
        let mut other = protocol.clone();
        other.subject.settings.insert("timeout".into(), 1.into());
        assert_eq!(protocol.difference(&other), Some("subject"));
        other = protocol.clone();
        other.subject.settings.insert("device".into(), "a".into());
        assert_eq!(protocol.difference(&other), Some("device"));
        other = AuditProtocol { seed: 1, ..protocol.clone() };
        assert_eq!(protocol.difference(&other), Some("seed"));
        other = AuditProtocol { version: "0.0.9".into(), ..protocol.clone() };
        assert_eq!(protocol.difference(&other), Some("version of veracity"));
        for (from, to) in [
            ("\"trials\": 40", "\"trials\": 3"),
            ("\"epsilon\": 1.0", "\"epsilon\": -1.0"),
            ("order/2", "order/3"),
            ("\"canaries\": 1", "\"canaries\": 0"),
            ("\"seed\"", "\"sead\""),
            ("\"significance\": 0.01", "\"significance\": 1.5"),
            // The guesses about several canaries in a run hang together.
            ("\"bound\": \"clopper-pearson\"", "\"bound\": \"one-run\""),
            ("\"canaries\": 1", "\"canaries\": 2"),
        ] {
            assert!(text.contains(from) && AuditProtocol::parse(&text.replace(from, to)).is_err(), "{to}");
        }
    }
}
