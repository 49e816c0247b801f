"""Code that tests of the kernel engine share."""

import harness


def script(name, text):
    return harness.script("kernel-%s.py" % name, text)
