"""The text of source files: whose files are shown, and what a hostile program cannot get shown."""

import base64
import gzip
import json
import os
import pstats
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

from harness import PROGRAM, ROOT, WAIT_SECONDS, Live, Process, file_in, main, newest_python, processes_of, victim, wait_gone
from users import CAPABILITIES, NOBODY, UsersTest, as_user

MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}
# Nothing of this machine has it: our own source, which is sampled with all others, neither.
SECRET = "only root may know " + os.urandom(8).hex()
OTHER = 54321

# A program that says it runs in a file that it has never had open: argv[1] the file, argv[2:] what to do before.
LEAK = """
import os, sys
path, words = sys.argv[1], sys.argv[2:]
text = "def leak():\\n while True: sum(range(1000))\\nleak()"
if "drop" in words:  # later, on a line of input
    exec(compile("def wait():\\n  print('READY', flush=True)\\n  sys.stdin.readline()\\nwait()", __file__, "exec"))
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    print("DROPPED", flush=True)
else:
    print("READY", flush=True)
exec(compile(text, path, "exec"))
"""


def unpacked(page):
    """A page and what is compressed inside it."""
    packed = re.findall(rb"H4sI[A-Za-z0-9+/]+=*", page)
    return b"\n".join([page] + [gzip.decompress(base64.b64decode(part)) for part in packed])


def as_service(uid=OTHER):
    return as_user(uid, *CAPABILITIES)


