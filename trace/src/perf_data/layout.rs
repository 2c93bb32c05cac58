//! Where each field of a record lies: `perf_event_attr` and what its `sample_type` implies.
//!
//! Source: the kernel's `include/uapi/linux/perf_event.h`, the comments on `PERF_RECORD_SAMPLE` and `struct sample_id`.

use super::bytes::Endian;
use divvy_policy::CpuId;
use std::collections::BTreeMap;

const IP: u64 = 1 << 0;
pub(crate) const TID: u64 = 1 << 1;
pub(crate) const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
pub(crate) const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
pub(crate) const RAW: u64 = 1 << 10;
pub(crate) const IDENTIFIER: u64 = 1 << 16;
pub(crate) const CGROUP: u64 = 1 << 21;
/// Fields between the tracepoint's own and the cgroup, all but those of 8 bytes.
const BETWEEN: u64 = 0b1_1111 << 11 | 0b111 << 17;
pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;

/// One event's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    sample_type: u64,
    read_format: u64,
    sample_id_all: bool,
}

/// The origin of a record; every record has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub process: i32,
    pub tid: i32,
    pub t_ns: u64,
    pub cpu: CpuId,
    /// The current thread's cgroup, if the recording says it.
    pub cgroup: Option<u64>,
}

impl Layout {
    /// From a `perf_event_attr`.
    pub fn of_attr(attr: &[u8], endian: Endian) -> Option<Layout> {
        Some(Layout {
            sample_type: endian.u64(attr, 24)?,
            read_format: endian.u64(attr, 32)?,
            sample_id_all: endian.u64(attr, 40)? & SAMPLE_ID_ALL != 0,
        })
    }

    /// True when samples say when, where and by whom they were taken, and hold the tracepoint's fields.
    pub fn is_useful(&self) -> bool {
        let needed = TID | TIME | CPU | RAW;
        self.sample_type & needed == needed
    }

    /// Offset of the `PERF_SAMPLE_IP` field from the start of the payload.
    pub fn ip_offset(&self) -> Option<usize> {
        let first = if self.sample_type & IDENTIFIER != 0 { 8 } else { 0 };
        (self.sample_type & IP != 0).then_some(first)
    }

    /// Offset of the pair of `u32` process and thread id.
    pub fn tid_offset(&self) -> Option<usize> {
        let before = (self.sample_type & (IDENTIFIER | IP)).count_ones() as usize * 8;
        (self.sample_type & TID != 0).then_some(before)
    }

    /// The origin and the tracepoint's bytes of a sample's payload (the record without its 8-byte header).
    pub fn sample<'a>(&self, payload: &'a [u8], endian: Endian) -> Option<(Origin, &'a [u8])> {
        let has = |bit| self.sample_type & bit != 0;
        let mut at = 0;
        let mut take = |present: bool| {
            let here = at;
            at += if present { 8 } else { 0 };
            here
        };
        take(has(IDENTIFIER));
        take(has(IP));
        let tid = take(has(TID));
        let time = take(has(TIME));
        take(has(ADDR));
        take(has(ID));
        take(has(STREAM_ID));
        let cpu = take(has(CPU));
        take(has(PERIOD));
        let origin = Origin {
            process: endian.u32(payload, tid)? as i32,
            tid: endian.u32(payload, tid + 4)? as i32,
            t_ns: endian.u64(payload, time)?,
            cpu: CpuId::new(endian.u32(payload, cpu)?),
            cgroup: None,
        };
        if has(READ) {
            at = at.checked_add(self.read_size(payload.get(at..)?, endian)?)?;
        }
        if has(CALLCHAIN) {
            let entries = usize::try_from(endian.u64(payload, at)?).ok()?;
            at = at.checked_add(entries.checked_mul(8)?)?.checked_add(8)?;
        }
        let size = endian.u32(payload, at)? as usize;
        let end = (at + 4).checked_add(size)?;
        let raw = payload.get(at + 4..end)?;
        let cgroup = self.sample_type & (CGROUP | BETWEEN) == CGROUP;
        Some((Origin { cgroup: if cgroup { endian.u64(payload, end) } else { None }, ..origin }, raw))
    }

    fn read_size(&self, read: &[u8], endian: Endian) -> Option<usize> {
        let times = (self.read_format & 0b11).count_ones() as usize;
        let per_value =
            1 + usize::from(self.read_format & 1 << 2 != 0) + usize::from(self.read_format & 1 << 4 != 0);
        if self.read_format & 1 << 3 == 0 {
            return Some((times + per_value) * 8);
        }
        let count = usize::try_from(endian.u64(read, 0)?).ok()?;
        count.checked_mul(per_value)?.checked_add(1 + times)?.checked_mul(8)
    }

    /// The origin at the end of a record that is not a sample; `None` if the recorder left it out.
    pub fn trailer(&self, payload: &[u8], endian: Endian) -> Option<Origin> {
        if !self.sample_id_all || self.sample_type & (TID | TIME | CPU) != TID | TIME | CPU {
            return None;
        }
        let mut end = payload.len();
        let mut back = |bit| {
            end = if self.sample_type & bit != 0 { end.checked_sub(8)? } else { end };
            Some(end)
        };
        back(IDENTIFIER)?;
        let cpu = back(CPU)?;
        back(STREAM_ID)?;
        back(ID)?;
        let time = back(TIME)?;
        let tid = back(TID)?;
        Some(Origin {
            process: endian.u32(payload, tid)? as i32,
            tid: endian.u32(payload, tid + 4)? as i32,
            t_ns: endian.u64(payload, time)?,
            cpu: CpuId::new(endian.u32(payload, cpu)?),
            cgroup: None,
        })
    }
}

/// The layouts of all events of a recording, and how to tell which one a record has.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    all: Vec<Layout>,
    by_id: BTreeMap<u64, usize>,
}

impl Layouts {
    pub fn add(&mut self, layout: Layout, ids: impl Iterator<Item = u64>) {
        let index = self.all.iter().position(|l| *l == layout).unwrap_or_else(|| {
            self.all.push(layout);
            self.all.len() - 1
        });
        self.by_id.extend(ids.map(|id| (id, index)));
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True if several layouts are in use and records do not say which one is theirs.
    pub fn is_ambiguous(&self) -> bool {
        self.all.len() > 1 && !self.all.iter().all(|l| l.sample_type & IDENTIFIER != 0)
    }

    pub fn of_sample(&self, payload: &[u8], endian: Endian) -> Option<Layout> {
        match self.all.as_slice() {
            [only] => Some(*only),
            _ => self.of_id(endian.u64(payload, 0)?),
        }
    }

    pub fn of_other(&self, payload: &[u8], endian: Endian) -> Option<Layout> {
        match self.all.as_slice() {
            [only] => Some(*only),
            _ => self.of_id(endian.u64(payload, payload.len().checked_sub(8)?)?),
        }
    }

    fn of_id(&self, id: u64) -> Option<Layout> {
        self.by_id.get(&id).map(|&index| self.all[index])
    }
}
