"""Does a comparison find what changed, and nothing that did not?

Three runs of a program a round: two of it unchanged, and one in which a function that has a fifth of the time takes 10 % longer.
`diff` compares the unchanged ones with each other, the first with the changed one, and the halves of each unchanged one: quietly, and
beside a neighbour that takes the processor in bursts.
"""

import json
import os
import subprocess
import tempfile

from processes import BUILD, TARGET_CPUS, WORKLOADS, Target, run, start
from table import Goal, columns, number

TITLE = "Compare: two runs of an unchanged program, and a function of 20 % that takes 10 % longer"

CHANGED, PERCENT = "discount", 10
RATE, SECONDS = 1000, 30
UNCHANGED = Goal(">= 95 %", at_least=0.95)
GOALS = {"runs": UNCHANGED, "halves": UNCHANGED, "changed": Goal(">= 90 %", at_least=0.90)}
MACHINES = ["quiet", "busy"]


def measure(bench):
    rows, unchanged = [], []
    if all(engine.missing for engine in bench.engines):
        bench.note("compare: no engine of ours is here")
        return
    for python in bench.pythons[-1:]:
        for machine in bench.workloads(MACHINES):
            row, pairs = measure_machine(bench, python, machine)
            rows.append(row)
            unchanged += pairs
    if not rows:
        return
    bench.compare("compare", "all %d pairs of unchanged runs and halves" % len(unchanged), "%", [sum(unchanged) / len(unchanged)], {}, UNCHANGED)
    print(columns(["target", "machine", "pairs of runs", "unchanged and said so", "of halves", "changed and found",
                   "said to have changed without it"], rows))


def measure_machine(bench, python, machine):
    """A row of the table; and for each pair of unchanged runs or halves, whether it was said to be so."""
    engine = next(engine for engine in reversed(bench.engines) if not engine.missing)
    right = {kind: [] for kind in GOALS}
    wrong = set()
    for _ in range(bench.rounds):
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            first, again, slower = (capture(bench, engine, python, machine, percent, os.path.join(folder, name))
                                    for name, percent in (("first.pyro", 0), ("again.pyro", 0), ("slower.pyro", PERCENT)))
            same, other = compare(bench, first, again), compare(bench, first, slower)
            halves = [compare(bench, *halves_of(bench, path)) for path in (first, again)]
        right["runs"].append(not same["significant"])
        right["halves"] += [not pair["significant"] for pair in halves]
        right["changed"].append(CHANGED in other["significant"])
        wrong = wrong.union(same["significant"], *(pair["significant"] for pair in halves))
        bench.raw("compare", {"python": python.version, "machine": machine, "engine": engine.name, "runs": sorted(same["significant"]),
                              "halves": [sorted(pair["significant"]) for pair in halves], "changed": sorted(other["significant"]),
                              "share": other["share"]})
    shares = {kind: sum(pairs) / len(pairs) for kind, pairs in right.items()}
    for kind, goal in GOALS.items():
        bench.compare("compare", "%s, %s" % (kind, machine), "%", [shares[kind]], {}, goal)
    row = [python.version, machine, bench.rounds, *(number(share, "%") for share in shares.values()), ", ".join(sorted(wrong)) or "nothing"]
    return row, right["runs"] + right["halves"]


def capture(bench, engine, python, machine, percent, path):
    seconds = bench.seconds(SECONDS)
    neighbour = None
    with Target(python, "compared.py", seconds + 60, [percent]) as target:
        try:
            if machine == "busy":
                neighbour = start([python.path, os.path.join(WORKLOADS, "bursts.py"), "%d" % (seconds + 60)], TARGET_CPUS,
                                  stdout=subprocess.DEVNULL)
            outcome = run([bench.program, "record", target.pid, "--engine", engine.engine, "-r", "%d" % RATE, "-d", "%d" % seconds,
                           "-o", path], seconds + 30)
        finally:
            if neighbour:
                neighbour.kill()
                neighbour.wait()
    if outcome.code:
        raise SystemExit("bench: record failed: " + outcome.text)
    return path


def halves_of(bench, path):
    """The halves of a capture, as captures beside it."""
    middle = bench.seconds(SECONDS) / 2
    halves = []
    for name, part in (("before", "0..%g"), ("after", "%g..")):
        halves.append("%s.%s.pyro" % (path, name))
        outcome = run([bench.program, "merge", path + "@" + part % middle, "-o", halves[-1]], 30)
        if outcome.code:
            raise SystemExit("bench: merge failed: " + outcome.text)
    return halves


def compare(bench, baseline, now):
    """Names of functions that have significantly more or less, themselves or in total; the share of the one that can change."""
    words = [bench.program, "diff", "--json", baseline, now]
    found = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    names, share = set(), None
    for row in found["functions"]:
        if row["name"] == CHANGED:
            share = [row["self"]["baseline_share"], row["self"]["now_share"]]
        if any(row[what]["verdict"] in ("more", "less", "new", "gone") for what in ("self", "total")):
            names.add(row["name"])
    return {"significant": names, "share": share}
