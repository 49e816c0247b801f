#!/usr/bin/env python3
"""Samples lost when a process of a server is killed.

Usage: kills.py [--program FILE] [--python FILE] [--minutes N] [--seed N]

Starts `pyrometer serve` on loopback with a folder of captures, and in each round a session of a program with 20 threads at 1 kHz
while clients ask for its views. At a random moment one of the four processes is killed. What the session, or its capture when the
server itself was killed, still has is compared with that moment. Then the next session must sample, within a second unless the
server has to be started again. Prints the seconds lost by process; fails when more than a second is, or when nothing samples
again. Ends what it started, by process id.
"""

import argparse
import collections
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from processes import ROOT

SYSTEM = os.path.join(ROOT, "tests", "system")
MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}
KINDS = ("pyrometer", "pyrometer-read", "pyrometer-src", "pyrometer-keep")
MOST_LOST_S = 1.0
CLIENTS = 3
SETTLED_SAMPLES = 2000


class Load:
    """Clients that ask for the views of a session until they are ended."""

    def __init__(self, live, session):
        self.live, self.session, self.is_over = live, session, threading.Event()
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        while not self.is_over.is_set():
            for what in ("/tree", "/timeline", "/threads", ""):
                try:
                    self.live.ask("/api/v1/sessions/%s%s" % (self.session, what))
                except (OSError, ValueError, AssertionError):
                    time.sleep(0.05)

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


class Kills:
    def __init__(self, harness, target, data, seed):
        self.harness, self.target, self.data = harness, target, data
        self.random = random.Random(seed)
        self.lost = collections.defaultdict(list)
        self.live = None

    def serve(self):
        self.live = self.harness.Live("serve", "--data", self.data, "--no-continuous")
        self.live.__enter__()
        self.live.wait_until(lambda: set(KINDS[1:]) <= set(self.pids()))

    def pids(self):
        return self.harness.processes_of(self.live.process.pid)

    def start(self):
        answer = self.live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [self.target], "rate_hz": 1000}), MARK)
        assert answer.status == 202, answer.body
        return answer.json()["id"]

    def kept_of_session(self, session):
        """Seconds of the session that are there, once it is known to have failed."""
        self.live.wait_until(lambda: self.live.get("/sessions/" + session)["state"] == "failed")
        return self.live.get("/sessions/%s/quality" % session)["duration_s"]

    def kept_of_capture(self, name):
        quality = os.path.join(self.data, "quality.json")
        done = subprocess.run([self.harness.PROGRAM, "replay", os.path.join(self.data, name + ".pyro"), "--idle", "--waits=off", "--collapsed", "-o",
                               "/dev/null", "--quality", quality], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with open(quality, encoding="utf-8") as file:
            return json.load(file)["duration_s"]

    def round(self):
        kind = self.random.choice(KINDS)
        if self.live is None:
            self.serve()
        session = self.start()
        self.live.wait_until(lambda: self.live.get("/sessions/" + session)["quality"]["samples"] > SETTLED_SAMPLES)
        load = Load(self.live, session)
        time.sleep(self.random.uniform(0, 4))
        self.live.wait_until(lambda: set(KINDS[1:]) <= set(self.pids()))
        capture = self.live.get("/sessions/" + session)["capture"]
        pid = self.live.process.pid if kind == "pyrometer" else self.pids()[kind]
        before = self.live.get("/sessions/" + session)["elapsed_s"]
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        if kind == "pyrometer":
            load.end()
            self.live.process.kill()
            self.live = None
            kept = self.kept_of_capture(capture)
        elif kind == "pyrometer-src":
            time.sleep(self.random.uniform(0, 1))
            found = self.live.get("/sessions/" + session)
            assert found["state"] == "running", found
            kept = before
        else:
            kept = self.kept_of_session(session)
        self.lost[kind].append(max(0, before - kept))
        if self.live is None:
            return kind
        if kind == "pyrometer-read":
            self.live.wait_until(lambda: self.pids().get(kind, pid) != pid)
            self.lost["until another reader"].append(time.monotonic() - began)
        load.end()
        if kind == "pyrometer-keep":
            self.live.stop()
            self.live = None
        else:
            self.live.ask("/api/v1/sessions/" + session, "DELETE", None, MARK)
        return kind


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "pyrometer"))
    parser.add_argument("--python", default=os.path.join(ROOT, ".pythons", "bin", "python3.13"))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    os.environ["PYROMETER"] = asked.program
    sys.path.insert(0, SYSTEM)
    import harness
    with tempfile.TemporaryDirectory(prefix="pyrometer-kills-") as folder:
        data = os.path.join(folder, "data")
        os.chmod(folder, 0o755)
        os.mkdir(data, 0o700)
        target = subprocess.Popen([asked.python, os.path.join(ROOT, "tests", "victims", "threads.py"), "20", "36000"],
                                  stdout=subprocess.DEVNULL)
        kills = Kills(harness, target.pid, data, asked.seed)
        try:
            end = time.monotonic() + 60 * asked.minutes
            while time.monotonic() < end:
                kills.round()
        finally:
            if kills.live:
                kills.live.process.kill()
            target.kill()
            target.wait()
    print("what\trounds\tmedian s\tworst s")
    for what, lost in sorted(kills.lost.items()):
        print("%s\t%d\t%.2f\t%.2f" % (what, len(lost), statistics.median(lost), max(lost)))
    return int(any(max(lost) > MOST_LOST_S for lost in kills.lost.values()))


if __name__ == "__main__":
    sys.exit(main())
