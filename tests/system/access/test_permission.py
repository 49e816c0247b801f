"""--allow-user and --allow-command hold for every process that a session samples, however it came to be one of it, and for as long
as it is; nothing of the others is shown."""

import gzip
import os
import shutil
import signal
import time

from harness import WAIT_SECONDS, Live, main, newest_python, victim
from host import Host
from users import NOBODY, UsersTest, as_user

BECOME_OWNER = os.environ.get("PYROMETER_BECOME_OWNER", "")
SECRET = "of_the_owner_alone"
# The program of root: its function, its file and its argument are secret.
OWNERS = """#!%s
import sys, time
def """ + SECRET + """():
    return sum(range(2000))
end = time.monotonic() + float((sys.argv + ["40"])[1])
while time.monotonic() < end: """ + SECRET + """()
"""

# Does what its first argument says before it is ready, and what its second one says on a signal.
TARGET = """
import ctypes, os, signal, subprocess, sys, time
# Its command line has the names of neither.
TARGET, OTHER = [os.path.join(os.path.dirname(__file__), name + ".py") for name in ("target", "other")]
signals = []
signal.signal(signal.SIGUSR1, lambda *_: signals.append(1))
signal.alarm(120)
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
def rename(text):
    with open("/proc/self/stat") as file:
        begin, end = map(int, file.read().rpartition(")")[2].split()[45:47])
    with open("/proc/self/mem", "r+b", 0) as file:
        file.seek(begin)
        file.write(text.encode().ljust(end - begin, b"\\0"))
def before(): return sum(range(1000))
def after(): return sum(range(1000))
exec(sys.argv[1])
print("READY", flush=True)
while not signals: before()
exec(sys.argv[2])
print("DONE", flush=True)
while True: after()
"""


