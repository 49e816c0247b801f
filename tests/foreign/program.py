"""The program that the tools of record.py sample: three threads that compute, hash and sleep."""

import hashlib
import json
import sys
import threading
import time


def leaf(number):
    total = 0
    for i in range(number):
        total += i * i % 7
    return total


def middle(number):
    return leaf(number) + sum(len(json.dumps({"a": i})) for i in range(number // 40))


def outer(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        middle(20000)


class Worker:
    def run(self, seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            hashlib.sha256(b"x" * 100000).hexdigest()


def main(seconds):
    threads = [threading.Thread(target=Worker().run, args=(seconds,), name="hasher"),
               threading.Thread(target=time.sleep, args=(seconds,), name="sleeper")]
    for thread in threads:
        thread.start()
    outer(seconds)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(float(sys.argv[1]))
