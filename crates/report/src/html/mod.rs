//! A page of words, tables and pictures that is one file: no script, nothing from outside, light and dark, phone to desk.
//!
//! A [`Page`] has a title, a lead sentence and [`Section`]s of [`Block`]s. Every text is escaped on its way out, and the page
//! tells the browser to load nothing, so what it shows is what is in it.
//!
//! ```
//! use veracity_report::html::{Block, Note, Page, Section, Tone};
//!
//! let page = Page {
//!     title: "A report".into(),
//!     lead: Note { tone: Tone::Good, text: "epsilon ≤ 3 at delta 1e-5".into() },
//!     sections: vec![Section::new("What it means", vec![Block::Words("a < b".into())])],
//!     footer: "veracity".into(),
//! };
//! assert!(page.render().contains("a &lt; b"));
//! ```

mod fragment;

pub use fragment::fragment;

use crate::{markup::escape, picture::Picture, svg};

/// The look of all pages.
const STYLE: &str = include_str!("style.css");

/// How a sentence is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// What may be relied upon.
    Good,
    /// What is not known: in amber, beside a broken line.
    Doubt,
    /// What must not be overlooked: in red.
    Alarm,
}

/// A sentence that stands out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How it is to be taken.
    pub tone: Tone,
    /// What it says.
    pub text: String,
}

/// A picture and what it tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The picture.
    pub picture: Picture,
    /// What it tells, below it.
    pub caption: String,
}

/// Rows under a head. Each row is as long as the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What the columns are.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// A line for the terminal and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub says: String,
    /// The line.
    pub line: String,
}

/// One thing on a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Words(String),
    /// A list of sentences.
    Points(Vec<String>),
    /// Names and what goes with them.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Pictures, side by side where there is room.
    Figures(Vec<Figure>),
    /// A sentence that stands out.
    Note(Note),
    /// Lines for the terminal.
    Commands(Vec<Command>),
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// What it is about.
    pub heading: String,
    /// What it holds.
    pub blocks: Vec<Block>,
}

/// A page.
///
/// # Examples
///
/// ```
/// use veracity_report::html::{Block, Note, Page, Section, Tone, is_page};
///
/// let facts = vec![("delta".to_owned(), "1e-5".to_owned())];
/// let page = Page {
///     title: "Audit".into(),
///     lead: Note { tone: Tone::Alarm, text: "REFUTED: epsilon ≥ 4.10 > 3.00 claimed".into() },
///     sections: vec![Section::new("What was claimed", vec![Block::Facts(facts)])],
///     footer: "made by a test".into(),
/// };
/// let file = page.render();
/// assert!(is_page(file.as_bytes()) && file.contains("4.10 &gt; 3.00"));
/// // One that was cut off is not known as a page.
/// assert!(!is_page(&file.as_bytes()[..file.len() - 1]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What it is.
    pub title: String,
    /// The answer, in a sentence.
    pub lead: Note,
    /// Its parts.
    pub sections: Vec<Section>,
    /// By whom and what it was made.
    pub footer: String,
}

impl Section {
    /// A part under a heading.
    pub fn new(heading: &str, blocks: Vec<Block>) -> Section {
        Section { heading: heading.to_owned(), blocks }
    }

    /// The part that ends every report: how a reader who trusts none of it computes it again.
    pub fn recompute(commands: Vec<Command>) -> Section {
        Section::new("How to recompute this", vec![Block::Commands(commands)])
    }
}

/// What every page begins with; its generator is how a page of ours is known.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"generator\" content=\"veracity\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta name=\"color-scheme\" content=\"light dark\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
/// What every page ends with.
const TAIL: &str = "</main>\n</body>\n</html>\n";

/// Whether a file is a page of ours, whole.
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(HEAD.as_bytes()) && bytes.ends_with(TAIL.as_bytes())
}

impl Page {
    /// The file's text.
    pub fn render(&self) -> String {
        let title = escape(&self.title);
        let sections: String = self.sections.iter().map(section).collect();
        format!(
            "{HEAD}<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n<p class=\"lead{}\">{}</p>\n{sections}<footer>{}</footer>\n{TAIL}",
            tone(self.lead.tone),
            escape(&self.lead.text),
            escape(&self.footer)
        )
    }
}

fn section(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block).collect();
    format!("<section>\n<h2>{}</h2>\n{blocks}</section>\n", escape(&section.heading))
}

