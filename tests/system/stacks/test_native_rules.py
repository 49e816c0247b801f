"""Native stacks of greenlets, of compiled Python code and of generated code, on every interpreter of this machine.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import collections
import json
import os
import subprocess
import sys

import harness
from harness import run_program, victim

RATE_HZ = 1000
SECONDS = 1.5
# Functions that the greenlets of greenlets.py begin with, and what is in none of them.
GREENLETS = {"left": {"right", "deeper"}, "right": {"left"}}
OUTSIDE = {"<module>", "hub", "Py_RunMain", "main"}
# A record may be taken where a stack is switched: half of it is the one, half the other.
MAX_SWITCHING = 0.02
# Greenlets of different depths that do little but switch. One calls itself by C code.
SWITCHING = """
import greenlet
hub = greenlet.getcurrent()
def turn(_):
    hub.switch()
    return 0
def shallow():
    while True:
        turn(0)
def nested(depth):
    return max((depth - 1,), key=nested) if depth else turn(0)
def deep():
    while True:
        nested(3)
turns = [greenlet.greenlet(shallow), greenlet.greenlet(deep)]
print("READY", flush=True)
while True:
    for one in turns:
        one.switch()
"""
NESTED = 4
# The share of samples that may be wrong: nothing shows the first and the last instructions of a switch.
MAX_UNSURE = 0.001
DEPTH = 4
COMPILED = """
import ctypes, sys
counting = ctypes.PyDLL(sys.argv[1])
print("READY", flush=True)
def compiled():
    counting.CPyPy_Counter___spin(%d)
def cythonized():
    counting.__pyx_pw_8counting_1whirl(%d)
while True:
    compiled()
    cythonized()
""" % (DEPTH, DEPTH)
# Calls of each function of it: how often each name stands below.
EXPECTED = {"compiled": {"counting.Counter.spin": DEPTH},
            "cythonized": {"counting.whirl": DEPTH, "counting.Counter.spin": 1}}
# Code that no table describes and no frame pointer leads out of:
#     push %rbp; xor %ebp,%ebp; push $0; push $0; 1: dec %rdi; jnz 1b; add $16,%rsp; pop %rbp; ret
GENERATED = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("55 31ed 6a00 6a00 48ffcf 75fb 4883c410 5d c3"))
spin = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print("READY", flush=True)
def generated():
    spin(20000000)
while True:
    generated()
"""
# A thread whose stack pointer leads elsewhere while another one changes what lies there:
#     mov %rsp,%rdx; mov %rdi,%rsp; mov $20000000,%eax; 1: dec %eax; jnz 1b; mov %rdx,%rsp; ret
ASTRAY = """
import ctypes, mmap, random, threading, time
libc = ctypes.PyDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("4889e2 4889fc b8002d3101 ffc8 75fc 4889d4 c3"))
spin = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
PRIVATE, FIXED, NO_RESERVE, ANONYMOUS, PAGE, WHOLE = 0x02, 0x10, 0x4000, 0x20, 4096, 1 << 20
moving = libc.mmap(None, WHOLE, 3, PRIVATE | ANONYMOUS, -1, 0)
huge = libc.mmap(None, 1 << 40, 3, PRIVATE | ANONYMOUS | NO_RESERVE, -1, 0)
closed = libc.mmap(None, WHOLE, 0, PRIVATE | ANONYMOUS, -1, 0)
with open("/proc/self/maps") as maps:
    kernels = [int(line.split("-")[0], 16) for line in maps if "[vdso]" in line or "[vvar]" in line]
program = open("/proc/self/exe", "rb")
def change():
    while True:
        time.sleep(0.0001)
        at = random.randrange(WHOLE // PAGE) * PAGE
        libc.mmap(moving + at, WHOLE - at, *random.choice([(1, PRIVATE | FIXED, program.fileno()), (0, PRIVATE | FIXED | ANONYMOUS, -1),
                                                           (3, PRIVATE | FIXED | ANONYMOUS, -1)]), 0)
def astray(place):
    spin(place)
places = [moving + WHOLE // 2, huge + (1 << 39), closed + PAGE, *kernels, 0, 8, 1 << 60, (1 << 47) - PAGE - 8, (1 << 64) - PAGE, (1 << 64) - 8]
threading.Thread(target=change, daemon=True).start()
print("READY", flush=True)
while True:
    for place in places:
        astray(place)
"""
# A loop that the JIT compiles, with calls of Python and of C.
COMPILED_AT_RUN_TIME = """
def helper(number):
    return len(str(number)) + number
def loop(count):
    total = 0
    for number in range(count):
        total += number * number % 7
        if total & 1:
            total -= helper(number)
print("READY", flush=True)
while True:
    loop(20000)
"""
# The least share of samples in JIT code: the rest is not compiled, or not yet.
LEAST_IN_JIT = 0.8
GAPS = ("no_table", "copy", "register", "switch", "other")
MISSING = ("unstopped", "waiting", "truncated", "copy")
# A wrapper may have been interrupted before it has called, or after.
MAX_BETWEEN = 0.05
LEAST_GENERATED = 0.9


