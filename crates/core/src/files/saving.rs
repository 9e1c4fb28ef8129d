//! Writes every file by one rule: completely or not at all, under a new name or over an earlier file of the same kind.
//!
//! The bytes are written to a temporary file in the same folder and forced to disk. Then the file gets its name. [`create`] takes a
//! name only if no file has it, even if two processes try at once. [`replace`] also overwrites a file that its check recognizes as
//! one of ours. Other files are kept, because a mistyped path must not destroy data (tests below).

use crate::files::Error;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The longest file that is read before it is replaced.
const LONGEST: u64 = 1 << 33;

/// Decides from the content of a file whether it is ours and of the kind that is about to be written.
pub type IsOurs = fn(&[u8]) -> bool;

/// For files that are never replaced.
pub fn never(_: &[u8]) -> bool {
    false
}

/// Writes a new file. Refuses a name that exists, and keeps the file there.
///
/// # Errors
/// Fails where the name is taken or the file cannot be written.
pub fn create(what: &'static str, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    Staged::new(what, path, bytes)?.settle_new()
}

/// Writes a new file, or one over an earlier file of ours. Devices and pipes take the bytes as they are.
///
/// # Errors
/// Fails where a file that is not ours has the name, or the file cannot be written.
pub fn replace(what: &'static str, path: &Path, bytes: &[u8], is_ours: IsOurs) -> Result<(), Error> {
    match lies_at(what, path, is_ours)? {
        Lies::Nothing => {
            let staged = Staged::new(what, path, bytes)?;
            if staged.try_new(path)? {
                return Ok(());
            }
            // Another process was faster; if what it wrote is of ours, it is an earlier file by now.
            match lies_at(what, path, is_ours)? {
                Lies::Ours => staged.settle(),
                Lies::Nothing | Lies::Stream => staged.settle_new(),
            }
        }
        Lies::Ours => Staged::new(what, path, bytes)?.settle(),
        Lies::Stream => OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut stream| stream.write_all(bytes))
            .map_err(|error| cannot_write(what, path, error)),
    }
}

/// Refuses a path that [`replace`] would refuse, before anything was done.
///
/// # Errors
/// As [`replace`].
pub fn refuse_foreign_file(what: &'static str, path: &Path, is_ours: IsOurs) -> Result<(), Error> {
    match lies_at(what, path, is_ours)? {
        Lies::Nothing => must_have_folder(what, path),
        Lies::Ours | Lies::Stream => Ok(()),
    }
}

/// Refuses a path that [`create`] would refuse, before anything was done.
///
/// # Errors
/// As [`create`].
pub fn must_be_new(what: &'static str, path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(is_taken(what, path)),
        Err(error) if error.kind() == ErrorKind::NotFound => must_have_folder(what, path),
        Err(error) => Err(cannot_write(what, path, error)),
    }
}

/// Refuses a new file whose folder is not there.
fn must_have_folder(what: &'static str, path: &Path) -> Result<(), Error> {
    match fs::metadata(folder_of(path)) {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => Err(cannot_write(what, path, ErrorKind::NotADirectory.into())),
        Err(error) => Err(cannot_write(what, path, error)),
    }
}

/// Removes a file of ours, if there is one.
///
/// # Errors
/// Fails where the file is not ours or cannot be removed.
pub fn remove(what: &'static str, path: &Path, is_ours: IsOurs) -> Result<(), Error> {
    match lies_at(what, path, is_ours)? {
        Lies::Nothing => Ok(()),
        Lies::Ours | Lies::Stream => fs::remove_file(path)
            .and_then(|()| sync_folder(path))
            .map_err(|error| Error::cannot("remove", what, path, error)),
    }
}

/// What has a name.
enum Lies {
    Nothing,
    Ours,
    Stream,
}

fn lies_at(what: &'static str, path: &Path, is_ours: IsOurs) -> Result<Lies, Error> {
    // The name first, then what it leads to: asked the other way round, a file that another process makes in between would
    // look like a link that leads nowhere.
    let named = match fs::symlink_metadata(path) {
        Ok(named) => named,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lies::Nothing),
        Err(error) => return Err(cannot_write(what, path, error)),
    };
    let about = match fs::metadata(path) {
        Ok(about) => about,
        // A link that leads nowhere is something, and not ours; anything else was removed just now.
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_symlink() => {
            return Err(found_other(what, path));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lies::Nothing),
        Err(error) => return Err(cannot_write(what, path, error)),
    };
    if about.is_dir() {
        return Err(refuse(what, path, "a file, found a folder"));
    }
    if !about.is_file() {
        return Ok(Lies::Stream);
    }
    let ours = about.len() <= LONGEST && fs::read(path).is_ok_and(|bytes| is_ours(&bytes));
    if ours { Ok(Lies::Ours) } else { Err(found_other(what, path)) }
}

