"""How sessions begin and end: with the target, with the user, with time; and what is left behind (nothing)."""

import os
import signal
import subprocess
import time
import unittest

from folded import parse_folded, read_folded
from harness import (ENGINE, PROGRAM, VICTIMS, WAIT_SECONDS, Live, Test, exists, file_in, main, newest_python, program, run_program,
                     script, victim, wait_gone)

LONG = "60"
NO_VERSION = os.environ.get("PYROMETER_NO_VERSION", "")
# The rate that the engine takes.
FASTEST = "100khz" if ENGINE == "remote" else "20khz"


def record(pid, path, *options):
    return ["record", str(pid), "-o", path, "--idle", "--waits=off", "--collapsed"] + list(options)


def samples(path):
    return sum(stack.count for stack in read_folded(path))


class TargetEnds(Test):
    def test_it_exits_and_the_page_stays(self):
        with victim("exits.py", "5") as target, Live("attach", str(target.pid)) as live:
            self.assertEqual(target.wait(), 3)
            session = live.wait_ended()
            self.assertEqual((session["state"], session["reason"]), ("ended", "the target exited"))
            self.assertIsNotNone(session["ended_at"])
            self.assertGreater(session["quality"]["samples"], 0)
            live.process.wait_line("the target exited; the page stays at", live.process.err)
            self.assertEqual(live.ask("/").status, 200)
            self.assertEqual(live.get("/sessions/1/view")["total"], session["quality"]["samples"])
            self.assertEqual(live.change(state="paused").status, 409)
            self.assertEqual(live.stop(), 0)

    def test_it_is_killed_and_record_writes_what_it_has(self):
        path = file_in("killed.folded")
        with victim("alternate.py", LONG) as target, \
                program(*record(target.pid, path, "-r", "10khz", "--realtime-stats")) as process:
            process.wait_line("samples, exact", process.err)
            target.signal(signal.SIGKILL)
            self.assertEqual(process.wait(), 0, process.output())
            self.assertRegex(process.err[-1], r"^pyrometer: captured \d+ samples of 1 thread in [0-9.]+ s \(the target exited\), ")
            self.assertGreater(samples(path), 0)

    def test_it_is_killed_again_and_again_in_the_middle_of_a_read(self):
        for attempt in range(5):
            with victim("threads.py", "8", LONG) as target, Live("attach", "-r", FASTEST, "-a", str(target.pid)) as live:
                live.wait_samples(1)
                time.sleep(attempt * 0.013)
                target.signal(signal.SIGKILL)
                session = live.wait_ended()
                self.assertEqual((session["state"], session["reason"]), ("ended", "the target exited"))
                self.assertEqual(live.get("/sessions/1/view")["total"], session["quality"]["samples"])
                self.assertEqual(live.stop(), 0)

    def test_it_becomes_another_program(self):
        with victim("execs.py", LONG) as target, Live("attach", str(target.pid)) as live:
            session = live.wait_ended()
            self.assertEqual(session["state"], "ended")
            self.assertEqual(session["reason"], "the target replaced itself with another program (exec)")
            self.assertIn("before", live.get("/sessions/1/tree")["strings"]["values"])
            self.assertTrue(target.is_running())
            self.assertEqual(live.stop(), 0)

    def test_nothing_of_the_program_after_exec_is_taken_for_the_one_before(self):
        with victim("execs.py", LONG) as target, Live("attach", "-r", "2khz", str(target.pid)) as live:
            live.wait_ended()
            folded = parse_folded(live.ask("/api/v1/sessions/1/export?format=collapsed").body.decode("utf-8"))
            later = [stack for stack in folded if any(file == "chain.py" for file, _, _ in stack.frames)]
            self.assertEqual([str(stack) for stack in later], [])

    def test_it_lives_for_a_moment_only(self):
        path = file_in("moment.folded")
        with victim("exits.py", "0.3") as target, program(*record(target.pid, path)) as process:
            code = process.wait()
            if code == 0:
                self.assertGreater(samples(path), 0)
            else:
                # It may have gone before we came.
                self.assertIn(code, (1, 4), process.output())
                self.assertFalse(os.path.exists(path) and samples(path) > 0)

    def test_it_stops_and_goes_on(self):
        """A target that is stopped by a signal is still there to be seen."""
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            live.wait_samples(50)
            target.signal(signal.SIGSTOP)
            before = live.session()["quality"]["samples"]
            session = live.wait_samples(before + 200)
            self.assertEqual(session["state"], "running")
            target.signal(signal.SIGCONT)
            live.wait_samples(session["quality"]["samples"] + 50)


