"""Finds circles of files inside a Rust crate: files that use each other, directly or through others.

A file uses another if a path in it (`crate::a::b`, `super::b`, `self::b`, or `b::..` for a module that it declares) ends at
an item of that file. An item that a module only re-exports belongs to the file that defines it. Declaring a module
(`mod b;`) and re-exporting from one's own modules (`pub use b::X`) do not count as uses, because they cannot be avoided.
Tests (`#[cfg(test)] mod`) are left out.
"""

import re
from pathlib import PurePosixPath

# Text that is no code: comments, strings, characters, lifetimes.
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|\bb?r(?P<h>#*)".*?"(?P=h)|b?"(?:\\.|[^"\\])*"'
    r"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'|'\w+",
    re.S,
)
TOKEN = re.compile(r"\w+|::|[^\w\s]")
PATH_ATTRIBUTE = re.compile(r'#\[path\s*=\s*"(?P<path>[^"]*)"\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(?P<name>\w+)')
WORD = re.compile(r"[A-Za-z_]\w*$")
ITEMS = {"fn", "struct", "enum", "trait", "type", "const", "static", "union"}


def code(text):
    """The text with everything that is no code blanked, line by line as before."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


class Module:
    """A module: a file, or a part of one in braces."""

    def __init__(self, file, parent, name):
        self.file, self.parent, self.name = file, parent, name
        self.children = {}
        self.items = set()
        self.named = {}  # name: path that it was imported from
        self.globs = []
        self.paths = []  # (path, line, is a re-export)

    def root(self):
        return self.parent.root() if self.parent else self


class Reader:
    """Reads the modules of one file from its tokens."""

    def __init__(self, text):
        lines = enumerate(code(text).splitlines(), 1)
        self.tokens = [(token, number) for number, line in lines for token in TOKEN.findall(line)]
        self.at = 0

    def token(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else ""

    def skip_braces(self):
        """From an opening brace to behind its closing one."""
        depth = 0
        while self.token():
            depth += {"{": 1, "}": -1}.get(self.token(), 0)
            self.at += 1
            if depth == 0:
                return

    def use_tree(self, prefix):
        """The leaves of a `use`: (path, name), where the name of `*` is None."""
        path = list(prefix)
        while True:
            token = self.token()
            if token == "{":
                self.at += 1
                leaves = []
                while self.token() not in ("}", ""):
                    leaves += self.use_tree(path)
                    self.at += self.token() == ","
                self.at += 1
                return leaves
            if token == "*":
                self.at += 1
                return [(path, None)]
            if token == "::":
                self.at += 1
            elif WORD.match(token):
                path.append(token)
                self.at += 1
                if self.token() == "as":
                    self.at += 2
                    return [(path, self.token(-1))]
                if self.token() != "::":
                    if path[-1] == "self":
                        path = path[:-1]
                    return [(path, path[-1])] if path else []
            else:
                self.at += 1
                return []

    def module(self, module, declared, depth=0):
        """Everything up to the end of this module."""
        hidden = False
        while token := self.token():
            line = self.tokens[self.at][1]
            if token == "#" and "".join(self.token(i) for i in range(7)) == "#[cfg(test)]":
                hidden = True
                self.at += 7
            elif token == "mod" and WORD.match(self.token(1)):
                name, what = self.token(1), self.token(2)
                self.at += 2
                if what == ";" and not hidden:
                    declared.append((module, name))
                elif what == "{" and hidden:
                    self.skip_braces()
                elif what == "{":
                    self.at += 1
                    child = module.children[name] = Module(module.file, module, name)
                    self.module(child, declared)
                hidden = False
            elif token == "use" and self.token(-1) != ".":
                public = self.token(-1) == "pub" or (self.token(-1) == ")" and self.token(-4) == "pub")
                self.at += 1
                for path, name in self.use_tree([]):
                    module.paths.append((path if name else [*path, "*"], line, public))
                    if name:
                        module.named[name] = path
                    else:
                        module.globs.append(path)
            elif token in ("{", "}"):
                depth += 1 if token == "{" else -1
                hidden = False
                self.at += 1
                if depth < 0:
                    return
            elif token in ITEMS and depth == 0 and WORD.match(self.token(1)):
                module.items.add(self.token(1))
                self.at += 2
                hidden = False
            elif WORD.match(token) and self.token(1) == "::" and self.token(-1) not in ("::", "."):
                path = [token]
                while self.token(1) == "::" and WORD.match(self.token(2)):
                    self.at += 2
                    path.append(self.token())
                self.at += 1
                module.paths.append((path, line, False))
            else:
                self.at += 1


def read_crate(files, root):
    """The module at the root of a crate, all others below it. `files` has the text of each."""
    top = Module(root, None, "crate")
    waiting = [top]
    while waiting:
        module = waiting.pop()
        declared = []
        paths = {found["name"]: found["path"] for found in PATH_ATTRIBUTE.finditer(files[module.file])}
        Reader(files[module.file]).module(module, declared)
        for parent, name in declared:
            file = find(files, module, parent, name, paths.get(name))
            if file:
                child = parent.children[name] = Module(file, parent, name)
                waiting.append(child)
    return top


def find(files, module, parent, name, path):
    """The file of `mod name;` in `parent`, a module of the file of `module`."""
    here = PurePosixPath(module.file)
    if path:
        parts = []
        for part in (here.parent / path).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        found = [str(PurePosixPath(*parts))]
    else:
        folder = here.parent
        if module.parent and here.name != "mod.rs":
            folder = here.with_suffix("")
        inline = []
        while parent is not module:
            inline.insert(0, parent.name)
            parent = parent.parent
        folder = folder.joinpath(*inline)
        found = [str(folder / f"{name}.rs"), str(folder / name / "mod.rs")]
    return next((file for file in found if file in files), None)


def resolve(module, path, seen=()):
    """The module in which a path ends, where its item is defined; None if it leaves the crate."""
    if (module, tuple(path)) in seen or not path:
        return None
    seen = (*seen, (module, tuple(path)))
    first, rest = path[0], path[1:]
    if first == "crate":
        at = module.root()
    elif first == "self":
        at = module
    elif first == "super":
        at = module.parent
    elif first in module.children:
        at = module.children[first]
    elif first in module.named and module.named[first][0] != first:
        return resolve(module, [*module.named[first], *rest], seen)
    else:
        return None
    while at and rest:
        name = rest[0]
        if name == "super":
            at = at.parent
        elif name in at.children:
            at = at.children[name]
        elif name in at.items or name == "*":
            return at
        elif name in at.named:
            return resolve(at, [*at.named[name], *rest[1:]], seen)
        else:
            return through_globs(at, name, seen) or at
        rest = rest[1:]
    return at


def through_globs(module, name, seen):
    """The module that defines what `module` has under this name by a `use ..::*`."""
    for glob in module.globs:
        source = resolve(module, [*glob, "*"], seen)
        if not source or source is module:
            continue
        if name in source.items or name in source.children:
            return source
        if name in source.named:
            return resolve(source, source.named[name], seen)
    return None


def is_below(module, ancestor):
    while module:
        if module is ancestor:
            return True
        module = module.parent
    return False


def uses(module, edges=None):
    """Which file uses which: {(user, used): line of the first use}."""
    edges = {} if edges is None else edges
    for path, line, exported in module.paths:
        used = resolve(module, path)
        if used and used.file != module.file and not (exported and is_below(used, module)):
            edges.setdefault((module.file, used.file), line)
    for child in module.children.values():
        uses(child, edges)
    return edges


def circles(edges):
    """The sets of files that reach each other (Tarjan's strongly connected components, of more than one)."""
    after = {}
    for user, used in edges:
        after.setdefault(user, []).append(used)
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in after.get(file, []):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            at = stack.index(file)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1:
                found.append(sorted(circle))

    for file in list(after):
        if file not in index:
            visit(file)
    return sorted(found)


def roots(files):
    """The files that a crate of cargo begins with."""
    pattern = re.compile(r"(^|.*/)(src/(lib|main|bin/\w+)|(tests|benches|examples)/(\w+|\w+/main))\.rs$")
    return [file for file in files if pattern.match(file)]


def test():
    """A crate with each kind of use; then with one more, which closes a circle."""
    files = {
        "src/lib.rs": "mod a; mod b; pub mod c { pub mod d; }\npub use a::A; pub(crate) use b::*;",
        "src/a.rs": "//! crate::c::d::D\nuse crate::B; pub struct A<'a>(&'a str, B); const S: &str = \"super::c\";",
        "src/b/mod.rs": "mod e;\npub use e::E; pub struct B { c: char }\nfn f() -> char { '\\'' }",
        "src/b/e.rs": "pub struct E; #[cfg(test)]\nmod tests { use super::*; use crate::a::A; }",
        "src/c/d.rs": "use super::super::{A as Other, E};\nfn d() { E }",
    }
    root = "src/lib.rs"
    expected = {("src/a.rs", "src/b/mod.rs"), ("src/c/d.rs", "src/a.rs"), ("src/c/d.rs", "src/b/e.rs")}
    edges = uses(read_crate(files, root))
    assert set(edges) == expected, edges
    assert circles(edges) == []
    for file, more, circle in [
        ("src/b/mod.rs", "use crate::c::d;", ["src/a.rs", "src/b/mod.rs", "src/c/d.rs"]),
        ("src/b/e.rs", "fn e() -> super::super::A {}", ["src/a.rs", "src/b/mod.rs"]),
        ("src/b/e.rs", "use super::B;", None),
        ("src/a.rs", "use setup::setup; fn f() { setup::x() }", None),
        ("src/a.rs", "mod inner { fn f() { super::super::c::d::d() } }", ["src/a.rs", "src/c/d.rs"]),
    ]:
        changed = {**files, file: files[file] + more}
        if file == "src/b/e.rs" and circle:
            changed["src/b/mod.rs"] += "use e::E as Mine; fn g(m: Mine) {}"
            circle = ["src/a.rs", "src/b/e.rs", "src/b/mod.rs"]
        got = circles(uses(read_crate(changed, root)))
        assert got == ([circle] if circle else []), (more, got)


if __name__ == "__main__":
    test()
