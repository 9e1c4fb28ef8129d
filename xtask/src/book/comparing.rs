//! Compares the output on a page with the output of a run.
//!
//! Lines must be equal. A line `…` stands for any lines, a `…` at the end of a line for its rest. Where numbers vary, a number
//! equals any other and so do the spaces that pad it.

/// The first line that differs, as the page has it and as it was found; `None` is the end of the output.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which of the expected lines, from 0.
    pub at: usize,
    pub expected: Option<String>,
    pub found: Option<String>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [expected, found] =
            [&self.expected, &self.found].map(|line| line.as_deref().unwrap_or("(the end)"));
        write!(f, "expected: {expected}\n  found:    {found}")
    }
}

/// The first difference between the page and the output, if there is one.
pub fn difference(expected: &[String], found: &[String], numbers_vary: bool) -> Option<Difference> {
    // Which numbers of found lines may have been read when the expected lines so far are.
    let mut read = vec![0_usize];
    for (at, line) in expected.iter().enumerate() {
        let nearest = read[0];
        read = if line.trim() == "…" {
            (nearest..=found.len()).collect()
        } else {
            let fits = |n: &usize| found.get(*n).is_some_and(|found| equal(line, found, numbers_vary));
            read.into_iter().filter(fits).map(|n| n + 1).collect()
        };
        if read.is_empty() {
            return Some(Difference { at, expected: Some(line.clone()), found: found.get(nearest).cloned() });
        }
    }
    let farthest = read[read.len() - 1];
    let left = found.get(farthest)?;
    Some(Difference { at: expected.len(), expected: None, found: Some(left.clone()) })
}

fn equal(expected: &str, found: &str, numbers_vary: bool) -> bool {
    let plain = |line: &str| if numbers_vary { without_numbers(line) } else { line.trim_end().to_owned() };
    match expected.trim_end().strip_suffix('…') {
        Some(start) if numbers_vary => plain(found).starts_with(plain(start).trim_end()),
        Some(start) => found.starts_with(start),
        None => plain(expected) == plain(found),
    }
}

/// A line with every number as 0 and every run of spaces as one.
///
/// A number is digits with points between them and an exponent, and the minus before it, unless that joins words.
fn without_numbers(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    let mut plain = String::new();
    let mut rest = &line[..];
    while let Some(at) = rest.find(is_digit) {
        let before = &rest[..at];
        let joins = |left: &&str| {
            left.chars().next_back().or(plain.chars().next_back()).is_some_and(char::is_alphanumeric)
        };
        let unsigned = before.strip_suffix(['-', '−']).filter(|left| !joins(left));
        plain += unsigned.unwrap_or(before);
        plain.push('0');
        rest = past_number(&rest[at..]);
    }
    plain + rest
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

/// A text that begins with a number, without it.
fn past_number(text: &str) -> &str {
    let mut rest = text.trim_start_matches(is_digit);
    while let Some(digits) = rest.strip_prefix('.').filter(|digits| digits.starts_with(is_digit)) {
        rest = digits.trim_start_matches(is_digit);
    }
    let exponent = rest.strip_prefix('e').map(|digits| digits.strip_prefix(['-', '+']).unwrap_or(digits));
    let digits = exponent.filter(|digits| digits.starts_with(is_digit));
    digits.map_or(rest, |digits| digits.trim_start_matches(is_digit))
}

/// The lines that replace those on the page: the output, with a `…` where the page has one for many lines.
pub fn blessed(expected: &[String], found: &[String]) -> Vec<String> {
    let gaps: Vec<usize> = (0..expected.len()).filter(|at| expected[*at].trim() == "…").collect();
    let [gap] = gaps[..] else { return found.to_vec() };
    let behind = expected.len() - gap - 1;
    if gap + behind >= found.len() {
        return found.to_vec();
    }
    let mut lines = found[..gap].to_vec();
    lines.push("…".to_owned());
    lines.extend_from_slice(&found[found.len() - behind..]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    fn differs(expected: &str, found: &str, numbers_vary: bool) -> Option<(usize, Option<String>)> {
        difference(&lines(expected), &lines(found), numbers_vary).map(|found| (found.at, found.found))
    }

    #[test]
    fn equal_output_is_equal_and_any_other_is_not() {
        assert_eq!(differs("a\nb", "a\nb", false), None);
        assert_eq!(differs("", "", false), None);
        assert_eq!(differs("a\nb", "a\nc", false), Some((1, Some("c".to_owned()))));
        assert_eq!(differs("a\nb", "a", false), Some((1, None)));
        assert_eq!(differs("a", "a\nb", false), Some((1, Some("b".to_owned()))));
        assert_eq!(differs("", "a", false), Some((0, Some("a".to_owned()))));
        assert_eq!(
            differs("epsilon ≤ 1.2", "epsilon ≤ 1.3", false),
            Some((0, Some("epsilon ≤ 1.3".to_owned())))
        );
        assert!(differs("a  b", "a b", false).is_some());
    }

    #[test]
    fn dots_stand_for_lines_or_for_the_rest_of_one() {
        assert_eq!(differs("a\n…", "a", false), None);
        assert_eq!(differs("a\n…", "a\nb\nc", false), None);
        assert_eq!(differs("…\nc", "a\nb\nc", false), None);
        assert_eq!(differs("a\n…\nc\n…\nc", "a\nc\nb\nc", false), None);
        assert_eq!(differs("a…", "abc", false), None);
        assert!(differs("…\nd", "a\nb\nc", false).is_some());
        assert!(differs("…\nb", "a\nb\nc", false).is_some());
        assert!(differs("a\n…\nc\n…\nc", "a\nc\nb", false).is_some());
        assert!(differs("ab…", "a", false).is_some());
    }

    #[test]
    fn where_numbers_vary_words_do_not() {
        assert_eq!(differs("mean: 43.33 ± 0.21", "mean: 4 ± 1e-7", true), None);
        assert_eq!(differs("none  0.05    ± 1", "none  -0.005  ± 1", true), None);
        assert_eq!(differs("ms     x\n682.8  y", "ms    x\n12.8  y", true), None);
        assert_eq!(differs("in 1.96 s …", "in 21 s   (chance)", true), None);
        assert!(differs("mean: 43", "sum: 43", true).is_some());
        assert!(differs("≤ 43", "≥ 43", true).is_some());
        assert!(differs("≤ 43", "≤ inf", true).is_some());
        assert!(differs("≤ 43", "≤ ", true).is_some());
        assert!(differs("claim-1.json", "claim1.json", true).is_some());
        assert!(differs("REFUTED 1 …", "NOT REFUTED 1", true).is_some());
        assert!(differs("4 5", "4", true).is_some());
        assert_eq!(differs("1-2 x−3 v1.2.3e-4 5e", "7-7 x−7 v7 7e", true), None);
        assert!(differs("1-2", "1 2", true).is_some());
        assert!(differs("x - 2", "x 2", true).is_some());
    }

    #[test]
    fn what_is_blessed_is_then_equal() {
        let found = lines("a\nb\nc\nd");
        for page in ["", "x", "x\n…", "…", "x\n…\ny", "…\nx\n…", "1\n2\n3\n…\n4\n5"] {
            let new = blessed(&lines(page), &found);
            assert_eq!(difference(&new, &found, false), None, "{page}: {new:?}");
        }
        assert_eq!(blessed(&lines("x\n…\ny"), &found), ["a", "…", "d"]);
    }
}
