//! Records in records: what `perf record -z` writes. The pieces are one stream of zstd, which perf does not end.

use crate::error::{ErrorKind, TraceError};
use ruzstd::decoding::FrameDecoder;
use std::io::Read;

/// Bytes of a block's head: one bit for the last block, two for its kind, 21 for its size.
const BLOCK_HEAD: usize = 3;
/// A block of one byte, repeated.
const RUN_LENGTH: u32 = 1;
/// The longest head of a frame.
const FRAME_HEAD: usize = 18;
/// An empty block that ends a frame.
const LAST_BLOCK: [u8; BLOCK_HEAD] = [1, 0, 0];
/// Most bytes of a block; a frame has no larger ones.
const MOST_BLOCK: usize = 128 << 10;

/// The stream, as far as it was unpacked.
#[derive(Default)]
pub(crate) struct Compressed {
    decoder: FrameDecoder,
    in_frame: bool,
    /// Packed bytes that are no whole block yet.
    packed: Vec<u8>,
    /// Unpacked bytes that were not taken yet.
    pub unpacked: Vec<u8>,
}

impl Compressed {
    /// Takes the next piece. Unpacked bytes may come later than their piece, because the decoder keeps a window of them.
    pub fn add(
        &mut self,
        piece: &[u8],
        mut take: impl FnMut(&mut Vec<u8>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.packed.extend_from_slice(piece);
        let mut at = 0;
        while let Some(used) = self.step(at)? {
            at += used;
            take(&mut self.unpacked)?;
        }
        self.packed.drain(..at);
        Ok(())
    }

    /// Ends the stream, so that nothing stays in the window.
    pub fn end(&mut self) -> Result<(), TraceError> {
        if self.in_frame {
            self.packed.clear();
            self.packed.extend(LAST_BLOCK);
            self.step(0)?;
        }
        Ok(())
    }

    /// Unpacks one block, or reads a frame's head; `None` if it is not there yet.
    fn step(&mut self, at: usize) -> Result<Option<usize>, TraceError> {
        let rest = &self.packed[at..];
        if !self.in_frame {
            return self.begin(at);
        }
        let Some(head) = rest.get(..BLOCK_HEAD) else { return Ok(None) };
        let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let (is_last, kind, size) = (head & 1 == 1, head >> 1 & 3, (head >> 3) as usize);
        if size > MOST_BLOCK {
            return Err(damaged("a block is too long"));
        }
        let length = BLOCK_HEAD + if kind == RUN_LENGTH { 1 } else { size };
        let Some(block) = rest.get(..length) else { return Ok(None) };
        let mut output = [0; 4096];
        let (_, mut got) = self.decoder.decode_from_to(block, &mut output).map_err(damaged)?;
        self.unpacked.extend_from_slice(&output[..got]);
        while got == output.len() {
            got = self.decoder.read(&mut output)?;
            self.unpacked.extend_from_slice(&output[..got]);
        }
        self.in_frame = !is_last;
        Ok(Some(length))
    }

    fn begin(&mut self, at: usize) -> Result<Option<usize>, TraceError> {
        let rest = &self.packed[at..];
        let mut input = rest;
        match self.decoder.init(&mut input) {
            Ok(()) => self.in_frame = true,
            Err(_) if rest.len() < FRAME_HEAD => return Ok(None),
            Err(error) => return Err(damaged(error)),
        }
        Ok(Some(rest.len() - input.len()))
    }
}

fn damaged(error: impl std::fmt::Display) -> TraceError {
    TraceError::new(ErrorKind::Malformed, format!("a compressed record does not unpack: {error}"))
        .advise("the file is damaged here: copy it again, or record again")
}
