#!/usr/bin/env python3
"""Reads what write_formats wrote, with the programs each format is for.

Usage: read.py WRITE_FORMATS sums|pstats|pprof|speedscope|firefox|trace|pages|diff|big|openapi|native|native_consumers

Exit code: 0 passed, 1 failed, 77 skipped: the last line says what is missing.
"""

import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
CONSUMERS = os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers"))
TOTAL = 1000
PERIOD_NS = 10_000_000
# Contents of the small session: samples by thread, and functions' own and all samples.
BY_THREAD = {4711: 790, 4713: 100, 4720: 110}
FUNCTIONS = {"main": (0, 820), "parse": (300, 400), "Tree.walk": (0, 240), "Tree.visit": (180, 180), "render": (120, 120)}
TIMEOUT_S = 200

sys.path.append(os.path.join(ROOT, "tests", "support"))
from protobuf import message, packed  # pylint: disable=wrong-import-position


class Skipped(Exception):
    pass


def check(given, wanted, what):
    if given != wanted:
        raise AssertionError("%s: %r, not %r" % (what, given, wanted))


def run(*words, **keywords):
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, **keywords)
    if result.returncode != 0:
        raise AssertionError("%s ended with %d: %s%s" % (" ".join(words)[:200], result.returncode, result.stdout[-2000:], result.stderr[-2000:]))
    return result.stdout


def consumer(path, name):
    found = os.path.join(CONSUMERS, "node_modules", path)
    if not os.path.exists(found):
        raise Skipped("needs %s: run scripts/get-consumers" % name)
    return found


def program(name, package):
    found = shutil.which(name)
    if not found:
        raise Skipped("needs %s (Debian: %s)" % (name, package))
    return found


class Files:
    def __init__(self, folder):
        self.folder = folder

    def path(self, extension):
        return os.path.join(self.folder, "report." + extension)

    def text(self, extension):
        with open(self.path(extension), encoding="utf-8", newline="") as file:
            return file.read()

    def json(self, extension):
        return json.loads(self.text(extension))

    def lines(self):
        return [json.loads(line) for line in self.text("jsonl").split("\n") if line]


# Protocol buffers, as far as pprof needs them: {field: [values]}.

# Samples by thread, read from each format by a reader of our own.

def threads_of_collapsed(files):
    sums = collections.Counter()
    for line in files.text("folded").split("\n")[:-1]:
        match = re.fullmatch(r"tid:(\d+)(?: [^;]*?)?((?:;[^;]+)*) (\d+)", line)
        sums[int(match.group(1))] += int(match.group(3))
    return sums


def threads_of_jsonl(files):
    tids, sums = {}, collections.Counter()
    for record in files.lines():
        if record["type"] == "thread_table":
            tids.update((row["thread_id"], row["tid"]) for row in record["threads"])
        if record["type"] == "agg" and record["kind"] == "stack":
            for row in record["entries"]:
                sums[tids[row["thread_id"]]] += row["count"]
    return sums


def threads_of_gecko(files):
    return collections.Counter({thread["tid"]: sum(thread["samples"]["weight"]) for thread in files.json("gecko.json")["threads"]})


def threads_of_trace(files):
    """Sums by thread; a thread without frames is not drawn, so it has none."""
    sums = collections.Counter()
    for tid, events in trace_events(files).items():
        sums[tid] = sum(event["args"]["samples"] for event in events if event["depth"] == 0)
    return sums


def threads_of_speedscope(files, period_ns=PERIOD_NS):
    sums = collections.Counter()
    profiles = files.json("speedscope.json")["profiles"]
    if period_ns is None:
        period_ns = sum(profile["endValue"] for profile in profiles) // BIG_SAMPLES
    for profile in profiles:
        check(len(profile["samples"]), len(profile["weights"]), "weights of samples")
        check(sum(profile["weights"]), profile["endValue"], "end of the profile")
        sums[int(re.search(r"(\d+)\)?(?: · .*)?$", profile["name"]).group(1))] += sum(profile["weights"]) // period_ns
    return sums


def threads_of_pprof(files, period_ns=PERIOD_NS):
    sums = collections.Counter()
    profile = message(gzip.decompress(open(files.path("pb.gz"), "rb").read()))
    strings = [text.decode("utf-8") for text in profile[6]]
    check(strings[0], "", "the first string")
    for sample in map(message, profile[2]):
        labels = {strings[label[1][0]]: label for label in map(message, sample[3])}
        values = packed(sample[2][0])
        check(values[1], values[0] * (period_ns or profile[12][0]), "wall time of a sample")
        sums[labels["thread_id"][3][0]] += values[0]
    return sums


