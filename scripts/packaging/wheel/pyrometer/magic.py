"""%%pyrometer: runs a cell and shows its profile below it."""

import html
import os
import shlex
import tempfile

from IPython.core.error import UsageError
from IPython.core.magic import register_cell_magic
from IPython.display import display

from .program import Error
from .recording import record

HEIGHT = 640


def _frame(page):
    """The page is a document of its own, which cannot reach the notebook."""
    return ('<iframe srcdoc="%s" sandbox="allow-scripts allow-downloads allow-popups" title="Profile of the cell" '
            'style="width: 100%%; height: %dpx; border: 0"></iframe>' % (html.escape(page), HEIGHT))


def pyrometer(line, cell):
    """%%pyrometer [OPTION...]: options are those of `pyrometer record`, for example --native=full or -r 10khz."""
    from IPython import get_ipython  # pylint: disable=import-outside-toplevel  # of the shell that runs now

    with tempfile.TemporaryDirectory(prefix="pyrometer-") as folder:
        file = os.path.join(folder, "cell.html")
        try:
            with record(file, *shlex.split(line)):
                result = get_ipython().run_cell(cell)
        except Error as error:
            raise UsageError("pyrometer: %s" % error) from None
        with open(file, encoding="utf-8") as page:
            display({"text/html": _frame(page.read()), "text/plain": "<the profile of the cell>"}, raw=True)
    result.raise_error()


def load(_shell):
    """Registers the magic with the shell that loads it."""
    register_cell_magic(pyrometer)
