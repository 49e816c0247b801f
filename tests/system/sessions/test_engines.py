"""The engine of a session: who gets a kernel engine, what is said where there is none, and that it is given back."""

import os
import re
import subprocess
import tempfile
import unittest

import harness
from harness import PROGRAM, Live, Test, main, run_program, victim
from host import Host

# As root, but without what the kernel engine needs.
WITHOUT = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-bpf,-perfmon,-sys_admin", "--"]
SPINS = "def %s():\n    while True:\n        sum(range(999))\nprint('READY', flush=True)\n%s()"
# As many as `serve` opens.
ENGINES = 4


def without_capabilities_works():
    return os.geteuid() == 0 and subprocess.run(WITHOUT + ["true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


def spinning(test, name):
    """A program that is always in the function `name`."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(SPINS % (name, name))
    test.addCleanup(os.unlink, file.name)
    return victim(file.name)


def engine_of(session):
    return session["settings"]["engine"], session["settings"]["engine_reason"]


class WithKernel(Test):
    def setUp(self):
        reason = harness.why_no_kernel_engine()
        if reason:
            self.skipTest(reason)

    def test_sessions_share_the_engines_and_give_them_back(self):
        with victim("chain.py", "60") as target, Host("--engine", "auto", "--no-continuous") as server:
            self.assertEqual(engine_of(server.running(server.start(pids=[target.pid], engine="remote"))), ("remote", None))
            taken = [server.start(pids=[target.pid]) for _ in range(ENGINES - 1)]
            for session in taken:
                self.assertEqual(engine_of(server.running(session)), ("kernel", None))
            last = server.start(pids=[target.pid], engine="kernel")
            self.assertEqual(engine_of(server.running(last)), ("kernel", None))
            wanted = "other sessions use all %d kernel engines" % ENGINES
            self.assertEqual(engine_of(server.running(server.start(pids=[target.pid], engine="auto"))), ("remote", wanted))
            answer = server.send("POST", "/sessions", {"pids": [target.pid], "engine": "kernel"})
            self.assertEqual(answer.status, 409, answer.body)
            self.assertEqual(answer.json()["detail"], wanted + ": use the engine auto or remote")
            server.send("PATCH", "/sessions/" + taken[0], {"state": "ended"})
            server.until("/sessions/" + taken[0], lambda session: session["state"] == "ended")
            self.assertEqual(engine_of(server.running(server.start(pids=[target.pid], engine="kernel"))), ("kernel", None))

    def test_a_session_has_no_samples_of_the_one_before(self):
        with spinning(self, "before") as first, spinning(self, "after") as second, Host("--engine", "auto", "--no-continuous") as server:
            for target, function, rate in ((first, "before", 1000), (second, "after", 100)) * 2:
                session = server.start(pids=[target.pid], rate_hz=rate, duration_s=0.5, engine="kernel")
                ended = server.until("/sessions/" + session, lambda found: found["state"] == "ended")
                tree = server.get("/sessions/%s/tree" % session)
                functions = {name for name in tree["strings"]["values"] if name in ("before", "after")}
                self.assertEqual(functions, {function})
                self.assertEqual([process["pid"] for process in ended["targets"]], [target.pid])
                self.assertLess(ended["quality"]["samples"], 0.5 * rate * 1.5 + 5)
                self.assertGreater(ended["quality"]["samples"], 0)
                # A busy machine may let it wait before its first record.
                self.assertLess(ended["quality"]["missed_ticks"], 0.25 * rate)

    def test_the_continuous_session_has_one_and_is_the_default(self):
        with victim("chain.py", "60") as target, Host("--engine", "auto") as server:
            server.until("/sessions", lambda found: any(engine_of(session) == ("kernel", None) and session["quality"]["samples"]
                                                        for session in found["sessions"]))
            found = server.until("/activity", lambda found: any(row["pid"] == target.pid and row["parts"]["running"] > 0 for row in found["processes"]))
            session = server.get("/sessions/" + found["session"])
            self.assertEqual((session["source"], session["settings"]["rate_hz"]), ("continuous", 19))
            row = next(row for row in found["processes"] if row["pid"] == target.pid)
            self.assertTrue(row["hottest"]["file"].endswith("/chain.py"), row)
            self.assertTrue(any(function["file"].endswith("/chain.py") for function in found["functions"]), found["functions"])
            self.assertEqual(server.get("/sessions/%s/quality" % found["session"])["profile_limit_bytes"], 64 << 20)

    def test_captures_and_no_continuous_turn_it_off(self):
        with tempfile.TemporaryDirectory() as folder, victim("chain.py", "60") as target:
            capture = os.path.join(folder, "a.pyro")
            process, code = run_program("record", str(target.pid), "-d", "200ms", "-o", capture)
            self.assertEqual(code, 0, process.output())
            for words, reason in ((["--no-continuous"], "--no-continuous"), ([capture], "captures are named")):
                with Host("--engine", "auto", *words) as server:
                    found = server.get("/activity")
                    self.assertIsNone(found["session"])
                    self.assertIn(reason, found["reason"])
                    self.assertEqual((found["processes"], found["functions"]), ([], []))

    def test_what_it_cannot_do_is_read_from_outside(self):
        with victim("chain.py", "60") as target, Host("--max-rate", "50k", "--engine", "auto", "--no-continuous") as server:
            for options, reason in (({"stop": "always"}, "does not stop threads"),
                                    ({"rate_hz": 30000}, "at most 20000 times a second")):
                engine, said = engine_of(server.running(server.start(pids=[target.pid], **options)))
                self.assertEqual(engine, "remote")
                self.assertIn(reason, said)
                answer = server.send("POST", "/sessions", {"pids": [target.pid], "engine": "kernel", **options})
                self.assertEqual(answer.status, 400, answer.body)
                self.assertIn(reason, answer.json()["detail"])
            session = server.start(pids=[target.pid])
            server.running(session)
            answer = server.send("PATCH", "/sessions/" + session, {"rate_hz": 30000})
            self.assertEqual(answer.status, 400, answer.body)

    def test_a_command_says_which_engine_read_the_stacks(self):
        with victim("chain.py", "60") as target:
            for options, line in (([], r", kernel engine\.$"), (["--async-aware"], r", kernel engine\.$"),
                                  (["--stop", "always"], r", remote engine \(the kernel engine .*\)\.$")):
                process, code = run_program("record", str(target.pid), "-d", "200ms", "--engine", "auto", "--idle", "--summary=-", *options)
                self.assertEqual(code, 0, process.output())
                self.assertEqual(len([said for said in process.out if re.search(line, said)]), 1, process.output())


class NativeLater(Test):
    """Native stacks from some time on, in a session that began without."""

    def check(self, engine):
        with spinning(self, "work") as target, Live("attach", str(target.pid), "--engine", engine) as live:
            def libraries():
                return live.get("/sessions/1/tree")["libraries"]["path"]

            live.wait_samples(100)
            self.assertEqual((live.session()["settings"]["native"], len(libraries())), ("off", 1))
            for unknown in ("off", "half"):
                self.assertEqual(live.change(native=unknown).status, 400)
            answer = live.change(native="full")
            self.assertEqual((answer.status, answer.json()["settings"]["native"]), (200, "full"))
            live.wait_until(lambda: len(libraries()) > 1)
            self.assertEqual(live.session()["state"], "running")

    def test_read_from_outside(self):
        self.check("remote")

    def test_by_the_kernel_engine(self):
        reason = harness.why_no_kernel_engine()
        if reason:
            self.skipTest(reason)
        self.check("kernel")


class WithoutKernel(Test):
    def test_a_server_that_reads_from_outside_says_so(self):
        reason = "pyrometer runs with --engine remote"
        with victim("chain.py", "60") as target, Host("--engine", "remote") as server:
            self.assertEqual(engine_of(server.running(server.start(pids=[target.pid]))), ("remote", None))
            found = server.get("/activity")
            self.assertIsNone(found["session"])
            self.assertIn(reason, found["reason"])
            self.assertIn("--continuous turns it on", found["reason"])
            self.assertEqual(len([line for line in server.process.err if "continuous sampling is off" in line]), 1, server.process.err)
            self.assertEqual(engine_of(server.running(server.start(pids=[target.pid], engine="auto"))), ("remote", reason))
            answer = server.send("POST", "/sessions", {"pids": [target.pid], "engine": "kernel"})
            self.assertEqual(answer.status, 409, answer.body)
            self.assertIn(reason, answer.json()["detail"])
            self.assertEqual(server.send("POST", "/sessions", {"pids": [target.pid], "engine": "other"}).status, 400)

    @unittest.skipUnless(without_capabilities_works(), "needs root and setpriv")
    def test_without_the_capabilities_stacks_are_read_from_outside(self):
        with victim("chain.py", "60") as target:
            with Host("--engine", "auto", "--no-continuous", before=WITHOUT) as server:
                engine, reason = engine_of(server.running(server.start(pids=[target.pid])))
                self.assertEqual(engine, "remote")
                self.assertRegex(reason, "kernel engine")
                answer = server.send("POST", "/sessions", {"pids": [target.pid], "engine": "kernel"})
                self.assertEqual(answer.status, 409, answer.body)
                self.assertIn(reason, answer.json()["detail"])
            for engine, wanted in ((["--engine", "kernel"], False), (["--engine", "auto"], True)):
                process = harness.Process([*WITHOUT, PROGRAM, "record", str(target.pid), "-d", "200ms", "--idle", "--summary=-", *engine])
                with process:
                    self.assertEqual(process.wait() == 0, wanted, process.output())
                    self.assertEqual(len([line for line in (process.out if wanted else process.err) if "kernel engine" in line]), 1, process.output())


if __name__ == "__main__":
    main()
