"""A web server with a page that is slow to render; clients in another process ask for it all the time.

Usage: web_server.py SECONDS
"""

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client.py")


def catalogue():
    return [{"name": "item %d" % i, "price": i % 97} for i in range(3000)]


def render(items):
    return "".join(sorted("<li>%(name)s: %(price)s</li>" % item for item in items * 20))  # the answer


class Handler(BaseHTTPRequestHandler):
    items = catalogue()

    def do_GET(self):
        body = render(self.items).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = str(server.server_address[1])
    clients = [subprocess.Popen([sys.executable, CLIENT, port, sys.argv[1]]) for _ in range(2)]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("READY", flush=True)
    time.sleep(float(sys.argv[1]))
    for client in clients:
        client.kill()


main()
