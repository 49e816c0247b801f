"""Targets that a debugger has already, and targets that would debug the profiler."""

import json
import os
import signal
import subprocess
import time
import unittest

from folded import read_folded
from harness import SLOWNESS, WAIT_SECONDS, Live, Test, file_in, main, newest_python, processes_of, program, run_program, victim
from tracer import TRACES, Tracer, status_of, traceable

LONG = "100"
REFUSAL = "the kernel refused to stop threads [0-9]+ times \\(is the target being traced\\?\\)"


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
        process, code = run_program("record", str(self.pid), "-d", "1", "-r", "200", *options, "--idle", "--waits=off", "--collapsed", "-o", path)
        return process, code, path

    def test_is_sampled_as_any_other(self):
        for how in ((), ("stopped",)):
            with self.subTest(how=how), Tracer(str(self.pid), *how) as tracer:
                process, code, path = self.record()
                self.assertEqual(code, 0, process.output())
                self.assertGreater(len(read_folded(path)), 0)
                for words in (["dump", str(self.pid)], ["dump", "--native", str(self.pid)], ["doctor", str(self.pid)]):
                    process, code = run_program(*words)
                    self.assertEqual(code, 0, process.output())
                    if words[0] == "dump":
                        threads = [line.split()[2].rstrip(":") for line in process.out if line.startswith("  thread ")]
                        self.assertEqual(sorted(threads), ["MainThread", "worker-0", "worker-1", "worker-2"], process.output())
                self.assertEqual(status_of(self.pid)["TracerPid"], str(tracer.pid))
                self.assertEqual(tracer.let_go(), 0)
                self.goes_on()

    def recorded(self, *options):
        quality = file_in("traced.json")
        process, code, path = self.record("-a", "--engine", "remote", "--quality", quality, *options)
        with open(quality, encoding="utf-8") as file:
            return process, code, path, json.load(file)

    def test_samples_of_running_threads_fail_where_all_are_to_be_stopped(self):
        with Tracer(str(self.pid)) as tracer:
            process, code, path, counted = self.recorded("--blocking")
            self.assertEqual(code, 0, process.output())
            self.assertRegex("\n".join(process.err), REFUSAL + ": samples of threads that ran failed")
            # It was asked again and again, for as long as was wanted.
            self.assertGreater(counted["duration_s"], 0.9)
            self.assertGreater(counted["stops_refused"], 10)
            self.assertGreater(counted["failed"]["perm"], 10)
            self.assertEqual((counted["moving"], counted["stopped"]), (0, 0))
            # Those that wait stand still anyway.
            self.assertIn(self.pid, {stack.tid for stack in read_folded(path)})
            self.assertEqual(tracer.let_go(), 0)
            self.goes_on()

    def test_threads_that_a_debugger_has_stopped_stand_still(self):
        with Tracer(str(self.pid), "stopped") as tracer:
            process, code, path, counted = self.recorded("--blocking")
            self.assertEqual(code, 0, process.output())
            self.assertEqual(counted["failed"]["perm"], 0)
            self.assertEqual(len({stack.tid for stack in read_folded(path)}), 4)
            self.assertEqual(tracer.let_go(), 0)
            self.goes_on()

    def test_that_no_stop_succeeded_is_said(self):
        with victim("alternate.py", LONG, preexec_fn=traceable) as target, Tracer(str(target.pid)):
            process, code = run_program("record", str(target.pid), "--blocking", "-d", "1", "--idle", "--waits=off", "--collapsed", "-o", file_in("traced.folded"))
            self.assertEqual(code, 1, process.output())
            self.assertRegex(process.err[-1], "no samples were captured: the kernel refused every stop")
            self.assertRegex("\n".join(process.err), r"captured 0 samples in (0\.9|[1-9])")

    def test_is_read_while_it_moves_if_another_has_it(self):
        quality = file_in("traced.json")
        with Tracer(str(self.pid)) as tracer:
            process, code, path = self.record("-a", "--stop", "auto", "--quality", quality)
            self.assertEqual(code, 0, process.output())
            self.assertRegex("\n".join(process.err), "the kernel refused to stop threads")
            with open(quality, encoding="utf-8") as file:
                counted = json.load(file)
            # It is asked once a second.
            self.assertIn(counted["stops_refused"], range(1, int(counted["duration_s"]) + 2))
            self.assertEqual(counted["stopped"], 0)
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
        with program("record", str(self.pid), "-a", "--blocking", "-d", "100", "-r", "1khz", "--idle", "--waits=off", "--collapsed", "-o",
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
                time.sleep(1 * SLOWNESS)
                self.assertTrue(recording.is_running(), recording.output())
                self.assertEqual(tracer.let_go(), 0)
            recording.signal(signal.SIGINT)
            self.assertEqual(recording.wait(), 0, recording.output())
            self.assertRegex("\n".join(recording.err), REFUSAL)
        self.goes_on()

    def test_a_session_goes_on_and_has_samples_once_the_debugger_has_gone(self):
        with victim("alternate.py", LONG, preexec_fn=traceable) as target, Tracer(str(target.pid)) as tracer, \
                Live("attach", "--blocking", str(target.pid)) as live:
            session = live.wait_session(lambda session: session["quality"]["failed"]["perm"] > 1500)
            self.assertEqual((session["state"], session["quality"]["samples"]), ("running", 0))
            self.assertGreater(session["quality"]["stops_refused"], 0)
            self.assertEqual(tracer.let_go(), 0)
            session = live.wait_samples(100)
            self.assertEqual(session["state"], "running")
            self.assertEqual(session["quality"]["moving"], 0)
            self.assertEqual(live.stop(), 0)

    def test_of_two_targets_the_one_that_a_debugger_has_stays(self):
        with victim("alternate.py", LONG, preexec_fn=traceable) as traced, victim("alternate.py", LONG) as other, \
                Tracer(str(traced.pid)), Live("attach", "--blocking", str(traced.pid), str(other.pid)) as live:
            session = live.wait_session(lambda session: session["quality"]["failed"]["perm"] > 1500)
            self.assertEqual(session["processes"]["running"], 2)
            self.assertGreater(session["quality"]["samples"], 0)

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
        with victim("chain.py", LONG, preexec_fn=become_nobody) as target:
            with program("record", str(target.pid), "-d", "100", "--idle", "--waits=off", "--collapsed", "-o", "-") as recording:
                end = time.monotonic() + WAIT_SECONDS
                # Each process of root's profiler becomes a user of its own.
                while status_of(recording.pid)["Uid"].split()[0] == "0":
                    self.assertLess(time.monotonic(), end, recording.output())
                    time.sleep(0.05)
                time.sleep(0.2)
                # The recording may have stopped the target at this moment; then nobody else can trace it.
                while as_nobody(TRACES, "try", str(target.pid)).stdout != b"0\n":
                    self.assertLess(time.monotonic(), end, recording.output())
                for pid in (recording.pid, *processes_of(recording.pid).values()):
                    self.assertEqual(as_nobody(TRACES, "try", str(pid)).stdout, b"1\n")
                    read = as_nobody("-c", "open('/proc/%d/mem', 'rb')" % pid)
                    self.assertIn(b"PermissionError", read.stderr)
                self.assertTrue(recording.is_running(), recording.output())


if __name__ == "__main__":
    main()
