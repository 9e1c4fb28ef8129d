//! The key of a run that may be killed: system entropy in a file that only its owner can read, for as long as steps are left.
//!
//! With the key, a run that is resumed draws what it would have drawn: the same bits, and nothing is charged twice. With
//! the key *and* the model, the noise can be taken off. So the key is made before the first step and destroyed after the last,
//! before the model gets its name: there is no moment at which both are there.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    path::Path,
};
use veracity_core::Error;
use veracity_core::files::saving::sync_folder;
use veracity_noise::{Entropy, RootAside};

/// The file of the key, beside the checkpoint.
pub(super) const FILE: &str = "checkpoint.key";
/// The bytes of a root.
const ROOT: usize = 32;
/// What the file begins with; the root follows.
const HEAD: &[u8] = b"veracity.run-key/1\n\
    secret: anyone with this key and the model can subtract the noise. Deleted when the run ends.\n";

/// Saves the root in a new file, on disk before this returns. Where that fails, there is no file.
///
/// # Errors
/// Refuses seeded entropy and a file that exists or cannot be written.
pub fn keep(path: &Path, entropy: &Entropy) -> Result<(), Error> {
    let aside = entropy.lay_aside()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let refuse = |error: io::Error| Error::cannot("write", "key", path, error);
    let mut file = options.open(path).map_err(refuse)?;
    let mut write = || {
        file.write_all(HEAD)?;
        aside.write(&mut file)?;
        file.sync_all()?;
        sync_folder(path)
    };
    let written: io::Result<()> = write();
    written.map_err(|error| {
        // Half a key is of no use. If it cannot be removed either, the next run reports it.
        let _ = destroy(path);
        refuse(error)
    })
}

/// The entropy that was saved; nothing where there is no file.
///
/// # Errors
/// Refuses a file that cannot be read, that others than its owner can read, or of another kind.
pub fn find(path: &Path) -> Result<Option<Entropy>, Error> {
    let unreadable = |error| Error::unreadable("key", path, error);
    let refuse = |why: &str| Error::invalid(format!("key is {}, expected {why}", path.display()));
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    #[cfg(unix)]
    {
        let about = file.metadata().map_err(unreadable)?;
        if std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0 {
            return Err(refuse("a file that only its owner can read, found one that others can read too"));
        }
    }
    let mut head = [0; HEAD.len()];
    let damaged = |_| refuse("the key of a paused run, found a file of another kind");
    file.read_exact(&mut head).map_err(damaged)?;
    if head != HEAD {
        return Err(damaged(io::ErrorKind::InvalidData.into()));
    }
    RootAside::read(&mut file).map(|aside| Some(Entropy::resume(&aside))).map_err(damaged)
}

/// Overwrites the key and removes its file. What a disk or a backup keeps of old blocks is beyond our reach.
///
/// # Errors
/// Fails where the key cannot be deleted, and refuses a file of another kind.
pub fn destroy(path: &Path) -> Result<(), Error> {
    let wipe = || {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut bytes = Vec::new();
        (&file).take(1 << 16).read_to_end(&mut bytes)?;
        // Someone else's key is not ours to overwrite.
        if !is_one(&bytes) {
            return Err(io::Error::other("not the key of a run"));
        }
        bytes.fill(0);
        file.rewind()?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::remove_file(path)?;
        sync_folder(path)
    };
    match wipe() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let why = format!("{error}; delete it yourself, because it is secret");
            Err(Error::cannot("delete", "key", path, io::Error::new(error.kind(), why)))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether bytes are a key of ours, whole, half-written or half-destroyed.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    let shown = bytes.len().min(HEAD.len());
    bytes.len() <= HEAD.len() + ROOT
        && (bytes[..shown] == HEAD[..shown] || bytes.iter().all(|byte| *byte == 0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use veracity_noise::{Key, Purpose};

    fn room(name: &str) -> std::path::PathBuf {
        let room = std::env::temp_dir().join(format!("veracity-key-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&room);
        fs::create_dir_all(&room).unwrap();
        room
    }

    fn drawn(entropy: &Entropy) -> u64 {
        entropy.stream(Purpose::Noise, Key::default()).word()
    }

    #[test]
    fn a_key_is_kept_found_and_destroyed() {
        let room = room("whole");
        let path = room.join("key");
        assert!(find(&path).unwrap().is_none());
        let entropy = Entropy::system().unwrap();
        keep(&path, &entropy).unwrap();
        assert_eq!(drawn(&find(&path).unwrap().unwrap()), drawn(&entropy));
        // Never over a file that is there.
        assert!(
            keep(&path, &Entropy::system().unwrap())
                .unwrap_err()
                .to_string()
                .starts_with("cannot write key ")
        );
        assert_eq!(drawn(&find(&path).unwrap().unwrap()), drawn(&entropy));
        // The bytes are gone also for whoever holds the file open.
        let mut held = File::open(&path).unwrap();
        destroy(&path).unwrap();
        let mut left = Vec::new();
        held.read_to_end(&mut left).unwrap();
        assert!(left.len() == HEAD.len() + 32 && left.iter().all(|byte| *byte == 0));
        assert_eq!(fs::read_dir(&room).unwrap().count(), 0);
        destroy(&path).unwrap();
        fs::remove_dir_all(room).unwrap();
    }

    #[test]
    fn the_key_of_something_else_is_not_destroyed() {
        let room = room("others");
        let path = room.join("key");
        for precious in [
            &b"-----BEGIN KEY-----"[..],
            &[0; 200],
            &[HEAD, &[7; 33]].concat(),
            &[&HEAD[1..], &[7; 32]].concat(),
        ] {
            fs::write(&path, precious).unwrap();
            assert!(destroy(&path).unwrap_err().to_string().contains("not the key of a run"));
            assert_eq!(fs::read(&path).unwrap(), precious);
        }
        // What a crash left of ours goes, wherever it struck.
        let whole = [HEAD, &[7; 32]].concat();
        for cut in 0..=whole.len() {
            for left in [whole[..cut].to_vec(), vec![0; cut]] {
                fs::write(&path, left).unwrap();
                destroy(&path).unwrap();
                assert!(!path.exists());
            }
        }
        fs::remove_dir_all(room).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_key_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let room = room("mode");
        let path = room.join("key");
        keep(&path, &Entropy::system().unwrap()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(find(&path).unwrap_err().to_string().contains("only its owner"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let good = fs::read(&path).unwrap();
        for bad in [&good[..good.len() - 1], &good[1..], &[0; 200], b""] {
            fs::write(&path, bad).unwrap();
            assert!(find(&path).unwrap_err().to_string().contains("found a file of another kind"));
        }
        fs::remove_dir_all(room).unwrap();
    }
}
