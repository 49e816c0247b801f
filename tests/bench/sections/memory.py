"""How much memory does each profiler take, at its start and once it has seen a large program?"""

from processes import Target
from profilers import Refusal, StoppingTachyon
from table import Goal, columns, summary

TITLE = "Memory: the most that was in memory"

FILES, FUNCTIONS = 200, 25
MEGABYTE = 1 << 20
# (what, workload, arguments, rate, seconds, most)
CASES = [
    ("at start", "deep.py", [5], 1000, 2, 8 * MEGABYTE),
    ("after %d functions" % (FILES * FUNCTIONS), "functions.py", [FILES, FUNCTIONS], 5000, 10, 16 * MEGABYTE),
]


def measure(bench):
    for case in CASES:
        measure_case(bench, *case)


def measure_case(bench, what, workload, arguments, rate, seconds, most):
    rows = []
    seconds = bench.seconds(seconds)
    for python, tools in bench.targets_for(bench.peers_but(StoppingTachyon)):
        found = {tool.name: [] for tool in tools}
        with Target(python, workload, bench.rounds * len(tools) * (seconds * 2 + 20) + 60, arguments) as target:
            for _ in range(bench.rounds):
                for tool in tools:
                    try:
                        recording = tool.record(target.pid, min(rate, tool.most_rate), seconds, keep=False)
                    except Refusal as refusal:
                        bench.note(str(refusal))
                        continue
                    found[tool.name].append(recording.outcome.peak_bytes)
                    bench.raw("memory", {"tool": str(tool), "python": python.version, "what": what,
                                         "samples": recording.samples, "peak_bytes": recording.outcome.peak_bytes})
        for tool in tools:
            rows.append([python.version, str(tool)] + tool.cells(summary(found[tool.name], "B")))
        goal = Goal("<= %d MiB" % (most // MEGABYTE), at_most=most)
        bench.compare_engines("memory", "%s, Python 3.%d" % (what, python.minor), "B", found,
                              {engine.name: goal for engine in bench.engines})
    print("\n" + what)
    print(columns(["target", "profiler", "peak"], rows), flush=True)
