"""Every victim on every interpreter of this machine: the stacks seen must be those that its docstring says.

Both engines sample each victim at the same time. What the kernel engine has seen is judged when this test runs with
PYROMETER_ENGINE=kernel; if nothing is left for it to judge, the kernel engine alone samples the victims.

Usage: tests/system stacks [VICTIM...]

Prints the matrix: a cell has the samples, the impossible ones and those cut short. A stack is impossible if it fits none
of the victim's answers, or if its outermost frame is not the one it must be. Interpreters of other versions must be
refused by name. What is a matter of shares and of luck (a rare stack never seen, too many impossible ones among few) is measured
a second time, for longer, before it is a failure; a wrong name, depth or exit code is one at once.
Exit code: 0 all cells are right, 1 some are not, 77 there is no interpreter to sample, or no kernel engine.
"""

import concurrent.futures
import contextlib
import json
import os
import re
import sys
import time

import harness
from folded import Legal, check, read_folded
from harness import pythons, run_program, victim

RATE_HZ = int(os.environ.get("PYROMETER_RATE_HZ", "500"))
SECONDS = 1.5
# Victims sampled at the same time: each keeps a processor busy.
AT_ONCE = 3
# Below this many samples nothing has been measured. A loaded machine may miss most instants.
MIN_SAMPLES = 100
# The share of samples that may be impossible. Before 3.14 nothing in a frame says that it has been left.
# Until 3.10 frames lie apart from each other in the heap. One in a cell is little more than chance.
MAX_IMPOSSIBLE = {8: 0.01, 9: 0.01, 10: 0.01, 11: 0.005, 12: 0.005, 13: 0.005, 14: 0.002, 15: 0.002, 16: 0.002}
# Cut off where two readings disagree: said in the stack itself, and not wrong. A victim that loses its processor in such
# a place is seen there many times.
MAX_TRUNCATED = 0.25
MAX_FAILED_PERCENT = 2
# Until 3.10 a frame that is freed while it is read, and its code object, may be memory of something else. On a busy machine such
# frames are not read stopped; of those that are never read stopped 60 to 80 % are cut off.
MAX_TRUNCATED_IN_HEAP, MAX_FAILED_PERCENT_IN_HEAP, LAST_HEAP_MINOR = 0.5, 5, 10
# So deep that it is seldom read stopped there on a busy machine.
DEEP = "depths.py"
# Limits of the kernel engine, whose stacks cannot move: impossible ones and those cut short. On a busy machine a record may be lost: a
# sample of which nothing is known.
MAX_WRONG_BY_KERNEL, MAX_LOST_BY_KERNEL = 0, 0.005
# Until 3.10 a code object knows its plain name only.
QUALIFIED_MINOR = 11
# Until 3.12 threads share the state they have in another interpreter. From 3.11 on the remote engine sees which thread runs in it.
OWN_STATE_MINOR, SEEN_STATE_MINOR = 13, 11

ARGUMENTS = {"recursion.py": ["50"], "threads.py": ["4"]}
VICTIMS = ["alternate.py", "asyncio_server.py", "callbacks.py", "chain.py", "classes.py", "codechurn.py", "coroutines.py",
           "depths.py", "exceptions.py", "generators.py", "greenlets.py", "hostile.py", "recursion.py", "shared_gil.py", "subinterp.py",
           "threads.py"]
FEW = ["alternate.py", "codechurn.py", "generators.py", "hostile.py", "threads.py"]
# The file with what the kernel engine has seen, until it is judged.
KERNEL_FILE = os.path.join(harness.FOLDER, "" if harness.ENGINE == "kernel" else "kernel", "stacks.json")
# Innermost functions of answers that are too short, or too seldom called, to be expected in so few samples.
SELDOM = {("callbacks.py", "compare"), ("exceptions.py", "deeper"), ("codechurn.py", "<module>"), ("codechurn.py", "main"),
          ("codechurn.py", "down"), ("asyncio_server.py", "client"), ("asyncio_server.py", "main")}


