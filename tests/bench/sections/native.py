"""Native stacks: what they cost, how many are whole, and whether they are those of the stopped program.

Each way of ours and py-spy sample one loop through C code that calls Python back, at 1 kHz, with native stacks and without. CPU
is that while it samples, and memory the most that was in memory. The total variation is between whole stacks of our kernel
engine and those of our remote engine that stops the target for each sample; below it stands what chance makes of it.
py-spy names and hides other frames, so its stacks are not compared.
"""

import stats
from processes import Lines, Target, run
from profilers import Pyrometer, Pyspy, Refusal
from programs import build_own
from sections.bpf import counted, counted_while
from sections.slowdown import SLICE_S, pairs, slowdowns, speed, windows
from table import Goal, columns, number, summary

TITLE = "Native: what native stacks cost, and how right they are"

WORKLOAD = "native.py"
RATE = 1000
OUTCOMES = ("complete", "gaps", "mismatched", "none")
STOPS = 3000


class Native(Pyrometer):
    """One of our engines with native stacks; all frames are written."""

    def __init__(self, program, engine, stop=None):
        super().__init__(program, engine, stop)
        self.name += " --native=full"
        self.writes_capture = False

    def command(self, pid, rate, seconds, all_threads, path):
        return super().command(pid, rate, seconds, all_threads, path) + ["--native=full", "--native-frames", "everything"]


class NativePyspy(Pyspy):
    name = "py-spy --native"
    options = ["--native"]


def measure(bench):
    ours = [Native(bench.program, engine.engine) for engine in bench.engines]
    if any(engine.engine == "remote" for engine in bench.engines):
        ours.append(Native(bench.program, "remote", "always"))
    peers = [tool for peer in bench.peers if type(peer) is Pyspy for tool in (peer, NativePyspy(peer.program))]
    for python, tools in bench.targets_for(peers, bench.engines + ours):
        measure_target(bench, python, tools, ours)
    measure_bpf(bench, ours)


def measure_target(bench, python, tools, ours):
    seconds = 2 + bench.seconds(8)
    found = {tool.name: {"cpu": [], "rate": [], "memory": [], "placed": [], "no_table": [], **{name: [] for name in OUTCOMES}} for tool in tools}
    lifetime = bench.rounds * len(tools) * (seconds + 15) + 60
    with Target(python, WORKLOAD, lifetime) as target:
        for _ in range(bench.rounds):
            for tool in tools:
                try:
                    measure_costs(bench, python, tool, target, seconds, found[tool.name])
                except Refusal as refusal:
                    bench.note(str(refusal))
    slow = measure_slowdown(bench, python, tools)
    print(columns(["target", "profiler", "CPU", "samples/s", "memory", "slowdown", "95 %"] + ["native " + name for name in OUTCOMES],
                  [row(python, tool, found[tool.name], slow[tool.name]) for tool in tools]), flush=True)
    for tool in ours:
        compare(bench, python, tool, found, slow, {peer.name for peer in tools if isinstance(peer, Pyspy)})
    measure_unwinder(bench, python)
    measure_distance(bench, python, ours)


def measure_costs(bench, python, tool, target, seconds, found):
    recording = tool.record(target.pid, RATE, seconds, keep=False)
    share = recording.outcome.steady_share
    if share is None:
        raise Refusal("%s ended before %d s" % (tool, seconds))
    found["cpu"].append(share)
    found["rate"].append(recording.samples / recording.seconds)
    found["memory"].append(recording.outcome.peak_bytes)
    counts = {name: recording.quality.get("native_" + name, 0) for name in OUTCOMES}
    for name, count in counts.items():
        if sum(counts.values()):
            found[name].append(count / sum(counts.values()))
    if sum(counts.values()):
        found["no_table"].append(recording.quality.get("native_gaps_no_table", 0) / sum(counts.values()))
    if recording.quality.get("native_entries", 0):
        found["placed"].append(recording.quality["native_placed"] / recording.quality["native_entries"])
    bench.raw("native", {"tool": str(tool), "python": python.version, "cpu": share, "samples_per_s": found["rate"][-1],
                         "peak_bytes": found["memory"][-1], "native": counts,
                         "gaps": {key: count for key, count in recording.quality.items() if key.startswith("native_gaps_")}})


def measure_slowdown(bench, python, tools):
    found = {}
    seconds = 1.0 if bench.options.quick else 1.5
    lifetime = sum(pairs(bench, tool) + 1 for tool in tools) * (2 * seconds + 12) + 60
    with Target(python, WORKLOAD, lifetime, [SLICE_S]) as target:
        lines = Lines(target)
        for tool in tools:
            found[tool.name] = slowdowns(*windows(tool, target, lines, RATE, pairs(bench, tool), seconds), speed)
            bench.raw("native", {"tool": str(tool), "python": python.version, "slowdowns": found[tool.name]})
    return found


def row(python, tool, found, slow):
    mean, half = stats.mean_interval(slow) if slow else (float("nan"), 0)
    return [python.version, str(tool)] + tool.cells(
        summary(found["cpu"], "%"), summary(found["rate"]), summary(found["memory"], "B"), number(mean, "%"),
        "+- " + number(half, "%"), *[summary(found[name], "%") for name in OUTCOMES])


