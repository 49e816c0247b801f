"""Runs one system test: python3 tests/system NAME [WORDS], NAME as in system.NAME; the words are for the test.

The tests import what they share from this folder and from support/.
"""

import glob
import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = {os.path.basename(path)[len("test_"):-len(".py")]: path for path in glob.glob(os.path.join(HERE, "*", "test_*.py"))}

if len(sys.argv) < 2 or sys.argv[1] not in TESTS:
    print("usage: python3 tests/system NAME [WORDS], NAME one of: " + " ".join(sorted(TESTS)), file=sys.stderr)
    sys.exit(2)
path = TESTS[sys.argv[1]]
sys.argv[:2] = [path]
sys.path[:1] = [os.path.dirname(path), HERE, os.path.join(os.path.dirname(HERE), "support")]
runpy.run_path(path, run_name="__main__")