def threads_of_report(files):
    profile = embedded(files, files.text("html"))
    sums = collections.Counter()
    for thread, count in zip(profile["cells"]["thread"], profile["cells"]["count"]):
        sums[profile["tree"]["threads"]["tid"][thread]] += count
    return sums


def embedded(files, html):
    import base64
    data = re.search(r'<script type="text/plain" id="profile-data"[^>]*>([^<]*)</script>', html).group(1)
    return json.loads(gzip.decompress(base64.b64decode(data)))


def opened_at(html):
    return re.search(r'<script type="text/plain" id="profile-data" data-view="(\w+)">', html).group(1)


def load_marshal(files):
    import marshal
    with open(files.path("pstats"), "rb") as file:
        return marshal.load(file)


def functions_of_pstats(files):
    return {key[2]: (value[0], value[1]) for key, value in load_marshal(files).items()}


def functions_of_table(files):
    found = {}
    for line in files.text("txt").split("\n"):
        match = re.match(r" *(\d+)/(\d+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+  .*?\((.*)\)$", line)
        if match:
            found[match.group(3)] = (int(match.group(1)), int(match.group(2)))
    return found


def functions_of_jsonl(files):
    """By line there, so only those of one line can be compared."""
    strings, frames, sums = {}, {}, {}
    for record in files.lines():
        for row in record.get("strings", []):
            strings[row["str_id"]] = row["value"]
        for row in record.get("frames", []):
            frames[row["frame_id"]] = strings[row["func_str_id"]]
        if record["type"] == "agg" and record["kind"] == "frame":
            for row in record["entries"]:
                sums.setdefault(frames[row["frame_id"]], []).append((row["self"], row["cumulative"]))
    return {name: rows[0] for name, rows in sums.items() if len(rows) == 1}


def functions_of_svg(files):
    """Sums of frames that occur once; the picture is well-formed XML, whatever the names hold."""
    import xml.etree.ElementTree
    sums = {}
    for title in xml.etree.ElementTree.fromstring(files.text("svg")).iter("{http://www.w3.org/2000/svg}title"):
        lines = title.text.split("\n")
        total, own = map(int, re.search(r"%, (\d+) samples; self [\d.]+ %, (\d+)$", lines[-1]).groups())
        sums.setdefault(lines[0], []).append((own, total))
    check(sums.pop("all"), [(50, TOTAL)], "all samples of the picture")
    return {name: rows[0] for name, rows in sums.items() if len(rows) == 1}


def test_sums(files):
    """Every format has the same samples, in all and by thread; a function counts once in a stack."""
    for reader in (threads_of_collapsed, threads_of_jsonl, threads_of_gecko, threads_of_speedscope, threads_of_pprof,
                   threads_of_report):
        given = reader(files)
        check(dict(given), BY_THREAD, reader.__name__)
        check(sum(given.values()), TOTAL, reader.__name__)
    check(dict(threads_of_trace(files)), {4711: 790, 4713: 100, 4720: 60}, "trace")
    for reader in (functions_of_pstats, functions_of_table, functions_of_jsonl, functions_of_svg):
        given = reader(files)
        for name, wanted in FUNCTIONS.items():
            if name in given or reader not in (functions_of_jsonl, functions_of_svg):
                check(given.get(name), wanted, reader.__name__ + " of " + name)
    check(sum(own for own, _ in functions_of_pstats(files).values()), TOTAL - 50, "own samples of all functions")
    check_heatmap(files)
    check_cpu_of_gecko(files)
    records = files.lines()
    check((records[0]["type"], records[-1]["type"], records[-1]["samples_total"]), ("meta", "end", TOTAL), "lines of JSON")
    check({(record["v"], record["run_id"]) for record in records}, {(0, "0123456789abcde0")}, "schema and run")
    check(max(len(value) for record in records for value in record.values() if isinstance(value, list)) <= 256, True, "length of records")
    compare_diff(files)


