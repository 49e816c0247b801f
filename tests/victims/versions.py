"""Spends its time in fast() and slow(); more rounds make slow() slower.

Usage: versions.py ROUNDS SECONDS

Answer:
    <module>:29-31 fast:15-18
    <module>:29-31 slow:22-25
"""

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
