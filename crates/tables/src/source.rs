//! Where bytes come from, as a stream that cannot outgrow its limits: opened, decompressed, counted, recognized.

use crate::format::{Format, Packing};
use flate2::bufread::MultiGzDecoder;
use std::{
    cell::Cell,
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Cursor, ErrorKind, Read, Seek},
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
    time::SystemTime,
};
use veracity_core::Error;
use veracity_core::printable;

/// The bytes by which a file is recognised.
const HEAD: u64 = 512;

/// How much of a file is taken in. A file that asks for more is refused before memory is.
///
/// # Examples
///
/// ```
/// use veracity_tables::{Form, Limits, Source, read_columns};
///
/// let source = Source::in_memory("long.csv", "x\n1\n2\n3\n".as_bytes());
/// assert_eq!(read_columns(&source, Form::default(), &[], &Limits::default())?.rows, 3);
/// let two = Limits { rows: 2, ..Limits::default() };
/// assert!(read_columns(&source, Form::default(), &[], &two).is_err());
/// # Ok::<(), veracity_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Records.
    pub rows: usize,
    /// Bytes of a file, decompressed.
    pub bytes: u64,
    /// Numbers in all features together.
    pub values: usize,
    /// Decompressed bytes for each compressed one, beyond the first MiB.
    pub ratio: u64,
}

impl Default for Limits {
    /// 2^28 records, 8 GiB, 2^31 numbers, 2^15 to one. A block of zstd is at most 2^17 bytes of at least four, and DEFLATE stays
    /// below 1032 to one, so no file is refused for how well its cells pack: that is about the people in it.
    fn default() -> Limits {
        Limits { rows: 1 << 28, bytes: 8 << 30, values: 1 << 31, ratio: 1 << 15 }
    }
}

impl Limits {
    /// The most bytes that may come out of so many compressed ones.
    pub(crate) fn unpacked(&self, packed: u64) -> u64 {
        self.bytes.min(packed.saturating_mul(self.ratio).saturating_add(1 << 20))
    }
}

/// Where bytes come from. It can be opened more than once.
///
/// # Examples
///
/// A file is known by its bytes, not by its name:
///
/// ```
/// use veracity_tables::{Limits, Source, read_idx, read_npy};
///
/// let idx = [&[0, 0, 8, 1, 0, 0, 0, 3][..], &[7, 8, 9]].concat();
/// let source = Source::in_memory("labels.npy", idx);
/// assert_eq!(read_idx(&source, &Limits::default())?.shape(), [3]);
/// assert!(read_npy(&source, &Limits::default()).is_err());
/// # Ok::<(), veracity_core::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Bytes that are there already, such as those of standard input.
    Memory {
        /// What they are called in a refusal.
        name: String,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
}

impl Source {
    /// What a path on the command line stands for: `-` is standard input, which is read to its end here.
    ///
    /// # Errors
    /// Refuses standard input that cannot be read or exceeds the limits.
    pub fn at(path: &Path, limits: &Limits) -> Result<Source, Error> {
        if path != Path::new("-") {
            return Ok(Source::File(path.to_owned()));
        }
        let name = "standard input";
        let mut bytes = Vec::new();
        let mut input = io::stdin().lock().take(limits.bytes.saturating_add(1));
        input.read_to_end(&mut bytes).map_err(|error| explain(name, error))?;
        if bytes.len() as u64 > limits.bytes {
            return Err(refuse(name, format!("at most {} bytes", limits.bytes)));
        }
        Ok(Source::in_memory(name, bytes))
    }

    /// Bytes by a name.
    pub fn in_memory(name: &str, bytes: impl Into<Arc<[u8]>>) -> Source {
        Source::Memory { name: name.to_owned(), bytes: bytes.into() }
    }

    /// What changes when its bytes do: of a file which one it is, its length and when it was written. Nothing of what stays as it is.
    pub(crate) fn mark(&self) -> Option<(u64, u64, SystemTime)> {
        let Source::File(path) = self else { return None };
        let about = std::fs::metadata(path).ok()?;
        Some((number_of(&about), about.len(), about.modified().ok()?))
    }

    /// As it is called in a refusal.
    pub fn name(&self) -> String {
        match self {
            Source::File(path) => printable(&path.display().to_string(), usize::MAX),
            Source::Memory { name, .. } => name.clone(),
        }
    }

    /// Its first line that is not empty, decompressed, or as much of it as `most` bytes hold, and how many empty ones are above it.
    ///
    /// # Errors
    /// Refuses a file that cannot be read or decompressed.
    pub fn first_line(&self, limits: &Limits, most: u64) -> Result<(Vec<u8>, usize), Error> {
        let Opened { name, stream, .. } = self.open(limits)?;
        let (mut lines, mut line, mut empty) = (BufReader::new(stream.take(most)), Vec::new(), 0);
        loop {
            line.clear();
            let read = lines.read_until(b'\n', &mut line).map_err(|error| explain(&name, error))?;
            if read == 0 || !matches!(&line[..], b"\n" | b"\r\n") {
                return Ok((line, empty));
            }
            empty += 1;
        }
    }

