"""Shares of the running time of a program that others take the processor from: are they still right? truth --busy.

On one running target, round by round: the sampler that always stops the thread while the machine is quiet, then each engine of ours
beside a busy loop for each processor, then the former again. Compared are the shares of innermost functions in the samples that
ran. How often the program says that it was without a processor is held against what the kernel says.
"""

import os
import subprocess
import time

import folded
import stats
from processes import Crowd, Target
from profilers import CAPTURE, Refusal
from sections.loops import RATE, program_of, reference_of, ways_of
from table import Goal, columns, number, points

GOALS = {"over": Goal("<= 3 points", at_most=0.03), "lost": Goal("<= 0.5 %", at_most=0.005),
         "queued_off": Goal("<= 5 points", at_most=0.05)}
RUNNING = "running"


def running(tool):
    """A copy of the tool whose profiles have only the samples that ran; recording.queued is the share without a processor, of all
    samples."""

    class Running(type(tool)):
        def __init__(self):
            self.__dict__.update(tool.__dict__)
            self.writes_capture = True

        def quality(self, path):
            subprocess.run([self.program, "replay", path + CAPTURE, "--parts", RUNNING, "--waits=off", "--collapsed=" + path + ".running"], check=True,
                           stderr=subprocess.DEVNULL)
            self.ran = folded.read_collapsed(path + ".running")
            os.unlink(path + ".running")
            return super().quality(path)

        def tell(self, recording):
            super().tell(recording)
            recording.profile = self.ran
            recording.queued = recording.quality["states"]["runnable"]["at_least"]

    return Running()


class Cell:
    """All rounds of one way."""

    def __init__(self):
        self.profile = folded.Profile()
        self.queued, self.waited, self.refusal = [], [], None

    def add(self, recording, waited):
        self.profile.merge(recording.profile)
        self.queued.append(recording.queued)
        self.waited.append(waited)


def record(tool, target, rate, seconds, cell):
    waited, began = target.waited_s(), time.monotonic()
    try:
        recording = tool.record(target.pid, rate, seconds)
    except Refusal as refusal:
        cell.refusal = str(refusal)
        return
    cell.add(recording, (target.waited_s() - waited) / (time.monotonic() - began))


def measure_cell(bench, python, name):
    program = program_of(name)
    if not program:
        bench.note("%s: pyperformance is missing (tests/bench/get-peers)" % name)
        return
    reference, ways = running(reference_of(bench)), [running(way) for way in ways_of(bench) if way.stop != "never"]
    cells = {tool.name: Cell() for tool in [reference] + ways}
    halves = [Cell(), Cell()]
    seconds, rate = bench.seconds(5), bench.rate or RATE
    with Target(python, "loop.py", bench.rounds * (len(ways) + 1) * (3 * seconds + 10) + 60, program) as target:
        for _ in range(bench.rounds):
            record(reference, target, rate, seconds, halves[0])
            with Crowd(target):
                for way in ways:
                    # It runs for a half or a third of the time.
                    record(way, target, rate, 3 * seconds, cells[way.name])
            record(reference, target, rate, seconds, halves[1])
    report(bench, python, name, reference, ways, cells, halves)


def report(bench, python, name, reference, ways, cells, halves):
    quiet = folded.Profile()
    for half in halves:
        quiet.merge(half.profile)
    rows = [row_of(bench, python, name, reference, halves[1], halves[0].profile, False)]
    for way in ways:
        rows.append(row_of(bench, python, name, way, cells[way.name], quiet))
    print("\n%s, %s repeated beside busy loops" % (python, name))
    print(columns(HEADER, rows), flush=True)


HEADER = ["profiler", "running", "distance", "chance", "over chance", "truncated", "without a processor", "it says",
          "farthest function (seen for true)"]


def row_of(bench, python, name, tool, cell, truth, is_judged=True):
    if tool.missing or cell.refusal or not cell.profile.samples or not truth.samples:
        return [str(tool), "not here: " + str(tool.missing or cell.refusal or "no samples")]
    ours, true = cell.profile.by_leaf(), truth.by_leaf()
    distance, (floor, _) = stats.total_variation(ours, true), stats.chance(ours, true)
    key, difference = stats.farthest(ours, true)
    queued, waited = stats.median(cell.queued), stats.median(cell.waited)
    found = {"over": distance - floor, "lost": cell.profile.truncated / cell.profile.samples, "queued_off": abs(queued - waited)}
    bench.raw("truth", dict(found, tool=str(tool), python=python.version, workload=name, busy=True, distance=distance,
                            samples=cell.profile.samples))
    for what, goal in GOALS.items() if is_judged else ():
        bench.compare("truth", "%s %s, busy: %s, %s" % (python.version, name, what, tool.name), "%", [found[what]], {}, goal)
    return [str(tool), number(cell.profile.samples), points(distance), points(floor), points(distance - floor),
            number(found["lost"], "%"), number(waited, "%"), number(queued, "%"),
            "%s %s more" % (key, points(difference))]
