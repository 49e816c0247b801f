"""The static program: it has no build environment in it, and works where there is nothing but /proc."""

import os
import shutil
import tempfile

from building import ROOT, Built, build, main, run
from installed import Installed, enter, may_mount

MAX_BYTES = 6_500_000


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
        # What is empty and mounted nowhere: no libraries, no shell, no /etc.
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
        self.assertRegex(said, r"^pyrometer \d+\.\d+\.\d+\nbuilt without libdw: ")
        self.assertRegex(said, r"\nbuilt without libcurl: ")

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

    def test_it_records_and_reports_with_the_remote_engine(self):
        self.installed.record("remote")
        self.installed.replay("remote")

    def test_it_records_with_the_kernel_engine(self):
        self.installed.record("kernel")

    def test_it_serves_the_page_of_a_process(self):
        self.installed.attach()

    def test_it_serves_with_tls(self):
        for kind in ("ec", "rsa"):
            with self.subTest(kind):
                self.installed.serve_with_tls(kind)


if __name__ == "__main__":
    main()
