"""Several processes in one session: named, all that there are, and what they start."""

import contextlib
import os
import signal
import time

from folded import read_folded
from harness import (SANITIZED, VICTIMS, WAIT_SECONDS, Live, Process, Test, file_in, main, newest, newest_python, pythons, reader_of, run_program,
                     victim)

LONG = "60"
TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tree.py")
# At a time, in one session.
MAX_PROCESSES = 256


def pids_with_samples(live):
    """Processes of the session that have samples, by their pids."""
    tree = live.get("/sessions/1/tree")
    pids = tree["processes"]["pid"]
    return {pids[process] for process in range(len(pids))
            if live.get("/sessions/1/view?process=%d" % process)["total"] > 0}


class Named(Test):
    def test_several_are_one_session_and_end_one_by_one(self):
        with victim("alternate.py", LONG) as one, victim("threads.py", "2", LONG) as two:
            both = {one.pid, two.pid}
            with Live("attach", str(one.pid), str(two.pid), str(one.pid), "-a") as live:
                session = live.wait_session(lambda session: pids_with_samples(live) == both)
                self.assertEqual([target["pid"] for target in session["targets"]], [one.pid, two.pid])
                self.assertEqual(session["target"]["pid"], one.pid)
                one.kill()
                session = live.wait_session(lambda session: session["processes"]["running"] == 1)
                self.assertEqual((session["state"], session["processes"]["attached"]), ("running", 2))
                self.assertEqual(session["targets"][0]["reason"], "the target exited")
                self.assertIsNone(session["targets"][1]["to_s"])
                before = session["quality"]["samples"]
                live.wait_samples(before + 100)
                two.kill()
                self.assertEqual(live.wait_ended()["reason"],
                                 "all 2 processes have ended; the last one: the target exited")
                self.assertEqual(live.stop(), 0)

    def test_many_threads_in_all_are_sampled_by_turns(self):
        """300 threads, of which a tick samples some 256: each process has its share all the same."""
        if newest().is_free_threaded:
            self.skipTest("without a GIL, 150 of them compute at once, and nothing else gets a processor")
        with victim("threads.py", "150", LONG) as one, victim("threads.py", "150", LONG) as two:
            with Live("attach", str(one.pid), str(two.pid), "--engine", "remote", "-a", "-r", "50") as live:
                live.wait_samples(20000)
                extrapolated = live.get("/sessions/1/quality")["extrapolated"]
                tree = live.get("/sessions/1/tree")["processes"]["pid"]
                totals = [live.get("/sessions/1/view?process=%d" % tree.index(pid))["total"] for pid in (one.pid, two.pid)]
                self.assertEqual(live.stop(), 0)
        self.assertGreater(extrapolated, 0)
        # Each is chosen with 85 %: 60 ticks or more are within a factor of two for certain.
        self.assertTrue(0.5 < totals[0] / totals[1] < 2, totals)

    def test_one_that_cannot_be_read_is_named(self):
        with victim("alternate.py", LONG) as one, Process(["sleep", LONG]) as other:
            process, code = run_program("record", str(one.pid), str(other.pid), "-d", "0.3", "-o", file_in("others.pyro"))
            self.assertEqual(code, 4, process.output())
            process.wait_line("process %d .* is not a Python process" % other.pid, process.err)

    def test_a_file_for_each(self):
        whole, each = file_in("whole.folded"), file_in("each.html")
        with victim("alternate.py", LONG) as one, victim("threads.py", "2", LONG) as two:
            pids = (one.pid, two.pid)
            capture = file_in("split.pyro")
            process, code = run_program("record", *map(str, pids), "-a", "-d", "1", "-o", capture)
            self.assertEqual(code, 0, process.output())
            process, code = run_program("record", *map(str, pids), "-d", "1", "--split", "--flamegraph", "-o", each)
            self.assertEqual(code, 0, process.output())
        self.assertFalse(os.path.exists(each))
        for pid in pids:
            self.assertTrue(os.path.exists(each.replace(".html", "_%d.html" % pid)))
        self.assertEqual(run_program("replay", capture, "-o", whole)[1], 0)
        self.assertEqual(run_program("replay", capture, "--split", "-o", whole)[1], 0)
        with open(whole, encoding="utf-8") as file:
            lines = set(file)
        parts = []
        for pid in pids:
            with open(whole.replace(".folded", "_%d.folded" % pid), encoding="utf-8") as file:
                parts.append(set(file))
        self.assertEqual(parts[0] | parts[1], lines)
        self.assertFalse(parts[0] & parts[1])
        self.assertTrue(all(parts))

    def test_all_are_those_that_may_be_read(self):
        capture, folded = file_in("all.pyro"), file_in("all.folded")
        with victim("alternate.py", LONG) as one, victim("chain.py", LONG) as two:
            process, code = run_program("record", "--all", "-d", "1", "-o", capture)
            self.assertEqual(code, 0, process.output())
            for pid in (one.pid, two.pid):
                process, code = run_program("replay", capture, "--process", str(pid), "--idle", "--waits=off", "--collapsed=" + folded)
                self.assertEqual(code, 0, process.output())
                self.assertGreater(sum(stack.count for stack in read_folded(folded)), 0)


