"""The Debian package: its files, and that it installs, works, upgrades, removes and purges, also in new systems of two releases."""

import os
import re
import shutil
import subprocess

from building import Built, main, run
from installed import Installed, debian, enter

FILES = ("./usr/bin/pyrometer", "./lib/systemd/system/pyrometer.service", "./lib/systemd/system/pyrometer.socket",
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
        for library in ("libbpf", "libdw1", "libgnutls30", "libmicrohttpd12", "libpcre2-8-0"):
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

    def newer(self):
        """The package once more, as the next version."""
        folder = os.path.join(self.folder, "newer")
        if not os.path.exists(folder + ".deb"):
            run("dpkg-deb", "--raw-extract", self.package, folder)
            control = os.path.join(folder, "DEBIAN", "control")
            with open(control, encoding="utf-8") as file:
                text = re.sub(r"^(Version: .*)$", r"\1+1", file.read(), flags=re.M)
            with open(control, "w", encoding="utf-8") as file:
                file.write(text)
            run("dpkg-deb", "--root-owner-group", "--build", folder, folder + ".deb")
        return folder + ".deb"

    def in_a_new_system(self, suite):
        root = debian(suite, self.folder, "python3-minimal", "man-db", "systemd")
        inside = enter(root)
        apt = [*inside, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", "-qq", "--no-install-recommends",
               "-o", "Acquire::Check-Valid-Until=false"]
        run(*apt, "update")
        for package, name in ((self.package, "this.deb"), (self.newer(), "newer.deb")):
            shutil.copy(package, os.path.join(root, "tmp", name))
            run(*apt, "install", "/tmp/" + name)
            self.assertRegex(run(*inside, "pyrometer", "--version"), r"^pyrometer \d+\.\d+\.\d+\n$")
        self.assertRegex(run(*inside, "dpkg-query", "-W", "-f", "${Version} ${db:Status-Status}", "pyrometer"), r"\+1 installed$")
        self.assertIn("pyrometer", run(*inside, "man", "-l", "/usr/share/man/man1/pyrometer-record.1.gz"))
        Installed(self, "pyrometer", inside, os.path.join(root, "tmp"), "/tmp", "/usr/bin/python3").do_everything()
        os.makedirs(os.path.join(root, "var", "lib", "private", "pyrometer"))
        run(*inside, "systemd-analyze", "verify", "pyrometer.service", "pyrometer.socket")
        self.assertIn("disabled", run(*inside, "sh", "-c", "systemctl is-enabled pyrometer.service || true"))
        run(*inside, "systemctl", "enable", "pyrometer.service", "pyrometer.socket")
        run(*apt, "remove", "pyrometer")
        self.assertFalse(os.path.exists(os.path.join(root, "usr", "bin", "pyrometer")))
        run(*apt, "purge", "pyrometer")
        # Files that others keep of it: formatted manual pages, for example.
        left = run("find", *(os.path.join(root, name) for name in ("etc", "usr", "var")), "-path", "*/var/cache", "-prune", "-o",
                   "-name", "*pyrometer*", "-print")
        self.assertEqual(left, "")

    def test_it_works_in_a_new_system_of_debian_12(self):
        self.in_a_new_system("bookworm")

    def test_it_works_in_a_new_system_of_the_unstable_debian(self):
        self.in_a_new_system("sid")


if __name__ == "__main__":
    main()
