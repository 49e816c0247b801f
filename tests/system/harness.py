"""Code that the system tests share: victims, a profiler on a port of its own, its HTTP interface.

Everything started here is ended here, by its process id, also when a test fails; every wait has an end. The environment:

    PYROMETER                the program to test
    PYROMETER_TEST_DIR       a folder for files (a temporary one if not given)
    PYROMETER_RATE_HZ        samples a second of the tests of stacks (500)
    PYROMETER_SLOWNESS       by how much longer waits may take (1; more below a sanitizer)
    PYROMETER_SANITIZED      not empty: below a sanitizer, so fewer victims will do
    PYROMETER_ONLY_PYTHONS   versions to test, "3.11 3.15.2 3.13.5t"; all that are found if not given
    PYROMETER_ENGINE         what samples where a test chooses no engine itself: "remote" (if not given), "kernel"
"""

import concurrent.futures
import contextlib
import ctypes
import functools
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

# Interpreters at the same time, where one test tries all.
AT_ONCE = 4
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VICTIMS = os.path.join(ROOT, "tests", "victims")
PROGRAM = os.path.abspath(os.environ.get("PYROMETER", os.path.join(ROOT, "build", "debug", "pyrometer")))
ENGINE = os.environ.get("PYROMETER_ENGINE") or "remote"
# Other tests may run at the same time, and this one with the other engine.
FOLDER = os.path.join(os.environ.get("PYROMETER_TEST_DIR") or tempfile.mkdtemp(prefix="pyrometer-system-"),
                      os.path.basename(sys.argv[0]).removeprefix("test_").removesuffix(".py"))
if ENGINE != "remote":
    FOLDER = os.path.join(FOLDER, ENGINE)
os.makedirs(FOLDER, exist_ok=True)
SLOWNESS = float(os.environ.get("PYROMETER_SLOWNESS", "1"))
SANITIZED = bool(os.environ.get("PYROMETER_SANITIZED"))
# The commands that take --engine, and the options for which only the remote engine will do.
SAMPLING = ("attach", "record", "run", "serve", "top")
REMOTE_ONLY = ("--async-aware", "--async-mode", "--blocking", "--max-stop", "--stop")
SKIPPED = 77
# The versions whose stacks can be read, and those that must be refused.
SUPPORTED_MINORS = range(8, 17)
# A victim that outlives its test, however that ended, ends by itself.
VICTIM_SECONDS = int(120 * SLOWNESS)
WAIT_SECONDS = 20 * SLOWNESS
# 3.13t yields its processor two thousand times while it starts: on a busy machine it takes long.
START_SECONDS = 3 * WAIT_SECONDS

# A system call that is not in the program's list ends it here, so that ordinary use is seen to make none.
os.environ.setdefault("PYROMETER_DENIED_CALL", "kill")


