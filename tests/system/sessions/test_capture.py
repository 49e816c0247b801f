"""Captures: what was recorded is what is replayed, whatever ended the recording."""

import json
import os
import resource
import signal
import time

from folded import read_folded
from harness import SLOWNESS, Live, Test, file_in, kinds, main, newest_python, program, run_program, victim

LONG = "60"


def samples(path):
    return sum(stack.count for stack in read_folded(path))


def finished(*arguments):
    return run_program(*arguments)[0]


def replay(capture, *options):
    path = capture + ".folded"
    return finished("replay", capture, "--idle", "--waits=off", "--collapsed=" + path, *options), path


def names(path):
    return {name for stack in read_folded(path) for name in stack.names}


class Deployed(Test):
    """Changes with a version of a service."""

    def captures(self):
        """One of each version; the second one spends more in slow()."""
        found = []
        for version, rounds in (("4.1", "500"), ("4.2", "2500")):
            path = file_in("deployed-%s.pyro" % version)
            names = dict(os.environ, OTEL_SERVICE_NAME="shop", OTEL_RESOURCE_ATTRIBUTES="service.version=" + version)
            with victim("versions.py", rounds, LONG, env=names) as target:
                process = finished("record", str(target.pid), "-d", "5", "-o", path)
                self.assertEqual(process.wait(), 0, process.output())
            found.append(path)
        return found

    def test_captures_are_compared_around_the_start_of_a_version(self):
        captures = self.captures()
        for when in ("4.2", "last"):
            output = file_in("deployed.json")
            process = finished("diff", "--service", "shop", "--before", when, "--json", "-o", output, *captures)
            self.assertEqual(process.wait(), 0, process.output())
            with open(output, encoding="utf-8") as file:
                text = file.read()
            rows = json.loads(text)["functions"]
            # A process that two captures have in common counts once.
            process = finished("diff", "--service", "shop", "--before", when, "--json", "-o", output, *captures, captures[1])
            self.assertEqual(process.wait(), 0, process.output())
            with open(output, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["functions"], rows)
            slow = next(row for row in rows if row["name"] == "slow")
            self.assertEqual(slow["self"]["verdict"], "more", slow)
        process = finished("diff", "--service", "shop", "--before", "4.2", "--fail-if", "self(slow)>5%", *captures)
        self.assertEqual(process.wait(), 5, process.output())
        for words, expected in ((("--before", "4.3"), "'4.3' is no version of a process"),
                                (("--before", "4.1"), "the captures have nothing before that time"),
                                (("--before", "2001-01-01T00:00Z"), "the captures have nothing before that time"),
                                (("--before", "last", "--service", "nobody"), "no process of the service"),):
            process = finished("diff", *words, *captures)
            self.assertEqual(process.wait(), 1, words)
            self.assertIn(expected, process.output())
        for words in (("--service", "shop"), ("--span", "1m"), ("--before", "4.2", "--from", "1")):
            self.assertEqual(finished("diff", *words, *captures).wait(), 2, words)


