"""Processes that all wait in one place, one that is elsewhere, and a child that runs no Python. They end when the first one does.

Usage: ranks.py [COUNT [ODD [SECONDS]]]

Up to 16 of them are started as programs of their own, with RANK in their environment; more are forked. The one with number ODD
is elsewhere, in a loop.

Answer:
    <module>:* main:* ...
    <module>:* main:* gather:*
    <module>:* main:* elsewhere:*
"""

import os
import subprocess
import sys
import time

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 8
ODD = int(sys.argv[2]) if len(sys.argv) > 2 else 5
END = time.monotonic() + float(sys.argv[3]) if len(sys.argv) > 3 else float("inf")
MOST_PROGRAMS = 16


def gather():
    os.read(0, 1)


def elsewhere():
    while os.getppid() == PARENT and time.monotonic() < END:
        time.sleep(0.01)


def work(rank):
    os.write(1, b".")
    if rank == ODD:
        elsewhere()
    else:
        gather()


def main():
    global PARENT
    if "RANK" in os.environ:
        PARENT = os.getppid()
        work(int(os.environ["RANK"]))
        return
    PARENT = os.getpid()
    waits, ends = os.pipe()
    said, says = os.pipe()
    for rank in range(COUNT):
        if COUNT <= MOST_PROGRAMS:
            subprocess.Popen([sys.executable] + sys.argv, env=dict(os.environ, RANK=str(rank)), stdin=waits, stdout=says)
        elif os.fork() == 0:
            os.close(ends)
            os.dup2(waits, 0)
            os.dup2(says, 1)
            work(rank)
            os._exit(0)
    subprocess.Popen(["cat"], stdin=waits)
    started = 0
    while started < COUNT:
        started += len(os.read(said, COUNT))
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.25)


if __name__ == "__main__":
    main()
