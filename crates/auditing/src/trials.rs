//! The trials of an audit by their key (trial, canary), and their text: one CSV line each, in the order of the keys.
//!
//! The same trials give the same bytes, in whichever order and however often they came. A key that comes again with
//! another score is refused: a subject that is not a function of its trial voids everything that is said of shards.

use super::protocol::AuditProtocol;
use std::collections::{BTreeMap, HashMap};
use veracity_audit::{
    ClaimUnderTest, Declared, FailuresByWorld, Method, Observation, Outcome, World,
    bound::sequential::Rounds, is_refuted_by_bets, worlds,
};
use veracity_core::printable;
use veracity_core::{Refusal, Significance};
use veracity_tables::writing::csv_line;

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
        if score.is_some_and(f64::is_nan) {
            return None;
        }
        let failure = cells.next()?.to_owned();
        let attempts = cells.next()?.parse().ok().filter(|attempts| *attempts > 0)?;
        let record = Record { observation: Observation { trial, canary, world, score }, failure, attempts };
        // Either a score or a reason, and each trial spelled in one way only.
        (cells.next().is_none() && score.is_some() == record.failure.is_empty()).then_some(record)
    }
}

/// A reason fit for one cell: no line ends or other control characters, not too long, not empty.
fn one_line(reason: &str) -> String {
    let line: String = printable(reason, LONGEST_REASON);
    let line = line.trim();
    if line.is_empty() { "failed without a reason".to_owned() } else { line.to_owned() }
}

/// What was told of one canary in a trial. Sixteen bytes: an audit may have hundreds of millions of them.
#[derive(Debug, Clone, Copy)]
struct TrialScore {
    /// No number where the trial failed.
    score: f64,
    canary: u32,
    world: World,
}

/// The same bits are the same, also where there is no number.
impl PartialEq for TrialScore {
    fn eq(&self, other: &TrialScore) -> bool {
        (self.score.to_bits(), self.canary, self.world) == (other.score.to_bits(), other.canary, other.world)
    }
}

impl TrialScore {
    fn of(observation: &Observation) -> TrialScore {
        let Observation { canary, world, score, .. } = *observation;
        TrialScore { score: score.unwrap_or(f64::NAN), canary, world }
    }

    fn observation(self, trial: u64) -> Observation {
        let score = Some(self.score).filter(|score| !score.is_nan());
        Observation { trial, canary: self.canary, world: self.world, score }
    }
}

/// What few trials have: a reason why they failed, and more than one attempt.
#[derive(Debug, Clone, PartialEq)]
struct Trouble {
    failure: String,
    attempts: u32,
}

/// Trials by their key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trials {
    /// What was told in each trial, by rising canary.
    told: BTreeMap<u64, Vec<TrialScore>>,
    troubles: BTreeMap<(u64, u32), Trouble>,
    /// How many canaries there are in all trials.
    count: u64,
}

impl Trials {
    /// Takes a record; one that is there already must be the same.
    ///
    /// # Errors
    /// A record that differs from the one that is there.
    pub fn add(&mut self, record: Record) -> Result<(), Refusal> {
        let (key, told) = (record.key(), TrialScore::of(&record.observation));
        let trouble = (!record.failure.is_empty() || record.attempts != 1)
            .then_some(Trouble { failure: record.failure, attempts: record.attempts });
        let of_trial = self.told.entry(key.0).or_default();
        match of_trial.binary_search_by_key(&key.1, |told| told.canary) {
            Ok(at) if of_trial[at] != told || self.troubles.get(&key) != trouble.as_ref() => {
                Err(Refusal::invalid(format!(
                    "trial {} was run twice and gave two different results; the subject must depend on \
                     its data and its seed alone",
                    key.0
                )))
            }
            Ok(_) => Ok(()),
            Err(at) => {
                of_trial.insert(at, told);
                self.count += 1;
                self.troubles.extend(trouble.map(|trouble| (key, trouble)));
                Ok(())
            }
        }
    }

    /// Takes what came of a whole trial.
    ///
    /// # Errors
    /// A trial that differs from the one that is there.
    pub fn add_outcome(&mut self, outcome: &Outcome) -> Result<(), Refusal> {
        let trial = outcome.observations.first().map(|first| first.trial);
        let is_new = trial.is_some_and(|trial| !self.told.contains_key(&trial));
        let is_in_order = outcome.observations.is_sorted_by(|a, b| a.canary < b.canary);
        if let (Some(trial), true, true, None, 1) =
            (trial, is_new, is_in_order, &outcome.failure, outcome.attempts)
        {
            self.told.insert(trial, outcome.observations.iter().map(TrialScore::of).collect());
            self.count += outcome.observations.len() as u64;
            return Ok(());
        }
        Record::of(outcome).into_iter().try_for_each(|record| self.add(record))
    }

