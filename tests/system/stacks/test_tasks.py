"""Asyncio tasks on every interpreter of this machine: which there are, where each stands, and who awaits it.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import collections
import json
import re
import sys

import harness
from harness import run_program, victim

SECONDS = 1.5
# The minors from which on an interpreter knows more.
FIRST_GROUPS, FIRST_AWAITED_BY, FIRST_QUALIFIED = 11, 14, 11
FIRST = ""
# Tasks of tasks.py: frames without their lines, and who awaits the task; in the first, who is only known to new ones.
SLEEPS = ["sleep"]
WAITS = ["waits"] + SLEEPS
TASKS = {
    "reader": (["read", "deep", "deep", "deep"] + SLEEPS, [], [FIRST]),
    "streamer": (["consume", "produce"] + SLEEPS, [], [FIRST]),
    "parent": (["parent"], [], [FIRST]),
    "child": (WAITS, ["parent"], []),
    "gatherer": (["gather"], [], [FIRST]),
    "burner": (None, [], [FIRST]),
    "group": (["group", "__aexit__"], [], [FIRST]),
    "member": (WAITS, [], ["group"]),
}
NAMELESS = [["main", "wait", "_wait"], WAITS, ["deep", "deep"] + SLEEPS]
# The text of what a task waits for, by the name of the task; the main task waits for all of them.
WAITS_FOR = {
    "parent": r"waits for asyncio\.Task at 0x[0-9a-f]+, the end of task child$",
    "gatherer": r"waits for asyncio\.gather at 0x[0-9a-f]+, the end of task Task-\d+, task Task-\d+$",
    "group": r"waits for asyncio\.TaskGroup\(\) \(asyncio\.TaskGroup at 0x[0-9a-f]+\), the end of task member$",
    "": r"waits for asyncio\.wait at 0x[0-9a-f]+, the end of (task \w+, ){3}task \w+ and [12] more$",
}


def last(name):
    return name.rsplit(".", 1)[-1]


def frames_of(labels):
    """Those of the last task of a stack, and the tasks it begins with; __aexit__ calls another one from 3.13 on."""
    tasks, frames = [], []
    for label in labels:
        match = re.match(r"<task ?(.*)>$", label)
        if match:
            tasks.append(match.group(1))
            frames = []
        else:
            frames.append(last(label))
    return tasks, [name for name in frames if name != "_aexit"]


def dumped(python, pid):
    """Tasks that `dump` lists: [name, thread, doing, awaiters, labels outermost first, what it waits for]."""
    process, code = run_program("dump", str(pid), "--async-aware")
    if code != 0:
        raise AssertionError(process.output())
    rows = []
    for line in process.out:
        task = re.match(r"  task (.*) \(thread (\d+)\) (runs|waits|moves)(?:; awaited by (.*))?$", line)
        frame = re.match(r"    (.*?)(?: \([^()]*\))?$", line)
        if task:
            name = "" if re.match(r"Task-\d+$|without a name$", task.group(1)) else task.group(1)
            rows.append([name, int(task.group(2)), task.group(3), task.group(4), [], None])
        elif rows and line.startswith("    waits for "):
            rows[-1][5] = line.strip()
        elif frame and rows:
            rows[-1][4].insert(0, frame.group(1))
        elif line.startswith("  thread"):
            rows.clear()
    return rows


def check_dump(python):
    problems = []
    with victim("tasks.py", str(harness.VICTIM_SECONDS), python=python.path) as target:
        rows = dumped(python, target.pid)
        if any(row[1] != target.pid for row in rows):
            problems.append("tasks of another thread: %s" % sorted({row[1] for row in rows}))
    seen = {row[0]: row for row in rows if row[0]}
    expected = {name: task for name, task in TASKS.items()
                if python.minor >= FIRST_GROUPS or name not in ("group", "member")}
    if set(seen) != set(expected):
        problems.append("tasks: %s" % sorted(seen))
    for name in set(seen) & set(expected):
        frames, awaiters, awaiters_of_new = expected[name]
        _, _, doing, by, labels, _ = seen[name]
        known = awaiters + (awaiters_of_new if python.minor >= FIRST_AWAITED_BY else [])
        # The task without known frames runs nearly always; where it has just come back it is on its way.
        if frames is None:
            if doing == "waits" and frames_of(labels)[1][:1] != ["burn"]:
                problems.append("%s %s at %s" % (name, doing, labels))
            continue
        if (doing, frames_of(labels)[1]) != ("waits", frames):
            problems.append("%s %s at %s" % (name, doing, labels))
        if len((by or "").split(", ")) != max(1, len(known)) or (known and known[0] and by != known[0]):
            problems.append("%s is awaited by %s" % (name, by))
    waits = {row[0]: row[5] for row in rows if row[5]}
    wanted = {name: text for name, text in WAITS_FOR.items() if not name or name in expected}
    if set(waits) != set(wanted) or not all(re.match(wanted[name], text) for name, text in waits.items()):
        problems.append("tasks wait for %s" % waits)
    nameless = sorted(frames_of(row[4])[1] for row in rows if not row[0])
    if nameless != sorted(NAMELESS):
        problems.append("tasks without a name: %s" % nameless)
    return problems


def record(python, pid, mode):
    path = harness.file_in("tasks-%s-%s.folded" % (mode, python.version))
    quality = path + ".json"
    process, code = run_program("record", str(pid), "-d", str(SECONDS), "-r", "500", "--async-mode", mode, "--no-gc",
                             "--idle", "--waits=off", "--collapsed=" + path, "--quality", quality, "--summary-json=" + path + ".summary",
                             seconds=SECONDS + harness.WAIT_SECONDS)
    if code != 0:
        raise AssertionError(process.output())
    with open(quality, encoding="utf-8") as file:
        states = json.load(file)["states"]
    with open(path + ".summary", encoding="utf-8") as file:
        summary = json.load(file)
    in_hand = states["has_exception"]
    if python.minor >= 12 and not 0 <= in_hand["at_least"] <= 0.05:
        raise AssertionError("nobody handles an exception: %s" % in_hand)
    stacks = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            labels, count = line.rstrip("\n").rsplit(" ", 1)
            thread, *labels = labels.split(";")
            names = [label if label.startswith("<") else re.match(r"[^:]*:(.*):-?\d+$", label).group(1) for label in labels]
            stacks[thread, tuple(names)] += int(count)
    check_states(stacks, states["has_gil"], summary, process, python)
    return stacks


def check_states(stacks, held, summary, process, python):
    """Checks that states are counted for threads only: tasks that wait have not let go of a lock."""
    waiting = sum(count for (thread, _), count in stacks.items() if "waiting tasks" in thread)
    threads = sum(stacks.values()) - waiting
    if abs(held["yes"] - held["at_least"] * threads) > 1e-6 * threads:
        raise AssertionError("the GIL was held in %s of %d samples of threads" % (held, threads))
    said = re.search(r"captured (\d+) samples(?:, (\d+) of waiting tasks,)? of \d+ threads? in ", "\n".join(process.err))
    if said is None or [int(count or 0) for count in said.groups()] != [threads + waiting, waiting] or summary["tasks"]["samples"] != waiting:
        raise AssertionError("%d samples are of waiting tasks: %s, %s" % (waiting, summary["tasks"]["samples"], process.output()))
    if abs(sum(summary["parts"].values()) - 1) > 1e-6:
        raise AssertionError("the parts of the time of threads are not all of it: %s" % summary["parts"])
    if (summary["gil"] is None) != python.is_free_threaded:
        raise AssertionError("says of a GIL: %s" % summary["gil"])


def check_running(python, pid):
    """All that the program computes is seen in the task that does it, below who awaits that."""
    stacks = record(python, pid, "running")
    outside = collections.Counter()
    for (thread, names), count in stacks.items():
        if "waiting tasks" in thread:
            return ["a task that waits is a sample: %s" % (names,)]
        if "burn" not in map(last, names):
            continue
        tasks, frames = frames_of(names)
        fits = tasks[-1:] == ["burner"] and frames[0] == "burn"
        fits = fits and tasks[:-1] == ([FIRST] if python.minor >= FIRST_AWAITED_BY else [])
        outside[fits] += count
    wrong = outside[False] / max(1, sum(outside.values()))
    return ["%.1f %% of what runs is not in its task" % (100 * wrong)] if not outside[True] or wrong > 0.05 else []


def check_all(python, pid):
    """Those that wait are there as often as the threads are sampled, below who awaits them."""
    stacks = record(python, pid, "all")
    threads, waiting = 0, collections.Counter()
    for (thread, names), count in stacks.items():
        if "waiting tasks" not in thread:
            threads += count
            continue
        tasks, frames = frames_of(names)
        waiting[tasks[-1], tuple(frames)] += count
    problems = []
    awaiting = {"parent", "gatherer"} | ({"group"} if python.minor >= FIRST_AWAITED_BY else set())
    for name, (frames, _, _) in TASKS.items():
        if frames is None or (name in ("group", "member") and python.minor < FIRST_GROUPS):
            continue
        share = waiting[name, tuple(frames)] / max(1, threads)
        if name in awaiting and share:
            problems.append("%s counts beside the task it awaits" % name)
        # The last reading of the tasks is a little before the last one of the threads.
        elif name not in awaiting and not 0.7 < share < 1.1:
            problems.append("%s is %.2f of the ticks" % (name, share))
    return problems


# Tasks that run for some microseconds each: between any two reads another one does.
SWITCHING = """
import asyncio
async def worker():
    while True:
        for _ in range(30):
            pass
        await asyncio.sleep(0)
