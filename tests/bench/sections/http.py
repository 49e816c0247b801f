"""Costs of answering, for information; wrk of Debian makes the load."""

import json
import re
import selectors
import shutil
import socket
import subprocess
import time
import urllib.request

from processes import Target, family_cpu_s
from table import columns

TITLE = "HTTP: CPU of the server"

VIEWERS = 200
NODES = 100000
# Requests of a page that shows a live flame graph.
POLLED = ["/api/v1/sessions/1"] + ["/api/v1/sessions/1/%s?since=%%d" % name for name in ("tree", "view", "threads", "timeline")]
PATHS = ["/healthz", "/api/v1/sessions/1", "/api/v1/sessions/1/view?since=%d", "/api/v1/sessions/1/tree?since=%d"]


def measure(bench):
    python = bench.pythons[-1]
    seconds = bench.seconds(10)
    rows = []
    with Target(python, "calls.py", 20 * seconds + 60, []) as target, Server(bench, target.pid) as server:
        idle = server.cpu_during(lambda: time.sleep(seconds)) / seconds
        rows.append(["nobody asks", "", "%.2f %% of a core" % (100 * idle)])
        rows += loads(bench, server, idle, seconds)
    with Target(python, "wide.py", 20 * seconds + 120, []) as target, Server(bench, target.pid, "-r", "2khz") as server:
        nodes = grow(server, NODES)
        idle = server.cpu_during(lambda: time.sleep(seconds)) / seconds
        rows.append(["nobody asks, %d nodes" % nodes, "", "%.2f %% of a core" % (100 * idle)])
        rows.append(viewers(bench, server, 1, nodes, idle, seconds))
        rows.append(viewers(bench, server, VIEWERS, nodes, idle, seconds))
    print(columns(["what", "requests/s", "CPU"], rows), flush=True)


def grow(server, wanted, patience=120):
    """The nodes of the tree, once it has as many as wanted, or that long has gone by."""
    end, nodes, generation = time.monotonic() + patience, 0, 0
    while nodes < wanted and time.monotonic() < end:
        time.sleep(1)
        tree = server.json("/api/v1/sessions/1/tree?since=%d" % generation)
        generation = tree["generation"]
        nodes = tree["nodes"]["first"] + len(tree["nodes"]["parent"])
    return nodes


def loads(bench, server, idle, seconds):
    wrk = shutil.which("wrk")
    if not wrk:
        bench.note("http: wrk is not installed (apt-get install wrk), so no load")
        return
    for path in PATHS:
        generation = int(re.search(rb'"generation":(\d+)', server.ask("/api/v1/sessions/1")).group(1))
        url = "http://127.0.0.1:%d%s" % (server.port, path % generation if "%d" in path else path)
        command = [wrk, "-t1", "-c16", "-d%ds" % seconds, "-H", "Authorization: Bearer " + server.token, url]
        text = []
        cpu = server.cpu_during(lambda: text.append(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
        requests = int(re.search(rb"(\d+) requests in", text[0]).group(1))
        each = max(cpu - idle * seconds, 0) / max(requests, 1)
        bench.raw("http", {"path": path, "requests": requests, "seconds": seconds, "cpu_s_each": each})
        yield [path, "%.0f" % (requests / seconds), "%.1f us a request" % (each * 1e6)]


def viewers(bench, server, count, nodes, idle, seconds):
    """Each is a live page: it keeps its connection, and asks once a second for all that it shows."""
    answered = []
    cpu = server.cpu_during(lambda: answered.append(poll(server, count, seconds)))
    share = cpu / seconds - idle
    bench.raw("http", {"viewers": count, "nodes": nodes, "answers": answered[0], "seconds": seconds, "cpu_share": share})
    return ["%d viewers, %d nodes" % (count, nodes), "%.0f" % (answered[0] / seconds), "%.2f %% of a core" % (100 * share)]


def poll(server, count, seconds):
    choose = selectors.DefaultSelector()
    start, answers = time.monotonic(), 0
    generation = server.json("/api/v1/sessions/1")["generation"]
    due = []
    for i in range(count):
        connection = socket.create_connection(("127.0.0.1", server.port), 10)
        due.append([start + i / count, connection, generation])
        choose.register(connection, selectors.EVENT_READ, due[-1])
    while time.monotonic() - start < seconds:
        now = time.monotonic()
        for viewer in due:
            if viewer[0] <= now:
                viewer[0] += 1
                viewer[1].sendall(b"".join(server.request(path % viewer[2] if "%d" in path else path) for path in POLLED))
        for key, _ in choose.select(0.005):
            text = key.fileobj.recv(1 << 18)
            found = re.findall(rb'"generation":(\d+)', text)
            key.data[2] = max([key.data[2]] + [int(one) for one in found])
            answers += text.count(b"HTTP/1.1 200")
    for viewer in due:
        viewer[1].close()
    return answers


class Server:
    """The program, serving one target."""

    def __init__(self, bench, pid, *words):
        self.process = subprocess.Popen([bench.program, "attach", str(pid), "--listen", "127.0.0.1:0", *words],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        line = self.process.stdout.readline().decode()
        found = re.search(r":(\d+)/\?token=(\w+)", line)
        if not found:
            self.process.kill()
            raise RuntimeError("it does not serve: %r" % line)
        self.port, self.token = int(found.group(1)), found.group(2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def request(self, path):
        return ("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % (path, self.token)).encode()

    def ask(self, path):
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(self.request(path))
            return connection.recv(1 << 16)

    def json(self, path):
        asked = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), headers={"Authorization": "Bearer " + self.token})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.loads(answer.read())

    def cpu_during(self, work):
        """CPU time of the server and of the processes beside it, which read the target and sources."""
        before = family_cpu_s(self.process.pid)
        work()
        return family_cpu_s(self.process.pid) - before
