"""Whole commands of the program, with a fake sampler in it (tests/support/fake_sampler.h).

Usage: test_commands.py PROGRAM [unittest arguments]
"""

import http.client
import json
import os
import pstats
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

EMPTY, STILL, LIVE, DENIED, SHELL, NEWER = range(2000000001, 2000000007)
GONE = 2000000099
HANDS = 6
TIMEOUT_S = 60

PROGRAM = ""


def run(*words, **keywords):
    """One command to its end."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S, **keywords)


class Started:
    """A command that serves: its URL, its end."""

    def __init__(self, *words, **keywords):
        self.process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, **keywords)
        self.url = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://(\[[^]]+\]|[^:/]+):(\d+)/(?:\?token=(\S+))?", self.url)
        if not match:
            self.process.kill()
            raise AssertionError("no URL: %r %r" % (self.url, self.process.communicate()))
        self.host, self.port, self.token = match[1], int(match[2]), match[3]

    def get(self, target, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        connection.request("GET", target, headers=dict(headers))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def authorized(self, target):
        return self.get(target, {"Authorization": "Bearer " + self.token})

    def wait_for_error_line(self, text):
        for line in self.process.stderr:
            if text in line:
                return line
        raise AssertionError("standard error ended without %r" % text)

    def stop(self, number=signal.SIGINT):
        """Exit status, rest of standard output, rest of standard error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err


