"""Secrets that are to stay at home are nowhere: in no answer, no file, no line, whatever the format and the coding."""

import contextlib
import os
import re
import shutil
import tempfile
import time

import planted
from harness import (FOLDER, PROGRAM, VICTIMS, WAIT_SECONDS, Live, Process, Test, file_in, main, newest, newest_python, run_program,
                     victim)
from host import Host
from planted import ARGUMENT, NAME
from screen import Terminal

SECRETIVE = os.path.join(VICTIMS, "secretive.py")
ARGUMENTS = ("--password=PLANTEDoption", "PLANTEDword", "postgres://me:PLANTEDurl@host/db", "--key", "PLANTEDkey")
# A program that writes its own title leaves all of it in one argument.
TITLE = "server: worker --password=PLANTEDtitle"
HOST_NAME = "planted-host"


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="kept-", dir=FOLDER)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextlib.contextmanager
def titled():
    """A target that has written its own title."""
    with Process(["bash", "-c", 'exec -a "$0" "$@"', TITLE, newest_python(), SECRETIVE, *ARGUMENTS],
                 env=newest().environment_of_copy()) as process:
        process.wait_ready()
        yield process


# Formats that a summary's own parameter of that name takes.
FORMS = {"/api/v1/sessions/{id}/summary format": ["json", "markdown", "text"], "/api/v1/sessions/{id}/runs thread": ["1"]}


def formats_of(live, session):
    detail = live.ask("/api/v1/sessions/%s/export?format=none" % session).json()["detail"]
    names = re.search("must be one of (.*)", detail).group(1).split(", ")
    assert {"pprof", "flamegraph"} <= set(names), names
    return names


def all_formats(path, name):
    """Options of record and replay that write a file of each format that needs no other capture."""
    process, code = run_program("replay", "--help=all")
    assert code == 0, process.output()
    lines = [re.match(r" +(?:-\w, |    )?--([a-z-]+)(\[?=| |$)", line) for line in process.out]
    names = {match.group(1) for match in lines if match}
    known = {"collapsed", "flamegraph", "heatmap", "pstats", "pstats-text", "jsonl", "gecko", "chrome-trace", "speedscope",
             "pprof", "svg", "summary", "summary-markdown", "summary-json"}
    assert known <= names, (known - names, process.output())
    return ["--%s=%s" % (one, os.path.join(path, "%s.%s" % (name, one))) for one in sorted(known)]


def ended(host, session):
    return host.until("/sessions/" + session, lambda found: found["state"] in ("ended", "failed"))


