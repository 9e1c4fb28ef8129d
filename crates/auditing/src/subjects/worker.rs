//! A program that stays: started once, it reads a trial from each line of its standard input and answers on its standard
//! output, so that what it needs is loaded once.
//!
//! A trial is `{"id":7,"seed":3141,"data":"…/data.csv"}`, or has `"world":"in"` in place of `data` for workers that make their own
//! data. The answer is `{"id":7,"score":0.25}`, or `{"id":7,"error":"why"}` for a failed run. Scores that JSON cannot write are
//! strings: `"inf"`. Other lines that do not begin with a brace, and all of standard error, go to the log. At the end of its
//! input a worker ends.
//!
//! Ids are drawn, so that an answer cannot come before its trial. A worker that has said more than it was asked is not asked again.
//! What a worker remembers must not depend on the data of earlier trials: trials are judged as independent.

use super::{
    command::{Room, SAID, number, tail},
    interrupt, process,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel},
    thread,
    time::{Duration, Instant},
};
use veracity_audit::Failure;
use veracity_noise::{Entropy, Key, Purpose, Stream, exact::uniform_below};

/// The longest line that a worker may write.
const LONGEST_LINE: u64 = 64 << 10;
/// How much of the lines that are no answers is kept for the log of one trial.
const MOST_KEPT: usize = 16 << 10;
/// How many lines may wait to be read; a worker that writes more has to wait itself.
const LINES_WAITING: usize = 64;
/// How long a worker that has nothing more to do may take to end.
const GOODBYE: Duration = Duration::from_secs(2);
/// Ids are below this, so that every language reads them as whole numbers.
const LARGEST_ID: u128 = 1 << 53;
/// How often a wait looks whether someone asked to stop.
const LOOK: Duration = Duration::from_millis(50);

/// What a worker is told of a trial, beside its number.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Request<'a> {
    pub(super) seed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) world: Option<&'a str>,
}

#[derive(Serialize)]
struct Line<'a> {
    id: u64,
    #[serde(flatten)]
    request: Request<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    id: u64,
    score: Option<Score>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Score {
    Number(f64),
    Text(String),
}

/// A program that answers.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    /// None once there is nothing more to say.
    tells: Option<SyncSender<Vec<u8>>>,
    lines: Receiver<Vec<u8>>,
    room: Room,
    /// What ids are drawn from, so that no answer can be given before its trial is told.
    ids: Stream,
    /// The id of the trial that was told last.
    asked: u64,
    /// How much of its standard error is in the log.
    logged: u64,
    /// What it wrote between its answers.
    beside: Vec<u8>,
}