def check_cpu_of_gecko(files):
    """The CPU time of a sample is that since the sample before, and so never more than the time since then."""
    sums = {}
    for thread in files.json("gecko.json")["threads"]:
        samples = thread["samples"]
        check({len(column) for column in samples.values() if isinstance(column, list)}, {samples["length"]}, "length of samples")
        check(samples["threadCPUDelta"][0], 0, "CPU time before the first sample")
        for i in range(1, samples["length"]):
            passed_ns = (samples["time"][i] - samples["time"][i - 1]) * 1e6
            if (samples["threadCPUDelta"][i] or 0) > passed_ns + 2000:
                raise AssertionError("sample %d of thread %d: %r ns of CPU time in %r ns" % (i, thread["tid"], samples["threadCPUDelta"][i], passed_ns))
        sums[thread["tid"]] = round(sum(delta or 0 for delta in samples["threadCPUDelta"]) / 1e6)
    check(sums, {4711: 2346, 4713: 0, 4720: 600}, "CPU time in ms")


def check_heatmap(files):
    """The heat map is the page opened at Source: the same profile, all instructions."""
    page = embedded(files, files.text("heatmap.html"))
    check((opened_at(files.text("heatmap.html")), opened_at(files.text("html"))), ("source", "flame"), "views")
    check(sum(page["cells"]["count"]), TOTAL, "heat map")
    lines = {found["path"]: dict(zip(zip(found["line"], found["column"]), zip(found["self"], found["total"]))) for found in page["instructions"]}
    check(lines["/srv/app.py"], {(14, 8): (0, 250), (22, 4): (150, 150), (22, 12): (100, 100)}, "instructions")


def functions_of(side):
    """Self samples by function of what a page embeds: of the report, or of its baseline."""
    tree, sums = side["tree"], collections.Counter()
    for node, count in zip(side["cells"]["node"], side["cells"]["count"]):
        name = tree["functions"]["name"][tree["nodes"]["function"][node]]
        sums[tree["strings"]["values"][name]] += count
    return sums


def check_sides(page, by):
    """A page with a comparison holds both profiles, what is gone too."""
    baseline, current = functions_of(page["baseline"]), functions_of(page)
    check(page["baseline"]["by"], by, "basis")
    check((sum(baseline.values()), sum(current.values())), (1000, 1502), "samples of the page")
    check((baseline["parse"], baseline["log"], current["log"], baseline["cache.<locals>.get"]), (300, 60, 0, 0), "baseline")


def compare_diff(files):
    with open(os.path.join(files.folder, "diff.json"), encoding="utf-8") as file:
        diff = json.load(file)
    verdicts = {row["name"]: row["self"]["verdict"] for row in diff["functions"]}
    wanted = {"parse": "more", "render": "less", "log": "gone", "cache.<locals>.get": "new", "main": "few"}
    check({name: verdicts[name] for name in wanted}, wanted, "verdicts")
    check((diff["baseline"]["samples"], diff["now"]["samples"]), (1000, 1502), "samples of both sides")
    with open(os.path.join(files.folder, "diff.html"), encoding="utf-8") as file:
        html = file.read()
    check(opened_at(html), "diff", "view")
    check_sides(embedded(files, html), "samples")


PSTATS = """
import pstats, sys
stats = pstats.Stats(sys.argv[1])
entries = {key[2]: value for key, value in stats.stats.items()}
cc, nc, tt, ct, callers = entries["parse"]
assert (cc, nc) == (300, 400), (cc, nc)
assert abs(tt - 3.0) < 1e-9 and abs(ct - 4.0) < 1e-9, (tt, ct)
assert [(key[2], value) for key, value in callers.items()] == [("main", (400, 300, 3.0, 4.0))], callers
assert abs(stats.total_tt - 9.5) < 1e-9, stats.total_tt
walk = {key[2]: value[0] for key, value in entries["Tree.walk"][4].items()}
assert walk == {"main": 240, "Tree.walk": 180}, walk
for key in ("cumulative", "time", "calls", "name", "file"):
    stats.sort_stats(key).print_stats()
stats.add(sys.argv[1])
assert [v for k, v in stats.stats.items() if k[2] == "render"][0][:2] == (240, 240)
stats.strip_dirs().print_callers()
stats.print_callees()
"""


def test_pstats(files):
    """pstats of every Python there is loads, adds and prints it."""
    pythons = sorted(set(glob.glob(os.path.join(ROOT, ".pythons", "bin", "python3.*")) + [sys.executable]))
    for python in pythons:
        printed = run(python, "-I", "-c", PSTATS, files.path("pstats"))
        if "Tree.walk" not in printed:
            raise AssertionError("%s printed %r" % (python, printed[-500:]))
    print("pstats: read by %s" % ", ".join(os.path.basename(python) for python in pythons))


