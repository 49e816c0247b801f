"""A pool of processes: the parent hands out numbers and waits, the workers count.

Usage: process_pool.py SECONDS
"""

import multiprocessing
import sys
import time


def count_primes(limit):
    return sum(all(n % d for d in range(2, int(n ** 0.5) + 1)) for n in range(2, limit))  # the answer


def main():
    end = time.monotonic() + float(sys.argv[1])
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print("READY", flush=True)
        while time.monotonic() < end:
            pool.map(count_primes, [4000] * 8)


if __name__ == "__main__":
    main()
