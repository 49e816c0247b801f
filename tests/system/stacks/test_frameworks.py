"""Requests that are guessed by the functions of web frameworks and task queues, without a ContextVar: --context guessed-requests."""

import concurrent.futures
import http.client
import os
import subprocess
import sys
import threading
import time
import unittest

from harness import ENGINE, ROOT, SLOWNESS, Live, Process, Test, main

PROFILED = os.path.join(os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers")), "profiled", "bin", "python")
ROUTES = os.path.join(ROOT, "tests", "e2e", "programs", "web_routes.py")
# Each program with what it imports, and the name of its slow function.
PROGRAMS = {"flask": ("flask, waitress", "flask_app.<locals>.slow"), "django": ("django, waitress", "django_app.<locals>.slow"),
            "django-asgi": ("django, uvicorn", "django_app.<locals>.slow_later"), "fastapi": ("fastapi, uvicorn", "fastapi_app.<locals>.slow"),
            "aiohttp": ("aiohttp", "serve_aiohttp.<locals>.slow"), "celery": ("celery, waitress", "serve_celery.<locals>.slow")}
SLOW, SLOW_S, QUICK_EACH = 12, 0.25, 4


def has_modules(names):
    return os.path.exists(PROFILED) and subprocess.run([PROFILED, "-c", "import " + names], stderr=subprocess.DEVNULL, check=False).returncode == 0


def load(port, slow):
    """Asks for so many slow pages among quick ones, and for quick ones from another thread meanwhile; returns how long the quick ones took."""
    over, quick = threading.Event(), []

    def get(path):
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60 * SLOWNESS)
        connection.request("GET", path)
        connection.getresponse().read()
        connection.close()
        if path == "/quick":
            quick.append(time.monotonic() - begin)
        time.sleep(0.01)

    def ask_quick():
        while not over.is_set():
            get("/quick")
    other = threading.Thread(target=ask_quick)
    other.start()
    try:
        for number in range((QUICK_EACH + 1) * slow):
            get("/slow" if number % (QUICK_EACH + 1) == QUICK_EACH else "/quick")
    finally:
        over.set()
        other.join()
    return quick


class Frameworks(Test):
    def check(self, name):
        modules, function = PROGRAMS[name]
        if not has_modules(modules):
            return name
        process = Process([PROFILED, ROUTES, name, "plain"])
        try:
            port = int(process.wait_line(r"READY (\d+)").group(1))
            # The first requests of a server import, and start threads.
            load(port, 2)
            with Live("attach", str(process.pid), "--engine", ENGINE, "--context", "guessed-requests") as live:
                quick = load(port, SLOW)
                live.wait_until(lambda: any(row["duration"] > SLOW_S * 0.9 for row in self.rows(live)))
                time.sleep(0.5)
                rows = self.rows(live)
        finally:
            process.kill()
        self.assertTrue(all(row["guessed"] and row["variable"] == "guessed-requests" for row in rows), rows[:4])
        slow = [row for row in rows if row["duration"] > SLOW_S * 0.8]
        # Other work of the machine makes others slow, too.
        most = SLOW + sum(seconds > SLOW_S * 0.7 for seconds in quick)
        self.assertTrue(0.9 * SLOW <= len(slow) <= 1.1 * most, (name, len(slow), most, rows[:4]))
        # The first screen.
        self.assertGreaterEqual(sum(row["value"].split(" ", 1)[1:] == [function] for row in rows[:10]), 5, (name, rows[:10]))
        # Quick ones may end between two ticks.
        self.assertGreater(len(rows), len(slow))
        return None

    @staticmethod
    def rows(live):
        return live.get("/sessions/1/requests?limit=500")["rows"]

    def tried(self, name):
        """Checks up to three times."""
        for _ in range(2):
            try:
                return self.check(name)
            except AssertionError as error:
                print("%s is tried again: %.300s" % (name, error), file=sys.stderr)
        return self.check(name)

    def test_slow_functions_are_the_first_rows(self):
        """Two at a time: most of it is waiting."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            checks = {name: pool.submit(self.tried, name) for name in PROGRAMS}
        missing = []
        for name, done in checks.items():
            with self.subTest(name):
                missing += [done.result()]
        if all(missing):
            raise unittest.SkipTest("no framework is there: scripts/get-consumers fetches them")


if __name__ == "__main__":
    main()
