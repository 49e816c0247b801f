#!/usr/bin/env python3
"""A server at work for a long time: does what it holds stay the same?

Usage: soak.py [--program FILE] [--minutes N] [--pages N] [--round SECONDS] [--every SECONDS] [--out FILE]

Starts `pyrometer serve` on loopback with a folder of captures, some victims, and pages that ask as web/source/live.js does.
Sessions are started, paused, ended and deleted, reports and exports made, captures opened, fetched and deleted all the
while. Writes one line of tab-separated numbers every --every seconds. Fails when the last third of them lies above the
first by more than MARGINS, when files or threads are left once all clients have gone, when an answer is not what it
should be, or when the server ends. Ends what it started, by process id.
"""

import argparse
import asyncio
import collections
import contextlib
import gzip
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

from processes import ROOT, children_of, tied

VICTIMS = os.path.join(ROOT, "tests", "victims")
# Each with how its sessions sample.
SLOTS = (
    (["threads.py", "6"], {"rate_hz": 500}),
    (["asyncio_server.py"], {"rate_hz": 200, "async": "all"}),
    (["recursion.py", "200"], {"rate_hz": 200, "opcodes": True, "native": "leaf"}),
    (["chain.py"], {"rate_hz": 100, "subprocesses": True}),
)
FORMATS = ("collapsed", "flamegraph", "heatmap", "pstats", "pstats-text", "jsonl", "gecko", "chrome-trace", "speedscope", "pprof")
# Allowed excess of the median of the last third over that of the first: a share of it, and an amount.
MARGINS = {"rss_mib": (0.15, 8), "helper_mib": (0.15, 4), "fds": (0, 12), "threads": (0, 4)}
ANSWER_SECONDS = 120
# Statuses that a page may get: besides success, its session has gone, or the server is busy.
EXPECTED = {200, 201, 202, 204, 304, 404, 409, 429, 503}
CHANGE = {"X-Pyrometer": "1", "Content-Type": "application/json"}


class Client:
    """One connection that is kept, and opened again when the server has ended it."""

    def __init__(self, soak, host):
        self.soak, self.host = soak, host
        self.reader = self.writer = None
        self.tags = {}

    async def ask(self, path, method="GET", body=None, keep=True):
        """The status and the body (b"" unless `keep`)."""
        for attempt in range(2):
            was_open = self.writer is not None
            try:
                status, data = await asyncio.wait_for(self.exchange(path, method, body, keep), ANSWER_SECONDS)
                self.soak.statuses[status] += 1
                # A function that is taken at random may have no file.
                if status not in EXPECTED and not (status == 400 and "/source?" in path):
                    self.soak.wrong["%s %s: %d %s" % (method, re.sub(r"\d+", "N", path), status, data[:200])] += 1
                return status, data
            except (OSError, asyncio.IncompleteReadError) as problem:
                self.close()
                if attempt or not was_open:
                    self.soak.wrong["%s %s: %r" % (method, re.sub(r"\d+", "N", path), problem)] += 1
                    return 0, b""
        return 0, b""

    async def exchange(self, path, method, body, keep):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.soak.port, limit=1 << 20)
        headers = {"Host": "127.0.0.1", "Authorization": "Bearer " + self.soak.token, "Accept-Encoding": "gzip"}
        if path in self.tags:
            headers["If-None-Match"] = self.tags[path]
        data = b"" if body is None else json.dumps(body).encode()
        if method != "GET":
            headers.update(CHANGE, **{"Content-Length": str(len(data))})
        lines = ["%s /api/v1%s HTTP/1.1" % (method, path)] + ["%s: %s" % pair for pair in headers.items()]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split()[1])
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        got = b"" if status in (204, 304) else await self.body(headers, keep)
        if "etag" in headers and len(self.tags) < 64:
            self.tags[path] = headers["etag"]
        if headers.get("connection", "").lower() == "close":
            self.close()
        return status, got

    async def body(self, headers, keep):
        parts = []

        async def take(count):
            while count:
                part = await self.reader.read(min(count, 1 << 16))
                if not part:
                    raise asyncio.IncompleteReadError(b"", count)
                count -= len(part)
                if keep:
                    parts.append(part)
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while True:
                size = int((await self.reader.readline()).split(b";")[0], 16)
                await take(size)
                await self.reader.readline()
                if size == 0:
                    break
        else:
            await take(int(headers.get("content-length", "0")))
        data = b"".join(parts)
        if keep and headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        return data

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


