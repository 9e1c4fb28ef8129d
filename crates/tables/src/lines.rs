//! The bytes of a CSV file on their way to its reader, and what that reader would forgive or drop.
//!
//! The reader forgives quotes that do not close, takes a header of any length, and drops empty lines. Here the first two are
//! refused: a quote that does not close swallows the rows that follow it, up to the next quote or the end of the file. In a
//! table of one column an empty line becomes a quoted empty cell.
//!
//! Which lines are rows must not depend on values, as the number of rows may be public: in a table of one column an empty line
//! is a row whose cell is missing. In a wider table a row has delimiters, so an empty line is none.

use std::io::{Error, Read, Result};

/// The longest header: past it, a file is something else.
const LONGEST_HEADER: u64 = 1 << 20;

/// What a table of one column has in place of an empty line.
const EMPTY_CELL: [u8; 2] = *b"\"\"";

/// Bytes that pass, line by line.
pub(crate) struct Lines<R> {
    inner: R,
    delimiter: u8,
    state: State,
    /// Whether nothing of the current line has passed.
    at_start: bool,
    /// The byte before: a line feed after a carriage return ends no other line.
    last: u8,
    /// The line at work, and the line in which the last quote opened, counted from 1.
    line: u64,
    opened: u64,
    /// Whether a quoted cell was followed by something else than a delimiter or the end of its line.
    is_torn: bool,
    /// Whether there is nothing more to come.
    has_ended: bool,
    /// Line feeds and carriage returns outside of quotes, and how many of them come in pairs.
    ends: Ends,
    header: Header,
    /// What an empty line became and the buffer did not hold, from the given place.
    waiting: (Vec<u8>, usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a cell.
    Start,
    /// Inside a cell without quotes.
    Plain,
    /// Inside a quoted cell.
    Quoted,
    /// After a quote inside a quoted cell: its end, or half of a doubled quote.
    AfterQuote,
}

/// How lines end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Ends {
    feeds: u64,
    returns: u64,
    pairs: u64,
}

/// The first line that is not empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    /// It has not ended, and has this many bytes; whether it has one column so far.
    Open { bytes: u64, one_column: bool },
    /// It has ended.
    Ended { one_column: bool },
}

impl<R> Lines<R> {
    pub(crate) fn new(inner: R, delimiter: u8) -> Lines<R> {
        let header = Header::Open { bytes: 0, one_column: true };
        Lines {
            inner,
            delimiter,
            state: State::Start,
            at_start: true,
            last: 0,
            line: 1,
            opened: 0,
            is_torn: false,
            has_ended: false,
            ends: Ends::default(),
            header,
            waiting: (Vec::new(), 0),
        }
    }

    /// The line of a quote that does not close in what has passed: where the file ends inside it, or where what ends it is
    /// the quote of another cell.
    pub(crate) fn open_quote(&self) -> Option<u64> {
        (self.state == State::Quoted && self.has_ended || self.is_torn).then_some(self.opened)
    }

    /// Whether all lines so far end in line feeds, or all in carriage returns with line feeds.
    pub(crate) fn end_alike(&self) -> bool {
        let Ends { feeds, returns, pairs } = self.ends;
        // A carriage return may wait for its line feed.
        returns == 0 || pairs == feeds && returns - pairs <= u64::from(self.last == b'\r' && !self.has_ended)
    }

    /// Whether the header was refused.
    pub(crate) fn header_is_too_long(&self) -> bool {
        matches!(self.header, Header::Open { bytes, .. } if bytes > LONGEST_HEADER)
    }

