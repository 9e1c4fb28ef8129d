//! The result of an audit, in a file that anyone can recompute from the trials in its folder.
//!
//! `certificate.json` follows from the order and the trials alone: no clock, no machine, no number of threads is in it, so
//! one run, a run that was resumed and shares put together give the same bytes.

use crate::{
    AuditProtocol, AuditResult, ClaimNote, CountSummary, CurveTest, FailuresByWorld, MethodNote, Refutation,
    SubjectNote, Trials, examine_trials, protocol::SCHEMA as ORDER, sha256,
};
use serde::{Deserialize, Serialize, Serializer};
use veracity_core::Error;

pub use crate::recomputing::{CommandAgain, Recomputation, Statement, VerifyOptions, recompute};

/// The schema of the file.
pub const SCHEMA: &str = "veracity.certificate/3";
/// Its name in the folder of an audit.
pub const FILE: &str = veracity_account::claims::recognition::CERTIFICATE;

/// The verdict of an audit and everything that it depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// `refuted`, `not-refuted` or `inconclusive`.
    pub verdict: String,
    /// The lower bound on ε, up to the significance and the conditions of the basis.
    pub epsilon_lower: Number,
    /// The largest lower bound that this number of trials could give.
    pub ceiling: Number,
    /// The basis of the bound.
    pub basis: String,
    /// The significance, 1 − confidence.
    pub significance: f64,
    /// The claim.
    pub claim: ClaimNote,
    /// The upper bound of the accountant, if there is one.
    // Without this line serde would take a missing field for null.
    #[serde(deserialize_with = "Option::deserialize")]
    pub proved: Option<f64>,
    /// The subject.
    pub subject: SubjectNote,
    /// The bound and its threshold.
    pub method: MethodNote,
    /// The counts for the bound on ε.
    pub counted: CountNote,
    /// The test of the whole curve, if a mechanism is claimed.
    #[serde(deserialize_with = "Option::deserialize")]
    pub curve: Option<CurveNote>,
    /// Noise below this multiple of the declared level would have been detected with probability 0.9; null if none would, or none is
    /// declared.
    #[serde(deserialize_with = "Option::deserialize")]
    pub catches_noise_below: Option<f64>,
    /// How many trials there were.
    pub trials: u64,
    /// How many canaries each had.
    pub canaries: u32,
    /// How many trials failed; each counts against the auditor.
    pub failures: u64,
    /// The same by world.
    pub failed: FailedNote,
    /// How many were allowed to.
    pub max_failures: u64,
    /// How often a failed trial is retried.
    pub retries: u32,
    /// The multiple of the declared noise that had to be detected.
    #[serde(deserialize_with = "Option::deserialize")]
    pub require: Option<f64>,
    /// The seed of the trials.
    pub seed: u64,
    /// SHA-256 of `trials.csv`.
    pub trials_sha256: String,
    /// The version of veracity that ran the trials.
    pub version: String,
}

/// Guesses, as in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "by", rename_all = "kebab-case")]
pub enum CountNote {
    /// Guesses above and below a threshold.
    Threshold {
        /// The score above which the attacker said "in".
        threshold: Number,
        /// Included, and detected.
        true_positives: u64,
        /// Included, and missed.
        false_negatives: u64,
        /// Excluded, but guessed included.
        false_positives: u64,
        /// Excluded, and guessed excluded.
        true_negatives: u64,
    },
    /// Guesses at both ends of the ranking.
    Ends {
        /// Guessed "in".
        highest: u64,
        /// Guessed "out".
        lowest: u64,
        /// All that could have been guessed.
        canaries: u64,
        /// Guesses made.
        guesses: u64,
        /// Correct guesses.
        correct: u64,
    },
    /// Bets on trials.
    Bets {
        /// Trials of the betting test.
        trials: u64,
        /// The logarithm of its wealth, which starts at 1.
        log_wealth: f64,
    },
}

