//! SchedViz's recordings: an archive, or a directory, with the kernel's raw ring buffers (`traces/cpu0`..) and the descriptions
//! of its tracepoints (`formats/sched/*/format`).
//!
//! Source: `util/trace.sh` of google/schedviz, which makes them.

use crate::error::{ErrorKind, TraceError};
use crate::folder::{Chain, Folder};
use crate::import::Facts;
use crate::perf_data::format::Format;
use crate::perf_data::window::Sink;
use crate::trace_dat::{self, Metadata};

/// The description of a page, which each of them has.
pub(crate) const HEADER_PAGE: &str = "formats/header_page";
/// The file that tells the kind of a recording.
pub(crate) const METADATA: &str = "metadata.textproto";

/// Most bytes of a description.
const MOST_FORMAT: u64 = 1 << 20;

/// Reads the recording whose pages are described in the file `header_page`.
pub(crate) fn import(folder: &Folder, header_page: &str, sink: &mut Sink) -> Result<Facts, TraceError> {
    let root = header_page.strip_suffix(HEADER_PAGE).unwrap_or_default();
    let below = |directory: &str| {
        let start = format!("{root}{directory}/");
        folder.names().filter(move |name| name.starts_with(&start)).collect::<Vec<_>>()
    };
    let mut cpus: Vec<(u32, &str)> =
        below("traces").into_iter().filter_map(|name| Some((cpu(name)?, name))).collect();
    cpus.sort_unstable();
    if cpus.is_empty() {
        let what = "the recording of SchedViz has no traces/cpu0";
        return Err(TraceError::new(ErrorKind::Empty, what).advise("record with SchedViz's util/trace.sh"));
    }
    let mut formats = Vec::new();
    for name in below("formats").into_iter().filter(|name| name.ends_with("/format")) {
        let text = folder.content(name, MOST_FORMAT)?;
        formats.extend(Format::parse(&String::from_utf8_lossy(&text)));
    }
    let mut description = Metadata::of_formats(formats, &folder.content(header_page, MOST_FORMAT)?);
    let (mut parts, mut start) = (Vec::new(), 0);
    for (cpu, name) in cpus {
        let part = folder.open(name)?;
        description
            .add_part(trace_dat::Part { cpu, offset: start, size: part.len(), is_compressed: false }, 0)?;
        start += part.len();
        parts.push(part);
    }
    let facts = Facts { format: "SchedViz", ..Facts::default() };
    trace_dat::pages(&description, Chain::new(parts), facts, sink)
}

/// What is no recording of the kernel's pages.
pub(crate) fn other() -> TraceError {
    TraceError::new(
        ErrorKind::Unsupported,
        "this is a recording of SchedViz by eBPF, or one without formats/header_page",
    )
    .advise("record with SchedViz's util/trace.sh")
}

/// The number of a CPU at the end of a name.
fn cpu(name: &str) -> Option<u32> {
    name.rsplit('/').next()?.strip_prefix("cpu")?.parse().ok()
}
