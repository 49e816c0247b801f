"""Programs that are measured and programs that measure: started, watched, and always ended, by process id."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
BUILD = os.path.join(ROOT, "build", "bench")
WORKLOADS = os.path.join(FOLDER, "workloads")
CPUS = sorted(os.sched_getaffinity(0))
# The target has one processor and the profiler the others, so that they truly run at the same time.
TARGET_CPUS = CPUS[:1]
PROFILER_CPUS = CPUS[1:] or CPUS
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def tied(command):
    """The command so that it dies with us, where that can be had."""
    return ["setpriv", "--pdeathsig", "KILL"] + command if shutil.which("setpriv") else command


def start(command, cpus, **options):
    def pin():
        os.sched_setaffinity(0, cpus)
    return subprocess.Popen(tied([str(word) for word in command]), stdin=subprocess.DEVNULL, preexec_fn=pin, **options)


class Outcome:
    """How a program that ran to its end did: exit code, output, CPU seconds (user + system), peak memory in bytes."""

    def __init__(self, code, text, usage, wall_s):
        self.code, self.text, self.wall_s = code, text, wall_s
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_bytes = usage.ru_maxrss * 1024

    def find(self, pattern):
        """The first group as a number, None if the output has no such text."""
        match = re.search(pattern, self.text)
        return float(match.group(1)) if match else None


def run(command, seconds, watch=None, **options):
    """Runs a profiler to its end, or to `seconds`; its output is text. watch(pid) is called once it was started."""
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = start(command, PROFILER_CPUS, stdout=output, stderr=subprocess.STDOUT, **options)
        try:
            if watch:
                watch(process.pid)
            usage = wait(process, seconds)
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
        wall_s = time.monotonic() - began
        output.seek(0)
        text = re.sub(r"\x1b\[[0-9;]*m", "", output.read().decode("utf-8", "replace"))
    return Outcome(process.returncode, text, usage, wall_s)


def wait(process, seconds):
    """Waits with resource usage; a program that takes too long is told to end, then ended."""
    end = time.monotonic() + seconds
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.monotonic() > end:
            process.send_signal(signals.pop(0) if len(signals) > 1 else signal.SIGKILL)
            end = time.monotonic() + 3
        time.sleep(0.02)


class Target:
    """A workload that runs and has said READY. Use it with `with`: it is gone afterwards."""

    def __init__(self, python, workload, seconds, arguments=(), cpus=None):
        self.python, self.workload = python, workload
        path = os.path.join(WORKLOADS, workload)
        # -I would keep the workloads from importing each other.
        command = [python.path, "-S", "-u", path, "%g" % seconds] + [str(word) for word in arguments]
        environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
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

    def is_running(self):
        return self._popen.poll() is None

    def line(self):
        """The next line it prints."""
        return self._popen.stdout.readline().decode().strip()

    def cpu_s(self):
        """CPU seconds used so far by all of its threads."""
        with open("/proc/%d/stat" % self.pid, encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S
