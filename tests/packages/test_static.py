"""The static program: it has no build environment in it, and works where there is nothing but /proc."""

import os
import re
import shutil
import tempfile

from building import ROOT, Built, build, main, run
from installed import NATIVE, Installed, certificate, enter, may_mount

MAX_BYTES = 3_500_000
CERTIFICATES = ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem",
                "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/cert.pem")


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
        cls.before = enter(cls.root)

    def setUp(self):
        # The root is empty, and nothing is mounted in it: no libraries, no shell, no /etc.
        self.assertEqual(sorted(set(os.listdir(self.root)) - {"tmp"}), ["proc", "pyrometer", "sys"])
        may_mount(self.root, ["/pyrometer", "--version"])
        self.installed = Installed(self, "/pyrometer", self.before, os.path.join(self.root, "tmp"), "/tmp")

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
        self.assertRegex(said, r"^pyrometer \d+\.\d+\.\d+\nbuilt without libdw: [^\n]*\n$")

    def test_the_licences_of_its_libraries_lie_beside_it(self):
        with open(self.made[1], encoding="utf-8") as file:
            text = file.read()
        named = set(re.findall(r"/usr/share/common-licenses/((?:L?GPL|Apache)-[0-9.]*[0-9])", text))
        self.assertIn("LGPL-2.1", named)
        for name in named:
            self.assertIn("== %s ==" % name, text)
        for name in ("gnutls28", "libmicrohttpd", "elfutils", "musl", "gmp", "curl"):
            self.assertIn("== %s ==" % name, text)

    def test_a_second_build_is_equal(self):
        if os.environ.get("PYROMETER_STATIC"):
            self.skipTest("PYROMETER_STATIC names one that was built before")
        with tempfile.TemporaryDirectory() as folder:
            for first, second in zip(self.made, build("static", folder)):
                with open(first, "rb") as one, open(second, "rb") as two:
                    self.assertTrue(one.read() == two.read(), os.path.basename(first))

    def test_it_records_and_reports_with_the_remote_engine(self):
        self.installed.record("remote")
        self.installed.replay("remote")

    def test_it_records_with_the_kernel_engine(self):
        self.installed.record("kernel")

    def test_it_keeps_many_names_of_native_functions(self):
        self.installed.record("remote", "--native=full", "--stop", "always", code=NATIVE)

    def test_it_serves_the_page_of_a_process(self):
        self.installed.attach()

    def test_it_serves_with_tls(self):
        for kind in ("ec", "rsa"):
            with self.subTest(kind):
                self.installed.serve_with_tls(kind)

    def test_it_pushes(self):
        self.installed.push()

    def test_it_trusts_whom_the_system_trusts_wherever_that_says_so(self):
        """Below /etc of a root of its own, with what the program needs to see."""
        root = os.path.join(self.folder, "trusting")
        for name in ("proc", "sys", "tmp"):
            os.makedirs(os.path.join(root, name))
        shutil.copy(self.program, os.path.join(root, "pyrometer"))
        cert, _ = certificate(os.path.join(root, "tmp"))
        os.chmod(cert, 0o644)
        installed = Installed(self, "/pyrometer", enter(root), os.path.join(root, "tmp"), "/tmp")
        count, said = installed.push_with_tls()
        self.assertEqual(count, 0)
        self.assertRegex(said, "refuses a profile.*certificate")
        for place in CERTIFICATES:
            with self.subTest(place):
                path = os.path.join(root, place)
                os.makedirs(os.path.dirname(path))
                # Fedora and openSUSE have links at these paths.
                os.symlink("/tmp/ec.pem", path)
                count, said = installed.push_with_tls()
                shutil.rmtree(os.path.join(root, "etc"))
                self.assertEqual(count, 2, said)
        count, said = installed.push_with_tls("--push-ca", "/tmp/ec.pem")
        self.assertEqual(count, 2, said)


if __name__ == "__main__":
    main()