fn block(block: &Block) -> String {
    match block {
        Block::Words(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Points(texts) => {
            let items: String = texts.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Facts(facts) => {
            let pairs = facts.iter().map(|(name, value)| {
                format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
            });
            format!("<dl>\n{}</dl>\n", pairs.collect::<String>())
        }
        Block::Table(table) => rows(table),
        Block::Figures(figures) => {
            let figures = figures.iter().map(|figure| {
                let (picture, caption) = (svg::inline(&figure.picture), escape(&figure.caption));
                format!("<figure>{picture}<figcaption>{caption}</figcaption></figure>\n")
            });
            format!("<div class=\"figures\">\n{}</div>\n", figures.collect::<String>())
        }
        Block::Note(note) => format!("<p class=\"note{}\">{}</p>\n", tone(note.tone), escape(&note.text)),
        Block::Commands(commands) => {
            let lines = commands.iter().map(|command| {
                let (says, line) = (escape(&command.says), escape(&command.line));
                format!("<p>{says}</p>\n<pre>{line}</pre>\n")
            });
            lines.collect()
        }
    }
}

fn rows(table: &Table) -> String {
    let cells = |row: &[String], tag: &str| -> String {
        row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let body: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
    let head = cells(&table.head, "th");
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => " good",
        Tone::Doubt => " doubt",
        Tone::Alarm => " alarm",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</p></style><script>alert(1)</script><img src=x onerror='a'>\"&";

    /// A page on which every text is hostile.
    fn hostile() -> Page {
        let text = || HOSTILE.to_owned();
        let note = || Note { tone: Tone::Alarm, text: text() };
        let mut picture = Picture { width: 9.0, height: 9.0, description: text(), marks: Vec::new() };
        picture.write((1.0, 1.0), HOSTILE, 9.0, crate::picture::Ink::BLACK, crate::picture::Anchor::Start);
        let blocks = vec![
            Block::Words(text()),
            Block::Points(vec![text()]),
            Block::Facts(vec![(text(), text())]),
            Block::Table(Table { head: vec![text()], rows: vec![vec![text()]] }),
            Block::Figures(vec![Figure { picture, caption: text() }]),
            Block::Note(note()),
            Block::Commands(vec![Command { says: text(), line: text() }]),
        ];
        Page { title: text(), lead: note(), sections: vec![Section::new(HOSTILE, blocks)], footer: text() }
    }

    #[test]
    fn no_text_becomes_markup() {
        let page = hostile().render();
        for forbidden in ["<script", "<img", "onerror='", "</p></style>"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert_eq!(page.matches("</style>").count(), 1);
        // Sixteen places, the title twice: all of them shown, none of them lost.
        assert_eq!(page.matches("alert(1)").count(), 17);
    }

    #[test]
    fn nothing_comes_from_outside() {
        let page = hostile().render();
        for forbidden in ["http:", "https:", "url(", "@import", "src=\"", "href", "xlink"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    /// The rules that a medium adds, without the braces around them.
    fn rules(medium: &str) -> &'static str {
        let start =
            STYLE.find(&format!("@media {medium} {{")).unwrap_or_else(|| panic!("no rules for {medium}"));
        let inside = &STYLE[start + STYLE[start..].find('{').unwrap_or(0) + 1..];
        let mut depth = 1;
        let end = inside.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        &inside[..end.unwrap_or(inside.len())]
    }

    #[test]
    fn paper_is_never_dark() {
        assert!(rules("screen and (prefers-color-scheme: dark)").contains("ground:"));
        assert_eq!(STYLE.matches("dark)").count(), 1, "no other rule is for the dark");
        assert!(rules("print").contains("color-scheme: light"));
    }

    #[test]
    fn paper_breaks_no_table_and_no_figure() {
        let print = rules("print");
        let whole = print.lines().find(|line| line.contains("break-inside: avoid")).unwrap_or_default();
        let (selectors, _) = whole.split_once('{').unwrap_or_default();
        let selectors: Vec<&str> = selectors.split(',').map(str::trim).collect();
        for part in ["figure", "table", "tr", "dl", "dl > div", "pre", ".note", ".lead"] {
            assert!(selectors.contains(&part), "{part} in {selectors:?}");
        }
        // A heading does not end a page, and what scrolls on a screen is shown in full.
        assert!(print.contains("break-after: avoid") && print.contains("overflow: visible"));
    }

    #[test]
    fn every_tone_has_a_look_of_its_own() {
        for one in [Tone::Good, Tone::Doubt, Tone::Alarm] {
            let name = tone(one).trim_start();
            for place in [".lead", ".note"] {
                assert!(STYLE.contains(&format!("{place}.{name} {{")), "{place}.{name}");
            }
            assert_eq!(STYLE.matches(&format!("--{name}:")).count(), 2, "light and dark: {name}");
        }
    }

    #[test]
    fn every_colour_of_a_picture_is_set_for_light_and_dark() {
        for (name, _) in svg::names() {
            assert_eq!(STYLE.matches(&format!("{name}:")).count(), 2, "{name}");
        }
        assert_eq!(STYLE.matches('{').count(), STYLE.matches('}').count());
    }
}
