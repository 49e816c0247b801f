"""Pyrometer, the profiler of running Python programs, for the program itself:

    with pyrometer.record("block.pyro"):      # a capture; the ending selects the format
        work()

    @pyrometer.record("function.html")        # a report, as one HTML file
    def work(): ...

    %load_ext pyrometer                       # in IPython and Jupyter: then %%pyrometer profiles a cell

`python -m pyrometer` is the command line, `pytest --pyrometer` profiles tests.
"""

from .program import Error, path, run
from .recording import record

__all__ = ["Error", "load_ipython_extension", "path", "record", "run"]


def load_ipython_extension(shell):
    """The entry point of %load_ext."""
    from . import magic  # pylint: disable=import-outside-toplevel  # it needs IPython

    magic.load(shell)
