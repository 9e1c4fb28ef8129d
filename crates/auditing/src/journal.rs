//! The trials of an audit on disk: what was run is there after a crash, whole or not at all.
//!
//! A folder holds `order.json`, and while trials run `trials.part`, to which every trial is appended with a checksum.
//! A line that was torn when the program was killed is dropped, and its trial run again. At the end `trials.csv` has
//! all of them in the order of their keys, whichever way they came.

use super::{
    certificate::{self, Certificate},
    command,
    protocol::AuditProtocol,
    signature,
    trials::{Record, Trials},
};
use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};
use veracity_audit::{Outcome, Shard};
use veracity_core::Error;
use veracity_core::files::saving::{Staged, create, refuse_foreign_file};
use veracity_report::html;

/// The file of the order.
pub const ORDER: &str = "order.json";
/// The file of all trials.
pub const TRIALS: &str = "trials.csv";
/// The file of the report.
pub const REPORT: &str = "report.html";
/// The file that is appended to while trials run.
const PART: &str = "trials.part";
/// The most bytes of trials that are read.
const LONGEST: u64 = 1 << 32;

/// The most scores that are kept in a folder: a line of each, at most 70 bytes, stays within what is read.
const MOST_KEPT: u64 = 60_000_000;

/// How often a folder's lock is asked for, and how long is waited between.
#[cfg(unix)]
const LOCK_TRIES: u32 = 100;
#[cfg(unix)]
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// Whether an audit may be resumed that began in the same folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Only in a folder without one.
    Fresh,
    /// Where there is one, under the same order.
    Resume,
}

/// The trials of an audit, kept as they end: in memory, or in a folder that is open for one process.
#[derive(Debug)]
pub struct Journal {
    protocol: AuditProtocol,
    trials: Trials,
    disk: Option<Disk>,
    /// Trials that failed and are run again, and how often they were run.
    failed_before: BTreeMap<u64, u32>,
    /// Whether no more trials are needed.
    ended: bool,
}

/// A folder that trials are written to.
#[derive(Debug)]
struct Disk {
    folder: PathBuf,
    part: File,
    /// How much of the part is whole.
    length: u64,
    /// Open as long as the journal is: the lock ends with it, also when the process is killed.
    _lock: Option<File>,
}

impl Journal {
    /// Opens a folder for an order, and reads what it holds.
    ///
    /// # Errors
    /// A folder with another audit, or with files of somebody else, or one that cannot be written.
    pub fn open(folder: &Path, protocol: &AuditProtocol, opening: Opening) -> Result<Journal, Error> {
        protocol.check()?;
        must_fit(protocol)?;
        fs::create_dir_all(folder).map_err(|error| refuse("create", folder, error))?;
        let lock = lock(folder)?;
        let known = read_protocol(folder)?;
        match (&known, opening) {
            (Some(_), Opening::Fresh) => {
                return Err(Error::file("out", folder, "a new folder, or to resume the audit that is in it"));
            }
            (Some(known), Opening::Resume) => {
                must_agree(folder, protocol, known)?;
                refuse_foreign_file("certificate", &folder.join(certificate::FILE), Certificate::is_one)?;
                must_be_certified(folder, known)?;
                refuse_foreign_file("signature", &folder.join(signature::FILE), signature::is_one)?;
                refuse_foreign_file("report", &folder.join(REPORT), html::is_page)?;
            }
            (None, _) => {
                refuse_foreign_files(folder)?;
                create("order", &folder.join(ORDER), protocol.to_json()?.as_bytes())?;
            }
        }
        sweep_work(&folder.join(command::WORK));
        let mut trials = read_trials(&folder.join(TRIALS))?.unwrap_or_default();
        let (part, length, torn_off) = open_part(&folder.join(PART))?;
        trials.merge(torn_off)?;
        trials.must_belong(protocol)?;
        let disk = Some(Disk { folder: folder.to_owned(), part, length, _lock: lock });
        Ok(Journal { protocol: protocol.clone(), trials, disk, failed_before: BTreeMap::new(), ended: false })
    }

    /// A journal that is gone with the program.
    ///
    /// # Errors
    /// A protocol that no audit can be run by.
    pub fn in_memory(protocol: &AuditProtocol) -> Result<Journal, Error> {
        protocol.check()?;
        Ok(Journal {
            protocol: protocol.clone(),
            trials: Trials::default(),
            disk: None,
            failed_before: BTreeMap::new(),
            ended: false,
        })
    }

