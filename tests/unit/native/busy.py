"""Prints the id of its thread, then calls C code of several libraries that calls Python back, for a minute at most."""

import json
import re
import sqlite3
import sys
import threading
import time
import zlib


class Key:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value


def work(database):
    numbers = [i * 7919 % 300 for i in range(300)]
    sorted(numbers, key=lambda number: -number)
    sorted(map(Key, numbers))
    text = json.dumps({str(number): [number] * 3 for number in numbers}, indent=1)
    json.loads(text, object_hook=lambda pairs: len(pairs))
    re.sub(r"(\d+)+[,\]]", lambda match: match.group(0)[::-1], text)
    zlib.compress(text.encode())
    database.execute("select sum(twice(value)) from numbers where value > ?", (3,)).fetchall()


def main():
    database = sqlite3.connect(":memory:")
    database.create_function("twice", 1, lambda value: value * 2)
    database.execute("create table numbers (value integer)")
    database.executemany("insert into numbers values (?)", ((i,) for i in range(300)))
    print(threading.get_native_id())
    sys.stdout.flush()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        work(database)


main()
