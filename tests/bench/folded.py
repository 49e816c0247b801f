"""Profiles of all profilers as one thing: counts of stacks of (file, function, line), outermost first."""

import collections
import os
import re

TRUNCATED = "<truncated>"
# Files of frames that belong to the interpreter, not to the program. The last is what stands between a class and its __init__.
SHIM_FILES = ("<shim>", "<interpreter trampoline>", "__init__")


class Profile:
    """Stacks and how often each was seen; `truncated` ones are incomplete and say so, `idle` ones hold no Python frame."""

    def __init__(self):
        self.stacks = collections.Counter()
        self.truncated = 0
        self.idle = 0

    @property
    def samples(self):
        return sum(self.stacks.values()) + self.idle

    def add(self, labels, count, parse):
        frames = []
        cut = False
        for label in labels:
            frame = parse(label)
            if frame and frame[0] not in SHIM_FILES:
                frames.append(frame)
            cut = cut or label == TRUNCATED
        if cut:
            self.truncated += count
            frames.append(("~", TRUNCATED, 0))
        if frames:
            self.stacks[tuple(frames)] += count
        else:
            self.idle += count

    def merge(self, other):
        self.stacks.update(other.stacks)
        self.truncated += other.truncated
        self.idle += other.idle

    def by_function(self):
        """Counts of whole stacks, lines left out."""
        return project(self.stacks, lambda stack: tuple(frame[:2] for frame in stack))

    def by_leaf(self):
        """Counts of the innermost function."""
        return project(self.stacks, lambda stack: stack[-1][1])

    def by_leaf_line(self):
        return project(self.stacks, lambda stack: "%s:%d" % stack[-1][1:])


def project(stacks, key):
    counts = collections.Counter()
    for stack, count in stacks.items():
        counts[key(stack)] += count
    return counts


COLON = re.compile(r"(.*?):(.*):(-?\d+)$", re.DOTALL)
PAREN = re.compile(r"(.*) \((.*):(\d+)\)$", re.DOTALL)


def colon_frame(label):
    match = COLON.match(label)
    if not match or match.group(1) in ("~", ""):
        return None
    return os.path.basename(match.group(1)), match.group(2), int(match.group(3))


def paren_frame(label):
    match = PAREN.match(label)
    return (os.path.basename(match.group(2)), match.group(1), int(match.group(3))) if match else None


def read_lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")


def read_collapsed(path):
    """`tid:N;file:function:line;... COUNT`, as we and Tachyon write it."""
    profile = Profile()
    for line in read_lines(path):
        stack, _, count = line.rpartition(" ")
        if stack:
            profile.add(stack.split(";")[1:], int(count), colon_frame)
    return profile


def read_austin(path):
    """`P1;T0:1;path:function:line;... MICROSECONDS`, one line a sample."""
    profile = Profile()
    for line in read_lines(path):
        if line.startswith("P"):
            profile.add(line.rpartition(" ")[0].split(";")[2:], 1, colon_frame)
    return profile


def read_pyspy(path):
    """`function (file:line);... COUNT`."""
    profile = Profile()
    for line in read_lines(path):
        stack, _, count = line.rpartition(" ")
        if stack:
            profile.add(stack.split(";"), int(count), paren_frame)
    return profile
