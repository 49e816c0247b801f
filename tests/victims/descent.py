"""Python functions and C code that call each other N times (400 if not given), and a loop at the bottom.

Usage: descent.py [N [SECONDS]]

Between two calls of level stands C code (max), and between spin and key, too (sorted). The C stack is 240 to 440 KB deep with
400 calls. A few times a second, all calls return, and the descent begins again.

Answer:
    <module>:43 main:37-38 level:29-31* spin:21-24 key:17
"""

import sys
import time


def key(number):
    return number * 7919 % 101


def spin():
    end = min(END, time.monotonic() + 0.3)
    while time.monotonic() < end:
        sorted(range(200), key=key)
    return 0


# A function of C calls it for the only item of a list.
def level(left):
    if left == 0:
        return spin()
    return max([left - 1], key=level)


def main():
    sys.setrecursionlimit(10 * DEPTH + 200)
    print("READY", flush=True)
    while time.monotonic() < END:
        level(DEPTH)


DEPTH = int(sys.argv[1]) if len(sys.argv) > 1 else 400
END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
main()
