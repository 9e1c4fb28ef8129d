//! The file: how it is made, opened and written to. One SQLite database, whole in its file after every commit, one writer at a time.
//!
//! A commit is in the file itself and forced to disk before it returns (`journal_mode = DELETE`, `synchronous = EXTRA`): the file, moved
//! or copied by itself, has every charge that was granted before.

use crate::{
    place::{self, APPLICATION, FORMAT, Place},
    presence::Presence,
};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use veracity_core::Error;
use veracity_core::files::saving;
use veracity_core::printable;

/// How long a writer waits for the others.
const PATIENCE: Duration = Duration::from_secs(60);

/// All that is in the file, by name. What else a file has is refused: a trigger of someone else could undo a charge.
const SCHEMA: [(&str, &str); 6] = [
    ("analyst_of", "CREATE INDEX analyst_of ON record (analyst, number) WHERE analyst IS NOT NULL"),
    ("ending_of", "CREATE UNIQUE INDEX ending_of ON record (reservation) WHERE reservation IS NOT NULL"),
    (
        "head",
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash BLOB NOT NULL, \
         settled INTEGER NOT NULL) STRICT",
    ),
    (
        "record",
        "CREATE TABLE record (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, moment INTEGER NOT NULL, \
         request TEXT, analyst TEXT, question TEXT, charged TEXT, what TEXT, cost TEXT, spent TEXT NOT NULL, \
         share_cost TEXT, share_spent TEXT, reservation INTEGER, answer TEXT, hash BLOB NOT NULL) STRICT",
    ),
    ("request_of", "CREATE UNIQUE INDEX request_of ON record (request) WHERE request IS NOT NULL"),
    (
        "terms",
        "CREATE TABLE terms (one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT NOT NULL, limits TEXT NOT NULL, \
         hash BLOB NOT NULL) STRICT",
    ),
];

/// Makes a new file with these terms. Whatever has the name already stays.
pub(crate) fn create(path: &Path, text: &str, limits: &str, hash: &[u8]) -> Result<(), Error> {
    saving::must_be_new("ledger", path)?;
    for ending in ["-journal", "-wal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        if fs::symlink_metadata(&name).is_ok() {
            let expected = "a name without a -journal or -wal file next to it, which SQLite would write \
                            into the new ledger";
            return Err(Error::file("ledger", path, expected));
        }
    }
    // Built beside its place, and given its name whole.
    let beside = TemporaryFile::new(path)?;
    let failed = |error| failed(path, error);
    let connection = connect(&beside.0).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "MEMORY").map_err(failed)?;
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    connection.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    connection.pragma_update(None, "user_version", place::version(hash)).map_err(failed)?;
    // Tables before their indices.
    for (_, sql) in SCHEMA.iter().filter(|(_, sql)| sql.starts_with("CREATE TABLE")) {
        connection.execute_batch(sql).map_err(failed)?;
    }
    for (_, sql) in SCHEMA.iter().filter(|(_, sql)| !sql.starts_with("CREATE TABLE")) {
        connection.execute_batch(sql).map_err(failed)?;
    }
    connection
        .execute("INSERT INTO terms VALUES (1, ?1, ?2, ?3)", (text, limits, hash))
        .and_then(|_| connection.execute("INSERT INTO head VALUES (1, 0, ?1, 0)", [hash]))
        .and_then(|_| connection.execute_batch("COMMIT"))
        .map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    let bytes = fs::read(&beside.0).map_err(|error| Error::unreadable("ledger", path, error))?;
    saving::create("ledger", path, &bytes)
}

/// An open file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub connection: Connection,
    /// Its path without links.
    pub file: PathBuf,
    /// Dropped after the connection.
    _presence: Presence,
}

