//! What the tests of the ledger share: a folder of their own, requests, and the test program started again as a client.

#![allow(dead_code, clippy::unwrap_used)] // Each test uses a part of it; one that cannot go on should stop there.

use std::{
    fmt::Display,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};
use veracity_account::{Question, filter::Budget};
use veracity_core::{Adjacency, Error, Mechanism};
use veracity_ledger::{Ledger, Request, RequestId, Reservation, Reserved, Rule, Terms};
use veracity_testkit::short::{delta, epsilon, noise};

/// A folder that is gone when the test ends.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("veracity-ledger-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether the long version was asked for, as `cargo xtask reproduce ledger` does.
pub fn is_long() -> bool {
    std::env::var_os("VERACITY_LEDGER_LONG").is_some()
}

pub fn budget(most: f64, at: f64) -> Budget {
    Budget { epsilon: epsilon(most), delta: delta(at) }
}

/// A budget whose ε add up.
pub fn sums(most: f64) -> Terms {
    Terms { rule: Rule::Sum, ..Terms::new(budget(most, 0.0)).unwrap() }
}

pub fn pure(each: f64) -> Question {
    of(Mechanism::Pure { epsilon: epsilon(each) })
}

pub fn gaussian(multiplier: f64) -> Question {
    of(Mechanism::Gaussian { noise_multiplier: noise(multiplier) })
}

pub fn of(mechanism: Mechanism) -> Question {
    Question { mechanism, adjacency: Adjacency::AddRemove }
}

/// A request that has an id.
pub fn named(id: &str, question: Question) -> Request {
    Request { id: Some(RequestId::new(id).unwrap()), ..Request::new(question, "a number") }
}

/// This test program, to be started again for the test `client` of a module alone, which acts as `job` says.
pub fn start(module: &str, job: &str, ledger: &Path) -> Command {
    let (_, module) = module.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("{module}::client"), "--exact", "--nocapture", "--test-threads=1"]);
    command.env("LEDGER_JOB", job).env("LEDGER_PATH", ledger);
    command
}

/// What this process was started for, if it is a client.
pub fn job() -> Option<(String, PathBuf)> {
    let job = std::env::var("LEDGER_JOB").ok()?;
    Some((job, std::env::var_os("LEDGER_PATH").unwrap().into()))
}

/// A line of a client, on a line of its own: the harness prints the name of the test without a line end.
pub fn tell(line: impl Display) {
    let mut out = std::io::stdout();
    writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
}

/// The numbers after a word, one for each line that begins with it.
pub fn numbers(text: &[u8], word: &str) -> Vec<u64> {
    let text = String::from_utf8_lossy(text);
    // The harness prints the name of the test without a line end, so the word may be anywhere.
    let found = text.lines().filter_map(|line| line.split_once(word).map(|(_, rest)| rest));
    found.filter_map(|rest| rest.trim().parse().ok()).collect()
}

/// What is there after a crash: the ledger opens, its chain and its sums hold, and what the client was told is recorded.
pub fn recover(path: &Path, told: &[u64]) -> u64 {
    let ledger = Ledger::open(path).unwrap();
    let verified = ledger.verify(None).unwrap();
    assert!(verified.holds(), "{:?}", verified.faults);
    let entries = ledger.history().unwrap();
    for number in told {
        assert!(
            entries.iter().any(|entry| entry.number == *number),
            "{number} was released and is not recorded"
        );
    }
    assert!(entries.len() >= told.len());
    verified.reserved
}

/// The lines of a client up to the first one that has a word; more of them can be read.
pub fn read_until(out: &mut impl BufRead, word: &str) -> String {
    let mut said = String::new();
    while !said.contains(word) || !said.ends_with('\n') {
        assert!(out.read_line(&mut said).unwrap() > 0, "the client ended by itself: {said}");
    }
    said
}

/// Starts a client with pipes to and from it.
pub fn piped(mut client: Command) -> (Child, BufReader<ChildStdout>) {
    let mut child =
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

/// A reservation that is new.
pub fn new(reserved: Result<Reserved, Error>) -> Reservation {
    match reserved.unwrap() {
        Reserved::New(reservation) => reservation,
        Reserved::Known { answer, .. } => panic!("known: {answer}"),
    }
}
