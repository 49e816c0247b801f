"""Why a process cannot be read: doctor names the check that fails and what opens it, and the other commands say the same."""

import errno
import json
import os
import shutil
import sys
import tempfile
import unittest

from harness import PROGRAM, Live, Process, Test, can, checks, exists, main, newest, newest_python, run_program, victim, wait_gone
from screen import Terminal

NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", "--"]
WITHOUT_CAPABILITY = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", "--"]
NOT_DUMPABLE = ("import ctypes, os, time\n"
                "assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0\n"
                "print('READY', flush=True)\n"
                "time.sleep(120)\n")
# Runs the rest of the command without a system call: it says the error of that number.
FORBIDS = """
import ctypes, os, struct, sys
PROCESS_VM_READV = 310 if os.uname().machine == "x86_64" else 270
ALLOWED, ERROR = 0x7fff0000, 0x00050000 | int(sys.argv[1])
def statement(code, if_true, if_false, value): return struct.pack("=HBBI", code, if_true, if_false, value)
rules = (statement(0x20, 0, 0, 0) + statement(0x15, 1, 0, PROCESS_VM_READV) +
         statement(0x06, 0, 0, ALLOWED) + statement(0x06, 0, 0, ERROR))
kept = ctypes.create_string_buffer(rules, len(rules))
program = struct.pack("@HP", len(rules) // 8, ctypes.addressof(kept))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[2], sys.argv[2:])
"""
# The types of the kernel's structures, and which processes Yama lets others read.
TYPES = "/sys/kernel/btf/vmlinux"
SCOPE_FILE = "/proc/sys/kernel/yama/ptrace_scope"
# The answer for the kernel engine on the kernel that tests/kernels has booted.
ENGINE_CHECK = os.environ.get("PYROMETER_ENGINE_CHECK")
SLEEPS = "import time\nprint('READY', flush=True)\ntime.sleep(120)\n"


class Readable(Test):
    def test_every_check_of_a_process_that_can_be_read_is_open(self):
        with victim("threads.py", "2", "60") as target:
            process, code = run_program("doctor", str(target.pid))
            self.assertEqual((code, process.err), (0, []), process.output())
            found = checks(process)
            self.assertNotIn("BLOCKED", [state for state, _, _ in found.values()], process.output())
            self.assertRegex(found["Python"][1], r"^CPython 3\.\d+\.\d+\S* in /.*python")
            self.assertRegex(found["stacks"][1], r"^\d+ threads with \d+ Python frames$")
            self.assertTrue(target.is_running())

    def test_the_host(self):
        process, code = run_program("doctor")
        self.assertEqual((code, process.err), (0, []), process.output())
        self.assertLessEqual({"kernel", "/proc", "capability", "Yama", "seccomp", "engine"}, set(checks(process)),
                             process.output())
        found = checks(process)
        self.assertEqual(tuple(found["events"][:2]), ("OK", "time, page-faults, returned, copy-on-write, context-switches")
                         if found["engine"][0] == "OK" else ("UNKNOWN", "time alone"))

    @unittest.skipUnless(can(*AS_NOBODY), "needs the right to become another user")
    def test_the_kernel_engine_without_its_capabilities(self):
        process = Process(AS_NOBODY + [PROGRAM, "doctor"])
        self.assertEqual(process.wait(), 0, process.output())
        state, found, remedy = checks(process)["engine"]
        self.assertEqual(state, "UNKNOWN")
        self.assertIn("kernel engine", found)
        self.assertIn("cap_bpf" if "CAP_BPF" in found else "--engine remote", remedy)

    def test_several_processes_and_the_first_refusal(self):
        with victim("chain.py", "60") as target, Process(["sleep", "60"]) as other:
            process, code = run_program("doctor", str(target.pid), str(other.pid))
            self.assertEqual(code, 4, process.output())
            self.assertRegex(process.err[0], "process %d .*is not a Python process" % other.pid)
            self.assertIn("process %d" % target.pid, process.out)


