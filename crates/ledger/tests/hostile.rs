//! Files that someone changed, files that are no ledgers, and requests that no one should make.

use crate::door::{Folder, budget, named, new, pure, sums};
use rusqlite::Connection;
use std::{fs, path::Path};
use veracity_core::ErrorKind;
use veracity_ledger::{Hash, Ledger, Request, RequestId, Terms};

/// A ledger with four charges by two analysts, three answers and one that was abandoned.
fn furnished(path: &Path) -> Hash {
    let caps = vec![("ada".to_owned(), budget(2.0, 0.0)), ("bob".to_owned(), budget(3.0, 0.0))];
    let ledger = Ledger::create(path, Terms { analysts: caps, ..sums(4.0) }).unwrap();
    for (at, (analyst, epsilon)) in
        [("ada", 0.25), ("bob", 0.5), ("ada", 0.125), ("bob", 0.25)].into_iter().enumerate()
    {
        let request = Request { analyst: Some(analyst.into()), ..named(&format!("r{at}"), pure(epsilon)) };
        let reservation = new(ledger.reserve(request));
        match at {
            3 => ledger.abandon(reservation).unwrap(),
            _ => ledger.commit(reservation, "{\"answer\":1}").unwrap(),
        }
    }
    assert!(ledger.verify(None).unwrap().holds());
    ledger.status().unwrap().head
}

