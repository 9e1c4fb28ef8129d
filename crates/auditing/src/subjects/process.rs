//! One run of a foreign program: its words said in full, its output to a file, its time limited, all its children ended
//! with it.

use super::interrupt;
use std::{
    fs::File,
    io,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How a run came to its end.
#[derive(Debug)]
pub(super) enum Ending {
    /// By itself.
    Exit(ExitStatus),
    /// Its time was up, and it was killed.
    TimedOut,
    /// Someone asked to stop, and it was killed.
    Interrupted,
}

/// Runs a program without a shell. What it says goes to `said`; it has nothing to read.
pub(super) fn run(words: &[String], limit: Duration, said: &File) -> io::Result<Ending> {
    let mut child = start(words, Stdio::null(), said.try_clone()?.into(), said)?;
    let ended = wait(&mut child, limit);
    // Also after a proper end: what it left running must not disturb the next trial.
    end(&mut child);
    let status = child.wait()?;
    Ok(ended?.unwrap_or(Ending::Exit(status)))
}

/// Starts a program without a shell, in a group of its own, so that its children can be ended with it.
pub(super) fn start(words: &[String], reads: Stdio, writes: Stdio, said: &File) -> io::Result<Child> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::Error::other("no program"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(reads).stdout(writes).stderr(said.try_clone()?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}

/// Waits for the end of a program, but for no longer than `limit` and not when asked to stop; why it did not come, if it did not.
pub(super) fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<Ending>> {
    let began = Instant::now();
    let mut pause = Duration::from_micros(500);
    while !has_ended(child)? {
        let left = limit.saturating_sub(began.elapsed());
        if interrupt::is_asked() {
            return Ok(Some(Ending::Interrupted));
        }
        if left.is_zero() {
            return Ok(Some(Ending::TimedOut));
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    Ok(None)
}

/// Looks without collecting the child: as long as it is not collected, its group cannot be another's.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(pid) = pid(child) else { return child.try_wait().map(|status| status.is_some()) };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), look) {
        Ok(status) => Ok(status.is_some()),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Ends a program and its children, if they have not ended yet.
#[cfg(unix)]
pub(super) fn end(child: &mut Child) {
    if let Some(pid) = pid(child) {
        // No such group: it has ended already.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(unix)]
fn pid(child: &Child) -> Option<rustix::process::Pid> {
    i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    child.try_wait().map(|status| status.is_some())
}

#[cfg(not(unix))]
pub(super) fn end(child: &mut Child) {
    // It has ended already, or it ends now.
    let _ = child.kill();
}
