"""The spans that threads publish for profilers (OTEP 4947), known from the functions that run, on every interpreter."""

import os
import pathlib
import re
import signal

from harness import ENGINE, PROGRAM, VICTIMS, Live, Process, Test, ends, file_in, kinds, main, pythons, run_program, victim

RATE_HZ = 300
SECONDS = 1
# Recordings of one target, until it has so many samples; on a busy machine it has few in a second.
RECORDINGS = 8
ENOUGH = 120
# A reading of a thread that moves: each is one of its own, one of a stopped thread would stand for many.
MOVING = ("--engine", "remote", "--stop", "never") if ENGINE == "remote" else ("--engine", ENGINE)
# The least right readings of moving threads: between that of the stack and that of the span, a request may end.
RIGHT = 0.97 if ENGINE == "remote" else 1
SPANS = {"seventy": "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7", "thirty": "0" * 31 + "1 " + "f" * 16}
OTHERS = {"seventy": "%032x %016x" % (7, 70), "thirty": "%032x %016x" % (3, 30)}
FOLDER = os.path.join(os.path.dirname(PROGRAM), "tests", "system")
KINDS = ("plain", "descriptor", "big")
# By kind: see CMakeLists.txt; and a program.
*FILES, HOST = os.environ.get("PYROMETER_THREAD_CONTEXTS", ":".join(
    [os.path.join(FOLDER, "libthread_context_%s.so" % kind) for kind in KINDS] + [os.path.join(FOLDER, "thread_context_program")])).split(":")
LIBRARIES = dict(zip(KINDS, FILES))
# Older versions of glibc do not say where thread-local variables lie.
OLDEST_LIBRARY = (2, 34)
WHICH_LIBRARY = "import os; print(os.confstr('CS_GNU_LIBC_VERSION'))"
WHERE_IT_IS = """import os, sys, sysconfig
print(os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or ""))
print(sys.base_prefix)"""


def spans_of(path):
    """Samples by the request whose function runs, "" for none, and the span: None where it is unknown, "" without one."""
    found = {}
    for line in pathlib.Path(path).read_text("utf-8").splitlines():
        stack, count = line.rsplit(" ", 1)
        handler = re.search(r"handle_(\w+)", stack)
        mark = re.match(r"<context opentelemetry(?:: (.*)| unset)>$", stack.rsplit(";", 1)[-1])
        key = handler.group(1) if handler else "" if "serve" not in stack else None, mark and (mark.group(1) or "")
        found[key] = found.get(key, 0) + int(count)
    return found


def embeddable():
    """The newest interpreter that is a library, too: its file, and its home."""
    for python in reversed(pythons()):
        with Process([python.path, "-c", WHERE_IT_IS]) as process:
            process.wait()
            if python.is_supported and len(process.out) == 2 and ".so" in process.out[0] and os.path.exists(process.out[0]):
                return process.out
    return None


def has_old_library(python):
    with Process([python.path, "-c", WHICH_LIBRARY]) as process:
        return tuple(map(int, process.wait_line(r"^glibc (\d+)\.(\d+)").groups())) < OLDEST_LIBRARY


class Spans(Test):
    def record(self, target, seconds=SECONDS, rate=RATE_HZ, enough=ENOUGH):
        path, found = file_in("thread-contexts"), {}
        for _ in range(RECORDINGS):
            process, code = run_program("record", str(target.pid), "-a", "-r", str(rate), "-d", str(seconds), *MOVING,
                                        "--context", "opentelemetry", "--contexts", "--idle", "--waits=off", "--collapsed", "-o", path)
            self.assertEqual(code, 0, process.output())
            for key, count in spans_of(path).items():
                found[key] = found.get(key, 0) + count
            if sum(count for (name, _), count in found.items() if name) > enough:
                break
        return found

    def check(self, found, wanted):
        """The span is that of the request whose function runs; threads that sleep have none."""
        named = {key: count for key, count in found.items() if key[0]}
        total = sum(named.values())
        self.assertGreater(total, ENOUGH / 4, found)
        right = [named.get((name, span), 0) for name, span in wanted.items()]
        self.assertGreater(min(right), 0, found)
        unknown = sum(count for (_, span), count in named.items() if span is None)
        self.assertLess(unknown, 0.05 * total, found)
        self.assertGreaterEqual(sum(right), RIGHT * (total - unknown), found)
        self.assertLessEqual({span for name, span in found if name == ""}, {"", None}, found)

    def test_every_interpreter(self):
        for python in kinds():
            with self.subTest(python.version), \
                    victim("thread_contexts.py", LIBRARIES["plain"], "attach", "now", "600", python=python.path) as target:
                if has_old_library(python):
                    self.assertLessEqual({span for _, span in self.record(target)}, {"", None})
                    continue
                self.check(self.record(target), SPANS)

    def test_every_access_to_the_variable(self):
        for kind, library in LIBRARIES.items():
            for mode in "attach", "rewrite":
                with self.subTest(kind=kind, mode=mode), victim("thread_contexts.py", library, mode, "now", "600") as target:
                    self.check(self.record(target), SPANS)

    def test_a_library_that_was_there_at_the_start(self):
        for kind, library in LIBRARIES.items():
            with self.subTest(kind), \
                    victim("thread_contexts.py", library, "attach", "now", "600", env=dict(os.environ, LD_PRELOAD=library)) as target:
                self.check(self.record(target), SPANS)

    def test_a_program_with_the_variable(self):
        found = embeddable()
        if not found:
            self.skipTest("no interpreter of this machine is a library")
        path = os.path.join(VICTIMS, "thread_contexts.py")
        with Process([HOST, found[0], path, "program", "attach", "now", "600"], env=dict(os.environ, PYTHONHOME=found[1])) as target:
            target.wait_ready()
            self.check(self.record(target), SPANS)

    def test_without_a_record_the_variable_of_the_context_counts(self):
        with victim("thread_contexts.py", LIBRARIES["big"], "mixed", "now", "600") as target:
            self.check(self.record(target), {"seventy": SPANS["seventy"], "thirty": OTHERS["thirty"]})

    def test_spans_have_the_shares_of_their_requests(self):
        found = {}
        with victim("thread_contexts.py", LIBRARIES["plain"], "attach", "now", "600") as target:
            for (name, span), count in self.record(target, seconds=3, rate=1000, enough=1500).items():
                if name:
                    found[span] = found.get(span, 0) + count
        seventy, thirty = (found[span] for span in SPANS.values())
        self.assertAlmostEqual(seventy / (seventy + thirty), 0.7, delta=0.08, msg=found)

    def test_a_library_that_is_loaded_during_the_session(self):
        for python in ends():
            with self.subTest(python.version), \
                    victim("thread_contexts.py", LIBRARIES["plain"], "attach", "late", "600", python=python.path) as target:
                self.check(self.record(target), OTHERS)
                with Live("attach", str(target.pid), "-a", "-r", str(RATE_HZ), "--engine", ENGINE, "--context", "opentelemetry") as live:
                    def has(spans):
                        rows = live.get("/sessions/1/contexts")["contexts"]
                        return set(spans.values()) <= {row["value"] for row in rows}
                    live.wait_until(lambda: has(OTHERS))
                    self.assertFalse(has(SPANS))
                    if has_old_library(python):
                        continue
                    target.signal(signal.SIGUSR1)
                    live.wait_until(lambda: has(SPANS))
                self.check(self.record(target), SPANS)

    def test_records_that_cannot_be_read(self):
        with victim("thread_contexts.py", LIBRARIES["plain"], "broken", "now", "600") as target:
            self.check(self.record(target), OTHERS)


if __name__ == "__main__":
    main()