class Kernel(Test):
    @unittest.skipUnless(ENGINE_CHECK, "only tests/kernels knows what its kernel can do")
    def test_the_kernel_engine_runs_or_the_reason_is_said(self):
        process, code = run_program("doctor")
        self.assertEqual(code, 0, process.output())
        state, said, _ = checks(process)["engine"]
        self.assertRegex(said, ENGINE_CHECK)
        with victim("chain.py", "600") as target:
            command = ["record", str(target.pid), "-d", "1", "--idle", "--waits=off", "--collapsed", "-o", "-"]
            process, code = run_program(*command, "--engine", "kernel")
            self.assertEqual(code == 0, state == "OK", process.output())
            if state != "OK":
                self.assertIn(said, process.err[-1])
                process, code = run_program(*command, "--engine", "auto")
                self.assertEqual(code, 0, process.output())

    @unittest.skipUnless(can("unshare", "-m") and os.path.exists(TYPES), "needs a kernel with types, and the right to hide them")
    def test_a_kernel_without_types_is_named_as_that(self):
        hidden = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none %s && exec \"$@\"" % os.path.dirname(TYPES), "sh", PROGRAM]
        process = Process([*hidden, "doctor"])
        self.assertEqual(process.wait(), 0, process.output())
        state, said, remedy = checks(process)["engine"]
        self.assertEqual(state, "UNKNOWN")
        self.assertRegex(said, "^the kernel engine needs the type information of the kernel, and %s is not here" % TYPES)
        self.assertIn("--engine auto", remedy)

    @unittest.skipUnless(os.path.exists(SCOPE_FILE) and can(*AS_NOBODY), "needs a kernel with Yama, and the right to become another user")
    def test_yama_blocks_whom_its_scope_says(self):
        with open(SCOPE_FILE, encoding="ascii") as file:
            scope = int(file.read())
        target = Process(AS_NOBODY + ["/usr/bin/python3.11", "-c", SLEEPS], cwd="/tmp")
        self.addCleanup(target.kill)
        target.wait_ready()
        for words, may_read in (([], scope < 3), (AS_NOBODY, scope == 0)):
            with self.subTest(scope=scope, user=words[1:2]):
                process = Process(words + [PROGRAM, "doctor", str(target.pid)])
                self.assertEqual(process.wait(), 0 if may_read else 3, process.output())
                state, said, remedy = checks(process)["Yama"]
                self.assertEqual(state, "BLOCKED" if not may_read else "BYPASSED" if scope else "OK", process.output())
                self.assertIn("kernel.yama.ptrace_scope is %d" % scope, said)
                self.assertEqual(bool(remedy), not may_read)
                process = Process(words + [PROGRAM, "record", "--engine", "remote", "-d", "1", "--idle", "--waits=off", "--collapsed", "-o", "-", str(target.pid)])
                self.assertEqual(process.wait(), 0 if may_read else 3, process.output())
                self.assertEqual("kernel.yama.ptrace_scope is %d" % scope in process.err[-1], not may_read, process.output())


class Gone(Test):
    def test_a_process_that_is_not_there(self):
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as limit:
            none = limit.read().strip()
        process, code = run_program("doctor", none)
        self.assertEqual(code, 4, process.output())
        self.assertEqual(checks(process)["process"][:2], ("BLOCKED", "no process " + none))

    def test_a_kernel_thread(self):
        if not exists(2) or os.path.exists("/proc/2/exe"):
            self.skipTest("no kernel thread is to be seen")
        process, code = run_program("doctor", "2")
        self.assertIn(code, (3, 4), process.output())
        self.assertEqual(checks(process)["memory"][0], "BLOCKED", process.output())


