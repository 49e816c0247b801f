"""Loops with a share of the time of their own, by the clock: one() 1 %, five() 5 %, thirty() 30 %, and seventy() the rest.

Usage: shares.py SECONDS

one() and five() are called by seventy(), which has 70 % with them. A cycle takes 1 to 3 ms, at random. Every 20 ms
prints how many seconds each had so far, and how many have passed: `one five thirty seventy all`.
"""

import random
import sys
import time

SECONDS = float(sys.argv[1])
ONE, FIVE, THIRTY, SEVENTY = range(4)
spent = [0.0] * 4


def one(length):
    start = now = time.perf_counter()
    while now < start + length:
        now = time.perf_counter()
    spent[ONE] += now - start


def five(length):
    start = now = time.perf_counter()
    while now < start + length:
        now = time.perf_counter()
    spent[FIVE] += now - start


def thirty(length):
    start = now = time.perf_counter()
    while now < start + length:
        now = time.perf_counter()
    spent[THIRTY] += now - start


def seventy(cycle):
    start = now = time.perf_counter()
    one(0.01 * cycle)
    five(0.05 * cycle)
    while now < start + 0.7 * cycle:
        now = time.perf_counter()
    spent[SEVENTY] += now - start


def main():
    rng = random.Random(3)
    began = reported = now = time.perf_counter()
    while now - began < SECONDS:
        cycle = rng.uniform(0.001, 0.003)
        seventy(cycle)
        thirty(0.3 * cycle)
        now = time.perf_counter()
        if now - reported > 0.02:
            print("%.6f %.6f %.6f %.6f %.6f" % (*spent, now - began), flush=True)
            reported = now


print("READY", flush=True)
main()
