"""Overwrites the interpreter's own memory while it runs, at random but always the same for a seed.

Usage: corrupts.py SEED [SECONDS]

A child of this process is what is sampled: its pid is printed before READY. Some of its threads and tasks run ordinary
code; the parent writes into its memory, at first into objects that profilers read (code objects, their names and tables,
frames, types, dictionaries, tasks), then anywhere that is writable, and starts a new one when it has died. No answers:
what is seen of it means nothing.
"""

import asyncio
import gc
import os
import random
import resource
import signal
import struct
import sys
import threading
import time

SEED = int(sys.argv[1])
END = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else 60)


class Point:
    def __init__(self):
        self.x = 1

    def method(self, depth):
        return self.method(depth - 1) + self.x if depth else sum(i for i in range(50))


def work():
    point = Point()
    while True:
        point.method(12)


async def waiter(depth):
    if depth:
        await waiter(depth - 1)
    else:
        await asyncio.sleep(0.001)


async def tasks():
    while True:
        await asyncio.gather(*(waiter(5) for _ in range(10)))


def sleeper(depth):
    if depth:
        sleeper(depth - 1)
    else:
        time.sleep(1000)


def quiet():
    """Addresses and sizes of what profilers read and what runs does not: it lives on when they are broken."""
    found = []
    for function in (sleeper, work, waiter, tasks, Point.method):
        code = function.__code__
        parts = [getattr(code, name, code.co_name)
                 for name in ("co_name", "co_filename", "co_linetable", "co_lnotab", "co_qualname", "co_varnames")]
        found += [(id(part), sys.getsizeof(part)) for part in parts]
    found.append((id(sleeper.__code__), sys.getsizeof(sleeper.__code__)))
    for frame in sys._current_frames().values():
        while frame is not None and frame.f_code.co_name == "sleeper":
            found.append((id(frame), 96))
            frame = frame.f_back
    for thread in threading.enumerate():
        found.append((id(thread), 64))
    return found


def interesting():
    """Addresses of objects that profilers read and that all that runs does too."""
    found = []
    for function in (Point.method, Point.__init__, work, waiter, tasks, interesting, threading.Thread.run, asyncio.sleep):
        code = function.__code__
        parts = [code, code.co_name, code.co_filename, code.co_code, code.co_consts, code.co_names, function, function.__dict__]
        parts += [getattr(code, name) for name in ("co_linetable", "co_lnotab", "co_qualname") if hasattr(code, name)]
        found += [(id(part), sys.getsizeof(part)) for part in parts]
    parts = [sys._getframe(), Point, Point.__dict__, type(sys), sys.modules, threading._active, asyncio.Task, sys]
    parts += list(sys._current_frames().values()) + list(threading._active.values())
    found += [(id(part), min(sys.getsizeof(part), 4096)) for part in parts]
    return found


def writable(pid):
    """Ranges that the process may write: heap and the interpreter's own data, not stacks of the kernel's."""
    found = []
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps:
        for line in maps:
            words = line.split()
            if words[1].startswith("rw") and not line.rstrip().endswith(("[vvar]", "[stack]")):
                low, high = (int(word, 16) for word in words[0].split("-"))
                found.append((low, min(high - low, 1 << 22)))
    return found


def child(write_fd):
    # Nothing is written to a terminal or a core when it dies, and nobody walks through what is broken and sleeps.
    gc.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for _ in range(3):
        threading.Thread(target=sleeper, args=(20,), daemon=True).start()
    threading.Thread(target=work, daemon=True).start()
    threading.Thread(target=lambda: asyncio.run(tasks()), daemon=True).start()
    time.sleep(0.2)
    os.write(write_fd, repr([quiet(), interesting()]).encode() + b"\n")
    os.close(write_fd)
    signal.alarm(int(max(1, END - time.monotonic())) + 5)
    work()


def start():
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_fd)
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            child(write_fd)
        finally:
            os._exit(1)
    os.close(write_fd)
    with os.fdopen(read_fd, encoding="utf-8") as pipe:
        line = pipe.readline()
    return pid, eval(line) if line else []


def inside(memory, places):
    """Since 3.11 frames lie in memory of their thread, side by side; frame objects point at theirs."""
    if sys.version_info < (3, 11):
        return []
    return [(struct.unpack("<Q", os.pread(memory, 8, address + 24))[0] - 512, 768) for address, _ in places]


def values(chance, places):
    kind = chance.randrange(6)
    if kind == 0:
        return struct.pack("<Q", chance.choice(places)[0])
    if kind == 1:
        return struct.pack("<Q", chance.choice(places)[0] + chance.randrange(-64, 64))
    if kind == 2:
        return struct.pack("<Q", chance.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 2**47)))
    if kind == 3:
        return struct.pack("<Q", chance.getrandbits(64))
    return bytes([chance.getrandbits(8) for _ in range(chance.choice((1, 2, 4)))])


def is_alive(pid):
    return os.waitpid(pid, os.WNOHANG)[0] == 0


def corrupt(pid, chance, places):
    """Until it has died, some bytes at a time; the number of writes."""
    written = 0
    memory = os.open("/proc/%d/mem" % pid, os.O_RDWR)
    quiet_places, loud_places = places
    places = quiet_places + loud_places
    sleeping = quiet_places + inside(memory, [place for place in quiet_places if place[1] == 96])
    # The damage that it dies of comes late.
    began, life = time.monotonic(), chance.uniform(0.5, 4)
    try:
        while time.monotonic() < END and is_alive(pid):
            is_late = time.monotonic() - began > life
            chosen = sleeping
            if is_late:
                chosen = chance.choice((sleeping, loud_places, writable(pid) or loud_places))
            for _ in range(chance.randrange(1, 8)):
                low, size = chance.choice(chosen)
                try:
                    os.pwrite(memory, values(chance, places), low + chance.randrange(max(1, size)))
                    written += 1
                except OSError:
                    return written
            time.sleep(0.001)
    finally:
        os.close(memory)
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
    return written


def main():
    chance, written, lives = random.Random(SEED), 0, 0
    while time.monotonic() < END:
        pid, places = start()
        if not places:
            continue
        lives += 1
        print(pid, flush=True)
        if lives == 1:
            print("READY", flush=True)
        # So that it has been found before it is broken.
        time.sleep(0.3)
        written += corrupt(pid, chance, places)
    print("WRITTEN", written, lives, flush=True)


main()
