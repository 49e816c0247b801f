"""Weaknesses of other samplers, each with a program that shows it: here it must be right.

| weakness | test |
| --- | --- |
| samples dropped where code is busy, so that short calls are under-reported | `test_accuracy` |
| one thread that cannot be read spoils the sample of all | `Threads.test_a_thread_that_cannot_be_read_spoils_only_itself` |
| a native thread that idles spoils every sample | `Threads.test_an_idle_native_thread_is_no_error` |
| more threads than a table holds | `Threads.test_more_threads_than_a_small_cache`, `.test_five_hundred_threads` |
| a thread whose name has parentheses and spaces never runs | `Threads.test_a_name_with_parentheses_and_spaces` |
| a thread in a sub-interpreter is counted twice | `Threads.test_a_thread_in_a_sub_interpreter_is_one_thread` |
| a thread in a state that another one has made is that one, or counted twice | `Threads.test_states_that_are_lent_are_of_the_threads_that_run_in_them` |
| an event loop of greenlets that waits is shown as busy | `Threads.test_a_hub_that_waits_is_idle` |
| errors while the target ends | `End.test_a_short_program_has_no_tail_of_errors`, `.test_a_program_of_milliseconds` |
| late ticks are made up for in a burst, elsewhere | `Schedule.test_a_gap_is_a_gap` |
| stacks deeper than a limit vanish | `Depth.test_deep_stacks_are_whole` |
| line 0 for functions with a large line table | `Names.test_a_function_of_twenty_thousand_lines` |
| names cut at 1024 characters | `Names.test_long_names` |
| nothing written on SIGTERM | `test_lifecycle.UserEnds.test_terminate_loses_nothing` |
| an output found unwritable after the capture | `Output.test_what_cannot_be_written_is_refused_before_sampling` |
| the target's exit status lost | `test_lifecycle.Run.test_a_script_with_arguments_and_status`, `.test_a_child_that_dies_of_a_signal` |
| a target found by the name of its file | `Reach.test_a_renamed_executable`, `.test_a_deleted_executable` |
| impossible stacks shown as fact | `test_stacks` |
| no thread runs while the target is stopped, so none is on a CPU | `Stopped.test_threads_are_as_they_were_before` |

What ends elsewhere without an error, and with nothing or something wrong in the output; here it is right, or refused with the
reason:

| situation | test |
| --- | --- |
| a busy target in a pid namespace below ours, samples of CPU time only | `test_doctor.Namespaces.test_other_numbers_of_processes_and_threads` |
| an executable that only the target's mount namespace has | `test_doctor.Namespaces.test_an_executable_that_only_its_own_mounts_have_and_that_is_gone` |
| an executable that has been deleted, as by an upgrade | `Reach.test_a_deleted_executable` |
| an executable that has been renamed | `Reach.test_a_renamed_executable` |
| a target that we may not read | `test_refusals.Targets.test_a_process_of_another_user`, `test_doctor.Refused` |
| a version that cannot be read | `test_refusals.Targets.test_an_interpreter_that_is_too_old` |
| a process that is no Python, or a kernel thread | `test_refusals.Targets.test_a_process_that_is_not_python`, `test_doctor.Gone.test_a_kernel_thread` |

Shares and counts have wide margins: what they would catch is wrong by a factor.
"""

import collections
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import unittest

import harness
from folded import read_folded
from harness import (ENGINE, PROGRAM, VICTIMS, WAIT_SECONDS, Live, Process, Test, file_in, kinds, main, newest, newest_python, program,
                     run_program, script, victim)

LONG = "120"
NATIVE_THREAD = os.environ.get("PYROMETER_NATIVE_THREAD", os.path.join(os.path.dirname(PROGRAM), "tests", "system",
                                                                       "libnative_thread.so"))


