"""Profiles of other tools in JSON: what they say is what replay says, and damaged ones are one line."""

import collections
import json

from harness import main
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
