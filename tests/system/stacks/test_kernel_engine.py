"""The kernel engine: every stack is exact, and every thread has as many samples as instants have passed.

Skipped where the kernel does not run the engine: without CAP_BPF and CAP_PERFMON, or in a build without libbpf.
"""

import collections
import json
import pathlib
import time

from folded import read_folded
from harness import Test, file_in, kinds, main, newest_python, run_program, skip_without_kernel_engine, victim
from kernel import script

SECONDS = 1
RATE_HZ = 500
# From this version on a thread has a state of its own in each interpreter.
OWN_STATE_MINOR = 13
# The C function that a stack ends in is known from here on.
LEAF_MINOR = 11

# Threads that run, that wait shortly, and that have waited since before the recording; deep and shallow ones.
THREADS = """
import threading, time
def deep(depth, work):
    return work() if depth == 0 else deep(depth - 1, work)
def naps():
    while True:
        time.sleep(0.01)
def blinks():
    while True:
        time.sleep(0.0005)
def waits():
    threading.Event().wait()
def numbers():
    while True:
        yield from range(1000)
def runs():
    for number in numbers():
        sum(range(200))
for work in naps, blinks, waits:
    threading.Thread(target=deep, args=(20, work), name=work.__name__, daemon=True).start()
print("READY", flush=True)
deep(300, runs)
"""
CHILDREN = """
import os, sys, time
def child():
    end = time.monotonic() + 1
    while time.monotonic() < end:
        pass
print("READY", flush=True)
while True:
    if os.fork() == 0:
        child()
        os._exit(0)
    os.wait()
"""


# Runs for less time than instants are apart, again and again.
SHORT_RUNS = """
import time
def spin(until):
    while time.thread_time() < until:
        pass
print("READY", flush=True)
while True:
    spin(time.thread_time() + 0.0003)
    time.sleep(0.0007)
"""

# Three processes that want one processor.
RIVALS = """
import os
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
parent, children = os.getpid(), []
while os.getpid() == parent and len(children) < 2:
    children.append(os.fork())
if os.getpid() == parent:
    print(*children, flush=True)
    print("READY", flush=True)
while parent in (os.getpid(), os.getppid()):
    pass
"""


# The thread enters another interpreter and leaves it, again and again.
VISITS = """
import _interpreters, time
INNER = '''
import time
def inner():
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        pass
inner()
'''
def outer():
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        pass
interpreter = _interpreters.create()
print("READY", flush=True)
while True:
    _interpreters.run_string(interpreter, INNER)
    outer()
"""


# Visits that are shorter than the time between instants; not always the same time, which might keep step with them.
SHORT_VISITS = VISITS.replace("0.4", "0.0005 + time.monotonic() % 0.0017")


# The method is an object of its own, whose memory might be another one's by now.
BOUND_METHOD = """
numbers = list(range(200000))
sort = numbers.sort
print("READY", flush=True)
while True:
    sort()
"""


def accounts(pids):
    """Nanoseconds that each ran, and was ready to run."""
    paths = [pathlib.Path("/proc", str(pid), "schedstat") for pid in pids]
    return [[int(word) for word in path.read_text("ascii").split()[:2]] for path in paths]


def has_own_states(python):
    return python.minor >= OWN_STATE_MINOR


def of_its_gil(python):
    """Options for the samples of who holds a GIL, where there is one."""
    return () if python.is_free_threaded else ("--mode", "gil")


