"""uvicorn fastapi_app:app; one way runs in the event loop, the other in its pool of threads."""

import itertools

from fastapi import FastAPI

import work

app = FastAPI()
turn = itertools.count()


async def in_loop():
    return work.work()


@app.get("/")
async def view():
    return await in_loop()


@app.get("/thread")
def view_in_thread():
    return work.work()
