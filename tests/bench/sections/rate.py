"""How often can each profiler sample one thread?

Our remote engine does not stop it here: a reading of a stopped thread may stand for several samples, and would count as all of them.
"""

from processes import Target
from profilers import Pyrometer, Refusal, StoppingTachyon
from table import Goal, columns, summary

TITLE = "Rate: samples a second of one thread, each profiler at its top rate"

DEPTHS = (5, 50, 500)
# The remote engine must do so many times what Tachyon does; the kernel engine refuses rates above its own limit.
TIMES_TACHYON = {5: 5, 50: 5, 500: 6}


def measure(bench):
    for depth in DEPTHS:
        measure_depth(bench, depth)


def measure_depth(bench, depth):
    rows, rates = [], {}
    engines = engines_of(bench)
    for python, tools in bench.targets_for(bench.peers_but(StoppingTachyon), engines):
        seconds = bench.seconds(3)
        found = {tool.name: [] for tool in tools}
        lost, truncated = ({tool.name: [] for tool in tools} for _ in range(2))
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
                    if recording.quality:
                        truncated[tool.name].append(recording.quality["truncated"] / max(1, recording.samples))
                    bench.raw("rate", {"tool": str(tool), "python": python.version, "depth": depth,
                                       "rate": recording.rate, "dropped": recording.dropped})
        for tool in tools:
            rows.append([python.version, str(tool)] +
                        tool.cells(summary(found[tool.name], "Hz"), summary(lost[tool.name], "%"),
                                   summary(truncated[tool.name], "%")))
        rates.setdefault(python.minor, {}).update(found)
    print("\ndepth %d" % depth)
    print(columns(["target", "profiler", "samples a second", "dropped", "truncated"], rows), flush=True)
    conclude(bench, depth, rates, engines)


def engines_of(bench):
    return [Pyrometer(bench.program, engine.engine, "never" if engine.engine == "remote" else None) for engine in bench.engines]


def conclude(bench, depth, rates, engines):
    for minor, found in rates.items():
        goals = value_of = None
        if found.get("Tachyon"):
            goals = {"remote --stop never": Goal(">= %d x Tachyon" % TIMES_TACHYON[depth], at_least=TIMES_TACHYON[depth])}

            def value_of(ours, tachyon=found["Tachyon"]):
                return bench.median_ratio(ours, tachyon)
        bench.compare_engines("rate", "depth %d, Python 3.%d" % (depth, minor), "Hz", found, goals, value_of, engines)
