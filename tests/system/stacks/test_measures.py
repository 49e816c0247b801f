"""Measures beside time: --event page-faults, returned and copy-on-write, whose samples are bytes.

Skipped where the kernel does not run the engine: without CAP_BPF and CAP_PERFMON, or in a build without libbpf.
"""

import gzip
import json
import os
import pathlib
import signal
import time
import unittest

from folded import read_folded
from harness import (EachTest, Test, file_in, main, newest, newest_python, program, run_program, skip_without_kernel_engine,
                     victim)
from host import Host
from kernel import script

MIB = 1 << 20
# Points of the whole by which a share may be wrong.
POINTS = 3
UNKNOWN = ("<not attributed>", "<truncated>")

# A victim that begins with this does its work at a signal, and knows how much of it is resident.
RESIDENT = """
import json, mmap, os, signal, sys
PAGE = os.sysconf("SC_PAGE_SIZE")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
def resident():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))
"""

# One function keeps memory, one writes it again, and one makes many small objects. Each says what it grew by.
GROWS = RESIDENT + """
kept = []
def keeps():
    kept.append(bytearray(48 << 20))
def writes_again():
    memory = kept[0]
    for at in range(0, len(memory), PAGE):
        memory[at] = 1
def makes_objects():
    kept.append([b"x" * 200 + b"%06d" % number for number in range(48000)])
def grows():
    grown = {}
    for work in keeps, writes_again, makes_objects:
        before = resident()
        work()
        grown[work.__name__] = resident() - before
    return grown
resident()
print("READY", flush=True)
signal.sigwait([signal.SIGUSR1])
print("GROWN " + json.dumps(grows()), flush=True)
signal.pause()
"""

# Each function gives memory back in a way of its own, and says how much.
RETURNS = RESIDENT + """
def mapped(size):
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, PAGE):
        memory[at] = 1
    return memory
kept, held, unused = [bytearray(48 << 20)], mapped(24 << 20), mmap.mmap(-1, 100 << 20)
def unmaps():
    kept.clear()
def advises():
    held.madvise(mmap.MADV_DONTNEED)
def unmaps_what_was_never_there():
    unused.close()
def borrows():
    for _ in range(8000):
        mapped(PAGE).close()
def returned():
    given = {}
    for work in unmaps, advises, unmaps_what_was_never_there:
        before = resident()
        work()
        given[work.__name__] = before - resident()
    borrows()
    given["borrows"] = 8000 * PAGE
    return given
resident()
print("READY", flush=True)
signal.sigwait([signal.SIGUSR1])
print("GROWN " + json.dumps(returned()), flush=True)
signal.pause()
"""

# A child writes what its parent has made: its pages become its own, but it does not grow.
FORKS = """
import os, signal, time
PAGE = os.sysconf("SC_PAGE_SIZE")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
memory = bytearray(48 << 20)
def unshares():
    for at in range(0, len(memory), PAGE):
        memory[at] = 1
def grows():
    return bytearray(24 << 20)
parent = os.getpid()
child = os.fork()
if child:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    print("CHILD", child, flush=True)
    print("READY", flush=True)
    os.waitpid(child, 0)
else:
    signal.sigwait([signal.SIGUSR1])
    unshares()
    kept = grows()
    print("GROWN {}", flush=True)
    while os.getppid() == parent:
        time.sleep(0.05)
"""


# As fast as a thread can: a gigabyte that stays, and a hundred thousand mappings that do not.
FAST = RESIDENT + """
kept = []
def touches():
    kept.append(bytearray(1 << 30))
def maps():
    for _ in range(100000):
        memory = mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory[0] = 1
        memory.close()
resident()
print("READY", flush=True)
signal.sigwait([signal.SIGUSR1])
before = resident()
touches()
grown = resident() - before
maps()
print("GROWN " + json.dumps({"touches": grown, "maps": 100000 * PAGE}), flush=True)
signal.pause()
"""

# How often each function leaves its processor, according to the kernel.
SWITCHES = """
import json, os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
def switches():
    with open("/proc/self/status") as file:
        return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
def naps():
    for _ in range(400):
        time.sleep(0.001)
def computes():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
print("READY", flush=True)
signal.sigwait([signal.SIGUSR1])
said = {}
for work in naps, computes:
    before = switches()
    work()
    said[work.__name__] = switches() - before
print("GROWN " + json.dumps(said), flush=True)
signal.pause()
"""

