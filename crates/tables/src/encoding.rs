//! Encodings of text. A file in another encoding than UTF-8 becomes UTF-8 on its way to the reader, byte by byte.
//!
//! The encoding is declared and never guessed from rows. In a single-byte encoding each byte is a character, so that no cell is damaged and none
//! decides what becomes of another.

use std::{
    borrow::Cow,
    io::{Read, Result},
};
use veracity_core::{Refusal, printable};

/// How the bytes of a text file stand for characters.
///
/// # Examples
///
/// ```
/// use veracity_tables::Encoding;
///
/// let encoding = Encoding::named("windows-1252")?;
/// assert_eq!(encoding.decode(b"Gr\xf6\xdfe in \x80").as_deref(), Some("Größe in €"));
/// // The same bytes are no UTF-8.
/// assert_eq!(Encoding::Utf8.decode(b"Gr\xf6\xdfe in \x80"), None);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8. A cell that is not UTF-8 is missing.
    #[default]
    Utf8,
    /// Windows-1252, which older programs of Windows write in Western Europe and America.
    Windows1252,
    /// ISO 8859-1: each byte is the character of its number.
    Latin1,
}

/// The characters of Windows-1252 from 0x80 to 0x9f, as the WHATWG Encoding Standard lists them. Five bytes have no character of their own
/// and stay control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Encoding {
    /// All of them.
    pub const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Windows1252, Encoding::Latin1];

    /// Its name in flags and catalogs.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Windows1252 => "windows-1252",
            Encoding::Latin1 => "latin-1",
        }
    }

    /// The encoding of a name.
    ///
    /// # Errors
    /// Refuses the name of another encoding.
    pub fn named(name: &str) -> std::result::Result<Encoding, Refusal> {
        let found = Encoding::ALL.into_iter().find(|one| one.name() == name.to_ascii_lowercase());
        found.ok_or_else(|| {
            let expected = "utf-8, windows-1252 or latin-1; save a file of another encoding as UTF-8";
            Refusal::out_of_range("encoding", printable(name, 40), expected)
        })
    }

    /// The text of some bytes; nothing where they are none in this encoding.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Encoding::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            _ => Some(bytes.iter().map(|byte| self.character(*byte)).collect()),
        }
    }

    /// The character of a byte in a single-byte encoding.
    fn character(self, byte: u8) -> char {
        match (self, byte) {
            (Encoding::Windows1252, 0x80..=0x9f) => WINDOWS_1252[usize::from(byte - 0x80)],
            _ => char::from(byte),
        }
    }

    /// The bytes of a stream in UTF-8. UTF-8 passes as it is.
    pub(crate) fn decoded(self, stream: Box<dyn Read>) -> Box<dyn Read> {
        match self {
            Encoding::Utf8 => stream,
            _ => Box::new(Decoded {
                inner: stream,
                encoding: self,
                buffer: vec![0; 1 << 15],
                ready: Vec::new(),
                at: 0,
            }),
        }
    }
}

/// A stream in a single-byte encoding, read as UTF-8.
struct Decoded {
    inner: Box<dyn Read>,
    encoding: Encoding,
    buffer: Vec<u8>,
    /// What was decoded, and how much of it was handed out.
    ready: Vec<u8>,
    at: usize,
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.at == self.ready.len() {
            let count = self.inner.read(&mut self.buffer)?;
            self.ready.clear();
            self.at = 0;
            for byte in &self.buffer[..count] {
                match byte {
                    0..0x80 => self.ready.push(*byte),
                    _ => {
                        let character = self.encoding.character(*byte);
                        self.ready.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
            }
        }
        let count = buffer.len().min(self.ready.len() - self.at);
        buffer[..count].copy_from_slice(&self.ready[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// `python3 -c "print(bytes(b for b in range(256) if b not in (0x81,0x8d,0x8f,0x90,0x9d)).decode('cp1252')[128:])"`
    const PYTHON: &str = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ\u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ";

    #[test]
    fn bytes_are_the_characters_that_python_reads() {
        let defined: Vec<u8> =
            (0x80..=0xffu8).filter(|byte| ![0x81, 0x8d, 0x8f, 0x90, 0x9d].contains(byte)).collect();
        assert_eq!(Encoding::Windows1252.decode(&defined).unwrap(), PYTHON);
        let all: Vec<u8> = (0..=0xff).collect();
        let latin: String = (0..=0xffu8).map(char::from).collect();
        assert_eq!(Encoding::Latin1.decode(&all).unwrap(), latin);
        // Each byte has a character of its own, so that two IDs that differ stay two.
        let distinct: std::collections::HashSet<char> =
            Encoding::Windows1252.decode(&all).unwrap().chars().collect();
        assert_eq!(distinct.len(), 256);
    }

    #[test]
    fn a_stream_is_decoded_as_a_whole_text_is_whatever_the_pieces() {
        let text: Vec<u8> = (0..100_000u32).map(|at| (at * 7 + at / 256) as u8).collect();
        for encoding in [Encoding::Windows1252, Encoding::Latin1] {
            let whole = encoding.decode(&text).unwrap().into_owned().into_bytes();
            for piece in [1, 2, 3, 4096, 1 << 20] {
                let mut stream = encoding.decoded(Box::new(std::io::Cursor::new(text.clone())));
                let (mut found, mut buffer) = (Vec::<u8>::new(), vec![0; piece]);
                loop {
                    match stream.read(&mut buffer).unwrap() {
                        0 => break,
                        count => found.extend(&buffer[..count]),
                    }
                }
                assert!(found == whole, "{} in pieces of {piece}", encoding.name());
            }
        }
    }

    #[test]
    fn names_are_those_that_are_documented() {
        for one in Encoding::ALL {
            assert_eq!(Encoding::named(one.name()), Ok(one));
        }
        assert_eq!(Encoding::named("UTF-8"), Ok(Encoding::Utf8));
        let refusal = Encoding::named("koi8-r\n").unwrap_err().to_string();
        assert!(
            refusal.contains("encoding is koi8-r")
                && refusal.contains("windows-1252")
                && !refusal.contains('\n')
        );
    }
}
