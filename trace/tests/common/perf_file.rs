//! Writes `perf.data`, from the format's description and without the reader's code.

use super::{Event, Kind, Name};

/// Byte order and form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub big_endian: bool,
    pub pipe: bool,
    /// Events as a newer or older kernel describes them: the state's flags as a table, or not at all.
    pub has_state_table: bool,
    /// Two CPUs' buffers, drained in turn: the file is not in order of time.
    pub rounds: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Shape { big_endian: false, pipe: false, has_state_table: true, rounds: false }
    }
}

/// `IP | TID | TIME | CPU | PERIOD | RAW | IDENTIFIER`, as perf sched record asks for.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 16;
const EVENT_ID: u64 = 77;

pub struct Writer {
    pub shape: Shape,
    pub data: Vec<u8>,
}

impl Writer {
    pub fn new(shape: Shape) -> Writer {
        Writer { shape, data: Vec::new() }
    }

    fn int(&self, value: u64, size: usize) -> Vec<u8> {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if self.shape.big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn ints(&self, values: &[(u64, usize)]) -> Vec<u8> {
        values.iter().flat_map(|&(value, size)| self.int(value, size)).collect()
    }

    /// Appends a record.
    pub fn record(&mut self, kind: u32, payload: &[u8]) {
        let head = self.ints(&[(u64::from(kind), 4), (0, 2), (payload.len() as u64 + 8, 2)]);
        self.data.extend(head);
        self.data.extend(payload);
    }

    /// The end of a record that is not a sample: thread, time, CPU, identifier.
    fn trailer(&self, tid: i32, t_ns: u64, cpu: u32) -> Vec<u8> {
        let tid = u64::from(tid as u32);
        self.ints(&[(tid, 4), (tid, 4), (t_ns, 8), (u64::from(cpu), 4), (0, 4), (EVENT_ID, 8)])
    }

    pub fn lost(&mut self, t_ns: u64, cpu: u32, count: u64) {
        let payload = [self.ints(&[(EVENT_ID, 8), (count, 8)]), self.trailer(0, t_ns, cpu)].concat();
        self.record(2, &payload);
    }

    /// A name, from before the recording if `t_ns` is 0.
    pub fn comm(&mut self, t_ns: u64, process: i32, name: &Name) {
        let mut text = name.comm.clone();
        text.resize((name.comm.len() / 8 + 1) * 8, 0);
        let ids = self.ints(&[(process as u64, 4), (name.tid as u64, 4)]);
        let payload = [ids, text, self.trailer(name.tid, t_ns, 0)].concat();
        self.record(3, &payload);
    }

    pub fn finished_round(&mut self) {
        self.record(68, &[]);
    }

    /// A tracepoint's sample.
    pub fn event(&mut self, event: &Event) {
        let raw = self.raw(event);
        let tid = u64::from(event.current.tid as u32);
        let t_ns = 5_000_000_000 + event.t_ns;
        let mut payload =
            self.ints(&[(EVENT_ID, 8), (0xffff_ffff_8100_0000, 8), (tid, 4), (tid, 4), (t_ns, 8)]);
        payload.extend(self.ints(&[(u64::from(event.cpu), 4), (0, 4), (1, 8), (raw.len() as u64, 4)]));
        payload.extend(raw);
        payload.resize(payload.len().next_multiple_of(8), 0);
        self.record(9, &payload);
    }

    fn common(&self, id: u64, event: &Event) -> Vec<u8> {
        let flags = if event.interrupt { 0x09 } else { 0x01 };
        self.ints(&[(id, 2), (flags, 1), (0, 1), (u64::from(event.current.tid as u32), 4)])
    }

    fn name(&self, name: &Name) -> Vec<u8> {
        let mut comm = name.comm.clone();
        comm.resize(16, 0);
        comm
    }

    fn raw(&self, event: &Event) -> Vec<u8> {
        let task = |n: &Name| [self.name(n), self.ints(&[(n.tid as u64, 4), (120, 4)])].concat();
        let mut raw = match &event.kind {
            Kind::Switch { prev, state, next } => {
                let state = match *state {
                    "R" => 0u64,
                    "R+" => 0x100,
                    "S" => 1,
                    "D" => 2,
                    "X" => 0x10,
                    other => unreachable!("state {other}"),
                };
                [self.common(1, event), task(prev), self.int(state, 8), task(next)].concat()
            }
            Kind::Waking { task: t } => [self.common(2, event), task(t), self.int(0, 4)].concat(),
            Kind::WokenNew { task: t } => [self.common(3, event), task(t), self.int(0, 4)].concat(),
            // Names behind the fixed part, found by offset and length.
            Kind::Fork { child } => {
                let parent = &event.current;
                let (at, parent_len) = (24u64, parent.comm.len() as u64 + 1);
                let child_len = child.comm.len() as u64 + 1;
                let numbers = self.ints(&[
                    (parent_len << 16 | at, 4),
                    (parent.tid as u64, 4),
                    (child_len << 16 | (at + parent_len), 4),
                    (child.tid as u64, 4),
                ]);
                [self.common(4, event), numbers, parent.comm.clone(), vec![0], child.comm.clone(), vec![0]]
                    .concat()
            }
        };
        raw.resize(raw.len().next_multiple_of(8) + 4, 0);
        raw
    }

    fn attr(&self) -> Vec<u8> {
        let flags = 1u64 << 18 | 1 << 25; // sample_id_all, use_clockid
        let mut attr = self.ints(&[(2, 4), (96, 4), (1, 8), (1, 8), (SAMPLE_TYPE, 8), (0, 8), (flags, 8)]);
        attr.resize(92, 0);
        attr.extend(self.int(1, 4)); // CLOCK_MONOTONIC
        attr
    }

    fn tracing_data(&self) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing0.6\0".to_vec();
        out.extend([u8::from(self.shape.big_endian), 8]);
        out.extend(self.int(4096, 4));
        for name in ["header_page\0", "header_event\0"] {
            out.extend(name.bytes());
            out.extend(self.int(3, 8));
            out.extend(b"...");
        }
        out.extend(self.ints(&[(0, 4), (1, 4)]));
        out.extend(b"sched\0");
        let formats = formats(self.shape.has_state_table);
        out.extend(self.int(formats.len() as u64, 4));
        for format in formats {
            out.extend(self.int(format.len() as u64, 8));
            out.extend(format.bytes());
        }
        out.extend(self.ints(&[(0, 4), (0, 4), (0, 8)]));
        out
    }

