"""Frames of the kernel, with --kernel: which system call a thread is in, and what it does there.

Skipped where the kernel does not run the engine, or hides its addresses.
"""

import json
import pathlib
import re

from folded import read_folded
from harness import EachTest, Test, file_in, main, newest_python, run_program, skip_without_kernel_engine, victim
from kernel import script

# A thread for each: it reads /dev/zero, writes to a pipe that is full, and waits for the lock of a file.
WORKS = """
import fcntl, os, sys, threading, time
def reads():
    with open("/dev/zero", "rb", buffering=0) as file:
        room = bytearray(1 << 20)
        while True:
            file.readinto(room)
def writes():
    while True:
        os.write(pipe[1], bytes(1 << 16))
def drains():
    while True:
        time.sleep(0.02)
        os.read(pipe[0], 1 << 16)
def locks():
    with open(sys.argv[1], "w") as file:
        while True:
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.flock(file, fcntl.LOCK_UN)
def holds():
    with open(sys.argv[1], "w") as file:
        while True:
            fcntl.flock(file, fcntl.LOCK_EX)
            time.sleep(0.02)
            fcntl.flock(file, fcntl.LOCK_UN)
def computes():
    while True:
        sum(range(1000))
pipe = os.pipe()
for work in reads, writes, drains, locks, holds, computes:
    threading.Thread(target=work, daemon=True).start()
print("READY", flush=True)
time.sleep(600)
"""


class Recorded:
    """A recording of the threads above."""

    def __init__(self, test, python, *options):
        name = file_in("kernel-frames-" + pathlib.Path(python).name)
        self.folded, self.capture = name + ".folded", name + ".pyro"
        with victim(script("works", WORKS), file_in("locked"), python=python) as target:
            process, code = run_program("record", str(target.pid), "-d", "2", "--no-source",
                                        "--collapsed=" + self.folded, "--binary=" + self.capture, *options)
        test.assertEqual(code, 0, process.output())
        self.said = process.output()
        self.stacks = read_folded(self.folded)

    def of(self, function):
        """The samples of a function that has all that it needs to run: (kernel frames, marks, count)."""
        return [(stack.kernel, stack.marks, stack.count) for stack in self.stacks
                if function in stack.names and not {"<waits: processor>", "<waits: GIL>"} & set(stack.marks)]

    def share(self, function, wanted):
        rows = self.of(function)
        return sum(count for kernel, marks, count in rows if wanted(kernel, marks)) / max(
            sum(row[2] for row in rows), 1)


class Frames(EachTest):
    def test_each_thread_is_where_it_is_in_the_kernel(self):
        def check(python):
            recorded = Recorded(self, python.path, "--engine", "kernel", "--kernel", "--native-frames", "all")
            if "no kernel frames: " in recorded.said:
                self.skipTest(recorded.said)
            for function, share, wanted in (
                ("reads", 0.7, lambda kernel, _: kernel[:1] == ["sys_read"] and "zero" in "".join(kernel)),
                ("writes", 0.7, lambda kernel, marks: kernel[:1] == ["sys_write"]
                 and "pipe_write" in "".join(kernel) and marks[-1:] == ["<waits: pipe>"]),
                ("locks", 0.5, lambda kernel, marks: kernel[:1] == ["sys_flock"]
                 and re.search("lock.*wait", "".join(kernel)) and marks[-1:] == ["<waits: lock>"]),
                ("computes", 0.5, lambda kernel, _: not kernel),
            ):
                self.assertGreater(recorded.share(function, wanted), share, (function, recorded.of(function)))
            # A tick may find a thread that has just come back, and is in the scheduler still.
            waits = [stack for stack in recorded.stacks if stack.kernel and stack.marks[-1:] != ["<waits: processor>"]
                     and "<waits" in "".join(stack.marks)]
            self.assertLess(sum(stack.count for stack in waits if "__schedule" in stack.kernel),
                            sum(stack.count for stack in waits) / 10)
            self.assertNotRegex(pathlib.Path(recorded.folded).read_text(),
                                r"\bf{4,}[0-9a-f]{8,}\b|bpf_prog_[0-9a-f]{16}|bpf_get_stack")

        self.each(check)


class Reports(Test):
    def test_a_capture_keeps_them_folded_to_the_system_call(self):
        recorded = Recorded(self, newest_python(), "--engine", "kernel", "--kernel")
        if "no kernel frames: " in recorded.said:
            self.skipTest(recorded.said)
        self.assertEqual({1}, {len(kernel) for stack in recorded.stacks for kernel in [stack.kernel] if kernel})
        again, lines, trace = (file_in("again" + ending) for ending in (".folded", ".jsonl", ".trace.json"))
        process, code = run_program("replay", recorded.capture, "--collapsed=" + again, "--native-frames", "everything",
                                    "--jsonl=" + lines, "--chrome-trace=" + trace)
        self.assertEqual(code, 0, process.output())
        whole = read_folded(again)
        self.assertEqual(sum(stack.count for stack in whole), sum(stack.count for stack in recorded.stacks))
        self.assertGreater(max(len(stack.kernel) for stack in whole), 2)
        with open(lines, encoding="utf-8") as file:
            libraries = [row for line in file for row in json.loads(line).get("libraries", [])]
        self.assertEqual([row["kernel"] for row in libraries], [True])
        self.assertIn('"cat":"kernel"', pathlib.Path(trace).read_text().replace(" ", ""))

    def test_the_remote_engine_says_that_it_has_none(self):
        recorded = Recorded(self, newest_python(), "--engine", "remote", "--kernel")
        self.assertEqual(recorded.said.count("no kernel frames: the remote engine does not see the kernel's stacks"), 1)
        self.assertFalse(any(stack.kernel for stack in recorded.stacks))


if __name__ == "__main__":
    skip_without_kernel_engine()
    main()
