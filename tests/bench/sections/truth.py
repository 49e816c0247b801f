"""Are the stacks ones the program had, and as often as it had them?

On one running target, round by round: the stopped reference, then every profiler. Impossible stacks are known from the source
of the workload; how often each stack is right is known from the reference. Repeated benchmarks, whose source nobody wrote for
this, are the other half: see loops.
"""

import os

import folded
import oracle
import stats
from processes import WORKLOADS, Target
from profilers import Refusal
from sections import crowded, loops
from table import Goal, columns, number
from workloads.chain_source import chain_source, file_name

TITLE = "Truth: against a target that stands still"


class Workload:
    def __init__(self, name, script, arguments=(), generated=None, most=None):
        self.name, self.script, self.arguments = name, script, arguments
        self._generated, self._most = generated, most

    def oracle(self):
        return oracle.oracle_of(os.path.join(WORKLOADS, self.script), self._generated, self._most)


def alternating(depth, local_count=0, name=None):
    generated = {file_name(letter): chain_source(letter, depth, local_count) for letter in "ab"}
    return Workload(name or "alternating%d" % depth, "alternating.py", (depth, local_count), generated)


WORKLOADS_BY_NAME = {workload.name: workload for workload in [
    alternating(5),
    alternating(50),
    alternating(250),
    alternating(30, 40, "large_frames"),
    Workload("calls", "calls.py", most={"fib": 8, "climb": 31}),
    Workload("pipeline", "generators.py"),
]}

GOALS = {
    "dropped": Goal("<= 0.1 %", at_most=0.001),
    "impossible": Goal("<= 0.01 %", at_most=0.0001),
    "distance": Goal("<= 2 %", at_most=0.02),
}


class Cell:
    """All rounds of one profiler on one workload and version."""

    def __init__(self):
        self.profile = folded.Profile()
        self.dropped = []
        self.readings = 0
        self.rates = []
        self.waited = []
        self.refusal = None

    def add(self, recording):
        self.profile.merge(recording.profile)
        self.readings += recording.readings
        self.dropped.append(recording.dropped)
        self.rates.append(recording.rate)
        self.waited.append(recording.waited)


def measure(bench):
    names = bench.workloads(loops.NAMES if bench.options.busy else list(WORKLOADS_BY_NAME) + loops.NAMES)
    for python in bench.pythons:
        for name in names:
            if bench.options.busy:
                crowded.measure_cell(bench, python, name)
            elif name in loops.NAMES:
                loops.measure_cell(bench, python, name)
            elif python.minor >= bench.reference.oldest_minor:
                measure_cell(bench, python, WORKLOADS_BY_NAME[name])


def measure_cell(bench, python, workload):
    ways = loops.ways_of(bench)
    tools = [bench.reference] + ways + bench.peers
    cells = {tool.name: Cell() for tool in tools}
    references = []
    seconds = bench.seconds(3)
    # More than all recordings take, so that it ends by itself if we cannot end it.
    with Target(python, workload.script, bench.rounds * len(tools) * loops.TRIES * (2 * seconds + 10) + 60, workload.arguments) as target:
        for _ in range(bench.rounds):
            for tool in tools:
                cell = cells[tool.name]
                if cell.refusal:
                    continue
                try:
                    # Stopping takes time: the reference needs longer for as many samples.
                    length = 2 * seconds if tool is bench.reference else seconds
                    recording = loops.undisturbed(tool, target, min(bench.rate or 10000, tool.most_rate), length)
                except Refusal as refusal:
                    cell.refusal = str(refusal)
                    continue
                cell.add(recording)
                if tool is bench.reference:
                    references.append(recording.profile)
    report(bench, python, workload, tools, ways, cells, references)


def report(bench, python, workload, tools, ways, cells, references):
    truth = cells[bench.reference.name].profile
    judge = workload.oracle().judge
    found = {}
    for tool in tools:
        cell = cells[tool.name]
        values = {"tool": str(tool), "python": python.version, "workload": workload.name, "refusal": tool.missing or cell.refusal}
        if not cell.refusal:
            values.update(judged(cell, judge))
            values.update(drift(references) if tool is bench.reference else compared(cell, truth))
        elif not tool.missing:
            bench.note("Python %s: %s" % (python.version, cell.refusal))
        found[tool.name] = values
        bench.raw("truth", values)
    print("\n%s, %s" % (python, workload.name))
    print(columns(HEADER, [row_of(values) for values in found.values()]))
    for way in ways:
        if not cells[way.name].refusal:
            print_difference(way.name, truth, cells[way.name].profile)
            print_examples(found[way.name])
    print(flush=True)
    conclude(bench, python, workload, ways, found)


