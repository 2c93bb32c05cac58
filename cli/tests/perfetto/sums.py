"""CPU time by thread name of a Perfetto trace, from its sched_switch events, with Perfetto's own classes."""

import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2

trace = perfetto_trace_pb2.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

names, since, sums = {}, {}, {}
counters = set()
for packet in trace.packet:
    for thread in packet.process_tree.threads:
        names[thread.tid] = thread.name
    if packet.HasField("track_descriptor"):
        counters.add(packet.track_descriptor.uuid)
    if packet.HasField("track_event"):
        assert packet.track_event.track_uuid in counters and packet.HasField("timestamp")
    cpu = packet.ftrace_events.cpu
    for event in packet.ftrace_events.event:
        if not event.HasField("sched_switch"):
            continue
        switch = event.sched_switch
        running, began = since.get(cpu, (0, 0))
        assert running == switch.prev_pid, (cpu, event.timestamp, running, switch.prev_pid)
        if switch.prev_pid:
            name = names[switch.prev_pid]
            sums[name] = sums.get(name, 0) + event.timestamp - began
        since[cpu] = (switch.next_pid, event.timestamp)

assert all(tid == 0 for tid, _ in since.values()), "a slice has no end"
json.dump(sums, sys.stdout)
