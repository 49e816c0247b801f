"""Rights of a running command: capabilities, identity, groups and system calls of each of its threads, and that it works with no more;
files that only their owner reads; a standard output that cannot be written."""

import fcntl
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

from harness import PROGRAM, ROOT, SANITIZED, WAIT_SECONDS, Live, Process, Test, main, newest_python, processes_of, reader_of, run_program, victim, wait_gone
from screen import Terminal

NOBODY, SOMEBODY, ANOTHER = 65534, 45454, 45455
# Ids that processes of root's program take: each one that nobody else has.
OWN = range(61184, 65520)
LONG = "120"
MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}
NUMBERS = {"dac_override": 1, "dac_read_search": 2, "kill": 5, "setgid": 6, "setuid": 7, "setpcap": 8, "sys_ptrace": 19, "sys_admin": 21,
           "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}
READING = {"dac_read_search", "sys_ptrace", "checkpoint_restore"}
UNIT = ["sys_ptrace", "dac_read_search", "checkpoint_restore", "setuid", "setgid", "bpf", "perfmon"]
WITHOUT_CAPABILITY = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", "--"]


def capabilities(text):
    return {bit for bit in range(64) if int(text, 16) >> bit & 1}


def numbers(names):
    return {NUMBERS[name] for name in names}


def read_status(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def own():
    return capabilities(read_status("/proc/self/status")["CapPrm"])


def has(*names):
    return os.geteuid() == 0 and numbers(names) <= own()


def statuses(pid):
    """Statuses of the process and of each thread; one that has ended meanwhile has none."""
    found = [read_status("/proc/%d/status" % pid)]
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            found.append(read_status("/proc/%d/task/%s/status" % (pid, task)))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def users_of(uid):
    """The processes that have this user in any way."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(uid) in read_status("/proc/%s/status" % pid)["Uid"].split():
                found.add(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def full_pipe():
    """Two ends of a pipe that holds all it can: who writes to it waits."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETFL, os.O_NONBLOCK)
    try:
        while True:
            os.write(writes, b"x" * 4096)
    except BlockingIOError:
        pass
    fcntl.fcntl(writes, fcntl.F_SETFL, 0)
    return reads, writes


def wait_for(is_so, what):
    end = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def files_of(pid):
    """Its process that opens files."""
    return processes_of(pid)["pyrometer-file"]


def is_limited(pid, kept):
    """Its last step is the filter of system calls, which a sanitizer leaves out."""
    try:
        status = read_status("/proc/%d/status" % pid)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status["NoNewPrivs"] == "1" and (status["Seccomp"] == "2" if not SANITIZED else capabilities(status["CapEff"]) == numbers(kept))


class Rights(Test):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pyrometer-privilege-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def folder_of(self, owner, name="results"):
        path = self.path(name)
        os.mkdir(path, 0o755)
        os.chown(path, owner, owner)
        return path

    def target(self):
        process = victim("threads.py", "2", LONG)
        self.addCleanup(process.kill)
        return process

    def assert_rights(self, pid, kept, uid=None, bounds=frozenset()):
        """uid: None: one that only this process has."""
        wait_for(lambda: is_limited(pid, kept), "process %d has not given up what it should" % pid)
        for status in statuses(pid):
            what = "%s of %d" % (status["Name"], pid)
            for name in ("CapPrm", "CapEff"):
                self.assertEqual(capabilities(status[name]), numbers(kept), "%s of %s" % (name, what))
            for name in ("CapInh", "CapAmb"):
                self.assertEqual(capabilities(status[name]), set(), "%s of %s" % (name, what))
            self.assertEqual(capabilities(status["CapBnd"]), numbers(bounds), what)
            self.assertEqual(status["Groups"].split(), [], what)
            found = int(status["Uid"].split()[0])
            self.assertEqual(status["Uid"].split(), [str(found)] * 4, what)
            self.assertEqual(status["Gid"].split(), [str(found)] * 4, what)
            if uid is None:
                self.assertEqual((found in OWN, users_of(found)), (True, {pid}), what)
            else:
                self.assertEqual(found, uid, what)
            self.assertEqual(status["NoNewPrivs"], "1", what)
            if not SANITIZED:
                self.assertEqual(status["Seccomp"], "2", what)


def copy_of_program(folder):
    """The folder of the build may be closed to other users."""
    path = os.path.join(folder, "pyrometer")
    return path if os.path.exists(path) else shutil.copy(PROGRAM, folder)


class Commands(Rights):
    """Each command while it runs: `before` starts it, and what it should have then."""

    before, reading, reading_files, uid, owner = [], READING, {"dac_read_search"}, None, SOMEBODY
    bounds = frozenset()

    @classmethod
    def setUpClass(cls):
        if not has("sys_ptrace", "setuid", "setgid", "setpcap"):
            raise unittest.SkipTest("needs root with CAP_SYS_PTRACE, CAP_SETUID and CAP_SETGID")

    def setUp(self):
        super().setUp()
        self.program = copy_of_program(self.folder)

    def start(self, *words, **options):
        process = Process([*self.before, self.program, *words], cwd=self.folder, **options)
        self.addCleanup(process.kill)
        return process

    def live(self, *words):
        live = Live(*words, before=self.before, path=self.program, cwd=self.folder)
        self.addCleanup(live.process.kill)
        return live

    def assert_waits_with(self, kept, *words):
        """A command that ends by itself is examined while nobody reads what it prints."""
        reads, writes = full_pipe()
        process = subprocess.Popen([*self.before, self.program, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=writes, stderr=subprocess.PIPE)
        os.close(writes)
        try:
            self.assert_rights(process.pid, kept, self.uid, self.bounds)
        finally:
            os.close(reads)
            process.kill()
            process.communicate()

    def test_attach(self):
        with self.live("attach", str(self.target().pid), "-a") as live:
            live.wait_samples(10)
            self.assert_rights(live.process.pid, set(), self.uid, self.bounds)
            self.assert_rights(reader_of(live.process), self.reading, self.uid, self.bounds)
            self.assertEqual(live.stop(), 0, live.process.output())

    def test_run(self):
        script = self.path("program.py")
        with open(script, "w", encoding="ascii") as file:
            file.write("import os, time\nprint('READY', os.getpid(), os.getuid(), flush=True)\n"
                       "while time.monotonic() < %s: sum(range(1000))\n" % (time.monotonic() + 100))
        with self.live("run", script) as live:
            child, uid = map(int, live.process.wait_line(r"READY (\d+) (\d+)").groups())
            live.wait_samples(10)
            self.assert_rights(live.process.pid, set(), self.uid, self.bounds)
            self.assert_rights(reader_of(live.process), self.reading, self.uid, self.bounds)
            # The program has what it would have had without us.
            self.assertEqual((uid, read_status("/proc/%d/status" % child)["NoNewPrivs"]),
                             (0 if not self.before else self.uid, "0"))
            live.process.signal(signal.SIGTERM)
            self.assertEqual(live.process.wait(), 0, live.process.output())
            self.assertFalse(os.path.exists("/proc/%d" % child), "it ends with us")

    def test_record(self):
        process = self.start("record", str(self.target().pid), "--collapsed=-", "--realtime-stats")
        process.wait_line("samples", process.err)
        self.assert_rights(process.pid, self.reading, self.uid, self.bounds)
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertTrue(any(line.startswith("tid:") for line in process.out), process.output())

    def test_record_stopping_the_program(self):
        process = self.start("record", str(self.target().pid), "--collapsed=-", "--blocking", "-d", "1")
        self.assertEqual(process.wait(), 0, process.output())
        self.assertTrue(any(line.startswith("tid:") for line in process.out), process.output())

    def test_top(self):
        with Terminal([*self.before, self.program, "top", str(self.target().pid)]) as terminal:
            terminal.until(r"threads\.py")
            self.assert_rights(terminal.process.pid, self.reading, self.uid, self.bounds)
            terminal.signal(signal.SIGTSTP)
            terminal.wait(terminal.is_stopped, what="stopping ourselves")
            terminal.go_on()
            terminal.type("q")
            self.assertEqual(terminal.finish(), 0)

    def test_dump(self):
        self.assert_waits_with(self.reading, "dump", str(self.target().pid))

    def test_what_reads_stacks_of_the_kernel_is_a_process_of_its_own(self):
        process = self.start("dump", "--kernel", "--repeat", "1000", str(self.target().pid))
        self.assert_rights(process.pid, self.reading, self.uid, self.bounds)
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="ascii") as file:
            children = [int(pid) for pid in file.read().split()]
        if self.before or not has("sys_admin"):
            return
        stack, = (pid for pid in children if read_status("/proc/%d/status" % pid)["Name"] == "pyrometer-stack")
        self.assert_rights(stack, {"sys_admin", "sys_ptrace", "dac_read_search"})
        process.kill()
        wait_gone(stack)

    def test_serve(self):
        data = self.folder_of(self.owner)
        with self.live("serve", "--data", data, "--shares", os.path.join(data, "shares")) as live:
            for stop in ("auto", "always"):
                answer = live.ask("/api/v1/sessions", "POST", json.dumps({
                    "pids": [self.target().pid], "stop": stop}), MARK)
                self.assertEqual(answer.status, 202)
            live.wait_samples(10)
            self.assert_rights(live.process.pid, set(), self.uid, self.bounds)
            self.assert_rights(reader_of(live.process), self.reading, self.uid, self.bounds)
            ended = {session["id"] for session in live.get("/sessions")["sessions"]}
            for session in ended:
                live.ask("/api/v1/sessions/" + session, "PATCH", '{"state": "ended"}', MARK)
            # As root it may have begun to sample all processes, too.
            live.wait_until(lambda: all(one["state"] == "ended" for one in live.get("/sessions")["sessions"] if one["id"] in ended))
            self.assertEqual(live.ask("/api/v1/shares", "POST", "{}", MARK).status, 201)
            live.wait_until(lambda: all(one["state"] == "complete" for one in live.get("/captures")["captures"]))
            captures = [one for one in live.get("/captures")["captures"] if not one["continuous"]]
            self.assertEqual(len(captures), 2)
            self.assertEqual(live.ask("/api/v1/captures/" + captures[0]["name"], "DELETE", None, MARK).status, 204)
            self.assertEqual(live.stop(), 0, live.process.output())
        for name in os.listdir(data):
            status = os.stat(os.path.join(data, name))
            self.assertEqual((status.st_uid, stat.S_IMODE(status.st_mode)), (self.owner, 0o600), name)

    def test_captures(self):
        capture = self.path("a.pyro")
        self.assertEqual(run_program("record", str(self.target().pid), "-d", "300ms", "--binary=" + capture)[1], 0)
        os.chown(capture, self.owner, self.owner)
        for words in (("replay", "--collapsed=-", capture), ("diff", capture, capture)):
            self.assert_waits_with(self.reading_files, *words)
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        os.chown(pipe, self.owner, self.owner)
        reads = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        writes = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        try:
            while os.write(writes, b"x" * 4096):
                pass
        except BlockingIOError:
            pass
        try:
            process = self.start("merge", capture, capture, "-o", pipe)
            self.assert_rights(process.pid, self.reading_files, self.uid, self.bounds)
        finally:
            os.close(reads)
            os.close(writes)


class AsTheUnit(Commands):
    """As server/systemd starts it: a user of its own with ambient capabilities."""

    before = ["setpriv", "--reuid=%d" % SOMEBODY, "--regid=%d" % SOMEBODY, "--clear-groups",
              "--inh-caps=-all," + ",".join("+" + name for name in UNIT),
              "--ambient-caps=-all," + ",".join("+" + name for name in UNIT),
              "--bounding-set=-all," + ",".join("+" + name for name in UNIT), "--"]
    reading_files, uid = {"dac_read_search"}, SOMEBODY
    # Nobody without CAP_SETPCAP can change them; no_new_privs makes them worth nothing.
    bounds = frozenset(UNIT)


class OfDoctor(Commands):
    """Doctor reports what its user may do, so it stays who it is."""

    uid = 0

    def test_doctor(self):
        self.assert_waits_with(self.reading, "doctor", str(self.target().pid))


for name in [name for name in dir(Commands) if name.startswith("test_")]:
    setattr(OfDoctor, name, None)


class Identity(Rights):
    @classmethod
    def setUpClass(cls):
        if not has("sys_ptrace", "setuid", "setgid"):
            raise unittest.SkipTest("needs root with CAP_SYS_PTRACE, CAP_SETUID and CAP_SETGID")

    def record(self, *words, **options):
        process = Process([PROGRAM, "record", str(self.target().pid), "--realtime-stats", *words], **options)
        self.addCleanup(process.kill)
        process.wait_line("samples", process.err)
        return process

    def end(self, process):
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())

    def test_nobody_else_has_the_user_of_a_process_whoever_owns_its_folders(self):
        for owner in (0, SOMEBODY):
            place = self.folder_of(owner, "of-%d" % owner)
            process = self.record("-o", os.path.join(place, "a.html"), "--quality", os.path.join(place, "q.json"))
            self.assert_rights(process.pid, READING)
            files = files_of(process.pid)
            self.assert_rights(files, {"setuid", "setgid"})
            self.end(process)
            wait_gone(files)
            self.assertEqual(sorted(os.listdir(place)), ["a.html", "q.json"])
            for name in os.listdir(place):
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(place, name)).st_mode), 0o600, name)

    def test_folders_of_several_owners(self):
        places = [self.folder_of(owner, "of-%d" % owner) for owner in (SOMEBODY, ANOTHER)]
        for place in places:
            os.chmod(place, 0o1755)
        process = self.record("-o", os.path.join(places[0], "a.html"), "--quality", os.path.join(places[1], "q.json"))
        self.assert_rights(process.pid, READING)
        self.end(process)
        self.assertEqual([os.listdir(place) for place in places], [["a.html"], ["q.json"]])

    def test_files_for_each_process_and_of_captures(self):
        place, capture = self.folder_of(SOMEBODY), self.path("a.pyro")
        process = self.record("--split", "-o", os.path.join(place, "a.html"))
        self.end(process)
        self.assertRegex(" ".join(os.listdir(place)), r"^a_\d+\.html$")
        self.assertEqual(run_program("record", str(self.target().pid), "-d", "300ms", "--binary=" + capture)[1], 0)
        self.assertEqual(stat.S_IMODE(os.stat(capture).st_mode), 0o600)
        for words in (("replay", capture, "-o", os.path.join(place, "b.html")), ("merge", capture, capture, "-o", os.path.join(place, "c.pyro")),
                      ("diff", capture, capture, "-o", os.path.join(place, "d.json"))):
            process, code = run_program(*words)
            self.assertEqual(code, 0, process.output())
            self.assertEqual(stat.S_IMODE(os.stat(words[-1]).st_mode), 0o600)

    def test_a_socket_is_taken_away_again(self):
        path = os.path.join(self.folder_of(SOMEBODY), "socket")
        process = Process([PROGRAM, "attach", str(self.target().pid), "--listen", "unix:" + path])
        self.addCleanup(process.kill)
        process.wait_line("http.unix")
        self.assert_rights(process.pid, set())
        self.assert_rights(reader_of(process), READING)
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertFalse(os.path.exists(path))

    def test_who_started_it_is_what_is_written_down(self):
        log = self.path("audit")
        process = self.record("--collapsed=-", "--audit", log)
        self.assert_rights(process.pid, READING)
        self.end(process)
        with open(log, encoding="utf-8") as file:
            self.assertEqual({json.loads(line)["address"] for line in file}, {"local:uid=0"})

    def test_without_the_capability_to_read_others_all_stays(self):
        """The kernel refuses whoever has fewer capabilities than the process to be read."""
        if subprocess.run(WITHOUT_CAPABILITY + ["true"], check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("the capability cannot be given up here")
        target = Process(WITHOUT_CAPABILITY + ["python3", os.path.join(ROOT, "tests", "victims", "threads.py"), "2", LONG])
        self.addCleanup(target.kill)
        target.wait_ready()
        process, code = run_program_by(WITHOUT_CAPABILITY, "record", str(target.pid), "-d", "300ms", "--collapsed=-")
        self.assertEqual(code, 0, process.output())
        self.assertTrue(any(line.startswith("tid:") for line in process.out), process.output())

    def test_without_privileges_the_mask_decides(self):
        place = self.folder_of(SOMEBODY)
        program = copy_of_program(self.folder)
        drop = ["setpriv", "--reuid=%d" % SOMEBODY, "--regid=%d" % SOMEBODY, "--clear-groups", "--inh-caps=-all", "--"]
        target = Process(drop + ["/usr/bin/python3", "-c", "print('READY', flush=True)\nwhile True: sum(range(999))"], cwd=place)
        self.addCleanup(target.kill)
        target.wait_ready()
        for mask in (0o022, 0o077):
            for name in ("a.html", "a.pyro"):
                with Process(drop + [program, "record", str(target.pid), "-d", "200ms", "-o", name], cwd=place,
                             preexec_fn=lambda: os.umask(mask)) as process:
                    self.assertEqual(process.wait(), 0, process.output())
                path = os.path.join(place, name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o666 & ~mask, name)
                os.unlink(path)


def run_program_by(before, *words):
    with Process([*before, PROGRAM, *words]) as process:
        return process, process.wait()


@unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
class Output(Rights):
    """Whatever goes to standard output has arrived, or the command has failed and says so in one line."""

    def run_with(self, out, *words):
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                              timeout=WAIT_SECONDS, check=False)
        return done.returncode, done.stderr.decode()

    def commands(self):
        pid, capture = str(self.target().pid), self.path("a.pyro")
        self.assertEqual(run_program("record", pid, "-d", "300ms", "--binary=" + capture)[1], 0)
        yield from (["--help"], ["--version"], ["record", "--help"], ["dump", pid], ["doctor"], ["doctor", pid],
                    ["replay", "--pstats", capture], ["replay", "--collapsed=-", capture], ["diff", capture, capture],
                    ["record", pid, "-d", "200ms", "--collapsed=-"], ["record", pid, "-d", "200ms", "--binary=-"],
                    ["attach", pid, "--listen", "127.0.0.1:0"], ["serve", "--no-data", "--listen", "127.0.0.1:0"])
        yield from (["--completion", shell] for shell in ("bash", "zsh", "fish"))

    def test_a_full_disk(self):
        for words in self.commands():
            with self.subTest(" ".join(words)), open("/dev/full", "wb") as full:
                code, said = self.run_with(full, *words)
                self.assertEqual(code, 1, said)
                ours = [line for line in said.splitlines() if "No space left on device" in line]
                self.assertEqual(len(ours), 1, said)
                self.assertRegex(ours[0], "^pyrometer: ")

    def test_a_reader_that_has_gone(self):
        for words in (["--help"], ["dump", str(self.target().pid)], ["doctor"]):
            reads, writes = os.pipe()
            os.close(reads)
            code, said = self.run_with(writes, *words)
            os.close(writes)
            self.assertEqual(said, "", words)
            self.assertIn(code, (0, -signal.SIGPIPE), words)


