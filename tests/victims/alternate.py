"""Two chains called in turn that never mix: no stack ever contains both an a and a b.

Usage: alternate.py [SECONDS]

Answer:
    <module>:49 main:43-46 a1:17 a2:21 a3:25-26
    <module>:49 main:43-46 b1:30 b2:34 b3:38-39
"""

import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def a1():
    a2()


def a2():
    a3()


def a3():
    for _ in range(3):
        pass


def b1():
    b2()


def b2():
    b3()


def b3():
    for _ in range(3):
        pass


def main():
    print("READY", flush=True)
    while time.monotonic() < END:
        a1()
        b1()


main()