# A part of the memory comes in huge pages, where the kernel has some left.
HUGE = """
import json, mmap, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
kept = []
def resident():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))
def huge():
    memory = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    kept.append(memory)
    for at in range(0, len(memory), mmap.PAGESIZE):
        memory[at] = 1
def small():
    kept.append(bytearray(20 << 20))
def grows():
    grown = {}
    for work in huge, small:
        before = resident()
        work()
        grown[work.__name__] = resident() - before
    return grown
resident()
print("READY", flush=True)
signal.sigwait([signal.SIGUSR1])
print("GROWN " + json.dumps(grows()), flush=True)
signal.pause()
"""


def allocator(name):
    """The path of an allocator of Debian, or None."""
    paths = ["/usr/lib/%s/%s" % (machine, name) for machine in ("x86_64-linux-gnu", "aarch64-linux-gnu")]
    return next((path for path in paths if os.path.exists(path)), None)


JEMALLOC, MIMALLOC = allocator("libjemalloc.so.2"), allocator("libmimalloc.so.2")


class Grown:
    """A recording of a program that grew at a signal, and what it says itself."""

    def __init__(self, target, *options, pid=None):
        name = "grown-%d" % target.pid
        self.folded, self.pprof = file_in(name + ".folded"), file_in(name + ".pb.gz")
        with program("record", str(pid or target.pid), "-d", "60", *options, "--engine", "kernel", "--realtime-stats",
                     "--collapsed=" + self.folded, "--pprof=" + self.pprof) as recording:
            recording.wait_line(r" samples", recording.err)
            os.kill(pid or target.pid, signal.SIGUSR1)
            self.said = json.loads(target.wait_line("^GROWN (.*)").group(1))
            time.sleep(0.5)
            recording.signal(signal.SIGINT)
            code = recording.wait()
        assert code == 0, recording.output()
        self.stacks = read_folded(self.folded)

    def read(self, test, capture, measure):
        """Takes the stacks of that measure of a capture instead."""
        process, code = run_program("replay", capture, "--collapsed=" + self.folded, "--measure", measure)
        test.assertEqual(code, 0, process.output())
        self.stacks = read_folded(self.folded)

    def bytes_of(self, function):
        return sum(stack.count for stack in self.stacks if function in stack.names)

    def unattributed(self):
        return sum(stack.count for stack in self.stacks if any(mark in UNKNOWN for mark in stack.marks))

    def check(self, test):
        """Is all of it within a tenth, and each share within some points?"""
        known = {name: self.bytes_of(name) for name in self.said if self.said[name] > MIB}
        said, found = sum(self.said.values()), sum(known.values())
        where = "said %s, found %s, not attributed %d" % (self.said, known, self.unattributed())
        test.assertAlmostEqual(found / said, 1, delta=0.1, msg=where)
        for name in known:
            test.assertAlmostEqual(100 * known[name] / said, 100 * self.said[name] / said, delta=POINTS, msg=where)


class PageFaults(EachTest):
    def setUp(self):
        self.grows = script("grows", GROWS)

    def check(self, python, **environment):
        with victim(self.grows, python=python.path, env=dict(os.environ, **environment)) as target:
            grown = Grown(target, "--event", "page-faults")
        self.assertLess(grown.said["writes_again"], MIB)
        self.assertLess(grown.bytes_of("writes_again"), MIB)
        grown.check(self)

    def test_bytes_are_of_the_functions_that_made_them_resident(self):
        self.each(self.check)

    def test_with_the_allocator_of_the_c_library(self):
        self.each(lambda python: self.check(python, PYTHONMALLOC="malloc"))

    @unittest.skipUnless(JEMALLOC, "libjemalloc2 is not installed")
    def test_with_jemalloc(self):
        self.each(lambda python: self.check(python, PYTHONMALLOC="malloc", LD_PRELOAD=JEMALLOC))

    @unittest.skipUnless(MIMALLOC, "libmimalloc2.0 is not installed")
    def test_with_mimalloc(self):
        self.check(newest(), PYTHONMALLOC="malloc", LD_PRELOAD=MIMALLOC)


class Returned(EachTest):
    def setUp(self):
        self.returns = script("returns", RETURNS)

    def check(self, python):
        capture = file_in("returned.%s.pyro" % python.version)
        with victim(self.returns, python=python.path) as target:
            grown = Grown(target, "-e", "returned", "--binary=" + capture)
        self.assertLess(grown.bytes_of("unmaps_what_was_never_there"), MIB)
        grown.check(self)
        # The kernel's own count says how much it was in all.
        self.assertLess(grown.unattributed(), MIB)

    def test_pages_that_were_there_are_of_the_functions_that_gave_them_back(self):
        self.each(self.check)


