#include "sampler/profile/views/view_function.h"

#include <string.h>

/* Functions of frameworks that call a function of the program.  Source: Flask 3.1, Django 5.2, Starlette 0.46, FastAPI
 * 0.115, anyio 4.9, aiohttp 3.11, Celery 5.5; the names are the same in versions of five years before. */
static const struct {
    const char *file, *name; /* the ends of a path and of a qualified name */
} callers[] = {
    { "/flask/app.py", "dispatch_request" },
    { "/django/core/handlers/base.py", "_get_response" },
    { "/django/core/handlers/base.py", "_get_response_async" },
    { "/fastapi/routing.py", "run_endpoint_function" },
    { "/starlette/routing.py", "app" },
    { "/starlette/endpoints.py", "dispatch" },
    { "/anyio/_backends/_asyncio.py", "WorkerThread.run" },
    { "/aiohttp/web_app.py", "_handle" },
    { "/celery/app/trace.py", "trace_task" },
};

/* Packages that call one another in between; they lie in the folder that the caller's package is in. */
static const char *const packages[] = {
    "flask/",   "werkzeug/",  "django/", "asgiref/", "rest_framework/",
    "fastapi/", "starlette/", "anyio/",  "aiohttp/", "celery/",
};

static bool ends_with(struct strtab_string text, const char *end)
{
    const size_t length = strlen(end);
    return text.length >= length && strcmp(text.text + text.length - length, end) == 0;
}

/* A qualified name may have a class or a function before it. */
static bool is_name(struct strtab_string name, const char *end)
{
    const size_t length = strlen(end);
    return ends_with(name, end) &&
           (name.length == length || name.text[name.length - length - 1] == '.');
}

static function_id function_at(const struct profile_snapshot *snapshot, node_id node)
{
    return profile_frame_at(snapshot, profile_node_at(snapshot, node).frame).function;
}

/* The length of the folder that the package of a caller is in; 0: the function is no caller. */
static size_t folder_of_caller(const struct profile_snapshot *snapshot,
                               const struct profile_function *function)
{
    const struct strtab_string name = profile_string(snapshot, function->name);
    const struct strtab_string file = profile_string(snapshot, function->file);
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++)
        if (is_name(name, callers[i].name) && ends_with(file, callers[i].file))
            return file.length - strlen(callers[i].file) + 1;
    return 0;
}

static bool is_of_framework(struct strtab_string file, const char *folder, size_t length)
{
    if (strncmp(file.text, folder, length) != 0)
        return false;
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (strncmp(file.text + length, packages[i], strlen(packages[i])) == 0)
            return true;
    return false;
}

function_id view_function_of(const struct profile_snapshot *snapshot, node_id node)
{
    node_id caller = node;
    size_t length = 0;
    struct profile_function row = { 0 };
    for (; caller; caller = profile_node_at(snapshot, caller).parent) {
        row = profile_function_at(snapshot, function_at(snapshot, caller));
        if (!row.library && (length = folder_of_caller(snapshot, &row)) > 0)
            break;
    }
    if (!caller)
        return 0;
    const char *const folder = profile_string(snapshot, row.file).text;
    function_id called = 0;
    for (node_id id = node; id != caller; id = profile_node_at(snapshot, id).parent) {
        const function_id function = function_at(snapshot, id);
        row = profile_function_at(snapshot, function);
        const struct strtab_string file = profile_string(snapshot, row.file);
        if (!row.library && *file.text != '~' && *file.text != '<' &&
            !is_of_framework(file, folder, length))
            called = function;
    }
    return called;
}