def asked_again(host, target):
    """The answer; of a server that is busy (503, as on a slow machine) the one that it has later."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        answer = host.ask(target)
        if answer.status != 503 or time.monotonic() > end:
            return answer
        time.sleep(1)


def walk(host, values, always, word):
    """{address: what was found} of all that can be asked for."""
    found = {}
    for target in planted.Description().targets("get", values, always):
        answer = asked_again(host, target)
        assert answer.status < 500, (target, answer.body)
        where = planted.found_in(str(answer.headers).encode() + answer.body, word)
        if where:
            found[target] = where
    return found


class Arguments(Test):
    """With --hide-args."""

    def record_with(self, path, targets):
        """Captures of before, of each target alone and of all."""
        for name, wanted in [("old%d" % i, [target]) for i, target in enumerate(targets)] + [("oldall", targets)]:
            process, code = run_program("record", *[str(target.pid) for target in wanted], "-a", "-d", "1", "-r", "500",
                                        "-o", os.path.join(path, name + ".pyro"))
            self.assertEqual(code, 0, process.output())
            yield name

    def sessions_of(self, host, targets, names):
        """Sessions that have ended, one that runs, those of captures that were recorded with arguments."""
        for target in targets:
            one = host.start(pids=[target.pid], rate_hz=500, **{"async": "all"})
            host.until("/sessions/" + one, lambda found: found["quality"]["samples"] > 100)
            host.send("PATCH", "/sessions/" + one, {"state": "ended"})
            self.assertEqual(ended(host, one)["state"], "ended")
            yield one
        yield host.start(pids=[target.pid for target in targets], rate_hz=200)
        for name in names:
            one = host.send("POST", "/captures", {"name": name}).json()["id"]
            self.assertEqual(ended(host, one)["state"], "ended")
            yield one

    def use_everything(self, *options):
        """Returns what is found in the answers, in the files, and in the lines of a server."""
        with contextlib.ExitStack() as stack:
            data, kept = stack.enter_context(folder()), stack.enter_context(folder())
            targets = [stack.enter_context(victim(SECRETIVE, *ARGUMENTS)), stack.enter_context(titled())]
            names = list(self.record_with(data, targets))
            before = set(os.listdir(data))
            host = stack.enter_context(Host("--audit", os.path.join(kept, "audit"), "--shares", os.path.join(kept, "shares"),
                                            *options, data=data))
            for target in targets:
                host.row(target.pid)
            sessions = list(self.sessions_of(host, targets, names))
            host.send("POST", "/shares", {"expires_in": "1h"})
            pids = [target.pid for target in targets]
            found = walk(host, {
                "id": sessions, "name": [row["name"] for row in host.get("/captures")["captures"]],
                "format": formats_of(host, sessions[0]), **FORMS, "/api/v1/sessions/{id}/export baseline": [sessions[0]],
                "tasks": ["1"], "function": range(8), "pid": pids}, {"seconds": 1}, ARGUMENT)
            host.stop()
            files = planted.files_with(ARGUMENT, kept)
            files.update((name, where) for name, where in planted.files_with(ARGUMENT, data).items() if name not in before)
            lines = "\n".join(host.process.out + host.process.err).encode()
            return found, files, planted.found_in(lines, ARGUMENT)

    def test_they_are_found_without_it(self):
        """The search for secrets sees them where they are."""
        found, files, _ = self.use_everything()
        for part in ("/api/v1/processes", "/api/v1/sessions", "/api/v1/captures", "/file", "/report.html", "format=pprof",
                     "format=heatmap", "format=gecko", "format=pstats-text", "format=jsonl", "/debug/pprof/profile"):
            self.assertTrue(any(part in target for target in found), (part, sorted(found)))
        self.assertTrue(any(name.endswith(".pyro") for name in files), files)

    def test_no_route_no_file_and_no_line_has_them(self):
        found, files, line = self.use_everything("--hide-args")
        self.assertEqual((found, files, line), ({}, {}, None))

    def test_a_capture_that_holds_them_is_not_given_away(self):
        with folder() as data, victim(SECRETIVE, *ARGUMENTS) as target:
            self.assertEqual(list(self.record_with(data, [target])), ["old0", "oldall"])
            with Host("--hide-args", data=data) as host:
                one = host.start(pids=[target.pid], rate_hz=500, duration_s=1)
                self.assertEqual(ended(host, one)["state"], "ended")
                name = host.get("/sessions/" + one)["capture"]
                refused = host.ask("/api/v1/captures/old0/file")
                self.assertEqual(refused.status, 403)
                self.assertIn("--hide-args", refused.json()["detail"])
                self.assertEqual(host.ask("/api/v1/captures/%s/file" % name).status, 200)
                # Nor does a search tell what they are.
                self.assertEqual(host.get("/captures?search=PLANTED")["total"], 0)
                self.assertEqual(host.get("/captures?search=python")["total"], 3)
                new = os.path.join(data, name + ".pyro")
                for merged, with_old, status in (("safe", [new], 200), ("mixed", [os.path.join(data, "old0.pyro")], 403)):
                    process, code = run_program("merge", new, *with_old, "-o", os.path.join(data, merged + ".pyro"))
                    self.assertEqual(code, 0, process.output())
                    self.assertEqual(host.ask("/api/v1/captures/%s/file" % merged).status, status, merged)
            with Host(data=data) as host:
                self.assertEqual(host.ask("/api/v1/captures/old0/file").status, 200)

    def test_no_command_writes_them(self):
        with folder() as path, victim(SECRETIVE, *ARGUMENTS) as target, titled() as other:
            pids = [str(target.pid), str(other.pid)]
            new, old, joined = os.path.join(path, "new.pyro"), file_in("old.pyro"), os.path.join(path, "joined.pyro")
            process, code = run_program("record", *pids, "-a", "-d", "1", "--hide-args", "--realtime-stats",
                                        "--quality", os.path.join(path, "quality"), "--audit", os.path.join(path, "audit"),
                                        "--binary=" + new, *all_formats(path, "record"))
            self.assertEqual(code, 0, process.output())
            self.assertIsNone(planted.found_in("\n".join(process.out + process.err).encode(), ARGUMENT))
            self.assertEqual(run_program("record", *pids, "-a", "-d", "1", "-o", old)[1], 0)
            for words in ([["replay", new, *all_formats(path, "new")], ["merge", new, new, "-o", joined],
                           ["replay", old, "--hide-args", *all_formats(path, "old")],
                           ["diff", old, new, "--hide-args", "-o", os.path.join(path, "text")],
                           ["diff", old, new, "--hide-args", "--json", "-o", os.path.join(path, "json")],
                           ["diff", old, new, "--hide-args", "--html", "-o", os.path.join(path, "html")]]):
                process, code = run_program(*words)
                self.assertEqual(code, 0, process.output())
            self.assertEqual(planted.files_with(ARGUMENT, path), {})
            with open(old, "rb") as file:
                self.assertIsNotNone(planted.found_in(file.read(), ARGUMENT))

    def test_no_live_view_shows_them(self):
        with folder() as path, victim(SECRETIVE, *ARGUMENTS) as target, titled() as other:
            capture = "--binary=" + os.path.join(path, "run.pyro")
            for words in (["attach", str(target.pid)], ["attach", str(other.pid)], ["run", capture, SECRETIVE, *ARGUMENTS]):
                with Live(words[0], "-r", "200", "--hide-args", *words[1:]) as live:
                    live.wait_samples(20)
                    for route in ("/api/v1/sessions", "/api/v1/sessions/1/report.html", "/debug/pprof/profile?seconds=1"):
                        answer = live.ask(route)
                        self.assertEqual(answer.status, 200)
                        self.assertIsNone(planted.found_in(answer.body, ARGUMENT), (words, route))
                    live.stop()
            self.assertEqual(planted.files_with(ARGUMENT, path), {})
            for pid in (target.pid, other.pid):
                with Terminal([PROGRAM, "top", pid, "--hide-args"]) as terminal:
                    terminal.until(r"PID %d  Python 3" % pid)
                    shown = "\n".join("".join(line) for line in terminal.screen.lines)
                    self.assertIsNone(planted.found_in(shown.encode(), ARGUMENT))


class Anonymized(Test):
    """With --anonymize, and anonymize=1: names of own code, the folder it is in, the host, and what people said."""

    @contextlib.contextmanager
    def own(self):
        """A target in a folder of its own name."""
        with folder() as path:
            own = os.path.join(path, "planted-folder", "planted_module.py")
            os.mkdir(os.path.dirname(own))
            shutil.copy(SECRETIVE, own)
            with victim(own, *ARGUMENTS) as target:
                yield target

    @staticmethod
    def named_host():
        """Words before the program that give it a host's name of its own, where we may."""
        if os.geteuid() != 0 or not shutil.which("unshare"):
            return ()
        return ("unshare", "--uts", "sh", "-c", "hostname %s && exec \"$@\"" % HOST_NAME, "sh")

    def test_no_route_shows_own_names(self):
        with folder() as data, self.own() as target, \
                Live("serve", "--data", data, "--no-source", before=self.named_host()) as live:
            mark = {"X-Pyrometer": "1", "Content-Type": "application/json"}
            body = '{"pids": [%d], "async": "all", "duration_s": 2, "name": "planted name", "note": "planted note"}'
            self.assertEqual(live.ask("/api/v1/sessions", "POST", body % target.pid, mark).status, 202)
            live.wait_ended()
            rules = {name: ["planted_coroutine"] for name in ("focus", "ignore", "hide", "show", "show_from")}
            values = {"id": ["1"], "format": formats_of(live, "1"), **FORMS, "/api/v1/sessions/{id}/export baseline": ["1"], "pid": [],
                      "name": [], "function": ["1"], "from": ["0.5"], "to": ["1.5"], "state": ["on_cpu"], **rules}
            addresses = [address for address in planted.Description().targets("get", values, {"anonymize": 1})
                         if "anonymize=1" in address]
            self.assertGreater(len(addresses), 40)
            seen = 0
            for address in addresses:
                # diff-flamegraph alone needs a baseline.
                wanted = 400 if ("format=diff" in address) != ("baseline=" in address) else 200
                answer = live.ask(address)
                self.assertIn(answer.status, (wanted, 200), (address, answer.body))
                where = planted.found_in(str(answer.headers).encode() + answer.body, NAME)
                self.assertIsNone(where, address)
                seen += planted.found_in(live.ask(address.replace("anonymize=1", "anonymize=0")).body, NAME) is not None
            self.assertGreater(seen, len(addresses) // 2)

    def test_no_command_writes_what_is_one_s_own(self):
        capture = file_in("own.pyro")
        with folder() as path, self.own() as target:
            words = ["--async-mode", "all", "--anonymize", "--quality", os.path.join(path, "quality")]
            with Process([*self.named_host(), PROGRAM, "record", str(target.pid), "-a", "-d", "1", *words,
                          *all_formats(path, "record")]) as process:
                self.assertEqual(process.wait(), 0, process.output())
            with Process([*self.named_host(), PROGRAM, "record", str(target.pid), "-a", "-d", "1", "-o", capture]) as process:
                self.assertEqual(process.wait(), 0, process.output())
            for words in (["replay", capture, "--anonymize", *all_formats(path, "replay")],
                          ["replay", capture, "--anonymize", "--ignore", "planted_coroutine", *all_formats(path, "ignore")],
                          ["replay", capture, "--anonymize", "--thread", "planted-thread", *all_formats(path, "thread")],
                          ["replay", capture, "--anonymize", "--diff-flamegraph", capture, "-o", os.path.join(path, "flames")],
                          ["diff", capture, capture, "--anonymize", "-o", os.path.join(path, "text")],
                          ["diff", capture, capture, "--anonymize", "--json", "-o", os.path.join(path, "json")],
                          ["diff", capture, capture, "--anonymize", "--html", "-o", os.path.join(path, "html")]):
                process, code = run_program(*words)
                self.assertEqual(code, 0, process.output())
            self.assertEqual(planted.files_with(NAME, path), {})
            with open(capture, "rb") as file:
                self.assertIsNotNone(planted.found_in(file.read(), NAME))


if __name__ == "__main__":
    main()
