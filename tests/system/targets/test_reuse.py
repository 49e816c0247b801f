"""A process ends and another takes its number: nothing of the newcomer is shown as the old one's."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

from folded import read_folded
from harness import (ROOT, SKIPPED, SLOWNESS, WAIT_SECONDS, Test, file_in, main, newest_python, program, run_program, script, victim,
                     why_no_kernel_engine)
from host import Host

LAST_PID = "/proc/sys/kernel/ns_last_pid"
OLD, NEW = "of_the_first", "of_the_second"
TURNS = 20
# By then it is sampled, nearly always.
BEGUN_SECONDS = 0.5 * min(SLOWNESS, 2)
# Without random addresses both have everything at the same ones: what is known of the first fits the second.
SAME_PLACES = ["setarch", "-R"] if shutil.which("setarch") else []


def can_choose_numbers():
    """True if the number of the next process can be chosen here: by root, of its own namespace of pids."""
    if os.getuid() != 0 or not os.path.exists(LAST_PID):
        return False
    return "PYROMETER_OWN_PIDS" in os.environ or subprocess.run(
        ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        timeout=60, check=False).returncode == 0


if not shutil.which("unshare") or not can_choose_numbers():
    print("skipped: the number of a process cannot be chosen here: it takes root, unshare(1) and %s" % LAST_PID)
    sys.exit(SKIPPED)
if "PYROMETER_OWN_PIDS" not in os.environ:
    # Numbers of our own, so that no other process is given one meanwhile.
    os.environ["PYROMETER_OWN_PIDS"] = "1"
    sys.exit(subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", sys.executable,
                             os.path.join(ROOT, "tests", "system"), "reuse"] + sys.argv[1:],
                            stdin=subprocess.DEVNULL, check=False).returncode)


def source_of(name):
    """A program with a function of that name, in a file of that name."""
    path = file_in(name + ".py")
    with open(path, "w", encoding="ascii") as file:
        file.write("import time\n\n\ndef %s():\n    end = time.monotonic() + 60\n    while time.monotonic() < end:\n"
                   "        pass  # secret %s\n\n\nprint('READY', flush=True)\n%s()\n" % (name, name, name))
    return path


# Its threads have one number, one name and one place, one after the other.
ONE_NUMBER = """
import sys, threading, time
wanted, end = 0, time.monotonic() + float(sys.argv[1])
def work():
    until = time.monotonic() + 0.3
    while time.monotonic() < until and wanted in (0, threading.get_native_id()):
        pass
print("READY", flush=True)
while time.monotonic() < end:
    if wanted:
        with open("%s", "w") as file:
            file.write(str(wanted - 1))
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    wanted = wanted or thread.native_id
    thread.join()
