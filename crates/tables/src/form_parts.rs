//! The parts of a form that were given: by flags, by a catalog or by keywords. The parts that were not given stay as they are.

use crate::{Encoding, Form, Notation};
use veracity_core::{Refusal, printable};

/// How a file of text is written, as far as that was given.
///
/// # Examples
///
/// ```
/// use veracity_tables::{Form, FormParts};
///
/// let german = FormParts::read(Some(";"), Some(","), None, Some("windows-1252"))?.over(Form::default())?;
/// assert_eq!(german.notation.number("12,5"), Some(12.5));
/// // A flag takes the place of one part, and the others stay.
/// let grouped = FormParts::read(None, None, Some("."), None)?.over(german)?;
/// assert_eq!((grouped.delimiter, grouped.notation.number("1.234,5")), (Some(b';'), Some(1234.5)));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FormParts {
    /// The byte between cells.
    pub delimiter: Option<u8>,
    /// The character before the fraction.
    pub decimal: Option<char>,
    /// The character between thousands.
    pub thousands: Option<char>,
    /// The encoding.
    pub encoding: Option<Encoding>,
}

impl FormParts {
    /// Reads the parts as people write them. A delimiter is one character or `tab`.
    ///
    /// # Errors
    /// Refuses a delimiter, a decimal or a thousands separator that is not one character, and an unknown encoding.
    pub fn read(
        delimiter: Option<&str>,
        decimal: Option<&str>,
        thousands: Option<&str>,
        encoding: Option<&str>,
    ) -> Result<FormParts, Refusal> {
        Ok(FormParts {
            delimiter: delimiter.map(delimiter_of).transpose()?,
            decimal: decimal.map(|text| character("decimal", text)).transpose()?,
            thousands: thousands.map(|text| character("thousands", text)).transpose()?,
            encoding: encoding.map(Encoding::named).transpose()?,
        })
    }

    /// The form with these parts in place of its own.
    ///
    /// # Errors
    /// Refuses signs of numbers that cannot be distinguished.
    pub fn over(self, form: Form) -> Result<Form, Refusal> {
        let decimal = self.decimal.unwrap_or(form.notation.decimal());
        let thousands = self.thousands.or(form.notation.thousands());
        Ok(Form {
            delimiter: self.delimiter.or(form.delimiter),
            header: form.header,
            notation: Notation::new(decimal, thousands)?,
            encoding: self.encoding.unwrap_or(form.encoding),
        })
    }

    /// Whether no part was given.
    pub fn is_empty(self) -> bool {
        self == FormParts::default()
    }
}

fn character(name: &'static str, text: &str) -> Result<char, Refusal> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Refusal::out_of_range(name, printable(text, 40), "one character")),
    }
}

fn delimiter_of(text: &str) -> Result<u8, Refusal> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ if text == "\\t" || text == "tab" => Ok(b'\t'),
        _ => Err(Refusal::out_of_range("delimiter", printable(text, 40), "one character, or tab")),
    }
}
