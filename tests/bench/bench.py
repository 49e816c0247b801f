"""The bench: what it runs, what it was asked for, what it found. Used by scripts/bench."""

import argparse
import datetime
import importlib
import json
import os
import platform

import stats
import table
from processes import BUILD, CPUS
from profilers import Pyrometer, Stopped, find_peers
from programs import build
from pythons import choose, find_pythons
from sections import SECTIONS


ENGINES = ("remote", "kernel")


class Bench:
    def __init__(self, options):
        self.options = options
        self.rounds = options.rounds
        self.rate = options.rate
        everything = find_pythons()
        self.pythons = choose(everything, options.python)
        if not self.pythons:
            raise SystemExit("bench: no such interpreter of a supported version is here (scripts/get-pythons brings some)")
        self.program, reference = build(options.program, options.reference)
        self.reference = Stopped(reference)
        self.engines = [Pyrometer(self.program, engine) for engine in ENGINES if not options.engine or engine in options.engine]
        self.peers, self.notes = find_peers(everything)
        wanted = [name.lower() for name in options.peer]
        if wanted:
            self.peers = [peer for peer in self.peers if peer.name.lower() in wanted]
        self.results = {"machine": machine(), "versions": self.versions(), "options": vars(options), "notes": self.notes,
                        "goals": [], "sections": {}}

    def versions(self):
        tools = self.engines + self.peers
        return {"profilers": {tool.name: tool.version for tool in tools},
                "pythons": [python.version for python in self.pythons]}

    def seconds(self, usual):
        """Whole seconds of one recording: some profilers take nothing else."""
        return self.options.seconds or (max(1, usual // 2) if self.options.quick else usual)

    def workloads(self, names):
        wanted = self.options.workload
        found = [name for name in names if not wanted or name in wanted]
        if not found:
            self.note("no workload %s here; there are %s" % (", ".join(wanted), ", ".join(names)))
        return found

    def targets_for(self, peers, engines=None):
        """(interpreter, tools that sample it): our engines beside every peer, on the newest version that the peer can read."""
        groups, engines = {}, engines or self.engines
        for peer in peers:
            fitting = [python for python in self.pythons if peer.oldest_minor <= python.minor <= peer.newest_minor]
            if fitting:
                groups.setdefault(fitting[-1].minor, (fitting[-1], list(engines)))[1].append(peer)
            else:
                self.note("%s reads none of the targets" % peer)
        if not groups:
            return [(self.pythons[-1], list(engines))]
        return [groups[minor] for minor in sorted(groups, reverse=True)]

    def peers_but(self, *kinds):
        return [peer for peer in self.peers if not isinstance(peer, kinds)]

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            print("note: " + text)

    @staticmethod
    def median_ratio(ours, theirs):
        """The median of the rounds' ratios, as what disturbed one round disturbed both."""
        return stats.median([our / their for our, their in zip(ours, theirs) if their])

    def raw(self, section, values):
        """Keeps numbers for the file."""
        self.results["sections"].setdefault(section, []).append(values)
        self.save()

    def compare(self, section, what, unit, ours, peers, goal=None, value=None):
        """A row of the final table. ours: a value a round, or why there is none; peers: {name: values a round}.

        The goal is held against `value`, or against the median of ours if that is not given.
        """
        known = [] if isinstance(ours, str) else [number for number in ours if number is not None]
        if value is None and known:
            value = stats.median(known)
        self.results["goals"].append({"section": section, "what": what, "unit": unit, "ours": ours, "peers": peers,
                                      "goal": goal.text if goal else None, "value": value,
                                      "verdict": goal.verdict(value) if goal else None})
        self.save()

    def compare_engines(self, section, what, unit, found, goals=None, value_of=None, engines=None):
        """A row of the final table for each engine. found: {name of a tool: values a round}; goals: {name of an engine: goal}.

        value_of(values of the engine) is what the goal is held against, if that is not their median.
        """
        engines = engines or self.engines
        names = [engine.name for engine in engines]
        peers = {name: values for name, values in found.items() if name not in names}
        for engine in engines:
            ours = found.get(engine.name, [])
            value = value_of(ours) if value_of and ours else None
            self.compare(section, "%s, %s" % (what, engine.name), unit, engine.missing and "not here" or ours, peers,
                         (goals or {}).get(engine.name), value)

    def save(self):
        with open(self.options.output, "w", encoding="utf-8") as file:
            json.dump(self.results, file, indent=1)

    def print_goals(self):
        rows = []
        for goal in self.results["goals"]:
            ours = goal["ours"] if isinstance(goal["ours"], str) else table.summary(goal["ours"], goal["unit"])
            peers = list(goal["peers"].items()) or [("", None)]
            for at, (name, values) in enumerate(peers):
                peer = "" if values is None else values if isinstance(values, str) else table.summary(values, goal["unit"])
                first = at == 0
                rows.append([goal["section"] if first else "", goal["what"] if first else "", ours if first else "", name,
                             peer, ratio(goal["ours"], values), goal["goal"] or "" if first else "",
                             goal["verdict"] or "" if first else ""])
        print(table.columns(["section", "what", "ours", "peer", "", "ours/peer", "goal", ""], rows))
        for note in self.notes:
            print("note: " + note)


def ratio(ours, theirs):
    if isinstance(ours, str):
        return ""
    ours = [value for value in ours if value is not None]
    if not ours or not theirs or isinstance(theirs, str):
        return ""
    theirs = [value for value in theirs if value is not None]
    if not theirs or not stats.median(theirs):
        return ""
    return "%.3g x" % (stats.median(ours) / stats.median(theirs))


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cpus": len(CPUS), "kernel": platform.release(),
            "load": os.getloadavg(), "time": datetime.datetime.now().isoformat(timespec="seconds")}


def host_time():
    """(jiffies that the host of this virtual machine took from its processors, all jiffies), since it started."""
    with open("/proc/stat", encoding="ascii") as file:
        jiffies = [int(word) for word in file.readline().split()[1:9]]
    return jiffies[7], sum(jiffies)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measures pyrometer and its peers side by side.",
                                     epilog="The sections and how to run one cell: tests/bench/README.md.")
    parser.add_argument("--only", action="append", default=[], choices=SECTIONS, metavar="SECTION",
                        help="only this section (may be repeated): " + ", ".join(SECTIONS))
    parser.add_argument("--rounds", type=int, default=3, help="rounds of everything (default 3)")
    parser.add_argument("--quick", action="store_true", help="short recordings and one round, to see that it works")
    parser.add_argument("--python", action="append", default=[], metavar="VERSION",
                        help="only targets of this version, 3.13 or 3.13.5 (may be repeated)")
    parser.add_argument("--workload", action="append", default=[], help="truth, alike, compare: only this workload (may be repeated)")
    parser.add_argument("--busy", action="store_true", help="truth: the repeated benchmarks, beside a busy loop for each processor")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME",
                        help="only this peer (may be repeated); none: no peer")
    parser.add_argument("--engine", action="append", default=[], choices=ENGINES, help="only this engine of ours")
    parser.add_argument("--rate", type=int, help="truth: samples a second (default 10000; repeated benchmarks 1000)")
    parser.add_argument("--seconds", type=int, help="seconds of one recording")
    parser.add_argument("--program", help="measure this program and build none")
    parser.add_argument("--reference", help="use this reference sampler and build none")
    parser.add_argument("-o", "--output", default=os.path.join(BUILD, "results.json"),
                        help="file for all numbers (default build/bench/results.json)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds = 1
    return options


def main(arguments):
    bench = Bench(parse(arguments))
    began = host_time()
    facts = bench.results["machine"]
    print("%s, %d processors, Linux %s, load %.1f" % (facts["cpu"], facts["cpus"], facts["kernel"], facts["load"][0]))
    print("measured: " + ", ".join(str(tool) for tool in bench.engines + bench.peers))
    for engine in bench.engines:
        if engine.missing:
            print("%s: not here: %s" % (engine, engine.missing))
    for name in SECTIONS:
        if not bench.options.only or name in bench.options.only:
            section = importlib.import_module("sections." + name.replace("-", "_"))
            print("\n== %s" % section.TITLE, flush=True)
            section.measure(bench)
    taken, everything = (after - before for before, after in zip(began, host_time()))
    bench.results["machine"]["taken_by_host"] = taken / max(1, everything)
    print("\n== All together")
    bench.print_goals()
    bench.save()
    print("the host took %s of the processors' time" % table.number(taken / max(1, everything), "%"))
    print("all numbers: " + os.path.relpath(bench.options.output))