@unittest.skipUnless(os.geteuid() == 0 and can(*AS_NOBODY), "needs root and setpriv to be somebody else")
class Refused(Test):
    def setUp(self):
        # Copies: the folder of the build may be closed to other users.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.program = shutil.copy(PROGRAM, folder.name)

    def doctor(self, before, pid):
        with Process(list(before) + [self.program, "doctor", str(pid)], cwd="/tmp") as process:
            return process, process.wait()

    def assert_check(self, before, pid, check, found, remedy):
        """Doctor names this check as the first that is BLOCKED, and every other command says the same line."""
        process, code = self.doctor(before, pid)
        self.assertEqual(code, 3, process.output())
        blocked = [name for name, (state, _, _) in checks(process).items() if state == "BLOCKED"]
        self.assertEqual(blocked[0], check, process.output())
        self.assertRegex(checks(process)[check][1], found)
        self.assertRegex(checks(process)[check][2], remedy)
        for words in (["record", "--idle", "--waits=off", "--collapsed", "-o", "-", "-d", "50ms"], ["dump"], ["attach", "--listen", "127.0.0.1:0"]):
            with Process(list(before) + [self.program] + words + [str(pid)], cwd="/tmp") as other:
                self.assertEqual((other.wait(), other.err), (3, process.err), other.output())
        with Terminal(list(before) + [self.program, "top", str(pid)]) as terminal:
            self.assertEqual(terminal.finish(), 3)
            self.assertIn(process.err[0], terminal.written)
        self.assert_api_says(before, pid, process.err[0])

    def assert_api_says(self, before, pid, line):
        wanted = line[len("pyrometer: "):]
        data = tempfile.mkdtemp(dir=os.path.dirname(self.program))
        os.chmod(data, 0o777)
        with Live("serve", "--data", data, before=before, path=self.program, cwd="/tmp") as live:
            self.assertEqual(live.ask("/api/v1/processes/%d/dump" % pid).json()["detail"], wanted)
            change = {"X-Pyrometer": "1", "Content-Type": "application/json"}
            started = live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [pid]}), change)
            self.assertEqual(started.status, 202)
            one = "/sessions/" + started.json()["id"]
            live.wait_until(lambda: live.get(one)["state"] == "failed")
            self.assertEqual(live.get(one)["reason"], wanted)
            listed = [row for row in live.get("/processes")["processes"] if row["pid"] == pid]
            self.assertEqual([row["reason"] for row in listed if row["reason"]], [wanted] * len(listed))
            self.assertEqual(live.stop(), 0)

    def test_another_user(self):
        with victim("chain.py", "60") as target:
            self.assert_check(AS_NOBODY, target.pid, "user", "belongs to user 0 and you are %d" % NOBODY, "sudo")
            self.assertTrue(target.is_running())

    def nobodys(self, source):
        command = AS_NOBODY + ["/usr/bin/python3", "-c", source]
        if not can(*AS_NOBODY, "/usr/bin/python3", "-c", "0"):
            self.skipTest("nobody cannot run /usr/bin/python3")
        process = Process(command, cwd="/tmp")
        self.addCleanup(process.kill)
        process.wait_ready()
        return process

    def test_a_process_that_is_not_dumpable(self):
        target = self.nobodys(NOT_DUMPABLE)
        self.assert_check(AS_NOBODY, target.pid, "dumpable", "is not dumpable", "sudo.*cap_sys_ptrace")
        self.assertTrue(target.is_running())
        # Root has the capability that bypasses the check.
        process, _ = self.doctor([], target.pid)
        self.assertEqual(checks(process)["dumpable"][0], "BYPASSED", process.output())
        self.assertEqual(checks(process)["memory"][0], "OK", process.output())

    def test_the_same_user_needs_nothing(self):
        target = self.nobodys(SLEEPS)
        process, _ = self.doctor(AS_NOBODY, target.pid)
        found = checks(process)
        self.assertEqual([found[name][0] for name in ("user", "dumpable", "privileges")], ["OK"] * 3, process.output())
        if found["Yama"][0] == "OK":
            self.assertEqual(found["memory"][0], "OK", process.output())

    @unittest.skipUnless(can(*WITHOUT_CAPABILITY), "the capability cannot be given up here")
    def test_without_the_capability(self):
        with victim("chain.py", "60") as target:
            self.assert_check(WITHOUT_CAPABILITY, target.pid, "privileges", "has capabilities that we do not have",
                             r"docker run --cap-add=SYS_PTRACE.*kubectl debug")

    def test_calls_that_are_forbidden_to_us(self):
        """As a container's seccomp does it, and as a kernel that was built without the call."""
        with victim("chain.py", "60") as target:
            for number in (errno.EPERM, errno.ENOSYS):
                forbidden = [sys.executable, "-c", FORBIDS, str(number)]
                self.assert_check(forbidden, target.pid, "seccomp", "process_vm_readv is forbidden here: " + os.strerror(number),
                                 "--cap-add=SYS_PTRACE|CONFIG_CROSS_MEMORY_ATTACH")

    @unittest.skipUnless(can("unshare", "-m"), "no mount namespace can be made here")
    def test_yama_as_its_scopes_say(self):
        """A kernel without Yama refuses nothing, so only what is said of it is tested, where something else refuses. Where a read
        is permitted, no scope blocks it."""
        target = self.nobodys(SLEEPS)
        forbidden = [sys.executable, "-c", FORBIDS, str(errno.EPERM)]
        script = ("mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && "
                  "echo $0 > /proc/sys/kernel/yama/ptrace_scope && exec \"$@\"")
        for scope, state, remedy in ((0, "OK", ""), (1, "BLOCKED", "sudo sysctl kernel.yama.ptrace_scope=0"),
                                     (2, "BLOCKED", "sudo setcap cap_sys_ptrace"), (3, "BLOCKED", "start the host with")):
            with self.subTest(scope):
                mounted = ["unshare", "-m", "sh", "-c", script, str(scope)]
                process, _ = self.doctor(mounted + forbidden + [shutil.which("setpriv")] + AS_NOBODY[1:], target.pid)
                self.assertEqual(checks(process)["Yama"][0], state, process.output())
                self.assertIn("kernel.yama.ptrace_scope is %d" % scope, checks(process)["Yama"][1])
                self.assertIn(remedy, checks(process)["Yama"][2])
                process, _ = self.doctor(mounted + AS_NOBODY, target.pid)
                self.assertEqual(checks(process)["Yama"][::2], ("BYPASSED" if scope else "OK", ""), process.output())
        process, _ = self.doctor(["unshare", "-m", "sh", "-c", script, "2"], target.pid)
        self.assertEqual(checks(process)["Yama"][0], "BYPASSED", process.output())

    @unittest.skipUnless(can("unshare", "-Ur"), "no user namespace can be made here")
    def test_from_a_user_namespace_below(self):
        with victim("chain.py", "60") as target:
            self.assert_check(["unshare", "-Ur"], target.pid, "privileges", "another user namespace",
                             "root of the host")

    @unittest.skipUnless(can(*AS_NOBODY, "unshare", "-Ur"), "nobody can make no user namespace here")
    def test_nothing_blocks_what_works(self):
        """As with bwrap and podman: who has made a user namespace may read what is in it."""
        target = Process(AS_NOBODY + ["unshare", "-Ur", "/usr/bin/python3", "-c", SLEEPS], cwd="/tmp")
        self.addCleanup(target.kill)
        target.wait_ready()
        process, code = self.doctor(AS_NOBODY, target.pid)
        found = checks(process)
        if found["Yama"][1][-1:] in "123" and "stacks" not in found:
            self.skipTest("Yama forbids it")
        self.assertEqual(code, 0, process.output())
        self.assertEqual([found[name][0] for name in ("memory", "Python", "stacks")], ["OK"] * 3, process.output())
        self.assertNotIn("BLOCKED", [state for state, _, _ in found.values()], process.output())
        self.assertNotIn("sudo", "".join(process.out))

    @unittest.skipUnless(can("unshare", "-Ur"), "no user namespace can be made here")
    def test_into_a_user_namespace_below(self):
        with Process(["unshare", "-Ur", newest_python(), "-c", SLEEPS]) as target:
            target.wait_ready()
            process, code = run_program("doctor", str(target.pid))
            self.assertEqual(code, 0, process.output())
            self.assertIn("user namespace below", checks(process)["capability"][1])


