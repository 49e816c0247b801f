"""Memory that grows by known steps, is given back, and grows in a child; the program says what it measures.

Usage: memory.py [SECONDS_OF_A_STEP [CHILDREN]]

It takes 64 MB, then 64 MB more, gives the first back, and stays. With CHILDREN, so many processes are forked after that, and each writes
to 32 MB that it shares with its parent. At the end of each step the program prints the step, the time since READY and its RSS:

    grown 0.5 81264640
    more 1.0 148373504
    returned 1.5 81264640
    forked 2.0 81264640

Answer:
    <module>:* main:* ...
"""

import mmap
import os
import signal
import sys
import time

STEP = float(sys.argv[1]) if len(sys.argv) > 1 else 1
CHILDREN = int(sys.argv[2]) if len(sys.argv) > 2 else 0
MB = 1 << 20
PAGE = mmap.PAGESIZE


def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def touch(area, size):
    for at in range(0, size, PAGE):
        area[at] = 1


def take(size):
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    touch(area, size)
    return area


def stay(name, begin, steps):
    time.sleep(max(0, begin + steps * STEP - time.monotonic()))
    print(name, "%.3f" % (time.monotonic() - begin), rss(), flush=True)


def child(area):
    touch(area, 32 * MB)
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(0)


def main():
    print("READY", flush=True)
    begin = time.monotonic()
    stay("begun", begin, 1)
    first = take(64 * MB)
    stay("grown", begin, 2)
    second = take(64 * MB)
    stay("more", begin, 3)
    first.close()
    stay("returned", begin, 4)
    pids = []
    for _ in range(CHILDREN):
        pid = os.fork()
        if pid == 0:
            child(second)
        pids.append(pid)
    stay("forked", begin, 5)
    time.sleep(120)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    second.close()


main()
