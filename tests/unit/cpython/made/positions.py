#!/usr/bin/env python3
"""Writes location tables of the running interpreter, and what it makes of them itself.

Usage: positions.py [STEP]

Compiles every STEPth file (default 4) directly in the standard library, and some lines that are hard to place; with
PYROMETER_ALL_POSITIONS in the environment all of the library, packages too, which takes minutes. For each code object
found, standard output gets a record of native 32-bit numbers: bytes of the location table, first line, and count of
code units; then the table; then four numbers for each code unit: line, last line, column, last column, as
co_positions() gives them, with 0 for an unknown line and -1 for an unknown column. Until 3.10 there are lines only,
from co_lines() or dis.
"""

import dis
import glob
import os
import struct
import sys
import types

HARD = """
def far_right(a):
    return %sa + a * a

def many_lines(a):
    return (a +
%s
        a)

def back(a, b):
    for x in (a,
              b): yield x
    with open(a) as f, open(b) as g: return [y for y in f if y
        in g]

class Empty: pass
async def waits(a): return await a, [z async for z in a]
""" % (" " * 200, "\n" * 700)


def sources(step):
    folder = os.path.dirname(os.__file__)
    is_all = "PYROMETER_ALL_POSITIONS" in os.environ
    pattern = os.path.join(folder, "**", "*.py") if is_all else os.path.join(folder, "*.py")
    files = [path for path in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(path)]
    for path in files[::1 if is_all else step]:
        # Not of this version, or wrong on purpose.
        if "site-packages" not in path and "lib2to3/tests/data" not in path and "/test/bad" not in path:
            with open(path, "rb") as f:
                yield f.read(), path
    yield HARD, "hard"


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def numbers(position):
    line, last_line, column, last_column = position
    return (line or 0, last_line or 0, -1 if column is None else column, -1 if last_column is None else last_column)


def lines_of(code):
    """The line of each code unit, from an interpreter that knows no columns."""
    units = len(code.co_code) // 2
    lines = [0] * units
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            lines[start // 2:end // 2] = [line or 0] * (end // 2 - start // 2)
    else:
        for start, line in dis.findlinestarts(code):
            lines[start // 2:] = [line] * (units - start // 2)
    return lines


def table_of(code):
    return code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab


def positions_of(code):
    if hasattr(code, "co_positions"):
        return code.co_positions()
    return [(line, line, None, None) for line in lines_of(code)]


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    for source, path in sources(step):
        try:
            top = compile(source, path, "exec", dont_inherit=True)
        except SyntaxError:
            if "/test/" in path:
                continue
            raise
        for code in codes(top):
            positions = [number for position in positions_of(code) for number in numbers(position)]
            table = table_of(code)
            sys.stdout.buffer.write(struct.pack("=IiI", len(table), code.co_firstlineno, len(positions) // 4) + table
                                    + struct.pack("=%di" % len(positions), *positions))


if __name__ == "__main__":
    main()