class Replay(Test):
    def test_it_is_what_the_session_was_on_every_interpreter(self):
        for python in kinds():
            with self.subTest(python=python.version):
                capture, live = file_in("v%s.pyro" % python.version), file_in("v%s.folded" % python.version)
                with victim("threads.py", "4", LONG, python=python.path) as target:
                    process = finished("record", str(target.pid), "-a", "-d", "2", "-o", capture, "--idle", "--waits=off", "--collapsed=" + live)
                self.assertEqual(process.wait(), 0, process.output())
                process, path = replay(capture)
                self.assertEqual(process.wait(), 0, process.output())
                self.assertGreater(samples(live), 0)
                with open(path, "rb") as ours, open(live, "rb") as theirs:
                    self.assertEqual(ours.read(), theirs.read())

    def test_the_services_of_processes_are_kept(self):
        capture = file_in("service.pyro")
        names = dict(os.environ, OTEL_SERVICE_NAME="checkout", OTEL_RESOURCE_ATTRIBUTES="service.version=4.2")
        with victim("threads.py", "2", LONG, env=names) as target:
            process = finished("record", str(target.pid), "-d", "1", "-o", capture)
            self.assertEqual(process.wait(), 0, process.output())
            hidden = file_in("hidden.pyro")
            process = finished("record", str(target.pid), "-d", "1", "--hide-args", "-o", hidden)
            self.assertEqual(process.wait(), 0, process.output())
        for path, expected in ((capture, ("checkout", "4.2")), (hidden, (os.path.basename(newest_python()), None))):
            text = path + ".jsonl"
            process = finished("replay", path, "--jsonl=" + text)
            self.assertEqual(process.wait(), 0, process.output())
            with open(text, encoding="utf-8") as file:
                found = json.loads(file.readline())["session"]
            for described in (found["target"], found["targets"][0]):
                self.assertEqual((described["service"], described.get("version")), expected)

    def test_a_selection_is_what_it_says(self):
        capture = file_in("selected.pyro")
        with victim("threads.py", "4", LONG) as target:
            process = finished("record", str(target.pid), "-a", "-d", "3", "-o", capture)
        self.assertEqual(process.wait(), 0, process.output())
        _, path = replay(capture, "--idle")
        whole = samples(path)
        _, path = replay(capture, "--idle", "--to", "1")
        early = samples(path)
        _, path = replay(capture, "--idle", "--from", "1")
        self.assertEqual(early + samples(path), whole)
        self.assertGreater(early, 0)
        _, path = replay(capture, "--idle", "--thread", str(target.pid))
        self.assertTrue(0 < samples(path) < whole)
        for words in (("--thread", "nobody"), ("--from", "1h"), ("--from", "2", "--to", "1")):
            process, _ = replay(capture, *words)
            self.assertEqual(process.wait(), 2, words)

    def test_filters_change_stacks(self):
        capture = file_in("filters.pyro")
        with victim("chain.py", LONG) as target:
            process = finished("record", str(target.pid), "-d", "1", "-o", capture)
        self.assertEqual(process.wait(), 0, process.output())
        total = samples(replay(capture)[1])
        process, path = replay(capture, "--show-from", "function:/^b$/")
        begun = read_folded(path)
        self.assertEqual({stack.names[0] for stack in begun}, {"b"})
        left = total - sum(stack.count for stack in begun)
        self.assertEqual("the filters leave out %d of %d samples" % (left, total) in process.output(), left > 0)
        focused = read_folded(replay(capture, "--focus", "function:/^b$/")[1])
        self.assertEqual({stack.names[0] for stack in focused}, {"<module>"})
        self.assertEqual(sum(stack.count for stack in focused), total - left)
        self.assertEqual(samples(replay(capture, "--ignore", "function:/^b$/")[1]), left)
        hidden = read_folded(replay(capture, "--hide", "function:/^b$/")[1])
        self.assertEqual(sum(stack.count for stack in hidden), total)
        self.assertEqual({tuple(stack.names) for stack in hidden if len(stack.names) > 2}, {("<module>", "a", "c")})
        shown = read_folded(replay(capture, "--show", "function:/^[bc]$/")[1])
        self.assertEqual({stack.names[0] for stack in shown}, {"b"})
        self.assertEqual(samples(replay(capture, "--ignore", "chain.py")[1]), 0)
        for words in (("--hide", "function:"), ("--hide", "/(/")):
            self.assertEqual(finished("replay", capture, *words).wait(), 2, words)

    def test_a_capture_has_every_sample_and_is_shown_as_it_was_recorded(self):
        capture, folded = file_in("whole.pyro"), file_in("filtered.folded")
        with victim("chain.py", LONG) as target:
            process = finished("record", str(target.pid), "-d", "1", "--binary=" + capture, "--idle", "--waits=off", "--collapsed=" + folded, "--hide", "function:/^b$/")
        self.assertEqual(process.wait(), 0, process.output())
        self.assertNotIn("b", names(folded))
        process, path = replay(capture)
        self.assertRegex(process.output(), r"was recorded with these filters, which apply .*: hide function:/\^b\$/")
        self.assertNotIn("b", names(path))
        process, path = replay(capture, "--hide", "")
        self.assertNotIn("filters", process.output())
        self.assertTrue({"a", "b", "c"} <= names(path))
        process, path = replay(capture, "--hide", "function:/^c$/")
        self.assertIn("filters: hide function:/^c$/", process.output())
        self.assertTrue({"a", "b"} <= names(path) and "c" not in names(path))
        process, path = replay(capture, "--show", "function:/^[bc]$/")
        self.assertEqual(names(path), {"c"})

    def test_a_capture_alone_takes_filters_and_its_page_begins_with_them(self):
        hide, focus = {"filter": "hide", "pattern": "function:/^b$/"}, {"filter": "focus", "pattern": "chain.py"}
        capture = file_in("filtered.pyro")
        with victim("chain.py", LONG) as target:
            process = finished("record", str(target.pid), "-d", "1", "--binary=" + capture, "--hide", hide["pattern"])
        self.assertEqual(process.wait(), 0, process.output())
        with Live("serve", capture) as live:
            self.assertEqual(live.session()["settings"]["filters"], [hide])
        with Live("replay", capture, "--browser", "--focus", "chain.py") as live:
            self.assertEqual(live.session()["settings"]["filters"], [focus, hide])
        with Live("replay", capture, "--browser", "--hide", "") as live:
            self.assertEqual(live.session()["settings"]["filters"], [])

    def test_filters_of_a_live_session_are_in_its_capture(self):
        capture = file_in("live.pyro")
        with victim("chain.py", LONG) as target:
            with Live("attach", str(target.pid), "--ignore", "nothing", "--binary=" + capture) as live:
                self.assertEqual(live.session()["settings"]["filters"], [{"filter": "ignore", "pattern": "nothing"}])
                live.wait_samples(10)
                self.assertEqual(live.stop(), 0)
        self.assertIn("which apply", replay(capture)[0].output())

    def test_filters_that_differ_are_dropped(self):
        one, two, both = file_in("one.pyro"), file_in("two.pyro"), file_in("merged.pyro")
        with victim("chain.py", LONG) as target:
            for path, function in ((one, "b"), (two, "c")):
                process = finished("record", str(target.pid), "-d", "0.5", "-o", path, "--hide", "function:/^%s$/" % function)
                self.assertEqual(process.wait(), 0, process.output())
        process = finished("merge", one, two, "-o", both)
        self.assertIn("different filters: %s has none" % both, process.output())
        self.assertTrue({"a", "b", "c"} <= names(replay(both)[1]))
        process = finished("merge", one, one, "-o", both)
        self.assertNotIn("filters", process.output())
        self.assertNotIn("b", names(replay(both)[1]))
        process = finished("diff", one, one, "--json")
        sides = json.loads("\n".join(process.out))
        hide = [{"filter": "hide", "pattern": "function:/^b$/"}]
        self.assertEqual([sides[side]["captures"][0]["selection"]["filters"] for side in ("baseline", "now")], [hide, hide])
        process = finished("diff", one, two, "--json", "--focus", "chain.py")
        sides = json.loads("\n".join(process.out))
        self.assertIn("different filters, which do not apply", process.output())
        self.assertEqual(sides["now"]["captures"][0]["selection"]["filters"], [{"filter": "focus", "pattern": "chain.py"}])

    def test_a_comparison_leaves_out_idle_samples_and_waits_for_a_processor(self):
        path = file_in("one.pyro")
        with victim("chain.py", LONG) as target:
            self.assertEqual(finished("record", str(target.pid), "-d", "0.5", "-o", path).wait(), 0)
        for words, parts in (((), "running,needs_gil,blocked"), (("--mode", "cpu"), "running"), (("--idle",), "running,needs_gil,blocked,idle"),
                             (("--parts", "blocked,needs-gil"), "needs_gil,blocked")):
            sides = json.loads("\n".join(finished("diff", path, path, "--json", *words).out))
            self.assertEqual([sides[side]["captures"][0]["selection"]["parts"] for side in ("baseline", "now")], [parts, parts])
        text = "\n".join(finished("diff", path, path).out)
        self.assertEqual(text.count("; running, needs the GIL or blocked"), 2)

    def test_two_become_one(self):
        names = [file_in("one.pyro"), file_in("two.pyro")]
        total = 0
        with victim("alternate.py", LONG) as target:
            for name in names:
                process = finished("record", str(target.pid), "-d", "1", "-o", name)
                self.assertEqual(process.wait(), 0, process.output())
                total += samples(replay(name)[1])
        both = file_in("both.pyro")
        process = finished("merge", *names, "-o", both)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertEqual(samples(replay(both)[1]), total)
        part = file_in("part.pyro")
        process = finished("merge", names[0] + "@0.5..", names[1] + "@..500ms", "-o", part)
        self.assertEqual(process.wait(), 0, process.output())
        wanted = samples(replay(names[0], "--from", "0.5")[1]) + samples(replay(names[1], "--to", "0.5")[1])
        self.assertEqual(samples(replay(part)[1]), wanted)
        process = finished("merge", names[0] + "@0.5..", "-o", part)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertEqual(samples(replay(part)[1]), samples(replay(names[0], "--from", "0.5")[1]))
        whole, second = (json.loads("\n".join(finished("diff", names[0], path, "--json").out))["now"]["captures"][0]["session"] for path in (names[0], part))
        self.assertLess(second["elapsed_s"], whole["elapsed_s"] - 0.3)
        self.assertGreaterEqual(second["started_at"], whole["started_at"])
        self.assertEqual(second["ended_at"], whole["ended_at"])
        process = finished("merge", names[0] + "@1h..", "-o", part)
        self.assertEqual(process.wait(), 2, process.output())
        self.assertIn("capture 1 has nothing in that part", process.output())
        for word in ("@", "@x..y", "@..", "@2..1", "@1"):
            process = finished("merge", names[0] + word, names[1], "-o", part)
            self.assertNotEqual(process.wait(), 0, word)
            self.assertIn("FILE@FROM..TO", process.output())

    def test_the_page_shows_captures_as_sessions_that_have_ended(self):
        capture = file_in("served.pyro")
        with victim("alternate.py", LONG) as target:
            process = finished("record", str(target.pid), "-d", "1", "-o", capture)
        self.assertEqual(process.wait(), 0, process.output())
        with Live("serve", capture) as live:
            self.assertTrue(live.url.endswith("#v=1&session=1"), live.url)
            self.assertEqual(live.session()["state"], "ended")
        with Live("serve", capture, capture) as live:
            self.assertNotIn("#", live.url)
            sessions = live.get("/sessions")["sessions"]
            self.assertEqual([session["state"] for session in sessions], ["ended", "ended"])
            self.assertEqual(sessions[1]["target"]["pid"], target.pid)
            self.assertEqual(live.get("/sessions/2/view")["total"], samples(replay(capture)[1]))
            self.assertEqual(live.change(state="paused").status, 409)
            self.assertEqual(live.stop(), 0)


