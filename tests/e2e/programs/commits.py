"""A command that imports rows, as one of Django does, and commits each of them.

Usage: commits.py SECONDS

At its end it prints what its own clock says: the share of wall time, without that of its processor, that commits take.
"""

import json
import os
import sqlite3
import sys
import tempfile
import time


class Command:
    def __init__(self, path):
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("PRAGMA synchronous=FULL")
        self.database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, name TEXT)")
        self.spent = 0.0

    def save(self, number):
        self.database.execute("BEGIN")
        self.database.execute("INSERT INTO rows VALUES (?, ?)", (number, "row %d" % number))
        begun = time.monotonic() - time.thread_time()
        self.database.commit()  # the answer
        self.spent += time.monotonic() - time.thread_time() - begun

    def handle(self, seconds):
        begun = time.monotonic()
        number = 0
        while time.monotonic() < begun + seconds:
            self.save(number)
            number += 1
        print("TRUTH " + json.dumps({"part": "blocked", "share": self.spent / (time.monotonic() - begun)}), flush=True)


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("PYROMETER_TEST_DIR")) as folder:
        command = Command(os.path.join(folder, "rows.sqlite"))
        print("READY", flush=True)
        command.handle(float(sys.argv[1]))


main()
