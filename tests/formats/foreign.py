#!/usr/bin/env python3
"""Files of other tools: the report of the program that a file is for has the sums that ours has.

Usage: foreign.py firefox|pprof

Exit code: 0 passed, 1 failed, 77 skipped: the last line says what is missing.
"""

import collections
import json
import os
import re
import sys
import tempfile

from read import Skipped, check, consumer, load, program, run

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "foreign")
PYROMETER = os.environ["PYROMETER"]


def self_times(path, folder):
    """Nanoseconds of each function itself, by threads, as we open the file."""
    output = os.path.join(folder, "ours.json")
    run(PYROMETER, "replay", path, "--idle", "--waits=on", "--speedscope=" + output)
    with open(output, encoding="utf-8") as file:
        document = json.load(file)
    frames = [(frame["name"], frame.get("file", "")) for frame in document["shared"]["frames"]]
    found = collections.defaultdict(collections.Counter)
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            if stack:
                found[profile["name"]][frames[stack[-1]]] += weight
    return found


def test_firefox(folder):
    """The Firefox Profiler counts the same samples of each function, in Firefox's own file."""
    node = program("node", "nodejs")
    cli = consumer("@firefox-devtools/profiler-cli/dist/profiler-cli.js", "@firefox-devtools/profiler-cli")
    environment = dict(os.environ, HOME=folder, XDG_RUNTIME_DIR=folder)
    path, interval_ns = os.path.join(FILES, "firefox.json.gz"), 100_000_000

    def ask(*words):
        return run(node, cli, *words, env=environment)

    theirs, ours = collections.Counter(), collections.Counter()
    try:
        load(ask, path)
        handles = re.findall(r"^[* ] (t-\d+) ", ask("thread", "list"), re.M)
        check(len(handles), 7, "threads")
        for handle in handles:
            listed = ask("thread", "functions", "--thread", handle, "--include-idle", "--limit", "0")
            counts = [int(count) for count in re.findall(r"^ +f-\d+\. .* - self: (\d+)\b", listed, re.M)]
            theirs[sum(counts), tuple(sorted(filter(None, counts)))] += 1
    finally:
        ask("stop", "--all")
    for functions in self_times(path, folder).values():
        counts = [weight / interval_ns for weight in functions.values()]
        ours[sum(counts), tuple(sorted(counts))] += 1
    check(ours, theirs, "samples of the functions of each thread")


def test_pprof(folder):
    """go tool pprof has the same nanoseconds of each function."""
    go = program("go", "golang-go")
    for name, index, scale in (("go-cpu.pb.gz", "cpu", 1), ("austin.pb", "0", 1000)):
        path = os.path.join(FILES, name)
        raw = run(go, "tool", "pprof", "-sample_index=" + index, "-unit=" + ("ns" if scale == 1 else "us"), "-nodefraction=0", "-nodecount=100000", "-top", path)
        theirs = collections.Counter()
        for value, function in re.findall(r"^ *([0-9.]+)(?:ns|us)? +[0-9.]+% +[0-9.]+% +\S+ +[0-9.]+%  (.*)$", raw, re.M):
            if float(value):
                theirs[function.removesuffix(" (inline)")] += round(float(value) * scale)
        ours = collections.Counter()
        for functions in self_times(path, folder).values():
            for (function, _), weight in functions.items():
                ours[function] += weight
        check(ours, theirs, "times of the functions of " + name)


TESTS = {name[5:]: value for name, value in globals().items() if name.startswith("test_")}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in TESTS:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="pyrometer-formats-") as folder:
        try:
            TESTS[sys.argv[1]](folder)
        except Skipped as reason:
            print("skipped: %s" % reason)
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