class UserEnds(Test):
    def check_signal(self, number):
        path = file_in("signal-%d.folded" % number)
        with victim("alternate.py", LONG) as target, program(*record(target.pid, path, "--realtime-stats")) as process:
            process.wait_line("samples, exact", process.err)
            process.signal(number)
            self.assertEqual(process.wait(), 0, process.output())
            self.assertGreater(samples(path), 0)
            self.assertTrue(target.is_running())

    def test_interrupt_loses_nothing(self):
        self.check_signal(signal.SIGINT)

    def test_terminate_loses_nothing(self):
        self.check_signal(signal.SIGTERM)

    def test_hang_up_loses_nothing(self):
        self.check_signal(signal.SIGHUP)

    def test_a_signal_before_the_first_sample_is_not_lost(self):
        """However early it comes, the program ends, and says so if it has nothing."""
        with victim("chain.py", LONG) as target:
            for delay in (0, 0.005, 0.02, 0.05):
                path = file_in("early.folded")
                with program(*record(target.pid, path)) as process:
                    time.sleep(delay)
                    process.signal(signal.SIGTERM)
                    code = process.wait()
                    self.assertIn(code, (0, 1, -signal.SIGTERM), process.output())
                    if code == 0:
                        self.assertGreater(samples(path), 0)

    def test_the_second_signal_ends_at_once_and_leaves_no_file(self):
        folder = os.path.dirname(file_in("second.folded"))
        with victim("chain.py", LONG) as target, program(*record(target.pid, os.path.join(folder, "second.folded"))) as process:
            time.sleep(0.5)
            for _ in range(3):
                process.signal(signal.SIGINT)
            code = process.wait()
            self.assertIn(code, (0, 128 + signal.SIGINT, -signal.SIGINT), process.output())
            left = [name for name in os.listdir(folder) if "second.folded" in name]
            self.assertEqual(left, ["second.folded"] if code == 0 else [])

    def test_attach_ends_and_the_target_goes_on(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
                live.wait_samples(50)
                live.process.signal(number)
                self.assertEqual(live.process.wait(), 0)
                self.assertTrue(target.is_running())
                with open("/proc/%d/status" % target.pid, encoding="utf-8") as status:
                    text = status.read()
                self.assertIn("TracerPid:\t0", text)
                self.assertNotIn("(stopped)", text)

    def test_attach_is_killed_and_the_target_goes_on(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            live.wait_samples(50)
            live.process.signal(signal.SIGKILL)
            live.process.wait()
            time.sleep(0.2)
            self.assertTrue(target.is_running())


class TimeEnds(Test):
    def test_duration(self):
        path = file_in("duration.folded")
        with victim("chain.py", LONG) as target:
            process, code = run_program(*record(target.pid, path, "-d", "500ms", "-r", "100"))
            self.assertEqual(code, 0)
            self.assertRegex(process.err[-1], r"^pyrometer: captured \d+ samples of \d+ threads? in [0-9.]+ s \(duration reached\), ")
            # Instants of the kernel engine come by chance.
            self.assertLessEqual(samples(path), 51 if ENGINE == "remote" else 75)
            with Live("attach", "-d", "1", str(target.pid)) as live:
                session = live.wait_ended()
                self.assertEqual((session["state"], session["reason"]), ("ended", "duration reached"))
                self.assertEqual(session["settings"]["duration_s"], 1)
                self.assertEqual(live.ask("/").status, 200)

    def test_pause_and_resume(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            live.wait_samples(50)
            self.assertEqual(live.change(state="paused").json()["state"], "paused")
            session = live.wait_session(lambda session: session["state"] == "paused")
            time.sleep(1)
            before = live.session()["quality"]["samples"]
            time.sleep(1)
            after = live.session()
            self.assertEqual((after["state"], after["quality"]["samples"]), ("paused", before))
            self.assertEqual(live.change(state="running").json()["state"], "running")
            live.wait_samples(before + 50)
            self.assertEqual(live.change(state="ended").status, 200)
            session = live.wait_ended()
            self.assertEqual((session["state"], session["reason"]), ("ended", "stopped"))
            self.assertTrue(target.is_running())

    def test_two_at_once(self):
        """One target may be sampled by two of us; neither disturbs the other."""
        with victim("chain.py", LONG) as target:
            with Live("attach", str(target.pid)) as one, Live("attach", str(target.pid)) as two:
                self.assertNotEqual(one.port, two.port)
                one.wait_samples(100)
                two.wait_samples(100)


PROGRAM_OF_USER = """
import os, sys, time
# At once: the profiler writes to the same place.
os.write(1, ("arguments %s\\n" % sys.argv[1:]).encode())
end = time.monotonic() + float(sys.argv[1])
def work():
    while time.monotonic() < end:
        pass
work()
sys.exit(int(sys.argv[2]))
"""


class Run(Test):
    def run_live(self, *arguments, **options):
        return Live("run", *arguments, **options)

    def child_of(self, live):
        return live.session()["target"]["pid"]

    def finish(self, live, expected_code):
        """The child ends by itself, the page stays, we end with the child's status."""
        session = live.wait_ended()
        self.assertEqual(session["reason"], "the target exited")
        self.assertGreater(session["quality"]["samples"], 0)
        self.assertFalse(exists(session["target"]["pid"]))
        time.sleep(0.2)
        self.assertEqual(live.stop(), expected_code, live.process.output())
        return session

    def test_a_script_with_arguments_and_status(self):
        path = script("program.py", PROGRAM_OF_USER)
        with self.run_live("--python", newest_python(), path, "1.5", "7", "-r", "--listen") as live:
            live.process.wait_line(r"arguments \['1.5', '7', '-r', '--listen'\]")
            session = self.finish(live, 7)
            self.assertEqual(session["target"]["command"], [newest_python(), path, "1.5", "7", "-r", "--listen"])

    def test_a_program_that_ends_after_its_session(self):
        path = script("program.py", PROGRAM_OF_USER)
        with self.run_live("-d", "0.5", "--python", newest_python(), path, "3", "7") as live:
            session = live.wait_ended()
            self.assertEqual(session["reason"], "duration reached")
            wait_gone(session["target"]["pid"])
            time.sleep(0.2)
            self.assertEqual(live.stop(), 7, live.process.output())

    def test_a_module(self):
        path = script("module_of_user.py", PROGRAM_OF_USER)
        with self.run_live("--python", newest_python(), "-m", "module_of_user", "1.5", "0", cwd=os.path.dirname(path)) as live:
            live.process.wait_line("arguments")
            self.finish(live, 0)

    def test_a_command(self):
        path = script("command.py", PROGRAM_OF_USER)
        with self.run_live("--", newest_python(), "-X", "utf8", path, "1.5", "3") as live:
            live.process.wait_line("arguments")
            self.finish(live, 3)

    def test_a_command_that_becomes_python_later(self):
        chain = os.path.join(VICTIMS, "chain.py")
        with self.run_live("--", "sh", "-c", "sleep 0.5; exec \"$0\" \"$1\" 2", newest_python(), chain) as live:
            session = live.wait_ended()
            self.assertGreater(session["quality"]["samples"], 0)

    def test_a_program_of_50_ms_is_sampled(self):
        path = script("brief.py", "import sys, time\nend = time.monotonic() + 0.05\ndef spin():\n    while time.monotonic() < end:\n"
                                  "        pass\nspin()\nsys.exit(3)\n")
        # The kernel engine, if there is one, is chosen before the program starts.
        with self.run_live("--engine", "auto", "--python", newest_python(), path) as live:
            self.assertGreater(self.finish(live, 3)["quality"]["samples"], 20)

    @unittest.skipUnless(ENGINE == "kernel", "needs the kernel engine, which misses no tick later")
    def test_what_is_not_sampled_at_the_start_is_missed(self):
        path = script("brief.py", "import time\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end:\n    pass\n")
        with self.run_live("-r", "10k", "--python", newest_python(), path) as live:
            quality = self.finish(live, 0)["quality"]
            self.assertGreater(quality["missed_ticks"], 0, quality)

    def test_what_comes_before_python_is_not_missed(self):
        chain = os.path.join(VICTIMS, "chain.py")
        with self.run_live("-r", "1k", "--", "sh", "-c", "sleep 2; exec \"$0\" \"$1\" 1", newest_python(), chain) as live:
            quality = live.wait_ended()["quality"]
            self.assertLess(quality["missed_ticks"], 1500, quality)

    @unittest.skipUnless(NO_VERSION, "needs PYROMETER_NO_VERSION, which ctest sets")
    def test_an_interpreter_that_is_not_ready(self):
        """While it starts it may not say its version yet."""
        chain = os.path.join(VICTIMS, "chain.py")
        with self.run_live("--", NO_VERSION, "0.5", newest_python(), chain, "2") as live:
            self.assertGreater(live.wait_ended()["quality"]["samples"], 0)

    @unittest.skipUnless(NO_VERSION, "needs PYROMETER_NO_VERSION, which ctest sets")
    def test_a_program_that_cannot_be_sampled_goes_on(self):
        with program("run", "--listen", "127.0.0.1:0", "--", NO_VERSION, "6") as process:
            process.wait_line("cannot be sampled yet: process [0-9]+: a Python that does not say its version", process.err)
            self.assertEqual(process.wait(), 0, process.output())

    def test_a_child_that_dies_of_a_signal(self):
        path = script("suicide.py", "import os, signal, time\ntime.sleep(2)\nos.kill(os.getpid(), signal.SIGKILL)\n")
        with self.run_live("--python", newest_python(), path) as live:
            self.finish(live, 128 + signal.SIGKILL)

    def check_ended_with_us(self, number):
        with self.run_live("--python", newest_python(), os.path.join(VICTIMS, "chain.py"), LONG) as live:
            live.process.wait_ready()
            live.wait_samples(20)
            child = self.child_of(live)
            live.process.signal(number)
            self.assertEqual(live.process.wait(), 0, live.process.output())
            wait_gone(child)

    def test_the_child_ends_with_us_on_interrupt(self):
        self.check_ended_with_us(signal.SIGINT)

    def test_the_child_ends_with_us_on_terminate(self):
        self.check_ended_with_us(signal.SIGTERM)

    def test_a_child_that_does_not_want_to_end(self):
        path = script("stubborn.py", "import signal, time\nfor number in (signal.SIGINT, signal.SIGTERM):\n"
                                     "    signal.signal(number, signal.SIG_IGN)\nprint('READY', flush=True)\ntime.sleep(60)\n")
        with self.run_live("--python", newest_python(), path) as live:
            live.process.wait_ready()
            child = self.child_of(live)
            live.process.signal(signal.SIGTERM)
            self.assertEqual(live.process.wait(), 0, live.process.output())
            wait_gone(child)

    def test_a_second_signal_does_not_wait(self):
        path = script("slow.py", "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                      "print('READY', flush=True)\ntime.sleep(60)\n")
        with self.run_live("--python", newest_python(), path) as live:
            live.process.wait_ready()
            child = self.child_of(live)
            live.process.signal(signal.SIGTERM)
            time.sleep(0.1)
            live.process.signal(signal.SIGTERM)
            live.process.wait()
            wait_gone(child)

    def test_what_the_child_says_comes_through(self):
        path = script("speaks.py", "import sys, time\nprint('to stdout', flush=True)\n"
                                   "print('to stderr', file=sys.stderr, flush=True)\ntime.sleep(1)\n")
        with self.run_live("--python", newest_python(), path) as live:
            live.process.wait_line("^to stdout")
            live.process.wait_line("^to stderr", live.process.err)

    def test_a_command_that_is_not_there(self):
        process, code = run_program("run", "--listen", "127.0.0.1:0", "--", "/no/such/program")
        self.assert_refused(process, code, 1, "cannot run '/no/such/program': No such file or directory")

    def test_a_command_that_is_not_python(self):
        """It goes on for as long as it wants, and its status is ours, as with env and strace; a line says that none was seen."""
        ended = r"ended \(status %d\) after \d+ ms, before its first sample"
        other = ended + ": it ran no Python itself; use --subprocesses to sample its child processes"
        for command, expected, said in (("exit 0", 0, ended), ("sleep 0.5; exit 9", 9, other), ("kill -KILL $$", 128 + signal.SIGKILL, ended)):
            process, code = run_program("run", "--listen", "127.0.0.1:0", "--", "sh", "-c", command)
            self.assertEqual(code, expected, process.output())
            process.wait_line(said % expected, process.err)
        with program("run", "--listen", "127.0.0.1:0", "--", "sh", "-c", "sleep 7; exit 9") as process:
            self.assertEqual(process.wait(7 + WAIT_SECONDS), 9, process.output())
        process.wait_line("'sh' does not run Python yet: sampling starts", process.err)
        process.wait_line(other % 9, process.err)

    def test_the_status_of_what_starts_python(self):
        """A shell is none, with or without its children; its status is ours."""
        command = "%s -c 'import time; time.sleep(1)'; exit 9" % newest_python()
        process, code = run_program("run", "--listen", "127.0.0.1:0", "--", "sh", "-c", command)
        self.assertEqual(code, 9, process.output())
        with self.run_live("--subprocesses", "--", "sh", "-c", command) as live:
            live.wait_ended()
            time.sleep(0.2)
            self.assertEqual(live.stop(), 9, live.process.output())

    def test_a_python_that_ends_at_once(self):
        """Nothing says that another process should be sampled, or that one of ours has gone."""
        for _ in range(8):
            ended = subprocess.run([PROGRAM, "run", "--listen", "127.0.0.1:0", "-o", file_in("at-once.pyro"), "--", newest_python(), "--version"],
                                   capture_output=True, text=True, timeout=WAIT_SECONDS, check=True)
            self.assertNotIn("--subprocesses", ended.stderr)
            self.assertNotIn("takes its place", ended.stderr)

    def test_a_script_that_is_not_there(self):
        """The interpreter says so. It may have been seen before that; then its page stays."""
        with program("run", "--listen", "127.0.0.1:0", "--python", newest_python(), "/no/such/script.py") as process:
            process.wait_line("can't open file", process.err)
            if process.wait_line("the page stays|before its first sample", process.err).group() == "the page stays":
                process.signal(signal.SIGINT)
            self.assertEqual(process.wait(), 2, process.output())


SAYS_END = """
import signal, sys, time
def end(number, frame):
    print("interrupted", flush=True)
    sys.exit(40)
signal.signal(signal.SIGINT, end)
signal.signal(signal.SIGTERM, end)
print("READY", flush=True)
end_ns = time.monotonic() + float(sys.argv[1])
def work():
    while time.monotonic() < end_ns:
        pass
work()
sys.exit(int(sys.argv[2]))
"""


class RecordCommand(Test):
    """`record -- COMMAND`, and `run` with a file to write: no page, the program's status, the file."""

    def path(self, ending):
        path = file_in("command" + ending)
        if os.path.exists(path):
            os.remove(path)
        return path

    def test_the_program_is_recorded_to_its_end_and_its_status_is_ours(self):
        says_end = script("says_end.py", SAYS_END)
        for words in (["record"], ["run"]):
            path = self.path(".folded")
            process, code = run_program(*words, "-o", path, "--", newest_python(), says_end, "0.5", "7")
            self.assertEqual(code, 7, process.output())
            self.assertGreater(samples(path), 100)
            self.assertEqual(process.out, ["READY"])
        path = self.path(".pyro")
        process, code = run_program("run", "-o", path, "--python", newest_python(), says_end, "0.5", "0")
        self.assertEqual((code, run_program("replay", path)[1]), (0, 0), process.output())

    def test_a_signal_is_128_and_its_number(self):
        path = self.path(".svg")
        process, code = run_program("record", "-o", path, "--", newest_python(), "-c",
                                    "import os, time; time.sleep(0.5); os.kill(os.getpid(), 9)")
        self.assertEqual(code, 128 + signal.SIGKILL, process.output())
        self.assertTrue(os.path.exists(path))

    def test_the_program_is_not_started_if_the_file_cannot_be_written(self):
        mark = self.path(".mark")
        for words in (["record"], ["run"]):
            process, code = run_program(*words, "-o", "/no/such/folder/x.html", "--", "touch", mark)
            self.assertEqual(code, 1, process.output())
        self.assertFalse(os.path.exists(mark))

    def test_zero_is_the_status_only_if_the_file_is_there(self):
        path = self.path(".html")
        for status, wanted in ((0, 4), (3, 3)):
            process, code = run_program("record", "-o", path, "--", "sh", "-c", "exit %d" % status)
            self.assertEqual(code, wanted, process.output())
            self.assertFalse(os.path.exists(path))

    def test_a_signal_ends_the_program_first_and_the_file_is_written(self):
        path = self.path(".folded")
        with program("record", "-o", path, "--", newest_python(), script("says_end.py", SAYS_END), LONG, "7") as process:
            process.wait_ready()
            time.sleep(0.5)
            process.signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 40, process.output())
        self.assertIn("interrupted", process.out)
        self.assertGreater(samples(path), 0)

    def test_after_the_duration_the_program_goes_on_to_its_end(self):
        path = self.path(".folded")
        process, code = run_program("record", "-d", "0.3", "-o", path, "--", newest_python(), script("says_end.py", SAYS_END), "1", "5")
        self.assertEqual(code, 5, process.output())
        self.assertRegex(process.err[-1], r"^pyrometer: captured \d+ samples of 1 thread in [0-9.]+ s \(duration reached\), ")

    def test_with_subprocesses_it_ends_with_the_program_and_not_with_its_children(self):
        path = self.path(".folded")
        command = "%s -c 'import time; time.sleep(%s)' & %s -c 'import time; time.sleep(1)'; echo $!; exit 9" % (
            newest_python(), LONG, newest_python())
        process, code = run_program("record", "-s", "-o", path, "--", "sh", "-c", command)
        self.assertEqual(code, 9, process.output())
        self.assertGreater(samples(path), 0)
        os.kill(int(process.out[0]), signal.SIGKILL)


if __name__ == "__main__":
    main()
