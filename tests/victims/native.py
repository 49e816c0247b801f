"""Time spent in C functions: each has a known share of it.

Usage: native.py [SECONDS]

The program measures the time in each C function and always calls the one with the least time next. So sort, digest,
dump, wait and join have a share of one fifth each, minus a little for that choice.

The C functions: sort calls sorted, digest _hashlib.openssl_sha256, dump _json.Encoder.__call__, wait time.sleep, and
join str.join.

Answer:
    <module>:62 main:53-59 sort:32
    <module>:62 main:53-59 digest:37
    <module>:62 main:53-59 dump:41 dumps:* ...
    <module>:62 main:53-59 wait:45
    <module>:62 main:53-59 join:49
"""

import hashlib
import json
import sys
import time

END = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
NUMBERS = [number * 7919 % 100003 for number in range(20000)]
BYTES = bytes(2000000)
TABLE = {"numbers": list(range(20000)), "words": ["word"] * 1000}
WORDS = ["word %d" % number for number in range(50000)]


def sort():
    sorted(NUMBERS)


# The object is made and given all its bytes in one call.
def digest():
    hashlib.sha256(BYTES)


def dump():
    json.dumps(TABLE)


def wait():
    time.sleep(0.002)


def join():
    " ".join(WORDS)


def main():
    print("READY", flush=True)
    spent = {work: 0.0 for work in (sort, digest, dump, wait, join)}
    while time.monotonic() < END:
        work = min(spent, key=spent.get)
        start = time.perf_counter()
        work()
        spent[work] += time.perf_counter() - start


main()
