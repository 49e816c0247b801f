"""Profiles of other tools: what they say is what replay says, and damaged ones are one line."""

import collections
import gzip
import json
import marshal
import os
import re
import subprocess
import sys
import unittest

from harness import PROGRAM, Test, file_in, main, run_program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from protobuf import message, packed  # noqa: E402

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "foreign")


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
    def replay(self, path, *options):
        """The stacks of a file as replay writes them: {(thread, names): samples}."""
        output = file_in("opened.folded")
        process = finished("replay", path, "--idle", "--waits=on", "--collapsed=" + output, *options)
        self.assertEqual(process.wait(), 0, process.output())
        stacks = collections.Counter()
        for frames, count in folded_lines(output):
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
        path = file_in("refused")
        with open(path, "wb") as file:
            file.write(data)
        process = finished("replay", path)
        self.assertEqual(process.wait(), status, process.output())
        lines = process.output().split("stderr: ")[1].strip().split("\n")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(expected, lines[0])


def peak_of(*arguments):
    """The most memory, in bytes, that the program had."""
    process = subprocess.Popen([PROGRAM, *arguments], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise AssertionError("%s: exit code %d" % (arguments, process.returncode))
    return usage.ru_maxrss << 10


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


class Collapsed(Opened):
    FORMS = {
        # Name, and what is before the frames; the name of a frame.
        "py-spy.folded": (0, re.compile(r"(.*) \(.*\)$")),
        "py-spy-threads.folded": (2, re.compile(r"(.*) \(.*\)$")),
        "austin.folded": (2, re.compile(r".*:(.*):\d+$")),
        "tachyon.folded": (1, re.compile(r".*:(.*):-?\d+$")),
        "perf.folded": (0, re.compile(r"py::(.*):.*$")),
        "async-profiler.folded": (1, None),
    }

    def test_stacks_are_those_of_the_file(self):
        for name, (skipped, pattern) in self.FORMS.items():
            expected = collections.Counter()
            for frames, count in folded_lines(file_of(name)):
                while skipped and frames and frames[0].startswith("process "):
                    frames = frames[1:]
                own = frames[1:] if name == "py-spy-threads.folded" else frames[skipped:]
                matches = [pattern and pattern.match(frame) for frame in own]
                expected[tuple(match.group(1) if match else frame for match, frame in zip(matches, own))] += count
            with self.subTest(name=name):
                found = collections.Counter()
                for (_, stack), count in self.replay(file_of(name)).items():
                    found[stack] += count
                self.assertEqual(found, expected)

    def test_threads_are_those_of_the_file(self):
        threads = {thread for thread, _ in self.replay(file_of("async-profiler.folded"))}
        self.assertEqual(threads, {"tid:4711 main", "tid:4713 GC Thread#0"})
        threads = {thread.split(" ", 1)[-1] for thread, _ in self.replay(file_of("py-spy-threads.folded"))}
        self.assertLessEqual({"MainThread", "hasher"}, threads)

    def test_what_austin_counts_is_time(self):
        total = sum(count for _, count in folded_lines(file_of("austin.folded")))
        times = self.times(file_of("austin.folded"))
        self.assertEqual(sum(sum(stacks.values()) for stacks in times.values()), total * 1000)
        self.assertIn("a profile of Austin 3.7.0 (collapsed stacks), without states", self.summary(file_of("austin.folded")))

    def test_what_is_unknown_is_said(self):
        summary = self.summary(file_of("async-profiler.folded"))
        self.assertIn("what threads did is unknown, and what a sample stands for", summary)
        self.assertIn("without states, times of day, order, the time of a sample, files, lines", summary)
        self.assertNotIn("0.00 s", summary)
        self.assertNotIn("% exact", summary)

    def test_damaged_ones_are_one_line(self):
        good = b"main (a.py:1);work (a.py:2) 12\n"
        self.refused(good + b"work (a.py:2)\n", "damaged collapsed stacks: line 2 does not end with a space and a number")
        self.refused(good + b"x 99999999999999999999\n", "line 2 does not end with a space and a number")
        self.refused(b"\n".join([b"a 999999999999999999"] * 4), "its values or its times are too large")
        self.refused(good + b"a;" * (3 << 20) + b" 1\n", "a line is longer than 4 MiB")
        self.refused(b"a;b 0\n", "it has no samples")
        self.refused(b"", "it is empty")
        self.refused(b"hello", "not a Pyrometer capture (.pyro), nor a profile of a known format")
        self.refused(gzip.compress(good * 100)[:-20], "the end of what is packed is missing")

    def test_a_deep_stack_is_whole(self):
        path = file_in("deep.folded")
        with open(path, "w", encoding="utf-8") as file:
            file.write(";".join(["fall (a.py:1)"] * 100000) + " 3\n")
        (_, stack), = self.replay(path)
        self.assertEqual(stack, ("fall",) * 100000)

    def test_names_are_what_they_were(self):
        """Names with marks of the format come back through our own files."""
        path, again = file_in("odd.folded"), file_in("again.folded")
        with open(path, "w", encoding="utf-8") as file:
            file.write("a \\x3b b (x:y.py:3);operator() 5\nlambda: 2 (<string>:1);x y (z.py) 7\nna\u00efve;\\\\n 9\n")
        for source, target in ((path, again), (again, path)):
            process = finished("replay", source, "--idle", "--waits=on", "--collapsed=" + target)
            self.assertEqual(process.wait(), 0, process.output())
        with open(path, encoding="utf-8") as one, open(again, encoding="utf-8") as other:
            self.assertEqual(one.read(), other.read())

    def test_compressed_ones_are_unpacked(self):
        expected = self.replay(file_of("tachyon.folded"))
        with open(file_of("tachyon.folded"), "rb") as file:
            data = file.read()
        halves = gzip.compress(data[:1000]) + gzip.compress(data[1000:])
        for name, compressed in (("one.gz", gzip.compress(data)), ("two.gz", halves)):
            path = file_in(name)
            with open(path, "wb") as file:
                file.write(compressed)
            self.assertEqual(self.replay(path), expected)


def without_threads(times):
    """The stacks of all threads together."""
    return sum(times.values(), collections.Counter())


def file_of_text(name, text):
    path = file_in(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Speedscope(Opened):
    def test_times_are_those_of_py_spy(self):
        path = file_of("py-spy.speedscope.json")
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        names = [frame["name"] for frame in document["shared"]["frames"]]
        expected = collections.Counter()
        for profile in document["profiles"]:
            for stack, weight in zip(profile["samples"], profile["weights"]):
                expected[tuple(names[frame] for frame in stack)] += round(weight * 1e9)
        times = self.times(path)
        self.assertEqual(without_threads(times), expected)
        self.assertTrue(any(name.startswith("hasher (") for name in times), list(times))
        self.assertIn("a profile of py-spy", self.summary(path))

    def test_events_are_the_time_of_the_innermost_frame(self):
        frames = [{"name": "a", "file": "x.py", "line": 1}, {"name": "b"}]
        events = [{"type": "O", "at": 1.5, "frame": 0}, {"type": "O", "frame": 1, "at": 2}, {"frame": 1, "at": 2.25e0, "type": "C"},
                  {"type": "C", "at": 10, "frame": 0}]
        document = {"profiles": [{"events": events, "type": "evented", "name": "main", "unit": "milliseconds", "startValue": 1.5,
                                  "endValue": 10}],
                    "shared": {"frames": frames}, "$schema": "https://www.speedscope.app/file-format-schema.json"}
        times = self.times(file_of_text("events.json", json.dumps(document)))
        self.assertEqual(without_threads(times), {("a",): 8250000, ("a", "b"): 250000})

    def test_what_is_no_time_is_counted(self):
        document = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}, {"name": "b"}]},
                    "profiles": [{"type": "sampled", "name": "heap", "unit": "bytes", "startValue": 0, "endValue": 8589934600,
                                  "samples": [[0], [0, 1]], "weights": [8589934592, 8]}]}
        path = file_of_text("bytes.json", json.dumps(document))
        found = collections.Counter()
        for (_, stack), count in self.replay(path).items():
            found[stack] += count
        self.assertEqual(found, {("a",): 8589934592, ("a", "b"): 8})
        self.assertIn("that counts bytes", self.summary(path))

    def test_damaged_ones_are_one_line(self):
        with open(file_of("py-spy.speedscope.json"), "rb") as file:
            data = file.read()
        self.refused(data[:len(data) // 2], "damaged speedscope: it was cut at byte")
        head = b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},"profiles":[{"unit":"none",'
        self.refused(head + b'"samples":[[7]],"weights":[1]}]}', "a frame that is not in the table at byte")
        self.refused(head + b'"samples":[[0]],"weights":[-1]}]}', "a weight is missing, or below 0")
        self.refused(head + b'"samples":[[0],[0]],"weights":[1]}]}', "a weight is missing, or below 0")
        self.refused(head + b'"events":[{"type":"C","at":1,"frame":0}]}]}', "closes a frame that is not the innermost one")
        self.refused(head + b'"samples":' + b"[" * 1000 + b"]" * 1000 + b"}]}", "too many levels")
        self.refused(head + b'"samples":[]}]}', "it has no samples")


def pprof_values(path, number):
    """The values of a sample type of a pprof file, by the names of the stack, as another reader finds them."""
    with open(path, "rb") as file:
        data = file.read()
    profile = message(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    strings = [text.decode("utf-8") for text in profile[6]]
    functions = {row[1][0]: strings[row[2][0]] for row in map(message, profile[5])}
    places = {row[1][0]: [functions[message(line)[1][0]] for line in row[4]] for row in map(message, profile[4])}
    values = collections.Counter()
    for sample in map(message, profile[2]):
        # Locations and values are packed, or one by one.
        path, value = ([item for part in sample.get(field, []) for item in ([part] if isinstance(part, int) else packed(part))]
                       for field in (1, 2))
        names = [name for place in path for name in places[place]]
        values[tuple(reversed(names))] += value[number]
    return +values


class Pprof(Opened):
    def test_times_are_those_of_other_readers(self):
        for name, number, scale in (("go-cpu.pb.gz", 1, 1), ("austin.pb", 0, 1000)):
            with self.subTest(name=name):
                expected = {stack: value * scale for stack, value in pprof_values(file_of(name), number).items()}
                self.assertEqual(without_threads(self.times(file_of(name))), expected)
        self.assertIn("1 other sample types are left out", self.summary(file_of("go-cpu.pb.gz")))

    def test_what_is_no_time_is_counted(self):
        found = collections.Counter()
        for (_, stack), count in self.replay(file_of("go-heap.pb.gz")).items():
            found[stack] += count
        self.assertEqual(found, pprof_values(file_of("go-heap.pb.gz"), 3))
        self.assertIn("that counts bytes (inuse_space)", self.summary(file_of("go-heap.pb.gz")))

    def test_damaged_ones_are_one_line(self):
        with open(file_of("austin.pb"), "rb") as file:
            data = file.read()
        self.refused(data[:len(data) // 2], "damaged pprof: ")
        strings = b"".join(b"\x32" + bytes([len(text)]) + text for text in (b"", b"cpu", b"ns"))
        kind = b"\x0a\x04\x08\x01\x10\x02"
        self.refused(kind + strings + b"\x12\x04\x0a\x00\x12\x00", "a sample without its values")
        self.refused(kind + strings + b"\x12\x06\x0a\x01\x07\x12\x01\x05", "a sample of location 7, which is not there")
        self.refused(kind + strings + b"\x12\x0c\x12\x0a" + b"\xff" * 9 + b"\x01", "a value below 0")
        self.refused(kind + strings + b"\x12\x7f", "a wrong field at byte")
        self.refused(kind + strings, "it has no samples")


class Tachyon(Opened):
    def test_samples_are_those_of_its_own_replay(self):
        # tachyon.bin.folded is what `profiling.sampling replay --collapsed` writes.
        expected = collections.Counter()
        for frames, count in folded_lines(file_of("tachyon.bin.folded")):
            expected[frames[0], tuple(name_of(frame) for frame in frames[1:])] += count
        self.assertEqual(self.replay(file_of("tachyon.bin")), expected)
        times = without_threads(self.times(file_of("tachyon.bin")))
        self.assertEqual(sum(times.values()), sum(expected.values()) * 2000000)
        self.assertIn("a profile of profiling.sampling (binary), without times of day, names of threads", self.summary(file_of("tachyon.bin")))

    def test_damaged_ones_are_one_line(self):
        with open(file_of("tachyon.bin"), "rb") as file:
            data = file.read()
        self.refused(data[:60], "damaged binary: it was cut")
        self.refused(data[:-10], "damaged binary: it was cut, or never finished")
        self.refused(data[:4] + b"\7" + data[5:], "its version 7 is not known")
        self.refused(data[:80] + b"\xff" * 40 + data[120:], "damaged binary: ")
        self.refused(data[:20] + bytes(8) + data[28:], "its interval of 0 us is out of range")


class Mojo(Opened):
    def test_times_are_those_of_its_own_converter(self):
        # austin.mojo.folded is what mojo2austin writes of it, in microseconds.
        expected = collections.Counter()
        for frames, count in folded_lines(file_of("austin.mojo.folded")):
            expected[tuple(frame.split(":")[-2] for frame in frames[2:])] += count * 1000
        times = self.times(file_of("austin.mojo"))
        self.assertEqual(without_threads(times), expected)
        self.assertEqual(len(times), len({frames[1] for frames, _ in folded_lines(file_of("austin.mojo.folded"))}))
        self.assertIn("a profile of Austin 3.7.0 (MOJO), without states, times of day, order, names of threads", self.summary(file_of("austin.mojo")))

    def test_damaged_ones_are_one_line(self):
        with open(file_of("austin.mojo"), "rb") as file:
            data = file.read()
        self.refused(data[:40], "damaged MOJO: ")
        self.refused(b"MOJ\7" + data[4:], "its version 7 is not known")
        sample = b"MOJ\3\2\1\0" + b"1f\0"
        self.refused(sample + b"\5\7", "a frame that is not there at byte")
        self.refused(sample + b"\3\1\2\2\1\1\1\1", "a string that is not there at byte")
        self.refused(sample + b"\x63", "an event of an unknown kind at byte")
        self.refused(sample + b"\x09" + b"\xff" * 12, "a number is too long, or was cut, at byte")
        self.refused(b"MOJ\3\7", "a frame without a sample at byte")
        self.refused(b"MOJ\3\1" + b"x" * 70000, "a text is too long, or was cut, at byte")
        self.refused(sample, "it has no samples")


class Pstats(Opened):
    """A call graph: own times are exact, and divided among direct callers as the file says; what is above these is an estimate."""

    def stats(self, name):
        with open(file_of(name), "rb") as file:
            return marshal.load(file)

    def made(self, stats):
        path = file_in("made.pstats")
        with open(path, "wb") as file:
            marshal.dump(stats, file)
        return without_threads(self.times(path))

    def test_own_times_are_those_of_the_tool(self):
        for name in ("cprofile-3.8.pstats", "cprofile-3.13.pstats", "profile.pstats", "tachyon.pstats"):
            expected = collections.Counter()
            for key, row in self.stats(name).items():
                # Tachyon says in a key of its own that it sampled; what `profile` runs has its code object for a name.
                if len(key) == 3:
                    expected[getattr(key[2], "co_name", key[2])] += round(row[2] * 1e9)
            with self.subTest(name=name):
                found = collections.Counter()
                for stack, ns in without_threads(self.times(file_of(name))).items():
                    found[stack[-1]] += ns
                self.assertEqual(found, +expected)
        self.assertIn("stacks (estimated from callers)", self.summary(file_of("cprofile-3.8.pstats")))
        self.assertIn("stacks (estimated from numbers of calls)", self.summary(file_of("profile.pstats")))

    def test_time_is_divided_among_callers(self):
        a, b, leaf, below = ("x.py", 1, "a"), ("x.py", 2, "b"), ("x.py", 3, "leaf"), ("~", 0, "<built-in method time.sleep>")
        stats = {a: (1, 1, 0.5, 5.5, {}), b: (1, 1, 0.25, 2.25, {}),
                 leaf: (4, 4, 4.0, 6.0, {a: (2, 2, 3.0, 4.5), b: (2, 2, 1.0, 1.5)}),
                 below: (8, 8, 2.0, 2.0, {leaf: (8, 8, 2.0, 2.0)})}
        name = below[2]
        expected = {("a",): 500000000, ("b",): 250000000, ("a", "leaf"): 3000000000, ("b", "leaf"): 1000000000,
                    # Three quarters of the time of `leaf` are below `a`.
                    ("a", "leaf", name): 1500000000, ("b", "leaf", name): 500000000}
        self.assertEqual(self.made(stats), expected)
        # A file of `profile` has the calls of a caller, not its time.
        stats[leaf] = (4, 4, 4.0, 6.0, {a: 1, b: 3})
        self.assertEqual(self.made(stats)["b", "leaf"], 3000000000)

    def test_recursion_ends_a_stack(self):
        root, fall, other = ("x.py", 1, "root"), ("x.py", 2, "fall"), ("x.py", 3, "other")
        stats = {root: (1, 1, 0.0, 3.0, {}), fall: (1, 5, 3.0, 3.0, {root: (1, 1, 1.0, 3.0), fall: (4, 1, 2.0, 2.0)})}
        self.assertEqual(self.made(stats), {("root", "fall"): 1000000000, ("root", "fall", "fall"): 2000000000})
        # A cycle that nobody began.
        stats = {fall: (3, 3, 1.0, 3.0, {other: (3, 3, 1.0, 3.0)}), other: (3, 3, 2.0, 3.0, {fall: (3, 3, 2.0, 3.0)})}
        self.assertEqual(self.made(stats), {("fall", "other", "fall"): 1000000000, ("fall", "other"): 2000000000})

    def test_a_large_graph_is_bounded(self):
        """Some of too many stacks are shown, and own times are whole nevertheless."""
        functions = [("x.py", i, "function %d" % i) for i in range(300)]
        stats = {function: (299, 299, 0.001 * (i + 1), 1.0, {caller: (1, 1, 0.001 * (i + 1) / 299, 1.0 / 299) for caller in functions})
                 for i, function in enumerate(functions)}
        found = collections.Counter()
        for stack, ns in self.made(stats).items():
            found[stack[-1]] += ns
        self.assertEqual(found, {function[2]: 1000000 * (i + 1) for i, function in enumerate(functions)})

    def test_damaged_ones_are_one_line(self):
        with open(file_of("cprofile-3.13.pstats"), "rb") as file:
            data = file.read()
        self.refused(data[:len(data) // 2], "damaged pstats: ")
        self.refused(marshal.dumps({}), "it has no samples")
        key = ("x.py", 1, "a")
        self.refused(marshal.dumps({key: (1, 1, 0.5, 5.5)}), "the numbers of a function are no tuple of five at byte")
        self.refused(marshal.dumps({key: (1, 1, float("nan"), 5.5, {})}), "a number is missing at byte")
        self.refused(marshal.dumps({key: (1, 1, 1e12, 1e12, {})}), "its times are too large")
        self.refused(marshal.dumps({key: (1, 1, 0.5, 5.5, {key: "x"})}), "a caller without times or a number of calls at byte")
        self.refused(marshal.dumps({key: (1, 1, 0.5, 5.5, {("x.py", "a"): 1})}), "a function is no tuple of three at byte")
        self.refused(b"{)\3r\7\0\0\0" + b"z\1x" * 3, "not a Pyrometer capture")
        self.refused(b"{)\3z\1xr\7\0\0\0", "a reference to an object that is not there at byte")


def gecko_stacks(path):
    """Samples of each stack of a processed profile whose threads have tables of their own."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    counts = collections.Counter()
    for thread in document["threads"]:
        stacks, frames, functions = thread["stackTable"], thread["frameTable"]["func"], thread["funcTable"]["name"]
        strings = thread.get("stringArray") or document["shared"]["stringArray"]
        for stack in thread["samples"]["stack"]:
            names = []
            while stack is not None:
                names.append(strings[functions[frames[stacks["frame"][stack]]]])
                stack = stacks["prefix"][stack]
            counts[tuple(reversed(names))] += 1
    return counts, round(document["meta"]["interval"] * 1e6)


class Gecko(Opened):
    @staticmethod
    def made(samples, **more):
        tables = {"stringArray": ["main", "x.py", "work", "<GC>"], "sources": {"filename": [1]},
                  "funcTable": {"name": [0, 2, 3], "source": [0, 0, None], "lineNumber": [1, 5, None]},
                  "frameTable": {"func": [0, 1, 2], "line": [2, 6, None]}, "stackTable": {"frame": [0, 1, 2], "prefix": [None, 0, 1]}}
        return {"threads": [{"name": "a", "pid": "12.1", "tid": 14, "processName": "app", "samples": samples}], "shared": tables,
                "meta": {"interval": 2.5, "preprocessedProfileVersion": 61, "product": "app", **more}}

    def test_samples_are_those_of_tachyon(self):
        path = file_of("tachyon.gecko.json")
        counts, interval_ns = gecko_stacks(path)
        self.assertEqual(without_threads(self.times(path)), {stack: count * interval_ns for stack, count in counts.items()})
        self.assertIn("a profile of Tachyon Sampling Profiler (Firefox Profiler), without states, times of day", self.summary(path))

    def test_weights_are_what_they_are(self):
        stacks = ("main",), ("main", "work"), ("main", "work", "<GC>")
        for samples, expected in (
                ({"weight": None, "stack": [0, 2, 1, 2], "timeDeltas": [0, 1, 2, 3]}, (2500000, 2500000, 5000000)),
                ({"weight": [1, 2, 3, 0], "stack": [0, 1, 2, None], "time": [1, 2, 3, 4]}, (2500000, 5000000, 7500000)),
                ({"weightType": "tracing-ms", "weight": [0.25, 1e-6, 3], "stack": [0, 1, 2], "time": [1, 2, 3]}, (250000, 1, 3000000))):
            path = file_of_text("made.gecko.json", json.dumps(self.made(samples)))
            times = self.times(path)
            self.assertEqual(times, {"a (14)": dict(zip(stacks, expected))})
        path = file_of_text("made.gecko.json", json.dumps(self.made({"weightType": "bytes", "weight": [7, 9], "stack": [0, 1]})))
        found = collections.Counter({stack: count for (_, stack), count in self.replay(path).items()})
        self.assertEqual(found, {stacks[0]: 7, stacks[1]: 9})
        self.assertIn("that counts bytes", self.summary(path))

    def test_damaged_ones_are_one_line(self):
        with open(file_of("tachyon.gecko.json"), "rb") as file:
            data = file.read()
        self.refused(data[:len(data) // 2], "damaged Firefox Profiler: it was cut at byte")

        def refused(document, expected):
            self.refused(json.dumps(document).encode(), expected)

        refused(self.made({"stack": [3], "time": [1]}), "a stack that is not in the table at byte")
        refused(self.made({"stack": [0, 1], "time": [1]}), "a time is missing, or too large, at byte")
        refused(self.made({"stack": [0], "weight": [-1]}), "a weight is missing, or below 0, at byte")
        refused(self.made({"stack": []}), "it has no samples")
        document = self.made({"stack": [0]})
        document["shared"]["stackTable"]["prefix"][0] = 1
        refused(document, "stack 0 is below a later one")
        document["shared"]["stackTable"] = {"frame": [9], "prefix": [None]}
        refused(document, "stack 0 has no function")
        document["shared"]["stackTable"] = {"frame": [1 << 40], "prefix": [None]}
        refused(document, "a number of a table is out of range at byte")


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


class ChromeTrace(Opened):
    def test_times_are_those_of_the_events(self):
        for name in ("viztracer.json", "py-spy.trace.json"):
            with self.subTest(name=name):
                self.assertEqual(without_threads(self.times(file_of(name))), trace_times(file_of(name)))
        self.assertIn("a profile of another tool (Chrome trace), without states, times of day", self.summary(file_of("viztracer.json")))
        with open(file_of("viztracer.json"), encoding="utf-8") as file:
            pid = json.load(file)["traceEvents"][0]["pid"]
        self.assertIn("MainThread (%d)" % pid, self.times(file_of("viztracer.json")))

    def test_events_are_nested(self):
        def event(phase, name, start, **more):
            return {"ph": phase, "name": name, "ts": start, "pid": 7, "tid": 8, **more}

        # A pair that does not end, events of no length and of other kinds, names that come last, and one that ends too late.
        events = [event("B", "a", 0), event("X", "b", 1, dur=2), event("X", "nothing", 1, dur=0), event("i", "mark", 2), event("B", "c", 4.5),
                  event("E", "c", 6), event("X", "d", 8, dur=1), event("X", "e", 8.5, dur=7), event("C", "memory", 9, args={"bytes": 1}),
                  event("E", "a", 10), event("E", "no such", 11), event("B", "f", 12), event("X", "g", 14, dur=0.001),
                  event("M", "thread_name", 0, args={"name": "worker"})]
        expected = {("a",): 5500, ("a", "b"): 2000, ("a", "c"): 1500, ("a", "d"): 500, ("a", "d", "e"): 500, ("f",): 2000, ("g",): 1}
        for document in (events, {"otherData": {}, "traceEvents": events}):
            self.assertEqual(self.times(file_of_text("made.trace.json", json.dumps(document))), {"worker (8)": expected})

    def test_damaged_ones_are_one_line(self):
        with open(file_of("viztracer.json"), "rb") as file:
            data = file.read()
        self.refused(data[:len(data) // 2], "damaged Chrome trace: it was cut at byte")
        self.refused(b'[{"ph":"X","ts":-1,"dur":3,"name":"a"}]', "an event has a time below 0, or too large")
        self.refused(b'[{"ph":"X","ts":9e15,"dur":9e15,"name":"a"}]', "an event has a time below 0, or too large")
        self.refused(b'[{"ph":"X","ts":4e15,"dur":3,"name":"a"}]', "its values or its times are too large")
        self.refused(b'{"traceEvents":[7]}', "an event is no object at byte")
        self.refused(b'{"traceEvents":[]}', "it has no samples")


class RoundTrip(Opened):
    def capture(self):
        path = file_in("trip.pyro")
        if not os.path.exists(path):
            process = finished("record", "-o", path, "-d", "20", "--", sys.executable, file_of("program.py"), "1.5")
            self.assertEqual(process.wait(), 0, process.output())
        return path

    def again(self, kind, name):
        """The times of our own capture, and those after a way through another format."""
        capture, other = self.capture(), file_in(name)
        process = finished("replay", capture, "--idle", "--waits=on", "--%s=%s" % (kind, other))
        self.assertEqual(process.wait(), 0, process.output())
        self.paths = capture, other
        return self.times(capture), self.times(other)

    def test_speedscope(self):
        before, after = self.again("speedscope", "trip.json")
        self.assertEqual(without_threads(after), without_threads(before))
        self.assertEqual(set(before), set(after))

    def test_pprof(self):
        before, after = self.again("pprof", "trip.pb.gz")
        self.assertEqual(without_threads(after), without_threads(before))
        self.assertEqual(set(before), set(after))
        # States are in the file, so the parts of time are.
        parts = [re.search("^Time: .*$", self.summary(path), re.M).group() for path in self.paths]
        self.assertEqual(parts[0], parts[1])

    def test_gecko(self):
        before, after = self.again("gecko", "trip.gecko.json")
        self.assertEqual(without_threads(after), without_threads(before))
        self.assertEqual(set(before), set(after))

    def test_chrome_trace(self):
        before, after = self.again("chrome-trace", "trip.trace.json")
        # Its events last from one sample to the next, so times are those of the file.
        self.assertEqual(without_threads(after), trace_times(self.paths[1]))
        # A thread of which no frame is known has no event.
        self.assertLessEqual(set(after), set(before))

    def test_pstats(self):
        before, after = self.again("pstats", "trip.pstats")
        own = [collections.Counter(), collections.Counter()]
        for times, kept in zip((before, after), own):
            for stack, ns in without_threads(times).items():
                kept[stack[-1]] += ns
        self.assertEqual(own[0], own[1])

    def test_collapsed(self):
        capture, other = self.capture(), file_in("trip.folded")
        process = finished("replay", capture, "--idle", "--waits=on", "--collapsed=" + other)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertEqual(self.replay(other), self.replay(capture))


class Commands(Opened):
    def test_diff_and_merge_take_them(self):
        merged = file_in("merged.pyro")
        files = [file_of("tachyon.folded"), file_of("async-profiler.folded")]
        process = finished("merge", *files, "-o", merged)
        self.assertEqual(process.wait(), 0, process.output())
        found = self.replay(merged)
        self.assertEqual(sum(found.values()), sum(count for name in files for _, count in folded_lines(name)))
        output = file_in("diff.json")
        process = finished("diff", files[0], files[0], "--json", "-o", output)
        self.assertEqual(process.wait(), 0, process.output())
        with open(output, encoding="utf-8") as file:
            self.assertEqual({row["self"]["verdict"] for row in json.load(file)["functions"]} - {"same", "few"}, set())

    @unittest.skipIf(os.environ.get("PYROMETER_SANITIZED"), "a sanitizer keeps what was freed")
    def test_memory_is_bounded(self):
        """A long file takes no more memory than its functions and stacks."""
        path = file_in("many.folded")
        line = ";".join("function_%d (file.py:%d)" % (i, i) for i in range(40))
        with open(path, "w", encoding="utf-8") as file:
            for i in range(150000):
                file.write("%s;leaf_%d (file.py:%d) 1\n" % (line, i % 1000, i % 1000))
        self.assertLess(peak_of("replay", path, "--summary=/dev/null"), os.path.getsize(path) // 2)
        os.remove(path)


if __name__ == "__main__":
    main()
