"""The server of a whole host: its processes, and sessions that are started, changed and ended through it."""

import base64
import gzip
import http.client
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

from harness import (FOLDER, ROOT, SANITIZED, WAIT_SECONDS, Test, has_landlock, main, pythons, run_program, script, victim)
from host import CHANGE, Host

HERE = os.path.dirname(os.path.abspath(__file__))
LONG = "60"
# Processes of a host, and files that are made at the same time (as many as are).
MANY = 100 if SANITIZED else 500
EXPORTS = 16


class Processes(Test):
    def test_what_runs_is_listed_with_what_it_uses(self):
        with victim("chain.py", LONG) as target, Host() as host:
            row = host.row(target.pid, lambda row: row["python"] and row["cpu_percent"] is not None)
            self.assertTrue(row["can_attach"])
            self.assertIsNone(row["reason"])
            self.assertIn(LONG, row["command"])
            self.assertRegex(row["python"], r"^3\.\d+\.\d+")
            self.assertTrue(os.path.samefile(row["executable"], "/proc/%d/exe" % target.pid))
            self.assertEqual((row["uid"], row["sessions"], row["headline"]), (os.getuid(), [], None))
            self.assertGreaterEqual(row["threads"], 1)
            self.assertGreater(row["rss_bytes"], 1 << 20)
            self.assertGreaterEqual(row["uptime_s"], 0)
            document = host.get("/processes?limit=1&offset=0")
            self.assertEqual(len(document["processes"]), 1)
            self.assertGreaterEqual(document["total"], 1)
            self.assertEqual(host.get("/processes?offset=4000000")["processes"], [])
            target.kill()
            host.until("/processes", lambda found: all(row["pid"] != target.pid for row in found["processes"]))

    def test_a_dump_says_that_greenlets_are_missing(self):
        path = os.path.join(FOLDER, "gevent", "hub.py")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("import time\nprint('READY', flush=True)\ntime.sleep(60)\n")
        with victim(path) as target:
            process, code = run_program("dump", str(target.pid))
            self.assertEqual((code, process.out[-1]), (0, "  greenlets that are switched out cannot be listed"))

    def test_a_dump_says_what_threads_do_and_has_the_main_thread_first(self):
        path = script("does.py", "import socket, threading, time\na, b = socket.socketpair()\nlock = threading.Lock()\nlock.acquire()\n"
                      "def spin():\n    while True:\n        pass\n"
                      "for name, work in (('spins', spin), ('reads', lambda: a.recv(1)), ('locks', lock.acquire)):\n"
                      "    threading.Thread(target=work, name=name, daemon=True).start()\nprint('READY', flush=True)\ntime.sleep(60)\n")
        with victim(path) as target:
            time.sleep(0.5)
            process, code = run_program("dump", str(target.pid))
            self.assertEqual(code, 0, process.output())
        threads = [line for line in process.out if line.startswith("  thread ")]
        self.assertRegex(threads[0], "^  thread %d MainThread: idle: sleep$" % target.pid)
        said = {re.sub(r"^  thread \d+ ", "", line).split(": ", 1)[0]: line for line in threads}
        self.assertRegex(said["spins"], ": (running|needs a processor|needs the GIL)(, holds the GIL)?$")
        self.assertRegex(said["reads"], ": blocked: network read")
        self.assertRegex(said["locks"], ": blocked: lock")
        self.assertIn("    time.sleep", process.out)
        self.assertFalse([line for line in process.out if "(~)" in line or "<waits" in line], process.output())

    def test_a_dump_shows_every_thread_once(self):
        with victim("chain.py", LONG) as target, Host() as host:
            dump = host.get("/processes/%d/dump" % target.pid)
            main_thread = [thread for thread in dump["threads"] if thread["main"]]
            self.assertEqual([thread["tid"] for thread in main_thread], [target.pid])
            frames = main_thread[0]["frames"]
            self.assertEqual(frames[-1]["function"], "<module>")
            self.assertTrue(frames[-1]["file"].endswith("chain.py"))
            self.assertEqual(len({thread["tid"] for thread in dump["threads"]}), len(dump["threads"]))
            for path, status in (("4194300", 404), ("1x", 404), ("0", 404), ("99999999999999999999", 404)):
                self.assertEqual(host.ask("/api/v1/processes/%s/dump" % path).status, status, path)
            process, code = run_program("dump", str(target.pid))
            self.assertEqual(code, 0, process.err)
            self.assertRegex(process.out[0], r"^process %d, Python 3\.\d+" % target.pid)
            self.assertTrue(any(line.startswith("    <module> (") for line in process.out))
            self.assertFalse(any("greenlets" in line for line in process.out))
        process, code = run_program("dump", "4194300")
        self.assertEqual((code, process.out), (4, []))
        self.assertEqual(run_program("dump")[1], 2)

    def test_five_hundred_are_listed(self):
        with victim(os.path.join(HERE, "tree.py"), "idle", str(MANY)) as target, Host() as host:
            def children(document):
                return [row for row in document["processes"] if row["parent"] == target.pid]
            document = host.until("/processes?limit=4096",
                                  lambda found: not found["examining"] and len(children(found)) == MANY)
            rows = children(document)
            self.assertGreater(document["total"], MANY)
            self.assertEqual({(row["can_attach"], row["uid"], row["threads"]) for row in rows}, {(True, os.getuid(), 1)})
            self.assertEqual(len({row["python"] for row in rows}), 1)
            # Page after page of one scan they are the same, each once.
            paged, total, end = [], -1, time.monotonic() + WAIT_SECONDS
            while len(set(paged)) != len(paged) or len(paged) != total:
                self.assertLess(time.monotonic(), end)
                pages = [host.get("/processes?offset=%d&limit=200" % at) for at in range(0, document["total"] + 200, 200)]
                paged, total = [row["pid"] for page in pages for row in page["processes"]], pages[-1]["total"]
            self.assertLessEqual({row["pid"] for row in rows}, set(paged))
            target.kill()
            host.until("/processes?limit=4096", lambda found: not children(found))

    def test_arguments_can_be_hidden(self):
        with victim("chain.py", LONG) as target, Host("--hide-args") as host:
            row = host.row(target.pid)
            self.assertEqual(len(row["command"]), 1)


