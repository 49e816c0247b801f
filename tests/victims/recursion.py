"""Calls itself N times (50 if not given) and spins in the innermost call.

Usage: recursion.py [N [SECONDS]]

The stack is <module>, then N frames of dive, then leaf. Before 3.11 each frame also takes C stack, so N must stay below
about 15000 there.

Answer:
    <module>:32 dive:19-22* leaf:26-28
"""

import sys
import time

DEPTH = int(sys.argv[1]) if len(sys.argv) > 1 else 50
END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")


def dive(left):
    if left == 0:
        return leaf()
    return dive(left - 1)


def leaf():
    print("READY", flush=True)
    while time.monotonic() < END:
        pass


sys.setrecursionlimit(DEPTH + 200)
dive(DEPTH - 1)