fn refuse(what: &str, path: &Path, expected: &str) -> Error {
    Error::file(what, path, expected)
}

fn cannot_write(what: &str, path: &Path, error: io::Error) -> Error {
    Error::cannot("write", what, path, error)
}

fn found_other(what: &str, path: &Path) -> Error {
    refuse(
        what,
        path,
        &format!(
            "a new file or an earlier {what} to replace, found a file of another kind; choose another name"
        ),
    )
}

fn is_taken(what: &str, path: &Path) -> Error {
    refuse(what, path, "a new file, but it already exists and was kept; choose another name")
}

/// A complete file on disk under a temporary name. Removed if dropped.
#[derive(Debug)]
pub struct Staged {
    what: &'static str,
    beside: PathBuf,
    path: PathBuf,
}

impl Staged {
    /// Writes the file under a temporary name, and fails here if the disk is full. `what` names the file in errors.
    ///
    /// # Errors
    /// Fails where the folder cannot be written to or the disk is full.
    pub fn new(what: &'static str, path: &Path, bytes: &[u8]) -> Result<Staged, Error> {
        let refuse = |error: io::Error| cannot_write(what, path, error);
        let (mut file, beside) = open_beside(path).map_err(refuse)?;
        let staged = Staged { what, beside, path: path.to_owned() };
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(refuse)?;
        Ok(staged)
    }

    /// Moves the file to its place and overwrites a file there. The caller knows that it is ours.
    ///
    /// # Errors
    /// Fails where the file cannot be moved.
    pub fn settle(self) -> Result<(), Error> {
        fs::rename(&self.beside, &self.path)
            .and_then(|()| sync_folder(&self.path))
            .map_err(|error| cannot_write(self.what, &self.path, error))
    }

    /// Gives the file its name if the name is free: if several processes try, one succeeds.
    ///
    /// # Errors
    /// Fails where the name is taken or the file cannot be moved.
    pub fn settle_new(self) -> Result<(), Error> {
        if self.try_new(&self.path)? { Ok(()) } else { Err(is_taken(self.what, &self.path)) }
    }

    /// Gives the file the first of these names that is free.
    ///
    /// # Errors
    /// Fails where all names are taken or the file cannot be moved.
    pub fn settle_first(self, names: impl Iterator<Item = PathBuf>) -> Result<PathBuf, Error> {
        for name in names {
            if self.try_new(&name)? {
                return Ok(name);
            }
        }
        Err(is_taken(self.what, &self.path))
    }

    /// A link is made or it is not, and never over another; the name beside goes when this is dropped.
    fn try_new(&self, path: &Path) -> Result<bool, Error> {
        match fs::hard_link(&self.beside, path) {
            Ok(()) => {
                sync_folder(path).map_err(|error| cannot_write(self.what, path, error))?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(cannot_write(self.what, path, error)),
        }
    }
}

/// Disk space that is held for a file until the file is written: a long computation does not end on a full disk.
///
/// The space is real: bytes that do not compress are written and forced to disk, in the folder of the file. Their name is removed at
/// once, so a killed process leaves nothing, and the system frees the space when this is dropped.
#[derive(Debug)]
pub struct ReservedSpace {
    _file: File,
}

impl ReservedSpace {
    /// Reserves space for a file of about `bytes` bytes at `path`. `what` names the file in errors.
    ///
    /// # Errors
    ///
    /// Refuses a folder that cannot be written to, or that has less free space.
    pub fn new(what: &'static str, path: &Path, bytes: u64) -> Result<ReservedSpace, Error> {
        let held = hold_space(path, bytes).map_err(|error| {
            let size = match bytes {
                0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
                _ => format!("{} MB", bytes.div_ceil(1_000_000)),
            };
            let why = format!("{error}; it takes about {size}, so free some space or choose another folder");
            Error::cannot("write", what, path, io::Error::new(error.kind(), why))
        })?;
        Ok(ReservedSpace { _file: held })
    }
}

fn hold_space(path: &Path, bytes: u64) -> io::Result<File> {
    let (mut file, beside) = open_beside(path)?;
    let written = write_incompressible(&mut file, bytes).and_then(|()| file.sync_all());
    // Open, it keeps its space without a name; where the system does not let it, the name goes with the next sweep.
    let _ = fs::remove_file(beside);
    written.map(|()| file)
}

/// Bytes of SplitMix64, so that a file system that compresses holds as much as one that does not.
fn write_incompressible(file: &mut File, bytes: u64) -> io::Result<()> {
    const CHUNK: usize = 1 << 16;
    let (mut state, mut left) = (0u64, bytes);
    let mut chunk = vec![0u8; CHUNK];
    while left > 0 {
        for word in chunk.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
        }
        let part = left.min(CHUNK as u64);
        file.write_all(&chunk[..part as usize])?;
        left -= part;
    }
    Ok(())
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone already where it was moved; nothing more can be done where it cannot be removed.
        let _ = fs::remove_file(&self.beside);
    }
}

