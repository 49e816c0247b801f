"""The HTTP interface of a session that is alive: who may, what is sent, and that the numbers add up."""

import base64
import gzip
import json
import os
import re
import time
import urllib.request

from folded import parse_folded
from harness import SLOWNESS, VICTIMS, WAIT_SECONDS, Live, Test, main, program, victim

LONG = "60"


def embedded_text(page):
    return re.search(r'<script type="text/plain" id="profile-data" data-view="\w+">([^<]*)</script>', page).group(1)


def embedded_profile(page):
    return json.loads(gzip.decompress(base64.b64decode(embedded_text(page))))



class Client:
    """A page's work: it holds the tables, and adds what came since to what it has."""

    def __init__(self, live, query=""):
        self.live, self.query = live, query
        self.tree_generation = self.view_generation = 0
        self.epoch = None
        self.strings, self.functions, self.nodes, self.threads, self.processes = [], [], [], [], []
        self.self_samples = {}
        self.total = 0

    def _extend(self, rows, table, columns):
        assert table["first"] == len(rows), "a table that has %d rows goes on at %d" % (len(rows), table["first"])
        lengths = {len(table[column]) for column in columns}
        assert len(lengths) == 1, "columns of unequal length: %r" % lengths
        rows.extend(zip(*(table[column] for column in columns)))

    def pull_tree(self):
        tree = self.live.get("/sessions/1/tree?since=%d" % self.tree_generation)
        assert tree["since"] == self.tree_generation and tree["generation"] >= self.tree_generation
        assert self.epoch in (None, tree["epoch"])
        self.epoch, self.tree_generation = tree["epoch"], tree["generation"]
        assert tree["strings"]["first"] == len(self.strings)
        self.strings.extend(tree["strings"]["values"])
        self._extend(self.functions, tree["functions"], ["name", "file", "line"])
        self._extend(self.nodes, tree["nodes"], ["parent", "function", "line"])
        self._extend(self.threads, tree["threads"], ["process", "tid", "name", "main"])
        self._extend(self.processes, tree["processes"], ["pid", "name"])

    def pull_view(self):
        view = self.live.get("/sessions/1/view?since=%d%s" % (self.view_generation, self.query))
        assert view["since"] == self.view_generation and view["epoch"] in (None, self.epoch)
        assert view["node"] == sorted(set(view["node"])), "nodes are not sorted"
        assert len(view["node"]) == len(view["self"]) and view["total"] == sum(view["self"])
        self.view_generation = view["generation"]
        for node, count in zip(view["node"], view["self"]):
            assert count > 0
            self.self_samples[node] = self.self_samples.get(node, 0) + count
        self.total += view["total"]
        while self.tree_generation < self.view_generation:
            self.pull_tree()
        return view

    def pull(self):
        self.pull_tree()
        return self.pull_view()


def full_view(live, query=""):
    return live.get("/sessions/1/view" + ("?" + query if query else ""))


