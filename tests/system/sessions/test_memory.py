"""The memory of processes over time: what the program measures itself, with either engine, in captures and reports too."""

import base64
import gzip
import json
import os
import re
import tempfile
import time
import unittest

from harness import EachTest, main, run_program, victim, why_no_kernel_engine
from host import Host

MB = 1 << 20
STEPS = ("begun", "grown", "more", "returned", "forked")
ENGINES = ["remote"] + ["kernel"] * (not why_no_kernel_engine())
GROUPS = "/sys/fs/cgroup"


def said_by(target):
    """RSS by step, as the victim measured it."""
    target.wait_line("^forked ")
    return {name: int(rss) for name, _, rss in (line.split() for line in target.out if line.split()[0] in STEPS)}


def embedded(page):
    """The memory in a report."""
    data = re.search(r'id="profile-data"[^>]*>([^<]+)<', page).group(1)
    return json.loads(gzip.decompress(base64.b64decode(data)))["memory"]


def is_near(value, wanted, part=0.05):
    return abs(value - wanted) <= wanted * part


class Memory(EachTest):
    def assert_follows(self, values, wanted):
        """Each of the wanted values is there, in their order, within 5 %."""
        left = iter(values)
        for value in wanted:
            self.assertTrue(any(is_near(read, value) for read in left), (value, wanted, values))

    def test_rss_is_what_the_program_measures_and_faults_are_counted(self):
        for engine in ENGINES:
            with Host("--engine", engine, "--no-continuous") as host:
                self.each(lambda python, host=host: self.check(python, host))

    def check(self, python, host):
        with victim("memory.py", "1.5", python=python.path) as target:
            session = host.start(pids=[target.pid], rate_hz=100)
            said = said_by(target)
            time.sleep(0.5)
            memory = host.get("/sessions/%s/memory" % session)
            host.send("PATCH", "/sessions/" + session, {"state": "ended"})
        wanted = [said[name] for name in ("grown", "more", "returned")]
        self.assert_follows(memory["rss"], wanted)
        self.assert_follows(memory["peak"], wanted)
        row, = memory["processes"]
        self.assertEqual((row["pid"], row["rss"], memory["others"]), (target.pid, memory["rss"], 0))
        self.assertTrue(is_near(row["peak"], said["more"]))
        pages = 128 * MB // os.sysconf("SC_PAGESIZE")
        self.assertTrue(pages <= sum(memory["minor_faults"]) < pages * 1.2, (pages, memory["minor_faults"]))
        for at in range(1, len(memory["start"])):
            self.assertGreaterEqual(memory["start"][at], memory["end"][at - 1] - 1e-6)
            self.assertLess(memory["end"][at] - memory["start"][at], 1.5)

    def test_a_capture_a_part_of_it_a_merge_and_a_report_have_it(self):
        with tempfile.TemporaryDirectory() as folder:
            one, part, merged, report = (os.path.join(folder, name) for name in ("one.pyro", "part.html", "merged.pyro", "merged.html"))
            with victim("memory.py", "1") as target:
                process, code = run_program("record", str(target.pid), "-d", "5", "-o", one, seconds=60)
                self.assertEqual(code, 0, process.output())
                said = said_by(target)
            for words in (("replay", one, "--from", "2.5", "-o", part), ("merge", one, one, "-o", merged), ("replay", merged, "-o", report)):
                process, code = run_program(*words, seconds=60)
                self.assertEqual(code, 0, process.output())
            with open(part) as file:
                late = embedded(file.read())
            with open(report) as file:
                twice = embedded(file.read())
        self.assertGreaterEqual(late["start"][0], 2.25)
        self.assertTrue(is_near(late["rss"][-1], said["returned"]), late["rss"])
        # A capture merged with itself has each process twice at a time.
        self.assert_follows(twice["rss"], [2 * said[name] for name in ("grown", "more", "returned")])

    def test_children_are_rows_of_their_own_and_leave(self):
        with Host() as host, victim("memory.py", "0.5", "3") as target:
            session = host.start(pids=[target.pid], subprocesses=True, rate_hz=100)
            said_by(target)
            path = "/sessions/%s/memory" % session
            both = host.until(path, lambda found: len(found["processes"]) == 4
                              and all(row["rss"][-1] > 30 * MB for row in found["processes"]))
            with open("/proc/%d/task/%d/children" % (target.pid, target.pid)) as file:
                children = sorted(int(pid) for pid in file.read().split())
            read = {row["pid"]: row["rss"][-1] for row in both["processes"]}
            measured = {}
            for pid in children:
                with open("/proc/%d/statm" % pid) as file:
                    measured[pid] = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
            self.assertEqual(sorted(read), sorted(children + [target.pid]))
            for pid in children:
                self.assertTrue(is_near(read[pid], measured[pid]), (read, measured))
                os.kill(pid, 9)
            self.assertEqual(both["rss"][-1], sum(read.values()))
            alone = host.until(path, lambda found: found["rss"][-1] == {row["pid"]: row["rss"][-1] for row in found["processes"]}[target.pid])
            only = host.get(path + "?process=" + str(self.process_of(host, session, target.pid)))
        self.assertLess(alone["rss"][-1], both["rss"][-1] - 60 * MB)
        self.assertEqual([row["pid"] for row in only["processes"]], [target.pid])

    def process_of(self, host, session, pid):
        return host.get("/sessions/%s/tree" % session)["processes"]["pid"].index(pid)

    def test_many_processes_have_rows_for_the_largest_and_a_sum_of_all(self):
        with Host() as host, victim("ranks.py", "300", "-1", "120") as target:
            session = host.start(pids=[target.pid], subprocesses=True, rate_hz=20)
            memory = host.until("/sessions/%s/memory" % session, lambda found: found["others"] > 200)
        self.assertEqual(len(memory["processes"]), 16)
        self.assertGreater(memory["rss"][-1], 2 * sum(row["rss"][-1] for row in memory["processes"]))

    def test_the_limit_of_the_control_group_is_there(self):
        with open("/proc/self/cgroup") as file:
            own = {line.split(":")[1]: line.rstrip("\n").split(":", 2)[2] for line in file}
        folder, name = (GROUPS + "/memory" + own["memory"], "memory.limit_in_bytes") if "memory" in own else (GROUPS + own[""], "memory.max")
        group = os.path.join(folder, "pyrometer-test-%d" % os.getpid())
        try:
            os.mkdir(group)
        except OSError as problem:
            raise unittest.SkipTest("no control group can be made: %s" % problem) from None
        try:
            with open(os.path.join(group, name), "w") as file:
                file.write(str(200 * MB))
            with victim("memory.py", "0.2") as target, Host() as host:
                with open(os.path.join(group, "cgroup.procs"), "w") as file:
                    file.write(str(target.pid))
                session = host.start(pids=[target.pid])
                memory = host.until("/sessions/%s/memory" % session, lambda found: found["limit"])
                target.kill()
        finally:
            for _ in range(50):
                try:
                    os.rmdir(group)
                    break
                except OSError:
                    time.sleep(0.1)
        self.assertEqual(memory["limit"][-1], 200 * MB)


if __name__ == "__main__":
    main()
