//! The trials of an audit by their key (trial, canary), and their text: one CSV line each, in the order of the keys.
//!
//! The same trials give the same bytes, in whichever order and however often they came. A key that comes again with
//! another score is refused: a subject that is not a function of its trial voids everything that is said of shards.

use super::protocol::AuditProtocol;
use std::collections::{BTreeMap, HashMap};
use veracity_audit::{Claimed, Declared, Method, Observation, Outcome, World, is_refuted_by_bets, worlds};
use veracity_core::{Refusal, Significance};

/// The first line of the file.
pub const HEADER: &str = "trial,canary,world,score,failure,attempts";
/// The longest reason that is kept.
const LONGEST_REASON: usize = 200;

/// One line: what was observed, and why there is no score if there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What was observed.
    pub observation: Observation,
    /// Why the trial failed; in one line, empty when it did not.
    pub failure: String,
    /// How often the trial was run: more than once where it failed and was tried again.
    pub attempts: u32,
}

impl Record {
    /// The records of one trial.
    pub fn of(outcome: &Outcome) -> Vec<Record> {
        let failure = outcome.failure.as_ref().map_or(String::new(), |why| one_line(why.reason()));
        outcome
            .observations
            .iter()
            .map(|observation| Record {
                observation: *observation,
                failure: if observation.score.is_some() { String::new() } else { failure.clone() },
                attempts: outcome.attempts,
            })
            .collect()
    }

    fn key(&self) -> (u64, u32) {
        (self.observation.trial, self.observation.canary)
    }

    /// Its cells. A score is written with as many digits as it takes to read back the same bits.
    pub(super) fn cells(&self) -> [String; 6] {
        let Observation { trial, canary, world, score } = self.observation;
        [
            trial.to_string(),
            canary.to_string(),
            world.name().to_owned(),
            score.map_or(String::new(), |score| format!("{score:?}")),
            self.failure.clone(),
            self.attempts.to_string(),
        ]
    }

    /// Reads cells; nothing when they are not what [`Record::cells`] writes.
    pub(super) fn read<'a>(mut cells: impl Iterator<Item = &'a str>) -> Option<Record> {
        let trial = cells.next()?.parse().ok()?;
        let canary = cells.next()?.parse().ok()?;
        let world = match cells.next()? {
            "in" => World::In,
            "out" => World::Out,
            _ => return None,
        };
        let score = cells.next()?;
        let score: Option<f64> = if score.is_empty() { None } else { Some(score.parse().ok()?) };
        let failure = cells.next()?.to_owned();
        let attempts = cells.next()?.parse().ok().filter(|attempts| *attempts > 0)?;
        let record = Record { observation: Observation { trial, canary, world, score }, failure, attempts };
        let spoken = record.observation.score.is_some_and(|score| !score.is_nan());
        // Either a score or a reason, and each trial spelled in one way only.
        (cells.next().is_none() && spoken == record.failure.is_empty()).then_some(record)
    }

    fn same(&self, other: &Record) -> bool {
        let bits = |record: &Record| record.observation.score.map(f64::to_bits);
        bits(self) == bits(other)
            && self.observation.world == other.observation.world
            && self.failure == other.failure
            && self.attempts == other.attempts
    }
}

/// A reason fit for one cell: no line ends or other control characters, not too long, not empty.
fn one_line(reason: &str) -> String {
    let line: String =
        reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_REASON).collect();
    let line = line.trim();
    if line.is_empty() { "failed without a reason".to_owned() } else { line.to_owned() }
}

/// Trials by their key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trials(BTreeMap<(u64, u32), Record>);

impl Trials {
    /// Takes a record; one that is there already must be the same.
    pub fn add(&mut self, record: Record) -> Result<(), Refusal> {
        let key = record.key();
        match self.0.get(&key) {
            Some(known) if !known.same(&record) => Err(Refusal::invalid(format!(
                "trial {} was run twice and left two different results, expected the same: the subject must depend on \
                 nothing but its data and its seed",
                key.0
            ))),
            Some(_) => Ok(()),
            None => {
                self.0.insert(key, record);
                Ok(())
            }
        }
    }

