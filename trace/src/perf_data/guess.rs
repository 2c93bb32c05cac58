//! The shape of events in a file whose end, and with it their description, is missing.
//!
//! A switch and a wake-up have had the same fields in the same places since Linux 2.6.35, on 64 bits. An event is taken for one
//! if all that are looked at have that length, and names, numbers and priorities where a kernel would put them.

use super::bytes::{Endian, Stream};
use super::file::Description;
use super::format::Format;
use super::record::{SAMPLE, head as record_head};
use std::collections::BTreeMap;
use std::io::Read;

/// Records that are looked at.
const MOST_RECORDS: usize = 1 << 16;

/// Bytes of the fields, without and with the padding that perf adds.
const SWITCH: [usize; 2] = [64, 68];
const WAKE: [usize; 2] = [36, 36];

const HEAD: &str = "format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
";
const SWITCH_FIELDS: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;
";
const WAKE_FIELDS: &str = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;
";

/// Formats for the tracepoints in the records of `input`; `None` if switches are not among them.
pub(crate) fn formats(
    input: impl Read,
    offset: u64,
    description: &Description,
    endian: Endian,
) -> Option<Vec<Format>> {
    let mut stream = Stream::new(input, offset);
    let mut kinds: BTreeMap<u16, Option<&'static str>> = BTreeMap::new();
    let mut payload = Vec::new();
    for _ in 0..MOST_RECORDS {
        let mut head = [0; 8];
        let Ok(true) = stream.fill_or_end(&mut head, "a record") else { break };
        let Ok((kind, size)) = record_head(&head, endian) else { break };
        payload.resize(size, 0);
        if stream.fill(&mut payload, "a record").is_err() {
            break;
        }
        if kind != SAMPLE {
            continue;
        }
        let layout = description.layouts.of_sample(&payload, endian).filter(|layout| layout.is_useful());
        let Some((_, raw)) = layout.and_then(|layout| layout.sample(&payload, endian)) else { continue };
        let Some(id) = endian.u16(raw, 0) else { continue };
        let seen = shape(raw, endian);
        kinds
            .entry(id)
            .and_modify(|known| *known = known.filter(|known| Some(*known) == seen))
            .or_insert(seen);
    }
    let formats: Vec<Format> = kinds.iter().filter_map(|(id, kind)| format(*id, (*kind)?)).collect();
    formats.iter().any(|format| format.name == "sched_switch").then_some(formats)
}

fn format(id: u16, name: &str) -> Option<Format> {
    let fields = if name == "sched_switch" { SWITCH_FIELDS } else { WAKE_FIELDS };
    Format::parse(&format!("name: {name}\nID: {id}\n{HEAD}{fields}\nprint fmt: \"\"\n"))
}

/// The event that these bytes can be.
fn shape(raw: &[u8], endian: Endian) -> Option<&'static str> {
    let is_task = |at: usize| {
        let comm = raw.get(at..at + 16)?;
        let (tid, prio) = (endian.u32(raw, at + 16)? as i32, endian.u32(raw, at + 20)? as i32);
        Some(comm.contains(&0) && tid >= 0 && (-1..=139).contains(&prio)).filter(|fits| *fits)
    };
    if SWITCH.contains(&raw.len()) && is_task(8).is_some() && is_task(40).is_some() {
        return Some("sched_switch");
    }
    (WAKE.contains(&raw.len()) && is_task(8).is_some()).then_some("sched_waking")
}