/// The test of the claimed curve, as in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveNote {
    /// What was counted.
    pub counted: CountNote,
    /// Where the curve is refuted; null if it is not.
    #[serde(deserialize_with = "Option::deserialize")]
    pub fell: Option<RefutationNote>,
    /// Whether an attack that is always right would have refuted it with this number of trials.
    pub able: bool,
    /// The largest multiple of the declared noise that the trials allow; null if they allow any.
    #[serde(deserialize_with = "Option::deserialize")]
    pub noise_at_most: Option<f64>,
}

/// Where a curve is refuted, as in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "by", rename_all = "kebab-case")]
#[allow(missing_docs)] // Named as in the audit's `Refutation`, which documents them.
pub enum RefutationNote {
    Threshold { false_alarms: f64, misses: f64, promised_misses: f64 },
    Guesses { most: u64 },
    Bets { trials: u64 },
    Runs { runs: u64, epsilon: f64, delta: f64 },
}

/// Trials and failures by world, as they stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedNote {
    /// Trials with the canary; canaries that were in, where a run has many.
    pub ins: u64,
    /// Those of them that failed.
    pub failed_in: u64,
    /// Trials without it.
    pub outs: u64,
    /// Those of them that failed.
    pub failed_out: u64,
}

impl From<&CurveTest> for CurveNote {
    fn from(against: &CurveTest) -> CurveNote {
        let fell = against.fallen.map(|fallen| match fallen {
            Refutation::Threshold { alarms, misses, promised } => {
                RefutationNote::Threshold { false_alarms: alarms, misses, promised_misses: promised }
            }
            Refutation::Guesses { most } => RefutationNote::Guesses { most },
            Refutation::Bets { trials } => RefutationNote::Bets { trials },
            Refutation::Runs { runs, epsilon, delta } => RefutationNote::Runs { runs, epsilon, delta },
        });
        CurveNote {
            counted: CountNote::from(&against.counted),
            fell,
            able: against.is_able,
            noise_at_most: against.noise_at_most,
        }
    }
}

impl From<FailuresByWorld> for FailedNote {
    fn from(failed: FailuresByWorld) -> FailedNote {
        let FailuresByWorld { ins, failed_in, outs, failed_out } = failed;
        FailedNote { ins, failed_in, outs, failed_out }
    }
}

impl From<&CountSummary> for CountNote {
    fn from(counted: &CountSummary) -> CountNote {
        match counted {
            CountSummary::Threshold { threshold, counts } => CountNote::Threshold {
                threshold: Number(*threshold),
                true_positives: counts.true_positives,
                false_negatives: counts.false_negatives,
                false_positives: counts.false_positives,
                true_negatives: counts.true_negatives,
            },
            CountSummary::Ends { highest, lowest, guesses } => CountNote::Ends {
                highest: *highest,
                lowest: *lowest,
                canaries: guesses.canaries(),
                guesses: guesses.guesses(),
                correct: guesses.correct(),
            },
            CountSummary::Bets { trials, log_wealth } => {
                CountNote::Bets { trials: *trials, log_wealth: *log_wealth }
            }
        }
    }
}

/// A number that may be infinite, which JSON numbers may not: then it is the word `inf` or `-inf`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "NumberSpelling")]
pub struct Number(pub f64);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberSpelling {
    Number(f64),
    Word(String),
}

impl TryFrom<NumberSpelling> for Number {
    type Error = &'static str;

