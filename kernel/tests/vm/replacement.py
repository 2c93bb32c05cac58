#!/usr/bin/env python3
"""Asks a loaded policy for others, as divvy enable does and as it does not; prints what comes back."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

VERSION = subprocess.run(["divvy", "--version"], capture_output=True, text=True).stdout.split()[-1]


def ask(*words, version=VERSION):
    client = socket.socket(socket.AF_UNIX)
    client.connect("/run/divvy/divvy.sock")
    client.sendall(json.dumps({"command": "replace", "words": words, "version": version}).encode() + b"\n")
    return client


def answer(client):
    text = client.makefile().readline()
    return text and json.loads(text)


def said(part, *replies):
    print(f"== {part}")
    for reply in replies:
        print(reply["answer"] if reply else "none", reply.get("code", "") if reply else "")
    with open("/sys/kernel/sched_ext/root/ops") as ops:
        print(ops.read().strip(), flush=True)


def threads_of_loader():
    return len(os.listdir(f"/proc/{loader}/task"))


def cpu_1(online):
    with open("/sys/devices/system/cpu/cpu1/online", "w") as file:
        file.write("1" if online else "0")


said("replaced", answer(ask("gr3", "--users", "--quantum=2ms")))
loader = struct.unpack("3i", ask().getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
said("words", answer(ask("nosuch")), answer(ask("rr", "--log=/tmp/log")), answer(ask()), answer(ask("rr", "--exec", "sh")))
without = threads_of_loader()
said("another version", answer(ask("rr", version="0.0.1")))
said("another group", answer(ask("rr", "--group=adm")))
said("not loadable", answer(ask("rr+flow@cpu")), answer(ask("linux24")))
with open("/tmp/damaged", "w") as damaged:
    damaged.write("damaged")
said("files", answer(ask("rr", "--rules=/nosuch")), answer(ask("rr+flow", "--db=/tmp/damaged")))
first = ask("rr")
second = ask("fcfs")
said("two at once", answer(second), answer(first))
gone = ask("sfq")
gone.close()
said("gone", answer(ask("stride")) if time.sleep(1) is None else None)
back = ask("eevdf")
back.shutdown(socket.SHUT_WR)
said("taken back", answer(back))
# A client goes away and the next one asks before the loader looks again.
gone = ask("eevdf")
time.sleep(0.3)
os.kill(loader, signal.SIGSTOP)
gone.close()
next_one = ask("stride")
os.kill(loader, signal.SIGCONT)
said("next", answer(next_one))
# Each of many clients goes away at another moment; the policy that schedules is one of those that were asked for.
for wait in range(6):
    one = ask("rr" if wait % 2 else "stride")
    time.sleep(wait * 0.3)
    one.close()
said("after many", answer(ask("rr")))
# However many are taken back, two are verified at once. This one takes long.
most = 0
for _ in range(8):
    one = ask("sfs", "--users")
    for _ in range(3):
        time.sleep(0.05)
        most = max(most, threads_of_loader())
    one.close()
print("== verifying")
print(most - without)
while threads_of_loader() > without:
    time.sleep(0.1)
# CPUs come and go while the next one is verified.
moving = ask("sfq+procfair")
for online in (False, True):
    time.sleep(0.3)
    cpu_1(online)
said("hotplug", answer(moving))
pid = os.fork()
if pid == 0:
    os.setgid(1001)
    os.setuid(1001)
    print("== user")
    try:
        print(answer(ask("rr")))
    except PermissionError:
        print("denied", flush=True)
    os._exit(0)
os.waitpid(pid, 0)
sys.exit(7)