    /// Opens it, decompresses it where it is compressed, and recognizes what is in it.
    pub(crate) fn open(&self, limits: &Limits) -> Result<Opened, Error> {
        let name = self.name();
        let (whole, packed) = self.bytes(&name)?;
        let failed = |error: io::Error| explain(&name, error);
        let (raw, whole) = whole.stream(packed.clone()).map_err(failed)?;
        let (head, raw) = peek(raw).map_err(failed)?;
        let unpacked: Box<dyn Read> = match Packing::of(&head) {
            None => {
                let format = Format::of(&head).map_err(|seems| foreign(&name, seems))?;
                let stream = Box::new(Bounded::new(raw, None, *limits));
                return Ok(Opened { name, format, stream, whole });
            }
            Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, raw))),
            Some(Packing::Zstd) => Box::new(crate::zstd::Frames::new(BufReader::with_capacity(1 << 16, raw))),
        };
        let (head, stream) = peek(Box::new(Bounded::new(unpacked, Some(packed), *limits))).map_err(failed)?;
        if Packing::of(&head).is_some() {
            return Err(refuse(&name, "a file that is compressed once, but it is compressed twice"));
        }
        let format = Format::of(&head).map_err(|seems| foreign(&name, seems))?;
        Ok(Opened { name, format, stream, whole: None })
    }

    /// The bytes as they lie there, and how many they are: for a pipe, how many have come so far.
    fn bytes(&self, name: &str) -> Result<(Bytes, Rc<Cell<u64>>), Error> {
        let unreadable = |error: io::Error| unreadable(name, error);
        match self {
            Source::Memory { bytes, .. } => {
                let count = Rc::new(Cell::new(bytes.len() as u64));
                Ok((Bytes::Memory(Arc::clone(bytes)), count))
            }
            Source::File(path) => {
                let file = File::open(path).map_err(unreadable)?;
                let about = file.metadata().map_err(unreadable)?;
                match about.is_dir() {
                    true => Err(refuse(name, "a file, not a directory")),
                    false if about.is_file() => {
                        Ok((Bytes::File(file, about.len()), Rc::new(Cell::new(about.len()))))
                    }
                    false => Ok((Bytes::Pipe(file), Rc::new(Cell::new(0)))),
                }
            }
        }
    }
}

/// Which file of its disk it is, where files have numbers.
#[cfg(unix)]
fn number_of(about: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn number_of(_: &std::fs::Metadata) -> u64 {
    0
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Source {
        Source::File(path.to_owned())
    }
}

/// A source at work.
pub(crate) struct Opened {
    /// As it is called in a refusal.
    pub(crate) name: String,
    /// What is in it.
    pub(crate) format: Format,
    /// Its bytes, decompressed.
    pub(crate) stream: Box<dyn Read>,
    /// The same bytes to be read in any order, where they were not compressed.
    whole: Option<Bytes>,
}

impl Opened {
    /// Checks that it is of one format.
    pub(crate) fn expect(self, format: Format) -> Result<Opened, Error> {
        if self.format == format {
            return Ok(self);
        }
        Err(refuse(&self.name, format!("{}, but it is {}", format.name(), self.format.name())))
    }

    /// Whether what it was opened from can be opened again, at no more than the price of a file.
    pub(crate) fn can_be_opened_again(&self) -> bool {
        matches!(self.whole, Some(Bytes::File(..) | Bytes::Memory(_)))
    }

    /// All bytes, to be read in any order. What came compressed or through a pipe is taken into memory.
    pub(crate) fn whole(self) -> Result<(String, Bytes), Error> {
        let Opened { name, mut stream, whole, .. } = self;
        match whole {
            Some(whole) => Ok((name, whole)),
            None => {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).map_err(|error| explain(&name, error))?;
                Ok((name, Bytes::Memory(bytes.into())))
            }
        }
    }
}

/// Bytes as they lie somewhere.
pub(crate) enum Bytes {
    /// In a file of so many bytes.
    File(File, u64),
    /// In memory.
    Memory(Arc<[u8]>),
    /// Nowhere: they come once.
    Pipe(File),
}

impl Bytes {
    /// How many there are.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Bytes::File(_, length) => *length,
            Bytes::Memory(bytes) => bytes.len() as u64,
            Bytes::Pipe(_) => 0,
        }
    }

    /// A cursor over them.
    pub(crate) fn cursor(self) -> Box<dyn Seekable> {
        match self {
            Bytes::File(file, _) | Bytes::Pipe(file) => Box::new(file),
            Bytes::Memory(bytes) => Box::new(Cursor::new(bytes)),
        }
    }

    /// The bytes from the first on, and themselves again where they can be read again.
    fn stream(self, packed: Rc<Cell<u64>>) -> io::Result<(Box<dyn Read>, Option<Bytes>)> {
        Ok(match self {
            Bytes::File(file, length) => (Box::new(file.try_clone()?), Some(Bytes::File(file, length))),
            Bytes::Memory(bytes) => (Box::new(Cursor::new(Arc::clone(&bytes))), Some(Bytes::Memory(bytes))),
            Bytes::Pipe(file) => (Box::new(Counted { inner: file, count: packed }), None),
        })
    }
}

