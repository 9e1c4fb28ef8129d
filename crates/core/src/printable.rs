//! Text that somebody else wrote, made safe to print in one line of a message or a report.

/// At most `most` characters of a text, in one line: line ends and tabs become spaces, and other control characters, invisible
/// characters and those that change the direction of writing are left out.
///
/// # Examples
///
/// ```
/// use veracity_core::printable;
///
/// assert_eq!(printable("first\nsecond\u{1b}[31m\u{202e}", 80), "first second[31m");
/// assert_eq!(printable("a long name", 6), "a long");
/// ```
pub fn printable(text: &str, most: usize) -> String {
    let shown = text.chars().filter_map(|letter| match letter {
        '\n' | '\r' | '\t' => Some(' '),
        hidden if hidden.is_control() || is_invisible(hidden) => None,
        letter => Some(letter),
    });
    shown.take(most).collect()
}

/// Whether a character has no width, or changes the direction of what follows.
pub fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}