class Sessions(Test):
    def test_one_is_started_changed_and_ended(self):
        with victim("chain.py", LONG) as target, Host() as host:
            one = host.start(pids=[target.pid], rate_hz=200, name="first", note="a note", hide=["libraries"])
            session = host.running(one)
            self.assertEqual(session["settings"]["filters"], [{"filter": "hide", "pattern": "libraries"}])
            self.assertEqual((session["name"], session["note"], session["source"]), ("first", "a note", "live"))
            self.assertEqual(session["target"]["pid"], target.pid)
            self.assertEqual(session["settings"]["threads"], "all")
            self.assertEqual(host.row(target.pid, lambda row: row["sessions"])["sessions"], [one])
            self.assertIn(" of the time", host.row(target.pid, lambda row: row["headline"])["headline"])
            path = "/sessions/" + one
            changed = host.send("PATCH", path, {"rate_hz": 50, "name": "second"}).json()
            self.assertEqual((changed["name"], changed["note"]), ("second", "a note"))
            self.assertEqual(changed["settings"]["rate_hz"], 50)
            host.until(path + "/quality", lambda found: found["current_hz"] == 50)
            self.assertEqual(host.send("PATCH", path, {"state": "paused"}).json()["state"], "paused")
            self.assertEqual(host.send("PATCH", path, {"state": "running"}).json()["state"], "running")
            host.send("PATCH", path, {"state": "ended"})
            host.until(path, lambda found: found["state"] == "ended")
            self.assertEqual(host.send("PATCH", path, {"state": "running"}).status, 409)
            # Its capture is called the same, also after us.
            capture = "/captures/" + host.get(path)["capture"]
            self.assertEqual(host.send("PATCH", capture, {"labels": ["web"]}).status, 200)
            self.assertEqual(host.send("PATCH", path, {"note": "seen"}).json()["note"], "seen")
            edited = host.get(capture)
            self.assertEqual((edited["title"], edited["note"], edited["labels"]), ("second", "seen", ["web"]))
            self.assertEqual(host.send("PATCH", path, {"note": ""}).json()["note"], "")
            self.assertEqual(host.get(capture)["note"], "")
            self.assertEqual(host.send("DELETE", path).status, 204)
            self.assertEqual(host.ask("/api/v1" + path).status, 404)
            self.assertEqual(host.get("/sessions")["sessions"], [])

    def test_what_is_made_is_found_below_the_base_path(self):
        with victim("chain.py", LONG) as target, Host("--base-path", "/heat") as host:
            answer = host.send("POST", "/sessions", {"pids": [target.pid]})
            self.assertEqual(answer.headers["Location"], "/heat/api/v1/sessions/1")
            self.assertEqual(host.ask(answer.headers["Location"]).json()["id"], "1")
            name, _ = recorded(host, target.pid)
            sent = host.put(host.ask("/api/v1/captures/%s/file" % name).body)
            self.assertEqual(sent.headers["Location"], "/heat/api/v1/captures/" + sent.json()["name"])
            self.assertEqual(host.ask(sent.headers["Location"]).status, 200)
            opened = host.send("POST", "/captures", {"name": name})
            self.assertEqual(host.ask(opened.headers["Location"]).json()["capture"], name)

    def test_what_cannot_be_is_refused_with_the_reason(self):
        with victim("chain.py", LONG) as target, Host("--max-sessions", "1", "--max-rate", "2khz", "--max-stop", "2") as host:
            pid = target.pid
            for body, word in (({}, "pids"), ({"pids": []}, "pids"), ({"pids": [pid, pid]}, "twice"),
                               ({"pids": [0]}, "0"), ({"pids": ["1"]}, "numbers"), ({"pids": [1.5]}, "1.5"),
                               ({"pids": list(range(1, 400))}, "256"), ({"pids": [pid], "all": True}, "exclude"),
                               ({"pids": [pid], "rate_hz": 2001}, "2000"), ({"pids": [pid], "rate_hz": 0}, "rate_hz"),
                               ({"pids": [pid], "rate_hz": 1e300}, "rate_hz"),
                               ({"pids": [pid], "duration_s": -1}, "duration_s"),
                               ({"pids": [pid], "duration_s": 1e8}, "duration_s"),
                               ({"pids": [pid], "mode": "heat"}, "mode"), ({"pids": [pid], "threads": "some"}, "threads"),
                               ({"pids": [pid], "native": 1}, "native"), ({"pids": [pid], "native": "some"}, "off, leaf or full"),
                               ({"pids": [pid], "name": "x" * 121}, "120"),
                               ({"pids": [pid], "max_stop_percent": 2.5}, "at most 2 (--max-stop)"),
                               ({"pids": [pid], "stop": "always"}, "--max-stop"),
                               ({"pids": [pid], "max_cpu_percent": 101}, "100"), ({"pids": [pid], "hide": ["/(/"]}, "hide"),
                               ({"pid": pid}, "pid")):
                answer = host.send("POST", "/sessions", body)
                self.assertEqual((answer.status, answer.headers["Content-Type"]), (400, "application/problem+json"), body)
                self.assertIn(word, answer.json()["detail"], body)
            self.assertEqual(host.get("/sessions")["sessions"], [])
            one = host.start(pids=[pid])
            answer = host.send("POST", "/sessions", {"pids": [pid]})
            self.assertEqual(answer.status, 409)
            self.assertIn("1 session is running: stop one, or start pyrometer with a higher --max-sessions", answer.json()["detail"])
            host.running(one)
            self.assertEqual(host.send("PATCH", "/sessions/" + one, {"rate_hz": 2001}).status, 400)
            host.send("DELETE", "/sessions/" + one)
            two = host.start(pids=[pid])
            self.assertNotEqual(one, two)
            host.running(two)

    def test_native_is_what_stacks_show_of_native_code(self):
        # C code that calls Python is a mark, or frames with a library.
        marks, libraries = re.compile(r";<native>;"), re.compile(r";(lib[^;:]*|python[0-9.]*):[^;]*:0[ ;]")
        with victim("callbacks.py", LONG) as target, Host() as host:
            for native, is_marked, has_libraries in (("off", False, False), ("leaf", True, False), ("full", None, True),
                                                     (None, False, False)):
                with self.subTest(native=native):
                    one = host.start(pids=[target.pid], rate_hz=500, stop="always", **({"native": native} if native else {}))
                    path = "/sessions/" + one
                    document = host.until(path, lambda found: found["quality"]["samples"] >= 200)
                    self.assertEqual(document["settings"]["native"], native or "off")
                    self.assertEqual(document["settings"]["native_frames"], "leaf")
                    host.send("PATCH", path, {"state": "ended"})
                    counts = host.until(path, lambda found: found["state"] == "ended")["quality"]
                    native_counts = [counts["native_" + kind] for kind in ("complete", "gaps", "mismatched", "none")]
                    self.assertEqual(sum(native_counts), counts["samples"] if native == "full" else 0, counts)
                    folded = host.ask("/api/v1%s/export?format=collapsed&native=everything" % path).body.decode()
                    self.assertEqual(bool(libraries.search(folded)), has_libraries, folded[:2000])
                    # Full native stacks that do not come out even have the marks.
                    if is_marked is not None:
                        self.assertEqual(bool(marks.search(folded)), is_marked, folded[:2000])
                    # Its capture keeps what it was.
                    name = host.get(path)["capture"]
                    host.until("/captures/" + name, lambda found: found["state"] == "complete")
                    opened = host.send("POST", "/captures", {"name": name}).json()["id"]
                    again = host.until("/sessions/" + opened, lambda found: found["state"] == "ended")
                    self.assertEqual(again["settings"]["native"], native or "off")
            # It has ended.
            self.assertEqual(host.send("PATCH", path, {"native": "full"}).status, 409)

    def test_a_mode_of_which_the_interpreter_does_not_tell(self):
        old = [python for python in pythons() if python.is_supported and python.minor < 12]
        if not old:
            self.skipTest("no Python before 3.12 is on this machine")
        with victim("chain.py", LONG, python=old[-1].path) as target, Host() as host:
            found = host.until("/sessions/" + host.start(pids=[target.pid], mode="exception"),
                               lambda found: found["state"] in ("failed", "running"))
            self.assertEqual(found["state"], "failed")
            self.assertIn("does not show which threads handle an exception", found["reason"])
            host.running(host.start(pids=[target.pid], mode="gil"))

    def test_one_that_cannot_start_says_why(self):
        with Host() as host:
            found = host.until("/sessions/" + host.start(pids=[4194300]), lambda found: found["state"] == "failed")
            self.assertIn("4194300", found["reason"])
            # All that a page asks of it has an answer.
            for part in ("tree", "view", "threads", "timeline", "gil", "heatmap", "quality", "export?format=collapsed"):
                self.assertEqual(host.ask("/api/v1/sessions/%s/%s" % (found["id"], part)).status, 200, part)

    def test_many_run_at_once_within_one_budget(self):
        count = 12 if SANITIZED else 50
        with victim("chain.py", LONG) as target, Host("--max-cpu", "20") as host:
            ids = [host.start(pids=[target.pid], rate_hz=20) for _ in range(count)]
            for one in ids:
                host.running(one)
            self.assertEqual(sorted(host.row(target.pid, lambda row: len(row["sessions"]) == count)["sessions"], key=int),
                             sorted(ids, key=int))
            # Some are ended while others are read.
            for one in ids[::2]:
                self.assertEqual(host.send("DELETE", "/sessions/" + one).status, 204)
                host.get("/sessions")
            self.assertEqual([found["id"] for found in host.get("/sessions")["sessions"]], ids[1::2])


