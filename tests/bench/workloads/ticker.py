"""Wakes up every millisecond, works a little, and notes how late it was.

Usage: ticker.py SECONDS DEPTH SLICE

Every SLICE seconds prints the lateness of each tick in it, in microseconds.
"""

import sys
import time

SECONDS, DEPTH, SLICE = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
PERIOD = 0.001

sys.setrecursionlimit(DEPTH + 1000)


def down(depth):
    return depth if depth <= 1 else down(depth - 1)


def main():
    began = time.monotonic()
    due, reported, late = began, began, []
    while due - began < SECONDS:
        due += PERIOD
        now = time.monotonic()
        if now > due:
            # More than a period behind: these ticks are as late as they are.
            late.append((now - due) * 1e6)
            due = now if now - due > 50 * PERIOD else due
        else:
            time.sleep(due - now)
            late.append((time.monotonic() - due) * 1e6)
        for _ in range(5):
            down(DEPTH)
        if due - reported > SLICE:
            print(" ".join("%.0f" % value for value in late), flush=True)
            reported, late = due, []
            due = time.monotonic()


print("READY", flush=True)
main()
