"""Loops with a share of the time of their own, by the clock: one() 1 %, five() 5 %, thirty() 30 %, and seventy() the rest.

Usage: shares.py SECONDS

one() and five() are called by seventy(), which has 70 % with them. A cycle takes 1 to 3 ms, at random. Every tenth of a
second prints how many seconds each had so far: `one five thirty seventy`.
"""

import random
import sys
import time

SECONDS = float(sys.argv[1])


def one(end):
    while time.perf_counter() < end:
        pass


def five(end):
    while time.perf_counter() < end:
        pass


def thirty(end):
    while time.perf_counter() < end:
        pass


def seventy(began, cycle, spent):
    one(began + 0.01 * cycle)
    after_one = time.perf_counter()
    five(began + 0.06 * cycle)
    after_five = time.perf_counter()
    while time.perf_counter() < began + 0.7 * cycle:
        pass
    spent[0] += after_one - began
    spent[1] += after_five - after_one
    return time.perf_counter()


def main():
    rng = random.Random(3)
    began = told = time.perf_counter()
    spent = [0.0, 0.0, 0.0, 0.0]
    now = began
    while now - began < SECONDS:
        cycle = rng.uniform(0.001, 0.003)
        start = now
        after = seventy(start, cycle, spent)
        thirty(start + cycle)
        now = time.perf_counter()
        spent[3] += after - start
        spent[2] += now - after
        if now - told > 0.1:
            print("%.6f %.6f %.6f %.6f" % tuple(spent), flush=True)
            told = now


print("READY", flush=True)
main()