def recorded(host, pid, samples=20, **body):
    """The name of a complete capture of that process, and how many samples its session reported."""
    one = host.start(pids=[pid], rate_hz=200, **body)
    host.until("/sessions/" + one, lambda found: found["quality"]["samples"] >= samples)
    name = host.capture_of(one)
    host.send("PATCH", "/sessions/" + one, {"state": "ended"})
    host.until("/captures/" + name, lambda found: found["state"] == "complete")
    return name, host.get("/sessions/" + one)["quality"]["samples"]


class LongWork(Test):
    def test_others_are_answered_meanwhile(self):
        wide = os.path.join(ROOT, "tests", "bench", "workloads", "wide.py")
        with victim("chain.py", LONG) as target, Host() as host:
            live = host.start(pids=[target.pid], rate_hz=100)
            path = os.path.join(host.data, "large.pyro")
            with victim(wide, LONG) as heavy:
                process, code = run_program("record", str(heavy.pid), "-r", "10khz", "-d", "3", "-o", path)
                self.assertEqual(code, 0, process.output())
            host.running(live)
            opened = [host.send("POST", "/captures", {"name": "large"}).json()["id"]]
            self.assertEqual(host.ask("/healthz").status, 200)
            host.until("/sessions/" + opened[0], lambda found: found["state"] == "ended")
            exports = [http.client.HTTPConnection("127.0.0.1", host.port, timeout=WAIT_SECONDS) for _ in range(EXPORTS)]
            for export in exports:
                export.request("GET", "/api/v1/sessions/%s/export?format=flamegraph" % opened[0],
                               headers={"Authorization": "Bearer " + host.token})
            self.assertEqual(host.ask("/healthz").status, 200)
            self.assertGreater(host.get("/sessions/%s/view?since=0" % live)["total"], 0)
            answered, _, _ = select.select([export.sock for export in exports], [], [], 0)
            self.assertLess(len(answered), EXPORTS)
            for export in exports:
                answer = export.getresponse()
                self.assertEqual(answer.status, 200)
                self.assertTrue(answer.read().rstrip().endswith(b"</html>"))
                export.close()