def test_pprof(files):
    """go tool pprof finds totals, lines, labels."""
    go = program("go", "golang-go")
    top = run(go, "tool", "pprof", "-sample_index=samples", "-top", files.path("pb.gz"))
    for wanted in (r"Type: samples", r"Duration: 6s, Total samples = 1000", r" 300 +30\.00% .* 400 +40\.00%  parse",
                   r"  0 .* 820 +82\.00%  main", r"180 +18\.00% .* 180 +18\.00%  Tree\.visit", r"  <native> re\.match", r"  <module>"):
        if not re.search(wanted, top):
            raise AssertionError("no %r in %s" % (wanted, top))
    raw = run(go, "tool", "pprof", "-raw", files.path("pb.gz"))
    for wanted in (r"PeriodType: wall nanoseconds", r"Period: 10000000", r"samples/count wall/nanoseconds\[dflt\] cpu/nanoseconds",
                   r"parse /srv/app\.py:22:0 s=20", r"thread:\[worker;", r"state:\[on_cpu,has_gil\]", r"process_id:\[4720\]", r"M=1"):
        if not re.search(wanted, raw):
            raise AssertionError("no %r in %s" % (wanted, raw))
    lines = run(go, "tool", "pprof", "-lines", "-sample_index=cpu", "-top", files.path("pb.gz"))
    if not re.search(r"(3s|3000ms) .* parse /srv/app\.py:22", lines):
        raise AssertionError(lines)


def test_nothing(files):
    """A selection without samples is a file that its program opens: pstats takes none without a function, speedscope none without a
    profile, the Firefox Profiler none without a thread."""
    import pstats
    import io
    outputs = ["--%s=%s" % (name, files.path(extension)) for name, extension in
               (("pstats", "pstats"), ("speedscope", "speedscope.json"), ("gecko", "gecko.json"), ("chrome-trace", "trace.json"))]
    run(os.environ["PYROMETER"], "replay", "--focus", "no such function", *outputs, os.path.join(files.folder, "now.pyro"))
    printed = io.StringIO()
    stats = pstats.Stats(files.path("pstats"), stream=printed)
    stats.add(files.path("pstats"))
    stats.sort_stats("cumulative").print_stats()
    stats.print_callers()
    check("no samples" in printed.getvalue(), True, "what pstats prints")
    check([(profile["samples"], profile["weights"]) for profile in files.json("speedscope.json")["profiles"]], [([], [])], "profiles")
    thread, = files.json("gecko.json")["threads"]
    check((thread["samples"]["length"], thread["markers"]["length"], thread["isMainThread"]), (0, 0, True), "thread")


SCHEMA = """
const Ajv = require(process.argv[1]);
const fs = require("fs");
const validate = new (Ajv.default ?? Ajv)({ strict: false }).compile(JSON.parse(fs.readFileSync(process.argv[2])));
if (!validate(JSON.parse(fs.readFileSync(process.argv[3])))) { console.error(validate.errors); process.exit(1); }
"""


def test_speedscope(files):
    """speedscope's schema accepts it, and speedscope itself shows it; the trace too."""
    node = program("node", "nodejs")
    release = consumer("speedscope/dist/release", "speedscope")
    run(node, "-e", SCHEMA, consumer("ajv", "ajv"), os.path.join(release, "file-format-schema.json"), files.path("speedscope.json"))
    run_page(node, "speedscope", release, files.path("speedscope.json"), "4.00s (51%)3.00s (38%)parse", "7.60s (96%)0.00ns (<0.01%)main")
    # One thread of the trace is shown at a time, and lines apart.
    run_page(node, "speedscope", release, files.path("trace.json"), '802.32ms (28%)802.32ms (28%)parse {"file":"/srv/app.py","line":22}',
             '600.00ms (21%)600.00ms (21%)log {"file":"/srv/view.py","line":61}', '1.06s (37%)0.00ns (<0.01%)main {"file":"/srv/app.py","line":14}',
             '554.18ms (19%)0.00ns (<0.01%)Tree.walk {"file":"/srv/lib/tree.py","line":9}', "256.41ms (8.8%)256.41ms (8.8%)<native> re.match")


def run_page(node, *words):
    result = subprocess.run([node, os.path.join(ROOT, "tests", "formats", "pages.mjs"), *words], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S)
    print(result.stdout, end="")
    if result.returncode == 77:
        raise Skipped(result.stdout.strip().split("\n")[-1])
    if result.returncode != 0:
        raise AssertionError("pages.mjs %s failed" % words[0])


