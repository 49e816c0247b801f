"""attach: what it prints and serves, whom it answers, how it ends."""

import os
import signal
import socket
import tempfile
import time
import unittest

from commands import LIVE, NEWER, TIMEOUT_S, Started, main, run


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

    def test_says_how_a_browser_elsewhere_reaches_the_page(self):
        elsewhere = dict(os.environ, SSH_CONNECTION="192.0.2.9 5022 192.0.2.7 22")
        here = {name: value for name, value in os.environ.items() if name != "SSH_CONNECTION"}
        for env, address, words in ((elsewhere, "127.0.0.1:0", r"from another machine: ssh -N -L (\d+):127\.0\.0\.1:\1 192\.0\.2\.7, then the same URL"),
                                    (here, "127.0.0.1:0", r"from another machine: ssh -N -L (\d+):127\.0\.0\.1:\1 \S+, then the same URL"),
                                    (elsewhere, "0.0.0.0:0", r"from behind a firewall: ssh -N -L (\d+):\S+:\1 192\.0\.2\.7, "),
                                    (here, "0.0.0.0:0", None)):
            started = Started("attach", LIVE, "--listen", address, env=env)
            err = started.stop()[2]
            if words:
                self.assertRegex(err, words)
            else:
                self.assertNotIn("ssh ", err)

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
        self.assertIn("newer than the releases", started.stop()[2])

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


if __name__ == "__main__":
    main()
