"""A server with two routes, of which one is slow: it waits in a function that the other does not call.

Usage: web_routes.py flask|django|django-asgi|fastapi|starlette|wsgi plain|middleware

    wsgi        a plain application; /lazy makes its body while it is sent, /fails raises
    middleware  below pyrometer.middleware, which PYTHONPATH has

Prints READY and its port.  Every answer has the query that the application was asked with.
"""

import asyncio
import socket
import sys
import threading
import time

SLOW_S = 0.25


def fetch():
    time.sleep(SLOW_S)  # the answer


async def fetch_later():
    await asyncio.sleep(SLOW_S)  # the answer


def with_middleware(app):
    if sys.argv[2] != "middleware":
        return app
    import pyrometer
    return pyrometer.middleware(app)


def flask_app():
    import flask
    app = flask.Flask(__name__)

    @app.get("/quick")
    def quick():
        return flask.request.query_string.decode()

    @app.get("/slow")
    def slow():
        fetch()
        return flask.request.query_string.decode()
    return app


def django_app(is_asgi):
    import django
    from django.conf import settings
    from django.http import HttpResponse
    from django.urls import path

    def quick(request):
        return HttpResponse(request.META["QUERY_STRING"])

    def slow(request):
        fetch()
        return HttpResponse(request.META["QUERY_STRING"])

    async def slow_later(request):
        await fetch_later()
        return HttpResponse(request.META["QUERY_STRING"])
    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="only here")
    globals()["urlpatterns"] = [path("quick", quick), path("slow", slow_later if is_asgi else slow)]
    django.setup()
    if is_asgi:
        from django.core.asgi import get_asgi_application
        return get_asgi_application()
    from django.core.wsgi import get_wsgi_application
    return get_wsgi_application()


def fastapi_app():
    import fastapi
    app = fastapi.FastAPI()

    @app.get("/quick")
    async def quick(request: fastapi.Request):
        return request.url.query

    @app.get("/slow")
    def slow(request: fastapi.Request):
        fetch()
        return request.url.query
    return app


def starlette_app():
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def quick(request):
        return PlainTextResponse(request.url.query)

    async def slow(request):
        await fetch_later()
        return PlainTextResponse(request.url.query)
    return Starlette(routes=[Route("/quick", quick), Route("/slow", slow)])


def plain_app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/fails":
        raise ValueError("this route fails")
    start_response("200 OK", [("Content-Type", "text/plain")])
    if path == "/slow":
        fetch()
    return lazily(environ) if path == "/lazy" else [environ["QUERY_STRING"].encode()]


def lazily(environ):
    fetch()
    yield environ["QUERY_STRING"].encode()


def announce(port):
    print("READY", port, flush=True)


def serve_wsgi(app):
    try:
        import waitress.server
    except ImportError:
        from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
        WSGIRequestHandler.log_message = lambda *_: None
        server = WSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
        server.set_app(with_middleware(app))
        announce(server.server_port)
        server.serve_forever()
    server = waitress.server.create_server(with_middleware(app), host="127.0.0.1", port=0, threads=4)
    announce(server.effective_port)
    server.run()


def serve_asgi(app):
    import uvicorn
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(with_middleware(app), log_level="error", lifespan="off"))
    threading.Timer(0.5, announce, [listener.getsockname()[1]]).start()
    server.run(sockets=[listener])


def main():
    name = sys.argv[1]
    if name in ("fastapi", "starlette", "django-asgi"):
        serve_asgi({"fastapi": fastapi_app, "starlette": starlette_app, "django-asgi": lambda: django_app(True)}[name]())
    else:
        serve_wsgi({"flask": flask_app, "django": lambda: django_app(False), "wsgi": lambda: plain_app}[name]())


main()
