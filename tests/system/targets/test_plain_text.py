"""Whatever a program, a file or a folder is called: what the terminal gets is text, which it neither obeys nor hides."""

import json
import os
import shutil
import subprocess
import unicodedata

import harness
from harness import PROGRAM, Process, Test, file_in, main, script, tied, victim, with_engine
from screen import Terminal

# OSC, C1 as a character and as a byte, directions, nothing to see, ends of lines, tags, a surrogate.
HOSTILE = ("\x1b]0;owned\x07\n\x7f\x9b31m\x80\u202e\u2066\u200f\u061c\u200b\u2060\ufeff\u00ad\u3164\ufe0f\u2028\u2029"
           "\U000e0041\udc9b\udc80")
# Characters that Unicode shows although they count as format characters are not among them.
INVISIBLE = "\u034f\u115f\u1160\u3164\uffa0" + "".join(map(chr, (*range(0xfe00, 0xfe10), *range(0xe0100, 0xe01f0))))

PROGRAM_TEXT = """
import asyncio, contextvars, os, sys, threading, time
NAME = os.environb[b"NAME"].decode("utf-8", "surrogateescape")
with open("/proc/self/comm", "wb") as comm:
    comm.write(b"\\x1b[31m\\x9b\\xe2\\x80\\xae")
variable = contextvars.ContextVar("request_id")

def spin(seconds):
    variable.set(NAME)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

def renamed(function):
    code = function.__code__.replace(co_name=NAME, co_filename="/srv/" + NAME + ".py")
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=NAME)
    function.__code__ = code
    return function

renamed(spin)

@renamed
def rest():
    variable.set(NAME)
    time.sleep(100)

async def serve():
    task = asyncio.create_task(asyncio.sleep(100))
    task.set_name(NAME)
    while True:
        spin(0.05)
        await asyncio.sleep(0.01)

threading.Thread(target=rest, name=NAME, daemon=True).start()
print("READY", flush=True)
asyncio.run(serve())
"""


class PlainText(Test):
    def check(self, text, where):
        """Only what a terminal shows."""
        for at, character in enumerate(text):
            if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") or character in INVISIBLE:
                self.assertIn(character, "\n", "%r in %s: %r" % (character, where, text[max(0, at - 60):at + 20]))

    def said(self, *arguments, shows="", codes=(0,)):
        """Runs the program; both of its outputs are text, and show what is wanted."""
        command = tied(with_engine([PROGRAM, *map(str, arguments)]))
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=harness.WAIT_SECONDS, check=False)
        where = ascii(" ".join(command[-6:]))[:200]
        self.assertIn(done.returncode, codes, (where, done.stderr[-600:]))
        for stream in (done.stdout, done.stderr):
            self.check(stream.decode("utf-8"), where)
        both = (done.stdout + done.stderr).decode("utf-8")
        self.assertIn(shows, both, where)
        return both

    def target(self):
        return victim(script("plain.py", PROGRAM_TEXT), HOSTILE, env=dict(os.environ, NAME=HOSTILE))

    def test_what_a_target_is_called(self):
        capture = file_in("plain.pyro")
        escaped, in_json = r"owned\x07\x0a\x7f\x9b31m\x80\u202e", r"owned\u0007\n\u007f\u009b31m\u0080\u202e"
        with self.target() as target:
            self.said("dump", "--async-mode=all", target.pid, shows=escaped)
            self.said("doctor", target.pid)
            self.said("record", target.pid, "-d", str(harness.SLOWNESS), "-r", "200", "--context=request_id", "-o", capture,
                      "--audit=-", "--realtime-stats", shows="captured")
            with Terminal([PROGRAM, "top", target.pid], 100, 30) as terminal:
                for key in ("", "j", "\r", "\x1b", "t", "\r", "l"):
                    terminal.type(key)
                    terminal.until("exact")
                terminal.type("q")
                self.assertEqual(terminal.finish(), 0)
        for form in ("--collapsed", "--pstats-text", "--summary", "--summary-markdown"):
            self.said("replay", capture, form, "--contexts", "-o", "-", shows=escaped)
        for form in ("--summary-json", "--jsonl", "--gecko", "--chrome-trace", "--speedscope"):
            self.said("replay", capture, form, "--contexts", "-o", "-", shows=in_json)
        self.said("diff", capture, capture, shows=escaped)
        self.said("diff", capture, capture, "--markdown")
        self.said("diff", capture, capture, "--json", shows=in_json)

        self.check_mcp(capture)

    def check_mcp(self, capture):
        """A client shows the text of an answer."""
        calls = (("open_capture", {"path": capture}), ("summary", {"session": "1"}), ("diff", {"baseline": "1", "session": "1"}))
        lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
                 for number, (name, arguments) in enumerate(calls)]
        done = subprocess.run(tied([PROGRAM, "mcp"]), input="\n".join(lines).encode() + b"\n", stdout=subprocess.PIPE,
                              timeout=harness.WAIT_SECONDS, check=True)
        answers = [json.loads(line)["result"] for line in done.stdout.decode("utf-8").splitlines()]
        self.assertEqual([answer["isError"] for answer in answers], [False] * len(calls))
        for answer in answers:
            self.check(answer["content"][0]["text"], "an answer")
        self.assertIn("owned", answers[1]["content"][0]["text"])

    def test_what_an_executable_is_called(self):
        path = os.path.join(harness.FOLDER, HOSTILE.replace("/", ""))
        shutil.copy(shutil.which("sleep"), path)
        try:
            with Process([path, "60"]) as target:
                for command in (("dump",), ("record", "--collapsed=-"), ("doctor",)):
                    self.said(*command, target.pid, codes=(4,))
        finally:
            os.unlink(path)

    def test_what_a_file_and_an_argument_are_called(self):
        name = HOSTILE.replace("/", "")
        missing = "/proc/nowhere/" + name
        refusals = (("replay", missing + ".pyro"), ("diff", missing, missing), ("merge", missing, "-o", "/dev/null"),
                    ("serve", missing + ".pyro"), ("serve", "--data", missing), ("serve", "--token-file", missing),
                    ("serve", "--audit", missing),
                    ("serve", "--tls-cert", missing, "--tls-key", missing), ("serve", "--listen", "unix:" + missing),
                    ("record", os.getpid(), "-o", missing + ".pyro"), ("record", os.getpid(), "--quality", missing),
                    ("record", os.getpid(), "--collapsed=" + missing), ("record", os.getpid(), "--push", name),
                    ("record", os.getpid(), "--push", "otlp://[::1]:1", "--push-headers", missing),
                    ("record", os.getpid(), "--focus", "/" + name + "(/"), ("record", os.getpid(), "--context", name),
                    ("record", os.getpid(), "--label", name), ("run", "--", missing), ("dump", name), (name,), ("record", "--" + name),
                    ("push", missing, "otlp://[::1]:1"), ("record", os.getpid(), "--mode", name))
        for arguments in refusals:
            self.said(*arguments, shows="pyrometer: ", codes=(1, 2, 3, 4))
        broken = os.path.join(harness.FOLDER, name + ".pyro")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no capture\n")
        try:
            self.said("replay", broken, "--summary", shows="pyrometer: ", codes=(1, 2))
            self.said("serve", broken, shows="pyrometer: ", codes=(1, 2))
        finally:
            os.unlink(broken)


if __name__ == "__main__":
    main()
