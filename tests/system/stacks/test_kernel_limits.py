"""The kernel engine beside targets that are large or in a hurry, with a ring buffer that overflows, and where it is refused.

Skipped where the kernel does not run the engine.
"""

import collections
import errno
import glob
import json
import re
import signal
import sys
import time

import harness
from folded import read_folded
from harness import Process, Test, file_in, main, newest_python, skip_without_kernel_engine, victim
from kernel import script

RATE_HZ = 500
# The most instructions of a program that the verifier walks through. It takes some microseconds for one.
MAX_VERIFIED = 45000
NOBODY = 65534
MANY = 5000

MANY_THREADS = """
import threading
threading.stack_size(1 << 16)
stays, ready = threading.Event(), threading.Semaphore(0)
def waits():
    ready.release()
    stays.wait()
for _ in range(%d):
    threading.Thread(target=waits, daemon=True).start()
for _ in range(%d):
    ready.acquire()
print("READY", flush=True)
def runs():
    while True:
        pass
runs()
""" % (MANY, MANY)

MANY_CHILDREN = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("READY", flush=True)
signal.sigwait([signal.SIGUSR1])
for _ in range(1000):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
print("DONE", flush=True)
def runs():
    while True:
        pass
runs()
"""

DEEP = """
import sys, threading, time
depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 100)
threading.stack_size(256 << 20)
def leaf():
    pass
def deep(depth):
    while depth == 0:
        leaf()
    deep(depth - 1)
print("READY", flush=True)
threading.Thread(target=deep, args=(depth,), name="runs").start()
while True:
    time.sleep(0.02)
"""

# Two functions alike begin the same recursion; each has a leaf of its own.
TWINS = """
import sys, time
depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 100)
def first_leaf(ends):
    while time.monotonic() < ends: pass
def second_leaf(ends):
    while time.monotonic() < ends: pass
def deep(depth, leaf):
    return deep(depth - 1, leaf) if depth else leaf(time.monotonic() + 0.3)
def first():
    deep(depth, first_leaf)
def second():
    deep(depth, second_leaf)
print("READY", flush=True)
while True:
    first()
    second()
"""

SHORT_THREADS = """
import threading, time
print("READY", flush=True)
number = 0
while True:
    names = {}
    exec("def short_%d(ends):\\n    while time.thread_time() < ends: pass" % number, {"time": time}, names)
    thread = threading.Thread(target=names.popitem()[1], args=(0.05,))
    thread.start()
    thread.join()
    number += 1
