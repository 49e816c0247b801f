"""pyrometer.middleware: what each request of an ASGI or WSGI application is, and the profile of one that asks for it."""

import asyncio
import contextlib
import functools
import hashlib
import hmac
import inspect
import os
import re
import threading
import urllib.parse
import warnings

from .context import REQUEST, new_id
from .program import Error
from .request_profile import RequestProfile, stored

TOKEN_VARIABLE = "PYROMETER_MIDDLEWARE_TOKEN"
TOKEN_CHARACTERS = 16
ID_CHARACTERS = 40
METHOD_CHARACTERS = 8
PATH_CHARACTERS = 200
QUERY_CHARACTERS = 8192
LINK = "/-pyrometer/"
HEADER = "X-Pyrometer"
# The page runs its own scripts only, and not with the rights of the application's pages.
PAGE_HEADERS = (("Cache-Control", "no-store"), ("Content-Security-Policy", "sandbox allow-scripts allow-downloads allow-popups"),
                ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"))


def middleware(app, id_header=None):
    """Wraps an ASGI or WSGI application: a request is a value of the ContextVar pyrometer_request, its id and its route.

    id_header: a header in which a proxy of yours sends the id of a request. Requests with the same id and route are one, so take none
    that clients choose. With None each request gets an id of its own.

    If the environment has a PYROMETER_MIDDLEWARE_TOKEN of 16 characters or more, a request that knows it can have its own profile. The
    header `X-Pyrometer: TOKEN` asks for a link, which is the header X-Pyrometer-Profile of the response. With `?pyrometer=1` the response is
    the page of the profile; then the token may be `&pyrometer_token=TOKEN` too. Without such a variable, none of these means anything.
    """
    called = app.func if isinstance(app, functools.partial) else app
    is_asgi = inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(type(called).__call__)
    return (_Asgi if is_asgi else _Wsgi)(app, id_header)


def _value(request_id, method, path):
    return "%s %s %s" % (request_id[:ID_CHARACTERS], method[:METHOD_CHARACTERS], path[:PATH_CHARACTERS])


class _Door:
    """Which requests may have their profile."""

    def __init__(self):
        token = os.environ.get(TOKEN_VARIABLE, "")
        if token and len(token) < TOKEN_CHARACTERS:
            warnings.warn("%s is shorter than %d characters: requests cannot ask for their profile" % (TOKEN_VARIABLE, TOKEN_CHARACTERS),
                          RuntimeWarning, stacklevel=4)
        self._digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest() if len(token) >= TOKEN_CHARACTERS else None

    @property
    def is_open(self):
        """Is there a token?"""
        return self._digest is not None

    def _admits(self, token):
        given = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        return hmac.compare_digest(given, self._digest)

    def ask(self, query, header):
        """The profile that a request asks for, "page", "link" or None, and its query without that."""
        if header is None and "pyrometer" not in query or len(query) > QUERY_CHARACTERS:
            return None, query
        kept, wants_page, tokens = [], False, [] if header is None else [header]
        for piece in query.split("&"):
            name, _, value = piece.partition("=")
            if name == "pyrometer_token":
                tokens.append(urllib.parse.unquote_plus(value))
            elif piece == "pyrometer=1":
                wants_page = True
            else:
                kept.append(piece)
        # One token: that of the header, if there is one.
        if not tokens or not self._admits(tokens[0]) or header is None and not wants_page:
            return None, query
        return "page" if wants_page else "link", "&".join(kept)


def _report_at(door, path):
    """The answer to the path of a link: (status, type, body); None: it is no such path."""
    found = re.search(LINK + r"([0-9a-f]{32})\Z", path[-len(LINK) - 32:]) if door.is_open else None
    if not found:
        return None
    report = stored(found.group(1))
    if report is None:
        return 404, "text/plain; charset=utf-8", b"There is no such profile, or it is not finished: try again.\n"
    return 200, "text/html; charset=utf-8", report


def _page_of(profile):
    """Ends the profile: the answer in the place of the application's."""
    try:
        return 200, "text/html; charset=utf-8", profile.finish()
    except Error as error:
        return _failure(error)


def _failure(error):
    return 503, "text/plain; charset=utf-8", ("No profile: %s\n" % error).encode("utf-8", "replace")


def _header_text(error):
    return re.sub(r"[^ -~]", "?", str(error))[:200]


class _Asgi:
    """The middleware of ASGI 3."""

    def __init__(self, app, id_header):
        self.app = app
        self._id_header = id_header.lower().encode("latin-1") if id_header else None
        self._door = _Door()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, asked, profile = scope.get("path", ""), None, None
        if self._door.is_open:
            answer = _report_at(self._door, path)
            if answer:
                await self._answer(send, answer)
                return
            asked, query = self._door.ask(scope.get("query_string", b"").decode("latin-1"), self._header(scope, HEADER.lower().encode()))
        if asked:
            scope = dict(scope, query_string=query.encode("latin-1"),
                         headers=[pair for pair in scope["headers"] if pair[0].lower() != HEADER.lower().encode()])
            # Waits of its task are a part of it.
            profile = RequestProfile("--async-mode", "all")
            try:
                await _in_thread(profile.start)
            except Error as error:
                if asked == "page":
                    await self._answer(send, _failure(error))
                    return
                profile, send = None, _with_header(send, HEADER + "-Error", _header_text(error))
        given = self._header(scope, self._id_header) if self._id_header else None
        token = REQUEST.set(_value(profile.id if profile else given or new_id(), scope.get("method", ""), path))
        try:
            if profile:
                await self._run(profile, asked, scope, receive, send)
            else:
                await self.app(scope, receive, send)
        finally:
            REQUEST.reset(token)

    async def _run(self, profile, asked, scope, receive, send):
        async def discard(_message):
            pass
        link = scope.get("root_path", "") + LINK + profile.link_id
        try:
            await self.app(scope, receive, discard if asked == "page" else _with_header(send, HEADER + "-Profile", link))
        except BaseException:
            # The loop does not wait for that, and a task that was cancelled cannot.
            threading.Thread(target=profile.abandon, daemon=True).start()
            raise
        if asked == "page":
            await self._answer(send, await _in_thread(functools.partial(_page_of, profile)))
        else:
            await _in_thread(profile.finish_and_store)

    @staticmethod
    def _header(scope, wanted):
        return next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name.lower() == wanted), None)

    @staticmethod
    async def _answer(send, answer):
        status, kind, body = answer
        headers = [("Content-Type", kind), ("Content-Length", str(len(body))), *PAGE_HEADERS]
        await send({"type": "http.response.start", "status": status,
                    "headers": [(name.lower().encode(), value.encode()) for name, value in headers]})
        await send({"type": "http.response.body", "body": body})