""" % LAST_PID


def holder_of(pid):
    """The name of the process or thread with that number, and the number of its process."""
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8", errors="replace") as file:
            return " of ".join(line.split("\t", 1)[1].strip() for line in file if line.startswith(("Name:", "Tgid:")))
    except OSError:
        return "nobody"


class Newcomer:
    """The next process, with the number that was that of another; retried, as threads take numbers too."""

    def __init__(self, pid, words):
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            with open(LAST_PID, "w", encoding="ascii") as file:
                file.write(str(pid - 1))
            # No setpriv and no threads before: the very next one.
            self.popen = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            if self.popen.pid == pid:
                return
            # A thread or process of another was faster, and has it until it ends; one whose parent has ended, until we wait for it.
            self.end()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.02)
        raise AssertionError("no process was given the number %d, which %s has" % (pid, holder_of(pid)))

    def wait_ready(self):
        assert self.popen.stdout.readline() == b"READY\n"
        return self

    def end(self):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdout.close()


class Reuse(Test):
    def setUp(self):
        self.old, self.new = source_of(OLD), source_of(NEW)

    def first(self):
        process = subprocess.Popen(SAME_PLACES + [newest_python(), self.old], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        assert process.stdout.readline() == b"READY\n"
        return process

    def replace(self, process, words=None):
        """At once: the same program file, so that what was found of the first lies where it lay."""
        process.kill()
        process.wait()
        newcomer = Newcomer(process.pid, words or SAME_PLACES + [newest_python(), self.new])
        self.addCleanup(newcomer.end)
        return newcomer

    def check(self, recording, code, path):
        """The names in the profile, if there is one: never of both."""
        if code == 1:
            # It was the newcomer before it became Python, or there was no time for a sample.
            self.assertRegex(recording.err[-1], "no samples were captured|cannot be read")
            return set()
        self.assertIn(code, (0, 4), recording.output())
        names = {name for stack in read_folded(path) for name in stack.names} if code == 0 else set()
        self.assertFalse({OLD, NEW} <= names, names)
        return names

    def test_sampling_ends_with_the_first(self):
        useful = 0
        for turn in range(TURNS):
            first, path = self.first(), file_in("reused.folded")
            with program("record", str(first.pid), "-r", "10khz", "-d", "3", "--idle", "--waits=off", "--collapsed", "-o", path) as recording:
                time.sleep(BEGUN_SECONDS + turn * 0.003)
                newcomer = self.replace(first)
                newcomer.wait_ready()
                code = recording.wait()
                newcomer.end()
                useful += OLD in self.check(recording, code, path)
        self.assertGreater(useful, 0)

    def test_a_process_that_is_replaced_while_it_is_found_is_one_of_the_two(self):
        for turn in range(TURNS):
            first, path = self.first(), file_in("raced.folded")
            with program("record", str(first.pid), "-r", "1khz", "-d", "300ms", "--idle", "--waits=off", "--collapsed", "-o", path) as recording:
                time.sleep(turn * 0.002)
                newcomer = self.replace(first)
                code = recording.wait()
                newcomer.end()
                self.check(recording, code, path)

    def test_a_dump_is_of_one_of_the_two(self):
        for turn in range(TURNS):
            first = self.first()
            with program("dump", str(first.pid)) as process:
                time.sleep(turn * 0.002)
                newcomer = self.replace(first)
                code = process.wait()
                newcomer.end()
                printed = "\n".join(process.out)
                self.assertFalse(OLD in printed and NEW in printed, printed)
                self.assertIn(code, (0, 1, 4), process.output())

    def test_a_session_shows_nothing_of_the_second(self):
        with Host() as host:
            first = self.first()
            one = host.start(pids=[first.pid], rate_hz=1000)
            host.running(one)
            newcomer = self.replace(first).wait_ready()
            session = host.until("/sessions/" + one, lambda found: found["state"] == "ended")
            self.assertEqual(session["target"]["command"][1], self.old)
            host.row(first.pid, lambda row: row["command"][1] == self.new and not row["sessions"])
            tree = json.dumps(host.get("/sessions/%s/tree" % one))
            self.assertIn(OLD, tree)
            self.assertNotIn(NEW, tree)
            for function in range(8):
                answer = host.ask("/api/v1/sessions/%s/source?function=%d" % (one, function))
                self.assertNotIn(NEW.encode(), answer.body)
            # It is a target as any other.
            two = host.start(pids=[first.pid], rate_hz=1000)
            host.running(two)
            self.assertIn(NEW, json.dumps(host.get("/sessions/%s/tree" % two)))
            self.assertNotIn(OLD, json.dumps(host.get("/sessions/%s/tree" % two)))
            self.assertIn(NEW, json.dumps(host.get("/processes/%d/dump" % first.pid)))
            newcomer.end()

    def test_children_of_a_session_are_not_those_of_a_newcomer(self):
        with Host() as host:
            first = self.first()
            one = host.start(pids=[first.pid], rate_hz=500, subprocesses=True)
            host.running(one)
            newcomer = self.replace(first)
            session = host.until("/sessions/" + one, lambda found: found["state"] == "ended")
            self.assertEqual([target["command"][1] for target in session["targets"]], [self.old])
            newcomer.end()

    def test_nor_are_those_that_a_newcomer_has(self):
        """A session that pauses sees late that its process has ended, and looks for children meanwhile."""
        text = "%s %s & trap 'kill $!' EXIT; wait" % (newest_python(), self.new)
        for _ in range(2):
            with Host() as host:
                first = self.first()
                one = host.start(pids=[first.pid], rate_hz=500, subprocesses=True)
                host.running(one)
                answer = host.send("PATCH", "/sessions/" + one, {"state": "paused"})
                self.assertEqual(answer.status, 200, answer.body)
                newcomer = self.replace(first, ["sh", "-c", text])
                newcomer.wait_ready()
                # It has been looked for once more by then.
                time.sleep(1.5)
                session = host.get("/sessions/" + one)
                self.assertEqual([target["command"][1] for target in session["targets"]], [self.old])
                newcomer.popen.terminate()
                newcomer.popen.wait()

    def test_stopping_never_stops_the_second(self):
        for turn in range(5):
            first, path = self.first(), file_in("stopped.folded")
            with program("record", str(first.pid), "--blocking", "-r", "2khz", "-d", "3", "--idle", "--waits=off", "--collapsed", "-o", path) as recording:
                time.sleep(BEGUN_SECONDS + turn * 0.003)
                newcomer = self.replace(first).wait_ready()
                self.check(recording, recording.wait(), path)
                with open("/proc/%d/status" % first.pid, encoding="ascii", errors="replace") as status:
                    text = status.read()
                self.assertIn("TracerPid:\t0", text)
                self.assertNotIn("State:\tT", text)
                newcomer.end()


class Threads(Test):
    def states_of(self, target, engine):
        path = file_in("number.json")
        process, code = run_program("record", str(target.pid), "-a", "-r", "500", "-d", "2", "--engine", engine, "--quality", path,
                                    "--idle", "--waits=off", "--collapsed=" + file_in("number.folded"))
        self.assertEqual(code, 0, process.output())
        with open(path, encoding="utf-8") as file:
            return json.load(file)["states"]["on_cpu"]

    def test_what_a_thread_does_is_known_though_another_had_its_number(self):
        with victim(script("number.py", ONE_NUMBER), "100") as target:
            states = self.states_of(target, "remote")
        self.assertGreater(states["yes"], states["unknown"])

    def test_the_kernel_engine_has_the_numbers_of_its_own_namespace(self):
        reason = why_no_kernel_engine()
        if reason:
            self.skipTest(reason)
        with victim(script("number.py", ONE_NUMBER), "100") as target:
            self.assertGreater(self.states_of(target, "kernel")["yes"], 0)
        with victim("alternate.py", "100") as target:
            self.assertGreater(self.states_of(target, "kernel")["yes"], 0)


if __name__ == "__main__":
    main()
