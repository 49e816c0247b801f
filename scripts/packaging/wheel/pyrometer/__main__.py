"""The command line: python -m pyrometer COMMAND."""

import os
import sys

from .program import Error, path

if __name__ == "__main__":
    try:
        program = path()
    except Error as error:
        sys.exit("pyrometer: %s" % error)
    os.execv(program, [program] + sys.argv[1:])
