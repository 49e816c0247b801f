"""Who waits for whom: `dump` names the lock that each thread waits for, who holds it and where, and finds deadlocks.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from golden import Golden
from harness import FOLDER, SANITIZED, VICTIMS, EachTest, Process, ends, kinds, main, program, run_program, script, victim, why_no_kernel_engine
from host import Host

MOVERS = {"mover-%d" % i: ("threading.Lock", "mover-%d" % ((i + 1) % 3), "move") for i in range(3)}
# Type, function that waits and function that holds, of locks of locks.py in a session; "": a thread, None: unknown.
SAID = {("threading.Lock", "take_by_with", "hold"), ("threading.RLock", "take_by_with", "hold"),
        ("threading.Condition", "take_by_with", "hold_all"), ("threading.Lock", "move", "move"), ("threading.Thread", "take_end", ""),
        ("queue.Queue", "take_queue", None), ("threading.Event", "take_event", None)}
CYCLE = ["mover-0", "mover-1", "mover-2"]
DEADLOCK = 5


# Threads of the victims that move: what they wait for changes.
MOVING = ("MainThread", "hold_running", "QueueFeederThread")
# Threads of gil.py that have the GIL or need it for ever.
OF_GIL = ("holder", "mutex", "needs")
# The threads and tasks in which modes of a victim differ.
OF_MODE = r"deadlock|outsider|(task )?(mover-\d|blocker)"


def plain(text):
    """Without addresses, numbers of tasks, folders of victims, files of the library, and lines of functions that run."""
    text = re.sub(r"Task-\d+", "Task-…", re.sub(r"0x[0-9a-f]+", "0x…", text))
    text = re.sub(r"[^\s(]*/victims/(\w+\.py)", r"\1", text)
    text = re.sub(r"/[^\s(]*/(\w+\.py):\d+", r"\1", text)
    return re.sub(r"(hold_running \(locks\.py):\d+", r"\1", text)


def is_noise(name, use):
    """All threads have and need the GIL now and then."""
    return name not in OF_GIL and re.match(r"the GIL|    (waits for|holds) the GIL", use) is not None


def rotated(cycle, name_of):
    """A cycle from the first by name on: which one has the lowest number is chance."""
    at = min(range(len(cycle)), key=lambda i: name_of(cycle[i]))
    return cycle[at:] + cycle[:at]


def text_parts(lines, wanted):
    """The lines of a dump about locks and functions of the victim, by thread and task."""
    parts, name, head_is_task = {}, None, False
    for line in lines:
        head = re.match(r"  (?:thread \d+|(task)) (.*?)(?:: | \()", line)
        frame = re.match(r"    (\S+ \(\S*/victims/\S+\))$", line)
        if line.startswith("deadlock: "):
            cycle = re.split(r", (?=(?:task )?[\w-]+ waits for )", plain(line[len("deadlock: "):]))
            parts.setdefault("deadlock", []).extend(rotated(cycle, lambda one: one))
        elif head:
            name = " ".join(filter(None, head.groups()))
            # Below a task stand the tasks that await it, of which there may be several.
            head_is_task = head.group(1) is not None
            parts[plain(name)] = []
        elif name and re.match("    (waits for|holds) ", line) and not is_noise(name, line):
            # The tasks of a set have no order.
            line, end, awaited = plain(line[4:]).partition(", the end of ")
            parts[plain(name)].append(line + end + ", ".join(sorted(awaited.split(", "))))
        elif name and frame and parts[plain(name)] and not head_is_task:
            parts[plain(name)].append(plain(frame.group(1)))
    return {name: part for name, part in parts.items() if part and name not in MOVING and re.fullmatch(wanted, name)}


def plain_use(use, names):
    """A use of a lock in JSON as a file can have it."""
    if not use:
        return use
    use = {key: plain(value) if isinstance(value, str) and key != "file" else value for key, value in use.items()}
    if "file" in use:
        is_own = os.path.dirname(use["file"]) == VICTIMS
        use["file"] = os.path.basename(use["file"])
        if not is_own or use["function"] == "hold_running":
            del use["line"]
        if not is_own:
            use["function"] = use["function"].rsplit(".", 1)[-1]
    if "tid" in use:
        use["tid"] = names.get(use["tid"], use["tid"])
        del use["pid"]
    if "holder" in use:
        use["holder"] = plain_use(use["holder"], names)
    # Few locks have one.
    if not use.get("last_used"):
        use.pop("last_used", None)
    else:
        use["last_used"] = plain_use(use["last_used"], names)
    if "tasks" in use:
        use["tasks"] = sorted(map(plain, use["tasks"]))
    return use


def json_parts(dump, wanted):
    """The locks in the JSON of a dump, likewise."""
    names = {thread["tid"]: thread["name"] for thread in dump["threads"]}
    parts = {}
    for prefix, rows in (("", dump["threads"]), ("task ", dump.get("tasks", []))):
        for row in rows:
            wait, *holds = [use and not is_noise(row["name"], use["type"]) and plain_use(use, names) or None
                            for use in [row["waits_for"], *row["holds"]]]
            holds = list(filter(None, holds))
            if wait or holds:
                parts[plain(prefix + row["name"])] = {"waits_for": wait, "holds": holds}
    cycles = [rotated([{"tid": names[one["tid"]], "task": one["task"] and plain(one["task"]), "event_loop": one["event_loop"],
                        "waits_for": plain_use(one["waits_for"], names)} for one in cycle], lambda one: (one["task"] or "", one["tid"]))
              for cycle in dump["deadlocks"]]
    if cycles:
        parts["deadlock"] = cycles
    return {name: part for name, part in parts.items() if name not in MOVING and re.fullmatch(wanted, name)}


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


def golden_waits(minor):
    """The waits of all threads of locks.py, as waits_of has them."""
    waits = {name: part["waits_for"] for name, part in Golden("locks/threads.json").parts(minor).items() if name != "deadlock"}
    return {name: (wait["type"], (wait["holder"] or {}).get("tid"), (wait["holder"] or {}).get("function")) for name, wait in waits.items() if wait}


def check_sessions(test, has_kernel):
    """Calls test.check_session with each engine."""
    with Host("--engine", "remote") as host:
        test.each(lambda python: test.check_session(python, host))
    # There are only so many kernel engines at a time.
    if has_kernel and not why_no_kernel_engine():
        with Host("--engine", "kernel", "--no-continuous") as host:
            for python in kinds()[::3]:
                with test.subTest("kernel, " + python.version):
                    test.check_session(python, host)


def said_of(locks):
    """As SAID has it."""
    return {(lock["type"], lock["waiters"][0]["function"].split(".")[-1],
             max((line["function"] for line in lock["holders"]), default=None)) for lock in locks}


class Locks(EachTest):
    maxDiff = None

    def test_three_threads_in_a_deadlock_and_every_kind_of_lock(self):
        self.each(lambda python: self.check(python, ("locks.py", "deadlock"), "threads", DEADLOCK))

    def test_one_that_gives_up_after_a_time_makes_no_deadlock(self):
        self.each(lambda python: self.check(python, ("locks.py", "timed"), "timed", 0, OF_MODE))

    def test_a_mutex_of_one_that_needs_the_gil(self):
        self.each(lambda python: self.check(python, ("gil.py", "deadlock"), "gil", DEADLOCK))

    def test_one_that_keeps_the_gil_and_is_blocked(self):
        self.each(lambda python: self.check(python, ("gil.py", "blocked"), "gil-blocked", 0))

    def test_imports_of_modules_that_others_import(self):
        self.each(lambda python: self.check(python, ("imports.py",), "imports", 0))

    def test_objects_of_other_modules_and_other_processes(self):
        self.each(lambda python: self.check(python, ("shared_locks.py",), "shared", 0))

    def test_every_kind_of_lock_of_tasks(self):
        self.each(lambda python: self.check(python, ("task_locks.py", "free"), "tasks", 0))

    def test_three_tasks_in_a_deadlock(self):
        self.each(lambda python: self.check(python, ("task_locks.py", "deadlock"), "tasks-deadlock", DEADLOCK, OF_MODE))

    def test_tasks_of_which_one_gives_up_make_no_deadlock(self):
        self.each(lambda python: self.check(python, ("task_locks.py", "timed"), "tasks-timed", 0, OF_MODE))

    def test_tasks_of_which_one_is_cancelled_make_no_deadlock(self):
        self.each(lambda python: self.check(python, ("task_locks.py", "cancelled"), "tasks-cancelled", 0, OF_MODE))

    def test_threads_and_tasks_that_wait_for_each_other(self):
        self.each(lambda python: self.check(python, ("task_locks.py", "threads"), "tasks-threads", DEADLOCK, OF_MODE))

    def test_a_loop_that_waits_for_its_own_task(self):
        self.each(lambda python: self.check(python, ("task_locks.py", "loop"), "tasks-loop", DEADLOCK, OF_MODE))

    def check(self, python, words, name, wanted, which=".*"):
        """Compares text and JSON of dumps with the golden files: what they say of the threads and tasks that are meant. In up to three
        victims: on a busy machine, one dump may not see a thread that runs stand still, or a wait twice."""
        text, value = Golden("locks/%s.txt" % name), Golden("locks/%s.json" % name)
        for _ in range(3):
            with victim(*words, "120", python=python.path) as target:
                said = [run_program("dump", str(target.pid), "--async-aware", "--fail-if", "deadlock", *more)
                        for more in ([], ["--json"])]
            lines, (dump,) = said[0][0].out, json.loads("\n".join(said[1][0].out))
            found = text_parts(lines, which), json_parts(dump, which), said[0][1], said[1][1]
            if "GOLDEN_REFRESH" in os.environ:
                text.refresh(python.minor, found[0])
                value.refresh(python.minor, found[1])
            golden = text.parts(python.minor), value.parts(python.minor), wanted, wanted
            if found == golden:
                break
        self.assertEqual(found, golden)
        # A deadlock is said first.
        self.assertEqual(lines[1].startswith("deadlock: "), wanted == DEADLOCK)

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
        # The line of the frame that runs is another one in each reading, and the GIL goes from thread to thread.
        self.assertEqual(*(json.loads(json.dumps({thread["name"]: [use for use in [thread["waits_for"], *thread["holds"]] if use and use["type"] != "the GIL"]
                                                  for thread in one["threads"] if thread["name"] not in MOVING}),
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
        # A sanitizer is too slow for threads that wake up four times a second.
        check_sessions(self, has_kernel=not SANITIZED)

    def test_a_session_finds_a_deadlock_with_the_gil(self):
        with Host("--engine", "remote") as host:
            self.each(lambda python: self.check_gil(python, host))

    def check_gil(self, python, host):
        with victim("gil.py", "deadlock", "120", python=python.path) as target:
            session = host.start(pids=[target.pid], rate_hz=200)
            found = host.until("/sessions/%s/locks" % session, lambda found: found["deadlocks"])
            host.send("DELETE", "/sessions/" + session)
        cycle, = found["deadlocks"]
        self.assertEqual({(wait["thread"], wait["type"], wait["holder"]["thread"]) for wait in cycle},
                         {("holder", "pthread_mutex_t", "mutex"), ("mutex", "the GIL", "holder")})

    def check_session(self, python, host):
        with victim("locks.py", "deadlock", "120", python=python.path) as target:
            session = host.start(pids=[target.pid], rate_hz=200)
            # Below a sanitizer a reading of locks takes so much of its share of the time that few are named within a minute.
            said = set() if SANITIZED else SAID
            found = host.until("/sessions/%s/locks" % session, lambda found: found["deadlocks"] and said <= said_of(found["locks"]))
            host.send("DELETE", "/sessions/" + session)
        self.assertEqual([sorted(wait["thread"] for wait in cycle) for cycle in found["deadlocks"]], [CYCLE])
        for cycle in found["deadlocks"]:
            self.assertEqual([wait["holder"]["thread"] for wait in cycle], [wait["thread"] for wait in cycle[1:] + cycle[:1]])
            self.assertEqual({(wait["function"], wait["holder"]["function"], wait["type"]) for wait in cycle}, {("move", "move", "threading.Lock")})
        for lock in found["locks"]:
            self.assertEqual(lock["process"], target.pid)
            self.assertLessEqual(lock["held_s"], lock["waited_s"])
            self.assertAlmostEqual(sum(line["waited_s"] for line in lock["waiters"]) + lock["other_waiters_s"], lock["waited_s"], 6)
            self.assertAlmostEqual(sum(line["waited_s"] for line in lock["holders"]) + lock["other_holders_s"], lock["held_s"], 6)
            self.assertLessEqual(lock["waited_s"], found["measured_s"] + 1e-6)
            self.assertGreaterEqual(lock["waits"], 1)


# Two locks that are taken by acquire() alone; one of another object has a name that many have.
BARE = """
import threading, time

