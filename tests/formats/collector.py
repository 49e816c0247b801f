#!/usr/bin/env python3
"""A pushed capture in a real OpenTelemetry Collector: the time by stack is that of the capture.

Usage: collector.py WRITE_FORMATS

scripts/get-consumers builds the Collector from collector/. Exit code: 0 the same, 1 not, 77 skipped.
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import otel_collector  # noqa: E402, pylint: disable=wrong-import-position

SKIPPED = 77
WAIT_SECONDS = 60


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_SECONDS, check=False)
    if done.returncode != 0:
        raise AssertionError("%s: %s" % (" ".join(command), done.stderr.decode()))
    return done.stdout.decode()


def main():
    program = os.environ.get("PYROMETER", os.path.join(ROOT, "build", "debug", "pyrometer"))
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    if not os.path.exists(otel_collector.PROGRAM):
        print(otel_collector.MISSING)
        return SKIPPED
    if "without libcurl" in run(program, "--version"):
        print("skipped: the program was built without libcurl")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="pyrometer-collector-") as folder:
        run(sys.argv[1], folder)
        for name in ("now", "native"):
            taken, capture, pprof = (os.path.join(folder, name + end) for end in (".taken.json", ".pyro", ".pb.gz"))
            with otel_collector.running(taken) as (_, port):
                run(program, "push", capture, "otlp://127.0.0.1:%d" % port, "--push-batch", "2s")
            run(program, "replay", capture, "--pprof=" + pprof)
            found, wanted = otel_collector.by_type_and("process.pid", taken), otel_collector.of_pprof(pprof)
            assert wanted and found == wanted, "%s: the Collector has %r, the capture %r" % (name, found, wanted)
            print("%s: %d profiles, %d stacks" % (name, len(found), sum(len(stacks) for stacks in found.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