class Source(UsersTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.secret = cls.put("secret.py", "# %s\n" % SECRET * 5, 0o600)
        cls.leak = cls.put("leak.py", LEAK)

    def leaking(self, uid, path=None, *words, **options):
        """A program of that user that says it runs in the secret file."""
        return victim(self.leak, path or self.secret, *words, python=newest_python(), preexec_fn=as_user(uid), **options)

    def functions(self, live, session="1"):
        """name -> function, of those with a file."""
        tree = live.get("/sessions/%s/tree" % session)
        strings, functions = tree["strings"]["values"], tree["functions"]
        return {strings[name]: number for number, name in enumerate(functions["name"])}

    def source(self, live, name, session="1", impatient=False):
        """The answer of /source for a function, once that has been seen; a machine that is busy may have no time for it at first."""
        live.wait_until(lambda: name in self.functions(live, session))
        path = "/api/v1/sessions/%s/source?function=%d" % (session, self.functions(live, session)[name])
        end = time.monotonic() + WAIT_SECONDS
        while True:
            answer = live.ask(path)
            if answer.status != 503 or impatient or time.monotonic() > end:
                return answer
            time.sleep(0.5)

    def assert_no_secret(self, body, what=""):
        self.assertFalse(SECRET.encode() in unpacked(body), what)

    def assert_has(self, text, body, what=""):
        self.assertTrue(text.encode() in unpacked(body), what)

    def assert_nowhere(self, live, session="1"):
        """The secret is in nothing that a session gives out; everything is asked twice, as texts are fetched meanwhile."""
        live.wait_until(lambda: "leak" in self.functions(live, session))
        for wait in (0, 1.5):
            time.sleep(wait)
            answer = self.source(live, "leak", session)
            self.assertIn(answer.status, (403, 404, 410), answer.body[:300])
            self.assert_no_secret(answer.body)
            for path in ("report.html", "export?format=flamegraph", "export?format=heatmap", "export?format=heatmap&show=leak",
                         "export?format=jsonl"):
                answer = live.ask("/api/v1/sessions/%s/%s" % (session, path))
                if "show=" not in path:
                    self.assertEqual(answer.status, 200, path)
                self.assert_no_secret(answer.body, path)
                if path in ("report.html", "export?format=flamegraph"):
                    self.assert_has('"strings"', answer.body, path)

    def record(self, *words, **options):
        out = file_in("source.html")
        with Process([PROGRAM, "record", "-d", "2", *words, "-o", out], **options) as process:
            self.assertEqual(process.wait(), 0, process.output())
        with open(out, "rb") as file:
            return file.read()


class Archives(Source):
    """Modules of a zip file, as zipapp makes programs; nothing is unpacked."""
    MODULE = "def zipped_work():\n    while True: sum(range(1000))\n"

    @classmethod
    def archive(cls, name, method, mode=0o644, module=MODULE):
        path = os.path.join(cls.folder, name)
        with open(path, "wb") as file:
            file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(path, "a", method) as file:
            file.writestr("__main__.py", "print('READY', flush=True)\nimport pkg.mod\npkg.mod.zipped_work()\n")
            file.writestr("pkg/__init__.py", "")
            file.writestr("pkg/mod.py", module)
        os.chmod(path, mode)
        return path

    def test_modules_of_a_zipapp_have_source(self):
        for name, method in (("stored.pyz", zipfile.ZIP_STORED), ("deflated.pyz", zipfile.ZIP_DEFLATED)):
            path = self.archive(name, method)
            with self.subTest(name), victim(path, python=newest_python()) as target, Live("attach", str(target.pid)) as live:
                answer = self.source(live, "zipped_work")
                self.assertEqual(answer.status, 200, answer.body)
                self.assertEqual(answer.json()["text"], self.MODULE)
                self.assertEqual(answer.json()["path"], path + "/pkg/mod.py")

    def test_what_is_no_archive_is_named(self):
        damaged = self.archive("damaged.pyz", zipfile.ZIP_STORED)
        with open(damaged, "r+b") as file:
            file.seek(file.read().index(b"zipped_work():\n    while"))
            file.write(b"X")
        empty = self.archive("empty.pyz", zipfile.ZIP_STORED)
        for path, status, detail in ((damaged + "/pkg/mod.py", 400, "archive that is damaged"), (empty + "/no.py", 404, "no such source file"),
                                     (self.leak + "/mod.py", 404, "no such source file"), (self.folder + "/no.pyz/mod.py", 404, "no such source file")):
            with self.subTest(path), self.leaking(NOBODY, path) as target, Live("attach", str(target.pid)) as live:
                answer = self.source(live, "leak")
                self.assertEqual(answer.status, status, answer.body)
                self.assertIn(detail, answer.json()["detail"])

    def test_an_archive_is_read_with_the_rights_of_the_target(self):
        secret = self.archive("secret.pyz", zipfile.ZIP_DEFLATED, 0o600, "# %s\n" % SECRET)
        link = os.path.join(self.folder, "link.pyz")
        os.symlink(secret, link)
        for path in (secret, link):
            with self.subTest(path), self.leaking(NOBODY, path + "/pkg/mod.py") as target, Live("attach", str(target.pid)) as live:
                self.assertEqual(self.source(live, "leak").status, 403)
                self.assert_nowhere(live)


class Hostile(Source):
    def test_the_shipped_service_shows_no_file_that_the_target_may_not_read(self):
        with self.leaking(NOBODY) as target:
            with Live("attach", str(target.pid), preexec_fn=as_service()) as live:
                self.assert_nowhere(live)
                self.assertEqual(live.stop(), 0)
            for kind in ("--flamegraph", "--heatmap"):
                out = tempfile.mkdtemp()
                self.addCleanup(shutil.rmtree, out, True)
                os.chown(out, OTHER, OTHER)
                with Process([PROGRAM, "record", "-d", "2", str(target.pid), kind, "-o", out + "/x.html"],
                             preexec_fn=as_service()) as process:
                    self.assertEqual(process.wait(), 0, process.output())
                with open(out + "/x.html", "rb") as file:
                    self.assert_no_secret(file.read(), kind)

    def test_nor_of_its_own_user(self):
        with self.leaking(OTHER) as target, Live("attach", str(target.pid), preexec_fn=as_service()) as live:
            self.assert_nowhere(live)

    def test_the_service_shows_what_the_target_may_read(self):
        """As a user who is not its own, and in none of its groups."""
        path = self.put("own.py", "import time\nprint('READY', flush=True)\ndef own_work():\n    while True: sum(range(1000))\n"
                        "own_work()\n", 0o600)
        os.chown(path, NOBODY, NOBODY)
        with victim(path, preexec_fn=as_user(NOBODY)) as target:
            with Live("attach", str(target.pid), preexec_fn=as_service()) as live:
                answer = self.source(live, "own_work")
                self.assertEqual(answer.status, 200, answer.body)
                self.assertIn("own_work", answer.json()["text"])
                self.assert_has("while True: sum", live.ask("/api/v1/sessions/1/export?format=heatmap").body)
            os.chmod(path, 0)
            with Live("attach", str(target.pid), preexec_fn=as_service()) as live:
                self.assertEqual(self.source(live, "own_work").status, 403)

    def test_processes_of_several_users_in_one_session(self):
        with victim("chain.py", "120") as first, self.leaking(NOBODY) as target:
            with Live("attach", str(first.pid), str(target.pid)) as live:
                self.assert_nowhere(live)
                # A function that only one of them runs is shown as ever.
                answer = self.source(live, "c")
                self.assertEqual(answer.status, 200, answer.body)
            with Live("serve", "--no-data") as live:
                for number, pids in enumerate(({"pids": [first.pid, target.pid]}, {"all": True}), 1):
                    self.assertEqual(live.ask("/api/v1/sessions", "POST", json.dumps(pids), MARK).status, 202)
                    live.wait_until(lambda: live.get("/sessions/%d" % number)["state"] == "running", 3 * WAIT_SECONDS)
                    self.assert_nowhere(live, str(number))
            text = self.record(str(first.pid), str(target.pid), "--flamegraph")
            self.assert_has('"sources"', text)  # of the first one
            self.assert_no_secret(text)
            self.assert_no_secret(self.record(str(first.pid), str(target.pid), "--heatmap"))

    def test_a_function_of_several_owners_is_read_as_none(self):
        """The text is withheld even if the second owner comes later, and it was fetched before that."""
        path = self.put("shared.py", "print('READY', flush=True)\ndef shared_work():\n    while True: sum(range(1000))\n"
                        "shared_work()\n")
        with victim(path) as first, Live("serve", "--no-data") as live:
            live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [first.pid], "subprocesses": False}), MARK)
            live.wait_until(lambda: live.get("/sessions/1")["state"] == "running")
            self.assertEqual(self.source(live, "shared_work").status, 200)
            with victim(path, preexec_fn=as_user(NOBODY)) as second, victim(path) as third:
                live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [first.pid, third.pid]}), MARK)
                live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [first.pid, second.pid]}), MARK)
                live.wait_until(lambda: all(live.get("/sessions/%d" % n)["processes"]["attached"] == 2 for n in (2, 3)))
                time.sleep(1.5)
                self.assertEqual(self.source(live, "shared_work", "2").status, 200)
                answer = self.source(live, "shared_work", "3")
                self.assertEqual(answer.status, 403, answer.body)
                self.assertIn("several owners", answer.json()["detail"])
                self.assertNotIn(b"def shared_work", unpacked(live.ask("/api/v1/sessions/3/report.html").body))

    def test_a_target_that_gives_up_its_rights_is_what_it_is_now(self):
        with self.leaking(0, None, "drop", stdin=subprocess.PIPE) as target, Live("attach", str(target.pid)) as live:
            live.wait_samples(100)
            target._popen.stdin.write(b"\n")
            target._popen.stdin.flush()
            target.wait_line("^DROPPED")
            self.assert_nowhere(live)

    def test_a_program_that_became_another_one_is_not_read(self):
        path = self.put("becomes.py", "import os, sys\ndef before():\n    print('READY', flush=True)\n    sys.stdin.readline()\n"
                        "before()\nos.execv('/bin/sleep', ['sleep', '60'])\n", 0o600)
        with victim(path, stdin=subprocess.PIPE) as target, Live("attach", "-d", "60", str(target.pid)) as live:
            self.assertEqual(self.source(live, "before").status, 200)
            number = self.functions(live)["before"]
            target._popen.stdin.write(b"\n")
            target._popen.stdin.flush()
            live.wait_ended()
            # Text that was fetched while it ran is still there, and the file is not read again.
            self.put("becomes.py", SECRET)
            answer = live.ask("/api/v1/sessions/1/source?function=%d" % number)
            self.assert_no_secret(answer.body)

    def test_files_that_are_none(self):
        fifo = os.path.join(self.folder, "fifo.py")
        os.mkfifo(fifo, 0o666)
        links = {"link.py": self.secret, "environ.py": "/proc/self/environ", "magic.py": "/proc/self/fd/0"}
        for name, to in links.items():
            os.symlink(to, os.path.join(self.folder, name))
        paths = [fifo, "/dev/zero", "/dev/tty", "/proc/self/environ", "/proc/self/root" + self.secret, "/proc/1/environ",
                 "/proc/self/mem", "/sys/kernel/notes", self.folder, "relative.py", self.folder + "/none.py"]
        paths += [os.path.join(self.folder, name) for name in links]
        for path in paths:
            with self.leaking(NOBODY, path) as target, Live("attach", str(target.pid)) as live:
                answer = self.source(live, "leak")
                self.assertIn(answer.status, (400, 403, 404), (path, answer.body))
                self.assert_no_secret(answer.body)

    def test_a_target_with_mounts_of_its_own_reads_its_own_files(self):
        if not shutil.which("unshare"):
            self.skipTest("no unshare")
        folder = os.path.join(self.folder, "mounted")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "inner.py"), "w", encoding="utf-8") as file:
            file.write("# %s\n" % SECRET)
        # Bound over it inside: what this host has there is another file.
        inner = self.put("inner.py", "print('READY', flush=True)\ndef inner_work():\n    while True: sum(range(1000))  # inside\n"
                         "inner_work()\n")
        script = 'mount --bind "$1" "$2" && exec "$0" "$2"'
        with Process(["unshare", "-m", "sh", "-c", script, newest_python(), inner, os.path.join(folder, "inner.py")]) as target:
            target.wait_ready()
            with Live("attach", str(target.pid)) as live:
                answer = self.source(live, "inner_work")
                self.assertEqual(answer.status, 200, answer.body)
                self.assertIn("# inside", answer.json()["text"])
                self.assert_no_secret(answer.body)


