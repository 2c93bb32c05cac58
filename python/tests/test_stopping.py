"""Ctrl-C, faults and forks."""

import signal
import subprocess
import sys
import unittest

from command import EXAMPLES

# Much longer than anybody waits: only a stop ends it.
LONG = """
import signal, divvy
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begins", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def interrupted(call):
    program = subprocess.Popen([sys.executable, "-c", LONG.format(call=call)], stdout=subprocess.PIPE, text=True, cwd=EXAMPLES)
    with program:
        program.stdout.readline()
        try:
            program.wait(0.5)
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGINT)
        try:
            return program.communicate(timeout=120)[0]
        finally:
            program.kill()


class Stopping(unittest.TestCase):
    def test_ctrl_c_ends_a_simulation_and_a_sweep(self):
        for call in (
            "divvy.simulate('mix.toml', 'rr', duration='1000h', keep=False)",
            "divvy.simulate('mix.toml', 'rr', duration='10s', reps=10000, keep=False)",
            "divvy.sweep('mix.toml', {'cpus': [1, 2]}, 'rr', duration='1000h', reps=100)",
            "divvy.sweep('mix.toml', {'cpus': [1, 2]}, 'rr', duration='10s', reps=10000)",
        ):
            self.assertEqual(interrupted(call), "interrupted\n", call)

    def test_a_process_may_fork_after_a_run(self):
        code = """
import os, divvy
two = {"cpus": 1, "duration": "1s", "task": [{"name": "a", "program": [{"run": "forever"}]}]}
divvy.simulate(two, "rr", reps=4)
child = os.fork()
if child == 0:
    divvy.simulate(two, "rr", reps=4)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(found.stdout, "7\n", found.stderr)


if __name__ == "__main__":
    unittest.main()
