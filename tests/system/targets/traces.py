"""Traces another process, as a debugger does: ptrace from Python.

Usage: traces.py PID [stopped] [thread TID]

Says READY once PID (or only that thread of it) is traced, and holds it still with `stopped`; lets it go when stdin ends.
`traces.py try PID` says what errno the kernel has for who tries, "0" for none.
"""

import ctypes
import os
import sys

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid):
    return 0 if libc.ptrace(request, tid, None, None) == 0 else ctypes.get_errno()


def hold(tids, is_stopped):
    for tid in tids:
        problem = ptrace(SEIZE, tid)
        if problem:
            print("REFUSED", os.strerror(problem), flush=True)
            sys.exit(1)
        if is_stopped:
            ptrace(INTERRUPT, tid)
            os.waitpid(tid, WALL)
    print("READY", flush=True)
    sys.stdin.read()
    for tid in tids:
        if not is_stopped:
            ptrace(INTERRUPT, tid)
            os.waitpid(tid, WALL)
        ptrace(DETACH, tid)


if sys.argv[1] == "try":
    problem = ptrace(SEIZE, int(sys.argv[2]))
    print(problem, flush=True)
    # The traced process goes on when its tracer ends.
    sys.exit(0)
target = int(sys.argv[1])
if "thread" in sys.argv:
    hold([int(sys.argv[sys.argv.index("thread") + 1])], "stopped" in sys.argv)
else:
    hold([int(tid) for tid in os.listdir("/proc/%d/task" % target)], "stopped" in sys.argv)
