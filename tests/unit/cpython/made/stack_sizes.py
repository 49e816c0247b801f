#!/usr/bin/env python3
"""Writes the bytecode of functions of the running interpreter, and how deep their stacks get.

Usage: stack_sizes.py [STEP]

Compiles every STEPth file (default 4) directly in the standard library. For each code object found, standard output gets
a record of native 32-bit numbers: version (PY_VERSION_HEX), count of code units, bytes of the exception table, stack size; then the
units and the table. Some of the functions have been run until they were specialised, and are given as they are then.
"""

import glob
import os
import struct
import sys
import types


def sources(step):
    folder = os.path.dirname(os.__file__)
    files = [path for path in sorted(glob.glob(os.path.join(folder, "*.py"))) if os.path.isfile(path)]
    for path in files[::step]:
        with open(path, "rb") as file:
            yield file.read(), path


def inside(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from inside(constant)


def wide(count):
    """A call with more arguments than a byte can count."""
    return "def wide(f): return f(%s)(1)" % ", ".join(["None"] * count)


def busy(numbers, text):
    total = 0
    table = {}
    for number in numbers:
        try:
            total += len(text) + int(str(number), 10) + max(number, total, key=lambda n: -n)
            table.setdefault(text[number % 5], []).append(number)
            if isinstance(total, str) or text in table or not number:
                continue
            total = sum([n for n in (1, 2, 3)], *[total % 1000])
        except ValueError as error:
            total = len(sorted({error}))
    return "%d %s %r" % (total, sorted(table), {**table})


def write(code):
    units = code._co_code_adaptive
    table = code.co_exceptiontable
    sys.stdout.buffer.write(struct.pack("=4I", sys.hexversion, len(units) // 2, len(table), code.co_stacksize) + units + table)


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    for _ in range(200):
        busy(range(50), "hello")
    for code in inside(busy.__code__):
        write(code)
    for code in inside(compile(wide(400), "wide", "exec")):
        write(code)
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            if isinstance(value, types.FunctionType):
                write(value.__code__)
    for source, path in sources(step):
        for code in inside(compile(source, path, "exec", dont_inherit=True)):
            write(code)


main()
