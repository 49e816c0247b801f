"""How long does a person wait for the page? A made-up capture of many places, shown by replay, in a real Chromium: on a quiet
machine, and beside a program that has one of its processors, as a target may."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from processes import BUILD, ROOT, TARGET_CPUS, tied
from programs import build_own
from table import columns

TITLE = "Page: from opening it to the first frame, and from an event to what it changes (ms)"

MACHINES = ["quiet", "busy"]
PLACES = [1000, 100000, 1000000]
SAMPLES = 2000000
ACTIONS = ["first", "hover", "zoom", "search", "invert", "table", "sort", "sandwich", "source", "stacks", "stack_zoom", "tree", "line", "hide", "thread", "range"]
# Limits of DESIGN 7: for the first frame at 100,000 places, and for any event.
GOALS = {1000: (1000, 100), 100000: (1000, 100), 1000000: (None, 500)}


def measure(bench):
    if not shutil.which("node"):
        bench.note("page: node is not installed (apt-get install nodejs), so the page was not measured")
        return
    maker = build_own("capture")
    rows = []
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        for places in PLACES:
            path = os.path.join(folder, "%d.pyro" % places)
            subprocess.run([maker, path, str(SAMPLES), str(places)], stdout=subprocess.DEVNULL, check=True)
            for machine in bench.workloads(MACHINES):
                with beside(machine):
                    taken = measure_page(bench, path)
                bench.raw("page", {"places": places, "machine": machine, "ms": taken})
                first, event = GOALS[places]
                rows.append(["%d" % places, machine] + ["%d" % taken[name] for name in ACTIONS] + ["%s, %d" % (first or "-", event)])
    print(columns(["places", "machine"] + ACTIONS + ["goal: first, others"], rows), flush=True)


@contextlib.contextmanager
def beside(machine):
    if machine == "quiet":
        yield
        return
    neighbour = subprocess.Popen(tied([sys.executable, "-c", "while True: pass"]), preexec_fn=lambda: os.sched_setaffinity(0, TARGET_CPUS))
    try:
        yield
    finally:
        neighbour.kill()
        neighbour.wait()


def measure_page(bench, path):
    # A browser of its own is started below, so replay gets one that does nothing.
    server = subprocess.Popen([bench.program, "replay", path, "--browser", "--no-token", "--listen", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "BROWSER": "/bin/true"})
    try:
        url = re.search(r"http://\S+", server.stdout.readline().decode()).group(0)
        page = os.path.join(ROOT, "tests", "bench", "page.mjs")
        answer = subprocess.run(["node", page, url, str(bench.rounds)], stdout=subprocess.PIPE, check=True, timeout=600)
        return json.loads(answer.stdout)
    finally:
        server.terminate()
        server.wait()