    /// Takes all of another's records.
    pub fn merge(&mut self, others: Trials) -> Result<(), Refusal> {
        others.0.into_values().try_for_each(|record| self.add(record))
    }

    /// What was observed, by rising key.
    pub fn observations(&self) -> Vec<Observation> {
        self.0.values().map(|record| record.observation).collect()
    }

    /// What was observed of the first canary of a trial.
    pub(crate) fn observation(&self, trial: u64) -> Option<Observation> {
        self.0.get(&(trial, 0)).map(|record| record.observation)
    }

    /// Whether every canary of a trial is there.
    pub fn has(&self, trial: u64, canaries: u32) -> bool {
        (0..canaries).all(|canary| self.0.contains_key(&(trial, canary)))
    }

    /// Whether any trial was tried again after it had failed.
    pub fn were_retried(&self) -> bool {
        self.0.values().any(|record| record.attempts > 1)
    }

    /// How often a trial was run; none of those that are not there.
    pub(crate) fn attempts(&self, trial: u64) -> u32 {
        self.0.get(&(trial, 0)).map_or(0, |record| record.attempts)
    }

    /// Takes trials out that failed, so that they can be tried again, and says how often each was run.
    pub(crate) fn take_failed(&mut self) -> BTreeMap<u64, u32> {
        let failed = self.0.values().filter(|record| record.observation.score.is_none());
        let failed: BTreeMap<u64, u32> =
            failed.map(|record| (record.observation.trial, record.attempts)).collect();
        self.0.retain(|(trial, _), _| !failed.contains_key(trial));
        failed
    }

    /// The first `trials` of them.
    pub(crate) fn first(&self, trials: u64) -> Trials {
        Trials(self.0.range(..(trials, 0)).map(|(key, record)| (*key, record.clone())).collect())
    }

    /// How many trials there are from the first on without a gap.
    pub(crate) fn without_gap(&self, canaries: u32) -> u64 {
        let mut next = 0;
        while self.has(next, canaries) {
            next += 1;
        }
        next
    }

    /// How many trials failed.
    pub fn failures(&self) -> u64 {
        let failed = self.0.values().filter(|record| record.observation.score.is_none());
        let mut trials: Vec<u64> = failed.map(|record| record.observation.trial).collect();
        trials.dedup();
        trials.len() as u64
    }

