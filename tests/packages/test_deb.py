"""The Debian package: its files, and that it installs, upgrades, removes and purges."""

import os
import re
import shutil
import subprocess

from building import Built, main, run

FILES = ("./usr/bin/pyrometer", "./usr/lib/systemd/system/pyrometer.service", "./usr/lib/systemd/system/pyrometer.socket",
         "./usr/share/man/man1/pyrometer.1.gz", "./usr/share/man/man1/pyrometer-attach.1.gz",
         "./usr/share/bash-completion/completions/pyrometer", "./usr/share/fish/vendor_completions.d/pyrometer.fish",
         "./usr/share/doc/pyrometer/copyright")


class Package(Built):
    kind = "deb"

    def setUp(self):
        self.package = self.made[0]

    def test_it_has_program_manual_completion_and_units(self):
        names = [line.split()[5] for line in run("dpkg-deb", "--contents", self.package).splitlines()]
        for name in FILES:
            self.assertIn(name, names)
        depends = run("dpkg-deb", "--field", self.package, "Depends")
        for library in ("libbpf", "libgnutls30", "libmicrohttpd12", "libpcre2-8-0"):
            self.assertRegex(depends, r"\b%s" % re.escape(library))

    def test_lintian_finds_no_fault(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian")
        result = subprocess.run(["lintian", "--fail-on", "error,warning,info", "--display-info", self.package], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_it_installs_upgrades_removes_and_purges(self):
        """Below a root of its own: the real database of this machine stays as it is."""
        root = os.path.join(self.folder, "root")
        for part in ("info", "updates", "triggers", "alternatives", "parts"):
            os.makedirs(os.path.join(root, "var", "lib", "dpkg", part))
        open(os.path.join(root, "var", "lib", "dpkg", "status"), "w", encoding="utf-8").close()
        dpkg = ["dpkg", "--root", root, "--force-depends", "--force-not-root", "--force-script-chrootless", "--log", os.devnull]
        binary = os.path.join(root, "usr", "bin", "pyrometer")
        run(*dpkg, "--install", self.package)
        self.assertRegex(run(binary, "--version"), r"^pyrometer \d")
        run(*dpkg, "--install", self.package)
        data = os.path.join(root, "var", "lib", "private", "pyrometer")
        os.makedirs(data)
        run(*dpkg, "--remove", "pyrometer")
        self.assertFalse(os.path.exists(binary))
        self.assertTrue(os.path.exists(data))
        run(*dpkg, "--purge", "pyrometer")
        self.assertFalse(os.path.exists(data))
        self.assertNotIn("pyrometer", run(*dpkg[:3], "--get-selections"))


if __name__ == "__main__":
    main()
