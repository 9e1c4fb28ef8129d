//! A query as a row of tokens: words, quoted names, numbers, texts and signs. Comments and anything odd are refused.

use std::ops::Range;
use veracity_core::Refusal;
use veracity_core::printable;

/// The longest query, in bytes.
const LONGEST: usize = 64 << 10;
/// The most tokens of a query.
const MOST: usize = 10_000;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A word: a keyword, or a name whose case does not matter.
    Word(String),
    /// A name in double quotes, as it is.
    Name(String),
    /// A number, as it is written.
    Number(f64),
    /// A text in single quotes.
    Text(String),
    /// One of `, . ( ) + - * / = <> < <= > >=`.
    Sign(&'static str),
}

impl Token {
    /// How a refusal shows it: a query is public, but a long text is not repeated.
    pub(crate) fn shown(&self) -> String {
        let text = match self {
            Token::Word(word) => word.clone(),
            Token::Name(name) => format!("\"{name}\""),
            Token::Number(number) => number.to_string(),
            Token::Text(text) => format!("'{text}'"),
            Token::Sign(sign) => (*sign).to_owned(),
        };
        printable(&text, 40)
    }
}

const SIGNS: [&str; 16] =
    ["<>", "!=", "<=", ">=", ",", ".", "(", ")", "+", "-", "*", "/", "=", "<", ">", "%"];

/// The tokens of a query, each with where it begins and ends.
pub(crate) fn tokens(query: &str) -> Result<Vec<(Token, Range<usize>)>, Refusal> {
    if query.len() > LONGEST {
        return Err(Refusal::invalid(format!("query has {} bytes, expected at most {LONGEST}", query.len())));
    }
    let mut tokens = Vec::new();
    let mut rest = query.trim_end().trim_end_matches(';').trim_start();
    while let Some(first) = rest.chars().next() {
        if tokens.len() == MOST {
            return Err(Refusal::invalid(format!(
                "query has more than {MOST} words and signs; write a shorter one"
            )));
        }
        let (token, after) = match first {
            '\'' => quoted(rest, '\'').map(|(text, after)| (Token::Text(text), after))?,
            '"' => quoted(rest, '"').map(|(name, after)| (Token::Name(name), after))?,
            '0'..='9' => number(rest)?,
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => number(rest)?,
            first if first.is_alphabetic() || first == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), &rest[end..])
            }
            _ => sign(rest)?,
        };
        let start = rest.as_ptr() as usize - query.as_ptr() as usize;
        tokens.push((token, start..start + rest.len() - after.len()));
        rest = after.trim_start();
    }
    Ok(tokens)
}

/// A quoted text; its quote is written twice inside.
fn quoted(rest: &str, quote: char) -> Result<(String, &str), Refusal> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => match chars.peek() {
                Some((_, next)) if *next == quote => {
                    chars.next();
                    text.push(quote);
                }
                _ => return Ok((text, &rest[at + 1..])),
            },
            '\0' => return Err(Refusal::invalid("query has a zero byte in quotes; remove it")),
            c => text.push(c),
        }
    }
    Err(Refusal::invalid(format!("query has a {quote} that is not closed")))
}

fn number(rest: &str) -> Result<(Token, &str), Refusal> {
    let mut end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let digits = &rest[end + 1 + sign..];
        let more = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if more > 0 {
            end += 1 + sign + more;
        }
    }
    let after = &rest[end..];
    let value: f64 = match rest[..end].parse() {
        Ok(value) if !after.starts_with(|c: char| c.is_alphanumeric() || c == '_') => value,
        _ => {
            return Err(Refusal::invalid("query has an invalid number, expected one such as 40 or 1.5e3"));
        }
    };
    if !value.is_finite() {
        return Err(Refusal::invalid("query has a number that is too large; use a smaller one"));
    }
    Ok((Token::Number(value), after))
}

fn sign(rest: &str) -> Result<(Token, &str), Refusal> {
    for comment in ["--", "/*", "#"] {
        if rest.starts_with(comment) {
            return Err(Refusal::invalid(format!("query has a comment ({comment}); remove it")));
        }
    }
    let found = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    let Some(found) = found else {
        let odd: String = rest.chars().take(1).filter(|c| !c.is_control()).collect();
        return Err(Refusal::invalid(format!(
            "query has the character {odd:?}, expected one of , . ( ) + - * = <> < <= > >="
        )));
    };
    Ok((Token::Sign(if *found == "!=" { "<>" } else { found }), &rest[found.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_what_is_written() {
        let found = tokens("SELECT \"a \"\"b\", 'it''s', 1.5e3, .5 FROM t WHERE x<>-2 ;").unwrap();
        let shown: Vec<String> = found.iter().map(|(token, _)| token.shown()).collect();
        assert_eq!(
            shown,
            [
                "SELECT", "\"a \"b\"", ",", "'it's'", ",", "1500", ",", "0.5", "FROM", "t", "WHERE", "x",
                "<>", "-", "2"
            ]
        );
    }

    #[test]
    fn odd_queries_are_refused_in_one_line() {
        let long = "a ".repeat(40_000);
        let many = "a ".repeat(11_000);
        for bad in [
            "a -- b", "a /* b */", "'open", "\"open", "1abc", "a ? b", "a @ b", "1e999", "a; b", "\u{0}",
            &long, &many,
        ] {
            let refusal = tokens(bad).unwrap_err().to_string();
            assert!(!refusal.contains(char::is_control) && refusal.len() < 200, "{refusal}");
        }
    }
}
