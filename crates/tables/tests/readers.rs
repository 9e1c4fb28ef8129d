//! Every format, every kind of number: what was written is what is read.

use crate::written::{DEFLATED, STORED, file, from_hex, gzip, idx, npy, zip};
use veracity_tables::{
    Cells, Column, Form, Header, LabelColumn, LabelKind, Labels, Layout, Limits, Numbers, Onto, Scale,
    Unknown, assemble, read_features, read_idx, read_npy, read_npz,
};

fn limits() -> Limits {
    Limits::default()
}

#[test]
fn images_and_labels_come_out_of_idx_files_plain_or_gzipped() {
    let pixels: Vec<u8> = (0..24).map(|at| at * 11).collect();
    let (images, labels) = (idx(8, &[2, 3, 4], &pixels), idx(8, &[2], &[9, 0]));
    for (name, pack) in [("plain", false), ("packed", true)] {
        let pack = |bytes: &[u8]| if pack { gzip(bytes) } else { bytes.to_vec() };
        let images = read_idx(&file(&format!("{name}-images"), &pack(&images)), &limits()).unwrap();
        let labels = read_idx(&file(&format!("{name}-labels"), &pack(&labels)), &limits()).unwrap();
        assert_eq!(images.shape(), [2, 3, 4]);
        let ten = LabelKind::Counted(10);
        let table = assemble("x", &images, Some(Scale::GREY), Some((&labels, &ten)), &limits()).unwrap();
        assert_eq!((table.rows(), table.width), (2, 12));
        assert_eq!(table.features[3], 33.0 / 255.0);
        assert_eq!(table.labels, Some(Labels::Classes { of: vec![9, 0], classes: 10 }));
        let nine = LabelKind::Counted(9);
        let refused = assemble("x", &images, None, Some((&labels, &nine)), &limits()).unwrap_err();
        assert_eq!(refused.to_string(), "file is x, expected labels from 0 to 8");
        assert!(assemble("x", &labels, None, Some((&images, &ten)), &limits()).is_err());
    }
}

#[test]
fn every_kind_of_number_comes_out_of_npy_files_in_either_order() {
    let kinds: [(&str, Vec<u8>, Numbers); 6] = [
        ("|u1", vec![1, 2, 3, 4, 5, 6], Numbers::U8(vec![1, 2, 3, 4, 5, 6])),
        ("|b1", vec![0, 1, 1, 0, 0, 1], Numbers::U8(vec![0, 1, 1, 0, 0, 1])),
        ("<i4", (-3..3i32).flat_map(i32::to_le_bytes).collect(), Numbers::I32((-3..3).collect())),
        ("<i8", (-3..3i64).flat_map(i64::to_le_bytes).collect(), Numbers::I64((-3..3).collect())),
        (
            "<f4",
            (0..6u8).flat_map(|x| (f32::from(x) / 8.0).to_le_bytes()).collect(),
            Numbers::F32((0..6u8).map(|x| f32::from(x) / 8.0).collect()),
        ),
        (
            "<f8",
            (0..6u8).flat_map(|x| (f64::from(x) / 3.0).to_le_bytes()).collect(),
            Numbers::F64((0..6u8).map(|x| f64::from(x) / 3.0).collect()),
        ),
    ];
    for (descr, bytes, numbers) in kinds {
        for version in 1..=3 {
            let path = file("kinds.npy", &npy(version, descr, false, "(2, 3)", &bytes));
            let array = read_npy(&path, &limits()).unwrap();
            assert_eq!((array.shape(), array.numbers()), (&[2, 3][..], &numbers), "{descr} {version}");
            let path = file("turned.npy", &npy(version, descr, true, "(3, 2)", &bytes));
            let turned = read_npy(&path, &limits()).unwrap();
            let back = file("back.npy", &npy(version, descr, true, "(1, 6)", &bytes));
            assert_eq!(read_npy(&back, &limits()).unwrap().numbers(), &numbers);
            assert_ne!(turned.numbers(), &numbers, "{descr}: columns were taken for rows");
        }
    }
}