class Usage(unittest.TestCase):
    def expect(self, result, status, message):
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr, "pyrometer: %s\n" % message)

    def test_help_and_version_go_to_standard_output(self):
        for words in (["--help"], ["attach", "--help"], ["run", "-h"], ["record", "1", "--help"], ["--version"]):
            result = run(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertIn("yrometer", result.stdout)
        self.assertRegex(run("-V").stdout, r"^pyrometer \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_one_line_and_2(self):
        self.expect(run(), 2, "a COMMAND is missing (see --help)")
        self.expect(run("atach", 1), 2, "unknown command 'atach' (did you mean 'attach'?)")
        self.expect(run("attach", "abc"), 2, "invalid PID 'abc': want a process ID such as 4711")
        self.expect(run("attach", LIVE, "-r", "2mhz"), 2,
                    "invalid --sampling-rate '2mhz': want 1 to 1mhz, such as 100, 1.5k or 10khz")
        self.expect(run("attach", LIVE, "--no-token", "--listen", "0.0.0.0:0"), 2,
                    "--no-token would give the whole network access: use it with a loopback address")

    def test_message_stays_one_line_whatever_the_words_hold(self):
        self.expect(run("a\nb\x1b[31m"), 2, "unknown command 'a?b?[31m' (see --help)")

    def test_targets_that_cannot_be_sampled_have_their_status(self):
        self.expect(run("attach", GONE), 4, "no process %d" % GONE)
        self.expect(run("attach", SHELL), 4, "process %d is not Python" % SHELL)
        self.expect(run("attach", DENIED), 3, "not permitted to read process %d" % DENIED)
        with tempfile.TemporaryDirectory() as folder:
            self.expect(run("record", DENIED, "--collapsed", cwd=folder), 3,
                        "not permitted to read process %d" % DENIED)
            self.assertEqual(os.listdir(folder), [])

    def test_address_that_cannot_be_had_is_one_line(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.expect(run("attach", LIVE, "--listen", "127.0.0.1:%d" % port), 1,
                        "cannot listen on 127.0.0.1 port %d: Address already in use" % port)
        result = run("attach", LIVE, "--listen", "nowhere.invalid:80")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))


class Attach(unittest.TestCase):
    def test_prints_one_line_and_serves(self):
        started = Started("attach", LIVE, "--listen", "127.0.0.1:0")
        self.assertEqual(len(started.token), 64)
        self.assertEqual(started.get("/healthz"), (200, b"ok\n"))
        self.assertEqual(started.get("/")[0], 401)
        self.assertEqual(started.get("/?token=" + started.token)[0], 303)
        status, body = started.authorized("/api/v1/sessions")
        self.assertEqual((status, b'"state":"running"' in body), (200, True))
        status, out, err = started.stop()
        self.assertEqual((status, out), (0, ""))
        self.assertNotIn(started.token, err)

    def test_ends_cleanly_on_each_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.assertEqual(Started("attach", LIVE, "--listen", ":0").stop(number)[0], 0)

    def test_hangup_is_ignored_when_it_was_before(self):
        started = Started("attach", LIVE, "--listen", ":0",
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        started.process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        self.assertEqual(started.get("/healthz")[0], 200)
        self.assertEqual(started.stop()[0], 0)

    def test_page_stays_when_sampling_has_ended(self):
        started = Started("attach", LIVE, "-d", "100ms", "--listen", "127.0.0.1:0")
        line = started.wait_for_error_line("the page stays at")
        self.assertEqual(line, "pyrometer: duration is over; the page stays at http://127.0.0.1:%d/; Ctrl-C to quit\n"
                         % started.port)
        self.assertIn(b'"state":"ended"', started.authorized("/api/v1/sessions/1")[1])
        self.assertEqual(started.stop()[0], 0)

    def test_usual_port_may_be_taken(self):
        first = Started("attach", LIVE)
        second = Started("attach", LIVE)
        try:
            self.assertNotEqual(first.port, second.port)
            self.assertEqual(second.get("/healthz")[0], 200)
        finally:
            first.stop()
            err = second.stop()[2]
        self.assertIn("is taken, using %d" % second.port, err)

    def test_without_a_token_on_loopback(self):
        for host in ("127.0.0.1", "localhost", "[::1]"):
            if host == "[::1]" and not os.path.exists("/proc/net/if_inet6"):
                continue
            started = Started("attach", LIVE, "--no-token", "--listen", host + ":0")
            self.assertIsNone(started.token)
            self.assertEqual(started.host, host)
            if host == "127.0.0.1":
                self.assertEqual(started.get("/api/v1/sessions")[0], 200)
            self.assertEqual(started.stop()[0], 0)

    def test_all_addresses_are_named_by_the_host(self):
        started = Started("attach", LIVE, "--listen", "0.0.0.0:0")
        self.assertEqual(started.host, socket.gethostname())
        self.assertEqual(started.get("/healthz", {"Host": socket.gethostname()})[0], 200)
        self.assertEqual(started.stop()[0], 0)

    def test_allowed_hosts_are_answered(self):
        started = Started("attach", LIVE, "--listen", ":0", "--allow-host", "flames.example")
        self.assertEqual(started.get("/healthz", {"Host": "flames.example:80"})[0], 200)
        self.assertEqual(started.get("/healthz", {"Host": "evil.example"})[0], 421)
        self.assertEqual(started.stop()[0], 0)

    def test_token_comes_from_a_file(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("  a-token-of-my-own_1\nsecond line\n")
            file.flush()
            started = Started("attach", LIVE, "--listen", ":0", "--token-file", file.name)
            self.assertEqual(started.token, "a-token-of-my-own_1")
            self.assertEqual(started.authorized("/")[0], 200)
            self.assertNotIn("others may read", started.stop()[2])
            os.chmod(file.name, 0o640)
            started = Started("attach", LIVE, "--listen", ":0", "--token-file", file.name)
            self.assertIn("can read the token in it", started.stop()[2])

    def test_bad_token_files_are_refused(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("short")
            file.flush()
            for command in (["attach", LIVE], ["serve", "--no-data"]):
                refused = run(*command, "--token-file", file.name)
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertIn("must have 16 to 128 characters", refused.stderr)
            file.truncate(0)
            refused = run("attach", LIVE, "--token-file", file.name)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("has no token in it", refused.stderr)
            file.seek(0)
            file.write("a-token-everybody-reads")
            file.flush()
            for mode in (0o644, 0o604):
                os.chmod(file.name, mode)
                refused = run("attach", LIVE, "--listen", ":0", "--token-file", file.name)
                self.assertEqual((refused.returncode, refused.stdout), (3, ""))
                self.assertIn("everyone can read the token file", refused.stderr)
                self.assertNotIn("a-token-everybody-reads", refused.stderr)
        self.assertEqual(run("attach", LIVE, "--token-file", "/nowhere/token").returncode, 1)

    def test_newer_python_is_warned_about(self):
        started = Started("attach", NEWER, "--listen", ":0")
        self.assertIn("newer than the versions", started.stop()[2])

    def test_browser_gets_a_code_that_is_not_the_token(self):
        with tempfile.TemporaryDirectory() as folder:
            opener, seen = os.path.join(folder, "xdg-open"), os.path.join(folder, "seen")
            with open(opener, "w") as file:
                file.write('#!/bin/sh\nprintf %%s "$1" > %s.part && mv %s.part %s\n' % (seen, seen, seen))
            os.chmod(opener, 0o755)
            environment = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
            started = Started("attach", LIVE, "--browser", "--listen", "127.0.0.1:0", env=environment)
            end = time.monotonic() + TIMEOUT_S
            while not os.path.exists(seen) and time.monotonic() < end:
                time.sleep(0.02)
            with open(seen) as file:
                url = file.read()
            self.assertNotIn(started.token, url)
            code = url[url.index("/?token="):]
            self.assertEqual(started.get(code)[0], 303)
            self.assertEqual(started.get(code)[0], 401)
            self.assertEqual(started.stop()[0], 0)


class Quality(unittest.TestCase):
    """The run summary and the file of --quality."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "quality.json")

    def tearDown(self):
        self.folder.cleanup()

    def read(self):
        with open(self.path) as file:
            return json.load(file)

    def expect_file(self):
        quality = self.read()
        self.assertGreater(quality["samples"], 0)
        self.assertEqual(quality["exact"], quality["samples"])
        self.assertEqual(quality["failed"], {"gone": 0, "fault": 0, "perm": 0, "corrupt": 0})
        self.assertEqual(quality["requested_hz"], 1000)
        self.assertAlmostEqual(quality["states"]["has_gil"]["at_least"], 0.5)
        for name in ("duration_s", "achieved_hz", "rss_bytes"):
            self.assertGreater(quality[name], 0, name)
        for name in ("missed_ticks", "repaired", "retried", "truncated", "stopped_s", "cpu_user_s", "cpu_sys_s", "reads",
                     "read_bytes", "code_hits", "code_misses", "code_stale", "filtered"):
            self.assertGreaterEqual(quality[name], 0, name)
        self.assertEqual(os.listdir(self.folder.name), ["quality.json"])

    def test_file_is_there_when_a_recording_ends(self):
        result = run("record", LIVE, "-d", "100ms", "--collapsed", "-o", "-", "--quality", self.path)
        self.assertEqual(result.returncode, 0)
        self.expect_file()

    def test_file_is_there_when_sampling_ends_and_the_page_stays(self):
        started = Started("attach", LIVE, "-d", "100ms", "--listen", ":0", "--quality", self.path)
        started.wait_for_error_line("the page stays at")
        self.expect_file()
        self.assertEqual(started.stop()[0], 0)

    def test_file_is_there_when_the_user_has_seen_enough(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            started = Started("attach", LIVE, "--listen", ":0", "--quality", self.path)
            self.assertFalse(os.path.exists(self.path))
            time.sleep(0.2)
            status, _, err = started.stop(number)
            self.assertEqual(status, 0)
            self.assertRegex(err, r"(?m)^pyrometer: captured [1-9]\d* samples in ")
            self.expect_file()
            os.unlink(self.path)

    def test_file_is_there_when_a_started_program_ends(self):
        started = Started("run", "--listen", ":0", "--quality", self.path, "--", sys.executable, "-c",
                          "import time; time.sleep(0.3); raise SystemExit(7)")
        started.wait_for_error_line("the page stays")
        self.expect_file()
        self.assertEqual(started.stop()[0], 7)

    def test_path_that_cannot_be_written_is_known_before_anything_starts(self):
        for words in (["attach", LIVE, "--listen", ":0"], ["record", LIVE, "--collapsed", "-o", "-"]):
            result = run(*words, "--quality", "/nowhere/q.json")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertEqual(result.stderr, "pyrometer: cannot write '/nowhere/q.json': No such file or directory\n")
        mark = os.path.join(self.folder.name, "ran")
        self.assertEqual(run("run", "--listen", ":0", "--quality", "/nowhere/q", "--", "touch", mark).returncode, 1)
        self.assertFalse(os.path.exists(mark))

    def test_file_that_fails_to_be_written_leaves_the_page_and_fails_the_command(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        started = Started("attach", LIVE, "-d", "100ms", "--listen", ":0", "--quality", "/dev/full")
        started.wait_for_error_line("cannot write '/dev/full'")
        started.wait_for_error_line("the page stays at")
        self.assertEqual(started.get("/healthz")[0], 200)
        self.assertEqual(started.stop()[0], 1)

    def test_a_line_every_second(self):
        line = (r"\d+ of 1000 Hz \(mean \d+, \d+ to \d+\)(, every \d+\.\d\d ms \(\d+\.\d\d to \d+\.\d\d\))?, \d+ samples, exact 100\.00 %, repaired 0\.00 %, "
                r"failed 0\.00 %, missed 0, own CPU \d+\.\d %")
        for words in (["record", LIVE, "-d", "2.4", "--collapsed", "-o", "-"],):
            result = run(*words, "--realtime-stats")
            self.assertEqual(result.returncode, 0)
            # How many depends on how long the machine let it wait.
            self.assertGreaterEqual(len(re.findall(r"(?m)^%s$" % line, result.stderr)), 1, result.stderr)
            self.assertNotIn("\r", result.stderr)

    def test_the_line_is_written_over_itself_on_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(PROGRAM, [PROGRAM, "record", str(LIVE), "-d", "2.4", "--collapsed", "-o", "/dev/null",
                               "--realtime-stats"])
        seen = b""
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            seen += piece
        os.waitpid(pid, 0)
        os.close(terminal)
        # How many depends on how long the machine let it wait; each is written over the one before.
        self.assertGreaterEqual(seen.count(b" of 1000 Hz (mean"), 1)
        self.assertEqual(len(re.findall(rb"\r\d+ of 1000 Hz[^\r\n]*\x1b\[K", seen)), seen.count(b" of 1000 Hz (mean"))
        self.assertIn(b"\x1b[K\r\npyrometer: captured ", seen.replace(b"pyrometer: duration is over\r\n", b""))


class Run(unittest.TestCase):
    def start(self, code, *words, **keywords):
        """A Python program of one line."""
        return Started("run", "--listen", ":0", *words, "--", sys.executable, "-c", code, **keywords)

    def child_of(self, started):
        status, body = started.authorized("/api/v1/sessions/1")
        self.assertEqual(status, 200)
        return int(re.search(rb'"pid":(\d+)', body)[1])

    def expect_gone(self, pid):
        self.assertFalse(os.path.exists("/proc/%d" % pid))

    def test_status_is_that_of_a_program_that_ended_by_itself(self):
        started = self.start("import time; time.sleep(0.3); raise SystemExit(7)")
        started.wait_for_error_line("target exited; the page stays")
        self.assertEqual(started.authorized("/")[0], 200)
        self.assertEqual(started.stop()[0], 7)

    def test_status_names_the_signal_that_ended_the_program(self):
        started = self.start("import os, time; time.sleep(0.3); os.abort()")
        started.wait_for_error_line("target exited")
        self.assertEqual(started.stop()[0], 128 + signal.SIGABRT)

    def test_program_ends_with_us(self):
        started = self.start("import time; time.sleep(60)")
        child = self.child_of(started)
        self.assertEqual(started.stop(signal.SIGTERM)[0], 0)
        self.expect_gone(child)

    def wait_until_it_ignores(self, pid, number):
        for _ in range(3000):
            with open("/proc/%d/status" % pid, encoding="utf-8") as file:
                ignored = int(re.search(r"^SigIgn:\s*([0-9a-f]+)", file.read(), re.MULTILINE).group(1), 16)
            if ignored >> (number - 1) & 1:
                return
            time.sleep(0.01)
        self.fail("process %d does not ignore signal %d" % (pid, number))

    def test_program_that_ignores_sigterm_is_killed(self):
        started = self.start("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)")
        child = self.child_of(started)
        self.wait_until_it_ignores(child, signal.SIGTERM)
        self.assertEqual(started.stop(signal.SIGTERM)[0], 0)
        self.expect_gone(child)

    def test_second_signal_ends_it_too(self):
        started = self.start("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)")
        child = self.child_of(started)
        self.wait_until_it_ignores(child, signal.SIGTERM)
        started.process.send_signal(signal.SIGTERM)
        started.stop(signal.SIGTERM)
        self.expect_gone(child)

    def test_files_and_modules_run_with_the_chosen_python(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.py")
            with open(path, "w") as file:
                file.write("import sys, time\ntime.sleep(0.2)\nraise SystemExit(len(sys.argv))\n")
            started = Started("run", "--listen", ":0", "--python", sys.executable, path, "-r", "--help")
            started.wait_for_error_line("target exited")
            self.assertEqual(started.stop()[0], 3)
            started = Started("run", "--listen", ":0", "--python", sys.executable, "-m", "app", "x", cwd=folder)
            started.wait_for_error_line("target exited")
            self.assertEqual(started.stop()[0], 2)

    def test_program_has_ordinary_signals(self):
        started = self.start("import signal, time; time.sleep(0.2);"
                             "ok = not signal.pthread_sigmask(0, []) and signal.getsignal(2) is not signal.SIG_IGN;"
                             "raise SystemExit(5 if ok else 6)")
        started.wait_for_error_line("target exited")
        self.assertEqual(started.stop()[0], 5)

    def test_program_that_cannot_be_started_is_one_line(self):
        result = run("run", "--listen", ":0", "--", "/nowhere/python")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "pyrometer: cannot run '/nowhere/python': No such file or directory\n")

    def test_taken_port_starts_no_program(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "ran")
            result = run("run", "--listen", "127.0.0.1:%d" % taken.getsockname()[1], "--", "touch", mark)
            self.assertEqual(result.returncode, 1)
            self.assertFalse(os.path.exists(mark))

    def test_ctrl_c_reaches_the_program_too(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = os.path.join(folder, "interrupted")
            ready = os.path.join(folder, "ready")
            code = ("import time\n"
                    "try:\n    open(%r, 'w'); time.sleep(60)\n"
                    "except KeyboardInterrupt:\n    time.sleep(0.3); open(%r, 'w')\n" % (ready, mark))
            pid, terminal = pty.fork()
            if pid == 0:
                os.execv(PROGRAM, [PROGRAM, "run", "--listen", ":0", "--", sys.executable, "-c", code])
            self.read_until(terminal, b"?token=")
            end = time.monotonic() + TIMEOUT_S
            while not os.path.exists(ready) and time.monotonic() < end:
                time.sleep(0.05)
            os.write(terminal, b"\x03")
            self.read_until(terminal, None)
            _, status = os.waitpid(pid, 0)
            os.close(terminal)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            self.assertTrue(os.path.exists(mark))

    def read_until(self, terminal, text):
        """text None: until the other side is closed."""
        seen = b""
        while text is None or text not in seen:
            if not select.select([terminal], [], [], TIMEOUT_S)[0]:
                raise AssertionError("only %r" % seen)
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                return


class Completion(unittest.TestCase):
    """What bash offers for a line, the last word of which is being written."""

    def offers(self, *words):
        script = subprocess.run([PROGRAM, "--completion", "bash"], stdout=subprocess.PIPE, text=True, check=True).stdout
        ask = "COMP_WORDS=(%s); COMP_CWORD=%d; _pyrometer; printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
            " ".join("'%s'" % word for word in ("pyrometer",) + words), len(words))
        return subprocess.run(["bash", "-c", script + ask], stdout=subprocess.PIPE, text=True, check=True).stdout.split()

    def test_commands_options_formats_and_values_are_offered(self):
        self.assertEqual(self.offers("rec"), ["record"])
        self.assertEqual(self.offers("record", "--coll"), ["--collapsed"])
        self.assertEqual(self.offers("record", "1", "--speeds"), ["--speedscope"])
        self.assertEqual(self.offers("attach", "--coll"), [])
        self.assertEqual(self.offers("attach", "--mode", "g"), ["gil"])
        self.assertEqual(self.offers("record", "--sort", "cum"), ["cumtime", "cumul-pct"])
        self.assertEqual(self.offers("record", "-r", ""), [])
        self.assertIn("/etc/passwd", self.offers("record", "-o", "/etc/passw"))

    def test_every_shell_has_one(self):
        for shell in ("bash", "zsh", "fish"):
            text = subprocess.run([PROGRAM, "--completion", shell], stdout=subprocess.PIPE, text=True, check=True).stdout
            self.assertIn("chrome-trace", text)
            self.assertIn("record", text)


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "out.folded")

    def tearDown(self):
        self.folder.cleanup()

    def record(self, *words, **keywords):
        return run("record", LIVE, "-d", "100ms", *words, cwd=self.folder.name, **keywords)

    def read(self, path=None):
        with open(path or self.path) as file:
            return file.read()

    def test_writes_folded_stacks_and_a_summary(self):
        result = self.record("-o", self.path)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("tid:4711 MainThread;app.py:main:14;app.py:work:22 ", self.read())
        self.assertRegex(result.stderr, r"(?m)^pyrometer: captured \d+ samples in \d+\.\d\d s, \d+\.\d of 1000 Hz$")
        self.assertRegex(result.stderr, r"(?m)^pyrometer: exact 100\.00 %, repaired 0\.00 %, retried 0\.00 %, "
                                        r"truncated 0\.00 %, failed 0\.00 %, missed 0 of \d+ ticks$")
        share = r"\d+\.\d\d %( \(and \d+\.\d\d % unknown\))?"
        self.assertRegex(result.stderr, "(?m)^pyrometer: of the samples: GIL held %s, wanted %s, released \\d+\\.\\d\\d %%; "
                                        "collecting garbage %s; handling an exception %s$" % (share, share, share, share))
        self.assertIn("wrote %s, " % self.path, result.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["out.folded"])

    def test_anonymized_stacks_tell_no_name_of_own_code(self):
        self.assertEqual(self.record("--anonymize", "-o", self.path).returncode, 0)
        self.assertRegex(self.read(), r"tid:4711 MainThread;mod-[0-9a-f]{8}\.py:func-[0-9a-f]{8}:14;")
        self.assertNotRegex(self.read(), r"app\.py|main:|work:")

    def test_writes_one_html_file(self):
        path = os.path.join(self.folder.name, "out.html")
        self.assertEqual(self.record("-o", path).returncode, 0)
        self.assertRegex(self.read(path), r'(?s)<script type="text/plain" id="profile-data" data-view="flame">[A-Za-z0-9+/=]+</script>')

    def test_standard_output_gets_the_file_and_nothing_else(self):
        result = self.record("--collapsed", "-o", "-")
        self.assertEqual(result.returncode, 0)
        for line in result.stdout.splitlines():
            self.assertRegex(line, r"^tid:471[12] (Main)?Thread(-4712)?(;.+)? \d+$")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_several_formats_go_to_a_folder(self):
        result = self.record("--flamegraph", "--collapsed", "-o", self.folder.name)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        names = sorted(os.listdir(self.folder.name))
        self.assertRegex(" ".join(names), r"^pyrometer-%d-\S+\.folded pyrometer-%d-\S+\.html$" % (LIVE, LIVE))

    def test_a_folder_is_made(self):
        folder = os.path.join(self.folder.name, "new", "")
        self.assertEqual(self.record("--collapsed", "--pprof", "-o", folder).returncode, 0)
        self.assertEqual(len(os.listdir(folder)), 2)

    def test_the_table_goes_to_the_screen_and_the_file_to_python(self):
        result = self.record("--pstats", "-l", "2", "--no-summary")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"(?m)^ +\d+/\d+ .*app\.py:20\(work\)$")
        self.assertRegex(result.stdout, r"\.\.\. +\d+ more")
        self.assertNotIn("\x1b", result.stdout)
        self.assertEqual(os.listdir(self.folder.name), [])
        path = os.path.join(self.folder.name, "out.pstats")
        self.assertEqual(self.record("-o", path).returncode, 0)
        self.assertIn(("/srv/app.py", 20, "work"), pstats.Stats(path).stats)

    def test_each_format_may_have_a_name_of_its_own(self):
        other = os.path.join(self.folder.name, "other")
        self.assertEqual(self.record("--flamegraph=" + other, "--collapsed=" + self.path).returncode, 0)
        self.assertIn("profile-data", self.read(other))
        self.assertIn("tid:4711 MainThread;", self.read())

    def test_two_formats_cannot_share_a_file(self):
        result = self.record("--flamegraph", "--collapsed", "-o", self.path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("two formats have the same file", result.stderr)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_names_the_file_itself(self):
        self.assertEqual(self.record("--flamegraph").returncode, 0)
        self.assertRegex(" ".join(os.listdir(self.folder.name)), r"^pyrometer-%d-\d{8}-\d{6}\.html$" % LIVE)

    def test_writes_what_it_has_when_stopped(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([PROGRAM, "record", str(LIVE), "-o", self.path], stderr=subprocess.DEVNULL)
            time.sleep(0.3)
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT_S), 0)
            self.assertIn("tid:4711 MainThread;", self.read())
            os.unlink(self.path)

    def test_path_that_cannot_be_written_is_known_before_sampling(self):
        for path, text in (("/nowhere/x.folded", "No such file or directory"), ("/dev/null/x", "Not a directory")):
            began = time.monotonic()
            result = run("record", LIVE, "--collapsed", "-o", path)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr, "pyrometer: cannot write '%s': %s\n" % (path, text))
            self.assertLess(time.monotonic() - began, 10)

    def test_old_file_is_replaced_whole_and_links_are_followed(self):
        link = os.path.join(self.folder.name, "link.folded")
        with open(self.path, "w") as file:
            file.write("old\n" * 1000)
        os.symlink("out.folded", link)
        self.assertEqual(self.record("-o", link).returncode, 0)
        self.assertTrue(os.path.islink(link))
        self.assertNotIn("old", self.read())

    def test_old_file_stays_when_the_target_is_refused(self):
        with open(self.path, "w") as file:
            file.write("old\n")
        self.assertEqual(run("record", DENIED, "-o", self.path).returncode, 3)
        self.assertEqual(self.read(), "old\n")
        self.assertEqual(os.listdir(self.folder.name), ["out.folded"])

    def test_file_follows_the_mask_unless_others_must_not_see_it(self):
        self.assertEqual(self.record("-o", self.path, preexec_fn=lambda: os.umask(0o027)).returncode, 0)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600 if os.geteuid() == 0 else 0o640)

    def test_devices_are_written_in_place(self):
        self.assertEqual(self.record("--collapsed", "-o", "/dev/null").returncode, 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = self.record("--collapsed", "-o", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write '/dev/full': No space left on device", result.stderr)

    def test_nothing_captured_is_a_failure(self):
        process = subprocess.Popen([PROGRAM, "record", str(EMPTY), "-o", self.path], stderr=subprocess.PIPE, text=True)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=TIMEOUT_S)[1]
        self.assertEqual(process.returncode, 1)
        self.assertIn("pyrometer: no samples were captured\n", err)


def names():
    """All tests, as the command line names them."""
    suites = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    return [test.id().partition(".")[2] for suite in suites for test in suite]


def side_by_side(hands):
    """Most of the tests wait for something, so all are dealt out to some processes of this file."""
    every = names()
    players = [subprocess.Popen([sys.executable, __file__, PROGRAM, *every[hand::hands]], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True) for hand in range(hands)]
    failed = 0
    for player in players:
        print(player.communicate()[0], flush=True)
        failed |= player.returncode
    print("%d tests" % len(every))
    return 1 if failed or not every else 0


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) == 1:
        sys.exit(side_by_side(HANDS))
    unittest.main()
