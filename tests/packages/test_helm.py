"""The Helm chart: its values and their schema agree, and helm finds no fault.

helm: in PATH, the program that HELM names, or that of scripts/get-consumers --packages.
"""

import json
import os
import re
import shutil
import subprocess
import tarfile

from building import CONSUMERS, Built, build, main

HELM = os.environ.get("HELM") or shutil.which("helm") or shutil.which(os.path.join(CONSUMERS, "helm"))


class Chart(Built):
    kind = "helm"

    def setUp(self):
        with tarfile.open(self.made[0]) as archive:
            self.files = {entry.name: archive.extractfile(entry).read().decode() for entry in archive}

    def helm(self, *words, code=0):
        if not HELM:
            self.skipTest("no helm: run scripts/get-consumers --packages")
        done = subprocess.run([HELM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def test_the_schema_knows_every_value(self):
        values = self.files["pyrometer/values.yaml"]
        schema = json.loads(self.files["pyrometer/values.schema.json"])["properties"]
        named = re.findall(r"^(\w+):", values, re.M)
        self.assertEqual(sorted(named), sorted(set(schema) - {"global"}))
        used = set(re.findall(r"\.Values\.(\w+)", self.files["pyrometer/templates/daemonset.yaml"]))
        self.assertEqual(used, set(named))

    def test_the_options_of_the_template_are_those_of_serve(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server", "command", "options", "option_table.c")
        with open(source, encoding="utf-8") as file:
            known = set(re.findall(r'"([a-z][a-z-]+)"', file.read()))
        template = self.files["pyrometer/templates/daemonset.yaml"]
        for option in re.findall(r'[ "]--([a-z-]+)', template):
            self.assertTrue(option in known or option[len("no-"):] in known, option)

    def test_a_second_build_is_equal(self):
        folder = os.path.join(self.folder, "again")
        os.mkdir(folder)
        with open(self.made[0], "rb") as one, open(build("helm", folder)[0], "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_helm_finds_no_fault(self):
        self.assertIn("0 chart(s) failed", self.helm("lint", "--strict", self.made[0]))

    def test_helm_makes_the_daemon_set_of_the_values(self):
        made = self.helm("template", "prof", "--kube-version", "1.30.0", self.made[0])
        self.assertIn("hostPID: true", made)
        self.assertIn("path: /var/log/pods", made)
        self.assertIn("--listen=127.0.0.1:7997", made)
        self.assertNotIn("--token-file", made)
        made = self.helm("template", "prof", "--kube-version", "1.30.0", self.made[0], "--set",
                         "tokenSecret=t,tlsSecret=s,data.hostPath=/var/lib/p,continuous=false")
        for wanted in ("--token-file=/etc/pyrometer/token/token", "--tls-key=/etc/pyrometer/tls/tls.key", 'path: "/var/lib/p"',
                       "--no-continuous", 'secretName: "t"'):
            self.assertIn(wanted, made)
        self.assertIn("listen", self.helm("template", "prof", "--kube-version", "1.30.0", self.made[0], "--set", "listen=nowhere", code=1))


if __name__ == "__main__":
    main()
