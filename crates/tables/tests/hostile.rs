//! Files that lie, are cut off, or ask for more memory than there is: one line, no value in it, no panic.

use crate::written::{DEFLATED, STORED, file, from_hex, gzip, idx, npy, zip};
use proptest::{prelude::*, test_runner::RngSeed};
use std::path::Path;
use veracity_core::Error;
use veracity_tables::{
    Cells, Column, Form, LabelColumn, LabelKind, Layout, Limits, Source, assemble, read_features, read_idx,
    read_npy, read_npz,
};

/// A word that must never come back in a message.
const SECRET: &str = "hunter2";

fn small() -> Limits {
    Limits { rows: 1000, bytes: 1 << 21, values: 1 << 20, ratio: 64 }
}

fn line<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    let line = answer.unwrap_err().to_string();
    assert!(!line.contains('\n') && !line.contains(SECRET) && line.len() < 400, "{line}");
    assert!(["expected", "no such file"].iter().any(|word| line.contains(word)), "{line}");
    line
}

fn layout() -> Layout {
    Layout {
        form: Form::default(),
        columns: vec![Column { name: "x".into(), cells: Cells::Numbers { scale: None, missing: None } }],
        label: Some(LabelColumn { name: "y".into(), kind: LabelKind::Counted(3) }),
    }
}

#[test]
fn idx_files_that_lie_are_refused() {
    let read = |bytes: &[u8]| line(read_idx(&file("hostile.idx", bytes), &small()));
    let cut_off = "file is ".to_owned();
    for (bytes, expected) in [
        (vec![], "an IDX file, but it is text"),
        (vec![0, 0, 8], "truncated"),
        (b"hunter2 hunter2".to_vec(), "an IDX file, but it is text"),
        (idx(0x0d, &[1], &[0; 4]), "unsigned bytes"),
        (idx(8, &[], &[]), "at least one dimension"),
        (idx(8, &[2, 2], &[1, 2, 3]), "truncated"),
        (idx(8, &[2, 2], &[1, 2, 3, 4, 5]), "nothing after"),
        (idx(8, &[u32::MAX, u32::MAX, u32::MAX], &[]), "at most"),
        (idx(8, &[1 << 21], &[]), "at most"),
        (gzip(&idx(8, &[2, 2], &[1, 2, 3, 4]))[..20].to_vec(), "truncated"),
    ] {
        let found = read(&bytes);
        assert!(found.starts_with(&cut_off) && found.contains("hostile.idx"), "{found}");
        assert!(found.contains(expected), "{found}: {expected}");
    }
    let mut damaged = gzip(&idx(8, &[2, 2], &[1, 2, 3, 4]));
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    assert!(read(&damaged).contains("damaged"));
}

#[test]
fn a_gzip_bomb_is_stopped_by_its_ratio_and_a_large_file_by_its_bytes() {
    let strict = Limits { ratio: 2, ..small() };
    let zeros = gzip(&idx(8, &[1 << 20, 1], &vec![0; 1 << 20]));
    assert!(read_idx(&file("dense.idx", &zeros), &small()).is_ok());
    let zeros = gzip(&idx(8, &[1 << 20, 1], &vec![0; (1 << 20) + (1 << 16)]));
    assert!(line(read_idx(&file("bomb.idx", &zeros), &strict)).contains("nothing after"));
    let csv = gzip(&[b"x,y\n".to_vec(), b"1,1\n".repeat(450_000)].concat());
    assert!(line(read_features(&file("bomb.csv", &csv), &layout(), &strict)).contains("at most"));
    let wide = gzip(&[b"x,y\n\"".to_vec(), vec![b'a'; 1_900_000]].concat());
    assert!(
        line(read_features(&file("wide.csv", &wide), &layout(), &strict)).contains("per compressed byte")
    );
    let plain = [b"x,y\n\"".to_vec(), vec![b'a'; 3 << 20]].concat();
    assert!(line(read_features(&file("plain.csv", &plain), &layout(), &small())).contains("2097152 bytes"));
}

