//! The page as files, for whoever serves it: a name, what it is, its bytes.

/// One file of the page.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// Its name in the folder of the page.
    pub name: &'static str,
    /// What a browser is told that it is.
    pub kind: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
    /// Whether the bytes are packed by gzip, and a browser must be told.
    pub is_packed: bool,
}

/// Every file of the page, the page itself first.
pub const PAGE: &[PageFile] = &[];