/// Opens a file that [`create`] made, for reading and writing.
pub(crate) fn open(path: &Path) -> Result<OpenFile, Error> {
    let Place { file, presence } = place::check(path)?;
    let failed = |error| failed(path, error);
    let connection = connect(&file).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    settings(&connection).map_err(failed)?;
    if !is_ours(&connection).map_err(failed)? {
        return Err(Error::file("ledger", path, "the tables of a ledger, but it has other tables"));
    }
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))
        .map_err(failed)?;
    if mode != "delete" {
        return Err(Error::file(
            "ledger",
            path,
            "a directory in which SQLite can keep a journal next to the file",
        ));
    }
    Ok(OpenFile { connection, file, _presence: presence })
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn settings(connection: &Connection) -> rusqlite::Result<()> {
    for (name, value) in [("trusted_schema", "OFF"), ("cell_size_check", "ON"), ("synchronous", "EXTRA")] {
        connection.pragma_update(None, name, value)?;
    }
    // Where a plain fsync leaves bytes in the disk's own memory, as on macOS.
    for name in ["fullfsync", "checkpoint_fullfsync"] {
        connection.pragma_update(None, name, "ON")?;
    }
    Ok(())
}

/// Begins to write: from here on no other process can, until this ends.
pub(crate) fn begin<'a>(connection: &'a Connection, path: &Path) -> Result<Transaction<'a>, Error> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(|error| failed(path, error))
}

/// A second commit after a charge, before it is granted: a journal of the time before the charge is then two commits behind the file,
/// and differs from that of a commit which a crash cut short.
pub(crate) fn settle(connection: &Connection) -> rusqlite::Result<()> {
    // A row that stays the same would not be written.
    connection.execute("UPDATE head SET settled = number", []).map(drop)
}

/// Begins to read. It blocks writers until it ends, so it must be short.
pub(crate) fn look<'a>(connection: &'a Connection, path: &Path) -> Result<Transaction<'a>, Error> {
    Transaction::new_unchecked(connection, TransactionBehavior::Deferred).map_err(|error| failed(path, error))
}

/// What SQLite could not do, in one line.
pub(crate) fn failed(path: &Path, error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let said = printable(&error.to_string(), usize::MAX);
    let action = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "get its turn within a minute to write to"
        }
        Some(ErrorCode::ReadOnly) => "write to",
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "use damaged",
        _ => "read or write",
    };
    Error::cannot(action, "ledger", path, io::Error::other(said))
}

/// Whether a file has the tables of a ledger, and nothing else.
fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if (number("application_id")?, place::format_of(number("user_version")?)) != (APPLICATION, FORMAT) {
        return Ok(false);
    }
    // What ANALYZE leaves is read by the planner of queries alone.
    let of_others = "SELECT name, sql FROM sqlite_schema WHERE NOT (type = 'table' AND sql LIKE 'CREATE TABLE sqlite_stat%') ORDER BY name";
    let mut query = connection.prepare(of_others)?;
    let found = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?)))?;
    let found: Vec<(String, Option<String>)> = found.collect::<rusqlite::Result<_>>()?;
    let same = |((name, sql), ours): (&(String, Option<String>), &(&str, &str))| {
        name == ours.0 && sql.as_deref() == Some(ours.1)
    };
    Ok(found.len() == SCHEMA.len() && found.iter().zip(&SCHEMA).all(same))
}

/// A file beside its place, of the name that [`saving::sweep`] knows. Dropped, it is gone.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(path: &Path) -> Result<TemporaryFile, Error> {
        static MADE: AtomicU64 = AtomicU64::new(1 << 32);
        let cannot = |error| Error::cannot("write", "ledger", path, error);
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let mut name = std::ffi::OsString::from(".");
            name.push(path.file_name().unwrap_or_default());
            name.push(format!(".{}-{number}.part", std::process::id()));
            let beside = std::path::absolute(path.with_file_name(name)).map_err(cannot)?;
            match fs::OpenOptions::new().write(true).create_new(true).open(&beside) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|_| TemporaryFile(beside)).map_err(cannot),
            }
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        for ending in ["", "-journal"] {
            let mut name = self.0.clone().into_os_string();
            name.push(ending);
            // Gone already, or nothing more can be done.
            let _ = fs::remove_file(name);
        }
    }
}
