//! An event's own text, in the kernel's style (`comm=a pid=7 prio=120 target_cpu=001`) and in that of libtraceevent's plugins
//! (`a:7 [120] CPU:001`).

use crate::event::{Kind, TaskRef};
use crate::state::{StateTable, from_letters};
use divvy_results::schedule::State;
use memchr::memmem;

/// Parses a whole text (it must match to its end); the second argument is the current thread, -1 when unknown.
pub(crate) type Parser = fn(&[u8], i32) -> Option<Kind>;

/// The parser for an event by its name; `None` for an event that is not about scheduling.
pub(crate) fn parser(event: &[u8]) -> Option<Parser> {
    Some(match event {
        b"sched_switch" => |text, current| raw_switch(text, current).or_else(|| plain_switch(text, current)),
        b"sched_waking" => |text, _| woken(text).map(|task| Kind::Waking { task }),
        b"sched_wakeup" => |text, _| woken(text).map(|task| Kind::Woken { task }),
        b"sched_wakeup_new" => |text, _| woken(text).map(|task| Kind::WokenNew { task }),
        b"sched_process_fork" => |text, _| fork(text),
        b"sched_process_exit" => |text, _| exit(text),
        b"sched_stat_runtime" => |text, _| runtime(text),
        b"sched_migrate_task" => |text, _| memmem::find(text, b" pid=").map(|_| Kind::Other),
        b"task_rename" => rename,
        b"PERF_RECORD_FORK" => |text, _| perf_fork(text),
        b"PERF_RECORD_EXIT" => |text, _| perf_pair(text).map(|((_, tid), _)| Kind::Exit { tid }),
        b"PERF_RECORD_COMM" => |text, _| perf_comm(text),
        b"PERF_RECORD_LOST" => |text, _| lost(text),
        _ => return None,
    })
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Splits at the last `key` whose value is all of the rest: `("comm=a pid=7", " prio=")` for ` prio=120`.
fn last_value<'a, T: std::str::FromStr>(text: &'a [u8], key: &[u8]) -> Option<(&'a [u8], T)> {
    let at = memmem::rfind(text, key)?;
    Some((&text[..at], number(&text[at + key.len()..])?))
}

fn task(comm: &[u8], tid: i32, prio: i16) -> TaskRef {
    TaskRef { prio: Some(prio), ..TaskRef::named(tid, comm) }
}

/// `prev_comm=A prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=B next_pid=2 next_prio=120`; raw: `prev_state=1 next_comm=B`
fn raw_switch(text: &[u8], current: i32) -> Option<Kind> {
    let text = text.strip_prefix(b"prev_comm=")?;
    let (text, next_prio) = last_value(text, b" next_prio=")?;
    let (text, next_tid) = last_value(text, b" next_pid=")?;
    // The whole middle is too long to hide in a name of 15 bytes, so the first full match is the true one.
    memmem::find_iter(text, b" prev_pid=").find_map(|at| {
        let middle = Cursor(&text[at..]).tag(b" prev_pid=")?;
        let (prev_tid, middle) = middle.number()?;
        let (prev_prio, middle) = middle.tag(b" prev_prio=")?.number()?;
        let (state, middle) = middle.tag(b" prev_state=")?.word()?;
        let next_comm = middle.tag(b" ==> next_comm=").or_else(|| middle.tag(b" next_comm="))?.0;
        let prev = task(&text[..at], prev_tid, prev_prio);
        switch(prev, state, task(next_comm, next_tid, next_prio), current)
    })
}

/// `A:1 [120] S ==> B:2 [120]`
fn plain_switch(text: &[u8], current: i32) -> Option<Kind> {
    let next = plain_task_at_end(text)?;
    memmem::find_iter(&text[..text.len() - next.length], b" ==> ").find_map(|arrow| {
        let (before, state) = text[..arrow].split_at(memchr::memrchr(b' ', &text[..arrow])?);
        let prev = plain_task_at_end(before)?;
        let next_comm = &text[arrow + 5..text.len() - next.length];
        let prev_task = task(&before[..before.len() - prev.length], prev.tid, prev.prio);
        switch(prev_task, &state[1..], task(next_comm, next.tid, next.prio), current)
    })
}

