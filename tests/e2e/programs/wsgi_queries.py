"""A threaded WSGI server whose page asks the database once for each row: N+1 queries.  Clients in another process.

Usage: wsgi_queries.py SECONDS

At its end it prints what its own clock says: the share of its processor time that the queries take.
"""

import json
import os
import socketserver
import sqlite3
import subprocess
import sys
import threading
import time
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

ROWS = 1500
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client.py")
SPENT = {"queries": 0.0}


def connection():
    found = sqlite3.connect(":memory:")
    found.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER)")
    found.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
    found.executemany("INSERT INTO orders VALUES (?, ?)", ((i, i) for i in range(ROWS)))
    found.executemany("INSERT INTO customers VALUES (?, ?)", ((i, "customer %d" % i) for i in range(ROWS)))
    return found


def customer(database, number):
    # No index serves this question, so each one reads the table.
    return database.execute("SELECT name FROM customers WHERE id + 0 = ?", (number,)).fetchone()[0]  # the answer


def page(_, start_response):
    database = connection()
    names = []
    for _, number in database.execute("SELECT id, customer FROM orders").fetchall():
        at = time.thread_time()
        names.append(customer(database, number))
        SPENT["queries"] += time.thread_time() - at
    database.close()
    body = "".join("<li>" + name for name in names).encode()
    start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(body)))])
    return [body]


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    server = make_server("127.0.0.1", 0, page, Server, Quiet)
    clients = [subprocess.Popen([sys.executable, CLIENT, str(server.server_port), sys.argv[1]]) for _ in range(2)]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("READY", flush=True)
    begun = time.process_time()
    time.sleep(float(sys.argv[1]))
    share = SPENT["queries"] / (time.process_time() - begun)
    for client in clients:
        client.kill()
        client.wait()
    print("TRUTH " + json.dumps({"part": "running", "share": share}), flush=True)


main()
