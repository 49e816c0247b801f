"""Maps memory, touches each page of it and unmaps it, between units of computing.

Usage: touches.py SECONDS PAGES LOOPS [SLICE]

A unit is LOOPS additions, and then PAGES pages. With SLICE prints, every SLICE seconds, what it did: `units seconds waited`, where
waited is how long it stood ready without a processor.
"""

import mmap
import sys
import time

SECONDS, PAGES, LOOPS = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
SLICE = float(sys.argv[4]) if len(sys.argv) > 4 else 0


def compute():
    number = 0
    for _ in range(LOOPS):
        number += 1
    return number


def touch():
    with mmap.mmap(-1, PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1


def waited():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]) / 1e9


def main():
    began = time.monotonic()
    units, slice_began, slice_waited = 0, began, waited()
    while True:
        compute()
        touch()
        units += 1
        now = time.monotonic()
        if now - began > SECONDS:
            break
        if SLICE and now - slice_began >= SLICE:
            wait = waited()
            print(units, now - slice_began, wait - slice_waited, flush=True)
            units, slice_began, slice_waited = 0, time.monotonic(), waited()


print("READY", flush=True)
main()
