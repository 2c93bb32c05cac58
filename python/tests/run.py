"""Runs the tests of the Python package: `run.py bare` those that need no other package, `run.py` the others."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BARE = "test_bare.py"


def main():
    is_bare = sys.argv[1:] == ["bare"]
    pattern = BARE if is_bare else "test_[!b]*.py"
    suite = unittest.defaultTestLoader.discover(str(HERE), pattern=pattern)
    found = unittest.TextTestRunner(verbosity=1).run(suite)
    bad = len(found.failures) + len(found.errors)
    passed = found.testsRun - bad - len(found.skipped)
    # A suite in which nothing ran has not passed.
    if bad or passed <= 0:
        print(f"python: FAILED: {bad} of {found.testsRun}")
        return 1
    print(f"python: {passed} passed{', without other packages' if is_bare else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