async def _in_thread(call):
    """Calls it where it does not hold up the loop, if that is one of asyncio."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return call()
    return await loop.run_in_executor(None, call)


def _with_header(send, name, value):
    async def send_more(message):
        if message["type"] == "http.response.start":
            message = dict(message, headers=[*message.get("headers", ()), (name.lower().encode(), value.encode("latin-1", "replace"))])
        await send(message)
    return send_more


class _Wsgi:
    """The middleware of WSGI."""

    REASONS = {200: "200 OK", 404: "404 Not Found", 503: "503 Service Unavailable"}

    def __init__(self, app, id_header):
        self.app = app
        self._id_key = "HTTP_" + id_header.upper().replace("-", "_") if id_header else None
        self._door = _Door()

    def __call__(self, environ, start_response):
        path, asked, profile = environ.get("PATH_INFO", ""), None, None
        if self._door.is_open:
            answer = _report_at(self._door, path)
            if answer:
                return self._answer(start_response, answer)
            asked, query = self._door.ask(environ.get("QUERY_STRING", ""), environ.get("HTTP_X_PYROMETER"))
        if asked:
            environ["QUERY_STRING"] = query
            environ.pop("HTTP_X_PYROMETER", None)
            profile = RequestProfile()
            try:
                profile.start()
            except Error as error:
                if asked == "page":
                    return self._answer(start_response, _failure(error))
                profile, start_response = None, _start_with(start_response, HEADER + "-Error", _header_text(error))
        given = environ.get(self._id_key) if self._id_key else None
        value = _value(profile.id if profile else given or new_id(), environ.get("REQUEST_METHOD", ""), path)
        if asked == "page" and profile:
            return self._page(profile, value, environ, start_response)
        if profile:
            link = environ.get("SCRIPT_NAME", "") + LINK + profile.link_id
            start_response = _start_with(start_response, HEADER + "-Profile", link)
        try:
            with _set(value):
                result = self.app(environ, start_response)
        except BaseException:
            if profile:
                profile.abandon()
            raise
        # A complete body does nothing more, and a server may send a file by itself.
        is_done = isinstance(result, (list, tuple)) or isinstance(result, environ.get("wsgi.file_wrapper", ()))
        return result if is_done and not profile else _Body(result, value, profile)

    def _page(self, profile, value, environ, start_response):
        try:
            with _set(value):
                result = self.app(environ, lambda status, headers, failure=None: lambda data: None)
                try:
                    for _ in result:
                        pass
                finally:
                    if hasattr(result, "close"):
                        result.close()
        except BaseException:
            profile.abandon()
            raise
        return self._answer(start_response, _page_of(profile))

    def _answer(self, start_response, answer):
        status, kind, body = answer
        start_response(self.REASONS[status], [("Content-Type", kind), ("Content-Length", str(len(body))), *PAGE_HEADERS])
        return [body]


@contextlib.contextmanager
def _set(value):
    token = REQUEST.set(value)
    try:
        yield
    finally:
        REQUEST.reset(token)


class _Body:
    """The body of a response that the application makes while the server sends it."""

    def __init__(self, result, value, profile):
        self._result = result
        self._items = iter(result)
        self._value = value
        self._profile = profile

    def __iter__(self):
        return self

    def __next__(self):
        with _set(self._value):
            return next(self._items)

    def close(self):
        """Ends the request, and its profile."""
        profile, self._profile = self._profile, None
        try:
            if hasattr(self._result, "close"):
                with _set(self._value):
                    self._result.close()
        finally:
            if profile:
                profile.finish_and_store()


def _start_with(start_response, name, value):
    def start(status, headers, *failure):
        return start_response(status, [*headers, (name, value)], *failure)
    return start
