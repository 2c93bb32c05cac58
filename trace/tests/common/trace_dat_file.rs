//! Writes `trace.dat` from the format's description, without the reader's code.

use super::perf_file::{FORK_FIELDS, SWITCH_FIELDS, WAKE_FIELDS};
use super::{Event, Kind, Name};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;

#[derive(Clone, Copy, PartialEq)]
pub enum Packed {
    No,
    Zstd,
    Zlib,
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub version: u8,
    pub big_endian: bool,
    /// Bytes of a `long`.
    pub long: usize,
    pub packed: Packed,
}

pub const PAGE: usize = 512;
pub const SHAPES: [Shape; 6] = [
    Shape { version: 6, big_endian: false, long: 8, packed: Packed::No },
    Shape { version: 6, big_endian: true, long: 8, packed: Packed::No },
    Shape { version: 6, big_endian: false, long: 4, packed: Packed::No },
    Shape { version: 7, big_endian: false, long: 8, packed: Packed::No },
    Shape { version: 7, big_endian: false, long: 8, packed: Packed::Zstd },
    Shape { version: 7, big_endian: true, long: 4, packed: Packed::Zlib },
];

impl Shape {
    fn int(&self, value: u64, size: usize) -> Vec<u8> {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if self.big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn ints(&self, values: &[(u64, usize)]) -> Vec<u8> {
        values.iter().flat_map(|&(value, size)| self.int(value, size)).collect()
    }

    fn sized(&self, data: &[u8]) -> Vec<u8> {
        [self.int(data.len() as u64, 8), data.to_vec()].concat()
    }

    /// A tracepoint's bytes.
    fn raw(&self, event: &Event) -> Vec<u8> {
        let flags = if event.interrupt { 0x09 } else { 0x01 };
        let common = |id| self.ints(&[(id, 2), (flags, 1), (0, 1), (event.current.tid as u64, 4)]);
        let task = |name: &Name| {
            let mut comm = name.comm.clone();
            comm.resize(16, 0);
            [comm, self.ints(&[(name.tid as u64, 4), (120, 4)])].concat()
        };
        match &event.kind {
            Kind::Switch { prev, state, next } => {
                let state = match *state {
                    "R" => 0,
                    "R+" => 0x100,
                    "S" => 1,
                    "D" => 2,
                    _ => 0x10,
                };
                [common(1), task(prev), self.int(state, 8), task(next)].concat()
            }
            Kind::Waking { task: name } => [common(2), task(name), self.int(0, 4)].concat(),
            Kind::WokenNew { task: name } => [common(3), task(name), self.int(0, 4)].concat(),
            Kind::Fork { child } => {
                let at = |at: usize, name: &Name| (name.comm.len() as u64 + 1) << 16 | at as u64;
                let child_at = 24 + event.current.comm.len() + 1;
                let numbers = self.ints(&[
                    (at(24, &event.current), 4),
                    (event.current.tid as u64, 4),
                    (at(child_at, child), 4),
                    (child.tid as u64, 4),
                ]);
                let text = [event.current.comm.clone(), vec![0], child.comm.clone(), vec![0]].concat();
                [common(4), numbers, text].concat()
            }
        }
    }

    fn head(&self, kind: u32, delta: u64) -> Vec<u8> {
        let delta = delta as u32;
        let head = if self.big_endian { kind << 27 | delta } else { delta << 5 | kind };
        self.int(head.into(), 4)
    }

    /// An entry: its head, a time extension in front if the time does not fit, a long one as such.
    fn entry(&self, delta: u64, raw: &[u8]) -> Vec<u8> {
        let mut raw = raw.to_vec();
        raw.resize(raw.len().next_multiple_of(4), 0);
        let mut out = Vec::new();
        let mut delta = delta;
        if delta >= 1 << 27 {
            out.extend(self.head(30, delta & ((1 << 27) - 1)));
            out.extend(self.int(delta >> 27, 4));
            delta = 0;
        }
        if raw.len() > 28 * 4 || raw.is_empty() {
            out.extend(self.head(0, delta));
            out.extend(self.int(raw.len() as u64 + 4, 4));
        } else {
            out.extend(self.head(raw.len() as u32 / 4, delta));
        }
        out.extend(raw);
        out
    }

    /// One CPU's pages, of `PAGE` bytes. `lose` marks the third as the first after a loss of 7 events.
    pub fn pages(&self, events: &[&Event], lose: bool) -> Vec<u8> {
        self.pages_of(PAGE, events, lose)
    }

    pub fn pages_of(&self, bytes: usize, events: &[&Event], lose: bool) -> Vec<u8> {
        let (mut pages, mut page, mut first, mut last) = (Vec::new(), Vec::new(), 0, 0);
        let room = bytes - 8 - self.long - 8;
        let mut flush = |page: &mut Vec<u8>, first: u64| {
            let index = pages.len() / bytes;
            let mut flags = 0u64;
            let size = page.len();
            if lose && index == 2 {
                flags = 1 << 31 | 1 << 30;
                page.extend(self.int(7, self.long));
            }
            let mut whole = [self.int(first, 8), self.int(size as u64 | flags, self.long)].concat();
            whole.append(page);
            whole.resize(bytes, 0xee);
            pages.extend(whole);
        };
        for event in events {
            let t = 5_000_000_000 + event.t_ns;
            let mut entry = self.entry(t.saturating_sub(last), &self.raw(event));
            if page.is_empty() || page.len() + entry.len() > room {
                if !page.is_empty() {
                    flush(&mut page, first);
                }
                first = t;
                entry = self.entry(0, &self.raw(event));
            }
            last = t;
            page.extend(entry);
        }
        if !page.is_empty() {
            // A reader must skip padding with a length, and padding to the end.
            let most = bytes - 8 - self.long;
            if page.len() + 12 <= most {
                page.extend(self.head(29, 1));
                page.extend(self.int(8, 4)); // with itself
                page.extend([0xdd; 4]);
            }
            if page.len() + 4 <= most {
                page.extend(self.head(29, 0));
            }
            flush(&mut page, first);
        }
        pages
    }

    pub fn header_page(&self) -> String {
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{};\tsigned:1;\n",
            self.long
        )
    }

