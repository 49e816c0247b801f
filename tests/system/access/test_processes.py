"""Processes of a server: what each holds and may reach; what somebody in the one that speaks HTTP could do; what happens when one of
them is killed."""

import contextlib
import ctypes
import glob
import json
import os
import pwd
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import PROGRAM, SANITIZED, VICTIMS, WAIT_SECONDS, Live, Test, can, has_landlock, main, newest_python, processes_of, reader_of, run_program, victim, wait_gone

LONG = "120"
SOMEBODY, NOBODY = 45454, 65534
# Ids that processes of root's program take: each one that nobody else has.
OWN = range(61184, 65520)
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}
NAMES = {"pyrometer-keep", "pyrometer-read", "pyrometer-src"}
# The processes of root's server: besides those, one that opens its files.
SERVED = NAMES | ({"pyrometer-file"} if os.geteuid() == 0 else set())


def descriptors(pid):
    """Descriptors that a process has open: kinds, or paths."""
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found.append(re.sub(r":\[\d+\]$", "", os.readlink("/proc/%d/fd/%s" % (pid, fd))))
        except FileNotFoundError:
            pass
    return found


def listens(pid):
    """Does it hold a socket of the network?"""
    inodes = set()
    for name in ("tcp", "tcp6"):
        with open("/proc/%d/net/%s" % (pid, name), encoding="ascii") as file:
            inodes |= {"socket:[%s]" % line.split()[9] for line in file.readlines()[1:]}
    return any(os.readlink("/proc/%d/fd/%s" % (pid, fd)) in inodes for fd in os.listdir("/proc/%d/fd" % pid))


def status(pid):
    with open("/proc/%s/status" % pid, encoding="utf-8", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def mapped(pid):
    """An address of its stack, where there is something to read."""
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as file:
        return next(int(line.split("-")[0], 16) for line in file if " rw-p " in line and "[heap]" in line)


def touched_by(user, pids):
    """Those of the processes that a process of this user, without capabilities, may signal or limit."""
    code = ("import os, resource, sys\nfor pid in map(int, sys.argv[1:]):\n"
            "    for touch in (lambda: os.kill(pid, 0), lambda: resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0)),\n"
            "                  lambda: os.sched_setaffinity(pid, {0})):\n"
            "        try:\n            touch()\n            print(pid)\n        except PermissionError:\n            pass\n")
    done = subprocess.run(["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
                           "--", "/usr/bin/python3", "-c", code, *map(str, pids)], stdout=subprocess.PIPE, check=True, text=True)
    return set(map(int, done.stdout.split()))


class Served(Test):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pyrometer-processes-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    def data(self, owner):
        path = os.path.join(self.folder, "data")
        os.mkdir(path, 0o700)
        if os.geteuid() == 0:
            os.chown(path, owner, owner)
        return path

    def serve(self, *options, owner=SOMEBODY, **others):
        live = Live("serve", "--data", self.data(owner), "--no-continuous", *options, **others)
        self.addCleanup(live.process.kill)
        live.wait_until(lambda: SERVED <= set(processes_of(live.process.pid)))
        return live

    def start(self, live, pid, **members):
        answer = live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [pid], **members}), MARK)
        self.assertEqual(answer.status, 202, answer.body)
        return answer.json()["id"]

    def until(self, live, session, is_so):
        live.wait_until(lambda: is_so(live.get("/sessions/" + session)))
        return live.get("/sessions/" + session)