/// Changes a file by SQL, as someone with the right tool would.
fn changed(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Every column of every record, changed, is found; so is a record that is gone, that is new, or that changed places.
#[test]
fn whatever_is_changed_is_found() {
    let folder = Folder::new("changed");
    let clean = folder.file("clean");
    furnished(&clean);
    let columns = [
        ("kind", "'answered'"),
        ("moment", "moment + 1"),
        ("request", "'other' || number"),
        ("analyst", "CASE analyst WHEN 'ada' THEN 'bob' ELSE 'ada' END"),
        ("question", "replace(question, '0.', '0.0')"),
        ("charged", "question"),
        ("what", "'another number'"),
        ("cost", "'3fb0000000000000 0000000000000000'"),
        ("spent", "'3fb0000000000000 0000000000000000'"),
        ("share_cost", "'3fb0000000000000 0000000000000000'"),
        ("share_spent", "'3fb0000000000000 0000000000000000'"),
        ("reservation", "reservation + 1000"),
        ("answer", "'{\"answer\":2}'"),
        ("hash", "zeroblob(32)"),
    ];
    let mut changes = Vec::new();
    for number in 1..=8 {
        for (column, value) in columns {
            changes.push(format!("UPDATE record SET {column} = {value} WHERE number = {number}"));
        }
        if number < 8 {
            changes.push(format!("DELETE FROM record WHERE number = {number}"));
            changes.push(format!("DELETE FROM record WHERE number = {number}; UPDATE record SET number = number - 1 WHERE number > {number}"));
            changes.push(format!(
                "UPDATE record SET number = -1 WHERE number = {number}; UPDATE record SET number = {number} WHERE number = {number} + 1; \
                 UPDATE record SET number = {number} + 1 WHERE number = -1"
            ));
        }
    }
    changes.push("INSERT INTO record (number, kind, moment, spent, reservation, hash) SELECT 9, 'abandoned', moment, spent, 99, hash FROM record WHERE number = 8".into());
    changes.push("INSERT INTO record (number, kind, moment, spent, hash) SELECT 0, kind, moment, spent, hash FROM record WHERE number = 8".into());
    let (mut found, mut same) = (0, 0);
    for change in &changes {
        let path = folder.file("l");
        fs::copy(&clean, &path).unwrap();
        changed(&path, change);
        let is_same = {
            // What changed nothing is not to be found: a text that was there already, or nothing where nothing was.
            let rows = |path: &Path| {
                let connection = Connection::open(path).unwrap();
                let mut query = connection.prepare("SELECT * FROM record ORDER BY number").unwrap();
                let rows = query.query_map([], |row| {
                    Ok(format!(
                        "{:?}",
                        (0..15)
                            .map(|at| row.get_ref(at).map(|value| format!("{value:?}")))
                            .collect::<Vec<_>>()
                    ))
                });
                rows.unwrap().map(Result::unwrap).collect::<Vec<_>>()
            };
            rows(&path) == rows(&clean)
        };
        let holds = Ledger::open(&path).unwrap().verify(None).is_ok_and(|verified| verified.holds());
        assert_eq!(holds, is_same, "{change}");
        (found, same) = (found + usize::from(!holds), same + usize::from(is_same));
        for ending in ["", "-journal"] {
            let _ = fs::remove_file(folder.file(&format!("l{ending}")));
        }
    }
    println!("{} changes: {found} found, {same} changed nothing", changes.len());
    assert!(found > 80, "{found}");
}

#[test]
fn the_last_record_and_the_terms_are_checked_before_a_charge() {
    let folder = Folder::new("before");
    let path = folder.file("l");
    furnished(&path);
    changed(&path, "UPDATE record SET spent = '0000000000000000 0000000000000000' WHERE number = 8");
    let ledger = Ledger::open(&path).unwrap();
    let ask = || Request { analyst: Some("ada".into()), ..Request::new(pure(0.1), "x") };
    let refused = ledger.reserve(ask()).unwrap_err();
    assert!(refused.kind() == ErrorKind::File && refused.to_string().contains("record 8"), "{refused}");
    drop(ledger);
    for sql in [
        "UPDATE terms SET text = replace(text, '\"epsilon\":4', '\"epsilon\":5')",
        "UPDATE terms SET limits = replace(limits, '40', '41')",
        "UPDATE terms SET hash = zeroblob(32)",
    ] {
        let path = folder.file("terms");
        furnished(&path);
        changed(&path, sql);
        assert!(Ledger::open(&path).unwrap_err().to_string().contains("settings were changed"), "{sql}");
        fs::remove_file(path).unwrap();
    }
}

/// What `verify` finds in the chain stops charges, wherever in the chain it is, also while the ledger is open.
#[test]
fn an_edited_record_stops_charges() {
    let folder = Folder::new("edited");
    let ask = || Request { analyst: Some("ada".into()), ..Request::new(pure(0.1), "x") };
    for (at, sql) in [
        "UPDATE record SET answer = '{\"answer\":2}' WHERE number = 2",
        "UPDATE record SET cost = '3fb0000000000000 0000000000000000' WHERE number = 1",
        "UPDATE record SET moment = moment + 1 WHERE number = 3",
        "DELETE FROM record WHERE number = 4",
        "UPDATE record SET hash = zeroblob(32) WHERE number = 1",
        "DELETE FROM record WHERE number = 8",
        "DELETE FROM record WHERE number > 8",
        "UPDATE head SET number = 8",
        "UPDATE head SET hash = zeroblob(32)",
        "DELETE FROM head",
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.file(&format!("l{at}"));
        furnished(&path);
        // One handle has seen the chain whole, and charged.
        let open = Ledger::open(&path).unwrap();
        let _ = open.reserve(ask()).unwrap();
        changed(&path, sql);
        for ledger in [open, Ledger::open(&path).unwrap()] {
            let refused = ledger.reserve(ask());
            assert!(
                refused.as_ref().is_err_and(|error| error.kind() == ErrorKind::File),
                "{sql}: {refused:?}"
            );
            assert!(!ledger.verify(None).unwrap().holds(), "{sql}");
        }
    }
}

/// A tail that is cut off, with a new head, leaves a whole chain: only a hash that was noted elsewhere says so.
#[test]
fn a_tail_that_is_cut_off_is_found_by_a_noted_hash_alone() {
    let folder = Folder::new("tail");
    let path = folder.file("l");
    let head = furnished(&path);
    let noted = |path: &Path| Ledger::open(path).unwrap().verify(Some(head)).unwrap();
    assert_eq!((noted(&path).holds(), noted(&path).noted_at), (true, Some(8)));
    changed(&path, "DELETE FROM record WHERE number > 6");
    assert!(
        !Ledger::open(&path).unwrap().verify(None).unwrap().holds(),
        "the head is of a record that is gone"
    );
    changed(&path, "UPDATE head SET (number, hash) = (SELECT number, hash FROM record WHERE number = 6)");
    assert!(Ledger::open(&path).unwrap().verify(None).unwrap().holds(), "the limit of what a chain can say");
    assert!(!noted(&path).holds());
}

/// Whatever else a file has could undo a charge: a trigger, a view in place of a table, an index that lies.
#[test]
fn a_file_with_other_tables_is_refused() {
    let folder = Folder::new("schema");
    for (at, sql) in [
        "CREATE TRIGGER undo AFTER INSERT ON record BEGIN DELETE FROM record WHERE number = new.number; END",
        "CREATE TABLE more (x)",
        "CREATE VIEW seen AS SELECT * FROM record",
        "DROP INDEX request_of",
        "DROP INDEX ending_of; CREATE UNIQUE INDEX ending_of ON record (number)",
        "ALTER TABLE record ADD COLUMN more TEXT",
        "DROP TABLE terms",
        "PRAGMA user_version = 3",
        "DROP TABLE head",
        "PRAGMA user_version = 0",
        "PRAGMA application_id = 7",
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.file(&format!("l{at}"));
        furnished(&path);
        changed(&path, sql);
        let refused = Ledger::open(&path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::File, "{sql}: {refused}");
    }
}

#[test]
fn what_is_no_ledger_is_refused_in_one_line_and_stays_as_it_is() {
    let folder = Folder::new("foreign");
    let whole = folder.file("whole");
    furnished(&whole);
    let bytes = fs::read(&whole).unwrap();
    let other = folder.file("other.db");
    changed(&other, "CREATE TABLE precious (x); INSERT INTO precious VALUES (1)");
    let mut damaged = bytes.clone();
    damaged[200..4000].fill(0xff);
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("text", b"SQLite format 3 is what this is not".to_vec()),
        ("header", bytes[..100].to_vec()),
        ("half", bytes[..bytes.len() / 2].to_vec()),
        ("damaged", damaged),
        ("other", fs::read(&other).unwrap()),
        ("zeros", vec![0; 8192]),
    ];
    for (name, content) in files {
        let path = folder.file(name);
        fs::write(&path, &content).unwrap();
        let refused = Ledger::open(&path).and_then(|ledger| {
            let verified = ledger.verify(None)?;
            assert!(!verified.holds(), "{name} holds");
            Err::<(), _>(veracity_core::Error::file("ledger", &path, "found by verification"))
        });
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::File, "{name}: {refused}");
        assert!(!refused.to_string().contains('\n'), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), content, "{name} was changed");
    }
    for path in [folder.0.clone(), folder.file("nothing"), "/dev/null".into(), ":memory:".into(), "".into()] {
        assert_eq!(Ledger::open(&path).unwrap_err().kind(), ErrorKind::File, "{path:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_never_make_two_budgets_of_one() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links");
    let path = folder.file("l");
    furnished(&path);
    // Around in a circle.
    symlink(folder.file("b"), folder.file("a")).unwrap();
    symlink(folder.file("a"), folder.file("b")).unwrap();
    assert_eq!(Ledger::open(&folder.file("a")).unwrap_err().kind(), ErrorKind::File);
    // By a link the same log is used.
    symlink(&path, folder.file("link")).unwrap();
    let (one, other) = (Ledger::open(&path).unwrap(), Ledger::open(&folder.file("link")).unwrap());
    let ask = |id: &str| Request { analyst: Some("ada".into()), ..named(id, pure(0.25)) };
    let _ = one.reserve(ask("by name")).unwrap();
    assert_eq!(other.status().unwrap().reserved, 5);
    drop((one, other));
    // A second name would have a log of its own.
    fs::hard_link(&path, folder.file("second")).unwrap();
    for path in [&path, &folder.file("second")] {
        assert!(Ledger::open(path).unwrap_err().to_string().contains("one name"));
    }
    fs::remove_file(folder.file("second")).unwrap();
    assert!(Ledger::open(&path).is_ok());
    // A creation that was killed left the name that the file had before: it is swept away.
    fs::hard_link(&path, folder.file(".l.1-2.part")).unwrap();
    assert!(Ledger::open(&path).is_ok() && !folder.file(".l.1-2.part").exists());
}

