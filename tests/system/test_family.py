"""Several processes in one session: named, all that there are, and what they start."""

from harness import Live, Process, Test, file_in, main, read_folded, run_program, victim

LONG = "60"


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
                self.assertEqual((session["state"], session["processes"]["joined"]), ("running", 2))
                self.assertEqual(session["targets"][0]["reason"], "the target exited")
                self.assertIsNone(session["targets"][1]["to_s"])
                before = session["quality"]["samples"]
                live.wait_samples(before + 100)
                two.kill()
                self.assertEqual(live.wait_ended()["reason"],
                                 "all 2 processes have ended; of the last: the target exited")
                self.assertEqual(live.stop(), 0)

    def test_one_that_cannot_be_read_is_named(self):
        with victim("alternate.py", LONG) as one, Process(["sleep", LONG]) as other:
            process, code = run_program("record", str(one.pid), str(other.pid), "-o", file_in("never.pyro"))
            self.assertEqual(code, 4, process.told())
            process.wait_line("process %d .* is not a Python process" % other.pid, process.err)

    def test_all_are_those_that_may_be_read(self):
        capture, folded = file_in("all.pyro"), file_in("all.folded")
        with victim("alternate.py", LONG) as one, victim("chain.py", LONG) as two:
            process, code = run_program("record", "--all", "-d", "1", "-o", capture)
            self.assertEqual(code, 0, process.told())
            for pid in (one.pid, two.pid):
                process, code = run_program("replay", capture, "--process", str(pid), "--collapsed=" + folded)
                self.assertEqual(code, 0, process.told())
                self.assertGreater(sum(stack.count for stack in read_folded(folded)), 0)


if __name__ == "__main__":
    main()
