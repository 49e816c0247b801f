"""Programs that nobody tuned to: benchmarks of pyperformance, repeated for ever. Part of the section truth.

On one running target, round by round: our sampler that always stops the thread, on the thread's own processor (the reference),
then each way of ours not to stop it always, then profilers that stop it themselves, then the reference again. Compared are the
shares of innermost functions.
"""

import os
import time

import folded
import stats
from processes import Target
from profilers import FirstPyrometer, Pyrometer, Refusal, fetched, may_be_first
from table import Goal, columns, number, points

# (most numbers of a range or 0, arguments of the program): where a call takes a second, phases do not even out in a recording.
ARGUMENTS = {
    "raytrace": (0, "--width", "25", "--height", "25"),
    "richards": (0,),
    "deltablue": (0,),
    "go": (0,),
    "generators": (10000,),
}
NAMES = list(ARGUMENTS)
RATE = 1000

# While the target waits for a processor all samples of it are one; with more of that a recording is made again.
MOST_WAITED, TRIES = 0.03, 3

GOALS = {
    "over": Goal("<= 3 points", at_most=0.03),
    "farthest_over": Goal("<= 2 points", at_most=0.02),
    "lost": Goal("<= 0.5 %", at_most=0.005),
}


def undisturbed(tool, target, rate, seconds):
    """A recording during which other work did not take the processor from the target; the best of some tries."""
    best = None
    for _ in range(TRIES):
        waited, blocked, faults, began = target.waited_s(), target.blocked(), target.faults(), time.monotonic()
        recording = tool.record(target.pid, rate, seconds)
        recording.waited = (target.waited_s() - waited) / (time.monotonic() - began)
        recording.faults = (target.faults() - faults) / (time.monotonic() - began)
        recording.readings = readings_of(recording, target.blocked() - blocked)
        if best is None or recording.waited < best.waited:
            best = recording
        # One that was stopped waits each time it goes on.
        if best.waited <= MOST_WAITED or tool.stops_target:
            break
    return best


def readings_of(recording, stops):
    """How many times a stack was read for the samples, of a target that does not wait by itself, only when it is stopped.

    To stop a thread seldom, a reading of a stopped one stands for several samples: these are no more than one for chance.
    """
    stopped = recording.quality.get("stopped", 0)
    return recording.profile.samples - max(0, stopped - stops)


def independent(readings, samples, run_length, single):
    """The number of readings of equal weight that these samples are worth, as far as chance goes.

    run_length is the mean length of the run at one place that a sample is in, single the same where each reading is one sample.
    A reading that stands for many samples is worth as little as one that stands for few.
    """
    return min(readings, samples * single / run_length) if run_length and single else readings


def program_of(name):
    """Arguments of loop.py: the file of the benchmark, and what it gets. None if get-peers could not bring it."""
    folder = fetched()[0].get("pyperformance")
    return folder and (os.path.join(folder, "bm_" + name, "run_benchmark.py"),) + ARGUMENTS[name]


def reference_of(bench):
    return FirstPyrometer(bench.program) if may_be_first() else Pyrometer(bench.program, "remote", "always")


def ways_of(bench):
    """The judged ways: the remote engine that stops threads by itself and the one that never does, and the kernel engine."""
    ways = []
    for engine in bench.engines:
        stops = ("auto", "never") if engine.engine == "remote" else (None,)
        ways += [Pyrometer(bench.program, engine.engine, stop) for stop in stops]
    return ways


def peers_of(bench, python):
    """The profilers that stop the target, which are references too, ours that shares no reading of stacks among them."""
    return [peer for peer in [bench.reference] + bench.peers
            if peer.stops_target and peer.oldest_minor <= python.minor <= peer.newest_minor]


class Cell:
    """All rounds of one profiler."""

    def __init__(self):
        self.profile = folded.Profile()
        self.readings = 0
        self.waited, self.faults, self.failed, self.stopped, self.run_lengths = [], [], [], [], []
        self.refusal = None

    def add(self, recording):
        quality = recording.quality
        self.profile.merge(recording.profile)
        self.readings += recording.readings
        self.waited.append(recording.waited)
        self.faults.append(recording.faults)
        failed = sum(quality["failed"].values()) if quality else 0
        share = failed / max(1, failed + quality["samples"]) if quality else recording.dropped
        self.failed.append(share or 0)
        if quality.get("run_length"):
            self.run_lengths.append(quality["run_length"])
        if quality:
            self.stopped.append(quality["stopped_s"] / quality["duration_s"])