    /// Follows one byte. True where it ends an empty line that is a row.
    fn is_empty_row(&mut self, byte: u8) -> bool {
        let is_end = byte == b'\n' || byte == b'\r';
        // A byte order mark is no part of the first cell.
        let is_mark =
            matches!(self.header, Header::Open { bytes: 0..3, .. }) && b"\xef\xbb\xbf".contains(&byte);
        let is_line = byte == b'\r' || byte == b'\n' && self.last != b'\r';
        self.line += u64::from(is_line);
        if !matches!(self.state, State::Quoted) {
            self.ends.feeds += u64::from(byte == b'\n');
            self.ends.returns += u64::from(byte == b'\r');
            self.ends.pairs += u64::from(byte == b'\n' && self.last == b'\r');
        }
        self.state = match (self.state, byte) {
            (state, _) if is_mark => state,
            (State::Start, b'"') => {
                self.opened = self.line;
                State::Quoted
            }
            (State::AfterQuote, b'"') => State::Quoted,
            (State::Quoted, b'"') => State::AfterQuote,
            (State::Quoted, _) => State::Quoted,
            _ if is_end || byte == self.delimiter => State::Start,
            (state, _) => {
                self.is_torn |= state == State::AfterQuote;
                State::Plain
            }
        };
        let ends_line = is_end && self.state == State::Start;
        let is_empty = ends_line && self.at_start && !(byte == b'\n' && self.last == b'\r');
        let is_row = is_empty && self.header == Header::Ended { one_column: true };
        self.header = match self.header {
            Header::Open { one_column, .. } if ends_line && !self.at_start => Header::Ended { one_column },
            Header::Open { bytes, one_column } => {
                let splits = byte == self.delimiter && self.state == State::Start;
                Header::Open { bytes: bytes + 1, one_column: one_column && !splits }
            }
            ended => ended,
        };
        (self.at_start, self.last) = (ends_line || is_mark, byte);
        is_row
    }

    /// Follows bytes at once where none of them can matter by itself: behind the header of a table of several columns, outside of
    /// quotes and without one. Whether it did.
    fn pass_plain(&mut self, bytes: &[u8]) -> bool {
        let is_outside = matches!(self.state, State::Start | State::Plain);
        let is_wide = self.header == Header::Ended { one_column: false };
        let Some(last) = bytes.last().filter(|_| is_outside && is_wide && !bytes.contains(&b'"')) else {
            return false;
        };
        let count = |byte: u8| bytes.iter().filter(|one| **one == byte).count() as u64;
        let (feeds, returns) = (count(b'\n'), count(b'\r'));
        // A line feed after a carriage return ends no other line.
        let pairs = if returns > 0 || self.last == b'\r' {
            let first = u64::from(self.last == b'\r' && bytes[0] == b'\n');
            first + bytes.windows(2).filter(|two| *two == b"\r\n").count() as u64
        } else {
            0
        };
        self.line += feeds + returns - pairs;
        self.ends.feeds += feeds;
        self.ends.returns += returns;
        self.ends.pairs += pairs;
        let is_end = *last == b'\n' || *last == b'\r';
        self.state = if is_end || *last == self.delimiter { State::Start } else { State::Plain };
        (self.at_start, self.last) = (is_end, *last);
        true
    }

