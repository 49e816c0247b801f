#!/usr/bin/env python3
"""Writes the initial files below corpus/ for fuzzing.

Usage: seeds.py [FOLDER]

What was found later lies beside them under the name of what it was about.
"""

import lzma
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def example(a, b=2, *c, **d):
    """Gives its location table away."""
    for x in (a,
              b):
        with open(x) as f, open(b) as g:
            yield [y for y in f if y in g]
    return {"a": lambda: (a
                          + b), **d}


def locations():
    for name, code in (("generator", example.__code__), ("module", compile("\n\nx = 1\n" * 9, "m", "exec"))):
        yield name, struct.pack("=iI", code.co_firstlineno, 7) + code.co_linetable
    forms = bytes([0x80 | 0, 0x25, 0x80 | 10 << 3, 4, 9, 0x80 | 12 << 3 | 3, 4, 9, 0x80 | 13 << 3, 5, 0x80 | 14 << 3, 3, 2,
                   0x4b, 1, 0x55, 1, 0x80 | 15 << 3 | 7])
    yield "forms", struct.pack("=iI", 1, 5) + forms
    yield "overflow", struct.pack("=iI", 0x7fffffff, 0) + bytes([0x80 | 14 << 3, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 3, 0, 0, 0])


def number(value):
    """LEB128."""
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def column(values):
    """Differences, zigzag."""
    steps = [b - a for a, b in zip([0, *values], values)]
    return b"".join(number(step * 2 if step >= 0 else -step * 2 - 1) for step in steps)


def piece(kind, raw):
    return kind + struct.pack("<H", len(raw)) + raw


def rows_of_a_capture():
    names = [b"main", b"app.py", b"work"]
    yield bytes([0, 1, 3]) + b"".join(number(len(name)) for name in names) + b"".join(names)
    yield bytes([1, 1, 2]) + column([1, 3]) + column([2, 2]) + column([1, 9])
    yield bytes([2, 1, 2]) + column([1, 2]) + column([4, 10])
    yield bytes([3, 1, 2]) + column([0, 1]) + column([1, 2])
    yield bytes([4, 0, 1]) + column([4711]) + column([1])
    yield bytes([5, 0, 1]) + column([0]) + column([4711]) + column([0]) + column([1]) + number(1 << 40)
    yield bytes([6, 0, 1]) + b"".join(column([n]) for n in (2, 10, 10, 4, 9, 3, 3))
    yield bytes([7, 1, 1]) + b"".join(column([n]) for n in (2, 10, 10, 4, 9, 3, 3, 1))


def samples_of_a_capture(spots):
    counters = number(3) + b"".join(map(number, (250, 0, 250)))
    places = number(2) + number(3) + number(0x3f00) + column([2, 1])
    places += (b"\1" + b"\1\2" + b"\0\0") if spots else b"\0"
    windows = number(1) + number(0) + number(10 ** 9) + column([10 ** 6]) + b"\0" + number(1)
    threads = column([0]) + number(2)
    runs = number(2) + bytes([0, 1]) + number(199) + number(49) + column([0])[:1] + b"\0" + b"\0\0"
    return counters + number(0) + places + windows + threads + runs


def memory_of_a_capture():
    """Two steps of a process, and of one with all others."""
    use = lambda process, kib: b"".join(map(number, (process, 77, kib, 4, kib, 1 << 20, 250, 3)))
    steps = [number(0) + number(10 ** 9) + number(9000) + number(2) + use(0, 1000) + use(1, 8000),
             number(0) + number(10 ** 9) + number(9000) + number(1) + use(1, 9000)]
    return number(len(steps)) + b"".join(steps)


def captures():
    rows = piece(b"R", b"".join(rows_of_a_capture()))
    yield "rows", rows
    yield "samples", rows + piece(b"W", samples_of_a_capture(False))
    yield "spots", rows + piece(b"W", samples_of_a_capture(True)) * 2
    yield "memory", rows + piece(b"m", memory_of_a_capture()) + piece(b"W", samples_of_a_capture(False))
    yield "kinds", piece(b"x", b"skipped") + rows + piece(b"Q", b"not known")
    yield "end", rows + piece(b"E", number(1) + number(6) + b"reason\0t" + number(4) + b"done\0" + b"\0\0")
    texts = bytes([3, 6]) + b"app.py" + number(10 ** 18) + number(12) + b"def work(): "
    yield "source", rows + piece(b"t", texts + bytes([0, 1]) + b"/" + number(0) + number(4) + b"gone")
    yield "empty", b"\x89PYRO\r\n\n" + bytes([1, 0, 0, 0, 0, 0, 0, 0])
    yield "later", b"\x89PYRO\r\n\n" + bytes([9, 0, 0, 0, 0, 0, 0, 0])


def maps():
    yield "python", (b"00400000-00452000 r-xp 00001000 08:1f 173521      /usr/bin/python3\n"
                     b"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
                     b"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n")
    yield "deleted", b"1000-2000 r--s 00000000 fd:00 12 /tmp/a b (deleted)\n3000-4000 ---p 0 0:0 0"
    yield "nonsense", b"-\n1-2 rwxp 0 a:b 99999999999999999999 x\nzz"