class ContextSwitches(Test):
    def test_each_is_of_the_function_that_left_its_processor(self):
        capture = file_in("switches.pyro")
        with victim(script("switches", SWITCHES)) as target:
            grown = Grown(target, "-e", "context-switches,time", "--binary=" + capture)
        grown.read(self, capture, "context-switches")
        for name in grown.said:
            # Reading the kernel's count may switch, too.
            self.assertAlmostEqual(grown.bytes_of(name), grown.said[name], delta=4 + 0.02 * grown.said[name], msg=grown.said)
        process, code = run_program("replay", capture, "--measure", "context-switches")
        self.assertEqual(code, 0, process.output())
        self.assertRegex("\n".join(process.out), r"^\d+ % of the context switches are in `(naps|computes)` ")


class Kernel(Test):
    def test_a_huge_page_counts_whole(self):
        with victim(script("huge", HUGE)) as target:
            grown = Grown(target, "--event", "page-faults")
        said, huge, rest = grown.said, grown.bytes_of("huge"), grown.unattributed()
        where = "said %s, found %d and %d, not attributed %d" % (said, huge, grown.bytes_of("small"), rest)
        # These are few faults: where others have many meanwhile, some are missing.
        self.assertGreater(huge, said["huge"] / 4, where)
        self.assertAlmostEqual((huge + rest) / said["huge"], 1, delta=0.25, msg=where)
        self.assertAlmostEqual(grown.bytes_of("small") / said["small"], 1, delta=0.1, msg=where)


    def test_a_gigabyte_and_many_mappings_in_a_second(self):
        capture = file_in("fast.pyro")
        with victim(script("fast", FAST)) as target:
            grown = Grown(target, "-e", "page-faults,returned", "--binary=" + capture)
        grown.check(self)
        grown.read(self, capture, "returned")
        self.assertLess(grown.bytes_of("touches"), MIB)
        self.assertAlmostEqual(grown.bytes_of("maps") / grown.said["maps"], 1, delta=0.1)


