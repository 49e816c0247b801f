"""Spends its time in fast() and slow(): versions.py ROUNDS SECONDS. More rounds make slow() slower."""

import sys
import time

ROUNDS, END = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])


def fast():
    total = 0
    for i in range(2000):
        total += i
    return total


def slow():
    total = 0
    for i in range(ROUNDS):
        total += i
    return total


print("READY", flush=True)
while time.monotonic() < END:
    fast()
    slow()
