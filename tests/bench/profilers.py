"""The profilers that are compared, each behind the same few words."""

import functools
import json
import os
import re
import shlex
import subprocess
import tempfile

import folded
from processes import BUILD, FOLDER, TARGET_CPUS, run

# Time that py-spy takes to start and to write; it does not say for how long it sampled.
PYSPY_START_S = 0.2
# The time in a recording when starting has ended, and how long before its end it is still steady.
START_S, END_S = 1.5, 0.5
# Runs a program before all others.
FIRST = ["chrt", "-f", "1"]
QUALITY, CAPTURE = ".quality.json", ".pyro"
RUNS = os.path.join(BUILD, "reference", "runs")


class Refusal(Exception):
    """A profiler that does not do what it was asked for, in its own words."""


class Recording:
    """The result of one run of a profiler. Rates are per second, shares are 0..1 or None where the profiler does not say."""

    def __init__(self, profile, outcome, seconds):
        self.profile, self.outcome, self.seconds = profile, outcome, seconds
        self.rate = None  # ticks a second
        self.dropped = None  # share of ticks it says it lost
        self.all_threads = False
        self.quality = {}  # ours: what it says about its data
        self.samples = profile.samples if profile else 0


class Profiler:
    """One profiler. record() gives a Recording or raises Refusal."""

    name = ""
    newest_minor = 15  # of the targets it can read
    oldest_minor = 11
    top_rate = 1000000  # a rate it cannot reach, to see which it does
    most_rate = 1000000  # beyond it a recording only takes longer
    stops_target = False
    missing = None  # why it cannot run on this machine

    def __init__(self, version):
        self.version = version

    def __str__(self):
        return "%s %s" % (self.name, self.version)

    def record(self, pid, rate, seconds, all_threads=False, keep=True):
        """Samples for whole seconds. keep: parse what it wrote; else the profile is empty."""
        if self.missing:
            raise Refusal("%s: %s" % (self, self.missing))
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            path = os.path.join(folder, "profile")
            command = self.command(pid, rate, seconds, all_threads, path)
            outcome = run(command, seconds + 30, (START_S, seconds - END_S), cwd=folder)
            if outcome.code or not os.path.exists(path):
                raise Refusal("%s: %s" % (self, last_line(outcome.text)))
            recording = Recording(self.read(path) if keep else folded.Profile(), outcome, seconds)
            recording.all_threads = all_threads
            recording.quality = self.quality(path)
        self.tell(recording)
        return recording

    def sampling_command(self, pid, rate, seconds):
        """To sample for as long and forget it."""
        return self.command(pid, min(rate, self.most_rate), seconds, False, os.devnull)

    def command(self, pid, rate, seconds, all_threads, path):
        raise NotImplementedError

    def read(self, path):
        return folded.read_collapsed(path)

    def quality(self, path):
        """The report of the profiler about its data, which it wrote beside the profile."""
        return {}

    def tell(self, recording):
        """Fills in what the profiler says about its run."""

    def cells(self, *cells):
        """The cells of a table behind its name: these, or why there are none."""
        return ["not here: " + self.missing] if self.missing else list(cells)


