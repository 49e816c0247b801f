"""Arguments and variables of frames: `dump --locals`, of processes, cores, and through a server that allows it.

Exit code: 0 all is right, 1 something is not, 77 there is no interpreter to sample.
"""

import json
import os
import re
import signal

from harness import ROOT, EachTest, Test, main, newest, run_program, victim
from host import Host
from test_cores import Folder

GOLDEN = os.path.join(ROOT, "tests", "golden", "variables")
# Threads of variables.py whose frames are not the same in all versions, or too many for a file.
OTHERS = ("MainThread", "comprehensions", "recursion", "many", "running")
MADE = 300
# The frames of a thread whose variables are read, and those that are not of `recursion`.
FRAMES, LIBRARY = 256, 3
OWN = ("variables.py", "made.py", "<string>")


def plain(text):
    """Without addresses, and with what differs between versions as the newest has it."""
    return re.sub(r"0x[0-9a-f]{2,}", "0x…", text)


def function_of(name):
    return name.rsplit(".", 1)[-1]


def text_of(lines):
    """The frames of variables.py with their variables, by thread."""
    found, name, is_own = {}, None, False
    for line in lines:
        thread = re.match(r"  thread \d+ (.*?): ", line)
        frame = re.match(r"    (\S+) \((.*):(\d+)\)$", line)
        if thread:
            name, is_own = thread.group(1), False
            found[name] = []
        elif re.match("    [^ ]", line):
            is_own = frame is not None and os.path.basename(frame.group(2)) in OWN
            if is_own:
                found[name].append("  " + function_of(frame.group(1)))
        elif is_own and line.startswith("      "):
            found[name].append(plain(line))
    return found


def frames_of(dump):
    """The frames of variables.py by thread, as JSON has them: functions and their variables."""
    return {thread["name"]: [[function_of(frame["function"]), frame["locals"] and {
        "variables": [[row["name"], row["kind"], plain(row["type"]), row["value"] and plain(row["value"])]
                      for row in frame["locals"]["variables"]], "left_out": frame["locals"]["left_out"]}]
                             for frame in thread["frames"] if os.path.basename(frame["file"]) in OWN]
            for thread in dump["threads"]}


def variables_of(frames, function):
    """The values of the variables of the innermost frame of a function."""
    found = next(found for name, found in frames if name == function)
    return {name: value for name, _, _, value in found["variables"]}