/// Gives a file another name, the first of these that is free.
///
/// # Errors
/// Fails where all names are taken or the file cannot be moved.
pub fn rename_first(
    what: &'static str,
    path: &Path,
    names: impl Iterator<Item = PathBuf>,
) -> Result<PathBuf, Error> {
    let cannot = |error: io::Error| cannot_write(what, path, error);
    for name in names {
        if fs::symlink_metadata(&name).is_err() {
            fs::rename(path, &name).and_then(|()| sync_folder(&name)).map_err(cannot)?;
            return Ok(name);
        }
    }
    Err(is_taken(what, path))
}

/// A name is on disk, or gone from it, once its folder is.
///
/// # Errors
/// Fails where the folder cannot be opened or synced.
#[cfg(unix)]
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// Elsewhere folders cannot be opened as files, and names are on disk when the system says so.
///
/// # Errors
/// Fails where the folder cannot be opened or synced.
#[cfg(not(unix))]
pub fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes what killed processes left beside files of these names. A file that cannot be removed stays and does no harm.
pub fn sweep(folder: &Path, names: &[&str]) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let found = found.to_string_lossy();
        let is_part = |name: &&str| {
            let rest = found.strip_prefix('.').and_then(|rest| rest.strip_prefix(*name));
            let number =
                rest.and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.strip_suffix(".part"));
            number.is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            })
        };
        if names.iter().any(is_part) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A new file in the same folder, so that naming it is one step. The numbers of the process and of the file keep two writers