def tree(*arguments, **options):
    return victim(TREE, *[str(word) for word in arguments], **options)


def run_tree(option, *arguments):
    return Live("run", "--subprocesses", "-a", "--python", newest_python(), option, TREE,
                *[str(word) for word in arguments])


class Children(Test):
    def joined(self, *arguments):
        """The session of a whole tree, once it has ended by itself."""
        capture = file_in("family.pyro")
        with run_tree("--binary=" + capture, *arguments) as live:
            session = live.wait_ended()
            self.assertEqual(session["processes"]["running"], 0, session)
            self.assertTrue(all(target["to_s"] is not None for target in session["targets"]), session)
            # A process that is no Python has no part in it.
            self.assertTrue(all("python" in target["executable"] for target in session["targets"]), session)
            self.with_samples = pids_with_samples(live)
            live.stop()
        with Live("serve", capture) as live:
            for key in ("targets", "target"):
                self.assertEqual(live.session()[key], session[key])
            self.assertEqual(live.session()["processes"]["attached"], session["processes"]["attached"])
            self.assertEqual(pids_with_samples(live), self.with_samples)
            live.stop()
        return session

    def test_every_way_to_start_workers(self):
        for how in ("fork",) if SANITIZED else ("fork", "spawn", "forkserver"):
            with self.subTest(how=how):
                session = self.joined(how)
                # The program and its three workers; some ways need a helper.
                self.assertGreaterEqual(session["processes"]["attached"], 4, session)
                self.assertGreaterEqual(len(self.with_samples), 4, session)
                self.assertTrue(session["reason"].startswith("all "), session)

    def test_what_we_start_may_be_stopped_for_each_tick(self):
        """The thread that asked for a stop learns of it; the one that started the program learns of its end."""
        with Live("run", "--subprocesses", "--blocking", "-a", "-r", "100", "--python", newest_python(), TREE,
                  "fork") as live:
            self.assertGreaterEqual(live.wait_ended()["processes"]["attached"], 4)
            self.assertEqual(live.stop(), 0)
        with Live("run", "--blocking", "--python", newest_python(), os.path.join(VICTIMS, "exits.py"), "1") as live:
            live.wait_ended()
            self.assertEqual(live.stop(), 3)

    def test_a_child_that_does_not_tell_what_the_mode_keeps(self):
        """It is left out and counted; not all of its samples kept."""
        old = [python for python in pythons() if python.is_supported and python.minor < 12]
        if not old:
            self.skipTest("no Python before 3.12 is on this machine")
        path = file_in("starts_an_old_one.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import subprocess, sys, time\n"
                       "child = subprocess.Popen([sys.argv[1], '-c', 'while True: pass'])\n"
                       "end = time.time() + 3\n"
                       "while time.time() < end:\n"
                       "    try:\n"
                       "        raise ValueError\n"
                       "    except ValueError:\n"
                       "        sum(range(100000))\n"
                       "child.kill()\n")
        with Live("run", "--subprocesses", "--mode", "exception", "--python", newest_python(), path, old[-1].path) as live:
            session = live.wait_ended()
            self.assertEqual(session["processes"]["attached"], 1, session)
            self.assertEqual(session["processes"]["denied"], 1, session)
            self.assertGreater(session["quality"]["samples"], 0)
            self.assertEqual(live.stop(), 0)
        live.process.wait_line("1 process was left out: .* without the state that --mode requires", live.process.err)

    def test_trees_with_shells_between(self):
        session = self.joined("nested", 2)
        self.assertGreaterEqual(len(self.with_samples), 3, session)

    def test_what_becomes_python_later(self):
        session = self.joined("exec")
        self.assertGreaterEqual(len(self.with_samples), 2, session)

    def test_other_programs_are_passed_over(self):
        session = self.joined("foreign")
        self.assertEqual(len({target["pid"] for target in session["targets"] if target["parent"] is None}), 1, session)
        self.assertEqual((session["processes"]["over_limit"], session["processes"]["denied"]), (0, 0), session)

    def test_a_shell_may_be_the_root_of_it(self):
        with Live("run", "--subprocesses", "-a", "--", "sh", "-c",
                  "sleep 0.2; '%s' '%s' nested 0; true" % (newest_python(), TREE)) as live:
            self.assertEqual(live.wait_ended()["processes"]["attached"], 1)
            live.stop()

    def test_workers_that_are_replaced(self):
        with tree("prefork", 3) as master:
            with Live("attach", str(master.pid), "--subprocesses") as live:
                session = live.wait_session(lambda _: len(pids_with_samples(live)) == 4)
                worker = next(target["pid"] for target in session["targets"] if target["parent"] == master.pid)
                os.kill(worker, signal.SIGKILL)
                session = live.wait_session(lambda session: session["processes"]["attached"] == 5
                                            and session["processes"]["running"] == 4)
                self.assertEqual([target["reason"] for target in session["targets"] if target["pid"] == worker],
                                 ["the target exited"])
                live.wait_session(lambda _: len(pids_with_samples(live)) == 5)
                master.signal(signal.SIGTERM)
                self.assertEqual(live.wait_ended()["processes"]["running"], 0)
                self.assertEqual(live.stop(), 0)

    def daemon(self, go_on, read_end, *arguments):
        """A tree whose addresses are drawn by chance, which a sanitizer's run may have turned off."""
        self.addCleanup(go_on.close)
        process = Process(["setarch", os.uname().machine, newest_python(), TREE, *arguments], stdin=read_end)
        os.close(read_end)
        self.addCleanup(self.end_daemons, process)
        process.wait_ready()
        return process

    def end_daemons(self, process):
        process.kill()
        for pid in daemons_of(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def test_daemons_are_followed_though_they_fork_twice_at_once(self):
        read_end, write_end = os.pipe()
        go_on = os.fdopen(write_end, "w")
        master = self.daemon(go_on, read_end, "daemon", "3")
        with Live("attach", str(master.pid), "--subprocesses") as live:
            live.wait_samples(10)
            for number in range(3):
                go_on.write("\n")
                go_on.flush()
                live.wait_until(lambda number=number: len(daemons_of(master)) == number + 1)
            # On a busy machine what was between them is seen, too.
            live.wait_session(lambda _: pids_with_samples(live) >= daemons_of(master) | {master.pid})
            self.assertEqual(live.stop(), 0)

    def test_a_program_that_becomes_a_daemon_goes_on(self):
        read_end, write_end = os.pipe()
        go_on = os.fdopen(write_end, "w")
        target = self.daemon(go_on, read_end, "becomes-daemon")
        with Live("attach", str(target.pid), "--subprocesses") as live:
            live.wait_samples(10)
            go_on.write("\n")
            go_on.flush()
            live.wait_until(lambda: len(daemons_of(target)) == 1)
            live.wait_session(lambda _: pids_with_samples(live) >= daemons_of(target))
            os.kill(daemons_of(target).pop(), signal.SIGKILL)
            live.wait_ended()
            self.assertEqual(live.stop(), 0)

    def test_what_we_start_is_ours_whatever_it_does(self):
        """Started in the background of a shell that is gone, it has nothing of the program that started it."""
        session = self.joined("started")
        self.assertTrue({row["pid"] for row in session["targets"] if "busy" in row["command"]} & self.with_samples, session)

    def test_short_lived_ones_leave_nothing_behind(self):
        count = 40 if SANITIZED else 200
        read_end, write_end = os.pipe()
        with os.fdopen(write_end, "w") as go_on, tree("short", count, ready=False, stdin=read_end) as master:
            os.close(read_end)
            with Live("attach", str(master.pid), "--subprocesses", "-a") as live:
                master.wait_line("DONE %d" % (count // 2))
                live.wait_session(lambda session: session["processes"]["running"] == 1)
                files, memory = self.at_rest(live), resident_bytes(live)
                go_on.write("\n")
                go_on.flush()
                master.wait_line("DONE %d" % count, seconds=3 * WAIT_SECONDS)
                session = live.wait_session(lambda session: session["processes"]["running"] == 1)
                self.assertGreater(session["processes"]["attached"], count // 10, session["processes"])
                self.assertEqual(self.at_rest(live), files)
                # An interpreter takes more than that.
                if not SANITIZED:
                    self.assertLess(resident_bytes(live) - memory, count // 2 * 60 * 1024)
                self.assertEqual(live.stop(), 0)

    def at_rest(self, live):
        """Files that are open: the fewest of several counts, as those of connections and of ticks come and go."""
        counts = []
        for _ in range(20):
            counts.append(sum(len(os.listdir("/proc/%d/fd" % pid)) for pid in both(live)))
            time.sleep(0.05)
        return min(counts)

    def test_more_than_there_may_be_are_counted(self):
        with tree("idle", MAX_PROCESSES + 3) as master:
            with Live("attach", str(master.pid), "--subprocesses", "-r", "10") as live:
                session = live.wait_session(lambda session: session["processes"]["over_limit"] == 4, seconds=3 * WAIT_SECONDS)
                self.assertEqual(session["processes"]["running"], MAX_PROCESSES)
                self.assertEqual(len(session["targets"]), MAX_PROCESSES)
                self.assertEqual(live.stop(), 0)


def daemons_of(master):
    """Pids of processes that have said that they are daemons."""
    return {int(line.split()[1]) for line in list(master.out) if line.startswith("DAEMON ")}


def both(live):
    """The process that serves, and the one that reads others."""
    return {live.process.pid, reader_of(live.process)}


def resident_bytes(live):
    pages = 0
    for pid in both(live):
        with open("/proc/%d/statm" % pid, encoding="ascii") as statm:
            pages += int(statm.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
