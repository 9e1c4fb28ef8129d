//! What the tests of the ledger share: a folder of their own, requests, and the test program started again as a client.

#![allow(dead_code, clippy::unwrap_used)] // Each test uses a part of it; one that cannot go on should stop there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use veracity_account::{Question, filter::Budget};
use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, NoiseMultiplier};
use veracity_ledger::{Ledger, Request, RequestId, Rule, Terms};

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

pub fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap() }
}

/// A budget whose ε add up.
pub fn sums(epsilon: f64) -> Terms {
    Terms { rule: Rule::Sum, ..Terms::new(budget(epsilon, 0.0)).unwrap() }
}

pub fn pure(epsilon: f64) -> Question {
    of(Mechanism::Pure { epsilon: Epsilon::new(epsilon).unwrap() })
}

pub fn gaussian(noise: f64) -> Question {
    of(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(noise).unwrap() })
}

pub fn of(mechanism: Mechanism) -> Question {
    Question { mechanism, adjacency: Adjacency::AddRemove }
}

/// A request that has an id.
pub fn named(id: &str, question: Question) -> Request {
    Request { id: Some(RequestId::new(id).unwrap()), ..Request::new(question, "a number") }
}

/// This test program, to be started again for its test `client` alone, which acts as `job` says.
pub fn start(job: &str, ledger: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["client", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("LEDGER_JOB", job).env("LEDGER_PATH", ledger);
    command
}

/// What this process was started for, if it is a client.
pub fn job() -> Option<(String, PathBuf)> {
    let job = std::env::var("LEDGER_JOB").ok()?;
    Some((job, std::env::var_os("LEDGER_PATH").unwrap().into()))
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

/// Numbers that are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end
    }
}