#[test]
fn npy_files_that_lie_are_refused() {
    let read = |bytes: &[u8]| line(read_npy(&file("hostile.npy", bytes), &small()));
    let good = npy(1, "<f4", false, "(2, 2)", &[0; 16]);
    for cut in 1..good.len() {
        assert!(read(&good[..cut]).contains("truncated"), "{cut}");
    }
    assert!(read(&[&good[..], b"x"].concat()).contains("nothing after"));
    assert!(read(b"hunter2 hunter2 hunter2").contains("an NPY file, but it is text"));
    assert!(read(&npy(4, "<f4", false, "(1,)", &[0; 4])).contains("version"));
    assert!(read(&npy(1, ">f4", false, "(1,)", &[0; 4])).contains("has other fields"));
    assert!(read(&npy(1, "hunter2", false, "(1,)", &[0; 4])).contains("has other fields"));
    for shape in ["(4611686018427387904, 4)", "(1048577,)", "(4611686018427387904, 4611686018427387904, 0)"] {
        assert!(read(&npy(1, "<f4", false, shape, &[])).contains("at most"), "{shape}");
    }
    let mut long = b"\x93NUMPY\x02\0".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert!(read(&long).contains("64 KiB"));
    // An empty side beside enormous ones: no number, and no overflow either.
    let empty = npy(1, "<f4", true, "(0, 4611686018427387904, 4611686018427387904)", &[]);
    let array = read_npy(&file("empty.npy", &empty), &small()).unwrap();
    line(assemble("x", &array, None, None, &small()));
    for value in [f32::NAN, f32::INFINITY] {
        let path = file("nan.npy", &npy(1, "<f4", false, "(1, 1)", &value.to_le_bytes()));
        let array = read_npy(&path, &small()).unwrap();
        assert!(line(assemble("x", &array, None, None, &small())).contains("finite numbers"));
    }
    let many = read_npy(&file("many.npy", &npy(1, "|u1", false, "(1001, 1)", &[0; 1001])), &small()).unwrap();
    assert!(line(assemble("x", &many, None, None, &small())).contains("1000 records"));
}

#[test]
fn npz_files_that_lie_are_refused() {
    let read = |bytes: &[u8]| line(read_npz(&file("hostile.npz", bytes), "a", &small()));
    let part = npy(1, "<f8", false, "(2,)", &[0; 16]);
    for (bytes, expected) in [
        (vec![], "an NPZ file, but it is text"),
        (b"PK\x03\x04hunter2".repeat(10), "no directory"),
        (zip("a.npy", 12, &part, |_| {}), "another compression"),
        (zip("b.npy", 0, &part, |_| {}), "an array called a"),
        (zip("a.npy", 0, &part, |entry| entry[8] = 1), "encrypted"),
        (zip("a.npy", 0, &part, |entry| entry[16] ^= 1), "checksum"),
        (zip("a.npy", 0, &part, |entry| entry[20..24].fill(0xff)), "4 GiB"),
        (zip("a.npy", 0, &part, |entry| entry[22] = 0x7f), "truncated"),
        (zip("a.npy", 8, &part, |entry| entry[42] = 9), "damaged"),
        (zip("a.npy", 0, &part, |entry| entry[28] = 0xff), "damaged"),
        (zip("a.npy", 0, &part, |entry| entry.extend(entry.clone())), "twice"),
    ] {
        let found = read(&bytes);
        assert!(found.contains(expected), "{found}: {expected}");
    }
    let bomb = npy(1, "|u1", false, "(1900000,)", &vec![0; 1_900_000]);
    let strict = Limits { ratio: 2, values: 1 << 22, ..small() };
    let path = file("bomb.npz", &zip("a.npy", 8, &bomb, |_| {}));
    assert!(line(read_npz(&path, "a", &strict)).contains("per compressed byte"));
    assert!(read_npz(&path, "a", &Limits { ratio: 1000, ..strict }).is_ok());
}

