"""Interpreters that hide: embedded in programs, without symbols, without sections, beside others, below others."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import SANITIZED, Live, Process, Test, checks, main, pythons, run_program, why_no_kernel_engine

WAITS = r"import time\ndef waits():\n    print('READY', flush=True)\n    time.sleep(100)\nwaits()\n"

EMBEDS = r"""
#include <Python.h>
int main(void)
{
    Py_Initialize();
    return PyRun_SimpleString("%s");
}
""" % WAITS

# Libraries side by side, each with its own symbols: LIBRARY HOME...; one with a home is used, the last one runs.
LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        void *const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return fprintf(stderr, "%%s\n", dlerror()), 1;
        if (!*argv[i + 1])
            continue;
        setenv("PYTHONHOME", argv[i + 1], 1);
        ((void (*)(void))dlsym(library, "Py_Initialize"))();
        if (i + 3 >= argc)
            return ((int (*)(const char *))dlsym(library, "PyRun_SimpleString"))("%s");
    }
    return 1;
}
""" % WAITS

# Made and left: nobody is in it.
SUB_INTERPRETER = """
import time
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
interpreters.create()
def waits():
    print("READY", flush=True)
    time.sleep(100)
waits()
"""
KEPT_INTERPRETER = SUB_INTERPRETER.replace("\ninterpreters.create", "\nkept = interpreters.create")


def evaluate(python, *expressions):
    """Words that the interpreter says of how it was built."""
    code = "import sys, sysconfig as s; v = s.get_config_var; print(*%s, sep='\\n')" % ("(" + ", ".join(expressions) + ",)")
    done = subprocess.run([python.path, "-c", code], stdout=subprocess.PIPE, check=True, timeout=60)
    return done.stdout.decode().splitlines()


