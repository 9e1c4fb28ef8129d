//! Any program in any language as a subject: for each trial its data file is written, it is run, and the score is the one
//! number that it leaves.
//!
//! Its words may hold `{data}` (the world's data file), `{seed}` (a whole number below 2^32, another for each trial),
//! `{out}` (where the score goes) and `{world}` (`in` or `out`, for programs that make their own data). What it prints goes
//! to a log. Anything but a number in time is a failure with its reason, and an outcome like any other.
//!
//! A command may also be a worker: started once, it is told of each trial by a line.

use super::{
    neighbours::Neighbours,
    process::{self, Ending},
    worker::{Request, Worker},
};
use crate::{AuditClaim, Case, SubjectNote};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::{Count, Error};
use veracity_noise::Entropy;
use veracity_noise::{Key, Purpose};

/// The kind of these subjects.
pub const KIND: &str = "command";
/// The folder in which trials have their own, below that of the audit.
pub const WORK: &str = "work";
/// The log of what the programs said.
pub const LOG: &str = "command.log";
/// How the folder of one run is called: this and so many hexadecimal digits.
const ROOM: &str = "run-";
const ROOM_DIGITS: usize = 20;
/// The file of what a run said, in its folder.
pub(super) const SAID: &str = "said";
/// How much of what one run said is kept, from its end.
const MOST_SAID: u64 = 16 << 10;
/// The longest file that can be a number.
const LONGEST_SCORE: u64 = 4096;
/// Tells the seeds of commands from other draws of an attack.
const SEEDS: u64 = u64::from_be_bytes(*b"command\0");

/// What is run, and how.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program and its words, quoted as for a shell.
    pub line: String,
    /// The user's records and the canary; none for programs that make their own from `{world}`.
    pub data: Option<(PathBuf, PathBuf)>,
    /// How often the canary's records are planted.
    pub copies: u64,
    /// How long one run may take.
    pub timeout: Duration,
    /// Whether the program stays, reads a trial from each line of JSON and answers with its score.
    pub is_worker: bool,
    /// Where the audit lies: trials have their folders there, and the log.
    pub folder: PathBuf,
}

/// A program, ready to be run.
#[derive(Debug)]
struct Program {
    words: Vec<String>,
    data: Option<Neighbours>,
    seed: u64,
    spec: Spec,
    log: Mutex<()>,
    /// Workers that wait for a trial.
    idle: Mutex<Vec<Worker>>,
    /// Runs that were started, so that no two share a folder.
    started: AtomicU64,
}

/// Trials of a command where nobody says how many.
pub const USUAL_TRIALS: u64 = 1000;

/// The case of a command.
///
/// # Errors
/// A line that cannot be run, or data that cannot be read.
pub fn case(spec: Spec, claim: impl Into<AuditClaim>, trials: Count, seed: u64) -> Result<Case, Error> {
    let claim = claim.into();
    let words = words(&spec)?;
    let data = match &spec.data {
        Some((data, canary)) => Some(Neighbours::read(data, canary, spec.copies, claim.point.adjacency)?),
        None => None,
    };
    let records = data.as_ref().map_or(spec.copies, Neighbours::records);
    let mut settings: BTreeMap<String, Value> = BTreeMap::from([
        ("command".to_owned(), spec.line.clone().into()),
        ("canary_records".to_owned(), records.into()),
        ("canary_copies".to_owned(), spec.copies.into()),
        ("timeout_seconds".to_owned(), spec.timeout.as_secs_f64().into()),
    ]);
    settings.extend(data.as_ref().map(|data| ("data_sha256".to_owned(), data.fingerprint().into())));
    settings.insert("files_sha256".to_owned(), serde_json::json!(hashes(&words)));
    if spec.is_worker {
        settings.insert("worker".to_owned(), true.into());
    }
    let note = SubjectNote {
        kind: KIND.to_owned(),
        description: spec.line.clone(),
        attack: "the score that the command reports".to_owned(),
        access: "chosen by the command".to_owned(),
        settings,
    };
    let subject = Box::new(Program {
        words,
        data,
        seed,
        spec,
        log: Mutex::new(()),
        idle: Mutex::new(Vec::new()),
        started: AtomicU64::new(0),
    });
    Ok(Case { group: Count::new(records)?, is_costly: true, ..Case::new(subject, note, claim, trials, seed) })
}

/// Where commands are run again whose audit is verified.
pub(crate) fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("veracity-rerun-{}", std::process::id()))
}

