//! Patterns of `LIKE`, for the embedded engine: `%` is any string and `_` any character.

use veracity_core::Refusal;

/// The most `%` of a pattern, and its longest text in bytes: an engine tries places for each `%`.
const MOST_ANY: usize = 4;
const LONGEST: usize = 1000;

/// A pattern that all engines read alike.
pub(crate) fn checked(pattern: &str) -> Result<(), Refusal> {
    if pattern.contains('\\') {
        return Err(Refusal::invalid(
            "the pattern after LIKE has a backslash, which engines read differently; compare with = or IN",
        ));
    }
    if pattern.len() > LONGEST || pattern.matches('%').count() > MOST_ANY {
        return Err(Refusal::invalid(
            "the pattern after LIKE is too long, expected at most 1000 bytes and 4 of %; combine shorter ones with AND",
        ));
    }
    Ok(())
}

/// Whether a text fits a pattern.
pub(crate) fn fits(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Behind the last %, and where in the text it was tried.
    let mut last = None;
    while at < text.len() {
        match pattern.get(of) {
            Some('%') => {
                of += 1;
                last = Some((of, at));
            }
            Some(one) if *one == '_' || *one == text[at] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((behind, tried)) = last else { return false };
                last = Some((behind, tried + 1));
                (of, at) = (behind, tried + 1);
            }
        }
    }
    pattern[of..].iter().all(|one| *one == '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: % takes none or one more, by recursion.
    fn slowly(text: &[char], pattern: &[char]) -> bool {
        match (pattern.first(), text.first()) {
            (None, first) => first.is_none(),
            (Some('%'), None) => slowly(text, &pattern[1..]),
            (Some('%'), Some(_)) => slowly(text, &pattern[1..]) || slowly(&text[1..], pattern),
            (Some(_), None) => false,
            (Some(one), Some(first)) => (*one == '_' || one == first) && slowly(&text[1..], &pattern[1..]),
        }
    }

    /// All texts up to five of two letters, and all patterns up to five signs.
    #[test]
    fn patterns_are_as_they_are_defined() {
        let all = |letters: &[char]| {
            let mut words = vec![Vec::new()];
            let mut last: Vec<Vec<char>> = vec![Vec::new()];
            for _ in 0..5 {
                last = last
                    .iter()
                    .flat_map(|word| {
                        letters.iter().map(|c| word.iter().copied().chain([*c]).collect::<Vec<char>>())
                    })
                    .collect();
                words.extend(last.iter().cloned());
            }
            words
        };
        let (texts, patterns) = (all(&['a', 'é']), all(&['a', 'é', '%', '_']));
        for pattern in &patterns {
            for text in &texts {
                let (text_of, of) = (text.iter().collect::<String>(), pattern.iter().collect::<String>());
                assert_eq!(fits(&text_of, &of), slowly(text, pattern), "{text_of} {of}");
            }
        }
    }

    #[test]
    fn patterns_that_engines_read_differently_are_refused() {
        for bad in ["a\\%", "%a%b%c%d%", &"a".repeat(2000)] {
            assert!(checked(bad).is_err(), "{bad}");
        }
        assert!(checked("%a%b%").is_ok());
    }
}
