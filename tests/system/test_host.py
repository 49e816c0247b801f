"""The server of a whole host: its processes, and sessions that are started, changed and ended through it."""

import json
import os
import time

from harness import WAIT_SECONDS, Live, Test, main, victim

LONG = "60"
CHANGE = {"X-Pyrometer": "1", "Content-Type": "application/json"}


class Host(Live):
    """`pyrometer serve`."""

    def __init__(self, *arguments, **options):
        super().__init__("serve", *arguments, **options)

    def send(self, method, path, body=None):
        return self.ask("/api/v1" + path, method, None if body is None else json.dumps(body), CHANGE)

    def start(self, **body):
        """The id of a session that has just been asked for."""
        answer = self.send("POST", "/sessions", body)
        assert answer.status == 202, answer.body
        session = answer.json()
        assert answer.headers["Location"] == "/api/v1/sessions/" + session["id"]
        return session["id"]

    def until(self, path, wanted):
        """The document once `wanted(document)` is true."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            document = self.get(path)
            if wanted(document):
                return document
            assert time.monotonic() < end, "%s never became what was wanted: %r" % (path, document)
            time.sleep(0.1)

    def running(self, session):
        return self.until("/sessions/" + session,
                          lambda found: found["state"] == "running" and found["quality"]["samples"] > 0)

    def row(self, pid, wanted=lambda process: True):
        """The row of a process once it is there and as wanted."""
        def rows(document):
            return [row for row in document["processes"] if row["pid"] == pid and wanted(row)]
        return rows(self.until("/processes?limit=4096", rows))[0]


class Processes(Test):
    def test_what_runs_is_listed_with_what_it_uses(self):
        with victim("chain.py", LONG) as target, Host() as host:
            row = host.row(target.pid, lambda row: row["python"] and row["cpu_percent"] is not None)
            self.assertTrue(row["attach"])
            self.assertIsNone(row["reason"])
            self.assertIn(LONG, row["command"])
            self.assertRegex(row["python"], r"^3\.\d+\.\d+")
            self.assertTrue(os.path.samefile(row["executable"], "/proc/%d/exe" % target.pid))
            self.assertEqual((row["uid"], row["sessions"]), (os.getuid(), []))
            self.assertGreaterEqual(row["threads"], 1)
            self.assertGreater(row["rss_bytes"], 1 << 20)
            self.assertGreaterEqual(row["uptime_s"], 0)
            document = host.get("/processes?limit=1&offset=0")
            self.assertEqual(len(document["processes"]), 1)
            self.assertGreaterEqual(document["total"], 1)
            self.assertEqual(host.get("/processes?offset=4000000")["processes"], [])
            target.kill()
            host.until("/processes", lambda found: all(row["pid"] != target.pid for row in found["processes"]))

    def test_arguments_can_be_hidden(self):
        with victim("chain.py", LONG) as target, Host("--hide-args") as host:
            row = host.row(target.pid)
            self.assertEqual(len(row["command"]), 1)


class Sessions(Test):
    def test_one_is_started_changed_and_ended(self):
        with victim("chain.py", LONG) as target, Host() as host:
            one = host.start(pids=[target.pid], rate_hz=200, name="first", note="a note")
            session = host.running(one)
            self.assertEqual((session["name"], session["note"], session["source"]), ("first", "a note", "live"))
            self.assertEqual(session["target"]["pid"], target.pid)
            self.assertEqual(session["settings"]["threads"], "all")
            self.assertEqual(host.row(target.pid, lambda row: row["sessions"])["sessions"], [one])
            path = "/sessions/" + one
            changed = host.send("PATCH", path, {"rate_hz": 50, "name": "second"}).json()
            self.assertEqual((changed["name"], changed["note"]), ("second", "a note"))
            self.assertEqual(changed["settings"]["rate_hz"], 50)
            host.until(path + "/quality", lambda found: found["aimed_hz"] == 50)
            self.assertEqual(host.send("PATCH", path, {"state": "paused"}).json()["state"], "paused")
            self.assertEqual(host.send("PATCH", path, {"state": "running"}).json()["state"], "running")
            host.send("PATCH", path, {"state": "ended"})
            host.until(path, lambda found: found["state"] == "ended")
            self.assertEqual(host.send("PATCH", path, {"state": "running"}).status, 409)
            self.assertEqual(host.send("PATCH", path, {"note": ""}).json()["note"], "")
            self.assertEqual(host.send("DELETE", path).status, 204)
            self.assertEqual(host.ask("/api/v1" + path).status, 404)
            self.assertEqual(host.get("/sessions")["sessions"], [])

    def test_what_cannot_be_is_refused_with_the_reason(self):
        with victim("chain.py", LONG) as target, Host("--max-sessions", "1", "--max-rate", "2khz") as host:
            pid = target.pid
            for body, word in (({}, "pids"), ({"pids": []}, "pids"), ({"pids": [pid, pid]}, "twice"),
                               ({"pids": [0]}, "0"), ({"pids": ["1"]}, "numbers"), ({"pids": [1.5]}, "1.5"),
                               ({"pids": list(range(1, 400))}, "256"), ({"pids": [pid], "all": True}, "exclude"),
                               ({"pids": [pid], "rate_hz": 2001}, "2000"), ({"pids": [pid], "rate_hz": 0}, "rate_hz"),
                               ({"pids": [pid], "rate_hz": 1e300}, "rate_hz"),
                               ({"pids": [pid], "duration_s": -1}, "duration_s"),
                               ({"pids": [pid], "duration_s": 1e8}, "duration_s"),
                               ({"pids": [pid], "mode": "heat"}, "mode"), ({"pids": [pid], "threads": "some"}, "threads"),
                               ({"pids": [pid], "native": 1}, "native"), ({"pids": [pid], "name": "x" * 121}, "120"),
                               ({"pids": [pid], "max_cpu_percent": 101}, "100"), ({"pid": pid}, "pid")):
                answer = host.send("POST", "/sessions", body)
                self.assertEqual((answer.status, answer.headers["Content-Type"]), (400, "application/problem+json"), body)
                self.assertIn(word, answer.json()["detail"], body)
            self.assertEqual(host.get("/sessions")["sessions"], [])
            one = host.start(pids=[pid])
            answer = host.send("POST", "/sessions", {"pids": [pid]})
            self.assertEqual(answer.status, 409)
            self.assertIn("--max-sessions", answer.json()["detail"])
            host.running(one)
            self.assertEqual(host.send("PATCH", "/sessions/" + one, {"rate_hz": 2001}).status, 400)
            host.send("DELETE", "/sessions/" + one)
            two = host.start(pids=[pid])
            self.assertNotEqual(one, two)
            host.running(two)

    def test_one_that_cannot_start_says_why(self):
        with Host() as host:
            found = host.until("/sessions/" + host.start(pids=[4194300]), lambda found: found["state"] == "failed")
            self.assertIn("4194300", found["reason"])
            # All that a page asks of it has an answer.
            for part in ("tree", "view", "threads", "timeline", "heatmap", "quality", "export?format=collapsed"):
                self.assertEqual(host.ask("/api/v1/sessions/%s/%s" % (found["id"], part)).status, 200, part)

    def test_many_run_at_once_within_one_budget(self):
        count = 12
        with victim("chain.py", LONG) as target, Host("--max-cpu", "20") as host:
            ids = [host.start(pids=[target.pid], rate_hz=100) for _ in range(count)]
            for one in ids:
                host.running(one)
            self.assertEqual(sorted(host.row(target.pid, lambda row: len(row["sessions"]) == count)["sessions"], key=int),
                             sorted(ids, key=int))
            # Some are ended while others are looked at.
            for one in ids[::2]:
                self.assertEqual(host.send("DELETE", "/sessions/" + one).status, 204)
                host.get("/sessions")
            self.assertEqual([found["id"] for found in host.get("/sessions")["sessions"]], ids[1::2])


if __name__ == "__main__":
    main()
