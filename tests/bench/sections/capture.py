"""How many bytes does a sample take on disk?"""

import os
import tempfile

import stats
from processes import BUILD, Target, run
from profilers import Tachyon
from table import Goal, columns, summary

TITLE = "Captures: bytes a sample"

# (what, workload, arguments, rate, seconds)
CASES = [
    ("calls", "calls.py", [], 10000, 6),
    ("50 frames deep", "deep.py", [50], 1000, 10),
    ("generators", "generators.py", [], 1000, 10),
]


def ours(bench, python, pid, rate, seconds, path):
    return [bench.program, "record", pid, "-r", "%d" % rate, "-d", "%d" % seconds, "--no-source", "-o", path]


def theirs(bench, python, pid, rate, seconds, path):
    return [python.path, "-m", "profiling.sampling", "attach", "-r", "%dhz" % rate, "-d", "%d" % seconds, "--binary",
            "-o", path, pid]


# (name, command, what it says of its samples)
WRITERS = [("pyrometer", ours, r"captured (\d+) samples"), (Tachyon.name, theirs, r"written to .*\((\d+) samples\)")]


def measure(bench):
    tachyons = [peer for peer in bench.peers_but() if type(peer) is Tachyon]
    if not tachyons:
        bench.note("captures: no Python 3.15, so nothing to compare with")
        return
    for case in CASES:
        measure_case(bench, tachyons[0].python, *case)


def measure_case(bench, python, what, workload, arguments, rate, seconds):
    seconds = bench.seconds(seconds)
    found = {name: [] for name, _, _ in WRITERS}
    with Target(python, workload, bench.rounds * 2 * (seconds + 20) + 60, arguments) as target:
        for _ in range(bench.rounds):
            for name, command, pattern in WRITERS:
                found[name] += one(bench, command(bench, python, target.pid, rate, seconds, "x.pyro"), pattern, what, name)
    rows = [[python.version, name, summary(found[name])] for name in found]
    mine = found.pop("pyrometer")
    half = stats.median(found[Tachyon.name]) / 2 if found[Tachyon.name] else None
    bench.compare("capture", what, "", mine, found, Goal("<= half of Tachyon's", at_most=half))
    print("\n" + what)
    print(columns(["target", "profiler", "bytes a sample"], rows), flush=True)


def one(bench, command, pattern, what, name):
    """A list with the bytes a sample, or nothing."""
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        outcome = run([str(word) for word in command], 120, cwd=folder)
        path = os.path.join(folder, "x.pyro")
        samples = outcome.find(pattern)
        if outcome.code or not samples or not os.path.exists(path):
            bench.note("%s: %s" % (name, outcome.text.strip().splitlines()[-1:]))
            return []
        bytes_ = os.path.getsize(path)
    bench.raw("capture", {"tool": name, "what": what, "samples": samples, "bytes": bytes_})
    return [bytes_ / samples]
