#!/usr/bin/env python3
"""Writes the files of this folder again, with the tools of today.

Usage: record.py TOOLS PYTHONS [FOLDER]

TOOLS: the bin folder of a virtual environment with py-spy, austin-dist, austin-python and viztracer. PYTHONS: a folder with python3.11 and
python3.15. What a tool is missing for is left as it is.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def commands(tools, pythons, folder):
    python, newest = os.path.join(pythons, "python3.11"), os.path.join(pythons, "python3.15")
    target = ["program.py", "0.6"]

    def to(name):
        return os.path.join(folder, name)

    def py_spy(form, name, *options):
        return [os.path.join(tools, "py-spy"), "record", "-r", "100", *options, "-f", form, "-o", to(name), "--", python, *target]

    def tachyon(form, name):
        return [newest, "-m", "profiling.sampling", "run", "-a", "-r", "500", "--" + form, "-o", to(name), *target]

    yield py_spy("raw", "py-spy.folded")
    yield py_spy("raw", "py-spy-threads.folded", "-t", "-s", "-i")
    yield py_spy("speedscope", "py-spy.speedscope.json", "-t")
    yield [os.path.join(tools, "austin"), "-i", "10000", "-o", to("austin.folded"), python, *target]
    yield ["go", "run", "program.go", to("go-cpu.pb.gz"), to("go-heap.pb.gz")]
    yield [os.path.join(tools, "austin2pprof"), to("austin.folded"), to("austin.pb")]
    yield tachyon("collapsed", "tachyon.folded")
    yield tachyon("binary", "tachyon.bin")
    yield [newest, "-m", "profiling.sampling", "replay", "--collapsed", "-o", to("tachyon.bin.folded"), to("tachyon.bin")]


def main(arguments):
    folder = arguments[2] if len(arguments) > 2 else HERE
    for command in commands(arguments[0], arguments[1], folder):
        if subprocess.call(command, cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) != 0:
            print("failed: " + " ".join(command), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
