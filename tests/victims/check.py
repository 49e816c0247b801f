#!/usr/bin/env python3
"""Runs victims and checks their docstrings.

Usage: check.py [VICTIM ...]

Each victim (all of this folder if none is named) runs for about a second in its own process. After READY, a thread of it reads
every thread's stack. Each stack must match a line below `Answer:`, and the innermost function of each such line must occur.
Grammar of an answer, outermost frame first:

    name:LINES       a frame; LINES is 7, 7-9, 7,9 or * for any
    name:LINES*      one or more such frames
    ...              any frames, or no frame
    K, NAME          in capitals: f_K is any f_ with digits, NAME is any name

A stack may end early: a prefix of an answer fits too, and the innermost frame may stand on its `def` line. Before 3.11
only the last part of a qualified name is compared.
"""

import ast
import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
ARGUMENTS = {"descent.py": ["20", "1"], "recursion.py": ["20", "1"], "threads.py": ["4", "1"], "versions.py": ["2000", "1"]}
# execs.py replaces the process that watches it; shared_gil.py and subinterp.py have threads of an interpreter that this one cannot
# see; secretive.py has names to hide; contexts.py, slow_requests.py, thread_contexts.py and variables.py have values to
# find, and no answer; memory.py stays until it is killed;
# the threads of imports.py, locks.py and shared_locks.py and the tasks of task_locks.py wait without end, those of crowd.py for nothing,
# collective.py and ranks.py are many processes, and gil.py and uninterruptible.py cannot read themselves.
UNWATCHED = {"collective.py", "contexts.py", "crowd.py", "execs.py", "gil.py", "imports.py", "locks.py", "memory.py", "ranks.py", "secretive.py", "shared_gil.py", "shared_locks.py", "slow_requests.py", "subinterp.py", "task_locks.py", "thread_contexts.py", "uninterruptible.py", "variables.py"}
# Functions that are too short to be interrupted: the GIL is free only before and after a call.
UNSEEN = {"compare"}
# Long enough to walk a stack before the victim moves on, short enough to interrupt it in all places.
SWITCH_INTERVAL_S = 3e-4
QUALIFIED = sys.version_info >= (3, 11)
FRAME = re.compile(r"(.+):(\*|[0-9,-]+)(\*?)$")
ANY = object()
# The exit code of a victim that lacks a requirement.
NOT_HERE = 77
LIMIT_S = 60


class Answer:
    """One line of the grammar: a list of (name, set of lines or ANY, repeated) and ANY for `...`."""

    def __init__(self, text):
        self.text = text
        self.parts = []
        for word in text.split():
            if word == "...":
                self.parts.append(ANY)
                continue
            match = FRAME.match(word)
            if not match:
                raise ValueError("bad answer %r in %r" % (word, text))
            name, lines, star = match.groups()
            self.parts.append((name, parse_lines(lines), bool(star)))

    def fits(self, stack):
        """True if stack, a list of (name, line, first line), is this answer or a prefix of it."""
        return self._fits(stack, 0, 0)

    def _fits(self, stack, part, frame):
        if frame == len(stack):
            return True
        if part == len(self.parts):
            return False
        if self.parts[part] is ANY:
            return any(self._fits(stack, part + 1, next_frame) for next_frame in range(frame, len(stack) + 1))
        name, lines, repeated = self.parts[part]
        while frame < len(stack) and frame_fits(name, lines, stack[frame], frame == len(stack) - 1):
            frame += 1
            if self._fits(stack, part + 1, frame):
                return True
            if not repeated:
                return False
        return False

    def leaf(self):
        """The name of the innermost function that must be seen, or None."""
        return None if self.parts[-1] is ANY else self.parts[-1][0]


def parse_lines(text):
    if text == "*":
        return ANY
    lines = set()
    for item in text.split(","):
        first, _, last = item.partition("-")
        lines.update(range(int(first), int(last or first) + 1))
    return lines


