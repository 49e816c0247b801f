"""Threads that all want the GIL: no more is done by four of them than by one.

Usage: gil_threads.py SECONDS
"""

import json
import os
import sys
import threading
import time

THREADS = 4
END = time.monotonic() + float(sys.argv[1])


def checksum(data):
    total = 0
    while time.monotonic() < END:
        total = sum(value * 31 % 255 for value in data)  # the answer
    return total


def main():
    threads = [threading.Thread(target=checksum, args=(range(20000),), name="checksum-%d" % i) for i in range(THREADS)]
    begun, used = time.monotonic(), time.process_time()
    for thread in threads:
        thread.start()
    print("READY", flush=True)
    for thread in threads:
        thread.join()
    seconds, processor = time.monotonic() - begun, time.process_time() - used
    print("TRUTH " + json.dumps({"seconds": seconds, "processor": processor, "line": processor, "waited": THREADS * seconds - processor}), flush=True)
    # Work at the end of the program is no part of the truth.
    os._exit(0)


main()
