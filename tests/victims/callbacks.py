"""Python functions called back by C code: each starts a new evaluation, marked by an entry frame in 3.11 and newer.

Usage: callbacks.py [SECONDS]

Between sort and by_key, fold and add, quick and compare stands C code (sorted, functools.reduce, qsort through ctypes).
Without the ctypes module the third one is left out.

Answer:
    <module>:67 main:53-58 sort:31 by_key:27
    <module>:67 main:53-58 fold:39 add:35
    <module>:67 main:53-58 quick:49 compare:43-45
"""

import functools
import sys
import time

try:
    import ctypes
except ImportError:
    ctypes = None

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")


def by_key(number):
    return number * 7919 % 101


def sort():
    return sorted(range(20000), key=by_key)


def add(left, right):
    return left + right


def fold():
    return functools.reduce(add, range(20000))


def compare(left, right):
    for _ in range(20):
        pass
    return left[0] - right[0]


def quick():
    QSORT(NUMBERS, len(NUMBERS), ctypes.sizeof(ctypes.c_int), COMPARE)


def main():
    print("READY", flush=True)
    while time.monotonic() < END:
        sort()
        fold()
        if ctypes:
            quick()


if ctypes:
    NUMBERS = (ctypes.c_int * 50)(*(number * 7919 % 101 for number in range(50)))
    COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(compare)
    QSORT = ctypes.CDLL(None).qsort
    QSORT.restype = None

main()