/// What can be read in any order.
pub(crate) trait Seekable: Read + Seek {}
impl<T: Read + Seek> Seekable for T {}

/// The first bytes, and the stream with them still in it.
fn peek(mut stream: Box<dyn Read>) -> io::Result<(Vec<u8>, Box<dyn Read>)> {
    let mut head = Vec::new();
    stream.as_mut().take(HEAD).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(stream))))
}

/// A file, by the name under which it is shown, that is not what it should be.
pub(crate) fn refuse(file: &str, expected: impl fmt::Display) -> Error {
    Error::file("file", Path::new(file), expected.to_string())
}

/// What is none of our formats.
fn foreign(file: &str, seems: &str) -> Error {
    refuse(
        file,
        format!(
            "CSV, TSV, Parquet, NPY, NPZ or IDX, optionally compressed with gzip or zstd; it seems to be \
             {seems}"
        ),
    )
}

/// A file that the operating system does not let be read.
fn unreadable(file: &str, error: io::Error) -> Error {
    Error::unreadable("file", Path::new(file), io::Error::new(error.kind(), Reason(error)))
}

/// Why a file cannot be read, as a shell would say it. What the operating system said is behind it.
#[derive(Debug)]
struct Reason(io::Error);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind() {
            ErrorKind::NotFound => f.write_str("no such file"),
            other => other.fmt(f),
        }
    }
}

impl std::error::Error for Reason {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// What went wrong while reading, in words. The library's own words may quote bytes, so they are not passed on: only an error
/// that the operating system raised is kept as the source.
pub(crate) fn explain(file: &str, error: io::Error) -> Error {
    if let Some(too_much) = error.get_ref().and_then(|inner| inner.downcast_ref::<TooMuch>()) {
        return refuse(file, too_much);
    }
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::UnexpectedEof, _) => refuse(file, "a complete file, but it is truncated"),
        (ErrorKind::InvalidData | ErrorKind::InvalidInput, _) => {
            refuse(file, "intact compressed data, but it is damaged")
        }
        (_, Some(_)) => unreadable(file, error),
        (kind, None) => unreadable(file, kind.into()),
    }
}

/// A pipe whose bytes are counted as they come.
struct Counted {
    inner: File,
    count: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// A stream that ends in an error where it would pass its limit.
pub(crate) struct Bounded<R> {
    inner: R,
    passed: u64,
    /// The compressed bytes that it comes from.
    packed: Option<Rc<Cell<u64>>>,
    limits: Limits,
}

impl<R: Read> Bounded<R> {
    pub(crate) fn new(inner: R, packed: Option<Rc<Cell<u64>>>, limits: Limits) -> Bounded<R> {
        Bounded { inner, passed: 0, packed, limits }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.passed += count as u64;
        if self.passed > self.limits.bytes {
            return Err(io::Error::other(TooMuch::Bytes(self.limits.bytes)));
        }
        match &self.packed {
            Some(packed) if self.passed > self.limits.unpacked(packed.get()) => {
                Err(io::Error::other(TooMuch::Ratio(self.limits.ratio)))
            }
            _ => Ok(count),
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
            TooMuch::Bytes(most) => write!(f, "at most {most} bytes after decompression"),
            TooMuch::Ratio(most) => write!(f, "at most {most} bytes per compressed byte"),
        }
    }
}

impl std::error::Error for TooMuch {}

/// Exactly `count` bytes. Memory grows with the bytes that arrive, never by what a header promises.
pub(crate) fn exactly(source: &mut dyn Read, count: u64, file: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    source.take(count).read_to_end(&mut bytes).map_err(|error| explain(file, error))?;
    if (bytes.len() as u64) < count {
        return Err(refuse(file, "a complete file, but it is truncated"));
    }
    Ok(bytes)
}

/// Checks that nothing follows.
pub(crate) fn end(source: &mut dyn Read, file: &str) -> Result<(), Error> {
    let mut one = [0];
    match source.read(&mut one) {
        Ok(0) => Ok(()),
        Ok(_) => Err(refuse(file, "nothing after its last number, but more bytes follow")),
        Err(error) => Err(explain(file, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of the same length that takes the place of another is another, and one that stays is the same.
    #[cfg(unix)]
    #[test]
    fn a_file_in_the_place_of_another_has_another_mark() {
        let folder = std::env::temp_dir().join(format!("veracity-mark-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.join(name));
        std::fs::write(&one, "same").unwrap();
        std::fs::write(&other, "size").unwrap();
        let source = Source::File(one.clone());
        let before = source.mark();
        assert!(before.is_some() && source.mark() == before);
        std::fs::rename(&other, &one).unwrap();
        assert_ne!(source.mark(), before);
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(Source::in_memory("x", b"x".as_slice()).mark(), None);
    }
}