/// Whether a folder has the name of one that a run had.
pub(crate) fn is_room(name: &str) -> bool {
    let digits = name.strip_prefix(ROOM).unwrap_or_default();
    digits.len() == ROOM_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// SHA-256 of the program and of every word that names a file, by word: a trainer that was edited is another subject.
fn hashes(words: &[String]) -> BTreeMap<String, Value> {
    let mut hashes = BTreeMap::new();
    for (at, word) in words.iter().enumerate() {
        let plain = Path::new(word);
        let searched = || {
            let folders = std::env::var_os("PATH")?;
            std::env::split_paths(&folders).map(|folder| folder.join(plain)).find(|path| path.is_file())
        };
        let path = match at {
            0 if !word.contains(std::path::MAIN_SEPARATOR) => searched(),
            _ => Some(plain.to_owned()),
        };
        let bytes = path.filter(|path| path.is_file()).and_then(|path| fs::read(path).ok());
        if let Some(bytes) = bytes {
            hashes.insert(word.clone(), crate::sha256(&[&bytes]).into());
        }
    }
    hashes
}

fn words(spec: &Spec) -> Result<Vec<String>, Error> {
    let words = shlex::split(&spec.line)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| Error::invalid("command is empty or has an unclosed quote"))?;
    let says = |placeholder: &str| words.iter().any(|word| word.contains(placeholder));
    let refuse = |what: &str| Err(Error::invalid(what.to_owned()));
    if spec.is_worker {
        let told = ["{data}", "{seed}", "{out}", "{world}"].into_iter().find(|placeholder| says(placeholder));
        return match told {
            Some(placeholder) => Err(Error::invalid(format!(
                "command contains {placeholder}, but a worker receives its trials as lines of JSON; remove the placeholder"
            ))),
            None => Ok(words),
        };
    }
    if !says("{out}") {
        return refuse("command has no {out}; add it, so that the program knows where to write its score");
    }
    match (&spec.data, says("{data}"), says("{world}")) {
        (Some(_), false, _) => {
            refuse("command has no {data}; add it, so that the program knows its data file")
        }
        (None, true, _) => refuse("{data} needs a file of records and a file with the canary"),
        (None, false, false) => {
            refuse("command has neither {data} nor {world}, so both worlds would be the same")
        }
        _ => Ok(words),
    }
}

impl AuditSubject for Program {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let world = worlds.first().copied().unwrap_or(World::Out);
        Ok(vec![self.attempt(trial, world)?])
    }
}

impl Program {
    /// One run in a folder of its own, which is gone afterwards.
    fn attempt(&self, trial: u64, world: World) -> Result<f64, Failure> {
        let room = self.room(trial)?;
        if self.spec.is_worker {
            return self.ask(&room.0, trial, world);
        }
        let result = self.run_in(&room.0, trial, world);
        let said = File::open(room.0.join(SAID)).and_then(|mut said| tail(&mut said, 0)).unwrap_or_default();
        self.write_log(&said, trial, world, &result);
        result
    }

    /// A folder for one run, or for one worker.
    fn room(&self, trial: u64) -> Result<Room, Failure> {
        let place = || {
            let room = self.spec.folder.join(WORK).join(self.room_name(trial));
            fs::create_dir_all(&room)?;
            fs::canonicalize(room)
        };
        let broken = |error: std::io::Error| {
            Failure::Machine(format!("the trial's folder cannot be used ({})", error.kind()))
        };
        place().map(Room).map_err(broken)
    }

    /// Asks a worker that waits, or a new one; it is kept if it answered.
    fn ask(&self, room: &Path, trial: u64, world: World) -> Result<f64, Failure> {
        let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = match waiting.and_then(|mut worker| worker.is_waiting().then_some(worker)) {
            Some(worker) => worker,
            None => Worker::start(&self.words, self.room(trial)?)?,
        };
        let data = self.write_data(room, world)?;
        let request = Request {
            seed: seed_of(self.seed, trial),
            data: data.as_deref(),
            world: data.is_none().then_some(world.name()),
        };
        let answer = worker.ask(request, self.spec.timeout);
        self.write_log(&worker.said(), trial, world, &answer);
        // One that failed may be in any state: another is started for the next trial.
        if answer.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
        answer
    }

    /// The name of a run's folder, which tells nothing of its trial.
    fn room_name(&self, trial: u64) -> String {
        let started = self.started.fetch_add(1, Ordering::Relaxed);
        let numbers = [self.seed, trial, started, u64::from(std::process::id())];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        format!("{ROOM}{}", &crate::sha256(&[&bytes])[..ROOM_DIGITS])
    }

    fn run_in(&self, room: &Path, trial: u64, world: World) -> Result<f64, Failure> {
        let data = self.write_data(room, world)?.unwrap_or_default();
        let out = room.join("score");
        let said = File::create(room.join(SAID)).map_err(unwritten)?;
        let words = self.fill(&data, &out, trial, world);
        match process::run(&words, self.spec.timeout, &said) {
            Err(error) => Err(Failure::Run(format!("the command cannot be started ({})", error.kind()))),
            Ok(Ending::Interrupted) => Err(Failure::Run("the command was interrupted".to_owned())),
            Ok(Ending::TimedOut) => Err(Failure::Run(format!(
                "the command took longer than {} s",
                self.spec.timeout.as_secs_f64()
            ))),
            Ok(Ending::Exit(status)) if !status.success() => {
                Err(Failure::Run(format!("the command ended with {status}")))
            }
            Ok(Ending::Exit(_)) => read_score(&out),
        }
    }