class Closed(Rights):
    """A standard input, output or error that is closed stays so: nothing that the program opens takes its place."""

    def closing(self, *numbers):
        def close():
            for number in numbers:
                os.close(number)
        return close

    def test_what_reads_source_is_not_in_its_place(self):
        for numbers in ((0,), (0, 2)):
            with Live("attach", str(self.target().pid), preexec_fn=self.closing(*numbers)) as live:
                live.wait_samples(10)
                live.wait_until(lambda: "pyrometer-src" in processes_of(live.process.pid))
                before = processes_of(live.process.pid)
                tree = live.get("/sessions/1/tree")
                function = tree["functions"]["name"].index(tree["strings"]["values"].index("spin"))
                live.wait_until(lambda: "def spin" in live.ask("/api/v1/sessions/1/source?function=%d" % function).body.decode())
                self.assertEqual(processes_of(live.process.pid), before)
                for pid in (live.process.pid, *before.values()):
                    for number in numbers:
                        self.assertRegex(os.readlink("/proc/%d/fd/%d" % (pid, number)), "^(/dev/null|/)$", pid)

    def test_what_cannot_be_written_is_known_before_recording(self):
        pid = str(self.target().pid)
        for words in (["--collapsed=-"], ["--pstats"], ["--binary=-"], ["-o", "-", "--collapsed"]):
            process, code = run_program("record", pid, "-d", "100", *words, preexec_fn=self.closing(1))
            self.assert_refused(process, code, 1, "cannot write to standard output: Bad file descriptor")
        process, code = run_program("dump", pid, preexec_fn=self.closing(1))
        self.assert_refused(process, code, 1, "cannot write to standard output: Bad file descriptor")
        process, code = run_program("record", pid, "-d", "1", "-o", self.path("a.pyro"), preexec_fn=self.closing(0, 1, 2))
        self.assertEqual(code, 0)
        self.assertEqual(run_program("replay", "--pstats", self.path("a.pyro"))[1], 0)

    def test_a_program_that_is_run_has_what_the_user_gave(self):
        script = ("import os\nfor number in range(3):\n try:\n  os.fstat(number)\n  os.write(2, b'%d is open\\n' % number)\n"
                  " except OSError:\n  os.write(2, b'%d is closed\\n' % number)")
        with Live("run", "--", newest_python(), "-c", script, preexec_fn=self.closing(0)) as live:
            live.process.wait_line("^2 is", live.process.err)
            self.assertEqual([line for line in live.process.err if re.match("[0-2] is ", line)],
                             ["0 is closed", "1 is open", "2 is open"], live.process.output())


