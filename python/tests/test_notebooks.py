"""The notebooks: each is executed by a kernel of its own, in a directory without files."""

import ast
import re
import tempfile
import unittest

import divvy
import nbclient
import nbformat
from command import EXAMPLES, ROOT

NOTEBOOKS = ROOT / "python" / "notebooks"
#: This one is executed beside the example files, and is no lecture.
FIRST = NOTEBOOKS / "first.ipynb"
LECTURES = sorted(set(NOTEBOOKS.glob("*.ipynb")) - {FIRST})


def read(path):
    return nbformat.read(path, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def solutions(notebook):
    return [cell for cell in code(notebook) if "solution" in cell.metadata.get("tags", [])]


def executed(path, directory):
    """The notebook with its outputs. The first cell that raises ends the test with its traceback."""
    notebook = read(path)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(directory)}}).execute()
    return notebook


def kinds(notebook):
    return {kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})}


class Notebooks(unittest.TestCase):
    def test_every_cell_of_each_lecture_runs(self):
        for path in LECTURES:
            with self.subTest(path.name), tempfile.TemporaryDirectory() as empty:
                notebook = executed(path, empty)
                self.assertEqual([cell.execution_count for cell in code(notebook)], list(range(1, len(code(notebook)) + 1)))
                self.assertIn("image/png", kinds(notebook))

    def test_the_first_notebook_runs(self):
        notebook = executed(FIRST, EXAMPLES)
        self.assertLessEqual({"image/png", "text/html"}, kinds(notebook))
        pages = [output["data"]["text/html"] for cell in code(notebook) for output in cell.outputs if "text/html" in output.get("data", {})]
        self.assertTrue(any("<iframe srcdoc=" in page for page in pages))

    def test_no_output_is_stored(self):
        for path in [FIRST, *LECTURES]:
            notebook = read(path)
            nbformat.validate(notebook)
            for cell in code(notebook):
                self.assertEqual((cell.outputs, cell.execution_count), ([], None), path.name)

    def test_each_paper_has_a_lecture_that_checks_one_of_its_figures(self):
        reproduced = {path.stem: {id.split("-")[0] for id in re.findall(r'divvy\.paper\("([^"]+)"\)', path.read_text().replace('\\"', '"'))} for path in LECTURES}
        papers = {id.split("-")[0] for id in divvy.papers()}
        self.assertEqual(set().union(*reproduced.values()), papers)
        # The preferential scheduler is a part of the paper of procfair.
        self.assertEqual(set(reproduced), papers - {"tfps"})

    def test_a_lecture_has_checks_and_exercises_with_hidden_solutions(self):
        for path in LECTURES:
            notebook = read(path)
            checks = [cell for cell in code(notebook) if any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(cell.source)))]
            self.assertGreaterEqual(len([cell for cell in checks if cell not in solutions(notebook)]), 3, path.name)
            self.assertGreaterEqual(len(solutions(notebook)), 3, path.name)
            for cell in solutions(notebook):
                self.assertTrue(cell.metadata.jupyter.source_hidden, path.name)
                self.assertIn(cell, checks, path.name)
            text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
            self.assertEqual(len(re.findall(r"^\*\*\d\.\*\* ", text, re.MULTILINE)), len(solutions(notebook)), path.name)
            self.assertIn("print(divvy.source(", "".join(cell.source for cell in code(notebook)), path.name)

    def test_the_book_lists_them(self):
        page = (ROOT / "docs" / "how-to" / "teach.md").read_text()
        for path in LECTURES:
            self.assertIn(f"python/notebooks/{path.name}", page)


class Sources(unittest.TestCase):
    def test_what_is_shown_is_what_is_in_the_tree(self):
        for policy, function in (("pbs", "pbs_set_rank"), ("gr3", "gr3_intergroup"), ("feasible", "feasible_readjust"), ("flow", "flow_is_near"), ("tfps", "tfps_weight")):
            excerpt = divvy.source(policy, function)
            tree = "".join(path.read_text() for path in (ROOT / "policy").rglob("*.h"))
            self.assertIn(excerpt, tree)
            self.assertTrue(excerpt.startswith("/*") and excerpt.endswith("\n}"), excerpt)
            self.assertEqual(excerpt.count("\n}"), 1)
            self.assertIn(f"{function}(", excerpt)
        self.assertEqual(divvy.source("rr"), (ROOT / "policy" / "select" / "rr.h").read_text())

    def test_what_is_not_there_is_named(self):
        with self.assertRaisesRegex(divvy.UsageError, "no header of a policy 'gr4'"):
            divvy.source("gr4")
        with self.assertRaisesRegex(divvy.UsageError, "gr3 has no function 'gr3_nothing'"):
            divvy.source("gr3", "gr3_nothing")


if __name__ == "__main__":
    unittest.main()
