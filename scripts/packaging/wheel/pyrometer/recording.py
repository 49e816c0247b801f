"""Recording a block of this program, from outside: by a process that reads the memory of this one."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time

from .program import Error, last_line, path

PR_SET_PTRACER = 0x59616D61
START_SECONDS = 30
STOP_SECONDS = 120
# It waits for a line, so that its process id is known, and permitted, before it starts.
WAITING = 'read -r _ && exec "$0" "$@"'


def _permit(pid):
    """Lets process `pid` read this one where the kernel protects the parent from its child (kernel.yama.ptrace_scope=1)."""
    try:
        import ctypes  # pylint: disable=import-outside-toplevel  # a Python that was built without libffi lacks it
    except ImportError:
        return
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    # Without Yama there is nothing to permit: then it fails, and that is well.
    prctl(ctypes.c_int(PR_SET_PTRACER), ctypes.c_ulong(pid), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


class record(contextlib.ContextDecorator):  # pylint: disable=invalid-name  # it is used as a function
    """Records the block, or each call of the function, into a file that is then written over.

    file: its ending selects the format, as for `pyrometer record -o`.
    options: further words for `pyrometer record`, for example "--native=full". All threads are sampled.
    Error: it could not start, or the file could not be written. An exception of the block counts more.
    """

    def __init__(self, file, *options):
        self.file = os.fspath(file)
        self.options = [str(option) for option in options]
        self.started = None  # time.monotonic() of the start
        self._process = None
        self._folder = None

    def _recreate_cm(self):
        return record(self.file, *self.options)

    def __enter__(self):
        if self._process:
            raise Error("this recording has started already")
        self._folder = tempfile.TemporaryDirectory(prefix="pyrometer-")  # pylint: disable=consider-using-with
        said, started = (os.path.join(self._folder.name, name) for name in ("said", "started"))
        # The log of access has its first line once sampling has started.
        command = [path(), "record", str(os.getpid()), "-o", self.file, *self.options, "--audit", started]
        with open(said, "wb") as output:
            # A session of its own: Ctrl-C is for this program, which ends the recording.
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["/bin/sh", "-c", WAITING] + command, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True)
        try:
            _permit(self._process.pid)
            with self._process.stdin as waiting:
                waiting.write(b"\n")
            self._wait_start(started)
        except BaseException:
            self._process.kill()
            self._end()
            raise
        self.started = time.monotonic()
        return self

    def _wait_start(self, started):
        end = time.monotonic() + START_SECONDS
        while not (os.path.exists(started) and os.path.getsize(started)):
            if self._process.poll() is not None:
                raise Error(last_line(self._said()))
            if time.monotonic() > end:
                raise Error("sampling did not start within %d s" % START_SECONDS)
            time.sleep(0.002)

    def __exit__(self, kind, value, trace):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            code = self._process.wait(STOP_SECONDS)
            said = self._said()
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._end()
        if code != 0 and kind is None:
            raise Error(last_line(said))
        return False

    def _said(self):
        with open(os.path.join(self._folder.name, "said"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def _end(self):
        self._process.wait()
        self._process = None
        self._folder.cleanup()
