"""Processes whose files and memory are made to keep their readers busy: nobody waits for them, and a signal ends
every command all the same."""

import os
import shutil
import signal
import struct
import time
import unittest

from harness import PROGRAM, SLOWNESS, Process, Test, file_in, main, program, reader_of, victim
from host import Host
from screen import Terminal

MAPS_FILES = os.environ.get("PYROMETER_MAPS_FILES", "")
LONG = "100"
# The bound in seconds; what was not bounded took 20 s, 45 s, or for ever.
SOON_SECONDS = 5 * SLOWNESS
GIB = 1 << 30


def sparse_elf(path, sections):
    """An ELF file of some kilobytes that says it has 3 GiB of symbols and as many strings, or ten million sections."""
    symbols = struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, 8192, 3 * GIB, 2, 0, 8, 24)
    strings = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 4 * GIB, 3 * GIB, 0, 0, 1, 0)
    first = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0 if sections else 10000000, 0, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096)
    header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 4096, 0, 64, 56, 1, 64,
                                                            sections, 0)
    with open(path, "wb") as file:
        file.write(header + load)
        file.seek(4096)
        file.write(first + symbols + strings)
        file.truncate(7 * GIB)
    return path


def used_by(process):
    """The CPU seconds and the most bytes of memory that it has had."""
    with open("/proc/%d/stat" % process.pid, encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    with open("/proc/%d/status" % process.pid, encoding="ascii", errors="replace") as file:
        peak = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak


@unittest.skipUnless(MAPS_FILES, "no program that maps files: PYROMETER_MAPS_FILES")
class Hangs(Test):
    def mapper(self, *arguments):
        process = Process([MAPS_FILES, *arguments])
        self.addCleanup(process.kill)
        if process.wait_line("^(READY|SKIPPED)$").group(1) == "SKIPPED":
            self.skipTest("this kernel does not let a process do that: maps_files " + " ".join(arguments[:1]))
        return process

    def soon(self, process, *codes):
        """It is ended by SIGTERM, at once as people see it; one of these codes, or the signal itself."""
        began = time.monotonic()
        process.signal(signal.SIGTERM)
        code = process.wait(SOON_SECONDS * 4)
        self.assertLess(time.monotonic() - began, SOON_SECONDS, process.output())
        self.assertIn(code, (-signal.SIGTERM, *codes), process.output())
        process.check_sanitizers()

    def answer_soon(self, host):
        began = time.monotonic()
        document = host.get("/processes?limit=4096")
        self.assertLess(time.monotonic() - began, SOON_SECONDS)
        return document

    def examined(self, host):
        """Once all processes have been examined."""
        return host.until("/processes?limit=4096", lambda found: found["examining"] == 0)


class Files(Hangs):
    def test_sparse_files_cost_next_to_nothing(self):
        folder = os.path.dirname(file_in("sparse"))
        paths = [sparse_elf(os.path.join(folder, "sparse-%d" % sections), sections) for sections in (3, 0)]
        with Host() as host:
            self.examined(host)
            cpu_before, _ = used_by(host.process)
            self.mapper(*paths)
            self.answer_soon(host)
            time.sleep(1)
            self.examined(host)
            cpu_after, peak = used_by(host.process)
            self.assertLess(cpu_after - cpu_before, 3 * SLOWNESS)
            if not os.environ.get("PYROMETER_SANITIZED"):
                self.assertLess(peak, 300 << 20)
            self.assertEqual(host.stop(), 0)

    def leased(self):
        folder = os.path.dirname(file_in("leased"))
        paths = [os.path.join(folder, "leased-%d" % i) for i in range(3)]
        for path in paths:
            with open(path, "wb") as file:
                file.write(b"\x7fELF\2\1\1".ljust(4096, b"\0"))
        return self.mapper("--lease", *paths)

    def test_a_lease_is_not_waited_for(self):
        with victim("chain.py", LONG) as target:
            self.leased()
            with Host() as host:
                self.answer_soon(host)
                self.examined(host)
                host.row(target.pid, lambda row: row["python"])
                self.soon(host.process, 0)

    def test_a_lease_holds_no_command_up(self):
        target = self.leased()
        for command in (["record", str(target.pid), "-o", file_in("leased.folded")], ["doctor", str(target.pid)],
                        ["dump", str(target.pid)]):
            with program(*command) as process:
                self.assertEqual(process.wait(SOON_SECONDS), 4, process.output())

    def test_a_map_of_many_pieces_holds_nobody_up(self):
        path = file_in("many")
        shutil.copy(PROGRAM, path)
        target = self.mapper("--many", path)
        with victim("chain.py", LONG) as python, Host() as host:
            self.answer_soon(host)
            host.row(python.pid, lambda row: row["python"])
            self.soon(host.process, 0)
        with program("record", str(target.pid), "-o", file_in("many.folded")) as process:
            self.soon(process, 1, 4)


class Memory(Hangs):
    """Memory that never comes: whoever reads it is in the kernel until it is killed."""

    def setUp(self):
        self.target = str(self.mapper("--stuck").pid)

    def wait_stuck(self, process):
        """Until a thread of it reads that memory, and the next tick finds it there still."""
        folder = "/proc/%d/task" % reader_of(process)

        def is_stuck():
            for thread in os.listdir(folder):
                with open("%s/%s/syscall" % (folder, thread), encoding="ascii") as file:
                    if file.read().startswith(str(310 if os.uname().machine == "x86_64" else 270) + " "):
                        return True
            return False
        end = time.monotonic() + SOON_SECONDS * 4
        seen = 0
        while seen < 2:
            seen = seen + 1 if is_stuck() else 0
            self.assertLess(time.monotonic(), end, "it never reads that memory")
            time.sleep(0.1)

    def test_a_signal_ends_commands_that_print(self):
        for command in ("dump", "doctor"):
            with program(command, self.target) as process:
                self.wait_stuck(process)
                self.soon(process)

    def test_a_signal_ends_record_and_leaves_no_file(self):
        path, capture = file_in("stuck.folded"), file_in("stuck.folded.pyro")
        with program("record", self.target, "-o", path, "--binary=" + capture) as process:
            self.wait_stuck(process)
            self.soon(process, 1)
        self.assertEqual([name for name in os.listdir(os.path.dirname(path)) if "stuck.folded" in name], [])

    def test_a_signal_ends_attach(self):
        with program("attach", "--listen", "127.0.0.1:0", self.target) as process:
            self.wait_stuck(process)
            self.soon(process, 1)

    def test_a_signal_ends_run(self):
        with program("run", "--listen", "127.0.0.1:0", "--", MAPS_FILES, "--stuck") as process:
            self.wait_stuck(process)
            self.soon(process, 1)

    def test_a_signal_ends_top(self):
        with Terminal([PROGRAM, "top", self.target]) as terminal:
            self.wait_stuck(terminal.process)
            terminal.signal(signal.SIGTERM)
            self.assertEqual(terminal.finish(SOON_SECONDS), 1)
            self.assertTrue(terminal.is_as_before())

    def test_a_server_goes_on_and_ends(self):
        with victim("chain.py", LONG) as python, Host() as host:
            session = host.start(pids=[int(self.target)])
            self.wait_stuck(host.process)
            self.answer_soon(host)
            host.row(python.pid, lambda row: row["python"])
            other = host.start(pids=[python.pid])
            host.running(other)
            began = time.monotonic()
            self.assertIn(host.send("DELETE", "/sessions/" + session).status, (200, 202, 204))
            self.assertLess(time.monotonic() - began, SOON_SECONDS)
            self.soon(host.process, 0)
            captures = os.listdir(host.data)
            self.assertTrue(any(name.endswith(".pyro") for name in captures), captures)

    def sticking(self):
        script = file_in("sticks.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(STICKS)
        return victim(script)

    def stick(self, python):
        """Takes its memory away from who reads it."""
        python.signal(signal.SIGUSR1)
        if python.wait_line("^(STUCK|SKIPPED)").group(1) == "SKIPPED":
            self.skipTest("this kernel has no userfaultfd for us")

    def test_a_process_that_hangs_its_examiner_costs_others_some_seconds(self):
        with self.sticking() as python:
            self.stick(python)
            with Host() as host:
                self.wait_stuck(host.process)
                with victim("chain.py", LONG) as other:
                    self.answer_soon(host)
                    host.row(other.pid, lambda row: row["python"])
                    self.assertGreater(self.answer_soon(host)["examining"], 0)
                    self.soon(host.process, 0)

    def test_sampling_that_hangs_ends_with_what_it_has(self):
        """A Python whose memory is taken away from under the reader, while it is sampled."""
        path = file_in("later.folded")
        with self.sticking() as python, program("record", str(python.pid), "-r", "1000", "-o", path) as process:
            time.sleep(1)
            self.stick(python)
            self.wait_stuck(process)
            self.soon(process, 0)
            self.assertGreater(os.path.getsize(path), 0)


# On a line of input it gives the memory that its code lies in to userfaultfd, and nobody brings it back, to itself neither.
STICKS = r"""
import ctypes, fcntl, os, signal, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
UFFDIO_API, UFFDIO_REGISTER, MISSING, DONTNEED = 0xc018aa3f, 0xc020aa00, 1, 4
USERFAULTFD = {"x86_64": 323}.get(os.uname().machine, 282)


def work(wanted=[]):
    signal.signal(signal.SIGUSR1, lambda *_: wanted.append(1))
    print("READY", flush=True)
    while not wanted:
        time.sleep(0.001)


def memory_of(address):
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if begin <= address < end:
                return begin, end - begin


def stick(code):
    begin, count = memory_of(id(code))
    fd = libc.syscall(USERFAULTFD, 0)
    fcntl.ioctl(fd, UFFDIO_API, struct.pack("=QQQ", 0xaa, 0, 0))
    fcntl.ioctl(fd, UFFDIO_REGISTER, struct.pack("=QQQQ", begin, count, MISSING, 0))
    print("STUCK", flush=True)
    libc.madvise(begin, count, DONTNEED)


work()
try:
    stick(stick.__code__)
except OSError:
    print("SKIPPED", flush=True)
time.sleep(100)
"""


if __name__ == "__main__":
    main()
