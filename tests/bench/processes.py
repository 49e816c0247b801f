"""Programs that are measured and programs that measure: started, watched, and always ended, by process id."""

import contextlib
import fcntl
import glob
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
BUILD = os.path.join(ROOT, "build", "bench")
WORKLOADS = os.path.join(FOLDER, "workloads")
CPUS = sorted(os.sched_getaffinity(0))
# The target has one processor and the profiler the others, so that they truly run at the same time.
TARGET_CPUS = CPUS[:1]
PROFILER_CPUS = CPUS[1:] or CPUS
PRIORITY = -19


def tied(command):
    """The command so that it dies with us, where that can be had."""
    return ["setpriv", "--pdeathsig", "KILL"] + command if shutil.which("setpriv") else command


def place(pid, cpus, priority):
    """Says where and how soon a process runs; 0: this one."""
    os.sched_setaffinity(pid, cpus)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, priority)
        # The session's priority counts where the kernel shares the processor between sessions first.
        with open("/proc/%s/autogroup" % (pid or "self"), "w", encoding="ascii") as autogroup:
            autogroup.write(str(priority))


def start(command, cpus, priority=PRIORITY, **options):
    # A target that other work takes the processor from stands still, and all samples of it meanwhile are one sample.
    return subprocess.Popen(tied([str(word) for word in command]), stdin=subprocess.DEVNULL,
                            preexec_fn=lambda: place(0, cpus, priority), start_new_session=True, **options)


class Outcome:
    """How a program that ran to its end did: exit code, output, peak memory in bytes, its steady share of a processor."""

    def __init__(self, code, text, watch, wall_s):
        self.code, self.text, self.wall_s = code, text, wall_s
        self.peak_bytes, self.steady_share = watch.peak_bytes, watch.steady_share()

    def find(self, pattern):
        """The first group as a number, None if the output has no such text."""
        match = re.search(pattern, self.text)
        return float(match.group(1)) if match else None


class Watch:
    """Usage of a running program: its peak memory, and its CPU time between two instants.

    Memory is asked for while it runs, because what the kernel reports at the end includes ours from before the program was loaded.
    """

    def __init__(self, pid, steady=None):
        self._pid, self._began = pid, time.monotonic()
        self._due, self._seen = list(steady or ()), []
        self.peak_bytes = 0

    def read(self):
        self.peak_bytes = max(self.peak_bytes, peak_memory(self._pid))
        now = time.monotonic()
        if self._due and now - self._began >= self._due[0]:
            self._due.pop(0)
            self._seen.append((now, cpu_s(self._pid)))

    def steady_share(self):
        """The share of one processor, between the two instants; None: it did not run for so long."""
        if len(self._seen) < 2:
            return None
        (began, before), (ended, after) = self._seen
        return (after - before) / (ended - began)


def run(command, seconds, steady=None, **options):
    """Runs a profiler to its end, or to `seconds`; its output is text. steady: two instants, in seconds since its start."""
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = start(command, *Crowd.place_of_profilers(), stdout=output, stderr=subprocess.STDOUT, **options)
        try:
            watch = Watch(process.pid, steady)
            wait(process, seconds, watch)
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
        wall_s = time.monotonic() - began
        output.seek(0)
        text = re.sub(r"\x1b\[[0-9;]*m", "", output.read().decode("utf-8", "replace"))
    return Outcome(process.returncode, text, watch, wall_s)


