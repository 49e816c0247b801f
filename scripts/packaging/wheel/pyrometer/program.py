"""The program that this package was installed with."""

import os
import subprocess
import sys
import sysconfig


class Error(RuntimeError):
    """The program failed; the text is what it said last."""


def _folders():
    """Folders in which installers put programs: those of this interpreter, of the user, and beside `pip install --target`."""
    yield sysconfig.get_path("scripts")
    schemes = sysconfig.get_scheme_names()
    yield sysconfig.get_path("scripts", "posix_user" if "posix_user" in schemes else schemes[0])
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield os.path.join(above, "bin")
    yield os.path.join(sys.prefix, "bin")


def path():
    """The path of the program. Error: it is not there."""
    for folder in _folders():
        candidate = os.path.join(folder, "pyrometer")
        if os.access(candidate, os.X_OK) and _is_binary(candidate):
            return candidate
    raise Error("the program pyrometer is not installed beside its package: install the package again")


def _is_binary(candidate):
    with open(candidate, "rb") as file:
        return file.read(4) == b"\x7fELF"


def last_line(text):
    """Why it failed: the last line of standard error, without the name of the program."""
    lines = text.strip().splitlines() or ["it said nothing"]
    prefix = "pyrometer: "
    return lines[-1][len(prefix):] if lines[-1].startswith(prefix) else lines[-1]


def run(*words, good=(0,)):
    """Runs a command to its end; its standard output. Error: it ended with another code than the good ones."""
    done = subprocess.run([path(), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode not in good:
        raise Error(last_line(done.stderr.decode("utf-8", "replace")))
    return done.stdout.decode("utf-8", "replace")