    /// All of them as records, by rising key.
    fn records(&self) -> impl Iterator<Item = Record> {
        let all = self.told.iter().flat_map(|(trial, told)| told.iter().map(|told| told.observation(*trial)));
        all.map(|observation| {
            let trouble = self.troubles.get(&(observation.trial, observation.canary));
            let (failure, attempts) =
                trouble.map_or((String::new(), 1), |trouble| (trouble.failure.clone(), trouble.attempts));
            Record { observation, failure, attempts }
        })
    }

    /// Takes all of another's records.
    ///
    /// # Errors
    /// Records that differ.
    pub fn merge(&mut self, others: Trials) -> Result<(), Refusal> {
        if self.told.is_empty() {
            *self = others;
            return Ok(());
        }
        others.records().try_for_each(|record| self.add(record))
    }

    /// What was observed, by rising key.
    pub fn observations(&self) -> Vec<Observation> {
        let mut all = Vec::with_capacity(self.count as usize);
        for (trial, told) in &self.told {
            all.extend(told.iter().map(|told| told.observation(*trial)));
        }
        all
    }

    /// What was observed of the first canary of a trial.
    pub(crate) fn observation(&self, trial: u64) -> Option<Observation> {
        let first = self.told.get(&trial)?.first().filter(|first| first.canary == 0)?;
        Some(first.observation(trial))
    }

    /// Whether every canary of a trial is there.
    pub fn has(&self, trial: u64, canaries: u32) -> bool {
        let Some(last) = (canaries as usize).checked_sub(1) else { return true };
        // Canaries rise, so where one is at its own place all before it are there.
        self.told.get(&trial).and_then(|told| told.get(last)).is_some_and(|told| told.canary as usize == last)
    }

    /// Whether any trial was tried again after it had failed.
    pub fn were_retried(&self) -> bool {
        self.troubles.values().any(|trouble| trouble.attempts > 1)
    }

    /// How many trials failed at their first attempt, by world: a second attempt may hide what a crash reveals.
    pub fn failures_by_world(&self) -> FailuresByWorld {
        let mut counts = FailuresByWorld::default();
        for (trial, told) in &self.told {
            for told in told {
                counts.add(told.world, self.troubles.contains_key(&(*trial, told.canary)));
            }
        }
        counts
    }

    /// How often a trial was run; none of those that are not there.
    pub(crate) fn attempts(&self, trial: u64) -> u32 {
        let once = u32::from(self.observation(trial).is_some());
        self.troubles.get(&(trial, 0)).map_or(once, |trouble| trouble.attempts)
    }

    /// Those that failed, with the last attempt of each.
    fn failed(&self) -> BTreeMap<u64, u32> {
        let failed = self.troubles.iter().filter(|(_, trouble)| !trouble.failure.is_empty());
        failed.map(|((trial, _), trouble)| (*trial, trouble.attempts)).collect()
    }

    /// Takes trials out that failed, so that they can be tried again, and says how often each was run.
    pub(crate) fn take_failed(&mut self) -> BTreeMap<u64, u32> {
        let failed = self.failed();
        for trial in failed.keys() {
            self.count -= self.told.remove(trial).map_or(0, |told| told.len() as u64);
        }
        self.troubles.retain(|(trial, _), _| !failed.contains_key(trial));
        failed
    }

    /// The first `trials` of them.
    pub(crate) fn first(&self, trials: u64) -> Trials {
        let told: BTreeMap<u64, Vec<TrialScore>> =
            self.told.range(..trials).map(|(trial, told)| (*trial, told.clone())).collect();
        let troubles = self.troubles.range(..(trials, 0)).map(|(key, trouble)| (*key, trouble.clone()));
        let count = told.values().map(|told| told.len() as u64).sum();
        Trials { troubles: troubles.collect(), told, count }
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
        self.failed().len() as u64
    }

