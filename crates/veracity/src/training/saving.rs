//! Files that are there whole or not at all: written beside their place, forced to disk, then renamed.

use crate::Refusal;
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

/// Writes a file whole. Where that fails, what was there before is still there, and nothing else.
pub fn write_whole(what: &str, path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let beside = beside(path);
    let written = write_and_rename(&beside, path, bytes);
    if written.is_err() {
        // Nothing more can be done about a file that cannot be removed either.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(|error| {
        Refusal::NoAnswer(format!(
            "{what} is {}, expected a path that can be written ({error})",
            path.display()
        ))
    })
}

/// The same folder, so that renaming is one step; the process's number, so that two runs do not meet.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn write_and_rename(beside: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(beside, path)?;
    // The name is on disk once its folder is.
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        File::open(folder).and_then(|folder| folder.sync_all())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_left_alone() {
        let room = std::env::temp_dir().join(format!("veracity-saving-{}", std::process::id()));
        fs::create_dir_all(&room).unwrap();
        let path = room.join("file");
        write_whole("file", &path, b"one").unwrap();
        write_whole("file", &path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A folder in the way cannot be renamed over.
        let folder = room.join("folder");
        fs::create_dir_all(folder.join("full")).unwrap();
        let refused = write_whole("model", &folder, b"three").unwrap_err().to_string();
        assert!(refused.starts_with("model is ") && !refused.contains('\n'), "{refused}");
        assert_eq!(fs::read_dir(&room).unwrap().count(), 2, "a part was left behind");
        assert!(write_whole("file", &room.join("nowhere/file"), b"").is_err());
        fs::remove_dir_all(room).unwrap();
    }
}