class Pyrometer(Profiler):
    """Ours with one of its engines. The remote one stops threads automatically (its default), never or always."""

    def __init__(self, program, engine, stop=None):
        self.program, self.engine, self.stop = program, engine, stop
        self.name = engine + (" --stop " + stop if stop else "")
        self.oldest_minor = 8
        self.stops_target = stop == "always"
        # Only that says how many samples a reading of a stopped thread stands for.
        self.writes_capture = stop in ("auto", "always")
        version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().split()[-1]
        super().__init__(version)
        if engine == "kernel":
            # Beyond that it refuses.
            self.top_rate = self.most_rate = 20000
            self.missing = why_no_kernel_engine(program)

    def __str__(self):
        return "pyrometer " + self.name

    def command(self, pid, rate, seconds, all_threads, path):
        return ([self.program, "record", pid, "--engine", self.engine, "-r", "%d" % rate, "-d", "%g" % seconds, "--idle", "--waits=off", "--collapsed",
                 "-o", path] + (["--stop", self.stop] if self.stop else []) + ([] if all_threads else ["--main-thread"]) +
                (["--quality", path + QUALITY] if path != os.devnull else []) +
                (["--binary=" + path + CAPTURE] if self.writes_capture and path != os.devnull else []))

    def quality(self, path):
        with open(path + QUALITY, encoding="utf-8") as file:
            quality = json.load(file)
        if self.writes_capture and os.path.exists(RUNS):
            quality["run_length"] = run([RUNS, path + CAPTURE], 30).find(r"samples, ([\d.]+) in a run")
        return quality

    def tell(self, recording):
        outcome = recording.outcome
        quality = recording.quality
        recording.samples = outcome.find(r"captured (\d+) samples")
        recording.rate = quality.get("achieved_hz")
        if self.engine == "kernel" and not recording.all_threads:
            # Instants at which the kernel does not call the program are not missing from the rate that it says.
            recording.rate = recording.samples / quality["duration_s"]
        failed = sum(quality.get("failed", {}).values())
        recording.dropped = failed / (quality["samples"] + failed) if failed else 0


class FirstPyrometer(Pyrometer):
    """Ours that always stops the target, woken up on the target's own processor before all others.

    So the target stands where the timer's interrupt met it. From another processor it stops some microseconds after it was asked
    to, or sooner when it enters the kernel: then page faults and system calls are seen too often.
    """

    def __init__(self, program):
        super().__init__(program, "remote", "always")
        self.name += ", same processor"

    def command(self, pid, rate, seconds, all_threads, path):
        cpus = ",".join(str(cpu) for cpu in TARGET_CPUS)
        return ["taskset", "-c", cpus] + FIRST + super().command(pid, rate, seconds, all_threads, path)


