#!/usr/bin/env python3
"""Tests that fail once and presets that do not build, as scripts/test handles them: with a ctest whose outcomes are written down."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Takes the next outcomes of the file OUTCOMES, of as many runs as it is asked for, up to the first failure.
CTEST = """#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
with open(os.environ["OUTCOMES"], encoding="utf-8") as file:
    outcomes = file.read()
runs = 2 if "until-fail:2" in words else 1
taken = outcomes[:runs]
if "F" in taken:
    taken = taken[:taken.index("F") + 1]
with open(os.environ["OUTCOMES"], "w", encoding="utf-8") as file:
    file.write(outcomes[len(taken):])
with open(words[words.index("--output-junit") + 1], "w", encoding="utf-8") as file:
    file.write('<testsuite><testcase name="t" time="1" status="%s"/></testsuite>' % ("fail" if "F" in taken else "run"))
"""


class Again(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("scripts", "bin", "build/debug"):
            os.makedirs(os.path.join(self.folder, name))
        shutil.copy(os.path.join(ROOT, "scripts", "test"), os.path.join(self.folder, "scripts"))
        for name, text in (("ctest", CTEST), ("cmake", "#!/bin/sh\n")):
            with open(os.path.join(self.folder, "bin", name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o755)

    def run_script(self, outcomes, *presets):
        """The lines and the exit code of a run in which the test passes (P) and fails (F) so, and what it has left of that."""
        path = os.path.join(self.folder, "outcomes")
        with open(path, "w", encoding="utf-8") as file:
            file.write(outcomes)
        environment = dict(os.environ, OUTCOMES=path, PATH=os.path.join(self.folder, "bin") + ":" + os.environ["PATH"])
        done = subprocess.run([os.path.join(self.folder, "scripts", "test"), "-R", "t", *presets], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, check=False)
        with open(path, encoding="utf-8") as file:
            return done.stdout.decode().splitlines(), done.returncode, file.read()

    def run_tests(self, outcomes):
        """The last line and the exit code of such a run."""
        lines, code, left = self.run_script(outcomes)
        self.assertEqual(left, "", "runs that were not asked for")
        return lines[-1], code

    def run_presets(self, cmake):
        """The lines of a run of two presets, with such a cmake."""
        with open(os.path.join(self.folder, "bin", "cmake"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + cmake)
        for preset in ("asan", "tsan"):
            os.makedirs(os.path.join(self.folder, "build", preset))
        return self.run_script("PP", "asan", "tsan")[0]

    def test_the_next_preset_is_built_while_one_is_tested(self):
        self.assertEqual(self.run_presets("exit 0\n")[-1], "2 passed, 0 failed, 0 skipped")

    def test_a_preset_that_does_not_build_beside_another_is_a_failure(self):
        lines = self.run_presets('case "$*" in *tsan*) echo broken; exit 1 ;; esac\n')
        self.assertEqual(lines[-2:], ["test: failed: tsan: does not build", "1 passed, 1 failed, 0 skipped"])
        self.assertIn("broken", lines)

    def test_one_failure_of_three_is_named(self):
        self.assertEqual(self.run_tests("FPP"), ("1 passed (1 only when run again), 0 failed, 0 skipped", 0))

    def test_two_failures_of_three_are_one(self):
        for outcomes in ("FF", "FPF"):
            self.assertEqual(self.run_tests(outcomes), ("0 passed, 1 failed, 0 skipped", 1))

    def test_the_third_run_in_a_row_that_needs_another_fails(self):
        for expected in (0, 0, 1, 1):
            self.assertEqual(self.run_tests("FPP")[1], expected)
        self.assertEqual(self.run_tests("P"), ("1 passed, 0 failed, 0 skipped", 0))
        self.assertEqual(self.run_tests("FPP")[1], 0)


if __name__ == "__main__":
    unittest.main()
