//! Small files of every format, written by hand, and two by numpy.

#![allow(dead_code, clippy::unwrap_used)] // Each test file uses the part that it needs.

use flate2::{Compression, Crc, write::DeflateEncoder, write::GzEncoder};
use parquet::{
    data_type::{ByteArrayType, DataType, DoubleType, Int64Type},
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};
use std::{io::Write, sync::Arc};
use veracity_tables::Source;

/// numpy 2.4.6: x = asfortranarray([[1.5, -2], [0, 4], [7, 1e30]], '<f4'); y = array([0, 2, 1], '<i8'); savez(f, x=x, y=y).
pub const STORED: &str = "504b03042d000000000000002100bc77fcabffffffffffffffff05001400782e6e7079010010009800000000000000980000\
     0000000000934e554d5059010076007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2054\
     7275652c20277368617065273a2028332c2032292c207d202020202020202020202020202020202020202020202020202020\
     20202020202020202020202020202020202020202020202020202020202020200a0000c03f000000000000e040000000c000\
     008040caf24971504b03042d000000000000002100e6f3554dffffffffffffffff05001400792e6e70790100100098000000\
     000000009800000000000000934e554d5059010076007b276465736372273a20273c6938272c2027666f727472616e5f6f72\
     646572273a2046616c73652c20277368617065273a2028332c292c207d202020202020202020202020202020202020202020\
     2020202020202020202020202020202020202020202020202020202020202020202020202020200a00000000000000000200\
     0000000000000100000000000000504b01022d032d000000000000002100bc77fcab98000000980000000500000000000000\
     00000000800100000000782e6e7079504b01022d032d000000000000002100e6f3554d980000009800000005000000000000\
     00000000008001cf000000792e6e7079504b05060000000002000200660000009e0100000000";

/// The same by savez_compressed.
pub const DEFLATED: &str = "504b03042d000000080000002100bc77fcabffffffffffffffff05001400782e6e7079010010009800000000000000590000\
     00000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a120f292a\
     4d050a17672416a402b91ac63a0a469a3a0ab50ae4032e068603f60c60f0c001481c6060687038f5c9b31000504b03042d00\
     0000080000002100e6f3554dffffffffffffffff05001400792e6e70790100100098000000000000004c000000000000009b\
     ec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e965f54529498179f5f94920a12774bcc294e058a1767\
     2416a402f91ac63a9a3a0ab50a14002e06286082d28c501a00504b01022d032d000000080000002100bc77fcab5900000098\
     000000050000000000000000000000800100000000782e6e7079504b01022d032d000000080000002100e6f3554d4c000000\
     98000000050000000000000000000000800190000000792e6e7079504b0506000000000200020066000000130100000000";

pub fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A file that lies in memory.
pub fn file(name: &str, bytes: &[u8]) -> Source {
    Source::in_memory(name, bytes)
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// One frame that is stored plain, with its length and its checksum.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// The people of the tests as a Parquet file: an age that may be missing, a city, and a whole number.
pub fn parquet_people() -> Vec<u8> {
    let schema =
        "message people { optional double age; optional byte_array city (UTF8); required int64 id; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let rows = [(vec![31.0], [1, 0], ["Bern", "Basel"], [7, 8]), (vec![-2.5], [1, 0], ["", "a\nb"], [7, 9])];
    for (ages, present, cities, ids) in rows {
        let mut group = writer.next_row_group().unwrap();
        write::<DoubleType, _>(&mut group, &ages, Some(&present));
        write::<ByteArrayType, _>(&mut group, &cities.map(Into::into), Some(&[1, 1]));
        write::<Int64Type, _>(&mut group, &ids, None);
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// Writes the next column of a group; where it may be missing, `present` says on which rows it is there.
pub fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, present, None).unwrap();
    column.close().unwrap();
}

pub fn idx(kind: u8, shape: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, kind, shape.len() as u8];
    file.extend(shape.iter().flat_map(|side| side.to_be_bytes()));
    file.extend(bytes);
    file
}

pub fn npy(version: u8, descr: &str, column_major: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let order = if column_major { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    let length = header.len() as u32;
    file.extend(&length.to_le_bytes()[..if version == 1 { 2 } else { 4 }]);
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

/// A zip of one part, by method 0 or 8; `tamper` may change its directory entry.
pub fn zip(name: &str, method: u16, part: &[u8], tamper: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut sum = Crc::new();
    sum.update(part);
    let packed = if method == 8 {
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
        packer.write_all(part).unwrap();
        packer.finish().unwrap()
    } else {
        part.to_vec()
    };
    let mut about = vec![20, 0, 0, 0];
    about.extend(method.to_le_bytes());
    about.extend([0; 4]);
    for number in [sum.sum(), packed.len() as u32, part.len() as u32] {
        about.extend(number.to_le_bytes());
    }
    about.extend((name.len() as u16).to_le_bytes());
    about.extend([0, 0]);
    let mut file = b"PK\x03\x04".to_vec();
    file.extend(&about);
    file.extend(name.as_bytes());
    file.extend(&packed);
    let start = file.len() as u32;
    let mut entry = b"PK\x01\x02".to_vec();
    entry.extend([20, 0]);
    entry.extend(&about);
    entry.extend([0; 14]);
    entry.extend(name.as_bytes());
    tamper(&mut entry);
    file.extend(&entry);
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend((entry.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}