class Reports(Test):
    def test_pprof_has_the_bytes_and_a_capture_keeps_them(self):
        capture, folded, page = (file_in("grown" + ending) for ending in (".pyro", ".again.folded", ".html"))
        with victim(script("grows", GROWS)) as target:
            grown = Grown(target, "-e", "page-faults", "--binary=" + capture)
        self.assertIn(b"rss_growth", gzip.decompress(pathlib.Path(grown.pprof).read_bytes()))
        process, code = run_program("replay", capture, "--collapsed=" + folded, "--flamegraph=" + page)
        self.assertEqual(code, 0, process.output())
        self.assertEqual(pathlib.Path(folded).read_text(), pathlib.Path(grown.folded).read_text())
        process, code = run_program("replay", capture, "--measure", "page-faults")
        self.assertEqual(code, 0, process.output())
        self.assertRegex("\n".join(process.out), r"^\d+ % of the memory growth is in `keeps` ")
        self.assertIn("(% of the memory growth)", "\n".join(process.out))
        self.assertNotIn("time", "\n".join(process.out))
        process, code = run_program("replay", capture, "--gecko", "--measure", "page-faults")
        self.assert_refused(process, code, 2, "gecko is of time alone")

    def test_time_and_bytes_are_never_added_up(self):
        capture, time, memory = (file_in("both" + ending) for ending in (".pyro", ".time.folded", ".memory.folded"))
        with victim(script("grows", GROWS)) as target:
            grown = Grown(target, "-e", "time,page-faults", "--binary=" + capture)
        for path, measure in ((time, "time"), (memory, "page-faults")):
            process, code = run_program("replay", capture, "--collapsed=" + path, "--measure", measure)
            self.assertEqual(code, 0, process.output())
        self.assertEqual(pathlib.Path(time).read_text(), pathlib.Path(grown.folded).read_text())
        bytes_of = {name: sum(stack.count for stack in read_folded(memory) if name in stack.names) for name in grown.said}
        self.assertAlmostEqual(sum(bytes_of.values()) / sum(grown.said.values()), 1, delta=0.1)
        self.assertLess(sum(stack.count for stack in read_folded(time)), 10000)

    def test_memory_that_a_child_only_unshares_is_no_growth(self):
        capture = file_in("forks.pyro")
        with victim(script("forks", FORKS)) as target:
            child = int(target.wait_line(r"^CHILD (\d+)").group(1))
            grown = Grown(target, "-e", "time,page-faults,copy-on-write", "--binary=" + capture, pid=child)
        grown.read(self, capture, "page-faults")
        self.assertLess(grown.bytes_of("unshares"), 2 * MIB)
        self.assertAlmostEqual(grown.bytes_of("grows") / (24 * MIB), 1, delta=0.1)
        grown.read(self, capture, "copy-on-write")
        self.assertAlmostEqual(grown.bytes_of("unshares") / (48 * MIB), 1, delta=0.1)
        # A fault that is sampled stands for those since the last one, of whatever kind.
        self.assertLess(grown.bytes_of("grows"), 2 * MIB)

    def test_what_was_only_borrowed_is_grown_and_returned(self):
        capture = file_in("borrowed.pyro")
        with victim(script("returns", RETURNS)) as target:
            grown = Grown(target, "-e", "time,page-faults,returned", "--binary=" + capture)
        self.check_round_trip(grown, capture)
        sums = []
        for measure in "page-faults", "returned":
            grown.read(self, capture, measure)
            sums.append(grown.bytes_of("borrows") / grown.said["borrows"])
        self.assertAlmostEqual(sums[0], 1, delta=0.1)
        self.assertAlmostEqual(sums[1], 1, delta=0.1)


    def check_round_trip(self, grown, capture):
        """One pprof file has every measure, and is opened with the sums of the capture; --measure leaves one."""
        def folded(path, measure):
            grown.read(self, path, measure)
            return {tuple(stack.names): stack.count for stack in grown.stacks}
        data = gzip.decompress(pathlib.Path(grown.pprof).read_bytes())
        for kind in (b"samples", b"wall", b"cpu", b"rss_growth", b"rss_returned"):
            self.assertIn(kind, data)
        for measure in "page-faults", "returned":
            self.assertEqual(folded(grown.pprof, measure), folded(capture, measure))
        process, code = run_program("replay", grown.pprof, "--collapsed=/dev/null", "--measure", "cpu")
        self.assertEqual(code, 1, process.output())
        self.assertIn("it counts time, page-faults, returned", process.output())
        process, code = run_program("replay", capture, "--pprof=" + grown.pprof, "--measure", "returned")
        self.assertEqual(code, 0, process.output())
        data = gzip.decompress(pathlib.Path(grown.pprof).read_bytes())
        self.assertNotIn(b"rss_growth", data)
        self.assertNotIn(b"wall", data)


class Compared(Test):
    def test_captures_are_compared_by_bytes(self):
        captures = [file_in("grown.%d.pyro" % number) for number in range(2)]
        said = []
        for capture, code in zip(captures, (GROWS, GROWS.replace("48 << 20", "140 << 20"))):
            with victim(script("grows" + pathlib.Path(capture).stem, code)) as target:
                said.append(sum(Grown(target, "-e", "time,page-faults", "--binary=" + capture).said.values()))
        more = said[1] - said[0]
        for least, expected in ((0.8 * more, 5), (1.2 * more, 0)):
            process, code = run_program("diff", *captures, "--json", "--fail-if", "page-faults>%d" % least)
            self.assertEqual(code, expected, process.output())
            found = json.loads("\n".join(process.out))
            self.assertEqual(found["measure"], "page-faults")
            values = [found[side]["captures"][0]["selection"]["measure"]["value"] for side in ("baseline", "now")]
            self.assertAlmostEqual((values[1] - values[0]) / more, 1, delta=0.15)
        process, code = run_program("diff", *captures, "--json")
        self.assertEqual(json.loads("\n".join(process.out))["measure"], "time")
        process, code = run_program("diff", *captures, "--measure", "time", "--fail-if", "page-faults>5MB")
        self.assert_refused(process, code, 2, "needs --measure page-faults")
        process, code = run_program("diff", *captures, "--by-time", "--measure", "page-faults")
        self.assert_refused(process, code, 2, "--by-time compares time")


