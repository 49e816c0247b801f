"""A Python program that has mapped what is no ordinary file, executable where it can be.

Usage: maps_odd.py FOLDER [SECONDS]

In FOLDER: `libpython3.99.so.1.0`, which is a FIFO by now, was mapped as a file, `python3.98` is a link to that FIFO by now,
`gone` has been deleted, and one has a line end in its name. Prints what of the rest is mapped, a name a line, then READY.
"""

import ctypes
import mmap
import os
import sys
import time

PAGE = mmap.PAGESIZE
HUGE = 2 << 20
FOLDER = sys.argv[1]
END = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else 100)
READ_EXEC = mmap.PROT_READ | mmap.PROT_EXEC
MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, MAP_HUGETLB = 1, 2, 0x20, 0x40000

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
# A search for an interpreter reads what begins like this.
ELF = open(os.path.realpath("/proc/self/exe"), "rb").read(1 << 20)


def map_it(name, fd, size=PAGE, protection=READ_EXEC, flags=MAP_PRIVATE):
    """Executable, else only readable, else not at all."""
    for wanted in (protection, mmap.PROT_READ):
        if libc.mmap(None, size, wanted, flags, fd, 0) != ctypes.c_void_p(-1).value:
            print(name, flush=True)
            return


def map_file(name):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as file:
        file.write(ELF)
    with open(path, "rb") as file:
        map_it("file", file.fileno(), len(ELF))
    os.unlink(path)
    return path


def map_path(path, flags=os.O_RDONLY):
    try:
        fd = os.open(path, flags | os.O_NONBLOCK)
    except OSError:
        return
    map_it(path, fd, flags=MAP_SHARED)
    os.close(fd)


fifo = map_file("libpython3.99.so.1.0")
os.mkfifo(fifo)
os.symlink(fifo, map_file("python3.98"))
map_file("gone")
os.mkfifo(map_file("line\nend libpython3.97.so"))
for path in ("/dev/zero", "/dev/mem", "/dev/kmsg", "/dev/fb0", "/dev/dri/card0", "/dev/fuse", "/dev/shm", "/proc/self/maps",
             "/proc/kcore", "/proc/self/mem", "/sys/kernel/btf/vmlinux", "/sys/bus/pci/devices/0000:00:02.0/resource0"):
    map_path(path)
memfd = os.memfd_create("libpython3.96.so.1.0") if hasattr(os, "memfd_create") else -1
if memfd >= 0:
    os.write(memfd, ELF)
    map_it("memfd", memfd, len(ELF))
map_it("hugetlb", -1, HUGE, mmap.PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB)
map_it("shared memory", -1, PAGE, mmap.PROT_READ, MAP_SHARED | MAP_ANONYMOUS)


def odd_work():
    while time.monotonic() < END:
        pass


print("READY", flush=True)
odd_work()
