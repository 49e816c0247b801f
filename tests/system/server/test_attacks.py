"""Attacks of a hostile client, row by row, and what it gets."""

import json
import os
import re
import socket
import tempfile

from harness import WAIT_SECONDS, Live, Test, main, victim

LONG = "120"
MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}
START = '{"pids": [1]}'
SECRET = b"this must not be shown"


class Attacks(Test):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.target = victim("chain.py", LONG)
        cls.live = Live("serve", "--data", cls.folder.name, "--audit", "/dev/null")
        started = cls.live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [cls.target.pid], "duration_s": 1}), MARK)
        assert started.status == 202, started.body
        cls.live.wait_ended()

    @classmethod
    def tearDownClass(cls):
        cls.live.__exit__(None, None, None)
        cls.target.__exit__(None, None, None)
        cls.folder.cleanup()

    def still_fine(self):
        self.assertEqual(self.live.ask("/healthz").status, 200)
        self.assertEqual(self.live.ask("/api/v1/sessions/1/view").status, 200)
        self.assertTrue(self.live.process.is_running())

    def viewer(self):
        answer = self.live.ask("/api/v1/shares", "POST", '{"expires_in": "1h"}', MARK)
        self.assertEqual(answer.status, 201)
        return answer.json()

    def refused(self, path, method="GET", body=None, headers=None, token=True, wanted=(403,)):
        answer = self.live.ask(path, method, body, headers, token)
        self.assertIn(answer.status, wanted, (method, path, headers, answer.body[:200]))
        self.assertNotIn(SECRET, answer.body)
        self.assertNotIn(b"root:x:", answer.body)
        self.assertIsNone(answer.headers.get("Access-Control-Allow-Origin"))
        return answer

    def test_from_pages_of_other_sites(self):
        port = self.live.port
        for host in ("evil.example", "127.0.0.1.nip.io", "localhost.evil.example:%d" % port, "127.1", "0x7f.1"):
            for path in ("/", "/healthz", "/metrics", "/api/v1/openapi.json", "/?token=" + self.live.token):
                self.refused(path, headers={"Host": host}, wanted=(421,))
        changes = (("POST", "/api/v1/sessions", START), ("PATCH", "/api/v1/sessions/1", '{"name": "x"}'),
                   ("DELETE", "/api/v1/sessions/1", None), ("POST", "/api/v1/shares", "{}"), ("POST", "/api/v1/captures", "{}"))
        for method, path, body in changes:
            for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
                            {"Origin": "http://127.0.0.1:%d.evil.example" % port}):
                self.refused(path, method, body, dict(MARK, **headers))
            self.refused(path, method, body, {"Content-Type": "application/json"})
            if body:
                self.refused(path, method, body, {"X-Pyrometer": "1", "Content-Type": "text/plain"}, wanted=(415,))
        preflight = self.refused("/api/v1/sessions", "OPTIONS", headers={
            "Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, wanted=(405,))
        self.assertIsNone(preflight.headers.get("Access-Control-Allow-Headers"))

    def test_with_a_cookie_that_another_page_has_sent(self):
        """A cookie goes to all ports of a host, so the page of another one has it sent, too."""
        cookie = {"Cookie": self.live.ask("/?token=" + self.live.token, token=False).headers["Set-Cookie"].partition(";")[0]}
        foreign = [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {}, {"Referer": "http://127.0.0.1:1/"},
                   {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-User": "?1"},
                   {"Sec-Fetch-Site": "none", "Sec-Purpose": "prefetch"}]
        own = [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"X-Pyrometer": "1"}]
        for path in ("/debug/pprof/profile?seconds=1&pid=%d" % self.target.pid, "/api/v1/processes/%d/dump" % self.target.pid,
                     "/api/v1/sessions/1/source?function=1"):
            for headers in foreign:
                for method in ("GET", "HEAD"):
                    self.refused(path, method, headers=dict(cookie, **headers), token=False)
            for headers in own[:1] if "pprof" in path else own:
                answer = self.live.ask(path, headers=dict(cookie, **headers), token=False)
                self.assertIn(answer.status, (200, 404, 410), (path, headers, answer.body))
        for path in ("/", "/api/v1/sessions", "/api/v1/sessions/1/report.html"):
            self.assertEqual(self.live.ask(path, headers=dict(cookie, **foreign[4]), token=False).status, 200)

    def test_with_wrong_expired_and_revoked_tokens(self):
        made = self.viewer()
        self.assertEqual(self.live.ask("/api/v1/shares/%d" % made["id"], "DELETE", None, MARK).status, 204)
        expired = self.live.ask("/api/v1/shares", "POST", '{"expires_in": "1s"}', MARK).json()["token"]
        self.live.wait_until(lambda: self.live.ask("/api/v1/access", headers={"Authorization": "Bearer " + expired},
                                                   token=False).status == 401)
        for token in ("", "0" * 64, self.live.token[:-1], self.live.token + "0", self.live.token.upper() + "G", made["token"],
                      expired, "x" * 4000):
            self.refused("/api/v1/sessions", headers={"Authorization": "Bearer " + token}, token=False, wanted=(401,))
            self.refused("/?token=" + token[:2000], token=False, wanted=(401,))
            self.refused("/", headers={"Cookie": "pyrometer-%d=%s; pyrometer-%d-share=%s" % (
                self.live.port, token, self.live.port, token)}, token=False, wanted=(401,))

    def test_as_a_viewer(self):
        headers = {"Authorization": "Bearer " + self.viewer()["token"]}
        for method, path, body in (("POST", "/api/v1/sessions", START), ("PATCH", "/api/v1/sessions/1", '{"state": "ended"}'),
                                   ("DELETE", "/api/v1/sessions/1", None), ("POST", "/api/v1/shares", "{}"),
                                   ("DELETE", "/api/v1/shares/1", None), ("POST", "/api/v1/captures", '{"name": "x"}'),
                                   ("DELETE", "/api/v1/captures/x", None), ("GET", "/api/v1/shares", None),
                                   ("GET", "/debug/pprof/profile?seconds=1", None),
                                   ("GET", "/api/v1/processes/%d/dump" % self.target.pid, None)):
            self.refused(path, method, body, dict(MARK, **headers), token=False)

    def test_to_reach_other_files(self):
        secret = os.path.join(self.folder.name, "..", os.path.basename(self.folder.name) + ".secret")
        with open(secret, "wb") as file:
            file.write(SECRET)
        self.addCleanup(os.unlink, secret)
        os.symlink(secret, os.path.join(self.folder.name, "20260101-000000-1-abcd.pyro"))
        names = ["20260101-000000-1-abcd", "..%2f" + os.path.basename(secret)[:-7], "..", "%2e%2e", "..%2f..%2fetc%2fpasswd",
                 "%2fetc%2fpasswd", "..%5c..%5cetc", "x%00", "%ff%fe", "a" * 300]
        for name in names:
            for path in ("/api/v1/captures/%s", "/api/v1/captures/%s/file", "/api/v1/sessions/%s/view"):
                self.refused(path % name, wanted=(400, 404))
            self.refused("/api/v1/captures/" + name, "DELETE", None, MARK, wanted=(400, 404))
            # A capture that opens can only be reported as a session that has failed.
            opened = self.live.ask("/api/v1/captures", "POST", json.dumps({"name": name}), MARK)
            self.assertIn(opened.status, (400, 404), name)
        self.assertTrue(os.path.exists(secret))
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/v1/../../etc/passwd", "/etc/passwd"):
            self.refused(path, wanted=(400, 404))
        for function in ("0", "-1", "99999999", "../../etc/passwd", "%2fetc%2fpasswd", "1&function=2"):
            self.refused("/api/v1/sessions/1/source?function=" + function, wanted=(400, 404))
        self.still_fine()

    def raw(self, data, end=True):
        """All that comes back for these bytes. Where they are no whole request the server waits, and we need not."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.live.port), WAIT_SECONDS) as connection:
            try:
                connection.sendall(data)
                if end:
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(0.5)
                while True:
                    more = connection.recv(65536)
                    if not more:
                        return answer
                    answer += more
            except OSError:  # it has had enough, or wants more
                return answer

    def test_with_requests_that_are_none(self):
        line, host = b"GET /healthz HTTP/1.1\r\n", b"Host: localhost\r\n"
        bearer = b"Authorization: Bearer %s\r\n" % self.live.token.encode()
        change = b"PATCH /api/v1/sessions/1 HTTP/1.1\r\n" + host + bearer + b"X-Pyrometer: 1\r\nContent-Type: application/json\r\n"
        rows = {
            "no host": line + b"\r\n",
            "two hosts": line + host + host + b"\r\n",
            "a header flood": line + host + b"".join(b"X-%d: y\r\n" % i for i in range(500)) + b"\r\n",
            "a huge header": line + host + b"X: " + b"y" * 100000 + b"\r\n\r\n",
            "a huge target": b"GET /" + b"y" * 8000 + b" HTTP/1.1\r\n" + host + b"\r\n",
            "a huge query": b"GET /?" + b"a=b&" * 900 + b" HTTP/1.1\r\n" + host + b"\r\n",
            "an unknown method": b"BREW / HTTP/1.1\r\n" + host + bearer + b"\r\n",
            "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\n" + host + bearer + b"\r\n",
            "a trace": b"TRACE / HTTP/1.1\r\n" + host + bearer + b"\r\n",
            "a body that is too large": change + b"Content-Length: 99999999999\r\n\r\n{}",
            "a length that is none": change + b"Content-Length: -1\r\n\r\n{}",
            "two lengths": change + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
            "smuggling": change + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "a chunk without end": change + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
            "deep JSON": change + b"Content-Length: 60000\r\n\r\n" + b"[" * 60000,
            "JSON with a zero": change + b"Content-Length: 15\r\n\r\n{\"name\": \"a\x00b\"",
            "TLS where there is none": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(600),
            "nothing": b"",
            "noise": bytes(range(256)) * 40,
        }
        for name, data in rows.items():
            answer = self.raw(data)
            statuses = [int(status) for status in re.findall(rb"^HTTP/1\.[01] (\d+)", answer, re.MULTILINE)]
            self.assertTrue(all(400 <= status < 600 for status in statuses), (name, answer[:300]))
        self.assertEqual(self.live.session()["name"], "")
        self.still_fine()

    def test_with_numbers_that_are_none(self):
        one = "/api/v1/sessions/1/"
        for query in ("view?from=-1", "view?from=1e999", "view?from=nan", "view?to=inf", "view?from=5&to=1",
                      "view?since=18446744073709551616", "view?thread=-1", "view?thread=99999999999", "timeline?slots=0",
                      "timeline?slots=999999999", "tree?since=1.5", "heatmap?from=x", "gil?from=x", "gil?thread=-1", "view?%00=1", "view?from=1&from=2",
                      "view?state=everything", "export?format=%2e%2e", "export?format=collapsed&ignore=" + "x" * 3000):
            answer = self.live.ask(one + query)
            self.assertIn(answer.status, (200, 400) if "ignore" in query or "99999" in query else (400,), query)
        for query in ("view?from=0&to=99999999999", "view?from=99999999", "heatmap?from=99999999", "timeline?from=0&to=1e15"):
            answer = self.live.ask(one + query)
            self.assertIn(answer.status, (200, 400), query)
            self.assertLess(len(answer.body), 200000, query)
        ranged = self.live.ask(one + "report.html", headers={"Range": "bytes=0-0,1-1,2-2,-99999999999999999999"})
        self.assertIn(ranged.status, (200, 416))
        self.still_fine()

    def test_by_being_slow(self):
        """Half requests, unread answers and idle connections hold nobody else up."""
        held = []
        self.addCleanup(lambda: [connection.close() for connection in held])
        bearer = b"Authorization: Bearer %s\r\n" % self.live.token.encode()
        beginnings = [b"", b"G", b"GET / HTTP/1.1\r\nHo", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
                      b"PATCH /api/v1/sessions/1 HTTP/1.1\r\nHost: localhost\r\n" + bearer + b"Content-Length: 60000\r\n\r\n{",
                      b"GET /api/v1/sessions/1/report.html HTTP/1.1\r\nHost: localhost\r\n" + bearer + b"\r\n"]
        for i in range(60):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.settimeout(WAIT_SECONDS)
            connection.connect(("127.0.0.1", self.live.port))
            connection.sendall(beginnings[i % len(beginnings)])
            held.append(connection)
        for _ in range(5):
            self.still_fine()

    def test_with_more_connections_than_strangers_may_have(self):
        held = []
        self.addCleanup(lambda: [connection.close() for connection in held])
        for _ in range(450):
            held.append(socket.create_connection(("127.0.0.1", self.live.port), WAIT_SECONDS))
        self.still_fine()
        # The first had to go for the last.
        held[0].settimeout(WAIT_SECONDS)
        self.assertEqual(held[0].recv(1), b"")
        held[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        held[-1].settimeout(WAIT_SECONDS)
        self.assertTrue(held[-1].recv(100).startswith(b"HTTP/1.1 200"))

    def test_with_requests_in_a_row(self):
        """Pipelined requests are answered in their order, each by its own right."""
        bearer = b"Authorization: Bearer %s\r\n" % self.live.token.encode()
        ask = b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
        parts = [ask % (b"/api/v1/sessions/1", extra) for extra in (bearer, b"")] * 10
        answer = self.raw(b"".join(parts) + ask % (b"/healthz", b"Connection: close\r\n"), end=False)
        self.assertEqual([int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answer)], [200, 401] * 10 + [200])


if __name__ == "__main__":
    main()
