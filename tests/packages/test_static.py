"""The static program: it has no build environment in it, and works where there is nothing but /proc."""

import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.parse

from building import ROOT, Built, build, main, run

sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
from harness import WAIT_SECONDS, Live, Process  # pylint: disable=wrong-import-position

MAX_BYTES = 6_000_000
CODE = "print('READY', flush=True)\ndef work():\n    while True: sorted(range(100000), key=str)\nwork()"
# The program is the init of no container: it sees the processes of the machine, and an empty root otherwise.
ENTER = 'mount --make-rprivate / && mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && exec chroot "$0" "$@"'


class Static(Built):
    kind = "static"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.made[0]
        cls.root = os.path.join(cls.folder, "root")
        for name in ("proc", "sys", "tmp"):
            os.makedirs(os.path.join(cls.root, name))
        shutil.copy(cls.program, os.path.join(cls.root, "pyrometer"))
        cls.before = ["unshare", "--mount", "sh", "-c", ENTER, cls.root]

    def setUp(self):
        # What is empty and mounted nowhere: no libraries, no shell, no /etc.
        self.assertEqual(sorted(set(os.listdir(self.root)) - {"tmp"}), ["proc", "pyrometer", "sys"])
        if subprocess.run([*self.before, "/pyrometer", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 1:
            self.skipTest("needs the right to mount (CAP_SYS_ADMIN)")

    def inside(self, *words):
        return Process([*self.before, "/pyrometer", *words])

    def target(self):
        target = Process([sys.executable, "-c", CODE])
        try:
            target.wait_ready()
        except BaseException:
            target.kill()
            raise
        return target

    def path(self, name):
        return os.path.join(self.root, "tmp", name)

    def test_it_needs_no_library_and_may_be_placed_anywhere(self):
        self.assertNotIn("NEEDED", run("readelf", "--dynamic", self.program))
        header = run("readelf", "--file-header", "--program-headers", "--wide", self.program)
        self.assertRegex(header, r"Type: +DYN")
        self.assertNotIn("INTERP", header)
        self.assertRegex(header, r"GNU_STACK.* RW ")
        self.assertLess(os.path.getsize(self.program), MAX_BYTES)

    def test_nothing_of_the_build_environment_is_in_it(self):
        text = run("strings", "-a", "-n", "4", self.program)
        for place in (ROOT, os.path.expanduser("~") + "/", "/.cache", self.folder, "GCC: (", "/usr/lib/gcc"):
            self.assertFalse(place in text, place)

    def test_it_says_what_it_lacks(self):
        said = run(*self.before, "/pyrometer", "--version")
        self.assertRegex(said, r"^pyrometer \d+\.\d+\.\d+\nbuilt without libdw: ")

    def test_the_licences_of_its_libraries_lie_beside_it(self):
        with open(self.made[1], encoding="utf-8") as file:
            text = file.read()
        for name in ("gnutls28", "libmicrohttpd", "elfutils", "musl", "gmp"):
            self.assertIn("== %s ==" % name, text)

    def test_a_second_build_is_equal(self):
        if os.environ.get("PYROMETER_STATIC"):
            self.skipTest("PYROMETER_STATIC names one that was built before")
        with tempfile.TemporaryDirectory() as folder:
            for first, second in zip(self.made, build("static", folder)):
                with open(first, "rb") as one, open(second, "rb") as two:
                    self.assertTrue(one.read() == two.read(), os.path.basename(first))

    def record(self, engine):
        with self.target() as target:
            with self.inside("record", "--engine", engine, str(target.pid), "-d", "1", "-o", "/tmp/%s.pyro" % engine, "--quality",
                             "/tmp/%s.json" % engine) as recording:
                code = recording.wait()
        text = "\n".join(recording.err)
        if engine == "kernel" and code != 0 and "kernel engine" in text:
            self.skipTest(text)
        self.assertEqual(code, 0, text)
        with open(self.path(engine + ".json"), encoding="utf-8") as file:
            counted = json.load(file)
        self.assertEqual(counted["engine"], engine)
        self.assertGreater(counted["samples"], 100)

    def test_it_records_and_reports_with_the_remote_engine(self):
        self.record("remote")
        for words in (("-o", "/tmp/report.html"), ("-o", "/tmp/report.folded"), ("--pprof=/tmp/report.pb.gz",)):
            with self.inside("replay", "/tmp/remote.pyro", *words) as replay:
                self.assertEqual(replay.wait(), 0, replay.output())
        with open(self.path("report.folded"), encoding="utf-8") as file:
            self.assertIn("work", file.read())
        self.assertGreater(os.path.getsize(self.path("report.html")), 200_000)

    def test_it_records_with_the_kernel_engine(self):
        self.record("kernel")

    def test_it_serves_the_page_of_a_process(self):
        with self.target() as target, Live("attach", str(target.pid), before=self.before, path="/pyrometer") as live:
            live.wait_samples(100)
            page = live.ask("/?token=" + live.token, headers={"Accept-Encoding": "identity"})
            self.assertIn(page.status, (200, 302, 303), page.body[:200])
            tree = live.get("/sessions/1/tree")
            self.assertIn("work", [tree["strings"]["values"][name] for name in tree["functions"]["name"]])
            self.assertEqual(live.stop(), 0)

    def test_it_serves_with_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl, which makes certificates")
        for kind, words in (("ec", ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")), ("rsa", ("-newkey", "rsa:2048"))):
            with self.subTest(kind):
                cert, key = self.path(kind + ".pem"), self.path(kind + ".key")
                run("openssl", "req", "-x509", *words, "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-days", "2", "-out", cert, "-keyout", key)
                os.chmod(key, 0o600)
                with self.inside("serve", "--no-data", "--no-continuous", "--listen", "127.0.0.1:0", "--tls-cert", "/tmp/%s.pem" % kind,
                                 "--tls-key", "/tmp/%s.key" % kind) as server:
                    url = server.wait_line("^(https://.*)$").group(1)
                    parts = urllib.parse.urlsplit(url)
                    connection = http.client.HTTPSConnection("127.0.0.1", parts.port, timeout=WAIT_SECONDS,
                                                             context=ssl.create_default_context(cafile=cert))
                    token = urllib.parse.parse_qs(parts.query)["token"][0]
                    connection.request("GET", "/api/v1/processes", headers={"Authorization": "Bearer " + token})
                    answer = connection.getresponse()
                    self.assertEqual(answer.status, 200, answer.read()[:300])
                    self.assertIn(connection.sock.version(), ("TLSv1.2", "TLSv1.3"))
                    connection.close()


if __name__ == "__main__":
    main()
