"""How long does the kernel engine's BPF program run for a sample? That time is the target's, not the profiler's.

The kernel counts it while kernel.bpf_stats_enabled is on: for this section alone, because counting costs time too. Two readings
of the counters are subtracted, taken while the profiler samples. The program also runs, for a moment, where the target is not: a
perf event on each processor calls it. All of that counts for the samples, of which there are as many as the rate says, because the
target is never off its processor.
"""

import contextlib
import glob
import re
import time

from processes import Target, finish, launch
from table import Goal, columns, summary

TITLE = "BPF: run time of the program that copies stacks, for each sample"

SWITCH = "/proc/sys/kernel/bpf_stats_enabled"
PERF_EVENT = 7  # BPF_PROG_TYPE_PERF_EVENT: the other programs follow threads, and run when these switch
RATES = (1000, 10000)
# Depth of the target's stack: most, in seconds.
MOST = {5: 2e-6, 50: 3e-6, 500: 10e-6}
SETTLE_S = 0.7


def measure(bench):
    kernels = [engine for engine in bench.engines if engine.engine == "kernel"]
    if not kernels or kernels[0].missing:
        print("\n".join("%s  not here: %s" % (kernel, kernel.missing) for kernel in kernels))
        return
    rows = []
    with counted():
        for depth, most in MOST.items():
            for rate in RATES:
                rows.append(measure_case(bench, kernels[0], depth, rate, most))
    print(columns(["target", "depth", "rate", "run time", "runs a second", "all programs, of one processor"], rows), flush=True)


@contextlib.contextmanager
def counted():
    """The kernel counts what BPF programs do, as long as this lasts."""
    with open(SWITCH, encoding="ascii") as file:
        before = file.read()
    try:
        with open(SWITCH, "w", encoding="ascii") as file:
            file.write("1")
        yield
    finally:
        with open(SWITCH, "w", encoding="ascii") as file:
            file.write(before)


def counted_while(command, seconds):
    """Returns the gains of counters() while the command sampled, and for how many seconds that was."""
    process = launch(command)
    try:
        time.sleep(SETTLE_S)
        began, before = time.monotonic(), counters(process.pid)
        time.sleep(seconds)
        after, wall = counters(process.pid), time.monotonic() - began
    finally:
        finish(process)
    return (*(b - a for a, b in zip(before, after)), wall)


def measure_case(bench, kernel, depth, rate, most):
    python = bench.pythons[-1]
    seconds = bench.seconds(3)
    each, runs, shares = [], [], []
    with Target(python, "deep.py", bench.rounds * (seconds + 20) + 60, [depth]) as target:
        for _ in range(bench.rounds):
            copying_s, everything_s, count, wall = counted_while(kernel.sampling_command(target.pid, rate, int(seconds + 4)), seconds)
            if not count:
                bench.note("BPF at depth %d: the program did not run" % depth)
                continue
            # Fewer runs than that: the kernel has left samples out.
            each.append(copying_s / min(count, rate * wall))
            runs.append(count / wall)
            shares.append(everything_s / wall)
            bench.raw("bpf", {"python": python.version, "depth": depth, "rate": rate, "seconds_each": each[-1],
                              "runs_per_s": runs[-1], "share": shares[-1]})
    bench.compare("bpf", "depth %d, %d kHz, Python 3.%d" % (depth, rate // 1000, python.minor), "s", each, {},
                  Goal("<= %g us" % (1e6 * most), at_most=most))
    return [python.version, depth, "%d kHz" % (rate // 1000), summary(each, "s"), summary(runs, "Hz"), summary(shares, "%")]


def counters(pid):
    """(seconds of the programs on perf events, seconds of all, runs of those on perf events) that a process has loaded."""
    copying_s = everything_s = runs = 0
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
            facts = dict(re.findall(r"^(\w+):\s*(\d+)", file.read(), re.M))
            seconds = int(facts.get("run_time_ns", 0)) / 1e9
            everything_s += seconds
            if int(facts.get("prog_type", -1)) == PERF_EVENT:
                copying_s += seconds
                runs += int(facts.get("run_cnt", 0))
    return copying_s, everything_s, runs
