"""Little is made to cost much: compressed input, answers that nobody reads, and limits that others set."""

import contextlib
import gzip
import os
import re
import resource
import select
import signal
import socket
import time
import unittest

import bombs
from harness import SANITIZED, SLOWNESS, WAIT_SECONDS, Live, Test, file_in, main, program, run_program, victim
from host import Host
from shares import share
from usage import MIB, cpu_of, descriptors_of, memory_of, threads_of

LONG = "60"
MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}


class Bombs(Test):
    @classmethod
    def setUpClass(cls):
        path = file_in("small.pyro")
        with victim("chain.py", LONG) as target:
            process, code = run_program("record", str(target.pid), "-d", "1", "-o", path)
        assert code == 0, process.output()
        with open(path, "rb") as file:
            cls.capture = file.read()

    def test_what_unpacks_to_more_than_it_says_costs_nothing(self):
        with Host() as host:
            before = memory_of(host.process.pid)
            for name, data in bombs.liars(self.capture):
                sent = host.put(data)
                self.assertIn(sent.status, (201, 422), name)
                if sent.status == 201:
                    one = host.send("POST", "/captures", {"name": sent.json()["name"]}).json()["id"]
                    session = host.until("/sessions/" + one, lambda found: found["state"] in ("ended", "failed"))
                    self.assertEqual(session["state"], "failed", name)
                self.assertEqual(host.ask("/api/v1/captures").status, 200)
            if not SANITIZED:
                self.assertLess(memory_of(host.process.pid) - before, 100 * MIB)

    def test_rows_that_are_none_are_refused_at_once(self):
        path = file_in("empty_rows.pyro")
        with open(path, "wb") as file:
            file.write(bombs.long_to_read(self.capture, 3, bombs.no_rows()))
        process, code = run_program("replay", path, "--idle", "--waits=off", "--collapsed=-")
        self.assertEqual(code, 1, process.output())
        self.assertRegex(process.err[-1], "damaged at byte .*is invalid")

    def hours(self):
        """A capture of 100 MiB that takes hours to read."""
        return bombs.long_to_read(self.capture, 20000, bombs.known_rows())

    def test_reading_one_ends_with_its_session(self):
        with Host() as host:
            sent = host.put(self.hours())
            self.assertEqual(sent.status, 201, sent.body)
            one = host.send("POST", "/captures", {"name": sent.json()["name"]}).json()["id"]
            self.assertEqual(host.get("/sessions/" + one)["state"], "starting")
            before = threads_of(host.process.pid)
            self.assertEqual(host.send("DELETE", "/sessions/" + one).status, 204)
            host.wait_until(lambda: threads_of(host.process.pid) < before)

    def test_reading_one_does_not_outlive_a_wish_to_stop(self):
        path = file_in("hours.pyro")
        with open(path, "wb") as file:
            file.write(self.hours())
        with Host() as host:
            sent = host.put(self.hours())
            self.assertEqual(host.send("POST", "/captures", {"name": sent.json()["name"]}).status, 202)
            host.process.signal(signal.SIGTERM)
            self.assertEqual(host.process.wait(), 0, host.process.output())
        for words in (["serve", path, "--listen", "127.0.0.1:0", "--no-data"], ["replay", path, "--idle", "--waits=off", "--collapsed=-"],
                      ["merge", path, path, "-o", file_in("merged.pyro")], ["diff", path, path]):
            with program(*words) as process:
                time.sleep(1)
                self.assertTrue(process.is_running(), process.output())
                process.signal(signal.SIGTERM)
                self.assertNotEqual(process.wait(5 * SLOWNESS), 0, words)

    def test_a_body_that_is_packed_is_not_unpacked(self):
        with Host() as host:
            before = memory_of(host.process.pid)
            for coding, packed in (("gzip", gzip.compress(bytes(64 * MIB))), ("zstd", bombs.pack(bytes(64 * MIB)))):
                for method, path, kind in (("PUT", "/api/v1/captures", "application/octet-stream"),
                                           ("POST", "/api/v1/sessions", "application/json")):
                    if method == "POST" and len(packed) > 60000:
                        packed = packed[:60000]
                    answer = host.ask(path, method, packed, dict(MARK, **{"Content-Type": kind, "Content-Encoding": coding}))
                    self.assertEqual(answer.status, 415, (coding, method, answer.body))
            # A sanitizer keeps memory that was freed; the release build has the strict limit.
            self.assertLess(memory_of(host.process.pid) - before, (120 if SANITIZED else 60) * MIB)


