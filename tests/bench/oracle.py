"""Separates stacks that a program can have from those it cannot, by its source: who calls whom on which line."""

import ast
import os


class Oracle:
    """The legal calls of some source texts. Callees are found by the last part of their name, which must be unique."""

    def __init__(self, sources, most=None):
        """sources: {file name: text}; most: {function: how often it may be on one stack}."""
        self.most = most or {}
        self.lines = {}  # (file, function) -> (first line, last line)
        self.calls = set()  # (file, function, line, callee file, callee)
        self.generators = set()  # (file, function)
        self._by_name = {}
        trees = {name: ast.parse(text) for name, text in sources.items()}
        for name, tree in trees.items():
            self._define(name, tree, "<module>", "", (1, len(sources[name].splitlines())))
        for name, tree in trees.items():
            self._follow(name, tree, "<module>", "")

    def _define(self, file, node, function, prefix, lines):
        self.lines[file, function] = lines
        for child in functions_in(node):
            if isinstance(child, ast.ClassDef):
                self._define(file, child, prefix + child.name, prefix + child.name + ".", span(child))
                if any(getattr(member, "name", "") == "__init__" for member in child.body):
                    self._by_name[child.name] = (file, prefix + child.name + ".__init__")
                continue
            name = prefix + child.name
            self._by_name[child.name] = (file, name)
            if any(isinstance(below, (ast.Yield, ast.YieldFrom)) for below in own_nodes(child)):
                self.generators.add((file, name))
            self._define(file, child, name, name + ".<locals>.", span(child))

    def _follow(self, file, node, function, prefix):
        for below in own_nodes(node):
            if isinstance(below, ast.Call):
                callee = self._by_name.get(getattr(below.func, "attr", getattr(below.func, "id", None)))
                for line in range(below.lineno, below.end_lineno + 1) if callee else ():
                    self.calls.add((file, function, line) + callee)
        for child in functions_in(node):
            name = prefix + child.name
            self._follow(file, child, name, name + (".<locals>." if not isinstance(child, ast.ClassDef) else "."))

    def judge(self, frames):
        """The verdict on a stack of (file, function, line), outermost first: legal, impossible or orphan.

        An orphan is an impossible stack that lacks what it stands on: it does not begin at the program's module, or a
        generator in it is not above the one that drives it.
        """
        if not frames or frames[0][1] != "<module>":
            return "orphan"
        counts = {}
        for at, (file, function, line) in enumerate(frames):
            lines = self.lines.get((file, function))
            if not lines:
                return "impossible"
            if line > 0 and not lines[0] <= line <= lines[1]:
                return "impossible"
            if at and frames[at - 1] + (file, function) not in self.calls:
                return "orphan" if (file, function) in self.generators else "impossible"
            counts[function] = counts.get(function, 0) + 1
            if counts[function] > self.most.get(function, 1):
                return "impossible"
        return "legal"


def span(node):
    return min([node.lineno] + [decorator.lineno for decorator in node.decorator_list]), node.end_lineno


def functions_in(node):
    """Functions and classes directly below, also inside of statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield child
        else:
            yield from functions_in(child)


def own_nodes(node):
    """Everything below that runs in the frame of node itself."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            yield child
            yield from own_nodes(child)


def oracle_of(path, generated=None, most=None):
    """The oracle of the workload at path with the sources it generates."""
    with open(path, encoding="utf-8") as source:
        sources = {os.path.basename(path): source.read()}
    sources.update(generated or {})
    return Oracle(sources, most)
