//! Prints events as `perf script` does.

use super::{Event, Kind, Name};

/// The two ways to print an event's own text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The kernel's: `prev_comm=a prev_pid=1 ...`.
    Kernel,
    /// libtraceevent's plugins: `a:1 [120] S ==> b:2 [120]`.
    Plugin,
}

/// The whole trace as text. Seconds get `decimals` digits; `processes` adds the process number.
pub fn print(events: &[Event], style: Style, decimals: usize, processes: bool) -> Vec<u8> {
    let mut out = b"# a comment\n\n".to_vec();
    for event in events {
        line(&mut out, event, style, decimals, processes);
    }
    out
}

/// Appends one line.
pub fn line(out: &mut Vec<u8>, event: &Event, style: Style, decimals: usize, processes: bool) {
    let t_ns = 5_000_000_000 + event.t_ns;
    let fraction = (t_ns % 1_000_000_000) / 10u64.pow(9 - decimals as u32);
    let tid = event.current.tid;
    let ids = if processes { format!("{tid}/{tid}") } else { tid.to_string() };
    pad(out, &event.current.comm);
    let time = format!("{}.{fraction:0decimals$}", t_ns / 1_000_000_000);
    out.extend(format!(" {ids:>5} [{:03}] {time:>12}: ", event.cpu).bytes());
    let (name, text) = payload(event, style);
    let system = if style == Style::Kernel { "sched:" } else { "" };
    out.extend(format!("{:>24} ", format!("{system}{name}:")).bytes());
    out.extend(text);
    out.push(b'\n');
}

fn pad(out: &mut Vec<u8>, comm: &[u8]) {
    out.extend(std::iter::repeat_n(b' ', 16usize.saturating_sub(comm.len())));
    out.extend(comm);
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn payload(event: &Event, style: Style) -> (&'static str, Vec<u8>) {
    let plain = |n: &Name| join(&[&n.comm, format!(":{} [120]", n.tid).as_bytes()]);
    let raw = |n: &Name| join(&[b"comm=", &n.comm, format!(" pid={} prio=120", n.tid).as_bytes()]);
    match (&event.kind, style) {
        (Kind::Switch { prev, state, next }, Style::Kernel) => {
            let middle = format!(" prev_pid={} prev_prio=120 prev_state={state} ==> next_comm=", prev.tid);
            let end = format!(" next_pid={} next_prio=120", next.tid);
            (
                "sched_switch",
                join(&[b"prev_comm=", &prev.comm, middle.as_bytes(), &next.comm, end.as_bytes()]),
            )
        }
        (Kind::Switch { prev, state, next }, Style::Plugin) => {
            ("sched_switch", join(&[&plain(prev), format!(" {state} ==> ").as_bytes(), &plain(next)]))
        }
        (Kind::Waking { task }, Style::Kernel) => ("sched_waking", join(&[&raw(task), b" target_cpu=000"])),
        (Kind::Waking { task }, Style::Plugin) => ("sched_waking", join(&[&plain(task), b" CPU:000"])),
        (Kind::WokenNew { task }, Style::Kernel) => {
            ("sched_wakeup_new", join(&[&raw(task), b" target_cpu=001"]))
        }
        (Kind::WokenNew { task }, Style::Plugin) => {
            ("sched_wakeup_new", join(&[&plain(task), b" success=1 CPU:001"]))
        }
        (Kind::Fork { child }, _) => {
            let (parent, end) =
                (format!(" pid={} child_comm=", event.current.tid), format!(" child_pid={}", child.tid));
            (
                "sched_process_fork",
                join(&[b"comm=", &event.current.comm, parent.as_bytes(), &child.comm, end.as_bytes()]),
            )
        }
    }
}
