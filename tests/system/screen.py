"""A terminal for tests: a pty, and what a terminal would show of what is written to it.

It knows the sequences that the program uses and no others: an unknown one is an error, so that nothing slips in.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

from harness import WAIT_SECONDS, with_engine

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


def width_of(character):
    """The columns that terminals give it."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    """Rows of cells; attributes are ignored. Nothing may leave them while it is a screen of the program's own."""

    def __init__(self, columns, rows):
        self.modes = {"25": True, "7": True, "1049": False}
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [[] for _ in range(rows)]
        self.row = self.column = 0
        self.overflowed = False

    def feed(self, text):
        """Takes what is written; returns the rest that is not whole yet."""
        while text:
            if text[0] == "\x1b":
                match = SEQUENCE.match(text)
                if not match:
                    assert len(text) < 20, "an unknown sequence: %r" % text[:20]
                    return text
                self.obey(*match.groups())
                text = text[match.end():]
                continue
            self.put(text[0])
            text = text[1:]
        return ""

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            self.overflowed |= self.row >= self.rows and self.modes["1049"]
            self.row = min(self.row, self.rows - 1)
        else:
            assert character.isprintable(), "%r is not for a terminal" % character
            width = width_of(character)
            self.overflowed |= self.column + width > self.columns and self.modes["1049"]
            # A cell of a wide character is followed by one that is empty.
            cells = self.lines[self.row]
            cells += [" "] * (self.column + width - len(cells))
            if width:
                cells[self.column:self.column + width] = [character] + [""] * (width - 1)
            self.column += width

    def obey(self, private, numbers, letter):
        if private:
            assert letter in "hl" and numbers in self.modes, (numbers, letter)
            self.modes[numbers] = letter == "h"
        elif letter == "H":
            assert not numbers
            self.row = self.column = 0
        elif letter == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif letter == "J":
            keeps = 0 if numbers == "2" else self.row + 1
            self.lines[keeps:] = [[] for _ in range(self.rows - keeps)]
        else:
            assert letter == "m", letter

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


def take_terminal():
    """As a shell starts a program: what is ignored in the background is not ignored there."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A program on a pty of its own, in a session of its own. Use it with `with`."""

    def __init__(self, command, columns=80, rows=24, **environment):
        self.screen = Screen(columns, rows)
        self._rest, self.written = "", ""
        self.master, slave = pty.openpty()
        self.resize(columns, rows, tell=False)
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(with_engine([str(word) for word in command]), stdin=slave, stdout=slave, stderr=slave,
                                        env=dict(os.environ, **dict({"TERM": "xterm"}, **environment)), start_new_session=True,
                                        preexec_fn=take_terminal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self._slave)

    def resize(self, columns, rows, tell=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.screen.resize(columns, rows)

    def read(self, seconds=0.1):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        text = data.decode("utf-8", "replace")
        self.written += text
        self._rest = self.screen.feed(self._rest + text)
        return bool(data)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def until(self, pattern, seconds=WAIT_SECONDS):
        """The match once the screen has it."""
        return self.wait(lambda: re.search(pattern, self.screen.text(), re.M), seconds, pattern)

    def wait(self, is_so, seconds=WAIT_SECONDS, what="it"):
        end = time.monotonic() + seconds
        while True:
            found = is_so()
            if found:
                return found
            assert time.monotonic() < end, "%s never came:\n%s" % (what, self.screen.text())
            self.read()

    def finish(self, seconds=WAIT_SECONDS):
        """The exit code; all that was written has been read."""
        self.wait(lambda: self.process.poll() is not None, seconds, "the end")
        while self.read(0):
            pass
        return self.process.returncode

    def is_as_before(self):
        return termios.tcgetattr(self._slave) == self.before

    def signal(self, number):
        os.kill(self.process.pid, number)

    def is_stopped(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"

    def go_on(self):
        self.signal(signal.SIGCONT)