    fn header_info(&self) -> Vec<u8> {
        [
            b"header_page\0".to_vec(),
            self.sized(self.header_page().as_bytes()),
            b"header_event\0".to_vec(),
            self.sized(b".."),
        ]
        .concat()
    }

    /// The descriptions of the tracepoints, with their names.
    pub fn tracepoints(&self) -> [(&'static str, String); 4] {
        let format = |id: u32, name: &str, fields: &[(&str, usize)]| {
            let mut text = format!("name: {name}\nID: {id}\nformat:\n");
            let common = [("unsigned short common_type", 2), ("unsigned char common_flags", 1)];
            let more = [("unsigned char common_preempt_count", 1), ("int common_pid", 4)];
            let mut offset = 0;
            for (field, size) in common.iter().chain(&more).chain(fields) {
                text += &format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:1;\n");
                offset += size;
            }
            text + "\nprint fmt: \"\"\n"
        };
        [
            ("sched_switch", format(1, "sched_switch", &SWITCH_FIELDS)),
            ("sched_waking", format(2, "sched_waking", &WAKE_FIELDS)),
            ("sched_wakeup_new", format(3, "sched_wakeup_new", &WAKE_FIELDS)),
            ("sched_process_fork", format(4, "sched_process_fork", &FORK_FIELDS)),
        ]
    }

    fn formats(&self) -> Vec<u8> {
        let all = self.tracepoints();
        let mut out = self.ints(&[(1, 4)]);
        out.extend(b"sched\0");
        out.extend(self.int(all.len() as u64, 4));
        all.iter().for_each(|(_, format)| out.extend(self.sized(format.as_bytes())));
        out
    }

    fn pack(&self, data: &[u8]) -> Vec<u8> {
        let packed = match self.packed {
            Packed::No => return data.to_vec(),
            Packed::Zstd => compress_to_vec(data, CompressionLevel::Fastest),
            Packed::Zlib => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(data).expect("packed");
                encoder.finish().expect("packed")
            }
        };
        [self.ints(&[(packed.len() as u64, 4), (data.len() as u64, 4)]), packed].concat()
    }

    fn section(&self, id: u64, data: &[u8]) -> Vec<u8> {
        let data = self.pack(data);
        let flags = u64::from(self.packed != Packed::No);
        [self.ints(&[(id, 2), (flags, 2), (0, 4), (data.len() as u64, 8)]), data].concat()
    }

