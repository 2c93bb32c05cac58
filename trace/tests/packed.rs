//! Compressed traces: gzip and zstd around anything, `perf record -z`, and the directories of `perf record --threads`.

mod common;

use common::perf_file::{self, Shape};
use common::text::{self, Style};
use common::{Random, schedule};
use divvy_trace::{ErrorKind, ReadOptions, Recording, TraceError, read, read_bytes, write_perfetto};
use flate2::{Compression, write::GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;

fn import(bytes: &[u8]) -> Result<Recording, TraceError> {
    read_bytes(bytes, "test", &ReadOptions::default())
}

fn names() -> Vec<Vec<u8>> {
    vec![b"alpha".to_vec(), b"beta".to_vec()]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// One of each format.
fn traces() -> Vec<Vec<u8>> {
    let events = schedule(5, 120, 2, 1, &names()).events;
    let text = text::print(&events, Style::Kernel, 9, true);
    let mut perfetto = Vec::new();
    write_perfetto(&import(&text).expect("readable").schedule(), &mut perfetto).expect("written");
    let file = perf_file::write(&events, Shape::default());
    let pipe = perf_file::write(&events, Shape { pipe: true, ..Shape::default() });
    vec![text, perfetto, file, pipe]
}

#[test]
fn what_is_packed_is_the_same() {
    for plain in traces() {
        let expected = import(&plain).expect("readable");
        let (front, back) = plain.split_at(plain.len() / 2);
        let two_frames = [zstd(front), b"\x52\x2a\x4d\x18\x03\0\0\0xyz".to_vec(), zstd(back)].concat();
        for packed in [gzip(&plain), [gzip(front), gzip(back)].concat(), zstd(&plain), two_frames] {
            assert_eq!(import(&packed).expect("readable"), expected);
        }
        let error = import(&gzip(&zstd(&plain))).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::Unsupported);
        assert!(error.to_string().contains("more than once"), "{error}");
    }
}

/// Damage and cuts: an error that says how far it came, or a recording, never a panic.
#[test]
fn ten_thousand_damaged_files() {
    let mut random = Random(1);
    let traces = traces();
    let packed: Vec<Vec<u8>> = traces.iter().flat_map(|plain| [gzip(plain), zstd(plain)]).collect();
    let mut read = 0;
    for _ in 0..10_000 {
        let mut bytes = packed[random.below(packed.len())].clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = random.below(256) as u8,
                _ => bytes[at] ^= 1 << random.below(8),
            }
        }
        match import(&bytes) {
            Ok(_) => read += 1,
            Err(error) => assert!(error.to_string().lines().count() <= 2, "{error}"),
        }
    }
    assert!(read > 0);
}

/// A thousand bytes may hold a gigabyte: it goes through, and is not kept.
#[test]
fn a_bomb_is_no_trace() {
    let zeros = vec![b'x'; 1 << 24];
    for packed in [gzip(&zeros), zstd(&zeros)] {
        assert!(packed.len() < 1 << 17, "{}", packed.len());
        assert_eq!(import(&packed).expect_err("refused").kind, ErrorKind::Foreign);
    }
}

/// As `perf record -z` writes it: a stream of zstd in pieces, which ends without an end.
fn compressed(events: &[common::Event], piece: usize, is_old: bool) -> Vec<u8> {
    let mut records = perf_file::Writer::new(Shape::default());
    events.iter().for_each(|event| records.event(event));
    let mut stream = zstd(&records.data);
    let checksum = stream[4] >> 2 & 1;
    stream.truncate(stream.len() - 4 * usize::from(checksum));
    stream[4] &= !4;
    let mut writer = perf_file::Writer::new(Shape::default());
    for (index, bytes) in stream.chunks(piece).enumerate() {
        match is_old {
            true => writer.record(81, bytes),
            false => {
                let mut data = (bytes.len() as u64).to_le_bytes().to_vec();
                data.extend_from_slice(bytes);
                data.resize(data.len().next_multiple_of(8), 0);
                writer.record(83, &data);
            }
        }
        if index % 3 == 0 {
            writer.finished_round();
        }
    }
    writer.finish()
}

#[test]
fn compressed_records() {
    let events = schedule(9, 400, 2, 1, &names()).events;
    let expected = import(&perf_file::write(&events, Shape::default())).expect("readable");
    for (piece, is_old) in [(100, true), (1000, true), (60_000, true), (333, false)] {
        let got = import(&compressed(&events, piece, is_old)).expect("readable");
        assert_eq!(got, expected, "{piece}");
    }
}

#[test]
fn ten_thousand_damaged_recordings_with_compressed_records() {
    let mut random = Random(2);
    let whole = compressed(&schedule(9, 150, 2, 1, &names()).events, 200, true);
    for _ in 0..10_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len()).max(1));
        }
        if let Err(error) = import(&bytes) {
            assert!(error.to_string().lines().count() <= 2, "{error}");
        }
    }
}

/// The first file describes; each CPU's events are in a file of their own.
#[test]
fn a_directory_of_threads() {
    let events = schedule(4, 300, 2, 1, &names()).events;
    let expected = import(&perf_file::write(&events, Shape::default())).expect("readable");
    let directory = tempfile::tempdir().expect("a directory");
    let mut main = perf_file::Writer::new(Shape::default());
    main.finished_round(); // some record: an empty data section means that perf was killed
    std::fs::write(directory.path().join("data"), main.finish()).expect("written");
    for cpu in 0..2 {
        let mut part = perf_file::Writer::new(Shape::default());
        for (index, event) in events.iter().filter(|event| event.cpu == cpu).enumerate() {
            part.event(event);
            if index % 10 == 9 {
                part.finished_round();
            }
        }
        std::fs::write(directory.path().join(format!("data.{cpu}")), part.data).expect("written");
    }
    let got = read(directory.path(), &ReadOptions::default()).expect("readable");
    assert_eq!(got, expected);
    std::fs::write(directory.path().join("data.0"), [1, 0, 0, 0, 0, 0, 4, 0]).expect("written");
    let error = read(directory.path(), &ReadOptions::default()).expect_err("refused");
    assert!(error.file.ends_with("data.0"), "{error}");
}

/// Every known format that is not read is named, with what to do.
#[test]
fn known_formats_are_named() {
    let starts: [(&[u8], &str); 12] = [
        (b"\xfd7zXZ\0\0", "unxz"),
        (b"BZh91AY", "bunzip2"),
        (b"\x04\x22\x4d\x18", "unlz4"),
        (b"PK\x03\x04", "unzip"),
        (b"\xc1\x1f\xfc\xc1", "LTTng"),
        (b"/* CTF 1.8 */", "LTTng"),
        (b"SIMPLEPERF", "simpleperf"),
        (b"SQLite format 3\0", "database"),
        (b"PAR1", "Parquet"),
        (b"{\"traceEvents\":[", "Chrome"),
        (b"TRACE:\n\x78\x9c", "atrace"),
        (b"\xff\xfe#\0", "UTF-16"),
    ];
    for (start, says) in starts {
        let error = import(start).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(says) && !error.advice.is_empty(), "{error}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let refused = |says: &str| {
        let error = read(directory.path(), &ReadOptions::default()).expect_err("refused").to_string();
        assert!(error.contains(says), "{error}");
    };
    refused("not one of perf record --threads");
    std::fs::write(directory.path().join("metadata"), "/* CTF 1.8 */").expect("written");
    refused("CTF");
}
