//! The heads of records: `perf_event_type` and `perf_user_event_type`.

use super::bytes::Endian;
use crate::error::{ErrorKind, TraceError};

pub const LOST: u32 = 2;
pub const COMM: u32 = 3;
pub const EXIT: u32 = 4;
pub const FORK: u32 = 7;
pub const SAMPLE: u32 = 9;
pub const LOST_SAMPLES: u32 = 13;
pub const CGROUP: u32 = 19;
pub const HEADER_ATTR: u32 = 64;
pub const TRACING_DATA: u32 = 66;
pub const FINISHED_ROUND: u32 = 68;
pub const ID_INDEX: u32 = 69;
pub const AUXTRACE: u32 = 71;
pub const HEADER_FEATURE: u32 = 80;
pub const COMPRESSED: u32 = 81;
pub const FINISHED_INIT: u32 = 82;
pub const COMPRESSED2: u32 = 83;

/// The type of a record and the size of what follows its 8-byte head.
pub(crate) fn head(head: &[u8; 8], endian: Endian) -> Result<(u32, usize), TraceError> {
    let kind = endian.u32(head, 0).unwrap_or(0);
    let size = usize::from(endian.u16(head, 6).unwrap_or(0));
    match size.checked_sub(8) {
        Some(rest) => Ok((kind, rest)),
        None => {
            Err(TraceError::new(ErrorKind::Malformed, format!("a record of type {kind} claims {size} bytes"))
                .advise("the file is damaged here: copy it again, or record again"))
        }
    }
}
