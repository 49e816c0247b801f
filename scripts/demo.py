"""A program to profile: named threads, recursion, generators, exceptions, C functions, sleep.

Usage: demo.py [SECONDS]

Prints READY once everything runs, and runs until it is stopped or SECONDS have passed.
"""

import hashlib
import json
import random
import sys
import threading
import time

STOP = threading.Event()


class Pace:
    """A short rest after every stretch of work, so that a thread is seen to work and to sleep."""

    def __init__(self, work_s=0.25, rest_s=0.05):
        self.work_s = work_s
        self.rest_s = rest_s
        self.until = time.monotonic() + work_s

    def rest_if_due(self):
        if time.monotonic() >= self.until:
            time.sleep(self.rest_s)
            self.until = time.monotonic() + self.work_s


class Parser:
    """Reads orders from JSON and writes them back."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def make_order(self, number):
        items = [{"sku": "item-%d" % self.random.randrange(500), "count": self.random.randrange(1, 9)} for _ in range(30)]
        return {"order": number, "items": items, "note": "x" * self.random.randrange(200)}

    def encode(self, order):
        return json.dumps(order, sort_keys=True)

    def decode(self, text):
        return json.loads(text)

    def round_trip(self, number):
        return self.decode(self.encode(self.make_order(number)))


def read_orders(parser):
    number = 0
    while not STOP.is_set():
        yield parser.round_trip(number)
        number += 1


def drop_empty(orders):
    for order in orders:
        if order["items"]:
            yield order


def with_totals(orders):
    for order in orders:
        order["total"] = sum(item["count"] for item in order["items"])
        yield order


def pipeline():
    """A chain of generators, drained a batch at a time."""
    batch = []
    pace = Pace()
    for order in with_totals(drop_empty(read_orders(Parser(1)))):
        batch.append(order)
        if len(batch) == 200:
            rank(batch)
            batch.clear()
            pace.rest_if_due()


def rank(batch):
    return sorted(batch, key=importance)


def importance(order):
    return (-order["total"], order["order"])


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def hanoi(disks, source, target, spare):
    if disks == 0:
        return 0
    return hanoi(disks - 1, source, spare, target) + 1 + hanoi(disks - 1, spare, target, source)


def recursion():
    pace = Pace()
    while not STOP.is_set():
        fibonacci(14)
        hanoi(8, "left", "right", "middle")
        pace.rest_if_due()


def checksum(block):
    digest = block
    for _ in range(20):
        digest = hashlib.sha256(digest + block).digest()
    return digest


def compress(words):
    return "".join(sorted(set("".join(words))))


def hashing():
    block = bytes(range(256)) * 16
    pace = Pace()
    while not STOP.is_set():
        checksum(block)
        compress("the quick brown fox jumps over the lazy dog".split() * 50)
        pace.rest_if_due()


def parse_number(text):
    try:
        return int(text)
    except ValueError:
        return fall_back(text)


def fall_back(text):
    try:
        return float(text)
    except ValueError:
        return len(text)


def exceptions():
    texts = ["17", "2.5", "not a number", "0x1f", ""]
    pace = Pace()
    while not STOP.is_set():
        for text in texts * 20:
            parse_number(text)
        pace.rest_if_due()


def heartbeat():
    while not STOP.wait(0.5):
        json.dumps({"alive": time.time()})


def let_others_read():
    """Allows any process of this user to read this one where only a parent may (Yama's ptrace_scope 1)."""
    try:
        import ctypes
        set_ptracer, anyone = 0x59616D61, ctypes.c_ulong(-1)
        ctypes.CDLL(None).prctl(set_ptracer, anyone, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass


def main():
    let_others_read()
    jobs = {"pipeline": pipeline, "recursion": recursion, "hashing": hashing, "exceptions": exceptions,
            "heartbeat": heartbeat}
    threads = [threading.Thread(target=job, name=name) for name, job in jobs.items()]
    for thread in threads:
        thread.daemon = True
        thread.start()
    print("READY", flush=True)
    try:
        STOP.wait(float(sys.argv[1]) if len(sys.argv) > 1 else None)
    except KeyboardInterrupt:
        pass
    STOP.set()
    for thread in threads:
        thread.join(1)


if __name__ == "__main__":
    main()