LOCK = threading.Lock()


class Account:
    def __init__(self):
        self.lock = threading.Lock()

    def keep(self):
        self.lock.acquire()
        time.sleep(1000)

    def take(self):
        with self.lock:
            pass


def keep():
    LOCK.acquire()
    time.sleep(1000)


def take():
    LOCK.acquire()


def take_own(lock):
    lock.acquire()


account, own = Account(), threading.Lock()
own.acquire()
for name, target, args in [("keep", keep, ()), ("keep.self", account.keep, ()), ("take", take, ()), ("take.self", account.take, ()),
                           ("own", take_own, (own,))]:
    threading.Thread(target=target, args=args, name=name, daemon=True).start()
    time.sleep(0.05)
print("READY", flush=True)
time.sleep(1000)
"""


# Tasks that are objects of Python, as where the C extension is left out.
PLAIN_TASKS = """
import asyncio

async def wait_long():
    await asyncio.sleep(1000)

async def main():
    asyncio.get_running_loop().set_task_factory(lambda loop, coroutine, **more: asyncio.tasks._PyTask(coroutine, loop=loop, **more))
    tasks = [asyncio.create_task(wait_long()) for _ in range(3)]
    print("READY", flush=True)
    await asyncio.wait(tasks)

asyncio.run(main())
"""


class LastUses(EachTest):
    def test_a_lock_taken_by_acquire_alone_was_last_seen_at_a_line(self):
        self.each(self.check)

    def check(self, python):
        path = script("bare", BARE)
        with victim(path, python=python.path) as target:
            process, code = run_program("dump", str(target.pid))
            dumps, _ = run_program("dump", "--json", str(target.pid))
        self.assertEqual(code, 0, process.output())
        text = re.sub(r"0x[0-9a-f]+", "0x…", "\n".join(process.out))
        name = r"(Account\.)?keep"
        self.assertRegex(text, r"waits for LOCK \(threading\.Lock at 0x…\), holder unknown, last seen used at keep \(%s:21\)\n" % path)
        self.assertRegex(text, r"waits for self\.lock \(threading\.Lock at 0x…\), holder unknown, last seen used at %s \(%s:12\)\n" % (name, path))
        self.assertRegex(text, r"waits for lock \(threading\.Lock at 0x…\), holder unknown\n")
        dump, = json.loads("\n".join(dumps.out))
        waits = {thread["name"]: thread["waits_for"] for thread in dump["threads"]}
        self.assertEqual({name: waits[name]["last_used"] and waits[name]["last_used"]["line"] for name in ("take", "take.self", "own")},
                         {"take": 21, "take.self": 12, "own": None})
        self.assertEqual(waits["take"]["holder"], None)


# Processes that wait for the locks of each other.  None of them outlives the first one.
PROCESS_LOCKS = """
import ctypes, multiprocessing, sys, time

