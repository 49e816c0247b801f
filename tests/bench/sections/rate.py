"""How often can each profiler sample one thread?"""

from processes import Target
from profilers import Refusal, StoppingTachyon
from table import Goal, columns, number, summary

TITLE = "Rate: samples a second of one thread, each profiler at its top rate"

DEPTHS = (5, 50, 500)
# Ours must do so many times what Tachyon does.
TIMES_TACHYON = {5: 6, 50: 6, 500: 10}
TOP_RATE = 1000000


def measure(bench):
    for depth in DEPTHS:
        measure_depth(bench, depth)


def measure_depth(bench, depth):
    rows, rates = [], {}
    for python, tools in bench.targets_for([bench.ours] + bench.peers_but(StoppingTachyon)):
        seconds = bench.seconds(3)
        found = {tool.name: [] for tool in tools}
        lost = {tool.name: [] for tool in tools}
        with Target(python, "deep.py", bench.rounds * len(tools) * (seconds + 30) + 60, [depth]) as target:
            for _ in range(bench.rounds):
                for tool in tools:
                    try:
                        recording = tool.record(target.pid, tool.top_rate, seconds, keep=False)
                    except Refusal as refusal:
                        bench.note(str(refusal))
                        continue
                    found[tool.name].append(recording.rate)
                    lost[tool.name].append(recording.dropped)
                    bench.raw("rate", {"tool": str(tool), "python": python.version, "depth": depth,
                                       "rate": recording.rate, "dropped": recording.dropped})
        for tool in tools:
            rows.append([python.version, str(tool), summary(found[tool.name], "Hz"), summary(lost[tool.name], "%")])
        rates.setdefault(python.minor, {}).update(found)
    print("\ndepth %d" % depth)
    print(columns(["target", "profiler", "samples a second", "dropped"], rows), flush=True)
    conclude(bench, depth, rates)


def conclude(bench, depth, rates):
    for minor, found in rates.items():
        ours = found.pop(bench.ours.name, [])
        goal = value = None
        if found.get("Tachyon") and ours:
            goal = Goal(">= %d x Tachyon" % TIMES_TACHYON[depth], at_least=TIMES_TACHYON[depth])
            value = bench.median_ratio(ours, found["Tachyon"])
        bench.compare("rate", "depth %d, Python 3.%d" % (depth, minor), "Hz", ours, found, goal, value)
