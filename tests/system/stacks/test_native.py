"""C functions at the end of stacks, on every interpreter of this machine: named where they run, and nowhere else.

Usage: tests/system native [CHECK...], a check without its check_.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import collections
import json
import re
import sys

import harness
from harness import run_program, victim

RATE_HZ = 1000
# Stacks of the kernel engine do not move, so fewer will do.
SECONDS = 2.5 if harness.ENGINE == "remote" else 1.2
MARK = "<native>"
# Functions of native.py, and what they call. Each has a fifth of the time.
CALLS = {"sort": "sorted", "digest": "_hashlib.openssl_sha256", "dump": "_json.Encoder.__call__", "wait": "time.sleep",
         "join": "str.join"}
SHARE = 0.2
# Calls an object that lives as long as the call: gone, where a record of the kernel engine is read late.
TEMPORARY = "dump"
# On a busy machine more is missed of a program that computes than of one that sleeps.
MAX_APART = 0.12
MAX_UNNAMED = 0.06
# Callbacks of callbacks.py: what C code calls, and from where.
CALLBACKS = {"sort": "by_key", "fold": "add", "quick": "compare"}
# 3.11 marks the frame that C code enters, a little after it is made; others have an entry frame, which may be gone by the
# time it is read.
MAX_UNMARKED = {11: 0.08}
MAX_UNMARKED_ELSE = 0.03
# The innermost call of the evaluation function may be at its beginning or its end.
MAX_WITHOUT_NATIVE = 0.05
# The number of calls in descent.py. Each sample is large, so there are few.
CALLS_DEEP = 400
# A debug build of 3.13 ends what calls itself through C code more often; its frames are larger.
CALLS_DEEP_DEBUG = 100
DEEP_RATE_HZ = 100
# While a busy machine lets the profiler wait, stacks are cut.
MAX_CUT = 0.2
# How the names of the interpreter's functions begin, with and without symbols.
OF_PYTHON = ("_PyEval_", "<lib", "<python")
NOT_WHOLE = {"<gap>", "<native stack>", MARK}
# All that alternate.py calls, to know the time and to count.
ALWAYS = {"time.monotonic", "range"}


def record(name, python, *options, arguments=(), rate_hz=RATE_HZ, seconds=SECONDS):
    """The folded stacks of a victim: lists of labels, outermost first, and their counts."""
    path = harness.file_in("native-%s-%s.folded" % (name[:-3], python.version))
    with victim(name, *arguments, str(harness.VICTIM_SECONDS), python=python.path) as target:
        recording, code = run_program("record", str(target.pid), "-o", path, "--idle", "--waits=off", "--collapsed", "-r", str(rate_hz), "-d",
                                      str(seconds), *options, seconds=seconds + harness.WAIT_SECONDS)
        if code != 0:
            raise AssertionError(recording.output())
    stacks = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            labels, count = line.rstrip("\n").rsplit(" ", 1)
            stacks[tuple(labels.split(";")[1:])] += int(count)
    return stacks


def function_of(label):
    match = re.match(r"[^:]*:(.*):-?\d+$", label)
    return match.group(1) if match else label


def callee_of(labels):
    return labels[-1][len(MARK) + 1:] if labels[-1].startswith(MARK + " ") else None


def check_shares(python):
    """Checks shares, and measures those that are far off again, for longer: there are few readings where stops take long."""
    return shares_in(record("native.py", python)) and shares_in(record("native.py", python, seconds=4 * SECONDS))


def shares_in(stacks):
    total = sum(stacks.values())
    by_call = collections.Counter()
    for labels, count in stacks.items():
        functions = [function_of(label) for label in labels]
        work = functions[2] if len(functions) > 2 else None
        by_call[work, callee_of(labels)] += count
    problems = []
    if harness.ENGINE == "kernel":
        by_call.pop((TEMPORARY, None), None)
    for work, name in CALLS.items():
        if harness.ENGINE == "kernel" and work == TEMPORARY:
            by_call.pop((work, name), None)
            continue
        share = by_call.pop((work, name), 0) / total
        if abs(share - SHARE) > MAX_APART:
            problems.append("%s has %.1f %% instead of %.0f" % (name, 100 * share, 100 * SHARE))
    # json joins the pieces that it has made.
    by_call.pop(("dump", "str.join"), None)
    wrong = {name for work, name in by_call if name in CALLS.values()}
    if wrong:
        problems.append("called from where it is not: %s" % sorted(wrong))
    rest = sum(by_call.values()) / total
    if rest > MAX_UNNAMED:
        problems.append("%.1f %% not named" % (100 * rest))
    return problems


def check_callbacks(python):
    """With --native, and only then, C code stands between those who call and those it calls."""
    problems = []
    for options in ((), ("--native",)):
        marked = collections.Counter()
        for labels, count in record("callbacks.py", python, *options).items():
            functions = [function_of(label) for label in labels]
            for caller, callee in CALLBACKS.items():
                if callee in functions:
                    before = functions[functions.index(callee) - 1]
                    marked[before == MARK] += count
                    if before not in (MARK, caller) and before != "<truncated>":
                        problems.append("%s is called by %s" % (callee, before))
        most = MAX_UNMARKED.get(python.minor, MAX_UNMARKED_ELSE) if options else 0
        if not marked[bool(options)] or marked[not options] > most * sum(marked.values()):
            problems.append("marked and not with %s: %s" % (options, dict(marked)))
    return problems


def check_full(python):
    """With --native=full, the frames of C between Python frames have the library that they are in."""
    quality = harness.file_in("native-quality-%s.json" % python.version)
    options = ("--native=full", "--native-frames", "everything", "--quality", quality)
    stacks = record("callbacks.py", python, *options, *(("--stop", "always") if harness.ENGINE == "remote" else ()))
    with open(quality, encoding="utf-8") as file:
        counted = json.load(file)
    problems = []
    # A thread that has not stopped in time is read without its native stack.
    copied = counted["samples"] - counted["native_none"]
    native = collections.Counter()
    for labels, count in stacks.items():
        functions = [function_of(label) for label in labels]
        if not any(function.startswith(OF_PYTHON) for function in functions):
            continue
        for caller, callee in CALLBACKS.items():
            if callee in functions:
                before = functions[functions.index(callee) - 1]
                native[before.startswith(OF_PYTHON)] += count
    if not native[True] or native[False] > MAX_WITHOUT_NATIVE * sum(native.values()):
        problems.append("called by the evaluation function and not: %s" % dict(native))
    whole = counted["native_complete"]
    if copied < (1 - MAX_CUT) * counted["samples"] or whole < (1 - MAX_WITHOUT_NATIVE) * copied:
        problems.append("of %d samples, %d have native stacks, and %d complete ones" % (counted["samples"], copied, whole))
    entries, placed = counted["native_entries"], counted["native_placed"]
    if entries < copied or not (1 - MAX_WITHOUT_NATIVE) * entries <= placed <= entries:
        problems.append("%d of %d calls of Python are at their place" % (placed, entries))
    return problems


def check_deep(python):
    """A C stack that C code and Python have made deep is whole, and so is each call."""
    quality = harness.file_in("native-deep-%s.json" % python.version)
    depth = CALLS_DEEP_DEBUG if python.is_debug else CALLS_DEEP
    options = ("--native=full", "--native-frames", "everything", "--quality", quality)
    stacks = record("descent.py", python, *options, *(("--stop", "always") if harness.ENGINE == "remote" else ()),
                    arguments=(str(depth),), rate_hz=DEEP_RATE_HZ)
    with open(quality, encoding="utf-8") as file:
        counted = json.load(file)
    problems = []
    # A thread that has not stopped in time is read without its native stack.
    copied = counted["samples"] - counted["native_none"]
    whole, placed = counted["native_complete"], counted["native_placed"]
    if not copied or whole < (1 - MAX_CUT) * copied:
        problems.append("%d of %d deep native stacks are complete" % (whole, copied))
    if placed < (1 - MAX_CUT) * counted["native_entries"]:
        problems.append("%d of %d calls of deep stacks are at their place" % (placed, counted["native_entries"]))
    for labels in stacks:
        functions = [function_of(label) for label in labels]
        calls = [i for i, function in enumerate(functions) if function == "level"]
        if "spin" in functions and not NOT_WHOLE & set(functions):
            outside = [functions[i - 1] for i in calls if not functions[i - 1].startswith(OF_PYTHON)]
            if len(calls) != depth + 1 or len(outside) > 1:
                problems.append("%d calls of level; called by %s" % (len(calls), sorted(set(outside))))
    return problems[:3]


def check_asleep(python):
    """A thread that has slept since before the recording has its native frames, too."""
    if harness.ENGINE == "kernel":
        return check_sleepers(python)
    # Without a stop, the first samples of a sleep have none.
    return check_sleepers(python, "--stop", "always") + check_sleepers(python, "--stop", "never", most=MAX_CUT)


def check_sleepers(python, *stop, most=MAX_WITHOUT_NATIVE):
    """They sleep in the C library."""
    quality = harness.file_in("native-asleep-%s.json" % python.version)
    options = ("-a", "--native=full", "--native-frames", "everything", "--quality", quality)
    stacks = record("asleep.py", python, *options, *stop, rate_hz=100)
    with open(quality, encoding="utf-8") as file:
        counted = json.load(file)
    problems = []
    for sleeper in ("nap", "wait_for_lock"):
        ends = collections.Counter()
        for labels, count in stacks.items():
            if sleeper in [function_of(label) for label in labels]:
                ends[labels[-1].startswith("libc")] += count
        if not ends[True] or ends[False] > most * sum(ends.values()):
            problems.append("%s ends in the C library and not: %s" % (sleeper, dict(ends)))
    if counted["native_none"] > most * counted["samples"] or (stop == ("--stop", "never") and counted["stopped"]):
        problems.append("%d of %d samples have no native stack, %d were stopped" % (counted["native_none"], counted["samples"], counted["stopped"]))
    return problems


def check_joined(python):
    """str.join jumps to the function that does the work: that has the name, and is no frame of its own. In debug builds it calls it."""
    stacks = record("native.py", python, "--native=full", "--native-frames", "everything",
                    *(("--stop", "always") if harness.ENGINE == "remote" else ()))
    joined = collections.Counter()
    for labels, count in stacks.items():
        functions = [function_of(label) for label in labels]
        if "join" in functions:
            below = functions[functions.index("join") + 1:]
            joined[MARK + " str.join" in below, "PyUnicode_Join" in below] += count
    named, total = joined[True, False] + python.is_debug * joined[True, True], sum(joined.values())
    return [] if named and named >= (1 - MAX_UNNAMED) * total else ["named str.join and PyUnicode_Join: %s" % dict(joined)]


def check_dump(python):
    problems = []
    with victim("callbacks.py", str(harness.VICTIM_SECONDS), python=python.path) as target:
        for options in ((), ("--native",)):
            dump, code = run_program("dump", str(target.pid), *options)
            if code != 0 or ("Py_RunMain" in dump.output()) != bool(options):
                problems.append("dump with %s: %s" % (options, dump.output()))
    return problems


def check_pure(python):
    stacks = record("alternate.py", python)
    named = collections.Counter()
    for labels, count in stacks.items():
        named[callee_of(labels)] += count
    del named[None]
    return ["it does not call %s" % sorted(set(named) - ALWAYS)] if set(named) - ALWAYS else []


CHECKS = {"shares": check_shares, "callbacks": check_callbacks, "full": check_full, "deep": check_deep, "asleep": check_asleep,
          "joined": check_joined, "dump": check_dump, "pure": check_pure}


# Checks of things that no interpreter does in a way of its own.
ALIKE = {"deep", "asleep", "pure"}


def is_known(python):
    """Before, C functions at the leaf are unknown."""
    return python.minor >= 11


def check(python):
    is_end = python.path in [one.path for one in harness.ends(is_known)]
    return [problem for name in sys.argv[1:] or CHECKS if is_end or name not in ALIKE for problem in CHECKS[name](python)]


if __name__ == "__main__":
    sys.exit(harness.check_each(is_known, check))
