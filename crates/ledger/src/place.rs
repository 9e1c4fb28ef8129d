//! Where a ledger may lie: a plain file with one name, on a disk of this machine.
//!
//! The file's beginning is read before SQLite sees it, so that a file of someone else is never touched.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};
use veracity_core::Error;
use veracity_files::saving;

/// Says in the header of the file that it is a ledger: "VerL".
pub(crate) const APPLICATION: i32 = 0x5665_724c;
/// The format of the file.
pub(crate) const FORMAT: i32 = 1;

/// Refuses what is no ledger, before anything is done to it; hands out its absolute path, which no special name of SQLite has.
pub(crate) fn check(path: &Path) -> Result<PathBuf, Error> {
    let unreadable = |error| Error::unreadable("ledger", path, error);
    let about = fs::metadata(path).map_err(unreadable)?;
    if about.is_dir() {
        return Err(Error::file("ledger", path, "a file, found a folder"));
    }
    if !about.is_file() {
        return Err(Error::file("ledger", path, "a plain file, found a device or a pipe"));
    }
    check_header(path)?;
    check_names(path)?;
    check_disk(path)?;
    std::path::absolute(path).map_err(unreadable)
}

/// The first bytes of an SQLite file, with our number and format.
fn check_header(path: &Path) -> Result<(), Error> {
    let unreadable = |error| Error::unreadable("ledger", path, error);
    let mut head = Vec::new();
    File::open(path).map_err(unreadable)?.take(100).read_to_end(&mut head).map_err(unreadable)?;
    let number = |at: usize| Some(i32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let is_sqlite = head.len() == 100 && head.starts_with(b"SQLite format 3\0");
    if !is_sqlite || number(68) != Some(APPLICATION) {
        return Err(Error::file("ledger", path, "a file that a ledger was created in, found something else"));
    }
    match number(60) {
        Some(FORMAT) => Ok(()),
        _ => Err(Error::file("ledger", path, "format 1, found another; use the version that wrote it")),
    }
}

/// SQLite keeps its log beside the file, by its name: under two names, two logs would be two budgets.
#[cfg(unix)]
fn check_names(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let names = || fs::metadata(path).map(|about| about.nlink());
    let unreadable = |error| Error::unreadable("ledger", path, error);
    if names().map_err(unreadable)? > 1 {
        // A creation that was killed left the name that the file had before.
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            saving::sweep(folder, &[name]);
        }
    }
    match names().map_err(unreadable)? {
        1 => Ok(()),
        _ => Err(Error::file("ledger", path, "a file with one name, found hard links; remove the others")),
    }
}

/// Elsewhere the number of names is not known.
#[cfg(not(unix))]
fn check_names(_path: &Path) -> Result<(), Error> {
    Ok(())
}

/// Two machines do not share the memory by which SQLite orders writers, so both could spend the same budget.
#[cfg(target_os = "linux")]
fn check_disk(path: &Path) -> Result<(), Error> {
    // NFS, SMB, CIFS, SMB2, AFS, Lustre, Ceph, GPFS, Coda, OCFS2, GFS2: statfs(2).
    const SHARED: [u32; 11] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x5346_414f,
        0x0bd0_0bd0,
        0x00c3_6400,
        0x4750_4653,
        0x7375_7245,
        0x7461_636f,
        0x0116_1970,
    ];
    let about = rustix::fs::statfs(path).map_err(|error| Error::unreadable("ledger", path, error.into()))?;
    if SHARED.contains(&(about.f_type as u32)) {
        return Err(Error::file("ledger", path, "a disk of this machine, found a network file system"));
    }
    Ok(())
}

/// Elsewhere the kind of a disk is not known.
#[cfg(not(target_os = "linux"))]
fn check_disk(_path: &Path) -> Result<(), Error> {
    Ok(())
}
