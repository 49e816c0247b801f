"""Values of ContextVars that `pyrometer record --context NAME` reads from outside: the work of the program."""

import contextlib
import contextvars
import functools
import inspect
import itertools
import os

NAME_CHARACTERS = 40
REQUEST = contextvars.ContextVar("pyrometer_request")
_SPAN = contextvars.ContextVar("pyrometer_span")


class _Numbers:
    """Ids that no two requests or spans share: digits that the process has drawn, and a count."""

    def __init__(self):
        self._draw()
        os.register_at_fork(after_in_child=self._draw)

    def _draw(self):
        self._process = os.urandom(4).hex() + "-"
        self._count = itertools.count(1)

    def next(self):
        """The next id."""
        return self._process + str(next(self._count))


new_id = _Numbers().next


class span(contextlib.ContextDecorator):  # pylint: disable=invalid-name  # it is used as a function
    """Names what the block, or each call of the function, does, for `pyrometer record --context pyrometer_span`.

    The value is an id and the name. Of spans inside one another the innermost one counts. A coroutine function is one span from
    its first to its last step. It costs setting a variable, whether or not anything samples.
    """

    def __init__(self, name):
        self.name = str(name)[:NAME_CHARACTERS]
        self._token = None

    def _recreate_cm(self):
        return span(self.name)

    def __enter__(self):
        if self._token:
            raise RuntimeError("this span has begun already: make one for each block")
        self._token = _SPAN.set(new_id() + " " + self.name)
        return self

    def __exit__(self, kind, value, trace):
        token, self._token = self._token, None
        _SPAN.reset(token)
        return False

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator runs in the context of what iterates over it: use `with pyrometer.span(...)` there")
        if not inspect.iscoroutinefunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        async def inside(*arguments, **named):
            with self._recreate_cm():
                return await function(*arguments, **named)
        return inside