async def main():
    for i in range(6):
        task = asyncio.ensure_future(worker())
        if hasattr(task, "set_name"):
            task.set_name("fast%d" % i)
    print("READY", flush=True)
    await asyncio.sleep(1000)
asyncio.new_event_loop().run_until_complete(main())
"""
DUMPS = 12


def check_one_picture(python):
    """The task that the stack is of is the one that runs; of what changed while it was read that is said."""
    path = harness.file_in("switching.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SWITCHING)
    problems = []
    with victim(path, python=python.path) as target:
        for _ in range(DUMPS):
            process, code = run_program("dump", str(target.pid), "--async-aware")
            if code != 0:
                raise AssertionError(process.output())
            on_stack, does, in_stack = [], {}, False
            for line in process.out:
                task = re.match(r"  task (.*) \(thread \d+\) (runs|waits|moves)", line)
                mark = re.search(r"<task ([^>]+)>", line)
                if task:
                    does[task.group(1)] = task.group(2)
                    in_stack = False
                elif line.startswith("  thread "):
                    in_stack = True
                elif mark and in_stack:
                    on_stack.append(mark.group(1))
            running = [name for name, doing in does.items() if doing == "runs"]
            if running and running != on_stack[:1] or any(does.get(name) == "waits" for name in on_stack[:1]):
                problems.append("the stack is of %s, and %s runs" % (on_stack, running))
    return problems


# A task that waits, beside more threads than one tick samples.
CROWD = """
import asyncio, threading, time
started = threading.Barrier(%d + 1)
def rest():
    started.wait()
    time.sleep(1e6)
