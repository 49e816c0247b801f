"""Two threads that sleep all the time: the main thread in time.sleep, the other one at a lock.

Usage: asleep.py [SECONDS]

Frames of the threading module are written as `...`.

Answer:
    <module>:36 main:32 nap:24
    ... wait_for_lock:20
"""

import sys
import threading
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1e6


def wait_for_lock(lock):
    lock.acquire()


def nap():
    time.sleep(SECONDS)


def main():
    lock = threading.Lock()
    lock.acquire()
    threading.Thread(target=wait_for_lock, args=(lock,), daemon=True).start()
    print("READY", flush=True)
    nap()


if __name__ == "__main__":
    main()