class Continuous(Test):
    def test_all_processes_are_sampled_also_new_ones(self):
        with victim("chain.py", LONG) as first, Host("--continuous=50", "--turn", "14") as host:
            def mine(found, *pids):
                return [one for one in found["sessions"] if one["source"] == "continuous" and
                        set(pids) <= {target["pid"] for target in one["targets"] if target["to_s"] is None}]
            found = mine(host.until("/sessions", lambda found: mine(found, first.pid)), first.pid)[0]
            activity = host.until("/activity", lambda now: any(row["pid"] == first.pid and row["parts"]["running"] > 0 for row in now["processes"]))
            self.assertIsNone(activity["reason"])
            self.assertIn(" of the time", host.row(first.pid, lambda row: row["headline"])["headline"])
            self.assertEqual((found["name"], found["settings"]["max_cpu_percent"]), ("all processes", 0.75))
            with victim("chain.py", LONG) as second:
                host.until("/sessions", lambda found: mine(found, first.pid, second.pid))
            # The next one takes its place once it has the last minutes (here: seconds) itself.
            activity = host.until("/activity", lambda now: now["session"] != found["id"])
            self.assertGreater(activity["to_s"] - activity["from_s"], 5)
            # Below a sanitizer so little of a processor is enough for few ticks only.
            host.until("/activity", lambda now: sum(row["parts"]["running"] for row in now["processes"] if row["pid"] == first.pid) > 2)
            # The capture of the one before stays.
            host.until("/sessions", lambda now: mine(now, first.pid) and
                       all(one["id"] != found["id"] for one in now["sessions"]))
            # A capture has its title a moment after it is there.
            host.until("/captures", lambda listed: any(
                row["continuous"] and row["state"] == "complete" for row in listed["captures"]) and
                all(row["title"] == "all processes" for row in listed["captures"]))

    def test_only_admitted_processes_are_sampled(self):
        # No other test has such victims, which would be admitted as well.
        with victim("chain.py", "977") as first, victim("chain.py", "978") as second, \
                Host("--continuous=50", "--allow-command", "*/chain.py 977") as host:
            found = host.until("/activity", lambda found: found["total"] > 0)
            self.assertEqual([row["pid"] for row in found["processes"]], [first.pid])
            # A later scan does not add it either, and nobody sees it.
            listed = host.until("/processes?limit=4096", lambda listed: listed["not_permitted"] >= 1 and not listed["examining"])
            self.assertNotIn(second.pid, [row["pid"] for row in listed["processes"]])
            samples = host.get("/sessions/" + found["session"])["quality"]["samples"]
            host.until("/sessions/" + found["session"], lambda now: now["elapsed_s"] > 6 and now["quality"]["samples"] > samples)
            targets = host.get("/sessions/" + found["session"])["targets"]
            self.assertEqual([target["pid"] for target in targets], [first.pid])

    def test_what_has_ended_is_not_listed(self):
        with victim("chain.py", LONG) as first, Host("--continuous=50") as host:
            with victim("chain.py", LONG) as second:
                host.until("/activity", lambda found: {first.pid, second.pid} <= {row["pid"] for row in found["processes"]})
            host.until("/activity", lambda found: second.pid not in {row["pid"] for row in found["processes"]} and
                       first.pid in {row["pid"] for row in found["processes"]})