    fn try_from(spelled: NumberSpelling) -> Result<Number, Self::Error> {
        match spelled {
            NumberSpelling::Number(number) => Ok(Number(number)),
            NumberSpelling::Word(word) if word == "inf" => Ok(Number(f64::INFINITY)),
            NumberSpelling::Word(word) if word == "-inf" => Ok(Number(f64::NEG_INFINITY)),
            NumberSpelling::Word(_) => Err("a number, inf or -inf"),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { serializer.serialize_f64(self.0) } else { serializer.collect_str(&self.0) }
    }
}

/// Turns complete trials into a verdict and its certificate.
///
/// # Errors
/// Trials that are not those of the protocol, or a claim without a curve.
pub fn certify(protocol: &AuditProtocol, trials: &Trials) -> Result<(AuditResult, Certificate), Error> {
    let audited = examine_trials(protocol, trials)?;
    let certificate = Certificate::new(protocol, trials, &audited);
    Ok((audited, certificate))
}

impl Certificate {
    /// The certificate of trials that were judged.
    pub fn new(protocol: &AuditProtocol, trials: &Trials, audited: &AuditResult) -> Certificate {
        let evidence = &audited.evidence;
        Certificate {
            schema: SCHEMA.to_owned(),
            verdict: audited.verdict.name().to_owned(),
            epsilon_lower: Number(evidence.shown.epsilon.0.get()),
            ceiling: Number(evidence.shown.ceiling.get()),
            basis: evidence.shown.basis.name().to_owned(),
            significance: evidence.significance,
            claim: protocol.claim.clone(),
            proved: protocol.proved,
            subject: protocol.subject.clone(),
            method: protocol.method.clone(),
            counted: CountNote::from(&evidence.counted),
            curve: audited.against.as_ref().map(CurveNote::from),
            catches_noise_below: audited.power.and_then(|power| power.detects_noise_below),
            trials: protocol.trials,
            canaries: protocol.canaries,
            failures: trials.failures(),
            failed: FailedNote::from(audited.failed),
            retries: protocol.retries,
            require: protocol.require,
            max_failures: protocol.max_failures,
            seed: protocol.seed,
            trials_sha256: sha256(&[trials.to_csv().as_bytes()]),
            version: protocol.version.clone(),
        }
    }

    /// The text of its file.
    ///
    /// # Errors
    /// None in practice: every field can be written.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| Error::invalid(format!("certificate cannot be written: {error}")))
    }

    /// Whether a file is a certificate.
    pub fn is_one(bytes: &[u8]) -> bool {
        std::str::from_utf8(bytes).is_ok_and(|text| Certificate::parse(text).is_ok())
    }

    /// Reads a certificate.
    ///
    /// # Errors
    /// Text that is not a certificate, or one of another version.
    pub fn parse(text: &str) -> Result<Certificate, Error> {
        let read: Certificate = serde_json::from_str(text).map_err(|error| {
            Error::invalid(format!("certificate is not in the form that veracity writes ({error})"))
        })?;
        if read.schema == SCHEMA {
            Ok(read)
        } else {
            Err(Error::invalid(format!("the certificate has another schema, expected {SCHEMA}")))
        }
    }

