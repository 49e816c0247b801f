#!/usr/bin/env python3
"""Writes the files of this folder again, with the tools of today.

Usage: record.py TOOLS PYTHONS [FOLDER]

TOOLS: the prefix of a virtual environment of python3.11 with py-spy, austin-dist 3.7, austin-python and viztracer; below firefox/, the package firefox-esr
and what it needs, unpacked. PYTHONS: a folder with python3.8, python3.11, python3.13 and python3.15. What a tool is missing for is left as it is. austin-4.mojo is of austin-dist 4.0, which needs
glibc 2.38: it ran with the loader of a newer Debian in the same root. The tools run in a root of their own (bubblewrap),
where this folder is /srv/app and an interpreter /opt/python3.11, so that no file can name a folder of this machine; its environment is empty.
"""

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ["program.py", "calls.py", "calls.js", "calls.html", "program.go"]
VERSIONS = ["3.8", "3.11", "3.13", "3.15"]
# The tools write here; what is whole goes to the folder.
OUT = "/srv/out/"


def python(version, *arguments):
    return ["/opt/python%s/bin/python%s" % (version, version), "-S", *arguments]


def commands():
    target = ["program.py", "0.6"]

    def tool(name, *arguments):
        return python("3.11", "/opt/tools/bin/" + name, *arguments)

    def py_spy(form, name, *options):
        return ["/opt/tools/bin/py-spy", "record", "-r", "100", *options, "-f", form, "-o", OUT + name, "--", *python("3.11"), *target]

    def tachyon(form, name):
        return python("3.15", "-m", "profiling.sampling", "run", "-a", "-r", "500", "--" + form, "-o", OUT + name, *target)

    yield py_spy("raw", "py-spy.folded")
    yield py_spy("raw", "py-spy-threads.folded", "-t", "-s", "-i")
    yield py_spy("speedscope", "py-spy.speedscope.json", "-t")
    yield py_spy("chrometrace", "py-spy.trace.json", "-t")
    yield ["/opt/tools/bin/austin", "-i", "10000", "-o", OUT + "austin.folded", *python("3.11"), *target]
    yield ["/opt/tools/bin/austin", "-b", "-i", "10000", "-o", OUT + "austin.mojo", *python("3.11"), *target]
    yield tool("mojo2austin", OUT + "austin.mojo", OUT + "austin.mojo.folded")
    yield [os.path.realpath(shutil.which("go") or "go"), "run", "program.go", OUT + "go-cpu.pb.gz", OUT + "go-heap.pb.gz"]
    yield tool("austin2pprof", OUT + "austin.folded", OUT + "austin.pb")
    yield tachyon("collapsed", "tachyon.folded")
    yield tachyon("gecko", "tachyon.gecko.json")
    yield tachyon("pstats", "tachyon.pstats")
    yield tachyon("binary", "tachyon.bin")
    yield python("3.15", "-m", "profiling.sampling", "replay", "--collapsed", "-o", OUT + "tachyon.bin.folded", OUT + "tachyon.bin")
    yield python("3.8", "-m", "cProfile", "-o", OUT + "cprofile-3.8.pstats", "program.py", "0.1")
    yield python("3.13", "-m", "cProfile", "-o", OUT + "cprofile-3.13.pstats", "program.py", "0.1")
    yield python("3.11", "-m", "profile", "-o", OUT + "profile.pstats", "calls.py")
    yield tool("viztracer", "--quiet", "--ignore_c_function", "--min_duration", "2us", "-o", OUT + "viztracer.json", "calls.py")
    yield ["node", "--cpu-prof", "--cpu-prof-dir=/tmp", "--trace-event-categories", "disabled-by-default-v8.cpu_profiler",
           "--trace-event-file-pattern=" + OUT + "node.trace.json", "calls.js"]
    firefox = "/opt/tools/firefox/usr/lib/"
    yield ["env", "LD_LIBRARY_PATH=%sx86_64-linux-gnu:%sfirefox-esr" % (firefox, firefox), "MOZ_PROFILER_STARTUP=1", "MOZ_PROFILER_STARTUP_ENTRIES=16777216",
           "MOZ_PROFILER_STARTUP_FEATURES=js,nomarkerstacks", "MOZ_PROFILER_STARTUP_FILTERS=GeckoMain", "MOZ_PROFILER_STARTUP_INTERVAL=100",
           "MOZ_PROFILER_SHUTDOWN=%sfirefox.json" % OUT, firefox + "firefox-esr/firefox-esr", "--no-remote", "--headless", "--screenshot", "/tmp/page.png",
           "file:///srv/app/calls.html"]
    yield ["node", "--cpu-prof", "--cpu-prof-dir=" + OUT, "--cpu-prof-name=node.cpuprofile", "calls.js"]


