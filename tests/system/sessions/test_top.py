"""The live view in a terminal, on a pty: what it shows, its keys, and the terminal as it was at every end."""

import os
import signal
import subprocess

from harness import PROGRAM, SANITIZED, Test, exists, file_in, main, run_program, victim
from screen import Terminal

LONG = "100"


class Top(Test):
    def check_restored(self, terminal):
        self.assertTrue(terminal.is_as_before())
        self.assertEqual(terminal.screen.modes, {"25": True, "7": True, "1049": False})

    def test_it_shows_a_program_and_obeys_keys(self):
        capture = file_in("top.pyro")
        with victim("threads.py", LONG) as target, \
                Terminal([PROGRAM, "top", target.pid, "--binary=" + capture]) as terminal:
            terminal.until(r"PID %d  Python 3\.\d+.*running" % target.pid)
            terminal.until(r"^ *\d+ of 1000 Hz  \d+ samples  exact \d")
            terminal.until(r"threads  running \d.* GIL \d.*blocked \d.*idle \d")
            terminal.until(r"\d %.* spin +threads\.py:\d+")
            terminal.type("?")
            terminal.until("sort by self")
            terminal.type("t")
            terminal.until(r"^ +RUNNING +GIL +PROC +BLOCKED +IDLE +WAITS FOR +THREAD")
            terminal.until(r"worker-\d+ \(\d+\)")
            terminal.type("\r")
            terminal.until(r"the last 10 s, [^,]+ \(\d+\), all but idle")
            terminal.type("a/spi")
            terminal.until("filter: spi_")
            terminal.type("\r")
            terminal.until(r'all threads, all but idle, filter "spi"  1 of \d+ functions')
            terminal.type("c")
            terminal.until(r"all threads, all but idle  (\d+) of \1 functions")
            terminal.type("ssl")
            terminal.until(r"vFUNCTION, FILE:LINE")
            terminal.type("lwp")
            terminal.until(r"PAUSED  the last minute")
            terminal.type("p")
            for columns, rows in ((160, 50), (40, 10), (200, 12), (20, 5), (80, 24)):
                terminal.resize(columns, rows)
                # Whatever was on its way is of the size before; the last line is drawn last.
                if columns >= 40:
                    terminal.until(r"q quit  \? help")
                    terminal.until("pyrometer  PID %d" % target.pid)
                else:
                    terminal.until("^too small")
            terminal.type("q")
            self.assertEqual(terminal.finish(), 0, terminal.written[-2000:])
            self.check_restored(terminal)
            self.assertIn("captured", terminal.written.rpartition("1049l")[2])
            self.assertTrue(target.is_running())
            with Terminal([PROGRAM, "top", target.pid], 120, 40) as wide:
                wide.until(r"SELF +TOTAL +SAMPLES")
                wide.until(r"waiting for [A-Za-z ]+ \d")
                wide.type("t")
                wide.until(r"SAMPLES .*WAITS FOR +THREAD")
                wide.until(r" (sleep|lock|queue or condition) +\S.*\(\d+\)")
                wide.type("t")
                wide.until(r"\d s +\d+  \S+")
                wide.type("j")
                wide.type("\r")
                wide.until("^called by")
                wide.type("q")
                self.assertEqual(wide.finish(), 0)
                self.assertFalse(wide.screen.overflowed)
        process, code = run_program("replay", capture, "--collapsed", "-o", "-")
        self.assertEqual(code, 0, process.output())
        self.assertTrue(process.out)

    def test_the_terminal_is_as_before_whatever_ends_it(self):
        with victim("chain.py", LONG) as target:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV):
                if SANITIZED and number == signal.SIGSEGV:
                    continue
                with Terminal([PROGRAM, "top", target.pid]) as terminal:
                    terminal.until("exact")
                    self.assertFalse(terminal.is_as_before())
                    self.assertTrue(terminal.screen.modes["1049"])
                    if number == signal.SIGINT:
                        terminal.type("\x03")
                    else:
                        terminal.signal(number)
                    code = terminal.finish()
                    self.assertEqual(code, -number if number in (signal.SIGQUIT, signal.SIGSEGV) else 0)
                    self.check_restored(terminal)
            self.assertTrue(exists(target.pid))

    def test_it_can_be_put_aside(self):
        with victim("chain.py", LONG) as target, Terminal([PROGRAM, "top", target.pid]) as terminal:
            for _ in range(2):
                terminal.until("exact")
                terminal.type("\x1a")
                terminal.wait(terminal.is_stopped)
                terminal.wait(lambda: not terminal.screen.modes["1049"])
                self.check_restored(terminal)
                terminal.go_on()
                terminal.wait(lambda: terminal.screen.modes["1049"])
            terminal.until("exact")
            terminal.type("q")
            self.assertEqual(terminal.finish(), 0)
            self.check_restored(terminal)

    def test_the_end_of_the_program_is_shown(self):
        with victim("chain.py", LONG) as target, Terminal([PROGRAM, "top", target.pid]) as terminal:
            terminal.until(r"\d %.*chain\.py:")
            target.kill()
            terminal.until("ended: .*exited")
            terminal.until(r"\d %.*chain\.py:")
            terminal.type("q")
            self.assertEqual(terminal.finish(), 0)

    def test_what_a_program_is_called_cannot_spoil_it(self):
        with victim("hostile.py", LONG, ready=False) as target, Terminal([PROGRAM, "top", target.pid], 100, 30) as terminal:
            terminal.until(r"\d %")
            for key in ("j", "\r", "\x1b", "t", "t", "l"):
                terminal.type(key)
                terminal.until("exact")
            terminal.type("q")
            self.assertEqual(terminal.finish(), 0)
            self.assertFalse(terminal.screen.overflowed)

    def test_refusals_leave_the_terminal_alone(self):
        with Terminal([PROGRAM, "top", 4194300]) as terminal:
            self.assertEqual(terminal.finish(), 4)
            self.assertRegex(terminal.written, r"^pyrometer: .*4194300")
            self.assertNotIn("\x1b", terminal.written)
        with Terminal([PROGRAM, "top", os.getpid()], TERM="dumb") as terminal:
            self.assertEqual(terminal.finish(), 2)
            self.assertRegex(terminal.written, "TERM is 'dumb'.*--pstats")
        process, code = run_program("top", str(os.getpid()))
        self.assert_refused(process, code, 2, "top needs a terminal .*record --pstats")
        self.assertEqual(run_program("top")[1], 2)

    def test_a_terminal_that_goes_ends_it(self):
        with victim("chain.py", LONG) as target:
            terminal = Terminal([PROGRAM, "top", target.pid])
            try:
                terminal.until("exact")
                os.close(terminal.master)
                os.close(terminal._slave)
                self.assertIn(terminal.process.wait(60), (0, -signal.SIGHUP))
            except subprocess.TimeoutExpired:
                terminal.process.kill()
                raise


if __name__ == "__main__":
    main()
