"""Who may do what: shared links, scopes, and what must not get through."""

import gzip
import http.client
import json
import os
import re
import select
import shutil
import subprocess
import tempfile

from harness import WAIT_SECONDS, Live, Test, file_in, main, run_program, victim
from shares import MARK, bearer, share

LONG = "60"


class Shares(Test):
    def test_a_shared_link_only_lets_read(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            made = share(live, name="for ann", expires_in="12h")
            self.assertEqual((made["id"], made["name"], made["scope"]), (1, "for ann", "viewer"))
            self.assertRegex(made["expires_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertEqual(made["url"], "http://127.0.0.1:%d/?token=%s" % (live.port, made["token"]))
            answer = live.ask("/?v=1&token=" + made["token"], token=False)
            self.assertEqual((answer.status, answer.headers["Location"]), (303, "/?v=1"))
            cookie = answer.headers["Set-Cookie"]
            self.assertRegex(cookie, r"^pyrometer-%d-share=[0-9a-f]{64}; HttpOnly; SameSite=Lax; Path=/; Max-Age=\d+$"
                             % live.port)
            self.assertNotIn(made["token"], cookie)
            for headers in (bearer(made["token"]), {"Cookie": cookie.partition(";")[0]}):
                for path in ("/", "/api/v1/sessions", "/api/v1/sessions/1/view", "/api/v1/sessions/1/report.html"):
                    self.assertEqual(live.ask(path, headers=headers, token=False).status, 200, path)
                who = live.ask("/api/v1/access", headers=headers, token=False).json()
                self.assertEqual((who["scope"], who["share"], who["can_share"]), ("viewer", 1, False))
                for method, path in (("PATCH", "/api/v1/sessions/1"), ("POST", "/api/v1/shares"),
                                     ("GET", "/api/v1/shares"), ("DELETE", "/api/v1/shares/1")):
                    answer = live.ask(path, method, '{"state": "paused"}' if method == "PATCH" else None,
                                      dict(MARK, **headers), token=False)
                    self.assertEqual(answer.status, 403, (method, path))
                    self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
            self.assertEqual(live.session()["state"], "running")
            self.assertEqual(live.get("/access")["scope"], "operator")
            # An operator who opens the link stays one.
            both = {"Cookie": cookie.partition(";")[0], **bearer(live.token)}
            self.assertEqual(live.ask("/api/v1/access", headers=both, token=False).json()["scope"], "operator")

    def test_links_expire_and_are_revoked(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            short, long = share(live, expires_in="1s"), share(live, name="long", expires_in="never")
            self.assertIsNone(long["expires_at"])
            live.wait_session(lambda _: live.ask("/api/v1/access", headers=bearer(short["token"]),
                                                 token=False).status == 401)
            self.assertEqual(live.ask("/?token=" + short["token"], token=False).status, 401)
            listed = live.ask("/api/v1/shares").json()["shares"]
            self.assertEqual([entry["id"] for entry in listed], [long["id"]])
            self.assertNotIn("token", listed[0])
            self.assertEqual(live.ask("/api/v1/access", headers=bearer(long["token"]), token=False).status, 200)
            self.assertEqual(live.ask("/api/v1/shares/%d" % long["id"], "DELETE", None, MARK).status, 204)
            self.assertEqual(live.ask("/api/v1/access", headers=bearer(long["token"]), token=False).status, 401)
            for wrong in ("0", "x", "2", "99999999999", "-1", "1x"):
                self.assertEqual(live.ask("/api/v1/shares/" + wrong, "DELETE", None, MARK).status, 404, wrong)
            for body in ('{"expires_in": "0s"}', '{"expires_in": "367d"}', '{"expires_in": "soon"}', '{"expires_in": 5}',
                         '{"name": "%s"}' % ("x" * 81), '{"scope": "operator"}', "[]"):
                self.assertEqual(live.ask("/api/v1/shares", "POST", body, MARK).status, 400, body)

    def test_links_outlive_us_only_where_that_is_said(self):
        path = file_in("shares")
        with victim("chain.py", LONG) as target:
            with Live("attach", "--shares", path, str(target.pid)) as live:
                token = share(live, name="kept")["token"]
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            with open(path, encoding="utf-8") as file:
                self.assertNotIn(token, file.read())
            with Live("attach", "--shares", path, str(target.pid)) as live:
                self.assertEqual(live.ask("/api/v1/access", headers=bearer(token), token=False).status, 200)
            with Live("attach", str(target.pid)) as live:
                self.assertEqual(live.ask("/api/v1/access", headers=bearer(token), token=False).status, 401)


class OneSession(Test):
    """A link to a session shows that session and nothing else, whatever there is to ask."""

    # Operations that such a viewer may use; a route that is not here must be closed.
    OPEN = {"get_page", "get_manual", "get_health", "get_openapi", "list_sessions", "get_session", "get_tree", "get_view", "get_threads",
            "get_tasks", "get_timeline", "get_gil", "get_locks", "get_memory", "get_heatmap", "get_runs", "find_matches", "get_lines", "get_own_lines", "get_summary", "get_waits", "get_source",
            "get_contexts", "get_requests", "get_quality", "get_export", "get_report", "get_access", "end_access"}
    OF_SESSION = "/api/v1/sessions/{id}"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.target, cls.other = victim("chain.py", LONG), victim("threads.py", "60", "2")
        cls.live = Live("serve", "--data", cls.folder.name, "--audit", "/dev/null")
        for pid in (cls.target.pid, cls.other.pid):
            started = cls.live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [pid], "duration_s": 1}), MARK)
            assert started.status == 202, started.body
        for session in ("1", "2"):
            cls.live.wait_until(lambda at=session: cls.live.get("/sessions/" + at)["state"] == "ended")

    @classmethod
    def tearDownClass(cls):
        cls.live.__exit__(None, None, None)
        cls.target.__exit__(None, None, None)
        cls.other.__exit__(None, None, None)
        cls.folder.cleanup()

    def ask(self, headers, method, path, session, capture):
        path = path.replace("{id}", session).replace("{name}", capture).replace("{pid}", str(self.target.pid))
        query = {"export": "?format=collapsed", "source": "?function=1", "lines": "?function=1"}.get(path.rpartition("/")[2], "")
        body = b"x" if method == "PUT" else None if method in ("GET", "DELETE") else b'{"functions": []}'
        sent = dict(MARK, **headers) if method != "GET" else headers
        return self.live.ask(path + query, method, body, sent, token=False)

    def test_every_route(self):
        made = share(self.live, session="1")
        self.assertEqual((made["scope"], made["session"]), ("viewer", "1"))
        headers = bearer(made["token"])
        capture = self.live.get("/captures")["captures"][0]["name"]
        seen = set()
        for path, operations in self.live.get("/openapi.json")["paths"].items():
            for method, operation in operations.items():
                if method == "parameters":
                    continue
                name, asked = operation["operationId"], (method.upper(), path)
                seen.add(name)
                answer = self.ask(headers, *asked, "1", capture)
                if name not in self.OPEN:
                    self.assertEqual((answer.status, answer.headers["Content-Type"]), (403, "application/problem+json"), asked)
                    continue
                self.assertNotIn(answer.status, (401, 403) if name != "get_source" else (401,), (asked, answer.body))
                if path.startswith(self.OF_SESSION):
                    # Another session is as one that is not there.
                    self.assertEqual(self.ask(headers, *asked, "2", capture).status, 404, asked)
        self.assertEqual(self.OPEN - seen, set())

    def test_lists_and_comparisons(self):
        headers = bearer(share(self.live, session="2")["token"])

        def ask(path):
            return self.live.ask("/api/v1" + path, headers=headers, token=False)
        self.assertEqual([session["id"] for session in ask("/sessions").json()["sessions"]], ["2"])
        self.assertEqual({key: ask("/access").json()[key] for key in ("scope", "session", "host", "can_share")},
                         {"scope": "viewer", "session": "2", "host": False, "can_share": False})
        for path in ("/sessions/2/view", "/sessions/1/view"):  # also what was answered to others before
            self.assertEqual(self.live.ask("/api/v1" + path).status, 200)
        self.assertEqual((ask("/sessions/2/view").status, ask("/sessions/1/view").status), (200, 404))
        compared = "/sessions/%s/export?format=diff-flamegraph&baseline=%s"
        self.assertEqual(self.live.ask("/api/v1" + compared % (2, 1)).status, 200)
        self.assertEqual((ask(compared % (2, 2)).status, ask(compared % (2, 1)).status, ask(compared % (1, 2)).status),
                         (200, 400, 404))
        for path in ("/", "/api/v1/sessions/2/report.html", "/api/v1/sessions"):
            body = self.live.ask(path, headers=headers, token=False).body
            self.assertNotIn(b"chain.py", body, path)

    def test_it_ends_with_the_session_and_is_not_kept(self):
        path = file_in("one-session.shares")
        with victim("chain.py", LONG) as target:
            with Live("serve", "--no-data", "--audit", "/dev/null", "--shares", path) as live:
                started = live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [target.pid]}), MARK)
                self.assertEqual(started.status, 202, started.body)
                one, host = share(live, session="1"), share(live)
                self.assertIsNone(host["session"])
                self.assertEqual(live.ask("/api/v1/sessions/1", headers=bearer(one["token"]), token=False).status, 200)
                self.assertEqual(live.ask("/api/v1/sessions/1", "DELETE", None, MARK).status, 204)
                self.assertEqual(live.ask("/api/v1/sessions/1", headers=bearer(one["token"]), token=False).status, 404)
                self.assertEqual(live.ask("/api/v1/sessions", headers=bearer(one["token"]), token=False).json(), {"sessions": []})
                for wrong in ("9", "", "x", "1x"):
                    self.assertEqual(live.ask("/api/v1/shares", "POST", json.dumps({"session": wrong}), MARK).status, 400, wrong)
            # Session 1 of the next program is another one.
            with Live("serve", "--no-data", "--audit", "/dev/null", "--shares", path) as live:
                started = live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [target.pid]}), MARK)
                self.assertEqual(started.status, 202, started.body)
                self.assertEqual(live.ask("/api/v1/sessions/1", headers=bearer(one["token"]), token=False).status, 401)
                self.assertEqual(live.ask("/api/v1/sessions/1", headers=bearer(host["token"]), token=False).status, 200)


