//! The book: README.md and the pages in `docs`, with commands whose output is compared with a run.
//!
//! `cargo xtask book` runs the console blocks of every page, compares, and makes HTML with mdBook. `--bless` replaces the outputs that
//! differ by those of the run. `--quick` compares as `cargo xtask test` does, without the blocks that are tagged slow. Why this is not
//! `trycmd`: docs/decisions/book-runner.md.

mod blocks;
mod comparing;
mod html;
pub mod links;
mod readme;
mod running;

use crate::files;
use running::Extent;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Pages whose links are checked; their commands are not run.
const BESIDE: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const README: &str = "README.md";

/// Compares all pages and makes the HTML, or blesses what was printed.
pub fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let extent = match words {
        [] => Extent::All,
        ["--quick"] => Extent::Quick,
        ["--bless"] => return bless(root),
        _ => return Err(io::Error::other("usage: cargo xtask book [--quick | --bless]")),
    };
    let wrong = compared(root, extent)?;
    for complaint in &wrong {
        println!("{complaint}");
    }
    if !wrong.is_empty() {
        println!(
            "{} wrong; cargo xtask book --bless writes the outputs of this run into the pages",
            wrong.len()
        );
        return Ok(false);
    }
    if extent == Extent::Quick { Ok(true) } else { html::make(root) }
}

/// What is wrong with the book, one line or one comparison each; slow blocks are left out.
pub fn check(root: &Path) -> io::Result<Vec<String>> {
    compared(root, Extent::Quick)
}

fn compared(root: &Path, extent: Extent) -> io::Result<Vec<String>> {
    let mut wrong = standing(root)?;
    let bench = Bench::made(root)?;
    for page in pages(root)? {
        let outcome = bench.run(root, &page, extent)?;
        if outcome.run > 0 {
            println!("{page}: {} commands", outcome.run);
        }
        if outcome.left_out > 0 {
            println!("{page}: {} slow block left to cargo xtask book", outcome.left_out);
        }
        wrong.extend(outcome.wrong.into_iter().map(|(line, what)| format!("{page}:{line}: {what}")));
    }
    Ok(wrong)
}

fn bless(root: &Path) -> io::Result<bool> {
    let bench = Bench::made(root)?;
    let mut all = true;
    for page in pages(root)? {
        let outcome = bench.run(root, &page, Extent::All)?;
        for (line, what) in &outcome.wrong {
            println!("{page}:{line}: {what}");
        }
        if let Some(text) = outcome.blessed {
            fs::write(root.join(&page), text)?;
            println!("{page}: updated; read the difference");
        } else {
            all &= outcome.wrong.is_empty();
        }
    }
    Ok(all)
}

/// What is wrong with what needs no run: links, the summary, the first page's length, example and picture.
fn standing(root: &Path) -> io::Result<Vec<String>> {
    let pages = pages(root)?;
    let read = |page: &str| fs::read_to_string(root.join(page));
    let mut wrong = links::unlisted(&pages, &read("docs/SUMMARY.md")?);
    for page in pages.iter().map(String::as_str).chain(BESIDE) {
        let found = links::check(root, page, &read(page)?)?;
        wrong.extend(found.into_iter().map(|(line, what)| format!("{page}:{line}: {what}")));
    }
    let found =
        readme::check(&read(README)?, &read("crates/veracity/src/lib.rs")?, &read("docs/between.svg")?);
    wrong.extend(found.into_iter().map(|what| format!("{README}: {what}")));
    Ok(wrong)
}

/// README.md and every page below `docs`, in order.
fn pages(root: &Path) -> io::Result<Vec<String>> {
    let docs = files::ending(&root.join("docs"), "md")?;
    Ok([README.to_owned()].into_iter().chain(docs.iter().map(|page| files::name(root, page))).collect())
}

/// Where pages are run.
struct Bench {
    folder: PathBuf,
    examples: PathBuf,
    /// The search path, with the program in front.
    path: OsString,
}

impl Bench {
    fn made(root: &Path) -> io::Result<Bench> {
        let program = running::built(root)?;
        let programs = program.parent().unwrap_or(root).to_path_buf();
        let folder = programs.join("book-pages");
        let earlier = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&earlier)))
            .map_err(io::Error::other)?;
        Ok(Bench { folder, examples: root.join("examples"), path })
    }

    fn run(&self, root: &Path, page: &str, extent: Extent) -> io::Result<running::Outcome> {
        let text = fs::read_to_string(root.join(page))?;
        let folder = self.folder.join(page.replace('/', "-").trim_end_matches(".md"));
        running::page(&text, &folder, &self.examples, &self.path, extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_holds_and_the_first_page_is_in_order() {
        let wrong = standing(&crate::root()).unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
