//! The mean of a column, with its error bar and its claim. `cargo run -p veracity --example release`

use std::fs;
use veracity::{
    Adjacency, Epsilon, Error, ReleaseRequest, ReleaseSettings, Table, preview,
    query::{Bounds, Question, Statistic},
    release, verify_file,
};

pub(crate) fn main() -> Result<(), Error> {
    let folder = std::env::temp_dir().join(format!("veracity-example-release-{}", std::process::id()));
    let written = fs::create_dir_all(&folder).and_then(|()| {
        let rows: String = (0..2000).map(|row| format!("{}\n", 20 + row * 7 % 60)).collect();
        fs::write(folder.join("people.csv"), format!("age\n{rows}"))
    });
    written.map_err(|error| Error::io("folder", &folder, "one that can be written", error))?;
    let table = Table::new(folder.join("people.csv"));

    // The bounds are known beforehand, and never read from the data.
    let statistic = Statistic::Mean(Bounds::new(0.0, 100.0)?);
    let question = Question { statistic, adjacency: Adjacency::AddRemove };
    let request = ReleaseRequest::new(question, Some("age"), Epsilon::new(1.0)?);

    // Before anything is spent: how far off would it be?
    let expected = preview(&request, &table)?.design.preview(2000);
    println!("expect an error of {:.2} or less, in 95 of 100 cases", expected.error_bar);

    let settings =
        ReleaseSettings { claim: Some(folder.join("mean.claim.json")), ..ReleaseSettings::default() };
    let done = release(&request, &table, &settings)?;
    let cell = &done.released.release.cells[0];
    println!("the mean age is {:.2} ± {:.2}", cell.value, cell.error_bar);
    println!("what was spent is in {}: {:?}", done.claim.display(), verify_file(&done.claim).is_ok());
    // Only tidying up: a folder that stays is in nobody's way.
    let _ = fs::remove_dir_all(&folder);
    Ok(())
}