def elf(sections, segments=(), names=b"", shnum=None, shstrndx=None, shoff=None):
    """A file of these (name, type, vaddr, data, link, entry bytes, size or None), and the names of sections at the end."""
    table = b"\0" + b"".join(name + b"\0" for name, *_ in sections) + b".shstrtab\0" + names
    body, headers, at = b"", [bytes(64)], 64 + 56 * len(segments)
    for name, kind, vaddr, data, link, entry, size in list(sections) + [(b".shstrtab", 3, 0, table, 0, 0, None)]:
        flags = 6 if name.startswith((b".text", b".plt")) else 0
        headers.append(struct.pack("<IIQQQQIIQQ", table.index(b"\0" + name + b"\0") + 1, kind, flags, vaddr, at + len(body),
                                   len(data) if size is None else size, link, 0, 8, entry))
        body += data + bytes(-len(data) % 8)
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64 if segments else 0,
                                 at + len(body) if shoff is None else shoff, 0, 64, 56, len(segments), 64,
                                 len(headers) if shnum is None else shnum, len(headers) - 1 if shstrndx is None else shstrndx)
    load = b"".join(struct.pack("<IIQQQQQQ", 1, 5, offset, vaddr, vaddr, size, size, 4096)
                    for offset, vaddr, size in segments)
    return header + load + body + b"".join(headers)


def elves():
    symtab, dynsym, strtab, progbits = 2, 11, 3, 1
    strings = b"\0x\0my_PyRuntime\0Py_Version\0"
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", strings.index(name), 17, 0, 1, 0x2000 + i, 8)
                                   for i, name in enumerate((b"x", b"_PyRuntime", b"Py_Version")))
    both = [(b".symtab", symtab, 0, symbols, 2, 24, None), (b".strtab", strtab, 0, strings, 0, 0, None)]
    segments = ((0, 0, 0x600), (0x1000, 0x1000, 0x1800), (0x3200, 0x4200, 0x2000))
    plain = elf(both, segments)
    yield "symbols", plain
    yield "section", elf([(b".PyRuntime", progbits, 0x5000, b"x" * 16, 0, 0, None)], segments)
    yield "dynamic", elf([(b".dynsym", dynsym, 0, symbols, 2, 24, None)] + both[1:], segments)
    yield "packed", elf([(b".gnu_debugdata", progbits, 0, lzma.compress(plain), 0, 0, None)], segments)
    yield "packed_zeros", elf([(b".gnu_debugdata", progbits, 0, lzma.compress(plain + bytes(1 << 24)), 0, 0, None)])
    twice = elf([(b".gnu_debugdata", progbits, 0, lzma.compress(plain), 0, 0, None)])
    yield "packed_twice", elf([(b".gnu_debugdata", progbits, 0, lzma.compress(twice), 0, 0, None)])
    yield "packed_nonsense", elf([(b".gnu_debugdata", progbits, 0, lzma.compress(plain)[:-40] + b"x" * 40, 0, 0, None)])
    for size in (3 << 30, (1 << 64) - 1, 7):
        yield "symbols_of_%d" % size, elf([(b".symtab", symtab, 0, symbols, 2, 24, size), both[1]])
        yield "strings_of_%d" % size, elf([both[0], (b".strtab", strtab, 0, strings, 0, 0, size)])
    yield "entries_of_1", elf([(b".symtab", symtab, 0, symbols, 2, 1, None), both[1]])
    yield "links_itself", elf([(b".symtab", symtab, 0, symbols, 1, 24, None), both[1]])
    yield "many_names", elf([both[0], (b".strtab", strtab, 0, b"_PyRuntime\0" * 200, 0, 0, None)])
    yield "sections_in_the_first", elf(both, shnum=0)
    yield "names_elsewhere", elf(both, shstrndx=0xffff)
    yield "sections_nowhere", elf(both, segments, shoff=(1 << 64) - 64)
    names = b"\0_init\0_ZN1a1fEv\0malloc\0$x\0"
    functions = bytes(24) + b"".join(struct.pack("<IBBHQQ", names.index(name), kind, 0, section, vaddr, size)
                                     for name, kind, section, vaddr, size in (
        (b"_init", 18, 3, 0x1000, 0), (b"_ZN1a1fEv", 2, 3, 0x1010, 8), (b"malloc", 18, 0, 0, 0), (b"$x", 0, 3, 0x1008, 0)))
    code = [(b".text", progbits, 0x1000, b"", 0, 0, 0x100)]
    slots = struct.pack("<QQq", 0x3020, 3 << 32 | 7, 0)
    stubs = bytes(16) + b"\xff\x25" + struct.pack("<I", 0x3020 - 0x2016) + bytes(10)
    note = struct.pack("<III4s20s", 4, 20, 3, b"GNU\0", b"0123456789abcdefghij")
    for table, name in ((symtab, b".symtab"), (dynsym, b".dynsym")):
        yield "functions%d" % table, elf(
            [(name, table, 0, functions, 2, 24, None), (b".strtab", strtab, 0, names, 0, 0, None)] + code +
            [(b".rela.plt", 4, 0, slots, 1, 24, None), (b".plt", progbits, 0x2000, stubs, 0, 0, None),
             (b".note", 7, 0, note, 0, 0, None), (b".gnu_debuglink", progbits, 0, b"a.debug\0\1\2\3\4", 0, 0, None)])
    yield "header", plain[:64]
    yield "narrow", plain[:4] + b"\1" + plain[5:]


