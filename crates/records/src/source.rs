//! A file as a stream of bytes that cannot outgrow its limits: opened, recognised as gzip or not, unpacked, counted.

use flate2::bufread::MultiGzDecoder;
use std::{
    fmt,
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};
use veracity_core::Refusal;

/// How much of a file is taken in. A file that asks for more is refused before memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Records.
    pub rows: usize,
    /// Bytes of a file, unpacked.
    pub bytes: u64,
    /// Numbers in all features together.
    pub values: usize,
    /// Unpacked bytes for each packed one, beyond the first MiB.
    pub ratio: u64,
}

impl Default for Limits {
    /// 2^28 records, 8 GiB, 2^31 numbers, 256 to one.
    fn default() -> Limits {
        Limits { rows: 1 << 28, bytes: 8 << 30, values: 1 << 31, ratio: 256 }
    }
}

impl Limits {
    /// The most bytes that may come out of so many packed ones.
    pub(crate) fn unpacked(&self, packed: u64) -> u64 {
        self.bytes.min(packed.saturating_mul(self.ratio).saturating_add(1 << 20))
    }
}

/// A refusal that names a file and what it should have been.
pub(crate) fn refuse(file: &str, expected: impl fmt::Display) -> Refusal {
    Refusal::NoAnswer(format!("file is {file}, expected {expected}"))
}

/// A path as it is named in a refusal.
pub(crate) fn named(path: &Path) -> String {
    path.display().to_string().chars().filter(|c| !c.is_control()).collect()
}

/// Opens a plain file.
pub(crate) fn open(path: &Path) -> Result<(File, u64), Refusal> {
    let refuse = |why: String| refuse(&named(path), why);
    let unreadable = |error: std::io::Error| refuse(format!("a readable file ({})", error.kind()));
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if about.is_dir() {
        return Err(refuse("a file, found a directory".into()));
    }
    Ok((file, about.len()))
}

/// The bytes of a file, unpacked where they begin as gzip does.
pub(crate) fn stream(path: &Path, limits: &Limits) -> Result<Box<dyn Read>, Refusal> {
    let (file, packed) = open(path)?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let start = file.fill_buf().map_err(|error| explain(&named(path), &error))?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let most = limits.unpacked(packed);
        Ok(Box::new(Bounded::new(MultiGzDecoder::new(file), most, *limits)))
    } else {
        Ok(Box::new(Bounded::new(file, limits.bytes, *limits)))
    }
}

/// What went wrong while reading, in words. The library's own words may quote bytes, so they are not passed on.
pub(crate) fn explain(file: &str, error: &std::io::Error) -> Refusal {
    if let Some(too_much) = error.get_ref().and_then(|inner| inner.downcast_ref::<TooMuch>()) {
        return refuse(file, too_much);
    }
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => refuse(file, "a whole file, found it cut off"),
        std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
            refuse(file, "intact compressed data, found it damaged")
        }
        kind => refuse(file, format!("a readable file ({kind})")),
    }
}

/// A stream that ends in an error where it would pass its limit.
pub(crate) struct Bounded<R> {
    inner: R,
    left: u64,
    limits: Limits,
    most: u64,
}

impl<R: Read> Bounded<R> {
    pub(crate) fn new(inner: R, most: u64, limits: Limits) -> Bounded<R> {
        Bounded { inner, left: most, limits, most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None if self.most < self.limits.bytes => {
                Err(std::io::Error::other(TooMuch::Ratio(self.limits.ratio)))
            }
            None => Err(std::io::Error::other(TooMuch::Bytes(self.limits.bytes))),
        }
    }
}

/// Why a stream was stopped.
#[derive(Debug)]
enum TooMuch {
    Bytes(u64),
    Ratio(u64),
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooMuch::Bytes(most) => write!(f, "at most {most} bytes, unpacked"),
            TooMuch::Ratio(most) => write!(f, "at most {most} unpacked bytes for each packed one"),
        }
    }
}

impl std::error::Error for TooMuch {}

/// Exactly `count` bytes. Memory grows with the bytes that arrive, never by what a header promises.
pub(crate) fn exactly(source: &mut dyn Read, count: u64, file: &str) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    source.take(count).read_to_end(&mut bytes).map_err(|error| explain(file, &error))?;
    if (bytes.len() as u64) < count {
        return Err(refuse(file, "a whole file, found it cut off"));
    }
    Ok(bytes)
}

/// Checks that nothing follows.
pub(crate) fn end(source: &mut dyn Read, file: &str) -> Result<(), Refusal> {
    let mut one = [0];
    match source.read(&mut one) {
        Ok(0) => Ok(()),
        Ok(_) => Err(refuse(file, "nothing after its last number, found more bytes")),
        Err(error) => Err(explain(file, &error)),
    }
}
