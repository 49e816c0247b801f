"""A recursion that goes down, works at the bottom for about 100 us, and comes up again.

Usage: deep.py SECONDS DEPTH [SLICE]

DEPTH frames of `down` below `<module>` and `main`, then `bottom` and `leaf`. With SLICE prints, every SLICE seconds, what it
did: `iterations seconds waited`, where waited is how long it stood ready without a processor.
"""

import sys
import time

SECONDS, DEPTH = float(sys.argv[1]), int(sys.argv[2])
SLICE = float(sys.argv[3]) if len(sys.argv) > 3 else 0

sys.setrecursionlimit(DEPTH + 1000)


def leaf(number):
    return number + 1


def bottom():
    number = 0
    for _ in range(1000):
        number = leaf(number)
    return number


def down(depth):
    if depth <= 1:
        return bottom()
    return down(depth - 1)


def waited():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]) / 1e9


def main():
    began = time.monotonic()
    iterations, slice_began, slice_waited = 0, began, waited()
    while True:
        for _ in range(20):
            down(DEPTH)
        iterations += 20
        now = time.monotonic()
        if now - began > SECONDS:
            break
        if SLICE and now - slice_began >= SLICE:
            wait = waited()
            print(iterations, now - slice_began, wait - slice_waited, flush=True)
            iterations, slice_began, slice_waited = 0, time.monotonic(), waited()


print("READY", flush=True)
main()
