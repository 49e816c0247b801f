"""Names of native functions where tools leave them: in a file beside the library, compressed in the library, and in what
Python itself writes for perf. A hostile target may put other things at these places."""

import json
import lzma
import os
import shutil
import subprocess
import tempfile

import harness
from harness import Test, file_in, main, pythons, run_program, skip_without_kernel_engine

LIBRARY = os.environ["PYROMETER_SYMBOLS_WORK"]
SECONDS = 1
RATE_HZ = 300
HIDDEN, EXPORTED = "hidden_spin", "run_spin"
# The loop of the victim.
SPIN = """
import ctypes, os, sys
if len(sys.argv) > 2:
    os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
run = ctypes.PyDLL(sys.argv[1]).run_spin
print("READY", flush=True)
while True:
    run(2000000)
"""
PYTHON_SPIN = """
def inner(count):
    return sum(number * number for number in range(count))
def callback(number):
    inner(100)
    return number
def outer():
    sorted(range(100), key=callback)
print("READY", flush=True)
while True:
    outer()
"""
STRANGER = 54321
# The share of trampolines without a name: those that Python has not yet written to the file.
MAX_UNNAMED = 0.05


def objcopy(*words):
    subprocess.run(["objcopy", *words], check=True)


class Symbols(Test):
    def setUp(self):
        # Not below /tmp/pyrometer-..., which others may not enter.
        self.folder = tempfile.mkdtemp(prefix="symbols-")
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder)
        self.script = self.put("spin.py", SPIN.encode())
        self.library, self.debug = self.path("work.so"), self.path("work.so.debug")
        if harness.ENGINE == "kernel":
            skip_without_kernel_engine()

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def need(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest("no " + tool)

    def separate(self):
        """A stripped library, and a file with what was taken from it."""
        self.need("objcopy")
        objcopy("--only-keep-debug", LIBRARY, self.debug)
        objcopy("--strip-all", "--add-gnu-debuglink=" + self.debug, LIBRARY, self.library)

    def record(self, script, *words, python=None, interpreter=()):
        """The labels below each other: one list for each stack, and the frames of the same recording with their places."""
        folded, places = file_in("symbols.folded"), file_in("symbols.speedscope")
        stop = ("--stop", "always") if harness.ENGINE == "remote" else ()
        command = [python or harness.newest_python(), *interpreter, script, *words]
        with harness.Process(command) as target:
            target.wait_ready()
            process, code = run_program("record", str(target.pid), "-d", str(SECONDS), "-r", str(RATE_HZ), "--native=full", *stop,
                                        "--native-frames", "everything", "--idle", "--waits=off", "--hide", "^no_such_function$", "--collapsed=" + folded, "--speedscope=" + places,
                                        seconds=SECONDS + harness.WAIT_SECONDS)
            self.assertEqual(code, 0, process.output())
            self.files_of(target.pid)
        stacks = []
        with open(folded, encoding="utf-8") as file:
            for line in file:
                labels, count = line.rstrip("\n").rsplit(" ", 1)
                stacks.append((labels.split(";"), int(count)))
        with open(places, encoding="utf-8") as file:
            return stacks, json.load(file)["shared"]["frames"]

    def files_of(self, pid):
        """Files that Python has written for perf go with the process."""
        self.perf_files = [path for path in ("/tmp/perf-%d.map" % pid, "/tmp/jit-%d.dump" % pid) if os.path.exists(path)]
        for path in self.perf_files:
            os.unlink(path)

    def names(self, *words):
        """Names of the library's functions, and their places."""
        stacks, places = self.record(self.script, self.library, *words)
        return {label.split(":", 1)[1].rsplit(":", 1)[0] for labels, _ in stacks for label in labels if label.startswith("work.so:")}, places

    def expect(self, hidden, *words):
        names, places = self.names(*words)
        self.assertIn(EXPORTED, names)
        self.assertEqual(HIDDEN in names, hidden, names)
        return {frame["name"]: (frame.get("file"), frame.get("line")) for frame in places}


class Separate(Symbols):
    def test_the_file_that_the_library_links_to(self):
        self.separate()
        self.expect(True)
        os.mkdir(self.path(".debug"))
        os.rename(self.debug, self.path(".debug/work.so.debug"))
        self.expect(True)

    def test_none(self):
        self.separate()
        os.unlink(self.debug)
        self.expect(False)

    def test_a_copy_has_the_name_of_its_function(self):
        shutil.copy(LIBRARY, self.library)
        names, _ = self.names()
        self.assertEqual(names, {EXPORTED, HIDDEN, "spin::inner(int)"})

    def test_compressed_in_the_library(self):
        """As Fedora does it: only functions, compressed."""
        self.separate()
        small = self.path("small")
        objcopy("--strip-all", "--keep-symbol=" + HIDDEN, self.debug, small)
        os.unlink(self.debug)
        with open(small, "rb") as file:
            packed = self.put("small.xz", lzma.compress(file.read()))
        objcopy("--add-section", ".gnu_debugdata=" + packed, self.library)
        self.expect(True)
        # Ends in the middle.
        with open(packed, "rb+") as file:
            file.truncate(os.path.getsize(packed) // 2)
        objcopy("--update-section", ".gnu_debugdata=" + packed, self.library)
        self.expect(False)

    def test_places_have_the_names_that_the_build_gave_them(self):
        if os.environ.get("PYROMETER_HAS_LINES") != "1":
            self.skipTest("built without libdw")
        self.separate()
        places = self.expect(True)
        for name in (HIDDEN, EXPORTED):
            path, line = places[name]
            self.assertEqual(os.path.normpath(path), "symbols_work.c", places)
            self.assertGreater(line, 0)


class Hostile(Symbols):
    def test_what_is_no_file(self):
        self.separate()
        os.unlink(self.debug)
        os.mkfifo(self.debug)
        self.expect(False)
        for target in (self.debug, "/dev/zero", "/proc/self/exe", self.folder, "nowhere"):
            os.unlink(self.debug)
            os.symlink(target, self.debug)
            self.expect(False)

    def test_damaged(self):
        self.separate()
        with open(self.debug, "rb") as file:
            whole = file.read()
        for damaged in (b"", whole[:64], whole[:len(whole) // 2], whole[:64] + b"\xff" * (len(whole) - 64)):
            self.put("work.so.debug", damaged)
            self.expect(False)
        # A hole of a terabyte.
        os.truncate(self.debug, 1 << 40)
        self.expect(False)

    def test_names_that_stand_for_work_without_end(self):
        """Each part of a type is two of the part before, and a pack is searched in it; so many lifetimes are bound."""
        self.need("objcopy")
        digits, count = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 40
        number = lambda value: digits[value // 36] * (value >= 36) + digits[value % 36]
        doubled = "".join("S%s_E" % number(count + i) for i in range(count - 1))
        for name in ("_Z1fIiEvDp" + "1aI" * count + "iiE" + doubled, "_RYFGzzzzzzzz_EuC1aE"):
            objcopy("--redefine-sym", HIDDEN + "=" + name, LIBRARY, self.library)
            names, _ = self.names()
            self.assertIn(name, names)
            self.assertIn(EXPORTED, names)

    def test_a_file_that_only_we_may_read(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.separate()
        os.chmod(self.debug, 0o600)
        self.expect(True)
        self.expect(False, str(STRANGER))
        os.chmod(self.debug, 0o644)
        self.expect(True, str(STRANGER))


class Perf(Symbols):
    """Python has a function of its own for each Python function then. It has a name, so it is known to be of no interest."""

    def run_with(self, option, least_minor, owner=None):
        script = self.put("python_spin.py", PYTHON_SPIN.encode())
        found = {python.minor: python for python in pythons() if python.is_supported and python.minor >= least_minor and not python.kind[1]}
        if not found:
            self.skipTest("no interpreter with -X " + option)
        for python in found.values():
            with self.subTest(python=python.version):
                stacks, _ = self.record(script, python=python.path, interpreter=("-X", option))
                if not self.perf_files:
                    self.skipTest("this Python writes nothing for perf")
                total = sum(count for _, count in stacks)
                self.assertTrue(any("python_spin.py:callback" in label for labels, _ in stacks for label in labels))
                unnamed = sum(count for labels, count in stacks if any("[unknown]" in label for label in labels))
                self.assertLessEqual(unnamed, MAX_UNNAMED * total)

    def test_map(self):
        self.run_with("perf", 12)

    def test_dump(self):
        self.run_with("perf_jit", 13)


if __name__ == "__main__":
    main()