/// The thread that leaves a CPU is the one that was current there: a name that imitates a switch does not know that number.
fn switch(prev: TaskRef, state: &[u8], next: TaskRef, current: i32) -> Option<Kind> {
    let plausible = current < 0 || prev.tid == current;
    plausible.then_some(Kind::Switch { prev, state: letters_or_number(state)?, next })
}

/// `S`, or with `trace-cmd report -R` the number that it stands for. The text does not say of which kernel: it counts as new.
fn letters_or_number(state: &[u8]) -> Option<State> {
    let number = match state.strip_prefix(b"0x") {
        Some(hex) => u64::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok(),
        None => number(state),
    };
    number.map_or_else(|| from_letters(state), |number| Some(StateTable::of_release("").decode(number)))
}

struct PlainEnd {
    tid: i32,
    prio: i16,
    /// Bytes of `:1 [120]`.
    length: usize,
}

/// The numbers of a text that ends in `:1 [120]`.
fn plain_task_at_end(text: &[u8]) -> Option<PlainEnd> {
    let (rest, prio) = last_value(text.strip_suffix(b"]")?, b" [")?;
    let colon = memchr::memrchr(b':', rest)?;
    Some(PlainEnd { tid: number(&rest[colon + 1..])?, prio, length: text.len() - colon })
}

/// `comm=A pid=1 prio=120 [success=1] target_cpu=000`, to which old Android kernels add ` state=W|m`; or `A:1 [120] [success=1] [CPU:000]`
fn woken(text: &[u8]) -> Option<TaskRef> {
    if let Some(raw) = text.strip_prefix(b"comm=") {
        let is_state =
            |state: &[u8]| state.iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'|' | b'+'));
        let added = memmem::rfind(raw, b" state=").filter(|&at| is_state(&raw[at + 7..]));
        let raw = &raw[..added.unwrap_or(raw.len())];
        let (raw, _) = last_value::<u32>(raw, b" target_cpu=")?;
        let raw = last_value::<u32>(raw, b" success=").map_or(raw, |(rest, _)| rest);
        let (raw, prio) = last_value(raw, b" prio=")?;
        let (comm, tid) = last_value(raw, b" pid=")?;
        return Some(task(comm, tid, prio));
    }
    let plain = last_value::<u32>(text, b" CPU:").map_or(text, |(rest, _)| rest);
    let plain = last_value::<u32>(plain, b" success=").map_or(plain, |(rest, _)| rest);
    let end = plain_task_at_end(plain)?;
    Some(task(&plain[..plain.len() - end.length], end.tid, end.prio))
}

/// `comm=A pid=1 child_comm=B child_pid=2`; raw: `parent_comm=A parent_pid=1 child_comm=B child_pid=2`
fn fork(text: &[u8]) -> Option<Kind> {
    let (start, key): (&[u8], &[u8]) = match text.starts_with(b"parent_comm=") {
        true => (b"parent_comm=", b" parent_pid="),
        false => (b"comm=", b" pid="),
    };
    let (text, child_tid) = last_value(text.strip_prefix(start)?, b" child_pid=")?;
    memmem::find_iter(text, key).find_map(|at| {
        let (parent, middle) = Cursor(&text[at..]).tag(key)?.number()?;
        let child_comm = middle.tag(b" child_comm=")?.0;
        Some(Kind::Fork { parent, child: TaskRef::named(child_tid, child_comm), process: -1 })
    })
}

/// `comm=A pid=1 prio=120`, newer kernels add ` group_dead=true`
fn exit(text: &[u8]) -> Option<Kind> {
    let text = memmem::rfind(text, b" group_dead=").map_or(text, |at| &text[..at]);
    let (text, _) = last_value::<i16>(text, b" prio=")?;
    let (_, tid) = last_value(text, b" pid=")?;
    Some(Kind::Exit { tid })
}

