"""Examples of the page and of the package's own documentation."""

import doctest
import importlib
import os
import pkgutil

import divvy
from command import EXAMPLES, ROOT

PAGE = ROOT / "docs" / "how-to" / "python.md"


def load_tests(_loader, tests, _pattern):
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    os.chdir(EXAMPLES)
    tests.addTest(doctest.DocFileSuite(str(PAGE), module_relative=False, optionflags=options))
    for module in pkgutil.iter_modules(divvy.__path__):
        loaded = importlib.import_module(f"divvy.{module.name}")
        if getattr(loaded, "__doc__", None) and loaded.__file__.endswith(".py"):
            tests.addTests(doctest.DocTestSuite(loaded, optionflags=options))
    return tests
