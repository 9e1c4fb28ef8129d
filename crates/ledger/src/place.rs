//! Where a ledger may lie: a plain file with one name in one folder, on a disk of this machine.
//!
//! SQLite keeps its journal beside the file, by its name: seen from two folders, one file would have two journals, and what one process
//! must undo after a crash another would not see. The file's beginning is read before SQLite sees it, so that a file that is not a
//! ledger stays as it is (`tests/hostile.rs`).

use crate::presence::Presence;
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};
use veracity_core::Error;
use veracity_core::files::saving;

/// Says in the header of the file that it is a ledger: "VerL".
pub(crate) const APPLICATION: i32 = 0x5665_724c;
/// The format of the file.
pub(crate) const FORMAT: i32 = 1;

/// The number in the header of the file that says its format and which ledger it is: a journal of another ledger has another one.
pub(crate) fn version(terms: &[u8]) -> i32 {
    terms.iter().take(3).fold(FORMAT, |number, byte| number << 8 | i32::from(*byte))
}

/// The format in such a number.
pub(crate) fn format_of(version: i32) -> i32 {
    version >> 24
}

/// How often a journal that does not fit is looked at, 10 ms apart.
const LOOKS: usize = 100;

/// A file that is a ledger.
pub(crate) struct Place {
    /// Its path without links, which no special name of SQLite has.
    pub file: PathBuf,
    /// That this process has it open.
    pub presence: Presence,
}

/// Refuses a file that is no ledger, or lies where it could be spent twice, before anything is done to it.
pub(crate) fn check(path: &Path) -> Result<Place, Error> {
    let unreadable = |error| Error::unreadable("ledger", path, error);
    let file = fs::canonicalize(path).map_err(unreadable)?;
    let about = fs::metadata(&file).map_err(unreadable)?;
    if about.is_dir() {
        return Err(Error::file("ledger", path, "a file, not a directory"));
    }
    if !about.is_file() {
        return Err(Error::file("ledger", path, "a plain file, not a device or a pipe"));
    }
    let presence = Presence::enter(&about, || check_format(path))?;
    check_names(path, &file)?;
    check_disk(path)?;
    check_mount(path, &file)?;
    Ok(Place { file, presence })
}

/// Refuses a file whose first bytes are not those of a ledger of this format.
fn check_format(path: &Path) -> Result<(), Error> {
    let unreadable = |error| Error::unreadable("ledger", path, error);
    let mut head = Vec::new();
    File::open(path).map_err(unreadable)?.take(100).read_to_end(&mut head).map_err(unreadable)?;
    let number = |at: usize| Some(i32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let is_sqlite = head.len() == 100 && head.starts_with(b"SQLite format 3\0");
    if !is_sqlite || number(68) != Some(APPLICATION) {
        return Err(Error::file("ledger", path, "a ledger file, but it is something else"));
    }
    if number(60).map(format_of) != Some(FORMAT) {
        return Err(Error::file(
            "ledger",
            path,
            "ledger format 1, but it has another format; use the version of veracity that wrote it",
        ));
    }
    check_beside(path)
}

/// Refuses what lies beside a file and is not its own: SQLite would write an older state over it.
///
/// A journal holds page 1 as it was before a commit, with the change counter of that state. The file has the same counter, or one more
/// if the commit was written. A file that was moved away, charged and moved back is farther than that, because each charge is two
/// commits ([`store::settle`](crate::store::settle)). A journal of another ledger has another number in its header.
fn check_beside(path: &Path) -> Result<(), Error> {
    let unreadable = |error| Error::unreadable("ledger", path, error);
    let file = fs::canonicalize(path).map_err(unreadable)?;
    let beside = |ending: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        fs::read(name).ok().filter(|bytes| !bytes.is_empty())
    };
    if beside("-wal").is_some() {
        let expected = "no -wal file next to it, because that log is from another time; move it away and \
                        verify the ledger";
        return Err(Error::file("ledger", path, expected));
    }
    // Both change while others write: only a difference that stays is one.
    for _ in 0..LOOKS {
        let mut head = [0; 100];
        File::open(&file).and_then(|mut file| file.read_exact(&mut head)).map_err(unreadable)?;
        let Some(before) = beside("-journal").and_then(|journal| first_page(&journal)) else { return Ok(()) };
        let counter = |page: &[u8]| u32::from_be_bytes([page[24], page[25], page[26], page[27]]);
        let is_next = [0, 1].map(|more| counter(&before).wrapping_add(more)).contains(&counter(&head));
        if is_next && before[60..72] == head[60..72] {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let expected = "its own journal next to it, but the -journal file there is from another time; move it \
                    away and verify the ledger";
    Err(Error::file("ledger", path, expected))
}

/// The header of page 1 in a journal; none where the journal is not one that SQLite would play back.
fn first_page(journal: &[u8]) -> Option<[u8; 100]> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let number = |at: usize| Some(u32::from_be_bytes(journal.get(at..at + 4)?.try_into().ok()?));
    if !journal.starts_with(&MAGIC) {
        return None;
    }
    let (sector, page) = (number(20)? as usize, number(24)? as usize);
    if sector < 32 || !(512..=65_536).contains(&page) {
        return None;
    }
    // A page is its number, its bytes and a checksum.
    let mut at = sector;
    while let Some(which) = number(at) {
        if which == 1 {
            return journal.get(at + 4..at + 104)?.try_into().ok();
        }
        at += page + 8;
    }
    None
}

/// Refuses a file of several names.
#[cfg(unix)]
fn check_names(path: &Path, file: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let names = || fs::metadata(file).map(|about| about.nlink());
    let unreadable = |error| Error::unreadable("ledger", path, error);
    if names().map_err(unreadable)? > 1 {
        // A creation that was killed left the name that the file had before.
        if let (Some(folder), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str())) {
            saving::sweep(folder, &[name]);
        }
    }
    match names().map_err(unreadable)? {
        1 => Ok(()),
        _ => Err(Error::file(
            "ledger",
            path,
            "a file with one name, but it has hard links; remove the other names",
        )),
    }
}