    fn start(&self) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing".to_vec();
        out.extend([b'0' + self.version, 0, u8::from(self.big_endian), self.long as u8]);
        out.extend(self.int(PAGE as u64, 4));
        out
    }

    pub fn write(&self, events: &[Event], lose: bool) -> Vec<u8> {
        let cpus = events.iter().map(|event| event.cpu).max().unwrap_or(0) + 1;
        let of_cpu = |cpu| events.iter().filter(|event| event.cpu == cpu).collect::<Vec<_>>();
        let parts: Vec<Vec<u8>> = (0..cpus).map(|cpu| self.pages(&of_cpu(cpu), lose && cpu == 0)).collect();
        if self.version == 6 { self.version_6(&parts) } else { self.version_7(&parts) }
    }

    fn version_6(&self, parts: &[Vec<u8>]) -> Vec<u8> {
        let mut out = [
            self.start(),
            self.header_info(),
            self.int(1, 4),
            self.sized(b"name: x\nID: 9\n"),
            self.formats(),
        ]
        .concat();
        for (size, text) in [(4, "symbols"), (4, "prints"), (8, "7 make\n")] {
            out.extend(self.int(text.len() as u64, size));
            out.extend(text.bytes());
        }
        out.extend(self.int(parts.len() as u64, 4));
        out.extend(b"options  \0");
        for (id, text) in
            [(5, &b"Linux host 6.12.1-test x86_64\0"[..]), (4, b"[local] global mono\0"), (3, b"unread")]
        {
            out.extend(self.ints(&[(id, 2), (text.len() as u64, 4)]));
            out.extend(text);
        }
        out.extend(self.int(0, 2));
        out.extend(b"flyrecord\0");
        let mut at = (out.len() + parts.len() * 16).next_multiple_of(PAGE);
        for part in parts {
            out.extend(self.ints(&[(at as u64, 8), (part.len() as u64, 8)]));
            at += part.len();
        }
        out.resize(out.len().next_multiple_of(PAGE), 0);
        parts.iter().for_each(|part| out.extend(part));
        out
    }

    fn version_7(&self, parts: &[Vec<u8>]) -> Vec<u8> {
        let mut out = self.start();
        let name: &[u8] = match self.packed {
            Packed::No => b"none\0\0",
            Packed::Zstd => b"zstd\x001.5.4\0",
            Packed::Zlib => b"zlib\x001.2\0",
        };
        out.extend(name);
        let pointer_at = out.len();
        out.extend(self.int(0, 8));
        let mut options = Vec::new();
        for (id, data) in [(16, self.header_info()), (18, self.formats())] {
            options.extend(self.ints(&[(id, 2), (8, 4), (out.len() as u64, 8)]));
            out.extend(self.section(id, &data));
        }
        let uname = b"Linux host 6.12.1-test x86_64\0";
        options.extend(self.ints(&[(5, 2), (uname.len() as u64, 4)]));
        options.extend(uname);
        let buffer_at = out.len();
        out.extend(self.ints(&[(3, 2), (u64::from(self.packed != Packed::No), 2), (0, 4), (0, 8)]));
        let mut buffer = self.int(buffer_at as u64, 8);
        buffer.extend(b"\0local\0");
        buffer.extend(self.ints(&[(PAGE as u64, 4), (parts.len() as u64, 4)]));
        for (cpu, part) in parts.iter().enumerate() {
            let chunks: Vec<u8> = match self.packed {
                Packed::No => part.clone(),
                _ => {
                    let chunks: Vec<Vec<u8>> = part.chunks(3 * PAGE).map(|chunk| self.pack(chunk)).collect();
                    [self.int(chunks.len() as u64, 4), chunks.concat()].concat()
                }
            };
            buffer.extend(self.ints(&[(cpu as u64, 4), (out.len() as u64, 8), (chunks.len() as u64, 8)]));
            out.extend(chunks);
        }
        options.extend(self.ints(&[(3, 2), (buffer.len() as u64, 4)]));
        options.extend(buffer);
        options.extend(self.ints(&[(0, 2), (8, 4), (0, 8)]));
        let options_at = self.int(out.len() as u64, 8);
        out[pointer_at..pointer_at + 8].copy_from_slice(&options_at);
        out.extend(self.section(0, &options));
        out
    }
}
