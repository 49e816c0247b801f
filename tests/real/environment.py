"""Virtual environments with packages from PyPI, for the programs of this folder."""

import os
import shutil
import subprocess
import sys


def say(text):
    print(text, file=sys.stderr, flush=True)


def environment(folder, python, packages, extra=(), name="venv"):
    """The path of the virtual environment of that interpreter, with everything in it. What of `extra` cannot be installed is
    left out."""
    path = os.path.join(folder, "%s-%s" % (name, os.path.basename(python)))
    done = os.path.join(path, "brought")
    if os.path.exists(done):
        return path
    say("bringing %s for %s" % (", ".join(packages), python))
    shutil.rmtree(path, ignore_errors=True)
    # If the interpreter has no pip, the pip of this one installs the packages.
    has_pip = subprocess.run([python, "-m", "venv", path], stdout=subprocess.DEVNULL, check=False).returncode == 0
    if not has_pip:
        subprocess.run([python, "-m", "venv", "--clear", "--without-pip", path], check=True)
    pip = [os.path.join(path, "bin", "python"), "-m", "pip"] if has_pip else \
        [sys.executable, "-m", "pip", "--python", os.path.join(path, "bin", "python")]
    subprocess.run(pip + ["install", "-q", *packages], check=True)
    for package in extra:
        if subprocess.run(pip + ["install", "-q", package], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            say("%s cannot be installed for %s" % (package, python))
    with open(done, "w", encoding="utf-8"):
        pass
    return path
