"""A debugger that has a process, for the tests of this folder."""

import ctypes
import os

from harness import Process, newest_python

TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces.py")
PR_SET_PTRACER, ANY = 0x59616d61, ctypes.c_ulong(-1)


def traceable():
    """For a child: whoever has its identity may trace it, where the kernel asks for more by default."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANY, 0, 0, 0)


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


class Tracer(Process):
    """Has a process until a line asks it to let go."""

    def __init__(self, *arguments):
        read_fd, self.write_fd = os.pipe()
        super().__init__([newest_python(), TRACES, *arguments], stdin=read_fd)
        os.close(read_fd)
        try:
            self.wait_line("^READY")
        except BaseException:
            self.kill()
            raise

    def let_go(self):
        os.close(self.write_fd)
        self.write_fd = -1
        return self.wait()

    def __exit__(self, *problem):
        if self.write_fd >= 0:
            os.close(self.write_fd)
        super().__exit__(*problem)