class Cell:
    """Stacks seen of one victim on one interpreter. Doubts are problems that chance can make."""

    def __init__(self, text, problems=(), doubts=()):
        self.text, self.certain, self.doubts = text, list(problems), list(doubts)

    @property
    def problems(self):
        return self.certain + self.doubts


def outermost_is_right(stack, name, pid):
    """The main thread starts in the victim's module, or where its greenlet does. A sub-interpreter may name the thread that
    made it as its own."""
    if not stack.frames:
        return False
    file, function, _ = stack.frames[0]
    if name == "greenlets.py":
        return (file, function) in ((name, "<module>"), (name, "left"), (name, "right"))
    if stack.tid == pid and name != "subinterp.py":
        return (file, function) == (name, "<module>")
    return function.endswith("_bootstrap") or function == "<module>"


def hostile_problems(stacks, _):
    """The frame below main has one of the names, in the file of that name."""
    namespace = {}
    with open(harness.VICTIMS + "/hostile.py", encoding="utf-8") as source:
        names = re.search(r"^NAMES = (\(.*?^\))", source.read(), re.DOTALL | re.MULTILINE).group(1)
    exec("NAMES = " + names, namespace)
    expected = {folded(name) for name in namespace["NAMES"]}
    seen = set()
    problems = []
    for stack in stacks:
        if len(stack.frames) > 2 and stack.frames[1][1] == "main" and not stack.frames[2][0] == "threading.py":
            name = stack.frames[2][1].rstrip("\u2026")
            seen.update(wanted for wanted in expected if wanted == name or (len(name) > 30000 and wanted.startswith(name)))
            if not seen:
                problems.append("a name that is not there: %r" % stack.frames[2][1][:80])
    if seen != expected:
        problems.append("names never seen: %r" % sorted(name[:40] for name in expected - seen))
    return problems


def folded(name):
    """A name of NAMES as folded stacks have it."""
    name = re.sub("[\ud800-\udfff]", "\ufffd", name)
    name = re.sub(r"[\x00-\x1f\x7f;\\]", lambda match: "\\\\" if match.group() == "\\" else "\\x%02x" % ord(match.group()), name)
    return name.replace("\u202e", "\\u202e")


def codechurn_problems(stacks, _):
    """Name, file and line of a frame belong to the same function, and that to the depth of its callers."""
    problems = []
    for stack in stacks:
        churned = [re.match(r"<churn (\d+)>$", file) for file, _, _ in stack.frames]
        numbers = {int(match.group(1)) for match in churned if match}
        if any(number % 8 + 1 != stack.names.count("down") for number in numbers):
            problems.append("an older function than the one that runs: %s" % stack.frames)
        for file, name, line in stack.frames:
            churned = re.match(r"<churn (\d+)>$", file)
            number = int(churned.group(1)) if churned else None
            first = number % 50 + 1 if churned else None
            if churned and name == "f_%d" % number and first <= line <= first + 2:
                continue
            if churned and name == "<module>" and line in (0, 1, first):
                continue
            if churned or name.startswith("f_"):
                problems.append("a function mistaken for another: %s:%s:%d" % (file, name, line))
    return problems


def recursion_problems(stacks, _):
    depths = {stack.names.count("dive") for stack in stacks if not stack.is_truncated}
    return [] if depths == {50} else ["dive is %s deep instead of 50" % sorted(depths)]


def alternate_problems(stacks, _):
    """The two chains take the same time."""
    total = sum(stack.count for stack in stacks)
    shares = [sum(stack.count for stack in stacks if chain in stack.names) / total for chain in ("a1", "b1")]
    return ["a1 and b1 have %.0f and %.0f %%" % tuple(100 * share for share in shares)] if min(shares) < 0.15 else []


def threads_problems(stacks, _):
    return share_problems(stacks, 5)


def subinterp_problems(stacks, python):
    """A thread that is in two interpreters is one thread."""
    return share_problems(stacks, 2) if python.minor >= OWN_STATE_MINOR else []