    /// The order that it states.
    pub(crate) fn protocol(&self) -> AuditProtocol {
        AuditProtocol {
            schema: ORDER.to_owned(),
            subject: self.subject.clone(),
            claim: self.claim.clone(),
            proved: self.proved,
            method: self.method.clone(),
            significance: self.significance,
            trials: self.trials,
            canaries: self.canaries,
            seed: self.seed,
            max_failures: self.max_failures,
            retries: self.retries,
            require: self.require,
            version: self.version.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{journal, protocol::sample, trials::Record};
    use super::*;
    use veracity_audit::{Observation, World, worlds};

    /// Trials whose worlds are told apart by every score.
    fn trials(protocol: &AuditProtocol) -> Trials {
        let mut trials = Trials::default();
        for trial in 0..protocol.trials {
            let world = worlds(protocol.seed, trial, 1)[0];
            let score = if world == World::In { f64::INFINITY } else { -1.0 };
            let observation = Observation { trial, canary: 0, world, score: Some(score) };
            trials.add(Record { observation, failure: String::new(), attempts: 1 }).unwrap();
        }
        trials
    }

    #[test]
    fn a_certificate_reads_back_as_itself_also_with_infinite_thresholds() {
        let mut protocol = sample(200);
        for threshold in ["split", "fixed:0.0", "fixed:inf", "folds:4", "union"] {
            protocol.method.threshold = threshold.into();
            let (audited, certificate) = certify(&protocol, &trials(&protocol)).unwrap();
            let text = certificate.to_json().unwrap();
            assert_eq!(Certificate::parse(&text).unwrap(), certificate, "{threshold}");
            assert_eq!(certificate.verdict, audited.verdict.name());
            // Nobody is above an infinite threshold, and then nothing is shown.
            assert_eq!(certificate.epsilon_lower.0 > 1.0, threshold != "fixed:inf", "{threshold}: {text}");
            assert_eq!(certificate.protocol(), protocol);
        }
        assert!(Certificate::parse("{}").is_err());
        for bad in ["\"nan\"", "null", "[]"] {
            assert!(serde_json::from_str::<Number>(bad).is_err(), "{bad}");
        }
    }

    /// Each file is sealed again after it was touched, so that its hash holds.
    #[test]
    fn what_was_changed_and_sealed_again_is_found_where_it_can_be() {
        let folder = std::env::temp_dir().join(format!("veracity-certificate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let protocol = sample(200);
        let (kept, certificate) =
            (trials(&protocol).to_csv(), certify(&protocol, &trials(&protocol)).unwrap().1);
        let failure = |certificate: &Certificate, kept: &str| {
            std::fs::write(folder.join(journal::TRIALS), kept).unwrap();
            let sealed = Certificate { trials_sha256: sha256(&[kept.as_bytes()]), ..certificate.clone() };
            let found = recompute(&sealed.to_json().unwrap(), &folder, &VerifyOptions::default()).unwrap();
            found.failure().map(|statement| (statement.what.clone(), statement.found.clone()))
        };
        std::fs::write(folder.join(journal::ORDER), protocol.to_json().unwrap()).unwrap();
        assert_eq!(failure(&certificate, &kept), None);
        // A larger claim would not be refuted; the order still has the one that was made.
        let looser = AuditProtocol {
            claim: ClaimNote { epsilon: 50.0, ..protocol.claim.clone() },
            ..protocol.clone()
        };
        let looser = certify(&looser, &trials(&protocol)).unwrap().1;
        assert_eq!(looser.verdict, "inconclusive");
        assert_eq!(failure(&looser, &kept), Some(("order".to_owned(), "another claim".to_owned())));
        let twice = format!("{kept}{}\n", kept.lines().last().unwrap());
        assert_eq!(failure(&certificate, &twice).unwrap().0, "trials_sha256");
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Canaries of a foreign model, all of them in: whoever guesses "in" is right, and nothing is shown.
    #[test]
    fn worlds_that_no_coin_gave_have_no_certificate() {
        let mut protocol = AuditProtocol { trials: 1, canaries: 100, max_failures: 0, ..sample(200) };
        protocol.subject.kind = crate::trained_model::KIND.into();
        protocol.method = MethodNote { bound: "one-run".into(), threshold: "ends:0.5".into(), group_size: 1 };
        let by = |is_in: fn(u32) -> bool| {
            let mut trials = Trials::default();
            for canary in 0..100 {
                let world = if is_in(canary) { World::In } else { World::Out };
                let observation = Observation { trial: 0, canary, world, score: Some(f64::from(canary)) };
                trials.add(Record { observation, failure: String::new(), attempts: 1 }).unwrap();
            }
            certify(&protocol, &trials).map(|_| ()).map_err(|refusal| refusal.to_string())
        };
        by(|canary| canary % 2 == 0).unwrap();
        assert!(by(|_| true).unwrap_err().starts_with("100 of 100 canaries are in"));
    }

    #[test]
    fn incomplete_or_failed_trials_have_no_certificate() {
        let protocol = sample(200);
        let other = AuditProtocol { trials: 202, ..protocol.clone() };
        assert!(
            certify(&other, &trials(&protocol))
                .unwrap_err()
                .to_string()
                .contains("2 of 202 trials are missing")
        );
        let mut failed = Trials::default();
        // The first twenty of each world: as many with the canary as without.
        let mut left = [20, 20];
        for trial in 0..protocol.trials {
            let world = worlds(protocol.seed, trial, 1)[0];
            let left = &mut left[usize::from(world == World::In)];
            let score = (*left == 0).then_some(0.0);
            *left -= i32::from(*left > 0);
            let failure = if score.is_none() { "it broke" } else { "" }.to_owned();
            failed
                .add(Record {
                    observation: Observation { trial, canary: 0, world, score },
                    failure,
                    attempts: 1,
                })
                .unwrap();
        }
        let refused = certify(&protocol, &failed).unwrap_err().to_string();
        assert_eq!(
            refused,
            "40 of 200 trials failed (20 with the canary, 20 without), more than the maximum of 20: it broke (40 times)"
        );
    }
}