    /// What was fixed before its first trial.
    pub fn protocol(&self) -> &AuditProtocol {
        &self.protocol
    }

    /// The trials so far.
    pub fn trials(&self) -> &Trials {
        &self.trials
    }

    /// The trials of a shard that are still to be run, and how often each was run before.
    pub fn missing(&self, shard: Shard) -> Vec<(u64, u32)> {
        if self.ended {
            return Vec::new();
        }
        let has = |trial: &u64| !self.trials.has(*trial, self.protocol.canaries);
        let before = |trial: u64| (trial, self.failed_before.get(&trial).copied().unwrap_or(0));
        shard.trials(self.protocol.trials).filter(has).map(before).collect()
    }

    /// Lets trials that failed be run again.
    pub fn retry_failed(&mut self) {
        self.failed_before = self.trials.take_failed();
    }

    /// Ends a test that needs no more than the first `trials`: those after them are dropped.
    pub(crate) fn end_at(&mut self, trials: u64) {
        self.trials = self.trials.first(trials);
        self.ended = true;
    }

    /// Keeps a trial, in one write.
    ///
    /// # Promise  Where the disk is full, the trials before are still there and nothing of this one is.
    ///
    /// # Errors
    /// A trial that the protocol does not have, or a file that cannot be written.
    pub fn keep(&mut self, outcome: &Outcome) -> Result<(), Error> {
        self.trials.add_outcome(outcome)?;
        let Some(disk) = &mut self.disk else { return Ok(()) };
        let text: String = Record::of(outcome).iter().map(sealed).collect();
        disk.append(&text)
    }

    /// Takes trials that were run elsewhere.
    ///
    /// # Errors
    /// Trials that the protocol does not have.
    pub fn take(&mut self, trials: Trials) -> Result<(), Error> {
        trials.must_belong(&self.protocol)?;
        Ok(self.trials.merge(trials)?)
    }

    /// Writes all trials to their place, with other files beside them: all are whole on disk before the first has its
    /// name. In memory there is nothing to write.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn settle(self, beside: &[(&'static str, &str, String)]) -> Result<Trials, Error> {
        if let Some(Disk { folder, .. }) = &self.disk {
            let csv = self.trials.to_csv();
            let trials = Staged::new("trials", &folder.join(TRIALS), csv.as_bytes())?;
            let stage = |(what, name, text): &(&'static str, &str, String)| {
                Staged::new(what, &folder.join(name), text.as_bytes())
            };
            let others = beside.iter().map(stage).collect::<Result<Vec<_>, _>>()?;
            trials.settle()?;
            others.into_iter().try_for_each(Staged::settle)?;
            let part = folder.join(PART);
            fs::remove_file(&part).map_err(|error| refuse("remove", &part, error))?;
        }
        Ok(self.trials)
    }
}

impl Disk {
    fn append(&mut self, text: &str) -> Result<(), Error> {
        if let Err(error) = self.part.write_all(text.as_bytes()) {
            // What cannot be taken back is dropped by its checksum when it is read.
            let _ = self.part.set_len(self.length);
            return Err(refuse("write", &self.folder.join(PART), error));
        }
        self.length += text.len() as u64;
        Ok(())
    }
}

/// Reads the order and the trials of a folder, finished or not, without changing anything there.
///
/// # Errors
/// A folder without an audit, or with damaged files.
pub fn read(folder: &Path) -> Result<(AuditProtocol, Trials), Error> {
    let Some(protocol) = read_protocol(folder)? else {
        return Err(Error::invalid(format!(
            "{} has no {ORDER}, so it is not the folder of an audit",
            folder.display()
        )));
    };
    must_be_certified(folder, &protocol)?;
    let mut trials = read_trials(&folder.join(TRIALS))?.unwrap_or_default();
    if let Some(bytes) = read_bytes(&folder.join(PART))? {
        trials.merge(whole_lines(&folder.join(PART), &bytes)?.0)?;
    }
    trials.must_belong(&protocol)?;
    Ok((protocol, trials))
}

