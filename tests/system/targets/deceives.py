"""A program that makes up what dumps read of locks, threads and code, without breaking itself.

Usage: deceives.py MODE [SECONDS]

`names`: names of files, functions, classes and threads have ten million characters, some of them hostile.
`locks`: conditions whose locks are each other and themselves, a lock of a lying owner, classes that have the names of locks and none
of their attributes, and attributes that have any type.
`list`: the list of thread states, and that of the frames of a thread, lead back to themselves.
`crowd`: 300 threads, each with many active `with` blocks of the same objects, wait for one of these.
"""

import ctypes
import sys
import threading
import time

MODE = sys.argv[1]
END = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else 60)
LONG = 10 ** 7
HOSTILE = "\x1b[2J\r\n\0\u202e" + "x" * LONG
STARTED = threading.Semaphore(0)


def start(name, target, *args):
    threading.Thread(target=target, args=args, name=name, daemon=True).start()


def take(lock):
    with lock:
        STARTED.release()
        time.sleep(1000)


def names():
    space = {"time": time, "kind": type(HOSTILE.replace("\0", ""), (), {"__enter__": lambda self: self, "__exit__": lambda *_: None})}
    source = "def f():\n with kind():\n  time.sleep(1000)\n"
    exec(compile(source, HOSTILE.replace("\0", ""), "exec"), space)
    code = space["f"].__code__
    values = {"co_name": HOSTILE}
    if hasattr(code, "co_qualname"):
        values["co_qualname"] = HOSTILE
    space["f"].__code__ = code.replace(**values)
    start(HOSTILE, space["f"])


def locks():
    """Each is held by one thread and waited for by another."""
    own = threading.Condition()
    mine, yours = threading.Condition(), threading.Condition()
    owned = threading.RLock()
    empty = [type(name, (), {"__enter__": lambda self: self, "__exit__": lambda *_: None})()
             for name in ("Condition", "Lock", "RLock", "Semaphore", "_RLock", "_ModuleLock", "_multiprocessing.SemLock", "_thread.lock")]
    odd = [type(name, (), {"__enter__": lambda self: self, "__exit__": lambda *_: None, "_lock": value, "_semlock": value, "_owner": value,
                           "owner": value, "_ident": value, "_sleeping_count": value})()
           for name in ("Condition", "RLock", "_RLock", "_ModuleLock") for value in (None, -1, 1 << 5000, "x", 0.5, [], sys)]
    for one in empty + odd:
        start("odd", take, one)
        STARTED.acquire()
    for one in odd:
        one._lock = one._semlock = one._owner = one.owner = one
    held = [own, mine, yours, owned]
    for one in held:
        start("holder", take, one)
        STARTED.acquire()
    for one in held:
        start("waiter", take, one)
    time.sleep(0.2)
    own._lock, mine._lock, yours._lock = own, yours, mine
    # The owner of a recursive lock is a word of the object; nobody gives it back from here on.
    ctypes.c_uint64.from_address(id(owned) + object.__basicsize__ + 8).value = threading.get_ident()


def lists():
    """Writes links that nothing follows while all threads sleep."""
    lock = threading.Lock()
    start("holder", take, lock)
    STARTED.acquire()
    start("waiter", take, lock)
    time.sleep(0.2)
    ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
    state = ctypes.pythonapi.PyThreadState_Get()
    links = (ctypes.c_uint64 * 2).from_address(state)
    links[0] = links[1] = state
    frame = sys._getframe()
    if sys.version_info >= (3, 11):
        # The word of struct _PyInterpreterFrame that points at another one is the link.
        inner = ctypes.c_uint64.from_address(id(frame) + object.__basicsize__ + 8).value
        words = (ctypes.c_uint64 * 10).from_address(inner)
        outer = ctypes.c_uint64.from_address(id(frame.f_back) + object.__basicsize__ + 8).value
        for i in range(10):
            if words[i] == outer:
                words[i] = inner
    print("READY", flush=True)
    time.sleep(max(0, END - time.monotonic()))
    ctypes.pythonapi._exit(0)


def crowd():
    threading.stack_size(1 << 18)
    every = [threading.Semaphore(2000) for _ in range(18)]
    a, b, c, d, e, f, g, h, i = every[:9]
    j, k, m, n, o, p, q, r, s = every[9:]
    end = threading.Lock()
    end.acquire()

    def hold(depth):
        with a, b, c, d, e, f, g, h, i:
            with j, k, m, n, o, p, q, r, s:
                if depth:
                    hold(depth - 1)
                else:
                    with end:
                        pass

    for _ in range(300):
        start("crowd", hold, 1)


{"names": names, "locks": locks, "list": lists, "crowd": crowd}[MODE]()
time.sleep(1)
print("READY", flush=True)
time.sleep(max(0, END - time.monotonic()))
