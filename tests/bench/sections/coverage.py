"""Is the truth inside the 95 % interval as often as the interval says? Many short runs on loops that time themselves."""

import time

import stats
from processes import Lines, Target
from profilers import Refusal, StoppingTachyon, Tachyon
from table import Goal, columns, number

TITLE = "Coverage: shares of 1, 5, 30 and 70 % inside their 95 % interval (Wilson)"

RATE, RUN_S = 1000, 1
NAMES = ("one", "five", "thirty", "seventy")


def measure(bench):
    rows = []
    runs = bench.seconds(10) * 2 * bench.rounds
    python = bench.pythons[-1]
    tools = bench.engines + [peer for peer in bench.peers if isinstance(peer, Tachyon) and
                            not isinstance(peer, StoppingTachyon) and python.minor >= peer.oldest_minor]
    inside = {tool.name: {name: 0 for name in NAMES} for tool in tools}
    done = {tool.name: 0 for tool in tools}
    with Target(python, "shares.py", runs * len(tools) * 10 + 60) as target:
        lines = Spent(target)
        time.sleep(0.5)
        for _ in range(runs):
            for tool in tools:
                before = lines.latest()
                try:
                    profile = tool.record(target.pid, RATE, RUN_S).profile
                except Refusal as refusal:
                    bench.note(str(refusal))
                    continue
                truth = shares_between(before, lines.latest())
                if truth and profile.samples:
                    count_inside(bench, tool, profile, truth, inside[tool.name])
                    done[tool.name] += 1
    shares = {}
    for tool in tools:
        found = [inside[tool.name][name] / done[tool.name] for name in NAMES] if done[tool.name] else []
        shares[tool.name] = [sum(found) / len(found)] if found else []
        rows.append([str(tool)] + tool.cells(done[tool.name], *[number(share, "%") for share in found + shares[tool.name]]))
    print("Python " + python.version)
    print(columns(["profiler", "runs", "1 %", "5 %", "30 %", "70 %", "all"], rows), flush=True)
    goal = Goal(">= 93 %", at_least=0.93)
    bench.compare_engines("coverage", "inside the interval, %d runs, Python 3.%d" % (runs, python.minor), "%", shares,
                          {engine.name: goal for engine in bench.engines})


class Spent:
    """The time that the target says it spent, as of its last line."""

    def __init__(self, target):
        self._lines, self._last = Lines(target), None

    def latest(self):
        for line in self._lines.drain():
            self._last = [float(word) for word in line.split()]
        return self._last


def shares_between(before, after):
    """By the target's own clock; the lines are 20 ms apart, and its shares are steady."""
    if not before or before == after:
        return None
    spent = [b - a for a, b in zip(before, after)]
    return {name: value / spent[-1] for name, value in zip(NAMES, spent)}


def count_inside(bench, tool, profile, truth, inside):
    count = profile.samples
    seen = {name: 0 for name in NAMES}
    for stack, number_seen in profile.stacks.items():
        for name in set(frame[1] for frame in stack) & set(NAMES):
            seen[name] += number_seen
    for name in NAMES:
        low, high = stats.wilson(seen[name], count)
        inside[name] += low <= truth[name] <= high
    bench.raw("coverage", {"tool": str(tool), "samples": count, "seen": seen, "truth": truth})
