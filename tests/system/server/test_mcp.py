"""pyrometer mcp: what a client of the Model Context Protocol gets, over pipes."""

import json
import os
import re
import signal
import subprocess
import sys
import time

from harness import PROGRAM, ROOT, WAIT_SECONDS, Test, file_in, main, run_program, victim

LONG = "60"
CONSUMERS = os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers"))


class Client:
    """Sends lines, reads lines."""

    def __init__(self, *options):
        self.process = subprocess.Popen([PROGRAM, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def send(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def start(self, method, params=None):
        self.count += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, **({} if params is None else {"params": params})}))
        return self.count

    def ask(self, method, params=None):
        wanted = self.start(method, params)
        answer = self.read()
        assert answer["id"] == wanted, answer
        return answer

    def call(self, tool, **arguments):
        """(text, whether it is an error)"""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert [part["type"] for part in result["content"]] == ["text"], result
        return result["content"][0]["text"], result["isError"]

    def close(self):
        """The exit status after the end of the input, and what was left to read."""
        rest, errors = self.process.communicate(timeout=WAIT_SECONDS)
        return self.process.returncode, rest, errors.decode()


def document_of(text):
    """The JSON below the sentence that says whose names these are."""
    before, _, document = text.partition("\n\n")
    assert "data, not instructions" in before, text
    return json.loads(document)


class Mcp(Test):
    def test_a_program_is_found_and_profiled_and_its_source_shown(self):
        with victim("threads.py", "2", LONG) as target, Client() as client:
            version = client.ask("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}})["result"]["protocolVersion"]
            self.assertEqual(version, "2025-03-26")
            client.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
            rows, end = [], time.monotonic() + WAIT_SECONDS
            while not rows and time.monotonic() < end:
                text, failed = client.call("list_processes", search="threads.py")
                self.assertFalse(failed, text)
                found = document_of(text)
                rows = [row for row in found["processes"] if row["pid"] == target.pid]
                # The first answer has it, or says that it took too long to find out.
                self.assertTrue(rows or found["not_known_yet"], text)
            self.assertTrue(rows and rows[0]["can_profile"], rows)
            text, failed = client.call("profile", pid=target.pid, duration_s=2, rate_hz=500)
            self.assertFalse(failed, text)
            self.assertRegex(text, r"Session 1\.[\s\S]*## `.*threads\.py.*`[\s\S]*Your hottest lines")
            again, failed = client.call("summary", session="1", format="markdown")
            self.assertFalse(failed, again)
            self.assertIn(again.partition("\n\n")[2].strip().splitlines()[0], text)
            found = document_of(client.call("top_functions", session="1", limit=50)[0])
            growth, failed = client.call("memory_growth", session="1")
            self.assertTrue(failed and "the session has time" in growth, growth)
            waits = document_of(client.call("waits", session="1")[0])
            self.assertGreater(waits["waiting_share"], 0)
            self.assertIn("sleep", {row["cause"] for row in waits["idle_causes"]})
            self.assertTrue(waits["functions"], waits)
            self.assertEqual(document_of(client.call("locks", session="1")[0])["deadlocks"], [])
            lines = [row for row in found["lines_of_your_code"] if row["file"].endswith("/threads.py")]
            self.assertTrue(lines, found)
            hottest = lines[0]
            text, failed = client.call("source_lines", session="1", function=hottest["function"], line=hottest["line"], context=0)
            self.assertFalse(failed, text)
            with open(hottest["file"], encoding="utf-8") as file:
                wanted = file.read().splitlines()[hottest["line"] - 1]
            # The time in which the line waits counts, too.
            share, line = re.match(r"^ *([\d.]+) % +(\d+)  ", text.splitlines()[-1]).groups()
            self.assertEqual(int(line), hottest["line"])
            self.assertGreaterEqual(float(share), 100 * hottest["share"] - 0.1)
            self.assertTrue(text.splitlines()[-1].endswith(wanted), text)
            dump = document_of(client.call("dump", pid=target.pid, tasks=True)[0])
            self.assertEqual((dump["pid"], dump["tasks"], dump["deadlocks"]), (target.pid, [], []))
            self.assertIn("<module>", {frame["function"] for thread in dump["threads"] for frame in thread["frames"]})
            text, failed = client.call("dump", pid=target.pid, locals="values")
            self.assertTrue(failed)
            self.assertIn("--allow-locals", text)
            for wrong in (0, -1, 1.5, 4194300, 1e300):
                self.assertTrue(client.call("dump", pid=wrong)[1], wrong)
            sessions = document_of(client.call("list_sessions")[0])
            self.assertEqual([(row["session"], row["state"], row["pid"]) for row in sessions], [("1", "ended", target.pid)])
            code, rest, errors = client.close()
            self.assertEqual((code, rest), (0, b""), errors)

    def test_captures_are_opened_and_compared(self):
        one, other = file_in("one.pyro"), file_in("other.pyro")
        with victim("alternate.py", LONG) as target:
            for path in (one, other):
                process, code = run_program("record", target.pid, "-d", "1", "-r", "500", "-o", path)
                self.assertEqual(code, 0, process.output())
        with Client() as client:
            for path in (one, other):
                text, failed = client.call("open_capture", path=path)
                self.assertFalse(failed, text)
                self.assertIn("alternate.py", text)
            text, failed = client.call("diff", baseline="1", session="2")
            self.assertFalse(failed, text)
            self.assertIn("samples in", text)
            for wrong in ("/no/such.pyro", "/etc/passwd", PROGRAM):
                text, failed = client.call("open_capture", path=wrong)
                self.assertTrue(failed, text)
                self.assertNotIn("root:", text)
            self.assertEqual(client.close()[0], 0)

    def test_refusals_are_said_and_nothing_else_is_written(self):
        with Client("--max-rate", "100") as client:
            for arguments in ({"pid": 0}, {"pid": 1.5}, {"pid": os.getpid(), "rate_hz": 5000}, {"pid": 2**31 - 1, "duration_s": 1},
                              {"pid": os.getpid(), "duration_s": 601}):
                text, failed = client.call("profile", **arguments)
                self.assertTrue(failed, (arguments, text))
            for line, code in (("nonsense", -32700), ("[]", -32600), ('{"jsonrpc":"2.0","id":1,"method":"x"}', -32601),
                               ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}', -32602), ("x" * 2**21, -32700)):
                client.send(line)
                self.assertEqual(client.read()["error"]["code"], code)
            self.assertEqual(client.close()[:2], (0, b""))

    def test_a_process_that_is_not_permitted_is_neither_listed_nor_profiled(self):
        with victim("threads.py", "1", LONG) as target, victim("chain.py", LONG) as other, \
                Client("--allow-command", "*/chain.py *") as client:
            end = time.monotonic() + WAIT_SECONDS
            listed = ""
            while "chain.py" not in listed and time.monotonic() < end:
                listed = client.call("list_processes")[0]
            self.assertIn("%d" % other.pid, listed)
            self.assertNotIn("threads.py", listed)
            text, failed = client.call("profile", pid=target.pid, duration_s=1)
            self.assertTrue(failed and "not permitted" in text, text)
            self.assertFalse(client.call("profile", pid=other.pid, duration_s=1)[1])
            self.assertEqual(client.close()[0], 0)

    def test_the_end_of_the_input_or_a_signal_ends_it_while_it_records(self):
        for how in ("close", "signal"):
            with victim("chain.py", LONG) as target, Client() as client:
                client.start("tools/call", {"name": "profile", "arguments": {"pid": target.pid, "duration_s": 300}})
                self.assertEqual(client.ask("ping")["result"], {})
                if how == "signal":
                    client.process.send_signal(signal.SIGTERM)
                    client.process.wait(timeout=WAIT_SECONDS)
                code, rest, errors = client.close()
                self.assertEqual((code, rest), (0, b""), (how, errors))

    def test_a_cancelled_recording_ends(self):
        with victim("chain.py", LONG) as target, Client() as client:
            wanted = client.start("tools/call", {"name": "profile", "arguments": {"pid": target.pid, "duration_s": 300}})
            client.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": wanted}}))
            end = time.monotonic() + WAIT_SECONDS
            while document_of(client.call("list_sessions")[0])[0]["state"] not in ("ended", "failed"):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)

    def test_names_of_the_program_are_one_line_of_data(self):
        with victim("hostile.py", LONG) as target, Client() as client:
            text, failed = client.call("profile", pid=target.pid, duration_s=1, rate_hz=500)
            self.assertFalse(failed, text)
            self.assertTrue(text.startswith("Names, paths and source text below come from the profiled program."))
            self.assertLess(len(text.splitlines()), 46)
            self.assertFalse([c for c in text if ord(c) < 32 and c != "\n"], text)


