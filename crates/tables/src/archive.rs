//! NPZ files: NPY files in a zip, stored or deflated.
//!
//! The directory at the end of the file says where each part is; a part's own header is only skipped. Lengths are checked before
//! anything is decompressed, and the checksum after.

use crate::{
    Array, Limits, Source,
    format::Format,
    npy,
    source::{Bounded, Opened, Seekable, exactly, explain, refuse},
};
use flate2::{Crc, read::DeflateDecoder};
use std::{
    cell::Cell,
    io::{BufReader, Read, SeekFrom},
    rc::Rc,
};
use veracity_core::Error;
use veracity_core::printable;

/// The directory's end: 22 bytes and a remark of up to 65535.
const END: usize = 22;
/// The longest directory that is read.
const LONGEST_DIRECTORY: u64 = 1 << 24;

/// Reads the array called `name` from an NPZ file.
///
/// # Errors
/// Refuses a file that is not NPZ, is damaged, has no such array, or exceeds the limits.
pub fn read_npz(source: &Source, name: &str, limits: &Limits) -> Result<Array, Error> {
    let (file, bytes) = source.open(limits)?.expect(Format::Npz)?.whole()?;
    let length = bytes.length();
    let mut zip = bytes.cursor();
    if length > limits.bytes {
        return Err(refuse(&file, format!("at most {} bytes", limits.bytes)));
    }
    let directory = directory(&mut *zip, length, &file)?;
    let part = find(&directory, name, &file)?;
    let start = part.start(&mut *zip, &file)?;
    if start.checked_add(part.packed).is_none_or(|end| end > length) {
        return Err(refuse(&file, "a complete file, but it is truncated"));
    }
    zip.seek(SeekFrom::Start(start)).map_err(|error| explain(&file, error))?;
    let packed = BufReader::new(zip).take(part.packed);
    let unpacked: Box<dyn Read> = match part.method {
        0 => Box::new(packed),
        8 => Box::new(DeflateDecoder::new(packed)),
        _ => return Err(refuse(&file, "parts that are stored or deflated, but one has another compression")),
    };
    let packed = Rc::new(Cell::new(part.packed));
    let mut source = Checked { inner: Bounded::new(unpacked, Some(packed), *limits), sum: Crc::new() };
    let array = npy::parse(&mut source, &file, limits)?;
    if source.sum.sum() != part.checksum || u64::from(source.sum.amount()) != part.unpacked {
        return Err(refuse(&file, "an intact file, but its checksum is wrong"));
    }
    Ok(array)
}

/// The names of the arrays in an NPZ file, of which no byte is read.
pub(crate) fn names(opened: Opened) -> Result<Vec<String>, Error> {
    let (file, bytes) = opened.whole()?;
    let length = bytes.length();
    let directory = directory(&mut *bytes.cursor(), length, &file)?;
    let entries = entries(&directory, &file)?;
    Ok(entries.into_iter().map(|(title, _)| String::from_utf8_lossy(title).into_owned()).collect())
}

/// The directory of a zip.
fn directory(zip: &mut dyn Seekable, length: u64, file: &str) -> Result<Vec<u8>, Error> {
    let unreadable = |error: std::io::Error| explain(file, error);
    let tail = length.min(END as u64 + 65_535);
    zip.seek(SeekFrom::Start(length - tail)).map_err(unreadable)?;
    let tail = exactly(&mut *zip, tail, file)?;
    let at = tail.windows(END).rposition(|window| {
        window.starts_with(b"PK\x05\x06") && usize::from(u16_at(window, 20)) < usize::from(u16::MAX)
    });
    let Some(end) = at.map(|at| &tail[at..]) else {
        return Err(refuse(file, "an NPZ file, but it has no directory at its end"));
    };
    let (size, start) = (u64::from(u32_at(end, 12)), u64::from(u32_at(end, 16)));
    if start == u64::from(u32::MAX) || size == u64::from(u32::MAX) {
        return Err(refuse(file, "an NPZ file below 4 GiB"));
    }
    if size > LONGEST_DIRECTORY || start + size > length {
        return Err(refuse(file, "an NPZ file, but its directory is damaged"));
    }
    zip.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    exactly(zip, size, file)
}

/// The name of a part, without `.npy`, and its entry in a directory.
type Entry<'a> = (&'a [u8], &'a [u8]);

fn entries<'a>(directory: &'a [u8], file: &str) -> Result<Vec<Entry<'a>>, Error> {
    let damaged = || refuse(file, "an NPZ file, but its directory is damaged");
    let (mut entries, mut rest) = (Vec::new(), directory);
    while !rest.is_empty() {
        let head = rest.get(..46).filter(|head| head.starts_with(b"PK\x01\x02")).ok_or_else(damaged)?;
        let [title, extra, remark] = [28, 30, 32].map(|at| usize::from(u16_at(head, at)));
        let entry = rest.get(..46 + title + extra + remark).ok_or_else(damaged)?;
        let title = &entry[46..46 + title];
        entries.push((title.strip_suffix(b".npy").unwrap_or(title), entry));
        rest = &rest[entry.len()..];
    }
    Ok(entries)
}

/// Where a part is and how it is compressed.
struct Part {
    method: u16,
    checksum: u32,
    packed: u64,
    unpacked: u64,
    offset: u64,
}

/// The part called `name`, with or without `.npy`.
fn find(directory: &[u8], name: &str, file: &str) -> Result<Part, Error> {
    let mut found = None;
    for (_, entry) in entries(directory, file)?.into_iter().filter(|(title, _)| *title == name.as_bytes()) {
        if u16_at(entry, 8) & 1 != 0 {
            return Err(refuse(file, "an NPZ file that is not encrypted"));
        }
        let [packed, unpacked, offset] = [20, 24, 42].map(|at| u64::from(u32_at(entry, at)));
        if [packed, unpacked, offset].contains(&u64::from(u32::MAX)) {
            return Err(refuse(file, "an NPZ file below 4 GiB"));
        }
        let (method, checksum) = (u16_at(entry, 10), u32_at(entry, 16));
        if found.replace(Part { method, checksum, packed, unpacked, offset }).is_some() {
            return Err(refuse(file, "each array once, but one name occurs twice"));
        }
    }
    let name = printable(name, 80);
    found.ok_or_else(|| refuse(file, format!("an NPZ file with an array called {name}")))
}

impl Part {
    /// Where its bytes begin: after a header whose own lengths count.
    fn start(&self, zip: &mut dyn Seekable, file: &str) -> Result<u64, Error> {
        zip.seek(SeekFrom::Start(self.offset)).map_err(|error| explain(file, error))?;
        let head = exactly(zip, 30, file)?;
        if !head.starts_with(b"PK\x03\x04") {
            return Err(refuse(file, "an NPZ file, but one of its parts is damaged"));
        }
        Ok(self.offset + 30 + u64::from(u16_at(&head, 26)) + u64::from(u16_at(&head, 28)))
    }
}

/// A stream whose checksum is taken as it is read.
struct Checked<R> {
    inner: R,
    sum: Crc,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.sum.update(&buffer[..count]);
        Ok(count)
    }
}

/// # Assumes  `bytes` has at least `at` + 2 bytes, as every caller has made sure
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// # Assumes  `bytes` has at least `at` + 4 bytes, as every caller has made sure
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
