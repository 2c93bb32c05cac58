//! Writes the traces that LTTng's kernel tracer writes, from the format's description, without the reader's code.

use super::{Event, Kind, Name};

/// How a trace looks, in what tracers differ.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub big_endian: bool,
    /// Ids of five bits and times of 27, or of 16 and 32.
    pub compact: bool,
    /// Numbers are aligned to their size, or to bytes.
    pub aligned: bool,
    /// Each event says the thread and two counters, one of them of an odd number of bits.
    pub context: bool,
    /// The description is text, or in packets.
    pub plain: bool,
}

pub const SHAPES: [Shape; 5] = [
    Shape { big_endian: false, compact: true, aligned: false, context: false, plain: false },
    Shape { big_endian: false, compact: false, aligned: true, context: true, plain: true },
    Shape { big_endian: true, compact: true, aligned: true, context: true, plain: false },
    Shape { big_endian: true, compact: false, aligned: false, context: false, plain: true },
    Shape { big_endian: false, compact: true, aligned: true, context: true, plain: false },
];

/// Bits one after the other: the first is the lowest of its byte, or in big endian the highest.
struct Bits {
    bits: Vec<bool>,
    big_endian: bool,
}

impl Bits {
    fn align(&mut self, to: usize) {
        self.bits.resize(self.bits.len().next_multiple_of(to), false);
    }

    fn put(&mut self, value: u64, count: usize) {
        let order: Vec<usize> = match self.big_endian {
            true => (0..count).rev().collect(),
            false => (0..count).collect(),
        };
        self.bits.extend(order.into_iter().map(|bit| value >> bit & 1 == 1));
    }

    fn text(&mut self, text: &[u8], length: usize) {
        self.align(8);
        (0..length).for_each(|at| self.put(text.get(at).copied().unwrap_or(0).into(), 8));
    }

    fn bytes(mut self, size: usize) -> Vec<u8> {
        self.bits.resize(size * 8, false);
        let byte = |bits: &[bool]| {
            let place = |at: usize| if self.big_endian { 7 - at } else { at };
            bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | u8::from(*bit) << place(at))
        };
        self.bits.chunks(8).map(byte).collect()
    }
}

impl Shape {
    fn align(&self, size: usize) -> usize {
        if self.aligned { size } else { 8 }
    }

    fn integer(&self, size: usize, signed: bool) -> String {
        let align = self.align(size);
        format!(
            "integer {{ size = {size}; align = {align}; signed = {}; encoding = none; base = 10; }}",
            u8::from(signed)
        )
    }

