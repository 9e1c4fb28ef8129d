//! The mean of a column, with its error bar and its claim. `cargo run -p veracity --example release`

use veracity::prelude::*;

pub(crate) fn main() -> Result<(), Error> {
    let table = Table::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv"));
    // The bounds 0 and 100 are known beforehand, and never read from the data.
    let request = ReleaseRequest::mean("age", 0.0, 100.0, 1.0)?;
    let expected = preview(&request, &table)?.design.preview(2000).error_bar;
    let claim = std::env::temp_dir().join(format!("mean-{}.claim.json", std::process::id()));
    let done = release(&request, &table, &ReleaseSettings { claim: Some(claim), ..Default::default() })?;
    let cell = &done.released.release.cells[0];
    println!("mean age {:.2} ± {:.2}; {}", cell.value, cell.error_bar, done.prepared.answer);
    println!("expected ± {expected:.2}; claim in {}", done.claim.display());
    Ok(())
}
