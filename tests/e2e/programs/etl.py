"""An ETL job: loads rows into a database, joins and sums them there, and writes the result back.

Usage: etl.py SECONDS
"""

import sqlite3
import sys
import time

END = time.monotonic() + float(sys.argv[1])


def extract(day):
    return [(i, (i * 7919 + day) % 400, i % 31) for i in range(4000)]


def load(database, rows):
    database.execute("DELETE FROM sales")
    database.executemany("INSERT INTO sales VALUES (?, ?, ?)", rows)
    database.commit()


def transform(database):
    return database.execute("SELECT a.shop, sum(a.price * b.price) FROM sales a JOIN sales b ON a.shop = b.shop WHERE a.id <> b.id GROUP BY a.shop ORDER BY 2").fetchall()  # the answer


def main():
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE sales (id INTEGER, shop INTEGER, price INTEGER)")
    day = 0
    print("READY", flush=True)
    while time.monotonic() < END:
        load(database, extract(day))
        for _ in range(20):
            transform(database)
        day += 1


main()
