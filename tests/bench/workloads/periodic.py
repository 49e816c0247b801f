"""Does one thing for 30 % of every period and another for the rest.

Usage: periodic.py SECONDS PERIOD
"""

import sys
import time

SECONDS, PERIOD = float(sys.argv[1]), float(sys.argv[2])
SHARE = 0.3


def hot(end):
    while time.monotonic() < end:
        pass


def rest(end):
    while time.monotonic() < end:
        pass


def main():
    began = time.monotonic()
    for number in range(int(SECONDS / PERIOD)):
        hot(began + (number + SHARE) * PERIOD)
        rest(began + (number + 1) * PERIOD)


print("READY", flush=True)
main()
