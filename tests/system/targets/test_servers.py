"""Dumps of programs of libraries that run many requests: gunicorn, gevent and eventlet.

Exit code: 0 all is right, 1 something is not, 77 scripts/get-consumers has not fetched them.
"""

import os
import re
import socket
import subprocess
import time
import unittest
import urllib.request

from harness import FOLDER, ROOT, WAIT_SECONDS, Process, Test, main, run_program, script, victim

PYTHON = os.path.join(os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers")), "profiled", "bin", "python")
GREENLETS = "  greenlets that are switched out cannot be listed"
APPLICATION = """
import threading
LOCK = threading.Lock()
def hang():
    with LOCK:
        with LOCK:
            pass
def application(environ, start_response):
    start_response("200 OK", [])
    if environ["PATH_INFO"] == "/hang":
        hang()
    return [b"ok"]
"""
GEVENT = """
import gevent, gevent.event, gevent.lock, gevent.monkey
gevent.monkey.patch_all()
import threading
never, lock = gevent.event.Event(), threading.Lock()
def wait_for_event():
    never.wait()
def hold():
    with lock:
        never.wait()
def take():
    with lock:
        pass
def timer():
    print("READY", flush=True)
    gevent.sleep(1000)
gevent.joinall([gevent.spawn(f) for f in (wait_for_event, hold, take, timer)])
"""
EVENTLET = """
import eventlet, eventlet.event
eventlet.monkey_patch()
never = eventlet.event.Event()
def wait_for_event():
    never.wait()
pool = [eventlet.spawn(wait_for_event) for _ in range(3)]
eventlet.sleep(0.2)
print("READY", flush=True)
pool[0].wait()
"""


def has_module(name):
    return os.path.exists(PYTHON) and subprocess.run([PYTHON, "-c", "import " + name], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Servers(Test):
    def setUp(self):
        if not has_module("gunicorn, gevent, eventlet"):
            raise unittest.SkipTest("gunicorn, gevent and eventlet are not there: scripts/get-consumers fetches them")

    def test_a_worker_of_gunicorn_that_waits_for_itself_is_the_odd_one(self):
        script("servers_application.py", APPLICATION)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [PYTHON, "-m", "gunicorn", "-w", "3", "-k", "sync", "-b", "127.0.0.1:%d" % port, "--timeout", "300",
                 "--no-control-socket", "servers_application:application"]
        with Process(words, cwd=FOLDER) as server:
            end = time.monotonic() + WAIT_SECONDS
            while True:
                try:
                    urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=5).close()
                    break
                except OSError:
                    self.assertLess(time.monotonic(), end, server.output())
                    time.sleep(0.1)
            hung = socket.create_connection(("127.0.0.1", port))
            hung.sendall(b"GET /hang HTTP/1.0\r\n\r\n")
            self.addCleanup(hung.close)
            time.sleep(1)
            process, code = run_program("dump", "-s", str(server.pid), "--fail-if", "deadlock")
        self.assertEqual(code, 5, process.output())
        text = "\n".join(process.out)
        self.assertRegex(text, r"\A4 processes, Python [^\n]*\nprocess \d+: deadlock: MainThread waits for LOCK \(threading\.Lock at \S+\), held by MainThread at hang ")
        self.assertRegex(text, r"\n1 of 4 processes · MainThread: blocked: lock\n  process \d+\n    waits for LOCK \(threading\.Lock\), held by MainThread at hang ")
        self.assertRegex(text, r"\n2 of 4 processes · MainThread: idle: [a-z ]+\n  processes ")

    def test_greenlets_of_gevent_that_wait_are_said_to_be_missing(self):
        self.check_greenlets(script("servers_gevent.py", GEVENT), r"(?m)^    Hub\.run \(.*/gevent/hub\.py:\d+\)$")

    def test_greenlets_of_eventlet_that_wait_are_said_to_be_missing(self):
        self.check_greenlets(script("servers_eventlet.py", EVENTLET), r"(?m)^    BaseHub\.run \(.*/eventlet/hubs/hub\.py:\d+\)$")

    def check_greenlets(self, path, hub):
        with victim(path, python=PYTHON) as target:
            process, code = run_program("dump", "--fail-if", "deadlock", str(target.pid))
        self.assertEqual(code, 0, process.output())
        text = "\n".join(process.out)
        self.assertRegex(text, hub)
        self.assertRegex(text, r"  thread %d MainThread: (idle|blocked)" % target.pid)
        self.assertEqual(process.out[-1], GREENLETS)
        # A greenlet that is switched out is on no stack of a thread.
        self.assertIsNone(re.search(r"wait_for_event|hold \(", text), text)


if __name__ == "__main__":
    main()
