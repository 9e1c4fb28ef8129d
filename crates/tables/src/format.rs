//! The format of a file, by its bytes and not by its name.

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Cells between delimiters: CSV, TSV.
    Text,
    /// Parquet.
    Parquet,
    /// One array.
    Npy,
    /// Several arrays in a zip.
    Npz,
    /// One array of bytes.
    Idx,
}

/// How bytes are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const ZIP: &[u8] = b"PK\x03\x04";

/// First words of our own formats.
const OURS: [(&[u8], Format); 3] =
    [(b"PAR1", Format::Parquet), (b"\x93NUMPY", Format::Npy), (ZIP, Format::Npz)];

/// First words of formats that are not read, and what they are called.
const FOREIGN: [(&[u8], &str); 31] = [
    (b"PARE", "an encrypted Parquet file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"ARROW1", "an Arrow or Feather file"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"FEA1", "a Feather file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"MATLAB 5", "a MATLAB file"),
    (b"$FL2", "an SPSS file"),
    (b"<stata_dta>", "a Stata file"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"\xd0\xcf\x11\xe0", "an old Office file such as xls"),
    (b"PK\x05\x06", "an empty ZIP file"),
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"\x04\x22\x4d\x18", "compressed with lz4"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x7fELF", "an executable program"),
    (b"\xff\xfe", "text in UTF-16, expected UTF-8"),
    (b"\xfe\xff", "text in UTF-16, expected UTF-8"),
    (b"<?xml", "XML"),
    (b"<!", "HTML or XML"),
    (b"<html", "HTML"),
    (b"<table", "HTML"),
];

/// Skippable frames of zstd may come before the first real one.
const SKIPPABLE: std::ops::RangeInclusive<u8> = 0x50..=0x5f;

impl Packing {
    /// By the first bytes of a file.
    pub(crate) fn of(head: &[u8]) -> Option<Packing> {
        match head {
            [first, b'\x2a', b'\x4d', b'\x18', ..] if SKIPPABLE.contains(first) => Some(Packing::Zstd),
            _ if begins(head, ZSTD) => Some(Packing::Zstd),
            _ if begins(head, GZIP) => Some(Packing::Gzip),
            _ => None,
        }
    }
}

impl Format {
    /// By the first bytes of a file, or what else it seems to be.
    pub(crate) fn of(head: &[u8]) -> Result<Format, &'static str> {
        if head.starts_with(ZIP) {
            return zip(head);
        }
        // What is after the header is private: nothing but the header tells what a text is.
        let line =
            head.split(|byte| matches!(byte, b'\n' | b'\r')).find(|line| !line.trim_ascii().is_empty());
        let line = line.unwrap_or_default();
        let is_name = |word: &[u8]| is_text(line) && begins_a_name(line, word);
        if let Some((_, name)) = FOREIGN.iter().find(|(word, _)| head.starts_with(word) && !is_name(word)) {
            return Err(name);
        }
        if let Some((_, format)) = OURS.iter().find(|(word, _)| begins(head, word) && !is_name(word)) {
            return Ok(*format);
        }
        match head {
            [0] | [0, 0] | [0, 0, 0x08 | 0x09 | 0x0b..=0x0e, ..] => Ok(Format::Idx),
            _ if is_text(line) => match is_json(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)) {
                true => Err("JSON"),
                false => Ok(Format::Text),
            },
            _ if head.get(257..262) == Some(b"ustar") => Err("a tar archive"),
            _ => Err("binary data of an unknown type"),
        }
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Parquet => "a Parquet file",
            Format::Npy => "an NPY file",
            Format::Npz => "an NPZ file",
            Format::Idx => "an IDX file",
        }
    }
}

/// Whether a file begins with a word, or is so short that it ends within it and cannot be text.
fn begins(head: &[u8], word: &[u8]) -> bool {
    head.starts_with(word)
        || word.starts_with(head)
            && (!is_text(head) || std::str::from_utf8(head).is_err())
            && !head.is_empty()
}

/// Whether a header that begins with a format's first word only has a column of such a name, as ORCID and PARENT are. A digit
/// after the word is a version of the format.
fn begins_a_name(line: &[u8], word: &[u8]) -> bool {
    let next = line.strip_prefix(word).and_then(|rest| rest.first());
    next.is_some_and(|byte| !byte.is_ascii_digit()) && word.iter().all(u8::is_ascii_alphanumeric)
}

/// Whether there is no control character in it but those of text. Its encoding is left open: cells may be in any.
pub(crate) fn is_text(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..))
}