    /// Hands out what waits.
    fn take_waiting(&mut self, buffer: &mut [u8]) -> usize {
        let left = &self.waiting.0[self.waiting.1..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.waiting.1 += count;
        count
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.take_waiting(buffer);
        if count > 0 {
            return Ok(count);
        }
        let mut count = self.inner.read(buffer)?;
        self.has_ended = count == 0;
        if self.pass_plain(&buffer[..count]) {
            return Ok(count);
        }
        for at in 0..count {
            if self.is_empty_row(buffer[at]) {
                // From here on there are more bytes than the buffer holds.
                let rest = buffer[at..count].to_vec();
                self.waiting = (self.with_empty_cells(&rest), 0);
                count = at + self.take_waiting(&mut buffer[at..]);
                break;
            }
        }
        if self.header_is_too_long() || self.is_torn {
            return Err(Error::other("the header is too long or a quote does not close"));
        }
        Ok(count)
    }
}

impl<R> Lines<R> {
    /// Bytes of which the first ends an empty row, with a cell for each empty row.
    fn with_empty_cells(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut all = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        for (at, byte) in bytes.iter().enumerate() {
            // The first was followed already.
            if at == 0 || self.is_empty_row(*byte) {
                all.extend(EMPTY_CELL);
            }
            all.push(*byte);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn passed(text: &[u8], piece: usize) -> Vec<u8> {
        let mut lines = Lines::new(text, b',');
        let (mut all, mut buffer) = (Vec::new(), vec![0; piece]);
        loop {
            match lines.read(&mut buffer).unwrap() {
                0 => return all,
                count => all.extend(&buffer[..count]),
            }
        }
    }

    #[test]
    fn empty_lines_of_one_column_become_cells_and_all_else_passes_as_it_is() {
        let one: [(&str, &str); 8] = [
            ("x\n1\n\n2\n", "x\n1\n\"\"\n2\n"),
            ("x\r\n1\r\n\r\n\r\n", "x\r\n1\r\n\"\"\r\n\"\"\r\n"),
            ("x\r1\r\r2", "x\r1\r\"\"\r2"),
            ("\n\nx\n\n", "\n\nx\n\"\"\n"),
            ("\"x,\n\ny\"\n\n", "\"x,\n\ny\"\n\"\"\n"),
            ("x\n\"a\n\nb\"\n\n", "x\n\"a\n\nb\"\n\"\"\n"),
            ("\u{feff}\"x,y\"\n\n", "\u{feff}\"x,y\"\n\"\"\n"),
            ("x,y\n\n1,2\n\n", "x,y\n\n1,2\n\n"),
        ];
        for (text, expected) in one {
            for piece in [1, 2, 3, 7, 8192] {
                let found = String::from_utf8(passed(text.as_bytes(), piece)).unwrap();
                assert_eq!(found, expected, "in pieces of {piece}");
            }
        }
    }

    /// The line of the first quote that does not close, in pieces of any size.
    fn open_quote(text: &str, piece: usize) -> Option<u64> {
        let mut lines = Lines::new(text.as_bytes(), b',');
        let mut buffer = vec![0; piece];
        while lines.read(&mut buffer).is_ok_and(|count| count > 0) {}
        lines.open_quote()
    }

    #[test]
    fn quotes_that_do_not_close_are_found_by_their_line() {
        for (text, line) in [
            ("x,y\n1,\"a\n2,b\n", Some(2)),
            ("x,y\r\n1,2\r\n3,\"a\r\n2,b", Some(3)),
            // The next quoted cell seems to close it.
            ("x,y\n1,\"a\n2,\"b\"\n", Some(2)),
            ("x,y\n1,\"a\n2,\"\"\n3,c\n", Some(2)),
            ("x,y\n1,\"a\"b\n", Some(2)),
            ("\"x,y\n1,2\n", Some(1)),
            ("x,y\n1,\"a\"\"b\"\n\"\",\"\n\"", None),
            ("x,y\n1,5\" pipe\n2, \"b\n", None),
            ("x,y\n1,\"\"", None),
        ] {
            for piece in [1, 3, 8192] {
                assert_eq!(open_quote(text, piece), line, "{text:?} in pieces of {piece}");
            }
        }
    }

    /// Whole pieces leave the same behind as their bytes one by one, whatever they are cut into.
    #[test]
    fn bytes_at_once_leave_what_bytes_one_by_one_leave() {
        let mut dice = veracity_testkit::short::Dice::new(7);
        let mut below = |n: u64| dice.below(n) as usize;
        let mut at_once = 0;
        for _ in 0..20_000 {
            let rest: Vec<u8> = (0..below(24)).map(|_| b"ab,,\n\n\r\n\""[below(9)]).collect();
            let text = [b"x,y\n".to_vec(), rest].concat();
            let (mut pieces, mut bytes) = (Lines::new(&text[..], b','), Lines::new(&text[..], b','));
            let mut from = 0;
            while from < text.len() {
                let piece = &text[from..text.len().min(from + 1 + below(9))];
                let plain = pieces.pass_plain(piece);
                at_once += usize::from(plain);
                if !plain {
                    for byte in piece {
                        let _ = pieces.is_empty_row(*byte);
                    }
                }
                let any_row = piece.iter().fold(false, |any, byte| bytes.is_empty_row(*byte) | any);
                assert!(!(plain && any_row));
                let left = |lines: &Lines<&[u8]>| {
                    let quotes = (lines.opened, lines.is_torn);
                    (lines.state as u8, lines.at_start, lines.last, lines.line, quotes, lines.ends)
                };
                assert_eq!(left(&pieces), left(&bytes), "{:?}", String::from_utf8_lossy(&text));
                from += piece.len();
            }
        }
        assert!(at_once > 10_000, "{at_once}");
    }

    #[test]
    fn a_header_without_end_is_not_read_to_the_end() {
        let mut endless = Lines::new(std::io::BufReader::new(std::io::repeat(0)), b',');
        let mut all = Vec::new();
        assert!(endless.read_to_end(&mut all).is_err() && endless.header_is_too_long());
        assert!(all.len() as u64 <= LONGEST_HEADER + (1 << 16));
        // Twin: a row may be as long as it likes.
        let row = [b"x\n".to_vec(), vec![b'1'; 2 << 20]].concat();
        assert_eq!(passed(&row, 8192), row);
    }
}
