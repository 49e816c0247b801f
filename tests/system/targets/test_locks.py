"""Who waits for whom: `dump` names the lock that each thread waits for, who holds it and where, and finds deadlocks.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import json
import os
import re
import signal
import subprocess

from harness import FOLDER, VICTIMS, EachTest, Process, kinds, main, run_program, victim, why_no_kernel_engine
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
# Waits of shared_locks.py, likewise.
SHARED_WAITS = {
    "with lock": ("multiprocessing.Lock", "hold", "hold"),
    "lock.acquire": ("multiprocessing.Lock", "hold", "hold"),
    "with rlock": ("multiprocessing.RLock", "hold", "hold"),
    "with condition": ("multiprocessing.Condition", "hold", "hold"),
    "elsewhere": ("multiprocessing.Lock", None, None),
    "condition": ("multiprocessing.Condition", None, None),
    "semaphore": ("multiprocessing.Semaphore", None, None),
    "bounded": ("multiprocessing.Lock", "MainThread", None),
    "event": ("multiprocessing.Event", None, None),
    "barrier": ("threading.Barrier", None, None),
    "queue": ("multiprocessing.Queue", None, None),
    "room": ("multiprocessing.Queue", None, None),
    "simple": ("multiprocessing.SimpleQueue", None, None),
    "joined": ("multiprocessing.JoinableQueue", None, None),
    "message": ("multiprocessing.Connection", None, None),
    "process": ("ForkProcess", None, None),
    "program": ("subprocess.Popen", None, None),
    "simple queue": ("queue.SimpleQueue", None, None),
    "as_completed": ("threading.Event", None, None),
    "wait": ("threading.Event", None, None),
    "barrier of threads": ("threading.Barrier", None, None),
}
EXPRESSIONS = {"event": "event", "barrier": "event", "queue": "one", "inbox": "one", "future": "future", "condition": "condition",
               "join": "thread"}
CYCLE = ["mover-0", "mover-1", "mover-2"]
DEADLOCK = 5


# Waits of task_locks.py: the expression, the type, the tasks that hold or that are waited for, and the function; a group is there from 3.11 on.
TASK_WAITS = {
    "with lock": ("lock", "asyncio.Lock", ["holder"], "hold"),
    "lock.acquire": ("lock", "asyncio.Lock", ["holder"], "hold"),
    "timed acquire": ("lock", "asyncio.Lock", ["holder"], "hold"),
    "bare": ("lock", "asyncio.Lock", None, None),
    "semaphore": ("lock", "asyncio.Semaphore", ["semaphore holder"], "hold"),
    "event": ("event", "asyncio.Event", None, None),
    "get": ("queue", "asyncio.Queue", None, None),
    "put": ("queue", "asyncio.Queue", None, None),
    "join": ("queue", "asyncio.Queue", None, None),
    "condition": ("condition", "asyncio.Condition", None, None),
    "task": ("task", "asyncio.Task", ["holder"], None),
    "gather": (None, "asyncio.gather", ["holder", "semaphore holder"], None),
    "wait": (None, "asyncio.wait", ["holder", "semaphore holder"], None),
    "group": ("asyncio.TaskGroup()", "asyncio.TaskGroup", ["member"], None),
}



def task_waits_of(dump):
    """The waits of the tasks as the JSON of a dump says them."""
    found = {}
    for task in dump["tasks"]:
        wait = task["waits_for"]
        if wait:
            holder = wait["holder"] or {}
            names = sorted(wait["tasks"]) or ([holder["task"]] if holder.get("task") else None)
            found[task["name"]] = (wait["expression"], wait["type"], names, holder.get("function"))
    return found


def waits_of(lines):
    """The waits of the threads as a dump says them."""
    found, name = {}, None
    for line in lines:
        thread = re.match(r"  thread \d+ (.*?): ", line)
        wait = re.match(r"    waits for (?:(.+) \()?(\S+) at 0x[0-9a-f]+\)?(?:, (?:held by|the end of) (\S+)(?: at (\S+) \(.*\))?)?$", line)
        if thread:
            name = thread.group(1)
        elif wait:
            found[name] = wait.groups()[1:]
    return found


class Locks(EachTest):
    maxDiff = None

    def dump(self, python, words, expected):
        """Dumps up to three times: on a busy machine, one dump may not see a thread that runs stand still."""
        for _ in range(3):
            with victim(*words, "120", python=python.path) as target:
                process, code = run_program("dump", str(target.pid), "--fail-if", "deadlock")
            waits = waits_of(process.out)
            if waits == expected:
                break
        self.assertEqual(waits, expected, process.output())
        return process.out, code

    def test_every_wait_is_named_with_its_holder(self):
        self.each(lambda python: self.dump(python, ("locks.py", "free"), WAITS))

    def test_objects_of_other_modules_and_other_processes_are_named(self):
        self.each(lambda python: self.dump(python, ("shared_locks.py",), SHARED_WAITS))

    def test_a_deadlock_is_said_first(self):
        self.each(self.check_deadlock)

    def check_deadlock(self, python):
        lines, code = self.dump(python, ("locks.py", "deadlock"), {**WAITS, **MOVERS})
        self.assertEqual(code, DEADLOCK)
        deadlocks = [line for line in lines if line.startswith("deadlock: ")]
        self.assertEqual(len(deadlocks), 1, lines)
        self.assertEqual(lines.index(deadlocks[0]), 1)
        waiters = re.findall(r"([^ ,]+) waits for second\.lock \(threading\.Lock at 0x[0-9a-f]+\), held by (\S+) at move ", deadlocks[0])
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
        expressions = {thread["name"]: thread["waits_for"]["expression"] for thread in dump["threads"] if thread["waits_for"]}
        self.assertEqual(expressions, {**{name: "lock" for name in WAITS}, **EXPRESSIONS, **{name: "second.lock" for name in MOVERS}})
        holds = {thread["name"]: sorted(use["type"] for use in thread["holds"]) for thread in dump["threads"] if thread["holds"]}
        self.assertEqual(holds["hold"], ["threading.Condition", "threading.Lock"] + 3 * ["threading.RLock"])
        self.assertEqual(holds["mover-0"], ["threading.Lock"])
        self.assertEqual([sorted(names[one["tid"]] for one in cycle) for cycle in dump["deadlocks"]], [CYCLE])
        self.assertEqual(code, DEADLOCK)

    def test_the_api_says_the_same_of_what_the_sampling_process_reads(self):
        with Host() as host:
            self.each(lambda python: self.check_api(python, host))

    def check_api(self, python, host):
        with victim("locks.py", "deadlock", "120", python=python.path) as target:
            dump = host.get("/processes/%d/dump" % target.pid)
            process, _ = run_program("dump", str(target.pid), "--json")
        names = {thread["tid"]: thread["name"] for thread in dump["threads"]}
        self.assertEqual([sorted(names[one["tid"]] for one in cycle) for cycle in dump["deadlocks"]], [CYCLE])
        said, = json.loads("\n".join(process.out))
        # The line of the frame that runs is another one in each reading.
        self.assertEqual(*(json.loads(json.dumps({thread["name"]: (thread["waits_for"], thread["holds"]) for thread in one["threads"]}),
                                      object_hook=lambda use: {**use, "line": None} if use.get("function") == "hold_running" else use)
                           for one in (dump, said)))

    def test_the_text_of_the_api_is_that_of_the_command_line(self):
        with Host() as host, victim("ranks.py", "3", "1", "120") as target:
            text = host.ask("/api/v1/processes/%d/dump?format=text" % target.pid).body.decode()
            session = host.start(pids=[target.pid], subprocesses=True)
            host.wait_until(lambda: host.get("/sessions/%s" % session)["processes"]["attached"] == 4)
            merged = host.ask("/api/v1/sessions/%s/dump" % session).body.decode()
            refused = host.ask("/api/v1/processes/%d/dump?format=xml" % target.pid)
            process, _ = run_program("dump", str(target.pid), "--idle")
        self.assertEqual(refused.status, 400)
        self.assertEqual(waits_of(text.splitlines()), waits_of(process.out))
        self.assertEqual(text.splitlines()[0], process.out[0])
        self.assertIn("4 processes, Python ", merged)
        self.assertRegex(merged, r"\n1 of 4 processes · MainThread: .*\n  rank 1\n")

    def test_a_session_counts_waits_by_lock_and_finds_the_deadlock(self):
        with Host("--engine", "remote") as host:
            self.each(lambda python: self.check_session(python, host))
        # There are only so many kernel engines at a time.
        if not why_no_kernel_engine():
            with Host("--engine", "kernel") as host:
                for python in kinds()[::3]:
                    with self.subTest("kernel, " + python.version):
                        self.check_session(python, host)

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
        lines, code = self.dump(python, ("locks.py", "timed"), {**WAITS, **MOVERS})
        self.assertEqual([line for line in lines if "deadlock" in line], [])
        self.assertEqual(code, 0)


class Tasks(EachTest):
    """Asyncio tasks."""

    maxDiff = None

    def dump(self, python, mode, expected):
        """Dumps up to three times: on a busy machine, one dump may not see a wait twice."""
        for _ in range(3):
            with victim("task_locks.py", mode, "120", python=python.path) as target:
                process, code = run_program("dump", str(target.pid), "--async-aware", "--json", "--fail-if", "deadlock")
            if code == expected:
                break
        self.assertEqual(code, expected, mode)
        dump, = json.loads("\n".join(process.out))
        return dump

    def test_every_wait_is_named_with_its_expression_and_holder(self):
        self.each(self.check_waits)

    def check_waits(self, python):
        dump = self.dump(python, "free", 0)
        waits, minor = task_waits_of(dump), python.minor
        expected = dict(TASK_WAITS)
        if minor < 12:
            inner, = {name for name in waits if name not in TASK_WAITS}
            expected[inner] = (None, *TASK_WAITS["with lock"][1:])
            # The line alone may be the name of a module.
            expected["timed acquire"] = ("lock" if minor == 11 else None, "asyncio.wait_for", [inner], None)
        if minor < 11:
            del expected["group"]
        self.assertEqual(waits, expected)
        self.assertEqual(dump["deadlocks"], [])
        self.assertEqual({task["name"] for task in dump["tasks"] if task["holds"]}, {"holder", "semaphore holder"})

    def test_tasks_that_wait_for_each_other_are_a_deadlock(self):
        self.each(self.check_deadlock)

    def check_deadlock(self, python):
        dump = self.dump(python, "deadlock", DEADLOCK)
        cycle, = dump["deadlocks"]
        self.assertEqual(sorted(one["task"] for one in cycle), CYCLE)
        for one, following in zip(cycle, cycle[1:] + cycle[:1]):
            wait = one["waits_for"]
            self.assertEqual((wait["expression"], wait["type"], wait["holder"]["task"], wait["holder"]["expression"], one["event_loop"]),
                             ("second.lock", "asyncio.Lock", following["task"], "first.lock", False))

    def test_one_that_gives_up_after_a_time_makes_no_deadlock(self):
        self.each(self.check_timed)

    def check_timed(self, python):
        for mode in ("timed", "cancelled"):
            dump = self.dump(python, mode, 0)
            self.assertEqual(dump["deadlocks"], [], mode)
            self.assertLessEqual(set(CYCLE), set(task_waits_of(dump)), mode)

    def test_threads_and_tasks_that_wait_for_each_other_are_one(self):
        self.each(self.check_threads)

    def check_threads(self, python):
        for mode, names in (("threads", ["MainThread", "outsider"]), ("loop", ["MainThread"])):
            dump = self.dump(python, mode, DEADLOCK)
            threads = {thread["tid"]: thread["name"] for thread in dump["threads"]}
            cycle, = dump["deadlocks"]
            self.assertEqual(sorted(threads[one["tid"]] for one in cycle if one["task"] is None), names)
            self.assertEqual([threads[one["tid"]] for one in cycle if one["event_loop"]], ["MainThread"])

    def test_a_text_has_the_tasks_of_a_deadlock_without_being_asked(self):
        with victim("task_locks.py", "deadlock", "120") as target:
            process, code = run_program("dump", str(target.pid), "--fail-if", "deadlock")
        self.assertEqual(code, DEADLOCK)
        self.assertRegex(process.out[1], r"^deadlock: task mover-\d waits for second\.lock \(asyncio\.Lock at 0x\w+\), held by task mover-\d at move ")
        listed = [line.split(" (")[0] for line in process.out if line.startswith("  task ")]
        self.assertIn("  task mover-0", listed)
        self.assertNotIn("  task event", listed)

    def test_a_session_finds_the_deadlock_and_names_its_locks(self):
        with Host("--engine", "remote") as host:
            self.each(lambda python: self.check_session(python, host))
        # There are only so many kernel engines at a time.
        if not why_no_kernel_engine():
            with Host("--engine", "kernel") as host:
                for python in kinds()[::3]:
                    with self.subTest("kernel, " + python.version):
                        self.check_session(python, host)

    def check_session(self, python, host):
        with victim("task_locks.py", "deadlock", "120", python=python.path) as target:
            session = host.start(pids=[target.pid], rate_hz=200, **{"async": "running"})
            found = host.until("/sessions/%s/locks" % session, lambda found: found["deadlocks"])
            host.send("DELETE", "/sessions/" + session)
        cycle, = found["deadlocks"]
        self.assertEqual(sorted(wait["task"] for wait in cycle), CYCLE)
        self.assertEqual({wait["expression"] for wait in cycle}, {"second.lock"})
        self.assertEqual([wait["holder"]["task"] for wait in cycle], [wait["task"] for wait in cycle[1:] + cycle[:1]])


class Processes(EachTest):
    """Many processes as one text."""

    def merged(self, *words, mode=("8", "5"), **options):
        with victim("ranks.py", *mode, "120", **options) as target:
            process, code = run_program("dump", "--subprocesses", str(target.pid), *words, seconds=60)
        self.assertEqual(code, 0, process.output())
        return target.pid, process.out

    def stacks(self, lines):
        """By the innermost function that has a file: how many processes have a stack, what stands beside that, and which they are."""
        found = {}
        for i, line in enumerate(lines):
            head = re.match(r"(\d+) of \d+ processes · (.*)", line)
            if head:
                frame = next(line for line in lines[i + 2:] if re.search(r" \(.*:\d+\)$", line))
                found[frame.split()[0]] = (int(head.group(1)), head.group(2), lines[i + 1].strip())
        return found

    def test_one_rank_of_eight_is_elsewhere(self):
        self.each(self.check_ranks)

    def check_ranks(self, python):
        pid, lines = self.merged(python=python.path)
        self.assertEqual(lines[0], "9 processes, Python " + lines[0].rsplit(" ", 1)[1])
        stacks = self.stacks(lines)
        # These two may be seen between two sleeps.
        self.assertEqual(stacks.pop("elsewhere")[::2], (1, "rank 5"))
        self.assertEqual(stacks.pop("main")[::2], (1, "process %d" % pid))
        self.assertEqual(stacks, {"gather": (7, "MainThread: blocked: pipe", "ranks 0-4, 6, 7")})
        self.assertRegex(lines[-1], r"^process \d+, no Python: cat, waits in [a-z_]*pipe_read$")

    def test_what_moves_and_what_is_stuck_in_the_kernel_is_said(self):
        _, lines = self.merged("--repeat", "3", "--interval", "500ms", "--kernel")
        text = "\n".join(lines)
        self.assertIn("MainThread: blocked: pipe, stuck for ≥ 1 s", text)
        self.assertRegex(text, r"MainThread: .*, moves\n  rank 5\n")
        self.assertRegex(text, r"    kernel: [a-z_]*pipe_read")

    def test_three_hundred_processes_are_two_stacks(self):
        stacks = self.stacks(self.merged(mode=("300", "-1"))[1])
        self.assertEqual({name: row[0] for name, row in stacks.items()}, {"main": 1, "gather": 300})
        self.assertEqual(stacks["gather"][1], "MainThread: blocked: pipe")

    def test_each_process_is_listed_on_demand_also_as_json(self):
        with victim("ranks.py", "3", "1", "120") as target:
            process, _ = run_program("dump", "-s", "--each", str(target.pid))
            dumps, _ = run_program("dump", "-s", "--json", str(target.pid))
        heads = [line for line in process.out if line.startswith("process ")]
        self.assertEqual(len([line for line in heads if ", Python " in line]), 4, heads)
        self.assertEqual(len([line for line in heads if ", no Python: cat, waits in " in line]), 1, heads)
        dumps = json.loads("\n".join(dumps.out))
        self.assertEqual(sorted(str(dump["rank"]) for dump in dumps if dump["python"]), ["0", "1", "2", "None"])
        other, = (dump for dump in dumps if not dump["python"])
        self.assertEqual((other["name"], other["stopped"]), ("cat", False))

    def test_a_stopped_process_is_named_as_such(self):
        with victim("chain.py", "120") as target:
            os.kill(target.pid, signal.SIGSTOP)
            process, code = run_program("dump", str(target.pid))
            os.kill(target.pid, signal.SIGCONT)
        self.assertEqual(code, 0, process.output())
        self.assertRegex(process.out[0], r"^process %d, Python \S+, stopped by a signal$" % target.pid)
        self.assertIn("chain.py", process.output())

    def test_a_collective_that_one_rank_never_comes_to(self):
        self.each(self.check_collective)

    def check_collective(self, python):
        with victim("collective.py", "8", "3", "120", python=python.path) as target:
            process, code = run_program("dump", "-s", str(target.pid))
        self.assertEqual(code, 0, process.output())
        text = "\n".join(process.out)
        self.assertRegex(text, r"\n1 of 9 processes · MainThread: [a-z :]+\n  rank 3\n    waits for BATCHES \(queue\.Queue\)\n")
        self.assertRegex(text, r"\n7 of 9 processes · MainThread: blocked: network read[^\n]*\n  ranks 0-2, 4-7\n")
        # The odd one comes before the others.
        self.assertLess(text.index("load_batch ("), text.index("all_reduce ("))

    def test_a_thread_in_an_uninterruptible_wait_is_read_and_named(self):
        self.each(self.check_uninterruptible)

    def check_uninterruptible(self, python):
        with victim("uninterruptible.py", FOLDER, "60", python=python.path) as target:
            process, code = run_program("dump", "--kernel", str(target.pid))
            deadlock, none = run_program("dump", "--fail-if", "deadlock", str(target.pid))
        self.assertEqual((code, none), (0, 0), process.output() + deadlock.output())
        text = process.output()
        self.assertRegex(text, r"MainThread: blocked(: [a-z ]+)?, holds the GIL" if "t" not in python.version else "MainThread: blocked")
        self.assertRegex(text, r"    start \(")
        self.assertRegex(text, r"    waits for \S+ \(threading\.Lock at 0x[0-9a-f]+\)(, holder unknown)?(\n|$)")
        self.assertRegex(text, r"    kernel: ")

    def test_a_process_in_a_container_is_read_from_outside(self):
        inside = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
        if subprocess.run(inside + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("namespaces cannot be made here")
        self.each(lambda python: self.check_container(python, inside))

    def check_container(self, python, inside):
        victims = os.path.join(VICTIMS, "locks.py")
        with Process(inside + [python.path, victims, "deadlock", "60"]) as container:
            container.wait_ready()
            with open("/proc/%d/task/%d/children" % (container.pid, container.pid), encoding="ascii") as children:
                pid = int(children.read().split()[0])
            process, code = run_program("dump", "--fail-if", "deadlock", str(pid))
            tree, _ = run_program("dump", "-s", str(container.pid))
        self.assertEqual(code, DEADLOCK, process.output())
        waits = waits_of(process.out)
        self.assertEqual({name: waits.get(name) for name in MOVERS}, MOVERS, process.output())
        self.assertIn("no Python: unshare, waits in do_wait", tree.output())

    def test_all_of_many_threads_are_listed_or_counted(self):
        with victim("crowd.py", "5000", "120") as target:
            process, code = run_program("dump", str(target.pid), seconds=60)
        self.assertEqual(code, 0, process.output())
        listed = len([line for line in process.out if line.startswith("  thread ")])
        # A busy machine may leave no time for all of them.
        missing = re.search(r"^  about (\d+) more threads were not read$", "\n".join(process.out), re.M)
        self.assertAlmostEqual(listed + int(missing.group(1) if missing else 0), 5001, delta=50)

    def test_processes_are_found_by_their_commands(self):
        name = "dump-%d" % os.getpid()
        with victim("chain.py", "120", name) as one, victim("chain.py", "120", name):
            process, code = run_program("dump", "--command", name)
            named, _ = run_program("dump", "--command", "*chain.py 120 %s" % name)
            none, missing = run_program("dump", "--command", name + "-none")
        self.assertEqual((code, missing), (0, 4), process.output())
        self.assertRegex(process.out[0], "^2 processes, Python ")
        self.assertEqual(named.out[0], process.out[0])
        self.assertIn(str(one.pid), process.output())
        self.assertIn("no Python process has such a command line", none.output())


if __name__ == "__main__":
    main()