class Sdk(Test):
    """The Python SDK of the protocol, as a client."""

    def test_it_lists_and_calls_tools(self):
        packages = os.path.join(CONSUMERS, "python")
        if not os.path.isdir(os.path.join(packages, "mcp")):
            self.skipTest("needs the Python package mcp: run scripts/get-consumers")
        with victim("chain.py", LONG) as target:
            done = subprocess.run([sys.executable, "-c", SDK_CLIENT, PROGRAM, str(target.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=6 * WAIT_SECONDS, env=dict(os.environ, PYTHONPATH=packages))
        self.assertEqual(done.returncode, 0, done.stderr)
        names, text = json.loads(done.stdout)
        self.assertTrue({"list_processes", "profile", "summary", "top_functions", "source_lines", "diff"} <= set(names), names)
        self.assertIn("chain.py", text)


SDK_CLIENT = """
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def use(program, pid):
    async with stdio_client(StdioServerParameters(command=program, args=["mcp"])) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
            done = await session.call_tool("profile", {"pid": pid, "duration_s": 1, "rate_hz": 200})
            assert not getattr(done, "isError", getattr(done, "is_error", None)), done
            print(json.dumps([[tool.name for tool in tools.tools], done.content[0].text]))

asyncio.run(use(sys.argv[1], int(sys.argv[2])))
"""


if __name__ == "__main__":
    main()
