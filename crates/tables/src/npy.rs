//! NPY files: a magic number, a header that is a Python dictionary, and numbers.
//!
//! The header is parsed by hand and strictly: three keys, each once, nothing else. Versions 1 to 3 differ in the length of the
//! header only.

use crate::{
    Array, Limits, Numbers, Source,
    array::row_major,
    format::Format,
    source::{Opened, end, exactly, refuse},
};
use std::io::Read;
use veracity_core::Error;

/// The longest header that is read; numpy's own have about a hundred bytes.
const LONGEST_HEADER: usize = 1 << 16;
/// The most sides of an array; numpy's own limit.
const MOST_SIDES: usize = 64;

/// Reads an NPY file, plain or compressed.
///
/// # Examples
///
/// ```
/// use veracity_tables::{Limits, Numbers, Source, read_npy};
///
/// let header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
/// let mut file = b"\x93NUMPY\x01\x00".to_vec();
/// file.extend((header.len() as u16).to_le_bytes());
/// file.extend(header);
/// file.extend([1.5f64, -2.0].iter().flat_map(|x| x.to_le_bytes()));
/// let array = read_npy(&Source::in_memory("x.npy", file.clone()), &Limits::default())?;
/// assert_eq!(array.numbers(), &Numbers::F64(vec![1.5, -2.0]));
///
/// // A file that was truncated is refused.
/// file.pop();
/// assert!(read_npy(&Source::in_memory("x.npy", file), &Limits::default()).is_err());
/// # Ok::<(), veracity_core::Error>(())
/// ```
///
/// # Errors
/// Refuses a file that is not NPY, is damaged, or exceeds the limits.
pub fn read_npy(source: &Source, limits: &Limits) -> Result<Array, Error> {
    read(source.open(limits)?.expect(Format::Npy)?, limits)
}

pub(crate) fn read(mut opened: Opened, limits: &Limits) -> Result<Array, Error> {
    parse(&mut *opened.stream, &opened.name, limits)
}

/// Reads an NPY file from a stream that ends with it.
pub(crate) fn parse(source: &mut dyn Read, file: &str, limits: &Limits) -> Result<Array, Error> {
    let start = exactly(source, 8, file)?;
    let Some([major, _]) = start.strip_prefix(b"\x93NUMPY") else {
        return Err(refuse(file, "an NPY file, but it does not start like one"));
    };
    let length = match major {
        1 => exactly(source, 2, file)?.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
        2 | 3 => exactly(source, 4, file)?.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
        _ => return Err(refuse(file, "an NPY file of version 1, 2 or 3")),
    };
    if length > LONGEST_HEADER {
        return Err(refuse(file, "an NPY header of at most 64 KiB"));
    }
    let text = exactly(source, length as u64, file)?;
    let header = Header::parse(&text).ok_or_else(|| {
        refuse(
            file,
            "an NPY header with descr, fortran_order and shape, but it is damaged or has other fields",
        )
    })?;
    let count = header.shape.iter().try_fold(1usize, |count, side| count.checked_mul(*side));
    let fits =
        |count: &usize| *count <= limits.values && (*count as u64) <= limits.bytes / header.kind.size();
    let Some(count) = count.filter(fits) else {
        return Err(refuse(file, format!("at most {} numbers and {} bytes", limits.values, limits.bytes)));
    };
    let bytes = exactly(source, count as u64 * header.kind.size(), file)?;
    end(source, file)?;
    Ok(header.array(bytes))
}

/// The kinds of numbers that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    U8,
    I32,
    I64,
    F32,
    F64,
}

impl Kind {
    /// Little endian; single bytes have no order. Truth values are bytes.
    fn of(descr: &[u8]) -> Option<Kind> {
        match descr {
            b"|u1" | b"<u1" | b"u1" | b"|b1" => Some(Kind::U8),
            b"<i4" => Some(Kind::I32),
            b"<i8" => Some(Kind::I64),
            b"<f4" => Some(Kind::F32),
            b"<f8" => Some(Kind::F64),
            _ => None,
        }
    }

