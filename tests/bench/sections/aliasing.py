"""A program with a rhythm, sampled in the same rhythm: is a 30 % part seen as 30 %?"""

import math

from processes import Target
from profilers import Refusal, StoppingTachyon
from table import Goal, columns, number, summary

TITLE = "Aliasing: a loop of 10 ms with a part of 30 %, sampled 100 times a second"

PERIOD_S, RATE, TRUTH = 0.01, 100, 0.3


def measure(bench):
    rows = []
    seconds = bench.seconds(10)
    # The largest deviation that chance alone makes of that many samples.
    three_sigma = 3 * math.sqrt(TRUTH * (1 - TRUTH) / (RATE * seconds))
    for python, tools in bench.targets_for(bench.peers_but(StoppingTachyon)):
        errors = {tool.name: [] for tool in tools}
        shares = {tool.name: [] for tool in tools}
        with Target(python, "periodic.py", bench.rounds * len(tools) * (seconds + 20) + 60, [PERIOD_S]) as target:
            for _ in range(bench.rounds):
                for tool in tools:
                    try:
                        recording = tool.record(target.pid, RATE, seconds)
                    except Refusal as refusal:
                        bench.note(str(refusal))
                        continue
                    counts = recording.profile.by_leaf()
                    share = counts.get("hot", 0) / max(1, sum(counts.values()))
                    shares[tool.name].append(share)
                    errors[tool.name].append(abs(share - TRUTH))
                    bench.raw("aliasing", {"tool": str(tool), "python": python.version, "share": share,
                                           "samples": recording.samples})
        for tool in tools:
            rows.append([python.version, str(tool)] + tool.cells(summary(shares[tool.name], "%")))
        goal = Goal("<= 3 sigma = %s" % number(three_sigma, "%"), at_most=three_sigma)
        bench.compare_engines("aliasing", "error of a 30 %% share, Python 3.%d" % python.minor, "%", errors,
                              {engine.name: goal for engine in bench.engines})
    print(columns(["target", "profiler", "share of the 30 % part"], rows), flush=True)
