//! A column of many integers as text: base64 of zlib of LEB128.
//!
//! Any language reads it: `zlib.decompress(base64.b64decode(text))` in Python, `atob` and `DecompressionStream("deflate")`
//! in a browser. Seven bits a byte, least first, the high bit says that more follow.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Integers, encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Column(String);

impl Column {
    /// Encodes them.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Column {
        let mut bytes = Vec::new();
        numbers.into_iter().for_each(|number| push(&mut bytes, number));
        Column(base64(&zlib(&bytes)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Least significant seven bits first.
fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// zlib's format, the same bytes on every machine.
pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // A Vec takes all that it is given.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes what is written to it")
}

/// With padding.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(*group.get(i).unwrap_or(&0)));
        for digit in 0..4 {
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= group.len() { char::from(ALPHABET[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Read as _;

    use super::*;

    /// A decoder written from the format's description.
    pub fn decode(column: &Column) -> Vec<u64> {
        let digits = column.0.bytes().filter(|b| *b != b'=');
        let bits: Vec<u8> = digits
            .flat_map(|b| {
                let value = ALPHABET.iter().position(|a| *a == b).expect("a digit");
                (0..6).rev().map(move |bit| (value >> bit & 1) as u8)
            })
            .collect();
        let bytes: Vec<u8> =
            bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |value, bit| value << 1 | bit)).collect();
        let mut plain = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_end(&mut plain).expect("zlib");
        let mut numbers = Vec::new();
        let (mut number, mut shift) = (0, 0);
        for byte in plain {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                numbers.push(std::mem::take(&mut number));
                shift = 0;
            }
        }
        numbers
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        for numbers in [vec![], vec![0], vec![127, 128, 16_383, 16_384, u64::MAX], (0..5000).collect()] {
            assert_eq!(decode(&Column::of(numbers.iter().copied())), numbers);
        }
    }

    /// RFC 4648, section 10.
    #[test]
    fn base64_is_the_usual_one() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