def follow(target, *args):
    ctypes.CDLL(None).prctl(1, 9)
    target(*args)

def move(own, other, barrier, gives_up):
    with own:
        barrier.wait()
        if gives_up:
            other.acquire(True, 1000)
        else:
            with other:
                pass

def keep(lock, bare, several, ready):
    bare.acquire()
    with lock, several:
        ready.release()
        time.sleep(1000)

def take(lock):
    with lock:
        pass

mode, method = sys.argv[1:3]
if __name__ == "__main__":
    context = multiprocessing.get_context(method)
    locks = [context.Lock() for _ in range(3)]
    if mode == "kept":
        several, ready = context.Semaphore(1), context.Semaphore(0)
        calls = [(keep, *locks[:2], several, ready), (take, locks[0]), (take, locks[0]), (take, locks[1]), (take, several)]
    else:
        barrier = context.Barrier(3)
        calls = [(move, locks[i], locks[(i + 1) % 3], barrier, mode == "timed" and i == 0) for i in range(3)]
    for i, call in enumerate(calls):
        context.Process(target=follow, args=call).start()
        if mode == "kept" and i == 0:
            ready.acquire()
    print("READY", flush=True)
    time.sleep(1000)
"""


class ProcessLocks(EachTest):
    """Locks that processes share: from 3.8 on, with processes that were forked and such that map the lock at another address."""

    def victim(self, python, mode, method):
        return victim(script("process_locks_%s_%s.py" % (mode, python.version), PROCESS_LOCKS), mode, method, python=python.path)

    def dump(self, target, *words, is_whole):
        """Dumps until all processes have come to their waits."""
        for _ in range(60):
            process, code = run_program("dump", "--subprocesses", str(target.pid), "--fail-if", "deadlock", *words)
            text = "\n".join(process.out)
            if is_whole(text):
                break
            time.sleep(0.5)
        return text, code

    def test_the_process_that_holds_a_lock_is_named(self):
        self.each(lambda python: self.check_kept(python, "spawn" if python.minor % 2 else "fork"))

    def check_kept(self, python, method):
        holder = r", held by process \d+ MainThread at keep \(\S+:21\)\n"
        with self.victim(python, "kept", method) as target:
            text, code = self.dump(target, is_whole=lambda text: "\n2 of " in text and text.count("    waits for ") == 3)
        self.assertEqual(code, 0, text)
        for kind in ("Lock", "Semaphore"):
            self.assertRegex(text, r"\n    waits for lock \(multiprocessing\.%s\)%s" % (kind, holder))
        # It was taken by acquire() alone.
        self.assertRegex(text, r"waits for lock \(multiprocessing\.Lock\), held by another process\n")

    def test_processes_that_wait_for_each_other_are_a_deadlock(self):
        for python in ends():
            with self.subTest(python.version):
                self.check_deadlock(python, "fork" if python.minor % 2 else "spawn")

    def check_deadlock(self, python, method):
        link = r"process \d+ MainThread waits for other \(multiprocessing\.Lock at 0x\w+\), held by process \d+ MainThread at move \(\S+:14\)"
        with self.victim(python, "deadlock", method) as target:
            text, code = self.dump(target, is_whole=lambda text: "deadlock: " in text)
            said, said_code = self.dump(target, "--json", is_whole=lambda text: all(
                one["process_deadlocks"] for one in json.loads(text) if '"move"' in json.dumps(one)))
            each, _ = self.dump(target, "--each", is_whole=lambda text: "deadlock: " in text)
        self.assertEqual((code, said_code), (DEADLOCK, DEADLOCK), text)
        self.assertRegex(text.splitlines()[1], "^deadlock: %s, %s, %s$" % (link, link, link))
        self.assertRegex(each.splitlines()[0], "^deadlock: process ")
        self.assertEqual(each.count("deadlock: "), 1, each)
        dumps = {one["pid"]: one for one in json.loads(said) if '"move"' in json.dumps(one)}
        self.assertEqual(len(dumps), 3)
        for pid, one in dumps.items():
            cycle, = one["process_deadlocks"]
            self.assertEqual({wait["pid"] for wait in cycle}, set(dumps))
            self.assertEqual([wait["waits_for"]["holder"]["pid"] for wait in cycle], [wait["pid"] for wait in cycle[1:] + cycle[:1]])
            main, = [thread["waits_for"]["holder"] for thread in one["threads"] if thread["main"]]
            holder, = [wait["waits_for"]["holder"] for wait in cycle if wait["pid"] == pid]
            self.assertEqual((main, one["deadlocks"]), (holder, []))
            self.assertEqual((holder["function"], holder["type"], holder["expression"]), ("move", "multiprocessing.Lock", "own"))

    def test_one_process_that_gives_up_makes_no_deadlock(self):
        held = ", held by process .* at move"
        with self.victim(ends()[-1], "timed", "fork") as target:
            text, code = self.dump(target, "--each", is_whole=lambda text: len(re.findall(held, text)) == 3)
        self.assertEqual((code, len(re.findall(held, text))), (0, 3), text)
        self.assertNotIn("deadlock: ", text)

    def test_watch_writes_who_of_several_processes_waits_for_whom(self):
        folder = tempfile.mkdtemp(dir=FOLDER)
        with self.victim(ends()[-1], "deadlock", "fork") as target:
            process = program("watch", str(target.pid), "--deadlock", "-o", folder)
            process.wait_line("wrote .*deadlock", process.err)
            process.signal(signal.SIGINT)
            self.assertEqual(process.wait(), 0, process.output())
        path, = glob.glob(os.path.join(folder, "*-deadlock-*.txt"))
        link = r"process \d+ MainThread waits for other \(multiprocessing\.Lock at 0x\w+\), held by process \d+ MainThread at move \(\S+:14\)"
        self.assertRegex(pathlib.Path(path).read_text("utf-8"), "(?m)^deadlock: %s, %s, %s$" % (link, link, link))

    def test_a_session_finds_the_deadlock_of_its_processes(self):
        with Host("--engine", "remote") as host:
            self.check_session(ends()[-1], host)

    def check_session(self, python, host):
        with self.victim(python, "deadlock", "spawn") as target:
            session = host.start(pids=[target.pid], subprocesses=True)
            found = host.until("/sessions/%s/locks" % session, lambda found: found["deadlocks"])
            text = host.ask("/api/v1/sessions/%s/dump" % session).body.decode()
            host.send("DELETE", "/sessions/" + session)
        holder = r"    waits for other \(multiprocessing\.Lock\), held by process \d+ MainThread at move "
        self.assertEqual(len(re.findall(holder, text)), 3, text)
        cycle, = found["deadlocks"]
        self.assertEqual(len({wait["process"] for wait in cycle}), 3)
        self.assertEqual([wait["holder"]["process"] for wait in cycle], [wait["process"] for wait in cycle[1:] + cycle[:1]])
        self.assertEqual({wait["holder"]["function"] for wait in cycle}, {"move"})


class Tasks(EachTest):
    """Asyncio tasks."""

    maxDiff = None

    def test_a_text_has_the_tasks_of_a_deadlock_without_being_asked(self):
        with victim("task_locks.py", "deadlock", "120") as target:
            process, code = run_program("dump", str(target.pid), "--fail-if", "deadlock")
        self.assertEqual(code, DEADLOCK)
        self.assertRegex(process.out[1], r"^deadlock: task mover-\d waits for second\.lock \(asyncio\.Lock at 0x\w+\), held by task mover-\d at move ")
        listed = [line.split(" (")[0] for line in process.out if line.startswith("  task ")]
        self.assertIn("  task mover-0", listed)
        self.assertNotIn("  task event", listed)

    def test_tasks_written_in_python_are_left_out(self):
        self.each(self.check_plain)

    def check_plain(self, python):
        with victim(script("plain-tasks", PLAIN_TASKS), python=python.path) as target:
            process, code = run_program("dump", str(target.pid), "--async-aware")
        self.assertEqual(code, 0, process.output())
        tasks = [line for line in process.out if line.startswith("  task ")]
        self.assertLessEqual(len(tasks), 1, tasks)
        self.assertNotIn("wait_long", process.output())

    def test_a_session_finds_the_deadlock_and_names_its_locks(self):
        check_sessions(self, has_kernel=True)

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

    def test_many_processes_are_two_stacks(self):
        processes = 60 if SANITIZED else 300
        stacks = self.stacks(self.merged(mode=(str(processes), "-1"))[1])
        self.assertEqual({name: row[0] for name, row in stacks.items()}, {"main": 1, "gather": processes})
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
            tree, _ = run_program("dump", "-s", str(target.pid))
            with open("/proc/%d/task/%d/children" % (target.pid, target.pid), encoding="ascii") as children:
                child = children.read().split()[-1]
            alone, refused = run_program("dump", child)
        self.assertEqual((code, none), (0, 0), process.output() + deadlock.output())
        text = process.output()
        self.assertRegex(text, r"MainThread: blocked(: [a-z ]+)?, holds the GIL" if "t" not in python.version else "MainThread: blocked")
        self.assertRegex(text, r"    start \(")
        self.assertRegex(text, r"    waits for (\S+ \(threading\.Lock at 0x[0-9a-f]+\)(, holder unknown)?|the GIL, held by MainThread at start \(.*\))(\n|$)")
        self.assertRegex(text, r"    kernel: ")
        # The child of vfork has the memory of its parent, and no stacks of its own.
        self.assertEqual(tree.out[0].split(",")[0], "2 processes")
        self.assertRegex(tree.out[-1], r"^process %s, no Python: \S+, runs in the memory of process %d until it executes a program$" % (child, target.pid))
        self.assertEqual(refused, 4, alone.output())

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
        threads = 1000 if SANITIZED else 5000
        with victim("crowd.py", str(threads), "120") as target:
            process, code = run_program("dump", str(target.pid), seconds=60)
        self.assertEqual(code, 0, process.output())
        listed = len([line for line in process.out if line.startswith("  thread ")])
        # A busy machine may leave no time for all of them.
        missing = re.search(r"^  about (\d+) more threads were not read$", "\n".join(process.out), re.M)
        self.assertAlmostEqual(listed + int(missing.group(1) if missing else 0), threads + 1, delta=50)

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