/// apart; where a killed one left the same, the next is taken.
fn open_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    loop {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{number}.part", std::process::id()));
        let beside = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, beside)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn room(name: &str) -> PathBuf {
        let room = std::env::temp_dir().join(format!("veracity-saving-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&room);
        fs::create_dir_all(&room).unwrap();
        room
    }

    fn counts(bytes: &[u8]) -> bool {
        matches!(bytes, b"one" | b"two")
    }

    #[test]
    fn a_file_is_replaced_whole_or_left_alone() {
        let room = room("whole");
        let path = room.join("file");
        replace("file", &path, b"one", counts).unwrap();
        replace("file", &path, b"two", counts).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A folder in the way cannot be renamed over.
        let folder = room.join("folder");
        fs::create_dir_all(folder.join("full")).unwrap();
        for refused in [replace("model", &folder, b"one", counts), create("model", &folder, b"one")] {
            let refused = refused.unwrap_err().to_string();
            assert!(
                refused.contains("model") && refused.contains("folder") && !refused.contains('\n'),
                "{refused}"
            );
        }
        assert_eq!(fs::read_dir(&room).unwrap().count(), 2, "a part was left behind");
        // What cannot be written for want of a folder is refused beforehand too.
        let nowhere = room.join("nowhere/file");
        assert!(create("file", &nowhere, b"").is_err() && replace("file", &nowhere, b"", counts).is_err());
        assert!(
            must_be_new("file", &nowhere).is_err() && refuse_foreign_file("file", &nowhere, counts).is_err()
        );
        assert!(refuse_foreign_file("file", &room.join("new"), counts).is_ok());
        // Staged and thought better of: the old one stays, and nothing is left.
        drop(Staged::new("file", &path, b"four").unwrap());
        assert_eq!((fs::read(&path).unwrap(), fs::read_dir(&room).unwrap().count()), (b"two".to_vec(), 2));
        // What a killed process left goes, and nothing else.
        let parts = [room.join(".file.123.part"), room.join(".file.123-4.part")];
        let alike = room.join(".file.mine.part");
        for path in parts.iter().chain([&alike]) {
            fs::write(path, b"half").unwrap();
        }
        sweep(&room, &["file"]);
        assert!(!parts.iter().any(|part| part.exists()) && alike.exists() && path.exists());
        fs::remove_dir_all(room).unwrap();
    }

    #[test]
    fn space_is_held_without_a_name_and_a_folder_that_has_none_is_refused() {
        let room = room("held");
        let held = ReservedSpace::new("model", &room.join("model"), 200_001).unwrap();
        assert_eq!(fs::read_dir(&room).unwrap().count(), 0, "a name was left behind");
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let about = held._file.metadata().unwrap();
            // A file with a hole would hold nothing. Blocks are of 512 bytes.
            assert!(about.len() == 200_001 && about.blocks() * 512 >= 200_001, "{about:?}");
        }
        drop(held);
        // A file where the folder should be, and no folder at all.
        fs::write(room.join("file"), b"").unwrap();
        for (path, size, words) in [
            (room.join("file/model"), 1, "1 kB"),
            (room.join("nowhere/model"), 600_000, "600 kB"),
            (room.join("nowhere/model"), 1_000_001, "2 MB"),
        ] {
            let refused = ReservedSpace::new("model", &path, size).unwrap_err().to_string();
            assert!(
                refused.contains("model") && refused.contains("folder") && !refused.contains('\n'),
                "{refused}"
            );
            assert!(refused.contains(&format!("about {words}, so free some")), "{refused}");
        }
        fs::remove_dir_all(room).unwrap();
    }

    #[test]
    fn whatever_is_not_ours_is_never_touched() {
        let room = room("others");
        let path = room.join("file");
        // Also what contains one of ours, begins with it, or is empty.
        for precious in [&b"three"[..], b"one and more", b"not one", b""] {
            fs::write(&path, precious).unwrap();
            let refused = replace("file", &path, b"two", counts).unwrap_err().to_string();
            assert!(refused.contains("found a file of another kind"), "{refused}");
            assert!(create("file", &path, b"two").is_err() && remove("file", &path, counts).is_err());
            assert!(
                refuse_foreign_file("file", &path, counts).is_err() && must_be_new("file", &path).is_err()
            );
            assert_eq!(
                (fs::read(&path).unwrap(), fs::read_dir(&room).unwrap().count()),
                (precious.to_vec(), 1)
            );
        }
        // What is ours is not for `create`, either.
        fs::write(&path, b"one").unwrap();
        assert!(create("file", &path, b"two").unwrap_err().to_string().contains("was kept"));
        #[cfg(unix)]
        {
            let link = room.join("link");
            std::os::unix::fs::symlink(room.join("nowhere"), &link).unwrap();
            assert!(create("file", &link, b"two").is_err() && must_be_new("file", &link).is_err());
            assert!(replace("file", &link, b"two", counts).is_err() && !room.join("nowhere").exists());
        }
        fs::remove_dir_all(room).unwrap();
    }

    /// Sixteen threads write the same new file at once, twenty times: it is whole and of one of them, and nobody is refused.
    #[test]
    fn many_writers_may_write_one_file() {
        let room = room("together");
        for turn in 0..20 {
            let path = room.join(format!("file-{turn}"));
            let start = std::sync::Barrier::new(16);
            std::thread::scope(|scope| {
                for writer in 0..16 {
                    let (path, start) = (&path, &start);
                    let bytes = [b"one", b"two"][writer % 2];
                    scope.spawn(move || {
                        start.wait();
                        replace("file", path, bytes, counts).unwrap();
                    });
                }
            });
            assert!(counts(&fs::read(&path).unwrap()));
        }
        assert_eq!(fs::read_dir(&room).unwrap().count(), 20, "a part was left behind");
        fs::remove_dir_all(room).unwrap();
    }

    /// Sixteen threads want the first free name, fifty times each: nobody gets one that another has, and none is left out.
    #[test]
    fn many_writers_never_share_a_name() {
        let room = room("race");
        std::thread::scope(|scope| {
            for writer in 0..16 {
                let room = &room;
                scope.spawn(move || {
                    for turn in 0..50 {
                        let text = format!("{writer} {turn}");
                        let names = (1..).map(|number| room.join(format!("file-{number}")));
                        Staged::new("file", &room.join("file"), text.as_bytes())
                            .unwrap()
                            .settle_first(names)
                            .unwrap();
                    }
                });
            }
        });
        let mut found: Vec<String> =
            (1..=800).map(|n| fs::read_to_string(room.join(format!("file-{n}"))).unwrap()).collect();
        found.sort();
        found.dedup();
        assert_eq!((found.len(), fs::read_dir(&room).unwrap().count()), (800, 800));
        fs::remove_dir_all(room).unwrap();
    }
}
