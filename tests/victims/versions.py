"""Spends its time in fast() and slow(); more rounds make slow() slower.

Usage: versions.py ROUNDS SECONDS

Answer:
    <module>:31-33 fast:16-20
    <module>:31-33 slow:23-27
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