    /// The finished file.
    pub fn finish(self) -> Vec<u8> {
        let magic = if self.shape.big_endian { *b"2ELIFREP" } else { *b"PERFILE2" };
        if self.shape.pipe { self.pipe(&magic) } else { self.file(&magic) }
    }

    fn file(&self, magic: &[u8; 8]) -> Vec<u8> {
        let (attr, tracing) = (self.attr(), self.tracing_data());
        let ids_at = 104;
        let attrs_at = ids_at + 8;
        let data_at = attrs_at + attr.len() as u64 + 16;
        let table_at = data_at + self.data.len() as u64;
        let mut release = self.int(64, 4);
        release.extend(b"6.12.1-test\0");
        release.resize(68, 0);
        let tracing_at = table_at + 32;
        let mut out = magic.to_vec();
        out.extend(self.ints(&[
            (104, 8),
            (attr.len() as u64 + 16, 8),
            (attrs_at, 8),
            (attr.len() as u64 + 16, 8),
        ]));
        out.extend(self.ints(&[(data_at, 8), (self.data.len() as u64, 8), (0, 8), (0, 8)]));
        out.extend(self.ints(&[(1 << 1 | 1 << 4, 8), (0, 8), (0, 8), (0, 8)]));
        out.extend(self.int(EVENT_ID, 8));
        out.extend(&attr);
        out.extend(self.ints(&[(ids_at, 8), (8, 8)]));
        out.extend(&self.data);
        out.extend(self.ints(&[(tracing_at, 8), (tracing.len() as u64, 8)]));
        out.extend(self.ints(&[(tracing_at + tracing.len() as u64, 8), (release.len() as u64, 8)]));
        out.extend(&tracing);
        out.extend(&release);
        out
    }

    fn pipe(&self, magic: &[u8; 8]) -> Vec<u8> {
        let mut start = Writer::new(self.shape);
        let attr = [self.attr(), self.int(EVENT_ID, 8)].concat();
        start.record(64, &attr);
        let tracing = self.tracing_data();
        let padded = tracing.len().next_multiple_of(8);
        start.record(66, &self.int(padded as u64, 4));
        start.data.extend(&tracing);
        start.data.resize(start.data.len() + padded - tracing.len(), 0);
        [magic.to_vec(), self.int(16, 8), start.data, self.data.clone()].concat()
    }
}

/// The fields of the events and their sizes, as a 64-bit kernel has them
pub const WAKE_FIELDS: [(&str, usize); 4] =
    [("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4), ("int target_cpu", 4)];
pub const SWITCH_FIELDS: [(&str, usize); 7] = [
    ("char prev_comm[16]", 16),
    ("pid_t prev_pid", 4),
    ("int prev_prio", 4),
    ("long prev_state", 8),
    ("char next_comm[16]", 16),
    ("pid_t next_pid", 4),
    ("int next_prio", 4),
];
pub const FORK_FIELDS: [(&str, usize); 4] = [
    ("__data_loc char[] parent_comm", 4),
    ("pid_t parent_pid", 4),
    ("__data_loc char[] child_comm", 4),
    ("pid_t child_pid", 4),
];

fn formats(has_state_table: bool) -> Vec<String> {
    let format = |id: u32, name: &str, fields: &[(&str, usize)], print_fmt: &str| {
        let mut text = format!("name: {name}\nID: {id}\nformat:\n");
        let common = [("unsigned short common_type", 2), ("unsigned char common_flags", 1)];
        let more = [("unsigned char common_preempt_count", 1), ("int common_pid", 4)];
        let mut offset = 0;
        for (field, size) in common.iter().chain(&more).chain(fields) {
            let signed = u8::from(["int ", "pid_t ", "long "].iter().any(|t| field.starts_with(t)));
            text += &format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
            offset += size;
        }
        text + "\nprint fmt: " + print_fmt + "\n"
    };
    let table = r#""%s", (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R""#;
    vec![
        format(1, "sched_switch", &SWITCH_FIELDS, if has_state_table { table } else { "\"?\"" }),
        format(2, "sched_waking", &WAKE_FIELDS, "\"?\""),
        format(3, "sched_wakeup_new", &WAKE_FIELDS, "\"?\""),
        format(4, "sched_process_fork", &FORK_FIELDS, "\"?\""),
    ]
}

/// A whole schedule as a file.
pub fn write(events: &[Event], shape: Shape) -> Vec<u8> {
    let mut writer = Writer::new(shape);
    if !shape.rounds {
        events.iter().for_each(|event| writer.event(event));
        return writer.finish();
    }
    // As perf drains per-CPU buffers: in each round one CPU's events after the other's.
    for round in events.chunks(20) {
        for cpu in (0..8).rev() {
            round.iter().filter(|e| e.cpu == cpu).for_each(|event| writer.event(event));
        }
        writer.finished_round();
    }
    writer.finish()
}
