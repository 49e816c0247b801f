#include "sampler/profile/views/frameworks.h"

#include <string.h>

#include "sampler/profile/views/code_origin.h"

/* Source: Flask 3.1, Django 5.2, Starlette 0.46, FastAPI 0.115 and 0.165, anyio 4.9, aiohttp 3.11 and 3.14, Celery 5.5 and 5.7,
 * uvicorn 0.54; the names are the same in versions of five years before. */
static const struct {
    const char *file, *name; /* the ends of a path and of a qualified name */
    enum framework_role role;
} functions[] = {
    { "/flask/app.py", "__call__", FRAMEWORK_CALL },
    { "/flask/app.py", "wsgi_app", FRAMEWORK_CALL },
    { "/flask/app.py", "dispatch_request", FRAMEWORK_DISPATCH },
    { "/django/core/handlers/wsgi.py", "__call__", FRAMEWORK_CALL },
    /* Since 5.0 its caller waits for it in another task. */
    { "/django/core/handlers/base.py", "get_response_async", FRAMEWORK_AWAIT },
    { "/django/core/handlers/base.py", "_get_response", FRAMEWORK_DISPATCH },
    { "/django/core/handlers/base.py", "_get_response_async", FRAMEWORK_DISPATCH },
    { "/fastapi/applications.py", "__call__", FRAMEWORK_AWAIT },
    { "/fastapi/routing.py", "run_endpoint_function", FRAMEWORK_DISPATCH },
    { "/fastapi/routing.py", "app", FRAMEWORK_PREPARE },
    { "/starlette/applications.py", "__call__", FRAMEWORK_AWAIT },
    { "/starlette/routing.py", "app", FRAMEWORK_DISPATCH },
    { "/starlette/endpoints.py", "dispatch", FRAMEWORK_DISPATCH },
    { "/starlette/routing.py", "lifespan", FRAMEWORK_CONNECTION },
    { "/uvicorn/lifespan/on.py", "main", FRAMEWORK_CONNECTION },
    { "/uvicorn/protocols/websockets/websockets_impl.py", "run_asgi", FRAMEWORK_CONNECTION },
    { "/uvicorn/protocols/websockets/websockets_sansio_impl.py", "run_asgi",
      FRAMEWORK_CONNECTION },
    { "/uvicorn/protocols/websockets/wsproto_impl.py", "run_asgi", FRAMEWORK_CONNECTION },
    { "/anyio/_backends/_asyncio.py", "WorkerThread.run", FRAMEWORK_WORKER },
    { "/aiohttp/web_protocol.py", "_handle_request", FRAMEWORK_AWAIT },
    { "/aiohttp/web_app.py", "_handle", FRAMEWORK_RUN },
    { "/celery/app/trace.py", "trace_task", FRAMEWORK_SERVE },
};

static const char *const packages[] = {
    "flask/",          "werkzeug/",
    "django/",         "asgiref/",
    "rest_framework/", "fastapi/",
    "starlette/",      "anyio/",
    "aiohttp/",        "celery/",
    "uvicorn/",        "hypercorn/",
    "pydantic/",       "typing_extensions.py",
};

static bool ends_with(struct strtab_string text, const char *end)
{
    const size_t length = strlen(end);
    return text.length >= length && strcmp(text.text + text.length - length, end) == 0;
}

/* A qualified name may have a class or a function before it.  Before Python 3.11 a name has no class. */
static bool is_name(struct strtab_string name, const char *end)
{
    const size_t length = strlen(end);
    const char *const dot = strrchr(end, '.');
    return (ends_with(name, end) &&
            (name.length == length || name.text[name.length - length - 1] == '.')) ||
           (dot && strcmp(name.text, dot + 1) == 0);
}

enum framework_role framework_role_of(struct strtab_string name, struct strtab_string file,
                                      size_t *folder_out)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_name(name, functions[i].name) && ends_with(file, functions[i].file)) {
            *folder_out = file.length - strlen(functions[i].file) + 1;
            return functions[i].role;
        }
    return FRAMEWORK_NONE;
}

bool framework_may_call(struct strtab_string name, struct strtab_string file,
                        const char *folder, size_t length)
{
    const enum code_origin_kind kind = code_origin_of(NULL, name.text, file.text, NULL).kind;
    if (kind == CODE_SYNTHETIC || kind == CODE_STANDARD || *file.text == '<')
        return false;
    if (strncmp(file.text, folder, length) != 0)
        return true;
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (strncmp(file.text + length, packages[i], strlen(packages[i])) == 0)
            return false;
    return true;
}
