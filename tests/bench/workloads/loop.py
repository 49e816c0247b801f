"""A benchmark of pyperformance, repeated for ever.

Usage: loop.py SECONDS FILE MOST [ARGUMENT...]

FILE is the benchmark's own program, and ARGUMENTs are its own. `pyperf`, which it imports to be measured, is made up here: it calls
the benchmark again and again with the arguments that it asks for. READY is printed after the first call, so what runs only once
is over. With MOST other than 0 the benchmark's ranges have no more numbers than that: a benchmark whose call takes long has long
phases, and recordings of a few seconds would have more of one than of another.
"""

import argparse
import random
import runpy
import sys
import time
import types

SECONDS, FILE, MOST = float(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def forever(function, *arguments):
    function(*arguments)
    print("READY", flush=True)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        function(*arguments)


def short_range(*arguments):
    return range(*arguments)[:MOST]


class Runner:
    def __init__(self, **_):
        self.argparser = argparse.ArgumentParser()
        self.metadata = {}

    def parse_args(self):
        return self.argparser.parse_args()

    def bench_func(self, _, function, *arguments):
        forever(function, *arguments)

    def bench_time_func(self, _, function, *arguments):
        forever(function, 1, *arguments)


pyperf = types.ModuleType("pyperf")
pyperf.Runner, pyperf.perf_counter = Runner, time.perf_counter
sys.modules["pyperf"] = pyperf
sys.argv = [FILE] + sys.argv[4:]
random.seed(1)
runpy.run_path(FILE, {"range": short_range} if MOST else None, "__main__")
