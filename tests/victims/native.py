"""Time spent in C functions: each has a known share of it.

Usage: native.py [SECONDS]

The time of each C function is measured from inside and kept equal: whichever has had the least is called next. So the
shares are a fifth each for sort, digest, dump, wait and join, a little less what the choice takes.

What they call, for those who can see it: sort sorted, digest _hashlib.openssl_sha256, dump _json.Encoder.__call__, wait
time.sleep, join str.join.

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