class Served(Test):
    def test_the_api_answers_for_each_measure_of_a_session_and_of_its_capture(self):
        with victim(script("grows", GROWS)) as target, Host("--event", "time,page-faults", "--engine", "kernel", "--no-continuous") as host:
            self.assertEqual(host.get("/access")["events"], ["time", "page-faults"])
            session = host.start(pids=[target.pid])
            of_time = host.start(pids=[target.pid], events=["time"])
            host.running(of_time)
            self.assertEqual([one["name"] for one in host.get("/sessions/" + of_time)["measures"]], ["time"])
            host.send("PATCH", "/sessions/" + of_time, {"state": "ended"})
            host.running(session)
            os.kill(target.pid, signal.SIGUSR1)
            said = json.loads(target.wait_line("^GROWN (.*)").group(1))
            grown = sum(said.values())
            value = lambda found: {one["name"]: one["value"] for one in found["measures"]}["page-faults"]
            host.until("/sessions/" + session, lambda found: value(found) > 0.9 * grown)
            capture = host.capture_of(session)
            host.send("PATCH", "/sessions/" + session, {"state": "ended"})
            host.until("/sessions/" + session, lambda found: found["state"] == "ended")
            self.check(host, session, said)
            data = host.ask("/api/v1/captures/%s/file" % capture).body
        path = file_in("served.pyro")
        pathlib.Path(path).write_bytes(data)
        with Host(path) as host:
            host.until("/sessions/1", lambda found: found["state"] == "ended")
            self.check(host, "1", said)

    def check(self, host, session, said):
        path, grown = "/sessions/" + session, sum(said.values())
        names = {one["name"]: one["unit"] for one in host.get(path)["measures"]}
        self.assertEqual(names, {"time": "seconds", "page-faults": "bytes"})
        time_view, pages = (host.get(path + "/view?measure=" + name) for name in ("time", "page-faults"))
        self.assertNotIn("measure", time_view)
        self.assertAlmostEqual(pages["measure"]["value"] / grown, 1, delta=0.1)
        self.assertEqual(pages["total"] * pages["period"], pages["measure"]["value"])
        focused = host.get(path + "/view?measure=page-faults&focus=function:keeps")
        self.assertAlmostEqual(focused["measure"]["value"] / said["keeps"], 1, delta=0.1)
        hottest = host.get(path + "/own-lines?measure=page-faults")
        self.assertIn("keeps", hottest["lines"][0]["name"])
        self.assertGreater(hottest["functions"][0]["samples"], 0)
        folded = host.ask("/api/v1%s/export?format=collapsed&measure=page-faults" % path).body.decode()
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in folded.splitlines() if not line.startswith("#")),
                         pages["measure"]["value"])
        refused = host.ask("/api/v1%s/view?measure=cycles" % path)
        self.assertEqual(refused.status, 400)
        self.assertIn("the session has time, page-faults", refused.json()["detail"])

    def test_events_that_nobody_knows_are_refused(self):
        with Host("--no-continuous") as host:
            for events in (["faults"], "time", [1], [""]):
                answer = host.send("POST", "/sessions", {"pids": [1], "events": events})
                self.assertEqual(answer.status, 400, events)
                self.assertIn("events", answer.json()["detail"])


class Refused(Test):
    def test_unknown_events_name_those_that_are_known(self):
        process, code = run_program("record", "1", "-e", "page-fault")
        self.assert_refused(process, code, 2, "'page-fault' is no event: want some of time, page-faults, returned, copy-on-write, context-switches")

    def test_without_the_kernel_engine(self):
        with victim("chain.py", "20", python=newest_python()) as target:
            process, code = run_program("record", str(target.pid), "-e", "page-faults", "--engine", "remote", "-d", "1",
                                        "--collapsed", "-o", "-")
        self.assert_refused(process, code, 2, "need the kernel engine: leave out --engine remote")
        process, code = run_program("serve", "--listen", "127.0.0.1:0", "-e", "page-faults", "--engine", "remote")
        self.assert_refused(process, code, 2, "--event needs the kernel engine: leave out --engine remote")

    def test_a_capture_without_it(self):
        capture = file_in("time.pyro")
        with victim("chain.py", "20", python=newest_python()) as target:
            process, code = run_program("record", str(target.pid), "-d", "0.5", "-o", capture)
            self.assertEqual(code, 0, process.output())
        process, code = run_program("replay", capture, "--collapsed", "-o", "-", "--measure", "page-faults")
        self.assertEqual(code, 1, process.output())
        self.assertRegex(process.err[-1], "record with --event page-faults")


if __name__ == "__main__":
    skip_without_kernel_engine()
    main()
