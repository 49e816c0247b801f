"""Pyrometer, the profiler of running Python programs, for the program itself:

    with pyrometer.record("block.pyro"):      # a capture; the ending selects the format
        work()

    @pyrometer.record("function.html")        # a report, as one HTML file
    def work(): ...

    with pyrometer.span("checkout"):          # for pyrometer record --context pyrometer_span
        work()

    app = pyrometer.middleware(app)           # ASGI or WSGI: for --context pyrometer_request

    %load_ext pyrometer                       # in IPython and Jupyter: then %%pyrometer profiles a cell

`python -m pyrometer` is the command line, `pytest --pyrometer` profiles tests.
"""

from .context import span
from .program import Error, path, run
from .recording import record
from .web import middleware

__all__ = ["Error", "load_ipython_extension", "middleware", "path", "record", "run", "span"]


def load_ipython_extension(shell):
    """The entry point of %load_ext."""
    from . import magic  # pylint: disable=import-outside-toplevel  # it needs IPython

    magic.load(shell)
