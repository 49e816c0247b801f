"""A shop of Flask on waitress whose page asks SQLite once for each row: N+1 queries.  Clients in another process.

Usage: flask_queries.py SECONDS
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time

import waitress.server
from flask import Flask, render_template_string

ROWS = 400
CLIENTS = 2
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client.py")
PAGE = "<ul>{% for name in names %}<li>{{ name }}</li>{% endfor %}</ul>"
SPENT = {"line": 0.0}
app = Flask(__name__)
local = threading.local()


def database():
    if not hasattr(local, "database"):
        local.database = sqlite3.connect(":memory:")
        local.database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
        local.database.executemany("INSERT INTO customers VALUES (?, ?)", ((i, "customer %d" % i) for i in range(ROWS)))
    return local.database


def customer(number):
    # No index serves this question, so each one reads the table.
    return database().execute("SELECT name FROM customers WHERE id + 0 = ?", (number,)).fetchone()[0]  # the answer


@app.get("/")
def orders():
    database()
    begun = time.thread_time()
    names = [customer(number) for number in range(ROWS)]
    SPENT["line"] += time.thread_time() - begun
    return render_template_string(PAGE, names=names)


def main():
    seconds = float(sys.argv[1])
    server = waitress.server.create_server(app, host="127.0.0.1", port=0, threads=4)
    threading.Thread(target=server.run, name="server", daemon=True).start()
    client = subprocess.Popen([sys.executable, CLIENT, str(server.effective_port), str(seconds + 1), str(CLIENTS)])
    while not SPENT["line"]:
        time.sleep(0.1)
    SPENT["line"] = 0.0
    begun, used = time.monotonic(), time.process_time()
    print("READY", flush=True)
    time.sleep(seconds)
    truth = {"seconds": time.monotonic() - begun, "processor": time.process_time() - used, "line": SPENT["line"]}
    client.kill()
    print("TRUTH " + json.dumps(truth), flush=True)
    # Work at the end of the program is no part of the truth.
    os._exit(0)


main()