def shared_gil_problems(stacks, _):
    return share_problems(stacks, 2)


def share_problems(stacks, threads):
    """All threads have as many samples."""
    by_tid = {}
    for stack in stacks:
        by_tid[stack.tid] = by_tid.get(stack.tid, 0) + stack.count
    least, most = min(by_tid.values()), max(by_tid.values())
    if len(by_tid) != threads or least < 0.8 * most:
        return ["samples per thread: %s" % sorted(by_tid.values())]
    return []


CERTAIN = {"codechurn.py": codechurn_problems, "recursion.py": recursion_problems}
DOUBTFUL = {"alternate.py": alternate_problems, "hostile.py": hostile_problems, "shared_gil.py": shared_gil_problems, "subinterp.py": subinterp_problems,
            "threads.py": threads_problems}


def is_expected(name, answer, python, engine):
    """True if so many samples must have one that is this answer to its innermost function."""
    parts = [part[0] for part in answer.parts if part is not check.ANY]
    if name == "classes.py" and parts[1:-1] in (["main"], ["main", "main.<locals>.<listcomp>"],
                                                     ["main", "<listcomp>"]):
        # A list comprehension has a frame of its own until 3.11.
        return (len(parts) == 4) == (python.minor < 12)
    if (name, parts[-1]) == ("subinterp.py", "host"):
        return python.minor < (SEEN_STATE_MINOR if engine == "remote" else OWN_STATE_MINOR)
    if (name, parts[-1]) == ("subinterp.py", "inner"):
        # The kernel engine copies the state that a thread has of its own.
        return engine == "remote" or python.minor >= OWN_STATE_MINOR
    return (name, parts[-1]) not in SELDOM


def judge(name, python, engine, pid, stacks, failed_percent):
    legal = Legal(name, python.minor >= QUALIFIED_MINOR)
    total = sum(stack.count for stack in stacks)
    # A stack of which nothing is certain shows no frame: it is truncated, not impossible.
    shown = [stack for stack in stacks if stack.frames or not stack.is_truncated]
    impossible = [stack for stack in shown if not legal.allows(stack) or not outermost_is_right(stack, name, pid)]
    wrong = sum(stack.count for stack in impossible)
    truncated = sum(stack.count for stack in stacks if stack.is_truncated)
    lost = total - sum(stack.count for stack in shown) if engine == "kernel" else 0
    is_in_heap = python.minor <= LAST_HEAP_MINOR
    doubts = []
    if total < MIN_SAMPLES:
        doubts.append("only %d samples" % total)
    if wrong > (MAX_IMPOSSIBLE[python.minor] * total if engine == "remote" else MAX_WRONG_BY_KERNEL):
        doubts.extend("impossible, %d times: %s" % (stack.count, str(stack)[:400]) for stack in impossible[:5])
    max_truncated = 1 if name == DEEP and is_in_heap else MAX_TRUNCATED_IN_HEAP if is_in_heap else MAX_TRUNCATED
    if truncated - lost > (max_truncated * total if engine == "remote" else MAX_WRONG_BY_KERNEL) or lost > MAX_LOST_BY_KERNEL * total + 2:
        doubts.append("%d of %d samples are truncated, %d of them lost" % (truncated, total, lost))
    if failed_percent > (MAX_FAILED_PERCENT_IN_HEAP if is_in_heap else MAX_FAILED_PERCENT):
        doubts.append("%g %% of the samples failed" % failed_percent)
    for answer in legal.answers:
        if is_expected(name, answer, python, engine) and not any(legal.is_whole(answer, stack) for stack in stacks):
            doubts.append("never seen: " + answer.text)
    doubts.extend(DOUBTFUL.get(name, lambda *_: [])(stacks, python))
    return Cell("%d/%d/%d" % (total, wrong, truncated), CERTAIN.get(name, lambda *_: [])(stacks, python), doubts)


