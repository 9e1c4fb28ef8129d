//! A piece of a page for a notebook, which has a page of its own: the answer and pictures, in the colours of our pages, light or dark.
//!
//! Its rules hold for nothing but itself. Where a notebook says whether it is light or dark that counts, else what the reader's
//! machine prefers.

use super::{Block, Note, STYLE, block, tone};
use crate::markup::escape;

/// The class of every piece.
const CLASS: &str = "veracity";
/// How notebooks say that they are light, and that they are dark: JupyterLab, then VS Code.
const LIGHT: &str = "[data-jp-theme-light=true] .veracity, .vscode-light .veracity { color-scheme: light;";
const DARK: &str = "[data-jp-theme-light=false] .veracity, .vscode-dark .veracity { color-scheme: dark;";
/// The look of what a piece may hold.
const LOOK: &str = "\
.veracity { color: var(--text); max-width: 66rem; }
.veracity .lead { border-left: .25rem solid var(--soft); padding-left: .8rem; max-width: 50rem; }
.veracity .lead.good { border-color: var(--good); }
.veracity .lead.alarm { border-color: var(--alarm); color: var(--alarm); font-weight: 600; }
.veracity .lead.doubt { border-color: var(--doubt); color: var(--doubt); font-weight: 600; }
.veracity .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1rem; }
.veracity figure { margin: 0; max-width: 31rem; }
.veracity svg { display: block; width: 100%; height: auto; font-family: inherit; }
.veracity figcaption { color: var(--soft); font-size: .9em; }
";

/// An element that holds the answer and some blocks.
pub fn fragment(lead: &Note, blocks: &[Block]) -> String {
    let (light, dark) = colours();
    let blocks: String = blocks.iter().map(block).collect();
    format!(
        "<div class=\"{CLASS}\">\n<style>\n.{CLASS} {{ {light} }}\n\
         @media screen and (prefers-color-scheme: dark) {{ .{CLASS} {{ {dark} }} }}\n\
         {LIGHT} {light} }}\n{DARK} {dark} }}\n{LOOK}</style>\n<p class=\"lead{}\">{}</p>\n{blocks}</div>\n",
        tone(lead.tone),
        escape(&lead.text)
    )
}

/// The colours of our pages, light and dark, as declarations.
fn colours() -> (&'static str, &'static str) {
    let mut rules = STYLE.match_indices(concat!("-", "-text:")).map(|(from, _)| {
        let rule = &STYLE[from..];
        rule[..rule.find('}').unwrap_or(rule.len())].trim_end()
    });
    (rules.next().unwrap_or_default(), rules.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Tone};
    use super::*;
    use crate::picture::Picture;

    #[test]
    fn a_piece_has_both_sets_of_colours_and_touches_nothing_else() {
        let hostile = "</style><script>alert(1)</script>";
        let picture = Picture { width: 9.0, height: 9.0, description: hostile.into(), marks: Vec::new() };
        let figures = Block::Figures(vec![Figure { picture, caption: hostile.into() }]);
        let text = fragment(&Note { tone: Tone::Alarm, text: hostile.into() }, &[figures]);
        for (name, _) in crate::svg::names() {
            assert_eq!(text.matches(&format!("{name}: #")).count(), 4, "{name}");
        }
        assert!(!text.contains("<script") && text.matches("</style>").count() == 1);
        let style = &text[text.find("<style>").unwrap() + 7..text.find("</style>").unwrap()];
        for rule in style.lines().filter(|line| !line.is_empty()) {
            assert!(rule.contains(".veracity"), "{rule}");
        }
    }
}
