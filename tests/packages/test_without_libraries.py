"""The program without the libraries that the build may lack: it builds, works, and says what it cannot do.

Each library is hidden from pkg-config: its folder has links to all descriptions but one.
"""

import json
import os
import sys
import tempfile
import unittest

from building import ROOT, main, run

sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
from harness import Live, Process  # pylint: disable=wrong-import-position

BUILD_SECONDS = 1500
CODE = "print('READY', flush=True)\nwhile True: sorted(range(100000), key=str)"
REMOTE = ("--engine", "remote", "--stop", "always")


def descriptions():
    """The files that pkg-config finds: name -> path. The first folder that has one counts."""
    folders = run("pkg-config", "--variable", "pc_path", "pkg-config").strip().split(":")
    folders = os.environ.get("PKG_CONFIG_PATH", "").split(":") + folders
    return {name: os.path.join(folder, name) for folder in reversed(folders) if os.path.isdir(folder)
            for name in os.listdir(folder) if name.endswith(".pc")}


class Without(unittest.TestCase):
    """A build in a folder that all of them use, so that the second one compiles little."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="pyrometer-without-")
        cls.addClassCleanup(cls._folder.cleanup)
        cls.folder = cls._folder.name

    def build(self, missing):
        """The output of CMake."""
        found = os.path.join(self.folder, "without-" + missing)
        os.mkdir(found)
        for name, path in descriptions().items():
            if name != missing + ".pc":
                os.symlink(path, os.path.join(found, name))
        environment = {name: value for name, value in os.environ.items() if name != "PKG_CONFIG_PATH"}
        environment["PKG_CONFIG_LIBDIR"] = found
        build = os.path.join(self.folder, "build")
        # The cache has what an earlier build has found.
        cache = os.path.join(build, "CMakeCache.txt")
        if os.path.exists(cache):
            os.unlink(cache)
        said = run("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Debug", "-DPYROMETER_WERROR=ON",
                   env=environment)
        run("cmake", "--build", build, "--target", "pyrometer", env=environment, timeout=BUILD_SECONDS)
        self.program = os.path.join(build, "pyrometer")
        return said

    def links(self):
        return run("readelf", "--dynamic", self.program)

    def record(self, *words):
        """The exit code of a recording of a program of ours, and what it printed to stderr."""
        with Process([sys.executable, "-c", CODE]) as target:
            target.wait_ready()
            with Process([self.program, "record", str(target.pid), "-d", "0.3", "--collapsed", *words]) as recording:
                code = recording.wait()
        if code == 3:
            self.skipTest(recording.err[-1])
        return code, "\n".join(recording.err)

    def test_without_libbpf_there_is_the_remote_engine(self):
        self.assertIn("libbpf 1.0 or later was not found: built without the kernel engine", self.build("libbpf"))
        self.assertNotIn("libbpf", self.links())
        self.assertIn("libdw", self.links())
        self.assertIn("\nbuilt without libbpf: ", run(self.program, "--version"))
        quality = os.path.join(self.folder, "quality.json")
        code, text = self.record("-o", os.devnull, "--quality", quality)
        self.assertEqual(code, 0, text)
        with open(quality, encoding="utf-8") as file:
            counted = json.load(file)
        self.assertEqual(counted["engine"], "remote")
        self.assertIn("built without libbpf", counted["engine_reason"])
        self.assertGreater(counted["samples"], 0)
        code, text = self.record("--engine", "kernel", "-o", os.devnull)
        self.assertEqual(code, 1, text)
        self.assertIn("this build has no kernel engine: it was built without libbpf 1.0 or later", text)

    def test_without_libdw_native_functions_have_names_and_no_lines(self):
        self.assertIn("libdw was not found: built without source lines of native functions", self.build("libdw"))
        self.assertNotIn("libdw", self.links())
        self.assertIn("libbpf", self.links())
        self.assertIn("\nbuilt without libdw: ", run(self.program, "--version"))
        folded = os.path.join(self.folder, "native.folded")
        code, text = self.record("--native=full", *REMOTE, "--native-frames", "everything", "-o", folded)
        self.assertEqual(code, 0, text)
        with open(folded, encoding="utf-8") as file:
            self.assertIn("Py_RunMain", file.read())
        with Process([sys.executable, "-c", CODE]) as target:
            target.wait_ready()
            with Live("attach", str(target.pid), "--native=full", *REMOTE, path=self.program) as live:
                def functions():
                    tree = live.get("/sessions/1/tree")
                    return [tree["strings"]["values"][name] for name in tree["functions"]["name"]]
                live.wait_until(lambda: "Py_RunMain" in functions())
                answer = live.ask("/api/v1/sessions/1/source?function=%d" % functions().index("Py_RunMain"))
                self.assertEqual(answer.status, 501, answer.body)
                self.assertIn("built without libdw", answer.json()["detail"])

    def test_without_libcurl_nothing_is_pushed(self):
        self.assertIn("libcurl 7.85 or later was not found: built without pushing profiles", self.build("libcurl"))
        self.assertNotIn("libcurl", self.links())
        self.assertIn("\nbuilt without libcurl: ", run(self.program, "--version"))
        code, text = self.record("-o", os.devnull)
        self.assertEqual(code, 0, text)
        code, text = self.record("--push", "otlp://127.0.0.1:1", "-o", os.devnull)
        self.assertEqual(code, 1, text)
        self.assertIn("this build cannot push profiles: it was built without libcurl 7.85 or later", text)


if __name__ == "__main__":
    main()