class Permission(UsersTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.target = cls.put("target.py", TARGET)
        cls.other = cls.put("other.py", TARGET)
        cls.program = cls.put("program", OWNERS % newest_python(), 0o700)
        cls.wrapper = os.path.join(cls.folder, "wrapper")
        if BECOME_OWNER:
            shutil.copy(BECOME_OWNER, cls.wrapper)
            os.chown(cls.wrapper, 0, 0)
            os.chmod(cls.wrapper, 0o4755)

    def start(self, first="0", second="0", path=None, become=as_user(NOBODY)):
        target = victim(path or self.target, first, second, preexec_fn=become)
        self.addCleanup(target.kill)
        return target

    def serve(self, *words):
        host = Host(*words)
        self.addCleanup(host.__exit__, None, None, None)
        return host

    def assert_nothing_of(self, host, session, *words):
        """Neither in the session nor in the list of processes."""
        for path in ("/sessions/" + session, "/sessions/%s/tree" % session, "/processes?limit=4096", "/sessions/%s/report.html" % session):
            body = host.ask("/api/v1" + path).body.decode("utf-8", "replace")
            for word in words:
                self.assertNotIn(word, body, path)

    @staticmethod
    def pids(session):
        return [target["pid"] for target in session["targets"]]

    @staticmethod
    def commands(session):
        """The scripts of its targets."""
        return {(target["command"] + ["", ""])[1] for target in session["targets"]}

    @staticmethod
    def names(host, session):
        tree = host.get("/sessions/%s/tree" % session)
        return {tree["strings"]["values"][name] for name in tree["functions"]["name"]}


class Children(Permission):
    def setUp(self):
        mounted = os.statvfs(self.folder).f_flag & os.ST_NOSUID
        if not BECOME_OWNER or mounted:
            self.skipTest("needs PYROMETER_BECOME_OWNER, a program, and a folder for files where set-user-id programs work")

    def child_of(self, parent):
        """Root's program, once it runs."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            with open("/proc/%d/task/%d/children" % (parent, parent), encoding="ascii") as file:
                for pid in map(int, file.read().split()):
                    with open("/proc/%d/cmdline" % pid, "rb") as words:
                        if b"/program\0" in words.read():
                            return pid
            time.sleep(0.02)
        raise AssertionError("the set-user-id program has not started the other one")

    def test_one_of_another_user_is_kept_out(self):
        host = self.serve("--allow-user", str(NOBODY))
        parent = self.start(second="subprocess.Popen([%r, '40.5' + '12367'])" % self.wrapper)
        session = host.start(pids=[parent.pid], subprocesses=True, rate_hz=500)
        host.running(session)
        parent.signal(signal.SIGUSR1)
        child = self.child_of(parent.pid)
        self.addCleanup(os.kill, child, signal.SIGKILL)
        # On a busy machine the copy of the parent, which is to become the other program, may be sampled first.
        found = host.until("/sessions/" + session, lambda found: found["processes"].get("not_permitted") or self.commands(found) != {self.target})
        self.assertEqual(self.commands(found), {self.target})
        self.assertEqual(found["processes"]["not_permitted"], 1)
        # It is tried again meanwhile.
        host.until("/sessions/" + session, lambda now: now["elapsed_s"] > found["elapsed_s"] + 1.5)
        host.until("/processes", lambda listed: listed["not_permitted"] >= 1 and not listed["examining"])
        self.assertEqual(self.commands(host.get("/sessions/" + session)), {self.target})
        self.assertIn("after", self.names(host, session))
        self.assert_nothing_of(host, session, SECRET, self.program, "40.512367")
        for path in ("/processes/%d/dump" % child, "/processes/%d/dump?tasks=1" % child):
            self.assertEqual(host.ask("/api/v1" + path).status, 403, path)
        self.assertEqual(host.ask("/debug/pprof/profile?seconds=1&pid=%d" % child).status, 403)
        self.assertEqual(host.send("POST", "/sessions", {"pids": [child]}).status, 403)

    def test_a_target_that_executes_another_users_program_is_kept_out(self):
        """Another process has its memory, so that what was read of it before stays valid."""
        shares = ("keep = ctypes.CDLL(None); stack = ctypes.create_string_buffer(1 << 16)\n"
                  "keep.clone(ctypes.cast(keep.sleep, ctypes.c_void_p), ctypes.c_void_p(ctypes.addressof(stack) + (1 << 16)),"
                  " 0x100 | 17, ctypes.c_void_p(20))\n")
        host = self.serve("--allow-user", str(NOBODY))
        for first in "0", shares:
            parent = self.start(first, "os.execv(%r, ['x', '40.5' + '12367'])" % self.wrapper)
            session = host.start(pids=[parent.pid], subprocesses=True, rate_hz=1000)
            host.running(session)
            parent.signal(signal.SIGUSR1)
            host.until("/sessions/" + session, lambda found: found["targets"][0]["to_s"] is not None)
            time.sleep(1)
            # The one that shares its memory is a child of the same user.
            self.assertEqual(self.pids(host.get("/sessions/" + session)).count(parent.pid), 1)
            self.assert_nothing_of(host, session, SECRET, self.program, "40.512367")
            parent.kill()

    def test_a_storm_of_them_shows_nothing(self):
        storm = ("end = time.monotonic() + 4\n"
                 "while time.monotonic() < end:\n"
                 "    pid = os.fork()\n"
                 "    if pid == 0: os.execv(%r, ['x', '0.1'])\n"
                 "    before()\n"
                 "    if pid %% 3: os.waitpid(pid, 0)\n") % self.wrapper
        host = self.serve("--allow-user", str(NOBODY))
        parent = self.start(second=storm)
        session = host.start(pids=[parent.pid], subprocesses=True, rate_hz=1000)
        host.running(session)
        parent.signal(signal.SIGUSR1)
        parent.wait_line("DONE")
        found = host.until("/sessions/" + session, lambda found: found["processes"].get("not_permitted", 4) > 3)
        self.assertEqual(self.commands(found), {self.target})
        self.assert_nothing_of(host, session, SECRET, self.program)


class Users(Permission):
    def test_a_process_with_the_rights_of_two_users_is_of_neither(self):
        for ids in ("65534, 65534, 0", "65534, 0, 0", "0, 65534, 65534"):
            target = self.start("os.setresuid(%s)" % ids, become=None)
            for user in "0", str(NOBODY):
                host = self.serve("--allow-user", user)
                self.assertEqual(host.send("POST", "/sessions", {"pids": [target.pid]}).status, 403, (ids, user))
                self.assertEqual(host.ask("/api/v1/processes/%d/dump" % target.pid).status, 403, (ids, user))
                host.stop()
            host = self.serve("--allow-user", "0", "--allow-user", str(NOBODY))
            host.running(host.start(pids=[target.pid]))
            host.stop()

    def leaves(self, user, become, ids):
        host = self.serve("--allow-user", user)
        target, other = self.start(second="os.setresuid(%s)" % ids, become=become), self.start(become=become)
        session = host.start(pids=[other.pid, target.pid], subprocesses=True, rate_hz=500)
        host.running(session)
        host.row(target.pid)
        target.signal(signal.SIGUSR1)
        found = host.until("/sessions/" + session, lambda found: found["targets"][1]["to_s"] is not None)
        self.assertIn("no longer permitted", found["targets"][1]["reason"])
        self.assertEqual((found["state"], found["processes"]["running"]), ("running", 1))
        found = host.until("/sessions/" + session, lambda now: now["elapsed_s"] > found["elapsed_s"] + 1)
        self.assertEqual(self.pids(found), [other.pid, target.pid])
        self.assertEqual(found["processes"]["not_permitted"], 1)
        host.until("/processes?limit=4096", lambda listed: target.pid not in [row["pid"] for row in listed["processes"]])
        host.row(other.pid)
        other.kill()

    def test_a_target_that_drops_its_rights_leaves(self):
        self.leaves("0", None, "65534, 65534, 65534")

    def test_a_target_that_gains_rights_leaves(self):
        self.leaves(str(NOBODY), as_user(NOBODY, "setuid"), "0, 0, 0")

    def test_a_session_whose_only_target_leaves_ends(self):
        host = self.serve("--allow-user", "0")
        target = self.start(second="os.setresuid(65534, 0, 0)", become=None)
        session = host.start(pids=[target.pid])
        host.running(session)
        target.signal(signal.SIGUSR1)
        found = host.until("/sessions/" + session, lambda found: found["state"] == "ended")
        self.assertIn("no longer permitted", found["reason"])

    def test_without_a_list_a_target_may_change_its_user(self):
        host = self.serve()
        target = self.start(second="os.setresuid(65534, 65534, 65534)", become=None)
        session = host.start(pids=[target.pid], rate_hz=500)
        host.running(session)
        target.signal(signal.SIGUSR1)
        host.until("/sessions/" + session, lambda _: "after" in self.names(host, session))
        self.assertEqual(host.get("/sessions/" + session)["state"], "running")


class Commands(Permission):
    def serve_target(self):
        return self.serve("--allow-command", "* %s *" % self.target)

    def test_they_hold_for_children(self):
        children = "for path in TARGET, OTHER: subprocess.Popen([sys.executable, path, '0', '0'])"
        host = self.serve_target()
        parent = self.start(second=children)
        session = host.start(pids=[parent.pid], subprocesses=True)
        host.running(session)
        parent.signal(signal.SIGUSR1)
        found = host.until("/sessions/" + session, lambda found: found["processes"]["running"] > 1 and (
            found["processes"].get("not_permitted") or self.commands(found) != {self.target}))
        self.assertEqual(self.commands(found), {self.target})
        self.assert_nothing_of(host, session, self.other)

    def test_they_are_asked_again_after_exec(self):
        back = "os.execv(sys.executable, [sys.executable, TARGET, '0', '0'])"
        away = "os.execv(sys.executable, [sys.executable, OTHER, '0', %r])" % back
        host = self.serve_target()
        target, stays = self.start(second=away), self.start()
        session = host.start(pids=[target.pid, stays.pid], subprocesses=True)
        host.running(session)
        target.signal(signal.SIGUSR1)
        wait_ready(target, 2)
        found = host.until("/sessions/" + session, lambda found: found["processes"].get("not_permitted") or len(found["targets"]) > 2)
        self.assertRegex(found["targets"][0]["reason"], "exec")
        self.assertEqual(self.pids(found), [target.pid, stays.pid])
        self.assert_nothing_of(host, session, self.other)
        target.signal(signal.SIGUSR1)
        found = host.until("/sessions/" + session, lambda found: len(found["targets"]) == 3)
        self.assertEqual((found["targets"][2]["pid"], found["targets"][2]["command"][1]), (target.pid, self.target))

    def test_a_target_may_rename_itself_and_anybody_may_take_a_name(self):
        """The command line is what the process says of itself: web/docs/processes.md."""
        host = self.serve_target()
        target, liar = self.start(second="rename('another')"), self.start("rename('x %s y')" % self.target, path=self.other)
        session = host.start(pids=[target.pid], rate_hz=500)
        host.running(session)
        target.signal(signal.SIGUSR1)
        host.until("/sessions/" + session, lambda _: "after" in self.names(host, session))
        self.assertEqual(host.get("/sessions/" + session)["state"], "running")
        self.assertEqual(host.send("POST", "/sessions", {"pids": [target.pid]}).status, 403)
        host.running(host.start(pids=[liar.pid]))


def wait_ready(process, times):
    """Until it has said READY so many times."""
    end = time.monotonic() + WAIT_SECONDS
    while process.out.count("READY") < times:
        assert time.monotonic() < end, process.output()
        time.sleep(0.02)


class All(Permission):
    def test_all_are_those_that_are_permitted(self):
        host = self.serve("--allow-user", str(NOBODY), "--allow-command", "*%s*" % self.target)
        mine, foreign, other = self.start(), self.start(become=None), self.start(path=self.other)
        session = host.start(all=True)
        found = host.until("/sessions/" + session, lambda found: found["quality"]["samples"] > 10 and self.pids(found))
        self.assertEqual(self.pids(found), [mine.pid])
        self.assertGreaterEqual(found["processes"]["not_permitted"], 2)
        listed = host.until("/processes", lambda listed: listed["processes"] and listed["not_permitted"] >= 2 and not listed["examining"])
        self.assertEqual([row["pid"] for row in listed["processes"]], [mine.pid])
        self.assertEqual(listed["total"], 1)
        self.assertTrue(foreign.is_running() and other.is_running())

    def test_none_is_an_error(self):
        host = self.serve("--allow-user", "65533")
        session = host.start(all=True)
        found = host.until("/sessions/" + session, lambda found: found["state"] == "failed")
        self.assertIn("no Python process", found["reason"])

    def test_continuous_sampling_asks_again(self):
        host = self.serve("--continuous=50", "--allow-user", str(NOBODY), "--allow-command", "*%s*" % self.folder)
        changing, stays = self.start(second="os.setresuid(0, 0, 0)", become=as_user(NOBODY, "setuid")), self.start()
        foreign = self.start(become=None)
        both = {changing.pid, stays.pid}
        found = host.until("/activity", lambda found: both <= {row["pid"] for row in found["processes"]})
        changing.signal(signal.SIGUSR1)
        path = "/sessions/" + found["session"]
        found = host.until(path, lambda found: any(target["pid"] == changing.pid and target["to_s"] for target in found["targets"]))
        found = host.until(path, lambda now: now["elapsed_s"] > found["elapsed_s"] + 3)
        self.assertEqual(sorted(self.pids(found)), sorted(both))
        self.assertNotIn(foreign.pid, self.pids(found))


class Sources(Permission):
    def test_rights_that_a_target_gains_are_not_used_for_its_files(self):
        secret = self.put("secret.py", "# only root may know\n" * 5, 0o600)
        leak = "os.setresuid(0, 0, 0); exec(compile('def leak():\\n while True: sum(range(1000))\\nleak()', %r, 'exec'))" % secret
        host = self.serve()
        target = self.start(second=leak, become=as_user(NOBODY, "setuid"))
        session = host.start(pids=[target.pid], rate_hz=500)
        host.running(session)
        target.signal(signal.SIGUSR1)
        host.until("/sessions/" + session, lambda _: "leak" in self.names(host, session))
        tree = host.get("/sessions/%s/tree" % session)
        names = [tree["strings"]["values"][name] for name in tree["functions"]["name"]]
        answer = host.ask("/api/v1/sessions/%s/source?function=%d" % (session, names.index("leak")))
        self.assertEqual(answer.status, 403, answer.body)
        # Texts are fetched meanwhile.
        time.sleep(1.5)
        self.assert_nothing_of(host, session, "only root may know")


class Pulls(Permission):
    """/debug/pprof/profile of a server that samples what its command line names."""

    def pull(self, live, pid):
        return live.ask("/debug/pprof/profile?seconds=1&pid=%d" % pid)

    def test_a_process_that_is_no_target_any_more_is_not_profiled(self):
        first, second = self.start(), self.start(path=self.other)
        with Live("attach", str(first.pid), str(second.pid)) as live:
            live.wait_samples(10)
            profile = gzip.decompress(self.pull(live, first.pid).body)
            self.assertIn(b"target.py", profile)
            self.assertNotIn(b"other.py", profile)
            first.kill()
            live.wait_session(lambda session: session["processes"]["running"] == 1)
            # Its number may be another's by now.
            self.assertEqual(self.pull(live, first.pid).status, 403)
            self.assertEqual(live.stop(), 0)


if __name__ == "__main__":
    main()
