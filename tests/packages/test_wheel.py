"""The wheel, installed into fresh environments of every version: command line, recordings of a block, notebook, pytest."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from building import Built, build, main, run
from installed import Installed, debian, enter
from harness import pythons

USE = '''
import os, sys, time
import pyrometer

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sorted(range(10000), key=str)

@pyrometer.record("each.folded", "--engine", "remote", "--stop", "always")
def decorated():
    work(0.5)
    return 7

with pyrometer.record("block.folded", "--engine", "remote", "--stop", "always") as recording:
    work(0.5)
assert decorated() == 7
os.unlink("each.folded")
assert decorated() == 7
assert os.path.exists("each.folded")
try:
    with pyrometer.record("block.folded", "--no-such-option"):
        raise AssertionError("it started")
except pyrometer.Error as error:
    assert "no-such-option" in str(error), error
try:
    with pyrometer.record("/no/such/folder/x.folded"):
        raise AssertionError("it started")
except pyrometer.Error as error:
    assert "/no/such/folder" in str(error), error
try:
    with pyrometer.record("raises.folded", "--engine", "remote"):
        work(0.2)
        raise KeyError("the exception of the block")
except KeyError:
    assert os.path.exists("raises.folded")
try:
    os.waitpid(-1, os.WNOHANG)
    raise AssertionError("a process is left")
except ChildProcessError:
    pass
'''
TESTS = '''
import time

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sorted(range(10000), key=str)

def test_slow(): work(1.5)
def test_quick(): pass
def test_that_fails(): assert False
'''
NOTEBOOK = ["%load_ext pyrometer",
            "%%pyrometer --engine remote\ndef work():\n    for _ in range(300): sorted(range(10000), key=str)\nwork()\nkept = 5",
            "assert kept == 5",
            "%%pyrometer --no-such-option\nkept = 6"]


def environment(folder, python, newest_pip=None):
    """The interpreter of a new virtual environment, and the words of pip for it: its own, or the one given."""
    has_pip = subprocess.run([python, "-c", "import ensurepip; ensurepip.version()"], stderr=subprocess.DEVNULL, check=False)
    inside = os.path.join(folder, "bin", "python")
    if has_pip.returncode == 0:
        run(python, "-m", "venv", folder)
        return inside, [inside, "-m", "pip"]
    run(python, "-m", "venv", "--without-pip", folder)
    if not newest_pip:
        raise unittest.SkipTest("%s has no ensurepip" % python)
    return inside, [*newest_pip, "--python", inside]


class Wheel(Built):
    kind = "wheel"

    def setUp(self):
        self.wheel = self.made[0]

    def new(self, name):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        return folder

    def from_registry(self, pip, *packages):
        """Installs them, or skips the test."""
        done = subprocess.run([*pip, "install", "--quiet", "--disable-pip-version-check", *packages], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            self.skipTest("could not install %s: %s" % (" ".join(packages), done.stdout.strip()[-300:]))

    def install(self, folder, python, newest_pip=None):
        inside, pip = environment(folder, python, newest_pip)
        run(*pip, "install", "--no-index", "--no-deps", "--disable-pip-version-check", self.wheel)
        return inside, pip

    def test_its_name_and_its_files_agree(self):
        self.assertRegex(os.path.basename(self.wheel),
                         r"^pyrometer-[\d.]+-py3-none-manylinux_2_17_x86_64\.musllinux_1_1_x86_64\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            info = next(name for name in names if name.endswith("/WHEEL"))
            self.assertEqual(re.findall(r"^Tag: (.*)$", wheel.read(info).decode(), re.M),
                             ["py3-none-manylinux_2_17_x86_64", "py3-none-musllinux_1_1_x86_64"])
            licences = [name for name in names if "/licenses/" in name]
            self.assertEqual(len(licences), 2)
            self.assertNotIn("__pycache__", " ".join(names))

    def test_a_second_build_is_equal(self):
        again = build("wheel", self.new("again"))[0]
        with open(self.wheel, "rb") as one, open(again, "rb") as two:
            self.assertTrue(one.read() == two.read())

    def test_twine_finds_no_fault(self):
        inside, pip = environment(self.new("twine"), sys.executable)
        self.from_registry(pip, "twine")
        self.assertIn("PASSED", run(inside, "-m", "twine", "check", "--strict", self.wheel))

    def test_it_records_blocks_of_every_version(self):
        found = [python for python in pythons() if python.is_supported and python.kind[1] == ""]
        self.assertTrue(found)
        _, newest_pip = environment(self.new("pip"), sys.executable)
        # An older one does not run on newer versions of Python.
        self.from_registry(newest_pip, "--upgrade", "pip")
        for version, path in {python.minor: (python.version, python.path) for python in found}.values():
            with self.subTest(version):
                folder = self.new("python" + version)
                inside, _ = self.install(os.path.join(folder, "venv"), path, newest_pip)
                self.assertRegex(run(inside, "-m", "pyrometer", "--version"), r"^pyrometer \d")
                self.assertRegex(run(os.path.join(folder, "venv", "bin", "pyrometer"), "--version"), r"^pyrometer \d")
                run(inside, "-c", USE, cwd=folder)
                for name in ("block", "each"):
                    with open(os.path.join(folder, name + ".folded"), encoding="utf-8") as file:
                        stacks = [line for line in file if re.search(r"\bwork\b", line)]
                    # Samples of half a second; a busy machine takes few of them.
                    self.assertGreater(sum(int(line.split()[-1]) for line in stacks), 10, name)

    def test_it_runs_from_a_target_folder(self):
        folder = os.path.join(self.folder, "target")
        run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", folder, self.wheel)
        self.assertRegex(run(sys.executable, "-m", "pyrometer", "--version", env={"PYTHONPATH": folder}), r"^pyrometer \d")

    def test_pip_takes_it_for_either_c_library_and_for_no_other_system(self):
        other = build("wheel-aarch64", self.new("aarch64"))[0]
        for platform, code, code_of_other in (("manylinux_2_17_x86_64", 0, 1), ("musllinux_1_1_x86_64", 0, 1), ("win_amd64", 1, 1),
                                              ("manylinux_2_17_aarch64", 1, 0), ("musllinux_1_1_aarch64", 1, 0)):
            for wheel, expected in ((self.wheel, code), (other, code_of_other)):
                with self.subTest(wheel=os.path.basename(wheel), platform=platform), tempfile.TemporaryDirectory(dir=self.folder) as folder:
                    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-index", "--no-deps",
                                           "--only-binary=:all:", "--disable-pip-version-check", "--platform", platform, "--dest", folder,
                                           wheel], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                    self.assertEqual(done.returncode, expected, done.stdout)

    def test_uvx_runs_it(self):
        inside, pip = environment(self.new("uv"), sys.executable)
        self.from_registry(pip, "uv")
        own = {**os.environ, "UV_CACHE_DIR": self.new("uv-cache"), "UV_TOOL_DIR": self.new("uv-tools")}
        self.assertRegex(run(inside, "-m", "uv", "tool", "run", "--offline", "--from", self.wheel, "pyrometer", "--version", env=own),
                         r"^pyrometer \d")

    def test_it_works_beside_an_old_c_library(self):
        root = debian("bullseye", self.folder, "python3-venv")
        inside = enter(root)
        shutil.copy(self.wheel, os.path.join(root, "tmp"))
        run(*inside, "python3", "-m", "venv", "/venv")
        run(*inside, "/venv/bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", "/tmp/" + os.path.basename(self.wheel))
        with open(os.path.join(root, "tmp", "use.py"), "w", encoding="utf-8") as file:
            file.write(USE)
        run(*inside, "env", "--chdir=/tmp", "/venv/bin/python", "use.py")
        Installed(self, "/venv/bin/pyrometer", inside, os.path.join(root, "tmp"), "/tmp", "/venv/bin/python").do_everything()

    def test_a_notebook_shows_the_profile_of_a_cell(self):
        folder = self.new("notebook")
        inside, pip = self.install(os.path.join(folder, "venv"), sys.executable)
        self.from_registry(pip, "nbclient", "ipykernel")
        run(inside, "-m", "ipykernel", "install", "--prefix", os.path.join(folder, "venv"))
        cells = [{"cell_type": "code", "id": "c%d" % at, "metadata": {}, "source": source, "outputs": [], "execution_count": None}
                 for at, source in enumerate(NOTEBOOK)]
        path = os.path.join(folder, "cells.ipynb")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"cells": cells, "metadata": {"kernelspec": {"name": "python3", "display_name": "", "language": "python"}},
                       "nbformat": 4, "nbformat_minor": 5}, file)
        execute = ("import nbformat, nbclient, sys; book = nbformat.read(sys.argv[1], 4); "
                   "nbclient.NotebookClient(book, allow_errors=True, timeout=120).execute(); nbformat.write(book, sys.argv[1])")
        run(inside, "-c", execute, path, cwd=folder)
        with open(path, encoding="utf-8") as file:
            outputs = [cell["outputs"] for cell in json.load(file)["cells"]]
        self.assertEqual([outputs[0], outputs[2]], [[], []])
        self.assertEqual(len(outputs[1]), 1, outputs[1])
        page = "".join(outputs[1][0]["data"]["text/html"])
        self.assertRegex(page, r'^<iframe srcdoc="&lt;!')
        self.assertGreater(len(page), 200_000)
        self.assertEqual([output["output_type"] for output in outputs[3]], ["stream"])
        self.assertIn("no-such-option", "".join(outputs[3][0]["text"]))

    def test_pytest_profiles_the_run_and_slow_tests(self):
        folder = self.new("tests")
        inside, pip = self.install(os.path.join(folder, "venv"), sys.executable)
        self.from_registry(pip, "pytest")
        with open(os.path.join(folder, "test_it.py"), "w", encoding="utf-8") as file:
            file.write(TESTS)

        def pytest(*words):
            done = subprocess.run([inside, "-m", "pytest", "-p", "no:cacheprovider", *words, "test_it.py"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, cwd=folder, check=False)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("1 failed, 2 passed", done.stdout)
            return done.stdout
        options = "--pyrometer-options=--engine remote"
        self.assertNotIn("pyrometer ==", pytest())
        self.assertFalse([name for name in os.listdir(folder) if name.endswith(".html")])
        said = pytest("--pyrometer", "--pyrometer-slow=1", options)
        self.assertEqual(sorted(name for name in os.listdir(folder) if name.endswith(".html")),
                         ["pyrometer.html", "test_it.py-test_slow.html"], said)
        pytest("--pyrometer", "--pyrometer-output=run.pyro", options)
        said = pytest("--pyrometer", "--pyrometer-output=again.folded", "--pyrometer-slow=1", "--pyrometer-baseline=run.pyro", options)
        self.assertRegex(said, r"significant")
        with open(os.path.join(folder, "again.folded"), encoding="utf-8") as file:
            self.assertIn("test_slow", file.read())
        with open(os.path.join(folder, "test_it.py-test_slow.folded"), encoding="utf-8") as file:
            counts = [int(line.split()[-1]) for line in file if "test_slow" in line]
        # Samples of 1.5 s, of which the first and the last parts of a second may be left out.
        self.assertGreater(sum(counts), 500)
        said = pytest("--pyrometer", "--pyrometer-options=--no-such-option")
        self.assertIn("not profiled: ", said)


if __name__ == "__main__":
    main()
