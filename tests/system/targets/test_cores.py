"""Core files: `dump` reads one as the process that it was, whoever wrote it, and refuses what is none.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import tempfile

from harness import WAIT_SECONDS, EachTest, Test, main, newest, pythons, run_program, script, victim
from test_locks import DEADLOCK, golden_waits, waits_of

CRASH = """
import ctypes
def crash():
    ctypes.string_at(0)
print("READY", flush=True)
crash()
"""
FAILED, USAGE, NO_TARGET = 1, 2, 4


def pattern():
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        return file.read().strip()


def unlimit():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)


class Folder(Test):
    """A test with a folder that cores go to."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cores-")
        self.addCleanup(shutil.rmtree, self.folder)

    def end_with_core(self, name, *arguments, number=None, folder=None, **options):
        """The core that the kernel writes of a victim that ends, and the victim."""
        if pattern().startswith(("/", "|")):
            self.skipTest("kernel.core_pattern is not relative: %s" % pattern())
        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.skipTest("the hard limit of ulimit -c is 0")
        folder = tempfile.mkdtemp(dir=folder or self.folder)
        with victim(name, *arguments, cwd=folder, preexec_fn=unlimit, **options) as target:
            if number:
                target.signal(number)
            code = target.wait()
        self.assertLess(code, 0, target.output())
        written, = os.listdir(folder)
        return os.path.join(folder, written), target


