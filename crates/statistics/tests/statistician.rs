//! The queries that a statistician writes: each is answered, and compiles for every engine, or is refused with its reason.
//!
//! The files of the folder `statistician` have blocks with blank lines between them: a comment `-- answered`, or `-- refused: ` and a
//! part of the message, then the query.

use std::path::Path;
use veracity_statistics::sql::{CapOverrides, Catalog, Dialect, check, compile};

use crate::common::secret;

#[test]
fn queries_are_answered_or_refused_with_their_reason() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statistician");
    let catalog = Catalog::open(&folder.join("catalog.toml")).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "sql"));
    files.sort();
    let (mut wrong, mut answered, mut refused) = (Vec::new(), 0, 0);
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
            let (comment, query) = block.trim().split_once('\n').expect("a comment, then a query");
            let found = check(query, &catalog, CapOverrides::default());
            match (comment.strip_prefix("-- refused: "), found) {
                (None, Ok(plan)) if comment == "-- answered" => {
                    answered += 1;
                    for dialect in [Dialect::Sqlite, Dialect::DuckDb, Dialect::Postgres, Dialect::Spark] {
                        assert!(compile(&plan, dialect, &secret(1), &[]).is_ok(), "{dialect:?}: {query}");
                    }
                }
                (Some(reason), Err(refusal)) if refusal.to_string().contains(reason) => refused += 1,
                (_, Ok(_)) => wrong.push(format!("{comment}\n{query}\n  is answered")),
                (_, Err(refusal)) => wrong.push(format!("{comment}\n{query}\n  is refused: {refusal}")),
            }
        }
    }
    println!("{} files, {answered} answered, {refused} refused", files.len());
    assert!(wrong.is_empty(), "{} of them are not as they should be:\n{}", wrong.len(), wrong.join("\n"));
    assert!(answered > 30 && refused > 3, "{answered} answered, {refused} refused");
}
