"""scripts/release, with the part that is built at once: checksums, SBOM, notes, and what it refuses."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
import unittest

from building import ROOT, main, run


class Release(unittest.TestCase):
    """In a copy of the repository, which has only what is committed."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="pyrometer-release-")
        cls.addClassCleanup(cls._folder.cleanup)
        cls.copy = os.path.join(cls._folder.name, "copy")
        run("git", "clone", "--quiet", ROOT, cls.copy)

    def release(self, *words):
        done = subprocess.run([os.path.join(self.copy, "scripts", "release"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_it_writes_checksums_sbom_and_notes(self):
        folder = os.path.join(self._folder.name, "out")
        code, made, said = self.release("--out", folder, "helm")
        self.assertEqual(code, 0, said)
        self.assertEqual(sorted(made), sorted(os.path.join(folder, name) for name in os.listdir(folder)))
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
        chart = next(path for path in made if path.endswith(".tgz"))
        with open(next(path for path in made if path.endswith(".spdx.json")), encoding="utf-8") as file:
            sbom = json.load(file)
        self.assertEqual(sbom["spdxVersion"], "SPDX-2.3")
        names = {part["name"]: part for part in sbom["packages"]}
        for name in ("pyrometer", "gnutls28", "libbpf", "musl", "curl", "d3-hierarchy"):
            self.assertIn(name, names)
        ids = [part["SPDXID"] for part in sbom["packages"] + sbom["files"]] + ["SPDXRef-DOCUMENT"]
        self.assertEqual(len(ids), len(set(ids)))
        for name in ids:
            self.assertRegex(name, r"^SPDXRef-[A-Za-z0-9.-]+$")
        for relation in sbom["relationships"]:
            self.assertIn(relation["spdxElementId"], ids)
            self.assertIn(relation["relatedSpdxElement"], ids)
        with open(chart, "rb") as file:
            data = file.read()
        # SPDX 2.3 wants SHA-1 of every file.
        self.assertEqual({sum["algorithm"]: sum["checksumValue"] for sum in sbom["files"][0]["checksums"]},
                         {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()})
        with open(os.path.join(folder, "release-notes.md"), encoding="utf-8") as file:
            notes = file.read()
        self.assertRegex(notes, r"^# Pyrometer \d+\.\d+\.\d+\n\n###")
        self.assertNotRegex(notes, r"(?m)^## ")

    def test_it_refuses_what_is_not_committed_or_has_no_notes(self):
        path = os.path.join(self.copy, "CMakeLists.txt")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            code, made, said = self.release("helm")
            self.assertEqual((code, made), (1, []))
            self.assertIn("not committed", said)
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"(pyrometer VERSION )[\d.]+", r"\g<1>99.0.0", text))
            code, made, said = self.release("helm")
            self.assertEqual((code, made), (1, []))
            self.assertIn("no section about 99.0.0", said)
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def test_unknown_words_are_refused(self):
        self.assertEqual(self.release("rpm")[0], 2)


if __name__ == "__main__":
    main()