    fn fill(&self, data: &Path, out: &Path, trial: u64, world: World) -> Vec<String> {
        let seed = seed_of(self.seed, trial).to_string();
        let fill = |word: &String| {
            word.replace("{world}", world.name())
                .replace("{seed}", &seed)
                .replace("{data}", &data.to_string_lossy())
                .replace("{out}", &out.to_string_lossy())
        };
        self.words.iter().map(fill).collect()
    }

    /// The world's data file, where there are data.
    fn write_data(&self, room: &Path, world: World) -> Result<Option<PathBuf>, Failure> {
        let Some(neighbours) = &self.data else { return Ok(None) };
        let data = room.join("data.csv");
        neighbours.write(world, &data).map_err(unwritten)?;
        Ok(Some(data))
    }

    /// Adds what a run said to the log, in one piece. A log that cannot be written is no reason to stop.
    fn write_log(&self, said: &[u8], trial: u64, world: World, result: &Result<f64, Failure>) {
        let ending = result.as_ref().map_or_else(|failure| failure.reason(), |_| "a score");
        let mut text = format!("── trial {trial}, world {}: {ending}\n", world.name()).into_bytes();
        text.extend(said);
        if said.last().is_some_and(|byte| *byte != b'\n') {
            text.push(b'\n');
        }
        let _one_at_a_time = self.log.lock();
        let log = OpenOptions::new().create(true).append(true).open(self.spec.folder.join(LOG));
        let _ = log.and_then(|mut log| log.write_all(&text));
    }
}

fn unwritten(error: std::io::Error) -> Failure {
    Failure::Machine(format!("the trial's files cannot be written ({})", error.kind()))
}

/// The end of a file from `from` on, at most [`MOST_SAID`] bytes.
pub(super) fn tail(file: &mut File, from: u64) -> std::io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(MOST_SAID))))?;
    let mut bytes = Vec::new();
    file.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Drop for Program {
    fn drop(&mut self) {
        // Workers have their folders there.
        self.idle.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        // Empty by now, unless another process works there.
        let _ = fs::remove_dir(self.spec.folder.join(WORK));
    }
}

/// The folder of a trial or a worker; gone when dropped.
#[derive(Debug)]
pub(super) struct Room(pub(super) PathBuf);

impl Drop for Room {
    fn drop(&mut self) {
        // What cannot be removed now is removed with the folder above.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The one number in a file.
fn read_score(path: &Path) -> Result<f64, Failure> {
    let failure = |why: &str| Failure::Run(why.to_owned());
    let file = File::open(path).map_err(|_| failure("the command left no score file"))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_SCORE + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| failure("the command left a score file that cannot be read"))?;
    let text = std::str::from_utf8(&bytes).ok().filter(|_| bytes.len() as u64 <= LONGEST_SCORE);
    match text.and_then(|text| text.trim().parse::<f64>().ok()) {
        Some(score) => number(score),
        None if bytes.trim_ascii().is_empty() => Err(failure("the command left an empty score file")),
        None => Err(failure("the command left something else than one number as its score")),
    }
}

/// A score that can be compared with others.
pub(super) fn number(score: f64) -> Result<f64, Failure> {
    if score.is_nan() { Err(Failure::Run("the score is not a number (NaN)".to_owned())) } else { Ok(score) }
}

/// The seed of a trial, below 2^32 since that is what many programs take.
///
/// # Promise  Two trials below 2^32 of one audit never have the same seed: it is a permutation of the trial's number,
/// four rounds of a Feistel network whose keys are drawn from the audit's seed.
pub fn seed_of(seed: u64, trial: u64) -> u32 {
    let mut keys = Entropy::seeded(seed).stream(Purpose::Attack, Key { run: SEEDS, ..Key::default() });
    let number = trial as u32;
    let (mut left, mut right) = (number >> 16, number & 0xffff);
    for _ in 0..4 {
        let key = keys.word();
        let mixed = (u64::from(right) ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(key | 1);
        (left, right) = (right, left ^ (mixed >> 48) as u32);
    }
    left << 16 | right
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_trials_share_a_seed() {
        let seeds: HashSet<u32> = (0..200_000).map(|trial| seed_of(7, trial)).collect();
        assert_eq!(seeds.len(), 200_000);
        assert_ne!(seed_of(7, 3), seed_of(8, 3));
        // Half of the bits change between neighbours: 1000 pairs of 32 bits, 16 000 ± 800 but for chance 1e-17.
        let changed: u32 = (0..1000).map(|t| (seed_of(7, 2 * t) ^ seed_of(7, 2 * t + 1)).count_ones()).sum();
        assert!((15_200..=16_800).contains(&changed), "{changed}");
    }
}
