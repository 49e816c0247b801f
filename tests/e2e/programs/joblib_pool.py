"""A pool of joblib's processes, which score numbers.

Usage: joblib_pool.py SECONDS
"""

import json
import os
import sys
import time

from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

WORKERS = 2
TASKS = 8
LIMIT = 3000


def score(limit):
    """-> (process, its processor time at the end, that of the slow line)"""
    begun = time.thread_time()
    primes = sum(all(n % d for d in range(2, int(n ** 0.5) + 1)) for n in range(2, limit))  # the answer
    spent = time.thread_time() - begun
    assert sorted(str(n) for n in range(limit)) and primes > 0
    return os.getpid(), time.process_time(), spent


def main():
    seconds = float(sys.argv[1])
    ended = {}
    line = 0.0
    with Parallel(n_jobs=WORKERS) as parallel:
        parallel(delayed(score)(LIMIT) for _ in range(TASKS))
        before = {}
        print("READY", flush=True)
        begun, used = time.monotonic(), time.process_time()
        while time.monotonic() < begun + seconds:
            for pid, clock, spent in parallel(delayed(score)(LIMIT) for _ in range(TASKS)):
                if pid in before:
                    line += spent
                before.setdefault(pid, clock)
                ended[pid] = max(clock, ended.get(pid, clock))
        workers = sum(ended[pid] - clock for pid, clock in before.items())
        truth = {"seconds": time.monotonic() - begun, "processor": workers + time.process_time() - used, "line": line}
        get_reusable_executor().shutdown(kill_workers=True)
        print("TRUTH " + json.dumps(truth), flush=True)
        # Work at the end of the program is no part of the truth.
        os._exit(0)


if __name__ == "__main__":
    main()
