"""run: the status and the end of the program that it starts."""

import os
import pty
import re
import select
import signal
import socket
import sys
import tempfile
import time
import unittest

from commands import PROGRAM, TIMEOUT_S, Started, main, run


class Run(unittest.TestCase):
    def start(self, code, *words, **keywords):
        """A Python program of one line."""
        return Started("run", "--listen", ":0", *words, "--", sys.executable, "-c", code, **keywords)

    def child_of(self, started):
        status, body = started.authorized("/api/v1/sessions/1")
        self.assertEqual(status, 200)
        return int(re.search(rb'"pid":(\d+)', body)[1])

    def expect_gone(self, pid):
        self.assertFalse(os.path.exists("/proc/%d" % pid))

    def test_status_is_that_of_a_program_that_ended_by_itself(self):
        started = self.start("import time; time.sleep(0.3); raise SystemExit(7)")
        started.wait_for_error_line("target exited; the page stays")
        self.assertEqual(started.authorized("/")[0], 200)
        self.assertEqual(started.stop()[0], 7)

    def test_status_names_the_signal_that_ended_the_program(self):
        started = self.start("import os, time; time.sleep(0.3); os.abort()")
        started.wait_for_error_line("target exited")
        self.assertEqual(started.stop()[0], 128 + signal.SIGABRT)

    def test_program_ends_with_us(self):
        started = self.start("import time; time.sleep(60)")
        child = self.child_of(started)
        self.assertEqual(started.stop(signal.SIGTERM)[0], 0)
        self.expect_gone(child)

    def wait_until_it_ignores(self, pid, number):
        for _ in range(3000):
            with open("/proc/%d/status" % pid, encoding="utf-8") as file:
                ignored = int(re.search(r"^SigIgn:\s*([0-9a-f]+)", file.read(), re.MULTILINE).group(1), 16)
            if ignored >> (number - 1) & 1:
                return
            time.sleep(0.01)
        self.fail("process %d does not ignore signal %d" % (pid, number))

    def test_program_that_ignores_sigterm_is_killed(self):
        started = self.start("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)")
        child = self.child_of(started)
        self.wait_until_it_ignores(child, signal.SIGTERM)
        self.assertEqual(started.stop(signal.SIGTERM)[0], 0)
        self.expect_gone(child)

    def test_second_signal_ends_it_too(self):
        started = self.start("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)")
        child = self.child_of(started)
        self.wait_until_it_ignores(child, signal.SIGTERM)
        started.process.send_signal(signal.SIGTERM)
        started.stop(signal.SIGTERM)
        self.expect_gone(child)

    def test_files_and_modules_run_with_the_chosen_python(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.py")
            with open(path, "w") as file:
                file.write("import sys, time\ntime.sleep(0.2)\nraise SystemExit(len(sys.argv))\n")
            started = Started("run", "--listen", ":0", "--python", sys.executable, path, "-r", "--help")
            started.wait_for_error_line("target exited")
            self.assertEqual(started.stop()[0], 3)
            started = Started("run", "--listen", ":0", "--python", sys.executable, "-m", "app", "x", cwd=folder)
            started.wait_for_error_line("target exited")
            self.assertEqual(started.stop()[0], 2)

    def test_program_has_ordinary_signals(self):
        started = self.start("import signal, time; time.sleep(0.2);"
                             "ok = not signal.pthread_sigmask(0, []) and signal.getsignal(2) is not signal.SIG_IGN;"
                             "raise SystemExit(5 if ok else 6)")
        started.wait_for_error_line("target exited")
        self.assertEqual(started.stop()[0], 5)

    def test_program_that_cannot_be_started_is_one_line(self):
        result = run("run", "--listen", ":0", "--", "/nowhere/python")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "pyrometer: cannot run '/nowhere/python': No such file or directory\n")

    def test_taken_port_starts_no_program(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "ran")
            result = run("run", "--listen", "127.0.0.1:%d" % taken.getsockname()[1], "--", "touch", mark)
            self.assertEqual(result.returncode, 1)
            self.assertFalse(os.path.exists(mark))

    def test_ctrl_c_reaches_the_program_too(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "interrupted")
            ready = os.path.join(folder, "ready")
            code = ("import time\n"
                    "try:\n    open(%r, 'w'); time.sleep(60)\n"
                    "except KeyboardInterrupt:\n    time.sleep(0.3); open(%r, 'w')\n" % (ready, mark))
            pid, terminal = pty.fork()
            if pid == 0:
                os.execv(PROGRAM, [PROGRAM, "run", "--listen", ":0", "--", sys.executable, "-c", code])
            self.read_until(terminal, b"?token=")
            end = time.monotonic() + TIMEOUT_S
            while not os.path.exists(ready) and time.monotonic() < end:
                time.sleep(0.05)
            os.write(terminal, b"\x03")
            self.read_until(terminal, None)
            _, status = os.waitpid(pid, 0)
            os.close(terminal)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            self.assertTrue(os.path.exists(mark))

    def read_until(self, terminal, text):
        """text None: until the other side is closed."""
        seen = b""
        while text is None or text not in seen:
            if not select.select([terminal], [], [], TIMEOUT_S)[0]:
                raise AssertionError("only %r" % seen)
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                return


if __name__ == "__main__":
    main()
