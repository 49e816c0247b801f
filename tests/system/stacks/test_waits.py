"""Waits of threads: every cause on every interpreter, with known answers."""

import collections
import gzip
import json
import os
import pathlib
import re
import tempfile
import time

from harness import ENGINE, Live, Test, file_in, kinds, main, run_program, victim
from protobuf import labels_of

PROGRAM = str(pathlib.Path(__file__).with_name("waiters.py"))
SECONDS = 1
RATE_HZ = 500

# By the function that waits.  A lock that is acquired by name has none before 3.11; what a disk does is seen by chance.
CAUSES = {
    "sleep": "sleep", "event_loop": "event loop", "accept": "event loop", "queue_get": "idle worker",
    "simple_queue_get": "idle worker", "gets": "queue or condition", "next_job": "idle worker", "next_of_a_list": "idle worker",
    "asks": "queue or condition", "condition": "idle worker", "event": "sleep",
    "waits_for_event": "queue or condition", "barrier": "queue or condition", "semaphore": "queue or condition",
    "future": "queue or condition", "join": "queue or condition", "lock": "lock",
    "with_lock": "lock", "pipe": "pipe", "child": "child process", "child_output": "pipe", "_worker": "idle worker",
    "selects": "event loop", "selects_nothing": "sleep", "polls": "event loop", "named_pipe": "pipe", "opens_named_pipe": "pipe",
    "terminal": "terminal", "terminal_of_a_child": "pipe", "unix_socket": "network read unix", "event_file": "event loop",
    "watches_files": "event loop", "timer_file": "event loop", "signal_file": "event loop", "process_file": "child process",
    "kernel_file": None, "lock_of_a_file": "lock",
}
# Loops are seen from 3.11 on.
BLOCKED_BEFORE_3_11 = {"next_job": "queue or condition", "next_of_a_list": "queue or condition"}
NAMELESS_BEFORE_3_11 = {"simple_queue_get", "lock"}
PEERS = {"network_read": "network read", "network_read_with_timeout": "network read", "network_write": "network write"}

# A program whose descriptors have names that look like other things, and that closes and opens them all the time.
HOSTILE = """
import os, socket, sys, threading
folder = sys.argv[1]
for name in ("socket:[1]", "pipe:[1]", "anon_inode:[pidfd]", "a;b\\n<waits: lock>"):
    os.mkfifo(os.path.join(folder, name))
def reads(name):
    while True:
        file = os.open(os.path.join(folder, name), os.O_RDWR)
        threading.Timer(0.05, os.write, (file, b"x")).start()
        os.read(file, 1)
        os.close(file)
def listens():
    path = os.path.join(folder, "s;<x>")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    near = socket.socket(socket.AF_UNIX)
    near.connect(path)
    far, _ = server.accept()
    far.recv(1)
for name in os.listdir(folder):
    threading.Thread(target=reads, args=(name,), daemon=True).start()
threading.Thread(target=listens, daemon=True).start()
print("READY", flush=True)
threading.Event().wait()
"""

# A program that sleeps again and again, and lets two busy loops go first on its processor.
CROWDED = """
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
parent = os.getpid()
for _ in range(2):
    if os.fork() == 0:
        while os.getppid() == parent:
            pass
        os._exit(0)
os.nice(19)
print("READY", flush=True)
while True:
    time.sleep(0.001)
"""

# Threads that wait for what stands in for a GPU, and one that computes there, for 20 ms at a time.
AT_GPU = """
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
def spins(): library.cudaStreamSynchronize(20)
def spins_for_all(): library.cuCtxSynchronize_v2(20)
def sleeps(): library.hipStreamSynchronize(20)
def computes(): library.cudaStreamSynchronizeNot(20)
def repeats(function):
    while True:
        function()
for function in spins, spins_for_all, sleeps, computes:
    threading.Thread(target=repeats, args=(function,), daemon=True).start()
print("READY", flush=True)
threading.Event().wait()
"""

MARK = re.compile(r"<waits: (.+)>$")


def read_waits(path):
    """By the last function of the program and of Python's pools: samples by what the mark says, None without one."""
    found = collections.defaultdict(collections.Counter)
    names = set(CAUSES) | set(PEERS) | {"disk", "pause"}
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, count = line.rsplit(" ", 1)
            frames = stack.split(";")
            mark = MARK.match(frames[-1])
            functions = [frame.split(":")[1].rpartition(".")[2] for frame in frames if frame.count(":") >= 2]
            known = [name for name in functions if name in names]
            if known:
                found[known[-1]][mark.group(1) if mark else None] += int(count)
    return found