class Cookies(Test):
    def test_each_login_has_its_own_until_it_logs_out(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            logins = [live.ask("/?token=" + live.token, token=False).headers["Set-Cookie"] for _ in range(2)]
            self.assertNotEqual(*logins)
            cookies = [{"Cookie": login.partition(";")[0]} for login in logins]

            def status(cookie):
                return live.ask("/api/v1/access", headers=cookie, token=False).status
            self.assertEqual([status(cookie) for cookie in cookies], [200, 200])
            self.assertEqual(live.ask("/api/v1/access", "DELETE", None, cookies[0], token=False).status, 403)
            gone = live.ask("/api/v1/access", "DELETE", None, dict(MARK, **cookies[0]), token=False)
            self.assertEqual(gone.status, 204)
            self.assertRegex(gone.headers["Set-Cookie"], r"^pyrometer-%d=; .*Max-Age=0$" % live.port)
            self.assertEqual([status(cookie) for cookie in cookies], [401, 200])

    def test_the_token_reaches_curl_and_go_in_no_command_line(self):
        """The way to pprof that the README shows."""
        if not shutil.which("curl"):
            self.skipTest("no curl")
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            netrc, profile = file_in("netrc"), file_in("cpu.pb.gz")
            with open(netrc, "w", encoding="ascii") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write("machine 127.0.0.1 login token password %s\n" % live.token)
            done = subprocess.run(["curl", "-sSf", "--netrc-file", netrc, "-o", profile,
                                   "http://127.0.0.1:%d/debug/pprof/profile?seconds=1" % live.port], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=WAIT_SECONDS, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            with gzip.open(profile) as file:
                self.assertIn(b"chain.py", file.read())


def serve(*words, **options):
    return Live("serve", *words, **options)


class Served(Test):
    """A server of a host: starting through HTTP, what is written down of it, what watches it."""

    def start(self, live, headers=None, **members):
        return live.ask("/api/v1/sessions", "POST", json.dumps(dict({"duration_s": 0.2}, **members)),
                        dict(MARK, **(headers or {})), token=headers is None)

    def test_only_listed_processes_are_read(self):
        with victim("chain.py", LONG) as target:
            mine = str(os.getuid())
            for words, status in ((["--allow-user", mine], 202), (["--allow-user", "65533"], 403),
                                  (["--allow-command", "*/chain.py " + LONG], 202), (["--allow-command", "*gunicorn*"], 403),
                                  (["--allow-user", mine, "--allow-command", "*/chain.py*"], 202),
                                  (["--allow-user", "65533", "--allow-command", "*/chain.py*"], 403)):
                with serve(*words) as live:
                    self.assertEqual(self.start(live, pids=[target.pid]).status, status, words)
                    # Those that are permitted, if any.
                    self.assertEqual(self.start(live, all=True).status, 202, words)
                    pull = live.ask("/debug/pprof/profile?seconds=1&pid=%d" % target.pid) if status == 403 else None
                    self.assertEqual(pull.status if pull else 403, 403, words)
        self.assert_refused(*run_program("serve", "--allow-user", "no such user"), 2, "no such user")

    def test_audit(self):
        path = file_in("audit")
        with victim("chain.py", LONG) as target, serve("--audit", path) as live:
            made = share(live)
            self.assertEqual(self.start(live, pids=[target.pid]).status, 202)
            self.assertEqual(self.start(live, bearer(made["token"]), pids=[target.pid]).status, 403)
            self.assertEqual(live.ask("/api/v1/sessions", "POST", "{}", MARK, token=False).status, 401)
            live.wait_ended()
            self.assertEqual(live.ask("/api/v1/sessions/1/export?format=collapsed").status, 200)
            self.assertEqual(live.ask("/api/v1/sessions/1", "DELETE", None, MARK).status, 204)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            lines = [json.loads(line) for line in text.splitlines()]
            self.assertEqual([(line["action"], line["status"], line["who"], line["share"]) for line in lines],
                             [("share", 201, "operator", None), ("start", 202, "operator", None),
                              ("start", 403, "viewer", made["id"]), ("download", 200, "operator", None),
                              ("delete", 204, "operator", None)])
            self.assertTrue(all(line["address"] == "127.0.0.1" for line in lines))
            self.assertIn(str(target.pid), lines[1]["body"])
            self.assertEqual(lines[3]["format"], "collapsed")
            self.assertNotIn(live.token, text)
            self.assertNotIn(made["token"], text)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with serve() as live:
            share(live)
            live.process.wait_line(r'^\{"at":"[^"]+","action":"share","status":201', live.process.err)

    def test_what_the_command_line_does_is_audited_too(self):
        path = file_in("audit-here")
        with victim("chain.py", LONG) as target:
            process, code = run_program("record", str(target.pid), "-d", "200ms", "--collapsed", "-o", "-", "--audit", path)
            self.assertEqual(code, 0, process.output())
            with Live("attach", "--audit", path, str(target.pid)) as live:
                live.wait_samples(1)
                self.assertEqual(live.stop(), 0)
            process, code = run_program("record", "4194300", "--audit", path)
            self.assertEqual(code, 4)
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            self.assertEqual([line["action"] for line in lines], ["start", "stop", "start", "stop"])
            for line in lines:
                self.assertEqual([line[key] for key in ("who", "address", "path", "status", "share")],
                                 ["command line", "local:uid=%d" % os.getuid(), "/api/v1/sessions/1", None, None])
            self.assertEqual(json.loads(lines[0]["body"]), {"pids": [target.pid]})
            self.assertTrue(lines[1]["body"])

    def test_pprof_is_pulled(self):
        with victim("chain.py", LONG) as target, serve() as live:
            path = "/debug/pprof/profile?seconds=1&pid=%d" % target.pid
            answer = live.ask(path, headers={"Accept-Encoding": "gzip"})
            self.assertEqual((answer.status, answer.coding), (200, "identity"), answer.body[:200])
            self.assertEqual(answer.raw[:2], b"\x1f\x8b")
            self.assertIn(b"chain.py", gzip.decompress(answer.raw))
            for wrong, status in (("?pid=0", 400), ("?seconds=1", 400), ("?pid=%d&seconds=301" % target.pid, 400),
                                  ("?pid=%d&seconds=x" % target.pid, 400), ("?pid=%d&pid=%d" % (target.pid, target.pid), 400),
                                  ("?pid=%d&colour=1" % target.pid, 400), ("?pid=2147483647&seconds=1", 410)):
                self.assertEqual(live.ask("/debug/pprof/profile" + wrong).status, status, wrong)
            viewer = share(live)["token"]
            self.assertEqual(live.ask(path, headers=bearer(viewer), token=False).status, 403)
            # One too many at once gets 503, and others are answered meanwhile.
            long = "/debug/pprof/profile?seconds=300&pid=%d" % target.pid
            pulls = [http.client.HTTPConnection("127.0.0.1", live.port, timeout=WAIT_SECONDS) for _ in range(5)]
            for pull in pulls:
                pull.request("GET", long, headers=bearer(live.token))
            refused, _, _ = select.select([pull.sock for pull in pulls], [], [], WAIT_SECONDS)
            self.assertEqual(len(refused), 1, "of five, one is refused at once")
            self.assertRegex(refused[0].recv(4096), rb"^HTTP/1\.1 503 [^\0]*Retry-After: 10")
            self.assertEqual(live.ask("/healthz").status, 200)
            live.process.signal(15)
            self.assertEqual(live.process.wait(), 0, "waits for nobody")
            for pull in pulls:
                pull.close()

    def test_metrics(self):
        sample = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="[^"\\\n]*",?)*)\})? (-?[0-9.e+]+)$')
        with victim("chain.py", LONG) as target, serve() as live:
            self.assertEqual(self.start(live, pids=[target.pid]).status, 202)
            live.wait_ended()
            self.assertEqual(live.ask("/nowhere").status, 404)
            self.assertEqual(live.ask("/metrics", token=False).status, 401)
            answer = live.ask("/metrics", headers=bearer(share(live)["token"]), token=False)
            self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            kinds, values, current = {}, {}, None
            for line in answer.body.decode().splitlines():
                if line.startswith("# TYPE "):
                    _, _, current, kind = line.split(" ")
                    self.assertNotIn(current, kinds, "described twice")
                    kinds[current] = kind
                elif not line.startswith("# HELP "):
                    match = sample.match(line)
                    self.assertTrue(match, line)
                    name, labels, value = match.groups()
                    self.assertEqual(name, current, "outside its family")
                    self.assertNotIn((name, labels), values)
                    values[name, labels] = float(value)
            for name, kind in kinds.items():
                self.assertEqual(kind == "counter", name.endswith("_total"), name)
            quality = live.session()["quality"]
            for kind in ("exact", "retried", "truncated"):
                self.assertEqual(values["pyrometer_samples_total", 'session="1",kind="%s"' % kind], quality[kind])
            self.assertEqual(values["pyrometer_sessions", 'state="ended"'], 1)
            self.assertGreater(values["process_resident_memory_bytes", None], 1e6)
            self.assertEqual(values["pyrometer_http_requests_total", 'method="",route="none",code="404"'], 1)
            self.assertEqual(values["pyrometer_http_requests_total", 'method="POST",route="/api/v1/sessions",code="202"'], 1)
            self.assertNotIn(str(target.pid), answer.body.decode())


if __name__ == "__main__":
    main()