class Process:
    """A program with its two outputs gathered line by line. Use it with `with`: it is gone afterwards."""

    def __init__(self, command, **options):
        self.command = with_engine([str(word) for word in command])
        self.out, self.err = [], []
        self._changed = threading.Condition()
        self._open = 2
        options.setdefault("stdin", subprocess.DEVNULL)
        self._popen = subprocess.Popen(tied(self.command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        for stream, lines in ((self._popen.stdout, self.out), (self._popen.stderr, self.err)):
            threading.Thread(target=self._gather, args=(stream, lines), daemon=True).start()

    @property
    def pid(self):
        return self._popen.pid

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.kill()
        if kind is None:
            self.check_sanitizers()

    def _gather(self, stream, lines):
        with stream:
            for line in stream:
                with self._changed:
                    lines.append(line.decode("utf-8", "replace").rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def wait_ready(self):
        """Until it, or its child, has said READY; a line of another writer may follow it at once."""
        return self.wait_line("^READY", seconds=START_SECONDS)

    def wait_line(self, pattern, lines=None, seconds=WAIT_SECONDS):
        """The match of the first line that fits, of `out` unless `lines` is `err`."""
        lines = self.out if lines is None else lines
        end = time.monotonic() + seconds
        with self._changed:
            while True:
                for line in lines:
                    match = re.search(pattern, line)
                    if match:
                        return match
                left = end - time.monotonic()
                if left <= 0 or self._open == 0:
                    raise AssertionError("no line fits %r: %s" % (pattern, self.output()))
                self._changed.wait(left)

    def wait(self, seconds=WAIT_SECONDS):
        """The exit code (negative: a signal), once both outputs are complete."""
        try:
            code = self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("still running after %g s: %s" % (seconds, self.output())) from None
        end = time.monotonic() + 5
        with self._changed:
            while self._open and time.monotonic() < end:
                self._changed.wait(0.1)
        return code

    def is_running(self):
        return self._popen.poll() is None

    def signal(self, number):
        self._popen.send_signal(number)

    def kill(self):
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.wait()

    def check_sanitizers(self):
        if any(re.search(r"Sanitizer|runtime error:", line) for line in self.err):
            raise AssertionError("a sanitizer complains: " + "\n".join(self.err))

    def output(self):
        return "%s: exit code %s\nstdout: %s\nstderr: %s" % (
            " ".join(self.command)[:300], self._popen.poll(), "\n".join(self.out)[-1000:], "\n".join(self.err)[-3000:])


def with_engine(command, engine=ENGINE):
    """The command so that it samples with that engine, unless it chooses one itself. Then `serve` samples nothing unasked."""
    at = command.index(PROGRAM) + 1 if PROGRAM in command else len(command)
    if not set(command[at:at + 1]) & set(SAMPLING) or "--engine" in command:
        return command
    if engine == "kernel" and set(command) & set(REMOTE_ONLY):
        engine = "remote"
    elif engine == "kernel" and command[at] == "serve":
        # It has a few for its sessions; the others do without.
        engine = "auto"
        if not any("continuous" in word for word in command):
            command = command + ["--no-continuous"]
    return command[:at + 1] + ["--engine", engine] + command[at + 1:]


def why_no_kernel_engine():
    """Why the kernel engine does not run here; empty if it does."""
    process, code = run_program("record", "--engine", "kernel", "-d", "0.1", "--collapsed=-", str(os.getpid()))
    if code == 0:
        return ""
    assert "kernel engine" in process.err[-1], process.output()
    return process.err[-1]


def skip_without_kernel_engine():
    """Ends with 77 where the kernel engine does not run, saying why; with 1 on a kernel that tests/kernels says can run it."""
    reason = why_no_kernel_engine()
    if reason and "can run" in os.environ.get("PYROMETER_ENGINE_CHECK", ""):
        print("the kernel engine does not run: " + reason)
        sys.exit(1)
    if reason:
        print("skipped: needs the kernel engine: " + reason)
        sys.exit(SKIPPED)


def tied(command):
    """The command so that it dies with us, where that can be had."""
    if command[0].endswith("setpriv") or not shutil.which("setpriv"):
        return command
    return ["setpriv", "--pdeathsig", "KILL"] + command


def processes_of(pid):
    """The processes that a server has started, and those that they have: {name: pid}."""
    found, left = {}, [pid]
    while left:
        one = left.pop()
        try:
            with open("/proc/%d/task/%d/children" % (one, one), encoding="ascii") as file:
                left += map(int, file.read().split())
            if one != pid:
                with open("/proc/%d/comm" % one, encoding="utf-8", errors="replace") as file:
                    found.setdefault(file.read().rstrip("\n"), one)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def reader_of(process):
    """The process that reads others for this one, once it is there; this one itself, if it serves nothing."""
    if not set(getattr(process, "command", ())) & {"serve", "attach", "run"}:
        return process.pid
    end = time.monotonic() + WAIT_SECONDS
    while True:
        found = processes_of(process.pid)
        if "pyrometer-read" in found:
            return found["pyrometer-read"]
        assert time.monotonic() < end and process.is_running(), "nothing reads other processes: " + process.output()
        time.sleep(0.05)


def has_landlock():
    """Can a process limit itself to some folders here?"""
    return ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1)) > 0


def victim(name, *arguments, python=None, ready=True, **options):
    """A victim (or any script, given its path) that has said READY."""
    path = name if os.sep in name else os.path.join(VICTIMS, name)
    process = Process([python or newest_python(), path] + list(arguments), **options)
    if ready:
        try:
            process.wait_ready()
        except BaseException:
            process.kill()
            raise
    return process


def program(*arguments, **options):
    return Process([PROGRAM] + list(arguments), **options)


def run_program(*arguments, seconds=WAIT_SECONDS, **options):
    """Runs the program to its end: the finished Process and its exit code."""
    with program(*arguments, **options) as process:
        return process, process.wait(seconds)


class Python:
    """An interpreter of this machine."""

    def __init__(self, version, path):
        self.version, self.path = version, path
        self.minor = int(version.split(".")[1])
        flags = re.search("[tdc]*$", version).group()
        self.is_free_threaded, self.is_debug, self.makes_tail_calls = "t" in flags, "d" in flags, "c" in flags
        # The newest one of a kind is enough.
        self.kind = (self.minor, flags)
        # Packages that scripts/get-pythons has brought for it.
        self.packages = os.path.join(os.environ.get("PYROMETER_PYTHONS", os.path.join(ROOT, ".pythons")), "packages",
                                     "3.%d%s" % (self.minor, "t" * self.is_free_threaded))

    @property
    def is_supported(self):
        return self.minor in SUPPORTED_MINORS

    def environment_of_copy(self):
        """With it, a copy of the executable finds the library; also one of a build that runs only where it was built."""
        paths = subprocess.run([self.path, "-c", "import sys; print(sys.base_prefix, *sys.path[1:], sep='\\n')"],
                               stdout=subprocess.PIPE, timeout=START_SECONDS, check=True).stdout.decode()
        home, *library = paths.splitlines()
        return dict(os.environ, PYTHONHOME=home, PYTHONPATH=os.pathsep.join(library))


@functools.lru_cache(maxsize=None)
def pythons():
    """The interpreters of this machine, oldest first."""
    listing = subprocess.run([os.path.join(ROOT, "scripts", "get-pythons"), "--list"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, timeout=60 + WAIT_SECONDS, check=False).stdout.decode()
    only = os.environ.get("PYROMETER_ONLY_PYTHONS", "").split()
    found = [Python(*line.split("\t")) for line in listing.splitlines()]
    return [python for python in found
            if not only or any((python.version + ".").startswith(wanted + ".") for wanted in only)]


def kinds(wanted=lambda python: True):
    """The newest supported interpreter of each kind that is wanted, oldest first."""
    return list({python.kind: python for python in pythons() if python.is_supported and wanted(python)}.values())


def ends(wanted=lambda python: True):
    """The oldest and the newest of the usual kinds that are wanted: enough for what no interpreter does in a way of its own."""
    usual = kinds(lambda python: wanted(python) and python.kind[1] == "")
    return usual[:1] + usual[1:][-1:]


_newest = []


def newest():
    """The newest interpreter that is supported; a free-threaded one, which runs where it was built, or a debug build, which is
    slow, only if there is no other."""
    if not _newest:
        supported = [python for python in pythons() if python.is_supported]
        supported = [python for python in supported if python.kind[1] == ""] or supported
        if not supported:
            print("skipped: no interpreter of a supported version is on this machine")
            sys.exit(SKIPPED)
        _newest.append(supported[-1])
    return _newest[0]


def newest_python():
    return newest().path


class Answer:
    """The answer of the HTTP interface: status, headers, and the body with its coding taken off."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.raw = response.read()
        self.coding = response.headers.get("Content-Encoding", "identity")
        self.body = decode(self.coding, self.raw) if self.raw else b""

    def json(self):
        return json.loads(self.body.decode("utf-8"))


def decode(coding, data):
    if coding == "gzip":
        return gzip.decompress(data)
    if coding == "zstd":
        return decode_zstd(data)
    assert coding == "identity", coding
    return data


def decode_zstd(data):
    """By the library the program itself is linked with."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    size = library.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    assert size < 1 << 28, "a zstd frame of %d bytes" % size
    room = ctypes.create_string_buffer(max(size, 1))
    done = library.ZSTD_decompress(room, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert not library.ZSTD_isError(done), "zstd cannot decode the body"
    return room.raw[:done]


def can(*command):
    """True if this machine lets us run that."""
    try:
        return subprocess.run(command + ("true",), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=20, check=False).returncode == 0
    except OSError:
        return False


class Live:
    """`pyrometer attach` or `run`, serving; asks its API with the token from the URL it printed.  `before`: words that it is
    run by; `path`: another copy of it."""

    def __init__(self, *arguments, before=(), path=PROGRAM, **options):
        words = list(arguments)
        self.process = Process([*before, path, words[0], "--listen", "127.0.0.1:0"] + words[1:], **options)
        try:
            # The output of `run` itself goes to standard error.
            said = self.process.err if words[0] == "run" else self.process.out
            self.url = self.process.wait_line("(http://[^ ]*)$", said).group(1)
        except BaseException:
            self.process.kill()
            raise
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        # Leaks are found at a regular end.
        if kind is None and SANITIZED and self.process.is_running():
            self.stop()
        self.process.__exit__(kind)

    def ask(self, path, method="GET", body=None, headers=None, token=True):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=WAIT_SECONDS)
        sent = {"Authorization": "Bearer " + self.token} if token else {}
        sent.update(headers or {})
        try:
            connection.request(method, path, body, sent)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path):
        """The JSON at /api/v1 + path, which must be there."""
        answer = self.ask("/api/v1" + path)
        assert answer.status == 200, "%s: %d %s" % (path, answer.status, answer.body[:300])
        return answer.json()

    def session(self):
        return self.get("/sessions/1")

    def change(self, **members):
        return self.ask("/api/v1/sessions/1", "PATCH", json.dumps(members),
                        {"X-Pyrometer": "1", "Content-Type": "application/json"})

    def wait_session(self, wanted, seconds=WAIT_SECONDS):
        """The session once `wanted(session)` is true."""
        end = time.monotonic() + seconds
        while True:
            session = self.session()
            if wanted(session):
                return session
            if time.monotonic() > end:
                raise AssertionError("the session never became what was wanted: %r" % session)
            time.sleep(0.1)

    def wait_until(self, is_so, seconds=WAIT_SECONDS):
        """Until `is_so()`."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                raise AssertionError("it never became so: " + self.process.output())
            time.sleep(0.1)

    def wait_samples(self, count):
        return self.wait_session(lambda session: session["quality"]["samples"] >= count)

    def wait_ended(self):
        return self.wait_session(lambda session: session["state"] in ("ended", "failed"))

    def stop(self):
        """Ends it as a user would; the exit code."""
        self.process.signal(signal.SIGINT)
        return self.process.wait()


def checks(process):
    """Lines that a doctor has printed: name -> (state, what was found, what opens it)."""
    found, last = {}, None
    for line in process.out:
        if line.startswith(" "):
            found[last] = found[last][:2] + (line.strip(),)
        else:
            state, last, text = line.split(None, 2)
            found[last] = (state, text, "")
    return found


def file_in(name):
    """A path below the folder for files, where nothing is yet."""
    path = os.path.join(FOLDER, name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return path


WRITING = threading.Lock()


def script(name, text):
    """A program of this text. Several interpreters may run it, so it is written once."""
    path = os.path.join(FOLDER, name)
    with WRITING:
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            if file.read() == text:
                return path
        with open(file_in(name), "w", encoding="utf-8") as file:
            file.write(text)
    return path


def exists(pid):
    """True if that process is there and not a zombie."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_gone(pid, seconds=WAIT_SECONDS):
    end = time.monotonic() + seconds
    while exists(pid):
        if time.monotonic() > end:
            raise AssertionError("process %d is still there" % pid)
        time.sleep(0.05)


class Test(unittest.TestCase):
    """A test case with the words that the system tests use."""

    def assert_refused(self, process, code, wanted, pattern):
        """One line on stderr, which begins with our name and fits the pattern; nothing on stdout."""
        self.assertEqual(code, wanted, process.output())
        self.assertEqual(process.out, [], process.output())
        self.assertEqual(len(process.err), 1, process.output())
        self.assertRegex(process.err[0], r"^pyrometer: \S")
        self.assertRegex(process.err[0], pattern)


class EachTest(Test):
    def each(self, check):
        """Calls check(python) for every interpreter, for some at the same time: most of it is waiting."""
        supported = kinds()
        if not supported:
            print("skipped: no interpreter of a supported version is on this machine")
            sys.exit(SKIPPED)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            checks = {python.version: pool.submit(check, python)
                      for python in (supported[-1:] if SANITIZED else supported)}
        for version, done in checks.items():
            with self.subTest(version):
                done.result()


def check_each(wanted, check):
    """The exit code of a test that prints what `check` says is wrong with each kind of interpreter that is wanted."""
    found = kinds(wanted)
    if not found:
        print("skipped: no interpreter of a supported version is on this machine")
        return SKIPPED
    check_surroundings()
    failed = False
    for python in found:
        problems = check(python)
        print("%-10s%s" % (python.version, "right" if not problems else "FAIL"))
        for problem in problems:
            print("    " + problem)
        failed = failed or bool(problems)
    return 1 if failed else 0


def check_surroundings():
    """Ends with 77 where nothing can be sampled, saying why."""
    if not os.access(PROGRAM, os.X_OK):
        print("%s is not there: build it first" % PROGRAM)
        sys.exit(1)
    if ENGINE == "kernel":
        skip_without_kernel_engine()
    with victim("chain.py", str(VICTIM_SECONDS)) as target:
        process, code = run_program("record", str(target.pid), "-d", "100ms", "--collapsed", "-o", "-")
    if code == 3:
        print("skipped: " + process.err[-1])
        sys.exit(SKIPPED)


def main():
    """Runs the tests of the file that calls this."""
    check_surroundings()
    unittest.main(verbosity=2)
