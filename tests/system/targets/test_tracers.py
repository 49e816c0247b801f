"""Targets that a debugger has already, and targets that would debug the profiler."""

import ctypes
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from folded import read_folded
from harness import (FOLDER, SLOWNESS, WAIT_SECONDS, Live, Process, Test, file_in, main, newest_python, program, run_program,
                     victim)

HERE = os.path.dirname(os.path.abspath(__file__))
TRACES = os.path.join(HERE, "traces.py")
LONG = "100"
REFUSAL = "refuses to stop the target \\(is it being traced already\\?\\)"
PR_SET_PTRACER, ANY = 0x59616d61, ctypes.c_ulong(-1)


def traceable():
    """For a child: whoever has its identity may trace it, where the kernel asks for more by default."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANY, 0, 0, 0)


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


class Tracer(Process):
    """Has a process until a line asks it to let go."""

    def __init__(self, *arguments):
        read_fd, self.write_fd = os.pipe()
        super().__init__([newest_python(), TRACES, *arguments], stdin=read_fd)
        os.close(read_fd)
        try:
            self.wait_line("^READY")
        except BaseException:
            self.kill()
            raise

    def let_go(self):
        os.close(self.write_fd)
        self.write_fd = -1
        return self.wait()

    def __exit__(self, *problem):
        if self.write_fd >= 0:
            os.close(self.write_fd)
        super().__exit__(*problem)


class Traced(Test):
    def setUp(self):
        self.target = victim("threads.py", "3", LONG, preexec_fn=traceable)
        self.addCleanup(self.target.kill)
        self.pid = self.target.pid

    def goes_on(self):
        """It is neither stopped nor traced by anybody, and works."""
        status = status_of(self.pid)
        self.assertNotIn(status["State"][0], "tTZ")
        self.assertEqual(status["TracerPid"], "0")
        before = self.ticks()
        end = time.monotonic() + WAIT_SECONDS
        while self.ticks() == before:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def ticks(self):
        with open("/proc/%d/stat" % self.pid, encoding="ascii", errors="replace") as stat:
            return sum(int(field) for field in stat.read().rpartition(")")[2].split()[11:13])

    def record(self, *options):
        path = file_in("traced.folded")
        process, code = run_program("record", str(self.pid), "-d", "1", "-r", "200", *options, "--collapsed", "-o", path)
        return process, code, path

    def test_is_sampled_as_any_other(self):
        for how in ((), ("stopped",)):
            with self.subTest(how=how), Tracer(str(self.pid), *how) as tracer:
                process, code, path = self.record()
                self.assertEqual(code, 0, process.output())
                self.assertGreater(len(read_folded(path)), 0)
                for words in (["dump", str(self.pid)], ["doctor", str(self.pid)]):
                    process, code = run_program(*words)
                    self.assertEqual(code, 0, process.output())
                self.assertEqual(status_of(self.pid)["TracerPid"], str(tracer.pid))
                self.assertEqual(tracer.let_go(), 0)
                self.goes_on()

    def test_is_not_stopped_by_two(self):
        for how in ((), ("stopped",)):
            with self.subTest(how=how), Tracer(str(self.pid), *how) as tracer:
                process, code, _ = self.record("--blocking")
                self.assertEqual(code, 1, process.output())
                self.assertRegex(process.err[-1], "no samples were captured")
                self.assertEqual(len([line for line in process.err if "traced already" in line]), 1, process.output())
                self.assertRegex("\n".join(process.err), REFUSAL)
                self.assertEqual(tracer.let_go(), 0)
                self.goes_on()

    def test_is_read_while_it_moves_if_another_has_it(self):
        quality = file_in("traced.json")
        with Tracer(str(self.pid)) as tracer:
            process, code, path = self.record("-a", "--stop", "auto", "--quality", quality)
            self.assertEqual(code, 0, process.output())
            self.assertRegex("\n".join(process.err), "the kernel refused to stop threads")
            with open(quality, encoding="utf-8") as file:
                counted = json.load(file)
            self.assertEqual((counted["stops_refused"], counted["stopped"], counted["bias"]), (1, 0, None))
            self.assertGreater(len(read_folded(path)), 1)
            self.assertEqual(tracer.let_go(), 0)
            self.goes_on()

    def test_a_thread_that_another_has_costs_only_itself(self):
        tid = max(int(name) for name in os.listdir("/proc/%d/task" % self.pid))
        for how in ((), ("stopped",)):
            with self.subTest(how=how), Tracer(str(self.pid), "thread", str(tid), *how) as tracer:
                process, code, path = self.record("--blocking")
                self.assertEqual(code, 0, process.output())
                self.assertIn(self.pid, {stack.tid for stack in read_folded(path)})
                self.assertEqual(tracer.let_go(), 0)
                self.goes_on()

    def test_a_debugger_that_comes_while_it_is_stopped_for_each_tick(self):
        with program("record", str(self.pid), "--blocking", "-d", "20", "-r", "1khz", "--collapsed", "-o",
                     file_in("late.folded")) as recording:
            time.sleep(1 * SLOWNESS)
            # It loses some races against us, then it has the threads one by one.
            for _ in range(200):
                try:
                    tracer = Tracer(str(self.pid))
                    break
                except AssertionError:
                    continue
            else:
                self.skipTest("a debugger never got hold of the target")
            with tracer:
                self.assertIn(recording.wait(40 * SLOWNESS), (0, 1), recording.output())
                self.assertRegex("\n".join(recording.err), REFUSAL)
                self.assertEqual(tracer.let_go(), 0)
        self.goes_on()

    def test_a_server_says_so_and_goes_on(self):
        with Tracer(str(self.pid)) as tracer, Live("attach", "--blocking", str(self.pid)) as live:
            session = live.wait_ended()
            self.assertEqual(session["state"], "failed")
            self.assertRegex(session["reason"], REFUSAL)
            self.assertEqual(live.stop(), 0)
            self.assertEqual(tracer.let_go(), 0)
        self.goes_on()

    def test_ending_while_a_debugger_holds_it_is_seen(self):
        with Tracer(str(self.pid), "stopped") as tracer, Live("attach", str(self.pid)) as live:
            live.wait_samples(1)
            self.target.signal(signal.SIGKILL)
            self.assertRegex(live.wait_ended()["reason"], "the target exited")
            self.assertIsNotNone(tracer)


class Turned(Test):
    @unittest.skipUnless(os.getuid() == 0, "only root becomes another user")
    def test_what_is_sampled_does_not_debug_the_profiler(self):
        def become_nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        def as_nobody(*words):
            return subprocess.run([newest_python(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, preexec_fn=become_nobody, timeout=WAIT_SECONDS, check=False)
        os.makedirs(FOLDER, exist_ok=True)
        folder = tempfile.mkdtemp(dir=FOLDER)
        os.chown(folder, 65534, 65534)
        # The profiler becomes the user that the target is of.
        with victim("chain.py", LONG, preexec_fn=become_nobody) as target:
            with program("record", str(target.pid), "-d", "100", "--collapsed", "-o",
                         os.path.join(folder, "turned.folded")) as recording:
                end = time.monotonic() + WAIT_SECONDS
                while status_of(recording.pid)["Uid"].split()[0] != "65534":
                    self.assertLess(time.monotonic(), end, recording.output())
                    time.sleep(0.05)
                time.sleep(0.2)
                # The recording may have stopped the target at this moment; then nobody else can trace it.
                while as_nobody(TRACES, "try", str(target.pid)).stdout != b"0\n":
                    self.assertLess(time.monotonic(), end, recording.output())
                self.assertEqual(as_nobody(TRACES, "try", str(recording.pid)).stdout, b"1\n")
                read = as_nobody("-c", "open('/proc/%d/mem', 'rb')" % recording.pid)
                self.assertIn(b"PermissionError", read.stderr)
                self.assertTrue(recording.is_running(), recording.output())


if __name__ == "__main__":
    main()