def wait_ready(name, python, target):
    """False if the victim says that it cannot run on this interpreter."""
    if name == "subinterp.py" and python.minor < 12:
        # A sub-interpreter never gives the lock of these versions back while it computes: READY waits for it in vain.
        time.sleep(2 * harness.SLOWNESS)
        return target.is_running()
    try:
        target.wait_ready()
    except AssertionError:
        # Its outputs are closed a moment before it is gone.
        if target.wait() != harness.SKIPPED:
            raise
        return False
    return True


def record(name, python, target, engines, seconds):
    """Records the victim by all engines at the same time, and returns a cell for each."""
    paths = {engine: harness.file_in("stacks-%s-%s-%s.folded" % (name[:-3], python.version, engine)) for engine in engines}
    with contextlib.ExitStack() as stack:
        recordings = {engine: stack.enter_context(harness.program(
            "record", str(target.pid), "-o", path, "--quality", path + ".json", "--idle", "--waits=off", "--collapsed", "-r", str(RATE_HZ), "-d", str(seconds), "-a", "--engine", engine))
            for engine, path in paths.items()}
        codes = {engine: recording.wait(seconds + harness.WAIT_SECONDS) for engine, recording in recordings.items()}
    cells = {}
    for engine, recording in recordings.items():
        if codes[engine] != 0:
            cells[engine] = Cell("exit %d" % codes[engine], [recording.output()])
        elif not target.is_running():
            cells[engine] = Cell("died", [target.output()])
        else:
            with open(paths[engine] + ".json", encoding="utf-8") as file:
                quality = json.load(file)
            failed = sum(quality["failed"].values())
            cells[engine] = judge(name, python, engine, target.pid, read_folded(paths[engine]), 100 * failed / max(1, quality["samples"] + failed))
    return cells


def sample(name, python, engines):
    """Samples one victim on one interpreter that is supported: the cell of each engine."""
    arguments = ARGUMENTS.get(name, []) + [str(harness.VICTIM_SECONDS)]
    with victim(name, *arguments, python=python.path, ready=False, env=dict(os.environ, PYTHONPATH=python.packages)) as target:
        if not wait_ready(name, python, target):
            return {engine: Cell("not here") for engine in engines}
        cells = record(name, python, target, engines, SECONDS)
        doubtful = [engine for engine, cell in cells.items() if cell.doubts and not cell.certain]
        if doubtful:
            cells.update(record(name, python, target, doubtful, 6 * SECONDS))
        return cells


def refuse(python):
    """A Python that is not supported is refused in one line that says which ones are, and lives on."""
    with victim("chain.py", str(harness.VICTIM_SECONDS), python=python.path) as target:
        process, code = run_program("record", str(target.pid), "-o", harness.file_in("refused.folded"), "--idle", "--waits=off", "--collapsed", "-d", "1")
        problems = []
        if code != 1 or process.out or len(process.err) != 1:
            problems.append("not exit code 1 and one line: " + process.output())
        elif not re.match(r"pyrometer: process \d+: .*Python.* is not supported: CPython 3\.8 to 3\.15", process.err[0]):
            problems.append("does not say what is supported: " + process.err[0])
        if not target.is_running():
            problems.append("the target died")
        return Cell("refused", problems)


def safely(task, *arguments):
    try:
        return task(*arguments)
    except Exception as error:  # pylint: disable=broad-except  a cell that broke is a cell that failed
        return Cell("error", ["%s: %s" % (type(error).__name__, error)])


def sample_safely(name, python, engines):
    cells = safely(sample, name, python, engines)
    return cells if isinstance(cells, dict) else {engine: cells for engine in engines}


def matrix(columns, cells, names):
    width = max(len(column.version) for column in columns)
    width = max([width] + [len(cell.text) + 5 for cell in cells.values()])
    lines = ["%-18s" % "" + "".join("%-*s" % (width + 1, python.version) for python in columns)]
    for name in names:
        row = [cells[name, python] for python in columns]
        lines.append("%-18s" % name + "".join("%-*s" % (width + 1, (cell.text if not cell.problems else "FAIL " + cell.text))
                                              for cell in row))
    return "\n".join(lines)


