"""Who waits for whom: `dump` names the lock that each thread waits for, who holds it and where, and finds deadlocks.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import json
import re

from harness import EachTest, main, run_program, victim, why_no_kernel_engine
from host import Host

# Waits of locks.py by the name of the thread: the type of what it waits for, and who holds it in which function; nobody knows the
# others.
WAITS = {
    "with lock": ("threading.Lock", "hold", "hold"),
    "with rlock": ("threading.RLock", "hold", "hold"),
    "rlock.acquire": ("threading.RLock", "hold", "hold_more"),
    "with condition": ("threading.Condition", "hold", "hold_all"),
    "lock.acquire": ("threading.Lock", "hold_running", "hold_running"),
    "event": ("threading.Event", None, None),
    "barrier": ("threading.Barrier", None, None),
    "queue": ("queue.Queue", None, None),
    "inbox": ("Inbox", None, None),
    "semaphore": ("threading.Semaphore", None, None),
    "future": ("concurrent.futures.Future", None, None),
    "condition": ("threading.Condition", None, None),
    "join": ("threading.Thread", "hold", None),
}
MOVERS = {"mover-%d" % i: ("threading.Lock", "mover-%d" % ((i + 1) % 3), "move") for i in range(3)}
CYCLE = ["mover-0", "mover-1", "mover-2"]
DEADLOCK = 5


def waits_of(lines):
    """The waits of the threads as a dump says them."""
    found, name = {}, None
    for line in lines:
        thread = re.match(r"  thread \d+ (.*?): ", line)
        wait = re.match(r"    waits for (\S+) at 0x[0-9a-f]+(?:, (?:held by|the end of) (\S+)(?: at (\S+) \(.*\))?)?$", line)
        if thread:
            name = thread.group(1)
        elif wait:
            found[name] = wait.groups()
    return found


class Locks(EachTest):
    maxDiff = None

    def dump(self, python, mode, expected):
        """Dumps up to three times: on a busy machine, one dump may not see a thread that runs stand still."""
        for _ in range(3):
            with victim("locks.py", mode, "120", python=python.path) as target:
                process, code = run_program("dump", str(target.pid), "--fail-if", "deadlock")
            waits = waits_of(process.out)
            if waits == expected:
                break
        self.assertEqual(waits, expected, process.output())
        return process.out, code

    def test_every_wait_is_named_with_its_holder(self):
        self.each(lambda python: self.dump(python, "free", WAITS))

    def test_a_deadlock_is_said_first(self):
        self.each(self.check_deadlock)

    def check_deadlock(self, python):
        lines, code = self.dump(python, "deadlock", {**WAITS, **MOVERS})
        self.assertEqual(code, DEADLOCK)
        deadlocks = [line for line in lines if line.startswith("deadlock: ")]
        self.assertEqual(len(deadlocks), 1, lines)
        self.assertEqual(lines.index(deadlocks[0]), 1)
        waiters = re.findall(r"([^ ,]+) waits for threading\.Lock at 0x[0-9a-f]+, held by (\S+) at move ", deadlocks[0])
        # Which thread has the lowest number is chance.
        first = waiters[0][0]
        at = CYCLE.index(first)
        self.assertEqual(waiters, [(CYCLE[(at + i) % 3], CYCLE[(at + i + 1) % 3]) for i in range(3)])

    def test_json_says_the_same(self):
        self.each(self.check_json)

    def check_json(self, python):
        with victim("locks.py", "deadlock", "120", python=python.path) as target:
            process, code = run_program("dump", str(target.pid), "--json", "--fail-if", "deadlock")
        dump, = json.loads("\n".join(process.out))
        names = {thread["tid"]: thread["name"] for thread in dump["threads"]}
        waits = {thread["name"]: (wait["type"], wait["holder"] and names[wait["holder"]["tid"]], wait["timed"])
                 for thread in dump["threads"] for wait in [thread["waits_for"]] if wait}
        self.assertEqual(waits, {name: (kind, holder, False) for name, (kind, holder, _) in {**WAITS, **MOVERS}.items()})
        holds = {thread["name"]: sorted(use["type"] for use in thread["holds"]) for thread in dump["threads"] if thread["holds"]}
        self.assertEqual(holds["hold"], ["threading.Condition", "threading.Lock"] + 3 * ["threading.RLock"])
        self.assertEqual(holds["mover-0"], ["threading.Lock"])
        self.assertEqual([sorted(names[tid] for tid in cycle) for cycle in dump["deadlocks"]], [CYCLE])
        self.assertEqual(code, DEADLOCK)

    def test_the_api_says_the_same_of_what_the_sampling_process_reads(self):
        with Host() as host:
            self.each(lambda python: self.check_api(python, host))

    def check_api(self, python, host):
        with victim("locks.py", "deadlock", "120", python=python.path) as target:
            dump = host.get("/processes/%d/dump" % target.pid)
            process, _ = run_program("dump", str(target.pid), "--json")
        names = {thread["tid"]: thread["name"] for thread in dump["threads"]}
        self.assertEqual([sorted(names[tid] for tid in cycle) for cycle in dump["deadlocks"]], [CYCLE])
        said, = json.loads("\n".join(process.out))
        self.assertEqual(*({thread["name"]: (thread["waits_for"], thread["holds"]) for thread in one["threads"]} for one in (dump, said)))

    def test_a_session_counts_waits_by_lock_and_finds_the_deadlock(self):
        for engine in ["remote"] + ["kernel"] * (not why_no_kernel_engine()):
            with Host("--engine", engine) as host:
                self.each(lambda python, host=host: self.check_session(python, host))

    def check_session(self, python, host):
        with victim("locks.py", "deadlock", "120", python=python.path) as target:
            session = host.start(pids=[target.pid], rate_hz=200)
            # The least time for which each of them waits, until then, and of which the holder is known.
            found = host.until("/sessions/%s/locks" % session,
                               lambda found: found["deadlocks"] and len(found["locks"]) > len(WAITS) and found["locks"][len(WAITS) - 5]["held_s"] > 0)
            host.send("DELETE", "/sessions/" + session)
        self.assertEqual([sorted(wait["thread"] for wait in cycle) for cycle in found["deadlocks"]], [CYCLE])
        for cycle in found["deadlocks"]:
            self.assertEqual([wait["holder"]["thread"] for wait in cycle], [wait["thread"] for wait in cycle[1:] + cycle[:1]])
            self.assertEqual({(wait["function"], wait["holder"]["function"], wait["type"]) for wait in cycle}, {("move", "move", "threading.Lock")})
        said = {(lock["type"], lock["waiters"][0]["function"].split(".")[-1],
                 max((line["function"] for line in lock["holders"]), default=None)) for lock in found["locks"]}
        self.assertTrue({("threading.Lock", "take_by_with", "hold"), ("threading.RLock", "take_by_with", "hold"),
                         ("threading.Condition", "take_by_with", "hold_all"), ("threading.Lock", "move", "move"),
                         ("threading.Thread", "take_end", ""), ("queue.Queue", "take_queue", None),
                         ("threading.Event", "take_event", None)} <= said, said)
        for lock in found["locks"]:
            self.assertEqual(lock["process"], target.pid)
            self.assertLessEqual(lock["held_s"], lock["waited_s"])
            self.assertAlmostEqual(sum(line["waited_s"] for line in lock["waiters"]) + lock["other_waiters_s"], lock["waited_s"], 6)
            self.assertAlmostEqual(sum(line["waited_s"] for line in lock["holders"]) + lock["other_holders_s"], lock["held_s"], 6)
            self.assertLessEqual(lock["waited_s"], found["measured_s"] + 1e-6)
            self.assertGreaterEqual(lock["waits"], 1)

    def test_one_that_gives_up_after_a_time_makes_no_deadlock(self):
        self.each(self.check_timed)

    def check_timed(self, python):
        lines, code = self.dump(python, "timed", {**WAITS, **MOVERS})
        self.assertEqual([line for line in lines if "deadlock" in line], [])
        self.assertEqual(code, 0)


if __name__ == "__main__":
    main()
