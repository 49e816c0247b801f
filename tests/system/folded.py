"""Folded stacks, and which of them may be seen of a victim."""

import ast
import os
import re
import sys

from harness import VICTIMS

sys.path.insert(0, VICTIMS)
import check  # noqa: E402  the grammar of the victims' answers


class Stack:
    """A line of folded stacks. Frames are (file, function, line); synthetic ones have only a name, and so have
    functions of the kernel."""

    LINE = re.compile(r"tid:(\d+)(?: [^;]*?)?((?:;[^;]+)*) (\d+)$")
    FRAME = re.compile(r"([^:]*):(.*):(-?\d+)$", re.DOTALL)

    def __init__(self, text):
        match = self.LINE.match(text)
        if not match:
            raise ValueError("not a folded stack: %r" % text[:200])
        self.tid, self.count = int(match.group(1)), int(match.group(3))
        self.frames, self.marks, self.kernel = [], [], []
        for label in match.group(2).split(";")[1:]:
            frame = self.FRAME.match(label)
            if frame:
                self.frames.append((frame.group(1), frame.group(2), int(frame.group(3))))
            elif label.endswith("_[k]"):
                self.kernel.append(label[:-len("_[k]")])
            elif re.match(r"<.+>", label):
                self.marks.append(label)
            else:
                raise ValueError("not a frame: %r" % label)

    @property
    def names(self):
        return [function for _, function, _ in self.frames]

    @property
    def is_truncated(self):
        return "<truncated>" in self.marks

    def __str__(self):
        return " ".join(["%s:%d" % frame[1:] for frame in self.frames] + self.marks)


def parse_folded(text):
    return [Stack(line) for line in text.split("\n") if line]


def read_folded(path):
    with open(path, encoding="utf-8", newline="") as file:
        return parse_folded(file.read())


class Legal:
    """The stacks that may be seen of a victim, from the answers in its docstring.

    Where an answer leaves frames open (`...`), those of the victim's own file are compared and the others are not.
    """

    def __init__(self, name, qualified=True):
        self.file = name
        path = os.path.join(VICTIMS, name)
        self.answers = check.answers_of(path)
        if not qualified:
            for answer in self.answers:
                answer.parts = [part if part is check.ANY else (part[0].rpartition(".")[2],) + tuple(part[1:])
                                for part in answer.parts]
        self._def_lines = def_lines(path)

    def _seen(self, frames):
        """As check.py has it: (name, line, first line), the latter only where the function has just been entered.

        What a function does with its cells then belongs to no line.
        """
        return [(name, line, line if line in self._def_lines or line == 0 else None) for _, name, line in frames]

    def fits(self, answer, stack):
        """True if the stack is this answer or a prefix of it."""
        if check.ANY not in answer.parts:
            return answer.fits(self._seen(stack.frames))
        own = [frame for frame in stack.frames if frame[0] == self.file]
        if not own:
            return answer.parts[0] is check.ANY and all(file == "threading.py" for file, _, _ in stack.frames)
        named = check.Answer("")
        named.parts = [part for part in answer.parts if part is not check.ANY]
        return named.fits(self._seen(own))

    def allows(self, stack):
        return bool(stack.frames) and any(self.fits(answer, stack) for answer in self.answers)

    def is_whole(self, answer, stack):
        """True if the stack fits and reaches the answer's innermost function."""
        if not stack.frames:
            return False
        innermost = [part for part in answer.parts if part is not check.ANY][-1][0]
        if answer.parts[-1] is check.ANY:
            return self.allows(stack) and any(check.name_fits(innermost, name) for name in stack.names)
        return self.fits(answer, stack) and check.name_fits(innermost, stack.names[-1])


def def_lines(path):
    """Lines at which a function that has just been entered may stand."""
    with open(path, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines.add(node.lineno)
            lines.update(decorator.lineno for decorator in node.decorator_list)
    return lines
