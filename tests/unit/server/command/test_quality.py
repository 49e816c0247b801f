"""--quality and the quality line: when they are written, and where."""

import json
import os
import pty
import re
import signal
import sys
import tempfile
import time
import unittest

from commands import LIVE, PROGRAM, Started, main, run


class Quality(unittest.TestCase):
    """The run summary and the file of --quality."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "quality.json")

    def tearDown(self):
        self.folder.cleanup()

    def read(self):
        with open(self.path) as file:
            return json.load(file)

    def expect_file(self):
        quality = self.read()
        self.assertGreater(quality["samples"], 0)
        self.assertEqual(quality["exact"], quality["samples"])
        self.assertEqual(quality["failed"], {"gone": 0, "fault": 0, "perm": 0, "corrupt": 0})
        self.assertEqual(quality["requested_hz"], 1000)
        self.assertAlmostEqual(quality["states"]["has_gil"]["at_least"], 0.5)
        for name in ("duration_s", "achieved_hz", "rss_bytes"):
            self.assertGreater(quality[name], 0, name)
        for name in ("missed_ticks", "retried", "truncated", "stopped_s", "cpu_user_s", "cpu_sys_s", "reads",
                     "read_bytes", "code_hits", "code_misses", "code_stale", "filtered"):
            self.assertGreaterEqual(quality[name], 0, name)
        self.assertEqual(os.listdir(self.folder.name), ["quality.json"])

    def test_file_is_there_when_a_recording_ends(self):
        result = run("record", LIVE, "-d", "100ms", "--collapsed", "-o", "-", "--quality", self.path)
        self.assertEqual(result.returncode, 0)
        self.expect_file()

    def test_file_is_there_when_sampling_ends_and_the_page_stays(self):
        started = Started("attach", LIVE, "-d", "100ms", "--listen", ":0", "--quality", self.path)
        started.wait_for_error_line("the page stays at")
        self.expect_file()
        self.assertEqual(started.stop()[0], 0)

    def test_file_is_there_when_the_user_has_seen_enough(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            started = Started("attach", LIVE, "--listen", ":0", "--quality", self.path)
            self.assertFalse(os.path.exists(self.path))
            time.sleep(0.2)
            status, _, err = started.stop(number)
            self.assertEqual(status, 0)
            self.assertRegex(err, r"(?m)^pyrometer: captured [1-9]\d* samples of \d threads? in ")
            self.expect_file()
            os.unlink(self.path)

    def test_file_is_there_when_a_started_program_ends(self):
        started = Started("run", "--listen", ":0", "--quality", self.path, "--", sys.executable, "-c",
                          "import time; time.sleep(0.3); raise SystemExit(7)")
        started.wait_for_error_line("the page stays")
        self.expect_file()
        self.assertEqual(started.stop()[0], 7)

    def test_path_that_cannot_be_written_is_known_before_anything_starts(self):
        for words in (["attach", LIVE, "--listen", ":0"], ["record", LIVE, "--collapsed", "-o", "-"]):
            result = run(*words, "--quality", "/nowhere/q.json")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertEqual(result.stderr, "pyrometer: cannot write '/nowhere/q.json': No such file or directory\n")
        mark = os.path.join(self.folder.name, "ran")
        self.assertEqual(run("run", "--listen", ":0", "--quality", "/nowhere/q", "--", "touch", mark).returncode, 1)
        self.assertFalse(os.path.exists(mark))

    def test_file_that_fails_to_be_written_leaves_the_page_and_fails_the_command(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        started = Started("attach", LIVE, "-d", "100ms", "--listen", ":0", "--quality", "/dev/full")
        started.wait_for_error_line("cannot write '/dev/full'")
        started.wait_for_error_line("the page stays at")
        self.assertEqual(started.get("/healthz")[0], 200)
        self.assertEqual(started.stop()[0], 1)

    def test_a_line_every_second(self):
        line = (r"\d+ of 1000 Hz \(mean \d+, \d+ to \d+\)(, every \d+\.\d\d ms \(\d+\.\d\d to \d+\.\d\d\))?, \d+ samples, exact 100\.00 %, "
                r"failed 0\.00 %, missed 0, own CPU \d+\.\d %")
        for words in (["record", LIVE, "-d", "2.4", "--collapsed", "-o", "-"],):
            result = run(*words, "--realtime-stats")
            self.assertEqual(result.returncode, 0)
            # How many depends on how long the machine let it wait.
            self.assertGreaterEqual(len(re.findall(r"(?m)^%s$" % line, result.stderr)), 1, result.stderr)
            self.assertNotIn("\r", result.stderr)

    def test_the_line_is_written_over_itself_on_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(PROGRAM, [PROGRAM, "record", str(LIVE), "-d", "2.4", "--collapsed", "-o", "/dev/null",
                               "--realtime-stats"])
        seen = b""
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            seen += piece
        os.waitpid(pid, 0)
        os.close(terminal)
        # How many depends on how long the machine let it wait; each is written over the one before.
        self.assertGreaterEqual(seen.count(b" of 1000 Hz (mean"), 1)
        self.assertEqual(len(re.findall(rb"\r\d+ of 1000 Hz[^\r\n]*\x1b\[K", seen)), seen.count(b" of 1000 Hz (mean"))
        self.assertIn(b"\x1b[K\r\npyrometer: captured ", seen)


if __name__ == "__main__":
    main()