class Page(Client):
    """Requests of live.js, round after round, for whatever session its slot has."""

    def __init__(self, soak, host, slot):
        super().__init__(soak, host)
        self.slot = slot
        self.session = None
        self.forget()
        # As tabs differ: most show the flame graph, some the others besides.
        self.watches = random.random()

    def forget(self):
        self.tags.clear()
        self.epoch, self.since = None, dict.fromkeys(("tree", "view", "threads", "timeline", "heatmap"), 0)

    async def read(self, what, **query):
        query = dict({"since": self.since[what]}, **query) if what in self.since else query
        path = "/sessions/%s/%s" % (self.session, what) + ("?" + urllib.parse.urlencode(query) if query else "")
        # Only trees tell what is read next; the rest need not be kept.
        status, data = await self.ask(path)
        if status != 200:
            return None
        answer = json.loads(data)
        if what in self.since:
            if self.epoch not in (None, answer["epoch"]):
                self.forget()
                return None
            self.epoch = answer["epoch"]
            self.since[what] = answer["generation"]
        return answer

    async def round(self):
        wanted = self.soak.shown[self.slot]
        if wanted != self.session:
            self.session = wanted
            self.forget()
        if self.session is None:
            await self.ask("/sessions")
            await self.ask("/processes?limit=1000", keep=False)
            return
        status, _ = await self.ask("/sessions/" + self.session)
        if status not in (200, 304):
            self.session = None
            return
        view = await self.read("view")
        while view and self.since["tree"] < view["generation"]:
            before = self.since["tree"]
            if not await self.read("tree") or self.since["tree"] <= before:
                break
        await self.read("threads")
        await self.read("timeline", slots=480)
        if self.watches < 0.3:
            await self.read("heatmap")
        if self.watches < 0.2:
            await self.read("gil")
        if self.watches < 0.1:
            await self.read("tasks")
            await self.read("quality")
        if 0.3 < self.watches < 0.35:
            function = random.randrange(1, 20)
            await self.ask("/sessions/%s/source?function=%d" % (self.session, function))
            await self.ask("/sessions/%s/lines?function=%d" % (self.session, function))

    async def run(self):
        await asyncio.sleep(random.uniform(0, 4 * self.soak.options.round))
        while not self.soak.is_over():
            began = time.monotonic()
            await self.round()
            self.soak.rounds += 1
            # A tab is closed and opened now and then.
            if random.random() < 0.01:
                self.close()
                self.session = None
            await asyncio.sleep(max(0.05, self.soak.options.round - (time.monotonic() - began)))
        self.close()


