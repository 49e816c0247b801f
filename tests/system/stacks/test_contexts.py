"""Contexts of threads: the values of ContextVars, known from the functions that run, on every interpreter."""

import gzip
import json
import pathlib
import re
import unittest

from harness import ENGINE, Live, Test, ends, file_in, kinds, main, run_program, script, victim
from protobuf import labels_of

SECONDS = 1
RATE_HZ = 200
# Recordings of one target, until it has so many samples; on a busy machine it has few in a second.
RECORDINGS = 8
ENOUGH = 120
# For a share.
MANY = 1500
# A reading of a thread that moves.
MOVING = ("--engine", "remote", "--stop", "never") if ENGINE == "remote" else ("--engine", ENGINE)
# The least right readings of moving threads: between that of the stack and that of the context, a request may end.
RIGHT = 0.97 if ENGINE == "remote" else 1
SPANS = {"seventy": ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"), "thirty": ("0" * 31 + "1", "f" * 16)}
MARK = re.compile(r"<context (\S+)(?:: (.*)| (unset|other))>$")


def values_of(path):
    """Samples by the request whose function runs, and the value, None where it is unknown."""
    found = {}
    for line in pathlib.Path(path).read_text("utf-8").splitlines():
        stack, count = line.rsplit(" ", 1)
        handler = re.search(r"handle_(\w+)", stack)
        if not handler:
            continue
        mark = MARK.match(stack.rsplit(";", 1)[-1])
        value = None if not mark else mark.group(2) if mark.group(3) is None else "(%s)" % mark.group(3)
        found[handler.group(1), value] = found.get((handler.group(1), value), 0) + int(count)
    return found

LONG = """
import contextvars, time
request_id = contextvars.ContextVar("request_id")
values = [100 * "x" + name + 10**7 * "x" for name in ("one", "two")]
def handle(value):
    request_id.set(value)
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
print("READY", flush=True)
while True:
    for value in values:
        handle(value)
"""


class Values(Test):
    def record(self, target, variable, name):
        """Each sample is a reading of its own: one of a stopped thread would stand for many."""
        capture, path, found = file_in(name + ".pyro"), file_in(name), {}
        for _ in range(RECORDINGS):
            process, code = run_program("record", str(target.pid), "-a", "-r", str(RATE_HZ), "-d", str(SECONDS), *MOVING,
                                        "--context", variable, "-o", capture)
            self.assertEqual(code, 0, process.output())
            process, code = run_program("replay", capture, "--contexts", "--idle", "--waits=off", "--collapsed", "-o", path)
            self.assertEqual(code, 0, process.output())
            for value, count in values_of(path).items():
                found[value] = found.get(value, 0) + count
            if sum(found.values()) > ENOUGH:
                break
        return found

    def check(self, found, seventy, thirty):
        """The value is that of the request whose function runs."""
        total = sum(found.values())
        self.assertGreater(total, ENOUGH / 4, found)
        right = found.get(("seventy", seventy), 0), found.get(("thirty", thirty), 0)
        self.assertGreater(min(right), 0, found)
        unknown = found.get(("seventy", None), 0) + found.get(("thirty", None), 0)
        self.assertLess(unknown, 0.05 * total, found)
        self.assertGreaterEqual(sum(right), RIGHT * (total - unknown), found)

    def check_each(self, mode, variable, values, found=kinds):
        for python in found():
            with self.subTest(python.version), victim("contexts.py", mode, "600", python=python.path) as target:
                self.check(self.record(target, variable, "contexts-" + mode + python.version), *values)

    def test_values_have_the_shares_of_their_requests(self):
        """70 % of the thread's time; read while it moves, because of a stopped thread there are too few readings to say."""
        path = file_in("contexts-shares")
        for mode in ("threads", "tasks"):
            found = {}
            with victim("contexts.py", mode, "600") as target:
                for _ in range(3):
                    process, code = run_program("record", str(target.pid), "-a", "-r", "1000", "-d", "3", *MOVING, "--context", "request_id", "--contexts", "--idle", "--waits=off", "--collapsed", "-o", path)
                    self.assertEqual(code, 0, process.output())
                    for (_, value), count in values_of(path).items():
                        found[value] = found.get(value, 0) + count
                    if sum(found.values()) > MANY:
                        break
            self.assertAlmostEqual(found["seventy"] / (found["seventy"] + found["thirty"]), 0.7, delta=0.08, msg=(mode, found))

    def test_requests_of_a_thread(self):
        self.check_each("threads", "request_id", ("seventy", "thirty"))

    def test_requests_that_are_tasks(self):
        self.check_each("tasks", "request_id", ("seventy", "thirty"))

    def test_spans(self):
        self.check_each("threads", "opentelemetry", [" ".join(SPANS[name]) for name in ("seventy", "thirty")], ends)

    def test_a_variable_that_nobody_sets(self):
        with victim("contexts.py", "threads", "600") as target:
            found = self.record(target, "nobody", "contexts-nobody")
        self.assertLessEqual({value for _, value in found}, {"(unset)", None}, found)
        unknown = sum(count for (_, value), count in found.items() if value is None)
        self.assertLess(unknown, 0.05 * sum(found.values()), found)


@unittest.skipUnless(ENGINE == "kernel", "only the kernel engine copies a stack and its context at once")
class Instants(Test):
    def test_a_value_is_of_the_instant_of_its_stack(self):
        """The context changes thousands of times a second, together with the function."""
        for python in kinds():
            with self.subTest(python.version), victim("contexts.py", "instants", "600", python=python.path) as target:
                path, found = file_in("contexts-instants"), {}
                process, code = run_program("record", str(target.pid), "-a", "-r", "1000", "-d", "2", "--engine", "kernel",
                                            "--context", "request_id", "--contexts", "--idle", "--waits=off", "--collapsed", "-o", path)
                self.assertEqual(code, 0, process.output())
                for value, count in values_of(path).items():
                    found[value] = found.get(value, 0) + count
                total = sum(found.values())
                self.assertGreater(total, ENOUGH, found)
                self.assertEqual(set(found) - {(name, None) for name in ("seventy", "thirty")},
                                 {("seventy", "seventy"), ("thirty", "thirty")}, found)
                unknown = sum(count for (_, value), count in found.items() if value is None)
                self.assertLess(unknown, 0.1 * total, found)

    def test_a_thread_that_waits_has_the_value_it_left_with(self):
        path = file_in("contexts-waits")
        with victim("contexts.py", "waits", "600") as target:
            process, code = run_program("record", str(target.pid), "-a", "-r", "1000", "-d", "2", "--engine", "kernel",
                                        "--context", "request_id", "--contexts", "--idle", "--waits=off", "--collapsed", "-o", path)
        self.assertEqual(code, 0, process.output())
        found = values_of(path)
        total = sum(found.values())
        right = {value: found.get((value, value), 0) for value in ("seventy", "thirty")}
        self.assertGreater(min(right.values()), 0.2 * total, found)
        self.assertEqual(set(found) - {(name, None) for name in right}, {(name, name) for name in right}, found)

    def test_the_engine_that_is_chosen_by_itself(self):
        with victim("contexts.py", "threads", "600") as target:
            for variable in "request_id", "opentelemetry":
                with Live("attach", str(target.pid), "-a", "-d", "1", "--context", variable, "--engine", "auto") as live:
                    live.wait_ended()
                    self.assertEqual(live.session()["settings"]["engine"], "kernel")


class Uses(Test):
    def test_the_api_lists_values_and_filters_by_them(self):
        with victim("contexts.py", "threads", "600") as target:
            with Live("attach", str(target.pid), "-a", "-r", str(RATE_HZ), "-d", str(SECONDS), "--context", "request_id",
                      "--engine", ENGINE) as live:
                live.wait_ended()
                self.assertEqual(live.session()["settings"]["context"], "request_id")
                found = live.get("/sessions/1/contexts")
                rows = {(row["kind"], row["value"]): row["samples"] for row in found["contexts"]}
                self.assertLessEqual({("value", "seventy"), ("value", "thirty")}, set(rows))
                self.assertEqual(len(rows), found["rows"])
                self.assertEqual(sum(rows.values()) + found["unknown"], found["samples"])
                self.assertEqual({row["variable"] for row in found["contexts"]}, {"request_id"})
                self.assertEqual(live.get("/sessions/1/contexts?limit=1")["contexts"], found["contexts"][:1])
                view = live.get("/sessions/1/view?focus=context:seventy")
                self.assertEqual(view["total"], rows["value", "seventy"])

    def test_a_server_has_a_variable_for_its_sessions(self):
        mark = {"X-Pyrometer": "1", "Content-Type": "application/json"}
        with victim("contexts.py", "threads", "600") as target, \
                Live("serve", "--no-data", "--no-continuous", "--context", "request_id") as live:
            for members, expected in ({}, "request_id"), ({"context": "other"}, "other"), ({"engine": "kernel"}, "request_id"):
                answer = live.ask("/api/v1/sessions", "POST", json.dumps({"pids": [target.pid], **members}), mark)
                if members == {"engine": "kernel"} and answer.status == 409:
                    continue
                self.assertEqual(answer.status, 202, answer.body)
                self.assertEqual(answer.json()["settings"]["context"], expected)

    def test_without_the_option_stacks_end_as_before(self):
        capture, plain, shown = file_in("contexts.pyro"), file_in("contexts-plain"), file_in("contexts-shown")
        with victim("contexts.py", "threads", "600") as target:
            process, code = run_program("record", str(target.pid), "-a", "-d", "1", "--context", "request_id", "-o", capture)
            self.assertEqual(code, 0, process.output())
        for path, options in (plain, ()), (shown, ("--contexts", "--focus", "context:thirty")):
            process, code = run_program("replay", capture, "-o", path, "--idle", "--waits=off", "--collapsed", *options)
            self.assertEqual(code, 0, process.output())
        self.assertNotIn("<context", pathlib.Path(plain).read_text("utf-8"))
        for line in pathlib.Path(shown).read_text("utf-8").splitlines():
            self.assertRegex(line, r"<context request_id: thirty> \d+$")
        anonymous = file_in("contexts-anonymous")
        process, code = run_program("replay", capture, "-o", anonymous, "--idle", "--waits=off", "--collapsed", "--contexts", "--anonymize")
        self.assertEqual(code, 0, process.output())
        text = pathlib.Path(anonymous).read_text("utf-8")
        self.assertIn("<context request_id: ", text)
        self.assertNotIn("seventy", text)

    def test_pprof_has_labels(self):
        for variable in "request_id", "opentelemetry":
            path = file_in("contexts-%s.pb.gz" % variable)
            with victim("contexts.py", "threads", "600") as target:
                process, code = run_program("record", str(target.pid), "-a", "-d", "1", "--context", variable, "-o", path, "--pprof")
                self.assertEqual(code, 0, process.output())
            with gzip.open(path) as file:
                profile = file.read()
            labels = labels_of(profile)
            self.assertNotIn(b"<context", profile)
            if variable == "request_id":
                self.assertEqual(labels["request_id"], {"seventy", "thirty"})
            else:
                self.assertEqual(labels["trace_id"], {ids[0] for ids in SPANS.values()})
                self.assertEqual(labels["span_id"], {ids[1] for ids in SPANS.values()})

    def test_values_of_the_target_are_only_text(self):
        for python in ends():
            with self.subTest(python.version), victim("contexts.py", "fast", "600", python=python.path) as target:
                path, jsonl = file_in("contexts-fast"), file_in("contexts-fast.jsonl")
                process, code = run_program("record", str(target.pid), "-a", "-r", "2khz", "-d", "1", "--context", "request_id", "--contexts",
                                            "--engine", ENGINE, "--idle", "--waits=off", "--collapsed=" + path, "--jsonl=" + jsonl)
                self.assertEqual(code, 0, process.output())
                for line in pathlib.Path(path).read_text("utf-8").splitlines():
                    self.assertRegex(line, r" \d+$")
                    self.assertLessEqual(len(line), 2000)
                for line in pathlib.Path(jsonl).read_text("utf-8").splitlines():
                    json.loads(line)

    def test_what_cannot_be_is_refused(self):
        with victim("contexts.py", "threads", "600") as target:
            self.assert_refused(*run_program("record", str(target.pid), "-d", "1", "--context", "a b"), 2, "want the name of a ContextVar")


class Long(Test):
    def test_long_values_with_one_beginning_are_two(self):
        for python in ends():
            with self.subTest(python.version), victim(script("long_values.py", LONG), python=python.path) as target:
                path = file_in("long-values.txt")
                process, code = run_program("record", str(target.pid), "-d", "2", "--context", "request_id", "--contexts", "--collapsed", "-o", path)
                self.assertEqual(code, 0, process.output())
                found = set(re.findall(r"<context request_id: (x+)\u2026([0-9a-f]{16})>", pathlib.Path(path).read_text("utf-8")))
                self.assertEqual({text for text, _ in found}, {64 * "x"}, found)
                self.assertEqual(len(found), 2, found)


if __name__ == "__main__":
    main()