class Gil(Test):
    """Two threads of threads.py compute and two sleep.  A free-threaded build is asked for a GIL."""

    def test_who_computes_waits_for_the_gil(self):
        for python in kinds():
            with self.subTest(python.version), victim("threads.py", "4", "600", python=python.path,
                                                      env=dict(os.environ, PYTHON_GIL="1")) as target:
                path = file_in("gil-" + python.version)
                process, code = run_program("record", str(target.pid), "-a", "-r", str(RATE_HZ), "-d", "2",
                                            "--summary-json=" + path)
                self.assertEqual(code, 0, process.output())
                gil = json.loads(pathlib.Path(path).read_text("utf-8"))["gil"]
                # On a busy machine both are ready without a processor now and then.
                self.assertAlmostEqual(gil["held_share"], 0.5, delta=0.2)
                self.assertGreater(gil["waited_share"], 0.1)
                self.assertLess(gil["waited_share"], 0.7)
                self.assertRegex(gil["holder"]["name"], "^worker-[02]$")


class Gpu(Test):
    def test_who_waits_for_it_is_blocked_though_it_spins(self):
        program, path = file_in("at_gpu.py"), file_in("at_gpu.folded")
        pathlib.Path(program).write_text(AT_GPU, "utf-8")
        with victim(program, os.environ["PYROMETER_GPU_STAND_IN"]) as target:
            process, code = run_program("record", target.pid, "-a", "-r", RATE_HZ, "-d", "2", "--native=full", "-o", path, "--collapsed",
                                        *(("--stop", "always") if ENGINE == "remote" else ()))
        self.assertEqual(code, 0, process.output())
        found = collections.defaultdict(collections.Counter)
        for line in pathlib.Path(path).read_text("utf-8").splitlines():
            stack, count = line.rsplit(" ", 1)
            functions = [frame.split(":")[1] for frame in stack.split(";") if frame.count(":") >= 2]
            mark = MARK.search(stack)
            for name in {"spins", "spins_for_all", "sleeps", "computes"} & set(functions):
                found[name][mark.group(1) if mark else "running"] += int(count)
        for name in "spins", "spins_for_all":
            self.assertGreater(found[name]["GPU"], 0.8 * sum(found[name].values()), found)
        # The kernel engine has the stack of a thread that sleeps.
        if ENGINE == "kernel":
            self.assertGreater(found["sleeps"]["GPU"], 0.8 * sum(found["sleeps"].values()), found)
        self.assertEqual(found["computes"]["GPU"], 0, found)
        self.assertGreater(found["computes"]["running"] + found["computes"]["processor"], 0.8 * sum(found["computes"].values()), found)


def without_processor_s(pid):
    return int(pathlib.Path("/proc/%d/schedstat" % pid).read_text("ascii").split()[1]) / 1e9


class Processor(Test):
    """The kernel says how long a thread was ready without a processor."""

    def test_a_thread_that_was_woken_waits_for_a_processor(self):
        program, path = file_in("crowded.py"), file_in("crowded.json")
        pathlib.Path(program).write_text(CROWDED, "utf-8")
        with victim(program) as target:
            began, before = time.monotonic(), without_processor_s(target.pid)
            process, code = run_program("record", target.pid, "-r", RATE_HZ, "-d", "3", "--summary-json=" + path)
            share = (without_processor_s(target.pid) - before) / (time.monotonic() - began)
            self.assertEqual(code, 0, process.output())
            self.assertGreater(share, 0.3)
            self.assertAlmostEqual(json.loads(pathlib.Path(path).read_text("utf-8"))["parts"]["needs_processor"], share, delta=0.2)


# Threads that sleep 250 ms and end, one after the other: before 3.11 the next one has the state and the identity of the last.
SHORT = """
import threading, time
def nap():
    time.sleep(0.25)
time.sleep(1)
for _ in range(4):
    thread = threading.Thread(target=nap)
    thread.start()
    thread.join()
    time.sleep(0.05)
"""


class Short(Test):
    def test_a_thread_that_begins_and_sleeps_has_its_wait(self):
        for python in (kinds()[0], kinds()[-1]):
            with self.subTest(python.version):
                self.check(python)

    def check(self, python):
        path = file_in("waits-short.txt")
        process, code = run_program("record", "-r", "200", "--parts", "blocked,idle", "--waits", "--collapsed", "-o", path, "--", python.path,
                                    "-c", SHORT, seconds=60)
        self.assertEqual(code, 0, process.output())
        slept = collections.Counter()
        for line in pathlib.Path(path).read_text("utf-8").splitlines():
            stack, count = line.rsplit(" ", 1)
            if ":nap:" in stack and stack.endswith("<waits: sleep>"):
                slept[stack.split(" ", 1)[0]] += int(count)
        # Half of the time: a busy machine may let a thread wait for a processor at its begin and at its end.
        self.assertGreaterEqual(len(slept), 3, slept)
        self.assertGreater(sum(slept.values()), 100, slept)


