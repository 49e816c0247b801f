"""Common part of all programs here: some milliseconds of work, at a place that must be seen."""

import time


def innermost(until):
    while time.monotonic() < until:
        sum(range(100))


def work(milliseconds=4):
    innermost(time.monotonic() + milliseconds / 1000)
    return "done"
