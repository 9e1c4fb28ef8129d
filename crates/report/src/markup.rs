//! Text that is safe inside of SVG and HTML, in elements as in quoted attributes.

/// Characters that mean something to a markup reader, those it forbids, and those that turn the reading direction: a name
/// in the data may hold any of them.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => safe.push(' '),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escape("<b a=\"1\" c='2'>&\u{0}"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp; ");
        assert_eq!(escape("safe\u{202e}gnp.exe\nδ"), "safe gnp.exe δ");
    }
}
