"""Calls a, b and c once and spins in c: the stack never changes.

Usage: chain.py [SECONDS]

Answer:
    <module>:29 a:16 b:20 c:24-26
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def a():
    b()


def b():
    c()


def c():
    print("READY", flush=True)
    while time.monotonic() < END:
        pass


a()