/// Elsewhere the number of names is not known.
#[cfg(not(unix))]
fn check_names(_path: &Path, _file: &Path) -> Result<(), Error> {
    Ok(())
}

/// Two machines do not share the locks by which SQLite orders writers, so both could spend the same budget.
#[cfg(target_os = "linux")]
fn check_disk(path: &Path) -> Result<(), Error> {
    // NFS, SMB, CIFS, SMB2, AFS, Lustre, Ceph, GPFS, Coda, OCFS2, GFS2: statfs(2).
    const SHARED: [u32; 11] = [
        0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x0bd0_0bd0, 0x00c3_6400, 0x4750_4653,
        0x7375_7245, 0x7461_636f, 0x0116_1970,
    ];
    let about = rustix::fs::statfs(path).map_err(|error| Error::unreadable("ledger", path, error.into()))?;
    if SHARED.contains(&(about.f_type as u32)) {
        return Err(Error::file("ledger", path, "a local disk, but it is on a network file system"));
    }
    Ok(())
}

/// Elsewhere the kind of a disk is not known.
#[cfg(not(target_os = "linux"))]
fn check_disk(_path: &Path) -> Result<(), Error> {
    Ok(())
}

/// Refuses a file that is a mount by itself: its folder is not the one that others see it in.
#[cfg(target_os = "linux")]
fn check_mount(path: &Path, file: &Path) -> Result<(), Error> {
    if mounts::is_mount(file).map_err(|error| Error::unreadable("ledger", path, error))? {
        return Err(Error::file(
            "ledger",
            path,
            "a file in a directory, but the file is a mount point of its own, so its budget could be spent \
             twice; mount the directory instead",
        ));
    }
    Ok(())
}

/// Elsewhere a file cannot be mounted.
#[cfg(not(target_os = "linux"))]
fn check_mount(_path: &Path, _file: &Path) -> Result<(), Error> {
    Ok(())
}

#[cfg(target_os = "linux")]
mod mounts {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    use std::{
        ffi::OsString,
        fs, io,
        os::unix::ffi::{OsStrExt, OsStringExt},
        path::Path,
    };

    /// Whether a path without links is where something is mounted.
    pub(super) fn is_mount(path: &Path) -> io::Result<bool> {
        match by_attribute(path) {
            Some(answer) => Ok(answer),
            // Before Linux 5.8, or where the call is not allowed.
            None => Ok(is_listed(&fs::read("/proc/self/mountinfo")?, path)),
        }
    }

    /// As the kernel says; nothing where it does not.
    pub(super) fn by_attribute(path: &Path) -> Option<bool> {
        let about = statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS).ok()?;
        let is_told = about.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
        is_told.then(|| about.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }

    /// Whether the list of mounts has a path: the fifth word of each line, in which `\040` is a space.
    pub(super) fn is_listed(list: &[u8], path: &Path) -> bool {
        let place = |line: &[u8]| {
            let word = line.split(|byte| *byte == b' ').nth(4)?;
            let mut bytes = Vec::with_capacity(word.len());
            let mut rest = word;
            while let Some((first, after)) = rest.split_first() {
                let escaped = (*first == b'\\' && after.len() >= 3)
                    .then(|| std::str::from_utf8(&after[..3]).ok())
                    .flatten()
                    .and_then(|digits| u8::from_str_radix(digits, 8).ok());
                bytes.push(escaped.unwrap_or(*first));
                rest = if escaped.is_some() { &after[3..] } else { after };
            }
            Some(OsString::from_vec(bytes))
        };
        list.split(|byte| *byte == b'\n')
            .any(|line| place(line).is_some_and(|place| place.as_bytes() == path.as_os_str().as_bytes()))
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::mounts::*;
    use std::path::Path;

    /// Needs no mount of its own: `/proc` is one on every Linux, and a file in a temporary folder is none.
    #[test]
    fn mounts_are_told_from_other_paths_in_both_ways() {
        let file = std::env::temp_dir().join(format!("veracity-no-mount-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let list = std::fs::read("/proc/self/mountinfo").unwrap();
        for (path, expected) in [(Path::new("/proc"), true), (Path::new("/proc/self"), false), (&file, false)]
        {
            // What is below a link has another name in the list.
            let path = if expected { path.to_owned() } else { std::fs::canonicalize(path).unwrap() };
            assert_eq!(is_mount(&path).unwrap(), expected, "{path:?}");
            assert_eq!(is_listed(&list, &path), expected, "{path:?}");
            assert!(by_attribute(&path).is_none_or(|answer| answer == expected), "{path:?}");
        }
        std::fs::remove_file(file).unwrap();
    }

    /// As `mount --bind 'year one.ledger' '/data/year one.ledger'` is listed.
    #[test]
    fn a_mounted_file_is_found_in_the_list_by_its_whole_name() {
        let list = b"43 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                     63 43 254:0 /tmp/year\\040one.ledger /data/year\\040one.ledger rw,relatime - ext4 /dev/vda rw\n";
        assert!(is_listed(list, Path::new("/data/year one.ledger")));
        for other in ["/data/year", "/data", "/tmp/year one.ledger", "/data/year\\040one.ledger", ""] {
            assert!(!is_listed(list, Path::new(other)), "{other}");
        }
    }
}