@unittest.skipIf(SANITIZED, "a sanitizer leaves out the filter of system calls")
class Rights(Served):
    def test_each_holds_what_it_needs(self):
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 10)
            pids = {"pyrometer": live.process.pid, **processes_of(live.process.pid)}
            self.assertEqual(set(pids), SERVED | {"pyrometer"})
            self.assertEqual([name for name, pid in pids.items() if listens(pid)], ["pyrometer"])
            for name, pid in pids.items():
                self.assertEqual(status(pid)["NoNewPrivs"], "1", name)
                self.assertEqual(status(pid)["Seccomp"], "2", name)
            self.assertEqual(int(status(live.process.pid)["CapPrm"], 16), 0)
            self.assertEqual(int(status(live.process.pid)["CapBnd"], 16) if os.geteuid() == 0 else 0, 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_nobody_else_has_the_user_of_a_process(self):
        """Whoever owns the data folder: processes of that owner, of nobody, and of root without capabilities can neither stop or
        end one of ours, nor change its limits."""
        for owner in (SOMEBODY, 0):
            with victim("chain.py", LONG) as target, self.serve(owner=owner) as live:
                session = self.start(live, target.pid)
                self.until(live, session, lambda found: found["quality"]["samples"] > 10)
                pids = {"pyrometer": live.process.pid, **processes_of(live.process.pid)}
                users = {name: status(pid)["Uid"].split() for name, pid in pids.items()}
                self.assertEqual({name: len(set(found)) for name, found in users.items()}, dict.fromkeys(SERVED | {"pyrometer"}, 1))
                self.assertEqual(len({found[0] for found in users.values()}), len(users), users)
                for name, found in users.items():
                    self.assertIn(int(found[0]), OWN, name)
                    self.assertRaises(KeyError, pwd.getpwuid, int(found[0]))
                for user in (owner, NOBODY, 0):
                    self.assertEqual(touched_by(user, pids.values()), set(), user)
                # It writes there all the same.
                live.wait_until(lambda: live.get("/captures")["total"] == 1)
            shutil.rmtree(os.path.join(self.folder, "data"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_the_one_that_speaks_http_becomes_the_user_that_is_named(self):
        with self.serve("--user", str(SOMEBODY), owner=0) as live:
            self.assertEqual(status(live.process.pid)["Uid"].split(), [str(SOMEBODY)] * 4)
            self.assertNotIn(str(SOMEBODY), [status(pid)["Uid"].split()[0] for pid in processes_of(live.process.pid).values()])

    @unittest.skipUnless(os.geteuid() == 0 and can("unshare", "-m"), "needs root and a mount namespace")
    def test_the_default_folder_of_root_is_served_by_a_user_of_its_own(self):
        script = 'mount -t tmpfs tmpfs /var/lib && unset XDG_STATE_HOME && exec "$@"'
        live = Live("serve", "--no-continuous", before=["unshare", "-m", "sh", "-c", script, "sh"])
        self.addCleanup(live.process.kill)
        with victim("chain.py", LONG) as target:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 10)
            self.assertIn(int(status(live.process.pid)["Uid"].split()[0]), OWN)
            folder = "/proc/%d/root/var/lib/pyrometer" % live.process.pid
            self.assertEqual({(os.stat(path).st_uid, os.stat(path).st_mode & 0o077) for path in [folder, *glob.glob(folder + "/*")]},
                             {(0, 0)})
            self.assertEqual(len(glob.glob(folder + "/*.pyro")), 1)

    def test_nothing_of_another_process_is_open_in_the_one_that_speaks_http(self):
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 10)
            pids = processes_of(live.process.pid)
            ours = descriptors(live.process.pid)
            self.assertEqual([path for path in ours if path.startswith("/proc/") or "pidfd" in path or "bpf" in path], [])
            folder = {os.path.join(self.folder, "data")}
            self.assertEqual(set(descriptors(pids["pyrometer-keep"])) - {"pipe"},
                             {"/dev/null", "socket", "anon_inode:[signalfd]"} | folder)
            if "pyrometer-file" in pids:
                self.assertEqual(set(descriptors(pids["pyrometer-file"])) - {"pipe"}, {"/dev/null", "socket"} | folder)
            theirs = descriptors(pids["pyrometer-read"])
            self.assertIn("/proc/%d/mem" % target.pid, theirs)
            self.assertEqual([path for path in theirs if path.startswith("/") and not path.startswith("/proc/")
                              and path != "/dev/null"], [])

    @unittest.skipUnless(os.environ.get("PYROMETER_INTRUDER"), "no library to preload")
    @unittest.skipUnless(os.geteuid() == 0 and has_landlock(), "needs root, and a kernel with Landlock")
    def test_somebody_in_the_one_that_speaks_http_gets_nowhere(self):
        facts, results = os.path.join(self.folder, "facts"), os.path.join(self.folder, "results")
        secret = os.path.join(self.folder, "secret")
        for path in (facts, results, secret):
            with open(path, "w", encoding="ascii") as file:
                file.write("")
        os.chmod(secret, 0o600)
        environment = {**os.environ, "LD_PRELOAD": os.environ["PYROMETER_INTRUDER"], "INTRUDER": facts,
                       "INTRUDER_RESULTS": results, "PYROMETER_DENIED_CALL": ""}
        # The folder of the tests may be one that its owner alone may enter.
        program = shutil.copy(os.path.join(VICTIMS, "chain.py"), self.folder)
        with victim(program, LONG) as target, victim("threads.py", "1", LONG) as forbidden, \
                self.serve("--allow-command", "*chain.py*", "--hide-args", "--max-stop", "5", env=environment) as live:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 10)
            reader = reader_of(live.process)
            with open(facts, "w", encoding="ascii") as file:
                file.write("%d %d %d %x %x %s\n" % (target.pid, reader, forbidden.pid, mapped(target.pid), mapped(reader), secret))
            # It answers when the intruder has tried everything.
            with contextlib.suppress(TimeoutError):
                live.ask("/api/v1/processes")

            def outcomes():
                with open(results, encoding="ascii") as file:
                    return {line.split()[0]: int(line.split()[1]) for line in file if line.endswith("\n")}
            live.wait_until(lambda: "end" in outcomes(), 6 * WAIT_SECONDS)
            found = outcomes()
            self.assertEqual({name for name, done in found.items() if done},
                             {"permitted_session", "permitted_all", "permitted_source", "held_ended_sessions", "end"})
            self.assertGreater(len(found), 40)
            # The first of the sessions that it holds are let go.
            live.wait_until(lambda: descriptors(reader).count("pipe") < 40)
            self.assertLess(int(status(reader)["Threads"]), 40)
            # It goes on all the same.
            self.until(live, session, lambda found: found["state"] == "running")


