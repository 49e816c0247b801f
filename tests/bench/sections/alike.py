"""Are captures of one unchanged process alike? Six of each way of ours and of the sampler that always stops, in turn.

Pearson's chi-square tests whether all are samples of one distribution of innermost functions. It takes samples as independent,
which those of a running program are not: one that is late in a phase of the program is followed by others of the same phase. That
holds for stopped captures of the same rate and length just as well, so the statistic of ours for each degree of freedom is
divided by theirs, and the ratio of two such numbers has an F distribution. Samples that one reading stands for are one.
"""

import homogeneity
import stats
from processes import Target
from profilers import Refusal
from sections.loops import NAMES, RATE, TRIES, independent, program_of, reference_of, undisturbed, ways_of
from table import Goal, columns, number

TITLE = "Alike: six captures of one unchanged process, chi-square over innermost functions"

CAPTURES = 6
# So rarely does chance alone make one cell differ; there are about a hundred.
RARE = 0.001


def measure(bench):
    for python in bench.pythons:
        for name in bench.workloads(NAMES):
            measure_cell(bench, python, name)


def measure_cell(bench, python, name):
    program = program_of(name)
    if not program:
        bench.note("%s: pyperformance is missing (tests/bench/get-peers)" % name)
        return
    reference = reference_of(bench)
    tools = [reference] + ways_of(bench)
    captures, waited, refusals = ({tool.name: [] for tool in tools} for _ in range(3))
    seconds = bench.seconds(5)
    with Target(python, "loop.py", CAPTURES * len(tools) * TRIES * (seconds + 10) + 60, program) as target:
        for _ in range(CAPTURES):
            single = None
            for tool in tools:
                try:
                    recording = undisturbed(tool, target, bench.rate or RATE, seconds)
                except Refusal as refusal:
                    refusals[tool.name].append(str(refusal))
                    continue
                if tool is reference:
                    single = recording.quality.get("run_length")
                captures[tool.name].append(weighed(recording, single))
                waited[tool.name].append(recording.waited)
    report(bench, python, name, reference, tools, captures, waited, refusals)


def report(bench, python, name, reference, tools, captures, waited, refusals):
    stopped = spread(captures[reference.name])
    rows = []
    for tool in tools:
        if tool.missing or refusals[tool.name]:
            rows.append([str(tool), "not here: " + (tool.missing or refusals[tool.name][0])])
            continue
        found = spread(captures[tool.name])
        probability = likelihood(found, stopped) if tool is not reference else None
        rows.append(row_of(tool, captures[tool.name], waited[tool.name], found, stopped, probability))
        bench.raw("alike", {"tool": str(tool), "python": python.version, "workload": name, "waited": waited[tool.name],
                            "chi_square": found[0], "degrees": found[1], "probability": probability,
                            "captures": captures[tool.name]})
        if tool is not reference:
            bench.compare("alike", "%s %s, %s" % (python.version, name, tool.name), "", [probability], {},
                          None if tool.stop == "never" else Goal("p >= %g" % RARE, at_least=RARE))
    print("\n%s, %s repeated" % (python, name))
    print(columns(HEADER, rows), flush=True)


def weighed(recording, single):
    """Counts of innermost functions as if each reading was one sample; single: see independent()."""
    samples = max(1, recording.profile.samples)
    readings = independent(recording.readings, samples, recording.quality.get("run_length"), single)
    return {key: count * readings / samples for key, count in recording.profile.by_leaf().items()}


def spread(captures):
    """(chi-square, degrees of freedom, their ratio)."""
    if len(captures) < 2 or not all(captures):
        return 0, 0, None
    statistic, degrees = homogeneity.chi_square(captures)
    return statistic, degrees, statistic / degrees if degrees else None


def likelihood(found, stopped):
    """The probability that chance alone makes captures differ so much more than stopped ones do."""
    if not found[2] or not stopped[2]:
        return None
    # Stopped captures that happen to be more alike than independent samples are no reason to doubt others.
    return homogeneity.f_tail(found[2] / max(1, stopped[2]), found[1], stopped[1])


HEADER = ["profiler", "readings", "waited", "chi-square", "degrees", "each", "p if independent", "p beside stopped",
          "farthest of any two captures"]


def row_of(tool, captures, waited, found, stopped, probability):
    statistic, degrees, each = found
    independent = homogeneity.chi_square_tail(statistic, degrees) if degrees else None
    sigmas, key, least, greatest = homogeneity.farthest_pair(captures)
    words = ""
    if key:
        words = "%s %s and %s, %.1f sigma" % (key, number(least, "%"), number(greatest, "%"),
                                              sigmas / max(1, stopped[2] or 1) ** 0.5)
    return [str(tool), number(stats.median([sum(capture.values()) for capture in captures])), number(max(waited), "%"),
            "%.0f" % statistic, degrees, number(each), number(independent), number(probability), words]
