"""Starts N threads (4 if not given) named worker-0, worker-1, ...: even ones spin, odd ones sleep.

Usage: threads.py [N [SECONDS]]

The main thread waits in main. Frames of the threading module before and after ours are written as `...`.

Answer:
    <module>:45 main:35-42 ...
    ... spin:23-25 ...
    ... rest:29-31 ...
"""

import sys
import threading
import time

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 4
END = time.monotonic() + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
STARTED = threading.Barrier(COUNT + 1)


def spin():
    STARTED.wait()
    while time.monotonic() < END:
        pass


def rest():
    STARTED.wait()
    while time.monotonic() < END:
        time.sleep(0.25)


def main():
    workers = [threading.Thread(target=rest if i % 2 else spin, name="worker-%d" % i) for i in range(COUNT)]
    for worker in workers:
        worker.daemon = True
        worker.start()
    STARTED.wait()
    print("READY", flush=True)
    for worker in workers:
        worker.join()


main()