class Operator(Client):
    """Sessions of one slot from their start to the end of their captures, again and again."""

    def __init__(self, soak, host, slot):
        super().__init__(soak, host)
        self.slot = slot

    async def send(self, method, path, body=None):
        self.tags.clear()
        status, data = await self.ask(path, method, body)
        return status, json.loads(data) if data else {}

    async def until(self, session, states):
        for _ in range(240):
            _, found = await self.send("GET", "/sessions/" + session)
            if found.get("state") in states:
                return found
            await asyncio.sleep(0.25)
        self.soak.wrong["session never became one of %s, but is %s" % (states, found.get("state"))] += 1
        return found

    async def reports(self, session):
        for name in random.sample(FORMATS, 3):
            await self.ask("/sessions/%s/export?format=%s" % (session, name), keep=False)
        await self.ask("/sessions/%s/report.html" % session, keep=False)

    async def cycle(self):
        soak, slot = self.soak, self.slot
        body = dict(SLOTS[slot][1], pids=[soak.victims[slot].pid])
        status, found = await self.send("POST", "/sessions", body)
        if status != 202:
            return await asyncio.sleep(1)
        session = found["id"]
        found = await self.until(session, ("running", "failed"))
        if found.get("state") == "failed":
            self.soak.wrong["session failed: %s" % found.get("reason")] += 1
        soak.shown[slot] = session
        await asyncio.sleep(random.uniform(5, 20))
        await self.send("PATCH", "/sessions/" + session, {"state": "paused"})
        await asyncio.sleep(random.uniform(0, 2))
        await self.send("PATCH", "/sessions/" + session, {"state": "running", "rate_hz": 300})
        await self.send("GET", "/processes/%d/dump" % soak.victims[slot].pid)
        await self.reports(session)
        await asyncio.sleep(random.uniform(0, 5))
        await self.send("PATCH", "/sessions/" + session, {"state": "ended"})
        found = await self.until(session, ("ended", "failed"))
        capture = found.get("capture")
        soak.cycles += 1
        await self.send("DELETE", "/sessions/" + session)
        if capture is None:
            self.soak.wrong["a session without a capture"] += 1
            return
        for _ in range(40):
            _, found = await self.send("GET", "/captures/" + capture)
            if found.get("state") == "complete":
                break
            await asyncio.sleep(0.25)
        status, found = await self.send("POST", "/captures", {"name": capture})
        if status in (200, 202):
            opened = found["id"]
            await self.until(opened, ("ended", "failed"))
            soak.shown[slot] = opened
            await self.reports(opened)
            await asyncio.sleep(random.uniform(2, 8))
            await self.send("DELETE", "/sessions/" + opened)
        await self.ask("/captures/%s/file" % capture, keep=False)
        await self.send("DELETE", "/captures/" + capture)

    async def run(self):
        while not self.soak.is_over():
            await self.cycle()
        self.close()


def memory_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:"))


def usage_of(pid):
    """Usage of the server; also memory, files and threads of the processes beside it."""
    row = {"rss_mib": memory_of(pid), "helper_mib": 0.0, "fds": 0, "threads": 0, "processes": 0}
    for one in [pid] + children_of(pid):
        with contextlib.suppress(OSError):
            row["fds"] += len(os.listdir("/proc/%d/fd" % one))
            row["threads"] += len(os.listdir("/proc/%d/task" % one))
            row["processes"] += 1
            row["helper_mib"] += memory_of(one) if one != pid else 0
    return row


