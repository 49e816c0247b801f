"""Profiles of other tools in JSON: what they say is what replay says, and damaged ones are one line."""

import collections
import gzip
import json
import re

from harness import file_in, main
from opened import Opened, file_of, file_of_text, trace_times, without_threads


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


def raw_stacks(path):
    """Samples of each stack of a raw profile of Firefox, by the pid of the thread."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    found = {}
    for thread in (thread for process in [document, *document["processes"]] for thread in process["threads"]):
        def column(table, key, thread=thread):
            at = thread[table]["schema"][key]
            return [row[at] if at < len(row) else None for row in thread[table]["data"]]

        strings, frames = thread["stringTable"], column("stackTable", "frame")
        prefixes, locations, counts = column("stackTable", "prefix"), column("frameTable", "location"), collections.Counter()
        for stack in column("samples", "stack"):
            names = []
            while stack is not None:
                text = re.sub(r"\[\d+\]$", "", strings[locations[frames[stack]]])
                script = text != strings[locations[frames[stack]]] or re.search(r":\d+$", text)
                match = re.match(r"(.*) \(.*:\d+\)$", text)
                names.append(match.group(1) if match else "(root scope)" if script else text)
                stack = prefixes[stack]
            counts[tuple(reversed(names))] += 1
        found[thread["pid"]] = counts
    return found, round(document["meta"]["interval"] * 1e6)


class Packed(Opened):
    """Files of each reader of JSON, compressed: times are those of the file that is not."""

    def test_compressed_ones_are_the_same(self):
        for name in ("py-spy.speedscope.json", "tachyon.gecko.json", "node.cpuprofile", "py-spy.trace.json", "node.trace.json"):
            with self.subTest(name=name):
                path = file_in(name + ".gz")
                with open(file_of(name), "rb") as file, gzip.open(path, "wb") as packed:
                    packed.write(file.read())
                self.assertEqual(self.times(path), self.times(file_of(name)))
                with open(path, "rb") as file:
                    self.refused(file.read()[:-200], "the end of what is packed is missing")


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

    def test_samples_are_those_of_firefox(self):
        """A raw profile: each process is one within it, and its tables are rows."""
        path = file_of("firefox.json.gz")
        expected, interval_ns = raw_stacks(path)
        self.assertEqual(len(expected), 7)
        times = self.times(path)
        self.assertEqual(without_threads(times), {stack: count * interval_ns for stack, count in sum(expected.values(), collections.Counter()).items()})
        for pid, counts in expected.items():
            self.assertIn(sum(counts.values()) * interval_ns, [sum(stacks.values()) for name, stacks in times.items() if "(%d)" % pid in name])
        self.assertIn("  inner  file:///srv/app/calls.html:4\n", self.summary(path))

    def test_locations_of_raw_profiles_are_split(self):
        places = ["(root)", "work (https://a/b.js:12:3)[7]", "https://a/b.js:1", "read (in libc.so.6)", "a[1", "x]", "plain"]
        stacks = [[None, 0]] + [[0, i] for i in range(1, len(places))]
        thread = {"name": "a", "pid": 12, "tid": 14, "samples": {"schema": {"time": 1, "stack": 0}, "data": [[i, i * 1.5] for i in range(1, len(places))] + [[None, 20], []]},
                  "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": stacks}, "stringTable": places,
                  "frameTable": {"schema": {"location": 0, "relevantForJS": 1, "line": 2}, "data": [[i, False, 4] for i in range(len(places))]}}
        document = {"meta": {"interval": 1, "stackwalk": 1, "version": 34}, "threads": [thread]}
        expected = collections.Counter({("(root)", name): 1000000 for name in ("work", "(root scope)", "read", "a[1", "x]", "plain")})
        expected[()] = 2000000
        self.assertEqual(self.times(file_of_text("raw.json", json.dumps(document))), {"a (14)": expected})

        def refused(words, **more):
            changed = dict(document, threads=[dict(thread, **more)])
            self.refused(json.dumps(changed).encode(), words)

        refused("a table has no schema before its rows", frameTable={"data": [[0]]})
        refused("samples have no schema", samples={"data": [[0]]})
        refused("a sample is no list", samples={"schema": {"stack": 0}, "data": [3]})
        refused("a row of a table is no list", stackTable={"schema": {"frame": 1}, "data": [7]})
        refused("a stack that is not in the table", samples={"schema": {"stack": 0}, "data": [[9]]})
        refused("stack 0 has no function", stackTable={"schema": {"frame": 0}, "data": [[99]]})
        self.refused(json.dumps(dict(document, processes=[{"processes": [{}]}])).encode(), "a process has processes of its own")

    def test_functions_of_samply_are_of_their_libraries(self):
        """samply: what was not symbolicated is an address, and the same address is of several libraries."""
        thread = {"name": "a", "pid": "12", "tid": "14.1", "stringArray": ["0x10", "libc.so.6", "app"],
                  "samples": {"length": 4, "weightType": "samples", "stack": [None, 0, 1, 1], "timeDeltas": [0.0, 1.0, 1.0, 1.0], "weight": [1, 1, 1, 2]},
                  "resourceTable": {"length": 2, "lib": [0, 1], "name": [1, 2], "host": [None, None], "type": [1, 1]},
                  "funcTable": {"length": 2, "name": [0, 0], "resource": [0, 1], "fileName": [None, None], "lineNumber": [None, None]},
                  "frameTable": {"length": 2, "func": [0, 1], "line": [None, None]}, "stackTable": {"length": 2, "prefix": [None, None], "frame": [0, 1]}}
        path = file_of_text("samply.json", json.dumps({"meta": {"interval": 1.0, "preprocessedProfileVersion": 54, "product": "app"}, "libs": [],
                                                       "threads": [thread]}))
        found = {frames[-1]: count for frames, count in self.labels(path)}
        self.assertEqual(found, {"tid:14 a": 1, "libc.so.6:0x10:0": 1, "app:0x10:0": 3})

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


class Cpuprofile(Opened):
    """Processor profiles of V8."""

    def made(self, deltas, **members):
        nodes = [{"id": 9, "callFrame": {"functionName": "inner", "url": "", "lineNumber": 4}},
                 {"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "children": [4]},
                 {"id": 4, "callFrame": {"functionName": "", "url": "file:///a.js", "lineNumber": 0}, "children": [9]}]
        return {"timeDeltas": deltas, "samples": [4, 9, 1, 9][:len(deltas)], "nodes": nodes, "startTime": 100, "endTime": 110, **members}

    def test_times_are_those_of_the_file(self):
        with open(file_of("node.cpuprofile"), encoding="utf-8") as file:
            document = json.load(file)
        parents = {child: node["id"] for node in document["nodes"] for child in node.get("children", ())}
        names = {node["id"]: node["callFrame"]["functionName"] or "(anonymous)" for node in document["nodes"]}
        instants, expected = [document["startTime"]], collections.Counter()
        for delta in document["timeDeltas"]:
            instants.append(instants[-1] + delta)
        for i, node in enumerate(document["samples"]):
            until = instants[i + 2] if i + 2 < len(instants) else document["endTime"]
            stack = []
            while names[node] != "(root)":
                stack.insert(0, names[node])
                node = parents[node]
            expected[tuple(stack)] += 1000 * (until - instants[i + 1])
        self.assertEqual(without_threads(self.times(file_of("node.cpuprofile"))), +expected)
        self.assertIn("(V8 cpuprofile), without lines, states, threads, times of day", self.summary(file_of("node.cpuprofile")))

    def test_members_come_in_any_order_and_time_may_go_back(self):
        for document in (self.made([1, 4, -2, 3]), self.made([1, 4, -2, 3], nodes=[
                {"id": 1, "callFrame": {"functionName": "(root)", "url": ""}},
                {"id": 4, "parent": 1, "callFrame": {"functionName": "", "url": "file:///a.js"}},
                {"id": 9, "parent": 4, "callFrame": {"functionName": "inner", "url": ""}}])):
            self.assertEqual(without_threads(self.times(file_of_text("made.cpuprofile", json.dumps(document)))),
                             {("(anonymous)",): 4000, ("(anonymous)", "inner"): 4000, (): 1000})

    def test_damaged_ones_are_one_line(self):
        def refused(document, words):
            self.refused(json.dumps(document).encode(), words)

        with open(file_of("node.cpuprofile"), "rb") as file:
            self.refused(file.read()[:3000], "damaged V8 cpuprofile: it was cut at byte")
        document = self.made([1])
        refused({**document, "samples": [5]}, "a sample of a node that is not in the table at byte")
        refused({**document, "timeDeltas": []}, "the time of a sample is missing, or out of range, at byte")
        refused({**document, "timeDeltas": [1e30]}, "the time of a sample is missing, or out of range, at byte")
        refused({**document, "samples": []}, "it has no samples")
        refused({name: document[name] for name in ("nodes", "samples")}, "it has no samples, or no times of them")
        refused({**document, "nodes": document["nodes"] + document["nodes"][:1]}, "a node without an id of its own at byte")
        document["nodes"][0]["children"] = [4]
        refused(document, "its nodes are no tree")
        refused({**document, "nodes": [{"id": 4, "callFrame": {}, "parent": 7}]}, "its nodes are no tree")


class ChromeTrace(Opened):
    def test_profiles_of_v8_are_those_of_its_chunks(self):
        """node --cpu-prof --trace-event-categories disabled-by-default-v8.cpu_profiler: two profiles of a thread, in chunks."""
        with open(file_of("node.trace.json"), encoding="utf-8") as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "P"]
        expected = {}  # by profile
        for start in (event for event in events if event["name"] == "Profile"):
            stacks, samples, now, end = {}, [], start["args"]["data"]["startTime"], 0
            for data in (event["args"]["data"] for event in events if event["name"] == "ProfileChunk" and event["id"] == start["id"]):
                for node in data.get("cpuProfile", {}).get("nodes", ()):
                    name = node["callFrame"]["functionName"]
                    stacks[node["id"]] = stacks[node["parent"]] + (name or "(anonymous)",) if "parent" in node else ()
                for node, delta in zip(data.get("cpuProfile", {}).get("samples", ()), data.get("timeDeltas", ())):
                    now += delta
                    samples.append((node, now))
                end = data.get("endTime", end)
            found = expected[start["id"]] = collections.Counter()
            latest = samples[0][1]
            for (node, _), (_, until) in zip(samples, samples[1:] + [(None, end)]):
                found[stacks[node]] += 1000 * max(0, until - latest)
                latest = max(latest, until)
        self.assertEqual(without_threads(self.times(file_of("node.trace.json"))), +sum(expected.values(), collections.Counter()))
        self.assertIn("2 threads", self.summary(file_of("node.trace.json")))

    def test_damaged_profiles_are_one_line(self):
        def refused(data, words):
            self.refused(json.dumps([{"ph": "P", "name": "ProfileChunk", "ts": 1, "pid": 1, "tid": 2, "id": "0x1", "args": {"data": data}}]).encode(), words)

        node = {"id": 1, "callFrame": {"functionName": "a"}}
        refused({"cpuProfile": {"nodes": [node], "samples": [2]}, "timeDeltas": [1]}, "a sample of a node that is not there")
        refused({"cpuProfile": {"nodes": [node], "samples": [1]}}, "a profile has samples without their times")
        refused({"cpuProfile": {"nodes": [node, node]}}, "the nodes of a profile are no tree")
        refused({"cpuProfile": {"nodes": [{**node, "parent": 7}]}}, "the nodes of a profile are no tree")
        refused({"cpuProfile": {"nodes": [3]}}, "a node is no object at byte")
        refused({"cpuProfile": {"nodes": [node], "samples": ["x"]}, "timeDeltas": [1]}, "a sample is no number at byte")

    FRAMES = {"1": {"name": "main(a.js:1:1)", "category": "JavaScript", "line": "4", "funcLine": "1", "column": "2"},
              "2": {"name": "work(a.js:7:1)", "category": "JavaScript", "parent": 1}, "3": {"name": "", "parent": "2"}}

    def test_samples_last_until_the_next_one(self):
        """React Native's Hermes writes numbers as strings; a stack may be names, and the table of frames come first or last."""
        samples = [{"cpu": "-1", "name": "", "ts": str(at), "pid": 3, "tid": tid, "weight": "1", "sf": frame}
                   for at, tid, frame in ((30, "7", 2), (10, "7", 1), (20, "8", 2), (25, "8", 3), (50, "7", 1), (70, "8", 1))]
        events = [{"name": "thread_name", "ph": "M", "pid": 3, "tid": 7, "args": {"name": "js"}}]
        expected = {"js (7)": {("main",): 20000, ("main", "work"): 20000}, "thread 8": {("main", "work"): 5000, ("main", "work", "?"): 45000}}
        for document in ({"traceEvents": events, "samples": samples, "stackFrames": self.FRAMES},
                         {"stackFrames": self.FRAMES, "samples": samples, "traceEvents": events}):
            self.assertEqual(self.times(file_of_text("hermes.json", json.dumps(document))), expected)
        document = [{"ph": "P", "name": "sample", "ts": at, "pid": 1, "tid": 2, "stack": stack}
                    for at, stack in ((1, ["a", "b"]), (3, ["a"]), (4, ["a", "b", "b"]), (9, ["b"]))]
        self.assertEqual(without_threads(self.times(file_of_text("stacks.json", json.dumps(document)))),
                         {("a", "b"): 2000, ("a",): 1000, ("a", "b", "b"): 5000})

    def test_weights_of_samples_are_counted(self):
        samples = [{"name": "cycles", "ts": 1, "tid": 2, "weight": weight, "sf": frame} for frame, weight in ((1, 100), (2, 300), (1, 50))]
        path = file_of_text("weights.json", json.dumps({"stackFrames": self.FRAMES, "samples": samples, "traceEvents": []}))
        self.assertEqual({stack: count for (_, stack), count in self.replay(path).items()}, {("main",): 150, ("main", "work"): 300})
        self.assertIn("that counts cycles", self.summary(path))
        beside = json.dumps({"stackFrames": self.FRAMES, "samples": samples, "traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 2}]})
        path = file_of_text("beside.json", beside)
        self.assertEqual(without_threads(self.times(path)), {("a",): 2000})
        self.assertIn("3 samples beside events", self.summary(path))

    def test_damaged_samples_are_one_line(self):
        def refused(words, frames=None, **sample):
            samples = [{"ts": 1, "tid": 2, "sf": 1, **sample}, {"ts": 2, "tid": 2, "sf": 1}]
            self.refused(json.dumps({"traceEvents": [], "stackFrames": self.FRAMES if frames is None else frames, "samples": samples}).encode(), words)

        refused("a stack has a frame that is not in the table", sf=9)
        refused("a stack has a frame that is not in the table", {"1": {"name": "a", "parent": 5}})
        refused("its stack frames are no tree", {"1": {"name": "a", "parent": 2}, "2": {"name": "b", "parent": 1}})
        refused("a sample has a time or a weight below 0", ts=-1)
        refused("a sample has a time or a weight below 0", weight=-3)
        self.refused(b'[{"ph":"P","name":"s","ts":1,"stack":[3]}]', "the name of a frame is no string at byte")
        self.refused(b'{"traceEvents":[],"samples":[3]}', "an event is no object at byte")

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


if __name__ == "__main__":
    main()