/// `comm=A pid=1 runtime=43064 [ns]`, older kernels add ` vruntime=123 [ns]`; raw: without the units
fn runtime(text: &[u8]) -> Option<Kind> {
    let without_unit = |text: &'_ [u8]| text.strip_suffix(b" [ns]").unwrap_or(text).len();
    let text = text.strip_prefix(b"comm=")?;
    let text = &text[..without_unit(text)];
    let text = match last_value::<u64>(text, b" vruntime=") {
        Some((rest, _)) => &rest[..without_unit(rest)],
        None => text,
    };
    let (text, ns) = last_value(text, b" runtime=")?;
    let (comm, tid) = last_value(text, b" pid=")?;
    Some(Kind::Runtime { task: TaskRef::named(tid, comm), ns })
}

/// `pid=1 oldcomm=A newcomm=B oom_score_adj=0`; newer kernels leave the number out.
fn rename(text: &[u8], current: i32) -> Option<Kind> {
    let (text, _) = last_value::<i32>(text, b" oom_score_adj=")?;
    let tid = match text.strip_prefix(b"pid=") {
        Some(rest) => Cursor(rest).number()?.0,
        None => current,
    };
    let at = memmem::rfind(text, b" newcomm=")?;
    Some(Kind::Rename { task: TaskRef::named(tid, &text[at + 9..]) })
}

/// `(PROCESS:TID):(PARENT_PROCESS:PARENT_TID)`
fn perf_pair(text: &[u8]) -> Option<((i32, i32), (i32, i32))> {
    let pair = |text: Cursor<'_>| -> Option<((i32, i32), usize)> {
        let (process, rest) = text.tag(b"(")?.number()?;
        let (tid, rest) = rest.tag(b":")?.number()?;
        Some(((process, tid), rest.tag(b")")?.0.len()))
    };
    let (first, left) = pair(Cursor(text))?;
    let (second, _) = pair(Cursor(&text[text.len() - left..]).tag(b":")?)?;
    Some((first, second))
}

fn perf_fork(text: &[u8]) -> Option<Kind> {
    let ((process, tid), (_, parent)) = perf_pair(text)?;
    Some(Kind::Fork { parent, child: TaskRef::named(tid, b""), process })
}

/// `: NAME:PROCESS/TID` or ` exec: NAME:PROCESS/TID`
fn perf_comm(text: &[u8]) -> Option<Kind> {
    let text = text.strip_prefix(b" exec").unwrap_or(text).strip_prefix(b": ")?;
    let colon = memchr::memrchr(b':', text)?;
    let (_, rest) = Cursor(&text[colon + 1..]).number::<i32>()?;
    let tid = number(rest.tag(b"/")?.0)?;
    Some(Kind::Rename { task: TaskRef::named(tid, &text[..colon]) })
}

/// ` lost 12`
fn lost(text: &[u8]) -> Option<Kind> {
    Some(Kind::Lost { events: number(text.strip_prefix(b" lost ")?.trim_ascii())? })
}

/// The rest of a text, taken from the left.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn tag(self, tag: &[u8]) -> Option<Cursor<'a>> {
        self.0.strip_prefix(tag).map(Cursor)
    }

    fn number<T: std::str::FromStr>(self) -> Option<(T, Cursor<'a>)> {
        let sign = usize::from(self.0.first() == Some(&b'-'));
        let digits = self.0[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(sign + digits);
        Some((number(digits)?, Cursor(rest)))
    }

    fn word(self) -> Option<(&'a [u8], Cursor<'a>)> {
        let end = memchr::memchr(b' ', self.0).unwrap_or(self.0.len());
        (end > 0).then(|| (&self.0[..end], Cursor(&self.0[end..])))
    }
}
