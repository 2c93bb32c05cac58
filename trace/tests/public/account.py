#!/usr/bin/env python3
"""account.py FILE...: what each thread of a recording ran and waited, one line a thread: tid, run_ns, wait_ns.

An account that shares nothing with divvy. It reads lines as trace-cmd, ftrace, systrace and perf print them; of a trace.dat
those that `trace-cmd report` prints, of a perf.data those of `perf script`, of Perfetto's traces what Perfetto's own classes
find, of an archive of LTTng's what `babeltrace2` prints. Of SchedViz's archives it reads the kernel's pages itself. Only what is certain counts: a run from the switch to a thread to the switch away from it on the same CPU, and a wait from
a wake-up of a sleeper, or from a switch away from a thread that could run on, to its next switch to a CPU.
"""

import re
import struct
import subprocess
import sys
import tarfile
import tempfile

LINE = re.compile(
    r"^\s*(?P<comm>.*?)(?:-|\s+)(?:\d+/)?(?P<tid>\d+)\s+(?:\(\s*[\d-]*\)\s*)?\[(?P<cpu>\d+)\]\s*(?:[^\s\d]\S{3,4}\s+)?"
    r"\s*(?P<time>\d+(?:\.\d+)?):\s+(?:sched:)?(?P<event>\w+):\s+(?P<rest>.*)$"
)
FLAGS_OF_DIGITS = re.compile(r"(\[\d+\])\s+[.\w]{4,5}\s+(?=\d+\.\d+:)")
SWITCH = re.compile(r"prev_pid=(\d+) .*?prev_state=(\S+)(?: ==>)? .*next_pid=(\d+)")
SHORT_SWITCH = re.compile(r":(\d+) \[\d+\] (\S+) ==> .*:(\d+) \[\d+\]")
WOKEN = re.compile(r"\bpid=(\d+) prio=")
SHORT_WOKEN = re.compile(r":(\d+) \[\d+\]")
WAKES = ("sched_waking", "sched_wakeup", "sched_wakeup_new")


def nanoseconds(text):
    """Seconds with a fraction; without a fraction these are nanoseconds."""
    seconds, dot, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")) if dot else int(seconds)


def runs_on(state):
    """Could the thread have run on? Numbers are the kernel's: a thread that was preempted has at most a mark above its states."""
    return int(state, 0) & 0xFF == 0 if state[0].isdigit() else state[0] == "R"


def of_lines(lines):
    for line in lines:
        line = FLAGS_OF_DIGITS.sub(r"\1 ", line.rstrip("\n").removesuffix("\\").removesuffix("\\n"))
        match = LINE.match(line)
        if not match:
            continue
        time, cpu, rest = nanoseconds(match["time"]), int(match["cpu"]), match["rest"]
        if match["event"] == "sched_switch":
            found = SWITCH.search(rest) or SHORT_SWITCH.search(rest)
            if found:
                yield time, cpu, "switch", int(found[1]), runs_on(found[2]), int(found[3])
        elif match["event"] in WAKES and (found := WOKEN.search(rest) or SHORT_WOKEN.search(rest)):
            yield time, cpu, "wake", int(found[1]), None, None


def of_perfetto(name):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    trace = perfetto_trace_pb2.Trace()
    with open(name, "rb") as file:
        trace.ParseFromString(file.read())
    for packet in trace.packet:
        bundle = packet.ftrace_events
        for event in bundle.event:
            if event.HasField("sched_switch"):
                switch = event.sched_switch
                state = switch.prev_state & 0xFF == 0
                yield event.timestamp, bundle.cpu, "switch", switch.prev_pid, state, switch.next_pid
            for kind in WAKES:
                if event.HasField(kind):
                    yield event.timestamp, bundle.cpu, "wake", getattr(event, kind).pid, None, None
        compact, time, running = bundle.compact_sched, 0, None
        for delta, state, pid in zip(compact.switch_timestamp, compact.switch_prev_state, compact.switch_next_pid):
            time += delta
            yield time, bundle.cpu, "switch", running, state & 0xFF == 0, pid
            running = pid
        time = 0
        for delta, pid in zip(compact.waking_timestamp, compact.waking_pid):
            time += delta
            yield time, bundle.cpu, "wake", pid, None, None


CTF = re.compile(r"^\[(\d+)\] (?:.* )?(?:sched:)?(sched_\w+): \{(.*)\}$")
NUMBER = re.compile(r"\b(\w+) = (-?\d+)")