class Readers(Test):
    """Clients that ask for much and read little."""

    def ask(self, host, path):
        """A connection with next to no room for what comes."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.settimeout(WAIT_SECONDS)
        connection.connect(("127.0.0.1", host.port))
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % (
            path.encode(), host.token.encode()))
        self.addCleanup(connection.close)
        return connection

    def test_they_hold_nothing_for_long(self):
        with Host() as host:
            # Large, and not to be made smaller.
            with open(os.path.join(host.data, "large.pyro"), "wb") as file:
                file.write(os.urandom(64 * MIB))
            idle = len(descriptors_of(host.process.pid))
            threads = threads_of(host.process.pid)
            path = "/api/v1/captures/large/file"
            silent = [self.ask(host, path) for _ in range(10)]
            slow = [self.ask(host, path) for _ in range(10)]
            host.wait_until(lambda: len(descriptors_of(host.process.pid)) >= idle + 40)
            self.assertEqual(host.ask("/healthz").status, 200)
            self.assertLessEqual(threads_of(host.process.pid), threads + 20)
            end = time.monotonic() + 75 * SLOWNESS
            while len(descriptors_of(host.process.pid)) > idle and time.monotonic() < end:
                time.sleep(0.5)
                # Enough to be no idle connection.
                for connection in list(slow):
                    if select.select([connection], [], [], 0)[0] and not self.sip(connection):
                        slow.remove(connection)
            self.assertLessEqual(len(descriptors_of(host.process.pid)), idle + 2)
            self.assertEqual(host.ask("/healthz").status, 200)
            del silent

    @staticmethod
    def sip(connection):
        """false: it has ended."""
        try:
            return bool(connection.recv(4096))
        except OSError:
            return False


MANY_STACKS = """
import random, sys, threading, time
functions = []
def call(depth, choose):
    return functions[choose.randrange(len(functions))](depth, choose)
for i in range(300):
    exec("def f%d(depth, choose):\\n for _ in range(20): pass\\n if depth: call(depth - 1, choose)\\nfunctions.append(f%d)" % (i, i))
def work(seed):
    choose = random.Random(seed)
    while True:
        call(choose.randrange(3, 40), choose)
for i in range(8):
    threading.Thread(target=work, args=(i,), daemon=True).start()
