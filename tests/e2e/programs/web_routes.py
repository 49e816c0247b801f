"""A server with two routes, of which one is slow: it waits in a function that the other does not call.

Usage: web_routes.py flask|django|django-asgi|fastapi|starlette|aiohttp|celery|wsgi plain|middleware

    celery      a plain application whose answers are those of two tasks
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


def serve_aiohttp():
    from aiohttp import web

    async def quick(request):
        return web.Response(text=request.query_string)

    async def slow(request):
        await fetch_later()
        return web.Response(text=request.query_string)
    app = web.Application()
    app.add_routes([web.get("/quick", quick), web.get("/slow", slow)])
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    threading.Timer(0.5, announce, [listener.getsockname()[1]]).start()
    web.run_app(app, sock=listener, print=None)


def serve_celery():
    import celery
    app = celery.Celery("routes", broker="memory://")
    app.conf.update(worker_hijack_root_logger=False, task_ignore_result=True, broker_transport_options={"polling_interval": 0.01})
    done = {}

    @app.task
    def quick(number):
        done.pop(number).set()

    @app.task
    def slow(number):
        fetch()
        done.pop(number).set()

    def answer(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        event = threading.Event()
        done[id(event)] = event
        (slow if environ["PATH_INFO"] == "/slow" else quick).delay(id(event))
        event.wait(60)
        return [environ["QUERY_STRING"].encode()]
    threading.Thread(target=serve_wsgi, args=(answer,), daemon=True).start()
    app.worker_main(["worker", "--pool", "solo", "--loglevel", "ERROR", "--without-gossip", "--without-mingle"])


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
    listener.listen()
    server = uvicorn.Server(uvicorn.Config(with_middleware(app), log_level="error", lifespan="off"))
    threading.Timer(0.5, announce, [listener.getsockname()[1]]).start()
    server.run(sockets=[listener])


def main():
    name = sys.argv[1]
    if name == "aiohttp":
        serve_aiohttp()
    elif name == "celery":
        serve_celery()
    elif name in ("fastapi", "starlette", "django-asgi"):
        serve_asgi({"fastapi": fastapi_app, "starlette": starlette_app, "django-asgi": lambda: django_app(True)}[name]())
    else:
        serve_wsgi({"flask": flask_app, "django": lambda: django_app(False), "wsgi": lambda: plain_app}[name]())


main()