/// A folder that cannot be written has no room for the log. Whoever may write everything writes there too.
#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_written_is_told_in_one_line() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("readonly");
    let inside = folder.file("inside");
    fs::create_dir(&inside).unwrap();
    let path = inside.join("l");
    furnished(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o555)).unwrap();
    let may_write_all = fs::write(inside.join("probe"), "").is_ok();
    let outcome = Ledger::open(&path).and_then(|ledger| {
        ledger.reserve(Request { analyst: Some("ada".into()), ..Request::new(pure(0.1), "x") })
    });
    match outcome {
        Ok(_) => assert!(may_write_all),
        Err(error) => {
            assert!(!may_write_all && error.kind() == ErrorKind::File, "{error}");
            assert!(!error.to_string().contains('\n'));
        }
    }
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o755)).unwrap();
    // A file system that nobody can write to.
    assert!(Ledger::create(Path::new("/proc/ledger"), sums(1.0)).is_err());
}

#[test]
fn ids_and_lines_that_no_one_should_write_are_refused() {
    for id in ["", "two\nlines", "\u{1b}[31m", "nul\0", &"x".repeat(1 << 20)] {
        let refused = RequestId::new(id).unwrap_err().to_string();
        assert!(refused.len() < 200 && !refused.contains(char::is_control), "{refused}");
    }
    let folder = Folder::new("lines");
    let ledger = Ledger::create(&folder.file("l"), sums(1.0)).unwrap();
    for what in ["", "two\nlines", &"x".repeat(1 << 20)] {
        let refused = ledger.reserve(Request::new(pure(0.1), what)).unwrap_err().to_string();
        assert!(refused.len() < 200, "{refused}");
    }
    // Quotes and the like are text.
    for id in ["'; DROP TABLE record; --", "ε/δ \"quoted\"", "%00", "?1"] {
        let reservation = new(ledger.reserve(named(id, pure(0.01))));
        ledger.commit(reservation, "\"'; DROP TABLE record; --\"").unwrap();
    }
    let huge = "9".repeat((1 << 26) + 1);
    let reservation = new(ledger.reserve(named("huge", pure(0.01))));
    assert!(ledger.commit(reservation, &huge).is_err());
    assert_eq!(ledger.status().unwrap().reserved, 5);
    assert!(ledger.verify(None).unwrap().holds());
}
