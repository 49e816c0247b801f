"""Bad input: one clear line, the exit code that the help promises, nothing on stdout, no target disturbed."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import FOLDER, PROGRAM, SLOWNESS, VICTIMS, Live, Process, Test, file_in, main, newest_python, pythons, run_program, victim

FAILED, USAGE, NOT_PERMITTED, NO_TARGET = 1, 2, 3, 4
NOBODY = 65534


def pid_of_none():
    """The largest id the kernel may give is never given."""
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as limit:
        return limit.read().strip()


class Targets(Test):
    def test_a_process_that_is_not_there(self):
        for command in (["attach"], ["record", "--collapsed", "-o", "-"]):
            process, code = run_program(*command, pid_of_none())
            self.assert_refused(process, code, NO_TARGET, "no process %s" % pid_of_none())

    def test_a_process_that_is_not_python(self):
        with Process(["sleep", "60"]) as target:
            for command in (["attach", "--listen", "127.0.0.1:0"], ["record", "--collapsed", "-o", "-"]):
                process, code = run_program(*command, str(target.pid))
                self.assert_refused(process, code, NO_TARGET, r"process %d .*is not a Python process" % target.pid)
            self.assertTrue(target.is_running())

    def test_what_has_started_python_names_the_option_that_samples_it(self):
        """As sudo does, whose number people find first."""
        with Process(["sh", "-c", "%s %s 60 & wait" % (newest_python(), os.path.join(VICTIMS, "chain.py"))]) as target:
            target.wait_ready()
            with victim("chain.py", "60") as other:
                for pids in ((target.pid,), (target.pid, other.pid)):
                    process, code = run_program("record", "-d", "0.3", "--collapsed=-", *map(str, pids))
                    self.assertEqual(code, NO_TARGET, process.output())
                    process.wait_line("is not a Python process.*, but a child of it is: use --subprocesses", process.err)
            process, code = run_program("record", "-s", "-d", "0.3", "--collapsed=-", str(target.pid))
            self.assertEqual(code, 0, process.output())
            with open("/proc/%d/task/%d/children" % (target.pid, target.pid), encoding="ascii") as file:
                for child in file.read().split():
                    os.kill(int(child), signal.SIGKILL)

    def test_one_that_cannot_be_sampled_does_not_hide_the_others(self):
        with victim("chain.py", "60") as one, victim("chain.py", "60") as other, Process(["sleep", "60"]) as foreign:
            gone = pid_of_none()
            pids = [str(pid) for pid in (foreign.pid, one.pid, gone, other.pid)]
            process, code = run_program("dump", "--each", *pids)
            self.assertEqual(code, NO_TARGET, process.output())
            self.assertEqual([line.split(",")[0] for line in process.out if line.startswith("process ")],
                             ["process %d" % one.pid, "process %d" % other.pid])
            self.check_named(process, foreign.pid, gone)
            process, code = run_program("record", *pids, "-d", str(0.5 * SLOWNESS), "--collapsed=-")
            self.assertEqual(code, NO_TARGET, process.output())
            self.assertEqual({int(line.split()[0][len("tid:"):]) for line in process.out}, {one.pid, other.pid})
            self.check_named(process, foreign.pid, gone)
            process, code = run_program("record", str(foreign.pid), gone, "-d", "0.3", "--collapsed=-")
            self.assertEqual((code, process.out), (NO_TARGET, []), process.output())
            self.check_named(process, foreign.pid, gone)
            with Live("attach", *pids) as live:
                live.wait_samples(10)
                self.assertEqual({target["pid"] for target in live.session()["targets"]}, {one.pid, other.pid})
                self.assertEqual(live.stop(), NO_TARGET)
            self.check_named(live.process, foreign.pid, gone)

    def check_named(self, process, foreign, gone):
        for wanted in ("process %d .*is not a Python process" % foreign, "no process %s" % gone):
            self.assertEqual(len([line for line in process.err if re.search("^pyrometer: " + wanted, line)]), 1, process.output())

    def test_a_mode_of_which_the_interpreter_does_not_tell(self):
        """Who handles an exception is known from 3.12 on. Where it is not, all would be kept: that is refused before sampling."""
        for python in pythons():
            if not python.is_supported:
                continue
            with self.subTest(python=python.version), victim("exceptions.py", "60", python=python.path) as target:
                words = ("record", "-d", "0.5", "--collapsed", "-o", file_in("mode.folded"), str(target.pid), "--mode", "exception")
                process, code = run_program(*words)
                if python.minor < 12:
                    self.assert_refused(process, code, USAGE, r"process %d runs Python 3\.%d.*, which does not show which threads "
                                        "handle an exception: use mode wall" % (target.pid, python.minor))
                    self.assertFalse(os.path.exists(file_in("mode.folded")))
                else:
                    self.assertIn(code, (0, FAILED), process.output())
                    self.assertFalse([line for line in process.err if "does not show" in line])

    def test_an_interpreter_that_is_too_old(self):
        versions = os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions")
        old = glob.glob(versions + "/2.7*/bin/python2.7") + glob.glob(versions + "/3.[67].*/bin/python3.[67]")
        if not old:
            self.skipTest("no Python 2.7, 3.6 or 3.7 is here")
        for python in old:
            with self.subTest(python), Process([python, "-uc", "import time; print('READY'); time.sleep(60)"]) as target:
                target.wait_ready()
                process, code = run_program("record", "--collapsed", "-o", "-", str(target.pid))
                self.assert_refused(process, code, FAILED, r"process %d: .*Python.* is not supported: CPython 3\.8 to"
                                    % target.pid)

    def compiled(self, text, *options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        source, path = os.path.join(folder.name, "program.c"), os.path.join(folder.name, "program")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        if not shutil.which("cc") or subprocess.run(["cc", source, "-o", path, *options], stderr=subprocess.DEVNULL,
                                                    check=False).returncode != 0:
            self.skipTest("no compiler for it")
        return path

    def refuse_program(self, path, code, pattern):
        with Process([path]) as target:
            process, got = run_program("record", "--collapsed", "-o", "-", str(target.pid))
            self.assert_refused(process, got, code, "process %d.* " % target.pid + pattern)
            self.assertTrue(target.is_running())

    def test_a_program_of_32_bits(self):
        path = self.compiled("void _start(void) { for (;;) __asm__ volatile(\"int $0x80\" : : \"a\"(29)); }",
                             "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie")
        self.refuse_program(path, NO_TARGET, "is a 32-bit program: only 64-bit ones can be read")

    def test_another_kind_of_python(self):
        path = self.compiled("#include <unistd.h>\nint rpython_startup_code(void) { return pause(); }\n"
                             "int main(void) { return rpython_startup_code(); }\n")
        self.refuse_program(path, FAILED, "PyPy is not supported: CPython 3.8 to 3.15")
        path = self.compiled("#include <unistd.h>\nint rpython_startup_code(void) { return (int)sleep(1); }\n"
                             "int main(void) { return rpython_startup_code(); }\n")
        process, code = run_program("run", "--listen", "127.0.0.1:0", "--", path)
        self.assertEqual(code, 0, process.output())
        process.wait_line("before its first sample: .*: PyPy is not supported: CPython 3.8 to 3.15", process.err)

    def test_a_process_that_ends_meanwhile(self):
        """Whatever it was when we came to it, there is one line or a regular end."""
        for _ in range(10):
            with Process([newest_python(), "-c", "pass"]) as target:
                process, code = run_program("record", "--collapsed", "-o", "-", str(target.pid))
                self.assertIn(code, (0, FAILED, NO_TARGET), process.output())
                if code == FAILED:
                    self.assertIn("no samples were captured", process.err[-1])
                if code == NO_TARGET:
                    self.assert_refused(process, code, NO_TARGET, "process %d" % target.pid)

    def test_a_process_that_is_a_zombie(self):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            process, code = run_program("record", "--collapsed", "-o", "-", str(pid))
            self.assert_refused(process, code, NO_TARGET, "process %d has already ended" % pid)
        finally:
            os.waitpid(pid, 0)

    def test_a_thread_instead_of_a_process(self):
        with victim("threads.py", "2", "60") as target:
            thread = max(int(tid) for tid in os.listdir("/proc/%d/task" % target.pid))
            process, code = run_program("record", "--collapsed", "-o", "-", str(thread))
            self.assert_refused(process, code, NO_TARGET, "%d" % thread)

    def test_a_process_of_another_user(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv to become another user")
        with victim("chain.py", "60") as target:
            # A copy: the folder of the build may be closed to other users.
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o755)
                self.refuse_as_nobody(shutil.copy(PROGRAM, folder), target.pid)
            self.assertTrue(target.is_running())

    def refuse_as_nobody(self, path, pid):
        drop = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", "--"]
        reason = "process %d belongs to user 0 and you are %d" % (pid, NOBODY)
        for command in (["attach", "--listen", "127.0.0.1:0"], ["record", "--collapsed", "-o", "-"]):
            with Process(drop + [path] + command + [str(pid)], cwd="/tmp") as process:
                self.assert_refused(process, process.wait(), NOT_PERMITTED, reason)


class Addresses(Test):
    def test_a_port_that_is_taken(self):
        with socket.socket() as taken, victim("chain.py", "60") as target:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            process, code = run_program("attach", "--listen", address, str(target.pid))
            self.assert_refused(process, code, FAILED, "cannot listen on 127.0.0.1 port %d: .*in use" % taken.getsockname()[1])
            self.assertTrue(target.is_running())

    def test_the_whole_network_without_a_token(self):
        with victim("chain.py", "60") as target:
            for host in ("0.0.0.0:0", "[::]:0"):
                if host.startswith("[") and not os.path.exists("/proc/net/if_inet6"):
                    continue
                process, code = run_program("attach", "--no-token", "--listen", host, str(target.pid))
                self.assert_refused(process, code, USAGE, "--no-token")

    def test_an_address_that_is_none(self):
        for address in ("127.0.0.1:99999", "127.0.0.1:port", "[::1", "127.0.0.1:-1"):
            process, code = run_program("attach", "--listen", address, "1")
            self.assert_refused(process, code, USAGE, "want HOST:PORT")


class Options(Test):
    def refused(self, *arguments, pattern):
        process, code = run_program(*arguments)
        self.assert_refused(process, code, USAGE, pattern)

    def test_a_rate_that_is_none(self):
        for rate in ("0", "-1", "fast", "1e3", "inf", "nan", "2mhz", "0.5", "", "1000 hz x"):
            self.refused("record", "--collapsed", "-r", rate, "1", pattern="invalid --sampling-rate")

    def test_a_duration_that_is_none(self):
        for duration in ("0", "-1", "soon", "inf", "nan", "", "1d"):
            self.refused("record", "--collapsed", "-d", duration, "1", pattern="invalid --duration")

    def test_a_process_id_that_is_none(self):
        for pid in ("0", "python", "12x", "99999999999", "4294967297", ""):
            self.refused("attach", pid, pattern="invalid PID")
        self.refused("attach", pattern="needs a PID")
        self.refused("attach", "--all", "1", pattern="a PID or --all, not both")

    def test_options_that_are_none(self):
        self.refused("attach", "--sampling-rat", "10", "1", pattern="did you mean '--sampling-rate'")
        self.refused("attach", "-z", "1", pattern="unknown option '-z'")
        self.refused("attach", "--collapsed", "1", pattern="attach has no option '--collapsed'")
        self.refused("attach", "1", "-r", pattern="--sampling-rate needs a value")
        self.refused("record", "--collapsed=-", "--flamegraph=-", "1", pattern="only one format can be written to standard output")
        self.refused("record", "-o", "x.png", "1", pattern="unknown output format '.png'")
        self.refused("replay", "x.pyro", "-o", "y", pattern="cannot read 'x.pyro': No such file")
        self.refused("replay", "--collapsed", pattern="replay needs a FILE")
        self.refused("merge", "x.pyro", "-o", "y.pyro", pattern="merge needs two FILEs")

    def test_commands_that_are_none(self):
        self.refused("atach", "1", pattern="did you mean 'attach'")
        self.refused("frobnicate", pattern="unknown command")
        self.refused(pattern="COMMAND is missing")
        self.refused("run", pattern="needs a TARGET")

    def test_help_and_version_go_to_stdout(self):
        for arguments in (["--help"], ["attach", "--help"], ["record", "-h"], ["run", "--help"], ["--version"]):
            process, code = run_program(*arguments)
            self.assertEqual((code, process.err), (0, []), process.output())
            self.assertTrue(process.out, process.output())

    def test_a_token_file_that_is_none(self):
        path = file_in("short.token")
        with victim("chain.py", "60") as target:
            process, code = run_program("attach", "--listen", "127.0.0.1:0", "--token-file", path, str(target.pid))
            self.assert_refused(process, code, FAILED, "cannot read the token file")
            with open(path, "w", encoding="ascii") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write("short\n")
            process, code = run_program("attach", "--listen", "127.0.0.1:0", "--token-file", path, str(target.pid))
            self.assert_refused(process, code, USAGE, "the token in")


class Files(Test):
    def test_a_file_that_cannot_be_written(self):
        """Said before anything is sampled: without --duration this would go on for ever."""
        with victim("chain.py", "60") as target:
            for path in (os.path.join(FOLDER, "no", "such", "folder", "x.folded"), "/proc/x.folded"):
                process, code = run_program("record", "--collapsed", "-o", path, str(target.pid))
                self.assert_refused(process, code, FAILED, "cannot write '%s'" % path)

    def test_a_target_that_is_refused_leaves_no_file(self):
        path = file_in("left-behind.folded")
        _, code = run_program("record", "--collapsed", "-o", path, pid_of_none())
        self.assertEqual(code, NO_TARGET)
        self.assertEqual([name for name in os.listdir(FOLDER) if "left-behind" in name], [])

    def test_a_file_that_was_there_stays_when_the_target_is_refused(self):
        path = file_in("kept.folded")
        with open(path, "w", encoding="ascii") as file:
            file.write("kept\n")
        run_program("record", "--collapsed", "-o", path, pid_of_none())
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "kept\n")


if __name__ == "__main__":
    main()