def report_interpreters(found):
    print("interpreters found: " + (", ".join("%s (%s)" % (python.version, python.path) for python in found) or "none"))
    missing = [minor for minor in harness.SUPPORTED_MINORS if minor not in {python.minor for python in found}]
    if missing:
        print("not found: " + ", ".join("3.%d" % minor for minor in missing))
    for flag, build, option in (("t", "free-threaded", "--free-threaded"), ("d", "debug", "--debug"), ("c", "tail-call", "--tail-calls")):
        if not any(flag in python.kind[1] for python in found):
            print("no %s build is here: scripts/get-pythons %s brings some" % (build, option))


def newest_of_each_minor(found):
    return list({python.kind: python for python in found}.values())


def measure(supported, others, names, engines):
    """The matrix of each engine, as text, and what is wrong in it."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {(name, python): pool.submit(sample_safely, name, python, engines) for python in supported for name in names}
        refusals = {python: pool.submit(safely, refuse, python) for python in others}
        cells = {key: future.result() for key, future in running.items()}
    results = {}
    for engine in engines:
        failures = ["%s on %s: %s" % (name, python.version, problem)
                    for (name, python), cell in cells.items() for problem in cell[engine].problems]
        results[engine] = {"matrix": matrix(supported, {key: cell[engine] for key, cell in cells.items()}, names),
                           "failures": failures}
    for python, future in refusals.items():
        cell = future.result()
        print("%-18s%s" % (python.version, "FAIL" if cell.problems else "refused, as it must be"))
        results[engines[0]]["failures"].extend("%s: %s" % (python.version, problem) for problem in cell.problems)
    return results


def stamp():
    """The identity of the program."""
    status = os.stat(harness.PROGRAM)
    return [status.st_mtime_ns, status.st_size]


def leave(result):
    os.makedirs(os.path.dirname(KERNEL_FILE), exist_ok=True)
    with open(KERNEL_FILE, "w", encoding="utf-8") as file:
        json.dump(dict(result, stamp=stamp()), file)


def left_here():
    """The kernel engine's result that another test has left, once; None if there is none, or it is of another program."""
    if not os.path.exists(KERNEL_FILE):
        return None
    with open(KERNEL_FILE, encoding="utf-8") as file:
        result = json.load(file)
    os.unlink(KERNEL_FILE)
    return result if result["stamp"] == stamp() else None


def show(engine, result):
    may_be = ", ".join("3.%d %g %%" % (minor, 100 * most) for minor, most in MAX_IMPOSSIBLE.items())
    print("\n%s engine: samples/impossible/truncated at %d Hz for %g s; of the samples may be impossible: %s"
          % (engine, RATE_HZ, SECONDS, may_be if engine == "remote" else MAX_WRONG_BY_KERNEL))
    print(result["matrix"])
    for failure in result["failures"]:
        print("FAIL " + failure)
    return 1 if result["failures"] else 0


def main():
    names = sys.argv[1:] or (FEW if harness.SANITIZED else VICTIMS)
    found = pythons()
    report_interpreters(found)
    supported = [python for python in found if python.is_supported]
    others = [python for python in found if not python.is_supported]
    if not supported:
        print("skipped: no interpreter of a supported version is on this machine")
        return harness.SKIPPED
    harness.check_surroundings()
    if harness.ENGINE == "kernel":
        result = left_here() if names == VICTIMS else None
        return show("kernel", result or measure(supported, [], names, ["kernel"])["kernel"])
    if harness.SANITIZED:
        supported = newest_of_each_minor(supported)
    has_kernel = not harness.SANITIZED and names == VICTIMS and not harness.why_no_kernel_engine()
    results = measure(supported, others, names, ["remote", "kernel"] if has_kernel else ["remote"])
    if has_kernel:
        leave(results["kernel"])
    return show("remote", results["remote"])


if __name__ == "__main__":
    sys.exit(main())