print("READY", flush=True)
time.sleep(float(sys.argv[1]))
"""


class Turns(Test):
    """Costly requests of a shared link wait behind each other, and nobody else behind them."""

    HEAVY = 60

    capture = None

    @classmethod
    def recorded(cls):
        if not cls.capture:
            script, path = file_in("many_stacks.py"), file_in("many_stacks.pyro")
            with open(script, "w", encoding="ascii") as file:
                file.write(MANY_STACKS)
            with victim(script, LONG) as target:
                process, code = run_program("record", str(target.pid), "-a", "-d", "3", "-r", "1khz", "-o", path)
            assert code == 0, process.output()
            cls.capture = path
        return cls.capture

    @staticmethod
    def ask(live, token, what):
        connection = socket.create_connection(("127.0.0.1", live.port), WAIT_SECONDS)
        connection.sendall(b"GET /api/v1/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           b"Authorization: Bearer %s\r\n\r\n" % (what.encode(), token.encode()))
        return connection

    def test_they_delay_neither_the_operator_nor_other_links(self):
        with Live("serve", self.recorded(), "--no-data", "--audit", "/dev/null") as live:
            live.wait_ended()
            flooding, other = (share(live, session="1")["token"] for _ in range(2))
            for name, token, what in (("what costs little", live.token, "sessions"),
                                      ("what costs much", live.token, "sessions/1/view?focus=f1&hide=f2"),
                                      ("another link", other, "sessions/1/view?focus=f2&hide=f3")):
                flood = [self.ask(live, flooding, "sessions/1/view?focus=f%d&hide=%s" % (i, name.split()[-1]))
                         for i in range(self.HEAVY)]
                self.addCleanup(lambda held=flood: [connection.close() for connection in held])
                with self.ask(live, token, what) as connection:
                    connection.settimeout(3 * WAIT_SECONDS)
                    self.assertIn(b" 200 ", connection.recv(16))
                answered = select.select(flood, [], [], 0)[0]
                self.assertLess(len(answered), self.HEAVY / 2, name)
                for connection in flood:
                    connection.settimeout(3 * WAIT_SECONDS)
                    self.assertIn(b" 200 ", connection.recv(16))

    def test_few_run_at_a_time(self):
        with Live("serve", self.recorded(), "--no-data", "--audit", "/dev/null") as live:
            live.wait_ended()
            token = share(live, session="1")["token"]
            flood = [self.ask(live, token, "sessions/1/view?focus=f%d" % i) for i in range(self.HEAVY)]
            self.addCleanup(lambda: [connection.close() for connection in flood])
            waited = 0
            while len(select.select(flood, [], [], 0)[0]) < self.HEAVY:
                found = dict(re.findall(r'pyrometer_http_requests_(\w+){scope="viewer"} (\d+)', live.ask("/metrics").body.decode()))
                self.assertLessEqual(int(found["running"]), 2)
                waited = max(waited, int(found["waiting"]))
            self.assertGreater(waited, self.HEAVY / 2)


@contextlib.contextmanager
def group_of(limit):
    """A control group with so much memory: what a process calls to join it."""
    for folder, name in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = os.path.join(folder, "pyrometer-test-%d" % os.getpid())
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            if os.path.exists(os.path.join(group, name)):
                write_file(os.path.join(group, name), str(limit))
                yield lambda: write_file(os.path.join(group, "cgroup.procs"), "0")
                return
        finally:
            remove_group(group)
    raise unittest.SkipTest("no control group can be made here")


def remove_group(group):
    """Once the last process has left it."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            os.rmdir(group)
            return
        time.sleep(0.05)


