//! The hash chain: SHA-256 of the hash before and of every field, so that whatever is changed, taken out, put in or moved breaks it.
//!
//! A field is written as its length in eight bytes and its bytes, or as eight bytes of ones where there is none, so that no two
//! lists of fields have the same encoding. The chain has no secret: who can write the file can also write a new chain from some
//! point on, and records that are removed from the end leave no gap. Against both, note the last hash elsewhere.

use sha2::{Digest as _, Sha256};
use std::{fmt, str::FromStr};
use veracity_core::Refusal;

/// What every chain begins with.
const DOMAIN: &[u8] = b"veracity.ledger/1";

/// A link of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The first link.
    pub(crate) fn first(fields: &[Option<&[u8]>]) -> Hash {
        Hash(Sha256::digest(DOMAIN).into()).next(fields)
    }

    /// The link after this one.
    pub(crate) fn next(self, fields: &[Option<&[u8]>]) -> Hash {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update((fields.len() as u64).to_le_bytes());
        for field in fields {
            match field {
                None => hash.update(u64::MAX.to_le_bytes()),
                Some(bytes) => {
                    hash.update((bytes.len() as u64).to_le_bytes());
                    hash.update(bytes);
                }
            }
        }
        Hash(hash.finalize().into())
    }

    /// The bytes of a stored link.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Hash> {
        bytes.try_into().ok().map(Hash)
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Hash {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Hash, Refusal> {
        let refused = || Refusal::out_of_range("head", "not a hash", "64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(refused());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| refused())?;
        }
        Ok(Hash(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_never_runs_into_the_next() {
        let lists: [&[Option<&[u8]>]; 6] = [
            &[Some(b"ab"), Some(b"c")],
            &[Some(b"a"), Some(b"bc")],
            &[Some(b"abc"), None],
            &[None, Some(b"abc")],
            &[Some(b"abc"), Some(b"")],
            &[Some(b"abc")],
        ];
        for (i, one) in lists.iter().enumerate() {
            for other in &lists[..i] {
                assert_ne!(Hash::first(one), Hash::first(other));
            }
        }
        let hash = Hash::first(lists[0]);
        assert_eq!(hash.to_string().parse::<Hash>().unwrap(), hash);
        assert!("xyz".parse::<Hash>().is_err() && "é".repeat(32).parse::<Hash>().is_err());
    }
}
