"""Python's own sampling profiler and ours sample the same program at the same time, and say the same of it."""

import math
import subprocess
import sys

from folded import read_folded
from harness import SKIPPED, WAIT_SECONDS, Process, Test, file_in, main, program, pythons, victim

# Three functions compute in turn for half, three tenths and a fifth of the time.
PROGRAM = """
import time
def half(end):
    while time.monotonic() < end:
        pass
def third(end):
    while time.monotonic() < end:
        pass
def fifth(end):
    while time.monotonic() < end:
        pass
print("READY", flush=True)
at = time.monotonic()
while True:
    for function, part in ((half, 0.05), (third, 0.03), (fifth, 0.02)):
        function(at + part)
        at = time.monotonic()
"""
SHARES = {"half": 0.5, "third": 0.3, "fifth": 0.2}
SECONDS, RATE = 4, 500
# Ticks follow each other more closely than the functions, so they err less than so many independent ones; but a busy
# machine holds all three up alike, and for longer than a function lasts.
DEVIATIONS, HELD_UP = 3, 0.03


def peer():
    """The newest interpreter that has the profiler in its library."""
    for python in reversed(pythons()):
        if python.minor >= 15 and subprocess.run([python.path, "-c", "import profiling.sampling"],
                                                 stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python.path
    return None


def shares(path):
    stacks = read_folded(path)
    total = sum(stack.count for stack in stacks)
    return total, {name: sum(stack.count for stack in stacks if name in stack.names) / total for name in SHARES}


def error(share, total):
    return math.sqrt(share * (1 - share) / total)


class Agreement(Test):
    def test_both_say_the_same(self):
        python = peer()
        path = file_in("shares.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        theirs, ours = file_in("tachyon.folded"), file_in("ours.folded")
        with victim(path, python=python) as target:
            with program("record", str(target.pid), "-r", str(RATE), "-d", str(SECONDS), "--idle", "--waits=off", "--collapsed", "-o", ours) as mine, \
                 Process([python, "-m", "profiling.sampling", "attach", "-r", str(RATE), "-d", str(SECONDS), "--collapsed",
                          "-o", theirs, str(target.pid)]) as other:
                self.assertEqual(mine.wait(SECONDS + WAIT_SECONDS), 0, mine.output())
                self.assertEqual(other.wait(SECONDS + WAIT_SECONDS), 0, other.output())
        our_total, our_shares = shares(ours)
        their_total, their_shares = shares(theirs)
        for name, truth in SHARES.items():
            noise = DEVIATIONS * (error(truth, our_total) + error(truth, their_total)) + HELD_UP
            self.assertLess(abs(our_shares[name] - their_shares[name]), noise, (our_shares, their_shares))
            self.assertLess(abs(our_shares[name] - truth), noise, our_shares)


if __name__ == "__main__":
    if not peer():
        print("skipped: no Python with profiling.sampling (3.15) is on this machine")
        sys.exit(SKIPPED)
    main()
