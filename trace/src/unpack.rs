//! Takes gzip or zstd off a trace, piece by piece.

use crate::error::{ErrorKind, TraceError};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// Most bytes that a compressed trace may hold. A few bytes can claim any number.
pub(crate) const MOST_UNPACKED_BYTES: u64 = 1 << 32;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// By the first bytes of a file. A frame of zstd that holds no data may come first.
    pub fn of(start: &[u8]) -> Option<Packing> {
        match start {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }

    /// The content, as it is read.
    pub fn unpack<'a>(self, packed: impl BufRead + 'a) -> BufReader<Unpacked<'a>> {
        let inner: Box<dyn Read + 'a> = match self {
            Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Packing::Zstd => {
                Box::new(Frames { input: packed, decoder: FrameDecoder::new(), in_frame: false })
            }
        };
        BufReader::with_capacity(1 << 18, Unpacked { inner, packing: self, count: 0 })
    }
}

/// Content that is unpacked as it is read. Damage is an error, with how far it came.
pub(crate) struct Unpacked<'a> {
    inner: Box<dyn Read + 'a>,
    packing: Packing,
    count: u64,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => {
                let (name, count) = (self.packing.name(), self.count);
                let what = format!("the {name} data is damaged or cut after {count} unpacked bytes: {error}");
                io::Error::new(io::ErrorKind::InvalidData, what)
            }
        })?;
        self.count += got as u64;
        if self.count > MOST_UNPACKED_BYTES {
            let what = format!("more than {} GiB unpacked: unpack it first", MOST_UNPACKED_BYTES >> 30);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(got)
    }
}

/// The frames of a zstd file, one after the other. A block is unpacked at a time.
struct Frames<R> {
    input: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame {
                while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    self.decoder.decode_blocks(&mut self.input, one).map_err(io::Error::other)?;
                }
                if self.decoder.can_collect() > 0 {
                    return self.decoder.read(buffer);
                }
                self.end_frame()?;
            } else if self.input.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.begin_frame()?;
            }
        }
    }
}

impl<R: BufRead> Frames<R> {
    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.input) {
            Ok(()) => self.in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("the checksum is another"));
        }
        Ok(())
    }
}

/// A file without a name that holds the content, for formats that are not read from front to back.
pub(crate) fn spool(content: &mut impl Read) -> Result<BufReader<File>, TraceError> {
    let mut file = tempfile::tempfile()?;
    io::copy(content, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::with_capacity(1 << 18, file))
}

pub(crate) fn packed_twice() -> TraceError {
    TraceError::new(ErrorKind::Unsupported, "this is compressed more than once").advise("unpack it first")
}
