//! Links between files lead somewhere, and the summary lists every page.
//!
//! Each rule looks at a page and returns what is wrong, with its line. Links to other hosts are not followed.

use super::blocks::Complaint;
use std::fs;
use std::io;
use std::path::Path;

/// What is wrong with the links of the page at `page`. Pages below `docs` may not leave it, because the book has only that folder.
pub fn check(root: &Path, page: &str, text: &str) -> io::Result<Vec<Complaint>> {
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let mut wrong = Vec::new();
    for (line, target) in links(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let place = if path.is_empty() { Path::new(page).to_path_buf() } else { folder.join(path) };
        let up = path.split('/').filter(|part| *part == "..").count();
        if page.starts_with("docs/") && up >= folder.components().count() {
            wrong.push((line, format!("{target} leads out of docs, but the book has only docs")));
        } else if !root.join(&place).exists() {
            wrong.push((line, format!("{target} leads nowhere")));
        } else if !anchor.is_empty()
            && !anchors(&fs::read_to_string(root.join(&place))?).any(|it| it == anchor)
        {
            wrong.push((line, format!("{target}: there is no such heading")));
        }
    }
    Ok(wrong)
}

/// Pages of `docs` that the summary does not list once.
pub fn unlisted(pages: &[String], summary: &str) -> Vec<String> {
    let listed: Vec<String> = links(summary).into_iter().map(|(_, target)| target).collect();
    let mut wrong = Vec::new();
    for page in pages.iter().filter_map(|page| page.strip_prefix("docs/")) {
        let times = listed.iter().filter(|target| *target == page).count();
        if page != "SUMMARY.md" && times != 1 {
            wrong.push(format!("docs/SUMMARY.md: {page} is listed {times} times"));
        }
    }
    wrong
}

/// Targets of links and pictures, with their lines; code is skipped.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, prose) in prose(text) {
        for rest in prose.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                found.push((line, target.to_owned()));
            }
        }
    }
    found
}

/// The lines outside of fenced blocks, with their numbers.
pub fn outside(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence = "";
    text.lines().enumerate().filter_map(move |(at, line)| {
        let bare = line.trim_start();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        let was_inside = !fence.is_empty();
        if is_fence && (!was_inside || bare.starts_with(fence)) {
            fence = if was_inside { "" } else { &bare[..3] };
        }
        (!is_fence && !was_inside).then_some((at + 1, line))
    })
}

/// The lines outside of fenced blocks, without what is between backticks.
pub fn prose(text: &str) -> Vec<(usize, String)> {
    let plain = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    outside(text).map(|(at, line)| (at, plain(line))).collect()
}

/// The anchors of a page's headings, as forges and the book make them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let titles = outside(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim().to_lowercase())
    });
    titles.map(|title| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_of_code_are_found() {
        let text = "a [b](c.md) ![d](e.svg#f)\n`[no](way)` [x](y)\n```sh\n[no](way)\n```\n";
        let expected = [(1, "c.md".to_owned()), (1, "e.svg#f".to_owned()), (2, "y".to_owned())];
        assert_eq!(links(text), expected);
    }

    #[test]
    fn every_rule_can_fail() {
        let wrong = |page: &str, text: &str| check(&crate::root(), page, text).unwrap().len();
        assert_eq!(wrong("README.md", "[a](docs/threats.md) [b](https://example.org/x)"), 0);
        assert_eq!(wrong("README.md", "[a](docs/threats.md#not-protected)"), 0);
        assert_eq!(wrong("docs/peers.md", "[a](threats.md#not-protected)"), 0);
        assert_eq!(wrong("docs/peers.md", "# One `two`, three\n\n[a](#no-such)"), 1);
        assert_eq!(wrong("README.md", "[a](docs/thread.md)"), 1);
        assert_eq!(wrong("README.md", "[a](docs/threats.md#protected)"), 1);
        assert_eq!(wrong("docs/peers.md", "[a](docs/threats.md)"), 1);
        assert_eq!(wrong("docs/peers.md", "[a](../README.md)"), 1);
    }

    #[test]
    fn anchors_are_those_of_forges() {
        let made: Vec<String> =
            anchors("# What is proved, and what is not\n```sh\n# no\n```\n## veracity.claim/2\n").collect();
        assert_eq!(made, ["what-is-proved-and-what-is-not", "veracityclaim2"]);
    }

    #[test]
    fn a_page_that_is_not_listed_once_is_named() {
        let pages = [
            "docs/a.md".to_owned(),
            "docs/b.md".to_owned(),
            "docs/SUMMARY.md".to_owned(),
            "README.md".to_owned(),
        ];
        assert!(unlisted(&pages, "- [A](a.md)\n- [B](b.md)\n").is_empty());
        assert_eq!(unlisted(&pages, "- [A](a.md)\n").len(), 1);
        assert_eq!(unlisted(&pages, "- [A](a.md)\n- [A](a.md)\n- [B](b.md)\n").len(), 1);
    }
}
