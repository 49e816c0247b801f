"""The static program for aarch64, run by qemu-user: what it reads, writes and serves. Sampling is not tried, because qemu-user has no
process_vm_readv, and so is the filter of system calls."""

import http.client
import os
import shutil
import ssl
import urllib.parse

from building import ROOT, Built, build, main, run
from installed import WAIT_SECONDS, Live, Process, certificate

MAX_BYTES = 3_900_000
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
CAPTURES = os.path.join(ROOT, "tests", "golden")
# A page and JSON lines have a number of their own each time.
FORMATS = ("report.folded", "report.pb.gz", "summary.md", "out.pyro")


class Aarch64(Built):
    kind = "static-aarch64"

    def setUp(self):
        self.program = self.made[0]
        # qemu-user has no filters of system calls, so none can end the program either.
        os.environ.pop("PYROMETER_DENIED_CALL", None)

    def emulated(self):
        if not QEMU:
            self.skipTest("no qemu-user")
        return [QEMU, self.program]

    def test_it_is_of_that_processor_and_needs_no_library(self):
        header = run("readelf", "--file-header", "--program-headers", "--dynamic", "--wide", self.program)
        self.assertRegex(header, r"Machine: +AArch64")
        self.assertRegex(header, r"Type: +DYN")
        self.assertNotIn("NEEDED", header)
        self.assertNotIn("INTERP", header)
        self.assertLess(os.path.getsize(self.program), MAX_BYTES)

    def test_nothing_of_the_build_environment_is_in_it(self):
        text = run("strings", "-a", "-n", "4", self.program)
        for place in (ROOT, os.path.expanduser("~") + "/", "/.cache", self.folder, "GCC: (", "/usr/lib/gcc"):
            self.assertFalse(place in text, place)

    def test_it_says_what_it_lacks(self):
        said = run(*self.emulated(), "--version")
        self.assertRegex(said, r"^pyrometer \d+\.\d+\.\d+\nbuilt without libdw: [^\n]*\n$")

    def test_it_writes_what_the_program_for_x86_writes(self):
        emulated = self.emulated()
        native = build("static", self.folder)[0]
        for capture in (os.path.join(CAPTURES, "version1.pyro"), os.path.join(CAPTURES, "version4.pyro")):
            for name in FORMATS:
                with self.subTest(capture + ", " + name):
                    written = []
                    for at, words in enumerate((emulated, [native])):
                        path = os.path.join(self.folder, "%d-%s" % (at, name))
                        command = ["merge", capture, capture] if name.endswith(".pyro") else ["replay", capture]
                        run(*words, *command, "-o", path)
                        with open(path, "rb") as file:
                            written.append(file.read())
                        os.unlink(path)
                    self.assertTrue(written[0] == written[1])

    def test_it_serves_captures(self):
        capture = os.path.join(CAPTURES, "version4.pyro")
        with Live("serve", capture, "--no-continuous", before=self.emulated()[:1], path=self.program) as live:
            page = live.ask("/?token=" + live.token)
            self.assertIn(page.status, (200, 302, 303), page.body[:200])
            self.assertEqual(live.ask("/manual").status, 200)
            self.assertGreater(live.get("/sessions/1/view")["total"], 0)
            self.assertEqual(live.stop(), 0)

    def test_it_serves_with_tls(self):
        cert, key = certificate(self.folder)
        with Process([*self.emulated(), "serve", "--no-data", "--no-continuous", "--listen", "127.0.0.1:0", "--tls-cert", cert,
                      "--tls-key", key]) as server:
            parts = urllib.parse.urlsplit(server.wait_line("^(https://.*)$").group(1))
            connection = http.client.HTTPSConnection("127.0.0.1", parts.port, timeout=WAIT_SECONDS,
                                                     context=ssl.create_default_context(cafile=cert))
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().read(), b"ok\n")
            connection.close()


if __name__ == "__main__":
    main()