def compare(bench, python, tool, found, slow, names):
    if tool.missing:
        return
    def of(what):
        return {name: found[name][what] for name in names}
    where = ", %s, Python 3.%d" % (tool.name, python.minor)
    bench.compare("native", "CPU" + where, "%", found[tool.name]["cpu"], of("cpu"), Goal("<= 1.5 %", at_most=0.015))
    bench.compare("native", "samples/s" + where, "", found[tool.name]["rate"], of("rate"))
    bench.compare("native", "slowdown" + where, "%", slow[tool.name], {name: slow[name] for name in names},
                  value=stats.mean_interval(slow[tool.name])[0] if slow[tool.name] else None)
    bench.compare("native", "memory" + where, "B", found[tool.name]["memory"], of("memory"))
    # Only samples with a native stack count: the remote engine has none of running threads that it does not stop. Code without
    # unwinding tables does not count.
    whole = [c / (1 - n - t) for c, n, t in zip(*(found[tool.name][key] for key in ("complete", "none", "no_table"))) if n + t < 1]
    even = [1 - m / (1 - n) for m, n in zip(found[tool.name]["mismatched"], found[tool.name]["none"]) if n < 1]
    bench.compare("native", "complete" + where, "%", whole, {}, Goal(">= 99.9 %", at_least=0.999))
    bench.compare("native", "entries placed" + where, "%", found[tool.name]["placed"], {}, Goal(">= 99.9 %", at_least=0.999))
    bench.compare("native", "counts equal" + where, "%", even, {}, Goal(">= 98 %", at_least=0.98))


def measure_unwinder(bench, python):
    """The unwinder alone: of a stack whose rules are all known."""
    warm, held = [], []
    unwind = build_own("unwind")
    with Target(python, WORKLOAD, bench.rounds * 40 + 60) as target:
        for _ in range(bench.rounds):
            outcome = run([unwind, target.pid, STOPS], 60)
            warm.append((outcome.find(r"warm ([\d.]+) us") or float("nan")) / 1e6)
            held.append((outcome.find(r"(\d+) KiB;") or float("nan")) * 1024)
            bench.raw("native", {"python": python.version, "warm_s": warm[-1], "unwinder_bytes": held[-1]})
    print("the unwinder: %s for a warm stack, %s" % (summary(warm, "s"), summary(held, "B")), flush=True)
    bench.compare("native", "a warm stack, Python 3.%d" % python.minor, "s", warm, {}, Goal("<= 5 us", at_most=5e-6))
    bench.compare("native", "memory of the unwinder, Python 3.%d" % python.minor, "B", held, {}, Goal("<= 1 MB", at_most=1e6))


def measure_distance(bench, python, ours):
    """Stacks of our engines against those of the stopped target."""
    stopped = [tool for tool in ours if tool.stop == "always"]
    others = [tool for tool in ours if tool.engine == "kernel" and not tool.missing]
    seconds = bench.seconds(8)
    if not stopped or not others:
        return
    over = []
    with Target(python, WORKLOAD, bench.rounds * (3 * seconds + 60) + 60) as target:
        for _ in range(bench.rounds):
            before, found, after = (tool.record(target.pid, RATE, seconds).profile.by_function()
                                    for tool in (stopped[0], others[0], stopped[0]))
            distance = stats.total_variation(found, before + after)
            floor = stats.chance(found, before + after)[0]
            drift = stats.total_variation(before, after) - stats.chance(before, after)[0]
            over.append(distance - floor)
            bench.raw("native", {"python": python.version, "distance": distance, "floor": floor, "drift": drift})
            print("whole stacks, kernel engine against the stopped target: distance %s, chance %s; the two halves of the stopped "
                  "ones over chance: %s" % tuple(number(value, "%") for value in (distance, floor, drift)), flush=True)
    bench.compare("native", "distance from stopped stacks over chance, Python 3.%d" % python.minor, "%", over, {},
                  Goal("<= 2 %", at_most=0.02))


def measure_bpf(bench, ours):
    """Run time of our BPF program for each sample, with native stacks less without."""
    with_native = [tool for tool in ours if tool.engine == "kernel" and not tool.missing]
    without = [tool for tool in bench.engines if tool.engine == "kernel"]
    if not with_native:
        return
    python, seconds = bench.pythons[-1], bench.seconds(3)
    more, rows = [], []
    with counted(), Target(python, WORKLOAD, bench.rounds * (2 * seconds + 30) + 60) as target:
        for _ in range(bench.rounds):
            plain, native = (bpf_time(tool, target, seconds) for tool in (without[0], with_native[0]))
            more.append(native - plain)
            rows.append([python.version, number(plain, "s"), number(native, "s"), number(more[-1], "s")])
            bench.raw("native", {"python": python.version, "bpf_s": plain, "bpf_native_s": native})
    print(columns(["target", "BPF, each sample", "with native stacks", "more"], rows), flush=True)
    bench.compare("native", "BPF run time more than without, Python 3.%d" % python.minor, "s", more, {},
                  Goal("<= 2 us", at_most=2e-6))


def bpf_time(tool, target, seconds):
    copying_s, _, count, wall = counted_while(tool.sampling_command(target.pid, RATE, int(seconds + 4)), seconds)
    return copying_s / min(count, RATE * wall) if count else float("nan")