def name_fits(wanted, name):
    if wanted == "NAME":
        return True
    if wanted == "f_K":
        return re.match(r"f_[0-9]+$", name) is not None
    return wanted == name or (not QUALIFIED and wanted.rpartition(".")[2] == name)


def frame_fits(wanted, lines, frame, is_leaf):
    name, line, first_line = frame
    return name_fits(wanted, name) and (lines is ANY or line in lines or (is_leaf and line == first_line))


def answers_of(path):
    with open(path, encoding="utf-8") as source:
        docstring = ast.get_docstring(ast.parse(source.read()))
    _, _, listing = docstring.partition("Answer:\n")
    return [Answer(line.strip()) for line in listing.splitlines() if line.strip()]


def stack_of(frame, path):
    """The frames from the victim's module on, or from the outermost one of a thread; None if path is not in it."""
    stack = []
    ours = False
    while frame is not None:
        code = frame.f_code
        name = code.co_qualname if QUALIFIED else code.co_name
        stack.append((name, frame.f_lineno or 0, code.co_firstlineno))
        ours = ours or code.co_filename == path
        if code.co_filename == path and name == "<module>":
            break
        frame = frame.f_back
    return tuple(reversed(stack)) if ours else None


def watch(path, seen, output, stop):
    me = threading.get_ident()
    while not stop.is_set():
        time.sleep(0.0001)
        began = time.monotonic()
        stacks = [stack_of(frame, path) for ident, frame in sys._current_frames().items() if ident != me]
        # After that the victim may have run meanwhile, so that the stacks belong to different times.
        if time.monotonic() - began < SWITCH_INTERVAL_S * 0.8 and output.getvalue():
            seen.update(stack for stack in stacks if stack)


def run(path):
    """Runs the victim, returns (set of stacks, text it printed)."""
    seen, stop, output = set(), threading.Event(), io.StringIO()
    watcher = threading.Thread(target=watch, args=(path, seen, output, stop))
    name = os.path.basename(path)
    sys.argv = [path] + ARGUMENTS.get(name, ["1"])
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    watcher.start()
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        if end.code == NOT_HERE:
            return seen, None
    finally:
        stop.set()
        watcher.join()
    return seen, output.getvalue()


def check(path):
    """Prints what is wrong with one victim and returns how many things are."""
    name = os.path.basename(path)
    answers = answers_of(path)
    if name in UNWATCHED:
        print("%s: not watched" % name)
        return 0
    seen, output = run(path)
    if output is None:
        print("%s: not here" % name)
        return 0
    problems = []
    if output.split().count("READY") != 1:
        problems.append("printed %r instead of READY once" % output)
    for stack in sorted(seen):
        if not any(answer.fits(stack) for answer in answers):
            problems.append("not in the answer: " + " ".join("%s:%d" % frame[:2] for frame in stack))
    found = {frame[0] for stack in seen for frame in stack}
    for answer in answers:
        leaf = answer.leaf()
        inlined = leaf and leaf.endswith("<listcomp>") and sys.version_info >= (3, 12)
        if leaf and leaf not in UNSEEN and not inlined and not any(name_fits(leaf, other) for other in found):
            problems.append("never seen: " + answer.text)
    for problem in problems:
        print("%s: %s" % (name, problem))
    print("%s: %d different stacks, %d problems" % (name, len(seen), len(problems)))
    return len(problems)


def call(name):
    """Not 0: it has failed."""
    try:
        return subprocess.call([sys.executable, __file__, name], timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        print("%s: still runs after %d s" % (name, LIMIT_S))
        return 1


def main():
    names = [os.path.basename(name) for name in sys.argv[1:]]
    if len(names) == 1:
        sys.exit(1 if check(os.path.join(FOLDER, names[0])) else 0)
    if not names:
        names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".py") and name != os.path.basename(__file__))
    sys.exit(1 if any([call(name) for name in names]) else 0)


if __name__ == "__main__":
    main()