class Soak:
    def __init__(self, options):
        self.options = options
        self.statuses, self.wrong = collections.Counter(), collections.Counter()
        self.rounds = self.cycles = 0
        self.shown = [None] * len(SLOTS)
        self.rows = []
        self.end = time.monotonic() + options.minutes * 60

    def is_over(self):
        return time.monotonic() > self.end or self.server.poll() is not None

    def start(self, folder):
        # They end by themselves, should we not be there to end them.
        life = str(int(self.options.minutes * 60 + 600))
        self.victims = [subprocess.Popen(tied([self.options.python, os.path.join(VICTIMS, words[0]), *words[1:], life]),
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for words, _ in SLOTS]
        path = os.path.join(folder, "stderr")
        with open(path, "wb") as output:
            self.server = subprocess.Popen(
                tied([self.options.program, "serve", "--listen", "127.0.0.1:0", "--data", os.path.join(folder, "data")]),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        for _ in range(300):
            with open(path, encoding="utf-8", errors="replace") as output:
                match = re.search(r"http://[^ ]*:(\d+)/\?token=(\S+)", output.read())
            if match:
                break
            time.sleep(0.1)
        else:
            raise SystemExit("the server does not start")
        self.port, self.token = int(match.group(1)), match.group(2)
        time.sleep(2)

    def stop(self):
        for process in [self.server] + self.victims:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in [self.server] + self.victims:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def say(self, text):
        print(text, file=self.options.out, flush=True)

    async def watch(self):
        began = time.monotonic()
        while not self.is_over():
            await asyncio.sleep(min(self.options.every, max(0.1, self.end - time.monotonic())))
            if self.server.poll() is not None:
                return
            row = usage_of(self.server.pid)
            if not self.rows:
                self.say("\t".join(["seconds", *row, "rounds", "cycles", "wrong"]))
            self.rows.append(row)
            numbers = [time.monotonic() - began, *row.values(), self.rounds, self.cycles, sum(self.wrong.values())]
            self.say("\t".join("%g" % round(number, 1) for number in numbers))

    async def work(self):
        idle = usage_of(self.server.pid)
        # All pages have one address of the loopback, as those of one proxy have.
        tasks = [Page(self, "127.0.0.1", i % len(SLOTS)).run() for i in range(self.options.pages)]
        tasks += [Operator(self, "127.0.0.1", slot).run() for slot in range(len(SLOTS))]
        await asyncio.gather(self.watch(), *tasks)
        return idle

    async def leave(self):
        """Usage that is left when all has been deleted and all clients have gone."""
        client = Client(self, "127.0.0.1")
        _, data = await client.ask("/sessions")
        for session in json.loads(data or b'{"sessions":[]}')["sessions"]:
            await client.ask("/sessions/" + session["id"], "DELETE")
        client.close()
        # Kept connections and helpers that nobody needs end after a while.
        await asyncio.sleep(45)
        return usage_of(self.server.pid)

    def judge(self, idle, left):
        problems = ["%d times: %s" % (count, what) for what, count in self.wrong.most_common(20)]
        third = len(self.rows) // 3
        for name, (share, amount) in MARGINS.items():
            if third == 0:
                problems.append("too short to compare thirds")
                break
            first, last = (statistics.median(row[name] for row in part) for part in (self.rows[:third], self.rows[-third:]))
            self.say("%s: first third %.1f, last third %.1f" % (name, first, last))
            if last > first * (1 + share) + amount:
                problems.append("%s grew from %.1f to %.1f" % (name, first, last))
        for name in ("fds", "threads", "processes"):
            self.say("%s: %d before the first client, %d after the last" % (name, idle[name], left[name]))
            # The helper that reads source files may stay.
            if left[name] > idle[name] + 4:
                problems.append("%s: %d are left, there were %d" % (name, left[name], idle[name]))
        self.say("memory: %.1f MiB before, %.1f MiB after" % (idle["rss_mib"], left["rss_mib"]))
        return problems

    def run(self):
        with tempfile.TemporaryDirectory(prefix="pyrometer-soak-") as folder:
            try:
                self.start(folder)
                idle = asyncio.run(self.work())
                if self.server.poll() is not None:
                    problems = ["the server has ended: %s" % self.server.returncode]
                else:
                    problems = self.judge(idle, asyncio.run(self.leave()))
            finally:
                self.stop()
        self.say("statuses: %s; rounds of pages: %d; sessions: %d" % (dict(self.statuses), self.rounds, self.cycles))
        for problem in problems:
            self.say("FAIL " + problem)
        return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "pyrometer"))
    parser.add_argument("--python", default=sys.executable, help="what the victims run in")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--round", type=float, default=1, help="seconds from one question of a page to the next")
    parser.add_argument("--every", type=float, default=30)
    parser.add_argument("--out", type=argparse.FileType("w"), default=sys.stdout)
    options = parser.parse_args()
    # Ended by a signal it cleans up too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(Soak(options).run())


if __name__ == "__main__":
    main()