class HardEnds(Test):
    def test_a_recording_that_is_killed_keeps_all_but_the_last_second(self):
        """Killed some time after its file has begun: the last sample in it is hardly more than a second older. How much time
        that is does not matter, only that it is much less than the four seconds that blocks once took."""
        rate = 500
        for seconds in (2.4, 4):
            capture = file_in("killed.pyro")
            with victim("alternate.py", LONG) as target, \
                    program("record", str(target.pid), "-r", str(rate), "-d", LONG, "-o", capture) as process:
                began = self.wait_for_blocks(capture, 0)
                time.sleep(seconds)
                process.signal(signal.SIGKILL)
                process.wait()
            lasted = time.monotonic() - began
            process, path = replay(capture)
            self.assertEqual(process.wait(), 0, process.output())
            process.wait_line("was not finished|was cut", process.err)
            self.assertGreater(samples(path), 0)
            self.assertGreater(self.covered(capture), lasted - 1.5 * SLOWNESS)

    def wait_for_blocks(self, capture, size):
        """When the file was seen to be larger than that."""
        end = time.monotonic() + 20 * SLOWNESS
        while time.monotonic() < end and not (os.path.exists(capture) and os.path.getsize(capture) > size):
            time.sleep(0.01)
        return time.monotonic()

    def covered(self, capture):
        """Seconds from the beginning to the last sample."""
        with Live("serve", capture) as live:
            return live.session()["elapsed_s"]

    def check_account(self, process, quality):
        """Checks that each sample is in the capture or is counted as lost."""
        with open(quality, encoding="utf-8") as file:
            report = json.load(file)
        capture = report["capture"]
        self.assertEqual(report["samples"], capture["samples"] + capture["lost"], process.output())
        self.assertEqual({name: report["descriptions"].get("capture_" + name, "") > "" for name in capture},
                         {"samples": True, "lost": True, "bytes": True})
        return capture

    def test_the_account_of_a_failed_disk_is_whole(self):
        for most in (800, 1300, 1900):
            capture, quality = file_in("account.pyro"), file_in("account.json")

            def limit(most=most):
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

            # The soft limit is for this file only: the quality file comes after it, and is as large.
            with victim("threads.py", "4", LONG) as target, \
                    program("record", str(target.pid), "-a", "-d", "3", "-o", capture, "--quality", "/dev/stdout",
                            preexec_fn=limit) as process:
                self.assertEqual(process.wait(60 * SLOWNESS), 1, process.output())
            with open(quality, "w", encoding="utf-8") as file:
                file.write("\n".join(process.out))
            account = self.check_account(process, quality)
            self.assertGreater(account["lost"], 0)
            process.wait_line("%d samples are not in the capture" % account["lost"], process.err)
            process.wait_line("captured %d samples" % (account["samples"] + account["lost"]), process.err)
            process, path = replay(capture)
            self.assertEqual(process.wait(), 0, process.output())
            self.assertEqual(samples(path), account["samples"])

    def test_the_account_of_a_good_disk_is_whole_too(self):
        capture, quality = file_in("good.pyro"), file_in("good.json")
        with victim("threads.py", "4", LONG) as target:
            process = finished("record", str(target.pid), "-a", "-d", "1", "-o", capture, "--quality", quality)
        self.assertEqual(process.wait(), 0, process.output())
        account = self.check_account(process, quality)
        self.assertEqual((account["lost"], account["bytes"]), (0, os.path.getsize(capture)))

    def test_a_capture_that_is_removed_is_said_to_be_lost(self):
        capture, quality = file_in("removed.pyro"), file_in("removed.json")
        with victim("alternate.py", LONG) as target, \
                program("record", str(target.pid), "-d", "2", "-o", capture, "--quality", quality) as process:
            self.wait_for_blocks(capture, 0)
            os.unlink(capture)
            self.assertEqual(process.wait(), 1, process.output())
        process.wait_line("was removed while it was written", process.err)
        self.assertEqual(self.check_account(process, quality)["samples"], 0)

    def test_a_signal_finishes_the_file(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            capture = file_in("signal%d.pyro" % number)
            with victim("alternate.py", LONG) as target, program("record", str(target.pid), "-d", LONG, "-o", capture) as process:
                time.sleep(SLOWNESS)
                process.signal(number)
                self.assertEqual(process.wait(), 0, process.output())
            process, path = replay(capture)
            self.assertEqual(process.wait(), 0, process.output())
            self.assertEqual([line for line in process.err if "missing" in line], [])
            self.assertGreater(samples(path), 0)

    def test_a_full_disk_ends_the_file_and_not_the_sampling(self):
        capture, live = file_in("full.pyro"), file_in("full.folded")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

        # The other format goes to a pipe, which has no limit.
        with victim("threads.py", "4", LONG) as target, program("record", str(target.pid), "-a", "-d", "6", "-o", capture,
                                                                "--idle", "--waits=off", "--collapsed=-", preexec_fn=limit) as process:
            self.assertEqual(process.wait(60 * SLOWNESS), 1, process.output())
            process.wait_line("cannot write.*File too large", process.err)
            process.wait_line("duration reached", process.err)
            self.assertTrue(process.out)
        process, _ = replay(capture)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertFalse(os.path.exists(live))


class Refusals(Test):
    def test_a_path_that_cannot_be_written_is_known_before_sampling(self):
        with victim("alternate.py", LONG) as target:
            process = finished("record", str(target.pid), "-o", "/nowhere/x.pyro")
            self.assertEqual(process.wait(), 1)
            process.wait_line("cannot write '/nowhere/x.pyro'", process.err)

    def test_a_process_that_is_none_leaves_no_file(self):
        capture = file_in("none.pyro")
        self.assertEqual(finished("record", "2147483647", "-o", capture).wait(), 4)
        self.assertFalse(os.path.exists(capture))

    def test_files_that_are_no_captures(self):
        for name, data, pattern in (("empty", b"", "it is empty"), ("text", b"#!/bin/sh\n", "not a Pyrometer capture"),
                                    ("head", b"\x89PYRO\r\n\n", "was cut after 8 bytes"),
                                    ("later", b"\x89PYRO\r\n\n\x7f\0\0\0\0\0\0\0", "format is 127.0"),
                                    ("bad", b"\x89PYRO\r\n\n\x01\0\0\0\0\0\0\0" + b"x" * 100, "damaged at byte 16")):
            path = file_in(name + ".pyro")
            with open(path, "wb") as file:
                file.write(data)
            process, _ = replay(path)
            self.assertEqual(process.wait(), 1)
            self.assertEqual(len(process.err), 1)
            process.wait_line(pattern, process.err)


if __name__ == "__main__":
    main()
