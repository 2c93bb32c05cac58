"""The command `divvy`, whose numbers the package must have."""

import csv
import io
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(os.environ["DIVVY_ROOT"])
EXAMPLES = ROOT / "examples"


def run(*arguments):
    """What it prints on stdout, as it is written. Some claims of papers are not met, which is no failure here."""
    command = [os.environ["DIVVY"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=300)
    if done.returncode not in (0, 3):
        raise AssertionError(f"{command}: {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


def report(*arguments):
    """A report without the command line, which only the command has. Numbers stay as they are written, so that equal means equal in
    every digit."""
    found = exact(run(*arguments, "--format", "json"))
    found.pop("command", None)
    return found


def exact(text):
    return json.loads(text, parse_float=str)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))