def sandbox(tools, pythons, programs, out):
    """The start of a command that runs one in a root with nothing of this machine but its /usr, and the tools under names of their own."""
    words = ["bwrap", "--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp", "--setenv", "PYTHONPATH", "/opt/tools/lib/python3.11/site-packages",
             "--setenv", "PYTHONDONTWRITEBYTECODE", "1", "--setenv", "LD_LIBRARY_PATH", "/opt/python3.8/lib",
              "--unshare-pid", "--unshare-uts", "--hostname", "host", "--tmpfs", "/", "--ro-bind", "/usr", "/usr"]
    for name in ("lib", "lib64", "bin"):
        words += ["--symlink", "usr/" + name, "/" + name]
    for version in VERSIONS:
        found = os.path.realpath(os.path.join(pythons, "python" + version))
        prefix = os.path.dirname(os.path.dirname(found))
        # The prefix stays where it is as well: some interpreters name their loader and their libraries by that.
        words += ["--ro-bind", prefix, "/opt/python" + version, "--ro-bind", prefix, prefix]
    return words + ["--ro-bind", os.path.abspath(tools), "/opt/tools", "--ro-bind", programs, "/srv/app", "--bind", out, "/srv/out",
                    "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/srv/app", "--"]


def shorten(path):
    """Packs a raw profile of Firefox, without its markers and its lists of libraries, which are most of it."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    for process in [document, *document["processes"]]:
        process["libs"], process["meta"]["markerSchema"] = [], []
        for thread in process["threads"]:
            thread["markers"]["data"] = []
    with gzip.GzipFile(path + ".gz", "wb", mtime=0) as file:
        file.write(json.dumps(document, separators=(",", ":")).encode())
    os.remove(path)


def names_machine(path, names):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = zlib.decompress(data, 47)
    return [name for name in names if name.encode() in data]


def main(arguments):
    tools, pythons = arguments[:2]
    folder = arguments[2] if len(arguments) > 2 else HERE
    with tempfile.TemporaryDirectory() as programs, tempfile.TemporaryDirectory() as out:
        for name in PROGRAMS:
            shutil.copy(os.path.join(HERE, name), programs)
        start = sandbox(tools, pythons, programs, out)
        for command in commands():
            if subprocess.call(start + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) != 0:
                print("failed: " + " ".join(command), file=sys.stderr)
        if os.path.exists(os.path.join(out, "firefox.json")):
            shorten(os.path.join(out, "firefox.json"))
        names = [os.path.abspath(tools), os.path.abspath(pythons), os.path.realpath(HERE), os.path.expanduser("~/"), programs, out, socket.gethostname()]
        for name in sorted(os.listdir(out)):
            path = os.path.join(out, name)
            found = names_machine(path, names)
            if found:
                sys.exit("%s names %s of this machine: nothing of it was kept" % (name, ", ".join(found)))
            shutil.copyfile(path, os.path.join(folder, name))


if __name__ == "__main__":
    main(sys.argv[1:])