class Recording:
    """A recording that has ended well: its stacks and its quality."""

    def __init__(self, pid, *options, seconds="1.5", rate="500"):
        path, quality = file_in("weakness.folded"), file_in("weakness.json")
        self.process, code = run_program("record", str(pid), "-o", path, "--idle", "--waits=off", "--collapsed", "--quality", quality, "-r", rate, "-d",
                                         seconds, *options, seconds=float(seconds) + WAIT_SECONDS)
        assert code == 0, self.process.output()
        self.stacks = read_folded(path)
        with open(quality, encoding="utf-8") as file:
            self.quality = json.load(file)

    def failed(self):
        return sum(self.quality["failed"].values())

    def share(self, wanted):
        """The share of all samples whose stack `wanted` says yes to."""
        total = sum(stack.count for stack in self.stacks)
        return sum(stack.count for stack in self.stacks if wanted(stack)) / total

    def by_thread(self):
        counts = collections.Counter()
        for stack in self.stacks:
            counts[stack.tid] += stack.count
        return counts


class NewestPython(Test):
    """Tests with the newest interpreter of this machine that is supported."""

    def need_minor(self, minor):
        if newest().minor < minor:
            self.skipTest("no Python 3.%d or later is on this machine" % minor)


class Threads(NewestPython):
    # The page of a worker's frames is taken away while it waits in C; it will never need it again.
    UNREADABLE = """
import ctypes, mmap, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
places = []
def lost(lock):
    places.append(ctypes.c_uint64.from_address(id(sys._getframe()) + object.__basicsize__ + 8).value)
    lock.acquire()
def fine(end):
    while time.monotonic() < end:
        time.sleep(0.01)
def start(target, argument):
    thread = threading.Thread(target=target, args=(argument,), daemon=True)
    thread.start()
lock = threading.Lock()
lock.acquire()
start(fine, 1e9)
start(lost, lock)
start(fine, 1e9)
time.sleep(0.3)
page = mmap.PAGESIZE
assert libc.mprotect(places[0] // page * page, page, 0) == 0
print("READY", flush=True)
fine(1e9)
"""

    def test_a_thread_that_cannot_be_read_spoils_only_itself(self):
        with victim(script("unreadable.py", self.UNREADABLE)) as target:
            seen = Recording(target.pid, "-a")
            self.assertTrue(target.is_running())
        ticks = seen.quality["ticks"]
        whole = [count for count in seen.by_thread().values() if count > 0.95 * ticks]
        self.assertEqual(len(whole), 3, (ticks, seen.by_thread(), seen.quality))
        self.assertEqual(seen.share(lambda stack: "lost" in stack.names), 0)
        self.assertGreater(seen.failed(), 0.95 * ticks)
        self.assertLess(seen.failed(), 1.05 * ticks)

    NATIVE = """
import ctypes, sys, time
assert ctypes.PyDLL(sys.argv[1]).native_thread_start() == 0
def work():
    while True:
        pass
time.sleep(0.2)
print("READY", flush=True)
work()
"""

    def test_an_idle_native_thread_is_no_error(self):
        with victim(script("idle_native.py", self.NATIVE), NATIVE_THREAD) as target:
            seen = Recording(target.pid, "-a")
        ticks = seen.quality["ticks"]
        self.assertEqual(seen.failed(), 0, seen.quality)
        self.assertGreater(seen.by_thread()[target.pid], 0.95 * ticks)
        native = [stack for stack in seen.stacks if stack.tid != target.pid]
        self.assertTrue(native, "the native thread is not seen")
        self.assertEqual([stack.frames for stack in native if stack.frames], [])

    RESTING = """
import sys, threading, time
count = int(sys.argv[1])
started = threading.Barrier(count + 1)
def rest():
    started.wait()
    time.sleep(1e6)
threading.stack_size(256 * 1024)
for _ in range(count):
    threading.Thread(target=rest, daemon=True).start()
started.wait()
print("READY", flush=True)
rest.__globals__["time"].sleep(1e6)
"""

    def check_resting(self, count, least):
        with victim(script("resting.py", self.RESTING), str(count)) as target:
            time.sleep(0.3)
            seen = Recording(target.pid, "-a", seconds="3", rate="100")
        by_thread = seen.by_thread()
        self.assertEqual(len(by_thread), count + 1)
        self.assertLess(seen.failed(), 0.02 * seen.quality["samples"])
        self.assertGreater(seen.share(lambda stack: "rest" in stack.names or stack.tid == target.pid), 0.98)
        mean = sum(by_thread.values()) / len(by_thread)
        self.assertGreater(min(by_thread.values()), least * mean, sorted(by_thread.values())[:5])

    def test_more_threads_than_a_small_cache(self):
        self.check_resting(40, 0.9)

    def test_five_hundred_threads(self):
        """Each thread is sampled as often as another where not all are sampled each time."""
        self.check_resting(500, 0.5)

    NAMED = """
import ctypes, threading, time
libc = ctypes.CDLL(None)
def spin():
    libc.prctl(15, b"job (x) S1", 0, 0, 0)
    while True:
        pass
threading.Thread(target=spin, name="job (x) S1", daemon=True).start()
time.sleep(0.2)
print("READY", flush=True)
time.sleep(1e6)
"""

    def test_a_name_with_parentheses_and_spaces(self):
        """It spins, so it is on a CPU as often as the machine has one for it: by its name it would never be."""
        with victim(script("named.py", self.NAMED)) as target:
            seen = Recording(target.pid, "-a", "--mode", "cpu")
        self.assertGreater(seen.quality["samples"], 0.05 * seen.quality["ticks"], seen.quality)
        self.assertGreater(seen.share(lambda stack: "spin" in stack.names), 0.9)

    def test_a_thread_in_a_sub_interpreter_is_one_thread(self):
        """Until 3.12 threads share the state they have in there, and one that has entered it is seen in both places."""
        self.need_minor(13)
        with victim("subinterp.py", LONG) as target:
            seen = Recording(target.pid, "-a")
        for function in ("main", "inner"):
            count = sum(stack.count for stack in seen.stacks if function in stack.names)
            self.assertGreater(count, 0.5 * seen.quality["ticks"], function)
            # Seen in both places, it would have twice as many. Instants of the kernel engine come by chance.
            self.assertLessEqual(count, 1.1 * seen.quality["ticks"], function)
        self.assertLess(seen.share(lambda stack: "host" in stack.names), 0.05)
        self.assertEqual(len(seen.by_thread()), 2)


    # As mod_wsgi does, each thread keeps a state in each interpreter that it has been in.
    KEPT = """
import ctypes, threading, time
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
api = ctypes.pythonapi
for function in (api.PyInterpreterState_Head, api.PyInterpreterState_Next, api.PyThreadState_New):
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
api.PyInterpreterState_Head.argtypes = []
made = [interpreters.create() for _ in range(3)]
def keeper():
    at = api.PyInterpreterState_Head()
    while api.PyInterpreterState_Next(at):
        api.PyThreadState_New(at)
        at = api.PyInterpreterState_Next(at)
    started.set()
    while True:
        time.sleep(0.01)
started = threading.Event()
threading.Thread(target=keeper, daemon=True).start()
started.wait()
print("READY", flush=True)
while True:
    time.sleep(0.01)
"""

    def test_states_that_a_thread_keeps_are_one_thread(self):
        """In every version."""
        for python in kinds(lambda python: not python.is_free_threaded):
            with self.subTest(python.version), victim(script("kept.py", self.KEPT), python=python.path) as target:
                seen = Recording(target.pid, "-a")
                count = sum(stack.count for stack in seen.stacks)
                self.assertGreater(count, 1.5 * seen.quality["ticks"])
                self.assertLessEqual(count, 2.2 * seen.quality["ticks"])

    # As uWSGI does, the first thread makes states, and other threads run in them: in a sub-interpreter, in the main one, or all of them in
    # one state, in turn.  In C, as Python code would go on in the wrong state.
    LENDS = """
void *PyThreadState_Swap(void *);
int PyRun_SimpleStringFlags(const char *, void *);
int lend(void *state, const char *code)
{
    void *const own = PyThreadState_Swap(state);
    const int failed = PyRun_SimpleStringFlags(code, 0);
    PyThreadState_Swap(own);
    return failed;
}
"""
    LENT = """
import ctypes, sys, threading, time
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
HOW, LIBRARY = sys.argv[1:3]
api, lib = ctypes.pythonapi, ctypes.PyDLL(LIBRARY)
for function in (api.PyInterpreterState_Head, api.PyInterpreterState_Main, api.PyThreadState_New):
    function.restype, function.argtypes = ctypes.c_void_p, []
api.PyThreadState_New.argtypes = [ctypes.c_void_p]
lib.lend.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
if HOW != "main":
    made = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create(isolated=False)
interpreter = api.PyInterpreterState_Main() if HOW == "main" else api.PyInterpreterState_Head()
states = [api.PyThreadState_New(interpreter) for _ in range(3)]
turns = [threading.Semaphore(int(i == 0)) for i in range(3)]
CODE = '''
import time
def lent_%d(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
lent_%d(%s)
'''
def borrow(i):
    sys.stdout.write("LENT %d %d\\n" % (i, threading.get_native_id()))
    sys.stdout.flush()
    while True:
        if HOW == "turns":
            turns[i].acquire()
        lib.lend(states[0 if HOW == "turns" else i], (CODE % (i, i, "0.03" if HOW == "turns" else "1000")).encode())
        turns[(i + 1) % 3].release()
for i in range(3):
    threading.Thread(target=borrow, args=(i,), daemon=True).start()
time.sleep(0.3)
print("READY", flush=True)
while True:
    time.sleep(0.01)
"""

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_states_that_are_lent_are_of_the_threads_that_run_in_them(self):
        library = file_in("lends.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, script("lends.c", self.LENDS)], check=True)
        oldest = 13 if ENGINE == "kernel" else 12
        for python in kinds(lambda python: not python.is_free_threaded and python.minor >= oldest):
            # Until 3.12 a sub-interpreter that computes never gives the GIL back.
            for how in ("sub", "main", "turns") if python.minor >= 13 else ("main", "turns"):
                with self.subTest(python.version, how=how), victim(script("lent.py", self.LENT), how, library, python=python.path) as target:
                    target.wait_ready()
                    self.are_of_their_threads(target.pid, [int(target.wait_line("^LENT %d ([0-9]+)$" % i).group(1)) for i in range(3)])

    def are_of_their_threads(self, pid, tids):
        seen = Recording(pid, "-a")
        counts = seen.by_thread()
        self.assertEqual(set(counts), {pid, *tids}, seen.process.output())
        # One sample a tick of each. Instants of the kernel engine come by chance.
        self.assertLess(max(counts.values()), 1.1 * seen.quality["ticks"], counts)
        for i, tid in enumerate(tids):
            lent = [stack for stack in seen.stacks if "lent_%d" % i in stack.names]
            count = sum(stack.count for stack in lent)
            self.assertGreater(count, 0.2 * seen.quality["ticks"])
            # The first ones may come before it shows that states are lent.
            self.assertLess(sum(stack.count for stack in lent if stack.tid != tid), 0.1 * count + 5, [str(stack) for stack in lent])

    # The thread enters the newer interpreter first, and the older one from there: computing, then asleep.
    BACKWARDS = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
older = interpreters.create()
newer = interpreters.create()
print("READY", flush=True)
interpreters.run_string(newer, '''
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def enter():
    interpreters.run_string(%d, \"\"\"
import time
def innermost():
    while True:
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            pass
        time.sleep(0.3)
innermost()
\"\"\")
enter()
''' % int(older))
"""

    def test_an_older_interpreter_inside_a_newer_one(self):
        """The thread is one, in the interpreter that it entered last where the version says so."""
        for python in kinds():
            with self.subTest(python.version), victim(script("backwards.py", self.BACKWARDS), python=python.path) as target:
                seen = Recording(target.pid, "-a")
                if python.minor >= 13:
                    self.assertGreater(seen.share(lambda stack: "innermost" in stack.names), 0.98, [str(stack) for stack in seen.stacks])
                    self.assertLessEqual(sum(stack.count for stack in seen.stacks), 1.1 * seen.quality["ticks"])

    def test_interpreters_that_share_a_gil(self):
        """Two threads compute in turn, each in its interpreter: all the time one of them holds the GIL, and never both."""
        self.need_minor(13)
        with victim("shared_gil.py", LONG) as target:
            seen = Recording(target.pid, "-a")
        for function in ("spin", "inner"):
            count = sum(stack.count for stack in seen.stacks if function in stack.names)
            self.assertGreater(count, 0.5 * seen.quality["ticks"], function)
        self.assertEqual(len(seen.by_thread()), 2)
        held = seen.quality["states"]["has_gil"]
        self.assertEqual(held["unknown"], 0)
        if newest().is_free_threaded:
            self.assertEqual(held["yes"], 0)
            return
        # Some are taken just when the GIL changes hands.
        self.assertGreater(held["yes"], 0.4 * seen.quality["samples"])
        self.assertLess(held["yes"], 0.55 * seen.quality["samples"])

    # Its event loop is a greenlet as well, and waits most of the time; the other one works for a moment.
    HUB = """
import greenlet, time
def work():
    while True:
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            pass
        hub.switch()
def wait():
    while True:
        time.sleep(0.02)
        worker.switch()
hub = greenlet.getcurrent()
worker = greenlet.greenlet(work)
print("READY", flush=True)
wait()
"""

    def test_a_hub_that_waits_is_idle(self):
        """By its state, not by its name: off the CPU, the lock released."""
        able = kinds(lambda python: os.path.isdir(os.path.join(python.packages, "greenlet")))
        if not able:
            self.skipTest("greenlet is not here")
        with victim(script("hub.py", self.HUB), python=able[-1].path,
                    env=dict(os.environ, PYTHONPATH=able[-1].packages)) as target:
            modes = ("wall", "cpu") if able[-1].is_free_threaded else ("wall", "cpu", "gil")
            seen = {mode: Recording(target.pid, "--mode", mode) for mode in modes}
        waits = {mode: sum(stack.count for stack in found.stacks if "wait" in stack.names) for mode, found in seen.items()}
        self.assertGreater(waits["wall"], 100, waits)
        # On a busy machine it is runnable for a while each time that it wakes up.
        self.assertLess(waits["cpu"], waits["wall"] / 2, waits)
        self.assertLess(waits.get("gil", 0), waits["wall"] / 4, waits)
        self.assertFalse([str(stack) for stack in seen["wall"].stacks if {"wait", "work"} <= set(stack.names)])


class Stopped(Test):
    TWO = """
import threading, time
def spin():
    while True:
        pass
def rest():
    while True:
        time.sleep(3600)
threading.Thread(target=rest, name="rest", daemon=True).start()
print("READY", flush=True)
spin()
"""

    def test_threads_are_as_they_were_before(self):
        """CPU mode keeps only the samples of the thread that computes, not those of one that sleeps, on every interpreter."""
        path = script("two_threads.py", self.TWO)
        for python in kinds():
            with self.subTest(python=python.version), victim(path, python=python.path) as target:
                recording = Recording(target.pid, "-a", "--blocking", "--mode", "cpu", rate="200")
                counts = {name: sum(stack.count for stack in recording.stacks if name in stack.names) for name in ("spin", "rest")}
                ticks = recording.quality["ticks"]
                self.assertGreater(counts["spin"], 0.8 * ticks, recording.process.output())
                self.assertLess(counts["rest"], 0.2 * ticks, recording.process.output())
                # On a busy machine it is runnable now and then.
                states = recording.quality["states"]
                self.assertGreater(states["on_cpu"]["yes"] + states["runnable"]["yes"], 0.8 * recording.quality["samples"], states)


class End(Test):
    def test_a_short_program_has_no_tail_of_errors(self):
        """Ticks while it ends are neither failures nor samples."""
        path, quality = file_in("short.folded"), file_in("short.json")
        with victim("exits.py", "2") as target:
            process, code = run_program("record", str(target.pid), "--idle", "--waits=off", "--collapsed", "-o", path, "--quality", quality, "-r", "1khz")
        self.assertEqual(code, 0, process.output())
        with open(quality, encoding="utf-8") as file:
            quality = json.load(file)
        self.assertGreater(quality["samples"], 0)
        # An interpreter that ends takes some milliseconds to free its memory; without a processor meanwhile it stays there longer.
        self.assertLessEqual(sum(quality["failed"].values()), 20, quality)

    def test_a_program_of_milliseconds(self):
        """It is seen, without failures, and its exit code is ours; or it has ended before, and that is said."""
        path = script("milliseconds.py", "import sys\nsum(range(100000))\nsys.exit(5)\n")
        for _ in range(3):
            with program("run", "--listen", "127.0.0.1:0", "--python", newest_python(), path) as process:
                # A command that has not run Python ends by itself.
                if "stays" in process.wait_line("the page stays|before its first sample", process.err).group():
                    process.signal(signal.SIGINT)
                self.assertEqual(process.wait(), 5, process.output())
                self.assertFalse([line for line in process.err if "no samples" in line.lower()], process.output())


class Schedule(Test):
    PHASES = """
import signal
phase = "a"
def to_b(*_):
    global phase
    phase = "b"
signal.signal(signal.SIGUSR1, to_b)
def phase_a():
    while phase == "a":
        pass
def phase_b():
    while True:
        pass
print("READY", flush=True)
phase_a()
phase_b()
"""

    def test_a_gap_is_a_gap(self):
        """The profiler stands still in phase a: what it missed is counted, and not taken from phase b instead."""
        rate, gap = 500, 1.6
        path, quality = file_in("phases.folded"), file_in("phases.json")
        with victim(script("phases.py", self.PHASES)) as target, \
                program("record", str(target.pid), "--engine", "remote", "-r", str(rate), "--idle", "--waits=off", "--collapsed", "-o", path,
                        "--quality", quality) as process:
            time.sleep(1)
            process.signal(signal.SIGSTOP)
            time.sleep(gap)
            process.signal(signal.SIGCONT)
            time.sleep(0.2)
            target.signal(signal.SIGUSR1)
            began = time.monotonic()
            time.sleep(1)
            process.signal(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.output())
            in_b = time.monotonic() - began
        with open(quality, encoding="utf-8") as file:
            quality = json.load(file)
        counts = {name: sum(stack.count for stack in read_folded(path) if name in stack.names) for name in ("phase_a", "phase_b")}
        self.assertGreater(counts["phase_b"], 0)
        self.assertLess(counts["phase_b"], rate * in_b * 1.1 + 5, counts)
        self.assertGreater(quality["missed_ticks"], 0.9 * gap * rate, quality)


    def test_samples_stand_for_the_time_of_those_missed(self):
        """The profiler is kept from looking now and then: what it saw stands for all of the time, in every place that adds it up."""
        capture = file_in("late.pyro")
        with victim("chain.py", LONG) as target, program("record", str(target.pid), "--engine", "remote", "-r", "1khz",
                                                        "-o", capture) as process:
            time.sleep(0.5)
            for _ in range(12):
                process.signal(signal.SIGSTOP)
                time.sleep(0.1)
                process.signal(signal.SIGCONT)
                time.sleep(0.1)
            process.signal(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.output())
        with Live("serve", capture) as live:
            elapsed = live.session()["elapsed_s"]
            quality = live.session()["quality"]
            self.assertGreater(quality["missed_ticks"], 800, quality)
            seconds = live.get("/sessions/1/view")["seconds"]
        self.assertTrue(0.9 * elapsed < seconds < 1.05 * elapsed, (seconds, elapsed, quality))


class Depth(Test):
    def test_deep_stacks_are_whole(self):
        for depth in (3000, 10000):
            with victim("recursion.py", str(depth), LONG) as target:
                seen = Recording(target.pid, seconds="2", rate="100")
            self.assertLess(seen.failed(), 0.02 * seen.quality["samples"], seen.quality)
            whole = seen.share(lambda stack, depth=depth: stack.names.count("dive") == depth and "leaf" in stack.names)
            self.assertGreater(whole, 0.95, "of depth %d" % depth)


class Names(Test):
    def test_a_function_of_twenty_thousand_lines(self):
        lines = ["def big(a, b):"]
        lines += ["    c = a * b + a * b - (a + b) * (a - b)"] * 20000
        lines += ["    print('READY', flush=True)", "    while True:", "        a = b + 1"]
        text = "\n".join(lines) + "\nbig(1, 2)\n"
        with victim(script("big.py", text)) as target:
            seen = Recording(target.pid, seconds="1")
        where = {stack.frames[-1][2] for stack in seen.stacks if stack.names[-1:] == ["big"]}
        self.assertTrue(where)
        self.assertLessEqual(where, {20002, 20003, 20004})

    def test_long_names(self):
        name = "a_rather_long_name_" * 300
        text = "def %s():\n    while True:\n        pass\nprint('READY', flush=True)\n%s()\n" % (name, name)
        with victim(script("long_name.py", text)) as target:
            seen = Recording(target.pid, seconds="1")
        self.assertEqual({stack.names[-1] for stack in seen.stacks if len(stack.names) > 1}, {name})


class Output(Test):
    def test_what_cannot_be_written_is_refused_before_sampling(self):
        """No sample is taken for a file that cannot be there: it would go on for a minute."""
        with victim("chain.py", LONG) as target:
            for options in (["-o", "/no/such/folder/x.folded"], ["-o", file_in("fine.folded"), "--quality", "/no/such/folder/q"]):
                process, code = run_program("record", str(target.pid), "--idle", "--waits=off", "--collapsed", "-d", "60", *options)
                self.assertEqual(code, 1, process.output())
                self.assertRegex(process.err[-1], "cannot write '/no/such/folder/")
                self.assertFalse([line for line in process.err if "captured" in line], process.output())


class Reach(Test):
    def start_copy(self, path=None, program="chain.py"):
        """A copy of the newest interpreter, under a name that says nothing, which finds its library all the same."""
        if not path:
            path = file_in("accounting")
            shutil.copy(os.path.realpath(newest_python()), path)
        os.chmod(path, 0o755)
        process = Process([path, os.path.join(VICTIMS, program), LONG], env=newest().environment_of_copy())
        process.wait_ready()
        return path, process

    def check_seen(self, target):
        seen = Recording(target.pid, seconds="1")
        self.assertGreater(seen.share(lambda stack: "<module>" in stack.names), 0.95)

    def test_a_renamed_executable(self):
        _, process = self.start_copy()
        with process as target:
            self.check_seen(target)

    def test_a_minor_that_nobody_knows(self):
        """Instructions of an unknown minor are found out, and where they are not those of a known minor, no running thread is read
        while it moves. A warning says so in any case."""
        hexversion = subprocess.run([newest_python(), "-c", "import sys; print(sys.hexversion)"], stdout=subprocess.PIPE,
                                    timeout=harness.START_SECONDS, check=True).stdout
        start, tomorrow = (b"xdebugpy" + struct.pack("<Q", version) for version in (int(hexversion), 0x036300a1))
        code = pathlib.Path(os.path.realpath(newest_python())).read_bytes()
        if start not in code:
            self.skipTest("the newest interpreter does not describe itself in its executable")
        path = pathlib.Path(file_in("tomorrow"))
        path.write_bytes(code.replace(start, tomorrow))
        _, process = self.start_copy(str(path), "generators.py")
        with process as target:
            seen = Recording(target.pid)
        said = " ".join(seen.process.err)
        self.assertIn("Python 3.99.0a1 is newer than the releases that pyrometer was tested with", said)
        self.assertLess(seen.quality["truncated"], 0.2 * seen.quality["samples"], said)
        if harness.ENGINE == "remote":
            self.assertEqual("the instructions of this version of Python are unknown" in said, seen.quality["moving"] == 0, said)

    def test_a_deleted_executable(self):
        path, process = self.start_copy()
        with process as target:
            os.unlink(path)
            self.check_seen(target)


if __name__ == "__main__":
    main()