#[test]
fn files_by_numpy_are_read_as_numpy_wrote_them() {
    for (name, text) in [("stored.npz", STORED), ("deflated.npz", DEFLATED)] {
        let path = file(name, &from_hex(text));
        let x = read_npz(&path, "x", &limits()).unwrap();
        assert_eq!(x.shape(), [3, 2]);
        assert_eq!(x.numbers(), &Numbers::F32(vec![1.5, -2.0, 0.0, 4.0, 7.0, 1e30]));
        assert_eq!(read_npz(&path, "y", &limits()).unwrap().numbers(), &Numbers::I64(vec![0, 2, 1]));
        let refused = read_npz(&path, "z", &limits()).unwrap_err().to_string();
        assert!(refused.contains("an array called z"), "{refused}");
    }
    let part = npy(2, "<f8", false, "(2,)", &[0; 16]);
    for method in [0, 8] {
        let path = file("own.npz", &zip("a.npy", method, &part, |_| {}));
        assert_eq!(read_npz(&path, "a", &limits()).unwrap().numbers(), &Numbers::F64(vec![0.0; 2]));
    }
}

fn layout() -> Layout {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    Layout {
        form: Form::default(),
        columns: vec![
            Column {
                name: "age".into(),
                cells: Cells::Numbers {
                    scale: Some(Scale::new(0.0, 100.0, Onto::Symmetric).unwrap()),
                    missing: Some(50.0),
                },
            },
            Column {
                name: "city".into(),
                cells: Cells::Categories { names: names(&["Bern", "Chur"]), unknown: Unknown::Other },
            },
            Column {
                name: "size".into(),
                cells: Cells::Categories { names: names(&["s", "l"]), unknown: Unknown::Zeros },
            },
            Column { name: "plain".into(), cells: Cells::Numbers { scale: None, missing: None } },
        ],
        label: Some(LabelColumn {
            name: "rich".into(),
            kind: LabelKind::Named(vec![names(&["no", "no."]), names(&["yes", "yes."])]),
        }),
    }
}

const PEOPLE: &str = "\u{feff}rich, city ,ignored,age,plain,size\r\nyes,Bern,\"a,b\",75,2,s\nno., Chur ,\"\n\",inf,-1e3,m\n\
                      no,Basel,,,0.5,l\n";

#[test]
fn columns_of_a_csv_file_become_features_by_their_declaration() {
    for bytes in [PEOPLE.as_bytes().to_vec(), gzip(PEOPLE.as_bytes())] {
        let table = read_features(&file("people.csv", &bytes), &layout(), &limits()).unwrap();
        assert_eq!((table.rows(), table.width), (3, 7));
        assert_eq!(table.features[..7], [0.5, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0]);
        assert_eq!(table.features[7..14], [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1e3]);
        assert_eq!(table.features[14..], [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.5]);
        assert_eq!(table.labels, Some(Labels::Classes { of: vec![1, 0, 0], classes: 2 }));
    }
    let without = Layout { label: None, ..layout() };
    assert_eq!(
        read_features(&file("people.csv", PEOPLE.as_bytes()), &without, &limits()).unwrap().labels,
        None
    );
}

#[test]
fn columns_without_a_header_are_counted_from_one() {
    let column =
        |name: &str| Column { name: name.into(), cells: Cells::Numbers { scale: None, missing: None } };
    let kind = LabelKind::Numbers(Some(Scale::new(0.0, 10.0, Onto::Unit).unwrap()));
    let layout = Layout {
        form: Form { delimiter: Some(b';'), header: Header::Counted, ..Form::default() },
        columns: vec![column("3"), column("1")],
        label: Some(LabelColumn { name: "2".into(), kind }),
    };
    let path = file("counted.csv", b"1;5;3\n4;20;6\n");
    let table = read_features(&path, &layout, &limits()).unwrap();
    assert_eq!(table.features, [3.0, 1.0, 6.0, 4.0]);
    assert_eq!(table.labels, Some(Labels::Values(vec![0.5, 1.0])));
    for name in ["0", "4", "age", "-1"] {
        let layout = Layout { columns: vec![column(name)], ..layout.clone() };
        assert!(read_features(&path, &layout, &limits()).is_err(), "{name}");
    }
}
