"""Stops: threads that run are stopped to be read, for a limited share of the time, and what was stopped is said."""

import contextlib
import json
import os
import subprocess
import sys

from folded import read_folded
from harness import PROGRAM, SLOWNESS, Live, Test, file_in, kinds, main, newest_python, run_program, script, victim

LONG = "60"
NATIVE_THREAD = os.environ.get("PYROMETER_NATIVE_THREAD", os.path.join(os.path.dirname(PROGRAM), "tests", "system",
                                                                       "libnative_thread.so"))
# The limit is 1 %; the last stop may exceed it.
MOST_STOPPED = 0.012 * SLOWNESS
LEAST_SAMPLES = 400 / SLOWNESS


def is_stopped_within_the_limit(session):
    """On a quick machine too few readings may be uncertain to stop for them, but in the first window."""
    quality = session["quality"]
    is_certain = quality["truncated"] + quality["retried"] < 0.03 * quality["samples"]
    return (quality["samples"] >= LEAST_SAMPLES and (quality["stopped"] > 0.8 * quality["samples"] or is_certain)
            and 0 < quality["stopped_s"] <= MOST_STOPPED * quality["duration_s"]
            and 0.9 * quality["ticks"] <= quality["samples"] <= quality["ticks"])


def recorded(target, *options):
    """The quality and the words of a short recording."""
    path = file_in("stops.json")
    process, code = run_program("record", str(target.pid), "-d", "1.5", "-r", "1khz", *options, "--quality", path, "--realtime-stats",
                                "--idle", "--waits=off", "--collapsed=" + file_in("stops.folded"))
    if code != 0:
        raise AssertionError(process.output())
    with open(path, encoding="utf-8") as file:
        return json.load(file), "\n".join(process.err)


# climb() writes much memory, one frame beside the other, and short() little.
WRITES = """
def climb(depth):
    return depth and climb(depth - 1)
def is_digit(character):
    return "0" <= character <= "9"
def short():
    for character in "12 345 6 78901   23 4":
        is_digit(character)
print("READY", flush=True)
while True:
    for _ in range(10):
        short()
        short()
        climb(30)
"""


# Waits in a call that ends with EINTR when the thread is stopped.
CALLS = """
import ctypes, errno, sys, time
libc = ctypes.CDLL(None, use_errno=True)
group, event = libc.epoll_create1(0), ctypes.create_string_buffer(12)
end, calls, ended = time.monotonic() + float(sys.argv[1]), 0, 0
print("READY", flush=True)
while time.monotonic() < end:
    ctypes.set_errno(0)
    calls += 1
    ended += libc.epoll_wait(group, event, 1, 30) < 0 and ctypes.get_errno() == errno.EINTR
print("%d calls, %d ended with EINTR" % (calls, ended), flush=True)
"""
# One thread waits where nothing interrupts it, so it does not stop; another spins.
WAITS = """
import ctypes, os, threading
library = ctypes.CDLL(os.environ["PYROMETER_NATIVE_THREAD"])
def held():
    library.native_thread_wait()
def spin():
    while True:
        pass
threading.Thread(target=held, daemon=True).start()
print("READY", flush=True)
spin()
"""

# One call of C code that lasts, as in numba: no Python frame moves.
STANDS = """
import hashlib
print("READY", flush=True)
hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1 << 30)
"""


def share_of_climb(target, *options):
    path = file_in("stops.folded")
    process, code = run_program("record", str(target.pid), "-d", "4", "-r", "1khz", "--engine", "remote", *options, "--idle", "--waits=off", "--collapsed=" + path)
    if code != 0:
        raise AssertionError(process.output())
    stacks = read_folded(path)
    return sum(stack.count for stack in stacks if "climb" in stack.names) / sum(stack.count for stack in stacks)


