"""Whole commands of the program, with a fake sampler in it (tests/support/fake_session.h).

The environment variable PYROMETER names the program.
"""

import http.client
import os
import re
import signal
import subprocess
import sys
import unittest

EMPTY, STILL, LIVE, DENIED, SHELL, NEWER = range(2000000001, 2000000007)
GONE = 2000000099
HANDS = 3
TIMEOUT_S = 60

PROGRAM = os.path.abspath(os.environ["PYROMETER"])


def run(*words, **keywords):
    """One command to its end."""
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT_S, **keywords)


class Started:
    """A command that serves: its URL, its end."""

    def __init__(self, *words, **keywords):
        self.process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, **keywords)
        # The output of `run` itself goes to standard error.
        lines = self.process.stderr if words[0] == "run" else self.process.stdout
        self.url = next((line.strip() for line in lines if not line.startswith("pyrometer: ")), "")
        match = re.fullmatch(r"http://(\[[^]]+\]|[^:/]+):(\d+)/(?:\?token=(\S+))?", self.url)
        if not match:
            self.process.kill()
            raise AssertionError("no URL: %r %r" % (self.url, self.process.communicate()))
        self.host, self.port, self.token = match[1], int(match[2]), match[3]

    def get(self, target, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        connection.request("GET", target, headers=dict(headers))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def authorized(self, target):
        return self.get(target, {"Authorization": "Bearer " + self.token})

    def wait_for_error_line(self, text):
        for line in self.process.stderr:
            if text in line:
                return line
        raise AssertionError("standard error ended without %r" % text)

    def stop(self, number=signal.SIGINT):
        """Exit status, rest of standard output, rest of standard error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err


def names():
    """All tests, as the command line names them."""
    suites = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    return [test.id().partition(".")[2] for suite in suites for test in suite]


def side_by_side():
    """Most of the tests wait for something, so all are dealt out to some processes of the same file."""
    every = names()
    players = [subprocess.Popen([sys.executable, *sys.argv, *every[hand::HANDS]], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True) for hand in range(HANDS)]
    failed = 0
    for player in players:
        print(player.communicate()[0], flush=True)
        failed |= player.returncode
    print("%d tests" % len(every))
    return 1 if failed or not every else 0


def main():
    """Runs the tests of the file that calls this, or those that its arguments name."""
    if len(sys.argv) == 1:
        sys.exit(side_by_side())
    unittest.main()
