//! Signatures on certificates, in the format of minisign: Ed25519 over BLAKE2b, in four lines of text beside the file.
//!
//! A signature says who stands behind a certificate, not that it is true. Keys are made by `minisign -G -W`; those that a password
//! protects are refused, since an audit asks nobody for one.

use crate::Statement;
use blake2::{Blake2b256, Blake2b512, Digest};
use ct_codecs::{Base64, Decoder, Encoder};
use ed25519_compact::SecretKey;
use std::{fmt, path::Path};
use veracity_core::Error;
use veracity_core::files::read_text;

/// The file of a certificate's signature.
pub const FILE: &str = "certificate.json.minisig";
/// What an unprotected key has for the algorithm that protects it.
const UNPROTECTED: [u8; 2] = [0, 0];
/// Bytes of a secret key: three algorithms, salt and limits of the password, the key's number, the key, its checksum.
const SECRET: usize = 158;
const NUMBER: std::ops::Range<usize> = 54..62;
const KEY: std::ops::Range<usize> = 62..126;
const CHECKSUM: std::ops::Range<usize> = 126..158;
/// What is signed beside the certificate.
const TRUSTED: &str = "file:certificate.json\thashed";

/// A secret key that signs.
#[derive(Clone)]
pub struct SigningKey {
    number: [u8; 8],
    key: SecretKey,
}

impl SigningKey {
    /// Reads a secret key without a password.
    ///
    /// # Errors
    /// A file that is no secret key, or one that a password protects.
    pub fn read(path: &Path) -> Result<SigningKey, Error> {
        let refuse = |expected: &str| Error::file("sign", path, expected);
        let text = read_text("sign", path)?;
        let line = text.lines().nth(1).unwrap_or_default().trim();
        let not_one = || refuse("a secret key of minisign");
        let bytes = Base64::decode_to_vec(line, None).map_err(|_| not_one())?;
        if bytes.len() != SECRET || bytes[..2] != *b"Ed" || bytes[4..6] != *b"B2" {
            return Err(not_one());
        }
        if bytes[2..4] != UNPROTECTED {
            return Err(refuse(
                "a key without a password, as `minisign -G -W` makes it; this one is protected",
            ));
        }
        let sum = Blake2b256::digest([b"Ed", &bytes[NUMBER], &bytes[KEY]].concat());
        // Keys that were never protected may have no checksum.
        let has_sum = bytes[CHECKSUM].iter().any(|byte| *byte != 0);
        let key = SecretKey::from_slice(&bytes[KEY]).map_err(|_| not_one())?;
        let is_whole = key.validate_public_key(&key.public_key()).is_ok();
        if !is_whole || (has_sum && sum[..] != bytes[CHECKSUM]) {
            return Err(refuse("an undamaged secret key"));
        }
        let number = bytes[NUMBER].try_into().map_err(|_| not_one())?;
        Ok(SigningKey { number, key })
    }

    /// The text of a signature's file. The same key and bytes give the same text.
    ///
    /// # Errors
    /// None in practice: a signature can be written.
    pub fn sign(&self, bytes: &[u8]) -> Result<String, Error> {
        let signature = self.key.sign(Blake2b512::digest(bytes), None);
        let all = self.key.sign([&signature[..], TRUSTED.as_bytes()].concat(), None);
        let spell = |bytes: &[u8]| {
            Base64::encode_to_string(bytes).map_err(|_| Error::invalid("a signature cannot be written"))
        };
        Ok(format!(
            "untrusted comment: signature of a certificate by veracity\n{}\ntrusted comment: {TRUSTED}\n{}\n",
            spell(&[&b"ED"[..], &self.number, &signature[..]].concat())?,
            spell(&all[..])?
        ))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("number", &self.number).finish_non_exhaustive()
    }
}

impl PartialEq for SigningKey {
    fn eq(&self, other: &SigningKey) -> bool {
        self.number == other.number && self.key.public_key() == other.key.public_key()
    }
}

/// A public key that signatures are checked by.
#[derive(Debug)]
pub struct PublicKey(minisign_verify::PublicKey);

impl PublicKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// A file that is no public key.
    pub fn read(path: &Path) -> Result<PublicKey, Error> {
        minisign_verify::PublicKey::decode(&read_text("key", path)?)
            .map(PublicKey)
            .map_err(|_| Error::file("key", path, "a public key of minisign"))
    }

    /// Whether the signature beside a certificate is of this key and of these bytes.
    pub(crate) fn check(&self, text: &str, folder: &Path) -> Statement {
        let path = folder.join(FILE);
        let found = if path.exists() {
            read_text("signature", &path)
                .map_err(|error| error.to_string())
                .and_then(|signature| self.holds(text.as_bytes(), &signature).map_err(str::to_owned))
        } else {
            Err(format!("no {FILE} next to it"))
        };
        let stated = "of this key";
        Statement::words("signature", stated, found.err().unwrap_or_else(|| stated.to_owned()))
    }

    fn holds(&self, bytes: &[u8], signature: &str) -> Result<(), &'static str> {
        use minisign_verify::{Error, Signature};
        let signature = Signature::decode(signature).map_err(|_| "not a signature of minisign")?;
        self.0.verify(bytes, &signature, false).map_err(|error| match error {
            Error::UnexpectedKeyId => "of another key",
            _ => "not of this certificate by this key",
        })
    }
}

/// Whether a file is a signature.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| minisign_verify::Signature::decode(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first is of RFC 7693, the others of Python's hashlib.
    #[test]
    fn hashes_are_those_of_other_implementations() {
        let spelled = |hash: &[u8]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(
            spelled(&Blake2b512::digest(b"abc")),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
        );
        for (length, hash) in [
            (0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"),
            (128, "9101ed0a248b57efc0c6070cfbf9cf316c182d125ad6191c1f7783c3d32b6346"),
            (1000, "a494537cc57474059ebe7a7f7a76c03306551355abebb1967408ed04e7564fa9"),
        ] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
            assert_eq!(spelled(&Blake2b256::digest(bytes)), hash, "{length}");
        }
    }
}
