"""What tests of the kernel engine share."""

import os

import harness


def script(name, text):
    path = os.path.join(harness.FOLDER, "kernel-%s.py" % name)
    os.makedirs(harness.FOLDER, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