class Deadlock(EachTest, Folder):
    maxDiff = None

    def check(self, core, first, python):
        process, code = run_program("dump", core, "--fail-if", "deadlock")
        self.assertEqual(code, DEADLOCK, process.output())
        self.assertRegex(process.out[0], first)
        self.assertRegex(process.out[1], r"^process \d+, Python 3\.")
        self.assertRegex(process.out[2], "^deadlock: mover-")
        self.assertEqual(waits_of(process.out), golden_waits(python.minor), process.output())

    def test_is_named_from_the_core_that_the_kernel_wrote(self):
        self.each(self.check_kernel)

    def check_kernel(self, python):
        core, target = self.end_with_core("locks.py", "deadlock", "120", python=python.path, number=signal.SIGABRT)
        self.check(core, r"^core of PID %d \(.*python.*\), killed by SIGABRT from process %d$" % (target.pid, os.getpid()), python)
        os.remove(core)

    def test_is_named_from_the_core_that_gcore_wrote(self):
        if not shutil.which("gcore"):
            self.skipTest("gcore is not installed (Debian: gdb)")
        all_of_them = [python for python in pythons() if python.is_supported]
        for python in all_of_them[:1] + all_of_them[-3:-2]:
            with self.subTest(python.version):
                self.check_gcore(python)

    def check_gcore(self, python):
        environment = dict(os.environ, MALLOC_ARENA_MAX="1")
        with victim("locks.py", "deadlock", "120", python=python.path, env=environment) as target:
            wrote = subprocess.run(["gcore", "-o", os.path.join(self.folder, "core"), str(target.pid)], timeout=WAIT_SECONDS,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode()
        if re.search(r"Memory read failed for corefile section, \d+ bytes at 0x7f", wrote):
            self.skipTest("this gdb does not read stacks with guard pages")
        core = os.path.join(self.folder, "core.%d" % target.pid)
        if not os.path.exists(core):
            self.skipTest("gcore wrote none: " + wrote)
        self.check(core, r"^core of PID %d \(.*python.*\), written while it ran$" % target.pid, python)
        os.remove(core)

    def test_a_wait_that_ends_after_a_time_is_none(self):
        core, _ = self.end_with_core("locks.py", "timed", "120", number=signal.SIGQUIT)
        process, code = run_program("dump", core, "--fail-if", "deadlock")
        self.assertEqual(code, 0, process.output())
        self.assertIn("mover-0", waits_of(process.out))


class Crash(Folder):
    def crash(self, python=None, **options):
        return self.end_with_core(script("crash.py", CRASH), python=python, **options)

    def test_begins_with_what_killed_the_process(self):
        core, target = self.crash()
        process, code = run_program("dump", core, "-n")
        self.assertEqual(code, 0, process.output())
        self.assertRegex(process.out[0], r"^core of PID %d \(.*\), killed by SIGSEGV at 0x0, thread %d was running$"
                         % (target.pid, target.pid))
        text = "\n".join(process.out)
        self.assertRegex(text, r"(?m)^  thread %d MainThread(: holds the GIL|: handling an exception)*$" % target.pid)
        self.assertRegex(text, r"(?s)string_at.*crash \(.*crash\.py:4\).*<module> \(.*crash\.py:6\).*Py_BytesMain")
        process, code = run_program("dump", core, "--json")
        dump, = json.loads("\n".join(process.out))
        self.assertEqual(dump["pid"], target.pid)
        self.assertEqual(dump["core"]["tid"], target.pid)
        self.assertTrue(dump["core"]["killed"])
        self.assertEqual(dump["core"]["signal"]["name"], "SIGSEGV")
        self.assertEqual(int(dump["core"]["signal"]["address"], 16), 0)
        self.assertIsNone(dump["core"]["signal"]["sender"])
        self.assertEqual(dump["core"]["warnings"], [])
        self.assertIn("on_cpu", dump["threads"][0]["unknown"])

    def test_a_program_that_is_gone_is_named_and_may_be_given(self):
        python = newest()
        copy = os.path.join(self.folder, "copied-python")
        shutil.copy(os.path.realpath(python.path), copy)
        core, _ = self.crash(python=copy, env=python.environment_of_copy())
        os.rename(copy, copy + ".moved")
        process, code = run_program("dump", core)
        self.assert_refused(process, code, FAILED, "copied-python cannot be opened here: name the program that ran with --executable")
        process, code = run_program("dump", core, "--executable", copy + ".moved")
        self.assertEqual(code, 0, process.output())
        self.assertIn("    crash (", "\n".join(process.out))
        path = os.pathsep.join((self.folder, os.environ["PATH"]))
        process, code = run_program("dump", core, "--executable", "copied-python.moved", env=dict(os.environ, PATH=path))
        self.assertEqual(code, 0, process.output())
        process, code = run_program("dump", core, "--executable", "/bin/sh")
        self.assert_refused(process, code, USAGE, "/bin/sh is not the program of .*copied-python")

    def test_is_read_compressed_and_sparse_and_cut(self):
        core, _ = self.crash()
        whole, code = run_program("dump", core)
        self.assertEqual(code, 0, whole.output())
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-q", core, "-o", core + ".zst"], check=True, timeout=WAIT_SECONDS)
            process, code = run_program("dump", core + ".zst")
            self.assertEqual((code, process.out), (0, whole.out), process.output())
        bytes_ = os.stat(core).st_size
        os.truncate(core, 100 << 30)
        process, code = run_program("dump", core)
        self.assertEqual((code, process.out), (0, whole.out), process.output())
        for share in (0.9, 0.5, 0.1, 0.01, 0.001, 0):
            os.truncate(core, int(bytes_ * share))
            process, code = run_program("dump", core)
            self.assertIn(code, (0, FAILED, NO_TARGET) if share else (USAGE,), process.output())
            self.assertRegex("\n".join(process.out + process.err), "truncated|is not a core file", process.output())


class Refusals(Folder):
    def refuse(self, pattern_, *arguments, code=USAGE):
        process, found = run_program("dump", *arguments)
        self.assert_refused(process, found, code, pattern_)

    def test_each_is_one_line_that_says_what_to_do(self):
        path = os.path.join(self.folder, "file")
        self.refuse("neither a PID nor a core file", path)
        self.refuse("name the core, and the program with --executable", os.path.realpath("/bin/sh"))
        self.refuse("--executable needs a core file", "4711", "--executable", "/bin/sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write("text\n")
        self.refuse("is not a core file: name one that", path)
        os.symlink(path, path + ".link")
        self.refuse("is a symbolic link", path + ".link")
        os.mkfifo(path + ".fifo")
        self.refuse("is not a regular file", path + ".fifo")
        self.refuse("is not a regular file", self.folder)
        self.assertTrue(stat.S_ISFIFO(os.stat(path + ".fifo").st_mode))

    def test_a_program_that_is_not_python_is_said_to_be_none(self):
        core, _ = self.end_with_core(script("crash.sh", "echo READY\nkill -QUIT $$\n"), python="/bin/sh")
        self.refuse("is not a Python process", core, code=NO_TARGET)


if __name__ == "__main__":
    main()
