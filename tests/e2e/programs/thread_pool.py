"""A pool of threads with more workers than work: one task at a time, which computes without the GIL.

Usage: thread_pool.py SECONDS

At its end it prints what its own clock says: the share of the processor's time that the task's line takes, and how many workers waited.
"""

import concurrent.futures
import hashlib
import json
import sys
import threading
import time

WORKERS = 6
SPENT = {"lines": 0.0}
WORKED = set()


def digest(data):
    begun = time.thread_time()
    found = hashlib.pbkdf2_hmac("sha256", data, b"salt", 40000)  # the answer
    SPENT["lines"] += time.thread_time() - begun
    WORKED.add(threading.get_ident())
    return found


def main():
    barrier = threading.Barrier(WORKERS)
    with concurrent.futures.ThreadPoolExecutor(WORKERS, "worker") as pool:
        for future in [pool.submit(barrier.wait) for _ in range(WORKERS)]:
            future.result()
        print("READY", flush=True)
        end = time.monotonic() + float(sys.argv[1])
        begun = time.process_time()
        while time.monotonic() < end:
            pool.submit(digest, b"x" * 64).result()
        share = SPENT["lines"] / (time.process_time() - begun)
    print("TRUTH " + json.dumps({"part": "running", "share": share, "idle_threads": WORKERS - 1}), flush=True)


main()