class Kept(Source):
    TEXT = "import time\nprint('READY', flush=True)\ndef short_work():\n    end = time.time() + %g\n    while time.time() < end:\n" \
           "        sum(range(1000))  # as it was\nshort_work()\n"

    def test_what_was_fetched_is_there_after_the_targets_end(self):
        path = self.put("short.py", self.TEXT % 3)
        with victim(path, preexec_fn=as_user(NOBODY)) as target, Live("attach", str(target.pid)) as live:
            live.wait_ended()
            answer = self.source(live, "short_work")
            self.assertEqual(answer.status, 200, answer.body)
            self.assertIn("# as it was", answer.json()["text"])
            self.assertFalse(answer.json()["changed"])
            for page in ("report.html", "export?format=heatmap"):
                self.assert_has("# as it was", live.ask("/api/v1/sessions/1/" + page).body, page)
            # Nobody is left whose rights it could be read with.
            self.put("short.py", SECRET)
            self.assert_no_secret(self.source(live, "short_work").body)

    def test_the_checkout_is_found_with_the_rights_of_the_target(self):
        head = os.urandom(20).hex()
        folder = os.path.join(self.folder, "shop")
        os.makedirs(os.path.join(folder, ".git"))
        path = self.put("shop/app.py", self.TEXT % 60)
        git = self.put("shop/.git/HEAD", head + "\n")
        with victim(path, preexec_fn=as_user(NOBODY)) as target, Live("attach", str(target.pid)) as live:
            live.wait_until(lambda: live.session()["checkout"])
            self.assertEqual(live.session()["checkout"], {"root": folder, "commit": head})
            self.assert_has(head, live.ask("/api/v1/sessions/1/report.html").body)
        os.chmod(git, 0o600)
        with victim(path, preexec_fn=as_user(NOBODY)) as target, Live("attach", str(target.pid)) as live:
            self.assertEqual(self.source(live, "short_work").status, 200)
            time.sleep(2)
            self.assertIsNone(live.session()["checkout"])

    def test_of_a_program_that_was_run(self):
        path = self.put("short.py", self.TEXT % 2)
        with Live("run", "--", newest_python(), path) as live:
            live.wait_ended()
            self.assertIn("# as it was", self.source(live, "short_work").json()["text"])

    def test_records_have_it_however_they_end(self):
        path = self.put("short.py", self.TEXT % 60)
        for options, ends in (([], "target"), (["-d", "2"], "duration"), ([], "signal")):
            with victim(path) as target:
                out = file_in("record.html")
                with Process([PROGRAM, "record", *options, "--flamegraph", "-o", out, str(target.pid)]) as process:
                    if ends != "duration":
                        time.sleep(2)
                        (target if ends == "target" else process).signal(signal.SIGINT)
                    self.assertEqual(process.wait(), 0, process.output())
                with open(out, "rb") as file:
                    self.assert_has("# as it was", file.read(), ends)

    def test_without_source_nothing_is_started_for_it(self):
        path = self.put("short.py", self.TEXT % 60)
        with victim(path) as target:
            for options, count in (([], 1), (["--no-source"], 0)):
                with Live("attach", *options, str(target.pid)) as live:
                    live.wait_samples(10)
                    self.assertEqual("pyrometer-src" in processes_of(live.process.pid), count == 1)