impl Worker {
    /// Starts a program; what it says goes to a file in its folder.
    pub(super) fn start(words: &[String], room: Room) -> Result<Worker, Failure> {
        let said = File::create(room.0.join(SAID)).map_err(|error| {
            Failure::Machine(format!("the worker's folder cannot be used ({})", error.kind()))
        })?;
        let unstarted = |why: String| Failure::Run(format!("the command cannot be started ({why})"));
        let mut child = process::start(words, Stdio::piped(), Stdio::piped(), &said)
            .map_err(|error| unstarted(error.kind().to_string()))?;
        let (Some(reads), Some(writes)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unstarted("it has no input and output".to_owned()));
        };
        let (send, lines) = sync_channel(LINES_WAITING);
        // It ends when the worker does, or when nobody listens.
        thread::spawn(move || read_lines(writes, &send));
        // One that does not read must not keep us waiting, so that another thread waits.
        let (tells, told) = sync_channel(1);
        thread::spawn(move || write_lines(reads, &told));
        let entropy = Entropy::system().map_err(|error| Failure::Machine(error.to_string()))?;
        let ids = entropy.stream(Purpose::Canary, Key::default());
        Ok(Worker { child, tells: Some(tells), lines, room, ids, asked: 0, logged: 0, beside: Vec::new() })
    }

    /// Whether it waits for a trial: it has not ended, and has answered nothing that it was not asked.
    pub(super) fn is_waiting(&mut self) -> bool {
        loop {
            match self.lines.try_recv() {
                Ok(line) if is_answer(&line) => return false,
                Ok(line) => self.keep(&line),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Tells the worker of a trial and waits for its score.
    pub(super) fn ask(&mut self, request: Request<'_>, limit: Duration) -> Result<f64, Failure> {
        let began = Instant::now();
        self.asked = uniform_below(LARGEST_ID, &mut self.ids) as u64;
        let line = serde_json::to_vec(&Line { id: self.asked, request })
            .map_err(|error| Failure::Machine(format!("a trial cannot be written as JSON ({error})")))?;
        if !self.tell(line) {
            return Err(self.ended(began, limit));
        }
        loop {
            if interrupt::is_asked() {
                return Err(Failure::Run("the command was interrupted".to_owned()));
            }
            let left = limit.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(too_long(limit));
            }
            match self.lines.recv_timeout(left.min(LOOK)) {
                Ok(line) if is_answer(&line) => return self.read_answer(&line),
                Ok(line) => self.keep(&line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(began, limit)),
            }
        }
    }

    /// Whether the worker could still be told. One that does not read is waited for no longer than for its answer.
    fn tell(&mut self, mut line: Vec<u8>) -> bool {
        line.push(b'\n');
        self.tells.as_ref().is_some_and(|tells| tells.try_send(line).is_ok())
    }

    fn read_answer(&mut self, line: &[u8]) -> Result<f64, Failure> {
        let failure = |why: &str| Err(Failure::Run(why.to_owned()));
        let Ok(answer) = serde_json::from_slice::<Answer>(line) else {
            self.keep(line);
            return failure("the worker answered something else than {\"id\": …, \"score\": …}");
        };
        if answer.id != self.asked {
            return failure("the worker answered with the id of another trial");
        }
        match (answer.score, answer.error) {
            (Some(Score::Number(score)), None) => number(score),
            (Some(Score::Text(text)), None) => match text.trim().parse() {
                Ok(score) => number(score),
                Err(_) => failure("the worker answered with a score that is not a number"),
            },
            (None, Some(error)) => {
                self.keep(error.as_bytes());
                failure("the worker answered with an error")
            }
            _ => failure("the worker answered with neither or both of score and error"),
        }
    }

    /// Keeps a line for the log.
    fn keep(&mut self, line: &[u8]) {
        let room = MOST_KEPT.saturating_sub(self.beside.len() + 1);
        self.beside.extend(line.trim_ascii_end().iter().take(room));
        self.beside.push(b'\n');
    }

    /// How a worker that says nothing more came to its end.
    fn ended(&mut self, began: Instant, limit: Duration) -> Failure {
        // Its output may be closed while it goes on.
        match process::wait(&mut self.child, limit.saturating_sub(began.elapsed()).min(GOODBYE)) {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => {
                return Failure::Run("the worker closed its output without an answer".to_owned());
            }
        }
        match self.child.wait() {
            Ok(status) => Failure::Run(format!("the worker ended with {status} before its answer")),
            Err(error) => Failure::Run(format!("the worker ended before its answer ({})", error.kind())),
        }
    }

    /// What it said since this was last asked.
    pub(super) fn said(&mut self) -> Vec<u8> {
        let mut said = std::mem::take(&mut self.beside);
        let more = File::open(self.room.0.join(SAID)).and_then(|mut file| {
            let more = tail(&mut file, self.logged)?;
            self.logged = file.metadata()?.len();
            Ok(more)
        });
        said.extend(more.unwrap_or_default());
        said
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.tells.take());
        // One that does not end by itself is ended, and with it what it started in its process group.
        let _ = process::wait(&mut self.child, if thread::panicking() { Duration::ZERO } else { GOODBYE });
        process::end(&mut self.child);
        let _ = self.child.wait();
    }
}

fn too_long(limit: Duration) -> Failure {
    Failure::Run(format!("the command took longer than {} s", limit.as_secs_f64()))
}

/// Whether a line is meant as an answer.
fn is_answer(line: &[u8]) -> bool {
    line.trim_ascii_start().first() == Some(&b'{')
}

/// Writes lines as they are told, until there are no more or nobody reads.
fn write_lines(mut reads: ChildStdin, told: &Receiver<Vec<u8>>) {
    while let Ok(line) = told.recv() {
        if reads.write_all(&line).and_then(|()| reads.flush()).is_err() {
            return;
        }
    }
}

/// Sends what a worker writes, line by line; a line that is too long comes in pieces.
fn read_lines(writes: ChildStdout, send: &SyncSender<Vec<u8>>) {
    let mut writes = BufReader::new(writes);
    loop {
        let mut line = Vec::new();
        match writes.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                if send.send(line).is_err() {
                    return;
                }
            }
        }
    }
}