def load(ask, path):
    """The Firefox Profiler gives its own daemon half a second to start, which a loaded machine may need more of."""
    until = time.monotonic() + TIMEOUT_S / 2
    while True:
        try:
            return ask("load", path)
        except AssertionError as problem:
            if "did not become ready" not in str(problem) or time.monotonic() > until:
                raise
            ask("stop", "--all")


def test_firefox(files):
    """The Firefox Profiler's own command line loads it and finds threads, functions and markers; the trace too."""
    node = program("node", "nodejs")
    cli = consumer("@firefox-devtools/profiler-cli/dist/profiler-cli.js", "@firefox-devtools/profiler-cli")
    environment = dict(os.environ, HOME=files.folder, XDG_RUNTIME_DIR=files.folder)

    def ask(*words):
        return run(node, cli, *words, env=environment)

    try:
        load(ask, files.path("gecko.json"))
        info = ask("profile", "info")
        for wanted in ("3 threads across 2 processes", "MainThread", "pid 4711", "pid 4720", "/srv/app.py"):
            if wanted not in info:
                raise AssertionError("no %r in %s" % (wanted, info))
        handle = re.search(r"(t-\d+): MainThread", info).group(1)
        ask("thread", "select", handle)
        # On a CPU from 0 to 0.9 s, and from 5.0 to 5.9 s.
        activity = ask("thread", "info")
        for wanted in (r"40% for 2331\.3ms: .*\(0s - 5\.900s\)", r"90% for 897\.4ms: .*\(0s - 1s\)", r"100% for 900\.0ms: .*\(5s - 5\.900s\)"):
            if not re.search(wanted, activity):
                raise AssertionError("no %r in %s" % (wanted, activity))
        functions = ask("thread", "functions", "--include-idle", "--limit", "0")
        for wanted in (r"parse - self: 300 .*, total: 400", r"main - self: 0 .*, total: 760", r"Tree\.walk - self: 0 .*, total: 180", r"<native> re\.match - self: 100"):
            if not re.search(wanted, functions):
                raise AssertionError("no %r in %s" % (wanted, functions))
        markers = ask("thread", "markers")
        for wanted in ("Has GIL", "No GIL", "Waiting for GIL", "On CPU", "Off CPU", "Native Code", "Has Exception", "Opcode"):
            if not re.search(r"%s +\d+ marker" % re.escape(wanted), markers):
                raise AssertionError("no marker %r in %s" % (wanted, markers))
        ask("stop", "--all")
        load(ask, files.path("trace.json"))
        info = ask("profile", "info")
        for wanted in ("3 threads across 2 processes", "MainThread (4711)", "pid 4720"):
            if wanted not in info:
                raise AssertionError("no %r in %s" % (wanted, info))
        ask("thread", "select", re.search(r"(t-\d+): MainThread", info).group(1))
        markers = ask("thread", "markers")
        for wanted in (r"main +6 markers .*max=897\.44ms", r"Tree\.walk +6 markers", r"parse +3 markers .*max=641\.03ms", r"<native> re\.match +1 marker"):
            if not re.search(wanted, markers):
                raise AssertionError("no %r in %s" % (wanted, markers))
    finally:
        ask("stop", "--all")


def trace_events(files):
    """{tid: frames with their depth, time and samples}; fails where an end is not that of what began last, or time goes back."""
    by_thread, open_frames, now = collections.defaultdict(list), collections.defaultdict(list), {}
    for event in files.json("trace.json")["traceEvents"]:
        tid = event["tid"]
        if event["ph"] == "M":
            continue
        if event["ts"] < now.get(tid, 0):
            raise AssertionError("%r goes back in time" % event)
        now[tid] = event["ts"]
        if event["ph"] == "B":
            event["depth"] = len(open_frames[tid])
            open_frames[tid].append(event)
        else:
            check(event["ph"], "E", "phase")
            begun = open_frames[tid].pop()
            check(event["name"], begun["name"], "name of what ends")
            begun["dur"] = event["ts"] - begun["ts"]
            begun["args"]["samples"] = event["args"]["samples"]
            by_thread[tid].append(begun)
    check([frames for frames in open_frames.values() if frames], [], "frames that do not end")
    return by_thread