class Causes(Test):
    def record(self, target, name, *options):
        folded = file_in(name)
        process, code = run_program("record", str(target.pid), "-a", "-r", str(RATE_HZ), "-d", str(SECONDS), "--idle",
                                    "-o", folded, "--collapsed", "--quality", folded + ".json", *options)
        self.assertEqual(code, 0, process.output())
        return folded

    def record_waits(self, target, name):
        """The waits of the recording, and its ticks: on a slow machine, fewer than the rate says."""
        folded = self.record(target, name)
        return read_waits(folded), json.loads(pathlib.Path(folded + ".json").read_text("utf-8"))["ticks"]

    def test_every_cause_has_its_name(self):
        for python in kinds():
            with self.subTest(python.version), victim(PROGRAM, "600", python=python.path) as target:
                target.wait_line(r"^PEERS ")
                found, ticks = self.record_waits(target, "waits-" + python.version)
                for function, cause in CAUSES.items():
                    if function in NAMELESS_BEFORE_3_11 and python.minor < 11:
                        self.assertLessEqual(set(found[function]), {None, cause}, function)
                        continue
                    if python.minor < 11:
                        cause = BLOCKED_BEFORE_3_11.get(function, cause)
                    self.check_mostly(found[function], ticks, function, cause)
                self.assertLessEqual(set(found["disk"]), {None, "disk", "GIL", "processor"})
                # It runs as long as it sleeps.
                self.assertGreater(found["pause"]["pause"], 0)
                self.assertLess(found["pause"]["sleep"], 0.5 * found["pause"]["pause"])

    def test_every_connection_has_its_peer(self):
        """On a machine that is many times slower, finding peers takes more time than it may."""
        with victim(PROGRAM, "600") as target:
            ports = target.wait_line(r"^PEERS (\d+) (\d+) (\d+)").groups()
            found, ticks = self.record_waits(target, "waits-peers")
        for (function, cause), port in zip(PEERS.items(), ports):
            self.check_mostly(found[function], ticks, function, cause + " 127.0.0.1:" + port)

    def check_mostly(self, marks, ticks, function, cause):
        """A few samples may be from before the wait, or on a busy machine from between two."""
        total = sum(marks.values())
        self.assertGreater(total, 0.3 * ticks, (function, ticks, marks))
        self.assertGreater(marks[cause], 0.8 * total, (function, marks))

    def test_shares_filters_and_privacy(self):
        with victim(PROGRAM, "600") as target:
            port = target.wait_line(r"^PEERS (\d+)").group(1)
            with Live("attach", str(target.pid), "-a", "-r", str(RATE_HZ), "-d", str(SECONDS)) as live:
                live.wait_ended()
                waits = live.get("/sessions/1/waits")
                causes = {one["cause"]: one for one in waits["causes"]}
                self.assertEqual(sum(one["samples"] for one in waits["causes"]), waits["waiting"])
                self.assertEqual(sum(one["samples"] for one in waits["causes"] if one["idle"]), waits["idle"])
                self.assertLessEqual({"sleep", "pause", "event_loop", "worker", "queue", "lock", "network_read", "network_write", "pipe", "child"},
                                     set(causes))
                self.assertIn("127.0.0.1:" + port, {one["peer"] for one in waits["peers"]})
                summary = live.get("/sessions/1/summary")
                shown = {one["cause"]: one["samples"] for part in ("waiting", "idle") for one in summary[part]["causes"]}
                for part in "waiting", "idle":
                    self.assertEqual(sum(one["samples"] for one in summary[part]["causes"]), summary[part]["samples"])
                self.assertEqual(shown, {one["cause"]: one["samples"] for one in waits["causes"]})
                self.assertEqual(summary["idle"]["samples"], waits["idle"])
                self.assertFalse([row for row in summary["waiting"]["functions"] if "<waits" in row["name"]])
                tree = live.get("/sessions/1/view?focus=wait:network")
                self.assertGreater(tree["total"], 0)
                self.assertLess(tree["total"], waits["waiting"])
            hidden = self.record(target, "waits-hidden", "--hide-args")
            anonymous = self.record(target, "waits-anonymous", "--anonymize")
            for path in hidden, anonymous:
                text = pathlib.Path(path).read_text("utf-8")
                self.assertIn("<waits: network read>", text)
                self.assertNotIn("127.0.0.1", text)

    def test_marks_are_shown_unless_they_are_off(self):
        with victim(PROGRAM, "600") as target:
            capture = file_in("waits.pyro")
            process, code = run_program("record", str(target.pid), "-a", "-r", str(RATE_HZ), "-d", str(SECONDS), "-o", capture)
            self.assertEqual(code, 0, process.output())
            plain = file_in("waits-plain")
            process, code = run_program("replay", capture, "-o", plain, "--collapsed", "--idle", "--waits=off")
            self.assertEqual(code, 0, process.output())
            self.assertNotIn("<waits", pathlib.Path(plain).read_text("utf-8"))
            shown = file_in("waits-shown")
            process, code = run_program("replay", capture, "-o", shown, "--collapsed", "--focus", "wait:blocked")
            self.assertEqual(code, 0, process.output())
            for line in pathlib.Path(shown).read_text("utf-8").splitlines():
                self.assertRegex(line, r"<waits: (queue or condition|lock|GIL|processor|network|pause|pipe|disk|child).*> \d+$")
            jsonl = file_in("waits.jsonl")
            process, code = run_program("replay", capture, "-o", jsonl, "--jsonl")
            self.assertEqual(code, 0, process.output())
            for line in pathlib.Path(jsonl).read_text("utf-8").splitlines():
                json.loads(line)

    def capture_of_peers(self, name):
        """A capture of the program, and the ports of its peers."""
        with victim(PROGRAM, "600") as target:
            ports = target.wait_line(r"^PEERS (\d+) (\d+) (\d+)").groups()
            capture = file_in(name)
            process, code = run_program("record", str(target.pid), "-a", "-r", str(RATE_HZ), "-d", str(SECONDS), "-o", capture)
            self.assertEqual(code, 0, process.output())
        return capture, ports

    def test_the_firefox_profiler_has_markers_by_choice(self):
        capture, ports = self.capture_of_peers("markers.pyro")
        for options in ("--waits=off",), ():
            path = file_in("markers%d.gecko.json" % len(options))
            process, code = run_program("replay", capture, "-o", path, "--gecko", *options)
            self.assertEqual(code, 0, process.output())
            profile = json.loads(pathlib.Path(path).read_text("utf-8"))
            found = []
            for thread in profile["threads"]:
                markers = thread["markers"]
                for data, start, end in zip(markers["data"], markers["startTime"], markers["endTime"]):
                    if data["type"] == "Wait":
                        self.assertLess(start, end)
                        found.append((data["wait"], data["kind"], data.get("peer")))
            if options:
                self.assertEqual(found, [])
                continue
            self.assertLessEqual({("sleep", "idle", None), ("lock", "blocked", None)}, set(found))
            network = [(wait, kind, peer) for wait, kind, peer in found if peer]
            # On a busy machine not all peers are read within a second.
            self.assertTrue(network, found)
            for wait, kind, peer in network:
                self.assertIn(peer, ["unix", *("127.0.0.1:" + port for port in ports)])
                self.assertIn(wait, ["network read " + peer, "network write " + peer])
                self.assertEqual(kind, "blocked")

    def test_pprof_has_labels_by_choice(self):
        capture, ports = self.capture_of_peers("labels.pyro")
        for options in ("--idle", "--waits=off"), ("--idle",):
            path = file_in("labels%d.pb.gz" % len(options))
            process, code = run_program("replay", capture, "-o", path, "--pprof", *options)
            self.assertEqual(code, 0, process.output())
            with gzip.open(path) as file:
                labels = labels_of(file.read())
            if "--waits=off" in options:
                self.assertFalse({"wait", "peer"} & set(labels))
                continue
            self.assertLessEqual({"sleep", "event loop", "lock", "network read"}, labels["wait"])
            self.assertTrue(labels["peer"])
            self.assertLessEqual(labels["peer"], {"unix", *("127.0.0.1:" + port for port in ports)})
            self.assertFalse([text for text in labels["state"] if "wait" in text and "<" in text])

    def test_names_of_the_target_are_only_text(self):
        path = file_in("hostile_waits.py")
        pathlib.Path(path).write_text(HOSTILE, "utf-8")
        with tempfile.TemporaryDirectory(prefix="<waits: sleep>") as folder, victim(path, folder) as target:
            text = pathlib.Path(self.record(target, "waits-hostile")).read_text("utf-8")
            for line in text.splitlines():
                self.assertRegex(line, r" \d+$")
                self.assertLessEqual(line.count("<waits: "), 1)
            marks = {mark for mark in re.findall(r"<waits: [^\n]*?>(?= \d+$)", text, re.M)}
            self.assertLessEqual({re.sub(r" unix.*", "", mark[8:-1]) for mark in marks},
                                 {"pipe", "disk", "queue or condition", "idle worker", "network read", "lock", "sleep", "pause", "GIL",
                                  "processor"})
            self.assertTrue(any(mark.startswith("<waits: network read unix") for mark in marks), marks)


if __name__ == "__main__":
    main()
