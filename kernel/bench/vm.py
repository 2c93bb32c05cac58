# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running divvy here, and scripts in the virtual machine: for kernel/bench/prediction, distance and shares."""

import os
import pathlib
import subprocess

TREE = pathlib.Path(__file__).resolve().parent.parent.parent


class RunError(Exception):
    """A command failed, here or in the virtual machine."""


def divvy(target):
    """The program, which this target of make builds"""
    path = pathlib.Path(os.environ.get("DIVVY", TREE / "target/release/divvy")).resolve()
    if not path.exists():
        raise RunError(f"no {path}; `make {target}` builds it")
    return path


def output(command):
    """The standard output of a command"""
    words = list(map(str, command))
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RunError(f"{' '.join(words)} failed")
    return done.stdout


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
        raise RunError(f"the virtual machine failed with exit code {done.returncode}")
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
