//! The tracepoints of a recording that is written here, described as the kernel describes its own: by text, with offsets.

/// The first bytes of a tracepoint's record: its number, flags, depth of preemption, current thread.
const COMMON: [&str; 4] = [
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n",
    FLAGS,
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n",
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n",
];
const FLAGS: &str = "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n";

/// How a page of the kernel's own trace begins, and an event in it. There are none here, but perf wants to know.
const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
";
const EVENT: &str = "# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

/// Type and name of a field, its offset, size, and whether it has a sign.
type Field = (&'static str, u32, u32, u32);

/// A tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracepoint {
    Switch = 1,
    Runtime,
    Waking,
    WakeupNew,
    Migrate,
}

const ALL: [Tracepoint; 5] =
    [Tracepoint::Switch, Tracepoint::Runtime, Tracepoint::Waking, Tracepoint::WakeupNew, Tracepoint::Migrate];

impl Tracepoint {
    pub fn all() -> impl Iterator<Item = Tracepoint> {
        ALL.into_iter()
    }

    /// Its number in the file; that of this kernel does not matter.
    pub fn id(self) -> u64 {
        self as u64
    }

    /// Name, fields, and how a tool prints it.
    fn parts(self) -> (&'static str, &'static [Field], &'static str) {
        match self {
            Tracepoint::Switch => (
                "sched_switch",
                &[
                    ("char prev_comm[16]", 8, 16, 0),
                    ("pid_t prev_pid", 24, 4, 1),
                    ("int prev_prio", 28, 4, 1),
                    ("long prev_state", 32, 8, 1),
                    ("char next_comm[16]", 40, 16, 0),
                    ("pid_t next_pid", 56, 4, 1),
                    ("int next_prio", 60, 4, 1),
                ],
                "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d\", \
                 REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & 0xff) ? \
                 __print_flags(REC->prev_state & 0xff, \"|\", { 0x01, \"S\" }, { 0x02, \"D\" }, { 0x04, \"T\" }, \
                 { 0x08, \"t\" }, { 0x10, \"X\" }, { 0x20, \"Z\" }, { 0x40, \"P\" }, { 0x80, \"I\" }) : \"R\", \
                 REC->prev_state & 0x100 ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio",
            ),
            Tracepoint::Runtime => (
                "sched_stat_runtime",
                &[("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("u64 runtime", 32, 8, 0)],
                "\"comm=%s pid=%d runtime=%Lu [ns]\", REC->comm, REC->pid, (unsigned long long)REC->runtime",
            ),
            Tracepoint::Waking => ("sched_waking", WAKE, WAKE_TEXT),
            Tracepoint::WakeupNew => ("sched_wakeup_new", WAKE, WAKE_TEXT),
            Tracepoint::Migrate => (
                "sched_migrate_task",
                &[
                    ("char comm[16]", 8, 16, 0),
                    ("pid_t pid", 24, 4, 1),
                    ("int prio", 28, 4, 1),
                    ("int orig_cpu", 32, 4, 1),
                    ("int dest_cpu", 36, 4, 1),
                ],
                "\"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d\", REC->comm, REC->pid, REC->prio, REC->orig_cpu, \
                 REC->dest_cpu",
            ),
        }
    }

    fn text(self, has_flags: bool) -> String {
        let (name, fields, print_fmt) = self.parts();
        let mut text = format!("name: {name}\nID: {}\nformat:\n", self.id());
        text.extend(COMMON.into_iter().filter(|line| has_flags || *line != FLAGS));
        text += "\n";
        for (declaration, offset, size, signed) in fields {
            text += &format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
        }
        text + &format!("\nprint fmt: {print_fmt}\n")
    }
}

const WAKE: &[Field] = &[
    ("char comm[16]", 8, 16, 0),
    ("pid_t pid", 24, 4, 1),
    ("int prio", 28, 4, 1),
    ("int target_cpu", 32, 4, 1),
];
const WAKE_TEXT: &str =
    "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu";

/// The section of a `perf.data` that describes them all. Without flags a reader does not take them for zero.
pub(crate) fn tracing_data(has_flags: bool) -> Vec<u8> {
    let mut data = b"\x17\x08\x44tracing0.6\0".to_vec();
    data.extend([0, 8]); // little endian, size of a long
    data.extend(4096u32.to_le_bytes());
    for (name, text) in [("header_page\0", PAGE), ("header_event\0", EVENT)] {
        data.extend(name.as_bytes());
        data.extend((text.len() as u64).to_le_bytes());
        data.extend(text.as_bytes());
    }
    data.extend(0u32.to_le_bytes()); // no formats of ftrace's own events
    data.extend(1u32.to_le_bytes());
    data.extend(b"sched\0");
    data.extend((ALL.len() as u32).to_le_bytes());
    for text in ALL.map(|tracepoint| tracepoint.text(has_flags)) {
        data.extend((text.len() as u64).to_le_bytes());
        data.extend(text.as_bytes());
    }
    data.extend([0; 4 + 4 + 8]); // no kernel symbols, no print formats, no saved names
    data.resize(data.len().next_multiple_of(8), 0);
    data
}
