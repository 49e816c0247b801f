"""How much slower does the target run while it is sampled, and how much later does it wake up?

Without and with a profiler in turn (A B A B ... A): each B is compared with the As on both sides of it. Time that the target
stood ready without a processor, because of other work on the machine, is taken off. Of the kernel engine, what it takes
beside the interrupts is the slowdown less that of a perf event of the same rate at which nothing is done.
"""

import os
import time

import stats
from processes import BUILD, Lines, Target, finish, launch
from profilers import EmptyEvent, StoppingTachyon
from table import Goal, columns, number

TITLE = "Slowdown: what sampling costs the target"

SLICE_S = 0.1
SETTLE_S = 0.7  # for a profiler to start sampling, or to be gone

# (rate, depth of the target's stack, most)
CASES = [(1000, 50, 0.005), (10000, 50, 0.03), (1000, 500, 0.005), (10000, 500, 0.03)]
EMPTY = os.path.join(BUILD, "reference", "empty")
# The most that one sample may take at depth 50 beyond its interrupt.
MOST_OF_A_SAMPLE_S = 3e-6
TICKER_CASES = [(1000, 50), (10000, 50)]


def measure(bench):
    for rate, depth, at_most in CASES:
        measure_speed(bench, rate, depth, at_most)
    for rate, depth in TICKER_CASES:
        measure_lateness(bench, rate, depth)


def windows(tool, target, lines, rate, count, seconds):
    """count + 1 windows without the profiler and, in between, count with it: ([lines], [lines])."""
    without, within = [], []
    if tool.missing:
        return without, within
    for at in range(count + 1):
        lines.drain()
        without.append(lines.during(seconds))
        if at == count:
            break
        process = launch(tool.sampling_command(target.pid, rate, int(seconds + 4)))
        try:
            time.sleep(SETTLE_S)
            lines.drain()
            within.append(lines.during(seconds))
            if process.poll() is not None:
                within.pop()
                without.pop()
        finally:
            finish(process)
        time.sleep(SETTLE_S)
    return without, within


def speed(lines):
    """Iterations a second of processor, or of waiting for the profiler."""
    iterations = seconds = 0
    for line in lines:
        count, wall, waited = line.split()
        iterations += int(count)
        seconds += float(wall) - float(waited)
    return iterations / seconds if seconds else None


def slowdowns(without, within, measure_of):
    a, b = [measure_of(lines) for lines in without], [measure_of(lines) for lines in within]
    return [1 - b[at] / ((a[at] + a[at + 1]) / 2) for at in range(len(b)) if b[at] and a[at] and a[at + 1]]


def pairs(bench, tool):
    """The more the smaller the effect that must be distinguished from none."""
    if bench.options.quick:
        return 3
    return bench.rounds * (4 if tool in bench.engines else 2)


def measure_speed(bench, rate, depth, at_most):
    rows = []
    seconds = 1.0 if bench.options.quick else 1.5
    empty = EmptyEvent(EMPTY)
    for python, tools in bench.targets_for(bench.peers_but(StoppingTachyon)):
        if os.path.exists(EMPTY):
            tools = tools + [empty]
        found = {}
        lifetime = sum(pairs(bench, tool) + 1 for tool in tools) * (2 * seconds + 12) + 60
        with Target(python, "deep.py", lifetime, [depth, SLICE_S]) as target:
            lines = Lines(target)
            for tool in tools:
                found[tool.name] = slowdowns(*windows(tool, target, lines, rate, pairs(bench, tool), seconds), speed)
                bench.raw("slowdown", {"tool": str(tool), "python": python.version, "rate": rate, "depth": depth,
                                       "slowdowns": found[tool.name]})
        for tool in tools:
            mean, half = stats.mean_interval(found[tool.name]) if found[tool.name] else (float("nan"), 0)
            rows.append([python.version, str(tool)] +
                        tool.cells(number(mean, "%"), "+- " + number(half, "%"), len(found[tool.name])))
        compare_with_interrupts(bench, rate, depth, found, empty)
        goal = Goal("<= %g %%" % (100 * at_most), at_most=at_most)
        bench.compare_engines("slowdown", "%d kHz, depth %d, Python 3.%d" % (rate // 1000, depth, python.minor), "%", found,
                              {engine.name: goal for engine in bench.engines}, lambda ours: stats.mean_interval(ours)[0])
    print("\n%d kHz, depth %d" % (rate // 1000, depth))
    print(columns(["target", "profiler", "slowdown", "95 %", "pairs"], rows), flush=True)


def compare_with_interrupts(bench, rate, depth, found, empty):
    if not found.get(empty.name) or not found.get("kernel"):
        return
    ours, theirs = (stats.mean_interval(found[name])[0] for name in ("kernel", empty.name))
    goal = Goal("<= 3 us", at_most=MOST_OF_A_SAMPLE_S) if depth == 50 else None
    bench.compare("slowdown", "a sample beyond its interrupt, %d kHz, depth %d" % (rate // 1000, depth), "s",
                  [(ours - theirs) / rate], {}, goal)


def p99(lines):
    late = sorted(float(word) for line in lines for word in line.split())
    return late[int(len(late) * 0.99)] / 1e6 if late else None


def measure_lateness(bench, rate, depth):
    rows = []
    count, seconds = max(2, 2 * bench.rounds), 1.0
    for python, tools in bench.targets_for(bench.peers_but(StoppingTachyon)):
        found, alone = {}, {}
        lifetime = len(tools) * (count + 1) * (2 * seconds + 12) + 60
        with Target(python, "ticker.py", lifetime, [depth, SLICE_S]) as target:
            lines = Lines(target)
            for tool in tools:
                without, within = windows(tool, target, lines, rate, count, seconds)
                alone[tool.name] = [late for late in map(p99, without) if late is not None]
                found[tool.name] = [late for late in map(p99, within) if late is not None]
                bench.raw("slowdown", {"tool": str(tool), "python": python.version, "rate": rate, "ticker_p99_s":
                                       found[tool.name], "ticker_p99_alone_s": alone[tool.name]})
        for tool in tools:
            rows.append([python.version, str(tool)] +
                        tool.cells(*[number(stats.median(values), "s") if values else "-" for values in
                                     (alone[tool.name], found[tool.name])]))
        found["no profiler"] = [late for values in alone.values() for late in values]
        bench.compare_engines("slowdown", "p99 lateness of a 1 ms ticker, %d kHz, Python 3.%d" % (rate // 1000, python.minor), "s",
                              found)
    print("\n1 ms ticker, p99 lateness, %d kHz" % (rate // 1000))
    print(columns(["target", "profiler", "alone", "profiled"], rows), flush=True)
