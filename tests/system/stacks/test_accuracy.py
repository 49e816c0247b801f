"""How far the profile of a moving program is from that of the same program stopped for each sample.

Each program below is recorded twice on each kind of interpreter: by default, which stops running threads for a part of the samples,
and with --stop always. Three numbers of a cell: distance (total variation of the innermost functions of both, in points),
truncated and failed (percent of the samples). LIMITS says how much of each may be, besides what chance makes of the
distance. What fails is measured a second time, for longer, before it counts. A stopped program cannot move: MIN_EXACT percent
of its samples must be exact.

Usage: tests/system accuracy [PROGRAM...]
Exit code: 0 all cells are right, 1 some are not, 77 there is no interpreter to sample.
"""

import argparse
import collections
import json
import math
import os
import sys

import harness
from folded import read_folded
from harness import file_in, pythons, run_program, victim

RATE_HZ = 1000
SECONDS = 1
# Points, percent, percent. On a busy machine stops take long, so moving threads are read too; many of those are truncated.
LIMITS = {"distance": 6.0, "truncated": 25.0, "failed": 1.0}
# The least share of a recording's samples read at different instants: one stopped reading stands for several ticks.
READINGS_SHARE = 0.1
# The least exact samples of a stopped program, in percent. The main thread is read once before it is known, so without a stop.
MIN_EXACT = 99.5
# Below this many samples nothing has been measured.
MIN_SAMPLES = 100

CALLS = """
def short():
    for _ in range(5):
        pass
def middle():
    short()
    for _ in range(10):
        pass
def long():
    for _ in range(40):
        pass
def use():
    while True:
        middle()
        long()
print("READY", flush=True)
use()
"""
GENERATORS = """
def work():
    for _ in range(50):
        pass
def g1(n):
    for i in range(n):
        work()
        yield i
def g2(source):
    for i in source:
        work()
        yield i * 2
def g3(source):
    for i in source:
        work()
        yield i + 1
def use():
    total = 0
    for i in g3(g2(g1(100000))):
        total += i
print("READY", flush=True)
while True:
    use()
"""
SCRIPTS = {"calls": CALLS, "pipeline": GENERATORS}
# Up to here frames are alike: the scripts are recorded on all of these versions, the other programs on the last.
LAST_HEAP_MINOR = 10
PROGRAMS = ["calls", "pipeline", "callbacks.py", "exceptions.py", "generators.py"]

class Cell:
    """Both recordings of one program on one interpreter."""

    def __init__(self, free, stopped, quality, stopped_quality):
        self.samples = sum(free.values()), sum(stopped.values())
        total = max(quality["samples"], 1)
        self.numbers = {"distance": 100 * distance(free, stopped), "truncated": 100 * quality["truncated"] / total,
                        "failed": 100 * sum(quality["failed"].values()) / total}
        self.exact = 100 * (stopped_quality["exact"] + 1) / max(stopped_quality["samples"], 1)
        self.chance = 100 * chance(stopped, READINGS_SHARE * self.samples[0], self.samples[1])
        self.worst = worst(free, stopped)

    def problems(self):
        if min(self.samples) < MIN_SAMPLES:
            return ["only %d and %d samples" % self.samples]
        if self.exact < MIN_EXACT:
            return ["only %.2f %% of the samples of the stopped program are exact" % self.exact]
        limits = dict(LIMITS, distance=LIMITS["distance"] + 2 * self.chance)
        return ["%s is %.1f, the limit is %.1f (%s)" % (name, self.numbers[name], limits[name], self.worst)
                for name in LIMITS if self.numbers[name] > limits[name]]


def distance(one, other):
    """Half the sum of what the shares differ by."""
    totals = [max(sum(counts.values()), 1) for counts in (one, other)]
    return sum(abs(one[name] / totals[0] - other[name] / totals[1]) for name in set(one) | set(other)) / 2