    /// The most frequent reason for a failure, and how often it came; of equals the first by its letters.
    pub fn most_frequent_failure(&self) -> Option<(String, u64)> {
        let mut tally: HashMap<&str, u64> = HashMap::new();
        for record in self.0.values().filter(|record| !record.failure.is_empty()) {
            *tally.entry(&record.failure).or_default() += 1;
        }
        let most = tally.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)));
        most.map(|(reason, times)| (reason.to_owned(), times))
    }

    /// Refuses trials that an order does not have, canaries in the wrong world, and gaps.
    ///
    /// # Promise  Takes no longer than the trials that are there, however many an order states
    pub fn must_complete(&self, protocol: &AuditProtocol) -> Result<(), Refusal> {
        if (self.0.len() as u64) < protocol.trials.saturating_mul(u64::from(protocol.canaries)) {
            if self.ended_early(protocol)? {
                return self.must_belong(protocol);
            }
            let mut there: Vec<u64> = self.0.keys().map(|(trial, _)| *trial).collect();
            there.dedup();
            there.retain(|trial| *trial < protocol.trials && self.has(*trial, protocol.canaries));
            let whole = there.len() as u64;
            let first = (0..whole).find(|at| there[*at as usize] != *at).unwrap_or(whole);
            return Err(Refusal::invalid(format!(
                "{} of {} trials are missing, the first is {first}; resume the audit or merge the other shards",
                protocol.trials - whole,
                protocol.trials
            )));
        }
        // As many as there should be, each once and none a stranger: all of them.
        self.must_belong(protocol)
    }

    /// Whether these are the first trials of a test that bets, up to the one that decided and none after it.
    fn ended_early(&self, protocol: &AuditProtocol) -> Result<bool, Refusal> {
        let method = protocol.method.method()?;
        if !matches!(method, Method::Sequential { .. }) || self.without_gap(1) != self.0.len() as u64 {
            return Ok(false);
        }
        let claim = protocol.claim.claim()?;
        let curves = claim.curves();
        let declared = curves.as_ref().map(|curves| curves as &dyn Declared);
        let claimed = Claimed { point: claim.point, declared };
        let ends = |trials: &Trials| -> Result<bool, Refusal> {
            let level = Significance::new(protocol.significance)?;
            is_refuted_by_bets(&trials.observations(), &claimed, method.group(), level)
        };
        let all_but_one = self.first((self.0.len() as u64).saturating_sub(1));
        Ok(ends(self)? && !ends(&all_but_one)?)
    }

    /// Refuses trials that an order does not have, and canaries in the wrong world.
    pub fn must_belong(&self, protocol: &AuditProtocol) -> Result<(), Refusal> {
        let foreign =
            |what: String| Err(Refusal::invalid(format!("{what}; these are not the trials of this order")));
        let given = brings_its_worlds(protocol);
        let mut known: Option<(u64, Vec<World>)> = None;
        for record in self.0.values() {
            let Observation { trial, canary, world, .. } = record.observation;
            if trial >= protocol.trials || canary >= protocol.canaries {
                return foreign(format!("trial {trial}, canary {canary} is beyond those ordered"));
            }
            if given {
                continue;
            }
            if known.as_ref().is_none_or(|(of, _)| *of != trial) {
                known = Some((trial, worlds(protocol.seed, trial, protocol.canaries as usize)));
            }
            if known.as_ref().is_some_and(|(_, worlds)| worlds[canary as usize] != world) {
                return foreign(format!("trial {trial}, canary {canary} is in the wrong world"));
            }
        }
        Ok(())
    }

    /// The whole file.
    pub fn to_csv(&self) -> String {
        let mut text = HEADER.to_owned() + "\n";
        for record in self.0.values() {
            text += &line(&record.cells());
            text.push('\n');
        }
        text
    }

    /// Reads a whole file; `what` names it in a refusal.
    pub fn parse(what: &str, text: &str) -> Result<Trials, Refusal> {
        let refuse = |line: u64| {
            Refusal::invalid(format!(
                "{what}: line {line} is not a trial, expected {HEADER} as veracity writes it"
            ))
        };
        if text.lines().next() != Some(HEADER) {
            return Err(refuse(1));
        }
        let mut trials = Trials::default();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let mut cells = csv::StringRecord::new();
        loop {
            let at = reader.position().line();
            match reader.read_record(&mut cells) {
                Ok(true) => trials.add(Record::read(cells.iter()).ok_or_else(|| refuse(at))?)?,
                Ok(false) => return Ok(trials),
                Err(_) => return Err(refuse(at)),
            }
        }
    }
}

/// Whether someone else has run the trials and says which canaries were in; otherwise the seed does.
pub(super) fn brings_its_worlds(protocol: &AuditProtocol) -> bool {
    [super::recorded::KIND, super::trained_model::KIND].contains(&protocol.subject.kind.as_str())
}