@unittest.skipUnless(can("unshare", "-mpf", "--mount-proc"), "no pid and mount namespaces can be made here")
class Namespaces(Test):
    """Targets that see other files and other numbers than we do."""

    def inside(self, script, *arguments):
        """A shell script in namespaces of its own; its $0 is the interpreter."""
        return Process(["unshare", "-mpf", "--kill-child", "--mount-proc", "sh", "-c", script, newest_python()]
                       + list(arguments))

    def python_in(self, process):
        """The pid that we know the program by which is number 1 inside."""
        process.wait_ready()
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="ascii") as children:
            return int(children.read().split()[0])

    def record(self, pid):
        # Until there is something: a loaded machine may take a while to the first tick.
        process, code = run_program("record", "-a", "-d", "2", "--idle", "--waits=off", "--collapsed", "-o", "-", str(pid))
        self.assertEqual(code, 0, process.output())
        return "\n".join(process.out)

    def test_other_numbers_of_processes_and_threads(self):
        script = ("import threading, time\n"
                  "def spins():\n"
                  "    while True: pass\n"
                  "def sleeps(): time.sleep(100)\n"
                  "threading.Thread(target=sleeps, name='sleeper').start()\n"
                  "threading.Thread(target=spins, name='spinner').start()\n"
                  "print('READY', flush=True)\n"
                  "time.sleep(100)\n")
        with self.inside('exec "$0" -c "$1"', script) as outer:
            pid = self.python_in(outer)
            process, code = run_program("doctor", str(pid))
            self.assertEqual(code, 0, process.output())
            self.assertIn("1 in its own pid namespace", checks(process)["process"][1])
            process, code = run_program("record", "-a", "-d", "2", "--mode", "cpu", "--idle", "--waits=off", "--collapsed", "-o", "-", str(pid))
            self.assertEqual(code, 0, process.output())
            # The kernel's account is that of the right thread: it is the spinner that runs.
            spins = sum(int(line.split()[-1]) for line in process.out if "spins" in line)
            sleeps = sum(int(line.split()[-1]) for line in process.out if "sleeps" in line)
            self.assertGreater(spins, 0, process.output())
            self.assertLess(sleeps, spins, process.output())
        wait_gone(pid)

    def test_source_lines_are_those_below_its_own_root(self):
        """A changed root, and in it a file system that is seen nowhere else."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, True)
        script = ('mount --rbind / "$2" && mount -t tmpfs none "$2/mnt" && echo "$1" > "$2/mnt/app.py" && '
                  'exec chroot "$2" "$0" /mnt/app.py')
        text = ("import time\n"
                "def waits():\n"
                "    print('READY', flush=True)\n"
                "    time.sleep(100)  # as it stands inside\n"
                "waits()\n")
        with self.inside(script, text, folder) as outer:
            pid = self.python_in(outer)
            with Live("attach", str(pid)) as live:
                live.wait_samples(10)
                tree = live.get("/sessions/1/tree")
                names = [tree["strings"]["values"][name] for name in tree["functions"]["name"]]
                source = live.get("/sessions/1/source?function=%d" % names.index("waits"))
                self.assertIn("    time.sleep(100)  # as it stands inside", json.dumps(source))
                self.assertEqual(live.stop(), 0)
        wait_gone(pid)

    def test_an_executable_that_only_its_own_mounts_have_and_that_is_gone(self):
        """A renamed copy on a file system that we do not see, deleted once it runs."""
        source = os.path.realpath(newest_python())
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, True)
        script = 'mount -t tmpfs none "$2" && cp "$0" "$2/server" && exec "$2/server" -c "$1"'
        source_code = ("import os, sys, time\n"
                       "def waits():\n"
                       "    print('READY', flush=True)\n"
                       "    time.sleep(100)\n"
                       "os.unlink(sys.executable)\n"
                       "waits()\n")
        with Process(["unshare", "-mpf", "--kill-child", "--mount-proc", "sh", "-c", script, source, source_code,
                      folder], env=newest().environment_of_copy()) as outer:
            pid = self.python_in(outer)
            self.assertEqual(os.listdir(folder), [])
            self.assertIn("waits", self.record(pid))
        wait_gone(pid)


if __name__ == "__main__":
    # A kernel of tests/kernels may let nobody read anything: it is judged all the same.
    if ENGINE_CHECK:
        unittest.main(verbosity=2)
    main()
