"""Threads that all want the GIL: no more is done by four of them than by one.

Usage: gil_threads.py SECONDS
"""

import sys
import threading
import time

END = time.monotonic() + float(sys.argv[1])


def checksum(data):
    total = 0
    while time.monotonic() < END:
        total = sum(value * 31 % 255 for value in data)  # the answer
    return total


def main():
    threads = [threading.Thread(target=checksum, args=(range(20000),), name="checksum-%d" % i, daemon=True) for i in range(4)]
    for thread in threads:
        thread.start()
    print("READY", flush=True)
    for thread in threads:
        thread.join()


main()