class Captured(Source):
    """A capture holds the source of the recorded program's hot functions, and nothing else of its files."""
    PROGRAM = 'KEY = "%s"\nimport time\nclass Shop:\n    def price(self):\n        return sum(range(1000))  # as it was\n' \
              'def rare():\n    return "%s"\ndef work():\n    end = time.time() + %g\n    while time.time() < end:\n' \
              "        Shop().price()\n" + "\n" * 9 + "rare()\nprint('READY', flush=True)\nwork()\n"

    def recorded(self, *words, seconds=60, key=SECRET):
        """A capture of the program, whose file is another one then."""
        path, out = self.put("captured.py", self.PROGRAM % (key, key, seconds)), file_in("captured.pyro")
        with victim(path, preexec_fn=as_user(NOBODY)) as target:
            with Process([PROGRAM, "record", "-d", "2", *words, "-o", out, str(target.pid)]) as process:
                self.assertEqual(process.wait(), 0, process.output())
                self.said = process.output()
        # The file that ran is gone.
        self.put("captured.py", "# what is here now\n" * 50)
        return out

    def test_it_shows_lines_where_the_file_is_another_one(self):
        out = self.recorded()
        self.assertRegex(self.said, "wrote .* with source text")
        with Live("serve", out) as live:
            answer = self.source(live, "work")
            self.assertEqual(answer.status, 200, answer.body)
            lines = answer.json()["text"].split("\n")
            self.assertEqual(lines[2:5], ["class Shop:", "    def price(self):", "        return sum(range(1000))  # as it was"])
            self.assertIn("def work():", lines)
            self.assertFalse(answer.json()["whole"] or answer.json()["changed"])
            for page in ("report.html", "export?format=heatmap"):
                body = live.ask("/api/v1/sessions/1/" + page).body
                self.assert_has("# as it was", body, page)
                self.assertNotIn(b"what is here now", unpacked(body), page)
                self.assert_no_secret(body, page)
        page = file_in("captured.html")
        subprocess.run([PROGRAM, "replay", out, "-o", page], check=True, capture_output=True)
        with open(page, "rb") as file:
            self.assert_has("# as it was", file.read())

    def test_it_has_none_if_the_user_wants_none(self):
        out, clean = self.recorded("--no-source"), file_in("clean.pyro")
        self.assertNotIn("with source text", self.said)
        with Live("serve", out) as live:
            answer = self.source(live, "work")
            self.assertEqual(answer.status, 404)
            self.assertEqual(answer.json()["detail"], "the capture has no source text: it was recorded with --no-source")
        out = self.recorded()
        with Live("serve", "--no-source", out) as live:
            self.assertEqual(self.source(live, "work").status, 404)
        merged = subprocess.run([PROGRAM, "merge", out + "@0..", "-o", clean, "--no-source"], check=True, capture_output=True, text=True)
        self.assertNotIn("with source text", merged.stderr)
        with Live("serve", clean) as live:
            self.assertIn("--no-source", self.source(live, "work").json()["detail"])

    def test_it_has_no_more_than_the_owner_of_the_program_may_read(self):
        out = file_in("leak.pyro")
        with self.leaking(NOBODY) as target, Process([PROGRAM, "record", "-d", "2", "-o", out, str(target.pid)]) as process:
            self.assertEqual(process.wait(), 0, process.output())
        with Live("serve", out) as live:
            answer = self.source(live, "leak")
            self.assertEqual(answer.status, 404, answer.body)
            self.assertIn("the capture lacks the source text: the owner of the process may not read", answer.json()["detail"])
            self.assert_no_secret(answer.body)

    def test_the_share_of_a_function_decides(self):
        names = ["f%d" % i for i in range(12)]
        text = "".join("def %s():\n    for _ in range(%d): sum(range(300))\n" % (name, 2 ** i) for i, name in enumerate(names))
        path, out, stats = self.put("shares.py", text + "print('READY', flush=True)\n" + "\n" * 9 + "while True:\n    " +
                                    "; ".join(name + "()" for name in names) + "\n"), file_in("shares.pyro"), file_in("shares.pstats")
        with victim(path) as target:
            subprocess.run([PROGRAM, "record", "-d", "3", "-o", out, str(target.pid)], check=True, capture_output=True)
        subprocess.run([PROGRAM, "replay", out, "--pstats=" + stats], check=True, capture_output=True)
        totals = {name: total for (_, _, name), (*_, total, _) in pstats.Stats(stats).stats.items()}
        with Live("serve", out) as live:
            lines = self.source(live, "f11").json()["text"].split("\n")
        kept = {name for i, name in enumerate(names) if lines[2 * i]}
        self.assertEqual(kept, {name for name in names if totals.get(name, 0) * 1.000001 >= 0.005 * totals["<module>"]})
        self.assertLess(len(kept), len(names))
        self.assertEqual([bool(line) for line in lines[:24:2]], [bool(line) for line in lines[1:24:2]])

    def test_captures_of_a_server_have_it_too(self):
        path = self.put("captured.py", self.PROGRAM % (SECRET, SECRET, 60))
        with tempfile.TemporaryDirectory() as data, victim(path, preexec_fn=as_user(NOBODY)) as target, \
                Live("serve", "--no-continuous", "--data", data) as live:
            answer = live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [target.pid], "duration_s": 2}), MARK)
            self.assertEqual(answer.status, 202, answer.body)
            live.wait_ended()
            name = live.session()["capture"]
            live.wait_until(lambda: live.get("/captures/" + name)["state"] == "complete")
            out = file_in("downloaded.pyro")
            with open(out, "wb") as file:
                file.write(live.ask("/api/v1/captures/%s/file" % name).body)
        with Live("serve", out) as live:
            answer = self.source(live, "work")
            self.assertIn("# as it was", answer.json().get("text", ""), answer.body)
            self.assert_no_secret(answer.body)