def launch(command):
    """A profiler that is left running; its output is thrown away."""
    return start(command, PROFILER_CPUS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finish(process):
    """Ends a profiler that was launched, as a user would."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait(process, seconds, watch):
    """Until a program ends; one that takes too long gets SIGTERM, then SIGKILL."""
    end = time.monotonic() + seconds
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    while True:
        watch.read()
        if process.poll() is not None:
            return
        if time.monotonic() > end:
            process.send_signal(signals.pop(0) if len(signals) > 1 else signal.SIGKILL)
            end = time.monotonic() + 3
        time.sleep(0.02)


def cpu_s(pid):
    """CPU seconds of all threads that it has now."""
    total = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as schedstat:
            total += int(schedstat.read().split()[0])
    return total / 1e9


def children_of(pid):
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            found += [int(word) for word in file.read().split()]
    return found


def family_cpu_s(pid):
    """CPU seconds of it and of all processes that it has started and that still run."""
    return cpu_s(pid) + sum(family_cpu_s(child) for child in children_of(pid))


def peak_memory(pid):
    """Bytes that were in memory at most since the program was loaded; 0 if it is gone or not loaded yet."""
    try:
        if os.readlink("/proc/%d/exe" % pid).endswith("/setpriv"):
            return 0
        with open("/proc/%d/status" % pid, encoding="utf-8", errors="replace") as status:
            found = re.search(r"^VmHWM:\s+(\d+) kB", status.read(), re.M)
    except OSError:
        return 0
    return int(found.group(1)) * 1024 if found else 0


class Target:
    """A workload that runs and has said READY. Use it with `with`: it is gone afterwards.

    There is only one at a time on this machine: of two, each would stand still while the other one runs.
    """

    def __init__(self, python, workload, seconds, arguments=(), cpus=None):
        self.python, self.workload = python, workload
        self._lock = open(os.path.join(tempfile.gettempdir(), "pyrometer-bench.lock"), "w")  # noqa: SIM115
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        path = os.path.join(WORKLOADS, workload)
        # -I would keep the workloads from importing each other.
        command = [python.path, "-S", "-u", path, "%g" % seconds] + [str(word) for word in arguments]
        environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        self._popen = start(command, cpus or TARGET_CPUS, stdout=subprocess.PIPE, env=environment)
        self.pid = self._popen.pid
        line = self._popen.stdout.readline()
        if line.strip() != b"READY":
            self.__exit__()
            raise RuntimeError("%s did not start on %s: %r" % (workload, python, line))
        time.sleep(0.3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._popen.kill()
        self._popen.wait()
        self._popen.stdout.close()
        self._lock.close()

    def is_running(self):
        return self._popen.poll() is None

    def line(self):
        """The next line it prints."""
        return self._popen.stdout.readline().decode().strip()

    def waited_s(self):
        """How long its main thread stood ready without a processor, so far."""
        with open("/proc/%d/schedstat" % self.pid, encoding="utf-8") as schedstat:
            return int(schedstat.read().split()[1]) / 1e9

    def faults(self):
        """How many page faults it has had that needed no disk."""
        with open("/proc/%d/stat" % self.pid, encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[7])

    def blocked(self):
        """How often its main thread has left the processor although it was not made to: when it waits, and when it is stopped."""
        with open("/proc/%d/task/%d/status" % (self.pid, self.pid), encoding="utf-8", errors="replace") as status:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read(), re.M).group(1))


class Crowd:
    """Busy loops, one for each processor, beside a target and a profiler that are as important as they are. Use it with `with`."""

    here = False

    @classmethod
    def place_of_profilers(cls):
        return (CPUS, 0) if cls.here else (PROFILER_CPUS, PRIORITY)

    def __init__(self, target):
        self._target, self._loops = target, []

    def __enter__(self):
        place(self._target.pid, CPUS, 0)
        self._loops = [start([sys.executable, "-c", "while True: pass"], CPUS, 0) for _ in CPUS]
        Crowd.here = True
        time.sleep(0.3)

    def __exit__(self, *_):
        Crowd.here = False
        for loop in self._loops:
            loop.kill()
            loop.wait()
        place(self._target.pid, TARGET_CPUS, PRIORITY)


class Lines:
    """Lines that a target prints, each with the time at which it came."""

    def __init__(self, target):
        self._queue = queue.SimpleQueue()
        threading.Thread(target=self._gather, args=(target,), daemon=True).start()

    def _gather(self, target):
        while True:
            try:
                line = target.line()
            except (OSError, ValueError):
                return
            if not line:
                return
            self._queue.put((time.monotonic(), line))

    def during(self, seconds):
        """The lines of the next seconds, less the one that began before."""
        time.sleep(seconds)
        return self.drain()[1:]

    def drain(self):
        lines = []
        while not self._queue.empty():
            lines.append(self._queue.get()[1])
        return lines