def compiled(text, path, *options):
    """True if there is a program now."""
    with open(path + ".c", "w", encoding="ascii") as file:
        file.write(text)
    return subprocess.run(["cc", path + ".c", "-o", path, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def embedding(python, folder):
    """A stripped program that links with the interpreter's library, and where that has its modules; None: it has none."""
    include, libraries, version, home = evaluate(python, "s.get_path('include')", "v('LIBDIR')", "v('LDVERSION')", "sys.prefix")
    path = os.path.join(folder, "embeds-" + python.version)
    is_built = os.path.exists(os.path.join(include, "Python.h")) and compiled(
        EMBEDS, path, "-s", "-I" + include, "-L" + libraries, "-Wl,-rpath," + libraries, "-lpython" + version)
    return (path, home) if is_built else None


def embedding_static(python, folder):
    """An unstripped program with the interpreter in it, and where that has its modules; None: it cannot be built."""
    include, home, archive, words = evaluate(
        python, "s.get_path('include')", "sys.prefix", "v('LIBPL') + '/' + v('LIBRARY')",
        "' '.join(v(name) or '' for name in ('LIBS', 'SYSLIBS', 'MODLIBS'))")
    path = os.path.join(folder, "static-" + python.version)
    is_built = os.path.exists(archive) and os.path.exists(os.path.join(include, "Python.h")) and compiled(
        EMBEDS, path, "-no-pie", "-Wl,-S", "-I" + include, archive, *words.split())
    return (path, home) if is_built else None


def pack_symbols(path):
    """Makes a copy without the section that is known, and with all symbols packed into one, as distributions do."""
    symbols, packed = path + ".debug", path + "-packed"
    for command in (["objcopy", "--only-keep-debug", path, symbols], ["xz", "-f", symbols],
                    ["objcopy", "--strip-all", "--rename-section", ".PyRuntime=.elsewhere", "--add-section",
                     ".gnu_debugdata=" + symbols + ".xz", path, packed]):
        subprocess.run(command, check=True, timeout=60)
    return packed


def take_symbols(path, keeps_sections):
    """Makes a copy with nothing that names anything; without its table of sections, too."""
    bare = path + ("-stripped" if keeps_sections else "-bare")
    subprocess.run(["objcopy", "--strip-all", "--rename-section", ".PyRuntime=.elsewhere", path, bare], check=True, timeout=60)
    if not keeps_sections:
        with open(bare, "r+b") as file:
            for offset, count in ((40, 8), (58, 6)):  # e_shoff; e_shentsize, e_shnum, e_shstrndx
                file.seek(offset)
                file.write(bytes(count))
    return bare


def each_minor():
    """The newest interpreter of each minor version."""
    return list({python.minor: python for python in pythons() if python.is_supported and python.kind[1] == ""}.values())


def some_minors():
    """The minors to test; below a sanitizer the first and the last of them."""
    found = each_minor()
    return found[::max(1, len(found) - 1)] if SANITIZED else found


class Discovery(Test):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def doctor(self, target):
        target.wait_ready()
        process, code = run_program("doctor", str(target.pid))
        self.assertEqual(code, 0, process.output())
        return checks(process)

    def assert_warned(self, target, process, text):
        said = [line for line in process.err if text in line]
        self.assertTrue(said and all("process %d: " % target.pid in line for line in said), process.output())

    def assert_found(self, target, version, way):
        found = self.doctor(target)
        self.assertRegex(found["Python"][1], r"^CPython %s in /.*, found by .*%s" % (version, way))
        self.assertRegex(found["stacks"][1], "^1 thread with 2 Python frames")
        self.assertNotIn("another", found)


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Embedded(Discovery):
    def test_libraries_in_programs_that_are_gone(self):
        programs = [(python, embedding(python, self.folder)) for python in some_minors()]
        programs = [(python, *built) for python, built in programs if built]
        if not programs:
            self.skipTest("no interpreter has headers and a library to embed")
        for python, path, home in programs:
            with self.subTest(python.version), Process([path], env={**os.environ, "PYTHONHOME": home}) as target:
                target.wait_ready()
                os.unlink(path)
                self.assert_found(target, python.version, "(section|symbol)")

    def test_what_has_no_symbols_is_found_in_its_memory(self):
        if not shutil.which("objcopy") or not shutil.which("xz"):
            self.skipTest("no objcopy or no xz")
        statics = [(python, embedding_static(python, self.folder)) for python in some_minors()]
        statics = [(python, *built) for python, built in statics if built]
        if not statics:
            self.skipTest("no interpreter has headers and a static library")
        for number, (python, path, home) in enumerate(statics):
            env = {**os.environ, "PYTHONHOME": home}
            way = "cookie" if python.minor >= 13 else "pointers"
            with self.subTest(python.version), Process([take_symbols(path, number % 2)], env=env) as target:
                self.assert_found(target, python.version, way)
        python, path, home = statics[0]
        with self.subTest("packed"), Process([pack_symbols(path)], env={**os.environ, "PYTHONHOME": home}) as target:
            self.assert_found(target, python.version, "symbol" if python.minor < 13 else ".")
        # A child that nobody has named is examined quickly.
        command = ["sh", "-c", "PYTHONHOME='%s' '%s-bare'; true" % (home, path)]
        with self.subTest("a child"), Process(command) as target:
            target.wait_ready()
            process, code = run_program("record", str(target.pid), "--subprocesses", "-d", "2", "--idle", "--waits=off", "--collapsed", "-o", "-")
            self.assertEqual(code, 0, process.output())
            self.assertTrue(any("waits" in line for line in process.out), process.output())
            with Live("serve", "--data", self.folder) as live:
                live.wait_until(lambda: (python.version, None) in [
                    (row["python"], row["reason"]) for row in live.get("/processes")["processes"]
                    if row["executable"].endswith("-bare")])
                self.assertEqual(live.stop(), 0)

    def test_the_library_that_runs_something_is_the_one(self):
        libraries = []
        for python in each_minor():
            if len(libraries) == 3:
                break
            folder, name, home = evaluate(python, "v('LIBDIR')", "v('INSTSONAME')", "sys.prefix")
            if ".so" in name and os.path.exists(os.path.join(folder, name)):
                libraries.append((python, os.path.join(folder, name), home))
        path = os.path.join(self.folder, "loads")
        if len(libraries) < 3 or not compiled(LOADS, path, "-ldl"):
            self.skipTest("no three interpreters are libraries")
        (_, unused, _), (idle, idle_path, idle_home), (runs, runs_path, runs_home) = libraries
        with Process([path, unused, "", idle_path, idle_home, runs_path, runs_home]) as target:
            found = self.doctor(target)
            self.assertIn("CPython %s in %s" % (runs.version, os.path.realpath(runs_path)), found["Python"][1])
            self.assertEqual(found["another"][0], "BYPASSED")
            self.assertRegex(found["another"][1], "CPython %s in .* runs nothing" % idle.version)
            process, code = run_program("record", str(target.pid), "-d", "1", "--idle", "--waits=off", "--collapsed", "-o", "-")
            self.assertEqual(code, 0, process.output())
            self.assertTrue(any("waits" in line for line in process.out), process.output())
            self.assert_warned(target, process, "another Python runs in this process, too, and is not sampled: CPython %s in %s" % (
                idle.version, os.path.realpath(idle_path)))
            capture = os.path.join(self.folder, "two.pyro")
            self.assertEqual(run_program("record", str(target.pid), "-d", "1", "-o", capture)[1], 0)
            for command in (("attach", str(target.pid)), ("serve", capture)):
                with Live(*command) as live:
                    (listed,) = live.wait_session(lambda session: session["targets"][0]["warnings"])["targets"]
                    self.assertEqual(len(listed["warnings"]), 1, listed)
                    self.assertIn("CPython %s in" % idle.version, listed["warnings"][0])


class Interpreters(Discovery):
    def test_a_sub_interpreter_that_nobody_is_in_hides_nothing(self):
        for python in some_minors():
            with self.subTest(python.version), Process([python.path, "-c", SUB_INTERPRETER]) as target:
                self.assert_found(target, python.version, "(section|symbol)")

    def test_those_that_the_kernel_engine_does_not_follow_are_named(self):
        reason = why_no_kernel_engine()
        if reason:
            self.skipTest(reason)
        for python in [python for python in some_minors() if python.minor in (11, 12, 8)] + [each_minor()[-1]]:
            with self.subTest(python.version), Process([python.path, "-c", KEPT_INTERPRETER]) as target:
                target.wait_ready()
                process, code = run_program("record", str(target.pid), "-d", "0.5", "--engine", "kernel", "--idle", "--waits=off", "--collapsed", "-o", "-")
                self.assertEqual(code, 0, process.output())
                if python.minor < 13:
                    self.assert_warned(target, process, "what its sub-interpreters run is not sampled: the kernel engine")
                else:
                    self.assertNotIn("sub-interpreters", process.output())
                process, code = run_program("record", str(target.pid), "-d", "0.5", "--engine", "auto", "--idle", "--waits=off", "--collapsed", "-o", "-")
                self.assertEqual(code, 0, process.output())
                self.assertNotIn("is not sampled", process.output())


if __name__ == "__main__":
    main()
