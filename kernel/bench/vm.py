# SPDX-License-Identifier: MIT OR Apache-2.0
"""A script in the virtual machine, and the sections that it prints: for kernel/bench/prediction and kernel/bench/distance."""

import pathlib
import subprocess

TREE = pathlib.Path(__file__).resolve().parent.parent.parent


class MachineError(Exception):
    """The virtual machine, or what ran in it, failed."""


def said(cpus, divvy, script, arguments, seconds):
    """The sections that a script printed, by name. The machine's clock counts instructions, so a run repeats.

    divvy: the program, on the guest's PATH. Arguments that are paths are files of this machine.
    """
    in_guest = {path: f"/files/{path.name}" for path in arguments if isinstance(path, pathlib.Path)}
    files = {script: "/bench/guest", divvy: "/bin/divvy"} | in_guest
    options = [word for path, to in files.items() for word in ("--file", f"{path}={to}")]
    arguments = [str(in_guest.get(word, word)) for word in arguments]
    options += ["--icount", "--cpus", str(cpus), "--timeout", str(seconds)]
    run = [TREE / "kernel/vm/run", *options, "--", "sh", "/bench/guest", *arguments]
    done = subprocess.run(run, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise MachineError(f"the virtual machine failed with exit code {done.returncode}")
    return sections(done.stdout)


def sections(text):
    """The lines after each line `== NAME`, up to the next such line, by name"""
    parts, name = {}, None
    for line in text.splitlines():
        if line.startswith("== "):
            name = line[3:]
            parts[name] = []
        elif name:
            parts[name].append(line)
    return {name: "\n".join(lines) for name, lines in parts.items()}