class Captures(Test):
    def test_what_is_recorded_outlives_the_server(self):
        with victim("chain.py", LONG) as target:
            with Host() as host:
                name, samples = recorded(host, target.pid, name="Nightly build")
                running = host.capture_of(host.start(pids=[target.pid], rate_hz=100))
                self.assertEqual(host.get("/captures/" + running)["state"], "recording")
                self.assertEqual(host.send("DELETE", "/captures/" + running).status, 409)
                host.stop()
            with Host(data=host.data) as host:
                listed = host.get("/captures")
                self.assertEqual((listed["total"], listed["folder"]), (2, host.data))
                self.assertEqual([row["state"] for row in listed["captures"]], ["complete"] * 2)
                found = host.get("/captures/" + name)
                self.assertEqual((found["title"], found["target"]["pid"]), ("Nightly build", target.pid))
                self.assertIn(LONG, found["target"]["command"])
                answer = host.send("POST", "/captures", {"name": name})
                self.assertEqual(answer.status, 202)
                one = answer.json()["id"]
                session = host.until("/sessions/" + one, lambda found: found["state"] == "ended")
                self.assertEqual((session["quality"]["samples"], session["name"]), (samples, "Nightly build"))
                self.assertEqual((session["source"], session["capture"]), ("capture", name))
                self.assertEqual(host.get("/sessions/%s/view" % one)["total"], samples)
                again = host.send("POST", "/captures", {"name": name})
                self.assertEqual((again.status, again.json()["id"]), (200, one))
                self.assertEqual(host.get("/captures/" + name)["sessions"], [one])

    def test_a_kill_loses_at_most_the_last_block(self):
        with victim("chain.py", LONG) as target:
            with Host() as host:
                saved, samples = recorded(host, target.pid)
                one = host.start(pids=[target.pid], rate_hz=1000)
                name = host.capture_of(one)
                size = host.get("/captures/" + name)["bytes"]
                host.until("/captures/" + name, lambda found: found["bytes"] > size)
                host.process.signal(signal.SIGKILL)
                host.process.wait()
            with Host(data=host.data) as host:
                self.assertEqual(host.get("/captures/" + saved)["state"], "complete")
                self.assertEqual(host.get("/captures/" + name)["state"], "incomplete")
                for capture, least in ((saved, samples), (name, 1)):
                    two = host.send("POST", "/captures", {"name": capture}).json()["id"]
                    session = host.until("/sessions/" + two, lambda found: found["state"] == "ended")
                    self.assertGreaterEqual(session["quality"]["samples"], least)
                self.assertTrue(session["reason"])

    def test_notes_on_ranges_stay_with_the_capture(self):
        hostile = "</script><img src=x onerror=alert(1)>"
        with victim("chain.py", LONG) as target, Host() as host:
            name, _ = recorded(host, target.pid)
            one = host.get("/captures/" + name)["sessions"][0]
            for i in range(32):
                self.assertEqual(host.send("POST", "/sessions/%s/notes" % one, {"from_s": i, "to_s": i + 1, "text": hostile if i else "first"}).status, 201)
            self.assertEqual(host.send("POST", "/sessions/%s/notes" % one, {"from_s": 0, "to_s": 1, "text": "one more"}).status, 409)
            kept = host.get("/sessions/" + one)["notes"]
            self.assertEqual(host.send("DELETE", "/sessions/%s/notes?note=%d" % (one, kept[0]["id"])).status, 204)
            # Whoever has a link to the session sees them, and changes none.
            link = host.send("POST", "/shares", {"session": one}).json()
            viewer = {"Authorization": "Bearer " + link["token"]}
            seen = host.ask("/api/v1/sessions/" + one, headers=viewer, token=False).json()["notes"]
            self.assertEqual(seen, kept[1:])
            self.assertEqual(host.ask("/api/v1/sessions/%s/notes" % one, "POST", json.dumps({"from_s": 0, "to_s": 1, "text": "x"}), dict(CHANGE, **viewer), token=False).status, 403)
            # A report has them; its text cannot end the element that holds it.
            report = host.send("GET", "/sessions/%s/report.html" % one).body
            self.assertNotIn(hostile.encode(), report)
            data = json.loads(gzip.decompress(base64.b64decode(re.search(rb'id="profile-data"[^>]*>([^<]*)<', report).group(1))))
            self.assertEqual([note["text"] for note in data["session"]["notes"]], [note["text"] for note in kept[1:]])
            secret = host.send("GET", "/sessions/%s/report.html?anonymize=1" % one).body
            data = json.loads(gzip.decompress(base64.b64decode(re.search(rb'id="profile-data"[^>]*>([^<]*)<', secret).group(1))))
            self.assertEqual(data["session"]["notes"], [])
            self.assertEqual(host.send("DELETE", "/sessions/" + one).status, 204)
            again = host.send("POST", "/captures", {"name": name}).json()["id"]
            found = host.until("/sessions/" + again, lambda found: found["state"] == "ended")["notes"]
            self.assertEqual([note["text"] for note in found], [note["text"] for note in kept[1:]])
            host.send("DELETE", "/sessions/" + again)
            self.assertEqual(host.send("DELETE", "/captures/" + name).status, 204)
            self.assertEqual([file for file in os.listdir(host.data) if file.startswith(name)], [])

    def test_they_are_named_found_and_removed(self):
        with victim("chain.py", LONG) as target, Host() as host:
            one, _ = recorded(host, target.pid)
            two, _ = recorded(host, target.pid)
            path = "/captures/" + one
            changed = host.send("PATCH", path, {"title": "\u00c4 title", "note": "n", "labels": ["web", "before"]}).json()
            self.assertEqual((changed["title"], changed["labels"]), ("\u00c4 title", ["web", "before"]))
            self.assertEqual(host.send("PATCH", path, {"note": "m"}).json()["labels"], ["web", "before"])
            for query, names in (("search=TITLE", [one]), ("search=bef", [one]), ("label=web", [one]), ("label=we", []),
                                 ("search=chain.py", [one, two]), ("host=nowhere", []), ("from=4000000", [one, two]),
                                 ("to=4000000", []), ("limit=1", [two]), ("offset=1", [one]), ("search=%00x", None)):
                answer = host.ask("/api/v1/captures?" + query)
                if names is None:
                    self.assertEqual(answer.status, 400)
                else:
                    self.assertEqual(sorted(row["name"] for row in answer.json()["captures"]), sorted(names), query)
            for body in ({"title": "x" * 121}, {"note": "x" * 1001}, {"labels": [""]}, {"labels": ["x" * 61]},
                         {"labels": ["x"] * 17}, {"labels": "x"}, {"name": "x"}):
                self.assertEqual(host.send("PATCH", path, body).status, 400, body)
            self.assertEqual(host.send("DELETE", path).status, 204)
            self.assertEqual(host.send("DELETE", path).status, 404)
            self.assertEqual([row["name"] for row in host.get("/captures")["captures"]], [two])
            self.assertEqual(sorted(os.listdir(host.data)), [two + ".pyro"])

    def test_they_travel(self):
        with victim("chain.py", LONG) as target, Host("--max-upload", "1m") as host:
            name, samples = recorded(host, target.pid)
            answer = host.ask("/api/v1/captures/%s/file" % name)
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/octet-stream"))
            self.assertIn(name + ".pyro", answer.headers["Content-Disposition"])
            with open(os.path.join(host.data, name + ".pyro"), "rb") as file:
                self.assertEqual(answer.body, file.read())
            fresh = {"If-None-Match": answer.headers["ETag"]}
            self.assertEqual(host.ask("/api/v1/captures/%s/file" % name, headers=fresh).status, 304)
            sent = host.put(answer.body, "?title=" + urllib.parse.quote("From elsewhere"))
            self.assertEqual(sent.status, 201, sent.body)
            self.assertEqual((sent.json()["title"], sent.json()["state"]), ("From elsewhere", "complete"))
            self.assertNotEqual(sent.json()["name"], name)
            one = host.send("POST", "/captures", {"name": sent.json()["name"]}).json()["id"]
            session = host.until("/sessions/" + one, lambda found: found["state"] == "ended")
            self.assertEqual(session["quality"]["samples"], samples)
            refused = host.put(b"no capture")
            self.assertEqual(refused.status, 422)
            self.assertRegex(refused.json()["detail"], "not a Pyrometer capture")
            self.assertNotIn("/proc", refused.json()["detail"])
            self.assertEqual(host.put(b"").status, 422)
            self.assertEqual(host.put(b"x" * ((1 << 20) + 1)).status, 413)
            self.assertEqual(host.ask("/api/v1/captures", "PUT", answer.body, {"X-Pyrometer": "1"}, token=False).status, 401)
            self.assertEqual(host.ask("/api/v1/captures", "PUT", answer.body).status, 403)
            self.assertEqual(len(os.listdir(host.data)), 3)

    def test_no_path_leads_out_of_the_folder(self):
        with victim("chain.py", LONG) as target, Host() as host:
            name, _ = recorded(host, target.pid)
            outside = os.path.join(FOLDER, "outside.pyro")
            shutil.copy(os.path.join(host.data, name + ".pyro"), outside)
            os.symlink(outside, os.path.join(host.data, "link.pyro"))
            os.mkdir(os.path.join(host.data, "folder.pyro"))
            os.mkfifo(os.path.join(host.data, "pipe.pyro"))
            with open(os.path.join(host.data, "broken.pyro"), "wb") as file:
                file.write(b"nothing of the sort")
            listed = {row["name"]: row for row in host.get("/captures")["captures"]}
            self.assertEqual(sorted(listed), sorted([name, "broken"]))
            self.assertTrue(listed["broken"]["reason"])
            for wrong in ("link", "folder", "pipe", "../outside", "..", ".", "%2e%2e%2foutside", outside, "", "x" * 300):
                self.assertEqual(host.send("POST", "/captures", {"name": wrong}).status, 404, wrong)
                quoted = urllib.parse.quote(wrong, safe="%")
                for method, tail in (("GET", ""), ("GET", "/file"), ("DELETE", ""), ("PATCH", "")):
                    answer = host.send(method, "/captures/" + quoted + tail, {} if method == "PATCH" else None)
                    self.assertIn(answer.status, (404, 405), (method, wrong))
            self.assertTrue(os.path.exists(outside))
            broken = host.send("POST", "/captures", {"name": "broken"}).json()["id"]
            session = host.until("/sessions/" + broken, lambda found: found["state"] == "failed")
            self.assertIn("broken", session["reason"])
            self.assertNotIn("/proc", session["reason"])

    def check_fault(self, host, one, pattern):
        """A session that is not recorded says so, everywhere, and goes on."""
        session = host.until("/sessions/" + one, lambda found: found["capture_error"])
        self.assertRegex(session["capture_error"], pattern)
        host.until("/sessions/" + one,
                   lambda found: found["quality"]["samples"] > session["quality"]["samples"] and found["state"] == "running")
        host.process.wait_line("pyrometer: session %s: no(t| longer) recorded" % one, host.process.err)
        line = host.process.wait_line(r'^{.*"action":"error".*', host.process.err).group(0)
        self.assertEqual([json.loads(line)[key] for key in ("who", "path")], ["server", "/api/v1/sessions/" + one])

    def test_a_disk_that_is_full_is_reported_and_sampling_goes_on(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        with victim("threads.py", "10", "40") as target, Host(preexec_fn=limit) as host:
            one = host.start(pids=[target.pid])
            self.check_fault(host, one, "^no longer recorded: cannot write the capture: File too large; sampling goes on$")
            host.send("PATCH", "/sessions/" + one, {"state": "ended"})
            name = host.get("/sessions/" + one)["capture"]
            host.until("/captures/" + name, lambda found: found["state"] != "recording")
            self.assertLessEqual(host.get("/captures/" + name)["bytes"], 3000)

    def small_disk(self):
        """A folder on a disk of 2 MiB."""
        folder = tempfile.mkdtemp(prefix="disk-", dir=FOLDER)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "pyrometer-test", folder], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            self.skipTest("no disk can be mounted here: " + done.stdout.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        return folder

    def test_an_upload_that_fills_the_disk_is_answered_and_leaves_nothing(self):
        with victim("chain.py", LONG) as target, Host() as host:
            one = host.start(pids=[target.pid], duration_s=0.5)
            host.until("/sessions/" + one, lambda found: found["state"] == "ended")
            name = host.get("/sessions/" + one)["capture"]
            host.until("/captures/" + name, lambda found: found["state"] == "complete")
            capture = host.ask("/api/v1/captures/%s/file" % name).body
        folder = self.small_disk()
        with Host(data=folder) as host:
            before = sorted(os.listdir(folder))
            # One right after the other: the place of the one is free once it is refused.
            for data in (bytes(3 << 20), bytes(30 << 20)) * 8:
                answer = host.put(data)
                self.assertEqual(answer.status, 507, answer.body)
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
                self.assertIn("free some space", answer.json()["detail"])
                self.assertEqual(host.put(capture).status, 201)
                name = host.get("/captures")["captures"][0]["name"]
                self.assertEqual(host.send("DELETE", "/captures/" + name).status, 204)
                self.assertEqual(sorted(os.listdir(folder)), before)
            self.assertEqual(host.put(capture).status, 201)
            name = host.get("/captures")["captures"][0]["name"]
            there = sorted(os.listdir(folder))
            with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
                with self.assertRaises(OSError):
                    while True:
                        file.write(bytes(65536))
                with self.assertRaises(OSError):
                    while True:
                        file.write(b"x")
            # There is room for a name, and none for what it says.
            answer = host.send("PATCH", "/captures/" + name, {"note": "x" * 1000})
            self.assertEqual(answer.status, 507, answer.body)
            self.assertEqual(sorted(os.listdir(folder)), sorted(there + ["filler"]))
            self.assertEqual(host.get("/captures/" + name)["note"], "")
            os.unlink(os.path.join(folder, "filler"))
            self.assertEqual(host.send("PATCH", "/captures/" + name, {"note": "x" * 1000}).status, 200)

    def test_a_folder_that_goes_is_reported_and_made_again_for_the_next(self):
        with victim("chain.py", LONG) as target, Host() as host:
            one = host.start(pids=[target.pid])
            host.capture_of(one)
            shutil.rmtree(host.data)
            self.check_fault(host, one, "the capture has been removed")
            two = host.start(pids=[target.pid])
            if has_landlock():
                # The server is limited to the folder that was there.
                session = host.until("/sessions/" + two, lambda found: found["capture_error"])
                self.assertRegex(session["capture_error"], "removed and cannot be created")
                return
            name = host.capture_of(two)
            self.assertIsNone(host.get("/sessions/" + two)["capture_error"])
            self.assertTrue(os.path.exists(os.path.join(host.data, name + ".pyro")))
            host.send("PATCH", "/sessions/" + two, {"state": "ended"})
            host.until("/captures/" + name, lambda found: found["state"] == "complete")

    def test_old_ones_go(self):
        with victim("chain.py", LONG) as target, Host() as host:
            name, _ = recorded(host, target.pid)
            path = os.path.join(host.data, name + ".pyro")
            os.utime(path, (0, 0))
            old = os.path.join(host.data, "large.pyro")
            shutil.copy(path, old)
            with open(old, "ab") as file:
                file.truncate(2 << 20)
        with Host("--keep-days", "0", data=host.data) as kept:
            self.assertEqual(kept.get("/captures")["total"], 2)
        with Host("--keep-days", "0", "--keep-bytes", "1m", data=host.data) as kept:
            self.assertEqual([row["name"] for row in kept.get("/captures")["captures"]], [name])
        with Host("--keep-days", "1", data=host.data) as kept:
            self.assertEqual(kept.get("/captures")["captures"], [])

    def test_a_server_may_keep_nothing(self):
        with victim("chain.py", LONG) as target, Host("--no-data") as host:
            self.assertEqual(host.ask("/api/v1/captures").status, 404)
            self.assertIsNone(host.running(host.start(pids=[target.pid]))["capture"])
        process, code = run_program("serve", "--data", "/proc/nowhere", "--listen", "127.0.0.1:0")
        self.assertEqual(code, 1)
        self.assertIn("/proc/nowhere", process.err[-1])


if __name__ == "__main__":
    main()
