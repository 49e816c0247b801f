"""Builds what is measured, and what it is measured against."""

import os
import subprocess

from processes import BUILD, FOLDER, ROOT


def build(program=None, reference=None):
    """Builds what is measured and the reference, as far as they are not given: their paths."""
    os.makedirs(BUILD, exist_ok=True)
    if not program:
        shell("cmake", "--preset", "release")
        shell("cmake", "--build", "--preset", "release", "--target", "pyrometer")
        program = os.path.join(ROOT, "build", "release", "pyrometer")
    if not reference:
        reference = build_own("stopped")
        build_own("runs")
        build_own("empty")
    # Copies, so that a build in the meantime does not change what is measured.
    return copy_of(program), copy_of(reference)


def build_own(name):
    """Builds a program of the bench: its path."""
    folder = os.path.join(BUILD, "reference")
    shell("cmake", "-S", FOLDER, "-B", folder)
    shell("cmake", "--build", folder, "--target", name)
    return os.path.join(folder, name)


def copy_of(program):
    path = os.path.join(BUILD, os.path.basename(program))
    if os.path.abspath(program) != path:
        shell("cp", "-f", "--remove-destination", program, path)
    return path


def shell(*words):
    result = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode:
        raise SystemExit("bench: %s failed:\n%s" % (" ".join(words), result.stdout.decode()[-3000:]))
