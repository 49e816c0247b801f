"""The words that tests of profiles of other tools share: the stacks and times of a file, as replay has them."""

import collections
import json
import os
import re

from harness import Test, file_in, run_program

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "foreign")


def file_of(name):
    return os.path.join(FILES, name)


def finished(*arguments):
    return run_program(*arguments)[0]


def folded_lines(path):
    """(frames, count) of each line of collapsed stacks, without metadata."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                stack, count = line.rstrip("\n").rsplit(" ", 1)
                yield [frame for frame in stack.split(";") if frame], int(count)


class Opened(Test):
    def labels(self, path, *options):
        """(thread and frames, samples) of each stack of a file, as replay writes them."""
        output = file_in("opened.folded")
        process = finished("replay", path, "--idle", "--waits=on", "--collapsed=" + output, *options)
        self.assertEqual(process.wait(), 0, process.output())
        return list(folded_lines(output))

    def replay(self, path, *options):
        """The stacks of a file as replay writes them: {(thread, names): samples}."""
        stacks = collections.Counter()
        for frames, count in self.labels(path, *options):
            stacks[frames[0], tuple(name_of(frame) for frame in frames[1:])] += count
        return stacks

    def times(self, path):
        """Nanoseconds of each thread, by the names of its stacks, as speedscope files have them."""
        output = file_in("opened.speedscope.json")
        process = finished("replay", path, "--idle", "--waits=on", "--speedscope=" + output)
        self.assertEqual(process.wait(), 0, process.output())
        return speedscope_times(output)

    def summary(self, path):
        output = file_in("opened.txt")
        process = finished("replay", path, "--summary=" + output)
        self.assertEqual(process.wait(), 0, process.output())
        with open(output, encoding="utf-8") as file:
            return file.read()

    def refused(self, data, expected, status=1):
        path = file_in("refused.%d" % os.getpid())
        with open(path, "wb") as file:
            file.write(data)
        process = finished("replay", path)
        self.assertEqual(process.wait(), status, process.output())
        lines = process.output().split("stderr: ")[1].strip().split("\n")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(expected, lines[0])


def name_of(label):
    """The function of a frame of our collapsed stacks."""
    match = re.match(r"([^:]*):(.*):(-?\d+)$", label)
    return match.group(2) if match else label


def speedscope_times(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    times = {}
    for profile in document["profiles"]:
        self_times = times.setdefault(profile["name"], collections.Counter())
        for stack, weight in zip(profile["samples"], profile["weights"]):
            self_times[tuple(names[frame] for frame in stack)] += weight
    return times


def without_threads(times):
    """The stacks of all threads together."""
    return sum(times.values(), collections.Counter())


def file_of_text(name, text):
    path = file_in(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def trace_times(path):
    """Nanoseconds of each stack of Chrome trace events: of a pair or a complete event without what is within it."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    times, threads = collections.Counter(), {}
    for event in document if isinstance(document, list) else document["traceEvents"]:
        events, open_ones = threads.setdefault((event["pid"], event["tid"]), ([], []))
        start = round(event.get("ts", 0) * 1000)
        if event["ph"] == "X":
            events.append((start, -start - round(event["dur"] * 1000), -len(events), re.sub(r" \(.*:\d+\)$", "", event["name"])))
        elif event["ph"] == "B":
            open_ones.append((start, event["name"]))
        elif event["ph"] == "E":
            begun, name = open_ones.pop()
            events.append((begun, -start, len(open_ones), name))
    for events, _ in threads.values():
        stack = []
        for start, end, _, name in sorted(events):
            while stack and -stack[-1][0] <= start:
                stack.pop()
            if stack:
                # A thread that got its name late has two tracks under one number, and what overlaps is cut.
                end = max(end, stack[-1][0])
                times[tuple(name for _, name in stack)] -= -end - start
            stack.append((end, name))
            times[tuple(name for _, name in stack)] += -end - start
    return +times