#[test]
fn csv_files_that_are_malformed_are_refused_by_their_place() {
    let read = |bytes: &[u8]| line(read_features(&file("hostile.csv", bytes), &layout(), &small()));
    for (bytes, expected) in [
        (&b""[..], "empty"),
        (b"\n\n", "empty"),
        (b"hunter2\n1\n", "a name in the header"),
        (b"x,x,y\n1,1,1\n", "twice"),
        (b"x,y\n1,1\n1,1,hunter2\n", "2 cells in record 2"),
        (b"x,y\n1\n", "2 cells in record 1"),
        (b"x,y\nhunter2,1\n", "a number in column x of record 1"),
        (b"x,y\n1,1\nNaN,1\n", "a number in column x of record 2"),
        (b"x,y\ninf,1\n", "a number in column x of record 1"),
        (b"x,y\n,1\n", "a number in column x of record 1"),
        (b"x,y\n\xff\xfe,1\n", "a number in column x of record 1"),
        (b"x,y\n1,3\n", "a label from 0 to 2 in column y of record 1"),
        (b"x,y\n1,-1\n", "a label from 0 to 2"),
        (b"x,y\n1,hunter2\n", "a label from 0 to 2"),
        (b"x,y\n1,\"hunter2", "the one in line 2"),
        (b"x,y,z\n1,1,\"hunter2\n1,1,a\n", "the one in line 2"),
        (b"x,y,z\n1,1,a\n1,1,\"hunter2\n1,1,\"a\"\n", "the one in line 3"),
        (b"x,y\n1,\"1\"hunter2\n", "the one in line 2"),
        (b"x,y\xff\n1,1\n", "UTF-8"),
        (b"x\0,\0y\n1,1\n", "binary"),
    ] {
        let found = read(bytes);
        assert!(found.contains(expected) && found.contains("hostile.csv"), "{found}: {expected}");
    }
    let many = [b"x,y\n".to_vec(), b"1,1\n".repeat(1001)].concat();
    assert!(read(&many).contains("at most 1000 records"));
    let nowhere = line(read_features(&Source::from(Path::new("nowhere/hunter1.csv")), &layout(), &small()));
    assert!(nowhere.contains("cannot read"), "{nowhere}");
    assert!(line(read_features(&Source::from(Path::new(".")), &layout(), &small())).contains("directory"));
}

fn read_all(path: &Source) {
    for limits in [small(), Limits { ratio: 1, ..small() }] {
        let arrays = [read_idx(path, &limits), read_npy(path, &limits), read_npz(path, "x", &limits)];
        for array in arrays {
            match array {
                Ok(array) => {
                    let kind = LabelKind::Counted(10);
                    let _ = assemble("x", &array, None, Some((&array, &kind)), &limits);
                }
                Err(refusal) => assert!(!refusal.to_string().contains('\n')),
            }
        }
        if let Err(refusal) = read_features(path, &layout(), &limits) {
            assert!(!refusal.to_string().contains('\n'));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_all(&file("random", &bytes));
    }

    #[test]
    fn no_change_to_a_good_file_makes_a_reader_panic(
        which in 0..7usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = match which {
            0 => from_hex(STORED),
            1 => from_hex(DEFLATED),
            2 => idx(8, &[2, 3], &[1, 2, 3, 4, 5, 6]),
            3 => gzip(&idx(8, &[2, 3], &[1, 2, 3, 4, 5, 6])),
            4 => npy(1, "<i4", true, "(2, 1)", &[0; 8]),
            5 => npy(3, "|u1", false, "(3,)", &[1, 2, 3]),
            _ => b"x,y\n1,2\n\"3\",1\n".to_vec(),
        };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        read_all(&file("changed", &bytes));
    }
}