def chance(counts, *samples):
    """The distance to expect of two recordings of the same shares."""
    total = max(sum(counts.values()), 1)
    spread = sum(1 / max(many, 1) for many in samples)
    return sum(math.sqrt(count / total * (1 - count / total) * spread / (2 * math.pi)) for count in counts.values())


def worst(free, stopped):
    shares = {name: (100 * free[name] / max(sum(free.values()), 1), 100 * stopped[name] / max(sum(stopped.values()), 1))
              for name in set(free) | set(stopped)}
    name = max(shares, key=lambda key: abs(shares[key][0] - shares[key][1]), default="nothing")
    return "%s has %.1f instead of %.1f %%" % ((name,) + shares.get(name, (0, 0)))


def leaves(path):
    """Samples by innermost function. Truncated ones are without it."""
    counts = collections.Counter()
    for stack in read_folded(path):
        if stack.frames and not stack.is_truncated:
            counts[stack.names[-1]] += stack.count
    return counts


def record(target, name, seconds, *options):
    path, quality = file_in(name + ".folded"), file_in(name + ".json")
    process, code = run_program("record", str(target.pid), "-o", path, "--idle", "--waits=off", "--collapsed", "--quality", quality, "-r", str(RATE_HZ),
                                "-d", str(seconds), *options, seconds=seconds + harness.WAIT_SECONDS)
    if code != 0:
        raise AssertionError(process.output())
    with open(quality, encoding="utf-8") as file:
        return leaves(path), json.load(file)


def path_of(name):
    if name not in SCRIPTS:
        return name
    path = os.path.join(harness.FOLDER, "accuracy-%s.py" % name)
    if not os.path.exists(path):
        os.makedirs(harness.FOLDER, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(SCRIPTS[name])
    return path


def measure(name, python, seconds):
    arguments = [] if name in SCRIPTS else [str(harness.VICTIM_SECONDS)]
    with victim(path_of(name), *arguments, python=python.path) as target:
        files = "accuracy-%s-%s" % (name, python.version)
        free, quality = record(target, files, seconds)
        stopped, stopped_quality = record(target, files + "-stopped", seconds, "--blocking")
        return Cell(free, stopped, quality, stopped_quality)


def judge(name, python):
    """The cell, and what is wrong with it."""
    try:
        cell = measure(name, python, SECONDS)
        if cell.problems():
            cell = measure(name, python, 6 * SECONDS)
        return cell, cell.problems()
    except AssertionError as error:
        return None, [str(error)]


def print_matrix(found, names, cells):
    print("%-15s" % "" + "".join("%-18s" % python.version for python in found))
    for name in names:
        row = [cells.get((name, python), [None])[0] for python in found]
        print("%-15s" % name + "".join("%-18s" % ("%(distance).1f/%(truncated).1f/%(failed).2f" % cell.numbers if cell else "-")
                                       for cell in row))


def interpreters():
    """The newest of each supported minor version, without builds that are for debugging or have no lock."""
    return list({python.minor: python for python in pythons() if python.is_supported and not python.kind[1]}.values())


def main():
    parser = argparse.ArgumentParser(description="profiles of moving programs against those of stopped ones")
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    options = parser.parse_args()
    found = interpreters()
    if not found:
        print("skipped: no interpreter of a supported version is on this machine")
        return harness.SKIPPED
    harness.check_surroundings()
    alike = [python for python in found if python.minor <= LAST_HEAP_MINOR][:-1]
    cells = {(name, python): judge(name, python) for name in options.programs for python in found if name in SCRIPTS or python not in alike}
    print("distance in points/truncated/failed in percent, at %d Hz for %g s" % (RATE_HZ, SECONDS))
    print_matrix(found, options.programs, cells)
    failures = [(key, problem) for key, (_, problems) in cells.items() for problem in problems]
    for (name, python), problem in failures:
        print("FAIL %s on %s: %s" % (name, python.version, problem))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