async def waits():
    started.wait()
    print("READY", flush=True)
    await asyncio.sleep(1000)
threading.stack_size(256 * 1024)
for _ in range(%d):
    threading.Thread(target=rest, daemon=True).start()
asyncio.new_event_loop().run_until_complete(waits())
"""
CROWD_THREADS = 300


def check_crowd(python):
    """Checks several such processes, of which each tick samples some. The tasks of the others wait all the same."""
    script, path = harness.file_in("crowd.py"), harness.file_in("crowd.folded")
    with open(script, "w", encoding="utf-8") as file:
        file.write(CROWD % (CROWD_THREADS, CROWD_THREADS))
    with victim(script, python=python.path) as one, victim(script, python=python.path) as other:
        process, code = run_program("record", str(one.pid), str(other.pid), "-a", "-d", "3", "-r", "50", "--async-mode", "all",
                                    "--idle", "--waits=off", "--collapsed=" + path, "--quality", path + ".json", seconds=3 + harness.WAIT_SECONDS)
    if code != 0:
        raise AssertionError(process.output())
    with open(path + ".json", encoding="utf-8") as file:
        ticks = json.load(file)["ticks"]
    waiting = sum(int(line.rsplit(" ", 1)[1]) for line in open(path, encoding="utf-8") if "waiting tasks" in line)
    return [] if 1.6 * ticks < waiting < 2.1 * ticks else ["two tasks waited for %d samples in %d ticks" % (waiting, ticks)]


# More tasks than one reading follows; a ring of tasks each of which waits for the next; and one chain of awaiters.
MANY = """
import asyncio, sys
many, ring, chain = %d, %d, %d
async def rests():
    await asyncio.sleep(1000)
