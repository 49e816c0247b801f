"""The cost of counting memory for the target and the profiler: page faults, what is returned, and copies after a fork.

A target maps, touches and unmaps memory, at a usual rate of page faults and at the highest. Without and with the profiler in turn, as
in the section `slowdown`. The time that BPF programs run, and how often those at page faults do, is what the kernel counts (`bpf`).
"""

import time

import stats
from processes import Lines, Target, cpu_s, finish, launch
from profilers import Pyrometer
from sections.bpf import counted, counted_while
from sections.slowdown import SETTLE_S, SLICE_S, slowdowns, speed, windows
from table import Goal, columns, number

TITLE = "Memory events: what counting page faults and returned memory costs"

# Pages and additions of a unit: some thousand faults a second, and nothing else.
LOADS = {"usual": (4, 20000), "full": (256, 0)}
EVENTS = ["page-faults", "page-faults,returned", "time", "time,page-faults,returned,copy-on-write"]
MOST = 0.01
PAIRS, QUICK_PAIRS = 8, 3
SECONDS = 1.5


class Events(Pyrometer):
    """The kernel engine with these events."""

    def __init__(self, program, events):
        super().__init__(program, "kernel")
        self.events = events
        self.name = "-e " + events

    def command(self, pid, rate, seconds, all_threads, path):
        return [self.program, "record", pid, "--engine", "kernel", "-e", self.events, "-r", "%d" % rate, "-d", "%g" % seconds,
                "--binary=" + path]


def measure(bench):
    kernels = [engine for engine in bench.engines if engine.engine == "kernel"]
    if not kernels or kernels[0].missing:
        print("\n".join("%s  not here: %s" % (kernel, kernel.missing) for kernel in kernels))
        return
    python = bench.pythons[-1]
    rows = []
    for load in LOADS:
        for events in EVENTS:
            rows.append(measure_case(bench, python, load, Events(kernels[0].program, events)))
    print(columns(["target", "faults", "faults a second", "events", "slowdown", "95 %", "profiler's CPU", "BPF, of one processor",
                   "runs a second"], rows), flush=True)


def measure_case(bench, python, load, tool):
    pairs = QUICK_PAIRS if bench.options.quick else PAIRS
    pages, loops = LOADS[load]
    with Target(python, "touches.py", pairs * (2 * SECONDS + 12) + 60, [pages, loops, SLICE_S]) as target:
        lines = Lines(target)
        before, began = faults_of(target.pid), time.monotonic()
        without, within = windows(tool, target, lines, 1000, pairs, SECONDS)
        faults = (faults_of(target.pid) - before) / (time.monotonic() - began)
        found = slowdowns(without, within, speed)
        process = launch(tool.sampling_command(target.pid, 1000, int(SECONDS + 4)))
        try:
            time.sleep(SETTLE_S)
            used = cpu_s(process.pid)
            time.sleep(SECONDS)
            used = (cpu_s(process.pid) - used) / SECONDS
        finally:
            finish(process)
        with counted():
            _, running_s, runs, wall = counted_while(tool.sampling_command(target.pid, 1000, int(SECONDS + 4)), SECONDS)
    mean, half = stats.mean_interval(found) if found else (float("nan"), 0)
    bench.raw("memory-events", {"python": python.version, "load": load, "faults_per_s": faults, "events": tool.events,
                                "slowdowns": found, "cpu": used, "bpf": running_s / wall, "runs_per_s": runs / wall})
    bench.compare("memory-events", "%s faults, %s" % (load, tool.events), "%", found, {},
                  Goal("<= %g %%" % (100 * MOST), at_most=MOST), mean)
    return [python.version, load, number(faults, "Hz"), tool.events, number(mean, "%"), "+- " + number(half, "%"), number(used, "%"),
            number(running_s / wall, "%"), number(runs / wall, "Hz")]


def faults_of(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[7])
