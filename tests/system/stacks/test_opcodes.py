"""With --opcodes each frame of a stack has its instruction, to the column, on every interpreter of this machine.

The callers of chain.py wait at a call, and that call spans columns of their line. Exit code: 0 so it is, 1 it is not, 77 there
is no interpreter to sample.
"""

import json
import sys
import unittest

import harness
from harness import kinds, run_program, victim

CALLERS = ("<module>", "a", "b")
# A location has columns since 3.11.
COLUMNS_MINOR = 11
SECONDS = 1


def has_columns(python):
    return python.minor >= COLUMNS_MINOR


def records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Recording:
    """The spots of a file of JSON lines, by function."""

    def __init__(self, path):
        self.strings, self.spots = {}, {}
        frames, stacks = {}, {}
        for record in records(path):
            for row in record.get("strings", []):
                self.strings[row["str_id"]] = row["value"]
            for row in record.get("frames", []):
                frames[row["frame_id"]] = self.strings[row["func_str_id"]]
            for row in record.get("stacks", []):
                stacks[row["stack_id"]] = row["frame_id"]
            if record.get("kind") == "spot":
                for row in record["entries"]:
                    function = frames[stacks[row["stack_id"]]]
                    self.spots.setdefault(function, []).append(row)

    def base(self, spot):
        return self.strings[spot["base_opcode_str_id"]]


class Opcodes(unittest.TestCase):
    def check_callers(self, recording, python):
        for caller in CALLERS:
            spots = recording.spots.get(caller, [])
            total = sum(spot["cumulative"] for spot in spots)
            calling = [spot for spot in spots if "CALL" in recording.base(spot) and spot["cumulative"] > spot["self"]]
            self.assertGreater(sum(spot["cumulative"] for spot in calling), 0.9 * total, (caller, spots))
            for spot in calling:
                self.assertGreater(spot["line"], 0, spot)
                if has_columns(python):
                    self.assertGreater(spot["end_col"], spot["col"], spot)

    def test_of_every_frame(self):
        for python in kinds(has_columns):
            path = harness.file_in("opcodes-%s.jsonl" % python.version)
            with self.subTest(python.version), victim("chain.py", str(harness.VICTIM_SECONDS), python=python.path) as target:
                process, code = run_program("record", str(target.pid), "--jsonl", "-o", path, "--opcodes", "-r", "1000",
                                            "-d", str(SECONDS))
                self.assertEqual(code, 0, process.output())
                recording = Recording(path)
                self.check_callers(recording, python)
                innermost = [spot for spots in recording.spots.values() for spot in spots if spot["self"]]
                self.assertTrue(innermost)
                self.assertTrue(all(recording.base(spot) for spot in innermost), innermost)

    def test_lines_of_a_file_tell_theirs(self):
        """/lines has the same as a file of JSON lines has: what it says of chain.py are the samples of its functions."""
        with victim("chain.py", str(harness.VICTIM_SECONDS)) as target:
            with harness.Live("attach", str(target.pid), "--opcodes", "-d", str(SECONDS)) as live:
                live.wait_ended()
                tree = live.get("/sessions/1/tree")
                strings = tree["strings"]["values"]
                function = next(i for i, file in enumerate(tree["functions"]["file"]) if strings[file].endswith("/chain.py"))
                lines = live.get("/sessions/1/lines?function=%d" % function)
        self.assertTrue(lines["path"].endswith("/chain.py"), lines["path"])
        self.assertEqual(lines["omitted"], 0)
        self.assertGreater(sum(lines["self"]), 0.5 * lines["samples"])
        self.assertTrue(all(total >= own for own, total in zip(lines["self"], lines["total"])))
        bases = {lines["names"][base] for base in lines["base_opcode"]}
        self.assertTrue(any("CALL" in base for base in bases), bases)
        self.assertTrue(all(0 < line < 1000 for line in lines["line"]), lines["line"])


if __name__ == "__main__":
    harness.check_surroundings()
    if not kinds(has_columns):
        print("skipped: no interpreter of 3.11 or later is on this machine")
        sys.exit(harness.SKIPPED)
    unittest.main(verbosity=2)
