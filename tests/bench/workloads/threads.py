"""Threads as a server has them: two that compute, the others waiting for work that comes a thousand times a second.

Usage: threads.py SECONDS COUNT

COUNT threads in all, the main one included, which hands out the work.
"""

import queue
import sys
import threading
import time

SECONDS, COUNT = float(sys.argv[1]), int(sys.argv[2])
END = time.monotonic() + SECONDS

jobs = queue.SimpleQueue()


def double(number):
    return number * 2


def work(number):
    for _ in range(100):
        number = double(number) % 1000003
    return number


def compute():
    number = 1
    while time.monotonic() < END:
        number = work(number)


def serve():
    while jobs.get():
        work(3)


def main():
    print("READY", flush=True)
    while time.monotonic() < END:
        time.sleep(0.001)
        jobs.put(True)


for number in range(COUNT - 1):
    threading.Thread(target=compute if number < 2 else serve, daemon=True).start()
main()
