//! `veracity audit … --on slurm`: the shards of an audit as a job array, submitted, waited for, submitted again where they were lost,
//! and put together.
//!
//! A task runs the line that was typed with `--shard I/N --out DIR/shard-I --resume`, so a lost one goes on where it was. What Slurm is
//! to know beyond that, such as a partition, is said by its own variables, such as `SBATCH_PARTITION`.

use crate::args::AuditArgs;
use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use veracity::{
    AuditSettings, Case, Error,
    auditing::{AuditProtocol, Shard, interrupt, journal, plan},
    saving::replace,
    spec::Whole,
};

/// The job that is submitted, in the folder of the audit.
const SCRIPT: &str = "slurm.sh";
/// How a script of ours begins.
const HEAD: &str = "#!/bin/sh\n# Written by veracity: one shard of an audit for each task.\n";
/// How often an array is submitted that keeps no further trial.
const IDLE_ROUNDS: u32 = 3;
/// How many shards there are where nobody says.
const SHARDS: f64 = 16.0;
/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Flags that are for the whole audit, and whether a value follows.
const OURS: [(&str, bool); 9] = [
    ("--on", true),
    ("--shards", true),
    ("--out", true),
    ("--resume", false),
    ("--junit", true),
    ("--sarif", true),
    ("--sign", true),
    ("--json", false),
    ("--progress", false),
];

/// Runs the shards of an audit on Slurm, and says where they are.
pub fn run(args: &AuditArgs, case: &Case, settings: &AuditSettings) -> Result<Vec<PathBuf>, Error> {
    let (protocol, _) = plan(case, settings)?;
    let of = Whole(args.shards.unwrap_or(SHARDS)).count("shards")?.get().min(protocol.trials);
    Shard::new(0, of)?;
    let out = args.out.as_deref().ok_or_else(|| Error::invalid("--out is missing, expected a folder"))?;
    let sbatch = program("sbatch")?;
    let shards: Vec<PathBuf> = (0..of).map(|index| out.join(format!("shard-{index}"))).collect();
    if !args.resume && shards.iter().any(|shard| shard.exists()) {
        return Err(Error::file("out", out, "a new folder, or to --resume the audit that is in it"));
    }
    fs::create_dir_all(out).map_err(|error| Error::io("out", out, "a folder that can be made", error))?;
    let script = out.join(SCRIPT);
    let is_ours = |bytes: &[u8]| bytes.starts_with(HEAD.as_bytes());
    replace("script", &script, text(out, of)?.as_bytes(), is_ours)?;
    interrupt::install_handlers();
    let (mut idle, mut missing) = (0, u64::MAX);
    loop {
        let lost = lost(&protocol, &shards)?;
        let left: u64 = lost.iter().map(|(_, trials)| trials).sum();
        if lost.is_empty() {
            return Ok(shards);
        }
        idle = if left < missing { 0 } else { idle + 1 };
        missing = left;
        if idle == IDLE_ROUNDS {
            let first = lost.first().map_or(0, |(index, _)| *index);
            return Err(Error::invalid(format!(
                "{} of {of} shards do not end, expected all to; what the first of them said is in {}",
                lost.len(),
                out.join(format!("slurm-{first}.log")).display()
            )));
        }
        let array: Vec<String> = lost.iter().map(|(index, _)| index.to_string()).collect();
        submit(&sbatch, &array.join(","), out, &script)?;
    }
}

/// The shards that have not all their trials, and how many they lack.
fn lost(protocol: &AuditProtocol, shards: &[PathBuf]) -> Result<Vec<(u64, u64)>, Error> {
    let of = shards.len() as u64;
    let mut lost = Vec::new();
    for (index, folder) in (0..of).zip(shards) {
        let wanted = Shard::new(index, of)?.trials(protocol.trials);
        let missing = match folder.join(journal::ORDER).exists() {
            true => {
                let (_, trials) = journal::read(folder)?;
                wanted.filter(|trial| !trials.has(*trial, protocol.canaries)).count()
            }
            false => wanted.count(),
        };
        if missing > 0 {
            lost.push((index, missing as u64));
        }
    }
    Ok(lost)
}