/// Puts the shares of one audit together.
///
/// # Errors
/// Shards of different audits, or damaged files.
pub fn merge(folders: &[PathBuf]) -> Result<(AuditProtocol, Trials), Error> {
    let Some((first, rest)) = folders.split_first() else {
        return Err(Error::invalid("no folders are given; pass the folders of all shards"));
    };
    let (protocol, mut trials) = read(first)?;
    for folder in rest {
        let (other, more) = read(folder)?;
        must_agree(folder, &protocol, &other)?;
        trials.merge(more)?;
    }
    trials.must_complete(&protocol)?;
    Ok((protocol, trials))
}

/// Refuses more scores than could be read back, before the first of them is made.
fn must_fit(protocol: &AuditProtocol) -> Result<(), Error> {
    let scores = protocol.trials.saturating_mul(u64::from(protocol.canaries));
    if scores <= MOST_KEPT {
        return Ok(());
    }
    let range = "at most 60000000 in a folder; use fewer trials or canaries, or no folder";
    Err(Error::out_of_range("scores", scores, range))
}

fn refuse(action: &'static str, path: &Path, error: std::io::Error) -> Error {
    Error::cannot(action, "audit file", path, error)
}

fn must_agree(folder: &Path, ordered: &AuditProtocol, known: &AuditProtocol) -> Result<(), Error> {
    match ordered.difference(known) {
        None => Ok(()),
        Some(what) => Err(Error::invalid(format!(
            "{} contains an audit with a different {what}; settings cannot change after the first trial, so use a new folder",
            folder.display()
        ))),
    }
}

/// Refuses an order that is not that of the certificate beside it: it was changed after its trials were seen.
fn must_be_certified(folder: &Path, ordered: &AuditProtocol) -> Result<(), Error> {
    let path = folder.join(certificate::FILE);
    let Some(text) = read_text(&path)? else { return Ok(()) };
    let stated = Certificate::parse(&text).map_err(|refusal| Error::damaged(&path, refusal))?.protocol();
    match stated.difference(ordered) {
        None => Ok(()),
        Some(what) => Err(Error::invalid(format!(
            "{} contains a certificate with a different {what} than its {ORDER}; settings cannot change after the first trial",
            folder.display()
        ))),
    }
}

/// What has the name of a file of ours without an order beside it is not ours to write over.
fn refuse_foreign_files(folder: &Path) -> Result<(), Error> {
    let names = [TRIALS, PART, certificate::FILE, signature::FILE, REPORT, command::WORK, command::LOG];
    let stranger = names.into_iter().find(|name| fs::symlink_metadata(folder.join(name)).is_ok());
    match stranger {
        Some(name) => Err(Error::file("out", folder, format!("a new folder, found {name} and no {ORDER}"))),
        None => Ok(()),
    }
}

/// Removes what trials left that were under way when the program was killed: folders that [`command`] gave a name. Whatever else is
/// there stays.
fn sweep_work(work: &Path) {
    for entry in fs::read_dir(work).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if command::is_room(&name.to_string_lossy()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    // Empty by now, unless something else is in it.
    let _ = fs::remove_dir(work);
}

/// Two processes that append to one part would spoil it. The lock is on the folder itself, and leaves no file.
///
/// A command that was just being started when its audit was killed holds the lock until it runs; so it is waited for.
#[cfg(unix)]
fn lock(folder: &Path) -> Result<Option<File>, Error> {
    use rustix::{fs::FlockOperation, io::Errno};
    let file = File::open(folder).map_err(|error| refuse("read", folder, error))?;
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
            // Some network file systems have no locks.
            Ok(()) | Err(_) => return Ok(Some(file)),
        }
    }
    Err(Error::file("out", folder, "a folder that no other audit is writing to; give each shard its own"))
}

#[cfg(not(unix))]
fn lock(_folder: &Path) -> Result<Option<File>, Error> {
    Ok(None)
}

/// Reads a file, if it is there.
pub(super) fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse("read", path, error)),
    };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| refuse("read", path, error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Error::invalid(format!("{} is larger than 4 GiB, the maximum", path.display())));
    }
    Ok(Some(bytes))
}

fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let not_text = |_| Error::invalid(format!("{} is not UTF-8 text", path.display()));
    read_bytes(path)?.map(|bytes| String::from_utf8(bytes).map_err(not_text)).transpose()
}

