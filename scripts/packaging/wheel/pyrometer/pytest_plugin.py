"""pytest --pyrometer: profiles the tests."""

import os
import re
import shlex
import tempfile
import time

from .program import Error, run
from .recording import record


def pytest_addoption(parser):
    """The options, in a group of their own."""
    group = parser.getgroup("pyrometer", "profiles by Pyrometer")
    group.addoption("--pyrometer", action="store_true", help="profile the tests")
    group.addoption("--pyrometer-output", default="pyrometer.html", metavar="FILE",
                    help="where to (pyrometer.html); the ending selects the format")
    group.addoption("--pyrometer-slow", type=float, default=None, metavar="SECONDS",
                    help="also write a report of each test that takes longer, into the folder of FILE")
    group.addoption("--pyrometer-baseline", default=None, metavar="CAPTURE",
                    help="list the significant changes from an earlier run (--pyrometer-output=run.pyro)")
    group.addoption("--pyrometer-options", default="", metavar="OPTIONS", help="further options of pyrometer record")


def pytest_configure(config):
    """One recording for the whole run. Of pytest-xdist it is that of the process which hands out the tests."""
    if config.getoption("pyrometer") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Profile(config), "pyrometer-profile")


class Profile:
    """The recording of a run: a capture, from which all reports are made at the end."""

    def __init__(self, config):
        self.file = os.path.abspath(config.getoption("pyrometer_output"))
        self.slow = config.getoption("pyrometer_slow")
        self.baseline = config.getoption("pyrometer_baseline")
        self.options = shlex.split(config.getoption("pyrometer_options"))
        self.folder = tempfile.TemporaryDirectory(prefix="pyrometer-")  # pylint: disable=consider-using-with
        self.capture = self.file if self.file.endswith(".pyro") else os.path.join(self.folder.name, "run.pyro")
        self.recording = None
        self.began = {}
        self.slow_tests = []
        self.lines = []

    def pytest_sessionstart(self):
        """Starts sampling."""
        self.recording = record(self.capture, *self.options)
        try:
            self.recording.__enter__()
        except Error as error:
            self.recording = None
            self.lines.append("not profiled: %s" % error)

    def pytest_runtest_logstart(self, nodeid):
        """Notes when a test began, with its fixtures."""
        self.began[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid):
        """Notes what part of the recording a slow test is."""
        began, ended = self.began.pop(nodeid, None), time.monotonic()
        if self.recording and self.slow is not None and began is not None and ended - began > self.slow:
            self.slow_tests.append((nodeid, began - self.recording.started, ended - self.recording.started))

    def pytest_sessionfinish(self):
        """Ends sampling and writes the reports."""
        if not self.recording:
            return
        try:
            self.recording.__exit__(None, None, None)
            self._write()
        except Error as error:
            self.lines.append(str(error))
        finally:
            self.recording = None
            self.folder.cleanup()

    def _write(self):
        if self.capture != self.file:
            run("replay", self.capture, "-o", self.file)
        self.lines.append("wrote %s" % self.file)
        ending = os.path.splitext(self.file)[1]
        for nodeid, begin, end in self.slow_tests:
            name = re.sub(r"[^A-Za-z0-9_.-]+", "-", nodeid).strip("-")[-150:] + (".html" if ending == ".pyro" else ending)
            path = os.path.join(os.path.dirname(self.file), name)
            run("replay", self.capture, "--from", "%.3f" % max(begin, 0), "--to", "%.3f" % end, "-o", path)
            self.lines.append("wrote %s, a test of %.1f s" % (path, end - begin))
        if self.baseline:
            self.lines += run("diff", self.baseline, self.capture).splitlines()

    def pytest_terminal_summary(self, terminalreporter):
        """Says what was written, and what has changed."""
        terminalreporter.section("pyrometer")
        for line in self.lines:
            terminalreporter.write_line(line)
