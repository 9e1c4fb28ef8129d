//! The safetensors format: eight bytes of length, a JSON header, and raw little-endian numbers.
//!
//! Only single-precision tensors are written or read, one after another without gaps. Reading is strict: what does not add up
//! to the last byte is refused. The crate of the format's authors is the twin in the tests; it does not write the files because the order
//! of its metadata changes from run to run, and a resumed run must end in the same bytes.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, path::Path};
use veracity_account::claims::release_note::hex;
use veracity_core::Error;

/// The longest header that is read.
const LONGEST_HEADER: u64 = 1 << 26;
/// The longest file that is read.
const LONGEST_FILE: u64 = 1 << 33;

/// A tensor with its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tensor {
    pub name: String,
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// Tensors and what is said about them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tensors {
    pub about: BTreeMap<String, String>,
    /// In the order of their bytes.
    pub tensors: Vec<Tensor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl Tensors {
    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut header = serde_json::Map::new();
        header.insert("__metadata__".into(), serde_json::json!(self.about));
        let mut end = 0;
        for tensor in &self.tensors {
            let start = end;
            end += 4 * tensor.values.len();
            let entry =
                serde_json::json!({ "dtype": "F32", "shape": tensor.shape, "data_offsets": [start, end] });
            header.insert(tensor.name.clone(), entry);
        }
        let mut text = serde_json::Value::Object(header).to_string().into_bytes();
        // The numbers begin at a multiple of eight bytes.
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.reserve(text.len() + end);
        bytes.extend(text);
        for tensor in &self.tensors {
            bytes.extend(tensor.values.iter().flat_map(|value| value.to_le_bytes()));
        }
        bytes
    }

    /// SHA-256 of names, types, shapes and bytes, tensor by tensor in the order of their names: the same however the file is
    /// laid out, and whatever is said about them. Each text and number has its length before it, so that none runs into the next.
    pub fn digest(&self) -> String {
        let mut tensors: Vec<&Tensor> = self.tensors.iter().collect();
        tensors.sort_by(|one, other| one.name.cmp(&other.name));
        let mut hash = Sha256::new();
        hash.update(b"veracity.tensors/1\n");
        let number = |hash: &mut Sha256, number: usize| hash.update((number as u64).to_le_bytes());
        number(&mut hash, tensors.len());
        for tensor in tensors {
            number(&mut hash, tensor.name.len());
            hash.update(tensor.name.as_bytes());
            hash.update(b"F32");
            number(&mut hash, tensor.shape.len());
            tensor.shape.iter().for_each(|side| number(&mut hash, *side));
            number(&mut hash, tensor.values.len());
            tensor.values.iter().for_each(|value| hash.update(value.to_le_bytes()));
        }
        hex(hash)
    }

    /// Reads a file. `what` names it in a refusal.
    pub fn read(what: &str, path: &Path) -> Result<Tensors, Error> {
        let refuse = |why: String| Error::invalid(format!("{what} is {}, expected {why}", path.display()));
        let unreadable = |error: std::io::Error| Error::unreadable(what, path, error);
        let length = std::fs::metadata(path).map_err(unreadable)?;
        if length.is_dir() {
            return Err(refuse("a file, found a directory".into()));
        }
        if length.len() > LONGEST_FILE {
            return Err(refuse("a file of at most 8 GiB".into()));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        Tensors::parse(&bytes)
            .map_err(|why| refuse(format!("a safetensors file that veracity wrote, found {why}")))
    }

    /// Takes a file apart, or says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Tensors, &'static str> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or("a truncated one")?;
        let length = u64::from_le_bytes(*length);
        if length > LONGEST_HEADER {
            return Err("one with a header that is too long");
        }
        let (header, numbers) = rest.split_at_checked(length as usize).ok_or("a truncated one")?;
        let mut header: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|_| "one with a header that is not a JSON object")?;
        let about = match header.remove("__metadata__") {
            Some(about) => {
                serde_json::from_value(about).map_err(|_| "one with metadata that are not strings")?
            }
            None => BTreeMap::new(),
        };
        let mut tensors = Vec::with_capacity(header.len());
        for (name, entry) in header {
            let entry: Entry = serde_json::from_value(entry)
                .map_err(|_| "one with a tensor without type, shape or position")?;
            tensors.push((entry, name));
        }
        tensors.sort_by_key(|(entry, _)| entry.data_offsets);
        let mut end = 0;
        let mut found = Vec::with_capacity(tensors.len());
        for (entry, name) in tensors {
            let [start, stop] = entry.data_offsets;
            let size = entry.shape.iter().try_fold(4usize, |size, side| size.checked_mul(*side));
            if entry.dtype != "F32" {
                return Err("one with a tensor of another type than F32");
            }
            if start != end || stop < start || size != Some(stop - start) {
                return Err("one with a tensor whose position does not fit its shape");
            }
            let bytes = numbers.get(start..stop).ok_or("a truncated one")?;
            let values = bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
            found.push(Tensor { name, shape: entry.shape, values });
            end = stop;
        }
        if end != numbers.len() {
            return Err("one with bytes after the last tensor");
        }
        Ok(Tensors { about, tensors: found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

    fn small() -> Tensors {
        let tensor = |name: &str, shape: &[usize], values: &[f32]| Tensor {
            name: name.into(),
            shape: shape.to_vec(),
            values: values.to_vec(),
        };
        Tensors {
            about: BTreeMap::from([("a".into(), "b".into())]),
            tensors: vec![
                tensor("z", &[2, 2], &[1.0, -0.0, f32::MAX, 5e-45]),
                tensor("a", &[0], &[]),
                tensor("b", &[1], &[7.5]),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read_bit_for_bit() {
        let bytes = small().to_bytes();
        let read = Tensors::parse(&bytes).unwrap();
        assert_eq!(read.to_bytes(), bytes);
        assert_eq!(read.tensors[0].values[1].to_bits(), (-0.0f32).to_bits());
        assert_eq!(u64::from_le_bytes(*bytes.first_chunk().unwrap()) % 8, 0);
    }

    /// Twin: the crate of the format's authors reads what is written here, and what it writes is read here.
    #[test]
    fn the_format_is_that_of_its_authors() {
        let ours = small();
        let bytes = ours.to_bytes();
        let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(theirs.len(), ours.tensors.len());
        for tensor in &ours.tensors {
            let found = theirs.tensor(&tensor.name).unwrap();
            let values: Vec<u8> = tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert_eq!((found.shape(), found.data()), (&tensor.shape[..], &values[..]), "{}", tensor.name);
        }
        let written = safetensors::serialize(theirs.iter(), None).unwrap();
        assert_eq!(Tensors::parse(&written).unwrap().digest(), ours.digest());
    }

    #[test]
    fn a_digest_is_of_the_tensors_and_of_nothing_else() {
        let whole = small();
        let digest = whole.digest();
        // # python 3.11: hashlib.sha256 over the same bytes, by struct.pack
        assert_eq!(digest, "f0d2ba9e21488b3e1a490742d0e31b366ee3801b8d09366baab747ebbc1a2f3f");
        let mut laid_out = whole.clone();
        laid_out.tensors.rotate_left(1);
        laid_out.about = BTreeMap::from([("other".into(), "words".into())]);
        assert_eq!(Tensors::parse(&laid_out.to_bytes()).unwrap().digest(), digest);
        // Every bit counts, and so do names and shapes.
        for (tensor, value) in [(0, 0), (0, 1), (0, 2), (0, 3), (2, 0)] {
            for bit in 0..32 {
                let mut other = whole.clone();
                let flipped = &mut other.tensors[tensor].values[value];
                *flipped = f32::from_bits(flipped.to_bits() ^ (1 << bit));
                assert_ne!(other.digest(), digest, "tensor {tensor}, value {value}, bit {bit}");
            }
        }
        let changes: [fn(&mut Tensors); 5] = [
            |it| it.tensors[0].shape = vec![4],
            |it| it.tensors[0].shape = vec![1, 4],
            |it| it.tensors[1].name = "c".into(),
            |it| drop(it.tensors.remove(1)),
            // The same bytes, moved from one tensor to the next.
            |it| {
                it.tensors[0] =
                    Tensor { name: "z".into(), shape: vec![3], values: vec![1.0, -0.0, f32::MAX] };
                it.tensors[1] = Tensor { name: "a".into(), shape: vec![1], values: vec![5e-45] };
            },
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut other = whole.clone();
            change(&mut other);
            assert_ne!(other.digest(), digest, "change {at}");
        }
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        let good = small().to_bytes();
        for cut in 0..good.len() {
            assert!(Tensors::parse(&good[..cut]).is_err(), "{cut}");
        }
        assert_eq!(Tensors::parse(&[&good[..], b"x"].concat()), Err("one with bytes after the last tensor"));
        let mut huge = good.clone();
        huge[..8].fill(0xff);
        assert_eq!(Tensors::parse(&huge), Err("one with a header that is too long"));
        let swap = |from: &str, to: &str| {
            let (head, tail) = good.split_at(8);
            let at = tail.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
            Tensors::parse(&[head, &tail[..at], to.as_bytes(), &tail[at + from.len()..]].concat())
        };
        assert!(swap("F32", "F64").is_err());
        assert!(swap("[2,2]", "[2,3]").is_err());
        assert!(swap("[16,20]", "[12,16]").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_bytes_make_the_reader_panic(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = small().to_bytes();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = Tensors::parse(&bytes);
            bytes.truncate(cut.index(bytes.len() + 1));
            let _ = Tensors::parse(&bytes);
        }
    }
}
