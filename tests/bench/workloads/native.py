"""A stationary loop through C code that calls Python back: sqlite, sorting, JSON, regular expressions, zlib.

Usage: native.py SECONDS [SLICE]

With SLICE prints, every SLICE seconds, what it did: `iterations seconds waited`, where waited is how long it stood ready
without a processor.
"""

import json
import re
import sqlite3
import sys
import time
import zlib

SECONDS = float(sys.argv[1])
SLICE = float(sys.argv[2]) if len(sys.argv) > 2 else 0
WORDS = "some words, and more words 12-34 abc@def.com " * 40


class Key:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value


def query(database):
    return database.execute("select sum(twice(value)) from numbers where value > ?", (3,)).fetchall()


def order(numbers):
    return sorted(map(Key, numbers)), sorted(numbers, key=lambda number: -number)


def parse(numbers):
    text = json.dumps({str(number): [number] * 3 for number in numbers}, indent=1)
    return json.loads(text, object_hook=lambda pairs: len(pairs))


def search():
    return re.findall(r"(\w+)@(\w+)\.com|(\d+)-(\d+)", WORDS), re.sub(r"(\d+)", lambda match: match.group(1)[::-1], WORDS)


def work(database, numbers):
    query(database)
    order(numbers)
    parse(numbers)
    search()
    zlib.compress(WORDS.encode())


def waited():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]) / 1e9


def main():
    numbers = [number * 7919 % 100 for number in range(100)]
    database = sqlite3.connect(":memory:")
    database.create_function("twice", 1, lambda value: value * 2)
    database.execute("create table numbers (value integer)")
    database.executemany("insert into numbers values (?)", ((number,) for number in numbers))
    print("READY", flush=True)
    began = time.monotonic()
    iterations, slice_began, slice_waited = 0, began, waited()
    while True:
        work(database, numbers)
        iterations += 1
        now = time.monotonic()
        if now - began > SECONDS:
            break
        if SLICE and now - slice_began >= SLICE:
            wait = waited()
            print(iterations, now - slice_began, wait - slice_waited, flush=True)
            iterations, slice_began, slice_waited = 0, time.monotonic(), waited()


main()
