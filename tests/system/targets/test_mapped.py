"""Targets that have mapped FIFOs, devices and files that are gone: they are sampled, and nothing of it is opened."""

import os
import re
import shutil
import tempfile
import threading
import unittest

from folded import read_folded
from harness import FOLDER, PROGRAM, SANITIZED, WAIT_SECONDS, Process, Test, file_in, main, newest_python, pythons, run_program, victim
from host import Host

HERE = os.path.dirname(os.path.abspath(__file__))
LONG = "100"
# Devices that this program itself needs; a file of /dev that a target has mapped is none of them.
OWN_DEVICES = {"/dev/null", "/dev/urandom", "/dev/random", "/dev/tty"}


class Writer:
    """Waits for somebody to open a FIFO for reading."""

    def __init__(self, path):
        self.path = path
        self.thread = threading.Thread(target=self.wait, daemon=True)
        self.thread.start()

    def wait(self):
        os.close(os.open(self.path, os.O_WRONLY))

    def still_waits(self):
        return self.thread.is_alive()

    def end(self):
        fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.thread.join(WAIT_SECONDS)
        os.close(fd)


class Mapped(Test):
    def start(self, python):
        folder = tempfile.mkdtemp(prefix="odd-", dir=FOLDER)
        self.addCleanup(shutil.rmtree, folder)
        target = victim(os.path.join(HERE, "maps_odd.py"), folder, LONG, python=python)
        self.addCleanup(target.kill)
        self.assertIn("/dev/zero", target.out)
        fifos = [os.path.join(folder, name) for name in os.listdir(folder)]
        self.writers = [Writer(path) for path in fifos if os.path.exists(path) and not os.path.islink(path)]
        self.assertEqual(len(self.writers), 2)
        for writer in self.writers:
            self.addCleanup(writer.end)
        return target

    def untouched(self):
        self.assertTrue(all(writer.still_waits() for writer in self.writers))

    def kinds(self):
        """The oldest, the newest, and one between."""
        found = list({python.minor: python.path for python in pythons()
                      if python.is_supported and python.kind[1] == ""}.values()) or [newest_python()]
        return sorted({found[0], found[len(found) // 2], found[-1]})

    def test_are_sampled_and_nothing_is_opened(self):
        for python in self.kinds():
            with self.subTest(python=python):
                target, path = self.start(python), file_in("odd.folded")
                pid = str(target.pid)
                for words in (["record", pid, "-d", "500ms", "--native", "--collapsed", "-o", path], ["dump", pid],
                              ["doctor", pid]):
                    process, code = run_program(*words)
                    self.assertEqual(code, 0, process.output())
                    self.untouched()
                self.assertIn("odd_work", {name for stack in read_folded(path) for name in stack.names})
                target.kill()

    def test_are_listed_and_served(self):
        target = self.start(None)
        with Host() as host:
            row = host.row(target.pid, lambda row: row["python"])
            self.assertTrue(row["can_attach"])
            one = host.start(pids=[target.pid], native="leaf")
            host.running(one)
            self.assertEqual(host.ask("/api/v1/processes/%d/dump" % target.pid).status, 200)
            self.untouched()

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed, which says what is opened")
    @unittest.skipIf(SANITIZED, "leaks are not looked for below a tracer")
    def test_no_device_is_opened(self):
        target = self.start(None)
        for words in (["dump"], ["doctor"], ["record", "-d", "3", "--native", "-o", file_in("odd.pyro")]):
            trace = file_in("odd.trace")
            with Process(["strace", "-f", "-qq", "-y", "-e", "trace=open,openat,openat2", "-o", trace, PROGRAM, *words,
                          str(target.pid)]) as process:
                # A traced program on a busy machine may be too slow to see a sample.
                self.assertIn(process.wait(), (0, 1), process.output())
            with open(trace, encoding="utf-8", errors="replace") as file:
                opened = [line for line in file if "O_PATH" not in line and " = -1" not in line]
            self.assertGreater(len(opened), 5)
            for line in opened:
                # The file that was opened in the end, as the kernel names it. Deleted is shared memory, which has the name of the
                # device it came from, and was a file.
                found = re.search(r" = \d+<(/dev/[^>]*|[^>]*python3\.9[678][^>]*)>(?!\(deleted\))", line)
                self.assertTrue(found is None or found.group(1) in OWN_DEVICES, line)
        self.untouched()


if __name__ == "__main__":
    main()