class Names(Rights):
    def test_names_that_cannot_be_are_known_before_recording(self):
        pid = str(self.target().pid)
        for name, option in (("n" * 300 + ".html", []), ("n" * 300 + ".pyro", []), ("n" * 248 + ".html", ["--split"])):
            process, code = run_program("record", pid, "-d", "100", *option, "-o", self.path(name))
            self.assert_refused(process, code, 1, "cannot write '.*: File name too long")
        process, code = run_program("record", pid, "-d", "100", "--collapsed=-", "--quality", self.path("q" * 256))
        self.assert_refused(process, code, 1, "cannot write '.*: File name too long")
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_output_takes_the_place_of_another(self):
        pid, one, same = str(self.target().pid), self.path("one"), os.path.join(self.folder, ".", "one")
        for words in (["--binary=" + one, "--collapsed=" + same], ["--quality", one, "--collapsed=" + same],
                      ["--quality", one, "--binary=" + same], ["--binary=-", "--collapsed=-"], ["--binary=-", "--pstats"]):
            process, code = run_program("record", pid, "-d", "100", *words)
            self.assert_refused(process, code, 2, "two outputs are ")
        self.assertEqual(os.listdir(self.folder), [])


class Hardening(Test):
    def test_the_unit_is_locked_up_as_systemd_judges_it(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        with open(os.path.join(ROOT, "server", "systemd", "pyrometer.service.in"), encoding="utf-8") as file:
            text = file.read().replace("@PYROMETER@", PROGRAM)
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "pyrometer.service")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=WAIT_SECONDS, check=False, text=True)
        level = re.search(r"exposure level for pyrometer.service: ([0-9.]+)", done.stdout)
        if not level:
            self.skipTest("this systemd-analyze judges no files: " + done.stdout[:200])
        self.assertLess(float(level.group(1)), 2.0, done.stdout)

    @unittest.skipUnless(os.environ.get("PYROMETER_HARDENED") == "1", "only a release build is hardened")
    def test_the_program_is_hardened(self):
        if not shutil.which("readelf"):
            self.skipTest("no readelf")
        headers = {option: subprocess.run(["readelf", option, "-W", PROGRAM], stdout=subprocess.PIPE, check=True, text=True).stdout
                for option in ("-n", "-l", "-d", "-h")}
        if "X86-64" in headers["-h"]:
            self.assertRegex(headers["-n"], r"x86 feature:.*SHSTK")
            # IBT is a mark of the whole program, that start code of the C library may lack; ours has what it stands for.
            code = subprocess.run(["objdump", "-d", "--disassemble=main", PROGRAM], stdout=subprocess.PIPE, check=True, text=True)
            self.assertRegex(code.stdout, r"<main>:\n.*\bendbr64\b")
        self.assertIn("GNU_RELRO", headers["-l"])
        self.assertRegex(headers["-l"], r"GNU_STACK.* RW ")
        self.assertRegex(headers["-d"], r"FLAGS.*\bNOW\b")
        self.assertIn("DYN (", headers["-h"])


if __name__ == "__main__":
    main()