class Access(Test):
    def test_the_token_becomes_a_cookie(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            self.assertRegex(live.url, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{64}$")
            answer = live.ask("/?token=" + live.token, token=False)
            self.assertEqual((answer.status, answer.headers["Location"]), (303, "/"))
            cookie = answer.headers["Set-Cookie"]
            self.assertRegex(cookie, r"^pyrometer-%d=[0-9a-f]{64}; HttpOnly; SameSite=\w+; Path=/$" % live.port)
            self.assertNotIn(live.token, cookie)
            sent = {"Cookie": cookie.partition(";")[0]}
            page = live.ask("/", headers=sent, token=False)
            self.assertEqual(page.status, 200)
            self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
            self.assertNotIn(live.token.encode(), page.body)
            manual = live.ask("/manual", headers=sent, token=False)
            self.assertEqual((manual.status, manual.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            self.assertIn(b'<section id="recipes">', manual.body)
            self.assertNotEqual(manual.headers["Content-Security-Policy"], page.headers["Content-Security-Policy"])
            self.assertEqual(live.ask("/api/v1/sessions", headers=sent, token=False).status, 200)

    def test_nobody_gets_in_without(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            paths = ["/", "/manual", "/api/v1/sessions", "/api/v1/sessions/1", "/api/v1/sessions/1/tree", "/api/v1/sessions/1/view",
                     "/api/v1/sessions/1/export?format=collapsed", "/api/v1/sessions/1/report.html", "/nothing"]
            for path in paths:
                wrong = [{}, {"Authorization": "Bearer " + "0" * 64}, {"Authorization": "Bearer " + live.token[:-1]},
                         {"Authorization": "Basic " + live.token}, {"Cookie": "pyrometer-%d=%s" % (live.port, live.token)}]
                for headers in wrong:
                    answer = live.ask(path, headers=headers, token=False)
                    self.assertEqual(answer.status, 401, path)
                    self.assertNotIn("Set-Cookie", answer.headers)
            self.assertEqual(live.ask("/?token=" + "0" * 64, token=False).status, 401)
            # The token is no more than the way in at the front door.
            self.assertEqual(live.ask("/api/v1/sessions?token=" + live.token, token=False).status, 401)
            problem = live.ask("/api/v1/sessions", token=False)
            self.assertEqual(problem.headers["Content-Type"], "application/problem+json")
            self.assertEqual(problem.json()["status"], 401)
            self.assertEqual(live.ask("/healthz", token=False).status, 200)

    def test_another_name_in_host_is_refused_first(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            for host in ("evil.example", "evil.example:%d" % live.port, "127.0.0.1.evil.example", "localhost.evil.example"):
                for token in (True, False):
                    self.assertEqual(live.ask("/api/v1/sessions", headers={"Host": host}, token=token).status, 421, host)
            for host in ("localhost:%d" % live.port, "127.0.0.1:%d" % live.port):
                self.assertEqual(live.ask("/api/v1/sessions", headers={"Host": host}).status, 200, host)

    def test_changes_need_more_than_a_cookie(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            fine = {"X-Pyrometer": "1", "Content-Type": "application/json"}
            body = '{"state": "paused"}'
            for headers, status in (({"Content-Type": "application/json"}, 403),
                                    (dict(fine, Origin="http://evil.example"), 403),
                                    ({"X-Pyrometer": "1", "Content-Type": "text/plain"}, 415)):
                self.assertEqual(live.ask("/api/v1/sessions/1", "PATCH", body, headers).status, status)
            for wrong in ("{", "[]", '{"state": 1}', '{"state": "frozen"}', '{"colour": "red"}', "\0"):
                self.assertEqual(live.ask("/api/v1/sessions/1", "PATCH", wrong, fine).status, 400, wrong)
            self.assertEqual(live.session()["state"], "running")
            own = dict(fine, Origin="http://127.0.0.1:%d" % live.port)
            self.assertEqual(live.ask("/api/v1/sessions/1", "PATCH", body, own).status, 200)

    def test_no_token_if_the_user_says_so(self):
        with victim("chain.py", LONG) as target:
            with program("attach", "--no-token", "--listen", "127.0.0.1:0", str(target.pid)) as process:
                url = process.wait_line(r"^(http://127\.0\.0\.1:(\d+)/)$").group(1)
                with urllib.request.urlopen(url + "api/v1/sessions", timeout=WAIT_SECONDS) as answer:
                    self.assertEqual(answer.status, 200)


class Answers(Test):
    def test_problems(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            wrong = {"/sessions/2": 404, "/sessions/1/nothing": 404, "/nothing": 404, "/sessions//tree": 404,
                     "/sessions/1/tree?since=-1": 400, "/sessions/1/tree?since=x": 400, "/sessions/1/tree?sinse=1": 400,
                     "/sessions/1/view?thread=x": 400, "/sessions/1/view?from=nan": 400, "/sessions/1/view?from=2&to=1": 400,
                     "/sessions/1/view?since=1&since=2": 400, "/sessions/1/export": 400,
                     "/sessions/1/export?format=pdf": 400, "/sessions/1/view?since=99999999999999999999": 400}
            for path, status in wrong.items():
                answer = live.ask("/api/v1" + path)
                self.assertEqual(answer.status, status, path)
                self.assertEqual(answer.headers["Content-Type"], "application/problem+json", path)
                self.assertEqual(answer.json()["status"], status, path)
            for method in ("POST", "PUT"):
                self.assertEqual(live.ask("/api/v1/sessions/1", method, "", {"X-Pyrometer": "1"}).status, 405, method)

    def test_compressed_and_plain_are_the_same(self):
        with victim("hostile.py", LONG) as target, Live("attach", "-a", "-d", "1", str(target.pid)) as live:
            live.wait_ended()
            for path in ("/", "/api/v1/sessions/1/tree", "/api/v1/sessions/1/view", "/api/v1/sessions/1",
                         "/api/v1/sessions/1/export?format=collapsed", "/api/v1/sessions/1/report.html"):
                plain = live.ask(path)
                self.assertEqual((plain.status, plain.coding), (200, "identity"), path)
                self.assertEqual(plain.headers["Vary"], "Accept-Encoding")
                for accept, coding in (("gzip", "gzip"), ("zstd", "zstd"), ("gzip, deflate, br, zstd", "zstd"),
                                       ("gzip, deflate", "gzip"), ("zstd;q=0, gzip;q=0.5", "gzip"), ("br", "identity")):
                    answer = live.ask(path, headers={"Accept-Encoding": accept})
                    # The program holds the page as gzip has made it, and plain: to send it costs the same for everybody.
                    if path == "/":
                        coding = "gzip" if "gzip" in accept else "identity"
                    # A short body is not worth it.
                    self.assertIn(answer.coding, (coding, "identity") if len(plain.body) < 4096 else (coding,), path)
                    if not path.endswith("report.html"):
                        self.assertEqual(answer.body, plain.body, path)
                    self.assertLessEqual(len(answer.raw), len(answer.body))

    def test_what_has_not_changed_is_not_sent_again(self):
        with victim("chain.py", LONG) as target, Live("attach", "-d", "1", str(target.pid)) as live:
            live.wait_ended()
            for path in ("/", "/api/v1/sessions", "/api/v1/sessions/1/tree", "/api/v1/sessions/1/view",
                         "/api/v1/sessions/1/tree?since=1", "/api/v1/sessions/1/export?format=collapsed"):
                for accept in ("identity", "gzip", "zstd"):
                    tag = live.ask(path, headers={"Accept-Encoding": accept}).headers["ETag"]
                    for known in (tag, "W/" + tag, '"other", ' + tag, "*"):
                        answer = live.ask(path, headers={"Accept-Encoding": accept, "If-None-Match": known})
                        self.assertEqual((answer.status, answer.raw), (304, b""), path)
                        self.assertEqual(answer.headers["ETag"], tag)
                    answer = live.ask(path, headers={"Accept-Encoding": accept, "If-None-Match": '"other"'})
                    self.assertEqual(answer.status, 200)

    def test_what_has_changed_is_sent_again(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            live.wait_samples(100)
            tag = live.ask("/api/v1/sessions/1/view").headers["ETag"]
            live.wait_samples(live.session()["quality"]["samples"] + 1500)
            self.assertEqual(live.ask("/api/v1/sessions/1/view", headers={"If-None-Match": tag}).status, 200)

    def test_head_is_get_without_a_body(self):
        with victim("chain.py", LONG) as target, Live("attach", "-d", "1", str(target.pid)) as live:
            live.wait_ended()
            for path in ("/", "/api/v1/sessions/1/tree"):
                head, get = live.ask(path, "HEAD"), live.ask(path)
                self.assertEqual((head.status, head.raw), (200, b""))
                self.assertEqual(head.headers["ETag"], get.headers["ETag"])
                self.assertEqual(int(head.headers["Content-Length"]), len(get.raw))

    def test_reports_come_as_files(self):
        with victim("chain.py", LONG) as target, Live("attach", "-d", "1", str(target.pid)) as live:
            live.wait_ended()
            for path, mime, extension in (("export?format=collapsed", "text/plain", ".folded"),
                                          ("export?format=flamegraph", "text/html", ".html"),
                                          ("report.html", "text/html", ".html")):
                answer = live.ask("/api/v1/sessions/1/" + path)
                self.assertEqual(answer.status, 200)
                self.assertTrue(answer.headers["Content-Type"].startswith(mime), path)
                self.assertRegex(answer.headers["Content-Disposition"],
                                 r'^attachment; filename="[\w.-]+%s"$' % re.escape(extension))


    def test_source_lines_are_shown_unless_they_are_to_be_left_out(self):
        path = os.path.join(VICTIMS, "chain.py")
        with open(path, encoding="utf-8") as file:
            line = next(line.strip() for line in file if line.startswith("def "))
        for options, shown in (([], True), (["--no-source"], False)):
            with victim("chain.py", LONG) as target, Live("attach", "-d", "1", *options, str(target.pid)) as live:
                live.wait_ended()
                page = embedded_profile(live.ask("/api/v1/sessions/1/export?format=heatmap").body.decode("utf-8"))
                self.assertTrue(any(text.endswith("/victims/chain.py") for text in page["tree"]["strings"]["values"]))
                self.assertEqual(any(line in source.get("text", "") for source in page.get("sources", [])), shown, options)


class Numbers(Test):
    def check_quality(self, session):
        quality = session["quality"]
        certain = sum(quality[kind] for kind in ("exact", "retried", "truncated"))
        self.assertEqual(certain, quality["samples"], quality)
        self.assertGreaterEqual(quality["samples"], 0)
        self.assertEqual(quality["requested_hz"], session["settings"]["rate_hz"])
        self.assertLessEqual(quality["achieved_hz"], quality["requested_hz"] * 1.5)
        self.assertTrue(all(count >= 0 for count in quality["failed"].values()))

    def test_what_came_since_adds_up(self):
        """Tree and view in pieces, while the target runs and grows new functions, are the whole at the end."""
        with victim("codechurn.py", LONG) as target, Live("attach", "-r", "2khz", "-a", str(target.pid)) as live:
            client = Client(live)
            deltas = 0
            end = time.monotonic() + 6
            while time.monotonic() < end:
                deltas += client.pull()["total"] > 0
                self.check_quality(live.session())
                time.sleep(0.25)
            self.assertGreaterEqual(deltas, 3)
            live.change(state="ended")
            session = live.wait_ended()
            client.pull()
            self.assert_whole(live, client, session)

    def assert_whole(self, live, client, session):
        whole = Client(live)
        whole.pull()
        for name in ("strings", "functions", "nodes", "threads", "processes"):
            self.assertEqual(getattr(client, name), getattr(whole, name), name)
        self.assertEqual(client.self_samples, whole.self_samples)
        self.assertEqual(client.total, whole.total)
        self.assertEqual(whole.total, session["quality"]["samples"])
        self.check_quality(session)

    def check_tables(self, client):
        self.assertEqual(client.strings[0], "")
        self.assertEqual(client.nodes[0][:2], (0, 0))
        self.assertEqual(client.strings[client.functions[0][0]], "")
        for name, file, line in client.functions:
            self.assertTrue(0 <= name < len(client.strings) and 0 <= file < len(client.strings) and line >= 0)
        for node, (parent, function, line) in enumerate(client.nodes[1:], 1):
            self.assertTrue(0 <= parent < node and 0 < function < len(client.functions) and line >= 0)
        for process, tid, name, is_main in client.threads:
            self.assertTrue(0 <= process < len(client.processes) and 0 <= name < len(client.strings))
            self.assertTrue(tid > 0 and is_main in (0, 1))
        for node in client.self_samples:
            self.assertTrue(0 < node < len(client.nodes))

    def test_every_node_named_has_its_rows(self):
        with victim("classes.py", LONG) as target, Live("attach", "-r", "2khz", "-a", str(target.pid)) as live:
            client = Client(live)
            live.wait_samples(1)
            for _ in range(8):
                client.pull()
                self.check_tables(client)
                time.sleep(0.25)
            names = {client.strings[client.functions[client.nodes[node][1]][0]] for node in client.self_samples}
            self.assertIn("spin", names)

    def test_threads_add_up_to_all(self):
        with victim("threads.py", "4", LONG) as target, Live("attach", "-a", "-d", "2", str(target.pid)) as live:
            session = live.wait_ended()
            client = Client(live)
            client.pull()
            added, total = {}, 0
            for thread in range(len(client.threads)):
                view = full_view(live, "thread=%d" % thread)
                self.assertEqual(view["total"], sum(view["self"]))
                total += view["total"]
                for node, count in zip(view["node"], view["self"]):
                    added[node] = added.get(node, 0) + count
            self.assertEqual((added, total), (client.self_samples, session["quality"]["samples"]))
            both = full_view(live, "thread=0&thread=1")
            self.assertEqual(both["total"], sum(full_view(live, "thread=%d" % thread)["total"] for thread in (0, 1)))
            self.assertEqual(full_view(live, "process=0")["total"], total)
            self.assertEqual(full_view(live, "thread=4000000000")["total"], 0)
            self.assertEqual(len({tid for _, tid, _, _ in client.threads}), 5)

    def test_ranges_of_time_add_up(self):
        with victim("chain.py", LONG) as target, Live("attach", "-d", "3", str(target.pid)) as live:
            session = live.wait_ended()
            self.assertEqual(full_view(live, "from=0")["total"], session["quality"]["samples"])
            early, late = full_view(live, "to=1.5")["total"], full_view(live, "from=1.5")["total"]
            self.assertEqual(early + late, session["quality"]["samples"])
            self.assertEqual(full_view(live, "from=1000")["total"], 0)

    def test_the_export_says_the_same(self):
        with victim("generators.py", LONG) as target, Live("attach", "-a", "-d", "1", str(target.pid)) as live:
            session = live.wait_ended()
            folded = parse_folded(live.ask("/api/v1/sessions/1/export?format=collapsed").body.decode("utf-8"))
            self.assertEqual(sum(stack.count for stack in folded), session["quality"]["samples"])
            self.assertEqual({stack.tid for stack in folded}, {target.pid})

    def test_the_session_says_who_it_is(self):
        with victim("chain.py", LONG) as target, Live("attach", "-r", "100", str(target.pid)) as live:
            session = live.wait_samples(10)
            self.assertEqual(live.get("/sessions")["sessions"][0]["id"], session["id"])
            self.assertEqual((session["state"], session["reason"], session["ended_at"]), ("running", None, None))
            self.assertEqual(session["target"]["pid"], target.pid)
            self.assertEqual(session["target"]["command"][1:], [os.path.join(VICTIMS, "chain.py"), LONG])
            self.assertRegex(session["target"]["python"], r"^3\.\d+\.\d+")
            self.assertTrue(session["target"]["validated"])
            for setting, value in (("rate_hz", 100), ("duration_s", None), ("threads", "all"), ("mode", "wall")):
                self.assertEqual(session["settings"][setting], value, setting)
            self.assertRegex(session["started_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertRegex(session["epoch"], r"^[0-9a-f]{16}$")


class HostileNames(Test):
    def test_they_come_through_as_text(self):
        with victim("hostile.py", LONG) as target, Live("attach", "-a", "-d", str(2 * SLOWNESS), str(target.pid)) as live:
            live.wait_ended()
            raw = live.ask("/api/v1/sessions/1/tree").body.decode("utf-8")
            # Line separators would end a line for JavaScript, raw controls end JSON.
            self.assertIsNone(re.search("[\x00-\x1f\x7f\u2028\u2029]", raw))
            client = Client(live)
            client.pull()
            names = {client.strings[name] for name, _, _ in client.functions}
            for name in ("</script><img src=x onerror=alert(1)>", "<b>&amp;\"'`", "__proto__", "constructor", "nul\0inside",
                         "\U0001f525 emoji", "space and;semicolon", "line\nbreak\ttab\x1b[31m", "%s%n%d", "../../etc/passwd"):
                self.assertIn(name, names)
            self.assertTrue(any(name.startswith("lone") and name.endswith("surrogate\ufffd") for name in names))
            longest = max(names, key=len)
            self.assertTrue(longest.startswith("x" * 1000) and len(longest) <= 100001)

    def test_they_cannot_leave_their_place_in_a_report(self):
        with victim("hostile.py", LONG) as target, Live("attach", "-a", "-d", "1", str(target.pid)) as live:
            live.wait_ended()
            page = live.ask("/api/v1/sessions/1/report.html").body.decode("utf-8")
            self.assertNotIn("onerror=alert", page)
            self.assertRegex(embedded_text(page), r"^[A-Za-z0-9+/=\s]+$")

    def test_a_hostile_command_line(self):
        words = ["</script><b>", "\u202e", "a\nb", "\x1b[31m"]
        with victim("chain.py", LONG, *words) as target, Live("attach", str(target.pid)) as live:
            self.assertEqual(live.session()["target"]["command"][-4:], words)
            self.assertFalse(any("\x1b" in line for line in live.process.err))


if __name__ == "__main__":
    main()
