//! The first page: short, with a library example that compiles and a picture whose numbers are on the page.
//!
//! Packages have README.md at another place than the workspace, so it cannot be a doc test itself. Its Rust must equal the example
//! of the crate `veracity`, which is one.

use super::blocks::{self, Kind};
use super::links::prose;

/// Words of prose; code and outputs are not counted.
const LONGEST: usize = 900;

/// What is wrong with the first page, given the source of `veracity` and the picture.
pub fn check(readme: &str, facade: &str, picture: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let prose = prose(readme);
    let words = prose.iter().flat_map(|(_, line)| line.split_whitespace());
    let long = words.filter(|word| word.contains(char::is_alphanumeric)).count();
    if long > LONGEST {
        wrong.push(format!("{long} words, at most {LONGEST}"));
    }
    let example = example(facade);
    let (blocks, _) = blocks::parse(readme);
    let rust: Vec<_> = blocks.iter().filter(|block| block.kind == Kind::Shown("rust".to_owned())).collect();
    if rust.is_empty() {
        wrong.push("no library example".to_owned());
    }
    for block in rust.iter().filter(|block| block.lines != example) {
        wrong.push(format!(
            "line {}: not the example of crates/veracity/src/lib.rs, which is tested",
            block.line
        ));
    }
    let figures = figures(picture);
    if figures.is_empty() {
        wrong.push("the picture has no figure".to_owned());
    }
    let outputs: Vec<&str> = blocks
        .iter()
        .filter(|block| matches!(block.kind, Kind::Console { .. }))
        .flat_map(|block| block.lines.iter().flat_map(|line| line.split([' ', ';', ','])))
        .collect();
    for figure in figures.iter().filter(|figure| !outputs.contains(&figure.as_str())) {
        wrong.push(format!("the picture has {figure}, but no output on this page does"));
    }
    wrong
}

/// The example in the module's doc, without the lines that rustdoc hides.
fn example(facade: &str) -> Vec<String> {
    let doc = facade
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    let inside = doc.skip_while(|line| *line != "```").skip(1).take_while(|line| *line != "```");
    inside.filter(|line| !line.starts_with("# ")).map(str::to_owned).collect()
}

/// The numbers with a fraction in the picture.
fn figures(picture: &str) -> Vec<String> {
    let texts =
        picture.split("<text").skip(1).filter_map(|rest| rest.split_once('>')?.1.split_once("</text>"));
    let words = texts.flat_map(|(text, _)| text.split([' ', ',', ';']));
    words.filter(|word| word.contains('.') && word.parse::<f64>().is_ok()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACADE: &str =
        "//! Doc.\n//!\n//! ```\n//! let a = 1;\n//!\n//! use_it(a);\n//! # Ok(())\n//! ```\n\nmod a;\n";
    const PICTURE: &str = "<svg><text x=\"1.5\">shown ≥ 1.189</text><text>claimed 2</text></svg>";
    const README: &str = "# A\n\n```console\n$ veracity audit\nshown 1.189; 2\n```\n\n```rust\nlet a = 1;\n\nuse_it(a);\n```\n";

    #[test]
    fn every_rule_can_fail() {
        assert_eq!(check(README, FACADE, PICTURE), Vec::<String>::new());
        let long = |words: usize| format!("{}{README}", "word ".repeat(words) + "\n");
        assert!(check(&long(LONGEST - 1), FACADE, PICTURE).is_empty());
        assert_eq!(check(&long(LONGEST), FACADE, PICTURE).len(), 1);
        assert_eq!(check(README, &FACADE.replace("use_it", "leave_it"), PICTURE).len(), 1);
        assert_eq!(check(README, "mod a;\n", PICTURE).len(), 1);
        assert_eq!(check(&README.replace("rust", "text"), FACADE, PICTURE).len(), 1);
        assert_eq!(check(README, FACADE, &PICTURE.replace("1.189", "1.19")).len(), 1);
        assert_eq!(check(README, FACADE, "<svg/>").len(), 1);
    }
}