def test_trace(files):
    """Events nest, threads and processes have their names, nothing is drawn where nothing was seen."""
    data = files.json("trace.json")
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in data["traceEvents"] if event["name"] == "thread_name"}
    # Nobody knows when samples of a made-up profile were taken.
    note = " · not in order of time"
    check(names, {(4711, 4711): "MainThread (4711)" + note, (4711, 4713): 'worker;"1" <b> (4713)' + note, (4720, 4720): "thread 4720" + note}, "threads")
    for events in trace_events(files).values():
        for event in events:
            if event["ts"] < 5e6 - 1 and event["ts"] + event["dur"] > 2e6 + 25e3:
                raise AssertionError("%r reaches into the pause" % event)
    walk = [event for event in trace_events(files)[4711] if event["name"] == "Tree.walk"]
    check(sorted(event["depth"] for event in walk), [1, 1, 2, 2, 3, 3], "recursion nests")
    check(data["otherData"]["target"]["pid"], 4711, "session")


OPENAPI = """
const { readFileSync } = await import("node:fs");
const { pathToFileURL } = await import("node:url");
const { Validator } = await import(pathToFileURL(process.argv[1]));
const result = await new Validator().validate(JSON.parse(readFileSync(process.argv[2])));
if (!result.valid) { console.error(JSON.stringify(result.errors)); process.exit(1); }
"""


def test_openapi(files):
    """The API's description is valid OpenAPI, and a reference that leads nowhere would be found."""
    node = program("node", "nodejs")
    validator = consumer("@seriousme/openapi-schema-validator/index.js", "@seriousme/openapi-schema-validator")
    described = os.path.join(ROOT, "server", "openapi.json")
    run(node, "--input-type=module", "-e", OPENAPI, validator, described)
    with open(described, encoding="utf-8") as file:
        document = json.load(file)
    del document["components"]["parameters"]["From"]
    broken = os.path.join(files.folder, "openapi.json")
    with open(broken, "w", encoding="utf-8") as file:
        json.dump(document, file)
    try:
        run(node, "--input-type=module", "-e", OPENAPI, validator, broken)
    except AssertionError as problem:
        check("parameters/From" in str(problem), True, "what the validator says")
    else:
        raise AssertionError("a description without the parameter From is valid")


def test_pages(files):
    """The pages opened at Source and Compare in a real browser."""
    node = program("node", "nodejs")
    run_page(node, "heatmap", files.path("heatmap.html"))
    run_page(node, "diff", os.path.join(files.folder, "diff.html"))