"""

# Runs a program whose calls of bpf() fail.
REFUSER = """
import ctypes, errno, os, struct, sys
BPF, SECCOMP_MODE_FILTER, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 321, 2, 22, 38
RETURN, LOAD, JUMP_EQUAL, ALLOW, ERRNO = 0x06, 0x20, 0x15, 0x7fff0000, 0x00050000
rows = [(LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 1, BPF), (RETURN, 0, 0, ERRNO | int(sys.argv[1])), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program):
    sys.exit("no filter: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[2], sys.argv[2:])
"""


def verified_instructions(pid):
    """Verified instructions of each BPF program that the process holds; None: the kernel does not say it."""
    counts = []
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            with open(path, encoding="ascii") as file:
                text = file.read()
        except FileNotFoundError:
            continue
        if "prog_jited:" in text:
            match = re.search(r"^verified_insns:\s+(\d+)$", text, re.MULTILINE)
            counts.append(int(match.group(1)) if match else None)
    return counts


class KernelLimits(Test):
    def record(self, target, name, *options, rate_hz=RATE_HZ, seconds=1, meanwhile=None):
        folded, quality = file_in(name + ".folded"), file_in(name + ".json")
        with harness.program("record", str(target.pid), "--engine", "kernel", "-r", str(rate_hz), "-d", str(seconds),
                             "-o", folded, "--idle", "--waits=off", "--collapsed", "--quality", quality, *options) as process:
            if meanwhile:
                meanwhile(process)
            self.assertEqual(process.wait(), 0, process.output())
        with open(quality, encoding="utf-8") as file:
            return read_folded(folded), json.load(file)

    def test_many_threads(self):
        with victim(script("many", MANY_THREADS), python=newest_python()) as target:
            stacks, quality = self.record(target, "kernel-many", "-a")
        self.assertEqual(sum(quality["failed"].values()), 0, quality)
        counts = {}
        for stack in stacks:
            counts.setdefault("runs" if "runs" in stack.names else "waits", []).append(stack.count)
        instants = quality["ticks"]
        self.assertEqual(len(counts["waits"]), MANY)
        self.assertLess(abs(sum(counts["waits"]) / MANY - instants), 0.1 * instants, quality)
        self.assertLess(abs(sum(counts["runs"]) - instants), 0.1 * instants, quality)

    def test_many_children(self):
        def fork(_):
            target.signal(signal.SIGUSR1)
            target.wait_line("DONE")
        with victim(script("forks", MANY_CHILDREN), python=newest_python()) as target:
            stacks, quality = self.record(target, "kernel-forks", "--subprocesses", seconds=2, meanwhile=fork)
        self.assertEqual(quality["truncated"], 0, quality)
        self.assertGreater(sum(stack.count for stack in stacks) + quality["missed_ticks"], 0.5 * quality["ticks"], quality)

    def test_overflow(self):
        def hold_up(process):
            # On a busy machine it may not have begun the first times.
            for _ in range(3):
                time.sleep(0.4)
                process.signal(signal.SIGSTOP)
                time.sleep(1.5)
                process.signal(signal.SIGCONT)
        with victim(script("deep", DEEP), "200", python=newest_python()) as target:
            stacks, quality = self.record(target, "kernel-overflow", "-a", rate_hz=10000, seconds=4, meanwhile=hold_up)
        self.assertGreater(quality["truncated"], 500, quality)
        self.assert_whole(target, stacks, quality)
        self.assertEqual({stack.names.count("deep") for stack in stacks if "deep" in stack.names}, {201})

    def assert_whole(self, target, stacks, quality):
        """Each of the two threads has one sample for each tick, whatever was lost of it."""
        counts = collections.Counter()
        for stack in stacks:
            counts["sleeps" if stack.tid == target.pid else "runs"] += stack.count
        for thread in ("runs", "sleeps"):
            self.assertLess(abs(counts[thread] - quality["ticks"]), 0.15 * quality["ticks"], (counts, quality))

    def test_a_stack_larger_than_a_record(self):
        """Its outermost part is read from the process, so it is whole, and not called exact."""
        with victim(script("deep", DEEP), "5000", python=newest_python()) as target:
            stacks, quality = self.record(target, "kernel-deep", "-a", rate_hz=100)
        depths = {stack.names.count("deep") for stack in stacks if "deep" in stack.names}
        self.assertIn(5001, depths, quality)
        self.assertGreater(quality["retried"], 30, quality)
        self.assertLess(sum(quality["failed"].values()) + quality["truncated"], 0.02 * quality["samples"], quality)

    def test_the_outer_part_of_a_very_deep_stack_is_read_now_and_then(self):
        with victim(script("deep", DEEP), "50000", python=newest_python()) as target:
            time.sleep(1)
            stacks, quality = self.record(target, "kernel-deepest", "-a", rate_hz=1000, seconds=4)
        self.assertEqual({stack.names.count("deep") for stack in stacks if "deep" in stack.names}, {50001})
        # A stack has 4 MB, and each sample had them read.
        self.assertLess(quality["read_bytes"], quality["retried"] * (2 << 20), quality)
        self.assert_whole(target, stacks, quality)

    def test_outer_frames_of_a_very_deep_stack_are_of_their_time(self):
        with victim(script("twins", TWINS), "20000", python=newest_python()) as target:
            stacks, quality = self.record(target, "kernel-twins", "-a", rate_hz=1000, seconds=3)
        counts = collections.Counter()
        for stack in stacks:
            if "first_leaf" in stack.names or "second_leaf" in stack.names:
                leaf = "first" if "first_leaf" in stack.names else "second"
                counts[leaf in stack.names] += stack.count
        self.assertGreater(counts[True], 100, quality)
        # It is read as soon as the profiler gets a processor; if it were not read again, half would be wrong.
        self.assertLess(counts[False], 0.5 * counts[True], counts)

    def test_short_threads(self):
        """A thread that runs for 50 ms is found at once."""
        with victim(script("short", SHORT_THREADS), python=newest_python()) as target:
            stacks, quality = self.record(target, "kernel-short", "-a", rate_hz=1000, seconds=2)
        samples = collections.Counter()
        for stack in stacks:
            samples.update({name: stack.count for name in set(stack.names) if name.startswith("short_")})
        lived = 1 + max(int(name[len("short_"):]) for name in samples) - min(int(name[len("short_"):]) for name in samples)
        self.assertGreater(len(samples), 0.9 * lived, (samples, quality))
        self.assertGreater(sum(samples.values()), 50 * 0.5 * (lived - 2), (samples, quality))

    def test_loading_takes_the_verifier_few_steps(self):
        counts = []
        def count(process):
            while process.is_running():
                counts[:] = max(counts, verified_instructions(process.pid), key=len)
                time.sleep(0.05)
        with victim("chain.py", "60") as target:
            self.record(target, "kernel-verifier", seconds=2, meanwhile=count)
        if None in counts:
            self.skipTest("needs a kernel that counts verified instructions (5.16)")
        self.assertGreaterEqual(len(counts), 2, counts)
        self.assertLess(max(counts), MAX_VERIFIED)

    def refused(self, wrapper, code, pattern, **options):
        with victim("chain.py", "60", **options) as target:
            command = [*wrapper, harness.PROGRAM, "record", str(target.pid), "-d", "300ms", "--idle", "--summary=-", "--engine"]
            with Process([*command, "kernel"], **options) as process:
                self.assertEqual(process.wait(), code, process.output())
                self.assertEqual(len(process.err), 1, process.output())
                self.assertRegex(process.err[0], pattern)
            with Process([*command, "auto"], **options) as process:
                self.assertEqual(process.wait(), 0, process.output())
                self.assertRegex("\n".join(process.out), "remote engine .*(%s)" % pattern, process.output())

    def test_no_capabilities(self):
        self.refused([], 3, "CAP_BPF and CAP_PERFMON", user=NOBODY, group=NOBODY, extra_groups=[])

    def test_a_kernel_that_refuses(self):
        wrapper = [sys.executable, script("refuser", REFUSER)]
        self.refused([*wrapper, str(errno.EPERM)], 3, "CAP_BPF and CAP_PERFMON")
        self.refused([*wrapper, str(errno.ENOSYS)], 1, "this kernel cannot run the kernel engine")


if __name__ == "__main__":
    skip_without_kernel_engine()
    main()
