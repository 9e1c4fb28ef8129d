//! Every file that is written, by one rule: whole or not at all, and over nothing but an earlier file of the same kind.
//!
//! Bytes are written beside their place and forced to disk; then they get their name. [`create`] takes a name only where
//! there is nothing, also when two processes want it at once; [`replace`] takes it from a file that its recogniser knows as
//! ours. Whatever else lies there is never touched: a mistyped path must not cost someone's data.

use crate::Error;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The longest file that is looked at before it is replaced.
const LONGEST: u64 = 1 << 33;

/// Tells by the whole content whether a file is one of ours, of the kind that is about to be written.
pub type IsOurs = fn(&[u8]) -> bool;

/// For files that are never replaced.
pub fn never(_: &[u8]) -> bool {
    false
}

/// Writes a new file. Whatever has the name already stays, and the file is refused.
pub fn create(what: &'static str, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    Staged::new(what, path, bytes)?.settle_new()
}

/// Writes a new file, or one over an earlier file of ours. Devices and pipes take the bytes as they are.
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
pub fn refuse_foreign_file(what: &'static str, path: &Path, is_ours: IsOurs) -> Result<(), Error> {
    lies_at(what, path, is_ours).map(|_| ())
}

/// Refuses a path that [`create`] would refuse, before anything was done.
pub fn must_be_new(what: &'static str, path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(_) => Err(is_taken(what, path)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = folder_of(path);
            match fs::metadata(folder) {
                Ok(about) if about.is_dir() => Ok(()),
                Ok(_) => Err(cannot_write(what, path, ErrorKind::NotADirectory.into())),
                Err(error) => Err(cannot_write(what, path, error)),
            }
        }
        Err(error) => Err(cannot_write(what, path, error)),
    }
}

/// Removes a file of ours, if there is one.
pub fn remove(what: &'static str, path: &Path, is_ours: IsOurs) -> Result<(), Error> {
    match lies_at(what, path, is_ours)? {
        Lies::Nothing => Ok(()),
        Lies::Ours | Lies::Stream => fs::remove_file(path)
            .and_then(|()| sync_folder(path))
            .map_err(|error| Error::io(what, path, "a file that can be removed", error)),
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
        return Err(refuse(what, path, "a path that can be written, found a folder"));
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
    Error::io(what, path, "a path that can be written", error)
}

fn found_other(what: &str, path: &Path) -> Error {
    refuse(
        what,
        path,
        &format!("a new file or an earlier {what} to replace, found something else; name another file"),
    )
}

fn is_taken(what: &str, path: &Path) -> Error {
    refuse(what, path, "a new file, found one that is there already, which stays; name another file")
}

/// A file that is whole and on disk, beside its place. Dropped, it is gone.
#[derive(Debug)]
pub struct Staged {
    what: &'static str,
    beside: PathBuf,
    path: PathBuf,
}

impl Staged {
    /// Writes the file beside its place; a full disk shows here. `what` names it in a refusal.
    pub fn new(what: &'static str, path: &Path, bytes: &[u8]) -> Result<Staged, Error> {
        let refuse = |error: io::Error| cannot_write(what, path, error);
        let (mut file, beside) = open_beside(path).map_err(refuse)?;
        let staged = Staged { what, beside, path: path.to_owned() };
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(refuse)?;
        Ok(staged)
    }

    /// Moves the file to its place, over what is there. The caller knows that it is ours.
    pub fn settle(self) -> Result<(), Error> {
        fs::rename(&self.beside, &self.path)
            .and_then(|()| sync_folder(&self.path))
            .map_err(|error| cannot_write(self.what, &self.path, error))
    }

    /// Gives the file its name if nothing has it: of several processes that try, one succeeds.
    pub fn settle_new(self) -> Result<(), Error> {
        if self.try_new(&self.path)? { Ok(()) } else { Err(is_taken(self.what, &self.path)) }
    }

    /// Gives the file the first of these names that nothing has.
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

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone already where it was moved; nothing more can be done where it cannot be removed.
        let _ = fs::remove_file(&self.beside);
    }
}

/// Gives a file another name, the first of these that nothing has.
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
#[cfg(unix)]
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// Elsewhere folders cannot be opened as files, and names are on disk when the system says so.
#[cfg(not(unix))]
pub fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes what killed processes left beside files of these names. What cannot be removed stays: it is in nobody's way.
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
            assert!(refused.starts_with("model is ") && !refused.contains('\n'), "{refused}");
        }
        assert_eq!(fs::read_dir(&room).unwrap().count(), 2, "a part was left behind");
        assert!(create("file", &room.join("nowhere/file"), b"").is_err());
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
    fn whatever_is_not_ours_is_never_touched() {
        let room = room("others");
        let path = room.join("file");
        // Also what contains one of ours, begins with it, or is empty.
        for precious in [&b"three"[..], b"one and more", b"not one", b""] {
            fs::write(&path, precious).unwrap();
            let refused = replace("file", &path, b"two", counts).unwrap_err().to_string();
            assert!(refused.contains("found something else"), "{refused}");
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
        assert!(create("file", &path, b"two").unwrap_err().to_string().contains("which stays"));
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
