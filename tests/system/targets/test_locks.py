"""Who waits for whom: `dump` names the lock that each thread waits for, who holds it and where, and finds deadlocks.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import json
import re

from harness import EachTest, main, run_program, victim
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

    def test_one_that_gives_up_after_a_time_makes_no_deadlock(self):
        self.each(self.check_timed)

    def check_timed(self, python):
        lines, code = self.dump(python, "timed", {**WAITS, **MOVERS})
        self.assertEqual([line for line in lines if "deadlock" in line], [])
        self.assertEqual(code, 0)


if __name__ == "__main__":
    main()
