//! The file alone is the ledger: copied, mounted twice, opened by two processes, or of another format.

#![cfg(target_os = "linux")] // Mounts are made by `unshare` and `mount`.

use crate::door::{Folder, job, named, new, numbers, piped, pure, read_until, start, sums, tell};
use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::Command,
};
use veracity_core::ErrorKind;
use veracity_ledger::{Ledger, Request, Reserved};

/// The budget of the mounted ledger, and how many charges of 1/8 fit into it.
const BUDGET: f64 = 2.75;
const FITS: u64 = 22;

/// The part of the client, when this program was started as one.
#[test]
fn client() {
    let Some((job, path)) = job() else { return };
    match job.as_str() {
        // Charges a ledger under two paths in turn, until both refuse.
        "two-paths" => {
            let other = std::env::var_os("LEDGER_OTHER").unwrap();
            let ledgers = [Ledger::open(&path), Ledger::open(Path::new(&other))];
            let mut granted = 0;
            for ledger in ledgers.iter().cycle().take(4 * FITS as usize) {
                match ledger {
                    Err(error) => return tell(format!("refused {error}")),
                    Ok(ledger) => match ledger.reserve(Request::new(pure(0.125), "mounted")) {
                        Ok(_) => granted += 1,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::OverBudget, "{error}"),
                    },
                }
            }
            tell(format!("granted {granted}"));
        }
        // Asks under one id, and answers when it is told to.
        "answer" => {
            let ledger = Ledger::open(&path).unwrap();
            let reservation = new(ledger.reserve(named("one", pure(0.125))));
            tell(format!("answering {}", reservation.entry()));
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap();
            ledger.commit(reservation, "7").unwrap();
            tell("answered");
        }
        other => panic!("no such job: {other}"),
    }
}

/// Runs the client `two-paths` where `mounts` were made; nothing where the kernel refuses mounts, which is printed.
fn mounted(mounts: &str, one: &Path, other: &Path) -> Option<Vec<u8>> {
    let probe = Command::new("unshare").args(["--mount", "sh", "-c", mounts]).output();
    match &probe {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            println!("mounts are refused here, not tested: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        Err(error) => {
            println!("unshare does not run here, mounts are not tested: {error}");
            return None;
        }
    }
    let client = start(module_path!(), "two-paths", one);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{mounts} && exec \"$@\"")]);
    command.arg("sh").arg(client.get_program()).args(client.get_args());
    command.env("LEDGER_JOB", "two-paths").env("LEDGER_PATH", one).env("LEDGER_OTHER", other);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// What `docker run -v year.ledger:/data/year.ledger` does: each mount has its own folder, so that files beside it are not shared.
