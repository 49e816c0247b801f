"""record: which files it writes, in which formats, and what fails."""

import os
import pstats
import pty
import re
import select
import signal
import stat
import subprocess
import tempfile
import time
import unittest

from commands import DENIED, EMPTY, LIVE, PROGRAM, TIMEOUT_S, main, run


def blocks_signals(process):
    """Does it take signals itself by now?  One that comes sooner ends it."""
    with open("/proc/%d/status" % process.pid) as status:
        blocked = int(re.search(r"SigBlk:\s*([0-9a-f]+)", status.read()).group(1), 16)
    return blocked >> (signal.SIGINT - 1) & 1 == 1


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "out.folded")

    def tearDown(self):
        self.folder.cleanup()

    def wait_until_ready(self, process):
        end = time.monotonic() + TIMEOUT_S
        while not blocks_signals(process):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def record(self, *words, **keywords):
        return run("record", LIVE, "-d", "100ms", *words, cwd=self.folder.name, **keywords)

    def read(self, path=None):
        with open(path or self.path) as file:
            return file.read()

    def test_writes_folded_stacks_and_one_line(self):
        result = self.record("-o", self.path)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("tid:4711 MainThread;app.py:main:14;app.py:work:22 ", self.read())
        one_line = (r"^pyrometer: captured \d+ samples of 2 threads in \d+\.\d\d s \(duration is over\), 100\.0 %% exact: "
                    r"(\d+\.\d %% (?:running|needs the GIL|needs a processor|blocked|idle)(?:, |; )){2,5}wrote %s\n$" % self.path)
        self.assertRegex(result.stderr, one_line)
        parts = re.findall(r"(\d+\.\d) % (?:running|needs|blocked|idle)", result.stderr)
        self.assertAlmostEqual(sum(map(float, parts)), 100, delta=0.3)
        self.assertEqual(os.listdir(self.folder.name), ["out.folded"])

    def test_anonymized_stacks_tell_no_name_of_own_code(self):
        self.assertEqual(self.record("--anonymize", "-o", self.path).returncode, 0)
        self.assertRegex(self.read(), r"tid:4711 MainThread;mod-[0-9a-f]{8}\.py:func-[0-9a-f]{8}:14;")
        self.assertNotRegex(self.read(), r"app\.py|main:|work:")

    def test_writes_one_html_file(self):
        path = os.path.join(self.folder.name, "out.html")
        self.assertEqual(self.record("-o", path).returncode, 0)
        self.assertRegex(self.read(path), r'(?s)<script type="text/plain" id="profile-data" data-view="flame">[A-Za-z0-9+/=]+</script>')

    def test_standard_output_gets_the_file_and_nothing_else(self):
        result = self.record("--collapsed", "-o", "-")
        self.assertEqual(result.returncode, 0)
        for line in result.stdout.splitlines():
            self.assertRegex(line, r"^tid:471[12] (Main)?Thread(-4712)?(;.+)? \d+$")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_several_formats_go_to_a_folder(self):
        result = self.record("--flamegraph", "--collapsed", "-o", self.folder.name)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        names = sorted(os.listdir(self.folder.name))
        self.assertRegex(" ".join(names), r"^pyrometer-%d-\S+\.folded pyrometer-%d-\S+\.html$" % (LIVE, LIVE))

    def test_a_folder_is_made(self):
        folder = os.path.join(self.folder.name, "new", "")
        self.assertEqual(self.record("--collapsed", "--pprof", "-o", folder).returncode, 0)
        self.assertEqual(len(os.listdir(folder)), 2)

    def test_the_table_goes_to_the_screen_and_the_file_to_python(self):
        result = self.record("--pstats", "-l", "2", "--no-summary")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"(?m)^ +\d+/\d+ .*app\.py:20\(work\)$")
        self.assertRegex(result.stdout, r"\.\.\. +\d+ more")
        self.assertNotIn("\x1b", result.stdout)
        self.assertEqual(os.listdir(self.folder.name), [])
        path = os.path.join(self.folder.name, "out.pstats")
        self.assertEqual(self.record("-o", path).returncode, 0)
        self.assertIn(("/srv/app.py", 20, "work"), pstats.Stats(path).stats)

    def test_each_format_may_have_a_name_of_its_own(self):
        other = os.path.join(self.folder.name, "other")
        self.assertEqual(self.record("--flamegraph=" + other, "--collapsed=" + self.path).returncode, 0)
        self.assertIn("profile-data", self.read(other))
        self.assertIn("tid:4711 MainThread;", self.read())

    def test_two_formats_cannot_share_a_file(self):
        result = self.record("--flamegraph", "--collapsed", "-o", self.path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("two formats have the same file", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_names_the_file_itself(self):
        self.assertEqual(self.record("--flamegraph").returncode, 0)
        self.assertRegex(" ".join(os.listdir(self.folder.name)), r"^pyrometer-%d-\d{8}-\d{6}Z\.html$" % LIVE)

    def test_writes_what_it_has_when_stopped(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([PROGRAM, "record", str(LIVE), "-o", self.path], stderr=subprocess.DEVNULL)
            self.wait_until_ready(process)
            time.sleep(0.3)
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT_S), 0)
            self.assertIn("tid:4711 MainThread;", self.read())
            os.unlink(self.path)

    def test_terminal_shows_progress_while_it_records(self):
        """No other output has it, and nothing of it is left."""
        terminal, ours = pty.openpty()
        process = subprocess.Popen([PROGRAM, "record", str(LIVE), "-o", self.path, "-d", "60"], stderr=ours)
        os.close(ours)
        seen = b""
        while b"Ctrl-C ends it" not in seen:
            self.assertTrue(select.select([terminal], [], [], TIMEOUT_S)[0], seen)
            seen += os.read(terminal, 4096)
        self.assertRegex(seen, rb"recording: \d+ of 60 s, \d+ samples, \d+ Hz, exact \d+\.\d %, failed")
        process.send_signal(signal.SIGINT)
        while b"wrote " not in seen:
            self.assertTrue(select.select([terminal], [], [], TIMEOUT_S)[0], seen)
            seen += os.read(terminal, 4096)
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        os.close(terminal)
        self.assertRegex(seen, rb"Ctrl-C ends it\r\x1b\[Kpyrometer: ")

    def test_path_that_cannot_be_written_is_known_before_sampling(self):
        for path, text in (("/nowhere/x.folded", "No such file or directory"), ("/dev/null/x", "Not a directory")):
            began = time.monotonic()
            result = run("record", LIVE, "--collapsed", "-o", path)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr, "pyrometer: cannot write '%s': %s\n" % (path, text))
            self.assertLess(time.monotonic() - began, 10)

    def test_old_file_is_replaced_whole_and_links_are_followed(self):
        link = os.path.join(self.folder.name, "link.folded")
        with open(self.path, "w") as file:
            file.write("old\n" * 1000)
        os.symlink("out.folded", link)
        self.assertEqual(self.record("-o", link).returncode, 0)
        self.assertTrue(os.path.islink(link))
        self.assertNotIn("old", self.read())

    def test_old_file_stays_when_the_target_is_refused(self):
        with open(self.path, "w") as file:
            file.write("old\n")
        self.assertEqual(run("record", DENIED, "-o", self.path).returncode, 3)
        self.assertEqual(self.read(), "old\n")
        self.assertEqual(os.listdir(self.folder.name), ["out.folded"])

    def test_file_follows_the_mask_unless_others_must_not_see_it(self):
        self.assertEqual(self.record("-o", self.path, preexec_fn=lambda: os.umask(0o027)).returncode, 0)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600 if os.geteuid() == 0 else 0o640)

    def test_devices_are_written_in_place(self):
        self.assertEqual(self.record("--collapsed", "-o", "/dev/null").returncode, 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = self.record("--collapsed", "-o", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write '/dev/full': No space left on device", result.stderr)

    def test_nothing_captured_is_a_failure(self):
        process = subprocess.Popen([PROGRAM, "record", str(EMPTY), "-o", self.path], stderr=subprocess.PIPE, text=True)
        self.wait_until_ready(process)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=TIMEOUT_S)[1]
        self.assertEqual(process.returncode, 1)
        # A busy machine may not have begun to sample by then.
        self.assertRegex(err, "pyrometer: (no samples were captured|stopped before the first sample)\n")


if __name__ == "__main__":
    main()