class Idle(Served):
    def test_they_use_no_processor(self):
        """For a second, once the processes of the host have been examined; whoever starts the server."""
        def used_ns(pid):
            found = []
            for task in os.listdir("/proc/%d/task" % pid):
                with open("/proc/%d/task/%s/schedstat" % (pid, task), encoding="ascii") as file:
                    found.append(int(file.read().split()[0]))
            return found

        def rests(pids):
            before = list(map(used_ns, pids))
            time.sleep(1)
            return list(map(used_ns, pids)) == before
        somebody = ["setpriv", "--reuid=%d" % SOMEBODY, "--regid=%d" % SOMEBODY, "--clear-groups", "--inh-caps=-all", "--"]
        program = shutil.copy(PROGRAM, self.folder)
        for before in [[], somebody] if os.geteuid() == 0 else [[]]:
            with Live("serve", "--no-data", "--no-continuous", "--engine", "remote", before=before, path=program, cwd=self.folder) as live:
                live.wait_until(lambda: NAMES <= set(processes_of(live.process.pid)))
                pids = [live.process.pid, *processes_of(live.process.pid).values()]
                live.wait_until(lambda: rests(pids))


class Ends(Served):
    def test_they_end_with_the_one_that_speaks_http(self):
        with victim("chain.py", LONG) as target:
            for ending in (signal.SIGKILL, signal.SIGTERM):
                with self.serve() as live:
                    self.start(live, target.pid)
                    pids = processes_of(live.process.pid)
                    live.process.signal(ending)
                    for pid in pids.values():
                        wait_gone(pid)
                shutil.rmtree(os.path.join(self.folder, "data"))

    def test_a_signal_that_comes_twice_is_one(self):
        """As timeout(1) sends it: to the program, and to its group."""
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            capture = self.until(live, session, lambda found: found["quality"]["samples"] > 100)["capture"]
            live.process.signal(signal.SIGTERM)
            time.sleep(0.005)
            live.process.signal(signal.SIGTERM)
            self.assertEqual(live.process.wait(), 0)
            path = os.path.join(self.folder, "data", capture + ".pyro")
            process, code = run_program("replay", path, "--collapsed", "-o", "/dev/null")
            self.assertEqual(code, 0)
            self.assertNotIn("was not finished", process.output())

    def test_a_reader_that_ends_is_reported_and_replaced_within_a_second(self):
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            before = self.until(live, session, lambda found: found["quality"]["samples"] > 100)
            reader = reader_of(live.process)
            os.kill(reader, signal.SIGKILL)
            began = time.monotonic()
            after = self.until(live, session, lambda found: found["state"] == "failed")
            self.assertRegex(after["reason"], "samples after that are lost")
            self.assertGreaterEqual(after["quality"]["samples"], before["quality"]["samples"])
            self.assertEqual(after["processes"]["running"], 0)
            live.wait_until(lambda: processes_of(live.process.pid).get("pyrometer-read", reader) != reader)
            self.assertLess(time.monotonic() - began, max(1, WAIT_SECONDS / 10))
            live.process.wait_line("was ended by signal 9: another one takes its place", live.process.err)
            again = self.start(live, target.pid)
            self.until(live, again, lambda found: found["quality"]["samples"] > 10)
            self.assertEqual(live.get("/processes")["host"] != "", True)
            # Samples recorded until then can be opened.
            capture = after["capture"]
            live.wait_until(lambda: live.get("/captures/" + capture)["state"] != "recording")
            opened = live.ask("/api/v1/captures", "POST", json.dumps({"name": capture}), MARK)
            self.assertIn(opened.status, (200, 202), opened.body)

    def replaced(self, live, name, pid):
        live.wait_until(lambda: processes_of(live.process.pid).get(name, pid) != pid)
        wait_gone(pid)

    def test_one_that_is_stopped_is_replaced(self):
        """Nobody waits for it: what is asked meanwhile is answered by the one that takes its place."""
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            before = self.until(live, session, lambda found: found["quality"]["samples"] > 100)
            pids = processes_of(live.process.pid)
            os.kill(pids["pyrometer-read"], signal.SIGSTOP)
            self.assertIn("processes", live.get("/processes"))
            self.replaced(live, "pyrometer-read", pids["pyrometer-read"])
            live.process.wait_line("was stopped: another one takes its place", live.process.err)
            after = self.until(live, session, lambda found: found["state"] == "failed")
            self.assertRegex(after["reason"], "samples after that are lost")
            self.assertGreaterEqual(after["quality"]["samples"], before["quality"]["samples"])
            for name in sorted(SERVED - {"pyrometer-keep", "pyrometer-read"}):
                os.kill(pids[name], signal.SIGSTOP)
                self.replaced(live, name, pids[name])
            again = self.start(live, target.pid)
            self.until(live, again, lambda found: found["quality"]["samples"] > 10)
            live.wait_until(lambda: live.get("/captures")["total"] == 2)

    @unittest.skipUnless(os.geteuid() == 0, "needs the right to trace it")
    def test_one_that_takes_nothing_is_replaced(self):
        """A tracer holds the thread that takes requests, as the kernel might: nobody is notified of that."""
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 100)
            reader = reader_of(live.process)
            for request in PTRACE_SEIZE, PTRACE_INTERRUPT:
                self.assertEqual(ctypes.CDLL(None).ptrace(request, reader, None, None), 0)
            self.assertIn(live.ask("/api/v1/processes").status, (200, 503))
            live.process.wait_line("does not answer: another one takes its place", live.process.err)
            os.waitpid(reader, 0)
            self.replaced(live, "pyrometer-read", reader)
            self.until(live, session, lambda found: found["state"] == "failed")
            again = self.start(live, target.pid)
            self.until(live, again, lambda found: found["quality"]["samples"] > 10)

    def test_one_that_goes_on_at_once_stays(self):
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 100)
            pids = processes_of(live.process.pid)
            for _ in range(3):
                os.kill(pids["pyrometer-read"], signal.SIGSTOP)
                os.kill(pids["pyrometer-read"], signal.SIGCONT)
            # The one that starts the others may be stopped for longer, and so may all, as by Ctrl-Z.
            for pid in pids.values():
                os.kill(pid, signal.SIGSTOP)
            time.sleep(2)
            for pid in pids.values():
                os.kill(pid, signal.SIGCONT)
            ticks = live.get("/sessions/%s/quality" % session)["ticks"]
            self.until(live, session, lambda found: found["quality"]["ticks"] > ticks + 100)
            self.assertEqual(processes_of(live.process.pid), pids)

    def test_without_one_that_starts_others_a_hanging_one_is_reported(self):
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 100)
            pids = processes_of(live.process.pid)
            for name in ("pyrometer-keep", "pyrometer-read"):
                os.kill(pids[name], signal.SIGSTOP)
            answer = live.ask("/api/v1/processes")
            self.assertEqual(answer.status, 503)
            self.assertIn("does not answer", answer.json()["detail"])
            os.kill(pids["pyrometer-keep"], signal.SIGCONT)
            self.replaced(live, "pyrometer-read", pids["pyrometer-read"])
            self.until(live, session, lambda found: found["state"] == "failed")
            self.assertIn("processes", live.get("/processes"))

    def test_stopped_ones_end_with_the_one_that_speaks_http(self):
        """The supervisor ends, too, once it goes on: another user's process may not end it."""
        with self.serve() as live:
            pids = processes_of(live.process.pid)
            for pid in pids.values():
                os.kill(pid, signal.SIGSTOP)
            live.process.signal(signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pids["pyrometer-keep"], signal.SIGCONT)
            for pid in pids.values():
                wait_gone(pid)

    def test_without_the_keeper_nothing_is_read_and_what_was_is_shown(self):
        with victim("chain.py", LONG) as target, self.serve() as live:
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["quality"]["samples"] > 100)
            pids = processes_of(live.process.pid)
            os.kill(pids["pyrometer-keep"], signal.SIGKILL)
            for pid in pids.values():
                wait_gone(pid)
            self.until(live, session, lambda found: found["state"] == "failed")
            live.process.wait_line("has ended: start pyrometer again", live.process.err)
            self.assertEqual(processes_of(live.process.pid), {})
            self.assertEqual(live.ask("/api/v1/sessions/%s/report.html" % session).status, 200)
            again = self.start(live, target.pid)
            found = self.until(live, again, lambda found: found["state"] == "failed")
            self.assertIn("start pyrometer again", found["reason"])
            self.assertEqual(live.stop(), 0)

    def test_any_of_them_at_any_moment(self):
        """Ended or stopped under load; the server answers, samples again, and has no more descriptors and children than before."""
        rng = random.Random(1)
        with victim("chain.py", LONG) as target, self.serve("--engine", "remote") as live:
            before = len(descriptors(live.process.pid)), len(descriptors(processes_of(live.process.pid)["pyrometer-keep"]))
            for _ in range(12):
                session = self.start(live, target.pid, rate_hz=1000)
                time.sleep(rng.random() / 2)
                pids = processes_of(live.process.pid)
                name = rng.choice(sorted(SERVED - {"pyrometer-keep"}))
                if name in pids:
                    os.kill(pids[name], rng.choice([signal.SIGKILL, signal.SIGSTOP]))
                found = live.get("/sessions/" + session)
                self.assertIn(found["state"], ("starting", "running", "failed"))
                self.assertIn(live.ask("/api/v1/processes").status, (200, 503))
                live.ask("/api/v1/sessions/" + session, "DELETE", None, MARK)
            session = self.start(live, target.pid)
            self.until(live, session, lambda found: found["state"] == "failed" or found["quality"]["samples"] > 10)
            self.assertEqual(live.get("/sessions/" + session)["state"], "running")
            live.ask("/api/v1/sessions/" + session, "DELETE", None, MARK)
            live.wait_until(lambda: set(processes_of(live.process.pid)) == SERVED and
                            all(status(pid)["State"][0] != "Z" for pid in processes_of(live.process.pid).values()))
            # A connection, and what is just being read.
            live.wait_until(lambda: len(descriptors(live.process.pid)) <= before[0] + 4)
            self.assertEqual(len(descriptors(processes_of(live.process.pid)["pyrometer-keep"])), before[1])

    def test_attach_stays_with_what_it_has(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            live.wait_samples(100)
            os.kill(reader_of(live.process), signal.SIGKILL)
            self.assertEqual(live.wait_ended()["state"], "failed")
            self.assertGreaterEqual(live.session()["quality"]["samples"], 100)
            self.assertEqual(live.ask("/api/v1/sessions/1/report.html").status, 200)
            self.assertEqual(live.stop(), 0)


class Started(Served):
    """The program of `run`: the sampling process is its ancestor, as kernels with Yama want it."""

    NAMES = NAMES | {"pyrometer-run"}

    def run_program(self):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="ascii") as file:
            file.write("import time\nend = time.monotonic() + %s\nwhile time.monotonic() < end: pass\n" % LONG)
        return Live("run", "--python", newest_python(), path)

    def program_of(self, live):
        live.wait_samples(10)
        program = live.session()["target"]["pid"]
        self.addCleanup(self.end, program)
        return program

    @staticmethod
    def end(program):
        """If it has not ended with us."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(program, signal.SIGKILL)

    def test_the_one_that_speaks_http_reads_nothing(self):
        with self.run_program() as live:
            program, pids = self.program_of(live), processes_of(live.process.pid)
            self.assertLessEqual(self.NAMES, set(pids))
            for pid, parent in (program, "pyrometer-run"), (pids["pyrometer-run"], "pyrometer-read"):
                self.assertEqual(status(pid)["PPid"], str(pids[parent]))
            ours = descriptors(live.process.pid)
            self.assertEqual([path for path in ours if path.startswith("/proc/") or "pidfd" in path or "bpf" in path], [])
            self.assertIn("/proc/%d/mem" % program, descriptors(pids["pyrometer-read"]))
            self.assertFalse(any(listens(pid) for name, pid in pids.items() if name in self.NAMES))
            if not SANITIZED:
                for pid in live.process.pid, pids["pyrometer-read"]:
                    self.assertEqual((status(pid)["NoNewPrivs"], status(pid)["Seccomp"]), ("1", "2"))
            # The program has all rights that it would have without us; what has started it can only end it.
            self.assertEqual([status(program)[name] for name in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "Uid")],
                             [status("self")[name] for name in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "Uid")])
            self.assertEqual(status(pids["pyrometer-run"])["NoNewPrivs"], "1")
            if os.geteuid() == 0:
                self.assertEqual(int(status(pids["pyrometer-run"])["CapEff"], 16), 1 << 5)

    def test_files_that_were_opened_for_the_program_are_open_there_alone(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        os.set_inheritable(writes, True)
        code = "import os, time\nos.write(%d, b'open')\ntime.sleep(%s)\n" % (writes, LONG)
        path = os.path.join(self.folder, "writes.py")
        with open(path, "w", encoding="ascii") as file:
            file.write(code)
        with Live("run", "--python", newest_python(), path, pass_fds=(writes,)) as live:
            os.close(writes)
            self.assertEqual(os.read(reads, 9), b"open")
            self.program_of(live)
            pids = processes_of(live.process.pid)
            end = os.readlink("/proc/self/fd/%d" % reads)
            holding = [name for name, pid in pids.items() if end in {os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)}]
            self.assertEqual(set(holding) & NAMES, set())

    def test_the_program_outlives_the_reader(self):
        with self.run_program() as live:
            program = self.program_of(live)
            os.kill(processes_of(live.process.pid)["pyrometer-read"], signal.SIGKILL)
            self.assertEqual(live.wait_ended()["state"], "failed")
            live.process.wait_line("was ended by signal 9: another one takes its place", live.process.err)
            self.assertIn(status(program)["State"][0], "SR")
            self.assertEqual(live.ask("/api/v1/sessions/1/report.html").status, 200)
            self.assertEqual(live.stop(), 0)
            wait_gone(program)

    def test_the_program_outlives_us_if_we_are_killed(self):
        with self.run_program() as live:
            program, pids = self.program_of(live), processes_of(live.process.pid)
            live.process.signal(signal.SIGKILL)
            for name in self.NAMES:
                wait_gone(pids[name])
            self.assertIn(status(program)["State"][0], "SR")
            os.kill(program, signal.SIGKILL)
            wait_gone(program)

    def test_without_the_launcher_the_profile_stays(self):
        with self.run_program() as live:
            program, pids = self.program_of(live), processes_of(live.process.pid)
            os.kill(pids["pyrometer-run"], signal.SIGKILL)
            wait_gone(pids["pyrometer-run"])
            live.wait_samples(live.session()["quality"]["samples"] + 10)
            os.kill(program, signal.SIGKILL)
            live.wait_ended()
            self.assertEqual(live.stop(), 0)


class Full(Served):
    def started(self, live, target):
        session = self.start(live, target.pid)
        return self.until(live, session, lambda found: found["state"] != "starting")

    def test_a_lack_of_file_descriptors_is_what_is_said(self):
        """By name of the process that lacks them; what it samples already goes on, and there is room again."""
        with victim("chain.py", LONG) as target, self.serve(before=["prlimit", "--nofile=64:64"]) as live:
            reader, sessions = reader_of(live.process), []
            while not sessions or sessions[-1]["state"] == "running":
                self.assertLess(len(sessions), 30)
                sessions.append(self.started(live, target))
            lack = "the sampling process has no file descriptors left: .*ulimit -n"
            self.assertRegex(sessions.pop()["reason"], lack)
            refused = live.ask("/api/v1/processes/%d/dump" % target.pid)
            self.assertEqual(refused.status, 503, refused.body)
            self.assertRegex(refused.json()["detail"], lack)
            for session in sessions:
                before = live.get("/sessions/" + session["id"])["quality"]["samples"]
                self.until(live, session["id"], lambda found: found["quality"]["samples"] > before + 100)
            self.assertEqual(live.ask("/api/v1/sessions/" + sessions[0]["id"], "DELETE", headers=MARK).status, 204)
            live.wait_until(lambda: self.started(live, target)["state"] == "running")
            self.assertEqual(reader_of(live.process), reader)


class Slow(Served):
    def test_one_that_does_not_read_loses_samples_and_says_how_many(self):
        """It is stopped meanwhile; the target does not notice."""
        with victim("threads.py", "20", LONG) as target, self.serve("--max-rate", "100000") as live:
            session = self.start(live, target.pid, rate_hz=10000, engine="remote", stop="never")
            self.until(live, session, lambda found: found["quality"]["samples"] > 100)
            os.kill(live.process.pid, signal.SIGSTOP)
            time.sleep(10)
            os.kill(live.process.pid, signal.SIGCONT)
            ticks = live.get("/sessions/%s/quality" % session)["ticks"]
            quality = live.get("/sessions/%s/quality" % session)
            self.assertGreater(quality["ticks"], 0)
            self.until(live, session, lambda found: found["quality"]["ticks"] > ticks + 100)
            self.assertIn("undelivered", quality)


if __name__ == "__main__":
    assert os.path.exists(PROGRAM)
    main()