def of_ctf(archive):
    """Numbers are taken by their names; names of threads, which could hold such text, are cut out before."""
    with tempfile.TemporaryDirectory() as directory:
        archive.extractall(directory, filter="data")
        found = subprocess.run(["find", directory, "-name", "metadata"], stdout=subprocess.PIPE, check=True).stdout
        trace = found.decode().splitlines()[0].rpartition("/")[0]
        command = ["babeltrace2", "--clock-cycles", "--no-delta", trace]
        printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    for line in printed.decode(errors="replace").splitlines():
        match = CTF.match(line)
        if not match:
            continue
        fields = dict(NUMBER.findall(re.sub(r'"(?:[^"\\]|\\.)*"', "", match[3])))
        time, cpu = int(match[1]), int(fields.get("perf_cpu", fields.get("cpu_id", "0")))
        if match[2] == "sched_switch":
            prev, after = (int(fields.get(f"{which}_tid", fields.get(f"{which}_pid", "-1"))) for which in ("prev", "next"))
            yield time, cpu, "switch", prev, int(fields["prev_state"]) & 0xFF == 0, after
        elif match[2] in WAKES:
            yield time, cpu, "wake", int(fields.get("tid", fields.get("pid", "-1"))), None, None


def of_schedviz(archive):
    """Pages of 4 KiB in little endian: a time, a size, and entries that begin with their kind and the time since the last."""
    formats, content = {}, {}
    for member in archive:
        if member.isfile():
            content[member.name.removeprefix("./")] = archive.extractfile(member).read()
    for name, text in content.items():
        if name.endswith("/format"):
            text = text.decode()
            fields = re.findall(r"field:.*?(\w+)(?:\[\d*\])?;\s*offset:(\d+);\s*size:(\d+);", text)
            places = {field: (int(offset), int(size)) for field, offset, size in fields}
            formats[int(re.search(r"^ID: (\d+)", text, re.M)[1])] = (re.search(r"^name: (\w+)", text, re.M)[1], places)
    for name, pages in content.items():
        cpu = re.search(r"traces/cpu(\d+)$", name)
        for start in range(0, len(pages), 4096) if cpu else ():
            time, size = struct.unpack_from("<QQ", pages, start)
            at, end = start + 16, start + 16 + (size & 0x7FFFFFF)
            while at < end:
                head = struct.unpack_from("<I", pages, at)[0]
                kind, delta, at = head & 31, head >> 5, at + 4
                word = struct.unpack_from("<I", pages, at)[0] if at + 4 <= end else 0
                if kind == 29:
                    at = at + word if delta else end
                    continue
                if kind in (30, 31):
                    time, at = time + (word << 27) + delta if kind == 30 else (word << 27) + delta, at + 4
                    continue
                length = kind * 4 if kind else word
                raw, at = pages[at + (0 if kind else 4) : at + length], at + length
                time += delta
                event, places = formats.get(struct.unpack_from("<H", raw, 0)[0], ("", {}))

                def field(which):
                    offset, size = places[which]
                    return int.from_bytes(raw[offset : offset + size], "little", signed=True)

                if event == "sched_switch":
                    state = field("prev_state") & 0xFF == 0
                    yield time, int(cpu[1]), "switch", field("prev_pid"), state, field("next_pid")
                elif event in WAKES:
                    yield time, int(cpu[1]), "wake", field("pid"), None, None


def of_archive(name):
    with tarfile.open(name) as archive:
        is_schedviz = any(member.name.endswith("formats/header_page") for member in archive.getmembers())
        yield from (of_schedviz if is_schedviz else of_ctf)(archive)


def is_archive(name):
    try:
        return tarfile.is_tarfile(name)
    except OSError:
        return False


def lines_of(name):
    with open(name, "rb") as file:
        start = file.read(16)
    if start[3:10] == b"tracing":
        command = ["trace-cmd", "report", "-t", "-i", name]
    elif start[:8] == b"PERFILE2":
        command = ["perf", "script", "--ns", "-F", "comm,tid,cpu,time,event,trace", "-i", name]
    else:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.readlines()
    printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    return printed.decode(errors="replace").splitlines()


def account(events):
    """The sums of each thread; in the order of time, and of one time as recorded."""
    run, wait = {}, {}
    on, ready, early = {}, {}, {}
    for time, cpu, what, tid, state, other in sorted(events, key=lambda event: event[0]):
        if what == "wake":
            if any(tid == running for running, _ in on.values()):
                early[tid] = None
            else:
                early.pop(tid, None)
                ready.setdefault(tid, time)
            continue
        before, since = on.get(cpu, (None, 0))
        tid = before if tid is None else tid
        if tid:
            if before == tid:
                run[tid] = run.get(tid, 0) + time - since
            ready.pop(tid, None)
            if state:
                ready[tid] = time
            elif tid in early:
                early[tid] = time
        if other:
            # A thread that runs again without another wake-up had its own while it was about to sleep.
            woken = ready.pop(other, None) or early.get(other)
            early.pop(other, None)
            if woken is not None:
                wait[other] = wait.get(other, 0) + time - woken
        on[cpu] = (other, time)
    return run, wait


def main(name):
    with open(name, "rb") as file:
        perfetto = file.read(1) == b"\n"
    if perfetto:
        events = of_perfetto(name)
    elif is_archive(name):
        events = of_archive(name)
    else:
        events = of_lines(lines_of(name))
    run, wait = account(events)
    for tid in sorted(run.keys() | wait.keys()):
        print(f"{tid},{run.get(tid, 0)},{wait.get(tid, 0)}")


for argument in sys.argv[1:]:
    main(argument)