/// The order of a folder, if there is one.
pub(super) fn read_protocol(folder: &Path) -> Result<Option<AuditProtocol>, Error> {
    let path = folder.join(ORDER);
    let place = |refusal| Error::damaged(&path, refusal);
    read_text(&path)?.map(|text| AuditProtocol::parse(&text).map_err(place)).transpose()
}

fn read_trials(path: &Path) -> Result<Option<Trials>, Error> {
    read_bytes(path)?.map(|bytes| parse_trials(path, bytes)).transpose()
}

/// The trials of a file that was read.
pub(super) fn parse_trials(path: &Path, bytes: Vec<u8>) -> Result<Trials, Error> {
    let name = path.display().to_string();
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid(format!("{name} is not UTF-8 text")))?;
    Ok(Trials::parse(&name, &text)?)
}

/// Opens the part for appending, after its last whole line.
fn open_part(path: &Path) -> Result<(File, u64, Trials), Error> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
        .map_err(|error| refuse("write", path, error))?;
    let bytes = read_bytes(path)?.unwrap_or_default();
    let (trials, length) = whole_lines(path, &bytes)?;
    file.set_len(length)
        .and_then(|()| file.seek(SeekFrom::Start(length)))
        .map_err(|error| refuse("write", path, error))?;
    Ok((file, length, trials))
}

/// The trials of the lines that are whole, and where those end. What is torn can only be at the end; elsewhere the file
/// was damaged, and nothing of it is believed.
fn whole_lines(path: &Path, bytes: &[u8]) -> Result<(Trials, u64), Error> {
    let mut trials = Trials::default();
    let (mut end, mut torn) = (0, false);
    let mut length = 0;
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += piece.len() as u64;
        match unsealed(piece) {
            Some(_) if torn => {
                return Err(Error::invalid(format!(
                    "{} is damaged in the middle; start again in a new folder",
                    path.display()
                )));
            }
            Some(record) => {
                trials.add(record)?;
                length = end;
            }
            None => torn = true,
        }
    }
    Ok((trials, length))
}

/// A record as a line that tells whether it is whole.
fn sealed(record: &Record) -> String {
    let text = veracity_tables::writing::csv_line(record.cells());
    format!("{:016x},{text}\n", fingerprint(text.as_bytes()))
}

