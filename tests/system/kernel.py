"""What tests of the kernel engine share."""

import os
import subprocess
import sys

import harness


def why_not():
    """Why the engine does not run here; empty if it does."""
    result = subprocess.run([os.environ["PYROMETER"], "record", "--engine", "kernel", "-d", "0.1", "--collapsed=-", str(os.getpid())],
                            capture_output=True, text=True, timeout=harness.WAIT_SECONDS)
    if result.returncode == 0:
        return ""
    assert "kernel engine" in result.stderr, result.stderr
    return result.stderr.strip().splitlines()[-1]


def skip_without_engine():
    """Ends with 77 where the kernel does not run the engine, saying why."""
    reason = why_not()
    if reason:
        print("skipped: needs the kernel engine: " + reason)
        sys.exit(harness.SKIPPED)


def script(name, text):
    path = os.path.join(harness.FOLDER, "kernel-%s.py" % name)
    os.makedirs(harness.FOLDER, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
