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

from harness import PROGRAM, file_in, main
from opened import Opened, file_of, finished, folded_lines, name_of, trace_times, without_threads

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from protobuf import message, packed  # noqa: E402


def peak_of(*arguments):
    """The most memory, in bytes, that the program had."""
    process = subprocess.Popen([PROGRAM, *arguments], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise AssertionError("%s: exit code %d" % (arguments, process.returncode))
    return usage.ru_maxrss << 10


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
        self.assertIn("that counts time, samples, without", self.summary(file_of("go-cpu.pb.gz")))

    # Sample types of the files, in their order; the default one of the heap is the last.
    TYPES = {"go-heap.pb.gz": ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"], "go-cpu.pb.gz": ["samples", "cpu"]}

    def measured(self, path, measure=None):
        output = file_in("measured.folded")
        process = finished("replay", path, "--idle", "--waits=on", "--collapsed=" + output, *(["--measure", measure] if measure else []))
        self.assertEqual(process.wait(), 0, process.output())
        found = collections.Counter()
        for frames, count in folded_lines(output):
            found[tuple(name_of(frame) for frame in frames[1:])] += count
        return found

    def test_every_type_is_a_measure(self):
        """Sums are those of the file, and after a way through a capture and through pprof again."""
        for name, types in self.TYPES.items():
            merged = file_in(name + ".pyro")
            self.assertEqual(finished("merge", file_of(name), file_of(name), "-o", merged).wait(), 0)
            for number, kind in enumerate(types):
                if kind == "cpu":
                    continue
                with self.subTest(name=name, kind=kind):
                    expected = pprof_values(file_of(name), number)
                    self.assertEqual(self.measured(file_of(name), kind), expected)
                    self.assertEqual(self.measured(merged, kind), expected + expected)
                    again = file_in("again.pb.gz")
                    process = finished("replay", file_of(name), "--measure", kind, "--pprof=" + again)
                    self.assertEqual(process.wait(), 0, process.output())
                    self.assertEqual(pprof_values(again, 0), expected)
        heap = file_of("go-heap.pb.gz")
        self.assertEqual(self.measured(heap), pprof_values(heap, 3))
        # The answer is of the default type.
        summary = self.summary(heap)
        self.assertRegex(summary, r"^52 % of inuse_space is in `runtime/pprof.StartCPUProfile`")
        self.assertIn("samples of inuse_space: %d bytes" % sum(pprof_values(heap, 3).values()), summary)
        self.assertIn("that counts inuse_space, alloc_objects, alloc_space, inuse_objects, without", summary)
        process = finished("replay", heap, "--measure", "alloc_objects")
        self.assertEqual(process.wait(), 0, process.output())
        self.assertIn("samples of alloc_objects: %d." % sum(pprof_values(heap, 0).values()), process.output())
        again = file_in("all.pb.gz")
        self.assertEqual(finished("replay", heap, "--pprof=" + again).wait(), 0)
        for number, kind in enumerate(self.TYPES["go-heap.pb.gz"]):
            self.assertEqual(self.measured(again, kind), pprof_values(heap, number))

    def test_measures_are_compared_and_named(self):
        heap = file_of("go-heap.pb.gz")
        output = file_in("diff.json")
        process = finished("diff", heap, heap, "--measure", "alloc_space", "--json", "-o", output)
        self.assertEqual(process.wait(), 0, process.output())
        with open(output, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual(found["measure"], "alloc_space")
        total = sum(pprof_values(heap, 1).values())
        self.assertEqual([found[side]["captures"][0]["selection"]["measure"]["value"] for side in ("baseline", "now")], [total, total])
        process = finished("replay", heap, "--collapsed=/dev/null", "--measure", "teeth")
        self.assertNotEqual(process.wait(), 0)
        self.assertIn("has no 'teeth': it counts inuse_space, alloc_objects, alloc_space, inuse_objects", process.output())

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
    def test_version_4_repeats_stacks(self):
        """Files of version 4 are made here by the events of austin-python 2.4, whose reader gives these stacks: no released Austin writes it."""
        def stack(thread, *events):
            return b"\2\1\0" + thread + b"\0" + b"".join(events)

        def text(key, name):
            return b"\x0b" + bytes([key]) + name + b"\0"

        def frame(key, file, name, line):
            return bytes([3, key, file, name, line, line, 0, 0])

        strings = text(2, b"/a.py") + text(3, b"main") + text(4, b"work") + text(5, b"/lib/libc.so") + text(6, b"read")
        frames = frame(2, 2, 3, 1) + frame(3, 2, 4, 5) + frame(4, 5, 6, 0)
        ms = b"\x09\xa8\x0f"  # 1,000 us
        path = file_in("four.mojo")
        with open(path, "wb") as file:
            file.write(b"MOJ\4" + stack(b"1f", strings, frames, b"\5\2\5\3\5\4", ms)
                       # The innermost native frame of the sample before is gone, and a task has two frames of its own.
                       + stack(b"1f", b"\5\3", b"\x0d", b"\x0e\1\0\2\5\2\5\3", b"\x0f\1\2", b"\x10\1", ms)
                       # Another thread repeats nothing.
                       + stack(b"2f", b"\5\2", b"\x0d", ms) + stack(b"1f", b"\x0d", ms))
        self.assertEqual(without_threads(self.times(path)), {("main", "work", "read"): 1000000, ("main", "work", "work"): 2000000, ("main",): 1000000})
        self.refused(b"MOJ\4\x0d", "a repeated stack without a sample at byte")

    def test_times_are_those_of_its_own_converter(self):
        # The .folded files are what austin-python reads of them, in microseconds. Austin 4.0 writes version 3, with longer numbers.
        for name in ("austin.mojo", "austin-4.mojo"):
            expected = collections.Counter()
            for frames, count in folded_lines(file_of(name + ".folded")):
                expected[tuple(frame.split(":")[-2] for frame in frames[2:])] += count * 1000
            times = self.times(file_of(name))
            with self.subTest(name=name):
                self.assertEqual(without_threads(times), expected)
                self.assertEqual(len(times), len({frames[1] for frames, _ in folded_lines(file_of(name + ".folded"))}))
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
