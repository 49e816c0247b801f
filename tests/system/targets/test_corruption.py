"""Programs whose memory is overwritten while they are sampled, or whose names, locks and lists are made up: the profiler neither ends,
hangs nor grows.

The environment: PYROMETER_CORRUPTION_SECONDS how long each interpreter is broken (4; 8 below a sanitizer),
PYROMETER_CORRUPTION_SEED (1).
"""

import contextlib
import json
import os
import re
import time

from harness import ENGINE, SANITIZED, SLOWNESS, Test, ends, file_in, main, program, pythons, victim
from usage import MIB, memory_of

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = float(os.environ.get("PYROMETER_CORRUPTION_SECONDS", "8" if SANITIZED and ENGINE == "remote" else "4"))
SEED = os.environ.get("PYROMETER_CORRUPTION_SEED", "1")
# The layouts differ most between these, and those of free-threaded builds from all.
MINORS = (8, 11, 13, 15)
MEMORY = (1500 if SANITIZED else 300) * MIB
# How long a dump may take that would otherwise take milliseconds.
DUMP_SECONDS = 15 * SLOWNESS
OPTIONS = ["--opcodes", "--native"] + (["--async-aware"] if ENGINE == "remote" else [])


class Corruption(Test):
    def sampled(self, target, recording_process):
        """Dumps of what is being broken, until recording has ended; how many of them showed stacks, and the most memory."""
        shown, peak, end = 0, 0, time.monotonic() + SECONDS + 60 * SLOWNESS
        while recording_process.is_running():
            self.assertLess(time.monotonic(), end, recording_process.output())
            try:
                peak = max(peak, memory_of(recording_process.pid))
            except (OSError, StopIteration):
                break
            for options in ((), ("--async-aware",), ("--locals",)):
                pid = [line for line in target.out if re.fullmatch(r"\d+", line)][-1]
                with program("dump", pid, *options) as dump:
                    code = dump.wait(DUMP_SECONDS)
                    self.assertIn(code, (0, 1, 3, 4), dump.output())
                    shown += code == 0
        return shown, peak

    def test_stacks_names_tasks_and_types(self):
        found = {python.kind: python for python in pythons() if python.minor in MINORS and not python.is_debug}
        if not found:
            self.skipTest("none of the interpreters is on this machine: %s" % (MINORS,))
        for python in found.values():
            path = file_in("corrupt-%s.folded" % python.version)
            with self.subTest(python=python.version), victim(os.path.join(HERE, "corrupts.py"), SEED, str(SECONDS + 30),
                                                             python=python.path) as target:
                words = ["record", str(target.pid), "--subprocesses", "-r", "10khz", "-d", "%gs" % SECONDS, *OPTIONS,
                         "--idle", "--waits=off", "--collapsed", "-o", path]
                with program(*words) as recording_process:
                    shown, peak = self.sampled(target, recording_process)
                    self.assertEqual(recording_process.wait(), 0, recording_process.output())
                    errors = "\n".join(recording_process.err)
                # They were sampled while they were broken, and some of it is what can be read. Below a sanitizer a dump is slower than they change.
                if not os.environ.get("PYROMETER_SANITIZED"):
                    self.assertGreater(shown, 0)
                self.assertGreater(int(re.search(r"captured ([\d,]+) samples", errors).group(1).replace(",", "")), 0, errors)
                with open(path, encoding="utf-8", newline="") as file:
                    text = file.read()
                self.assertIn("corrupts.py", text)
                self.assertNotRegex(text, "[\0-\x09\x0b-\x1f\x7f]")
                self.assertLess(peak, MEMORY)

    def test_names_locks_and_lists_that_are_made_up(self):
        for python in ends():
            for mode in ("names", "locks", "list", "crowd"):
                with self.subTest(python=python.version, mode=mode), \
                        victim(os.path.join(HERE, "deceives.py"), mode, "300", python=python.path) as target:
                    self.check_deceived(target.pid, mode)

    def check_deceived(self, pid, mode):
        for options in ((), ("--json",))[:1 if mode == "list" else 2]:
            peak, end = 0, time.monotonic() + 4 * DUMP_SECONDS
            with program("dump", str(pid), *options) as dump:
                while dump.is_running():
                    self.assertLess(time.monotonic(), end, "a dump does not end")
                    with contextlib.suppress(OSError, StopIteration):
                        peak = max(peak, memory_of(dump.pid))
                    time.sleep(0.02)
                code, text = dump.wait(), "\n".join(dump.out)
                errors = "\n".join(dump.err)
            self.assertLess(peak, MEMORY)
            self.assertLess(len(text), 8 * MIB)
            self.assertNotRegex(text + errors, "[\0-\x09\x0b-\x1f\x7f\u202e]")
            if mode == "list":
                self.assertEqual(code, 1, errors)
                self.assertIn("no thread of process %d can be read" % pid, errors)
                continue
            self.assertEqual(code, 0, errors)
            self.assertGreater(len(json.loads(text)[0]["threads"]) if options else text.count("\n  thread "), 1)


if __name__ == "__main__":
    main()