class YourCode(Source):
    """Whose a file is, as metadata beside it say; the page, the API, a summary and a capture agree."""
    SERVER = "def run(work):\n    print('READY', flush=True)\n    while True: work()\n"
    WORK = "import helpers\ndef work():\n    helpers.loop()\n"
    HELPERS = "def loop():\n    for _ in range(2000): pass\n"
    FROM_FOLDER = '{"dir_info": {}, "url": "file:///home/u/shop"}'

    def installed(self, name, list_mode=0o644):
        """A project that was installed from its folder, started by a server that is a package; another package in a folder of its own."""
        site = "%s/venv/lib/python3/site-packages" % name
        for path, text, mode in ((site + "/server.py", self.SERVER, 0o644), (site + "/server-1.dist-info/RECORD", "server.py,,\n", 0o644),
                                 (site + "/shop.py", self.WORK, 0o644), (site + "/shop-1.dist-info/RECORD", "shop.py,,\n", list_mode),
                                 (site + "/shop-1.dist-info/direct_url.json", self.FROM_FOLDER, list_mode),
                                 (name + "/vendored/helpers.py", self.HELPERS, 0o644),
                                 (name + "/vendored/helpers-1.dist-info/RECORD", "helpers.py,,\n", list_mode)):
            os.makedirs(os.path.join(self.folder, os.path.dirname(path)), exist_ok=True)
            self.put(path, text, mode)
        os.makedirs(os.path.join(self.folder, name, "bin"), exist_ok=True)
        words = "import sys\nsys.path[:0] = [%r, %r]\nimport server, shop\nserver.run(shop.work)\n"
        return self.put(name + "/bin/serve", words % (os.path.join(self.folder, site), os.path.join(self.folder, name, "vendored"))), site

    def own_files(self, live):
        return {os.path.basename(line["file"]) for line in live.get("/sessions/1/own-lines")["lines"]}

    def test_metadata_say_what_paths_do_not(self):
        launcher, site = self.installed("installed")
        with victim(launcher, python=newest_python()) as target:
            with Live("attach", str(target.pid)) as live:
                live.wait_until(lambda: self.own_files(live) == {"shop.py"})
                packages = live.get("/sessions/1/tree")["packages"]
                self.assertEqual(packages, {os.path.join(self.folder, site, "shop.py"): "",
                                            os.path.join(self.folder, "installed/vendored/helpers.py"): "helpers"})
                self.assertEqual(live.get("/sessions/1")["epoch"], live.get("/sessions/1/tree")["epoch"])
                lines = live.get("/sessions/1/own-lines?own=server.py")["lines"]
                self.assertEqual({os.path.basename(line["file"]) for line in lines}, {"server.py"})
            capture = file_in("installed.pyro")
            with Process([PROGRAM, "record", "-d", "2", "-o", capture, str(target.pid)]) as process:
                self.assertEqual(process.wait(), 0, process.output())
        for words in ([], ["--hide", "function:nothing"]):
            said = subprocess.run([PROGRAM, "replay", "--summary", *words, "-o", "-", capture], check=True, capture_output=True, text=True).stdout
            lines = re.search(r"Your hottest lines.*\n((?: .*\n)+)", said).group(1)
            self.assertIn("shop.py:3", lines, said)
            self.assertNotRegex(lines, "helpers|server", said)

    def test_metadata_are_read_with_the_rights_of_the_target(self):
        launcher, _ = self.installed("secret", 0o600)
        with victim(launcher, python=newest_python(), preexec_fn=as_user(NOBODY)) as target, Live("attach", str(target.pid)) as live:
            live.wait_until(lambda: "helpers.py" in self.own_files(live))
            self.assertEqual(self.source(live, "loop").status, 200)
            time.sleep(1.5)
            self.assertEqual(self.own_files(live), {"helpers.py"})
            self.assertNotIn("packages", live.get("/sessions/1/tree"))

    def wheel(self, name, module, text, scripts=""):
        """A wheel that `pip install` takes without building anything."""
        info = name + "-1.0.dist-info/"
        path = os.path.join(self.folder, "wheels", name + "-1.0-py3-none-any.whl")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files = {module: text, info + "METADATA": "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n" % name,
                 info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", info + "entry_points.txt": scripts}
        files[info + "RECORD"] = "".join("%s,,\n" % file for file in (*files, info + "RECORD"))
        with zipfile.ZipFile(path, "w") as archive:
            for file, content in files.items():
                archive.writestr(file, content)

    def test_a_pex_and_a_shiv_have_your_code(self):
        tools = os.path.join(os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers")), "archives")
        if not os.path.isdir(tools):
            self.skipTest("pex and shiv are not there: scripts/get-consumers fetches them")
        self.wheel("helpers", "helpers.py", self.HELPERS)
        self.wheel("shop", "shop.py", self.WORK + "def main():\n    print('READY', flush=True)\n    while True: work()\n", "[console_scripts]\nshop = shop:main\n")
        wheels, python = os.path.join(self.folder, "wheels"), sys.executable
        environment = {**os.environ, "PYTHONPATH": tools, "PEX_ROOT": os.path.join(self.folder, "pex"), "SHIV_ROOT": os.path.join(self.folder, "shiv")}
        pex = [python, "-m", "pex", "--no-pypi", "-f", wheels, "shop", "helpers", "-c", "shop"]
        shiv = [python, "-m", "shiv.cli", "--no-index", "--find-links", wheels, "-c", "shop", "shop", "helpers"]
        for name, words in (("shop.pex", pex), ("shop.pyz", shiv)):
            path = os.path.join(self.folder, name)
            with self.subTest(name):
                made = subprocess.run([*words, "-o", path], env=environment, capture_output=True, text=True, check=False)
                self.assertEqual(made.returncode, 0, made.stderr)
                with victim(path, python=python, env=environment) as target, Live("attach", "--subprocesses", str(target.pid)) as live:
                    live.wait_until(lambda: self.own_files(live) == {"shop.py"})
                    self.assertIn("def work", self.source(live, "work").json()["text"])


class Helper(Source):
    def helper_of(self, live):
        found = {}

        def is_there():
            found.update(processes_of(live.process.pid))
            return "pyrometer-src" in found
        live.wait_until(is_there)
        return found["pyrometer-src"]

    def status(self, pid):
        with open("/proc/%d/status" % pid, encoding="utf-8") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def other_files_of(self, helper):
        """Files that it has open beside its one socket."""
        names = []
        for fd in os.listdir("/proc/%d/fd" % helper):
            try:
                names.append(os.readlink("/proc/%d/fd/%s" % (helper, fd)))
            except FileNotFoundError:
                continue
        self.assertEqual(len([name for name in names if name.startswith("socket:")]), 1, names)
        return {name for name in names if not name.startswith("socket:")}

    def test_it_keeps_what_reading_as_others_needs_and_nothing_else(self):
        with victim("chain.py", "120") as target:
            for options, allowed in (({}, {5, 6, 7, 19}), ({"preexec_fn": as_service()}, {6, 7, 19}),
                                     ({"preexec_fn": as_user(OTHER)}, set())):
                if not allowed:
                    target.kill()
                with victim("chain.py", "120", **({} if allowed else options)) as own, \
                        Live("attach", str(own.pid), **options) as live:
                    live.wait_until(lambda: self.source(live, "c").status == 200)
                    helper = self.helper_of(live)
                    status = self.status(helper)
                    self.assertEqual(status["Name"], "pyrometer-src")
                    self.assertEqual(status["NoNewPrivs"], "1")
                    # The thread sanitizer has a thread of its own in each process.
                    self.assertEqual(status["Threads"], "2" if os.environ.get("PYROMETER_SANITIZED") == "thread" else "1")
                    for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
                        held = {bit for bit in range(64) if int(status[name], 16) >> bit & 1}
                        self.assertLessEqual(held, allowed, name)
                    # A request that it has in hand brings some for a moment.
                    live.wait_until(lambda: self.other_files_of(helper) <= {"/dev/null", "anon_inode:[signalfd]"})

    def test_it_ends_with_the_program_and_not_before(self):
        with victim("chain.py", "120") as target:
            with Live("attach", str(target.pid)) as live:
                helper = self.helper_of(live)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    os.kill(helper, number)
                self.assertEqual(self.source(live, "c").status, 200)
                self.assertEqual(live.stop(), 0)
            wait_gone(helper)
            with Live("attach", str(target.pid)) as live:
                helper = self.helper_of(live)
                live.process.kill()
                wait_gone(helper)

    def test_without_it_only_the_text_is_gone_until_the_next(self):
        with victim("chain.py", "120") as target, Live("attach", str(target.pid)) as live:
            live.wait_samples(100)
            helper = self.helper_of(live)
            os.kill(helper, signal.SIGKILL)
            wait_gone(helper)
            live.wait_until(lambda: self.source(live, "c").status == 200)
            self.assertNotEqual(self.helper_of(live), helper)
            live.process.wait_line("the source process was ended by signal 9", live.process.err)
            samples = live.session()["quality"]["samples"]
            live.wait_samples(samples + 100)
            self.assertEqual(live.ask("/api/v1/sessions/1/report.html").status, 200)
            self.assertEqual(live.stop(), 0)

    def test_an_ordinary_user_reads_own_files_and_no_others(self):
        path = self.put("mine.py", "print('READY', flush=True)\ndef mine():\n    while True: sum(range(1000))\nmine()\n", 0o600)
        os.chown(path, OTHER, OTHER)
        with victim(path, preexec_fn=as_user(OTHER)) as target, \
                Live("attach", str(target.pid), preexec_fn=as_user(OTHER)) as live:
            self.assertIn("def mine", self.source(live, "mine").json()["text"])
        with self.leaking(OTHER) as target, Live("attach", str(target.pid), preexec_fn=as_user(OTHER)) as live:
            self.assert_nowhere(live)

    def test_a_name_that_is_not_utf8_is_encoded_as_the_program_decoded_it(self):
        """A byte that the interpreter could not decode, and a program whose file system encoding is another."""
        text = "def mine():\n    while True: sum(range(1000))  # is here\n"
        path = os.fsencode(self.folder) + b"/caf\xe9\x80.py"
        for name in (path, os.fsencode(self.folder) + b"/na\xefve.py"):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text + "print('READY', flush=True)\nmine()\n" if name == path else text)
        other = self.put("other.py", "name = %r\nprint('READY', flush=True)\nexec(compile(%r, name, 'exec'))\nmine()\n"
                         % (self.folder + "/na\xefve.py", text))
        for program in (os.fsdecode(path), other):
            with victim(program) as target, Live("attach", str(target.pid)) as live:
                answer = self.source(live, "mine")
                self.assertEqual(answer.status, 200, answer.body)
                self.assertIn("# is here", answer.json()["text"])
                self.assert_has("# is here", live.ask("/api/v1/sessions/1/report.html").body)

    def test_a_reader_that_its_owner_holds_up_is_an_error(self):
        """The owner of the process may stop it: others are served all the same, and it does not stay."""
        stopper = ("import os, signal, time\n"
                   "end = time.time() + 6\n"
                   "print('READY', flush=True)\n"
                   "while time.time() < end:\n"
                   "    for name in os.listdir('/proc'):\n"
                   "        try:\n"
                   "            if time.time() < end and name.isdigit() and 'pyrometer-src' in open('/proc/%s/comm' % name).read():\n"
                   "                os.kill(int(name), signal.SIGSTOP)\n"
                   "        except OSError: pass\n")
        path = self.put("mine.py", "print('READY', flush=True)\ndef mine():\n    while True: sum(range(1000))\nmine()\n", 0o644)
        with victim(path, preexec_fn=as_user(NOBODY)) as target, victim("chain.py", "120") as other, \
                Live("serve", "--no-data", preexec_fn=as_service()) as live:
            for pid in (target.pid, other.pid):
                live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [pid]}), MARK)
            self.source(live, "c", "2")
            with victim(self.put("stopper.py", stopper), preexec_fn=as_user(NOBODY)) as hostile:
                for _ in range(10):
                    self.assertIn(self.source(live, "mine", impatient=True).status, (200, 500, 503))
                    self.assertEqual(self.source(live, "c", "2").status, 200)
                hostile.wait(30)
            children = "/proc/%d/task/%d/children" % ((self.helper_of(live),) * 2)

            def are_gone():
                with open(children, encoding="utf-8") as file:
                    return file.read().split() == []
            live.wait_until(are_gone)


if __name__ == "__main__":
    main()
