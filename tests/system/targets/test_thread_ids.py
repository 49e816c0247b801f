"""Numbers of threads that a program has wrong, or names on purpose: no thread of another process is sampled or stopped."""

import json
import os
import shutil
import unittest

from folded import read_folded
from harness import SLOWNESS, Process, Test, file_in, main, newest_python, pythons, run_program, script, victim
from tracer import Tracer, traceable

LONG = "100"
SECONDS = str(0.5 * SLOWNESS)

# Forks in C, so that no hook of Python runs in the child; `raw`: not by the C library either.
FORKS = """
import ctypes, os, platform, sys, threading, time
HOW, END = sys.argv[1], time.monotonic() + float(sys.argv[2])
SIGKILL, PR_SET_PDEATHSIG, SIGCHLD = 9, 1, 17
lib = ctypes.PyDLL(None)
def child_leaf():
    until = time.monotonic() + 0.01
    while time.monotonic() < until:
        pass
def child_main():
    lib.prctl(PR_SET_PDEATHSIG, SIGKILL)
    while time.monotonic() < END:
        child_leaf()
    os._exit(0)
def fork():
    if HOW != "raw":
        return lib.fork()
    return lib.syscall(57) if platform.machine() == "x86_64" else lib.syscall(220, SIGCHLD, 0, 0, 0, 0)
def begin():
    pid = fork()
    if pid == 0:
        child_main()
    print("CHILD", pid, flush=True)
    print("READY", flush=True)
def parent_main():
    while time.monotonic() < END:
        time.sleep(0.05)
if HOW == "threads":
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    time.sleep(0.2)
if HOW == "worker":
    threading.Thread(target=lambda: (time.sleep(0.2), begin(), parent_main()), daemon=True).start()
    time.sleep(float(sys.argv[2]))
else:
    begin()
    parent_main()
"""

# Writes the number of a thread of another process into the state of its own; `both`: into what the C library has, too.
NAMES_ANOTHER = """
import ctypes, os, sys, threading, time
other, how, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
state = ctypes.pythonapi.PyThreadState_Get
state.restype = ctypes.c_void_p
words = (ctypes.c_uint64 * 64).from_address(state())
own = threading.get_native_id()
words[[at for at in range(64) if words[at] == own][0]] = other
if how == "both":
    bytes_of_tid = (ctypes.c_uint32 * 256).from_address(threading.get_ident())
    for at in range(256):
        if bytes_of_tid[at] == own:
            bytes_of_tid[at] = other
def hostile_leaf():
    until = time.monotonic() + 0.01
    while time.monotonic() < until:
        pass
print("READY", flush=True)
end = time.monotonic() + seconds
while time.monotonic() < end:
    hostile_leaf()
"""


def with_own_ids():
    """The kinds of interpreter that store the number of a thread themselves, one of each."""
    found = {python.kind: python for python in pythons() if python.is_supported and python.minor >= 11}
    return found.values()


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return int(file.read().split()[0])


class Recorded:
    """The findings of one recording of these processes."""

    def __init__(self, *words):
        path, quality = file_in("ids.folded"), file_in("ids.json")
        self.process, self.code = run_program("record", *map(str, words), "-d", SECONDS, "-r", "500", "--idle", "--waits=off", "--collapsed", "-o", path,
                                              "--quality", quality)
        self.said = "\n".join(self.process.err)
        self.stacks = read_folded(path) if self.code == 0 else []
        with open(quality, encoding="utf-8") as file:
            self.quality = json.load(file)
        self.tids = {stack.tid for stack in self.stacks}

    def names(self, tid):
        return {name for stack in self.stacks if stack.tid == tid for name in stack.names}