def record(name, python, *arguments, options=(), variables=None):
    """The folded stacks of a victim: functions, outermost first, and their counts."""
    path = harness.file_in("rules-%s-%s.folded" % (os.path.basename(name)[:-3], python.version))
    variables = dict(os.environ, PYTHONPATH=python.packages, **(variables or {}))
    with victim(name, *arguments, python=python.path, env=variables) as target:
        recording, code = run_program("record", str(target.pid), "-o", path, "--idle", "--waits=off", "--collapsed", "-r", str(RATE_HZ), "-d", str(SECONDS),
                                      "--native=full", "--native-frames", "everything",
                                      *options, *(("--stop", "always") if harness.ENGINE == "remote" else ()),
                                      seconds=SECONDS + harness.WAIT_SECONDS)
        if code != 0:
            raise AssertionError(recording.output())
    stacks = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            labels, count = line.rstrip("\n").rsplit(" ", 1)
            # FILE:FUNCTION:LINE, and marks.
            stacks[tuple(label.split(":", 1)[-1].rsplit(":", 1)[0] for label in labels.split(";")[1:])] += int(count)
    return stacks


def has_module(python, name):
    """A debug build of Debian may lack a library of its time, and a module for it."""
    variables = dict(os.environ, PYTHONPATH=python.packages)
    return subprocess.run([python.path, "-c", "import " + name], env=variables, stderr=subprocess.DEVNULL, check=False).returncode == 0


def check_greenlets(python):
    """The native stack of a greenlet ends where the greenlet begins, as its Python stack does."""
    if not has_module(python, "greenlet"):
        return []
    seen, mixed, problems = collections.Counter(), collections.Counter(), []
    for functions, count in record("greenlets.py", python, str(harness.VICTIM_SECONDS)).items():
        for first, others in GREENLETS.items():
            if first not in functions or "spin" not in functions:
                continue
            strange = set(functions) & (others | OUTSIDE)
            seen[first] += count
            mixed[first] += count if strange else 0
            if strange:
                problems.append("%d times %s in the greenlet of %s: %s" % (count, sorted(strange), first, ";".join(functions)))
    if set(seen) != set(GREENLETS):
        problems.append("seen: %s" % dict(seen))
    elif all(mixed[first] <= MAX_SWITCHING * seen[first] for first in GREENLETS):
        problems = []
    return problems


def record_counted(name, source, python, **options):
    """The stacks of a program of this text, and the data quality of the recording."""
    path, quality = harness.file_in(name), harness.file_in("rules-%s.quality.json" % python.version)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    stacks = record(path, python, options=("--quality", quality), **options)
    with open(quality, encoding="utf-8") as file:
        return stacks, json.load(file)


def check_switching(python):
    """Checks that a switch of greenlets gives a gap between Python frames and native frames, and that no other sample is wrong."""
    if not has_module(python, "greenlet"):
        return []
    stacks, counted = record_counted("switching.py", SWITCHING, python)
    copied = counted["samples"] - counted["native_none"]
    unplaced = counted["native_entries"] - counted["native_placed"]
    switches, wrong = 0, collections.Counter()
    for functions, count in stacks.items():
        if "<gap>" in functions:
            switches += count
        elif "nested" in functions and functions[0].startswith("greenlet::"):
            # Between a call and the next one, C code is.
            if any(pair == ("nested", "nested") for pair in zip(functions, functions[1:])) or functions.count("nested") > NESTED:
                wrong[functions] += count
    unsure = max(counted["native_mismatched"], counted["native_gaps"] - counted["native_gaps_switch"], unplaced, sum(wrong.values()))
    if switches and unsure <= MAX_UNSURE * copied:
        return []
    return ["%d switches in %d native stacks; mismatched %d, gaps %d, of switches %d, not placed %d, wrong: %s" %
            (switches, copied, counted["native_mismatched"], counted["native_gaps"], counted["native_gaps_switch"], unplaced,
             [(count, ";".join(functions)) for functions, count in wrong.most_common(3)])]