/// Objects and lists begin in ways in which no header does.
fn is_json(line: &[u8]) -> bool {
    match line.trim_ascii_start() {
        [b'{', rest @ ..] => matches!(rest.trim_ascii_start().first(), None | Some(b'"' | b'}')),
        [b'[', rest @ ..] => {
            matches!(
                rest.trim_ascii_start().first(),
                None | Some(b'{' | b'[' | b'"' | b']' | b'-' | b'0'..=b'9')
            )
        }
        _ => false,
    }
}

/// A zip by the name of its first part.
fn zip(head: &[u8]) -> Result<Format, &'static str> {
    let Some(length) = head.get(26..28) else { return Ok(Format::Npz) };
    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
    let name = &head[30.min(head.len())..head.len().min(30 + length)];
    let office: [&[u8]; 5] = [b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"mimetype"];
    if name.ends_with(b".npy") || head.len() < 30 + length {
        Ok(Format::Npz)
    } else if office.iter().any(|start| name.starts_with(start)) {
        Err("an Office file such as xlsx; save it as CSV")
    } else {
        Err("a ZIP archive; extract it first")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_tell_what_they_are() {
        for (head, format) in [
            (&b"age,city\n31,Bern\n"[..], Format::Text),
            (b"", Format::Text),
            (b"P", Format::Text),
            (b"PAR,PK\n1,2\n", Format::Text),
            (b"\xef\xbb\xbfage\n", Format::Text),
            (b"[id],[name]\n1,2\n", Format::Text),
            (b"ORCID,age\n1,2\n", Format::Text),
            (b"PARENT;age\n1;2\n", Format::Text),
            (b"PAR1,PAR2\n1,2\n", Format::Text),
            (b"BZhours\n1\n", Format::Text),
            (b"Gr\xf6sse\n1\n", Format::Text),
            (b"PAR1\x15\x04", Format::Parquet),
            (b"\x93NUMPY\x01\x00", Format::Npy),
            (b"\x93NU", Format::Npy),
            (b"\0\0\x08\x01", Format::Idx),
            (b"\0", Format::Idx),
        ] {
            assert_eq!(Format::of(head), Ok(format), "{head:?}");
            assert_eq!(Packing::of(head), None, "{head:?}");
        }
        for (head, packing) in
            [(&b"\x1f\x8b\x08"[..], Packing::Gzip), (b"\x1f", Packing::Gzip), (b"\x28\xb5", Packing::Zstd)]
        {
            assert_eq!(Packing::of(head), Some(packing), "{head:?}");
        }
    }

    /// No cell after the header decides, wherever it lies: where a tar has its word, or after another end of line.
    #[test]
    fn cells_do_not_tell_what_a_file_is() {
        let mut rows = b"age,city\n".to_vec();
        rows.resize(255, b'1');
        for cell in [&b"1,ustar\n"[..], b"1,Basel\n", b"1,\0\x01\x1b\n"] {
            assert_eq!(Format::of(&[&rows, cell].concat()), Ok(Format::Text), "{cell:?}");
            assert_eq!(Format::of(&[b"age,city\r", cell].concat()), Ok(Format::Text), "{cell:?}");
        }
        let mut tar = b"people.csv".to_vec();
        tar.resize(257, 0);
        assert_eq!(Format::of(&[&tar[..], b"ustar\0"].concat()), Err("a tar archive"));
    }

    #[test]
    fn what_is_none_of_ours_is_named() {
        for (head, seems) in [
            (&b"ORC\x08\x01"[..], "ORC"),
            (b"PARE\x15\x04", "encrypted"),
            (b"ORC", "ORC"),
            (b"SQLite format 3\0\x10", "SQLite"),
            (b"ARROW1\0\0", "Arrow"),
            (b"BZh91AY", "bzip2"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"%PDF-1.7\n", "PDF"),
            (b"{\"age\": 3}\n", "JSON"),
            (b"\n [\n  {\"age\": 3}]", "JSON"),
            (b"{\n \"age\": 3}", "JSON"),
            (b"\xff\xfea\0g\0e\0", "UTF-16"),
            (b"a\0g\0e\0\n\0", "binary"),
            (b"\x00\x01\x02\x03", "binary"),
            (b"<?xml version=\"1.0\"?>", "XML"),
        ] {
            assert!(Format::of(head).unwrap_err().contains(seems), "{head:?}");
        }
        let part = |name: &[u8]| {
            let mut zip = [ZIP, &[0; 26]].concat();
            zip[26] = name.len() as u8;
            Format::of(&[&zip[..], name, b"more"].concat())
        };
        assert_eq!(part(b"x.npy"), Ok(Format::Npz));
        assert!(part(b"[Content_Types].xml").unwrap_err().contains("xlsx"));
        assert!(part(b"people.csv").unwrap_err().contains("ZIP"));
    }
}