def native_names():
    yield "mypyc", (b"CPyInit_mypy___build\nCPyInit_mypyc___build\nCPyInit_mypy___checker\nPyInit_x__mypyc\n"
                    b"CPyDef_mypy___build___State_____init__\nCPyPy_checker___visit___3_it.cold\nCPyDef_checker_____top_level__\n")
    yield "cython", (b"PyInit_mtrand\n__pyx_pw_5numpy_6random_6mtrand_11RandomState_7bytes\n__pyx_tp_new_5numpy_6mtrand_Type\n"
                     b"__pyx_pf_5numpy_6mtrand_4find_one\n__pyx_pw_5numpy_6mtrand_5find_one\n__pyx_f_15View_dot_MemoryView_5array_f\n"
                     b"__pyx_fuse_0_1__pyx_pw_6mtrand_3__pyx_fuse_0_seed\n_ZL31__pyx_getprop_6mtrand_1A_stateP7_object\n")
    yield "cpp", (b"_ZNSt6vectorIiSaIiEE9push_backEOi\n_Z5twiceIiET_S0_\n_ZN1alsERKS_\n_ZZ1fvENKUlvE_clEv\n_Z3foov.part.0\n"
                  b"_Z1fIJicEEvDpT_\n_ZN1aIXadL_Z1bvEEE1cEv\n_Z1f1aIiiES_IS0_S0_ES_IS1_S1_E\n")
    yield "rust", (b"_ZN4core3ptr13drop_in_place17h0123456789abcdefE\n_RNvNtCs1234_7mycrate3foou8gdel_5qa\n_RINvNtC3std3mem8align_ofjdE\n"
                   b"_RNvMs_C1aNtB4_1b1c\n_RYNtC1a1bNtB2_1cE\n_RINvC1a1bThhETB7_B7_ETBb_Bb_EE\n_RNCNvC1a1b0B3_\n")
    yield "perf_map", (b"7f0000001000 10 py::f:/srv/app.py\n7f0000001010 2a jit code\n1000 8 old\n1000 10 new\nx 1 y\n1000 0 z\n"
                       b"ffffffffffffffff 10 f\n0x2000 0x10 LazyCompile:~g")


