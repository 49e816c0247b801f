"""Code that the tests of packages share: building one, and running commands."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONSUMERS = os.environ.get("PYROMETER_CONSUMERS") or os.path.join(ROOT, ".consumers")
MISSING = 3
SKIPPED = 77


def run(*words, **keywords):
    """A command that must work. Its standard output."""
    result = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, check=False, **keywords)
    if result.returncode != 0:
        raise AssertionError("%s ended with %d\n%s%s" % (words, result.returncode, result.stdout, result.stderr))
    return result.stdout


def build(kind, folder, root=ROOT):
    """The paths of what scripts/package made. Skips the tests if the machine lacks what that needs."""
    result = subprocess.run([os.path.join(root, "scripts", "package"), kind, "--out", folder], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode == MISSING:
        raise unittest.SkipTest(result.stderr.strip())
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result.stdout.splitlines()


class Built(unittest.TestCase):
    """Tests of one kind of package, in a folder of their own."""

    kind = None

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="pyrometer-packages-")
        cls.folder = cls._folder.name
        cls.addClassCleanup(cls._folder.cleanup)
        cls.made = build(cls.kind, cls.folder)


def main():
    """Runs the tests of the file that calls this. If all were skipped, so is the file."""
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and len(result.skipped) >= max(result.testsRun, 1) else 0)
