"""Page faults: memory is mapped, each page of it touched once, and given back.

Usage: faults.py [SECONDS]

Most of the time is spent in touch, in the kernel.

Answer:
    <module>:32 main:25-29 touch:20-21
"""

import mmap
import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
PAGES, PAGE = 8192, 4096


def touch(memory):
    for at in range(0, PAGES * PAGE, PAGE):
        memory[at] = 1


def main():
    print("READY", flush=True)
    while time.monotonic() < END:
        with mmap.mmap(-1, PAGES * PAGE) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            touch(memory)


main()