def write_file(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def at_most(kind, amount):
    def limit():
        resource.setrlimit(kind, (amount, amount))
    return limit


class Limits(Test):
    """Limits set by a container or a shell."""

    def check(self, process, code, pattern):
        """It has done what it should, or said why not."""
        self.assertIn(code, (0, 1), process.output())
        if code:
            self.assertRegex(process.err[-1], "^pyrometer: .*(%s)" % pattern)
        return code == 0

    def commands(self, pid, capture, limit, pattern):
        done = []
        for words in (["record", str(pid), "-d", "1", "-o", capture], ["dump", str(pid)],
                      ["record", str(pid), "-d", "1", "--flamegraph", "-o", file_in("limited.html")]):
            process, code = run_program(*words, preexec_fn=limit)
            done.append(self.check(process, code, pattern))
        if done[0]:
            process, code = run_program("replay", capture, "--idle", "--waits=off", "--collapsed=-")
            self.assertEqual(code, 0, process.output())
        return done

    @unittest.skipIf(SANITIZED, "sanitizers open files of their own")
    def test_few_files_are_enough_or_said_to_be_too_few(self):
        pattern = "Too many open files|files may be open"
        with victim("chain.py", LONG) as target:
            for count in (6, 8, 12, 16, 40):
                with self.subTest(files=count):
                    limit = at_most(resource.RLIMIT_NOFILE, count)
                    done = self.commands(target.pid, file_in("files.pyro"), limit, pattern)
                    self.assertTrue(all(done) or count < 16, done)
                    if count >= 40:
                        continue
                    process, code = run_program("serve", "--no-data", "--listen", "127.0.0.1:0", preexec_fn=limit)
                    self.assertEqual(code, 1, process.output())
                    self.assertRegex(process.err[-1], pattern)

    @unittest.skipIf(SANITIZED, "sanitizers need more memory")
    def test_a_viewer_has_no_server_killed_that_has_little_memory(self):
        with group_of(64 * MIB) as join, Live("serve", Turns.recorded(), "--no-data", "--audit", "/dev/null", preexec_fn=join) as live:
            live.wait_ended()
            token = share(live, session="1")["token"]
            whats = ("view?focus=f%d", "export?format=chrome-trace&focus=f%d", "report.html?ignore=f%d", "tree?since=%d",
                     "export?format=speedscope&hide=f%d", "summary?focus=f%d", "export?format=heatmap&ignore=f%d")
            flood = [Turns.ask(live, token, "sessions/1/" + whats[i % len(whats)] % i) for i in range(21)]
            self.addCleanup(lambda: [connection.close() for connection in flood])
            statuses = set()
            for connection in flood:
                connection.settimeout(3 * WAIT_SECONDS)
                with connection.makefile("rb") as answer:
                    statuses.add(int(answer.read(12)[9:]))
                    answer.read()
                self.assertEqual(live.ask("/api/v1/sessions").status, 200)
            self.assertLessEqual(statuses, {200, 503})
            self.assertIn(200, statuses)
            self.assertTrue(live.process.is_running())

    @unittest.skipIf(SANITIZED, "sanitizers reserve more memory than any limit allows")
    def test_little_memory_is_enough_or_said_to_be_too_little(self):
        pattern = "memory|temporarily unavailable|does not start"
        with victim("chain.py", LONG) as target:
            for amount in (16, 24, 32, 48, 200):
                with self.subTest(mebibytes=amount):
                    limit = at_most(resource.RLIMIT_AS, amount * MIB)
                    process, code = run_program("--version", preexec_fn=limit)
                    if code == 127:
                        # The loader has no room for the libraries, and says so itself.
                        self.assertLess(amount, 48, process.output())
                        continue
                    done = self.commands(target.pid, file_in("memory.pyro"), limit, pattern)
                    self.assertTrue(all(done) or amount < 200, done)

    def test_a_server_out_of_files_goes_on_with_what_it_does(self):
        with victim("chain.py", LONG) as target, Host(preexec_fn=at_most(resource.RLIMIT_NOFILE, 60)) as host:
            one = host.start(pids=[target.pid], rate_hz=200)
            name = host.capture_of(one)
            count = host.running(one)["quality"]["samples"]
            idle = len(descriptors_of(host.process.pid))
            flood = [self.begin_connection(host.port) for _ in range(120)]
            # It is not spinning, nor gone, and lets others in before the first of the flood are late.
            host.wait_until(lambda: len(descriptors_of(host.process.pid)) >= idle + 10)
            self.assertTrue(any(self.is_answered(host) or time.sleep(0.05) for _ in range(50)))
            before = cpu_of(host.process.pid)
            time.sleep(2)
            if not SANITIZED:
                self.assertLess(cpu_of(host.process.pid) - before, 1.5)
                self.assertLess(len(descriptors_of(host.process.pid)), 58)
            for connection in flood:
                connection.close()
            host.wait_until(lambda: self.is_answered(host))
            host.until("/sessions/" + one, lambda found: found["quality"]["samples"] > count + 200)
            host.send("PATCH", "/sessions/" + one, {"state": "ended"})
            capture = host.until("/captures/" + name, lambda found: found["state"] == "complete")
            self.assertIsNone(host.get("/sessions/" + one)["capture_error"])
            self.assertGreater(capture["bytes"], 0)

    @staticmethod
    def begin_connection(port):
        """It may be taken later, or never."""
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", port))
        return connection

    @staticmethod
    def is_answered(host):
        try:
            return host.ask("/healthz").status == 200
        except OSError:
            return False


if __name__ == "__main__":
    main()
