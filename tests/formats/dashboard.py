#!/usr/bin/env python3
"""Our dashboard is one for Grafana, as its own library reads it, and what is none is found out. The files beside it fit to it.

scripts/get-consumers builds the checker from dashboard/. Exit code: 0 it is, 1 it is not, 77 skipped.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECKER = os.path.join(os.environ.get("PYROMETER_CONSUMERS", os.path.join(ROOT, ".consumers")), "dashboard")
FOLDER = os.path.join(ROOT, "scripts", "packaging", "grafana")
DASHBOARD = os.path.join(FOLDER, "dashboard.json")
SKIPPED = 77


def fault_of(path):
    done = subprocess.run([CHECKER, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout if done.returncode else ""


def matches(pattern, name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return set(re.findall(pattern, file.read()))


def check_files():
    """Each file that the compose file mounts is there, but for the token; each data source of the dashboard is provided."""
    mounted = matches(r"- \./([\w.]+):", "compose.yaml") - {"token"}
    assert mounted and mounted <= set(os.listdir(FOLDER)), mounted
    sources = matches(r'"datasource": \{\s*"type": "([\w-]+)",\s*"uid": "(\w+)"', "dashboard.json")
    provided = {(kind, uid) for uid, kind in matches(r"uid: (\w+), type: ([\w-]+)", "datasources.yaml")}
    assert sources and sources <= provided, (sources, provided)
    assert matches(r'job=\\"(\w+)', "dashboard.json") == matches(r"job_name: (\w+)", "prometheus.yaml")


def main():
    check_files()
    if not os.path.exists(CHECKER):
        print("skipped: the checker of dashboards is missing (scripts/get-consumers builds it)")
        return SKIPPED
    assert not fault_of(DASHBOARD), fault_of(DASHBOARD)
    for change in (lambda board: board.update(panel=[]), lambda board: board["panels"][2]["targets"][0].update(expression="up"),
                   lambda board: board["panels"][2]["options"]["legend"].update(showLegend="yes")):
        with open(DASHBOARD, encoding="utf-8") as file, tempfile.NamedTemporaryFile("w", suffix=".json") as other:
            board = json.load(file)
            change(board)
            json.dump(board, other)
            other.flush()
            assert fault_of(other.name), "a dashboard that is none was taken"
    return 0


if __name__ == "__main__":
    sys.exit(main())