async def awaits(tasks, next):
    await asyncio.sleep(0.1)
    await tasks[next]
async def main():
    loop = asyncio.get_running_loop()
    resting = [loop.create_task(rests()) for _ in range(many)]
    ringed = []
    for i in range(ring):
        ringed.append(loop.create_task(awaits(ringed, (i + 1) %% ring)))
    # A random part of the tasks is followed: of so many chains, some are.
    for _ in range(8):
        chained = [loop.create_task(rests())]
        for i in range(chain):
            chained.append(loop.create_task(awaits(chained, i)))
    await asyncio.sleep(1)
    print("READY", flush=True)
    await asyncio.sleep(1000)
asyncio.new_event_loop().run_until_complete(main())
"""
RESTING, RING, CHAIN = 12000, 50, 300
# More than the table of tasks holds.
CROWDED = 80000


def check_many(python, resting):
    """Each task that waits is counted, however many there are, and the limits that were met are named. Of a part of the tasks,
    only some have their chains."""
    has_chains = resting == RESTING
    problems = []
    script, path = harness.file_in("many.py"), harness.file_in("many.folded")
    with open(script, "w", encoding="utf-8") as file:
        file.write(MANY % (resting, RING, CHAIN))
    with victim(script, python=python.path) as target:
        process, code = run_program("record", str(target.pid), "-d", "3", "-r", "50", "--async-mode", "all",
                                    "--idle", "--waits=off", "--collapsed=" + path, "--quality", path + ".json", seconds=3 + harness.WAIT_SECONDS)
    if code != 0:
        raise AssertionError(process.output())
    with open(path + ".json", encoding="utf-8") as file:
        quality = json.load(file)
    waiting = collections.Counter()
    deepest = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, count = line.rsplit(" ", 1)
            if "waiting tasks" in stack:
                depth = stack.count("<task")
                waiting["rests" if ":rests:" in stack and depth == 1 else "awaits" if ":rests:" not in stack else "chain"] += int(count)
                deepest = max(deepest, depth)
    for name, count in (("rests", resting), ("awaits", RING))[:2 if has_chains else 1]:
        # The first task sleeps, too, and the last reading of the tasks is before the last tick.
        if not 0.7 * count < waiting[name] / quality["ticks"] < 1.1 * count:
            problems.append("%.0f of %d tasks wait in %s" % (waiting[name] / quality["ticks"], count, name))
    limits = [quality.get(name, 0) > 0 for name in ("tasks_unread", "awaiters_cut", "tasks_cut")]
    if has_chains and limits != [True, True, False] or limits[::2] != [True, False]:
        problems.append("limits: %s" % limits)
    if "there are too many asyncio tasks" not in "\n".join(process.err):
        problems.append("does not say that there are too many: %s" % process.output())
    if has_chains and "chains of awaiting tasks were too long" not in "\n".join(process.err):
        problems.append("does not say that chains are too long: %s" % process.output())
    if has_chains and not 200 < deepest < CHAIN:
        problems.append("the chain of %d awaiters is %d deep" % (CHAIN, deepest))
    return problems


def check(python):
    problems = check_dump(python) + check_one_picture(python)
    if python.path == harness.newest_python():
        problems += check_crowd(python)
    if python.path == harness.newest_python() or python.minor == 12:
        problems += check_many(python, RESTING) + check_many(python, CROWDED)
    with victim("tasks.py", str(harness.VICTIM_SECONDS), python=python.path) as target:
        return problems + check_running(python, target.pid) + check_all(python, target.pid)


if __name__ == "__main__":
    sys.exit(harness.check_each(lambda python: True, check))