/// Submits tasks of the array and waits for their end; whether they ended well is seen by what they left.
fn submit(sbatch: &Path, array: &str, out: &Path, script: &Path) -> Result<(), Error> {
    let log = absolute(out)?.join("slurm-%a.log").display().to_string();
    // Slurm reads a single percent sign as the beginning of a pattern.
    let log = log.replace('%', "%%").replace("slurm-%%a.log", "slurm-%a.log");
    let mut child = Command::new(sbatch)
        .args(["--parsable", "--wait", "--open-mode=append", "--job-name=veracity-audit"])
        .arg(format!("--array={array}"))
        .arg(format!("--output={log}"))
        .arg(script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Error::io("sbatch", sbatch, "a program that can be started", error))?;
    let mut job = String::new();
    if let Some(said) = child.stdout.take() {
        // A line that cannot be read is no number of a job.
        let _ = BufReader::new(said).read_line(&mut job);
    }
    // A cluster's name may follow.
    let job = job.trim().split(';').next().unwrap_or_default().to_owned();
    if job.is_empty() || !job.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused(&mut child));
    }
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if interrupt::is_asked() => {
                cancel(&job, &mut child);
                return Err(Error::Interrupted(
                    "the audit was interrupted and its job cancelled; the trials that had ended are kept, --resume goes on".into(),
                ));
            }
            Ok(None) => thread::sleep(LOOK),
            Err(error) => return Err(Error::io("sbatch", sbatch, "a program that can be waited for", error)),
        }
    }
}

/// What sbatch says when it takes no job, in one line.
fn refused(child: &mut Child) -> Error {
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(4096).read_to_string(&mut said);
    }
    let _ = child.wait();
    let line: String =
        said.lines().next().unwrap_or("it said nothing").chars().filter(|c| !c.is_control()).collect();
    Error::invalid(format!("sbatch took no job ({line}), expected a Slurm that does"))
}

fn cancel(job: &str, child: &mut Child) {
    // Whatever comes of it: we are leaving.
    let _ = Command::new("scancel").arg(job).stdin(Stdio::null()).status();
    let _ = child.kill();
    let _ = child.wait();
}

/// A program on the path.
fn program(name: &str) -> Result<PathBuf, Error> {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file()).ok_or_else(|| {
        Error::invalid(format!(
            "{name} is not on the path, expected Slurm on this machine; --shard I/N and `audit merge` do the same by hand"
        ))
    })
}

/// The script of one task.
fn text(out: &Path, of: u64) -> Result<String, Error> {
    let exe = env::current_exe()
        .map_err(|error| Error::invalid(format!("this program is not to be found ({error})")))?;
    let mut words = vec![quoted(&exe.into_os_string())?];
    for word in without_ours(env::args_os().skip(1)) {
        words.push(quoted(&word)?);
    }
    let shard = quoted(&absolute(out)?.join("shard-").into_os_string())?;
    Ok(format!(
        "{HEAD}exec {} --shard \"$SLURM_ARRAY_TASK_ID/{of}\" --out {shard}\"$SLURM_ARRAY_TASK_ID\" --resume\n",
        words.join(" ")
    ))
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::io("out", path, "a folder that can be named", error))
}

/// The words of the line that are for a shard too.
fn without_ours(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut kept, mut skips) = (Vec::new(), false);
    for word in words {
        if std::mem::take(&mut skips) {
            continue;
        }
        let text = word.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        match OURS.iter().find(|(flag, _)| *flag == name) {
            Some((flag, has_value)) => skips = *has_value && text == *flag,
            None => kept.push(word),
        }
    }
    kept
}

/// A word for a shell.
fn quoted(word: &OsString) -> Result<String, Error> {
    let text = word.to_str().ok_or_else(|| Error::invalid("the line is no readable text, expected UTF-8"))?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_all_words_but_those_of_the_whole() {
        let line = [
            "audit",
            "--on",
            "slurm",
            "--command",
            "a --out {out} 'b'",
            "--out=x",
            "--seed",
            "3",
            "--shards",
            "4",
            "--json",
        ];
        let kept = without_ours(line.iter().map(OsString::from));
        assert_eq!(kept, ["audit", "--command", "a --out {out} 'b'", "--seed", "3"].map(OsString::from));
        assert_eq!(quoted(&kept[2]).unwrap(), r"'a --out {out} '\''b'\'''");
    }
}
