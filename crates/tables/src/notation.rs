//! Numbers as people write them: what stands before the fraction, and what between the thousands.

use std::fmt;
use veracity_core::Refusal;

/// How numbers are written in text.
///
/// # Examples
///
/// ```
/// use veracity_tables::Notation;
///
/// let german = Notation::new(',', Some('.'))?;
/// assert_eq!(german.number("-1.234.567,5"), Some(-1_234_567.5));
/// // A group of two digits is a slip, not a number.
/// assert_eq!(german.number("1.23,5"), None);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notation {
    decimal: char,
    thousands: Option<char>,
}

impl Default for Notation {
    /// A decimal point, and nothing between the thousands.
    fn default() -> Notation {
        Notation { decimal: '.', thousands: None }
    }
}

impl Notation {
    /// Checks that both are signs of their own: no digit, letter, sign of a number or quote, and not the same.
    ///
    /// # Errors
    /// Refuses other signs, and the same sign twice.
    pub fn new(decimal: char, thousands: Option<char>) -> Result<Notation, Refusal> {
        let is_sign = |c: char| !c.is_alphanumeric() && !c.is_control() && !"+-\"".contains(c);
        let expected = "one character other than a digit, letter, quote, + or -";
        // What is typed may be a control character.
        let shown = |c: char| c.escape_default();
        if !is_sign(decimal) || decimal == ' ' {
            return Err(Refusal::out_of_range("decimal", shown(decimal), expected));
        }
        match thousands {
            Some(thousands) if !is_sign(thousands) => {
                Err(Refusal::out_of_range("thousands", shown(thousands), expected))
            }
            Some(thousands) if thousands == decimal => Err(Refusal::out_of_range(
                "thousands",
                format!("{thousands}, the same as decimal"),
                "two different characters",
            )),
            _ => Ok(Notation { decimal, thousands }),
        }
    }

    /// What stands before the fraction.
    pub fn decimal(self) -> char {
        self.decimal
    }

    /// What stands between thousands, if anything does.
    pub fn thousands(self) -> Option<char> {
        self.thousands
    }

    /// A number, or nothing. Groups between separators have three digits; without separators, any number of them.
    pub fn number(self, text: &str) -> Option<f64> {
        // The words for infinity and for what is not a number have no separators.
        if self == Notation::default() || text.trim_start_matches(['+', '-']).starts_with(char::is_alphabetic)
        {
            return text.parse().ok();
        }
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let (sign, rest) = match text.strip_prefix(['+', '-']) {
            Some(rest) => (&text[..1], rest),
            None => ("", text),
        };
        let (mantissa, exponent) = rest.split_at(rest.find(['e', 'E']).unwrap_or(rest.len()));
        let (whole, fraction) = mantissa.split_once(self.decimal).unwrap_or((mantissa, ""));
        let mut groups = whole.split(|c| Some(c) == self.thousands);
        let first = groups.next()?;
        let mut plain = format!("{sign}{first}");
        for (at, group) in groups.enumerate() {
            if group.len() != 3 || !digits(group) || at == 0 && !(1..=3).contains(&first.len()) {
                return None;
            }
            plain += group;
        }
        if !digits(first) || !digits(fraction) {
            return None;
        }
        format!("{plain}.{fraction}{exponent}").parse().ok()
    }
}

/// An example of it.
impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousands = self.thousands.map_or(String::new(), String::from);
        write!(f, "1{thousands}234{}5", self.decimal)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_declared_and_not_otherwise() {
        let plain = Notation::default();
        let german = Notation::new(',', Some('.')).unwrap();
        let swiss = Notation::new('.', Some('\'')).unwrap();
        let french = Notation::new(',', Some(' ')).unwrap();
        let comma = Notation::new(',', None).unwrap();
        assert_eq!([plain, german, comma].map(|one| one.to_string()), ["1234.5", "1.234,5", "1234,5"]);
        for (notation, text, number) in [
            (plain, "1,234", None),
            (plain, "1234.5", Some(1234.5)),
            (plain, "-1e3", Some(-1e3)),
            (german, "1.234,5", Some(1234.5)),
            (german, "-1.234.567", Some(-1_234_567.0)),
            (german, "1234,5", Some(1234.5)),
            (german, "1234567", Some(1_234_567.0)),
            (german, ",5", Some(0.5)),
            (german, "1,5e3", Some(1500.0)),
            (german, "inf", Some(f64::INFINITY)),
            // A decimal point where thousands are declared is no number rather than a thousandfold one.
            (german, "1.5", None),
            (german, "1234.567", None),
            (german, "1.23.456", None),
            (german, ".234", None),
            (german, "1.234.", None),
            (german, "1,234.567", None),
            (german, "1,2,3", None),
            (german, "", None),
            (german, ",", None),
            (german, "-", None),
            (german, "+-1", None),
            (german, "1e", None),
            (swiss, "1'234.5", Some(1234.5)),
            (swiss, "1,234", None),
            (french, "1 234,5", Some(1234.5)),
            (comma, "1,5", Some(1.5)),
            (comma, "1.5", None),
        ] {
            assert_eq!(notation.number(text), number, "{text} as {notation}");
        }
        for (decimal, thousands) in
            [('.', Some('.')), ('1', None), ('"', None), ('.', Some('e')), ('-', None)]
        {
            assert!(Notation::new(decimal, thousands).is_err());
        }
    }
}
