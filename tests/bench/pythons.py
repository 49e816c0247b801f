"""The interpreters to run workloads on: what scripts/get-pythons has."""

import os
import subprocess

from processes import ROOT

SUPPORTED_MINORS = range(8, 17)


class Python:
    def __init__(self, version, path):
        self.version, self.path = version, path
        self.minor = int(version.split(".")[1])

    def __str__(self):
        return "Python " + self.version


def find_pythons():
    """The newest interpreter of each supported minor version, oldest first."""
    listing = subprocess.run([os.path.join(ROOT, "scripts", "get-pythons"), "--list"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, timeout=120, check=False).stdout.decode()
    newest = {}
    for line in listing.splitlines():
        python = Python(*line.split("\t"))
        if python.minor in SUPPORTED_MINORS:
            newest[python.minor] = python
    return [newest[minor] for minor in sorted(newest)]


def choose(pythons, wanted):
    """Those whose version begins with one of `wanted`; all if nothing is wanted."""
    return [python for python in pythons
            if not wanted or any((python.version + ".").startswith(prefix + ".") for prefix in wanted)]