def conclude(bench, python, workload, ways, found):
    for key, goal in GOALS.items():
        shares = {name: [values[key]] for name, values in found.items()
                  if values.get(key) is not None and name != bench.reference.name}
        # How far a moving stack that nobody stops is from the truth is measured, and not promised.
        goals = {way.name: goal for way in ways if key != "distance" or way.stop != "never"}
        bench.compare_engines("truth", "%s %s: %s" % (python.version, workload.name, key), "%", shares, goals, engines=ways)


def judged(cell, judge):
    """Shares of all samples; a truncated stack is judged by what is left of it."""
    counts = {"legal": 0, "impossible": 0, "orphan": 0}
    examples = {}
    for stack, count in cell.profile.stacks.items():
        whole = tuple(frame for frame in stack if frame[1] != folded.TRUNCATED)
        verdict = judge(whole)
        counts[verdict] += count
        if verdict != "legal":
            examples[short(stack)] = count
    samples = max(1, cell.profile.samples)
    dropped = [share for share in cell.dropped if share is not None]
    return {
        "samples": cell.profile.samples,
        "waited": max(cell.waited),
        "rate": stats.median(cell.rates),
        "dropped": stats.median(dropped) if dropped else None,
        "truncated": cell.profile.truncated / samples,
        "idle": cell.profile.idle / samples,
        # An orphan is impossible too.
        "impossible": (counts["impossible"] + counts["orphan"]) / samples,
        "orphan": counts["orphan"] / samples,
        "examples": dict(sorted(examples.items(), key=lambda item: -item[1])[:5]),
    }


def compared(cell, truth):
    """Distances to the reference less what chance alone makes of them."""
    result = {}
    for name, project in (("distance", folded.Profile.by_function), ("leaf_distance", folded.Profile.by_leaf),
                          ("line_distance", folded.Profile.by_leaf_line)):
        ours, reference = project(cell.profile), project(truth)
        floor = stats.expected_floor(reference, cell.readings)
        result[name + "_floor"] = floor
        result[name] = stats.total_variation(ours, reference) - floor
    return result


def drift(references):
    """How far the rounds of the reference lie apart, less chance: what the program itself or the machine changed."""
    result = {}
    found, floors = [], []
    for at, profile in enumerate(references):
        others = folded.Profile()
        for other in references[:at] + references[at + 1:]:
            others.merge(other)
        if others.samples:
            found.append(stats.total_variation(profile.by_function(), others.by_function()))
            floors.append(stats.expected_floor(others.by_function(), profile.samples))
    if found:
        result["distance"] = stats.median(found) - stats.median(floors)
        result["distance_floor"] = stats.median(floors)
    return result


HEADER = ["profiler", "samples", "rate", "waited", "dropped", "truncated", "impossible", "orphans", "distance", "leaf", "leaf line",
          "floor"]


def row_of(values):
    if values["refusal"]:
        return [values["tool"], "not here: " + values["refusal"]]
    cells = [values["tool"], number(values["samples"]), number(values["rate"], "Hz")]
    for key in ("waited", "dropped", "truncated", "impossible", "orphan", "distance", "leaf_distance", "line_distance",
                "distance_floor"):
        cells.append(number(values.get(key), "%"))
    return cells


def short(stack):
    return " ".join("%s:%d" % frame[1:] for frame in stack[-4:])


def print_difference(name, truth, ours):
    """Prints the innermost lines whose shares differ most."""
    true, seen = truth.by_leaf_line(), ours.by_leaf_line()
    true_total, seen_total = max(1, sum(true.values())), max(1, sum(seen.values()))
    differences = sorted(((seen.get(key, 0) / seen_total - true.get(key, 0) / true_total, key)
                          for key in set(true) | set(seen)), key=lambda item: -abs(item[0]))
    words = ["%s %s for %s" % (key, number(seen.get(key, 0) / seen_total, "%"), number(true.get(key, 0) / true_total, "%"))
             for _, key in differences[:5]]
    print("%s: farthest innermost lines (seen for true): %s" % (name, "; ".join(words)))


def print_examples(values):
    if values.get("examples"):
        print("impossible, innermost frames: " +
              "; ".join("%s (%d)" % item for item in list(values["examples"].items())[:3]))