    /// The description, with types under names, enumerations and variants as LTTng has them.
    pub fn metadata(&self) -> Vec<u8> {
        let order = if self.big_endian { "be" } else { "le" };
        let (word, long, tid) = (self.integer(32, false), self.integer(64, false), self.integer(32, true));
        let clock = |size: usize, align: usize| {
            format!(
                "integer {{ size = {size}; align = {align}; signed = false; map = clock.monotonic.value; }}"
            )
        };
        let (low, whole) = (clock(if self.compact { 27 } else { 32 }, 1), clock(64, self.align(64)));
        let id = if self.compact {
            "uint5_t { compact = 0 ... 30, extended = 31 }"
        } else {
            "uint16_t { compact = 0 ... 65534, extended = 65535 }"
        };
        let align = if self.aligned { 32 } else { 8 };
        let context = if self.context {
            format!(
                "event.context := struct {{ {tid} _tid; integer {{ size = 13; align = 1; signed = 0; }} _few; {long} _perf_cpu_cycles; }};"
            )
        } else {
            String::new()
        };
        let comm = "integer { size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; }";
        let task =
            |prefix: &str| format!("{comm} _{prefix}comm[16]; {tid} _{prefix}tid; {tid} _{prefix}prio;");
        let events = [
            (
                "sched_switch",
                format!("{} {} _prev_state; {}", task("prev_"), self.integer(64, true), task("next_")),
            ),
            ("sched_waking", format!("{} {tid} _target_cpu;", task(""))),
            ("sched_wakeup_new", format!("{} {tid} _target_cpu;", task(""))),
            (
                "sched_process_fork",
                format!(
                    "{comm} _parent_comm[16]; {tid} _parent_tid; {tid} _parent_pid; {word} __ids_length; {tid} _ids[ __ids_length ]; {comm} _child_comm[16]; {tid} _child_tid; {tid} _child_pid;"
                ),
            ),
            (
                "syscall_exit_all",
                format!(
                    "string _name; {word} __some_length; uint8_t _some[ __some_length ]; floating_point {{ exp_dig = 11; mant_dig = 53; align = 8; }} _ratio; enum : uint8_t {{ \"a\" = 3, \"b\" = 4 ... 9 }} _kind; variant <_kind> {{ string a; struct {{ uint8_t _one; {long} _two[2]; }} b; }} _either;"
                ),
            ),
            ("lttng_statedump_process_state", format!("{tid} _tid; {tid} _pid; {comm} _name[16];")),
        ];
        let mut text = format!(
            "/* CTF 1.8 */\n
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = {}; signed = false; }} := uint16_t;
typealias {word} := uint32_t; // of C
typealias {word} := unsigned int;
typealias integer {{ size = 5; align = 1; signed = false; }} := uint5_t;
trace {{
	major = 1; minor = 8; uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; byte_order = {order};
	packet.header := struct {{ uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }};
}};
env {{ domain = \"kernel\"; kernel_release = \"6.12.1-test\"; tracer_name = \"lttng-modules\"; tracer_major = 2; }};
clock {{ name = \"monotonic\"; freq = 1000000000; /* Hz */ offset = 1412663327522716450; }};
struct packet_context {{
	{whole} timestamp_begin; {whole} timestamp_end; {long} content_size; {long} packet_size; {long} events_discarded; unsigned int cpu_id;
}};
struct event_header {{
	enum : {id} id;
	variant <id> {{ struct {{ {low} timestamp; }} compact; struct {{ uint32_t id; {whole} timestamp; }} extended; }} v;
}} align({align});
stream {{ id = 0; event.header := struct event_header; packet.context := struct packet_context; {context} }};
",
            self.align(16)
        );
        for (id, (name, fields)) in events.iter().enumerate() {
            let id = self.id(id as u64);
            text += &format!(
                "event {{ name = \"{name}\"; id = {id}; stream_id = 0; fields := struct {{ {fields} }}; }};\n"
            );
        }
        if self.plain { text.into_bytes() } else { self.in_packets(text.as_bytes()) }
    }

    /// Some ids need the long header.
    fn id(&self, index: u64) -> u64 {
        if index % 2 == 1 && self.compact { 31 + index } else { index }
    }

    fn in_packets(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in text.chunks(1000) {
            let mut bits = Bits { bits: Vec::new(), big_endian: self.big_endian };
            bits.put(0x75d1_1d57, 32);
            bits.text(&[7; 16], 16);
            bits.put(0, 32); // no checksum
            bits.put((37 + part.len() as u64) * 8, 32);
            bits.put(1100 * 8, 32);
            bits.text(&[0, 0, 0, 1, 8], 5);
            bits.text(part, part.len());
            out.extend(bits.bytes(1100));
        }
        out
    }

    /// The packets of one CPU's events, at most 30 in each. `lose` has the tracer drop seven before the third.
    pub fn stream(&self, cpu: u32, events: &[&Event], lose: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for (index, events) in events.chunks(30).enumerate() {
            let begins = 5_000_000_000 + events[0].t_ns;
            let mut body = Bits { bits: Vec::new(), big_endian: self.big_endian };
            let discarded = if lose && index >= 2 { 7 } else { 0 };
            // The sizes are known when the events are written, and as long before.
            self.head(&mut body, cpu, [begins, begins], [0, 0], discarded);
            let mut last = begins;
            for (at, event) in events.iter().enumerate() {
                if at % 5 == 3 {
                    let (t, tid) = (last, event.current.tid);
                    self.other(&mut body, t, &mut last, tid);
                }
                self.event(&mut body, event, &mut last);
            }
            let content = body.bits.len();
            let size = content.div_ceil(8) + 24;
            let mut head = Bits { bits: Vec::new(), big_endian: self.big_endian };
            self.head(&mut head, cpu, [begins, last], [content as u64, size as u64 * 8], discarded);
            let length = head.bits.len();
            body.bits[..length].copy_from_slice(&head.bits);
            out.extend(body.bytes(size));
        }
        out
    }

    fn number(&self, bits: &mut Bits, value: u64, size: usize) {
        bits.align(self.align(size));
        bits.put(value, size);
    }

    fn head(&self, bits: &mut Bits, cpu: u32, times: [u64; 2], sizes: [u64; 2], discarded: u64) {
        self.number(bits, 0xc1fc_1fc1, 32);
        bits.text(&[7; 16], 16);
        self.number(bits, 0, 32);
        for value in [times[0], times[1], sizes[0], sizes[1], discarded] {
            self.number(bits, value, 64);
        }
        self.number(bits, cpu.into(), 32);
    }

    fn event_head(&self, bits: &mut Bits, id: u64, t: u64, last: &mut u64, tid: i32) {
        // A struct is aligned as the most aligned of its fields: here the time in a variant does not count.
        bits.align(if self.aligned { 32 } else { 8 });
        let (id_bits, time_bits) = if self.compact { (5, 27) } else { (16, 32) };
        let extended = (1 << id_bits) - 1;
        if id < extended && t - *last < 1 << time_bits {
            bits.put(id, id_bits as usize);
            bits.put(t, time_bits);
        } else {
            bits.put(extended, id_bits as usize);
            bits.align(if self.aligned { 64 } else { 8 });
            self.number(bits, id, 32);
            self.number(bits, t, 64);
        }
        *last = t;
        if self.context {
            bits.align(if self.aligned { 64 } else { 8 });
            self.number(bits, tid as u32 as u64, 32);
            bits.put(0x1555, 13);
            self.number(bits, 0x0123_4567_89ab_cdef, 64);
        }
    }

    fn task(&self, bits: &mut Bits, name: &Name) {
        bits.text(&name.comm, 16);
        self.number(bits, name.tid as u32 as u64, 32);
        self.number(bits, 20, 32); // LTTng's for nice 0
    }

    fn event(&self, bits: &mut Bits, event: &Event, last: &mut u64) {
        let index = match event.kind {
            Kind::Switch { .. } => 0,
            Kind::Waking { .. } => 1,
            Kind::WokenNew { .. } => 2,
            Kind::Fork { .. } => 3,
        };
        self.event_head(bits, self.id(index), 5_000_000_000 + event.t_ns, last, event.current.tid);
        let widest = if index == 0 { 64 } else { 32 };
        bits.align(if self.aligned { widest } else { 8 });
        match &event.kind {
            Kind::Switch { prev, state, next } => {
                self.task(bits, prev);
                let states = [("R", 0), ("R+", 0x100), ("S", 1), ("D", 2)];
                let state =
                    states.iter().find(|(letter, _)| letter == state).map_or(0x10, |(_, number)| *number);
                self.number(bits, state, 64);
                self.task(bits, next);
            }
            Kind::Waking { task } | Kind::WokenNew { task } => {
                self.task(bits, task);
                self.number(bits, 0, 32);
            }
            Kind::Fork { child } => {
                bits.text(&event.current.comm, 16);
                self.number(bits, event.current.tid as u32 as u64, 32);
                self.number(bits, 1, 32);
                self.number(bits, 3, 32);
                (0..3).for_each(|id| self.number(bits, id, 32));
                bits.text(&child.comm, 16);
                self.number(bits, child.tid as u32 as u64, 32);
                self.number(bits, 4321, 32);
            }
        }
    }

    /// An event that says nothing about scheduling, of all kinds of fields.
    fn other(&self, bits: &mut Bits, t: u64, last: &mut u64, tid: i32) {
        self.event_head(bits, self.id(4), t, last, tid);
        bits.align(if self.aligned { 32 } else { 8 });
        bits.text(b"/proc/self\0", 11);
        self.number(bits, 5, 32);
        bits.text(&[9; 5], 5);
        bits.text(&[1; 8], 8); // the float
        bits.text(&[4 + (t % 2) as u8 * 5], 1); // both are `b`
        if self.aligned {
            bits.align(64);
        }
        bits.text(&[1], 1);
        self.number(bits, 1, 64);
        self.number(bits, 2, 64);
    }
}
