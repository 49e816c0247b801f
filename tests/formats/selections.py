#!/usr/bin/env python3
"""A report holds what it says it is of: every format, by every selection, through the command line and HTTP.

Usage: selections.py WRITE_CAPTURE

The capture is made of known phases, so that the wanted sums are added up here, by nothing of the program's: two processes, of
which one joins late and ends early, three threads, samples of 10 ms before second 2 and of 1 ms from there on.
Exit code: 0 passed, 1 failed.
"""

import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from harness import PROGRAM, Live  # noqa: E402
from read import TIMEOUT_S, check, embedded, message, packed, run  # noqa: E402

MS, S = 10**6, 10**9
STARTED_NS = 1769853600 * S
WINDOW_NS, END_NS, CHANGE_NS = 250 * MS, 4500 * MS, 2 * S
SLOW_NS, FAST_NS = 10 * MS, MS
ON_CPU, HAS_GIL, WAITS_GIL, RUNNABLE, UNKNOWN_ON_CPU = 1, 2, 4, 64, 256
PARENT, CHILD, WORKER = 4711, 4712, 4713
COMMANDS = {PARENT: "python3 parent.py", CHILD: "python3 child.py --job 7"}
LIVED = {PARENT: (0, END_NS), CHILD: (800 * MS, 3200 * MS)}
FORMATS = {"collapsed": "folded", "flamegraph": "html", "heatmap": "heatmap.html", "pstats": "pstats", "pstats-text": "txt",
           "jsonl": "jsonl", "gecko": "gecko.json", "chrome-trace": "trace.json", "speedscope": "speedscope.json",
           "pprof": "pb.gz", "diff-flamegraph": "diff.html", "summary": "summary.txt", "summary-markdown": "md",
           "summary-json": "summary.json"}

Row = collections.namedtuple("Row", "start_ns pid tid thread state stack count ns")