    /// The most frequent reason for a failure, and how often it came; of equals the first by its letters.
    pub fn most_frequent_failure(&self) -> Option<(String, u64)> {
        let mut tally: HashMap<&str, u64> = HashMap::new();
        for trouble in self.troubles.values().filter(|trouble| !trouble.failure.is_empty()) {
            *tally.entry(&trouble.failure).or_default() += 1;
        }
        let most = tally.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)));
        most.map(|(reason, times)| (reason.to_owned(), times))
    }

    /// Refuses trials that an order does not have, canaries in the wrong world, and gaps.
    ///
    /// # Promise  Takes no longer than the trials that are there, however many an order states
    ///
    /// # Errors
    /// Missing trials, or trials that the protocol does not have.
    pub fn must_complete(&self, protocol: &AuditProtocol) -> Result<(), Refusal> {
        if self.count < protocol.trials.saturating_mul(u64::from(protocol.canaries)) {
            if self.ended_early(protocol)? {
                return self.must_belong(protocol);
            }
            let mut there: Vec<u64> = self.told.keys().copied().collect();
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
        if !matches!(method, Method::Sequential { rounds: Rounds::Trials, .. })
            || self.without_gap(1) != self.count
        {
            return Ok(false);
        }
        let claim = protocol.claim.claim()?;
        let curves = claim.curves();
        let declared = curves.as_ref().map(|curves| curves as &dyn Declared);
        let claimed = ClaimUnderTest { point: claim.point, declared };
        let ends = |trials: &Trials| -> Result<bool, Refusal> {
            let level = Significance::new(protocol.significance)?;
            is_refuted_by_bets(&trials.observations(), &claimed, method.group(), level)
        };
        let all_but_one = self.first(self.count.saturating_sub(1));
        Ok(ends(self)? && !ends(&all_but_one)?)
    }

    /// Refuses trials that an order does not have, and canaries in the wrong world.
    ///
    /// # Errors
    /// Trials that the protocol does not have.
    pub fn must_belong(&self, protocol: &AuditProtocol) -> Result<(), Refusal> {
        let foreign =
            |what: String| Err(Refusal::invalid(format!("{what}; these are not the trials of this order")));
        let given = brings_its_worlds(protocol);
        for (trial, told) in &self.told {
            let beyond = |told: &&TrialScore| *trial >= protocol.trials || told.canary >= protocol.canaries;
            if let Some(TrialScore { canary, .. }) = told.iter().find(beyond) {
                return foreign(format!("trial {trial}, canary {canary} is beyond those ordered"));
            }
            if given {
                continue;
            }
            let worlds = worlds(protocol.seed, *trial, protocol.canaries as usize);
            let wrong = told.iter().find(|told| worlds[told.canary as usize] != told.world);
            if let Some(TrialScore { canary, .. }) = wrong {
                return foreign(format!("trial {trial}, canary {canary} is in the wrong world"));
            }
        }
        Ok(())
    }

    /// The whole file.
    pub fn to_csv(&self) -> String {
        let mut text = HEADER.to_owned() + "\n";
        for record in self.records() {
            text += &csv_line(record.cells());
            text.push('\n');
        }
        text
    }

    /// Reads a whole file; `what` names it in a refusal.
    ///
    /// # Errors
    /// Text that is no file of trials.
    pub fn parse(what: &str, text: &str) -> Result<Trials, Refusal> {
        let refuse = |line: u64| {
            Refusal::invalid(format!(
                "{what}: line {line} is not a trial, expected {HEADER} in the form that veracity writes"
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
        trials.add_outcome(&failed).unwrap();
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

    /// Whole trials and single records, in any order and twice, are the same trials; a canary short of one is missing.
    #[test]
    fn a_trial_comes_whole_or_in_pieces() {
        let told =
            |canary: u32, score: Option<f64>| Observation { trial: 3, canary, world: World::In, score };
        let whole = |scores: &[Option<f64>], failure: Option<&str>| Outcome {
            observations: (0..).zip(scores).map(|(canary, score)| told(canary, *score)).collect(),
            failure: failure.map(|why| Failure::Run(why.into())),
            attempts: 1,
        };
        let scores = [Some(0.5), Some(-1.0), Some(7.0)];
        let mut at_once = Trials::default();
        at_once.add_outcome(&whole(&scores, None)).unwrap();
        let mut in_pieces = Trials::default();
        for canary in [2, 0, 0, 1] {
            assert!(!in_pieces.has(3, 3));
            let observation = told(canary, scores[canary as usize]);
            in_pieces.add(Record { observation, failure: String::new(), attempts: 1 }).unwrap();
        }
        assert!(in_pieces.has(3, 3) && !in_pieces.has(3, 4) && !in_pieces.has(2, 1));
        assert_eq!(at_once, in_pieces);
        assert_eq!((at_once.to_csv(), at_once.observations().len()), (in_pieces.to_csv(), 3));
        at_once.add_outcome(&whole(&scores, None)).unwrap();
        assert_eq!(at_once, in_pieces);
        // Another result of the same trial, or none, is refused whichever way it comes.
        assert!(at_once.add_outcome(&whole(&[Some(0.5), Some(-1.0), Some(8.0)], None)).is_err());
        assert!(at_once.add_outcome(&whole(&[None; 3], Some("no room"))).is_err());
        // What failed is told once, and is equal to itself though it has no number.
        let mut failed = Trials::default();
        failed.add_outcome(&whole(&[None; 3], Some("no room"))).unwrap();
        assert_eq!((failed.clone(), failed.failures(), failed.attempts(3)), (failed.clone(), 1, 1));
        assert_eq!(failed.take_failed().into_iter().collect::<Vec<_>>(), [(3, 1)]);
        assert_eq!(failed, Trials::default());
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
            "trial,canary,world,score,failure,attempts\n1,0,in,NaN,why,1\n",
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