class KernelEngine(Test):
    def record(self, target, name, *options):
        folded, quality = file_in(name + ".folded"), file_in(name + ".json")
        process, code = run_program("record", str(target.pid), "--engine", "kernel", "-r", str(RATE_HZ), "-d", str(SECONDS),
                                    "-o", folded, "--idle", "--waits=off", "--collapsed", "--quality", quality, *options)
        self.assertEqual(code, 0, process.output())
        with open(quality, encoding="utf-8") as file:
            return read_folded(folded), json.load(file)

    def test_threads(self):
        path = script("threads", THREADS)
        for python in kinds():
            with self.subTest(python.version), victim(path, python=python.path) as target:
                time.sleep(0.5)
                stacks, quality = self.record(target, "kernel-" + python.version, "-a")
                threads, depths = collections.Counter(), collections.defaultdict(set)
                for stack in stacks:
                    # A record that was lost is a sample of an unknown stack.
                    if stack.is_truncated:
                        continue
                    work = stack.names[stack.names.count("deep") + stack.names.index("deep")]
                    threads[work] += stack.count
                    depths[work].add(stack.names.count("deep"))
                instants = quality["ticks"]
                self.assertGreater(instants, 0.8 * SECONDS * RATE_HZ, quality)
                self.assertEqual(set(threads), {"runs", "naps", "blinks", "waits"})
                for name, count in threads.items():
                    self.assertLess(count, 1.15 * instants, (name, threads, quality))
                    self.assertGreater(count + quality["missed_ticks"], 0.85 * instants, (name, threads, quality))
                self.assertLess(quality["truncated"] + sum(quality["failed"].values()),
                                0.005 * quality["samples"] + 2, quality)
                self.assertEqual(depths["runs"], {301})
                self.assertEqual(depths["naps"] | depths["blinks"] | depths["waits"], {21})

    def test_children(self):
        path = script("children", CHILDREN)
        for python in kinds():
            with self.subTest(python.version), victim(path, python=python.path) as target:
                stacks, quality = self.record(target, "kernel-children-" + python.version, "--subprocesses")
                samples = sum(stack.count for stack in stacks if "child" in stack.names)
                self.assertGreater(samples, 0.3 * SECONDS * RATE_HZ, quality)
                self.assertLess(quality["truncated"], 0.005 * quality["samples"] + 2, quality)

    def test_sub_interpreters(self):
        """As the remote engine sees them; each has its own GIL, which the thread that is in it holds."""
        path = script("visits", VISITS)
        for python in kinds(has_own_states):
            with self.subTest(python.version), victim(path, python=python.path) as target:
                for engine in ("remote", "kernel"):
                    stacks, quality = self.record(target, "kernel-visits-" + python.version, "-a", *of_its_gil(python),
                                                  "--engine", engine, "-d", "3")
                    inner, outer = (sum(stack.count for stack in stacks if name in stack.names) for name in ("inner", "outer"))
                    self.assertEqual([str(stack) for stack in stacks if {"inner", "outer"} <= set(stack.names)], [])
                    for count in (inner, outer):
                        self.assertGreater(count, 0.35 * quality["ticks"], (engine, inner, outer, quality))
                        self.assertLess(count, 0.65 * quality["ticks"], (engine, inner, outer, quality))

    def test_short_visits_of_sub_interpreters(self):
        """Each sample is of the interpreter that the thread was in, however shortly. To enter it takes time too."""
        path = script("short-visits", SHORT_VISITS)
        for python in kinds(has_own_states):
            with self.subTest(python.version), victim(path, python=python.path) as target:
                stacks, quality = self.record(target, "kernel-short-visits-" + python.version, "-a", *of_its_gil(python), "-d", "2")
                inner, outer = (sum(stack.count for stack in stacks if name in stack.names) for name in ("inner", "outer"))
                self.assertEqual([str(stack) for stack in stacks if {"inner", "outer"} <= set(stack.names)], [])
                self.assertGreater(inner, 0.7 * outer, (inner, outer, quality))
                self.assertLess(inner, 1.4 * outer, (inner, outer, quality))
                self.assertLess(sum(quality["failed"].values()), 0.02 * quality["samples"] + 2, quality)

    def test_bound_methods_of_c_have_names(self):
        path = script("bound-method", BOUND_METHOD)
        for python in kinds(lambda python: python.minor >= LEAF_MINOR):
            with self.subTest(python.version), victim(path, python=python.path) as target:
                stacks, quality = self.record(target, "kernel-bound-" + python.version)
                named = sum(stack.count for stack in stacks if str(stack).endswith("<native> list.sort"))
                self.assertGreater(named, 0.5 * quality["samples"], [str(stack) for stack in stacks[:5]])

    def states(self, capture, pid):
        """Samples of a process by state."""
        counts = {}
        for name, words in (("all", None), ("on_cpu", "on_cpu"), ("runnable", "runnable")):
            folded = file_in("kernel-state.folded")
            options = ["--state", words] if words else []
            process, code = run_program("replay", capture, "--process", str(pid), "--idle", "--waits=off", "--collapsed", "-o", folded, *options)
            counts[name] = sum(stack.count for stack in read_folded(folded)) if code == 0 else 0
        return counts

    def test_short_runs(self):
        """The kernel's own account says which part of its time a thread ran."""
        capture, quality = file_in("kernel-short.pyro"), file_in("kernel-short.json")
        with victim(script("short-runs", SHORT_RUNS), python=newest_python()) as target:
            began, (before,) = time.monotonic(), accounts([target.pid])
            process, code = run_program("record", str(target.pid), "--engine", "kernel", "-r", "10k", "-d", "3", "-o", capture,
                                        "--quality", quality)
            (after,), seconds = accounts([target.pid]), time.monotonic() - began
            self.assertEqual(code, 0, process.output())
        counts = self.states(capture, target.pid)
        ran, said = (after[0] - before[0]) / (seconds * 1e9), counts["on_cpu"] / counts["all"]
        self.assertLess(abs(said - ran), 0.07 * ran + 0.01, (ran, said, counts))

    def test_rivals(self):
        """Threads that are ready to run are counted, too."""
        with victim(script("rivals", RIVALS), python=newest_python()) as target:
            pids = [target.pid] + [int(pid) for pid in target.out[0].split()]
            capture, quality = file_in("kernel-rivals.pyro"), file_in("kernel-rivals.json")
            before = accounts(pids)
            process, code = run_program("record", str(target.pid), "--subprocesses", "--engine", "kernel", "-r", str(RATE_HZ),
                                        "-d", "2", "-o", capture, "--quality", quality)
            after = accounts(pids)
            self.assertEqual(code, 0, process.output())
        for pid, (ran, delayed), (ran_then, delayed_then) in zip(pids, after, before):
            counts = self.states(capture, pid)
            share = (ran - ran_then) / (ran - ran_then + delayed - delayed_then)
            active = counts["on_cpu"] + counts["runnable"]
            self.assertLess(share, 0.6, "the processes did not share a processor")
            self.assertLess(abs(counts["on_cpu"] / active - share), 0.06, (pid, counts, share))
            self.assertGreaterEqual(active, 0.98 * counts["all"], counts)

    def test_refusals(self):
        with victim("threads.py", "1", "60") as target:
            for options, text in ((["--blocking"], "does not stop threads"),
                                  (["-r", "30k"], "at most 20000 times a second")):
                process, code = run_program("record", str(target.pid), "--engine", "kernel", "--idle", "--waits=off", "--collapsed=-", *options)
                self.assertEqual(code, 2, process.output())
                self.assertIn(text, process.output())


if __name__ == "__main__":
    skip_without_kernel_engine()
    main()