def make_rows():
    rows = []
    for start in range(0, END_NS, WINDOW_NS):
        period = SLOW_NS if start < CHANGE_NS else FAST_NS
        end = start + WINDOW_NS
        count = WINDOW_NS // period
        main = (ON_CPU | HAS_GIL, "main;parse") if start < 3 * S else (0, "main;render;wait")
        seen = [(PARENT, PARENT, "MainThread", *main), (PARENT, WORKER, "worker", ON_CPU if start % S else 0, "run;wait")]
        rows += [Row(start, *row, count, count * period) for row in seen]
        lived = min(end, LIVED[CHILD][1]) - max(start, LIVED[CHILD][0])
        if lived > 0:
            stack = "child;step;inner" if start < S else "child;step"
            rows.append(Row(start, CHILD, CHILD, "MainThread", ON_CPU | HAS_GIL, stack, lived // period, lived))
    return rows


def describe(rows):
    """The capture in the words of write_capture."""
    lines = ["process\t%d\t0\t0\t%s" % (PARENT, COMMANDS[PARENT].replace(" ", "\t")),
             "process\t%d\t%d\t%d\t%s" % (CHILD, *LIVED[CHILD], COMMANDS[CHILD].replace(" ", "\t"))]
    for start in range(0, END_NS, WINDOW_NS):
        lines += ["\t".join(map(str, ("add", row.pid, row.tid, row.thread, row.state, row.count, row.stack)))
                  for row in rows if row.start_ns == start]
        lines.append("seal\t%d\t%d" % (start + WINDOW_NS, SLOW_NS if start < CHANGE_NS else FAST_NS))
    return "\n".join(lines) + "\n"


class Selection:
    """options: of replay; query: of the API; stack: what becomes of a stack, None: the sample is left out."""

    def __init__(self, text, options=(), query=(), from_ns=0, to_ns=END_NS, pids=(PARENT, CHILD), keep=lambda row: True,
                 stack=lambda stack: stack, target=PARENT):
        self.text, self.options, self.query = text, list(options), list(query)
        self.from_ns, self.to_ns, self.pids, self.target = from_ns, to_ns, sorted(pids), target
        rows = (row._replace(stack=stack(row.stack)) for row in ROWS if row.start_ns < to_ns and row.start_ns + WINDOW_NS > from_ns and row.pid in pids and keep(row))
        self.rows = [row for row in rows if row.stack is not None]
        self.is_whole = not self.query

    def sums(self, key, what):
        sums = collections.Counter()
        for row in self.rows:
            sums[key(row)] += getattr(row, what)
        return dict(sums)

    @property
    def samples(self):
        return sum(row.count for row in self.rows)

    @property
    def ns(self):
        return sum(row.ns for row in self.rows)

    def functions(self):
        """{name: (own ns, own samples)}"""
        own = collections.defaultdict(lambda: [0, 0])
        for row in self.rows:
            own[row.stack.split(";")[-1]][0] += row.ns
            own[row.stack.split(";")[-1]][1] += row.count
        return {name: tuple(numbers) for name, numbers in own.items()}


def without(name):
    return lambda stack: ";".join(frame for frame in stack.split(";") if frame != name)


ROWS = make_rows()
SELECTIONS = [
    Selection("all 4.5 s; all 2 processes"),
    Selection("1.0 s to 2.0 s of 4.5 s; all 2 processes", ["--from", "1", "--to", "2"], [("from", 1), ("to", 2)], S, 2 * S),
    Selection("1.5 s to 2.75 s of 4.5 s; all 2 processes", ["--from", "1.5", "--to", "2.75"], [("from", 1.5), ("to", 2.75)],
              1500 * MS, 2750 * MS),
    # Samples of a window are in it or not: the range is that of the windows.
    Selection("1.75 s to 2.0 s of 4.5 s; all 2 processes", ["--from", "1.6", "--to", "1.9"], [("from", 1.6), ("to", 1.9)],
              1750 * MS, 2 * S),
    Selection("4.0 s to 4.5 s of 4.5 s; all 2 processes", ["--from", "4", "--to", "60"], [("from", 4), ("to", 60)], 4 * S),
    Selection("0.8 s to 3.2 s of 4.5 s; process 4712", ["--process", "4712"], [("process", CHILD)], *LIVED[CHILD], [CHILD],
              target=CHILD),
    Selection("0.8 s to 1.5 s of 4.5 s; process 4712", ["--process", "4712", "--to", "1.5"], [("process", CHILD), ("to", 1.5)],
              LIVED[CHILD][0], 1500 * MS, [CHILD], target=CHILD),
    Selection("all 4.5 s; process 4711; thread worker (4713)", ["--thread", "worker"], [("thread", WORKER)], pids=[PARENT],
              keep=lambda row: row.tid == WORKER),
    Selection("all 4.5 s; all 2 processes; on CPU", ["--state", "on_cpu"], [("state", "on_cpu")],
              keep=lambda row: row.state & ON_CPU),
    Selection("all 4.5 s; all 2 processes; running", ["--parts", "running"], [("parts", "running")], keep=lambda row: row.state & ON_CPU),
    Selection("1.0 s to 4.5 s of 4.5 s; all 2 processes; needs the GIL or blocked", ["--from", "1", "--parts", "needs-gil,blocked"],
              [("from", 1), ("parts", "needs_gil,blocked")], S, keep=lambda row: not row.state),
    Selection("2.0 s to 4.5 s of 4.5 s; all 2 processes; not on CPU; all but holding the GIL",
              ["--from", "2", "--state", "!on_cpu,~has_gil"], [("from", 2), ("state", "!on_cpu,~has_gil")], 2 * S,
              keep=lambda row: not row.state),
    Selection("all 4.5 s; all 2 processes; hide function:wait", ["--hide", "function:wait"], [("hide", "function:wait")],
              stack=without("wait")),
    Selection("all 4.5 s; all 2 processes; ignore function:parse; show_from function:main",
              ["--ignore", "function:parse", "--show-from", "function:main"],
              [("ignore", "function:parse"), ("show_from", "function:main")],
              stack=lambda stack: stack if stack.startswith("main;render") else None),
    Selection("1.0 s to 3.0 s of 4.5 s; process 4712; on CPU; hide function:step",
              ["--process", "4712", "--from", "1", "--to", "3", "--state", "on_cpu", "--hide", "function:step"],
              [("process", CHILD), ("from", 1), ("to", 3), ("state", "on_cpu"), ("hide", "function:step")],
              S, 3 * S, [CHILD], stack=without("step"), target=CHILD),
]
# Parts that --split makes of the whole.
PARTS = {PARENT: Selection("all 4.5 s; process 4711", query=[None], pids=[PARENT]),
         CHILD: Selection("0.8 s to 3.2 s of 4.5 s; process 4712", query=[None], from_ns=LIVED[CHILD][0], to_ns=LIVED[CHILD][1],
                          pids=[CHILD], target=CHILD)}


def by_tid(selection, what):
    return selection.sums(lambda row: row.tid, what)


def close(given, wanted, what):
    if abs(given - wanted) > max(1e-6 * abs(wanted), 2e-3):
        raise AssertionError("%s: %r, not %r" % (what, given, wanted))


def check_selection(given, wanted):
    """The SELECTION document."""
    check(given["text"], wanted.text, "sentence")
    check(given["whole"], wanted.is_whole, "whole")
    check(tuple(round(given[key] * S) for key in ("from_s", "to_s", "duration_s", "session_s")),
          (wanted.from_ns, wanted.to_ns, wanted.to_ns - wanted.from_ns, END_NS), "range")
    check((given["samples"], round(given["seconds"] * S)), (wanted.samples, wanted.ns), "samples and their time")
    check((given["processes"], given["process_count"]), (wanted.pids, len(wanted.pids)), "processes")
    check(given["started_at"], "2026-01-31T10:00:%06.3fZ" % (wanted.from_ns / S), "beginning")
    check(given["ended_at"], "2026-01-31T10:00:%06.3fZ" % (wanted.to_ns / S), "end")


def check_target(given, wanted):
    check((given["pid"], " ".join(given["command"])), (wanted.target, COMMANDS[wanted.target]), "process")


def check_collapsed(data, wanted):
    sums = collections.Counter()
    for line in data.decode().splitlines():
        match = re.fullmatch(r"tid:(\d+)[^;]*;(.*) (\d+)", line)
        stack = ";".join(frame.split(":")[1] for frame in match.group(2).split(";"))
        sums[int(match.group(1)), stack] += int(match.group(3))
    check(dict(sums), wanted.sums(lambda row: (row.tid, row.stack), "count"), "stacks")


def check_flamegraph(data, wanted):
    profile = embedded(None, data.decode())
    check_selection(profile["selection"], wanted)
    check_target(profile["session"]["target"], wanted)
    sums, times, cells = collections.Counter(), collections.Counter(), profile["cells"]
    for thread, count, ns in zip(cells["thread"], cells["count"], cells.get("ns", cells["count"])):
        sums[profile["tree"]["threads"]["tid"][thread]] += count
        times[profile["tree"]["threads"]["tid"][thread]] += ns
    check(dict(sums), by_tid(wanted, "count"), "samples by thread")
    check(dict(times), by_tid(wanted, "ns" if has_change(wanted) else "count"), "time by thread")


def check_heatmap(data, wanted):
    check_flamegraph(data, wanted)


def check_pstats(data, wanted):
    import marshal
    given = {key[2]: (value[2], value[0]) for key, value in marshal.loads(data).items() if value[0]}
    check(set(given), set(wanted.functions()), "functions")
    for name, (ns, count) in wanted.functions().items():
        close(given[name][0], ns / S, "time of " + name)
        check(given[name][1], count, "samples of " + name)


def check_pstats_text(data, wanted):
    lines = data.decode().splitlines()
    others = "" if len(wanted.pids) == 1 else " and 1 other"
    check(lines[0], "%d samples in %.2f s of process %d%s: %s" % (wanted.samples, (wanted.to_ns - wanted.from_ns) / S,
                                                                  wanted.target, others, COMMANDS[wanted.target]), "head")
    check(lines[1], "" if wanted.is_whole else "Selected: " + wanted.text, "sentence")
    unit = {"s": 1, "ms": 1e3}[re.search(r"tottime \((.*?)\)", data.decode()).group(1)]
    seen = {}
    for line in lines:
        match = re.match(r" *(\d+)/\d+ +([\d.]+) +([\d.]+) +[\d.]+ +[\d.]+  .*?\((.*)\)$", line)
        if match and int(match.group(1)):
            seen[match.group(4)] = (int(match.group(1)), float(match.group(2)), float(match.group(3)))
    check(set(seen), set(wanted.functions()), "functions")
    for name, (ns, count) in wanted.functions().items():
        check(seen[name][0], count, "samples of " + name)
        check(round(seen[name][1] - 100 * ns / wanted.ns, 1), 0, "share of " + name)
        close(seen[name][2] / unit, ns / S, "time of " + name)


def check_jsonl(data, wanted):
    records = [json.loads(line) for line in data.decode().splitlines()]
    check_selection(records[0]["selection"], wanted)
    check_target(records[0]["session"]["target"], wanted)
    check(records[0]["sample_interval_usec"], (wanted.ns // wanted.samples + 500) // 1000, "interval")
    tids, sums = {}, collections.Counter()
    for record in records:
        tids.update((row["thread_id"], row["tid"]) for row in record.get("threads", []))
        if record.get("kind") == "stack":
            for row in record["entries"]:
                sums[tids[row["thread_id"]]] += row["count"]
    check(dict(sums), by_tid(wanted, "count"), "samples by thread")
    check(records[-1]["samples_total"], wanted.samples, "samples at the end")


def check_gecko(data, wanted):
    profile = json.loads(data)
    meta = profile["meta"]
    check((meta["startTime"], meta["profilingStartTime"], meta["profilingEndTime"]),
          (STARTED_NS / MS, wanted.from_ns / MS, wanted.to_ns / MS), "times")
    check(meta["arguments"], COMMANDS[wanted.target], "process")
    extra = {entry["label"]: entry["value"] for part in meta["extra"] if part["label"] == "What was selected" for entry in part["entries"]}
    check((extra["Selection"], extra["Samples"]), (wanted.text, wanted.samples), "what was selected")
    close(extra["Time they stand for"], wanted.ns / MS, "time of the samples")
    weighs_time = {thread["samples"]["weightType"] for thread in profile["threads"]} == {"tracing-ms"}
    check(weighs_time, has_change(wanted), "weights by time")
    for thread in profile["threads"]:
        what = by_tid(wanted, "ns")[thread["tid"]] / MS if weighs_time else by_tid(wanted, "count")[thread["tid"]]
        close(sum(thread["samples"]["weight"]), what, "weight of %d" % thread["tid"])
        for time in thread["samples"]["time"]:
            check(wanted.from_ns / MS <= time <= wanted.to_ns / MS, True, "sample at %s ms" % time)
    check({thread["tid"] for thread in profile["threads"]}, set(by_tid(wanted, "count")), "threads")


def has_change(wanted):
    """True if there are samples of both rates."""
    return len({row.start_ns < CHANGE_NS for row in wanted.rows}) == 2


def check_chrome_trace(data, wanted):
    trace = json.loads(data)
    check_selection(trace["selection"], wanted)
    check_target(trace["otherData"]["target"], wanted)
    labels = {event["args"]["labels"] for event in trace["traceEvents"] if event["name"] == "process_labels"}
    check(labels, set() if wanted.is_whole else {wanted.text}, "labels")
    samples, times, begun = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "B":
            begun[event["tid"]].append(event["ts"])
        elif event["ph"] == "E":
            start = begun[event["tid"]].pop()
            if not begun[event["tid"]]:
                samples[event["tid"]] += event["args"]["samples"]
                times[event["tid"]] += event["ts"] - start
            check(wanted.from_ns / 1000 <= start <= event["ts"] <= wanted.to_ns / 1000, True, "time of %r" % event)
    check(dict(samples), by_tid(wanted, "count"), "samples by thread")
    for tid, ns in by_tid(wanted, "ns").items():
        close(times[tid], ns / 1000, "time of %d" % tid)


def check_speedscope(data, wanted):
    file = json.loads(data)
    words = COMMANDS[wanted.target].split()[1]
    check(file["name"], "%s (%d)" % (words, wanted.target) + ("" if wanted.is_whole else ": " + wanted.text), "name")
    sums = {int(re.search(r"\((\d+)\)(?: · .*)?$", profile["name"]).group(1)): sum(profile["weights"]) for profile in file["profiles"]}
    check(sums, by_tid(wanted, "ns"), "time by thread")
    check([profile["endValue"] for profile in file["profiles"]], [sum(profile["weights"]) for profile in file["profiles"]], "ends")


def check_pprof(data, wanted):
    profile = message(gzip.decompress(data))
    strings = [text.decode() for text in profile[6]]
    check((profile[9], profile[10]), ([STARTED_NS + wanted.from_ns], [wanted.to_ns - wanted.from_ns]), "time and duration")
    check([strings[at] for at in profile[13]], [COMMANDS[wanted.target], wanted.text], "comments")
    check(strings[message(profile[3][0])[5][0]], "/usr/bin/python-of-%d" % wanted.target, "program")
    check(profile[12], [wanted.ns // wanted.samples], "period")
    counts, times = collections.Counter(), collections.Counter()
    for sample in map(message, profile[2]):
        labels = {strings[label[1][0]]: label for label in map(message, sample[3])}
        values = packed(sample[2][0])
        counts[labels["thread_id"][3][0]] += values[0]
        times[labels["thread_id"][3][0]] += values[1]
    check(dict(counts), by_tid(wanted, "count"), "samples by thread")
    check(dict(times), by_tid(wanted, "ns"), "time by thread")


def check_diff_flamegraph(data, wanted):
    check_flamegraph(data, wanted)
    baseline = embedded(None, data.decode())["baseline"]
    check(round(baseline["selection"]["duration_s"] * S), END_NS, "duration of the baseline")
    check(sum(baseline["cells"]["count"]), baseline["selection"]["samples"], "samples of the baseline")


def hot_of(wanted):
    """Samples that run by function, and all of them.  None are idle."""
    rows = [row for row in wanted.rows if row.state]
    sums = collections.Counter()
    for row in rows:
        sums[row.stack.split(";")[-1]] += row.count
    return dict(sums), sum(row.count for row in rows)


def check_summary_json(data, wanted):
    summary = json.loads(data)
    observed = summary["observed"]
    check((observed["selection"], observed["whole"], observed["samples"]), (wanted.text, wanted.is_whole, wanted.samples), "what was observed")
    check(round(observed["duration_s"] * S), wanted.to_ns - wanted.from_ns, "duration")
    check_target(summary["program"], wanted)
    sums, total = hot_of(wanted)
    parts = {"running": sum(row.ns for row in wanted.rows if row.state), "blocked": sum(row.ns for row in wanted.rows if not row.state)}
    for part, share in summary["parts"].items():
        close(share * wanted.ns / S, parts.get(part, 0) / S, "part " + part)
    check(summary["hot"]["samples"], total, "hot samples")
    check({row["name"]: row["samples"] for row in summary["hot"]["functions"]}, sums, "functions")
    check(summary["waiting"]["samples"], sum(row.count for row in wanted.rows if not row.state), "waiting samples")


def check_summary_rows(data, wanted, pattern):
    text = data.decode()
    if not wanted.is_whole:
        check(wanted.text in text, True, "sentence")
    check(len(text.splitlines()) <= 40, True, "lines")
    section = re.search(r"Hottest functions: .*\n((?:.+\n)*)", text)
    sums, _ = hot_of(wanted)
    rows = re.findall(pattern, section.group(1)) if section else []
    check({name: share for share, name in rows}, {name: "%.1f" % (100 * count / wanted.samples) for name, count in sums.items()}, "functions")


def check_summary(data, wanted):
    check_summary_rows(data, wanted, r" *([\d.]+) % +[\d.]+ %  (\w+)  ")


def check_summary_markdown(data, wanted):
    check_summary_rows(data, wanted, r"- ([\d.]+) % \([\d.]+ %\)  `(\w+)`  ")


CHECKS = {name: globals()["check_" + name.replace("-", "_")] for name in FORMATS}


def check_files(folder, wanted, suffix=""):
    for name, extension in FORMATS.items():
        with open(os.path.join(folder, "r%s.%s" % (suffix, extension)), "rb") as file:
            check_format(name, file.read(), wanted, "replay " + " ".join(wanted.options))


FAILURES = []


def check_format(name, data, wanted, where):
    """Goes on after a failure: what is said of one format says nothing of the others."""
    try:
        CHECKS[name](data, wanted)
    except (AssertionError, AttributeError, KeyError, IndexError, ValueError) as problem:
        FAILURES.append("%s of %r (%s): %s: %s" % (name, wanted.text, where.strip(), type(problem).__name__, problem))


def replay(capture, folder, options):
    """The difference compares with all of the same capture."""
    outputs = ["--%s=%s/r.%s" % (name, folder, extension) for name, extension in FORMATS.items() if name != "diff-flamegraph"]
    idle = [] if "--parts" in options else ["--idle"]
    run(PROGRAM, "replay", capture, *outputs, "--no-summary", *idle, *options)
    run(PROGRAM, "replay", capture, "--diff-flamegraph", capture, "-o", folder + "/r.diff.html", *options)


def test_command_line(capture):
    for wanted in SELECTIONS:
        with tempfile.TemporaryDirectory() as folder:
            replay(capture, folder, wanted.options)
            check_files(folder, wanted)


def test_split(capture):
    with tempfile.TemporaryDirectory() as folder:
        replay(capture, folder, ["--split"])
        for pid, wanted in PARTS.items():
            check_files(folder, wanted, "_%d" % pid)


def query_of(wanted, rows, base):
    """Threads and processes have ids there, which are rows of the tree."""
    pairs = []
    for key, value in wanted.query:
        ids = {"thread": rows["threads"]["tid"], "process": rows["processes"]["pid"]}.get(key)
        pairs.append((key, ids.index(value) if ids else value))
    return urllib.parse.urlencode(pairs + base)


def test_http(capture):
    with Live("serve", capture, capture) as live:
        tree = live.get("/sessions/1/tree")
        for wanted in SELECTIONS:
            view = live.get("/sessions/1/view?" + query_of(wanted, tree, []))
            check((view["total"], round(view["seconds"] * S)), (wanted.samples, wanted.ns), "/view of %r" % wanted.text)
            for name in FORMATS:
                base = [("format", name)] + ([("baseline", 2)] if name == "diff-flamegraph" else [])
                answer = live.ask("/api/v1/sessions/1/export?" + query_of(wanted, tree, base))
                check(answer.status, 200, "%s of %r" % (name, wanted.text))
                check_format(name, answer.body, wanted, "HTTP")
                file = answer.headers["Content-Disposition"]
                if "pyrometer-%d-" % wanted.target not in file:
                    FAILURES.append("file of %r is called %s" % (wanted.text, file))
        test_nothing_selected(live)


def test_nothing_selected(live):
    """A range behind the end is a report of nothing, in every format."""
    for name in FORMATS:
        base = "&baseline=2" if name == "diff-flamegraph" else ""
        answer = live.ask("/api/v1/sessions/1/export?from=100&format=%s%s" % (name, base))
        check(answer.status, 200, name + " of nothing")
        if name == "jsonl":
            selection = json.loads(answer.body.splitlines()[0])["selection"]
            check((selection["text"], selection["samples"]), ("4.5 s to 4.5 s of 4.5 s; all 2 processes", 0), name + " of nothing")
        if name == "pprof":
            profile = message(gzip.decompress(answer.body))
            check((profile[9], profile[10], profile[2]), ([STARTED_NS + END_NS], [], []), name + " of nothing")


def test_anonymized(capture):
    """The sentence of what may leave the house names no thread and no pattern."""
    with tempfile.TemporaryDirectory() as folder:
        run(PROGRAM, "replay", capture, "--anonymize", "--thread", "worker", "--hide", "function:wait", "--jsonl=%s/r.jsonl" % folder)
        with open(os.path.join(folder, "r.jsonl"), encoding="utf-8") as file:
            selection = json.loads(file.readline())["selection"]
    check(selection["text"], "all 4.5 s; process 4711; thread 4713; hide [anonymized]", "anonymized sentence")
    check(selection["filters"], [{"filter": "hide", "pattern": "[anonymized]"}], "anonymized filters")


# Samples of 10 ms in each part of time.
PART_ROWS = [
    Row(start, PARENT, tid, thread, state, stack, count, count * SLOW_NS) for start in (0, WINDOW_NS)
    for tid, thread, state, stack, count in (
        (PARENT, "MainThread", ON_CPU | HAS_GIL, "main;parse", 11), (PARENT, "MainThread", RUNNABLE, "main;parse;<waits: processor>", 3),
        (PARENT, "MainThread", 0, "main;save;<waits: disk>", 7), (WORKER, "worker", WAITS_GIL, "run;step;<waits: GIL>", 5),
        (WORKER, "worker", UNKNOWN_ON_CPU, "run;step", 2), (WORKER, "worker", 0, "run;get;<waits: idle worker>", 13),
        (WORKER, "worker", 0, "run;nap;<waits: pause>", 1))]
PART_SUMS = {"running": 26, "needs_gil": 10, "needs_processor": 6, "blocked": 16, "idle": 26}


def part_of_pprof(data):
    profile = message(gzip.decompress(data))
    strings = [text.decode() for text in profile[6]]
    counts = collections.Counter()
    for sample in map(message, profile[2]):
        labels = {strings[label[1][0]]: label for label in map(message, sample[3])}
        counts[strings[labels["part"][2][0]] if "part" in labels else None] += packed(sample[2][0])[0]
    return dict(counts)


def test_parts(capture):
    """No surface contradicts another: the five parts of one capture in the API, the summary and pprof."""
    usual = {part: count for part, count in PART_SUMS.items() if part != "idle"}
    shares = {part: count / sum(PART_SUMS.values()) for part, count in PART_SUMS.items()}
    with Live("serve", capture) as live:
        threads = live.get("/sessions/1/threads")
        check(threads["all"]["parts"], PART_SUMS, "parts of threads")
        check({part: sum(column) for part, column in threads["threads"]["parts"].items()}, PART_SUMS, "columns of threads")
        timeline = live.get("/sessions/1/timeline")
        for what, scale in (("samples", 1), ("seconds", S / SLOW_NS)):
            check({part: round(sum(timeline[what][part]) * scale) for part in PART_SUMS}, PART_SUMS, "timeline in " + what)
        for part, count in PART_SUMS.items():
            check(live.get("/sessions/1/view?parts=" + part)["total"], count, "view of " + part)
        heat = live.get("/sessions/1/heatmap")
        check({part: sum(heat[part]) for part in PART_SUMS}, PART_SUMS, "heat map")
        summary = live.get("/sessions/1/summary")
        headline = live.ask("/api/v1/sessions/1/summary?format=text").body.decode().splitlines()[0]
        given = part_of_pprof(live.ask("/api/v1/sessions/1/export?format=pprof").body)
        check(given, PART_SUMS, "pprof of the API")
        for waits in ("on", "off"):
            table = live.ask("/api/v1/sessions/1/export?format=diff-markdown&baseline=1&parts=idle&waits=" + waits).body.decode()
            check([int(number) for number in re.findall(r"(?m)^\W*(?:baseline|now)\W+(\d+) samples", table, re.IGNORECASE)],
                  [PART_SUMS["idle"]] * 2, "both sides of a comparison, waits=" + waits + ": " + table)
    for part, share in shares.items():
        close(summary["parts"][part], share, "summary: " + part)
    check((summary["hot"]["samples"], summary["waiting"]["samples"], summary["idle"]["samples"]), (26, 32, 26), "samples of the summary")
    check(headline, summary["headline"], "headline")
    check(headline.startswith("45 % of the time that is not idle it runs `parse`"), True, headline)
    check("; 24 % it waits for the disk in `save`" in headline, True, headline)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pb.gz")
        for options, wanted in (([], usual), (["--idle"], PART_SUMS), (["--parts", "idle,blocked"], {part: PART_SUMS[part] for part in ("idle", "blocked")}),
                                (["--mode", "cpu"], {"running": PART_SUMS["running"]}), (["--idle", "--waits=off"], {None: sum(PART_SUMS.values())})):
            run(PROGRAM, "replay", capture, "--pprof", "-o", path, *options)
            with open(path, "rb") as file:
                check(part_of_pprof(file.read()), wanted, "pprof of replay " + " ".join(options))
        text = run(PROGRAM, "replay", capture, "--summary").splitlines()
        check(text[0], headline, "headline of the command line")


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="pyrometer-selections-") as folder:
        capture = os.path.join(folder, "phases.pyro")
        subprocess.run([sys.argv[1], capture], input=describe(ROWS), text=True, check=True, timeout=TIMEOUT_S)
        parts = os.path.join(folder, "parts.pyro")
        text = "process\t%d\t0\t0\tpython3\n" % PARENT
        for start in (0, WINDOW_NS):
            text += "".join("\t".join(map(str, ("add", row.pid, row.tid, row.thread, row.state, row.count, row.stack))) + "\n"
                            for row in PART_ROWS if row.start_ns == start)
            text += "seal\t%d\t%d\n" % (start + WINDOW_NS, SLOW_NS)
        subprocess.run([sys.argv[1], parts], input=text, text=True, check=True, timeout=TIMEOUT_S)
        for test in (test_command_line, test_split, test_http, test_anonymized, test_parts):
            try:
                test(parts if test is test_parts else capture)
            except (AssertionError, KeyError) as problem:
                FAILURES.append("%s: %s: %s" % (test.__name__, type(problem).__name__, problem))
    for failure in FAILURES:
        print(failure[:600])
    print("%d formats by %d selections: %d failures" % (len(FORMATS), len(SELECTIONS) + len(PARTS), len(FAILURES)))
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