fn unsealed(piece: &[u8]) -> Option<Record> {
    let text = std::str::from_utf8(piece).ok()?.strip_suffix('\n')?;
    let (seal, text) = text.split_once(',')?;
    if u64::from_str_radix(seal, 16).ok()? != fingerprint(text.as_bytes()) {
        return None;
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let cells = reader.records().next()?.ok()?;
    Record::read(cells.iter())
}

/// FNV-1a: it guards against torn writes, not against people; those meet the SHA-256 of the certificate.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::super::protocol::sample;
    use super::*;
    use veracity_audit::{Failure, Observation, worlds};

    fn room(name: &str) -> PathBuf {
        let room = std::env::temp_dir().join(format!("veracity-journal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&room);
        room
    }

    fn outcome(seed: u64, trial: u64) -> Outcome {
        let score = (trial % 5 != 3).then_some(trial as f64 / 7.0);
        Outcome {
            observations: vec![Observation { trial, canary: 0, world: worlds(seed, trial, 1)[0], score }],
            failure: score.is_none().then(|| Failure::Run("it said \"no\", twice".into())),
            attempts: 1,
        }
    }

    fn fill(folder: &Path, protocol: &AuditProtocol) -> String {
        let mut journal = Journal::open(folder, protocol, Opening::Resume).unwrap();
        for (trial, _) in journal.missing(Shard::WHOLE) {
            journal.keep(&outcome(protocol.seed, trial)).unwrap();
        }
        journal.settle(&[]).unwrap().to_csv()
    }

    #[test]
    fn more_scores_than_can_be_read_back_are_refused_before_the_first() {
        let many = AuditProtocol { trials: 100_000_000, ..sample(4) };
        let told = Journal::open(&room("many"), &many, Opening::Fresh).unwrap_err().to_string();
        assert!(told.starts_with("scores is 100000000, expected at most 60000000 in a folder"), "{told}");
        assert!(!room("many").exists() && Journal::in_memory(&many).is_ok());
    }

    /// The part cut off after every byte: what was whole is kept, the rest is run again, and the end is the same.
    #[test]
    fn a_kill_at_any_byte_changes_nothing() {
        let (protocol, folder) = (sample(10), room("torn"));
        let whole = fill(&folder, &protocol);
        assert_eq!(fs::read_to_string(folder.join(TRIALS)).unwrap(), whole);
        assert!(!folder.join(PART).exists());
        fs::remove_file(folder.join(TRIALS)).unwrap();
        let mut journal = Journal::open(&folder, &protocol, Opening::Resume).unwrap();
        for trial in [4, 0, 3] {
            journal.keep(&outcome(protocol.seed, trial)).unwrap();
        }
        drop(journal);
        let part = fs::read(folder.join(PART)).unwrap();
        for cut in 0..part.len() {
            fs::write(folder.join(PART), &part[..cut]).unwrap();
            let whole_lines = part[..cut].iter().filter(|byte| **byte == b'\n').count();
            let journal = Journal::open(&folder, &protocol, Opening::Resume).unwrap();
            assert_eq!(journal.missing(Shard::WHOLE).len(), 10 - whole_lines);
            drop(journal);
            assert_eq!(fill(&folder, &protocol), whole, "{cut}");
            fs::remove_file(folder.join(TRIALS)).unwrap();
        }
        // A byte changed in the middle is damage, not a torn end.
        let mut damaged = part.clone();
        damaged[20] ^= 1;
        fs::write(folder.join(PART), &damaged).unwrap();
        let refused = Journal::open(&folder, &protocol, Opening::Resume).unwrap_err().to_string();
        assert!(refused.contains("damaged in the middle"), "{refused}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_is_for_one_order_and_one_process() {
        let (protocol, folder) = (sample(10), room("order"));
        let journal = Journal::open(&folder, &protocol, Opening::Fresh).unwrap();
        let refused = Journal::open(&folder, &protocol, Opening::Resume).unwrap_err().to_string();
        assert!(refused.contains("no other audit"), "{refused}");
        drop(journal);
        assert!(
            Journal::open(&folder, &protocol, Opening::Fresh)
                .unwrap_err()
                .to_string()
                .contains("to resume the audit")
        );
        let other = AuditProtocol { significance: 0.02, ..protocol.clone() };
        let refused = Journal::open(&folder, &other, Opening::Resume).unwrap_err().to_string();
        assert!(refused.contains("a different significance"), "{refused}");
        Journal::open(&folder, &protocol, Opening::Resume).unwrap();
        // Trials without an order are someone else's.
        let strange = room("strange");
        fs::create_dir_all(&strange).unwrap();
        fs::write(strange.join(TRIALS), "precious").unwrap();
        assert!(Journal::open(&strange, &protocol, Opening::Resume).is_err());
        assert_eq!(fs::read_to_string(strange.join(TRIALS)).unwrap(), "precious");
        fs::remove_dir_all(strange).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn shares_put_together_are_the_whole() {
        let protocol = sample(11);
        let whole = fill(&room("whole"), &protocol);
        let shares: Vec<PathBuf> = (0..3).map(|index| room(&format!("share{index}"))).collect();
        for (index, folder) in shares.iter().enumerate() {
            let mut journal = Journal::open(folder, &protocol, Opening::Fresh).unwrap();
            for (trial, _) in journal.missing(Shard::new(index as u64, 3).unwrap()) {
                journal.keep(&outcome(protocol.seed, trial)).unwrap();
            }
            // A share that was not finished counts as far as it came.
            if index > 0 {
                journal.settle(&[]).unwrap();
            }
        }
        assert_eq!(merge(&shares).unwrap().1.to_csv(), whole);
        assert!(merge(&shares[..2]).unwrap_err().to_string().contains("missing, the first is 2"));
        assert!(merge(&[]).is_err());
        // The same share twice is one; another order is none.
        let twice = [&shares[..], &shares[1..2]].concat();
        assert_eq!(merge(&twice).unwrap().1.to_csv(), whole);
        let foreign = room("foreign");
        fill(&foreign, &AuditProtocol { seed: 3, ..protocol });
        assert!(
            merge(&[&shares[..], std::slice::from_ref(&foreign)].concat())
                .unwrap_err()
                .to_string()
                .contains("a different seed")
        );
        for folder in shares.into_iter().chain([foreign, room("whole")]) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
