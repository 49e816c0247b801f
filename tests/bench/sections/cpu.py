"""How much of a processor does each profiler take while it samples?

Its CPU time is read while it samples, so that starting up and writing the result do not count. A profiler that does not reach the
rate it was asked for takes less than it would: compared is what it would take at the full rate. Beside them stands a loop that only
wakes up as often: on some machines that is most of it.
"""

from processes import Target, run
from profilers import END_S, START_S, Refusal, StoppingTachyon
from programs import build_own
from table import Goal, columns, summary

TITLE = "CPU: share of one processor that the profiler takes"


class Case:
    def __init__(self, name, workload, arguments, rate, all_threads, at_most):
        self.name, self.workload, self.arguments = name, workload, arguments
        self.rate, self.all_threads = rate, all_threads
        self.at_most = dict(zip(("remote", "kernel"), at_most))


CASES = [
    Case("1 kHz, one thread, depth 50", "deep.py", [50], 1000, False, (0.02, 0.005)),
    Case("10 kHz, one thread, depth 50", "deep.py", [50], 10000, False, (0.06, 0.02)),
    Case("1 kHz, 41 threads", "threads.py", [41], 1000, True, (0.05, 0.005)),
    Case("1 kHz, 100 threads", "threads.py", [100], 1000, True, (0.09, 0.01)),
]


def measure(bench):
    sleeper = build_own("sleeper")
    for case in CASES:
        measure_case(bench, case, sleeper)


def floor(sleeper, rate, seconds):
    """The share of a processor that waking up takes."""
    return run([sleeper, rate, seconds], seconds + 30, (START_S, seconds - END_S)).steady_share


def measure_case(bench, case, sleeper):
    rows, shares = [], {}
    seconds = 2 + bench.seconds(8)
    # The time of BPF programs is the target's: see the sections slowdown and bpf.
    for python, tools in bench.targets_for(bench.peers_but(StoppingTachyon)):
        cpu = {tool.name: [] for tool in tools}
        rate = {tool.name: [] for tool in tools}
        full = {tool.name: [] for tool in tools}
        floors = []
        lifetime = bench.rounds * (1 + len(tools)) * (seconds + 15) + 60
        with Target(python, case.workload, lifetime, case.arguments) as target:
            for _ in range(bench.rounds):
                floors.append(floor(sleeper, case.rate, seconds))
                bench.raw("cpu", {"tool": "sleeper", "python": python.version, "case": case.name, "share": floors[-1]})
                for tool in tools:
                    try:
                        recording = tool.record(target.pid, case.rate, seconds, case.all_threads, keep=False)
                    except Refusal as refusal:
                        bench.note(str(refusal))
                        continue
                    share = recording.outcome.steady_share
                    if share is None:
                        bench.note("%s ended before %d s" % (tool, seconds))
                        continue
                    cpu[tool.name].append(share)
                    rate[tool.name].append(recording.rate)
                    full[tool.name].append(share * case.rate / recording.rate if recording.rate else share)
                    bench.raw("cpu", {"tool": str(tool), "python": python.version, "case": case.name, "share": share,
                                      "rate": recording.rate, "dropped": recording.dropped})
        for tool in tools:
            rows.append([python.version, str(tool)] +
                        tool.cells(summary(cpu[tool.name], "%"), summary(rate[tool.name], "Hz"), summary(full[tool.name], "%")))
        rows.append([python.version, "only wakes up", summary(floors, "%"), "", ""])
        shares.setdefault(python.minor, {}).update(full)
    print("\n" + case.name)
    print(columns(["target", "profiler", "CPU", "rate", "CPU at the full rate"], rows), flush=True)
    for minor, found in shares.items():
        goals = {engine: Goal("<= %g %%" % (100 * at_most), at_most=at_most) for engine, at_most in case.at_most.items()}
        bench.compare_engines("cpu", "%s, Python 3.%d" % (case.name, minor), "%", found, goals)