@contextlib.contextmanager
def crowd():
    """Nobody has a processor for long."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class Crowded(Test):
    def test_a_thread_that_lacks_a_processor_is_read_whole_without_a_stop(self):
        """It stands still as long as the profiler has the processor that it had, or waits for."""
        for python in kinds(lambda python: python.minor in (9, 13)):
            with self.subTest(python=python.version), victim(script("writes.py", WRITES), python=python.path) as target, crowd():
                quality, words = recorded(target, "--engine", "remote", "--stop", "never", "-d", "3")
            self.assertGreater(quality["states"]["runnable"]["at_least"], 0.3, words)
            self.assertEqual(quality["stopped"], 0, words)
            self.assertLess(quality["truncated"] + quality["retried"], 0.02 * quality["samples"], words)
            self.assertLess(quality["moving"], 0.1 * quality["samples"], words)


class Stops(Test):
    def test_what_a_reading_slows_is_not_seen_more_often(self):
        """The target writes more slowly what we have just read: a stop soon after would meet it there."""
        with victim(script("writes.py", WRITES)) as target:
            shares = [(share_of_climb(target), share_of_climb(target, "--stop", "always")) for _ in range(2)]
        self.assertLess(sum(ours - true for ours, true in shares) / len(shares), 0.04, shares)

    def skip_if_busy(self, quality):
        """A profiler that waits for a processor while it stops a thread stops it for long."""
        if quality["missed_ticks"] > 0.02 * quality["ticks"]:
            self.skipTest("this machine is too busy: %d ticks missed" % quality["missed_ticks"])

    def test_short_calls_are_read_stopped_within_the_limit(self):
        for python in kinds():
            with self.subTest(python=python.version), victim("alternate.py", LONG, python=python.path) as target:
                with Live("attach", str(target.pid), "-r", "1khz") as live:
                    try:
                        session = live.wait_session(is_stopped_within_the_limit, 20 * SLOWNESS)
                    except AssertionError:
                        self.skip_if_busy(live.session()["quality"])
                        raise
                self.assertEqual((session["settings"]["stop"], session["settings"]["max_stop_percent"]), ("auto", 1))

    def test_the_limit_is_the_requested_one(self):
        with victim("alternate.py", LONG) as target, \
                Live("attach", str(target.pid), "-r", "5khz", "--max-stop", "10") as live:
            session = live.wait_session(lambda session: session["quality"]["stopped_s"] >
                                        2 * MOST_STOPPED / SLOWNESS * session["quality"]["duration_s"] > 0)
            self.assertEqual(session["settings"]["max_stop_percent"], 10)

    def test_never_stops_nothing(self):
        with victim("alternate.py", LONG, python=newest_python()) as target:
            quality, words = recorded(target, "--stop", "never")
            self.assertEqual((quality["stopped"], quality["stopped_s"]), (0, 0))
            self.assertGreater(quality["moving"], 0)
            self.assertNotIn("read while stopped", words)

    def test_a_native_stack_that_runs_below_python_that_stands_still_is_read_stopped(self):
        with victim(script("stands.py", STANDS)) as target:
            quality, _ = recorded(target, "--engine", "remote", "--native=full", "--max-stop", "30")
        self.assertGreater(quality["stopped"], 0.5 * quality["samples"], quality)
        self.assertLess(quality["native_none"], 0.5 * quality["samples"], quality)

    def test_always_reads_every_sample_stopped(self):
        with victim("alternate.py", LONG) as target:
            quality, words = recorded(target, "--stop", "always")
            self.assertEqual((quality["moving"], quality["exact"]), (0, quality["samples"]))
            self.assertRegex(words, r", [0-9.]+ % of the samples read while stopped, [0-9.]+ % of the time")

    def test_always_leaves_sleeping_calls_alone(self):
        with victim(script("calls.py", CALLS), "6") as target:
            recorded(target, "--engine", "remote", "--stop", "always")
            calls, ended = map(int, target.wait_line(r"^(\d+) calls, (\d+) ended with EINTR$").groups())
        self.assertGreater(calls, 50)
        self.assertLess(ended, calls / 3)

    def test_a_thread_that_does_not_stop_is_read_as_it_stands_and_costs_the_others_nothing(self):
        path = file_in("stops.folded")
        with victim(script("waits.py", WAITS), env=dict(os.environ, PYROMETER_NATIVE_THREAD=NATIVE_THREAD)) as target:
            quality, words = recorded(target, "-a", "-d", "2", "--stop", "always")
        self.assertEqual((quality["failed"]["perm"], quality["moving"]), (0, 0), words)
        names = [{name for name in stack.names} for stack in read_folded(path)]
        self.assertTrue(any("held" in stack for stack in names) and any("spin" in stack for stack in names), names)
        # Waiting for it at each tick, there would be at most 66 of 2,000.
        self.assertGreater(quality["ticks"], 120)

    def test_stops_of_a_program_with_many_page_faults_say_so(self):
        with victim("faults.py", LONG, python=newest_python()) as target:
            quality, words = recorded(target, "--stop", "always")
        self.assertGreater(quality["page_faults"], 0)
        self.assertRegex(words, r"; [0-9]+ page faults a second, which stopped samples show too often")


if __name__ == "__main__":
    main()