def mangled():
    """Names, and names that stand for work without end."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    repeated = lambda number: "S%s_" % (digits[number // 36] * (number >= 36) + digits[number % 36])
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    again = lambda place: "B%s_" % (letters[(place - 1) // 62] * (place > 62) + letters[(place - 1) % 62])
    tuples, last = "INvC1a1bThhE", 8
    for _ in range(20):
        tuples, last = tuples + "T" + again(last) * 2 + "E", len(tuples)
    count = 30
    doubled = lambda first: "1aI" * count + "iiE" + "".join(repeated(first + i) + "E" for i in range(count - 1))
    names = {
        "cpp": "_ZZ1fIJicEEvDpRT_RA3_KPFiiEENKUlOT_E_clIiEEDaS1_", "cpp_special": "_ZTCN1a1bE8_NS_1cIDF16_Dv4_fEE",
        "cpp_operators": "_ZNK1aIXquLb1EcvPKvLi0Etl1bplLi1ELin2EEEEcvPT_IiEEv.part.0", "cpp_decltype": "_Z1fIiJcdEEDTcl1gIXsZT0_EEcvT_fp_spfp0_EEOT_DpRKT0_",
        "rust": "_RINvC1a1bFG_UKCRL0_hEuKca_Kan7f_Ahj3_DINtC1c1dhEp1emEL_NCNvC1a1gs_0E", "rust_trait": "_RNvXC1aNtC1b1dNtC1c1e1f",
        "rust_legacy": "_ZN13_$LT$a..b$GT$1c17h0123456789abcdefE.llvm.1",
        "bomb_pack": "_Z1fIiEvDp" + doubled(count), "bomb_type": "_Z1f" + doubled(count - 1), "bomb_packs": "_Z1fIJ" + "i" * 50 + "EEv" + "Dp1aIJ" * 9 + "T_" + "EE" * 9,
        "bomb_conversion": "_ZN1acv" + "T_I" * 200 + "i" + "E" * 200 + "Ev", "bomb_lifetimes": "_RYFGzzzzzzzz_EuC1aE",
        "bomb_hidden": "_RMYFGzzzzzzzz_EuC1aC1bu", "bomb_backreferences": "_R" + tuples + "E",
        "bomb_punycode": "_RINvC1a1bTNvC1cu250_" + "a" * 250 + "B8_" * 300 + "EE",
    }
    for name, text in names.items():
        yield name, text.encode()


def tables():
    """The tables of offsets.h, by minor version."""
    with open(os.path.join(HERE, "../unit/cpython/made/offsets.h"), encoding="ascii") as header:
        text = header.read()
    for minor, version in ((13, 0x030d05f0), (14, 0x030e0af0), (15, 0x030f02f0)):
        rows = re.search(r"#define OFFSETS_3_%d\(X\)((?:.*\\\n)*.*\n)" % minor, text).group(1)
        values = [int(value) for value in re.findall(r"X\(\w+, (\d+)\)", rows)]
        yield minor, b"xdebugpy" + struct.pack("=QQ%dQ" % len(values), version, 0, *values)


def layouts():
    for minor, table in tables():
        yield "3_%d" % minor, table
        yield "3_%d_and_memory" % minor, table.ljust(1024, b"\0") + bytes(range(256)) * 2


def objects():
    def text(kind, ascii, characters, data):
        head = struct.pack("=QQQQI", 1, 2, characters, 3, kind << 2 | 1 << 5 | ascii << 6)
        return head.ljust(40 if ascii else 56, b"\0") + data + b"\0" * 4
    for version in (2, 4):
        yield "ascii_%d" % version, bytes([version]) + text(1, 1, 5, b"hello")
        yield "latin_%d" % version, bytes([version]) + text(1, 0, 3, b"\xe9\xff\x80")
        yield "two_%d" % version, bytes([version]) + text(2, 0, 2, struct.pack("=HH", 0x4e00, 0xd800))
        yield "four_%d" % version, bytes([version]) + text(4, 0, 2, struct.pack("=II", 0x1f600, 0x110000))
    yield "keys", bytes([4]) + struct.pack("=6Q", 1, 2, 0, 0, 8192, 0) + bytes([0, 3, 3, 0, 0, 0, 0, 0]) + b"\0" * 200


def object_texts():
    """An object of each kind, whose members are itself (fuzz_object_text.c)."""
    for kind in range(19):
        head = struct.pack("=QQ", 1, 0x70000000 + 4096 * kind)
        fields = struct.pack("=6Q", 1000000, 8192, 8192, 4096 * 64, 8192, 7)
        yield "large_%d" % kind, bytes([4]) + (head + fields).ljust(256, b"\x7f")
        # All words lead back to the begin of the object.
        yield "itself_%d" % kind, bytes([kind % 4]) + head + struct.pack("=30Q", 3, *[4096 * 256] * 29)


def stacks():
    read, pop = 200, 100
    for version in range(5):
        calls = [1, 4, 8, read, 0, read, pop, read]
        generators = [1, 2, 4, 3, 6, 12, read, read, pop, pop, read]
        deep = [1] + [12] * 38 + [read, read] + [pop] * 20 + [read]
        moving = [1, 4, read, read, 8, read, pop, 4, read, 100, 8, 12, read, 100, 100, 4, read, 4, 4]
        damaged = [1, 4, 8, 3, read] + [byte for region in range(3, 30) for byte in (130, region, region % 12, 2, 7, 24, read)]
        for name, steps in (("calls", calls), ("generators", generators), ("deep", deep), ("moving", moving),
                            ("damaged", damaged)):
            yield "%s_3_%d" % (name, 11 + version), bytes([version] + steps)


class Image:
    """A loaded ELF file without its code: headers, .eh_frame_hdr at 0x2000, .eh_frame at 0x2200."""

    def __init__(self, machine, return_address, start):
        self.frames, self.functions = b"", []
        self.machine, self.return_address, self.start = machine, bytes([return_address]), bytes(start)

    def entry(self, common, body):
        at = 0x2200 + len(self.frames)
        self.frames += struct.pack("<II", len(body) + 4, at + 4 - common if common else 0) + body
        return at

    def common(self, letters):
        body = b"\1" + letters + b"\0\1\x78" + self.return_address + (b"\1\x1b" if letters else b"") + self.start
        return self.entry(0, body)

    def function(self, common, start, *instructions):
        at = 0x2200 + len(self.frames)
        self.entry(common, struct.pack("<iI", start - (at + 8), 0x40) + b"\0" + bytes(instructions))
        self.functions.append((start, at))

    def image(self):
        head = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, self.machine, 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)
        for kind, offset, size in ((1, 0, 0x1000), (1, 0x1000, 0x1000), (1, 0x2000, 0x6000), (0x6474e550, 0x2000, 0x200)):
            head += struct.pack("<IIQQQQQQ", kind, 5, offset, offset, offset, size, size, 4096)
        table = struct.pack("<4BiI", 1, 0x1b, 3, 0x3b, 0x2200 - 0x2004, len(self.functions))
        table += b"".join(struct.pack("<ii", start - 0x2000, at - 0x2000) for start, at in self.functions)
        return head.ljust(0x200, b"\0") + table.ljust(0x200, b"\0") + self.frames


def unwinds():
    image = Image(62, 16, (0x0c, 7, 8, 0x90, 1))
    usual, signals, old = image.common(b"zR"), image.common(b"zRS"), image.common(b"")
    stub = (0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22)
    programs = ((usual, (0,)), (usual, (0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0c, 7, 8, 0x0b)), (usual, (0x0c, 6, 16, 0x86, 2)),
                (usual, (0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x70)), (usual, (0x0c, 10, 0)),
                (usual, stub), (signals, (0x0f, 4, 0x77, 0xa0, 1, 6)), (usual, (7, 16)), (usual, (0x3f,)),
                (usual, (0x0e, 64, 0x86, 2, 0x83, 3, 0x8c, 4, 0x8d, 5, 0x8e, 6, 0x8f, 7)),
                (usual, (9, 12, 1, 0x14, 13, 2, 0x16, 14, 2, 0x77, 0, 0x11, 6, 0x7c, 0x2e, 5, 8, 6, 0x12, 7, 0x7f, 0x13, 0x7e)))
    for i, (common, program) in enumerate(programs):
        image.function(common, 0x1000 + 0x40 * i, *program)
    image.function(old, 0x1400, 0)
    memory, code, stack = image.image(), 0x11000, 0x700000
    first, sp = code + 0x1c0 + 0x20, 0x80

    def case(ip, words, bp=0, entries=(0, 0), bytes_=512):
        row = [0] * 256
        for at, value in words.items():
            row[sp // 8 + at] = value
        head = struct.pack("<3H6H2HH", ip - 0x10000, sp, sp + 40, 0, bp, 0, 0, 0, 0, *entries, bytes_)
        return head + struct.pack("<256Q", *row)[:bytes_] + memory

    yield "plain", case(code, {0: code + 0x60, 1: stack + sp + 40, 2: code + 0xa0, 6: first})
    yield "pushed", case(code + 0x41, {0: 1, 1: first})
    yield "realigned", case(code + 0xc0, {5: stack + sp + 80, 6: stack + sp + 96, 9: first}, bp=sp + 48)
    yield "r10", case(code + 0x100, {4: first})
    yield "stub", case(code + 0x14b, {1: first})
    yield "signal", case(code, {0: code + 0x181, 22: code, 21: stack + sp + 320, 40: first})
    yield "corrupt", case(code + 0x200, {0: first})
    yield "computed", case(code + 0x280, {0: first})
    yield "generated", case(code, {0: 0x300010, 2: code + 0xa0, 6: first}, bp=sp + 40)
    yield "frame_pointer", case(code + 0x300, {1: stack + sp + 48, 2: code + 0xa0, 7: first}, bp=sp + 8)
    yield "gap", case(code + 0x300, {12: stack + sp + 136, 13: code + 0xa0, 18: first}, entries=(sp + 64, 999))
    yield "cut", case(code, {0: code + 0x20, 1: code + 0x20}, bytes_=sp + 16)
    yield "deep", case(code, {i: code + 0x20 for i in range(200)}, bytes_=2048)
    plain = case(code, {0: first})
    headers = len(plain) - len(memory)
    for name, at, value in (("count", 0x208, b"\xff" * 4), ("encoding", 0x203, b"\3"), ("length", 0x400, b"\xff" * 4),
                            ("segments", 56, b"\xff\xff"), ("place", 64 + 3 * 56 + 16, b"\xff" * 8),
                            ("entry", 0x210, b"\xff\xff\xff\x7f")):
        yield "damaged_" + name, plain[:headers + at] + value + plain[headers + at + len(value):]


def aarch64_unwinds():
    image = Image(183, 30, (0x0c, 31, 0))
    usual, signals, signs = image.common(b"zR"), image.common(b"zRS"), image.common(b"zRB")
    programs = ((usual, (0,)), (usual, (0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3)), (usual, (0x0c, 29, 64, 0x9d, 8, 0x9e, 7, 0x93, 6)),
                (signs, (0x44, 0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x0a, 0x44, 0xde, 0xdd, 0x0e, 0, 0x44, 0x0b)),
                (signals, (0x0c, 29, 0, 0x9d, 0, 0x9e, 0x7f)), (usual, (7, 30)), (usual, (0x0e, 48, 0x9e, 6, 0x9d, 3)),
                (usual, (9, 30, 15)), (usual, (0x3f,)), (usual, (8, 30, 0x10, 30, 2, 0x8d, 8, 6, 29)),
                (usual, (0x0e, 0x80, 1, *(byte for number in range(12) for byte in (0x93 + number, 16 - number)))))
    for i, (common, program) in enumerate(programs):
        image.function(common, 0x1000 + 0x40 * i, *program)
    memory, code, stack, sp = image.image(), 0x11000, 0x700000, 0x80
    leaf, records, points, signed, signal, first, apart, lost, corrupt, expression, large = (code + 0x40 * i for i in range(11))
    unknown, call = code + 0x300, 0x20

    def case(ip, words, fp=0, link=0, entries=(0, 0), bytes_=512):
        row = [0] * 256
        for at, value in words.items():
            row[sp // 8 + at] = value
        head = struct.pack("<3H12H2HH", ip - 0x10000, sp, 0, *[0] * 10, fp, link, *entries, bytes_)
        return head + struct.pack("<256Q", *row)[:bytes_] + memory

    record = {0: stack + sp + 48, 1: points + call, 7: first + call}
    yield "plain", case(records + 4, record)
    yield "leaf", case(leaf, record, link=records + call - 0x10000)
    yield "register", case(unknown, {2: stack + sp + 64, 3: first + call}, fp=sp + 16, link=records + call - 0x10000)
    yield "signed", case(signed + 8, {**record, 1: signed + call | 0x2a << 48, 5: first + call | 0x15 << 48})
    yield "signal", case(records + 4, {0: stack + sp + 64, 1: signal + 4, 9: first + call})
    yield "apart", case(apart, {0: first + call, 3: stack + sp})
    yield "lost", case(lost, record)
    yield "corrupt", case(corrupt, record)
    yield "expression", case(expression, record, fp=sp)
    yield "large", case(large, {4: first + call, 5: stack + sp + 128, 11: first + call})
    yield "generated", case(records + 4, {0: stack + sp + 32, 1: 0x300010, 4: stack + sp + 48, 5: records + call, 7: first + call})
    yield "frame_pointer", case(unknown, {2: stack + sp + 64, 3: records + call, 9: first + call}, fp=sp + 16)
    yield "gap", case(unknown, {11: first + call}, entries=(sp + 64, 999))
    yield "cut", case(records + 4, record, bytes_=sp + 4)
    yield "deep", case(records + 4, {i: records + call for i in range(200)}, bytes_=2048)


def links():
    """A byte for the decoder, and what it reads (sampler/link/request.h, state.h)."""
    text = lambda value: number(len(value)) + value + b"\0"
    # struct sampler_options: pids, pid_count, flags, rate, duration and so on; then struct link_request around it.
    options = struct.pack("<256iQ?7xi4xdQ", 1, 4711, *[0] * 254, 2, False, 0, 997, 10 ** 9) + bytes(168)
    for name, kind in (("start", 1), ("stop", 2), ("pause", 3), ("rate", 4), ("cpu", 5), ("native", 6), ("join", 7), ("engine", 8),
                       ("admit", 9), ("list", 10), ("read", 11), ("usage", 12), ("ping", 13)):
        source = bytes([0, 1, 3]) if name == "read" else b""
        yield "request_" + name, (bytes([0]) + struct.pack("<iiQ", kind, 4711, 7) + (options if kind in (1, 8) else bytes(1232))
                                  + struct.pack("<?7xdQQ", name == "pause", 100, 0, len(source)) + source)
    yield "answer", bytes([1]) + struct.pack("<IIi320s", 4, 324, 0, b"no more")
    row = struct.pack("<iiQ8QIIdQQQ", 4711, 1, 2, *[0] * 8, 1000, 4, 12.5, 1 << 20, 5, 6)
    row += text(b"python3") + text(b"app.py") + b"\1" + text(b"/usr/bin/python3") + b"\0" + b"\1" + text(b"user") + bytes(4)
    yield "processes", bytes([2]) + struct.pack("<6Q", 5, 6, 2, 0, 0, 7) + row + row
    status = struct.pack("<i256s200s4xQQQddQ", 1, b"", b"no kernel engine", 1, 0, 2, 100, 0, 0)
    with open(os.path.join(HERE, "..", "..", "sampler", "profile", "quality.h"), encoding="ascii") as file:
        counters = len(re.findall(r"^    X\(\w+, ?$|^    X\(\w+, ?\"|^    X\(\w+,", file.read(), re.M))
    quality = bytes(8 * counters) + struct.pack("<Ii", 3, 10) * 3 + bytes(40)
    record = b"\x1f".join((b"4711", b"0", b"0", b"9", b"1", b"3.12.1", b"/usr/bin/python3", b"exited", b"shop", b"", b"", b"", b"5",
                           b"shop/web-1", b"2", b"python3", b"app.py", b"", b"another"))
    targets = number(1) + number(0) + text(record)
    origins = number(1) + number(2) + struct.pack("<Q", 1 << 48 | 1) + number(4096)
    task = (number(4711) + number(4712) + number(3) + number(1) + number(4) + b"\1" + number(1) + number(2))
    tasks = b"\1" + number(9) + b"\0" + number(2) + task + number(0) + task + number(1) + number(0)
    use = number(0x7f3c2a10b4c0) + number(0x7f3c2a10b4c8) + number(3) + number(4) + number(5) + number(12)
    locks = b"\1" + number(7) + number(6) + number(1) + number(5) + number(2) + number(4711) + number(4711) + number(1) + number(2) + number(2) + use + b"\5" + number(4712) + use + b"\0" + number(0)
    locks += number(4711) + number(4712) + number(1) + number(1) + number(0)
    line = number(4) + number(5) + number(12) + number(10 ** 9)
    locks += number(1) + number(4711) + number(3) + number(0x7f3c2a10b4c0) + b"".join(map(number, (10 ** 9, 10 ** 9, 10 ** 8, 9, 1, 7, 2)))
    locks += number(2) + line + line + number(1) + line
    variable = b"\1\0" + text(b"amount") + text(b"int") + b"\1" + text(b"250")
    frames = number(4) + number(5) + variable + b"\0" + number(2)
    variables = b"\1" + number(0) + number(1) + number(4711) + number(4712) + number(1) + number(len(frames)) + number(len(frames)) + frames
    for name, end in (("state", b"\0\0\0"), ("state_tasks", tasks + b"\0\0"), ("state_locks", b"\0" + locks + b"\0"),
                      ("state_variables", b"\0\0" + variables)):
        yield name, bytes([3]) + status + bytes(48) + quality + number(10) + number(0) + targets + origins + end
    rows = b"".join(piece(b"R", row) for row in rows_of_a_capture())
    yield "live", bytes([4]) + rows + piece(b"m", memory_of_a_capture()) + piece(b"s", b"") + piece(b"E", b"")


def relayed():
    """A byte for the decoder, and what it reads (server/source/relay_codec.h)."""
    text = lambda value: number(len(value)) + value + b"\0"
    yield "request", bytes([0, 0]) + number(1) + number(3)
    yield "request_places", bytes([0, 2]) + number(3) + number(3) + number(300) + number(2 ** 32 - 1)
    yield "answer", bytes([1, 0]) + text(b"") + struct.pack("<Q", 7) + text(b"") + number(0) + number(10) + b"import os\n"
    yield "answer_place", bytes([1, 4]) + text(b"no such file") + struct.pack("<Q", 0) + text(b"/src/x.c") + number(84) + number(0)


def contexts():
    """A version, what is read, and it (fuzz_context.c)."""
    word = lambda *values: struct.pack("<%dQ" % len(values), *values)
    field = lambda key, data: bytes([key << 3 | 2, len(data)]) + data
    for number, tag in (("bitmap", 0), ("array", 1), ("collision", 2)):
        yield number, bytes([2, 0]) + word(7, 7 + tag, 4, 5) + word(0x1000, 1, 0, 64) * 8
    yield "value", bytes([2, 1]) + word(1, 64, 8, 3) + b"request\0" * 8
    attribute = lambda name, value: field(1, field(1, name) + field(2, field(1, value)))
    message = field(1, attribute(b"service.name", b"checkout") + attribute(b"service.version", b"4.2"))
    yield "service", bytes([2, 2]) + message
    yield "header", bytes([2, 2]) + struct.pack("<8sIIQQ", b"OTEL_CTX", 2, 48, 1, 32) + message


def thread_contexts():
    """A file and a thread at their places (fuzz_thread_contexts.c): the block of its variables is anywhere, or close to the thread."""
    size, at = 4096, {"dynamic": 0xb0, "hash": 0x100, "symbols": 0x160, "descriptions": 0x2e0, "linker": 0x380, "list": 0x390, "map": 0x3f0,
                      "vector": 0x420, "block": 0x470, "record": 0x480, "names": 0x500, "thread": 0x800}
    addr = {name: size * 4096 + place for name, place in at.items()}
    fields = (("rtld_global__dl_tls_dtv_slotinfo_list", 64, 0), ("dtv_slotinfo_list_len", 64, 0), ("dtv_slotinfo_list_next", 64, 8),
              ("dtv_slotinfo_list_slotinfo", 128, 16), ("dtv_slotinfo_gen", 64, 0), ("dtv_slotinfo_map", 64, 8),
              ("link_map_l_tls_offset", 64, 24), ("pthread_dtvp", 64, 8), ("pthread_tid", 32, 16), ("dtv_dtv", 128, 0),
              ("dtv_t_counter", 64, 0), ("dtv_t_pointer_val", 64, 0))
    symbols = [("_thread_db_" + name, 1, at["descriptions"] + 12 * i, 12) for i, (name, _, _) in enumerate(fields)]
    symbols += [("_rtld_global", 1, at["linker"], 16), ("otel_thread_ctx_v1", 6, 0, 8)]

    def hash_of(name):
        value = 5381
        for byte in name.encode():
            value = value * 33 + byte & 0xffffffff
        return value

    for kind, distance in ("block", 0), ("distance", at["thread"] - at["block"]):
        data, names = bytearray(size), b"\0"

        def put(name, form, *values, offset=0):
            struct.pack_into("<" + form, data, at.get(name, 0) + offset, *values)
        put("", "4sB27xQ14xHH", b"\x7fELF", 2, 64, 56, 2)
        put("", "I52x", 1, offset=64)
        put("", "I12xQ32x", 2, at["dynamic"], offset=120)
        put("dynamic", "10Q", 5, addr["names"], 10, 1024, 6, addr["symbols"], 0x6ffffef5, addr["hash"], 0, 0)
        put("hash", "4IQI", 1, 1, 1, 6, 2 ** 64 - 1, 1)
        for i, (name, bits, offset) in enumerate(fields):
            put("descriptions", "3I", bits, 1, offset, offset=12 * i)
        for i, (name, type_, value, length) in enumerate(symbols):
            put("symbols", "IBBHQQ", len(names), type_, 0, 1, value, length, offset=24 * (i + 1))
            put("hash", "I", hash_of(name) & ~1 | (i == len(symbols) - 1), offset=28 + 4 * i)
            names += name.encode() + b"\0"
        data[at["names"]:at["names"] + len(names)] = names
        put("linker", "Q", addr["list"])
        put("list", "8Q", 3, 0, 0, 0, 1, addr["map"], 0, 0)
        put("map", "4Q", size * 4096, 0, addr["dynamic"], distance)
        put("vector", "4Q", 1, 0, addr["block"], 0)
        put("block", "Q", addr["record"])
        put("record", "28B", *range(24), 1, 0, 0, 0)
        put("thread", "QQI", 0, addr["vector"], 7)
        yield kind, bytes(data)


def cores():
    """A core of each processor: two threads, a file, one segment of memory; damaged ones."""
    def note(kind, data, owner=b"CORE\0\0\0\0"):
        return struct.pack("<3I", 5, len(data), kind) + owner + data + bytes(-len(data) % 4)

    def core(machine, registers, changed=None):
        def thread(tid, value):
            return note(1, struct.pack("<12xh18xi76x", 11, tid) + struct.pack("<Q", value) * registers + bytes(8))
        files = (struct.pack("<2Q", 2, 4096) + struct.pack("<6Q", 0x400000, 0x401000, 0, 0x401000, 0x402000, 1)
                 + b"/usr/bin/python3\0/usr/bin/python3\0")
        notes = (thread(4711, 2 ** 64 - 512) + note(3, struct.pack("<24xi12x16s80s", 4711, b"python3", b"python3 app.py"))
                 + note(0x53494749, struct.pack("<3i4xQ104x", 11, 0, 1, 0xdead))
                 + note(6, struct.pack("<6Q", 3, 0x400040, 25, 0x7f0ff0, 0, 0)) + note(0x46494c45, files) + thread(4713, 7))
        head = struct.pack("<4sBBB9xHHI3QI6H", b"\x7fELF", 2, 1, 1, 4, machine, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
        start = 64 + 3 * 56
        segments = (struct.pack("<2I6Q", 4, 0, start, 0, 0, len(notes), 0, 4)
                    + struct.pack("<2I6Q", 1, 4, start + len(notes), 0x400000, 0, 128, 4096, 4096)
                    + struct.pack("<2I6Q", 1, 6, start + len(notes) + 128, 0x7f0000, 0, 256, 4096, 4096))
        data = bytearray(head + segments + notes + bytes(128) + bytes(range(256)))
        for at, value in (changed or {}).items():
            data[at:at + len(value)] = value
        return bytes(data)

    yield "x86_64", core(62, 27)
    yield "aarch64", core(183, 34)
    most = struct.pack("<Q", 2 ** 64 - 1)
    for name, machine, registers in (("x86_64", 62, 27), ("aarch64", 183, 34)):
        yield "cut_" + name, core(machine, registers)[:700]
        yield "many_segments_" + name, core(machine, registers, {56: b"\xff\xff"})
        yield "segment_beyond_" + name, core(machine, registers, {64 + 56 + 8: most, 64 + 56 + 32: most})
        yield "segment_wraps_" + name, core(machine, registers, {64 + 56 + 16: most, 64 + 56 + 40: most})
        yield "segments_overlap_" + name, core(machine, registers, {64 + 2 * 56 + 16: struct.pack("<Q", 0x400800)})
        yield "notes_beyond_" + name, core(machine, registers, {64 + 32: most})
        at = core(machine, registers).index(struct.pack("<2Q", 2, 4096))
        yield "many_files_" + name, core(machine, registers, {at: most})
        yield "files_without_pages_" + name, core(machine, registers, {at + 8: bytes(8)})
        yield "files_overlap_" + name, core(machine, registers, {at + 40: struct.pack("<Q", 0x400000)})
        yield "large_note_" + name, core(machine, registers, {at - 16: b"\xff\xff\xff\xff"})


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus")
    for target, seeds in (("capture", captures), ("context", contexts), ("core_file", cores), ("demangle", mangled), ("elf", elves), ("link", links), ("location", locations),
                          ("maps", maps), ("native_names", native_names), ("layout", layouts), ("object", objects), ("object_text", object_texts),
                          ("relay", relayed), ("stack", stacks), ("thread_contexts", thread_contexts), ("unwind/x86_64", unwinds),
                          ("unwind/aarch64", aarch64_unwinds)):
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        for name, data in seeds():
            with open(os.path.join(folder, target, name), "wb") as out:
                out.write(data)


if __name__ == "__main__":
    main()