class Variables(EachTest):
    maxDiff = None

    def same_as_golden(self, name, made):
        path = os.path.join(GOLDEN, name)
        if os.environ.get("GOLDEN_REFRESH"):
            os.makedirs(GOLDEN, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(made.splitlines(), file.read().splitlines())

    def dump(self, python, *words):
        """Dumps up to three times: a busy machine may not let all of it be read in time."""
        for _ in range(3):
            with victim("variables.py", "120", python=python.path) as target:
                process, code = run_program("dump", str(target.pid), "--idle", *words, seconds=60)
                asked = [line for line in target.out if line == "CALLED"]
            self.assertEqual((code, asked), (0, []), process.output())
            if "unreadable" not in process.output() and len(re.findall(r"more variable|left_out\": [1-9]", process.output())) <= 1:
                break
        return process.out

    def test_the_text_is_what_the_golden_file_says(self):
        self.each(self.check_text)

    def check_text(self, python):
        found = text_of(self.dump(python, "--locals"))
        self.same_as_golden("values.txt", "".join(
            "%s\n%s\n" % (name, "\n".join(found[name])) for name in sorted(found) if name not in OTHERS))
        depths = [int(line.split()[1]) for line in found["recursion"] if "depth: " in line]
        self.assertEqual(depths, list(range(FRAMES - LIBRARY)))
        self.assertEqual(found["many"][-3:], ["        v99: 99", "      200 more variables", "  many"])
        spins = "\n".join(found["running"])
        self.assertRegex(spins, r"^  spin\n      arguments:\n        count: \d+\n        fixed: \['spins'\]\n  running$")

    def test_json_says_the_same(self):
        self.each(self.check_json)

    def check_json(self, python):
        dump, = json.loads("\n".join(self.dump(python, "--locals", "--json")))
        found = frames_of(dump)
        self.same_as_golden("values.json", json.dumps({name: found[name] for name in sorted(found) if name not in OTHERS}, indent=1,
                                                      ensure_ascii=False) + "\n")
        self.assertEqual(variables_of(found["recursion"], "recursion"), {"depth": "0"})
        self.assertEqual(found["many"][1][1]["left_out"], MADE - 100)
        self.assertEqual({name: value for frame in found["comprehensions"] for name, value in
                          variables_of([frame], frame[0]).items() if name in ("kept", "item")}, {"kept": "'outer'", "item": "41"})
        # A library's own frames have variables too, the code of a module has none.
        rows = [(thread["name"], frame["function"], frame["locals"]) for thread in dump["threads"] for frame in thread["frames"]]
        self.assertTrue(all(found for name, function, found in rows if function.endswith("_bootstrap") and name != "recursion"), rows)
        self.assertEqual([[(row["name"], row["value"]) for row in found["variables"]]
                          for name, function, found in rows if function == "<module>" and found],
                         [[], [("y", "2"), ("x", "1")]][:1 + ("executed" in found)])

    def test_names_have_types_and_no_values(self):
        self.each(self.check_names)

    def check_names(self, python):
        lines = self.dump(python, "--locals=names")
        found = text_of(lines)
        self.assertEqual(found["arguments"], [
            "  wait", "  arguments",
            "      arguments: first (int), second (str), third (float), fourth (str), rest (tuple), named (dict)",
            "      locals: local (int)", "  <lambda>"])
        self.assertIn("hostile (__main__.Hostile), hostiles (list), text (__main__.Texts)", "\n".join(found["others"]))
        for secret in ("'two'", "160693804425899", "plain'", "[1]"):
            self.assertNotIn(secret, "\n".join(lines))

    def test_without_the_option_there_are_none(self):
        with victim("variables.py", "120") as target:
            process, _ = run_program("dump", str(target.pid))
            dumps, _ = run_program("dump", str(target.pid), "--json")
        self.assertNotIn("arguments:", process.output())
        self.assertNotIn('"locals"', dumps.output())


class Merged(Test):
    def test_equal_stacks_have_the_variables_of_the_first_of_them(self):
        with victim("ranks.py", "4", "2", "120") as target:
            process, code = run_program("dump", "--subprocesses", str(target.pid), "--locals")
        self.assertEqual(code, 0, process.output())
        text = process.output()
        self.assertRegex(text, r"3 of 5 processes · MainThread: blocked: pipe\n  ranks 0, 1, 3\n  variables of MainThread in rank \d\n")
        self.assertEqual(len(re.findall(r"^    gather ", text, re.M)), 1, text)


class Cores(EachTest, Folder):
    def test_variables_are_in_a_core(self):
        self.each(self.check_core)

    def check_core(self, python):
        core, _ = self.end_with_core("variables.py", "120", python=python.path, number=signal.SIGABRT)
        process, code = run_program("dump", core, "--locals", "--json", seconds=60)
        os.remove(core)
        self.assertEqual(code, 0, process.output())
        found = frames_of(json.loads("\n".join(process.out))[0])
        self.assertEqual(variables_of(found["arguments"], "arguments")["rest"], "(3, 4)")
        self.assertEqual(variables_of(found["containers"], "containers")["itself"], "[1, [...]]")
        self.assertEqual(variables_of(found["closures"], "inner"), {"own": "'own'", "captured": "[1]", "counted": "1"})


class Server(EachTest):
    def test_shows_them_if_it_was_started_with_the_option(self):
        with Host("--allow-locals") as host:
            self.each(lambda python: self.check_allowed(python, host))

    def check_allowed(self, python, host):
        with victim("variables.py", "120", python=python.path) as target:
            found = frames_of(host.get("/processes/%d/dump?locals=values" % target.pid))
            names = frames_of(host.get("/processes/%d/dump?locals=names" % target.pid))
            none = host.get("/processes/%d/dump" % target.pid)
        self.assertEqual(variables_of(found["arguments"], "arguments")["named"], "{'key': 'value'}")
        self.assertEqual(variables_of(names["arguments"], "arguments")["named"], None)
        self.assertNotIn("locals", json.dumps([frame for thread in none["threads"] for frame in thread["frames"] if "locals" in frame]))

    def test_refuses_them_without_it(self):
        with Host() as host, victim("variables.py", "120", python=newest().path) as target:
            for which in ("values", "names"):
                answer = host.ask("/api/v1/processes/%d/dump?locals=%s" % (target.pid, which))
                self.assertEqual(answer.status, 403, answer.body)
                self.assertIn("--allow-locals", answer.json()["detail"])
                self.assertNotIn(b"arguments", answer.body)
            self.assertEqual(host.ask("/api/v1/processes/%d/dump?locals=all" % target.pid).status, 400)


if __name__ == "__main__":
    main()