class Forked(Test):
    def fork(self, how, python=None):
        """The parent, and its child's pid."""
        parent = victim(script("forks.py", FORKS), how, LONG, python=python or newest_python(), preexec_fn=traceable)
        self.addCleanup(parent.kill)
        return parent, int(parent.wait_line("^CHILD ([0-9]+)").group(1))

    def test_the_child_has_threads_of_its_own(self):
        for python in with_own_ids():
            with self.subTest(python=python.version):
                parent, child = self.fork("libc", python.path)
                self.are_sampled_apart(parent.pid, child)
                self.runs_where_it_runs(child)
                self.has_its_own_native_frames(child)
                self.is_stopped_without(parent.pid, child)
                parent.kill()

    def are_sampled_apart(self, parent, child):
        found = Recorded(parent, child)
        self.assertEqual(found.tids, {parent, child}, found.said)
        self.assertIn("parent_main", found.names(parent))
        self.assertNotIn("child_main", found.names(parent))
        self.assertIn("child_main", found.names(child))
        self.assertEqual(found.quality["unmatched"], 0)
        self.assertNotIn("operating system is unknown", found.said)

    def runs_where_it_runs(self, child):
        found = Recorded(child, "--mode", "cpu")
        self.assertGreater(found.quality["samples"], 10, found.said)
        self.assertNotIn("their state on_cpu is unknown", found.said)

    def has_its_own_native_frames(self, child):
        process, code = run_program("dump", "--native", str(child))
        self.assertEqual(code, 0, process.output())
        self.assertRegex(process.out[1], "^  thread %d MainThread" % child)
        frames = [line.split(" (")[0].strip() for line in process.out[2:]]
        # The parent sleeps.
        self.assertFalse([name for name in frames if "sleep" in name or "wait" in name], process.output())
        self.assertIn("child_main", frames)
        self.assertGreater(len(frames) - frames.index("child_main"), 2, process.output())

    def is_stopped_without(self, parent, child):
        # Whoever has it would be refused another time.
        with Tracer(str(parent)):
            found = Recorded(child, "--stop", "always")
            self.assertGreater(found.quality["stopped"], 10)
            # Another profiler of this host may have the child now and then.
            self.assertLess(found.quality["stops_refused"], 0.05 * found.quality["stopped"], found.said)
            # Those of a thread that has no processor are read without a stop.
            self.assertEqual(found.quality["moving"], 0)

    def test_threads_that_the_fork_left_behind_are_none_of_the_child(self):
        parent, child = self.fork("threads")
        found = Recorded(child, "-a")
        self.assertEqual(found.tids, {child}, found.said)
        self.assertEqual(len(Recorded(parent.pid, "-a").tids), 4)

    def test_the_first_thread_is_the_main_one_after_a_fork_in_another(self):
        _, child = self.fork("worker")
        found = Recorded(child)
        self.assertEqual(found.tids, {child}, found.said)
        self.assertIn("child_main", found.names(child))

    def test_a_number_that_nobody_knows_is_unknown_and_said_to_be(self):
        parent, child = self.fork("raw")
        found = Recorded(parent.pid, child)
        self.assertEqual(found.tids, {parent.pid, 0}, found.said)
        self.assertIn("child_main", found.names(0))
        self.assertNotIn("child_main", found.names(parent.pid))
        self.assertGreater(found.quality["unmatched"], 0.2 * found.quality["samples"])
        self.assertRegex(found.said, "threads whose thread of the operating system is unknown")
        process, code = run_program("dump", "--native", str(child))
        self.assertEqual(code, 0, process.output())
        self.assertRegex(process.out[1], "^  thread of unknown number MainThread")
        self.assertIn("child_main", "\n".join(process.out))
        process, _ = run_program("doctor", str(child))
        self.assertRegex("\n".join(process.out), "UNKNOWN +threads +the kernel confirms no number of 1 thread")
        found = Recorded(child, "--engine", "auto")
        self.assertEqual(found.quality["engine"], "remote", found.said)

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("unshare"), "only root makes pid namespaces")
    def test_in_a_pid_namespace_numbers_are_those_of_the_namespace(self):
        path = script("forks.py", FORKS)
        for how, threads in (("libc", 2), ("threads", 5)):
            with self.subTest(how=how), Process(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", newest_python(), path,
                                                 how, LONG]) as process:
                process.wait_ready()
                parent = child_of(process.pid)
                child = child_of(parent)
                found = Recorded(parent, child, "-a")
                self.assertEqual(len(found.tids), threads, found.said)
                self.assertIn("child_main", found.names(child))
                self.assertIn("parent_main", found.names(parent))
                self.assertEqual(found.quality["unmatched"], 0)


class Hostile(Test):
    def test_a_thread_of_another_process_is_never_sampled_stopped_or_read(self):
        named = victim("alternate.py", LONG, preexec_fn=traceable)
        self.addCleanup(named.kill)
        found = list(with_own_ids())
        for python in {found[0].version: found[0], found[-1].version: found[-1]}.values():
            for how in ("state", "both"):
                with self.subTest(python=python.version, how=how), \
                        victim(script("names_another.py", NAMES_ANOTHER), str(named.pid), how, LONG, python=python.path) as hostile:
                    self.is_apart(named.pid, hostile.pid, how)
                    self.leaves_alone(named.pid, hostile.pid, how)

    def is_apart(self, named, hostile, how):
        found = Recorded(named, hostile)
        self.assertEqual(found.tids, {named, hostile if how == "state" else 0}, found.said)
        self.assertNotIn("hostile_leaf", found.names(named))
        self.assertEqual(found.quality["unmatched"] > 0, how == "both")

    def leaves_alone(self, named, hostile, how):
        # A stop of a thread that another one traces already would be refused.
        with Tracer(str(named)):
            found = Recorded(hostile, "--stop", "always")
            self.assertEqual(found.quality["stops_refused"], 0, found.said)
            self.assertEqual(found.quality["stopped"] > 10, how == "state")
            process, code = run_program("dump", "--native", str(hostile))
            self.assertEqual(code, 0, process.output())
            self.assertIn("hostile_leaf", "\n".join(process.out))


if __name__ == "__main__":
    main()