@functools.lru_cache(maxsize=None)
def may_be_first():
    return subprocess.run(FIRST + ["true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


@functools.lru_cache(maxsize=None)
def why_no_kernel_engine(program):
    """Its own words; None where it runs."""
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        outcome = run([program, "record", "--engine", "kernel", "-d", "0.1", "--collapsed", "-o", os.path.join(folder, "profile"),
                       os.getpid()], 30)
    return last_line(outcome.text).replace("pyrometer: ", "", 1) if outcome.code else None


class Tachyon(Profiler):
    """profiling.sampling of Python 3.15."""

    name = "Tachyon"
    oldest_minor = 15  # only its own
    blocking = False

    def __init__(self, python):
        self.python = python
        super().__init__(python.version)

    def command(self, pid, rate, seconds, all_threads, path):
        return ([self.python.path, "-m", "profiling.sampling", "attach", "-r", "%dhz" % rate, "-d", "%d" % seconds,
                 "--collapsed", "-o", path] + (["-a"] if all_threads else []) +
                (["--blocking"] if self.blocking else []) + [pid])

    def tell(self, recording):
        outcome = recording.outcome
        recording.samples = outcome.find(r"Captured ([\d,]+) samples")
        recording.rate = outcome.find(r"Sample rate: ([\d.]+)")
        errors = outcome.find(r"Error rate: ([\d.]+)")
        recording.dropped = None if errors is None else errors / 100


class StoppingTachyon(Tachyon):
    name = "Tachyon --blocking"
    blocking = True
    stops_target = True


class Austin(Profiler):
    name = "Austin"
    newest_minor = 13

    def __init__(self, command):
        self.words = shlex.split(command)
        text = subprocess.run(self.words + ["--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        super().__init__(text.split()[-1])

    def command(self, pid, rate, seconds, all_threads, path):
        return self.words + ["-i", "%dus" % max(1, round(1e6 / rate)), "-x", "%d" % seconds, "-p", pid, "-o", path]

    def read(self, path):
        return folded.read_austin(path)

    def tell(self, recording):
        match = re.search(r"Error rate : (\d+)/(\d+)", recording.outcome.text)
        if not match or not int(match.group(2)):
            raise Refusal("%s: %s" % (self, last_line(recording.outcome.text)))
        recording.samples = int(match.group(2))
        # It counts threads, not ticks.
        recording.rate = None if recording.all_threads else recording.samples / recording.seconds
        recording.dropped = int(match.group(1)) / recording.samples


class Pyspy(Profiler):
    """Takes as long as it needs for all samples it was asked for, so rates out of its reach are not asked for."""

    name = "py-spy"
    top_rate = 10000
    most_rate = 1000
    stops_target = True
    oldest_minor = 8
    options = []

    def __init__(self, program):
        self.program = program
        text = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        super().__init__(text.split()[-1])

    def command(self, pid, rate, seconds, all_threads, path):
        # It samples all threads that are not idle, whatever is asked for.
        return [self.program, "record", "-p", pid, "-r", "%d" % rate, "-d", "%d" % seconds, "-f", "raw", "-o",
                path] + self.options

    def read(self, path):
        return folded.read_pyspy(path)

    def tell(self, recording):
        match = re.search(r"Samples: (\d+) Errors: (\d+)", recording.outcome.text)
        if not match:
            raise Refusal("%s: %s" % (self, last_line(recording.outcome.text)))
        good, errors = int(match.group(1)), int(match.group(2))
        recording.samples = good
        recording.rate = (good + errors) / max(recording.seconds, recording.outcome.wall_s - PYSPY_START_S)
        recording.dropped = errors / max(1, good + errors)


class MovingPyspy(Pyspy):
    name = "py-spy --nonblocking"
    stops_target = False
    options = ["--nonblocking"]


class Stopped(Profiler):
    """The reference: every sample is of a thread that stands still."""

    name = "stopped"
    stops_target = True

    def __init__(self, program):
        self.program = program
        super().__init__("reference")

    def command(self, pid, rate, seconds, all_threads, path):
        return [self.program, pid, rate, seconds, path]

    def tell(self, recording):
        recording.samples = recording.outcome.find(r"stopped: (\d+) samples")
        failed = recording.outcome.find(r"(\d+) failed")
        recording.rate = (recording.samples + failed) / recording.seconds
        recording.dropped = failed / max(1, recording.samples + failed)


class EmptyEvent(Profiler):
    """No profiler: the interrupts of the kernel engine's rate, at which nothing is done."""

    name = "empty perf event"
    oldest_minor = 8

    def __init__(self, program):
        self.program = program
        super().__init__("")

    def __str__(self):
        return self.name

    def sampling_command(self, pid, rate, seconds):
        return [self.program, rate, seconds]


def last_line(text):
    """The last sentence that says what went wrong, or just the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("error|cannot|can't|fail|not |no such|denied", line, re.I)]
    return (telling or lines or ["said nothing"])[-1]


def find_peers(pythons):
    """The peers that are there, and a sentence for each that is not."""
    found, notes = [], []
    newest = [python for python in pythons if python.minor == 15]
    if newest:
        found += [Tachyon(newest[0]), StoppingTachyon(newest[0])]
    else:
        notes.append("Tachyon is missing: no Python 3.15 (scripts/get-pythons)")
    commands, said = fetched()
    if "austin" in commands:
        found.append(Austin(commands["austin"]))
    if "py-spy" in commands:
        found += [Pyspy(commands["py-spy"]), MovingPyspy(commands["py-spy"])]
    for name in ("austin", "py-spy"):
        if name not in commands:
            notes.append("%s is missing: %s" % (name, last_line(said)))
    return found, notes


@functools.lru_cache(maxsize=None)
def fetched():
    """({name: command or folder} of what get-peers has, what it said)."""
    listing = subprocess.run([os.path.join(FOLDER, "get-peers")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             check=False)
    return dict(line.split("\t") for line in listing.stdout.decode().splitlines()), listing.stderr.decode()