def check_compiled(python):
    """A function and its wrapper have one name, and are one frame for each call."""
    path = harness.file_in("compiled_names.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(COMPILED)
    right, wrong = collections.Counter(), collections.Counter()
    for functions, count in record(path, python, os.environ["PYROMETER_COMPILED_NAMES"]).items():
        caller = next((name for name in EXPECTED if name in functions), None)
        if not caller or not any(name.startswith("counting.") for name in functions):
            continue
        below = collections.Counter(name for name in functions if name.startswith("counting."))
        (right if below == EXPECTED[caller] else wrong)[caller] += count
    return ["%s: %d right, %d wrong" % (caller, right[caller], wrong[caller]) for caller in EXPECTED
            if not right[caller] or wrong[caller] > MAX_BETWEEN * right[caller]]


def check_causes(python):
    """A gap counts for its cause: here, code that no table describes."""
    _, counted = record_counted("generated.py", GENERATED, python)
    causes = {cause: counted["native_gaps_" + cause] for cause in GAPS}
    copied = counted["samples"] - counted["native_none"]
    right = sum(causes.values()) == counted["native_gaps"] and causes["no_table"] >= LEAST_GENERATED * copied > 0
    return [] if right else ["of %d native stacks %d have gaps, by cause: %s" % (copied, counted["native_gaps"], causes)]


def check_missing(python):
    """A sample without native frames counts for its cause: outside, of a running thread, that it was not stopped."""
    path, quality = harness.file_in("generated.py"), harness.file_in("missing-%s.quality.json" % python.version)
    with open(path, "w", encoding="utf-8") as file:
        file.write(GENERATED)
    problems = []
    with victim(path, python=python.path) as target:
        for stop in ("never", "auto"):
            process, code = run_program("record", str(target.pid), "-d", "0.5", "--engine", "remote", "--native=full", "--stop", stop,
                                        "--quality", quality, "--idle", "--waits=off", "--collapsed", "-o", "-")
            with open(quality, encoding="utf-8") as file:
                counted = json.load(file)
            causes = {cause: counted["native_none_" + cause] for cause in MISSING}
            said = any("of those without a native stack" in line and "--stop always" in line for line in process.err)
            # Threads that run are stopped as far as that share of time allows; then few are missing, or none.
            is_much = counted["native_complete"] < 0.9 * counted["samples"]
            is_named = said and causes["unstopped"] if stop == "never" else said == (causes["unstopped"] > 0 and is_much)
            if code or sum(causes.values()) != counted["native_none"] or not is_named:
                problems.append("--stop %s: %d samples without a native stack, by cause: %s; %s" % (stop, counted["native_none"], causes, process.err))
            if stop == "never" and causes["unstopped"] + causes["truncated"] != counted["samples"]:
                problems.append("--stop never: of %d samples %s" % (counted["samples"], causes))
    return problems


def check_astray(python):
    """Wherever the stack pointer leads, the Python frames are right and the program goes on."""
    path = harness.file_in("astray.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(ASTRAY)
    inside = collections.Counter()
    for functions, count in record(path, python).items():
        if "astray" in functions:
            inside["<gap>" in functions or "<native stack>" in functions or functions[-1] == "astray"] += count
    # An end that is none: the frames of the interpreter are not there.
    return [] if inside[True] and inside[False] <= MAX_BETWEEN * inside[True] else ["with and without a gap: %s" % dict(inside)]


def can_jit(python):
    """Has it a JIT that PYTHON_JIT=1 turns on?"""
    code = "import sys; sys.exit(not (hasattr(sys, '_jit') and sys._jit.is_enabled()))"
    return subprocess.run([python.path, "-c", code], env=dict(os.environ, PYTHON_JIT="1"), check=False).returncode == 0


def check_jit(python):
    """Code of CPython's JIT is a mark of the Python frame that it executes, no frame, and no gap."""
    if not can_jit(python):
        return []
    stacks, counted = record_counted("compiled_at_run_time.py", COMPILED_AT_RUN_TIME, python, variables={"PYTHON_JIT": "1"})
    copied, in_jit = counted["samples"] - counted["native_none"], counted["states"]["in_jit"]
    frames = sum(count for functions, count in stacks.items() if set(functions) & {"<generated code>", "_PyJIT_Entry"})
    whole = counted["native_complete"] >= (1 - MAX_BETWEEN) * copied > 0 and frames <= MAX_BETWEEN * copied
    if whole and in_jit["yes"] >= LEAST_IN_JIT * copied and in_jit["unknown"] <= counted["samples"] - (1 - MAX_BETWEEN) * copied:
        return []
    return ["of %d native stacks %d are complete, %d have a frame of the JIT, in its code: %s" % (copied, counted["native_complete"], frames, in_jit)]


def check_instructions(python):
    """Checks that instructions that are functions of the interpreter are no frames; the evaluation function, which has called
    them, is."""
    if not python.makes_tail_calls:
        return []
    stacks, counted = record_counted("compiled_at_run_time.py", COMPILED_AT_RUN_TIME, python)
    copied, own = counted["samples"] - counted["native_none"], sum(count for functions, count in stacks.items() if functions[-1] in ("helper", "loop"))
    frames = sum(count for functions, count in stacks.items() if any(name.startswith("_TAIL_CALL_") for name in functions))
    unplaced = counted["native_entries"] - counted["native_placed"]
    if counted["native_complete"] >= (1 - MAX_BETWEEN) * copied > 0 and own and not frames and unplaced <= MAX_BETWEEN * copied:
        return []
    return ["of %d native stacks %d are complete, %d calls are not placed, %d have functions of instructions, %d end in Python" %
            (copied, counted["native_complete"], unplaced, frames, own)]


def check(python):
    problems = check_jit(python) + check_instructions(python) + check_greenlets(python) + check_switching(python)
    if not has_module(python, "ctypes"):
        print("%-10sskipped: it has no ctypes, so greenlets only" % python.version)
        return problems
    if python.path not in [one.path for one in harness.ends()]:
        return problems
    # Code that is not the interpreter's. Stops are the remote engine's.
    missing = check_missing(python) if harness.ENGINE == "remote" else []
    return problems + check_compiled(python) + check_causes(python) + missing + check_astray(python)


if __name__ == "__main__":
    sys.exit(harness.check_each(lambda python: True, check))