/// Cells as one CSV line, without its end; cells are quoted where they must be.
pub(super) fn line(cells: &[String]) -> String {
    let mut line = String::new();
    for (i, cell) in cells.iter().enumerate() {
        if i > 0 {
            line.push(',');
        }
        if cell.contains([',', '"']) {
            line.push('"');
            line += &cell.replace('"', "\"\"");
            line.push('"');
        } else {
            line += cell;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::super::protocol::sample;
    use super::*;
    use veracity_audit::Failure;

    fn record(trial: u64, score: f64) -> Record {
        let world = worlds(sample(4).seed, trial, 1)[0];
        Record {
            observation: Observation { trial, canary: 0, world, score: Some(score) },
            failure: String::new(),
            attempts: 1,
        }
    }

    #[test]
    fn scores_read_back_to_the_same_bits() {
        let mut trials = Trials::default();
        let scores =
            [0.1 + 0.2, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE / 3.0, f64::MAX, 1e-5, 3.0];
        for (trial, score) in scores.into_iter().enumerate() {
            trials.add(record(trial as u64, score)).unwrap();
        }
        let failed = Outcome {
            observations: vec![Observation { trial: 8, canary: 0, world: World::In, score: None }],
            failure: Some(Failure::Run("exit code 1,\r\n\"quoted\"\u{7}".into())),
            attempts: 3,
        };
        trials.merge(Trials(Record::of(&failed).into_iter().map(|r| (r.key(), r)).collect())).unwrap();
        let text = trials.to_csv();
        let read = Trials::parse("trials", &text).unwrap();
        assert_eq!(read.to_csv(), text);
        for (found, score) in read.observations().iter().zip(scores) {
            assert_eq!(found.score.map(f64::to_bits), Some(score.to_bits()));
        }
        assert_eq!((read.failures(), text.lines().count()), (1, 10));
        assert_eq!(read.most_frequent_failure(), Some(("exit code 1,  \"quoted\"".into(), 1)));
    }

    #[test]
    fn the_same_trial_twice_is_one_and_another_score_is_named() {
        let mut trials = Trials::default();
        for _ in 0..2 {
            trials.add(record(5, 1.0)).unwrap();
        }
        assert_eq!(trials.observations().len(), 1);
        let refused = trials.add(record(5, 1.0 + f64::EPSILON)).unwrap_err().to_string();
        assert!(refused.starts_with("trial 5 ") && !refused.contains('\n'), "{refused}");
        assert!(trials.add(record(5, -0.0)).is_err());
    }

    #[test]
    fn gaps_strangers_and_wrong_worlds_are_refused() {
        let protocol = sample(4);
        let of = |numbers: &[u64]| {
            let mut trials = Trials::default();
            numbers.iter().try_for_each(|trial| trials.add(record(*trial, 0.0))).unwrap();
            trials
        };
        of(&[0, 1, 2, 3]).must_complete(&protocol).unwrap();
        let refused = of(&[0, 3]).must_complete(&protocol).unwrap_err().to_string();
        assert!(refused.starts_with("2 of 4 trials are missing, the first is 1"), "{refused}");
        assert!(of(&[0, 4]).must_belong(&protocol).is_err());
        assert!(of(&[0, 1, 2, 4]).must_complete(&protocol).is_err());
        // A file can state any number; what is missing is told from what is there.
        let many = AuditProtocol { trials: 1 << 29, ..protocol.clone() };
        let refused = of(&[0, 1, 3]).must_complete(&many).unwrap_err().to_string();
        assert!(
            refused.starts_with("536870909 of 536870912 trials are missing, the first is 2"),
            "{refused}"
        );
        let wide = AuditProtocol { trials: 1, canaries: 1 << 29, ..protocol.clone() };
        let refused = of(&[0]).must_complete(&wide).unwrap_err().to_string();
        assert!(refused.starts_with("1 of 1 trials are missing, the first is 0"), "{refused}");
        let mut swapped = record(2, 0.0);
        swapped.observation.world = match swapped.observation.world {
            World::In => World::Out,
            World::Out => World::In,
        };
        let mut trials = of(&[0, 1]);
        trials.add(swapped).unwrap();
        assert!(trials.must_belong(&protocol).is_err());
    }

    #[test]
    fn hostile_files_are_refused_in_one_line() {
        for bad in [
            "",
            "trial,world\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,,,1\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,NaN,,1\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,1.0,why,1\n",
            "trial,canary,world,score,failure,attempts\n1,0,up,1.0,,1\n",
            "trial,canary,world,score,failure,attempts\n-1,0,in,1.0,,1\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,1.0\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,1.0,,1,\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,0x10,,1\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,1.0,,0\n",
            "trial,canary,world,score,failure\n1,0,in,1.0,\n",
            "trial,canary,world,score,failure,attempts\n1,0,in,1.0,,1\n1,0,in,2.0,,1\n",
        ] {
            let refused = Trials::parse("trials", bad).unwrap_err().to_string();
            assert!(!refused.contains('\n') && !refused.contains("0x10"), "{refused}");
        }
    }
}