def measure_cell(bench, python, name):
    program = program_of(name)
    if not program:
        bench.note("%s: pyperformance is missing (tests/bench/get-peers)" % name)
        return
    reference, ways, peers = reference_of(bench), ways_of(bench), peers_of(bench, python)
    cells = {tool.name: Cell() for tool in [reference] + ways + peers}
    halves = [folded.Profile(), folded.Profile()]
    seconds = bench.seconds(5)
    order = [reference] + ways + peers + [reference]
    with Target(python, "loop.py", bench.rounds * len(order) * TRIES * (seconds + 10) + 60, program) as target:
        for _ in range(bench.rounds):
            for at, tool in enumerate(order):
                record(bench, tool, target, seconds, cells[tool.name], halves[at > 0] if tool is reference else None)
    report(bench, python, name, reference, ways, peers, cells, halves)


def record(bench, tool, target, seconds, cell, half):
    rate = min(bench.rate or RATE, tool.most_rate)
    try:
        recording = undisturbed(tool, target, rate, seconds)
    except Refusal as refusal:
        cell.refusal = str(refusal)
        return
    cell.add(recording)
    if half:
        half.merge(recording.profile)


def report(bench, python, name, reference, ways, peers, cells, halves):
    truth = cells[reference.name].profile.by_leaf()
    found = {}
    for tool in [reference] + ways + peers:
        cell = cells[tool.name]
        if cell.run_lengths and cells[reference.name].run_lengths:
            single = stats.median(cells[reference.name].run_lengths)
            cell.readings = independent(cell.readings, cell.profile.samples, stats.median(cell.run_lengths), single)
        values = {"tool": str(tool), "python": python.version, "workload": name, "refusal": tool.missing or cell.refusal}
        if cell.profile.samples and truth:
            values.update(judged(cell))
            if tool is not reference:
                values.update(compared(cell.profile.by_leaf(), truth, cell.readings))
            elif all(half.samples for half in halves):
                # The drift of the program and the machine: the reference after all others against that before them.
                values.update(compared(halves[1].by_leaf(), halves[0].by_leaf()))
        found[tool.name] = values
        bench.raw("truth", values)
    print("\n%s, %s repeated" % (python, name))
    print(columns(HEADER, [row_of(values) for values in found.values()]), flush=True)
    conclude(bench, python, name, ways, found)


def judged(cell):
    truncated, failed = cell.profile.truncated / cell.profile.samples, stats.median(cell.failed)
    return {
        "samples": cell.profile.samples,
        "readings": cell.readings,
        "waited": max(cell.waited),
        "faults": stats.median(cell.faults),
        "truncated": truncated,
        "failed": failed,
        "lost": truncated + failed,
        "stopped": stats.median(cell.stopped) if cell.stopped else None,
    }


def compared(counts, truth, readings=None):
    distance, (floor, farthest_floor) = stats.total_variation(counts, truth), stats.chance(counts, truth, readings)
    key, difference = stats.farthest(counts, truth)
    return {"distance": distance, "chance": floor, "over": distance - floor, "farthest": abs(difference),
            "farthest_chance": farthest_floor, "farthest_over": abs(difference) - farthest_floor,
            "farthest_function": "%s %s for %s" % (key, number(counts.get(key, 0) / sum(counts.values()), "%"),
                                                   number(truth.get(key, 0) / sum(truth.values()), "%"))}


HEADER = ["profiler", "samples", "readings", "waited", "faults/s", "distance", "chance", "over chance", "farthest", "over chance", "truncated", "failed", "stopped",
          "farthest function (seen for true)"]


def row_of(values):
    if "samples" not in values:
        return [values["tool"], "not here: " + str(values["refusal"])]
    distances = [points(values.get(key)) for key in ("distance", "chance", "over", "farthest", "farthest_over")]
    return ([values["tool"], number(values["samples"]), number(values["readings"]), number(values["waited"], "%"),
             number(values["faults"])] + distances +
            [number(values[key], "%") for key in ("truncated", "failed", "stopped")] +
            [values.get("farthest_function", "")])


def conclude(bench, python, name, ways, found):
    for way in ways:
        # A moving stack that nobody stops is measured, and nothing is promised of it.
        for key, goal in GOALS.items() if way.stop != "never" else ():
            values = [found[way.name][key]] if key in found[way.name] else []
            bench.compare("truth", "%s %s: %s, %s" % (python.version, name, key, way.name), "%",
                          "not here" if way.missing else values, {}, goal)
