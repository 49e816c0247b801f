"""Raises, catches and works while an exception is being handled.

Usage: exceptions.py [SECONDS]

handled runs inside an except block, so the thread handles an exception there; plain does the same work without one.

Answer:
    <module>:51 main:45-48 attempt:33-36 fail:25 deeper:29
    <module>:51 main:45-48 attempt:36 handled:40-41
    <module>:51 main:45-48 plain:20-21
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def plain():
    for _ in range(500):
        pass


def fail():
    deeper()


def deeper():
    raise ValueError("expected")


def attempt():
    try:
        fail()
    except ValueError:
        handled()


def handled():
    for _ in range(500):
        pass


def main():
    print("READY", flush=True)
    while time.monotonic() < END:
        attempt()
        plain()


main()
