//! The file: how it is made, opened and written to. One SQLite database, a log that is forced to disk at every commit, one writer
//! at a time.

use crate::place::{self, APPLICATION, FORMAT};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use veracity_core::Error;
use veracity_files::saving;

/// How long a writer waits for the others.
const PATIENCE: Duration = Duration::from_secs(60);

/// All that is in the file, by name. What else a file has is refused: a trigger of someone else could undo a charge.
const SCHEMA: [(&str, &str); 5] = [
    ("analyst_of", "CREATE INDEX analyst_of ON record (analyst, number) WHERE analyst IS NOT NULL"),
    ("ending_of", "CREATE UNIQUE INDEX ending_of ON record (reservation) WHERE reservation IS NOT NULL"),
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
    // Built beside its place, and given its name whole.
    let beside = Beside::new(path)?;
    let failed = |error| failed(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&beside.0, flags).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "MEMORY").map_err(failed)?;
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    connection.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    connection.pragma_update(None, "user_version", FORMAT).map_err(failed)?;
    // Tables before their indices.
    for (_, sql) in SCHEMA.iter().filter(|(_, sql)| sql.starts_with("CREATE TABLE")) {
        connection.execute_batch(sql).map_err(failed)?;
    }
    for (_, sql) in SCHEMA.iter().filter(|(_, sql)| !sql.starts_with("CREATE TABLE")) {
        connection.execute_batch(sql).map_err(failed)?;
    }
    connection
        .execute("INSERT INTO terms VALUES (1, ?1, ?2, ?3)", (text, limits, hash))
        .and_then(|_| connection.execute_batch("COMMIT"))
        .map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    let bytes = fs::read(&beside.0).map_err(|error| Error::unreadable("ledger", path, error))?;
    saving::create("ledger", path, &bytes)
}

/// Opens a file that [`create`] made, for reading and writing.
pub(crate) fn open(path: &Path) -> Result<Connection, Error> {
    let absolute = place::check(path)?;
    let failed = |error| failed(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(absolute, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    for (name, value) in [("trusted_schema", "OFF"), ("cell_size_check", "ON"), ("synchronous", "FULL")] {
        connection.pragma_update(None, name, value).map_err(failed)?;
    }
    // Where a plain fsync leaves bytes in the disk's own memory, as on macOS.
    for name in ["fullfsync", "checkpoint_fullfsync"] {
        connection.pragma_update(None, name, "ON").map_err(failed)?;
    }
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let numbers = (number("application_id").map_err(failed)?, number("user_version").map_err(failed)?);
    if numbers != (APPLICATION, FORMAT) || !has_our_schema(&connection).map_err(failed)? {
        return Err(Error::file("ledger", path, "what a ledger was created with, found other tables in it"));
    }
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        return Err(Error::file("ledger", path, "a place where SQLite can keep a log beside the file"));
    }
    Ok(connection)
}

/// Begins to write: from here on no other process can, until this ends.
pub(crate) fn begin<'a>(connection: &'a Connection, path: &Path) -> Result<Transaction<'a>, Error> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
        .map_err(|error| failed(path, error))
}

/// Begins to read: what others write meanwhile is not seen.
pub(crate) fn look<'a>(connection: &'a Connection, path: &Path) -> Result<Transaction<'a>, Error> {
    Transaction::new_unchecked(connection, TransactionBehavior::Deferred).map_err(|error| failed(path, error))
}

/// What SQLite could not do, in one line.
pub(crate) fn failed(path: &Path, error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let said: String = error.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let expected = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "its turn to write within a minute; others hold it"
        }
        Some(ErrorCode::ReadOnly) => "a file and a folder that can be written",
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "a whole file, found a damaged one",
        _ => "a file that can be read and written",
    };
    Error::io("ledger", path, expected, io::Error::other(said))
}

fn has_our_schema(connection: &Connection) -> rusqlite::Result<bool> {
    let mut query = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")?;
    let found = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?)))?;
    let found: Vec<(String, Option<String>)> = found.collect::<rusqlite::Result<_>>()?;
    let same = |((name, sql), ours): (&(String, Option<String>), &(&str, &str))| {
        name == ours.0 && sql.as_deref() == Some(ours.1)
    };
    Ok(found.len() == SCHEMA.len() && found.iter().zip(&SCHEMA).all(same))
}

/// A file beside its place, of the name that [`saving::sweep`] knows. Dropped, it is gone.
struct Beside(PathBuf);

impl Beside {
    fn new(path: &Path) -> Result<Beside, Error> {
        static MADE: AtomicU64 = AtomicU64::new(1 << 32);
        let cannot = |error| Error::io("ledger", path, "a path that can be written", error);
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let mut name = std::ffi::OsString::from(".");
            name.push(path.file_name().unwrap_or_default());
            name.push(format!(".{}-{number}.part", std::process::id()));
            let beside = std::path::absolute(path.with_file_name(name)).map_err(cannot)?;
            match fs::OpenOptions::new().write(true).create_new(true).open(&beside) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|_| Beside(beside)).map_err(cannot),
            }
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            let mut name = self.0.clone().into_os_string();
            name.push(ending);
            // Gone already, or nothing more can be done.
            let _ = fs::remove_file(name);
        }
    }
}