def test_diff(files):
    """pyrometer diff says of two captures what the comparison of the same sessions in memory says."""
    pyrometer = os.environ.get("PYROMETER", os.path.join(ROOT, "build/debug/pyrometer"))
    before, now = (os.path.join(files.folder, name) for name in ("before.pyro", "now.pyro"))
    with open(os.path.join(files.folder, "diff.txt"), encoding="utf-8") as file:
        wanted = file.read()
    # The command leaves out idle samples and those that need a processor, and says so; these captures have none.
    given = re.sub(r"^ +selected: .*; running, needs the GIL or blocked\n", "", run(pyrometer, "diff", before, now), flags=re.M)
    check(given, wanted, "text")
    with open(os.path.join(files.folder, "diff.json"), encoding="utf-8") as file:
        wanted = json.load(file)
    given = json.loads(run(pyrometer, "diff", "--json", before, now))
    for key in ("functions", "paths", "by", "max_q"):
        check(given[key], wanted[key], key)
    html = os.path.join(files.folder, "x.html")
    check(run(pyrometer, "diff", before, now, "-o", html), "", "standard output")
    with open(html, encoding="utf-8") as file:
        check_sides(embedded(files, file.read()), "samples")
    run(pyrometer, "diff", before, now, "--html", "--by-time", "-o", html)
    with open(html, encoding="utf-8") as file:
        check_sides(embedded(files, file.read()), "time")
    by_time = json.loads(run(pyrometer, "diff", "--json", "--by-time", before, now))
    check(by_time["by"], "time", "basis")
    hidden = json.loads(run(pyrometer, "diff", "--json", "--hide", "function:parse", "--ignore", "six.py", before, now))
    check("parse" in {row["name"] for row in hidden["functions"]}, False, "a function that is taken out")
    check((hidden["baseline"]["samples"], hidden["now"]["samples"]), (920, 1500), "samples without those left out, and without those that have no frame")
    anonymized = run(pyrometer, "diff", "--json", "--anonymize", before, now)
    check("/srv/" in anonymized or "parse" in anonymized, False, "names of own code")
    drawn = os.path.join(files.folder, "hidden.html")
    run(pyrometer, "replay", now, "--hide", "function:parse", "--diff-flamegraph", before, "-o", drawn)
    with open(drawn, encoding="utf-8") as file:
        page = embedded(files, file.read())
    check(functions_of(page)["parse"] + functions_of(page["baseline"])["parse"], 0, "a function that is taken out of both")
    check([side["selection"]["text"] for side in (page["baseline"], page)],
          ["all 6.0 s; all 2 processes; hide function:parse", "all 15.0 s; process 4800; hide function:parse"], "selections of both")
    same = json.loads(run(pyrometer, "diff", "--json", now, now))
    check({row["self"]["verdict"] for row in same["functions"]} - {"same", "few"}, set(), "verdicts on the same")
    for words, code, said in (((before, "/nowhere.pyro"), 1, "/nowhere.pyro"), ((before, html), 1, "not a Pyrometer capture"), ((before,), 2, "two captures")):
        result = subprocess.run([pyrometer, "diff", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
        check((result.returncode, result.stdout), (code, ""), "exit of %r" % (words,))
        if said not in result.stderr:
            raise AssertionError("%r is not in %r" % (said, result.stderr))
    # A baseline that cannot be read is known before anything is sampled.
    result = subprocess.run([pyrometer, "record", str(os.getpid()), "--diff-flamegraph", html], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
    check(result.returncode, 1, "exit without a baseline")
    check("captured" in result.stderr, False, "sampling without a baseline")


# Below a sanitizer memory says nothing, and fewer will do.
BIG_NODES = 8_000 if os.environ.get("PYROMETER_SANITIZED") else 40_000
BIG_SAMPLES, BIG_PEAK_MIB = 10 * BIG_NODES, 40


def test_big(files):
    """A big session goes through every format in little memory, and the sums are still equal."""
    printed = run(sys.argv[1], files.folder, str(BIG_NODES), str(BIG_SAMPLES))
    if not os.environ.get("PYROMETER_SANITIZED"):
        peak = max(int(number) for number in re.findall(r"peak +(\d+) MiB", printed))
        if peak > BIG_PEAK_MIB:
            raise AssertionError("%d MiB at the peak, not at most %d: %s" % (peak, BIG_PEAK_MIB, printed))
    readers = (threads_of_jsonl, threads_of_gecko, threads_of_speedscope_counts, threads_of_pprof_counts, threads_of_report)
    wanted = None
    for reader in readers:
        given = dict(reader(files))
        check(sum(given.values()), BIG_SAMPLES, reader.__name__)
        wanted = wanted or given
        check(given, wanted, reader.__name__)
    with open(files.path("folded"), encoding="utf-8") as file:
        check(sum(int(line.rpartition(" ")[2]) for line in file), BIG_SAMPLES, "collapsed")
    check(sum(value[0] for value in load_marshal(files).values()), BIG_SAMPLES - empty_stacks(files), "pstats")


def empty_stacks(files):
    """Samples of threads without frames, which no function has."""
    return sum(row["count"] for record in files.lines() if record.get("kind") == "stack" for row in record["entries"] if row["stack_id"] == 0)


def threads_of_speedscope_counts(files):
    return threads_of_speedscope(files, None)


def threads_of_pprof_counts(files):
    return threads_of_pprof(files, None)


NUMPY, BLAS = "_multiarray_umath.so", "libopenblas64_p-r0.3.23.so"


def replay(files, native, *formats):
    """The capture with native stacks as reports."""
    outputs = ["--%s=%s" % (name, files.path(extension)) for name, extension in formats]
    run(os.environ["PYROMETER"], "replay", "--native-frames", native, *outputs, os.path.join(files.folder, "native.pyro"))


def test_native(files):
    """Native frames, their libraries and build ids: in the formats that we read ourselves."""
    formats = (("collapsed", "folded"), ("jsonl", "jsonl"), ("gecko", "gecko.json"), ("speedscope", "speedscope.json"),
               ("chrome-trace", "trace.json"), ("pprof", "pb.gz"), ("pstats", "pstats"))
    replay(files, "all", *formats)
    folded = dict(line.rsplit(" ", 1) for line in files.text("folded").splitlines())
    check(folded["tid:4711 MainThread;made.py:main:1;made.py:Model.fit:1;%s:DOUBLE_matmul:0;%s:cblas_dgemm:0;%s:dgemm_kernel:0" % (NUMPY, BLAS, BLAS)], "400", "a stack")
    check(folded["tid:4711 MainThread;made.py:main:1;made.py:Model.load:1;scan.c:scan:217"], "100", "a stack with source")
    readers = (threads_of_collapsed, threads_of_jsonl, threads_of_gecko, threads_of_speedscope, threads_of_pprof)
    for reader in readers:
        check(sum(reader(files).values()), 1560, "samples of " + reader.__name__)

    records = files.lines()
    strings = {row["str_id"]: row["value"] for record in records if record["type"] == "string_table" for row in record["strings"]}
    libraries = {row["library_id"]: row for record in records if record["type"] == "library_table" for row in record["libraries"]}
    of = {strings[row["func_str_id"]]: libraries[row["library_id"]] for record in records if record["type"] == "frame_table"
          for row in record["frames"] if "library_id" in row}
    check(os.path.basename(strings[of["dgemm_kernel"]["path_str_id"]]), BLAS, "library in jsonl")
    check(strings[of["dgemm_kernel"]["build_id_str_id"]], "a1b2c3", "build id in jsonl")

    gecko = files.json("gecko.json")
    shared, libs = gecko["shared"], gecko["libs"]
    at = shared["funcTable"]["name"].index(shared["stringArray"].index("dgemm_kernel"))
    resource = shared["funcTable"]["resource"][at]
    check(libs[shared["resourceTable"]["lib"][resource]]["name"], BLAS, "library in gecko")
    check(shared["resourceTable"]["type"][resource], 1, "type of the resource")
    native = shared["frameTable"]["func"].index(at)
    check(gecko["meta"]["categories"][shared["frameTable"]["category"][native]]["name"], "Native", "category")

    events = [event for event in files.json("trace.json")["traceEvents"] if event.get("name") == "dgemm_kernel"]
    check({event["cat"] for event in events}, {"native"}, "category in the trace")
    check({os.path.basename(event["args"]["library"]) for event in events if event["ph"] == "B"}, {BLAS}, "library in the trace")

    profile = message(gzip.decompress(open(files.path("pb.gz"), "rb").read()))
    texts = [text.decode() for text in profile[6]]
    mappings = {row[1][0]: row for row in map(message, profile[3])}
    names = {row[1][0]: texts[row[2][0]] for row in map(message, profile[5])}
    mapping = {names[message(row[4][0])[1][0]]: mappings[row[2][0]] for row in map(message, profile[4])}
    check(os.path.basename(texts[mapping["dgemm_kernel"][5][0]]), BLAS, "mapping in pprof")
    check(texts[mapping["dgemm_kernel"][6][0]], "a1b2c3", "build id in pprof")
    check(mapping["dgemm_kernel"][7], [1], "has_functions in pprof")
    check(mapping["main"][1], [1], "mapping of Python code")


def test_native_consumers(files):
    """go tool pprof and the Firefox Profiler show native frames and libraries."""
    go, node = program("go", "golang-go"), program("node", "nodejs")
    cli = consumer("@firefox-devtools/profiler-cli/dist/profiler-cli.js", "@firefox-devtools/profiler-cli")
    replay(files, "all", ("pprof", "pb.gz"), ("gecko", "gecko.json"))
    raw = run(go, "tool", "pprof", "-raw", files.path("pb.gz"))
    for wanted in (r"dgemm_kernel /srv/.*%s:0:0" % re.escape(BLAS), r"\d+: 0x0/0x0/0x0 /srv/\S*%s a1b2c3 \[FN\]" % re.escape(BLAS), r"scan scan\.c:217"):
        if not re.search(wanted, raw):
            raise AssertionError("no %r in %s" % (wanted, raw))
    top = run(go, "tool", "pprof", "-sample_index=samples", "-top", files.path("pb.gz"))
    if not re.search(r" 760 .*  dgemm_kernel", top):
        raise AssertionError(top)
    environment = dict(os.environ, HOME=files.folder, XDG_RUNTIME_DIR=files.folder)

    def ask(*words):
        return run(node, cli, *words, env=environment)

    try:
        load(ask, files.path("gecko.json"))
        ask("thread", "select", re.search(r"(t-\d+): MainThread", ask("profile", "info")).group(1))
        functions = ask("thread", "functions", "--include-idle", "--limit", "0")
        if not re.search(r"dgemm_kernel - self: 400 ", functions) or BLAS not in functions:
            raise AssertionError(functions)
    finally:
        ask("stop", "--all")


TESTS = {name[5:]: value for name, value in globals().items() if name.startswith("test_")}


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in TESTS:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="pyrometer-formats-") as folder:
        run(sys.argv[1], folder)
        try:
            TESTS[sys.argv[2]](Files(folder))
        except Skipped as reason:
            print("skipped: %s" % reason)
            return 77
    print("passed: %s" % sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