#[test]
fn a_ledger_that_is_mounted_as_a_file_is_refused() {
    let folder = Folder::new("file-mounts");
    let [file, one, other] = ["l", "one/l", "other/l"].map(|name| folder.file(name));
    drop(Ledger::create(&file, sums(BUDGET)).unwrap());
    for path in [&one, &other] {
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let bind = |path: &Path| format!("mount --bind '{}' '{}'", file.display(), path.display());
    let Some(said) = mounted(&format!("{} && {}", bind(&one), bind(&other)), &one, &other) else { return };
    let said = String::from_utf8_lossy(&said);
    assert!(numbers(said.as_bytes(), "granted ").is_empty(), "{said}: {FITS} fit");
    assert!(said.contains("mount the directory"), "{said}");
    let ledger = Ledger::open(&file).unwrap();
    assert_eq!(ledger.status().unwrap().reserved, 0);
}

#[test]
fn a_folder_that_is_mounted_twice_is_spent_once() {
    let folder = Folder::new("folder-mounts");
    let [inside, one, other] = ["inside", "one", "other"].map(|name| folder.file(name));
    for path in [&inside, &one, &other] {
        fs::create_dir(path).unwrap();
    }
    drop(Ledger::create(&inside.join("l"), sums(BUDGET)).unwrap());
    let bind = |path: &Path| format!("mount --bind '{}' '{}'", inside.display(), path.display());
    let mounts = format!("{} && {}", bind(&one), bind(&other));
    let Some(said) = mounted(&mounts, &one.join("l"), &other.join("l")) else { return };
    assert_eq!(numbers(&said, "granted "), [FITS], "{}", String::from_utf8_lossy(&said));
    let ledger = Ledger::open(&inside.join("l")).unwrap();
    assert_eq!(ledger.verify(None).unwrap().reserved, FITS);
}

#[test]
fn a_copy_of_the_file_alone_shows_what_was_charged_while_the_ledger_is_open() {
    let folder = Folder::new("copies");
    let (path, alone) = (folder.file("l"), folder.file("alone/l"));
    fs::create_dir(folder.file("alone")).unwrap();
    let ledger = Ledger::create(&path, sums(100.0)).unwrap();
    for charged in 1..=20 {
        let reservation = new(ledger.reserve(named(&format!("r{charged}"), pure(0.125))));
        fs::copy(&path, &alone).unwrap();
        let copy = Ledger::open(&alone).unwrap();
        assert_eq!(copy.status().unwrap().reserved, charged);
        assert!(copy.verify(None).unwrap().holds());
        ledger.commit(reservation, "1").unwrap();
    }
}

/// The number of the format is in the header of the file; SQLite is not asked to read a file of another one.
#[test]
fn a_ledger_of_another_format_is_refused_in_one_line_and_stays_as_it_is() {
    let folder = Folder::new("format");
    let path = folder.file("l");
    drop(Ledger::create(&path, sums(1.0)).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    for format in [0u32, 2, u32::MAX] {
        bytes[60..64].copy_from_slice(&format.to_be_bytes());
        fs::write(&path, &bytes).unwrap();
        let refused = Ledger::open(&path).unwrap_err().to_string();
        assert!(
            refused.contains("expected ledger format 1, but it has another format")
                && !refused.contains('\n'),
            "{refused}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

/// Whoever asks under an id that another process is answering is told so, and not to take a new id, which would be charged again.
#[test]
fn a_request_that_is_being_answered_is_told_from_one_whose_process_died() {
    let folder = Folder::new("answering");
    let path = folder.file("l");
    let ledger = Ledger::create(&path, sums(10.0)).unwrap();
    let (mut first, mut out) = piped(start(module_path!(), "answer", &path));
    let mut said = read_until(&mut out, "answering 1\n");
    for _ in 0..3 {
        let line = ledger.reserve(named("one", pure(0.125))).unwrap_err().to_string();
        assert!(line.contains("answering this request ID") && line.contains("same request ID"), "{line}");
        let line = ledger.resume(named("one", pure(0.125))).unwrap_err().to_string();
        assert!(line.contains("answering this request ID"), "{line}");
    }
    first.stdin.take().unwrap().write_all(b"go\n").unwrap();
    out.read_to_string(&mut said).unwrap();
    assert!(first.wait().unwrap().success() && said.contains("answered"));
    let known = ledger.reserve(named("one", pure(0.125))).unwrap();
    assert!(matches!(known, Reserved::Known { answer, .. } if answer == "7"));
    assert_eq!(ledger.status().unwrap().reserved, 1);

    // Another, which is killed: its id has no answer, and nobody is working on one.
    let second = folder.file("second");
    let ledger = Ledger::create(&second, sums(10.0)).unwrap();
    let (mut killed, mut out) = piped(start(module_path!(), "answer", &second));
    read_until(&mut out, "answering 1\n");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let line = ledger.reserve(named("one", pure(0.125))).unwrap_err().to_string();
    assert!(line.contains("never answered") && line.contains("new request ID"), "{line}");
    assert!(matches!(ledger.resume(named("one", pure(0.125))).unwrap(), Reserved::New(_)));
    drop(ledger);
    // Nothing is left beside the ledgers.
    let mut left: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["l", "second"]);
}

/// A journal that a killed process left, and a file that was moved away, charged and moved back: SQLite would write the older state over
/// the file, and the charges would be free.
#[test]
fn a_journal_or_log_of_another_time_is_refused_and_nothing_is_lost() {
    let folder = Folder::new("other-times");
    let path = folder.file("l");
    let ledger = Ledger::create(&path, sums(10.0)).unwrap();
    let before = fs::read(&path).unwrap();
    let mut one_charge_before = Vec::new();
    for _ in 0..3 {
        one_charge_before = fs::read(&path).unwrap();
        drop(ledger.reserve(Request::new(pure(0.125), "moved")).unwrap());
    }
    drop(ledger);
    let after = fs::read(&path).unwrap();
    // Another ledger whose counter happens to be the same.
    drop(Ledger::create(&folder.file("other"), sums(11.0)).unwrap());
    let mut of_another = fs::read(folder.file("other")).unwrap();
    of_another[24..28].copy_from_slice(&after[24..28]);
    // A journal of one page, as SQLite writes it, but for the checksum.
    let journal = |page_one: &[u8]| {
        let mut bytes = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
        // Pages in it, a nonce, pages of the file, sizes of a sector and of a page.
        let pages = (after.len() / 4096) as u32;
        bytes.extend([1, 0, pages, 512, 4096].iter().flat_map(|number: &u32| number.to_be_bytes()));
        bytes.resize(512, 0);
        bytes.extend(1u32.to_be_bytes());
        bytes.extend(&page_one[..4096]);
        bytes.extend([0; 4]);
        bytes
    };
    let refused = |ending: &str, bytes: &[u8]| {
        let beside = folder.file(&format!("l{ending}"));
        fs::write(&beside, bytes).unwrap();
        let said = Ledger::open(&path).unwrap_err().to_string();
        assert!(said.contains("from another time"), "{said}");
        fs::remove_file(beside).unwrap();
        assert!(fs::read(&path).unwrap() == after, "{ending}: the file was changed");
    };
    refused("-journal", &journal(&before));
    refused("-journal", &journal(&one_charge_before));
    refused("-journal", &journal(&of_another));
    refused("-wal", &[1; 4096]);
    // A journal of this very state is SQLite's to play back.
    fs::write(folder.file("l-journal"), journal(&after)).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().status().unwrap().reserved, 3);
    // A new ledger does not take a name where an old journal waits.
    fs::write(folder.file("m-journal"), journal(&before)).unwrap();
    assert!(Ledger::create(&folder.file("m"), sums(1.0)).is_err());
}
