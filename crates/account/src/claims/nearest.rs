//! The word that was probably meant.

/// The nearest of some words, if it is near: a third of its letters, at least one, may be wrong, missing, too many or swapped.
/// Capitals and hyphens are no mistakes.
pub fn nearest<'a>(word: &str, all: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A longer word is no slip of the finger, and would take long.
    let typed = plain(word).filter(|typed| typed.len() <= 60)?;
    let near = all.into_iter().filter_map(|one| {
        let letters = plain(one)?;
        let slips = slips(&typed, &letters);
        (slips <= (letters.len() / 3).max(1) && slips < letters.len()).then_some((slips, one))
    });
    near.min_by_key(|(slips, _)| *slips).map(|(_, one)| one)
}

fn plain(word: &str) -> Option<Vec<char>> {
    let letters = word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c });
    Some(letters.collect::<Vec<_>>()).filter(|letters| !letters.is_empty())
}

/// The least number of letters changed, left out, put in or swapped with their neighbour (optimal string alignment).
fn slips(one: &[char], other: &[char]) -> usize {
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By enumeration: all ways to change, drop, insert or swap, breadth first.
    #[test]
    fn one_slip_is_one_slip_of_any_kind() {
        let word: Vec<char> = "scale".chars().collect();
        let mut slipped = Vec::new();
        for at in 0..word.len() {
            let mut without = word.clone();
            without.remove(at);
            slipped.push(without);
            let mut with = word.clone();
            with.insert(at, 'x');
            slipped.push(with);
            let mut changed = word.clone();
            changed[at] = 'x';
            slipped.push(changed);
            if at > 0 {
                let mut swapped = word.clone();
                swapped.swap(at, at - 1);
                slipped.push(swapped);
            }
        }
        for one in slipped {
            assert_eq!(slips(&one, &word), 1, "{one:?}");
        }
        assert_eq!((slips(&word, &word), slips(&[], &word), slips(&word, &[])), (0, 5, 5));
    }

    #[test]
    fn what_is_near_is_meant_and_what_is_far_is_not() {
        let words = ["noise_multiplier", "scale", "sensitivity", "relu"];
        for (typed, meant) in [
            ("noise-multiplier", Some("noise_multiplier")),
            ("scales", Some("scale")),
            ("sensitivty", Some("sensitivity")),
            ("Relu", Some("relu")),
            ("banana", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, words), meant, "{typed}");
        }
        assert_eq!(nearest(&"scale".repeat(1000), words), None);
    }
}