    fn size(self) -> u64 {
        match self {
            Kind::U8 => 1,
            Kind::I32 | Kind::F32 => 4,
            Kind::I64 | Kind::F64 => 8,
        }
    }
}

#[derive(Debug, PartialEq)]
struct Header {
    kind: Kind,
    column_major: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &[u8]) -> Option<Header> {
        let mut words = Words { rest: text };
        let (mut kind, mut order, mut shape) = (None, None, None);
        words.take(b'{')?;
        while words.peek()? != b'}' {
            let key = words.string()?;
            words.take(b':')?;
            match key {
                b"descr" if kind.is_none() => kind = Some(Kind::of(words.string()?)?),
                b"fortran_order" if order.is_none() => order = Some(words.truth()?),
                b"shape" if shape.is_none() => shape = Some(words.tuple()?),
                _ => return None,
            }
            if words.peek()? != b'}' {
                words.take(b',')?;
            }
        }
        words.take(b'}')?;
        words.peek().is_none().then_some(())?;
        Some(Header { kind: kind?, column_major: order?, shape: shape? })
    }

    fn array(self, bytes: Vec<u8>) -> Array {
        let (shape, turned) = (self.shape, self.column_major);
        let numbers = match self.kind {
            Kind::U8 if turned => Numbers::U8(row_major(&bytes, &shape)),
            Kind::U8 => Numbers::U8(bytes),
            Kind::I32 => Numbers::I32(decode(&bytes, i32::from_le_bytes, turned, &shape)),
            Kind::I64 => Numbers::I64(decode(&bytes, i64::from_le_bytes, turned, &shape)),
            Kind::F32 => Numbers::F32(decode(&bytes, f32::from_le_bytes, turned, &shape)),
            Kind::F64 => Numbers::F64(decode(&bytes, f64::from_le_bytes, turned, &shape)),
        };
        Array::as_read(shape, numbers)
    }
}

/// Numbers from their bytes.
fn decode<T: Copy, const N: usize>(
    bytes: &[u8],
    number: impl Fn([u8; N]) -> T,
    turned: bool,
    shape: &[usize],
) -> Vec<T> {
    let numbers: Vec<T> = bytes.as_chunks::<N>().0.iter().map(|chunk| number(*chunk)).collect();
    if turned { row_major(&numbers, shape) } else { numbers }
}

/// The words of a Python literal, of the few kinds that a header has.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.rest = &self.rest[1..])
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'))?;
        let text = &self.rest[1..];
        let end = text.iter().position(|byte| *byte == quote)?;
        self.rest = &text[end + 1..];
        Some(&text[..end])
    }

    fn truth(&mut self) -> Option<bool> {
        self.peek()?;
        for (word, truth) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(truth);
            }
        }
        None
    }

    fn whole(&mut self) -> Option<usize> {
        self.peek()?;
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&self.rest[..digits]).ok()?.parse().ok()?;
        self.rest = &self.rest[digits..];
        Some(number)
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        self.take(b'(')?;
        let mut sides = Vec::new();
        while self.peek()? != b')' {
            sides.push(self.whole()?);
            if sides.len() > MOST_SIDES {
                return None;
            }
            if self.peek()? != b')' {
                self.take(b',')?;
            }
        }
        self.take(b')')?;
        Some(sides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them_are_read() {
        let header = |text: &str| Header::parse(text.as_bytes());
        let found = header("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }       \n").unwrap();
        assert_eq!(found, Header { kind: Kind::F32, column_major: true, shape: vec![3, 4] });
        assert_eq!(
            header("{\"shape\":(),'fortran_order':False,'descr':'|u1'}").unwrap().shape,
            Vec::<usize>::new()
        );
        assert_eq!(header("{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }").unwrap().shape, [5]);
    }

    #[test]
    fn headers_of_another_kind_are_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
            "{'descr' '<f4', 'fortran_order': False, 'shape': (1,)}",
        ] {
            assert!(Header::parse(text.as_bytes()).is_none(), "{text}");
        }
        let many = format!("{{'descr':'<f4','fortran_order':False,'shape':({})}}", "1,".repeat(65));
        assert!(Header::parse(many.as_bytes()).is_none());
    }
}
